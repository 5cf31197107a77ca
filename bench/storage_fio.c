/* fio as a child: command line, deadline, engine trials. */
#include "storage_fio.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/proc.h"
#include "fio_series.h"

#define OUTPUT_LIMIT ((size_t)16 << 20)
#define SLACK_S      30       /* start, layout checks and end of fio beside its run */
#define LEAST_TRIAL  4        /* depth below which no engine is tried for want of room */
#define SERIES       "series" /* files of the rates by window, in the job's directory */

/* First version whose units and percentiles are read here without a guess. */
#define NEEDED       "3.0"
#define MAJOR_NEEDED 3

/* Why `fio --version` gave no version. */
static void say_unusable(struct probe_ctx *ctx, struct reason *reason, enum status st,
                         const struct proc_end *end, const char *text, const struct error *err)
{
	if (st == ST_NOTFOUND)
		reason_set(ctx, reason, MSG_fio_missing, NEEDED);
	else if (st != ST_OK)
		reason_set(ctx, reason, MSG_fio_unusable, str_text(&err->text));
	else if (end->timed_out)
		reason_set(ctx, reason, MSG_fio_timed_out, tmpf("%.0f", end->seconds));
	else if (end->signal)
		reason_set(ctx, reason, MSG_fio_killed, tmpf("%d", end->signal));
	else if (end->exit_code != 0)
		reason_set(ctx, reason, MSG_fio_no_json, tmpf("%d", end->exit_code),
		           str_text(&end->err));
	else
		reason_set(ctx, reason, MSG_fio_no_version, text);
}

bool fio_available(struct probe_ctx *ctx, struct fio_tool *tool, struct reason *reason)
{
	static const char *const argv[] = {"fio", "--version", NULL};
	struct spawn_spec spec = {.argv = argv, .deadline_s = 20, .max_out = 4096};
	struct proc_end end = {.exit_code = -1};
	struct str out = {0};
	struct error err = {0};
	int major = 0, minor = 0;
	enum status st = spawn_run(&spec, &out, &end, &err);
	const char *text = arena_strn(ctx->arena, str_text(&out), strcspn(str_text(&out), "\n"));

	*reason = (struct reason){0};
	if (st != ST_OK || end.exit_code != 0 || !fio_version_parse(text, &major, &minor))
		say_unusable(ctx, reason, st, &end, text, &err);
	else if (major < MAJOR_NEEDED)
		reason_set(ctx, reason, MSG_fio_old, text, NEEDED);
	*tool = (struct fio_tool){text, major > 3 || (major == 3 && minor >= 18)};
	str_release(&out);
	str_release(&end.err);
	error_release(&err);
	return !reason->code;
}

int fio_threads(const struct fio_job *job)
{
	return strcmp(job->engine, "psync") == 0 ? job->depth : job->jobs;
}

struct options {
	struct arena *arena;
	const char **list;
	int n;
};

#define MOST_OPTIONS 48

static void option(struct options *o, const char *text)
{
	if (text && o->n < MOST_OPTIONS)
		o->list[o->n++] = text;
}

#define optionf(o, ...) option(o, arena_strf((o)->arena, __VA_ARGS__))

static void add_files(struct options *o, const struct fio_job *job)
{
	if (job->files == 0) {
		optionf(o, "--filename=%s", job->file);
		optionf(o, "--offset=%lld", (long long)job->offset);
	} else {
		optionf(o, "--filename_format=%s.$jobnum.$filenum", job->file);
		optionf(o, "--nrfiles=%d", job->files);
	}
	optionf(o, "--size=%lld", (long long)job->bytes);
	/* Whole files one after another, in no order a server could guess. */
	if (job->files > 1)
		optionf(o, "--file_service_type=random:%lld",
		        (long long)(job->bytes / job->files / job->block));
}

