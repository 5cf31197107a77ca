/* inventory: what this node is. Facts come from /proc, /sys and the PCI bus,
 * so they are there without any driver; what only a GPU driver can tell comes
 * last (inventory_cards.c), so that a driver that hangs hides nothing else. It
 * judges nothing: rules and people compare. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "hw/host.h"
#include "inventory.h"

#define GIB (1024.0 * 1024 * 1024)

/* --- emitting ----------------------------------------------------------------------- */

static struct reading fact(struct probe_ctx *ctx, const char *metric)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = SUBJECT_NODE;
	r.subject.id = ctx->node;
	return r;
}

static enum status emit_unknown(struct probe_ctx *ctx, struct reading *r, const char *source)
{
	r->value_kind = VALUE_NONE;
	r->outcome = OUTCOME_NOT_MEASURED;
	reason_set(ctx, &r->reason, MSG_host_unreadable, source);
	return ctx->emit(ctx, r);
}

/* text NULL: unknown, and source is what could not be read. */
static enum status emit_text(struct probe_ctx *ctx, const char *metric, const char *text,
                             const char *params, const char *source)
{
	struct reading r = fact(ctx, metric);

	r.params = params;
	if (!text)
		return emit_unknown(ctx, &r, source);
	r.value_kind = VALUE_TEXT;
	r.text = text;
	return ctx->emit(ctx, &r);
}

/* Negative or NaN: unknown. */
static enum status emit_number(struct probe_ctx *ctx, const char *metric, double value,
                               const char *params, const char *source)
{
	struct reading r = fact(ctx, metric);

	r.params = params;
	if (!(value >= 0))
		return emit_unknown(ctx, &r, source);
	r.value_kind = VALUE_NUMBER;
	r.value = value;
	return ctx->emit(ctx, &r);
}

/* --- groups of facts ------------------------------------------------------------------ */

static const char *cpu_params(struct probe_ctx *ctx, const struct host_cpu *cpu, int allowed)
{
	struct json_text t = json_text_begin();

	json_put_known(&t.j, "cores", cpu->cores);
	json_put_known(&t.j, "sockets", cpu->sockets);
	json_put_known(&t.j, "smt", cpu->smt);
	json_put_int(&t.j, "allowed", allowed);
	json_put_string(&t.j, "governor", cpu->governor);
	return json_text_end(&t, ctx->arena);
}

static enum status emit_cpu(struct probe_ctx *ctx)
{
	struct host_cpu cpu = host_cpu_read(ctx->arena, ctx->sys_root);
	struct host_limits limits = host_limits_read(ctx->arena, ctx->sys_root);
	const char *params;
	double usable;
	int allowed;
	enum status st;

	host_allowed_cpus(ctx->arena, ctx->sys_root, &allowed);
	usable = limits.cpus < allowed ? limits.cpus : allowed > 0 ? allowed : -1;
	params = cpu_params(ctx, &cpu, allowed);
	st = emit_text(ctx, "node_cpu_model", cpu.model, params, "/proc/cpuinfo");
	if (st == ST_OK)
		st = emit_number(ctx, "node_cpus", cpu.online, params,
		                 "/sys/devices/system/cpu/online");
	if (st == ST_OK)
		st = emit_number(ctx, "node_cpu_limit", usable,
		                 arena_strf(ctx->arena, "{\"cgroup\":%d,\"allowed\":%d}",
		                            limits.cgroup, allowed),
		                 "/sys/devices/system/cpu/online");
	if (st == ST_OK)
		st = emit_number(ctx, "node_numa_nodes", cpu.numa_nodes, NULL,
		                 "/sys/devices/system/node/online");
	return st;
}

static enum status emit_memory(struct probe_ctx *ctx)
{
	struct host_memory m = host_memory_read(ctx->sys_root);
	struct host_limits l = host_limits_read(ctx->arena, ctx->sys_root);
	struct json_text t = json_text_begin();

	json_put_known(&t.j, "total_bytes", m.total_bytes);
	json_put_known(&t.j, "available_bytes", m.available_bytes);
	json_put_known(&t.j, "swap_bytes", m.swap_bytes);
	json_put_known(&t.j, "hugepage_bytes", m.hugepage_bytes);
	json_put_limit(&t.j, "cgroup_limit_bytes", l.memory_bytes);
	return emit_number(ctx, "node_memory_gib",
	                   m.total_bytes < 0 ? NAN : (double)m.total_bytes / GIB,
	                   json_text_end(&t, ctx->arena), "/proc/meminfo");
}

static enum status emit_system(struct probe_ctx *ctx)
{
	struct host_system s = host_system_read(ctx->arena, ctx->sys_root);
	struct json_text clock = json_text_begin(), vm = json_text_begin();
	const char *clock_params, *vm_params;

