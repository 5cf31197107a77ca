/* The fio reader against texts made by hand, for what no recording shows: other
 * versions, contradictions, failures of every kind. fio 2.x and 3.1 texts follow
 * the source of those versions. */
#include "fio_kit.h"

/* Places of a fio 3.18 document that a test replaces; NULL: as in a good run of
 * 1000 reads of 4 KiB in one second, at a mean latency of 2 ms. */
struct made {
	const char *error, *io_bytes, *bw_bytes, *iops, *runtime, *ios, *clat, *more;
};

#define GOOD_CLAT                                                                                  \
	"{\"min\":1000000,\"max\":9000000,\"mean\":1900000.0,\"stddev\":5.0,\"N\":1000,"           \
	"\"percentile\":{\"50.000000\":1800000,\"99.000000\":5000000}}"

static const char * or (const char *given, const char *standard)
{
	return given ? given : standard;
}

static const char *entry(struct arena *arena, const struct made *m)
{
	return arena_strf(
		arena,
		"{\"jobname\":\"rr\",\"groupid\":0,\"error\":%s,\"read\":{\"io_bytes\":%s,"
		"\"io_kbytes\":4000,\"bw_bytes\":%s,\"iops\":%s,\"runtime\":%s,\"total_ios\":%s,"
		"\"short_ios\":0,\"drop_ios\":0,\"slat_ns\":{\"min\":1,\"max\":300000,"
		"\"mean\":100000.0,\"N\":1000},\"clat_ns\":%s,\"lat_ns\":{\"min\":1000,"
		"\"max\":9100000,\"mean\":2000000.0,\"N\":1000}},\"usr_cpu\":1.0,\"sys_cpu\":2.0,"
		"\"iodepth_level\":{\"1\":50.0,\"2\":50.0,\">=64\":0.0},"
		"\"latency_ns\":{\"1000\":0.0},\"latency_us\":{\"750\":20.0,\"1000\":5.0},"
		"\"latency_ms\":{\"2\":75.0}%s}",
		or (m->error, "0"), or (m->io_bytes, "4096000"), or (m->bw_bytes, "4096000"),
		or (m->iops, "1000.0"), or (m->runtime, "1000"), or (m->ios, "1000"),
		or (m->clat, GOOD_CLAT), or (m->more, ""));
}

static const char *document(struct arena *arena, const char *list, const char *entries)
{
	return arena_strf(arena, "{\n\"fio version\":\"fio-3.18\",\n\"%s\":[%s]\n}\n", list,
	                  entries);
}

static struct fio_result read_text(struct arena *arena, const char *text,
                                   const struct fio_asked *asked)
{
	struct fio_asked plain = {0};
	struct fio_result r;

	fio_read(&r, arena, text, strlen(text), asked ? asked : &plain);
	return r;
}

static void test_made_good(void **state)
{
	struct arena arena = {0};
	struct made good = {0};
	struct fio_result r =
		read_text(&arena, document(&arena, "jobs", entry(&arena, &good)), NULL);

	(void)state;
	expect(&r, "good", MEASURED);
	near(r.iops, 1000, 0, "iops");
	near(r.lat.p99, 5100, 1e-9, "p99 of clat and mean slat");
	near(r.depth, 1.5, 1e-9, "depth");
	near(r.share_below_1ms, 0.25, 1e-9, "share");
	assert_false(r.has_disk_util);
	arena_release(&arena);
}

