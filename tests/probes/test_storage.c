/* storage: data that is damaged on purpose, file systems and fios that misbehave,
 * and real fio runs on the disk below /var/tmp. All directories have names that
 * fio would cut to pieces if it were told them. */
#include "probe_harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "storage_data.h"

extern const struct probe probe_storage;

#define DATA_BYTES (64 * STORAGE_BLOCK)
#define TMPFS 0x01021994

/* Every metric of a set, without its prefix; those of an operating point first. */
static const char *const names[] = {
	"storage_read_iops", "storage_read_lat_mean_ms", "storage_read_lat_p99_ms", "storage_read_lat_p999_ms",
	"storage_lat_depth1_us", "storage_data_real", "storage_counter_ratio", "storage_write_mbs",
	"storage_engine", "storage_direct", "storage_fs",
};
enum { POINT_METRICS = 4, METRICS = sizeof(names) / sizeof(*names) };

/* --- a directory and an honest path for each test ------------------------------------ */

struct place {
	struct harness h;
	char scratch[80], bin[80];
	char *path; /* PATH as it was */
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	strcpy(p->scratch, "/var/tmp/assay a:b#c;d,e=\"f'%g$h\\i XXXXXX");
	strcpy(p->bin, "/var/tmp/assay-bin-XXXXXX");
	assert_non_null(mkdtemp(p->scratch));
	assert_non_null(mkdtemp(p->bin));
	p->path = strdup(getenv("PATH"));
	harness_init(&p->h, &probe_storage);
	p->h.ctx.scratch = p->scratch;
	p->h.ctx.subject_id = "/mnt/named";
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	setenv("PATH", p->path, 1);
	unlink(arena_strf(&p->h.arena, "%s/fio", p->bin));
	unlink(arena_strf(&p->h.arena, "%s/data", p->scratch));
	unlink(arena_strf(&p->h.arena, "%s/other", p->scratch));
	rmdir(p->bin);
	rmdir(p->scratch);
	harness_release(&p->h);
	free(p->path);
	free(p);
	return 0;
}

static int files_in(const char *dir)
{
	DIR *d = opendir(dir);
	int n = -2; /* . and .. */

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* A short run: two points, 16 MiB. */
static void set_short(struct harness *h)
{
	harness_set(h, "size", "16M");
	harness_set(h, "runtime_s", "0.5");
	harness_set(h, "ramp_s", "0");
	harness_set(h, "depths", "2,8");
}

/* A `fio` that answers --version with `version` and then does `body`. */
static void fake_fio(struct place *p, const char *version, const char *body)
{
	FILE *f = fopen(arena_strf(&p->h.arena, "%s/fio", p->bin), "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\nPATH='%s'\n[ \"$1\" = --version ] && { %s; }\n%s\n", p->path, version, body);
	fchmod(fileno(f), 0700);
	fclose(f);
	setenv("PATH", p->bin, 1);
}

#define IS_FIO "echo fio-3.33; exit 0"
#define SAMPLE(name) "cat '" TESTS_DIR "/probes/data/fio/" name "'"

/* All metrics but `said` have one reading, of this outcome and reason. */
static void expect_rest(const struct harness *h, enum outcome outcome, const char *code, const char *said)
{
	for (int i = 0; i < METRICS; i++)
		if (!said || !strstr(said, names[i]))
			harness_expect(h, names[i], outcome, code);
	assert_true(h->n_readings == METRICS);
}

/* --- stamped data --------------------------------------------------------------------- */

static struct storage_data data_in(struct place *p)
{
	return (struct storage_data){
		.path = arena_strf(&p->h.arena, "%s/data", p->scratch), .seed = 42, .bytes = DATA_BYTES};
}

static void write_good(struct storage_data *data)
{
	struct storage_written written;

	assert_int_equal(storage_write(&written, data, &clock_system, NULL), ST_OK);
	assert_true(written.created && written.bytes == data->bytes && written.seconds > 0);
}

static struct storage_check verify(const struct storage_data *data, int64_t samples)
{
	struct storage_check check;

	assert_int_equal(storage_verify(&check, data, samples, NULL), ST_OK);
	return check;
}

static void overwrite(const struct storage_data *data, const void *bytes, size_t len, int64_t offset)
{
	int fd = open(data->path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, offset), len);
	fsync(fd);
	close(fd);
}

