/* storage: places that are no storage, and real fio runs on the disk below
 * /var/tmp. */
#include "coord/params.h"
#include "storage_kit.h"

#include <math.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#define TMPFS 0x01021994

/* --- what is no storage --------------------------------------------- */

static void memory_is_refused(void **state)
{
	struct place *p = *state;
	struct statfs info;

	if (statfs("/dev/shm", &info) != 0 || info.f_type != TMPFS) {
		print_message("no tmpfs at /dev/shm\n");
		skip();
	}
	set_short(&p->h);
	p->h.ctx.scratch = "/dev/shm";
	harness_run(&p->h, ST_OK);
	assert_string_equal(harness_expect(&p->h, "storage_fs", OUTCOME_MEASURED, NULL)->text,
	                    "tmpfs");
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "storage_ram", "storage_fs");
	harness_clear(&p->h);
	harness_set(&p->h, "shared", "local");
	harness_run(&p->h, ST_OK);
	harness_expect(&p->h, "local_storage_fs", OUTCOME_MEASURED, NULL);
	harness_expect(&p->h, "local_storage_read_iops", OUTCOME_UNSUPPORTED, "storage_ram");
}

static void a_path_that_is_gone(void **state)
{
	struct place *p = *state;

	p->h.ctx.scratch = "/nonexistent/scratch";
	harness_run(&p->h, ST_OK);
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "storage_unreadable", NULL);
	harness_clear(&p->h);
	p->h.ctx.scratch = NULL;
	harness_run(&p->h, ST_OK);
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "storage_no_scratch", NULL);
}

/* A file system of 64 MiB in a mount namespace of our own, in the scratch directory. */
static bool mount_small(const char *scratch, const char *image)
{
	char command[400];

	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return false;
	setenv("SMALL", scratch, 1);
	snprintf(command, sizeof(command),
	         "{ truncate -s 64M %s && mkfs.ext4 -q -F %s && mount -o loop %s \"$SMALL\"; } "
	         "2>/dev/null",
	         image, image, image);
	return system(command) == 0;
}

static void too_little_space_is_refused(void **state)
{
	struct place *p = *state;
	const char *image = arena_strf(&p->h.arena, "%s/image", p->bin);
	bool mounted = mount_small(p->scratch, image);

	unlink(image);
	if (!mounted) {
		print_message("a small file system cannot be mounted here\n");
		skip();
	}
	set_short(&p->h);
	harness_run(&p->h, ST_OK);
	umount2(p->scratch, MNT_DETACH);
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "storage_free", "storage_fs");
}

static void bad_depths_are_refused(void **state)
{
	static const char *const bad[] = {"1,,2", "0",
	                                  "9999", "1,2,3,4,5,6,7,8,9,10,11,12,13",
	                                  "1,",   ",1",
	                                  "",     "4,4",
	                                  " 4",   "+4",
	                                  "-4",   "4x",
	                                  "4;8",  "99999999999999999999",
	                                  "all"};
	const struct param *row = param_find(&probe_storage, "depths");

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(param_check(&probe_storage, row, bad[i], NULL), ST_USAGE);
	assert_int_equal(param_check(&probe_storage, row, "1", NULL), ST_OK);
	assert_int_equal(param_check(&probe_storage, row, "64,2,1024", NULL), ST_OK);
}

/* --- a real run --------------------------------------------- */

static void check_point(struct place *p, const char *prefix, const char *point, int depth)
{
	const struct reading *r[POINT_METRICS];

	for (int i = 0; i < POINT_METRICS; i++) {
		r[i] = harness_reading_at(&p->h, arena_strf(&p->h.arena, "%s%s", prefix, names[i]),
		                          point);
		assert_int_equal(r[i]->outcome, OUTCOME_MEASURED);
		assert_true(r[i]->value > 0);
		assert_string_equal(r[i]->subject.id, "/mnt/named");
		assert_string_equal(r[i]->params, r[0]->params);
		assert_string_equal(r[i]->raw.file, r[0]->raw.file);
	}
	assert_true(harness_param(r[0], "depth") == depth);
	assert_true(harness_param(r[0], "block_bytes") == STORAGE_BLOCK);
	assert_true(harness_param(r[0], "size_bytes") == 16 << 20);
	assert_true(harness_param(r[0], "runtime_s") >= 0.45);
	assert_true(harness_param(r[0], "windows") >= 3);
	assert_true(r[2]->value <= r[3]->value);
	assert_true(r[1]->value == r[1]->stats[STAT_MEAN] && r[2]->value == r[2]->stats[STAT_P99]);
	assert_true(r[1]->stats[STAT_MIN] <= r[1]->value && r[1]->value <= r[1]->stats[STAT_MAX]);
	/* Little's law, with room for the ends of a short run. */
	assert_true(r[0]->value * r[1]->value / 1e3 < depth * 1.2);
	assert_true(harness_param(r[0], "outstanding") < depth * 1.2);
	assert_true(harness_param(r[0], "mean_depth") >= 0.5);
	assert_true(strlen(harness_param_text(&p->h, r[0], "mount")) > 0);
	assert_true(strlen(harness_param_text(&p->h, r[0], "kind")) > 0);
	assert_non_null(harness_raw(&p->h, arena_strf(&p->h.arena, "fio-depth%d.json", depth)));
}

