/* training: a training step that is nothing but its products and its sums, on one
 * card, on one node and on more and more nodes: how much of the cards' speed is left
 * when all work at one model, and what the rest is lost to. A cluster whose cards,
 * links and network each pass can still lose a third of its steps to one slow card or
 * to sums that nothing hides.
 *
 * The first node says what is done (training_lead.c) and alone speaks. On CPUs the
 * same course runs over TCP: it shows that all of it works and judges nothing. */
#include "training.h"

#include <math.h>

#include "base/clock.h"

/* --- the step ---------------------------------------------------------------------------- */

int training_buckets(struct arena *arena, const struct training_shape *shape, size_t element,
                     size_t bytes, struct training_bucket **buckets)
{
	size_t layer = (size_t)shape->width * (size_t)shape->width, most = bytes / element;
	size_t parts = most >= layer ? 1 : (layer + most - 1) / (most > 0 ? most : 1);
	int joined = most >= layer ? (int)(most / layer) : 1, n = 0;

	/* A bucket of less than a row is none. */
	if (parts > (size_t)shape->width)
		parts = (size_t)shape->width;
	*buckets = arena_array(arena, (size_t)shape->layers * parts, sizeof(**buckets));
	for (int top = shape->layers; top > 0; top -= joined) {
		int low = top > joined ? top - joined : 0;
		size_t first = (size_t)low * layer, count = (size_t)(top - low) * layer;

		for (size_t p = 0; p < parts; p++)
			(*buckets)[n++] = (struct training_bucket){
				.first = first + count * p / parts / 4 * 4,
				.count =
					(p + 1 == parts ? count : count * (p + 1) / parts / 4 * 4) -
					count * p / parts / 4 * 4,
				.layer = low};
	}
	return n;
}

/* --- one node ---------------------------------------------------------------------------- */

bool training_because(struct training_node *node, enum outcome outcome, enum msg id,
                      const char *const *args)
{
	node->outcome = outcome;
	reason_set_list(node->ctx, &node->reason, id, args);
	return false;
}

void training_node_open(struct training_node *node, struct probe_ctx *ctx)
{
	bool gpus = cards_have_driver(ctx);
	const char *prefix = gpus ? "" : "cpu_";

	*node = (struct training_node){
		.ctx = ctx,
		.clock = ctx->clock,
		.deadline_ns = ctx->deadline_ns,
		.back = gpus ? &training_cards : &training_cpus,
	};
	node->shape = (struct training_shape){
		.layers = (int)ctx->param_int(ctx, tmpf("%slayers", prefix)),
		.width = (int)ctx->param_int(ctx, tmpf("%swidth", prefix)),
		.tokens = (int)ctx->param_int(ctx, tmpf("%stokens", prefix)),
		.accumulate = (int)ctx->param_int(ctx, "accumulate"),
	};
	/* Rows of whole 64-bit words, whatever an element has. */
	node->shape.width -= node->shape.width % 8;
}

static bool do_order(struct training_node *node, const struct training_order *o,
                     struct training_answer *out)
{
	switch (o->step) {
	case TRAINING_READY:
		return node->back->ready(node, out);
	case TRAINING_ID:
		return node->back->name(node, out);
	case TRAINING_JOIN:
		return node->back->join(node, o);
	case TRAINING_CHECK:
		return node->back->check(node, o, out);
	case TRAINING_RUN:
		return node->back->run(node, o, out);
	case TRAINING_LEAVE:
		return node->back->leave(node);
	default:
		return true;
	}
}

double training_clock(const struct training_node *node)
{
	return (double)clock_now(node->ctx->clock) / 1e9;
}

void training_meet_clock(const struct training_node *node, double clock_s)
{
	double ahead_s = clock_s - training_clock(node);

	if (node->ctx->clock != node->clock && ahead_s > 0)
		clock_sleep(node->ctx->clock, (int64_t)(fmin(ahead_s, 3600) * 1e9));
}

void training_node_do(struct training_node *node, const struct training_order *o,
                      struct training_answer *out)
{
	*out = (struct training_answer){.outcome = OUTCOME_MEASURED};
	node->outcome = OUTCOME_NOT_MEASURED;
	node->waited = false;
	if (do_order(node, o, out))
		return;
	*out = (struct training_answer){
		.outcome = node->outcome, .why = node->reason.text, .waited = node->waited};
}

void training_node_close(struct training_node *node)
{
	if (node->self)
		node->back->close(node);
}

static enum status follow(struct training_node *self)
{
	struct probe_ctx *ctx = self->ctx;
	struct training_order order;

