/* RDMA ports by sysfs trees made here: GID tables as they are met in clusters, ends
 * that do not fit, counters that are not there. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "hw/rdma_ports.h"
#include "tests/cleanup.h"

#define NODES TESTS_DIR "/nodes"
#define PORT  "/sys/class/infiniband/mlx5_0/ports/1"

#define LOCAL6 "fe80:0000:0000:0000:0e42:a1ff:fe00:0001"
#define V4     "0000:0000:0000:0000:0000:ffff:0a01:0203"
#define LOCAL4 "0000:0000:0000:0000:0000:ffff:a9fe:0203"
#define ULA6   "fd93:16d3:59b6:0000:0e42:a1ff:fe00:0001"
#define ZERO   "0000:0000:0000:0000:0000:0000:0000:0000"
#define V1     "IB/RoCE v1"
#define V2     "RoCE v2"

struct made {
	struct arena arena;
	char root[40];
};

static int set_up(void **state)
{
	struct made *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	strcpy(t->root, "/var/tmp/assay-rdma-XXXXXX");
	assert_non_null(mkdtemp(t->root));
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct made *t = *state;

	dir_remove(t->root, NULL);
	arena_release(&t->arena);
	free(t);
	return 0;
}

static void put(struct made *t, const char *path, const char *text)
{
	char *full = arena_strf(&t->arena, "%s%s", t->root, path), *slash = strrchr(full, '/');
	FILE *f;

	*slash = '\0';
	assert_int_equal(dir_make(full, NULL), ST_OK);
	*slash = '/';
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void put_port(struct made *t, const char *layer)
{
	put(t, PORT "/state", "4: ACTIVE\n");
	put(t, PORT "/link_layer", layer);
	put(t, PORT "/rate", "400 Gb/sec (4X NDR)\n");
}

/* type NULL: the slot is empty, and reading its type fails: here there is a folder. */
static void put_gid(struct made *t, int i, const char *gid, const char *type)
{
	put(t, tmpf(PORT "/gids/%d", i), gid);
	if (type)
		put(t, tmpf(PORT "/gid_attrs/types/%d", i), type);
	else
		put(t, tmpf(PORT "/gid_attrs/types/%d/EINVAL", i), "");
	if (type)
		put(t, tmpf(PORT "/gid_attrs/ndevs/%d", i), "eth0\n");
}

static struct rdma_port only_port(struct made *t)
{
	int count;
	const struct rdma_port *p = rdma_ports_read(&t->arena, t->root, &count);

	assert_int_equal(count, 1);
	return p[0];
}

/* --- GID tables -------------------------------------------------------------------------- */

static void the_table_of_a_roce_port(void **state)
{
	struct made *t = *state;
	const struct rdma_gid *list;
	struct rdma_port p;

	put_port(t, "Ethernet\n");
	put_gid(t, 0, LOCAL6, V1);
	put_gid(t, 1, LOCAL6, V2);
	put_gid(t, 2, V4, V1);
	put_gid(t, 3, V4, V2);
	put_gid(t, 4, ZERO, NULL);
	put_gid(t, 5, ZERO, NULL);
	put(t, "/sys/class/net/eth0/mtu", "4200\n");
	assert_int_equal(rdma_gids_read(&t->arena, t->root, "mlx5_0", 1, &list), 4);
	p = only_port(t);
	assert_int_equal(p.gid.index, 3);
	assert_int_equal(p.gid.type, RDMA_GID_ROCE2);
	assert_string_equal(rdma_gid_text(&t->arena, p.gid.raw), "::ffff:10.1.2.3");
	assert_string_equal(p.gid.netdev, "eth0");
	assert_int_equal(p.netdev_mtu, 4200);
	assert_true(rdma_port_active(&p) && !p.infiniband && p.gbps == 400);
	assert_null(p.pci);
	assert_int_equal(p.numa_node, -1);
}

/* The same fabric, other places: both ends choose the like. */
static void the_index_differs_and_the_choice_does_not(void **state)
{
	struct made *t = *state;

	put_port(t, "Ethernet\n");
	put_gid(t, 0, ZERO, NULL);
	put_gid(t, 4, LOCAL6, V1);
	put_gid(t, 1, ZERO, NULL);
	put_gid(t, 2, ZERO, NULL);
	put_gid(t, 3, ZERO, NULL);
	put_gid(t, 5, LOCAL6, V2);
	put_gid(t, 6, V4, V1);
	put_gid(t, 7, V4, V2);
	assert_int_equal(only_port(t).gid.index, 7);
}

