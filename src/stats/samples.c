/* Samples and their plain figures. Summation is by two passes on purpose:
 * one-pass variance loses all digits where spread / mean is 1e-8, which is
 * what event-timed windows on a good card look like. */
#include "stats/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum status samples_add(struct samples *s, double value)
{
	if (!isfinite(value))
		return ST_RANGE;
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 128;
		double *grown = reallocarray(s->value, cap, sizeof(*grown));

		if (!grown)
			die_nomem();
		s->value = grown;
		s->cap = cap;
	}
	s->value[s->n++] = value;
	return ST_OK;
}

void samples_clear(struct samples *s)
{
	s->n = 0;
}

void samples_release(struct samples *s)
{
	free(s->value);
	*s = (struct samples){0};
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double *sorted_copy(const double *value, size_t n)
{
	double *copy;

	if (!n)
		return NULL;
	copy = reallocarray(NULL, n, sizeof(*copy));
	if (!copy)
		die_nomem();
	memcpy(copy, value, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), compare_doubles);
	return copy;
}

double quantile(const double *sorted, size_t n, double p)
{
	double at, share;
	size_t below;

	if (!n || !(p >= 0 && p <= 1))
		return NAN;
	at = p * (double)(n - 1);
	below = (size_t)at;
	share = at - (double)below;
	if (share == 0)
		return sorted[below];
	return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

double median(const double *value, size_t n)
{
	double *sorted = sorted_copy(value, n);
	double result = quantile(sorted, n, 0.5);

	free(sorted);
	return result;
}

double median_deviation(const double *value, size_t n, double center)
{
	double result, *away;

	if (!n)
		return NAN;
	away = reallocarray(NULL, n, sizeof(*away));
	if (!away)
		die_nomem();
	for (size_t i = 0; i < n; i++)
		away[i] = fabs(value[i] - center);
	result = median(away, n);
	free(away);
	return result;
}

double mean(const double *value, size_t n)
{
	double sum = 0, rest = 0, first;

	if (!n)
		return NAN;
	for (size_t i = 0; i < n; i++)
		sum += value[i];
	first = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		rest += value[i] - first;
	return first + rest / (double)n;
}

double standard_deviation(const double *value, size_t n)
{
	double center = mean(value, n), squares = 0, rest = 0;

	if (n < 2)
		return NAN;
	for (size_t i = 0; i < n; i++) {
		double away = value[i] - center;

		squares += away * away;
		rest += away;
	}
	return sqrt((squares - rest * rest / (double)n) / (double)(n - 1));
}
