/* The order of work of localise: levels, search, levels again, twice over for the
 * two models, and the likelier one is told. The start blames too few or too many
 * because it does not know the noise yet; three passes settle that. */
#include "score/localise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "score/localise_model.h"

#define PASSES      3
#define LEAST_LEAF  3    /* groups from which on pairs across have their own level */
#define LEAST_LEVEL 8    /* values of a level */
#define MANY_NODES  32   /* from which on medians make a sure start */
#define MOST_NICS   1024 /* of a node */

static enum status check(const struct localise_input *in)
{
	if (in->n_nodes < 2 || !in->n || in->n > INT32_MAX / 16 || in->better == BETTER_NEITHER ||
	    !(in->noise >= 0 && isfinite(in->noise)))
		return ST_RANGE;
	for (size_t i = 0; i < in->n; i++) {
		const struct pair_value *v = &in->pairs[i];

		if (v->from < 0 || v->from >= in->n_nodes || v->to < 0 || v->to >= in->n_nodes ||
		    v->from == v->to || v->from_nic < -1 || v->from_nic >= MOST_NICS ||
		    v->to_nic < -1 || v->to_nic >= MOST_NICS || v->senders < 0 ||
		    (!v->failed && !(v->value > 0 && isfinite(v->value))))
			return ST_RANGE;
	}
	for (int node = 0; in->leaf && node < in->n_nodes; node++)
		if (in->leaf[node] < -1 || in->leaf[node] >= in->n_nodes)
			return ST_RANGE;
	return ST_OK;
}

static void *room(size_t n, size_t size)
{
	void *array = calloc(n + 1, size);

	if (!array)
		die_nomem();
	return array;
}

/* A hop more costs latency, and uplinks are often shared: with enough groups both
 * levels can be told from a bad group. */
static void set_levels(struct model *m)
{
	const struct localise_input *in = m->in;
	bool *seen = room((size_t)m->parts.n_leaves, sizeof(*seen));
	int groups = 0, across = 0;

	for (int node = 0; in->leaf && node < in->n_nodes; node++) {
		int leaf = m->parts.of_node[node] >= 0 ? in->leaf[node] : -1;

		if (leaf < 0 || seen[leaf])
			continue;
		seen[leaf] = true;
		groups++;
	}
	free(seen);
	for (int i = 0; groups >= LEAST_LEAF && i < m->n; i++) {
		int from = in->leaf[in->pairs[i].from], to = in->leaf[in->pairs[i].to];

		m->level[i] = from >= 0 && to >= 0 && from != to;
		across += m->level[i];
	}
	m->two_levels = across >= LEAST_LEVEL && m->n - across >= LEAST_LEVEL;
	if (!m->two_levels)
		memset(m->level, 0, (size_t)m->n * sizeof(*m->level));
}

static void model_init(struct model *m, const struct localise_input *in)
{
	*m = (struct model){.in = in, .n = (int)in->n};
	parts_build(&m->parts, in);
	m->y = room(in->n, sizeof(*m->y));
	m->level = room(in->n, sizeof(*m->level));
	m->head = room(in->n, sizeof(*m->head));
	m->work = room(in->n, sizeof(*m->work));
	m->explained = room(in->n, sizeof(*m->explained));
	m->off = room(in->n, sizeof(*m->off));
	m->own = room((size_t)in->n_nodes, sizeof(*m->own));
	m->member = room((size_t)in->n_nodes, sizeof(*m->member));
	for (int i = 0; i < m->n; i++) {
		const struct pair_value *v = &in->pairs[i];

		if (!v->failed)
			m->y[i] = in->better == BETTER_HIGHER
			                  ? log(v->value) + log(v->senders > 1 ? v->senders : 1)
			                  : -log(v->value);
	}
	set_levels(m);
}

static void fit_release(struct model *m)
{
	free(m->head);
	free(m->own);
	free(m->found);
	free(m->cover);
}

/* The better fit so far moves out of the model, which goes on with new lists. Both
 * share the values and candidates. */
static void fit_keep(struct model *kept, struct model *m)
{
	fit_release(kept);
	*kept = *m;
	m->head = room((size_t)m->n, sizeof(*m->head));
	m->own = room((size_t)m->in->n_nodes, sizeof(*m->own));
	m->found = NULL;
	m->cover = NULL;
	m->n_found = m->cap_found = m->n_cover = m->cap_cover = 0;
}

static void model_release(struct model *m)
{
	fit_release(m);
	parts_release(&m->parts);
	free(m->y);
	free(m->level);
	free(m->work);
	free(m->explained);
	free(m->off);
	free(m->member);
}

/* One way to fit: which model, from which start. */
struct attempt {
	bool minimum, upper;
};

static double run_model(struct model *m, struct attempt a)
{
	m->minimum = a.minimum;
	for (int i = 0; i < m->n; i++)
		m->head[i] = -1;
	m->n_found = m->n_cover = 0;
	model_start(m, a.upper);
	for (int pass = 0; pass < PASSES; pass++) {
		model_search(m);
		if (pass < PASSES - 1)
			model_rest(m);
	}
	return model_worth(m);
}

/* Where no two bad things share a value the models are the same. */
static bool overlaps(const struct model *m)
{
	for (int i = 0; i < m->n; i++)
		if (m->head[i] >= 0 && m->cover[m->head[i]].next >= 0)
			return true;
	return false;
}

static bool any_value(const struct localise_input *in)
{
	for (size_t i = 0; i < in->n; i++)
		if (!in->pairs[i].failed)
			return true;
	return false;
}

enum status localise(const struct localise_input *in, struct arena *arena,
                     struct localise_result *out)
{
	struct model m, best = {0};
	double most = -INFINITY;
	enum status st = check(in);

	if (st != ST_OK || !any_value(in))
		return ST_RANGE;
	model_init(&m, in);
	for (int a = 0; a < (in->n_nodes < MANY_NODES ? 4 : 2); a++) {
		struct attempt attempt = {.minimum = a % 2, .upper = a / 2};
		double worth;

		if (attempt.minimum && !overlaps(a ? &best : &m))
			continue;
		worth = run_model(&m, attempt);
		if (a == 0 || worth > most)
			fit_keep(&best, &m);
		most = fmax(most, worth);
	}
	model_tell(&best, arena, out);
	fit_release(&best);
	model_release(&m);
	return ST_OK;
}
