/* Making, sweeping and removing scratch directories. Every step below the
 * storage path goes through a descriptor of the parent, so that nobody can
 * swap a directory for a symbolic link between looking and removing. */
#include "base/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/launch.h"
#include "base/proc.h"

#ifndef SYS_openat2
#define SYS_openat2 437 /* the same on all architectures; older headers lack it */
#endif
#define RESOLVE_FLAGS (0x01 | 0x04 | 0x08) /* no other mount, no links, no way up */
#define PREFIX        ".assay-"
#define LOCK          ".lock"
#define FOREIGN       (-1) /* no errno value: of another user */
#define NAMES_MOST    8    /* components from ".assay-…" on */
#define PASSES_MOST   64
#define DIR_FLAGS     (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define MAKE_WAIT_NS  (5 * NS_PER_S) /* for the guard of a killed run to finish */

/* --- one step down --------------------------------------------------------------- */

/* Opens directory `name` in `parent`: no link, no other file system, no mount. */
static int open_below(int parent, const char *name)
{
	struct stat above, info;
	struct {
		uint64_t flags, mode, resolve;
	} how = {.flags = DIR_FLAGS, .resolve = RESOLVE_FLAGS};
	int fd = (int)syscall(SYS_openat2, parent, name, &how, sizeof(how));

	/* Old kernel (before 5.6), or a container's filter that does not know it. */
	if (fd < 0 && errno != ENOSYS && errno != EPERM)
		return -1;
	if (fd < 0)
		fd = openat(parent, name, DIR_FLAGS);
	if (fd < 0)
		return -1;
	if (fstat(parent, &above) != 0 || fstat(fd, &info) != 0 || above.st_dev != info.st_dev) {
		close(fd);
		errno = EXDEV;
		return -1;
	}
	return fd;
}

/* --- a path in its parts -------------------------------------------------------------- */

/* "/data/.assay-1f/n1": base "/data", names ".assay-1f" and "n1". */
struct parts {
	char *text;
	const char *base;
	char *names[NAMES_MOST];
	int count;
};

static char *last_prefix(char *path)
{
	char *found = NULL;

	for (char *p = path; (p = strstr(p, PREFIX)); p++)
		if (p == path || p[-1] == '/')
			found = p;
	return found;
}

static bool parts_make(struct parts *parts, const char *path)
{
	char *begin, *save = NULL;

	*parts = (struct parts){.text = strdup(path)};
	if (!parts->text)
		die_nomem();
	begin = last_prefix(parts->text);
	if (!begin)
		return false;
	for (char *name = strtok_r(begin, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
		if (parts->count == NAMES_MOST || strcmp(name, "..") == 0 || strcmp(name, ".") == 0)
			return false;
		parts->names[parts->count++] = name;
	}
	/* The slash before the prefix ends the base; "/" itself has no other. */
	if (begin == parts->text)
		parts->base = ".";
	else if (begin == parts->text + 1)
		parts->base = "/";
	else
		begin[-1] = '\0', parts->base = parts->text;
	return true;
}

static int open_base(const char *base)
{
	return open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The directory itself, or -1. */
static int open_parts(const struct parts *parts)
{
	int fd = open_base(parts->base);

	for (int i = 0; i < parts->count && fd >= 0; i++) {
		int next = open_below(fd, parts->names[i]);

		close(fd);
		fd = next;
	}
	return fd;
}

/* --- removing ----------------------------------------------------------------------------- */

struct removal {
	int errnum; /* the first that failed, 0 */
	bool held;  /* a network file system keeps a file that is still open */
};

static bool remove_entry(struct removal *r, int parent, const char *name);

/* Everything in the directory but its lock at the top; consumes fd. */
static void empty_dir(struct removal *r, int fd, bool top)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	bool again = dir != NULL;

	if (!dir) {
		r->errnum = r->errnum ? r->errnum : errno;
		close(fd);
		return;
	}
	/* Some file systems skip entries when others go meanwhile: look again. */
	for (int pass = 0; again && pass < PASSES_MOST; pass++) {
		again = false;
		rewinddir(dir);
		while ((entry = readdir(dir))) {
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			    (top && strcmp(entry->d_name, LOCK) == 0))
				continue;
			again = remove_entry(r, dirfd(dir), entry->d_name) || again;
		}
	}
	closedir(dir);
}

