/* The patterns: who sends to whom, four nodes that do it over TCP and over a
 * libibverbs that is none (double_verbs.c), and what can go wrong between them. */
#include "rdma_kit.h"

#include <math.h>

#include "patterns.h"

extern const struct probe probe_patterns;

#define NODES 4

/* --- who sends to whom ------------------------------------------------------------------ */

static void each_node_receives_once(void **state)
{
	int to[64], received[64];

	(void)state;
	for (int n = PATTERNS_LEAST; n <= 64; n++)
		for (int senders = 3; senders <= PATTERNS_SENDERS; senders++) {
			memset(received, 0, sizeof(received));
			for (int t = 0; t < patterns_incast_turns(n, senders); t++) {
				patterns_incast(n, senders, t, to);
				for (int i = 0; i < n; i++) {
					int count = patterns_senders(to, n, i);

					assert_true(to[i] < n && to[i] != i);
					/* Who receives does not send. */
					assert_true(count == 0 || to[i] < 0);
					assert_true(count == 0 || count >= 2);
					assert_true(count <= PATTERNS_INCOMING);
					received[i] += count > 0;
				}
			}
			for (int i = 0; i < n; i++)
				assert_int_equal(received[i], 1);
		}
	assert_int_equal(patterns_incast_turns(16, 7), 8);
	patterns_incast(16, 7, 2, to);
	assert_int_equal(to[0], 2);
	assert_int_equal(to[2], -1);
	assert_int_equal(to[8], 10);
}

static void permutations_are_whole_and_differ(void **state)
{
	int to[9], other[9], same = 0;

	(void)state;
	patterns_permutation(9, 7, 1, other);
	patterns_permutation(9, 7, 0, to);
	for (int i = 0; i < 9; i++) {
		assert_int_equal(patterns_senders(to, 9, i), 1);
		assert_int_not_equal(to[i], i);
		same += to[i] == other[i];
	}
	assert_true(same < 9);
}

static void halves_face_each_other(void **state)
{
	static const int order[] = {4, 0, 2, 1, 3};
	int to[5];

	(void)state;
	patterns_bisection(order, 5, to);
	assert_int_equal(to[4], 2);
	assert_int_equal(to[2], 4);
	assert_int_equal(to[0], 1);
	assert_int_equal(to[1], 0);
	assert_int_equal(to[3], -1);
}

/* --- four nodes --------------------------------------------------------------------------- */

struct fabric_test {
	struct tree *tree[NODES];
	struct company *c;
	bool rdma; /* what is looked at */
};

static void put_adapter(struct tree *t, int node)
{
	put_port(t, "mlx5_0", "17");
	put_gid(t, "mlx5_0", 0, arena_strf(&t->arena, GID4("%d"), node + 1), "RoCE v2\n");
}

static int with_nodes(void **state)
{
	struct fabric_test *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	for (int e = 0; e < NODES; e++) {
		void *tree = NULL;

		tree_set_up(&tree);
		x->tree[e] = tree;
		put(x->tree[e], "/sys/class/infiniband/.keep", "");
	}
	x->c = malloc(sizeof(*x->c));
	assert_non_null(x->c);
	company_init(x->c, &probe_patterns, NODES, "*");
	for (int e = 0; e < NODES; e++) {
		x->c->all[e].h.ctx.sys_root = x->tree[e]->root;
		x->c->all[e].h.ctx.lib_dir = BINARY_DIR "/tests/probes/double_verbs";
		x->c->all[e].h.ctx.seed = 3;
	}
	company_set(x->c, "permutations", "1");
	company_set(x->c, "senders", "3");
	company_set(x->c, "seconds", "0.03");
	company_set(x->c, "ramp_s", "0.01");
	company_set(x->c, "qps", "2");
	setenv("VERBS_DOUBLE", tmpf("%s/fabric", x->tree[0]->root), 1);
	setenv("VERBS_FIRST", tmpf("%d", (int)getpid()), 1);
	unsetenv("VERBS_FAULT");
	*state = x;
	return 0;
}

static int with_adapters(void **state)
{
	struct fabric_test *x;

#ifndef HAVE_VERBS
	print_message("no verbs in this build\n");
	exit(77);
#endif
	with_nodes(state);
	x = *state;
	x->rdma = true;
	for (int e = 0; e < NODES; e++)
		put_adapter(x->tree[e], e);
	return 0;
}

