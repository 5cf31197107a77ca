/* What inventory says of RDMA without another node: ports, and the way to a card. */
#include "probe_harness.h"
#include "tree_kit.h"

extern const struct probe probe_inventory;

static struct harness h;

static void read_tree(const char *root)
{
	harness_init(&h, &probe_inventory);
	h.ctx.sys_root = root;
	h.ctx.lib_dir = "/nonexistent";
	harness_run(&h, ST_OK);
}

static void put_adapter(struct tree *t, const char *device, const char *bus, const char *state)
{
	const char *at = arena_strf(&t->arena, "/sys/devices/pci0000:%s/0000:%s:00.0/infiniband/%s",
	                            bus, bus, device);

	put(t, arena_strf(&t->arena, "%s/ports/1/state", at), state);
	put(t, arena_strf(&t->arena, "%s/ports/1/link_layer", at), "InfiniBand\n");
	put_link(t, arena_strf(&t->arena, "/sys/class/infiniband/%s", device),
	         arena_strf(&t->arena, "../../%s", at + strlen("/sys/")));
}

static void put_card(struct tree *t)
{
	put(t, "/sys/bus/pci/devices/0000:17:00.0/vendor", "0x10de\n");
	put(t, "/sys/bus/pci/devices/0000:17:00.0/class", "0x030200\n");
}

static void active_ports_are_counted(void **state)
{
	struct tree *t = *state;
	const struct reading *r;

	put_adapter(t, "mlx5_0", "10", "4: ACTIVE\n");
	put_adapter(t, "mlx5_1", "11", "1: DOWN\n");
	put_adapter(t, "mlx5_2", "12", "4: ACTIVE\n");
	put(t, "/sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
	put(t, "/sys/bus/pci/devices/0000:10:00.0/vendor", "0x15b3\n");
	read_tree(t->root);
	r = harness_expect(&h, "rdma_ports_active", OUTCOME_MEASURED, NULL);
	assert_true(r->value == 2);
	assert_non_null(strstr(r->params, "\"device\":\"mlx5_1\""));
	assert_non_null(strstr(r->params, "\"software\":true"));
	harness_expect(&h, "rdma_gpu_path", OUTCOME_NOT_MEASURED, "rdma_gpu_no_card");
	harness_release(&h);
}

/* None is a fact, and with must_exist a failure; not knowing is neither. */
static void none_is_unsupported(void **state)
{
	struct tree *t = *state;

	put(t, "/sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
	read_tree(t->root);
	harness_expect(&h, "rdma_ports_active", OUTCOME_UNSUPPORTED, "rdma_no_device");
	harness_expect(&h, "rdma_gpu_path", OUTCOME_UNSUPPORTED, "rdma_no_device");
	harness_release(&h);
	read_tree(TESTS_DIR "/nodes/bare");
	harness_expect(&h, "rdma_ports_active", OUTCOME_NOT_MEASURED, "host_unreadable");
	harness_release(&h);
}

static void all_down_is_zero(void **state)
{
	struct tree *t = *state;

	put_adapter(t, "mlx5_0", "10", "1: DOWN\n");
	read_tree(t->root);
	assert_true(harness_expect(&h, "rdma_ports_active", OUTCOME_MEASURED, NULL)->value == 0);
	harness_release(&h);
}

static void expect_path(const char *root, const char *path)
{
	read_tree(root);
	assert_string_equal(harness_expect(&h, "rdma_gpu_path", OUTCOME_MEASURED, NULL)->text,
	                    path);
	harness_release(&h);
}

static void the_way_to_a_card(void **state)
{
	struct tree *t = *state;
	const struct reading *r;

	put_adapter(t, "mlx5_0", "10", "4: ACTIVE\n");
	put_card(t);
	put(t, "/sys/module/nvidia/version", "550.54.15\n");
	put(t, "/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15\n");
	read_tree(t->root);
	r = harness_expect(&h, "rdma_gpu_path", OUTCOME_UNSUPPORTED, "rdma_no_gpudirect");
	assert_non_null(strstr(r->reason.text, "nvidia_peermem"));
	harness_release(&h);
	put(t, "/sys/module/nvidia_peermem/version", "550.54.15\n");
	expect_path(t->root, "nvidia-peermem");
	put(t, "/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15\n");
	expect_path(t->root, "dma-buf");
	/* The open module of before had none. */
	put(t, "/sys/module/nvidia/version", "510.47.03\n");
	expect_path(t->root, "nvidia-peermem");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(active_ports_are_counted),
		TREE_TEST(none_is_unsupported),
		TREE_TEST(all_down_is_zero),
		TREE_TEST(the_way_to_a_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
