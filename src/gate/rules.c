/* The tolerance file: rows of patterns, the first that fits decides. */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "gate/gate.h"

static enum status wrong(const struct json_doc *doc, const cJSON *node, const char *what,
                         struct error *err)
{
	return error_set(err, ST_PARSE, MSG_gate_bad_tolerance, json_place(doc, node), what);
}

static const char *pattern_of(struct arena *arena, const cJSON *row)
{
	return arena_str(arena, json_string(row, "pattern", NULL));
}

static enum status read_tolerances(struct gate_rules *rules, struct arena *arena,
                                   const struct json_doc *doc, struct error *err)
{
	static const char *const keys[] = {"tolerance", "run_to_run"};
	const cJSON *list = json_get(doc->root, "tolerances"), *row;

	rules->tolerances = arena_array(arena, (size_t)cJSON_GetArraySize(list) + 1,
	                                sizeof(*rules->tolerances));
	cJSON_ArrayForEach(row, list)
	{
		struct gate_tolerance *t = &rules->tolerances[rules->n_tolerances++];
		double value[2];

		for (int i = 0; i < 2; i++) {
			value[i] = json_number(row, keys[i], NAN);
			if (!(value[i] >= 0 && value[i] <= 1))
				return wrong(doc, row, say(MSG_gate_number_wrong, keys[i]), err);
		}
		*t = (struct gate_tolerance){pattern_of(arena, row), value[0], value[1]};
		if (!t->pattern)
			return wrong(doc, row, say(MSG_gate_row_wrong, "tolerance"), err);
	}
	return ST_OK;
}

static enum status read_classes(struct gate_rules *rules, struct arena *arena,
                                const struct json_doc *doc, struct error *err)
{
	static const char *const words[GATE_CLASSES] = {"harmless", "watch", "breaking"};
	const cJSON *list = json_get(doc->root, "classes"), *row;

	rules->classes =
		arena_array(arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof(*rules->classes));
	cJSON_ArrayForEach(row, list)
	{
		struct gate_classed *c = &rules->classes[rules->n_classes++];
		const char *word = json_string(row, "class", NULL);
		int class = 0;

		c->pattern = pattern_of(arena, row);
		if (!word || !c->pattern)
			return wrong(doc, row, say(MSG_gate_row_wrong, "class"), err);
		while (class < GATE_CLASSES && strcmp(words[class], word) != 0)
			class ++;
		if (class == GATE_CLASSES)
			return wrong(doc, row, say(MSG_gate_class_wrong), err);
		c->class = (enum gate_class) class;
	}
	return ST_OK;
}

enum status gate_rules_read(struct gate_rules *rules, struct arena *arena, const char *name,
                            const char *text, size_t len, struct error *err)
{
	struct json_doc doc;
	enum status st = json_parse(&doc, name, text, len, JSON_COMMENTS, err);

	*rules = (struct gate_rules){0};
	if (st != ST_OK)
		return st;
	if (json_number(doc.root, "v", 0) != 1)
		st = wrong(&doc, doc.root, say(MSG_gate_version_wrong), err);
	if (st == ST_OK)
		st = read_tolerances(rules, arena, &doc, err);
	if (st == ST_OK)
		st = read_classes(rules, arena, &doc, err);
	json_release(&doc);
	return st;
}

/* What no row fits gets no tolerance: the file ends with a row for all. */
struct gate_tolerance gate_tolerance_of(const struct gate_rules *rules, const char *metric)
{
	for (int i = 0; i < rules->n_tolerances; i++)
		if (fnmatch(rules->tolerances[i].pattern, metric, 0) == 0)
			return rules->tolerances[i];
	return (struct gate_tolerance){"", 0, 0};
}

enum gate_class gate_class_of(const struct gate_rules *rules, const char *member)
{
	for (int i = 0; i < rules->n_classes; i++)
		if (fnmatch(rules->classes[i].pattern, member, 0) == 0)
			return rules->classes[i].class;
	return GATE_WATCH;
}