static int without_nodes(void **state)
{
	struct fabric_test *x = *state;

	company_release(x->c);
	free(x->c);
	for (int e = 0; e < NODES; e++) {
		void *tree = x->tree[e];

		tree_tear_down(&tree);
	}
	free(x);
	return 0;
}

static const struct reading *find(const struct fabric_test *x, const char *metric, const char *id)
{
	const struct harness *h = &x->c->all[0].h;

	for (int i = 0; i < h->n_readings; i++)
		if (strcmp(h->readings[i].metric, metric) == 0 &&
		    (!id || strcmp(h->readings[i].subject.id, id) == 0))
			return &h->readings[i];
	fail_msg("no %s of %s", metric, id ? id : "any");
	return NULL;
}

static const struct reading *is(const struct fabric_test *x, const char *metric, const char *id,
                                enum outcome outcome, const char *code)
{
	const struct reading *r = find(x, metric, id);

	if (r->outcome != outcome || (code && (!r->reason.code || strcmp(r->reason.code, code))))
		fail_msg("%s of %s: %s, %s", metric, id ? id : "any", outcome_name(r->outcome),
		         r->reason.code ? r->reason.text : "no reason");
	return r;
}

static const struct harness *lead(const struct fabric_test *x)
{
	return &x->c->all[0].h;
}

/* Flows by outcome. */
static int flows(const struct fabric_test *x, enum outcome outcome, const char *code)
{
	const struct harness *h = lead(x);
	int n = 0;

	for (int i = 0; i < h->n_readings; i++) {
		const struct reading *r = &h->readings[i];

		n += strcmp(r->metric, x->rdma ? "rdma_flow_gbps" : "net_flow_gbps") == 0 &&
		     r->outcome == outcome && (!code || strcmp(r->reason.code, code) == 0);
	}
	return n;
}

/* All figures of one way have this outcome, and there is one for each node. */
static void expect_way(const struct fabric_test *x, const char *prefix, enum outcome outcome,
                       const char *code)
{
	for (const struct metric *m = probe_patterns.metrics; m->name; m++) {
		if (!str_starts(m->name, prefix))
			continue;
		for (int i = 0; i < (m->subject == SUBJECT_NODE ? NODES : 1); i++)
			is(x, m->name, m->subject == SUBJECT_NODE ? company_nodes[i] : "*", outcome,
			   code);
	}
}

/* --- as it should be -------------------------------------------------------------------- */

/* A permutation, two halves, four turns of three to one. */
#define ALL_FLOWS (4 + 4 + 12)

static void all_is_measured_over_tcp(void **state)
{
	struct fabric_test *x = *state;
	const struct reading *r;

	company_run(x->c);
	assert_int_equal(flows(x, OUTCOME_MEASURED, NULL), ALL_FLOWS);
	for (int i = 0; i < NODES; i++) {
		r = is(x, "net_incast_kept", company_nodes[i], OUTCOME_MEASURED, NULL);
		assert_string_equal(r->node, company_nodes[i]);
		assert_true(r->value > 0);
		assert_true(fabs(r->value -
		                 harness_param(r, "gbps") / harness_param(r, "alone_gbps")) < 1e-6);
		r = is(x, "net_incast_fairness", company_nodes[i], OUTCOME_MEASURED, NULL);
		assert_true(r->value > 0.3 && r->value <= 1 + 1e-9);
		assert_true(harness_param(r, "senders") == 3);
	}
	assert_true(is(x, "net_bisection_gbps", NULL, OUTCOME_MEASURED, NULL)->value > 0);
	r = is(x, "net_permutation_gbps", NULL, OUTCOME_MEASURED, NULL);
	assert_true(harness_param(r, "flows") == 4);
	r = is(x, "net_permutation_worst", NULL, OUTCOME_MEASURED, NULL);
	assert_true(r->value > 0 && r->value <= 1);
	assert_non_null(strstr(r->params, "TCP over sockets"));
	expect_way(x, "rdma_", OUTCOME_UNSUPPORTED, "rdma_no_device");
	assert_non_null(strstr(harness_raw(lead(x), "patterns-flows.csv")->data,
	                       "\nincast,0,n002,n001,3,"));
}

