/* Loading a profile: the chain of files it extends, merged member by member
 * with the nearest file winning, then read and checked. All documents stay
 * open until the end so that an error can name the file it stands in. */
#include "score/profile.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/file.h"
#include "score/accel.h"
#include "score/profile_read.h"

#define MAX_CHAIN 16

struct layer {
	struct json_doc doc;
	struct str where; /* resolved path, or "built-in:…" */
};

struct loader {
	struct reader reader;
	const char *config_dir;
	struct layer layers[MAX_CHAIN]; /* nearest first */
	int n_layers;
	struct member *top; /* merged members except rules */
	int n_top;
	struct draft *drafts;
	int n_drafts;
	bool kept; /* the canonical text of an earlier load */
};

#define TOP_KEYS "v", "name", "title", "extends", "card", "expect", "criteria", "rules", "excluded"

static const char *const top_keys[] = {TOP_KEYS, NULL};
static const char *const kept_keys[] = {TOP_KEYS, "card_row", NULL};

/* --- the chain -------------------------------------------------------------------- */

static bool is_path(const char *name)
{
	return strchr(name, '/') || str_ends(name, ".json");
}

static enum status missing(struct loader *l, const char *name)
{
	char **names = config_list(l->config_dir, "profiles", ".json");
	const char *near = nearest_word(name, (const char *const *)names);

	if (near)
		error_set(l->reader.err, ST_NOTFOUND, MSG_profile_missing_near, name, near);
	else
		error_set(l->reader.err, ST_NOTFOUND, MSG_profile_missing, name);
	config_list_free(names);
	return ST_NOTFOUND;
}

static enum status load_config(struct loader *l, const char *name, const char *file,
                               struct layer *layer)
{
	struct error trouble = {0};
	struct str text = {0};
	enum status st = config_read(&text, &layer->where, l->config_dir, file, &trouble);

	if (st == ST_OK)
		st = json_parse(&layer->doc, str_text(&layer->where), str_text(&text), text.len,
		                JSON_COMMENTS, l->reader.err);
	else if (st == ST_NOTFOUND)
		st = missing(l, name);
	else
		error_set(l->reader.err, st, MSG_profile_error, str_text(&trouble.text));
	error_release(&trouble);
	str_release(&text);
	return st;
}

/* A path of an `extends` counts from the folder of its file. */
static enum status load_path(struct loader *l, const char *name, const struct layer *from,
                             struct layer *layer)
{
	struct str path = {0};
	char *folder = NULL, *real;
	enum status st;

	if (from && name[0] != '/') {
		folder = strdup(str_text(&from->where));
		if (!folder)
			die_nomem();
		path_join(&path, dirname(folder), name);
	} else {
		str_add(&path, name);
	}
	st = json_load(&layer->doc, path.data, JSON_COMMENTS, l->reader.err);
	real = realpath(path.data, NULL);
	str_add(&layer->where, real ? real : path.data);
	free(real);
	free(folder);
	str_release(&path);
	return st;
}

static enum status load_layer(struct loader *l, const char *name, const struct layer *from)
{
	struct layer *layer = &l->layers[l->n_layers];
	bool built_in = from && str_starts(str_text(&from->where), "built-in:");

	l->n_layers++;
	if (is_path(name) && !built_in)
		return load_path(l, name, from, layer);
	return load_config(l, name,
	                   tmpf("profiles/%s%s", name, str_ends(name, ".json") ? "" : ".json"),
	                   layer);
}

static enum status check_version(const struct loader *l, const struct layer *layer)
{
	struct member root = {NULL, layer->doc.root, &layer->doc}, v;
	int64_t version;
	enum status st;

	if (!cJSON_IsObject(root.node))
		return error_set(l->reader.err, ST_PARSE, MSG_profile_no_object,
		                 member_place(&root));
	v = member_child(&root, "v");
	if (!v.node)
		return error_set(l->reader.err, ST_PARSE, MSG_profile_lacks, member_place(&root),
		                 "v");
	st = member_count(&l->reader, &v, &version);
	if (st == ST_OK && version != 1)
		st = error_set(l->reader.err, ST_PARSE, MSG_profile_version, member_place(&v));
	return st == ST_OK ? check_known_keys(&l->reader, &root, l->kept ? kept_keys : top_keys)
	                   : st;
}

