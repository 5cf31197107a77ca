/* Links lines and checks the links; the two must agree to the byte. */
#include "run/chain.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char before_prev[] = ",\"prev\":\"", before_seq[] = ",\"seq\":";

#define TAIL_LEN (sizeof(before_prev) - 1 + 64 + 2) /* ,"prev":"<64>"} */

void lines_index(struct lines *lines, const char *text, size_t len)
{
	size_t cap = len / 512 + 16;
	const char *p, *end, *newline;

	text = text ? text : ""; /* an empty file is mapped nowhere */
	p = text;
	end = text + len;
	*lines = (struct lines){.text = text, .starts = malloc(cap * sizeof(size_t))};
	if (!lines->starts)
		die_nomem();
	lines->starts[0] = 0;
	for (; p < end && (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
		if ((size_t)lines->count + 2 > cap) {
			cap *= 2;
			lines->starts = reallocarray(lines->starts, cap, sizeof(size_t));
			if (!lines->starts)
				die_nomem();
		}
		lines->starts[++lines->count] = (size_t)(newline + 1 - text);
	}
}

void lines_release(struct lines *lines)
{
	free(lines->starts);
	*lines = (struct lines){0};
}

void chain_link(struct str *out, const char *line, size_t len, int64_t seq, const char *prev)
{
	str_addn(out, line, len - 1);
	str_addf(out, "%s%lld%s%s\"}\n", before_seq, (long long)seq, before_prev, prev);
}

/* Takes the ending apart; false if it has another form. */
static bool ending(const char *line, size_t len, int64_t *seq, const char **prev)
{
	const char *tail, *p;
	int64_t factor = 1;

	if (len < TAIL_LEN + sizeof(before_seq))
		return false;
	tail = line + len - TAIL_LEN;
	if (memcmp(line + len - 2, "\"}", 2) != 0 ||
	    memcmp(tail, before_prev, sizeof(before_prev) - 1) != 0)
		return false;
	*prev = tail + sizeof(before_prev) - 1;
	for (p = tail, *seq = 0; p > line && p[-1] >= '0' && p[-1] <= '9' && tail - p < 16; p--) {
		*seq += (p[-1] - '0') * factor;
		factor *= 10;
	}
	return p < tail && p - line >= (ptrdiff_t)sizeof(before_seq) - 1 &&
	       memcmp(p - (sizeof(before_seq) - 1), before_seq, sizeof(before_seq) - 1) == 0;
}

bool chain_is_linked(const char *line, size_t len)
{
	const char *prev;
	int64_t seq;

	return ending(line, len, &seq, &prev);
}

static void check_line(struct chain *c, int64_t i, const char *line, size_t len)
{
	const char *prev;
	int64_t seq;
	bool form = ending(line, len, &seq, &prev);

	c->linked += form;
	if (c->broken)
		return;
	if (!form || seq != i) {
		c->broken = i + 1;
		c->broken_form = true;
	} else if (memcmp(prev, c->head, 64) != 0) {
		c->broken = i + 1;
	}
}

static void *chain_main(void *arg)
{
	struct chain *c = arg;

	for (int64_t i = c->whole ? 0 : c->lines->count - 1; i >= 0 && i < c->lines->count; i++) {
		size_t len;
		const char *line = lines_at(c->lines, i, &len);

		if (i > 0 && c->whole)
			check_line(c, i, line, len);
		sha256_text(line, len, c->head);
	}
	return NULL;
}

void chain_start(struct chain *chain, const struct lines *lines, bool whole)
{
	*chain = (struct chain){.lines = lines, .whole = whole};
	chain->threaded = whole && pthread_create(&chain->thread, NULL, chain_main, chain) == 0;
	if (!chain->threaded)
		chain_main(chain);
}

void chain_wait(struct chain *chain)
{
	if (chain->threaded)
		pthread_join(chain->thread, NULL);
	chain->threaded = false;
}
