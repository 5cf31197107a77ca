/* The scorecard on a terminal: at most 80 columns, what decides first, who is
 * to blame and what to do next, then what was not tested and why, then figures
 * nobody judges. It summarises; nothing here grows with the number of cards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/blame.h"
#include "report/groups.h"
#include "report/head.h"
#include "report/info_table.h"
#include "report/prices.h"
#include "report/report_writers.h"
#include "report/storage_table.h"
#include "report/waived.h"
#include "report/words.h"

#define MAX_WIDTH       80
#define MIN_WIDTH       40
#define TITLE_COLUMNS   26
#define VERDICT_COLUMNS 16
#define DETAIL          6 /* indent below a criterion */
#define HEADLINE_REST   8 /* the least room for what follows the verdict on its line */

struct page {
	struct str *out;
	const struct scorecard *card;
	const struct report_options *o;
	struct arena arena;
	struct group_list troubles;
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

/* What the rest of a list is called that a page does not show. */
static void and_more(const struct page *p, int indent, int64_t more)
{
	if (more > 0)
		line(p, indent, say(MSG_and_more, words_count(more)));
}

/* --- head ----------------------------------------------------------------------- */

static void head(const struct page *p)
{
	struct str s = {0};

	head_facts(&s, p->card);
	if (words_columns(s.data) <= p->width)
		str_addf(p->out, "%s\n", s.data);
	else
		words_wrap(p->out, s.data, 0, 2, p->width);
	str_clear(&s);
	head_run(&s, p->card);
	if (s.len)
		words_wrap(p->out, s.data, 0, 2, p->width);
	str_release(&s);
}

static enum verdict shade(enum overall o)
{
	return o == OVERALL_ACCEPT   ? VERDICT_PASS
	       : o == OVERALL_REJECT ? VERDICT_FAIL
	                             : VERDICT_WARN;
}

static void print_headline(const struct page *p)
{
	struct str word = {0}, rest = {0};
	int column;

	headline(&word, &rest, p->card);
	str_add(p->out, "\n  ");
	color_on(p, shade(p->card->overall));
	str_add(p->out, word.data);
	color_off(p);
	column = 5 + words_columns(word.data);
	if (column + HEADLINE_REST > p->width)
		column = 4;
	str_add(p->out, column == 4 ? "\n    " : "   ");
	words_wrap(p->out, str_text(&rest), column, 4, p->width);
	str_release(&word);
	str_release(&rest);
}

/* What limits the worth of all that follows. */
static void banners(struct page *p)
{
	for (const char *const *b = head_banners(&p->arena, p->card); *b; b++)
		line(p, 2, *b);
}

/* --- one criterion ------------------------------------------------------------------ */

/* Number and title, as far as the column of the verdict; a title that leaves no
 * room for it has the line to itself. Returns the column reached. */
static int criterion_title(const struct page *p, const struct criterion_result *c,
                           int verdict_columns)
{
	struct str s = {0};
	int column, pad;

	words_add(&s, c->id);
	str_addc(&s, ' ');
	words_add(&s, words_title(c));
	column = 2 + words_columns(s.data);
	str_add(p->out, "  ");
	pad = column < 2 + TITLE_COLUMNS ? 2 + TITLE_COLUMNS - column : 1;
	if (column + pad + verdict_columns <= p->width) {
		str_add(p->out, s.data);
		str_pad(p->out, ' ', (size_t)pad);
		column += pad;
	} else {
		words_wrap(p->out, s.data, 2, 4, p->width);
		str_pad(p->out, ' ', DETAIL);
		column = DETAIL;
	}
	str_release(&s);
	return column;
}

static void criterion_line(const struct page *p, const struct criterion_result *c)
{
	bool later = criterion_only_later(p->card, c);
	enum verdict shown = waived_verdict(c->verdict, c->unwaived, c->waived);
	const char *verdict = later ? msg_format(MSG_later) : words_verdict(shown);
	int columns = words_columns(verdict);
	int column = criterion_title(p, c, columns) + columns;
	int pad = columns < VERDICT_COLUMNS ? VERDICT_COLUMNS - columns : 1;
	struct str s = {0};

	color_on(p, shown);
	str_add(p->out, verdict);
	color_off(p);
	if (later)
		criterion_later(&s, c);
	else if (c->coverage.due > 0 || c->waived)
		coverage_words(&s, p->card, c);
	if (s.len == 0) {
		str_addc(p->out, '\n');
		return;
	}
	if (column + pad + words_columns(s.data) <= p->width) {
		str_pad(p->out, ' ', (size_t)pad);
		column += pad;
	} else {
		str_addc(p->out, '\n');
		str_pad(p->out, ' ', DETAIL);
		column = DETAIL;
	}
	words_wrap(p->out, s.data, column, DETAIL, p->width);
	str_release(&s);
}

static void print_group(const struct page *p, const struct group *g)
{
	struct str s = {0};

	if (g->verdict != VERDICT_FAIL)
		str_addf(&s, "%s: ", words_verdict(g->verdict));
	if (!g->first->rule->required)
		str_addf(&s, "%s ", msg_format(MSG_optional));
	group_claim(&s, p->card, g);
	line(p, DETAIL, s.data);
	str_clear(&s);
	group_evidence(&s, g);
	if (g->first->advice)
		str_addf(&s, "%s-> %s", s.len ? " " : "", words_shown(g->first->advice));
	if (s.len)
		line(p, DETAIL + 3, s.data);
	str_release(&s);
}

static void troubles(const struct page *p, const struct criterion_result *c)
{
	int64_t more = 0;
	int shown = 0;

	for (int i = 0; i < p->troubles.n_groups; i++) {
		const struct group *g = p->troubles.groups[i];

		if (strcmp(g->criterion, c->id) != 0)
			continue;
		if (p->items && shown == p->items)
			more++;
		else {
			print_group(p, g);
			shown++;
		}
	}
	and_more(p, DETAIL, more);
}

static void period_line(const struct page *p, const struct criterion_result *c)
{
	struct str s = {0};

	criterion_period(&s, p->card, c);
	if (s.len)
		line(p, DETAIL, s.data);
	str_release(&s);
}

static void criteria(struct page *p)
{
	bool later = false;

	str_addc(p->out, '\n');
	for (int i = 0; i < p->card->n_criteria; i++) {
		const struct criterion_result *c = &p->card->criteria[i];

		criterion_line(p, c);
		troubles(p, c);
		period_line(p, c);
		later = later || (c->has_period && p->card->stage == RULE_DELIVERY);
	}
	and_more(p, 2, p->troubles.left_out);
	if (later)
		line(p, 2, msg_format(MSG_later_how));
}

/* --- waivers ---------------------------------------------------------------------------- */

static void waivers(const struct page *p)
{
	if (!p->card->n_waivers)
		return;
	str_addf(p->out, "\n  %s\n", msg_format(MSG_waiver_title));
	for (int i = 0; i < p->card->n_waivers; i++) {
		const struct waiver_result *w = &p->card->waivers[i];
		struct str s = {0};

		waiver_what(&s, &w->waiver);
		str_add(&s, ": ");
		waiver_claim(&s, p->card, w);
		line(p, 4, s.data);
		str_clear(&s);
		waiver_why(&s, &w->waiver);
		line(p, 6, say(MSG_waiver_taken, str_text(&s)));
		str_release(&s);
	}
}

/* --- what was not tested --------------------------------------------------------------- */

static void print_reason(const struct page *p, const struct group *g)
{
	struct str s = {0};

	if (g->verdict != VERDICT_NOT_APPLICABLE)
		str_addf(&s, "%s: ", words_verdict(g->verdict));
	group_where(&s, g, p->card);
	str_add(&s, s.len && !str_ends(s.data, ": ") ? ": " : "");
	words_reason(&s, g->first, g->n_metrics > 1 ? msg_format(MSG_these_figures) : NULL);
	line(p, 4, s.data);
	str_clear(&s);
	str_add(&s, g->n_rules == 1 ? msg_format(MSG_one_rule)
	                            : say(MSG_rules, words_count(g->n_rules)));
	if (g->n_rules == 1 && g->subjects > 1)
		str_addf(&s, ", %s", words_subjects(g->first->subject.kind, g->subjects));
	str_add(&s, ": ");
	words_names(&s, g->metrics, g->n_metrics);
	if (g->first->advice && g->verdict != VERDICT_NOT_APPLICABLE)
		str_addf(&s, " -> %s", words_shown(g->first->advice));
	line(p, 6, s.data);
	str_release(&s);
}

static void reasons(const struct page *p, const struct group_list *l, enum msg title)
{
	int shown = l->n_groups;

	if (!l->n_groups)
		return;
	if (p->items && shown > p->items)
		shown = p->items;
	str_addf(p->out, "\n  %s\n", msg_format(title));
	for (int i = 0; i < shown; i++)
		print_reason(p, l->groups[i]);
	and_more(p, 4, l->n_groups - shown + l->left_out);
}

static void untested(struct page *p)
{
	struct group_list l;

	groups_untested(&l, &p->arena, p->card);
	reasons(p, &l, MSG_untested);
	groups_inapplicable(&l, &p->arena, p->card);
	reasons(p, &l, MSG_inapplicable);
}

/* --- the guides to the letter ------------------------------------------------------------ */

static void literal_fail(const struct page *p, const struct rule_result *r)
{
	struct str s = {0};

	words_add(&s, r->rule->metric);
	str_addc(&s, ' ');
	words_add(&s, r->rule->limit);
	str_addf(&s, ": %s",
	         say(MSG_literal_fails, words_count(r->count[VERDICT_FAIL]),
	             words_count(r->coverage.due)));
	if (r->rule->note) {
		str_add(&s, "; ");
		words_note(&s, r->rule->note);
	}
	line(p, 4, s.data);
	str_release(&s);
}

/* With its limit where it was tested, by name alone where it was not. */
static void literal_others(struct page *p, enum verdict v)
{
	const struct scorecard *c = p->card;
	bool tested = v == VERDICT_PASS || v == VERDICT_WARN || v == VERDICT_INCONCLUSIVE;
	const char **names = arena_array(&p->arena, (size_t)c->n_rules + 1, sizeof(*names));
	struct str s = {0};
	int n = 0;

	for (int i = 0; i < c->n_rules; i++) {
		const struct rule_result *r = &c->rule_results[i];

		if (r->rule->reading != RULE_LITERAL || rule_shown(r) != v)
			continue;
		names[n++] = r->rule->metric;
		if (!tested)
			continue;
		str_add(&s, s.len ? "; " : "");
		words_add(&s, r->rule->metric);
		str_addc(&s, ' ');
		words_add(&s, r->rule->limit);
	}
	if (!tested)
		words_names(&s, names, n);
	if (n)
		line(p, 4, tmpf("%s: %s", words_verdict(v), str_text(&s)));
	str_release(&s);
}

static void literal_lines(struct page *p)
{
	const struct scorecard *c = p->card;
	bool any = false;

	for (int i = 0; i < c->n_rules && !any; i++)
		any = c->rule_results[i].rule->reading == RULE_LITERAL;
	if (!any)
		return;
	str_addc(p->out, '\n');
	line(p, 2, msg_format(MSG_literal));
	for (int i = 0; i < c->n_rules; i++)
		if (c->rule_results[i].rule->reading == RULE_LITERAL &&
		    rule_shown(&c->rule_results[i]) == VERDICT_FAIL)
			literal_fail(p, &c->rule_results[i]);
	for (enum verdict v = 0; v < VERDICTS; v++)
		if (v != VERDICT_FAIL)
			literal_others(p, v);
}

/* --- between nodes ----------------------------------------------------------------------- */

/* Where noise explains it as well as anything there is nobody to blame. */
static bool blames(const struct localised *l)
{
	return l->identified ||
	       (l->n_explanations > 0 && l->explanations[0].kind != CULPRIT_NOTHING &&
	        l->explanations[0].odds > 0.5);
}

static void pair_lines(const struct page *p)
{
	for (int i = 0; i < p->card->n_pairs; i++) {
		const struct pair_cover *c = &p->card->pairs[i];
		const char *probe = words_shown(c->probe);

		if (c->pairs >= c->due && !c->again)
			continue;
		str_addc(p->out, '\n');
		if (c->pairs < c->due)
			line(p, 2,
			     say(MSG_pairs_sampled, probe, words_count(c->pairs),
			         words_count(c->due),
			         tmpf("%.2g", 1 - (double)c->pairs / (double)c->due)));
		if (c->again)
			line(p, 2, say(MSG_pairs_again, probe, words_count(c->again)));
	}
}

static void between_nodes(const struct page *p)
{
	bool any = false;

	pair_lines(p);

	for (int i = 0; i < p->card->n_localised; i++) {
		const struct localised *l = &p->card->localised[i];

		if (!blames(l))
			continue;
		if (!any) {
			str_addc(p->out, '\n');
			line(p, 2, msg_format(MSG_between_nodes));
		}
		any = true;
		line(p, 4, tmpf("%s: %s", l->metric, words_shown(l->text)));
	}
}

/* --- prices ---------------------------------------------------------------------------- */

static void price_lines(const struct page *p)
{
	const struct price_list *list = &p->card->prices;
	struct str s = {0};

	if (!list->source)
		return;
	prices_head(&s, list);
	str_addc(p->out, '\n');
	line(p, 2, str_text(&s));
	if (!list->n)
		line(p, 4, msg_format(MSG_price_nothing));
	for (int i = 0; i < list->n; i++) {
		if (list->lines[i].fallback)
			continue;
		str_clear(&s);
		prices_what(&s, list, &list->lines[i]);
		str_add(&s, ": ");
		prices_value(&s, list, &list->lines[i]);
		line(p, 4, str_text(&s));
	}
	str_release(&s);
}

/* --- all ------------------------------------------------------------------------------- */

static enum status print_page(struct page *p, struct error *err)
{
	enum status st;

