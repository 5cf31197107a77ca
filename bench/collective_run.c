/* Calls of NCCL on all cards at once, and their time. A window of calls is queued
 * behind a kernel on each card that spins until the host has queued all of it, so
 * that neither calls of the host nor their order among the cards are in the time;
 * one write lets all cards go. A call takes as long as the slowest card. */
#include "collective.h"

#include <math.h>

#include "base/unit.h"

/* As nccl-tests. All of it waits behind the spinning kernel, so there is a limit. */
#define MOST_CALLS 20
/* A host that was stopped for this long while it queued a window. */
#define HOLD_NS 10000000000u
/* Chunks that NCCL moves begin at whole lines. */
#define LINE_WORDS 16

static const struct {
	const char *name;
	bool parted; /* the size is that of all ranks' parts together */
	bool in_place;
	double factor; /* of (n - 1) / n; 0: busbw is algbw */
} ops[COLLECTIVE_OPS] = {
	[OP_ALL_REDUCE] = {"all-reduce", false, true, 2},
	[OP_ALL_GATHER] = {"all-gather", true, true, 1},
	[OP_REDUCE_SCATTER] = {"reduce-scatter", true, true, 1},
	[OP_ALL_TO_ALL] = {"all-to-all", true, false, 1},
	[OP_BROADCAST] = {"broadcast", false, false, 0},
	[OP_SEND_RECV] = {"send-receive", false, false, 0},
	[OP_PAIR] = {"send to one card", false, false, 0},
};

const char *collective_op_name(enum collective_op op)
{
	return ops[op].name;
}

double collective_bus_factor(enum collective_op op, int n)
{
	return ops[op].factor > 0 ? ops[op].factor * (n - 1) / n : 1;
}

bool collective_job_make(struct collective_job *job, enum collective_op op, int n, uint64_t bytes)
{
	uint64_t parts = ops[op].parted ? (uint64_t)n : 1, words = bytes / sizeof(uint64_t) / parts;

	if (words >= LINE_WORDS)
		words -= words % LINE_WORDS;
	*job = (struct collective_job){
		.op = op, .words = words, .bytes = words * parts * sizeof(uint64_t)};
	return words > 0;
}

/* --- one call ---------------------------------------- */

static nccl_result exchange(struct collective *c, const struct collective_job *job, int r, int to,
                            int from)
{
	const struct nccl_calls *call = &c->nccl.call;
	bool parted = job->op == OP_ALL_TO_ALL;
	uint64_t step = job->words * sizeof(uint64_t);
	cu_ptr out = collective_from(c, job, r) + (parted ? (uint64_t)to * step : 0);
	cu_ptr in = collective_to(c, job, r) + (parted ? (uint64_t)from * step : 0);
	cu_stream stream = c->team.cards[r].dev->stream;
	nccl_result code = NCCL_OK;

	if (to >= 0)
		code = call->send((const void *)(uintptr_t)out, job->words, NCCL_UINT64, to,
		                  c->rank[r].comm, stream);
	if (from >= 0 && (code == NCCL_OK || code == NCCL_IN_PROGRESS))
		code = call->recv((void *)(uintptr_t)in, job->words, NCCL_UINT64, from,
		                  c->rank[r].comm, stream);
	return code;
}

static nccl_result queue_rank(struct collective *c, const struct collective_job *job, int r)
{
	const struct nccl_calls *call = &c->nccl.call;
	const void *from = (const void *)(uintptr_t)collective_from(c, job, r);
	void *to = (void *)(uintptr_t)collective_to(c, job, r);
	cu_stream stream = c->team.cards[r].dev->stream;
	nccl_comm comm = c->rank[r].comm;
	nccl_result code = NCCL_OK;

	switch (job->op) {
	case OP_ALL_REDUCE:
		return call->all_reduce(from, to, job->words, NCCL_UINT64, NCCL_SUM, comm, stream);
	case OP_ALL_GATHER:
		return call->all_gather(from, to, job->words, NCCL_UINT64, comm, stream);
	case OP_REDUCE_SCATTER:
		return call->reduce_scatter(from, to, job->words, NCCL_UINT64, NCCL_SUM, comm,
		                            stream);
	case OP_BROADCAST:
		return call->broadcast(from, to, job->words, NCCL_UINT64, job->root, comm, stream);
	case OP_SEND_RECV:
		return exchange(c, job, r, (r + 1) % c->n, (r + c->n - 1) % c->n);
	case OP_PAIR:
		return exchange(c, job, r, r == job->from ? job->to : -1,
		                r == job->to ? job->from : -1);
	default:
		for (int p = 0; p < c->n && (code == NCCL_OK || code == NCCL_IN_PROGRESS); p++)
			code = exchange(c, job, r, p, p);
		return code;
	}
}

