/* Pairs that are read again: how often each one was, and who meets whom in the next
 * rounds. Each reading of a pair is a unit of its own, "n001|n002", "n001|n002 2" …:
 * so a resumed run knows which of them there are. */
#ifndef ASSAY_COORD_AGAIN_H
#define ASSAY_COORD_AGAIN_H

#include "coord/crews_plan.h"
#include "coord/rounds.h"

enum again_why {
	AGAIN_SLOW, /* by itself */
	AGAIN_NODE, /* tells a node from its cables */
	AGAIN_LOST, /* was begun before a resume and lost */
	AGAIN_WHYS
};

/* The reading of a pair that comes next. */
struct again_pair {
	int a, b;  /* members; a before b */
	int times; /* it is the pair's 2nd, 3rd …; 1: they have not met yet */
	int round; /* of this pass */
	enum again_why why;
};

struct again {
	struct again_pair *pairs; /* of this pass */
	int n, rounds, passes;
	int count[AGAIN_WHYS]; /* of pairs */
	/* Each pair that was read beyond the rounds, and how often by now. */
	struct again_pair *known;
	int n_known, cap_known;
	struct arena arena;
};

struct leader;

/* By what judge says of the probe, what pairs to read next: false: none. `met`: the
 * rounds that came before. Bounded by AGAIN_PASSES and AGAIN_ROUNDS. */
bool again_next(struct again *again, const struct leader *l, const struct probe *probe,
                const struct rounds *met);
/* The unit's id in the plan of work; times 1: id itself. */
const char *again_unit(struct arena *arena, const char *id, int times);
void again_release(struct again *again);

#endif
