/* Units as quotes and bills write them; see quantity.h. To add one: a row. */
#include "service/quantity.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name;
	enum quantity_kind kind;
	long long numerator, denominator;
} units[] = {
	{"hour", QUANTITY_HOUR, 1, 1},
	{"hours", QUANTITY_HOUR, 1, 1},
	{"hr", QUANTITY_HOUR, 1, 1},
	{"hrs", QUANTITY_HOUR, 1, 1},
	{"h", QUANTITY_HOUR, 1, 1},
	{"instance-hours", QUANTITY_HOUR, 1, 1},
	{"小时", QUANTITY_HOUR, 1, 1},
	{"时", QUANTITY_HOUR, 1, 1},
	{"minute", QUANTITY_HOUR, 1, 60},
	{"minutes", QUANTITY_HOUR, 1, 60},
	{"分钟", QUANTITY_HOUR, 1, 60},
	{"second", QUANTITY_HOUR, 1, 3600},
	{"seconds", QUANTITY_HOUR, 1, 3600},
	{"s", QUANTITY_HOUR, 1, 3600},
	{"秒", QUANTITY_HOUR, 1, 3600},
	{"day", QUANTITY_HOUR, 24, 1},
	{"days", QUANTITY_HOUR, 24, 1},
	{"天", QUANTITY_HOUR, 24, 1},
	{"gpu-hour", QUANTITY_GPU_HOUR, 1, 1},
	{"gpu-hours", QUANTITY_GPU_HOUR, 1, 1},
	{"card-hours", QUANTITY_GPU_HOUR, 1, 1},
	{"卡时", QUANTITY_GPU_HOUR, 1, 1},
	{"卡小时", QUANTITY_GPU_HOUR, 1, 1},
	{"month", QUANTITY_MONTH, 1, 1},
	{"months", QUANTITY_MONTH, 1, 1},
	{"mo", QUANTITY_MONTH, 1, 1},
	{"月", QUANTITY_MONTH, 1, 1},
	{"个月", QUANTITY_MONTH, 1, 1},
	{"year", QUANTITY_MONTH, 12, 1},
	{"years", QUANTITY_MONTH, 12, 1},
	{"年", QUANTITY_MONTH, 12, 1},
	{"gb", QUANTITY_GB, 1, 1},
	{"gbs", QUANTITY_GB, 1, 1},
	{"tb", QUANTITY_GB, 1000, 1},
	{"mb", QUANTITY_GB, 1, 1000},
	{"gib", QUANTITY_GB, 1073741824, 1000000000},
	{"tib", QUANTITY_GB, 1099511627776, 1000000000},
	{"gb-hour", QUANTITY_GB_HOUR, 1, 1},
	{"gb-hours", QUANTITY_GB_HOUR, 1, 1},
	{"gb*小时", QUANTITY_GB_HOUR, 1, 1},
	{"gb-month", QUANTITY_GB_MONTH, 1, 1},
	{"gb-months", QUANTITY_GB_MONTH, 1, 1},
	{"gb-mo", QUANTITY_GB_MONTH, 1, 1},
	{"tb-month", QUANTITY_GB_MONTH, 1000, 1},
	{"gb*月", QUANTITY_GB_MONTH, 1, 1},
	{"once", QUANTITY_COUNT, 1, 1},
	{"count", QUANTITY_COUNT, 1, 1},
	{"each", QUANTITY_COUNT, 1, 1},
	{"unit", QUANTITY_COUNT, 1, 1},
	{"units", QUANTITY_COUNT, 1, 1},
	{"requests", QUANTITY_COUNT, 1, 1},
	{"个", QUANTITY_COUNT, 1, 1},
	{"次", QUANTITY_COUNT, 1, 1},
};

enum quantity_kind quantity_unit(const char *text, long long *numerator, long long *denominator)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcasecmp(units[i].name, text) != 0)
			continue;
		*numerator = units[i].numerator;
		*denominator = units[i].denominator;
		return units[i].kind;
	}
	return QUANTITY_NONE;
}

const char *quantity_name(enum quantity_kind kind)
{
	static const char *const names[] = {"",   "hour",    "GPU-hour", "month",
	                                    "GB", "GB-hour", "GB-month", "once"};

	return names[kind];
}
