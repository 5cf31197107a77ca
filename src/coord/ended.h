/* How a child ended, as an outcome and a reason for all that it has not said. */
#ifndef ASSAY_COORD_ENDED_H
#define ASSAY_COORD_ENDED_H

#include "assay/reading.h"
#include "base/arena.h"
#include "base/proc.h"

struct ended {
	const char *name; /* of the probe */
	const struct proc_end *end;
	bool at_work; /* it measured, or had its card open: a hang is the hardware's */
	bool broke;   /* it said itself that it broke off */
	/* It broke off because no word of that node came; NULL: for another reason. */
	const char *waited_for;
};

/* Of one that did not end well. The reason lives in the arena. */
enum outcome child_outcome(const struct ended *e, struct arena *arena, struct reason *reason);

#endif
