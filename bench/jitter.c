/* jitter: CPU time that someone else took. A thread pinned to each CPU reads
 * the clock without rest; a gap in its readings is time it did not run, be it
 * an interrupt, another process, a cgroup quota or a hypervisor. What the
 * hypervisor admits to (steal time) is read beside it. The same is then done on the
 * SMs of the cards (jitter_cards.c). */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "cards.h"
#include "gaps.h"
#include "hw/host.h"
#include "hw/pool.h"
#include "jitter_cards.h"
#include "stats/samples.h"
#include "stats/summary.h"

/* Second threshold, for information: interrupts stay below it, other
 * processes do not. */
#define LONG_GAP_CLASS 7 /* gaps of 128 us and longer */

struct watch {
	const struct clock_source *clock;
	int64_t duration_ns, threshold_ns;
	const int *cpus;
	struct gaps *gaps; /* one a CPU */
	int count;
	int bound; /* threads that could be pinned */
	/* What the kernel counted meanwhile. */
	bool ticks_known;
	struct host_ticks ticks; /* differences */
	int64_t throttled_us;    /* difference, -1: unknown */
};

/* --- watching ------------------------------------------------------------------- */

static void watch_part(void *arg, int part, int parts)
{
	struct watch *w = arg;

	(void)parts;
	gaps_watch(&w->gaps[part], w->clock, w->duration_ns, w->threshold_ns);
}

static enum status watch_cpus(struct watch *w, int first, int count, struct error *err)
{
	struct watch part = *w;
	struct pool *pool;
	enum status st = pool_start(&pool, w->cpus + first, count, err);

	if (st != ST_OK)
		return st;
	part.gaps = w->gaps + first;
	pool_run(pool, watch_part, &part);
	w->bound += pool_bound(pool);
	pool_stop(pool);
	return ST_OK;
}

/* All CPUs at the same time show a shared cause; one after the other each
 * has the least neighbours. */
static enum status watch_all(struct probe_ctx *ctx, struct watch *w, struct error *err)
{
	bool together = strcmp(ctx->param_word(ctx, "mode"), "together") == 0;
	int step = together ? w->count : 1;
	enum status st = ST_OK;

	for (int first = 0; first < w->count && st == ST_OK; first += step) {
		ctx->progress(ctx, STAGE_MEASURING, (double)first / w->count, MSG_doing_jitter);
		st = watch_cpus(w, first, step, err);
	}
	return st;
}

/* The CPUs to watch: those allowed, but under a quota not more of them than it
 * covers, or the quota itself would be what is measured. */
static const int *choose_cpus(struct probe_ctx *ctx, int *count)
{
	const int *cpus = host_allowed_cpus(ctx->arena, "", count);
	struct host_limits limits = host_limits_read(ctx->arena, ctx->sys_root);
	int most = limits.cpus < *count ? (int)limits.cpus : *count, *chosen;

	if (most < 1)
		most = 1;
	chosen = arena_array(ctx->arena, (size_t)most, sizeof(*chosen));
	for (int i = 0; i < most; i++)
		chosen[i] = cpus[(int64_t)i * *count / most];
	*count = most;
	return chosen;
}

static enum status watch_node(struct probe_ctx *ctx, struct watch *w, struct error *err)
{
	struct host_ticks before, after;
	struct host_limits limits = host_limits_read(ctx->arena, ctx->sys_root);
	int64_t throttled = limits.throttled_us;
	bool known = host_ticks_read(&before, ctx->sys_root);
	enum status st = watch_all(ctx, w, err);

	w->ticks_known = host_ticks_read(&after, ctx->sys_root) && known;
	if (w->ticks_known)
		w->ticks =
			(struct host_ticks){after.total - before.total, after.steal - before.steal};
	limits = host_limits_read(ctx->arena, ctx->sys_root);
	w->throttled_us = throttled < 0 || limits.throttled_us < 0
	                          ? HOST_UNKNOWN
	                          : limits.throttled_us - throttled;
	return st;
}

/* --- readings ---------------------------------------------------------------------- */

static double share_of(const struct gaps *g)
{
	return (double)g->over_ns / (double)g->watched_ns;
}

static double longest_us(const struct gaps *g)
{
	return (double)g->longest_ns / 1e3;
}

static double long_share_of(const struct gaps *g)
{
	int64_t sum = 0;

	for (int i = LONG_GAP_CLASS; i < GAP_CLASSES; i++)
		sum += g->total_ns[i];
	return (double)sum / (double)g->watched_ns;
}