static void test_made_bad(void **state)
{
	static const struct {
		const char *what;
		struct made made;
		int exit_code;
		const char *err;
		int reason;
	} rows[] = {
		{"negative count", {.ios = "-1000"}, 0, NULL, MSG_fio_bad_number},
		{"negative bytes",
	         {.io_bytes = "-9223372036854775808"},
	         0,
	         NULL,
	         MSG_fio_bad_number},
		{"negative latency",
	         {.clat = "{\"min\":-1,\"max\":2,\"mean\":1.0,\"N\":9}"},
	         0,
	         NULL,
	         MSG_fio_bad_number},
		{"negative bin",
	         {.clat = "{\"mean\":1.0,\"N\":9,\"bins\":{\"10\":-9}}"},
	         0,
	         NULL,
	         MSG_fio_bad_number},
		{"unreadable bin",
	         {.clat = "{\"mean\":1.0,\"N\":9,\"bins\":{\"ten\":9}}"},
	         0,
	         NULL,
	         MSG_fio_bad_number},
		{"text for a number", {.runtime = "\"1000\""}, 0, NULL, MSG_fio_bad_number},
		{"no count", {.ios = "null"}, 0, NULL, MSG_fio_bad_number},
		{"count nan", {.ios = "nan"}, 0, NULL, MSG_fio_bad_number},
		{"runtime -inf", {.runtime = "-inf"}, 0, NULL, MSG_fio_bad_number},
		{"error no number", {.error = "\"0\""}, 0, NULL, MSG_fio_bad_number},
		{"error too large", {.error = "1e300"}, 0, NULL, MSG_fio_bad_number},
		{"overflow", {.io_bytes = "1e999"}, 0, NULL, MSG_fio_not_json},
		{"decimal comma", {.iops = "1000,5"}, 0, NULL, MSG_fio_not_json},
		{"no I/O",
	         {.ios = "0", .iops = "0.0", .io_bytes = "0", .bw_bytes = "0"},
	         0,
	         NULL,
	         MSG_fio_nothing_done},
		{"no time",
	         {.runtime = "0", .iops = "0.0", .bw_bytes = "0"},
	         0,
	         NULL,
	         MSG_fio_short_run},
		{"iops of another run", {.iops = "1020.0"}, 0, NULL, MSG_fio_disagrees},
		{"iops zero", {.iops = "0.0"}, 0, NULL, MSG_fio_disagrees},
		{"bandwidth of another run", {.bw_bytes = "8192000"}, 0, NULL, MSG_fio_disagrees},
		{"no latency", {.clat = "{}"}, 0, NULL, MEASURED}, /* lat_ns has its mean */
		{"error 5 after I/O", {.error = "5"}, 1, NULL, MSG_fio_io_error},
		{"error 5 before", {.error = "5", .io_bytes = "0"}, 1, NULL, MSG_fio_io_error},
		{"error 5, full elsewhere",
	         {.error = "5"},
	         1,
	         "No space left on device\n",
	         MSG_fio_io_error},
		{"error 28 with IOPS", {.error = "28"}, 1, NULL, MSG_fio_no_space},
		{"over quota", {.error = "122"}, 1, NULL, MSG_fio_no_space},
		{"quota line",
	         {0},
	         0,
	         "fio: io_u error on file f: Disk quota exceeded: write\n",
	         MSG_fio_no_space},
		{"error 22 after I/O", {.error = "22"}, 1, NULL, MSG_fio_io_error},
		{"error 1 after I/O", {.error = "1"}, 1, NULL, MSG_fio_io_error},
		{"locked memory",
	         {.error = "12", .io_bytes = "0"},
	         1,
	         NULL,
	         MSG_fio_engine_refused},
		{"error -1 unsigned",
	         {.error = "4294967295", .io_bytes = "0"},
	         1,
	         NULL,
	         MSG_fio_engine_refused},
		{"error -1 unsigned after I/O", {.error = "4294967295"}, 1, NULL, MSG_fio_io_error},
		{"error, exit 0", {.error = "5"}, 0, NULL, MSG_fio_io_error},
		{"io_u line only",
	         {0},
	         0,
	         "fio: io_u error on file f: Input/output error: read\n",
	         MSG_fio_io_error},
		{"continued",
	         {.more = ",\"total_err\":3,\"first_error\":5"},
	         0,
	         NULL,
	         MSG_fio_io_error},
		{"continued, no code", {.more = ",\"total_err\":3"}, 0, NULL, MSG_fio_io_error},
		{"continued, none",
	         {.more = ",\"total_err\":0,\"first_error\":0"},
	         0,
	         NULL,
	         MEASURED},
		{"exit without error", {0}, 3, NULL, MSG_fio_silent},
		{"exit with a line", {0}, 3, "fio: could not fork\n", MSG_fio_exit},
		{"exit 128", {0}, 128, NULL, MSG_fio_interrupted},
		{"128 failed jobs", {.error = "5"}, 128, NULL, MSG_fio_io_error},
		{"interrupted and failed",
	         {.error = "5"},
	         129,
	         "\nfio: terminating on signal 2\n",
	         MSG_fio_interrupted},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct fio_asked asked = {.exit_code = rows[i].exit_code, .err = rows[i].err};
		struct arena arena = {0};
		const char *text = document(&arena, "jobs", entry(&arena, &rows[i].made));
		struct fio_result r = read_text(&arena, text, &asked);

		expect(&r, rows[i].what, rows[i].reason);
		arena_release(&arena);
	}
}

