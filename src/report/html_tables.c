/* What a chart cannot say: what has no verdict and why, the guides to the letter, all
 * findings, all rules, how each figure was measured, and the environment. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/formulas.h"
#include "report/head.h"
#include "report/html.h"
#include "report/waived.h"
#include "report/words.h"
#include "score/score.h"
#include "stats/samples.h"

#define MOST_FINDINGS 2000 /* rows; all of them are in the CSV */
#define MOST_VALUES   12   /* of an environment's text */

/* --- without a verdict -------------------------------------------------------------------- */

static void reason_row(struct html *h, const struct group *g)
{
	struct str where = {0}, why = {0}, names = {0};

	group_where(&where, g, h->card);
	words_reason(&why, g->first, g->n_metrics > 1 ? msg_format(MSG_these_figures) : NULL);
	words_names(&names, g->metrics, g->n_metrics);
	html_row(h);
	str_add(h->out, "<td>");
	html_verdict(h->out, g->verdict);
	html_cell(h, str_text(&where));
	html_cell(h, str_text(&why));
	html_cell(h, g->first->advice ? g->first->advice : "");
	html_number(h, g->n_rules, words_count(g->n_rules));
	html_cell(h, str_text(&names));
	str_addc(h->out, '\n');
	str_release(&where);
	str_release(&why);
	str_release(&names);
}

static void reasons(struct html *h, const struct group_list *l, const char *id, enum msg caption)
{
	static const enum msg columns[] = {MSG_html_verdict, MSG_html_where, MSG_html_why,
	                                   MSG_html_next,    MSG_html_rules, MSG_html_figures};
	const struct html_table t = {id, caption, columns, "ttttnt", 6, false};

	if (!l->n_groups)
		return;
	html_table_begin(h, &t);
	for (int i = 0; i < l->n_groups; i++)
		reason_row(h, l->groups[i]);
	html_table_end(h);
	if (l->left_out)
		html_note(h, say(MSG_and_more, words_count(l->left_out)));
}

static void note_cell(struct html *h, const char *note)
{
	struct str s = {0};

	words_note(&s, note);
	html_cell(h, str_text(&s));
	str_release(&s);
}

static void literal(struct html *h)
{
	static const enum msg columns[] = {MSG_html_verdict, MSG_html_figure, MSG_html_limit,
	                                   MSG_html_fails,   MSG_html_source, MSG_html_remark};
	const struct html_table t = {"literal", MSG_literal, columns, "tttntt", 6, false};
	bool any = false;

	for (int i = 0; i < h->card->n_rules; i++) {
		const struct rule_result *r = &h->card->rule_results[i];

		if (r->rule->reading != RULE_LITERAL)
			continue;
		if (!any)
			html_table_begin(h, &t);
		any = true;
		html_row(h);
		str_add(h->out, "<td>");
		html_verdict(h->out, rule_shown(r));
		html_cell(h, r->rule->metric);
		html_cell(h, r->rule->limit);
		html_number(h, (double)r->count[VERDICT_FAIL], words_count(r->count[VERDICT_FAIL]));
		html_cell(h, r->rule->source);
		note_cell(h, r->rule->note);
		str_addc(h->out, '\n');
	}
	if (any)
		html_table_end(h);
}

void html_view_untested(struct html *h)
{
	struct group_list l;

	html_section(h, "untested", MSG_html_untested);
	groups_untested(&l, &h->arena, h->card);
	if (!l.n_groups)
		html_note(h, msg_format(MSG_html_all_tested));
	reasons(h, &l, "without", MSG_untested);
	groups_inapplicable(&l, &h->arena, h->card);
	reasons(h, &l, "not-counted", MSG_inapplicable);
	literal(h);
	html_section_end(h);
}

/* --- findings ------------------------------------------------------------------------------- */

/* What is in order, and the guides' own reading: last, and not printed on paper. */
static bool is_quiet(const struct finding *f)
{
	return f->verdict == VERDICT_PASS || f->verdict == VERDICT_NOT_APPLICABLE ||
	       f->rule->reading == RULE_LITERAL;
}