static enum status load_chain(struct loader *l, const char *name)
{
	enum status st = load_layer(l, name, NULL);

	while (st == ST_OK) {
		struct layer *layer = &l->layers[l->n_layers - 1];
		struct member root = {NULL, layer->doc.root, &layer->doc}, extends;
		const char *next;

		st = check_version(l, layer);
		if (st != ST_OK)
			break;
		extends = member_child(&root, "extends");
		if (!extends.node)
			break;
		st = member_text(&l->reader, &extends, &next);
		if (st == ST_OK && l->n_layers == MAX_CHAIN)
			st = error_set(l->reader.err, ST_PARSE, MSG_profile_deep,
			               member_place(&extends));
		if (st == ST_OK)
			st = load_layer(l, next, layer);
		for (int i = 0; st == ST_OK && i < l->n_layers - 1; i++)
			if (strcmp(str_text(&l->layers[i].where),
			           str_text(&l->layers[l->n_layers - 1].where)) == 0)
				st = error_set(l->reader.err, ST_PARSE, MSG_profile_cycle,
				               member_place(&extends), next);
	}
	return st;
}

/* --- merging ---------------------------------------------------------------------- */

static void put_member(struct member *list, int *n, const struct member *m)
{
	for (int i = 0; i < *n; i++) {
		if (strcmp(list[i].key, m->key) == 0) {
			list[i] = *m;
			return;
		}
	}
	list[(*n)++] = *m;
}

static struct draft *find_draft(struct loader *l, const char *id)
{
	for (int i = 0; i < l->n_drafts; i++)
		if (strcmp(l->drafts[i].id, id) == 0)
			return &l->drafts[i];
	return NULL;
}

static bool sets_limit(const cJSON *rule)
{
	for (const cJSON *c = rule->child; c; c = c->next)
		if (rule_key_is_limit(c->string))
			return true;
	return false;
}

/* A limit of another kind replaces the inherited one instead of joining it. */
static void drop_limits(struct draft *d)
{
	int kept = 0;

	for (int i = 0; i < d->n_members; i++)
		if (!rule_key_is_limit(d->members[i].key))
			d->members[kept++] = d->members[i];
	d->n_members = kept;
}

static enum status merge_rule(struct loader *l, const struct member *rule, int first_of_file)
{
	struct arena *arena = &l->reader.profile->arena;
	struct member id = member_child(rule, "id");
	struct draft *d;
	const char *name;
	enum status st = member_object(&l->reader, rule);

	if (st == ST_OK)
		st = check_known_keys(&l->reader, rule, rule_key_names);
	if (st == ST_OK && !id.node)
		return error_set(l->reader.err, ST_PARSE, MSG_profile_rule_id, member_place(rule));
	if (st == ST_OK)
		st = member_text(&l->reader, &id, &name);
	if (st != ST_OK)
		return st;
	d = find_draft(l, name);
	if (d && (d >= l->drafts + first_of_file || d->own.doc == rule->doc))
		return error_set(l->reader.err, ST_PARSE, MSG_profile_duplicate, member_place(&id),
		                 name);
	if (!d) {
		size_t room = sizeof(struct member);

		for (const char *const *k = rule_key_names; *k; k++)
			room += sizeof(struct member);
		d = &l->drafts[l->n_drafts++];
		*d = (struct draft){.id = name, .members = arena_alloc(arena, room)};
	}
	d->own = *rule;
	if (sets_limit(rule->node))
		drop_limits(d);
	for (const cJSON *c = rule->node->child; c; c = c->next)
		put_member(d->members, &d->n_members, &(struct member){c->string, c, rule->doc});
	return ST_OK;
}

static enum status merge_layer(struct loader *l, const struct layer *layer)
{
	struct member root = {NULL, layer->doc.root, &layer->doc};
	struct member rules = member_child(&root, "rules");
	int first = l->n_drafts;
	enum status st = ST_OK;

