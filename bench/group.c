/* group: whether all nodes can add up together over plain TCP, on their CPUs: the
 * ring that training runs, without a GPU or a library that could be absent. It finds
 * the node that hangs, lies or is not reached before a job of days does; its rates
 * are those of sockets and say nothing of NCCL or RDMA.
 *
 * All do the same steps; what they have to agree on is itself a sum, which has the
 * same bits everywhere. The first one emits. */
#include "group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "stats/samples.h"
#include "stats/scaling.h"
#include "stats/summary.h"

#define WARM_CALLS   3
#define SMALL_LEAST  10  /* calls */
#define SMALL_MOST_S 0.5 /* for all of them, as the warm ones went */
#define LEAST_RATE   1e7 /* B/s of the ring; slower is silent */
#define WINDOW_S     1

enum figure { TIME, BUSBW, WORST, FIGURES };

static const char *const figure_names[FIGURES] = {
	"group_allreduce_time_us",
	"group_allreduce_busbw_gbs",
	"group_allreduce_worst_second",
};

/* What each node tells all others: its place in a sum in which theirs are 0. */
struct part {
	double small_us;     /* median of its calls */
	double wrong, first; /* elements of these calls, and which one */
};

struct bench {
	struct probe_ctx *ctx;
	struct group *g;
	uint64_t call; /* so that no two have the same data */
	float *data;
	size_t count;
	int calls;              /* small ones */
	double mean_s;          /* of the warm ones, over all nodes */
	struct samples seconds; /* of the large calls, on this node */
	struct part own, *parts;
	bool said[FIGURES];
	struct reading missing; /* outcome, reason and params of what is not said */
};

/* --- data ------------------------------------------------------------------------------ */

/* From -512 to 511. Two of them are added up on each node: up to 16,384 nodes their
 * sum is whole and below 2^24, so that a float holds it whatever the order. */
static int term(uint64_t seed, uint64_t k)
{
	uint64_t h = (seed ^ k) * 0x9e3779b97f4a7c15ULL;

	h ^= h >> 32;
	return (int)(h * 0xbf58476d1ce4e5b9ULL >> 54) - 512;
}

static int node_term(const struct bench *b, int node)
{
	return term(b->ctx->seed, ~(uint64_t)node);
}

static uint64_t call_seed(const struct bench *b)
{
	return b->ctx->seed + (b->call << 32);
}

static double sum_of_nodes(const struct bench *b)
{
	double sum = 0;

	for (int i = 0; i < b->ctx->n_peers; i++)
		sum += node_term(b, i);
	return sum;
}

static void note_wrong(struct bench *b, size_t k)
{
	if (b->own.wrong++ == 0)
		b->own.first = (double)k;
}

static void fill(const struct bench *b)
{
	uint64_t seed = call_seed(b);
	int own = node_term(b, b->ctx->self_index);

	for (size_t k = 0; k < b->count; k++)
		b->data[k] = (float)(term(seed, k) + own);
}

static void check(struct bench *b)
{
	uint64_t seed = call_seed(b);
	float all = (float)sum_of_nodes(b), n = (float)b->ctx->n_peers;

	for (size_t k = 0; k < b->count; k++)
		if (b->data[k] != n * (float)term(seed, k) + all)
			note_wrong(b, k);
}

/* --- together --------------------------------------------------------------------------- */

static int64_t in_s(const struct bench *b, double seconds)
{
	return clock_now(b->ctx->clock) + (int64_t)(seconds * 1e9);
}

static int64_t soon(const struct bench *b)
{
	return in_s(b, b->ctx->param_real(b->ctx, "silence_s"));
}

/* The mean over all nodes, the same one for all. */
static enum status agree(struct bench *b, double own, double *all, struct error *err)
{
	enum status st = group_all_reduce_double(b->g, &own, 1, soon(b), err);

	*all = own / b->ctx->n_peers;
	return st;
}

