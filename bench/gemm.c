/* gemm: sustained matrix-multiply rate of a card in windows of equal work, and
 * whether the results are right. GPUs are in gemm_card.c; here is the probe, and
 * the CPU back end, where a socket with its BLAS is the card. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "cards.h"
#include "freivalds.h"
#include "gemm_card.h"
#include "hw/blas.h"
#include "stats/rng.h"
#include "stats/samples.h"
#include "stats/summary.h"

#define LEAST_WINDOWS 3
#define SLACK_S       5   /* over twice the planned time, before windows are left out */
#define TRIAL_ORDER   512 /* matrices are not made smaller than this */
#define STRIP         ((size_t)1 << 16) /* elements filled at a time */

/* One precision of one card. */
struct series {
	const char *metric;
	enum number_format format;
	uint64_t seed;
	struct device_gemm job;
	struct device_buffer a, b, c;
	int reps;             /* calls in a window */
	struct samples rates; /* GFLOP/s */
	struct freivalds check;
	struct freivalds_result result;
};

static const struct {
	const char *metric;
	enum number_format format;
} cpu_series[] = {
	{"cpu_gemm_fp32_gflops", NUMBER_FP32},
	{"cpu_gemm_fp64_gflops", NUMBER_FP64},
};
#define CPU_SERIES (sizeof(cpu_series) / sizeof(*cpu_series))

/* --- data ------------------------------------------------------------------------ */

/* Normal numbers of mean 0 and deviation 1: zeros or small integers switch
 * fewer transistors and would flatter the card. */
static enum status fill_normal(struct device *dev, struct device_buffer *to,
                               enum number_format format, uint64_t seed, struct error *err)
{
	size_t size = number_format_bytes(format), left = to->bytes / size, offset = 0;
	double *strip = malloc(STRIP * sizeof(*strip));
	enum status st = ST_OK;
	struct rng rng;

	if (!strip)
		die_nomem();
	rng_seed(&rng, seed);
	while (left > 0 && st == ST_OK) {
		size_t n = left < STRIP ? left : STRIP;

		for (size_t i = 0; i < n; i++) {
			double value = rng_normal(&rng);

			if (format == NUMBER_FP32)
				((float *)strip)[i] = (float)value;
			else
				strip[i] = value;
		}
		st = dev->ops->write(dev, to, offset, strip, n * size, err);
		offset += n * size;
		left -= n;
	}
	free(strip);
	return st;
}

/* NaN everywhere, so that a product that is not computed cannot look right. */
static enum status poison(struct device *dev, struct device_buffer *to, struct error *err)
{
	size_t strip_bytes = STRIP * sizeof(double), offset = 0;
	char *strip = malloc(strip_bytes);
	enum status st = ST_OK;

	if (!strip)
		die_nomem();
	memset(strip, 0xff, strip_bytes);
	while (offset < to->bytes && st == ST_OK) {
		size_t n = to->bytes - offset < strip_bytes ? to->bytes - offset : strip_bytes;

		st = dev->ops->write(dev, to, offset, strip, n, err);
		offset += n;
	}
	free(strip);
	return st;
}

static enum status series_init(struct series *s, struct device *dev, int order, struct error *err)
{
	size_t bytes = (size_t)order * (size_t)order * number_format_bytes(s->format);
	enum status st = dev->ops->alloc(dev, &s->a, bytes, err);

	s->result.row = -1;
	s->job = (struct device_gemm){.format = s->format,
	                              .m = order,
	                              .n = order,
	                              .k = order,
	                              .a = &s->a,
	                              .b = &s->b,
	                              .c = &s->c};
	if (st == ST_OK)
		st = dev->ops->alloc(dev, &s->b, bytes, err);
	if (st == ST_OK)
		st = dev->ops->alloc(dev, &s->c, bytes, err);
	if (st == ST_OK)
		st = fill_normal(dev, &s->a, s->format, s->seed, err);
	if (st == ST_OK)
		st = fill_normal(dev, &s->b, s->format, s->seed + 1, err);
	if (st == ST_OK)
		st = freivalds_init(&s->check, dev, &s->job, s->seed + 2, err);
	return st;
}

static void series_release(struct series *s, struct device *dev)
{
	dev->ops->release(dev, &s->a);
	dev->ops->release(dev, &s->b);
	dev->ops->release(dev, &s->c);
	freivalds_release(&s->check);
	samples_release(&s->rates);
}

