/* Findings as JUnit XML, for CI systems: a suite a criterion, a case a finding. What
 * decides and fails is a failure; what has no verdict is skipped, with its reason;
 * the guides' own reading and rules that are not required decide nothing and are
 * passed with their verdict in the output. */
#include <string.h>

#include "base/arena.h"
#include "base/msg.h"
#include "report/groups.h"
#include "report/markup.h"
#include "report/readiness.h"
#include "report/report_writers.h"
#include "report/waived.h"
#include "report/words.h"
#include "run/gated.h"

struct counts {
	int64_t tests, failures, skipped;
};

static bool decides(const struct finding *f)
{
	return f->rule->required;
}

static bool is_skipped(const struct finding *f)
{
	if (f->waived)
		return true;
	return f->verdict != VERDICT_PASS && f->verdict != VERDICT_WARN &&
	       f->verdict != VERDICT_FAIL;
}

static bool belongs(const struct scorecard *card, const struct finding *f, const char *criterion)
{
	return strcmp(f->rule->criterion, criterion) == 0 && rule_in_stage(card, f->rule);
}

static struct counts count(const struct scorecard *card, const char *criterion)
{
	struct counts n = {0};

	for (int64_t i = 0; i < card->n_findings; i++) {
		const struct finding *f = &card->findings[i];

		if (criterion && !belongs(card, f, criterion))
			continue;
		if (!criterion && !rule_in_stage(card, f->rule))
			continue;
		n.tests++;
		n.failures += f->verdict == VERDICT_FAIL && decides(f) && !f->waived;
		n.skipped += is_skipped(f);
	}
	return n;
}

static void put_counts(struct str *out, struct counts n)
{
	str_addf(out, " tests=\"%lld\" failures=\"%lld\" errors=\"0\" skipped=\"%lld\"",
	         (long long)n.tests, (long long)n.failures, (long long)n.skipped);
}

static void put_attribute(struct str *out, const char *name, const char *text)
{
	str_addf(out, " %s=\"", name);
	markup_text(out, text);
	str_addc(out, '"');
}

/* "gemm_fp16_tflops 201 TFLOP/s; limit >= 268 TFLOP/s", and why. */
static void put_words(struct str *out, const struct finding *f)
{
	struct str s = {0};

	words_figure(&s, f);
	words_limit(&s, f);
	if (f->reason.code || f->reason.text) {
		str_add(&s, "; ");
		words_reason(&s, f, NULL);
	}
	if (f->advice)
		str_addf(&s, " -> %s", f->advice);
	markup_text(out, str_text(&s));
	str_release(&s);
}

static void put_case(struct str *out, const struct finding *f)
{
	struct str who = {0};

	words_subject(&who, &f->subject, f->node);
	str_add(out, "    <testcase");
	put_attribute(out, "classname", f->rule->id);
	put_attribute(out, "name", str_text(&who));
	str_release(&who);
	if (f->verdict == VERDICT_PASS) {
		str_add(out, "/>\n");
		return;
	}
	if (f->waived) {
		struct str why = {0};

		waiver_why(&why, &f->waived->waiver);
		str_add(out, ">\n      <skipped message=\"");
		markup_text(out, say(MSG_waiver_junit, verdict_name(f->verdict), str_text(&why)));
		str_add(out, ": ");
		str_release(&why);
	} else if (is_skipped(f))
		str_addf(out, ">\n      <skipped message=\"%s: ", verdict_name(f->verdict));
	else if (f->verdict == VERDICT_FAIL && decides(f))
		str_addf(out, ">\n      <failure type=\"%s\" message=\"", verdict_name(f->verdict));
	else
		str_addf(out, ">\n      <system-out>%s: ", verdict_name(f->verdict));
	put_words(out, f);
	if (is_skipped(f) || (f->verdict == VERDICT_FAIL && decides(f)))
		str_add(out, "\"/>\n    </testcase>\n");
	else
		str_add(out, "</system-out>\n    </testcase>\n");
}

/* --- software and the gate: no findings, so suites of their own --------------------------- */

