/* The step on CPUs: a socket of each node as its card, products by a BLAS, sums by a
 * second thread round the ring of bench/group.h while products go on. It shows that
 * the course, the overlap and the check work where there is no GPU; its figures are
 * those of sockets and sound for nothing else. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "group.h"
#include "hw/device_cpu.h"
#include "stats/samples.h"
#include "training.h"

#define SOCKET   CPU_SOCKET_PREFIX "0"
#define VALUES   16 /* that an element of a check may have */
#define MOMENTUM 0.5F

/* Sums under way: buckets in their order, as they become whole. */
struct summing {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	int ready;   /* buckets that are whole */
	bool closed; /* no more of this step */
	bool sums, optimiser;
	enum status st;
	struct error err;
};

struct cpus {
	struct training_node *node;
	struct device *dev;
	struct group *group;
	struct probe_ctx company; /* of the group: the first nodes of all */
	int joined;               /* nodes of it; 0: none */
	struct device_buffer in, out, weights, gradients, state;
	struct training_bucket *buckets;
	int n_buckets;
	size_t elements; /* of all gradients */
	struct summing summing;
};

/* --- room ---------------------------------------------------------------------------------- */

static bool because_error(struct training_node *node, enum msg id, struct error *err)
{
	because(node, err->status == ST_TIMEOUT ? OUTCOME_TIMED_OUT : OUTCOME_NOT_MEASURED, id,
	        str_text(&err->text));
	error_release(err);
	return false;
}

static void fill(struct device_buffer *b)
{
	float *x = b->data;

	for (size_t i = 0; i < b->bytes / sizeof(*x); i++)
		x[i] = (float)(i % 17) / 17 - 0.5F;
}

static enum status make_room(struct cpus *c, struct error *err)
{
	const struct training_shape *shape = &c->node->shape;
	size_t width = (size_t)shape->width, layer = width * width * sizeof(float);
	size_t rows = (size_t)shape->tokens * width * sizeof(float);
	struct {
		struct device_buffer *buffer;
		size_t bytes;
	} all[] = {{&c->in, rows},
	           {&c->out, rows},
	           {&c->weights, layer},
	           {&c->gradients, layer * (size_t)shape->layers},
	           {&c->state, layer * (size_t)shape->layers}};
	enum status st = ST_OK;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && st == ST_OK; i++) {
		st = c->dev->ops->alloc(c->dev, all[i].buffer, all[i].bytes, err);
		if (st == ST_OK)
			fill(all[i].buffer);
	}
	return st;
}

static bool cpus_ready(struct training_node *node, struct training_answer *out)
{
	struct probe_ctx *ctx = node->ctx, socket = *ctx;
	struct cpus *c = arena_alloc(ctx->arena, sizeof(*c));
	struct error err = {0};
	enum status st;

	node->self = c;
	c->node = node;
	socket.subject_id = SOCKET;
	st = cards_open(&socket, &c->dev, 0, "auto", &err);
	if (st == ST_OK)
		st = make_room(c, &err);
	if (st != ST_OK)
		return because_error(node, MSG_training_cause, &err);
	c->elements =
		(size_t)node->shape.layers * (size_t)node->shape.width * (size_t)node->shape.width;
	c->n_buckets = training_buckets(ctx->arena, &node->shape, sizeof(float),
	                                (size_t)ctx->param_int(ctx, "cpu_bucket"), &c->buckets);
	out->library =
		arena_strf(ctx->arena, "%s %s", c->dev->info.library, c->dev->info.library_version);
	out->format = "fp32";
	out->n_cards = 1;
	out->cards = arena_array(ctx->arena, 1, sizeof(*out->cards));
	*out->cards = (struct training_card){.id = SOCKET, .name = c->dev->info.name};
	return true;
}

/* --- groups ------------------------------------------------------------------------------- */

static int64_t in_s(const struct cpus *c, double seconds)
{
	return clock_now(c->node->clock) + (int64_t)(seconds * 1e9);
}

static int64_t soon(const struct cpus *c)
{
	return in_s(c, c->node->ctx->param_real(c->node->ctx, "timeout_s"));
}

static bool cpus_name(struct training_node *node, struct training_answer *out)
{
	(void)node;
	(void)out;
	return true;
}

static bool cpus_join(struct training_node *node, const struct training_order *o)
{
	struct cpus *c = node->self;
	const char *only = node->ctx->param_word(node->ctx, "interface");
	struct error err = {0};

	c->company = *node->ctx;
	c->company.n_peers = o->nodes;
	c->joined = o->nodes;
	if (group_open(&c->company, *only ? only : NULL, soon(c), &c->group, &err) != ST_OK)
		return because_error(node, MSG_group_broke, &err);
	return true;
}

