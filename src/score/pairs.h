/* Readings of pairs of nodes: which of them say something, and of what pattern they
 * were part. ends[0] sends to ends[1]. */
#ifndef ASSAY_SCORE_PAIRS_H
#define ASSAY_SCORE_PAIRS_H

#include "assay/reading.h"
#include "base/arena.h"
#include "score/index.h"

/* A figure > 0 of our own about two nodes, or that they could not: a pair that
 * failed or hung carries next to nothing. */
bool pair_usable(const struct reading *r);

/* From params: "senders", how many sent to that node at the same time (absent: 1,
 * rounds of disjoint pairs), and "leaves": ["leaf of ends[0]", "leaf of ends[1]"]. */
struct pair_pattern {
	int senders;
	const char *leaf[2]; /* from the arena; NULL: not said */
};
struct pair_pattern pair_pattern(const struct reading *r, struct arena *arena);

/* Pairs of nodes by the readings of a series, whatever the direction; `tested`: only
 * those with a usable one. */
struct pairs_seen {
	int64_t pairs;    /* different ones */
	int64_t subjects; /* some metrics have one for each direction */
	int64_t again;    /* read more than once */
};
struct pairs_seen pairs_count(const struct series *s, bool tested);

/* Several readings of one pair, one way, at one operating point, over the same NICs:
 * it was read again. Of their measured figures the median stands, of an even number
 * the worse of the two in the middle, so that it is a reading; what is no figure
 * stands beside it. Fills out, with room for n; returns how many. */
int64_t pairs_join(const struct entry *e, int64_t n, struct entry *out);

#endif
