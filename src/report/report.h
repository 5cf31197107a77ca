/* Printing a scorecard. A writer receives generic results and knows no probe
 * by name. To add a format: one file, one row in report_formats. */
#ifndef ASSAY_REPORT_REPORT_H
#define ASSAY_REPORT_REPORT_H

#include "assay/finding.h"
#include "base/error.h"
#include "base/str.h"

struct metric_set;

struct report_options {
	int width;     /* terminal columns, 40 to 80 are used; 0: 80 */
	bool color;    /* ANSI colours */
	bool utf8;     /* else ASCII only */
	int max_items; /* culprits and lines per criterion; 0: all */
	/* HTML: for charts of raw files, and formulas; NULL: without. */
	const char *run_dir;
	const struct metric_set *metrics; /* score/score.h */
};

struct report_format {
	const char *name; /* "terminal", "json", "csv", "html" … */
	enum status (*write)(struct str *out, const struct scorecard *card,
	                     const struct report_options *options, struct error *err);
};

extern const struct report_format report_formats[]; /* ends with name NULL */
const struct report_format *report_find(const char *name);

#endif
