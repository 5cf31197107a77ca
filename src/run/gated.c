/* Reading and writing the kept result of a gate. A report that showed the result of
 * another record would be a false one, so the digest decides, and what cannot be read is
 * said and left out. */
#include "run/gated.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"

#define GATED_VERSION 1
#define FILE_MOST     ((size_t)16 << 20)

static const char *const kinds[GATED_KINDS] = {
#define X(name, text) text,
	GATED_KIND_LIST(X)
#undef X
};
static const char *const verdicts[GATED_VERDICTS] = {"same", "regressed", "open"};
static const char *const languages[LANGUAGES] = {"en", "zh"};

/* Which of the words it is, or -1. */
static int word_of(const char *const *words, int n, const char *word)
{
	for (int i = 0; i < n && word; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

static bool read_line(struct gated_line *l, struct arena *arena, const cJSON *item)
{
	const cJSON *texts = json_get(item, "text");
	int kind = word_of(kinds, GATED_KINDS, json_string(item, "kind", NULL));

	if (kind < 0 || !json_string(item, "name", NULL) || !cJSON_IsObject(texts))
		return false;
	*l = (struct gated_line){.kind = (enum gated_kind)kind,
	                         .breaks = strcmp(json_string(item, "class", ""), "breaking") == 0,
	                         .name = arena_str(arena, json_string(item, "name", NULL))};
	for (int k = 0; k < LANGUAGES; k++) {
		const char *text = json_string(texts, languages[k], NULL);

		if (!text)
			return false;
		l->text[k] = arena_str(arena, text);
	}
	return true;
}

static bool read_baselines(struct gated *g, struct arena *arena, const cJSON *list)
{
	const cJSON *item;
	const char **names;

	if (!cJSON_IsArray(list))
		return false;
	names = arena_array(arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof(*names));
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsString(item))
			return false;
		names[g->n_baselines++] = arena_str(arena, item->valuestring);
	}
	g->baselines = names;
	return true;
}

static bool read_all(struct gated *g, struct arena *arena, const cJSON *root)
{
	const cJSON *lines = json_get(root, "lines"), *item;
	int verdict = word_of(verdicts, GATED_VERDICTS, json_string(root, "verdict", NULL));

	if (json_int64(root, "v", 0) != GATED_VERSION || verdict < 0 || !cJSON_IsArray(lines) ||
	    !read_baselines(g, arena, json_get(root, "baselines")))
		return false;
	g->verdict = (enum gated_verdict)verdict;
	g->time = arena_str(arena, json_string(root, "time", "?"));
	g->compared = json_int64(root, "compared", 0);
	g->left_out = json_int64(root, "left_out", 0);
	g->lines = arena_array(arena, (size_t)cJSON_GetArraySize(lines) + 1, sizeof(*g->lines));
	cJSON_ArrayForEach(item, lines)
	{
		if (!read_line(&g->lines[g->n_lines++], arena, item))
			return false;
	}
	return true;
}

enum status gated_read(struct gated *g, struct arena *arena, const char *dir,
                       const char *run_digest, struct error *err)
{
	struct str path = {0}, text = {0};
	struct json_doc doc;
	enum status st = file_read(&text, path_join(&path, dir, GATED_FILE), FILE_MOST, err);

	*g = (struct gated){0};
	if (st == ST_OK)
		st = json_parse(&doc, path.data, str_text(&text), text.len, JSON_STRICT, err);
	if (st == ST_OK) {
		const char *digest = json_string(doc.root, "run_digest", NULL);

		if (!read_all(g, arena, doc.root))
			st = error_set(err, ST_PARSE, MSG_gated_shape);
		else if (!digest || !run_digest || strcmp(digest, run_digest) != 0)
			st = error_set(err, ST_CORRUPT, MSG_gated_other_run);
		json_release(&doc);
	}
	str_release(&text);
	str_release(&path);
	return st;
}

/* --- writing --------------------------------------------------------------------------- */

static void put_line(struct json_out *j, const struct gated_line *l)
{
	json_object_begin(j, NULL);
	json_put_string(j, "kind", kinds[l->kind]);
	if (l->breaks)
		json_put_string(j, "class", "breaking");
	json_put_string(j, "name", l->name);
	json_object_begin(j, "text");
	for (int k = 0; k < LANGUAGES; k++)
		json_put_string(j, languages[k], l->text[k]);
	json_object_end(j);
	json_object_end(j);
}

enum status gated_save(const struct gated *g, const char *dir, const char *run_digest,
                       struct error *err)
{
	struct str text = {0}, path = {0};
	struct json_out j = json_writer(&text, 1);
	enum status st;

	json_object_begin(&j, NULL);
	json_put_int(&j, "v", GATED_VERSION);
	json_put_string(&j, "run_digest", run_digest);
	json_put_string(&j, "time", g->time);
	json_put_string(&j, "verdict", verdicts[g->verdict]);
	json_put_int(&j, "compared", g->compared);
	json_put_int(&j, "left_out", g->left_out);
	json_array_begin(&j, "baselines");
	for (int i = 0; i < g->n_baselines; i++)
		json_put_string(&j, NULL, g->baselines[i]);
	json_array_end(&j);
	json_array_begin(&j, "lines");
	for (int i = 0; i < g->n_lines; i++)
		put_line(&j, &g->lines[i]);
	json_array_end(&j);
	json_object_end(&j);
	str_addc(&text, '\n');
	st = file_write(path_join(&path, dir, GATED_FILE), text.data, text.len, err);
	str_release(&text);
	str_release(&path);
	return st;
}
