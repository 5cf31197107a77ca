/* The journal writer: what it writes to the byte, what it refuses, and that it
 * stays readable through full disks, limits, resumes and other writers. */
#include "tests/unit/run_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "base/json.h"

static void a_run_is_written_to_the_byte(void **state)
{
	struct place p = place_make();
	char digest[65], hex[65], last[65];
	struct str text, run;
	char *line, *next;
	int seq = 0;

	(void)state;
	make_run(&p, 2, digest);
	run = slurp(p.run);
	sha256_text(run.data, run.len, hex);
	text = slurp(p.journal);
	line = text.data;
	assert_true(str_starts(line, "{\"kind\":\"start\",\"v\":1,\"time\":\"20"));
	assert_non_null(strstr(line, tmpf("\",\"run_sha256\":\"%s\"}\n", hex)));
	for (; *line; line = next, seq++) {
		next = strchr(line, '\n');
		assert_non_null(next);
		*next++ = '\0';
		if (seq > 0)
			assert_true(
				str_ends(line, tmpf(",\"seq\":%d,\"prev\":\"%s\"}", seq, last)));
		sha256_text(line, strlen(line), last);
		if (seq == 1)
			assert_true(str_starts(
				line,
				"{\"v\":1,\"time\":\"2026-12-02T03:04:06.000Z\",\"node\":\"n001\","
				"\"writer\":0,\"phase\":\"cards\",\"attempt\":1,"
				"\"work\":\"5f0c5f0c5f0c\",\"probe\":\"gemm\","
				"\"subject\":{\"kind\":\"card\",\"id\":\"c0\"},"
				"\"metric\":\"gemm_fp16_tflops\",\"unit\":\"TFLOP/s\","
				"\"value\":268.1,\"better\":\"higher\",\"outcome\":\"measured\","
				"\"reason\":null,\"origin\":\"measured\",\"seq\":1,"));
		if (seq == 3)
			assert_non_null(
				strstr(line, "\"work\":\"5f0c5f0c5f0c\",\"state\":\"done\","));
		if (seq == 4)
			assert_non_null(strstr(line, "\",\"readings\":2,\"seq\":4,\"prev\":\""));
	}
	assert_int_equal(seq, 5);
	assert_string_equal(last, digest);
	str_release(&text);
	str_release(&run);
	place_remove(&p);
}

static void run_json_has_every_member(void **state)
{
	struct place p = place_make();
	struct journal *j = create(&p);
	struct run_info info = info_make();
	struct rundir run;
	struct json_doc doc;
	char digest[65];

	(void)state;
	assert_int_equal(journal_close(j, true, digest, NULL), ST_OK);
	assert_int_equal(json_load(&doc, p.run, JSON_STRICT, NULL), ST_OK);
	assert_int_equal(json_int64(doc.root, "v", 0), 1);
	assert_int_equal(json_int64(json_get(doc.root, "expected"), "nodes", 0), 2);
	assert_int_equal(cJSON_GetArraySize(json_get(doc.root, "skip")), 0);
	json_release(&doc);
	assert_int_equal(rundir_open(&run, p.dir, 0, NULL), ST_OK);
	assert_string_equal(run.info.id, info.id);
	assert_string_equal(run.info.created, info.created);
	assert_string_equal(run.info.version, info.version);
	assert_string_equal(run.info.build, info.build);
	assert_string_equal(run.info.host, info.host);
	assert_string_equal(run.info.command, info.command);
	assert_string_equal(run.info.vendor, info.vendor);
	assert_string_equal(run.info.profile, info.profile);
	assert_string_equal(run.info.profile_sha256, info.profile_sha256);
	assert_string_equal(run.info.budget, info.budget);
	assert_string_equal(run.info.seed, info.seed);
	assert_int_equal(run.info.expected_cards, 8);
	assert_int_equal(run.info.n_storage, 2);
	assert_string_equal(run.info.storage[1], fixture_storage[1]);
	rundir_close(&run);
	place_remove(&p);
}

