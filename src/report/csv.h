/* Cells of a CSV that is safe in a spreadsheet. */
#ifndef ASSAY_REPORT_CSV_H
#define ASSAY_REPORT_CSV_H

#include "base/str.h"

/* The first cell of a row; further ones with their comma. NULL and what is not
 * finite is an empty cell. */
void csv_text(struct str *out, const char *text);
void csv_next_text(struct str *out, const char *text);
void csv_next_number(struct str *out, double value);

#endif
