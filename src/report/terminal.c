/* The scorecard on a terminal: at most 80 columns, what decides first, who is
 * to blame and what to do next, then what was not tested and why, then figures
 * nobody judges. It summarises; nothing here grows with the number of cards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/info_table.h"
#include "report/report_writers.h"
#include "report/words.h"

#define MAX_WIDTH 80
#define TITLE_COLUMNS 26
#define DETAIL 6 /* indent below a criterion */

struct page {
	struct str *out;
	const struct scorecard *card;
	const struct report_options *o;
	int width, items;
};

/* --- small parts ------------------------------------------------------------- */

static void color_on(const struct page *p, enum verdict v)
{
	static const char *const codes[VERDICTS] = {
		[VERDICT_PASS] = "32", [VERDICT_WARN] = "33", [VERDICT_FAIL] = "1;31"};

	if (p->o->color)
		str_addf(p->out, "\033[%sm", codes[v] ? codes[v] : "36");
}

static void color_off(const struct page *p)
{
	if (p->o->color)
		str_add(p->out, "\033[0m");
}

static void line(const struct page *p, int indent, const char *text)
{
	str_pad(p->out, ' ', (size_t)indent);
	words_wrap(p->out, text, indent, indent + 2, p->width);
}

static const char *printable(const char *text)
{
	struct str s = {0};
	const char *shown;

	str_add_printable(&s, text ? text : "", text ? strlen(text) : 0);
	shown = tmpf("%s", str_text(&s));
	str_release(&s);
	return shown;
}

/* --- head ----------------------------------------------------------------------- */

static void head(const struct page *p)
{
	const struct scorecard *c = p->card;
	struct str s = {0};

	msg_add(&s, MSG_head_version, printable(c->version));
	if (c->vendor)
		str_addf(&s, "   %s", printable(c->vendor));
	str_addf(&s, "   %s", c->expected_nodes == 1 ? say(MSG_head_node)
	                                             : say(MSG_head_nodes, words_count(c->expected_nodes)));
	if (c->expected_cards > 0)
		str_addf(&s, " x %s %s", words_count(c->expected_cards / c->expected_nodes),
		         printable(c->card ? c->card : msg_format(MSG_head_cards)));
	if (c->started)
		str_addf(&s, "   %.10s %.5s UTC", printable(c->started), c->started + 11);
	str_addf(&s, "   %s", fmt_duration(c->seconds));
	words_wrap(p->out, s.data, 0, 2, p->width);
	str_release(&s);
	str_clear(&s);
	if (c->card_guessed)
		words_wrap(p->out, c->card ? say(MSG_head_guessed, printable(c->card)) : say(MSG_head_no_profile), 0, 2,
		           p->width);
	else
		words_wrap(p->out, say(MSG_head_profile, printable(c->profile), printable(c->budget)), 0, 2, p->width);
}

static void banners(const struct page *p)
{
	const struct scorecard *c = p->card;

	if (c->altered)
		line(p, 2, say(MSG_banner_altered, printable(c->altered)));
	if (c->simulated)
		line(p, 2, say(MSG_banner_simulated, overall_name(c->overall_if_measured)));
	if (c->imported)
		line(p, 2, msg_format(MSG_banner_imported));
	if (c->cut)
		line(p, 2, msg_format(MSG_banner_cut));
	if (c->screen_only)
		line(p, 2, msg_format(MSG_banner_screen));
	if (c->stage == RULE_PERIOD)
		line(p, 2, msg_format(MSG_banner_period));
}

/* Distinct failing subjects by kind: "2 of 1,000 cards, 1 node". */
static void blame_summary(const struct page *p, struct str *out)
{
	const struct scorecard *c = p->card;
	int64_t kinds[SUBJECT_KINDS] = {0};
	int64_t seen = 0;

	for (int64_t i = 0; i < c->n_culprits; i++) {
		const struct finding *f = c->culprits[i];
		bool again = false;

		if (f->verdict != VERDICT_FAIL)
			continue;
		/* Culprits of one subject come from several rules. */
		for (int64_t k = 0; k < i && k < 2000 && !again; k++)
			again = c->culprits[k]->verdict == VERDICT_FAIL &&
			        c->culprits[k]->subject.kind == f->subject.kind && f->subject.id &&
			        c->culprits[k]->subject.id && strcmp(c->culprits[k]->subject.id, f->subject.id) == 0;
		if (!again)
			kinds[f->subject.kind]++;
	}
	for (int k = 0; k < SUBJECT_KINDS; k++) {
		const char *name = words_subjects(subject_kind_name((enum subject_kind)k));

		if (!kinds[k])
			continue;
		str_add(out, seen++ ? ", " : "");
		if (k == SUBJECT_CARD && c->expected_cards > 0)
			str_add(out, say(MSG_blame_of, words_count(kinds[k]), words_count(c->expected_cards), name));
		else
			str_add(out, say(MSG_blame, words_count(kinds[k]), name));
	}
}

