/* src/hw: reading recorded machines, finding libraries, the pinned threads. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "hw/blas.h"
#include "hw/host.h"
#include "hw/pool.h"
#include "hw/sysfs.h"
#include "hw/topology.h"

#define GPU_NODE TESTS_DIR "/nodes/gpu-node"
#define VM       TESTS_DIR "/nodes/vm-cgroup1"
#define BARE     TESTS_DIR "/nodes/bare"

static int setup(void **state)
{
	static struct arena arena;

	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_release(*state);
	return 0;
}

static void cpu_lists(void **state)
{
	static const struct {
		const char *list;
		int count;
	} rows[] = {{"0", 1},   {"0-3", 4},  {"0-3,8,10-11", 7}, {"", 0},
	            {NULL, -1}, {"a", -1},   {"3-1", -1},        {"-1", -1},
	            {"0,", 1},  {"0 1", -1}, {"0-", -1},         {"0-99999999999", -1}};
	int cpus[3] = {-1, -1, -1};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(cpu_list_parse(rows[i].list, NULL, 0), rows[i].count);
	assert_int_equal(cpu_list_parse("5-9", cpus, 3), 5);
	assert_int_equal(cpus[0], 5);
	assert_int_equal(cpus[2], 7);
}

static void pci_addresses(void **state)
{
	(void)state;
	assert_true(pci_address_valid("0000:17:00.0"));
	assert_true(pci_address_valid("00000001:ab:1f.7"));
	assert_false(pci_address_valid("0000:17:00"));
	assert_false(pci_address_valid("000:17:00.0"));
	assert_false(pci_address_valid("pci0000:17"));
	assert_false(pci_address_valid("0000:17:00.0x"));
	assert_false(pci_address_valid(""));
}

static void numbers_and_texts(void **state)
{
	struct arena *a = *state;
	const char *const *names = sys_names(a, GPU_NODE, "/sys/class/infiniband");

	assert_int_equal(sys_number(-7, GPU_NODE, "/sys/bus/pci/devices/%s/vendor", "0000:17:00.0"),
	                 0x10de);
	assert_int_equal(
		sys_number(-7, VM, "/sys/bus/pci/devices/%s/current_link_speed", "0000:00:05.0"),
		-7);
	assert_int_equal(sys_number(-7, BARE, "/nothing"), -7);
	assert_null(sys_text(a, GPU_NODE, "/.dockerenv"));
	assert_string_equal(names[0], "mlx5_0");
	assert_string_equal(names[2], "rxe0");
	assert_null(names[4]);
	assert_null(sys_names(a, BARE, "/sys")[0]);
}

static void a_gpu_node(void **state)
{
	struct arena *a = *state;
	struct host_cpu cpu = host_cpu_read(a, GPU_NODE);
	struct host_memory memory = host_memory_read(GPU_NODE);
	struct host_system s = host_system_read(a, GPU_NODE);
	int count;
	const int *sockets = host_socket_ids(a, GPU_NODE, &count);

	assert_string_equal(cpu.model, "Intel(R) Xeon(R) Platinum 8480C");
	assert_int_equal(cpu.online, 8);
	assert_int_equal(cpu.cores, 4);
	assert_int_equal(cpu.sockets, 2);
	assert_int_equal(cpu.numa_nodes, 2);
	assert_int_equal(cpu.smt, 1);
	assert_false(cpu.hypervisor);
	assert_string_equal(cpu.governor, "performance");
	assert_int_equal(count, 2);
	assert_int_equal(sockets[0], 0);
	assert_int_equal(sockets[1], 1);
	assert_true(memory.total_bytes == 2113389864LL * 1024);
	assert_true(memory.hugepage_bytes == 1024LL * 2048 * 1024);
	assert_int_equal(memory.swap_bytes, 0);
	assert_string_equal(s.kernel, "5.15.0-91-generic");
	assert_string_equal(s.os, "Ubuntu 22.04.4 LTS");
	assert_string_equal(s.clocksources, "tsc hpet acpi_pm");
	assert_string_equal(s.container, "docker");
	assert_string_equal(s.virtualization, "none");
	assert_string_equal(s.product, "Supermicro SYS-821GE-TNHR");
	assert_string_equal(s.boot_id, "0f8fad5b-d9cb-469f-a165-70867728950e");
}

static void its_devices(void **state)
{
	struct arena *a = *state;
	struct host_nvidia nv = host_nvidia_read(a, GPU_NODE);
	int nics, devices;
	const struct host_nic *nic = host_nics_read(a, GPU_NODE, &nics);
	const struct host_rdma *rdma = host_rdma_read(a, GPU_NODE, &devices);

	/* The sound function of a card and the board's own display are no cards. */
	assert_int_equal(nv.n_cards, 4);
	assert_int_equal(nv.switches, 1);
	assert_string_equal(nv.cards[2].address, "0000:8a:00.0");
	assert_int_equal(nv.cards[2].device, 0x2330);
	assert_int_equal(nv.cards[2].numa_node, 1);
	assert_string_equal(nv.cards[2].driver, "nvidia");
	assert_string_equal(nv.cards[2].max_speed, "32.0 GT/s PCIe");
	assert_int_equal(nv.cards[2].width, 16);
	assert_string_equal(nv.driver, "550.54.15");
	assert_int_equal(nv.open_module, 1);
	assert_true(nv.peermem);

	assert_int_equal(devices, 4);
	assert_string_equal(rdma[1].pci, "0000:11:00.0");
	assert_string_equal(rdma[1].state, "ACTIVE");
	assert_string_equal(rdma[1].rate, "400 Gb/sec (4X NDR)");
	assert_int_equal(rdma[1].ports, 1);
	assert_int_equal(rdma[1].numa_node, 1);
	assert_string_equal(rdma[3].name, "siw_eth0");
	assert_null(rdma[3].pci);
	assert_int_equal(rdma[3].numa_node, HOST_UNKNOWN);

	assert_int_equal(nics, 2);
	assert_string_equal(nic[0].name, "ibp16s0");
	assert_string_equal(nic[0].pci, "0000:10:00.0");
	assert_string_equal(nic[0].driver, "mlx5_core");
	assert_int_equal(nic[0].speed_mbps, 400000);
	assert_false(nic[0].is_virtual);
	assert_true(nic[1].is_virtual);
	assert_int_equal(nic[1].speed_mbps, HOST_UNKNOWN);
}

