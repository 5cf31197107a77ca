/* The cards of one node as ranks among those of others, through NCCL. What may hang
 * runs in steps of bench/team.h; who gives up waiting says so first and ends its
 * communicator when told to, lest the others take that for the cause. */
#include "collective_nodes.h"

#include <math.h>

#include "base/str.h"
#include "base/unit.h"

/* Arguments of steps; the arena's, since a step may be left behind. */
struct cards_step {
	struct nodes_bench *b;
	struct nodes_order order;
	struct nodes_answer *answer;
	struct collective_point *point;
	nccl_id *ids;
	uint64_t bytes;
};

/* --- steps ------------------------------------------------------------------------ */

static enum status alloc_step(struct team *team, void *arg, struct error *err)
{
	struct cards_step *s = arg;

	(void)team;
	return collective_alloc(s->b->c, s->bytes, err);
}

static enum status join_step(struct team *team, void *arg, struct error *err)
{
	const struct cards_step *s = arg;
	const struct nodes_order *o = &s->order;
	struct collective *c = s->b->c;
	nccl_id *ids = arena_array(c->ctx->arena, (size_t)c->n, sizeof(*ids));

	(void)team;
	for (int r = 0; r < c->n; r++) {
		c->rank[r].rail = o->rails ? r : 0;
		c->rank[r].number = o->first_rank + (o->rails ? 0 : r);
		ids[r] = o->ids[o->rails ? r : 0];
	}
	c->ranks = o->ranks;
	c->turn = (uint32_t)o->turn << 16;
	return collective_join(c, o->algorithm, ids, err);
}

static enum status try_step(struct team *team, void *arg, struct error *err)
{
	struct cards_step *s = arg;
	enum status st = collective_try(s->b->c, s->point, &s->answer->seconds, err);

	(void)team;
	s->answer->algorithm = s->point->algorithm;
	return st;
}

static enum status time_step(struct team *team, void *arg, struct error *err)
{
	struct cards_step *s = arg;
	size_t n = (size_t)s->order.windows;
	double *seconds = arena_array(s->b->ctx->arena, n, sizeof(*seconds));
	enum status st = collective_time(s->b->c, s->point, seconds, err);

	(void)team;
	if (st == ST_OK) {
		s->answer->windows = seconds;
		s->answer->n_windows = s->order.windows;
		s->answer->slowest =
			arena_str(s->b->ctx->arena, collective_name(s->b->c, s->point->slowest));
	}
	return st;
}

static enum status leave_step(struct team *team, void *arg, struct error *err)
{
	(void)team;
	return collective_close(((struct cards_step *)arg)->b->c, err);
}

static enum status abort_step(struct team *team, void *arg, struct error *err)
{
	(void)team;
	(void)err;
	collective_abort(((struct cards_step *)arg)->b->c);
	return ST_OK;
}

static enum status free_step(struct team *team, void *arg, struct error *err)
{
	(void)team;
	(void)err;
	collective_free(((struct cards_step *)arg)->b->c);
	return ST_OK;
}

static enum status take_step(struct nodes_bench *b, team_step *step, const struct cards_step *like,
                             struct error *err)
{
	struct cards_step *s = arena_alloc(b->ctx->arena, sizeof(*s));

	*s = *like;
	s->b = b;
	return team_run(&b->c->team, step, s, -1, -1, err);
}

/* --- why not -------------------------------------------------------------------------- */

/* "GPU-… (0000:17:00.0)", else cuda-N. */
static const char *name_of(const struct collective *c, int card)
{
	return c->team.cards[card].known ? collective_name(c, card) : c->team.cards[card].id;
}

/* Own cards that NCCL's log does not name among those that came, where it names any
 * at all: that of rails says the same number of all. */
static const char *missing_of(struct collective *c, const struct nodes_order *o)
{
	struct str names = {0};
	const char *kept;
	bool any = false;

	for (int r = 0; r < c->n && !o->rails && o->step == NODES_JOIN; r++)
		if (!collective_log_came(c->log, c->rank[r].number, &any))
			str_addf(&names, "%s%s", names.len ? ", " : "", collective_name(c, r));
	kept = names.len && any ? arena_str(c->ctx->arena, names.data) : NULL;
	str_release(&names);
	return kept;
}

static bool all_late(const struct collective *c)
{
	for (int r = 0; r < c->n; r++)
		if (!c->rank[r].late)
			return false;
	return true;
}

static void refuse(struct nodes_bench *b, const struct nodes_order *o, const struct error *err,
                   struct nodes_answer *a)
{
	struct collective *c = b->c;
	struct arena *arena = b->ctx->arena;
	const struct gpu_cause *fault = c->nccl.fault ? c->nccl.fault : c->team.cuda.fault;
	int at = c->team.at;

