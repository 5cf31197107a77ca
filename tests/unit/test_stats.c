/* Samples, quantiles, series, limits, fleet: against published values. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

#include "stats/fleet.h"
#include "stats/interval.h"
#include "stats/pairs.h"
#include "stats/rng.h"
#include "stats/samples.h"
#include "stats/series.h"
#include "stats/summary.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.17g is not %.17g +- %g", got, want, tolerance);
}

static void near_relative(double got, double want, double share)
{
	near(got, want, share * fabs(want));
}

/* Miles per gallon of R's mtcars. */
static const double mpg[] = {
	21.0, 21.0, 22.8, 21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2, 17.8,
	16.4, 17.3, 15.2, 10.4, 10.4, 14.7, 32.4, 30.4, 33.9, 21.5, 15.5,
	15.2, 13.3, 19.2, 27.3, 26.0, 30.4, 15.8, 19.7, 15.0, 21.4,
};

/* NIST StRD, univariate, Michelso.dat: (speed of light - 299 Mm/s) in km/s,
 * Michelson 1879. */
static const int michelson[] = {
	850,  740, 900, 1070, 930, 850, 950, 980, 980, 880, 1000, 980, 930, 650, 760, 810, 1000,
	1000, 960, 960, 960,  940, 960, 940, 880, 800, 850, 880,  900, 840, 830, 790, 810, 880,
	880,  830, 800, 790,  760, 800, 880, 880, 880, 860, 720,  720, 620, 860, 970, 950, 880,
	910,  850, 870, 840,  840, 850, 840, 840, 840, 890, 810,  810, 820, 800, 770, 760, 740,
	750,  760, 910, 920,  890, 860, 880, 720, 840, 850, 850,  780, 890, 840, 780, 810, 760,
	810,  790, 810, 820,  850, 870, 870, 810, 740, 810, 940,  950, 800, 810, 870,
};