static void finding_row(struct html *h, const struct finding *f)
{
	struct str figure = {0}, limit = {0};

	words_figure(&figure, f);
	words_limit(&limit, f);
	str_add(h->out, is_quiet(f) ? "<tr class=\"quiet\">" : "<tr>");
	str_add(h->out, "<td>");
	html_verdict(h->out, f->verdict);
	if (f->waived) {
		str_addc(h->out, ' ');
		markup_text(h->out, msg_format(MSG_waiver_mark));
	}
	html_cell(h, f->rule->criterion);
	html_cell(h, f->rule->id);
	html_cell(h, html_who(h, &f->subject, f->node));
	html_number(h, f->has_value ? f->value : NAN, str_text(&figure));
	html_cell(h, str_starts(str_text(&limit), "; ") ? limit.data + 2 : str_text(&limit));
	str_clear(&limit);
	if (f->reason.code)
		words_reason(&limit, f, NULL);
	html_cell(h, str_text(&limit));
	html_number(h, f->evidence ? (double)f->evidence->seq : NAN,
	            f->evidence && f->evidence->seq >= 0 ? tmpf("%lld", (long long)f->evidence->seq)
	                                                 : "");
	str_addc(h->out, '\n');
	str_release(&figure);
	str_release(&limit);
}

void html_view_findings(struct html *h)
{
	static const enum msg columns[] = {MSG_html_verdict, MSG_html_criterion, MSG_html_rule,
	                                   MSG_html_where,   MSG_html_figure,    MSG_html_limit,
	                                   MSG_html_why,     MSG_html_line};
	const struct html_table t = {
		"all-findings", MSG_html_findings_caption, columns, "ttttnttn", 8, true};
	const struct scorecard *c = h->card;
	int64_t rows = 0, left = 0;

	html_section(h, "findings", MSG_html_findings);
	html_table_begin(h, &t);
	/* What is not in order first, and passes as far as there is room. */
	for (int pass = 0; pass < 2; pass++)
		for (int64_t i = 0; i < c->n_findings; i++) {
			if (is_quiet(&c->findings[i]) != (pass == 1))
				continue;
			if (rows == MOST_FINDINGS) {
				left++;
				continue;
			}
			rows++;
			finding_row(h, &c->findings[i]);
		}
	html_table_end(h);
	if (left)
		html_note(h, say(MSG_and_more, words_count(left)));
	html_section_end(h);
}

/* --- rules ------------------------------------------------------------------------------------ */

void html_view_rules(struct html *h)
{
	static const enum msg columns[] = {MSG_html_verdict, MSG_html_criterion, MSG_html_rule,
	                                   MSG_html_figure,  MSG_html_limit,     MSG_html_coverage,
	                                   MSG_html_fails,   MSG_html_source,    MSG_html_remark};
	const struct html_table t = {"all-rules", MSG_html_rules_caption, columns, "tttttnntt", 9,
	                             true};

	html_section(h, "rules", MSG_html_rules_title);
	html_table_begin(h, &t);
	for (int i = 0; i < h->card->n_rules; i++) {
		const struct rule_result *r = &h->card->rule_results[i];
		double share = r->coverage.due > 0
		                       ? (double)r->coverage.tested / (double)r->coverage.due
		                       : NAN;

		html_row(h);
		str_add(h->out, "<td>");
		html_verdict(h->out, rule_shown(r));
		if (r->waived) {
			str_addc(h->out, ' ');
			markup_text(h->out, say(MSG_waived_count, words_count(r->waived)));
		}
		html_cell(h, r->rule->criterion);
		html_cell(h, r->rule->id);
		html_cell(h, strcmp(r->rule->stat, "value") == 0
		                     ? r->rule->metric
		                     : tmpf("%s %s", r->rule->metric, r->rule->stat));
		html_cell(h, r->rule->limit);
		html_number(h, share,
		            say(MSG_blame_of, words_count(r->coverage.tested),
		                words_count(r->coverage.due)));
		html_number(h, (double)r->count[VERDICT_FAIL], words_count(r->count[VERDICT_FAIL]));
		html_cell(h, r->rule->source);
		note_cell(h, r->rule->note);
		str_addc(h->out, '\n');
	}
	html_table_end(h);
	html_section_end(h);
}

/* --- figures, and how they were measured -------------------------------------------------------- */

static int by_metric(const void *a, const void *b)
{
	const struct reading *x = *(const struct reading *const *)a;
	const struct reading *y = *(const struct reading *const *)b;
	int order = strcmp(x->metric, y->metric);

	return order ? order : x->seq < y->seq ? -1 : x->seq > y->seq;
}

static const char *formula(const struct html *h, const char *metric)
{
	const struct metric *m = h->o->metrics ? metric_find(h->o->metrics, metric, NULL) : NULL;

	return m && m->formula ? formula_said(m->formula) : "";
}

