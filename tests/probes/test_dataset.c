/* dataset: figures of a made fio, the files it gets to read, what spoils them, and
 * a real run on the disk below /var/tmp. */
#include "streams_kit.h"
#include "tests/cleanup.h"

extern const struct probe probe_dataset;

#define SIZE (16 << 20)

static int begin(void **state)
{
	struct place *p;

	set_up(state);
	p = *state;
	take_probe(p, &probe_dataset);
	harness_set(&p->h, "size", "16M");
	harness_set(&p->h, "file", "2M");
	harness_set(&p->h, "streams", "4");
	harness_set(&p->h, "runtime_s", "1");
	return 0;
}

static void nothing_is_left(const struct place *p)
{
	assert_int_equal(files_in(p->scratch), 0);
}

static bool close_to(double value, double expected)
{
	return fabs(value / expected - 1) < 1e-6;
}

static double value_of(const struct harness *h, const char *metric)
{
	return harness_expect(h, metric, OUTCOME_MEASURED, NULL)->value;
}

/* A machine with so much memory and nothing else. */
static const char *machine_with(struct place *p, const char *kib)
{
	const char *root = arena_strf(&p->h.arena, "%s/root", p->bin), *text;

	text = arena_strf(&p->h.arena, "MemTotal: %s kB\n", kib);
	assert_int_equal(mkdir(root, 0700), 0);
	assert_int_equal(mkdir(arena_strf(&p->h.arena, "%s/proc", root), 0700), 0);
	assert_int_equal(file_write(arena_strf(&p->h.arena, "%s/proc/meminfo", root), text,
	                            strlen(text), NULL),
	                 ST_OK);
	return root;
}

/* --- figures --------------------------------------------- */

static void figures_follow_from_bytes_and_seconds(void **state)
{
	struct place *p = *state;
	const struct reading *r;

	fake_fio(p, IS_FIO, MADE("[ $bs = 131072 ] && ms=500; "));
	harness_set(&p->h, "runtime_s", "0.5");
	harness_run(&p->h, ST_OK);
	assert_int_equal(p->h.n_readings, 4);
	assert_true(close_to(value_of(&p->h, "dataset_stream_gbs"), SIZE / 1e9));
	assert_true(close_to(value_of(&p->h, "dataset_small_gbs"), 2 * SIZE / 1e9));
	assert_true(close_to(value_of(&p->h, "dataset_small_iops"), 2 * SIZE / 131072));
	r = harness_reading(&p->h, "dataset_stream_gbs");
	assert_true(harness_param(r, "bytes") == SIZE && harness_param(r, "files") == 8);
	assert_true(harness_param(r, "file_bytes") == 2 << 20);
	assert_true(harness_param(r, "streams") == 4 && harness_param(r, "depth") == 16);
	assert_true(harness_param(r, "verified_blocks") == 1024);
	assert_true(harness_param(r, "times_read") == 1 && harness_param(r, "times_ram") < 1);
	assert_non_null(strstr(r->params, "\"beyond_ram\":false"));
	assert_string_equal(harness_param_text(&p->h, r, "engine"), "io_uring");
	assert_non_null(harness_raw(&p->h, "dataset-stream.json"));
	assert_non_null(harness_raw(&p->h, "dataset-small.json"));
	r = harness_reading(&p->h, "dataset_small_iops");
	assert_true(harness_param(r, "depth") == 32);
	/* Seen and not measured: it could all have been in memory. */
	r = harness_expect(&p->h, "dataset_stream_buffered_gbs", OUTCOME_NOT_MEASURED,
	                   "dataset_in_ram");
	assert_string_equal(r->reason.args[0], "16.0 MiB");
	assert_string_equal(r->reason.args[2], "0.0168 GB/s");
	nothing_is_left(p);
}

