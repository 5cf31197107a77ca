/* Blocks of doubling size in a list; nothing is freed before all is. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	_Alignas(16) unsigned char data[];
};

#define BLOCK_MOST ((size_t)1 << 20)
#define ALIGN(n)   (((n) + 15) & ~(size_t)15)

static struct arena_block *arena_grow(struct arena *a, size_t need)
{
	size_t size = a->head ? a->head->size * 2 : 4096;
	struct arena_block *b;

	if (size > BLOCK_MOST)
		size = BLOCK_MOST;
	if (size < need)
		size = need;
	/* What is larger than a block has one of its own: pages that the kernel hands out
	 * zeroed, and only when they are used. */
	b = need > BLOCK_MOST ? calloc(1, sizeof(*b) + size) : malloc(sizeof(*b) + size);
	if (!b)
		die_nomem();
	b->next = a->head;
	b->used = 0;
	b->size = size;
	a->head = b;
	return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->head;
	bool fresh;
	void *p;

	if (size > SIZE_MAX / 2)
		die_nomem();
	size = ALIGN(size ? size : 1);
	fresh = !b || b->size - b->used < size;
	if (fresh)
		b = arena_grow(a, size);
	p = b->data + b->used;
	b->used += size;
	return fresh && size > BLOCK_MOST ? p : memset(p, 0, size);
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / 2 / size)
		die_nomem();
	return arena_alloc(a, count * size);
}

char *arena_strn(struct arena *a, const char *text, size_t len)
{
	char *p = arena_alloc(a, len + 1);

	memcpy(p, text, len);
	return p;
}

char *arena_str(struct arena *a, const char *text)
{
	return text ? arena_strn(a, text, strlen(text)) : NULL;
}

char *arena_strf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	int n;
	char *p;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		die_nomem();
	p = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void arena_reset(struct arena *a)
{
	struct arena_block *keep = a->head;

	if (!keep)
		return;
	for (struct arena_block *b = keep->next, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	keep->next = NULL;
	keep->used = 0;
}

void arena_release(struct arena *a)
{
	arena_reset(a);
	free(a->head);
	a->head = NULL;
}
