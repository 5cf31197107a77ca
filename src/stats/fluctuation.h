/* Fluctuation of one subject over time: F95 = (P97.5 - P2.5) / (2 median) of
 * equal, consecutive windows of throughput, with bounds that allow for
 * autocorrelation; and dips, the windows that fall far below the median.
 *
 * The probe measures (fluctuation_measure, dips_measure) and stores the figures
 * in the stats of its reading; judging reads them back from there and needs no
 * samples. All figures are fractions: 0.01 is 1 %. */
#ifndef ASSAY_STATS_FLUCTUATION_H
#define ASSAY_STATS_FLUCTUATION_H

#include <stddef.h>
#include <stdint.h>

#include "assay/reading.h"
#include "assay/status.h"

/* Windows that make a short run, which can pass but never fail, and the long
 * run it is extended to when it did not pass. */
#define F95_SHORT 120
#define F95_LONG  1200
/* Below this many windows F95 is hardly more than the range, and is absent. */
#define F95_LEAST 40
/* A long run whose F95 is at most this much over the limit warns. */
#define F95_TOLERATED 1.1
/* A short run passes only if worth this many independent windows. */
#define F95_EFFECTIVE 20
/* A window below this share of the median is a dip. */
#define DIP_BELOW 0.98
/* Windows needed before dips may fail. */
#define DIPS_LEAST 300

struct fluctuation {
	double f95;
	double lo95, hi95; /* one-sided 95 % bounds */
	double lo999;      /* one-sided 99.9 % bound */
	double ac1;        /* lag-1 autocorrelation r */
	size_t block;      /* windows */
};

/* Short run: clamp(ceil(2 (1 + r)/(1 - r)), 10, 20), long run:
 * clamp(ceil(4 (1 + r)/(1 - r)), 30, 150). */
size_t f95_block(size_t n, double ac1);
/* Independent windows that n autocorrelated ones are worth: n (1 - r)/(1 + r). */
double f95_effective(double n, double ac1);

/* All values finite and positive, at least F95_LEAST of them; else
 * ST_RANGE: throughput that is zero or no number has failed before any
 * statistics. */
enum status fluctuation_measure(const double *value, size_t n, uint64_t seed,
                                struct fluctuation *out);

enum f95_result {
	F95_PASS,
	F95_WARN,         /* long run: over the limit, but at most by F95_TOLERATED */
	F95_FAIL,         /* long run: over the limit at 99.9 % */
	F95_INCONCLUSIVE, /* long run: noise hides on which side */
	F95_EXTEND,       /* short run that did not pass: measure F95_LONG windows;
	                     without them it is inconclusive */
	F95_TOO_SHORT,    /* fewer than F95_SHORT windows */
	F95_ABSENT,       /* a figure needed is not among the stats */
};

/* From n, f95, f95_lo95, f95_hi95, f95_lo999 and ac1 of a reading. `limit` as a
 * fraction (0.01). *resolution: what noise still hides, (hi95 - lo95)/2, NaN
 * when absent; may be NULL. */
enum f95_result f95_judge(const double stats[STATS], double limit, double *resolution);

struct dips {
	double share;   /* of windows below DIP_BELOW of the median */
	double lo95;    /* exact lower one-sided 95 % limit of the share */
	size_t longest; /* windows in the longest unbroken dip */
};

/* ST_RANGE as fluctuation_measure, from 1 window on. */
enum status dips_measure(const double *value, size_t n, struct dips *out);

enum dips_result { DIPS_PASS, DIPS_WARN, DIPS_FAIL, DIPS_ABSENT };

/* From n and dip_lo95: over the limit (0.01) fails from DIPS_LEAST windows on,
 * warns below. */
enum dips_result dips_judge(const double stats[STATS], double limit);

#endif
