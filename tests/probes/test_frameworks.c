/* frameworks: with interpreters that are shell scripts, so that each way a Python, a
 * framework or a job can go wrong is played, and for real where this machine's
 * python3 has PyTorch. */
#include "probe_harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"
#include "base/proc.h"
#include "bench/frameworks.h"
#include "tests/cleanup.h"

extern const struct probe probe_frameworks;

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static char dir[] = "/var/tmp/assay-frameworks.XXXXXX";

/* --- lines --------------------------------------------------------------------------- */

#define GOOD                                                                                       \
	"\"version\":\"2.6\",\"backend\":\"gloo\",\"workers\":2,\"params_equal\":true,"            \
	"\"loss_first\":2,\"loss_last\":1.5,\"step_ms\":4,\"alone_ms\":3"
#define MODES     ",\"modes\":{\"data\":\"ok\",\"tensor\":\"ok\",\"pipeline\":\"ok\"}"
#define PRECISION ",\"precision\":{\"bf16\":\"ok\",\"fp16\":\"absent\",\"fp8\":\"absent\"}"

static const struct fw_asked asked = {.title = "PyTorch",
                                      .version = "2.6",
                                      .python = "/opt/python3",
                                      .python_version = "3.11.2",
                                      .named = true,
                                      .seconds = 60};

static struct fw_line read_as(struct arena *arena, const struct fw_asked *a, const char *text)
{
	struct fw_line line;

	fw_line_read(&line, arena, text, strlen(text), a);
	/* Whatever it is, it can be said. */
	if (line.outcome != OUTCOME_MEASURED)
		assert_null(strchr(say_list(line.reason, line.args), '?'));
	return line;
}

static void lines_end_as_outcomes(void **state)
{
	static const struct {
		const char *text;
		enum outcome outcome;
		enum msg reason;
		enum fw_reached reached;
	} rows[] = {
		{"{" GOOD "}", OUTCOME_MEASURED, 0, FW_RUNS},
		{"talk\n{\"a\":1}\n{" GOOD "}\n\n", OUTCOME_MEASURED, 0, FW_RUNS},
		{"", OUTCOME_NOT_MEASURED, MSG_fw_silent, FW_PRESENT},
		{"hello\n", OUTCOME_NOT_MEASURED, MSG_fw_silent, FW_PRESENT},
		{"{" GOOD "}\nbye\n", OUTCOME_NOT_MEASURED, MSG_fw_silent, FW_PRESENT},
		{"{" GOOD, OUTCOME_NOT_MEASURED, MSG_fw_silent, FW_PRESENT},
		{"{\"loss_first\":NaN}", OUTCOME_FAILED, MSG_fw_not_finite, FW_COMPATIBLE},
		{"{\"loss_first\":-Infinity}", OUTCOME_FAILED, MSG_fw_not_finite, FW_COMPATIBLE},
		{"{\"word\":\"NaN\"", OUTCOME_NOT_MEASURED, MSG_fw_silent, FW_PRESENT},
		{"{\"loss_first\":1e999}", OUTCOME_NOT_MEASURED, MSG_fw_silent, FW_PRESENT},
		{"{}", OUTCOME_NOT_MEASURED, MSG_fw_bad_line, FW_COMPATIBLE},
		{"{\"loss_first\":null,\"loss_last\":1}", OUTCOME_NOT_MEASURED, MSG_fw_bad_line,
	         FW_COMPATIBLE},
		{"{\"loss_first\":1,\"loss_last\":1}", OUTCOME_FAILED, MSG_fw_loss_rises,
	         FW_COMPATIBLE},
		{"{\"loss_first\":2,\"loss_last\":1,\"params_equal\":false}", OUTCOME_FAILED,
	         MSG_fw_params_differ, FW_COMPATIBLE},
		{"{\"loss_first\":2,\"loss_last\":1,\"params_equal\":1}", OUTCOME_NOT_MEASURED,
	         MSG_fw_bad_line, FW_COMPATIBLE},
		{"{\"loss_first\":2,\"loss_last\":1,\"params_equal\":true,\"step_ms\":0}",
	         OUTCOME_NOT_MEASURED, MSG_fw_bad_line, FW_COMPATIBLE},
		{"{\"loss_first\":2,\"loss_last\":1,\"params_equal\":true,\"step_ms\":1}",
	         OUTCOME_NOT_MEASURED, MSG_fw_bad_line, FW_COMPATIBLE},
		{"{\"error\":\"import\",\"detail\":\"no libcudart\"}", OUTCOME_FAILED,
	         MSG_fw_import, FW_PRESENT},
		{"{\"error\":\"cards\",\"detail\":\"sees none\"}", OUTCOME_FAILED,
	         MSG_fw_cards_unseen, FW_PRESENT},
		{"{\"error\":\"job\",\"detail\":\"sum is 4\"}", OUTCOME_FAILED, MSG_fw_job,
	         FW_COMPATIBLE},
		{"{\"error\":\"worker\",\"detail\":\"exit 1\"}", OUTCOME_FAILED, MSG_fw_worker,
	         FW_COMPATIBLE},
		{"{\"error\":\"time\"}", OUTCOME_TIMED_OUT, MSG_fw_time, FW_PRESENT},
		{"{\"error\":\"launcher\",\"detail\":\"no\"}", OUTCOME_NOT_MEASURED,
	         MSG_fw_launcher, FW_COMPATIBLE},
		{"{\"error\":\"who knows\"}", OUTCOME_FAILED, MSG_fw_worker, FW_COMPATIBLE},
	};
	struct arena arena = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct fw_line line = read_as(&arena, &asked, rows[i].text);

		if (line.outcome != rows[i].outcome || line.reached != rows[i].reached ||
		    (line.outcome != OUTCOME_MEASURED && line.reason != rows[i].reason))
			fail_msg("%s: %s, %s", rows[i].text, outcome_name(line.outcome),
			         msg_name(line.reason));
	}
	arena_release(&arena);
}

