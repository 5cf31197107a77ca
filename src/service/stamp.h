/* Times as bills and logs of others write them, with a zone or without. */
#ifndef ASSAY_SERVICE_STAMP_H
#define ASSAY_SERVICE_STAMP_H

#include <stdbool.h>
#include <stdint.h>

/* Seconds since 1970 UTC of 2026-11, 202611, 2026-11-03, 2026/11/3 4:05, 20261103,
 * 2026-11-03T04:05:06.7Z or +08:00. Without a zone it is zone_minutes east of UTC. A month
 * or day is its beginning; *month (may be NULL): it was a month alone. False if it is none
 * of these, or no day of the calendar. */
bool stamp_parse(const char *text, int zone_minutes, int64_t *seconds, bool *month);
/* The beginning of the month after the one that holds `seconds`, in that zone. */
int64_t stamp_next_month(int64_t seconds, int zone_minutes);
/* "2026-11-03 04:05 UTC", short-lived. */
const char *stamp_text(int64_t seconds);

#endif
