/* The cards of a node, and steps that may hang. */
#include "team.h"

#include <string.h>

#include "base/clock.h"
#include "kernels/kernels.h"
#include "kernels/ptx.h"
#include "limited.h"

/* --- steps ------------------------------------------------------------------------ */

struct step {
	struct team *team;
	team_step *run;
	void *arg;
};

static enum status run_step(void *arg, struct error *err)
{
	const struct step *s = arg;

	return s->run(s->team, s->arg, err);
}

static enum status run_limited(struct team *team, team_step *step, void *arg, struct error *err)
{
	struct step *s = arena_alloc(team->ctx->arena, sizeof(*s));

	*s = (struct step){team, step, arg};
	return limited_run(run_step, s, team->limit_ns, err);
}

/* --- who is out ---------------------------------------------------------------------- */

static void put_out(struct team *team, int card, enum outcome outcome, const struct error *err)
{
	struct team_card *c = &team->cards[card];

	if (c->out)
		return;
	c->out = true;
	c->outcome = outcome;
	c->why = arena_str(team->ctx->arena, str_text(&err->text));
}

static enum outcome outcome_of(const struct team *team, const struct error *err)
{
	if (err->status == ST_TIMEOUT)
		return OUTCOME_TIMED_OUT;
	return team->cuda.fault ? team->cuda.fault->outcome : OUTCOME_NOT_MEASURED;
}

static enum status try_card(struct team *team, void *arg, struct error *err)
{
	enum status st = team_use(team, *(const int *)arg, err);

	return st == ST_OK ? CUDA_TRY(&team->cuda, err, context_sync) : st;
}

static void examine(struct team *team, int card)
{
	int *arg = arena_alloc(team->ctx->arena, sizeof(*arg));
	struct error err = {0};

	*arg = card;
	if (card < 0 || team->cards[card].out || !team->cards[card].dev)
		return;
	if (run_limited(team, try_card, arg, &err) != ST_OK)
		put_out(team, card, outcome_of(team, &err), &err);
	error_release(&err);
}

enum status team_run(struct team *team, team_step *step, void *arg, int a, int b, struct error *err)
{
	enum status st;

	error_release(err);
	team->cuda.fault = NULL;
	team->at = a;
	st = run_limited(team, step, arg, err);
	if (st == ST_TIMEOUT && team->at >= 0)
		put_out(team, team->at, OUTCOME_TIMED_OUT, err);
	if (st != ST_OK) {
		const struct gpu_cause *fault = team->cuda.fault;

		examine(team, a);
		examine(team, b);
		team->cuda.fault = fault;
	}
	return st;
}

enum status team_use(struct team *team, int card, struct error *err)
{
	team->at = card;
	return CUDA_TRY(&team->cuda, err, context_set, team->cards[card].dev->context);
}

bool team_has(const struct team *team, int card)
{
	return !team->cards[card].out;
}

int team_able(const struct team *team)
{
	int n = 0;

	for (int i = 0; i < team->count; i++)
		n += team_has(team, i);
	return n;
}

/* --- opening ---------------------------------------------------------------------------- */

static enum status open_card(struct team *team, void *arg, struct error *err)
{
	int i = *(const int *)arg;
	struct team_card *c = &team->cards[i];
	struct device_cuda_request request = {
		.cuda = &team->cuda,
		.card = &c->unit.card,
		.where = &team->where,
		.code = {kernels_ptx, KERNEL_THREADS, KERNEL_BLOCKS_PER_SM},
		.blas = team->products,
	};
	enum status st;

	team->at = i;
	st = cuda_card_read(&team->cuda, team->ctx->arena, i, &c->unit.card, err);
	if (st != ST_OK)
		return st;
	c->known = true;
	c->id = c->unit.card.uuid;
	if (team->has_nvml)
		c->in_nvml = team->nvml.call.by_pci(c->unit.card.pci, &c->nv) == NVML_OK;
	return device_cuda_open(&c->dev, team->ctx->arena, &request, err);
}

