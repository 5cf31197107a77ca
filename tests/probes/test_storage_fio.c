/* storage: fios that are absent, old, killed or refused, engine by engine and
 * point by point. */
#include "storage_kit.h"
#include "tests/cleanup.h"

#include <math.h>
#include <sys/sysmacros.h>

/* --- fios that are none --------------------------------------------- */

static void no_fio(void **state)
{
	struct place *p = *state;
	struct support s;

	setenv("PATH", p->bin, 1);
	harness_run(&p->h, ST_OK);
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "fio_missing", NULL);
	s = probe_storage.try_run(&p->h.ctx);
	assert_false(s.yes);
	assert_string_equal(s.reason.code, "fio_missing");
}

static void fios_of_the_wrong_kind(void **state)
{
	static const struct {
		const char *version, *code;
	} rows[] = {
		{"echo fio-2.1; exit 0", "fio_old"},
		{"echo fio-2.21-89-gb034; exit 0", "fio_old"},
		{"echo 'my fio'; exit 0", "fio_no_version"},
		{"exit 0", "fio_no_version"},
		{"echo 'libaio.so.1: not found' >&2; exit 127", "fio_no_json"},
		{"kill -9 $$", "fio_killed"},
		{"while echo fio-3.33; do :; done", "fio_unusable"},
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		harness_clear(&p->h);
		fake_fio(p, rows[i].version, "exit 0");
		harness_run(&p->h, ST_OK);
		expect_rest(&p->h, OUTCOME_NOT_MEASURED, rows[i].code, NULL);
		assert_false(probe_storage.try_run(&p->h.ctx).yes);
	}
	fake_fio(p, IS_FIO, "exit 0");
	assert_true(probe_storage.try_run(&p->h.ctx).yes);
}

/* The data is written and checked before fio spoils the rest. */
static void fios_that_fail(void **state)
{
	static const struct {
		const char *body, *code;
		enum outcome outcome;
	} rows[] = {
		{"exit 0", "fio_silent", OUTCOME_NOT_MEASURED},
		{"echo hello", "fio_no_json", OUTCOME_NOT_MEASURED},
		{"echo '{'; echo '\"jobs\" : [ nonsense'", "fio_not_json", OUTCOME_NOT_MEASURED},
		{SAMPLE("io_uring-eperm.stdout") "; exit 1", "fio_engine_refused",
	         OUTCOME_NOT_MEASURED},
		{SAMPLE("enospc-layout.stdout") "; exit 1", "fio_no_space", OUTCOME_NOT_MEASURED},
		{SAMPLE("data-real.stdout") "; exit 128", "fio_interrupted", OUTCOME_NOT_MEASURED},
		{SAMPLE("data-real.stdout") "; kill -9 $$", "fio_killed", OUTCOME_NOT_MEASURED},
	};
	struct place *p = *state;

	set_short(&p->h);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		harness_clear(&p->h);
		fake_fio(p, IS_FIO, rows[i].body);
		harness_run(&p->h, ST_OK);
		assert_true(
			harness_expect(&p->h, "storage_data_real", OUTCOME_MEASURED, NULL)->value ==
			1);
		assert_true(
			harness_expect(&p->h, "storage_write_mbs", OUTCOME_MEASURED, NULL)->value >
			0);
		expect_rest(&p->h, rows[i].outcome, rows[i].code,
		            "storage_data_real storage_write_mbs storage_fs storage_shared");
		assert_int_equal(files_in(p->scratch), 0);
	}
}

static void a_fio_that_hangs_is_ended(void **state)
{
	struct place *p = *state;

	set_short(&p->h);
	fake_fio(p, IS_FIO, "exec sleep 100");
	p->h.ctx.deadline_ns = clock_now(&clock_system) + 2 * NS_PER_S;
	harness_run(&p->h, ST_OK);
	harness_expect(&p->h, "storage_read_iops", OUTCOME_TIMED_OUT, "fio_timed_out");
	harness_expect(&p->h, "storage_engine", OUTCOME_TIMED_OUT, "fio_timed_out");
	assert_int_equal(files_in(p->scratch), 0);
}

