/* frameworks_nodes: three nodes whose interpreters are shell scripts, so that each way a
 * job over nodes can go wrong is played; who is named, and that nothing runs on. The
 * real job over real hosts is tests/cluster/frameworks.sh. */
#include "company_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "bench/frameworks_nodes.h"
#include "tests/cleanup.h"

extern const struct probe probe_frameworks_nodes;

static char dir[] = "/var/tmp/assay-frameworks-nodes.XXXXXX";

#define TORCH "\"pytorch\":{\"version\":\"2.6\",\"path\":\"/x/torch\"}"
#define GOOD                                                                                       \
	"\"version\":\"2.6\",\"backend\":\"gloo\",\"workers\":1,\"params_equal\":true,"            \
	"\"loss_first\":2,\"loss_last\":1.5,\"alone_ms\":3,\"modes\":{\"data\":\"ok\","            \
	"\"tensor\":\"ok\",\"pipeline\":\"ok\"},\"precision\":{},\"sums_ms\":{\"65536\":'$ms',"    \
	"\"4194304\":'$ms',\"268435456\":'$ms'},\"step_ms\":'$ms'"

/* An interpreter with `found`; `job` is what it does with a request in $4, with $first
 * the rank that begins here. */
static const char *python_made(const char *name, const char *found, const char *job)
{
	static char path[8][256];
	static int n;
	char *p = path[n++ % 8];
	struct str text = {0};

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	str_addf(&text,
	         "#!/bin/sh\n[ $# = 3 ] && { echo '{\"python\":\"3.11.2\",\"found\":{%s}}'; exit; "
	         "}\n"
	         "case $4 in *'\"count_only\":true'*) echo '{\"cards\":4}'; exit ;; esac\n"
	         "first=${4##*\\\"first\\\":}; first=${first%%%%,*}; ms=10\n%s\n",
	         found, job);
	assert_int_equal(file_write(p, text.data, text.len, NULL), ST_OK);
	assert_int_equal(chmod(p, 0755), 0);
	str_release(&text);
	return p;
}

#define WELL "[ $first = 0 ] && echo '{" GOOD "}' || echo '{\"ended\":true}'"

static struct company *start(const char *python, int count)
{
	struct company *c = malloc(sizeof(*c));

	company_init(c, &probe_frameworks_nodes, count, "cluster");
	company_set(c, "python", python);
	company_set(c, "interface", "lo");
	company_set(c, "device", "cpu");
	return c;
}

static void end(struct company *c)
{
	company_release(c);
	free(c);
}

static struct harness *run(struct company *c)
{
	company_run(c);
	return &c->all[0].h;
}

/* The job's figure on the CPUs is missing for this reason, in which `words` occur. */
static void expect_missing(struct company *c, enum outcome outcome, const char *code,
                           const char *words)
{
	struct harness *h = run(c);
	const struct reading *r = harness_expect(h, "cpu_fw_nodes_pytorch_runs", outcome, code);

	if (!strstr(r->reason.text, words))
		fail_msg("\"%s\" is not in: %s", words, r->reason.text);
	/* What goes wrong on CPUs is nothing against cards. */
	assert_int_equal(harness_reading(h, "fw_nodes_pytorch_runs")->outcome,
	                 OUTCOME_NOT_MEASURED);
	end(c);
}

static void one_job_over_all(void **state)
{
	struct company *c = start(python_made("well", TORCH, WELL), 3);
	struct harness *h = run(c);
	const struct reading *r = harness_reading(h, "cpu_fw_nodes_pytorch_runs");

	(void)state;
	assert_true(r->value == 1 && r->subject.kind == SUBJECT_CLUSTER);
	assert_true(harness_param(r, "nodes") == 3 && harness_param(r, "workers") == 3);
	assert_string_equal(harness_param_text(h, r, "address"), "127.0.0.1");
	assert_string_equal(harness_param_text(h, r, "proves"), "function only");
	assert_true(harness_reading(h, "cpu_fw_nodes_pytorch_step_ms")->value == 10);
	assert_true(harness_reading(h, "cpu_fw_nodes_parallel_modes")->value == 3);
	assert_non_null(harness_raw(h, "frameworks-nodes.txt"));
	harness_expect(h, "fw_nodes_pytorch_runs", OUTCOME_NOT_MEASURED, "fw_cpu_only");
	harness_expect(h, "training_engine_ratio", OUTCOME_UNSUPPORTED, "fw_no_engine");
	end(c);
}

