/* A heat map: from whom (rows) to whom (columns), in steps of the share of the
 * median, so that what differs is seen whatever the unit. */
#ifndef ASSAY_REPORT_HTML_MATRIX_H
#define ASSAY_REPORT_HTML_MATRIX_H

#include "assay/reading.h"
#include "report/html.h"

struct matrix {
	int n;
	const char **name; /* of rows and columns */
	double *value;     /* n x n; NaN: not measured */
	enum better better;
	const char *unit;
};

/* Room for n, nothing measured. */
void matrix_make(struct matrix *m, struct html *h, int n);
/* Keeps the worse of what is there and this. */
void matrix_put(struct matrix *m, int from, int to, double value);
/* A figure with title and key. */
void matrix_draw(struct html *h, const struct matrix *m, const char *title);

#endif
