/* Scaling of a step: the split by cause, the overlap, Student's quantiles and the
 * projection, against numbers made by hand and steps made from a seed. */
#include "tests/unit/unit.h"

#include <math.h>

#include "stats/rng.h"
#include "stats/scaling.h"

static void expect(double value, double wanted)
{
	if (!(fabs(value - wanted) <= 1e-9 * fmax(1, fabs(wanted))))
		fail_msg("%.12g, not %.12g", value, wanted);
}

/* --- pace ------------------------------------------------------------------------------- */

static void one_hiccup_does_not_decide(void **state)
{
	static const double steps[] = {1, 1.1, 9, 0.9, 1};
	double half;

	(void)state;
	expect(scaling_pace(steps, 5, &half), 1);
	assert_true(isnan(half));
	/* Of two none can be left out; of none there is nothing. */
	expect(scaling_pace(steps + 2, 2, NULL), 4.95);
	assert_true(isnan(scaling_pace(steps, 0, NULL)));
}

/* Ten blocks of one: 9 t-quantiles of a mean of ten. Their sd is sqrt(5.5 / 9 * ...). */
static void the_interval_is_students(void **state)
{
	/* 20 is left out; 1 to 10 have mean 5.5 and sd 3.0276503540974917. */
	static const double steps[] = {1, 2, 3, 20, 4, 5, 6, 7, 8, 9, 10};
	double half;

	(void)state;
	expect(scaling_pace(steps, 11, &half), 5.5);
	assert_true(fabs(half - 2.2621571627 * 3.0276503540974917 / sqrt(10)) < 1e-8);
}

/* Tables of the t distribution. */
static void quantiles_are_those_of_tables(void **state)
{
	static const double table[][2] = {{1, 12.706204736},
	                                  {2, 4.302652730},
	                                  {3, 3.182446305},
	                                  {9, 2.262157163},
	                                  {30, 2.042272456}};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_true(fabs(student_95(table[i][0]) - table[i][1]) < 1e-7);
	assert_true(isnan(student_95(0.5)));
	assert_true(isnan(student_95(NAN)));
}

/* The interval holds the mean in 95 of 100 series. */
static void the_interval_holds_what_it_says(void **state)
{
	struct rng rng;
	int held = 0, all = 2000;

	(void)state;
	rng_seed(&rng, 7);
	for (int k = 0; k < all; k++) {
		double steps[101], half, pace;

		for (int i = 0; i < 100; i++)
			steps[i] = 1 + 0.05 * rng_normal(&rng);
		/* What is left out is no draw. */
		steps[100] = 5;
		pace = scaling_pace(steps, 101, &half);
		held += fabs(pace - 1) <= half;
	}
	assert_in_range(held, all * 93 / 100, all * 97 / 100);
}

/* --- overlap ---------------------------------------------------------------------------------- */

static void overlap_is_what_sums_cost_no_more(void **state)
{
	(void)state;
	expect(scaling_overlap(10, 4, 11), 0.75);
	expect(scaling_overlap(10, 4, 14), 0);
	expect(scaling_overlap(10, 4, 20), 0);
	expect(scaling_overlap(10, 4, 9), 1);
	assert_true(isnan(scaling_overlap(10, 0, 11)));
	assert_true(isnan(scaling_overlap(10, NAN, 11)));
}

/* --- the split ------------------------------------------------------------------------------------ */

static void causes_add_up(void **state)
{
	const struct scaling_levels levels = {.base_s = 100,
	                                      .serial_s = 2,
	                                      .slowest_s = 110,
	                                      .paced_s = 113,
	                                      .node_s = 5,
	                                      .step_s = 140};
	struct scaling_loss loss;

	(void)state;
	assert_int_equal(scaling_split(&levels, &loss), ST_OK);
	expect(loss.serial, 2);
	expect(loss.slow_card, 10);
	expect(loss.jitter, 3);
	expect(loss.intra_node, 5);
	expect(loss.fabric, 20);
	expect(loss.total, 40);
}

/* Causes measured apart may claim more than was lost: the later get what is left. */
static void no_cause_gets_more_than_there_is(void **state)
{
	struct scaling_levels levels = {.base_s = 100,
	                                .serial_s = 2,
	                                .slowest_s = 130,
	                                .paced_s = 150,
	                                .node_s = 5,
	                                .step_s = 120};
	struct scaling_loss loss;

	(void)state;
	assert_int_equal(scaling_split(&levels, &loss), ST_OK);
	expect(loss.serial, 2);
	expect(loss.slow_card, 18);
	expect(loss.jitter + loss.intra_node + loss.fabric, 0);
	/* Below the base: noise, no loss. */
	levels.step_s = 99;
	assert_int_equal(scaling_split(&levels, &loss), ST_OK);
	expect(loss.total, 0);
	expect(loss.slow_card, 0);
	/* Negative claims are none. */
	levels = (struct scaling_levels){100, -3, 99, 98, -1, 110};
	assert_int_equal(scaling_split(&levels, &loss), ST_OK);
	expect(loss.fabric, 10);
}

