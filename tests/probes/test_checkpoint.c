/* checkpoint: figures of a made fio, to the digit; what spoils them; and a real
 * run on the disk below /var/tmp. */
#include "streams_kit.h"
#include "tests/cleanup.h"

extern const struct probe probe_checkpoint;

#define RANKS 2
#define SIZE  (8 << 20)

static int begin(void **state)
{
	struct place *p;

	set_up(state);
	p = *state;
	take_probe(p, &probe_checkpoint);
	harness_set(&p->h, "size", "8M");
	harness_set(&p->h, "ranks", "2");
	harness_set(&p->h, "block", "1M");
	harness_set(&p->h, "least_s", "0.5");
	harness_set(&p->h, "most_s", "2");
	return 0;
}

static void nothing_is_left(const struct place *p)
{
	assert_int_equal(files_in(p->scratch), 0);
}

static double value_of(const struct harness *h, const char *metric)
{
	return harness_expect(h, metric, OUTCOME_MEASURED, NULL)->value;
}

static bool close_to(double value, double expected)
{
	return fabs(value / expected - 1) < 1e-6;
}

/* --- figures --------------------------------------------- */

/* 8 MiB in a second: by fio's clock, for our own has no more than half a second
 * beside it. */
static void figures_follow_from_bytes_and_seconds(void **state)
{
	struct place *p = *state;
	const double gbs = SIZE / 1e9;
	const struct reading *r;

	fake_fio(p, IS_FIO,
	         MADE("case \"$at$*\" in trial*) ;; *end_fsync*) ;; write*) ms=250;; esac; "));
	harness_run(&p->h, ST_OK);
	assert_int_equal(p->h.n_readings, 7);
	assert_true(close_to(value_of(&p->h, "checkpoint_write_gbs"), gbs));
	assert_true(close_to(value_of(&p->h, "checkpoint_write_buffered_gbs"), gbs));
	assert_true(close_to(value_of(&p->h, "checkpoint_read_gbs"), gbs));
	assert_true(close_to(value_of(&p->h, "checkpoint_read_buffered_gbs"), gbs));
	assert_true(close_to(value_of(&p->h, "checkpoint_unsynced_ratio"), 4));
	assert_true(close_to(value_of(&p->h, "checkpoint_70b_s"), 912 / gbs));
	assert_true(close_to(value_of(&p->h, "checkpoint_405b_s"), 5290 / gbs));
	r = harness_reading(&p->h, "checkpoint_70b_s");
	assert_true(close_to(harness_param(r, "checkpoint_bytes"), 912e9));
	r = harness_reading(&p->h, "checkpoint_write_gbs");
	assert_true(r->stats[STAT_N] == 1 && close_to(r->stats[STAT_MIN], gbs));
	assert_true(harness_param(r, "ranks") == RANKS && harness_param(r, "threads") == RANKS);
	assert_true(harness_param(r, "depth") == 8 && harness_param(r, "bytes") == SIZE);
	assert_true(harness_param(r, "file_bytes") == SIZE / RANKS);
	assert_string_equal(harness_param_text(&p->h, r, "engine"), "io_uring");
	assert_non_null(strstr(r->params, "\"direct\":true"));
	assert_non_null(strstr(r->params, "\"whole\":true,\"long_enough\":true,\"fsync\":true"));
	assert_non_null(harness_raw(&p->h, "checkpoint-write.json"));
	r = harness_reading(&p->h, "checkpoint_write_buffered_gbs");
	assert_true(harness_param(r, "depth") == RANKS);
	assert_string_equal(harness_param_text(&p->h, r, "engine"), "psync");
	assert_non_null(strstr(r->params, "\"direct\":false"));
	r = harness_reading(&p->h, "checkpoint_read_gbs");
	assert_string_equal(harness_param_text(&p->h, r, "read_of"), "own");
	assert_true(p->h.stage == STAGE_MEASURING || p->h.n_progress > 0);
	nothing_is_left(p);
}

