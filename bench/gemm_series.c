/* Sampling one precision on a GPU. */
#include "gemm_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "stats/fluctuation.h"
#include "stats/series.h"
#include "stats/summary.h"

/* Medians of so many windows before and so many now tell a card that still warms. */
#define STEADY_WINDOWS 10
#define STEADY_CHANGE  0.002
#define STEADY_C_MIN   1.0 /* degrees a minute */
#define LEAST_WARM     2

/* Share of the free memory that results may fill. */
#define RESULTS_SHARE 0.8
#define MOST_RESULTS  WINDOW_HELD

/* Windows that make an early end still worth a figure, and what is left of the
 * unit's time then. */
#define LEAST_WINDOWS 5
#define RESERVE_NS    (10 * NS_PER_S)

/* --- data ---------------------------------------------------------------------- */

static uint32_t kernel_type(enum number_format format)
{
	static const uint32_t types[] = {
		[NUMBER_FP64] = KERNEL_FP64, [NUMBER_FP32] = KERNEL_FP32,
		[NUMBER_TF32] = KERNEL_FP32, [NUMBER_FP16] = KERNEL_FP16,
		[NUMBER_BF16] = KERNEL_BF16, [NUMBER_FP8] = KERNEL_E4M3,
	};

	return types[format];
}

/* Normal numbers of mean 0 and deviation 1: zeros or small integers switch fewer
 * transistors and would flatter the card. */
static enum status fill(struct gemm_series *s, const struct device_buffer *to, uint64_t seed,
                        struct error *err)
{
	cu_ptr at = device_cuda_address(to);
	uint64_t n = to->bytes / number_format_bytes(s->format);
	uint32_t type = kernel_type(s->format), uniform = 0;
	double scale = 1;

	return device_cuda_wide(s->bench->dev, s->bench->fill,
	                        (void *[]){&at, &n, &type, &uniform, &seed, &scale}, err);
}

/* NaN in every format. */
static enum status poison(struct gemm_series *s, const struct device_buffer *to, struct error *err)
{
	struct device_cuda *dev = s->bench->dev;

	return CUDA_TRY(dev->cuda, err, set8, device_cuda_address(to), 0xff, to->bytes,
	                dev->stream);
}

static enum status digest(struct gemm_series *s, struct error *err)
{
	struct device_cuda *dev = s->bench->dev;
	struct device *device = &dev->device;
	const struct device_buffer *found = &s->bench->found;
	cu_ptr at = device_cuda_address(&s->reference), sum = device_cuda_address(found);
	uint64_t words = s->reference.bytes / sizeof(uint64_t), zero = 0;
	enum status st = device->ops->write(device, &s->bench->found, 0, &zero, sizeof(zero), err);

	if (st == ST_OK)
		st = device_cuda_wide(dev, s->bench->digest, (void *[]){&at, &words, &sum}, err);
	if (st == ST_OK)
		st = device->ops->read(device, found, 0, &s->digest, sizeof(s->digest), err);
	return st;
}

/* The first result, and whether it is right. */
static enum status make_reference(struct gemm_series *s, struct error *err)
{
	struct device *device = &s->bench->dev->device;
	struct freivalds check = {0};
	double seconds;
	enum status st = poison(s, &s->reference, err);

	if (st == ST_OK)
		st = device->ops->gemm(device, &s->job, 1, &seconds, err);
	if (st == ST_OK)
		st = freivalds_sample(&check, device, &s->job, GEMM_CHECKED_ROWS, s->seed + 2, err);
	if (st == ST_OK)
		st = freivalds_check(&check, device, &s->job, &s->sums, err);
	freivalds_release(&check);
	return st == ST_OK ? digest(s, err) : st;
}

enum status gemm_series_init(struct gemm_series *s, struct gemm_bench *bench,
                             enum number_format format, const struct gemm_plan *plan,
                             struct error *err)
{
	struct device *device = &bench->dev->device;
	size_t elements = (size_t)plan->order * (size_t)plan->order;
	size_t in = elements * number_format_bytes(format);
	size_t out = elements * number_format_bytes(number_format_result(format));
	enum status st = device->ops->alloc(device, &s->a, in, err);

