/* Scratch directories: what must go goes, and nothing else does. */
#include "tests/unit/guard_kit.h"

#include <errno.h>
#include <sys/mount.h>

#include "base/scratch.h"
#include "tests/cleanup.h"

struct place {
	char dir[32]; /* the storage path, with a user's file in it */
	struct str scratch, precious;
	int lock;
};

static void place_make(struct place *p)
{
	*p = (struct place){.dir = "/tmp/assay-test-XXXXXX"};
	make_scratch(p->dir, &p->scratch, &p->lock);
	str_addf(&p->precious, "%s/user/precious", p->dir);
	assert_int_equal(mkdir(tmpf("%s/user", p->dir), 0755), 0);
	assert_int_equal(file_write(p->precious.data, "keep", 4, NULL), ST_OK);
}

/* The user's file must have survived everything. */
static void place_end(struct place *p)
{
	scratch_close(p->scratch.data, p->lock);
	assert_true(exists(p->precious.data));
	assert_int_equal(dir_remove(p->dir, NULL), ST_OK);
	str_release(&p->scratch);
	str_release(&p->precious);
}

static enum status remove_path(const char *path, struct error *err)
{
	struct scratch s;
	enum status st = scratch_note(&s, path, false, err);

	if (st == ST_OK)
		st = scratch_remove(&s, err);
	scratch_release(&s);
	return st;
}

static void a_full_tree_goes_and_links_are_not_followed(void **state)
{
	struct place p;

	(void)state;
	place_make(&p);
	assert_int_equal(dir_make(tmpf("%s/a/b/c", p.scratch.data), NULL), ST_OK);
	for (int i = 0; i < 300; i++)
		assert_int_equal(file_write(tmpf("%s/a/f%d", p.scratch.data, i), "x", 1, NULL),
		                 ST_OK);
	assert_int_equal(symlink(tmpf("%s/user", p.dir), tmpf("%s/a/b/link", p.scratch.data)), 0);
	assert_int_equal(symlink(p.precious.data, tmpf("%s/file-link", p.scratch.data)), 0);
	assert_int_equal(mkfifo(tmpf("%s/a/fifo", p.scratch.data), 0600), 0);
	assert_int_equal(remove_path(p.scratch.data, NULL), ST_OK);
	assert_false(exists(tmpf("%s/.assay-run1", p.dir)));
	assert_int_equal(remove_path(p.scratch.data, NULL), ST_OK); /* gone already */
	place_end(&p);
}

static void a_link_in_place_of_the_directory_is_not_followed(void **state)
{
	struct place p;
	struct error err = {0};

	(void)state;
	place_make(&p);
	/* The run's directory itself swapped for a link to the user's. */
	assert_int_equal(rename(tmpf("%s/.assay-run1", p.dir), tmpf("%s/aside", p.dir)), 0);
	assert_int_equal(mkdir(tmpf("%s/user/n1", p.dir), 0755), 0);
	assert_int_equal(file_write(tmpf("%s/user/n1/also", p.dir), "keep", 4, NULL), ST_OK);
	assert_int_equal(symlink("user", tmpf("%s/.assay-run1", p.dir)), 0);
	assert_int_not_equal(remove_path(p.scratch.data, &err), ST_OK);
	assert_true(exists(tmpf("%s/user/n1/also", p.dir)));
	error_release(&err);
	place_end(&p);
}

static void a_mount_inside_is_not_entered(void **state)
{
	struct place p;
	const char *inside;

	(void)state;
	place_make(&p);
	inside = tmpf("%s/mounted", p.scratch.data);
	assert_int_equal(mkdir(inside, 0700), 0);
	if (mount(tmpf("%s/user", p.dir), inside, NULL, MS_BIND, NULL) != 0) {
		remove_path(p.scratch.data, NULL);
		place_end(&p);
		skip(); /* needs root */
	}
	assert_int_not_equal(remove_path(p.scratch.data, NULL), ST_OK);
	assert_true(exists(p.precious.data));
	assert_int_equal(umount(tmpf("%s/mounted", p.scratch.data)), 0);
	assert_int_equal(remove_path(p.scratch.data, NULL), ST_OK);
	place_end(&p);
}

static void only_paths_of_ours_are_removed(void **state)
{
	static const char *const bad[] = {"user",
	                                  "user/.assay",
	                                  ".assay-run1/../user",
	                                  ".assay-run1/n1/../..",
	                                  "x.assay-run1/n1",
	                                  ".assay-run1/./n1"};
	struct place p;

	(void)state;
	place_make(&p);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct error err = {0};

		assert_int_equal(remove_path(tmpf("%s/%s", p.dir, bad[i]), &err), ST_USAGE);
		error_release(&err);
	}
	assert_true(exists(p.scratch.data));
	assert_int_equal(remove_path(p.scratch.data, NULL), ST_OK);
	place_end(&p);
}

