/* The certificate as two pages A4: the clauses on the first, what was waived, what proves
 * it and the signatures on the second. */
#include <string.h>

#include "base/msg.h"
#include "report/certificate.h"
#include "report/groups.h"
#include "report/head.h"
#include "report/html.h"
#include "report/html_page.h"
#include "report/waived.h"
#include "report/words.h"

#define MOST_OPEN 8 /* reasons without a verdict */

static void element(struct str *out, const char *tag, const char *text)
{
	str_addf(out, "<%s>", tag);
	markup_text(out, text);
	str_addf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

static void head(struct str *out, const struct certificate *c)
{
	struct str word = {0}, rest = {0}, facts = {0}, run = {0};
	const char *class = c->card->overall == OVERALL_ACCEPT   ? "pass"
	                    : c->card->overall == OVERALL_REJECT ? "fail"
	                                                         : "open";

	headline(&word, &rest, c->card);
	head_facts(&facts, c->card);
	head_run(&run, c->card);
	element(out, "p class=\"kind\"", say(MSG_certificate_title, c->title));
	str_addf(out, "<header class=\"headline %s\">", class);
	element(out, "h1", str_text(&word));
	element(out, "p class=\"rest\"", str_text(&rest));
	element(out, "p class=\"facts\"", str_text(&facts));
	element(out, "p class=\"facts\"", str_text(&run));
	str_add(out, "</header>\n");
	for (const char *const *b = head_banners(c->arena, c->card); *b; b++)
		element(out, "p class=\"banner\"", *b);
	str_release(&word);
	str_release(&rest);
	str_release(&facts);
	str_release(&run);
}

static void table(struct str *out, enum msg title, const char *id, const enum msg *columns, int n)
{
	str_addf(out, "<section id=\"%s\"><h2>", id);
	markup_text(out, msg_format(title));
	str_add(out, "</h2>\n<table><thead><tr>");
	for (int i = 0; i < n; i++)
		element(out, "th scope=\"col\"", msg_format(columns[i]));
	str_add(out, "</tr></thead><tbody>\n");
}

static void table_end(struct str *out)
{
	str_add(out, "</tbody></table></section>\n");
}

static void clauses(struct str *out, const struct certificate *c)
{
	static const enum msg columns[] = {MSG_clause_column, MSG_clause_title, MSG_clause_found,
	                                   MSG_html_verdict};

	table(out, MSG_clauses_title, "verdict", columns, 4);
	for (int i = 0; i < c->n_clauses; i++) {
		const struct clause *x = &c->clauses[i];
		struct str figure = {0}, verdict = {0};

		clause_figure(&figure, x);
		clause_verdict(&verdict, x);
		str_add(out, "<tr>");
		element(out, "td", x->id);
		element(out, "td", x->title);
		element(out, "td", str_text(&figure));
		str_addf(out, "<td><span class=\"v %s\">",
		         x->later ? "open" : verdict_name(x->verdict));
		markup_text(out, str_text(&verdict));
		str_add(out, "</span></td></tr>\n");
		str_release(&figure);
		str_release(&verdict);
	}
	table_end(out);
}

static void waivers(struct str *out, const struct certificate *c)
{
	static const enum msg columns[] = {MSG_waiver_column, MSG_waiver_found, MSG_waiver_reason};

	if (!c->card->n_waivers) {
		str_add(out, "<section id=\"waivers\">");
		element(out, "h2", msg_format(MSG_waiver_heading));
		element(out, "p", msg_format(MSG_waiver_none));
		str_add(out, "</section>\n");
		return;
	}
	table(out, MSG_waiver_heading, "waivers", columns, 3);
	for (int i = 0; i < c->card->n_waivers; i++) {
		const struct waiver_result *w = &c->card->waivers[i];
		struct str what = {0}, claim = {0}, why = {0};

		waiver_what(&what, &w->waiver);
		waiver_claim(&claim, c->card, w);
		waiver_why(&why, &w->waiver);
		str_add(out, "<tr>");
		element(out, "td", str_text(&what));
		element(out, "td", str_text(&claim));
		element(out, "td", str_text(&why));
		str_add(out, "</tr>\n");
		str_release(&what);
		str_release(&claim);
		str_release(&why);
	}
	table_end(out);
}

static void untested(struct str *out, const struct certificate *c)
{
	struct group_list l;

	groups_untested(&l, c->arena, c->card);
	str_add(out, "<section id=\"untested\">");
	element(out, "h2", msg_format(MSG_html_untested));
	if (!l.n_groups)
		element(out, "p", msg_format(MSG_html_all_tested));
	str_add(out, l.n_groups ? "<ul>\n" : "");
	for (int i = 0; i < l.n_groups && i < MOST_OPEN; i++) {
		const struct group *g = l.groups[i];
		struct str s = {0};

		words_reason(&s, g->first, g->n_metrics > 1 ? msg_format(MSG_these_figures) : NULL);
		str_addf(&s, " (%s)",
		         g->n_rules == 1 ? msg_format(MSG_one_rule)
		                         : say(MSG_rules, words_count(g->n_rules)));
		element(out, "li", str_text(&s));
		str_release(&s);
	}
	if (l.n_groups + l.left_out > MOST_OPEN)
		element(out, "li",
		        say(MSG_and_more, words_count(l.n_groups + l.left_out - MOST_OPEN)));
	str_add(out, l.n_groups ? "</ul></section>\n" : "</section>\n");
}

static void record(struct str *out, const struct certificate *c)
{
	const struct scorecard *card = c->card;

	str_add(out, "<section id=\"record\">");
	element(out, "h2", msg_format(MSG_certificate_record));
	element(out, "p class=\"digest\"",
	        say(MSG_digest, card->run_digest ? card->run_digest : msg_format(MSG_no_digest)));
	element(out, "p class=\"digest\"",
	        say(MSG_html_profile_digest, card->profile ? card->profile : "?",
	            card->profile_sha256 ? card->profile_sha256 : "?"));
	element(out, "p", msg_format(MSG_certificate_how));
	str_add(out, "</section>\n");
}

static void signatures(struct str *out)
{
	static const enum msg sides[] = {MSG_certificate_customer, MSG_certificate_vendor};

	str_add(out, "<section id=\"signatures\">");
	element(out, "h2", msg_format(MSG_certificate_signatures));
	str_add(out, "<div class=\"signatures\">\n");
	for (size_t i = 0; i < 2; i++) {
		str_add(out, "<div>");
		element(out, "p", msg_format(sides[i]));
		str_add(out, "<p class=\"line\"></p>");
		element(out, "p class=\"note\"", msg_format(MSG_certificate_sign));
		str_add(out, "</div>\n");
	}
	str_add(out, "</div></section>\n");
}

enum status certificate_html(struct str *out, const struct certificate *c, struct error *err)
{
	enum status st = html_page_begin(out, say(MSG_certificate_title, c->title), err);

	if (st != ST_OK)
		return st;
	str_add(out, "<main class=\"certificate\">\n<div class=\"sheet\">\n");
	head(out, c);
	clauses(out, c);
	str_add(out, "</div>\n<div class=\"sheet\">\n");
	waivers(out, c);
	untested(out, c);
	record(out, c);
	signatures(out);
	str_add(out, "</div>\n</main>\n"
	             "<script type=\"application/json\" id=\"names\">[]</script>\n");
	return html_page_end(out, err);
}