static void samples_refuse_what_is_not_finite(void **state)
{
	struct samples s = {0};

	(void)state;
	assert_int_equal(samples_add(&s, NAN), ST_RANGE);
	assert_int_equal(samples_add(&s, INFINITY), ST_RANGE);
	assert_int_equal(samples_add(&s, -INFINITY), ST_RANGE);
	assert_int_equal(s.n, 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(samples_add(&s, i), ST_OK);
	assert_int_equal(s.n, 1000);
	assert_true(s.value[0] == 0 && s.value[999] == 999);
	samples_clear(&s);
	assert_int_equal(s.n, 0);
	assert_int_equal(samples_add(&s, 7), ST_OK);
	assert_true(s.value[0] == 7);
	samples_release(&s);
	assert_null(s.value);
}

/* R: quantile(mtcars$mpg), quantile(1:9, 0:10/10), quantile(mtcars$wt, 0.75). */
static void quantiles_are_those_of_R(void **state)
{
	double *sorted = sorted_copy(mpg, COUNT(mpg)), nine[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

	(void)state;
	near(quantile(sorted, COUNT(mpg), 0), 10.4, 0);
	near(quantile(sorted, COUNT(mpg), 0.25), 15.425, 1e-12);
	near(quantile(sorted, COUNT(mpg), 0.5), 19.2, 1e-12);
	near(quantile(sorted, COUNT(mpg), 0.75), 22.8, 1e-12);
	near(quantile(sorted, COUNT(mpg), 1), 33.9, 0);
	free(sorted);
	for (int i = 0; i <= 10; i++)
		near(quantile(nine, 9, i / 10.0), 1 + 0.8 * i, 1e-12);
	near(quantile(nine, 1, 0.975), 1, 0);
	assert_true(isnan(quantile(nine, 0, 0.5)));
	assert_true(isnan(quantile(nine, 9, 1.01)));
	assert_true(isnan(quantile(nine, 9, NAN)));
	assert_null(sorted_copy(nine, 0));
}

/* R: median, mad (constant 1.4826), mean and sd of mtcars$mpg. */
static void center_and_spread_are_those_of_R(void **state)
{
	double center = median(mpg, COUNT(mpg));

	(void)state;
	near(center, 19.2, 1e-12);
	near(MAD_TO_SD * median_deviation(mpg, COUNT(mpg), center), 5.41149, 1e-9);
	near(mean(mpg, COUNT(mpg)), 20.090625, 1e-12);
	near(standard_deviation(mpg, COUNT(mpg)), 6.0269481, 5e-8);
	assert_true(isnan(median(mpg, 0)));
	assert_true(isnan(mean(mpg, 0)));
	assert_true(isnan(median_deviation(mpg, 0, 0)));
	assert_true(isnan(standard_deviation(mpg, 1)));
}

/* NIST StRD NumAcc2 to 4: `first`, then `odd` and `even` in turn, 1,001 values. */
static void check_numacc(double first, double odd, double even, double sd_tolerance)
{
	double value[1001];

	value[0] = first;
	for (size_t i = 1; i < COUNT(value); i++)
		value[i] = i % 2 ? odd : even;
	near_relative(mean(value, COUNT(value)), first, 1e-15);
	near(standard_deviation(value, COUNT(value)), 0.1, sd_tolerance);
	near(autocorrelation(value, COUNT(value)), -0.999, 1e-7);
}

/* Certified mean, standard deviation and lag-1 autocorrelation. */
static void nist_certified_values_are_met(void **state)
{
	double value[COUNT(michelson)], three[] = {10000001, 10000003, 10000002};

	(void)state;
	for (size_t i = 0; i < COUNT(value); i++)
		value[i] = (299000 + michelson[i]) / 1000.0;
	near_relative(mean(value, COUNT(value)), 299.8524, 1e-15);
	near_relative(standard_deviation(value, COUNT(value)), 0.0790105478190518, 1e-12);
	near_relative(autocorrelation(value, COUNT(value)), 0.535199668621283, 1e-12);

	near(mean(three, 3), 10000002, 0);
	near(standard_deviation(three, 3), 1, 0);
	near(autocorrelation(three, 3), -0.5, 0);

	/* The last digits of sd are lost in the decimal input, not in summing:
	 * 0.1 beside 1e7 carries 1.9e-9 of rounding. */
	check_numacc(1.2, 1.1, 1.3, 1e-15);
	check_numacc(1000000.2, 1000000.1, 1000000.3, 1e-10);
	check_numacc(10000000.2, 10000000.1, 10000000.3, 1e-8);
}

static void equal_values_are_not_correlated(void **state)
{
	double value[1200];

	(void)state;
	for (size_t i = 0; i < COUNT(value); i++)
		value[i] = 268.1; /* its sum rounds: the mean is not 268.1 exactly */
	near(autocorrelation(value, COUNT(value)), 0, 0);
	assert_true(isnan(autocorrelation(value, 2)));
}

/* Sen 1968, J. Amer. Statist. Assoc. 63, section 6: slope 4. */
static void theil_sen_is_sens_example(void **state)
{
	const double x[] = {1, 2, 3, 4, 10, 12, 18}, y[] = {9, 15, 19, 20, 45, 55, 78};

	(void)state;
	near(theil_sen(x, y, COUNT(x)), 4, 1e-12);
	near(theil_sen(x, y, 2), 6, 1e-12);
	assert_true(isnan(theil_sen(x, y, 1)));
	assert_true(isnan(theil_sen(x, y, 0)));
}

static double theil_sen_by_pairs(const double *y, size_t n)
{
	struct samples slopes = {0};
	double result;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			samples_add(&slopes, (y[j] - y[i]) / (double)(j - i));
	result = median(slopes.value, slopes.n);
	samples_release(&slopes);
	return result;
}

static void theil_sen_is_the_median_of_all_slopes(void **state)
{
	struct rng rng;
	double y[101];

	(void)state;
	rng_seed(&rng, 5);
	for (size_t n = 2; n <= COUNT(y); n += n < 12 ? 1 : 13) {
		for (size_t i = 0; i < n; i++)
			y[i] = 250 + 0.003 * (double)i + rng_normal(&rng);
		near(theil_sen(NULL, y, n), theil_sen_by_pairs(y, n), 1e-12);
		for (size_t i = 0; i < n; i++)
			y[i] = (double)rng_below(&rng, 3); /* ties, median often 0 */
		near(theil_sen(NULL, y, n), theil_sen_by_pairs(y, n), 1e-12);
	}
}

/* splitmix64: first outputs for seed 1234567 (Rosetta Code, from the authors'
 * C). xoshiro256**: first outputs for the state {1, 2, 3, 4} (reference C, as in
 * the tests of rand_xoshiro and others). */
static void random_numbers_are_the_published_ones(void **state)
{
	static const uint64_t split[] = {
		6457827717110365317u, 3203168211198807973u,  9817491932198370423u,
		4593380528125082431u, 16408922859458223821u,
	};
	static const uint64_t xoshiro[] = {
		11520u,
		0u,
		1509978240u,
		1215971899390074240u,
		1216172134540287360u,
		607988272756665600u,
		16172922978634559625u,
		8476171486693032832u,
		10595114339597558777u,
		2904607092377533576u,
	};
	struct rng rng = {{1, 2, 3, 4}}, seeded;
	uint64_t seed = 1234567;

	(void)state;
	rng_seed(&seeded, seed);
	for (size_t i = 0; i < COUNT(split); i++) {
		uint64_t got = splitmix64(&seed);

		assert_true(got == split[i]);
		assert_true(i >= 4 || seeded.state[i] == got);
	}
	for (size_t i = 0; i < COUNT(xoshiro); i++)
		assert_true(rng_next(&rng) == xoshiro[i]);
}

static void random_numbers_have_their_distribution(void **state)
{
	enum { DRAWS = 60000 };
	size_t bin[6] = {0};
	struct samples normal = {0}, unit = {0};
	struct rng rng;
	double chi2 = 0;

	(void)state;
	rng_seed(&rng, 99);
	for (int i = 0; i < DRAWS; i++) {
		bin[rng_below(&rng, 6)]++;
		samples_add(&normal, rng_normal(&rng));
		samples_add(&unit, rng_unit(&rng));
		assert_true(unit.value[i] >= 0 && unit.value[i] < 1);
	}
	for (int i = 0; i < 6; i++)
		chi2 += pow((double)bin[i] - DRAWS / 6.0, 2) / (DRAWS / 6.0);
	assert_true(chi2 < 20.5); /* 99.9 % point at 5 degrees of freedom */
	near(mean(normal.value, DRAWS), 0, 4 / sqrt(DRAWS));
	near(standard_deviation(normal.value, DRAWS), 1, 4 / sqrt(2.0 * DRAWS));
	near(mean(unit.value, DRAWS), 0.5, 4 * sqrt(1 / 12.0 / DRAWS));
	assert_int_equal(rng_below(&rng, 1), 0);
	samples_release(&normal);
	samples_release(&unit);
}

/* Standard normal table; the last from Abramowitz and Stegun table 26.2. */
static void normal_tail_is_accurate_far_out(void **state)
{
	(void)state;
	near(normal_tail(0), 0.5, 0);
	near(normal_tail(1.6448536269514722), 0.05, 1e-15);
	near(normal_tail(-1.9599639845400545), 0.975, 1e-15);
	near_relative(normal_tail(5), 2.866515719e-7, 1e-9);
	near_relative(normal_tail(10), 7.61985e-24, 1e-5);
}

/* I_x(1, b) = 1 - (1 - x)^b, I_x(a, 1) = x^a, I_1/2(a, a) = 1/2 (DLMF 8.17). */
static void incomplete_beta_meets_its_closed_forms(void **state)
{
	(void)state;
	for (double x = 0.01; x < 1; x += 0.07) {
		near_relative(beta_regularized(x, 1, 37), -expm1(37 * log1p(-x)), 1e-12);
		near_relative(beta_regularized(x, 37, 1), pow(x, 37), 1e-12);
		near(beta_regularized(x, 3, 8) + beta_regularized(1 - x, 8, 3), 1, 1e-14);
	}
	near(beta_regularized(0.5, 600, 600), 0.5, 1e-12);
	near(beta_regularized(0, 2, 3), 0, 0);
	near(beta_regularized(1, 2, 3), 1, 0);
	assert_true(isnan(beta_regularized(1.1, 2, 3)));
	assert_true(isnan(beta_regularized(NAN, 2, 3)));
	assert_true(isnan(beta_regularized(0.5, 0, 3)));
}

/* R: binom.test(682, 925) (its manual page), binom.test(9, 24) and
 * binom.test(1, 1497, conf.level = 0.9), two-sided. */
static void binomial_limits_are_clopper_pearson(void **state)
{
	(void)state;
	near(binomial_lower(682, 925, 0.025), 0.7076683, 5e-8);
	near(binomial_upper(682, 925, 0.025), 0.7654066, 5e-8);
	near(binomial_lower(9, 24, 0.025), 0.1879929, 5e-8);
	near(binomial_upper(9, 24, 0.025), 0.5940636, 5e-8);
	near(binomial_lower(1, 1497, 0.05), 3.426347e-5, 5e-12);
	near(binomial_upper(1, 1497, 0.05), 3.164954e-3, 5e-10);
	/* None seen: 1 - alpha^(1/n), the "rule of three". */
	near(binomial_upper(0, 300, 0.05), 1 - pow(0.05, 1 / 300.0), 1e-13);
	near(binomial_lower(0, 300, 0.05), 0, 0);
	near(binomial_lower(300, 300, 0.05), pow(0.05, 1 / 300.0), 1e-13);
	near(binomial_upper(300, 300, 0.05), 1, 0);
	assert_true(isnan(binomial_lower(1, 0, 0.05)));
	assert_true(isnan(binomial_lower(5, 4, 0.05)));
	assert_true(isnan(binomial_upper(1, 4, 0)));
}

/* The worked example of Wikipedia's "Holm-Bonferroni method" (p .01 .04 .03
 * .005 at 0.05 rejects the first and the last), and R's p.adjust(method =
 * "holm") of stdlib.io's manual: smallest adjusted p 0.565. */
static void holm_steps_down(void **state)
{
	const double p[] = {0.01, 0.04, 0.03, 0.005};
	const double five[] = {0.319, 0.201, 0.4, 0.374, 0.113};
	const double gap[] = {NAN, 0.02, 0.9};
	bool rejected[5];

	(void)state;
	assert_int_equal(holm(p, 4, 0.05, rejected), 2);
	assert_true(rejected[0] && !rejected[1] && !rejected[2] && rejected[3]);
	assert_int_equal(holm(five, 5, 0.564, rejected), 0);
	assert_int_equal(holm(five, 5, 0.566, rejected), 1);
	assert_true(rejected[4]);
	assert_int_equal(holm(five, 5, 0.805, rejected), 2); /* 4 x 0.201 = 0.804 */
	assert_true(rejected[1] && !rejected[0]);
	/* Three tests, one of them without a result: 0.02 > 0.05 / 3. */
	assert_int_equal(holm(gap, 3, 0.05, rejected), 0);
	assert_int_equal(holm(gap, 3, 0.06, rejected), 1);
	assert_true(rejected[1] && !rejected[0]);
	assert_int_equal(holm(p, 0, 0.05, rejected), 0);
}

static void fleet_measures_distance_to_the_median(void **state)
{
	/* Median 100, deviations 0 1 1 2 2 3 3 4 20: MAD 2, s = 2.9652. */
	const double value[] = {100, 99, 101, 98, 102, 97, 103, 104, 80};
	double z[9], p[9];
	struct fleet fleet;

	(void)state;
	assert_int_equal(fleet_compare(value, 9, 0.01, BETTER_HIGHER, &fleet, z, p), ST_OK);
	near(fleet.median, 100, 0);
	near(fleet.spread, 2.9652, 1e-12);
	near(z[8], 20 / 2.9652, 1e-12);
	near(z[7], -4 / 2.9652, 1e-12);
	near(p[8], normal_tail(z[8]), 0);
	/* The noise floor widens it, and for latency the high one is the bad one. */
	assert_int_equal(fleet_compare(value, 9, 0.05, BETTER_LOWER, &fleet, z, p), ST_OK);
	near(fleet.spread, 5, 1e-12);
	near(z[8], -4, 1e-12);
	near(z[7], 0.8, 1e-12);
	assert_true(p[8] > 0.99);
	assert_int_equal(fleet_compare(value, 9, 0.05, BETTER_LOWER, &fleet, NULL, p), ST_OK);
}

static void fleet_refuses_what_it_cannot_judge(void **state)
{
	const double value[] = {1, 1, 1, 1, 1, 1, 1, 1}, gap[] = {1, 1, 1, NAN, 1, 1, 1, 1};
	const double zero[] = {0, 0, 0, 0, 0, 0, 0, 5};
	double p[8];
	struct fleet fleet;

	(void)state;
	assert_int_equal(fleet_compare(value, 8, 0.03, BETTER_HIGHER, &fleet, NULL, p), ST_OK);
	near(p[0], 0.5, 0);
	assert_int_equal(fleet_compare(value, 7, 0.03, BETTER_HIGHER, &fleet, NULL, p), ST_RANGE);
	assert_int_equal(fleet_compare(value, 8, 0, BETTER_HIGHER, &fleet, NULL, p), ST_RANGE);
	assert_int_equal(fleet_compare(value, 8, NAN, BETTER_HIGHER, &fleet, NULL, p), ST_RANGE);
	assert_int_equal(fleet_compare(value, 8, 0.03, BETTER_NEITHER, &fleet, NULL, p), ST_RANGE);
	assert_int_equal(fleet_compare(gap, 8, 0.03, BETTER_HIGHER, &fleet, NULL, p), ST_RANGE);
	assert_int_equal(fleet_compare(zero, 8, 0.03, BETTER_HIGHER, &fleet, NULL, p), ST_RANGE);
}

static void fill(struct samples *s, int n)
{
	for (int i = 0; i < n; i++)
		samples_add(s, i % 40 == 7 ? 90 : 100 + i % 3);
}

static void stats_without_windows_know_no_order(void **state)
{
	struct samples s = {0};
	double stats[STATS];

	(void)state;
	for (size_t i = 0; i < COUNT(mpg); i++)
		samples_add(&s, mpg[i]);
	assert_int_equal(samples_to_stats(&s, NULL, stats), ST_OK);
	near(stats[STAT_N], 32, 0);
	near(stats[STAT_MEDIAN], 19.2, 1e-12);
	near(stats[STAT_P50], 19.2, 1e-12);
	near(stats[STAT_MEAN], 20.090625, 1e-12);
	near(stats[STAT_MIN], 10.4, 0);
	near(stats[STAT_MAX], 33.9, 0);
	near(stats[STAT_CV], 6.0269481 / 20.090625, 1e-8);
	near(stats[STAT_P2_5], 10.4, 1e-12); /* both 1st and 2nd are 10.4 */
	near(stats[STAT_P97_5], 32.4 + 0.225 * 1.5, 1e-9);
	near(stats[STAT_P95], 30.4 + 0.45 * 2, 1e-9);
	near(stats[STAT_P99], 32.4 + 0.69 * 1.5, 1e-9);
	near(stats[STAT_P99_9], 32.4 + 0.969 * 1.5, 1e-9);
	for (int i = STAT_F95; i < STATS; i++)
		assert_true(isnan(stats[i]));
	samples_release(&s);
}

static void stats_of_windows_have_all_figures(void **state)
{
	const struct windows windows = {.seconds = 0.5, .seed = 1};
	struct samples s = {0};
	double stats[STATS];

	(void)state;
	fill(&s, 120);
	assert_int_equal(samples_to_stats(&s, &windows, stats), ST_OK);
	for (int i = 0; i < STATS; i++)
		assert_true(isnan(stats[i]) == (i == STAT_CI_LO || i == STAT_CI_HI));
	near(stats[STAT_MEDIAN], 101, 0);
	near(stats[STAT_DIP_SHARE], 3 / 120.0, 1e-15);
	near(stats[STAT_DIP_LO95], binomial_lower(3, 120, 0.05), 0);
	near(stats[STAT_DIP_LONGEST_S], 0.5, 0);
	near(stats[STAT_DRIFT], 0, 1e-15);
	near(stats[STAT_BLOCK], 10, 0);
	samples_release(&s);
}

static void drift_is_the_change_over_the_run(void **state)
{
	const struct windows windows = {.seconds = 0.5, .seed = 1};
	struct samples s = {0};
	double stats[STATS];

	(void)state;
	for (int i = 0; i < 100; i++)
		samples_add(&s, 200 - 0.02 * i);
	assert_int_equal(samples_to_stats(&s, &windows, stats), ST_OK);
	near(stats[STAT_DRIFT], -2 / 199.01, 1e-12);
	samples_release(&s);
}

static void too_few_windows_leave_f95_absent(void **state)
{
	const struct windows windows = {.seconds = 0.5, .seed = 1};
	struct samples s = {0};
	double stats[STATS];

	(void)state;
	fill(&s, 39);
	assert_int_equal(samples_to_stats(&s, &windows, stats), ST_OK);
	assert_true(isnan(stats[STAT_F95]) && isnan(stats[STAT_F95_HI95]));
	assert_true(isnan(stats[STAT_AC1]) && isnan(stats[STAT_BLOCK]));
	near(stats[STAT_DIP_SHARE], 1 / 39.0, 1e-15);
	samples_release(&s);
}

static void stats_refuse_nothing_and_nonsense(void **state)
{
	const struct windows windows = {.seconds = 0.5, .seed = 1}, timeless = {.seed = 1};
	struct samples s = {0};
	double stats[STATS];

	(void)state;
	assert_int_equal(samples_to_stats(&s, NULL, stats), ST_RANGE);
	assert_true(isnan(stats[STAT_N]) && isnan(stats[STAT_MEAN]));
	samples_add(&s, -4);
	assert_int_equal(samples_to_stats(&s, NULL, stats), ST_OK);
	near(stats[STAT_MAX], -4, 0);
	assert_true(isnan(stats[STAT_SD]) && isnan(stats[STAT_CV]));
	samples_clear(&s);
	fill(&s, 120);
	assert_int_equal(samples_to_stats(&s, &timeless, stats), ST_RANGE);
	samples_add(&s, 0);
	assert_int_equal(samples_to_stats(&s, &windows, stats), ST_RANGE);
	for (int i = 0; i < STATS; i++)
		assert_true(isnan(stats[i]));
	samples_release(&s);
}

/* R: qt(0.975, c(1, 2, 4, 9, 100)). */
static void students_t_is_that_of_R(void **state)
{
	static const double df[] = {1, 2, 4, 9, 100},
			    t[] = {12.7062047, 4.3026527, 2.7764451, 2.2621572, 1.9839715};

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_true(fabs(student_t(0.05, df[i]) - t[i]) < 1e-6);
}

/* R: exp(t.test(log(a / b))$conf.int). */
static void ratios_of_pairs_have_students_interval(void **state)
{
	static const double a[] = {200, 210, 190}, b[] = {100, 100, 100}, zero[] = {1, 0, 1};
	struct estimate e;

	(void)state;
	assert_int_equal(paired_ratio(a, b, 3, 0.05, &e), ST_OK);
	assert_true(fabs(e.value - 1.998329) < 1e-5);
	assert_true(fabs(e.lo - exp(log(1.998329) - 4.302653 * 0.0500626 / sqrt(3))) < 1e-3);
	assert_true(fabs(e.lo * e.hi - e.value * e.value) < 1e-9);
	assert_int_equal(paired_ratio(a, b, 2, 0.05, &e), ST_RANGE);
	assert_int_equal(paired_ratio(a, zero, 3, 0.05, &e), ST_RANGE);
	assert_int_equal(paired_ratio(zero, a, 3, 0.05, &e), ST_RANGE);
	assert_int_equal(paired_ratio((const double[]){1, NAN, 1}, b, 3, 0.05, &e), ST_RANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_refuse_what_is_not_finite),
		cmocka_unit_test(quantiles_are_those_of_R),
		cmocka_unit_test(center_and_spread_are_those_of_R),
		cmocka_unit_test(nist_certified_values_are_met),
		cmocka_unit_test(equal_values_are_not_correlated),
		cmocka_unit_test(theil_sen_is_sens_example),
		cmocka_unit_test(theil_sen_is_the_median_of_all_slopes),
		cmocka_unit_test(random_numbers_are_the_published_ones),
		cmocka_unit_test(random_numbers_have_their_distribution),
		cmocka_unit_test(normal_tail_is_accurate_far_out),
		cmocka_unit_test(incomplete_beta_meets_its_closed_forms),
		cmocka_unit_test(binomial_limits_are_clopper_pearson),
		cmocka_unit_test(students_t_is_that_of_R),
		cmocka_unit_test(ratios_of_pairs_have_students_interval),
		cmocka_unit_test(holm_steps_down),
		cmocka_unit_test(fleet_measures_distance_to_the_median),
		cmocka_unit_test(fleet_refuses_what_it_cannot_judge),
		cmocka_unit_test(stats_without_windows_know_no_order),
		cmocka_unit_test(stats_of_windows_have_all_figures),
		cmocka_unit_test(drift_is_the_change_over_the_run),
		cmocka_unit_test(too_few_windows_leave_f95_absent),
		cmocka_unit_test(stats_refuse_nothing_and_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
