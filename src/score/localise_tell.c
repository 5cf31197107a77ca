/* What is said of each thing found: it beside everything else that shares a pair
 * with it, all others found being granted. One name only where the odds and the
 * shape of the data leave no other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "score/localise_model.h"

#define LEAST_ODDS   1e-3 /* of an explanation worth saying */
#define LEAST_TELL   0.5  /* of being anything at all */
#define AGAINST_EACH 1000 /* values one of which may speak against a name, and one more */
#define CI_Z         1.959963984540054
#define NAMED_Z      13.0 /* |delta| / se at which a thing is named nearly always */

#define NOTHING (-1) /* in place of a candidate */

/* An explanation in the making: a candidate with its ways joined. */
struct telling {
	int part;
	enum culprit_way way; /* likeliest */
	double log_odds;      /* of all ways together */
	double way_odds;
	struct look look;
};

struct teller {
	const struct model *m;
	struct arena *arena;
	int *stamp; /* per part */
	int *seen;  /* per node */
	int mark, node_mark;
	bool may_name;
	struct telling *list;
	int n, cap;
};

/* --- alternatives ----------------------------------------------------------------- */

static double log_sum(double a, double b)
{
	double top = fmax(a, b);

	return isinf(top) ? top : top + log(exp(a - top) + exp(b - top));
}

static void add_telling(struct teller *t, const struct telling *told)
{
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->list = realloc(t->list, (size_t)t->cap * sizeof(*t->list));
		if (!t->list)
			die_nomem();
	}
	t->list[t->n++] = *told;
}

static void tell_part(struct teller *t, int part, int without)
{
	struct telling told = {.part = part, .log_odds = -INFINITY, .look.log_odds = -INFINITY};

	if (part < 0 || t->stamp[part] == t->mark)
		return;
	t->stamp[part] = t->mark;
	for (int way = 0; way < CULPRIT_WAYS; way++) {
		struct look look;

		if (!part_has_way(&t->m->parts, part, (enum culprit_way)way))
			continue;
		look = model_look(t->m, part, (enum culprit_way)way, without);
		told.log_odds = log_sum(told.log_odds, look.log_odds);
		if (look.log_odds > told.look.log_odds) {
			told.way = (enum culprit_way)way;
			told.look = look;
		}
	}
	if (told.log_odds < log(LEAST_ODDS))
		return;
	told.way_odds = exp(told.look.log_odds - told.log_odds);
	add_telling(t, &told);
}

static void tell_leaf(struct teller *t, int node, int without)
{
	const struct localise_input *in = t->m->in;
	int leaf = in->leaf ? in->leaf[node] : -1;

	if (leaf < 0)
		return;
	tell_part(t, t->m->parts.of_leaf[leaf], without);
	tell_part(t, t->m->parts.of_uplink[leaf], without);
}

/* Everything that is part of one of the values of what was found. */
static void tell_all(struct teller *t, int found)
{
	const struct parts *p = &t->m->parts;
	const struct found *f = &t->m->found[found];
	int n;
	const int *list = part_values(p, f->part, f->way, &n);

	t->mark++;
	t->n = 0;
	tell_part(t, f->part, found);
	for (int i = 0; i < n; i++) {
		const struct pair_value *v = &t->m->in->pairs[list[i]];

		tell_part(t, p->of_node[v->from], found);
		tell_part(t, p->of_node[v->to], found);
		tell_part(t, p->of_from_nic[list[i]], found);
		tell_part(t, p->of_to_nic[list[i]], found);
		tell_part(t, p->of_link[list[i]], found);
		tell_part(t, p->of_incast[v->to], found);
		tell_leaf(t, v->from, found);
		tell_leaf(t, v->to, found);
		if (v->from_nic >= 0)
			tell_part(t, p->of_rail[v->from_nic], found);
		if (v->to_nic >= 0)
			tell_part(t, p->of_rail[v->to_nic], found);
	}
}

/* --- what the data can tell ------------------------------------------------------- */