/* The figure over all CPUs: worst in value, the rest in stats. */
static int worst_cpu(const struct watch *w, double (*figure)(const struct gaps *g),
                     struct reading *r)
{
	struct samples all = {0};
	int worst = 0;

	for (int i = 0; i < w->count; i++) {
		samples_add(&all, figure(&w->gaps[i]));
		if (figure(&w->gaps[i]) > figure(&w->gaps[worst]))
			worst = i;
	}
	samples_to_stats(&all, NULL, r->stats);
	samples_release(&all);
	r->value_kind = VALUE_NUMBER;
	r->value = figure(&w->gaps[worst]);
	return worst;
}

static const char *params_of(struct probe_ctx *ctx, const struct watch *w, int worst)
{
	const struct gaps *g = &w->gaps[worst];
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;

	json_object_begin(&j, NULL);
	json_put_int(&j, "worst_cpu", w->cpus[worst]);
	json_put_int(&j, "cpus_watched", w->count);
	json_put_int(&j, "cpus_pinned", w->bound);
	json_put_string(&j, "mode", ctx->param_word(ctx, "mode"));
	json_put_number(&j, "seconds", (double)g->watched_ns / 1e9);
	json_put_number(&j, "threshold_us", (double)w->threshold_ns / 1e3);
	json_put_int(&j, "gaps_over_threshold", g->over_count);
	json_put_number(&j, "stolen", share_of(g));
	json_put_number(&j, "stolen_from_128us", long_share_of(g));
	json_put_number(&j, "longest_us", longest_us(g));
	json_put_number(&j, "longest_at_s", (double)g->longest_at_ns / 1e9);
	json_put_number(&j, "clock_read_ns", (double)g->watched_ns / (double)g->readings);
	if (w->throttled_us >= 0)
		json_put_int(&j, "quota_throttled_us", w->throttled_us);
	else
		json_put_null(&j, "quota_throttled_us");
	json_object_end(&j);
	kept = arena_str(ctx->arena, text.data);
	str_release(&text);
	return kept;
}

static struct reading node_reading(struct probe_ctx *ctx, const char *metric)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = SUBJECT_NODE;
	r.subject.id = ctx->node;
	return r;
}

static enum status emit_steal(struct probe_ctx *ctx, const struct watch *w)
{
	struct reading r = node_reading(ctx, "jitter_steal");

	if (w->ticks_known && w->ticks.total > 0 && w->ticks.steal >= 0) {
		r.value_kind = VALUE_NUMBER;
		r.value = (double)w->ticks.steal / (double)w->ticks.total;
		r.params = arena_strf(ctx->arena, "{\"steal_ticks\":%lld,\"ticks\":%lld}",
		                      (long long)w->ticks.steal, (long long)w->ticks.total);
	} else {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(ctx, &r.reason, MSG_host_unreadable, "/proc/stat");
	}
	return ctx->emit(ctx, &r);
}

static enum status save_histogram(struct probe_ctx *ctx, const struct watch *w,
                                  struct raw_file *raw)
{
	struct str text = {0};
	enum status st;

	str_add(&text, "cpu,from_us,gaps,total_ns\n");
	for (int i = 0; i < w->count; i++)
		for (int k = 0; k < GAP_CLASSES; k++)
			if (w->gaps[i].count[k] > 0)
				str_addf(&text, "%d,%lld,%lld,%lld\n", w->cpus[i], 1LL << k,
				         (long long)w->gaps[i].count[k],
				         (long long)w->gaps[i].total_ns[k]);
	st = ctx->save_raw(ctx, "jitter.csv", text.data, text.len, raw);
	str_release(&text);
	return st;
}

static enum status emit_gaps(struct probe_ctx *ctx, const struct watch *w)
{
	static const struct {
		const char *metric;
		double (*figure)(const struct gaps *g);
	} rows[] = {{"jitter_cpu_stolen", share_of}, {"jitter_cpu_longest_us", longest_us}};
	struct raw_file raw = {0};
	enum status st = save_histogram(ctx, w, &raw);

	for (int i = 0; i < 2 && st == ST_OK; i++) {
		struct reading r = node_reading(ctx, rows[i].metric);

		r.params = params_of(ctx, w, worst_cpu(w, rows[i].figure, &r));
		r.raw = raw;
		st = ctx->emit(ctx, &r);
	}
	return st;
}

/* --- running ---------------------------------------------------------------------------- */

static enum status emit_cause(struct probe_ctx *ctx, const struct reason *reason)
{
	enum status st = ST_OK;

	for (const struct metric *m = ctx->probe->metrics; m->name && st == ST_OK; m++) {
		struct reading r = node_reading(ctx, m->name);

		r.outcome = OUTCOME_NOT_MEASURED;
		r.reason = *reason;
		if (m->backend == BACKEND_ANY)
			st = ctx->emit(ctx, &r);
	}
	return st;
}

