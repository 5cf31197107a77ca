/* First section: the verdict, each criterion with what is wrong under it, and what
 * to do about it. */
#include <string.h>

#include "base/msg.h"
#include "report/blame.h"
#include "report/head.h"
#include "report/html.h"
#include "report/waived.h"
#include "report/words.h"

static const char *overall_class(const struct scorecard *c)
{
	return c->overall == OVERALL_ACCEPT   ? "pass"
	       : c->overall == OVERALL_REJECT ? "fail"
	                                      : "open";
}

static void head(struct html *h)
{
	struct str facts = {0}, run = {0}, word = {0}, rest = {0};

	head_facts(&facts, h->card);
	head_run(&run, h->card);
	headline(&word, &rest, h->card);
	str_addf(h->out, "<header class=\"headline %s\"><h1>", overall_class(h->card));
	markup_text(h->out, str_text(&word));
	str_add(h->out, "</h1><p class=\"rest\">");
	markup_text(h->out, str_text(&rest));
	str_add(h->out, "</p><p class=\"facts\">");
	markup_text(h->out, str_text(&facts));
	str_add(h->out, "<br>");
	markup_text(h->out, str_text(&run));
	str_add(h->out, "</p></header>\n");
	for (const char *const *b = head_banners(&h->arena, h->card); *b; b++) {
		str_add(h->out, "<p class=\"banner\">");
		markup_text(h->out, *b);
		str_add(h->out, "</p>\n");
	}
	str_release(&facts);
	str_release(&run);
	str_release(&word);
	str_release(&rest);
}

static void trouble(struct html *h, const struct group *g)
{
	struct str claim = {0}, evidence = {0};

	group_claim(&claim, h->card, g);
	group_evidence(&evidence, g);
	str_add(h->out, "<li>");
	html_verdict(h->out, g->verdict);
	str_addc(h->out, ' ');
	if (!g->first->rule->required) {
		markup_text(h->out, msg_format(MSG_optional));
		str_addc(h->out, ' ');
	}
	str_add(h->out, "<strong>");
	markup_text(h->out, str_text(&claim));
	str_add(h->out, "</strong>");
	if (evidence.len) {
		str_add(h->out, "<p class=\"evidence\">");
		markup_text(h->out, evidence.data);
		str_add(h->out, "</p>");
	}
	if (g->first->advice) {
		str_add(h->out, "<p class=\"advice\"><b>");
		markup_text(h->out, msg_format(MSG_html_next));
		str_add(h->out, "</b> ");
		markup_text(h->out, g->first->advice);
		str_add(h->out, "</p>");
	}
	str_add(h->out, "</li>\n");
	str_release(&claim);
	str_release(&evidence);
}

static void criterion(struct html *h, const struct criterion_result *c)
{
	bool later = criterion_only_later(h->card, c);
	struct str s = {0};
	int n = 0;

	str_add(h->out, "<article class=\"criterion\"><h3><span class=\"id\">");
	markup_text(h->out, c->id);
	str_add(h->out, "</span> ");
	markup_text(h->out, words_title(c));
	str_addc(h->out, ' ');
	if (later)
		markup_text(h->out, msg_format(MSG_later));
	else
		html_verdict(h->out, waived_verdict(c->verdict, c->unwaived, c->waived));
	str_add(h->out, "</h3><p class=\"coverage\">");
	if (later)
		criterion_later(&s, c);
	else if (c->coverage.due > 0 || c->waived)
		coverage_words(&s, h->card, c);
	markup_text(h->out, str_text(&s));
	str_add(h->out, "</p>\n");
	for (int i = 0; i < h->troubles.n_groups; i++)
		if (strcmp(h->troubles.groups[i]->criterion, c->id) == 0) {
			str_add(h->out, n++ ? "" : "<ul class=\"troubles\">\n");
			trouble(h, h->troubles.groups[i]);
		}
	str_add(h->out, n ? "</ul>\n" : "");
	str_clear(&s);
	criterion_period(&s, h->card, c);
	if (s.len)
		html_note(h, s.data);
	str_add(h->out, "</article>\n");
	str_release(&s);
}

void html_view_verdict(struct html *h)
{
	head(h);
	html_section(h, "verdict", MSG_html_criteria);
	for (int i = 0; i < h->card->n_criteria; i++)
		criterion(h, &h->card->criteria[i]);
	html_section_end(h);
}
