/* Pairs of nodes worth reading again while a run is under way: what assay/suspect.h
 * asks of score. A cable that is 20 % slow is named in half of the cases when read
 * once and nearly always when read four times (localise.h), and reading all pairs
 * four times would take four times as long.
 *
 * Suspect is a pair
 *   - whose readings, what nodes, NICs and leaves are to blame for being granted,
 *     are slower than a sound pair's by SUSPECT_DEPTH and by SUSPECT_SIGMAS of what
 *     noise leaves of their mean: both directions together, or one of them;
 *   - that an open fault may be (several explanations, none sure);
 *   - that is named, but by readings of one moment only;
 *   - that the node of an open fault has not met yet: with a sound partner it tells
 *     the node from its cables.
 * No longer suspect is what was named and read twice, or was read PAIR_TIMES. */
#ifndef ASSAY_SCORE_SUSPECTS_H
#define ASSAY_SCORE_SUSPECTS_H

#include "assay/suspect.h"

#define SUSPECT_DEPTH  0.08 /* of the log of a value: what is less is no fault (localise.h) */
#define SUSPECT_SIGMAS 2.5
#define SUSPECT_NODES  4 /* from which on there is a majority to compare with */
/* Pairs of one answer. */
#define SUSPECTS_MOST 1024

struct suspects;

struct suspects *suspects_open(void);
void suspects_close(struct suspects *s);
/* As in struct judge; arg is a struct suspects. */
void suspects_hear(void *arg, const struct reading *r);
size_t suspects_find(void *arg, const char *probe, const struct suspect **list);

#endif
