/* Typed members of a profile with errors that say where: a customer edits
 * these files by hand, so each complaint names the place and the nearest
 * word that would have been right. */
#include "score/profile_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

const char *member_place(const struct member *m)
{
	return json_place(m->doc, m->node);
}

struct member member_child(const struct member *object, const char *key)
{
	return (struct member){key, json_get(object->node, key), object->doc};
}

enum status member_type_error(const struct reader *r, const struct member *m, const char *what)
{
	return error_set(r->err, ST_PARSE, MSG_profile_type, member_place(m), m->key, what);
}

enum status member_text(const struct reader *r, const struct member *m, const char **out)
{
	if (!cJSON_IsString(m->node) || !*m->node->valuestring)
		return member_type_error(r, m, say(MSG_profile_want_text));
	*out = arena_str(&r->profile->arena, m->node->valuestring);
	return ST_OK;
}

enum status member_number(const struct reader *r, const struct member *m, double min, double max,
                          double *out)
{
	if (!cJSON_IsNumber(m->node))
		return member_type_error(r, m, say(MSG_profile_want_number));
	*out = m->node->valuedouble;
	if (!(*out >= min && *out <= max))
		return error_set(r->err, ST_RANGE, MSG_profile_range, member_place(m), m->key,
		                 fmt_value(*out), fmt_value(min), fmt_value(max));
	return ST_OK;
}

enum status member_count(const struct reader *r, const struct member *m, int64_t *out)
{
	double value = 0;
	enum status st = member_number(r, m, 0, 1e9, &value);

	if (st != ST_OK)
		return st;
	if (value != floor(value))
		return member_type_error(r, m, say(MSG_profile_want_count));
	*out = (int64_t)value;
	return ST_OK;
}

enum status member_bool(const struct reader *r, const struct member *m, bool *out)
{
	if (!cJSON_IsBool(m->node))
		return member_type_error(r, m, say(MSG_profile_want_bool));
	*out = cJSON_IsTrue(m->node);
	return ST_OK;
}

enum status member_object(const struct reader *r, const struct member *m)
{
	return cJSON_IsObject(m->node) ? ST_OK
	                               : member_type_error(r, m, say(MSG_profile_want_object));
}

enum status member_array(const struct reader *r, const struct member *m)
{
	return cJSON_IsArray(m->node) ? ST_OK
	                              : member_type_error(r, m, say(MSG_profile_want_array));
}

static void join_words(struct str *out, const char *const *words)
{
	for (int i = 0; words[i]; i++) {
		str_add(out, i ? ", " : "");
		str_add(out, words[i]);
	}
}

enum status unknown_word(const struct reader *r, const struct member *m, const char *what,
                         const char *word, const char *const *words)
{
	const char *near = nearest_word(word, words);
	struct str all = {0};

	if (near)
		return error_set(r->err, ST_PARSE, MSG_profile_unknown_near, member_place(m), what,
		                 word, near);
	join_words(&all, words);
	error_set(r->err, ST_PARSE, MSG_profile_unknown, member_place(m), what, word,
	          str_text(&all));
	str_release(&all);
	return ST_PARSE;
}

enum status member_word(const struct reader *r, const struct member *m, const char *const *words,
                        int *out)
{
	if (!cJSON_IsString(m->node))
		return member_type_error(r, m, say(MSG_profile_want_text));
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], m->node->valuestring) == 0) {
			*out = i;
			return ST_OK;
		}
	}
	return unknown_word(r, m, m->key, m->node->valuestring, words);
}

enum status check_known_keys(const struct reader *r, const struct member *object,
                             const char *const *known)
{
	for (const cJSON *c = object->node->child; c; c = c->next) {
		struct member m = {c->string, c, object->doc};
		bool found = false;

		for (int i = 0; known[i] && !found; i++)
			found = strcmp(known[i], c->string) == 0;
		if (!found)
			return unknown_word(r, &m, say(MSG_profile_key), c->string, known);
	}
	return ST_OK;
}

/* --- metrics ---------------------------------------------------------------------- */

static const struct metric *find_in(const struct metric *table, const char *name)
{
	for (; table && table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

const struct metric *metric_find(const struct metric_set *set, const char *name, bool *is_planned)
{
	const struct metric *found = NULL;

	for (const struct metric *const *t = set->tables; t && *t && !found; t++)
		found = find_in(*t, name);
	if (is_planned)
		*is_planned = !found;
	return found ? found : find_in(set->planned, name);
}

static int add_names(const char **names, int n, const struct metric *table)
{
	for (; table && table->name; table++, n++)
		if (names)
			names[n] = table->name;
	return n;
}

const char *const *metric_names(const struct reader *r)
{
	const char **names = NULL;

	for (int pass = 0; pass < 2; pass++) {
		int n = 0;

		for (const struct metric *const *t = r->metrics->tables; t && *t; t++)
			n = add_names(names, n, *t);
		n = add_names(names, n, r->metrics->planned);
		if (!names)
			names = arena_array(&r->profile->arena, (size_t)n + 1, sizeof(*names));
	}
	return names;
}

enum status member_metric(const struct reader *r, const struct member *m,
                          const struct metric **metric, bool *planned)
{
	const char *name = "", *near;
	enum status st = member_text(r, m, &name);

	if (st != ST_OK)
		return st;
	*metric = metric_find(r->metrics, name, planned);
	if (*metric)
		return ST_OK;
	near = nearest_word(name, metric_names(r));
	if (near)
		return error_set(r->err, ST_PARSE, MSG_profile_metric_near, member_place(m), name,
		                 near);
	return error_set(r->err, ST_PARSE, MSG_profile_metric, member_place(m), name);
}
