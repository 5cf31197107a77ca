/* Lines that cannot be saved wait, in their order, and are told of once. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "coord/keeper.h"

struct disk {
	int room; /* lines that still fit */
	struct str text;
};

static enum status save(void *arg, const char *line, size_t len, struct error *err)
{
	struct disk *d = arg;

	if (d->room == 0)
		return error_set(err, ST_NOSPACE, MSG_path_error, "disk", "full");
	d->room--;
	str_addn(&d->text, line, len);
	str_addc(&d->text, ';');
	return ST_OK;
}

static bool add(struct keeper *k, const char *line, struct error *err)
{
	return keeper_add(k, line, strlen(line), err);
}

static void lines_wait_for_room(void **state)
{
	struct disk d = {.room = 1};
	struct keeper k = {.save = save, .arg = &d};
	struct error err = {0};

	(void)state;
	assert_true(add(&k, "one", &err));
	assert_true(keeper_empty(&k));
	assert_false(add(&k, "two", &err));
	assert_int_equal(err.status, ST_NOSPACE);
	error_release(&err);
	/* Said once. */
	assert_true(add(&k, "three", &err));
	assert_int_equal(err.status, ST_OK);
	assert_false(keeper_empty(&k));
	d.room = 10;
	assert_true(add(&k, "four", &err));
	assert_string_equal(d.text.data, "one;two;three;four;");
	assert_true(keeper_empty(&k));
	assert_int_equal(k.lines, 4);
	assert_int_equal(keeper_end(&k, &err), ST_OK);
	str_release(&d.text);
}

/* A line waits for the file that came before it, and for nothing once that is saved. */
static void lines_wait_for_their_files(void **state)
{
	char root[] = "/tmp/assay-keeper-XXXXXX";
	struct disk d = {.room = 10};
	struct keeper k = {.save = save, .arg = &d};
	struct error err = {0};
	struct str text = {0};
	const char *path;

	(void)state;
	assert_non_null(mkdtemp(root));
	path = tmpf("%s/raw/n1/a.csv", root);
	/* Where the directory has to be there is something else. */
	assert_int_equal(file_write(tmpf("%s/raw", root), "", 0, NULL), ST_OK);
	assert_false(keeper_file(&k, path, "a\n\0b", 4, &err));
	assert_int_not_equal(err.status, ST_OK);
	error_release(&err);
	assert_true(add(&k, "one", &err));
	assert_int_equal(d.text.len, 0);
	assert_false(keeper_empty(&k));
	assert_int_equal(unlink(tmpf("%s/raw", root)), 0);
	assert_true(add(&k, "two", &err));
	assert_string_equal(d.text.data, "one;two;");
	assert_true(keeper_empty(&k));
	assert_int_equal(file_read(&text, path, 100, NULL), ST_OK);
	assert_int_equal(text.len, 4);
	assert_memory_equal(text.data, "a\n\0b", 4);
	/* Files that never fit take the lines after them along. */
	assert_true(keeper_file(&k, tmpf("%s/raw/n1/a.csv/b", root), "b", 1, &err));
	assert_true(add(&k, "three", &err));
	assert_int_not_equal(keeper_end(&k, &err), ST_OK);
	assert_non_null(strstr(err.text.data, "1 reading"));
	assert_string_equal(d.text.data, "one;two;");
	error_release(&err);
	str_release(&text);
	str_release(&d.text);
	assert_int_equal(system(tmpf("rm -r %s", root)), 0);
}

static void what_never_fits_is_counted(void **state)
{
	struct disk d = {.room = 1};
	struct keeper k = {.save = save, .arg = &d};
	struct error err = {0};

	(void)state;
	add(&k, "one", NULL);
	add(&k, "two", NULL);
	add(&k, "three", NULL);
	assert_int_equal(keeper_end(&k, &err), ST_NOSPACE);
	assert_non_null(strstr(err.text.data, "2 readings"));
	assert_non_null(strstr(err.text.data, "full"));
	error_release(&err);
	str_release(&d.text);
}

static void the_last_try_may_succeed(void **state)
{
	struct disk d = {.room = 0};
	struct keeper k = {.save = save, .arg = &d};

	(void)state;
	add(&k, "one", NULL);
	d.room = 1;
	assert_int_equal(keeper_end(&k, NULL), ST_OK);
	assert_string_equal(d.text.data, "one;");
	str_release(&d.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_wait_for_room),
		cmocka_unit_test(lines_wait_for_their_files),
		cmocka_unit_test(what_never_fits_is_counted),
		cmocka_unit_test(the_last_try_may_succeed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