/* A Python that nobody named may be the wrong one: that it lacks cards or libraries
 * is nobody's failure. That its sums are wrong is. */
static void only_a_named_python_is_to_blame(void **state)
{
	struct fw_asked found = asked;
	struct arena arena = {0};

	(void)state;
	found.named = false;
	assert_int_equal(read_as(&arena, &found, "{\"error\":\"import\"}").outcome,
	                 OUTCOME_NOT_MEASURED);
	assert_int_equal(read_as(&arena, &found, "{\"error\":\"cards\"}").outcome,
	                 OUTCOME_NOT_MEASURED);
	assert_int_equal(read_as(&arena, &found, "{\"error\":\"worker\"}").outcome,
	                 OUTCOME_NOT_MEASURED);
	assert_int_equal(read_as(&arena, &found, "{\"error\":\"job\"}").outcome, OUTCOME_FAILED);
	found.signal = 9;
	assert_int_equal(read_as(&arena, &found, "{" GOOD "}").reason, MSG_fw_killed);
	found.timed_out = true;
	assert_int_equal(read_as(&arena, &found, "{" GOOD "}").outcome, OUTCOME_TIMED_OUT);
	arena_release(&arena);
}

static void elastic_goes_on_from_where_it_was(void **state)
{
	struct fw_asked elastic = asked;
	struct arena arena = {0};
	struct fw_line line;

	(void)state;
	elastic.elastic = true;
	line = read_as(&arena, &elastic,
	               "{\"loss_first\":2,\"loss_last\":1,\"resume_s\":3.5,\"resumed_at\":6}");
	assert_int_equal(line.outcome, OUTCOME_MEASURED);
	assert_true(line.resume_s == 3.5);
	line = read_as(&arena, &elastic,
	               "{\"loss_first\":2,\"loss_last\":1,\"resume_s\":3.5,\"resumed_at\":0}");
	assert_int_equal(line.reason, MSG_fw_not_resumed);
	line = read_as(&arena, &elastic,
	               "{\"loss_first\":2,\"loss_last\":1,\"resume_s\":null,\"resumed_at\":6}");
	assert_int_equal(line.reason, MSG_fw_not_resumed);
	arena_release(&arena);
}

/* --- engines --------------------------------------------------------------------------- */

static const char *set_name, *set_value;

static const char *played(const char *name)
{
	return set_name && strcmp(name, set_name) == 0 ? set_value : NULL;
}

