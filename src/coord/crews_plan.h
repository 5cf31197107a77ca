/* What nodes do together, in seconds and bytes, before it begins: for the plan of
 * --dry-run, for the one a run prints, and for the run itself. */
#ifndef ASSAY_COORD_CREWS_PLAN_H
#define ASSAY_COORD_CREWS_PLAN_H

#include "coord/plan.h"

enum pair_choice { PAIRS_SAMPLE, PAIRS_ALL };

/* Pairs that look slow are read again after the rounds, this often at most (so that a
 * pair is read PAIR_TIMES) and in so many rounds each time; pairs that find no place
 * in those are left for the next time. */
#define AGAIN_PASSES 3
#define AGAIN_ROUNDS 4

struct crews_plan {
	int rounds;     /* of pairs; all nodes at once: 1 */
	int64_t pairs;  /* in those rounds; all nodes at once: 0 */
	double round_s; /* a round, or the unit of all nodes */
	double seconds; /* of all rounds, once for each path */
	double again_s; /* for pairs that are read again, at most */
	int64_t bytes;  /* written by all nodes on all paths, at most */
};

/* A probe of pairs or of all nodes, over that many nodes. */
struct crews_plan crews_estimate(const struct plan_request *request, const struct probe *probe,
                                 int nodes, enum pair_choice pairs);
/* Seconds and bytes of all such probes that are selected. */
struct crews_plan crews_estimate_all(const struct plan_request *request, int nodes,
                                     enum pair_choice pairs);

#endif