	s->bench = bench;
	s->plan = plan;
	s->format = format;
	/* One seed for all cards of a run, so that their results can be compared. */
	s->seed = bench->unit->ctx->seed + 16 * (uint64_t)format;
	s->sums.row = -1;
	s->first_window = -1;
	s->job = (struct device_gemm){.format = format,
	                              .m = plan->order,
	                              .n = plan->order,
	                              .k = plan->order,
	                              .a = &s->a,
	                              .b = &s->b,
	                              .c = &s->reference};
	if (st == ST_OK)
		st = device->ops->alloc(device, &s->b, in, err);
	if (st == ST_OK)
		st = device->ops->alloc(device, &s->reference, out, err);
	if (st == ST_OK)
		st = fill(s, &s->a, s->seed, err);
	if (st == ST_OK)
		st = fill(s, &s->b, s->seed + 1, err);
	return st == ST_OK ? make_reference(s, err) : st;
}

void gemm_series_release(struct gemm_series *s)
{
	struct device *device = s->bench ? &s->bench->dev->device : NULL;

	if (device) {
		device->ops->release(device, &s->a);
		device->ops->release(device, &s->b);
		device->ops->release(device, &s->reference);
		for (int i = 0; i < s->n_results; i++)
			device->ops->release(device, &s->results[i]);
	}
	free(s->results);
	samples_release(&s->warm_rates);
	samples_release(&s->warm_s);
	samples_release(&s->warm_celsius);
	samples_release(&s->rates);
	clock_pairs_release(&s->clocks);
	str_release(&s->raw);
	*s = (struct gemm_series){0};
}

/* --- a window ----------------------------------------------------------------------- */

static enum status before(void *arg, int slot, struct error *err)
{
	struct gemm_series *s = arg;

	(void)slot;
	return poison(s, &s->results[s->queued++ % s->n_results], err);
}

static enum status call(void *arg, int index, struct error *err)
{
	struct gemm_series *s = arg;

	s->job.c = &s->results[index % s->n_results];
	return device_cuda_gemm(s->bench->dev, &s->job, err);
}

/* Every result of the window against the first one. */
static enum status after(void *arg, int slot, struct error *err)
{
	struct gemm_series *s = arg;
	struct gemm_bench *b = s->bench;
	cu_ptr reference = device_cuda_address(&s->reference),
	       found = device_cuda_address(&b->found);
	uint64_t words = s->reference.bytes / sizeof(uint64_t);
	uint32_t element = (uint32_t)number_format_bytes(number_format_result(s->format));
	enum status st = ST_OK;

	for (int i = 0; i < s->n_results && st == ST_OK; i++) {
		cu_ptr at = device_cuda_address(&s->results[i]);

		st = device_cuda_wide(b->dev, b->compare,
		                      (void *[]){&at, &reference, &words, &element, &found}, err);
	}
	if (st == ST_OK)
		st = CUDA_TRY(b->dev->cuda, err, copy_to_host, &b->seen[slot], found,
		              sizeof(*b->seen), b->dev->stream);
	return st;
}

static void take_check(struct gemm_series *s, const struct window *window)
{
	const struct kernel_check *seen = &s->bench->seen[window->slot];

	s->compared += (uint64_t)s->n_results;
	if (seen->bad > 0 && s->first_window < 0) {
		s->first_window = (int)(s->warming ? 0 : s->rates.n);
		s->first_different = (int64_t)seen->first;
	}
	s->different = seen->bad;
}

static enum status warm_window(struct gemm_series *s, double rate, const struct window *window)
{
	double celsius = s->bench->telemetry.sum.celsius;
	enum status st = samples_add(&s->warm_rates, rate);

	if (st == ST_OK && isfinite(celsius)) {
		samples_add(&s->warm_s, window->event_s);
		samples_add(&s->warm_celsius, celsius);
	}
	return st;
}

