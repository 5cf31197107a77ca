/* Readings of pairs by number as they come, and what localise leaves open of them. */
#include "score/suspects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/intern.h"
#include "score/localise.h"
#include "score/pairs.h"

#define LEAST_ODDS 0.01 /* of an explanation that is looked into */
#define PARTNERS   3    /* new ones of a node not told from its cables */
#define MOST_ASKED 64   /* such nodes at a time */
#define MOST_NICS  1024 /* of localise */

/* Names by number, in the order they came; open addressing, never full. */
struct names {
	const char **name;
	int *slots; /* number + 1, 0: free */
	int n, cap;
};

/* The values of one metric of one probe at one operating point. */
struct heard {
	const char *probe, *metric, *point;
	enum better better;
	struct pair_value *values;
	size_t n, cap;
};

/* One cable: both directions of a pair over the same NICs. */
struct cable {
	int low, high; /* nodes */
	int low_nic, high_nic;
	/* Of the series looked at, by direction (0: low sends). */
	double off[2];
	int n[2];
	double open; /* a fault may be it: how slow it would be; 0: none */
	bool settled;
	/* Of all series. */
	int times;
	double score; /* >= 1: slow; > 0: worth a look */
};

struct suspects {
	struct arena arena; /* names */
	struct names nodes, nics, leaves;
	int *leaf; /* per node, -1: not said; room as for names */
	int leaf_cap;
	bool any_leaf;
	struct heard *heard;
	int n_heard, cap_heard;
	/* Of one question. */
	struct arena scratch;
	struct cable *cables;
	int *slots;
	size_t n_cables, mask;
	bool *met;    /* per node: by the node looked at */
	bool *blamed; /* per node: by some explanation */
	int asked;    /* nodes new partners were looked for */
};

static void *grown(void *list, size_t count, size_t size)
{
	void *more = realloc(list, count * size);

	if (!more)
		die_nomem();
	return more;
}

/* --- names ------------------------------------------------------------------------ */

static int *name_slot(const struct names *t, const char *name)
{
	size_t mask = (size_t)t->cap * 2 - 1, at = text_hash(name, strlen(name)) & mask;

	while (t->slots[at] && strcmp(t->name[t->slots[at] - 1], name) != 0)
		at = (at + 1) & mask;
	return &t->slots[at];
}

static void names_grow(struct names *t)
{
	t->cap = t->cap ? t->cap * 2 : 64;
	t->name = grown(t->name, (size_t)t->cap, sizeof(*t->name));
	free(t->slots);
	t->slots = calloc((size_t)t->cap * 2, sizeof(*t->slots));
	if (!t->slots)
		die_nomem();
	for (int i = 0; i < t->n; i++)
		*name_slot(t, t->name[i]) = i + 1;
}

/* -1: no name. */
static int number_of(struct suspects *s, struct names *t, const char *name)
{
	int *slot;

	if (!name)
		return -1;
	if (t->n == t->cap)
		names_grow(t);
	slot = name_slot(t, name);
	if (!*slot) {
		t->name[t->n++] = arena_str(&s->arena, name);
		*slot = t->n;
	}
	return *slot - 1;
}

static int nic_of(struct suspects *s, const char *name)
{
	int nic = number_of(s, &s->nics, name);

	return nic < MOST_NICS ? nic : -1;
}

