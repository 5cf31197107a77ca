/* membw: memory bandwidth of a card by a verified triad over arrays that no
 * cache can hold. GPUs are in membw_card.c; on the CPU one thread a core streams
 * memory of its own socket. Payload and traffic are both stated, since tools
 * count differently. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/unit.h"
#include "cards.h"
#include "membw_card.h"
#include "stats/samples.h"
#include "stats/summary.h"

/* Arrays this many times the last-level cache leave at most a few percent of
 * a pass in it. */
#define CACHE_TIMES         4
#define LEAST_BYTES         ((int64_t)64 << 20)
#define UNKNOWN_CACHE_BYTES ((int64_t)256 << 20)
#define LEAST_WINDOWS       5
#define SLACK_S             5 /* over twice the planned time, before windows are left out */
#define WARMUP_PASSES       3
/* Share of free memory that the three arrays may take. */
#define MEMORY_SHARE 0.5

struct triad_run {
	struct device *dev;
	struct device_triad job;
	struct device_buffer a, b, c;
	int64_t array_bytes;
	int reps;
	struct samples rates; /* GB/s of payload */
	struct str raw;
};

/* --- size ------------------------------------------------------------------------- */

static int64_t array_bytes(struct probe_ctx *ctx, const struct device_info *info)
{
	int64_t size = ctx->param_int(ctx, "size");

	if (size > 0)
		return size / (int64_t)sizeof(double) * (int64_t)sizeof(double);
	if (info->cache_bytes <= 0)
		return UNKNOWN_CACHE_BYTES;
	size = CACHE_TIMES * info->cache_bytes;
	return size < LEAST_BYTES ? LEAST_BYTES : size;
}

/* Bandwidth of arrays that were cut to fit would be the cache's. */
static enum status check_memory(const struct triad_run *t, struct error *err)
{
	const struct device_info *info = &t->dev->info;

	if (info->memory_free < 0 ||
	    3.0 * (double)t->array_bytes <= MEMORY_SHARE * (double)info->memory_free)
		return ST_OK;
	return error_set(err, ST_NOMEM, MSG_membw_memory, fmt_bytes(3 * t->array_bytes),
	                 tmpf("%d", CACHE_TIMES), fmt_bytes(info->cache_bytes),
	                 fmt_bytes(info->memory_free));
}

/* --- sampling ------------------------------------------------------------------------ */

static enum status prepare(struct triad_run *t, struct error *err)
{
	struct device *dev = t->dev;
	size_t bytes = (size_t)t->array_bytes;
	enum status st = check_memory(t, err);

	t->job = (struct device_triad){
		.a = &t->a, .b = &t->b, .c = &t->c, .n = bytes / sizeof(double), .scalar = 3};
	if (st == ST_OK)
		st = dev->ops->alloc(dev, &t->a, bytes, err);
	if (st == ST_OK)
		st = dev->ops->alloc(dev, &t->b, bytes, err);
	if (st == ST_OK)
		st = dev->ops->alloc(dev, &t->c, bytes, err);
	return st == ST_OK ? dev->ops->triad_fill(dev, &t->job, err) : st;
}

/* Finds how many passes fill a window. */
static enum status warm_up(struct triad_run *t, double window, struct error *err)
{
	double best = INFINITY;
	enum status st = ST_OK;

	for (int i = 0; i < WARMUP_PASSES && st == ST_OK; i++) {
		double seconds;

		st = t->dev->ops->triad(t->dev, &t->job, 1, &seconds, err);
		if (st == ST_OK && !(seconds > 0))
			st = error_set(err, ST_RANGE, MSG_device_no_time, t->dev->info.id);
		if (st == ST_OK && seconds < best)
			best = seconds;
	}
	t->reps = st == ST_OK && window > best ? (int)ceil(window / best) : 1;
	return st;
}

/* One window with a scalar of its own, so that results of an earlier one
 * would be seen as wrong. */
