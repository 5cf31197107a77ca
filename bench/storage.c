/* storage: what a path gives to 4 KiB random reads, at which latency, with data
 * that was really written. One fio run an operating point, so that IOPS and
 * latency of a point belong together. Paths named by --storage are reported as
 * storage_*, the disk below the run directory as local_storage_*: that is
 * information and judged by nothing.
 *
 * What a single node cannot show (that the path is shared, what all nodes get at
 * once) is not claimed here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/answers.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/unit.h"
#include "hw/host.h"
#include "storage_reduction.h"
#include "storage_signs.h"
#include "storage_token.h"

#define LEAST_FREE (2LL << 30)
#define QUICK_MOST (4LL << 30)
/* A slow path gets less data than asked for, down to this. */
#define LEAST_DATA    (16LL << 20)
#define VERIFY_BLOCKS 1024
#define VERIFY_LEAST  1000
#define VERIFY_S      20
#define MAX_DEPTH     1024
#define TRIAL_S       1
#define REDUCTION_S   30

/* --- before anything is written --------------------------------------------- */

static bool find_place(struct storage_work *w)
{
	struct probe_ctx *ctx = w->ctx;
	struct error err = {0};
	const char *other;

	if (!ctx->scratch)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_no_scratch);
	if (storage_place_read(&w->place, ctx->arena, ctx->sys_root, ctx->scratch, &err) != ST_OK) {
		because(w, OUTCOME_NOT_MEASURED, MSG_storage_unreadable, ctx->subject_id,
		        str_text(&err.text));
		error_release(&err);
		return false;
	}
	storage_emit_text(w, FILESYSTEM, w->place.fs, NULL);
	other = storage_other_run(ctx->arena, ctx->scratch);
	if (other)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_busy, ctx->subject_id, other);
	/* A named path owes its figures all the same: memory must not spare it them. */
	if (strcmp(w->place.kind, "memory") == 0)
		return because(w, w->local ? OUTCOME_UNSUPPORTED : OUTCOME_NOT_MEASURED,
		               MSG_storage_ram, ctx->subject_id,
		               w->place.ram ? w->place.ram : w->place.fs);
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
	if (storage_path_gone(w))
		return false;
	return because(w, st == ST_IO ? OUTCOME_FAILED : OUTCOME_NOT_MEASURED,
	               MSG_storage_write_failed, why);
}

/* Counters that did not see the writing would not see the reading either. */
static void trust_counters(struct storage_work *w, const struct counted *before)
{
	struct counted after;
	bool read = before && storage_counters_read(&w->counters, w->ctx->sys_root, &after);
	double bytes = (double)w->data.bytes;

	w->blind = !read || !storage_counters_see(before, &after, bytes);
	w->blind_why.outcome = OUTCOME_NOT_MEASURED;
	if (w->blind)
		storage_counters_blind(w->ctx, &w->blind_why.reason, &w->counters,
		                       read ? before : NULL, read ? &after : NULL, bytes);
}

static bool write_data(struct storage_work *w)
{
	struct probe_ctx *ctx = w->ctx;
	struct storage_written written;
	struct counted before;
	struct error err = {0};
	int64_t asked = w->data.bytes;
	enum status st;
	bool read;

	w->data.path = arena_strf(ctx->arena, "%s/data", ctx->scratch);
	w->data.seed = ctx->seed;
	w->data.go_on = writing_goes_on;
	w->data.arg = w;
	w->write_until_ns = within(w, ctx->param_real(ctx, "write_s"));
	storage_counters_find(&w->counters, ctx->arena, ctx->sys_root, &w->place);
	read = storage_counters_read(&w->counters, ctx->sys_root, &before);
	st = storage_write(&written, &w->data, ctx->clock, &err);
	w->created = written.created;
	if (st != ST_OK)
		write_fault(w, st, str_text(&err.text));
	error_release(&err);
	if (st != ST_OK)
		return false;
	w->data.bytes = written.bytes;
	trust_counters(w, read ? &before : NULL);
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

static void emit_real(struct storage_work *w, const struct storage_check *c, double allocated,
                      double written)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "blocks", c->blocks);
	json_put_int(&j, "zero", c->zero);
	json_put_int(&j, "moved", c->moved);
	json_put_int(&j, "foreign", c->foreign);
	json_put_int(&j, "first_wrong", c->first_wrong);
	json_put_number(&j, "allocated_share", allocated);
	json_put_number(&j, "written_share", written);
	json_object_end(&j);
	storage_emit_number(w, DATA_REAL, (double)c->right / (double)c->blocks,
	                    arena_str(w->ctx->arena, str_text(&text)));
	str_release(&text);
}

