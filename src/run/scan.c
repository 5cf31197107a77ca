/* The line scanner. Speed comes from two things: plain characters are skipped
 * by a table, and short decimal numbers are converted exactly without strtod. */
#include "run/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

/* Characters a string may hold as they are, apart from UTF-8 sequences. */
static const bool plain[256] = {
	[0x20 ... 0x21] = true,
	[0x23 ... 0x5b] = true,
	[0x5d ... 0x7f] = true,
};

static bool fault(struct scan *s, enum scan_fault what)
{
	if (s->fault == SCAN_FINE)
		s->fault = what;
	return false;
}

struct scan scan_begin(const char *text, size_t len)
{
	return (struct scan){.start = text, .p = text, .end = text + len};
}

char scan_peek(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\n'))
		s->p++;
	return s->p < s->end ? *s->p : '\0';
}

bool scan_finished(struct scan *s)
{
	scan_peek(s);
	return s->p == s->end || fault(s, SCAN_SYNTAX);
}

static bool take(struct scan *s, char c)
{
	if (scan_peek(s) != c || s->p == s->end)
		return fault(s, SCAN_SYNTAX);
	s->p++;
	return true;
}

/* --- strings ------------------------------------------------------------ */

static bool hex4(const char *p, uint32_t *code)
{
	*code = 0;
	for (int i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)p[i];
		uint32_t digit;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (c | 0x20) - 'a' + 10u;
		else
			return false;
		*code = *code << 4 | digit;
	}
	return true;
}

/* The character an escape at p (behind the backslash) stands for; returns the
 * bytes it takes there, 0 if it is none. U+0000 is refused: texts are C strings. */
