/* The cards of a node for the step: opened with cuBLAS and NCCL, filled with a model,
 * joined to the cards of other nodes by an id that the first node names. */
#include "training_cards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/unit.h"

#define NON_BLOCKING 1 /* of a stream: not tied to the default one */
#define SCALE        0.03
#define DOUBLES_NS   50000

struct cards_join {
	struct cards *cards;
	nccl_id id;
};

static struct cards *cards_of(struct training_node *node)
{
	return node->self;
}

/* --- steps of the team ------------------------------------------------------------------ */

static enum status take_step(struct cards *t, team_step *step, void *arg, struct error *err)
{
	struct probe_ctx *ctx = t->node->ctx;
	double limit_s = 2 * ctx->param_real(ctx, "timeout_s") + 2 * ctx->param_real(ctx, "run_s");

	t->c.team.limit_ns = (int64_t)(limit_s * 1e9);
	return team_run(&t->c.team, step, arg, -1, -1, err);
}

/* All cards of the node wait: the one that is late is of another node. */
static bool all_wait(const struct cards *t)
{
	for (int i = 0; i < t->c.n; i++)
		if (!t->c.rank[i].late)
			return false;
	return t->nodes > 1 && t->c.absent;
}

static bool failed(struct cards *t, struct error *err)
{
	struct training_node *node = t->node;
	const struct gpu_cause *fault = t->c.nccl.fault ? t->c.nccl.fault : t->c.team.cuda.fault;
	int at = t->c.team.at;
	enum outcome outcome = err->status == ST_TIMEOUT && !t->c.cut ? OUTCOME_TIMED_OUT
	                       : fault                                ? fault->outcome
	                                                              : OUTCOME_NOT_MEASURED;

	t->broken = true;
	node->waited = all_wait(t);
	if (node->waited)
		because(node, outcome, MSG_training_others, tmpf("%d", t->ranks),
		        fmt_duration((double)t->c.timeout_ns / 1e9));
	else if (at >= 0 && at < t->c.n && t->c.team.cards[at].known)
		because(node, outcome, MSG_card_refused, collective_name(&t->c, at),
		        str_text(&err->text));
	else
		because(node, outcome, MSG_training_cause, str_text(&err->text));
	error_release(err);
	return false;
}

/* --- room ---------------------------------------------------------------------------------- */

static enum status make_events(struct cards *t, int i, struct error *err)
{
	struct cuda *cuda = &t->c.team.cuda;
	struct card_work *w = &t->work[i];
	cu_event *all[2 + 3 * TRAINING_IN_FLIGHT] = {&w->whole, &w->summed};
	enum status st = CUDA_TRY(cuda, err, stream_create, &w->sums, NON_BLOCKING);

	for (int s = 0; s < TRAINING_IN_FLIGHT; s++) {
		all[2 + 3 * s] = &w->step[s].begin;
		all[3 + 3 * s] = &w->step[s].worked;
		all[4 + 3 * s] = &w->step[s].end;
	}
	for (size_t e = 0; e < sizeof(all) / sizeof(*all) && st == ST_OK; e++)
		st = CUDA_TRY(cuda, err, event_create, all[e], 0);
	return st;
}

static enum status make_kernels(struct cards *t, int i, struct error *err)
{
	struct device_cuda *dev = t->c.team.cards[i].dev;
	enum status st = device_cuda_kernel(dev, "assay_fill", &t->work[i].fill, err);

	if (st == ST_OK)
		st = device_cuda_kernel(dev, "assay_triad", &t->work[i].triad, err);
	if (st == ST_OK)
		st = device_cuda_kernel(dev, "assay_pattern_write", &t->c.rank[i].write, err);
	return st == ST_OK
	               ? device_cuda_kernel(dev, "assay_pattern_check", &t->c.rank[i].check, err)
	               : st;
}

/* The same numbers on all cards and in all layers: what is in them decides on power
 * and so on clocks. */
static enum status fill_buffer(struct cards *t, int i, const struct device_buffer *b, size_t part,
                               struct error *err)
{
	uint64_t seed = 1;
	uint32_t type = t->format == NUMBER_BF16 ? KERNEL_BF16 : KERNEL_FP16, uniform = 0;
	double scale = SCALE;
	enum status st = ST_OK;

