/* The chain: every line but the first ends with its number and the digest of
 * the line before. Checking it needs no parsing, only the fixed form of that
 * ending, so it runs in a thread beside the parser. */
#ifndef ASSAY_RUN_CHAIN_H
#define ASSAY_RUN_CHAIN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/str.h"

/* A journal's text cut into whole lines. */
struct lines {
	const char *text;
	size_t *starts; /* count + 1; starts[count] is where whole lines end */
	int64_t count;
};

void lines_index(struct lines *lines, const char *text, size_t len);
void lines_release(struct lines *lines);
/* Line i from 0, without its newline. */
static inline const char *lines_at(const struct lines *l, int64_t i, size_t *len)
{
	*len = l->starts[i + 1] - l->starts[i] - 1;
	return l->text + l->starts[i];
}

struct chain {
	const struct lines *lines;
	bool whole; /* check all; else only the digest of the last line */
	pthread_t thread;
	bool threaded;
	/* results */
	int64_t linked;        /* lines that end like a line of a journal */
	int64_t broken;        /* number (from 1) of the first line that does not fit, 0: none */
	bool broken_form;      /* its ending is missing or counts wrong; else the digest differs */
	char head[SHA256_HEX]; /* of the last line; "" without lines */
};

void chain_start(struct chain *chain, const struct lines *lines, bool whole);
void chain_wait(struct chain *chain);

/* Turns a finished line {…} into its form in the journal, with newline. */
void chain_link(struct str *out, const char *line, size_t len, int64_t seq, const char *prev);
/* Whether a line already ends like that. */
bool chain_is_linked(const char *line, size_t len);

#endif
