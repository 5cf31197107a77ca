/* The scorecard as Markdown, for tickets and merge requests: verdict, criteria, what
 * is wrong and what to do, and what was not tested. Like the terminal's page it does
 * not grow with the number of cards. */
#include <string.h>

#include "base/msg.h"
#include "report/blame.h"
#include "report/groups.h"
#include "report/head.h"
#include "report/markup.h"
#include "report/prices.h"
#include "report/readiness.h"
#include "report/report_writers.h"
#include "report/service_writers.h"
#include "report/waived.h"
#include "report/words.h"
#include "run/gated.h"

struct page {
	struct str *out;
	const struct scorecard *card;
	int items; /* 0: all */
	struct arena arena;
	struct group_list troubles;
};

static void add(struct page *p, struct str *text)
{
	markdown_text(p->out, str_text(text));
	str_clear(text);
}

static void head(struct page *p)
{
	struct str word = {0}, rest = {0};

	headline(&word, &rest, p->card);
	str_add(p->out, "# ");
	add(p, &word);
	str_add(p->out, "\n\n**");
	add(p, &rest);
	str_add(p->out, "**\n\n");
	head_facts(&word, p->card);
	add(p, &word);
	str_add(p->out, "\\\n");
	head_run(&word, p->card);
	add(p, &word);
	str_add(p->out, "\n");
	for (const char *const *b = head_banners(&p->arena, p->card); *b; b++) {
		str_add(p->out, "\n> ");
		markdown_text(p->out, *b);
		str_add(p->out, "\n");
	}
	str_release(&word);
	str_release(&rest);
}

static void cell(struct page *p, const char *text)
{
	str_add(p->out, "| ");
	markdown_text(p->out, text);
	str_addc(p->out, ' ');
}

static void row_of(struct page *p, const enum msg *columns, int n)
{
	for (int i = 0; i < n; i++)
		cell(p, msg_format(columns[i]));
	str_add(p->out, "|\n");
	for (int i = 0; i < n; i++)
		str_add(p->out, "| --- ");
	str_add(p->out, "|\n");
}

static void criteria(struct page *p)
{
	static const enum msg columns[] = {MSG_html_criterion, MSG_html_verdict, MSG_html_coverage};

	str_addc(p->out, '\n');
	row_of(p, columns, 3);
	for (int i = 0; i < p->card->n_criteria; i++) {
		const struct criterion_result *c = &p->card->criteria[i];
		bool later = criterion_only_later(p->card, c);
		struct str s = {0};

		cell(p, tmpf("%s %s", c->id, words_title(c)));
		cell(p, later ? msg_format(MSG_later)
		              : words_verdict(waived_verdict(c->verdict, c->unwaived, c->waived)));
		if (later)
			criterion_later(&s, c);
		else if (c->coverage.due > 0 || c->waived)
			coverage_words(&s, p->card, c);
		cell(p, str_text(&s));
		str_add(p->out, "|\n");
		str_release(&s);
	}
}

static void trouble(struct page *p, const struct group *g)
{
	struct str s = {0};

	str_add(p->out, "- **");
	markdown_text(p->out, words_verdict(g->verdict));
	str_add(p->out, "** ");
	if (!g->first->rule->required)
		str_addf(p->out, "%s ", msg_format(MSG_optional));
	group_claim(&s, p->card, g);
	add(p, &s);
	group_evidence(&s, g);
	if (s.len) {
		str_add(p->out, "\\\n  ");
		add(p, &s);
	}
	if (g->first->advice) {
		str_addf(p->out, "\\\n  *%s* ", msg_format(MSG_html_next));
		markdown_text(p->out, g->first->advice);
	}
	str_addc(p->out, '\n');
	str_release(&s);
}

static void more(struct page *p, int64_t left)
{
	if (left <= 0)
		return;
	str_addc(p->out, '\n');
	markdown_text(p->out, say(MSG_and_more, words_count(left)));
	str_addc(p->out, '\n');
}

static void troubles(struct page *p)
{
	int n = p->troubles.n_groups;

	for (int i = 0; i < p->card->n_criteria; i++) {
		const struct criterion_result *c = &p->card->criteria[i];
		int shown = 0, of = 0;

		for (int k = 0; k < n; k++) {
			if (strcmp(p->troubles.groups[k]->criterion, c->id) != 0)
				continue;
			if (of++ == 0) {
				str_add(p->out, "\n## ");
				markdown_text(p->out, tmpf("%s %s", c->id, words_title(c)));
				str_add(p->out, "\n\n");
			}
			if (p->items && shown == p->items)
				continue;
			shown++;
			trouble(p, p->troubles.groups[k]);
		}
		more(p, of - shown);
	}
	more(p, p->troubles.left_out);
}

static void waivers(struct page *p)
{
	static const enum msg columns[] = {MSG_waiver_column, MSG_waiver_found, MSG_waiver_reason};

	if (!p->card->n_waivers)
		return;
	str_add(p->out, "\n## ");
	markdown_text(p->out, msg_format(MSG_waiver_heading));
	str_add(p->out, "\n\n");
	row_of(p, columns, 3);
	for (int i = 0; i < p->card->n_waivers; i++) {
		const struct waiver_result *w = &p->card->waivers[i];
		struct str s = {0};

		waiver_what(&s, &w->waiver);
		cell(p, str_text(&s));
		str_clear(&s);
		waiver_claim(&s, p->card, w);
		cell(p, str_text(&s));
		str_clear(&s);
		waiver_why(&s, &w->waiver);
		cell(p, str_text(&s));
		str_add(p->out, "|\n");
		str_release(&s);
	}
}

