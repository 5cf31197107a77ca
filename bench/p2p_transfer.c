/* Moving data between two cards and timing it. Work waits behind a kernel that
 * spins until all of it is queued, so that the host's part is in no figure; what
 * arrived is checked by the card it arrived at, against a pattern that tells from
 * which card it is. */
#include "p2p_transfer.h"

#define CHASE_LINES 65536
#define HOLD_NS     10000000000ull
#define ANSWER_NS   1000000000ull /* for the peer of a ping-pong */

/* --- one transfer ---------------------------------------------------------------------- */

enum status p2p_hold(struct p2p *p, int card, struct error *err)
{
	struct p2p_card *c = &p->cards[card];
	cu_ptr flag = c->host_at + P2P_HOST_AT(flag), expired = c->host_at + P2P_HOST_AT(expired);
	uint32_t go = 1;
	uint64_t limit = HOLD_NS;

	p2p_words(p, card)->flag = p2p_words(p, card)->expired = 0;
	return device_cuda_single(p2p_dev(p, card), c->spin,
	                          (void *[]){&flag, &go, &limit, &expired}, err);
}

enum status p2p_record(struct p2p *p, int card, cu_event event, struct error *err)
{
	return CUDA_TRY(&p->team.cuda, err, event_record, event, p2p_dev(p, card)->stream);
}

/* Queues one copy from one card's out to the other's in, moved by `mover`. */
static enum status queue_copy(const struct p2p_transfer *t, int from, int to, int mover, bool sm,
                              struct error *err)
{
	struct p2p *p = t->p;
	cu_ptr dst = p->cards[to].in, src = p->cards[from].out;
	uint64_t n = t->bytes / 16;

	if (sm)
		return device_cuda_wide(p2p_dev(p, mover), p->cards[mover].copy,
		                        (void *[]){&dst, &src, &n}, err);
	return CUDA_TRY(&p->team.cuda, err, copy_peer, dst, p2p_dev(p, to)->context, src,
	                p2p_dev(p, from)->context, t->bytes, p2p_dev(p, mover)->stream);
}

static enum status queue_one_way(const struct p2p_transfer *t, int mover, bool sm,
                                 struct error *err)
{
	struct p2p_card *c = &t->p->cards[mover];
	enum status st = p2p_hold(t->p, mover, err);

	if (st == ST_OK)
		st = p2p_record(t->p, mover, c->begin, err);
	for (int i = 0; i < t->reps && st == ST_OK; i++)
		st = queue_copy(t, t->from, t->to, mover, sm, err);
	return st == ST_OK ? p2p_record(t->p, mover, c->end, err) : st;
}

/* One kernel, whose warps copy half this way and half that. */
static enum status queue_both_sm(const struct p2p_transfer *t, struct error *err)
{
	struct p2p_card *a = &t->p->cards[t->from], *b = &t->p->cards[t->to];
	uint64_t n = t->bytes / 16;
	enum status st = p2p_hold(t->p, t->from, err);

	if (st == ST_OK)
		st = p2p_record(t->p, t->from, a->begin, err);
	for (int i = 0; i < t->reps && st == ST_OK; i++)
		st = device_cuda_wide(p2p_dev(t->p, t->from), a->copy_both,
		                      (void *[]){&b->in, &a->out, &a->in, &b->out, &n}, err);
	return st == ST_OK ? p2p_record(t->p, t->from, a->end, err) : st;
}

/* Both push. The other's queue starts with ours, and we end with the later. */
static enum status queue_both_ce(const struct p2p_transfer *t, struct error *err)
{
	struct p2p *p = t->p;
	struct p2p_card *a = &p->cards[t->from], *b = &p->cards[t->to];
	struct cuda *cuda = &p->team.cuda;
	enum status st = p2p_hold(p, t->from, err);

