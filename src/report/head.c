/* The head of a report in words. */
#include "report/head.h"

#include <math.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/blame.h"
#include "report/readiness.h"
#include "report/words.h"

#define BANNERS 8

static void add_size(struct str *s, const struct scorecard *c)
{
	int64_t nodes = c->expected_nodes, cards = c->expected_cards;

	if (nodes <= 0)
		return;
	str_addf(s, ", %s", words_subjects(SUBJECT_NODE, nodes));
	if (cards <= 0)
		return;
	if (cards % nodes == 0)
		str_addf(s, " x %s", words_count(cards / nodes));
	else
		str_addf(s, ", %s", words_count(cards));
	str_addf(s, " %s", c->card ? words_shown(c->card) : msg_format(MSG_head_cards));
}

/* "2026-12-02 06:39 UTC" of an RFC 3339 time. */
static void add_start(struct str *s, const char *started)
{
	const char *text = words_shown(started);

	if (strlen(text) >= 16)
		str_addf(s, ", %.10s %.5s UTC", text, text + 11);
}

void head_facts(struct str *out, const struct scorecard *c)
{
	msg_add(out, MSG_head_version, c->version ? words_shown(c->version) : "?");
	if (c->vendor)
		str_addf(out, ", %s", words_shown(c->vendor));
	add_size(out, c);
	add_start(out, c->started);
}

void head_run(struct str *out, const struct scorecard *c)
{
	if (c->profile)
		msg_add(out, MSG_head_profile, words_shown(c->profile));
	if (c->budget)
		str_addf(out, "%s%s", out->len ? ", " : "",
		         say(MSG_head_budget, words_shown(c->budget)));
	if (isfinite(c->seconds) && c->seconds > 0)
		str_addf(out, "%s%s", out->len ? ", " : "",
		         say(MSG_head_took, fmt_duration(c->seconds)));
}

void headline(struct str *word, struct str *rest, const struct scorecard *c)
{
	enum overall shown = c->simulated ? c->overall_if_measured : c->overall;
	struct str verdict = {0};

	words_overall_waived(&verdict, shown, words_overall(shown), c->waivers_used);
	if (c->simulated)
		msg_add(word, MSG_headline_simulated, str_text(&verdict));
	else
		str_add(word, str_text(&verdict));
	str_release(&verdict);
	if (shown == OVERALL_REJECT)
		blame_summary(rest, c);
	if (!rest->len)
		msg_add(rest, MSG_headline_judged, words_count(c->rules_judged),
		        words_count(c->rules));
	if (shown == OVERALL_INCOMPLETE && c->rules_judged > 0)
		str_addf(rest, "; %s", msg_format(MSG_headline_no_fail));
	if (c->waivers_used)
		str_addf(rest, "; %s",
		         say(MSG_headline_unwaived, words_overall(c->overall_unwaived)));
}

const char *const *head_banners(struct arena *arena, const struct scorecard *c)
{
	const char **list = arena_array(arena, BANNERS + 1, sizeof(*list));
	int n = 0;

	if (c->altered)
		list[n++] = arena_str(arena, say(MSG_banner_altered, words_shown(c->altered)));
	if (c->simulated)
		list[n++] = msg_format(MSG_banner_simulated);
	if (c->imported)
		list[n++] = msg_format(MSG_banner_imported);
	if (c->cut)
		list[n++] = msg_format(MSG_banner_cut);
	if (c->screen_only)
		list[n++] = msg_format(MSG_banner_screen);
	if (c->card_guessed)
		list[n++] =
			c->card ? arena_str(arena, say(MSG_banner_guessed, words_shown(c->card)))
				: msg_format(MSG_banner_no_profile);
	if (c->stage == RULE_PERIOD)
		list[n++] = msg_format(MSG_banner_period);
	if (c->gated)
		list[n++] = arena_str(arena, gated_banner(c->gated));
	return list;
}

static const char *kind_said(const char *kind)
{
	static const struct {
		const char *kind;
		enum msg name;
	} kinds[] = {{"quote", MSG_kind_quote},
	             {"bill", MSG_kind_bill},
	             {"usage log", MSG_kind_usage},
	             {"watch", MSG_kind_watch},
	             {"vendor report", MSG_kind_vendor_report},
	             {"causes", MSG_kind_causes},
	             {"tickets", MSG_kind_tickets}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return msg_format(kinds[i].name);
	return words_shown(kind);
}

const char *head_evidence(const struct evidence_file *f)
{
	return say(MSG_evidence_file, kind_said(f->kind), words_shown(f->file), f->sha256);
}

/* --- criteria --------------------------------------------------------------------- */

bool criterion_only_later(const struct scorecard *card, const struct criterion_result *c)
{
	return card->stage == RULE_DELIVERY && c->has_period && c->coverage.due == 0;
}

void criterion_later(struct str *out, const struct criterion_result *c)
{
	const char *checks = say(MSG_later_checks, words_count(c->period_coverage.tested),
	                         words_count(c->period_coverage.due));

	str_add(out, c->period_coverage.tested
	                     ? say(MSG_later_so_far, words_verdict(c->period_verdict), checks)
	                     : checks);
}

void criterion_period(struct str *out, const struct scorecard *card,
                      const struct criterion_result *c)
{
	struct str checks = {0};

	if (!c->has_period || criterion_only_later(card, c))
		return;
	if (card->stage == RULE_DELIVERY) {
		criterion_later(&checks, c);
		msg_add(out, MSG_later_line, str_text(&checks));
	} else {
		msg_add(out, MSG_period_line, words_verdict(c->period_verdict),
		        words_count(c->period_coverage.tested),
		        words_count(c->period_coverage.due));
	}
	str_release(&checks);
}