static void test_unsigned_error(void **state)
{
	struct made failed = {.error = "4294967295", .io_bytes = "0"};
	struct arena arena = {0};
	struct fio_result r =
		read_text(&arena, document(&arena, "jobs", entry(&arena, &failed)), NULL);

	(void)state;
	assert_int_equal(r.error, -1);
	assert_string_equal(r.args[0], "-1");
	arena_release(&arena);
}

/* Unknown figures stay unknown; the rest of the document holds. */
static void test_bare_words(void **state)
{
	struct made m = {.clat = "{\"min\":1,\"max\":9,\"mean\":-nan,\"stddev\":inf,\"N\":1000}",
	                 .more = ",\"desc\":\"nan, inf and \\\\\""};
	struct arena arena = {0};
	struct fio_result r = read_text(&arena, document(&arena, "jobs", entry(&arena, &m)), NULL);

	(void)state;
	expect(&r, "nan", MEASURED);
	assert_true(isnan(r.clat.mean) && isnan(r.clat.sd));
	near(r.clat.max, 0.009, 1e-12, "max");
	near(r.lat.mean, 2000, 1e-9, "mean");
	arena_release(&arena);
}

static void test_escapes(void **state)
{
	struct made m = {.more = ",\"desc\":\"a \\\" } { \\\\\",\"path\":\"C:\\\\\\\\\""};
	struct arena arena = {0};
	struct fio_result r = read_text(&arena, document(&arena, "jobs", entry(&arena, &m)), NULL);

	(void)state;
	expect(&r, "escapes", MEASURED);
	arena_release(&arena);
}

static void test_short_run(void **state)
{
	struct fio_asked asked = {.runtime_s = 1.1}, enough = {.runtime_s = 1.05};
	struct made good = {0}, quick = {.runtime = "500", .iops = "2000.0", .bw_bytes = "8192000"};
	struct arena arena = {0};
	const char *a = entry(&arena, &good), *b = entry(&arena, &quick);
	struct fio_result r = read_text(&arena, document(&arena, "jobs", a), &asked);

	(void)state;
	expect(&r, "1.0 of 1.1", MSG_fio_short_run);
	assert_string_equal(r.args[0], "1.000");
	assert_string_equal(r.args[1], "1.100");
	r = read_text(&arena, document(&arena, "jobs", a), &enough);
	expect(&r, "1.0 of 1.05", MEASURED);
	r = read_text(&arena, document(&arena, "jobs", tmpf("%s,%s", a, b)), &enough);
	expect(&r, "one of two stopped early", MSG_fio_short_run);
	arena_release(&arena);
}

