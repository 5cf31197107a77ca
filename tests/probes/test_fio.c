/* The fio reader against recorded outputs (data/fio, one row each), whole, cut
 * and damaged. The figures of the table were computed from the recordings by
 * another program, not by the reader. */
#include "fio_kit.h"

#include <stdlib.h>

#include "base/file.h"

#define DATA       TESTS_DIR "/probes/data/fio/"
#define FILE_LIMIT ((size_t)1 << 20)

/* --- recorded ---------------------------------------------------------------------- */

struct sample {
	const char *name;
	int reason;
	double iops, p99_us, mean_us, depth, util; /* p99 and mean of lat */
	size_t bins;
	int jobs, error;
};

static const struct sample samples[] = {
	{"ok-libaio-direct", MEASURED, 69246.5, 2550.5, 458.9, 16.00, 93.20, 0, 1, 0},
	{"ok-io_uring-direct", MEASURED, 71379.9, 1377.2, 447.2, 16.00, 95.02, 0, 1, 0},
	{"ok-psync-note-before-json", MEASURED, 22306.5, 209.9, 88.2, 1.00, 76.56, 0, 1, 0},
	{"ok-tmpfs-direct-accepted", MEASURED, 224738.4, 4151.1, 141.4, 16.00, NAN, 0, 1, 0},
	{"ok-overlayfs-direct", MEASURED, 42796.7, 869.7, 186.0, 7.98, NAN, 0, 1, 0},
	{"data-real", MEASURED, 31498.9, 15809.1, 989.3, 31.87, 64.14, 0, 1, 0},
	{"data-sparse", MEASURED, 158941.8, 4231.1, 200.6, 31.87, 0.20, 0, 1, 0},
	{"data-unwritten", MEASURED, 163789.6, 4231.0, 194.6, 31.87, 0.40, 0, 1, 0},
	{"enospc-layout", MSG_fio_no_space, 0, NAN, NAN, NAN, NAN, 0, 1, 28},
	{"enospc-write-2jobs", MSG_fio_no_space, 484.1, 85013.0, 8460.1, 3.77, 0.00, 0, 1, 28},
	{"enospc-fill_device", MSG_fio_no_space, 483.1, 87509.1, 5039.4, 3.88, 0.00, 0, 1, 0},
	{"absent-directory", MSG_fio_no_json, 0, NAN, NAN, NAN, NAN, 0, 0, 0},
	{"directory-not-searchable", MSG_fio_permission, 0, NAN, NAN, NAN, NAN, 0, 1, 13},
	{"file-not-readable", MSG_fio_permission, 0, NAN, NAN, NAN, 0.00, 0, 1, 13},
	{"engine-missing", MSG_fio_no_json, 0, NAN, NAN, NAN, NAN, 0, 0, 0},
	{"bad-option", MSG_fio_no_json, 0, NAN, NAN, NAN, NAN, 0, 0, 0},
	{"io_uring-eperm", MSG_fio_engine_refused, 0, NAN, NAN, NAN, 0.00, 0, 1, 1},
	{"io_uring-enosys", MSG_fio_engine_refused, 0, NAN, NAN, NAN, 0.00, 0, 1, 38},
	{"libaio-io_setup-eperm", MSG_fio_engine_refused, 0, NAN, NAN, NAN, 0.00, 0, 1, 1},
	{"libaio-getevents-eperm", MSG_fio_engine_refused, 0, NAN, NAN, 3.62, 7.84, 0, 1, -1},
	{"direct-misaligned", MSG_fio_direct_refused, 0, NAN, NAN, 3.62, 0.00, 0, 1, 22},
	{"late-output-format", MSG_fio_groups, 28301.1, 2985.1, 174.9, 3.23, 50.69, 0, 2, 0},
	{"status-interval", MEASURED, 17082.3, 4766.4, 467.0, 7.98, 85.55, 0, 1, 0},
	{"json-plus", MEASURED, 29635.5, 3537.7, 268.7, 7.98, 60.37, 480, 1, 0},
	{"json-and-normal", MEASURED, 30012.0, 3375.0, 265.4, 7.98, 58.76, 0, 1, 0},
	{"percentiles-three", MEASURED, 30582.5, 3293.2, 260.4, 7.98, 60.31, 0, 1, 0},
	{"percentiles-lat-only", MEASURED, 31994.0, 3457.0, 248.9, 7.98, 67.07, 0, 1, 0},
	{"gtod_reduce-no-latency", MSG_fio_no_latency, 24913.1, NAN, NAN, 7.98, 52.28, 0, 1, 0},
	{"ramp-longer-than-run", MSG_fio_no_latency, 25441.0, NAN, NAN, 4.00, 16.60, 0, 1, 0},
	{"not-grouped", MEASURED, 30367.0, 3964.2, 261.4, 4.00, 60.98, 0, 2, 0},
	{"steadystate", MEASURED, 41473.9, 4191.1, 384.7, 7.98, 69.86, 0, 1, 0},
	{"write-no-fsync", MEASURED, 20.2, 61079.6, 49524.8, 1.00, 0.62, 0, 1, 0},
	{"write-end_fsync", MEASURED, 35.3, 11862.0, 6890.4, 1.00, 65.56, 0, 1, 0},
	{"write-fsync-every-8", MEASURED, 35.0, 36962.3, 10681.9, 1.00, 54.55, 0, 1, 0},
	{"write-direct", MEASURED, 12.8, 584972.7, 237671.0, 3.89, 95.20, 0, 1, 0},
	{"read-direct-1M", MEASURED, 64.6, 174027.8, 59456.1, 3.89, 88.22, 0, 1, 0},
	{"client-server", MEASURED, 33628.2, 2754.4, 236.7, 4.00, 68.79, 0, 1, 0},
	{"client-refused", MSG_fio_no_json, 0, NAN, NAN, NAN, NAN, 0, 0, 0},
	{"control-chars-in-name", MEASURED, 6453.5, 2441.2, 151.6, 1.00, 43.37, 0, 1, 0},
	{"non-utf8-name", MEASURED, 6005.0, 1335.3, 163.3, 1.00, 65.51, 0, 1, 0},
	{"signal-INT", MSG_fio_interrupted, 25683.3, 4385.5, 309.7, 4.00, 56.87, 0, 1, 0},
	{"signal-TERM", MSG_fio_interrupted, 21907.6, 5099.1, 364.0, 4.00, 54.41, 0, 1, 0},
	{"signal-HUP", MSG_fio_killed, 0, NAN, NAN, NAN, NAN, 0, 0, 0},
	{"signal-KILL", MSG_fio_killed, 0, NAN, NAN, NAN, NAN, 0, 0, 0},
	{"signal-INT-in-ramp", MSG_fio_interrupted, 17179.3, NAN, NAN, 4.00, 60.01, 0, 1, 0},
	{"output-file-with-errors", MSG_fio_direct_refused, 0, NAN, NAN, 3.62, 0.00, 0, 1, 22},
	{"output-file-thread", MSG_fio_direct_refused, 0, NAN, NAN, 3.62, 0.00, 0, 1, 22},
	{"version-3.42-libaio", MEASURED, 17893.1, 4531.9, 444.2, 4.00, 78.67, 0, 1, 0},
	{"version-3.42-psync-lat", MEASURED, 10571.9, 3391.5, 185.5, 1.00, 77.03, 0, 1, 0},
};