/* True when it is gone. */
static bool remove_entry(struct removal *r, int parent, const char *name)
{
	struct stat info;
	int fd, flags = 0;

	if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	if (S_ISDIR(info.st_mode)) {
		flags = AT_REMOVEDIR;
		fd = open_below(parent, name);
		if (fd < 0) {
			r->errnum = r->errnum ? r->errnum : errno;
			return false;
		}
		empty_dir(r, fd, false);
	}
	if (unlinkat(parent, name, flags) == 0)
		return true;
	if (errno == EBUSY && str_starts(name, ".nfs"))
		r->held = true;
	else if (errno != ENOENT && r->errnum == 0)
		r->errnum = errno;
	return false;
}

/* The lock goes last, and is let go before the directory: an open file would
 * keep an NFS directory from being removed. */
static void remove_target(struct scratch *s, struct removal *r, int parent, const char *name)
{
	int fd = open_below(parent, name), inner;
	struct stat info;

	if (fd < 0) {
		r->errnum = errno == ENOENT ? 0 : errno;
		return;
	}
	if (fstat(fd, &info) != 0 ||
	    (s->known && (info.st_dev != s->dev || info.st_ino != s->ino))) {
		close(fd);
		return;
	}
	inner = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (inner < 0)
		r->errnum = errno;
	else
		empty_dir(r, inner, true);
	if (r->errnum == 0)
		remove_entry(r, fd, LOCK);
	close(fd);
	close_fd(&s->lock_fd);
	if (r->errnum == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT &&
	    !((errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY) && r->held))
		r->errnum = errno;
}

/* Down to the target and back up, removing parents that are empty now. */
static void remove_parts(struct scratch *s, struct removal *r, int parent, char *const *names,
                         int count)
{
	int fd;

	if (count == 1) {
		remove_target(s, r, parent, names[0]);
		return;
	}
	fd = open_below(parent, names[0]);
	if (fd < 0) {
		r->errnum = errno == ENOENT ? 0 : errno;
		return;
	}
	remove_parts(s, r, fd, names + 1, count - 1);
	close(fd);
	unlinkat(parent, names[0], AT_REMOVEDIR); /* not empty: another node's is in use */
}

enum status scratch_note(struct scratch *s, const char *path, bool hold, struct error *err)
{
	struct parts parts;
	struct stat info;
	enum status st = ST_OK;
	int fd = -1;

	*s = (struct scratch){.path = strdup(path), .lock_fd = -1};
	if (!s->path)
		die_nomem();
	if (!parts_make(&parts, path)) {
		st = error_set(err, ST_USAGE, MSG_scratch_path, path, PREFIX);
		scratch_release(s);
		goto out;
	}
	fd = open_parts(&parts);
	if (fd < 0 || fstat(fd, &info) != 0)
		goto out;
	s->known = true;
	s->dev = info.st_dev;
	s->ino = info.st_ino;
	if (hold)
		s->lock_fd = openat(fd, LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (s->lock_fd >= 0)
		flock(s->lock_fd, LOCK_SH | LOCK_NB);
out:
	close_fd(&fd);
	free(parts.text);
	return st;
}

enum status scratch_remove(struct scratch *s, struct error *err)
{
	struct removal r = {0};
	struct parts parts;
	enum status st = ST_OK;
	int base;