static bool cpus_leave(struct training_node *node)
{
	struct cpus *c = node->self;

	group_close(c->group);
	c->group = NULL;
	c->joined = 0;
	return true;
}

static void cpus_close(struct training_node *node)
{
	struct cpus *c = node->self;
	struct device_buffer *all[] = {&c->in, &c->out, &c->weights, &c->gradients, &c->state};

	cpus_leave(node);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && c->dev; i++)
		c->dev->ops->release(c->dev, all[i]);
	if (c->dev)
		c->dev->ops->close(c->dev);
}

/* --- the check ------------------------------------------------------------------------------ */

/* Whole and small, so that the sum over all is exact; another one for each rank. */
static int value_of(uint64_t turn, int rank, size_t i)
{
	return (int)((i * 7 + (uint64_t)rank * 13 + turn * 5) % VALUES);
}

static enum status sum_buckets(struct cpus *c, struct error *err)
{
	float *data = c->gradients.data;
	enum status st = ST_OK;

	for (int b = 0; b < c->n_buckets && st == ST_OK; b++)
		st = group_all_reduce_float(c->group, data + c->buckets[b].first,
		                            c->buckets[b].count, soon(c), err);
	return st;
}

static bool cpus_check(struct training_node *node, const struct training_order *o,
                       struct training_answer *out)
{
	struct cpus *c = node->self;
	float *data = c->gradients.data, sum[VALUES] = {0};
	uint64_t turn = (uint64_t)o->turn;
	struct error err = {0};

	for (size_t i = 0; i < VALUES; i++)
		for (int r = 0; r < c->joined; r++)
			sum[i] += (float)value_of(turn, r, i);
	for (size_t i = 0; i < c->elements; i++)
		data[i] = (float)value_of(turn, node->ctx->self_index, i);
	if (sum_buckets(c, &err) != ST_OK)
		return because_error(node, MSG_group_broke, &err);
	out->n_cards = 1;
	out->cards = arena_array(node->ctx->arena, 1, sizeof(*out->cards));
	*out->cards = (struct training_card){.id = SOCKET};
	for (size_t i = 0; i < c->elements; i++)
		out->cards[0].wrong += data[i] != sum[i % VALUES];
	out->checked = (double)c->elements;
	return true;
}

/* --- sums beside products --------------------------------------------------------------------- */

static void optimise(struct cpus *c, const struct training_bucket *b)
{
	const float *from = (const float *)c->gradients.data + b->first;
	float *to = (float *)c->state.data + b->first;

	for (size_t i = 0; i < b->count; i++)
		to[i] = from[i] + MOMENTUM * to[i];
}

static void sum_one(struct cpus *c, int b)
{
	struct summing *s = &c->summing;
	float *data = c->gradients.data;

	if (s->sums && s->st == ST_OK)
		s->st = group_all_reduce_float(c->group, data + c->buckets[b].first,
		                               c->buckets[b].count, soon(c), &s->err);
	if (s->optimiser && s->st == ST_OK)
		optimise(c, &c->buckets[b]);
}

static void *sum_all(void *arg)
{
	struct cpus *c = arg;
	struct summing *s = &c->summing;

	for (int b = 0; b < c->n_buckets; b++) {
		bool whole;

		pthread_mutex_lock(&s->lock);
		while (s->ready <= b && !s->closed)
			pthread_cond_wait(&s->more, &s->lock);
		whole = s->ready > b;
		pthread_mutex_unlock(&s->lock);
		if (!whole)
			break;
		sum_one(c, b);
	}
	return NULL;
}

static void tell_ready(struct summing *s, int ready, bool closed)
{
	pthread_mutex_lock(&s->lock);
	s->ready = ready;
	s->closed = closed;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
}

static enum status multiply(struct cpus *c, int m, int k, const struct device_buffer *a,
                            struct device_buffer *result, struct error *err)
{
	int width = c->node->shape.width;
	struct device_gemm job = {.format = NUMBER_FP32,
	                          .m = m,
	                          .n = width,
	                          .k = k,
	                          .a = a,
	                          .b = k == width ? &c->weights : &c->in,
	                          .c = result};
	double seconds;

	return c->dev->ops->gemm(c->dev, &job, 1, &seconds, err);
}