/* Its stdout, or what fio wrote to --output; and its stderr, if any came. */
static void load(const char *name, struct str *out, struct str *err)
{
	*out = *err = (struct str){0};
	if (file_read(out, tmpf(DATA "%s.stdout", name), FILE_LIMIT, NULL) != ST_OK)
		assert_int_equal(file_read(out, tmpf(DATA "%s.json", name), FILE_LIMIT, NULL),
		                 ST_OK);
	file_read(err, tmpf(DATA "%s.stderr", name), FILE_LIMIT, NULL);
}

/* A row of index.tsv: name, version, exit, command. */
static void read_row(const char *row, struct fio_result *r, struct arena *arena, char **name)
{
	const char *ended = strchr(strchr(row, '\t') + 1, '\t') + 1,
		   *command = strchr(ended, '\t') + 1;
	struct fio_asked asked = {.write = strstr(command, "--rw=write") != NULL};
	const char *runtime = strstr(command, "--runtime=");
	struct str out, err;

	*name = arena_strn(arena, row, (size_t)(strchr(row, '\t') - row));
	if (str_starts(ended, "killed by signal ")) {
		asked.signal = atoi(ended + strlen("killed by signal "));
		asked.exit_code = -1;
	} else {
		asked.exit_code = atoi(ended);
	}
	/* The steady state ends a run before its time. */
	if (runtime && !strstr(command, "--ss="))
		asked.runtime_s = atof(runtime + strlen("--runtime="));
	load(*name, &out, &err);
	asked.err = err.len ? str_text(&err) : NULL;
	fio_read(r, arena, str_text(&out), out.len, &asked);
	str_release(&out);
	str_release(&err);
}

