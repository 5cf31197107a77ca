/* Moments as logs, tickets and people write them: always with their zone. A time
 * without one is no evidence, since 8 hours lie between a vendor's midnight and
 * ours. Nanoseconds since 1970 UTC. */
#ifndef ASSAY_SERVICE_MOMENT_H
#define ASSAY_SERVICE_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#define MIN_NS (60 * 1000000000LL)
#define DAY_NS (86400 * 1000000000LL)

enum moment_fault {
	MOMENT_OK,
	MOMENT_FORM,    /* not a date and a time */
	MOMENT_NO_ZONE, /* a time, but neither Z nor an offset behind it */
	MOMENT_NO_DAY,  /* 30 February: a day the calendar has not */
};

/* 2026-12-02T03:04:05Z, 2026-12-02 11:04:05.25+08:00, 2026-12-02T11:04+0800. */
enum moment_fault moment_parse(const char *text, int64_t *ns);
/* "+08:00" to minutes; false if malformed or beyond 14 hours. */
bool offset_parse(const char *text, int *minutes);

#endif
