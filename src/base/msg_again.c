/* A sentence that was made in English said in another language. Errors and
 * reasons are put together where their cause is known, often one inside the
 * other and in another process, and are stored in English; the catalogue knows
 * the words each of them has between its arguments, and so finds it again. */
#include <ctype.h>
#include <string.h>

#include "base/msg.h"

#define MAX_ARGS    9
#define MAX_NESTED  4
#define LEAST_WORDS 8 /* letters: "{1} of {2}" would be found in anything */
#define LEAST_ALONE 6 /* without arguments */

struct part {
	const char *text;
	size_t len;
};

/* A text taken apart by the words of one message. */
struct taken {
	struct part args[MAX_ARGS];
	int n, letters;
};

static int placeholder(const char *p)
{
	return p[0] == '{' && p[1] >= '1' && p[1] <= '9' && p[2] == '}' ? p[1] - '0' : 0;
}

static int letters_of(const char *text, size_t len)
{
	int n = 0;

	for (size_t i = 0; i < len; i++)
		n += isalpha((unsigned char)text[i]) != 0;
	return n;
}

static size_t words_len(const char *format)
{
	size_t len = 0;

	while (format[len] && !placeholder(format + len))
		len++;
	return len;
}

static const char *find(const char *text, const char *end, const char *words, size_t len)
{
	for (; (size_t)(end - text) >= len; text++)
		if (memcmp(text, words, len) == 0)
			return text;
	return NULL;
}

/* Words stand where they come first; the last ones, where the text ends. */
static bool take_apart(struct taken *t, const char *format, struct part text)
{
	const char *p = text.text, *end = text.text + text.len;
	size_t len = words_len(format);

	*t = (struct taken){.letters = letters_of(format, len)};
	if (text.len < len || memcmp(p, format, len) != 0)
		return false;
	p += len;
	format += len;
	while (*format) {
		int arg = placeholder(format);
		const char *at;

		format += 3;
		len = words_len(format);
		t->letters += letters_of(format, len);
		if (format[len])
			at = len ? find(p, end, format, len) : NULL;
		else
			at = (size_t)(end - p) >= len && memcmp(end - len, format, len) == 0
			             ? end - len
			             : NULL;
		if (!at)
			return false;
		t->args[arg - 1] = (struct part){p, (size_t)(at - p)};
		t->n = arg > t->n ? arg : t->n;
		p = at + len;
		format += len;
	}
	return p == end;
}

/* The message with the most words in common. */
static bool recognise(enum msg *id, struct taken *best, struct part text)
{
	*best = (struct taken){.letters = LEAST_ALONE - 1};
	for (int i = 0; i < MSG_COUNT; i++) {
		struct taken t;

		if (take_apart(&t, msg_text(LANGUAGE_EN, (enum msg)i), text) &&
		    t.letters >= (t.n ? LEAST_WORDS : LEAST_ALONE) && t.letters > best->letters) {
			*best = t;
			*id = (enum msg)i;
		}
	}
	return best->letters >= LEAST_ALONE;
}

/* "27 min": too few words to be found by them, but nothing else looks so. */
static bool recognise_duration(enum msg *id, struct taken *t, struct part text)
{
	static const enum msg durations[] = {MSG_duration_s, MSG_duration_min_s, MSG_duration_min,
	                                     MSG_duration_h_min};

	for (size_t i = 0; i < sizeof(durations) / sizeof(*durations); i++) {
		bool numbers = take_apart(t, msg_text(LANGUAGE_EN, durations[i]), text);

		for (int k = 0; k < t->n && numbers; k++)
			numbers = t->args[k].len &&
			          strspn(t->args[k].text, "0123456789.") >= t->args[k].len;
		*id = durations[i];
		if (numbers)
			return true;
	}
	return false;
}

static void again(struct str *out, struct part text, int nested);

static void say_taken(struct str *out, enum msg id, const struct taken *t, int nested)
{
	struct str said[MAX_ARGS] = {0};
	const char *args[MAX_ARGS + 1] = {0};

	for (int i = 0; i < t->n; i++) {
		/* A single word is a name, whatever else it may mean. */
		if (t->args[i].len && memchr(t->args[i].text, ' ', t->args[i].len))
			again(&said[i], t->args[i], nested + 1);
		else
			str_addn(&said[i], t->args[i].text ? t->args[i].text : "", t->args[i].len);
		args[i] = str_text(&said[i]);
	}
	msg_add_list(out, id, args);
	for (int i = 0; i < t->n; i++)
		str_release(&said[i]);
}

static void again(struct str *out, struct part text, int nested)
{
	const char *end = text.text + text.len, *rest;
	struct taken t;
	enum msg id;

	if (nested < MAX_NESTED &&
	    (recognise_duration(&id, &t, text) || recognise(&id, &t, text))) {
		say_taken(out, id, &t, nested);
		return;
	}
	rest = nested < MAX_NESTED ? find(text.text, end, ": ", 2) : NULL;
	if (!rest) {
		str_addn(out, text.text, text.len);
		return;
	}
	rest += 2;
	str_addn(out, text.text, (size_t)(rest - text.text));
	again(out, (struct part){rest, (size_t)(end - rest)}, nested + 1);
}

void msg_again(struct str *out, const char *english)
{
	if (msg_spoken() == LANGUAGE_EN) {
		str_add(out, english);
		return;
	}
	/* No message goes over lines; texts of several are several. */
	while (*english) {
		size_t len = strcspn(english, "\n");

		again(out, (struct part){english, len}, 0);
		english += len;
		if (*english)
			str_addc(out, *english++);
	}
}

void msg_add_again(struct str *out, enum msg id, const char *const *args)
{
	struct taken t = {0};

	for (; t.n < MAX_ARGS && args[t.n]; t.n++)
		t.args[t.n] = (struct part){args[t.n], strlen(args[t.n])};
	if (msg_spoken() == LANGUAGE_EN)
		msg_add_list(out, id, args);
	else
		say_taken(out, id, &t, 0);
}
