/* Stamped data: writing it fast, reading it back, telling what is wrong. */
#include "storage_data.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (1 << 20)
#define BETWEEN_CALLS (64 << 20)

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint64_t hash_path(const char *path)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * 0x100000001b3ULL;
	return h;
}

static void fill_block(uint64_t *word, uint64_t path, uint64_t seed, int64_t offset)
{
	uint64_t stamp = mix(path ^ mix(seed ^ mix((uint64_t)offset + 1)));

	word[0] = stamp;
	word[1] = (uint64_t)offset;
	/* A counter through a mixer: nothing to compress, no two blocks alike. */
	for (int i = 2; i < STORAGE_BLOCK / 8; i++)
		word[i] = mix(stamp + (uint64_t)i * 0x9e3779b97f4a7c15ULL);
}

void storage_block(void *block, const struct storage_data *data, int64_t offset)
{
	fill_block(block, hash_path(data->path), data->seed, offset);
}

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
static enum status write_chunk(int fd, const void *chunk, size_t len, bool *direct)
{
	const char *p = chunk;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && *direct) {
			*direct = false;
			if (fcntl(fd, F_SETFL, 0) == 0)
				continue;
		}
		if (n <= 0)
			return n == 0 ? ST_NOSPACE : status_from_errno(errno);
		p += n;
		len -= (size_t)n;
	}
	return ST_OK;
}

static enum status write_all(int fd, const struct storage_data *data, char *chunk, bool *direct,
                             int64_t *written)
{
	uint64_t path = hash_path(data->path);

	for (int64_t at = 0; at < data->bytes; at += CHUNK) {
		int64_t len = data->bytes - at < CHUNK ? data->bytes - at : CHUNK;
		enum status st;

		for (int64_t o = 0; o < len; o += STORAGE_BLOCK)
			fill_block((uint64_t *)(void *)(chunk + o), path, data->seed, at + o);
		st = write_chunk(fd, chunk, (size_t)len, direct);
		if (st != ST_OK)
			return st;
		*written = at + len;
		if (at % BETWEEN_CALLS == 0 && data->go_on && !data->go_on(data->arg, at))
			return ST_TIMEOUT;
	}
	return fsync(fd) == 0 ? ST_OK : status_from_errno(errno);
}

enum status storage_write(struct storage_written *out, const struct storage_data *data,
                          const struct clock_source *clock, struct error *err)
{
	void *chunk = NULL;
	int64_t start;
	enum status st;
	int fd;

	*out = (struct storage_written){0};
	if (posix_memalign(&chunk, STORAGE_BLOCK, CHUNK) != 0)
		die_nomem();
	fd = create(data->path, &out->direct);
	if (fd < 0) {
		st = error_errno(err, data->path, errno);
		goto out;
	}
	out->created = true;
	start = clock_now(clock);
	errno = 0;
	st = write_all(fd, data, chunk, &out->direct, &out->bytes);
	if (st == ST_TIMEOUT)
		error_set(err, st, MSG_storage_slow_write, data->path);
	else if (st != ST_OK)
		error_set(err, st, MSG_path_error, data->path, strerror(errno ? errno : ENOSPC));
	out->seconds = fmax((double)(clock_now(clock) - start), 1) / 1e9;
	close(fd);
out:
	free(chunk);
	return st;
}

/* --- reading back ---------------------------------------------------------------- */

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

static bool read_block(int fd, void *block, int64_t offset)
{
	ssize_t n;

	do
		n = pread(fd, block, STORAGE_BLOCK, offset);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EINVAL && fcntl(fd, F_SETFL, 0) == 0)
		n = pread(fd, block, STORAGE_BLOCK, offset);
	if (n >= 0 && n < STORAGE_BLOCK)
		errno = EIO;
	return n == STORAGE_BLOCK;
}

static enum status check_blocks(int fd, struct storage_check *out, const struct storage_data *data,
                                int64_t samples, struct error *err)
{
	int64_t blocks = data->bytes / STORAGE_BLOCK;
	uint64_t state = data->seed ^ 0x5bd1e995;
	void *found = NULL, *wanted = NULL;
	enum status st = ST_OK;

	if (posix_memalign(&found, STORAGE_BLOCK, STORAGE_BLOCK) != 0 ||
	    posix_memalign(&wanted, STORAGE_BLOCK, STORAGE_BLOCK) != 0)
		die_nomem();
	if (samples > blocks)
		samples = blocks;
	for (int64_t i = 0; i < samples; i++) {
		int64_t block = samples == blocks ? i : (int64_t)(mix(state += 0x9e3779b97f4a7c15ULL) % (uint64_t)blocks);
		int64_t offset = block * STORAGE_BLOCK;

		if (!read_block(fd, found, offset)) {
			st = error_errno(err, data->path, errno);
			break;
		}
		storage_block(wanted, data, offset);
		out->blocks++;
		if (memcmp(found, wanted, STORAGE_BLOCK) == 0)
			out->right++;
		else if (out->first_wrong < 0)
			out->first_wrong = offset;
	}
	free(found);
	free(wanted);
	return st;
}

enum status storage_verify(struct storage_check *out, const struct storage_data *data, int64_t samples,
                           struct error *err)
{
	struct stat info;
	enum status st;
	int fd;

	*out = (struct storage_check){.first_wrong = -1};
	fd = open_to_read(data->path);
	if (fd < 0)
		return error_errno(err, data->path, errno);
	if (fstat(fd, &info) != 0)
		st = error_errno(err, data->path, errno);
	else if (info.st_size < data->bytes)
		st = error_set(err, ST_IO, MSG_storage_shrunk, data->path);
	else
		st = check_blocks(fd, out, data, samples, err);
	out->allocated = st == ST_OK ? (int64_t)info.st_blocks * 512 : 0;
	close(fd);
	return st;
}