static void its_limits(void **state)
{
	struct arena *a = *state;
	struct host_limits l = host_limits_read(a, GPU_NODE);
	int count;
	const struct host_mount *m = host_mounts_read(a, GPU_NODE, &count);

	assert_int_equal(l.cgroup, 2);
	assert_true(l.cpus == 6.0); /* of the group above ours */
	assert_true(l.memory_bytes == 1LL << 40);
	assert_int_equal(l.throttled_us, 1500);
	assert_true(l.memlock_bytes == HOST_UNLIMITED);
	assert_int_equal(l.open_files, 1048576);
	assert_true(host_memory_free(GPU_NODE) == 1LL << 40);
	assert_int_equal(count, 6);
	assert_string_equal(m[4].point, "/mnt/shared data");
	assert_string_equal(m[4].type, "nfs4");
	assert_string_equal(m[4].source, "10.0.0.1:/export");
	assert_string_equal(m[5].source, "10.0.0.2@o2ib:/scratch");
}

static void a_virtual_machine(void **state)
{
	struct arena *a = *state;
	struct host_cpu cpu = host_cpu_read(a, VM);
	struct host_system s = host_system_read(a, VM);
	struct host_limits l = host_limits_read(a, VM);
	struct host_nvidia nv = host_nvidia_read(a, VM);
	struct host_ticks ticks;
	int count;
	const struct host_nic *nic = host_nics_read(a, VM, &count);

	assert_true(cpu.hypervisor);
	assert_int_equal(cpu.sockets, 1); /* -1 stands for no packages */
	assert_int_equal(cpu.cores, 2);
	assert_int_equal(cpu.numa_nodes, HOST_UNKNOWN);
	assert_int_equal(cpu.smt, HOST_UNKNOWN);
	assert_string_equal(s.virtualization, "vm KVM");
	assert_string_equal(s.os, "Rocky");
	assert_string_equal(s.container, "kubernetes");
	assert_null(s.machine_id);
	assert_int_equal(l.cgroup, 1);
	assert_true(l.cpus == 1.5);
	assert_true(l.memory_bytes == HOST_UNLIMITED);
	assert_int_equal(l.throttled_us, 2500);
	assert_int_equal(l.open_files, HOST_UNKNOWN);
	assert_int_equal(nv.n_cards, 1);
	assert_null(nv.driver);
	assert_int_equal(nv.open_module, HOST_UNKNOWN);
	assert_int_equal(nv.cards[0].numa_node, HOST_UNKNOWN);
	assert_int_equal(nic[0].speed_mbps, HOST_UNKNOWN);
	assert_int_equal(host_memory_read(VM).available_bytes, HOST_UNKNOWN);
	assert_int_equal(host_memory_free(VM), HOST_UNKNOWN);
	assert_true(host_ticks_read(&ticks, VM));
	assert_int_equal(ticks.steal, 835);
	assert_int_equal(ticks.total, 2000);
}