static void what_was_not_stated_stays_unstated(void **state)
{
	struct place p = place_make();
	struct run_info info = info_make();
	struct journal *j;
	struct rundir run;
	struct error err = {0};
	char digest[65];

	(void)state;
	info.seed = NULL; /* every run has one */
	assert_int_equal(journal_create(&j, p.dir, &info, &err), ST_INTERNAL);
	assert_non_null(strstr(err.text.data, "\"seed\""));
	error_release(&err);
	info = info_make();
	info.vendor = info.profile = info.profile_sha256 = NULL;
	info.expected_cards = -1;
	assert_int_equal(journal_create(&j, p.dir, &info, NULL), ST_OK);
	assert_int_equal(journal_close(j, true, digest, NULL), ST_OK);
	assert_int_equal(rundir_open(&run, p.dir, 0, NULL), ST_OK);
	assert_null(run.info.vendor);
	assert_null(run.info.profile);
	assert_null(run.info.profile_sha256);
	assert_int_equal(run.info.expected_cards, -1);
	rundir_close(&run);
	/* no profile then, none now */
	assert_int_equal(journal_resume(&j, p.dir, "0.1.0", "9f2c", NULL), ST_USAGE);
	assert_int_equal(journal_resume(&j, p.dir, "0.1.0", NULL, NULL), ST_OK);
	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
	place_remove(&p);
}

static void readings_survive_the_way_there_and_back(void **state)
{
	static const char *const args[] = {"libcuda.so.1", "a\nb\x01\"\\\xc3\xbc"};
	struct reading r = card_reading("GPU-1b2c", 0.1 + 0.2), back;
	struct arena arena = {0};
	struct str line = {0}, again = {0};

	(void)state;
	r.writer = 3;
	r.attempt = 2;
	r.subject.pci = "0000:17:00.0";
	r.subject.index = 2;
	r.outcome = OUTCOME_FAILED;
	r.origin = ORIGIN_SIMULATED;
	r.reason = (struct reason){"no_driver", args, 2, "t\xe4\xb8\xad"};
	r.stats[STAT_N] = 120;
	r.stats[STAT_P2_5] = 267.2;
	r.stats[STAT_CI_LO] = -1e-300;
	r.stats[STAT_CI_HI] = 1.7976931348623157e308;
	r.point = "qd=64";
	r.params = "{\"m\":8192,\"deep\":{\"point\":1}}";
	r.raw = (struct raw_file){"raw/n001/gemm.csv", "ab", 9007199254740993};
	reading_format(&line, &r);
	assert_non_null(strstr(line.data, "\"params\":{\"point\":\"qd=64\",\"m\":8192,"));
	assert_non_null(strstr(line.data, "\"bytes\":\"9007199254740993\""));
	assert_int_equal(reading_parse(&back, &arena, line.data, line.len, NULL), ST_OK);
	assert_true(back.value == 0.1 + 0.2);
	assert_int_equal(back.writer, 3);
	assert_int_equal(back.subject.index, 2);
	assert_string_equal(back.subject.pci, "0000:17:00.0");
	assert_int_equal(back.outcome, OUTCOME_FAILED);
	assert_int_equal(back.origin, ORIGIN_SIMULATED);
	assert_int_equal(back.reason.n_args, 2);
	assert_string_equal(back.reason.args[1], args[1]);
	assert_string_equal(back.reason.text, r.reason.text);
	assert_true(back.stats[STAT_CI_HI] == 1.7976931348623157e308);
	assert_true(back.stats[STAT_CI_LO] == -1e-300);
	assert_true(isnan(back.stats[STAT_MEAN]));
	assert_string_equal(back.point, "qd=64");
	assert_int_equal(back.raw.bytes, 9007199254740993);
	/* the point is not added twice, so the second writing is the first */
	reading_format(&again, &back);
	assert_string_equal(line.data, again.data);
	str_release(&line);
	str_release(&again);
	arena_release(&arena);
}

static void pairs_keep_both_ends_and_points_make_params(void **state)
{
	struct reading r = card_reading(NULL, 24.1), back;
	struct arena arena = {0};
	struct str line = {0};

	(void)state;
	r.subject =
		(struct subject){.kind = SUBJECT_PAIR,
	                         .index = -1,
	                         .n_ends = 2,
	                         .ends = {{"n001", NULL, "mlx5_0", 1}, {"n002", "GPU-9", NULL, 0}}};
	r.value_kind = VALUE_TEXT;
	r.text = "RoCE v2";
	r.point = "64K";
	reading_format(&line, &r);
	assert_non_null(strstr(line.data, "\"params\":{\"point\":\"64K\"}"));
	assert_non_null(strstr(line.data,
	                       "\"ends\":[{\"node\":\"n001\",\"nic\":\"mlx5_0\",\"port\":1},"
	                       "{\"node\":\"n002\",\"card\":\"GPU-9\"}]"));
	assert_int_equal(reading_parse(&back, &arena, line.data, line.len, NULL), ST_OK);
	assert_int_equal(back.value_kind, VALUE_TEXT);
	assert_string_equal(back.text, "RoCE v2");
	assert_int_equal(back.subject.n_ends, 2);
	assert_string_equal(back.subject.ends[0].nic, "mlx5_0");
	assert_int_equal(back.subject.ends[0].port, 1);
	assert_null(back.subject.ends[1].nic);
	assert_null(back.subject.id);
	assert_int_equal(back.subject.index, -1);
	/* a figure that is none is written as none, and then refused */
	r.value_kind = VALUE_NUMBER;
	r.value = NAN;
	str_clear(&line);
	reading_format(&line, &r);
	assert_int_equal(reading_parse(&back, &arena, line.data, line.len, NULL), ST_PARSE);
	str_release(&line);
	arena_release(&arena);
}