static void what_was_asked_of_fio(void **state)
{
	struct place *p = *state;
	const char *log = arena_strf(&p->h.arena, "%s/log", p->bin);
	struct str text = {0};
	const char *line;

	fake_fio(p, IS_FIO, arena_strf(&p->h.arena, "echo \"$*\" >>%s; %s", log, MADE("")));
	harness_run(&p->h, ST_OK);
	assert_int_equal(file_read(&text, log, 1 << 20, NULL), ST_OK);
	line = strchr(text.data, '\n') + 1; /* past the trial */
	assert_non_null(strstr(line, "--filename_format=checkpoint.$jobnum.$filenum --nrfiles=1 "
	                             "--size=4194304 --rw=write --refill_buffers --fallocate=none "
	                             "--end_fsync=1 --runtime=2000ms"));
	assert_non_null(strstr(line, "--direct=1 --numjobs=2 --iodepth=4"));
	line = strchr(line, '\n') + 1;
	assert_non_null(strstr(line, "--size=4194304 --readonly --allow_file_create=0 --rw=read"));
	line = strstr(line, "--rw=write");
	assert_non_null(strstr(line, "--ioengine=psync --direct=0 --numjobs=2 --iodepth=1"));
	line = strchr(line, '\n') + 1;
	assert_non_null(strstr(line, "--rw=write"));
	assert_null(strstr(line, "end_fsync"));
	str_release(&text);
}

/* Until a second is full: all bytes over all seconds. */
static void short_checkpoints_are_written_again(void **state)
{
	struct place *p = *state;
	const struct reading *r;

	harness_set(&p->h, "least_s", "1");
	fake_fio(p, IS_FIO,
	         MADE("[ $at = write ] && ms=$((300 + 100 * $(cat n 2>/dev/null || echo 0))) && "
	              "echo $(($(cat n 2>/dev/null || echo 0) + 1)) >n; "));
	harness_run(&p->h, ST_OK);
	unlink(arena_strf(&p->h.arena, "%s/n", p->scratch));
	r = harness_expect(&p->h, "checkpoint_write_gbs", OUTCOME_MEASURED, NULL);
	assert_true(r->stats[STAT_N] == 3); /* 0.3, 0.4 and 0.5 s */
	assert_true(close_to(r->value, 3 * SIZE / 1.2 / 1e9));
	assert_true(close_to(r->stats[STAT_MIN], SIZE / 0.5 / 1e9));
	assert_true(close_to(r->stats[STAT_MAX], SIZE / 0.3 / 1e9));
	assert_true(harness_param(r, "passes") == 3 && harness_param(r, "bytes") == 3 * SIZE);
	nothing_is_left(p);
}

/* The trial says it took all its time, so that none of the start is deducted. */
static void time_hidden_from_fio_counts(void **state)
{
	struct place *p = *state;
	const struct reading *r;

	harness_set(&p->h, "engine", "psync");
	fake_fio(p, IS_FIO,
	         MADE("case \"$at$*\" in trial*) ms=9000;; *direct=1*) [ $at = write ] && sleep "
	              "0.7; "
	              "ms=50;; *) ms=50;; esac; "));
	harness_set(&p->h, "least_s", "0");
	harness_run(&p->h, ST_OK);
	r = harness_expect(&p->h, "checkpoint_write_gbs", OUTCOME_MEASURED, NULL);
	assert_true(harness_param(r, "seconds") >= 0.7);
	assert_true(close_to(harness_param(r, "seconds"), harness_param(r, "wall_s")));
	assert_true(close_to(r->value, SIZE / harness_param(r, "seconds") / 1e9));
	/* psync: a thread and a file for each write that is outstanding. */
	assert_true(harness_param(r, "threads") == 8 && harness_param(r, "file_bytes") == SIZE / 8);
	assert_true(harness_param(harness_reading(&p->h, "checkpoint_write_buffered_gbs"),
	                          "threads") == RANKS);
	nothing_is_left(p);
}

/* --- what is refused --------------------------------------------- */

static void what_is_no_storage(void **state)
{
	refuse_what_is_no_storage(*state);
}

static void too_little_space(void **state)
{
	refuse_too_little_space(*state);
}

static void the_local_disk(void **state)
{
	struct place *p = *state;

	harness_set(&p->h, "shared", "local");
	fake_fio(p, IS_FIO, MADE(""));
	harness_run(&p->h, ST_OK);
	assert_true(value_of(&p->h, "local_checkpoint_write_gbs") > 0);
	assert_true(value_of(&p->h, "local_checkpoint_405b_s") > 0);
	assert_int_equal(harness_count(&p->h, "checkpoint_write_gbs"), 0);
	assert_int_equal(p->h.n_readings, 7);
}

static void parameters_that_contradict(void **state)
{
	static const struct {
		const char *key, *value, *code;
	} rows[] = {
		{"least_s", "3", "checkpoint_times"},
		{"block", "1048577", "streams_block"},
		{"size", "2M", "checkpoint_small"},
	};
	struct place *p = *state;

	fake_fio(p, IS_FIO, MADE(""));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int settings = p->h.n_settings;

		harness_clear(&p->h);
		harness_set(&p->h, rows[i].key, rows[i].value);
		harness_run(&p->h, ST_OK);
		expect_others(&p->h, OUTCOME_NOT_MEASURED, rows[i].code, NULL);
		nothing_is_left(p);
		p->h.n_settings = settings;
		harness_set(&p->h, "least_s", "0.5");
		harness_set(&p->h, "block", "1M");
	}
}