static void test_several_entries(void **state)
{
	struct made a = {.clat = "{\"mean\":1.0,\"N\":4,\"percentile\":{\"99.000000\":9000},"
	                         "\"bins\":{\"1000\":98,\"9000\":2}}"};
	struct made b = {.clat = "{\"mean\":3.0,\"N\":12,\"percentile\":{\"99.000000\":1000},"
	                         "\"bins\":{\"1000\":300}}",
	                 .more = ",\"numbers\":1"};
	struct made idle = {.ios = "0", .iops = "0.0", .io_bytes = "0", .bw_bytes = "0"};
	struct made late = {.error = "5"}, plain = {0};
	struct arena arena = {0};
	const char *one = entry(&arena, &a), *two = entry(&arena, &b);
	struct fio_result r =
		read_text(&arena, document(&arena, "jobs", tmpf("%s,%s", one, two)), NULL);

	(void)state;
	expect(&r, "two with bins", MEASURED);
	assert_int_equal(r.jobs, 2);
	near(r.iops, 2000, 0, "sum");
	near(r.clat.mean, 0.0025, 1e-9, "weighted");
	near(r.clat.p99, 1, 1e-9, "exact from the bins: 2 of 400 are slow");
	near(r.clat.p99_9, 9, 1e-9, "p99.9");
	assert_true(isnan(r.clat.sd));
	near(r.share_below_1ms, 0.25, 1e-9, "share");
	near(r.depth, 1.5, 1e-9, "of one job");

	/* Bins of one of two are of neither: the worst printed one it is. */
	r = read_text(&arena, document(&arena, "jobs", tmpf("%s,%s", one, entry(&arena, &plain))),
	              NULL);
	expect(&r, "bins of one", MEASURED);
	assert_int_equal(r.n_bins, 0);
	near(r.clat.p99, 5000, 1e-9, "worst");
	r = read_text(&arena, document(&arena, "jobs", tmpf("%s,%s", one, entry(&arena, &idle))),
	              NULL);
	expect(&r, "one idle", MSG_fio_nothing_done);
	r = read_text(&arena, document(&arena, "jobs", tmpf("%s,%s", one, entry(&arena, &late))),
	              NULL);
	expect(&r, "the second failed", MSG_fio_io_error);
	assert_int_equal(r.error, 5);
	arena_release(&arena);
}

static void test_clients(void **state)
{
	struct made good = {0};
	struct arena arena = {0};
	const char *one = entry(&arena, &good), *all;
	struct made sum = {.ios = "2000",
	                   .iops = "2000.0",
	                   .io_bytes = "8192000",
	                   .bw_bytes = "8192000",
	                   .more = ",\"jobname\":\"All clients\""};
	struct fio_result r;

	(void)state;
	all = arena_strf(&arena, "{\"jobname\":\"All clients\",%s",
	                 strstr(entry(&arena, &sum), "\"groupid\""));
	r = read_text(&arena, document(&arena, "client_stats", tmpf("%s,%s,%s", one, one, all)),
	              NULL);
	expect(&r, "clients", MEASURED);
	assert_int_equal(r.jobs, 2);
	near(r.iops, 2000, 0, "the sum not counted again");
	arena_release(&arena);
}

/* --- streams ------------------------------------------------------------------------------------ */

static void test_documents(void **state)
{
	struct made good = {0}, half = {.runtime = "500", .ios = "500", .io_bytes = "2048000"};
	struct arena arena = {0};
	const char *first = document(&arena, "jobs", entry(&arena, &half));
	const char *last = document(&arena, "jobs", entry(&arena, &good));
	struct fio_result r =
		read_text(&arena, tmpf("before\n%s\nbetween\n%safter\n", first, last), NULL);

	(void)state;
	expect(&r, "two documents", MEASURED);
	near(r.total_ios, 1000, 0, "the last");
	assert_string_equal(r.notes, "before\n\n\nbetween\n\nafter");
	r = read_text(&arena, arena_strn(&arena, tmpf("%s%s", first, last), strlen(first) + 40),
	              NULL);
	expect(&r, "the last one cut", MSG_fio_not_json);
	r = read_text(&arena, "{\n}\n", NULL);
	expect(&r, "empty", MSG_fio_not_json);
	r = read_text(&arena, "{\n\"jobs\":[{\"jobname\":\"x\",\"error\":0}]\n}\n", NULL);
	expect(&r, "no direction", MSG_fio_bad_number);
	r = read_text(&arena, "{\r\n\"jobs\":3\r\n}\r\n", NULL);
	expect(&r, "jobs no list", MSG_fio_not_json);
	fio_read(&r, &arena, NULL, 0, &(struct fio_asked){.exit_code = 1});
	expect(&r, "nothing at all", MSG_fio_silent);
	r = read_text(&arena, "Killed\n", &(struct fio_asked){.exit_code = 137});
	expect(&r, "a shell's word", MSG_fio_no_json);
	assert_string_equal(r.args[1], "Killed");
	arena_release(&arena);
}

