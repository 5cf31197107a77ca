/* What one node does: one product a card, kept whole on the host, so that any row
 * of it can be shown later. The cards are used one after another and let go. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cards.h"
#include "gemm_rows.h"
#include "hw/device_cpu.h"
#include "hw/device_cuda.h"
#include "kernels/kernels.h"
#include "kernels/ptx.h"
#include "limited.h"
#include "stats/rng.h"

/* Matrices and digests of order 4096, and the way of them to the card and back; the
 * first start of a driver, or the choice of a BLAS. */
#define CARD_S  1.0
#define START_S 5.0

/* --- data ------------------------------------------------------------------------------ */

struct rows_shape rows_shape(struct probe_ctx *ctx, bool gpu)
{
	return (struct rows_shape){
		.format = gpu ? NUMBER_FP16 : NUMBER_FP32,
		.order = (int)ctx->param_int(ctx, gpu ? "card_order" : "order"),
	};
}

size_t rows_bytes(const struct rows_shape *shape)
{
	return (size_t)shape->order * number_format_bytes(shape->format);
}

/* Sign, one of four exponents below that of 1, and the fraction: exact in the format. */
static uint32_t number_bits(enum number_format format, uint64_t random)
{
	uint32_t sign = random & 1, exponent = random >> 1 & 3;

	if (format == NUMBER_FP16)
		return sign << 15 | (11 + exponent) << 10 | (random >> 3 & 0x3ff);
	return sign << 31 | (123 + exponent) << 23 | (random >> 3 & 0x7fffff);
}

void rows_fill(enum number_format format, uint64_t seed, enum rows_matrix which, size_t first,
               void *to, size_t n)
{
	uint64_t start = seed + which;

	start = splitmix64(&start);
	for (size_t i = 0; i < n; i++) {
		uint64_t state = start + (first + i) * 0x9e3779b97f4a7c15ULL;
		uint32_t bits = number_bits(format, splitmix64(&state));

		if (format == NUMBER_FP16)
			((uint16_t *)to)[i] = (uint16_t)bits;
		else
			((uint32_t *)to)[i] = bits;
	}
}

/* The same for all cards of a node. */
struct inputs {
	struct rows_shape shape;
	size_t bytes; /* of each matrix */
	void *a, *b;
};

static struct inputs *make_inputs(struct probe_ctx *ctx, bool gpu, uint64_t seed)
{
	struct inputs *in = arena_alloc(ctx->arena, sizeof(*in));
	size_t n;

	in->shape = rows_shape(ctx, gpu);
	n = (size_t)in->shape.order * (size_t)in->shape.order;
	in->bytes = n * number_format_bytes(in->shape.format);
	in->a = arena_alloc(ctx->arena, in->bytes);
	in->b = arena_alloc(ctx->arena, in->bytes);
	rows_fill(in->shape.format, seed, ROWS_A, 0, in->a, n);
	rows_fill(in->shape.format, seed, ROWS_B, 0, in->b, n);
	return in;
}

/* --- one card ---------------------------------------------------------------------------- */

/* What a card's thread uses: its own memory, since it may be left behind. */
struct task {
	struct probe_ctx *ctx;
	struct cuda *cuda; /* of GPUs */
	int index;
	const struct inputs *in;
	struct arena *arena;
	struct rows_card card;
	struct rows_product product;
};

static enum status multiply(struct device *dev, const struct inputs *in, void *result,
                            struct error *err)
{
	struct device_buffer a = {0}, b = {0}, c = {0};
	struct device_gemm job = {.format = in->shape.format,
	                          .m = in->shape.order,
	                          .n = in->shape.order,
	                          .k = in->shape.order,
	                          .a = &a,
	                          .b = &b,
	                          .c = &c};
	double seconds;
	enum status st = dev->ops->alloc(dev, &a, in->bytes, err);

	if (st == ST_OK)
		st = dev->ops->alloc(dev, &b, in->bytes, err);
	if (st == ST_OK)
		st = dev->ops->alloc(dev, &c, in->bytes, err);
	if (st == ST_OK)
		st = dev->ops->write(dev, &a, 0, in->a, in->bytes, err);
	if (st == ST_OK)
		st = dev->ops->write(dev, &b, 0, in->b, in->bytes, err);
	/* NaN everywhere: a product that is not computed cannot look right. */
	memset(result, 0xff, in->bytes);
	if (st == ST_OK)
		st = dev->ops->write(dev, &c, 0, result, in->bytes, err);
	if (st == ST_OK)
		st = dev->ops->gemm(dev, &job, 1, &seconds, err);
	if (st == ST_OK)
		st = dev->ops->read(dev, &c, 0, result, in->bytes, err);
	dev->ops->release(dev, &a);
	dev->ops->release(dev, &b);
	dev->ops->release(dev, &c);
	return st;
}

