/* storage: what a path gives to 4 KiB random reads, at which latency, with data
 * that was really written. One fio run an operating point, so that IOPS and
 * latency of a point belong together. Paths named by --storage are reported as
 * storage_*, the disk below the run directory as local_storage_*: that is
 * information and judged by nothing.
 *
 * What a single node cannot show (that the path is shared, what all nodes get at
 * once) is not claimed here. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/unit.h"
#include "hw/host.h"
#include "hw/sysfs.h"
#include "storage_data.h"
#include "storage_fio.h"

#define LEAST_FREE (2LL << 30)
#define QUICK_MOST (4LL << 30)
#define VERIFY_BLOCKS 2000
#define MAX_DEPTHS 12

enum figure {
	READ_IOPS, LAT_MEAN, LAT_P99, LAT_P999, LAT_DEPTH1, DATA_REAL, COUNTER_RATIO, WRITE_MBS, ENGINE, DIRECT,
	FILESYSTEM, FIGURES
};

/* Both sets of metrics in one order: first the named path's, then local. */
#define SET(prefix)                                                                                                    \
	{prefix "storage_read_iops", "IOPS", BETTER_HIGHER, SUBJECT_PATH, BACKEND_ANY,                                 \
	 "4 KiB random reads completed / seconds, one fio run per operating point"},                                   \
	{prefix "storage_read_lat_mean_ms", "ms", BETTER_LOWER, SUBJECT_PATH, BACKEND_ANY,                             \
	 "mean of submission to completion at that point"},                                                            \
	{prefix "storage_read_lat_p99_ms", "ms", BETTER_LOWER, SUBJECT_PATH, BACKEND_ANY,                              \
	 "99th percentile of submission to completion at that point"},                                                 \
	{prefix "storage_read_lat_p999_ms", "ms", BETTER_LOWER, SUBJECT_PATH, BACKEND_ANY,                             \
	 "99.9th percentile at that point"},                                                                           \
	{prefix "storage_lat_depth1_us", "us", BETTER_LOWER, SUBJECT_PATH, BACKEND_ANY,                                \
	 "median latency of one read at a time"},                                                                      \
	{prefix "storage_data_real", "1", BETTER_HIGHER, SUBJECT_PATH, BACKEND_ANY,                                    \
	 "random blocks read back as written / blocks read"},                                                          \
	{prefix "storage_counter_ratio", "1", BETTER_HIGHER, SUBJECT_PATH, BACKEND_ANY,                                \
	 "bytes the block device read / bytes fio read; below 0.9 a cache answered"},                                  \
	{prefix "storage_write_mbs", "MB/s", BETTER_HIGHER, SUBJECT_PATH, BACKEND_ANY,                                 \
	 "bytes of prefill / seconds to the end of fsync, one writer"},                                                \
	{prefix "storage_engine", "text", BETTER_NEITHER, SUBJECT_PATH, BACKEND_ANY, "first I/O engine that worked"},  \
	{prefix "storage_direct", "text", BETTER_NEITHER, SUBJECT_PATH, BACKEND_ANY, "whether O_DIRECT was taken"},    \
	{prefix "storage_fs", "text", BETTER_NEITHER, SUBJECT_PATH, BACKEND_ANY, "file system by statfs type"}

static const struct metric metrics[] = {SET(""), SET("local_"), {0}};

struct work {
	struct probe_ctx *ctx;
	const struct metric *set;  /* of this path */
	bool emitted[FIGURES];
	struct storage_data data;
	bool created;              /* its file is ours to remove */
	struct fio_job job;
	const char *fio_version, *refused, *fs;
	int depths[MAX_DEPTHS], n_depths;
	bool hung;                 /* a run did not end: no further ones */
	struct fio_result hung_run;
	int64_t device_bytes;      /* read by the device before the runs; -1 unknown */
	double fio_bytes;          /* read by fio, ramps included */
	double done;               /* of the whole, for progress */
	char device[32];
};

/* --- emitting ------------------------------------------------------------------------ */

static struct reading blank(const struct work *w, enum figure f)
{
	struct reading r = reading_init();

	r.metric = w->set[f].name;
	r.subject.kind = SUBJECT_PATH;
	r.subject.id = w->ctx->subject_id;
	return r;
}

static void emit_number(struct work *w, enum figure f, double value, const char *params)
{
	struct reading r = blank(w, f);

	r.value_kind = VALUE_NUMBER;
	r.value = value;
	r.params = params;
	w->emitted[f] = true;
	w->ctx->emit(w->ctx, &r);
}