/* In a group, or the first rank would wait for those this thread has yet to call. */
static enum status queue_call(struct collective *c, const struct collective_job *job,
                              struct error *err)
{
	struct nccl *nccl = &c->nccl;
	enum status st, ended;

	st = nccl_check(nccl, NULL, nccl->call.group_start(), "ncclGroupStart", err);
	if (st != ST_OK)
		return st;
	for (int r = 0; r < c->n && st == ST_OK; r++) {
		st = team_use(&c->team, r, err);
		if (st == ST_OK)
			st = nccl_check(nccl, c->rank[r].comm, queue_rank(c, job, r),
			                ops[job->op].name, err);
	}
	ended = nccl_check(nccl, NULL, nccl->call.group_end(), "ncclGroupEnd", err);
	/* Only then is it in the streams, and an event after it. */
	return st != ST_OK      ? st
	       : ended != ST_OK ? ended
	                        : collective_settle(c, ops[job->op].name, err);
}

/* --- windows ---------------------------------------- */

static enum status hold_all(struct collective *c, uint32_t number, struct error *err)
{
	uint64_t limit = HOLD_NS;
	enum status st = ST_OK;

	*c->shared.expired = 0;
	for (int r = 0; r < c->n && st == ST_OK; r++) {
		struct device_cuda *dev = c->team.cards[r].dev;
		cu_ptr flag = c->rank[r].flags, expired = flag + sizeof(uint32_t);

		st = team_use(&c->team, r, err);
		if (st == ST_OK)
			st = device_cuda_single(dev, c->rank[r].spin,
			                        (void *[]){&flag, &number, &limit, &expired}, err);
	}
	return st;
}

/* An event in every card's stream. */
static enum status mark(struct collective *c, bool end, struct error *err)
{
	enum status st = ST_OK;

	for (int r = 0; r < c->n && st == ST_OK; r++) {
		struct device_cuda *dev = c->team.cards[r].dev;

		st = team_use(&c->team, r, err);
		if (st == ST_OK)
			st = CUDA_TRY(&c->team.cuda, err, event_record, end ? dev->end : dev->begin,
			              dev->stream);
	}
	return st;
}

/* Queues a sum of one element among all ranks: what follows begins on all nodes at
 * about the same moment, whenever their hosts let them go. */
static enum status queue_barrier(struct collective *c, struct error *err)
{
	struct nccl *nccl = &c->nccl;
	enum status st, ended;

	st = nccl_check(nccl, NULL, nccl->call.group_start(), "ncclGroupStart", err);
	if (st != ST_OK)
		return st;
	for (int r = 0; r < c->n && st == ST_OK; r++) {
		/* Overwritten before it is used. */
		void *at = (void *)(uintptr_t)c->rank[r].checks;
		nccl_result code;

		st = team_use(&c->team, r, err);
		if (st != ST_OK)
			break;
		code = nccl->call.all_reduce(at, at, 1, NCCL_UINT64, NCCL_SUM, c->rank[r].comm,
		                             c->team.cards[r].dev->stream);
		st = nccl_check(nccl, c->rank[r].comm, code, "ncclAllReduce", err);
	}
	ended = nccl_check(nccl, NULL, nccl->call.group_end(), "ncclGroupEnd", err);
	return st != ST_OK      ? st
	       : ended != ST_OK ? ended
	                        : collective_settle(c, "ncclAllReduce", err);
}

