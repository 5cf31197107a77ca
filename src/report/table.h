/* Tables of a page, laid out by libsmartcols. */
#ifndef ASSAY_REPORT_TABLE_H
#define ASSAY_REPORT_TABLE_H

#include <stdbool.h>

#include "base/str.h"

#define TABLE_GAP "  " /* between columns */

struct table_column {
	const char *title;
	bool right; /* numbers stand below each other */
};

struct table {
	const struct table_column *columns;
	int n_columns;
	bool titles; /* first line: what the columns are */
	int indent;
	bool utf8; /* of the terminal */
};

/* Appends `n_rows` x `n_columns` cells, row by row. Cells are never cut: the
 * caller has made them fit. False: no memory. */
bool table_print(struct str *out, const struct table *t, const struct str *cells, int n_rows);

#endif