static void emit_text(struct work *w, enum figure f, const char *text, const char *params)
{
	struct reading r = blank(w, f);

	r.value_kind = VALUE_TEXT;
	r.text = text;
	r.params = params;
	w->emitted[f] = true;
	w->ctx->emit(w->ctx, &r);
}

/* Everything not said yet gets this outcome and reason. */
static void emit_rest(struct work *w, enum outcome outcome, const struct reason *reason)
{
	for (int f = 0; f < FIGURES; f++) {
		struct reading r = blank(w, (enum figure)f);

		if (w->emitted[f])
			continue;
		r.outcome = outcome;
		r.reason = *reason;
		w->emitted[f] = true;
		w->ctx->emit(w->ctx, &r);
	}
}

static const char *point_params(struct work *w, const struct fio_result *r)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	double cpu = r->usr_cpu + r->sys_cpu;
	const char *kept;

	json_object_begin(&j, NULL);
	json_put_int(&j, "depth", w->job.depth);
	json_put_int(&j, "jobs", w->job.jobs);
	json_put_string(&j, "engine", w->job.engine);
	json_put_bool(&j, "direct", w->job.direct);
	json_put_int(&j, "block_bytes", STORAGE_BLOCK);
	json_put_int(&j, "size_bytes", w->data.bytes);
	json_put_number(&j, "runtime_s", r->runtime_s);
	json_put_string(&j, "fio", r->version);
	json_put_number(&j, "cpu_percent", cpu);
	/* fio's threads had no CPU left: the client was the limit, not the path. */
	json_put_bool(&j, "client_bound", cpu > 90);
	json_put_number(&j, "share_below_1ms", r->share_below_1ms);
	json_put_number(&j, "mean_depth", r->depth);
	json_put_bool(&j, "lat_from_clat", r->lat_from_clat);
	json_object_end(&j);
	kept = arena_str(w->ctx->arena, text.data);
	str_release(&text);
	return kept;
}

static void latency_stats(struct reading *r, const struct fio_latency *l, double scale)
{
	r->stats[STAT_N] = l->n;
	r->stats[STAT_MEAN] = l->mean * scale;
	r->stats[STAT_MIN] = l->min * scale;
	r->stats[STAT_MAX] = l->max * scale;
	r->stats[STAT_P50] = l->p50 * scale;
	r->stats[STAT_P95] = l->p95 * scale;
	r->stats[STAT_P99] = l->p99 * scale;
	r->stats[STAT_P99_9] = l->p99_9 * scale;
}

/* A figure of an operating point, or why there is none. */
static void emit_point(struct work *w, enum figure f, double value, const struct fio_result *r, const char *point,
                       const char *params, const struct raw_file *raw)
{
	struct reading reading = blank(w, f);

	reading.point = point;
	reading.params = params;
	reading.raw = *raw;
	if (r->outcome != OUTCOME_MEASURED) {
		reading.outcome = r->outcome;
		fio_reason(w->ctx, r, &reading.reason);
	} else if (!isfinite(value)) {
		reading.outcome = OUTCOME_NOT_MEASURED;
		reason_set(w->ctx, &reading.reason, MSG_fio_no_latency);
	} else {
		reading.value_kind = VALUE_NUMBER;
		reading.value = value;
		if (f != READ_IOPS)
			latency_stats(&reading, &r->lat, f == LAT_DEPTH1 ? 1 : 1e-3);
	}
	w->emitted[f] = true;
	w->ctx->emit(w->ctx, &reading);
}

/* --- before anything is written ---------------------------------------------------------- */

/* "1,8,32" into different numbers; 0 when it is anything else. */
static int parse_depths(const char *text, int *depths)
{
	int n = 0;

	for (;;) {
		char *end;
		long depth = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;

		if (depth < 1 || depth > 4096 || n == MAX_DEPTHS || (*end && *end != ','))
			return 0;
		for (int i = 0; i < n; i++)
			if (depths[i] == depth)
				return 0;
		depths[n++] = (int)depth;
		if (!*end)
			return n;
		text = end + 1;
	}
}

static bool check_depths(struct work *w, struct reason *reason)
{
	const char *text = w->ctx->param_word(w->ctx, "depths");

	w->n_depths = parse_depths(text, w->depths);
	if (w->n_depths == 0)
		reason_set(w->ctx, reason, MSG_storage_depths, text);
	return w->n_depths > 0;
}