static void all_is_measured_by_verbs(void **state)
{
	struct fabric_test *x = *state;
	const double line = 100 * 4096 / 4178.0;
	const struct reading *r;

	company_run(x->c);
	assert_int_equal(flows(x, OUTCOME_MEASURED, NULL), ALL_FLOWS);
	for (int i = 0; i < NODES; i++) {
		r = is(x, "rdma_incast_share", company_nodes[i], OUTCOME_MEASURED, NULL);
		assert_true(fabs(harness_param(r, "line_gbps") - line) < 1e-6);
		assert_true(fabs(r->value - harness_param(r, "gbps") / line) < 1e-6);
	}
	r = is(x, "rdma_bisection_share", NULL, OUTCOME_MEASURED, NULL);
	assert_true(fabs(harness_param(r, "expected_gbps") - 4 * line) < 1e-6);
	assert_true(fabs(r->value - harness_param(r, "gbps") / (4 * line)) < 1e-6);
	is(x, "rdma_permutation_share", NULL, OUTCOME_MEASURED, NULL);
	is(x, "rdma_permutation_worst", NULL, OUTCOME_MEASURED, NULL);
	expect_way(x, "net_", OUTCOME_NOT_MEASURED, "patterns_other_way");
}

/* Two rails at once, of which one node has a third. */
static void rails_add_up(void **state)
{
	struct fabric_test *x = *state;
	const struct reading *r;

	for (int e = 0; e < NODES; e++) {
		put_port(x->tree[e], "mlx5_1", "18");
		put_gid(x->tree[e], "mlx5_1", 0, arena_strf(&x->tree[e]->arena, GID4("%d"), e + 5),
		        "RoCE v2\n");
	}
	put_port(x->tree[2], "mlx5_2", "19");
	put_gid(x->tree[2], "mlx5_2", 0, GID4("9"), "RoCE v2\n");
	company_set(x->c, "bisection", "0");
	company_set(x->c, "incast", "0");
	company_run(x->c);
	r = is(x, "rdma_permutation_share", NULL, OUTCOME_MEASURED, NULL);
	assert_true(harness_param(r, "rails") == 2);
	assert_true(fabs(harness_param(r, "expected_gbps") - 8 * 100 * 4096 / 4178.0) < 1e-6);
	is(x, "rdma_bisection_share", NULL, OUTCOME_NOT_MEASURED, "patterns_not_tried");
	is(x, "rdma_incast_share", "n003", OUTCOME_NOT_MEASURED, "patterns_not_tried");
}

static void halves_are_made_of_leaves(void **state)
{
	struct fabric_test *x = *state;
	const struct reading *r;

	company_set(x->c, "leaves", "a:n001,n003;b:n002,n004,n099");
	company_set(x->c, "permutations", "0");
	company_set(x->c, "incast", "0");
	company_run(x->c);
	/* Across: in the order of nodes it would be n001 and n003. */
	for (int i = 0; i < 2; i++) {
		r = is(x, "net_flow_gbps", i ? "n003|n004" : "n001|n002", OUTCOME_MEASURED, NULL);
		assert_non_null(strstr(r->params, "\"leaves\":[\"a\",\"b\"]"));
		assert_null(strstr(r->params, "\"senders\""));
	}
	is(x, "net_permutation_worst", NULL, OUTCOME_NOT_MEASURED, "patterns_not_tried");
}

static void the_other_way_may_be_asked_for(void **state)
{
	struct fabric_test *x = *state;

	company_set(x->c, "transport", "tcp");
	company_set(x->c, "incast", "0");
	company_run(x->c);
	x->rdma = false;
	assert_int_equal(flows(x, OUTCOME_MEASURED, NULL), 8);
	expect_way(x, "rdma_", OUTCOME_NOT_MEASURED, "patterns_other_way");
}

/* --- what is missing or wrong ------------------------------------------------------------- */

static void rdma_that_is_not_there(void **state)
{
	struct fabric_test *x = *state;

	company_set(x->c, "transport", "rdma");
	company_run(x->c);
	expect_way(x, "rdma_", OUTCOME_UNSUPPORTED, "rdma_no_device");
	expect_way(x, "net_", OUTCOME_NOT_MEASURED, "patterns_other_way");
}