static void nothing_known(void **state)
{
	struct arena *a = *state;
	struct host_cpu cpu = host_cpu_read(a, BARE);
	struct host_system s = host_system_read(a, BARE);
	struct host_limits l = host_limits_read(a, BARE);
	struct host_ticks ticks;
	int count;

	assert_null(cpu.model);
	assert_int_equal(cpu.online, HOST_UNKNOWN);
	assert_int_equal(cpu.sockets, HOST_UNKNOWN);
	assert_null(s.kernel);
	assert_null(s.virtualization);
	assert_string_equal(s.container, "none");
	assert_int_equal(l.cgroup, 0);
	assert_true(isnan(l.cpus));
	assert_int_equal(host_memory_read(BARE).total_bytes, HOST_UNKNOWN);
	assert_false(host_ticks_read(&ticks, BARE));
	assert_int_equal(host_nvidia_read(a, BARE).n_cards, HOST_UNKNOWN);
	host_rdma_read(a, BARE, &count);
	assert_int_equal(count, HOST_UNKNOWN);
	host_nics_read(a, BARE, &count);
	assert_int_equal(count, HOST_UNKNOWN);
	host_mounts_read(a, BARE, &count);
	assert_int_equal(count, HOST_UNKNOWN);
	/* A machine with /sys and without adapters has none: that is known. */
	host_rdma_read(a, VM, &count);
	assert_int_equal(count, 0);
	assert_int_equal(host_socket_ids(a, BARE, &count)[0], 0);
	assert_int_equal(count, 1);
}

static void this_machine(void **state)
{
	struct arena *a = *state;
	struct topology t;
	struct str maps = {0};
	int allowed, cores = 0, sockets, threads = 0;
	const int *ids = host_socket_ids(a, "", &sockets);

	host_allowed_cpus(a, "", &allowed);
	assert_int_equal(topology_read(&t, a, "", NULL), ST_OK);
	/* hwloc and the kernel's own files agree on sockets and CPUs. */
	assert_int_equal(t.n_sockets, sockets);
	for (int i = 0; i < t.n_sockets; i++) {
		assert_int_equal(t.sockets[i].id, ids[i]);
		assert_ptr_equal(topology_socket(&t, ids[i]), &t.sockets[i]);
		cores += t.sockets[i].cores;
		threads += t.sockets[i].threads;
	}
	assert_int_equal(threads, allowed);
	assert_true(cores >= 1 && cores <= allowed);
	assert_null(topology_socket(&t, 4711));
	/* No plugin of hwloc came along. */
	assert_true(sys_read(&maps, "", "/proc/self/maps"));
	assert_null(strstr(maps.data, "OpenCL"));
	assert_null(strstr(maps.data, "hwloc/"));
	str_release(&maps);
}

/* --- libraries ------------------------------------------------------------------ */

static void a_cache_is_read_with_care(void **state)
{
	struct {
		char head[48];
		struct {
			int32_t flags;
			uint32_t name, path, os;
			uint64_t hwcap;
		} entry[2];
		char text[40];
	} cache = {.head = "glibc-ld.so.cache1.1", .text = "libx.so.1\0/lib/libx.so.1\0open"};
	uint32_t text_at = sizeof(cache.head) + sizeof(cache.entry), n = 2;
	char old[16 + sizeof(cache)];

	(void)state;
	memcpy(cache.head + 20, &n, sizeof(n));
	cache.entry[0].name = 0xffffffff; /* outside the file */
	cache.entry[1].name = text_at;
	cache.entry[1].path = text_at + 10;
	assert_string_equal(linker_cache_find((char *)&cache, sizeof(cache), "libx.so.1"),
	                    "/lib/libx.so.1");
	assert_null(linker_cache_find((char *)&cache, sizeof(cache), "libx.so"));
	memset(old, 'o', 16);
	memcpy(old + 16, &cache, sizeof(cache));
	assert_string_equal(linker_cache_find(old, sizeof(old), "libx.so.1"), "/lib/libx.so.1");
	/* Cut off inside the entries, inside the head, empty, too many entries. */
	assert_null(linker_cache_find((char *)&cache, 60, "libx.so.1"));
	assert_null(linker_cache_find((char *)&cache, 30, "libx.so.1"));
	assert_null(linker_cache_find("", 0, "libx.so.1"));
	n = 0x7fffffff;
	memcpy(cache.head + 20, &n, sizeof(n));
	assert_null(linker_cache_find((char *)&cache, sizeof(cache), "libx.so.1"));
}

