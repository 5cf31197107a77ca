/* Limits of a rule and the line before them. A rule has one limit; a warn
 * line lies on the passing side of it and is given the same way. */
#include "score/profile_read.h"

#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "score/accel.h"

#define WIDEST 1e300

/* Words have no order: a number is a limit for them only as a count (n) or a
 * spread. */
static bool compares_text(const struct rule *rule)
{
	return strcmp(rule->metric->unit, "text") == 0 && rule->scope != SCOPE_SPREAD &&
	       rule->scope != SCOPE_DISTINCT && rule->stat == STAT_VALUE;
}

static enum status no_number(const struct reader *r, const struct member *m,
                             const struct rule *rule)
{
	return error_set(r->err, ST_PARSE, MSG_profile_limit_text, member_place(m), m->key,
	                 rule->metric->name);
}

static enum status read_number(const struct reader *r, const struct member *m, struct rule *rule)
{
	if (compares_text(rule))
		return no_number(r, m, rule);
	rule->limit.kind = strcmp(m->key, "min") == 0 ? LIMIT_MIN : LIMIT_MAX;
	return member_number(r, m, -WIDEST, WIDEST, &rule->limit.number);
}

static enum status read_equals(const struct reader *r, const struct member *m, struct rule *rule)
{
	struct limit *l = &rule->limit;
	bool text = compares_text(rule);

	if (cJSON_IsBool(m->node)) {
		l->kind = text ? LIMIT_TEXT : LIMIT_NUMBER;
		l->text = cJSON_IsTrue(m->node) ? "true" : "false";
		l->number = cJSON_IsTrue(m->node) ? 1 : 0;
		return ST_OK;
	}
	if (text) {
		l->kind = LIMIT_TEXT;
		return member_text(r, m, &l->text);
	}
	l->kind = LIMIT_NUMBER;
	return member_number(r, m, -WIDEST, WIDEST, &l->number);
}

/* --- figures of the card row or of another metric --------------------------------- */

static const char *const *columns(const struct reader *r, bool numeric)
{
	const struct csv *csv = &r->profile->accelerators;
	const char **list =
		arena_array(&r->profile->arena, (size_t)csv->n_columns + 1, sizeof(*list));
	int n = 0;

	for (int i = 0; i < csv->n_columns; i++)
		if (!numeric || accel_column_numeric(csv, csv->columns[i]))
			list[n++] = csv->columns[i];
	return list;
}

static const char *const *joined(struct arena *arena, const char *const *a, const char *const *b)
{
	int n = 0;
	const char **all;

	for (int i = 0; a[i]; i++)
		n++;
	for (int i = 0; b[i]; i++)
		n++;
	all = arena_array(arena, (size_t)n + 1, sizeof(*all));
	n = 0;
	for (int i = 0; a[i]; i++)
		all[n++] = a[i];
	for (int i = 0; b[i]; i++)
		all[n++] = b[i];
	return all;
}

static enum status read_of(const struct reader *r, const struct member *m, struct rule *rule)
{
	struct limit *l = &rule->limit;
	enum status st = member_text(r, m, &l->of);

	if (st != ST_OK)
		return st;
	if (accel_column_numeric(&r->profile->accelerators, l->of))
		return ST_OK;
	l->of_metric = metric_find(r->metrics, l->of, NULL);
	if (!l->of_metric)
		return unknown_word(r, m, say(MSG_profile_column_or_metric), l->of,
		                    joined(&r->profile->arena, columns(r, true), metric_names(r)));
	if (l->of_metric->subject != rule->metric->subject)
		return error_set(r->err, ST_PARSE, MSG_profile_of_subject, member_place(m), l->of,
		                 subject_kind_name(l->of_metric->subject), rule->metric->name,
		                 subject_kind_name(rule->metric->subject));
	if (strcmp(l->of_metric->unit, rule->metric->unit) != 0)
		return error_set(r->err, ST_PARSE, MSG_profile_unit, member_place(m),
		                 l->of_metric->unit, rule->metric->unit, rule->metric->name);
	return ST_OK;
}

static enum status read_banded(const struct reader *r, const struct member *m,
                               const struct member *h, struct limit *l)
{
	struct member sources = member_child(m, "sources");
	enum status st = member_number(r, h, 0.01, 2, &l->factor);

	l->banded = true;
	l->is_min = true;
	if (st == ST_OK && l->of_metric)
		return error_set(r->err, ST_PARSE, MSG_profile_h_metric, member_place(h), l->of);
	if (st == ST_OK && sources.node)
		st = member_array(r, &sources);
	for (const cJSON *c = sources.node ? sources.node->child : NULL; c && st == ST_OK;
	     c = c->next, l->sources++) {
		const char *ignored;

		st = member_text(r, &(struct member){sources.key, c, sources.doc}, &ignored);
	}
	return st;
}

static enum status read_fraction(const struct reader *r, const struct member *m, struct rule *rule)
{
	static const char *const known[] = {"of", "min", "max", "h", "sources", NULL};
	struct member of = member_child(m, "of"), min = member_child(m, "min"),
		      max = member_child(m, "max"), h = member_child(m, "h"),
		      sources = member_child(m, "sources");
	struct limit *l = &rule->limit;
	enum status st = member_object(r, m);

