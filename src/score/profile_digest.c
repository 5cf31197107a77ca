/* The canonical text of a profile: what is judged and nothing else, so that
 * two files that judge alike have one digest. Keys are sorted, numbers
 * shortest, comments and inheritance gone; the card row is part of it because
 * limits are shares of its figures. */
#include "score/profile_read.h"

#include <stdlib.h>
#include <string.h>

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static void put_value(struct json_out *j, const char *key, const cJSON *node);

static void put_members(struct json_out *j, const char *key, struct member *members, int n)
{
	qsort(members, (size_t)n, sizeof(*members), by_key);
	json_object_begin(j, key);
	for (int i = 0; i < n; i++)
		put_value(j, members[i].key, members[i].node);
	json_object_end(j);
}

static void put_object(struct json_out *j, const char *key, const cJSON *node)
{
	int n = cJSON_GetArraySize(node), i = 0;
	struct member *members = calloc((size_t)n + 1, sizeof(*members));

	if (!members)
		die_nomem();
	for (const cJSON *c = node->child; c; c = c->next)
		members[i++] = (struct member){c->string, c, NULL};
	put_members(j, key, members, n);
	free(members);
}

static void put_value(struct json_out *j, const char *key, const cJSON *node)
{
	if (cJSON_IsObject(node)) {
		put_object(j, key, node);
	} else if (cJSON_IsArray(node)) {
		json_array_begin(j, key);
		for (const cJSON *c = node->child; c; c = c->next)
			put_value(j, NULL, c);
		json_array_end(j);
	} else if (cJSON_IsString(node)) {
		json_put_string(j, key, node->valuestring);
	} else if (cJSON_IsNumber(node)) {
		json_put_number(j, key, node->valuedouble);
	} else if (cJSON_IsBool(node)) {
		json_put_bool(j, key, cJSON_IsTrue(node));
	} else {
		json_put_null(j, key);
	}
}

static void put_row(struct json_out *j, const struct profile *p)
{
	json_object_begin(j, "card_row");
	for (int i = 0; p->card_row >= 0 && i < p->accelerators.n_columns; i++)
		json_put_string(j, p->accelerators.columns[i],
		                p->accelerators.rows[p->card_row][i]);
	json_object_end(j);
}

static void put_expect(struct json_out *j, const struct profile *p)
{
	json_object_begin(j, "expect");
	json_put_bool(j, "nvlink", p->expect[HAS_NVLINK]);
	json_put_bool(j, "rdma", p->expect[HAS_RDMA]);
	json_put_bool(j, "shared_storage", p->expect[HAS_SHARED_STORAGE]);
	json_object_end(j);
}

/* Written from what was merged, or not part of what is judged. */
static bool written_apart(const char *key)
{
	return strcmp(key, "rules") == 0 || strcmp(key, "expect") == 0 ||
	       strcmp(key, "extends") == 0;
}

void profile_canonical(struct str *out, const struct profile *p, const struct member *top,
                       int n_top, const struct draft *drafts, int n_drafts)
{
	struct json_out j = json_writer(out, 0);
	struct member *sorted = calloc((size_t)n_top + 1, sizeof(*sorted));

	if (!sorted)
		die_nomem();
	memcpy(sorted, top, (size_t)n_top * sizeof(*sorted));
	qsort(sorted, (size_t)n_top, sizeof(*sorted), by_key);
	json_object_begin(&j, NULL);
	put_row(&j, p);
	put_expect(&j, p);
	for (int i = 0; i < n_top; i++)
		if (!written_apart(sorted[i].key))
			put_value(&j, sorted[i].key, sorted[i].node);
	json_array_begin(&j, "rules");
	for (int i = 0; i < n_drafts; i++)
		put_members(&j, NULL, drafts[i].members, drafts[i].n_members);
	json_array_end(&j);
	json_object_end(&j);
	free(sorted);
}
