/* Tables of other people; see sheet.h. One pass looks at the bytes to tell the
 * encoding (a bill in GBK is not valid UTF-8 by more than chance), the second reads. */
#include "service/sheet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK      ((size_t)1 << 16)
#define TITLE_MOST 20 /* lines before the header */

static const char *number(int64_t n)
{
	return tmpf("%lld", (long long)n);
}

/* --- encoding --------------------------------------------------------------------- */

static enum status read_some(struct sheet *s, char *to, size_t room, size_t *n, struct error *err)
{
	ssize_t got;

	do
		got = read(s->fd, to, room);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_errno(err, s->name, errno);
	*n = (size_t)got;
	return ST_OK;
}

/* UTF-16 without a mark: every other byte of ASCII is 0. */
static const char *utf16_of(const char *p, size_t len)
{
	size_t even = 0, odd = 0;

	for (size_t i = 0; i < len; i++)
		if (!p[i])
			*(i % 2 ? &odd : &even) += 1;
	if (odd > len / 4 && even < len / 16)
		return "UTF-16LE";
	if (even > len / 4 && odd < len / 16)
		return "UTF-16BE";
	return NULL;
}

/* Bytes at the end of valid UTF-8 that may begin a character; *valid: all others are. */
static size_t utf8_rest(const char *p, size_t len, bool last, bool *valid)
{
	const char *end = p + len;

	while (p < end) {
		int n;

		if ((unsigned char)*p < 0x80) {
			p++;
			continue;
		}
		n = utf8_len(p, end);
		if (!n && !last && end - p < 4)
			return (size_t)(end - p);
		if (!n) {
			*valid = false;
			return 0;
		}
		p += n;
	}
	return 0;
}

static enum status find_encoding(struct sheet *s, struct error *err)
{
	size_t kept = 0, n = 0;
	bool valid = true, first = true;
	enum status st;

	do {
		st = read_some(s, s->raw + kept, CHUNK - kept, &n, err);
		if (st != ST_OK)
			return st;
		n += kept;
		if (first && n >= 2 && memcmp(s->raw, "\xff\xfe", 2) == 0)
			s->encoding = "UTF-16LE";
		else if (first && n >= 2 && memcmp(s->raw, "\xfe\xff", 2) == 0)
			s->encoding = "UTF-16BE";
		else if (first)
			s->encoding = utf16_of(s->raw, n < 4096 ? n : 4096);
		first = false;
		if (s->encoding)
			break;
		size_t rest = utf8_rest(s->raw, n, n == kept, &valid);
		bool over = n == kept;

		memmove(s->raw, s->raw + n - rest, rest);
		kept = rest;
		if (over)
			break;
	} while (valid);
	if (!s->encoding)
		s->encoding = valid ? "UTF-8" : "GB18030";
	if (lseek(s->fd, 0, SEEK_SET) < 0)
		return error_errno(err, s->name, errno);
	if (strcmp(s->encoding, "UTF-8") == 0)
		return ST_OK;
	s->convert = iconv_open("UTF-8", s->encoding);
	s->converting = s->convert != (iconv_t)-1;
	return s->converting
	               ? ST_OK
	               : error_set(err, ST_UNSUPPORTED, MSG_sheet_no_iconv, s->name, s->encoding);
}

/* --- more text -------------------------------------------------------------------- */

static void make_room(struct sheet *s, size_t room)
{
	if (s->n_text > s->at)
		memmove(s->text, s->text + s->at, s->n_text - s->at);
	s->n_text -= s->at;
	s->at = 0;
	if (s->cap_text - s->n_text > room)
		return;
	s->cap_text = s->n_text + room + 1;
	s->text = realloc(s->text, s->cap_text);
	if (!s->text)
		die_nomem();
}

static int64_t line_at(const struct sheet *s)
{
	int64_t line = s->next_line;

	for (size_t i = s->at; i < s->n_text; i++)
		line += s->text[i] == '\n';
	return line;
}

static enum status convert(struct sheet *s, struct error *err)
{
	char *in = s->raw, *out = s->text + s->n_text;
	size_t left = s->n_raw, room = s->cap_text - s->n_text - 1;
	size_t done = iconv(s->convert, &in, &left, &out, &room);

	s->n_text = (size_t)(out - s->text);
	if (done == (size_t)-1 && errno != EINVAL && errno != E2BIG)
		return error_set(err, ST_PARSE, MSG_sheet_encoding, s->name, number(line_at(s)),
		                 s->encoding);
	memmove(s->raw, in, left);
	s->n_raw = left;
	return ST_OK;
}

static enum status read_more(struct sheet *s, struct error *err)
{
	size_t n = 0;
	enum status st;