/* --- engines and points --------------------------------------------- */

static void a_refused_engine_gives_way(void **state)
{
	struct place *p = *state;
	const struct reading *r;

	set_short(&p->h);
	harness_set(&p->h, "depths", "2");
	fake_fio(p, IS_FIO,
	         "case \"$*\" in *io_uring*) " SAMPLE(
			 "io_uring-eperm.stdout") "; exit 1;; esac; " REAL);
	harness_run(&p->h, ST_OK);
	r = harness_expect(&p->h, "storage_engine", OUTCOME_MEASURED, NULL);
	assert_string_not_equal(r->text, "io_uring");
	assert_true(str_starts(harness_param_text(&p->h, r, "refused"), "io_uring: "));
	assert_string_equal(harness_param_text(&p->h, r, "fio"), "fio-3.33");
	assert_int_equal(harness_reading_at(&p->h, "storage_read_iops", "depth=2")->outcome,
	                 OUTCOME_MEASURED);
}

/* fs.aio-max-nr is used up: 64 at once are refused, 16 are not. */
static void too_many_at_once_are_fewer(void **state)
{
	struct place *p = *state;
	const struct reading *r;

	set_short(&p->h);
	harness_set(&p->h, "depths", "2,64");
	harness_set(&p->h, "engine", "libaio");
	harness_set(&p->h, "jobs", "1");
	fake_fio(p, IS_FIO,
	         "case \"$*\" in *iodepth=64*) sed 's/\"error\" : 1,/\"error\" : 11,/' '" TESTS_DIR
	         "/probes/data/fio/libaio-io_setup-eperm.stdout'; exit 1;; esac; " REAL);
	harness_run(&p->h, ST_OK);
	r = harness_expect(&p->h, "storage_engine", OUTCOME_MEASURED, NULL);
	assert_string_equal(r->text, "libaio");
	assert_non_null(strstr(harness_param_text(&p->h, r, "refused"), "; depth 16: "));
	assert_int_equal(harness_reading_at(&p->h, "storage_read_iops", "depth=2")->outcome,
	                 OUTCOME_MEASURED);
	r = harness_reading_at(&p->h, "storage_read_iops", "depth=64");
	assert_int_equal(r->outcome, OUTCOME_NOT_MEASURED);
	assert_string_equal(r->reason.code, "fio_engine_refused");
}

static void refused_direct_io_is_said(void **state)
{
	struct place *p = *state;

	set_short(&p->h);
	harness_set(&p->h, "depths", "2");
	harness_set(&p->h, "engine", "psync");
	fake_fio(p, IS_FIO,
	         "case \"$*\" in *direct=1*) " SAMPLE("direct-misaligned.stdout") "; " SAMPLE(
			 "direct-misaligned.stderr") " >&2; exit 1;; esac; " REAL);
	harness_run(&p->h, ST_OK);
	assert_string_equal(harness_expect(&p->h, "storage_direct", OUTCOME_MEASURED, NULL)->text,
	                    "no");
	assert_string_equal(harness_expect(&p->h, "storage_engine", OUTCOME_MEASURED, NULL)->text,
	                    "psync");
	/* The page cache may have answered: seen, and not measured. */
	for (int i = 0; i < POINT_METRICS; i++) {
		const struct reading *r = harness_reading_at(&p->h, names[i], "depth=2");

		assert_int_equal(r->outcome, OUTCOME_NOT_MEASURED);
		assert_string_equal(r->reason.code, "storage_buffered");
		assert_string_equal(r->reason.args[0], "/mnt/named");
	}
	harness_expect(&p->h, "storage_lat_depth1_us", OUTCOME_NOT_MEASURED, "storage_buffered");
}

/* With every engine refused for another reason than O_DIRECT nothing is read
 * through the cache: it would measure itself. */
