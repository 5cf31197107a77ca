/* patterns: what the fabric carries when all nodes send at once, which pairs that are
 * measured one beside the other do not show: random permutations find paths that flows
 * share by accident, the two halves of the cluster against each other find links that
 * were saved between switches, and many to one finds queues that overflow.
 *
 * By RDMA where all nodes have adapters, else over TCP; which it was is in the names of
 * the figures. */
#include "patterns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP_S 0.4 /* of texts and connecting, a step */

/* --- leaves -------------------------------------------------------------------------------- */

static int node_named(const struct probe_ctx *ctx, const char *name, size_t len)
{
	for (int i = 0; i < ctx->n_peers; i++)
		if (strlen(ctx->peers[i]) == len && strncmp(ctx->peers[i], name, len) == 0)
			return i;
	return -1;
}

/* "a:n1,n2;b:n3": leaf a has n1 and n2. Names of nodes that are not there are passed
 * over: they may be lost. False: no such text. */
static bool read_leaves(struct patterns_lead *l, const char *text)
{
	struct probe_ctx *ctx = l->ctx;

	while (*text) {
		size_t len = strcspn(text, ":;");
		const char *name = arena_strn(ctx->arena, text, len);

		if (len == 0 || text[len] != ':')
			return false;
		text += len;
		do {
			int node;

			len = strcspn(++text, ",;");
			node = node_named(ctx, text, len);
			if (node >= 0)
				l->leaf[node] = name;
			text += len;
		} while (*text == ',');
		text += *text == ';';
	}
	return true;
}

/* Leaf by leaf, so that half of them face the other half; else as they come. */
static int *order_by_leaf(struct patterns_lead *l)
{
	int n = l->ctx->n_peers;
	int *order = arena_array(l->ctx->arena, (size_t)n, sizeof(*order));

	for (int i = 0; i < n; i++) {
		const char *leaf = l->leaf[i] ? l->leaf[i] : "";
		int at = i;

		for (; at > 0; at--) {
			const char *other = l->leaf[order[at - 1]];

			if (strcmp(other ? other : "", leaf) <= 0)
				break;
			order[at] = order[at - 1];
		}
		order[at] = i;
	}
	return order;
}

/* --- the course ------------------------------------------------------------------------------ */

struct course {
	struct patterns_lead *l;
	int permutations, bisections, incasts, senders;
	int done, total;
	int *to;
};

static bool step(struct course *c, enum pattern pattern, int turn)
{
	c->l->ctx->progress(c->l->ctx, STAGE_MEASURING, (double)c->done++ / c->total,
	                    MSG_doing_patterns);
	return patterns_step(c->l, pattern, turn, c->to);
}

static bool take_course(struct course *c)
{
	struct probe_ctx *ctx = c->l->ctx;
	int n = ctx->n_peers;
	const int *order = order_by_leaf(c->l);
	bool going = true;

	for (int t = 0; t < c->permutations && going; t++) {
		patterns_permutation(n, ctx->seed, t, c->to);
		going = step(c, PATTERN_PERMUTATION, t);
	}
	for (int t = 0; t < c->bisections && going; t++) {
		patterns_bisection(order, n, c->to);
		going = step(c, PATTERN_BISECTION, t);
	}
	for (int t = 0; t < c->incasts && going; t++) {
		patterns_incast(n, c->senders, t, c->to);
		going = step(c, PATTERN_INCAST, t);
	}
	return going;
}

static struct course course_of(struct probe_ctx *ctx, struct patterns_lead *l)
{
	int senders = (int)ctx->param_int(ctx, "senders");
	int turns = patterns_incast_turns(ctx->n_peers, senders);
	struct course c = {.l = l,
	                   .permutations = (int)ctx->param_int(ctx, "permutations"),
	                   .bisections = (int)ctx->param_int(ctx, "bisection"),
	                   .incasts = ctx->param_int(ctx, "incast") ? turns : 0,
	                   .senders = senders};

