/* Steps on the cards of a node. Products go into the card's stream, sums and what
 * follows them into a second one; events tie them, and the step ends when both have.
 * Work is queued layer by layer over all cards, so that no card's queue can fill up
 * while another one's half of a sum is still to come. */
#include <math.h>

#include "base/clock.h"
#include "base/unit.h"
#include "kernels/kernels.h"
#include "training_cards.h"

#define MOMENTUM 0.5

/* Pauses between two looks at a step, growing: well below one that is worth timing. */
#define FIRST_LOOK_NS 20000
#define MOST_LOOK_NS  1000000

/* Runs `queue` on each card. */
typedef enum status card_work_fn(struct cards *t, int card, const void *arg, struct error *err);
static enum status each_card(struct cards *t, card_work_fn *queue, const void *arg,
                             struct error *err)
{
	enum status st = ST_OK;

	for (int i = 0; i < t->c.n && st == ST_OK; i++) {
		st = team_use(&t->c.team, i, err);
		if (st == ST_OK)
			st = queue(t, i, arg, err);
	}
	return st;
}

/* --- sums ---------------------------------------------------------------------------------- */

/* The second stream goes on when all that the first one was given is done. */
static enum status follow_products(struct cards *t, int card, const void *arg, struct error *err)
{
	struct cuda *cuda = &t->c.team.cuda;
	struct card_work *w = &t->work[card];
	enum status st =
		CUDA_TRY(cuda, err, event_record, w->whole, t->c.team.cards[card].dev->stream);

	(void)arg;
	return st == ST_OK ? CUDA_TRY(cuda, err, stream_wait, w->sums, w->whole, 0) : st;
}

/* … and the first one waits for the second. */
static enum status follow_sums(struct cards *t, int card, const void *arg, struct error *err)
{
	struct cuda *cuda = &t->c.team.cuda;
	struct card_work *w = &t->work[card];
	enum status st = CUDA_TRY(cuda, err, event_record, w->summed, w->sums);

	(void)arg;
	return st == ST_OK ? CUDA_TRY(cuda, err, stream_wait, t->c.team.cards[card].dev->stream,
	                              w->summed, 0)
	                   : st;
}

struct sum {
	const struct training_bucket *bucket;
	nccl_type type;
	size_t per_word; /* elements of a gradient in one that is summed */
};

static enum status reduce_card(struct cards *t, int card, const void *arg, struct error *err)
{
	const struct sum *s = arg;
	struct nccl *nccl = &t->c.nccl;
	void *at = (char *)t->work[card].gradients.data +
	           s->bucket->first * number_format_bytes(t->format);
	nccl_comm comm = t->c.rank[card].comm;

	return nccl_check(nccl, comm,
	                  nccl->call.all_reduce(at, at, s->bucket->count / s->per_word, s->type,
	                                        NCCL_SUM, comm, t->work[card].sums),
	                  "ncclAllReduce", err);
}

enum status training_queue_sum(struct cards *t, const struct training_bucket *b, nccl_type type,
                               size_t per_word, struct error *err)
{
	const struct sum s = {b, type, per_word};
	struct nccl *nccl = &t->c.nccl;
	enum status st = each_card(t, follow_products, NULL, err), ended;

	if (st == ST_OK)
		st = nccl_check(nccl, NULL, nccl->call.group_start(), "ncclGroupStart", err);
	if (st != ST_OK)
		return st;
	st = each_card(t, reduce_card, &s, err);
	ended = nccl_check(nccl, NULL, nccl->call.group_end(), "ncclGroupEnd", err);
	if (st == ST_OK)
		st = ended;
	return st == ST_OK ? collective_settle(&t->c, "ncclAllReduce", err) : st;
}

enum status training_await_sums(struct cards *t, struct error *err)
{
	return each_card(t, follow_sums, NULL, err);
}

/* state = gradient + momentum x state, in the second stream. */
static enum status optimise_card(struct cards *t, int card, const void *arg, struct error *err)
{
	const struct training_bucket *b = arg;
	struct device_cuda *dev = t->c.team.cards[card].dev;
	struct card_work *w = &t->work[card];
	size_t element = number_format_bytes(t->format), bytes = b->count * element;
	cu_ptr state = device_cuda_address(&w->state);
	cu_ptr from = device_cuda_address(&w->gradients) + b->first * element;
	uint64_t pairs = bytes / sizeof(struct double2s);
	double momentum = MOMENTUM;

	/* Whole units of 16 bytes; what is beyond is less than one. */
	from -= from % sizeof(struct double2s);
	if (pairs == 0)
		return ST_OK;
	return CUDA_TRY(&t->c.team.cuda, err, launch, w->triad,
	                (unsigned)(dev->card.sm_count * dev->code.blocks_per_sm), 1, 1,
	                (unsigned)dev->code.threads, 1, 1, 0, w->sums,
	                (void *[]){&state, &from, &state, &momentum, &pairs}, NULL);
}

