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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/unit.h"
#include "hw/host.h"
#include "storage_figures.h"

#define LEAST_FREE (2LL << 30)
#define QUICK_MOST (4LL << 30)
/* A slow path gets less data than asked for, down to this. */
#define LEAST_DATA    (16LL << 20)
#define VERIFY_BLOCKS 1024
#define VERIFY_LEAST  1000
#define VERIFY_S      20
#define MAX_DEPTHS    12
#define MAX_DEPTH     1024
#define AUTO_JOBS     16
#define TRIAL_S       1
#define START_S       2 /* of fio, on a slow path */

/* --- before anything is written --------------------------------------------- */

/* Whatever went wrong just now: is the path still there? */
static bool path_gone(struct storage_work *w)
{
	struct stat info;
	const char *path = w->created ? w->data.path : w->ctx->scratch;

	if (stat(path, &info) == 0)
		return false;
	because(w, OUTCOME_FAILED, MSG_storage_gone, w->ctx->subject_id, strerror(errno));
	return true;
}

static bool find_place(struct storage_work *w)
{
	struct probe_ctx *ctx = w->ctx;
	struct error err = {0};

	if (!ctx->scratch)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_no_scratch);
	if (storage_place_read(&w->place, ctx->arena, ctx->sys_root, ctx->scratch, &err) != ST_OK) {
		because(w, OUTCOME_NOT_MEASURED, MSG_storage_unreadable, ctx->subject_id,
		        str_text(&err.text));
		error_release(&err);
		return false;
	}
	storage_emit_text(w, FILESYSTEM, w->place.fs, NULL);
	/* A named path owes its figures all the same: memory must not spare it them. */
	if (strcmp(w->place.kind, "memory") == 0)
		return because(w, w->local ? OUTCOME_UNSUPPORTED : OUTCOME_NOT_MEASURED,
		               MSG_storage_ram, ctx->subject_id, w->place.fs);
	return true;
}

static bool choose_size(struct storage_work *w)
{
	struct probe_ctx *ctx = w->ctx;
	int64_t size = ctx->param_int(ctx, "size"), left = w->place.free_bytes;

	if (left < LEAST_FREE)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_free, ctx->subject_id,
		               fmt_bytes(left), fmt_bytes(LEAST_FREE));
	if (size > left / 10)
		size = left / 10;
	if (ctx->budget == BUDGET_QUICK && size > QUICK_MOST)
		size = QUICK_MOST;
	w->data.bytes = size / STORAGE_BLOCK * STORAGE_BLOCK;
	return true;
}

/* --- data --------------------------------------------- */

static int64_t within(const struct storage_work *w, double seconds)
{
	int64_t until = clock_now(w->ctx->clock) + (int64_t)(seconds * 1e9);

	return until < w->ctx->deadline_ns ? until : w->ctx->deadline_ns;
}

static bool writing_goes_on(void *arg, int64_t done)
{
	struct storage_work *w = arg;

	w->ctx->progress(w->ctx, STAGE_PREPARING, (double)done / (double)w->data.bytes,
	                 MSG_storage_writing);
	return clock_now(w->ctx->clock) < w->write_until_ns;
}

static bool write_fault(struct storage_work *w, enum status st, const char *why)
{
	if (st == ST_NOSPACE)
		return because(w, OUTCOME_NOT_MEASURED, MSG_fio_no_space, why);
	if (path_gone(w))
		return false;
	return because(w, st == ST_IO ? OUTCOME_FAILED : OUTCOME_NOT_MEASURED,
	               MSG_storage_write_failed, why);
}

static bool write_data(struct storage_work *w)
{
	struct probe_ctx *ctx = w->ctx;
	struct storage_written written;
	struct error err = {0};
	int64_t asked = w->data.bytes;
	enum status st;

	w->data.path = arena_strf(ctx->arena, "%s/data", ctx->scratch);
	w->data.seed = ctx->seed;
	w->data.go_on = writing_goes_on;
	w->data.arg = w;
	w->write_until_ns = within(w, ctx->param_real(ctx, "write_s"));
	st = storage_write(&written, &w->data, ctx->clock, &err);
	w->created = written.created;
	if (st != ST_OK)
		write_fault(w, st, str_text(&err.text));
	error_release(&err);
	if (st != ST_OK)
		return false;
	w->data.bytes = written.bytes;
	if (written.bytes < asked && written.bytes < LEAST_DATA)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_slow_write, ctx->subject_id,
		               fmt_bytes(written.bytes), fmt_duration(written.seconds));
	storage_emit_number(w, WRITE_MBS, (double)written.bytes / written.seconds / 1e6,
	                    arena_strf(ctx->arena,
	                               "{\"direct\":%s,\"bytes\":%lld,\"asked_bytes\":%lld}",
	                               written.direct ? "true" : "false", (long long)written.bytes,
	                               (long long)ctx->param_int(ctx, "size")));
	return true;
}

