/* A growing text buffer with a size limit. The one way text is built in
 * Assay: no fixed-size arrays, no manual escaping.
 *
 * A zeroed struct str is an empty buffer. After str_release it is empty again
 * and may be reused. `data` is always NUL-terminated once anything was added;
 * use str_text() where an empty buffer may be met. Running out of memory or
 * over the limit ends the program through die_nomem() (base/error.h): a tool
 * that cannot hold its own report has nothing true left to say. */
#ifndef ASSAY_BASE_STR_H
#define ASSAY_BASE_STR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>

struct str {
	char *data;
	size_t len;
	size_t cap;
};

#define STR_LIMIT ((size_t)1 << 31)

void str_release(struct str *s);
void str_clear(struct str *s); /* keeps the memory */
const char *str_text(const struct str *s);
/* Hands the buffer to the caller, who frees it with free(). */
char *str_detach(struct str *s);

void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t len);
void str_drop(struct str *s, size_t n); /* the first n bytes, at most all */
void str_addc(struct str *s, char c);
void str_pad(struct str *s, char c, size_t count);
void str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_addv(struct str *s, const char *fmt, va_list ap);

/* A short-lived formatted text from a ring of 16 thread-local buffers: valid
 * until 16 later calls. For message arguments, not for keeping. */
const char *tmpf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* For a thread about to end: frees its ring. */
void str_ring_release(void);

bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);
/* Whether `word` is one of the words "a|b|c". */
bool word_in(const char *words, const char *word);

/* Adds text with every byte that is not valid UTF-8, and every control
 * character, replaced by U+FFFD: what a terminal may safely be shown. */
void str_add_printable(struct str *s, const char *text, size_t len);

/* Length in bytes (1 to 4) of the valid UTF-8 character at p, 0 if invalid. */
int utf8_len(const char *p, const char *end);

/* Nearest word of a NULL-terminated list by edit distance, or NULL when
 * none is near enough to be worth offering. */
const char *nearest_word(const char *word, const char *const *words);

#endif
