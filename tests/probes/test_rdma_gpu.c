/* RDMA between the memories of cards: doubles of the driver and of the adapters, each
 * test in a process of its own, since a driver does not survive a fork. */
#include "rdma_kit.h"

#define NODE "{\"cards\":[{\"model\":\"h100-sxm5-80gb\"},{\"model\":\"h100-sxm5-80gb\"}]}"

/* One directory for the doubles of both vendors. */
static const char *libraries(struct rdma_test *x)
{
	static const char *const from[] = {BINARY_DIR "/tests/standin/lib/libcuda.so.1",
	                                   BINARY_DIR "/tests/probes/double_verbs/libibverbs.so.1"};
	const char *dir = arena_strf(&x->tree[0]->arena, "%s/lib", x->tree[0]->root);

	assert_int_equal(dir_make(dir, NULL), ST_OK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(symlink(from[i], tmpf("%s%s", dir, strrchr(from[i], '/'))), 0);
	return dir;
}

static void on_cards(void (*body)(struct rdma_test *x))
{
	int how;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		void *state;
		struct rdma_test *x;

		setenv("CMOCKA_TEST_ABORT", "1", 1);
		set_up(&state);
		x = state;
		put(x->tree[0], "/node.json", NODE);
		setenv("ASSAY_STANDIN", tmpf("%s/node.json", x->tree[0]->root), 1);
		x->c->all[0].h.ctx.lib_dir = x->c->all[1].h.ctx.lib_dir = libraries(x);
		body(x);
		tear_down(&state);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

static void by_peermem(struct rdma_test *x)
{
	const struct reading *r;

	for (int e = 0; e < 2; e++)
		put(x->tree[e], "/sys/module/nvidia_peermem/version", "550.54.15\n");
	company_run(x->c);
	assert_true(x->c->all[0].h.ctx.simulated);
	r = expect(x, "rdma_gpu_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
	assert_true(r->value > 0);
	assert_string_equal(harness_param_text(&x->c->all[0].h, r, "memory"), "nvidia-peermem");
	assert_true(harness_param(r, "size") ==
	            harness_param(about(x, "rdma_nic_write_gbps", THERE), "size"));
	r = expect(x, "rdma_gpu_send_p99_us", PAIR, OUTCOME_MEASURED, NULL);
	assert_true(r->value > 0 && r->value == r->stats[STAT_P99] && r->stats[STAT_N] == 50);
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
}

static void no_way_to_the_card(struct rdma_test *x)
{
	const struct reading *r;

	put(x->tree[0], "/sys/module/nvidia_peermem/version", "550.54.15\n");
	company_run(x->c);
	r = expect(x, "rdma_gpu_write_gbps", PAIR, OUTCOME_UNSUPPORTED, "rdma_no_gpudirect");
	assert_string_equal(r->reason.args[0], "n002");
	assert_non_null(strstr(r->reason.text, "load nvidia_peermem"));
	expect(x, "rdma_gpu_send_p99_us", PAIR, OUTCOME_UNSUPPORTED, "rdma_no_gpudirect");
	/* Of host memory all is known. */
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
}

static void a_byte_of_a_card(struct rdma_test *x)
{
	for (int e = 0; e < 2; e++)
		put(x->tree[e], "/sys/module/nvidia_peermem/version", "550.54.15\n");
	setenv("VERBS_FAULT", "card", 1);
	company_run(x->c);
	expect(x, "rdma_gpu_write_gbps", PAIR, OUTCOME_FAILED, "rdma_wrong");
	expect(x, "rdma_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
}

static void put_pci(struct tree *t, const char *root, const char *address, const char *numa)
{
	const char *at = arena_strf(&t->arena, "/sys/devices/pci0000:%s/%s", root, address);

	put(t, arena_strf(&t->arena, "%s/numa_node", at), numa);
	put_link(t, arena_strf(&t->arena, "/sys/bus/pci/devices/%s", address),
	         arena_strf(&t->arena, "../../..%s", at + strlen("/sys")));
}

/* One card behind the adapter's host bridge, the other one's on the other socket. */
static void cards_near_and_far(struct rdma_test *x)
{
	const struct reading *r;

	put(x->tree[0], "/node.json",
	    "{\"cards\":[{\"model\":\"h100-sxm5-80gb\",\"pci\":\"0000:18:00.0\"}]}");
	for (int e = 0; e < 2; e++) {
		put(x->tree[e], "/sys/module/nvidia_peermem/version", "550.54.15\n");
		put_pci(x->tree[e], "17", "0000:17:00.0", "0\n");
		put_pci(x->tree[e], e ? "98" : "17", "0000:18:00.0", e ? "1\n" : "0\n");
	}
	company_run(x->c);
	r = expect(x, "rdma_gpu_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
	assert_non_null(strstr(r->params, "\"0000:18:00.0, PHB\""));
	assert_non_null(strstr(r->params, "\"0000:18:00.0, SYS\""));
	r = expect(x, "rdma_write_gbps", PAIR, OUTCOME_MEASURED, NULL);
	assert_null(strstr(r->params, "_card\""));
}

static void memory_of_cards_by_peermem(void **state)
{
	(void)state;
	on_cards(by_peermem);
}

static void no_gpudirect_names_node_and_part(void **state)
{
	(void)state;
	on_cards(no_way_to_the_card);
}

static void a_wrong_byte_between_cards(void **state)
{
	(void)state;
	on_cards(a_byte_of_a_card);
}

static void how_far_a_card_is(void **state)
{
	(void)state;
	on_cards(cards_near_and_far);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_cards_by_peermem),
		cmocka_unit_test(no_gpudirect_names_node_and_part),
		cmocka_unit_test(a_wrong_byte_between_cards),
		cmocka_unit_test(how_far_a_card_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
