/* Waivers in words, for all reports for people: what is waived, what it would be
 * without, and why somebody takes it. */
#ifndef ASSAY_REPORT_WAIVED_H
#define ASSAY_REPORT_WAIVED_H

#include "assay/finding.h"
#include "base/str.h"

/* "gemm-fp16" or "gemm-fp16, n017 card 3": the rule, and whom it is about. */
void waiver_what(struct str *out, const struct waiver *w);
/* "FAIL without it: n017 card 3 (...): gemm_fp16_tflops 201 TFLOP/s; limit >= 268 TFLOP/s":
 * the worst that it excuses, and how many; or that there is nothing to excuse. */
void waiver_claim(struct str *out, const struct scorecard *card, const struct waiver_result *w);
/* "the vendor replaces the card by May (J. Doe, 2026-12-02)". */
void waiver_why(struct str *out, const struct waiver *w);
/* ", 3 waived"; nothing where there are none. */
void waived_count(struct str *out, int64_t waived);

/* The verdict to be shown of a rule: a waiver never hides what it is without. */
static inline enum verdict waived_verdict(enum verdict verdict, enum verdict unwaived,
                                          int64_t waived)
{
	return waived && verdict == VERDICT_NOT_APPLICABLE ? unwaived : verdict;
}

/* Nobody gets ahead of others by a waiver. */
static inline enum verdict criterion_unwaived(const struct criterion_result *c)
{
	return c->waived ? c->unwaived : c->verdict;
}

static inline enum verdict rule_shown(const struct rule_result *r)
{
	return r->waived ? r->unwaived : r->verdict;
}

/* The worst finding it excuses, or NULL. */
const struct finding *waiver_worst(const struct scorecard *card, const struct waiver_result *w);

#endif