	head(p);
	print_headline(p);
	banners(p);
	criteria(p);
	waivers(p);
	between_nodes(p);
	untested(p);
	literal_lines(p);
	st = storage_table(p->out, p->card, p->o, p->width, err);
	if (st == ST_OK)
		st = info_table(p->out, p->card, p->o, p->width, err);
	price_lines(p);
	str_addc(p->out, '\n');
	for (int i = 0; i < p->card->n_evidence; i++)
		line(p, 2, head_evidence(&p->card->evidence[i]));
	line(p, 2,
	     say(MSG_digest, p->card->run_digest ? words_shown(p->card->run_digest)
	                                         : msg_format(MSG_no_digest)));
	return st;
}

enum status report_terminal(struct str *out, const struct scorecard *card,
                            const struct report_options *options, struct error *err)
{
	struct str text = {0};
	struct page p = {.out = &text, .card = card, .o = options, .items = options->max_items};
	enum status st;

	p.width = options->width > 0 && options->width < MAX_WIDTH ? options->width : MAX_WIDTH;
	p.width = p.width < MIN_WIDTH ? MIN_WIDTH : p.width;
	groups_troubles(&p.troubles, &p.arena, card);
	st = print_page(&p, err);
	if (options->utf8)
		str_addn(out, text.data, text.len);
	else
		words_ascii(out, text.data);
	str_release(&text);
	arena_release(&p.arena);
	return st;
}