static void good_data_is_right(void **state)
{
	struct storage_data data = data_in(*state);
	struct storage_check check;

	write_good(&data);
	check = verify(&data, 2000);
	assert_true(check.blocks == 64 && check.right == 64 && check.first_wrong == -1);
	assert_true(check.allocated >= DATA_BYTES);
	check = verify(&data, 10);
	assert_true(check.blocks == 10 && check.right == 10);
}

static int compare_words(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* No word appears twice in 64 blocks: nothing to compress or to share. */
static void data_has_nothing_in_common(void **state)
{
	struct storage_data data = data_in(*state);
	size_t n = DATA_BYTES / 8;
	uint64_t *words = malloc(DATA_BYTES);
	int64_t ones = 0;

	assert_non_null(words);
	for (int64_t at = 0; at < DATA_BYTES; at += STORAGE_BLOCK)
		storage_block(words + at / 8, &data, at);
	for (size_t i = 0; i < n; i++)
		ones += __builtin_popcountll(words[i]);
	/* Half the bits are set, but for the 64 plain offsets. */
	assert_true(ones > 64 * (int64_t)n * 31 / 64 && ones < 64 * (int64_t)n * 33 / 64);
	qsort(words, n, 8, compare_words);
	for (size_t i = 1; i < n; i++)
		assert_true(words[i] != words[i - 1]);
	free(words);
}

static void holes_and_zeroes_are_found(void **state)
{
	static char zeroes[DATA_BYTES / 2];
	struct storage_data data = data_in(*state);
	struct storage_check check;
	int fd = open(data.path, O_WRONLY | O_CREAT, 0600);

	assert_int_equal(ftruncate(fd, DATA_BYTES), 0);
	close(fd);
	check = verify(&data, 2000);
	assert_true(check.blocks == 64 && check.right == 0 && check.first_wrong == 0);
	assert_true(check.allocated < DATA_BYTES / 10);
	unlink(data.path);
	write_good(&data);
	overwrite(&data, zeroes, sizeof(zeroes), DATA_BYTES / 2);
	check = verify(&data, 2000);
	assert_true(check.right == 32 && check.first_wrong == DATA_BYTES / 2);
	check = verify(&data, 60);
	assert_true(check.blocks == 60 && check.right > 10 && check.right < 50);
}

static void moved_and_flipped_blocks_are_found(void **state)
{
	struct storage_data data = data_in(*state);
	unsigned char a[STORAGE_BLOCK], b[STORAGE_BLOCK];
	struct storage_check check;

	write_good(&data);
	storage_block(a, &data, 3 * STORAGE_BLOCK);
	storage_block(b, &data, 9 * STORAGE_BLOCK);
	overwrite(&data, b, sizeof(b), 3 * STORAGE_BLOCK);
	overwrite(&data, a, sizeof(a), 9 * STORAGE_BLOCK);
	check = verify(&data, 2000);
	assert_true(check.right == 62 && check.first_wrong == 3 * STORAGE_BLOCK);
	overwrite(&data, a, sizeof(a), 3 * STORAGE_BLOCK);
	b[STORAGE_BLOCK - 1] ^= 0x80;
	overwrite(&data, b, sizeof(b), 9 * STORAGE_BLOCK);
	check = verify(&data, 2000);
	assert_true(check.right == 63 && check.first_wrong == 9 * STORAGE_BLOCK);
}

static void foreign_files_are_found(void **state)
{
	struct place *p = *state;
	struct storage_data data = data_in(p), other = data;

	write_good(&data);
	other.seed = 43;
	assert_true(verify(&other, 2000).right == 0);
	other = data;
	other.path = arena_strf(&p->h.arena, "%s/other", p->scratch);
	assert_int_equal(rename(data.path, other.path), 0);
	assert_true(verify(&other, 2000).right == 0);
}

static void short_and_missing_files_are_errors(void **state)
{
	struct storage_data data = data_in(*state);
	struct storage_check check;
	struct error err = {0};

	assert_int_equal(storage_verify(&check, &data, 10, NULL), ST_NOTFOUND);
	write_good(&data);
	assert_int_equal(truncate(data.path, DATA_BYTES - 1), 0);
	assert_int_equal(storage_verify(&check, &data, 10, &err), ST_IO);
	assert_string_equal(str_text(&err.text), say(MSG_storage_shrunk, data.path));
	assert_non_null(strstr(str_text(&err.text), data.path));
	assert_true(check.blocks == 0 && check.allocated == 0);
	error_release(&err);
}

/* --- writing that fails ------------------------------------------------------------------ */

static void an_existing_file_stays(void **state)
{
	struct place *p = *state;
	struct storage_data data = data_in(p);
	struct storage_written written;
	struct error err = {0};
	struct stat info;

	assert_int_equal(file_write(data.path, "mine", 4, NULL), ST_OK);
	assert_int_equal(storage_write(&written, &data, &clock_system, &err), ST_EXISTS);
	assert_false(written.created);
	assert_non_null(strstr(str_text(&err.text), data.path));
	error_release(&err);
	set_short(&p->h);
	harness_run(&p->h, ST_OK);
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "storage_write_failed", "storage_fs");
	assert_int_equal(stat(data.path, &info), 0);
	assert_int_equal(info.st_size, 4);
	/* Nor is a link followed. */
	unlink(data.path);
	assert_int_equal(symlink("other", data.path), 0);
	assert_int_equal(storage_write(&written, &data, &clock_system, NULL), ST_EXISTS);
	assert_int_equal(files_in(p->scratch), 1);
}

