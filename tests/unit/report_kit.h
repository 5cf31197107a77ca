/* Scorecards made by hand, for the tests of the report. */
#ifndef ASSAY_TESTS_REPORT_KIT_H
#define ASSAY_TESTS_REPORT_KIT_H

#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

#define DIGEST "9f2c000000000000000000000000000000000000000000000000000000000001"

/* --- making scorecards ------------------------------------------------------------ */

static inline struct rule_info rule_of(const char *id, const char *criterion, const char *metric,
                                       const char *unit, const char *limit)
{
	return (struct rule_info){.id = id,
	                          .criterion = criterion,
	                          .metric = metric,
	                          .stat = "value",
	                          .unit = unit,
	                          .scope = "each",
	                          .limit = limit,
	                          .source = "guide 1.2",
	                          .required = true,
	                          .min_coverage = 1};
}

static inline struct finding finding_of(const struct rule_info *rule, enum subject_kind kind,
                                        const char *id, const char *node, enum verdict verdict)
{
	return (struct finding){
		.rule = rule,
		.subject = {.kind = kind, .id = id, .index = kind == SUBJECT_CARD ? 0 : -1},
		.node = node,
		.verdict = verdict,
		.limit = NAN,
		.ci_lo = NAN,
		.ci_hi = NAN,
		.resolution = NAN,
		.attempt = 1,
		.subjects = 1};
}

static inline struct finding with_value(struct finding f, double value, double limit)
{
	f.has_value = true;
	f.value = value;
	f.limit = limit;
	return f;
}

static inline struct finding with_why(struct finding f, const char *code, const char *text,
                                      const char *advice)
{
	f.reason = (struct reason){.code = code, .text = text};
	f.advice = advice;
	return f;
}

static inline struct scorecard card_of(enum overall overall)
{
	return (struct scorecard){.profile = "thousand-card",
	                          .profile_sha256 = DIGEST,
	                          .overall = overall,
	                          .overall_if_measured = overall,
	                          .expected_nodes = 1,
	                          .expected_cards = -1,
	                          .started = "2026-12-02T10:41:07.123Z",
	                          .ended = "2026-12-02T11:08:07.123Z",
	                          .seconds = 1620,
	                          .run_digest = DIGEST,
	                          .version = "0.1.0",
	                          .budget = "standard"};
}

static inline struct report_options plain(int width)
{
	return (struct report_options){.width = width, .utf8 = true, .max_items = 12};
}

static inline struct str print(const char *format, const struct scorecard *card,
                               struct report_options o)
{
	struct str out = {0};
	struct error err = {0};

	assert_non_null(report_find(format));
	assert_int_equal(report_find(format)->write(&out, card, &o, &err), ST_OK);
	return out;
}

#endif
