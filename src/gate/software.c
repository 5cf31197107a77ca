/* Fingerprints member by member. Documents are canonical, so equal digests mean equal
 * software and are not opened. A node is held against itself in the baseline, or if it
 * was not there against what most nodes had; nodes that changed alike are told once. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "gate/gate.h"

#define DOCUMENT_MOST ((size_t)256 << 20)
#define CHANGES_MOST  32 /* that are looked through, of nodes that changed each in its way */

/* --- which ones ----------------------------------------------------------------------- */

struct prints {
	const struct reading **list; /* measured, by name of the node */
	int64_t n;
	const struct reading *usual; /* of most nodes; NULL: there is none */
};

static int by_digest(const void *a, const void *b)
{
	const struct reading *x = *(const struct reading *const *)a;
	const struct reading *y = *(const struct reading *const *)b;
	int c = strcmp(x->text, y->text);

	return c ? c : (x->seq > y->seq) - (x->seq < y->seq);
}

static const char *node_of(const struct reading *r)
{
	return r->node ? r->node : "?";
}

static int by_node(const void *a, const void *b)
{
	const struct reading *x = *(const struct reading *const *)a;
	const struct reading *y = *(const struct reading *const *)b;

	return strcmp(node_of(x), node_of(y));
}

static struct prints prints_of(struct gate *g, struct rundir *run)
{
	struct effective e = rundir_effective(run);
	struct prints p = {0};
	int64_t most = 0;

	p.list = arena_array(g->arena, (size_t)e.count + 1, sizeof(*p.list));
	for (int64_t i = 0; i < e.count; i++) {
		const struct reading *r = e.readings[i];

		if (strcmp(r->metric, "sw_fingerprint") == 0 && r->outcome == OUTCOME_MEASURED &&
		    r->text)
			p.list[p.n++] = r;
	}
	qsort(p.list, (size_t)p.n, sizeof(*p.list), by_digest);
	for (int64_t i = 0, k; i < p.n; i = k) {
		for (k = i; k < p.n && strcmp(p.list[k]->text, p.list[i]->text) == 0; k++)
			;
		if (k - i > most) {
			most = k - i;
			p.usual = p.list[i];
		}
	}
	qsort(p.list, (size_t)p.n, sizeof(*p.list), by_node);
	return p;
}

/* What the node had, or what most had if it is a new one. */
static const struct reading *before_of(const struct prints *base, const struct reading *now)
{
	const struct reading **found =
		bsearch(&now, base->list, (size_t)base->n, sizeof(*base->list), by_node);

	return found ? *found : base->usual;
}

/* One change and the nodes that went through it. */
struct change {
	const struct reading *before, *now;
	int64_t nodes, of;
};

static int by_change(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int c = strcmp(x->before->text, y->before->text);

	if (!c)
		c = strcmp(x->now->text, y->now->text);
	return c ? c : by_node(&x->now, &y->now);
}

static int by_nodes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->nodes != y->nodes)
		return x->nodes > y->nodes ? -1 : 1;
	return by_node(&x->now, &y->now);
}

/* Those that changed, the commonest first. */
static struct change *changes_of(struct gate *g, const struct prints *base,
                                 const struct prints *now, int64_t *count)
{
	struct change *list = arena_array(g->arena, (size_t)now->n + 1, sizeof(*list));
	int64_t n = 0, kept = 0;

	for (int64_t i = 0; i < now->n; i++) {
		const struct reading *r = now->list[i], *before = before_of(base, r);

		if (strcmp(before->text, r->text) != 0)
			list[n++] = (struct change){before, r, 1, now->n};
	}
	qsort(list, (size_t)n, sizeof(*list), by_change);
	for (int64_t i = 0; i < n; i++) {
		struct change *last = kept ? &list[kept - 1] : NULL;

		if (last && strcmp(last->before->text, list[i].before->text) == 0 &&
		    strcmp(last->now->text, list[i].now->text) == 0)
			last->nodes++;
		else
			list[kept++] = list[i];
	}
	qsort(list, (size_t)kept, sizeof(*list), by_nodes);
	*count = kept;
	return list;
}

/* --- the difference ---------------------------------------------------------------------- */

static void differs(struct gate *g, const struct change *of, const char *part, const char *key,
                    const char *before, const char *now)
{
	const char *name = tmpf("%s %s", part, key);
	const char *nothing = say(MSG_gate_nothing);

	before = before ? before : nothing;
	now = now ? now : nothing;
	gate_add(g, GATE_SOFTWARE, gate_class_of(g->rules, name), name,
	         !of || of->nodes == of->of
	                 ? say(MSG_gate_changed, part, key, before, now)
	                 : say(MSG_gate_changed_some, part, key, before, now,
	                       tmpf("%lld", (long long)of->nodes), tmpf("%lld", (long long)of->of),
	                       node_of(of->now)));
}

