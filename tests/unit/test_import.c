/* Outputs of other tools: what is taken from each, what is refused and how, and that no
 * cut or broken file is read as if it were whole. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "import/import.h"

#define DIR TESTS_DIR "/unit/import/"

static const struct metric *metric_named(const char *name)
{
	for (const struct probe *const *p = probe_table; *p; p++)
		for (const struct metric *m = (*p)->metrics; m->name; m++)
			if (strcmp(m->name, name) == 0)
				return m;
	for (const struct metric *m = import_metrics; m->name; m++)
		if (strcmp(m->name, name) == 0)
			return m;
	return NULL;
}

struct reader {
	struct arena arena;
	struct import in;
	struct str text;
	struct error err;
};

static void begin(struct reader *r, const char *file, bool told)
{
	*r = (struct reader){0};
	r->in = (struct import){.arena = &r->arena,
	                        .metric = metric_named,
	                        .node = told ? "nX" : NULL,
	                        .peer = told ? "nY" : NULL,
	                        .unit = told ? "Gb/s" : NULL};
	if (file)
		assert_int_equal(file_read(&r->text, tmpf(DIR "%s", file), 1 << 20, &r->err),
		                 ST_OK);
}

static enum status read_it(struct reader *r)
{
	return import_text(&r->in, "file", str_text(&r->text), r->text.len, &r->err);
}

static void end(struct reader *r)
{
	str_release(&r->text);
	error_release(&r->err);
	arena_release(&r->arena);
}

/* --- what is taken ------------------------------------------------------------------ */

static const struct {
	const char *file, *tool;
	int64_t n; /* readings of the file */
	const char *node, *id, *metric;
	double value;
	const char *words; /* instead of the value */
} taken[] = {
	{"gpu-burn.txt", "gpu-burn", 4, "nX", "GPU-aa", "gpuburn_gflops", 15200, NULL},
	{"gpu-burn.txt", "gpu-burn", 4, "nX", "GPU-bb", "gpuburn_errors", 5, NULL},
	{"nccl-all-reduce.txt", "nccl-tests", 7, "n001", "n001", "collective_allreduce_busbw_gbs",
         233.16, NULL},
	{"nccl-all-reduce.txt", "nccl-tests", 7, "n001", "n001", "collective_wrong_elements", 2,
         NULL},
	{"nccl-all-reduce.txt", "nccl-tests", 7, "n001", "n001", "collective_allreduce_node_us",
         12.5, NULL},
	{"nccl-all-reduce.txt", "nccl-tests", 7, "n001", "card 2", "card_name", 0,
         "NVIDIA A100-SXM4-80GB"},
	{"nccl-no-name.txt", "nccl-tests", 7, "n001", "n001", "collective_allreduce_busbw_gbs",
         233.16, NULL},
	{"nccl-two-nodes.txt", "nccl-tests", 4, "n002", "card 3", "card_name", 0,
         "NVIDIA A100-SXM4-80GB"},
	{"nccl.json", "nccl-tests", 4, "n003", "n003", "collective_allgather_busbw_gbs", 357.9,
         NULL},
	{"nvbandwidth.txt", "nvbandwidth", 4, "nX", "card 2", "pcie_h2d_gbs", 25.98, NULL},
	{"nvbandwidth.txt", "nvbandwidth", 4, "nX", "card 1|card 2", "p2p_ce_push_gbs", 121.03,
         NULL},
	{"nvbandwidth.json", "nvbandwidth", 1, "nX", "card 0|card 1", "p2p_ce_pull_gbs", 394.1,
         NULL},
	/* 23,500 x 2^20 bytes x 8 bits; of the largest message, and not its peak of 0 */
	{"perftest-bw.txt", "perftest", 1, "nX", "nX|nY", "rdma_nic_write_gbps", 197.132288, NULL},
	{"perftest-lat.txt", "perftest", 1, "nX", "nX|nY", "rdma_send_latency_us", 1.79, NULL},
	{"perftest-4.5.json", "perftest", 1, "nX", "nX|nY", "rdma_nic_write_gbps", 196.92, NULL},
	{"fio-randread.json", "fio", 3, "nX", "disk", "storage_read_iops", 69246.534653, NULL},
	{"fio-randread.json", "fio", 3, "nX", "disk", "storage_read_lat_p99_ms", 2.53952, NULL},
	{"dcgm.json", "dcgmi-diag", 4, "nX", "card 2", "dcgm_failed_tests", 2, NULL},
	{"dcgm.json", "dcgmi-diag", 4, "nX", "card 3", "dcgm_failed_tests", 0, NULL},
	{"superbench.jsonl", "superbench", 5, "n010", "card 1", "gemm_fp16_tflops", 201, NULL},
	{"superbench.jsonl", "superbench", 5, "n010", "n010", "collective_allreduce_busbw_gbs",
         233.4, NULL},
	{"smi.csv", "nvidia-smi", 13, "nX", "GPU-bb", "card_power_limit_share", 0.75, NULL},
	{"smi.csv", "nvidia-smi", 13, "nX", "GPU-bb", "card_ecc_mode", 0, "off"},
	{"smi.csv", "nvidia-smi", 13, "nX", "GPU-bb", "card_mig_enabled", 1, NULL},
	{"smi.csv", "nvidia-smi", 13, "nX", "nX", "node_driver_version", 0, "535.161.08"},
	{"smi.xml", "nvidia-smi", 11, "nX", "GPU-aa", "card_name", 0, "NVIDIA A100-SXM4-80GB & co"},
	{"smi.xml", "nvidia-smi", 11, "nX", "GPU-aa", "card_remap_pending", 1, NULL},
	{"smi.xml", "nvidia-smi", 11, "nX", "GPU-aa", "card_pcie_width", 16, NULL},
	{"smi-q.txt", "nvidia-smi", 13, "nX", "GPU-aa", "card_power_limit_share", 0.75, NULL},
	{"smi-q.txt", "nvidia-smi", 13, "nX", "GPU-aa", "card_pcie_width", 8, NULL},
	{"smi-q.txt", "nvidia-smi", 13, "nX", "GPU-bb", "card_memory_mib", 40960, NULL},
};