static void an_ipv6_only_fabric(void **state)
{
	struct made *t = *state;

	put_port(t, "Ethernet\n");
	put_gid(t, 0, LOCAL6, V2);
	put_gid(t, 1, ULA6, V2);
	assert_int_equal(only_port(t).gid.index, 1);
}

static void link_local_when_there_is_nothing_else(void **state)
{
	struct made *t = *state;

	put_port(t, "Ethernet\n");
	put_gid(t, 0, LOCAL6, V1);
	put_gid(t, 1, LOCAL6, V2);
	assert_int_equal(only_port(t).gid.index, 1);
	put_gid(t, 2, LOCAL4, V2);
	assert_int_equal(only_port(t).gid.index, 2);
	assert_true(rdma_gid_is_local(only_port(t).gid.raw));
	put_gid(t, 3, V4, V1);
	assert_int_equal(only_port(t).gid.index, 3);
}

static void an_empty_table(void **state)
{
	struct made *t = *state;
	const struct rdma_gid *list;

	put_port(t, "Ethernet\n");
	assert_int_equal(only_port(t).gid.index, -1);
	put_gid(t, 0, ZERO, NULL);
	put_gid(t, 1, "nonsense", V2);
	assert_int_equal(only_port(t).gid.index, -1);
	assert_int_equal(rdma_gids_read(&t->arena, t->root, "mlx5_9", 1, &list), 0);
}

static void a_type_that_is_not_known_is_not_used(void **state)
{
	struct made *t = *state;

	put_port(t, "Ethernet\n");
	put_gid(t, 0, V4, "RoCE v3");
	assert_int_equal(only_port(t).gid.index, -1);
}

static void infiniband_takes_the_first(void **state)
{
	struct made *t = *state;
	struct rdma_port p;

	put_port(t, "InfiniBand\n");
	put(t, PORT "/gids/0", "fe80:0000:0000:0000:0e42:a103:0000:0001");
	put(t, PORT "/gid_attrs/types/0", V1);
	put(t, PORT "/gids/1", V4);
	put(t, PORT "/gid_attrs/types/1", V1);
	p = only_port(t);
	assert_int_equal(p.gid.index, 0);
	assert_int_equal(p.gid.type, RDMA_GID_IB);
	assert_null(p.gid.netdev);
}

/* --- ports ----------------------------------------------------------------------------------- */

static void recorded_devices_with_software_among_them(void **state)
{
	struct made *t = *state;
	int count, hardware = 0;
	const struct rdma_port *p = rdma_ports_read(&t->arena, NODES "/gpu-node", &count);

	assert_true(count >= 4);
	for (int i = 0; i < count; i++) {
		hardware += p[i].pci != NULL;
		if (strcmp(p[i].device, "siw_eth0") == 0 || strcmp(p[i].device, "rxe0") == 0)
			assert_null(p[i].pci);
	}
	assert_int_equal(hardware, 2);
	assert_string_equal(p[1].device, "mlx5_1");
	assert_string_equal(p[1].pci, "0000:11:00.0");
	assert_int_equal(p[1].numa_node, 1);
	rdma_ports_read(&t->arena, NODES "/bare", &count);
	assert_int_equal(count, -1);
}

static void the_tenth_comes_after_the_second(void **state)
{
	struct made *t = *state;
	int count;
	const struct rdma_port *p;

	put(t, "/sys/class/infiniband/mlx5_10/ports/1/state", "1: DOWN\n");
	put(t, "/sys/class/infiniband/mlx5_2/ports/1/state", "2: INIT\n");
	put(t, "/sys/class/infiniband/mlx5_2/ports/2/state", "4: ACTIVE\n");
	p = rdma_ports_read(&t->arena, t->root, &count);
	assert_int_equal(count, 3);
	assert_string_equal(p[0].device, "mlx5_2");
	assert_string_equal(p[0].state, "INIT");
	assert_int_equal(p[1].port, 2);
	assert_string_equal(p[2].device, "mlx5_10");
	assert_false(rdma_port_active(&p[2]));
	assert_true(isnan(p[2].gbps));
}

/* --- two ends ----------------------------------------------------------------------------------- */

