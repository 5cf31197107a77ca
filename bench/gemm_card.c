/* One GPU: the precisions in turn, FP16 first, long enough to judge how steady
 * the card is, the others for a few seconds each on the card it has warmed. Each
 * is handed in as soon as it is done, so that what comes later cannot take it. */
#include "gemm_card.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "gemm_series.h"
#include "kernels/kernels.h"
#include "kernels/ptx.h"
#include "stats/summary.h"

/* In the order they are measured. To add one: a row, and its metrics. */
static const struct {
	enum number_format format;
	const char *metric, *peak_metric, *compute;
} precisions[] = {
	{NUMBER_FP16, "gemm_fp16_tflops", "gemm_fp16_peak_tflops", "FP32 sums"},
	{NUMBER_BF16, "gemm_bf16_tflops", "gemm_bf16_peak_tflops", "FP32 sums"},
	{NUMBER_TF32, "gemm_tf32_tflops", "gemm_tf32_peak_tflops", "TF32 products, FP32 sums"},
	{NUMBER_FP32, "gemm_fp32_tflops", "gemm_fp32_peak_tflops", "pedantic"},
	{NUMBER_FP64, "gemm_fp64_tflops", "gemm_fp64_peak_tflops", "pedantic"},
	{NUMBER_FP8, "gemm_fp8_tflops", "gemm_fp8_peak_tflops",
         "E4M3, fast accumulation, BF16 out"},
};
#define PRECISIONS (sizeof(precisions) / sizeof(*precisions))

/* What a card has shown so far. */
struct outcome_sum {
	int measured, failed; /* precisions: all through, broken off by an error */
	uint64_t different;   /* elements, all precisions */
	int64_t sums_wrong, sums_checked;
	uint64_t compared;
	double slowdown_s;             /* NaN: not told in any */
	double clock_ratio;            /* of the first precision, the longest series */
	double fp16_tflops, fp16_mhz;  /* NaN: none */
	struct str digests;            /* "fp16:… bf16:…" */
	const struct gpu_cause *cause; /* of the first failure, with its words */
	struct error err;
};

/* --- plan ----------------------------------------------------------------------- */

static int order_of(struct probe_ctx *ctx)
{
	return (int)ctx->param_int(ctx, "card_order") / GEMM_ORDER_STEP * GEMM_ORDER_STEP;
}

static struct gemm_plan plan_for(struct probe_ctx *ctx, bool first)
{
	struct gemm_plan plan = {
		.order = order_of(ctx),
		.window_s = ctx->param_real(ctx, "window_s"),
		.windows = (int)ctx->param_int(ctx, first ? "card_windows" : "short_windows"),
		.warmup_s = first ? ctx->param_real(ctx, "card_warmup_s") : 0,
		.peak_windows = (int)ctx->param_int(ctx, "peak_windows"),
	};

	if (first)
		plan.extended = (int)ctx->param_int(ctx, "extended_windows");
	return plan;
}

/* Loading, warm-up, windows with their checks, peaks, and the host's check of a
 * product of that order. The extension is not in it. */
double gemm_card_duration(struct probe_ctx *ctx)
{
	struct gemm_plan first = plan_for(ctx, true), other = plan_for(ctx, false);
	double order = (double)first.order / 8192;
	double host = 3 * order * order;
	double peaks = 3 * (first.peak_windows + 3) * first.window_s / 5;

	return 10 + first.warmup_s / 2 + 1.05 * first.windows * first.window_s +
	       (PRECISIONS - 1) * 1.05 * (other.windows + 3) * other.window_s +
	       PRECISIONS * (host + peaks);
}

/* --- reasons ------------------------------------------------------------------------- */

/* FP32 products a clock and SM, times two. GV100 and GA100 have 64 units, all later
 * and smaller chips 128. */
static double fp32_peak(const struct gemm_bench *b)
{
	const struct cuda_card *card = &b->dev->card;
	int mhz = b->telemetry.max_sm_mhz > 0 ? b->telemetry.max_sm_mhz : card->clock_mhz;
	int rate = card->major == 7 || (card->major == 6 && card->minor == 0) ||
	                           (card->major == 8 && card->minor == 0)
	                   ? 128
	                   : 256;

	return mhz > 0 ? (double)card->sm_count * mhz * rate / 1e6 : NAN;
}

static const char *number(double value, int digits)
{
	return tmpf("%.*f", digits, value);
}