static const struct reading *found(const struct import *in, const char *node, const char *id,
                                   const char *metric)
{
	for (int64_t i = 0; i < in->n; i++)
		if (strcmp(in->readings[i].metric, metric) == 0 &&
		    strcmp(in->readings[i].node, node) == 0 &&
		    strcmp(in->readings[i].subject.id, id) == 0)
			return &in->readings[i];
	return NULL;
}

static void test_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		const struct reading *r;
		struct reader reader;

		begin(&reader, taken[i].file, true);
		if (read_it(&reader) != ST_OK)
			fail_msg("%s: %s", taken[i].file, str_text(&reader.err.text));
		assert_string_equal(reader.in.tool, taken[i].tool);
		assert_int_equal(reader.in.n, taken[i].n);
		r = found(&reader.in, taken[i].node, taken[i].id, taken[i].metric);
		if (!r)
			fail_msg("%s: no %s of %s", taken[i].file, taken[i].metric, taken[i].id);
		assert_int_equal(r->origin, ORIGIN_IMPORTED);
		if (taken[i].words)
			assert_string_equal(r->text, taken[i].words);
		else if (fabs(r->value - taken[i].value) > 1e-9 * fabs(taken[i].value))
			fail_msg("%s: %s is %.9g", taken[i].file, taken[i].metric, r->value);
		end(&reader);
	}
}

static void test_says_more(void **state)
{
	const struct reading *r;
	struct reader reader;

	(void)state;
	begin(&reader, "gpu-burn.txt", true);
	assert_int_equal(read_it(&reader), ST_OK);
	assert_int_equal(found(&reader.in, "nX", "GPU-aa", "gpuburn_errors")->outcome,
	                 OUTCOME_MEASURED);
	assert_int_equal(found(&reader.in, "nX", "GPU-bb", "gpuburn_errors")->outcome,
	                 OUTCOME_FAILED);
	end(&reader);
	begin(&reader, "dcgm.json", true);
	assert_int_equal(read_it(&reader), ST_OK);
	r = found(&reader.in, "nX", "card 2", "dcgm_failed_tests");
	assert_string_equal(r->params,
	                    "{\"tests\":3,\"failed\":[\"GPU Memory\",\"Targeted Stress\"]}");
	end(&reader);
	begin(&reader, "perftest-lat.txt", true);
	assert_int_equal(read_it(&reader), ST_OK);
	assert_true(reader.in.readings[0].stats[STAT_P99] == 1.88);
	assert_string_equal(reader.in.readings[0].subject.ends[0].nic, "mlx5_3");
	end(&reader);
	begin(&reader, "nccl-two-nodes.txt", true);
	assert_int_equal(read_it(&reader), ST_OK);
	assert_string_equal(reader.in.left[0], "all_reduce_perf over several nodes");
	end(&reader);
	begin(&reader, "smi.csv", true);
	assert_int_equal(read_it(&reader), ST_OK);
	assert_string_equal(reader.in.readings[0].subject.pci, "0000:0f:00.0");
	end(&reader);
}

/* --- what is refused ---------------------------------------------------------------- */

static void refused(const char *file, const char *text, const char *from, const char *to, bool told,
                    enum status st, const char *words)
{
	struct reader r;

	begin(&r, file, told);
	if (text)
		str_add(&r.text, text);
	if (from) {
		char *whole = strdup(str_text(&r.text)), *at = strstr(whole, from);

		assert_non_null(at);
		str_clear(&r.text);
		str_addn(&r.text, whole, (size_t)(at - whole));
		str_add(&r.text, to ? to : "");
		if (to)
			str_add(&r.text, at + strlen(from));
		free(whole);
	}
	assert_int_equal(read_it(&r), st);
	if (!strstr(str_text(&r.err.text), words))
		fail_msg("not \"%s\": %s", words, str_text(&r.err.text));
	assert_int_equal(r.in.n, 0);
	end(&r);
}