	for (size_t done = 0; done < b->bytes && st == ST_OK; done += part) {
		size_t bytes = b->bytes - done < part ? b->bytes - done : part;
		cu_ptr at = device_cuda_address(b) + done;
		uint64_t n = bytes / number_format_bytes(t->format);

		st = device_cuda_wide(t->c.team.cards[i].dev, t->work[i].fill,
		                      (void *[]){&at, &n, &type, &uniform, &seed, &scale}, err);
	}
	return st;
}

static size_t largest_bucket(const struct cards *t)
{
	size_t most = 0;

	for (int b = 0; b < t->n_buckets; b++)
		most = t->buckets[b].count > most ? t->buckets[b].count : most;
	return most;
}

static enum status make_buffers(struct cards *t, int i, struct error *err)
{
	const struct training_shape *shape = &t->node->shape;
	struct device *device = &t->c.team.cards[i].dev->device;
	struct card_work *w = &t->work[i];
	size_t element = number_format_bytes(t->format), width = (size_t)shape->width;
	size_t model = (size_t)shape->layers * width * width * element;
	struct {
		struct device_buffer *buffer;
		size_t bytes;
	} all[] = {{&w->in, (size_t)shape->tokens * width * element},
	           {&w->out, (size_t)shape->tokens * width * element},
	           {&w->weights, model},
	           {&w->gradients, model},
	           {&w->state, largest_bucket(t) * element}};
	enum status st = ST_OK;

	for (size_t b = 0; b < sizeof(all) / sizeof(*all) && st == ST_OK; b++) {
		st = device->ops->alloc(device, all[b].buffer, all[b].bytes, err);
		if (st == ST_OK)
			st = fill_buffer(t, i, all[b].buffer, width * width * element, err);
	}
	return st == ST_OK ? device_cuda_wait(t->c.team.cards[i].dev, err) : st;
}

static enum status room_step(struct team *team, void *arg, struct error *err)
{
	struct cards *t = arg;
	enum status st = ST_OK;

	for (int i = 0; i < t->c.n && st == ST_OK; i++) {
		st = team_use(team, i, err);
		if (st == ST_OK)
			st = make_events(t, i, err);
		if (st == ST_OK)
			st = make_kernels(t, i, err);
		if (st == ST_OK)
			st = make_buffers(t, i, err);
	}
	return st;
}

/* --- ready ----------------------------------------------------------------------------------- */

static bool all_work(struct cards *t)
{
	for (int i = 0; i < t->c.n; i++)
		if (!team_has(&t->c.team, i))
			return because(t->node, t->c.team.cards[i].outcome, MSG_card_refused,
			               t->c.team.cards[i].id, t->c.team.cards[i].why);
	if (t->c.n > TRAINING_CARDS_MOST)
		return because(t->node, OUTCOME_NOT_MEASURED, MSG_training_many, tmpf("%d", t->c.n),
		               tmpf("%d", TRAINING_CARDS_MOST));
	return true;
}

/* BF16 where all have it, else FP16. */
static bool choose_format(struct cards *t)
{
	bool all = true;

	t->format = NUMBER_BF16;
	for (int i = 0; i < t->c.n; i++) {
		struct device *device = &t->c.team.cards[i].dev->device;

		all = all && device->ops->can_gemm(device, t->format);
	}
	if (!all)
		t->format = NUMBER_FP16;
	return true;
}

static void describe(const struct cards *t, struct training_answer *out)
{
	struct arena *arena = t->c.ctx->arena;
	const struct device_info *info = &t->c.team.cards[0].dev->device.info;

	out->gpus = true;
	out->simulated = t->node->ctx->simulated;
	out->library = arena_strf(arena, "%s %s, nccl %d", info->library, info->library_version,
	                          t->c.nccl.version);
	out->format = number_format_name(t->format);
}

/* One entry a card, named. */
static void list_cards(const struct cards *t, struct training_answer *out)
{
	out->n_cards = t->c.n;
	out->cards = arena_array(t->c.ctx->arena, (size_t)t->c.n, sizeof(*out->cards));
	for (int i = 0; i < t->c.n; i++)
		out->cards[i] = (struct training_card){.id = t->c.team.cards[i].id,
		                                       .index = t->c.team.cards[i].unit.card.index};
}

