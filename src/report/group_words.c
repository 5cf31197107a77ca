/* A group of findings in words: who and what, and what else is known of it. */
#include <math.h>

#include "base/msg.h"
#include "report/blame.h"
#include "report/groups.h"
#include "report/words.h"

/* What the others reach tells a bad card from a bad limit. */
static void add_fleet(struct str *s, const struct scorecard *card, const struct finding *f)
{
	double median = f->has_value && !f->text ? fleet_median(card, f) : NAN;

	if (isfinite(median))
		str_addf(s, ", %s", say(MSG_words_fleet, words_value(f->rule, median)));
}

void group_claim(struct str *s, const struct scorecard *card, const struct group *g)
{
	const struct finding *f = g->first;

	switch (g->kind) {
	case GROUP_SUBJECT:
		words_subject(s, &f->subject, f->node);
		str_add(s, ": ");
		words_figure(s, f);
		words_limit(s, f);
		add_fleet(s, card, f);
		break;
	case GROUP_RULE:
		words_add(s, f->rule->metric);
		str_addf(s, ": %s", words_subjects(f->subject.kind, g->subjects));
		if (g->lo <= g->hi) {
			str_add(s, ", ");
			words_range(s, words_value(f->rule, g->lo), words_value(f->rule, g->hi));
		}
		words_limit(s, f);
		break;
	case GROUP_REASON:
		group_where(s, g, card);
		str_add(s, s->len ? ": " : "");
		words_reason(s, f, g->n_metrics > 1 ? msg_format(MSG_these_figures) : NULL);
		str_addf(s, " (%s",
		         g->n_rules == 1 ? msg_format(MSG_one_rule)
		                         : say(MSG_rules, words_count(g->n_rules)));
		str_add(s, ": ");
		words_names(s, g->metrics, g->n_metrics);
		str_addc(s, ')');
		break;
	}
}

void group_evidence(struct str *s, const struct group *g)
{
	if (g->kind == GROUP_RULE) {
		struct str who = {0};

		words_subject(&who, &g->worst->subject, g->worst->node);
		msg_add(s, MSG_worst, str_text(&who), words_value(g->worst->rule, g->worst->value));
		str_release(&who);
	}
	for (int i = 0; i < g->n_others && i < GROUP_OTHERS; i++) {
		struct str figure = {0};

		words_figure(&figure, g->others[i]);
		str_addf(s, "%s%s", s->len ? ", " : "",
		         i ? str_text(&figure) : say(MSG_also, str_text(&figure)));
		str_release(&figure);
	}
	if (g->n_others > GROUP_OTHERS)
		str_addf(s, ", %s", say(MSG_rules_more, words_count(g->n_others - GROUP_OTHERS)));
	if (g->kind != GROUP_REASON && g->first->reason.text && *g->first->reason.text) {
		str_add(s, s->len ? "; " : "");
		words_reason(s, g->first, NULL);
	}
}
