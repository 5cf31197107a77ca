/* Figures as people read and type them. */
#include "base/unit.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"

const char *fmt_value(double value)
{
	double magnitude = fabs(value);
	int decimals;

	if (!isfinite(value))
		return "-";
	if (value == floor(value) && magnitude < 1e15)
		return tmpf("%.0f", value == 0 ? 0.0 : value);
	if (magnitude >= 1e15 || magnitude < 1e-6)
		return tmpf("%.3g", value);
	/* Rounding may carry into another digit: 9.996 is 10.0, not 10.00. */
	decimals = 2 - (int)floor(log10(magnitude) + 1e-12);
	if (decimals > 0 && fabs(round(magnitude * pow(10, decimals))) >= 1000)
		decimals--;
	if (decimals <= 0)
		return tmpf("%.0f", value);
	return tmpf("%.*f", decimals, value);
}

static const char *scaled_iops(double value)
{
	if (fabs(value) >= 1e7)
		return tmpf("%sM", fmt_value(value / 1e6));
	if (fabs(value) >= 1e4)
		return tmpf("%sK", fmt_value(value / 1e3));
	return fmt_value(value);
}

const char *fmt_measure(double value, const char *unit)
{
	if (!unit || !*unit || strcmp(unit, "1") == 0)
		return fmt_value(value);
	if (!isfinite(value))
		return "-";
	if (strcmp(unit, "IOPS") == 0)
		return tmpf("%s IOPS", scaled_iops(value));
	if (strcmp(unit, "B") == 0)
		return fmt_bytes((int64_t)value);
	if (strcmp(unit, "%") == 0)
		return tmpf("%s %%", fmt_value(value));
	return tmpf("%s %s", fmt_value(value), unit);
}

const char *fmt_bytes(int64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double value = (double)bytes;
	int i = 0;

	while (fabs(value) >= 1024 && i < 5) {
		value /= 1024;
		i++;
	}
	return tmpf(i == 0 || fabs(value) >= 99.95 ? "%.0f %s" : "%.1f %s", value, units[i]);
}

const char *fmt_duration(double seconds)
{
	if (!isfinite(seconds))
		return "-";
	if (seconds < 0.9995)
		return tmpf("%.0f ms", seconds * 1e3);
	if (seconds < 59.95)
		return say(MSG_duration_s, tmpf("%.*f", seconds < 9.95 ? 1 : 0, seconds));
	if (seconds < 600)
		return say(MSG_duration_min_s, tmpf("%d", (int)round(seconds) / 60),
		           tmpf("%02d", (int)round(seconds) % 60));
	if (seconds < 3570)
		return say(MSG_duration_min, tmpf("%.0f", seconds / 60));
	return say(MSG_duration_h_min, tmpf("%d", (int)round(seconds / 60) / 60),
	           tmpf("%02d", (int)round(seconds / 60) % 60));
}

bool parse_double(const char *text, double *value)
{
	char *end;

	/* strtod would also take "inf", "nan", hexadecimal and leading blanks. */
	if (!*text || text[strspn(text, "0123456789+-.eE")])
		return false;
	*value = strtod(text, &end);
	return *end == '\0' && isfinite(*value);
}

bool parse_int64(const char *text, int64_t *value)
{
	char *end;

	if (!*text || isspace((unsigned char)*text) || *text == '+')
		return false;
	errno = 0;
	*value = strtoll(text, &end, 10);
	return *end == '\0' && errno == 0 && end != text;
}

bool parse_size(const char *text, int64_t *bytes)
{
	static const char prefixes[] = "KMGT";
	size_t digits = strspn(text, "0123456789.");
	const char *suffix = text + digits, *p;
	struct str number = {0};
	double value;
	bool ok;

	str_addn(&number, text, digits);
	ok = digits > 0 && parse_double(number.data, &value);
	str_release(&number);
	if (!ok)
		return false;
	if (*suffix && (p = strchr(prefixes, toupper((unsigned char)*suffix)))) {
		value *= (double)(1LL << 10 * (p - prefixes + 1));
		suffix++;
		if (*suffix == 'i')
			suffix++;
	}
	if (*suffix == 'B')
		suffix++;
	if (*suffix || value >= 0x1p62)
		return false;
	*bytes = (int64_t)value;
	return true;
}