/* Too little for two ranks is enough for one. */
static void fewer_ranks(void **state)
{
	struct place *p = *state;

	harness_set(&p->h, "size", "7M");
	fake_fio(p, IS_FIO, MADE(""));
	harness_run(&p->h, ST_OK);
	assert_true(
		harness_param(harness_expect(&p->h, "checkpoint_write_gbs", OUTCOME_MEASURED, NULL),
	                      "ranks") == 1);
}

static void fios_that_fail(void **state)
{
	static const struct {
		const char *body, *code;
		enum outcome outcome;
	} rows[] = {
		{"exit 0", "fio_silent", OUTCOME_NOT_MEASURED},
		{"echo hello", "fio_no_json", OUTCOME_NOT_MEASURED},
		{SAMPLE("io_uring-eperm.stdout") "; exit 1", "fio_engine_refused",
	         OUTCOME_NOT_MEASURED},
		{SAMPLE("data-real.stdout") "; kill -9 $$", "fio_killed", OUTCOME_NOT_MEASURED},
		{MADE_ARGS "[ $at != trial ] && { " SAMPLE(
			 "enospc-layout.stdout") "; exit 1; }; " MADE_FILES MADE_RESULT,
	         "fio_no_space", OUTCOME_NOT_MEASURED},
		{MADE_ARGS "[ $at = write ] && { " SAMPLE(
			 "enospc-write-2jobs.stdout") "; exit 2; }; " MADE_FILES MADE_RESULT,
	         "fio_no_space", OUTCOME_NOT_MEASURED},
		{MADE_ARGS MADE_FILES "[ $at = write ] && rm checkpoint.1.0; " MADE_RESULT,
	         "checkpoint_short", OUTCOME_FAILED},
		{MADE_ARGS MADE_FILES
	         "[ $at = write ] && truncate -s 1M checkpoint.1.0; " MADE_RESULT,
	         "checkpoint_short", OUTCOME_FAILED},
		{MADE_ARGS MADE_FILES
	         "[ $at = write ] && head -c $size /dev/zero >checkpoint.1.0; " MADE_RESULT,
	         "checkpoint_not_real", OUTCOME_FAILED},
		{MADE_ARGS MADE_FILES
	         "[ $at = write ] && cp checkpoint.0.0 checkpoint.1.0 && "
	         "for i in 0 1 2 3 4 5 6 7; do head -c 4096 checkpoint.0.0; done >h && "
	         "for i in $(seq 128); do cat h; done >checkpoint.1.0; rm -f h; " MADE_RESULT,
	         "checkpoint_not_real", OUTCOME_FAILED},
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		harness_clear(&p->h);
		fake_fio(p, IS_FIO, rows[i].body);
		harness_run(&p->h, ST_OK);
		expect_others(&p->h, rows[i].outcome, rows[i].code, NULL);
		nothing_is_left(p);
	}
}

/* The clock does not wait for a file system that may account for blocks later. */
static void files_that_are_holes(void **state)
{
	struct place *p = *state;
	struct fake_clock clock;

	fake_clock_init(&clock, clock_now(&clock_system), 0);
	p->h.ctx.clock = &clock.source;
	fake_fio(
		p, IS_FIO,
		MADE("[ $at = write ] && rm checkpoint.1.0 && truncate -s $size checkpoint.1.0; "));
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "checkpoint_sparse", NULL);
	assert_string_equal(harness_reading(&p->h, "checkpoint_write_gbs")->reason.args[1], "50");
	nothing_is_left(p);
}

static void refused_direct_io(void **state)
{
	struct place *p = *state;
	static const char said[] = "checkpoint_write_buffered_gbs checkpoint_read_buffered_gbs "
				   "checkpoint_unsynced_ratio";
	const struct reading *r;

	fake_fio(p, IS_FIO,
	         "case \"$*\" in *direct=1*) " SAMPLE("direct-misaligned.stdout") "; " SAMPLE(
			 "direct-misaligned.stderr") " >&2; exit 1;; esac; " MADE(""));
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "checkpoint_no_direct", said);
	assert_true(close_to(value_of(&p->h, "checkpoint_write_buffered_gbs"), SIZE / 1e9));
	assert_true(close_to(value_of(&p->h, "checkpoint_unsynced_ratio"), 1));
	r = harness_expect(&p->h, "checkpoint_read_buffered_gbs", OUTCOME_MEASURED, NULL);
	assert_true(str_starts(harness_param_text(&p->h, r, "refused"), "io_uring: "));
	nothing_is_left(p);
}

