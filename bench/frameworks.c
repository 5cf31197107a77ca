/* frameworks: whether the training frameworks of this image really train. For each
 * one found the smallest distributed job runs on this node: a worker a card over NCCL,
 * or two workers on the CPU over gloo where there is no card. The latter proves
 * function only and has figures of its own (cpu_…) that no rule of cards is met by. */
#include "frameworks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/msg.h"
#include "hw/host.h"
#include "inventory.h"

#define CPU_WORKERS 2
#define LEAST_S     10   /* no job is begun with less time than this */
#define MARGIN_S    5    /* between the last job's limit and our deadline */
#define FAST        0.85 /* of a step alone: what the guides ask of a linear speed-up */

struct work {
	struct probe_ctx *ctx;
	struct fw_pythons pythons;
	bool cuda;
	int workers; /* 0: one a card that the framework sees */
	bool ran;    /* some framework's job was right */
};

/* What is known of one framework in the end. */
struct result {
	enum framework framework;
	const struct fw_python *python; /* it was found there; NULL: nowhere */
	struct fw_line line;            /* of its job */
	struct raw_file raw;
};

/* --- readings -------------------------------------------------------------------------- */

static struct reading fact(struct probe_ctx *ctx, const char *metric)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = SUBJECT_ENVIRONMENT;
	r.subject.id = ctx->node;
	return r;
}

static void without(struct probe_ctx *ctx, struct reading *r, const struct fw_line *l)
{
	r->value_kind = VALUE_NONE;
	r->outcome = l->outcome;
	reason_set_list(ctx, &r->reason, l->reason, l->args);
}

static void measured(struct reading *r, double value)
{
	r->value_kind = VALUE_NUMBER;
	r->value = value;
}

/* fw_pytorch_runs, cpu_fw_pytorch_runs */
static const char *metric_name(struct probe_ctx *ctx, bool cpu, enum framework f, const char *what)
{
	return arena_strf(ctx->arena, "%sfw_%s_%s", cpu ? "cpu_" : "", framework_names[f], what);
}

static const char *job_params(const struct work *w, const struct result *r, const char *why)
{
	const struct fw_line *l = &r->line;
	struct json_text t = json_text_begin();

	json_put_string(&t.j, "python", r->python->path);
	json_put_string(&t.j, "python_version", r->python->version);
	json_put_string(&t.j, "version",
	                l->version ? l->version : r->python->found[r->framework].version);
	json_put_string(&t.j, "path", r->python->found[r->framework].path);
	json_put_string(&t.j, "device", w->cuda ? "cuda" : "cpu");
	json_put_string(&t.j, "backend", l->backend);
	json_put_int(&t.j, "workers", l->workers);
	json_put_number(&t.j, "loss_first", l->reached == FW_RUNS ? l->loss_first : NAN);
	json_put_number(&t.j, "loss_last", l->reached == FW_RUNS ? l->loss_last : NAN);
	json_put_number(&t.j, "alone_ms", l->reached == FW_RUNS ? l->alone_ms : NAN);
	if (!w->cuda)
		json_put_string(&t.j, "proves", "function only");
	if (why)
		json_put_string(&t.j, "why", why);
	return json_text_end(&t, w->ctx->arena);
}

/* "supported" is a word for what runs, on cards; never for less. */
static const char *level_word(const struct work *w, const struct fw_line *l)
{
	if (l->reached == FW_PRESENT)
		return "present";
	if (l->reached == FW_COMPATIBLE)
		return "compatible";
	if (!w->cuda)
		return "runs on CPU";
	return l->workers > 1 && l->alone_ms >= FAST * l->step_ms ? "fast" : "runs";
}

static enum status emit_level(const struct work *w, const struct result *r)
{
	struct probe_ctx *ctx = w->ctx;
	struct reading out = fact(ctx, metric_name(ctx, false, r->framework, "level"));
	const char *why = r->line.outcome == OUTCOME_MEASURED
	                          ? NULL
	                          : arena_str(ctx->arena, say_list(r->line.reason, r->line.args));

	if (!r->python) {
		without(ctx, &out, &r->line);
		return ctx->emit(ctx, &out);
	}
	out.value_kind = VALUE_TEXT;
	out.text = level_word(w, &r->line);
	out.params = job_params(w, r, why);
	return ctx->emit(ctx, &out);
}

