/* Autocorrelation and trend. The slopes of all pairs are never stored: the
 * number of slopes not above s is the number of pairs that y - s x leaves not
 * ascending, which a merge sort counts, and the median is found by bisection
 * (Cole, Salowe, Steiger, Szemeredi 1989, without their parametric search). */
#include "stats/series.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "stats/samples.h"

static bool all_equal(const double *value, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (value[i] != value[0])
			return false;
	return true;
}

double autocorrelation(const double *value, size_t n)
{
	double center = mean(value, n), squares = 0, products = 0;

	if (n < 3)
		return NAN;
	/* The rounded mean would make equal values look perfectly correlated. */
	if (all_equal(value, n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		squares += (value[i] - center) * (value[i] - center);
		if (i + 1 < n)
			products += (value[i] - center) * (value[i + 1] - center);
	}
	return products / squares;
}

/* Halvings that bring any range down to the last bit of its larger end; without
 * an end a median slope of 0 would be approached through all the denormals. */
#define SLOPE_STEPS 60

struct slopes {
	const double *x; /* NULL: the index */
	const double *y;
	size_t n;
	double *residual, *merged;
};

static double slopes_x(const struct slopes *s, size_t i)
{
	return s->x ? s->x[i] : (double)i;
}

/* Sorts v[0..n) and returns how many pairs i < j had v[i] >= v[j]. */
static uint64_t count_not_ascending(double *v, double *spare, size_t n)
{
	size_t half = n / 2, left = 0, right = half, out = 0;
	uint64_t count;

	if (n < 2)
		return 0;
	count = count_not_ascending(v, spare, half);
	count += count_not_ascending(v + half, spare, n - half);
	while (left < half && right < n) {
		if (v[left] < v[right]) {
			spare[out++] = v[left++];
		} else {
			count += half - left;
			spare[out++] = v[right++];
		}
	}
	memcpy(spare + out, v + left, (half - left) * sizeof(*v));
	out += half - left;
	memcpy(v, spare, out * sizeof(*v));
	return count;
}

static uint64_t slopes_up_to(const struct slopes *s, double slope)
{
	for (size_t i = 0; i < s->n; i++)
		s->residual[i] = s->y[i] - slope * slopes_x(s, i);
	return count_not_ascending(s->residual, s->merged, s->n);
}

/* The k-th smallest slope, k from 1, between lo and hi. */
static double slopes_select(const struct slopes *s, uint64_t k, double lo, double hi)
{
	for (int step = 0; step < SLOPE_STEPS && lo < hi; step++) {
		double middle = lo + (hi - lo) / 2;

		if (slopes_up_to(s, middle) >= k)
			hi = middle;
		else
			lo = middle;
	}
	return hi;
}

/* Every slope of a pair is a weighted mean of the slopes of neighbours. */
static void slopes_range(const struct slopes *s, double *lo, double *hi)
{
	*lo = INFINITY;
	*hi = -INFINITY;
	for (size_t i = 1; i < s->n; i++) {
		double slope = (s->y[i] - s->y[i - 1]) / (slopes_x(s, i) - slopes_x(s, i - 1));

		*lo = fmin(*lo, slope);
		*hi = fmax(*hi, slope);
	}
}

double theil_sen(const double *x, const double *y, size_t n)
{
	struct slopes s = {.x = x, .y = y, .n = n};
	uint64_t pairs = (uint64_t)n * (n - 1) / 2;
	double lo, hi, result;

	if (n < 2)
		return NAN;
	s.residual = reallocarray(NULL, n, 2 * sizeof(*s.residual));
	if (!s.residual)
		die_nomem();
	s.merged = s.residual + n;
	slopes_range(&s, &lo, &hi);
	result = slopes_select(&s, (pairs + 1) / 2, lo, hi);
	if (pairs % 2 == 0)
		result = (result + slopes_select(&s, pairs / 2 + 1, lo, hi)) / 2;
	free(s.residual);
	return result;
}