static void engines_are_found_and_switched_off(void **state)
{
	static const struct {
		const char *variable, *value, *name, *off;
	} rows[] = {
		{"NCCL_NET_PLUGIN", "libnccl-net-tccl.so", "TCCL",
	         "{\"NCCL_NET_PLUGIN\":\"none\",\"NCCL_TUNER_PLUGIN\":\"none\"}"},
		{"LD_LIBRARY_PATH", "/opt/x:/usr/local/bccl/lib:/opt/y", "BCCL",
	         "{\"LD_LIBRARY_PATH\":\"/opt/x:/opt/y\",\"NCCL_NET_PLUGIN\":\"none\","
	         "\"NCCL_TUNER_PLUGIN\":\"none\"}"},
		{"LD_PRELOAD", "/opt/veccl/libnccl.so", "veCCL",
	         "{\"LD_PRELOAD\":null,\"NCCL_NET_PLUGIN\":\"none\","
	         "\"NCCL_TUNER_PLUGIN\":\"none\"}"},
		{"NCCL_NET_PLUGIN", "own", "NCCL net plugin",
	         "{\"NCCL_NET_PLUGIN\":\"none\",\"NCCL_TUNER_PLUGIN\":\"none\"}"},
	};
	struct arena arena = {0};
	struct fw_engine engine;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		set_name = rows[i].variable;
		set_value = rows[i].value;
		assert_true(fw_engine_find(&engine, &arena, dir, played));
		assert_true(engine.on);
		assert_string_equal(engine.name, rows[i].name);
		assert_string_equal(engine.off, rows[i].off);
	}
	set_value = "none";
	assert_false(fw_engine_find(&engine, &arena, dir, played));
	set_name = NULL;
	assert_false(fw_engine_find(&engine, &arena, dir, played));
	assert_int_equal(dir_make(tmpf("%s/usr/local/bccl", dir), NULL), ST_OK);
	assert_true(fw_engine_find(&engine, &arena, dir, played));
	assert_false(engine.on);
	assert_string_equal(engine.found, "/usr/local/bccl");
	/* A plug-in by its plain name needs no variable, and one keeps it away. */
	assert_int_equal(dir_make(tmpf("%s/usr/lib64", dir), NULL), ST_OK);
	assert_int_equal(file_write(tmpf("%s/usr/lib64/libnccl-net.so", dir), "", 0, NULL), ST_OK);
	assert_true(fw_engine_find(&engine, &arena, dir, played));
	assert_true(engine.on);
	assert_string_equal(engine.name, "NCCL net plugin");
	assert_string_equal(engine.found, "/usr/lib64/libnccl-net.so");
	assert_string_equal(engine.off, rows[0].off);
	set_name = "NCCL_NET_PLUGIN";
	set_value = "none";
	assert_true(fw_engine_find(&engine, &arena, dir, played));
	assert_false(engine.on);
	set_name = NULL;
	assert_int_equal(unlink(tmpf("%s/usr/lib64/libnccl-net.so", dir)), 0);
	arena_release(&arena);
}

/* Worked by hand: ratios 1.2, 1.1, 1.32; logs 0.18232, 0.09531, 0.27763; mean 0.18509,
 * sd 0.09119, t(2) 4.30265: 0.18509 +- 0.22654. */
static void gain_of_pairs(void **state)
{
	static const double without[] = {12, 11, 13.2}, with[] = {10, 10, 10};
	struct estimate gain;

	(void)state;
	assert_int_equal(fw_engine_gain(without, with, 3, &gain), ST_OK);
	assert_true(fabs(gain.value - exp(0.185088)) < 1e-4);
	assert_true(fabs(gain.lo - exp(0.185088 - 0.226535)) < 1e-3);
	assert_true(fabs(gain.hi - exp(0.185088 + 0.226535)) < 1e-3);
	assert_int_equal(fw_engine_gain(without, with, 2, &gain), ST_RANGE);
}

/* --- played interpreters ------------------------------------------------------------------ */