static void one_node_without_a_port(void **state)
{
	struct fabric_test *x = *state;

	port_says(x->tree[2], "mlx5_0", "state", "1: DOWN\n");
	company_set(x->c, "incast", "0");
	company_run(x->c);
	expect_way(x, "rdma_", OUTCOME_FAILED, "patterns_all_down");
	assert_string_equal(find(x, "rdma_bisection_share", NULL)->reason.args[0], "n003");
	is(x, "net_bisection_gbps", NULL, OUTCOME_MEASURED, NULL);
}

static void too_few_nodes(void **state)
{
	struct fabric_test *x = *state;

	x->c->all[0].h.ctx.n_peers = 2;
	harness_run(&x->c->all[0].h, ST_OK);
	is(x, "rdma_bisection_share", NULL, OUTCOME_NOT_MEASURED, "patterns_few");
	is(x, "net_flow_gbps", "*", OUTCOME_NOT_MEASURED, "patterns_few");
}

static void leaves_that_make_no_sense(void **state)
{
	static const char *const texts[] = {"n001,n002", ":n001", "a:n001;b"};
	struct fabric_test *x = *state;

	for (int i = 0; i < 3; i++) {
		company_set(x->c, "leaves", texts[i]);
		company_run(x->c);
		is(x, "net_bisection_gbps", NULL, OUTCOME_NOT_MEASURED, "patterns_bad_leaves");
		harness_clear(&x->c->all[0].h);
	}
}

static void an_interface_that_is_none(void **state)
{
	struct fabric_test *x = *state;

	harness_set(&x->c->all[2].h, "interface", "nope0");
	company_set(x->c, "bisection", "0");
	company_set(x->c, "incast", "0");
	company_run(x->c);
	is(x, "net_permutation_gbps", NULL, OUTCOME_NOT_MEASURED, NULL);
	assert_int_equal(flows(x, OUTCOME_NOT_MEASURED, "patterns_no_listen"), 2);
	/* The others' are none of their fault. */
	assert_int_equal(flows(x, OUTCOME_NOT_MEASURED, "patterns_broken"), 2);
	assert_string_equal(find(x, "net_flow_gbps", NULL)->reason.args[0], "n003");
}

static bool falls_silent(cJSON *text, int n)
{
	(void)text;
	return n < 2;
}

static void a_node_that_falls_silent(void **state)
{
	struct fabric_test *x = *state;
	const struct reading *r;

	company_set(x->c, "silence_s", "0.2");
	x->c->all[2].meddle = falls_silent;
	company_run(x->c);
	r = is(x, "net_bisection_gbps", NULL, OUTCOME_NOT_MEASURED, "patterns_silent");
	assert_string_equal(r->reason.args[0], "n003");
	expect_way(x, "rdma_", OUTCOME_UNSUPPORTED, NULL);
}

static bool talks_nonsense(cJSON *text, int n)
{
	if (n == 2)
		cJSON_ReplaceItemInObject(text, "kind", cJSON_CreateString("hello"));
	return true;
}

static void a_node_that_talks_nonsense(void **state)
{
	struct fabric_test *x = *state;

	x->c->all[1].meddle = talks_nonsense;
	company_run(x->c);
	is(x, "net_bisection_gbps", NULL, OUTCOME_NOT_MEASURED, "patterns_garbled");
}

static bool has_another_token(cJSON *text, int n)
{
	cJSON *token = cJSON_GetObjectItem(cJSON_GetObjectItem(text, "offer"), "token");

	(void)n;
	if (token)
		token->valuestring[0] ^= 1;
	return true;
}

/* Who listens does not let in who knows another token. */
static void a_token_that_does_not_fit(void **state)
{
	struct fabric_test *x = *state;

	x->c->all[1].meddle = has_another_token;
	company_set(x->c, "silence_s", "0.3");
	company_set(x->c, "bisection", "0");
	company_set(x->c, "incast", "0");
	company_run(x->c);
	assert_int_equal(flows(x, OUTCOME_MEASURED, NULL), 0);
	assert_true(flows(x, OUTCOME_NOT_MEASURED, "patterns_not_met") >= 1);
}

/* --- verbs that fail ------------------------------------------------------------------------ */