static enum status use_device(struct task *t, struct device *dev, struct error *err)
{
	const struct inputs *in = t->in;
	const struct device_info *info = &dev->info;
	void *result = arena_alloc(t->arena, in->bytes);
	enum status st;

	t->card.device = arena_str(t->arena, info->name);
	if (!dev->ops->can_gemm(dev, in->shape.format)) {
		t->card.outcome = OUTCOME_UNSUPPORTED;
		return error_set(err, ST_UNSUPPORTED, MSG_device_format, info->name,
		                 number_format_name(in->shape.format));
	}
	st = multiply(dev, in, result, err);
	if (st != ST_OK)
		return st;
	t->card.library = arena_strf(t->arena, "%s %s", info->library, info->library_version);
	t->product = (struct rows_product){.c = result, .shape = in->shape};
	rows_tree_make(&t->product.tree, t->arena, result, in->shape.order, rows_bytes(&in->shape));
	t->card.root = t->product.tree.digest[1];
	t->card.outcome = OUTCOME_MEASURED;
	return ST_OK;
}

static enum status work_on_gpu(void *arg, struct error *err)
{
	struct task *t = arg;
	struct cuda_card *card = arena_alloc(t->arena, sizeof(*card));
	struct gpu_search where = {t->ctx->lib_dir, t->ctx->sys_root};
	struct device_cuda_request request = {
		.cuda = t->cuda,
		.card = card,
		.where = &where,
		.code = {kernels_ptx, KERNEL_THREADS, KERNEL_BLOCKS_PER_SM},
		.blas = true,
	};
	const struct gpu_cause *cause;
	struct device_cuda *dev = NULL;
	enum status st = cuda_card_read(t->cuda, t->arena, t->index, card, err);

	if (st == ST_OK) {
		t->card.id = card->uuid;
		t->card.pci = card->pci;
		t->card.index = card->index;
		st = device_cuda_open(&dev, t->arena, &request, err);
	}
	if (st == ST_OK)
		st = use_device(t, &dev->device, err);
	cause = dev ? device_cuda_fault(dev) : t->cuda->fault;
	if (st != ST_OK && t->card.outcome == OUTCOME_NOT_MEASURED && cause)
		t->card.outcome = cause->outcome;
	if (dev)
		dev->device.ops->close(&dev->device);
	return st;
}

/* --- cards of a node ------------------------------------------------------------------------ */

static struct rows_card *add_card(struct rows_node *node, const struct rows_card *card)
{
	struct rows_card *to = &node->pledge.cards[node->pledge.n_cards++];

	*to = *card;
	return to;
}

static void refuse(struct rows_node *node, struct rows_card *card, enum outcome outcome,
                   const char *why)
{
	card->outcome = outcome;
	card->why = arena_strf(node->ctx->arena, ROWS_WHY_MOST, why);
}

/* Takes what the task came to and lets err go. */
static void add_result(struct rows_node *node, const struct task *t, struct error *err)
{
	struct rows_card *card = add_card(node, &t->card);

	if (err->status == ST_OK)
		node->products[node->pledge.n_cards - 1] = t->product;
	else
		refuse(node, card, card->outcome, str_text(&err->text));
	error_release(err);
}

struct start {
	struct probe_ctx *ctx;
	struct cuda cuda;
	struct gpu_search where;
	double memory_scale;
};

static enum status start_cuda(void *arg, struct error *err)
{
	struct start *s = arg;

	return cards_cuda(s->ctx, &s->cuda, &s->where, &s->memory_scale, err);
}

static enum outcome outcome_of(const struct cuda *cuda, enum status st)
{
	if (st == ST_TIMEOUT)
		return OUTCOME_TIMED_OUT;
	return cuda->fault ? cuda->fault->outcome : OUTCOME_NOT_MEASURED;
}

/* False: it hangs, and no driver call can be trusted to come back any more. */
static bool try_gpu(struct rows_node *node, struct cuda *cuda, const struct inputs *in, int index,
                    int64_t until_ns)
{
	struct arena *arena = arena_alloc(node->ctx->arena, sizeof(*arena));
	struct task *t = arena_alloc(node->ctx->arena, sizeof(*t));
	struct rows_card unknown = {.id = arena_strf(node->ctx->arena, "cuda-%d", index),
	                            .index = index,
	                            .gpu = true,
	                            .outcome = OUTCOME_NOT_MEASURED};
	int64_t left = until_ns - clock_now(node->clock);
	struct error err = {0};

	*t = (struct task){.ctx = node->ctx,
	                   .cuda = cuda,
	                   .index = index,
	                   .in = in,
	                   .arena = arena,
	                   .card = unknown};
	if (limited_run(work_on_gpu, t, left > 0 ? left : 0, &err) != ST_TIMEOUT) {
		node->arenas[index] = arena;
		add_result(node, t, &err);
		return true;
	}
	/* The thread may still be writing to its task. */
	refuse(node, add_card(node, &unknown), OUTCOME_TIMED_OUT, str_text(&err.text));
	error_release(&err);
	return false;
}