static void full_is_no_space(void **state)
{
	struct place *p = *state;
	struct storage_data data = data_in(p);
	struct storage_written written;
	struct rlimit before, limit;
	struct error err = {0};

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){5 << 20, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	data.bytes = 16 << 20;
	assert_int_equal(storage_write(&written, &data, &clock_system, &err), ST_NOSPACE);
	assert_true(written.created);
	error_release(&err);
	unlink(data.path);
	set_short(&p->h);
	harness_run(&p->h, ST_OK);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "fio_no_space", "storage_fs");
	assert_int_equal(files_in(p->scratch), 0);
}

static bool stop_at_once(void *arg, int64_t done)
{
	*(int64_t *)arg = done;
	return false;
}

static void writing_can_be_ended(void **state)
{
	struct place *p = *state;
	struct storage_data data = data_in(p);
	struct storage_written written;
	int64_t done = -1;

	data.go_on = stop_at_once;
	data.arg = &done;
	assert_int_equal(storage_write(&written, &data, &clock_system, NULL), ST_TIMEOUT);
	assert_int_equal(done, 0);
	unlink(data.path);
	set_short(&p->h);
	p->h.ctx.deadline_ns = clock_now(&clock_system);
	harness_run(&p->h, ST_OK);
	expect_rest(&p->h, OUTCOME_TIMED_OUT, "storage_write_failed", "storage_fs");
	assert_int_equal(files_in(p->scratch), 0);
}

/* --- what is no storage -------------------------------------------------------------------- */

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
	assert_string_equal(harness_expect(&p->h, "storage_fs", OUTCOME_MEASURED, NULL)->text, "tmpfs");
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "storage_ram", "storage_fs");
}

static void a_path_that_is_gone(void **state)
{
	struct place *p = *state;

	p->h.ctx.scratch = "/nonexistent/scratch";
	harness_run(&p->h, ST_OK);
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "storage_gone", NULL);
}