static void frames_are_checked(void **state)
{
	static const struct {
		const char *line;
		size_t len;
		enum status st;
	} rows[] = {
		{"", 0, ST_PARSE},
		{"{}", 2, ST_PARSE},
		{"[1]", 3, ST_PARSE},
		{"{\"v\":1", 6, ST_PARSE},
		{" {\"v\":1}", 8, ST_PARSE},
		{"{\"v\":1}\n", 8, ST_PARSE},
		{"{\"v\":\n1}", 8, ST_PARSE},
		{"{\"v\":\0001}", 8, ST_PARSE},
		{"{\"kind\":\"end\",\"readings\":0}", 27, ST_PARSE},
		{"{\"v\":1,\"seq\":9,\"prev\":\"0123456789012345678901234567890123456789"
	         "012345678901234567890123\"}",
	         88, ST_PARSE},
		{"{\"v\":1}", 7, ST_OK}, /* nothing is reparsed */
	};
	struct place p = place_make();
	struct journal *j = create(&p);
	struct str line = {0};
	char digest[65];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct error err = {0};

		assert_int_equal(journal_append(j, rows[i].line, rows[i].len, &err), rows[i].st);
		assert_int_equal(err.status, rows[i].st);
		error_release(&err);
	}
	str_add(&line, "{\"a\":\"");
	str_pad(&line, 'x', JOURNAL_LINE_MAX);
	str_add(&line, "\"}");
	assert_int_equal(journal_append(j, line.data, line.len, NULL), ST_RANGE);
	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
	str_release(&line);
	line = slurp(p.journal);
	assert_non_null(strstr(line.data, "\"readings\":1,"));
	str_release(&line);
	place_remove(&p);
}

static void directories_in_use_are_left_alone(void **state)
{
	struct place p = place_make();
	struct run_info info = info_make();
	struct journal *j;
	struct error err = {0};
	char digest[65];
	struct str text;

	(void)state;
	assert_int_equal(mkdir(p.dir, 0755), 0); /* empty: may be used */
	j = create(&p);
	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
	text = slurp(p.run);
	assert_int_equal(journal_create(&j, p.dir, &info, &err), ST_EXISTS);
	assert_non_null(strstr(err.text.data, p.dir));
	error_release(&err);
	assert_int_equal(state_of(&p), JOURNAL_INTACT);
	/* a file where the directory should be */
	assert_int_not_equal(journal_create(&j, p.run, &info, NULL), ST_OK);
	str_release(&text);
	place_remove(&p);
}

/* As root, permissions bind only after stepping down. */
static void a_directory_one_may_not_write_is_an_error(void **state)
{
	struct place p = place_make();
	struct run_info info = info_make();
	struct journal *j = NULL;
	struct error err = {0};
	bool root = geteuid() == 0;
	enum status inside, below;

	(void)state;
	assert_int_equal(chmod(p.root, 0755), 0);
	assert_int_equal(mkdir(p.dir, 0755), 0);
	assert_int_equal(chmod(p.dir, 0555), 0);
	if (root)
		assert_int_equal(seteuid(65534), 0);
	inside = journal_create(&j, p.dir, &info, &err);
	below = journal_create(&j, tmpf("%s/new", p.dir), &info, NULL);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(inside, ST_PERMISSION);
	assert_int_equal(below, ST_PERMISSION);
	assert_non_null(strstr(err.text.data, p.dir));
	error_release(&err);
	assert_int_equal(chmod(p.dir, 0755), 0);
	assert_int_equal(rmdir(p.dir), 0); /* nothing was left in it */
	place_remove(&p);
}

