/* Memory that lives as long as a run: allocate, never free one by one.
 * A zeroed struct arena is empty. Memory comes zeroed and aligned to 16. */
#ifndef ASSAY_BASE_ARENA_H
#define ASSAY_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *head;
};

void *arena_alloc(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t count, size_t size);
char *arena_str(struct arena *a, const char *text); /* NULL stays NULL */
char *arena_strn(struct arena *a, const char *text, size_t len);
char *arena_strf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Forgets everything but keeps the newest block for reuse. */
void arena_reset(struct arena *a);
void arena_release(struct arena *a);

#endif