static void untested(struct page *p)
{
	static const enum msg columns[] = {MSG_html_verdict, MSG_html_where, MSG_html_why,
	                                   MSG_html_figures};
	struct group_list l;

	groups_untested(&l, &p->arena, p->card);
	if (!l.n_groups)
		return;
	str_add(p->out, "\n## ");
	markdown_text(p->out, msg_format(MSG_html_untested));
	str_add(p->out, "\n\n");
	row_of(p, columns, 4);
	for (int i = 0; i < l.n_groups && (!p->items || i < p->items); i++) {
		const struct group *g = l.groups[i];
		struct str s = {0};

		cell(p, words_verdict(g->verdict));
		group_where(&s, g, p->card);
		cell(p, str_text(&s));
		str_clear(&s);
		words_reason(&s, g->first, g->n_metrics > 1 ? msg_format(MSG_these_figures) : NULL);
		cell(p, str_text(&s));
		str_clear(&s);
		words_names(&s, g->metrics, g->n_metrics);
		cell(p, str_text(&s));
		str_add(p->out, "|\n");
		str_release(&s);
	}
	if (p->items)
		more(p, l.n_groups - p->items);
	more(p, l.left_out);
}

static void heading(struct page *p, enum msg title)
{
	str_add(p->out, "\n## ");
	markdown_text(p->out, msg_format(title));
	str_add(p->out, "\n\n");
}

/* All of it: its rows are as many as there are figures, not nodes. */
static void software(struct page *p)
{
	static const enum msg columns[] = {MSG_html_figure, MSG_html_software_most,
	                                   MSG_html_software_alike, MSG_html_software_others};
	struct readiness r;
	bool begun = false;

	readiness_find(&r, &p->arena, p->card);
	for (int i = 0; i < r.n; i++) {
		if (!r.rows[i].tells)
			continue;
		if (!begun) {
			heading(p, MSG_html_software);
			row_of(p, columns, 4);
			begun = true;
		}
		cell(p, r.rows[i].name);
		cell(p, r.rows[i].text);
		cell(p, tmpf("%d / %d", r.rows[i].alike, r.rows[i].nodes));
		cell(p, r.rows[i].others);
		str_add(p->out, "|\n");
	}
}

static void gate(struct page *p)
{
	const struct gated *g = p->card->gated;
	struct str s = {0};
	int shown = 0;

	if (!g)
		return;
	heading(p, MSG_gated_heading);
	gated_words(&s, g);
	add(p, &s);
	str_add(p->out, "\n\n");
	for (; shown < g->n_lines && (!p->items || shown < p->items); shown++) {
		const struct gated_line *l = &g->lines[shown];

		str_add(p->out, gated_fails(l) ? "- **" : "- ");
		markdown_text(p->out, gated_what(l));
		str_add(p->out, gated_fails(l) ? "** " : " ");
		markdown_text(p->out, gated_text(l));
		str_addc(p->out, '\n');
	}
	more(p, g->n_lines - shown);
	if (g->left_out) {
		str_addc(p->out, '\n');
		markdown_text(p->out, say(MSG_gated_more, tmpf("%lld", (long long)g->left_out)));
		str_addc(p->out, '\n');
	}
	str_release(&s);
}

static void prices(struct page *p)
{
	const struct price_list *list = &p->card->prices;
	struct str s = {0};

	if (!list->source)
		return;
	heading(p, MSG_html_price);
	prices_head(&s, list);
	add(p, &s);
	str_add(p->out, "\n\n");
	for (int i = 0; i < list->n; i++) {
		if (list->lines[i].fallback)
			continue;
		str_clear(&s);
		str_add(p->out, "- ");
		prices_what(&s, list, &list->lines[i]);
		str_add(&s, ": ");
		prices_value(&s, list, &list->lines[i]);
		add(p, &s);
		str_addc(p->out, '\n');
	}
	if (!list->n)
		markdown_text(p->out, msg_format(MSG_price_nothing));
	str_addc(p->out, '\n');
	str_release(&s);
}

enum status report_markdown(struct str *out, const struct scorecard *card,
                            const struct report_options *options, struct error *err)
{
	struct page p = {.out = out, .card = card, .items = options->max_items};

	(void)err;
	groups_troubles(&p.troubles, &p.arena, card);
	head(&p);
	criteria(&p);
	waivers(&p);
	troubles(&p);
	software(&p);
	gate(&p);
	service_markdown(out, card, p.items);
	prices(&p);
	untested(&p);
	str_addc(out, '\n');
	for (int i = 0; i < card->n_evidence; i++) {
		markdown_text(out, head_evidence(&card->evidence[i]));
		str_add(out, "  \n");
	}
	markdown_text(out, say(MSG_digest,
	                       card->run_digest ? card->run_digest : msg_format(MSG_no_digest)));
	str_addc(out, '\n');
	arena_release(&p.arena);
	return ST_OK;
}
