/* collective: what the cards of a node reach together, through NCCL, called
 * directly by one process that has them all. All-reduce first with the ring alone,
 * whose figure is the rate of the slowest hop and can be judged for any number of
 * cards, then every operation as NCCL chooses to do it in the environment as found.
 * Every result is checked on the cards; a wrong element outweighs any speed. */
#include "collective_say.h"

#include <math.h>

#include "stats/summary.h"

#define SMALLEST 8
/* Pairs are many: a message takes about as long as this at the ring's rate. */
#define PAIR_S 0.04
/* Of the time there is, after which sizes are left out. */
#define SWEEP_SHARE 0.7

static const struct {
	enum collective_op op;
	const char *metric;
} measured[] = {
	{OP_ALL_REDUCE, "collective_allreduce_busbw_gbs"},
	{OP_ALL_GATHER, "collective_allgather_busbw_gbs"},
	{OP_REDUCE_SCATTER, "collective_reducescatter_busbw_gbs"},
	{OP_ALL_TO_ALL, "collective_alltoall_busbw_gbs"},
	{OP_BROADCAST, "collective_broadcast_busbw_gbs"},
	{OP_SEND_RECV, "collective_sendrecv_busbw_gbs"},
};
#define MEASURED (int)(sizeof(measured) / sizeof(*measured))

static const char ring_metric[] = "collective_allreduce_ring_busbw_gbs";
static const char pair_metric[] = "collective_pair_gbs";

/* Arguments of steps; the arena's, since a step may be left behind. */
struct collective_step {
	struct collective *c;
	struct collective_point *point;
	const char *algorithm;
	uint64_t bytes;
};

/* --- sizes of an operation ---------------------------------------- */

static enum status measure_step(struct team *team, void *arg, struct error *err)
{
	struct collective_step *s = arg;

	(void)team;
	return collective_measure(s->c, s->point, err);
}

static enum status open_step(struct team *team, void *arg, struct error *err)
{
	struct collective_step *s = arg;

	(void)team;
	return collective_open(s->c, s->algorithm, err);
}

static enum status close_step(struct team *team, void *arg, struct error *err)
{
	(void)team;
	return collective_close(((struct collective_step *)arg)->c, err);
}

static enum status abort_step(struct team *team, void *arg, struct error *err)
{
	(void)team;
	(void)err;
	collective_abort(((struct collective_step *)arg)->c);
	return ST_OK;
}

static enum status alloc_step(struct team *team, void *arg, struct error *err)
{
	struct collective_step *s = arg;

	(void)team;
	return collective_alloc(s->c, s->bytes, err);
}

static enum status free_step(struct team *team, void *arg, struct error *err)
{
	(void)team;
	(void)err;
	collective_free(((struct collective_step *)arg)->c);
	return ST_OK;
}

/* About all cards: which one it was is known by where the step stood. */
static enum status take_step(struct collective_bench *b, team_step *step,
                             const struct collective_step *like, struct error *err)
{
	struct collective_step *s = arena_alloc(b->ctx->arena, sizeof(*s));

	*s = *like;
	s->c = b->c;
	return team_run(&b->c->team, step, s, -1, -1, err);
}

static struct collective_point *point_new(struct collective_bench *b, enum collective_op op,
                                          uint64_t bytes)
{
	struct probe_ctx *ctx = b->ctx;
	struct collective_point *p = arena_alloc(ctx->arena, sizeof(*p));

	p->checks = (int)ctx->param_int(ctx, "checks");
	p->windows = (int)ctx->param_int(ctx, "windows");
	p->in_place_windows = (int)ctx->param_int(ctx, "in_place_windows");
	p->window_s = ctx->param_real(ctx, "window_s");
	p->raw = &b->raw;
	p->in_place_s = NAN;
	return collective_job_make(&p->job, op, b->c->n, bytes) ? p : NULL;
}

static enum status measure_size(struct collective_bench *b, struct collective_sweep *s,
                                enum collective_op op, uint64_t bytes, struct error *err)
{
	struct collective_point *p = point_new(b, op, bytes);
	enum status st;

