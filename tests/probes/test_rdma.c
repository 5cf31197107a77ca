/* The RDMA probe: two ends in two processes, over a libibverbs that is none
 * (double_verbs.c), on nodes whose /sys is made here; and what can go wrong between
 * them. */
#include "rdma_kit.h"

#include <math.h>

/* --- as it should be ---------------------------------------------------------------------------- */

static void every_figure_is_measured(void **state)
{
	static const char *const both[] = {"rdma_nic_write_gbps", "rdma_nic_read_gbps",
	                                   "rdma_nic_send_gbps"};
	static const char *const once[] = {"rdma_write_latency_us", "rdma_read_latency_us",
	                                   "rdma_send_latency_us", "rdma_nic_one_qp_gbps"};
	struct rdma_test *x = *state;
	const struct reading *r;
	double slower;

	company_run(x->c);
	for (int i = 0; i < 3; i++) {
		assert_true(expect(x, both[i], THERE, OUTCOME_MEASURED, NULL)->value > 0);
		assert_true(expect(x, both[i], BACK, OUTCOME_MEASURED, NULL)->value > 0);
	}
	for (int i = 0; i < 4; i++)
		assert_true(expect(x, once[i], THERE, OUTCOME_MEASURED, NULL)->value > 0);
	r = expect(x, "rdma_write_latency_us", THERE, OUTCOME_MEASURED, NULL);
	assert_true(r->stats[STAT_MIN] <= r->value && r->value <= r->stats[STAT_P99]);
	assert_true(r->stats[STAT_P99_9] <= r->stats[STAT_MAX] && r->stats[STAT_N] >= 20);
	assert_string_equal(harness_param_text(&x->c->all[0].h, r, "of"), "half the round trip");
	r = about(x, "rdma_read_latency_us", THERE);
	assert_string_equal(harness_param_text(&x->c->all[0].h, r, "of"), "the round trip");
	slower = fmin(about(x, "rdma_nic_write_gbps", THERE)->value,
	              about(x, "rdma_nic_write_gbps", BACK)->value);
	r = expect(x, "rdma_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
	assert_true(r->value == slower);
	assert_string_equal(r->subject.ends[0].nic, "mlx5_0");
	assert_string_equal(harness_param_text(&x->c->all[0].h, r, "memory"), "host");
	assert_true(harness_param(r, "outstanding_reads") == 8);
	/* 100 Gb/s, 4096 of 4096 + 82 bytes. */
	r = expect(x, "rdma_expected_gbps", PAIR, OUTCOME_MEASURED, NULL);
	assert_true(fabs(r->value - 100 * 4096 / 4178.0) < 1e-9);
	assert_true(expect(x, "rdma_ends_agree", THERE, OUTCOME_MEASURED, NULL)->value == 1);
	assert_true(expect(x, "rdma_error_rises", THERE, OUTCOME_MEASURED, NULL)->value == 0);
	expect(x, "rdma_nic_worst_second", THERE, OUTCOME_NOT_MEASURED, "rdma_no_second");
	expect(x, "rdma_tcp_rate_ratio", PAIR, OUTCOME_NOT_MEASURED, "rdma_no_tcp");
	expect(x, "rdma_gpu_write_gbps", PAIR, OUTCOME_NOT_MEASURED, "no_driver");
	expect(x, "rdma_gpu_send_p99_us", PAIR, OUTCOME_NOT_MEASURED, "no_driver");
}

static void the_best_of_sizes_and_queue_pairs_is_held(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;
	struct json_doc doc;
	const cJSON *tried, *best = NULL, *one;

	company_run(x->c);
	r = expect(x, "rdma_nic_write_gbps", THERE, OUTCOME_MEASURED, NULL);
	assert_int_equal(json_parse(&doc, "params", r->params, strlen(r->params), 0, NULL), ST_OK);
	tried = json_get(doc.root, "tried");
	assert_int_equal(cJSON_GetArraySize(tried), 4);
	cJSON_ArrayForEach(one, tried)
	{
		if (!best || json_number(one, "gbps", 0) > json_number(best, "gbps", 0))
			best = one;
	}
	assert_true(json_number(best, "size", 0) == harness_param(r, "size"));
	assert_true(json_number(best, "queue_pairs", 0) == harness_param(r, "queue_pairs"));
	json_release(&doc);
	assert_non_null(harness_raw(&x->c->all[0].h, "rdma-write-mlx5_0-there.csv"));
	assert_non_null(harness_raw(&x->c->all[0].h, "rdma-write-mlx5_0-pings.csv"));
}

static void tcp_is_measured_beside_it(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;

	company_set(x->c, "tcp_s", "0.2");
	company_run(x->c);
	r = expect(x, "rdma_tcp_rate_ratio", PAIR, OUTCOME_MEASURED, NULL);
	assert_true(r->value > 0);
	assert_non_null(strstr(r->params, "\"tcp_cpu_s_per_gb\":"));
	assert_non_null(strstr(r->params, "\"rdma_cpu_s_per_gb\":"));
}

static void seconds_are_told(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;

	company_set(x->c, "seconds", "2.3");
	company_set(x->c, "sizes", "65536");
	company_set(x->c, "qps", "2");
	company_run(x->c);
	r = expect(x, "rdma_nic_worst_second", BACK, OUTCOME_MEASURED, NULL);
	assert_true(r->value > 0);
	expect(x, "rdma_nic_one_qp_gbps", THERE, OUTCOME_NOT_MEASURED, "rdma_not_tried");
}

/* Ten ticks a second: of three seconds one carries a thirtieth; the mean hardly shows it. */
static void a_dip_shows_in_the_worst_second(void **state)
{
	struct net_point points[31] = {{0, 0}};
	struct rdma_flow f = {.points = points, .n_points = 31};
	int seconds;

	(void)state;
	for (int i = 1; i <= 30; i++)
		points[i] = (struct net_point){i * RDMA_TICK,
		                               points[i - 1].bytes +
		                                       (i > 10 && i <= 20 ? 10000000 : 300000000)};
	f.bytes = points[30].bytes;
	f.ns = points[30].ns;
	assert_true(fabs(rdma_gbps(&f) - 8 * 6.1 / 3) < 1e-9);
	assert_true(fabs(rdma_worst_second(&f, &seconds) - 0.1 * 3 / 6.1) < 1e-9);
	assert_int_equal(seconds, 3);
}

/* --- nothing there ---------------------------------------------------------------------------------- */

static void expect_all(struct rdma_test *x, enum outcome outcome, const char *code)
{
	for (const struct metric *m = probe_rdma.metrics; m->name; m++)
		expect(x, m->name, PAIR, outcome, code);
}

static void no_adapter_is_unsupported_not_unmeasured(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;

	unlink(tmpf("%s/sys/class/infiniband/mlx5_0", x->tree[1]->root));
	company_run(x->c);
	expect_all(x, OUTCOME_UNSUPPORTED, "rdma_no_device");
	r = about(x, "rdma_write_gbps", PAIR);
	assert_string_equal(r->reason.args[0], "n002");
}

static void no_library_is_said(void **state)
{
	struct rdma_test *x = *state;

	x->c->all[0].h.ctx.lib_dir = x->tree[0]->root;
	company_run(x->c);
	expect_all(x, OUTCOME_NOT_MEASURED, "rdma_no_library");
	assert_non_null(strstr(about(x, "rdma_write_gbps", PAIR)->reason.text, "rdma-core"));
}

/* libibverbs as it is installed, which finds no device here. */
static void the_real_library_without_devices(void **state)
{
	struct rdma_test *x = *state;

	for (int e = 0; e < 2; e++)
		x->c->all[e].h.ctx.lib_dir = NULL;
	company_run(x->c);
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_NOT_MEASURED, NULL);
}

