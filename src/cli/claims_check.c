/* Statements against each other and against what is known of cards. A row of the table
 * at the end for each quantity that is looked at, and a function that shows its
 * arithmetic. What two statements cannot both be is said of both. */
#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "cli/claims.h"
#include "estimate/contradict.h"
#include "estimate/estimate.h"
#include "estimate/models.h"
#include "report/words.h"
#include "score/accel.h"

/* The bandwidth model of src/estimate: 91 % at 300 GB/s. */
#define MODEL_SHARE 0.099
#define MODEL_GBS   300.0
/* A floor of the rated peak itself: no card sustains it. */
#define AT_PEAK 0.995
/* Days of two vendors differ by more than their speed-ups and utilisations say. */
#define DAYS_APART 0.10

static bool is(const struct claim *x, const char *quantity)
{
	return x->quantity && x->s->scaled && strcmp(x->quantity->name, quantity) == 0;
}

static bool same_who(const struct claim *a, const struct claim *b)
{
	return strcmp(a->s->who, b->s->who) == 0;
}

static struct between figure_of(const struct claim *x)
{
	return (struct between){x->s->figure.lo, x->s->figure.hi};
}

/* The first statement of a quantity, said by `who` or by anybody (NULL). */
static struct claim *find(struct claims *c, const char *quantity, const char *who)
{
	for (int i = 0; i < c->n; i++)
		if (is(&c->list[i], quantity) && (!who || strcmp(c->list[i].s->who, who) == 0))
			return &c->list[i];
	return NULL;
}

/* What all that `who` says of a quantity spans. */
static bool spanned(struct claims *c, const char *quantity, const char *who, struct between *out)
{
	bool any = false;

	for (int i = 0; i < c->n; i++) {
		const struct claim *x = &c->list[i];

		if (!is(x, quantity) || strcmp(x->s->who, who) != 0)
			continue;
		out->lo = any ? fmin(out->lo, x->s->figure.lo) : x->s->figure.lo;
		out->hi = any ? fmax(out->hi, x->s->figure.hi) : x->s->figure.hi;
		any = true;
	}
	return any;
}

static const char *percent(double share)
{
	return fmt_value(100 * share);
}

static int card_row(const struct claims *c, const struct claim *x)
{
	return *x->s->card ? accel_row(&c->cards, x->s->card) : -1;
}

static double card_figure(const struct claims *c, const struct claim *x, const char *column)
{
	return accel_figure(&c->cards, card_row(c, x), column).value;
}

/* --- days of a training run ------------------------------------------------------------- */

static void memory_gate(struct claims *c, struct claim *x)
{
	double memory = card_figure(c, x, "memory_gb_nominal") * x->s->cards;
	double states = STATE_BYTES * x->s->params / 1e9;

	if (states > memory)
		claim_say(c, x, CLAIM_REFUTED,
		          say(MSG_claim_memory, quantity_text(x->s->params), fmt_value(states),
		              words_subjects(SUBJECT_CARD, (int64_t)x->s->cards),
		              fmt_value(memory)));
}

static void tokens_of_days(struct claims *c, struct claim *x)
{
	const struct statement *s = x->s;
	double peak = card_figure(c, x, "bf16_tensor_tflops");
	double mfu;

	if (!(peak > 0) || !(s->params > 0) || !(s->cards > 0))
		return;
	if (isnan(s->tokens)) {
		claim_say(
			c, x, CLAIM_UNTESTABLE,
			say(MSG_claim_tokens_missing,
		            quantity_text(tokens_in(s->figure.lo, s->params, s->cards, peak, 0.4)),
		            quantity_text(tokens_in(s->figure.hi, s->params, s->cards, peak, 0.5)),
		            quantity_text(tokens_in(s->figure.hi, s->params, s->cards, peak, 1))));
		return;
	}
	mfu = training_days(s->params, s->tokens, s->cards, peak, 1, 1) / s->figure.hi;
	claim_say(c, x, mfu > 1 ? CLAIM_REFUTED : CLAIM_UNTESTABLE,
	          say(mfu > 1          ? MSG_claim_mfu_impossible
	              : mfu > MFU_BEST ? MSG_claim_mfu_high
	                               : MSG_claim_mfu_needed,
	              fmt_value(mfu), fmt_value(MFU_BEST)));
}