/* False with a reason when this is no storage to be judged. */
static bool check_filesystem(struct work *w, struct reason *reason)
{
	struct probe_ctx *ctx = w->ctx;
	struct statfs info;
	const char *name;

	if (statfs(ctx->scratch, &info) != 0) {
		reason_set(ctx, reason, MSG_storage_gone, ctx->subject_id, strerror(errno));
		return false;
	}
	name = statfs_name((int64_t)info.f_type);
	w->fs = name ? name : arena_strf(ctx->arena, "0x%llx", (unsigned long long)info.f_type);
	emit_text(w, FILESYSTEM, w->fs, NULL);
	if (strcmp(w->fs, "tmpfs") == 0 || strcmp(w->fs, "ramfs") == 0) {
		reason_set(ctx, reason, MSG_storage_ram, ctx->subject_id, w->fs);
		return false;
	}
	return true;
}

static bool choose_size(struct work *w, struct reason *reason)
{
	struct probe_ctx *ctx = w->ctx;
	struct statvfs info;
	int64_t size = ctx->param_int(ctx, "size"), left;

	if (statvfs(ctx->scratch, &info) != 0) {
		reason_set(ctx, reason, MSG_storage_gone, ctx->subject_id, strerror(errno));
		return false;
	}
	left = (int64_t)info.f_bavail * (int64_t)info.f_frsize;
	if (left < LEAST_FREE) {
		reason_set(ctx, reason, MSG_storage_free, ctx->subject_id, fmt_bytes(left), fmt_bytes(LEAST_FREE));
		return false;
	}
	if (size > left / 10)
		size = left / 10;
	if (ctx->budget == BUDGET_QUICK && size > QUICK_MOST)
		size = QUICK_MOST;
	w->data.bytes = size / STORAGE_BLOCK * STORAGE_BLOCK;
	return true;
}

/* --- data ------------------------------------------------------------------------------------ */

static bool writing_goes_on(void *arg, int64_t done)
{
	struct work *w = arg;

	w->ctx->progress(w->ctx, STAGE_PREPARING, (double)done / (double)w->data.bytes, MSG_storage_writing);
	return clock_now(w->ctx->clock) < w->ctx->deadline_ns;
}

/* The storage's own errors are its failure; a full or closed one was not tested. */
static enum outcome outcome_of(enum status st)
{
	return st == ST_IO ? OUTCOME_FAILED : st == ST_TIMEOUT ? OUTCOME_TIMED_OUT : OUTCOME_NOT_MEASURED;
}

static bool write_data(struct work *w, struct reason *reason, enum outcome *outcome)
{
	struct probe_ctx *ctx = w->ctx;
	struct storage_written written;
	struct error err = {0};
	enum status st;

	w->data.path = arena_strf(ctx->arena, "%s/data", ctx->scratch);
	w->data.seed = ctx->seed;
	w->data.go_on = writing_goes_on;
	w->data.arg = w;
	st = storage_write(&written, &w->data, ctx->clock, &err);
	w->created = written.created;
	if (st == ST_OK)
		emit_number(w, WRITE_MBS, (double)written.bytes / written.seconds / 1e6,
		            written.direct ? "{\"direct\":true}" : "{\"direct\":false}");
	else if (st == ST_NOSPACE)
		reason_set(ctx, reason, MSG_fio_no_space, str_text(&err.text));
	else
		reason_set(ctx, reason, MSG_storage_write_failed, str_text(&err.text));
	*outcome = outcome_of(st);
	error_release(&err);
	return st == ST_OK;
}

static bool verify_data(struct work *w, struct reason *reason, enum outcome *outcome)
{
	struct probe_ctx *ctx = w->ctx;
	struct storage_check check;
	struct error err = {0};
	enum status st = storage_verify(&check, &w->data, VERIFY_BLOCKS, &err);

	if (st != ST_OK) {
		reason_set(ctx, reason, MSG_storage_read_failed, str_text(&err.text));
		*outcome = outcome_of(st);
		error_release(&err);
		return false;
	}
	emit_number(w, DATA_REAL, (double)check.right / (double)check.blocks,
	            arena_strf(ctx->arena, "{\"blocks\":%lld,\"wrong\":%lld,\"first_wrong\":%lld,\"allocated_share\":%.4f}",
	                       (long long)check.blocks, (long long)(check.blocks - check.right),
	                       (long long)check.first_wrong, (double)check.allocated / (double)w->data.bytes));
	if (check.right == check.blocks)
		return true;
	reason_set(ctx, reason, MSG_storage_not_real, tmpf("%lld", (long long)(check.blocks - check.right)),
	           tmpf("%lld", (long long)check.blocks));
	return false;
}

/* --- the device's own counters ------------------------------------------------------------------ */

/* Bytes read so far by the block device below the file; -1: there is none (a
 * network or stacked file system). */