static struct rdma_end end_of(const char *node, const char *gid, enum rdma_gid_type type)
{
	struct rdma_end e = {
		.node = node,
		.mtu = 4096,
		.at = {.device = "mlx5_0",
	               .port = 1,
	               .state = "ACTIVE",
	               .link_layer = type == RDMA_GID_IB ? "InfiniBand" : "Ethernet",
	               .infiniband = type == RDMA_GID_IB,
	               .rate = "400 Gb/sec (4X NDR)",
	               .gbps = 400,
	               .gid = {.index = 3, .type = type}},
	};

	assert_true(rdma_gid_parse(gid, e.at.gid.raw));
	return e;
}

static void expect_mismatch(struct made *t, struct rdma_end a, struct rdma_end b, enum msg id,
                            bool fatal)
{
	const struct rdma_end ends[2] = {a, b};
	struct rdma_mismatch m = rdma_ends_compare(&t->arena, ends);

	assert_true(m.found);
	if (m.id != id)
		fail_msg("%s, not %s", msg_name(m.id), msg_name(id));
	assert_int_equal(m.fatal, fatal);
}

static void ends_that_fit(void **state)
{
	struct made *t = *state;
	struct rdma_end ends[2] = {end_of("a", "::ffff:10.0.0.1", RDMA_GID_ROCE2),
	                           end_of("b", "::ffff:10.9.0.1", RDMA_GID_ROCE2)};

	assert_false(rdma_ends_compare(&t->arena, ends).found);
	/* Another place in the table is no matter. */
	ends[1].at.gid.index = 7;
	assert_false(rdma_ends_compare(&t->arena, ends).found);
	ends[0] = end_of("a", "fe80::1", RDMA_GID_IB);
	ends[1] = end_of("b", "fe80::2", RDMA_GID_IB);
	assert_false(rdma_ends_compare(&t->arena, ends).found);
}

static void ends_that_do_not_fit(void **state)
{
	struct made *t = *state;
	struct rdma_end v4 = end_of("a", "::ffff:10.0.0.1", RDMA_GID_ROCE2), other = v4;

	expect_mismatch(t, v4, end_of("b", "::ffff:10.0.0.2", RDMA_GID_ROCE1), MSG_rdma_differ_type,
	                true);
	expect_mismatch(t, v4, end_of("b", "fd93::2", RDMA_GID_ROCE2), MSG_rdma_differ_family,
	                true);
	expect_mismatch(t, end_of("a", "fd93::2", RDMA_GID_ROCE2),
	                end_of("b", "fe80::2", RDMA_GID_ROCE2), MSG_rdma_differ_family, true);
	expect_mismatch(t, end_of("a", "fd93::2", RDMA_GID_ROCE1),
	                end_of("b", "fd94::2", RDMA_GID_ROCE1), MSG_rdma_differ_subnet, true);
	expect_mismatch(t, end_of("a", "fe80::1", RDMA_GID_IB),
	                end_of("b", "fe80:0:0:1::1", RDMA_GID_IB), MSG_rdma_differ_subnet, true);
	expect_mismatch(t, v4, end_of("b", "fe80::1", RDMA_GID_IB), MSG_rdma_differ_layer, true);
	other.mtu = 1024;
	expect_mismatch(t, v4, other, MSG_rdma_differ_mtu, false);
	other = v4;
	other.at.gbps = 200;
	other.at.rate = "200 Gb/sec (2X NDR)";
	expect_mismatch(t, v4, other, MSG_rdma_differ_rate, false);
	other.at.state = "DOWN";
	expect_mismatch(t, v4, other, MSG_rdma_port_down, true);
	other = v4;
	other.at.gid.index = -1;
	expect_mismatch(t, other, v4, MSG_rdma_no_gid, true);
}

/* --- rates ---------------------------------------------------------------------------------------- */