static bool verify_data(struct storage_work *w)
{
	struct storage_check c;
	struct error err = {0};
	enum status st;
	double share, mapped;

	w->data.go_on = verifying_goes_on;
	w->verify_until_ns = within(w, VERIFY_S);
	st = storage_verify(&c, &w->data, VERIFY_BLOCKS, &err);
	if (st != ST_OK && !storage_path_gone(w))
		because(w, st == ST_PERMISSION ? OUTCOME_NOT_MEASURED : OUTCOME_FAILED,
		        MSG_storage_read_failed, str_text(&err.text));
	error_release(&err);
	if (st != ST_OK)
		return false;
	share = storage_allocated_share(&w->data, w->ctx->clock);
	mapped = storage_mapped_share(&w->data);
	if (c.right < c.blocks || c.blocks >= VERIFY_LEAST ||
	    c.blocks == w->data.bytes / STORAGE_BLOCK)
		emit_real(w, &c, share, mapped);
	return judge_check(w, &c, isnan(mapped) || share < mapped ? share : mapped);
}

static void emit_counter_ratio(struct storage_work *w)
{
	const struct storage_counts *c = w->exact.fio_bytes > 0 ? &w->exact : &w->all;

	if (w->counted && c->fio_bytes > 0) {
		storage_emit_number(
			w, COUNTER_RATIO, c->device_bytes / c->fio_bytes,
			arena_strf(w->ctx->arena,
		                   "{\"counted\":\"%s\",\"counted_bytes\":%.0f,\"fio_bytes\":%.0f,"
		                   "\"ramps\":\"%s\"}",
		                   w->counters.names, c->device_bytes, c->fio_bytes,
		                   c == &w->exact ? "small" : "left out"));
		return;
	}
	if (w->blind)
		w->why = w->blind_why;
	storage_emit_missing(w, COUNTER_RATIO, NULL);
}

/* --- parameters --------------------------------------------- */

/* "4,8,32" (a checked list) into numbers, with 1 always before them. */
static int parse_depths(const char *text, int *depths)
{
	int n = 1;

	depths[0] = 1;
	while (*text && n < STORAGE_DEPTHS) {
		char *end;
		int depth = (int)strtol(text, &end, 10);

		if (depth > 1)
			depths[n++] = depth;
		text = *end ? end + 1 : end;
	}
	return n;
}

/* All runs of fio, each with its start: the sweep, the long run and the short one
 * after it, the pairs. */
static double runs_seconds(struct probe_ctx *ctx, int points)
{
	double one = ctx->param_real(ctx, "runtime_s") + ctx->param_real(ctx, "ramp_s") + 0.5;

	if (storage_is_brief(ctx))
		return points * one;
	return (points + 1) * one + ctx->param_real(ctx, "hold_s") +
	       ctx->param_real(ctx, "ramp_s") + 0.5 + storage_signs_seconds(ctx);
}

static int by_depth(const void *a, const void *b)
{
	return ((const struct storage_point *)a)->depth - ((const struct storage_point *)b)->depth;
}

static bool read_params(struct storage_work *w)
{
	struct probe_ctx *ctx = w->ctx;
	double runtime = ctx->param_real(ctx, "runtime_s"), ramp = ctx->param_real(ctx, "ramp_s");
	int depths[STORAGE_DEPTHS];

	w->n_points = parse_depths(ctx->param_word(ctx, "depths"), depths);
	/* fio counts nothing when the ramp is not the shorter of the two. */
	if (ramp >= runtime)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_ramp, fmt_value(ramp),
		               fmt_value(runtime));
	for (int i = 0; i < w->n_points; i++)
		w->points[i].depth = depths[i];
	qsort(w->points, (size_t)w->n_points, sizeof(*w->points), by_depth);
	w->all_s = runs_seconds(ctx, w->n_points);
	return true;
}

