/* Text on a terminal: how many columns it takes, wrapping, cutting. Widths are
 * decided from code points, not by wcwidth, which knows nothing in a C locale. */
#include <string.h>

#include "report/words.h"

/* The code point of a valid character of n bytes; a lone byte is itself. */
static unsigned code_point(const char *p, int n)
{
	const unsigned char *s = (const unsigned char *)p;

	switch (n) {
	case 2:
		return (s[0] & 31u) << 6 | (s[1] & 63u);
	case 3:
		return (s[0] & 15u) << 12 | (s[1] & 63u) << 6 | (s[2] & 63u);
	case 4:
		return (s[0] & 7u) << 18 | (s[1] & 63u) << 12 | (s[2] & 63u) << 6 | (s[3] & 63u);
	default:
		return s[0];
	}
}

/* Wide East Asian characters take two columns, marks that combine none. */
static int char_columns(const char *p, int n)
{
	unsigned c = code_point(p, n);

	if (c >= 0x300 && c <= 0x36f)
		return 0;
	return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
	                       (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
	                       (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
	                       (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x3fffd)
	               ? 2
	               : 1;
}

/* The next character: its bytes (an invalid byte counts as one) and columns. */
static int step(const char *p, const char *end, int *columns)
{
	int n = utf8_len(p, end);

	*columns = n ? char_columns(p, n) : 1;
	return n ? n : 1;
}

static int columns_of(const char *text, size_t len)
{
	const char *end = text + len;
	int columns = 0, one;

	while (text < end) {
		text += step(text, end, &one);
		columns += one;
	}
	return columns;
}

int words_columns(const char *text)
{
	return columns_of(text, strlen(text));
}

/* Bytes of the longest beginning that fits into `room` columns. */
static size_t fitting(const char *text, size_t len, int room)
{
	const char *p = text, *end = text + len;
	int one;

	while (p < end) {
		int n = step(p, end, &one);

		if (one > room)
			break;
		room -= one;
		p += n;
	}
	return (size_t)(p - text);
}

void words_cut(struct str *out, const char *text, int columns)
{
	const char *sign = "...";
	size_t len = strlen(text);

	if (columns_of(text, len) <= columns) {
		str_add(out, text);
		return;
	}
	str_addn(out, text, fitting(text, len, columns - words_columns(sign)));
	str_add(out, sign);
}

void words_ascii(struct str *out, const char *text)
{
	const char *end = text + strlen(text);
	int one;

	while (text < end) {
		int n = step(text, end, &one);

		if ((unsigned char)*text < 0x80)
			str_addc(out, *text);
		else
			str_pad(out, '?', (size_t)one);
		text += n;
	}
}

/* --- wrapping ------------------------------------------------------------------ */

static int new_line(struct str *out, int indent)
{
	str_addc(out, '\n');
	str_pad(out, ' ', (size_t)indent);
	return indent;
}

/* A word longer than a line is broken rather than cut: an id or a path must
 * stay whole for copying. Where it can, behind a sign that parts it. */
static size_t break_at(const char *word, size_t len, int room)
{
	size_t fits = fitting(word, len, room);

	if (fits == len)
		return len;
	for (size_t i = fits; i > fits / 2; i--)
		if (strchr("/-._,:", word[i - 1]))
			return i;
	return fits;
}

static int add_word(struct str *out, const char *word, size_t len, int column, int indent,
                    int width)
{
	while (len) {
		size_t n = break_at(word, len, width - column);

		if (n == 0 && column > indent) {
			column = new_line(out, indent);
			continue;
		}
		n = n ? n : len; /* not even one character fits: give up on the width */
		str_addn(out, word, n);
		column += columns_of(word, n);
		word += n;
		len -= n;
		if (len)
			column = new_line(out, indent);
	}
	return column;
}

/* A line does not begin with what closes or goes on, nor end with what opens. */
static bool closes(unsigned c)
{
	static const unsigned list[] = {0x3001, 0x3002, 0x3009, 0x300b, 0x300d, 0x300f, 0x3011,
	                                0xff01, 0xff09, 0xff0c, 0xff0e, 0xff1a, 0xff1b, 0xff1f};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (c == list[i])
			return true;
	return c < 0x80 && c && strchr(",.;:!?)]}%\"'", (int)c);
}

static bool opens(unsigned c)
{
	return c == 0x3008 || c == 0x300a || c == 0x300c || c == 0x300e || c == 0x3010 ||
	       c == 0xff08 || c == '(' || c == '[' || c == '{' || c == '"';
}

/* What stays together: up to the next blank, and between wide characters, which
 * have no blanks, every one with the signs that belong to it. */
static size_t unbroken(const char *text)
{
	const char *end = text + strcspn(text, " \n"), *p = text;
	unsigned before = 0;
	int columns = 0;

	while (p < end) {
		int one, n = step(p, end, &one);
		unsigned c = code_point(p, n);

		if (p > text && (columns == 2 || one == 2) && !closes(c) && !opens(before))
			break;
		before = c;
		columns = one;
		p += n;
	}
	return (size_t)(p - text);
}

void words_wrap(struct str *out, const char *text, int column, int indent, int width)
{
	bool fresh = true;

	text += strspn(text, " \n");
	while (*text) {
		size_t len = unbroken(text), blanks = strspn(text + len, " \n");
		int columns = columns_of(text, len);
		bool apart = !fresh && strchr(" \n", text[-1]);

		if (!fresh && column + apart + columns > width && indent + columns <= width) {
			column = new_line(out, indent);
		} else if (apart && column + 1 < width) {
			str_addc(out, ' ');
			column++;
		} else if (apart) {
			column = new_line(out, indent);
		}
		column = add_word(out, text, len, column, indent, width);
		fresh = false;
		text += len + blanks;
	}
	str_addc(out, '\n');
}
