/* fio as a child: command line, deadline, engine trials. */
#include "storage_fio.h"

#include <string.h>
#include <sys/wait.h>

#include "base/proc.h"

#define OUTPUT_LIMIT ((size_t)16 << 20)
#define MAJOR_NEEDED 3

/* Why `fio --version` gave no version. */
static void say_unusable(struct probe_ctx *ctx, struct reason *reason, enum status st, const struct proc_end *end,
                         const char *text, const struct error *err)
{
	if (st == ST_NOTFOUND)
		reason_set(ctx, reason, MSG_fio_missing);
	else if (st != ST_OK)
		reason_set(ctx, reason, MSG_fio_unusable, str_text(&err->text));
	else if (end->timed_out)
		reason_set(ctx, reason, MSG_fio_timed_out, tmpf("%.0f", end->seconds));
	else if (end->signal)
		reason_set(ctx, reason, MSG_fio_killed, tmpf("%d", end->signal));
	else if (end->exit_code != 0)
		reason_set(ctx, reason, MSG_fio_no_json, tmpf("%d", end->exit_code), str_text(&end->err));
	else
		reason_set(ctx, reason, MSG_fio_no_version, text);
}

bool fio_available(struct probe_ctx *ctx, const char **version, struct reason *reason)
{
	static const char *const argv[] = {"fio", "--version", NULL};
	struct spawn_spec spec = {.argv = argv, .deadline_s = 20, .max_out = 4096};
	struct proc_end end = {.exit_code = -1};
	struct str out = {0};
	struct error err = {0};
	int major = 0, minor = 0;
	enum status st = spawn_run(&spec, &out, &end, &err);
	const char *text = arena_strn(ctx->arena, str_text(&out), strcspn(str_text(&out), "\n"));
	bool known = st == ST_OK && end.exit_code == 0 && fio_version_parse(text, &major, &minor);

	if (!known)
		say_unusable(ctx, reason, st, &end, text, &err);
	else if (major < MAJOR_NEEDED)
		reason_set(ctx, reason, MSG_fio_old, text);
	*version = text;
	str_release(&out);
	str_release(&end.err);
	error_release(&err);
	return known && major >= MAJOR_NEEDED;
}

/* Options of the output go before the first job, or a banner leaks into it. The
 * file is named from its own directory: fio cuts names at colons, # and ;. */
static void command_line(struct probe_ctx *ctx, const struct fio_job *job, const char *argv[], int max)
{
	struct arena *a = ctx->arena;
	int per_job = job->depth / job->jobs > 0 ? job->depth / job->jobs : 1;
	const char *list[] = {
		"fio", "--output-format=json+", "--thread", "--eta=never", "--name=read",
		arena_strf(a, "--filename=%s", strrchr(job->file, '/') + 1), arena_strf(a, "--size=%lld", (long long)job->bytes),
		"--rw=randread", "--bs=4k", "--readonly", "--allow_file_create=0",
		arena_strf(a, "--ioengine=%s", job->engine), arena_strf(a, "--direct=%d", job->direct),
		arena_strf(a, "--iodepth=%d", per_job), arena_strf(a, "--numjobs=%d", job->jobs),
		"--time_based", arena_strf(a, "--runtime=%dms", (int)(job->runtime_s * 1000)),
		arena_strf(a, "--ramp_time=%dms", (int)(job->ramp_s * 1000)),
		"--randrepeat=0", arena_strf(a, "--randseed=%llu", (unsigned long long)(job->seed >> 1)),
		"--norandommap", "--group_reporting", "--lat_percentiles=1", "--clat_percentiles=1",
		"--percentile_list=50:90:95:99:99.5:99.9:99.99:100", NULL};
	int n = 0;

	for (; list[n] && n < max - 1; n++)
		argv[n] = list[n];
	argv[n] = NULL;
}

void fio_run(struct probe_ctx *ctx, const struct fio_job *job, struct fio_result *result, const char **raw)
{
	const char *argv[40];
	struct spawn_spec spec = {.argv = argv, .max_out = OUTPUT_LIMIT, .tick = job->tick, .arg = job->arg};
	struct fio_asked asked = {.runtime_s = job->runtime_s};
	struct proc_end end = {.exit_code = -1};
	struct str out = {0};
	struct error err = {0};
	enum status st;

	command_line(ctx, job, argv, 40);
	spec.cwd = arena_strn(ctx->arena, job->file, (size_t)(strrchr(job->file, '/') - job->file));
	spec.deadline_s = job->ramp_s + job->runtime_s + 30;
	st = spawn_run(&spec, &out, &end, &err);
	asked.exit_code = end.exit_code;
	asked.signal = end.signal;
	asked.err = str_text(&end.err);
	fio_read(result, ctx->arena, str_text(&out), out.len, &asked);
	if (st != ST_OK || end.timed_out || end.stopped || end.unkillable) {
		result->outcome = st == ST_OK ? OUTCOME_TIMED_OUT : OUTCOME_NOT_MEASURED;
		result->reason = st != ST_OK       ? MSG_fio_unusable
		                 : end.unkillable  ? MSG_fio_stuck
		                                   : MSG_fio_timed_out;
		result->args[0] = st == ST_OK ? arena_strf(ctx->arena, "%.0f", end.seconds)
		                              : arena_str(ctx->arena, str_text(&err.text));
	}
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

const char *fio_choose_engine(struct probe_ctx *ctx, struct fio_job *job, const char *wanted,
                              const char **refused, struct fio_result *last)
{
	static const char *const engines[] = {"io_uring", "libaio", "psync"};
	struct str why = {0};
	const char *chosen = NULL;

	/* Direct I/O with every engine before any without: a cache measures itself. */
	for (int direct = 1; direct >= 0 && !chosen; direct--) {
		for (int i = 0; i < 3 && !chosen; i++) {
			if (strcmp(wanted, "auto") != 0 && strcmp(wanted, engines[i]) != 0)
				continue;
			job->engine = engines[i];
			job->direct = direct;
			fio_run(ctx, job, last, NULL);
			if (last->outcome == OUTCOME_MEASURED)
				chosen = engines[i];
			else if (last->outcome == OUTCOME_TIMED_OUT || last->reason == MSG_fio_no_space ||
			         last->reason == MSG_fio_interrupted)
				goto out;
			else
				str_addf(&why, "%s%s%s (%s)", why.len ? "; " : "", engines[i],
				         direct ? "" : " buffered", say_list(last->reason, last->args));
		}
	}
out:
	*refused = arena_str(ctx->arena, str_text(&why));
	str_release(&why);
	return chosen;
}