/* Times of sums are asked for in pairs, and a line without them has no gain to give. */
static void sums_are_times_or_none(void **state)
{
	struct fw_asked sums = asked;
	struct arena arena = {0};
	struct fw_line line;

	(void)state;
	sums.sums = true;
	assert_int_equal(read_as(&arena, &sums, "{" GOOD "}").reason, MSG_fw_bad_line);
	line = read_as(&arena, &sums,
	               "{" GOOD ",\"sums_ms\":{\"65536\":1,\"4194304\":2,\"268435456\":0}}");
	assert_int_equal(line.reason, MSG_fw_bad_line);
	line = read_as(&arena, &sums,
	               "{" GOOD ",\"sums_ms\":{\"65536\":1,\"4194304\":2,\"268435456\":3}}");
	assert_int_equal(line.outcome, OUTCOME_MEASURED);
	assert_true(line.sums_ms[1] == 2);
	sums = asked;
	sums.counts = true;
	assert_int_equal(read_as(&arena, &sums, "{\"cards\":8}").cards, 8);
	assert_int_equal(read_as(&arena, &sums, "{\"cards\":0}").reason, MSG_fw_bad_line);
	sums = asked;
	sums.follows = true;
	assert_int_equal(read_as(&arena, &sums, "{\"ended\":true}").outcome, OUTCOME_MEASURED);
	assert_int_equal(read_as(&arena, &sums, "{" GOOD "}").reason, MSG_fw_bad_line);
	sums.stopped = true;
	assert_int_equal(read_as(&arena, &sums, "{\"ended\":true}").reason, MSG_fwn_stopped);
	arena_release(&arena);
}

/* An interpreter that has `found` and whose jobs are the shell text `job`. */
static const char *python_made(const char *name, const char *found, const char *job)
{
	static char path[4][256];
	static int n;
	char *p = path[n++ % 4];
	struct str text = {0};

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	str_addf(&text,
	         "#!/bin/sh\n[ $# = 3 ] && { echo '{\"python\":\"3.11.2\",\"found\":{%s}}'; exit; "
	         "}\n"
	         "case $4 in *'\"own\":\"torchrun\"'*) elastic=1 ;; esac\n%s\n",
	         found, job);
	assert_int_equal(file_write(p, text.data, text.len, NULL), ST_OK);
	assert_int_equal(chmod(p, 0755), 0);
	str_release(&text);
	return p;
}

#define TORCH "\"pytorch\":{\"version\":\"2.6\",\"path\":\"/x/torch\"}"
#define ELASTIC                                                                                    \
	"[ \"$elastic\" ] && { echo '{\"loss_first\":2,\"loss_last\":1,\"resume_s\":2.5,"          \
	"\"resumed_at\":6,\"workers\":2}'; exit; }\n"
#define WELL ELASTIC "echo '{" GOOD MODES PRECISION "}'"

static struct harness *start(const char *python)
{
	static struct harness h;

	harness_init(&h, &probe_frameworks);
	h.ctx.budget = BUDGET_STANDARD;
	harness_set(&h, "python", python);
	harness_set(&h, "device", "cpu");
	return &h;
}

static const char *text_of(const struct harness *h, const char *metric)
{
	return harness_reading(h, metric)->text;
}

static void a_job_on_the_cpu_proves_function_only(void **state)
{
	struct harness *h = start(python_made("well", TORCH, WELL));

	(void)state;
	harness_run(h, ST_OK);
	assert_string_equal(text_of(h, "fw_pytorch_level"), "runs on CPU");
	assert_string_equal(harness_param_text(h, harness_reading(h, "fw_pytorch_level"), "proves"),
	                    "function only");
	harness_expect(h, "fw_pytorch_runs", OUTCOME_NOT_MEASURED, "fw_cpu_only");
	harness_expect(h, "fw_parallel_modes", OUTCOME_NOT_MEASURED, "fw_cpu_only");
	harness_expect(h, "fw_mixed_precision_runs", OUTCOME_NOT_MEASURED, "fw_cpu_only");
	assert_true(harness_reading(h, "cpu_fw_pytorch_runs")->value == 1);
	assert_true(harness_reading(h, "cpu_fw_pytorch_step_ms")->value == 4);
	assert_true(harness_reading(h, "cpu_fw_parallel_modes")->value == 3);
	assert_true(harness_reading(h, "cpu_fw_mixed_precision_runs")->value == 1);
	assert_true(harness_reading(h, "cpu_fw_elastic_resume_s")->value == 2.5);
	/* Named, and not in it. */
	harness_expect(h, "fw_deepspeed_runs", OUTCOME_UNSUPPORTED, "fw_absent_named");
	harness_expect(h, "fw_deepspeed_level", OUTCOME_UNSUPPORTED, "fw_absent_named");
	harness_expect(h, "fw_manual_steps", OUTCOME_NOT_MEASURED, "fw_steps_unsaid");
	assert_int_equal(harness_count(h, "cpu_fw_deepspeed_runs"), 0);
	harness_release(h);
}

