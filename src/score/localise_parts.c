/* Everything that may be to blame, and which values it would lower. Candidates that
 * would lower exactly the values of a larger thing (the only NIC of a node) are
 * left out: no data can tell them apart, and the larger thing is what is said. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "score/localise_model.h"

static const double prior[] = {
	[CULPRIT_NODE] = 0.01,   [CULPRIT_NIC] = 0.005,    [CULPRIT_LINK] = 0.01,
	[CULPRIT_LEAF] = 0.001,  [CULPRIT_UPLINK] = 0.001, [CULPRIT_RAIL] = 0.001,
	[CULPRIT_INCAST] = 0.01,
};

static void *room(size_t n, size_t size)
{
	void *array = calloc(n + 1, size);

	if (!array)
		die_nomem();
	return array;
}

static int *none(int n)
{
	int *array = room((size_t)n, sizeof(*array));

	memset(array, 0xff, ((size_t)n + 1) * sizeof(*array));
	return array;
}

/* --- growing lists ---------------------------------------------------------------- */

static int add_part(struct parts *p, struct part part)
{
	if (p->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 256;
		p->part = realloc(p->part, (size_t)p->cap * sizeof(*p->part));
		if (!p->part)
			die_nomem();
	}
	part.log_prior = log(prior[part.kind]);
	p->part[p->n] = part;
	return p->n++;
}

static struct part blank(enum culprit_kind kind)
{
	return (struct part){.kind = kind,
	                     .node = -1,
	                     .nic = -1,
	                     .peer = -1,
	                     .peer_nic = -1,
	                     .leaf = -1,
	                     .members = 1};
}

/* Values by what they belong to, in two lists each: bucket k holds the values with
 * key k. A value with key -1 is in none. */
struct buckets {
	int *start; /* n + 1 */
	int *value;
};

static struct buckets bucket(const int *key, int n_values, int n)
{
	struct buckets b = {room((size_t)n + 1, sizeof(int)), room((size_t)n_values, sizeof(int))};
	int *at = room((size_t)n + 1, sizeof(*at));

	for (int i = 0; i < n_values; i++)
		if (key[i] >= 0)
			b.start[key[i] + 1]++;
	for (int k = 0; k < n; k++)
		b.start[k + 1] += b.start[k];
	memcpy(at, b.start, ((size_t)n + 1) * sizeof(*at));
	for (int i = 0; i < n_values; i++)
		if (key[i] >= 0)
			b.value[at[key[i]]++] = i;
	free(at);
	return b;
}

static void bucket_free(struct buckets *b)
{
	free(b->start);
	free(b->value);
}

static void list_add(struct parts *p, const struct buckets *b, int k)
{
	int n = b->start[k + 1] - b->start[k];

	if (p->n_list + n > p->cap_list) {
		p->cap_list = (p->cap_list + n) * 2;
		p->list = realloc(p->list, (size_t)p->cap_list * sizeof(*p->list));
		if (!p->list)
			die_nomem();
	}
	memcpy(p->list + p->n_list, b->value + b->start[k], (size_t)n * sizeof(*p->list));
	p->n_list += n;
}

/* The candidate's values: those of bucket k where it sends, where it receives.
 * Returns its number, -1 if it has no value. */
static int add_with(struct parts *p, struct part part, const struct buckets *out,
                    const struct buckets *in, int k)
{
	part.out = p->n_list;
	list_add(p, out, k);
	part.in = p->n_list;
	if (in)
		list_add(p, in, k);
	part.end = p->n_list;
	return part.end > part.out ? add_part(p, part) : -1;
}

/* The same for things that have no ways. */
static int add_whole(struct parts *p, struct part part, const struct buckets *a,
                     const struct buckets *b, int k)
{
	int number = add_with(p, part, a, b, k);

	if (number >= 0)
		p->part[number].in = p->part[number].end;
	return number;
}

/* --- nodes and their NICs --------------------------------------------------------- */

