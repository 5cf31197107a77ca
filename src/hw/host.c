/* Processors, memory and identity of this machine. The kernel's own files are
 * read instead of asking tools: they are there in the barest container. */
#include "hw/host.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw/sysfs.h"

#define CPU_DIR  "/sys/devices/system/cpu"
#define MAX_CPUS 65536

/* --- "key : value" files --------------------------------------------------- */

/* Value of the first line that starts with key and separator, in the arena.
 * /proc/cpuinfo pads keys with tabs; os-release and meminfo do not. */
static const char *keyed_value(struct arena *arena, const struct str *text, const char *key,
                               char separator)
{
	size_t len = strlen(key);

	for (const char *line = str_text(text); *line;) {
		size_t line_len = strcspn(line, "\n");
		const char *p = line + len, *end = line + line_len;

		if (line_len > len && strncmp(line, key, len) == 0) {
			while (p < end && isspace((unsigned char)*p))
				p++;
			if (p < end && *p == separator) {
				for (p++; p < end && isspace((unsigned char)*p); p++)
					;
				return arena_strn(arena, p, (size_t)(end - p));
			}
		}
		line = *end ? end + 1 : end;
	}
	return NULL;
}

/* --- processors ------------------------------------------------------------ */

const int *host_allowed_cpus(struct arena *arena, const char *root, int *count)
{
	int *cpus, n = 0;
	cpu_set_t *mask;
	size_t size = CPU_ALLOC_SIZE(MAX_CPUS);

	if (root[0]) {
		const char *list = sys_text(arena, root, CPU_DIR "/online");

		*count = cpu_list_parse(list, NULL, 0);
		*count = *count < 0 ? 0 : *count;
		cpus = arena_array(arena, (size_t)*count + 1, sizeof(*cpus));
		cpu_list_parse(list, cpus, *count);
		return cpus;
	}
	mask = arena_alloc(arena, size);
	if (sched_getaffinity(0, size, mask) != 0)
		CPU_SET_S(0, size, mask);
	*count = CPU_COUNT_S(size, mask);
	cpus = arena_array(arena, (size_t)*count, sizeof(*cpus));
	for (int cpu = 0; cpu < MAX_CPUS && n < *count; cpu++)
		if (CPU_ISSET_S((size_t)cpu, size, mask))
			cpus[n++] = cpu;
	return cpus;
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts and removes doubles; returns how many are left. */
static int distinct(int64_t *values, int n)
{
	int kept = 0;

	qsort(values, (size_t)n, sizeof(*values), compare_numbers);
	for (int i = 0; i < n; i++)
		if (kept == 0 || values[i] != values[kept - 1])
			values[kept++] = values[i];
	return kept;
}

/* Package id of a CPU; machines without packages have the one with number 0. */
static int64_t package_of(const char *root, int cpu)
{
	int64_t id = sys_number(0, root, CPU_DIR "/cpu%d/topology/physical_package_id", cpu);

	return id < 0 ? 0 : id;
}

const int *host_socket_ids(struct arena *arena, const char *root, int *count)
{
	int n, *ids;
	const int *cpus = host_allowed_cpus(arena, root, &n);
	int64_t *packages = arena_array(arena, (size_t)n + 1, sizeof(*packages));

	for (int i = 0; i < n; i++)
		packages[i] = package_of(root, cpus[i]);
	*count = n > 0 ? distinct(packages, n) : 1;
	ids = arena_array(arena, (size_t)*count, sizeof(*ids));
	for (int i = 0; i < *count; i++)
		ids[i] = (int)packages[i];
	return ids;
}

static void count_cores(struct host_cpu *cpu, struct arena *arena, const char *root)
{
	const char *list = sys_text(arena, root, CPU_DIR "/online");
	int n = cpu_list_parse(list, NULL, 0), *cpus;
	int64_t *packages, *cores;

	if (n <= 0)
		return;
	cpus = arena_array(arena, (size_t)n, sizeof(*cpus));
	packages = arena_array(arena, (size_t)n, sizeof(*packages));
	cores = arena_array(arena, (size_t)n, sizeof(*cores));
	cpu_list_parse(list, cpus, n);
	cpu->online = n;
	for (int i = 0; i < n; i++) {
		int64_t core = sys_number(-1, root, CPU_DIR "/cpu%d/topology/core_id", cpus[i]);

		if (core < 0)
			return;
		packages[i] = package_of(root, cpus[i]);
		/* Core ids repeat from socket to socket. */
		cores[i] = packages[i] << 32 | core;
	}
	cpu->sockets = distinct(packages, n);
	cpu->cores = distinct(cores, n);
}

static const char *cpu_model(struct arena *arena, const struct str *info)
{
	const char *model = keyed_value(arena, info, "model name", ':');
	const char *implementer = keyed_value(arena, info, "CPU implementer", ':');
	const char *part = keyed_value(arena, info, "CPU part", ':');

	if (!model && implementer && part)
		model = arena_strf(arena, "ARM implementer %s part %s", implementer, part);
	return model ? model : keyed_value(arena, info, "cpu", ':');
}

struct host_cpu host_cpu_read(struct arena *arena, const char *root)
{
	struct host_cpu cpu = {.online = HOST_UNKNOWN,
	                       .cores = HOST_UNKNOWN,
	                       .sockets = HOST_UNKNOWN,
	                       .numa_nodes = HOST_UNKNOWN};
	struct str info = {0};
	const char *flags;

	if (sys_read(&info, root, "/proc/cpuinfo")) {
		cpu.model = cpu_model(arena, &info);
		flags = keyed_value(arena, &info, "flags", ':');
		cpu.hypervisor = flags && strstr(flags, " hypervisor");
	}
	str_release(&info);
	count_cores(&cpu, arena, root);
	cpu.numa_nodes =
		cpu_list_parse(sys_text(arena, root, "/sys/devices/system/node/online"), NULL, 0);
	cpu.smt = (int)sys_number(HOST_UNKNOWN, root, CPU_DIR "/smt/active");
	cpu.governor = sys_text(arena, root, CPU_DIR "/cpu0/cpufreq/scaling_governor");
	return cpu;
}

/* --- memory ------------------------------------------------------------------ */

/* Figures of meminfo are in kB, except counts. */
static int64_t meminfo(struct arena *arena, const struct str *text, const char *key, int64_t unit)
{
	const char *value = keyed_value(arena, text, key, ':');
	char *end;
	long long number = value ? strtoll(value, &end, 10) : 0;

	if (!value || end == value || number < 0 || number > INT64_MAX / unit)
		return HOST_UNKNOWN;
	return number * unit;
}

struct host_memory host_memory_read(const char *root)
{
	struct host_memory m = {HOST_UNKNOWN, HOST_UNKNOWN, HOST_UNKNOWN, HOST_UNKNOWN};
	struct arena arena = {0};
	struct str text = {0};
	int64_t pages, page;

	if (sys_read(&text, root, "/proc/meminfo")) {
		m.total_bytes = meminfo(&arena, &text, "MemTotal", 1024);
		m.available_bytes = meminfo(&arena, &text, "MemAvailable", 1024);
		m.swap_bytes = meminfo(&arena, &text, "SwapTotal", 1024);
		pages = meminfo(&arena, &text, "HugePages_Total", 1);
		page = meminfo(&arena, &text, "Hugepagesize", 1024);
		if (pages >= 0 && page > 0 && pages <= INT64_MAX / page)
			m.hugepage_bytes = pages * page;
	}
	str_release(&text);
	arena_release(&arena);
	return m;
}

/* --- identity ------------------------------------------------------------------ */

static const char *os_name(struct arena *arena, const char *root)
{
	struct str text = {0};
	const char *name = NULL;

	if (sys_read(&text, root, "/etc/os-release") ||
	    sys_read(&text, root, "/usr/lib/os-release"))
		name = keyed_value(arena, &text, "PRETTY_NAME", '=');
	str_release(&text);
	if (name && name[0] == '"' && strlen(name) >= 2)
		name = arena_strn(arena, name + 1, strlen(name) - 2);
	return name;
}

/* A container's sign in a file of NUL-separated NAME=value. */
static const char *environ_value(struct arena *arena, const char *root, const char *path,
                                 const char *name)
{
	struct str text = {0};
	const char *value = NULL;
	size_t len = strlen(name);

	if (sys_read(&text, root, path) && text.len > 0)
		for (const char *p = text.data; p < text.data + text.len; p += strlen(p) + 1)
			if (strncmp(p, name, len) == 0 && p[len] == '=' && p[len + 1])
				value = arena_str(arena, p + len + 1);
	str_release(&text);
	return value;
}

static const char *container_name(struct arena *arena, const char *root)
{
	static const char *const signs[][2] = {
		{"kubepods", "kubernetes"},    {"/docker", "docker"},
		{"/libpod", "podman"},         {"/lxc", "lxc"},
		{"/containerd", "containerd"},
	};
	const char *name = sys_text(arena, root, "/run/systemd/container");
	const char *groups = NULL;
	struct str text = {0};

	if (environ_value(arena, root, "/proc/self/environ", "KUBERNETES_SERVICE_HOST"))
		return "kubernetes";
	if (!name)
		name = environ_value(arena, root, "/proc/1/environ", "container");
	if (!name && sys_exists(root, "/run/.containerenv"))
		name = "podman";
	if (!name && sys_exists(root, "/.dockerenv"))
		name = "docker";
	if (!name && sys_read(&text, root, "/proc/self/cgroup"))
		groups = str_text(&text);
	for (size_t i = 0; groups && !name && i < sizeof(signs) / sizeof(*signs); i++)
		if (strstr(groups, signs[i][0]))
			name = signs[i][1];
	str_release(&text);
	return name ? name : "none";
}

static const char *virtualization(struct arena *arena, const char *root, const char *product)
{
	bool x86 = false, hypervisor = sys_exists(root, "/sys/hypervisor/type");
	struct str info = {0};

	if (sys_read(&info, root, "/proc/cpuinfo")) {
		const char *flags = keyed_value(arena, &info, "flags", ':');

		x86 = flags != NULL;
		hypervisor = hypervisor || (flags && strstr(flags, " hypervisor"));
	}
	str_release(&info);
	if (sys_exists(root, "/proc/device-tree/hypervisor"))
		hypervisor = true;
	if (hypervisor)
		return product ? arena_strf(arena, "vm %s", product) : "vm";
	return x86 ? "none" : NULL;
}

struct host_system host_system_read(struct arena *arena, const char *root)
{
	const char *vendor = sys_text(arena, root, "/sys/class/dmi/id/sys_vendor");
	const char *product = sys_text(arena, root, "/sys/class/dmi/id/product_name");
	struct host_system s = {
		.hostname = sys_text(arena, root, "/proc/sys/kernel/hostname"),
		.kernel = sys_text(arena, root, "/proc/sys/kernel/osrelease"),
		.os = os_name(arena, root),
		.clocksource = sys_text(
			arena, root,
			"/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		.clocksources = sys_text(
			arena, root,
			"/sys/devices/system/clocksource/clocksource0/available_clocksource"),
		.machine_id = sys_text(arena, root, "/etc/machine-id"),
		.boot_id = sys_text(arena, root, "/proc/sys/kernel/random/boot_id"),
		.container = container_name(arena, root),
	};

	if (vendor || product)
		s.product = arena_strf(arena, "%s%s%s", vendor ? vendor : "",
		                       vendor && product ? " " : "", product ? product : "");
	s.virtualization = virtualization(arena, root, s.product);
	return s;
}

/* --- time taken by others ---------------------------------------------------- */

bool host_ticks_read(struct host_ticks *out, const char *root)
{
	struct str text = {0};
	/* user nice system idle iowait irq softirq steal; guest time is part of user. */
	long long column[8];
	int n = 0;

	if (sys_read(&text, root, "/proc/stat"))
		n = sscanf(str_text(&text), "cpu %lld %lld %lld %lld %lld %lld %lld %lld",
		           &column[0], &column[1], &column[2], &column[3], &column[4], &column[5],
		           &column[6], &column[7]);
	str_release(&text);
	if (n != 8)
		return false;
	*out = (struct host_ticks){.steal = column[7]};
	for (int i = 0; i < 8; i++)
		out->total += column[i];
	return true;
}
