/* What the tests of localise share: clusters made from a seed with faults planted
 * in them, and how often what is wrong is named. */
#ifndef LOCALISE_KIT_H
#define LOCALISE_KIT_H

#include "tests/unit/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "score/localise.h"
#include "stats/rng.h"

#define PLANTS 40

/* A planted fault: lowers what localise would blame the same names for. */
struct plant {
	enum culprit_kind kind;
	int node, peer, nic, leaf;
	enum culprit_way way;
	double depth;
};

/* Faults to draw at random, on different nodes; n 0: none. */
struct draw {
	enum culprit_kind kind;
	int n;
	double least, most; /* depth */
	bool any_way;       /* else both */
};

/* A cluster: how it is measured, and what is wrong with it. */
struct cluster {
	int nodes, nics, leaves; /* nics 0: not said; leaves 0: none */
	int partners;            /* 0: all pairs; else sampled matchings */
	int repeats;             /* readings of each ordered pair; 0: 1 */
	int senders;    /* 1: pairs by themselves; more: many-to-one as well; 0: not said */
	bool only_many; /* … and nothing else */
	double noise, node_noise; /* sd of one value, between nodes */
	bool minimum;
	enum better better;
	struct draw draw; /* fills plant anew for each run */
	struct plant plant[PLANTS];
	int n_plants;
};

struct values {
	struct pair_value *pairs;
	size_t n, cap;
	int *leaf;
};

static inline int kit_leaf(const struct cluster *c, int node)
{
	return c->leaves ? node * c->leaves / c->nodes : -1;
}

static inline bool way_hits(enum culprit_way way, bool sends, bool receives)
{
	return way == CULPRIT_WAY_BOTH    ? sends || receives
	       : way == CULPRIT_WAY_SENDS ? sends
	                                  : receives;
}

static inline bool plant_hits(const struct cluster *c, const struct plant *p,
                              const struct pair_value *v)
{
	int from = kit_leaf(c, v->from), to = kit_leaf(c, v->to);

	switch (p->kind) {
	case CULPRIT_NODE:
		return way_hits(p->way, v->from == p->node, v->to == p->node);
	case CULPRIT_NIC:
		return way_hits(p->way, v->from == p->node && v->from_nic == p->nic,
		                v->to == p->node && v->to_nic == p->nic);
	case CULPRIT_LINK:
		return (!c->nics || v->from_nic == p->nic) &&
		       way_hits(p->way, v->from == p->node && v->to == p->peer,
		                v->from == p->peer && v->to == p->node);
	case CULPRIT_LEAF:
		return from == p->leaf || to == p->leaf;
	case CULPRIT_UPLINK:
		return from != to && way_hits(p->way, from == p->leaf, to == p->leaf);
	case CULPRIT_RAIL:
		return v->from_nic == p->nic || v->to_nic == p->nic;
	case CULPRIT_INCAST:
		return v->senders != 1 && v->to == p->node;
	default:
		return false;
	}
}

static inline void kit_value(const struct cluster *c, struct values *v, struct pair_value pair,
                             const double *node, struct rng *rng)
{
	double y = node[pair.from] + node[pair.to] + c->noise * rng_normal(rng), lost = 0;

	for (int i = 0; i < c->n_plants; i++) {
		if (!plant_hits(c, &c->plant[i], &pair))
			continue;
		if (c->minimum)
			lost = fmin(lost, log(1 - c->plant[i].depth));
		else
			lost += log(1 - c->plant[i].depth);
	}
	y += lost;
	pair.value = c->better == BETTER_LOWER ? 5 * exp(-y) : 24 * exp(y);
	if (pair.senders > 1)
		pair.value /= pair.senders;
	if (v->n == v->cap) {
		v->cap = v->cap ? v->cap * 2 : 256;
		v->pairs = realloc(v->pairs, v->cap * sizeof(*v->pairs));
		assert_non_null(v->pairs);
	}
	v->pairs[v->n++] = pair;
}

static inline void kit_pair(const struct cluster *c, struct values *v, int a, int b,
                            const double *node, struct rng *rng)
{
	int nics = c->nics ? c->nics : 1, repeats = c->repeats ? c->repeats : 1;

	for (int nic = 0; nic < nics; nic++)
		for (int i = 0; i < 2 * repeats; i++) {
			int rail = c->nics ? nic : -1;
			struct pair_value pair = {
				i % 2 ? b : a, i % 2 ? a : b, rail, rail, 0, false, 1};

			if (!c->only_many)
				kit_value(c, v, pair, node, rng);
			pair.senders = c->senders;
			if (c->senders != 1)
				kit_value(c, v, pair, node, rng);
		}
}

/* Random perfect matchings: node order shuffled, neighbours paired. */
static inline void kit_sample(const struct cluster *c, struct values *v, const double *node,
                              struct rng *rng)
{
	int *order = calloc((size_t)c->nodes, sizeof(*order));

	assert_non_null(order);
	for (int i = 0; i < c->nodes; i++)
		order[i] = i;
	for (int round = 0; round < c->partners; round++) {
		for (int i = c->nodes - 1; i > 0; i--) {
			int k = (int)rng_below(rng, (uint32_t)i + 1), swap = order[i];

			order[i] = order[k];
			order[k] = swap;
		}
		for (int i = 0; i + 1 < c->nodes; i += 2)
			kit_pair(c, v, order[i], order[i + 1], node, rng);
	}
	free(order);
}