static void multiply_on_gpus(struct rows_node *node, uint64_t seed, int64_t until_ns)
{
	struct probe_ctx *ctx = node->ctx;
	struct start *s = arena_alloc(ctx->arena, sizeof(*s));
	const struct rows_card all = {.id = CARDS_ALL, .index = -1, .gpu = true};
	struct inputs *in = make_inputs(ctx, true, seed);
	struct error err = {0};
	bool hangs = false;
	enum status st;

	*s = (struct start){.ctx = ctx, .where = {ctx->lib_dir, ctx->sys_root}};
	st = limited_run(start_cuda, s, until_ns - clock_now(node->clock), &err);
	if (st != ST_OK)
		refuse(node, add_card(node, &all), outcome_of(&s->cuda, st), str_text(&err.text));
	error_release(&err);
	for (int i = 0; st == ST_OK && i < s->cuda.count && i < ROWS_CARDS_MOST; i++) {
		if (!hangs) {
			hangs = !try_gpu(node, &s->cuda, in, i, until_ns);
			continue;
		}
		refuse(node,
		       add_card(node,
		                &(struct rows_card){.id = arena_strf(ctx->arena, "cuda-%d", i),
		                                    .index = i,
		                                    .gpu = true}),
		       OUTCOME_NOT_MEASURED, say(MSG_gemm_rows_behind));
	}
}

static void multiply_on_socket(struct rows_node *node, const struct inputs *in, const char *id)
{
	struct probe_ctx *ctx = node->ctx;
	const char *subject = ctx->subject_id;
	struct task t = {.ctx = ctx,
	                 .in = in,
	                 .arena = ctx->arena,
	                 .card = {.id = id, .index = -1, .outcome = OUTCOME_NOT_MEASURED}};
	struct device *dev = NULL;
	struct error err = {0};

	ctx->subject_id = id;
	if (cards_open(ctx, &dev, 0, "auto", &err) == ST_OK) {
		use_device(&t, dev, &err);
		dev->ops->close(dev);
	}
	ctx->subject_id = subject;
	add_result(node, &t, &err);
}

void rows_node_multiply(struct rows_node *node, uint64_t seed, double seconds)
{
	struct probe_ctx *ctx = node->ctx;
	int64_t until_ns = clock_now(node->clock) + (int64_t)(seconds * 1e9);
	struct rows_pledge *p = &node->pledge;
	const struct inputs *in;

	*p = (struct rows_pledge){.driver = cards_have_driver(ctx)};
	p->cards = arena_array(ctx->arena, ROWS_CARDS_MOST, sizeof(*p->cards));
	ctx->progress(ctx, STAGE_MEASURING, -1, MSG_doing_gemm);
	if (p->driver) {
		multiply_on_gpus(node, seed, until_ns);
	} else {
		const char *const *subjects = cards_subjects(ctx);

		in = make_inputs(ctx, false, seed);
		for (int i = 0; subjects[i] && p->n_cards < ROWS_CARDS_MOST; i++)
			if (str_starts(subjects[i], CPU_SOCKET_PREFIX))
				multiply_on_socket(node, in, subjects[i]);
	}
	p->simulated = ctx->simulated;
}

bool rows_node_answer(const struct rows_node *node, int card, int row, struct rows_answer *out)
{
	const struct rows_product *p = node->products;
	size_t bytes;

	if (card < 0 || card >= node->pledge.n_cards)
		return false;
	p += card;
	if (!p->c || row < 0 || row >= p->shape.order)
		return false;
	bytes = rows_bytes(&p->shape);
	*out = (struct rows_answer){.card = card,
	                            .row = (const char *)p->c + (size_t)row * bytes,
	                            .bytes = bytes,
	                            .depth = p->tree.depth};
	rows_tree_proof(&p->tree, row, out->proof);
	return true;
}

void rows_node_release(struct rows_node *node)
{
	for (int i = 0; i < ROWS_CARDS_MOST; i++)
		if (node->arenas[i])
			arena_release(node->arenas[i]);
}

/* --- the plan ---------------------------------------------------------------------------------- */

int rows_node_cards(struct probe_ctx *ctx)
{
	const char *const *subjects = cards_subjects(ctx);
	bool gpu = cards_have_driver(ctx);
	int n = 0;

	for (int i = 0; subjects[i]; i++)
		n += gpu == !str_starts(subjects[i], CPU_SOCKET_PREFIX);
	return n;
}

double rows_node_seconds(struct probe_ctx *ctx)
{
	struct rows_shape shape = rows_shape(ctx, cards_have_driver(ctx));

	return START_S + rows_node_cards(ctx) * CARD_S * pow(shape.order / 4096.0, 2);
}
