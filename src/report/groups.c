/* Gathering findings into groups, in one pass over the findings in the order
 * the score engine gave them (by rule, worst first). */
#include "report/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "report/words.h"

/* Beyond as many subjects a rule is told once for all of them. */
#define SPREAD 3
/* Reasons can carry texts that differ with every subject; a page cannot. */
#define MOST_GROUPS 500

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool rule_in_stage(const struct scorecard *card, const struct rule_info *rule)
{
	return rule->stage == card->stage || rule->stage == RULE_DELIVERY;
}

/* --- groups ----------------------------------------------------------------------- */

static struct group *group_new(struct group_list *l, enum group_kind kind, const struct finding *f)
{
	struct group *g;

	if (l->n_groups == MOST_GROUPS) {
		l->left_out++;
		return NULL;
	}
	if (l->n_groups == l->capacity) {
		int capacity = l->capacity ? 2 * l->capacity : 16;
		struct group **grown = arena_array(l->arena, (size_t)capacity, sizeof(*grown));

		if (l->n_groups)
			memcpy(grown, l->groups, (size_t)l->n_groups * sizeof(*grown));
		l->groups = grown;
		l->capacity = capacity;
	}
	g = arena_alloc(l->arena, sizeof(*g));
	*g = (struct group){.kind = kind, .verdict = f->verdict, .first = f, .rank = INT64_MAX};
	l->last = l->n_groups;
	l->groups[l->n_groups++] = g;
	return g;
}

static void add_metric(struct group_list *l, struct group *g, const char *metric)
{
	for (int i = 0; i < g->n_metrics; i++)
		if (same_text(g->metrics[i], metric))
			return;
	if ((g->n_metrics & (g->n_metrics - 1)) == 0) { /* 0, 1, 2, 4, 8 …: full */
		const char **grown = arena_array(
			l->arena, g->n_metrics ? 2 * (size_t)g->n_metrics : 1, sizeof(*grown));

		if (g->n_metrics)
			memcpy(grown, g->metrics, (size_t)g->n_metrics * sizeof(*grown));
		g->metrics = grown;
	}
	g->metrics[g->n_metrics++] = metric;
}

static void add_node(struct group *g, const char *node)
{
	if (!node || same_text(node, g->rule_node))
		return;
	g->rule_node = node;
	if (++g->rule_nodes > g->n_nodes)
		g->n_nodes = g->rule_nodes;
	for (int i = 0; i < GROUP_NODES; i++) {
		if (g->nodes[i] && !same_text(g->nodes[i], node))
			continue;
		g->nodes[i] = node;
		return;
	}
}

static bool same_end(const struct subject_end *a, const struct subject_end *b)
{
	return same_text(a->node, b->node) && same_text(a->card, b->card) &&
	       same_text(a->nic, b->nic) && a->port == b->port;
}

static bool same_subject(const struct finding *a, const struct finding *b)
{
	const struct subject *x = &a->subject, *y = &b->subject;

	return x->kind == y->kind && same_text(x->id, y->id) && same_text(a->node, b->node) &&
	       x->n_ends == y->n_ends && same_end(&x->ends[0], &y->ends[0]) &&
	       same_end(&x->ends[1], &y->ends[1]);
}

/* Findings come by rule, and within a rule by node. */
static void count_in(struct group_list *l, struct group *g, const struct finding *f)
{
	if (g->rule != f->rule) {
		g->rule = f->rule;
		g->rule_subjects = g->rule_nodes = 0;
		g->rule_node = NULL;
		g->n_rules++;
		add_metric(l, g, f->rule->metric);
	}
	g->mixed = g->mixed || !same_subject(g->first, f);
	g->rule_subjects += f->subjects;
	if (g->rule_subjects > g->subjects)
		g->subjects = g->rule_subjects;
	add_node(g, f->node);
}

/* --- by reason ---------------------------------------------------------------------- */

