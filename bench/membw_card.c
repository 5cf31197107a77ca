/* Streaming the memory of a GPU in windows. After each window what it left is
 * checked, outside of its time: a copy and a triad element by element, what was
 * read and written by the sum of its words, which is known. */
#include "membw_card.h"

#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "kernels/kernels.h"
#include "kernels/ptx.h"
#include "stats/samples.h"
#include "stats/summary.h"
#include "windows.h"

/* Arrays: the larger of these leaves little of a pass in the L2. */
#define CACHE_TIMES  10
#define LEAST_BYTES  ((int64_t)1 << 30)
#define GRAIN        8192 /* bytes; whole periods of the ramp of b */
#define MEMORY_SHARE 0.8  /* of what is free, for the three arrays */

#define WARM_WINDOWS  20
#define LEAST_WINDOWS 5
#define RESERVE_NS    (5 * NS_PER_S)

/* Of the ramps in b and c (src/hw/device_cuda.c, triad_fill). */
#define MOD_B 1024

enum kind { READ, WRITE, COPY, TRIAD, KINDS };

static const struct {
	const char *metric, *kernel;
	int arrays; /* that a pass reads or writes */
} kinds[] = {
	[READ] = {"membw_read_gbs", "assay_read", 1},
	[WRITE] = {"membw_write_gbs", "assay_write", 1},
	[COPY] = {"membw_copy_gbs", "assay_copy", 2},
	[TRIAD] = {"membw_triad_gbs", "assay_triad", 3},
};

/* What a check leaves in pinned memory. */
struct seen {
	struct kernel_check check; /* counted up over all windows */
	uint64_t sum;              /* likewise */
};

struct stream_bench {
	struct card_unit *unit;
	struct device_cuda *dev;
	struct windows_line line;
	struct telemetry telemetry;
	cu_function kernel[KINDS], compare, triad_check;
	struct device_buffer a, b, c, found; /* found: a struct seen */
	struct device_triad job;
	int64_t bytes;  /* of one array */
	uint64_t sum_b; /* of the words of b */
	struct seen *seen;
};

/* One kind on the card. */
struct stream_run {
	struct stream_bench *bench;
	enum kind kind;
	int calls, wanted;
	bool warming;
	int queued;        /* windows */
	uint64_t base;     /* of what is being written */
	double scalar;     /* of the triad */
	uint64_t expected; /* sum of all that was read so far */
	uint64_t expected_at[2];
	struct samples rates; /* GB/s */
	struct clock_pairs clocks;
	struct str raw;
	struct telemetry_sum telemetry;
	int wrong_window; /* -1: none */
	uint64_t wrong;   /* elements; 0 of a sum that is off */
};

/* --- a window ------------------------------------------------------------------- */

static uint64_t words_of(const struct stream_bench *b)
{
	return (uint64_t)b->bytes / sizeof(uint64_t);
}

static enum status call(void *arg, int index, struct error *err)
{
	struct stream_run *r = arg;
	struct stream_bench *b = r->bench;
	cu_ptr to = device_cuda_address(&b->a), from = device_cuda_address(&b->b);
	cu_ptr third = device_cuda_address(&b->c);
	cu_ptr sum = device_cuda_address(&b->found) + offsetof(struct seen, sum);
	uint64_t n = (uint64_t)b->bytes / 16;
	void *arguments[KINDS][5] = {
		[READ] = {&from, &n, &sum},
		[WRITE] = {&to, &n, &r->base},
		[COPY] = {&to, &from, &n},
		[TRIAD] = {&to, &from, &third, &r->scalar, &n},
	};

	(void)index;
	r->expected += r->kind == READ ? b->sum_b : 0;
	return device_cuda_wide(b->dev, b->kernel[r->kind], arguments[r->kind], err);
}

/* NaN in what is to be written, and other values than the last time. */
static enum status before(void *arg, int slot, struct error *err)
{
	struct stream_run *r = arg;
	struct stream_bench *b = r->bench;

	(void)slot;
	r->queued++;
	r->base = (uint64_t)r->queued * 0x9e3779b97f4a7c15u;
	r->scalar = 4 + r->queued % 8;
	if (r->kind == READ)
		return ST_OK;
	return CUDA_TRY(b->dev->cuda, err, set8, device_cuda_address(&b->a), 0xff, b->a.bytes,
	                b->dev->stream);
}

static enum status queue_check(struct stream_run *r, struct error *err)
{
	struct stream_bench *b = r->bench;
	cu_ptr a = device_cuda_address(&b->a), from = device_cuda_address(&b->b);
	cu_ptr check = device_cuda_address(&b->found), sum = check + offsetof(struct seen, sum);
	uint64_t words = words_of(b), n = words / 2, mod_b = MOD_B, mod_c = 509;
	uint32_t element = sizeof(uint64_t);