static void a_job_on_cards_runs_or_is_fast(void **state)
{
	struct harness *h = start(python_made("well", TORCH, WELL));

	(void)state;
	harness_set(h, "device", "cuda");
	harness_set(h, "manual_steps", "2");
	harness_run(h, ST_OK);
	/* 3 of 4 ms alone: 0.75 */
	assert_string_equal(text_of(h, "fw_pytorch_level"), "runs");
	assert_true(harness_reading(h, "fw_pytorch_runs")->value == 1);
	assert_true(harness_reading(h, "fw_parallel_modes")->value == 3);
	assert_true(harness_reading(h, "fw_mixed_precision_runs")->value == 1);
	assert_true(harness_reading(h, "fw_elastic_resume_s")->value == 2.5);
	assert_true(harness_reading(h, "fw_manual_steps")->value == 2);
	harness_expect(h, "fw_fp8_runs", OUTCOME_UNSUPPORTED, "fw_no_fp8");
	assert_int_equal(harness_count(h, "cpu_fw_pytorch_runs"), 0);
	harness_clear(h);
	python_made(
		"well", TORCH,
		"echo '{\"version\":\"2.6\",\"workers\":8,\"params_equal\":true,\"loss_first\":2,"
		"\"loss_last\":1,\"step_ms\":4,\"alone_ms\":3.5}'");
	harness_run(h, ST_OK);
	assert_string_equal(text_of(h, "fw_pytorch_level"), "fast");
	harness_expect(h, "fw_parallel_modes", OUTCOME_NOT_MEASURED, "fw_bad_line");
	harness_release(h);
}

static void wrong_parts_are_failures(void **state)
{
	struct harness *h = start(python_made(
		"parts", TORCH,
		ELASTIC
		"echo '{" GOOD ",\"modes\":{\"data\":\"ok\",\"tensor\":\"wrong: off by 2\","
		"\"pipeline\":\"ok\"},\"precision\":{\"bf16\":\"absent\",\"fp16\":\"absent\","
		"\"fp8\":\"ok\"}}'"));

	(void)state;
	harness_set(h, "device", "cuda");
	harness_run(h, ST_OK);
	harness_expect(h, "fw_parallel_modes", OUTCOME_FAILED, "fw_job");
	harness_expect(h, "fw_mixed_precision_runs", OUTCOME_FAILED, "fw_no_precision");
	assert_true(harness_reading(h, "fw_fp8_runs")->value == 1);
	harness_release(h);
}