	for (const cJSON *c = root.node->child; c; c = c->next)
		put_member(l->top, &l->n_top, &(struct member){c->string, c, root.doc});
	if (!rules.node)
		return ST_OK;
	st = member_array(&l->reader, &rules);
	for (const cJSON *c = rules.node->child; c && st == ST_OK; c = c->next)
		st = merge_rule(l, &(struct member){rules.key, c, rules.doc}, first);
	return st;
}

static enum status merge(struct loader *l)
{
	struct arena *arena = &l->reader.profile->arena;
	size_t rules = 0;
	enum status st = ST_OK;

	for (int i = 0; i < l->n_layers; i++)
		rules += (size_t)cJSON_GetArraySize(json_get(l->layers[i].doc.root, "rules"));
	l->drafts = arena_array(arena, rules + 1, sizeof(*l->drafts));
	l->top = arena_array(arena, sizeof(kept_keys) / sizeof(*kept_keys), sizeof(*l->top));
	for (int i = l->n_layers - 1; i >= 0 && st == ST_OK; i--)
		st = merge_layer(l, &l->layers[i]);
	return st;
}

/* --- reading what was merged ------------------------------------------------------ */

static struct member top_member(const struct loader *l, const char *key)
{
	for (int i = 0; i < l->n_top; i++)
		if (strcmp(l->top[i].key, key) == 0)
			return l->top[i];
	return (struct member){key, NULL, &l->layers[0].doc};
}

static enum status read_name(struct loader *l)
{
	struct profile *p = l->reader.profile;
	/* A child that does not say its own name would pass for its parent. */
	struct member root = {NULL, l->layers[0].doc.root, &l->layers[0].doc};
	struct member name = member_child(&root, "name"), title = top_member(l, "title");
	enum status st;

	if (!name.node)
		return error_set(l->reader.err, ST_PARSE, MSG_profile_lacks, member_place(&root),
		                 "name");
	st = member_text(&l->reader, &name, &p->name);
	if (st == ST_OK && title.node)
		st = member_text(&l->reader, &title, &p->title);
	return st;
}

static enum status read_card(struct loader *l)
{
	struct profile *p = l->reader.profile;
	struct member card = top_member(l, "card");

	p->card_row = -1;
	if (!card.node)
		return ST_OK;
	return member_word(&l->reader, &card, accel_keys(&p->accelerators, &p->arena),
	                   &p->card_row);
}

/* Each file may add or change single promises. */
static enum status read_expect(struct loader *l, const struct layer *layer)
{
	static const struct {
		const char *key;
		enum has has;
	} rows[] = {
		{"rdma", HAS_RDMA}, {"nvlink", HAS_NVLINK}, {"shared_storage", HAS_SHARED_STORAGE}};
	static const char *const known[] = {"rdma", "nvlink", "shared_storage", NULL};
	struct member root = {NULL, layer->doc.root, &layer->doc};
	struct member expect = member_child(&root, "expect");
	enum status st;

	if (!expect.node)
		return ST_OK;
	st = member_object(&l->reader, &expect);
	if (st == ST_OK)
		st = check_known_keys(&l->reader, &expect, known);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && st == ST_OK; i++) {
		struct member m = member_child(&expect, rows[i].key);

		if (m.node)
			st = member_bool(&l->reader, &m, &l->reader.profile->expect[rows[i].has]);
	}
	return st;
}

static enum status read_criterion(struct loader *l, const struct member *m, struct criterion *c)
{
	static const char *const known[] = {"id", "title", "subjects", NULL};
	struct profile *p = l->reader.profile;
	struct member id = member_child(m, "id"), title = member_child(m, "title"),
		      subjects = member_child(m, "subjects");
	enum status st = member_object(&l->reader, m);

	if (st == ST_OK)
		st = check_known_keys(&l->reader, m, known);
	if (st == ST_OK && (!id.node || !title.node || !subjects.node))
		return error_set(l->reader.err, ST_PARSE, MSG_profile_criterion, member_place(m));
	if (st == ST_OK)
		st = member_text(&l->reader, &id, &c->id);
	if (st == ST_OK)
		st = member_text(&l->reader, &title, &c->title);
	if (st == ST_OK)
		st = member_text(&l->reader, &subjects, &c->subjects);
	for (const struct criterion *other = p->criteria; st == ST_OK && other < c; other++)
		if (strcmp(other->id, c->id) == 0)
			st = error_set(l->reader.err, ST_PARSE, MSG_profile_duplicate,
			               member_place(&id), c->id);
	return st;
}