static enum status end_bucket(struct cards *t, const struct training_order *o, int b,
                              struct error *err)
{
	nccl_type type = t->format == NUMBER_BF16 ? NCCL_BF16 : NCCL_FP16;
	enum status st;

	if (o->mode == TRAINING_PRODUCTS)
		return ST_OK;
	if (o->mode == TRAINING_ALONE)
		st = each_card(t, follow_products, NULL, err);
	else
		st = training_queue_sum(t, &t->buckets[b], type, 1, err);
	if (st != ST_OK || o->mode == TRAINING_SUMS)
		return st;
	return each_card(t, optimise_card, &t->buckets[b], err);
}

/* --- products --------------------------------------------------------------------------------- */

struct product {
	int m, k, layer;
	bool gradient; /* the layer's; else rows */
};

static enum status multiply_card(struct cards *t, int card, const void *arg, struct error *err)
{
	const struct product *p = arg;
	struct card_work *w = &t->work[card];
	size_t width = (size_t)t->node->shape.width;
	size_t layer = width * width * number_format_bytes(t->format);
	struct device_buffer weights = {(char *)w->weights.data + (size_t)p->layer * layer, layer};
	struct device_buffer gradient = {(char *)w->gradients.data + (size_t)p->layer * layer,
	                                 layer};
	struct device_gemm job = {.format = t->format,
	                          .m = p->m,
	                          .n = (int)width,
	                          .k = p->k,
	                          .a = &w->in,
	                          .b = p->gradient ? &w->in : &weights,
	                          .c = p->gradient ? &gradient : &w->out};

	return device_cuda_gemm(t->c.team.cards[card].dev, &job, err);
}

static enum status backward(struct cards *t, const struct training_order *o, bool last, int *next,
                            struct error *err)
{
	int width = t->node->shape.width;
	enum status st = ST_OK;

	for (int l = t->node->shape.layers - 1; l >= 0 && st == ST_OK; l--) {
		st = each_card(t, multiply_card, &(struct product){o->tokens, width, l, false},
		               err);
		if (st == ST_OK)
			st = each_card(t, multiply_card,
			               &(struct product){width, o->tokens, l, true}, err);
		while (last && o->mode != TRAINING_SERIAL && *next < t->n_buckets &&
		       t->buckets[*next].layer == l && st == ST_OK)
			st = end_bucket(t, o, (*next)++, err);
	}
	return st;
}

static enum status products(struct cards *t, const struct training_order *o, int *next,
                            struct error *err)
{
	int width = t->node->shape.width, passes = t->node->shape.accumulate;
	enum status st = ST_OK;

	for (int pass = 0; pass < passes && st == ST_OK; pass++) {
		for (int l = 0; l < t->node->shape.layers && st == ST_OK; l++)
			st = each_card(t, multiply_card,
			               &(struct product){o->tokens, width, l, false}, err);
		if (st == ST_OK)
			st = backward(t, o, pass + 1 == passes, next, err);
	}
	return st;
}

/* --- steps -------------------------------------------------------------------------------------- */

static enum status mark(struct cards *t, int card, const void *arg, struct error *err)
{
	const size_t *offset = arg;
	const char *events = (const char *)&t->work[card];

	return CUDA_TRY(&t->c.team.cuda, err, event_record, *(const cu_event *)(events + *offset),
	                t->c.team.cards[card].dev->stream);
}

#define MARK(t, slot, member, err)                                                                 \
	each_card(t, mark,                                                                         \
	          &(size_t){offsetof(struct card_work, step) +                                     \
	                    (size_t)(slot) * sizeof(struct step_events) +                          \
	                    offsetof(struct step_events, member)},                                 \
	          err)

static enum status queue_step(struct cards *t, const struct training_order *o, int slot,
                              struct error *err)
{
	enum status st = MARK(t, slot, begin, err);
	int next = 0;

	if (st == ST_OK && o->mode != TRAINING_SUMS)
		st = products(t, o, &next, err);
	if (st == ST_OK)
		st = MARK(t, slot, worked, err);
	while (st == ST_OK && next < t->n_buckets)
		st = end_bucket(t, o, next++, err);
	if (st == ST_OK && o->mode != TRAINING_PRODUCTS)
		st = training_await_sums(t, err);
	return st == ST_OK ? MARK(t, slot, end, err) : st;
}

static enum status take_times(struct cards *t, const struct training_order *o,
                              struct training_answer *out, int slot, int step, struct error *err)
{
	struct cuda *cuda = &t->c.team.cuda;
	double slowest = 0;
	enum status st = ST_OK;

