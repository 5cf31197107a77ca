/* collective_nodes: what the cards of all nodes reach together through NCCL. Within a
 * node first, then by twos, fours and so on up to all, so that a weak node or adapter
 * shows where it is and not only that the whole is slow: a ring alone, whose figure is
 * the rate of the slowest hop, and at two nodes the only honest one. Then all nodes as
 * NCCL chooses, against a tree and the ring; then rail by rail. Every sum is checked.
 *
 * Without cards the same groups add up over TCP on the hosts, labelled so. */
#include "collective_nodes.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/str.h"

/* Of the time there is, after which sizes and sizes of groups are left out. */
#define SWEEP_SHARE 0.7
/* Sums are of whole lines. */
#define LINE_BYTES 128

struct course {
	struct nodes_lead lead;
	struct nodes_growth growth;
	uint64_t bytes; /* of the large sums */
	int64_t stop_ns;
};

/* --- groups ---------------------------------------------------------------------------- */

/* One communicator a group, one size, and its end. */
static bool measure(struct course *c, struct nodes_groups *g, const char *algorithm, bool rails)
{
	return nodes_join(&c->lead, g, algorithm, rails) && nodes_measure(&c->lead, g, c->bytes) &&
	       nodes_leave(&c->lead, g);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* What at least half of the nodes have; NaN: no figure. Sorts. */
static double upper_median(double *values, int n)
{
	if (n == 0)
		return NAN;
	qsort(values, (size_t)n, sizeof(*values), ascending);
	return values[n / 2];
}

/* The ring within each node: nothing goes faster between them. */
static bool measure_own(struct course *c)
{
	struct nodes_lead *l = &c->lead;
	int n = l->ctx->n_peers;
	double *rates = arena_array(l->ctx->arena, (size_t)n, sizeof(*rates));
	struct nodes_groups g = nodes_in(l->ctx->arena, n, 1);
	bool well;

	l->own_gbs = NAN;
	if (l->ring || l->cards < 2)
		return true;
	well = measure(c, &g, "Ring", false);
	for (int i = 0; i < g.n && well; i++)
		rates[i] = nodes_busbw(&g.list[i], c->bytes);
	if (well)
		l->own_gbs = upper_median(rates, n);
	nodes_groups_release(&g);
	return well;
}

static void find_nics(struct nodes_lead *l)
{
	int n = 0;
	size_t most = (size_t)l->ctx->n_peers;
	double *rates = arena_array(l->ctx->arena, most, sizeof(*rates));
	double *counts = arena_array(l->ctx->arena, most, sizeof(*counts));

	for (int i = 0; i < l->ctx->n_peers; i++) {
		const struct nodes_hello *h = &l->hello[i];

		if (isnan(h->nic_gbs) || h->nics == 0)
			continue;
		rates[n] = h->nic_gbs * h->nics;
		counts[n++] = h->nics;
	}
	l->nic_gbs = upper_median(rates, n);
	l->nics = upper_median(counts, n);
}

/* Keeps what all nodes together gave. */
static void keep(struct nodes_group *kept, struct nodes_groups *all)
{
	*kept = all->list[0];
	all->list[0].seconds = (struct samples){0};
}

static bool measure_pairs(struct course *c)
{
	struct nodes_lead *l = &c->lead;
	int n = l->ctx->n_peers;
	bool well = true;

	for (int i = 0; i < n; i++)
		l->best_pair[i] = NAN;
	for (int round = 0; round < nodes_pair_rounds(n) && well; round++) {
		struct nodes_groups g = nodes_pairs(l->ctx->arena, n, round);

		well = measure(c, &g, "Ring", false);
		if (well)
			nodes_growth_add(l, &c->growth, &g, c->bytes);
		for (int i = 0; i < g.n && well; i++)
			for (int k = 0; k < 2; k++) {
				double *best = &l->best_pair[g.list[i].members[k]];

				*best = fmax(*best, nodes_busbw(&g.list[i], c->bytes));
			}
		if (well && n == 2)
			keep(&l->ring_all, &g);
		nodes_groups_release(&g);
	}
	if (well)
		nodes_say_pairs(l);
	return well;
}

/* Four nodes, eight … and all. */
static bool measure_growth(struct course *c)
{
	struct nodes_lead *l = &c->lead;
	int n = l->ctx->n_peers;
	bool well = true;

	for (int size = 4; n > 2 && well; size *= 2) {
		bool all = size >= n || clock_now(l->b->clock) > c->stop_ns;
		struct nodes_groups g = nodes_in(l->ctx->arena, n, all ? n : size);

		well = measure(c, &g, "Ring", false);
		if (well)
			nodes_growth_add(l, &c->growth, &g, c->bytes);
		if (well && all)
			keep(&l->ring_all, &g);
		nodes_groups_release(&g);
		if (all)
			break;
	}
	if (!well)
		return false;
	nodes_say_growth(l, &c->growth);
	nodes_say_ring(l, c->bytes);
	return true;
}

/* --- all nodes ------------------------------------------------------------------------------ */

static bool measure_size(struct course *c, struct nodes_groups *all, struct nodes_sweep *s,
                         uint64_t bytes)
{
	if (!nodes_measure(&c->lead, all, bytes))
		return false;
	s->points[s->n++] =
		(struct nodes_point){bytes, nodes_seconds(&all->list[0]),
	                             nodes_busbw(&all->list[0], bytes), all->list[0].algorithm};
	return true;
}

/* The largest is judged; the smallest is the latency. */
static bool measure_sizes(struct course *c, struct nodes_groups *all, struct nodes_sweep *s)
{
	struct nodes_lead *l = &c->lead;
	uint64_t step = (uint64_t)l->ctx->param_int(l->ctx, "step"), bytes = c->bytes;
	bool well = measure_size(c, all, s, bytes);

	if (!well)
		return false;
	keep(&l->found_all, all);
	for (bytes /= step; bytes >= LINE_BYTES && well && s->n < 60; bytes /= step) {
		s->cut = clock_now(l->b->clock) > c->stop_ns;
		if (s->cut)
			break;
		well = measure_size(c, all, s, bytes - bytes % LINE_BYTES);
	}
	well = well && measure_size(c, all, s, NODES_SMALLEST);
	if (well)
		nodes_say_small(l, &all->list[0], NODES_SMALLEST);
	if (well)
		nodes_say_found(l, s);
	return well;
}

static bool measure_found(struct course *c)
{
	struct nodes_lead *l = &c->lead;
	int n = l->ctx->n_peers;
	struct nodes_groups all = nodes_in(l->ctx->arena, n, n);
	struct nodes_sweep sweep = {.n = 0};
	bool well = nodes_join(l, &all, NULL, false) && measure_sizes(c, &all, &sweep) &&
	            nodes_leave(l, &all);

	nodes_groups_release(&all);
	return well;
}

static bool measure_tree(struct course *c)
{
	struct nodes_lead *l = &c->lead;
	int n = l->ctx->n_peers;
	struct nodes_groups all = nodes_in(l->ctx->arena, n, n);
	bool well = measure(c, &all, "Tree", false);

	if (well) {
		keep(&l->tree_all, &all);
		nodes_say_default(l, c->bytes);
		nodes_say_nic(l, c->bytes);
	}
	nodes_groups_release(&all);
	return well;
}

static bool measure_rails(struct course *c)
{
	struct nodes_lead *l = &c->lead;
	int n = l->ctx->n_peers;
	struct nodes_groups all = nodes_in(l->ctx->arena, n, n);
	bool well = true;

	for (int i = 0; i < n; i++)
		well &= l->hello[i].n_cards == l->cards;
	if (!well) {
		l->like.outcome = OUTCOME_NOT_MEASURED;
		reason_set(l->ctx, &l->like.reason, MSG_collective_nodes_uneven);
		return true;
	}
	well = measure(c, &all, NULL, true);
	if (well)
		nodes_say_rails(l, &all.list[0], c->bytes);
	nodes_groups_release(&all);
	return well;
}

/* --- who leads -------------------------------------------------------------------------------- */

static void hear_all(struct nodes_lead *l)
{
	double patience = l->ctx->param_real(l->ctx, "patience_s");
	int64_t until = clock_now(l->b->clock) + (int64_t)(patience * 1e9);

	l->ring = true;
	for (int i = 0; i < l->ctx->n_peers; i++) {
		double left = (double)(until - clock_now(l->b->clock)) / 1e9;

		l->hello[i] = l->b->hello;
		if (i != l->ctx->self_index)
			l->heard[i] = nodes_recv_hello(l->ctx, i, left, &l->hello[i]);
		if (l->heard[i] != ST_OK)
			continue;
		l->ring &= !l->hello[i].driver;
		l->ctx->simulated |= l->hello[i].simulated;
	}
}

/* The largest sum that all have room for. */
static uint64_t large(const struct nodes_lead *l)
{
	uint64_t bytes = l->ring ? (uint64_t)l->ctx->param_int(l->ctx, "host_size") : UINT64_MAX;

	for (int i = 0; i < l->ctx->n_peers && !l->ring; i++)
		if (l->hello[i].room < bytes)
			bytes = l->hello[i].room;
	return bytes > LINE_BYTES ? bytes - bytes % LINE_BYTES : bytes;
}

static bool take_course(struct course *c)
{
	struct nodes_lead *l = &c->lead;
	struct probe_ctx *ctx = l->ctx;

	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_doing_collective_nodes);
	if (!nodes_check_hellos(l) || !nodes_begin(l))
		return false;
	c->bytes = large(l);
	find_nics(l);
	ctx->progress(ctx, STAGE_MEASURING, 0, MSG_doing_collective_nodes);
	if (!measure_own(c) || !measure_pairs(c))
		return false;
	ctx->progress(ctx, STAGE_MEASURING, 0.3, MSG_doing_collective_nodes);
	if (!measure_growth(c))
		return false;
	ctx->progress(ctx, STAGE_MEASURING, 0.6, MSG_doing_collective_nodes);
	return l->ring || (measure_found(c) && measure_tree(c) && measure_rails(c));
}

