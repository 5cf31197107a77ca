/* The sweep and the long run. The verdict comes from one point that meets both
 * limits, so the point is chosen here by the rule the judging uses, and held:
 * a short run reads the burst of a volume, not the volume. */
#include "storage_points.h"

#include <math.h>
#include <string.h>

#include "base/answers.h"
#include "base/clock.h"
#include "base/json.h"
#include "hw/host.h"

#define SMALL_RAMP 0.05
#define AUTO_JOBS  16
#define START_S    2 /* of fio, on a slow path */
#define MOST_HOLDS 3
#define KNEE       0.9
#define LINK_SHARE 0.9 /* of a link's rate: no payload gets more */
#define GROWS      1.1 /* by which a deeper queue must gain to be worth it */

bool storage_is_brief(struct probe_ctx *ctx)
{
	return ctx->budget == BUDGET_QUICK && strcmp(ctx->param_word(ctx, "shared"), "local") == 0;
}

/* --- one run --------------------------------------------- */

static double length_s(const struct fio_job *job)
{
	return job->runtime_s > 0 ? job->ramp_s + job->runtime_s : job->most_s;
}

static bool goes_on(void *arg, double seconds)
{
	struct storage_work *w = arg;
	double done = w->all_s > 0 ? fmin((w->done_s + seconds) / w->all_s, 1) : -1;

	w->ctx->progress(w->ctx, STAGE_MEASURING, done, MSG_storage_reading);
	return clock_now(w->ctx->clock) < w->ctx->deadline_ns;
}

static void add_counts(struct storage_counts *c, double device, double fio)
{
	c->device_bytes += device;
	c->fio_bytes += fio;
}

/* Counters hold the ramp, fio's figures do not: a long ramp may have been faster
 * or slower than its run, so such runs count only where there are no others, and
 * then as if their ramps had read nothing: a cache must not be seen where none is. */
static void count(struct storage_work *w, const struct fio_job *job, const struct fio_result *r,
                  bool read, const struct counted *before)
{
	double share = job->runtime_s > 0 ? job->ramp_s / r->runtime_s : 0;
	struct counted after;

	w->counted = w->counted && read &&
	             storage_counters_read(&w->counters, w->ctx->sys_root, &after) &&
	             after.read_bytes >= before->read_bytes;
	if (!w->counted)
		return;
	add_counts(&w->all, after.read_bytes - before->read_bytes, r->io_bytes);
	if (share <= SMALL_RAMP)
		add_counts(&w->exact, after.read_bytes - before->read_bytes,
		           r->io_bytes * (1 + share));
}

bool storage_run(struct storage_work *w, const struct fio_job *job, const char *raw_name,
                 struct fio_result *r, struct raw_file *raw)
{
	struct probe_ctx *ctx = w->ctx;
	struct fio_job ready = *job;
	struct counted before;
	struct raw_file unused;
	bool read;
	const char *text;

	if (w->broke) {
		w->why = w->broke_why;
		return false;
	}
	if (clock_now(ctx->clock) + (int64_t)((length_s(job) + START_S) * 1e9) > ctx->deadline_ns)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_no_time);
	ready.tick = goes_on;
	ready.arg = w;
	read = storage_counters_read(&w->counters, ctx->sys_root, &before);
	fio_run(ctx, &ready, r, &text);
	w->done_s += length_s(job);
	ctx->save_raw(ctx, raw_name, text, strlen(text), raw ? raw : &unused);
	if (r->outcome == OUTCOME_MEASURED) {
		count(w, job, r, read, &before);
		return true;
	}
	w->hangs = r->outcome == OUTCOME_TIMED_OUT && !path_answers(ctx->scratch, HANGS_S);
	if (!storage_path_gone(w)) {
		w->why.outcome = r->outcome;
		fio_reason(ctx, r, &w->why.reason);
	}
	/* The rest is no use when the storage itself gave up. */
	w->broke = w->why.outcome != OUTCOME_NOT_MEASURED;
	w->broke_why = w->why;
	return false;
}

int storage_jobs(struct storage_work *w, int depth)
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
static bool depth_reached(struct storage_work *w, const struct fio_job *job,
                          const struct fio_result *r)
{
	int each = job->depth / fio_threads(job), floor = 1;

	while (floor * 2 <= each && floor < 64)
		floor *= 2;
	if (isnan(r->depth) || r->depth >= 0.5 * floor)
		return true;
	return because(w, OUTCOME_NOT_MEASURED, MSG_storage_depth, tmpf("%d", each),
	               tmpf("%.1f", r->depth));
}

/* --- points --------------------------------------------- */

static void run_point(struct storage_work *w, struct storage_point *p, double runtime_s,
                      const char *what)
{
	struct fio_job job = w->job;

	job.depth = p->depth;
	job.jobs = storage_jobs(w, p->depth);
	job.runtime_s = runtime_s;
	/* fio counts nothing when the ramp is not the shorter of the two. */
	job.ramp_s = fmin(w->job.ramp_s, runtime_s / 2);
	job.window_s = fmin(fmax(runtime_s / 12, 0.1), 1);
	job.seed = w->ctx->seed * 31 + (uint64_t)p->depth * 2 + p->held;
	p->threads = fio_threads(&job);
	p->window_s = job.window_s;
	p->measured = storage_run(w, &job, tmpf("fio-%s%d.json", what, p->depth), &p->r, &p->raw) &&
	              depth_reached(w, &job, &p->r);
	if (p->measured) {
		p->client_bound = storage_client_bound(w, &job, &p->r);
		return;
	}
	p->why = w->why;
}