/* --- readings ----------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static struct heard *series_of(struct suspects *s, const struct reading *r)
{
	for (int i = 0; i < s->n_heard; i++)
		if (same_text(s->heard[i].metric, r->metric) &&
		    same_text(s->heard[i].probe, r->probe) &&
		    same_text(s->heard[i].point, r->point))
			return &s->heard[i];
	if (s->n_heard == s->cap_heard) {
		s->cap_heard = s->cap_heard ? 2 * s->cap_heard : 16;
		s->heard = grown(s->heard, (size_t)s->cap_heard, sizeof(*s->heard));
	}
	s->heard[s->n_heard] = (struct heard){.probe = arena_str(&s->arena, r->probe),
	                                      .metric = arena_str(&s->arena, r->metric),
	                                      .point = arena_str(&s->arena, r->point),
	                                      .better = r->better};
	return &s->heard[s->n_heard++];
}

static void set_leaf(struct suspects *s, int node, const char *leaf)
{
	if (s->nodes.cap > s->leaf_cap) {
		s->leaf = grown(s->leaf, (size_t)s->nodes.cap, sizeof(*s->leaf));
		for (int i = s->leaf_cap; i < s->nodes.cap; i++)
			s->leaf[i] = -1;
		s->leaf_cap = s->nodes.cap;
	}
	if (!leaf)
		return;
	s->leaf[node] = number_of(s, &s->leaves, leaf);
	s->any_leaf = true;
}

void suspects_hear(void *arg, const struct reading *r)
{
	struct suspects *s = arg;
	const struct subject_end *ends = r->subject.ends;
	struct pair_pattern pattern;
	struct pair_value v;
	struct heard *h;

	if (r->subject.kind != SUBJECT_PAIR || r->better == BETTER_NEITHER || !r->metric ||
	    !pair_usable(r))
		return;
	pattern = pair_pattern(r, &s->scratch);
	v = (struct pair_value){.from = number_of(s, &s->nodes, ends[0].node),
	                        .to = number_of(s, &s->nodes, ends[1].node),
	                        .from_nic = nic_of(s, ends[0].nic),
	                        .to_nic = nic_of(s, ends[1].nic),
	                        .value = r->value,
	                        .failed = r->outcome != OUTCOME_MEASURED,
	                        .senders = pattern.senders};
	set_leaf(s, v.from, pattern.leaf[0]);
	set_leaf(s, v.to, pattern.leaf[1]);
	h = series_of(s, r);
	if (h->n == h->cap) {
		h->cap = h->cap ? 2 * h->cap : 256;
		h->values = grown(h->values, h->cap, sizeof(*h->values));
	}
	h->values[h->n++] = v;
}

/* --- cables --------------------------------------------------------------------------- */

static struct cable cable_of(const struct pair_value *v)
{
	bool turned = v->from > v->to;

	return (struct cable){.low = turned ? v->to : v->from,
	                      .high = turned ? v->from : v->to,
	                      .low_nic = turned ? v->to_nic : v->from_nic,
	                      .high_nic = turned ? v->from_nic : v->to_nic};
}

static int *cable_slot(const struct suspects *s, const struct cable *key)
{
	uint64_t h = (uint64_t)key->low * 0x9e3779b97f4a7c15u ^ (uint64_t)key->high;
	size_t at;

	h = (h * 31 + (uint64_t)key->low_nic) * 31 + (uint64_t)key->high_nic;
	h *= 0x9e3779b97f4a7c15u;
	for (at = (h ^ h >> 32) & s->mask; s->slots[at]; at = (at + 1) & s->mask) {
		const struct cable *c = &s->cables[s->slots[at] - 1];

		if (c->low == key->low && c->high == key->high && c->low_nic == key->low_nic &&
		    c->high_nic == key->high_nic)
			break;
	}
	return &s->slots[at];
}

static struct cable *cable_find(struct suspects *s, const struct cable *key)
{
	int *slot = cable_slot(s, key);

	if (!*slot) {
		s->cables[s->n_cables] = *key;
		*slot = (int)++s->n_cables;
	}
	return &s->cables[*slot - 1];
}

/* Room for every value to be a cable of its own, and new partners besides. */
static void cables_begin(struct suspects *s, size_t values)
{
	size_t room = 64;

	values += MOST_ASKED * PARTNERS;
	while (room < 2 * values)
		room *= 2;
	s->cables = arena_array(&s->scratch, values, sizeof(*s->cables));
	s->slots = arena_array(&s->scratch, room, sizeof(*s->slots));
	s->mask = room - 1;
	s->n_cables = 0;
	s->asked = 0;
}