/* Four cards a node: ranks are counted, and the engine's gain is that of all. */
static void on_cards_with_an_engine(void **state)
{
	struct company *c = start(python_made("cards", TORCH,
	                                      "case $4 in *'\"env\":'*none*) ms=12 ;; esac\n"
	                                      "case $4 in *'\"size\":12,'*) ;; *) exit 3 ;; esac\n"
	                                      "case $first in 0|4|8) ;; *) exit 4 ;; esac\n" WELL),
	                          3);
	struct harness *h;
	const struct reading *r;

	(void)state;
	setenv("NCCL_NET_PLUGIN", "libnccl-net-tccl.so", 1);
	company_set(c, "device", "cuda");
	company_set(c, "pairs", "5");
	h = run(c);
	unsetenv("NCCL_NET_PLUGIN");
	assert_true(harness_reading(h, "fw_nodes_pytorch_runs")->value == 1);
	assert_int_equal(harness_count(h, "cpu_fw_nodes_pytorch_runs"), 0);
	r = harness_reading(h, "training_engine_ratio");
	assert_true(fabs(r->value - 1.2) < 1e-9);
	assert_true(fabs(r->stats[STAT_CI_LO] - 1.2) < 1e-6 && r->stats[STAT_N] == 5);
	assert_string_equal(harness_param_text(h, r, "engine"), "TCCL");
	r = harness_reading_at(h, "fw_nodes_engine_allreduce_ratio", "bytes=4194304");
	assert_true(fabs(r->value - 1.2) < 1e-9);
	assert_int_equal(harness_count(h, "fw_nodes_engine_allreduce_ratio"), FW_SUMS);
	end(c);
}

/* The others wait for one that has failed: they are ended, and it is named. */
static void the_one_that_failed_is_named(void **state)
{
	(void)state;
	expect_missing(
		start(python_made("breaks", TORCH,
	                          "case $first in\n1) echo '{\"error\":\"worker\",\"detail\":"
	                          "\"RuntimeError: illegal instruction\"}' ;;\n2) echo "
	                          "'{\"error\":\"worker\",\"detail\":\"Connection closed by "
	                          "peer\"}' ;;\n"
	                          "*) exec sleep 98765 ;;\nesac"),
	              3),
		OUTCOME_FAILED, "training_missing_more", "n002: a worker of PyTorch 2.6");
	expect_missing(start(python_made("wrong", TORCH,
	                                 "[ $first = 0 ] && echo '{\"error\":\"job\",\"detail\":"
	                                 "\"an all-reduce of ranks gave 4\"}' || exec sleep 98765"),
	                     3),
	               OUTCOME_FAILED, "training_missing_more", "n001: PyTorch: an all-reduce");
	/* Right numbers on the first node are none where another one broke off. */
	expect_missing(start(python_made("late", TORCH,
	                                 "[ $first = 0 ] && echo '{" GOOD "}' || echo nothing"),
	                     3),
	               OUTCOME_NOT_MEASURED, "training_missing_more", "n002");
}

static void a_job_has_its_time(void **state)
{
	struct company *c = start(python_made("hangs", TORCH, "exec sleep 98764"), 2);

	(void)state;
	company_set(c, "job_s", "1");
	expect_missing(c, OUTCOME_TIMED_OUT, "training_missing_more", "not done within 1 s");
	c = start(python_made("soon", TORCH, WELL), 2);
	c->all[0].h.ctx.deadline_ns = clock_now(&clock_system) + 15 * NS_PER_S;
	expect_missing(c, OUTCOME_NOT_MEASURED, "fw_no_time", "PyTorch");
}

static void a_node_without_it_is_named(void **state)
{
	struct company *c;

	(void)state;
	assert_int_equal(dir_make(tmpf("%s/a", dir), NULL), ST_OK);
	assert_int_equal(dir_make(tmpf("%s/b", dir), NULL), ST_OK);
	c = start(python_made("a/python3", TORCH, WELL), 3);
	harness_set(&c->all[2].h, "python", python_made("b/python3", "", WELL));
	expect_missing(c, OUTCOME_NOT_MEASURED, "training_missing", "n003: it is not in");
}

