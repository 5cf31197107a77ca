/* Order to first verified step, and node changes. */
#include "cli/deploy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/msg.h"
#include "cli/run_setup.h"
#include "cli/scale_log.h"
#include "run/journal.h"
#include "stats/summary.h"

#define PROBE     "frameworks"
#define ALL_NODES "fw_nodes_pytorch_runs" /* a job over all of them */

/* On cards, on CPUs: figures of their own. */
enum where { ON_CARDS, ON_CPUS, WHERES };

static const char *const ready_metrics[WHERES] = {"deploy_ready_min", "cpu_deploy_ready_min"};

struct deploy {
	struct run_setup *setup;
	struct arena arena;
	struct {
		int64_t at; /* wall ns of the first verified step; -1: none yet */
		const char *metric;
		int64_t all_at; /* of one of all nodes together */
		bool told;      /* by an earlier attempt */
	} step[WHERES];
	bool scale_told;
};

/* --- what was given ------------------------------------------------------------------ */

/* A setting of frameworks; "": not given. The last one holds. */
static const char *given(const struct run_setup *s, const char *key)
{
	const char *prefix = tmpf(PROBE ".%s=", key);

	for (int i = s->info.n_settings - 1; i >= 0; i--)
		if (str_starts(s->info.settings[i], prefix))
			return s->info.settings[i] + strlen(prefix);
	return "";
}

enum status deploy_check(struct run_setup *s, struct error *err)
{
	const char *ordered = given(s, "ordered_at"), *log = given(s, "scale_log");
	int64_t now = clock_wall(&clock_system), at;
	struct scale_log read = {0};
	struct str text = {0};
	enum status st = ST_OK;

	time_add_utc(&text, now);
	if (*ordered && !time_parse_zoned(ordered, &at))
		st = error_set(err, ST_USAGE, MSG_ordered_at_form, ordered);
	else if (*ordered && at > now)
		st = error_set(err, ST_USAGE, MSG_ordered_at_future, ordered, text.data);
	else if (*log)
		st = scale_log_read(&read, &s->arena, log, now, err);
	scale_log_release(&read);
	str_release(&text);
	return st;
}

/* --- listening ------------------------------------------------------------------------- */

static bool is_job(const char *metric)
{
	static const char *const names[] = {"pytorch_runs", "tensorflow_runs", "deepspeed_runs",
	                                    "megatron_runs", "horovod_runs"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(metric, names[i]) == 0)
			return true;
	return false;
}

static void hear(struct deploy *d, const struct reading *r, int64_t at)
{
	enum where where = str_starts(r->metric, "cpu_") ? ON_CPUS : ON_CARDS;
	const char *name = r->metric + (where == ON_CPUS ? 4 : 0);

	if (r->outcome != OUTCOME_MEASURED || r->origin != ORIGIN_MEASURED)
		return;
	for (int w = 0; w < WHERES; w++)
		d->step[w].told = d->step[w].told || strcmp(r->metric, ready_metrics[w]) == 0;
	if (!str_starts(name, "fw_") || r->value != 1)
		return;
	if (strcmp(name, ALL_NODES) == 0 &&
	    (d->step[where].all_at < 0 || at < d->step[where].all_at))
		d->step[where].all_at = at;
	if (!is_job(name + 3))
		return;
	if (d->step[where].at < 0 || at < d->step[where].at) {
		d->step[where].at = at;
		d->step[where].metric = arena_str(&d->arena, r->metric);
	}
}

struct deploy *deploy_open(struct run_setup *s)
{
	struct deploy *d = calloc(1, sizeof(*d));
	int64_t at;

	if (!d)
		die_nomem();
	d->setup = s;
	for (int w = 0; w < WHERES; w++)
		d->step[w].at = d->step[w].all_at = -1;
	for (int64_t i = 0; s->resume && i < s->earlier.n_readings; i++) {
		const struct reading *r = &s->earlier.readings[i];

		if (time_parse_utc(r->time, &at))
			hear(d, r, at);
		if (strcmp(r->metric, "scale_resized") == 0 && r->outcome == OUTCOME_MEASURED)
			d->scale_told = true;
	}
	return d;
}

/* Most lines are not about it, and need no parsing. By the clock of this node, on which
 * the run began: that of the node which measured may differ by hours. */
