/* A strict reader of ISO 8601 in the forms that exports have. */
#include "service/moment.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static bool digits(const char **p, int count, int *value)
{
	*value = 0;
	for (int i = 0; i < count; i++, (*p)++) {
		if (!isdigit((unsigned char)**p))
			return false;
		*value = *value * 10 + (**p - '0');
	}
	return true;
}

static bool skip(const char **p, const char *any)
{
	return **p && strchr(any, **p) && (*p)++;
}

bool offset_parse(const char *text, int *minutes)
{
	const char *p = text;
	int hours, rest = 0, sign = *p == '-' ? -1 : 1;

	if (!skip(&p, "+-") || !digits(&p, 2, &hours))
		return false;
	if (*p && (skip(&p, ":"), !digits(&p, 2, &rest)))
		return false;
	if (*p || hours > 14 || rest > 59)
		return false;
	*minutes = sign * (hours * 60 + rest);
	return true;
}

/* ".25" and longer; digits past the nanosecond are let go. */
static bool fraction(const char **p, int64_t *ns)
{
	int64_t unit = NS_PER_S / 10;

	*ns = 0;
	if (!skip(p, "."))
		return true;
	if (!isdigit((unsigned char)**p))
		return false;
	for (; isdigit((unsigned char)**p); (*p)++, unit /= 10)
		*ns += (**p - '0') * unit;
	return true;
}

static bool day_exists(const struct tm *tm)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int year = tm->tm_year + 1900;
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	/* Nanoseconds since 1970 end in 2262. */
	return year >= 1970 && year <= 2261 && tm->tm_mon >= 0 && tm->tm_mon <= 11 &&
	       tm->tm_mday >= 1 && tm->tm_mday <= days[tm->tm_mon] + (leap && tm->tm_mon == 1);
}

enum moment_fault moment_parse(const char *text, int64_t *ns)
{
	struct tm tm = {0};
	const char *p = text;
	int64_t part;
	int offset = 0;

	if (!digits(&p, 4, &tm.tm_year) || !skip(&p, "-") || !digits(&p, 2, &tm.tm_mon) ||
	    !skip(&p, "-") || !digits(&p, 2, &tm.tm_mday) || !skip(&p, "T ") ||
	    !digits(&p, 2, &tm.tm_hour) || !skip(&p, ":") || !digits(&p, 2, &tm.tm_min))
		return MOMENT_FORM;
	if (skip(&p, ":") && !digits(&p, 2, &tm.tm_sec))
		return MOMENT_FORM;
	if (!fraction(&p, &part) || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return MOMENT_FORM;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	if (!day_exists(&tm))
		return MOMENT_NO_DAY;
	while (*p == ' ')
		p++;
	if (!*p)
		return MOMENT_NO_ZONE;
	if (strcmp(p, "Z") != 0 && strcmp(p, "UTC") != 0 && !offset_parse(p, &offset))
		return MOMENT_FORM;
	*ns = ((int64_t)timegm(&tm) - offset * 60LL) * NS_PER_S + part;
	return MOMENT_OK;
}