	if (st == ST_OK)
		st = p2p_record(p, t->from, a->begin, err);
	for (int i = 0; i < t->reps && st == ST_OK; i++)
		st = queue_copy(t, t->from, t->to, t->from, false, err);
	if (st == ST_OK)
		st = team_use(&p->team, t->to, err);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, stream_wait, p2p_dev(p, t->to)->stream, a->begin, 0);
	for (int i = 0; i < t->reps && st == ST_OK; i++)
		st = queue_copy(t, t->to, t->from, t->to, false, err);
	if (st == ST_OK)
		st = p2p_record(p, t->to, b->end, err);
	if (st == ST_OK)
		st = team_use(&p->team, t->from, err);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, stream_wait, p2p_dev(p, t->from)->stream, b->end, 0);
	return st == ST_OK ? p2p_record(p, t->from, a->end, err) : st;
}

static int mover_of(const struct p2p_transfer *t)
{
	return t->kind == P2P_CE_PULL || t->kind == P2P_SM_PULL ? t->to : t->from;
}

static enum status queue_transfer(const struct p2p_transfer *t, struct error *err)
{
	switch (t->kind) {
	case P2P_CE_BOTH:
		return queue_both_ce(t, err);
	case P2P_SM_BOTH:
		return queue_both_sm(t, err);
	default:
		return queue_one_way(t, mover_of(t),
		                     t->kind == P2P_SM_PUSH || t->kind == P2P_SM_PULL, err);
	}
}

/* Time between the events of a card, when both have passed. */
enum status p2p_take_time(struct p2p *p, int card, struct p2p_transfer *t, struct error *err)
{
	struct cuda *cuda = &p->team.cuda;
	float ms = 0;
	enum status st = CUDA_TRY(cuda, err, event_sync, p->cards[card].end);

	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, event_elapsed, &ms, p->cards[card].begin,
		              p->cards[card].end);
	t->seconds = (double)ms / 1e3;
	t->expired |= p2p_words(p, card)->expired != 0;
	return st;
}

/* --- what arrived ------------------------------------------------------------------------- */

enum status p2p_poison(struct p2p *p, int card, uint64_t bytes, struct error *err)
{
	enum status st = team_use(&p->team, card, err);

	if (st == ST_OK)
		st = CUDA_TRY(&p->team.cuda, err, set8, p->cards[card].in, 0xff, bytes,
		              p2p_dev(p, card)->stream);
	return st == ST_OK ? device_cuda_wait(p2p_dev(p, card), err) : st;
}

enum status p2p_check(struct p2p *p, int card, int from, uint64_t bytes, uint64_t *wrong,
                      struct error *err)
{
	struct p2p_card *c = &p->cards[card];
	uint64_t n = bytes / sizeof(uint64_t), base = 0, invert = 0, seed = p2p_seed(p, from);
	uint32_t kind = PATTERN_RANDOM, rewrite = 0;
	cu_ptr check = c->host_at + P2P_HOST_AT(check);
	enum status st = team_use(&p->team, card, err);

	p2p_words(p, card)->check = (struct kernel_check){0, UINT64_MAX, 0};
	if (st == ST_OK)
		st = device_cuda_wide(
			p2p_dev(p, card), c->check,
			(void *[]){&c->in, &n, &kind, &base, &seed, &invert, &rewrite, &check},
			err);
	if (st == ST_OK)
		st = device_cuda_wait(p2p_dev(p, card), err);
	*wrong += p2p_words(p, card)->check.bad;
	return st;
}

static enum status run_copies(struct team *team, void *arg, struct error *err)
{
	struct p2p_transfer *t = arg;
	struct p2p *p = t->p;
	int timed = mover_of(t);
	enum status st = p2p_poison(p, t->to, t->bytes, err);

	if (st == ST_OK && p2p_both_ways(t->kind))
		st = p2p_poison(p, t->from, t->bytes, err);
	if (st == ST_OK)
		st = team_use(team, timed, err);
	if (st == ST_OK)
		st = queue_transfer(t, err);
	/* Also after an error: nothing may be left spinning. */
	p2p_words(p, timed)->flag = 1;
	if (st == ST_OK)
		st = p2p_take_time(p, timed, t, err);
	if (st == ST_OK)
		st = p2p_check(p, t->to, t->from, t->bytes, &t->wrong, err);
	if (st == ST_OK && p2p_both_ways(t->kind))
		st = p2p_check(p, t->from, t->to, t->bytes, &t->wrong, err);
	return st;
}