static void check_run(struct place *p, const char *prefix)
{
	struct arena *a = &p->h.arena;
	const struct reading *r;

	check_point(p, prefix, "depth=1", 1);
	check_point(p, prefix, "depth=2", 2);
	check_point(p, prefix, "depth=8", 8);
	assert_int_equal(p->h.n_readings, 3 * POINT_METRICS + METRICS - POINT_METRICS);
	r = harness_expect(&p->h, arena_strf(a, "%sstorage_lat_depth1_us", prefix),
	                   OUTCOME_MEASURED, NULL);
	assert_true(r->value > 1 && r->value == r->stats[STAT_P50] && !r->point);
	assert_true(fabs(r->value / 1e3 /
	                         harness_reading_at(
					 &p->h, arena_strf(a, "%sstorage_read_lat_p99_ms", prefix),
					 "depth=1")
	                                 ->stats[STAT_P50] -
	                 1) < 1e-9);
	r = harness_expect(&p->h, arena_strf(a, "%sstorage_data_real", prefix), OUTCOME_MEASURED,
	                   NULL);
	assert_true(r->value == 1 && harness_param(r, "blocks") == 1024 &&
	            harness_param(r, "zero") == 0);
	assert_true(harness_param(r, "allocated_share") >= 0.99);
	assert_true(harness_param(r, "first_wrong") == -1);
	harness_expect(&p->h, arena_strf(a, "%sstorage_write_mbs", prefix), OUTCOME_MEASURED, NULL);
	harness_expect(&p->h, arena_strf(a, "%sstorage_engine", prefix), OUTCOME_MEASURED, NULL);
	r = harness_expect(&p->h, arena_strf(a, "%sstorage_direct", prefix), OUTCOME_MEASURED,
	                   NULL);
	assert_true(strcmp(r->text, "yes") == 0 || strcmp(r->text, "no") == 0);
	harness_expect(&p->h, arena_strf(a, "%sstorage_fs", prefix), OUTCOME_MEASURED, NULL);
}

/* Never less than fio read; more when others read from the disk meanwhile. */
static void check_counters(const struct harness *h)
{
	const struct reading *r = harness_reading(h, "storage_counter_ratio");

	if (r->outcome != OUTCOME_MEASURED)
		harness_expect(h, "storage_counter_ratio", OUTCOME_NOT_MEASURED,
		               "storage_counter_blind");
	else
		assert_true(r->value > 0.8 && harness_param(r, "fio_bytes") > 0);
}

static void the_named_path(void **state)
{
	struct place *p = *state;

	assert_int_equal(
		file_write(arena_strf(&p->h.arena, "%s/other", p->scratch), "mine", 4, NULL),
		ST_OK);
	set_short(&p->h);
	harness_run(&p->h, ST_OK);
	check_run(p, "");
	check_counters(&p->h);
	assert_true(p->h.n_progress > 0 && p->h.stage == STAGE_MEASURING);
	assert_int_equal(files_in(p->scratch), 1);
}

static void the_local_disk(void **state)
{
	struct place *p = *state;

	set_short(&p->h);
	harness_set(&p->h, "shared", "local");
	harness_set(&p->h, "engine", "psync");
	harness_run(&p->h, ST_OK);
	check_run(p, "local_");
	assert_string_equal(harness_reading(&p->h, "local_storage_engine")->text, "psync");
	assert_true(harness_param(harness_reading_at(&p->h, "local_storage_read_iops", "depth=8"),
	                          "jobs") == 8);
	assert_int_equal(files_in(p->scratch), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_is_refused),
		TEST(a_path_that_is_gone),
		TEST(too_little_space_is_refused),
		TEST(bad_depths_are_refused),
		TEST(the_named_path),
		TEST(the_local_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