static void all_engines_refused(void **state)
{
	struct place *p = *state;
	const char *runs = arena_strf(&p->h.arena, "%s/runs", p->bin);
	struct str text = {0};

	set_short(&p->h);
	fake_fio(p, IS_FIO,
	         arena_strf(&p->h.arena,
	                    "echo \"$*\" >>%s; " SAMPLE("io_uring-enosys.stdout") "; exit 2",
	                    runs));
	harness_run(&p->h, ST_OK);
	harness_expect(&p->h, "storage_engine", OUTCOME_NOT_MEASURED, "fio_engine_refused");
	harness_expect(&p->h, "storage_direct", OUTCOME_NOT_MEASURED, "fio_engine_refused");
	assert_int_equal(file_read(&text, runs, 1 << 20, NULL), ST_OK);
	unlink(runs);
	assert_non_null(strstr(text.data, "--ioengine=io_uring"));
	assert_non_null(strstr(text.data, "--ioengine=libaio"));
	assert_non_null(strstr(text.data, "--ioengine=psync --direct=1 --numjobs=8 --iodepth=1"));
	assert_null(strstr(text.data, "--direct=0"));
	str_release(&text);
}

/* 3.17 refuses both percentile options at once; its p99 is clat's. */
static void an_older_fio_is_asked_for_less(void **state)
{
	struct place *p = *state;

	set_short(&p->h);
	harness_set(&p->h, "depths", "2");
	fake_fio(p, "echo fio-3.17; exit 0",
	         "case \"$*\" in *--lat_percentiles*) exit 1;; esac; " REAL);
	harness_run(&p->h, ST_OK);
	harness_expect(&p->h, "storage_engine", OUTCOME_MEASURED, NULL);
	assert_true(harness_reading_at(&p->h, "storage_read_lat_p99_ms", "depth=2")->value > 0);
	assert_non_null(strstr(harness_reading_at(&p->h, "storage_read_iops", "depth=2")->params,
	                       "\"lat_from_clat\":true"));
}

/* psync samples with a depth of 8 each: the engine did not queue. */
static void an_engine_that_does_not_queue(void **state)
{
	struct place *p = *state;

	set_short(&p->h);
	harness_set(&p->h, "depths", "8");
	harness_set(&p->h, "jobs", "1");
	harness_set(&p->h, "engine", "libaio");
	fake_fio(p, IS_FIO,
	         "n=$*; set --; for a in $n; do case $a in --ioengine=*) a=--ioengine=psync;; "
	         "--filename=*) a=--filename=data;; esac; set -- \"$@\" \"$a\"; done; " REAL);
	harness_run(&p->h, ST_OK);
	assert_int_equal(harness_reading_at(&p->h, "storage_read_iops", "depth=1")->outcome,
	                 OUTCOME_MEASURED);
	assert_string_equal(harness_reading_at(&p->h, "storage_read_iops", "depth=8")->reason.code,
	                    "storage_depth");
}

static void ramp_must_be_the_shorter(void **state)
{
	struct place *p = *state;

	harness_set(&p->h, "runtime_s", "2");
	harness_set(&p->h, "ramp_s", "2");
	harness_run(&p->h, ST_OK);
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "storage_ramp", NULL);
}

/* The path breaks away under the second point: what was measured stays, and
 * nothing more is tried. */
static void a_path_that_breaks_away(void **state)
{
	struct place *p = *state;

	set_short(&p->h);
	harness_set(&p->h, "depths", "2,4,8");
	harness_set(&p->h, "engine", "psync");
	fake_fio(p, IS_FIO,
	         "case \"$*\" in *numjobs=4*) rm data;; *runtime=500ms*numjobs=8*) exit 77;; "
	         "esac; " REAL);
	harness_run(&p->h, ST_OK);
	assert_int_equal(harness_reading_at(&p->h, "storage_read_iops", "depth=2")->outcome,
	                 OUTCOME_MEASURED);
	for (int i = 0; i < POINT_METRICS; i++) {
		assert_string_equal(harness_reading_at(&p->h, names[i], "depth=4")->reason.code,
		                    "storage_gone");
		assert_string_equal(harness_reading_at(&p->h, names[i], "depth=8")->reason.code,
		                    "storage_gone");
	}
	assert_int_equal(harness_reading_at(&p->h, names[0], "depth=8")->outcome, OUTCOME_FAILED);
	harness_expect(&p->h, "storage_counter_ratio", OUTCOME_FAILED, "storage_gone");
}