static void headline(const struct page *p)
{
	const struct scorecard *c = p->card;
	enum verdict shade = c->overall == OVERALL_ACCEPT   ? VERDICT_PASS
	                     : c->overall == OVERALL_REJECT ? VERDICT_FAIL
	                                                    : VERDICT_WARN;
	struct str s = {0};
	const char *word = overall_name(c->overall);

	if (c->overall == OVERALL_REJECT)
		blame_summary(p, &s);
	else
		msg_add(&s, MSG_headline_judged, words_count(c->rules_judged), words_count(c->rules));
	str_add(p->out, "\n  ");
	color_on(p, shade);
	str_add(p->out, word);
	color_off(p);
	str_add(p->out, "   ");
	words_wrap(p->out, str_text(&s), 5 + (int)strlen(word), 4, p->width);
	str_release(&s);
}

/* --- one criterion ------------------------------------------------------------------ */

static void criterion_line(const struct page *p, const struct criterion_result *c)
{
	const char *title = printable(c->title);
	const char *verdict = words_verdict(c->verdict);
	int title_columns = words_columns(title);
	struct str rest = {0};

	str_addf(p->out, "\n  %s %s", printable(c->id), title);
	str_pad(p->out, ' ', title_columns < TITLE_COLUMNS ? (size_t)(TITLE_COLUMNS - title_columns) : 1);
	color_on(p, c->verdict);
	str_add(p->out, verdict);
	color_off(p);
	if (c->coverage.due > 0) {
		int column = 4 + (title_columns < TITLE_COLUMNS ? TITLE_COLUMNS : title_columns + 1) + words_columns(verdict);

		str_pad(p->out, ' ', words_columns(verdict) < 13 ? (size_t)(14 - words_columns(verdict)) : 1);
		msg_add(&rest, MSG_coverage, words_count(c->coverage.tested), words_count(c->coverage.due));
		words_wrap(p->out, rest.data, column + 2, DETAIL, p->width);
	} else {
		str_addc(p->out, '\n');
	}
	str_release(&rest);
}

static void finding_lines(const struct page *p, const struct finding *f)
{
	struct str s = {0};

	words_subject(&s, &f->subject, f->node);
	str_add(&s, ": ");
	words_figure(&s, f);
	if (f->verdict != VERDICT_FAIL)
		str_addf(&s, " [%s]", words_verdict(f->verdict));
	line(p, DETAIL, s.data);
	str_clear(&s);
	if (f->reason.text && *f->reason.text)
		str_add(&s, printable(f->reason.text));
	if (f->advice)
		str_addf(&s, "%s-> %s", s.len ? " " : "", printable(f->advice));
	if (s.len)
		line(p, DETAIL + 3, s.data);
	str_release(&s);
}

/* Whether a finding belongs among the lines of a criterion. */
static bool listed(const struct finding *f, const char *criterion)
{
	return strcmp(f->rule->criterion, criterion) == 0 && f->rule->reading == RULE_SOUND &&
	       f->rule->stage == RULE_DELIVERY &&
	       (f->verdict == VERDICT_FAIL || f->verdict == VERDICT_WARN || f->verdict == VERDICT_INCONCLUSIVE ||
	        f->verdict == VERDICT_TOO_SHORT || f->verdict == VERDICT_TOO_FEW);
}

static void troubles(const struct page *p, const struct criterion_result *c)
{
	static const enum verdict order[] = {VERDICT_FAIL, VERDICT_INCONCLUSIVE, VERDICT_TOO_SHORT, VERDICT_TOO_FEW,
	                                     VERDICT_WARN};
	const struct scorecard *card = p->card;
	int64_t more = 0;
	int shown = 0;

	for (size_t o = 0; o < sizeof(order) / sizeof(*order); o++) {
		for (int64_t i = 0; i < card->n_findings; i++) {
			const struct finding *f = &card->findings[i];

			if (f->verdict != order[o] || !listed(f, c->id))
				continue;
			if (p->items && shown >= p->items)
				more++;
			else
				finding_lines(p, f);
			shown++;
		}
	}
	if (more)
		line(p, DETAIL, say(MSG_and_more, words_count(more)));
}

