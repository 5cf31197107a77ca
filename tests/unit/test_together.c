/* Several nodes' shares of one load, and the clocks they are put on. */
#include "tests/unit/unit.h"

#include <math.h>

#include "stats/together.h"

static void nodes_that_ran_at_once_add_up(void **state)
{
	static const struct share s[] = {{8000, 0, 10, NULL, 0, 0}, {9000, 0, 10, NULL, 0, 0}};
	struct together t;

	(void)state;
	assert_int_equal(together_rate(s, 2, &t, NULL), ST_OK);
	assert_true(t.sum == 1700 && t.conservative == 1700 && t.skew == 1);
	assert_true(t.least == 800 && t.most == 900 && t.median == 850 && t.slow == 0);
	assert_true(isnan(t.overlap));
}

/* Each alone had 1000/s, but one after the other: the storage never gave 2000. */
static void nodes_that_did_not_are_found_out(void **state)
{
	static const struct share s[] = {{10000, 0, 10, NULL, 0, 0}, {10000, 10, 20, NULL, 0, 0}};
	struct together t;

	(void)state;
	assert_int_equal(together_rate(s, 2, &t, NULL), ST_OK);
	assert_true(t.sum == 2000 && t.conservative == 1000 && t.skew > TOGETHER_SKEW);
}

static void the_overlap_counts_what_all_did_together(void **state)
{
	static const double a[] = {100, 100, 400, 400}, b[] = {50, 50, 70};
	const struct share s[] = {{1000, 0, 4, a, 4, 1}, {170, 1.5, 4.5, b, 3, 1}};
	struct together t;

	(void)state;
	/* From 1.5 to 4: a gives 50 + 400 + 400, b 50 + 50 + 35. */
	assert_int_equal(together_rate(s, 2, &t, NULL), ST_OK);
	assert_true(fabs(t.overlap - (850 + 135) / 2.5) < 1e-9);
}

/* What one node loses the other wins: the sum hardly varies. */
static void the_interval_is_that_of_the_sum(void **state)
{
	double a[12], b[12], lo = 0, hi = 0;
	struct share s[] = {{1200, 0, 12, a, 12, 1}, {1200, 0, 12, b, 12, 1}};

	(void)state;
	for (int i = 0; i < 12; i++) {
		a[i] = 100 + (i * 7 % 12) * 4;
		b[i] = 300 - a[i] + i % 2;
	}
	assert_true(together_interval(s, 2, &lo, &hi));
	assert_true(lo <= 1 && hi >= 1 && lo > 0.99 && hi < 1.01);
	assert_true(together_interval(s, 1, &lo, &hi));
	assert_true(lo < 0.96 && hi > 1.04);
	s[1].n_windows = 9;
	assert_false(together_interval(s, 2, &lo, &hi));
	assert_false(together_interval(s, 0, &lo, &hi));
}

/* One stuck node: lowers the judged figure and is named. */
static void a_straggler_is_named(void **state)
{
	static const struct share s[] = {{1000, 0, 1, NULL, 0, 0},
	                                 {1000, 0, 1, NULL, 0, 0},
	                                 {1000, 0, 5, NULL, 0, 0},
	                                 {810, 0, 1, NULL, 0, 0}};
	struct together t;
	bool slow[4];

	(void)state;
	assert_int_equal(together_rate(s, 4, &t, slow), ST_OK);
	assert_true(t.conservative == 3810 / 5.0 && t.skew > TOGETHER_SKEW);
	assert_true(t.slow == 1 && !slow[0] && !slow[1] && slow[2] && !slow[3]);
}

static void nonsense_is_refused(void **state)
{
	static const struct share bad[] = {{1, 0, 0, NULL, 0, 0},
	                                   {1, 1, 0, NULL, 0, 0},
	                                   {-1, 0, 1, NULL, 0, 0},
	                                   {NAN, 0, 1, NULL, 0, 0},
	                                   {1, 0, INFINITY, NULL, 0, 0}};
	struct together t;

	(void)state;
	assert_int_equal(together_rate(bad, 0, &t, NULL), ST_RANGE);
	for (int i = 0; i < 5; i++)
		assert_int_equal(together_rate(&bad[i], 1, &t, NULL), ST_RANGE);
}

/* 1000K IOPS at 1 ms: 1000 outstanding, 8 a node over 125 nodes. */
static void littles_law_both_ways(void **state)
{
	(void)state;
	assert_int_equal(offered_depth(1e6, 1e-3, 125), 8);
	assert_int_equal(offered_depth(1e6, 1e-3, 124), 9);
	assert_int_equal(offered_depth(10, 1e-3, 4), 1);
	assert_true(offered_iops(125, 8, 1e-3) == 1e6);
	assert_true(offered_iops(1, 32, 2e-4) == 160000);
}

static void the_quickest_answer_sets_the_clock(void **state)
{
	static const struct ping p[] = {
		{0, 107, 10}, {20, 120.6, 21}, {30, NAN, 30.1}, {50, 1, 40}};
	double error;

	(void)state;
	assert_true(fabs(clock_offset(p, 4, &error) - 100.1) < 1e-9 && error == 0.5);
	assert_true(isnan(clock_offset(&p[3], 1, &error)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_that_ran_at_once_add_up),
		cmocka_unit_test(nodes_that_did_not_are_found_out),
		cmocka_unit_test(the_overlap_counts_what_all_did_together),
		cmocka_unit_test(the_interval_is_that_of_the_sum),
		cmocka_unit_test(a_straggler_is_named),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(littles_law_both_ways),
		cmocka_unit_test(the_quickest_answer_sets_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