/* Some file systems account for blocks only when they commit (ZFS, 5 s). A file
 * system that does not account at all says 0. */
static double allocated_share(struct storage_work *w)
{
	double share = 0;

	for (int i = 0; i < 14; i++) {
		share = (double)storage_allocated(&w->data) / (double)w->data.bytes;
		if (share <= 0 || share >= 0.99)
			break;
		clock_sleep(w->ctx->clock, NS_PER_S / 2);
	}
	return share;
}

static bool verifying_goes_on(void *arg, int64_t offset)
{
	struct storage_work *w = arg;

	(void)offset;
	return clock_now(w->ctx->clock) < w->verify_until_ns;
}

/* Blocks that came back, and what it means for the figures to come. */
static bool judge_check(struct storage_work *w, const struct storage_check *c, double share)
{
	int64_t due = w->data.bytes / STORAGE_BLOCK < VERIFY_LEAST ? w->data.bytes / STORAGE_BLOCK
	                                                           : VERIFY_LEAST;

	if (c->right < c->blocks)
		return because(w, OUTCOME_FAILED, MSG_storage_not_real,
		               tmpf("%lld", (long long)(c->blocks - c->right)),
		               tmpf("%lld", (long long)c->blocks), tmpf("%lld", (long long)c->zero),
		               tmpf("%lld", (long long)c->moved),
		               tmpf("%lld", (long long)c->foreign));
	if (c->blocks < due)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_slow_verify,
		               tmpf("%lld", (long long)c->blocks), tmpf("%d", VERIFY_S));
	if (share > 0 && share < 0.99)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_sparse, w->ctx->subject_id,
		               tmpf("%.0f", share * 100));
	return true;
}

static bool verify_data(struct storage_work *w)
{
	struct probe_ctx *ctx = w->ctx;
	struct storage_check c;
	struct error err = {0};
	enum status st;
	double share;

	w->data.go_on = verifying_goes_on;
	w->verify_until_ns = within(w, VERIFY_S);
	st = storage_verify(&c, &w->data, VERIFY_BLOCKS, &err);
	if (st != ST_OK && !path_gone(w))
		because(w, st == ST_PERMISSION ? OUTCOME_NOT_MEASURED : OUTCOME_FAILED,
		        MSG_storage_read_failed, str_text(&err.text));
	error_release(&err);
	if (st != ST_OK)
		return false;
	share = allocated_share(w);
	if (c.right < c.blocks || c.blocks >= VERIFY_LEAST ||
	    c.blocks == w->data.bytes / STORAGE_BLOCK)
		storage_emit_number(
			w, DATA_REAL, (double)c.right / (double)c.blocks,
			arena_strf(ctx->arena,
		                   "{\"blocks\":%lld,\"zero\":%lld,\"moved\":%lld,\"foreign\":%lld,"
		                   "\"first_wrong\":%lld,\"allocated_share\":%.4f}",
		                   (long long)c.blocks, (long long)c.zero, (long long)c.moved,
		                   (long long)c.foreign, (long long)c.first_wrong, share));
	return judge_check(w, &c, share);
}

/* --- operating points --------------------------------------------- */

static bool reading_goes_on(void *arg, double seconds)
{
	struct storage_work *w = arg;
	double done = fmin(seconds / (w->job.runtime_s + w->job.ramp_s), 1);

	w->ctx->progress(w->ctx, STAGE_MEASURING, (w->point + done) / w->points,
	                 MSG_storage_reading);
	return clock_now(w->ctx->clock) < w->ctx->deadline_ns;
}

/* Threads to spread a depth over: one CPU cannot drive a fast device. */
static int jobs_for(struct storage_work *w, int depth)
{
	int jobs = (int)w->ctx->param_int(w->ctx, "jobs");

	if (jobs == 0) {
		host_allowed_cpus(w->ctx->arena, w->ctx->sys_root, &jobs);
		jobs = jobs < AUTO_JOBS ? jobs : AUTO_JOBS;
	}
	/* All have the same depth, and together the one asked for. */
	while (jobs > 1 && depth % jobs)
		jobs--;
	return jobs > 1 ? jobs : 1;
}

/* An engine that takes one I/O at a time shows in the depths fio saw: each is
 * counted at the power of two below it, from 64 on at 64. */
static bool depth_reached(struct storage_work *w, const struct fio_result *r)
{
	int each = w->job.depth / fio_threads(&w->job), floor = 1;

	while (floor * 2 <= each && floor < 64)
		floor *= 2;
	if (isnan(r->depth) || r->depth >= 0.5 * floor)
		return true;
	return because(w, OUTCOME_NOT_MEASURED, MSG_storage_depth, tmpf("%d", each),
	               tmpf("%.1f", r->depth));
}

