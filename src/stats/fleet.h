/* One subject among its like: which cards, links or nodes are worse than the
 * others by more than chance. The fleet warns and never fails anybody: a card
 * may be the slowest of a good lot, or the best of a bad one. */
#ifndef ASSAY_STATS_FLEET_H
#define ASSAY_STATS_FLEET_H

#include <stdbool.h>
#include <stddef.h>

#include "assay/reading.h"
#include "assay/status.h"

#define FLEET_LEAST 8    /* like subjects needed */
#define FLEET_ALPHA 1e-3 /* chance of one false alarm a run, all tests together */

struct fleet {
	double median;
	double spread; /* s = max(1.4826 MAD, median x noise), in the unit */
};

/* For every subject z_j = (median - m_j)/s where higher is better, the opposite
 * where lower is, and p_j = P(Z > z_j): small p is bad. `noise`: standard
 * deviation between healthy subjects as a share of the median, > 0. z may be
 * NULL. The p of all fleet metrics of a run go to one call of holm().
 * ST_RANGE: fewer than FLEET_LEAST subjects, a value not finite, a median not
 * positive, no noise given, or a metric that is neither better higher nor lower. */
enum status fleet_compare(const double *value, size_t n, double noise, enum better better,
                          struct fleet *out, double *z, double *p);

/* Step-down test of Holm (Scand. J. Statist. 6, 1979): sets rejected[i] for the
 * hypotheses rejected while the chance of any false rejection stays at most
 * alpha, whatever their dependence. Returns how many. NaN is never rejected but
 * counts as a test. */
size_t holm(const double *p, size_t n, double alpha, bool *rejected);

#endif