static enum status lead(struct nodes_bench *b)
{
	struct probe_ctx *ctx = b->ctx;
	size_t n = (size_t)ctx->n_peers;
	struct course c = {.growth = {.worst = INFINITY}};
	struct nodes_lead *l = &c.lead;

	*l = (struct nodes_lead){
		.b = b, .ctx = ctx, .wrong_node = -1, .like = reading_init(), .own_gbs = NAN};
	l->hello = arena_array(ctx->arena, n, sizeof(*l->hello));
	l->heard = arena_array(ctx->arena, n, sizeof(*l->heard));
	l->answers = arena_array(ctx->arena, n, sizeof(*l->answers));
	l->blamed = arena_array(ctx->arena, n, sizeof(*l->blamed));
	l->best_pair = arena_array(ctx->arena, n, sizeof(*l->best_pair));
	c.stop_ns = clock_now(b->clock) + (int64_t)(SWEEP_SHARE * nodes_left_s(b) * 1e9);
	hear_all(l);
	if (l->ring) {
		l->like.outcome = OUTCOME_NOT_MEASURED;
		cards_reason(ctx, &l->like.reason);
		nodes_say_none(l);
	}
	if (take_course(&c) || l->wrong)
		nodes_say_wrong(l);
	nodes_say_rest(l);
	nodes_over(l);
	samples_release(&l->ring_all.seconds);
	samples_release(&l->found_all.seconds);
	samples_release(&l->tree_all.seconds);
	str_release(&c.growth.raw);
	return ST_OK;
}

