/* What a card gets from and to pinned memory of the socket it hangs on. */
#include "hw/pool.h"
#include "hw/sysfs.h"
#include "p2p_transfer.h"

/* --- the host's side ------------------------------------------------------------------------ */

/* Pinned memory of the socket that a card hangs on. */
struct host_memory {
	struct p2p *p;
	int card;
	void *at;
	bool near;
};

/* Between it and the card, which is both ends of `t`. */
struct host_transfer {
	struct p2p_transfer t;
	void *memory;
	bool to_card;
};

/* The thread of a step may go where it likes: it ends with it. */
static bool move_near(struct p2p *p, int card)
{
	struct probe_ctx *ctx = p->team.ctx;
	const char *list =
		sys_text(ctx->arena, ctx->sys_root, "/sys/bus/pci/devices/%s/local_cpulist",
	                 p->team.cards[card].unit.card.pci);
	int cpus[1024], n = cpu_list_parse(list, cpus, 1024);

	return n > 0 && n <= 1024 && thread_bind(cpus, n);
}

static enum status queue_host(struct host_transfer *h, bool to_card, struct error *err)
{
	struct p2p *p = h->t.p;
	struct p2p_card *c = &p->cards[h->t.from];
	cu_stream stream = p2p_dev(p, h->t.from)->stream;

	if (to_card)
		return CUDA_TRY(&p->team.cuda, err, copy_to_device, c->in, h->memory, h->t.bytes,
		                stream);
	return CUDA_TRY(&p->team.cuda, err, copy_to_host, h->memory, c->out, h->t.bytes, stream);
}

static enum status time_host(struct host_transfer *h, bool to_card, struct error *err)
{
	struct p2p *p = h->t.p;
	struct p2p_card *c = &p->cards[h->t.from];
	enum status st = p2p_hold(p, h->t.from, err);

	if (st == ST_OK)
		st = p2p_record(p, h->t.from, c->begin, err);
	for (int i = 0; i < h->t.reps && st == ST_OK; i++)
		st = queue_host(h, to_card, err);
	if (st == ST_OK)
		st = p2p_record(p, h->t.from, c->end, err);
	p2p_words(p, h->t.from)->flag = 1;
	return st == ST_OK ? p2p_take_time(p, h->t.from, &h->t, err) : st;
}

/* What the card gives comes back to it, and is checked there. */
static enum status run_host(struct team *team, void *arg, struct error *err)
{
	struct host_transfer *h = arg;
	struct p2p *p = h->t.p;
	int card = h->t.from;
	enum status st = p2p_poison(p, card, h->t.bytes, err);

	(void)team;
	move_near(p, card);
	if (st == ST_OK && h->to_card)
		st = queue_host(h, false, err);
	if (st == ST_OK)
		st = time_host(h, h->to_card, err);
	if (st == ST_OK && !h->to_card)
		st = queue_host(h, true, err);
	if (st == ST_OK)
		st = p2p_check(p, card, card, h->t.bytes, &h->t.wrong, err);
	return st;
}

static enum status take_host_memory(struct team *team, void *arg, struct error *err)
{
	struct host_memory *m = arg;
	enum status st;

	m->near = move_near(m->p, m->card);
	st = team_use(team, m->card, err);
	return st == ST_OK ? CUDA_TRY(&team->cuda, err, host_alloc, &m->at, m->p->bytes, 0) : st;
}

static enum status give_host_memory(struct team *team, void *arg, struct error *err)
{
	struct host_memory *m = arg;
	enum status st = team_use(team, m->card, err);

	return st == ST_OK ? CUDA_TRY(&team->cuda, err, host_free, m->at) : st;
}

static void take_host(struct p2p *p, int card, bool to_card, void *memory, struct p2p_cell *cell)
{
	struct error err = {0};

	*cell = (struct p2p_cell){.due = true, .outcome = OUTCOME_MEASURED, .reps = 1};
	for (int i = 0; i <= p->samples; i++) {
		struct host_transfer *h = arena_alloc(p->team.ctx->arena, sizeof(*h));

		*h = (struct host_transfer){.t = {.p = p,
		                                  .kind = P2P_CE_PUSH,
		                                  .from = card,
		                                  .to = card,
		                                  .bytes = p->bytes,
		                                  .reps = cell->reps},
		                            .memory = memory,
		                            .to_card = to_card};
		if (!p2p_in_time(p)) {
			p2p_refuse(p, cell, OUTCOME_NOT_MEASURED, say(MSG_p2p_cut));
			break;
		}
		if (team_run(&p->team, run_host, h, card, -1, &err) != ST_OK) {
			p2p_refuse_error(p, cell, &err);
			break;
		}
		if (!p2p_take_sample(cell, &h->t, i == 0))
			break;
	}
	p2p_finish(cell);
	error_release(&err);
}

void p2p_host(struct p2p *p, int card, struct p2p_cell *to_card, struct p2p_cell *from_card,
              bool *near)
{
	struct host_memory *m = arena_alloc(p->team.ctx->arena, sizeof(*m));
	struct error err = {0};

	*m = (struct host_memory){.p = p, .card = card};
	if (team_run(&p->team, take_host_memory, m, card, -1, &err) == ST_OK) {
		take_host(p, card, true, m->at, to_card);
		take_host(p, card, false, m->at, from_card);
		if (team_has(&p->team, card))
			team_run(&p->team, give_host_memory, m, card, -1, &err);
	} else {
		p2p_refuse_error(p, to_card, &err);
		p2p_refuse_error(p, from_card, &err);
	}
	*near = m->near;
	error_release(&err);
}
