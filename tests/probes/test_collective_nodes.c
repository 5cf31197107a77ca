/* collective_nodes: three nodes that add up on their hosts, one of which adds wrongly,
 * is silent, gone or hangs; two and three nodes of cards by the doubles of NVIDIA's
 * libraries, with a slow adapter, a wrong sum, a rank that never comes. */
#include "company_kit.h"

#include <math.h>

#include "bench/collective_nodes.h"
#include "card_kit.h"

extern const struct probe probe_collective_nodes;

/* --- who adds up with whom ------------------------------------------------------------ */

/* Pairs of a round as "0-1 2-3". */
static const char *round_text(struct arena *arena, int nodes, int round)
{
	struct nodes_groups g = nodes_pairs(arena, nodes, round);
	struct str text = {0};
	const char *kept;

	for (int i = 0; i < g.n; i++)
		str_addf(&text, "%s%d-%d", i ? " " : "", g.list[i].members[0],
		         g.list[i].members[1]);
	kept = arena_str(arena, str_text(&text));
	str_release(&text);
	return kept;
}

static void each_has_two_neighbours(void **state)
{
	struct arena arena = {0};

	(void)state;
	assert_int_equal(nodes_pair_rounds(1), 0);
	assert_int_equal(nodes_pair_rounds(2), 1);
	assert_string_equal(round_text(&arena, 2, 0), "0-1");
	assert_int_equal(nodes_pair_rounds(4), 2);
	assert_string_equal(round_text(&arena, 4, 0), "0-1 2-3");
	assert_string_equal(round_text(&arena, 4, 1), "1-2 3-0");
	assert_int_equal(nodes_pair_rounds(5), 3);
	assert_string_equal(round_text(&arena, 5, 0), "0-1 2-3");
	assert_string_equal(round_text(&arena, 5, 1), "1-2 3-4");
	assert_string_equal(round_text(&arena, 5, 2), "4-0");
	arena_release(&arena);
}

static void groups_of_a_size(void **state)
{
	struct arena arena = {0};
	struct nodes_groups g = nodes_in(&arena, 11, 4);

	(void)state;
	assert_int_equal(g.n, 2);
	assert_int_equal(g.list[1].n_members, 4);
	assert_int_equal(g.list[1].members[0], 4);
	assert_int_equal(g.list[1].members[3], 7);
	arena_release(&arena);
}

/* 4 x 8 H100 with an adapter of 50 GB/s each and 331 GB/s; two DGX A100 with 192. */
static void what_the_wire_carries(void **state)
{
	double second = 2 * 31.0 / 32 / 331;
	struct nodes_group g = {.n_members = 4, .ranks = 32, .seconds = {&second, 1, 1}};

	(void)state;
	assert_true(fabs(nodes_busbw(&g, 1000000000) - 331) < 1e-6);
	assert_true(fabs(nodes_wire(&g, 1000000000, false, 8) / 8 - 32.03) < 0.01);
	g = (struct nodes_group){.n_members = 2, .ranks = 16, .seconds = {&second, 1, 1}};
	second = 2 * 15.0 / 16 / 192;
	assert_true(fabs(nodes_wire(&g, 1000000000, true, 8) / 8 - 24) < 1e-6);
}

/* --- hosts ------------------------------------------------------------------------------ */

static int set_up(void **state)
{
	struct company *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	company_init(c, &probe_collective_nodes, 3, "*");
	company_set(c, "interface", "lo");
	company_set(c, "host_size", "64K");
	company_set(c, "window_s", "0.001");
	company_set(c, "timeout_s", "60");
	for (int i = 0; i < 3; i++)
		c->all[i].h.ctx.lib_dir = "/nonexistent";
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	company_release(*state);
	free(*state);
	return 0;
}

static struct harness *first(struct company *c)
{
	return &c->all[0].h;
}