static void check_sample(const struct sample *s, const struct fio_result *r)
{
	expect(r, s->name, s->reason);
	near(r->iops, s->iops, 0.06, tmpf("%s iops", s->name));
	near(r->lat.p99, s->p99_us, 0.06, tmpf("%s p99", s->name));
	near(r->lat.mean, s->mean_us, 0.06, tmpf("%s mean", s->name));
	near(r->depth, s->depth, 0.006, tmpf("%s depth", s->name));
	near(r->util, s->util, 0.006, tmpf("%s util", s->name));
	assert_int_equal(r->has_disk_util, !isnan(s->util));
	assert_int_equal(r->n_bins, s->bins);
	assert_int_equal(r->jobs, s->jobs);
	assert_int_equal(r->error, s->error);
}

static void test_every_sample(void **state)
{
	struct arena arena = {0};
	struct str index = {0};
	size_t seen = 0;

	(void)state;
	assert_int_equal(file_read(&index, DATA "index.tsv", FILE_LIMIT, NULL), ST_OK);
	for (char *save, *row = strtok_r(index.data, "\n", &save); row;
	     row = strtok_r(NULL, "\n", &save)) {
		struct fio_result r;
		char *name;

		read_row(row, &r, &arena, &name);
		assert_true(seen < COUNT(samples));
		assert_string_equal(name, samples[seen].name);
		check_sample(&samples[seen++], &r);
	}
	assert_int_equal(seen, COUNT(samples));
	str_release(&index);
	arena_release(&arena);
}

static struct fio_result read_sample(struct arena *arena, const char *name,
                                     const struct fio_asked *given)
{
	struct fio_asked asked = *given;
	struct fio_result r;
	struct str out, err;

	load(name, &out, &err);
	asked.err = str_text(&err);
	fio_read(&r, arena, str_text(&out), out.len, &asked);
	str_release(&out);
	str_release(&err);
	return r;
}

static void test_sample_details(void **state)
{
	struct fio_asked plain = {0}, one = {.exit_code = 1};
	struct arena arena = {0};
	struct fio_result r;

	(void)state;
	r = read_sample(&arena, "ok-libaio-direct", &plain);
	near(r.bandwidth_bs, 283674360, 1, "bandwidth");
	near(r.total_ios, 209817, 0, "count");
	near(r.clat.n, 209847, 0, "N");
	near(r.clat.p50, 292.864, 1e-9, "p50");
	near(r.clat.p99_99, 31064.064, 1e-9, "p99.99");
	near(r.clat.sd, 1447.548, 1e-3, "sd");
	near(r.slat.mean, 10.9698, 1e-4, "slat");
	near(r.share_below_1ms, 0.96492, 1e-4, "share");
	near(r.sys_cpu, 33.637, 1e-3, "sys");
	near(r.short_ios, 0, 0, "short");
	assert_true(r.lat_from_clat);
	assert_string_equal(r.version, "fio-3.33");
	assert_string_equal(r.notes, "");

	r = read_sample(&arena, "percentiles-three", &plain);
	assert_false(r.lat_from_clat);
	near(r.slat.p50, 6.944, 1e-9, "slat p50");
	assert_true(isnan(r.lat.p95));

	r = read_sample(&arena, "ok-psync-note-before-json", &plain);
	assert_non_null(strstr(r.notes, "note: both iodepth >= 1 and synchronous I/O engine"));
	assert_true(isnan(r.slat.mean) && r.slat.n == 0);

	r = read_sample(&arena, "enospc-layout", &one);
	assert_non_null(strstr(r.args[0], "No space left on device"));
	r = read_sample(&arena, "absent-directory", &one);
	assert_string_equal(r.args[1], "fio: absent is not a directory");
	r = read_sample(&arena, "io_uring-enosys", &one);
	assert_string_equal(r.args[0], "38");
	assert_string_equal(r.args[1], "fio: your kernel doesn't support io_uring");
	/* Only reading was done. */
	r = read_sample(&arena, "ok-libaio-direct", &(struct fio_asked){.write = true});
	expect(&r, "asked for writes", MSG_fio_nothing_done);
	arena_release(&arena);
}

