/* Appending to the heartbeat log; see heartbeat_log.h. */
#include "service/heartbeat_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/launch.h"
#include "service/moment.h"

static void count_line(struct heartbeat_log *log, const struct heartbeat *b)
{
	int64_t day = b->wall_ns / DAY_NS;

	log->seq = b->seq;
	if (day > log->day) {
		log->day = day;
		log->lines = 0;
	}
	log->lines += day == log->day;
}

static enum status take_beat(void *arg, const struct heartbeat *b, int64_t line, struct error *err)
{
	(void)line;
	(void)err;
	count_line(arg, b);
	return ST_OK;
}

/* Whole or not at all. */
static enum status write_line(struct heartbeat_log *log, const char *text, size_t len,
                              struct error *err)
{
	enum status st;

	if (log->broken && ftruncate(log->fd, log->whole) != 0)
		return error_errno(err, log->path, errno);
	log->broken = false;
	st = fd_write_all(log->fd, text, len);
	if (st == ST_OK) {
		log->whole += (int64_t)len;
		sha256_text(text, len - 1, log->head);
		return ST_OK;
	}
	st = error_errno(err, log->path, errno);
	/* Where even that fails the rest of the line stays, and the next opening cuts it. */
	if (ftruncate(log->fd, log->whole) != 0)
		log->broken = true;
	return st;
}

static enum status go_on(struct heartbeat_log *log, int64_t size, struct error *err)
{
	struct heartbeat_file file;
	enum status st = heartbeat_read(log->path, &file, take_beat, log, err);

	if (st != ST_OK)
		return st;
	log->whole = size - file.torn;
	log->torn = file.torn;
	memcpy(log->head, file.head, sizeof(log->head));
	if (file.torn && ftruncate(log->fd, log->whole) != 0)
		return error_errno(err, log->path, errno);
	return ST_OK;
}

/* A header that a crash tore is begun anew: no beat was lost with it. */
static enum status begin(struct heartbeat_log *log, struct error *err)
{
	struct stat at;

	if (fstat(log->fd, &at) != 0)
		return error_errno(err, log->path, errno);
	if (at.st_size > (off_t)strlen(HEARTBEAT_COLUMNS))
		return go_on(log, at.st_size, err);
	if (ftruncate(log->fd, 0) != 0)
		return error_errno(err, log->path, errno);
	return write_line(log, HEARTBEAT_COLUMNS "\n", strlen(HEARTBEAT_COLUMNS) + 1, err);
}

enum status heartbeat_log_open(struct heartbeat_log *log, const char *dir, const char *observer,
                               struct error *err)
{
	struct str path = {0};
	enum status st = dir_make(dir, err);

	*log = (struct heartbeat_log){.fd = -1, .day = -1};
	if (st != ST_OK)
		return st;
	str_addf(&path, "%s/%s%s", dir, observer, HEARTBEAT_ENDING);
	log->path = str_detach(&path);
	log->fd = open(log->path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (log->fd < 0)
		st = error_errno(err, log->path, errno);
	else if (flock(log->fd, LOCK_EX | LOCK_NB) != 0)
		st = error_set(err, ST_EXISTS, MSG_watch_busy, log->path);
	else
		st = begin(log, err);
	if (st != ST_OK)
		heartbeat_log_close(log);
	return st;
}

enum status heartbeat_log_append(struct heartbeat_log *log, struct heartbeat *beat,
                                 struct error *err)
{
	struct str line = {0};
	enum status st;

	beat->seq = log->seq + 1;
	heartbeat_format(&line, beat, log->head);
	st = write_line(log, line.data, line.len, err);
	if (st == ST_OK)
		count_line(log, beat);
	str_release(&line);
	return st;
}

enum status heartbeat_log_sync(struct heartbeat_log *log, struct error *err)
{
	return fdatasync(log->fd) == 0 ? ST_OK : error_errno(err, log->path, errno);
}

void heartbeat_log_close(struct heartbeat_log *log)
{
	close_fd(&log->fd);
	free(log->path);
	log->path = NULL;
}