static size_t escape(const char *p, const char *end, uint32_t *code)
{
	static const char names[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";
	const char *name = p < end && *p ? strchr(names, *p) : NULL;
	uint32_t low;

	if (name) {
		*code = (unsigned char)codes[name - names];
		return 1;
	}
	if (end - p < 5 || *p != 'u' || !hex4(p + 1, code) || *code == 0)
		return 0;
	if (*code < 0xd800 || *code > 0xdfff)
		return 5;
	if (*code > 0xdbff || end - p < 11 || p[5] != '\\' || p[6] != 'u' || !hex4(p + 7, &low) ||
	    low < 0xdc00 || low > 0xdfff)
		return 0;
	*code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
	return 11;
}

bool scan_string(struct scan *s, struct scan_text *text)
{
	if (!take(s, '"'))
		return false;
	*text = (struct scan_text){.at = s->p};
	for (;;) {
		size_t n;
		uint32_t code;

		while (s->p < s->end && plain[(unsigned char)*s->p])
			s->p++;
		if (s->p == s->end)
			return fault(s, SCAN_SYNTAX);
		if (*s->p == '"')
			break;
		if (*s->p == '\\') {
			text->escaped = true;
			n = escape(s->p + 1, s->end, &code);
			n += n > 0;
		} else {
			n = (unsigned char)*s->p < 0x80 ? 0 : (size_t)utf8_len(s->p, s->end);
		}
		if (n == 0)
			return fault(s, SCAN_SYNTAX);
		s->p += n;
	}
	text->len = (size_t)(s->p - text->at);
	s->p++;
	return true;
}

static void add_utf8(struct str *out, uint32_t code)
{
	if (code < 0x80) {
		str_addc(out, (char)code);
	} else if (code < 0x800) {
		str_addc(out, (char)(0xc0 | code >> 6));
		str_addc(out, (char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		str_addc(out, (char)(0xe0 | code >> 12));
		str_addc(out, (char)(0x80 | (code >> 6 & 0x3f)));
		str_addc(out, (char)(0x80 | (code & 0x3f)));
	} else {
		str_addc(out, (char)(0xf0 | code >> 18));
		str_addc(out, (char)(0x80 | (code >> 12 & 0x3f)));
		str_addc(out, (char)(0x80 | (code >> 6 & 0x3f)));
		str_addc(out, (char)(0x80 | (code & 0x3f)));
	}
}

void scan_unescape(struct str *out, const struct scan_text *text)
{
	const char *p = text->at, *end = text->at + text->len;

	while (p < end) {
		const char *back = memchr(p, '\\', (size_t)(end - p));
		uint32_t code = 0;

		str_addn(out, p, (size_t)((back ? back : end) - p));
		if (!back)
			break;
		p = back + 1;
		p += escape(p, end, &code);
		add_utf8(out, code);
	}
}

/* --- numbers ------------------------------------------------------------ */

static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A number taken apart: value = mantissa x 10^exponent when digits <= 19. */
struct decimal {
	uint64_t mantissa;
	int digits, exponent;
};

/* Digits at p, at least one; NULL if there is none. */
static const char *digits(const char *p, const char *end, struct decimal *d)
{
	const char *at = p;

	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		if (d->mantissa == 0 && *p == '0')
			continue; /* leading zeros carry nothing */
		if (++d->digits <= 19)
			d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
	}
	return p > at ? p : NULL;
}

static const char *exponent(const char *p, const char *end, struct decimal *d)
{
	struct decimal e = {0};
	bool negative = false;
	int value;

	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	p = digits(p, end, &e);
	value = e.digits > 4 ? 99999 : (int)e.mantissa;
	d->exponent += negative ? -value : value;
	return p;
}

static const char *number_end(const char *p, const char *end, struct decimal *d)
{
	const char *whole = p, *point;

	p = digits(p, end, d);
	if (!p || (*whole == '0' && p > whole + 1))
		return NULL;
	if (p < end && *p == '.') {
		point = p + 1;
		p = digits(point, end, d);
		if (!p)
			return NULL;
		d->exponent -= (int)(p - point < 99999 ? p - point : 99999);
	}
	if (p < end && (*p == 'e' || *p == 'E'))
		p = exponent(p + 1, end, d);
	return p;
}

/* Exact when both mantissa and power of ten are exact doubles (Clinger 1990). */
static bool convert_short(const struct decimal *d, double *value)
{
	if (d->mantissa > 1ULL << 53 || d->exponent < -22 || d->exponent > 22)
		return false;
	*value = d->exponent < 0 ? (double)d->mantissa / tens[-d->exponent]
	                         : (double)d->mantissa * tens[d->exponent];
	return true;
}

/* Measured figures have 16 or 17 digits, too many for that: whole-number division
 * to at least 54 bits, then rounding to the nearest, ties to even. */
static bool convert_long(const struct decimal *d, double *value)
{
	unsigned __int128 dividend = (unsigned __int128)d->mantissa << 64, quotient;
	uint64_t ten, top;
	int shift = 0;
	bool rest;

	if (d->mantissa <= 1ULL << 53 || d->exponent > 0 || d->exponent < -19)
		return false;
	ten = (uint64_t)tens[-d->exponent];
	quotient = dividend / ten;
	rest = quotient * ten != dividend;
	if (quotient >> 64)
		shift = 64 - __builtin_clzll((uint64_t)(quotient >> 64)) + 10;
	else
		shift = 10 - __builtin_clzll((uint64_t)quotient);
	top = (uint64_t)(quotient >> shift); /* 54 bits */
	rest = rest || (unsigned __int128)top << shift != quotient;
	top = (top >> 1) + ((top & 1) && (rest || (top & 2)));
	*value = ldexp((double)top, shift + 1 - 64);
	return true;
}

/* strtod, the last resort, cannot run past the end: a delimiter follows. */
bool scan_number(struct scan *s, double *value)
{
	struct decimal d = {0};
	bool negative = scan_peek(s) == '-';
	const char *at = s->p, *p = number_end(at + negative, s->end, &d);

	if (!p || p == s->end || !strchr(",]} \t\r\n", *p) || !*p)
		return fault(s, SCAN_SYNTAX);
	s->p = p;
	if (d.digits <= 19 && (convert_short(&d, value) || convert_long(&d, value))) {
		*value = negative ? -*value : *value;
		return true;
	}
	*value = strtod(at, NULL);
	return isfinite(*value) || fault(s, SCAN_NUMBER);
}

bool scan_int64(struct scan *s, int64_t *value)
{
	struct scan_text text;
	double number;

	if (scan_peek(s) != '"') {
		if (!scan_number(s, &number))
			return false;
		if (number != floor(number) || fabs(number) > 9007199254740992.0)
			return fault(s, SCAN_SYNTAX);
		*value = (int64_t)number;
		return true;
	}
	if (!scan_string(s, &text))
		return false;
	return parse_int64(tmpf("%.*s", (int)(text.len < 32 ? text.len : 32), text.at), value) ||
	       fault(s, SCAN_SYNTAX);
}

/* --- structure ---------------------------------------------------------- */

bool scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if (scan_peek(s) != *word || (size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return false;
	s->p += n;
	return true;
}

/* After a value: a comma (*more) or the closing bracket. */
static bool next_or_close(struct scan *s, char bracket, bool *more)
{
	*more = scan_peek(s) == ',';
	if (*more) {
		s->p++;
		return true;
	}
	s->depth--;
	return take(s, bracket);
}

static bool open(struct scan *s, char bracket, char closing, bool *more)
{
	if (!take(s, bracket))
		return false;
	if (++s->depth > SCAN_DEPTH)
		return fault(s, SCAN_SYNTAX);
	*more = scan_peek(s) != closing;
	if (!*more) {
		s->depth--;
		s->p++;
	}
	return true;
}

bool scan_object(struct scan *s,
                 bool (*member)(void *arg, struct scan *s, const struct scan_text *key), void *arg)
{
	struct scan_text key;
	bool more;

	if (!open(s, '{', '}', &more))
		return false;
	while (more)
		if (!scan_string(s, &key) || !take(s, ':') || !member(arg, s, &key) ||
		    !next_or_close(s, '}', &more))
			return false;
	return true;
}

bool scan_array(struct scan *s, bool (*element)(void *arg, struct scan *s), void *arg)
{
	bool more;

	if (!open(s, '[', ']', &more))
		return false;
	while (more)
		if (!element(arg, s) || !next_or_close(s, ']', &more))
			return false;
	return true;
}

static bool skip_member(void *arg, struct scan *s, const struct scan_text *key)
{
	(void)arg;
	(void)key;
	return scan_skip(s);
}

static bool skip_element(void *arg, struct scan *s)
{
	(void)arg;
	return scan_skip(s);
}

bool scan_skip(struct scan *s)
{
	struct scan_text text;
	double number;

	switch (scan_peek(s)) {
	case '"':
		return scan_string(s, &text);
	case '{':
		return scan_object(s, skip_member, NULL);
	case '[':
		return scan_array(s, skip_element, NULL);
	case 't':
		return scan_word(s, "true") || fault(s, SCAN_SYNTAX);
	case 'f':
		return scan_word(s, "false") || fault(s, SCAN_SYNTAX);
	case 'n':
		return scan_word(s, "null") || fault(s, SCAN_SYNTAX);
	default:
		return scan_number(s, &number);
	}
}
