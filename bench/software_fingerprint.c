/* The fingerprint: what of this node's software may change how a job behaves, as one
 * canonical document. Two nodes of one image, and one node before and after a reboot,
 * have the same bytes: nothing in it names the machine, the moment or the order in
 * which the kernel met its parts. Whatever could be a secret is not written at all,
 * not even as a digest: a digest of a short password is the password. */
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "software.h"

/* --- canonical JSON: members sorted by key ------------------------------------------------- */

struct member {
	const char *key, *value; /* value: JSON */
};

struct object {
	struct arena *arena;
	struct member *members;
	int n, cap;
};

static void put_raw(struct object *o, const char *key, const char *json)
{
	o->members = sw_grow(o->arena, o->members, o->n, &o->cap, sizeof(*o->members));
	o->members[o->n++] = (struct member){arena_str(o->arena, key), json};
}

static const char *quoted(struct arena *arena, const char *text)
{
	struct str out = {0};
	const char *kept;

	json_quote(&out, text, strlen(text));
	kept = arena_strn(arena, out.data, out.len);
	str_release(&out);
	return kept;
}

/* NULL: what is not there has no member. */
static void put(struct object *o, const char *key, const char *text)
{
	if (text)
		put_raw(o, key, quoted(o->arena, text));
}

static int by_key(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int c = strcmp(x->key, y->key);

	return c ? c : strcmp(x->value, y->value);
}

/* Of equal keys the values become one, "a, b". A member a line, for diff and people. */
static const char *object_text(struct object *o, bool lines)
{
	struct str out = {0};
	const char *kept;

	if (o->n)
		qsort(o->members, (size_t)o->n, sizeof(*o->members), by_key);
	str_addc(&out, '{');
	for (int i = 0; i < o->n; i++) {
		const struct member *m = &o->members[i];

		if (i && strcmp(m->key, m[-1].key) == 0 && strcmp(m->value, m[-1].value) == 0)
			continue;
		if (i && strcmp(m->key, m[-1].key) == 0 && *m->value == '"' &&
		    str_ends(out.data, "\"")) {
			out.data[--out.len] = '\0';
			str_addf(&out, ", %s", m->value + 1);
			continue;
		}
		str_add(&out, i ? (lines ? ",\n" : ",") : (lines ? "\n" : ""));
		json_quote(&out, m->key, strlen(m->key));
		str_addf(&out, ":%s", m->value);
	}
	str_add(&out, lines ? "\n}" : "}");
	kept = arena_strn(o->arena, out.data, out.len);
	str_release(&out);
	return kept;
}

/* --- what must not be told -------------------------------------------------------------------- */

bool sw_is_secret(const char *name, size_t len)
{
	static const char *const words[] = {"pass",   "pwd",  "psk",    "secret",  "token", "cred",
	                                    "apikey", "_key", "sshkey", "private", "auth"};
	char low[64];
	size_t n = len < sizeof(low) - 1 ? len : sizeof(low) - 1;

	for (size_t i = 0; i < n; i++)
		low[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
	low[n] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(low, words[i]))
			return true;
	return len >= sizeof(low); /* too long to be looked through: not told */
}

