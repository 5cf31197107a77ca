/* The growing text buffer everything readable is built in. Growth doubles;
 * the limit turns a runaway into a clear end instead of a swapped-out host. */
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void str_reserve(struct str *s, size_t extra)
{
	size_t need, cap;

	if (extra > STR_LIMIT || s->len + extra + 1 > STR_LIMIT)
		die_nomem();
	need = s->len + extra + 1;
	if (need <= s->cap)
		return;
	cap = s->cap ? s->cap : 64;
	while (cap < need)
		cap *= 2;
	s->data = realloc(s->data, cap);
	if (!s->data)
		die_nomem();
	s->cap = cap;
}

void str_release(struct str *s)
{
	free(s->data);
	*s = (struct str){0};
}

void str_clear(struct str *s)
{
	s->len = 0;
	if (s->data)
		s->data[0] = '\0';
}

const char *str_text(const struct str *s)
{
	return s->data ? s->data : "";
}

char *str_detach(struct str *s)
{
	char *data;

	str_reserve(s, 0);
	s->data[s->len] = '\0';
	data = s->data;
	*s = (struct str){0};
	return data;
}

void str_addn(struct str *s, const char *text, size_t len)
{
	str_reserve(s, len);
	if (len)
		memcpy(s->data + s->len, text, len);
	s->len += len;
	s->data[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
	str_addn(s, text, strlen(text));
}

void str_drop(struct str *s, size_t n)
{
	if (n > s->len)
		n = s->len;
	if (n == 0)
		return;
	memmove(s->data, s->data + n, s->len - n + 1);
	s->len -= n;
}

void str_addc(struct str *s, char c)
{
	str_addn(s, &c, 1);
}

void str_pad(struct str *s, char c, size_t count)
{
	str_reserve(s, count);
	memset(s->data + s->len, c, count);
	s->len += count;
	s->data[s->len] = '\0';
}

void str_addv(struct str *s, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return;
	str_reserve(s, (size_t)n);
	vsnprintf(s->data + s->len, (size_t)n + 1, fmt, ap);
	s->len += (size_t)n;
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	str_addv(s, fmt, ap);
	va_end(ap);
}

/* --- the ring of short-lived texts ------------------------------------- */

#define RING 16

static _Thread_local struct str ring[RING];
static _Thread_local unsigned ring_next;

/* Kept small between uses so that one long text does not stay for ever. */
struct str *str_ring(void);
struct str *str_ring(void)
{
	struct str *s = &ring[ring_next++ % RING];

	if (s->cap > 1 << 16)
		str_release(s);
	str_clear(s);
	str_reserve(s, 0);
	s->data[0] = '\0';
	return s;
}

void str_ring_release(void)
{
	for (int i = 0; i < RING; i++)
		str_release(&ring[i]);
}

const char *tmpf(const char *fmt, ...)
{
	struct str *s = str_ring();
	va_list ap;

	va_start(ap, fmt);
	str_addv(s, fmt, ap);
	va_end(ap);
	return s->data;
}

bool str_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n >= m && strcmp(text + n - m, suffix) == 0;
}

bool word_in(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
		if (len && strncmp(p, word, len) == 0 && (p[len] == '|' || p[len] == '\0'))
			return true;
	return false;
}

/* --- UTF-8 -------------------------------------------------------------- */

int utf8_len(const char *p, const char *end)
{
	const unsigned char *s = (const unsigned char *)p;
	size_t left = (size_t)(end - p);
	int n;
	unsigned min, code;

	if (left == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if ((s[0] & 0xe0) == 0xc0) {
		n = 2, min = 0x80, code = s[0] & 0x1f;
	} else if ((s[0] & 0xf0) == 0xe0) {
		n = 3, min = 0x800, code = s[0] & 0x0f;
	} else if ((s[0] & 0xf8) == 0xf0) {
		n = 4, min = 0x10000, code = s[0] & 0x07;
	} else {
		return 0;
	}
	if (left < (size_t)n)
		return 0;
	for (int i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < min || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return n;
}

/* Control characters, and those that reorder or hide what follows: C1 (U+0080
 * to 9F), zero-width and bidirectional marks (U+200B-200F, 202A-202E, 2060-2069,
 * FEFF). A host name with them could make a screen lie. */
static bool utf8_unsafe(const char *p, int n)
{
	const unsigned char *s = (const unsigned char *)p;
	unsigned code;

	if (n == 1)
		return s[0] < 0x20 || s[0] == 0x7f;
	if (n == 2)
		return s[0] == 0xc2 && s[1] < 0xa0;
	if (n != 3)
		return false;
	code = (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
	return (code >= 0x200b && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x2069) || code == 0xfeff;
}

void str_add_printable(struct str *s, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		int n = utf8_len(text, end);

		if (n == 0 || utf8_unsafe(text, n)) {
			str_add(s, "\xef\xbf\xbd");
			text += n ? n : 1;
		} else {
			str_addn(s, text, (size_t)n);
			text += n;
		}
	}
}

/* --- nearest word ------------------------------------------------------- */

/* Insertions, deletions, replacements, and neighbours swapped, one each. */
static int edit_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	int rows[3][65];

	if (n > 64 || m > 64)
		return 99;
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		int *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

		row[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			int cost = above[j - 1] + (a[i - 1] != b[j - 1]);

			if (above[j] + 1 < cost)
				cost = above[j] + 1;
			if (row[j - 1] + 1 < cost)
				cost = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    second[j - 2] + 1 < cost)
				cost = second[j - 2] + 1;
			row[j] = cost;
		}
	}
	return rows[n % 3][m];
}

const char *nearest_word(const char *word, const char *const *words)
{
	const char *best = NULL;
	int best_distance = 1 + (int)strlen(word) / 2;

	if (best_distance > 6)
		best_distance = 6;
	for (; *words; words++) {
		int d = edit_distance(word, *words);

		/* A prefix that was cut short is nearer than letters swapped. */
		if (d > 1 && strlen(word) >= 3 && str_starts(*words, word))
			d = 1;
		if (d < best_distance) {
			best_distance = d;
			best = *words;
		}
	}
	return best;
}