/* Each point owes its own readings, whatever became of the others. */
static void a_failing_point_is_not_silent(void **state)
{
	struct place *p = *state;

	set_short(&p->h);
	harness_set(&p->h, "depths", "2,3,4");
	harness_set(&p->h, "engine", "psync");
	fake_fio(p, IS_FIO, "case \"$*\" in *numjobs=3*) kill -9 $$;; esac; " REAL);
	harness_run(&p->h, ST_OK);
	for (int i = 0; i < POINT_METRICS; i++) {
		const struct reading *bad = harness_reading_at(&p->h, names[i], "depth=3");

		assert_int_equal(bad->outcome, OUTCOME_NOT_MEASURED);
		assert_string_equal(bad->reason.code, "fio_killed");
		assert_int_equal(harness_reading_at(&p->h, names[i], "depth=2")->outcome,
		                 OUTCOME_MEASURED);
		assert_int_equal(harness_reading_at(&p->h, names[i], "depth=4")->outcome,
		                 OUTCOME_MEASURED);
		assert_int_equal(harness_count(&p->h, names[i]), 4);
	}
	assert_int_equal(p->h.n_readings, 4 * POINT_METRICS + METRICS - POINT_METRICS);
}

/* Jobs of equal depth, so that a point has the depth it is named after. */
static void depths_are_spread_evenly(void **state)
{
	struct place *p = *state;
	const struct reading *r;

	set_short(&p->h);
	harness_set(&p->h, "depths", "8");
	harness_set(&p->h, "jobs", "3");
	harness_run(&p->h, ST_OK);
	r = harness_reading_at(&p->h, "storage_read_iops", "depth=8");
	assert_int_equal(r->outcome, OUTCOME_MEASURED);
	assert_true(harness_param(r, "jobs") == 2 ||
	            strcmp(harness_param_text(&p->h, r, "engine"), "psync") == 0);
	assert_true(harness_param(r, "depth") == 8);
}

/* A device of our own making that never counts anything: its counters did not
 * see the data being written, and so are not asked about the reading. */
static void counters_that_see_nothing(void **state)
{
	struct place *p = *state;
	struct arena *a = &p->h.arena;
	const char *root = arena_strf(a, "%s/root", p->bin), *stat_path;
	struct stat info;

	assert_int_equal(stat(p->scratch, &info), 0);
	stat_path = arena_strf(a, "%s/sys/dev/block/%u:%u/stat", root, major(info.st_dev),
	                       minor(info.st_dev));
	assert_int_equal(dir_make(arena_strn(a, stat_path, strlen(stat_path) - 5), NULL), ST_OK);
	assert_int_equal(file_write(stat_path, "  9 8 1000 7 6 5 4 3\n", 21, NULL), ST_OK);
	p->h.ctx.sys_root = root;
	set_short(&p->h);
	harness_set(&p->h, "depths", "3");
	harness_set(&p->h, "engine", "psync");
	harness_run(&p->h, ST_OK);
	assert_int_equal(dir_remove(root, NULL), ST_OK);
	harness_expect(&p->h, "storage_counter_ratio", OUTCOME_NOT_MEASURED,
	               "storage_counter_none");
	harness_expect(&p->h, "storage_reduction", OUTCOME_NOT_MEASURED,
	               "storage_reduction_unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_fio),
		TEST(fios_of_the_wrong_kind),
		TEST(fios_that_fail),
		TEST(a_fio_that_hangs_is_ended),
		TEST(a_refused_engine_gives_way),
		TEST(too_many_at_once_are_fewer),
		TEST(refused_direct_io_is_said),
		TEST(all_engines_refused),
		TEST(an_older_fio_is_asked_for_less),
		TEST(an_engine_that_does_not_queue),
		TEST(ramp_must_be_the_shorter),
		TEST(a_path_that_breaks_away),
		TEST(a_failing_point_is_not_silent),
		TEST(depths_are_spread_evenly),
		TEST(counters_that_see_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