/* --- who follows ---------------------------------------------------------------------------------- */

/* Whatever is no order ends it: whoever leads says why. */
static enum status follow(struct nodes_bench *b)
{
	enum status st = nodes_send_hello(b->ctx, &b->hello);

	b->ctx->progress(b->ctx, STAGE_MEASURING, -1, MSG_doing_collective_nodes);
	while (st == ST_OK) {
		struct nodes_order order;
		struct nodes_answer answer;

		if (nodes_recv_order(b->ctx, nodes_left_s(b), &order) != ST_OK ||
		    order.step == NODES_OVER)
			break;
		nodes_do(b, &order, &answer);
		st = nodes_send_answer(b->ctx, &answer);
	}
	return st;
}

static enum status alone(struct nodes_bench *b)
{
	struct nodes_lead l = {.b = b, .ctx = b->ctx, .like = reading_init()};
	bool blamed = false;

	l.blamed = &blamed;
	l.like.outcome = OUTCOME_NOT_MEASURED;
	reason_set(b->ctx, &l.like.reason, MSG_collective_nodes_alone);
	nodes_say_none(&l);
	return ST_OK;
}

static enum status run(struct probe_ctx *ctx)
{
	struct nodes_bench b = {.ctx = ctx};
	enum status st;

	if (ctx->n_peers < 2)
		return alone(&b);
	ctx->progress(ctx, STAGE_LOADING, -1, MSG_doing_load);
	nodes_open(&b);
	st = ctx->self_index == 0 ? lead(&b) : follow(&b);
	nodes_end(&b);
	return st;
}

/* Without cards it is done on the hosts. */
static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

/* Communicators: own, pairs, each doubling, three of all; sums of each. */
static double duration(struct probe_ctx *ctx)
{
	double nodes = ctx->n_peers > 1 ? ctx->n_peers : 2;
	double opens = 7 + ceil(log2(nodes));
	double steps = 2 + log((double)ctx->param_int(ctx, "max_size") / LINE_BYTES) /
	                           log((double)ctx->param_int(ctx, "step"));
	double window_s = ctx->param_real(ctx, "window_s");
	double windows = (double)(ctx->param_int(ctx, "windows") + 1);

	return 5 + opens * (3 + 0.02 * nodes) + (opens + 0.6 * steps) * windows * window_s * 2;
}

