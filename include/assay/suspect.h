/* Pairs of nodes that are worth reading again: score tells them from the readings
 * of a run under way, coord has them read. Neither knows the other. */
#ifndef ASSAY_SUSPECT_H
#define ASSAY_SUSPECT_H

#include <stdbool.h>
#include <stddef.h>

#include "assay/reading.h"

/* Times a pair is read at most, the first one included. */
#define PAIR_TIMES 4

/* A pair to be read again. */
struct suspect {
	const char *a, *b; /* nodes, in any order */
	/* Slower by itself than chance allows; else it is to tell a node from its
	 * cables. */
	bool slow;
};

struct judge {
	/* A reading of a pair came, or is there already in a run that is resumed. Its
	 * strings are gone afterwards. */
	void (*on_reading)(void *arg, const struct reading *r);
	/* Pairs of the probe to read again by what came so far, most suspicious first,
	 * valid until the next call; none that was read PAIR_TIMES. Returns how many. */
	size_t (*suspects)(void *arg, const char *probe, const struct suspect **list);
	void *arg;
};

#endif