	json_put_string(&clock.j, "available", s.clocksources);
	clock_params = json_text_end(&clock, ctx->arena);
	json_put_string(&vm.j, "product", s.product);
	json_put_string(&vm.j, "hostname", s.hostname);
	vm_params = json_text_end(&vm, ctx->arena);

	const struct {
		const char *metric, *text, *params, *source;
	} rows[] = {
		{"node_kernel", s.kernel, NULL, "/proc/sys/kernel/osrelease"},
		{"node_os", s.os, NULL, "/etc/os-release"},
		{"node_clocksource", s.clocksource, clock_params,
	         "/sys/devices/system/clocksource"},
		{"node_virtualization", s.virtualization, vm_params,
	         "/proc/cpuinfo, /sys/hypervisor"},
		{"node_container", s.container, NULL, "/proc/self/cgroup"},
		{"node_machine_id", s.machine_id, NULL, "/etc/machine-id"},
		{"node_boot_id", s.boot_id, NULL, "/proc/sys/kernel/random/boot_id"},
	};
	enum status st = ST_OK;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && st == ST_OK; i++)
		st = emit_text(ctx, rows[i].metric, rows[i].text, rows[i].params, rows[i].source);
	return st;
}

static const char *limit_word(int64_t limit)
{
	return limit == HOST_UNLIMITED ? "unlimited" : limit < 0 ? "unknown" : NULL;
}

/* "memlock unlimited, nofile 1048576, nproc 512000": too small a memlock stops
 * RDMA, too few files stop large jobs. */
static enum status emit_limits(struct probe_ctx *ctx)
{
	struct host_limits l = host_limits_read(ctx->arena, ctx->sys_root);
	const struct {
		const char *name;
		int64_t value;
	} rows[] = {{"memlock", l.memlock_bytes}, {"nofile", l.open_files}, {"nproc", l.processes}};
	struct json_text t = json_text_begin();
	struct str text = {0};
	const char *kept = NULL;

	for (int i = 0; i < 3; i++) {
		const char *word = limit_word(rows[i].value);

		str_addf(&text, "%s%s %s", i ? ", " : "", rows[i].name,
		         word ? word : tmpf("%lld", (long long)rows[i].value));
		json_put_limit(&t.j, rows[i].name, rows[i].value);
	}
	if (l.memlock_bytes >= 0 || l.open_files >= 0 || l.processes >= 0)
		kept = arena_str(ctx->arena, text.data);
	str_release(&text);
	return emit_text(ctx, "node_limits", kept, json_text_end(&t, ctx->arena),
	                 "/proc/self/limits");
}

/* --- running --------------------------------------------------------------------------- */

static enum status run(struct probe_ctx *ctx)
{
	static enum status (*const groups[])(struct probe_ctx * ctx) = {
		emit_cpu,         emit_memory,     emit_system,    emit_limits,
		inventory_mounts, inventory_nics,  inventory_rdma, inventory_rdma_ports,
		inventory_nvidia, inventory_cards,
	};
	enum status st = ST_OK;

	ctx->progress(ctx, STAGE_MEASURING, 0, MSG_doing_inventory);
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups) && st == ST_OK; i++)
		st = groups[i](ctx);
	return st;
}

/* A driver that keeps nothing ready needs a second or two for each card. */
static double duration(struct probe_ctx *ctx)
{
	int cards = host_nvidia_read(ctx->arena, ctx->sys_root).n_cards;

	return 1 + 2 * (cards > 0 ? cards : 0);
}

static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

#define NODE(name, unit, formula)                                                                  \
	{                                                                                          \
		name, unit, BETTER_NEITHER, SUBJECT_NODE, BACKEND_ANY, formula                     \
	}
#define CARD(name, unit, better, formula)                                                          \
	{                                                                                          \
		name, unit, BETTER_##better, SUBJECT_CARD, BACKEND_CUDA, formula                   \
	}

