/* Streams of whole files: the path, fio's runs and the clock they are judged by.
 *
 * fio's run time holds the fsync at the end of a write (fio 3.33, buffered and
 * direct, ended by size and by time: an fsync slowed by 3 s made it 3 s longer).
 * It does not hold close(), where some file systems send what they kept: a close
 * slowed by 2 s a file left it as it was. So the whole process is timed as well. */
#include "storage_streams.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/answers.h"
#include "base/clock.h"
#include "base/unit.h"
#include "hw/host.h"
#include "fio_series.h"
#include "storage_data.h"

#define LEAST_FREE (2LL << 30)
/* One CPU is busy with fio from here on: the client is the limit, not the path. */
#define BUSY_PERCENT 90
/* Beside the start that the trial saw: no two starts take equally long. */
#define HIDDEN_S 0.5

bool streams_stop(struct streams *s, enum outcome outcome, enum msg id, const char *const *args)
{
	s->outcome = outcome;
	reason_set_list(s->ctx, &s->reason, id, args);
	return false;
}

struct streams streams_init(struct probe_ctx *ctx, const struct metric *metrics, int figures)
{
	bool local = strcmp(ctx->param_word(ctx, "shared"), "local") == 0;

	return (struct streams){.ctx = ctx,
	                        .local = local,
	                        .set = metrics + (local ? figures : 0),
	                        .figures = figures,
	                        .outcome = OUTCOME_NOT_MEASURED};
}

/* --- before anything is moved --------------------------------------------- */

bool streams_gone(struct streams *s)
{
	struct stat info;

	if (s->hangs || stat(s->ctx->scratch, &info) == 0)
		return false;
	because(s, OUTCOME_FAILED, MSG_storage_gone, s->ctx->subject_id, strerror(errno));
	return true;
}

bool streams_begin(struct streams *s)
{
	struct probe_ctx *ctx = s->ctx;
	struct error err = {0};

	if (!fio_available(ctx, &s->tool, &s->reason))
		return false;
	if (!ctx->scratch)
		return because(s, OUTCOME_NOT_MEASURED, MSG_storage_no_scratch);
	if (storage_place_read(&s->place, ctx->arena, ctx->sys_root, ctx->scratch, &err) != ST_OK) {
		because(s, OUTCOME_NOT_MEASURED, MSG_storage_unreadable, ctx->subject_id,
		        str_text(&err.text));
		error_release(&err);
		return false;
	}
	/* A named path owes its figures all the same: memory must not spare it them. */
	if (strcmp(s->place.kind, "memory") == 0)
		return because(s, s->local ? OUTCOME_UNSUPPORTED : OUTCOME_NOT_MEASURED,
		               MSG_storage_ram, ctx->subject_id,
		               s->place.ram ? s->place.ram : s->place.fs);
	return true;
}

bool streams_room(struct streams *s, int64_t *bytes)
{
	int64_t size = s->ctx->param_int(s->ctx, "size"), left = s->place.free_bytes;

	if (left < LEAST_FREE)
		return because(s, OUTCOME_NOT_MEASURED, MSG_storage_free, s->ctx->subject_id,
		               fmt_bytes(left), fmt_bytes(LEAST_FREE));
	*bytes = size < left / 10 ? size : left / 10;
	return true;
}

bool streams_block_valid(struct streams *s, int64_t block)
{
	if (block % STORAGE_BLOCK == 0)
		return true;
	return because(s, OUTCOME_NOT_MEASURED, MSG_streams_block, tmpf("%lld", (long long)block),
	               tmpf("%d", STORAGE_BLOCK));
}

/* --- runs --------------------------------------------- */

int64_t streams_until(const struct streams *s, double seconds)
{
	int64_t until = clock_now(s->ctx->clock) + (int64_t)(seconds * 1e9);

	return until < s->ctx->deadline_ns ? until : s->ctx->deadline_ns;
}

