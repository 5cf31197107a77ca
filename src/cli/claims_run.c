/* Statements held against a run: the median over its subjects with its interval beside
 * what was declared. Only what Assay measured counts, and what a part of the cluster
 * did not give confirms nothing. */
#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "cli/claims.h"
#include "cli/cli.h"
#include "cli/rates.h"
#include "report/words.h"
#include "score/accel.h"

struct testing {
	struct claims *c;
	struct claim *x;
	const struct metric *metric;
};

/* --- the verdict ------------------------------------------------------------------------- */

static bool is_floor(const struct testing *g)
{
	enum claim_bound bound = g->x->s->figure.bound;

	return bound == BOUND_LEAST || (bound != BOUND_MOST && g->metric->better != BETTER_LOWER);
}

const char *claims_measured(const struct claim *x)
{
	const struct rule_info rule = {.stat = "value", .unit = x->quantity->unit};
	struct str range = {0};
	const char *text = words_value(&rule, x->rate.value);

	if (!isfinite(x->rate.lo) || !isfinite(x->rate.hi))
		return text;
	words_range(&range, words_value(&rule, x->rate.lo), words_value(&rule, x->rate.hi));
	text = tmpf("%s (%s)", text, str_text(&range));
	str_release(&range);
	return text;
}

/* Fewer cards than it was said of: what holds for few need not hold for many. */
static bool of_more_cards(const struct claims *c, const struct claim *x)
{
	return isfinite(x->s->cards) && x->s->cards > (double)c->run_cards;
}

static void show(const struct testing *g, enum claim_verdict verdict, double declared, bool floor)
{
	struct claims *c = g->c;
	struct claim *x = g->x;
	const struct rule_info rule = {.stat = "value", .unit = x->quantity->unit};
	const char *said = tmpf("%s %s", floor ? ">=" : "<=", words_value(&rule, declared));

	claim_say(c, x, verdict,
	          say(isnan(x->shortfall) ? MSG_claim_measured_only
	              : floor             ? MSG_claim_measured
	                                  : MSG_claim_measured_above,
	              said, claims_measured(x),
	              words_subjects(g->metric->subject, x->rate.subjects),
	              tmpf("%.1f", 100 * fmax(x->shortfall, 0))));
	if (x->class_3)
		claim_say(c, x, verdict,
		          say(MSG_claim_class_3, words_value(&rule, x->rate.worst),
		              tmpf("%.1f", 100 * (1 - x->rate.worst / declared))));
}

/* Reached, missed, or not to be told: by the whole interval where there is one. */
static enum claim_verdict compare(const struct testing *g, double declared, bool floor)
{
	const struct claim *x = g->x;
	double border =
		declared * (floor ? 1 - x->quantity->tolerance : 1 + x->quantity->tolerance);
	double lo = isfinite(x->rate.lo) && isfinite(x->rate.hi) ? x->rate.lo : x->rate.value;
	double hi = isfinite(x->rate.lo) && isfinite(x->rate.hi) ? x->rate.hi : x->rate.value;

	if (floor ? lo >= border : hi <= border)
		return CLAIM_CONFIRMED;
	return (floor ? hi < border : lo > border) ? CLAIM_REFUTED : CLAIM_UNTESTABLE;
}

static void judge(struct testing *g)
{
	struct claim *x = g->x;
	struct claims *c = g->c;
	bool floor = is_floor(g);
	double declared = floor ? x->s->figure.lo : x->s->figure.hi;
	double best = isfinite(x->rate.hi) ? x->rate.hi : x->rate.value;
	enum claim_verdict verdict = compare(g, declared, floor);
	enum claim_verdict shown = verdict;

	if (x->s->figure.bad) {
		claim_say(c, x, CLAIM_UNTESTABLE, say(MSG_claim_bad, claims_measured(x)));
		return;
	}
	if (declared > 0)
		x->shortfall = floor ? 1 - x->rate.value / declared : x->rate.value / declared - 1;
	x->class_3 = floor && g->metric->better == BETTER_HIGHER && declared > 0 &&
	             (1 - best / declared >= CLASS_3_SHORT ||
	              1 - x->rate.worst / declared >= CLASS_3_SHORT);
	if (x->class_3)
		verdict = shown = CLAIM_REFUTED;
	if (verdict == CLAIM_CONFIRMED && (x->rate.without || of_more_cards(c, x)))
		shown = CLAIM_UNTESTABLE;
	show(g, shown, declared, floor);
	if (verdict == CLAIM_UNTESTABLE)
		claim_say(c, x, shown, msg_format(MSG_claim_noise));
	if (verdict == CLAIM_CONFIRMED && x->rate.without)
		claim_say(c, x, shown,
		          say(MSG_claim_without, tmpf("%lld", (long long)x->rate.without)));
	if (verdict == CLAIM_CONFIRMED && of_more_cards(c, x))
		claim_say(c, x, shown,
		          say(MSG_claim_fewer_cards, words_count(c->run_cards),
		              words_count((int64_t)x->s->cards)));
}

