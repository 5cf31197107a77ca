/* The projection against published runs and the tables of its models, the solver,
 * and what it refuses. */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "estimate/estimate.h"
#include "estimate/models.h"

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.12g is not %.12g +- %g", got, want, tolerance);
}

/* --- published runs ------------------------------------------------------------------- */

static void published_runs(void **state)
{
	(void)state;
	/* Llama 65B: 2,048 A100, 1.4T tokens, 380 tokens/s and card, which is MFU 0.475: 20.8 days. */
	near(training_days(65e9, 1.4e12, 2048, 312, 6 * 65e9 * 380 / 312e12, 1), 20.8, 0.05);
	/* Llama 2 70B: 1,720,320 A100-hours for 2T tokens. */
	near(training_days(70e9, 2e12, 1000, 312, 0.435, 1), 71.7, 0.2);
	near(training_days(70e9, 2e12, 1000, 312, 0.435, 1) * 24000, 1720320, 6000);
	/* Megatron's estimate of GPT-3: 8 FLOP with recomputation, 140 TFLOP/s. */
	near(training_days(175e9, 300e9, 1024, 140, 1, 1) * 8 / 6, 34, 0.2);
	/* 70B, 1.4T and 2T tokens at 0.45; a single A100 for 100B and 2T. */
	near(training_days(70e9, 1.4e12, 1000, 312, 0.45, 1), 48.5, 0.05);
	near(training_days(70e9, 2e12, 1000, 312, 0.45, 1), 69.3, 0.1);
	near(training_days(100e9, 2e12, 1, 312, 0.5, 1) / 365, 244, 0.5);
}

/* What the guides' runs can contain. */
static void tokens_of_the_guides(void **state)
{
	(void)state;
	near(tokens_in(180, 100e9, 1, 312, 0.5) / 1e9, 4.0, 0.05);
	near(tokens_in(220, 100e9, 1, 312, 0.5) / 1e9, 4.9, 0.05);
	near(tokens_in(14, 100e9, 1000, 312, 0.45) / 1e12, 0.28, 0.005);
	near(tokens_in(21, 100e9, 1000, 312, 0.45) / 1e12, 0.42, 0.005);
	near(tokens_in(18, 70e9, 1000, 312, 0.40) / 1e12, 0.46, 0.005);
	near(tokens_in(18, 70e9, 1000, 312, 0.45) / 1e12, 0.52, 0.005);
	near(tokens_in(18, 70e9, 1000, 312, 0.50) / 1e12, 0.58, 0.005);
	near(tokens_in(18, 70e9, 1000, 312, 1) / 1e12, 1.16, 0.006);
}

/* 4.9 yuan, 312 TFLOP/s of peak, MFU 0.45, ETTR 0.95: 875 card-hours for 1e9 tokens. */
static void price_of_tokens(void **state)
{
	double tflops = 312 * 0.45 * 0.95;

	(void)state;
	near(price_of_1e9_tokens(1, 70e9, tflops), 875, 0.5);
	near(price_of_1e9_tokens(4.9, 70e9, tflops), 4286, 2);
	near(4.9 / tflops, 0.037, 0.0005);
}

/* --- models ----------------------------------------------------------------------------- */

static void bandwidth_and_efficiency(void **state)
{
	static const struct {
		double gbs, e;
	} rows[] = {{300, 0.91}, {200, 0.87}, {100, 0.77}, {50, 0.63}, {25, 0.46}};

	(void)state;
	for (int i = 0; i < 5; i++)
		near(interconnect_efficiency(rows[i].gbs, 0.099, 300), rows[i].e, 0.005);
	near(step_seconds(1, 0.5, 1), 1, 0);
	near(step_seconds(1, 0.5, 0), 1.5, 0);
	near(step_seconds(1, 0.5, 0.25), 1.25, 1e-12);
	near(gradient_bytes(70e9, 8, 4), 8.75e9, 1);
}

static void storage_that_starves(void **state)
{
	(void)state;
	near(storage_utilisation(1, 1e9, 2e9), 1, 0);
	near(storage_utilisation(1, 1e9, 5e8), 0.5, 1e-12);
	near(0.90 / 0.55, 1.64, 0.005);
}

/* Effective time at the best interval, restarts of 15 and 60 min; then with checkpoints
 * 54 % faster. */
