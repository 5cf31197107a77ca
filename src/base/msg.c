/* The catalogue as a table, and the one formatter of user texts: {1} to {9}
 * are replaced by string arguments in any order, so other languages can order
 * them as they need. */
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

const char *msg_format(enum msg id)
{
	return catalogue[id].text;
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

void msg_add_list(struct str *out, enum msg id, const char *const *args)
{
	int given = 0;

	while (args[given])
		given++;
	for (const char *p = msg_format(id); *p; p++) {
		int n = placeholder(p);

		if (n == 0) {
			str_addc(out, *p);
			continue;
		}
		str_add(out, n <= given ? args[n - 1] : "?");
		p += 2;
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
