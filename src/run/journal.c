/* The journal writer. Lines are written at the known end of the file, so a
 * piece left behind by a full disk is cut off, or overwritten by the next line;
 * readers drop whatever has no newline. */
#include "run/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/sha256.h"
#include "run/chain.h"
#include "run/journal_open.h"

#define SYNC_EVERY_S 1

struct journal {
	int fd;
	struct str path;
	struct str line;       /* being written */
	char prev[SHA256_HEX]; /* of the last line */
	int64_t seq;           /* of the next line */
	int64_t size;          /* bytes of whole lines */
	bool torn;             /* a piece behind them could not be cut off */
	_Atomic int64_t readings;

	pthread_mutex_t lock; /* of all above and below */
	pthread_cond_t changed, synced;
	pthread_t thread;
	bool stop, urgent;
	int64_t synced_size;
	int sync_errno; /* first failure, 0: none */
};

/* --- the fsync thread ------------------------------------------------------- */

static void wait_a_while(struct journal *j)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SYNC_EVERY_S;
	while (!j->stop && !j->urgent &&
	       pthread_cond_timedwait(&j->changed, &j->lock, &until) != ETIMEDOUT)
		;
}

static void *sync_main(void *arg)
{
	struct journal *j = arg;

	pthread_mutex_lock(&j->lock);
	while (!j->stop || j->synced_size != j->size) {
		int64_t target;
		int failed;

		if (j->synced_size == j->size) {
			pthread_cond_wait(&j->changed, &j->lock);
			continue;
		}
		wait_a_while(j);
		target = j->size;
		j->urgent = false;
		pthread_mutex_unlock(&j->lock);
		failed = fdatasync(j->fd) == 0 ? 0 : errno;
		pthread_mutex_lock(&j->lock);
		if (!j->sync_errno)
			j->sync_errno = failed;
		j->synced_size = target;
		pthread_cond_broadcast(&j->synced);
	}
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

/* Signals are the business of the thread that runs the measurement. */
static int start_thread(struct journal *j)
{
	sigset_t all, before;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&j->thread, NULL, sync_main, j);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

/* --- lines -------------------------------------------------------------------- */

static void cut_tail(struct journal *j)
{
	j->torn = ftruncate(j->fd, j->size) != 0;
}

/* Writes j->line; all or nothing. */
static enum status write_line(struct journal *j, struct error *err)
{
	size_t done = 0;

	if (j->torn)
		cut_tail(j);
	while (done < j->line.len) {
		ssize_t n = pwrite(j->fd, j->line.data + done, j->line.len - done,
		                   (off_t)(j->size + (int64_t)done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int failed = n < 0 ? errno : ENOSPC;

			cut_tail(j);
			return error_errno(err, j->path.data, failed);
		}
		done += (size_t)n;
	}
	sha256_text(j->line.data, j->line.len - 1, j->prev);
	j->size += (int64_t)j->line.len;
	j->seq++;
	pthread_cond_signal(&j->changed);
	return ST_OK;
}

static enum status put_line(struct journal *j, const char *line, size_t len, struct error *err)
{
	str_clear(&j->line);
	if (j->seq > 0) {
		chain_link(&j->line, line, len, j->seq, j->prev);
	} else {
		str_addn(&j->line, line, len);
		str_addc(&j->line, '\n');
	}
	return write_line(j, err);
}

/* One of the journal's own lines: kind, time, then a text and a number, those
 * that are named. */
static enum status put_own(struct journal *j, const char *kind, const char *key, const char *text,
                           const char *number_key, int64_t number, struct error *err)
{
	struct str line = {0}, time = {0};
	struct json_out out = json_writer(&line, 0);
	enum status st;

	time_add_utc(&time, clock_wall(&clock_system));
	json_object_begin(&out, NULL);
	json_put_string(&out, "kind", kind);
	if (j->seq == 0)
		json_put_int(&out, "v", READING_VERSION);
	json_put_string(&out, "time", time.data);
	if (key)
		json_put_string(&out, key, text);
	if (strcmp(kind, "work") == 0)
		json_put_string(&out, "state", "done");
	if (number_key)
		json_put_int(&out, number_key, number);
	json_object_end(&out);
	pthread_mutex_lock(&j->lock);
	st = put_line(j, line.data, line.len, err);
	pthread_mutex_unlock(&j->lock);
	str_release(&line);
	str_release(&time);
	return st;
}

/* What keeps a line from being a reading's, or NULL. A line of the journal's
 * own kinds, or one that is linked already, would make the file lie. */
static const char *frame_fault(const char *line, size_t len)
{
	if (len < 3 || line[0] != '{' || line[1] != '"' || line[len - 1] != '}')
		return say(MSG_frame_object);
	if (memchr(line, '\n', len) || memchr(line, '\0', len))
		return say(MSG_frame_bytes);
	if (len >= 7 && memcmp(line, "{\"kind\"", 7) == 0)
		return say(MSG_frame_kind);
	if (chain_is_linked(line, len))
		return say(MSG_frame_linked);
	return NULL;
}

enum status journal_append(struct journal *j, const char *line, size_t len, struct error *err)
{
	const char *fault;
	enum status st;

	if (len > JOURNAL_LINE_MAX)
		return error_set(err, ST_RANGE, MSG_frame, j->path.data,
		                 say(MSG_frame_long, tmpf("%zu", JOURNAL_LINE_MAX)));
	fault = frame_fault(line, len);
	if (fault)
		return error_set(err, ST_PARSE, MSG_frame, j->path.data, fault);
	pthread_mutex_lock(&j->lock);
	st = put_line(j, line, len, err);
	if (st == ST_OK)
		j->readings++;
	pthread_mutex_unlock(&j->lock);
	return st;
}

enum status journal_work_done(struct journal *j, const char *work, struct error *err)
{
	return put_own(j, "work", "work", work, NULL, 0, err);
}

/* --- sync, close --------------------------------------------------------------- */

static enum status sync_status(struct journal *j, struct error *err)
{
	return j->sync_errno ? error_errno(err, j->path.data, j->sync_errno) : ST_OK;
}

enum status journal_sync(struct journal *j, struct error *err)
{
	enum status st;
	int64_t target;

	pthread_mutex_lock(&j->lock);
	target = j->size;
	while (j->synced_size < target) {
		j->urgent = true;
		pthread_cond_signal(&j->changed);
		pthread_cond_wait(&j->synced, &j->lock);
	}
	st = sync_status(j, err);
	pthread_mutex_unlock(&j->lock);
	return st;
}

static void journal_free(struct journal *j)
{
	pthread_cond_destroy(&j->changed);
	pthread_cond_destroy(&j->synced);
	pthread_mutex_destroy(&j->lock);
	str_release(&j->path);
	str_release(&j->line);
	free(j);
}

enum status journal_close(struct journal *j, bool cut, char digest[65], struct error *err)
{
	enum status st = ST_OK, synced;

	if (!cut)
		st = put_own(j, "end", NULL, NULL, "readings", j->readings, err);
	pthread_mutex_lock(&j->lock);
	j->stop = true;
	pthread_cond_signal(&j->changed);
	pthread_mutex_unlock(&j->lock);
	pthread_join(j->thread, NULL);
	if (j->torn)
		cut_tail(j);
	synced = sync_status(j, err);
	if (close(j->fd) != 0 && synced == ST_OK)
		synced = error_errno(err, j->path.data, errno);
	memcpy(digest, j->prev, SHA256_HEX);
	journal_free(j);
	return st == ST_OK ? synced : st;
}

/* --- opening -------------------------------------------------------------------- */

static struct journal *journal_new(int fd, const char *path)
{
	struct journal *j = calloc(1, sizeof(*j));
	pthread_condattr_t monotonic;

	if (!j)
		die_nomem();
	j->fd = fd;
	str_add(&j->path, path);
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->synced, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&j->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return j;
}

/* Starts the thread and writes the first line of this attempt; on failure j is
 * freed and its descriptor closed. */
static enum status begin(struct journal **out, struct journal *j, const char *kind, const char *key,
                         const char *text, const char *number_key, int64_t number,
                         struct error *err)
{
	char digest[SHA256_HEX];
	int failed = start_thread(j);
	enum status st;

	if (failed) {
		st = error_errno(err, j->path.data, failed);
		close(j->fd);
		journal_free(j);
		return st;
	}
	st = put_own(j, kind, key, text, number_key, number, err);
	if (st == ST_OK)
		*out = j;
	else
		journal_close(j, true, digest, NULL);
	return st;
}

enum status journal_begin_new(struct journal **out, int fd, const char *path,
                              const char *run_sha256, struct error *err)
{
	return begin(out, journal_new(fd, path), "start", "run_sha256", run_sha256, NULL, 0, err);
}

enum status journal_begin_resumed(struct journal **out, int fd, const char *path,
                                  const struct journal_place *place, const char *version,
                                  struct error *err)
{
	struct journal *j = journal_new(fd, path);

	j->size = j->synced_size = place->size;
	j->seq = place->lines;
	j->readings = place->readings;
	memcpy(j->prev, place->digest, SHA256_HEX);
	cut_tail(j);
	return begin(out, j, "resume", "version", version, "dropped_bytes", place->torn_bytes, err);
}