	if (!parts_make(&parts, s->path)) {
		st = error_set(err, ST_USAGE, MSG_scratch_path, s->path, PREFIX);
		goto out;
	}
	base = open_base(parts.base);
	if (base < 0) {
		if (errno != ENOENT)
			st = error_errno(err, s->path, errno);
		goto out;
	}
	remove_parts(s, &r, base, parts.names, parts.count);
	close(base);
	if (r.errnum)
		st = error_errno(err, s->path, r.errnum);
out:
	free(parts.text);
	return st;
}

void scratch_release(struct scratch *s)
{
	close_fd(&s->lock_fd);
	free(s->path);
	s->path = NULL;
}

/* --- making ------------------------------------------------------------------------------- */

static bool same_file(int parent, const char *name, int fd)
{
	struct stat here, there;

	return fstat(fd, &here) == 0 && fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Alone on the lock for a moment, then sharing it with the guard. A file
 * system without flock is used unlocked: its left-overs are never swept. */
static int take_lock(int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOLCK ? 0 : errno;
	return flock(fd, LOCK_SH | LOCK_NB) == 0 ? 0 : errno;
}

/* Whether directory `run` and `node` in it belong to whom our files here belong to - root
 * of a client may be another user on the server. Others' could be emptied or exchanged
 * below us. Asked of a file that is surely ours: a new one, through its descriptor. */
static int check_owner(int run, int node)
{
	const char *name = tmpf(".mine-%d", (int)getpid());
	struct stat ours, above, here;
	int fd, errnum = 0;

	fd = openat(node, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	if (fstat(fd, &ours) != 0 || fstat(run, &above) != 0 || fstat(node, &here) != 0)
		errnum = errno;
	else if (above.st_uid != ours.st_uid || here.st_uid != ours.st_uid)
		errnum = FOREIGN;
	unlinkat(node, name, 0);
	close(fd);
	return errnum;
}

/* One try: 0, FOREIGN, or an errno value; EWOULDBLOCK and ENOENT are worth another. */
static int make_once(int base, const char *run, const char *node, int *lock_fd)
{
	int run_fd = -1, node_fd = -1, errnum = 0;

	errno = 0;
	if (mkdirat(base, run, 0700) != 0 && errno != EEXIST)
		return errno;
	run_fd = open_below(base, run);
	if (run_fd < 0 || (mkdirat(run_fd, node, 0700) != 0 && errno != EEXIST))
		goto failed;
	node_fd = open_below(run_fd, node);
	if (node_fd < 0)
		goto failed;
	errnum = check_owner(run_fd, node_fd);
	if (errnum)
		goto out;
	*lock_fd = openat(node_fd, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*lock_fd < 0)
		goto failed;
	errnum = take_lock(*lock_fd);
	/* A sweep may have removed it all between opening and locking. */
	if (errnum == 0 && !(same_file(node_fd, LOCK, *lock_fd) &&
	                     same_file(run_fd, node, node_fd) && same_file(base, run, run_fd)))
		errnum = ENOENT;
	if (errnum)
		close_fd(lock_fd);
	goto out;
failed:
	errnum = errno;
out:
	close_fd(&node_fd);
	close_fd(&run_fd);
	return errnum;
}

static bool is_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

enum status scratch_make(const char *path, const char *run, const char *node, struct str *dir,
                         int *lock_fd, struct error *err)
{
	const struct clock_source *clock = &clock_system;
	int64_t until = clock_now(clock) + MAKE_WAIT_NS;
	struct str name = {0};
	int base, errnum;

	*lock_fd = -1;
	if (!is_name(run) || !is_name(node))
		return error_set(err, ST_USAGE, MSG_scratch_name, is_name(run) ? node : run);
	base = open_base(path);
	if (base < 0)
		return error_errno(err, path, errno);
	str_addf(&name, PREFIX "%s", run);
	while ((errnum = make_once(base, name.data, node, lock_fd)) != 0) {
		if ((errnum != EWOULDBLOCK && errnum != ENOENT) || clock_now(clock) >= until)
			break;
		clock_sleep(clock, 20 * NS_PER_MS);
	}
	close(base);
	str_clear(dir);
	str_addf(dir, "%s%s%s/%s", path, str_ends(path, "/") ? "" : "/", name.data, node);
	str_release(&name);
	if (errnum == EWOULDBLOCK)
		return error_set(err, ST_EXISTS, MSG_scratch_in_use, dir->data);
	if (errnum)
		scratch_close(dir->data, -1); /* what was made of it so far */
	if (errnum == FOREIGN)
		return error_set(err, ST_EXISTS, MSG_scratch_foreign, dir->data);
	return errnum ? error_errno(err, dir->data, errnum) : ST_OK;
}

void scratch_close(const char *dir, int lock_fd)
{
	struct parts parts;
	int fds[NAMES_MOST], n = 0;

	close_fd(&lock_fd);
	if (parts_make(&parts, dir)) {
		fds[0] = open_base(parts.base);
		while (fds[n] >= 0 && n + 1 < parts.count) {
			fds[n + 1] = open_below(fds[n], parts.names[n]);
			n++;
		}
		for (; n >= 0; n--) {
			if (fds[n] >= 0)
				unlinkat(fds[n], parts.names[n], AT_REMOVEDIR);
			close_fd(&fds[n]);
		}
	}
	free(parts.text);
}

/* --- sweeping ------------------------------------------------------------------------------ */

/* True when nobody holds it; keeps the lock then. */
static bool is_left_over(int node_fd, int *lock_fd)
{
	*lock_fd = openat(node_fd, LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*lock_fd < 0)
		return false;
	if (flock(*lock_fd, LOCK_EX | LOCK_NB) == 0 && same_file(node_fd, LOCK, *lock_fd))
		return true;
	close_fd(lock_fd);
	return false;
}

static enum status sweep_one(const char *dir, int run_fd, const char *node, struct str *removed,
                             struct error *err)
{
	struct scratch s = {.path = (char *)(uintptr_t)dir, .lock_fd = -1};
	int fd = open_below(run_fd, node);
	enum status st = ST_OK;
	struct stat info;

	if (fd < 0)
		return ST_OK;
	if (fstat(fd, &info) == 0 && is_left_over(fd, &s.lock_fd)) {
		s.known = true;
		s.dev = info.st_dev;
		s.ino = info.st_ino;
		st = scratch_remove(&s, err);
		close_fd(&s.lock_fd);
		if (st == ST_OK)
			str_addf(removed, "%s%s", removed->len ? ", " : "", dir);
	} else {
		/* Cut off while being made: nothing in it, or it stays. */
		unlinkat(run_fd, node, AT_REMOVEDIR);
	}
	close(fd);
	return st;
}

enum status guard_sweep(const char *path, const char *node, struct str *removed, struct error *err)
{
	DIR *list = opendir(path);
	enum status st = ST_OK, one;
	struct str dir = {0};
	struct dirent *entry;

	if (!is_name(node))
		st = error_set(err, ST_USAGE, MSG_scratch_name, node);
	else if (!list && errno != ENOENT)
		st = error_errno(err, path, errno);
	while (is_name(node) && list && (entry = readdir(list))) {
		int run_fd;

		if (!str_starts(entry->d_name, PREFIX))
			continue;
		run_fd = open_below(dirfd(list), entry->d_name);
		if (run_fd < 0)
			continue;
		str_clear(&dir);
		str_addf(&dir, "%s%s%s/%s", path, str_ends(path, "/") ? "" : "/", entry->d_name,
		         node);
		one = sweep_one(dir.data, run_fd, node, removed, err);
		st = st == ST_OK ? one : st;
		close(run_fd);
		unlinkat(dirfd(list), entry->d_name, AT_REMOVEDIR); /* if it is empty now */
	}
	if (list)
		closedir(list);
	str_release(&dir);
	return st;
}