/* Fills outcome and reason where the windows say that the rate is none. */
static void judge_rate(const struct gemm_series *s, double ratio, struct reading *r)
{
	struct probe_ctx *ctx = s->bench->unit->ctx;
	const char *format = number_format_name(s->format);
	double peak = fp32_peak(s->bench);

	r->outcome = OUTCOME_FAILED;
	/* First: the wrong sums of such products only follow from it. */
	if (s->format == NUMBER_FP32 && r->value > 1.02 * peak) {
		reason_set(ctx, &r->reason, MSG_gemm_not_fp32, number(r->value, 1),
		           number(peak, 1));
	} else if (s->sums.wrong > 0) {
		reason_set(ctx, &r->reason, MSG_gemm_wrong, tmpf("%lld", (long long)s->sums.wrong),
		           tmpf("%lld", (long long)s->sums.checked), format,
		           tmpf("%d", s->sums.row), tmpf("%d", s->sums.first_column),
		           tmpf("%d", s->sums.last_column));
	} else if (s->different > 0) {
		reason_set(ctx, &r->reason, MSG_gemm_different,
		           tmpf("%llu", (unsigned long long)s->different), format,
		           tmpf("%llu", (unsigned long long)s->compared),
		           tmpf("%lld", (long long)(s->first_different / s->job.n)),
		           tmpf("%lld", (long long)(s->first_different % s->job.n)),
		           tmpf("%d", s->first_window));
	} else if (clock_pairs_off(&s->clocks)) {
		reason_set(ctx, &r->reason, MSG_card_clock, number(ratio, 3));
	} else {
		r->outcome = OUTCOME_MEASURED;
	}
}

/* --- one precision -------------------------------------------------------------------- */

static void put_library(struct json_out *j, const struct gemm_series *s)
{
	const struct device_info *info = &s->bench->dev->device.info;
	const char *tf32 = getenv("NVIDIA_TF32_OVERRIDE");

	json_put_string(j, "device", info->name);
	json_put_int(j, "sm_count", info->units);
	json_put_string(j, "blas", info->library);
	json_put_string(j, "library", info->library_version);
	json_put_string(j, "library_path", info->library_path);
	json_put_string(j, "driver", s->bench->telemetry.nvml.driver);
	if (tf32)
		json_put_string(j, "NVIDIA_TF32_OVERRIDE", tf32);
}

static const char *series_params(const struct gemm_series *s, const char *compute, double ratio)
{
	const struct gemm_plan *p = s->plan;
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;

	json_object_begin(&j, NULL);
	json_put_int(&j, "m", s->job.m);
	json_put_int(&j, "n", s->job.n);
	json_put_int(&j, "k", s->job.k);
	json_put_string(&j, "compute", compute);
	json_put_int(&j, "calls_per_window", s->calls);
	json_put_number(&j, "window_s", p->window_s);
	json_put_int(&j, "windows_planned", p->windows);
	json_put_int(&j, "warmup_windows", (int64_t)s->warm_rates.n);
	json_put_bool(&j, "steady_before", s->steady);
	put_library(&j, s);
	json_put_string(&j, "data", "normal");
	json_put_string(&j, "seed", tmpf("%016llx", (unsigned long long)s->seed));
	json_put_int(&j, "sums_checked", s->sums.checked);
	json_put_int(&j, "sums_wrong", s->sums.wrong);
	json_put_number(&j, "worst_of_tolerance", s->sums.worst);
	json_put_int(&j, "products_compared", (int64_t)s->compared);
	json_put_int(&j, "elements_different", (int64_t)s->different);
	json_put_number(&j, "host_per_event_s", ratio);
	telemetry_put(&s->telemetry, &j);
	json_object_end(&j);
	kept = arena_str(s->bench->unit->ctx->arena, text.data);
	str_release(&text);
	return kept;
}

static enum status emit_peak(const struct gemm_series *s, size_t which, const struct reading *rate)
{
	struct probe_ctx *ctx = s->bench->unit->ctx;
	struct reading r = card_reading(s->bench->unit, precisions[which].peak_metric);
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	enum status st;

	json_object_begin(&j, NULL);
	json_put_int(&j, "m", s->peak.m);
	json_put_int(&j, "n", s->peak.n);
	json_put_int(&j, "k", s->peak.k);
	json_object_end(&j);
	r.params = text.data;
	r.value_kind = VALUE_NUMBER;
	r.value = s->peak.tflops;
	/* A rate that is none makes its peak none. */
	r.outcome = rate->outcome;
	r.reason = rate->reason;
	st = ctx->emit(ctx, &r);
	str_release(&text);
	return st;
}