static enum status exchange(struct bench *b, struct error *err)
{
	size_t n = (size_t)b->ctx->n_peers, width = sizeof(struct part) / sizeof(double);

	memset(b->parts, 0, n * sizeof(*b->parts));
	b->parts[b->ctx->self_index] = b->own;
	return group_all_reduce_double(b->g, (double *)b->parts, n * width, soon(b), err);
}

/* --- one number ---------------------------------------------------------------------------- */

static enum status small_call(struct bench *b, double *seconds, struct error *err)
{
	double x, expected;
	int64_t began;
	enum status st;

	b->call++;
	x = term(call_seed(b), 0) + node_term(b, b->ctx->self_index);
	expected = (double)b->ctx->n_peers * term(call_seed(b), 0) + sum_of_nodes(b);
	st = group_barrier(b->g, soon(b), err);
	if (st != ST_OK)
		return st;
	began = clock_now(b->ctx->clock);
	st = group_all_reduce_double(b->g, &x, 1, soon(b), err);
	*seconds = (double)(clock_now(b->ctx->clock) - began) / 1e9;
	if (st == ST_OK && x != expected)
		note_wrong(b, 0);
	return st;
}

static enum status small_calls(struct bench *b, int count, struct samples *us, struct error *err)
{
	enum status st = ST_OK;
	double seconds;

	for (int i = 0; i < count && st == ST_OK; i++) {
		st = small_call(b, &seconds, err);
		if (st == ST_OK)
			samples_add(us, seconds * 1e6);
	}
	return st;
}

static enum status measure_small(struct bench *b, struct error *err)
{
	struct samples us = {0};
	double most = (double)b->ctx->param_int(b->ctx, "calls");
	enum status st = small_calls(b, WARM_CALLS, &us, err);

	if (st == ST_OK)
		st = agree(b, mean(us.value, us.n) / 1e6, &b->mean_s, err);
	samples_clear(&us);
	if (st == ST_OK) {
		/* A barrier lies before each. */
		most = fmin(most, SMALL_MOST_S / (2 * b->mean_s));
		b->calls = most < SMALL_LEAST ? SMALL_LEAST : (int)most;
		st = small_calls(b, b->calls, &us, err);
	}
	if (st == ST_OK) {
		b->own.small_us = median(us.value, us.n);
		st = exchange(b, err);
	}
	samples_release(&us);
	return st;
}

/* --- much of it ------------------------------------------------------------------------------ */

static enum status large_call(struct bench *b, double *seconds, struct error *err)
{
	double bytes = (double)(b->count * sizeof(*b->data));
	int64_t began;
	enum status st;

	b->call++;
	fill(b);
	st = group_barrier(b->g, soon(b), err);
	if (st != ST_OK)
		return st;
	began = clock_now(b->ctx->clock);
	st = group_all_reduce_float(
		b->g, b->data, b->count,
		in_s(b, b->ctx->param_real(b->ctx, "silence_s") + 2 * bytes / LEAST_RATE), err);
	*seconds = (double)(clock_now(b->ctx->clock) - began) / 1e9;
	if (st == ST_OK)
		check(b);
	return st;
}

/* Until all have been at it for `seconds` on the average. */
static enum status measure_large(struct bench *b, struct error *err)
{
	double seconds = b->ctx->param_real(b->ctx, "seconds"), own = 0, all = 0, one;
	enum status st;

	b->own.wrong = 0;
	st = large_call(b, &one, err);

	while (st == ST_OK && all < seconds) {
		b->ctx->progress(b->ctx, STAGE_MEASURING, all / seconds, MSG_doing_group);
		st = large_call(b, &one, err);
		if (st != ST_OK)
			break;
		samples_add(&b->seconds, one);
		own += one;
		st = agree(b, own, &all, err);
	}
	return st == ST_OK ? exchange(b, err) : st;
}

/* --- readings --------------------------------------------------------------------------------- */