/* The reading of cards, and on a node without any that of the CPU beside it. */
static enum status emit_both(const struct work *w, const struct result *r, const char *card_metric,
                             const char *cpu_metric, const struct fw_line *l, double value)
{
	struct probe_ctx *ctx = w->ctx;
	struct reading out = fact(ctx, card_metric);
	struct fw_line line = w->cuda ? *l : fw_line_of_cards(l, r->framework);
	const char *params = r->python ? job_params(w, r, NULL) : NULL;
	enum status st;

	out.params = params;
	out.raw = r->raw;
	if (line.outcome == OUTCOME_MEASURED)
		measured(&out, value);
	else
		without(ctx, &out, &line);
	st = ctx->emit(ctx, &out);
	if (st != ST_OK || w->cuda || !r->python)
		return st;
	out = fact(ctx, cpu_metric);
	out.params = params;
	out.raw = r->raw;
	if (l->outcome == OUTCOME_MEASURED)
		measured(&out, value);
	else
		without(ctx, &out, l);
	return ctx->emit(ctx, &out);
}

static enum status emit_job(const struct work *w, const struct result *r)
{
	struct probe_ctx *ctx = w->ctx;
	enum framework f = r->framework;
	enum status st = emit_level(w, r);

	if (st == ST_OK)
		st = emit_both(w, r, metric_name(ctx, false, f, "runs"),
		               metric_name(ctx, true, f, "runs"), &r->line, 1);
	if (st == ST_OK && f != FRAMEWORK_MXNET)
		st = emit_both(w, r, metric_name(ctx, false, f, "step_ms"),
		               metric_name(ctx, true, f, "step_ms"), &r->line, r->line.step_ms);
	return st;
}

static enum status emit_parallel(const struct work *w, const struct result *r)
{
	struct fw_line l = r->line;
	int right = fw_parts_right(w->ctx, r->line.modes, &l);

	if (l.outcome == OUTCOME_MEASURED && l.workers < 2)
		l = fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_one_worker, NULL, NULL);
	return emit_both(w, r, "fw_parallel_modes", "cpu_fw_parallel_modes", &l, right);
}

/* 1 with BF16 or FP16; FP8 is named beside them, where there is any. */
static enum status emit_precision(const struct work *w, const struct result *r)
{
	struct fw_line l = r->line, any;
	enum status st = ST_OK;

	fw_parts_right(w->ctx, r->line.precisions, &l);
	any = l;
	if (l.outcome == OUTCOME_MEASURED && strcmp(r->line.precisions[0].said, "ok") != 0 &&
	    strcmp(r->line.precisions[1].said, "ok") != 0)
		any = fw_line_none(OUTCOME_FAILED, MSG_fw_no_precision, "PyTorch", NULL);
	st = emit_both(w, r, "fw_mixed_precision_runs", "cpu_fw_mixed_precision_runs", &any, 1);
	if (st != ST_OK || !w->cuda)
		return st;
	if (l.outcome == OUTCOME_MEASURED && strcmp(r->line.precisions[2].said, "ok") != 0)
		l = fw_line_none(OUTCOME_UNSUPPORTED, MSG_fw_no_fp8, NULL, NULL);
	return emit_both(w, r, "fw_fp8_runs", NULL, &l, 1);
}

/* --- jobs --------------------------------------------------------------------------------- */

/* Seconds a job may take now; 0: too few are left. */
static double time_left(const struct work *w)
{
	struct probe_ctx *ctx = w->ctx;
	double left = (double)(ctx->deadline_ns - clock_now(ctx->clock)) / NS_PER_S;
	double most = ctx->param_real(ctx, "job_s");

	/* The launcher gets ten seconds more than its job. */
	left -= MARGIN_S + LEAST_S;
	return left < fmin(LEAST_S, most) ? 0 : fmin(left, most);
}

static struct fw_job job_of(const struct work *w, enum framework f, const struct fw_python *py)
{
	return (struct fw_job){.framework = f,
	                       .python = py,
	                       .named = w->pythons.named,
	                       .cuda = w->cuda,
	                       .workers = w->workers,
	                       .steps = (int)w->ctx->param_int(w->ctx, "steps"),
	                       .seconds = time_left(w)};
}

static void try_job(struct work *w, struct result *r, const struct fw_python *py)
{
	struct fw_job job = job_of(w, r->framework, py);
	struct fw_line line;
	const char *text;

	if (job.seconds == 0) {
		line = fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_no_time,
		                    framework_titles[r->framework], NULL);
	} else {
		fw_job_run(w->ctx, &job, &line, &text);
		w->ctx->save_raw(w->ctx,
		                 arena_strf(w->ctx->arena, "frameworks-%s.txt",
		                            framework_names[r->framework]),
		                 text, strlen(text), &r->raw);
	}
	/* Of several interpreters the one it gets furthest in; a failure stays. */
	if (!r->python || line.reached > r->line.reached || line.outcome == OUTCOME_FAILED) {
		r->line = line;
		r->python = py;
	}
}