/* --- one series ------------------------------------------------------------------------- */

static void add_up(struct suspects *s, const struct heard *h, const double *off)
{
	for (size_t i = 0; i < s->n_cables; i++) {
		struct cable *c = &s->cables[i];

		c->off[0] = c->off[1] = 0;
		c->n[0] = c->n[1] = 0;
		c->open = 0;
		c->settled = false;
	}
	for (size_t i = 0; i < h->n; i++) {
		const struct pair_value *v = &h->values[i];
		const struct cable key = cable_of(v);
		struct cable *c;
		int way = v->from > v->to;

		if (v->senders != 1)
			continue;
		c = cable_find(s, &key);
		c->off[way] += off[i];
		c->n[way]++;
		c->times = c->n[way] > c->times ? c->n[way] : c->times;
	}
}

/* How much slower than chance and LOCALISE_DEPTH leave it; 1: as much as it takes. */
static double slowness(double off, int n, double noise)
{
	return n ? -off / n / fmax(SUSPECT_DEPTH, SUSPECT_SIGMAS * noise / sqrt(n)) : 0;
}

static void mark_link(struct suspects *s, const struct blame *b, bool identified)
{
	const struct pair_value v = {
		.from = b->node, .to = b->peer, .from_nic = b->nic, .to_nic = b->peer_nic};
	const struct cable key = cable_of(&v);
	int number = *cable_slot(s, &key);

	if (!number)
		return;
	s->cables[number - 1].open = fmax(1, -log1p(-fmin(b->depth, 0.99)) / SUSPECT_DEPTH);
	s->cables[number - 1].settled = identified;
}

/* Partners it has not met, that nobody blames: a deterministic walk round. */
static void ask_partners(struct suspects *s, const struct heard *h, int node)
{
	int n = s->nodes.n, asked = 0;

	if (++s->asked > MOST_ASKED)
		return;
	memset(s->met, 0, (size_t)n * sizeof(*s->met));
	for (size_t i = 0; i < h->n; i++) {
		const struct pair_value *v = &h->values[i];

		s->met[v->from] = s->met[v->from] || v->to == node;
		s->met[v->to] = s->met[v->to] || v->from == node;
	}
	for (int i = 1; i < n && asked < PARTNERS; i++) {
		int other = (node + i) % n;
		struct cable key = {.low = node < other ? node : other,
		                    .high = node < other ? other : node,
		                    .low_nic = -1,
		                    .high_nic = -1};
		struct cable *c;

		if (s->met[other] || s->blamed[other])
			continue;
		c = cable_find(s, &key);
		c->score = fmax(c->score, 0.5);
		asked++;
	}
}

static void mark_blamed(struct suspects *s, const struct localise_result *r)
{
	memset(s->blamed, 0, (size_t)s->nodes.n * sizeof(*s->blamed));
	for (int f = 0; f < r->n_faults; f++)
		for (int i = 0; i < r->faults[f].n; i++) {
			const struct blame *b = &r->faults[f].list[i];

			if (b->node >= 0)
				s->blamed[b->node] = true;
			if (b->peer >= 0)
				s->blamed[b->peer] = true;
		}
}

static void look_into(struct suspects *s, const struct heard *h, const struct localise_result *r)
{
	mark_blamed(s, r);
	for (int f = 0; f < r->n_faults; f++) {
		const struct fault *fault = &r->faults[f];

		for (int i = 0; i < (fault->identified ? 1 : fault->n); i++) {
			const struct blame *b = &fault->list[i];

			if (b->odds < LEAST_ODDS)
				continue;
			if (b->kind == CULPRIT_LINK)
				mark_link(s, b, fault->identified);
			else if (!fault->identified && r->nodes >= LOCALISE_NODES &&
			         (b->kind == CULPRIT_NODE || b->kind == CULPRIT_NIC))
				ask_partners(s, h, b->node);
		}
	}
}