static void failures_and_checkpoints(void **state)
{
	static const struct {
		double mttf_h, write_s, of[4];
	} rows[] = {{7.9, 60, {0.907, 0.825, 0.927, 0.843}},
	            {7.9, 300, {0.835, 0.759, 0.877, 0.797}},
	            {7.9, 600, {0.783, 0.712, 0.840, 0.764}},
	            {50.7, 60, {0.970, 0.956, 0.978, 0.964}},
	            {50.7, 300, {0.939, 0.925, 0.957, 0.943}},
	            {50.7, 600, {0.917, 0.903, 0.941, 0.928}}};

	(void)state;
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 4; k++) {
			double m = rows[i].mttf_h * 3600, w = rows[i].write_s * (k < 2 ? 1 : 0.46);

			near(ettr_of(m, w, k % 2 ? 3600 : 900, checkpoint_interval_s(m, w)),
			     rows[i].of[k], 0.0011);
		}
}

/* --- the projection ----------------------------------------------------------------------- */

static struct estimate_inputs inputs(double params, double tokens, double cards)
{
	const struct range none = range_one(NAN, SOURCE_ASSUMED);
	struct estimate_inputs in = {.params = params,
	                             .tokens = tokens,
	                             .cards = cards,
	                             .peak_tflops = 312,
	                             .memory_gb = 80,
	                             .mfu = none,
	                             .gemm_share = none,
	                             .step_share = none,
	                             .step_most = none,
	                             .scaling = none,
	                             .mttf_h = none,
	                             .write_gbs = none,
	                             .write_s = none,
	                             .restart_min = none,
	                             .price = NAN,
	                             .deadline_days = NAN,
	                             .budget = NAN};

	estimate_assume(&in);
	return in;
}