static bool trial_goes_on(void *arg, double seconds)
{
	struct storage_work *w = arg;

	(void)seconds;
	return clock_now(w->ctx->clock) < w->ctx->deadline_ns;
}

/* The trial runs at the greatest depth: an engine may take one I/O and have no
 * room for a hundred. It reads the first quarter only, for what it reads is no
 * longer new to a cache. */
static bool choose_engine(struct storage_work *w)
{
	struct probe_ctx *ctx = w->ctx;
	struct fio_result last = {0};
	struct str params = {0};
	struct json_out j = json_writer(&params, 0);
	const char *refused;
	int most = w->points[w->n_points - 1].depth;

	w->job = (struct fio_job){.tool = &w->tool,
	                          .dir = ctx->scratch,
	                          .file = "data",
	                          .bytes = w->data.bytes / 4 / STORAGE_BLOCK * STORAGE_BLOCK,
	                          .block = STORAGE_BLOCK,
	                          .depth = most,
	                          .jobs = storage_jobs(w, most),
	                          .runtime_s = TRIAL_S,
	                          .seed = ctx->seed,
	                          .tick = trial_goes_on,
	                          .arg = w};
	if (!fio_choose_engine(ctx, &w->job, ctx->param_word(ctx, "engine"), &refused, &last)) {
		w->hangs =
			last.outcome == OUTCOME_TIMED_OUT && !path_answers(ctx->scratch, HANGS_S);
		if (storage_path_gone(w))
			return false;
		w->why.outcome = last.outcome;
		fio_reason(ctx, &last, &w->why.reason);
		return false;
	}
	json_object_begin(&j, NULL);
	json_put_string(&j, "refused", refused);
	json_put_string(&j, "fio", w->tool.version);
	json_object_end(&j);
	storage_emit_text(w, ENGINE, w->job.engine, arena_str(ctx->arena, params.data));
	str_release(&params);
	storage_emit_text(w, DIRECT, w->job.direct ? "yes" : "no", NULL);
	w->job.bytes = w->data.bytes;
	w->job.runtime_s = ctx->param_real(ctx, "runtime_s");
	w->job.ramp_s = ctx->param_real(ctx, "ramp_s");
	return true;
}

/* --- the probe --------------------------------------------- */

/* Whether other nodes see this path: a token in our directory, theirs beside it.
 * A single node cannot know. */
static void emit_shared(struct storage_work *w)
{
	const char *others = NULL;
	struct error err = {0};
	int seen;

	if (storage_token_put(w->ctx->scratch, &err) != ST_OK) {
		because(w, OUTCOME_NOT_MEASURED, MSG_storage_write_failed, str_text(&err.text));
		error_release(&err);
		storage_emit_missing(w, SHARED, NULL);
		return;
	}
	seen = storage_token_others(w->ctx->arena, w->ctx->scratch, &others);
	if (seen > 0) {
		struct str params = {0};
		struct json_out j = json_writer(&params, 0);

		json_object_begin(&j, NULL);
		json_put_int(&j, "seen", seen);
		json_put_string(&j, "first", others);
		json_object_end(&j);
		storage_emit_text(w, SHARED, "yes", params.data);
		str_release(&params);
		return;
	}
	because(w, OUTCOME_NOT_MEASURED, MSG_storage_unproven, w->ctx->subject_id);
	storage_emit_missing(w, SHARED, NULL);
}

static void emit_reduction(struct storage_work *w)
{
	struct probe_ctx *ctx = w->ctx;
	struct storage_reduction_job job = {.dir = ctx->scratch,
	                                    .root = ctx->sys_root,
	                                    .place = &w->place,
	                                    .counters = &w->counters,
	                                    .seed = ctx->seed * 43,
	                                    .clock = ctx->clock,
	                                    .deadline_ns = within(w, REDUCTION_S)};
	struct storage_reduced r = {0};
	struct error err = {0};
	enum status st = storage_reduction_find(&r, &job, &err);
	const char *name = storage_reduction_name(r.result);

	if (st == ST_OK && name) {
		storage_emit_text(w, REDUCTION, name,
		                  arena_strf(ctx->arena,
		                             "{\"gauge\":\"%s\",\"incompressible\":%.3f,"
		                             "\"compressible\":%.3f,\"repeated\":%.3f}",
		                             r.gauge, r.incompressible, r.compressible,
		                             r.repeated));
	} else {
		if (st == ST_OK)
			because(w, OUTCOME_NOT_MEASURED, MSG_storage_reduction_unknown,
			        ctx->subject_id);
		else
			because(w, OUTCOME_NOT_MEASURED, MSG_storage_write_failed,
			        str_text(&err.text));
		storage_emit_missing(w, REDUCTION, NULL);
	}
	error_release(&err);
}

