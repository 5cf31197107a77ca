/* Figures of values taken one after the other at equal steps: how much one
 * resembles the next, and whether they creep up or down. */
#ifndef ASSAY_STATS_SERIES_H
#define ASSAY_STATS_SERIES_H

#include <stddef.h>

/* Lag-1 autocorrelation, sum (x_i - m)(x_{i+1} - m) / sum (x_i - m)^2 (Box and
 * Jenkins; as certified in NIST StRD). -1 to 1. NaN below 3 values; 0 for a
 * series of equal values, in which nothing can follow anything. */
double autocorrelation(const double *value, size_t n);

/* Theil-Sen slope: median of the slopes of all pairs (Theil 1950, Sen 1968).
 * x strictly ascending; NULL: 0, 1, 2 … NaN below 2 values. 60 steps of
 * O(n log n), O(n) memory; exact to 1e-17 of the range of neighbours' slopes. */
double theil_sen(const double *x, const double *y, size_t n);

#endif
