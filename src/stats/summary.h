/* From samples to the stats of a reading. */
#ifndef ASSAY_STATS_SUMMARY_H
#define ASSAY_STATS_SUMMARY_H

#include <stdint.h>

#include "assay/reading.h"
#include "assay/status.h"
#include "stats/samples.h"

/* Says that the samples are throughputs of equal windows one after another. */
struct windows {
	double seconds; /* length of one, > 0 */
	uint64_t seed;  /* of the resampling */
};

/* Fills all of `stats`: first every member with NaN, then n, median, mean, min,
 * max, sd, cv and the percentiles; with `windows` (else NULL) also f95 and its
 * bounds, ac1, block (from F95_LEAST windows on), the dips and the drift. cv
 * only where the mean is positive. ci_lo and ci_hi stay NaN: they belong to the
 * value, which the probe chooses (stats/bootstrap.h computes such intervals).
 * ST_RANGE, and all NaN, for no samples, or windows with a sample that is not
 * positive: such throughput has failed before any statistics. */
enum status samples_to_stats(const struct samples *s, const struct windows *windows,
                             double stats[STATS]);

#endif
