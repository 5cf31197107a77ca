/* What reports show of evidence beyond its figures, as parameters of the readings: a bill
 * by classes, tickets one by one, a projection (read back by report/service_facts.c). */
#ifndef ASSAY_CLI_EVIDENCE_DETAIL_H
#define ASSAY_CLI_EVIDENCE_DETAIL_H

#include "cli/evidence.h"
#include "service/bill.h"
#include "service/tickets.h"

/* JSON on one line, of the evidence's arena. */
const char *evidence_bill_params(struct evidence *e, const struct bill *b);
const char *evidence_tickets_params(struct evidence *e, const struct tickets *t);

/* Of the table in evidence.c: days and cost of the model that --params and --tokens name,
 * at the price that quote or bill told before. What is in its way is the reading's reason:
 * it judges nothing. */
enum status evidence_model(struct evidence *e, struct error *err);
/* Read together with --params. */
enum status evidence_tokens(struct evidence *e, struct error *err);

#endif
