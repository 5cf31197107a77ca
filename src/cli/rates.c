/* Figures of a run over its subjects; see rates.h. */
#include "cli/rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/bootstrap.h"
#include "stats/samples.h"

#define SEED 0x7261746573ull /* the same figures every time */

/* One figure of one subject at one operating point. */
struct got {
	const char *node, *id, *point;
	double value, lo, hi;
};

struct gathering {
	struct got *got;
	size_t n;
	bool lower; /* is better */
};

static double stat_of(const struct reading *r, const char *name)
{
	enum stat_id stat;

	if (strcmp(name, "value") == 0)
		return r->value_kind == VALUE_NUMBER ? r->value : NAN;
	return stat_parse(name, &stat) ? r->stats[stat] : NAN;
}

static void gather(struct gathering *g, struct rate *out, const struct effective *all,
                   const char *metric, const char *stat)
{
	bool value = strcmp(stat, "value") == 0;

	for (int64_t i = 0; i < all->count; i++) {
		const struct reading *r = all->readings[i];

		if (strcmp(r->metric, metric) != 0 || r->outcome == OUTCOME_UNSUPPORTED ||
		    r->origin == ORIGIN_DECLARED || r->origin == ORIGIN_IMPORTED)
			continue;
		if (r->outcome != OUTCOME_MEASURED || !isfinite(stat_of(r, stat))) {
			out->without++;
			continue;
		}
		out->origin = r->origin == ORIGIN_SIMULATED ? r->origin : out->origin;
		g->got[g->n++] = (struct got){.node = r->node ? r->node : "",
		                              .id = r->subject.id ? r->subject.id : "",
		                              .point = r->point ? r->point : "",
		                              .value = stat_of(r, stat),
		                              .lo = value ? r->stats[STAT_CI_LO] : NAN,
		                              .hi = value ? r->stats[STAT_CI_HI] : NAN};
	}
}

static int by_point(const void *a, const void *b)
{
	const struct got *x = a, *y = b;

	return strcmp(x->point, y->point);
}

static int by_subject(const void *a, const void *b)
{
	const struct got *x = a, *y = b;
	int node = strcmp(x->node, y->node);

	return node ? node : strcmp(x->id, y->id);
}

static int all_alike(const void *a, const void *b)
{
	(void)a;
	(void)b;
	return 0;
}

/* Neighbours in an order that do not differ become one: their sum, or the best. */
static void merge(struct gathering *g, int (*order)(const void *, const void *), bool sum)
{
	size_t n = 0;

	qsort(g->got, g->n, sizeof(*g->got), order);
	for (size_t i = 0; i < g->n; i++) {
		struct got *last = n ? &g->got[n - 1] : NULL;

		if (!last || order(last, &g->got[i]) != 0)
			g->got[n++] = g->got[i];
		else if (sum)
			*last = (struct got){last->node,  last->id,
			                     last->point, last->value + g->got[i].value,
			                     NAN,         NAN};
		else if (g->lower ? g->got[i].value < last->value : g->got[i].value > last->value)
			*last = g->got[i];
	}
	g->n = n;
}

static void figures(struct rate *out, struct arena *arena, const struct gathering *g)
{
	double *value = arena_array(arena, g->n, sizeof(*value));
	struct estimate e;

	out->worst = g->got[0].value;
	for (size_t i = 0; i < g->n; i++) {
		value[i] = g->got[i].value;
		out->worst = g->lower ? fmax(out->worst, value[i]) : fmin(out->worst, value[i]);
	}
	out->subjects = (int64_t)g->n;
	out->value = median(value, g->n);
	if (g->n == 1) {
		out->lo = g->got[0].lo;
		out->hi = g->got[0].hi;
	} else if (g->n >= 3 && bootstrap_median(value, g->n, 1, SEED, &e) == ST_OK) {
		out->lo = e.lo;
		out->hi = e.hi;
	}
}

bool rate_of(struct rate *out, struct arena *arena, const struct effective *all,
             const struct metric *metric, const char *stat, bool sum)
{
	struct gathering g = {.lower = metric->better == BETTER_LOWER};

	*out = (struct rate){
		.value = NAN, .lo = NAN, .hi = NAN, .worst = NAN, .origin = ORIGIN_MEASURED};
	g.got = arena_array(arena, (size_t)all->count + 1, sizeof(*g.got));
	gather(&g, out, all, metric->name, stat);
	if (sum) {
		merge(&g, by_point, true);
		merge(&g, all_alike, false);
	} else {
		merge(&g, by_subject, false);
	}
	if (!g.n)
		return false;
	figures(out, arena, &g);
	return true;
}

int64_t rates_cards(const struct rundir *run)
{
	int64_t stated = run->info.expected_cards, seen = 0;

	if (stated >= 0 && run->info.expected_nodes > 0)
		return stated * run->info.expected_nodes;
	for (int64_t i = 0; i < run->n_readings; i++)
		seen += strcmp(run->readings[i].metric, "card_name") == 0;
	return seen;
}

double rates_node_cards(const struct rundir *run)
{
	int64_t nodes = run->info.expected_nodes;

	return nodes > 0 ? (double)rates_cards(run) / (double)nodes : NAN;
}

/* --- adapters ---------------------------------------------------------------------- */

static int by_adapter(const void *a, const void *b)
{
	const struct subject_end *x = a, *y = b;
	int order = strcmp(x->node, y->node);

	order = order ? order : strcmp(x->nic, y->nic);
	return order ? order : (x->port > y->port) - (x->port < y->port);
}

static size_t gather_ends(struct subject_end *ends, const struct effective *all)
{
	size_t n = 0;

	for (int64_t i = 0; i < all->count; i++) {
		const struct reading *r = all->readings[i];

		if (strcmp(r->metric, "rdma_nic_write_gbps") != 0 || r->outcome != OUTCOME_MEASURED)
			continue;
		for (int e = 0; e < r->subject.n_ends; e++)
			if (r->subject.ends[e].node && r->subject.ends[e].nic)
				ends[n++] = r->subject.ends[e];
	}
	return n;
}

double rates_adapters(struct arena *arena, const struct effective *all)
{
	struct subject_end *ends = arena_array(arena, 2 * (size_t)all->count + 1, sizeof(*ends));
	size_t n = gather_ends(ends, all), own = 0;
	double least = NAN;

	qsort(ends, n, sizeof(*ends), by_adapter);
	for (size_t i = 0; i < n; i++) {
		own += i == 0 || by_adapter(&ends[i], &ends[i - 1]) != 0;
		if (i + 1 < n && strcmp(ends[i].node, ends[i + 1].node) == 0)
			continue;
		least = fmin(least, (double)own);
		own = 0;
	}
	return least >= 1 ? least : 1;
}
