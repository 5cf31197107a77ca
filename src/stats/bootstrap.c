/* Resampling without sorting: see bootstrap.h. Positions of the quantiles are
 * the same in every draw, so one walk over the counts finds all of them. */
#include "stats/bootstrap.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "stats/samples.h"

struct ordered {
	double value;
	uint32_t index;
};

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

void ranked_init(struct ranked *r, const double *value, size_t n)
{
	struct ordered *order = reallocarray(NULL, n, sizeof(*order));

	r->n = n;
	r->sorted = reallocarray(NULL, n, sizeof(*r->sorted));
	r->rank = reallocarray(NULL, n, sizeof(*r->rank));
	r->count = reallocarray(NULL, n, sizeof(*r->count));
	if (!order || !r->sorted || !r->rank || !r->count)
		die_nomem();
	for (size_t i = 0; i < n; i++)
		order[i] = (struct ordered){value[i], (uint32_t)i};
	qsort(order, n, sizeof(*order), compare_ordered);
	for (size_t i = 0; i < n; i++) {
		r->sorted[i] = order[i].value;
		r->rank[order[i].index] = (uint32_t)i;
	}
	free(order);
}

void ranked_release(struct ranked *r)
{
	free(r->sorted);
	free(r->rank);
	free(r->count);
	*r = (struct ranked){0};
}

static void count_run(struct ranked *r, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		r->count[r->rank[i]]++;
}

void bootstrap_draw(struct ranked *const *series, int n_series, size_t block, struct rng *rng)
{
	size_t n = series[0]->n;

	for (int s = 0; s < n_series; s++)
		memset(series[s]->count, 0, n * sizeof(*series[s]->count));
	for (size_t taken = 0; taken < n; taken += block) {
		size_t start = rng_below(rng, (uint32_t)n);
		size_t end = start + (block < n - taken ? block : n - taken);

		for (int s = 0; s < n_series; s++) {
			count_run(series[s], start, end < n ? end : n);
			if (end > n)
				count_run(series[s], 0, end - n);
		}
	}
}

/* Ranks whose counts are summed at once, in a loop the compiler vectorises. */
#define STRIDE 16

/* Moves *rank on to the value drawn as number `at`, from 0, in ascending order;
 * *upto is how many were drawn up to and with *rank. */
static void walk(const struct ranked *r, size_t at, size_t *rank, size_t *upto)
{
	while (*rank + STRIDE < r->n) {
		uint32_t sum = 0;

		for (size_t i = 1; i <= STRIDE; i++)
			sum += r->count[*rank + i];
		if (*upto + sum > at)
			break;
		*upto += sum;
		*rank += STRIDE;
	}
	while (*upto <= at)
		*upto += r->count[++*rank];
}

void ranked_quantiles(const struct ranked *r, const double *p, double *q, int count)
{
	size_t rank = 0, upto = r->count[0]; /* values drawn with this rank or less */

	for (int i = 0; i < count; i++) {
		double at = p[i] * (double)(r->n - 1);
		size_t below = (size_t)at, next;
		double share = at - (double)below;

		walk(r, below, &rank, &upto);
		q[i] = r->sorted[rank];
		if (share == 0 || upto > below + 1)
			continue;
		next = rank + 1;
		while (!r->count[next])
			next++;
		q[i] += share * (r->sorted[next] - r->sorted[rank]);
	}
}

static bool all_finite(const double *value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(value[i]))
			return false;
	return true;
}

static void estimate_from_draws(struct estimate *out, double *draw)
{
	double *sorted = sorted_copy(draw, BOOTSTRAP_DRAWS);

	out->lo = quantile(sorted, BOOTSTRAP_DRAWS, 0.025);
	out->hi = quantile(sorted, BOOTSTRAP_DRAWS, 0.975);
	free(sorted);
}

static bool drawable(const double *value, size_t n, size_t block)
{
	return n >= 3 && n < UINT32_MAX && block >= 1 && block <= n && all_finite(value, n);
}

enum status bootstrap_median(const double *value, size_t n, size_t block, uint64_t seed,
                             struct estimate *out)
{
	double draw[BOOTSTRAP_DRAWS];
	const double half = 0.5;
	struct ranked r, *series = &r;
	struct rng rng;

	if (!drawable(value, n, block))
		return ST_RANGE;
	ranked_init(&r, value, n);
	rng_seed(&rng, seed);
	for (int i = 0; i < BOOTSTRAP_DRAWS; i++) {
		bootstrap_draw(&series, 1, block, &rng);
		ranked_quantiles(&r, &half, &draw[i], 1);
	}
	out->value = quantile(r.sorted, n, half);
	estimate_from_draws(out, draw);
	ranked_release(&r);
	return ST_OK;
}
