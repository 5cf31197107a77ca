/* Times of bills and logs; see stamp.h. A day of the calendar that does not exist is
 * refused: it would move money into another month without a word. */
#include "service/stamp.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static bool is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days from 1970-01-01, by Howard Hinnant's algorithm. */
static int64_t days_from(int year, int month, int day)
{
	int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
	int64_t yoe = y - era * 400, doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void civil_from(int64_t days, int *year, int *month, int *day)
{
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

	*day = (int)(doy - (153 * mp + 2) / 5 + 1);
	*month = (int)(mp < 10 ? mp + 3 : mp - 9);
	*year = (int)(yoe + era * 400 + (*month <= 2));
}

/* 1 to `most` digits. */
static bool take(const char **p, int most, int *value)
{
	int n = 0;

	for (*value = 0; n < most && isdigit((unsigned char)**p); n++)
		*value = *value * 10 + (*(*p)++ - '0');
	return n > 0;
}

static bool take_date(const char **p, int *year, int *month, int *day)
{
	const char *begin = *p;
	char mark;

	*day = 0;
	if (!take(p, 4, year) || *p - begin != 4)
		return false;
	mark = **p == '-' || **p == '/' ? *(*p)++ : '\0';
	if (!take(p, 2, month))
		return false;
	if (mark ? **p == mark && (*p)++ : isdigit((unsigned char)**p))
		if (!take(p, 2, day) || *day < 1)
			return false;
	return *year >= 1970 && *year <= 2999 && *month >= 1 && *month <= 12 &&
	       *day <= days_in(*year, *month);
}

static bool take_clock(const char **p, int *seconds)
{
	int h, m, s = 0;

	if (!take(p, 2, &h) || *(*p)++ != ':' || !take(p, 2, &m))
		return false;
	if (**p == ':') {
		(*p)++;
		if (!take(p, 2, &s))
			return false;
	}
	if (**p == '.')
		*p += 1 + strspn(*p + 1, "0123456789");
	*seconds = h * 3600 + m * 60 + s;
	return (h < 24 || (h == 24 && !m && !s)) && m < 60 && s <= 60;
}

static bool take_zone(const char **p, int *minutes)
{
	int h, m = 0, sign;

	*p += **p == ' ';
	if (**p == 'Z' || **p == 'z') {
		(*p)++;
		*minutes = 0;
		return true;
	}
	if (strncmp(*p, "UTC", 3) == 0) {
		*p += 3;
		*minutes = 0;
	}
	if (**p != '+' && **p != '-')
		return true;
	sign = *(*p)++ == '-' ? -1 : 1;
	if (!take(p, 2, &h))
		return false;
	*p += **p == ':';
	if (isdigit((unsigned char)**p) && !take(p, 2, &m))
		return false;
	*minutes = sign * (h * 60 + m);
	return h <= 14 && m < 60;
}

bool stamp_parse(const char *text, int zone_minutes, int64_t *seconds, bool *month)
{
	int y, m, d, clock = 0, zone = zone_minutes;
	const char *p = text;

	if (!take_date(&p, &y, &m, &d))
		return false;
	if (d && (*p == 'T' || *p == ' ')) {
		p++;
		if (!take_clock(&p, &clock) || !take_zone(&p, &zone))
			return false;
	}
	if (*p)
		return false;
	if (month)
		*month = d == 0;
	*seconds = days_from(y, m, d ? d : 1) * 86400 + clock - zone * 60;
	return true;
}

int64_t stamp_next_month(int64_t seconds, int zone_minutes)
{
	int64_t local = seconds + zone_minutes * 60;
	int64_t days = (local >= 0 ? local : local - 86399) / 86400;
	int y, m, d;

	civil_from(days, &y, &m, &d);
	return days_from(m == 12 ? y + 1 : y, m == 12 ? 1 : m + 1, 1) * 86400 - zone_minutes * 60;
}

const char *stamp_text(int64_t seconds)
{
	int64_t days = (seconds >= 0 ? seconds : seconds - 86399) / 86400;
	int64_t rest = seconds - days * 86400;
	int y, m, d;

	civil_from(days, &y, &m, &d);
	return tmpf("%04d-%02d-%02d %02d:%02d UTC", y, m, d, (int)(rest / 3600),
	            (int)(rest / 60 % 60));
}
