/* The bootstrap, F95, its verdict, and dips. How often the verdict is right is
 * test_stats_oc.c's business. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

#include "stats/bootstrap.h"
#include "stats/fluctuation.h"
#include "stats/interval.h"
#include "stats/samples.h"

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.17g is not %.17g +- %g", got, want, tolerance);
}

static void noise(double *value, size_t n, double center, double sd, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < n; i++)
		value[i] = center + sd * rng_normal(&rng);
}

/* What a draw is, spelt out: copy blocks of values, sort, take quantiles. */
static void draw_by_sorting(const double *value, size_t n, size_t block, struct rng *rng,
                            const double p[3], double q[3])
{
	struct samples drawn = {0};
	double *sorted;

	while (drawn.n < n) {
		size_t start = rng_below(rng, (uint32_t)n);

		for (size_t i = 0; i < block && drawn.n < n; i++)
			samples_add(&drawn, value[(start + i) % n]);
	}
	sorted = sorted_copy(drawn.value, n);
	for (int i = 0; i < 3; i++)
		q[i] = quantile(sorted, n, p[i]);
	free(sorted);
	samples_release(&drawn);
}

static void rank_counting_is_resampling(void **state)
{
	static const size_t sizes[] = {1, 2, 3, 40, 41, 120, 257};
	const double p[] = {0.025, 0.5, 0.975};
	double value[257];

	(void)state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		size_t n = sizes[k], block = n < 13 ? 1 : 13;
		struct rng fast, slow;
		struct ranked r, *series = &r;

		noise(value, n, 100, 1, k);
		for (size_t i = 0; i < n; i += 3)
			value[i] = round(value[i]); /* ties */
		rng_seed(&fast, 11);
		slow = fast;
		ranked_init(&r, value, n);
		for (int draw = 0; draw < 200; draw++) {
			double got[3], want[3];

			bootstrap_draw(&series, 1, block, &fast);
			ranked_quantiles(&r, p, got, 3);
			draw_by_sorting(value, n, block, &slow, p, want);
			for (int i = 0; i < 3; i++)
				near(got[i], want[i], 1e-12);
		}
		ranked_release(&r);
	}
}

/* Standard error of the median of normal values: 1.2533 sd / sqrt(n). */
static void median_interval_has_the_known_width(void **state)
{
	double value[1000], want = 2 * 1.96 * 1.2533 * 2 / sqrt(1000);
	struct estimate e, again;

	(void)state;
	noise(value, 1000, 100, 2, 3);
	assert_int_equal(bootstrap_median(value, 1000, 1, 4, &e), ST_OK);
	near(e.value, median(value, 1000), 0);
	near(e.hi - e.lo, want, 0.25 * want);
	assert_int_equal(bootstrap_median(value, 1000, 1, 4, &again), ST_OK);
	assert_true(again.lo == e.lo && again.hi == e.hi);
	assert_int_equal(bootstrap_median(value, 1000, 1, 5, &again), ST_OK);
	assert_true(again.lo != e.lo || again.hi != e.hi);
}

static void median_interval_covers_95_percent(void **state)
{
	enum { TRIALS = 400 };
	double value[101];
	int covered = 0;

	(void)state;
	for (int i = 0; i < TRIALS; i++) {
		struct estimate e;

		noise(value, 101, 100, 2, 1000 + (uint64_t)i);
		assert_int_equal(bootstrap_median(value, 101, 1, (uint64_t)i, &e), ST_OK);
		covered += e.lo <= 100 && e.hi >= 100;
	}
	/* Three standard errors of 0.95 about it. */
	near(covered / (double)TRIALS, 0.95, 3 * sqrt(0.95 * 0.05 / TRIALS));
}

static void intervals_refuse_bad_input(void **state)
{
	double good[] = {1, 2, 3}, nan[] = {1, NAN, 3};
	struct estimate e;

	(void)state;
	assert_int_equal(bootstrap_median(good, 3, 1, 1, &e), ST_OK);
	assert_int_equal(bootstrap_median(good, 2, 1, 1, &e), ST_RANGE);
	assert_int_equal(bootstrap_median(good, 3, 0, 1, &e), ST_RANGE);
	assert_int_equal(bootstrap_median(good, 3, 4, 1, &e), ST_RANGE);
	assert_int_equal(bootstrap_median(nan, 3, 1, 1, &e), ST_RANGE);
}

