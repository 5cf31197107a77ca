/* Finding out where a path is. The type comes from statfs, which cannot be told
 * a lie by a mount's name; the mount table adds the kind of a FUSE program and
 * the source, for the person who reads the report. */
#include "storage_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "hw/host.h"
#include "hw/sysfs.h"

#define SECTOR 512

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

int64_t storage_device_bytes(const struct storage_place *place, const char *root)
{
	struct str text = {0};
	long long sectors = -1;

	if (!place->device)
		return -1;
	if (!sys_read(&text, root, tmpf("/sys/dev/block/%s/stat", place->device)) ||
	    sscanf(str_text(&text), "%*u %*u %lld", &sectors) != 1)
		sectors = -1;
	str_release(&text);
	return sectors < 0 ? -1 : (int64_t)sectors * SECTOR;
}

static const char *kind_of(const struct storage_place *place)
{
	if (strcmp(place->fs, "tmpfs") == 0 || strcmp(place->fs, "ramfs") == 0)
		return "memory";
	if (strcmp(place->fs, "overlay") == 0)
		return "overlay";
	if (str_starts(place->fs, "fuse"))
		return "fuse";
	return place->device ? "device" : "remote";
}

enum status storage_place_read(struct storage_place *place, struct arena *arena, const char *root,
                               const char *path, struct error *err)
{
	const struct host_mount *mount;
	struct statvfs room;
	struct statfs type;
	struct stat info;
	char *real;

	*place = (struct storage_place){0};
	if (statfs(path, &type) != 0 || statvfs(path, &room) != 0 || stat(path, &info) != 0)
		return error_errno(err, path, errno);
	real = realpath(path, NULL);
	if (!real)
		return error_errno(err, path, errno);
	mount = mount_of(arena, root, real);
	free(real);
	place->fs = type_name(arena, (int64_t)type.f_type, mount);
	place->mount = mount ? mount->point : NULL;
	place->source = mount ? mount->source : NULL;
	place->free_bytes = (int64_t)room.f_bavail * (int64_t)room.f_frsize;
	place->device = arena_strf(arena, "%u:%u", major(info.st_dev), minor(info.st_dev));
	if (storage_device_bytes(place, root) < 0)
		place->device = NULL;
	place->kind = kind_of(place);
	return ST_OK;
}