/* What was measured stays; the rest has the reason. */
static void a_failure_half_way(void **state)
{
	struct place *p = *state;

	fake_fio(p, IS_FIO,
	         MADE_ARGS "case $at$direct in read0) " SAMPLE(
			 "data-real.stdout") "; exit 128;; esac; " MADE_FILES MADE_RESULT);
	harness_run(&p->h, ST_OK);
	expect_others(
		&p->h, OUTCOME_NOT_MEASURED, "fio_interrupted",
		"checkpoint_write_gbs checkpoint_read_gbs checkpoint_70b_s checkpoint_405b_s");
	assert_true(value_of(&p->h, "checkpoint_read_gbs") > 0);
	nothing_is_left(p);
}

static void a_path_that_breaks_away(void **state)
{
	struct place *p = *state;

	fake_fio(p, IS_FIO,
	         MADE_ARGS
	         "[ $at = read ] && { rm -r \"$PWD\"; exit 5; }; " MADE_FILES MADE_RESULT);
	harness_run(&p->h, ST_OK);
	harness_expect(&p->h, "checkpoint_write_gbs", OUTCOME_MEASURED, NULL);
	harness_expect(&p->h, "checkpoint_read_gbs", OUTCOME_FAILED, "storage_gone");
	harness_expect(&p->h, "checkpoint_unsynced_ratio", OUTCOME_FAILED, "storage_gone");
	assert_int_equal(mkdir(p->scratch, 0700), 0);
}

static void the_deadline(void **state)
{
	struct place *p = *state;

	/* No time for a run that may take 2 s and its start. */
	fake_fio(p, IS_FIO, MADE(""));
	p->h.ctx.deadline_ns = clock_now(&clock_system) + 3 * NS_PER_S;
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "storage_no_time", NULL);
	harness_clear(&p->h);
	fake_fio(p, IS_FIO, "exec sleep 100");
	p->h.ctx.deadline_ns = clock_now(&clock_system) + NS_PER_S / 2;
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_TIMED_OUT, "fio_timed_out", NULL);
	nothing_is_left(p);
}

/* --- a real run --------------------------------------------- */

static void a_real_run(void **state)
{
	static const char *const rates[] = {"checkpoint_write_gbs", "checkpoint_write_buffered_gbs",
	                                    "checkpoint_read_gbs", "checkpoint_read_buffered_gbs",
	                                    "checkpoint_unsynced_ratio"};
	struct place *p = *state;

	assert_int_equal(
		file_write(arena_strf(&p->h.arena, "%s/other", p->scratch), "mine", 4, NULL),
		ST_OK);
	harness_set(&p->h, "least_s", "0");
	harness_run(&p->h, ST_OK);
	assert_int_equal(files_in(p->scratch), 1);
	if (harness_reading(&p->h, "checkpoint_write_gbs")->outcome != OUTCOME_MEASURED) {
		/* No O_DIRECT below /var/tmp. */
		harness_expect(&p->h, "checkpoint_write_gbs", OUTCOME_NOT_MEASURED,
		               "checkpoint_no_direct");
		return;
	}
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		const struct reading *r = harness_expect(&p->h, rates[i], OUTCOME_MEASURED, NULL);

		assert_true(r->value > 0 && harness_param(r, "bytes") == SIZE);
		assert_string_equal(r->subject.id, "/mnt/named");
		assert_true(strlen(harness_param_text(&p->h, r, "mount")) > 0);
	}
	assert_true(close_to(value_of(&p->h, "checkpoint_70b_s") *
	                             value_of(&p->h, "checkpoint_write_gbs"),
	                     912));
}

#define RUN(f) cmocka_unit_test_setup_teardown(f, begin, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(figures_follow_from_bytes_and_seconds),
		RUN(what_was_asked_of_fio),
		RUN(short_checkpoints_are_written_again),
		RUN(time_hidden_from_fio_counts),
		RUN(what_is_no_storage),
		RUN(the_local_disk),
		RUN(parameters_that_contradict),
		RUN(fewer_ranks),
		RUN(fios_that_fail),
		RUN(files_that_are_holes),
		RUN(refused_direct_io),
		RUN(a_failure_half_way),
		RUN(a_path_that_breaks_away),
		RUN(the_deadline),
		RUN(a_real_run),
		RUN(too_little_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