	switch (r->kind) {
	case WRITE:
		/* base + 0, base + 1 … base + words - 1, modulo 2^64. */
		r->expected += words * r->base + words / 2 * (words - 1);
		return device_cuda_wide(b->dev, b->kernel[READ], (void *[]){&a, &n, &sum}, err);
	case COPY:
		return device_cuda_wide(b->dev, b->compare,
		                        (void *[]){&a, &from, &words, &element, &check}, err);
	case TRIAD:
		return device_cuda_wide(b->dev, b->triad_check,
		                        (void *[]){&a, &words, &mod_b, &mod_c, &r->scalar, &check},
		                        err);
	default:
		return ST_OK;
	}
}

static enum status after(void *arg, int slot, struct error *err)
{
	struct stream_run *r = arg;
	struct stream_bench *b = r->bench;
	enum status st = queue_check(r, err);

	r->expected_at[slot] = r->expected;
	if (st == ST_OK)
		st = CUDA_TRY(b->dev->cuda, err, copy_to_host, &b->seen[slot],
		              device_cuda_address(&b->found), sizeof(*b->seen), b->dev->stream);
	return st;
}

static void take_check(struct stream_run *r, int slot)
{
	const struct seen *seen = &r->bench->seen[slot];

	if (r->wrong_window < 0 && (seen->check.bad > 0 || seen->sum != r->expected_at[slot]))
		r->wrong_window = r->warming ? 0 : (int)r->rates.n;
	r->wrong = seen->check.bad;
}

static enum status done(void *arg, const struct window *w, struct error *err)
{
	struct stream_run *r = arg;
	double payload = (double)kinds[r->kind].arrays * (double)r->bench->bytes * r->calls;
	double rate = payload / w->seconds / 1e9;

	take_check(r, w->slot);
	if (!(w->seconds > 0) || (!r->warming && samples_add(&r->rates, rate) != ST_OK))
		return error_set(err, ST_RANGE, MSG_device_no_time, r->bench->dev->device.info.id);
	if (r->warming)
		return ST_OK;
	clock_pairs_add(&r->clocks, w);
	str_addf(&r->raw, "%zu,%d,%.9f,%.0f,%.3f\n", r->rates.n - 1, r->calls, w->seconds, payload,
	         rate);
	return ST_OK;
}

static bool more(void *arg, int index)
{
	struct stream_run *r = arg;
	struct probe_ctx *ctx = r->bench->unit->ctx;

	if (r->warming)
		return index < WARM_WINDOWS;
	ctx->progress(ctx, STAGE_MEASURING,
	              ((double)r->kind + (double)r->rates.n / r->wanted) / KINDS, MSG_doing_membw);
	if ((int)r->rates.n >= LEAST_WINDOWS &&
	    clock_now(ctx->clock) > ctx->deadline_ns - RESERVE_NS)
		return false;
	return index < r->wanted;
}

/* --- one kind ----------------------------------------------------------------------- */

static enum status clear_check(struct stream_run *r, struct error *err)
{
	const struct seen none = {{0, UINT64_MAX, 0}, 0};
	struct device *device = &r->bench->dev->device;

	r->expected = 0;
	return device->ops->write(device, &r->bench->found, 0, &none, sizeof(none), err);
}

static enum status run_kind(struct stream_run *r, struct error *err)
{
	struct stream_bench *b = r->bench;
	struct window_work work = {.before = before,
	                           .call = call,
	                           .after = after,
	                           .done = done,
	                           .more = more,
	                           .arg = r};
	double window_s = b->unit->ctx->param_real(b->unit->ctx, "window_s");
	enum status st = windows_fit(&b->line, call, r, window_s, &r->calls, err);

	work.calls = r->calls;
	if (st == ST_OK)
		st = clear_check(r, err);
	str_add(&r->raw, "window,passes,seconds,payload_bytes,gbs\n");
	telemetry_begin(&b->telemetry);
	r->warming = true;
	if (st == ST_OK)
		st = windows_run(&b->line, &work, err);
	r->warming = false;
	telemetry_begin(&b->telemetry);
	if (st == ST_OK)
		st = windows_run(&b->line, &work, err);
	telemetry_end(&b->telemetry, &r->telemetry);
	return st;
}

