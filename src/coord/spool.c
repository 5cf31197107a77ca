/* The spool of a node. */
#include "coord/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scratch.h"

#define RAW_LIMIT ((size_t)60 << 20)

struct spool {
	char *dir;
	int fd; /* of lines.jsonl */
	int64_t lines, saved;
};

/* Not through a link, and nobody else's. */
static enum status make_dir(const char *dir, struct error *err)
{
	struct stat info;

	if (mkdir(dir, 0700) == 0)
		return ST_OK;
	if (errno != EEXIST || lstat(dir, &info) != 0)
		return error_errno(err, dir, errno);
	if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077))
		return error_set(err, ST_EXISTS, MSG_spool_taken, dir);
	return ST_OK;
}

/* A rank that was this host's in an earlier attempt may have had another number: what it
 * left goes away, unless somebody holds it, whose host has the same name. */
static void sweep_earlier(const char *parent, const char *host, const char *own)
{
	DIR *dir = opendir(parent);
	const struct dirent *entry;
	size_t len = strlen(host);

	while (dir && (entry = readdir(dir))) {
		const char *rank = entry->d_name + len + 1, *path;
		struct scratch scratch;
		int fd;

		if (strncmp(entry->d_name, host, len) != 0 || entry->d_name[len] != '-' || !*rank ||
		    rank[strspn(rank, "0123456789")] || strcmp(entry->d_name, own) == 0)
			continue;
		path = tmpf("%s/%s", parent, entry->d_name);
		fd = open(tmpf("%s/lines.jsonl", path), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
		    scratch_note(&scratch, path, false, NULL) == ST_OK) {
			scratch_remove(&scratch, NULL);
			scratch_release(&scratch);
		}
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
}

/* Held as soon as it can be seen by its name. */
static int open_lines(const char *dir, struct error *err)
{
	const char *name = tmpf("%s/lines.jsonl", dir), *hidden = tmpf("%s/.lines", dir);
	int fd = open(name, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0) {
		flock(fd, LOCK_EX | LOCK_NB);
		return fd;
	}
	fd = open(hidden, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0) {
		flock(fd, LOCK_EX | LOCK_NB);
		if (rename(hidden, name) == 0)
			return fd;
		close(fd);
	}
	error_errno(err, name, errno);
	return -1;
}

static enum status open_below(struct spool *s, const char *parent, const char *host, int rank,
                              struct error *err)
{
	enum status st = make_dir(parent, err);
	const char *own = tmpf("%s-%d", host, rank);
	struct str path = {0};

	str_addf(&path, "%s/%s", parent, own);
	if (st == ST_OK)
		sweep_earlier(parent, host, own);
	if (st == ST_OK)
		st = make_dir(path.data, err);
	if (st == ST_OK) {
		s->fd = open_lines(path.data, err);
		st = s->fd < 0 ? ST_IO : ST_OK;
	}
	s->dir = str_detach(&path);
	return st;
}

enum status spool_open(struct spool **out, const char *run, const char *host, int rank,
                       struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	const char *const places[] = {tmp && *tmp == '/' ? tmp : "/var/tmp", "/var/tmp", "/tmp",
	                              "/dev/shm"};
	struct spool *s = calloc(1, sizeof(*s));
	struct error first = {0}, here = {0};
	struct str parent = {0};
	enum status st = ST_IO;

	if (!s)
		die_nomem();
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && st != ST_OK; i++) {
		free(s->dir);
		str_clear(&parent);
		str_addf(&parent, "%s/.assay-%s", places[i], run);
		st = open_below(s, parent.data, host, rank, &here);
		if (st != ST_OK && !first.status)
			first = here;
		else
			error_release(&here);
		here = (struct error){0};
	}
	if (st == ST_OK && first.status)
		error_set(err, st, MSG_spool_elsewhere, str_text(&first.text), s->dir);
	else if (st != ST_OK)
		error_set(err, st, MSG_spool_nowhere, str_text(&first.text));
	error_release(&first);
	str_release(&parent);
	if (st == ST_OK) {
		*out = s;
		return ST_OK;
	}
	free(s->dir);
	free(s);
	return st;
}

const char *spool_dir(const struct spool *s)
{
	return s->dir;
}

bool spool_sees(const char *dir, const char *run)
{
	struct str text = {0};
	bool sees = file_read(&text, tmpf("%s/run.json", dir), 1 << 20, NULL) == ST_OK &&
	            strstr(str_text(&text), run) != NULL;

	str_release(&text);
	return sees;
}

void spool_add(struct spool *s, const char *line, size_t len)
{
	struct str text = {0};

	str_addn(&text, line, len);
	str_addc(&text, '\n');
	fd_write_all(s->fd, text.data, text.len);
	s->lines++;
	str_release(&text);
}

void spool_saved(struct spool *s, int64_t lines)
{
	if (s && lines > s->saved)
		s->saved = lines;
}

enum status spool_take_raw(struct spool *s, const char *file, struct str *content,
                           struct error *err)
{
	return file_read(content, tmpf("%s/%s", s->dir, file), RAW_LIMIT, err);
}

void spool_drop_raw(struct spool *s, const char *file)
{
	unlink(tmpf("%s/%s", s->dir, file));
}

void spool_close(struct spool *s, bool keep)
{
	struct scratch scratch;

	if (!s)
		return;
	close(s->fd);
	if ((!keep || s->saved >= s->lines) &&
	    scratch_note(&scratch, s->dir, false, NULL) == ST_OK) {
		scratch_remove(&scratch, NULL);
		scratch_release(&scratch);
	}
	free(s->dir);
	free(s);
}