	if (!p)
		return ST_OK;
	st = take_step(b, measure_step, &(struct collective_step){.point = p}, err);
	if (st == ST_OK)
		s->points[s->n++] = p;
	return st;
}

static void sweep_release(struct collective_sweep *s)
{
	for (int i = 0; i < s->n; i++)
		samples_release(&s->points[i]->seconds);
}

/* The largest, the sizes between while there is time, and the smallest. */
static enum status sweep_sizes(struct collective_bench *b, struct collective_sweep *s,
                               enum collective_op op, struct error *err)
{
	uint64_t step = (uint64_t)b->ctx->param_int(b->ctx, "step"), bytes = b->c->buffer_bytes;
	struct collective_job job;
	uint64_t least = collective_job_make(&job, op, b->c->n, SMALLEST)
	                         ? SMALLEST
	                         : SMALLEST * (uint64_t)b->c->n;
	enum status st = measure_size(b, s, op, bytes, err);

	for (bytes /= step;
	     collective_job_make(&job, op, b->c->n, bytes) && job.bytes > least && st == ST_OK;
	     bytes /= step) {
		s->cut = clock_now(b->ctx->clock) > b->stop_ns;
		if (s->cut)
			break;
		st = measure_size(b, s, op, bytes, err);
	}
	return st == ST_OK && b->c->buffer_bytes > least ? measure_size(b, s, op, least, err) : st;
}

static void raw_begin(struct collective_bench *b)
{
	str_clear(&b->raw);
	str_add(&b->raw, COLLECTIVE_RAW_HEAD);
}

/* --- the ring, and what NCCL chooses ---------------------------------------- */

static enum status measure_ring(struct collective_bench *b, struct error *err)
{
	struct collective_sweep s = {.n = 0};
	enum status st;

	raw_begin(b);
	st = take_step(b, open_step, &(struct collective_step){.algorithm = "Ring"}, err);
	if (st == ST_OK)
		st = measure_size(b, &s, OP_ALL_REDUCE, b->c->buffer_bytes, err);
	if (st == ST_OK)
		st = collective_emit_busbw(b, ring_metric, &s);
	if (st == ST_OK)
		b->ring_gbs = collective_busbw(b->c, s.points[0], collective_seconds(s.points[0]));
	sweep_release(&s);
	return st == ST_OK ? take_step(b, close_step, &(struct collective_step){0}, err) : st;
}

static enum status measure_op(struct collective_bench *b, int i, struct error *err)
{
	struct collective_sweep s = {.n = 0};
	enum status st;

	if (clock_now(b->ctx->clock) > b->stop_ns && i > 0)
		return collective_say_no_time(b, measured[i].metric);
	raw_begin(b);
	st = sweep_sizes(b, &s, measured[i].op, err);
	if (st == ST_OK)
		st = collective_emit_busbw(b, measured[i].metric, &s);
	if (st == ST_OK && measured[i].op == OP_ALL_REDUCE)
		st = collective_emit_of_ring(b, &s);
	if (st == ST_OK && measured[i].op == OP_ALL_REDUCE)
		st = collective_emit_small(b, &s);
	sweep_release(&s);
	return st;
}

/* --- pairs ---------------------------------------- */

struct pairs {
	struct samples rates;
	double worst;
	int from, to;
	bool wrong;
};

static uint64_t pair_bytes(const struct collective_bench *b)
{
	uint64_t bytes = b->c->buffer_bytes;
	double most = b->ring_gbs * 1e9 * PAIR_S / b->c->team.memory_scale;

	while ((double)bytes > most && bytes / 2 >= SMALLEST)
		bytes /= 2;
	return bytes;
}

static enum status measure_pair(struct collective_bench *b, struct pairs *pairs, int from, int to,
                                struct error *err)
{
	struct collective_point *p = point_new(b, OP_PAIR, pair_bytes(b));
	enum status st;
	double rate;