/* The rate, with what it was and why it is none. */
static enum status rate_reading(const struct gemm_series *s, size_t which, const char *file,
                                struct reading *r)
{
	struct probe_ctx *ctx = s->bench->unit->ctx;
	struct windows windows = {s->plan->window_s, s->seed};
	double ratio = clock_pairs_ratio(&s->clocks);

	samples_to_stats(&s->rates, &windows, r->stats);
	r->value_kind = VALUE_NUMBER;
	r->value = median(s->rates.value, s->rates.n);
	r->params = series_params(s, precisions[which].compute, ratio);
	judge_rate(s, ratio, r);
	return ctx->save_raw(ctx, file, s->raw.data, s->raw.len, &r->raw);
}

static enum status emit_series(const struct gemm_series *s, size_t which, struct outcome_sum *sum)
{
	struct probe_ctx *ctx = s->bench->unit->ctx;
	struct reading r = card_reading(s->bench->unit, precisions[which].metric);
	double ratio = clock_pairs_ratio(&s->clocks);
	enum status st =
		rate_reading(s, which, tmpf("gemm-%s.csv", number_format_name(s->format)), &r);

	if (isnan(sum->clock_ratio))
		sum->clock_ratio = ratio;
	if (s->format == NUMBER_FP16 && r.outcome == OUTCOME_MEASURED) {
		sum->fp16_tflops = r.value;
		sum->fp16_mhz = s->telemetry.sm_mhz;
	}
	if (st == ST_OK)
		st = ctx->emit(ctx, &r);
	return st == ST_OK ? emit_peak(s, which, &r) : st;
}

static void add_up(const struct gemm_series *s, struct outcome_sum *sum)
{
	sum->measured++;
	sum->different += s->different;
	sum->compared += s->compared;
	sum->sums_wrong += s->sums.wrong;
	sum->sums_checked += s->sums.checked;
	if (isfinite(s->telemetry.slowdown_s))
		sum->slowdown_s =
			s->telemetry.slowdown_s + (isfinite(sum->slowdown_s) ? sum->slowdown_s : 0);
	str_addf(&sum->digests, "%s%s:%016llx", sum->digests.len ? " " : "",
	         number_format_name(s->format), (unsigned long long)s->digest);
}

static enum status emit_both(struct gemm_bench *b, size_t which, struct reading r)
{
	struct probe_ctx *ctx = b->unit->ctx;
	enum status st;

	r.metric = precisions[which].metric;
	st = ctx->emit(ctx, &r);
	r.metric = precisions[which].peak_metric;
	return st == ST_OK ? ctx->emit(ctx, &r) : st;
}

/* What the card or its libraries do not multiply. */
static enum status emit_absent(struct gemm_bench *b, size_t which)
{
	struct probe_ctx *ctx = b->unit->ctx;
	struct reading r = card_reading(b->unit, NULL);
	const char *format = number_format_name(precisions[which].format);
	bool no_lt = precisions[which].format == NUMBER_FP8 && b->dev->lt_why &&
	             10 * b->dev->card.major + b->dev->card.minor >= 89;

	r.outcome = no_lt ? OUTCOME_NOT_MEASURED : OUTCOME_UNSUPPORTED;
	if (no_lt)
		reason_set(ctx, &r.reason, MSG_card_refused, b->dev->card.uuid, b->dev->lt_why);
	else
		reason_set(ctx, &r.reason, MSG_device_format, b->dev->card.name, format);
	return emit_both(b, which, r);
}

static enum status measure_one(struct gemm_bench *b, size_t which, struct outcome_sum *sum)
{
	struct gemm_plan plan = plan_for(b->unit->ctx, which == 0);
	struct gemm_series s = {0};
	struct error err = {0};
	enum status st;

	if (!b->dev->device.ops->can_gemm(&b->dev->device, precisions[which].format))
		return emit_absent(b, which);
	device_cuda_forget(b->dev);
	st = gemm_series_init(&s, b, precisions[which].format, &plan, &err);
	if (st == ST_OK)
		st = gemm_series_run(&s, &err);
	if (st == ST_OK) {
		add_up(&s, sum);
		st = emit_series(&s, which, sum);
	} else {
		struct reading r = card_reading(b->unit, NULL);

		card_refuse(b->unit, &r, device_cuda_fault(b->dev), &err);
		if (r.outcome != OUTCOME_UNSUPPORTED && !sum->failed++) {
			sum->cause = device_cuda_fault(b->dev);
			error_set(&sum->err, err.status, MSG_path_error,
			          number_format_name(precisions[which].format),
			          str_text(&err.text));
		}
		st = emit_both(b, which, r);
	}
	gemm_series_release(&s);
	error_release(&err);
	return st;
}

