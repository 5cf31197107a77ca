/* From pair readings to who is to blame. Every metric about pairs of nodes that has
 * a better side is given to localise, whether a rule judges it or not: names come
 * from what pairs reach beside each other, verdicts from limits.
 *
 * What a reading of a pair says, and of what pattern it was part: score/pairs.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/unit.h"
#include "score/judging.h"
#include "score/localise.h"
#include "score/pairs.h"

#define MOST_NICS 1024

/* Names by number, sorted. */
struct names {
	const char **name;
	int n;
};

/* The readings of one metric at one operating point. */
struct pairs {
	const struct series *series;
	const char *point;
	const struct reading **readings; /* per value */
	struct pair_value *values;
	size_t n;
	struct names nodes, nics, leaves;
	int *leaf; /* per node */
	bool any_leaf;
};

/* --- names ------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void names_sort(struct names *names)
{
	int n = 0;

	qsort(names->name, (size_t)names->n, sizeof(*names->name), by_name);
	for (int i = 0; i < names->n; i++)
		if (!n || strcmp(names->name[n - 1], names->name[i]) != 0)
			names->name[n++] = names->name[i];
	names->n = n;
}

/* -1: none of them. */
static int names_find(const struct names *names, const char *name)
{
	const char **found =
		name ? bsearch(&name, names->name, (size_t)names->n, sizeof(*names->name), by_name)
		     : NULL;

	return found ? (int)(found - names->name) : -1;
}

static const char *names_get(const struct names *names, int i)
{
	return i >= 0 ? names->name[i] : NULL;
}

/* --- readings --------------------------------------------------------------------- */

static bool same_point(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Numbers for names, now that all are known. */
static void number_ends(struct pairs *p, const struct pair_pattern *pattern)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct subject_end *ends = p->readings[i]->subject.ends;
		struct pair_value *v = &p->values[i];

		v->from = names_find(&p->nodes, ends[0].node);
		v->to = names_find(&p->nodes, ends[1].node);
		v->from_nic = p->nics.n < MOST_NICS ? names_find(&p->nics, ends[0].nic) : -1;
		v->to_nic = p->nics.n < MOST_NICS ? names_find(&p->nics, ends[1].nic) : -1;
		for (int e = 0; e < 2; e++)
			if (pattern[i].leaf[e]) {
				p->leaf[e ? v->to : v->from] =
					names_find(&p->leaves, pattern[i].leaf[e]);
				p->any_leaf = true;
			}
	}
}

static void *room(struct judging *j, int64_t n, size_t size)
{
	return arena_array(&j->scratch, (size_t)n + 1, size);
}

static void pairs_gather(struct judging *j, struct pairs *p)
{
	int64_t most = p->series->n;
	struct pair_pattern *pattern = room(j, most, sizeof(*pattern));

	p->readings = room(j, most, sizeof(*p->readings));
	p->values = room(j, most, sizeof(*p->values));
	p->nodes.name = room(j, 2 * most, sizeof(char *));
	p->nics.name = room(j, 2 * most, sizeof(char *));
	p->leaves.name = room(j, 2 * most, sizeof(char *));
	for (int64_t i = 0; i < most; i++) {
		const struct reading *r = p->series->entries[i].reading;

		if (!pair_usable(r) || !same_point(r->point, p->point))
			continue;
		pattern[p->n] = pair_pattern(r, &j->scratch);
		p->values[p->n] = (struct pair_value){.value = r->value,
		                                      .failed = r->outcome != OUTCOME_MEASURED,
		                                      .senders = pattern[p->n].senders};
		for (int e = 0; e < 2; e++) {
			p->nodes.name[p->nodes.n++] = r->subject.ends[e].node;
			if (r->subject.ends[e].nic)
				p->nics.name[p->nics.n++] = r->subject.ends[e].nic;
			if (pattern[p->n].leaf[e])
				p->leaves.name[p->leaves.n++] = pattern[p->n].leaf[e];
		}
		p->readings[p->n++] = r;
	}
	names_sort(&p->nodes);
	names_sort(&p->nics);
	names_sort(&p->leaves);
	p->leaf = room(j, p->nodes.n, sizeof(*p->leaf));
	for (int i = 0; i < p->nodes.n; i++)
		p->leaf[i] = -1;
	number_ends(p, pattern);
}