static void figure_row(struct html *h, const struct reading *const *r, int n)
{
	double *value = arena_array(&h->arena, (size_t)n + 1, sizeof(*value));
	size_t k = 0;
	double lo = INFINITY, hi = -INFINITY;

	for (int i = 0; i < n; i++)
		if (r[i]->value_kind == VALUE_NUMBER && r[i]->outcome == OUTCOME_MEASURED) {
			value[k] = r[i]->value;
			lo = fmin(lo, value[k]);
			hi = fmax(hi, value[k++]);
		}
	if (!k)
		return;
	html_row(h);
	html_cell(h, r[0]->metric);
	html_number(h, (double)k, words_count((int64_t)k));
	html_number(h, median(value, k), fmt_measure(median(value, k), r[0]->unit));
	html_number(h, lo, fmt_value(lo));
	html_number(h, hi, fmt_value(hi));
	html_cell(h, words_origin(r[0]->origin));
	html_cell(h, formula(h, r[0]->metric));
	str_addc(h->out, '\n');
}

static const struct reading **sorted(struct html *h)
{
	const struct scorecard *c = h->card;
	const struct reading **all =
		arena_array(&h->arena, (size_t)c->n_readings + 1, sizeof(*all));

	for (int64_t i = 0; i < c->n_readings; i++)
		all[i] = c->readings[i];
	qsort(all, (size_t)c->n_readings, sizeof(*all), by_metric);
	return all;
}

void html_view_figures(struct html *h)
{
	static const enum msg columns[] = {MSG_html_figure, MSG_html_count, MSG_html_median,
	                                   MSG_html_least,  MSG_html_most,  MSG_html_origin,
	                                   MSG_html_formula};
	const struct html_table t = {"all-figures", MSG_html_figures_caption, columns, "tnnnntt", 7,
	                             true};
	const struct reading **all = sorted(h);
	int64_t n = h->card->n_readings;

	html_section(h, "figures", MSG_html_figures_title);
	html_table_begin(h, &t);
	for (int64_t at = 0, end; at < n; at = end) {
		for (end = at + 1; end < n && strcmp(all[end]->metric, all[at]->metric) == 0;)
			end++;
		figure_row(h, all + at, (int)(end - at));
	}
	html_table_end(h);
	html_section_end(h);
}

/* --- environment ---------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	const struct reading *x = *(const struct reading *const *)a;
	const struct reading *y = *(const struct reading *const *)b;
	int order = strcmp(x->metric, y->metric);

	if (order == 0)
		order = strcmp(x->text, y->text);
	return order ? order : x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* "580.95.05 (124: n001, n002 …)" for each text a metric has. */
static void value_row(struct html *h, const struct reading *const *r, int n, bool first)
{
	html_row(h);
	html_cell(h, first ? r[0]->metric : "");
	html_cell(h, r[0]->text);
	html_number(h, n, words_count(n));
	html_cell(h, n <= 3 ? html_who(h, &r[0]->subject, r[0]->node) : "");
	str_addc(h->out, '\n');
}

void html_view_environment(struct html *h)
{
	static const enum msg columns[] = {MSG_html_figure, MSG_html_value, MSG_html_count,
	                                   MSG_html_where};
	const struct html_table t = {"all-texts", MSG_html_environment_caption, columns, "ttnt", 4,
	                             true};
	const struct scorecard *c = h->card;
	const struct reading **all =
		arena_array(&h->arena, (size_t)c->n_readings + 1, sizeof(*all));
	const char *metric = "";
	int64_t n = 0;
	int values = 0;

	for (int64_t i = 0; i < c->n_readings; i++)
		if (c->readings[i]->value_kind == VALUE_TEXT && c->readings[i]->text)
			all[n++] = c->readings[i];
	qsort(all, (size_t)n, sizeof(*all), by_text);
	html_section(h, "environment", MSG_html_environment);
	html_table_begin(h, &t);
	for (int64_t at = 0, end; at < n; at = end) {
		bool first = strcmp(all[at]->metric, metric) != 0;

		for (end = at + 1; end < n && strcmp(all[end]->metric, all[at]->metric) == 0 &&
		                   strcmp(all[end]->text, all[at]->text) == 0;)
			end++;
		values = first ? 0 : values + 1;
		metric = all[at]->metric;
		if (values < MOST_VALUES)
			value_row(h, all + at, (int)(end - at), first);
		else if (values == MOST_VALUES)
			html_note(h, say(MSG_html_more_values, metric));
	}
	html_table_end(h);
	html_section_end(h);
}
