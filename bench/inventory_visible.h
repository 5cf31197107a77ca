/* CUDA_VISIBLE_DEVICES as CUDA reads it: which cards a user has hidden from
 * himself, so that they are not taken for missing ones. */
#ifndef ASSAY_BENCH_INVENTORY_VISIBLE_H
#define ASSAY_BENCH_INVENTORY_VISIBLE_H

#include <stdbool.h>

#include "base/arena.h"

#define VISIBLE_WORDS 128

struct visible {
	const char *text; /* of the variable; NULL: not set, all cards are visible */
	/* Entries that count, in their order, without blanks around them. */
	const char *words[VISIBLE_WORDS];
	int n;
	const char *ended_by; /* entry that ends the list: not valid or there twice; or NULL */
};

/* cards: how many the driver has, the end of valid numbers; negative: unknown. */
struct visible visible_parse(struct arena *arena, const char *text, int cards);
/* Whether the list names the card: by its number in PCI order, by its UUID or the
 * beginning of it, or by the UUID of a MIG slice of it. */
bool visible_names(const struct visible *v, int number, const char *uuid, bool mig);

#endif