static struct reading blank(struct bench *b, enum figure f)
{
	struct reading r = reading_init();

	r.metric = figure_names[f];
	r.subject.kind = SUBJECT_CLUSTER;
	r.subject.id = b->ctx->subject_id;
	b->said[f] = true;
	return r;
}

static enum status say_rest(struct bench *b)
{
	enum status st = ST_OK;

	for (int f = 0; f < FIGURES && st == ST_OK; f++) {
		struct reading r;

		if (b->said[f])
			continue;
		r = blank(b, (enum figure)f);
		r.outcome = b->missing.outcome;
		r.reason = b->missing.reason;
		r.params = b->missing.params;
		st = b->ctx->emit(b->ctx, &r);
	}
	return st;
}

static const char *kept(struct bench *b, struct json_out *j)
{
	const char *text;

	json_object_end(j);
	text = arena_str(b->ctx->arena, j->out->data);
	str_release(j->out);
	return text;
}

static void put_all(struct json_out *j, const struct bench *b, size_t bytes, int64_t calls)
{
	const struct net_address end = group_end(b->g);

	json_put_string(j, "transport", "TCP over sockets, a ring of the hosts' CPUs; not NCCL");
	json_put_int(j, "nodes", b->ctx->n_peers);
	json_put_int(j, "bytes", (int64_t)bytes);
	json_put_int(j, "calls", calls);
	json_put_string(j, "checked", "every sum, on every node");
	/* Of the first node, to the second. */
	json_put_string(j, "interface", end.interface);
	json_put_string(j, "address", end.text);
	if (end.speed_mbps >= 0)
		json_put_int(j, "speed_mbps", end.speed_mbps);
}

/* True: sums were wrong, and r says on which nodes. */
static bool say_wrong(struct bench *b, struct reading *r)
{
	int n = b->ctx->n_peers, count = 0, first = -1;

	for (int i = 0; i < n; i++) {
		if (b->parts[i].wrong == 0)
			continue;
		count++;
		if (first < 0)
			first = i;
	}
	if (count == 0)
		return false;
	r->outcome = OUTCOME_FAILED;
	reason_set(b->ctx, &r->reason, MSG_group_wrong, tmpf("%d", count), tmpf("%d", n),
	           b->ctx->peers[first], tmpf("%.0f", b->parts[first].wrong),
	           tmpf("%.0f", b->parts[first].first));
	return true;
}

static void set_value(struct reading *r, double value)
{
	r->value_kind = VALUE_NUMBER;
	r->value = value;
}

/* A call takes as long as on the node where it is longest. */
static enum status say_time(struct bench *b)
{
	struct reading r = blank(b, TIME);
	struct samples us = {0};
	struct str csv = {0}, text = {0};
	struct json_out j = json_writer(&text, 0);
	int n = b->ctx->n_peers, slowest = 0;
	enum status st;

	str_add(&csv, "node,median_us\n");
	for (int i = 0; i < n; i++) {
		samples_add(&us, b->parts[i].small_us);
		slowest = b->parts[i].small_us > b->parts[slowest].small_us ? i : slowest;
		str_addf(&csv, "%s,%.3f\n", b->ctx->peers[i], b->parts[i].small_us);
	}
	json_object_begin(&j, NULL);
	put_all(&j, b, sizeof(double), b->calls);
	json_put_string(&j, "slowest", b->ctx->peers[slowest]);
	r.params = kept(b, &j);
	if (!say_wrong(b, &r)) {
		set_value(&r, b->parts[slowest].small_us);
		samples_to_stats(&us, NULL, r.stats);
	}
	b->ctx->save_raw(b->ctx, "group-small.csv", csv.data, csv.len, &r.raw);
	st = b->ctx->emit(b->ctx, &r);
	str_release(&csv);
	samples_release(&us);
	return st;
}

