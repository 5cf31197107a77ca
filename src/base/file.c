/* Reading and durable writing of files. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unit.h"

#define NAMES_TRIED 16

enum status fd_read_all(struct str *out, int fd, const char *name, size_t limit, struct error *err)
{
	enum status st = ST_OK;
	struct str chunk = {0};

	str_pad(&chunk, '\0', 65536);
	for (;;) {
		ssize_t n = read(fd, chunk.data, chunk.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			st = error_errno(err, name, errno);
		if (n <= 0)
			break;
		if (out->len + (size_t)n > limit) {
			st = error_set(err, ST_RANGE, MSG_file_too_large, name,
			               fmt_bytes((int64_t)limit));
			break;
		}
		str_addn(out, chunk.data, (size_t)n);
	}
	str_release(&chunk);
	return st;
}

enum status file_read(struct str *out, const char *path, size_t limit, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum status st;

	if (fd < 0)
		return error_errno(err, path, errno);
	st = fd_read_all(out, fd, path, limit, err);
	close(fd);
	return st;
}

bool file_read_line(const char *path, struct str *out)
{
	char *newline;

	str_clear(out);
	if (file_read(out, path, 1 << 20, NULL) != ST_OK)
		return false;
	newline = out->data ? strchr(out->data, '\n') : NULL;
	if (newline) {
		*newline = '\0';
		out->len = (size_t)(newline - out->data);
	}
	return true;
}

enum status fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return status_from_errno(errno);
		p += n;
		len -= (size_t)n;
	}
	return ST_OK;
}

static enum status sync_parent(const char *path)
{
	struct str dir = {0};
	const char *slash = strrchr(path, '/');
	int fd;

	if (slash)
		str_addn(&dir, path, slash == path ? 1 : (size_t)(slash - path));
	else
		str_add(&dir, ".");
	fd = open(dir.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	str_release(&dir);
	if (fd >= 0) {
		fsync(fd); /* some file systems refuse; the rename stands anyway */
		close(fd);
	}
	return ST_OK;
}

int file_beside(struct str *name, const char *path)
{
	unsigned long long number;
	int fd = -1;

	for (int i = 0; i < NAMES_TRIED && fd < 0; i++) {
		if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
			return -1;
		str_clear(name);
		str_addf(name, "%s.%012llx", path, number & 0xffffffffffffULL);
		fd = open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	return fd;
}

enum status file_write(const char *path, const char *text, size_t len, struct error *err)
{
	struct str temporary = {0};
	enum status st = ST_OK;
	int fd;

	fd = file_beside(&temporary, path);
	if (fd < 0) {
		st = error_errno(err, path, errno);
		goto out;
	}
	if (fd_write_all(fd, text, len) != ST_OK || fsync(fd) != 0) {
		st = error_errno(err, path, errno);
		close(fd);
		unlink(temporary.data);
		goto out;
	}
	close(fd);
	if (rename(temporary.data, path) != 0) {
		st = error_errno(err, path, errno);
		unlink(temporary.data);
		goto out;
	}
	sync_parent(path);
out:
	str_release(&temporary);
	return st;
}

enum status dir_make(const char *path, struct error *err)
{
	struct str part = {0};
	enum status st = ST_OK;

	for (const char *p = path; st == ST_OK; p++) {
		if (*p && (*p != '/' || p == path)) {
			str_addc(&part, *p);
			continue;
		}
		if (part.len && mkdir(part.data, 0755) != 0 && errno != EEXIST && !*p)
			st = error_errno(err, path, errno);
		if (!*p)
			break;
		str_addc(&part, '/');
	}
	if (st == ST_OK) {
		struct stat info;

		if (stat(path, &info) != 0)
			st = error_errno(err, path, errno);
		else if (!S_ISDIR(info.st_mode))
			st = error_errno(err, path, ENOTDIR);
	}
	str_release(&part);
	return st;
}

const char *path_join(struct str *out, const char *dir, const char *name)
{
	str_clear(out);
	str_add(out, dir);
	if (out->len && out->data[out->len - 1] != '/')
		str_addc(out, '/');
	str_add(out, name);
	return out->data;
}