	for (int i = 0; i < t->c.n && st == ST_OK; i++) {
		struct step_events *e = &t->work[i].step[slot];
		float whole = 0, work = 0;

		st = team_use(&t->c.team, i, err);
		if (st == ST_OK)
			st = CUDA_TRY(cuda, err, event_elapsed, &whole, e->begin, e->end);
		if (st == ST_OK)
			st = CUDA_TRY(cuda, err, event_elapsed, &work, e->begin, e->worked);
		if (st == ST_OK && !(whole > 0))
			st = error_set(err, ST_RANGE, MSG_device_no_time,
			               collective_name(&t->c, i));
		if (st != ST_OK || step < 0)
			continue;
		samples_add(&t->work[i].step_s, (double)whole / 1e3);
		samples_add(&t->work[i].work_s, (double)work / 1e3);
		slowest = fmax(slowest, (double)whole / 1e3);
	}
	if (st == ST_OK && step >= 0 && out->n_steps < o->steps)
		out->steps[out->n_steps++] = slowest;
	return st;
}

/* With sums it is told who is late. */
static enum status give_up(struct cards *t, int card, struct error *err)
{
	if (t->ranks)
		return collective_wait(&t->c, "training", err);
	return error_set(err, ST_TIMEOUT, MSG_training_hangs, collective_name(&t->c, card),
	                 fmt_duration((double)t->c.timeout_ns / 1e9));
}

/* Doubles of several nodes have a clock each, which a poll moves on: to wait without
 * one keeps them together. No real card is waited for so, since it may hang. */
static enum status wait_doubles(struct cards *t, int slot, struct error *err)
{
	enum status st = ST_OK;

	for (int i = 0; i < t->c.n && st == ST_OK; i++) {
		st = team_use(&t->c.team, i, err);
		if (st == ST_OK)
			st = CUDA_TRY(&t->c.team.cuda, err, event_sync, t->work[i].step[slot].end);
	}
	return st;
}

/* Until the step in that slot has ended on all cards: by its last event. */
static enum status wait_step(struct cards *t, int slot, struct error *err)
{
	struct cuda *cuda = &t->c.team.cuda;
	int64_t until = clock_now(t->c.ctx->clock) + t->c.timeout_ns, pause = FIRST_LOOK_NS;
	enum status st = ST_OK;

	if (t->nodes > 1 && t->node->ctx->clock != t->node->clock)
		return wait_doubles(t, slot, err);
	for (int i = 0; i < t->c.n && st == ST_OK; i++) {
		cu_result code;

		do {
			st = team_use(&t->c.team, i, err);
			if (st != ST_OK)
				return st;
			code = cuda->call.event_query(t->work[i].step[slot].end);
			if (code == CU_NOT_READY && clock_now(t->c.ctx->clock) > until)
				return give_up(t, i, err);
			if (code == CU_NOT_READY)
				clock_sleep(t->c.ctx->clock, pause);
			pause = pause * 3 / 2 < MOST_LOOK_NS ? pause * 3 / 2 : MOST_LOOK_NS;
		} while (code == CU_NOT_READY);
		st = cuda_check(cuda, code, "event_query", err);
	}
	return st;
}

static enum status run_steps(struct cards *t, const struct training_order *o,
                             struct training_answer *out, struct error *err)
{
	int all = o->warm + o->steps, done = 0;
	enum status st = ST_OK;

	for (int s = 0; s < all + TRAINING_IN_FLIGHT && st == ST_OK; s++) {
		if (s >= TRAINING_IN_FLIGHT) {
			int slot = done % TRAINING_IN_FLIGHT;

			st = wait_step(t, slot, err);
			if (st == ST_OK)
				st = take_times(t, o, out, slot, done - o->warm, err);
			done++;
		}
		if (st == ST_OK && s < all)
			st = queue_step(t, o, s % TRAINING_IN_FLIGHT, err);
	}
	return st;
}

enum status training_run_step(struct team *team, void *arg, struct error *err)
{
	struct cards_run *r = arg;
	struct cards *t = r->cards;
	enum status st;

	(void)team;
	for (int i = 0; i < t->c.n; i++) {
		samples_clear(&t->work[i].step_s);
		samples_clear(&t->work[i].work_s);
	}
	st = run_steps(t, &r->order, r->out, err);
	for (int i = 0; i < t->c.n && st == ST_OK; i++) {
		struct samples *steps = &t->work[i].step_s, *works = &t->work[i].work_s;

		r->out->cards[i].step_s = median(steps->value, steps->n);
		r->out->work_s = fmax(r->out->work_s, median(works->value, works->n));
	}
	return st;
}
