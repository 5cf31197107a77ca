/* Where a path really is: file system, mount, device below it. Decides what may
 * be measured there and which counters can contradict fio. */
#ifndef ASSAY_BENCH_STORAGE_PLACE_H
#define ASSAY_BENCH_STORAGE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct storage_place {
	const char *fs; /* "ext4", "fuse.sshfs"; "0x1badb002" where nobody knows it */
	/* "memory" (tmpfs, ramfs), "overlay" (the upper layer of a container, hardly
	 * ever what is meant), "fuse" (a program may cache in its own way), "device"
	 * (one with counters in /sys), else "remote". */
	const char *kind;
	const char *mount; /* mount point, and what is mounted there; NULL: unknown */
	const char *source;
	const char *device; /* "8:1"; NULL: no block device, or none with counters */
	int64_t free_bytes; /* for this user */
};

/* Texts in the arena. `root` stands before /proc and /sys. Errors of the path:
 * the status of its errno. */
enum status storage_place_read(struct storage_place *place, struct arena *arena, const char *root,
                               const char *path, struct error *err);
/* Bytes read from the device since boot; -1: no device, or unreadable. */
int64_t storage_device_bytes(const struct storage_place *place, const char *root);

#endif
