/* The fleet rule. The floor under the spread keeps a lot of nearly equal cards
 * from accusing one that is off by nothing of consequence. */
#include "stats/fleet.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "stats/interval.h"
#include "stats/samples.h"

enum status fleet_compare(const double *value, size_t n, double noise, enum better better,
                          struct fleet *out, double *z, double *p)
{
	if (n < FLEET_LEAST || !(noise > 0 && isfinite(noise)) || better == BETTER_NEITHER)
		return ST_RANGE;
	for (size_t i = 0; i < n; i++)
		if (!isfinite(value[i]))
			return ST_RANGE;
	out->median = median(value, n);
	if (out->median <= 0)
		return ST_RANGE;
	out->spread =
		fmax(MAD_TO_SD * median_deviation(value, n, out->median), noise * out->median);
	for (size_t i = 0; i < n; i++) {
		double worse = (out->median - value[i]) / out->spread;

		if (better == BETTER_LOWER)
			worse = -worse;
		if (z)
			z[i] = worse;
		p[i] = normal_tail(worse);
	}
	return ST_OK;
}

struct test {
	double p;
	size_t index;
};

static int compare_tests(const void *a, const void *b)
{
	const struct test *x = a, *y = b;

	return (x->p > y->p) - (x->p < y->p);
}

size_t holm(const double *p, size_t n, double alpha, bool *rejected)
{
	struct test *order;
	size_t count = 0;

	if (!n)
		return 0;
	order = reallocarray(NULL, n, sizeof(*order));
	if (!order)
		die_nomem();
	for (size_t i = 0; i < n; i++) {
		order[i] = (struct test){isnan(p[i]) ? INFINITY : p[i], i};
		rejected[i] = false;
	}
	qsort(order, n, sizeof(*order), compare_tests);
	while (count < n && order[count].p <= alpha / (double)(n - count))
		rejected[order[count++].index] = true;
	free(order);
	return count;
}