static int64_t device_bytes(struct work *w)
{
	struct str text = {0};
	long long sectors = -1;
	struct stat info;

	if (stat(w->data.path, &info) != 0)
		return -1;
	snprintf(w->device, sizeof(w->device), "%u:%u", major(info.st_dev), minor(info.st_dev));
	if (sys_read(&text, w->ctx->sys_root, tmpf("/sys/dev/block/%s/stat", w->device)))
		if (sscanf(str_text(&text), "%*u %*u %lld", &sectors) != 1)
			sectors = -1;
	str_release(&text);
	return sectors < 0 ? -1 : (int64_t)sectors * 512;
}

static void emit_counter_ratio(struct work *w)
{
	struct reading r = blank(w, COUNTER_RATIO);
	int64_t now = device_bytes(w);

	w->emitted[COUNTER_RATIO] = true;
	if (w->device_bytes < 0 || now < 0 || w->fio_bytes <= 0) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(w->ctx, &r.reason, MSG_storage_no_counter, w->ctx->subject_id, w->fs);
	} else {
		r.value_kind = VALUE_NUMBER;
		r.value = (double)(now - w->device_bytes) / w->fio_bytes;
		r.params = arena_strf(w->ctx->arena, "{\"device\":\"%s\",\"fio_bytes\":%.0f}", w->device, w->fio_bytes);
	}
	w->ctx->emit(w->ctx, &r);
}

/* --- operating points ------------------------------------------------------------------------------ */

static bool reading_goes_on(void *arg, double seconds)
{
	struct work *w = arg;
	double of = w->job.runtime_s + w->job.ramp_s;

	w->ctx->progress(w->ctx, STAGE_MEASURING, fmin(seconds / of, 1), MSG_storage_reading);
	return clock_now(w->ctx->clock) < w->ctx->deadline_ns;
}

/* Threads to spread a depth over: one CPU cannot drive a fast device, and psync
 * has one outstanding I/O a thread. */
static int jobs_for(struct work *w, int depth)
{
	int jobs = (int)w->ctx->param_int(w->ctx, "jobs");

	if (strcmp(w->job.engine, "psync") == 0)
		return depth;
	if (jobs == 0)
		host_allowed_cpus(w->ctx->arena, w->ctx->sys_root, &jobs);
	/* All have the same depth, and together the one asked for. */
	while (jobs > 1 && depth % jobs)
		jobs--;
	return jobs > 1 ? jobs : 1;
}

/* Runs one point; *params is NULL when it gave no figures. */
static void run_point(struct work *w, int depth, const char *name, struct fio_result *r, struct raw_file *raw,
                      const char **params)
{
	struct probe_ctx *ctx = w->ctx;
	const char *text;

	*raw = (struct raw_file){0};
	*params = NULL;
	if (w->hung) {
		*r = w->hung_run;
		return;
	}
	w->job.depth = depth;
	w->job.jobs = jobs_for(w, depth);
	w->job.seed = ctx->seed * 31 + (uint64_t)depth;
	fio_run(ctx, &w->job, r, &text);
	ctx->save_raw(ctx, name, text, strlen(text), raw);
	/* A path that hangs would cost every further point its deadline. */
	w->hung = r->outcome == OUTCOME_TIMED_OUT;
	w->hung_run = *r;
	if (r->outcome != OUTCOME_MEASURED)
		return;
	/* Counters include the ramp, fio's figures do not. */
	w->fio_bytes += r->io_bytes * (1 + w->job.ramp_s / r->runtime_s);
	*params = point_params(w, r);
}

static void measure_depth1(struct work *w)
{
	struct fio_result r;
	struct raw_file raw;
	const char *params;

	run_point(w, 1, "fio-latency.json", &r, &raw, &params);
	emit_point(w, LAT_DEPTH1, r.lat.p50, &r, NULL, params, &raw);
}

static void measure_point(struct work *w, int depth)
{
	const char *point = arena_strf(w->ctx->arena, "depth=%d", depth);
	struct fio_result r;
	struct raw_file raw;
	const char *params;

	run_point(w, depth, tmpf("fio-depth%d.json", depth), &r, &raw, &params);
	emit_point(w, READ_IOPS, r.iops, &r, point, params, &raw);
	emit_point(w, LAT_MEAN, r.lat.mean * 1e-3, &r, point, params, &raw);
	emit_point(w, LAT_P99, r.lat.p99 * 1e-3, &r, point, params, &raw);
	emit_point(w, LAT_P999, r.lat.p99_9 * 1e-3, &r, point, params, &raw);
}