/* Others are waited for by the machine's clock, whatever that of doubles says. Pauses
 * are the doubles', whose time passes in them alone; those of other nodes are other
 * processes, which get on in the machine's time only. */
static int64_t wait_now(void *self)
{
	return clock_now(((struct cards *)self)->node->clock);
}

static void wait_sleep(void *self, int64_t ns)
{
	const struct cards *t = self;
	const struct clock_source *cards = t->node->ctx->clock;

	clock_sleep(cards, ns);
	if (t->nodes > 1 && cards != t->node->clock)
		clock_sleep(t->node->clock, DOUBLES_NS);
}

static bool cards_ready(struct training_node *node, struct training_answer *out)
{
	struct probe_ctx *ctx = node->ctx;
	struct cards *t = arena_alloc(ctx->arena, sizeof(*t));
	double timeout_s = ctx->param_real(ctx, "timeout_s");
	struct error err = {0};

	*t = (struct cards){.node = node, .waits = *ctx};
	t->c.ctx = &t->waits;
	node->self = t;
	t->c.log = collective_log_open(ctx->arena);
	t->c.timeout_ns = (int64_t)(timeout_s * 1e9);
	if (team_open_products(&t->c.team, ctx, 2 * timeout_s, &err) != ST_OK)
		return failed(t, &err);
	t->clock = (struct clock_source){wait_now, NULL, wait_sleep, t};
	t->waits.clock = &t->clock;
	t->c.n = t->c.team.count;
	if (!all_work(t) || !choose_format(t))
		return false;
	if (nccl_open(&t->c.nccl, ctx->arena, &t->c.team.where, &err) != ST_OK)
		return failed(t, &err);
	ctx->simulated |= gpu_lib_simulated(&t->c.nccl.lib);
	t->c.rank = arena_array(ctx->arena, (size_t)t->c.n, sizeof(*t->c.rank));
	t->work = arena_array(ctx->arena, (size_t)t->c.n, sizeof(*t->work));
	t->n_buckets = training_buckets(ctx->arena, &node->shape, number_format_bytes(t->format),
	                                (size_t)ctx->param_int(ctx, "bucket"), &t->buckets);
	if (take_step(t, room_step, t, &err) != ST_OK)
		return failed(t, &err);
	describe(t, out);
	list_cards(t, out);
	for (int i = 0; i < t->c.n; i++) {
		out->cards[i].pci = t->c.team.cards[i].unit.card.pci;
		out->cards[i].name = t->c.team.cards[i].unit.card.name;
	}
	return true;
}

/* --- joining ------------------------------------------------------------------------------- */

static const char *hex_of(struct arena *arena, const nccl_id *id)
{
	char *text = arena_alloc(arena, 2 * sizeof(id->bytes) + 1);

	for (size_t i = 0; i < sizeof(id->bytes); i++)
		snprintf(text + 2 * i, 3, "%02x", (unsigned char)id->bytes[i]);
	return text;
}

static bool id_of(const char *text, nccl_id *id)
{
	if (!text || strlen(text) != 2 * sizeof(id->bytes))
		return false;
	for (size_t i = 0; i < sizeof(id->bytes); i++) {
		char pair[3] = {text[2 * i], text[2 * i + 1], '\0'}, *end;

		id->bytes[i] = (char)strtoul(pair, &end, 16);
		if (end != pair + 2)
			return false;
	}
	return true;
}

static bool name_id(struct cards *t, nccl_id *id)
{
	struct error err = {0};

	return nccl_check(&t->c.nccl, NULL, t->c.nccl.call.unique_id(id), "ncclGetUniqueId",
	                  &err) == ST_OK ||
	       failed(t, &err);
}

static bool cards_name(struct training_node *node, struct training_answer *out)
{
	struct cards *t = cards_of(node);
	nccl_id id;

	if (!name_id(t, &id))
		return false;
	out->id = hex_of(node->ctx->arena, &id);
	return true;
}

static enum status join_step(struct team *team, void *arg, struct error *err)
{
	struct cards_join *j = arg;
	struct cards *t = j->cards;
	struct nccl *nccl = &t->c.nccl;
	enum status st, ended;