/* Products of a step; buckets are told of as they become whole. */
static enum status work(struct cpus *c, int tokens, bool overlap, struct error *err)
{
	const struct training_shape *shape = &c->node->shape;
	size_t layer = (size_t)shape->width * (size_t)shape->width * sizeof(float);
	enum status st = ST_OK;
	int next = 0;

	for (int pass = 0; pass < shape->accumulate; pass++) {
		for (int l = 0; l < shape->layers && st == ST_OK; l++)
			st = multiply(c, tokens, shape->width, &c->in, &c->out, err);
		for (int l = shape->layers - 1; l >= 0 && st == ST_OK; l--) {
			struct device_buffer gradient = {
				(char *)c->gradients.data + (size_t)l * layer, layer};

			st = multiply(c, tokens, shape->width, &c->in, &c->out, err);
			if (st == ST_OK)
				st = multiply(c, shape->width, tokens, &c->in, &gradient, err);
			while (pass + 1 == shape->accumulate && next < c->n_buckets &&
			       c->buckets[next].layer == l)
				next++;
			if (overlap)
				tell_ready(&c->summing, next, false);
		}
	}
	return st;
}

static enum status one_step(struct cpus *c, const struct training_order *o, double *work_s,
                            struct error *err)
{
	struct summing *s = &c->summing;
	bool overlap = o->mode == TRAINING_OVERLAP || o->mode == TRAINING_ALONE;
	int64_t began = clock_now(c->node->clock);
	enum status st = ST_OK;

	s->ready = 0;
	s->closed = false;
	s->sums = c->joined && o->mode != TRAINING_ALONE && o->mode != TRAINING_PRODUCTS;
	s->optimiser = o->mode != TRAINING_PRODUCTS && o->mode != TRAINING_SUMS;
	if (overlap && pthread_create(&s->thread, NULL, sum_all, c) != 0)
		die_nomem();
	if (o->mode != TRAINING_SUMS)
		st = work(c, o->tokens, overlap, err);
	*work_s = (double)(clock_now(c->node->clock) - began) / 1e9;
	if (overlap) {
		tell_ready(s, st == ST_OK ? c->n_buckets : s->ready, true);
		pthread_join(s->thread, NULL);
	} else if (o->mode != TRAINING_PRODUCTS) {
		for (int b = 0; b < c->n_buckets; b++)
			sum_one(c, b);
	}
	if (st == ST_OK && s->st != ST_OK) {
		*err = s->err;
		s->err = (struct error){0};
	}
	return st == ST_OK ? s->st : st;
}

static enum status all_steps(struct cpus *c, const struct training_order *o,
                             struct training_answer *out, struct samples *works, struct error *err)
{
	enum status st = ST_OK;

	if (o->together && c->joined > 1)
		st = group_barrier(c->group, soon(c), err);
	for (int s = -o->warm; s < o->steps && st == ST_OK; s++) {
		int64_t began = clock_now(c->node->clock);
		double work_s;

		st = one_step(c, o, &work_s, err);
		if (st != ST_OK || s < 0)
			continue;
		out->steps[out->n_steps++] =
			fmax((double)(clock_now(c->node->clock) - began) / 1e9, 1e-9);
		samples_add(works, work_s);
	}
	return st;
}

static bool cpus_run(struct training_node *node, const struct training_order *o,
                     struct training_answer *out)
{
	struct cpus *c = node->self;
	struct probe_ctx *ctx = node->ctx;
	struct samples works = {0};
	struct error err = {0};
	enum status st;

	c->summing = (struct summing){.st = ST_OK};
	pthread_mutex_init(&c->summing.lock, NULL);
	pthread_cond_init(&c->summing.more, NULL);
	out->steps = arena_array(ctx->arena, (size_t)o->steps, sizeof(*out->steps));
	out->n_cards = 1;
	out->cards = arena_array(ctx->arena, 1, sizeof(*out->cards));
	st = all_steps(c, o, out, &works, &err);
	*out->cards = (struct training_card){
		.id = SOCKET, .step_s = st == ST_OK ? median(out->steps, (size_t)o->steps) : 0};
	out->work_s = st == ST_OK ? median(works.value, works.n) : 0;
	samples_release(&works);
	pthread_cond_destroy(&c->summing.more);
	pthread_mutex_destroy(&c->summing.lock);
	return st == ST_OK || because_error(node, MSG_group_broke, &err);
}

const struct training_back training_cpus = {
	.ready = cpus_ready,
	.name = cpus_name,
	.join = cpus_join,
	.check = cpus_check,
	.run = cpus_run,
	.leave = cpus_leave,
	.close = cpus_close,
};