/* Different nodes among the ends of values: those inside the thing, or outside.
 * `free_of`: count only values that nobody but this one of the found explains. */
static int count_ends(struct teller *t, const int *list, int n, const struct part *c, bool inside,
                      int free_of)
{
	const struct localise_input *in = t->m->in;
	int count = 0;

	t->node_mark++;
	for (int i = 0; i < n; i++) {
		const int ends[] = {in->pairs[list[i]].from, in->pairs[list[i]].to};

		if (free_of >= 0 && model_explained(t->m, list[i], free_of) != 0)
			continue;
		for (int e = 0; e < 2; e++) {
			bool within = c->kind == CULPRIT_RAIL || ends[e] == c->node ||
			              (c->leaf >= 0 && in->leaf[ends[e]] == c->leaf);

			if (within != inside || t->seen[ends[e]] == t->node_mark)
				continue;
			t->seen[ends[e]] = t->node_mark;
			count++;
		}
	}
	return count;
}

/* Partners of a node besides one, over values nobody else is blamed for. */
static int other_partners(struct teller *t, int node, int besides, int found)
{
	const struct part *c = &t->m->parts.part[t->m->parts.of_node[node]];
	int n;
	const int *list =
		part_values(&t->m->parts, t->m->parts.of_node[node], CULPRIT_WAY_BOTH, &n);
	int count = count_ends(t, list, n, c, false, found);

	return count - (t->seen[besides] == t->node_mark);
}

/* A thing slow both ways, but by different depths, is found once for each. */
static bool told_before(const struct model *m, int found)
{
	for (int f = 0; f < found; f++)
		if (!m->found[f].gone && m->found[f].part == m->found[found].part)
			return true;
	return false;
}

/* More than a quarter of what there is, bad one by one: rather one cause for many.
 * And of few nodes few are sound. */
static bool may_name(const struct model *m)
{
	int count = 0, nics = 0, all_nics = 0, nodes = 0;

	for (int p = 0; p < m->parts.n; p++) {
		all_nics += m->parts.part[p].kind == CULPRIT_NIC;
		nodes += m->parts.part[p].kind == CULPRIT_NODE;
	}
	for (int f = 0; f < m->n_found; f++) {
		if (m->found[f].gone || told_before(m, f))
			continue;
		count += m->parts.part[m->found[f].part].kind != CULPRIT_NIC;
		nics += m->parts.part[m->found[f].part].kind == CULPRIT_NIC;
	}
	return nodes >= LOCALISE_NODES && 4 * count <= nodes && 4 * nics <= fmax(all_nics, 4) &&
	       model_sound(m);
}

static bool can_name(struct teller *t, const struct telling *told, int found)
{
	const struct part *c = &t->m->parts.part[told->part];
	int n;
	const int *list = part_values(&t->m->parts, told->part, told->way, &n);

	if (told->look.support < LEAST_SUPPORT || told->look.against > 1 + (size_t)n / AGAINST_EACH)
		return false;
	switch (c->kind) {
	case CULPRIT_LINK:
		return n >= 2 && other_partners(t, c->node, c->peer, found) >= 2 &&
		       other_partners(t, c->peer, c->node, found) >= 2;
	case CULPRIT_LEAF:
	case CULPRIT_UPLINK:
	case CULPRIT_RAIL:
		return count_ends(t, list, n, c, true, found) >= LOCALISE_PARTNERS;
	default:
		return count_ends(t, list, n, c, false, found) >= LOCALISE_PARTNERS;
	}
}

/* --- writing ---------------------------------------------------------------------- */

static double to_value(const struct model *m, double y)
{
	return exp(m->in->better == BETTER_HIGHER ? y : -y);
}

static double base_of(const struct model *m)
{
	return isfinite(m->mu[1]) ? m->mu[1] : m->mu[0];
}

static double depth_of(double delta)
{
	return fmin(1, fmax(0, 1 - exp(delta)));
}