static void a_sender_without_answer(void **state)
{
	struct fabric_test *x = *state;
	const struct reading *r;

	setenv("VERBS_FAULT", "status=12,after=5,first", 1);
	company_run(x->c);
	/* It sends in the permutation, between the halves and to the three others. */
	assert_int_equal(flows(x, OUTCOME_FAILED, "verbs_retries"), 5);
	assert_int_equal(flows(x, OUTCOME_MEASURED, NULL), ALL_FLOWS - 5);
	r = is(x, "rdma_bisection_share", NULL, OUTCOME_FAILED, "verbs_retries");
	assert_string_equal(r->reason.args[0], "n001");
	is(x, "rdma_incast_share", "n002", OUTCOME_FAILED, "verbs_retries");
	/* To it the others send as they should. */
	is(x, "rdma_incast_share", "n001", OUTCOME_MEASURED, NULL);
}

static void a_byte_that_changed(void **state)
{
	struct fabric_test *x = *state;
	const struct reading *r;

	setenv("VERBS_FAULT", "flip,after=3,first", 1);
	company_set(x->c, "bisection", "0");
	company_set(x->c, "incast", "0");
	/* So few that the wrong one is not written over. */
	company_set(x->c, "qps", "1");
	company_run(x->c);
	assert_int_equal(flows(x, OUTCOME_FAILED, "patterns_wrong"), 1);
	r = is(x, "rdma_permutation_share", NULL, OUTCOME_FAILED, "patterns_wrong");
	assert_string_equal(r->reason.args[0], "n001");
}

static void writes_that_never_end(void **state)
{
	struct fabric_test *x = *state;

	setenv("VERBS_FAULT", "hang,first", 1);
	company_set(x->c, "silence_s", "0.2");
	company_set(x->c, "bisection", "0");
	company_set(x->c, "incast", "0");
	company_run(x->c);
	assert_int_equal(flows(x, OUTCOME_TIMED_OUT, "rdma_stalled"), 1);
	assert_int_equal(flows(x, OUTCOME_MEASURED, NULL), 3);
}

static void memory_that_is_refused_to_all(void **state)
{
	struct fabric_test *x = *state;

	setenv("VERBS_FAULT", "reg=12", 1);
	company_set(x->c, "bisection", "0");
	company_set(x->c, "incast", "0");
	company_run(x->c);
	is(x, "rdma_permutation_share", NULL, OUTCOME_NOT_MEASURED, "rdma_refused");
}

static void ends_that_do_not_fit(void **state)
{
	struct fabric_test *x = *state;
	const struct reading *r;

	put_gid(x->tree[3], "mlx5_0", 0, GID4("4"), "IB/RoCE v1\n");
	company_set(x->c, "bisection", "0");
	company_set(x->c, "incast", "0");
	company_run(x->c);
	/* To it and from it. */
	assert_int_equal(flows(x, OUTCOME_FAILED, "rdma_differ_type"), 2);
	assert_int_equal(flows(x, OUTCOME_MEASURED, NULL), 2);
	r = is(x, "rdma_permutation_worst", NULL, OUTCOME_FAILED, "rdma_differ_type");
	assert_non_null(strstr(r->reason.text, "n004 mlx5_0"));
}

#define TCP_TEST(name)  cmocka_unit_test_setup_teardown(name, with_nodes, without_nodes)
#define RDMA_TEST(name) cmocka_unit_test_setup_teardown(name, with_adapters, without_nodes)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_receives_once),
		cmocka_unit_test(permutations_are_whole_and_differ),
		cmocka_unit_test(halves_face_each_other),
		TCP_TEST(all_is_measured_over_tcp),
		TCP_TEST(halves_are_made_of_leaves),
		TCP_TEST(rdma_that_is_not_there),
		TCP_TEST(too_few_nodes),
		TCP_TEST(leaves_that_make_no_sense),
		TCP_TEST(an_interface_that_is_none),
		TCP_TEST(a_node_that_falls_silent),
		TCP_TEST(a_node_that_talks_nonsense),
		TCP_TEST(a_token_that_does_not_fit),
		RDMA_TEST(all_is_measured_by_verbs),
		RDMA_TEST(rails_add_up),
		RDMA_TEST(the_other_way_may_be_asked_for),
		RDMA_TEST(one_node_without_a_port),
		RDMA_TEST(a_sender_without_answer),
		RDMA_TEST(a_byte_that_changed),
		RDMA_TEST(writes_that_never_end),
		RDMA_TEST(memory_that_is_refused_to_all),
		RDMA_TEST(ends_that_do_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
