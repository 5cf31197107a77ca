/* The calls of a group, each as a stream of items to the right. Sums go once round
 * the ring while they grow and once more when they are whole, cut in chunks, so that
 * every node sends and receives all the time. */
#include "group_ring.h"

#include <stdlib.h>
#include <string.h>

static int around(const struct group *g, int64_t index)
{
	return (int)((index % g->n + g->n) % g->n);
}

/* --- together and apart --------------------------------------------------------------- */

/* Item k is the arrival of the k-th node to the left, our own first: who misses one
 * knows that all up to there have come. */
static const void *give_arrival(struct group *g, struct group_job *job, struct group_head *head)
{
	head->peer = around(g, g->self - (int64_t)job->sent);
	return NULL;
}

static bool take_arrival(struct group *g, struct group_job *job, const struct group_head *head)
{
	return head->size == 0 && head->peer == around(g, g->self - 1 - (int64_t)job->received);
}

static enum status arrive(struct group *g, enum group_kind kind, int64_t deadline_ns,
                          struct error *err)
{
	uint64_t others = (uint64_t)g->n - 1;
	struct group_job job = {.kind = kind,
	                        .to_send = others,
	                        .to_recv = others,
	                        .lead = 1,
	                        .give = give_arrival,
	                        .take = take_arrival};

	return group_turn(g, &job, deadline_ns, err);
}

enum status group_barrier(struct group *g, int64_t deadline_ns, struct error *err)
{
	return arrive(g, GROUP_BARRIER, deadline_ns, err);
}

enum status group_open(struct probe_ctx *ctx, const char *interface, int64_t deadline_ns,
                       struct group **group, struct error *err)
{
	struct group *g = arena_alloc(ctx->arena, sizeof(*g));
	int64_t began = clock_now(ctx->clock);

	*g = (struct group){.ctx = ctx,
	                    .n = ctx->n_peers,
	                    .self = ctx->self_index,
	                    .left_fd = -1,
	                    .right_fd = -1};
	g->left = around(g, g->self - 1);
	g->right = around(g, g->self + 1);
	*group = g;
	if (g->n == 1)
		return ST_OK;
	if (deadline_ns > ctx->deadline_ns)
		deadline_ns = ctx->deadline_ns;
	g->chunk = malloc(GROUP_CHUNK);
	if (!g->chunk)
		die_nomem();
	/* Those who have met need time to hear who has not. */
	if (!group_meet(g, interface, began + (deadline_ns - began) / 2))
		return group_say(g, err);
	return arrive(g, GROUP_JOIN, deadline_ns, err);
}

void group_close(struct group *g)
{
	if (!g)
		return;
	group_bye(g);
	free(g->chunk);
	g->chunk = NULL;
}

int group_blamed(const struct group *g)
{
	return g->trouble.why == GROUP_WELL ? -1 : g->trouble.peer;
}

struct net_address group_end(const struct group *g)
{
	return g->end;
}

/* --- sums ------------------------------------------------------------------------------- */

/* A place in the stream: the segment of this step, and the element in it. */
struct cursor {
	int step, first; /* segment of step 0; each step is about the one to its left */
	size_t at;
};

struct reduce {
	unsigned char *data;
	size_t count, width;
	struct cursor out, in;
	void (*add)(void *sum, const void *more, size_t count);
};

static void add_float(void *sum, const void *more, size_t count)
{
	const float *from = more;
	float *to = sum;

	for (size_t i = 0; i < count; i++)
		to[i] = from[i] + to[i];
}

static void add_double(void *sum, const void *more, size_t count)
{
	const double *from = more;
	double *to = sum;

	for (size_t i = 0; i < count; i++)
		to[i] = from[i] + to[i];
}

static size_t segment_len(const struct group *g, size_t count, int segment)
{
	size_t n = (size_t)g->n;

	return count / n + ((size_t)segment < count % n);
}

static size_t segment_start(const struct group *g, size_t count, int segment)
{
	size_t n = (size_t)g->n, s = (size_t)segment, longer = count % n;

	return s * (count / n) + (s < longer ? s : longer);
}

/* The chunk at the cursor, which moves on behind it. */
static unsigned char *next_chunk(const struct group *g, const struct reduce *r, struct cursor *c,
                                 size_t *elements)
{
	size_t most = GROUP_CHUNK / r->width, len, at;
	int segment = around(g, c->first - c->step);

	while (c->at == segment_len(g, r->count, segment)) {
		c->step++;
		c->at = 0;
		segment = around(g, c->first - c->step);
	}
	len = segment_len(g, r->count, segment) - c->at;
	at = segment_start(g, r->count, segment) + c->at;
	*elements = len < most ? len : most;
	c->at += *elements;
	return r->data + at * r->width;
}

static const void *give_sum(struct group *g, struct group_job *job, struct group_head *head)
{
	struct reduce *r = job->arg;
	size_t elements;
	const void *bytes = next_chunk(g, r, &r->out, &elements);

	head->size = (uint32_t)(elements * r->width);
	return bytes;
}

static bool take_sum(struct group *g, struct group_job *job, const struct group_head *head)
{
	struct reduce *r = job->arg;
	size_t elements;
	unsigned char *to = next_chunk(g, r, &r->in, &elements);

	if (head->size != elements * r->width)
		return false;
	/* The first time round they are parts, the second time whole. */
	if (r->in.step < g->n - 1)
		r->add(to, g->chunk, elements);
	else
		memcpy(to, g->chunk, head->size);
	return true;
}

static uint64_t chunks(const struct group *g, const struct reduce *r, int segment)
{
	size_t most = GROUP_CHUNK / r->width;

	return (segment_len(g, r->count, around(g, segment)) + most - 1) / most;
}

static enum status all_reduce(struct group *g, struct reduce *r, int64_t deadline_ns,
                              struct error *err)
{
	struct group_job job = {.kind = GROUP_ALL_REDUCE,
	                        .shape = r->count,
	                        .more = (uint32_t)r->width,
	                        .lead = chunks(g, r, g->self),
	                        .give = give_sum,
	                        .take = take_sum,
	                        .arg = r};

	/* What is received is what is sent one step later. */
	r->out.first = g->self;
	r->in.first = g->self - 1;
	for (int step = 0; step < 2 * (g->n - 1); step++) {
		job.to_send += chunks(g, r, r->out.first - step);
		job.to_recv += chunks(g, r, r->in.first - step);
	}
	return group_turn(g, &job, deadline_ns, err);
}

enum status group_all_reduce_float(struct group *g, float *data, size_t count, int64_t deadline_ns,
                                   struct error *err)
{
	struct reduce r = {.data = (unsigned char *)data,
	                   .count = count,
	                   .width = sizeof(*data),
	                   .add = add_float};

	return all_reduce(g, &r, deadline_ns, err);
}

enum status group_all_reduce_double(struct group *g, double *data, size_t count,
                                    int64_t deadline_ns, struct error *err)
{
	struct reduce r = {.data = (unsigned char *)data,
	                   .count = count,
	                   .width = sizeof(*data),
	                   .add = add_double};

	return all_reduce(g, &r, deadline_ns, err);
}
