/* JSON out: a streaming writer on a text buffer. Escaping, commas and number
 * forms are decided here and nowhere else. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct json_out json_writer(struct str *out, int indent)
{
	return (struct json_out){.out = out, .indent = indent, .first = true};
}

static void newline(struct json_out *j)
{
	if (j->indent) {
		str_addc(j->out, '\n');
		str_pad(j->out, ' ', (size_t)(j->indent * j->depth));
	}
}

static void begin_value(struct json_out *j, const char *key)
{
	if (!j->first)
		str_addc(j->out, ',');
	if (j->depth > 0)
		newline(j);
	j->first = false;
	if (key) {
		json_quote(j->out, key, strlen(key));
		str_add(j->out, j->indent ? ": " : ":");
	}
}

static void open(struct json_out *j, const char *key, char bracket)
{
	begin_value(j, key);
	str_addc(j->out, bracket);
	j->depth++;
	j->first = true;
}

static void close(struct json_out *j, char bracket)
{
	j->depth--;
	if (!j->first)
		newline(j);
	str_addc(j->out, bracket);
	j->first = false;
}

void json_object_begin(struct json_out *j, const char *key)
{
	open(j, key, '{');
}
void json_object_end(struct json_out *j)
{
	close(j, '}');
}
void json_array_begin(struct json_out *j, const char *key)
{
	open(j, key, '[');
}
void json_array_end(struct json_out *j)
{
	close(j, ']');
}

void json_put_raw(struct json_out *j, const char *key, const char *json)
{
	begin_value(j, key);
	str_add(j->out, json);
}

void json_put_null(struct json_out *j, const char *key)
{
	json_put_raw(j, key, "null");
}

void json_put_bool(struct json_out *j, const char *key, bool value)
{
	json_put_raw(j, key, value ? "true" : "false");
}

void json_put_string(struct json_out *j, const char *key, const char *value)
{
	if (!value) {
		json_put_null(j, key);
		return;
	}
	begin_value(j, key);
	json_quote(j->out, value, strlen(value));
}

void json_put_number(struct json_out *j, const char *key, double value)
{
	if (!isfinite(value)) {
		json_put_null(j, key);
		return;
	}
	begin_value(j, key);
	json_number_text(j->out, value);
}

void json_put_int(struct json_out *j, const char *key, int64_t value)
{
	bool exact = value >= -(1LL << 53) && value <= 1LL << 53;

	begin_value(j, key);
	str_addf(j->out, exact ? "%lld" : "\"%lld\"", (long long)value);
}

void json_number_text(struct str *out, double value)
{
	char text[32];

	/* Whole numbers, the bulk of all figures, need no search. */
	if (value == floor(value) && fabs(value) < 1e15) {
		str_addf(out, "%.0f", value == 0 ? 0.0 : value);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	str_add(out, text);
}

void json_quote(struct str *out, const char *text, size_t len)
{
	const char *end = text + len, *plain = text;

	str_addc(out, '"');
	while (text < end) {
		unsigned char c = (unsigned char)*text;
		int n = c < 0x80 ? 1 : utf8_len(text, end);

		if (n > 0 && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
			text += n;
			continue;
		}
		str_addn(out, plain, (size_t)(text - plain));
		if (n == 0)
			str_add(out, "\xef\xbf\xbd");
		else if (c == '"' || c == '\\')
			str_addf(out, "\\%c", c);
		else if (c == '\n')
			str_add(out, "\\n");
		else if (c == '\t')
			str_add(out, "\\t");
		else
			str_addf(out, "\\u%04x", c);
		plain = ++text;
	}
	str_addn(out, plain, (size_t)(text - plain));
	str_addc(out, '"');
}
