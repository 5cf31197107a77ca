/* The vendor's own measured report as evidence beside a run. */
#ifndef ASSAY_CLI_EVIDENCE_VENDOR_H
#define ASSAY_CLI_EVIDENCE_VENDOR_H

#include "cli/evidence.h"

/* Of the table in evidence.c. */
enum status evidence_vendor_report(struct evidence *e, struct error *err);

#endif
