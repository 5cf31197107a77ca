/* Ratios of figures measured in alternated pairs: what changed between the two
 * of a pair, whatever else drifted meanwhile. */
#ifndef ASSAY_STATS_PAIRS_H
#define ASSAY_STATS_PAIRS_H

#include <stddef.h>

#include "assay/status.h"
#include "stats/bootstrap.h"

/* Geometric mean of a_i / b_i with its two-sided 1 - alpha interval by Student's t
 * over the logarithms, n - 1 degrees of freedom: honest for three pairs, where
 * resampling has nothing to resample. ST_RANGE below 3 pairs or when a value is
 * not a positive number. */
enum status paired_ratio(const double *a, const double *b, size_t n, double alpha,
                         struct estimate *out);

/* t with P(|T| > t) = alpha, for df >= 1 degrees of freedom; alpha in (0, 1). */
double student_t(double alpha, double df);

#endif
