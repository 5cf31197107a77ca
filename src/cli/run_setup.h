/* From a command line to everything a run needs: paths, run.json, plan. */
#ifndef ASSAY_CLI_RUN_SETUP_H
#define ASSAY_CLI_RUN_SETUP_H

#include "base/arena.h"
#include "cli/options.h"
#include "coord/plan.h"
#include "run/rundir.h"

struct run_setup {
	bool dry;  /* for a plan only, of the nodes and cards that were ordered */
	int world; /* ranks of the launcher, set before; 0 and 1: this node alone */
	struct arena arena;
	struct run_info info;
	struct plan_request request;
	struct plan plan;
	const char *dir; /* absolute */
	bool resume;
	struct rundir earlier; /* --resume: what is there already */
	bool earlier_open;
	const char *profile_sha256;
	const char *profile_text; /* canonical, kept with the run */
	uint64_t seed;
	double deadline_scale;
};

/* `setup` zeroed before; release it also after an error. */
enum status run_setup_make(struct run_setup *setup, const struct options *o, int argc,
                           char *const *argv, struct error *err);
void run_setup_release(struct run_setup *setup);

/* Host name made fit for file names and messages. */
const char *local_node_name(struct arena *arena);
/* N random hex digits. */
const char *random_hex(struct arena *arena, int digits);
/* The command as typed, quoted so that it can be pasted into a shell. */
const char *command_line(struct arena *arena, int argc, char *const *argv);

#endif