static enum status read_criteria(struct loader *l)
{
	struct profile *p = l->reader.profile;
	struct member list = top_member(l, "criteria"),
		      root = {NULL, l->layers[0].doc.root, &l->layers[0].doc};
	enum status st;

	if (!list.node)
		return error_set(l->reader.err, ST_PARSE, MSG_profile_lacks, member_place(&root),
		                 "criteria");
	st = member_array(&l->reader, &list);
	p->criteria =
		arena_array(&p->arena, (size_t)cJSON_GetArraySize(list.node), sizeof(*p->criteria));
	for (const cJSON *c = list.node->child; c && st == ST_OK; c = c->next)
		st = read_criterion(l, &(struct member){list.key, c, list.doc},
		                    &p->criteria[p->n_criteria++]);
	return st;
}

/* Rows of the requirement list that are no rule: a reader's business, but a
 * misspelt one must not go unnoticed. */
static enum status check_excluded(struct loader *l)
{
	static const char *const known[] = {"row", "reason", NULL};
	struct member list = top_member(l, "excluded");
	enum status st = list.node ? member_array(&l->reader, &list) : ST_OK;

	for (const cJSON *c = list.node ? list.node->child : NULL; c && st == ST_OK; c = c->next) {
		struct member m = {list.key, c, list.doc};
		struct member row = member_child(&m, "row"), reason = member_child(&m, "reason");
		const char *ignored;

		st = member_object(&l->reader, &m);
		if (st == ST_OK)
			st = check_known_keys(&l->reader, &m, known);
		if (st == ST_OK && (!row.node || !reason.node))
			return error_set(l->reader.err, ST_PARSE, MSG_profile_excluded,
			                 member_place(&m));
		if (st == ST_OK)
			st = member_text(&l->reader, &row, &ignored);
		if (st == ST_OK)
			st = member_text(&l->reader, &reason, &ignored);
	}
	return st;
}

static enum status read_rules(struct loader *l)
{
	struct profile *p = l->reader.profile;
	enum status st = ST_OK;

	p->rules = arena_array(&p->arena, (size_t)l->n_drafts, sizeof(*p->rules));
	for (int i = 0; i < l->n_drafts && st == ST_OK; i++)
		st = rule_read(&l->reader, &l->drafts[i], &p->rules[p->n_rules++]);
	return st == ST_OK ? rules_check(&l->reader, l->drafts) : st;
}

static enum status read_noise(struct loader *l);

static enum status read_merged(struct loader *l)
{
	struct profile *p = l->reader.profile;
	struct str canonical = {0};
	enum status st = read_name(l);

	if (st == ST_OK)
		st = read_card(l);
	for (int i = l->n_layers - 1; i >= 0 && st == ST_OK; i--)
		st = read_expect(l, &l->layers[i]);
	if (st == ST_OK)
		st = read_criteria(l);
	if (st == ST_OK)
		st = read_rules(l);
	if (st == ST_OK)
		st = check_excluded(l);
	if (st != ST_OK)
		return st;
	profile_canonical(&canonical, p, l->top, l->n_top, l->drafts, l->n_drafts);
	sha256_text(str_text(&canonical), canonical.len, p->sha256);
	p->text = arena_strn(&p->arena, str_text(&canonical), canonical.len);
	str_release(&canonical);
	return read_noise(l);
}

/* --- healthy spread --------------------------------------------------------------- */

/* noise/healthy.json: {"v":1,"between":{"METRIC":{"sd":0.03,"source":"…"}}},
 * the relative standard deviation of a metric between like healthy subjects.
 * Without the file, or without a row, a metric is not compared in the fleet. */
static enum status parse_noise(struct loader *l, const struct json_doc *doc)
{
	static const char *const known[] = {"sd", "source", NULL};
	struct profile *p = l->reader.profile;
	struct member root = {NULL, doc->root, doc}, between = member_child(&root, "between");
	enum status st;

