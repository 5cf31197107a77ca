/* The projection; see estimate.h. */
#include "estimate/estimate.h"

#include <math.h>
#include <stddef.h>

#include "base/unit.h"
#include "estimate/models.h"

struct range range_one(double value, enum source source)
{
	return (struct range){{value, value, value}, source};
}

struct range range_assumed(double best, double mid, double worst)
{
	return (struct range){{best, mid, worst}, SOURCE_ASSUMED};
}

static void fill(struct range *r, double best, double mid, double worst)
{
	if (isnan(r->of[CASE_MID]))
		*r = range_assumed(best, mid, worst);
}

/* GEMM: public best shapes of A100 reach 87 % of peak. Step share and E(n) so that the
 * product spans what is published for large runs, 0.36 to 0.56. MTTF of jobs on a
 * thousand cards: 50.7 h (Llama 3's rate) to 7.9 h (Meta's A100 clusters), the middle
 * their geometric mean. */
void estimate_assume(struct estimate_inputs *in)
{
	fill(&in->gemm_share, 0.87, 0.84, 0.80);
	fill(&in->step_share, 0.68, 0.60, 0.53);
	fill(&in->scaling, 0.95, 0.90, 0.85);
	fill(&in->mttf_h, 50.7, 20, 7.9);
	fill(&in->write_s, 60, 300, 600);
	fill(&in->restart_min, 15, 30, 60);
}

/* --- one number of cards --------------------------------------------------------------- */

static void one_case(struct estimate *e, const struct estimate_inputs *in, int c)
{
	double mttf_s, gbs = in->write_gbs.of[c];

	e->mfu[c] = in->mfu.of[c];
	if (isnan(e->mfu[c])) /* fmin leaves out what is NaN */
		e->mfu[c] = fmin(in->gemm_share.of[c] * in->step_share.of[c] * in->scaling.of[c],
		                 in->step_most.of[c]);
	e->mttf_h[c] = in->mttf_h.of[c] * 1000 / e->cards;
	mttf_s = e->mttf_h[c] * 3600;
	e->write_s[c] = isnan(gbs) ? in->write_s.of[c] : e->checkpoint_bytes / (gbs * 1e9);
	e->interval_s[c] = checkpoint_interval_s(mttf_s, e->write_s[c]);
	e->ettr[c] = ettr_of(mttf_s, e->write_s[c], in->restart_min.of[c] * 60, e->interval_s[c]);
	e->days[c] = training_days(in->params, in->tokens, e->cards, in->peak_tflops, e->mfu[c],
	                           e->ettr[c]);
	e->card_hours[c] = e->days[c] * 24 * e->cards;
	e->cost[c] = e->card_hours[c] * in->price;
}

static void at_cards(struct estimate *e, const struct estimate_inputs *in, double cards)
{
	e->cards = cards;
	for (int c = 0; c < CASES; c++)
		one_case(e, in, c);
	e->fits = isnan(e->least_cards) || cards >= e->least_cards;
	e->within_deadline = isnan(in->deadline_days) || e->days[CASE_MID] <= in->deadline_days;
	e->within_budget = isnan(in->budget) || e->cost[CASE_MID] <= in->budget;
}

/* --- looking for cards -------------------------------------------------------------------- */

static double days_at(struct estimate *e, const struct estimate_inputs *in, double cards)
{
	at_cards(e, in, cards);
	return e->days[CASE_MID];
}

/* More cards fail more often: beyond some number days rise again. By ternary search
 * over the logarithm. */
static double fastest(struct estimate *e, const struct estimate_inputs *in, double least)
{
	double lo = log(least), hi = log(CARDS_MOST);

	for (int i = 0; i < 200; i++) {
		double a = lo + (hi - lo) / 3, b = hi - (hi - lo) / 3;

		if (days_at(e, in, exp(a)) <= days_at(e, in, exp(b)))
			hi = b;
		else
			lo = a;
	}
	return floor(exp((lo + hi) / 2));
}

/* The fewest cards within the deadline; days fall up to `most`. */
static double fewest_in_time(struct estimate *e, const struct estimate_inputs *in, double least,
                             double most)
{
	double lo = least, hi = most;

	if (days_at(e, in, least) <= in->deadline_days)
		return least;
	while (hi - lo > 1) {
		double middle = floor((lo + hi) / 2);

		if (days_at(e, in, middle) <= in->deadline_days)
			hi = middle;
		else
			lo = middle;
	}
	return hi;
}