static const char *params_of(const struct stream_run *r)
{
	const struct stream_bench *b = r->bench;
	const struct device_info *info = &b->dev->device.info;
	struct probe_ctx *ctx = b->unit->ctx;
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;

	json_object_begin(&j, NULL);
	json_put_int(&j, "array_bytes", b->bytes);
	/* On a GPU a store that fills its line reads nothing: traffic is payload. */
	json_put_int(&j, "payload_bytes_per_pass", kinds[r->kind].arrays * b->bytes);
	json_put_int(&j, "traffic_bytes_per_pass", kinds[r->kind].arrays * b->bytes);
	json_put_int(&j, "passes_per_window", r->calls);
	json_put_number(&j, "window_s", ctx->param_real(ctx, "window_s"));
	json_put_int(&j, "windows_planned", r->wanted);
	json_put_int(&j, "warmup_windows", WARM_WINDOWS);
	json_put_int(&j, "cache_bytes", info->cache_bytes);
	json_put_string(&j, "device", info->name);
	json_put_int(&j, "sm_count", info->units);
	json_put_number(&j, "host_per_event_s", clock_pairs_ratio(&r->clocks));
	telemetry_put(&r->telemetry, &j);
	json_object_end(&j);
	kept = arena_str(ctx->arena, text.data);
	str_release(&text);
	return kept;
}

static void judge_rate(const struct stream_run *r, struct reading *reading)
{
	struct probe_ctx *ctx = r->bench->unit->ctx;
	const char *words = tmpf("%llu", (unsigned long long)words_of(r->bench));

	reading->outcome = OUTCOME_FAILED;
	if (r->wrong > 0)
		reason_set(ctx, &reading->reason, MSG_membw_wrong,
		           tmpf("%llu", (unsigned long long)r->wrong), words,
		           tmpf("%d", r->wrong_window));
	else if (r->wrong_window >= 0)
		reason_set(ctx, &reading->reason, MSG_membw_sum, words,
		           tmpf("%d", r->wrong_window));
	else if (clock_pairs_off(&r->clocks))
		reason_set(ctx, &reading->reason, MSG_card_clock,
		           tmpf("%.3f", clock_pairs_ratio(&r->clocks)));
	else
		reading->outcome = OUTCOME_MEASURED;
}

static enum status emit_kind(const struct stream_run *r)
{
	struct card_unit *unit = r->bench->unit;
	struct probe_ctx *ctx = unit->ctx;
	struct reading reading = card_reading(unit, kinds[r->kind].metric);
	struct windows windows = {ctx->param_real(ctx, "window_s"), ctx->seed};
	enum status st = ctx->save_raw(ctx, tmpf("%s.csv", kinds[r->kind].metric), r->raw.data,
	                               r->raw.len, &reading.raw);

	samples_to_stats(&r->rates, &windows, reading.stats);
	reading.value_kind = VALUE_NUMBER;
	reading.value = median(r->rates.value, r->rates.n);
	reading.params = params_of(r);
	judge_rate(r, &reading);
	return st == ST_OK ? ctx->emit(ctx, &reading) : st;
}

static enum status measure_kind(struct stream_bench *b, enum kind kind)
{
	struct probe_ctx *ctx = b->unit->ctx;
	struct stream_run r = {.bench = b,
	                       .kind = kind,
	                       .wanted = (int)ctx->param_int(ctx, "windows"),
	                       .wrong_window = -1};
	struct error err = {0};
	enum status st;

	device_cuda_forget(b->dev);
	st = run_kind(&r, &err);
	if (st == ST_OK && r.rates.n == 0)
		st = error_set(&err, ST_RANGE, MSG_device_no_time, b->dev->device.info.id);
	if (st == ST_OK) {
		st = emit_kind(&r);
	} else {
		struct reading reading = card_reading(b->unit, kinds[kind].metric);

		card_refuse(b->unit, &reading, device_cuda_fault(b->dev), &err);
		st = ctx->emit(ctx, &reading);
	}
	samples_release(&r.rates);
	clock_pairs_release(&r.clocks);
	str_release(&r.raw);
	error_release(&err);
	return st;
}

/* --- the card ---------------------------------------------------------------------------- */

/* Bandwidth of arrays that were cut to fit would be the cache's. */
static enum status choose_size(struct stream_bench *b, struct error *err)
{
	const struct device_info *info = &b->dev->device.info;
	int64_t size = b->unit->ctx->param_int(b->unit->ctx, "size");