	c.total = c.permutations + c.bisections + c.incasts;
	c.to = arena_array(ctx->arena, (size_t)ctx->n_peers, sizeof(*c.to));
	return c;
}

/* RDMA where all have it, unless the other way is asked for. */
static bool choose_way(struct patterns_lead *l)
{
	const char *asked = l->ctx->param_word(l->ctx, "transport");
	bool tcp = strcmp(asked, "tcp") == 0;

	l->way = tcp || l->no_rdma.reason.code ? PATTERNS_TCP : PATTERNS_RDMA;
	if (tcp)
		l->no_rdma = (struct net_fault){0};
	if (strcmp(asked, "rdma") == 0 && l->way == PATTERNS_TCP) {
		l->way = PATTERNS_RDMA;
		l->trouble = l->no_rdma;
		return false;
	}
	return true;
}

static enum status lead(struct patterns_node *n)
{
	struct probe_ctx *ctx = n->ctx;
	const char *leaves = ctx->param_word(ctx, "leaves");
	struct patterns_lead l = {.n = n, .ctx = ctx};
	struct course c = course_of(ctx, &l);
	enum status st;

	l.leaf = arena_array(ctx->arena, (size_t)ctx->n_peers, sizeof(*l.leaf));
	if (!read_leaves(&l, leaves))
		net_fault_set(ctx, &l.trouble, OUTCOME_NOT_MEASURED, MSG_patterns_bad_leaves,
		              leaves);
	else if (patterns_hear_all(&l) && choose_way(&l))
		take_course(&c);
	patterns_over(&l);
	st = patterns_say(&l);
	free(l.flows);
	return st;
}

static enum status run(struct probe_ctx *ctx)
{
	struct patterns_node n = {.ctx = ctx};
	struct net_fault few = {0};
	enum status st;

	if (ctx->n_peers < PATTERNS_LEAST) {
		net_fault_set(ctx, &few, OUTCOME_NOT_MEASURED, MSG_patterns_few,
		              tmpf("%d", PATTERNS_LEAST));
		return ctx->self_index == 0 ? patterns_say_none(ctx, &few) : ST_OK;
	}
	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_doing_patterns_meet);
	patterns_open(&n);
	st = ctx->self_index == 0 ? lead(&n) : patterns_follow(&n);
	patterns_close(&n);
	return st;
}

static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

static double duration(struct probe_ctx *ctx)
{
	int nodes = ctx->n_peers > 1 ? ctx->n_peers : PATTERNS_LEAST;
	int senders = (int)ctx->param_int(ctx, "senders");
	double steps =
		(double)(ctx->param_int(ctx, "permutations") + ctx->param_int(ctx, "bisection"));

	if (ctx->param_int(ctx, "incast"))
		steps += patterns_incast_turns(nodes, senders);
	return 1 +
	       steps * (ctx->param_real(ctx, "seconds") + ctx->param_real(ctx, "ramp_s") + STEP_S);
}