/* A file system of 64 MiB in a mount namespace of our own, in the scratch directory. */
static bool mount_small(const char *scratch, const char *image)
{
	char command[400];

	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return false;
	setenv("SMALL", scratch, 1);
	snprintf(command, sizeof(command),
	         "{ truncate -s 64M %s && mkfs.ext4 -q -F %s && mount -o loop %s \"$SMALL\"; } 2>/dev/null", image,
	         image, image);
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
	static const char *const bad[] = {"1,,2", "0", "9999", "1,2,3,4,5,6,7,8,9,10,11,12,13", "1,", ",1", "", "4,4",
	                                  " 4", "+4", "-4", "4x", "4;8", "99999999999999999999", "all"};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		harness_clear(&p->h);
		p->h.n_settings = 0;
		harness_set(&p->h, "depths", bad[i]);
		harness_run(&p->h, ST_OK);
		expect_rest(&p->h, OUTCOME_NOT_MEASURED, "storage_depths", NULL);
		assert_int_equal(files_in(p->scratch), 0);
	}
}

/* --- fios that are none ------------------------------------------------------------------------ */

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
		{SAMPLE("io_uring-eperm.stdout") "; exit 1", "fio_engine_refused", OUTCOME_NOT_MEASURED},
		{SAMPLE("enospc-layout.stdout") "; exit 1", "fio_no_space", OUTCOME_NOT_MEASURED},
		{SAMPLE("data-real.stdout") "; exit 128", "fio_interrupted", OUTCOME_NOT_MEASURED},
		{SAMPLE("data-real.stdout") "; kill -9 $$", "fio_killed", OUTCOME_NOT_MEASURED},
	};
	struct place *p = *state;

	set_short(&p->h);
	harness_set(&p->h, "engine", "psync");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		harness_clear(&p->h);
		fake_fio(p, IS_FIO, rows[i].body);
		harness_run(&p->h, ST_OK);
		assert_true(harness_expect(&p->h, "storage_data_real", OUTCOME_MEASURED, NULL)->value == 1);
		assert_true(harness_expect(&p->h, "storage_write_mbs", OUTCOME_MEASURED, NULL)->value > 0);
		expect_rest(&p->h, rows[i].outcome, rows[i].code, "storage_data_real storage_write_mbs storage_fs");
		assert_int_equal(files_in(p->scratch), 0);
	}
}

static void a_fio_that_hangs_is_ended(void **state)
{
	struct place *p = *state;

	set_short(&p->h);
	fake_fio(p, IS_FIO, "exec sleep 100");
	p->h.ctx.deadline_ns = clock_now(&clock_system) + NS_PER_S;
	harness_run(&p->h, ST_OK);
	/* By then the data may not even be written; both are a hang. */
	assert_int_equal(harness_reading(&p->h, "storage_read_iops")->outcome, OUTCOME_TIMED_OUT);
	assert_int_equal(harness_reading(&p->h, "storage_engine")->outcome, OUTCOME_TIMED_OUT);
	assert_int_equal(files_in(p->scratch), 0);
}

/* --- engines and points ------------------------------------------------------------------------- */

#define REAL "exec fio \"$@\""

/* And jobs have equal depths, so that a point has the one it is named after. */
static void a_refused_engine_gives_way(void **state)
{
	struct place *p = *state;
	const struct reading *r;
	int jobs;

	set_short(&p->h);
	harness_set(&p->h, "depths", "8");
	harness_set(&p->h, "jobs", "3");
	fake_fio(p, IS_FIO, "case \"$*\" in *io_uring*) " SAMPLE("io_uring-eperm.stdout") "; exit 1;; esac; " REAL);
	harness_run(&p->h, ST_OK);
	r = harness_expect(&p->h, "storage_engine", OUTCOME_MEASURED, NULL);
	assert_string_not_equal(r->text, "io_uring");
	assert_true(str_starts(harness_param_text(&p->h, r, "refused"), "io_uring ("));
	assert_string_equal(harness_param_text(&p->h, r, "fio"), "fio-3.33");
	jobs = strcmp(r->text, "psync") == 0 ? 8 : 2;
	r = harness_expect(&p->h, "storage_read_iops", OUTCOME_MEASURED, NULL);
	assert_true(harness_param(r, "jobs") == jobs && harness_param(r, "depth") == 8);
}