	a->outcome = err->status == ST_TIMEOUT ? OUTCOME_TIMED_OUT
	             : fault                   ? fault->outcome
	                                       : OUTCOME_NOT_MEASURED;
	a->why = at >= 0 && at < c->n
	                 ? arena_strf(arena, "%s: %s", name_of(c, at), str_text(&err->text))
	                 : arena_str(arena, str_text(&err->text));
	if (c->cut) {
		a->outcome = OUTCOME_NOT_MEASURED;
		a->why = arena_str(arena, say(MSG_collective_no_time));
	} else if (c->absent) {
		a->gave_up = true;
		a->missing = missing_of(c, o);
		a->late = all_late(c) ? NULL : c->absent;
	} else if (c->nccl.fault && c->nccl.code == NCCL_REMOTE_ERROR) {
		/* Another one is gone. */
		a->gave_up = true;
	}
}

/* --- data that came out wrong ---------------------------------------------------------- */

static const char *hex(uint64_t value)
{
	return tmpf("0x%llx", (unsigned long long)value);
}

static const char *describe_wrong(const struct collective *c)
{
	const struct collective_wrong *w = &c->first;

	return arena_str(c->ctx->arena,
	                 say(MSG_collective_nodes_wrong_at, collective_op_name(w->job.op),
	                     fmt_bytes((int64_t)w->job.bytes),
	                     tmpf("%llu", (unsigned long long)w->index),
	                     collective_name(c, w->rank), hex(w->got), hex(w->expected)));
}

/* --- orders ------------------------------------------------------------------------------ */

static struct collective_point *point_of(struct nodes_bench *b, const struct nodes_order *o)
{
	struct collective_point *p = arena_alloc(b->ctx->arena, sizeof(*p));

	p->checks = o->checks;
	p->calls = o->calls;
	p->windows = o->windows;
	collective_job_make(&p->job, OP_ALL_REDUCE, b->c->ranks, o->bytes);
	return p;
}

/* What it would write beyond its memory it does not. */
static bool possible(const struct nodes_bench *b, const struct nodes_order *o)
{
	int n = b->c->n;

	switch (o->step) {
	case NODES_JOIN:
		return o->n_ids >= (o->rails ? n : 1) &&
		       o->first_rank + (o->rails ? 1 : n) <= o->ranks;
	case NODES_TRY:
	case NODES_TIME:
		return o->bytes <= b->c->buffer_bytes && b->c->rank[0].comm;
	case NODES_LEAVE:
		return b->c->rank[0].comm != NULL;
	default:
		return true;
	}
}

static enum status carry_out(struct nodes_bench *b, const struct nodes_order *o,
                             struct nodes_answer *a, struct error *err)
{
	struct cards_step s = {.order = *o, .answer = a};

	if (!possible(b, o))
		return error_set(err, ST_PARSE, MSG_collective_nodes_garbled);
	if (o->step == NODES_TRY || o->step == NODES_TIME)
		s.point = point_of(b, o);
	switch (o->step) {
	case NODES_JOIN:
		return take_step(b, join_step, &s, err);
	case NODES_TRY:
		return take_step(b, try_step, &s, err);
	case NODES_TIME:
		return take_step(b, time_step, &s, err);
	case NODES_LEAVE:
		return take_step(b, leave_step, &s, err);
	default:
		return ST_OK;
	}
}

void nodes_cards_do(struct nodes_bench *b, const struct nodes_order *o, struct nodes_answer *a)
{
	struct collective *c = b->c;
	struct error err = {0};
	uint64_t checked, wrong;
	/* The step may be left behind: what it fills is the arena's. */
	struct nodes_answer *own = arena_alloc(b->ctx->arena, sizeof(*own));

	*own = *a;
	if (!c || c->n == 0 || !c->rank) {
		a->outcome = OUTCOME_NOT_MEASURED;
		a->why = b->hello.why ? b->hello.why : say(MSG_collective_nodes_garbled);
		return;
	}
	checked = c->words_checked;
	wrong = c->wrong;
	if (carry_out(b, o, own, &err) == ST_OK)
		*a = *own;
	else
		refuse(b, o, &err, a);
	a->checked = (int64_t)(c->words_checked - checked);
	a->wrong = (int64_t)(c->wrong - wrong);
	a->wrong_at = a->wrong && wrong == 0 ? describe_wrong(c) : NULL;
	error_release(&err);
}

static enum status id_step(struct team *team, void *arg, struct error *err)
{
	struct cards_step *s = arg;
	struct nccl *nccl = &s->b->c->nccl;
	enum status st = ST_OK;