/* Runs one point; false with the reason when it gave no figures. Counters of the
 * device hold the ramp, fio's figures do not. */
static bool run_point(struct storage_work *w, int depth, struct fio_result *r, struct raw_file *raw)
{
	struct probe_ctx *ctx = w->ctx;
	int64_t before = storage_device_bytes(&w->place, ctx->sys_root), after;
	double needed = w->job.ramp_s + w->job.runtime_s + START_S;
	const char *text;

	if (clock_now(ctx->clock) + (int64_t)(needed * 1e9) > ctx->deadline_ns)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_no_time);
	w->job.depth = depth;
	w->job.jobs = jobs_for(w, depth);
	w->job.seed = ctx->seed * 31 + (uint64_t)depth;
	fio_run(ctx, &w->job, r, &text);
	ctx->save_raw(ctx, tmpf("fio-depth%d.json", depth), text, strlen(text), raw);
	if (r->outcome != OUTCOME_MEASURED) {
		if (!path_gone(w)) {
			w->outcome = r->outcome;
			fio_reason(ctx, r, &w->reason);
		}
		return false;
	}
	after = storage_device_bytes(&w->place, ctx->sys_root);
	w->counted = w->counted && before >= 0 && after >= before;
	w->device_bytes += (double)(after - before);
	w->fio_bytes += r->io_bytes * (1 + w->job.ramp_s / r->runtime_s);
	return depth_reached(w, r);
}

/* The rest of the points is no use when the storage itself gave up. */
static bool measure_points(struct storage_work *w, const int *depths)
{
	bool storage_broke = false;

	w->counted = true;
	for (w->point = 0; w->point < w->points; w->point++) {
		int depth = depths[w->point];
		struct raw_file raw = {0};
		struct fio_result r;

		if (!storage_broke && run_point(w, depth, &r, &raw)) {
			storage_emit_point(w, storage_point_name(w, depth), &r, &raw);
			continue;
		}
		storage_broke = storage_broke || w->outcome != OUTCOME_NOT_MEASURED;
		storage_emit_missing_point(w, depth);
	}
	return !storage_broke;
}

static void emit_counter_ratio(struct storage_work *w)
{
	if (w->counted && w->fio_bytes > 0) {
		storage_emit_number(
			w, COUNTER_RATIO, w->device_bytes / w->fio_bytes,
			arena_strf(w->ctx->arena,
		                   "{\"device\":\"%s\",\"device_bytes\":%.0f,\"fio_bytes\":%.0f}",
		                   w->place.device, w->device_bytes, w->fio_bytes));
		return;
	}
	if (!w->place.device)
		because(w, OUTCOME_NOT_MEASURED, MSG_storage_no_counter, w->ctx->subject_id,
		        w->place.fs);
	storage_emit_missing(w, COUNTER_RATIO, NULL);
}

/* --- parameters --------------------------------------------- */

/* "4,8,32" into different numbers, with 1 always before them; 0 when it is
 * anything else. */
static int parse_depths(const char *text, int *depths)
{
	int n = 1;

	depths[0] = 1;
	for (;;) {
		char *end;
		long depth = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;

		if (depth < 1 || depth > MAX_DEPTH || n == MAX_DEPTHS || (*end && *end != ','))
			return 0;
		for (int i = 1; i < n; i++)
			if (depths[i] == depth)
				return 0;
		depths[n] = (int)depth;
		n += depth > 1;
		if (!*end)
			return n;
		text = end + 1;
	}
}

static bool read_params(struct storage_work *w, int *depths)
{
	struct probe_ctx *ctx = w->ctx;
	double runtime = ctx->param_real(ctx, "runtime_s"), ramp = ctx->param_real(ctx, "ramp_s");

	w->points = parse_depths(ctx->param_word(ctx, "depths"), depths);
	if (w->points == 0)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_depths,
		               ctx->param_word(ctx, "depths"), tmpf("%d", MAX_DEPTH),
		               tmpf("%d", MAX_DEPTHS - 1));
	/* fio counts nothing when the ramp is not the shorter of the two. */
	if (ramp >= runtime)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_ramp, fmt_value(ramp),
		               fmt_value(runtime));
	return true;
}

/* The trial runs at the greatest depth: an engine may take one I/O and have no
 * room for a hundred. */