static const struct reading *of_node(const struct company *c, const char *metric, int node)
{
	const struct harness *h = &c->all[0].h;
	const struct reading *found = NULL;

	for (int i = 0; i < h->n_readings; i++)
		if (strcmp(h->readings[i].metric, metric) == 0 &&
		    strcmp(h->readings[i].subject.id, company_nodes[node]) == 0) {
			assert_null(found);
			found = &h->readings[i];
		}
	if (!found)
		fail_msg("no %s of %s", metric, company_nodes[node]);
	return found;
}

static void expect_words(const struct reading *r, const char *words)
{
	if (!r->reason.text || !strstr(r->reason.text, words))
		fail_msg("\"%s\" is not in: %s", words, r->reason.text ? r->reason.text : "");
}

/* What rules judge is owed for want of cards, and of all nodes. */
static void expect_no_cards(struct company *c)
{
	for (const struct metric *m = probe_collective_nodes.metrics; m->name; m++)
		if (m->backend == BACKEND_CUDA && m->subject == SUBJECT_CLUSTER)
			harness_expect(first(c), m->name, OUTCOME_NOT_MEASURED, "no_driver");
	for (int i = 0; i < c->count; i++)
		assert_int_equal(of_node(c, "collective_node_nic_share", i)->outcome,
		                 OUTCOME_NOT_MEASURED);
}

static void hosts_add_up(void **state)
{
	struct company *c = *state;
	const struct reading *r;

	company_run(c);
	expect_no_cards(c);
	r = harness_expect(first(c), "cpu_collective_nodes_busbw_gbs", OUTCOME_MEASURED, NULL);
	assert_true(r->value > 0);
	assert_true(r->stats[STAT_CI_LO] <= r->value && r->value <= r->stats[STAT_CI_HI]);
	assert_true(harness_param(r, "ranks") == 3);
	assert_true(harness_param(r, "bytes") == 65536);
	assert_non_null(strstr(harness_param_text(first(c), r, "transport"), "not NCCL"));
	r = harness_expect(first(c), "cpu_collective_group_busbw_gbs", OUTCOME_MEASURED, NULL);
	/* Three pairs and all of them. */
	assert_true(harness_param(r, "groups") == 4);
	assert_non_null(harness_raw(first(c), "collective-groups.csv"));
	for (int i = 0; i < 3; i++)
		assert_true(of_node(c, "cpu_collective_node_gbs", i)->value > 0);
	r = harness_expect(first(c), "cpu_collective_nodes_wrong", OUTCOME_MEASURED, NULL);
	assert_true(r->value == 0);
	assert_true(harness_param(r, "elements_checked") > 16384);
	assert_false(first(c)->ctx.simulated);
}

/* A node of another seed adds other numbers: all sums of its groups are wrong. */
static void one_adds_wrongly(void **state)
{
	struct company *c = *state;
	const struct reading *r;

	c->all[1].h.ctx.seed ^= 1;
	company_run(c);
	r = harness_expect(first(c), "cpu_collective_nodes_wrong", OUTCOME_FAILED,
	                   "collective_nodes_wrong");
	assert_true(r->value > 0);
	harness_expect(first(c), "cpu_collective_nodes_busbw_gbs", OUTCOME_FAILED,
	               "collective_nodes_wrong");
}

/* All figures of the hosts are missing for this, which names the third node alone. */
static void expect_third(struct company *c, enum outcome outcome, const char *code)
{
	for (const struct metric *m = probe_collective_nodes.metrics; m->name; m++)
		if (m->backend == BACKEND_CPU && m->subject == SUBJECT_CLUSTER)
			expect_words(harness_expect(first(c), m->name, outcome, code), "n003");
	assert_int_equal(of_node(c, "cpu_collective_node_gbs", 2)->outcome, outcome);
	for (int i = 0; i < 2; i++)
		assert_int_equal(of_node(c, "cpu_collective_node_gbs", i)->outcome,
		                 OUTCOME_NOT_MEASURED);
}

static bool says_nothing(cJSON *text, int n)
{
	(void)text;
	return n > 100;
}

static void one_never_says_hello(void **state)
{
	struct company *c = *state;

	company_set(c, "patience_s", "0.5");
	c->all[2].meddle = says_nothing;
	company_run(c);
	expect_third(c, OUTCOME_TIMED_OUT, "collective_nodes_silent");
}