static bool run_goes_on(void *arg, double seconds)
{
	struct streams *s = arg;
	double done = s->step_s > 0 ? fmin(seconds / s->step_s, 1) : 0;

	if (s->step > 0)
		s->ctx->progress(s->ctx, STAGE_MEASURING, (s->step - 1 + done) / s->steps,
		                 s->doing);
	else
		s->ctx->progress(s->ctx, STAGE_PREPARING, -1, s->doing);
	return clock_now(s->ctx->clock) < s->ctx->deadline_ns;
}

static bool fio_failed(struct streams *s, const struct fio_result *r)
{
	if (r->outcome == OUTCOME_MEASURED)
		return false;
	s->hangs = r->outcome == OUTCOME_TIMED_OUT && !path_answers(s->ctx->scratch, HANGS_S);
	if (!streams_gone(s)) {
		s->outcome = r->outcome;
		fio_reason(s->ctx, r, &s->reason);
	}
	return true;
}

static double seconds_since(const struct streams *s, int64_t start)
{
	return (double)(clock_now(s->ctx->clock) - start) / 1e9;
}

bool streams_choose(struct streams *s, struct fio_job *job)
{
	struct fio_result last = {0};
	int64_t start = clock_now(s->ctx->clock);

	s->step_s = job->runtime_s;
	job->tick = run_goes_on;
	job->arg = s;
	if (!fio_choose_engine(s->ctx, job, s->ctx->param_word(s->ctx, "engine"), &s->refused,
	                       &last)) {
		fio_failed(s, &last);
		return false;
	}
	s->direct = job->direct;
	/* Once more, if there were refused ones: they took time as well. */
	if (s->refused) {
		start = clock_now(s->ctx->clock);
		fio_run(s->ctx, job, &last, NULL);
		if (fio_failed(s, &last))
			return false;
	}
	s->start_s = fmax(seconds_since(s, start) - last.runtime_s, 0);
	s->trial_bs = last.io_bytes / last.runtime_s;
	return true;
}

bool streams_run(struct streams *s, struct fio_job *job, const char *name, struct streams_run *run)
{
	struct probe_ctx *ctx = s->ctx;
	double hidden;
	const char *text;
	int64_t start = clock_now(ctx->clock);

	*run = (struct streams_run){0};
	s->step_s = job->runtime_s > 0 ? job->runtime_s + job->ramp_s : job->most_s;
	if (start + (int64_t)((s->step_s + STREAMS_START_S) * 1e9) > ctx->deadline_ns)
		return because(s, OUTCOME_NOT_MEASURED, MSG_storage_no_time);
	job->tick = run_goes_on;
	job->arg = s;
	fio_run(ctx, job, &run->fio, &text);
	run->wall_s = seconds_since(s, start);
	ctx->save_raw(ctx, name, text, strlen(text), &run->raw);
	if (fio_failed(s, &run->fio))
		return false;
	hidden = run->wall_s - job->ramp_s - run->fio.runtime_s - s->start_s;
	run->seconds = run->fio.runtime_s + (hidden > HIDDEN_S ? hidden : 0);
	return true;
}

/* --- files --------------------------------------------- */

void streams_remove(struct streams *s, const char *stem, int threads, int files)
{
	for (int i = 0; s->ctx->scratch && !s->hangs && i < threads; i++)
		for (int k = 0; k < files; k++)
			unlink(tmpf("%s/%s.%d.%d", s->ctx->scratch, stem, i, k));
}

/* Some file systems account for blocks only when they commit (ZFS, 5 s). A file
 * system that does not account at all says 0. */
double streams_allocated(struct streams *s, const char *stem, int threads, int files, int64_t bytes)
{
	double share = 0;

	for (int tries = 0; tries < 14; tries++) {
		double blocks = 0;
		struct stat info;

		for (int i = 0; i < threads; i++)
			for (int k = 0; k < files; k++)
				if (stat(tmpf("%s/%s.%d.%d", s->ctx->scratch, stem, i, k), &info) ==
				    0)
					blocks += (double)info.st_blocks * 512;
		share = blocks / (double)bytes;
		if (share <= 0 || share >= 0.99 || clock_now(s->ctx->clock) >= s->ctx->deadline_ns)
			break;
		clock_sleep(s->ctx->clock, NS_PER_S / 2);
	}
	return share;
}

