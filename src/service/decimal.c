/* Exact decimals over a 128-bit integer; see decimal.h. Bills write the same number in
 * a dozen ways, and a wrong guess between 1.234 and 1234 is a false verdict about money:
 * what can be read in two ways is refused. */
#include "service/decimal.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define ONE    ((__int128)1000000000000LL)
#define MOST   (ONE * 1000000000000000LL)
#define DIGITS 64

/* --- reading ---------------------------------------------------------------------- */

/* The digits of a number without their separators, and where the point is. */
struct digits {
	char text[DIGITS];
	int n, point; /* digits, and how many of them stand before the point */
	bool negative;
	int exponent;
};

static const char *const signs[] = {"￥", "¥", "$", "€", "CNY", "RMB", "USD", "EUR", "元", NULL};

static void skip_blank(const char **p)
{
	for (;;) {
		if (**p == ' ' || **p == '\t')
			(*p)++;
		else if (strncmp(*p, "\xc2\xa0", 2) == 0)
			*p += 2;
		else
			return;
	}
}

static void skip_sign(const char **p)
{
	skip_blank(p);
	for (int i = 0; signs[i]; i++) {
		if (strncasecmp(*p, signs[i], strlen(signs[i])) == 0) {
			*p += strlen(signs[i]);
			break;
		}
	}
	skip_blank(p);
}

static bool is_nothing(const char *p)
{
	skip_blank(&p);
	return !*p || strcmp(p, "-") == 0 || strcasecmp(p, "null") == 0 ||
	       strcasecmp(p, "n/a") == 0;
}

/* Which of the two is the point: '.' or ',', 0 where there is none, -1 ambiguous, -2
 * malformed. */
static int find_point(const char *p, size_t len, enum decimal_style style)
{
	const char *dot = memchr(p, '.', len), *comma = memchr(p, ',', len);
	const char *last = dot ? dot : comma;
	size_t before;

	if (style == DECIMAL_POINT)
		return dot ? '.' : 0;
	if (style == DECIMAL_COMMA)
		return comma ? ',' : 0;
	if (!dot && !comma)
		return 0;
	if (dot && comma)
		return memrchr(p, '.', len) > memrchr(p, ',', len) ? '.' : ',';
	if (memchr(last + 1, *last, (size_t)(p + len - last - 1)))
		return 0; /* the same one twice: groups */
	before = (size_t)(last - p);
	if (len - before - 1 != 3 || before == 0 || before > 3 || *p == '0')
		return *last;
	return -1;
}

/* Digits with groups of three before the point. */
static bool take_digits(struct digits *d, const char *p, size_t len, int point)
{
	int group = -1; /* digits since the last separator; -1: none yet */
	char between = 0;

	for (size_t i = 0; i < len; i++) {
		if (isdigit((unsigned char)p[i])) {
			if (d->n == DIGITS)
				return false;
			d->text[d->n++] = p[i];
			group += group >= 0;
		} else if (point && p[i] == point && d->point < 0) {
			if (group >= 0 && group != 3)
				return false;
			d->point = d->n;
			group = -1;
		} else if (d->point < 0 && strchr(",.'", p[i]) && d->n > 0 && p[i] != point &&
		           (!between || between == p[i])) {
			if (group >= 0 ? group != 3 : d->n > 3)
				return false;
			between = p[i];
			group = 0;
		} else {
			return false;
		}
	}
	if (d->point < 0) {
		if (group >= 0 && group != 3)
			return false;
		d->point = d->n;
	}
	return d->n > 0;
}

static bool take_exponent(struct digits *d, const char **p)
{
	const char *at = *p;
	bool negative;

	if (*at != 'e' && *at != 'E')
		return true;
	at++;
	negative = *at == '-';
	at += *at == '-' || *at == '+';
	if (!isdigit((unsigned char)*at))
		return false;
	for (; isdigit((unsigned char)*at); at++)
		if (d->exponent < 1000)
			d->exponent = d->exponent * 10 + (*at - '0');
	d->exponent = negative ? -d->exponent : d->exponent;
	*p = at;
	return true;
}

static enum decimal_fault to_pico(const struct digits *d, struct decimal *out)
{
	int places = d->n - d->point - d->exponent; /* behind the point */
	int shift = DECIMAL_PLACES - places;
	__int128 v = 0;