static void what_a_link_should_carry(void **state)
{
	struct rdma_end roce = end_of("a", "::ffff:10.0.0.1", RDMA_GID_ROCE2);
	struct rdma_end ib = end_of("a", "fe80::1", RDMA_GID_IB);

	(void)state;
	assert_true(fabs(rdma_expected_gbps(&roce.at, 4096) - 400 * 4096.0 / 4178) < 1e-9);
	assert_true(fabs(rdma_expected_gbps(&roce.at, 1024) - 400 * 1024.0 / 1106) < 1e-9);
	roce = end_of("a", "fd93::1", RDMA_GID_ROCE2);
	assert_true(fabs(rdma_expected_gbps(&roce.at, 4096) - 400 * 4096.0 / 4198) < 1e-9);
	roce.at.gid.type = RDMA_GID_ROCE1;
	assert_true(fabs(rdma_expected_gbps(&roce.at, 4096) - 400 * 4096.0 / 4190) < 1e-9);
	assert_true(fabs(rdma_expected_gbps(&ib.at, 4096) - 400 * 4096.0 / 4122) < 1e-9);
	ib.at.rate = "40 Gb/sec (4X QDR)";
	ib.at.gbps = 40;
	assert_true(fabs(rdma_expected_gbps(&ib.at, 2048) - 32 * 2048.0 / 2074) < 1e-9);
	assert_true(isnan(rdma_expected_gbps(&ib.at, 0)));
	ib.at.gbps = NAN;
	assert_true(isnan(rdma_expected_gbps(&ib.at, 4096)));
}

/* --- counters --------------------------------------------------------------------------------------- */

static void counters_of_both_folders(void **state)
{
	struct made *t = *state;
	const struct rdma_counter *before, *after;
	int n, m;
	int64_t rise = 0;

	put(t, PORT "/counters/symbol_error", "5\n");
	put(t, PORT "/counters/port_xmit_data", "1000\n");
	put(t, PORT "/counters/link_downed", "N/A (no PMA)\n");
	put(t, PORT "/hw_counters/out_of_sequence", "9\n");
	put(t, PORT "/hw_counters/np_cnp_sent", "2\n");
	before = rdma_counters_read(&t->arena, t->root, "mlx5_0", 1, &n);
	assert_int_equal(n, 4);
	put(t, PORT "/counters/symbol_error", "8\n");
	put(t, PORT "/counters/port_xmit_data", "2000\n");
	put(t, PORT "/hw_counters/out_of_sequence", "3\n");
	put(t, PORT "/hw_counters/np_cnp_sent", "90\n");
	put(t, PORT "/hw_counters/packet_seq_err", "4\n");
	after = rdma_counters_read(&t->arena, t->root, "mlx5_0", 1, &m);
	assert_int_equal(m, 5);
	/* Reset meanwhile, and new: not known, and so not counted. */
	for (int i = 0; i < m; i++) {
		int64_t one = rdma_counter_rise(before, n, &after[i]);

		if (rdma_counter_is_error(after[i].name) && one > 0)
			rise += one;
	}
	assert_int_equal(rise, 3);
	assert_true(rdma_counter_is_error("retry_exceeded_err"));
	assert_false(rdma_counter_is_error("np_cnp_sent"));
	assert_false(rdma_counter_is_error("symbol"));
}

static void a_driver_without_counters(void **state)
{
	struct made *t = *state;
	int n = 9;

	put_port(t, "Ethernet\n");
	rdma_counters_read(&t->arena, t->root, "mlx5_0", 1, &n);
	assert_int_equal(n, 0);
}

static void gids_as_text(void **state)
{
	struct made *t = *state;
	uint8_t raw[RDMA_GID_BYTES];

	assert_true(rdma_gid_parse(V4, raw));
	assert_true(rdma_gid_is_v4(raw) && !rdma_gid_is_local(raw));
	assert_true(rdma_gid_parse(LOCAL6, raw));
	assert_true(rdma_gid_is_local(raw));
	assert_string_equal(rdma_gid_text(&t->arena, raw), "fe80::e42:a1ff:fe00:1");
	assert_false(rdma_gid_parse("10.0.0.1", raw));
	assert_false(rdma_gid_parse(NULL, raw));
}

#define MADE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MADE(the_table_of_a_roce_port),
		MADE(the_index_differs_and_the_choice_does_not),
		MADE(an_ipv6_only_fabric),
		MADE(link_local_when_there_is_nothing_else),
		MADE(an_empty_table),
		MADE(a_type_that_is_not_known_is_not_used),
		MADE(infiniband_takes_the_first),
		MADE(recorded_devices_with_software_among_them),
		MADE(the_tenth_comes_after_the_second),
		MADE(ends_that_fit),
		MADE(ends_that_do_not_fit),
		MADE(what_a_link_should_carry),
		MADE(counters_of_both_folders),
		MADE(a_driver_without_counters),
		MADE(gids_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
