/* The catalogue as a table, and the one formatter of user texts: {1} to {9}
 * are replaced by string arguments in any order, so other languages can order
 * them as they need. Recognising an English text again is in msg_again.c. */
#include "base/msg.h"

#include <string.h>

static const struct {
	const char *name;
	const char *text;
} catalogue[MSG_COUNT] = {
#define MSG(id, english) {#id, english},
#include "base/messages/all.def"
#undef MSG
};

static const char *const chinese[MSG_COUNT] = {
#define ZH(id, text) [MSG_##id] = text,
#include "base/messages/zh/all.def"
#undef ZH
};

static enum language reader;
static _Thread_local enum language spoken;

enum language msg_speak(enum language language)
{
	enum language before = spoken;

	spoken = language;
	return before;
}

enum language msg_spoken(void)
{
	return spoken;
}

void msg_set_reader(enum language language)
{
	reader = language;
}

enum language msg_reader(void)
{
	return reader;
}

const char *msg_text(enum language language, enum msg id)
{
	return language == LANGUAGE_ZH ? chinese[id] : catalogue[id].text;
}

const char *msg_format(enum msg id)
{
	const char *text = msg_text(spoken, id);

	return text ? text : catalogue[id].text;
}

const char *msg_name(enum msg id)
{
	return catalogue[id].name;
}

bool msg_parse(const char *name, enum msg *id)
{
	for (int i = 0; i < MSG_COUNT; i++) {
		if (strcmp(catalogue[i].name, name) == 0) {
			*id = (enum msg)i;
			return true;
		}
	}
	return false;
}

static int placeholder(const char *p)
{
	return p[0] == '{' && p[1] >= '1' && p[1] <= '9' && p[2] == '}' ? p[1] - '0' : 0;
}

int msg_arity(const char *text)
{
	int highest = 0;

	for (; *text; text++) {
		int n = placeholder(text);

		if (n > highest)
			highest = n;
	}
	return highest;
}

/* Chinese characters and signs. */
static bool is_wide(unsigned char first)
{
	return first >= 0xe3 && first <= 0xef;
}

/* Rows keep a blank between Chinese and the names, figures and units that most
 * arguments are; between Chinese and Chinese there is none. */
static const char *add_argument(struct str *out, const char *arg, const char *rest)
{
	size_t len = strlen(arg);

	if (out->len > 3 && out->data[out->len - 1] == ' ' &&
	    is_wide((unsigned char)out->data[out->len - 4]) && is_wide((unsigned char)*arg))
		out->data[--out->len] = '\0';
	str_addn(out, arg, len);
	if (len > 2 && is_wide((unsigned char)arg[len - 3]) && *rest == ' ' &&
	    is_wide((unsigned char)rest[1]))
		rest++;
	return rest;
}

void msg_add_list(struct str *out, enum msg id, const char *const *args)
{
	const char *p = msg_format(id);
	int given = 0;

	while (args[given])
		given++;
	while (*p) {
		int n = placeholder(p);

		if (n == 0)
			str_addc(out, *p++);
		else
			p = add_argument(out, n <= given ? args[n - 1] : "?", p + 3);
	}
}

struct str *str_ring(void); /* str.c */

const char *say_list(enum msg id, const char *const *args)
{
	/* Built aside first: the arguments may live in the ring themselves. */
	struct str text = {0};
	struct str *s;

	msg_add_list(&text, id, args);
	s = str_ring();
	str_addn(s, str_text(&text), text.len);
	str_release(&text);
	return s->data;
}
