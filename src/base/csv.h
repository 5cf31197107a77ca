/* CSV as RFC 4180 writes it: quoted fields, doubled quotes, CRLF or LF, an
 * optional UTF-8 BOM. First row is the header; columns are found by name. */
#ifndef ASSAY_BASE_CSV_H
#define ASSAY_BASE_CSV_H

#include "base/arena.h"
#include "base/error.h"

struct csv {
	struct arena arena;
	const char *name; /* for messages */
	const char **columns;
	int n_columns;
	const char ***rows; /* rows[r][c], never NULL */
	int *lines;         /* line number where row r begins */
	int n_rows;
};

/* A row with another number of fields than the header, an unclosed quote, a
 * NUL byte or a duplicate column is an error with file:line. */
enum status csv_parse(struct csv *csv, const char *name, const char *text, size_t len,
                      struct error *err);
void csv_release(struct csv *csv);
int csv_column(const struct csv *csv, const char *name); /* -1: none */
const char *csv_field(const struct csv *csv, int row,
                      const char *column); /* NULL: no such column */

#endif