	p->job.from = from;
	p->job.to = to;
	p->windows = p->checks = 1;
	p->raw = NULL; /* the file has a line for each pair */
	st = take_step(b, measure_step, &(struct collective_step){.point = p}, err);
	if (st == ST_OK) {
		rate = collective_busbw(b->c, p, collective_seconds(p));
		samples_add(&pairs->rates, rate);
		str_addf(&b->raw, "%d,%d,%s,%s,%.6g\n", from, to, b->c->team.cards[from].id,
		         b->c->team.cards[to].id, rate);
		pairs->wrong |= p->wrong;
		if (!(rate >= pairs->worst)) {
			pairs->worst = rate;
			pairs->from = from;
			pairs->to = to;
		}
	}
	samples_release(&p->seconds);
	return st;
}

static enum status emit_pairs(struct collective_bench *b, const struct pairs *pairs)
{
	const struct collective *c = b->c;
	struct reading r = collective_reading(b->ctx, pair_metric);
	int ends[] = {pairs->from, pairs->to};
	enum status st =
		b->ctx->save_raw(b->ctx, "collective_pairs.csv", b->raw.data, b->raw.len, &r.raw);

	samples_to_stats(&pairs->rates, NULL, r.stats);
	r.value_kind = VALUE_NUMBER;
	r.value = pairs->worst;
	r.subject.n_ends = 2;
	for (int i = 0; i < 2; i++)
		r.subject.ends[i] = (struct subject_end){.node = b->ctx->node,
		                                         .card = c->team.cards[ends[i]].id};
	r.subject.id = b->ctx->node;
	r.params = arena_strf(b->ctx->arena, "{\"pairs\":%zu,\"from\":\"%s\",\"to\":\"%s\"}",
	                      pairs->rates.n, c->team.cards[ends[0]].unit.card.pci,
	                      c->team.cards[ends[1]].unit.card.pci);
	if (pairs->wrong)
		collective_blame(b, &r);
	return st == ST_OK ? collective_say(b, &r) : st;
}

static enum status measure_pairs(struct collective_bench *b, struct error *err)
{
	struct pairs pairs = {.worst = NAN};
	enum status st = ST_OK;

	str_clear(&b->raw);
	str_add(&b->raw, "from,to,from_card,to_card,GB/s\n");
	for (int i = 0; i < b->c->n && st == ST_OK; i++)
		for (int k = 0; k < b->c->n && st == ST_OK; k++) {
			if (i == k)
				continue;
			if (clock_now(b->ctx->clock) > b->stop_ns) {
				samples_release(&pairs.rates);
				return collective_say_no_time(b, pair_metric);
			}
			st = measure_pair(b, &pairs, i, k, err);
		}
	if (st == ST_OK)
		st = emit_pairs(b, &pairs);
	samples_release(&pairs.rates);
	return st;
}

/* --- running ---------------------------------------- */

static enum status measure(struct collective_bench *b, struct error *err)
{
	struct probe_ctx *ctx = b->ctx;
	enum status st = measure_ring(b, err);

	ctx->progress(ctx, STAGE_MEASURING, 1.0 / (MEASURED + 2), MSG_doing_collective);
	if (st == ST_OK)
		st = take_step(b, open_step, &(struct collective_step){0}, err);
	for (int i = 0; i < MEASURED && st == ST_OK; i++) {
		st = measure_op(b, i, err);
		ctx->progress(ctx, STAGE_MEASURING, (i + 2.0) / (MEASURED + 2),
		              MSG_doing_collective);
	}
	if (st == ST_OK)
		st = measure_pairs(b, err);
	if (st == ST_OK)
		st = collective_emit_wrong(b);
	return st == ST_OK ? take_step(b, close_step, &(struct collective_step){0}, err) : st;
}

/* What is known of wrong elements stands, whatever came after. Readings go out
 * before communicators are ended, which may take the process along. What a broken
 * node still holds goes with the process. */
static enum status give_up(struct collective_bench *b, const struct error *err)
{
	struct reading like = reading_init();
	struct error ignored = {0};
	enum status st = ST_OK;

	collective_refuse(b, &like, err);
	if (b->c->wrong && !b->wrong_said)
		st = collective_emit_wrong(b);
	if (st == ST_OK)
		st = collective_owe(b, &like);
	take_step(b, abort_step, &(struct collective_step){0}, &ignored);
	error_release(&ignored);
	return st;
}