static void blocks_grow_with_the_correlation(void **state)
{
	(void)state;
	assert_int_equal(f95_block(120, -0.5), 10);
	assert_int_equal(f95_block(120, 0), 10);
	assert_int_equal(f95_block(120, 0.75), 14); /* 2 x 1.75 / 0.25 */
	assert_int_equal(f95_block(120, 0.95), 20);
	assert_int_equal(f95_block(120, 1), 20);
	assert_int_equal(f95_block(1199, 0.95), 20);
	assert_int_equal(f95_block(1200, 0), 30);
	assert_int_equal(f95_block(1200, 0.875), 60); /* 4 x 1.875 / 0.125 */
	assert_int_equal(f95_block(1200, 0.95), 150);
	assert_int_equal(f95_block(1200, 1), 150);
	near(f95_effective(120, 0), 120, 0);
	near(f95_effective(120, 0.5), 40, 1e-12);
}

static void f95_is_half_the_central_range_over_the_median(void **state)
{
	double value[201];
	struct fluctuation f;

	(void)state;
	/* 99 to 101 in shuffled steps of 0.01: P2.5 99.05, P97.5 100.95. */
	for (int i = 0; i < 201; i++)
		value[i] = 99 + 0.01 * (i * 77 % 201);
	assert_int_equal(fluctuation_measure(value, 201, 1, &f), ST_OK);
	near(f.f95, (100.95 - 99.05) / 200, 1e-12);
	assert_true(f.lo999 <= f.lo95 && f.lo95 < f.f95 && f.f95 < f.hi95);
	assert_int_equal(f.block, 10);
}

static void steady_values_have_no_fluctuation(void **state)
{
	double value[120];
	struct fluctuation f;

	(void)state;
	for (int i = 0; i < 120; i++)
		value[i] = 268.1;
	assert_int_equal(fluctuation_measure(value, 120, 1, &f), ST_OK);
	near(f.f95, 0, 0);
	near(f.hi95, 0, 0);
	near(f.ac1, 0, 0);
}

static void the_seed_alone_decides_the_draws(void **state)
{
	double value[120];
	struct fluctuation a, b, c;

	(void)state;
	noise(value, 120, 100, 0.5, 9);
	assert_int_equal(fluctuation_measure(value, 120, 21, &a), ST_OK);
	assert_int_equal(fluctuation_measure(value, 120, 21, &b), ST_OK);
	assert_int_equal(fluctuation_measure(value, 120, 22, &c), ST_OK);
	assert_true(a.lo95 == b.lo95 && a.hi95 == b.hi95 && a.lo999 == b.lo999);
	assert_true(a.hi95 != c.hi95 && a.f95 == c.f95);
	near(c.hi95, a.hi95, 0.1 * a.hi95);
}

static void throughput_that_failed_has_no_statistics(void **state)
{
	double value[120];
	struct fluctuation f;
	struct dips d;

	(void)state;
	noise(value, 120, 100, 0.5, 9);
	assert_int_equal(fluctuation_measure(value, 39, 1, &f), ST_RANGE);
	assert_int_equal(fluctuation_measure(value, 40, 1, &f), ST_OK);
	assert_int_equal(dips_measure(value, 0, &d), ST_RANGE);
	for (int i = 0; i < 3; i++) {
		value[60] = (const double[]){0, -1, NAN}[i];
		assert_int_equal(fluctuation_measure(value, 120, 1, &f), ST_RANGE);
		assert_int_equal(dips_measure(value, 120, &d), ST_RANGE);
	}
}