/* The order as set, halved until one call fits a window: a processor too slow
 * for the full one would need minutes a window. */
static enum status choose_order(struct probe_ctx *ctx, enum number_format format,
                                struct device *dev, int *order, struct error *err)
{
	struct series trial = {.format = format};
	double window = ctx->param_real(ctx, "window_s"), seconds = 0;
	enum status st;

	*order = (int)ctx->param_int(ctx, "order");
	if (*order < 2 * TRIAL_ORDER)
		return ST_OK;
	st = series_init(&trial, dev, TRIAL_ORDER, err);
	/* The first call wakes threads and fetches code. */
	for (int i = 0; i < 2 && st == ST_OK; i++)
		st = dev->ops->gemm(dev, &trial.job, 1, &seconds, err);
	series_release(&trial, dev);
	while (*order >= 2 * TRIAL_ORDER && seconds * pow((double)*order / TRIAL_ORDER, 3) > window)
		*order /= 2;
	return st;
}

/* --- sampling ---------------------------------------------------------------------- */

/* Runs until the warm-up time is over and finds how many calls fill a window. */
static enum status warm_up(struct probe_ctx *ctx, struct series *s, struct device *dev,
                           struct error *err)
{
	double warmup = ctx->param_real(ctx, "warmup_s"), window = ctx->param_real(ctx, "window_s");
	double total = 0, best = INFINITY;
	enum status st = ST_OK;

	do {
		double seconds;

		st = dev->ops->gemm(dev, &s->job, 1, &seconds, err);
		if (st == ST_OK && !(seconds > 0))
			st = error_set(err, ST_RANGE, MSG_device_no_time, dev->info.id);
		if (st == ST_OK) {
			total += seconds;
			best = seconds < best ? seconds : best;
		}
	} while (st == ST_OK && total < warmup);
	s->reps = st == ST_OK && window > best ? (int)ceil(window / best) : 1;
	return st;
}

static enum status one_window(struct series *s, struct device *dev, struct str *raw, int index,
                              struct error *err)
{
	double flop = 2.0 * s->job.m * s->job.n * s->job.k * s->reps, seconds;
	enum status st = poison(dev, &s->c, err);

	if (st == ST_OK)
		st = dev->ops->gemm(dev, &s->job, s->reps, &seconds, err);
	if (st == ST_OK &&
	    (!(seconds > 0) || samples_add(&s->rates, flop / seconds / 1e9) != ST_OK))
		st = error_set(err, ST_RANGE, MSG_device_no_time, dev->info.id);
	if (st != ST_OK)
		return st;
	str_addf(raw, "%s,%d,%d,%.9f,%.6f\n", number_format_name(s->format), index, s->reps,
	         seconds, flop / seconds / 1e9);
	return freivalds_check(&s->check, dev, &s->job, &s->result, err);
}

/* All windows; ended early, not below three, on a card so slow that they take
 * twice the planned time: better few than a child that is stopped. */
static enum status sample(struct probe_ctx *ctx, struct series *s, struct device *dev,
                          struct str *raw, struct error *err)
{
	int windows = (int)ctx->param_int(ctx, "windows");
	int64_t begun = clock_now(ctx->clock);
	int64_t limit = (int64_t)(1e9 * (2 * windows * ctx->param_real(ctx, "window_s") + SLACK_S));
	enum status st = ST_OK;

	for (int i = 0; i < windows && st == ST_OK; i++) {
		if (i >= LEAST_WINDOWS && clock_now(ctx->clock) - begun > limit)
			break;
		st = one_window(s, dev, raw, i, err);
		ctx->progress(ctx, STAGE_MEASURING, (i + 1.0) / windows, MSG_doing_gemm);
	}
	return st;
}

/* --- readings ------------------------------------------------------------------------- */