/* Of this window alone: a mean since the begin would hide a drop. */
static double mean_since(double *told, int *samples, double sum, int n)
{
	double mean = n > *samples ? (sum - *told) / (n - *samples) : NAN;

	*told = sum;
	*samples = n;
	return mean;
}

static enum status timed_window(struct gemm_series *s, double rate, const struct window *window)
{
	const struct telemetry *t = &s->bench->telemetry;
	enum status st = samples_add(&s->rates, rate);
	double sm = mean_since(&s->told.sm, &s->told.sm_samples, t->sm_sum, t->sm_samples);
	double power =
		mean_since(&s->told.power, &s->told.power_samples, t->power_sum, t->power_samples);

	clock_pairs_add(&s->clocks, window);
	str_addf(&s->raw, "%zu,%d,%.9f,%.6f,%.9f,%.9f,%.0f,%.0f,%.1f\n", s->rates.n - 1, s->calls,
	         window->seconds, rate, window->event_s, window->host_s, sm, t->sum.celsius, power);
	return st;
}

static enum status done(void *arg, const struct window *window, struct error *err)
{
	struct gemm_series *s = arg;
	const struct device_gemm *j = &s->job;
	double flop = 2.0 * j->m * j->n * j->k * s->calls, rate = flop / window->seconds / 1e12;
	enum status st;

	take_check(s, window);
	st = !(window->seconds > 0) ? ST_RANGE
	     : s->warming           ? warm_window(s, rate, window)
	                            : timed_window(s, rate, window);
	if (st != ST_OK)
		return error_set(err, ST_RANGE, MSG_device_no_time, s->bench->dev->device.info.id);
	return ST_OK;
}

/* --- how many windows ---------------------------------------------------------------- */

/* The rate no longer moves, and the heat neither. */
static bool is_steady(const struct gemm_series *s)
{
	size_t n = s->warm_rates.n, k = STEADY_WINDOWS, t = s->warm_s.n;
	double now, before_that, slope;

	if (n < 2 * k)
		return false;
	now = median(s->warm_rates.value + n - k, k);
	before_that = median(s->warm_rates.value + n - 2 * k, k);
	if (!(fabs(now - before_that) < STEADY_CHANGE * before_that))
		return false;
	if (t < 2 * k)
		return true;
	slope = theil_sen(s->warm_s.value + t - 2 * k, s->warm_celsius.value + t - 2 * k, 2 * k);
	return !(slope * 60 >= STEADY_C_MIN);
}

static bool out_of_time(const struct gemm_series *s)
{
	const struct probe_ctx *ctx = s->bench->unit->ctx;

	return clock_now(ctx->clock) > ctx->deadline_ns - RESERVE_NS;
}

static bool warm_more(struct gemm_series *s, int index)
{
	int most = (int)ceil(s->plan->warmup_s / s->plan->window_s - 1e-6);

	s->steady = s->steady || is_steady(s);
	if (index < LEAST_WARM)
		return true;
	return !s->steady && index < most && !out_of_time(s);
}

static bool more(void *arg, int index)
{
	struct gemm_series *s = arg;
	struct probe_ctx *ctx = s->bench->unit->ctx;

	if (s->warming)
		return warm_more(s, index);
	ctx->progress(ctx, STAGE_MEASURING, fmin(1, (double)s->rates.n / s->wanted),
	              MSG_doing_gemm);
	if ((int)s->rates.n >= LEAST_WINDOWS && out_of_time(s))
		return false;
	return index < s->wanted;
}

/* Whether the figures so far leave it open that the card is steady, and there is
 * time to close it. */
static bool worth_extending(const struct gemm_series *s)
{
	const struct gemm_plan *p = s->plan;
	const struct probe_ctx *ctx = s->bench->unit->ctx;
	struct windows windows = {p->window_s, s->seed};
	double stats[STATS], left = 1.1 * (p->extended - (double)s->rates.n) * p->window_s;

	if (p->extended <= (int)s->rates.n || s->different > 0 ||
	    samples_to_stats(&s->rates, &windows, stats) != ST_OK ||
	    f95_judge(stats, 0.01, NULL) != F95_EXTEND)
		return false;
	return clock_now(ctx->clock) + (int64_t)(left * 1e9) + RESERVE_NS < ctx->deadline_ns;
}