/* clang-format off */
static const struct param params[] = {
	{"permutations", PARAM_INT, "1", {"1", "3", "10"}, 0, 1000, NULL,
		MSG_help_patterns_permutations},
	{"bisection", PARAM_INT, "1", {"1", "1", "3"}, 0, 1000, NULL, MSG_help_patterns_bisection},
	{"incast", PARAM_INT, "1", {"1", "1", "1"}, 0, 1, NULL, MSG_help_patterns_incast},
	{"senders", PARAM_INT, "1", {"3", "7", "7"}, 3, PATTERNS_SENDERS, NULL,
		MSG_help_patterns_senders},
	{"transport", PARAM_WORD, "", {"auto", "auto", "auto"}, 0, 0, "auto|rdma|tcp",
		MSG_help_patterns_transport},
	{"leaves", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_patterns_leaves},
	{"seconds", PARAM_REAL, "s", {"0.5", "1", "5"}, 0.02, 60, NULL, MSG_help_patterns_seconds},
	{"ramp_s", PARAM_REAL, "s", {"0.2", "0.3", "1"}, 0, 60, NULL, MSG_help_net_ramp},
	{"devices", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_rdma_devices},
	{"qps", PARAM_INT, "1", {"4", "4", "4"}, 1, PATTERNS_QPS, NULL, MSG_help_patterns_qps},
	{"size", PARAM_SIZE, "B", {"65536", "65536", "65536"}, 64, PATTERNS_REGION, NULL,
		MSG_help_patterns_size},
	{"depth", PARAM_INT, "1", {"128", "128", "128"}, 4, 4096, NULL, MSG_help_rdma_depth},
	{"traffic_class", PARAM_INT, "1", {"0", "0", "0"}, 0, 255, NULL, MSG_help_rdma_class},
	{"streams", PARAM_INT, "1", {"2", "2", "2"}, 1, 16, NULL, MSG_help_patterns_streams},
	{"block", PARAM_SIZE, "B", {"131072", "131072", "131072"}, 4096, 16 << 20, NULL,
		MSG_help_net_block},
	{"interface", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_group_interface},
	{"meet_s", PARAM_REAL, "s", {"20", "20", "20"}, 0.1, 600, NULL, MSG_help_group_meet},
	{"silence_s", PARAM_REAL, "s", {"5", "5", "5"}, 0.1, 600, NULL, MSG_help_rdma_silence},
	{0},
};

#define FABRIC_METRIC(name, unit, better, subject, formula) \
	{name, unit, BETTER_##better, SUBJECT_##subject, BACKEND_ANY, formula}
static const struct metric metrics[] = {
	FABRIC_METRIC("rdma_incast_share", "1", HIGHER, NODE,
		"sum of what all senders wrote to the node at once / payload rate of its adapters"),
	FABRIC_METRIC("rdma_incast_fairness", "1", HIGHER, NODE,
		"(sum of rates)^2 / (senders x sum of squares), 1 where all got the same"),
	FABRIC_METRIC("rdma_bisection_share", "1", HIGHER, CLUSTER,
		"sum of writes between both halves, both ways at once / sum of what each pair "
		"should carry; the lowest turn"),
	FABRIC_METRIC("rdma_permutation_share", "1", HIGHER, CLUSTER,
		"likewise, each node to another one at random; the lowest permutation"),
	FABRIC_METRIC("rdma_permutation_worst", "1", HIGHER, CLUSTER,
		"the slowest flow of all permutations / what it should carry"),
	FABRIC_METRIC("rdma_flow_gbps", "Gb/s", HIGHER, PAIR,
		"8 x bytes / seconds of writes while all nodes send, by the sender"),
	FABRIC_METRIC("net_incast_kept", "1", HIGHER, NODE,
		"sum of what came from all senders at once / the best of what one of them alone "
		"sent to the node, TCP"),
	FABRIC_METRIC("net_incast_fairness", "1", HIGHER, NODE,
		"(sum of rates)^2 / (senders x sum of squares), 1 where all got the same; TCP"),
	FABRIC_METRIC("net_bisection_gbps", "Gb/s", HIGHER, CLUSTER,
		"sum of what passed between both halves, both ways at once, TCP; the lowest turn"),
	FABRIC_METRIC("net_permutation_gbps", "Gb/s", HIGHER, CLUSTER,
		"likewise, each node to another one at random; the lowest permutation"),
	FABRIC_METRIC("net_permutation_worst", "1", HIGHER, CLUSTER,
		"the slowest flow of all permutations / their median"),
	FABRIC_METRIC("net_flow_gbps", "Gb/s", HIGHER, PAIR,
		"8 x bytes / seconds of what came while all nodes send, by the receiver; TCP"),
	{0},
};
/* clang-format on */

const struct probe probe_patterns = {
	.name = "patterns",
	.title = MSG_probe_patterns,
	.subject = SUBJECT_CLUSTER,
	.phase = "groups",
	.exclusive = true,
	.all_nodes = true,
	.seconds = {6, 22, 150},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.supported = supported,
	.run = run,
};
