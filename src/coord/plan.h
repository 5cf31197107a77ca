/* The plan: which units of work a run consists of, in what order, how long and
 * how many bytes they take, and for those that will not run, why. Made before
 * anything is measured; --dry-run prints it. */
#ifndef ASSAY_COORD_PLAN_H
#define ASSAY_COORD_PLAN_H

#include "assay/probe.h"
#include "assay/run.h"
#include "base/arena.h"
#include "base/error.h"
#include "coord/params.h"
#include "run/rundir.h"

enum unit_state {
	UNIT_RUN,  /* to be done */
	UNIT_DONE, /* --resume: has its terminal readings already */
	UNIT_OUT,  /* left out or impossible here: owes its reason */
};

/* Who works together on one unit, each in a child on his own node. */
struct company {
	const char *const *nodes;
	double ahead_s;  /* this node's wall clock before the first one's; NaN: not known */
	int count, self; /* this node is nodes[self]; the first speaks for all */
	/* Carries a text to the child of another one. */
	void (*send)(void *arg, int to, const char *text);
	void *arg;
};

/* One probe on one subject. */
struct unit {
	const struct probe *probe;
	const char *subject; /* card, socket or path; NULL: the node itself */
	bool named_path;     /* storage: given by --storage (else the local disk) */
	char work[13];       /* run/journal.h */
	int attempt;
	enum unit_state state;
	struct reason reason;          /* UNIT_OUT */
	const struct company *company; /* NULL: it works alone */
	int times;                     /* it is the 2nd, 3rd … of a pair; else 0 or 1 */
	double seconds;                /* expected */
	int64_t bytes;                 /* to be written on the path, at most */
};

struct plan {
	struct unit *units; /* by phase, in probe order */
	int count;
	double seconds; /* of all UNIT_RUN, concurrent ones counted once */
	int64_t bytes;
};

struct plan_request {
	const struct probe *const *probes;
	enum budget budget;
	const char *node;
	const char *local_path;      /* where local disk figures are taken: the run directory */
	const struct run_info *info; /* storage paths, only, skip */
	const struct setting *settings;
	int n_settings;
	const struct rundir *resume; /* or NULL */
	const char *lib_dir;
	const char *sys_root;
	int assumed_cards; /* of a node that is not this one; 0: as found */
	bool cluster;      /* several nodes: units of pairs are made by who leads */
};

/* Everything is allocated from `arena`. Unknown names in --only and --skip are
 * ST_USAGE with the nearest valid word. */
enum status plan_make(struct plan *plan, struct arena *arena, const struct plan_request *request,
                      struct error *err);

/* Whether a unit is about one GPU or all of them: not a CPU socket, not a path. */
bool unit_on_gpu(const struct unit *u);
/* Whether b, the unit after a, runs at the same time. */
bool unit_beside(const struct unit *a, const struct unit *b);

/* Phases in the order of a run, ends with NULL. */
extern const char *const plan_phases[];
/* "name=value;…" of all parameters of a probe, in the order of the names. */
const char *plan_params(struct arena *arena, const struct plan_request *request,
                        const struct probe *probe);
/* Whether its units are made by who leads, for several nodes each. */
bool probe_in_company(const struct probe *probe);
/* What --only and --skip leave. */
bool plan_selects(const struct run_info *info, const struct probe *probe);

/* Seconds after which a unit counts as hung. */
double unit_limit_s(const struct unit *u, enum budget budget, double scale);
/* quick, standard, soak; anything else is standard. */
enum budget budget_named(const char *name);

/* A context good enough for supported() and subjects(): no emit, no progress. */
void plan_context(struct probe_ctx *ctx, struct arena *arena, const struct probe *probe,
                  const struct plan_request *request);

#endif
