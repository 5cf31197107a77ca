/* Our own log of when machines ran, to hold against what was billed. A CSV file:
 *
 *   resource,start,end[,state]
 *   i-abc,2026-11-01T00:00:00Z,2026-11-01T06:30:00Z,running
 *
 * state: running (also where there is no such column), stopped, broken, setup. What no
 * line covers was not ours to pay for by use. Times without a zone are UTC. */
#ifndef ASSAY_SERVICE_USAGE_H
#define ASSAY_SERVICE_USAGE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct usage_run {
	const char *resource;
	int64_t start, end; /* seconds, end exclusive */
	int64_t line;
	bool running;
};

struct usage {
	struct arena arena;
	struct usage_run *runs; /* by resource, then start; from malloc */
	int n_runs, cap_runs;
};

/* Lines of one resource that overlap, or that end before they begin, are errors. */
enum status usage_read(struct usage *u, const char *path, struct error *err);
void usage_release(struct usage *u);
bool usage_knows(const struct usage *u, const char *resource);
/* Seconds that the resource ran within [start, end), each run rounded up to whole
 * steps, and *exact without rounding. */
int64_t usage_seconds(const struct usage *u, const char *resource, int64_t start, int64_t end,
                      int64_t step, int64_t *exact);

#endif
