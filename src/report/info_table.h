/* The table of figures no rule judges. */
#ifndef ASSAY_REPORT_INFO_TABLE_H
#define ASSAY_REPORT_INFO_TABLE_H

#include "report/report.h"

/* Appends the table, nothing when there are no such figures. */
enum status info_table(struct str *out, const struct scorecard *card,
                       const struct report_options *options, int width, struct error *err);

#endif