static inline struct values kit_values(const struct cluster *c, uint64_t seed)
{
	struct values v = {0};
	struct rng rng;
	double *node = calloc((size_t)c->nodes, sizeof(*node));

	assert_non_null(node);
	v.leaf = calloc((size_t)c->nodes, sizeof(*v.leaf));
	assert_non_null(v.leaf);
	rng_seed(&rng, seed);
	for (int i = 0; i < c->nodes; i++) {
		v.leaf[i] = kit_leaf(c, i);
		node[i] = c->node_noise * rng_normal(&rng);
	}
	if (c->partners)
		kit_sample(c, &v, node, &rng);
	for (int a = 0; !c->partners && a < c->nodes; a++)
		for (int b = a + 1; b < c->nodes; b++)
			kit_pair(c, &v, a, b, node, &rng);
	free(node);
	return v;
}

static inline void values_free(struct values *v)
{
	free(v->pairs);
	free(v->leaf);
}

static inline struct localise_input kit_input(const struct cluster *c, const struct values *v)
{
	return (struct localise_input){
		.n_nodes = c->nodes,
		.leaf = c->leaves ? v->leaf : NULL,
		.pairs = v->pairs,
		.n = v->n,
		.better = c->better == BETTER_LOWER ? BETTER_LOWER : BETTER_HIGHER,
		.expected = NAN,
	};
}

/* --- counting ---------------------------------------------------------------------- */

static inline bool same_blame(const struct plant *p, const struct blame *b, bool with_way)
{
	bool turned = p->kind == CULPRIT_LINK && b->node == p->peer;

	if (b->kind != p->kind)
		return false;
	if (with_way && b->kind != CULPRIT_INCAST && b->way != p->way)
		return false;
	switch (p->kind) {
	case CULPRIT_LEAF:
	case CULPRIT_UPLINK:
		return b->leaf == p->leaf;
	case CULPRIT_RAIL:
		return b->nic == p->nic;
	case CULPRIT_NIC:
		return b->node == p->node && b->nic == p->nic;
	case CULPRIT_LINK:
		return (turned && p->way == CULPRIT_WAY_BOTH && b->peer == p->node) ||
		       (b->node == p->node && b->peer == p->peer);
	default:
		return b->node == p->node;
	}
}

struct tally {
	int runs;
	int right;   /* every plant named, nothing else said */
	int wrong;   /* a name that was not planted */
	int open;    /* none wrong, not all named */
	int listed;  /* of those: every plant among the explanations */
	int named;   /* plants */
	int covered; /* of them: depth within its interval */
	int way_wrong;
};

static inline void tally_one(const struct cluster *c, const struct localise_result *r,
                             struct tally *t)
{
	int named = 0, wrong = 0, listed = 0;

	for (int f = 0; f < r->n_faults; f++) {
		const struct fault *fault = &r->faults[f];
		bool hit = false;

		for (int p = 0; p < c->n_plants; p++) {
			for (int e = 0; e < fault->n; e++)
				listed += same_blame(&c->plant[p], &fault->list[e], false);
			if (!fault->identified || !same_blame(&c->plant[p], &fault->list[0], false))
				continue;
			hit = true;
			t->way_wrong += !same_blame(&c->plant[p], &fault->list[0], true);
			t->named++;
			t->covered += fault->list[0].lo <= c->plant[p].depth &&
			              c->plant[p].depth <= fault->list[0].hi;
		}
		named += hit;
		wrong += fault->identified && !hit;
	}
	t->runs++;
	t->wrong += wrong > 0;
	if (!wrong && named == c->n_plants && r->n_faults == named) {
		t->right++;
	} else if (!wrong) {
		t->open++;
		t->listed += listed >= c->n_plants;
	}
}

static inline int draw_node(const struct cluster *c, struct rng *rng, bool *used)
{
	int node;

	do
		node = (int)rng_below(rng, (uint32_t)c->nodes);
	while (used[node]);
	used[node] = true;
	return node;
}

static inline enum culprit_way draw_way(const struct cluster *c, struct rng *rng)
{
	enum culprit_way way = (enum culprit_way)rng_below(rng, 3);

	if (!c->draw.any_way)
		return CULPRIT_WAY_BOTH;
	return c->draw.kind == CULPRIT_LINK && way == CULPRIT_WAY_RECEIVES ? CULPRIT_WAY_SENDS
	                                                                   : way;
}

static inline void draw_plants(struct cluster *c, struct rng *rng)
{
	bool *used = calloc((size_t)c->nodes, sizeof(*used));

	assert_non_null(used);
	for (c->n_plants = 0; c->n_plants < c->draw.n; c->n_plants++)
		c->plant[c->n_plants] = (struct plant){
			.kind = c->draw.kind,
			.node = draw_node(c, rng, used),
			.peer = c->draw.kind == CULPRIT_LINK ? draw_node(c, rng, used) : -1,
			.nic = c->nics ? (int)rng_below(rng, (uint32_t)c->nics) : -1,
			.leaf = c->leaves ? (int)rng_below(rng, (uint32_t)c->leaves) : -1,
			.way = draw_way(c, rng),
			.depth = c->draw.least + (c->draw.most - c->draw.least) * rng_unit(rng),
		};
	free(used);
}

static inline struct tally tally_runs(struct cluster c, int runs, uint64_t seed)
{
	struct tally t = {0};

	for (int run = 0; run < runs; run++) {
		struct arena arena = {0};
		struct localise_result result;
		struct localise_input in;
		struct values v;
		struct rng rng;

		rng_seed(&rng, seed * 1000003 + (uint64_t)run);
		if (c.draw.n)
			draw_plants(&c, &rng);
		v = kit_values(&c, seed * 7000003 + (uint64_t)run);
		in = kit_input(&c, &v);
		assert_int_equal(localise(&in, &arena, &result), ST_OK);
		tally_one(&c, &result, &t);
		values_free(&v);
		arena_release(&arena);
	}
	return t;
}

#endif