/* Rules of a criterion that share a verdict without a test and the reason. */
struct gap {
	enum verdict verdict;
	const char *reason;
	int rules, metrics_named;
	struct str metrics;
	const char *last_rule, *last_metric;
};

static void add_gap(struct gap *gaps, int *count, int capacity, const struct finding *f)
{
	const char *reason = f->reason.text ? f->reason.text : "";
	struct gap *g = NULL;

	for (int i = 0; i < *count && !g; i++)
		if (gaps[i].verdict == f->verdict && strcmp(gaps[i].reason, reason) == 0)
			g = &gaps[i];
	if (!g) {
		if (*count == capacity)
			return;
		g = &gaps[(*count)++];
		*g = (struct gap){.verdict = f->verdict, .reason = reason};
	}
	/* Findings come grouped by rule. */
	if (g->last_rule && strcmp(g->last_rule, f->rule->id) == 0)
		return;
	g->last_rule = f->rule->id;
	g->rules++;
	/* Several rules on one metric name it once. */
	if (g->last_metric && strcmp(g->last_metric, f->rule->metric) == 0)
		return;
	g->last_metric = f->rule->metric;
	if (g->metrics_named < 3)
		str_addf(&g->metrics, "%s%s", g->metrics_named ? ", " : "", f->rule->metric);
	else if (g->metrics_named == 3)
		str_add(&g->metrics, ", ...");
	g->metrics_named++;
}

static void gaps_of(const struct page *p, const struct criterion_result *c)
{
	struct gap gaps[24];
	int count = 0;

	for (int64_t i = 0; i < p->card->n_findings; i++) {
		const struct finding *f = &p->card->findings[i];

		if (strcmp(f->rule->criterion, c->id) == 0 && f->rule->required &&
		    (f->rule->stage == RULE_DELIVERY || p->card->stage == RULE_PERIOD) &&
		    (f->verdict == VERDICT_NOT_MEASURED || f->verdict == VERDICT_STATED_ONLY))
			add_gap(gaps, &count, 24, f);
	}
	for (int i = 0; i < count; i++) {
		struct str s = {0};

		str_addf(&s, "%s: %s", words_verdict(gaps[i].verdict),
		         *gaps[i].reason ? printable(gaps[i].reason) : msg_format(MSG_no_reason));
		str_addf(&s, " (%s: %s)", gaps[i].rules == 1 ? msg_format(MSG_one_rule)
		                                             : say(MSG_rules, tmpf("%d", gaps[i].rules)),
		         printable(gaps[i].metrics.data));
		line(p, DETAIL, s.data);
		str_release(&s);
		str_release(&gaps[i].metrics);
	}
}

static void period_line(const struct page *p, const struct criterion_result *c)
{
	if (c->has_period && p->card->stage == RULE_DELIVERY)
		line(p, DETAIL, say(MSG_period, words_count(c->period_coverage.tested),
		                    words_count(c->period_coverage.due)));
}

/* --- foot --------------------------------------------------------------------------- */

static void literal_lines(const struct page *p)
{
	const struct scorecard *c = p->card;
	int fails = 0;
	struct str s = {0};

	for (int i = 0; i < c->n_rules; i++) {
		const struct rule_result *r = &c->rule_results[i];

		if (r->rule->reading != RULE_LITERAL || r->verdict != VERDICT_FAIL)
			continue;
		str_addf(&s, "%s%s %s", fails++ ? "; " : "", r->rule->metric, r->rule->limit ? r->rule->limit : "");
	}
	if (fails) {
		str_addc(p->out, '\n');
		line(p, 2, say(MSG_literal, printable(s.data)));
	}
	str_release(&s);
}

static void foot(const struct page *p)
{
	const struct scorecard *c = p->card;

	literal_lines(p);
	str_addc(p->out, '\n');
	line(p, 2, say(MSG_digest, printable(c->run_digest ? c->run_digest : "-")));
}

enum status report_terminal(struct str *out, const struct scorecard *card, const struct report_options *options,
                            struct error *err)
{
	struct page p = {.out = out, .card = card, .o = options, .items = options->max_items};

	p.width = options->width > 0 && options->width < MAX_WIDTH ? options->width : MAX_WIDTH;
	head(&p);
	headline(&p);
	banners(&p);
	for (int i = 0; i < card->n_criteria; i++) {
		criterion_line(&p, &card->criteria[i]);
		troubles(&p, &card->criteria[i]);
		gaps_of(&p, &card->criteria[i]);
		period_line(&p, &card->criteria[i]);
	}
	info_table(out, card, options, p.width, err);
	foot(&p);
	return ST_OK;
}
