/* Time. Probes read it through their context, never from the system: on
 * stand-in libraries the clock is virtual (DESIGN: the stand-in's host clock). */
#ifndef ASSAY_BASE_CLOCK_H
#define ASSAY_BASE_CLOCK_H

#include <stdint.h>

#include "base/str.h"

/* Monotonic nanoseconds; wall nanoseconds since 1970 UTC. Sleep returns
 * early when a signal arrives. */
struct clock_source {
	int64_t (*now_ns)(void *self);
	int64_t (*wall_ns)(void *self);
	void (*sleep_ns)(void *self, int64_t ns);
	void *self;
};

extern const struct clock_source clock_system;

static inline int64_t clock_now(const struct clock_source *c)
{
	return c->now_ns(c->self);
}
static inline int64_t clock_wall(const struct clock_source *c)
{
	return c->wall_ns(c->self);
}
static inline void clock_sleep(const struct clock_source *c, int64_t ns)
{
	c->sleep_ns(c->self, ns);
}

#define NS_PER_S  1000000000LL
#define NS_PER_MS 1000000LL

/* Adds 2026-12-02T03:04:05.678Z. */
void time_add_utc(struct str *out, int64_t wall_ns);
/* Reads that form back (also without milliseconds). False if malformed, no day of the
 * calendar, or not in 1970 to 2261, where nanoseconds end. */
bool time_parse_utc(const char *text, int64_t *wall_ns);
/* A time that a person gives, with its zone: 2026-12-02T10:00:00+08:00, also
 * without seconds and with Z for UTC. False if malformed, without a zone, no day of
 * the calendar, or not in 1970 to 2199. */
bool time_parse_zoned(const char *text, int64_t *wall_ns);

#endif
