/* One job of a framework: the launcher and the job's source as text to the
 * interpreter, its whole family under one deadline. */
#include "frameworks.h"

#include <math.h>
#include <string.h>

#include "base/config.h"
#include "base/json.h"
#include "base/msg.h"
#include "base/proc.h"

#define OUTPUT_LIMIT ((size_t)4 << 20)

const int64_t fw_sums_bytes[FW_SUMS] = {64 << 10, 4 << 20, 256 << 20};

#define SLACK_S 10 /* at most, for the launcher to say that its job was late */

static const char *const sources[FRAMEWORKS] = {
	"torch_job.py",    "tensorflow_job.py", "deepspeed_job.py",
	"megatron_job.py", "horovod_job.py",    NULL,
};

static const char *script(struct arena *arena, const char *name)
{
	struct str text = {0}, where = {0};
	const char *kept;

	config_read(&text, &where, NULL, tmpf("scripts/frameworks/%s", name), NULL);
	kept = arena_strn(arena, str_text(&text), text.len);
	str_release(&text);
	str_release(&where);
	return kept;
}

/* What only a job over several nodes needs. */
static void put_place(struct json_out *j, const struct fw_job *job)
{
	if (!job->size)
		return;
	json_put_int(j, "size", job->size);
	json_put_int(j, "first", job->first);
	json_put_string(j, "address", job->address);
	json_put_int(j, "port", job->port);
	json_put_string(j, "interface", job->interface);
}

static void put_sums(struct json_out *j)
{
	json_array_begin(j, "sums");
	for (int i = 0; i < FW_SUMS; i++)
		json_put_int(j, NULL, fw_sums_bytes[i]);
	json_array_end(j);
}

static const char *request(struct probe_ctx *ctx, const struct fw_job *job)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;

	json_object_begin(&j, NULL);
	json_put_string(
		&j, "source",
		script(ctx->arena, job->elastic ? "torch_elastic.py" : sources[job->framework]));
	json_put_int(&j, "workers", job->workers);
	json_put_string(&j, "device", job->cuda ? "cuda" : "cpu");
	json_put_number(&j, "seconds", job->seconds);
	json_put_int(&j, "steps", job->steps);
	json_put_int(&j, "seed", (int64_t)(ctx->seed % 1000000));
	json_put_bool(&j, "brief", job->brief);
	json_put_bool(&j, "count_only", job->counts);
	if (job->sums)
		put_sums(&j);
	put_place(&j, job);
	json_put_bool(&j, "tf_config", job->framework == FRAMEWORK_TENSORFLOW);
	if (job->elastic)
		json_put_string(&j, "own", "torchrun");
	else if (job->framework == FRAMEWORK_HOROVOD)
		json_put_string(&j, "own", "horovodrun");
	if (job->env)
		json_put_raw(&j, "env", job->env);
	json_object_end(&j);
	kept = arena_str(ctx->arena, str_text(&text));
	str_release(&text);
	return kept;
}

void fw_job_run(struct probe_ctx *ctx, const struct fw_job *job, struct fw_line *line,
                const char **raw)
{
	const char *const argv[] = {job->python->path, "-B", "-c", script(ctx->arena, "launch.py"),
	                            request(ctx, job), NULL};
	struct spawn_spec spec = {.argv = argv,
	                          .deadline_s = job->seconds + fmin(SLACK_S, job->seconds),
	                          .max_out = OUTPUT_LIMIT,
	                          .tick = job->goes_on,
	                          .arg = job->arg};
	struct fw_asked asked = {.title = framework_titles[job->framework],
	                         .version = job->python->found[job->framework].version,
	                         .python = job->python->path,
	                         .python_version = job->python->version,
	                         .named = job->named,
	                         .elastic = job->elastic,
	                         .counts = job->counts,
	                         .follows = job->first > 0,
	                         .sums = job->sums,
	                         .seconds = job->seconds};
	struct proc_end end = {.exit_code = -1};
	struct str out = {0};
	struct error err = {0};
	enum status st = spawn_run(&spec, &out, &end, &err);

	asked.exit_code = end.exit_code;
	asked.signal = st != ST_OK || end.timed_out ? 0 : end.signal;
	asked.timed_out = end.timed_out || end.unkillable;
	asked.stopped = end.stopped;
	asked.err = str_text(st == ST_OK ? &end.err : &err.text);
	/* Too much output is no line, wherever it was cut. */
	fw_line_read(line, ctx->arena, str_text(&out), st == ST_OK ? out.len : 0, &asked);
	if (raw)
		*raw = arena_strn(ctx->arena, str_text(&out), out.len);
	str_release(&out);
	str_release(&end.err);
	error_release(&err);
}