/* The lowest rate, in calls a second, of whole seconds of calls; how many there are. */
static double worst_second(const struct samples *seconds, int *windows)
{
	double least = NAN, at = 0;
	int calls = 0;

	*windows = 0;
	for (size_t i = 0; i < seconds->n; i++) {
		at += seconds->value[i];
		calls++;
		if (at < WINDOW_S)
			continue;
		least = fmin(least, calls / at);
		++*windows;
		at = calls = 0;
	}
	return least;
}

static enum status say_worst(struct bench *b, struct reading r, double total_s)
{
	int windows;
	double least = worst_second(&b->seconds, &windows);

	r.metric = figure_names[WORST];
	b->said[WORST] = true;
	for (int s = 0; s < STATS; s++)
		r.stats[s] = NAN;
	if (r.outcome == OUTCOME_MEASURED && windows >= 2)
		r.value = least * total_s / (double)b->seconds.n;
	else if (r.outcome == OUTCOME_MEASURED) {
		r.value_kind = VALUE_NONE;
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(b->ctx, &r.reason, MSG_net_no_second, tmpf("%.1f", total_s));
	}
	return b->ctx->emit(b->ctx, &r);
}

/* Of the rate: by the spread of the time of a call. */
static void set_interval(struct reading *r, const struct bench *b, double moved, double total_s)
{
	double half, mean_s = total_s / (double)b->seconds.n;

	scaling_pace(b->seconds.value, b->seconds.n, &half);
	if (!(half < mean_s))
		return;
	r->stats[STAT_CI_LO] = moved / (mean_s + half);
	r->stats[STAT_CI_HI] = moved / (mean_s - half);
}

static enum status say_rate(struct bench *b)
{
	struct reading r = blank(b, BUSBW);
	size_t bytes = b->count * sizeof(*b->data);
	double n = b->ctx->n_peers, moved = 2 * (n - 1) / n * (double)bytes / 1e9, total_s = 0;
	struct samples rates = {0};
	struct str csv = {0}, text = {0};
	struct json_out j = json_writer(&text, 0);
	enum status st;

	str_add(&csv, "seconds,busbw_gbs\n");
	for (size_t i = 0; i < b->seconds.n; i++) {
		double s = b->seconds.value[i];

		total_s += s;
		samples_add(&rates, moved / s);
		str_addf(&csv, "%.6f,%.4f\n", s, moved / s);
	}
	json_object_begin(&j, NULL);
	put_all(&j, b, bytes, (int64_t)b->seconds.n);
	json_put_number(&j, "seconds", total_s);
	r.params = kept(b, &j);
	if (!say_wrong(b, &r)) {
		set_value(&r, moved * (double)b->seconds.n / total_s);
		samples_to_stats(&rates, NULL, r.stats);
		set_interval(&r, b, moved, total_s);
	}
	b->ctx->save_raw(b->ctx, "group-large.csv", csv.data, csv.len, &r.raw);
	st = b->ctx->emit(b->ctx, &r);
	str_release(&csv);
	samples_release(&rates);
	return st == ST_OK ? say_worst(b, r, total_s) : st;
}

/* --- the course ------------------------------------------------------------------------------- */

static void keep_why(struct bench *b, enum status st, const struct error *err, bool joined)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	int blamed = group_blamed(b->g);

	b->missing.outcome = OUTCOME_NOT_MEASURED;
	if (st == ST_CORRUPT)
		b->missing.outcome = OUTCOME_FAILED;
	else if (st == ST_TIMEOUT && joined)
		b->missing.outcome = OUTCOME_TIMED_OUT;
	reason_set(b->ctx, &b->missing.reason, MSG_group_broke, str_text(&err->text));
	json_object_begin(&j, NULL);
	json_put_int(&j, "nodes", b->ctx->n_peers);
	json_put_string(&j, "blamed", blamed < 0 ? NULL : b->ctx->peers[blamed]);
	b->missing.params = kept(b, &j);
}