/* --- latencies ---------------------------------------------------------------------------- */

static enum status clear_small(struct p2p *p, int card, struct error *err)
{
	enum status st = team_use(&p->team, card, err);

	if (st == ST_OK)
		st = CUDA_TRY(&p->team.cuda, err, set8, p->cards[card].small, 0, P2P_SMALL,
		              p2p_dev(p, card)->stream);
	return st == ST_OK ? device_cuda_wait(p2p_dev(p, card), err) : st;
}

static enum status take_span(struct p2p *p, int card, struct p2p_transfer *t, struct error *err)
{
	struct kernel_span *span = &p2p_words(p, card)->span;
	enum status st =
		CUDA_TRY(&p->team.cuda, err, copy_to_host, span, p->cards[card].small + P2P_AT_SPAN,
	                 sizeof(*span), p2p_dev(p, card)->stream);

	if (st == ST_OK)
		st = device_cuda_wait(p2p_dev(p, card), err);
	t->seconds = (double)span->ns / 1e9;
	t->reached = span->value;
	return st;
}

static enum status play(struct p2p *p, int card, int peer, uint32_t first, struct error *err)
{
	cu_ptr mine = p->cards[card].small + P2P_AT_FLAG,
	       theirs = p->cards[peer].small + P2P_AT_FLAG;
	cu_ptr span = p->cards[card].small + P2P_AT_SPAN;
	uint64_t rounds = P2P_FLAG_ROUNDS, limit = ANSWER_NS;
	enum status st = team_use(&p->team, card, err);

	return st == ST_OK
	               ? device_cuda_single(
				 p2p_dev(p, card), p->cards[card].pingpong,
				 (void *[]){&mine, &theirs, &rounds, &first, &limit, &span}, err)
	               : st;
}

static enum status run_flags(struct team *team, void *arg, struct error *err)
{
	struct p2p_transfer *t = arg;
	struct p2p *p = t->p;
	enum status st = clear_small(p, t->from, err);

	if (st == ST_OK)
		st = clear_small(p, t->to, err);
	if (st == ST_OK)
		st = play(p, t->to, t->from, 0, err);
	if (st == ST_OK)
		st = play(p, t->from, t->to, 1, err);
	if (st == ST_OK)
		st = take_span(p, t->from, t, err);
	if (st == ST_OK)
		st = team_use(team, t->to, err);
	return st == ST_OK ? device_cuda_wait(p2p_dev(p, t->to), err) : st;
}

uint64_t p2p_lines(const struct p2p *p)
{
	uint64_t lines = CHASE_LINES;

	while (lines > p->bytes / 128)
		lines /= 2;
	return lines;
}

/* A card follows a ring that lies in the other's memory. */
static enum status run_chase(struct team *team, void *arg, struct error *err)
{
	struct p2p_transfer *t = arg;
	struct p2p *p = t->p;
	cu_ptr ring = p->cards[t->to].in, span = p->cards[t->from].small + P2P_AT_SPAN;
	uint64_t lines = p2p_lines(p), step = P2P_CHASE_STEP, hops = P2P_CHASE_HOPS;
	enum status st = team_use(team, t->to, err);

	if (st == ST_OK)
		st = device_cuda_wide(p2p_dev(p, t->to), p->cards[t->to].ring,
		                      (void *[]){&ring, &lines, &step}, err);
	if (st == ST_OK)
		st = device_cuda_wait(p2p_dev(p, t->to), err);
	if (st == ST_OK)
		st = team_use(team, t->from, err);
	if (st == ST_OK)
		st = device_cuda_single(p2p_dev(p, t->from), p->cards[t->from].chase,
		                        (void *[]){&ring, &hops, &span}, err);
	return st == ST_OK ? take_span(p, t->from, t, err) : st;
}

team_step *p2p_step(enum p2p_kind kind)
{
	return kind == P2P_FLAG ? run_flags : kind == P2P_CHASE ? run_chase : run_copies;
}
