/* What one node does: its token, its data, and fio from the common start on. It
 * reads what the next node wrote, so that no cache of its own can answer, and
 * what it measured it tells by the first node's clock.
 *
 * When a run began is reckoned back from its end: fio takes half a second and more
 * to start, as long as its machine pleases, and some hundredths to end. */
#include "storage_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/answers.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/unit.h"
#include "cards.h"
#include "hw/host.h"
#include "storage_token.h"

#define LEAST_FREE    (2LL << 30)
#define LEAST_DATA    (16LL << 20) /* a slow path gets less than asked for, down to this */
#define LEAST_SHARE   0.99
#define VERIFY_BLOCKS 1024
#define VERIFY_LEAST  1000
/* An order's way to all nodes, which is by one of them. */
#define START_S      0.5
#define START_NODE_S 0.005
#define LOOK_MOST_S  3    /* for tokens to come through caches of directories */
#define LOOK_AGAIN_S 0.25 /* between two looks */
#define AUTO_DEPTH   256
#define AUTO_JOBS    16
#define STREAM_DEPTH 4 /* of each stream */
#define FIO_START_S  3 /* with its end, on a slow path */
#define BUSY_PERCENT 90
#define STEM         "stream"
/* A clock that differs by more from what was known of it was set meanwhile; an
 * order is not that long on its way. */
#define CLOCK_DOUBT_S 5
/* Fewer I/Os than this for each outstanding one are no steady state. */
#define STEADY_IOS 20

