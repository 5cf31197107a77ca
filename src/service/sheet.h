/* Tables of other people, line by line: CSV with commas, semicolons or tabs, in UTF-8,
 * UTF-16 or GBK, with or without a byte order mark, LF or CRLF, quoted line breaks. Read as
 * a stream, since a month's bill of a cluster has half a million lines: memory is that
 * of the longest line. base/csv.h is for Assay's own small tables.
 *
 * Every error says file and line. */
#ifndef ASSAY_SERVICE_SHEET_H
#define ASSAY_SERVICE_SHEET_H

#include <iconv.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#define SHEET_LINE_MAX ((size_t)4 << 20) /* bytes of one line, as UTF-8 */

struct sheet {
	struct arena arena;
	const char *name;     /* for messages */
	const char *encoding; /* "UTF-8", "UTF-16LE", "GB18030" … */
	char delimiter;       /* , ; or tab */
	const char **columns; /* without blanks around */
	int n_columns;
	/* The line read last: n_columns texts, without blanks around, until the next. */
	const char **fields;
	int64_t line; /* where it begins, from 1 */
	/* private */
	int fd;
	iconv_t convert;
	bool converting, ended;
	char *raw; /* bytes not converted yet */
	size_t n_raw;
	char *text; /* as UTF-8 */
	size_t at, n_text, cap_text;
	int64_t next_line; /* at `at` */
	int n_fields, cap_fields;
};

/* Opens and reads the header: lines without a delimiter before it are a title and
 * skipped. On failure nothing is left open. */
enum status sheet_open(struct sheet *s, const char *path, struct error *err);
/* The next line that is not empty; *more is false at the end. */
enum status sheet_next(struct sheet *s, bool *more, struct error *err);
void sheet_close(struct sheet *s);
/* Whatever the case of its letters; -1: no such column. */
int sheet_column(const struct sheet *s, const char *name);
/* ST_PARSE with the nearest there is where it has neither the column nor, if given, the
 * other one. */
enum status sheet_need(const struct sheet *s, const char *column, const char *other,
                       struct error *err);

#endif
