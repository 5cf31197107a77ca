/* run.json from one table: writer and reader cannot disagree about a member.
 *
 * To add a text: a member in struct run_info and a row here. */
#include "run/run_json.h"

#include <stddef.h>

#include "base/json.h"

struct text_row {
	const char *name;
	size_t at;
	bool required;
};

#define ROW(name, required)                                                                        \
	{                                                                                          \
#name, offsetof(struct run_info, name), required                                   \
	}

static const struct text_row texts[] = {
	ROW(id, true),      ROW(created, true),  ROW(version, true),
	ROW(build, true),   ROW(host, true),     ROW(command, true),
	ROW(vendor, false), ROW(profile, false), ROW(profile_sha256, false),
	ROW(budget, true),  ROW(seed, true),     ROW(waived_by, false),
};

struct list_row {
	const char *name;
	size_t at, count_at;
};

#define LIST(name)                                                                                 \
	{                                                                                          \
#name, offsetof(struct run_info, name), offsetof(struct run_info, n_##name)        \
	}

static const struct list_row lists[] = {LIST(storage),  LIST(only),  LIST(skip),
                                        LIST(settings), LIST(waive), LIST(reasons)};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

enum status run_json_format(struct str *out, const struct run_info *info, struct error *err)
{
	const char *base = (const char *)info;
	struct json_out j = json_writer(out, 2);

	json_object_begin(&j, NULL);
	json_put_int(&j, "v", RUN_VERSION);
	for (size_t i = 0; i < COUNT(texts); i++) {
		const char *text = *(const char *const *)(base + texts[i].at);

		if (!text && texts[i].required)
			return error_set(err, ST_INTERNAL, MSG_run_missing, "run.json",
			                 texts[i].name);
		json_put_string(&j, texts[i].name, text);
	}
	json_object_begin(&j, "expected");
	json_put_int(&j, "nodes", info->expected_nodes);
	if (info->expected_cards < 0)
		json_put_null(&j, "cards");
	else
		json_put_int(&j, "cards", info->expected_cards);
	json_object_end(&j);
	for (size_t i = 0; i < COUNT(lists); i++) {
		const char *const *list = *(const char *const *const *)(base + lists[i].at);
		int count = *(const int *)(base + lists[i].count_at);

		json_array_begin(&j, lists[i].name);
		for (int k = 0; k < count; k++)
			json_put_string(&j, NULL, list[k]);
		json_array_end(&j);
	}
	json_object_end(&j);
	str_addc(out, '\n');
	return ST_OK;
}

/* --- reading ------------------------------------------------------------------ */

static enum status read_text(char *base, const struct text_row *row, struct arena *arena,
                             const struct json_doc *doc, struct error *err)
{
	const cJSON *n = json_get(doc->root, row->name);

	if (cJSON_IsString(n))
		*(const char **)(base + row->at) = arena_str(arena, n->valuestring);
	else if (n && !(cJSON_IsNull(n) && !row->required))
		return error_set(err, ST_PARSE, MSG_run_member, json_place(doc, n), row->name);
	else if (!n && row->required)
		return error_set(err, ST_PARSE, MSG_run_missing, doc->name, row->name);
	return ST_OK;
}

static enum status read_list(char *base, const struct list_row *row, struct arena *arena,
                             const struct json_doc *doc, struct error *err)
{
	const cJSON *n = json_get(doc->root, row->name), *item;
	int count = 0;
	const char **list;

	if (!n)
		return ST_OK;
	if (!cJSON_IsArray(n))
		return error_set(err, ST_PARSE, MSG_run_member, json_place(doc, n), row->name);
	list = arena_array(arena, (size_t)cJSON_GetArraySize(n) + 1, sizeof(*list));
	cJSON_ArrayForEach(item, n)
	{
		if (!cJSON_IsString(item))
			return error_set(err, ST_PARSE, MSG_run_member, json_place(doc, item),
			                 row->name);
		list[count++] = arena_str(arena, item->valuestring);
	}
	*(const char *const **)(base + row->at) = list;
	*(int *)(base + row->count_at) = count;
	return ST_OK;
}

static enum status read_expected(struct run_info *info, const struct json_doc *doc,
                                 struct error *err)
{
	const cJSON *expected = json_get(doc->root, "expected");
	const cJSON *cards = json_get(expected, "cards");

	if (!cJSON_IsObject(expected))
		return error_set(err, ST_PARSE, MSG_run_missing, doc->name, "expected");
	info->expected_nodes = json_int64(expected, "nodes", -1);
	info->expected_cards = json_int64(expected, "cards", -1);
	if (info->expected_nodes < 0)
		return error_set(err, ST_PARSE, MSG_run_member, json_place(doc, expected),
		                 "expected.nodes");
	if (cards && !cJSON_IsNull(cards) && info->expected_cards < 0)
		return error_set(err, ST_PARSE, MSG_run_member, json_place(doc, cards),
		                 "expected.cards");
	return ST_OK;
}

static enum status read_all(struct run_info *info, struct arena *arena, const struct json_doc *doc,
                            struct error *err)
{
	int64_t version = json_int64(doc->root, "v", 0);
	enum status st = ST_OK;

	if (version < 1)
		return error_set(err, ST_PARSE, MSG_run_missing, doc->name, "v");
	if (version > RUN_VERSION)
		return error_set(err, ST_PARSE, MSG_run_newer, doc->name,
		                 tmpf("%lld", (long long)version), tmpf("%d", RUN_VERSION));
	for (size_t i = 0; i < COUNT(texts) && st == ST_OK; i++)
		st = read_text((char *)info, &texts[i], arena, doc, err);
	for (size_t i = 0; i < COUNT(lists) && st == ST_OK; i++)
		st = read_list((char *)info, &lists[i], arena, doc, err);
	return st == ST_OK ? read_expected(info, doc, err) : st;
}

enum status run_json_parse(struct run_info *info, struct arena *arena, const char *path,
                           const char *text, size_t len, struct error *err)
{
	struct json_doc doc;
	enum status st;

	*info = (struct run_info){0};
	st = json_parse(&doc, path, text, len, JSON_STRICT, err);
	if (st != ST_OK)
		return ST_PARSE;
	st = read_all(info, arena, &doc, err);
	json_release(&doc);
	return st;
}
