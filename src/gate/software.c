/* Two fingerprints member by member. Documents are canonical, so equal digests mean
 * equal software and are not opened; of a run of many nodes the one that most nodes
 * have is compared, since nodes that differ from it are findings of the run itself. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "gate/gate.h"

#define DOCUMENT_MOST ((size_t)256 << 20)

/* --- which one ------------------------------------------------------------------------ */

static int by_digest(const void *a, const void *b)
{
	const struct reading *x = *(const struct reading *const *)a;
	const struct reading *y = *(const struct reading *const *)b;
	int c = strcmp(x->text, y->text);

	return c ? c : (x->seq > y->seq) - (x->seq < y->seq);
}

/* The fingerprint of most nodes, or NULL. */
static const struct reading *usual(struct gate *g, const struct rundir *run)
{
	const struct reading **list, *best = NULL;
	int64_t n = 0, most = 0;

	for (int64_t i = 0; i < run->n_readings; i++)
		n += strcmp(run->readings[i].metric, "sw_fingerprint") == 0;
	list = arena_array(g->arena, (size_t)n + 1, sizeof(*list));
	n = 0;
	for (int64_t i = 0; i < run->n_readings; i++) {
		const struct reading *r = &run->readings[i];

		if (strcmp(r->metric, "sw_fingerprint") == 0 && r->outcome == OUTCOME_MEASURED &&
		    r->text)
			list[n++] = r;
	}
	qsort(list, (size_t)n, sizeof(*list), by_digest);
	for (int64_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && strcmp(list[k]->text, list[i]->text) == 0; k++)
			;
		if (k - i > most) {
			most = k - i;
			best = list[i];
		}
	}
	return best;
}

/* --- the difference ---------------------------------------------------------------------- */

static void differs(struct gate *g, const char *part, const char *key, const char *before,
                    const char *now)
{
	const char *name = tmpf("%s %s", part, key);
	const char *nothing = say(MSG_gate_nothing);

	gate_add(g, GATE_SOFTWARE, gate_class_of(g->rules, name), name,
	         say(MSG_gate_changed, part, key, before ? before : nothing, now ? now : nothing));
}

static const char *text_of(const cJSON *item)
{
	return cJSON_IsString(item) ? item->valuestring : "?";
}

/* Both are sorted by key. */
static void diff_part(struct gate *g, const char *part, const cJSON *before, const cJSON *now)
{
	const cJSON *a = before ? before->child : NULL, *b = now ? now->child : NULL;

	while (a || b) {
		int c = !a ? 1 : !b ? -1 : strcmp(a->string, b->string);

		if (c < 0)
			differs(g, part, a->string, text_of(a), NULL);
		else if (c > 0)
			differs(g, part, b->string, NULL, text_of(b));
		else if (strcmp(text_of(a), text_of(b)) != 0)
			differs(g, part, a->string, text_of(a), text_of(b));
		a = c <= 0 ? a->next : a;
		b = c >= 0 ? b->next : b;
	}
}

enum status gate_diff(struct gate *g, const char *before_name, const struct str *before,
                      const char *now_name, const struct str *now, struct error *err)
{
	struct json_doc a, b;
	const cJSON *part;
	enum status st = json_parse(&a, before_name, str_text(before), before->len, 0, err);

	if (st != ST_OK)
		return st;
	st = json_parse(&b, now_name, str_text(now), now->len, 0, err);
	if (st == ST_OK) {
		cJSON_ArrayForEach(part, a.root)
		{
			if (cJSON_IsObject(part))
				diff_part(g, part->string, part, json_get(b.root, part->string));
		}
		cJSON_ArrayForEach(part, b.root)
		{
			if (cJSON_IsObject(part) && !json_get(a.root, part->string))
				diff_part(g, part->string, NULL, part);
		}
		json_release(&b);
	}
	json_release(&a);
	return st;
}

/* Without the documents the digests of the parts still say where to look. */
static void diff_digests(struct gate *g, const struct reading *before, const struct reading *now)
{
	const char *a_text = before->params ? before->params : "{}";
	const char *b_text = now->params ? now->params : "{}";
	struct json_doc a, b;
	const cJSON *part;

	if (json_parse(&a, "params", a_text, strlen(a_text), 0, NULL) != ST_OK)
		return;
	if (json_parse(&b, "params", b_text, strlen(b_text), 0, NULL) == ST_OK) {
		cJSON_ArrayForEach(part, a.root)
		{
			if (strcmp(text_of(part), json_string(b.root, part->string, "")) != 0)
				gate_add(g, GATE_SOFTWARE, GATE_WATCH, part->string,
				         say(MSG_gate_no_document, part->string, g->now->path));
		}
		json_release(&b);
	}
	json_release(&a);
}

static bool read_document(const struct rundir *run, const struct reading *r, struct str *out,
                          struct str *path)
{
	return r->raw.file && !strstr(r->raw.file, "..") &&
	       file_read(out, path_join(path, run->path, r->raw.file), DOCUMENT_MOST, NULL) ==
	               ST_OK;
}

void gate_software(struct gate *g)
{
	const struct reading *now = usual(g, g->now), *before = usual(g, &g->base[0]);
	struct str a = {0}, b = {0}, a_path = {0}, b_path = {0};

	/* The first baseline is what the image is held against; that the fingerprint of
	 * now is missing is lost coverage and said as such. */
	if (!now || !before || strcmp(now->text, before->text) == 0)
		return;
	if (!read_document(&g->base[0], before, &a, &a_path) ||
	    !read_document(g->now, now, &b, &b_path) ||
	    gate_diff(g, a_path.data, &a, b_path.data, &b, NULL) != ST_OK)
		diff_digests(g, before, now);
	str_release(&a);
	str_release(&b);
	str_release(&a_path);
	str_release(&b_path);
}