static enum status with_cards(struct collective_bench *b)
{
	struct collective *c = b->c;
	struct probe_ctx *ctx = b->ctx;
	struct error err = {0};
	uint64_t least = SMALLEST * (uint64_t)c->n;
	uint64_t bytes = (uint64_t)((double)ctx->param_int(ctx, "max_size") / c->team.memory_scale);
	enum status st = nccl_open(&c->nccl, ctx->arena, &c->team.where, &err);

	ctx->simulated |= gpu_lib_simulated(&c->nccl.lib);
	c->rank = arena_array(ctx->arena, (size_t)c->n, sizeof(*c->rank));
	c->wrong_of = arena_array(ctx->arena, (size_t)c->n, sizeof(*c->wrong_of));
	c->ranks = c->n;
	for (int r = 0; r < c->n; r++)
		c->rank[r].number = r;
	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_doing_collective);
	if (st == ST_OK)
		st = take_step(b, alloc_step,
		               &(struct collective_step){.bytes = bytes < least ? least : bytes},
		               &err);
	if (st == ST_OK)
		st = measure(b, &err);
	if (st == ST_OK)
		st = take_step(b, free_step, &(struct collective_step){0}, &err);
	if (err.status != ST_OK)
		st = give_up(b, &err);
	else
		team_close(&c->team);
	error_release(&err);
	return st;
}

/* Whose collective it would be. */
static enum status without(struct collective_bench *b, bool *ends)
{
	struct collective *c = b->c;
	struct reading like = reading_init();

	*ends = true;
	for (int i = 0; i < c->n; i++)
		if (!team_has(&c->team, i)) {
			like.outcome = c->team.cards[i].outcome;
			reason_set(b->ctx, &like.reason, MSG_card_refused,
			           collective_card_name(c, i), c->team.cards[i].why);
			return collective_owe(b, &like);
		}
	if (c->n == 1) {
		like.outcome = OUTCOME_UNSUPPORTED;
		reason_set(b->ctx, &like.reason, MSG_collective_one_card);
		return collective_owe(b, &like);
	}
	*ends = false;
	return ST_OK;
}

static enum status run(struct probe_ctx *ctx)
{
	struct collective *c = arena_alloc(ctx->arena, sizeof(*c));
	struct collective_bench b = {.c = c, .ctx = ctx};
	double timeout_s = ctx->param_real(ctx, "timeout_s");
	struct error err = {0};
	struct reading like = reading_init();
	bool ends = true;
	enum status st;

	ctx->progress(ctx, STAGE_LOADING, -1, MSG_doing_load);
	c->ctx = ctx;
	c->log = collective_log_open(ctx->arena);
	c->timeout_ns = (int64_t)(timeout_s * 1e9);
	/* Waits end by our own deadline; twice that is a driver that does not answer. */
	st = team_open(&c->team, ctx, 2 * timeout_s, &err);
	c->n = c->team.count;
	b.stop_ns = clock_now(ctx->clock) +
	            (int64_t)(SWEEP_SHARE * (double)(ctx->deadline_ns - clock_now(ctx->clock)));
	if (st != ST_OK) {
		collective_refuse(&b, &like, &err);
		if (!c->team.cuda.lib.handle && err.status == ST_NOTFOUND)
			reason_set(ctx, &like.reason, MSG_no_driver, "libcuda.so.1");
		st = collective_owe(&b, &like);
	} else {
		st = without(&b, &ends);
		if (!ends)
			st = with_cards(&b);
		else
			team_close(&c->team);
	}
	error_release(&err);
	str_release(&b.raw);
	return st;
}

static double duration(struct probe_ctx *ctx)
{
	double steps = 1 + log((double)ctx->param_int(ctx, "max_size") / SMALLEST) /
	                           log((double)ctx->param_int(ctx, "step"));
	double windows =
		(double)(ctx->param_int(ctx, "windows") + ctx->param_int(ctx, "in_place_windows"));

	/* Opening twice, pairs; small sizes take a fraction of a window. */
	return 25 +
	       (MEASURED + 1) * (0.3 + 0.6 * steps * windows * ctx->param_real(ctx, "window_s"));
}