static void software_devices_only_by_name(void **state)
{
	struct rdma_test *x = *state;

	for (int e = 0; e < 2; e++) {
		unlink(tmpf("%s/sys/class/infiniband/mlx5_0", x->tree[e]->root));
		put(x->tree[e], "/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
		put(x->tree[e], "/sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet\n");
		put_gid(x->tree[e], "mlx5_0", 0, e ? GID4("2") : GID4("1"), "RoCE v2\n");
	}
	company_run(x->c);
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_UNSUPPORTED, "rdma_no_device");
	harness_clear(&x->c->all[0].h);
	company_set(x->c, "devices", "mlx5_0");
	company_run(x->c);
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
	/* No rate, so nothing to expect. */
	expect(x, "rdma_expected_gbps", PAIR, OUTCOME_NOT_MEASURED, "host_unreadable");
	expect(x, "rdma_error_rises", THERE, OUTCOME_NOT_MEASURED, "rdma_no_counters");
	assert_non_null(strstr(about(x, "rdma_write_gbps", PAIR)->params, "\"software\":true"));
}

/* --- ends that do not fit ------------------------------------------------------------------------------ */

static void expect_misfit(struct rdma_test *x, const char *code)
{
	expect(x, "rdma_ends_agree", THERE, OUTCOME_FAILED, code);
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_FAILED, code);
	expect(x, "rdma_nic_write_gbps", THERE, OUTCOME_FAILED, code);
	expect(x, "rdma_send_latency_us", THERE, OUTCOME_FAILED, code);
}

