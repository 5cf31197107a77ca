/* assay run under a launcher: one rank a node, rank 0 with the run directory and
 * the scorecard. */
#ifndef ASSAY_CLI_RUN_CLUSTER_H
#define ASSAY_CLI_RUN_CLUSTER_H

#include "coord/cluster.h"
#include "cli/deploy.h"
#include "cli/run_setup.h"
#include "run/journal.h"

/* Joins the world; without a launcher the world is this process. */
enum status run_join(struct comm **comm, const struct options *o, struct error *err);
/* What ranks other than 0 do; the exit code. */
int run_follow(struct comm *comm, const struct options *o, struct error *err);
/* Rank 0's measuring. *all_alive: every rank said good-bye; *begun: there is a run
 * directory. */
enum status run_lead(struct run_setup *s, const struct options *o, struct comm *comm,
                     bool *all_alive, bool *begun, struct error *err);
/* Of both kinds of run: where its lines go. The stores take a struct run_saving. */
enum status run_open_journal(struct journal **journal, struct run_setup *s, struct error *err);
struct run_saving {
	struct run_setup *setup; /* of a journal that is begun later */
	struct journal *journal; /* NULL: not begun */
	struct deploy *deploy;
};
enum status run_store(void *arg, const char *line, size_t len, struct error *err);
enum status run_store_work(void *arg, const char *work, struct error *err);
enum status run_store_sync(void *arg, struct error *err);
/* Says the error and leaves the world. Where not all are alive the process must be
 * left by _exit: cli_leave says so to main. */
void run_leave(struct comm *comm, bool all_alive, int code, struct error *err);

#endif
