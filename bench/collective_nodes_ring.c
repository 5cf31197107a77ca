/* The same orders without cards: sums of the hosts round a TCP ring of the members.
 * It shows that groups of nodes form, add up rightly and at what rate of sockets; it
 * says nothing of NCCL or RDMA, and is labelled so. */
#include "collective_nodes.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/str.h"

#define LEAST_RATE 1e7 /* B/s of the ring; slower is silent */
#define MEET_S     20

/* Group calls see only the members, and speak to them by their places among them. */
struct nodes_ring {
	struct probe_ctx inner;
	struct probe_ctx *outer;
	int *members;
	struct group *group;
	float *data;
	size_t room; /* elements */
	uint32_t turn;
	uint64_t checked, wrong, first;
	uint64_t first_bytes;
};

static enum status send_inner(struct probe_ctx *ctx, int to, const char *text)
{
	const struct nodes_ring *r = ctx->self;

	return r->outer->send_text(r->outer, r->members[to], text);
}

static enum status recv_inner(struct probe_ctx *ctx, int from, double seconds, const char **text)
{
	const struct nodes_ring *r = ctx->self;

	return r->outer->recv_text(r->outer, r->members[from], seconds, text);
}

/* --- data --------------------------------------------------------------------------- */

/* From -512 to 511, and a node's place among the members: up to 4,096 of them their
 * sum is whole and below 2^24, so that a float holds it whatever the order. */
static int term(const struct nodes_ring *r, uint64_t k)
{
	uint64_t h = (r->outer->seed ^ k ^ (uint64_t)r->turn << 32) * 0x9e3779b97f4a7c15ULL;

	h ^= h >> 32;
	return (int)(h * 0xbf58476d1ce4e5b9ULL >> 54) - 512;
}

static void fill(struct nodes_ring *r, size_t count)
{
	r->turn++;
	for (size_t k = 0; k < count; k++)
		r->data[k] = (float)(term(r, k) + r->inner.self_index);
}

static void check(struct nodes_ring *r, size_t count)
{
	int n = r->inner.n_peers, places = n * (n - 1) / 2;

	for (size_t k = 0; k < count; k++) {
		if (r->data[k] == (float)n * (float)term(r, k) + (float)places)
			continue;
		if (r->wrong++ == 0) {
			r->first = k;
			r->first_bytes = count * sizeof(float);
		}
	}
	r->checked += count;
}

/* --- calls ------------------------------------------------------------------------------ */

static int64_t in_s(const struct nodes_ring *r, double seconds)
{
	return clock_now(r->outer->clock) + (int64_t)(seconds * 1e9);
}

static enum status one_call(struct nodes_ring *r, size_t count, double *seconds, struct error *err)
{
	double timeout_s = r->outer->param_real(r->outer, "timeout_s");
	double bytes = (double)(count * sizeof(float));
	int64_t began;
	enum status st;

	fill(r, count);
	st = group_barrier(r->group, in_s(r, timeout_s), err);
	if (st != ST_OK)
		return st;
	began = clock_now(r->outer->clock);
	st = group_all_reduce_float(r->group, r->data, count,
	                            in_s(r, timeout_s + 2 * bytes / LEAST_RATE), err);
	*seconds = (double)(clock_now(r->outer->clock) - began) / 1e9;
	if (st == ST_OK)
		check(r, count);
	return st;
}

static enum status calls(struct nodes_ring *r, size_t count, int n, double *mean_s,
                         struct error *err)
{
	double sum = 0, one = 0;
	enum status st = ST_OK;

	for (int i = 0; i < n && st == ST_OK; i++) {
		st = one_call(r, count, &one, err);
		sum += one;
	}
	*mean_s = sum / n;
	return st;
}

static enum status windows(struct nodes_bench *b, const struct nodes_order *o, size_t count,
                           struct nodes_answer *a, struct error *err)
{
	double *seconds = arena_array(b->ctx->arena, (size_t)o->windows, sizeof(*seconds));
	enum status st = ST_OK;

	for (int i = 0; i < o->windows && st == ST_OK; i++)
		st = calls(b->hosts, count, o->calls, &seconds[i], err);
	a->windows = seconds;
	a->n_windows = o->windows;
	return st;
}

