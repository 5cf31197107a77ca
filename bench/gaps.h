/* Watching one CPU by reading the clock without rest: whenever two readings
 * are far apart, something else had the CPU in between. */
#ifndef ASSAY_BENCH_GAPS_H
#define ASSAY_BENCH_GAPS_H

#include <stdint.h>

#include "base/clock.h"

/* Class i holds gaps of 2^i up to 2^(i+1) microseconds; the first also
 * nothing shorter, the last everything longer (from 67 s). */
#define GAP_CLASSES 27

struct gaps {
	int64_t watched_ns;
	int64_t longest_ns;
	int64_t longest_at_ns; /* of its end, since watching began */
	int64_t over_ns;       /* sum of the gaps of at least the threshold */
	int64_t over_count;
	int64_t readings; /* of the clock: watched / readings is its cost */
	int64_t count[GAP_CLASSES];
	int64_t total_ns[GAP_CLASSES];
};

/* Notes one gap; below one microsecond it is the price of reading the clock. */
void gaps_add(struct gaps *g, int64_t gap_ns, int64_t at_ns, int64_t threshold_ns);

/* Reads the clock for this long. */
void gaps_watch(struct gaps *g, const struct clock_source *clock, int64_t duration_ns,
                int64_t threshold_ns);

#endif