/* --- words ------------------------------------------------------------------------ */

static const char *thing_name(struct judging *j, const struct explanation *e)
{
	const char *from = e->node, *to = e->peer;

	switch (e->kind) {
	case CULPRIT_NODE:
	case CULPRIT_NIC:
		return e->nic ? judging_text(j, MSG_culprit_nic, e->node, e->nic) : e->node;
	case CULPRIT_LINK:
		if (e->nic)
			from = judging_text(j, MSG_culprit_nic, e->node, e->nic);
		if (e->peer_nic)
			to = judging_text(j, MSG_culprit_nic, e->peer, e->peer_nic);
		return judging_text(j, MSG_culprit_link, from, to);
	case CULPRIT_LEAF:
		return judging_text(j, MSG_culprit_leaf, e->leaf);
	case CULPRIT_UPLINK:
		return judging_text(j, MSG_culprit_uplink, e->leaf);
	case CULPRIT_RAIL:
		return judging_text(j, MSG_culprit_rail, e->nic);
	case CULPRIT_INCAST:
		return judging_text(j, MSG_culprit_incast, e->node);
	case CULPRIT_NOTHING:
		break;
	}
	return judging_text_list(j, MSG_culprit_nothing, (const char *const[]){NULL});
}

static const char *way_name(const struct explanation *e)
{
	static const enum msg ways[] = {MSG_culprit_both, MSG_culprit_sends, MSG_culprit_receives};

	return say(ways[e->way]);
}

static const char *named_text(struct judging *j, const struct localised *l)
{
	static const enum msg texts[] = {
		[CULPRIT_NODE] = MSG_culprit_named_node,
		[CULPRIT_NIC] = MSG_culprit_named_nic,
		[CULPRIT_LINK] = MSG_culprit_named_link,
		[CULPRIT_LEAF] = MSG_culprit_named_group,
		[CULPRIT_UPLINK] = MSG_culprit_named_group,
		[CULPRIT_RAIL] = MSG_culprit_named_group,
		[CULPRIT_INCAST] = MSG_culprit_named_incast,
	};
	const struct explanation *e = &l->explanations[0];

	return judging_text_list(j, texts[e->kind],
	                         (const char *const[]){thing_name(j, e), way_name(e),
	                                               fmt_measure(e->level, l->unit),
	                                               tmpf("%d", e->partners),
	                                               fmt_measure(l->healthy, l->unit), NULL});
}

static const char *open_text(struct judging *j, const struct localised *l)
{
	struct str list = {0};
	const char *text;

	for (int i = 0; i < l->n_explanations; i++) {
		const struct explanation *e = &l->explanations[i];

		str_add(&list, i ? ", " : "");
		msg_add(&list, MSG_culprit_odds, thing_name(j, e), tmpf("%.3g", 100 * e->odds));
	}
	text = judging_text(j, MSG_culprit_open, str_text(&list));
	str_release(&list);
	return text;
}

/* --- results ---------------------------------------------------------------------- */

static struct explanation explain(struct judging *j, const struct pairs *p, const struct blame *b)
{
	return (struct explanation){
		.kind = b->kind,
		.node = arena_str(j->arena, names_get(&p->nodes, b->node)),
		.nic = arena_str(j->arena, names_get(&p->nics, b->nic)),
		.peer = arena_str(j->arena, names_get(&p->nodes, b->peer)),
		.peer_nic = arena_str(j->arena, names_get(&p->nics, b->peer_nic)),
		.leaf = arena_str(j->arena, names_get(&p->leaves, b->leaf)),
		.way = b->way,
		.way_odds = b->way_odds,
		.depth = b->depth,
		.depth_lo = b->lo,
		.depth_hi = b->hi,
		.odds = b->odds,
		.level = b->level,
		.partners = b->partners,
		.readings = (int64_t)b->readings,
	};
}