static const struct param params[] = {
	{"max_size",
         PARAM_SIZE,
         "B",
         {"8G", "8G", "8G"},
         4096,
         1e12,
         NULL,
         MSG_help_collective_max_size},
	{"step", PARAM_INT, "1", {"1024", "8", "2"}, 2, 1 << 30, NULL, MSG_help_collective_step},
	{"checks", PARAM_INT, "1", {"2", "5", "50"}, 1, 100000, NULL, MSG_help_collective_checks},
	{"windows", PARAM_INT, "1", {"3", "5", "20"}, 1, 100000, NULL, MSG_help_windows},
	{"in_place_windows",
         PARAM_INT,
         "1",
         {"0", "1", "5"},
         0,
         100000,
         NULL,
         MSG_help_collective_in_place},
	{"window_s", PARAM_REAL, "s", {"0.05", "0.1", "0.2"}, 1e-6, 60, NULL, MSG_help_window_s},
	{"timeout_s",
         PARAM_REAL,
         "s",
         {"60", "60", "120"},
         0.01,
         3600,
         NULL,
         MSG_help_collective_timeout},
	{0},
};

static const struct metric metrics[] = {
	{"collective_allreduce_ring_busbw_gbs", "GB/s", BETTER_HIGHER, SUBJECT_NODE, BACKEND_CUDA,
         "2 (n-1)/n x bytes / seconds of the slowest card; all cards of the node, ring algorithm"},
	{"collective_wrong_elements", "1", BETTER_LOWER, SUBJECT_NODE, BACKEND_CUDA,
         "elements of a collective's result that differ from the known sum"},
	{"collective_allreduce_busbw_gbs", "GB/s", BETTER_HIGHER, SUBJECT_NODE, BACKEND_CUDA,
         "2 (n-1)/n x bytes / seconds of the slowest card; algorithm as NCCL chooses: one that "
         "adds up in the switch goes above the rate of the wire"},
	{"collective_allreduce_of_ring", "1", BETTER_HIGHER, SUBJECT_NODE, BACKEND_CUDA,
         "busbw of the largest all-reduce with the algorithm NCCL chooses / with the ring"},
	{"collective_allreduce_node_us", "us", BETTER_LOWER, SUBJECT_NODE, BACKEND_CUDA,
         "seconds of the slowest card for an 8-byte all-reduce, many queued; median of windows"},
	{"collective_allgather_busbw_gbs", "GB/s", BETTER_HIGHER, SUBJECT_NODE, BACKEND_CUDA,
         "(n-1)/n x bytes of all ranks / seconds of the slowest card"},
	{"collective_reducescatter_busbw_gbs", "GB/s", BETTER_HIGHER, SUBJECT_NODE, BACKEND_CUDA,
         "(n-1)/n x bytes of all ranks / seconds of the slowest card"},
	{"collective_alltoall_busbw_gbs", "GB/s", BETTER_HIGHER, SUBJECT_NODE, BACKEND_CUDA,
         "(n-1)/n x bytes of a rank to all / seconds of the slowest card; grouped send and "
         "receive"},
	{"collective_broadcast_busbw_gbs", "GB/s", BETTER_HIGHER, SUBJECT_NODE, BACKEND_CUDA,
         "bytes / seconds of the slowest card"},
	{"collective_sendrecv_busbw_gbs", "GB/s", BETTER_HIGHER, SUBJECT_NODE, BACKEND_CUDA,
         "bytes / seconds of the slowest card, each card sending to the next"},
	{"collective_pair_gbs", "GB/s", BETTER_HIGHER, SUBJECT_LINK, BACKEND_CUDA,
         "bytes / seconds of a send from one card to another, no other card at work; the slowest "
         "pair of the node"},
	{0},
};

const struct probe probe_collective = {
	.name = "collective",
	.title = MSG_probe_collective,
	.subject = SUBJECT_NODE,
	.phase = "cards",
	.exclusive = true,
	.seconds = {20, 45, 240},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.supported = cards_support,
	.run = run,
};