struct window_time {
	double slowest_s, fastest_s; /* of all calls */
	int slowest;                 /* rank */
	bool expired;
};

static enum status take_times(struct collective *c, const struct collective_job *job,
                              struct window_time *t, struct error *err)
{
	enum status st = ST_OK;

	*t = (struct window_time){0, INFINITY, 0, *c->shared.expired != 0};
	for (int r = 0; r < c->n && st == ST_OK; r++) {
		struct device_cuda *dev = c->team.cards[r].dev;
		float ms = 0;

		if (job->op == OP_PAIR && r != job->from && r != job->to)
			continue;
		st = team_use(&c->team, r, err);
		if (st == ST_OK)
			st = CUDA_TRY(&c->team.cuda, err, event_elapsed, &ms, dev->begin, dev->end);
		t->fastest_s = fmin(t->fastest_s, (double)ms / 1e3);
		if ((double)ms / 1e3 > t->slowest_s) {
			t->slowest_s = (double)ms / 1e3;
			t->slowest = r;
		}
	}
	return st;
}

static enum status run_window(struct collective *c, const struct collective_job *job, int calls,
                              struct window_time *t, struct error *err)
{
	uint32_t number = *c->shared.go + 1;
	enum status st = hold_all(c, number, err);

	if (st == ST_OK && c->others)
		st = queue_barrier(c, err);
	if (st == ST_OK)
		st = mark(c, false, err);
	for (int i = 0; i < calls && st == ST_OK; i++)
		st = queue_call(c, job, err);
	if (st == ST_OK)
		st = mark(c, true, err);
	/* Also after an error: nothing may be left spinning. */
	*c->shared.go = number;
	if (st == ST_OK)
		st = collective_wait(c, ops[job->op].name, err);
	return st == ST_OK ? take_times(c, job, t, err) : st;
}

/* Fresh data, one call of its own, and what came of it. */
static enum status checked_call(struct collective *c, const struct collective_job *job,
                                uint64_t *wrong, struct error *err)
{
	enum status st = collective_prepare(c, job, err);

	if (st == ST_OK)
		st = queue_call(c, job, err);
	return st == ST_OK ? collective_check(c, job, wrong, err) : st;
}

/* Repeated in place, a reduction adds to its own result: that call is checked
 * apart. */
static enum status checked_window(struct collective *c, struct collective_point *p,
                                  const struct collective_job *job, int index,
                                  struct samples *seconds, struct error *err)
{
	uint64_t wrong = 0;
	struct window_time t;
	enum status st = collective_prepare(c, job, err);

	if (st == ST_OK)
		st = collective_wait(c, ops[job->op].name, err);
	if (st == ST_OK)
		st = run_window(c, job, p->calls, &t, err);
	if (st == ST_OK)
		st = job->in_place ? checked_call(c, job, &wrong, err)
		                   : collective_check(c, job, &wrong, err);
	if (st != ST_OK)
		return st;
	p->wrong |= wrong > 0;
	c->expired += t.expired;
	if (!t.expired &&
	    (!(t.slowest_s > 0) || samples_add(seconds, t.slowest_s / p->calls) != ST_OK))
		return error_set(err, ST_RANGE, MSG_device_no_time, collective_name(c, t.slowest));
	if (p->raw)
		str_addf(p->raw, "%s,%llu,%d,%d,%d,%.9g,%s,%.9g\n", ops[job->op].name,
		         (unsigned long long)job->bytes, job->in_place, index, p->calls,
		         t.slowest_s, c->team.cards[t.slowest].id, t.fastest_s);
	return ST_OK;
}

/* --- a size ---------------------------------------- */

/* On slow links fewer calls have to do: a step that takes too long counts as hung. */
static bool time_left(const struct collective *c, int64_t begun_ns)
{
	return clock_now(c->ctx->clock) - begun_ns < c->timeout_ns / 2;
}

