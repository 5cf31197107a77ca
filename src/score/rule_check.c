/* What only shows when all rules are read: twins, and groups that are judged
 * at one operating point. */
#include "score/profile_read.h"

#include <string.h>

static struct member place_of(const struct draft *draft, const char *key)
{
	for (int i = 0; i < draft->n_members; i++)
		if (strcmp(draft->members[i].key, key) == 0)
			return draft->members[i];
	return draft->own;
}

static enum status check_twin(const struct reader *r, const struct rule *rule,
                              const struct draft *draft)
{
	const struct profile *p = r->profile;
	struct member m = place_of(draft, "twin");
	const char **ids;
	int n = 0;

	for (int i = 0; i < p->n_rules; i++) {
		if (strcmp(p->rules[i].info.id, rule->info.twin) != 0)
			continue;
		if (p->rules[i].info.reading == RULE_SOUND)
			return ST_OK;
		return error_set(r->err, ST_PARSE, MSG_profile_twin_literal, member_place(&m),
		                 rule->info.twin);
	}
	ids = arena_array(&r->profile->arena, (size_t)p->n_rules + 1, sizeof(*ids));
	for (int i = 0; i < p->n_rules; i++)
		if (p->rules[i].info.reading == RULE_SOUND)
			ids[n++] = p->rules[i].info.id;
	return unknown_word(r, &m, say(MSG_profile_twin), rule->info.twin, ids);
}

static bool same_constraint(const struct constraint *a, const struct constraint *b)
{
	return a->metric == b->metric && a->stat == b->stat && a->is_min == b->is_min &&
	       a->value == b->value;
}

static bool same_point(const struct at_point *a, const struct at_point *b)
{
	if (a->maximize != b->maximize || a->n_subject_to != b->n_subject_to)
		return false;
	for (int i = 0; i < a->n_subject_to; i++)
		if (!same_constraint(&a->subject_to[i], &b->subject_to[i]))
			return false;
	return true;
}

/* The definition of a rule's group: the first rule of it that has one. */
static const struct at_point *group_of(const struct profile *p, const char *group)
{
	for (int i = 0; i < p->n_rules; i++) {
		const struct at_point *at = p->rules[i].at_point;

		if (at && at->maximize && strcmp(at->group, group) == 0)
			return at;
	}
	return NULL;
}

static enum status check_subjects(const struct reader *r, const struct rule *rule,
                                  const struct at_point *at, const struct member *m)
{
	const struct metric *other = at->maximize;
	bool same = other->subject == rule->metric->subject;

	for (int i = 0; i < at->n_subject_to && same; i++) {
		other = at->subject_to[i].metric;
		same = other->subject == rule->metric->subject;
	}
	if (same)
		return ST_OK;
	return error_set(r->err, ST_PARSE, MSG_profile_of_subject, member_place(m), other->name,
	                 subject_kind_name(other->subject), rule->metric->name,
	                 subject_kind_name(rule->metric->subject));
}

static enum status check_point(const struct reader *r, struct rule *rule, const struct draft *draft)
{
	struct member m = place_of(draft, "at_point");
	const struct at_point *at = group_of(r->profile, rule->at_point->group);

	if (!at)
		return error_set(r->err, ST_PARSE, MSG_profile_no_maximize, member_place(&m),
		                 rule->at_point->group);
	if (rule->at_point->maximize && !same_point(rule->at_point, at))
		return error_set(r->err, ST_PARSE, MSG_profile_group_differs, member_place(&m),
		                 rule->at_point->group);
	rule->at_point = at;
	return check_subjects(r, rule, at, &m);
}

enum status rules_check(const struct reader *r, const struct draft *drafts)
{
	struct profile *p = r->profile;
	enum status st = ST_OK;

	for (int i = 0; i < p->n_rules && st == ST_OK; i++) {
		struct rule *rule = &p->rules[i];

		if (rule->info.twin)
			st = check_twin(r, rule, &drafts[i]);
		if (st == ST_OK && rule->at_point)
			st = check_point(r, rule, &drafts[i]);
	}
	return st;
}