static bool choose_engine(struct storage_work *w, const int *depths)
{
	struct probe_ctx *ctx = w->ctx;
	struct fio_result last = {0};
	struct str params = {0};
	struct json_out j = json_writer(&params, 0);
	const char *refused;
	int most = 1;

	for (int i = 0; i < w->points; i++)
		most = depths[i] > most ? depths[i] : most;
	w->job = (struct fio_job){.tool = &w->tool,
	                          .dir = ctx->scratch,
	                          .file = "data",
	                          .bytes = w->data.bytes,
	                          .depth = most,
	                          .jobs = jobs_for(w, most),
	                          .runtime_s = TRIAL_S,
	                          .seed = ctx->seed,
	                          .tick = reading_goes_on,
	                          .arg = w};
	if (!fio_choose_engine(ctx, &w->job, ctx->param_word(ctx, "engine"), &refused, &last)) {
		if (path_gone(w))
			return false;
		w->outcome = last.outcome;
		fio_reason(ctx, &last, &w->reason);
		return false;
	}
	json_object_begin(&j, NULL);
	json_put_string(&j, "refused", refused);
	json_put_string(&j, "fio", w->tool.version);
	json_object_end(&j);
	storage_emit_text(w, ENGINE, w->job.engine, arena_str(ctx->arena, params.data));
	str_release(&params);
	storage_emit_text(w, DIRECT, w->job.direct ? "yes" : "no", NULL);
	w->job.runtime_s = ctx->param_real(ctx, "runtime_s");
	w->job.ramp_s = ctx->param_real(ctx, "ramp_s");
	return true;
}

/* --- the probe --------------------------------------------- */

static bool measure(struct storage_work *w)
{
	int depths[MAX_DEPTHS];

	w->outcome = OUTCOME_NOT_MEASURED;
	if (!read_params(w, depths) || !fio_available(w->ctx, &w->tool, &w->reason) ||
	    !find_place(w) || !choose_size(w) || !write_data(w) || !verify_data(w) ||
	    !choose_engine(w, depths))
		return false;
	if (measure_points(w, depths))
		emit_counter_ratio(w);
	return true;
}

static enum status run(struct probe_ctx *ctx)
{
	bool local = strcmp(ctx->param_word(ctx, "shared"), "local") == 0;
	struct storage_work w = {
		.ctx = ctx, .local = local, .set = storage_metrics + (local ? FIGURES : 0)};

	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_storage_writing);
	measure(&w);
	storage_emit_rest(&w);
	if (w.created)
		unlink(w.data.path);
	return ST_OK;
}

/* A missing fio is a reason for each path, which only run() knows. */
static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

static struct support try_run(struct probe_ctx *ctx)
{
	struct support s = {.yes = false};
	struct fio_tool tool;

	s.yes = fio_available(ctx, &tool, &s.reason);
	return s;
}

static double duration(struct probe_ctx *ctx)
{
	int depths[MAX_DEPTHS];
	int n = parse_depths(ctx->param_word(ctx, "depths"), depths);

	/* Writing at 100 MB/s is what a slow shared file system takes. */
	return n * (ctx->param_real(ctx, "runtime_s") + ctx->param_real(ctx, "ramp_s") + 0.5) +
	       fmin((double)ctx->param_int(ctx, "size") / 100e6, ctx->param_real(ctx, "write_s")) +
	       TRIAL_S + 5;
}

static const struct param params[] = {
	{"size",
         PARAM_SIZE,
         "B",
         {"1G", "8G", "64G"},
         1 << 20,
         0x1p50,
         NULL,
         MSG_help_storage_size},
	{"write_s", PARAM_REAL, "s", {"30", "90", "900"}, 1, 86400, NULL, MSG_help_storage_write},
	{"runtime_s",
         PARAM_REAL,
         "s",
         {"5", "20", "60"},
         0.5,
         86400,
         NULL,
         MSG_help_storage_runtime},
	{"ramp_s", PARAM_REAL, "s", {"1", "3", "10"}, 0, 600, NULL, MSG_help_storage_ramp},
	{"depths",
         PARAM_WORD,
         "",
         {"4,16,64", "2,4,8,16,32,64,128", "2,4,8,16,32,64,128,256"},
         0,
         0,
         NULL,
         MSG_help_storage_depths},
	{"jobs", PARAM_INT, "1", {"0", "0", "0"}, 0, 1024, NULL, MSG_help_storage_jobs},
	{"engine",
         PARAM_WORD,
         "",
         {"auto", "auto", "auto"},
         0,
         0,
         "auto|io_uring|libaio|psync",
         MSG_help_storage_engine},
	{"shared",
         PARAM_WORD,
         "",
         {"named", "named", "named"},
         0,
         0,
         "named|local",
         MSG_help_storage_shared},
	{0},
};

const struct probe probe_storage = {
	.name = "storage",
	.title = MSG_probe_storage,
	.subject = SUBJECT_PATH,
	.phase = "storage",
	.exclusive = true,
	.needs_storage = true,
	.seconds = {43, 280, 1340},
	.duration = duration,
	.params = params,
	.metrics = storage_metrics,
	.supported = supported,
	.try_run = try_run,
	.run = run,
};
