/* Raw files of a run, as far as charts want them. */
#ifndef ASSAY_REPORT_HTML_RAW_H
#define ASSAY_REPORT_HTML_RAW_H

#include "base/csv.h"
#include "report/html.h"

/* The CSV behind a reading; false: there is none here (a report may be made from the
 * journal alone), or it is not what was written. The caller releases it. */
bool html_raw(struct html *h, struct csv *csv, const struct reading *r);

#endif
