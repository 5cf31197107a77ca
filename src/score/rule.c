/* One rule of a profile, read from its merged members. The members are read
 * in the order of the table below, not of the file, because later ones are
 * checked against earlier ones (a limit against the metric's unit). */
#include "score/profile_read.h"

#include <string.h>

static const char *const scopes[] = {
#define X(name, text) text,
	SCOPE_WORDS(X)
#undef X
		NULL,
};

static const char *const has_words[] = {
#define X(name, text) text,
	HAS_WORDS(X)
#undef X
		NULL,
};

static const char *const stat_words[] = {
	"value",
#define X(name, text) text,
	STAT_LIST(X)
#undef X
		NULL,
};

/* --- plain members ---------------------------------------------------------------- */

static enum status read_id(const struct reader *r, const struct member *m, struct rule *rule)
{
	return member_text(r, m, &rule->info.id);
}

static enum status read_criterion(const struct reader *r, const struct member *m, struct rule *rule)
{
	const struct profile *p = r->profile;
	const char **ids = arena_array(&r->profile->arena, (size_t)p->n_criteria + 1, sizeof(*ids));
	enum status st;

	for (int i = 0; i < p->n_criteria; i++)
		ids[i] = p->criteria[i].id;
	st = member_word(r, m, ids, &rule->criterion);
	if (st == ST_OK)
		rule->info.criterion = ids[rule->criterion];
	return st;
}

static enum status read_stage(const struct reader *r, const struct member *m, struct rule *rule)
{
	static const char *const words[] = {"delivery", "period", NULL};
	int i;
	enum status st = member_word(r, m, words, &i);

	if (st == ST_OK)
		rule->info.stage = i ? RULE_PERIOD : RULE_DELIVERY;
	return st;
}

static enum status read_reading(const struct reader *r, const struct member *m, struct rule *rule)
{
	static const char *const words[] = {"sound", "literal", NULL};
	int i;
	enum status st = member_word(r, m, words, &i);

	if (st != ST_OK)
		return st;
	rule->info.reading = i ? RULE_LITERAL : RULE_SOUND;
	rule->info.required = rule->info.reading == RULE_SOUND;
	return ST_OK;
}

static enum status read_twin(const struct reader *r, const struct member *m, struct rule *rule)
{
	if (rule->info.reading != RULE_LITERAL)
		return error_set(r->err, ST_PARSE, MSG_profile_twin_sound, member_place(m));
	return member_text(r, m, &rule->info.twin);
}

static enum status read_metric(const struct reader *r, const struct member *m, struct rule *rule)
{
	enum status st = member_metric(r, m, &rule->metric, &rule->planned);

	if (st != ST_OK)
		return st;
	rule->info.metric = rule->metric->name;
	rule->info.unit = rule->metric->unit;
	if (rule->metric->backend == BACKEND_CPU)
		return error_set(r->err, ST_PARSE, MSG_profile_metric_cpu, member_place(m),
		                 rule->metric->name);
	return ST_OK;
}

/* The unit of a statistic that is not in the metric's own unit, or NULL. */
static const char *stat_unit(int stat)
{
	switch (stat) {
	case STAT_N:
	case STAT_CV:
	case STAT_F95:
	case STAT_F95_LO95:
	case STAT_F95_HI95:
	case STAT_F95_LO999:
	case STAT_AC1:
	case STAT_BLOCK:
	case STAT_DIP_SHARE:
	case STAT_DIP_LO95:
	case STAT_DRIFT:
		return "1";
	case STAT_DIP_LONGEST_S:
		return "s";
	default:
		return NULL;
	}
}

static enum status read_stat(const struct reader *r, const struct member *m, struct rule *rule)
{
	int i;
	enum status st = member_word(r, m, stat_words, &i);

	if (st != ST_OK)
		return st;
	rule->stat = i - 1;
	rule->info.stat = stat_words[i];
	return ST_OK;
}

static enum status read_unit(const struct reader *r, const struct member *m, struct rule *rule)
{
	const char *unit, *own = stat_unit(rule->stat);
	enum status st = member_text(r, m, &unit);

	if (st != ST_OK)
		return st;
	if (strcmp(unit, rule->metric->unit) != 0 && !(own && strcmp(unit, own) == 0))
		return error_set(r->err, ST_PARSE, MSG_profile_unit, member_place(m), unit,
		                 rule->metric->unit, rule->metric->name);
	if (own)
		rule->info.unit = own;
	return ST_OK;
}

static enum status read_scope(const struct reader *r, const struct member *m, struct rule *rule)
{
	int i;
	enum status st = member_word(r, m, scopes, &i);