static void verdicts_follow_the_rule(void **state)
{
	static const struct {
		double n, f95, hi95, lo999, ac1;
		enum f95_result want;
	} rows[] = {
		{120, 0.006, 0.0100, 0.004, 0.0, F95_PASS},
		{120, 0.006, 0.0101, 0.004, 0.0, F95_EXTEND},
		{120, 0.050, 0.0600, 0.040, 0.0, F95_EXTEND},  /* never fails here */
		{120, 0.006, 0.0080, 0.004, 0.7, F95_PASS},    /* worth 21 windows */
		{120, 0.006, 0.0080, 0.004, 0.72, F95_EXTEND}, /* worth 19.5 */
		{1199, 0.050, 0.0600, 0.040, 0.0, F95_EXTEND},
		{1200, 0.006, 0.0100, 0.004, 0.99, F95_PASS},
		{1200, 0.013, 0.0140, 0.0101, 0.5, F95_FAIL},
		{1200, 0.013, 0.0140, 0.0100, 0.5, F95_INCONCLUSIVE},
		{1200, 0.010, 0.0120, 0.009, 0.5, F95_WARN},
		{1200, 0.011, 0.0120, 0.009, 0.5, F95_WARN},
		{1200, 0.0111, 0.0120, 0.009, 0.5, F95_INCONCLUSIVE},
		{119, 0.001, 0.0020, 0.001, 0.0, F95_TOO_SHORT},
		{120, NAN, 0.0020, 0.001, 0.0, F95_ABSENT},
		{120, 0.001, NAN, 0.001, 0.0, F95_ABSENT},
		{120, 0.001, 0.002, NAN, 0.0, F95_ABSENT},
		{120, 0.001, 0.002, 0.001, NAN, F95_ABSENT},
		{NAN, 0.001, 0.002, 0.001, 0.0, F95_ABSENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double stats[STATS], resolution;
		enum f95_result got;

		for (int k = 0; k < STATS; k++)
			stats[k] = NAN;
		stats[STAT_N] = rows[i].n;
		stats[STAT_F95] = rows[i].f95;
		stats[STAT_F95_LO95] = rows[i].hi95 - 0.004;
		stats[STAT_F95_HI95] = rows[i].hi95;
		stats[STAT_F95_LO999] = rows[i].lo999;
		stats[STAT_AC1] = rows[i].ac1;
		got = f95_judge(stats, 0.01, &resolution);
		if (got != rows[i].want)
			fail_msg("row %zu: %d is not %d", i, (int)got, (int)rows[i].want);
		assert_int_equal(f95_judge(stats, 0.01, NULL), got);
		if (isnan(rows[i].hi95))
			assert_true(isnan(resolution));
		else
			near(resolution, 0.002, 1e-12);
	}
}

static void dips_are_counted_and_the_longest_found(void **state)
{
	double value[400];
	struct dips d;

	(void)state;
	for (int i = 0; i < 400; i++)
		value[i] = 100;
	assert_int_equal(dips_measure(value, 400, &d), ST_OK);
	assert_true(d.share == 0 && d.lo95 == 0 && d.longest == 0);
	value[0] = 98; /* the line itself is no dip */
	value[10] = value[399] = 97.9;
	for (int i = 50; i < 57; i++)
		value[i] = 60;
	assert_int_equal(dips_measure(value, 400, &d), ST_OK);
	near(d.share, 9 / 400.0, 1e-15);
	near(d.lo95, binomial_lower(9, 400, 0.05), 0);
	assert_int_equal(d.longest, 7);
}

static enum dips_result judge_dips(double n, double lo95)
{
	double stats[STATS];

	for (int i = 0; i < STATS; i++)
		stats[i] = NAN;
	stats[STAT_N] = n;
	stats[STAT_DIP_LO95] = lo95;
	return dips_judge(stats, 0.01);
}

static void dips_fail_only_with_enough_windows(void **state)
{
	(void)state;
	/* 6 of 300 dip: exact lower limit 0.0088; 7 of 300: 0.0110. */
	assert_int_equal(judge_dips(300, binomial_lower(6, 300, 0.05)), DIPS_PASS);
	assert_int_equal(judge_dips(300, binomial_lower(7, 300, 0.05)), DIPS_FAIL);
	assert_int_equal(judge_dips(299, binomial_lower(7, 299, 0.05)), DIPS_WARN);
	assert_int_equal(judge_dips(120, 0), DIPS_PASS);
	assert_int_equal(judge_dips(NAN, 0), DIPS_ABSENT);
	assert_int_equal(judge_dips(1200, NAN), DIPS_ABSENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rank_counting_is_resampling),
		cmocka_unit_test(median_interval_has_the_known_width),
		cmocka_unit_test(median_interval_covers_95_percent),
		cmocka_unit_test(intervals_refuse_bad_input),
		cmocka_unit_test(blocks_grow_with_the_correlation),
		cmocka_unit_test(f95_is_half_the_central_range_over_the_median),
		cmocka_unit_test(steady_values_have_no_fluctuation),
		cmocka_unit_test(the_seed_alone_decides_the_draws),
		cmocka_unit_test(throughput_that_failed_has_no_statistics),
		cmocka_unit_test(verdicts_follow_the_rule),
		cmocka_unit_test(dips_are_counted_and_the_longest_found),
		cmocka_unit_test(dips_fail_only_with_enough_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