static void different_gid_types(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;

	put_gid(x->tree[1], "mlx5_0", 0, GID4("2"), "IB/RoCE v1\n");
	company_run(x->c);
	expect_misfit(x, "rdma_differ_type");
	r = about(x, "rdma_write_gbps", PAIR);
	assert_non_null(
		strstr(r->reason.text, "n001 mlx5_0 has RoCE v2, IPv4, GID 0 ::ffff:10.0.0.1"));
	assert_non_null(strstr(r->reason.text, "n002 mlx5_0 has RoCE v1"));
}

static void different_families(void **state)
{
	struct rdma_test *x = *state;

	put_gid(x->tree[0], "mlx5_0", 0, "fd93:0000:0000:0000:0000:0000:0000:0001", "RoCE v2\n");
	company_run(x->c);
	expect_misfit(x, "rdma_differ_family");
}

static void an_mtu_of_one_end_is_a_finding_and_the_smaller_is_used(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;

	setenv("VERBS_FAULT", "mtu=3", 1);
	company_run(x->c);
	r = expect(x, "rdma_ends_agree", THERE, OUTCOME_FAILED, "rdma_differ_mtu");
	assert_string_equal(r->reason.args[2], "4096");
	assert_string_equal(r->reason.args[5], "1024");
	r = expect(x, "rdma_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
	assert_true(harness_param(r, "mtu") == 1024);
	assert_true(fabs(about(x, "rdma_expected_gbps", PAIR)->value - 100 * 1024 / 1106.0) < 1e-9);
}

static void half_the_rate_on_one_end(void **state)
{
	struct rdma_test *x = *state;

	port_says(x->tree[1], "mlx5_0", "rate", "50 Gb/sec (2X EDR)\n");
	company_run(x->c);
	expect(x, "rdma_ends_agree", THERE, OUTCOME_FAILED, "rdma_differ_rate");
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
}

static void a_port_that_is_down(void **state)
{
	struct rdma_test *x = *state;

	port_says(x->tree[1], "mlx5_0", "state", "1: DOWN\n");
	company_run(x->c);
	expect_misfit(x, "rdma_port_down");
	assert_string_equal(about(x, "rdma_write_gbps", PAIR)->reason.args[0], "n002");
}

static void ports_down_on_both_sides_are_not_in_use(void **state)
{
	struct rdma_test *x = *state;

	for (int e = 0; e < 2; e++) {
		put_port(x->tree[e], "mlx5_1", "18");
		port_says(x->tree[e], "mlx5_1", "state", "1: DOWN\n");
	}
	company_run(x->c);
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
	assert_int_equal(harness_count(&x->c->all[0].h, "rdma_ends_agree"), 1);
}

static void an_adapter_without_a_partner(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;

	put_port(x->tree[0], "mlx5_1", "18");
	put_gid(x->tree[0], "mlx5_1", 0, GID4("3"), "RoCE v2\n");
	company_run(x->c);
	expect(x, "rdma_nic_write_gbps", THERE, OUTCOME_MEASURED, NULL);
	r = expect(x, "rdma_nic_write_gbps", "n001|n002|mlx5_1", OUTCOME_FAILED, "rdma_no_partner");
	assert_string_equal(r->reason.args[3], "1");
	/* The pair is as good as its weakest rail. */
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_FAILED, "rdma_no_partner");
}