/* clang-format off */
static const struct param params[] = {
	{"max_size", PARAM_SIZE, "B", {"8G", "8G", "8G"}, 4096, 1e12, NULL,
		MSG_help_collective_max_size},
	{"step", PARAM_INT, "1", {"1024", "8", "2"}, 2, 1 << 30, NULL, MSG_help_collective_step},
	{"checks", PARAM_INT, "1", {"1", "2", "20"}, 1, 100000, NULL, MSG_help_collective_checks},
	{"windows", PARAM_INT, "1", {"3", "5", "20"}, 1, 1000, NULL, MSG_help_windows},
	{"window_s", PARAM_REAL, "s", {"0.1", "0.1", "0.2"}, 1e-6, 60, NULL, MSG_help_window_s},
	{"timeout_s", PARAM_REAL, "s", {"60", "60", "120"}, 0.1, 3600, NULL,
		MSG_help_collective_timeout},
	{"patience_s", PARAM_REAL, "s", {"60", "120", "120"}, 0.1, 3600, NULL,
		MSG_help_collective_nodes_patience},
	{"nics", PARAM_INT, "1", {"0", "0", "0"}, 0, 64, NULL, MSG_help_collective_nodes_nics},
	{"host_size", PARAM_SIZE, "B", {"4M", "16M", "64M"}, 1024, 1 << 30, NULL,
		MSG_help_collective_nodes_host_size},
	{"interface", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_group_interface},
	{0},
};

#define NODES_METRIC(name, unit, better, subject, backend, formula) \
	{name, unit, BETTER_##better, SUBJECT_##subject, BACKEND_##backend, formula}
static const struct metric metrics[] = {
	NODES_METRIC("collective_nodes_ring_busbw_gbs", "GB/s", HIGHER, CLUSTER, CUDA,
		"2 (n-1)/n x bytes / seconds of the slowest card; all n cards of all nodes, ring"),
	NODES_METRIC("collective_nodes_busbw_gbs", "GB/s", HIGHER, CLUSTER, CUDA,
		"likewise with the algorithm NCCL chooses in the environment as found"),
	NODES_METRIC("collective_allreduce_small_us", "us", LOWER, CLUSTER, CUDA,
		"median time of an 8-byte all-reduce over all cards"),
	NODES_METRIC("collective_default_share", "1", HIGHER, CLUSTER, CUDA,
		"all-reduce busbw with the environment as found / best of it, ring and tree"),
	NODES_METRIC("collective_nic_gbs", "GB/s", HIGHER, CLUSTER, CUDA,
		"what a NIC carried one way: ring busbw / NICs of a node, or, if more, of another "
		"algorithm busbw x (k-1) m / (n-1) of k nodes with m cards, n in all"),
	NODES_METRIC("collective_nic_share", "1", HIGHER, CLUSTER, CUDA,
		"that of all NICs of a node / the smaller of their line rates and the ring within "
		"a node; both as more than half of the nodes have them"),
	NODES_METRIC("collective_group_busbw_gbs", "GB/s", HIGHER, CLUSTER, CUDA,
		"ring busbw of the slowest group of 2, 4 … all nodes, groups of a size at once"),
	NODES_METRIC("collective_node_nic_share", "1", HIGHER, NODE, CUDA,
		"ring busbw of the node with one neighbour, the better of two / the same as of "
		"collective_nic_share"),
	NODES_METRIC("collective_rail_busbw_gbs", "GB/s", HIGHER, CLUSTER, CUDA,
		"2 (k-1)/k x bytes / seconds of the slowest of the rings of card i of all k nodes, "
		"all rails at once"),
	NODES_METRIC("collective_nodes_wrong_elements", "1", LOWER, CLUSTER, CUDA,
		"elements of sums over nodes that differ from the known ones"),
	NODES_METRIC("cpu_collective_nodes_busbw_gbs", "GB/s", HIGHER, CLUSTER, CPU,
		"2 (n-1)/n x bytes / seconds of the slowest of n hosts, over a TCP ring"),
	NODES_METRIC("cpu_collective_group_busbw_gbs", "GB/s", HIGHER, CLUSTER, CPU,
		"likewise of the slowest group of 2, 4 … all hosts, groups of a size at once"),
	NODES_METRIC("cpu_collective_node_gbs", "GB/s", HIGHER, NODE, CPU,
		"likewise of the host with one neighbour, the better of two"),
	NODES_METRIC("cpu_collective_nodes_wrong", "1", LOWER, CLUSTER, CPU,
		"elements of these sums that differ from the known ones"),
	{0},
};
/* clang-format on */

const struct probe probe_collective_nodes = {
	.name = "collective_nodes",
	.title = MSG_probe_collective_nodes,
	.subject = SUBJECT_CLUSTER,
	.phase = "groups",
	.exclusive = true,
	.all_nodes = true,
	.seconds = {40, 60, 240},
	.duration = duration,
	/* A rank that never comes: hellos, and a step that gives up. */
	.extension_s = {300, 400, 600},
	.params = params,
	.metrics = metrics,
	.supported = supported,
	.run = run,
};