static void what_goes_wrong_is_said(void **state)
{
	static const struct {
		const char *job;
		enum outcome outcome;
		const char *code, *level;
	} rows[] = {
		{"echo rubbish", OUTCOME_NOT_MEASURED, "fw_silent", "present"},
		{"kill -9 $$", OUTCOME_NOT_MEASURED, "fw_killed", "present"},
		{"echo '{\"step_ms\": NaN}'", OUTCOME_FAILED, "fw_not_finite", "compatible"},
		{"echo '{\"error\":\"cards\",\"detail\":\"none\"}'; exit 1", OUTCOME_FAILED,
	         "fw_cards_unseen", "present"},
		{"echo '{\"error\":\"job\",\"detail\":\"sum\"}'; exit 1", OUTCOME_FAILED, "fw_job",
	         "compatible"},
		/* More than is kept. */
		{"yes | head -c 5000000; echo '{" GOOD "}'", OUTCOME_NOT_MEASURED, "fw_silent",
	         "present"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct harness *h = start(python_made("bad", TORCH, rows[i].job));

		harness_set(h, "device", "cuda");
		harness_run(h, ST_OK);
		harness_expect(h, "fw_pytorch_runs", rows[i].outcome, rows[i].code);
		assert_string_equal(text_of(h, "fw_pytorch_level"), rows[i].level);
		harness_release(h);
		/* On the CPU nothing is said of cards. */
		h = start(python_made("bad", TORCH, rows[i].job));
		harness_run(h, ST_OK);
		harness_expect(h, "fw_pytorch_runs", OUTCOME_NOT_MEASURED, rows[i].code);
		harness_expect(h, "cpu_fw_pytorch_runs", rows[i].outcome, rows[i].code);
		harness_release(h);
	}
}

/* The name of the job's worker, which only it has on its command line. */
static bool lives(const char *mark)
{
	return system(tmpf("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | "
	                   "grep -q '[s]leep %s'",
	                   mark)) == 0;
}

static void what_hangs_is_ended_with_its_workers(void **state)
{
	struct harness *h = start(python_made("hangs", TORCH, "sleep 98761 & sleep 98762"));

	(void)state;
	harness_set(h, "job_s", "1");
	h->ctx.deadline_ns = clock_now(&clock_system) + 3600 * NS_PER_S;
	harness_run(h, ST_OK);
	harness_expect(h, "cpu_fw_pytorch_runs", OUTCOME_TIMED_OUT, "fw_time");
	assert_false(lives("98761"));
	assert_false(lives("98762"));
	harness_release(h);
}

static void interpreters_that_do_not_answer(void **state)
{
	static const struct {
		const char *script, *code, *patience_s;
	} rows[] = {
		{"#!/bin/sh\nexec sleep 98763\n", "fw_python_hangs", "0.3"},
		{"#!/bin/sh\necho '{\"found\": [}'\nexit 3\n", "fw_python_rubbish", "60"},
		{"#!/bin/sh\nhead -c 2000000 /dev/zero\n", "fw_python_bad", "60"},
		{"#!/nowhere/at/all\n", "fw_python_bad", "60"},
	};
	char path[300];

	(void)state;
	snprintf(path, sizeof(path), "%s/odd", dir);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct harness *h;

		assert_int_equal(file_write(path, rows[i].script, strlen(rows[i].script), NULL),
		                 ST_OK);
		assert_int_equal(chmod(path, 0755), 0);
		h = start(path);
		harness_set(h, "python_s", rows[i].patience_s);
		harness_run(h, ST_OK);
		harness_expect(h, "fw_pytorch_runs", OUTCOME_NOT_MEASURED, rows[i].code);
		assert_true(harness_reading(h, "fw_interpreters")->value == 0);
		harness_release(h);
	}
	assert_false(lives("98763"));
}

/* The second has what the first lacks; a missing one hides neither. */
static void several_interpreters(void **state)
{
	const char *none = python_made("none", "", "exit 1");
	const char *bad = python_made("unfit", TORCH, "echo '{\"error\":\"import\"}'");
	struct harness *h = start(tmpf("%s,%s,%s", none, bad, python_made("well", TORCH, WELL)));

	(void)state;
	harness_run(h, ST_OK);
	assert_true(harness_reading(h, "fw_interpreters")->value == 3);
	assert_string_equal(text_of(h, "fw_pytorch_level"), "runs on CPU");
	assert_non_null(strstr(
		harness_param_text(h, harness_reading(h, "fw_pytorch_level"), "python"), "/well"));
	harness_release(h);
	h = start("/nowhere/python3");
	harness_run(h, ST_OK);
	harness_expect(h, "fw_pytorch_runs", OUTCOME_NOT_MEASURED, "fw_python_bad");
	harness_release(h);
}

static void python_of_the_path_need_not_have_it(void **state)
{
	char *before = strdup(getenv("PATH"));
	struct harness *h;

	(void)state;
	python_made("python3", "\"mxnet\":{\"version\":\"1.9.1\",\"path\":\"/x\"}", "exit 1");
	assert_int_equal(setenv("PATH", dir, 1), 0);
	h = start("auto");
	harness_run(h, ST_OK);
	harness_expect(h, "fw_pytorch_runs", OUTCOME_NOT_MEASURED, "fw_absent");
	/* Retired: there, and no failure of anybody. */
	harness_expect(h, "fw_mxnet_runs", OUTCOME_NOT_MEASURED, "fw_retired");
	assert_string_equal(text_of(h, "fw_mxnet_level"), "present");
	harness_release(h);
	assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
	h = start("auto");
	harness_run(h, ST_OK);
	harness_expect(h, "fw_pytorch_runs", OUTCOME_NOT_MEASURED, "fw_no_python");
	harness_release(h);
	setenv("PATH", before, 1);
	free(before);
}

