/* What a unit owes: each metric of its probe ends as a reading, measured by the
 * child or, with the reason, said by the coordinator in its place. */
#ifndef ASSAY_COORD_OWED_H
#define ASSAY_COORD_OWED_H

#include "coord/card_names.h"
#include "coord/plan.h"

struct owed_by {
	const char *node;
	int writer;
	bool simulated;
	const struct card_names *cards;
	struct arena *arena;
};

/* A unit on a CPU socket owes CPU figures, one on a card the rest; one without
 * a subject, such as a probe left out, owes all; of a unit in company the first
 * node speaks for all. */
bool unit_owes(const struct unit *u, const struct metric *m);

/* How many readings a metric owes: of a pair of nodes maybe one each way. */
int unit_ways(const struct unit *u, const struct metric *m);
/* Of those, which this is: 0, or 1: from the second node of a pair to the first. */
int reading_way(const struct unit *u, const struct metric *m, const struct reading *r);

/* The line of such a reading. *r is what it says; its strings are those of the
 * arguments, of a pair the other way those of the arena; its time is gone. */
void owed_line(struct str *line, struct reading *r, const struct owed_by *by, const struct unit *u,
               const struct metric *m, int way, enum outcome outcome, const struct reason *reason);

#endif