static bool greets_with_nonsense(cJSON *text, int n)
{
	if (n == 0)
		cJSON_ReplaceItemInObject(text, "outcome", cJSON_CreateString("well"));
	return true;
}

static void one_says_nonsense(void **state)
{
	struct company *c = *state;

	c->all[2].meddle = greets_with_nonsense;
	company_run(c);
	expect_third(c, OUTCOME_FAILED, "collective_nodes_garbage");
}

static bool answers_with_nonsense(cJSON *text, int n)
{
	if (n == 1)
		cJSON_DeleteItemFromObject(text, "outcome");
	return true;
}

static void one_answers_nonsense(void **state)
{
	struct company *c = *state;

	c->all[2].meddle = answers_with_nonsense;
	company_run(c);
	expect_third(c, OUTCOME_FAILED, "collective_nodes_garbage");
}

static enum status dies_on_the_way(struct probe_ctx *ctx, int from, double seconds,
                                   const char **text)
{
	enum status st = company_recv(ctx, from, seconds, text);

	if (st == ST_OK && from == 0 && strstr(*text, "\"step\":\"try\""))
		raise(SIGKILL);
	return st;
}

static struct company *kept_company;

/* The coordinator tells that a child has ended; sockets that all inherit do not. */
static enum status recv_from_living(struct probe_ctx *ctx, int from, double seconds,
                                    const char **text)
{
	int64_t until = clock_now(&clock_system) + (int64_t)(seconds * 1e9);
	enum status st = ST_TIMEOUT;

	while (st == ST_TIMEOUT && clock_now(&clock_system) < until) {
		siginfo_t info = {0};

		st = company_recv(ctx, from, 0.02, text);
		if (st == ST_TIMEOUT &&
		    waitid(P_PID, (id_t)kept_company->pid[from], &info,
		           WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    info.si_pid)
			st = ST_IO;
	}
	return st;
}

/* Which of them notices first is open: an answer that says who, or none of it. */
static void one_dies(void **state)
{
	struct company *c = *state;
	const struct reading *r;

	c->all[2].dies = true;
	c->all[2].h.ctx.recv_text = dies_on_the_way;
	c->all[0].h.ctx.recv_text = recv_from_living;
	kept_company = c;
	company_run(c);
	r = harness_reading(first(c), "cpu_collective_nodes_busbw_gbs");
	assert_int_not_equal(r->outcome, OUTCOME_MEASURED);
	expect_words(r, "n003");
	assert_int_equal(of_node(c, "cpu_collective_node_gbs", 0)->outcome, OUTCOME_NOT_MEASURED);
	assert_string_equal(harness_param_text(first(c), r, "step"),
	                    "all-reduce of 64.0 KiB among 2 nodes");
}

static void one_node_alone(void **state)
{
	struct company *c = *state;

	first(c)->ctx.n_peers = 1;
	harness_run(first(c), ST_OK);
	harness_expect(first(c), "collective_nic_share", OUTCOME_NOT_MEASURED,
	               "collective_nodes_alone");
	harness_expect(first(c), "collective_node_nic_share", OUTCOME_NOT_MEASURED,
	               "collective_nodes_alone");
	assert_int_equal(harness_count(first(c), "cpu_collective_nodes_busbw_gbs"), 0);
}

/* --- cards -------------------------------------------------------------------------------- */

#define NODE(id, more)                                                                             \
	"{\"id\":\"" id "\",\"cards\":[{\"model\":\"a100-sxm4-80gb\"}],\"count\":2,"               \
	"\"achieved\":{\"collective\":0.8},\"costs\":{\"collective_us\":0.1}," more "}"
/* A card's share is 25 GB/s, so 50 of a node of two, below the 240 of their ring. */
#define NICS   "\"nics\":{\"count\":2,\"gbps\":200}"
#define WELL_1 NODE("one", NICS)
#define WELL_2 NODE("two", NICS)
#define WELL_3 NODE("three", NICS)

struct nodes_of_cards {
	struct company *c;
	char root[COMPANY_MOST][64];
};

static struct nodes_of_cards kept_nodes;

/* In the child of a node: its own file. */
static enum status on_own_node(struct probe_ctx *ctx)
{
	setenv("ASSAY_STANDIN",
	       arena_strf(ctx->arena, "%s/node.json", kept_nodes.root[ctx->self_index]), 1);
	return probe_collective_nodes.run(ctx);
}

static struct probe own_probe;

static void make_node(int i, const char *node)
{
	char *root = kept_nodes.root[i];
	FILE *f;

	strcpy(root, "/tmp/assay-nodes-XXXXXX");
	assert_non_null(mkdtemp(root));
	f = fopen(tmpf("%s/node.json", root), "w");
	assert_non_null(f);
	fputs(node, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(system(tmpf("ASSAY_STANDIN=%s/node.json %s/tests/standin/standin_tree %s",
	                             root, BINARY_DIR, root)),
	                 0);
}

/* Runs them in a process of its own; the library holds its state. */
static void run_nodes(int count, const char *const *nodes, const char *const *settings,
                      void (*look)(struct company *c))
{
	pid_t pid;
	int status;

	for (int i = 0; i < count; i++)
		make_node(i, nodes[i]);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct company *c = calloc(1, sizeof(*c));

		setenv("CMOCKA_TEST_ABORT", "1", 1);
		own_probe = probe_collective_nodes;
		own_probe.run = on_own_node;
		company_init(c, &own_probe, count, "*");
		company_set(c, "max_size", "1G");
		company_set(c, "window_s", "0.000001");
		for (const char *const *s = settings; s && s[0]; s += 2)
			company_set(c, s[0], s[1]);
		for (int i = 0; i < count; i++) {
			c->all[i].h.ctx.lib_dir = STANDINS;
			c->all[i].h.ctx.sys_root = kept_nodes.root[i];
		}
		company_run(c);
		look(c);
		company_release(c);
		free(c);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < count; i++)
		assert_int_equal(system(tmpf("rm -rf %s", kept_nodes.root[i])), 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("status %d", status);
}
#define run_on(look, settings, ...)                                                                \
	run_nodes(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),                     \
	          (const char *const[]){__VA_ARGS__}, settings, look)

static double value_of(struct company *c, const char *metric)
{
	return harness_expect(first(c), metric, OUTCOME_MEASURED, NULL)->value;
}

static void two_are_well(struct company *c)
{
	const struct reading *r;

	near(value_of(c, "collective_nodes_ring_busbw_gbs"), 50);
	near(value_of(c, "collective_nodes_busbw_gbs"), 50);
	near(value_of(c, "collective_group_busbw_gbs"), 50);
	near(value_of(c, "collective_default_share"), 1);
	near(value_of(c, "collective_nic_gbs"), 25);
	near(value_of(c, "collective_nic_share"), 1);
	near(value_of(c, "collective_rail_busbw_gbs"), 25);
	near(value_of(c, "collective_allreduce_small_us"), 0.1);
	assert_true(value_of(c, "collective_nodes_wrong_elements") == 0);
	for (int i = 0; i < 2; i++)
		near(of_node(c, "collective_node_nic_share", i)->value, 1);
	r = harness_reading(first(c), "collective_nodes_busbw_gbs");
	assert_true(harness_param(r, "ranks") == 4);
	assert_true(harness_param(r, "nodes") == 2);
	assert_string_equal(harness_param_text(first(c), r, "algorithm"),
	                    "TREE SIMPLE, 24 channels");
	assert_non_null(strstr(r->params, "\"environment\":{\"NCCL_NTHREADS\":\"256\"}"));
	assert_non_null(strstr(r->params, "\"other_environment\":[]"));
	assert_non_null(
		strstr(harness_raw(first(c), "collective-nodes-nccl.log")->data, "Init START"));
	r = harness_reading(first(c), "collective_nodes_ring_busbw_gbs");
	assert_string_equal(harness_param_text(first(c), r, "algorithm"),
	                    "RING SIMPLE, 24 channels");
	assert_true(first(c)->ctx.simulated);
	assert_int_equal(harness_count(first(c), "cpu_collective_nodes_busbw_gbs"), 0);
}

static void cards_of_two_nodes(void **state)
{
	(void)state;
	setenv("NCCL_NTHREADS", "256", 1);
	run_on(two_are_well, NULL, WELL_1, WELL_2);
	unsetenv("NCCL_NTHREADS");
}

/* An adapter of the third node has half its rate: its node is named, and no other. */
static void third_is_slow(struct company *c)
{
	const struct reading *r;

	near(value_of(c, "collective_nodes_ring_busbw_gbs"), 25);
	near(value_of(c, "collective_nic_share"), 0.5);
	near(value_of(c, "collective_nic_gbs"), 12.5);
	near(of_node(c, "collective_node_nic_share", 0)->value, 1);
	near(of_node(c, "collective_node_nic_share", 1)->value, 1);
	near(of_node(c, "collective_node_nic_share", 2)->value, 0.5);
	r = harness_expect(first(c), "collective_group_busbw_gbs", OUTCOME_MEASURED, NULL);
	near(r->value, 25);
	assert_non_null(strstr(harness_param_text(first(c), r, "slowest"), "n003"));
	r = harness_reading(first(c), "collective_nic_share");
	near(harness_param(r, "node_nics_gbs"), 50);
	assert_string_equal(harness_param_text(first(c), r, "bound"), "adapters");
}

/* Whether it trained at half its rate or only carries that. */
static void one_adapter_is_slow(void **state)
{
	(void)state;
	run_on(third_is_slow, NULL, WELL_1, WELL_2,
	       NODE("three",
	            NICS ",\"faults\":[{\"kind\":\"slow_nic\",\"nic\":1,\"factor\":0.5}]"));
	run_on(third_is_slow, NULL, WELL_1, WELL_2,
	       NODE("three", NICS ",\"faults\":[{\"kind\":\"slow_nic\",\"factor\":0.5,"
	                          "\"mode\":\"trained\"}]"));
}

/* With adapters faster than the ring within a node, that ring is what can be had. */
static void bound_by_the_node(struct company *c)
{
	near(value_of(c, "collective_nic_share"), 1);
	near(value_of(c, "collective_nodes_ring_busbw_gbs"), 240);
	assert_string_equal(harness_param_text(first(c),
	                                       harness_reading(first(c), "collective_nic_share"),
	                                       "bound"),
	                    "ring within a node");
}

static void without_adapters(struct company *c)
{
	near(value_of(c, "collective_nodes_ring_busbw_gbs"), 240);
	harness_expect(first(c), "collective_nic_share", OUTCOME_NOT_MEASURED,
	               "collective_nodes_no_nic");
	harness_expect(first(c), "collective_nic_gbs", OUTCOME_NOT_MEASURED,
	               "collective_nodes_no_nic");
	assert_string_equal(of_node(c, "collective_node_nic_share", 1)->reason.code,
	                    "collective_nodes_no_nic");
}

static void what_the_ring_is_held_against(void **state)
{
	(void)state;
	run_on(bound_by_the_node, NULL, NODE("one", "\"nics\":{\"count\":2,\"gbps\":1600}"),
	       NODE("two", "\"nics\":{\"count\":2,\"gbps\":1600}"));
	run_on(without_adapters, NULL, NODE("one", "\"nics\":{\"count\":0}"),
	       NODE("two", "\"nics\":{\"count\":0}"));
}

static void default_is_slow(struct company *c)
{
	near(value_of(c, "collective_default_share"), 0.8);
	near(value_of(c, "collective_nic_share"), 1);
}

/* "chosen" is whatever is not the ring. */
static void default_against_tuned(void **state)
{
	static const char slow[] = NODE(
		"two", "\"faults\":[{\"kind\":\"nccl_slow\",\"mode\":\"chosen\",\"factor\":0.8}],"
		       "\"nics\":{\"count\":2,\"gbps\":1600}");

	(void)state;
	run_on(default_is_slow, NULL, NODE("one", "\"nics\":{\"count\":2,\"gbps\":1600}"), slow);
}

static void second_adds_wrongly(struct company *c)
{
	const struct reading *r = harness_expect(first(c), "collective_nodes_wrong_elements",
	                                         OUTCOME_FAILED, "collective_nodes_wrong");

	assert_true(r->value > 0);
	expect_words(r, "n002");
	expect_words(r, "GPU-");
	assert_null(strstr(r->reason.text, "n001"));
	assert_string_equal(harness_param_text(first(c), r, "node"), "n002");
}

static void a_wrong_sum(void **state)
{
	(void)state;
	run_on(second_adds_wrongly, NULL, WELL_1,
	       NODE("two", NICS ",\"faults\":[{\"kind\":\"nccl_wrong\",\"rank\":3,"
	                        "\"op\":\"all_reduce\",\"every\":7}]"));
}

/* Rank 3 is the second card of the second node, once there are two. */
static void fourth_rank_is_absent(struct company *c)
{
	for (const struct metric *m = own_probe.metrics; m->name; m++) {
		const struct reading *r;

		if (m->backend != BACKEND_CUDA || m->subject != SUBJECT_CLUSTER ||
		    strcmp(m->name, "collective_nodes_wrong_elements") == 0)
			continue;
		r = harness_expect(first(c), m->name, OUTCOME_TIMED_OUT, "collective_nodes_absent");
		expect_words(r, "n002: GPU-");
		expect_words(r, "0000:2a:00.0");
		assert_null(strstr(r->reason.text, "0000:17:00.0"));
		assert_null(strstr(r->reason.text, "n001"));
		assert_non_null(strstr(r->params, "\"blamed\":[\"n002\"]"));
	}
	assert_int_equal(of_node(c, "collective_node_nic_share", 0)->outcome, OUTCOME_NOT_MEASURED);
	assert_int_equal(of_node(c, "collective_node_nic_share", 1)->outcome, OUTCOME_TIMED_OUT);
}

static void a_rank_never_comes(void **state)
{
	static const char *const soon[] = {"timeout_s", "4", NULL};

	(void)state;
	run_on(fourth_rank_is_absent, soon, WELL_1,
	       NODE("two", NICS ",\"faults\":[{\"kind\":\"nccl_absent\",\"rank\":3}]"));
}

static void second_is_refused(struct company *c)
{
	const struct reading *r = harness_reading(first(c), "collective_nodes_ring_busbw_gbs");

	assert_int_not_equal(r->outcome, OUTCOME_MEASURED);
	assert_string_equal(r->reason.code, "collective_nodes_refused");
	expect_words(r, "n002");
	assert_null(strstr(r->reason.text, "n001"));
	assert_non_null(strstr(r->params, "\"blamed\":[\"n002\"]"));
}

static void a_card_is_lost(void **state)
{
	(void)state;
	run_on(second_is_refused, NULL, WELL_1,
	       NODE("two", NICS ",\"faults\":[{\"kind\":\"lost\",\"card\":0,\"after\":3}]"));
	/* One that is ready has cards; a node without any does not go along. */
	run_on(second_is_refused, NULL, WELL_1, "{\"id\":\"two\",\"cards\":[]}");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_two_neighbours),
		cmocka_unit_test(groups_of_a_size),
		cmocka_unit_test(what_the_wire_carries),
		TEST(hosts_add_up),
		TEST(one_adds_wrongly),
		TEST(one_never_says_hello),
		TEST(one_says_nonsense),
		TEST(one_answers_nonsense),
		TEST(one_dies),
		TEST(one_node_alone),
		cmocka_unit_test(cards_of_two_nodes),
		cmocka_unit_test(one_adapter_is_slow),
		cmocka_unit_test(what_the_ring_is_held_against),
		cmocka_unit_test(default_against_tuned),
		cmocka_unit_test(a_wrong_sum),
		cmocka_unit_test(a_rank_never_comes),
		cmocka_unit_test(a_card_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