void storage_sweep(struct storage_work *w)
{
	for (int i = 0; i < w->n_points; i++)
		run_point(w, &w->points[i], w->job.runtime_s, "depth");
}

static bool below_limit(const struct storage_work *w, const struct storage_point *p)
{
	return p->measured && p->r.lat.p99 <= w->ctx->param_real(w->ctx, "p99_ms") * 1e3;
}

const struct storage_point *storage_fastest(const struct storage_work *w, bool limited)
{
	const struct storage_point *best = NULL;

	for (int i = 0; i < w->n_points; i++) {
		const struct storage_point *p = &w->points[i];

		if (p->measured && (!limited || below_limit(w, p)) &&
		    (!best || p->r.iops > best->r.iops))
			best = p;
	}
	return best;
}

bool storage_hold(struct storage_work *w, struct storage_point *before, struct storage_point *after)
{
	struct storage_point *p = NULL;
	double hold_s = storage_is_brief(w->ctx) ? 0 : w->ctx->param_real(w->ctx, "hold_s");

	*after = (struct storage_point){0};
	if (hold_s <= 0)
		return because(w, OUTCOME_NOT_MEASURED, MSG_storage_left_out, "hold_s");
	for (int i = 0; i < MOST_HOLDS; i++) {
		struct storage_point held;

		p = (struct storage_point *)storage_fastest(w, true);
		if (!p)
			return because(w, OUTCOME_NOT_MEASURED, MSG_storage_no_point);
		if (p->held)
			break;
		held = (struct storage_point){.depth = p->depth, .held = true};
		run_point(w, &held, hold_s, "hold");
		if (!held.measured)
			return false;
		*before = *p;
		*p = held;
	}
	*after = (struct storage_point){.depth = before->depth};
	run_point(w, after, w->job.runtime_s, "after");
	return true;
}

/* --- what follows --------------------------------------------- */

/* Why the chosen point, or with none the fastest, does not give more. */
static const char *limit_of(const struct storage_work *w, const struct storage_point *p)
{
	const struct storage_point *last = &w->points[w->n_points - 1], *one = &w->points[0];
	double link =
		w->place.over_network && !w->blind ? storage_link_bytes_per_s(w->ctx->sys_root) : 0;

	if (p->client_bound)
		return "client_cpu";
	if (link > 0 && p->r.bandwidth_bs >= LINK_SHARE * link)
		return "client_link";
	/* The deepest queue there is, and each of its reads as quick as one alone. */
	if (p == last && one->measured && p->r.iops * GROWS >= p->depth / (one->r.lat.mean / 1e6))
		return "offered_load";
	return "storage";
}

static const struct storage_point *knee(const struct storage_work *w, double highest)
{
	for (int i = 0; i < w->n_points; i++)
		if (w->points[i].measured && w->points[i].r.iops >= KNEE * highest)
			return &w->points[i];
	return NULL;
}

static void emit_ceiling(struct storage_work *w)
{
	const struct storage_point *one = &w->points[0], *last = &w->points[w->n_points - 1];

	if (one->measured)
		storage_emit_number(w, OFFERED_IOPS, last->depth / (one->r.lat.mean / 1e6),
		                    arena_strf(w->ctx->arena, "{\"depth\":%d,\"depth1_ms\":%.6f}",
		                               last->depth, one->r.lat.mean / 1e3));
}

/* Buffered points are points of a cache: nothing follows from them. */
static void emit_derived(struct storage_work *w)
{
	const struct storage_point *fastest = storage_fastest(w, false),
				   *chosen = storage_fastest(w, true);
	struct arena *a = w->ctx->arena;
	int below = 0;

	if (fastest && !w->job.direct)
		because(w, OUTCOME_NOT_MEASURED, MSG_storage_cached, w->ctx->subject_id);
	if (!fastest || !w->job.direct) {
		for (int f = IOPS_MAX; f <= LIMIT; f++)
			storage_emit_missing(w, (enum figure)f, NULL);
		return;
	}
	emit_ceiling(w);
	for (int i = 0; i < w->n_points; i++)
		if (below_limit(w, &w->points[i]) && w->points[i].depth > below)
			below = w->points[i].depth;
	storage_emit_number(w, IOPS_MAX, fastest->r.iops,
	                    arena_strf(a, "{\"depth\":%d,\"p99_ms\":%.6f,\"limit\":\"%s\"}",
	                               fastest->depth, fastest->r.lat.p99 / 1e3,
	                               limit_of(w, fastest)));
	storage_emit_number(w, KNEE_DEPTH, knee(w, fastest->r.iops)->depth, NULL);
	storage_emit_number(w, DEPTH_BELOW, below, NULL);
	storage_emit_text(w, LIMIT, limit_of(w, chosen ? chosen : fastest),
	                  arena_strf(a, "{\"depth\":%d,\"chosen\":%s}",
	                             (chosen ? chosen : fastest)->depth,
	                             chosen ? "true" : "false"));
}

void storage_emit_points(struct storage_work *w)
{
	for (int i = 0; i < w->n_points; i++)
		storage_emit_point(w, &w->points[i]);
	if (!w->broke)
		emit_derived(w);
}
