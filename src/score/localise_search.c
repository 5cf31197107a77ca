/* The greedy search. A candidate's odds are looked at again when it comes to the
 * top of the heap, since what was found meanwhile may explain its values; so each
 * step costs what changed and not the whole matrix. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "score/localise_model.h"

#define ROUNDS 2 /* of re-estimating depths when all is found */

struct candidate {
	double log_odds;
	int part;
	enum culprit_way way;
};

struct heap {
	struct candidate *at;
	size_t n;
};

/* --- heap, likeliest on top ------------------------------------------------------- */

/* Ties are broken by number, so that the order of work is the same everywhere. */
static bool before(const struct candidate *a, const struct candidate *b)
{
	if (a->log_odds != b->log_odds)
		return a->log_odds > b->log_odds;
	return a->part != b->part ? a->part < b->part : a->way < b->way;
}

static void swap(struct candidate *a, struct candidate *b)
{
	struct candidate c = *a;

	*a = *b;
	*b = c;
}

static void sift_down(struct heap *h, size_t i)
{
	for (;;) {
		size_t top = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < h->n; child++)
			if (before(&h->at[child], &h->at[top]))
				top = child;
		if (top == i)
			return;
		swap(&h->at[i], &h->at[top]);
		i = top;
	}
}

static void heap_pop(struct heap *h)
{
	h->at[0] = h->at[--h->n];
	sift_down(h, 0);
}

/* --- what is found ---------------------------------------------------------------- */

static void *grown(void *array, int *cap, size_t size)
{
	*cap = *cap ? *cap * 2 : 64;
	array = realloc(array, (size_t)*cap * size);
	if (!array)
		die_nomem();
	return array;
}

static void add_found(struct model *m, const struct candidate *c, const struct look *look)
{
	int n;
	const int *list = part_values(&m->parts, c->part, c->way, &n);

	if (m->n_found == m->cap_found)
		m->found = grown(m->found, &m->cap_found, sizeof(*m->found));
	m->found[m->n_found] = (struct found){c->part, c->way, look->delta, look->price, false};
	for (int i = 0; i < n; i++) {
		if (m->n_cover == m->cap_cover)
			m->cover = grown(m->cover, &m->cap_cover, sizeof(*m->cover));
		m->cover[m->n_cover] = (struct cover){m->n_found, m->head[list[i]]};
		m->head[list[i]] = m->n_cover++;
	}
	m->n_found++;
}

static bool counts(const struct look *look)
{
	return look->log_odds > 0 && look->support >= LEAST_SUPPORT;
}

static struct heap all_candidates(const struct model *m)
{
	struct heap h = {malloc(((size_t)m->parts.n * CULPRIT_WAYS + 1) * sizeof(*h.at)), 0};

	if (!h.at)
		die_nomem();
	for (int part = 0; part < m->parts.n; part++)
		for (int way = 0; way < CULPRIT_WAYS; way++) {
			struct look look;

			if (!part_has_way(&m->parts, part, (enum culprit_way)way))
				continue;
			look = model_look(m, part, (enum culprit_way)way, -1);
			if (counts(&look))
				h.at[h.n++] = (struct candidate){look.log_odds, part,
				                                 (enum culprit_way)way};
		}
	for (size_t i = h.n / 2; i-- > 0;)
		sift_down(&h, i);
	return h;
}

/* Depths again, each beside the final others; what no longer counts is taken back. */
static void refine(struct model *m)
{
	for (int f = 0; f < m->n_found; f++) {
		struct look look;

		if (m->found[f].gone)
			continue;
		look = model_look(m, m->found[f].part, m->found[f].way, f);
		m->found[f].gone = !counts(&look);
		m->found[f].delta = look.delta;
		m->found[f].price = look.price;
	}
}

void model_search(struct model *m)
{
	struct heap h;

	m->n_found = m->n_cover = 0;
	for (int i = 0; i < m->n; i++)
		m->head[i] = -1;
	h = all_candidates(m);
	while (h.n) {
		struct candidate top = h.at[0];
		struct look look = model_look(m, top.part, top.way, -1);

		if (!counts(&look)) {
			heap_pop(&h);
			continue;
		}
		h.at[0].log_odds = look.log_odds;
		sift_down(&h, 0);
		if (h.at[0].part == top.part && h.at[0].way == top.way) {
			heap_pop(&h);
			add_found(m, &top, &look);
		}
	}
	free(h.at);
	for (int round = 0; round < ROUNDS; round++)
		refine(m);
}
