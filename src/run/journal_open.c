/* Starting a run directory and going on with one. run.json comes last and by
 * rename, so a directory either is a whole run or visibly none. */
#include "run/journal_open.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "run/line.h"
#include "run/run_json.h"
#include "run/rundir.h"

/* --- a new run ------------------------------------------------------------------ */

static enum status check_empty(const char *path, struct error *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	enum status st = ST_OK;

	if (!dir)
		return error_errno(err, path, errno);
	while (st == ST_OK && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			st = error_set(err, ST_EXISTS, MSG_run_not_empty, path, entry->d_name);
	closedir(dir);
	return st;
}

/* One writer per file. File systems without locks are taken as they are. */
static enum status lock_file(int fd, const char *path, struct error *err)
{
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return error_set(err, ST_EXISTS, MSG_run_busy, path);
	return ST_OK;
}

static enum status open_file(int *fd, const char *path, int flags, struct error *err)
{
	enum status st;

	*fd = open(path, O_RDWR | O_CLOEXEC | flags, 0644);
	if (*fd < 0)
		return error_errno(err, path, errno);
	st = lock_file(*fd, path, err);
	if (st != ST_OK)
		close(*fd);
	return st;
}

/* Making raw/ decides between two that start in the same empty directory: only
 * who made it may write there, or remove anything again. */
static enum status claim(const char *dir, struct error *err)
{
	struct str path = {0};
	enum status st = ST_OK;

	if (mkdir(path_join(&path, dir, RAW_DIR), 0755) != 0)
		st = error_errno(err, path.data, errno);
	str_release(&path);
	return st;
}

static void undo(const char *dir, struct journal *j)
{
	static const char *const files[] = {RUN_FILE, JOURNAL_FILE};
	struct str path = {0};
	char digest[SHA256_HEX];

	if (j)
		journal_close(j, true, digest, NULL);
	for (int i = 0; i < 2; i++)
		unlink(path_join(&path, dir, files[i]));
	rmdir(path_join(&path, dir, RAW_DIR));
	str_release(&path);
}

static enum status create_files(struct journal **out, const char *dir, const struct str *text,
                                struct error *err)
{
	struct str path = {0};
	char digest[SHA256_HEX];
	enum status st;
	int fd;

	*out = NULL;
	sha256_text(text->data, text->len, digest);
	st = open_file(&fd, path_join(&path, dir, JOURNAL_FILE), O_CREAT | O_EXCL, err);
	if (st == ST_OK)
		st = journal_begin_new(out, fd, path.data, digest, err);
	if (st == ST_OK)
		st = journal_sync(*out, err);
	if (st == ST_OK)
		st = file_write(path_join(&path, dir, RUN_FILE), text->data, text->len, err);
	if (st != ST_OK)
		undo(dir, *out);
	str_release(&path);
	return st;
}

enum status journal_create(struct journal **out, const char *dir, const struct run_info *info,
                           struct error *err)
{
	struct str text = {0};
	enum status st = run_json_format(&text, info, err);

	if (st == ST_OK)
		st = dir_make(dir, err);
	if (st == ST_OK)
		st = check_empty(dir, err);
	if (st == ST_OK)
		st = claim(dir, err);
	if (st == ST_OK)
		st = create_files(out, dir, &text, err);
	str_release(&text);
	return st;
}

/* --- going on --------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static enum status check_resumable(const struct rundir *run, const char *version,
                                   const char *profile_sha256, struct error *err)
{
	if (run->state == JOURNAL_ALTERED || run->state == JOURNAL_UNREADABLE)
		return error_set(err, ST_CORRUPT, MSG_resume_corrupt, run->path, run->trouble);
	if (!same(version, run->info.version))
		return error_set(err, ST_USAGE, MSG_resume_version, run->path, run->info.version,
		                 version ? version : "?");
	if (!same(profile_sha256, run->info.profile_sha256))
		return error_set(err, ST_USAGE, MSG_resume_profile, run->path);
	return ST_OK;
}

enum status journal_resume(struct journal **out, const char *dir, const char *version,
                           const char *profile_sha256, struct error *err)
{
	struct str path = {0};
	struct rundir run;
	enum status st;
	int fd;

	st = open_file(&fd, path_join(&path, dir, JOURNAL_FILE), 0, err);
	if (st != ST_OK)
		goto out;
	st = rundir_open(&run, dir, RUNDIR_CHAIN, err);
	if (st != ST_OK) {
		close(fd);
		goto out;
	}
	st = check_resumable(&run, version, profile_sha256, err);
	if (st == ST_OK) {
		struct journal_place place = {
			.size = (int64_t)run.whole_len,
			.lines = run.n_lines,
			.readings = run.n_readings,
			.torn_bytes = (int64_t)(run.map_len - run.whole_len),
			.digest = run.digest,
		};

		st = journal_begin_resumed(out, fd, path.data, &place, version, err);
	} else {
		close(fd);
	}
	rundir_close(&run);
out:
	str_release(&path);
	return st;
}