static const char *joined(struct arena *arena, const char **words, int n)
{
	struct str out = {0};
	const char *kept;

	for (int i = 0; i < n; i++)
		str_addf(&out, "%s%s", i ? " " : "", words[i]);
	kept = arena_str(arena, str_text(&out));
	str_release(&out);
	return kept;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *sw_mount_options(struct arena *arena, const char *options)
{
	static const char told[] =
		"ro|rw|sync|noatime|relatime|nodiratime|lazytime|vers|nfsvers|rsize|"
		"wsize|nconnect|proto|hard|soft|timeo|retrans|actimeo|noac|flock|"
		"localflock|noflock|discard|data|barrier|nobarrier|cache|dax|"
		"inode64|logbufs|logbsize|stripe|compress|nosuid|noexec|nodev";
	char *copy = arena_str(arena, options ? options : ""), *rest = NULL;
	const char *kept[64];
	int n = 0;

	for (char *word = strtok_r(copy, ",", &rest); word && n < 64;
	     word = strtok_r(NULL, ",", &rest)) {
		char *name = arena_strn(arena, word, strcspn(word, "="));

		if (word_in(told, name) && !sw_is_secret(name, strlen(name)))
			kept[n++] = word;
	}
	qsort(kept, (size_t)n, sizeof(*kept), by_text);
	return joined(arena, kept, n);
}

/* The kernel's command line, its order kept, without what names this boot or disk. */
static const char *command_line(struct sw_scan *s)
{
	const char *line = sw_line(s, "/proc/cmdline");
	char *copy = arena_str(s->arena, line), *rest = NULL;
	const char *kept[128];
	int n = 0;

	for (char *word = copy ? strtok_r(copy, " ", &rest) : NULL; word && n < 128;
	     word = strtok_r(NULL, " ", &rest)) {
		char *name = arena_strn(s->arena, word, strcspn(word, "="));

		if (word_in("BOOT_IMAGE|initrd|root|resume|ip|BOOTIF|nfsroot|hostname|systemd."
		            "machine_id|"
		            "ds|network-config|rd.luks.uuid|rd.lvm.lv|crashkernel_addr",
		            name))
			continue;
		kept[n++] = sw_is_secret(name, strlen(name)) || strstr(word, "://")
		                    ? arena_strf(s->arena, "%s=(not told)", name)
		                    : word;
	}
	return line ? joined(s->arena, kept, n) : NULL;
}

/* --- parts --------------------------------------------------------------------------------------- */

static const char *kernel_part(struct sw_scan *s)
{
	static const char *const told[] = {
		"vm/swappiness",
		"vm/overcommit_memory",
		"vm/max_map_count",
		"vm/zone_reclaim_mode",
		"vm/nr_hugepages",
		"vm/dirty_ratio",
		"kernel/numa_balancing",
		"kernel/pid_max",
		"kernel/shmmax",
		"kernel/sched_rt_runtime_us",
		"kernel/perf_event_paranoid",
		"kernel/nmi_watchdog",
		"net/core/rmem_max",
		"net/core/wmem_max",
		"net/core/somaxconn",
		"net/core/netdev_max_backlog",
		"net/core/default_qdisc",
		"net/ipv4/tcp_rmem",
		"net/ipv4/tcp_wmem",
		"net/ipv4/tcp_congestion_control",
		"net/ipv4/tcp_mtu_probing",
		"net/ipv4/ip_local_port_range",
		"fs/file-max",
		"fs/nr_open",
	};
	struct object o = {.arena = s->arena};

	put(&o, "release", sw_line(s, "/proc/sys/kernel/osrelease"));
	put(&o, "build", sw_line(s, "/proc/sys/kernel/version"));
	put(&o, "command_line", command_line(s));
	put(&o, "bios", sw_line(s, "/sys/class/dmi/id/bios_version"));
	put(&o, "huge_pages", sw_line(s, "/sys/kernel/mm/transparent_hugepage/enabled"));
	put(&o, "governor", sw_line(s, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
	put(&o, "os", host_system_read(s->arena, s->root).os);
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
		put(&o, tmpf("sysctl %s", told[i]), sw_line(s, tmpf("/proc/sys/%s", told[i])));
	return object_text(&o, false);
}

/* Only modules that carry cards, network and storage: the rest come and go with use. */
static const char *modules_part(struct sw_scan *s)
{
	static const char told[] =
		"nvidia|nvidia_uvm|nvidia_drm|nvidia_modeset|nvidia_peermem|nv_peer_mem|gdrdrv|"
		"nouveau|"
		"mlx5_core|mlx5_ib|ib_core|ib_uverbs|rdma_cm|irdma|bnxt_re|bnxt_en|efa|gve|ice|"
		"i40e|"
		"lustre|beegfs|ceph|nfs|nfsv4|gpfs|mmfs26|wekafsio|nvme|nvme_rdma|xpmem|knem";
	struct object o = {.arena = s->arena};
	int count;
	const struct host_rdma *nic = host_rdma_read(s->arena, s->root, &count);

	for (const char *const *name = sw_names(s, "/sys/module"); *name; name++) {
		const char *version, *source;

		if (!word_in(told, *name))
			continue;
		version = sw_line(s, tmpf("/sys/module/%s/version", *name));
		source = sw_line(s, tmpf("/sys/module/%s/srcversion", *name));
		put(&o, *name,
		    arena_strf(s->arena, "%s %s", version ? version : "-", source ? source : "-"));
	}
	/* By board: which port a card sits in names the node. */
	for (int i = 0; i < count; i++)
		if (nic[i].pci && nic[i].firmware)
			put(&o, tmpf("nic_firmware %s", nic[i].board ? nic[i].board : "?"),
			    nic[i].firmware);
	return object_text(&o, false);
}

static const char *gpu_part(struct sw_scan *s, const struct sw_system *sys)
{
	struct object o = {.arena = s->arena};

	for (int i = 0; i < sys->n_items; i++)
		put(&o, sys->items[i].name,
		    sys->items[i].version ? sys->items[i].version : "there");
	put(&o, "scheduler", sys->scheduler);
	for (int i = 0; i < sys->runtimes.count; i++)
		put(&o, tmpf("container %s", sys->runtimes.item[i]), "there");
	return object_text(&o, false);
}

static void put_library(struct sw_scan *s, struct object *o, const char *path)
{
	if (path && sw_there(s, path))
		put(o, path, sw_identity(s, path));
}

static const char *libraries_part(struct sw_scan *s, const struct sw_system *sys,
                                  const struct sw_framework *frameworks,
                                  const struct sw_engines *engines)
{
	struct object o = {.arena = s->arena};

	put_library(s, &o, sys->libcuda_path);
	for (int i = 0; i < sys->n_items; i++)
		if (strcmp(sys->items[i].name, "nccl") == 0)
			put_library(s, &o, sys->items[i].where);
	for (int i = 0; i < engines->n_plugins; i++)
		put_library(s, &o, engines->plugins[i].path);
	for (int f = 0; f < SW_FRAMEWORKS; f++)
		for (int c = 0; c < frameworks[f].n_copies; c++) {
			const char *from = frameworks[f].copies[c].nccl_from;

			if (from && *from == '/')
				put_library(s, &o, from);
		}
	return object_text(&o, false);
}

static const char *packages_part(struct sw_scan *s)
{
	static const char *const words[] = {"wheel", "egg", "conda", "deb", "rpm"};
	struct object o = {.arena = s->arena};

	for (int i = 0; i < s->n_packages; i++) {
		const struct sw_package *p = &s->packages[i];

		put(&o,
		    tmpf("%s %s%s%s", words[p->source], p->name, p->source >= SW_DEB ? "" : " in ",
		         p->source >= SW_DEB ? "" : p->dir),
		    arena_strf(s->arena, "%s%s%s", p->version ? p->version : "?",
		               p->build ? "-" : "", p->build ? p->build : ""));
	}
	return object_text(&o, false);
}

static void put_copy(struct sw_scan *s, struct object *o, const struct sw_framework *f,
                     const struct sw_copy *c)
{
	put(o, tmpf("%s in %s", f->title, c->dir),
	    arena_strf(s->arena, "%s, CUDA %s, NCCL %s", c->version ? c->version : "?",
	               c->cuda ? c->cuda : "?", c->nccl ? c->nccl : "?"));
}

static const char *frameworks_part(struct sw_scan *s, const struct sw_framework *frameworks)
{
	struct object o = {.arena = s->arena};

	for (int f = 0; f < SW_FRAMEWORKS; f++)
		for (int i = 0; i < frameworks[f].n_copies; i++)
			put_copy(s, &o, &frameworks[f], &frameworks[f].copies[i]);
	return object_text(&o, false);
}

static const char *settings_part(struct sw_scan *s, const struct sw_engines *engines)
{
	struct host_limits l = host_limits_read(s->arena, s->root);
	struct object o = {.arena = s->arena};
	const char *word, *key;

	put(&o, "limit memlock", tmpf("%lld", (long long)l.memlock_bytes));
	put(&o, "limit nofile", tmpf("%lld", (long long)l.open_files));
	put(&o, "limit nproc", tmpf("%lld", (long long)l.processes));
	for (int i = 0; i < engines->settings.count; i++) {
		const char *line = engines->settings.item[i], *equal = strchr(line, '=');

		key = arena_strn(s->arena, line, (size_t)(equal - line));
		/* These name the job or the node, not the image. */
		if (!word_in("NCCL_COMM_ID|NCCL_HOSTID|NCCL_DEBUG_FILE", key))
			put(&o, key, equal + 1);
	}
	if ((word = sw_env(s, "LD_PRELOAD")))
		put(&o, "LD_PRELOAD", word);
	if ((word = sw_env(s, "LD_LIBRARY_PATH")))
		put(&o, "LD_LIBRARY_PATH", word);
	for (int i = 0; i < engines->n_engines; i++)
		put(&o, tmpf("engine %s", engines->engines[i].name),
		    engines->engines[i].loaded ? "loaded" : "present");
	return object_text(&o, false);
}

/* File systems of the work; what a container or session brings is another each time. */
static const char *mounts_part(struct sw_scan *s)
{
	static const char told[] =
		"nfs|nfs4|lustre|beegfs|ceph|fuse.ceph|gpfs|wekafs|cifs|smb3|9p|virtiofs|"
		"ext4|xfs|btrfs|zfs|fuse.juicefs|fuse.s3fs|fuse.ossfs|overlay";
	struct object o = {.arena = s->arena};
	int count;
	const struct host_mount *mounts = host_mounts_read(s->arena, s->root, &count);

	for (int i = 0; i < count; i++) {
		const struct host_mount *m = &mounts[i];

		if (word_in(told, m->type) && !str_starts(m->point, "/run/") &&
		    !str_starts(m->point, "/var/lib/docker/") &&
		    !str_starts(m->point, "/var/lib/kubelet/") && !str_starts(m->point, "/etc/") &&
		    !str_starts(m->point, "/tmp"))
			put(&o, m->point,
			    arena_strf(s->arena, "%s %s", m->type,
			               sw_mount_options(s->arena, m->options)));
	}
	return object_text(&o, false);
}

/* --- the document -------------------------------------------------------------------------------- */

/* What all nodes of one cluster must have alike: kernel, driver, CUDA, NCCL, OFED and
 * the frameworks of all users. A daemon that rests or a package in somebody's home does
 * not make it another image; those are parts that are compared without being required. */
static const char *image_digest(struct sw_scan *s, const struct sw_system *sys,
                                const struct sw_framework *frameworks)
{
	static const char told[] = "kernel_driver|libcuda|cuda_toolkit|cuda_compat|nccl|ofed|doca";
	struct object o = {.arena = s->arena};
	const char *text;
	char hex[SHA256_HEX];

	put(&o, "kernel", sw_line(s, "/proc/sys/kernel/osrelease"));
	for (int i = 0; i < sys->n_items; i++)
		if (word_in(told, sys->items[i].name))
			put(&o, sys->items[i].name,
			    sys->items[i].version ? sys->items[i].version : "there");
	for (int f = 0; f < SW_FRAMEWORKS; f++)
		for (int i = 0; i < frameworks[f].n_copies; i++)
			if (!str_starts(frameworks[f].copies[i].dir, "/home/") &&
			    !str_starts(frameworks[f].copies[i].dir, "/root/"))
				put_copy(s, &o, &frameworks[f], &frameworks[f].copies[i]);
	text = object_text(&o, false);
	sha256_text(text, strlen(text), hex);
	return arena_strn(s->arena, hex, 16);
}

void sw_fingerprint_make(struct sw_scan *s, const struct sw_system *sys,
                         const struct sw_framework *frameworks, const struct sw_engines *engines,
                         struct sw_fingerprint *out)
{
	const struct sw_part parts[SW_PARTS] = {
		{"sw_part_kernel", "kernel", kernel_part(s), NULL},
		{"sw_part_modules", "modules", modules_part(s), NULL},
		{"sw_part_gpu", "gpu", gpu_part(s, sys), NULL},
		{"sw_part_libraries", "libraries", libraries_part(s, sys, frameworks, engines),
	         NULL},
		{"sw_part_packages", "packages", packages_part(s), NULL},
		{"sw_part_frameworks", "frameworks", frameworks_part(s, frameworks), NULL},
		{"sw_part_settings", "settings", settings_part(s, engines), NULL},
		{"sw_part_mounts", "mounts", mounts_part(s), NULL},
	};
	struct object o = {.arena = s->arena};
	char hex[SHA256_HEX];

	put_raw(&o, "v", "1");
	for (int i = 0; i < SW_PARTS; i++) {
		out->parts[i] = parts[i];
		sha256_text(parts[i].text, strlen(parts[i].text), hex);
		out->parts[i].digest = arena_strn(s->arena, hex, 16);
		put_raw(&o, parts[i].key, parts[i].text);
	}
	out->image = image_digest(s, sys, frameworks);
	out->text = object_text(&o, true);
	sha256_text(out->text, strlen(out->text), hex);
	out->sha256 = arena_str(s->arena, hex);
}