static void made(struct estimate *e, const struct estimate_inputs *in)
{
	struct error err = {0};

	if (estimate_make(e, in, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
}

static void seventy_billion_on_a_thousand(void **state)
{
	struct estimate_inputs in = inputs(70e9, 1.4e12, 1000);
	struct estimate e;

	(void)state;
	in.mfu = range_one(0.45, SOURCE_GIVEN);
	in.price = 4.9;
	made(&e, &in);
	for (int c = 0; c < CASES; c++) {
		near(e.days[c] * e.ettr[c], 48.5, 0.05);
		near(e.cost[c], e.days[c] * 24 * 1000 * 4.9, 1e-3);
	}
	assert_true(e.days[CASE_BEST] < e.days[CASE_MID] && e.days[CASE_MID] < e.days[CASE_WORST]);
	near(e.ettr[CASE_BEST], 0.970, 0.001);
	near(e.ettr[CASE_WORST], 0.712, 0.001);
	near(e.state_bytes, 1.12e12, 1);
	near(e.checkpoint_bytes, 0.98e12, 1);
	near(e.least_cards, 18, 0);
	assert_true(e.fits);
}

/* Assumptions span what is published for large runs. */
static void assumptions(void **state)
{
	struct estimate_inputs in = inputs(70e9, 1.4e12, 1000);
	struct estimate e;

	(void)state;
	made(&e, &in);
	near(e.mfu[CASE_WORST], 0.36, 0.005);
	near(e.mfu[CASE_MID], 0.454, 0.005);
	near(e.mfu[CASE_BEST], 0.56, 0.005);
	/* A step that was measured is the most there is, and raises nothing. */
	in.step_most = range_one(0.4, SOURCE_MEASURED);
	made(&e, &in);
	near(e.mfu[CASE_WORST], 0.36, 0.005);
	near(e.mfu[CASE_MID], 0.4, 0);
	near(e.mfu[CASE_BEST], 0.4, 0);
	assert_int_equal(in.mttf_h.source, SOURCE_ASSUMED);
	assert_true(isnan(e.cost[CASE_MID]));
}

static void one_card_does_not_hold_it(void **state)
{
	struct estimate_inputs in = inputs(100e9, 2e12, 1);
	struct estimate e;

	(void)state;
	made(&e, &in);
	assert_false(e.fits);
	near(e.least_cards, 25, 0);
}

static void measured_writing_gives_the_checkpoint_time(void **state)
{
	struct estimate_inputs in = inputs(70e9, 1.4e12, 1000);
	struct estimate e;

	(void)state;
	in.write_gbs = range_one(98, SOURCE_MEASURED);
	made(&e, &in);
	near(e.write_s[CASE_MID], 10, 1e-9);
}

/* --- how many cards -------------------------------------------------------------------------- */

static void cards_for_a_deadline(void **state)
{
	struct estimate_inputs in = inputs(70e9, 1.4e12, NAN), again;
	struct estimate e, other;

	(void)state;
	in.deadline_days = 30;
	made(&e, &in);
	assert_true(e.solved && e.days[CASE_MID] <= 30);
	again = in;
	again.cards = e.cards - 1;
	made(&other, &again);
	assert_true(other.days[CASE_MID] > 30);
}

static void cards_for_a_budget(void **state)
{
	struct estimate_inputs in = inputs(70e9, 1.4e12, NAN), again;
	struct estimate e, other;

	(void)state;
	in.price = 4.9;
	in.budget = 7e6;
	made(&e, &in);
	assert_true(e.cost[CASE_MID] <= 7e6);
	again = in;
	again.cards = e.cards + 1;
	made(&other, &again);
	assert_true(other.cost[CASE_MID] > 7e6);
}

static void refused(const struct estimate_inputs *in, enum status want, const char *words)
{
	struct error err = {0};
	struct estimate e;

	assert_int_equal(estimate_make(&e, in, &err), want);
	if (!strstr(str_text(&err.text), words))
		fail_msg("\"%s\" lacks \"%s\"", str_text(&err.text), words);
	error_release(&err);
}

static void what_cannot_be_met(void **state)
{
	struct estimate_inputs in = inputs(70e9, 1.4e12, NAN);

	(void)state;
	refused(&in, ST_USAGE, "how many cards?");
	in.deadline_days = 0.01;
	refused(&in, ST_UNSUPPORTED, "no number of cards is done in 0.0100 days");
	in.deadline_days = 30;
	in.budget = 1e6;
	refused(&in, ST_USAGE, "--price");
	in.price = 4.9;
	refused(&in, ST_UNSUPPORTED, "1000000 is not enough");
	in.budget = 6e6;
	in.deadline_days = 15;
	refused(&in, ST_UNSUPPORTED, "cannot both be met");
}

static void what_is_absurd(void **state)
{
	struct estimate_inputs in = inputs(70e9, 1.4e12, 0);

	(void)state;
	refused(&in, ST_RANGE, "training on 0 cards is not possible");
	in.cards = 1e9;
	refused(&in, ST_RANGE, "more than any cluster has");
	in.cards = 1.5;
	refused(&in, ST_RANGE, "no whole number of cards");
	in = inputs(70e9, 1e30, 1000);
	refused(&in, ST_RANGE, "more text than there is");
	in = inputs(70, 1.4e12, 1000);
	refused(&in, ST_RANGE, "as in 70B?");
	in = inputs(70e9, 1.4, 1000);
	refused(&in, ST_RANGE, "as in 1.4T?");
	in = inputs(7e20, 1.4e12, 1000);
	refused(&in, ST_RANGE, "more than any model has");
	in = inputs(70e9, 1.4e12, 1000);
	in.mfu = range_one(1.21, SOURCE_GIVEN);
	refused(&in, ST_RANGE, "1.21 is more than the cards' peak");
	in.mfu = range_one(0, SOURCE_GIVEN);
	refused(&in, ST_RANGE, "is no training");
}

static void quantities(void **state)
{
	double v;

	(void)state;
	assert_true(quantity_parse("70B", &v) && v == 70e9);
	assert_true(quantity_parse("1.4T", &v) && fabs(v - 1.4e12) < 1);
	assert_true(quantity_parse("350m", &v) && v == 350e6);
	assert_true(quantity_parse("7e10", &v) && v == 7e10);
	assert_false(quantity_parse("", &v));
	assert_false(quantity_parse("B", &v));
	assert_false(quantity_parse("70BB", &v));
	assert_false(quantity_parse("70 billion", &v));
	assert_false(quantity_parse("nan", &v));
	assert_string_equal(quantity_text(70e9), "70B");
	assert_string_equal(quantity_text(1.4e12), "1.4T");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_runs),
		cmocka_unit_test(tokens_of_the_guides),
		cmocka_unit_test(price_of_tokens),
		cmocka_unit_test(bandwidth_and_efficiency),
		cmocka_unit_test(storage_that_starves),
		cmocka_unit_test(failures_and_checkpoints),
		cmocka_unit_test(seventy_billion_on_a_thousand),
		cmocka_unit_test(assumptions),
		cmocka_unit_test(one_card_does_not_hold_it),
		cmocka_unit_test(measured_writing_gives_the_checkpoint_time),
		cmocka_unit_test(cards_for_a_deadline),
		cmocka_unit_test(cards_for_a_budget),
		cmocka_unit_test(what_cannot_be_met),
		cmocka_unit_test(what_is_absurd),
		cmocka_unit_test(quantities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