static enum status one_window(struct triad_run *t, int index, int64_t *wrong, struct error *err)
{
	double seconds, payload = 3.0 * (double)t->array_bytes * t->reps;
	enum status st;

	t->job.scalar = 4 + index % 8;
	st = t->dev->ops->triad(t->dev, &t->job, t->reps, &seconds, err);
	if (st == ST_OK &&
	    (!(seconds > 0) || samples_add(&t->rates, payload / seconds / 1e9) != ST_OK))
		st = error_set(err, ST_RANGE, MSG_device_no_time, t->dev->info.id);
	if (st != ST_OK)
		return st;
	str_addf(&t->raw, "%d,%d,%.9f,%.0f\n", index, t->reps, seconds, payload);
	return t->dev->ops->triad_check(t->dev, &t->job, wrong, err);
}

static enum status sample(struct probe_ctx *ctx, struct triad_run *t, int64_t *wrong,
                          struct error *err)
{
	int windows = (int)ctx->param_int(ctx, "windows");
	int64_t begun = clock_now(ctx->clock);
	int64_t limit = (int64_t)(1e9 * (2 * windows * ctx->param_real(ctx, "window_s") + SLACK_S));
	enum status st = ST_OK;

	str_add(&t->raw, "window,passes,seconds,payload_bytes\n");
	for (int i = 0; i < windows && st == ST_OK && *wrong == 0; i++) {
		if (i >= LEAST_WINDOWS && clock_now(ctx->clock) - begun > limit)
			break;
		st = one_window(t, i, wrong, err);
		ctx->progress(ctx, STAGE_MEASURING, (i + 1.0) / windows, MSG_doing_membw);
	}
	return st;
}

/* --- the reading ----------------------------------------------------------------------- */

static const char *params_of(struct probe_ctx *ctx, const struct triad_run *t, double rate)
{
	const struct device_info *info = &t->dev->info;
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;

	json_object_begin(&j, NULL);
	json_put_int(&j, "array_bytes", t->array_bytes);
	json_put_int(&j, "payload_bytes_per_pass", 3 * t->array_bytes);
	json_put_number(&j, "payload_gbs", rate);
	/* A store that misses first reads its line: a fourth stream. */
	json_put_number(&j, "traffic_gbs", rate * 4 / 3);
	json_put_int(&j, "passes_per_window", t->reps);
	json_put_number(&j, "window_s", ctx->param_real(ctx, "window_s"));
	json_put_int(&j, "windows_planned", ctx->param_int(ctx, "windows"));
	if (info->cache_bytes > 0) {
		json_put_int(&j, "cache_bytes", info->cache_bytes);
		json_put_number(&j, "array_per_cache",
		                (double)t->array_bytes / (double)info->cache_bytes);
	} else {
		json_put_null(&j, "cache_bytes");
	}
	json_put_string(&j, "device", info->name);
	json_put_int(&j, "cores", info->units);
	json_put_int(&j, "threads", info->threads);
	json_object_end(&j);
	kept = arena_str(ctx->arena, text.data);
	str_release(&text);
	return kept;
}

static enum status emit_rate(struct probe_ctx *ctx, const struct triad_run *t, int64_t wrong)
{
	struct reading r = cards_reading(ctx, "cpu_membw_triad_gbs");
	struct windows windows = {ctx->param_real(ctx, "window_s"), ctx->seed};
	enum status st = ctx->save_raw(ctx, "membw.csv", t->raw.data, t->raw.len, &r.raw);

	samples_to_stats(&t->rates, &windows, r.stats);
	r.value_kind = VALUE_NUMBER;
	r.value = median(t->rates.value, t->rates.n);
	r.params = params_of(ctx, t, r.value);
	if (wrong > 0) {
		r.outcome = OUTCOME_FAILED;
		reason_set(ctx, &r.reason, MSG_membw_wrong, tmpf("%lld", (long long)wrong),
		           tmpf("%zu", t->job.n), tmpf("%zu", t->rates.n));
	}
	return st == ST_OK ? ctx->emit(ctx, &r) : st;
}