static void another_directory_of_the_same_name_is_left(void **state)
{
	struct place p;
	struct scratch s;
	struct str again = {0};
	int lock;

	(void)state;
	place_make(&p);
	assert_int_equal(scratch_note(&s, p.scratch.data, false, NULL), ST_OK);
	/* Kept elsewhere, so that its inode number is not used again. */
	assert_int_equal(rename(p.scratch.data, tmpf("%s/aside", p.dir)), 0);
	assert_int_equal(scratch_make(p.dir, "run1", "n1", &again, &lock, NULL), ST_OK);
	assert_int_equal(scratch_remove(&s, NULL), ST_OK);
	assert_true(exists(again.data));
	scratch_release(&s);
	close(lock);
	place_end(&p);
	str_release(&again);
}

static void a_neighbours_directory_and_a_stray_file_stay(void **state)
{
	struct place p;
	struct str other = {0}, removed = {0};
	int lock;

	(void)state;
	place_make(&p);
	assert_int_equal(scratch_make(p.dir, "run1", "n2", &other, &lock, NULL), ST_OK);
	assert_int_equal(file_write(tmpf("%s/.assay-notes", p.dir), "x", 1, NULL), ST_OK);
	assert_int_equal(remove_path(p.scratch.data, NULL), ST_OK);
	assert_true(exists(other.data));
	close(lock);
	assert_int_equal(guard_sweep(p.dir, "n2", &removed, NULL), ST_OK);
	assert_string_equal(removed.data, other.data);
	assert_false(exists(tmpf("%s/.assay-run1", p.dir)));
	assert_true(exists(tmpf("%s/.assay-notes", p.dir)));
	place_end(&p);
	str_release(&other);
	str_release(&removed);
}

static void a_directory_without_lock_is_swept_only_when_empty(void **state)
{
	struct place p;
	struct str removed = {0};

	(void)state;
	place_make(&p);
	assert_int_equal(dir_make(tmpf("%s/.assay-full/n1/data", p.dir), NULL), ST_OK);
	assert_int_equal(dir_make(tmpf("%s/.assay-empty/n1", p.dir), NULL), ST_OK);
	assert_int_equal(guard_sweep(p.dir, "n1", &removed, NULL), ST_OK);
	assert_true(exists(tmpf("%s/.assay-full/n1/data", p.dir)));
	assert_false(exists(tmpf("%s/.assay-empty", p.dir)));
	assert_true(exists(p.scratch.data)); /* held */
	assert_int_equal(removed.len, 0);
	assert_int_equal(guard_sweep("/nonexistent/path", "n1", &removed, NULL), ST_OK);
	assert_int_equal(guard_sweep(p.dir, "../user", &removed, NULL), ST_USAGE);
	assert_int_equal(remove_path(p.scratch.data, NULL), ST_OK);
	place_end(&p);
}

static void names_and_places_that_are_none_are_refused(void **state)
{
	struct place p;
	struct str dir = {0};
	struct error err = {0};
	int lock;

	(void)state;
	place_make(&p);
	assert_int_equal(scratch_make(p.dir, "run1", "../n", &dir, &lock, NULL), ST_USAGE);
	assert_int_equal(scratch_make(p.dir, "", "n", &dir, &lock, NULL), ST_USAGE);
	assert_int_equal(scratch_make("/nonexistent", "run1", "n", &dir, &lock, &err), ST_NOTFOUND);
	assert_int_equal(lock, -1);
	error_release(&err);
	assert_int_equal(scratch_make(p.precious.data, "run1", "n", &dir, &lock, NULL),
	                 ST_NOTFOUND);
	assert_int_equal(remove_path(p.scratch.data, NULL), ST_OK);
	place_end(&p);
	str_release(&dir);
}

/* On a shared place somebody who saw the number of the run may be there before us. */
static void directories_of_others_are_refused(void **state)
{
	static const char *const theirs[] = {".assay-run2", ".assay-run2/n1"};
	struct place p;
	struct str dir = {0};
	int lock;

	(void)state;
	if (geteuid() != 0)
		skip(); /* needs another user */
	place_make(&p);
	for (int i = 0; i < 2; i++) {
		struct error err = {0};
		const char *path = tmpf("%s/%s", p.dir, theirs[i]);

		assert_int_equal(dir_make(path, NULL), ST_OK);
		assert_int_equal(chmod(path, 0777), 0);
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(scratch_make(p.dir, "run2", "n1", &dir, &lock, &err), ST_EXISTS);
		assert_int_equal(lock, -1);
		assert_non_null(strstr(str_text(&err.text), "belongs to another user"));
		error_release(&err);
		/* Empty, it is ours to remove. */
		assert_false(exists(tmpf("%s/.assay-run2", p.dir)));
	}
	assert_int_equal(remove_path(p.scratch.data, NULL), ST_OK);
	place_end(&p);
	str_release(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_tree_goes_and_links_are_not_followed),
		cmocka_unit_test(a_link_in_place_of_the_directory_is_not_followed),
		cmocka_unit_test(a_mount_inside_is_not_entered),
		cmocka_unit_test(only_paths_of_ours_are_removed),
		cmocka_unit_test(another_directory_of_the_same_name_is_left),
		cmocka_unit_test(a_neighbours_directory_and_a_stray_file_stay),
		cmocka_unit_test(a_directory_without_lock_is_swept_only_when_empty),
		cmocka_unit_test(names_and_places_that_are_none_are_refused),
		cmocka_unit_test(directories_of_others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
