/* Finding out where a path is. The type comes from statfs, which cannot be told
 * a lie by a mount's name; the mount table adds the kind of a FUSE program and
 * the source. From there down to the bottom, for a device in the middle tells
 * what was asked of it and not what a cache below it answered. */
#include "storage_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "hw/host.h"
#include "hw/sysfs.h"

#define BLOCKS "/sys/class/block"
/* Deeper than anybody stacks; what goes on beyond it goes in a circle. */
#define MOST_LAYERS  16
#define MOST_DEVICES 1024

static bool lies_below(const char *path, const char *point)
{
	size_t len = strlen(point);

	if (strcmp(point, "/") == 0)
		return true;
	return strncmp(path, point, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* The mount of an absolute path without links: the longest point, of equal ones
 * the last, which covers the others. */
static const struct host_mount *mount_of(struct arena *arena, const char *root, const char *path)
{
	const struct host_mount *best = NULL;
	int count;
	const struct host_mount *mounts = host_mounts_read(arena, root, &count);

	for (int i = 0; i < count; i++)
		if (lies_below(path, mounts[i].point) &&
		    (!best || strlen(mounts[i].point) >= strlen(best->point)))
			best = &mounts[i];
	return best;
}

static const char *type_name(struct arena *arena, int64_t magic, const struct host_mount *mount)
{
	const char *name = statfs_name(magic);

	/* ext2 to ext4 share a number, and all FUSE programs do. */
	if (mount && (!name || strcmp(name, "fuse") == 0 || strcmp(name, "ext4") == 0))
		return mount->type;
	return name ? name : arena_strf(arena, "0x%llx", (unsigned long long)magic);
}

/* One layer: the file system that holds a path. 0 or the errno. */
static int read_layer(struct storage_place *layer, struct arena *arena, const char *root,
                      const char *path)
{
	const struct host_mount *mount;
	struct statvfs room;
	struct statfs type;
	struct stat info;
	char *real;

	*layer = (struct storage_place){0};
	if (statfs(path, &type) != 0 || statvfs(path, &room) != 0 || stat(path, &info) != 0)
		return errno;
	real = realpath(path, NULL);
	if (!real)
		return errno;
	mount = mount_of(arena, root, real);
	free(real);
	layer->fs = type_name(arena, (int64_t)type.f_type, mount);
	if (mount) {
		layer->mount = mount->point;
		layer->source = mount->source;
		layer->options = mount->options;
	}
	layer->free_bytes = (int64_t)room.f_bavail * (int64_t)room.f_frsize;
	layer->device = arena_strf(arena, "%u:%u", major(info.st_dev), minor(info.st_dev));
	if (!sys_exists(root, tmpf("/sys/dev/block/%s/stat", layer->device)))
		layer->device = NULL;
	return 0;
}

/* --- the way down --------------------------------------------- */

struct descent {
	struct arena *arena;
	const char *root;
	const char **seen; /* devices met, so that each counts once and circles end */
	int n_seen;
	const char **leaves;
	int n_leaves;
	const char *ram;
	bool network, lost;
};

/* trail: the layers so far, "ext4 on loop0". */
static void below_device(struct descent *d, const char *name, const char *trail, int depth);
static void below_path(struct descent *d, const char *path, const char *trail, int depth);

static bool is_new(struct descent *d, const char *name)
{
	for (int i = 0; i < d->n_seen; i++)
		if (strcmp(d->seen[i], name) == 0)
			return false;
	if (d->n_seen == MOST_DEVICES) {
		d->lost = true;
		return false;
	}
	d->seen[d->n_seen++] = name;
	return true;
}

/* A partition has neither slaves nor an image file of its own: its disk has. */
static const char *whole_disk(struct descent *d, const char *name)
{
	const char *whole = name;
	char *above;

	if (!sys_exists(d->root, tmpf(BLOCKS "/%s/partition", name)))
		return name;
	above = realpath(tmpf("%s" BLOCKS "/%s/..", d->root, name), NULL);
	if (above && strrchr(above, '/'))
		whole = arena_str(d->arena, strrchr(above, '/') + 1);
	free(above);
	return whole;
}

/* Compressed memory, RAM disks, the kernel's test devices. Not pmem, which keeps
 * what it is given. */
static bool is_memory(struct descent *d, const char *disk)
{
	const char *model = sys_text(d->arena, d->root, BLOCKS "/%s/device/model", disk);

	return str_starts(disk, "zram") || str_starts(disk, "nullb") ||
	       (str_starts(disk, "ram") && disk[3] >= '0' && disk[3] <= '9') ||
	       (model && strcmp(model, "scsi_debug") == 0);
}

/* A file that is known by its device number alone. */
static void below_number(struct descent *d, dev_t number, const char *trail, int depth)
{
	const char *name = sys_link_name(d->arena, d->root, "/sys/dev/block/%u:%u", major(number),
	                                 minor(number));
	int count;
	const struct host_mount *mounts;

	if (name) {
		below_device(d, name, trail, depth);
		return;
	}
	mounts = host_mounts_read(d->arena, d->root, &count);
	for (int i = 0; i < count; i++) {
		struct stat info;

		/* Not the others: a server that is away would hold us up for ever. */
		if (!word_in("tmpfs|ramfs|devtmpfs|btrfs", mounts[i].type))
			continue;
		if (stat(mounts[i].point, &info) == 0 && info.st_dev == number) {
			below_path(d, mounts[i].point, trail, depth);
			return;
		}
	}
	d->lost = true;
}

/* Only root may ask the device; the path in /sys may be deleted or belong to
 * another mount namespace. */
static bool ask_loop(const struct descent *d, const char *disk, struct loop_info64 *info)
{
	int fd = *d->root ? -1 : open(tmpf("/dev/%s", disk), O_RDONLY | O_CLOEXEC);
	bool told = fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, info) == 0;

	if (fd >= 0)
		close(fd);
	return told;
}

/* Reads of a loop device may end in the page cache of the file behind it, so what
 * holds the file counts. */
static void below_loop(struct descent *d, const char *disk, const char *trail, int depth)
{
	const char *file = sys_text(d->arena, d->root, BLOCKS "/%s/loop/backing_file", disk);
	const char *path = arena_strf(d->arena, "%s%s", d->root, file ? file : "");
	struct loop_info64 loop = {0};
	struct stat info;
	bool told = ask_loop(d, disk, &loop);

	if (file && stat(path, &info) == 0 &&
	    (!told || (info.st_dev == (dev_t)loop.lo_device && info.st_ino == loop.lo_inode)))
		below_path(d, path, trail, depth);
	else if (told)
		below_number(d, (dev_t)loop.lo_device, trail, depth);
	else
		d->lost = true;
}

static void below_device(struct descent *d, const char *name, const char *trail, int depth)
{
	const char *disk = whole_disk(d, name), *const * slaves;

	trail = arena_strf(d->arena, "%s on %s", trail, name);
	if (depth > MOST_LAYERS)
		d->lost = true;
	else if (!is_new(d, name))
		return;
	else if (is_memory(d, disk))
		d->ram = d->ram ? d->ram : trail;
	else if ((slaves = sys_names(d->arena, d->root, tmpf(BLOCKS "/%s/slaves", disk)))[0])
		for (; *slaves; slaves++)
			below_device(d, *slaves, trail, depth + 1);
	else if (str_starts(disk, "loop"))
		below_loop(d, disk, trail, depth + 1);
	else
		d->leaves[d->n_leaves++] = name;
}

/* "/dev/mapper/data", "/dev/vg/data", "/dev/cciss/c0d0" as /sys calls it; NULL:
 * no such device here. */
static const char *name_of_node(struct descent *d, const char *node)
{
	char *real = realpath(tmpf("%s%s", d->root, node), NULL);
	const char *base = real && str_starts(real + strlen(d->root), "/dev/")
	                           ? real + strlen(d->root) + 5
	                           : node + strlen("/dev/");
	const char *wanted = str_starts(node, "/dev/mapper/") ? node + strlen("/dev/mapper/") : "";
	char *name = arena_str(d->arena, base);
	const char *const *all = sys_names(d->arena, d->root, BLOCKS);

	free(real);
	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '!'; /* as the kernel does */
	if (sys_exists(d->root, tmpf(BLOCKS "/%s", name)))
		return name;
	for (; *wanted && *all; all++) {
		const char *mapped = sys_text(d->arena, d->root, BLOCKS "/%s/dm/name", *all);

		if (mapped && strcmp(mapped, wanted) == 0)
			return *all;
	}
	return NULL;
}

/* The others that hold the same btrfs; the mount table names but one. */
static const char *const *members_with(struct descent *d, const char *name)
{
	const char *const *ids = sys_names(d->arena, d->root, "/sys/fs/btrfs");
	const char **alone = arena_array(d->arena, 2, sizeof(*alone));

	for (; *ids; ids++) {
		const char *dir = arena_strf(d->arena, "/sys/fs/btrfs/%s/devices", *ids);

		if (sys_exists(d->root, tmpf("%s/%s", dir, name)))
			return sys_names(d->arena, d->root, dir);
	}
	alone[0] = name;
	return alone;
}

/* A file system without a device number: by what is mounted ("/dev/a", and with
 * bcachefs "/dev/a:/dev/b"). */
static void below_source(struct descent *d, const char *source, const char *trail, int depth)
{
	char *rest = NULL;

	for (char *node = strtok_r(arena_str(d->arena, source), ":", &rest); node;
	     node = strtok_r(NULL, ":", &rest)) {
		const char *name = str_starts(node, "/dev/") ? name_of_node(d, node) : NULL;
		const char *const *members;

		if (!name) {
			d->lost = true;
			return;
		}
		for (members = members_with(d, name); *members; members++)
			below_device(d, *members, trail, depth);
	}
}

const char *storage_mount_option(struct arena *arena, const char *options, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = options; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (strncmp(p, name, len) == 0 && p[len] == '=')
			return arena_strn(arena, p + len + 1, strcspn(p + len + 1, ","));
	return NULL;
}

static void below_overlay(struct descent *d, const struct storage_place *layer, const char *trail,
                          int depth)
{
	const char *upper = storage_mount_option(d->arena, layer->options, "upperdir");

	/* Of a container's root: a path of the host, which is not to be found here. */
	if (upper)
		below_path(d, arena_strf(d->arena, "%s%s", d->root, upper), trail, depth);
	else
		d->lost = true;
}

static void below_layer(struct descent *d, const struct storage_place *layer, const char *trail,
                        int depth)
{
	const char *name =
		layer->device ? sys_link_name(d->arena, d->root, "/sys/dev/block/%s", layer->device)
			      : NULL;

	trail = *trail ? arena_strf(d->arena, "%s on %s", trail, layer->fs) : layer->fs;
	if (depth > MOST_LAYERS)
		d->lost = true;
	else if (word_in("tmpfs|ramfs|devtmpfs", layer->fs))
		d->ram = d->ram ? d->ram : trail;
	else if (name)
		below_device(d, name, trail, depth + 1);
	else if (strcmp(layer->fs, "overlay") == 0)
		below_overlay(d, layer, trail, depth + 1);
	else if (word_in("btrfs|bcachefs", layer->fs) && layer->source)
		below_source(d, layer->source, trail, depth + 1);
	else if (word_in("btrfs|bcachefs|zfs", layer->fs))
		d->lost = true;
	else
		d->network = true;
}

static void below_path(struct descent *d, const char *path, const char *trail, int depth)
{
	struct storage_place layer;

	if (read_layer(&layer, d->arena, d->root, path) == 0)
		below_layer(d, &layer, trail, depth);
	else
		d->lost = true;
}

static const char *kind_of(const struct storage_place *place)
{
	if (place->ram)
		return "memory";
	if (strcmp(place->fs, "overlay") == 0)
		return "overlay";
	if (str_starts(place->fs, "fuse"))
		return "fuse";
	return place->device || word_in("btrfs|bcachefs|zfs", place->fs) ? "device" : "remote";
}

enum status storage_place_read(struct storage_place *place, struct arena *arena, const char *root,
                               const char *path, struct error *err)
{
	struct descent d = {.arena = arena, .root = root};
	int number = read_layer(place, arena, root, path);

	if (number)
		return error_errno(err, path, number);
	d.seen = arena_array(arena, MOST_DEVICES, sizeof(*d.seen));
	d.leaves = arena_array(arena, MOST_DEVICES + 1, sizeof(*d.leaves));
	below_layer(&d, place, "", 0);
	place->leaves = d.lost ? NULL : d.leaves;
	place->over_network = d.network;
	place->ram = d.ram;
	place->kind = kind_of(place);
	return ST_OK;
}
