/* The cards of p2p made ready: buffers, kernels, and who reaches whose memory. */
#include <string.h>

#include "p2p_transfer.h"

uint64_t p2p_seed(const struct p2p *p, int from)
{
	return (p->team.ctx->seed ^ 0x70327032u) + (uint64_t)from * 0x9e3779b97f4a7c15u;
}

/* --- opening ------------------------------------------------------------------------- */

static enum status find_kernels(struct p2p *p, int i, struct error *err)
{
	struct p2p_card *c = &p->cards[i];
	const struct {
		const char *name;
		cu_function *to;
	} rows[] = {
		{"assay_spin", &c->spin},           {"assay_copy", &c->copy},
		{"assay_copy_both", &c->copy_both}, {"assay_pattern_write", &c->write},
		{"assay_pattern_check", &c->check}, {"assay_ring", &c->ring},
		{"assay_chase", &c->chase},         {"assay_pingpong", &c->pingpong},
	};
	enum status st = ST_OK;

	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows) && st == ST_OK; k++)
		st = device_cuda_kernel(p2p_dev(p, i), rows[k].name, rows[k].to, err);
	return st;
}

static enum status take_memory(struct p2p *p, int i, struct error *err)
{
	struct p2p_card *c = &p->cards[i];
	struct cuda *cuda = &p->team.cuda;
	enum status st = CUDA_TRY(cuda, err, alloc, &c->in, p->bytes);

	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, alloc, &c->out, p->bytes);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, alloc, &c->small, P2P_SMALL);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, host_alloc, &c->host, sizeof(struct p2p_words),
		              CU_HOST_PORTABLE | CU_HOST_MAPPED);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, host_device_ptr, &c->host_at, c->host, 0);
	if (st == ST_OK)
		memset(c->host, 0, sizeof(struct p2p_words));
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, event_create, &c->begin, CU_EVENT_TIMED);
	return st == ST_OK ? CUDA_TRY(cuda, err, event_create, &c->end, CU_EVENT_TIMED) : st;
}

/* Newer drivers load a kernel when it is first launched, and may wait for the
 * card to be idle: none may be new behind a kernel that spins. */
static enum status wake_kernels(struct p2p *p, int i, struct error *err)
{
	struct p2p_card *c = &p->cards[i];
	struct device_cuda *dev = p2p_dev(p, i);
	uint64_t none = 0, limit = 0;
	uint32_t same = 0;
	cu_ptr flag = c->host_at + P2P_HOST_AT(flag), expired = c->host_at + P2P_HOST_AT(expired);
	enum status st = device_cuda_wide(dev, c->copy, (void *[]){&c->in, &c->out, &none}, err);

	if (st == ST_OK)
		st = device_cuda_wide(dev, c->copy_both,
		                      (void *[]){&c->in, &c->out, &c->in, &c->out, &none}, err);
	if (st == ST_OK)
		st = device_cuda_single(dev, c->spin, (void *[]){&flag, &same, &limit, &expired},
		                        err);
	return st == ST_OK ? device_cuda_wait(dev, err) : st;
}

struct job {
	struct p2p *p;
	int a, b;
};

static struct job *job_of(struct p2p *p, int a, int b)
{
	struct job *job = arena_alloc(p->team.ctx->arena, sizeof(*job));

	*job = (struct job){p, a, b};
	return job;
}

static enum status open_card(struct team *team, void *arg, struct error *err)
{
	const struct job *job = arg;
	struct p2p *p = job->p;
	struct p2p_card *c = &p->cards[job->a];
	uint64_t n = p->bytes / sizeof(uint64_t), base = 0, invert = 0;
	uint64_t seed = p2p_seed(p, job->a);
	uint32_t kind = PATTERN_RANDOM;
	enum status st = team_use(team, job->a, err);

	if (st == ST_OK)
		st = find_kernels(p, job->a, err);
	if (st == ST_OK)
		st = take_memory(p, job->a, err);
	if (st == ST_OK)
		st = device_cuda_wide(p2p_dev(p, job->a), c->write,
		                      (void *[]){&c->out, &n, &kind, &base, &seed, &invert}, err);
	return st == ST_OK ? wake_kernels(p, job->a, err) : st;
}

/* A card without its buffers takes part in nothing. */
static void leave_out(struct p2p *p, int i, const struct error *err)
{
	struct team_card *c = &p->team.cards[i];

	if (c->out)
		return;
	c->out = true;
	c->outcome = p->team.cuda.fault ? p->team.cuda.fault->outcome : OUTCOME_NOT_MEASURED;
	c->why = arena_str(p->team.ctx->arena, str_text(&err->text));
}

void p2p_open_cards(struct p2p *p)
{
	struct error err = {0};

	for (int i = 0; i < p->team.count; i++)
		if (team_has(&p->team, i) &&
		    team_run(&p->team, open_card, job_of(p, i, -1), i, -1, &err) != ST_OK)
			leave_out(p, i, &err);
	error_release(&err);
}

static enum status close_card(struct team *team, void *arg, struct error *err)
{
	const struct job *job = arg;
	struct p2p_card *c = &job->p->cards[job->a];
	const struct cuda_calls *call = &team->cuda.call;
	enum status st = team_use(team, job->a, err);

	if (st != ST_OK)
		return st;
	if (c->begin)
		call->event_destroy(c->begin);
	if (c->end)
		call->event_destroy(c->end);
	if (c->host)
		call->host_free(c->host);
	if (c->in)
		call->free(c->in);
	if (c->out)
		call->free(c->out);
	if (c->small)
		call->free(c->small);
	return ST_OK;
}

void p2p_close_cards(struct p2p *p)
{
	struct error err = {0};

	for (int i = 0; i < p->team.count; i++)
		if (team_has(&p->team, i))
			team_run(&p->team, close_card, job_of(p, i, -1), i, -1, &err);
	error_release(&err);
}

static enum status open_path(struct team *team, void *arg, struct error *err)
{
	const struct job *job = arg;
	struct p2p *p = job->p;
	struct team_card *a = &team->cards[job->a], *b = &team->cards[job->b];
	int path = job->a * team->count + job->b, can = 0;
	enum status st = team_use(team, job->a, err);
	cu_result code;

	if (st == ST_OK)
		st = CUDA_TRY(&team->cuda, err, can_access_peer, &can, a->unit.card.device,
		              b->unit.card.device);
	if (st != ST_OK)
		return st;
	if (!can)
		return ST_OK;
	code = team->cuda.call.enable_peer(b->dev->context, 0);
	if (code != CU_OK && code != CU_PEER_ALREADY)
		return cuda_check(&team->cuda, code, "enable_peer", err);
	p->reach[path] = true;
	return ST_OK;
}

void p2p_open_paths(struct p2p *p)
{
	int n = p->team.count;
	struct error err = {0};

	for (int a = 0; a < n; a++)
		for (int b = 0; b < n; b++) {
			if (a == b || !team_has(&p->team, a) || !team_has(&p->team, b))
				continue;
			if (team_run(&p->team, open_path, job_of(p, a, b), a, b, &err) != ST_OK)
				p->stays[a * n + b] =
					arena_str(p->team.ctx->arena, str_text(&err.text));
		}
	error_release(&err);
}