	if (st != ST_OK)
		return st;
	rule->scope = (enum scope)i;
	rule->info.scope = scopes[i];
	if (strcmp(rule->metric->unit, "text") != 0)
		return rule->scope != SCOPE_DISTINCT
		               ? ST_OK
		               : error_set(r->err, ST_PARSE, MSG_profile_scope_number,
		                           member_place(m), scopes[i], rule->metric->name);
	if (rule->scope == SCOPE_SPREAD || rule->scope == SCOPE_DISTINCT)
		rule->info.unit = "1"; /* a count of different texts */
	else if (rule->scope != SCOPE_EACH)
		st = error_set(r->err, ST_PARSE, MSG_profile_scope_text, member_place(m), scopes[i],
		               rule->metric->name);
	return st;
}

static enum status read_must_exist(const struct reader *r, const struct member *m,
                                   struct rule *rule)
{
	return member_bool(r, m, &rule->must_exist);
}

static enum status read_required(const struct reader *r, const struct member *m, struct rule *rule)
{
	return member_bool(r, m, &rule->info.required);
}

static enum status read_min_coverage(const struct reader *r, const struct member *m,
                                     struct rule *rule)
{
	return member_number(r, m, 0, 1, &rule->info.min_coverage);
}

static enum status read_source(const struct reader *r, const struct member *m, struct rule *rule)
{
	return member_text(r, m, &rule->info.source);
}

static enum status read_note(const struct reader *r, const struct member *m, struct rule *rule)
{
	return member_text(r, m, &rule->info.note);
}

/* --- when ------------------------------------------------------------------------- */

static enum status read_has(const struct reader *r, const struct member *m, unsigned *bits)
{
	enum status st;

	if (!m->node)
		return ST_OK;
	st = member_array(r, m);
	for (const cJSON *c = m->node->child; c && st == ST_OK; c = c->next) {
		struct member word = {m->key, c, m->doc};
		int i;

		st = member_word(r, &word, has_words, &i);
		if (st == ST_OK)
			*bits |= 1u << i;
	}
	return st;
}

static enum status read_when(const struct reader *r, const struct member *m, struct rule *rule)
{
	static const char *const known[] = {"form", "nodes_min", "cards_min", "has", "lacks", NULL};
	struct member form = member_child(m, "form"), nodes = member_child(m, "nodes_min"),
		      cards = member_child(m, "cards_min"), has = member_child(m, "has"),
		      lacks = member_child(m, "lacks");
	struct when *w = &rule->when;
	enum status st = member_object(r, m);

	if (st == ST_OK)
		st = check_known_keys(r, m, known);
	if (st == ST_OK && form.node)
		st = member_text(r, &form, &w->form);
	if (st == ST_OK && nodes.node)
		st = member_count(r, &nodes, &w->nodes_min);
	if (st == ST_OK && cards.node)
		st = member_count(r, &cards, &w->cards_min);
	if (st == ST_OK)
		st = read_has(r, &has, &w->has);
	if (st == ST_OK)
		st = read_has(r, &lacks, &w->lacks);
	if (st == ST_OK && (w->has & w->lacks))
		return error_set(r->err, ST_PARSE, MSG_profile_when, member_place(m));
	return st;
}

/* --- at_point --------------------------------------------------------------------- */

static enum status read_constraint(const struct reader *r, const struct member *m,
                                   struct constraint *c)
{
	static const char *const known[] = {"metric", "stat", "min", "max", NULL};
	struct member metric = member_child(m, "metric"), stat = member_child(m, "stat"),
		      min = member_child(m, "min"), max = member_child(m, "max");
	int i = 0;
	enum status st = member_object(r, m);

	if (st == ST_OK)
		st = check_known_keys(r, m, known);
	if (st == ST_OK && (!metric.node || !min.node == !max.node))
		return error_set(r->err, ST_PARSE, MSG_profile_constraint, member_place(m));
	if (st == ST_OK)
		st = member_metric(r, &metric, &c->metric, NULL);
	if (st == ST_OK && stat.node)
		st = member_word(r, &stat, stat_words, &i);
	c->stat = i - 1;
	c->is_min = min.node != NULL;
	if (st == ST_OK)
		st = member_number(r, min.node ? &min : &max, -1e300, 1e300, &c->value);
	return st;
}

static enum status read_at_point(const struct reader *r, const struct member *m, struct rule *rule)
{
	static const char *const known[] = {"maximize", "subject_to", "group", NULL};
	struct arena *arena = &r->profile->arena;
	struct member maximize = member_child(m, "maximize"), group = member_child(m, "group"),
		      list = member_child(m, "subject_to");
	struct at_point *at = arena_alloc(arena, sizeof(*at));
	struct constraint *constraints;
	enum status st = member_object(r, m);

	if (st == ST_OK)
		st = check_known_keys(r, m, known);
	if (st == ST_OK && (!group.node || (list.node && !maximize.node)))
		return error_set(r->err, ST_PARSE, MSG_profile_group, member_place(m));
	if (st == ST_OK)
		st = member_text(r, &group, &at->group);
	if (st == ST_OK && maximize.node)
		st = member_metric(r, &maximize, &at->maximize, NULL);
	if (st == ST_OK && list.node)
		st = member_array(r, &list);
	constraints =
		arena_array(arena, (size_t)cJSON_GetArraySize(list.node), sizeof(*constraints));
	for (const cJSON *c = list.node ? list.node->child : NULL; c && st == ST_OK; c = c->next)
		st = read_constraint(r, &(struct member){list.key, c, list.doc},
		                     &constraints[at->n_subject_to++]);
	at->subject_to = constraints;
	rule->at_point = at;
	return st;
}

