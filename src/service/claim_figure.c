/* Figures of statements, as people write them: ">=1000K", "180-220", "90 -> 55". */
#include "service/claims.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- units ---------------------------------------------------------------------------- */

/* To add a spelling: a row. `base` groups what can be converted. */
static const struct {
	const char *spelt, *base;
	double factor;
} units[] = {
	{"TFLOP/s", "flops", 1},
	{"TFLOPS", "flops", 1},
	{"PFLOPS", "flops", 1000},
	{"PFLOP/s", "flops", 1000},
	{"GFLOPS", "flops", 1e-3},
	{"GB/s", "bytes/s", 1},
	{"TB/s", "bytes/s", 1000},
	{"MB/s", "bytes/s", 1e-3},
	{"Gb/s", "bytes/s", 0.125},
	{"Gbps", "bytes/s", 0.125},
	{"us", "time", 1e-6},
	{"µs", "time", 1e-6},
	{"μs", "time", 1e-6},
	{"微秒", "time", 1e-6},
	{"ms", "time", 1e-3},
	{"毫秒", "time", 1e-3},
	{"s", "time", 1},
	{"秒", "time", 1},
	{"min", "time", 60},
	{"分钟", "time", 60},
	{"h", "time", 3600},
	{"小时", "time", 3600},
	{"days", "time", 86400},
	{"day", "time", 86400},
	{"天", "time", 86400},
	{"IOPS", "iops", 1},
	{"%", "share", 0.01},
	{"1", "share", 1},
	{"-", "share", 1},
	{"", "share", 1},
	{"CNY/h", "cny/h", 1},
	{"yuan/GPU-h", "cny/h", 1},
	{"元/卡时", "cny/h", 1},
	{"CNY/GPU-h", "cny/h", 1},
	{"元/小时", "cny/h", 1},
	{"CNY", "cny", 1},
	{"yuan", "cny", 1},
	{"元", "cny", 1},
	{"万元", "cny", 1e4},
	{"CNY/year", "cny/year", 1},
	{"yuan/year", "cny/year", 1},
	{"元/年", "cny/year", 1},
	{"cards", "cards", 1},
	{"GPUs", "cards", 1},
	{"卡", "cards", 1},
	{"张", "cards", 1},
	{"GB", "bytes", 1},
	{"TB", "bytes", 1000},
	{"MiB", "bytes", 1.048576e-3},
	{"GiB", "bytes", 1.073741824},
};

/* Bits and bytes differ in nothing but a letter's case. */
static int unit_row(const char *spelt)
{
	const int n = (int)(sizeof(units) / sizeof(*units));

	for (int i = 0; i < n; i++)
		if (strcmp(units[i].spelt, spelt) == 0)
			return i;
	for (int i = 0; i < n; i++)
		if (strcmp(units[i].base, "bytes/s") != 0 && strcasecmp(units[i].spelt, spelt) == 0)
			return i;
	return -1;
}

double claim_factor(const char *unit, const char *into)
{
	int from = unit_row(unit), to = unit_row(into);

	if (strcmp(unit, into) == 0)
		return 1;
	if (from < 0 || to < 0 || strcmp(units[from].base, units[to].base) != 0)
		return NAN;
	return units[from].factor / units[to].factor;
}

#define NUMBER_MOST 32

/* --- figures ---------------------------------------------------------------------------- */

static const char *skip(const char *p)
{
	return p + strspn(p, " \t");
}

/* The word at p, taken. */
static bool take(const char **p, const char *word)
{
	*p = skip(*p);
	if (!str_starts(*p, word))
		return false;
	*p += strlen(word);
	return true;
}

static bool copy(char plain[NUMBER_MOST], size_t *to, const char **p, size_t n)
{
	if (*to + n >= NUMBER_MOST)
		return false;
	memcpy(plain + *to, *p, n);
	*to += n;
	*p += n;
	return true;
}

