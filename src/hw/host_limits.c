/* What this process may use of the machine: cgroup quotas of both versions,
 * soft limits, and what is mounted where. A container's limit may stand at any
 * level of the hierarchy, so the smallest on the way up counts. */
#include "hw/host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hw/sysfs.h"

/* --- mounts ------------------------------------------------------------------ */

/* mountinfo writes blank, tab, newline and backslash as \ooo. */
static const char *unescape(struct arena *arena, const char *word)
{
	char *text = arena_str(arena, word), *out = text;

	for (const char *p = text; *p; p++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' &&
		    p[3] >= '0' && p[3] <= '7') {
			*out++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 3;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
	return text;
}

/* "36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/x rw,errors=…" */
static bool parse_mount(struct host_mount *m, struct arena *arena, char *line)
{
	char *tail = strstr(line, " - "), *rest = NULL;
	char *word[6], *type, *source, *options;
	int n = 0;

	if (!tail)
		return false;
	*tail = '\0';
	for (char *p = strtok_r(line, " ", &rest); p && n < 6; p = strtok_r(NULL, " ", &rest))
		word[n++] = p;
	type = strtok_r(tail + 3, " ", &rest);
	source = strtok_r(NULL, " ", &rest);
	options = strtok_r(NULL, " ", &rest);
	if (n < 6 || !source)
		return false;
	*m = (struct host_mount){
		.root = unescape(arena, word[3]),
		.point = unescape(arena, word[4]),
		.type = arena_str(arena, type),
		.source = unescape(arena, source),
		.options = arena_strf(arena, "%s,%s", word[5], options ? options : ""),
	};
	return true;
}

const struct host_mount *host_mounts_read(struct arena *arena, const char *root, int *count)
{
	struct host_mount *mounts;
	struct str text = {0};
	char *rest = NULL;
	size_t lines = 1;

	*count = sys_read(&text, root, "/proc/self/mountinfo") ? 0 : HOST_UNKNOWN;
	for (size_t i = 0; i < text.len; i++)
		lines += text.data[i] == '\n';
	mounts = arena_array(arena, lines, sizeof(*mounts));
	for (char *line = text.len ? strtok_r(text.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		*count += parse_mount(&mounts[*count], arena, line);
	str_release(&text);
	return mounts;
}

/* --- cgroups ------------------------------------------------------------------ */

/* Whether a comma-separated list has this word. */
static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (strncmp(p, word, len) == 0 && (p[len] == ',' || p[len] == '\0'))
			return true;
	return false;
}

/* Our path in the hierarchy of a controller (NULL: version 2) by
 * /proc/self/cgroup, whose lines are "4:memory:/path" and "0::/path". */
static const char *group_path(struct arena *arena, const char *root, const char *controller)
{
	struct str text = {0};
	const char *path = NULL;
	char *rest = NULL;

	sys_read(&text, root, "/proc/self/cgroup");
	for (char *line = text.len ? strtok_r(text.data, "\n", &rest) : NULL; line && !path;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *names = strchr(line, ':');
		char *where = names ? strchr(names + 1, ':') : NULL;

		if (!where)
			continue;
		*where++ = '\0';
		names++;
		if (controller ? list_has(names, controller) : *names == '\0')
			path = arena_str(arena, where);
	}
	str_release(&text);
	return path;
}

struct group {
	const char *point; /* mount point of the hierarchy */
	const char *dir;   /* our group's directory below it */
};

/* The hierarchy of a controller (NULL: version 2) and our place in it. */
static bool find_group(struct group *g, struct arena *arena, const char *root,
                       const char *controller, const struct host_mount *mounts, int count)
{
	const char *path = group_path(arena, root, controller);

	for (int i = 0; i < count && path; i++) {
		const struct host_mount *m = &mounts[i];
		size_t len = strlen(m->root);

		if (controller ? strcmp(m->type, "cgroup") != 0 || !list_has(m->options, controller)
		               : strcmp(m->type, "cgroup2") != 0)
			continue;
		/* Without a cgroup namespace a container mounts its own branch as
		 * the top, and the path still starts with that branch. */
		if (len > 1 && strncmp(path, m->root, len) == 0 &&
		    (path[len] == '/' || path[len] == '\0'))
			path += len;
		g->point = m->point;
		g->dir = arena_strf(arena, "%s%s", m->point, strcmp(path, "/") == 0 ? "" : path);
		return true;
	}
	return false;
}

/* Calls `visit` for our group and each one above it, up to the mount point. */
static void each_level(const struct group *g, struct arena *arena, const char *root,
                       void (*visit)(struct host_limits *l, struct arena *arena, const char *root,
                                     const char *dir),
                       struct host_limits *l)
{
	size_t top = strlen(g->point), len = strlen(g->dir);

	while (len >= top) {
		visit(l, arena, root, arena_strf(arena, "%.*s", (int)len, g->dir));
		while (len > top && g->dir[len - 1] != '/')
			len--;
		if (len-- == top)
			break;
	}
}

static void lower_cpus(struct host_limits *l, double quota, double period)
{
	double cpus = quota / period;

	if (quota > 0 && period > 0 && !(l->cpus <= cpus))
		l->cpus = cpus;
}

static void lower_memory(struct host_limits *l, int64_t bytes)
{
	/* Version 1 writes the largest page multiple for "no limit". */
	if (bytes > 0 && bytes < (int64_t)1 << 62 && bytes < l->memory_bytes)
		l->memory_bytes = bytes;
}

static void visit_cpu_v1(struct host_limits *l, struct arena *arena, const char *root,
                         const char *dir)
{
	(void)arena;
	lower_cpus(l, (double)sys_number(-1, root, "%s/cpu.cfs_quota_us", dir),
	           (double)sys_number(-1, root, "%s/cpu.cfs_period_us", dir));
}

static void visit_memory_v1(struct host_limits *l, struct arena *arena, const char *root,
                            const char *dir)
{
	(void)arena;
	lower_memory(l, sys_number(-1, root, "%s/memory.limit_in_bytes", dir));
}

static void visit_v2(struct host_limits *l, struct arena *arena, const char *root, const char *dir)
{
	const char *max = sys_text(arena, root, "%s/cpu.max", dir);
	char *period;
	double quota = max ? strtod(max, &period) : 0;

	if (quota > 0)
		lower_cpus(l, quota, strtod(period, NULL));
	lower_memory(l, sys_number(-1, root, "%s/memory.max", dir));
}

/* Value after a word in a file of "word value" lines, HOST_UNKNOWN: not there. */
static int64_t word_value(const char *root, const char *path, const char *word)
{
	struct str text = {0};
	int64_t value = HOST_UNKNOWN;
	char *rest = NULL;
	size_t len = strlen(word);

	sys_read(&text, root, path);
	for (char *line = text.len ? strtok_r(text.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		if (strncmp(line, word, len) == 0 && line[len] == ' ')
			value = strtoll(line + len, NULL, 10);
	str_release(&text);
	return value;
}

static void read_groups(struct host_limits *l, struct arena *arena, const char *root)
{
	int count;
	const struct host_mount *mounts = host_mounts_read(arena, root, &count);
	struct group g;

	if (find_group(&g, arena, root, NULL, mounts, count)) {
		l->cgroup = 2;
		each_level(&g, arena, root, visit_v2, l);
		l->throttled_us =
			word_value(root, arena_strf(arena, "%s/cpu.stat", g.dir), "throttled_usec");
	}
	/* A hybrid machine mounts both; controllers then live in version 1. */
	if (find_group(&g, arena, root, "cpu", mounts, count)) {
		int64_t ns;

		l->cgroup = 1;
		each_level(&g, arena, root, visit_cpu_v1, l);
		ns = word_value(root, arena_strf(arena, "%s/cpu.stat", g.dir), "throttled_time");
		l->throttled_us = ns < 0 ? HOST_UNKNOWN : ns / 1000;
	}
	if (find_group(&g, arena, root, "memory", mounts, count)) {
		l->cgroup = 1;
		each_level(&g, arena, root, visit_memory_v1, l);
	}
}

/* --- soft limits --------------------------------------------------------------- */

/* "Max locked memory         8388608              8388608              bytes" */
static int64_t soft_limit(const struct str *text, const char *name)
{
	const char *line = strstr(str_text(text), name);
	char *end;
	long long value;

	if (!line)
		return HOST_UNKNOWN;
	line += strlen(name);
	line += strspn(line, " ");
	if (str_starts(line, "unlimited"))
		return HOST_UNLIMITED;
	value = strtoll(line, &end, 10);
	return end != line && value >= 0 ? value : HOST_UNKNOWN;
}

struct host_limits host_limits_read(struct arena *arena, const char *root)
{
	struct host_limits l = {
		.cpus = NAN, .memory_bytes = HOST_UNLIMITED, .throttled_us = HOST_UNKNOWN};
	struct str text = {0};

	sys_read(&text, root, "/proc/self/limits");
	l.memlock_bytes = soft_limit(&text, "Max locked memory");
	l.open_files = soft_limit(&text, "Max open files");
	l.processes = soft_limit(&text, "Max processes");
	str_release(&text);
	read_groups(&l, arena, root);
	return l;
}

int64_t host_memory_free(const char *root)
{
	struct arena arena = {0};
	struct host_memory m = host_memory_read(root);
	struct host_limits l = host_limits_read(&arena, root);

	arena_release(&arena);
	return l.memory_bytes < m.available_bytes ? l.memory_bytes : m.available_bytes;
}

/* --- file system types ----------------------------------------------------------- */

/* linux/magic.h, and those of file systems that live outside the kernel tree. */
static const struct {
	uint32_t magic;
	const char *name;
} types[] = {
	{0xef53, "ext4"},         {0x58465342, "xfs"},     {0x9123683e, "btrfs"},
	{0x01021994, "tmpfs"},    {0x794c7630, "overlay"}, {0x6969, "nfs"},
	{0x0bd00bd0, "lustre"},   {0x47504653, "gpfs"},    {0x00c36400, "ceph"},
	{0x19830326, "beegfs"},   {0x65735546, "fuse"},    {0x2fc12fc1, "zfs"},
	{0xff534d42, "cifs"},     {0xfe534d42, "smb2"},    {0x01021997, "9p"},
	{0x73717368, "squashfs"}, {0xf2f52010, "f2fs"},    {0x858458f6, "ramfs"},
	{0x7461636f, "ocfs2"},    {0x01161970, "gfs2"},    {0xaad7aaea, "panfs"},
	{0x6a656a63, "virtiofs"},
};

const char *statfs_name(int64_t magic)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].magic == (uint32_t)magic)
			return types[i].name;
	return NULL;
}
