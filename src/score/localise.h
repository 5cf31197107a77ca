/* Which end is bad: from what pairs of nodes reached together to the node, NIC,
 * cable, leaf switch or pattern behind it. Arithmetic only, no names, no clock;
 * the same figures give the same answer everywhere.
 *
 * Model. y = log(value), or -log(value) where lower is better, of a healthy pair
 * is mu + noise. Each thing that is bad lowers the pairs it is part of by its
 * delta < 0; depth = 1 - exp(delta) is the share lost. Where two bad things meet,
 * either both count (additive: y = mu + sum of deltas, value = base x node x node
 * x link) or the tighter one does (minimum: y = mu + least delta, value = least of
 * the limits). Both are fitted and the likelier one is kept. mu is one figure for
 * all pairs, two (within a leaf group, across) where three or more groups are
 * known; many-to-one values are compared after y += log(senders), which is a fair
 * share of the receiver's line (methods of incast: the sum should be the line rate).
 *
 * Start: mu is the median over nodes of the median of a node's pairs, which holds
 * while more than half of the nodes are sound (below 32 nodes the upper quartile of
 * all values is tried as well). Noise sigma: root mean square of the pairs nobody is
 * blamed for, joined with `noise` at the weight of 4 pairs. A value comes from
 * N(mu + deltas, sigma) or is a one-off disturbance: one in 10,000, or as many as
 * the pairs show that are slow in one reading only.
 *
 * Search: greedy over all candidates by posterior odds against "nothing",
 *   log odds = log prior + sum of log-likelihood ratios over the candidate's pairs
 *              + log(sqrt(2 pi) se(delta) / log 10)       (Laplace, delta unknown),
 * re-estimated three times; candidates whose pairs are not slow for the most part,
 * or less than LOCALISE_DEPTH deep, do not count. Sound nodes that differ by
 * themselves (variance tau^2) and pairs whose two directions go together make a
 * difference less telling: the sum shrinks by se^2 / (se^2 + that variance).
 * Priors are ours: a node or an incast 1 %, a NIC 0.5 %, a leaf switch, its uplink
 * or a rail 0.1 %, a pair 1 % over the number of nodes; half of that both ways, a
 * quarter each for sending and receiving alone.
 *
 * Each thing found is then compared with everything else that shares a pair with
 * it, all others found being granted; odds are normalised over those and "nothing".
 * `identified` asks for odds of LOCALISE_SURE and for data that can tell: eight nodes;
 * three partners of a node or NIC that nobody else is blamed for (fewer bad cables
 * would look the same); two readings of a pair whose ends have two partners each
 * besides; three members of a leaf; hardly a value that speaks against it. And no
 * name at all while more than a quarter of the nodes, or half of the pairs, are to
 * blame, or a part of the pairs is far better than the rest: then the majority may
 * be the fault. A NIC is a candidate only where its node was measured over others
 * too.
 *
 * What it resolves at 5 % noise with all pairs of 8 nodes or more, each read once
 * each way: a node, NIC, leaf, uplink or rail 20 % deep in 99.9 % of cases, 10 % deep
 * in half of them. One pair has two readings where a node has 14: 20 % deep it is
 * named in half of the cases, 40 % deep in 99.8 %, and 20 % deep in 99.9 % when read
 * four times each way, which is what score/suspects.h is for. One reading of
 * one direction is never enough for a name.
 *
 * After: median polish (Tukey 1977) for the two-way layout; the greedy search with
 * priors is Boolean tomography by maximum a posteriori (Duffield, IEEE Trans. Inf.
 * Theory 52, 2006; Kandula et al., SIGCOMM MineNet 2005) with depths and noise. */
#ifndef ASSAY_SCORE_LOCALISE_H
#define ASSAY_SCORE_LOCALISE_H

#include <stdbool.h>
#include <stddef.h>

#include "assay/finding.h"
#include "assay/status.h"
#include "base/arena.h"

#define LOCALISE_DEPTH    0.08  /* share lost below which nothing is a fault */
#define LOCALISE_SURE     0.999 /* odds at which one name is given */
#define LOCALISE_NOISE    0.05  /* relative noise of a pair, before any is seen */
#define LOCALISE_PARTNERS 3     /* of a node or NIC, to be named */
#define LOCALISE_NODES    8     /* measured, for any name */

/* One value of an ordered pair. */
struct pair_value {
	int from, to;         /* nodes, 0 to n_nodes - 1, different */
	int from_nic, to_nic; /* numbered alike on all nodes (the rail); -1: not said */
	double value;         /* finite, > 0; of a pair that failed: not looked at */
	bool failed;          /* no connection, or hung: as slow as 1 % of a sound pair */
	/* Nodes that sent to `to` at the same time, this one among them: 1 for
	 * rounds of disjoint pairs, more for many-to-one; 0: not known. */
	int senders;
};

struct localise_input {
	int n_nodes;
	const int *leaf; /* per node: its leaf group, from 0, -1: not said; NULL: none */
	const struct pair_value *pairs;
	size_t n;
	enum better better; /* higher or lower */
	/* What a sound pair reaches, NaN: not known. Used only below 4 nodes, where
	 * there is no majority to compare with. */
	double expected;
	double noise; /* relative, > 0; 0: LOCALISE_NOISE */
};

struct blame {
	enum culprit_kind kind;
	int node, peer;    /* -1: none. Link: the ends, sender first if one-way */
	int nic, peer_nic; /* -1: none. Of a node measured over one NIC only: that one */
	int leaf;          /* leaf, uplink; -1: none */
	enum culprit_way way;
	double way_odds;          /* of this way against the others, given the kind */
	double depth, lo, hi;     /* share lost, 95 % interval */
	double odds;              /* 0 to 1 */
	int partners;             /* different nodes on the other side */
	size_t readings, against; /* values it is part of; of those, as if it were sound */
	double level;             /* what its pairs reach, in the unit of the values */
};

/* One thing that is wrong, by every explanation of it worth 0.1 % and more, likeliest
 * first; CULPRIT_NOTHING among them is noise or one-off disturbances. */
struct fault {
	bool identified; /* the first one is it */
	const struct blame *list;
	int n;
};

struct localise_result {
	const struct fault *faults; /* deepest first */
	int n_faults;
	const int *fault_of; /* per value: the fault it is blamed on, -1: none */
	/* Per value: log of what it reaches of a sound pair's, < 0 where it is slower;
	 * what nodes, NICs, leaves … are to blame for is granted, what the pair itself
	 * is to blame for is not. */
	const double *off;
	double base;   /* what a sound pair reaches (across leaf groups, if known) */
	double noise;  /* relative sd of one value */
	double spread; /* relative sd between sound nodes beyond noise */
	double across; /* level across leaf groups / within them; NaN: not known */
	bool minimum;  /* the minimum model was the likelier one */
	size_t readings;
	int nodes;         /* with at least one value */
	double resolution; /* depth a median node must have to be named; NaN: none can */
};

/* Results live in `arena`. ST_RANGE: nothing to compare (no values, fewer than two
 * nodes), an index or value out of range, a pair of a node with itself, or a metric
 * that is neither better higher nor lower. */
enum status localise(const struct localise_input *in, struct arena *arena,
                     struct localise_result *out);

#endif