/* The same model in `a` days, and in `b` days on more cards. */
static void pair_of_days(struct claims *c, struct claim *a, struct claim *b)
{
	double times = b->s->cards / a->s->cards;
	struct between speed = speed_up(figure_of(a), figure_of(b));
	struct between e = pair_efficiency(figure_of(a), figure_of(b), times), stated, then;
	enum claim_verdict verdict = CLAIM_UNTESTABLE;
	const char *text;

	if (!spanned(c, "linear_speedup", a->s->who, &stated))
		stated = (struct between){NAN, NAN};
	if (e.hi < stated.lo)
		verdict = CLAIM_CONTRADICTS;
	text = arena_str(&c->arena, say(MSG_claim_pair, a->s->id, b->s->id, fmt_value(speed.lo),
	                                fmt_value(speed.hi), words_count((int64_t)llround(times)),
	                                percent(e.lo), percent(e.hi)));
	claim_say(c, a, verdict, text);
	claim_say(c, b, verdict, text);
	if (verdict != CLAIM_CONTRADICTS)
		return;
	then = days_after(figure_of(a), times, stated.hi);
	text = say(MSG_claim_pair_stated, percent(stated.lo), percent(stated.hi),
	           fmt_value(24 * then.lo), fmt_value(24 * then.hi));
	text = arena_str(&c->arena, text);
	claim_say(c, a, verdict, text);
	claim_say(c, b, verdict, text);
}

/* The same run at two vendors: their speed-ups and utilisations say how the days should
 * differ. */
static void days_of_two(struct claims *c, struct claim *a, struct claim *b)
{
	struct between sa, sb, ua, ub, want;
	double apart;
	enum claim_verdict verdict;
	const char *text;

	if (!spanned(c, "linear_speedup", a->s->who, &sa) ||
	    !spanned(c, "linear_speedup", b->s->who, &sb) ||
	    !spanned(c, "utilisation", a->s->who, &ua) ||
	    !spanned(c, "utilisation", b->s->who, &ub))
		return;
	want = days_expected(figure_of(a), sa, ua, sb, ub);
	apart = fabs((want.lo + want.hi) / (b->s->figure.lo + b->s->figure.hi) - 1);
	verdict = apart > DAYS_APART ? CLAIM_CONTRADICTS : CLAIM_UNTESTABLE;
	text = arena_str(
		&c->arena,
		say(verdict == CLAIM_CONTRADICTS ? MSG_claim_days_apart : MSG_claim_days_alike,
	            a->s->id, b->s->id, fmt_value((want.lo + want.hi) / 2), percent(apart)));
	claim_say(c, a, verdict, text);
	claim_say(c, b, verdict, text);
}

static void check_days(struct claims *c, struct claim *x)
{
	memory_gate(c, x);
	tokens_of_days(c, x);
	for (int i = 0; i < c->n; i++) {
		struct claim *y = &c->list[i];

		if (y == x || !is(y, "train_days") || y->s->params != x->s->params)
			continue;
		if (same_who(x, y) && x->s->cards < y->s->cards)
			pair_of_days(c, x, y);
		if (!same_who(x, y) && x < y && x->s->cards == y->s->cards)
			days_of_two(c, x, y);
	}
}

static void check_time_saved(struct claims *c, struct claim *x)
{
	struct claim *few = NULL, *many = NULL;
	struct between saved;

	for (int i = 0; i < c->n; i++) {
		struct claim *y = &c->list[i];

		if (!is(y, "train_days") || !same_who(x, y) || isnan(y->s->cards))
			continue;
		few = !few || y->s->cards < few->s->cards ? y : few;
		many = !many || y->s->cards > many->s->cards ? y : many;
	}
	if (!few || few == many || few->s->params != many->s->params)
		return;
	saved = time_saved(figure_of(few), figure_of(many));
	claim_say(c, x, saved.lo < x->s->figure.lo ? CLAIM_CONTRADICTS : CLAIM_CONFIRMED,
	          say(MSG_claim_time_saved, few->s->id, many->s->id, percent(saved.lo),
	              percent(saved.hi), percent(x->s->figure.lo)));
}

