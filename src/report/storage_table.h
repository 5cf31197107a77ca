/* Storage as a picture: latency over depth, the point judged, what limited it. */
#ifndef ASSAY_REPORT_STORAGE_TABLE_H
#define ASSAY_REPORT_STORAGE_TABLE_H

#include "report/report.h"

/* Appends a block for each storage path of which anything was measured: named
 * paths, then local disks. Of a path that many nodes read, the node whose
 * figures decided. Nothing when there is no such path. */
enum status storage_table(struct str *out, const struct scorecard *card,
                          const struct report_options *options, int width, struct error *err);

/* Whether the blocks show this figure, so that a list of figures may leave it out. */
bool storage_table_shows(const struct scorecard *card, const struct reading *r);

#endif