static const char *params_of(struct probe_ctx *ctx, const struct series *s,
                             const struct device *dev)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;

	json_object_begin(&j, NULL);
	json_put_int(&j, "m", s->job.m);
	json_put_int(&j, "n", s->job.n);
	json_put_int(&j, "k", s->job.k);
	json_put_int(&j, "calls_per_window", s->reps);
	json_put_number(&j, "window_s", ctx->param_real(ctx, "window_s"));
	json_put_int(&j, "windows_planned", ctx->param_int(ctx, "windows"));
	json_put_number(&j, "warmup_s", ctx->param_real(ctx, "warmup_s"));
	json_put_string(&j, "device", dev->info.name);
	json_put_int(&j, "cores", dev->info.units);
	json_put_int(&j, "threads", dev->info.threads);
	json_put_string(&j, "blas", dev->info.library);
	json_put_string(&j, "library", dev->info.library_version);
	json_put_string(&j, "library_path", dev->info.library_path);
	json_put_string(&j, "data", "normal");
	json_put_string(&j, "seed", tmpf("%016llx", (unsigned long long)s->seed));
	json_put_int(&j, "sums_checked", s->result.checked);
	json_put_int(&j, "sums_wrong", s->result.wrong);
	json_put_number(&j, "worst_of_tolerance", s->result.worst);
	json_object_end(&j);
	kept = arena_str(ctx->arena, text.data);
	str_release(&text);
	return kept;
}

static void wrong_reason(struct probe_ctx *ctx, const struct series *s, struct reason *reason)
{
	reason_set(ctx, reason, MSG_gemm_wrong, tmpf("%lld", (long long)s->result.wrong),
	           tmpf("%lld", (long long)s->result.checked), number_format_name(s->format),
	           tmpf("%d", s->result.row), tmpf("%d", s->result.first_column),
	           tmpf("%d", s->result.last_column));
}

static enum status emit_series(struct probe_ctx *ctx, const struct series *s,
                               const struct device *dev, const struct raw_file *raw)
{
	struct reading r = cards_reading(ctx, s->metric);
	struct windows windows = {ctx->param_real(ctx, "window_s"), s->seed};

	samples_to_stats(&s->rates, &windows, r.stats);
	r.value_kind = VALUE_NUMBER;
	r.value = median(s->rates.value, s->rates.n);
	r.params = params_of(ctx, s, dev);
	r.raw = *raw;
	if (s->result.wrong > 0) {
		r.outcome = OUTCOME_FAILED;
		wrong_reason(ctx, s, &r.reason);
	}
	return ctx->emit(ctx, &r);
}

static enum status emit_errors(struct probe_ctx *ctx, const struct series *all, size_t count)
{
	struct reading r = cards_reading(ctx, "cpu_gemm_errors");
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	int64_t checked = 0, wrong = 0;

	for (size_t i = 0; i < count; i++) {
		checked += all[i].result.checked;
		wrong += all[i].result.wrong;
	}
	json_object_begin(&j, NULL);
	json_put_int(&j, "sums_checked", checked);
	json_put_string(&j, "check", "Freivalds, signed column blocks, FP64");
	json_put_number(&j, "tolerance_eps", FREIVALDS_K);
	json_object_end(&j);
	r.params = arena_str(ctx->arena, text.data);
	str_release(&text);
	r.value_kind = VALUE_NUMBER;
	r.value = (double)wrong;
	return ctx->emit(ctx, &r);
}

/* What could not be measured owes its figures with the cause. */
static enum status emit_cause(struct probe_ctx *ctx, const struct reason *reason)
{
	enum status st = ST_OK;

	for (const struct metric *m = ctx->probe->metrics; m->name && st == ST_OK; m++) {
		struct reading r = cards_reading(ctx, m->name);

		r.outcome = OUTCOME_NOT_MEASURED;
		r.reason = *reason;
		if (m->backend == BACKEND_CPU)
			st = ctx->emit(ctx, &r);
	}
	return st;
}

/* --- running ------------------------------------------------------------------------------ */

static enum status measure(struct probe_ctx *ctx, struct device *dev, struct series *all,
                           struct str *raw, struct error *err)
{
	enum status st = ST_OK;

	str_add(raw, "format,window,calls,seconds,gflops\n");
	for (size_t i = 0; i < CPU_SERIES && st == ST_OK; i++) {
		struct series *s = &all[i];
		int order;

		*s = (struct series){.metric = cpu_series[i].metric,
		                     .format = cpu_series[i].format,
		                     .seed = ctx->seed + 16 * i};
		ctx->progress(ctx, STAGE_PREPARING, -1, MSG_doing_data);
		st = choose_order(ctx, s->format, dev, &order, err);
		if (st == ST_OK)
			st = series_init(s, dev, order, err);
		if (st == ST_OK)
			st = warm_up(ctx, s, dev, err);
		if (st == ST_OK)
			st = sample(ctx, s, dev, raw, err);
	}
	return st;
}