static struct counts count_gate(const struct gated *g)
{
	struct counts n = {.tests = g->n_lines + 1};

	for (int i = 0; i < g->n_lines; i++) {
		n.failures += gated_fails(&g->lines[i]);
		n.skipped += gated_is_open(&g->lines[i]);
	}
	return n;
}

static void suite_begin(struct str *out, const char *name, struct counts n)
{
	str_add(out, "  <testsuite");
	put_attribute(out, "name", name);
	put_counts(out, n);
	str_add(out, ">\n");
}

static void plain_case(struct str *out, const char *class, const char *name, const char *text)
{
	str_add(out, "    <testcase");
	put_attribute(out, "classname", class);
	put_attribute(out, "name", name);
	str_add(out, ">\n      <system-out>");
	markup_text(out, text);
	str_add(out, "</system-out>\n    </testcase>\n");
}

static void put_software(struct str *out, const struct readiness *r, struct counts n)
{
	suite_begin(out, "software", n);
	for (int i = 0; i < r->n; i++) {
		struct str words = {0};

		if (!r->rows[i].tells)
			continue;
		readiness_words(&words, &r->rows[i]);
		plain_case(out, "software", r->rows[i].name, str_text(&words));
		str_release(&words);
	}
	str_add(out, "  </testsuite>\n");
}

static void put_gate(struct str *out, const struct gated *g)
{
	struct str words = {0};

	suite_begin(out, "gate", count_gate(g));
	gated_words(&words, g);
	plain_case(out, "gate", "compared", str_text(&words));
	str_release(&words);
	for (int i = 0; i < g->n_lines; i++) {
		const struct gated_line *l = &g->lines[i];
		const char *word = gated_fails(l) ? "failure" : gated_is_open(l) ? "skipped" : NULL;

		if (!word) {
			plain_case(out, "gate", l->name, gated_text(l));
			continue;
		}
		str_add(out, "    <testcase classname=\"gate\"");
		put_attribute(out, "name", l->name);
		str_addf(out, ">\n      <%s", word);
		put_attribute(out, "message", gated_text(l));
		str_add(out, "/>\n    </testcase>\n");
	}
	str_add(out, "  </testsuite>\n");
}

static struct counts count_software(const struct readiness *r)
{
	struct counts n = {0};

	for (int i = 0; i < r->n; i++)
		n.tests += r->rows[i].tells;
	return n;
}

static struct counts sum(struct counts a, struct counts b)
{
	return (struct counts){a.tests + b.tests, a.failures + b.failures, a.skipped + b.skipped};
}

enum status report_junit(struct str *out, const struct scorecard *card,
                         const struct report_options *options, struct error *err)
{
	struct str verdict = {0};
	struct arena arena = {0};
	struct readiness r;
	struct counts software, gate = {0};

	(void)options;
	(void)err;
	readiness_find(&r, &arena, card);
	software = count_software(&r);
	if (card->gated)
		gate = count_gate(card->gated);
	str_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
	words_overall_waived(&verdict, card->overall, overall_name(card->overall),
	                     card->waivers_used);
	put_attribute(out, "name", tmpf("assay %s", str_text(&verdict)));
	str_release(&verdict);
	put_counts(out, sum(count(card, NULL), sum(software, gate)));
	str_add(out, ">\n");
	for (int i = 0; i < card->n_criteria; i++) {
		const struct criterion_result *c = &card->criteria[i];

		str_add(out, "  <testsuite");
		put_attribute(out, "name", tmpf("%s %s", c->id, c->title));
		if (card->started && strlen(card->started) >= 19)
			put_attribute(out, "timestamp", tmpf("%.19s", card->started));
		put_counts(out, count(card, c->id));
		str_add(out, ">\n");
		for (int64_t k = 0; k < card->n_findings; k++)
			if (belongs(card, &card->findings[k], c->id))
				put_case(out, &card->findings[k]);
		str_add(out, "  </testsuite>\n");
	}
	if (software.tests)
		put_software(out, &r, software);
	if (card->gated)
		put_gate(out, card->gated);
	str_add(out, "</testsuites>\n");
	arena_release(&arena);
	return ST_OK;
}