/* Equal but for the name of the metric each is about. */
static bool same_reason(const struct finding *a, const struct finding *b)
{
	const struct reason *x = &a->reason, *y = &b->reason;

	if (!x->code || !y->code)
		return same_text(x->code, y->code) && same_text(x->text, y->text);
	if (!same_text(x->code, y->code) || x->n_args != y->n_args)
		return false;
	for (int i = 0; i < x->n_args; i++)
		if (!same_text(x->args[i], y->args[i]) &&
		    !(same_text(x->args[i], a->rule->metric) &&
		      same_text(y->args[i], b->rule->metric)))
			return false;
	return true;
}

static struct group *by_reason(struct group_list *l, const char *criterion, const struct finding *f)
{
	struct group *g;

	for (int k = -1; k < l->n_groups; k++) {
		if (k < 0 && l->last >= l->n_groups)
			continue;
		g = l->groups[k < 0 ? l->last : k];
		if (g->kind == GROUP_REASON && g->verdict == f->verdict &&
		    same_text(g->criterion, criterion) && same_reason(g->first, f)) {
			l->last = k < 0 ? l->last : k;
			return g;
		}
	}
	g = group_new(l, GROUP_REASON, f);
	if (g)
		g->criterion = criterion;
	return g;
}

/* --- by subject and by rule ------------------------------------------------------------ */

static struct group *by_subject(struct group_list *l, const struct finding *f)
{
	struct group *g;

	for (int i = 0; i < l->n_groups; i++) {
		g = l->groups[i];
		if (g->kind != GROUP_SUBJECT || g->verdict != f->verdict ||
		    !same_text(g->criterion, f->rule->criterion) || !same_subject(g->first, f))
			continue;
		if (g->n_others < GROUP_OTHERS)
			g->others[g->n_others] = f;
		g->n_others++;
		return g;
	}
	g = group_new(l, GROUP_SUBJECT, f);
	if (g)
		g->criterion = f->rule->criterion;
	return g;
}

static double distance(const struct finding *f)
{
	return isfinite(f->limit) ? fabs(f->value - f->limit) : 0;
}

static struct group *by_rule(struct group_list *l, const struct finding *f)
{
	struct group *g = l->last < l->n_groups ? l->groups[l->last] : NULL;

	if (!g || g->kind != GROUP_RULE || g->first->rule != f->rule || g->verdict != f->verdict) {
		g = group_new(l, GROUP_RULE, f);
		if (!g)
			return NULL;
		g->criterion = f->rule->criterion;
		g->lo = INFINITY;
		g->hi = -INFINITY;
		g->worst = f;
	}
	if (f->has_value) {
		g->lo = fmin(g->lo, f->value);
		g->hi = fmax(g->hi, f->value);
		if (distance(f) > distance(g->worst))
			g->worst = f;
	}
	return g;
}

/* --- passes ------------------------------------------------------------------------------- */

static int trouble_order(enum verdict v)
{
	return v == VERDICT_FAIL ? 0 : v == VERDICT_INCONCLUSIVE ? 1 : v == VERDICT_WARN ? 2 : -1;
}

static bool is_trouble(const struct scorecard *card, const struct finding *f)
{
	return trouble_order(f->verdict) >= 0 && !f->waived && rule_in_stage(card, f->rule) &&
	       (f->rule->reading == RULE_SOUND || f->rule->required);
}

static bool has_figure(const struct finding *f)
{
	return f->has_value || f->text;
}

