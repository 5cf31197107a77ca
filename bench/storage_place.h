/* Where a path really is: file system, mount, and what lies at the very bottom
 * of it, below logical volumes, RAID and image files. Decides what may be
 * measured there and which counters can contradict fio. */
#ifndef ASSAY_BENCH_STORAGE_PLACE_H
#define ASSAY_BENCH_STORAGE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct storage_place {
	const char *fs; /* "ext4", "fuse.sshfs"; "0x1badb002" where nobody knows it */
	/* "memory" (tmpfs, ramfs, or memory anywhere below), "overlay" (the upper
	 * layer of a container, hardly ever what is meant), "fuse" (a program may
	 * cache in its own way), "device" (disks of this machine), else "remote". */
	const char *kind;
	const char *mount; /* mount point, what is mounted there and how; NULL: unknown */
	const char *source;
	const char *options;
	const char *device; /* "8:1"; NULL: no block device, or none with counters */
	/* Names below /sys/class/block of the devices at the bottom, each once, ending
	 * with NULL; empty when there are none (network); NULL: not all could be found. */
	const char *const *leaves;
	bool over_network;  /* at the bottom, or part of it, is a server */
	const char *ram;    /* the way down to memory: "ext4 on zram0"; NULL: none found */
	int64_t free_bytes; /* for this user */
};

/* Texts in the arena. `root` stands before /proc and /sys, and before the files
 * that these name. Errors of the path: the status of its errno. */
enum status storage_place_read(struct storage_place *place, struct arena *arena, const char *root,
                               const char *path, struct error *err);
/* The value of an option of the mount ("addr"), in the arena; NULL: it has none, or
 * options is NULL. */
const char *storage_mount_option(struct arena *arena, const char *options, const char *name);

#endif
