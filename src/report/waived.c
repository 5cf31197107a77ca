/* Waivers in words. A figure that was waived is still told, with its verdict. */
#include "report/waived.h"

#include <math.h>

#include "base/msg.h"
#include "report/words.h"

void waiver_what(struct str *out, const struct waiver *w)
{
	words_add(out, w->rule);
	if (!w->subject)
		return;
	str_add(out, ", ");
	words_add(out, w->subject);
}

static double distance(const struct finding *f)
{
	return f->has_value && isfinite(f->limit) ? fabs(f->value - f->limit) : 0;
}

/* Findings of a rule come worst verdict first. */
const struct finding *waiver_worst(const struct scorecard *card, const struct waiver_result *w)
{
	const struct finding *worst = NULL;

	for (int64_t i = 0; i < card->n_findings; i++) {
		const struct finding *f = &card->findings[i];

		if (f->waived != w)
			continue;
		if (!worst || (f->verdict == worst->verdict && distance(f) > distance(worst)))
			worst = f;
	}
	return worst;
}

static void excused(struct str *out, const struct waiver_result *w, const struct finding *f)
{
	struct str who = {0}, figure = {0};

	words_subject(&who, &f->subject, f->node);
	if (f->has_value || f->text) {
		words_figure(&figure, f);
		words_limit(&figure, f);
	} else {
		words_add(&figure, f->rule->metric);
		str_add(&figure, ": ");
		words_reason(&figure, f, NULL);
	}
	msg_add(out, MSG_waiver_without, words_verdict(f->verdict),
	        tmpf("%s: %s", str_text(&who), str_text(&figure)));
	if (w->excused > 1 && f->has_value)
		str_addf(out, " %s",
		         say(MSG_waiver_worst_of, words_subjects(f->subject.kind, w->excused)));
	else if (w->excused > 1)
		str_addf(out, " (%s)", words_subjects(f->subject.kind, w->excused));
	str_release(&who);
	str_release(&figure);
}

void waiver_claim(struct str *out, const struct scorecard *card, const struct waiver_result *w)
{
	const struct finding *f = waiver_worst(card, w);

	if (f) {
		excused(out, w, f);
		if (!w->decides)
			str_addf(out, "; %s", msg_format(MSG_waiver_idle));
		return;
	}
	str_add(out, msg_format(!w->known     ? MSG_waiver_no_rule
	                        : w->matched  ? MSG_waiver_good
	                        : w->too_fine ? MSG_waiver_too_fine
	                                      : MSG_waiver_nobody));
}

void waiver_why(struct str *out, const struct waiver *w)
{
	words_add(out, w->reason);
	if (!w->by && !w->granted)
		return;
	str_add(out, " (");
	words_add(out, w->by);
	if (w->granted)
		str_addf(out, "%s%.10s", w->by ? ", " : "", words_shown(w->granted));
	str_addc(out, ')');
}

void waived_count(struct str *out, int64_t waived)
{
	if (waived)
		str_addf(out, ", %s", say(MSG_waived_count, words_count(waived)));
}
