/* Small trees that stand before /proc and /sys: block devices, interfaces and
 * ports as the kernel would show them, below a directory of the test's own. */
#ifndef ASSAY_TESTS_TREE_KIT_H
#define ASSAY_TESTS_TREE_KIT_H

#include "tests/unit/unit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "storage_place.h"
#include "tests/cleanup.h"

struct tree {
	struct arena arena;
	char root[40];
	char number[32]; /* the device the tree itself is on, as in /sys/dev/block */
	int loops;       /* devices to be let go of at the end */
	char *loop[4];
};

static inline int tree_set_up(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));
	struct stat info;

	assert_non_null(t);
	strcpy(t->root, "/var/tmp/assay-tree-XXXXXX");
	assert_non_null(mkdtemp(t->root));
	assert_int_equal(stat(t->root, &info), 0);
	snprintf(t->number, sizeof(t->number), "%u:%u", major(info.st_dev), minor(info.st_dev));
	*state = t;
	return 0;
}

static inline int tree_tear_down(void **state)
{
	struct tree *t = *state;

	umount2(tmpf("%s/mnt", t->root), MNT_DETACH);
	umount2(tmpf("%s/ram", t->root), MNT_DETACH);
	for (int i = 0; i < t->loops; i++)
		assert_int_equal(system(tmpf("losetup -d %s", t->loop[i])), 0);
	dir_remove(t->root, NULL);
	arena_release(&t->arena);
	free(t);
	return 0;
}

static inline void put(struct tree *t, const char *path, const char *text)
{
	FILE *f;
	char *full = arena_strf(&t->arena, "%s%s", t->root, path), *slash = strrchr(full, '/');

	*slash = '\0';
	assert_int_equal(dir_make(full, NULL), ST_OK);
	*slash = '/';
	f = fopen(full, "w"); /* file_write would fsync */
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline void put_link(struct tree *t, const char *path, const char *target)
{
	char *full = arena_strf(&t->arena, "%s%s", t->root, path), *slash = strrchr(full, '/');

	*slash = '\0';
	assert_int_equal(dir_make(full, NULL), ST_OK);
	*slash = '/';
	assert_int_equal(symlink(target, full), 0);
}

/* /sys/class/block/NAME with its counters; above: the disk of a partition. */
static inline void put_block(struct tree *t, const char *name, const char *above, int64_t read,
                             int64_t written)
{
	const char *dir = arena_strf(&t->arena, "/sys/devices/virtual/block/%s%s%s",
	                             above ? above : "", above ? "/" : "", name);

	put(t, tmpf("%s/stat", dir),
	    tmpf("  12 0 %lld 5  13 0 %lld 6 0 7 8\n", (long long)read, (long long)written));
	if (above)
		put(t, tmpf("%s/partition", dir), "1\n");
	put_link(t, tmpf("/sys/class/block/%s", name), tmpf("../..%s", dir + strlen("/sys")));
}

/* What stands below a device mapper or RAID device. */
static inline void put_slave(struct tree *t, const char *name, const char *slave)
{
	put(t, tmpf("/sys/devices/virtual/block/%s/slaves/%s", name, slave), "");
}

/* The device that the tree's own directory is on is now this one. */
static inline void put_top(struct tree *t, const char *name)
{
	const char *link = tmpf("/sys/dev/block/%s", t->number);
	const char *above =
		tmpf("%s%s/..", t->root, arena_strf(&t->arena, "/sys/class/block/%s", name));
	char *real = realpath(above, NULL);

	assert_non_null(real);
	put_link(t, link, tmpf("../..%s/%s", real + strlen(t->root) + strlen("/sys"), name));
	free(real);
}

static inline struct storage_place place_in(struct tree *t, const char *root, const char *path)
{
	struct storage_place place;

	assert_int_equal(storage_place_read(&place, &t->arena, root, path, NULL), ST_OK);
	return place;
}

/* The names with blanks between; "lost" when they are not known. */
static inline const char *leaves_of(struct tree *t, const struct storage_place *place)
{
	const char *text = "";

	if (!place->leaves)
		return "lost";
	for (int i = 0; place->leaves[i]; i++)
		text = arena_strf(&t->arena, "%s%s%s", text, *text ? " " : "", place->leaves[i]);
	return text;
}

/* --- mounts, where the test may --------------------------------------------- */

static inline bool may_mount(void)
{
	if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		return true;
	print_message("mounting needs root\n");
	return false;
}

/* A shell command in the tree; false with the command when it fails. */
static inline bool shell(struct tree *t, const char *command)
{
	bool ok = system(tmpf("cd %s && { %s; } >/dev/null 2>&1", t->root, command)) == 0;

	if (!ok)
		print_message("not to be had here: %s\n", command);
	return ok;
}

/* A loop device on a file of the tree, let go of at the end; NULL: none. */
static inline const char *attach(struct tree *t, const char *file)
{
	FILE *out = popen(tmpf("losetup -f --show %s/%s 2>/dev/null", t->root, file), "r");
	char line[64] = "";

	assert_non_null(out);
	if (!fgets(line, sizeof(line), out))
		line[0] = '\0';
	if (pclose(out) != 0 || !line[0]) {
		print_message("no loop device can be had here\n");
		return NULL;
	}
	line[strcspn(line, "\n")] = '\0';
	t->loop[t->loops] = arena_str(&t->arena, line);
	return t->loop[t->loops++];
}

#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, tree_set_up, tree_tear_down)

#endif