/* --- texts --------------------------------------------------------------------------------- */

static bool other_port(cJSON *text, int n)
{
	cJSON *offer = cJSON_GetObjectItem(text, "offer");

	(void)n;
	if (offer)
		cJSON_SetNumberValue(cJSON_GetObjectItem(offer, "port"), 1);
	return true;
}

static bool garbles(cJSON *text, int n)
{
	if (n == 0)
		cJSON_DeleteItemFromObject(text, "outcome");
	return true;
}

static bool falls_silent(cJSON *text, int n)
{
	(void)text;
	return n < 2;
}

static bool other_engine(cJSON *text, int n)
{
	if (n == 0)
		cJSON_ReplaceItemInObject(text, "engine", cJSON_CreateString("BCCL"));
	return true;
}

static bool has_cards(cJSON *text, int n)
{
	if (n == 0)
		cJSON_ReplaceItemInObject(text, "cuda", cJSON_CreateTrue());
	return true;
}

static void what_others_say_is_not_believed(void **state)
{
	const char *python = python_made("texts", TORCH, WELL);
	struct company *c = start(python, 3);
	struct harness *h;

	(void)state;
	c->all[0].meddle = other_port;
	expect_missing(c, OUTCOME_FAILED, "fwn_unreached", "n002 does not reach n001");
	c = start(python, 3);
	c->all[1].meddle = garbles;
	expect_missing(c, OUTCOME_NOT_MEASURED, "training_missing",
	               "n002: an answer that cannot be read");
	c = start(python, 3);
	company_set(c, "patience_s", "0.3");
	c->all[2].meddle = falls_silent;
	company_set(c, "job_s", "1");
	expect_missing(c, OUTCOME_NOT_MEASURED, "training_missing", "n003: no answer in time");
	c = start(python, 3);
	c->all[1].meddle = has_cards;
	expect_missing(c, OUTCOME_NOT_MEASURED, "training_mixed", "n001 and n002");
	c = start(python, 3);
	c->all[2].meddle = other_engine;
	h = run(c);
	harness_expect(h, "training_engine_ratio", OUTCOME_NOT_MEASURED, "fwn_engines_differ");
	end(c);
}

static enum status to_nobody(struct probe_ctx *ctx, int to, const char *text)
{
	(void)ctx;
	(void)to;
	(void)text;
	return ST_OK;
}

static void sizes_that_show_nothing(void **state)
{
	static const char *peers[FWN_CPU_NODES_MOST + 1];
	struct harness h;

	(void)state;
	harness_init(&h, &probe_frameworks_nodes);
	harness_set(&h, "device", "cpu");
	harness_run(&h, ST_OK);
	harness_expect(&h, "fw_nodes_pytorch_runs", OUTCOME_NOT_MEASURED, "fwn_one_node");
	harness_expect(&h, "training_engine_ratio", OUTCOME_NOT_MEASURED, "fwn_one_node");
	harness_clear(&h);
	for (int i = 0; i <= FWN_CPU_NODES_MOST; i++)
		peers[i] = "n";
	h.ctx.peers = peers;
	h.ctx.n_peers = FWN_CPU_NODES_MOST + 1;
	h.ctx.send_text = to_nobody;
	harness_run(&h, ST_OK);
	harness_expect(&h, "cpu_fw_nodes_pytorch_runs", OUTCOME_NOT_MEASURED, "fwn_many_cpus");
	h.ctx.sys_root = "/nowhere";
	assert_false(probe_frameworks_nodes.supported(&h.ctx).yes);
	harness_release(&h);
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return dir_remove(dir, NULL) == ST_OK ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_job_over_all),
		cmocka_unit_test(on_cards_with_an_engine),
		cmocka_unit_test(the_one_that_failed_is_named),
		cmocka_unit_test(a_job_has_its_time),
		cmocka_unit_test(a_node_without_it_is_named),
		cmocka_unit_test(what_others_say_is_not_believed),
		cmocka_unit_test(sizes_that_show_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
