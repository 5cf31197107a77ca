/* The driver's side of the software: kernel module, libcuda, toolkits, and the
 * helpers that decide whether cards can reach each other and the network. Everything
 * by files: tools such as nvidia-smi or ofed_info belong to the image and are not run. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/csv.h"
#include "software.h"

#define STATUS_MOST ((size_t)256 << 20)

/* --- Debian's packages -------------------------------------------------------------------- */

static const char *field(const char *entry, size_t len, const char *key, size_t *value_len)
{
	size_t key_len = strlen(key);

	for (const char *line = entry; line < entry + len;) {
		size_t line_len = strcspn(line, "\n");

		if (line_len > key_len && strncmp(line, key, key_len) == 0) {
			*value_len = line_len - key_len;
			return line + key_len;
		}
		line += line_len + 1;
	}
	return NULL;
}

static void add_deb(struct sw_scan *s, const char *entry, size_t len)
{
	size_t name_len, version_len, status_len;
	const char *name = field(entry, len, "Package: ", &name_len);
	const char *version = field(entry, len, "Version: ", &version_len);
	const char *status = field(entry, len, "Status: ", &status_len);
	struct sw_package *p;

	if (!name || (status && !memmem(status, status_len, " installed", 10)))
		return;
	p = sw_add_package(s, SW_DEB);
	p->name = arena_strn(s->arena, name, name_len);
	p->dir = "/var/lib/dpkg";
	if (version)
		p->version = arena_strn(s->arena, version, version_len);
	else
		p->fault = "no version";
}

void sw_find_deb(struct sw_scan *s)
{
	struct str text = {0};

	if (sw_read(s, &text, "/var/lib/dpkg/status", STATUS_MOST)) {
		const char *p = str_text(&text);

		while (*p && (s->n_packages % 256 || !sw_late(s))) {
			const char *end = strstr(p, "\n\n");

			add_deb(s, p, end ? (size_t)(end - p) : strlen(p));
			p = end ? end + 2 : p + strlen(p);
		}
	}
	str_release(&text);
}

/* --- items ---------------------------------------------------------------------------------- */

struct sw_item *sw_add_item(struct sw_scan *s, struct sw_system *sys, const char *name,
                            const char *version, const char *where)
{
	struct sw_item *item;

	sys->items = sw_grow(s->arena, sys->items, sys->n_items, &sys->cap_items, sizeof(*item));
	item = &sys->items[sys->n_items++];
	*item = (struct sw_item){name, arena_str(s->arena, version), arena_str(s->arena, where),
	                         true};
	return item;
}