	if (!between.node)
		return ST_OK;
	st = member_object(&l->reader, &between);
	p->noise =
		arena_array(&p->arena, (size_t)cJSON_GetArraySize(between.node), sizeof(*p->noise));
	for (const cJSON *c = between.node->child; c && st == ST_OK; c = c->next) {
		struct member m = {c->string, c, doc};
		struct member sd = member_child(&m, "sd");
		struct noise *noise = &p->noise[p->n_noise++];

		st = member_object(&l->reader, &m);
		if (st == ST_OK)
			st = check_known_keys(&l->reader, &m, known);
		noise->metric = arena_str(&p->arena, c->string);
		if (st == ST_OK)
			st = member_number(&l->reader, &sd, 0, 1, &noise->sd);
	}
	return st;
}

static enum status read_noise(struct loader *l)
{
	struct error ignored = {0};
	struct str text = {0}, where = {0};
	struct json_doc doc = {0};
	enum status st = config_read(&text, &where, l->config_dir, "noise/healthy.json", &ignored);

	if (st == ST_NOTFOUND) {
		st = ST_OK;
	} else if (st == ST_OK) {
		st = json_parse(&doc, str_text(&where), str_text(&text), text.len, JSON_COMMENTS,
		                l->reader.err);
		if (st == ST_OK)
			st = parse_noise(l, &doc);
		json_release(&doc);
	} else {
		error_set(l->reader.err, st, MSG_profile_error, str_text(&ignored.text));
	}
	error_release(&ignored);
	str_release(&text);
	str_release(&where);
	return st;
}

/* --- public ----------------------------------------------------------------------- */

static enum status finish(struct loader *l, struct profile **out, enum status st)
{
	if (st == ST_OK)
		st = merge(l);
	if (st == ST_OK)
		st = read_merged(l);
	for (int i = 0; i < l->n_layers; i++) {
		json_release(&l->layers[i].doc);
		str_release(&l->layers[i].where);
	}
	*out = l->reader.profile;
	free(l);
	if (st != ST_OK) {
		profile_free(*out);
		*out = NULL;
	}
	return st;
}

static struct loader *loader_new(const struct metric_set *metrics, const char *config_dir,
                                 struct error *err)
{
	struct profile *p = calloc(1, sizeof(*p));
	struct loader *l = calloc(1, sizeof(*l));

	if (!p || !l)
		die_nomem();
	l->reader = (struct reader){p, metrics, err};
	l->config_dir = config_dir;
	return l;
}

enum status profile_load(struct profile **out, const char *name, const char *config_dir,
                         const struct metric_set *metrics, struct error *err)
{
	struct loader *l = loader_new(metrics, config_dir, err);
	enum status st = accel_load(&l->reader.profile->accelerators, config_dir, err);

	if (st == ST_OK)
		st = load_chain(l, name);
	return finish(l, out, st);
}

enum status profile_load_kept(struct profile **out, const char *name, const char *text, size_t len,
                              const char *config_dir, const struct metric_set *metrics,
                              struct error *err)
{
	struct loader *l = loader_new(metrics, config_dir, err);
	struct layer *layer = &l->layers[l->n_layers++];
	enum status st = accel_load(&l->reader.profile->accelerators, config_dir, err);

	l->kept = true;
	str_add(&layer->where, name);
	if (st == ST_OK)
		st = json_parse(&layer->doc, name, text, len, JSON_STRICT, err);
	if (st == ST_OK)
		st = check_version(l, layer);
	if (st == ST_OK)
		accel_put_row(&l->reader.profile->accelerators,
		              json_get(layer->doc.root, "card_row"));
	st = finish(l, out, st);
	if (st != ST_OK)
		return st;
	sha256_text(text, len, (*out)->sha256);
	(*out)->text = arena_strn(&(*out)->arena, text, len);
	return ST_OK;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	csv_release(&p->accelerators);
	arena_release(&p->arena);
	free(p);
}

const char *profile_name(const struct profile *p)
{
	return p->name;
}

const char *profile_sha256(const struct profile *p)
{
	return p->sha256;
}

const char *profile_text(const struct profile *p)
{
	return p->text;
}