static void no_job_is_begun_without_time(void **state)
{
	struct harness *h = start(python_made("well", TORCH, WELL));

	(void)state;
	h->ctx.deadline_ns = clock_now(&clock_system) + NS_PER_S;
	harness_run(h, ST_OK);
	harness_expect(h, "cpu_fw_pytorch_runs", OUTCOME_NOT_MEASURED, "fw_no_time");
	harness_release(h);
}

/* Steps of 10 ms with the engine; 12 without: the job sees its variables. */
static void an_engine_is_switched_on_and_off(void **state)
{
	struct harness *h = start(python_made(
		"engine", TORCH,
		ELASTIC "ms=10; case $4 in *'\"env\":'*none*) ms=12 ;; esac\n"
			"echo '{\"version\":\"2\",\"backend\":\"nccl\",\"workers\":8,"
			"\"params_equal\":true,\"loss_first\":2,\"loss_last\":1,\"step_ms\":'$ms',"
			"\"sums_ms\":{\"65536\":1,\"4194304\":'$ms',\"268435456\":'$ms'}}'"));
	const struct reading *r;

	(void)state;
	setenv("NCCL_NET_PLUGIN", "libnccl-net-tccl.so", 1);
	harness_set(h, "device", "cuda");
	harness_set(h, "pairs", "5");
	harness_run(h, ST_OK);
	r = harness_reading(h, "fw_engine_ratio");
	assert_true(fabs(r->value - 1.2) < 1e-9);
	assert_true(r->stats[STAT_N] == 5);
	assert_true(fabs(r->stats[STAT_CI_LO] - 1.2) < 1e-6);
	assert_string_equal(harness_param_text(h, r, "engine"), "TCCL");
	assert_int_equal(harness_count(h, "fw_engine_allreduce_ratio"), FW_SUMS);
	r = harness_reading_at(h, "fw_engine_allreduce_ratio", "bytes=65536");
	assert_true(fabs(r->value - 1) < 1e-9);
	r = harness_reading_at(h, "fw_engine_allreduce_ratio", "bytes=268435456");
	assert_true(fabs(r->value - 1.2) < 1e-9);
	harness_clear(h);
	harness_set(h, "pairs", "4");
	harness_run(h, ST_OK);
	harness_expect(h, "fw_engine_ratio", OUTCOME_NOT_MEASURED, "fw_left_out");
	harness_clear(h);
	harness_set(h, "device", "cpu");
	harness_run(h, ST_OK);
	harness_expect(h, "fw_engine_ratio", OUTCOME_NOT_MEASURED, "fw_engine_cards");
	unsetenv("NCCL_NET_PLUGIN");
	harness_clear(h);
	harness_run(h, ST_OK);
	harness_expect(h, "fw_engine_ratio", OUTCOME_UNSUPPORTED, "fw_no_engine");
	harness_expect(h, "fw_engine_allreduce_ratio", OUTCOME_UNSUPPORTED, "fw_no_engine");
	harness_release(h);
}

static void a_played_machine_runs_nothing(void **state)
{
	struct harness *h = start("auto");
	struct support s;

	(void)state;
	h->ctx.sys_root = "/nowhere";
	s = probe_frameworks.supported(&h->ctx);
	assert_false(s.yes);
	assert_string_equal(s.reason.code, "fw_other_machine");
	harness_release(h);
}

/* --- for real --------------------------------------------------------------------------------- */

