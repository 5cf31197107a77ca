/* Open addressing, doubled at half full. */
#include "run/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct intern_slot {
	uint64_t hash;
	const char *text;
	size_t len;
};

uint64_t text_hash(const char *text, size_t len)
{
	const uint64_t factor = 0x9e3779b97f4a7c15ULL;
	uint64_t h = len * factor, word;

	for (; len >= 8; text += 8, len -= 8) {
		memcpy(&word, text, 8);
		h = (h ^ word) * factor;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, text, len);
	h = (h ^ word) * factor;
	return h ^ h >> 29;
}

static void grow(struct intern *t)
{
	size_t cap = t->cap ? t->cap * 2 : 1024;
	struct intern_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		die_nomem();
	for (size_t i = 0; i < t->cap; i++) {
		size_t at = t->slots[i].hash & (cap - 1);

		if (!t->slots[i].text)
			continue;
		while (slots[at].text)
			at = (at + 1) & (cap - 1);
		slots[at] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->cap = cap;
}

const char *intern_add(struct intern *t, const char *text, size_t len)
{
	uint64_t hash = text_hash(text, len);
	size_t at;

	if (t->used * 2 >= t->cap)
		grow(t);
	for (at = hash & (t->cap - 1); t->slots[at].text; at = (at + 1) & (t->cap - 1))
		if (t->slots[at].hash == hash && t->slots[at].len == len &&
		    memcmp(t->slots[at].text, text, len) == 0)
			return t->slots[at].text;
	t->slots[at] = (struct intern_slot){
		.hash = hash, .text = arena_strn(t->arena, text, len), .len = len};
	t->used++;
	return t->slots[at].text;
}

void intern_release(struct intern *t)
{
	free(t->slots);
	*t = (struct intern){0};
}
