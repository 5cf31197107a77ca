/* Tokens and locks of other nodes and other runs beside our own directory. */
#include "storage_token.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

#define TOKEN_LIMIT 4096

/* "assay token .assay-<run> <node>" */
static const char *token_text(const char *scratch, const char *node)
{
	const char *end = strrchr(scratch, '/'), *run = end;

	while (run && run > scratch && run[-1] != '/')
		run--;
	return tmpf("assay token %.*s %s\n", run ? (int)(end - run) : 0, run ? run : "", node);
}

static const char *own_name(const char *scratch)
{
	const char *slash = strrchr(scratch, '/');

	return slash ? slash + 1 : scratch;
}

enum status storage_token_put(const char *scratch, struct error *err)
{
	const char *text = token_text(scratch, own_name(scratch));
	const char *path = tmpf("%s/token", scratch);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	size_t len = strlen(text);
	int number = 0;

	if (fd < 0)
		return error_errno(err, path, errno);
	if (write(fd, text, len) != (ssize_t)len || fsync(fd) != 0)
		number = errno ? errno : ENOSPC;
	close(fd);
	return number ? error_errno(err, path, number) : ST_OK;
}

bool storage_token_seen(const char *scratch, const char *node)
{
	struct str text = {0};
	bool same = file_read(&text, tmpf("%s/../%s/token", scratch, node), TOKEN_LIMIT, NULL) ==
	                    ST_OK &&
	            strcmp(str_text(&text), token_text(scratch, node)) == 0;

	str_release(&text);
	return same;
}

int storage_token_others(struct arena *arena, const char *scratch, const char **names)
{
	DIR *d = opendir(tmpf("%s/..", scratch));
	const struct dirent *e;
	struct str list = {0};
	int count = 0;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || strcmp(e->d_name, own_name(scratch)) == 0 ||
		    !storage_token_seen(scratch, e->d_name))
			continue;
		str_addf(&list, "%s%s", count ? "," : "", e->d_name);
		count++;
	}
	if (d)
		closedir(d);
	*names = arena_str(arena, str_text(&list));
	str_release(&list);
	return count;
}

/* --- other runs --------------------------------------------- */

#define RUN_PREFIX ".assay-"

/* A lock that is held cannot be had, shared or not. */
static bool is_held(const char *lock)
{
	int fd = open(lock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return held;
}

static bool run_is_live(const char *dir, const char *run)
{
	DIR *d = opendir(tmpf("%s/%s", dir, run));
	const struct dirent *e;
	bool live = false;

	while (d && !live && (e = readdir(d)))
		live = e->d_name[0] != '.' && is_held(tmpf("%s/%s/%s/.lock", dir, run, e->d_name));
	if (d)
		closedir(d);
	return live;
}

/* Names break the tie of two directories made in the same tick. */
static bool is_older(const char *dir, const char *run, const char *than)
{
	struct stat a, b;

	if (stat(tmpf("%s/%s", dir, run), &a) != 0 || stat(tmpf("%s/%s", dir, than), &b) != 0)
		return false;
	if (a.st_ctim.tv_sec != b.st_ctim.tv_sec)
		return a.st_ctim.tv_sec < b.st_ctim.tv_sec;
	if (a.st_ctim.tv_nsec != b.st_ctim.tv_nsec)
		return a.st_ctim.tv_nsec < b.st_ctim.tv_nsec;
	return strcmp(run, than) < 0;
}

const char *storage_other_run(struct arena *arena, const char *scratch)
{
	char *parent = realpath(tmpf("%s/..", scratch), NULL),
	     *own = parent ? strrchr(parent, '/') : NULL;
	const char *found = NULL;
	const struct dirent *e;
	DIR *d = NULL;

	if (own && str_starts(own + 1, RUN_PREFIX)) {
		*own = '\0';
		d = opendir(parent[0] ? parent : "/");
	}
	while (d && !found && (e = readdir(d)))
		if (str_starts(e->d_name, RUN_PREFIX) && strcmp(e->d_name, own + 1) != 0 &&
		    run_is_live(parent, e->d_name) && is_older(parent, e->d_name, own + 1))
			found = arena_str(arena, e->d_name);
	if (d)
		closedir(d);
	free(parent);
	return found;
}