/* --- shares of the card ------------------------------------------------------------------- */

static void check_utilisation(struct claims *c, struct claim *x)
{
	if (x->s->figure.lo > MFU_BEST)
		claim_say(
			c, x, CLAIM_UNTESTABLE,
			say(MSG_claim_utilisation, percent(x->s->figure.lo), fmt_value(MFU_BEST)));
}

static void check_mfu(struct claims *c, struct claim *x)
{
	double mfu = x->s->figure.lo;

	if (mfu > MFU_BEST)
		claim_say(c, x, mfu > 1 ? CLAIM_REFUTED : CLAIM_UNTESTABLE,
		          say(mfu > 1 ? MSG_claim_mfu_impossible : MSG_claim_mfu_high,
		              fmt_value(mfu), fmt_value(MFU_BEST)));
}

static void check_rated(struct claims *c, struct claim *x)
{
	double peak = card_figure(c, x, x->quantity->column), said = x->s->figure.lo;
	const char *unit = x->quantity->unit;

	if (!(peak > 0) || x->s->figure.bound == BOUND_MOST)
		return;
	if (said > 1.01 * peak)
		claim_say(c, x, CLAIM_REFUTED,
		          say(MSG_claim_above_peak, fmt_value(said), unit, fmt_value(peak)));
	else if (said >= AT_PEAK * peak && x->s->figure.bound == BOUND_LEAST)
		claim_say(c, x, CLAIM_REFUTED,
		          say(MSG_claim_floor_peak, fmt_value(said), unit, fmt_value(peak)));
	else if (said >= AT_PEAK * peak)
		claim_say(c, x, CLAIM_UNTESTABLE, say(MSG_claim_is_peak, fmt_value(said), unit));
}

/* --- the network -------------------------------------------------------------------------- */

static void check_loss(struct claims *c, struct claim *x)
{
	double at = x->s->at, model = interconnect_efficiency(at, MODEL_SHARE, MODEL_GBS);
	double best = NAN;
	struct claim *slow = NULL;

	for (int i = 0; i < c->n; i++) {
		struct claim *y = &c->list[i];

		if (is(y, "linear_speedup") && y->s->figure.bound == BOUND_ABOUT)
			best = fmax(best, y->s->figure.lo);
		if (is(y, "interconnect_rate") && y->s->figure.hi <= at)
			slow = y;
	}
	if (slow) {
		struct claim *reached = find(c, "linear_speedup", slow->s->who);
		struct between loss;

		if (reached && best > 0) {
			loss = loss_against(figure_of(reached), best);
			claim_say(c, x,
			          loss.hi < x->s->figure.lo ? CLAIM_CONTRADICTS : CLAIM_UNTESTABLE,
			          say(MSG_claim_loss, slow->s->id, fmt_value(slow->s->figure.hi),
			              reached->s->id, percent(loss.lo), percent(loss.hi),
			              percent(best), percent(x->s->figure.lo)));
		}
	}
	if (at > 0)
		claim_say(c, x, CLAIM_UNTESTABLE,
		          say(MSG_claim_loss_model, fmt_value(at),
		              percent(1 - model * (1 + MODEL_SHARE)), fmt_value(MODEL_GBS)));
}

static void check_network(struct claims *c, struct claim *x)
{
	claim_say(c, x, CLAIM_UNTESTABLE, msg_format(MSG_claim_network));
}

static void check_nvlink(struct claims *c, struct claim *x)
{
	claim_say(c, x, CLAIM_UNTESTABLE, msg_format(MSG_claim_nvlink));
}

static void check_domain(struct claims *c, struct claim *x)
{
	for (int i = 0; i < c->words.n_domains; i++) {
		const struct claim_domain *d = &c->words.domains[i];

		if (!str_starts(x->s->card, d->card))
			continue;
		if (x->s->cards > d->cards)
			claim_say(c, x, CLAIM_REFUTED,
			          say(MSG_claim_domain, words_count((int64_t)d->cards),
			              words_count((int64_t)x->s->cards)));
		return;
	}
}