/* --- the card as a whole ----------------------------------------------------------------- */

static enum status emit_number(struct gemm_bench *b, const char *metric, double value,
                               const char *params, const char *why)
{
	struct probe_ctx *ctx = b->unit->ctx;
	struct reading r = card_reading(b->unit, metric);

	r.value_kind = VALUE_NUMBER;
	r.value = value;
	r.params = params;
	if (!isfinite(value)) {
		r.value_kind = VALUE_NONE;
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(ctx, &r.reason, MSG_card_refused, b->dev->card.uuid, why);
	}
	return ctx->emit(ctx, &r);
}

static enum status emit_errors(struct gemm_bench *b, const struct outcome_sum *sum)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	double wrong = (double)sum->different + (double)sum->sums_wrong;
	enum status st;

	json_object_begin(&j, NULL);
	json_put_int(&j, "precisions", sum->measured);
	json_put_int(&j, "precisions_broken_off", sum->failed);
	json_put_int(&j, "products_compared", (int64_t)sum->compared);
	json_put_int(&j, "elements_different", (int64_t)sum->different);
	json_put_int(&j, "sums_checked", sum->sums_checked);
	json_put_int(&j, "sums_wrong", sum->sums_wrong);
	json_put_string(&j, "check", "bits of each result; Freivalds on rows of the first, FP64");
	json_object_end(&j);
	st = emit_number(b, "gemm_wrong_elements", sum->measured ? wrong : NAN, text.data,
	                 str_text(&sum->err.text));
	str_release(&text);
	return st;
}

/* Digests of fewer precisions than a card has would differ from its likes'. */
static enum status emit_digest(struct gemm_bench *b, const struct outcome_sum *sum)
{
	struct probe_ctx *ctx = b->unit->ctx;
	struct reading r = card_reading(b->unit, "gemm_digest");

	r.value_kind = VALUE_TEXT;
	r.text = str_text(&sum->digests);
	if (sum->failed || !sum->measured)
		card_refuse(b->unit, &r, sum->cause, &sum->err);
	return ctx->emit(ctx, &r);
}

static enum status emit_xids(struct gemm_bench *b)
{
	struct probe_ctx *ctx = b->unit->ctx;
	struct reading r = card_reading(b->unit, "gemm_xids");
	const char *xids = telemetry_xids(&b->telemetry, ctx->arena);

	r.value_kind = VALUE_TEXT;
	r.text = xids && *xids ? xids : "none";
	if (!xids) {
		r.value_kind = VALUE_NONE;
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(ctx, &r.reason, MSG_card_refused, b->dev->card.uuid,
		           b->telemetry.why ? b->telemetry.why : say(MSG_telemetry_silent));
	}
	return ctx->emit(ctx, &r);
}

static enum status emit_ecc(struct gemm_bench *b, int64_t before)
{
	struct error err = {0};
	nvml_result code = NVML_OK;
	int64_t after = b->telemetry.ready ? telemetry_ecc(&b->telemetry, &code) : -1;
	double grown = before >= 0 && after >= before ? (double)(after - before) : NAN;
	enum status st;

	nvml_check(&b->telemetry.nvml, code, "nvmlDeviceGetTotalEccErrors", &err);
	st = emit_number(b, "gemm_ecc_errors", grown, NULL,
	                 b->telemetry.why ? b->telemetry.why
	                 : err.status     ? str_text(&err.text)
	                                  : say(MSG_telemetry_silent));
	error_release(&err);
	return st;
}

static enum status emit_card(struct gemm_bench *b, const struct outcome_sum *sum,
                             int64_t ecc_before)
{
	const char *why = b->telemetry.why ? b->telemetry.why : say(MSG_telemetry_silent);
	const char *broken = sum->err.status ? str_text(&sum->err.text) : why;
	enum status st = emit_errors(b, sum);

	if (st == ST_OK)
		st = emit_digest(b, sum);
	if (st == ST_OK)
		st = emit_number(b, "gemm_fp16_tflops_per_ghz",
		                 sum->fp16_tflops / (sum->fp16_mhz / 1000), NULL,
		                 isfinite(sum->fp16_tflops) ? why : broken);
	if (st == ST_OK)
		st = emit_number(b, "gemm_throttle_s", sum->slowdown_s, NULL,
		                 sum->measured ? why : broken);
	if (st == ST_OK)
		st = emit_number(b, "gemm_host_per_event_s", sum->clock_ratio, NULL, broken);
	if (st == ST_OK)
		st = emit_ecc(b, ecc_before);
	return st == ST_OK ? emit_xids(b) : st;
}