/* --- readings --------------------------------------------- */

/* fio's threads together had no CPU left, or one of them a whole one. */
static bool client_bound(const struct streams *s, double cpu, int threads)
{
	int cpus; /* 0: unknown */

	host_allowed_cpus(s->ctx->arena, s->ctx->sys_root, &cpus);
	return cpu >= BUSY_PERCENT || (cpus > 0 && cpu * threads >= BUSY_PERCENT * cpus);
}

void streams_put_job(struct streams *s, struct json_out *j, const struct fio_job *job,
                     const struct streams_run *run)
{
	const struct fio_result *r = &run->fio;
	int threads = fio_threads(job);
	double cpu = r->usr_cpu + r->sys_cpu;

	json_put_string(j, "engine", job->engine);
	json_put_bool(j, "direct", job->direct);
	json_put_int(j, "threads", threads);
	json_put_int(j, "depth", job->depth); /* over all threads */
	json_put_number(j, "mean_depth", r->depth);
	json_put_int(j, "block_bytes", job->block);
	json_put_number(j, "cpu_percent", cpu);
	json_put_bool(j, "client_bound", client_bound(s, cpu, threads));
	json_put_string(j, "fio", r->version);
	json_put_string(j, "refused", s->refused);
	if (r->short_ios > 0 || r->dropped_ios > 0) {
		json_put_number(j, "short_ios", r->short_ios);
		json_put_number(j, "dropped_ios", r->dropped_ios);
	}
}

void streams_put_seconds(struct json_out *j, const struct fio_result *r, size_t least)
{
	struct fio_steadiness steady;

	if (r->n_windows < least || !fio_steadiness(&steady, r->windows, r->n_windows))
		return;
	json_put_number(j, "second_cv", steady.cv);
	json_put_number(j, "worst_second", steady.worst);
	json_put_number(j, "thirds", steady.thirds);
}

const char *streams_params(struct streams *s, struct json_out *j)
{
	const char *kept;

	json_put_string(j, "fs", s->place.fs);
	json_put_string(j, "kind", s->place.kind);
	json_put_string(j, "mount", s->place.mount);
	json_put_string(j, "source", s->place.source);
	json_object_end(j);
	kept = arena_str(s->ctx->arena, j->out->data);
	str_release(j->out);
	return kept;
}

struct reading streams_reading(struct streams *s, int f, const char *params)
{
	struct reading r = reading_init();

	if (!params) {
		struct str text = {0};
		struct json_out j = json_writer(&text, 0);

		json_object_begin(&j, NULL);
		params = streams_params(s, &j);
	}
	r.metric = s->set[f].name;
	r.subject.kind = SUBJECT_PATH;
	r.subject.id = s->ctx->subject_id;
	r.params = params;
	s->said[f] = true;
	return r;
}

void streams_emit(struct streams *s, int f, double value, const char *params,
                  const struct raw_file *raw)
{
	struct reading r = streams_reading(s, f, params);

	r.value_kind = VALUE_NUMBER;
	r.value = value;
	r.raw = *raw;
	s->ctx->emit(s->ctx, &r);
}

void streams_emit_missing(struct streams *s, int f, const char *params)
{
	struct reading r = streams_reading(s, f, params);

	r.outcome = s->outcome;
	r.reason = s->reason;
	s->ctx->emit(s->ctx, &r);
}

void streams_emit_rest(struct streams *s)
{
	for (int f = 0; f < s->figures; f++)
		if (!s->said[f])
			streams_emit_missing(s, f, NULL);
}

/* --- hooks --------------------------------------------- */

struct support streams_supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

struct support streams_try_run(struct probe_ctx *ctx)
{
	struct support support = {.yes = false};
	struct fio_tool tool;

	support.yes = fio_available(ctx, &tool, &support.reason);
	return support;
}
