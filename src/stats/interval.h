/* Exact binomial limits and the normal tail, and the incomplete beta function
 * under the former. Arithmetic only. */
#ifndef ASSAY_STATS_INTERVAL_H
#define ASSAY_STATS_INTERVAL_H

#include <stdint.h>

/* P(Z > z) of the standard normal, accurate far into the tail. */
double normal_tail(double z);

/* Regularized incomplete beta function I_x(a, b), a and b > 0, x in 0 to 1;
 * NaN outside. Continued fraction DLMF 8.17.22. */
double beta_regularized(double x, double a, double b);

/* Clopper-Pearson limits (Biometrika 26, 1934) of a probability after k of n
 * tries: the one-sided bounds that err with probability `alpha` at most. Take
 * alpha / 2 twice for a two-sided interval. 0 <= k <= n, n > 0, alpha in (0, 1);
 * else NaN. */
double binomial_lower(uint64_t k, uint64_t n, double alpha);
double binomial_upper(uint64_t k, uint64_t n, double alpha);

#endif