	if (size <= 0) {
		size = CACHE_TIMES * info->cache_bytes;
		size = size < LEAST_BYTES ? LEAST_BYTES : size;
		size = (int64_t)((double)size / b->unit->memory_scale);
	}
	b->bytes = size / GRAIN * GRAIN > 0 ? size / GRAIN * GRAIN : GRAIN;
	if (3.0 * (double)b->bytes <= MEMORY_SHARE * (double)info->memory_free)
		return ST_OK;
	return error_set(err, ST_NOMEM, MSG_membw_memory, fmt_bytes(3 * b->bytes),
	                 tmpf("%d", CACHE_TIMES), fmt_bytes(info->cache_bytes),
	                 fmt_bytes(info->memory_free));
}

/* Of whole periods of the ramp i mod MOD_B, as 64-bit words. */
static uint64_t ramp_sum(uint64_t words)
{
	uint64_t sum = 0;

	for (int i = 0; i < MOD_B; i++) {
		double value = i;
		uint64_t bits;

		memcpy(&bits, &value, sizeof(bits));
		sum += bits;
	}
	return words / MOD_B * sum;
}

static enum status find_kernels(struct stream_bench *b, struct error *err)
{
	enum status st = device_cuda_kernel(b->dev, "assay_compare", &b->compare, err);

	if (st == ST_OK)
		st = device_cuda_kernel(b->dev, "assay_triad_check", &b->triad_check, err);
	for (int k = 0; k < KINDS && st == ST_OK; k++)
		st = device_cuda_kernel(b->dev, kinds[k].kernel, &b->kernel[k], err);
	return st;
}

static enum status bench_open(struct stream_bench *b, struct error *err)
{
	struct card_unit *unit = b->unit;
	struct device_cuda_request request = {
		.cuda = unit->cuda,
		.card = &unit->card,
		.where = unit->where,
		.code = {kernels_ptx, KERNEL_THREADS, KERNEL_BLOCKS_PER_SM},
	};
	struct device_buffer *arrays[] = {&b->a, &b->b, &b->c};
	struct device *device;
	void *seen = NULL;
	enum status st = device_cuda_open(&b->dev, unit->ctx->arena, &request, err);

	if (st != ST_OK)
		return st;
	device = &b->dev->device;
	st = windows_open(&b->line, b->dev, unit->ctx->clock, err);
	if (st == ST_OK)
		st = find_kernels(b, err);
	if (st == ST_OK)
		st = choose_size(b, err);
	if (st == ST_OK)
		st = CUDA_TRY(unit->cuda, err, host_alloc, &seen, 2 * sizeof(*b->seen),
		              CU_HOST_PORTABLE);
	b->seen = seen;
	for (size_t i = 0; i < 3 && st == ST_OK; i++)
		st = device->ops->alloc(device, arrays[i], (size_t)b->bytes, err);
	if (st == ST_OK)
		st = device->ops->alloc(device, &b->found, sizeof(*b->seen), err);
	b->job = (struct device_triad){
		.a = &b->a, .b = &b->b, .c = &b->c, .n = (size_t)b->bytes / sizeof(double)};
	b->sum_b = ramp_sum(words_of(b));
	return st == ST_OK ? device->ops->triad_fill(device, &b->job, err) : st;
}

static void bench_close(struct stream_bench *b)
{
	struct device_buffer *buffers[] = {&b->a, &b->b, &b->c, &b->found};

	telemetry_close(&b->telemetry);
	windows_close(&b->line);
	if (!b->dev)
		return;
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		b->dev->device.ops->release(&b->dev->device, buffers[i]);
	if (b->seen)
		b->dev->cuda->call.host_free(b->seen);
	b->dev->device.ops->close(&b->dev->device);
}

enum status membw_card(struct card_unit *unit)
{
	struct stream_bench *b = arena_alloc(unit->ctx->arena, sizeof(*b));
	struct error err = {0};
	enum status st;

	b->unit = unit;
	unit->ctx->progress(unit->ctx, STAGE_PREPARING, -1, MSG_doing_data);
	st = bench_open(b, &err);
	if (st == ST_OK) {
		telemetry_open(&b->telemetry, unit->ctx->arena, unit->where, unit->ctx->clock,
		               unit->card.pci);
		b->line.telemetry = &b->telemetry;
		for (int k = 0; k < KINDS && st == ST_OK; k++)
			st = measure_kind(b, (enum kind)k);
	} else {
		st = card_owe(unit, unit->cuda->fault, &err);
	}
	bench_close(b);
	error_release(&err);
	return st;
}

/* Loading, and per kind warm-up and windows with a pass or two of checking. */
double membw_card_duration(struct probe_ctx *ctx)
{
	double windows = (double)ctx->param_int(ctx, "windows") + WARM_WINDOWS;

	return 10 + KINDS * 1.2 * windows * ctx->param_real(ctx, "window_s");
}
