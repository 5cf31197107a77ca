/* The system's clock, and times as text. */
#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int64_t system_now(void *self)
{
	(void)self;
	return read_clock(CLOCK_MONOTONIC);
}

static int64_t system_wall(void *self)
{
	(void)self;
	return read_clock(CLOCK_REALTIME);
}

static void system_sleep(void *self, int64_t ns)
{
	struct timespec ts = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};

	(void)self;
	if (ns > 0)
		nanosleep(&ts, NULL);
}

const struct clock_source clock_system = {
	.now_ns = system_now,
	.wall_ns = system_wall,
	.sleep_ns = system_sleep,
};

void time_add_utc(struct str *out, int64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	str_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
	         tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
	         (int)(wall_ns % NS_PER_S / NS_PER_MS));
}

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

static bool literal(const char **p, char c)
{
	return **p == c && (*p)++;
}

/* timegm would make March 2 of February 30, and days from 2262-04-11 on are more
 * nanoseconds than there is room for. */
static bool day_exists(int year, int month, int day)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return year >= 1970 && year <= 2261 && month >= 1 && month <= 12 && day >= 1 &&
	       day <= days[month - 1] + (leap && month == 2);
}

bool time_parse_utc(const char *text, int64_t *wall_ns)
{
	struct tm tm = {0};
	const char *p = text;
	int ms = 0, year, month;

	if (!digits(&p, 4, &year) || !literal(&p, '-') || !digits(&p, 2, &month) ||
	    !literal(&p, '-') || !digits(&p, 2, &tm.tm_mday) || !literal(&p, 'T') ||
	    !digits(&p, 2, &tm.tm_hour) || !literal(&p, ':') || !digits(&p, 2, &tm.tm_min) ||
	    !literal(&p, ':') || !digits(&p, 2, &tm.tm_sec))
		return false;
	if (*p == '.' && (p++, !digits(&p, 3, &ms)))
		return false;
	if (strcmp(p, "Z") != 0 || !day_exists(year, month, tm.tm_mday) || tm.tm_hour > 23 ||
	    tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	tm.tm_year = year - 1900;
	tm.tm_mon = month - 1;
	*wall_ns = (int64_t)timegm(&tm) * NS_PER_S + ms * NS_PER_MS;
	return true;
}

/* Z, or +08:00, to the end of the text: seconds that the zone is ahead. */
static bool zone(const char *p, int *ahead_s)
{
	int hours, minutes, sign = *p == '-' ? -1 : 1;

	*ahead_s = 0;
	if (strcmp(p, "Z") == 0)
		return true;
	if (*p != '+' && *p != '-')
		return false;
	p++;
	if (!digits(&p, 2, &hours) || !literal(&p, ':') || !digits(&p, 2, &minutes) || *p ||
	    hours > 14 || minutes > 59)
		return false;
	*ahead_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

bool time_parse_zoned(const char *text, int64_t *wall_ns)
{
	size_t date = strcspn(text, "T"), clock = strcspn(text + date, "Z+-");
	struct str utc = {0};
	int ahead_s;
	bool ok = zone(text + date + clock, &ahead_s) && strcmp(text, "2200") < 0;

	str_addn(&utc, text, date + clock);
	str_add(&utc, clock == strlen("T10:00") ? ":00Z" : "Z");
	ok = ok && time_parse_utc(utc.data, wall_ns);
	if (ok)
		*wall_ns -= ahead_s * NS_PER_S;
	str_release(&utc);
	return ok;
}