static void find_and_run(struct work *w, struct result *r)
{
	for (int i = 0; i < w->pythons.n; i++) {
		const struct fw_python *py = &w->pythons.list[i];

		if (!py->found[r->framework].version)
			continue;
		if (r->framework == FRAMEWORK_MXNET) {
			r->python = py;
			r->line = fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_retired, NULL, NULL);
			break;
		}
		try_job(w, r, py);
		/* What ran wrong is not tried until it runs right. */
		if (r->line.reached == FW_RUNS ||
		    (r->line.outcome == OUTCOME_FAILED && r->line.reached == FW_COMPATIBLE))
			break;
	}
	if (!r->python)
		r->line = fw_pythons_lack(&w->pythons);
	w->ran = w->ran || r->line.reached == FW_RUNS;
}

/* --- restart ---------------------------------------------------------------------------- */

static enum status run_elastic(struct work *w, const struct result *torch)
{
	struct result r = {.framework = FRAMEWORK_PYTORCH, .python = torch->python};
	bool wanted = w->ctx->param_int(w->ctx, "elastic") != 0;

	if (!torch->python || torch->line.outcome != OUTCOME_MEASURED) {
		r.line = torch->line;
	} else if (!wanted) {
		r.line = fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_left_out, "elastic", NULL);
	} else {
		struct fw_job job = job_of(w, FRAMEWORK_PYTORCH, torch->python);

		job.elastic = true;
		if (job.seconds == 0)
			r.line =
				fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_no_time, "PyTorch", NULL);
		else
			fw_job_run(w->ctx, &job, &r.line, NULL);
		r.line.backend = torch->line.backend;
	}
	return emit_both(w, &r, "fw_elastic_resume_s", "cpu_fw_elastic_resume_s", &r.line,
	                 r.line.resume_s);
}

/* --- engine on and off --------------------------------------------------------------------- */

struct pairs_of {
	struct work *w;
	const struct fw_engine *engine;
	const struct fw_python *python;
};

static void run_pair(void *arg, bool off, struct fw_line *line)
{
	const struct pairs_of *of = arg;
	struct fw_job job = job_of(of->w, FRAMEWORK_PYTORCH, of->python);

	job.brief = job.sums = true;
	job.env = off ? of->engine->off : NULL;
	if (job.seconds > 0)
		fw_job_run(of->w->ctx, &job, line, NULL);
	else
		*line = fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_no_time, "PyTorch", NULL);
}

static const char *variable(const char *name)
{
	return getenv(name);
}

static enum status run_engine(struct work *w, const struct result *torch)
{
	struct probe_ctx *ctx = w->ctx;
	int pairs = (int)ctx->param_int(ctx, "pairs");
	struct fw_engine engine;
	bool there = fw_engine_find(&engine, ctx->arena, ctx->sys_root, variable);
	struct fw_line line = fw_engine_fit(&engine, there, w->cuda, pairs);
	struct pairs_of of = {w, &engine, torch->python};
	struct fw_pairs *p = arena_alloc(ctx->arena, sizeof(*p));
	struct json_text t = json_text_begin();

	if (line.outcome == OUTCOME_MEASURED && torch->line.outcome != OUTCOME_MEASURED)
		line = torch->line;
	else if (line.outcome == OUTCOME_MEASURED)
		fw_pairs_take(p, pairs, run_pair, &of, &line);
	json_put_string(&t.j, "engine", engine.name);
	json_put_string(&t.j, "found", engine.found);
	json_put_string(&t.j, "off", engine.off);
	json_put_int(&t.j, "pairs", p->n);
	return fw_gain_say(ctx,
	                   &(struct fw_gain_of){{"fw_engine_ratio", "fw_engine_allreduce_ratio"},
	                                        fact(ctx, "fw_engine_ratio").subject,
	                                        json_text_end(&t, ctx->arena)},
	                   p, &line);
}

/* --- the rest ------------------------------------------------------------------------------- */

static enum status emit_steps(const struct work *w)
{
	struct probe_ctx *ctx = w->ctx;
	struct reading r = fact(ctx, "fw_manual_steps");
	int64_t steps = ctx->param_int(ctx, "manual_steps");
	struct fw_line none =
		fw_line_none(OUTCOME_NOT_MEASURED,
	                     steps < 0 ? MSG_fw_steps_unsaid : MSG_fw_nothing_ran, NULL, NULL);

	if (steps < 0 || !w->ran)
		without(ctx, &r, &none);
	else
		measured(&r, (double)steps);
	return ctx->emit(ctx, &r);
}

static enum status emit_pythons(const struct work *w)
{
	struct probe_ctx *ctx = w->ctx;
	struct reading r = fact(ctx, "fw_interpreters");
	struct json_text t = json_text_begin();
	int answering = 0;