	make_room(s, 4 * CHUNK);
	st = read_some(s, s->converting ? s->raw + s->n_raw : s->text + s->n_text,
	               s->converting ? CHUNK - s->n_raw : CHUNK, &n, err);
	if (st != ST_OK)
		return st;
	if (!n) {
		s->ended = true;
		return s->n_raw ? error_set(err, ST_PARSE, MSG_sheet_encoding, s->name,
		                            number(line_at(s)), s->encoding)
		                : ST_OK;
	}
	if (!s->converting) {
		s->n_text += n;
		return ST_OK;
	}
	s->n_raw += n;
	return convert(s, err);
}

/* --- lines ------------------------------------------------------------------------ */

/* Length of the line at `at` with its end; 0: more text is needed. */
static size_t line_length(const struct sheet *s)
{
	const char *begin = s->text + s->at, *end = s->text + s->n_text, *p = begin;
	bool quoted = false, fresh = true; /* fresh: at the beginning of a field */

	for (; p < end; p++) {
		if (quoted) {
			quoted = *p != '"';
			continue;
		}
		if (*p == '\n')
			return (size_t)(p + 1 - begin);
		/* After a closing quote another one is a doubled quote. */
		if (*p == '"' && (fresh || p[-1] == '"'))
			quoted = true;
		fresh = *p == s->delimiter || (fresh && *p == ' ');
	}
	return s->ended && !quoted ? (size_t)(end - begin) : 0;
}

static enum status whole_line(struct sheet *s, size_t *len, struct error *err)
{
	for (;;) {
		enum status st;

		*len = line_length(s);
		if (*len || (s->ended && s->at == s->n_text))
			return ST_OK;
		if (s->ended || s->n_text - s->at > SHEET_LINE_MAX)
			return error_set(err, ST_PARSE, MSG_csv_quote, s->name,
			                 number(s->next_line));
		st = read_more(s, err);
		if (st != ST_OK)
			return st;
	}
}

static void add_field(struct sheet *s, char *text, char *end)
{
	while (text < end && strchr(" \t", *text))
		text++;
	while (end > text && strchr(" \t\r", end[-1]))
		end--;
	*end = '\0';
	if (s->n_fields == s->cap_fields) {
		s->cap_fields = s->cap_fields ? s->cap_fields * 2 : 64;
		s->fields = reallocarray(s->fields, (size_t)s->cap_fields, sizeof(*s->fields));
		if (!s->fields)
			die_nomem();
	}
	s->fields[s->n_fields++] = text;
}

/* Takes the quotes off in place; returns what follows, or NULL if that is no end of a
 * field. */
static char *unquote(char *p, char *end, char delimiter, char **text_end)
{
	char *to = p;

	for (p++; p < end; p++) {
		if (*p != '"')
			*to++ = *p;
		else if (p + 1 < end && p[1] == '"')
			*to++ = *p++;
		else
			break;
	}
	*text_end = to;
	for (p++; p < end && *p != delimiter; p++)
		if (!strchr(" \t\r", *p))
			return NULL;
	return p;
}

static enum status split(struct sheet *s, char *p, char *end, struct error *err)
{
	s->n_fields = 0;
	if (memchr(p, '\0', (size_t)(end - p)))
		return error_set(err, ST_PARSE, MSG_csv_nul, s->name, number(s->line));
	for (;;) {
		char *next, *text_end, *quote = p + strspn(p, " ");

		if (quote < end && *quote == '"') {
			p = quote;
			next = unquote(p, end, s->delimiter, &text_end);
			if (!next)
				return error_set(err, ST_PARSE, MSG_csv_after_quote, s->name,
				                 number(s->line));
		} else {
			next = memchr(p, s->delimiter, (size_t)(end - p));
			next = next ? next : end;
			text_end = next;
			/* One within a field ends a line, where no LF does. */
			if (text_end > p && memchr(p, '\r', (size_t)(text_end - p - 1)))
				return error_set(err, ST_PARSE, MSG_sheet_cr, s->name,
				                 number(s->line));
		}
		bool last = next >= end;

		add_field(s, p, text_end);
		if (last)
			return ST_OK;
		p = next + 1;
	}
}

/* One line into s->fields; *more is false at the end of the file. */
static enum status take_line(struct sheet *s, bool *more, struct error *err)
{
	size_t len;
	enum status st = whole_line(s, &len, err);
	char *begin, *end;