static void add_nodes(struct parts *p, const struct localise_input *in, int *key_out, int *key_in)
{
	struct buckets out, to;

	for (size_t i = 0; i < in->n; i++) {
		key_out[i] = in->pairs[i].from;
		key_in[i] = in->pairs[i].to;
	}
	out = bucket(key_out, (int)in->n, in->n_nodes);
	to = bucket(key_in, (int)in->n, in->n_nodes);
	for (int node = 0; node < in->n_nodes; node++) {
		struct part part = blank(CULPRIT_NODE);

		part.node = node;
		p->of_node[node] = add_with(p, part, &out, &to, node);
	}
	bucket_free(&out);
	bucket_free(&to);
}

#define SEVERAL (-2)

/* The NIC of all its values, -1 if none is said. */
static int only_nic(const struct parts *p, const struct localise_input *in, const struct part *node)
{
	int nic = SEVERAL;

	for (int i = node->out; i < node->end; i++) {
		const struct pair_value *v = &in->pairs[p->list[i]];
		int own = i < node->in ? v->from_nic : v->to_nic;

		if (i > node->out && own != nic)
			return SEVERAL;
		nic = own;
	}
	return nic;
}

static void add_nics(struct parts *p, const struct localise_input *in, int *key_out, int *key_in)
{
	struct buckets out, to;
	int n = in->n_nodes * p->n_nics;

	for (int node = 0; node < in->n_nodes; node++)
		if (p->of_node[node] >= 0)
			p->part[p->of_node[node]].nic = only_nic(p, in, &p->part[p->of_node[node]]);
	for (size_t i = 0; i < in->n; i++) {
		const struct pair_value *v = &in->pairs[i];

		key_out[i] = key_in[i] = -1;
		if (v->from_nic >= 0 && p->part[p->of_node[v->from]].nic == SEVERAL)
			key_out[i] = v->from * p->n_nics + v->from_nic;
		if (v->to_nic >= 0 && p->part[p->of_node[v->to]].nic == SEVERAL)
			key_in[i] = v->to * p->n_nics + v->to_nic;
	}
	out = bucket(key_out, (int)in->n, n);
	to = bucket(key_in, (int)in->n, n);
	for (int k = 0; k < n; k++) {
		struct part part = blank(CULPRIT_NIC);
		int number;

		part.node = k / p->n_nics;
		part.nic = k % p->n_nics;
		number = add_with(p, part, &out, &to, k);
		for (int i = out.start[k]; i < out.start[k + 1]; i++)
			p->of_from_nic[out.value[i]] = number;
		for (int i = to.start[k]; i < to.start[k + 1]; i++)
			p->of_to_nic[to.value[i]] = number;
	}
	bucket_free(&out);
	bucket_free(&to);
	for (int node = 0; node < in->n_nodes; node++)
		if (p->of_node[node] >= 0 && p->part[p->of_node[node]].nic == SEVERAL)
			p->part[p->of_node[node]].nic = -1;
}

/* --- pairs ------------------------------------------------------------------------ */

struct end {
	int node, nic;
};

struct link_key {
	struct end a, b; /* a below b */
	int value;
	bool reverse;
};

static int compare_ends(struct end a, struct end b)
{
	return a.node != b.node ? (a.node < b.node ? -1 : 1) : (a.nic > b.nic) - (a.nic < b.nic);
}

static int by_link(const void *x, const void *y)
{
	const struct link_key *a = x, *b = y;
	int c = compare_ends(a->a, b->a);

	if (!c)
		c = compare_ends(a->b, b->b);
	if (!c)
		c = a->reverse - b->reverse;
	return c ? c : (a->value > b->value) - (a->value < b->value);
}