	json_array_begin(&t.j, "interpreters");
	for (int i = 0; i < w->pythons.n; i++) {
		const struct fw_python *py = &w->pythons.list[i];

		answering += py->version != NULL;
		json_object_begin(&t.j, NULL);
		json_put_string(&t.j, "path", py->path);
		json_put_string(&t.j, "version", py->version);
		if (py->reason)
			json_put_string(&t.j, "why", say_list(py->reason, py->args));
		for (int f = 0; f < FRAMEWORKS; f++)
			if (py->found[f].version)
				json_put_string(&t.j, framework_names[f], py->found[f].version);
		json_object_end(&t.j);
	}
	json_array_end(&t.j);
	r.params = json_text_end(&t, ctx->arena);
	measured(&r, answering);
	return ctx->emit(ctx, &r);
}

static enum status run(struct probe_ctx *ctx)
{
	struct work w = {.ctx = ctx, .cuda = fw_has_cards(ctx)};
	struct result results[FRAMEWORKS] = {0};
	enum status st;

	w.workers = (int)ctx->param_int(ctx, "workers");
	if (!w.workers && !w.cuda)
		w.workers = CPU_WORKERS;
	ctx->progress(ctx, STAGE_PREPARING, 0, MSG_doing_frameworks_find);
	fw_pythons_find(&w.pythons, ctx, ctx->param_word(ctx, "python"),
	                ctx->param_real(ctx, "python_s"));
	st = emit_pythons(&w);
	for (int f = 0; f < FRAMEWORKS && st == ST_OK; f++) {
		ctx->progress(ctx, STAGE_MEASURING, (double)f / (FRAMEWORKS + 2),
		              MSG_doing_frameworks);
		results[f].framework = f;
		find_and_run(&w, &results[f]);
		st = emit_job(&w, &results[f]);
	}
	if (st == ST_OK)
		st = emit_parallel(&w, &results[FRAMEWORK_PYTORCH]);
	if (st == ST_OK)
		st = emit_precision(&w, &results[FRAMEWORK_PYTORCH]);
	if (st == ST_OK)
		st = run_elastic(&w, &results[FRAMEWORK_PYTORCH]);
	if (st == ST_OK)
		st = run_engine(&w, &results[FRAMEWORK_PYTORCH]);
	return st == ST_OK ? emit_steps(&w) : st;
}

/* On CPUs jobs are small; on cards large libraries are loaded from slow disks. */
static double duration(struct probe_ctx *ctx)
{
	static const double cpu[BUDGETS] = {10, 20, 60};

	return fw_has_cards(ctx) ? ctx->probe->seconds[ctx->budget] : cpu[ctx->budget];
}

static const struct param params[] = {
	{"python", PARAM_WORD, "", {"auto", "auto", "auto"}, 0, 0, NULL, MSG_help_fw_python},
	{"python_s", PARAM_REAL, "s", {"10", "20", "60"}, 0.1, 600, NULL, MSG_help_fw_python_s},
	{"job_s", PARAM_REAL, "s", {"60", "120", "300"}, 1, 3600, NULL, MSG_help_fw_job_s},
	{"device",
         PARAM_WORD,
         "",
         {"auto", "auto", "auto"},
         0,
         0,
         "auto|cpu|cuda",
         MSG_help_fw_device},
	{"workers", PARAM_INT, "1", {"0", "0", "0"}, 0, 1024, NULL, MSG_help_fw_workers},
	{"steps", PARAM_INT, "1", {"6", "10", "30"}, 4, 10000, NULL, MSG_help_fw_steps},
	{"elastic", PARAM_INT, "1", {"0", "1", "1"}, 0, 1, NULL, MSG_help_fw_elastic},
	{"pairs", PARAM_INT, "1", {"0", "5", "10"}, 0, FW_PAIRS_MOST, NULL, MSG_help_fw_pairs},
	{"ordered_at", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_fw_ordered_at},
	{"manual_steps",
         PARAM_INT,
         "1",
         {"-1", "-1", "-1"},
         -1,
         100000,
         NULL,
         MSG_help_fw_manual_steps},
	{"scale_log", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_fw_scale_log},
	{0},
};

const struct probe probe_frameworks = {
	.name = "frameworks",
	.title = MSG_probe_frameworks,
	.subject = SUBJECT_ENVIRONMENT,
	.phase = "training",
	.exclusive = true,
	.seconds = {30, 90, 300},
	.duration = duration,
	/* An engine that is switched on has its pairs to run. */
	.extension_s = {0, 900, 2400},
	.params = params,
	.metrics = fw_metrics,
	.supported = fw_supported,
	.run = run,
};