	*more = st == ST_OK && len > 0;
	if (!*more)
		return st;
	begin = s->text + s->at;
	end = begin + len;
	s->line = s->next_line;
	for (char *p = begin; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		s->next_line++;
	s->at += len;
	if (end[-1] == '\n')
		end--;
	*end = '\0'; /* the line's own end, or the byte kept free behind the text */
	return split(s, begin, end, err);
}

/* --- header ----------------------------------------------------------------------- */

static char most_frequent(const char *p, size_t len)
{
	static const char marks[] = ",;\t";
	size_t count[3] = {0};
	bool quoted = false;
	int best = 0;

	for (size_t i = 0; i < len; i++) {
		const char *mark = quoted ? NULL : memchr(marks, p[i], 3);

		quoted = quoted != (p[i] == '"');
		if (mark)
			count[mark - marks]++;
	}
	for (int i = 1; i < 3; i++)
		if (count[i] > count[best])
			best = i;
	return count[best] ? marks[best] : '\0';
}

/* The delimiter of the first line that has one; lines before it are dropped. */
static enum status find_delimiter(struct sheet *s, struct error *err)
{
	for (int i = 0; i < TITLE_MOST; i++) {
		size_t len;
		enum status st = whole_line(s, &len, err);

		if (st != ST_OK)
			return st;
		if (!len)
			break;
		s->delimiter = most_frequent(s->text + s->at, len);
		if (s->delimiter)
			return ST_OK;
		s->at += len;
		s->next_line++;
	}
	return error_set(err, ST_PARSE, MSG_sheet_no_header, s->name);
}

static enum status read_header(struct sheet *s, struct error *err)
{
	bool more;
	enum status st = read_more(s, err);

	if (st == ST_OK && s->n_text >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0)
		s->at = 3;
	if (st == ST_OK)
		st = find_delimiter(s, err);
	if (st == ST_OK)
		st = take_line(s, &more, err);
	if (st != ST_OK)
		return st;
	s->n_columns = s->n_fields;
	s->columns = arena_array(&s->arena, (size_t)s->n_columns, sizeof(*s->columns));
	for (int i = 0; i < s->n_columns; i++) {
		s->columns[i] = arena_str(&s->arena, s->fields[i]);
		if (*s->columns[i] && sheet_column(s, s->columns[i]) != i)
			return error_set(err, ST_PARSE, MSG_csv_duplicate, s->name, s->columns[i]);
	}
	return ST_OK;
}

/* --- the whole -------------------------------------------------------------------- */

enum status sheet_open(struct sheet *s, const char *path, struct error *err)
{
	struct stat info;
	enum status st = ST_OK;

	*s = (struct sheet){.next_line = 1};
	s->name = arena_str(&s->arena, path);
	s->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &info) != 0)
		st = error_errno(err, path, errno);
	else if (!S_ISREG(info.st_mode))
		st = error_set(err, ST_USAGE, MSG_sheet_no_file, path);
	s->raw = malloc(CHUNK);
	if (!s->raw)
		die_nomem();
	if (st == ST_OK)
		st = find_encoding(s, err);
	if (st == ST_OK)
		st = read_header(s, err);
	if (st != ST_OK)
		sheet_close(s);
	return st;
}

enum status sheet_next(struct sheet *s, bool *more, struct error *err)
{
	enum status st;

	do
		st = take_line(s, more, err);
	while (st == ST_OK && *more && s->n_fields == 1 && !*s->fields[0]);
	if (st != ST_OK || !*more)
		return st;
	if (s->n_fields != s->n_columns)
		return error_set(err, ST_PARSE, MSG_csv_fields, s->name, number(s->line),
		                 tmpf("%d", s->n_fields), tmpf("%d", s->n_columns));
	return ST_OK;
}

void sheet_close(struct sheet *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->converting)
		iconv_close(s->convert);
	free(s->raw);
	free(s->text);
	free(s->fields);
	arena_release(&s->arena);
	*s = (struct sheet){.fd = -1};
}

int sheet_column(const struct sheet *s, const char *name)
{
	for (int i = 0; i < s->n_columns; i++)
		if (s->columns[i] && strcasecmp(s->columns[i], name) == 0)
			return i;
	return -1;
}

enum status sheet_need(const struct sheet *s, const char *column, const char *other,
                       struct error *err)
{
	struct arena arena = {0};
	const char **names;
	const char *near;
	enum status st;

	if (sheet_column(s, column) >= 0 || (other && sheet_column(s, other) >= 0))
		return ST_OK;
	names = arena_array(&arena, (size_t)s->n_columns + 1, sizeof(*names));
	for (int i = 0; i < s->n_columns; i++)
		names[i] = *s->columns[i] ? s->columns[i] : "?";
	near = nearest_word(column, names);
	st = near ? error_set(err, ST_PARSE, MSG_table_column_near, s->name, column, near)
	          : error_set(err, ST_PARSE, MSG_table_column, s->name, column);
	arena_release(&arena);
	return st;
}
