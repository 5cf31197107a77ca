/* F95 and dips. A plain percentile interval from 2,000 draws: its operating
 * characteristic (how often a truly steady or unsteady card passes or fails) is
 * known by simulation and held by tests/unit/test_stats_oc.c. */
#include "stats/fluctuation.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stats/bootstrap.h"
#include "stats/interval.h"
#include "stats/samples.h"
#include "stats/series.h"

static const double f95_points[] = {0.025, 0.5, 0.975};

static double f95_of(const double q[3])
{
	return (q[2] - q[0]) / (2 * q[1]);
}

static bool all_positive(const double *value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(value[i]) || value[i] <= 0)
			return false;
	return true;
}

size_t f95_block(size_t n, double ac1)
{
	bool is_long = n >= F95_LONG;
	double least = is_long ? 30 : 10, most = is_long ? 150 : 20;
	double wanted = ceil((is_long ? 4 : 2) * (1 + ac1) / (1 - ac1));

	/* ac1 = 1 makes it infinite, which the clamp takes care of. */
	return (size_t)fmin(fmax(wanted, least), most);
}

double f95_effective(double n, double ac1)
{
	return n * (1 - ac1) / (1 + ac1);
}

enum status fluctuation_measure(const double *value, size_t n, uint64_t seed,
                                struct fluctuation *out)
{
	double draw[BOOTSTRAP_DRAWS], q[3], *sorted;
	struct ranked r, *series = &r;
	struct rng rng;

	if (n < F95_LEAST || n >= UINT32_MAX || !all_positive(value, n))
		return ST_RANGE;
	out->ac1 = autocorrelation(value, n);
	out->block = f95_block(n, out->ac1);
	ranked_init(&r, value, n);
	for (int i = 0; i < 3; i++)
		q[i] = quantile(r.sorted, n, f95_points[i]);
	out->f95 = f95_of(q);
	rng_seed(&rng, seed);
	for (int i = 0; i < BOOTSTRAP_DRAWS; i++) {
		bootstrap_draw(&series, 1, out->block, &rng);
		ranked_quantiles(&r, f95_points, q, 3);
		draw[i] = f95_of(q);
	}
	ranked_release(&r);
	sorted = sorted_copy(draw, BOOTSTRAP_DRAWS);
	out->lo95 = quantile(sorted, BOOTSTRAP_DRAWS, 0.05);
	out->hi95 = quantile(sorted, BOOTSTRAP_DRAWS, 0.95);
	out->lo999 = quantile(sorted, BOOTSTRAP_DRAWS, 0.001);
	free(sorted);
	return ST_OK;
}

enum f95_result f95_judge(const double stats[STATS], double limit, double *resolution)
{
	double n = stats[STAT_N], f95 = stats[STAT_F95], hi95 = stats[STAT_F95_HI95];
	double lo999 = stats[STAT_F95_LO999], ac1 = stats[STAT_AC1];

	if (resolution)
		*resolution = (hi95 - stats[STAT_F95_LO95]) / 2;
	if (n < F95_SHORT)
		return F95_TOO_SHORT;
	if (isnan(n) || isnan(f95) || isnan(hi95) || isnan(lo999) || isnan(ac1))
		return F95_ABSENT;
	if (n < F95_LONG)
		return hi95 <= limit && f95_effective(n, ac1) >= F95_EFFECTIVE ? F95_PASS
		                                                               : F95_EXTEND;
	if (hi95 <= limit)
		return F95_PASS;
	if (lo999 > limit)
		return F95_FAIL;
	return f95 <= F95_TOLERATED * limit ? F95_WARN : F95_INCONCLUSIVE;
}

enum status dips_measure(const double *value, size_t n, struct dips *out)
{
	size_t below = 0, run = 0, longest = 0;
	double least;

	if (!n || !all_positive(value, n))
		return ST_RANGE;
	least = DIP_BELOW * median(value, n);
	for (size_t i = 0; i < n; i++) {
		run = value[i] < least ? run + 1 : 0;
		below += run > 0;
		if (run > longest)
			longest = run;
	}
	out->share = (double)below / (double)n;
	out->lo95 = binomial_lower(below, n, 0.05);
	out->longest = longest;
	return ST_OK;
}

enum dips_result dips_judge(const double stats[STATS], double limit)
{
	double n = stats[STAT_N], lo95 = stats[STAT_DIP_LO95];

	if (isnan(n) || isnan(lo95))
		return DIPS_ABSENT;
	if (lo95 <= limit)
		return DIPS_PASS;
	return n >= DIPS_LEAST ? DIPS_FAIL : DIPS_WARN;
}