static bool stop(struct all_node *a, enum outcome outcome, enum msg id, const char *const *args)
{
	a->outcome = outcome;
	reason_set_list(a->ctx, &a->reason, id, args);
	return false;
}
#define because(a, outcome, id, ...)                                                               \
	stop(a, outcome, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* Keeps the words and lets them go. */
static bool because_error(struct all_node *a, enum outcome outcome, enum msg id, struct error *err)
{
	because(a, outcome, id, str_text(&err->text));
	error_release(err);
	return false;
}

/* --- time ------------------------------------------------------------------------- */

double all_start_s(const struct probe_ctx *ctx)
{
	return START_S + START_NODE_S * ctx->n_peers;
}

double all_step_seconds(struct probe_ctx *ctx, enum all_step step)
{
	switch (step) {
	case ALL_LOOK:
		return LOOK_MOST_S + 0.02 * ctx->n_peers;
	case ALL_PREPARE:
		return fmin((double)ctx->param_int(ctx, "size") / 100e6,
		            ctx->param_real(ctx, "write_s")) +
		       3 * ALL_TRIAL_S + FIO_START_S;
	case ALL_BASE:
		return all_start_s(ctx) + 1.2 * ctx->param_real(ctx, "base_s") + FIO_START_S;
	case ALL_RANDOM:
		return all_start_s(ctx) + ctx->param_real(ctx, "ramp_s") +
		       ctx->param_real(ctx, "hold_s") + FIO_START_S;
	case ALL_WRITE:
	case ALL_READ:
		return all_start_s(ctx) + ctx->param_real(ctx, "stream_s") + FIO_START_S;
	default:
		return 0;
	}
}

static void set_until(struct all_node *a, double seconds, enum msg doing)
{
	const struct probe_ctx *ctx = a->ctx;

	a->step_s = seconds;
	a->until_ns = clock_now(ctx->clock) + (int64_t)(seconds * 1e9);
	a->until_ns = a->until_ns < ctx->deadline_ns ? a->until_ns : ctx->deadline_ns;
	a->doing = doing;
}

static double wall_s(const struct all_node *a)
{
	return (double)clock_wall(a->ctx->clock) / 1e9;
}

/* Our wall clock before the first node's. The order itself tells where nothing is
 * known, later by its way here, and whether a clock was set since. */
static double ahead_of(const struct all_node *a, const struct all_order *o)
{
	double known = a->ctx->ahead_s, seen = wall_s(a) - o->sent_s;

	return isfinite(known) && fabs(seen - known) < CLOCK_DOUBT_S ? known : seen;
}

static void wait_for_start(struct all_node *a, const struct all_order *o, double ahead)
{
	const struct clock_source *clock = a->ctx->clock;
	double left = fmin(o->at_s + ahead - wall_s(a), 2 * all_start_s(a->ctx));
	int64_t until = clock_now(clock) + (int64_t)(left * 1e9), now;

	while ((now = clock_now(clock)) < until)
		clock_sleep(clock, until - now);
}

/* --- meet, look ---------------------------------------------------------------------- */

static bool meet(struct all_node *a)
{
	struct probe_ctx *ctx = a->ctx;
	struct error err = {0};

	if (!ctx->scratch)
		return because(a, OUTCOME_NOT_MEASURED, MSG_storage_no_scratch);
	if (storage_place_read(&a->place, ctx->arena, ctx->sys_root, ctx->scratch, &err) != ST_OK) {
		because(a, OUTCOME_NOT_MEASURED, MSG_storage_unreadable, ctx->subject_id,
		        str_text(&err.text));
		error_release(&err);
		return false;
	}
	if (strcmp(a->place.kind, "memory") == 0)
		return because(a, OUTCOME_NOT_MEASURED, MSG_storage_ram, ctx->subject_id,
		               a->place.ram ? a->place.ram : a->place.fs);
	if (storage_token_put(ctx->scratch, &err) != ST_OK)
		return because_error(a, OUTCOME_NOT_MEASURED, MSG_storage_write_failed, &err);
	return true;
}

/* Looks for those not seen yet; true: all are. */
static bool look_once(struct all_node *a, bool *seen)
{
	bool all = true;

	for (int i = 0; i < a->ctx->n_peers; i++) {
		seen[i] = seen[i] || i == a->ctx->self_index ||
		          storage_token_seen(a->ctx->scratch, a->ctx->peers[i]);
		all = all && seen[i];
	}
	return all;
}

static void look(struct all_node *a, struct all_answer *out)
{
	struct probe_ctx *ctx = a->ctx;
	int digits = (ctx->n_peers + 3) / 4;
	bool *seen = arena_array(ctx->arena, 4 * (size_t)digits + 1, sizeof(*seen));
	char *text = arena_alloc(ctx->arena, (size_t)digits + 1);

	set_until(a, LOOK_MOST_S, MSG_storage_all_looking);
	while (!look_once(a, seen) && clock_now(ctx->clock) < a->until_ns)
		clock_sleep(ctx->clock, (int64_t)(LOOK_AGAIN_S * 1e9));
	for (int d = 0; d < digits; d++)
		text[d] = "0123456789abcdef"[seen[4 * d] | seen[4 * d + 1] << 1 |
		                             seen[4 * d + 2] << 2 | seen[4 * d + 3] << 3];
	out->seen = text;
}

/* --- prepare ------------------------------------------------------------------------- */

static bool goes_on(void *arg, double seconds)
{
	struct all_node *a = arg;
	bool prepares = a->doing == MSG_storage_writing;

	all_take_in(a->ctx);
	a->ctx->progress(a->ctx, prepares ? STAGE_PREPARING : STAGE_MEASURING,
	                 a->step_s > 0 ? fmin(seconds / a->step_s, 1) : -1, a->doing);
	return clock_now(a->ctx->clock) < a->until_ns;
}

static bool writing_goes_on(void *arg, int64_t done)
{
	(void)done;
	return goes_on(arg, 0);
}

/* Asked before each block. */
static bool verifying_goes_on(void *arg, int64_t offset)
{
	const struct all_node *a = arg;

	(void)offset;
	return clock_now(a->ctx->clock) < a->until_ns;
}

/* What of a parameter may be used: all nodes share a tenth of what is free. */
static int64_t room_for(const struct all_node *a, const char *param)
{
	int64_t size = a->ctx->param_int(a->ctx, param),
		most = a->place.free_bytes / 10 / a->ctx->n_peers;

	return size < most ? size : most;
}

static bool write_data(struct all_node *a)
{
	struct probe_ctx *ctx = a->ctx;
	struct storage_written written;
	struct error err = {0};
	int64_t asked = room_for(a, "size") / STORAGE_BLOCK * STORAGE_BLOCK;
	enum status st;

	if (a->place.free_bytes < LEAST_FREE)
		return because(a, OUTCOME_NOT_MEASURED, MSG_storage_free, ctx->subject_id,
		               fmt_bytes(a->place.free_bytes), fmt_bytes(LEAST_FREE));
	a->data = (struct storage_data){.path = arena_strf(ctx->arena, "%s/data", ctx->scratch),
	                                .seed = ctx->seed,
	                                .bytes = asked,
	                                .go_on = writing_goes_on,
	                                .arg = a};
	set_until(a, ctx->param_real(ctx, "write_s"), MSG_storage_writing);
	st = storage_write(&written, &a->data, ctx->clock, &err);
	a->created = written.created;
	if (st != ST_OK)
		return because_error(a, OUTCOME_NOT_MEASURED,
		                     st == ST_NOSPACE ? MSG_fio_no_space : MSG_storage_write_failed,
		                     &err);
	a->data.bytes = written.bytes;
	if (written.bytes < asked && written.bytes < LEAST_DATA)
		return because(a, OUTCOME_NOT_MEASURED, MSG_storage_slow_write, ctx->subject_id,
		               fmt_bytes(written.bytes), fmt_duration(written.seconds));
	return true;
}

/* Not holes, not reserved space: by the file system's own account. */
static bool check_kept(struct all_node *a)
{
	double share = storage_allocated_share(&a->data, a->ctx->clock),
	       mapped = storage_mapped_share(&a->data);

	if (!isnan(mapped) && mapped < share)
		share = mapped;
	if (share > 0 && share < LEAST_SHARE)
		return because(a, OUTCOME_NOT_MEASURED, MSG_storage_sparse, a->ctx->subject_id,
		               tmpf("%.0f", share * 100));
	return true;
}

/* Of the node, whether a driver works or not; -1: unknown, where a driver may list
 * some that the kernel does not. */
static int count_cards(struct probe_ctx *ctx)
{
	const char *const *gpus = cards_gpus(ctx);
	int n = 0;

	while (gpus[n] && strcmp(gpus[n], CARDS_ALL) != 0)
		n++;
	if (n > 0)
		return n;
	n = host_nvidia_read(ctx->arena, ctx->sys_root).n_cards;
	return n > 0 || !cards_have_driver(ctx) ? n : -1;
}

/* Threads for a depth: one CPU cannot drive a fast device. A divisor of it. */
static int jobs_for(const struct all_node *a, int depth)
{
	int jobs;

	host_allowed_cpus(a->ctx->arena, a->ctx->sys_root, &jobs);
	jobs = jobs < AUTO_JOBS ? jobs : AUTO_JOBS;
	while (jobs > 1 && depth % jobs)
		jobs--;
	return jobs > 1 ? jobs : 1;
}

static bool fio_failed(struct all_node *a, const struct fio_result *r)
{
	if (r->outcome == OUTCOME_MEASURED)
		return false;
	a->hangs = r->outcome == OUTCOME_TIMED_OUT && !path_answers(a->ctx->scratch, HANGS_S);
	a->outcome = r->outcome;
	fio_reason(a->ctx, r, &a->reason);
	return true;
}

/* At the greatest depth there will be, on a part of our own data: what is to be
 * measured nobody has read. */
static bool choose_engine(struct all_node *a, const char **refused)
{
	struct probe_ctx *ctx = a->ctx;
	struct fio_result last = {0};
	int depth = (int)ctx->param_int(ctx, "depth") << (ctx->param_int(ctx, "points") - 1);

	depth = depth < AUTO_DEPTH ? AUTO_DEPTH : depth < ALL_MOST_DEPTH ? depth : ALL_MOST_DEPTH;
	a->job = (struct fio_job){.tool = &a->tool,
	                          .dir = ctx->scratch,
	                          .file = "data",
	                          .bytes = a->data.bytes / 4 / STORAGE_BLOCK * STORAGE_BLOCK,
	                          .block = STORAGE_BLOCK,
	                          .depth = depth,
	                          .jobs = jobs_for(a, depth),
	                          .runtime_s = ALL_TRIAL_S,
	                          .seed = ctx->seed,
	                          .tick = goes_on,
	                          .arg = a};
	set_until(a, 3 * (ALL_TRIAL_S + FIO_START_S), MSG_storage_writing);
	if (!fio_choose_engine(ctx, &a->job, ctx->param_word(ctx, "engine"), refused, &last))
		return !fio_failed(a, &last);
	if (!a->job.direct)
		return because(a, OUTCOME_NOT_MEASURED, MSG_storage_cached, ctx->subject_id);
	return true;
}

static bool prepare(struct all_node *a, struct all_answer *out)
{
	const char *other, *refused;

	if (!fio_available(a->ctx, &a->tool, &a->reason))
		return false;
	other = storage_other_run(a->ctx->arena, a->ctx->scratch);
	if (other)
		return because(a, OUTCOME_NOT_MEASURED, MSG_storage_busy, a->ctx->subject_id,
		               other);
	if (!write_data(a) || !check_kept(a) || !choose_engine(a, &refused))
		return false;
	out->cards = count_cards(a->ctx);
	out->room = a->job.depth;
	out->engine = a->job.engine;
	out->fs = a->place.fs;
	out->kind = a->place.kind;
	out->bytes = a->data.bytes;
	return true;
}

/* --- runs ------------------------------------------------------------------------------ */

/* Beside our directory; fio would cut a name at a colon. */
static const char *next_file(const struct all_node *a, const char *name)
{
	struct str text = {0};
	const char *kept;

	str_add(&text, "../");
	for (const char *p = a->next; *p; p++) {
		if (*p == ':' || *p == '\\')
			str_addc(&text, '\\');
		str_addc(&text, *p);
	}
	str_addf(&text, "/%s", name);
	kept = arena_str(a->ctx->arena, text.data);
	str_release(&text);
	return kept;
}

static bool client_bound(const struct all_node *a, const struct fio_job *job,
                         const struct fio_result *r)
{
	double cpu = r->usr_cpu + r->sys_cpu;
	int cpus;

	host_allowed_cpus(a->ctx->arena, a->ctx->sys_root, &cpus);
	return cpu >= BUSY_PERCENT || (cpus > 0 && cpu * fio_threads(job) >= BUSY_PERCENT * cpus);
}

static double *scaled_windows(struct arena *arena, const struct fio_result *r, double scale)
{
	double *windows = arena_array(arena, r->n_windows + 1, sizeof(*windows));

	for (size_t i = 0; i < r->n_windows; i++)
		windows[i] = r->windows[i] * scale;
	return windows;
}

/* unit: of what an I/O counts for, 1 or its bytes. */
static void take_result(struct all_node *a, const struct fio_job *job, const struct fio_result *r,
                        double end_s, double unit, struct all_answer *out)
{
	out->share = (struct share){
		.ios = r->total_ios * unit, .start_s = end_s - r->runtime_s, .end_s = end_s};
	if (r->n_windows > 0) {
		out->share.windows = scaled_windows(a->ctx->arena, r, unit);
		out->share.n_windows = r->n_windows;
		out->share.window_s = job->window_s;
	}
	out->mean_s = r->lat.mean * 1e-6;
	out->p99_s = r->lat.p99 * 1e-6;
	out->client_bound = client_bound(a, job, r);
}

static bool run_fio(struct all_node *a, const struct all_order *o, struct fio_job *job, double unit,
                    struct fio_result *r, struct all_answer *out)
{
	double ahead = ahead_of(a, o), end_s;

	job->engine = o->engine ? o->engine : job->engine;
	job->seed = a->ctx->seed * 31 + (uint64_t)a->ctx->self_index * 0x9e3779b97f4a7c15ULL +
	            (uint64_t)job->depth;
	job->tick = goes_on;
	job->arg = a;
	set_until(a,
	          all_step_seconds(a->ctx, o->step) + a->ctx->param_real(a->ctx, "patience_s") / 2,
	          job->way == FIO_STREAM_WRITE ? MSG_checkpoint_writing : MSG_storage_reading);
	wait_for_start(a, o, ahead);
	fio_run(a->ctx, job, r, NULL);
	end_s = wall_s(a) - ahead;
	if (fio_failed(a, r))
		return false;
	if (!isfinite(r->lat.mean) || !isfinite(r->lat.p99))
		return because(a, OUTCOME_NOT_MEASURED, MSG_fio_no_latency);
	take_result(a, job, r, end_s, unit, out);
	return true;
}

/* Blocks that the next node wrote, as this one gets them. */
static bool verify_next(struct all_node *a, int64_t bytes)
{
	struct probe_ctx *ctx = a->ctx;
	const char *slash = strrchr(ctx->scratch, '/');
	struct storage_data data = a->data;
	struct storage_check c;
	struct error err = {0};
	int64_t due = bytes / STORAGE_BLOCK < VERIFY_LEAST ? bytes / STORAGE_BLOCK : VERIFY_LEAST;

	data.bytes = bytes;
	data.go_on = verifying_goes_on;
	data.path = arena_strf(ctx->arena, "%.*s/%s/data", (int)(slash - ctx->scratch),
	                       ctx->scratch, a->next);
	set_until(a, ALL_VERIFY_S, MSG_storage_reading);
	if (storage_verify(&c, &data, VERIFY_BLOCKS, &err) != ST_OK)
		return because_error(a, OUTCOME_NOT_MEASURED, MSG_storage_read_failed, &err);
	if (c.right < c.blocks)
		return because(a, OUTCOME_FAILED, MSG_storage_not_real,
		               tmpf("%lld", (long long)(c.blocks - c.right)),
		               tmpf("%lld", (long long)c.blocks), tmpf("%lld", (long long)c.zero),
		               tmpf("%lld", (long long)c.moved),
		               tmpf("%lld", (long long)c.foreign));
	if (c.blocks < due)
		return because(a, OUTCOME_NOT_MEASURED, MSG_storage_slow_verify,
		               tmpf("%lld", (long long)c.blocks), tmpf("%d", ALL_VERIFY_S));
	return true;
}

static bool read_at_depth(struct all_node *a, const struct all_order *o, int depth,
                          double runtime_s, double ramp_s, struct all_answer *out)
{
	struct fio_job job = a->job;
	struct fio_result r;
	double outstanding;

	job.file = next_file(a, "data");
	job.bytes = o->bytes;
	job.depth = depth;
	job.jobs = jobs_for(a, depth);
	job.runtime_s = runtime_s;
	job.ramp_s = ramp_s;
	job.window_s = fmax(fmin(1, runtime_s / 3), runtime_s / ALL_MOST_WINDOWS);
	if (!run_fio(a, o, &job, 1, &r, out))
		return false;
	/* Little: an engine that takes one I/O at a time shows in their product. */
	outstanding = r.iops * out->mean_s;
	if (outstanding < 0.5 * depth && r.total_ios >= STEADY_IOS * (double)depth)
		return because(a, OUTCOME_NOT_MEASURED, MSG_storage_depth, tmpf("%d", depth),
		               tmpf("%.1f", outstanding));
	return true;
}

static bool base(struct all_node *a, const struct all_order *o, struct all_answer *out)
{
	double seconds = a->ctx->param_real(a->ctx, "base_s");

	return verify_next(a, o->bytes) && read_at_depth(a, o, 1, seconds, seconds / 5, out);
}

static bool random_reads(struct all_node *a, const struct all_order *o, struct all_answer *out)
{
	double hold_s = a->ctx->param_real(a->ctx, "hold_s");

	/* fio counts nothing when the ramp is not the shorter of the two. */
	return read_at_depth(a, o, o->depth, hold_s,
	                     fmin(a->ctx->param_real(a->ctx, "ramp_s"), hold_s / 2), out);
}

/* --- streams --------------------------------------------------------------------------- */

static struct fio_job stream_job(const struct all_node *a, enum fio_way way, const char *engine)
{
	struct fio_job job = a->job;
	int streams = (int)a->ctx->param_int(a->ctx, "streams");

	job.way = way;
	job.engine = engine;
	job.files = 1;
	job.block = ALL_STREAM_BLOCK;
	job.jobs = streams;
	job.depth = streams * STREAM_DEPTH;
	job.runtime_s = 0;
	job.most_s = a->ctx->param_real(a->ctx, "stream_s");
	job.window_s = fmax(fmin(1, job.most_s / 3), job.most_s / ALL_MOST_WINDOWS);
	return job;
}

/* Bytes of the shortest of our stream files; *sum of all. */
static int64_t least_file(const struct all_node *a, int64_t *sum)
{
	int64_t least = INT64_MAX;

	*sum = 0;
	for (int i = 0; i < a->stream_files; i++) {
		struct stat info;
		int64_t size = stat(tmpf("%s/" STEM ".%d.0", a->ctx->scratch, i), &info) == 0
		                       ? (int64_t)info.st_size
		                       : 0;

		*sum += size;
		least = size < least ? size : least;
	}
	return least / ALL_STREAM_BLOCK * ALL_STREAM_BLOCK;
}

static bool stream_write(struct all_node *a, const struct all_order *o, struct all_answer *out)
{
	struct fio_job job = stream_job(a, FIO_STREAM_WRITE, o->engine);
	struct fio_result r;
	int64_t sum;

	job.file = STEM;
	job.bytes = room_for(a, "stream_size") / fio_threads(&job) / ALL_STREAM_BLOCK *
	            ALL_STREAM_BLOCK;
	a->stream_files = fio_threads(&job);
	if (job.bytes == 0)
		return because(a, OUTCOME_NOT_MEASURED, MSG_checkpoint_small,
		               fmt_bytes(room_for(a, "stream_size")),
		               fmt_bytes((int64_t)fio_threads(&job) * ALL_STREAM_BLOCK));
	if (!run_fio(a, o, &job, ALL_STREAM_BLOCK, &r, out))
		return false;
	out->bytes = least_file(a, &sum);
	if ((double)sum < r.io_bytes)
		return because(a, OUTCOME_FAILED, MSG_checkpoint_short, fmt_bytes(sum),
		               fmt_bytes((int64_t)r.io_bytes));
	return out->bytes > 0 ||
	       because(a, OUTCOME_NOT_MEASURED, MSG_storage_slow_write, a->ctx->subject_id,
	               fmt_bytes(sum), fmt_duration(job.most_s));
}

static bool stream_read(struct all_node *a, const struct all_order *o, struct all_answer *out)
{
	struct fio_job job = stream_job(a, FIO_STREAM_READ, o->engine);
	struct fio_result r;

	job.file = next_file(a, STEM);
	job.bytes = o->bytes;
	return run_fio(a, o, &job, ALL_STREAM_BLOCK, &r, out);
}

/* --- orders ---------------------------------------------------------------------------- */

struct all_node all_node_init(struct probe_ctx *ctx)
{
	return (struct all_node){.ctx = ctx,
	                         .next = ctx->peers[(ctx->self_index + 1) % ctx->n_peers]};
}

static bool do_step(struct all_node *a, const struct all_order *o, struct all_answer *out)
{
	switch (o->step) {
	case ALL_MEET:
		return meet(a);
	case ALL_LOOK:
		look(a, out);
		return true;
	case ALL_PREPARE:
		return prepare(a, out);
	case ALL_BASE:
		return base(a, o, out);
	case ALL_RANDOM:
		return random_reads(a, o, out);
	case ALL_WRITE:
		return stream_write(a, o, out);
	case ALL_READ:
		return stream_read(a, o, out);
	default:
		return true;
	}
}

void all_node_do(struct all_node *a, const struct all_order *o, struct all_answer *out)
{
	*out = (struct all_answer){.outcome = OUTCOME_MEASURED};
	a->outcome = OUTCOME_NOT_MEASURED;
	a->reason = (struct reason){0};
	if (do_step(a, o, out))
		return;
	*out = (struct all_answer){.outcome = a->outcome, .why = a->reason.text};
}

void all_node_release(struct all_node *a)
{
	if (!a->ctx->scratch || a->hangs)
		return;
	if (a->created)
		unlink(a->data.path);
	for (int i = 0; i < a->stream_files; i++)
		unlink(tmpf("%s/" STEM ".%d.0", a->ctx->scratch, i));
	unlink(tmpf("%s/token", a->ctx->scratch));
}
