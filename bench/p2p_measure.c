/* Samples of transfers made into a cell of a matrix. */
#include <math.h>

#include "base/clock.h"
#include "p2p_transfer.h"

#define MOST_REPS   16  /* copies in one sample */
#define SMALL_REPS  100 /* of those that measure a call; more could fill the queue */
#define SMALL_BYTES 16

/* --- a cell ----------------------------------------------------------------------------------- */

/* The figure of a sample, in the unit of its metric. */
static double figure_of(const struct p2p_transfer *t)
{
	double bytes = (double)t->bytes * t->reps;

	switch (t->kind) {
	case P2P_FLAG:
		return t->seconds * 1e6 / P2P_FLAG_ROUNDS / 2;
	case P2P_CHASE:
		return t->seconds * 1e9 / P2P_CHASE_HOPS;
	case P2P_COPY:
		return t->seconds * 1e6 / t->reps;
	default:
		return (p2p_both_ways(t->kind) ? 2 : 1) * bytes / t->seconds / 1e9;
	}
}

/* What is wrong with what was measured, or NULL. */
static const char *fault_of(const struct p2p_transfer *t)
{
	if (t->wrong)
		return say(MSG_p2p_wrong, tmpf("%llu", (unsigned long long)t->wrong),
		           tmpf("%llu", (unsigned long long)t->bytes / 8));
	if (t->kind == P2P_FLAG && t->reached != P2P_FLAG_ROUNDS)
		return say(MSG_p2p_no_answer, tmpf("%llu", (unsigned long long)t->reached));
	if (t->kind == P2P_CHASE &&
	    t->reached != (uint64_t)P2P_CHASE_HOPS * P2P_CHASE_STEP % p2p_lines(t->p))
		return say(MSG_p2p_wrong, "1", "1");
	return NULL;
}

bool p2p_in_time(struct p2p *p)
{
	struct probe_ctx *ctx = p->team.ctx;

	p->cut |= clock_now(ctx->clock) > ctx->deadline_ns - 2 * NS_PER_S;
	return !p->cut;
}

void p2p_refuse(struct p2p *p, struct p2p_cell *cell, enum outcome outcome, const char *why)
{
	cell->outcome = outcome;
	cell->why = arena_str(p->team.ctx->arena, why);
}

void p2p_refuse_error(struct p2p *p, struct p2p_cell *cell, const struct error *err)
{
	const struct gpu_cause *cause = p->team.cuda.fault;

	p2p_refuse(p, cell,
	           err->status == ST_TIMEOUT ? OUTCOME_TIMED_OUT
	           : cause                   ? cause->outcome
	                                     : OUTCOME_NOT_MEASURED,
	           str_text(&err->text));
}

/* Whether the samples go on; a first one, not kept, says how many copies fill
 * the window. */
bool p2p_take_sample(struct p2p_cell *cell, const struct p2p_transfer *t, bool warm_up)
{
	struct p2p *p = t->p;
	const char *fault = fault_of(t);
	double figure = figure_of(t);

	if (fault) {
		p2p_refuse(p, cell, OUTCOME_FAILED, fault);
		return false;
	}
	if (t->expired || !(t->seconds > 0) || !isfinite(figure)) {
		p2p_refuse(p, cell, OUTCOME_NOT_MEASURED, say(MSG_p2p_no_time));
		return false;
	}
	if (!warm_up)
		return samples_add(&cell->samples, figure) == ST_OK;
	if (t->kind != P2P_COPY)
		cell->reps = (int)fmin(MOST_REPS, fmax(1, ceil(p->window_s / t->seconds)));
	return true;
}

void p2p_finish(struct p2p_cell *cell)
{
	if (cell->outcome == OUTCOME_MEASURED)
		cell->value = median(cell->samples.value, cell->samples.n);
}

static void take_samples(struct p2p *p, const struct p2p_transfer *like, team_step *step, int a,
                         int b, struct p2p_cell *cell)
{
	struct error err = {0};

	for (int i = 0; i <= p->samples; i++) {
		struct p2p_transfer *t = arena_alloc(p->team.ctx->arena, sizeof(*t));

		*t = *like;
		t->reps = cell->reps;
		if (!p2p_in_time(p)) {
			p2p_refuse(p, cell, OUTCOME_NOT_MEASURED, say(MSG_p2p_cut));
			break;
		}
		if (team_run(&p->team, step, t, a, b, &err) != ST_OK) {
			p2p_refuse_error(p, cell, &err);
			break;
		}
		if (!p2p_take_sample(cell, t, i == 0))
			break;
	}
	p2p_finish(cell);
	error_release(&err);
}

/* Why nothing can be measured between two cards, or true. */
static bool may_measure(struct p2p *p, int from, int to, struct p2p_cell *cell)
{
	int n = p->team.count, ends[2] = {from, to};

	for (int e = 0; e < 2; e++)
		if (!team_has(&p->team, ends[e])) {
			const struct team_card *c = &p->team.cards[ends[e]];

			p2p_refuse(p, cell, c->outcome, say(MSG_card_refused, c->id, c->why));
			return false;
		}
	if (p->reach[from * n + to] && p->reach[to * n + from])
		return true;
	p2p_refuse(p, cell, OUTCOME_FAILED,
	           p->stays[from * n + to]   ? p->stays[from * n + to]
	           : p->stays[to * n + from] ? p->stays[to * n + from]
	                                     : say(MSG_p2p_none));
	return false;
}

void p2p_measure(struct p2p *p, enum p2p_kind kind, int from, int to, struct p2p_cell *cell)
{
	struct p2p_transfer like = {
		.p = p, .kind = kind, .from = from, .to = to, .bytes = p->bytes};

	*cell = (struct p2p_cell){.due = true, .outcome = OUTCOME_MEASURED, .reps = 1};
	if (kind == P2P_COPY) {
		like.bytes = SMALL_BYTES;
		cell->reps = SMALL_REPS;
	}
	if (may_measure(p, from, to, cell))
		take_samples(p, &like, p2p_step(kind), from, to, cell);
}
