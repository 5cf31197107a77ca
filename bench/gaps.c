/* Gaps between readings of a clock. The clock is the probe's own one
 * (CLOCK_MONOTONIC, which the kernel may slew by at most 0.05 %): a second,
 * raw clock would save nothing and could not be replaced in a test. */
#include "gaps.h"

void gaps_add(struct gaps *g, int64_t gap_ns, int64_t at_ns, int64_t threshold_ns)
{
	int class = 0;

	if (gap_ns > g->longest_ns) {
		g->longest_ns = gap_ns;
		g->longest_at_ns = at_ns;
	}
	if (gap_ns >= threshold_ns) {
		g->over_ns += gap_ns;
		g->over_count++;
	}
	if (gap_ns < 1000)
		return;
	for (int64_t us = gap_ns / 1000; us > 1 && class < GAP_CLASSES - 1; us /= 2)
		class ++;
	g->count[class]++;
	g->total_ns[class] += gap_ns;
}

void gaps_watch(struct gaps *g, const struct clock_source *clock, int64_t duration_ns,
                int64_t threshold_ns)
{
	int64_t begun = clock_now(clock), last = begun, now;

	do {
		now = clock_now(clock);
		gaps_add(g, now - last, now - begun, threshold_ns);
		g->readings++;
		last = now;
	} while (now - begun < duration_ns);
	g->watched_ns = last - begun;
}