/* The most cards within the budget, which is the fastest it buys; cost rises with
 * cards, since failures do. */
static double most_in_budget(struct estimate *e, const struct estimate_inputs *in, double least,
                             double most)
{
	double lo = least, hi = most;

	at_cards(e, in, most);
	if (e->within_budget)
		return most;
	while (hi - lo > 1) {
		double middle = floor((lo + hi) / 2);

		at_cards(e, in, middle);
		*(e->within_budget ? &lo : &hi) = middle;
	}
	return lo;
}

static enum status solve(struct estimate *e, const struct estimate_inputs *in, struct error *err)
{
	double least = isnan(e->least_cards) ? 1 : e->least_cards, most = fastest(e, in, least);

	e->solved = true;
	at_cards(e, in, least);
	if (!e->within_budget)
		return error_set(err, ST_UNSUPPORTED, MSG_estimate_budget, fmt_value(in->budget),
		                 fmt_value(least), fmt_value(e->cost[CASE_MID]));
	if (!isnan(in->deadline_days) && days_at(e, in, most) > in->deadline_days)
		return error_set(err, ST_UNSUPPORTED, MSG_estimate_deadline,
		                 fmt_value(in->deadline_days), fmt_value(most),
		                 fmt_value(e->days[CASE_MID]));
	at_cards(e, in,
	         isnan(in->deadline_days) ? most_in_budget(e, in, least, most)
	                                  : fewest_in_time(e, in, least, most));
	if (!e->within_budget)
		return error_set(err, ST_UNSUPPORTED, MSG_estimate_both,
		                 fmt_value(in->deadline_days), fmt_value(e->cards),
		                 fmt_value(e->cost[CASE_MID]));
	return ST_OK;
}

/* --- what no run can have ------------------------------------------------------------------- */

static enum status within(double value, double min, double max, enum msg low, enum msg high,
                          const char *text, struct error *err)
{
	if (!(value >= min))
		return error_set(err, ST_RANGE, low, text);
	if (!(value <= max))
		return error_set(err, ST_RANGE, high, text);
	return ST_OK;
}

static enum status check(const struct estimate_inputs *in, struct error *err)
{
	enum status st = within(in->params, 1e6, 1e15, MSG_estimate_params_few,
	                        MSG_estimate_params_many, quantity_text(in->params), err);

	if (st == ST_OK)
		st = within(in->tokens, 1e6, 1e16, MSG_estimate_tokens_few,
		            MSG_estimate_tokens_many, quantity_text(in->tokens), err);
	if (st == ST_OK && !isnan(in->cards))
		st = within(in->cards, 1, CARDS_MOST, MSG_estimate_cards_none,
		            MSG_estimate_cards_many, fmt_value(in->cards), err);
	if (st == ST_OK && !isnan(in->cards) && in->cards != floor(in->cards))
		st = error_set(err, ST_RANGE, MSG_estimate_cards_whole, fmt_value(in->cards));
	if (st == ST_OK && !isnan(in->mfu.of[CASE_MID]))
		st = within(in->mfu.of[CASE_MID], 0.001, 1, MSG_estimate_mfu_low,
		            MSG_estimate_mfu_high, fmt_value(in->mfu.of[CASE_MID]), err);
	if (st == ST_OK && !(in->peak_tflops > 0))
		st = error_set(err, ST_RANGE, MSG_estimate_peak);
	if (st == ST_OK && !isnan(in->budget) && isnan(in->price))
		st = error_set(err, ST_USAGE, MSG_estimate_no_price);
	if (st == ST_OK && isnan(in->cards) && isnan(in->budget) && isnan(in->deadline_days))
		st = error_set(err, ST_USAGE, MSG_estimate_no_cards);
	return st;
}

enum status estimate_make(struct estimate *e, const struct estimate_inputs *in, struct error *err)
{
	enum status st = check(in, err);

	if (st != ST_OK)
		return st;
	*e = (struct estimate){.state_bytes = STATE_BYTES * in->params,
	                       .checkpoint_bytes = CHECKPOINT_BYTES * in->params,
	                       .least_cards = NAN};
	if (!isnan(in->memory_gb))
		e->least_cards = ceil(e->state_bytes / (in->memory_gb * 1e9 * STATES_MOST));
	if (isnan(in->cards))
		return solve(e, in, err);
	at_cards(e, in, in->cards);
	return ST_OK;
}
