/* Small reads below /proc and /sys, each with a root in front so that a
 * recorded machine can be read like the real one. What cannot be read is
 * unknown: NULL, or the fallback given; never zero. */
#ifndef ASSAY_HW_SYSFS_H
#define ASSAY_HW_SYSFS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* First line without surrounding blanks, in the arena; NULL: unreadable or
 * empty. The path is root followed by the formatted rest. */
const char *sys_text(struct arena *arena, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Whole file, at most 16 MiB; false: unreadable. */
bool sys_read(struct str *out, const char *root, const char *path);
/* A whole number in decimal or as 0x…; fallback when it is anything else. */
int64_t sys_number(int64_t fallback, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool sys_exists(const char *root, const char *path);

/* Names in a directory, without dot files, sorted; NULL-terminated, never NULL. */
const char *const *sys_names(struct arena *arena, const char *root, const char *dir);

/* Last component of what a symbolic link points to, NULL: no link. */
const char *sys_link_name(struct arena *arena, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Address of the PCI device a class entry hangs below ("0000:17:00.0"), found
 * in its resolved path; NULL: it has no PCI parent, as software devices. */
const char *sys_pci_parent(struct arena *arena, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Whether text is a full PCI address, domain of 4 to 8 hex digits. */
bool pci_address_valid(const char *text);

/* Number of CPUs in a list as the kernel writes it ("0-3,8,10-11"); -1 when it
 * is malformed or NULL. With cpus (room for max) their numbers are stored. */
int cpu_list_parse(const char *list, int *cpus, int max);

#endif
