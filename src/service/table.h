/* A small table that people keep - tickets, causes of outages - as a whole, in whatever
 * form their programs write CSV (service/sheet.h: semicolons, UTF-16, GBK, a byte order
 * mark …). */
#ifndef ASSAY_SERVICE_TABLE_H
#define ASSAY_SERVICE_TABLE_H

#include "base/csv.h"

/* ST_PARSE with file and line. csv_release it, also after an error. */
enum status table_read(struct csv *csv, const char *path, struct error *err);

#endif