static enum status run_card(struct probe_ctx *ctx, struct device *dev, struct error *err)
{
	struct series all[CPU_SERIES] = {0};
	struct str raw = {0};
	struct raw_file file = {0};
	enum status st = measure(ctx, dev, all, &raw, err);

	if (st == ST_OK)
		st = ctx->save_raw(ctx, "gemm.csv", raw.data, raw.len, &file);
	for (size_t i = 0; i < CPU_SERIES && st == ST_OK; i++)
		st = emit_series(ctx, &all[i], dev, &file);
	if (st == ST_OK)
		st = emit_errors(ctx, all, CPU_SERIES);
	for (size_t i = 0; i < CPU_SERIES; i++)
		series_release(&all[i], dev);
	str_release(&raw);
	return st;
}

static enum status run(struct probe_ctx *ctx)
{
	struct error err = {0};
	struct device *dev = NULL;
	struct reason reason;
	enum status st;

	if (cards_are_gpus(ctx))
		return cards_each(ctx, gemm_card);
	ctx->progress(ctx, STAGE_LOADING, -1, MSG_doing_load);
	st = cards_open(ctx, &dev, (int)ctx->param_int(ctx, "threads"),
	                ctx->param_word(ctx, "blas"), &err);
	if (st == ST_OK) {
		st = run_card(ctx, dev, &err);
		dev->ops->close(dev);
	}
	/* A failure that has words of its own is a reading, not a broken probe. */
	if (err.status != ST_OK) {
		if (err.status == ST_NOTFOUND && !dev)
			reason_set(ctx, &reason, MSG_blas_missing);
		else
			reason_set(ctx, &reason, MSG_card_refused, ctx->subject_id,
			           str_text(&err.text));
		st = emit_cause(ctx, &reason);
	}
	error_release(&err);
	return st;
}

struct support gemm_supported(struct probe_ctx *ctx)
{
	struct support s = {.yes = blas_find(ctx->arena, ctx->lib_dir) != NULL};
	struct reason gpu, cpu;

	if (s.yes || cards_have_driver(ctx))
		return (struct support){.yes = true};
	cards_reason(ctx, &gpu);
	reason_set(ctx, &cpu, MSG_blas_missing);
	reason_set(ctx, &s.reason, MSG_no_card_no_blas, gpu.text, cpu.text);
	return s;
}

static struct support try_run(struct probe_ctx *ctx)
{
	struct support s = {.yes = true};
	struct error err = {0};
	struct blas list[BLAS_FAMILIES];
	int count;

	if (blas_open(list, &count, ctx->arena, NULL, ctx->lib_dir, &err) != ST_OK) {
		s.yes = false;
		reason_set(ctx, &s.reason, MSG_path_error, ctx->probe->name, str_text(&err.text));
	}
	error_release(&err);
	return s;
}

/* Seconds: windows and warm-up as set, data and right sides by n^2, and the
 * check after each window, as measured on one slow core. */
static double duration(struct probe_ctx *ctx)
{
	double order = (double)ctx->param_int(ctx, "order") / 4096;
	double windows = (double)ctx->param_int(ctx, "windows");
	double each = ctx->param_real(ctx, "window_s") + 0.15 * order * order;

	if (cards_are_gpus(ctx))
		return cards_have_driver(ctx) ? gemm_card_duration(ctx) : 0;
	return CPU_SERIES *
	               (ctx->param_real(ctx, "warmup_s") + windows * each + 4 * order * order) +
	       1;
}

static const struct param params[] = {
	{"order", PARAM_INT, "1", {"2048", "4096", "4096"}, 64, 65536, NULL, MSG_help_gemm_order},
	{"windows", PARAM_INT, "1", {"5", "20", "120"}, 1, 100000, NULL, MSG_help_windows},
	{"window_s", PARAM_REAL, "s", {"0.5", "0.5", "0.5"}, 1e-7, 60, NULL, MSG_help_window_s},
	{"warmup_s", PARAM_REAL, "s", {"0.5", "2", "10"}, 0, 180, NULL, MSG_help_warmup_s},
	{"threads", PARAM_INT, "1", {"0", "0", "0"}, 0, 4096, NULL, MSG_help_threads},
	{"blas",
         PARAM_WORD,
         "",
         {"auto", "auto", "auto"},
         0,
         0,
         "auto|openblas|blis|mkl",
         MSG_help_gemm_blas},
	{"card_order",
         PARAM_INT,
         "1",
         {"8192", "8192", "8192"},
         128,
         65536,
         NULL,
         MSG_help_gemm_card_order},
	{"card_windows",
         PARAM_INT,
         "1",
         {"40", "120", "1200"},
         1,
         100000,
         NULL,
         MSG_help_gemm_card_windows},
	{"extended_windows",
         PARAM_INT,
         "1",
         {"0", "1200", "0"},
         0,
         100000,
         NULL,
         MSG_help_gemm_extended},
	{"short_windows",
         PARAM_INT,
         "1",
         {"4", "10", "120"},
         1,
         100000,
         NULL,
         MSG_help_gemm_short_windows},
	{"card_warmup_s",
         PARAM_REAL,
         "s",
         {"20", "60", "180"},
         0,
         180,
         NULL,
         MSG_help_gemm_card_warmup},
	{"peak_windows",
         PARAM_INT,
         "1",
         {"3", "5", "20"},
         0,
         1000,
         NULL,
         MSG_help_gemm_peak_windows},
	{0},
};