static void test_long_lines(void **state)
{
	struct arena arena = {0};
	struct str err = {0};
	struct fio_asked asked = {.exit_code = 1};
	struct fio_result r;

	(void)state;
	str_add(&err, "warning first\nfio: ");
	str_pad(&err, 'x', 194);
	str_add(&err, "\xe4\xbd\xa0"); /* crosses the limit of 200 */
	str_pad(&err, 'y', 300);
	str_add(&err, "\nfio: second\n");
	asked.err = str_text(&err);
	r = read_text(&arena, "", &asked);
	expect(&r, "long line", MSG_fio_no_json);
	assert_int_equal(strlen(r.args[1]), 199);
	assert_true(str_ends(r.args[1], "xxx"));
	str_clear(&err);
	str_pad(&err, 'n', 5000);
	r = read_text(&arena, str_text(&err), &(struct fio_asked){.exit_code = 1});
	assert_int_equal(strlen(r.notes), 2048);
	assert_int_equal(strlen(r.args[1]), 200);
	/* A full device is said after more notes than are kept. */
	str_add(&err, "\nfio: ENOSPC on laying out file, stopping\n");
	str_add(&err, document(&arena, "jobs", entry(&arena, &(struct made){0})));
	r = read_text(&arena, str_text(&err), NULL);
	expect(&r, "late line", MSG_fio_no_space);
	str_release(&err);
	arena_release(&arena);
}

/* --- older ------------------------------------------------------------------------------------------ */

/* 2.x: microseconds, KiB, unused percentiles all called "0.00". 2.1 had whole
 * IOPS and no count; 2.20 bins by duration. */
static void test_old_versions(void **state)
{
	static const char form[] =
		"{\n\"fio "
		"version\":\"fio-%s\",\n\"jobs\":[{\"jobname\":\"rr\",\"groupid\":0,\"error\":0,"
		"\"read\":{"
		"\"io_bytes\":4000,\"bw\":4000,\"iops\":%s,\"runtime\":1000,%s"
		"\"slat\":{\"min\":1,\"max\":9,\"mean\":4.0,\"stddev\":0.0},"
		"\"clat\":{\"min\":90,\"max\":900,\"mean\":300.0,\"stddev\":1.0,\"percentile\":{"
		"\"50.000000\":290,\"99.000000\":800,\"0.00\":0,\"0.00\":0,\"0.00\":0}%s},"
		"\"lat\":{\"min\":91,\"max\":905,\"mean\":304.0,\"stddev\":1.0}},"
		"\"iodepth_level\":{\"1\":100.0,\">=64\":0.0},\"latency_us\":{\"500\":98.0,"
		"\"1000\":2.0},"
		"\"latency_ms\":{\"2\":0.0}%s}]\n}\n";
	struct arena arena = {0};
	struct fio_result r;

	(void)state;
	r = read_text(
		&arena,
		arena_strf(&arena, form, "2.1", "1000", "", "", ",\"total_err\":0,\"total_err\":0"),
		NULL);
	expect(&r, "2.1", MEASURED);
	near(r.iops, 1000, 0, "iops");
	near(r.io_bytes, 4096000, 0, "KiB");
	near(r.clat.p99, 800, 1e-9, "us");
	near(r.lat.p99, 804, 1e-9, "clat and slat");
	near(r.lat.mean, 304, 1e-9, "lat");
	near(r.share_below_1ms, 1, 1e-9, "share");
	assert_true(isnan(r.clat.n) && isnan(r.clat.p95) && isnan(r.short_ios));
	assert_int_equal(r.n_bins, 0);

	r = read_text(&arena,
	              arena_strf(&arena, form, "2.20", "1000.40",
	                         "\"total_ios\":1000,\"short_ios\":1,",
	                         ",\"bins\":{\"290\":980,\"800\":20}", ""),
	              NULL);
	expect(&r, "2.20", MEASURED);
	assert_int_equal(r.n_bins, 2);
	near(r.bins[1].ns, 800e3, 1e-6, "bins in us too");
	near(r.short_ios, 1, 0, "short");

	r = read_text(
		&arena,
		arena_strf(
			&arena, form, "2.19", "1000.0", "\"total_ios\":1000,",
			",\"bins\":{\"FIO_IO_U_PLAT_BITS\":6,\"FIO_IO_U_PLAT_VAL\":64,\"17\":1000}",
			""),
		NULL);
	expect(&r, "2.19", MEASURED);
	assert_int_equal(r.n_bins, 0);

	r = read_text(&arena, arena_strf(&arena, form, "2.1", "null", "", "", ""), NULL);
	expect(&r, "neither rate nor count", MSG_fio_bad_number);
	arena_release(&arena);
}

