/* Money and quantities as they stand on a bill: exact decimals, never binary
 * floating point. A figure is a whole number of 1e-12 (pico): enough for unit prices
 * with ten places, up to 1e15 before the point. */
#ifndef ASSAY_SERVICE_DECIMAL_H
#define ASSAY_SERVICE_DECIMAL_H

#include <stdbool.h>

#include "base/str.h"

struct decimal {
	__int128 pico;
};

#define DECIMAL_PLACES 12

/* How a file writes numbers. */
enum decimal_style {
	DECIMAL_POINT, /* 1,234.56 */
	DECIMAL_COMMA, /* 1.234,56 */
	DECIMAL_EITHER /* told from the number; one that could be both is refused */
};

enum decimal_fault {
	DECIMAL_FINE,
	DECIMAL_EMPTY,     /* nothing but blanks, "-" or "null" */
	DECIMAL_MALFORMED, /* no number, or groups that are not of three */
	DECIMAL_AMBIGUOUS, /* "1.234" where it may be 1234 */
	DECIMAL_TOO_LARGE, /* beyond 1e15 */
	DECIMAL_TOO_FINE,  /* digits below 1e-12 */
};

/* Takes signs, brackets for negative ones, thousands separators, exponents and a
 * currency sign before or behind; *out is 0 unless it is fine. */
enum decimal_fault decimal_parse(const char *text, enum decimal_style style, struct decimal *out);

static inline struct decimal decimal_of(long long whole)
{
	return (struct decimal){(__int128)whole * 1000000000000LL};
}
static inline int decimal_sign(struct decimal a)
{
	return a.pico > 0 ? 1 : a.pico < 0 ? -1 : 0;
}
static inline int decimal_compare(struct decimal a, struct decimal b)
{
	return a.pico > b.pico ? 1 : a.pico < b.pico ? -1 : 0;
}
/* Sums of 500,000 lines of 1e15 fit: no overflow to look for. */
static inline struct decimal decimal_add(struct decimal a, struct decimal b)
{
	return (struct decimal){a.pico + b.pico};
}
static inline struct decimal decimal_sub(struct decimal a, struct decimal b)
{
	return (struct decimal){a.pico - b.pico};
}
/* Rounded half away from zero at 1e-12; false: the result does not fit. */
bool decimal_mul(struct decimal a, struct decimal b, struct decimal *out);
/* a x numerator / denominator, likewise; the denominator is positive. */
bool decimal_scale(struct decimal a, long long numerator, long long denominator,
                   struct decimal *out);
/* a / b, likewise; false also where b is 0. */
bool decimal_div(struct decimal a, struct decimal b, struct decimal *out);
/* For shares and charts, where rounding hurts nobody. */
double decimal_double(struct decimal a);
/* "-12.5": no zeros at the end, but at least `places` digits behind the point. */
void decimal_add_text(struct str *out, struct decimal a, int places);
/* Rounded to `places`, with thousands separators; short-lived, as tmpf. */
const char *decimal_money(struct decimal a, int places);

#endif