static void a_second_writer_is_refused(void **state)
{
	struct place p = place_make();
	struct journal *j = create(&p), *other = NULL;
	char digest[65];

	(void)state;
	assert_int_equal(journal_resume(&other, p.dir, "0.1.0", "9f2c", NULL), ST_EXISTS);
	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
	assert_int_equal(state_of(&p), JOURNAL_INTACT);
	place_remove(&p);
}

static void resume_goes_on_behind_the_last_whole_line(void **state)
{
	struct place p = place_make();
	struct journal *j;
	struct rundir run;
	struct str text;
	struct reading r = card_reading("c9", 99);
	char digest[65];

	(void)state;
	make_run(&p, 3, digest);
	text = slurp(p.journal);
	/* into the work line behind the three readings */
	assert_int_equal(truncate(p.journal, strstr(text.data, "\"state\"") - text.data), 0);
	assert_int_equal(journal_resume(&j, p.dir, "0.1.0", "9f2c", NULL), ST_OK);
	assert_int_equal(append(j, &r, NULL), ST_OK);
	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_OK);
	assert_int_equal(run.state, JOURNAL_INTACT);
	assert_int_equal(run.n_readings, 4);
	str_release(&text);
	text = slurp(p.journal);
	/* the end tells those of all attempts */
	assert_non_null(strstr(text.data, "\"readings\":4,"));
	assert_int_equal(run.n_resumes, 1);
	assert_int_equal(run.resumed_at[0], 3);
	assert_int_equal(run.n_done, 0);
	assert_string_equal(run.digest, digest);
	assert_non_null(strstr(run.map, "\"version\":\"0.1.0\",\"dropped_bytes\":"));
	rundir_close(&run);
	/* an ended run may be resumed too, and cut once more */
	assert_int_equal(journal_resume(&j, p.dir, "0.1.0", "9f2c", NULL), ST_OK);
	assert_int_equal(journal_close(j, true, digest, NULL), ST_OK);
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_OK);
	assert_int_equal(run.state, JOURNAL_CUT);
	assert_null(run.trouble);
	assert_int_equal(run.n_resumes, 2);
	assert_string_equal(run.digest, digest);
	rundir_close(&run);
	str_release(&text);
	place_remove(&p);
}

static void resume_refuses_what_does_not_fit(void **state)
{
	struct place p = place_make();
	struct journal *j = NULL;
	struct error err = {0};
	struct str text;
	char digest[65];

	(void)state;
	assert_int_equal(journal_resume(&j, p.dir, "0.1.0", "9f2c", NULL), ST_NOTFOUND);
	make_run(&p, 2, digest);
	text = slurp(p.journal);
	assert_int_equal(journal_resume(&j, p.dir, "0.2.0", "9f2c", &err), ST_USAGE);
	assert_non_null(strstr(err.text.data, "0.1.0"));
	error_release(&err);
	assert_int_equal(journal_resume(&j, p.dir, "0.1.0", "ffff", NULL), ST_USAGE);
	*strstr(text.data, "268.1") = '9';
	spill(p.journal, text.data, text.len);
	assert_int_equal(journal_resume(&j, p.dir, "0.1.0", "9f2c", &err), ST_CORRUPT);
	assert_non_null(strstr(err.text.data, "readings.jsonl:2"));
	error_release(&err);
	spill(p.journal, "", 0);
	assert_int_equal(journal_resume(&j, p.dir, "0.1.0", "9f2c", NULL), ST_CORRUPT);
	str_release(&text);
	place_remove(&p);
}

/* --- no space -------------------------------------------------------------------- */

/* Appends until it fails; returns how many readings went in. */
static int fill(struct journal *j, enum status *st)
{
	struct str params = {0};
	struct error err = {0};
	int count = 0;

	str_addf(&params, "{\"x\":\"");
	str_pad(&params, 'y', 3000);
	str_add(&params, "\"}");
	for (*st = ST_OK; count < 100000; count++) {
		struct reading r = card_reading(tmpf("c%d", count), 1);

		r.params = params.data;
		*st = append(j, &r, &err);
		if (*st != ST_OK)
			break;
	}
	assert_int_equal(err.status, *st);
	error_release(&err);
	str_release(&params);
	return count;
}

