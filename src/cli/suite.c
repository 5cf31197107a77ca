/* Suites. They end up in run.json as if typed, so a resume needs no file. */
#include "cli/suite.h"

#include <string.h>

#include "base/json.h"

static enum status check_members(const struct json_doc *doc, struct error *err)
{
	if (!cJSON_IsObject(doc->root))
		return error_set(err, ST_PARSE, MSG_suite_empty, json_place(doc, doc->root));
	for (const cJSON *m = doc->root->child; m; m = m->next)
		if (!word_in("v|title|settings", m->string))
			return error_set(err, ST_PARSE, MSG_suite_member, json_place(doc, m),
			                 m->string);
	if (json_number(doc->root, "v", 0) != 1)
		return error_set(err, ST_PARSE, MSG_suite_version, json_place(doc, doc->root));
	return ST_OK;
}

static enum status take_settings(struct arena *arena, const struct json_doc *doc,
                                 const char *const **settings, int *count, struct error *err)
{
	const cJSON *list = json_get(doc->root, "settings");
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
	const char **texts = arena_array(arena, (size_t)n + 1, sizeof(*texts));

	if (n == 0)
		return error_set(err, ST_PARSE, MSG_suite_empty,
		                 json_place(doc, list ? list : doc->root));
	for (int i = 0; i < n; i++) {
		const cJSON *item = cJSON_GetArrayItem(list, i);

		if (!cJSON_IsString(item))
			return error_set(err, ST_PARSE, MSG_suite_text, json_place(doc, item));
		texts[i] = arena_str(arena, item->valuestring);
	}
	*settings = texts;
	*count = n;
	return ST_OK;
}

enum status suite_read(struct arena *arena, const char *path, const char *const **settings,
                       int *count, struct error *err)
{
	struct json_doc doc;
	enum status st = json_load(&doc, path, JSON_COMMENTS, err);

	if (st != ST_OK)
		return st;
	st = check_members(&doc, err);
	if (st == ST_OK)
		st = take_settings(arena, &doc, settings, count, err);
	json_release(&doc);
	return st;
}