/* --- which card it is ---------------------------------------------------------------------- */

/* The same name of the same card before. */
static bool again(const struct effective *all, int64_t at)
{
	const struct reading *r = all->readings[at];

	for (int64_t i = 0; i < at; i++) {
		const struct reading *x = all->readings[i];

		if (strcmp(x->metric, r->metric) == 0 && x->value_kind == VALUE_TEXT &&
		    strcmp(x->subject.id ? x->subject.id : "",
		           r->subject.id ? r->subject.id : "") == 0 &&
		    strcmp(x->node ? x->node : "", r->node ? r->node : "") == 0 &&
		    strcmp(x->text, r->text) == 0)
			return true;
	}
	return false;
}

static void judge_card(struct claims *c, struct claim *x, const struct effective *all)
{
	int row = *x->s->card ? accel_row(&c->cards, x->s->card) : -1;
	const char *cell = NULL, *other = NULL;
	int64_t good = 0, bad = 0;

	if (row < 0) {
		claim_say(c, x, CLAIM_UNTESTABLE, say(MSG_claim_card_unknown, x->s->card));
		return;
	}
	accel_cell(&c->cards, row, "nvml_name_patterns", &cell);
	for (int64_t i = 0; i < all->count; i++) {
		const struct reading *r = all->readings[i];

		if (strcmp(r->metric, "card_name") != 0 || r->value_kind != VALUE_TEXT ||
		    r->outcome != OUTCOME_MEASURED ||
		    (r->origin != ORIGIN_MEASURED && r->origin != ORIGIN_SIMULATED))
			continue;
		if (again(all, i))
			continue;
		if (cell && accel_accepts("nvml_name_patterns", cell, r->text)) {
			good++;
		} else {
			bad++;
			other = other ? other : r->text;
		}
	}
	if (bad)
		claim_say(c, x, CLAIM_REFUTED,
		          say(MSG_claim_card_other, x->s->card, tmpf("%lld", (long long)bad),
		              tmpf("%lld", (long long)(good + bad)), words_shown(other)));
	else if (good)
		claim_say(c, x, good < c->run_cards ? CLAIM_UNTESTABLE : CLAIM_CONFIRMED,
		          say(MSG_claim_card_is, x->s->card, tmpf("%lld", (long long)good),
		              words_count(c->run_cards)));
	else
		claim_say(c, x, CLAIM_UNTESTABLE, msg_format(MSG_claim_card_none));
}

/* --- all ------------------------------------------------------------------------------------- */

void claims_against_run(struct claims *c, struct rundir *run)
{
	struct effective all = rundir_effective(run);

	for (int i = 0; i < c->n; i++) {
		struct claim *x = &c->list[i];
		struct testing g = {.c = c, .x = x};

		if (!x->quantity || !x->quantity->metric)
			continue;
		if (c->altered) {
			claim_say(c, x, CLAIM_UNTESTABLE, say(MSG_claim_altered, c->altered));
			continue;
		}
		if (strcmp(x->quantity->name, "card_model") == 0) {
			judge_card(c, x, &all);
			continue;
		}
		g.metric = metric_find(cli_metrics(), x->quantity->metric, NULL);
		if (!g.metric || !x->s->scaled)
			continue;
		x->tested = rate_of(&x->rate, &c->arena, &all, g.metric, x->quantity->stat,
		                    x->quantity->sum);
		/* Cards that nothing was heard of are none that reached it. */
		if (x->tested && !x->quantity->sum && g.metric->subject == SUBJECT_CARD &&
		    c->run_cards - x->rate.subjects > x->rate.without)
			x->rate.without = c->run_cards - x->rate.subjects;
		c->simulated = c->simulated || x->rate.origin == ORIGIN_SIMULATED;
		if (x->tested)
			judge(&g);
		else
			claim_say(c, x, CLAIM_UNTESTABLE,
			          say(MSG_claim_not_in_run, x->quantity->metric));
	}
}
