/* The spool of a node. */
#include "coord/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

enum status spool_open(struct spool **out, const char *run, const char *host, int rank,
                       struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	struct spool *s = calloc(1, sizeof(*s));
	struct str path = {0};
	enum status st;

	if (!s)
		die_nomem();
	str_addf(&path, "%s/.assay-%s", tmp && *tmp == '/' ? tmp : "/var/tmp", run);
	st = make_dir(path.data, err);
	str_addf(&path, "/%s-%d", host, rank);
	if (st == ST_OK)
		st = make_dir(path.data, err);
	if (st == ST_OK) {
		const char *file = tmpf("%s/lines.jsonl", path.data);

		s->fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (s->fd < 0)
			st = error_errno(err, file, errno);
	}
	s->dir = str_detach(&path);
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