static void what_was_asked_of_fio(void **state)
{
	struct place *p = *state;
	const char *log = arena_strf(&p->h.arena, "%s/log", p->bin);
	struct str text = {0};
	const char *line;

	fake_fio(p, IS_FIO,
	         arena_strf(&p->h.arena, "echo \"$*\" >>%s; ls -l dataset.* >>%s 2>/dev/null; %s",
	                    log, log, MADE("")));
	harness_run(&p->h, ST_OK);
	assert_int_equal(file_read(&text, log, 1 << 20, NULL), ST_OK);
	line = strchr(text.data, '\n') + 1; /* past the trial */
	assert_non_null(strstr(line, "--filename_format=dataset.$jobnum.$filenum --nrfiles=2 "
	                             "--size=4194304 --file_service_type=random:2 --readonly "
	                             "--allow_file_create=0 --rw=read --time_based "
	                             "--runtime=1000ms"));
	assert_non_null(strstr(line, "--direct=1 --numjobs=4 --iodepth=4"));
	assert_non_null(strstr(line, "2097152"));
	assert_non_null(strstr(line, "dataset.3.1\n"));
	assert_null(strstr(line, "dataset.4.0"));
	line = strstr(line, "--rw=randread");
	assert_non_null(strstr(line, "--bs=131072"));
	assert_non_null(strstr(line, "--direct=1 --numjobs=4 --iodepth=8"));
	line = strstr(line, "--rw=read ");
	assert_non_null(strstr(line, "--ioengine=psync --direct=0 --numjobs=4 --iodepth=1"));
	str_release(&text);
}

/* 16 MiB of files are thrice, and six times, such memories. */
static void buffered_reads_beyond_memory(void **state)
{
	static const struct {
		const char *kib, *code;
		bool beyond;
	} rows[] = {
		{"9000", "dataset_in_ram", false},
		{"5500", NULL, false},
		{"2700", NULL, true},
		{"none", "dataset_no_ram", false},
	};
	struct place *p = *state;

	fake_fio(p, IS_FIO, MADE(""));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct reading *r;

		harness_clear(&p->h);
		p->h.ctx.sys_root = machine_with(p, rows[i].kib);
		harness_run(&p->h, ST_OK);
		assert_int_equal(dir_remove(p->h.ctx.sys_root, NULL), ST_OK);
		r = harness_expect(&p->h, "dataset_stream_buffered_gbs",
		                   rows[i].code ? OUTCOME_NOT_MEASURED : OUTCOME_MEASURED,
		                   rows[i].code);
		if (!rows[i].code)
			assert_true(close_to(r->value, SIZE / 1e9));
		assert_non_null(strstr(r->params, rows[i].beyond ? "\"beyond_ram\":true"
		                                                 : "\"beyond_ram\":false"));
	}
}

/* --- which files --------------------------------------------- */

static void layouts(void **state)
{
	static const struct {
		const char *size, *file, *streams, *engine;
		double files, file_bytes, threads;
	} rows[] = {
		{"16M", "64M", "4", "auto", 4, 4 << 20, 4},   /* less than a file each */
		{"17M", "2M", "4", "auto", 8, 2 << 20, 4},    /* whole files only */
		{"16M", "1M", "64", "auto", 16, 1 << 20, 16}, /* fewer streams */
		{"16M", "1M", "2", "psync", 16, 1 << 20, 8},  /* a thread a read outstanding */
	};
	struct place *p = *state;

	fake_fio(p, IS_FIO, MADE(""));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct reading *r;

		harness_clear(&p->h);
		harness_set(&p->h, "size", rows[i].size);
		harness_set(&p->h, "file", rows[i].file);
		harness_set(&p->h, "streams", rows[i].streams);
		harness_set(&p->h, "engine", rows[i].engine);
		harness_run(&p->h, ST_OK);
		r = harness_expect(&p->h, "dataset_stream_gbs", OUTCOME_MEASURED, NULL);
		assert_true(harness_param(r, "files") == rows[i].files);
		assert_true(harness_param(r, "file_bytes") == rows[i].file_bytes);
		assert_true(harness_param(r, "threads") == rows[i].threads);
		nothing_is_left(p);
	}
}

/* A clock on which 15 ms pass each time it is asked: time to
 * write is over after part of the files. */