static enum status watch_and_emit(struct probe_ctx *ctx, struct error *err)
{
	struct watch w = {
		.clock = ctx->clock,
		.duration_ns = (int64_t)(ctx->param_real(ctx, "seconds") * 1e9),
		.threshold_ns = ctx->param_int(ctx, "threshold_us") * 1000,
	};
	enum status st;

	w.cpus = choose_cpus(ctx, &w.count);
	w.gaps = arena_array(ctx->arena, (size_t)w.count, sizeof(*w.gaps));
	st = watch_node(ctx, &w, err);
	if (st == ST_OK)
		st = emit_gaps(ctx, &w);
	return st == ST_OK ? emit_steal(ctx, &w) : st;
}

static enum status run_cpus(struct probe_ctx *ctx)
{
	struct error err = {0};
	struct reason reason;
	enum status st;

	/* A virtual clock stands still while a thread spins. */
	if (ctx->clock != &clock_system) {
		reason_set(ctx, &reason, MSG_virtual_clock);
		return emit_cause(ctx, &reason);
	}
	st = watch_and_emit(ctx, &err);
	if (err.status != ST_OK) {
		reason_set(ctx, &reason, MSG_card_refused, ctx->node, str_text(&err.text));
		st = emit_cause(ctx, &reason);
	}
	error_release(&err);
	return st;
}

/* The CPUs first: a driver that is started has threads of its own. */
static enum status run(struct probe_ctx *ctx)
{
	enum status st = run_cpus(ctx);

	return st == ST_OK ? jitter_cards(ctx) : st;
}

static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

static double duration(struct probe_ctx *ctx)
{
	bool together = strcmp(ctx->param_word(ctx, "mode"), "together") == 0;
	int count;

	choose_cpus(ctx, &count);
	return ctx->param_real(ctx, "seconds") * (together ? 1 : count) + 1 +
	       jitter_cards_duration(ctx);
}

static const struct param params[] = {
	{"seconds", PARAM_REAL, "s", {"3", "10", "60"}, 0.01, 86400, NULL, MSG_help_jitter_seconds},
	{"threshold_us",
         PARAM_INT,
         "us",
         {"10", "10", "10"},
         1,
         1000000,
         NULL,
         MSG_help_jitter_threshold},
	{"mode",
         PARAM_WORD,
         "",
         {"together", "together", "together"},
         0,
         0,
         "together|in_turn",
         MSG_help_jitter_mode},
	{"card_s", PARAM_REAL, "s", {"0.2", "2", "20"}, 0.05, 3600, NULL, MSG_help_jitter_card_s},
	{"fma_s", PARAM_REAL, "s", {"0.02", "0.05", "0.2"}, 1e-6, 1, NULL, MSG_help_jitter_fma_s},
	{"hang_s", PARAM_REAL, "s", {"10", "10", "30"}, 0.01, 3600, NULL, MSG_help_hang},
	{0},
};

static const struct metric metrics[] = {
	{"jitter_cpu_stolen", "1", BETTER_LOWER, SUBJECT_NODE, BACKEND_ANY,
         "time a spinning thread did not run / time it was watched; gaps from 10 us; worst CPU"},
	{"jitter_cpu_longest_us", "us", BETTER_LOWER, SUBJECT_NODE, BACKEND_ANY,
         "longest time a spinning thread did not run; worst CPU"},
	{"jitter_steal", "1", BETTER_LOWER, SUBJECT_NODE, BACKEND_ANY,
         "steal time of all CPUs / their time, from /proc/stat over the run"},
	{"jitter_card_stolen", "1", BETTER_LOWER, SUBJECT_CARD, BACKEND_CUDA,
         "time a resident kernel did not run / time it was watched; worst SM, the card alone and "
         "all cards at once"},
	{"jitter_card_longest_us", "us", BETTER_LOWER, SUBJECT_CARD, BACKEND_CUDA,
         "longest time a resident kernel did not run; worst SM"},
	{"jitter_card_sm_share", "1", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         "SMs that ran a kernel / SMs the driver says the card has"},
	{"jitter_card_together", "1", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         "FP32 multiply-adds a second with all cards of the node at work / with this one alone"},
	{0},
};

const struct probe probe_jitter = {
	.name = "jitter",
	.title = MSG_probe_jitter,
	.subject = SUBJECT_NODE,
	.phase = "cards",
	.exclusive = true,
	.seconds = {4, 11, 61},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.supported = supported,
	.run = run,
};