static void what_was_not_measured_is_not_split(void **state)
{
	const struct scaling_levels good = {100, 2, 110, 113, 5, 140};
	struct scaling_levels bad;
	struct scaling_loss loss;

	(void)state;
	bad = good, bad.base_s = 0, assert_int_equal(scaling_split(&bad, &loss), ST_RANGE);
	bad = good, bad.step_s = NAN, assert_int_equal(scaling_split(&bad, &loss), ST_RANGE);
	bad = good, bad.node_s = INFINITY, assert_int_equal(scaling_split(&bad, &loss), ST_RANGE);
	expect(loss.total, 0);
}

/* Steps of eight cards: one is slower than the others by a tenth, all vary; the rest
 * is known. The split finds each within what the noise allows. */
static void made_steps_are_taken_apart(void **state)
{
	enum { CARDS = 8, STEPS = 400 };
	struct rng rng;
	double most[STEPS] = {0}, slow_sum = 0, pace;
	struct scaling_loss loss;

	(void)state;
	rng_seed(&rng, 11);
	for (int s = 0; s < STEPS; s++)
		for (int c = 0; c < CARDS; c++) {
			double step = (c == 3 ? 110 : 100) + rng_normal(&rng);

			most[s] = fmax(most[s], step);
			slow_sum += c == 3 ? step : 0;
		}
	pace = scaling_pace(most, STEPS, NULL);
	assert_int_equal(scaling_split(&(struct scaling_levels){100, 0, slow_sum / STEPS, pace, 4,
	                                                        pace + 4 + 7},
	                               &loss),
	                 ST_OK);
	assert_true(fabs(loss.slow_card - 10) < 0.3);
	/* So far ahead of the others that noise hardly ever makes another one the last. */
	assert_true(loss.jitter < 0.2);
	assert_true(fabs(loss.intra_node - 4) < 1e-9);
	/* Clipped noise of the causes before it. */
	assert_true(fabs(loss.fabric - 7) < 0.2);
}

/* --- projection ---------------------------------------------------------------------------------- */

/* 1 % for each doubling: at 1024 cards 10 %. */
static void doublings_are_carried_on(void **state)
{
	static const double cards[] = {8, 16, 32, 64}, loss[] = {0.03, 0.04, 0.05, 0.06};
	struct scaling_projection p;

	(void)state;
	assert_int_equal(scaling_project(cards, loss, 4, 1024, &p), ST_OK);
	expect(p.efficiency, 1 / 1.1);
	/* No residual: no width upwards; down to Amdahl's line through the same. */
	expect(p.hi, 1 / 1.1);
	expect(p.serial_share, (7 * 0.03 + 15 * 0.04 + 31 * 0.05 + 63 * 0.06) /
	                               (7 * 7 + 15 * 15 + 31 * 31 + 63 * 63));
	expect(p.lo, 1 / (1 + p.serial_share * 1023));
}

/* x = 1, 2, 3; y = 0.02, 0.05, 0.05: b = 0.015, a = 0.01, residual sd = 0.0122474. At
 * x = 4 the prediction is 0.07 +- 12.7062 * 0.0122474 * sqrt(1 + 1/3 + 4/2). */
static void the_interval_is_that_of_a_prediction(void **state)
{
	static const double cards[] = {2, 4, 8}, loss[] = {0.02, 0.05, 0.05};
	struct scaling_projection p;
	double away = 12.706204736 * sqrt(0.00015) * sqrt(1 + 1.0 / 3 + 2);

	(void)state;
	assert_int_equal(scaling_project(cards, loss, 3, 16, &p), ST_OK);
	expect(p.efficiency, 1 / 1.07);
	assert_true(fabs(p.lo - 1 / (1.07 + away)) < 1e-7);
	expect(p.hi, 1);
}

static void too_little_is_not_projected(void **state)
{
	static const double cards[] = {8, 16, 32}, loss[] = {0.03, 0.04, 0.05};
	static const double twice[] = {8, 16, 16}, one[] = {1, 2, 4}, bad[] = {0.03, NAN, 0.05};
	struct scaling_projection p;

	(void)state;
	assert_int_equal(scaling_project(cards, loss, 2, 1000, &p), ST_RANGE);
	assert_true(isnan(p.efficiency) && isnan(p.lo) && isnan(p.hi));
	assert_int_equal(scaling_project(twice, loss, 3, 1000, &p), ST_RANGE);
	assert_int_equal(scaling_project(one, loss, 3, 1000, &p), ST_RANGE);
	assert_int_equal(scaling_project(cards, bad, 3, 1000, &p), ST_RANGE);
	assert_int_equal(scaling_project(cards, loss, 3, 1, &p), ST_RANGE);
	assert_int_equal(scaling_project(cards, loss, 3, NAN, &p), ST_RANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_hiccup_does_not_decide),
		cmocka_unit_test(the_interval_is_students),
		cmocka_unit_test(quantiles_are_those_of_tables),
		cmocka_unit_test(the_interval_holds_what_it_says),
		cmocka_unit_test(overlap_is_what_sums_cost_no_more),
		cmocka_unit_test(causes_add_up),
		cmocka_unit_test(no_cause_gets_more_than_there_is),
		cmocka_unit_test(what_was_not_measured_is_not_split),
		cmocka_unit_test(made_steps_are_taken_apart),
		cmocka_unit_test(doublings_are_carried_on),
		cmocka_unit_test(the_interval_is_that_of_a_prediction),
		cmocka_unit_test(too_little_is_not_projected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