void deploy_hear(struct deploy *d, const char *line, size_t len)
{
	struct arena arena = {0};
	struct reading r;

	if (!memmem(line, len, "fw_", 3) || !memmem(line, len, "_runs\"", 6))
		return;
	if (reading_parse(&r, &arena, line, len, NULL) == ST_OK)
		hear(d, &r, clock_wall(&clock_system));
	arena_release(&arena);
}

void deploy_close(struct deploy *d)
{
	if (!d)
		return;
	arena_release(&d->arena);
	free(d);
}

/* --- telling --------------------------------------------------------------------------- */

struct telling {
	struct deploy *d;
	enum status (*store)(void *arg, const char *line, size_t len, struct error *err);
	void *arg;
	char work[13];
	enum status st;
	struct error *err;
};

static void tell(struct telling *t, const char *metric, struct reading *r)
{
	const struct metric *m = probe_metric(probe_find(PROBE), metric);
	struct str line = {0}, time = {0};

	if (t->st != ST_OK)
		return;
	time_add_utc(&time, clock_wall(&clock_system));
	r->time = time.data;
	r->node = t->d->setup->request.node;
	r->phase = probe_find(PROBE)->phase;
	r->probe = PROBE;
	r->work = t->work;
	r->attempt = t->d->setup->resume ? t->d->setup->earlier.n_resumes + 2 : 1;
	r->subject.kind = SUBJECT_CLUSTER;
	r->subject.id = "cluster";
	r->metric = metric;
	r->unit = m->unit;
	r->better = m->better;
	reading_format(&line, r);
	t->st = t->store(t->arg, line.data, line.len, t->err);
	str_release(&line);
	str_release(&time);
}

static void tell_without(struct telling *t, const char *metric, enum origin origin, enum msg why,
                         const char *a, const char *b)
{
	struct probe_ctx ctx = {.arena = &t->d->arena};
	struct reading r = reading_init();

	r.outcome = OUTCOME_NOT_MEASURED;
	r.origin = origin;
	reason_set(&ctx, &r.reason, why, a, b);
	tell(t, metric, &r);
}

/* The step that counts: of several nodes only one of all together. */
static int64_t step_at(const struct deploy *d, enum where where)
{
	return d->setup->info.expected_nodes > 1 ? d->step[where].all_at : d->step[where].at;
}

/* The parts: until Assay was started, and from there to the step. */
static const char *ready_params(struct deploy *d, enum where where, const char *ordered, int64_t at)
{
	int64_t begun, steps;
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;

	json_object_begin(&j, NULL);
	json_put_string(&j, "ordered_at", ordered);
	json_put_string(&j, "said_by", "--ordered-at");
	json_put_string(&j, "step",
	                d->setup->info.expected_nodes > 1 ? ALL_NODES : d->step[where].metric);
	if (time_parse_utc(d->setup->info.created, &begun)) {
		json_put_number(&j, "order_to_run_min", (double)(begun - at) / 60e9);
		json_put_number(&j, "run_to_step_min", (double)(step_at(d, where) - begun) / 60e9);
	}
	if (sscanf(given(d->setup, "manual_steps"), "%" SCNd64, &steps) == 1 && steps >= 0)
		json_put_int(&j, "manual_steps", steps);
	json_object_end(&j);
	kept = arena_str(&d->arena, str_text(&text));
	str_release(&text);
	return kept;
}

/* Whether the run itself began later by the clock than its step: it was set back. */
static bool begins_after(const struct deploy *d, int64_t step)
{
	int64_t begun;

	return time_parse_utc(d->setup->info.created, &begun) && begun > step;
}

static void tell_ready(struct telling *t, enum where where)
{
	struct deploy *d = t->d;
	const char *ordered = given(d->setup, "ordered_at"), *metric = ready_metrics[where];
	int64_t nodes = d->setup->info.expected_nodes, at;
	struct reading r = reading_init();

	if (d->step[where].told ||
	    (where == ON_CPUS && (!*ordered || (d->step[where].at < 0 && step_at(d, where) < 0))))
		return;
	if (!*ordered || !time_parse_zoned(ordered, &at)) {
		tell_without(t, metric, ORIGIN_DECLARED, MSG_deploy_not_timed, NULL, NULL);
	} else if (d->step[where].at < 0 && step_at(d, where) < 0) {
		tell_without(t, metric, ORIGIN_MEASURED, MSG_deploy_no_step, ordered, NULL);
	} else if (step_at(d, where) < 0) {
		tell_without(t, metric, ORIGIN_MEASURED, MSG_deploy_one_node,
		             arena_strf(&d->arena, "%lld", (long long)nodes), NULL);
	} else if (step_at(d, where) < at || begins_after(d, step_at(d, where))) {
		tell_without(t, metric, ORIGIN_MEASURED, MSG_deploy_clock, ordered, NULL);
	} else {
		r.value_kind = VALUE_NUMBER;
		r.value = (double)(step_at(d, where) - at) / 60e9;
		r.stats[STAT_N] = 1;
		r.stats[STAT_MEDIAN] = r.stats[STAT_MIN] = r.stats[STAT_MAX] = r.value;
		r.params = ready_params(d, where, ordered, at);
		tell(t, metric, &r);
	}
}