static void add_way(struct options *o, const struct fio_job *job)
{
	if (job->way == FIO_STREAM_WRITE) {
		/* New data in every block, allocated by writing, and, unless the caches
		 * are what is asked for, on the storage before the clock stops. */
		option(o, "--rw=write");
		option(o, "--refill_buffers");
		option(o, "--fallocate=none");
		option(o, job->unsynced ? NULL : "--end_fsync=1");
		return;
	}
	option(o, "--readonly");
	option(o, "--allow_file_create=0");
	option(o, job->way == FIO_RANDOM_READ ? "--rw=randread" : "--rw=read");
	if (job->way == FIO_RANDOM_READ && !job->same_order)
		option(o, "--norandommap");
}

static void add_time(struct options *o, const struct fio_job *job)
{
	if (job->runtime_s > 0) {
		option(o, "--time_based");
		optionf(o, "--runtime=%ldms", lround(job->runtime_s * 1e3));
		optionf(o, "--ramp_time=%ldms", lround(job->ramp_s * 1e3));
	} else {
		optionf(o, "--runtime=%ldms", lround(job->most_s * 1e3));
	}
	if (job->most_ios)
		optionf(o, "--number_ios=%lld", (long long)job->most_ios);
	if (job->window_s > 0) {
		optionf(o, "--write_iops_log=%s", SERIES);
		optionf(o, "--log_avg_msec=%ld", lround(job->window_s * 1e3));
		optionf(o, "--iopsavgtime=%ld", lround(job->window_s * 1e3));
	}
}

/* Options of the output go before the first job, or a banner leaks into it. The
 * two percentile options exclude each other before 3.18. */
static const char *const *command_line(struct arena *a, const struct fio_job *job)
{
	int threads = fio_threads(job);
	struct options o = {a, arena_array(a, MOST_OPTIONS + 1, sizeof(char *)), 0};

	option(&o, "fio");
	option(&o, "--output-format=json+");
	option(&o, "--thread");
	option(&o, "--eta=never");
	option(&o, "--name=assay");
	add_files(&o, job);
	add_way(&o, job);
	add_time(&o, job);
	optionf(&o, "--bs=%d", job->block);
	option(&o, "--randrepeat=0");
	optionf(&o, "--randseed=%llu", (unsigned long long)(job->seed >> 1));
	optionf(&o, "--ioengine=%s", job->engine);
	optionf(&o, "--direct=%d", job->direct);
	optionf(&o, "--numjobs=%d", threads);
	optionf(&o, "--iodepth=%d", job->depth / threads);
	option(&o, "--group_reporting");
	option(&o, "--percentile_list=50:90:95:99:99.5:99.9:99.99:100");
	option(&o, "--clat_percentiles=1");
	option(&o, job->tool->lat_percentiles ? "--lat_percentiles=1" : NULL);
	return o.list;
}

/* An end that fio itself could not report. */
static void judge_end(struct probe_ctx *ctx, struct fio_result *r, enum status st,
                      const struct proc_end *end, const struct error *err)
{
	const char *seconds = arena_strf(ctx->arena, "%.0f", end->seconds);

	if (st != ST_OK) {
		r->outcome = OUTCOME_NOT_MEASURED;
		r->reason = MSG_fio_unusable;
		r->args[0] = arena_str(ctx->arena, str_text(&err->text));
	} else if (end->unkillable || end->timed_out || end->stopped) {
		/* Stopped by our tick: begun with time to spare, and not ended in it. */
		r->outcome = OUTCOME_TIMED_OUT;
		r->reason = end->unkillable ? MSG_fio_stuck : MSG_fio_timed_out;
		r->args[0] = seconds;
	}
}

void fio_run(struct probe_ctx *ctx, const struct fio_job *job, struct fio_result *result,
             const char **raw)
{
	struct spawn_spec spec = {
		.argv = command_line(ctx->arena, job),
		.cwd = job->dir,
		.deadline_s =
			job->ramp_s + (job->runtime_s > 0 ? job->runtime_s : job->most_s) + SLACK_S,
		.max_out = OUTPUT_LIMIT,
		.tick = job->tick,
		.arg = job->arg,
	};
	struct proc_end end = {.exit_code = -1};
	struct str out = {0};
	struct error err = {0};
	enum status st = spawn_run(&spec, &out, &end, &err);
	struct fio_asked asked = {.write = job->way == FIO_STREAM_WRITE,
	                          .runtime_s = job->runtime_s,
	                          .exit_code = end.exit_code,
	                          .signal = end.signal,
	                          .err = str_text(&end.err)};

	fio_read(result, ctx->arena, str_text(&out), out.len, &asked);
	judge_end(ctx, result, st, &end, &err);
	if (job->window_s > 0)
		fio_series_take(result, ctx->arena, job->dir, SERIES, fio_threads(job),
		                job->window_s);
	if (raw)
		*raw = arena_strn(ctx->arena, str_text(&out), out.len);
	str_release(&out);
	str_release(&end.err);
	error_release(&err);
}