#define PEAK(format)                                                                               \
	{                                                                                          \
		"gemm_" format "_peak_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD,             \
			BACKEND_CUDA,                                                              \
			"the highest median over a short list of shapes; shape in params"          \
	}
#define RATE "2 M N K x calls / seconds of a window / "
static const struct metric metrics[] = {
	{"gemm_fp64_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         RATE "1e12; median of windows; FP64 without tensor cores"},
	{"gemm_fp32_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         RATE "1e12; median of windows; pedantic FP32"},
	{"gemm_tf32_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         RATE "1e12; median of windows; TF32"},
	{"gemm_fp16_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         RATE "1e12; median of windows; FP16 in, FP32 sums"},
	{"gemm_bf16_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         RATE "1e12; median of windows; BF16 in, FP32 sums"},
	{"gemm_fp8_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         RATE "1e12; median of windows; FP8 E4M3 in, FP32 sums"},
	{"gemm_fp16_tflops_per_ghz", "TFLOP/s/GHz", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         "gemm_fp16_tflops / mean SM clock of the same windows"},
	PEAK("fp64"),
	PEAK("fp32"),
	PEAK("tf32"),
	PEAK("fp16"),
	PEAK("bf16"),
	PEAK("fp8"),
	{"gemm_wrong_elements", "1", BETTER_LOWER, SUBJECT_CARD, BACKEND_CUDA,
         "elements whose bits differ from the first result's, and sums of its rows that miss "
         "Freivalds' check; all precisions"},
	{"gemm_digest", "text", BETTER_NEITHER, SUBJECT_CARD, BACKEND_CUDA,
         "digest of the result bits of each precision; one seed for all cards of a run"},
	{"gemm_throttle_s", "s", BETTER_LOWER, SUBJECT_CARD, BACKEND_CUDA,
         "seconds of thermal or hardware slowdown in the timed windows"},
	{"gemm_host_per_event_s", "1", BETTER_NEITHER, SUBJECT_CARD, BACKEND_CUDA,
         "seconds of the host's clock / seconds of the card's events, over the longest series"},
	{"gemm_ecc_errors", "1", BETTER_LOWER, SUBJECT_CARD, BACKEND_CUDA,
         "uncorrected memory errors that the card counted meanwhile"},
	{"gemm_xids", "text", BETTER_NEITHER, SUBJECT_CARD, BACKEND_CUDA,
         "numbers of the Xid errors that the driver gave for the card meanwhile, or none"},
	{"cpu_gemm_fp32_gflops", "GFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CPU,
         RATE "1e9; median of windows; FP32 on one socket"},
	{"cpu_gemm_fp64_gflops", "GFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CPU,
         RATE "1e9; median of windows; FP64 on one socket"},
	{"cpu_gemm_errors", "1", BETTER_LOWER, SUBJECT_CARD, BACKEND_CPU,
         "sums of a row over a block of columns that miss Freivalds' check, all windows and "
         "both precisions"},
	{0},
};

const struct probe probe_gemm = {
	.name = "gemm",
	.title = MSG_probe_gemm,
	.subject = SUBJECT_CARD,
	.phase = "cards",
	.exclusive = true,
	.cards_together = true,
	.seconds = {10, 40, 160},
	.duration = duration,
	.extension_s = {0, 700, 0},
	.params = params,
	.metrics = metrics,
	.subjects = cards_subjects,
	.supported = gemm_supported,
	.try_run = try_run,
	.run = run,
};