/* Rereading comes first: after the sweep every block has been read before. */
static void measure_speeds(struct storage_work *w)
{
	struct storage_signs signs = {0};

	emit_reduction(w);
	w->counted = !w->blind;
	storage_look_rereading(w, &signs);
	storage_sweep(w);
	storage_look_working_set(w, &signs);
	storage_look_burst(w, &signs);
	storage_look_network(w, &signs);
	storage_emit_points(w);
	if (w->broke) {
		w->why = w->broke_why;
		return;
	}
	emit_counter_ratio(w);
	storage_emit_signs(w, &signs);
}

static void measure(struct storage_work *w)
{
	w->why.outcome = OUTCOME_NOT_MEASURED;
	if (!read_params(w) || !fio_available(w->ctx, &w->tool, &w->why.reason) || !find_place(w))
		return;
	if (!choose_size(w) || !write_data(w) || !verify_data(w))
		return;
	emit_shared(w);
	if (choose_engine(w))
		measure_speeds(w);
}

static enum status run(struct probe_ctx *ctx)
{
	bool local = strcmp(ctx->param_word(ctx, "shared"), "local") == 0;
	struct storage_work w = {
		.ctx = ctx, .local = local, .set = storage_metrics + (local ? FIGURES : 0)};

	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_storage_writing);
	measure(&w);
	storage_emit_rest(&w);
	if (w.created && !w.hangs)
		unlink(w.data.path);
	if (ctx->scratch && !w.hangs)
		unlink(tmpf("%s/token", ctx->scratch));
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
	int depths[STORAGE_DEPTHS];
	int n = parse_depths(ctx->param_word(ctx, "depths"), depths);

	/* Writing at 100 MB/s is what a slow shared file system takes. */
	return runs_seconds(ctx, n) +
	       fmin((double)ctx->param_int(ctx, "size") / 100e6, ctx->param_real(ctx, "write_s")) +
	       TRIAL_S + 5;
}

static const struct param params[] = {
	{"size",
         PARAM_SIZE,
         "B",
         {"1G", "4G", "64G"},
         1 << 20,
         0x1p50,
         NULL,
         MSG_help_storage_size},
	{"write_s", PARAM_REAL, "s", {"30", "90", "900"}, 1, 86400, NULL, MSG_help_storage_write},
	{"runtime_s",
         PARAM_REAL,
         "s",
         {"2", "5", "15"},
         0.5,
         86400,
         NULL,
         MSG_help_storage_runtime},
	{"ramp_s", PARAM_REAL, "s", {"0.5", "1", "5"}, 0, 600, NULL, MSG_help_storage_ramp},
	{"hold_s", PARAM_REAL, "s", {"10", "60", "1800"}, 0, 86400, NULL, MSG_help_storage_hold},
	{"p99_ms", PARAM_REAL, "ms", {"1", "1", "1"}, 0.001, 1e6, NULL, MSG_help_storage_p99},
	{"pairs", PARAM_INT, "1", {"5", "5", "7"}, 0, 10, NULL, MSG_help_storage_pairs},
	{"pair_s", PARAM_REAL, "s", {"0.5", "1.5", "5"}, 0.1, 600, NULL, MSG_help_storage_pair},
	{"depths",
         PARAM_INTS,
         "",
         {"4,8,16,64", "2,4,8,16,32,64,128,256", "2,4,8,16,32,64,128,256"},
         1,
         MAX_DEPTH,
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
	.seconds = {70, 210, 2900},
	.duration = duration,
	.params = params,
	.metrics = storage_metrics,
	.supported = supported,
	.try_run = try_run,
	.run = run,
};
