/* storage: stamped data that is damaged on purpose, and writing that fails. */
#include "storage_kit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#define DATA_BYTES (64 * STORAGE_BLOCK)

/* --- stamped data --------------------------------------------- */

static struct storage_data data_in(struct place *p)
{
	return (struct storage_data){.path = arena_strf(&p->h.arena, "%s/data", p->scratch),
	                             .seed = 42,
	                             .bytes = DATA_BYTES};
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

static void overwrite(const struct storage_data *data, const void *bytes, size_t len,
                      int64_t offset)
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
	assert_true(check.zero + check.moved + check.foreign == 0);
	assert_true(storage_allocated(&data) >= DATA_BYTES);
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
	assert_int_equal(check.zero, 64);
	assert_true(storage_allocated(&data) < DATA_BYTES / 10);
	unlink(data.path);
	write_good(&data);
	overwrite(&data, zeroes, sizeof(zeroes), DATA_BYTES / 2);
	check = verify(&data, 2000);
	assert_true(check.right == 32 && check.first_wrong == DATA_BYTES / 2 && check.zero == 32);
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
	assert_true(check.moved == 2 && check.zero == 0 && check.foreign == 0);
	overwrite(&data, a, sizeof(a), 3 * STORAGE_BLOCK);
	b[STORAGE_BLOCK - 1] ^= 0x80;
	overwrite(&data, b, sizeof(b), 9 * STORAGE_BLOCK);
	check = verify(&data, 2000);
	assert_true(check.right == 63 && check.first_wrong == 9 * STORAGE_BLOCK);
	assert_true(check.zero + check.moved + check.foreign == 0);
}

static void foreign_files_are_found(void **state)
{
	struct place *p = *state;
	struct storage_data data = data_in(p), other = data;

	write_good(&data);
	other.seed = 43;
	assert_true(verify(&other, 2000).right == 0 && verify(&other, 2000).foreign == 64);
	other = data;
	other.path = arena_strf(&p->h.arena, "%s/other", p->scratch);
	assert_int_equal(rename(data.path, other.path), 0);
	assert_true(verify(&other, 2000).right == 0 && verify(&other, 2000).foreign == 64);
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
	assert_true(check.blocks == 0);
	unlink(data.path);
	assert_int_equal(storage_allocated(&data), -1);
	error_release(&err);
}

static void a_file_cut_and_grown_is_found(void **state)
{
	struct place *p = *state;
	struct storage_data data = data_in(p);
	struct storage_check check;

	data.seed = p->h.ctx.seed;
	write_good(&data);
	assert_int_equal(truncate(data.path, DATA_BYTES / 2), 0);
	assert_int_equal(truncate(data.path, DATA_BYTES), 0);
	check = verify(&data, 2000);
	assert_true(check.right == 32 && check.zero == 32);
	assert_true(storage_allocated(&data) < DATA_BYTES * 0.99);
}

/* --- writing that fails --------------------------------------------- */

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
	data.bytes = 24 << 20;
	assert_int_equal(storage_write(&written, &data, &clock_system, NULL), ST_OK);
	assert_true(done == 8 << 20 && written.bytes == done);
	data.bytes = done;
	data.go_on = NULL;
	assert_true(verify(&data, 2000).right == 2000);
	unlink(data.path);
	set_short(&p->h);
	p->h.ctx.deadline_ns = clock_now(&clock_system);
	harness_run(&p->h, ST_OK);
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "storage_slow_write", "storage_fs");
	assert_int_equal(files_in(p->scratch), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(good_data_is_right),
		TEST(data_has_nothing_in_common),
		TEST(holes_and_zeroes_are_found),
		TEST(moved_and_flipped_blocks_are_found),
		TEST(foreign_files_are_found),
		TEST(short_and_missing_files_are_errors),
		TEST(a_file_cut_and_grown_is_found),
		TEST(an_existing_file_stays),
		TEST(full_is_no_space),
		TEST(writing_can_be_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
