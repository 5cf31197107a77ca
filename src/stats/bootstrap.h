/* Circular block bootstrap (Politis and Romano 1992) by rank counting: values
 * are ranked once, a draw only counts how often each rank was taken, and the
 * quantiles of the draw are read off by walking the counts. No draw sorts.
 *
 * A draw of n values is made of blocks of `block` neighbours from random
 * starts, wrapping round at the end, the last block cut short: what is
 * autocorrelated stays so within the blocks. block 1 is the plain bootstrap. */
#ifndef ASSAY_STATS_BOOTSTRAP_H
#define ASSAY_STATS_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "assay/status.h"
#include "stats/rng.h"

#define BOOTSTRAP_DRAWS 2000

/* Values ranked for drawing. Owns its arrays. */
struct ranked {
	size_t n;
	double *sorted;
	uint32_t *rank;  /* of value i in sorted[] */
	uint32_t *count; /* how often the current draw took each rank */
};

/* n from 1 to UINT32_MAX - 1, values finite. */
void ranked_init(struct ranked *r, const double *value, size_t n);
void ranked_release(struct ranked *r);

/* One draw for `series` series of equal length n at once, so that what
 * happened at the same time stays together. block from 1 to n. */
void bootstrap_draw(struct ranked *const *series, int n_series, size_t block, struct rng *rng);
/* Type-7 quantiles p[0] <= p[1] <= … of the current draw. */
void ranked_quantiles(const struct ranked *r, const double *p, double *q, int count);

/* Two-sided 95 % percentile interval about an estimate. */
struct estimate {
	double value, lo, hi;
};

/* Median of `value` with its interval. ST_RANGE below 3 values, for a value
 * that is not finite, or a block outside 1 to n. */
enum status bootstrap_median(const double *value, size_t n, size_t block, uint64_t seed,
                             struct estimate *out);

#endif