/* --- running ------------------------------------------------------------------------------ */

static enum status run_card(struct probe_ctx *ctx, struct device *dev, struct error *err)
{
	struct triad_run t = {.dev = dev, .array_bytes = array_bytes(ctx, &dev->info)};
	int64_t wrong = 0;
	enum status st;

	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_doing_data);
	st = prepare(&t, err);
	if (st == ST_OK)
		st = warm_up(&t, ctx->param_real(ctx, "window_s"), err);
	if (st == ST_OK)
		st = sample(ctx, &t, &wrong, err);
	if (st == ST_OK)
		st = emit_rate(ctx, &t, wrong);
	dev->ops->release(dev, &t.a);
	dev->ops->release(dev, &t.b);
	dev->ops->release(dev, &t.c);
	samples_release(&t.rates);
	str_release(&t.raw);
	return st;
}

static enum status run(struct probe_ctx *ctx)
{
	struct error err = {0};
	struct device *dev = NULL;
	enum status st;

	if (cards_are_gpus(ctx))
		return cards_each(ctx, membw_card);
	st = cards_open(ctx, &dev, (int)ctx->param_int(ctx, "threads"), NULL, &err);
	if (st == ST_OK) {
		st = run_card(ctx, dev, &err);
		dev->ops->close(dev);
	}
	/* A failure that has words of its own is a reading, not a broken probe. */
	if (err.status != ST_OK) {
		struct reading r = cards_reading(ctx, "cpu_membw_triad_gbs");

		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(ctx, &r.reason, MSG_card_refused, ctx->subject_id, str_text(&err.text));
		st = ctx->emit(ctx, &r);
	}
	error_release(&err);
	return st;
}

static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

/* Windows as set, and half as much again for checking them; arrays take about
 * ten seconds to touch at worst. */
static double duration(struct probe_ctx *ctx)
{
	if (cards_are_gpus(ctx))
		return cards_have_driver(ctx) ? membw_card_duration(ctx) : 0;
	return 1.5 * (double)ctx->param_int(ctx, "windows") * ctx->param_real(ctx, "window_s") + 10;
}

static const struct param params[] = {
	{"size", PARAM_SIZE, "B", {"0", "0", "0"}, 0, 1e13, NULL, MSG_help_membw_size},
	{"windows", PARAM_INT, "1", {"20", "100", "1200"}, 1, 100000, NULL, MSG_help_windows},
	{"window_s", PARAM_REAL, "s", {"0.05", "0.05", "0.05"}, 1e-6, 60, NULL, MSG_help_window_s},
	{"threads", PARAM_INT, "1", {"0", "0", "0"}, 0, 4096, NULL, MSG_help_threads},
	{0},
};

static const struct metric metrics[] = {
	{"membw_triad_gbs", "GB/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         "3 x bytes of one array / seconds of a pass; median of windows"},
	{"membw_read_gbs", "GB/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         "bytes of an array / seconds of a pass that reads it; median of windows"},
	{"membw_write_gbs", "GB/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         "bytes of an array / seconds of a pass that writes it; median of windows"},
	{"membw_copy_gbs", "GB/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         "2 x bytes of an array / seconds of a pass that copies it; median of windows"},
	{"cpu_membw_triad_gbs", "GB/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CPU,
         "3 x bytes of one array / seconds of a pass; median of windows; one socket"},
	{0},
};

const struct probe probe_membw = {
	.name = "membw",
	.title = MSG_probe_membw,
	.subject = SUBJECT_CARD,
	.phase = "cards",
	.exclusive = true,
	.cards_together = true,
	.seconds = {12, 18, 100},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.subjects = cards_subjects,
	.supported = supported,
	.run = run,
};
