/* Digests of raw files. Names come from the journal, which may have been
 * written by anyone: nothing outside the run directory is opened, and nothing
 * but regular files is read. */
#include "run/verify_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"

#define CHUNK ((size_t)1 << 18)

/* Relative, and no component is "..". */
static bool inside(const char *file)
{
	if (*file == '/' || !*file)
		return false;
	for (const char *p = file; p; p = strchr(p, '/'), p = p ? p + 1 : NULL)
		if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || !p[2]))
			return false;
	return true;
}

/* Follows no symbolic link on the way. */
static int open_inside(int dir, const char *file)
{
	int at = dir, next;
	const char *slash;

	while ((slash = strchr(file, '/'))) {
		next = openat(at, tmpf("%.*s", (int)(slash - file), file),
		              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (at != dir)
			close(at);
		if (next < 0)
			return -1;
		at = next;
		file = slash + 1;
	}
	next = openat(at, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (at != dir)
		close(at);
	return next;
}

static int digest_fd(int fd, char hex[SHA256_HEX], int64_t *bytes)
{
	struct sha256 sum;
	char *chunk = malloc(CHUNK);
	ssize_t n;
	int failed;

	if (!chunk)
		die_nomem();
	sha256_init(&sum);
	*bytes = 0;
	while ((n = read(fd, chunk, CHUNK)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0) {
			sha256_add(&sum, chunk, (size_t)n);
			*bytes += n;
		}
	failed = n < 0 ? errno : 0;
	free(chunk);
	sha256_hex(&sum, hex);
	return failed;
}

static const char *file_trouble(struct arena *arena, int dir, const struct raw_file *raw)
{
	char hex[SHA256_HEX];
	int64_t bytes;
	struct stat info;
	int fd, failed;

	if (!inside(raw->file))
		return arena_str(arena, say(MSG_raw_outside, raw->file));
	fd = open_inside(dir, raw->file);
	if (fd < 0)
		return arena_str(arena, say(MSG_raw_unreadable, raw->file, strerror(errno)));
	if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
		close(fd);
		return arena_str(arena, say(MSG_raw_not_file, raw->file));
	}
	failed = digest_fd(fd, hex, &bytes);
	close(fd);
	if (failed)
		return arena_str(arena, say(MSG_raw_unreadable, raw->file, strerror(failed)));
	if (bytes != raw->bytes)
		return arena_str(arena, say(MSG_raw_size, raw->file, tmpf("%lld", (long long)bytes),
		                            tmpf("%lld", (long long)raw->bytes)));
	return strcmp(hex, raw->sha256) == 0 ? NULL
	                                     : arena_str(arena, say(MSG_raw_digest, raw->file));
}

static bool same_file(const struct raw_file *a, const struct raw_file *b)
{
	return strcmp(a->file, b->file) == 0 && strcmp(a->sha256, b->sha256) == 0 &&
	       a->bytes == b->bytes;
}

const char *raw_trouble(struct rundir *run)
{
	int dir = open(run->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct raw_file *last = NULL;
	const char *trouble = NULL;

	if (dir < 0)
		return arena_str(&run->arena, say(MSG_raw_unreadable, run->path, strerror(errno)));
	for (int64_t i = 0; i < run->n_readings && !trouble; i++) {
		const struct raw_file *raw = &run->readings[i].raw;

		/* The metrics of one unit mostly share a file and follow each other. */
		if (!raw->file || (last && same_file(last, raw)))
			continue;
		trouble = file_trouble(&run->arena, dir, raw);
		last = raw;
	}
	close(dir);
	return trouble;
}
