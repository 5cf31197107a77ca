/* A small pull scanner for one line of JSON. A journal holds 120,000 lines
 * whose members come in a known order; building a tree of each only to copy it
 * into a struct reading would cost more time and memory than everything else.
 *
 * It is strict (RFC 8259): valid UTF-8, no control characters, no lone
 * surrogates, no numbers that overflow, at most SCAN_DEPTH levels. Every
 * function returns false at the first fault and leaves p there. */
#ifndef ASSAY_RUN_SCAN_H
#define ASSAY_RUN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define SCAN_DEPTH 64

enum scan_fault {
	SCAN_FINE,
	SCAN_SYNTAX, /* not JSON */
	SCAN_NUMBER, /* larger than a double can hold */
};

struct scan {
	const char *start, *p, *end;
	enum scan_fault fault;
	int depth;
};

/* A string between its quotes, as written. */
struct scan_text {
	const char *at;
	size_t len;
	bool escaped; /* has backslashes: use scan_unescape */
};

struct scan scan_begin(const char *text, size_t len);
/* Only white space is left. */
bool scan_finished(struct scan *s);
/* First character of the next token, '\0' at the end. */
char scan_peek(struct scan *s);

bool scan_string(struct scan *s, struct scan_text *text);
bool scan_number(struct scan *s, double *value);
/* A whole number within 2^53, or any 64-bit one as a decimal string. */
bool scan_int64(struct scan *s, int64_t *value);
/* Takes the word if it is there: true, false, null. */
bool scan_word(struct scan *s, const char *word);
/* Any value, checked all the same. */
bool scan_skip(struct scan *s);

/* Calls `member` at each value of an object, or `element` at each of an array;
 * it has to consume the value. */
bool scan_object(struct scan *s,
                 bool (*member)(void *arg, struct scan *s, const struct scan_text *key), void *arg);
bool scan_array(struct scan *s, bool (*element)(void *arg, struct scan *s), void *arg);

void scan_unescape(struct str *out, const struct scan_text *text);

#endif
