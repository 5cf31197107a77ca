/* Parameters and tokens as people write them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "estimate/estimate.h"

static const struct {
	char letter;
	double factor;
} units[] = {{'T', 1e12}, {'B', 1e9}, {'M', 1e6}, {'K', 1e3}};

bool quantity_parse(const char *text, double *value)
{
	size_t len = strlen(text);
	double factor = 1;
	char number[64];

	if (len == 0 || len >= sizeof(number))
		return false;
	memcpy(number, text, len + 1);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (number[len - 1] == units[i].letter || number[len - 1] == units[i].letter + 32) {
			factor = units[i].factor;
			number[len - 1] = '\0';
			break;
		}
	if (!parse_double(number, value))
		return false;
	*value *= factor;
	return isfinite(*value);
}

const char *quantity_text(double value)
{
	for (size_t i = 0; i < 3; i++)
		if (fabs(value) >= units[i].factor && fabs(value) < 1e16)
			return tmpf("%.4g%c", value / units[i].factor, units[i].letter);
	return fmt_value(value);
}