static struct blame write_nothing(double odds)
{
	return (struct blame){
		.kind = CULPRIT_NOTHING,
		.node = -1,
		.peer = -1,
		.nic = -1,
		.peer_nic = -1,
		.leaf = -1,
		.way_odds = NAN,
		.depth = NAN,
		.lo = NAN,
		.hi = NAN,
		.level = NAN,
		.odds = odds,
	};
}

static struct blame write_blame(struct teller *t, const struct telling *told, double odds)
{
	const struct part *c = &t->m->parts.part[told->part];
	const struct look *look = &told->look;
	bool turn = c->kind == CULPRIT_LINK && told->way == CULPRIT_WAY_RECEIVES;
	int n;
	const int *list = part_values(&t->m->parts, told->part, told->way, &n);

	return (struct blame){
		.kind = c->kind,
		.node = turn ? c->peer : c->node,
		.peer = turn ? c->node : c->peer,
		.nic = turn ? c->peer_nic : c->nic,
		.peer_nic = turn ? c->nic : c->peer_nic,
		.leaf = c->leaf,
		.way = turn                        ? CULPRIT_WAY_SENDS
	               : c->kind == CULPRIT_INCAST ? CULPRIT_WAY_RECEIVES
	                                           : told->way,
		.way_odds = told->way_odds,
		.depth = depth_of(look->delta),
		.lo = depth_of(look->delta + CI_Z * look->se),
		.hi = depth_of(look->delta - CI_Z * look->se),
		.odds = odds,
		.partners = c->kind == CULPRIT_LINK
	                            ? 1
	                            : count_ends(t, list, n, c, c->kind == CULPRIT_RAIL, -1),
		.readings = look->n,
		.against = look->against,
		.level = to_value(t->m, base_of(t->m) + look->delta),
	};
}