static const char *text_of(const cJSON *item)
{
	return cJSON_IsString(item) ? item->valuestring : "?";
}

/* Both are sorted by key. */
static void diff_part(struct gate *g, const struct change *of, const char *part,
                      const cJSON *before, const cJSON *now)
{
	const cJSON *a = before ? before->child : NULL, *b = now ? now->child : NULL;

	while (a || b) {
		int c = !a ? 1 : !b ? -1 : strcmp(a->string, b->string);

		if (c < 0)
			differs(g, of, part, a->string, text_of(a), NULL);
		else if (c > 0)
			differs(g, of, part, b->string, NULL, text_of(b));
		else if (strcmp(text_of(a), text_of(b)) != 0)
			differs(g, of, part, a->string, text_of(a), text_of(b));
		a = c <= 0 ? a->next : a;
		b = c >= 0 ? b->next : b;
	}
}

/* `of` is NULL where no nodes are spoken of. */
static enum status diff(struct gate *g, const struct change *of, const char *before_name,
                        const struct str *before, const char *now_name, const struct str *now,
                        struct error *err)
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
				diff_part(g, of, part->string, part,
				          json_get(b.root, part->string));
		}
		cJSON_ArrayForEach(part, b.root)
		{
			if (cJSON_IsObject(part) && !json_get(a.root, part->string))
				diff_part(g, of, part->string, NULL, part);
		}
		json_release(&b);
	}
	json_release(&a);
	return st;
}

enum status gate_diff(struct gate *g, const char *before_name, const struct str *before,
                      const char *now_name, const struct str *now, struct error *err)
{
	return diff(g, NULL, before_name, before, now_name, now, err);
}

/* Without the documents the digests of the parts still say where to look, but not how
 * grave it is. */
static void diff_digests(struct gate *g, const struct change *c, const char *where)
{
	const char *a_text = c->before->params ? c->before->params : "{}";
	const char *b_text = c->now->params ? c->now->params : "{}";
	struct json_doc a = {0}, b = {0};
	struct str parts = {0};
	const cJSON *part;

	if (json_parse(&a, "params", a_text, strlen(a_text), 0, NULL) == ST_OK &&
	    json_parse(&b, "params", b_text, strlen(b_text), 0, NULL) == ST_OK)
		cJSON_ArrayForEach(part, a.root)
		{
			if (strcmp(text_of(part), json_string(b.root, part->string, "")) != 0)
				str_addf(&parts, "%s%s", parts.len ? ", " : "", part->string);
		}
	gate_add(g, GATE_UNCLEAR, GATE_WATCH, "software",
	         say(MSG_gate_no_document, node_of(c->now), where, parts.len ? parts.data : "?"));
	str_release(&parts);
	json_release(&a);
	json_release(&b);
}

/* The document whose digest was recorded, and no other that lies there now. */
static bool read_document(const struct rundir *run, const struct reading *r, struct str *out,
                          struct str *path)
{
	char hex[SHA256_HEX];

	if (!r->raw.file || strstr(r->raw.file, "..") ||
	    file_read(out, path_join(path, run->path, r->raw.file), DOCUMENT_MOST, NULL) != ST_OK)
		return false;
	sha256_text(str_text(out), out->len, hex);
	return strcmp(hex, r->text) == 0;
}

static void look_through(struct gate *g, const struct change *c)
{
	struct str a = {0}, b = {0}, a_path = {0}, b_path = {0};
	bool before = read_document(&g->base[0], c->before, &a, &a_path);
	bool now = read_document(g->now, c->now, &b, &b_path);

	if (!before || !now || diff(g, c, a_path.data, &a, b_path.data, &b, NULL) != ST_OK)
		diff_digests(g, c, now ? g->base[0].path : g->now->path);
	str_release(&a);
	str_release(&b);
	str_release(&a_path);
	str_release(&b_path);
}

void gate_software(struct gate *g)
{
	/* The first baseline is what the image is held against; that the fingerprint of
	 * now is missing is lost coverage and said as such. */
	struct prints base = prints_of(g, &g->base[0]), now = prints_of(g, g->now);
	struct change *list;
	int64_t n, apart = 0;

	if (!base.usual)
		return;
	list = changes_of(g, &base, &now, &n);
	for (int64_t i = 0; i < n && i < CHANGES_MOST; i++)
		look_through(g, &list[i]);
	for (int64_t i = CHANGES_MOST; i < n; i++)
		apart += list[i].nodes;
	if (apart)
		gate_add(g, GATE_UNCLEAR, GATE_WATCH, "software",
		         say(MSG_gate_nodes_apart, tmpf("%lld", (long long)apart)));
}