static int by_rank(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
	int order = trouble_order(x->verdict) - trouble_order(y->verdict);

	if (order)
		return order;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Ranks by the scorecard's own order of culprits. */
static void rank_groups(struct group_list *l, struct group *const *group_of,
                        const struct scorecard *card)
{
	for (int64_t i = 0; i < card->n_culprits; i++) {
		ptrdiff_t at = card->culprits[i] - card->findings;
		struct group *g = at >= 0 && at < card->n_findings ? group_of[at] : NULL;

		if (!g || g->rank != INT64_MAX)
			continue;
		g->rank = i;
		if (g->kind == GROUP_RULE)
			g->worst = card->culprits[i];
	}
	if (l->n_groups)
		qsort(l->groups, (size_t)l->n_groups, sizeof(*l->groups), by_rank);
}

/* Findings from `i` on of the same rule and verdict, all with a figure. */
static int64_t like(const struct scorecard *card, int64_t i)
{
	int64_t n = 0;

	for (int64_t k = i; k < card->n_findings && n <= SPREAD; k++) {
		const struct finding *f = &card->findings[k];

		if (f->rule != card->findings[i].rule || f->verdict != card->findings[i].verdict)
			break;
		n += has_figure(f);
	}
	return n;
}

void groups_troubles(struct group_list *l, struct arena *arena, const struct scorecard *card)
{
	struct group **group_of =
		arena_array(arena, (size_t)card->n_findings + 1, sizeof(struct group *));
	const struct rule_info *rule = NULL;
	enum verdict verdict = VERDICTS;
	bool spread = false;

	*l = (struct group_list){.arena = arena};
	for (int64_t i = 0; i < card->n_findings; i++) {
		const struct finding *f = &card->findings[i];
		struct group *g;

		if (!is_trouble(card, f))
			continue;
		if (f->rule != rule || f->verdict != verdict) {
			rule = f->rule;
			verdict = f->verdict;
			spread = like(card, i) > SPREAD;
		}
		g = !has_figure(f) ? by_reason(l, f->rule->criterion, f)
		    : spread       ? by_rule(l, f)
		                   : by_subject(l, f);
		group_of[i] = g;
		if (g)
			count_in(l, g, f);
	}
	rank_groups(l, group_of, card);
}

static int by_rules(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	if (x->n_rules != y->n_rules)
		return x->n_rules > y->n_rules ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static bool is_untested(enum verdict v)
{
	return v == VERDICT_NOT_MEASURED || v == VERDICT_STATED_ONLY || v == VERDICT_TOO_SHORT ||
	       v == VERDICT_TOO_FEW;
}

static void gather_reasons(struct group_list *l, struct arena *arena, const struct scorecard *card,
                           bool inapplicable)
{
	*l = (struct group_list){.arena = arena};
	for (int64_t i = 0; i < card->n_findings; i++) {
		const struct finding *f = &card->findings[i];
		struct group *g;

		if (!f->rule->required || f->waived || !rule_in_stage(card, f->rule) ||
		    (inapplicable ? f->verdict != VERDICT_NOT_APPLICABLE
		                  : !is_untested(f->verdict)))
			continue;
		g = by_reason(l, NULL, f);
		if (g)
			count_in(l, g, f);
	}
	if (l->n_groups)
		qsort(l->groups, (size_t)l->n_groups, sizeof(*l->groups), by_rules);
}

void groups_untested(struct group_list *l, struct arena *arena, const struct scorecard *card)
{
	gather_reasons(l, arena, card, false);
}

void groups_inapplicable(struct group_list *l, struct arena *arena, const struct scorecard *card)
{
	gather_reasons(l, arena, card, true);
}

/* --- where ---------------------------------------------------------------------------------- */

static bool is_star(const struct subject *s)
{
	return s->n_ends == 0 && (!s->id || strcmp(s->id, "*") == 0);
}

static void name_nodes(struct str *out, const struct group *g)
{
	str_addf(out, "%s (", words_subjects(SUBJECT_NODE, g->n_nodes));
	for (int i = 0; i < GROUP_NODES && g->nodes[i]; i++) {
		str_add(out, i ? ", " : "");
		words_add(out, g->nodes[i]);
	}
	str_add(out, g->n_nodes > GROUP_NODES ? ", ...)" : ")");
}

void group_where(struct str *out, const struct group *g, const struct scorecard *card)
{
	const struct finding *f = g->first;

	if (!g->mixed && !is_star(&f->subject)) {
		words_subject(out, &f->subject, f->node);
	} else if (g->n_nodes > 0 && g->n_nodes < card->expected_nodes) {
		if (g->n_nodes > 1)
			name_nodes(out, g);
		else
			words_add(out, g->nodes[0]);
		if (!g->mixed && g->subjects > 1)
			str_addf(out, ", %s", words_subjects(f->subject.kind, g->subjects));
	}
}