/* --- the table -------------------------------------------------------------------- */

/* name, reader, whether a rule must have it. To add a member of rules: one
 * row, behind those it is checked against. */
#define RULE_KEYS(X)                                                                               \
	X(id, read_id, true)                                                                       \
	X(criterion, read_criterion, true)                                                         \
	X(stage, read_stage, false)                                                                \
	X(reading, read_reading, false)                                                            \
	X(twin, read_twin, false)                                                                  \
	X(metric, read_metric, true)                                                               \
	X(stat, read_stat, false)                                                                  \
	X(unit, read_unit, true)                                                                   \
	X(scope, read_scope, false)                                                                \
	X(min, limit_read, false)                                                                  \
	X(max, limit_read, false)                                                                  \
	X(equals, limit_read, false)                                                               \
	X(fraction_of, limit_read, false)                                                          \
	X(card_row, limit_read, false)                                                             \
	X(fleet, limit_read, false)                                                                \
	X(majority, limit_read, false)                                                             \
	X(warn, warn_read, false)                                                                  \
	X(when, read_when, false)                                                                  \
	X(at_point, read_at_point, false)                                                          \
	X(must_exist, read_must_exist, false)                                                      \
	X(required, read_required, false)                                                          \
	X(min_coverage, read_min_coverage, false)                                                  \
	X(source, read_source, false)                                                              \
	X(note, read_note, false)

static const struct rule_key {
	const char *name;
	enum status (*read)(const struct reader *r, const struct member *m, struct rule *rule);
	bool needed;
} rule_keys[] = {
#define X(name, read, needed) {#name, read, needed},
	RULE_KEYS(X)
#undef X
};

const char *const rule_key_names[] = {
#define X(name, read, needed) #name,
	RULE_KEYS(X)
#undef X
		NULL,
};

bool rule_key_is_limit(const char *key)
{
	for (size_t i = 0; i < sizeof(rule_keys) / sizeof(*rule_keys); i++)
		if (strcmp(rule_keys[i].name, key) == 0)
			return rule_keys[i].read == limit_read;
	return false;
}

static const struct member *draft_member(const struct draft *draft, const char *key)
{
	for (int i = 0; i < draft->n_members; i++)
		if (strcmp(draft->members[i].key, key) == 0)
			return &draft->members[i];
	return NULL;
}

enum status rule_read(const struct reader *r, const struct draft *draft, struct rule *rule)
{
	*rule = (struct rule){
		.info = {.stat = "value", .scope = "each", .required = true, .min_coverage = 1},
		.stat = STAT_VALUE,
		.limit = {.kind = LIMIT_EXISTS},
	};
	for (size_t i = 0; i < sizeof(rule_keys) / sizeof(*rule_keys); i++) {
		const struct member *m = draft_member(draft, rule_keys[i].name);
		enum status st = ST_OK;

		if (m)
			st = rule_keys[i].read(r, m, rule);
		else if (rule_keys[i].needed)
			st = error_set(r->err, ST_PARSE, MSG_profile_rule_lacks,
			               member_place(&draft->own), draft->id, rule_keys[i].name);
		if (st != ST_OK)
			return st;
	}
	/* A number that exists may be 0, which is no existence. */
	if (rule->limit.kind == LIMIT_EXISTS &&
	    (!rule->must_exist || strcmp(rule->metric->unit, "text") != 0))
		return error_set(r->err, ST_PARSE, MSG_profile_no_limit, member_place(&draft->own),
		                 draft->id);
	if ((rule->stat == STAT_F95 || rule->stat == STAT_DIP_SHARE) &&
	    (rule->limit.kind != LIMIT_MAX ||
	     (rule->scope != SCOPE_EACH && rule->scope != SCOPE_WORST)))
		return error_set(r->err, ST_PARSE, MSG_profile_fluctuation,
		                 member_place(&draft->own), draft->id, rule->info.stat);
	if ((rule->limit.kind == LIMIT_FLEET || rule->limit.kind == LIMIT_MAJORITY) &&
	    (rule->scope != SCOPE_EACH || rule->stat != STAT_VALUE || rule->at_point))
		return error_set(r->err, ST_PARSE, MSG_profile_like_scope,
		                 member_place(&draft->own), draft->id);
	if (rule->limit.of_metric && rule->scope != SCOPE_EACH)
		return error_set(r->err, ST_PARSE, MSG_profile_of_scope, member_place(&draft->own),
		                 draft->id);
	if (rule->info.reading == RULE_LITERAL && !rule->info.twin)
		return error_set(r->err, ST_PARSE, MSG_profile_no_twin, member_place(&draft->own),
		                 draft->id);
	return ST_OK;
}