static void two_rails(struct rdma_test *x)
{
	for (int e = 0; e < 2; e++) {
		put_port(x->tree[e], "mlx5_1", "18");
		put_gid(x->tree[e], "mlx5_1", 0, e ? GID4("4") : GID4("3"), "RoCE v2\n");
	}
}

static void every_adapter_with_its_partner(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;
	double least = INFINITY;

	two_rails(x);
	company_run(x->c);
	for (int i = 0; i < 2; i++) {
		const char *rail = i ? "mlx5_1" : "mlx5_0";

		for (int d = 0; d < 2; d++) {
			const char *id = arena_strf(&x->tree[0]->arena, "%s|%s",
			                            d ? "n002|n001" : "n001|n002", rail);

			r = expect(x, "rdma_nic_write_gbps", id, OUTCOME_MEASURED, NULL);
			least = fmin(least, r->value);
			assert_string_equal(r->subject.ends[0].nic, rail);
			assert_string_equal(r->subject.ends[1].nic, rail);
		}
	}
	assert_true(about(x, "rdma_write_gbps", PAIR)->value == least);
}

static void across_the_rails(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;

	two_rails(x);
	company_set(x->c, "shift", "1");
	company_run(x->c);
	r = expect(x, "rdma_nic_write_gbps", THERE, OUTCOME_MEASURED, NULL);
	assert_string_equal(r->subject.ends[1].nic, "mlx5_1");
	r = expect(x, "rdma_nic_write_gbps", BACK, OUTCOME_MEASURED, NULL);
	assert_string_equal(r->subject.ends[1].nic, "mlx5_1");
}

/* --- what breaks ------------------------------------------------------------------------------------------ */

static void expect_broken(struct rdma_test *x, const char *fault, const char *metric,
                          const char *id, enum outcome outcome, const char *code)
{
	setenv("VERBS_FAULT", fault, 1);
	company_run(x->c);
	expect(x, metric, id, outcome, code);
}

static void no_answer_names_both_ends_and_their_gids(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;

	expect_broken(x, "status=12,after=800,first", "rdma_nic_write_gbps", THERE, OUTCOME_FAILED,
	              "verbs_retries");
	r = expect(x, "rdma_write_gbps", PAIR, OUTCOME_FAILED, "verbs_retries");
	assert_non_null(strstr(r->reason.text, "n001 mlx5_0 got no answer from n002 mlx5_0"));
	assert_non_null(strstr(r->reason.text, "::ffff:10.0.0.1 and ::ffff:10.0.0.2"));
	assert_non_null(strstr(r->reason.text, "vendor 129"));
	/* What came before stands. */
	expect(x, "rdma_write_latency_us", THERE, OUTCOME_MEASURED, NULL);
}