static void refused_direct_io_is_said(void **state)
{
	struct place *p = *state;

	p->h.ctx.sys_root = p->bin; /* without /sys: no counters, which is not zero */
	set_short(&p->h);
	harness_set(&p->h, "depths", "2");
	harness_set(&p->h, "engine", "psync");
	fake_fio(p, IS_FIO, "case \"$*\" in *direct=1*) " SAMPLE("direct-misaligned.stdout") "; "
	         SAMPLE("direct-misaligned.stderr") " >&2; exit 1;; esac; " REAL);
	harness_run(&p->h, ST_OK);
	assert_string_equal(harness_expect(&p->h, "storage_direct", OUTCOME_MEASURED, NULL)->text, "no");
	assert_string_equal(harness_expect(&p->h, "storage_engine", OUTCOME_MEASURED, NULL)->text, "psync");
	harness_expect(&p->h, "storage_read_iops", OUTCOME_MEASURED, NULL);
	harness_expect(&p->h, "storage_counter_ratio", OUTCOME_NOT_MEASURED, "storage_no_counter");
}

/* Each point owes its own readings, whatever became of the others. */
static void a_failing_point_is_not_silent(void **state)
{
	struct place *p = *state;

	set_short(&p->h);
	harness_set(&p->h, "depths", "3,4");
	harness_set(&p->h, "engine", "psync");
	fake_fio(p, IS_FIO, "case \"$*\" in *numjobs=3*) kill -9 $$;; esac; " REAL);
	harness_run(&p->h, ST_OK);
	for (int i = 0; i < POINT_METRICS; i++) {
		const struct reading *bad = harness_reading_at(&p->h, names[i], "depth=3");

		assert_int_equal(bad->outcome, OUTCOME_NOT_MEASURED);
		assert_string_equal(bad->reason.code, "fio_killed");
		assert_int_equal(harness_reading_at(&p->h, names[i], "depth=4")->outcome, OUTCOME_MEASURED);
		assert_int_equal(harness_count(&p->h, names[i]), 2);
	}
	assert_int_equal(p->h.n_readings, 2 * POINT_METRICS + METRICS - POINT_METRICS);
}

/* A device of our own making, of which the last run reads 100 MiB, in sectors of 512. */
static void counters_are_compared(void **state)
{
	struct place *p = *state;
	struct arena *a = &p->h.arena;
	const char *root = arena_strf(a, "%s/root", p->bin), *stat_path;
	const struct reading *r;
	struct stat info;

	assert_int_equal(stat(p->scratch, &info), 0);
	stat_path = arena_strf(a, "%s/sys/dev/block/%u:%u/stat", root, major(info.st_dev), minor(info.st_dev));
	assert_int_equal(dir_make(arena_strn(a, stat_path, strlen(stat_path) - 5), NULL), ST_OK);
	assert_int_equal(file_write(stat_path, "  9 8 1000 7 6 5 4\n", 19, NULL), ST_OK);
	p->h.ctx.sys_root = root;
	set_short(&p->h);
	harness_set(&p->h, "depths", "3");
	harness_set(&p->h, "engine", "psync");
	fake_fio(p, IS_FIO, arena_strf(a, "case \"$*\" in *numjobs=3*) echo 9 8 205800 7 > '%s';; esac; " REAL,
	                               stat_path));
	harness_run(&p->h, ST_OK);
	r = harness_expect(&p->h, "storage_counter_ratio", OUTCOME_MEASURED, NULL);
	assert_true(fabs(r->value * harness_param(r, "fio_bytes") - (100 << 20)) < 1);
	assert_int_equal(dir_remove(root, NULL), ST_OK);
}

/* --- a real run ------------------------------------------------------------------------------------ */