static enum status measure(struct bench *b, bool *joined, struct error *err)
{
	struct probe_ctx *ctx = b->ctx;
	const char *only = ctx->param_word(ctx, "interface");
	enum status st;

	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_doing_group_meet);
	st = group_open(ctx, *only ? only : NULL, in_s(b, ctx->param_real(ctx, "meet_s")), &b->g,
	                err);
	*joined = st == ST_OK;
	if (st == ST_OK)
		st = measure_small(b, err);
	if (st == ST_OK && ctx->self_index == 0)
		st = say_time(b);
	if (st == ST_OK)
		st = measure_large(b, err);
	if (st == ST_OK && ctx->self_index == 0)
		st = say_rate(b);
	return st;
}

static enum status alone(struct bench *b)
{
	b->missing.outcome = OUTCOME_NOT_MEASURED;
	reason_set(b->ctx, &b->missing.reason, MSG_group_alone);
	return say_rest(b);
}

static enum status run(struct probe_ctx *ctx)
{
	struct bench b = {.ctx = ctx, .missing = reading_init()};
	size_t n = (size_t)ctx->n_peers;
	struct error err = {0};
	bool joined;
	enum status st;

	if (ctx->n_peers < 2)
		return alone(&b);
	b.count = (size_t)ctx->param_int(ctx, "bytes") / sizeof(*b.data);
	b.data = malloc(b.count * sizeof(*b.data));
	if (!b.data)
		die_nomem();
	b.parts = arena_array(ctx->arena, n, sizeof(*b.parts));
	st = measure(&b, &joined, &err);
	if (st != ST_OK && err.status != ST_OK) {
		keep_why(&b, st, &err, joined);
		st = ctx->self_index == 0 ? say_rest(&b) : ST_OK;
	}
	group_close(b.g);
	free(b.data);
	samples_release(&b.seconds);
	error_release(&err);
	return st;
}

static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

/* Joining, small calls, and as much for making and checking data as for sending it. */
static double duration(struct probe_ctx *ctx)
{
	return 2 + 2 * ctx->param_real(ctx, "seconds");
}

/* clang-format off */
static const struct param params[] = {
	{"bytes", PARAM_SIZE, "B", {"16M", "64M", "64M"}, 1024, 1 << 30, NULL, MSG_help_group_bytes},
	{"seconds", PARAM_REAL, "s", {"2", "5", "20"}, 0.1, 3600, NULL, MSG_help_group_seconds},
	{"calls", PARAM_INT, "1", {"200", "1000", "5000"}, 10, 1000000, NULL,
		MSG_help_group_calls},
	{"interface", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_group_interface},
	{"meet_s", PARAM_REAL, "s", {"20", "20", "20"}, 0.1, 600, NULL, MSG_help_group_meet},
	{"silence_s", PARAM_REAL, "s", {"5", "5", "5"}, 0.1, 600, NULL, MSG_help_group_silence},
	{0},
};

#define RING_METRIC(name, unit, better, formula) \
	{name, unit, BETTER_##better, SUBJECT_CLUSTER, BACKEND_CPU, formula}
static const struct metric metrics[] = {
	RING_METRIC("group_allreduce_time_us", "us", LOWER,
		"median time of an 8-byte all-reduce over a TCP ring of all hosts, 2 (n-1) hops; "
		"of the node where it is longest"),
	RING_METRIC("group_allreduce_busbw_gbs", "GB/s", HIGHER,
		"2 (n-1)/n x bytes / seconds of all-reduces over a TCP ring of n hosts"),
	RING_METRIC("group_allreduce_worst_second", "1", HIGHER,
		"lowest rate of a whole second of those calls / mean rate"),
	{0},
};
/* clang-format on */

const struct probe probe_group = {
	.name = "group",
	.title = MSG_probe_group,
	.subject = SUBJECT_CLUSTER,
	.phase = "groups",
	.exclusive = true,
	.all_nodes = true,
	.seconds = {6, 12, 42},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.supported = supported,
	.run = run,
};
