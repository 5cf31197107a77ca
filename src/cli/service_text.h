/* Availability and tickets in words, and as JSON. */
#ifndef ASSAY_CLI_SERVICE_TEXT_H
#define ASSAY_CLI_SERVICE_TEXT_H

#include "report/report.h"
#include "service/tickets.h"

/* t may be NULL. False: no memory. */
bool availability_text(struct str *out, const struct availability *a, const struct tickets *t,
                       const struct report_options *o);
void availability_json(struct str *out, const struct availability *a, const struct tickets *t);

/* For tickets: a paragraph of its own lines. */
void tickets_text(struct str *out, const struct tickets *t, const struct availability *a,
                  const struct report_options *o);

/* A wrapped line that begins with `indent` blanks; later ones two further in. */
void text_line(struct str *out, const char *text, int indent, const struct report_options *o);
/* 0.99982 -> "99.982 %": never rounded up to more than it is. */
const char *text_percent(double share);
/* "2026-12-02 03:04 UTC" */
const char *text_moment(int64_t ns);

#endif
