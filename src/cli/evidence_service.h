/* Heartbeat logs and tickets as evidence beside a run. */
#ifndef ASSAY_CLI_EVIDENCE_SERVICE_H
#define ASSAY_CLI_EVIDENCE_SERVICE_H

#include "cli/evidence.h"

/* Of the table in evidence.c. */
enum status evidence_availability(struct evidence *e, struct error *err);
enum status evidence_causes(struct evidence *e, struct error *err);
enum status evidence_tickets(struct evidence *e, struct error *err);

#endif