/* The histogram says what the printed percentiles say. */
static void test_bins_match_percentiles(void **state)
{
	struct fio_asked plain = {0};
	struct arena arena = {0};
	struct fio_result r = read_sample(&arena, "json-plus", &plain);
	struct fio_bin *twice;
	double total = 0;
	size_t n;

	(void)state;
	for (size_t i = 0; i < r.n_bins; i++) {
		total += r.bins[i].count;
		assert_true(i == 0 || r.bins[i - 1].ns < r.bins[i].ns);
	}
	near(total, r.clat.n, 0, "counts");
	n = fio_bins_merge(&arena, r.bins, r.n_bins, r.bins, r.n_bins, &twice);
	assert_int_equal(n, r.n_bins);
	near(twice[7].count, 2 * r.bins[7].count, 0, "merged");
	near(fio_bins_percentile(twice, n, 0.5) / 1e3, r.clat.p50, 0.01 * r.clat.p50, "p50");
	near(fio_bins_percentile(twice, n, 0.95) / 1e3, r.clat.p95, 0.01 * r.clat.p95, "p95");
	near(fio_bins_percentile(twice, n, 0.99) / 1e3, r.clat.p99, 0.01 * r.clat.p99, "p99");
	near(fio_bins_percentile(twice, n, 0.999) / 1e3, r.clat.p99_9, 0.01 * r.clat.p99_9,
	     "p99.9");
	near(fio_bins_percentile(twice, n, 0.9999) / 1e3, r.clat.p99_99, 0.01 * r.clat.p99_99,
	     "p99.99");
	arena_release(&arena);
}

static void test_bins(void **state)
{
	static const struct fio_bin a[] = {{10, 1}, {30, 2}}, b[] = {{5, 4}, {30, 1}, {40, 2}},
				    none[] = {{7, 0}};
	struct arena arena = {0};
	struct fio_bin *out;
	size_t n = fio_bins_merge(&arena, a, 2, b, 3, &out);

	(void)state;
	assert_int_equal(n, 4);
	near(out[0].ns, 5, 0, "first");
	near(out[2].count, 3, 0, "shared");
	near(fio_bins_percentile(out, n, 0.4), 5, 0, "0.4");
	near(fio_bins_percentile(out, n, 0.41), 10, 0, "0.41");
	near(fio_bins_percentile(out, n, 1), 40, 0, "1");
	assert_int_equal(fio_bins_merge(&arena, NULL, 0, a, 2, &out), 2);
	assert_int_equal(fio_bins_merge(&arena, NULL, 0, NULL, 0, &out), 0);
	assert_true(isnan(fio_bins_percentile(NULL, 0, 0.5)));
	assert_true(isnan(fio_bins_percentile(none, 1, 0.5)));
	arena_release(&arena);
}

/* --- damaged -------------------------------------------------------------------------- */

/* Whatever is cut off, a piece is no measurement. */
static void test_truncation(void **state)
{
	static const char *const names[] = {"ok-libaio-direct", "json-plus", "status-interval",
	                                    "not-grouped"};
	struct fio_asked asked = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct str out, err;
		size_t whole;

		load(names[i], &out, &err);
		/* From the last document on, so that no earlier one is whole and last. */
		whole = i == 2 ? (size_t)(strstr(out.data + out.len - 6700, "\n{\n") - out.data) + 3
		               : 0;
		for (size_t len = whole; len + 2 < out.len; len += 97) {
			struct arena arena = {0};
			char *piece = malloc(len + 1);
			struct fio_result r;
			int reason;

			assert_non_null(piece);
			memcpy(piece, out.data, len);
			fio_read(&r, &arena, piece, len, &asked);
			reason = r.reason == MSG_fio_no_json ? MSG_fio_no_json : MSG_fio_not_json;
			expect(&r, tmpf("%s cut at %zu", names[i], len),
			       len ? reason : MSG_fio_silent);
			free(piece);
			arena_release(&arena);
		}
		str_release(&out);
		str_release(&err);
	}
}

/* One byte changed: anything may be said, but nothing may break. */
static void test_changed_bytes(void **state)
{
	static const char bytes[] = "{}\"\\,:-9\n[\0\xff";
	struct str out, err;

	(void)state;
	load("ok-libaio-direct", &out, &err);
	for (size_t i = 0; i < out.len; i += 13) {
		struct arena arena = {0};
		struct fio_asked asked = {0};
		struct fio_result r;
		char kept = out.data[i];

		out.data[i] = bytes[i % (sizeof(bytes) - 1)];
		fio_read(&r, &arena, out.data, out.len, &asked);
		if (r.outcome == OUTCOME_MEASURED)
			assert_true(r.iops > 0 && isfinite(r.iops));
		out.data[i] = kept;
		arena_release(&arena);
	}
	str_release(&out);
	str_release(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_sample),
		cmocka_unit_test(test_sample_details),
		cmocka_unit_test(test_bins_match_percentiles),
		cmocka_unit_test(test_bins),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_changed_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