static const struct metric metrics[] = {
	NODE("node_cpu_model", "text", "model name in /proc/cpuinfo"),
	NODE("node_cpus", "1", "logical CPUs online"),
	NODE("node_cpu_limit", "1", "CPUs this process may use: allowed ones, or its cgroup quota"),
	NODE("node_numa_nodes", "1", "memory nodes online"),
	NODE("node_memory_gib", "GiB", "MemTotal of /proc/meminfo"),
	NODE("node_kernel", "text", "release of the running kernel"),
	NODE("node_os", "text", "PRETTY_NAME of os-release"),
	NODE("node_clocksource", "text", "clock source the kernel uses"),
	NODE("node_virtualization", "text", "none or vm, by CPU flag, hypervisor node and DMI"),
	NODE("node_container", "text", "container runtime by its signs, or none"),
	NODE("node_machine_id", "text", "/etc/machine-id"),
	NODE("node_boot_id", "text", "random id of this boot"),
	NODE("node_limits", "text", "soft limits of this process"),
	NODE("node_filesystems", "1", "mounted file systems that hold files"),
	NODE("node_nics", "1", "network adapters with a device behind them"),
	NODE("node_rdma_devices", "1", "RDMA devices with a PCI parent; software ones not counted"),
	{"rdma_ports_active", "1", BETTER_HIGHER, SUBJECT_NODE, BACKEND_ANY,
         "RDMA ports in state active"},
	NODE("rdma_gpu_path", "text",
             "how a NIC reaches card memory: dma-buf or nvidia-peermem; unsupported where there "
             "is none"),
	NODE("node_nvidia_pci_devices", "1", "PCI devices of vendor 10de, class 0300 or 0302"),
	NODE("node_driver_version", "text", "version of the loaded NVIDIA kernel module"),
	NODE("node_driver_agrees", "1", "1 if NVML speaks for the kernel module that is loaded"),
	NODE("node_cards_agree", "1",
             "1 if PCI, NVML and CUDA list the same cards; failed names the missing ones"),
	CARD("card_name", "text", NEITHER, "device name as NVML gives it"),
	CARD("card_pci_device", "text", NEITHER, "PCI vendor:device, 10de:20b2"),
	CARD("card_capability", "text", NEITHER, "compute capability, 8.0"),
	CARD("card_sm_count", "1", NEITHER, "multiprocessors that CUDA reports"),
	CARD("card_max_sm_clock_mhz", "MHz", NEITHER, "highest SM clock that NVML reports"),
	CARD("card_memory_mib", "MiB", NEITHER, "total memory that NVML reports"),
	CARD("card_sources_agree", "1", NEITHER,
             "1 if PCI, NVML and CUDA say the same of the card; failed says what differs"),
	CARD("card_ecc_mode", "text", NEITHER, "on or off; off also where a card has no ECC"),
	CARD("card_ecc_uncorrected", "1", LOWER, "uncorrected memory errors since the boot"),
	CARD("card_ecc_uncorrected_ever", "1", LOWER, "uncorrected memory errors since made"),
	CARD("card_remap_failures", "1", LOWER, "1 if the remapping of a memory row failed"),
	CARD("card_remap_pending", "1", LOWER,
             "1 if a memory row waits for a reset to be remapped"),
	CARD("card_retired_pages", "1", LOWER, "memory pages given up, on cards before Ampere"),
	CARD("card_power_limit_share", "1", HIGHER, "enforced power limit / the card's default"),
	CARD("card_recovery_action", "text", NEITHER, "what the driver wants done: none, reset …"),
	CARD("card_xids", "1", LOWER, "Xids since boot, without those that a program alone causes"),
	CARD("card_mig_enabled", "1", NEITHER, "1 if the card is partitioned (MIG), else 0"),
	CARD("card_vgpu", "1", NEITHER,
             "1 if the card is a vGPU; 0 on bare metal and passed through"),
	CARD("card_virtualization", "text", NEITHER, "none, passthrough, vgpu …, as NVML says"),
	CARD("card_foreign_processes", "1", LOWER,
             "processes on the card that are not of this run; 1 for memory in nobody's name"),
	CARD("card_pcie_gen", "1", HIGHER, "PCIe generation of the link under load"),
	CARD("card_pcie_width", "1", HIGHER, "PCIe lanes of the link"),
	CARD("nvlink_version", "1", HIGHER, "lowest NVLink version of the active links"),
	CARD("nvlink_links_active", "1", NEITHER, "NVLink links that are up"),
	CARD("nvlink_rate_gbs", "GB/s", HIGHER,
             "sum of the data rates of the active links, one way"),
	CARD("nvlink_recoveries", "1", LOWER,
             "NVLink recoveries since the driver was loaded, all links"),
	CARD("card_fabric", "text", NEITHER,
             "state of the NVSwitch fabric: completed, in progress …"),
	{0},
};

static const struct param params[] = {
	{"hang_s", PARAM_REAL, "s", {"10", "10", "30"}, 0.01, 3600, NULL, MSG_help_hang},
	{0},
};

const struct probe probe_inventory = {
	.name = "inventory",
	.title = MSG_probe_inventory,
	.subject = SUBJECT_NODE,
	.phase = "hello",
	.seconds = {1, 1, 1},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.supported = supported,
	.run = run,
};