/* 3.1: nanoseconds, no bw_bytes, no N; "0.00" still repeated. */
static void test_version_3_1(void **state)
{
	static const char text[] =
		"{\n\"fio "
		"version\":\"fio-3.1\",\n\"jobs\":[{\"jobname\":\"rr\",\"groupid\":0,\"error\":0,"
		"\"read\":{"
		"\"io_bytes\":4096000,\"io_kbytes\":4000,\"bw\":4000,\"iops\":1000.0,\"runtime\":"
		"1000,"
		"\"total_ios\":1000,\"short_ios\":0,\"drop_ios\":2,"
		"\"slat_ns\":{\"min\":0,\"max\":0,\"mean\":0.0,\"stddev\":0.0},"
		"\"clat_ns\":{\"min\":90000,\"max\":900000,\"mean\":300000.0,\"stddev\":1000.0,"
		"\"percentile\":{"
		"\"99.000000\":800000,\"99.900000\":850000,\"0.00\":0,\"0.00\":0}},"
		"\"lat_ns\":{\"min\":90000,\"max\":900000,\"mean\":300000.0,\"stddev\":1000.0}}}]"
		"\n}\n";
	struct arena arena = {0};
	struct fio_result r = read_text(&arena, text, NULL);

	(void)state;
	expect(&r, "3.1", MEASURED);
	near(r.bandwidth_bs, 4096000, 0, "bytes");
	near(r.clat.p99_9, 850, 1e-9, "ns");
	near(r.lat.p99, 800, 1e-9, "synchronous: lat is clat");
	near(r.dropped_ios, 2, 0, "dropped");
	assert_true(isnan(r.slat.mean) && isnan(r.depth) && isnan(r.share_below_1ms) &&
	            isnan(r.usr_cpu));
	arena_release(&arena);
}

static void test_version_text(void **state)
{
	static const char *const wrong[] = {"",         "fio",      "fio-", "fio-3",   "fio-x.1",
	                                    "fio--3.1", "fio-3.-1", "3.33", "foi-3.33"};
	int major = 0, minor = 0;

	(void)state;
	assert_true(fio_version_parse("fio-3.33", &major, &minor));
	assert_int_equal(major * 100 + minor, 333);
	assert_true(fio_version_parse("fio-3.8-5-g464b-dirty", &major, &minor));
	assert_int_equal(major * 100 + minor, 308);
	assert_true(fio_version_parse("fio-2.1.11", &major, &minor));
	assert_int_equal(major * 100 + minor, 201);
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_false(fio_version_parse(wrong[i], &major, &minor));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_good),       cmocka_unit_test(test_made_bad),
		cmocka_unit_test(test_unsigned_error),  cmocka_unit_test(test_bare_words),
		cmocka_unit_test(test_escapes),         cmocka_unit_test(test_short_run),
		cmocka_unit_test(test_several_entries), cmocka_unit_test(test_clients),
		cmocka_unit_test(test_documents),       cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_old_versions),    cmocka_unit_test(test_version_3_1),
		cmocka_unit_test(test_version_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