static void expect_cut_after(const struct place *p, int readings)
{
	struct rundir run;

	assert_int_equal(rundir_open(&run, p->dir, RUNDIR_CHAIN, NULL), ST_OK);
	assert_int_equal(run.state, JOURNAL_CUT);
	assert_null(run.trouble); /* the piece was cut off again */
	assert_int_equal(run.n_readings, readings);
	rundir_close(&run);
}

static void a_file_size_limit_costs_only_the_line_that_hits_it(void **state)
{
	struct place p = place_make();
	struct journal *j = create(&p);
	struct reading r = card_reading("later", 1);
	struct rlimit before, limit;
	struct rundir run;
	char digest[65];
	enum status st;
	int count;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = (struct rlimit){50000, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	count = fill(j, &st);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(st, ST_NOSPACE);
	assert_in_range(count, 10, 16);
	expect_cut_after(&p, count);
	assert_int_equal(append(j, &r, NULL), ST_OK);
	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_OK);
	assert_int_equal(run.state, JOURNAL_INTACT);
	assert_int_equal(run.n_readings, count + 1);
	rundir_close(&run);
	place_remove(&p);
}

/* Writes until nothing goes in any more. */
static void plug(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	while (write(fd, (char[4096]){0}, 4096) > 0)
		;
	close(fd);
}

static void a_full_disk_is_survived(void **state)
{
	struct place p = place_make();
	struct journal *j;
	struct run_info info = info_make();
	struct reading r = card_reading("later", 1);
	char digest[65], ballast[64], second[64];
	enum status st;
	int count;

	(void)state;
	if (mount("none", p.root, "tmpfs", 0, "size=256k") != 0) {
		print_message("skipped: no tmpfs can be mounted here (%s)\n", strerror(errno));
		assert_int_equal(rmdir(p.root), 0);
		skip();
	}
	snprintf(ballast, sizeof(ballast), "%s/ballast", p.root);
	snprintf(second, sizeof(second), "%s/second", p.root);
	j = create(&p);
	spill(ballast, (char[65536]){0}, 65536);
	count = fill(j, &st);
	assert_int_equal(st, ST_NOSPACE);
	assert_true(count > 10);
	expect_cut_after(&p, count);
	assert_int_equal(unlink(ballast), 0); /* space returns */
	assert_int_equal(append(j, &r, NULL), ST_OK);
	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
	assert_int_equal(state_of(&p), JOURNAL_INTACT);
	/* plug the rest: a second run cannot be created and leaves its directory empty */
	plug(ballast);
	assert_int_equal(journal_create(&j, second, &info, NULL), ST_NOSPACE);
	assert_int_equal(rmdir(second), 0);
	assert_int_equal(umount(p.root), 0);
	assert_int_equal(rmdir(p.root), 0);
}

/* --- threads ----------------------------------------------------------------------- */

static void *append_many(void *arg)
{
	for (int i = 0; i < 200; i++) {
		struct reading r = card_reading("c0", i + 1);

		if (append(arg, &r, NULL) != ST_OK)
			return arg;
		if (i % 50 == 0 && journal_sync(arg, NULL) != ST_OK)
			return arg;
	}
	return NULL;
}

static void threads_may_append_at_once(void **state)
{
	struct place p = place_make();
	struct journal *j = create(&p);
	struct rundir run;
	pthread_t threads[3];
	char digest[65];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, append_many, j), 0);
	for (int i = 0; i < 3; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(journal_sync(j, NULL), ST_OK);
	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_OK);
	assert_int_equal(run.state, JOURNAL_INTACT);
	assert_int_equal(run.n_readings, 600);
	rundir_close(&run);
	place_remove(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_is_written_to_the_byte),
		cmocka_unit_test(run_json_has_every_member),
		cmocka_unit_test(what_was_not_stated_stays_unstated),
		cmocka_unit_test(readings_survive_the_way_there_and_back),
		cmocka_unit_test(pairs_keep_both_ends_and_points_make_params),
		cmocka_unit_test(frames_are_checked),
		cmocka_unit_test(directories_in_use_are_left_alone),
		cmocka_unit_test(a_directory_one_may_not_write_is_an_error),
		cmocka_unit_test(a_second_writer_is_refused),
		cmocka_unit_test(resume_goes_on_behind_the_last_whole_line),
		cmocka_unit_test(resume_refuses_what_does_not_fit),
		cmocka_unit_test(a_file_size_limit_costs_only_the_line_that_hits_it),
		cmocka_unit_test(a_full_disk_is_survived),
		cmocka_unit_test(threads_may_append_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
