/* Waivers from options and from files. Whoever can write into the directory could grant
 * one: that is why every report shows them, and why none outlives the record it was
 * granted for. */
#include "run/waivers.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/msg.h"

#define WAIVERS_VERSION 1

static bool is_blank(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return !*text;
}

/* --- from options --------------------------------------------------------------------- */

enum status waiver_parse(struct waiver *w, struct arena *arena, const char *text,
                         const char *reason, const char *by, struct error *err)
{
	size_t len = strcspn(text, ",");

	*w = (struct waiver){.rule = arena_strn(arena, text, len),
	                     .subject = text[len] ? arena_str(arena, text + len + 1) : NULL,
	                     .reason = arena_str(arena, reason),
	                     .by = by ? arena_str(arena, by) : NULL};
	if (is_blank(w->rule) || (w->subject && is_blank(w->subject)))
		return error_set(err, ST_USAGE, MSG_waive_form, text);
	if (is_blank(reason))
		return error_set(err, ST_USAGE, MSG_waive_reason, text);
	return ST_OK;
}

enum status waivers_parse(struct waiver_list *list, struct arena *arena, const char *const *waive,
                          int n_waive, const char *const *reasons, int n_reasons, const char *by,
                          struct error *err)
{
	enum status st = ST_OK;

	*list = (struct waiver_list){
		.items = arena_array(arena, (size_t)n_waive + 1, sizeof(*list->items))};
	if (n_reasons < n_waive)
		return error_set(err, ST_USAGE, MSG_waive_reason, waive[n_reasons]);
	if (n_reasons > n_waive)
		return error_set(err, ST_USAGE, MSG_waive_none, reasons[n_waive]);
	if (by && !n_waive)
		return error_set(err, ST_USAGE, MSG_option_needs, "waived-by", "waive");
	for (int i = 0; i < n_waive && st == ST_OK; i++)
		st = waiver_parse(&list->items[list->n++], arena, waive[i], reasons[i], by, err);
	return st;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

void waivers_put(struct waiver_list *list, struct arena *arena, const struct waiver *w)
{
	struct waiver *more;

	for (int i = 0; i < list->n; i++)
		if (same(list->items[i].rule, w->rule) &&
		    same(list->items[i].subject, w->subject)) {
			list->items[i] = *w;
			return;
		}
	more = arena_array(arena, (size_t)list->n + 1, sizeof(*more));
	if (list->n)
		memcpy(more, list->items, (size_t)list->n * sizeof(*more));
	more[list->n++] = *w;
	list->items = more;
}

/* --- from files ------------------------------------------------------------------------ */

static const char *text_of(struct arena *arena, const cJSON *object, const char *key)
{
	const char *text = json_string(object, key, NULL);

	return text ? arena_str(arena, text) : NULL;
}

static enum status read_item(struct waiver_list *list, struct arena *arena,
                             const struct json_doc *doc, const cJSON *item, struct error *err)
{
	struct waiver w = {.rule = text_of(arena, item, "rule"),
	                   .subject = text_of(arena, item, "subject"),
	                   .reason = text_of(arena, item, "reason"),
	                   .by = text_of(arena, item, "by"),
	                   .granted = text_of(arena, item, "granted")};

	if (!cJSON_IsObject(item) || !w.rule || !w.reason || !w.granted || is_blank(w.reason))
		return error_set(err, ST_PARSE, MSG_waivers_item, json_place(doc, item));
	waivers_put(list, arena, &w);
	return ST_OK;
}

static enum status read_doc(struct waiver_list *list, struct arena *arena,
                            const struct json_doc *doc, const char *digest, struct error *err)
{
	const cJSON *items = json_get(doc->root, "waivers"), *item;
	int64_t version = json_int64(doc->root, "v", 0);
	enum status st = ST_OK;

	if (version > WAIVERS_VERSION)
		return error_set(err, ST_PARSE, MSG_run_newer, doc->name,
		                 tmpf("%lld", (long long)version), tmpf("%d", WAIVERS_VERSION));
	if (version < 1 || !cJSON_IsArray(items))
		return error_set(err, ST_PARSE, MSG_waivers_form, doc->name);
	if (!same(json_string(doc->root, "run_digest", NULL), digest)) {
		list->stale = cJSON_GetArraySize(items);
		return ST_OK;
	}
	cJSON_ArrayForEach(item, items)
	{
		if (st == ST_OK)
			st = read_item(list, arena, doc, item, err);
	}
	return st;
}

enum status waivers_of_run(struct waiver_list *list, struct arena *arena, const struct rundir *run,
                           bool granted_too, struct error *err)
{
	const struct run_info *info = &run->info;
	struct str path = {0};
	struct json_doc doc = {0};
	enum status st = waivers_parse(list, arena, info->waive, info->n_waive, info->reasons,
	                               info->n_reasons, info->waived_by, err);

	if (st != ST_OK || !granted_too)
		return st;
	path_join(&path, run->path, WAIVERS_FILE);
	if (access(path.data, F_OK) == 0 || errno != ENOENT) {
		st = json_load(&doc, path.data, JSON_STRICT, err);
		if (st == ST_OK)
			st = read_doc(list, arena, &doc, run->digest, err);
		json_release(&doc);
	}
	str_release(&path);
	return st;
}

enum status waivers_save(const struct waiver_list *list, const struct rundir *run,
                         struct error *err)
{
	struct str path = {0}, text = {0};
	struct json_out j = json_writer(&text, 1);
	enum status st = ST_OK;
	int n = 0;

	path_join(&path, run->path, WAIVERS_FILE);
	json_object_begin(&j, NULL);
	json_put_int(&j, "v", WAIVERS_VERSION);
	json_put_string(&j, "run_digest", run->digest);
	json_array_begin(&j, "waivers");
	for (int i = 0; i < list->n; i++) {
		const struct waiver *w = &list->items[i];

		if (!w->granted)
			continue;
		n++;
		json_object_begin(&j, NULL);
		json_put_string(&j, "rule", w->rule);
		json_put_string(&j, "subject", w->subject);
		json_put_string(&j, "reason", w->reason);
		json_put_string(&j, "by", w->by);
		json_put_string(&j, "granted", w->granted);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	str_addc(&text, '\n');
	if (n)
		st = file_write(path.data, text.data, text.len, err);
	else if (unlink(path.data) != 0 && errno != ENOENT)
		st = error_errno(err, path.data, errno);
	str_release(&path);
	str_release(&text);
	return st;
}
