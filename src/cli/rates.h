/* What a run measured of one metric, over its subjects: the median with its interval,
 * the worst, and how many gave nothing. For statements, prices and comparisons; judging
 * has its own rules. */
#ifndef ASSAY_CLI_RATES_H
#define ASSAY_CLI_RATES_H

#include "base/arena.h"
#include "run/rundir.h"
#include "score/score.h"

struct rate {
	double value;              /* median over the subjects */
	double lo, hi;             /* 95 % interval of it; NaN: fewer than 3, and none of its own */
	double worst;              /* subject */
	int64_t subjects, without; /* with, and without a figure */
	enum origin origin;        /* simulated where any is, else measured */
};

/* Of `stat` ("value" …). `sum`: of a figure that all nodes have together, added up over
 * them. Of several operating points the best counts. False: nothing was measured; what
 * is only stated or imported is not. */
bool rate_of(struct rate *out, struct arena *arena, const struct effective *all,
             const struct metric *metric, const char *stat, bool sum);

/* Cards that were expected, or seen where nobody said. */
int64_t rates_cards(const struct rundir *run);
/* Of a node; NaN where nobody said how many nodes. */
double rates_node_cards(const struct rundir *run);
/* Adapters that carried RDMA writes, of the node with the fewest; 1 where none was told. */
double rates_adapters(struct arena *arena, const struct effective *all);

#endif