static void the_second_ones_trouble_is_told(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;

	expect_broken(x, "status=10,after=300,second", "rdma_nic_write_gbps", BACK, OUTCOME_FAILED,
	              "verbs_remote_access");
	r = about(x, "rdma_nic_write_gbps", BACK);
	assert_string_equal(r->reason.args[0], "n002");
	expect(x, "rdma_nic_write_gbps", THERE, OUTCOME_MEASURED, NULL);
}

static void other_errors_have_their_causes(void **state)
{
	static const struct {
		const char *fault, *code;
		enum outcome outcome;
	} cases[] = {{"status=13", "verbs_not_ready", OUTCOME_NOT_MEASURED},
	             {"status=4", "verbs_protection", OUTCOME_FAILED},
	             {"status=5", "verbs_flushed", OUTCOME_FAILED},
	             {"status=9", "verbs_remote", OUTCOME_FAILED},
	             {"status=1", "verbs_length", OUTCOME_FAILED},
	             {"status=21", "verbs_broken", OUTCOME_FAILED}};
	struct rdma_test *x = *state;

	company_set(x->c, "silence_s", "0.2");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		expect_broken(x, cases[i].fault, "rdma_write_gbps", PAIR, cases[i].outcome,
		              cases[i].code);
		harness_clear(&x->c->all[0].h);
	}
}

static void changed_bytes_are_found(void **state)
{
	struct rdma_test *x = *state;
	const struct reading *r;

	company_set(x->c, "sizes", "65536");
	expect_broken(x, "flip,after=400,first", "rdma_write_gbps", PAIR, OUTCOME_FAILED,
	              "rdma_wrong");
	r = about(x, "rdma_write_gbps", PAIR);
	assert_string_equal(r->reason.args[0], "write");
}

static void silence_has_an_end(void **state)
{
	struct rdma_test *x = *state;

	company_set(x->c, "silence_s", "0.3");
	expect_broken(x, "hang,after=400,first", "rdma_write_gbps", PAIR, OUTCOME_TIMED_OUT,
	              "rdma_stalled");
}

static void memory_that_is_refused(void **state)
{
	struct rdma_test *x = *state;

	expect_broken(x, "reg=12", "rdma_write_gbps", PAIR, OUTCOME_NOT_MEASURED, "rdma_refused");
	assert_non_null(strstr(about(x, "rdma_write_gbps", PAIR)->reason.text, "ulimit -l"));
	harness_clear(&x->c->all[0].h);
	expect_broken(x, "reg=14", "rdma_write_gbps", PAIR, OUTCOME_NOT_MEASURED, "rdma_refused");
	assert_non_null(
		strstr(about(x, "rdma_write_gbps", PAIR)->reason.text, "ibv_reg_mr failed"));
}

/* What perftest says with a number alone. */
static void memory_of_a_card_that_is_refused(void **state)
{
	static const struct {
		const char *fault, *words;
		int dmabuf;
	} cases[] = {{"reg=14", "nvidia_peermem is not loaded", VERBS_CARD},
	             {"reg=93", "nvidia_peermem is not loaded", VERBS_CARD},
	             {"reg=0", "open kernel module", 9}};
	struct rdma_test *x = *state;
	char memory[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verbs verbs;
		struct verbs_device *dev;
		struct error err = {0};
		struct arena *a = &x->tree[0]->arena;

		setenv("VERBS_FAULT", cases[i].fault, 1);
		assert_int_equal(verbs_open(&verbs, a, x->c->all[0].h.ctx.lib_dir, &err), ST_OK);
		assert_int_equal(verbs_device_open(&dev, &verbs, a, "mlx5_0", 1, &err), ST_OK);
		assert_int_equal(verbs_memory(dev, memory, sizeof(memory), cases[i].dmabuf, &err),
		                 ST_UNSUPPORTED);
		if (!strstr(err.text.data, cases[i].words))
			fail_msg("%s", err.text.data);
		error_release(&err);
		verbs_device_close(dev);
	}
}