static bool choose_engine(struct work *w, struct reason *reason, enum outcome *outcome)
{
	struct probe_ctx *ctx = w->ctx;
	struct fio_result last;
	const char *engine;

	w->job = (struct fio_job){.file = w->data.path, .bytes = w->data.bytes, .depth = 1, .jobs = 1,
	                          .runtime_s = 0.5, .seed = ctx->seed, .tick = reading_goes_on, .arg = w};
	engine = fio_choose_engine(ctx, &w->job, ctx->param_word(ctx, "engine"), &w->refused, &last);
	if (!engine) {
		*outcome = last.outcome;
		fio_reason(ctx, &last, reason);
		return false;
	}
	{
		struct str params = {0};
		struct json_out j = json_writer(&params, 0);

		json_object_begin(&j, NULL);
		json_put_string(&j, "refused", *w->refused ? w->refused : NULL);
		json_put_string(&j, "fio", w->fio_version);
		json_object_end(&j);
		emit_text(w, ENGINE, engine, arena_str(ctx->arena, params.data));
		str_release(&params);
	}
	emit_text(w, DIRECT, w->job.direct ? "yes" : "no", NULL);
	w->job.runtime_s = ctx->param_real(ctx, "runtime_s");
	w->job.ramp_s = ctx->param_real(ctx, "ramp_s");
	return true;
}

static bool measure(struct work *w, struct reason *reason, enum outcome *outcome)
{
	if (!choose_engine(w, reason, outcome))
		return false;
	w->device_bytes = device_bytes(w);
	measure_depth1(w);
	for (int i = 0; i < w->n_depths; i++)
		measure_point(w, w->depths[i]);
	emit_counter_ratio(w);
	return true;
}

/* --- the probe ----------------------------------------------------------------------------------------- */

static enum status run(struct probe_ctx *ctx)
{
	bool local = strcmp(ctx->param_word(ctx, "shared"), "local") == 0;
	struct work w = {.ctx = ctx, .set = metrics + (local ? FIGURES : 0), .device_bytes = -1};
	enum outcome outcome = OUTCOME_NOT_MEASURED;
	struct reason reason = {0};
	bool ok;

	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_storage_writing);
	ok = check_depths(&w, &reason) && fio_available(ctx, &w.fio_version, &reason) &&
	     check_filesystem(&w, &reason) && choose_size(&w, &reason) && write_data(&w, &reason, &outcome) &&
	     verify_data(&w, &reason, &outcome) && measure(&w, &reason, &outcome);
	if (!ok)
		emit_rest(&w, outcome, &reason);
	if (w.created)
		unlink(w.data.path);
	return ST_OK;
}

static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

static struct support try_run(struct probe_ctx *ctx)
{
	struct support s = {.yes = false};
	const char *version;

	s.yes = fio_available(ctx, &version, &s.reason);
	return s;
}

static double duration(struct probe_ctx *ctx)
{
	int depths[MAX_DEPTHS];
	int n = parse_depths(ctx->param_word(ctx, "depths"), depths) + 1;

	/* Prefill at 100 MB/s is what a slow shared file system takes. */
	return n * (ctx->param_real(ctx, "runtime_s") + ctx->param_real(ctx, "ramp_s") + 0.5) + 3 +
	       ctx->param_real(ctx, "size") / 100e6;
}

static const struct param params[] = {
	{"size", PARAM_SIZE, "B", {"1G", "16G", "64G"}, 1 << 20, 0x1p50, NULL, MSG_help_storage_size},
	{"runtime_s", PARAM_REAL, "s", {"5", "15", "60"}, 0.5, 86400, NULL, MSG_help_storage_runtime},
	{"ramp_s", PARAM_REAL, "s", {"1", "3", "10"}, 0, 600, NULL, MSG_help_storage_ramp},
	{"depths", PARAM_WORD, "", {"4,16,64", "2,4,8,16,32,64,128", "1,2,4,8,16,32,64,128,256"}, 0, 0, NULL,
	 MSG_help_storage_depths},
	{"jobs", PARAM_INT, "1", {"0", "0", "0"}, 0, 1024, NULL, MSG_help_storage_jobs},
	{"engine", PARAM_WORD, "", {"auto", "auto", "auto"}, 0, 0, "auto|io_uring|libaio|psync", MSG_help_storage_engine},
	{"shared", PARAM_WORD, "", {"named", "named", "named"}, 0, 0, "named|local", MSG_help_storage_shared},
	{0},
};

const struct probe probe_storage = {
	.name = "storage",
	.title = MSG_probe_storage,
	.subject = SUBJECT_PATH,
	.phase = "storage",
	.exclusive = true,
	.needs_storage = true,
	.seconds = {37, 320, 1300},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.supported = supported,
	.try_run = try_run,
	.run = run,
};