/* --- joining -------------------------------------------------------------------------------- */

static enum status join(struct nodes_bench *b, const struct nodes_order *o, struct error *err)
{
	struct probe_ctx *ctx = b->ctx;
	struct nodes_ring *r = arena_alloc(ctx->arena, sizeof(*r));
	const char **peers = arena_array(ctx->arena, (size_t)o->n_members, sizeof(*peers));
	const char *only = ctx->param_word(ctx, "interface");

	nodes_ring_end(b);
	b->hosts = r;
	r->outer = ctx;
	r->inner = *ctx;
	r->inner.self = r;
	r->inner.send_text = send_inner;
	r->inner.recv_text = recv_inner;
	r->inner.peers = peers;
	r->inner.n_peers = o->n_members;
	r->inner.self_index = -1;
	r->members = arena_array(ctx->arena, (size_t)o->n_members, sizeof(*r->members));
	for (int i = 0; i < o->n_members; i++) {
		r->members[i] = o->members[i];
		peers[i] = ctx->peers[o->members[i]];
		if (o->members[i] == ctx->self_index)
			r->inner.self_index = i;
	}
	if (r->inner.self_index < 0)
		return error_set(err, ST_PARSE, MSG_collective_nodes_garbled);
	r->turn = (uint32_t)o->turn << 16;
	r->room = (size_t)ctx->param_int(ctx, "host_size") / sizeof(float);
	r->data = malloc(r->room * sizeof(float));
	if (!r->data)
		die_nomem();
	return group_open(&r->inner, *only ? only : NULL, in_s(r, MEET_S), &r->group, err);
}

void nodes_ring_end(struct nodes_bench *b)
{
	if (!b->hosts)
		return;
	group_close(b->hosts->group);
	free(b->hosts->data);
	b->hosts = NULL;
}

/* --- orders ------------------------------------------------------------------------------------ */

static enum status carry_out(struct nodes_bench *b, const struct nodes_order *o,
                             struct nodes_answer *a, struct error *err)
{
	struct nodes_ring *r = b->hosts;
	size_t count = (size_t)(o->bytes / sizeof(float));
	bool sums = o->step == NODES_TRY || o->step == NODES_TIME;

	if (sums && (!r || !r->group || count > r->room))
		return error_set(err, ST_PARSE, MSG_collective_nodes_garbled);
	switch (o->step) {
	case NODES_JOIN:
		return join(b, o, err);
	case NODES_TRY:
		return calls(r, count, o->checks, &a->seconds, err);
	case NODES_TIME:
		return windows(b, o, count, a, err);
	case NODES_LEAVE:
		nodes_ring_end(b);
		return ST_OK;
	default:
		return ST_OK;
	}
}

static void refuse(struct nodes_bench *b, const struct nodes_order *o, const struct error *err,
                   struct nodes_answer *a)
{
	const struct nodes_ring *r = b->hosts;
	int blamed = r && r->group ? group_blamed(r->group) : -1;

	a->outcome = err->status == ST_CORRUPT || err->status == ST_PARSE ? OUTCOME_FAILED
	             : err->status == ST_TIMEOUT && o->step != NODES_JOIN ? OUTCOME_TIMED_OUT
	                                                                  : OUTCOME_NOT_MEASURED;
	a->why = arena_str(b->ctx->arena, str_text(&err->text));
	a->blamed = blamed >= 0 ? r->members[blamed] : -1;
}

void nodes_ring_do(struct nodes_bench *b, const struct nodes_order *o, struct nodes_answer *a)
{
	struct nodes_ring *r;
	struct error err = {0};

	if (b->hosts)
		b->hosts->checked = b->hosts->wrong = 0;
	if (carry_out(b, o, a, &err) != ST_OK)
		refuse(b, o, &err, a);
	r = b->hosts;
	if (r) {
		a->checked = (int64_t)r->checked;
		a->wrong = (int64_t)r->wrong;
		if (r->wrong)
			a->wrong_at = arena_str(
				b->ctx->arena, say(MSG_collective_nodes_host_wrong_at,
			                           tmpf("%llu", (unsigned long long)r->first_bytes),
			                           tmpf("%llu", (unsigned long long)r->first)));
	}
	error_release(&err);
}