/* The first call connects cards and loads code, which may not wait behind a
 * kernel that waits for us; the second tells how many fill a window. */
static enum status warm_up(struct collective *c, struct collective_point *p,
                           const struct collective_job *job, int64_t begun_ns, struct error *err)
{
	struct window_time t = {0};
	uint64_t wrong = 0;
	enum status st = ST_OK;

	if (!job->in_place)
		collective_log_mark(c->log);
	for (int i = 0; i < p->checks && st == ST_OK && (i == 0 || time_left(c, begun_ns)); i++) {
		st = checked_call(c, job, &wrong, err);
		p->wrong |= wrong > 0;
	}
	if (st != ST_OK || job->in_place)
		return st;
	p->algorithm = collective_log_algorithm(c->log, c->ctx->arena);
	st = run_window(c, job, 1, &t, err);
	p->calls = t.slowest_s > 0 ? (int)fmin(fmax(p->window_s / t.slowest_s, 1), MOST_CALLS)
	                           : MOST_CALLS;
	return st;
}

enum status collective_measure(struct collective *c, struct collective_point *p, struct error *err)
{
	struct collective_job in_place = p->job;
	struct samples seconds = {0};
	int64_t begun = clock_now(c->ctx->clock);
	enum status st = warm_up(c, p, &p->job, begun, err);

	p->in_place_s = NAN;
	for (int i = 0; i < p->windows && st == ST_OK && (i == 0 || time_left(c, begun)); i++)
		st = checked_window(c, p, &p->job, i, &p->seconds, err);
	if (st == ST_OK && p->windows > 0 && p->seconds.n == 0)
		st = error_set(err, ST_RANGE, MSG_collective_held, ops[p->job.op].name,
		               fmt_bytes((int64_t)p->job.bytes));
	in_place.in_place = true;
	if (st == ST_OK && ops[p->job.op].in_place)
		st = warm_up(c, p, &in_place, begun, err);
	for (int i = 0; i < p->in_place_windows && ops[p->job.op].in_place && st == ST_OK &&
	                time_left(c, begun);
	     i++)
		st = checked_window(c, p, &in_place, i, &seconds, err);
	if (st == ST_OK && seconds.n)
		p->in_place_s = median(seconds.value, seconds.n);
	samples_release(&seconds);
	return st;
}

/* --- with other nodes ---------------------------------------- */

/* As many calls on each node, whatever they take here. */
enum status collective_try(struct collective *c, struct collective_point *p, double *seconds,
                           struct error *err)
{
	struct window_time t = {0};
	uint64_t wrong = 0;
	enum status st;

	collective_log_mark(c->log);
	st = queue_barrier(c, err);
	for (int i = 0; i < p->checks && st == ST_OK; i++) {
		st = checked_call(c, &p->job, &wrong, err);
		p->wrong |= wrong > 0;
	}
	p->algorithm = collective_log_algorithm(c->log, c->ctx->arena);
	if (st == ST_OK)
		st = run_window(c, &p->job, 1, &t, err);
	*seconds = t.slowest_s;
	return st;
}

enum status collective_time(struct collective *c, struct collective_point *p, double *seconds,
                            struct error *err)
{
	enum status st = ST_OK;
	double longest_s = 0;

	for (int i = 0; i < p->windows && st == ST_OK; i++) {
		struct window_time t;
		uint64_t wrong = 0;

		st = collective_prepare(c, &p->job, err);
		if (st == ST_OK)
			st = collective_wait(c, ops[p->job.op].name, err);
		if (st == ST_OK)
			st = run_window(c, &p->job, p->calls, &t, err);
		if (st == ST_OK)
			st = collective_check(c, &p->job, &wrong, err);
		if (st != ST_OK)
			break;
		p->wrong |= wrong > 0;
		c->expired += t.expired;
		seconds[i] = !t.expired && t.slowest_s > 0 ? t.slowest_s / p->calls : NAN;
		if (!(seconds[i] > longest_s))
			continue;
		longest_s = seconds[i];
		p->slowest = t.slowest;
	}
	return st;
}
