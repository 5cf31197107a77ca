/* What the kernel and the files of a node say, which the host under test may have made
 * up: each text in the place of every file that is read in a form of its own. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collective.h"
#include "fio_series.h"
#include "frameworks.h"
#include "hw/host.h"
#include "hw/rdma_ports.h"
#include "hw/sysfs.h"
#include "inventory_visible.h"
#include "inventory_xid.h"
#include "software.h"
#include "storage_counters.h"

#define BLOCK "sys/class/block/sda"
#define NET   "sys/class/net/eth0"
#define PORT  "sys/class/infiniband/mlx5_0/ports/1"

static const char *const files[] = {
	"proc/self/mountinfo",
	"proc/self/cgroup",
	"proc/self/limits",
	"proc/cpuinfo",
	"proc/meminfo",
	"proc/stat",
	"etc/os-release",
	"proc/driver/nvidia/version",
	"lib/libx.so.1",
	BLOCK "/stat",
	BLOCK "/device",
	NET "/statistics/rx_bytes",
	NET "/statistics/tx_bytes",
	NET "/device",
	NET "/speed",
	NET "/operstate",
	PORT "/rate",
};

static void kernel(struct arena *arena, const char *root)
{
	struct host_memory memory = host_memory_read(root);
	struct host_limits limits;
	struct storage_place place;
	struct host_ticks ticks;
	int count = 0;

	fuzz_promise(memory.total_bytes >= HOST_UNKNOWN, "memory that is negative");
	host_cpu_read(arena, root);
	host_system_read(arena, root);
	host_ticks_read(&ticks, root);
	limits = host_limits_read(arena, root);
	fuzz_promise(limits.memory_bytes >= 0, "a limit that is negative");
	host_mounts_read(arena, root, &count);
	host_nvidia_read(arena, root);
	storage_place_read(&place, arena, root, "/", NULL);
}

static void counters(struct arena *arena, const char *root)
{
	const struct storage_place place = {.over_network = true};
	struct storage_counters found;
	struct counted now;
	double link;

	fuzz_named(PORT "/link_layer", "InfiniBand\n", 11);
	fuzz_named(PORT "/state", "4: ACTIVE\n", 10);
	storage_counters_find(&found, arena, root, &place);
	if (storage_counters_read(&found, root, &now))
		fuzz_promise(now.read_bytes >= 0 && now.written_bytes >= 0, "bytes below nothing");
	link = storage_link_bytes_per_s(root);
	fuzz_promise(link >= 0 && isfinite(link), "a link that is none");
}

static void elf(struct arena *arena, const char *root)
{
	struct probe_ctx ctx = {.arena = arena, .clock = &clock_system, .sys_root = root};
	struct sw_scan scan = {.ctx = &ctx, .arena = arena, .root = root, .until_ns = INT64_MAX};
	struct sw_elf library;

	if (sw_elf_read(&scan, &library, "/lib/libx.so.1")) {
		fuzz_promise(library.needed != NULL, "a list that is not there");
		sw_elf_highest(&library, "ncclGetVersion");
		sw_nccl_version(&scan, "/lib/libx.so.1", &library);
	}
	sw_identity(&scan, "/lib/libx.so.1");
}

static void texts(struct arena *arena, const char *text, size_t len)
{
	static const struct fw_asked asked = {.title = "PyTorch",
	                                      .version = "2",
	                                      .python = "p",
	                                      .python_version = "3",
	                                      .sums = true,
	                                      .seconds = 10};
	uint8_t gid[RDMA_GID_BYTES];
	struct fio_series series;
	struct fw_line line;
	struct visible visible;
	struct xid_log log = {0};
	int cpus[64];

	fuzz_promise(cpu_list_parse(text, cpus, 64) >= -1, "a number of CPUs");
	rdma_gid_parse(text, gid);
	pci_address_valid(text);
	collective_log_find_algorithm(arena, text);
	storage_mount_option(arena, text, "addr");
	visible = visible_parse(arena, text, 8);
	fuzz_promise(visible.n <= VISIBLE_WORDS, "more cards than there is room for");
	xid_parse(&log, arena, text);
	for (int i = 0; i < log.n; i++)
		fuzz_promise(log.list[i].pci && log.list[i].text, "an Xid of no card");
	fio_series_init(&series, arena, 10, 1);
	fio_series_add(&series, text);
	fio_series_finish(&series, 1000, 1);
	fw_line_read(&line, arena, text, len, &asked);
	fuzz_promise(line.outcome != OUTCOME_MEASURED || line.step_ms > 0, "a step without time");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena arena = {0};
	char root[64];

	strcpy(root, fuzz_folder());
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		fuzz_named(files[i], data, len);
	kernel(&arena, root);
	elf(&arena, root);
	counters(&arena, root);
	texts(&arena, arena_strn(&arena, (const char *)data, len), len);
	arena_release(&arena);
	return 0;
}