static void look(struct suspects *s, const struct heard *h)
{
	struct localise_input in = {.n_nodes = s->nodes.n,
	                            .leaf = s->any_leaf ? s->leaf : NULL,
	                            .pairs = h->values,
	                            .n = h->n,
	                            .better = h->better,
	                            .expected = NAN};
	struct localise_result r;

	if (localise(&in, &s->scratch, &r) != ST_OK || r.nodes < SUSPECT_NODES)
		return;
	add_up(s, h, r.off);
	look_into(s, h, &r);
	for (size_t i = 0; i < s->n_cables; i++) {
		struct cable *c = &s->cables[i];
		int both = c->n[0] + c->n[1];
		double score = fmax(slowness(c->off[0] + c->off[1], both, r.noise),
		                    fmax(slowness(c->off[0], c->n[0], r.noise),
		                         slowness(c->off[1], c->n[1], r.noise)));

		if (!both || (c->settled && fmax(c->n[0], c->n[1]) >= 2))
			continue;
		score = fmax(score, c->open);
		if (score >= 1)
			c->score = fmax(c->score, score);
	}
}

/* --- the answer ----------------------------------------------------------------------------- */

static int by_score(const void *a, const void *b)
{
	const struct cable *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->high > y->high) - (x->high < y->high);
}

/* One pair over several NICs is read as one. */
static bool listed(const struct suspects *s, const struct suspect *list, size_t n,
                   const struct cable *c)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].a == s->nodes.name[c->low] && list[i].b == s->nodes.name[c->high])
			return true;
	return false;
}

static size_t tell(struct suspects *s, const struct suspect **out)
{
	struct suspect *list;
	size_t kept = 0, n = 0;

	for (size_t i = 0; i < s->n_cables; i++)
		if (s->cables[i].score > 0 && s->cables[i].times < PAIR_TIMES)
			s->cables[kept++] = s->cables[i];
	qsort(s->cables, kept, sizeof(*s->cables), by_score);
	list = arena_array(&s->scratch, SUSPECTS_MOST, sizeof(*list));
	for (size_t i = 0; i < kept && n < SUSPECTS_MOST; i++) {
		const struct cable *c = &s->cables[i];

		if (!listed(s, list, n, c))
			list[n++] = (struct suspect){.a = s->nodes.name[c->low],
			                             .b = s->nodes.name[c->high],
			                             .slow = c->score >= 1};
	}
	*out = list;
	return n;
}

size_t suspects_find(void *arg, const char *probe, const struct suspect **list)
{
	struct suspects *s = arg;
	size_t values = 0;

	arena_reset(&s->scratch);
	for (int i = 0; i < s->n_heard; i++)
		if (same_text(s->heard[i].probe, probe))
			values += s->heard[i].n;
	cables_begin(s, values);
	s->met = arena_array(&s->scratch, (size_t)s->nodes.n + 1, sizeof(*s->met));
	s->blamed = arena_array(&s->scratch, (size_t)s->nodes.n + 1, sizeof(*s->blamed));
	for (int i = 0; i < s->n_heard; i++)
		if (same_text(s->heard[i].probe, probe))
			look(s, &s->heard[i]);
	return tell(s, list);
}

struct suspects *suspects_open(void)
{
	struct suspects *s = calloc(1, sizeof(*s));

	if (!s)
		die_nomem();
	return s;
}

static void names_release(struct names *t)
{
	free(t->name);
	free(t->slots);
}

void suspects_close(struct suspects *s)
{
	for (int i = 0; i < s->n_heard; i++)
		free(s->heard[i].values);
	free(s->heard);
	free(s->leaf);
	names_release(&s->nodes);
	names_release(&s->nics);
	names_release(&s->leaves);
	arena_release(&s->scratch);
	arena_release(&s->arena);
	free(s);
}