/* --- running ------------------------------------------------------------------------------- */

static enum status bench_open(struct gemm_bench *b, struct error *err)
{
	struct card_unit *unit = b->unit;
	struct device_cuda_request request = {
		.cuda = unit->cuda,
		.card = &unit->card,
		.where = unit->where,
		.code = {kernels_ptx, KERNEL_THREADS, KERNEL_BLOCKS_PER_SM},
		.blas = true,
	};
	void *seen = NULL;
	enum status st = device_cuda_open(&b->dev, unit->ctx->arena, &request, err);

	if (st == ST_OK)
		st = windows_open(&b->line, b->dev, unit->ctx->clock, err);
	if (st == ST_OK)
		st = device_cuda_kernel(b->dev, "assay_fill", &b->fill, err);
	if (st == ST_OK)
		st = device_cuda_kernel(b->dev, "assay_compare", &b->compare, err);
	if (st == ST_OK)
		st = device_cuda_kernel(b->dev, "assay_digest", &b->digest, err);
	if (st == ST_OK)
		st = CUDA_TRY(unit->cuda, err, host_alloc, &seen, 2 * sizeof(*b->seen),
		              CU_HOST_PORTABLE);
	b->seen = seen;
	if (st == ST_OK)
		st = b->dev->device.ops->alloc(&b->dev->device, &b->found, sizeof(*b->seen), err);
	return st;
}

static void bench_close(struct gemm_bench *b)
{
	telemetry_close(&b->telemetry);
	windows_close(&b->line);
	if (!b->dev)
		return;
	b->dev->device.ops->release(&b->dev->device, &b->found);
	if (b->seen)
		b->dev->cuda->call.host_free(b->seen);
	b->dev->device.ops->close(&b->dev->device);
}

static enum status measure_all(struct gemm_bench *b)
{
	struct outcome_sum sum = {
		.slowdown_s = NAN, .clock_ratio = NAN, .fp16_tflops = NAN, .fp16_mhz = NAN};
	nvml_result ignored;
	int64_t ecc = b->telemetry.ready ? telemetry_ecc(&b->telemetry, &ignored) : -1;
	enum status st = ST_OK;

	for (size_t i = 0; i < PRECISIONS && st == ST_OK; i++)
		st = measure_one(b, i, &sum);
	if (st == ST_OK)
		st = emit_card(b, &sum, ecc);
	str_release(&sum.digests);
	error_release(&sum.err);
	return st;
}

static enum status measure_alone(struct gemm_bench *b)
{
	struct probe_ctx *ctx = b->unit->ctx;
	struct gemm_plan plan = {.order = order_of(ctx),
	                         .window_s = ctx->param_real(ctx, "window_s"),
	                         .windows = (int)ctx->param_int(ctx, "windows")};
	struct reading r = card_reading(b->unit, ctx->probe->metrics[0].name);
	struct gemm_series s = {0};
	struct error err = {0};
	enum status st = gemm_series_init(&s, b, precisions[0].format, &plan, &err);

	if (st == ST_OK)
		st = gemm_series_run(&s, &err);
	if (st == ST_OK)
		st = rate_reading(&s, 0, "gemm-alone.csv", &r);
	else
		card_refuse(b->unit, &r, device_cuda_fault(b->dev), &err);
	gemm_series_release(&s);
	error_release(&err);
	return ctx->emit(ctx, &r);
}

/* Opens, measures, closes; what does not open owes everything. */
static enum status with_bench(struct card_unit *unit, enum status (*measure)(struct gemm_bench *b))
{
	struct gemm_bench *b = arena_alloc(unit->ctx->arena, sizeof(*b));
	struct error err = {0};
	enum status st;

	b->unit = unit;
	unit->ctx->progress(unit->ctx, STAGE_LOADING, -1, MSG_doing_load);
	st = bench_open(b, &err);
	if (st == ST_OK) {
		telemetry_open(&b->telemetry, unit->ctx->arena, unit->where, unit->ctx->clock,
		               unit->card.pci);
		b->line.telemetry = &b->telemetry;
		unit->ctx->progress(unit->ctx, STAGE_PREPARING, -1, MSG_doing_data);
		st = measure(b);
	} else {
		st = card_owe(unit, unit->cuda->fault, &err);
	}
	bench_close(b);
	error_release(&err);
	return st;
}

enum status gemm_card(struct card_unit *unit)
{
	return with_bench(unit, measure_all);
}

enum status gemm_card_alone(struct card_unit *unit)
{
	return with_bench(unit, measure_alone);
}
