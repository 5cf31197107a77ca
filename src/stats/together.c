#include "stats/together.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "stats/bootstrap.h"
#include "stats/samples.h"

#define SEED 0x616c6cull /* the same interval every time */

static bool usable(const struct share *s)
{
	return isfinite(s->ios) && s->ios >= 0 && isfinite(s->start_s) && isfinite(s->end_s) &&
	       s->end_s > s->start_s;
}

static double own_rate(const struct share *s)
{
	return s->ios / (s->end_s - s->start_s);
}

/* I/Os of one node between two moments, a window's evenly spread over it. */
static double ios_between(const struct share *s, double from, double to)
{
	double ios = 0;

	for (size_t i = 0; i < s->n_windows; i++) {
		double start = s->start_s + (double)i * s->window_s;
		double inside = fmin(to, start + s->window_s) - fmax(from, start);

		ios += inside > 0 ? s->windows[i] * inside : 0;
	}
	return ios;
}

static double overlap_rate(const struct share *share, size_t n, double from, double to)
{
	double ios = 0;

	if (!(to > from))
		return NAN;
	for (size_t i = 0; i < n; i++) {
		if (!share[i].windows)
			return NAN;
		ios += ios_between(&share[i], from, to);
	}
	return ios / (to - from);
}

enum status together_rate(const struct share *share, size_t n, struct together *out, bool *slow)
{
	double first = INFINITY, last = -INFINITY, last_start = -INFINITY, first_end = INFINITY;
	double ios = 0, *rate;

	for (size_t i = 0; i < n; i++)
		if (!usable(&share[i]))
			return ST_RANGE;
	if (n == 0)
		return ST_RANGE;
	rate = calloc(n, sizeof(*rate));
	if (!rate)
		die_nomem();
	*out = (struct together){.least = INFINITY};
	for (size_t i = 0; i < n; i++) {
		rate[i] = own_rate(&share[i]);
		ios += share[i].ios;
		out->sum += rate[i];
		out->least = fmin(out->least, rate[i]);
		out->most = fmax(out->most, rate[i]);
		first = fmin(first, share[i].start_s);
		last = fmax(last, share[i].end_s);
		last_start = fmax(last_start, share[i].start_s);
		first_end = fmin(first_end, share[i].end_s);
	}
	out->conservative = ios / (last - first);
	out->skew = out->conservative > 0 ? out->sum / out->conservative : NAN;
	out->overlap = overlap_rate(share, n, last_start, first_end);
	out->median = median(rate, n);
	for (size_t i = 0; i < n; i++) {
		bool is_slow = rate[i] < TOGETHER_SLOW * out->median;

		out->slow += is_slow;
		if (slow)
			slow[i] = is_slow;
	}
	free(rate);
	return ST_OK;
}

bool together_interval(const struct share *share, size_t n, double *lo, double *hi)
{
	size_t windows = n ? share[0].n_windows : 0;
	struct estimate e = {0};
	double *sum;
	bool told;

	for (size_t i = 1; i < n; i++)
		windows = share[i].n_windows < windows ? share[i].n_windows : windows;
	if (windows < TOGETHER_WINDOWS)
		return false;
	sum = calloc(windows, sizeof(*sum));
	if (!sum)
		die_nomem();
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < windows; k++)
			sum[k] += share[i].windows[k];
	/* Neighbours are alike: whole blocks are drawn. */
	told = bootstrap_median(sum, windows, (size_t)ceil(cbrt((double)windows)), SEED, &e) ==
	               ST_OK &&
	       e.value > 0;
	free(sum);
	if (!told)
		return false;
	*lo = e.lo / e.value;
	*hi = e.hi / e.value;
	return true;
}

long offered_depth(double iops, double latency_s, long nodes)
{
	double depth = ceil(iops * latency_s / (double)nodes - 1e-9);

	return depth > 1 ? (long)depth : 1;
}

double offered_iops(long nodes, long depth, double latency_s)
{
	return (double)nodes * (double)depth / latency_s;
}

double clock_offset(const struct ping *ping, size_t n, double *error_s)
{
	double best = INFINITY, offset = NAN;

	for (size_t i = 0; i < n; i++) {
		double trip = ping[i].answered_s - ping[i].asked_s;

		if (!(trip >= 0) || trip >= best || !isfinite(ping[i].theirs_s))
			continue;
		best = trip;
		offset = ping[i].theirs_s - (ping[i].asked_s + trip / 2);
	}
	*error_s = best / 2;
	return offset;
}