const struct sw_item *sw_item_find(const struct sw_system *sys, const char *name)
{
	for (int i = 0; i < sys->n_items; i++)
		if (strcmp(sys->items[i].name, name) == 0)
			return &sys->items[i];
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "libcuda.so.550.54.15" in a directory: the file whose name goes furthest. */
static const char *versioned(struct sw_scan *s, const char *dir, const char *prefix)
{
	const char *best = NULL;
	size_t len = strlen(prefix);

	for (const char *const *name = sw_names(s, dir); *name; name++)
		if (strncmp(*name, prefix, len) == 0 && strchr(*name + len, '.') &&
		    isdigit((unsigned char)(*name)[len]) &&
		    (!best || sw_version_compare(best + len, *name + len) < 0))
			best = *name;
	return best ? arena_strf(s->arena, "%s/%s", dir, best) : NULL;
}

/* A plain libcuda.so.1 tells no version: "1". */
static void find_libcuda(struct sw_scan *s, struct sw_system *sys)
{
	static const char prefix[] = "libcuda.so.";
	const char *only = s->ctx->lib_dir ? tmpf("%s/libcuda.so.1", s->ctx->lib_dir) : NULL;

	if (only && access(only, F_OK) == 0) {
		sys->libcuda = "1";
		return;
	}
	for (const char *const *dir = sw_library_dirs(s); *dir && !sys->libcuda; dir++) {
		const char *path = versioned(s, *dir, prefix);

		if (!path && sw_there(s, tmpf("%s/libcuda.so.1", *dir)))
			path = arena_strf(s->arena, "%s/libcuda.so.1", *dir);
		if (!path)
			continue;
		sys->libcuda_path = path;
		sys->libcuda = base_name(path) + strlen(prefix);
		sw_add_item(s, sys, "libcuda", sys->libcuda, path);
	}
}

/* /usr/local/cuda-12.4 with its version.json, and cuda-compat within. */
static void find_toolkits(struct sw_scan *s, struct sw_system *sys)
{
	const char *const *names = sw_there(s, "/usr/local") ? sw_names(s, "/usr/local") : NULL;

	for (; names && *names; names++) {
		const char *dir = arena_strf(s->arena, "/usr/local/%s", *names), *version = NULL,
			   *compat;
		struct str text = {0};
		const char *p;

		if (!str_starts(*names, "cuda-"))
			continue;
		if (sw_read(s, &text, tmpf("%s/version.json", dir), 1 << 20) &&
		    (p = strstr(str_text(&text), "\"cuda\"")) && strstr(p, "\"version\""))
			version = sw_quoted(s->arena, strstr(p, "\"version\""), "\"version");
		str_release(&text);
		sw_add_item(s, sys, "cuda_toolkit", version ? version : *names + 5, dir);
		compat = sw_there(s, tmpf("%s/compat", dir))
		                 ? versioned(s, tmpf("%s/compat", dir), "libcuda.so.")
		                 : NULL;
		if (!compat)
			continue;
		sw_add_item(s, sys, "cuda_compat", base_name(compat) + strlen("libcuda.so."),
		            compat);
		if (!sys->compat || sw_version_compare(sys->compat, base_name(compat) + 11) < 0)
			sys->compat = base_name(compat) + 11;
	}
}

static void find_nccl(struct sw_scan *s, struct sw_system *sys)
{
	for (const char *const *dir = sw_library_dirs(s); *dir; dir++) {
		const char *path = arena_strf(s->arena, "%s/libnccl.so.2", *dir);
		struct sw_elf elf;

		if (!sw_there(s, path) || !sw_elf_read(s, &elf, path))
			continue;
		sw_add_item(s, sys, "nccl", sw_nccl_version(s, path, &elf), path);
		return;
	}
}

bool sw_process_runs(struct sw_scan *s, const char *name)
{
	for (const char *const *pid = sw_names(s, "/proc"); *pid; pid++) {
		const char *comm;

		if (!isdigit((unsigned char)**pid))
			continue;
		comm = sw_line(s, tmpf("/proc/%s/comm", *pid));
		/* The kernel keeps 15 characters of a name. */
		if (comm && strncmp(comm, name, 15) == 0)
			return true;
	}
	return false;
}

/* "550.54.15-1": the part of a package's version that is the program's. */
static const char *plain_version(struct sw_scan *s, const char *version)
{
	const char *colon = version ? strchr(version, ':') : NULL;

	version = colon ? colon + 1 : version;
	return version ? arena_strn(s->arena, version, strcspn(version, "-")) : NULL;
}

/* First package of the distribution whose name begins so. */
static const struct sw_package *package_beginning(const struct sw_scan *s, const char *beginning)
{
	for (int i = 0; i < s->n_packages; i++)
		if (s->packages[i].source >= SW_DEB && str_starts(s->packages[i].name, beginning))
			return &s->packages[i];
	return NULL;
}

struct helper {
	const char *name, *package, *rpm; /* beginning of the package's name, or NULL: the same */
	const char *version_file;         /* or NULL */
	const char *paths[3];             /* any of them: it is there */
	const char *process;              /* or NULL */
};

static const struct helper helpers[] = {
	{"fabric_manager",
         "nvidia-fabricmanager",
         "nvidia-fabric-manager",
         NULL,
         {"/usr/bin/nv-fabricmanager"},
         "nv-fabricmanager"},
	{"peer_memory",
         NULL,
         NULL,
         "/sys/module/nvidia_peermem/version",
         {"/sys/module/nvidia_peermem", "/sys/kernel/mm/memory_peers/nv_mem",
          "/sys/kernel/mm/memory_peers/nv_mem_nc"},
         NULL},
	{"gdrcopy",
         "gdrdrv",
         "gdrcopy",
         "/sys/module/gdrdrv/version",
         {"/dev/gdrdrv", "/sys/module/gdrdrv"},
         NULL},
	{"ofed",
         "mlnx-ofed",
         "mlnx-ofa_kernel",
         "/sys/module/mlx5_core/version",
         {"/sys/module/mlx5_core"},
         NULL},
	{"doca",
         "doca-ofed",
         NULL,
         "/opt/mellanox/doca/applications/VERSION",
         {"/opt/mellanox/doca"},
         NULL},
	{"imex", "nvidia-imex", NULL, NULL, {"/usr/bin/nvidia-imex"}, "nvidia-imex"},
	{"container_toolkit",
         "nvidia-container-toolkit",
         NULL,
         NULL,
         {"/usr/bin/nvidia-ctk", "/usr/bin/nvidia-container-runtime",
          "/etc/nvidia-container-runtime/config.toml"},
         NULL},
	{"dcgm", "datacenter-gpu-manager", NULL, NULL, {"/usr/bin/nv-hostengine"}, "nv-hostengine"},
	{"persistence_daemon", NULL, NULL, NULL, {NULL}, "nvidia-persistenced"},
};

static void find_helper(struct sw_scan *s, struct sw_system *sys, const struct helper *h)
{
	const struct sw_package *package = h->package ? package_beginning(s, h->package) : NULL;
	const char *version = h->version_file ? sw_line(s, h->version_file) : NULL, *where = NULL;

	if (!package && h->rpm)
		package = package_beginning(s, h->rpm);
	for (int i = 0; i < 3 && h->paths[i] && !where; i++)
		if (sw_there(s, h->paths[i]))
			where = h->paths[i];
	if (h->process && sw_process_runs(s, h->process))
		where = arena_strf(s->arena, "process %s", h->process);
	if (!version && package)
		version = plain_version(s, package->version);
	if (!where && package)
		where = arena_strf(s->arena, "package %s", package->name);
	if (where)
		sw_add_item(s, sys, h->name, version, where);
}

/* As NCCL wants it: the open module, and a kernel that can lend a card's memory. */
static void find_dma_buf(struct sw_scan *s, struct sw_system *sys)
{
	const char *kernel = sw_line(s, "/proc/sys/kernel/osrelease");

	if (sys->nvidia.open_module == 1 && kernel && sw_version_compare(kernel, "5.12") >= 0)
		sw_add_item(s, sys, "dma_buf", NULL, "open kernel module, kernel since 5.12");
}

/* Of the card's row, by its PCI device id: nobody is asked who would open the driver. */
static void find_capability(struct sw_scan *s, struct sw_system *sys)
{
	struct str text = {0}, where = {0};
	struct csv csv = {0};
	const char *id;

	if (sys->nvidia.n_cards < 1 ||
	    config_read(&text, &where, NULL, "accelerators.csv", NULL) != ST_OK ||
	    csv_parse(&csv, "accelerators.csv", str_text(&text), text.len, NULL) != ST_OK)
		goto out;
	id = tmpf("10de:%04x", (unsigned)sys->nvidia.cards[0].device);
	for (int row = 0; row < csv.n_rows && !sys->capability; row++) {
		const char *ids = csv_field(&csv, row, "pci_device_ids");

		if (ids && strstr(ids, id))
			sys->capability =
				arena_str(s->arena, csv_field(&csv, row, "compute_capability"));
	}
	if (sys->capability && !*sys->capability)
		sys->capability = NULL;
out:
	csv_release(&csv);
	str_release(&text);
	str_release(&where);
}

void sw_find_system(struct sw_scan *s, struct sw_system *sys)
{
	const struct sw_item *manager;
	const char *container = host_system_read(s->arena, s->root).container;

	sys->nvidia = host_nvidia_read(s->arena, s->root);
	sys->driver = sys->nvidia.driver;
	sys->contained = container && strcmp(container, "none") != 0;
	if (sys->driver)
		sw_add_item(s, sys, "kernel_driver", sys->driver,
		            sys->nvidia.open_module == 1   ? "open module"
		            : sys->nvidia.open_module == 0 ? "proprietary module"
		                                           : NULL);
	find_libcuda(s, sys);
	find_toolkits(s, sys);
	find_nccl(s, sys);
	find_dma_buf(s, sys);
	for (size_t i = 0; i < sizeof(helpers) / sizeof(*helpers); i++)
		find_helper(s, sys, &helpers[i]);
	manager = sw_item_find(sys, "fabric_manager");
	sys->fabric_manager = manager ? (manager->version ? manager->version : "") : NULL;
	find_capability(s, sys);
	sw_find_hosted(s, sys);
}
