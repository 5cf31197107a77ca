/* Stamped data: writing it, reading it back, telling what is wrong. */
#include "storage_data.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "storage_extents.h"

#define CHUNK         (1 << 20)
#define BETWEEN_CALLS (8 << 20)
#define WORDS         (STORAGE_BLOCK / 8)
/* The golden ratio: steps of a Weyl sequence, as in splitmix64. */
#define STEP 0x9e3779b97f4a7c15ULL

/* The finalizer of splitmix64: one word out for one in, none lost. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint64_t hash_path(const char *path)
{
	return hash_add(HASH_START, path, strlen(path));
}

static uint64_t stamp_of(uint64_t path, uint64_t seed, int64_t offset)
{
	return mix(path ^ mix(seed ^ mix((uint64_t)offset + 1)));
}

/* Word i of a block but the second, which is the offset: a counter through a
 * mixer, so that nothing compresses and no two blocks are alike. */
static uint64_t word_of(uint64_t stamp, int i)
{
	return i == 0 ? stamp : mix(stamp + (uint64_t)i * STEP);
}

static void fill_block(uint64_t *word, uint64_t path, uint64_t seed, int64_t offset)
{
	uint64_t stamp = stamp_of(path, seed, offset);

	for (int i = 0; i < WORDS; i++)
		word[i] = word_of(stamp, i);
	word[1] = (uint64_t)offset;
}

void storage_block(void *block, const struct storage_data *data, int64_t offset)
{
	fill_block(block, hash_path(data->path), data->seed, offset);
}

/* --- writing --------------------------------------------- */

/* Opened a second time for O_DIRECT: a file system that refuses it may do so
 * before or after creating, and nothing but our own file may be touched. */
static int create(const char *path, bool *direct)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int again = fd < 0 ? -1 : open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_DIRECT);

	*direct = again >= 0;
	if (again < 0)
		return fd;
	close(fd);
	return again;
}

/* One chunk; a file system may take O_DIRECT at open and refuse it here. */
static int write_chunk(int fd, const char *chunk, size_t len, bool *direct)
{
	while (len > 0) {
		ssize_t n = write(fd, chunk, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && *direct) {
			*direct = false;
			if (fcntl(fd, F_SETFL, 0) == 0)
				continue;
		}
		if (n <= 0)
			return n == 0 ? ENOSPC : errno;
		chunk += n;
		len -= (size_t)n;
	}
	return 0;
}

/* 0 or the errno. Without O_DIRECT the cache is emptied as we go: go_on must
 * not be told of progress that has yet to happen. */
static int write_all(int fd, const struct storage_data *data, char *chunk,
                     struct storage_written *out)
{
	uint64_t path = hash_path(data->path);

	while (out->bytes < data->bytes) {
		int64_t left = data->bytes - out->bytes, len = left < CHUNK ? left : CHUNK;
		int number;

		for (int64_t o = 0; o < len; o += STORAGE_BLOCK)
			fill_block((uint64_t *)(void *)(chunk + o), path, data->seed,
			           out->bytes + o);
		number = write_chunk(fd, chunk, (size_t)len, &out->direct);
		if (number)
			return number;
		out->bytes += len;
		if (out->bytes % BETWEEN_CALLS)
			continue;
		if (!out->direct && fdatasync(fd) != 0)
			return errno;
		if (data->go_on && !data->go_on(data->arg, out->bytes))
			break;
	}
	return fsync(fd) == 0 ? 0 : errno;
}

enum status storage_write(struct storage_written *out, const struct storage_data *data,
                          const struct clock_source *clock, struct error *err)
{
	void *chunk = NULL;
	int64_t start;
	int fd, number;

	*out = (struct storage_written){0};
	fd = create(data->path, &out->direct);
	if (fd < 0)
		return error_errno(err, data->path, errno);
	if (posix_memalign(&chunk, STORAGE_BLOCK, CHUNK) != 0)
		die_nomem();
	out->created = true;
	start = clock_now(clock);
	number = write_all(fd, data, chunk, out);
	out->seconds = fmax((double)(clock_now(clock) - start), 1) / 1e9;
	close(fd);
	free(chunk);
	return number ? error_errno(err, data->path, number) : ST_OK;
}