/* --- storage and checkpoints ---------------------------------------------------------------- */

static void check_gain(struct claims *c, struct claim *x)
{
	struct claim *cut = find(c, "checkpoint_change", x->s->who);
	double by, share, gain = x->s->figure.lo;
	enum claim_verdict verdict;
	const char *text;

	if (!cut || cut->s->figure.lo >= 0 || cut->s->figure.lo <= -1 || gain <= 0)
		return;
	by = -cut->s->figure.lo;
	share = checkpoint_share(by, gain);
	verdict = share > CHECKPOINT_SHARE_MOST ? CLAIM_CONTRADICTS : CLAIM_UNTESTABLE;
	text = arena_str(&c->arena,
	                 say(MSG_claim_checkpoint, cut->s->id, percent(by), percent(gain),
	                     percent(share), percent(checkpoint_gain(0.1, by)),
	                     percent(checkpoint_gain(0.2, by))));
	claim_say(c, x, verdict, text);
	claim_say(c, cut, CLAIM_UNTESTABLE, text);
}

static void check_change(struct claims *c, struct claim *x)
{
	struct claim *after = find(c, "utilisation", x->s->who);
	struct claim *stall = find(c, "storage_stall", NULL);
	double before, stated;

	if (!after || !stall || stall->s->figure.bound != BOUND_CHANGE)
		return;
	before = utilisation_before(after->s->figure.lo, x->s->figure.lo);
	stated = stall->s->figure.hi;
	claim_say(c, x, fabs(before - stated) > 0.05 ? CLAIM_CONTRADICTS : CLAIM_UNTESTABLE,
	          say(MSG_claim_stall, percent(after->s->figure.lo), after->s->id, percent(before),
	              percent(stated), stall->s->id));
}

/* --- money ------------------------------------------------------------------------------------ */

/* The dearest price that somebody else states: it helps a claim to save most. */
static struct claim *dearest(struct claims *c, const struct claim *x)
{
	struct claim *most = NULL;

	for (int i = 0; i < c->n; i++) {
		struct claim *y = &c->list[i];

		if (is(y, "gpu_hour") && !same_who(x, y) &&
		    strcmp(y->s->kind, "requirement") != 0 && y->s->figure.lo > 0 &&
		    (!most || y->s->figure.hi > most->s->figure.hi))
			most = y;
	}
	return most;
}

static void check_saving(struct claims *c, struct claim *x)
{
	struct claim *own = find(c, "gpu_hour", x->s->who), *other = dearest(c, x);
	struct claim *days = find(c, "train_days", x->s->who), *theirs;
	struct between by_hour, by_run;
	double most;

	if (!own || !other)
		return;
	by_hour = price_saved(figure_of(own), figure_of(other));
	theirs = find(c, "train_days", other->s->who);
	by_run = days && theirs ? run_saved(figure_of(own), figure_of(days), figure_of(other),
	                                    figure_of(theirs))
	                        : by_hour;
	most = fmax(fmax(by_hour.lo, by_hour.hi), fmax(by_run.lo, by_run.hi));
	claim_say(c, x, most < x->s->figure.lo ? CLAIM_CONTRADICTS : CLAIM_UNTESTABLE,
	          say(MSG_claim_saving, own->s->id, other->s->id, percent(by_hour.lo),
	              percent(by_hour.hi), percent(by_run.lo), percent(by_run.hi),
	              percent(x->s->figure.lo)));
}

static void check_year(struct claims *c, struct claim *x)
{
	struct claim *change = find(c, "train_change", x->s->who), *price = dearest(c, x);
	struct between cards;

	if (!change || !price || change->s->figure.lo == 0)
		return;
	cards = cards_saving(x->s->figure.lo, fabs(change->s->figure.lo), figure_of(price));
	claim_say(c, x, CLAIM_UNTESTABLE,
	          say(MSG_claim_year, fmt_value(cards.lo), fmt_value(cards.hi),
	              fmt_value(price->s->figure.hi), fmt_value(price->s->figure.lo)));
}

