/* Service and cost in the formats that are not pages; nothing where the run was judged
 * without papers and logs. */
#ifndef ASSAY_REPORT_SERVICE_WRITERS_H
#define ASSAY_REPORT_SERVICE_WRITERS_H

#include "assay/finding.h"
#include "base/json.h"

/* A member "service": {"availability", "tickets", "bill", "projection"}, as far as there. */
void service_json(struct json_out *j, const struct scorecard *card);
/* Rows with "service" in the first column; see csv.c for the others. */
void service_csv(struct str *out, const struct scorecard *card);
/* A section of its own; `items`: rows of a table at most, 0: all. */
void service_markdown(struct str *out, const struct scorecard *card, int items);

#endif