int64_t storage_allocated(const struct storage_data *data)
{
	struct stat info;

	return stat(data->path, &info) == 0 ? (int64_t)info.st_blocks * 512 : -1;
}

/* Some file systems account for blocks only when they commit (ZFS, 5 s). A file
 * system that does not account at all says 0. */
double storage_allocated_share(const struct storage_data *data, const struct clock_source *clock)
{
	double share = 0;

	for (int i = 0; i < 14; i++) {
		share = (double)storage_allocated(data) / (double)data->bytes;
		if (share <= 0 || share >= 0.99)
			break;
		clock_sleep(clock, NS_PER_S / 2);
	}
	return share;
}

double storage_mapped_share(const struct storage_data *data)
{
	int fd = open(data->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	double share = NAN;

	if (fd >= 0) {
		share = storage_written_share(fd, data->bytes, NULL);
		close(fd);
	}
	return share;
}

/* --- reading back --------------------------------------------- */

static int open_to_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == EINVAL) {
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	return fd;
}

/* 0 or the errno; the end of the file is EIO: the data were there once. */
static int read_block(int fd, void *block, int64_t offset)
{
	for (;;) {
		ssize_t n = pread(fd, block, STORAGE_BLOCK, offset);

		if (n == STORAGE_BLOCK)
			return 0;
		if (n >= 0)
			return EIO;
		if (errno == EINTR)
			continue;
		if (errno != EINVAL || !(fcntl(fd, F_GETFL) & O_DIRECT) ||
		    fcntl(fd, F_SETFL, 0) != 0)
			return errno;
	}
}

static bool all_zero(const uint64_t *word)
{
	for (int i = 0; i < WORDS; i++)
		if (word[i])
			return false;
	return true;
}

/* A block some run of Assay wrote somewhere: its words follow from its stamp. */
static bool is_whole(const uint64_t *word)
{
	for (int i = 2; i < WORDS; i++)
		if (word[i] != word_of(word[0], i))
			return false;
	return true;
}

static void sort_block(struct storage_check *out, const struct storage_data *data,
                       const uint64_t *word, int64_t offset)
{
	uint64_t path = hash_path(data->path);
	bool whole = is_whole(word);

	out->blocks++;
	if (whole && word[0] == stamp_of(path, data->seed, offset) && word[1] == (uint64_t)offset) {
		out->right++;
		return;
	}
	if (out->first_wrong < 0)
		out->first_wrong = offset;
	if (all_zero(word))
		out->zero++;
	else if (whole && word[0] == stamp_of(path, data->seed, (int64_t)word[1]))
		out->moved++;
	else if (whole)
		out->foreign++;
}

static int check_blocks(int fd, struct storage_check *out, const struct storage_data *data,
                        int64_t samples)
{
	int64_t blocks = data->bytes / STORAGE_BLOCK;
	uint64_t state = mix(data->seed);
	void *found = NULL;
	int number = 0;

	if (posix_memalign(&found, STORAGE_BLOCK, STORAGE_BLOCK) != 0)
		die_nomem();
	for (int64_t i = 0; i < samples && i < blocks && number == 0; i++) {
		uint64_t at =
			samples < blocks ? mix(state += STEP) % (uint64_t)blocks : (uint64_t)i;
		int64_t offset = (int64_t)at * STORAGE_BLOCK;

		if (data->go_on && !data->go_on(data->arg, offset))
			break;
		number = read_block(fd, found, offset);
		if (number == 0)
			sort_block(out, data, found, offset);
	}
	free(found);
	return number;
}

enum status storage_verify(struct storage_check *out, const struct storage_data *data,
                           int64_t samples, struct error *err)
{
	int fd = open_to_read(data->path), number;
	struct stat info;
	enum status st;

	*out = (struct storage_check){.first_wrong = -1};
	if (fd < 0)
		return error_errno(err, data->path, errno);
	if (fstat(fd, &info) == 0 && info.st_size < data->bytes) {
		st = error_set(err, ST_IO, MSG_storage_shrunk, data->path);
	} else {
		number = check_blocks(fd, out, data, samples);
		st = number ? error_errno(err, data->path, number) : ST_OK;
	}
	close(fd);
	return st;
}