void fio_reason(struct probe_ctx *ctx, const struct fio_result *r, struct reason *reason)
{
	const char *args[5] = {0};

	for (int i = 0; i < 4 && r->args[i]; i++)
		args[i] = r->args[i];
	reason_set_list(ctx, reason, r->reason, args);
}

/* --- engines --------------------------------------------- */

/* Another engine may do better: fio came to an error before any I/O moved a
 * byte, or did not get as far as a result. Not by errno: a sandbox answers
 * EPERM, ENOSYS or EOPNOTSUPP as it likes. */
static bool never_began(const struct fio_result *r)
{
	return (r->error != 0 && r->io_bytes == 0) || r->reason == MSG_fio_no_json ||
	       r->reason == MSG_fio_silent;
}

struct trial {
	const char *wanted;
	struct str why;
	bool direct_refused; /* by an engine that works otherwise */
	bool limited;        /* an engine had no room for the depth */
	bool over;           /* chosen, or no use to go on */
};

static void try_engine(struct probe_ctx *ctx, struct trial *t, struct fio_job *job,
                       const char *engine, struct fio_result *last)
{
	if (strcmp(t->wanted, "auto") != 0 && strcmp(t->wanted, engine) != 0)
		return;
	/* Buffered libaio waits inside its submission: its depth is fiction. */
	if (!job->direct && strcmp(t->wanted, "auto") == 0 && strcmp(engine, "libaio") == 0)
		return;
	job->engine = engine;
	fio_run(ctx, job, last, NULL);
	t->over = last->outcome == OUTCOME_MEASURED || !never_began(last);
	if (t->over)
		return;
	t->direct_refused = t->direct_refused || last->reason == MSG_fio_direct_refused;
	str_addf(&t->why, "%s%s%s: %s", t->why.len ? "; " : "", engine,
	         job->direct ? "" : " buffered", say_list(last->reason, last->args));
}

static void try_engines(struct probe_ctx *ctx, struct trial *t, struct fio_job *job, bool direct,
                        struct fio_result *last)
{
	static const char *const engines[] = {"io_uring", "libaio", "psync"};

	job->direct = direct;
	for (int i = 0; i < 3 && !t->over; i++) {
		try_engine(ctx, t, job, engines[i], last);
		t->limited = t->limited || last->error == EAGAIN || last->error == ENOMEM;
	}
}

bool fio_choose_engine(struct probe_ctx *ctx, struct fio_job *job, const char *wanted,
                       const char **refused, struct fio_result *last)
{
	struct trial t = {.wanted = wanted};

	/* Direct I/O with every engine before any without: a cache measures itself. */
	try_engines(ctx, &t, job, true, last);
	/* fs.aio-max-nr and limits of processes are shared by all on the host: what is
	 * left may do for fewer I/Os. */
	while (!t.over && t.limited && !t.direct_refused && job->depth >= 4 * LEAST_TRIAL) {
		job->depth /= 4;
		while (job->depth % job->jobs)
			job->jobs--;
		t.limited = false;
		str_addf(&t.why, "; depth %d: ", job->depth);
		try_engines(ctx, &t, job, true, last);
	}
	if (!t.over && t.direct_refused)
		try_engines(ctx, &t, job, false, last);
	*refused = t.why.len ? arena_str(ctx->arena, t.why.data) : NULL;
	str_release(&t.why);
	return last->outcome == OUTCOME_MEASURED;
}