static void add_links(struct parts *p, const struct localise_input *in, int nodes)
{
	struct link_key *key = room(in->n, sizeof(*key));
	struct buckets one = {(int[]){0, 0}, room(in->n, sizeof(int))};

	for (size_t i = 0; i < in->n; i++) {
		const struct pair_value *v = &in->pairs[i];
		struct end from = {v->from, v->from_nic}, to = {v->to, v->to_nic};
		bool reverse = v->from > v->to;

		key[i] = (struct link_key){reverse ? to : from, reverse ? from : to, (int)i,
		                           reverse};
	}
	qsort(key, in->n, sizeof(*key), by_link);
	for (size_t i = 0, end; i < in->n; i = end) {
		struct part part = blank(CULPRIT_LINK);
		int number = p->n;

		part.node = key[i].a.node;
		part.nic = key[i].a.nic;
		part.peer = key[i].b.node;
		part.peer_nic = key[i].b.nic;
		part.out = part.in = p->n_list;
		one.start[1] = 1;
		for (end = i; end < in->n && !compare_ends(key[end].a, key[i].a) &&
		              !compare_ends(key[end].b, key[i].b);
		     end++) {
			one.value[0] = key[end].value;
			list_add(p, &one, 0);
			if (!key[end].reverse)
				part.in = p->n_list;
			p->of_link[key[end].value] = number;
		}
		part.end = p->n_list;
		add_part(p, part);
		p->part[number].log_prior -= log(nodes);
	}
	free(one.value);
	free(key);
}

/* --- leaf groups, rails, incast --------------------------------------------------- */

static int leaf_of(const struct localise_input *in, int node)
{
	return in->leaf ? in->leaf[node] : -1;
}

/* Groups of one node are that node; a group of half the nodes has no majority to
 * be compared with: 0 members. */
static int *count_members(const struct parts *p, const struct localise_input *in, int nodes)
{
	int *members = room((size_t)p->n_leaves, sizeof(*members));

	for (int node = 0; node < in->n_nodes; node++)
		if (p->of_node[node] >= 0 && leaf_of(in, node) >= 0)
			members[leaf_of(in, node)]++;
	for (int leaf = 0; leaf < p->n_leaves; leaf++)
		if (members[leaf] < 2 || 2 * members[leaf] >= nodes)
			members[leaf] = 0;
	return members;
}

/* Values by the group they leave and the one they reach. Within one group both are
 * the same; with `inside` it then counts as left, else as neither. */
static void bucket_leaves(const struct parts *p, const struct localise_input *in,
                          const int *members, bool inside, int *key, struct buckets side[2])
{
	for (int e = 0; e < 2; e++) {
		for (size_t i = 0; i < in->n; i++) {
			int from = leaf_of(in, in->pairs[i].from);
			int to = leaf_of(in, in->pairs[i].to), own = e ? to : from;

			key[i] = own >= 0 && members[own] && (from != to || (inside && !e)) ? own
			                                                                    : -1;
		}
		side[e] = bucket(key, (int)in->n, p->n_leaves);
	}
}

static void add_leaves(struct parts *p, const struct localise_input *in, int nodes, int *key)
{
	int *members = count_members(p, in, nodes);
	struct buckets cross[2], all[2];

	bucket_leaves(p, in, members, false, key, cross);
	bucket_leaves(p, in, members, true, key, all);
	for (int leaf = 0; leaf < p->n_leaves; leaf++) {
		struct part part = blank(CULPRIT_UPLINK);

		part.leaf = leaf;
		part.members = members[leaf];
		p->of_uplink[leaf] = add_with(p, part, &cross[0], &cross[1], leaf);
		part.kind = CULPRIT_LEAF;
		p->of_leaf[leaf] = add_whole(p, part, &all[0], &all[1], leaf);
	}
	for (int e = 0; e < 2; e++) {
		bucket_free(&cross[e]);
		bucket_free(&all[e]);
	}
	free(members);
}

/* A rail is told from the cluster only where there are others. */
static void add_rails(struct parts *p, const struct localise_input *in, int nodes, int *key_out,
                      int *key_in)
{
	struct buckets from, to;

	if (p->n_nics < 2)
		return;
	for (size_t i = 0; i < in->n; i++) {
		key_out[i] = in->pairs[i].from_nic;
		key_in[i] = in->pairs[i].to_nic == key_out[i] ? -1 : in->pairs[i].to_nic;
	}
	from = bucket(key_out, (int)in->n, p->n_nics);
	to = bucket(key_in, (int)in->n, p->n_nics);
	for (int nic = 0; nic < p->n_nics; nic++) {
		struct part part = blank(CULPRIT_RAIL);

		part.nic = nic;
		part.members = nodes;
		p->of_rail[nic] = add_whole(p, part, &from, &to, nic);
	}
	bucket_free(&from);
	bucket_free(&to);
}