	(void)team;
	for (int i = 0; i < s->order.n_ids && st == ST_OK; i++)
		st = nccl_check(nccl, NULL, nccl->call.unique_id(&s->ids[i]), "ncclGetUniqueId",
		                err);
	return st;
}

enum status nodes_cards_ids(struct nodes_bench *b, nccl_id *ids, int n, struct error *err)
{
	struct cards_step s = {.order = {.n_ids = n}, .ids = ids};

	return take_step(b, id_step, &s, err);
}

/* --- opening and ending ---------------------------------------------------------------------- */

static enum status ready(struct nodes_bench *b, struct error *err)
{
	struct collective *c = b->c;
	struct probe_ctx *ctx = b->ctx;
	double bytes = (double)ctx->param_int(ctx, "max_size") / c->team.memory_scale;
	enum status st = nccl_open(&c->nccl, ctx->arena, &c->team.where, err);

	ctx->simulated |= gpu_lib_simulated(&c->nccl.lib);
	c->rank = arena_array(ctx->arena, (size_t)c->n, sizeof(*c->rank));
	c->wrong_of = arena_array(ctx->arena, (size_t)c->n, sizeof(*c->wrong_of));
	/* Of the least buffer; communicators have their own numbers. */
	c->ranks = c->n;
	if (st == ST_OK)
		st = take_step(b, alloc_step,
		               &(struct cards_step){.bytes = (uint64_t)fmax(bytes, 1024)}, err);
	return st;
}

static void present(struct nodes_bench *b)
{
	struct nodes_hello *h = &b->hello;
	struct collective *c = b->c;

	h->n_cards = c->n;
	h->room = c->buffer_bytes;
	h->memory_scale = c->team.memory_scale;
	h->environment = collective_log_environment(c->log);
	h->library = arena_strf(b->ctx->arena, "nccl %s", c->nccl.lib.version);
	h->path = c->nccl.lib.path;
	for (int i = 0; i < c->n; i++)
		h->cards[i] = arena_str(b->ctx->arena, collective_name(c, i));
}

static const struct team_card *first_out(const struct team *team)
{
	for (int i = 0; i < team->count; i++)
		if (!team_has(team, i))
			return &team->cards[i];
	return NULL;
}

void nodes_cards_open(struct nodes_bench *b)
{
	struct probe_ctx *ctx = b->ctx;
	double timeout_s = ctx->param_real(ctx, "timeout_s");
	struct collective *c = arena_alloc(ctx->arena, sizeof(*c));
	struct nodes_answer refused = {0};
	const struct team_card *out;
	struct error err = {0};
	enum status st;

	b->c = c;
	c->ctx = ctx;
	c->wait_clock = b->clock;
	c->wait_until_ns = b->deadline_ns;
	c->others = true;
	c->log = collective_log_open(ctx->arena);
	c->timeout_ns = (int64_t)(timeout_s * 1e9);
	/* Waits end by our own deadline; twice that is a driver that does not answer. */
	st = team_open(&c->team, ctx, 2 * timeout_s, &err);
	c->n = c->team.count;
	out = first_out(&c->team);
	if (st == ST_OK && out) {
		b->hello.outcome = out->outcome;
		b->hello.why = arena_strf(ctx->arena, "%s: %s", out->id, out->why);
	} else {
		if (st == ST_OK && (c->n == 0 || c->n > NODES_CARDS_MOST))
			st = error_set(&err, ST_RANGE, MSG_collective_nodes_cards, tmpf("%d", c->n),
			               tmpf("%d", NODES_CARDS_MOST));
		if (st == ST_OK)
			st = ready(b, &err);
		if (st == ST_OK) {
			present(b);
		} else {
			refuse(b, &(struct nodes_order){.step = NODES_BEGIN}, &err, &refused);
			b->hello.outcome = refused.outcome;
			b->hello.why = refused.why;
		}
	}
	error_release(&err);
}

/* Where a driver hangs, what it holds goes with the process. */
static bool answers(const struct team *team)
{
	for (int i = 0; i < team->count; i++)
		if (team->cards[i].out && team->cards[i].outcome == OUTCOME_TIMED_OUT)
			return false;
	return team->cards != NULL;
}

void nodes_cards_end(struct nodes_bench *b)
{
	struct collective *c = b->c;
	struct error ignored = {0};
	enum status st = ST_OK;

	if (!c || !answers(&c->team))
		return;
	if (c->rank && c->rank[0].comm)
		st = take_step(b, abort_step, &(struct cards_step){0}, &ignored);
	if (st == ST_OK && c->rank)
		st = take_step(b, free_step, &(struct cards_step){0}, &ignored);
	if (st == ST_OK && answers(&c->team))
		team_close(&c->team);
	error_release(&ignored);
}