static void open_cards(struct team *team)
{
	for (int i = 0; i < team->count; i++) {
		struct team_card *c = &team->cards[i];
		int *arg = arena_alloc(team->ctx->arena, sizeof(*arg));
		struct error err = {0};

		*arg = i;
		*c = (struct team_card){
			.unit = {team->ctx,
		                 &team->cuda,
		                 &team->where,
		                 {.index = i},
		                 team->memory_scale},
			.id = arena_strf(team->ctx->arena, "cuda-%d", i),
		};
		if (team_run(team, open_card, arg, i, -1, &err) != ST_OK)
			put_out(team, i, outcome_of(team, &err), &err);
		error_release(&err);
	}
}

static enum status start(struct team *team, void *arg, struct error *err)
{
	struct error nvml_err = {0};
	enum status st;

	(void)arg;
	team->at = -1;
	st = cards_cuda(team->ctx, &team->cuda, &team->where, &team->memory_scale, err);
	if (st != ST_OK)
		return st;
	team->has_nvml =
		nvml_open(&team->nvml, team->ctx->arena, &team->where, &nvml_err) == ST_OK &&
		nvml_start(&team->nvml, team->ctx->arena, &nvml_err) == ST_OK;
	if (!team->has_nvml)
		team->no_nvml = arena_str(team->ctx->arena, str_text(&nvml_err.text));
	error_release(&nvml_err);
	return ST_OK;
}

static enum status open_team(struct team *team, struct probe_ctx *ctx, double limit_s,
                             bool products, struct error *err)
{
	enum status st;

	*team = (struct team){
		.ctx = ctx,
		.products = products,
		.where = {ctx->lib_dir, ctx->sys_root},
		/* The first start of a driver, and its wait for a fabric, take their time. */
		.limit_ns = ctx->deadline_ns - clock_now(ctx->clock),
		.at = -1,
	};
	st = run_limited(team, start, NULL, err);
	team->limit_ns = (int64_t)(limit_s * 1e9);
	if (st != ST_OK)
		return st;
	team->count = team->cuda.count;
	team->cards = arena_array(ctx->arena, (size_t)team->count, sizeof(*team->cards));
	open_cards(team);
	return ST_OK;
}

enum status team_open(struct team *team, struct probe_ctx *ctx, double limit_s, struct error *err)
{
	return open_team(team, ctx, limit_s, false, err);
}

enum status team_open_products(struct team *team, struct probe_ctx *ctx, double limit_s,
                               struct error *err)
{
	return open_team(team, ctx, limit_s, true, err);
}

static enum status close_card(struct team *team, void *arg, struct error *err)
{
	int i = *(const int *)arg;
	struct device *device = &team->cards[i].dev->device;
	enum status st = team_use(team, i, err);

	if (st == ST_OK)
		device->ops->close(device);
	return st;
}

void team_close(struct team *team)
{
	for (int i = 0; i < team->count; i++) {
		int *arg = arena_alloc(team->ctx->arena, sizeof(*arg));
		struct error err = {0};

		*arg = i;
		/* What a broken card still holds goes with the process. */
		if (team_has(team, i))
			team_run(team, close_card, arg, i, -1, &err);
		error_release(&err);
	}
}

/* --- readings ------------------------------------------------------------------------------ */

struct reading team_reading(const struct team *team, int card, const char *metric)
{
	const struct team_card *c = &team->cards[card];
	struct reading r = card_reading(&c->unit, metric);

	r.subject.id = c->id;
	return r;
}

void team_refuse(const struct team *team, int card, struct reading *r)
{
	const struct team_card *c = &team->cards[card];

	r->value_kind = VALUE_NONE;
	r->outcome = c->outcome;
	reason_set(team->ctx, &r->reason, MSG_card_refused, c->id, c->why);
}
