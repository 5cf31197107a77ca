/* What stands at the head of a report for people, whatever its form: the verdict, what
 * was tested, and what limits the worth of all that follows. */
#ifndef ASSAY_REPORT_HEAD_H
#define ASSAY_REPORT_HEAD_H

#include "assay/finding.h"
#include "base/arena.h"
#include "base/str.h"

/* "Assay 0.1, vendor-x, 125 nodes x 8 a100-sxm4-80gb, 2026-12-02 10:41 UTC". */
void head_facts(struct str *out, const struct scorecard *card);
/* "profile P, quick budget, took 27 min"; nothing when nothing is known. */
void head_run(struct str *out, const struct scorecard *card);
/* "REJECT" and "2 of 1,000 cards, 1 node link"; a simulated run says so. */
void headline(struct str *word, struct str *rest, const struct scorecard *card);
/* Sentences that must be read first; the list ends with NULL. */
/* "bill bill.csv, sha256 9f2c…", short-lived. */
const char *head_evidence(const struct evidence_file *f);
const char *const *head_banners(struct arena *arena, const struct scorecard *card);

/* On delivery day there is nothing to say but how much is still to come. */
bool criterion_only_later(const struct scorecard *card, const struct criterion_result *c);
/* "20 of 28 checks over a period". */
void criterion_later(struct str *out, const struct criterion_result *c);
/* What its own line says of the period; nothing where there is none. */
void criterion_period(struct str *out, const struct scorecard *card,
                      const struct criterion_result *c);

#endif