/* --- InfiniBand ------------------------------------------------------------------------------------------ */

static void over_infiniband(struct rdma_test *x, const char *fault)
{
	for (int e = 0; e < 2; e++) {
		port_says(x->tree[e], "mlx5_0", "link_layer", "InfiniBand\n");
		put_gid(x->tree[e], "mlx5_0", 0, e ? IB_GID("2") : IB_GID("1"), "IB/RoCE v1\n");
	}
	setenv("VERBS_FAULT", fault, 1);
	company_run(x->c);
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
	assert_true(fabs(about(x, "rdma_expected_gbps", PAIR)->value - 100 * 4096 / 4122.0) < 1e-9);
}

static void infiniband_goes_by_lid(void **state)
{
	over_infiniband(*state, "ib");
}

static void a_port_that_requires_a_grh_gets_it(void **state)
{
	over_infiniband(*state, "grh");
}

static void devices_that_cannot_be_used(void **state)
{
	struct rdma_test *x = *state;

	expect_broken(x, "list", "rdma_write_gbps", PAIR, OUTCOME_NOT_MEASURED, "rdma_refused");
	assert_non_null(strstr(about(x, "rdma_write_gbps", PAIR)->reason.text, "/dev/infiniband"));
	harness_clear(&x->c->all[0].h);
	expect_broken(x, "open", "rdma_write_gbps", PAIR, OUTCOME_NOT_MEASURED, "rdma_refused");
	harness_clear(&x->c->all[0].h);
	expect_broken(x, "rtr=110", "rdma_write_gbps", PAIR, OUTCOME_FAILED, "rdma_refused");
	assert_non_null(strstr(about(x, "rdma_write_gbps", PAIR)->reason.text, "ready to receive"));
}

static bool go_mute(cJSON *text, int n)
{
	(void)text;
	return n < 3;
}

static void a_peer_that_falls_silent(void **state)
{
	struct rdma_test *x = *state;

	company_set(x->c, "silence_s", "0.2");
	x->c->all[1].meddle = go_mute;
	company_run(x->c);
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_NOT_MEASURED, "rdma_peer_gone");
}

#define RDMA_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RDMA_TEST(every_figure_is_measured),
		RDMA_TEST(the_best_of_sizes_and_queue_pairs_is_held),
		RDMA_TEST(tcp_is_measured_beside_it),
		RDMA_TEST(seconds_are_told),
		cmocka_unit_test(a_dip_shows_in_the_worst_second),
		RDMA_TEST(no_adapter_is_unsupported_not_unmeasured),
		RDMA_TEST(no_library_is_said),
		RDMA_TEST(the_real_library_without_devices),
		RDMA_TEST(software_devices_only_by_name),
		RDMA_TEST(different_gid_types),
		RDMA_TEST(different_families),
		RDMA_TEST(an_mtu_of_one_end_is_a_finding_and_the_smaller_is_used),
		RDMA_TEST(half_the_rate_on_one_end),
		RDMA_TEST(a_port_that_is_down),
		RDMA_TEST(ports_down_on_both_sides_are_not_in_use),
		RDMA_TEST(an_adapter_without_a_partner),
		RDMA_TEST(every_adapter_with_its_partner),
		RDMA_TEST(across_the_rails),
		RDMA_TEST(no_answer_names_both_ends_and_their_gids),
		RDMA_TEST(the_second_ones_trouble_is_told),
		RDMA_TEST(other_errors_have_their_causes),
		RDMA_TEST(changed_bytes_are_found),
		RDMA_TEST(silence_has_an_end),
		RDMA_TEST(memory_that_is_refused),
		RDMA_TEST(memory_of_a_card_that_is_refused),
		RDMA_TEST(infiniband_goes_by_lid),
		RDMA_TEST(a_port_that_requires_a_grh_gets_it),
		RDMA_TEST(devices_that_cannot_be_used),
		RDMA_TEST(a_peer_that_falls_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
