/* A growing list of measured numbers in the order they were taken, and the
 * plain figures of it. Everything after samples_add may rely on finite values.
 *
 * A zeroed struct samples is empty; it owns its array. Running out of memory
 * ends the program through die_nomem() (base/error.h). Figures that do not
 * exist for so few values are NaN, never zero. */
#ifndef ASSAY_STATS_SAMPLES_H
#define ASSAY_STATS_SAMPLES_H

#include <stddef.h>

#include "assay/status.h"

/* Makes the MAD of a normal distribution equal its standard deviation:
 * 1 / quantile(0.75) of the standard normal. */
#define MAD_TO_SD 1.4826

struct samples {
	double *value;
	size_t n;
	size_t cap;
};

/* ST_RANGE, and nothing added, when value is NaN or infinite. */
enum status samples_add(struct samples *s, double value);
void samples_clear(struct samples *s); /* keeps the memory */
void samples_release(struct samples *s);

/* A sorted copy the caller frees; NULL when n is 0. */
double *sorted_copy(const double *value, size_t n);

/* Quantile p (0 to 1) by linear interpolation at (n - 1) p: type 7 of Hyndman
 * and Fan, The American Statistician 50 (1996). `sorted` ascending. */
double quantile(const double *sorted, size_t n, double p);

double median(const double *value, size_t n);
/* Median of |value - center|, unscaled. */
double median_deviation(const double *value, size_t n, double center);
double mean(const double *value, size_t n);
/* Sample standard deviation (divisor n - 1) by two passes with the correction
 * for the rounded mean (Chan, Golub, LeVeque 1983). NaN below 2 values. */
double standard_deviation(const double *value, size_t n);

#endif
