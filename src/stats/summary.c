/* One place where the members of `stats` get their meaning, so that all probes
 * mean the same by them. */
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>

#include "stats/fluctuation.h"
#include "stats/series.h"

static void fill_order(const struct samples *s, double stats[STATS])
{
	static const struct {
		enum stat_id stat;
		double p;
	} points[] = {
		{STAT_MIN, 0},      {STAT_P2_5, 0.025},  {STAT_P50, 0.5},
		{STAT_MEDIAN, 0.5}, {STAT_P95, 0.95},    {STAT_P97_5, 0.975},
		{STAT_P99, 0.99},   {STAT_P99_9, 0.999}, {STAT_MAX, 1},
	};
	double *sorted = sorted_copy(s->value, s->n);

	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++)
		stats[points[i].stat] = quantile(sorted, s->n, points[i].p);
	free(sorted);
}

static void fill_windows(const struct samples *s, const struct windows *windows,
                         const struct dips *dips, double stats[STATS])
{
	struct fluctuation f;

	stats[STAT_DIP_SHARE] = dips->share;
	stats[STAT_DIP_LO95] = dips->lo95;
	stats[STAT_DIP_LONGEST_S] = (double)dips->longest * windows->seconds;
	stats[STAT_DRIFT] = theil_sen(NULL, s->value, s->n) * (double)s->n / stats[STAT_MEDIAN];
	if (fluctuation_measure(s->value, s->n, windows->seed, &f) != ST_OK)
		return;
	stats[STAT_F95] = f.f95;
	stats[STAT_F95_LO95] = f.lo95;
	stats[STAT_F95_HI95] = f.hi95;
	stats[STAT_F95_LO999] = f.lo999;
	stats[STAT_AC1] = f.ac1;
	stats[STAT_BLOCK] = (double)f.block;
}

enum status samples_to_stats(const struct samples *s, const struct windows *windows,
                             double stats[STATS])
{
	struct dips dips;

	for (int i = 0; i < STATS; i++)
		stats[i] = NAN;
	if (!s->n)
		return ST_RANGE;
	if (windows && (!(windows->seconds > 0) || dips_measure(s->value, s->n, &dips) != ST_OK))
		return ST_RANGE;
	stats[STAT_N] = (double)s->n;
	stats[STAT_MEAN] = mean(s->value, s->n);
	stats[STAT_SD] = standard_deviation(s->value, s->n);
	if (stats[STAT_MEAN] > 0)
		stats[STAT_CV] = stats[STAT_SD] / stats[STAT_MEAN];
	fill_order(s, stats);
	if (windows)
		fill_windows(s, windows, &dips, stats);
	return ST_OK;
}