/* --- service, products, limits --------------------------------------------------------------- */

static void check_availability(struct claims *c, struct claim *x)
{
	double share = x->s->figure.lo;

	if (!(x->s->cards >= 1000) || !(share < 1))
		return;
	claim_say(c, x, CLAIM_UNTESTABLE,
	          say(MSG_claim_availability, fmt_value((1 - share) * 30 * 24 * 60),
	              tmpf("%d", INTERRUPTIONS_LEAST), tmpf("%d", INTERRUPTIONS_MOST),
	              fmt_duration(seconds_each(share, 30, INTERRUPTIONS_MOST)),
	              fmt_duration(seconds_each(share, 30, INTERRUPTIONS_LEAST))));
}

static void check_product(struct claims *c, struct claim *x)
{
	for (int i = 0; i < c->words.n_products; i++) {
		const struct claim_product *p = &c->words.products[i];

		if (strcmp(p->product, x->s->product) == 0 && *x->s->card)
			claim_say(c, x,
			          str_starts(x->s->card, p->card) ? CLAIM_UNTESTABLE
			                                          : CLAIM_REFUTED,
			          say(MSG_claim_product, p->product, p->card, p->source));
	}
}

/* Two lower limits for one thing, by one and the same. */
static void check_limits(struct claims *c, struct claim *x)
{
	for (int i = 0; i < c->n; i++) {
		struct claim *y = &c->list[i];

		if (y == x || y->quantity != x->quantity || !y->s->scaled || !same_who(x, y) ||
		    x->s->figure.bound != BOUND_LEAST || y->s->figure.bound != BOUND_LEAST ||
		    y->s->figure.lo == x->s->figure.lo || strcmp(x->s->card, y->s->card) != 0 ||
		    fmax(x->s->cards, 0) != fmax(y->s->cards, 0) || x->s->figure.bad ||
		    y->s->figure.bad)
			continue;
		claim_say(c, x, CLAIM_CONTRADICTS,
		          say(MSG_claim_limits, x->s->threshold, y->s->threshold, y->s->id));
	}
}

/* --- all ---------------------------------------------------------------------------------------- */

static const struct {
	const char *quantity;
	void (*check)(struct claims *c, struct claim *x);
} checks[] = {
	{"train_days", check_days},           {"time_saved", check_time_saved},
	{"utilisation", check_utilisation},   {"mfu", check_mfu},
	{"bandwidth_loss", check_loss},       {"bandwidth_unfit", check_network},
	{"interconnect_rate", check_network}, {"nvlink_rate", check_nvlink},
	{"training_gain", check_gain},        {"train_change", check_change},
	{"cost_saving", check_saving},        {"year_saving", check_year},
	{"availability", check_availability}, {0},
};

/* Without its row nothing is known of the card, which a misspelled key would hide. */
static void check_card(struct claims *c, struct claim *x)
{
	const char *near;

	if (!*x->s->card || !x->s->line || accel_row(&c->cards, x->s->card) >= 0)
		return;
	near = nearest_word(x->s->card, accel_keys(&c->cards, &c->arena));
	claim_say(c, x, CLAIM_UNTESTABLE,
	          near ? say(MSG_claim_card_near, x->s->card, near)
	               : say(MSG_claim_card, x->s->card));
}

void claims_check(struct claims *c)
{
	for (int i = 0; i < c->n; i++) {
		struct claim *x = &c->list[i];

		check_card(c, x);
		if (!x->quantity)
			continue;
		if (strcmp(x->quantity->name, "nvswitch_cards") == 0)
			check_domain(c, x);
		if (*x->s->product)
			check_product(c, x);
		if (!x->s->scaled)
			continue;
		for (int k = 0; checks[k].quantity; k++)
			if (strcmp(checks[k].quantity, x->quantity->name) == 0)
				checks[k].check(c, x);
		if (x->quantity->column)
			check_rated(c, x);
		check_limits(c, x);
	}
}