static void libraries_are_found_where_allowed(void **state)
{
	static const char *const c_library[] = {"libnone.so.9", "libc.so.6", NULL};
	static const char *const fake[] = {"libfake.so.1", NULL};
	struct arena *a = *state;
	char dir[] = "/tmp/assay-loader-XXXXXX";
	struct str path = {0};
	struct library lib;
	struct error err = {0};

	assert_int_equal(library_open(&lib, a, c_library, NULL, &err), ST_OK);
	assert_string_equal(lib.soname, "libc.so.6");
	assert_int_equal(lib.path[0], '/');
	assert_non_null(library_symbol(&lib, "printf"));
	assert_null(library_symbol(&lib, "no_such_function"));
	assert_non_null(library_find(a, c_library, NULL));

	/* With a directory, nothing outside it counts. */
	assert_non_null(mkdtemp(dir));
	assert_null(library_find(a, c_library, dir));
	assert_int_equal(library_open(&lib, a, c_library, dir, &err), ST_NOTFOUND);
	assert_non_null(strstr(err.text.data, "libnone.so.9"));
	error_release(&err);

	/* There, but not a library: another answer than absent. */
	path_join(&path, dir, fake[0]);
	assert_int_equal(file_write(path.data, "text", 4, NULL), ST_OK);
	assert_string_equal(library_find(a, fake, dir), path.data);
	assert_int_equal(library_open(&lib, a, fake, dir, &err), ST_UNSUPPORTED);
	error_release(&err);
	unlink(path.data);
	rmdir(dir);
	str_release(&path);
}

static void no_blas_says_what_to_install(void **state)
{
	struct arena *a = *state;
	char dir[] = "/tmp/assay-blas-XXXXXX";
	struct str path = {0};
	struct blas list[BLAS_FAMILIES];
	int count;
	struct error err = {0};

	assert_non_null(mkdtemp(dir));
	assert_null(blas_find(a, dir));
	assert_int_equal(blas_open(list, &count, a, NULL, dir, &err), ST_NOTFOUND);
	assert_non_null(strstr(err.text.data, "libopenblas0-pthread"));
	error_release(&err);
	path_join(&path, dir, "libblis.so.4");
	assert_int_equal(file_write(path.data, "text", 4, NULL), ST_OK);
	assert_non_null(blas_find(a, dir));
	assert_int_equal(blas_open(list, &count, a, NULL, dir, &err), ST_UNSUPPORTED);
	assert_non_null(strstr(err.text.data, "blis"));
	error_release(&err);
	unlink(path.data);
	rmdir(dir);
	str_release(&path);
}

/* --- threads ---------------------------------------------------------------------- */

static void count_part(void *arg, int part, int parts)
{
	atomic_int *sums = arg;

	assert_int_equal(parts, 3);
	atomic_fetch_add(&sums[part], part + 1);
}

static void a_pool_runs_every_part_once(void **state)
{
	struct arena *a = *state;
	int count;
	const int *cpus = host_allowed_cpus(a, "", &count);
	int where[3] = {cpus[0], cpus[count - 1], 60000};
	atomic_int sums[3] = {0};
	struct pool *pool;

	assert_int_equal(pool_start(&pool, where, 3, NULL), ST_OK);
	assert_int_equal(pool_bound(pool), 2); /* there is no CPU 60000 */
	for (int i = 0; i < 100; i++)
		pool_run(pool, count_part, sums);
	pool_stop(pool);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sums[i], 100 * (i + 1));
	pool_stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_lists),
		cmocka_unit_test(pci_addresses),
		cmocka_unit_test(numbers_and_texts),
		cmocka_unit_test(a_gpu_node),
		cmocka_unit_test(its_devices),
		cmocka_unit_test(its_limits),
		cmocka_unit_test(a_virtual_machine),
		cmocka_unit_test(nothing_known),
		cmocka_unit_test(this_machine),
		cmocka_unit_test(a_cache_is_read_with_care),
		cmocka_unit_test(libraries_are_found_where_allowed),
		cmocka_unit_test(no_blas_says_what_to_install),
		cmocka_unit_test(a_pool_runs_every_part_once),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