static void check_point(struct place *p, const char *prefix, const char *point, int depth)
{
	const struct reading *r[POINT_METRICS];

	for (int i = 0; i < POINT_METRICS; i++) {
		r[i] = harness_reading_at(&p->h, arena_strf(&p->h.arena, "%s%s", prefix, names[i]), point);
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
	assert_true(r[2]->value <= r[3]->value);
	assert_true(r[1]->value == r[1]->stats[STAT_MEAN] && r[2]->value == r[2]->stats[STAT_P99]);
	assert_true(r[1]->stats[STAT_MIN] <= r[1]->value && r[1]->value <= r[1]->stats[STAT_MAX]);
	/* Little's law, with room for the ends of a short run. */
	assert_true(r[0]->value * r[1]->value / 1e3 < depth * 1.2);
	assert_non_null(harness_raw(&p->h, arena_strf(&p->h.arena, "fio-depth%d.json", depth)));
}

static void check_run(struct place *p, const char *prefix)
{
	struct arena *a = &p->h.arena;
	const struct reading *r;

	check_point(p, prefix, "depth=2", 2);
	check_point(p, prefix, "depth=8", 8);
	assert_int_equal(p->h.n_readings, 2 * POINT_METRICS + METRICS - POINT_METRICS);
	r = harness_expect(&p->h, arena_strf(a, "%sstorage_lat_depth1_us", prefix), OUTCOME_MEASURED, NULL);
	assert_true(r->value > 1 && r->value == r->stats[STAT_P50] && !r->point);
	assert_non_null(harness_raw(&p->h, "fio-latency.json"));
	r = harness_expect(&p->h, arena_strf(a, "%sstorage_data_real", prefix), OUTCOME_MEASURED, NULL);
	assert_true(r->value == 1 && harness_param(r, "blocks") == 2000 && harness_param(r, "wrong") == 0);
	assert_true(harness_param(r, "first_wrong") == -1);
	harness_expect(&p->h, arena_strf(a, "%sstorage_write_mbs", prefix), OUTCOME_MEASURED, NULL);
	harness_expect(&p->h, arena_strf(a, "%sstorage_engine", prefix), OUTCOME_MEASURED, NULL);
	r = harness_expect(&p->h, arena_strf(a, "%sstorage_direct", prefix), OUTCOME_MEASURED, NULL);
	assert_true(strcmp(r->text, "yes") == 0 || strcmp(r->text, "no") == 0);
	harness_expect(&p->h, arena_strf(a, "%sstorage_fs", prefix), OUTCOME_MEASURED, NULL);
}

/* Never less than fio read; more when others read from the disk meanwhile. */
static void check_counters(const struct harness *h)
{
	const struct reading *r = harness_reading(h, "storage_counter_ratio");

	if (r->outcome != OUTCOME_MEASURED)
		harness_expect(h, "storage_counter_ratio", OUTCOME_NOT_MEASURED, "storage_no_counter");
	else
		assert_true(r->value > 0.8 && harness_param(r, "fio_bytes") > 0);
}

static void the_named_path(void **state)
{
	struct place *p = *state;

	assert_int_equal(file_write(arena_strf(&p->h.arena, "%s/other", p->scratch), "mine", 4, NULL), ST_OK);
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
	assert_true(harness_param(harness_reading_at(&p->h, "local_storage_read_iops", "depth=8"), "jobs") == 8);
	assert_int_equal(files_in(p->scratch), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(good_data_is_right),
		TEST(data_has_nothing_in_common),
		TEST(holes_and_zeroes_are_found),
		TEST(moved_and_flipped_blocks_are_found),
		TEST(foreign_files_are_found),
		TEST(short_and_missing_files_are_errors),
		TEST(an_existing_file_stays),
		TEST(full_is_no_space),
		TEST(writing_can_be_ended),
		TEST(memory_is_refused),
		TEST(a_path_that_is_gone),
		TEST(too_little_space_is_refused),
		TEST(bad_depths_are_refused),
		TEST(no_fio),
		TEST(fios_of_the_wrong_kind),
		TEST(fios_that_fail),
		TEST(a_fio_that_hangs_is_ended),
		TEST(a_refused_engine_gives_way),
		TEST(refused_direct_io_is_said),
		TEST(a_failing_point_is_not_silent),
		TEST(counters_are_compared),
		TEST(the_named_path),
		TEST(the_local_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