	collective_log_mark(t->c.log);
	st = nccl_check(nccl, NULL, nccl->call.group_start(), "ncclGroupStart", err);
	if (st != ST_OK)
		return st;
	for (int i = 0; i < t->c.n && st == ST_OK; i++) {
		nccl_config config = nccl_config_make();

		st = team_use(team, i, err);
		if (st == ST_OK)
			st = nccl_check(nccl, NULL,
			                nccl->call.init_rank(&t->c.rank[i].comm, t->ranks, j->id,
			                                     t->first + i, &config),
			                "ncclCommInitRankConfig", err);
	}
	ended = nccl_check(nccl, NULL, nccl->call.group_end(), "ncclGroupEnd", err);
	if (st == ST_OK)
		st = ended;
	return st == ST_OK ? collective_settle(&t->c, "ncclCommInitRankConfig", err) : st;
}

static bool cards_join(struct training_node *node, const struct training_order *o)
{
	struct cards *t = cards_of(node);
	struct cards_join *j = arena_alloc(node->ctx->arena, sizeof(*j));
	struct error err = {0};

	j->cards = t;
	t->nodes = o->nodes;
	t->first = o->nodes > 1 ? o->first : 0;
	t->ranks = o->nodes > 1 ? o->ranks : t->c.n;
	for (int i = 0; i < t->c.n; i++)
		t->c.rank[i].number = t->first + i;
	if (o->nodes > 1 && !id_of(o->id, &j->id))
		return because(node, OUTCOME_NOT_MEASURED, MSG_training_cause,
		               say(MSG_training_garbled));
	if (o->nodes == 1 && !name_id(t, &j->id))
		return false;
	return take_step(t, join_step, j, &err) == ST_OK || failed(t, &err);
}

static enum status leave_step(struct team *team, void *arg, struct error *err)
{
	(void)team;
	return collective_close(&((struct cards *)arg)->c, err);
}

static bool cards_leave(struct training_node *node)
{
	struct cards *t = cards_of(node);
	struct error err = {0};

	if (take_step(t, leave_step, t, &err) != ST_OK)
		return failed(t, &err);
	t->ranks = 0;
	return true;
}

static enum status abort_step(struct team *team, void *arg, struct error *err)
{
	(void)team;
	(void)err;
	collective_abort(&((struct cards *)arg)->c);
	return ST_OK;
}

static void cards_close(struct training_node *node)
{
	struct cards *t = cards_of(node);
	struct error ignored = {0};

	if (t->ranks && t->c.rank)
		take_step(t, abort_step, t, &ignored);
	for (int i = 0; i < t->c.n && t->work; i++) {
		samples_release(&t->work[i].step_s);
		samples_release(&t->work[i].work_s);
	}
	error_release(&ignored);
	/* Room on a card goes with its context. */
	if (!t->broken)
		team_close(&t->c.team);
}

/* --- orders ----------------------------------------------------------------------------------- */

static bool cards_check(struct training_node *node, const struct training_order *o,
                        struct training_answer *out)
{
	struct cards *t = cards_of(node);
	struct cards_check *k = arena_alloc(node->ctx->arena, sizeof(*k));
	struct error err = {0};

	t->turn = (uint64_t)o->turn;
	list_cards(t, out);
	*k = (struct cards_check){t, out};
	return take_step(t, training_check_step, k, &err) == ST_OK || failed(t, &err);
}

static bool cards_run(struct training_node *node, const struct training_order *o,
                      struct training_answer *out)
{
	struct cards *t = cards_of(node);
	struct cards_run *r = arena_alloc(node->ctx->arena, sizeof(*r));
	struct error err = {0};

	list_cards(t, out);
	out->steps = arena_array(node->ctx->arena, (size_t)o->steps, sizeof(*out->steps));
	*r = (struct cards_run){t, *o, out};
	return take_step(t, training_run_step, r, &err) == ST_OK || failed(t, &err);
}

const struct training_back training_cards = {
	.ready = cards_ready,
	.name = cards_name,
	.join = cards_join,
	.check = cards_check,
	.run = cards_run,
	.leave = cards_leave,
	.close = cards_close,
};