	for (;;) {
		/* A step that is left behind may still write to it. */
		struct training_answer *answer = arena_alloc(ctx->arena, sizeof(*answer));
		double left = (double)(self->deadline_ns - clock_now(self->clock)) / 1e9;
		enum status st = training_recv_order(ctx, fmax(left, 0), &order);

		if (st != ST_OK || order.step == TRAINING_OVER)
			return st;
		training_meet_clock(self, order.clock_s);
		training_node_do(self, &order, answer);
		answer->clock_s = training_clock(self);
		st = training_send_answer(ctx, answer);
		if (st != ST_OK)
			return st;
	}
}

static enum status run(struct probe_ctx *ctx)
{
	struct training_node *self = arena_alloc(ctx->arena, sizeof(*self));
	enum status st = ST_OK;

	ctx->progress(ctx, STAGE_LOADING, -1, MSG_doing_load);
	training_node_open(self, ctx);
	if (ctx->n_peers < 2 || ctx->self_index == 0)
		training_lead(self);
	else
		st = follow(self);
	training_node_close(self);
	return st;
}

static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

/* Loading and room for the model; products and the whole step alone; sums, step, serial
 * and strong at each size. */
static double duration(struct probe_ctx *ctx)
{
	double run_s = ctx->param_real(ctx, "run_s") + TRAINING_NODE_S, sizes = 1;
	bool all = *ctx->param_word(ctx, "sizes") == 'd';

	/* One node without cards has nothing to do. */
	if (ctx->n_peers < 2 && !cards_have_driver(ctx))
		return 1;
	for (int n = 2; n < ctx->n_peers && all; n *= 2)
		sizes++;
	sizes += ctx->n_peers > 1;
	return 20 + 2 * run_s + sizes * 3 * run_s;
}

/* clang-format off */
static const struct param params[] = {
	{"layers", PARAM_INT, "1", {"24", "24", "24"}, 1, TRAINING_LAYERS_MOST, NULL,
		MSG_help_training_layers},
	{"width", PARAM_INT, "1", {"8192", "8192", "8192"}, 64, 65536, NULL,
		MSG_help_training_width},
	{"tokens", PARAM_INT, "1", {"8192", "8192", "8192"}, 8, 1 << 20, NULL,
		MSG_help_training_tokens},
	{"accumulate", PARAM_INT, "1", {"1", "1", "1"}, 1, 100000, NULL,
		MSG_help_training_accumulate},
	{"bucket", PARAM_SIZE, "B", {"128M", "128M", "128M"}, 1024, 1e12, NULL,
		MSG_help_training_bucket},
	{"warm", PARAM_INT, "1", {"3", "5", "20"}, 1, TRAINING_STEPS_MOST, NULL,
		MSG_help_training_warm},
	{"steps", PARAM_INT, "1", {"10", "60", "200"}, 3, TRAINING_STEPS_MOST, NULL,
		MSG_help_training_steps},
	{"run_s", PARAM_REAL, "s", {"2", "5", "60"}, 0.001, 3600, NULL, MSG_help_training_run},
	{"sizes", PARAM_WORD, "", {"ends", "doubling", "doubling"}, 0, 0, "ends|doubling",
		MSG_help_training_sizes},
	{"project_cards", PARAM_INT, "1", {"1000", "1000", "1000"}, 2, 10000000, NULL,
		MSG_help_training_project},
	{"cpu_layers", PARAM_INT, "1", {"4", "4", "4"}, 1, TRAINING_LAYERS_MOST, NULL,
		MSG_help_training_layers},
	{"cpu_width", PARAM_INT, "1", {"256", "512", "512"}, 16, 8192, NULL,
		MSG_help_training_width},
	{"cpu_tokens", PARAM_INT, "1", {"256", "512", "512"}, 8, 65536, NULL,
		MSG_help_training_tokens},
	{"cpu_bucket", PARAM_SIZE, "B", {"1M", "1M", "1M"}, 1024, 1e9, NULL,
		MSG_help_training_bucket},
	{"interface", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_group_interface},
	{"timeout_s", PARAM_REAL, "s", {"60", "60", "120"}, 0.01, 3600, NULL,
		MSG_help_collective_timeout},
	{"patience_s", PARAM_REAL, "s", {"30", "30", "60"}, 0.1, 3600, NULL,
		MSG_help_training_patience},
	{0},
};
/* clang-format on */

const struct probe probe_training = {
	.name = "training",
	.title = MSG_probe_training,
	.subject = SUBJECT_CLUSTER,
	.phase = "training",
	.exclusive = true,
	.all_nodes = true,
	.alone_too = true,
	.seconds = {40, 150, 600},
	.duration = duration,
	.extension_s = {60, 300, 1200},
	.params = params,
	.metrics = training_metrics,
	.supported = supported,
	.run = run,
};