static void test_unknown(void **state)
{
	(void)state;
	refused(NULL, "", NULL, NULL, true, ST_PARSE, "not the output of a tool");
	refused(NULL, "hello\n", NULL, NULL, true, ST_PARSE, "not the output of a tool");
	refused(NULL, "{\"a\": 1}\n", NULL, NULL, true, ST_PARSE, "not the output of a tool");
	refused(NULL, "{\"fio version\": \"fio-3.33\", \"jobs\": []}\n", NULL, NULL, true, ST_PARSE,
	        "nothing in it is a figure");
	refused(NULL, "{\"fio version\": \"fio-3.33\", \"jobs\": [\n", NULL, NULL, true, ST_PARSE,
	        "file:");
	refused("fio-randread.json", NULL, "\"randread\"", "\"randwrite\"", true, ST_PARSE,
	        "nothing in it is a figure");
	refused("fio-randread.json", NULL, "\"error\" : 0", "\"error\" : 5", true, ST_PARSE,
	        "ended with error 5");
}

/* A table whose head lacks a column has no rows that could be read. */
static void test_head(void **state)
{
	(void)state;
	refused(NULL,
	        "#  size  count  type  busbw  more\n#  (B)    (elements)\n 8 2 float 1.0 1.0\n"
	        "# Avg bus bandwidth : 1\n",
	        NULL, NULL, true, ST_PARSE, "nothing in it is a figure");
}

/* A file that does not say whom it is about is no guess. */
static void test_not_told(void **state)
{
	(void)state;
	refused("fio-randread.json", NULL, NULL, NULL, false, ST_USAGE, "--node");
	refused("dcgm.json", NULL, NULL, NULL, false, ST_USAGE, "--node");
	refused("gpu-burn.txt", NULL, NULL, NULL, false, ST_USAGE, "--node");
	refused("smi.csv", NULL, NULL, NULL, false, ST_USAGE, "--node");
	refused("nvbandwidth.txt", NULL, NULL, NULL, false, ST_USAGE, "--node");
	refused("perftest-bw.txt", NULL, NULL, NULL, false, ST_USAGE, "--node");
}

static void test_perftest_asks(void **state)
{
	struct reader r;

	(void)state;
	begin(&r, "perftest-4.5.json", true);
	r.in.unit = NULL;
	assert_int_equal(read_it(&r), ST_USAGE);
	assert_non_null(strstr(str_text(&r.err.text), "--unit"));
	end(&r);
	begin(&r, "perftest-4.5.json", true);
	r.in.peer = NULL;
	assert_int_equal(read_it(&r), ST_USAGE);
	assert_non_null(strstr(str_text(&r.err.text), "--peer"));
	end(&r);
	begin(&r, "perftest-4.5.json", true);
	r.in.unit = "MiB/s";
	assert_int_equal(read_it(&r), ST_OK);
	assert_true(fabs(r.in.readings[0].value - 196.92 * 8 * 1048576 / 1e9) < 1e-9);
	end(&r);
}

static void test_cut(void **state)
{
	(void)state;
	refused("nccl-all-reduce.txt", NULL, "# Avg", NULL, true, ST_PARSE, "Avg bus bandwidth");
	refused("nvbandwidth.txt", NULL, "SUM device_local", NULL, true, ST_PARSE,
	        "SUM device_local");
	refused("perftest-bw.txt", NULL, "0.002937", NULL, true, ST_PARSE, "--------");
	refused("gpu-burn.txt", NULL, "\tGPU 1: FAULTY", NULL, true, ST_PARSE, "GPU 0: OK");
	refused("smi.xml", NULL, "</gpu>", NULL, true, ST_PARSE, "</nvidia_smi_log>");
	refused("smi-q.txt", NULL, "GPU 00000000:15", NULL, true, ST_PARSE,
	        "says 2 cards and lists 1");
	refused("smi.csv", NULL, "300.00", NULL, true, ST_PARSE, "file:");
	refused("superbench.jsonl", NULL, "267900.0}", NULL, true, ST_PARSE, "file:2");
	refused("dcgm.json", NULL, "\"Version\"", NULL, true, ST_PARSE, "file:");
}

/* Every beginning of every file: read or refused, and nothing else; and every file with
 * one byte changed. */
static void test_any_bytes(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		struct reader whole;

		if (i && strcmp(taken[i].file, taken[i - 1].file) == 0)
			continue;
		begin(&whole, taken[i].file, true);
		for (size_t len = 0; len < whole.text.len; len += 13) {
			struct reader r;

			begin(&r, NULL, true);
			str_addn(&r.text, whole.text.data, len);
			if (read_it(&r) != ST_OK)
				assert_int_equal(r.in.n, 0);
			end(&r);
			begin(&r, NULL, true);
			str_addn(&r.text, whole.text.data, whole.text.len);
			seed = seed * 1103515245 + 12345;
			r.text.data[len] = (char)(seed >> 16);
			read_it(&r);
			end(&r);
		}
		end(&whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),         cmocka_unit_test(test_says_more),
		cmocka_unit_test(test_unknown),       cmocka_unit_test(test_not_told),
		cmocka_unit_test(test_perftest_asks), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_head),          cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