	for (int i = 0; i < d->n; i++) {
		if (v > MOST)
			return DECIMAL_TOO_LARGE;
		if (i < d->n + shift)
			v = v * 10 + (d->text[i] - '0');
		else if (d->text[i] != '0')
			return DECIMAL_TOO_FINE;
	}
	for (int i = 0; i < shift && v; i++) {
		if (v > MOST)
			return DECIMAL_TOO_LARGE;
		v *= 10;
	}
	if (v > MOST)
		return DECIMAL_TOO_LARGE;
	out->pico = d->negative ? -v : v;
	return DECIMAL_FINE;
}

enum decimal_fault decimal_parse(const char *text, enum decimal_style style, struct decimal *out)
{
	struct digits d = {.point = -1};
	const char *p = text;
	bool bracket;
	size_t len;
	int point;

	out->pico = 0;
	if (is_nothing(text))
		return DECIMAL_EMPTY;
	skip_sign(&p);
	bracket = *p == '(';
	p += bracket;
	if (!bracket && (*p == '-' || *p == '+'))
		d.negative = *p++ == '-';
	d.negative = d.negative || bracket;
	skip_sign(&p);
	len = strspn(p, "0123456789.,'");
	point = find_point(p, len, style);
	if (point < 0)
		return DECIMAL_AMBIGUOUS;
	if (!take_digits(&d, p, len, point))
		return DECIMAL_MALFORMED;
	p += len;
	if (!take_exponent(&d, &p) || (bracket && *p++ != ')'))
		return DECIMAL_MALFORMED;
	skip_sign(&p);
	return *p ? DECIMAL_MALFORMED : to_pico(&d, out);
}

/* --- arithmetic ------------------------------------------------------------------- */

static __int128 divide_rounded(__int128 a, __int128 b)
{
	__int128 half = b / 2;

	return a >= 0 ? (a + half) / b : (a - half) / b;
}

/* Split so that no product leaves 128 bits where the result does not. */
bool decimal_mul(struct decimal a, struct decimal b, struct decimal *out)
{
	__int128 whole = b.pico / ONE, part = b.pico % ONE, x, y;

	if (__builtin_mul_overflow(a.pico, whole, &x) || __builtin_mul_overflow(a.pico, part, &y) ||
	    __builtin_add_overflow(x, divide_rounded(y, ONE), &out->pico))
		return false;
	return out->pico <= MOST && out->pico >= -MOST;
}

bool decimal_scale(struct decimal a, long long numerator, long long denominator,
                   struct decimal *out)
{
	__int128 x;

	if (__builtin_mul_overflow(a.pico, (__int128)numerator, &x))
		return false;
	out->pico = divide_rounded(x, denominator);
	return out->pico <= MOST && out->pico >= -MOST;
}

bool decimal_div(struct decimal a, struct decimal b, struct decimal *out)
{
	__int128 x;

	if (!b.pico || __builtin_mul_overflow(a.pico, ONE, &x))
		return false;
	out->pico = b.pico > 0 ? divide_rounded(x, b.pico) : divide_rounded(-x, -b.pico);
	return out->pico <= MOST && out->pico >= -MOST;
}

double decimal_double(struct decimal a)
{
	return (double)a.pico / 1e12;
}

/* --- writing ---------------------------------------------------------------------- */

void decimal_add_text(struct str *out, struct decimal a, int places)
{
	__int128 v = a.pico < 0 ? -a.pico : a.pico;
	unsigned long long whole = (unsigned long long)(v / ONE);
	char part[DECIMAL_PLACES + 1];
	int n = DECIMAL_PLACES;
	long long rest = (long long)(v % ONE);

	for (int i = DECIMAL_PLACES; i-- > 0; rest /= 10)
		part[i] = (char)('0' + rest % 10);
	while (n > places && part[n - 1] == '0')
		n--;
	str_addf(out, "%s%llu", a.pico < 0 ? "-" : "", whole);
	if (n) {
		str_addc(out, '.');
		str_addn(out, part, (size_t)n);
	}
}

const char *decimal_money(struct decimal a, int places)
{
	struct str plain = {0}, grouped = {0};
	__int128 step = ONE;
	const char *kept;
	size_t whole, begin;

	for (int i = 0; i < places; i++)
		step /= 10;
	decimal_add_text(&plain, (struct decimal){divide_rounded(a.pico, step) * step}, places);
	begin = *plain.data == '-';
	whole = strcspn(plain.data, ".");
	for (size_t i = 0; i < plain.len; i++) {
		if (i > begin && i < whole && (whole - i) % 3 == 0)
			str_addc(&grouped, ',');
		str_addc(&grouped, plain.data[i]);
	}
	kept = tmpf("%s", grouped.data);
	str_release(&plain);
	str_release(&grouped);
	return kept;
}