/* Digits, in groups of three where commas stand between; a point and digits; an exponent. */
static bool take_digits(const char **p, double *value)
{
	static const char digits[] = "0123456789";
	char plain[NUMBER_MOST];
	size_t to = 0, first = strspn(*p, digits);
	bool grouped = (*p)[first] == ',' && isdigit((unsigned char)(*p)[first + 1]);

	if (!first || (grouped && first > 3) || !copy(plain, &to, p, first))
		return false;
	while (**p == ',' && isdigit((unsigned char)(*p)[1])) {
		++*p;
		if (strspn(*p, digits) != 3 || !copy(plain, &to, p, 3))
			return false;
	}
	if (**p == '.' && !copy(plain, &to, p, 1 + strspn(*p + 1, digits)))
		return false;
	if (plain[to - 1] == '.' || **p == '.')
		return false;
	if (**p == 'e' || **p == 'E') {
		size_t sign = (*p)[1] == '+' || (*p)[1] == '-', n = strspn(*p + 1 + sign, digits);

		if (n && !copy(plain, &to, p, 1 + sign + n))
			return false;
	}
	plain[to] = '\0';
	*value = strtod(plain, NULL);
	return isfinite(*value);
}

/* A number, and K, M, G, T, B, 万, 亿 right behind. False: none, or more than one. */
static bool take_number(const char **p, double *value)
{
	static const struct {
		const char *word;
		double factor;
	} scales[] = {{"K", 1e3}, {"k", 1e3},  {"M", 1e6},  {"G", 1e9},
	              {"B", 1e9}, {"T", 1e12}, {"万", 1e4}, {"亿", 1e8}};
	const char *at = skip(*p);

	if (!take_digits(&at, value))
		return false;
	for (size_t i = 0; i < sizeof(scales) / sizeof(*scales); i++) {
		const char *after = at + strlen(scales[i].word);

		if (str_starts(at, scales[i].word) && !isalnum((unsigned char)*after)) {
			*value *= scales[i].factor;
			at = after;
			break;
		}
	}
	*p = at;
	/* "1 500 000" */
	return !isdigit((unsigned char)*skip(at));
}

static enum claim_bound take_bound(const char **p)
{
	static const struct {
		const char *word;
		enum claim_bound bound;
	} words[] = {{">=", BOUND_LEAST}, {"≥", BOUND_LEAST}, {">", BOUND_LEAST},
	             {"<=", BOUND_MOST},  {"≤", BOUND_MOST},  {"<", BOUND_MOST},
	             {"=", BOUND_ABOUT},  {"~", BOUND_ABOUT}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (take(p, words[i].word))
			return words[i].bound;
	return BOUND_ABOUT;
}

static bool take_second(const char **p, struct claim_figure *f)
{
	if (take(p, "->") || take(p, "→")) {
		f->bound = BOUND_CHANGE;
		return take_number(p, &f->hi);
	}
	if (f->bound == BOUND_ABOUT &&
	    (take(p, "-") || take(p, "–") || take(p, "~") || take(p, "至")))
		return take_number(p, &f->hi) && f->hi >= f->lo;
	return true;
}

bool claim_figure_parse(const char *text, struct claim_figure *out)
{
	const char *p = text;
	enum claim_bound bound = take_bound(&p);
	bool minus = take(&p, "-"), signed_ = minus || take(&p, "+");
	double value;

	*out = (struct claim_figure){.bound = BOUND_WORDS, .lo = NAN, .hi = NAN};
	/* Digits of full width would pass for words. */
	for (int d = 0; d < 10; d++)
		if (strstr(text, (const char[]){'\xef', '\xbc', (char)(0x90 + d), '\0'}))
			return false;
	p = skip(p);
	if (!isdigit((unsigned char)*p))
		return true;
	if (!take_number(&p, &value))
		return false;
	*out = (struct claim_figure){.bound = bound, .lo = value, .hi = value};
	if (!signed_ && !take_second(&p, out))
		return false;
	if (minus)
		out->lo = out->hi = -value;
	out->bad = strstr(p, "fail") || strstr(p, "不合格");
	return true;
}