static int by_number(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t count_pairs(struct judging *j, const struct pairs *p)
{
	int64_t *key = room(j, (int64_t)p->n, sizeof(*key)), n = 0;

	for (size_t i = 0; i < p->n; i++) {
		int from = p->values[i].from, to = p->values[i].to;

		key[i] = from < to ? (int64_t)from * p->nodes.n + to
		                   : (int64_t)to * p->nodes.n + from;
	}
	qsort(key, p->n, sizeof(*key), by_number);
	for (size_t i = 0; i < p->n; i++)
		n += i == 0 || key[i] != key[i - 1];
	return n;
}

static struct localised head(struct judging *j, const struct pairs *p, double healthy)
{
	int64_t nodes = j->run->info.expected_nodes;

	return (struct localised){
		.metric = arena_str(j->arena, p->series->metric),
		.unit = arena_str(j->arena, p->series->def->unit),
		.point = arena_str(j->arena, p->point),
		.healthy = healthy,
		.pairs = count_pairs(j, p),
		.due = nodes * (nodes - 1) / 2,
	};
}

static struct localised localised_fault(struct judging *j, const struct pairs *p,
                                        const struct localise_result *r, const struct fault *f)
{
	struct localised l = head(j, p, r->base);
	struct explanation *list = arena_array(j->arena, (size_t)f->n, sizeof(*list));

	l.identified = f->identified;
	for (int i = 0; i < f->n; i++)
		list[i] = explain(j, p, &f->list[i]);
	l.explanations = list;
	l.n_explanations = f->n;
	l.text = f->identified ? named_text(j, &l) : open_text(j, &l);
	return l;
}

/* The figure a rule compares a pair with; only needed where there are too few nodes
 * to compare with each other. */
static double expected_figure(const struct judging *j, const struct series *s)
{
	for (int i = 0; i < j->n_rules; i++) {
		const struct resolved *rr = &j->rules[i];
		const struct limit *l = &rr->rule->limit;

		if (rr->series != s || rr->rule->info.reading != RULE_SOUND ||
		    rr->rule->stat != STAT_VALUE || rr->rule->scope != SCOPE_EACH)
			continue;
		for (int64_t f = rr->first; f < rr->end; f++)
			if (isfinite(j->findings[f].limit))
				return j->findings[f].limit /
				       (l->kind == LIMIT_FRACTION && l->factor > 0 ? l->factor : 1);
	}
	return NAN;
}

/* --- findings --------------------------------------------------------------------- */

/* Slow pairs that a name explains say so; returns how many of all fail. Readings of
 * the run are one array. */
static int64_t mark_findings(struct judging *j, const struct pairs *p, const char *const *culprit)
{
	int64_t *value_of = room(j, j->run->n_readings, sizeof(*value_of)), fails = 0;

	for (size_t i = 0; i < p->n; i++)
		value_of[p->readings[i] - j->run->readings] = (int64_t)i + 1;
	for (int i = 0; i < j->n_rules; i++) {
		const struct resolved *rr = &j->rules[i];

		for (int64_t k = rr->first; rr->series == p->series && k < rr->end; k++) {
			struct finding *f = &j->findings[k];
			int64_t value = f->evidence ? value_of[f->evidence - j->run->readings] : 0;

			if (!value || f->verdict == VERDICT_PASS)
				continue;
			fails += f->verdict == VERDICT_FAIL;
			f->culprit = culprit[value - 1];
		}
	}
	return fails;
}

struct found {
	struct localised *list;
	int n, cap;
};

static void found_add(struct found *found, const struct localised *l)
{
	if (found->n == found->cap) {
		found->cap = found->cap ? found->cap * 2 : 16;
		found->list = realloc(found->list, (size_t)found->cap * sizeof(*found->list));
		if (!found->list)
			die_nomem();
	}
	found->list[found->n++] = *l;
}

static void find_one(struct judging *j, struct pairs *p, struct found *found)
{
	struct localise_input in = {.better = p->series->def->better};
	struct localise_result result;
	const char **culprit;
	int64_t fails;
	int first = found->n;

	pairs_gather(j, p);
	in.n_nodes = p->nodes.n;
	in.leaf = p->any_leaf ? p->leaf : NULL;
	in.pairs = p->values;
	in.n = p->n;
	in.expected = expected_figure(j, p->series);
	if (localise(&in, &j->scratch, &result) != ST_OK)
		return; /* nothing to compare: the pairs' own findings stand alone */
	for (int f = 0; f < result.n_faults; f++) {
		struct localised l = localised_fault(j, p, &result, &result.faults[f]);

		found_add(found, &l);
	}
	culprit = room(j, (int64_t)p->n, sizeof(*culprit));
	for (size_t i = 0; i < p->n; i++)
		if (result.fault_of[i] >= 0 && result.faults[result.fault_of[i]].identified)
			culprit[i] = found->list[first + result.fault_of[i]].text;
	fails = mark_findings(j, p, culprit);
	if (fails && !result.n_faults) {
		struct localised l = head(j, p, result.base);

		l.text = judging_text(j, MSG_culprit_alike, tmpf("%lld", (long long)fails),
		                      tmpf("%lld", (long long)l.pairs));
		found_add(found, &l);
	}
}

/* Each operating point by itself: another message size is another rate. */
static void find_series(struct judging *j, const struct series *s, struct found *found)
{
	for (int64_t i = 0; i < s->n; i++) {
		const char *point = s->entries[i].reading->point;
		bool before = false;

		for (int64_t k = 0; k < i && !before; k++)
			before = same_point(s->entries[k].reading->point, point);
		if (!before) {
			struct pairs p = {.series = s, .point = point};

			find_one(j, &p, found);
		}
	}
}

/* --- how many pairs ----------------------------------------------------------------- */

/* Of a probe the metric that says most. */
static void cover(struct judging *j, struct scorecard *card, struct pair_cover *list,
                  const struct series *s)
{
	const struct pairs_seen seen = pairs_count(s, true);
	const char *probe = s->entries[0].reading->probe;
	int64_t nodes = j->run->info.expected_nodes;
	int i = 0;

	if (!probe || !seen.pairs)
		return;
	while (i < card->n_pairs && strcmp(list[i].probe, probe) != 0)
		i++;
	if (i == card->n_pairs)
		list[card->n_pairs++] = (struct pair_cover){.probe = arena_str(j->arena, probe),
		                                            .due = nodes * (nodes - 1) / 2};
	list[i].pairs = seen.pairs > list[i].pairs ? seen.pairs : list[i].pairs;
	list[i].again = seen.again > list[i].again ? seen.again : list[i].again;
}

static void cover_all(struct judging *j, struct scorecard *card)
{
	struct pair_cover *list =
		arena_array(j->arena, (size_t)j->index.n_series + 1, sizeof(*list));

	card->pairs = list;
	for (int i = 0; i < j->index.n_series; i++) {
		const struct series *s = &j->index.series[i];

		if (s->n && s->def && s->def->subject == SUBJECT_PAIR)
			cover(j, card, list, s);
	}
}

void culprits_find(struct judging *j, struct scorecard *card)
{
	struct found found = {0};
	struct localised *kept;

	cover_all(j, card);
	for (int i = 0; i < j->index.n_series; i++) {
		const struct series *s = &j->index.series[i];

		if (s->n && s->def && s->def->subject == SUBJECT_PAIR &&
		    s->def->better != BETTER_NEITHER && strcmp(s->def->unit, "text") != 0)
			find_series(j, s, &found);
	}
	kept = arena_array(j->arena, (size_t)found.n, sizeof(*kept));
	if (found.n)
		memcpy(kept, found.list, (size_t)found.n * sizeof(*kept));
	card->localised = kept;
	card->n_localised = found.n;
	free(found.list);
}