static void add_incasts(struct parts *p, const struct localise_input *in, int *key)
{
	struct buckets to;

	for (size_t i = 0; i < in->n; i++)
		key[i] = in->pairs[i].senders == 1 ? -1 : in->pairs[i].to;
	to = bucket(key, (int)in->n, in->n_nodes);
	for (int node = 0; node < in->n_nodes; node++) {
		struct part part = blank(CULPRIT_INCAST);

		part.node = node;
		p->of_incast[node] = add_with(p, part, &to, NULL, node);
	}
	bucket_free(&to);
}

/* --- public ----------------------------------------------------------------------- */

static int count_nodes(const struct parts *p, const struct localise_input *in)
{
	int n = 0;

	for (int node = 0; node < in->n_nodes; node++)
		n += p->of_node[node] >= 0;
	return n;
}

void parts_build(struct parts *p, const struct localise_input *in)
{
	int *key_out = room(in->n, sizeof(int)), *key_in = room(in->n, sizeof(int)), nodes;

	*p = (struct parts){0};
	for (size_t i = 0; i < in->n; i++) {
		const struct pair_value *v = &in->pairs[i];
		int nic = v->from_nic > v->to_nic ? v->from_nic : v->to_nic;

		p->n_nics = nic >= p->n_nics ? nic + 1 : p->n_nics;
	}
	for (int node = 0; node < in->n_nodes; node++)
		if (leaf_of(in, node) >= p->n_leaves)
			p->n_leaves = leaf_of(in, node) + 1;
	p->of_node = none(in->n_nodes);
	p->of_incast = none(in->n_nodes);
	p->of_leaf = none(p->n_leaves);
	p->of_uplink = none(p->n_leaves);
	p->of_rail = none(p->n_nics);
	p->of_link = none((int)in->n);
	p->of_from_nic = none((int)in->n);
	p->of_to_nic = none((int)in->n);
	add_nodes(p, in, key_out, key_in);
	nodes = count_nodes(p, in);
	if (p->n_nics)
		add_nics(p, in, key_out, key_in);
	add_links(p, in, nodes);
	add_leaves(p, in, nodes, key_out);
	add_rails(p, in, nodes, key_out, key_in);
	add_incasts(p, in, key_out);
	free(key_out);
	free(key_in);
}

void parts_release(struct parts *p)
{
	free(p->part);
	free(p->list);
	free(p->of_node);
	free(p->of_leaf);
	free(p->of_uplink);
	free(p->of_rail);
	free(p->of_incast);
	free(p->of_link);
	free(p->of_from_nic);
	free(p->of_to_nic);
}

const int *part_values(const struct parts *p, int part, enum culprit_way way, int *n)
{
	const struct part *c = &p->part[part];
	int from = way == CULPRIT_WAY_RECEIVES ? c->in : c->out;
	int end = way == CULPRIT_WAY_SENDS ? c->in : c->end;

	*n = end - from;
	return p->list + from;
}

bool part_is_two_way(const struct parts *p, int part)
{
	return p->part[part].in > p->part[part].out && p->part[part].end > p->part[part].in;
}

/* With values of one way only there is no telling the ways apart. */
bool part_has_way(const struct parts *p, int part, enum culprit_way way)
{
	return way == CULPRIT_WAY_BOTH || part_is_two_way(p, part);
}

bool part_has_end(const struct localise_input *in, const struct part *part,
                  const struct pair_value *v, int end)
{
	if (part->kind == CULPRIT_RAIL)
		return (end ? v->to_nic : v->from_nic) == part->nic;
	return in->leaf[end ? v->to : v->from] == part->leaf;
}