static void a_slow_path_has_fewer_files(void **state)
{
	struct place *p = *state;
	struct fake_clock clock;
	const struct reading *r;

	fake_clock_init(&clock, 0, 15 * NS_PER_MS);
	p->h.ctx.clock = &clock.source;
	p->h.ctx.deadline_ns = 1000 * NS_PER_S;
	harness_set(&p->h, "size", "64M");
	harness_set(&p->h, "streams", "2");
	harness_set(&p->h, "write_s", "1");
	fake_fio(p, IS_FIO, MADE(""));
	harness_run(&p->h, ST_OK);
	r = harness_expect(&p->h, "dataset_stream_gbs", OUTCOME_MEASURED, NULL);
	assert_true(harness_param(r, "files") >= 8 && harness_param(r, "files") < 32);
	assert_true((int)harness_param(r, "files") % 2 == 0);
	assert_true(harness_param(r, "bytes") == harness_param(r, "files") * (2 << 20));
	nothing_is_left(p);
	/* And none at all, when hardly any time was. */
	harness_clear(&p->h);
	fake_clock_init(&clock, 0, NS_PER_S / 5);
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "storage_slow_write", NULL);
	nothing_is_left(p);
}

/* A clock on which something happens once the last file is there. */
struct event {
	struct clock_source source;
	const char *scratch, *command;
};

static int64_t now_with_event(void *self)
{
	struct event *e = self;
	const char *file = tmpf("%s/dataset.3.0", e->scratch);
	struct stat info;

	if (e->command && stat(file, &info) == 0 && info.st_size == 2 << 20) {
		setenv("SCRATCH", e->scratch, 1);
		assert_int_equal(system(e->command), 0);
		e->command = NULL;
	}
	return clock_now(&clock_system);
}

static void sleep_not(void *self, int64_t ns)
{
	(void)self;
	(void)ns;
}

static void data_that_is_not_kept(void **state)
{
	static const struct {
		const char *command, *code;
		enum outcome outcome;
	} rows[] = {
		{"head -c 2M /dev/zero >\"$SCRATCH/dataset.2.0\"", "storage_not_real",
	         OUTCOME_FAILED},
		{"cp \"$SCRATCH/dataset.1.0\" \"$SCRATCH/dataset.2.0\"", "storage_not_real",
	         OUTCOME_FAILED},
		{"truncate -s 1M \"$SCRATCH/dataset.2.0\"", "storage_read_failed", OUTCOME_FAILED},
		{"rm -r \"$SCRATCH\"", "storage_gone", OUTCOME_FAILED},
	};
	struct place *p = *state;

	fake_fio(p, IS_FIO, MADE(""));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct event e = {
			{now_with_event, NULL, sleep_not, &e},
			p->scratch,
			arena_strf(&p->h.arena, "PATH='%s'; %s", p->path, rows[i].command)};

		harness_clear(&p->h);
		p->h.ctx.clock = &e.source;
		harness_run(&p->h, ST_OK);
		expect_others(&p->h, rows[i].outcome, rows[i].code, NULL);
		if (strcmp(rows[i].code, "storage_gone") == 0)
			assert_int_equal(mkdir(p->scratch, 0700), 0);
		nothing_is_left(p);
	}
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
	assert_true(value_of(&p->h, "local_dataset_stream_gbs") > 0);
	assert_int_equal(harness_count(&p->h, "dataset_stream_gbs"), 0);
	assert_int_equal(p->h.n_readings, 4);
}

static void bad_blocks(void **state)
{
	struct place *p = *state;

	fake_fio(p, IS_FIO, MADE(""));
	harness_set(&p->h, "small_block", "5000");
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "streams_block", NULL);
	harness_clear(&p->h);
	harness_set(&p->h, "small_block", "128K");
	harness_set(&p->h, "block", "5000");
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "streams_block", NULL);
	nothing_is_left(p);
}

