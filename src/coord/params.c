/* Probe parameters: lookup, checking, defaults by budget. */
#include "coord/params.h"

#include <string.h>

#include "base/str.h"
#include "base/unit.h"

#define MOST_INTS 11

const struct param *param_find(const struct probe *probe, const char *name)
{
	for (const struct param *p = probe->params; p && p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

double param_number(const struct param *row, const char *value)
{
	int64_t whole = 0;
	double number = 0;

	switch (row->kind) {
	case PARAM_INT:
		parse_int64(value, &whole);
		return (double)whole;
	case PARAM_SIZE:
		parse_size(value, &whole);
		return (double)whole;
	case PARAM_REAL:
		parse_double(value, &number);
		return number;
	case PARAM_WORD:
	case PARAM_INTS:
		break;
	}
	return 0;
}

/* Whether `text` is a list of different whole numbers within the row's bounds. */
static bool is_list(const struct param *row, const char *text)
{
	int64_t seen[MOST_INTS];
	int n = 0;

	for (;;) {
		size_t len = strcspn(text, ",");
		const char *one = tmpf("%.*s", (int)len, text);

		if (n == MOST_INTS || one[0] < '0' || one[0] > '9' || !parse_int64(one, &seen[n]) ||
		    (double)seen[n] < row->min || (double)seen[n] > row->max)
			return false;
		for (int i = 0; i < n; i++)
			if (seen[i] == seen[n])
				return false;
		n++;
		if (!text[len])
			return true;
		text += len + 1;
	}
}

enum status param_check(const struct probe *probe, const struct param *row, const char *value,
                        struct error *err)
{
	int64_t whole;
	double number;
	bool ok = false;

	switch (row->kind) {
	case PARAM_INT:
		ok = parse_int64(value, &whole);
		break;
	case PARAM_SIZE:
		ok = parse_size(value, &whole);
		break;
	case PARAM_REAL:
		ok = parse_double(value, &number);
		break;
	case PARAM_INTS:
		if (!is_list(row, value))
			return error_set(err, ST_USAGE, MSG_param_list, probe->name, row->name,
			                 value, fmt_value(row->min), fmt_value(row->max),
			                 tmpf("%d", MOST_INTS));
		return ST_OK;
	case PARAM_WORD:
		if (row->words && !word_in(row->words, value))
			return error_set(err, ST_USAGE, MSG_param_word, probe->name, row->name,
			                 value, row->words);
		return ST_OK;
	}
	if (!ok)
		return error_set(err, ST_USAGE, MSG_param_number, probe->name, row->name, value);
	number = param_number(row, value);
	if (number < row->min || number > row->max)
		return error_set(err, ST_USAGE, MSG_param_range, probe->name, row->name, value,
		                 fmt_value(row->min), fmt_value(row->max), row->unit);
	return ST_OK;
}

const char *param_value(const struct probe *probe, const struct param *row, enum budget budget,
                        const struct setting *settings, int n_settings)
{
	for (int i = n_settings - 1; i >= 0; i--)
		if (strcmp(settings[i].probe, probe->name) == 0 &&
		    strcmp(settings[i].key, row->name) == 0)
			return settings[i].value;
	return row->value[budget];
}

static enum status unknown_key(const struct probe *probe, const char *key, struct error *err)
{
	const char *names[65] = {0};
	const char *near;
	int n = 0;

	for (const struct param *p = probe->params; p && p->name && n < 64; p++)
		names[n++] = p->name;
	near = nearest_word(key, names);
	if (near)
		return error_set(err, ST_USAGE, MSG_param_unknown_near, probe->name, key, near);
	return error_set(err, ST_USAGE, MSG_param_unknown, probe->name, key);
}

enum status probe_named(const struct probe **out, const struct probe *const *probes,
                        const char *name, struct error *err)
{
	const char *names[65] = {0};
	const char *near;

	for (int i = 0; probes[i] && i < 64; i++) {
		names[i] = probes[i]->name;
		if (strcmp(probes[i]->name, name) == 0) {
			*out = probes[i];
			return ST_OK;
		}
	}
	near = nearest_word(name, names);
	if (near)
		return error_set(err, ST_USAGE, MSG_probe_unknown_near, name, near);
	return error_set(err, ST_USAGE, MSG_probe_unknown, name);
}

enum status setting_parse(struct setting *out, struct arena *arena,
                          const struct probe *const *probes, const struct probe *probe,
                          const char *text, struct error *err)
{
	const char *equals = strchr(text, '=');
	const char *dot = strchr(text, '.');
	const struct param *row;
	enum status st;

	if (!equals || equals == text)
		return error_set(err, ST_USAGE, MSG_setting_form, text);
	if (dot && dot < equals) {
		st = probe_named(&probe, probes, arena_strn(arena, text, (size_t)(dot - text)),
		                 err);
		if (st != ST_OK)
			return st;
		text = dot + 1;
	}
	if (!probe)
		return error_set(err, ST_USAGE, MSG_setting_probe, text);
	out->probe = probe->name;
	out->key = arena_strn(arena, text, (size_t)(equals - text));
	out->value = arena_str(arena, equals + 1);
	row = param_find(probe, out->key);
	if (!row)
		return unknown_key(probe, out->key, err);
	return param_check(probe, row, out->value, err);
}