static int by_odds(const void *a, const void *b)
{
	const struct telling *x = a, *y = b;

	if (x->log_odds != y->log_odds)
		return x->log_odds > y->log_odds ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

/* True if it is more likely something than nothing. */
static bool tell_fault(struct teller *t, int found, struct fault *fault)
{
	double total = -INFINITY; /* log of all odds against nothing */
	struct blame *list;

	tell_all(t, found);
	add_telling(t, &(struct telling){.part = NOTHING});
	qsort(t->list, (size_t)t->n, sizeof(*t->list), by_odds);
	for (int i = 0; i < t->n; i++)
		total = log_sum(total, t->list[i].log_odds);
	if (exp(-total) > 1 - LEAST_TELL)
		return false;
	*fault = (struct fault){0};
	fault->list = list = arena_array(t->arena, (size_t)t->n, sizeof(*list));
	for (; fault->n < t->n; fault->n++) {
		const struct telling *told = &t->list[fault->n];
		double odds = exp(told->log_odds - total);

		if (fault->n && odds < LEAST_ODDS)
			break;
		list[fault->n] =
			told->part == NOTHING ? write_nothing(odds) : write_blame(t, told, odds);
	}
	fault->identified = t->may_name && list[0].kind != CULPRIT_NOTHING &&
	                    list[0].odds >= LOCALISE_SURE && can_name(t, &t->list[0], found);
	return true;
}

/* A fault while they are put in order. */
struct told {
	struct fault fault;
	int found;
};

static double told_depth(const struct told *t)
{
	return isnan(t->fault.list->depth) ? -1 : t->fault.list->depth;
}

static int by_depth(const void *a, const void *b)
{
	double x = told_depth(a), y = told_depth(b);

	if (x != y)
		return x > y ? -1 : 1;
	return ((const struct told *)a)->found - ((const struct told *)b)->found;
}

static int by_count(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Depth at which a node with as many values as the median one is named. */
static double resolution(const struct model *m)
{
	int *count = malloc(((size_t)m->in->n_nodes + 1) * sizeof(*count)), nodes = 0, n;
	double se, result = NAN;

	if (!count)
		die_nomem();
	for (int node = 0; node < m->in->n_nodes; node++) {
		if (m->parts.of_node[node] < 0)
			continue;
		part_values(&m->parts, m->parts.of_node[node], CULPRIT_WAY_BOTH, &n);
		count[nodes++] = n;
	}
	qsort(count, (size_t)nodes, sizeof(*count), by_count);
	se = hypot(m->sigma / sqrt(count[nodes / 2]), m->tau);
	if (nodes > LOCALISE_PARTNERS)
		result = fmax(LOCALISE_DEPTH, 1 - exp(-NAMED_Z * se));
	free(count);
	return result;
}

/* Which fault each value is blamed on; of two the one found first. */
static const int *blamed(const struct model *m, struct arena *arena, const struct told *told, int n)
{
	int *of = arena_array(arena, (size_t)m->n, sizeof(*of));
	int *of_found = arena_array(arena, (size_t)m->n_found, sizeof(*of_found));

	for (int f = 0; f < m->n_found; f++) {
		of_found[f] = -1;
		for (int i = 0; i < n && !m->found[f].gone; i++)
			if (m->found[told[i].found].part == m->found[f].part)
				of_found[f] = i;
	}
	for (int i = 0; i < m->n; i++) {
		of[i] = -1;
		for (int c = m->head[i]; c >= 0; c = m->cover[c].next)
			if (of_found[m->cover[c].found] >= 0)
				of[i] = of_found[m->cover[c].found];
	}
	return of;
}

/* What nobody but the pair itself can be blamed for, per value. */
static const double *left_over(const struct model *m, struct arena *arena)
{
	double *off = arena_array(arena, (size_t)m->n, sizeof(*off));

	for (int i = 0; i < m->n; i++) {
		const struct pair_value *v = &m->in->pairs[i];
		double granted = 0;

		for (int c = m->head[i]; c >= 0; c = m->cover[c].next) {
			const struct found *f = &m->found[m->cover[c].found];

			if (f->gone || m->parts.part[f->part].kind == CULPRIT_LINK)
				continue;
			granted = m->minimum ? fmin(granted, f->delta) : granted + f->delta;
		}
		if (granted == 0 && m->tau > 0 && !v->failed)
			granted = m->own[v->from] + m->own[v->to];
		off[i] = model_deviation(m, i) - granted;
	}
	return off;
}

/* Every fault worth telling, in order. */
static int tell_faults(struct teller *t, struct told *told)
{
	int n = 0;

	for (int f = 0; f < t->m->n_found; f++) {
		if (t->m->found[f].gone || told_before(t->m, f) ||
		    !tell_fault(t, f, &told[n].fault))
			continue;
		told[n++].found = f;
	}
	qsort(told, (size_t)n, sizeof(*told), by_depth);
	return n;
}

void model_tell(const struct model *m, struct arena *arena, struct localise_result *out)
{
	struct teller t = {.m = m, .arena = arena, .may_name = may_name(m)};
	struct told *told = arena_array(arena, (size_t)m->n_found, sizeof(*told));
	struct fault *faults = arena_array(arena, (size_t)m->n_found, sizeof(*faults));

	t.stamp = calloc((size_t)m->parts.n + 1, sizeof(*t.stamp));
	t.seen = calloc((size_t)m->in->n_nodes + 1, sizeof(*t.seen));
	if (!t.stamp || !t.seen)
		die_nomem();
	*out = (struct localise_result){
		.faults = faults,
		.n_faults = tell_faults(&t, told),
		.base = to_value(m, base_of(m)),
		.noise = m->sigma,
		.spread = m->tau,
		.across = isfinite(m->mu[1]) ? exp(m->mu[1] - m->mu[0]) : NAN,
		.minimum = m->minimum,
		.readings = (size_t)m->n,
		.resolution = resolution(m),
	};
	for (int f = 0; f < out->n_faults; f++)
		faults[f] = told[f].fault;
	out->fault_of = blamed(m, arena, told, out->n_faults);
	out->off = left_over(m, arena);
	for (int node = 0; node < m->in->n_nodes; node++)
		out->nodes += m->parts.of_node[node] >= 0;
	free(t.stamp);
	free(t.seen);
	free(t.list);
}