static void fios_that_fail(void **state)
{
	static const struct {
		const char *body, *code;
		enum outcome outcome;
	} rows[] = {
		{"exit 0", "fio_silent", OUTCOME_NOT_MEASURED},
		{SAMPLE("io_uring-eperm.stdout") "; exit 1", "fio_engine_refused",
	         OUTCOME_NOT_MEASURED},
		{SAMPLE("data-real.stdout") "; kill -9 $$", "fio_killed", OUTCOME_NOT_MEASURED},
		{MADE_ARGS
	         "[ $at != trial ] && { " SAMPLE("data-real.stdout") "; exit 128; }; " MADE_RESULT,
	         "fio_interrupted", OUTCOME_NOT_MEASURED},
		{MADE_ARGS "[ $at != trial ] && { rm -r \"$PWD\"; exit 5; }; " MADE_RESULT,
	         "storage_gone", OUTCOME_FAILED},
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		harness_clear(&p->h);
		fake_fio(p, IS_FIO, rows[i].body);
		harness_run(&p->h, ST_OK);
		expect_others(&p->h, rows[i].outcome, rows[i].code, NULL);
		if (strcmp(rows[i].code, "storage_gone") == 0)
			assert_int_equal(mkdir(p->scratch, 0700), 0);
		nothing_is_left(p);
	}
}

/* The last run fails: what was measured before stays. */
static void a_failure_half_way(void **state)
{
	struct place *p = *state;

	fake_fio(p, IS_FIO,
	         MADE_ARGS
	         "[ $bs = 131072 ] && { " SAMPLE("data-real.stdout") "; exit 128; }; " MADE_RESULT);
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "fio_interrupted", "dataset_stream_gbs");
	assert_true(value_of(&p->h, "dataset_stream_gbs") > 0);
	nothing_is_left(p);
}

static void refused_direct_io(void **state)
{
	struct place *p = *state;

	p->h.ctx.sys_root = machine_with(p, "1000");
	fake_fio(p, IS_FIO,
	         "case \"$*\" in *direct=1*) " SAMPLE("direct-misaligned.stdout") "; " SAMPLE(
			 "direct-misaligned.stderr") " >&2; exit 1;; esac; " MADE(""));
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "dataset_no_direct",
	              "dataset_stream_buffered_gbs");
	assert_true(close_to(value_of(&p->h, "dataset_stream_buffered_gbs"), SIZE / 1e9));
	nothing_is_left(p);
}

static void the_deadline(void **state)
{
	struct place *p = *state;

	fake_fio(p, IS_FIO, MADE(""));
	p->h.ctx.deadline_ns = clock_now(&clock_system) + 5 * NS_PER_S / 2;
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
	struct place *p = *state;
	const struct reading *r;

	assert_int_equal(
		file_write(arena_strf(&p->h.arena, "%s/other", p->scratch), "mine", 4, NULL),
		ST_OK);
	harness_set(&p->h, "runtime_s", "0.5");
	harness_run(&p->h, ST_OK);
	assert_int_equal(files_in(p->scratch), 1);
	harness_expect(&p->h, "dataset_stream_buffered_gbs", OUTCOME_NOT_MEASURED,
	               "dataset_in_ram");
	r = harness_reading(&p->h, "dataset_stream_gbs");
	if (r->outcome != OUTCOME_MEASURED) {
		/* No O_DIRECT below /var/tmp. */
		harness_expect(&p->h, "dataset_stream_gbs", OUTCOME_NOT_MEASURED,
		               "dataset_no_direct");
		return;
	}
	assert_true(r->value > 0 && harness_param(r, "read_bytes") > 0);
	assert_string_equal(r->subject.id, "/mnt/named");
	assert_true(strlen(harness_param_text(&p->h, r, "mount")) > 0);
	assert_true(close_to(value_of(&p->h, "dataset_small_gbs"),
	                     value_of(&p->h, "dataset_small_iops") * 131072 / 1e9));
	assert_true(p->h.stage == STAGE_MEASURING && p->h.n_progress > 0);
}

#define RUN(f) cmocka_unit_test_setup_teardown(f, begin, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(figures_follow_from_bytes_and_seconds),
		RUN(what_was_asked_of_fio),
		RUN(buffered_reads_beyond_memory),
		RUN(layouts),
		RUN(a_slow_path_has_fewer_files),
		RUN(data_that_is_not_kept),
		RUN(what_is_no_storage),
		RUN(the_local_disk),
		RUN(bad_blocks),
		RUN(fios_that_fail),
		RUN(a_failure_half_way),
		RUN(refused_direct_io),
		RUN(the_deadline),
		RUN(a_real_run),
		RUN(too_little_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