static const char *log_params(struct deploy *d, const char *path, const struct scale_log *log)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;

	json_object_begin(&j, NULL);
	json_put_string(&j, "evidence", "log");
	json_put_string(&j, "file", path);
	json_put_string(&j, "sha256", log->sha256);
	json_put_int(&j, "added", log->out.asked);
	json_put_int(&j, "added_ready", log->out.done);
	json_put_int(&j, "removed", log->in.asked);
	json_put_int(&j, "removed_gone", log->in.done);
	json_object_end(&j);
	kept = arena_str(&d->arena, str_text(&text));
	str_release(&text);
	return kept;
}

static void tell_number(struct telling *t, const char *metric, double value, const char *params)
{
	struct reading r = reading_init();

	r.value_kind = VALUE_NUMBER;
	r.value = value;
	r.params = params;
	tell(t, metric, &r);
}

static void tell_way(struct telling *t, const char *metric, const struct scale_way *way,
                     const char *word, const char *params)
{
	struct reading r = reading_init();

	if (samples_to_stats(&way->minutes, NULL, r.stats) != ST_OK) {
		tell_without(t, metric, ORIGIN_MEASURED, MSG_scale_never, word, NULL);
		return;
	}
	r.value_kind = VALUE_NUMBER;
	r.value = r.stats[STAT_MEDIAN];
	r.params = params;
	tell(t, metric, &r);
}

static void tell_log(struct telling *t, const char *path, const struct scale_log *log)
{
	const char *params = log_params(t->d, path, log);
	bool whole = log->out.done == log->out.asked && log->in.done == log->in.asked;

	/* What was ordered and never came is a no, whatever else is missing. */
	if (!whole || (log->out.asked && log->in.asked))
		tell_number(t, "scale_resized", whole, params);
	else
		tell_without(t, "scale_resized", ORIGIN_MEASURED, MSG_scale_one_way,
		             log->out.asked ? "added" : "removed", NULL);
	tell_way(t, "scale_out_min", &log->out, "added", params);
	tell_way(t, "scale_in_min", &log->in, "removed", params);
	if (log->jobs_survived + log->jobs_not)
		tell_number(t, "scale_job_survived", log->jobs_not == 0, params);
	else
		tell_without(t, "scale_job_survived", ORIGIN_MEASURED, MSG_scale_job_unsaid, NULL,
		             NULL);
}

static void tell_scale(struct telling *t)
{
	static const char *const metrics[] = {"scale_resized", "scale_out_min", "scale_in_min",
	                                      "scale_job_survived"};
	const char *path = given(t->d->setup, "scale_log");
	struct scale_log log;

	if (t->d->scale_told)
		return;
	if (!*path) {
		for (int i = 0; i < 4; i++)
			tell_without(t, metrics[i], ORIGIN_DECLARED, MSG_scale_no_log, NULL, NULL);
		return;
	}
	t->st = scale_log_read(&log, &t->d->arena, path, clock_wall(&clock_system), t->err);
	if (t->st == ST_OK)
		tell_log(t, path, &log);
	scale_log_release(&log);
}

enum status deploy_tell(struct deploy *d,
                        enum status (*store)(void *arg, const char *line, size_t len,
                                             struct error *err),
                        void *arg, struct error *err)
{
	struct telling t = {.d = d, .store = store, .arg = arg, .err = err};

	if (!plan_selects(&d->setup->info, probe_find(PROBE)))
		return ST_OK;
	work_id(t.work, probe_find(PROBE)->phase, PROBE, "cluster", given(d->setup, "ordered_at"));
	tell_ready(&t, ON_CARDS);
	tell_ready(&t, ON_CPUS);
	tell_scale(&t);
	return t.st;
}