/* --- running --------------------------------------------------------------------------- */

/* Into a buffer of its own: the first result stays what the host has checked. */
static enum status fitting_call(void *arg, int index, struct error *err)
{
	struct gemm_series *s = arg;

	(void)index;
	return call(s, 0, err);
}

/* Buffers for results until there are so many. */
static enum status add_results(struct gemm_series *s, int wanted, struct error *err)
{
	struct device *device = &s->bench->dev->device;
	struct device_buffer *more = realloc(s->results, (size_t)wanted * sizeof(*more));
	enum status st = ST_OK;

	if (!more)
		die_nomem();
	s->results = more;
	while (s->n_results < wanted && st == ST_OK) {
		st = device->ops->alloc(device, &s->results[s->n_results], s->reference.bytes, err);
		s->n_results += st == ST_OK;
	}
	return st;
}

static enum status make_results(struct gemm_series *s, struct error *err)
{
	struct cuda *cuda = s->bench->dev->cuda;
	size_t memory_free = 0, total = 0, room;
	int most = s->calls < MOST_RESULTS ? s->calls : MOST_RESULTS;
	enum status st = CUDA_TRY(cuda, err, memory_info, &memory_free, &total);

	/* Beside the one there is. */
	room = 1 + (size_t)(RESULTS_SHARE * (double)memory_free) / s->reference.bytes;
	return st == ST_OK ? add_results(s, room < (size_t)most ? (int)room : most, err) : st;
}

static enum status clear_check(struct gemm_series *s, struct error *err)
{
	struct device *device = &s->bench->dev->device;
	const struct kernel_check none = {0, UINT64_MAX, 0};

	return device->ops->write(device, &s->bench->found, 0, &none, sizeof(none), err);
}

static enum status run_windows(struct gemm_series *s, struct error *err)
{
	struct window_work work = {.before = before,
	                           .call = call,
	                           .after = after,
	                           .done = done,
	                           .more = more,
	                           .arg = s,
	                           .calls = s->calls};
	struct gemm_bench *b = s->bench;
	enum status st;

	telemetry_begin(&b->telemetry);
	s->warming = true;
	st = windows_run(&b->line, &work, err);
	s->warming = false;
	str_add(&s->raw,
	        "window,calls,seconds,tflops,event_s,host_s,sm_mhz_mean,celsius,power_w_mean\n");
	telemetry_begin(&b->telemetry);
	memset(&s->told, 0, sizeof(s->told));
	s->wanted = s->plan->windows;
	if (st == ST_OK)
		st = windows_run(&b->line, &work, err);
	if (st == ST_OK && worth_extending(s)) {
		s->wanted = s->plan->extended - (int)s->rates.n;
		st = windows_run(&b->line, &work, err);
	}
	telemetry_end(&b->telemetry, &s->telemetry);
	return st;
}

enum status gemm_series_run(struct gemm_series *s, struct error *err)
{
	const struct gemm_plan *p = s->plan;
	enum status st = add_results(s, 1, err);

	if (st == ST_OK)
		st = windows_fit(&s->bench->line, fitting_call, s, p->window_s, &s->calls, err);
	if (st == ST_OK)
		st = make_results(s, err);
	if (st == ST_OK)
		st = clear_check(s, err);
	if (st == ST_OK)
		st = run_windows(s, err);
	if (st == ST_OK && s->rates.n == 0)
		st = error_set(err, ST_RANGE, MSG_device_no_time, s->bench->dev->device.info.id);
	if (st != ST_OK)
		return st;
	s->peak = (struct gemm_peak){median(s->rates.value, s->rates.n), p->order, p->order,
	                             p->order};
	if (p->peak_windows > 0) {
		s->job.c = &s->results[0];
		st = gemm_peak_find(&s->bench->line, &s->job, p->order, p->window_s / 5,
		                    p->peak_windows, &s->peak, err);
	}
	s->job.c = &s->reference;
	return st;
}
