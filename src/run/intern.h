/* Each distinct text once. The 120,000 readings of a large run repeat a few
 * hundred metric names, units, nodes and parameter sets; stored once they cost
 * nothing. Texts live in the arena, the table until intern_release. */
#ifndef ASSAY_RUN_INTERN_H
#define ASSAY_RUN_INTERN_H

#include <stdint.h>

#include "base/arena.h"

struct intern {
	struct arena *arena;
	struct intern_slot *slots;
	size_t cap, used;
};

const char *intern_add(struct intern *t, const char *text, size_t len);
void intern_release(struct intern *t);

/* Not cryptographic; stable within a process only. */
uint64_t text_hash(const char *text, size_t len);

#endif