	if (st == ST_OK)
		st = check_known_keys(r, m, known);
	if (st != ST_OK)
		return st;
	if (compares_text(rule))
		return no_number(r, m, rule);
	if (!of.node || !!min.node + !!max.node + !!h.node != 1 || (sources.node && !h.node))
		return error_set(r->err, ST_PARSE, MSG_profile_fraction, member_place(m));
	l->kind = LIMIT_FRACTION;
	l->is_min = min.node != NULL;
	st = read_of(r, &of, rule);
	if (st != ST_OK)
		return st;
	if (h.node)
		return read_banded(r, m, &h, l);
	return member_number(r, min.node ? &min : &max, 0, WIDEST, &l->factor);
}

static enum status read_card_row(const struct reader *r, const struct member *m, struct rule *rule)
{
	static const char *const known[] = {"column", "tolerance", NULL};
	const struct csv *csv = &r->profile->accelerators;
	struct member column = member_child(m, "column"), tolerance = member_child(m, "tolerance");
	struct limit *l = &rule->limit;
	enum status st = member_object(r, m);

	if (st == ST_OK)
		st = check_known_keys(r, m, known);
	if (st == ST_OK && !column.node)
		return error_set(r->err, ST_PARSE, MSG_profile_no_column, member_place(m));
	if (st == ST_OK)
		st = member_text(r, &column, &l->of);
	if (st != ST_OK)
		return st;
	l->kind = LIMIT_ROW;
	if (csv_column(csv, l->of) < 0)
		return unknown_word(r, &column, say(MSG_profile_column), l->of, columns(r, false));
	if (!compares_text(rule) && !accel_column_numeric(csv, l->of))
		return error_set(r->err, ST_PARSE, MSG_profile_column_text, member_place(&column),
		                 l->of, rule->metric->name);
	if (tolerance.node && compares_text(rule))
		return no_number(r, &tolerance, rule);
	return tolerance.node ? member_number(r, &tolerance, 0, 1, &l->tolerance) : ST_OK;
}

/* --- beside its like -------------------------------------------------------------- */

/* The rule of chance is one for the whole run (stats/fleet.h): nothing to set. */
static enum status read_fleet(const struct reader *r, const struct member *m, struct rule *rule)
{
	bool on;
	enum status st = member_bool(r, m, &on);

	rule->limit.kind = LIMIT_FLEET;
	if (st == ST_OK && !on)
		return error_set(r->err, ST_PARSE, MSG_profile_fleet_false, member_place(m),
		                 rule->info.id);
	if (st == ST_OK && compares_text(rule))
		return no_number(r, m, rule);
	if (st == ST_OK && rule->metric->better == BETTER_NEITHER)
		return error_set(r->err, ST_PARSE, MSG_profile_fleet_better, member_place(m),
		                 rule->metric->name);
	return st;
}

/* Below a half two values could both be the majority. */
static enum status read_majority(const struct reader *r, const struct member *m, struct rule *rule)
{
	rule->limit.kind = LIMIT_MAJORITY;
	return member_number(r, m, 0.5, 1, &rule->limit.number);
}

enum status limit_read(const struct reader *r, const struct member *m, struct rule *rule)
{
	if (rule->limit.kind != LIMIT_EXISTS)
		return error_set(r->err, ST_PARSE, MSG_profile_two_limits, member_place(m),
		                 rule->info.id);
	if (strcmp(m->key, "equals") == 0)
		return read_equals(r, m, rule);
	if (strcmp(m->key, "fraction_of") == 0)
		return read_fraction(r, m, rule);
	if (strcmp(m->key, "card_row") == 0)
		return read_card_row(r, m, rule);
	if (strcmp(m->key, "fleet") == 0)
		return read_fleet(r, m, rule);
	if (strcmp(m->key, "majority") == 0)
		return read_majority(r, m, rule);
	return read_number(r, m, rule);
}

/* --- warn ------------------------------------------------------------------------- */

enum status warn_read(const struct reader *r, const struct member *m, struct rule *rule)
{
	static const char *const known[] = {"min", "max", NULL};
	const struct limit *l = &rule->limit;
	struct member min = member_child(m, "min"), max = member_child(m, "max");
	bool ordered = l->kind == LIMIT_MIN || l->kind == LIMIT_MAX ||
	               (l->kind == LIMIT_FRACTION && !l->banded);
	bool is_min = l->kind == LIMIT_MIN || (l->kind == LIMIT_FRACTION && l->is_min);
	double limit = l->kind == LIMIT_FRACTION ? l->factor : l->number;
	enum status st = member_object(r, m);

	if (st == ST_OK)
		st = check_known_keys(r, m, known);
	if (st != ST_OK)
		return st;
	if (!ordered || !min.node == !max.node || is_min != (min.node != NULL))
		return error_set(r->err, ST_PARSE, MSG_profile_warn_direction, member_place(m),
		                 rule->info.id);
	st = member_number(r, is_min ? &min : &max, -WIDEST, WIDEST, &rule->warn);
	if (st != ST_OK)
		return st;
	if (is_min ? rule->warn < limit : rule->warn > limit)
		return error_set(r->err, ST_PARSE, MSG_profile_warn_beyond,
		                 member_place(is_min ? &min : &max), fmt_value(rule->warn),
		                 fmt_value(limit));
	rule->has_warn = true;
	return ST_OK;
}