static void pytorch_of_this_machine(void **state)
{
	struct harness *h;

	(void)state;
	if (system("/usr/bin/python3 -c 'import torch' >/dev/null 2>&1") != 0) {
		print_message("/usr/bin/python3 has no torch here: not run\n");
		skip();
	}
	h = start("/usr/bin/python3");
	harness_set(h, "steps", "6");
	h->ctx.deadline_ns = clock_now(&clock_system) + 3600 * NS_PER_S;
	harness_run(h, ST_OK);
	assert_true(harness_reading(h, "cpu_fw_pytorch_runs")->value == 1);
	assert_true(harness_reading(h, "cpu_fw_parallel_modes")->value == 3);
	assert_string_equal(
		harness_param_text(h, harness_reading(h, "cpu_fw_pytorch_runs"), "backend"),
		"gloo");
	/* Debian 12: nothing against PyTorch, whose launcher is too old for its Python. */
	if (str_starts(harness_param_text(h, harness_reading(h, "cpu_fw_pytorch_runs"), "version"),
	               "1.13"))
		harness_expect(h, "cpu_fw_elastic_resume_s", OUTCOME_NOT_MEASURED, "fw_launcher");
	harness_release(h);
	/* Asked for cards where the build has none: it says so. */
	h = start("/usr/bin/python3");
	harness_set(h, "device", "cuda");
	harness_set(h, "elastic", "0");
	h->ctx.deadline_ns = clock_now(&clock_system) + 3600 * NS_PER_S;
	harness_run(h, ST_OK);
	if (!harness_reading(h, "fw_pytorch_runs")->value)
		harness_expect(h, "fw_pytorch_runs", OUTCOME_FAILED, "fw_cards_unseen");
	harness_release(h);
}

/* What is played is seen by the real launcher too: the sources of a job that loses a
 * worker, prints no line, or gives NaN. */
static void the_launcher_and_its_workers(void **state)
{
	static const struct {
		const char *source, *says;
	} rows[] = {
		{"print('{\\\"a\\\":1}')", "\"a\": 1"},
		{"import os,time\nif os.environ['RANK']=='1': os._exit(7)\ntime.sleep(98764)",
	         "worker 1: exit 7"},
		{"import os,signal\nos.kill(os.getpid(),signal.SIGKILL)", "signal 9"},
		{"print('no line')", "\"silent\", \"detail\": \"no line\""},
		{"import time\ntime.sleep(98764)", "\"time\""},
	};
	struct str source = {0}, where = {0};

	(void)state;
	assert_int_equal(config_read(&source, &where, NULL, "scripts/frameworks/launch.py", NULL),
	                 ST_OK);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str request = {0}, out = {0};
		struct proc_end end;

		str_addf(&request, "{\"source\":\"");
		for (const char *p = rows[i].source; *p; p++)
			str_add(&request, *p == '\n' ? "\\n" : (char[]){*p, 0});
		str_addf(&request, "\",\"workers\":2,\"device\":\"cpu\",\"seconds\":%s}",
		         strstr(rows[i].says, "time") ? "0.5" : "60");
		assert_int_equal(spawn_run(
					 &(struct spawn_spec){
						 .argv = (const char *const[]){"python3", "-B",
		                                                               "-c", source.data,
		                                                               request.data, NULL},
						 .deadline_s = 60,
						 .max_out = 65536},
					 &out, &end, NULL),
		                 ST_OK);
		if (!strstr(str_text(&out), rows[i].says))
			fail_msg("%s: %s %s", rows[i].source, str_text(&out), str_text(&end.err));
		str_release(&request);
		str_release(&out);
		str_release(&end.err);
	}
	assert_false(lives("98764"));
	str_release(&source);
	str_release(&where);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_as_outcomes),
		cmocka_unit_test(only_a_named_python_is_to_blame),
		cmocka_unit_test(elastic_goes_on_from_where_it_was),
		cmocka_unit_test(engines_are_found_and_switched_off),
		cmocka_unit_test(gain_of_pairs),
		cmocka_unit_test(sums_are_times_or_none),
		cmocka_unit_test(a_job_on_the_cpu_proves_function_only),
		cmocka_unit_test(a_job_on_cards_runs_or_is_fast),
		cmocka_unit_test(wrong_parts_are_failures),
		cmocka_unit_test(what_goes_wrong_is_said),
		cmocka_unit_test(what_hangs_is_ended_with_its_workers),
		cmocka_unit_test(interpreters_that_do_not_answer),
		cmocka_unit_test(several_interpreters),
		cmocka_unit_test(python_of_the_path_need_not_have_it),
		cmocka_unit_test(no_job_is_begun_without_time),
		cmocka_unit_test(an_engine_is_switched_on_and_off),
		cmocka_unit_test(a_played_machine_runs_nothing),
		cmocka_unit_test(the_launcher_and_its_workers),
		cmocka_unit_test(pytorch_of_this_machine),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	return dir_remove(dir, NULL) == ST_OK ? failed : 1;
}
