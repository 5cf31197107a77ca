/* storage_all: what all nodes together get from a path at the same time, and
 * whether it is the same storage for all of them. Drives of many nodes can each be
 * fast and add up to no shared storage, and a shared one that is fast for one node
 * can be slow for all at once: neither shows on one node.
 *
 * A child on each node does what the first one says (storage_all.h), which alone
 * speaks. Figures are of all nodes or of none. */
#include "storage_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/unit.h"
#include "storage_streams.h"

#define PER_CARD    1000 /* IOPS: 1000K for 1,000 cards */
#define NODE_GPUS   8    /* of a node whose cards nobody can count */
#define TRIES       2
#define POINTS_MOST 8

static bool blame(struct all_lead *l, enum outcome outcome, enum msg id, const char *const *args)
{
	l->outcome = outcome;
	reason_set_list(l->ctx, &l->reason, id, args);
	return false;
}
#define missing(l, id, ...)                                                                        \
	blame(l, OUTCOME_NOT_MEASURED, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* --- a step on all nodes --------------------------------------------------------------- */

static struct all_answer *answers_for(const struct all_lead *l)
{
	return arena_array(l->ctx->arena, (size_t)l->ctx->n_peers, sizeof(struct all_answer));
}

/* The parts that are missing; of several the first is told, and how many more. */
static bool all_are_there(struct all_lead *l, const struct all_answer *answers)
{
	int count = 0, first = -1;

	for (int i = 0; i < l->ctx->n_peers; i++) {
		if (answers[i].outcome == OUTCOME_MEASURED)
			continue;
		count++;
		if (first < 0)
			first = i;
	}
	if (count == 0)
		return true;
	/* Of data that are not kept no figure may look merely absent. */
	blame(l, answers[first].outcome == OUTCOME_FAILED ? OUTCOME_FAILED : OUTCOME_NOT_MEASURED,
	      count == 1 ? MSG_storage_all_missing : MSG_storage_all_missing_more,
	      (const char *const[]){l->ctx->peers[first], answers[first].why,
	                            count > 1 ? tmpf("%d", count - 1) : NULL, NULL});
	return false;
}

static double now_s(const struct all_lead *l)
{
	return (double)clock_wall(l->ctx->clock) / 1e9;
}

/* of: answers with the bytes of each node's file to read, NULL: none is read. */
static bool all_do(struct all_lead *l, struct all_order order, const struct all_answer *of,
                   struct all_answer *answers)
{
	struct probe_ctx *ctx = l->ctx;
	int n = ctx->n_peers;
	int64_t until;
	double limit_s = all_step_seconds(ctx, order.step) + ctx->param_real(ctx, "patience_s");

	if (order.step == ALL_BASE)
		limit_s += ALL_VERIFY_S;
	until = clock_now(ctx->clock) + (int64_t)(limit_s * 1e9);
	for (int i = n - 1; i >= 0; i--) {
		order.sent_s = now_s(l);
		order.bytes = of ? of[(i + 1) % n].bytes : 0;
		if (i > 0)
			all_send_order(ctx, i, &order);
	}
	all_node_do(l->self, &order, &answers[0]);
	for (int i = 1; i < n; i++)
		all_recv_answer(ctx, i, (double)(until - clock_now(ctx->clock)) / 1e9, &answers[i]);
	return all_are_there(l, answers);
}

/* --- is it shared? ------------------------------------------------------------------------ */

static bool sees(const struct all_answer *answers, int i, int k)
{
	const char *digits = answers[i].seen ? answers[i].seen : "";

	if ((size_t)k / 4 >= strlen(digits))
		return false;
	return strtol((char[]){digits[k / 4], '\0'}, NULL, 16) >> k % 4 & 1;
}

static bool see_each_other(const struct all_answer *answers, int i, int k)
{
	return i != k && sees(answers, i, k) && sees(answers, k, i);
}

/* How many others it shares the path with. */
static int friends(const struct all_lead *l, const struct all_answer *answers, int i)
{
	int count = 0;

	for (int k = 0; k < l->ctx->n_peers; k++)
		count += see_each_other(answers, i, k);
	return count;
}

/* The nodes apart from those around one that shares with the most. */
static const char *nodes_apart(const struct all_lead *l, const struct all_answer *answers,
                               int middle)
{
	struct str text = {0};
	const char *kept;
	int count = 0;

	for (int k = 0; k < l->ctx->n_peers; k++) {
		if (k == middle || see_each_other(answers, middle, k))
			continue;
		if (count++ < ALL_NAMED_MOST)
			str_addf(&text, "%s%s", text.len ? ", " : "", l->ctx->peers[k]);
	}
	if (count > ALL_NAMED_MOST)
		str_addf(&text, " + %d", count - ALL_NAMED_MOST);
	kept = arena_str(l->ctx->arena, str_text(&text));
	str_release(&text);
	return kept;
}

/* Says it; true: it is, for all. */
static bool is_shared(struct all_lead *l, const struct all_answer *answers)
{
	int n = l->ctx->n_peers, middle = 0, most = 0;
	bool all = true;
	const char *apart;

	for (int i = 0; i < n; i++) {
		int count = friends(l, answers, i);

		all = all && count == n - 1;
		middle = count > most ? i : middle;
		most = count > most ? count : most;
	}
	if (all) {
		all_say_shared(l, "yes", NULL);
		return true;
	}
	apart = nodes_apart(l, answers, middle);
	if (most == 0) {
		all_say_shared(l, "no", NULL);
		return missing(l, MSG_storage_all_not_shared, l->ctx->subject_id);
	}
	all_say_shared(l, arena_strf(l->ctx->arena, "partly, not: %s", apart), apart);
	return missing(l, MSG_storage_all_partly, l->ctx->subject_id, apart);
}

/* --- operating points --------------------------------------------------------------------- */

static void count_cards(struct all_lead *l)
{
	double target = l->ctx->param_real(l->ctx, "target_iops");

	for (int i = 0; i < l->ctx->n_peers && l->cards >= 0; i++)
		l->cards = l->ready[i].cards < 0 ? -1 : l->cards + l->ready[i].cards;
	if (target <= 0)
		target = PER_CARD * (double)(l->cards > 0 ? l->cards : NODE_GPUS * l->ctx->n_peers);
	l->target_iops = target;
}

/* One that works on all: psync does wherever another one does. */
static const char *common_engine(const struct all_lead *l)
{
	for (int i = 0; i < l->ctx->n_peers; i++)
		if (!l->ready[i].engine || !l->ready[0].engine ||
		    strcmp(l->ready[i].engine, l->ready[0].engine) != 0)
			return "psync";
	return l->ready[0].engine;
}

static int least_room(const struct all_lead *l)
{
	int room = ALL_MOST_DEPTH;

	for (int i = 0; i < l->ctx->n_peers; i++)
		room = l->ready[i].room < room ? l->ready[i].room : room;
	return room > 1 ? room : 1;
}

/* What the slowest node needs for its part of the target (Little), as a power of
 * two: fio's io_uring makes it one, whatever it is told. */
static int first_depth(struct all_lead *l)
{
	int power = 1;
	long depth = l->ctx->param_int(l->ctx, "depth");
	double slowest_s = 0;

	for (int i = 0; i < l->ctx->n_peers; i++)
		slowest_s = fmax(slowest_s, l->base[i].mean_s);
	if (depth == 0)
		depth = offered_depth(fmin(l->target_iops, 1e12), slowest_s, l->ctx->n_peers);
	while (power < depth && power < ALL_MOST_DEPTH)
		power *= 2;
	return power;
}

static double offered(const struct all_lead *l, int depth)
{
	double iops = 0;

	for (int i = 0; i < l->ctx->n_peers; i++)
		if (l->base[i].mean_s > 0)
			iops += offered_iops(1, depth, l->base[i].mean_s);
	return iops;
}

/* A run of all nodes, and once more when they did not run at once. */
static bool run_together(struct all_lead *l, struct all_order order, const struct all_answer *of,
                         struct all_run *run)
{
	struct probe_ctx *ctx = l->ctx;
	struct all_answer *answers = answers_for(l);
	struct share *shares = arena_array(ctx->arena, (size_t)ctx->n_peers, sizeof(*shares));
	bool *slow = arena_array(ctx->arena, (size_t)ctx->n_peers, sizeof(*slow));

	*run = (struct all_run){
		.depth = order.depth, .engine = order.engine, .answers = answers, .slow = slow};
	do {
		run->tries++;
		order.at_s = run->at_s = now_s(l) + all_start_s(ctx);
		if (!all_do(l, order, of, answers))
			return false;
		for (int i = 0; i < ctx->n_peers; i++)
			shares[i] = answers[i].share;
		if (together_rate(shares, (size_t)ctx->n_peers, &run->together, slow) != ST_OK)
			return missing(l, MSG_storage_all_garbled);
	} while (!(run->together.skew <= TOGETHER_SKEW) && run->tries < TRIES);
	return true;
}

static double worst_p99_s(const struct all_lead *l, const struct all_run *run)
{
	double worst = 0;

	for (int i = 0; i < l->ctx->n_peers; i++)
		worst = fmax(worst, run->answers[i].p99_s);
	return worst;
}

/* Under load a read takes longer than alone, so the first depth may be too small:
 * that must not look like a slow storage. Where the latency is used up a deeper
 * queue cannot help. */
static bool goes_deeper(struct all_lead *l, const struct all_run *run, int done)
{
	if (done < l->ctx->param_int(l->ctx, "points"))
		return true;
	return done < POINTS_MOST && run->together.conservative < l->target_iops &&
	       worst_p99_s(l, run) * 1e3 <= l->ctx->param_real(l->ctx, "p99_ms");
}

static bool random_points(struct all_lead *l, const char *engine)
{
	int room = least_room(l), depth = first_depth(l), last = 0, done = 0;
	struct all_order order = {.step = ALL_RANDOM, .engine = engine};
	struct all_run run;

	do {
		order.depth = depth < room ? depth : room;
		if (order.depth == last)
			break;
		if (!run_together(l, order, l->ready, &run)) {
			all_say_point(l, order.depth, NULL);
			return false;
		}
		run.offered_iops = offered(l, order.depth);
		all_say_point(l, order.depth, &run);
		last = order.depth;
		depth *= 2;
	} while (goes_deeper(l, &run, ++done));
	return true;
}

static bool streams_together(struct all_lead *l, const char *engine)
{
	struct all_run run;
	const struct all_answer *files;

	if (l->ctx->param_int(l->ctx, "streams") == 0)
		return missing(l, MSG_storage_left_out, "streams");
	if (!run_together(l, (struct all_order){.step = ALL_WRITE, .engine = engine}, NULL, &run))
		return false;
	all_say_stream(l, ALL_WRITE_GBS, &run);
	files = run.answers;
	if (!run_together(l, (struct all_order){.step = ALL_READ, .engine = engine}, files, &run))
		return false;
	all_say_stream(l, ALL_READ_GBS, &run);
	return true;
}

/* --- the course ----------------------------------------------------------------------------- */

static bool measure(struct all_lead *l)
{
	struct all_answer *met = answers_for(l);
	const char *engine;

	if (!all_do(l, (struct all_order){.step = ALL_MEET}, NULL, met) ||
	    !all_do(l, (struct all_order){.step = ALL_LOOK}, NULL, met) || !is_shared(l, met))
		return false;
	if (!all_do(l, (struct all_order){.step = ALL_PREPARE}, NULL, l->ready))
		return false;
	engine = common_engine(l);
	count_cards(l);
	if (!all_do(l,
	            (struct all_order){.step = ALL_BASE,
	                               .engine = engine,
	                               .at_s = now_s(l) + all_start_s(l->ctx)},
	            l->ready, l->base))
		return false;
	return random_points(l, engine) && streams_together(l, engine);
}

static void lead(struct all_node *self)
{
	struct probe_ctx *ctx = self->ctx;
	struct all_lead l = {.ctx = ctx, .self = self};

	l.ready = answers_for(&l);
	l.base = answers_for(&l);
	measure(&l);
	all_say_rest(&l);
	for (int i = 1; i < ctx->n_peers; i++)
		all_send_order(ctx, i, &(struct all_order){.step = ALL_OVER, .sent_s = now_s(&l)});
}

/* Longer than the first node can wait for another one. */
static double longest_silence_s(struct probe_ctx *ctx)
{
	double longest = 0;

	for (int step = 0; step < ALL_STEPS; step++)
		longest = fmax(longest, all_step_seconds(ctx, (enum all_step)step));
	return longest + ALL_VERIFY_S + 2 * ctx->param_real(ctx, "patience_s");
}

static enum status follow(struct all_node *self)
{
	struct probe_ctx *ctx = self->ctx;
	double longest = longest_silence_s(ctx);
	struct all_order order;
	struct all_answer answer;

	for (;;) {
		enum status st = all_recv_order(ctx, longest, &order);

		if (st != ST_OK || order.step == ALL_OVER)
			return st;
		all_node_do(self, &order, &answer);
		st = all_send_answer(ctx, &answer);
		if (st != ST_OK)
			return st;
	}
}

/* One node alone has nothing to say of all. */
static enum status alone(struct probe_ctx *ctx)
{
	struct all_lead l = {.ctx = ctx};

	missing(&l, MSG_storage_unproven, ctx->subject_id);
	all_say_rest(&l);
	return ST_OK;
}

static enum status run(struct probe_ctx *ctx)
{
	struct all_node self;
	enum status st = ST_OK;

	if (ctx->n_peers < 2)
		return alone(ctx);
	self = all_node_init(ctx);
	if (ctx->self_index == 0)
		lead(&self);
	else
		st = follow(&self);
	all_node_release(&self);
	return st;
}

static double duration(struct probe_ctx *ctx)
{
	double points = (double)ctx->param_int(ctx, "points"), seconds = 5;

	for (int step = 0; step < ALL_STEPS; step++)
		seconds += (step == ALL_RANDOM ? points : 1) *
		           all_step_seconds(ctx, (enum all_step)step);
	return seconds;
}

/* clang-format off */
static const struct param params[] = {
	{"size", PARAM_SIZE, "B", {"256M", "2G", "16G"}, 1 << 20, 0x1p50, NULL,
		MSG_help_storage_all_size},
	{"write_s", PARAM_REAL, "s", {"20", "60", "600"}, 1, 86400, NULL, MSG_help_storage_write},
	{"depth", PARAM_INT, "1", {"0", "0", "0"}, 0, ALL_MOST_DEPTH, NULL,
		MSG_help_storage_all_depth},
	{"points", PARAM_INT, "1", {"1", "3", "3"}, 1, POINTS_MOST, NULL, MSG_help_storage_all_points},
	{"p99_ms", PARAM_REAL, "ms", {"1", "1", "1"}, 0.001, 1e6, NULL, MSG_help_storage_all_p99},
	{"target_iops", PARAM_REAL, "IOPS", {"0", "0", "0"}, 0, 1e12, NULL,
		MSG_help_storage_all_target},
	{"hold_s", PARAM_REAL, "s", {"5", "30", "300"}, 0.5, 86400, NULL,
		MSG_help_storage_all_hold},
	{"ramp_s", PARAM_REAL, "s", {"1", "2", "10"}, 0, 600, NULL, MSG_help_storage_ramp},
	{"base_s", PARAM_REAL, "s", {"1", "2", "5"}, 0.2, 600, NULL, MSG_help_storage_all_base},
	{"streams", PARAM_INT, "1", {"4", "4", "4"}, 0, 64, NULL, MSG_help_storage_all_streams},
	{"stream_size", PARAM_SIZE, "B", {"256M", "4G", "32G"}, 1 << 20, 0x1p50, NULL,
		MSG_help_storage_all_stream_size},
	{"stream_s", PARAM_REAL, "s", {"5", "15", "60"}, 0.5, 86400, NULL,
		MSG_help_storage_all_stream_s},
	{"patience_s", PARAM_REAL, "s", {"30", "30", "60"}, 0.5, 3600, NULL,
		MSG_help_storage_all_patience},
	{"engine", PARAM_WORD, "", {"auto", "auto", "auto"}, 0, 0,
		"auto|io_uring|libaio|psync", MSG_help_storage_engine},
	{0},
};
/* clang-format on */

const struct probe probe_storage_all = {
	.name = "storage_all",
	.title = MSG_probe_storage_all,
	.subject = SUBJECT_PATH,
	.phase = "storage",
	.exclusive = true,
	.all_nodes = true,
	.needs_storage = true,
	.seconds = {60, 240, 1800},
	.duration = duration,
	/* Deeper points, second tries. */
	.extension_s = {60, 300, 2400},
	.params = params,
	.metrics = storage_all_metrics,
	.supported = streams_supported,
	.try_run = streams_try_run,
	.run = run,
};
