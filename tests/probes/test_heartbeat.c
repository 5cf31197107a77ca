/* The heartbeat probe: a node without cards, cards that are right, one that is
 * wrong, one that is gone, and counters of a recorded machine. */
#include "card_kit.h"

#include "base/file.h"
#include "tests/cleanup.h"

extern const struct probe probe_heartbeat;

#define A100 "a100-sxm4-80gb"

static void without_a_driver(void **state)
{
	struct harness h;

	(void)state;
	harness_init(&h, &probe_heartbeat);
	h.ctx.lib_dir = "/nonexistent";
	harness_run(&h, ST_OK);
	assert_true(harness_expect(&h, "heartbeat_cpu_ms", OUTCOME_MEASURED, NULL)->value > 0);
	harness_expect(&h, "heartbeat_kernel_ms", OUTCOME_NOT_MEASURED, "no_driver");
	harness_expect(&h, "heartbeat_ecc", OUTCOME_NOT_MEASURED, "no_driver");
	harness_release(&h);
}

static void right(struct harness *h)
{
	harness_run(h, ST_OK);
	assert_int_equal(harness_count(h, "heartbeat_kernel_ms"), 2);
	assert_true(h->ctx.simulated);
	for (int i = 0; i < h->n_readings; i++)
		if (strcmp(h->readings[i].metric, "heartbeat_kernel_ms") == 0)
			assert_true(h->readings[i].outcome == OUTCOME_MEASURED &&
			            h->readings[i].value > 0);
}

static void two_cards(void **state)
{
	(void)state;
	on_cards(&probe_heartbeat,
	         "{\"cards\":[{\"model\":\"" A100 "\"},{\"model\":\"" A100 "\"}]}", right);
}

/* A card whose memory is wrong is named and gives no time. */
static void wrong(struct harness *h)
{
	harness_run(h, ST_OK);
	harness_expect(h, "heartbeat_kernel_ms", OUTCOME_FAILED, "membw_wrong");
}

static void a_card_that_errs(void **state)
{
	(void)state;
	on_cards(&probe_heartbeat,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"bad_memory\",\"address\":4096,\"bit\":3,"
	                     "\"set\":true}]"),
	         wrong);
}

static void put(const char *root, const char *path, const char *text)
{
	const char *file = tmpf("%s%s", root, path);
	const char *dir = tmpf("%.*s", (int)(strrchr(file, '/') - file), file);

	assert_int_equal(dir_make(dir, NULL), ST_OK);
	assert_int_equal(file_write(file, text, strlen(text), NULL), ST_OK);
}

#define NET "/sys/class/net/"
#define IB  "/sys/class/infiniband/mlx5_0/ports/1/"

static void counters_of_the_kernel(void **state)
{
	char root[] = "/tmp/assay-heartbeat-XXXXXX";
	struct harness h;

	(void)state;
	assert_non_null(mkdtemp(root));
	put(root, NET "eth0/carrier_down_count", "3\n");
	put(root, NET "eth0/operstate", "up\n");
	put(root, NET "lo/operstate", "unknown\n");
	put(root, NET "eth0/device/vendor", "0x15b3\n");
	put(root, NET "lo/carrier_down_count", "7\n");
	put(root, IB "state", "4: ACTIVE\n");
	put(root, IB "counters/link_downed", "2\n");
	put(root, "/dev/kmsg",
	    "4,1,2,-;NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\n"
	    "4,1,2,-;NVRM: Xid (PCI:0000:17:00): 31, pid=1, a program's fault\n");
	harness_init(&h, &probe_heartbeat);
	h.ctx.lib_dir = "/nonexistent";
	h.ctx.sys_root = root;
	harness_run(&h, ST_OK);
	assert_true(harness_reading(&h, "heartbeat_xids")->value == 1);
	assert_true(harness_reading(&h, "heartbeat_link_downs")->value == 3 + 2);
	harness_release(&h);
	dir_remove(root, NULL);
}

static void counters_that_are_not_there(void **state)
{
	struct harness h;

	(void)state;
	harness_init(&h, &probe_heartbeat);
	h.ctx.lib_dir = "/nonexistent";
	h.ctx.sys_root = "/nonexistent";
	harness_run(&h, ST_OK);
	harness_expect(&h, "heartbeat_xids", OUTCOME_NOT_MEASURED, "host_unreadable");
	harness_expect(&h, "heartbeat_link_downs", OUTCOME_NOT_MEASURED, "host_unreadable");
	harness_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_driver),
		cmocka_unit_test(two_cards),
		cmocka_unit_test(a_card_that_errs),
		cmocka_unit_test(counters_of_the_kernel),
		cmocka_unit_test(counters_that_are_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
