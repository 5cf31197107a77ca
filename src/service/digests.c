/* A set of 64-bit digests; half a million lines take 8 MB. */
#include "service/digests.h"

#include <stdlib.h>

#include "base/error.h"

static void digests_grow(struct digests *d)
{
	struct digests more = {.cap = d->cap ? d->cap * 2 : 1024};

	more.slots = calloc(more.cap, sizeof(*more.slots));
	if (!more.slots)
		die_nomem();
	for (size_t i = 0; i < d->cap; i++) {
		size_t at = d->slots[i] & (more.cap - 1);

		while (d->slots[i] && more.slots[at])
			at = (at + 1) & (more.cap - 1);
		if (d->slots[i])
			more.slots[at] = d->slots[i];
	}
	more.used = d->used;
	free(d->slots);
	*d = more;
}

bool digests_add(struct digests *d, uint64_t digest)
{
	size_t at;

	digest += !digest;
	if (d->used * 2 >= d->cap)
		digests_grow(d);
	for (at = digest & (d->cap - 1); d->slots[at]; at = (at + 1) & (d->cap - 1))
		if (d->slots[at] == digest)
			return true;
	d->slots[at] = digest;
	d->used++;
	return false;
}
