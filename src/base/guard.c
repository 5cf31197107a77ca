/* The guard: a small process between assay and one probe child. It outlives
 * both, so that whatever dies first, the child's processes end and its files
 * go away. It is a subreaper: a descendant that detaches itself becomes the
 * guard's child, never init's. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"
#include "base/proc_private.h"

#define SCRATCH_PREFIX ".assay-"
#define LOCK_NAME      ".lock"
/* A directory without a lock file may be one that is just being made. */
#define FRESH_S 60

/* --- scratch directories ------------------------------------------------------- */

static bool is_scratch(const char *dir)
{
	const char *p = strstr(dir, "/" SCRATCH_PREFIX);

	return p && dir[0] == '/' && !strstr(p, "/../");
}

void scratch_remove(const char *dir)
{
	struct str parent = {0};
	const char *slash = strrchr(dir, '/');

	if (!is_scratch(dir))
		return;
	dir_remove(dir, NULL);
	str_addn(&parent, dir, (size_t)(slash - dir));
	/* Only while it is empty, and only if it is one of ours. */
	if (str_starts(strrchr(parent.data, '/') ? strrchr(parent.data, '/') : "",
	               "/" SCRATCH_PREFIX))
		rmdir(parent.data);
	str_release(&parent);
}

enum status scratch_make(const char *path, const char *run, const char *node, struct str *dir,
                         int *lock_fd, struct error *err)
{
	struct str lock = {0};
	enum status st = ST_OK;

	str_clear(dir);
	str_addf(dir, "%s/" SCRATCH_PREFIX "%s", path, run);
	if (mkdir(dir->data, 0700) != 0 && errno != EEXIST) {
		st = error_errno(err, dir->data, errno);
		goto out;
	}
	str_addf(dir, "/%s", node);
	if (mkdir(dir->data, 0700) != 0) {
		st = error_errno(err, dir->data, errno);
		goto out;
	}
	path_join(&lock, dir->data, LOCK_NAME);
	*lock_fd = open(lock.data, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*lock_fd < 0) {
		st = error_errno(err, lock.data, errno);
		scratch_remove(dir->data);
		goto out;
	}
	/* Where locks do not work nobody sweeps either (guard_sweep). */
	flock(*lock_fd, LOCK_EX | LOCK_NB);
out:
	str_release(&lock);
	return st;
}

/* Whether nobody holds the directory: its owner is dead. */
static bool is_free(const char *dir)
{
	struct str lock = {0};
	struct stat info;
	int fd = open(path_join(&lock, dir, LOCK_NAME), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	bool is;

	str_release(&lock);
	if (fd < 0)
		return errno == ENOENT && stat(dir, &info) == 0 && info.st_uid == geteuid() &&
		       time(NULL) - info.st_mtime > FRESH_S;
	is = flock(fd, LOCK_EX | LOCK_NB) == 0;
	close(fd);
	return is;
}

enum status guard_sweep(const char *path, const char *node, struct str *removed, struct error *err)
{
	DIR *dir = opendir(path);
	struct dirent *d;

	if (!dir)
		return error_errno(err, path, errno);
	while ((d = readdir(dir))) {
		struct str own = {0};
		struct stat info;

		str_addf(&own, "%s/%s/%s", path, d->d_name, node);
		if (str_starts(d->d_name, SCRATCH_PREFIX) && lstat(own.data, &info) == 0 &&
		    S_ISDIR(info.st_mode) && is_free(own.data)) {
			scratch_remove(own.data);
			if (access(own.data, F_OK) != 0)
				str_addf(removed, "%s%s", removed->len ? ", " : "", own.data);
		}
		str_release(&own);
	}
	closedir(dir);
	return ST_OK;
}

/* --- the guard itself ------------------------------------------------------------- */

struct guard {
	double deadline, grace;
	char **scratch;
	int n_scratch;
	const char *exe;
	char **argv;
	pid_t child;
	bool child_ended;
	int wait_status;
	int signals;
	struct guard_report report;
};

static bool is_descendant(const struct proc_entry *list, int count, int index, void *arg)
{
	(void)arg;
	return proc_descends(list, count, index, getpid());
}

static void reap(void *arg)
{
	struct guard *g = arg;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == g->child) {
			g->child_ended = true;
			g->wait_status = status;
		}
	}
}

_Noreturn static void become_child(struct guard *g, int trouble, pid_t guard)
{
	char *mark = NULL;
	char **env;
	sigset_t none;
	int number;

	if (asprintf(&mark, GUARD_MARK "=%d", (int)guard) < 0)
		_exit(126);
	env = clean_environment(mark);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard)
		_exit(126);
	close_others(GUARD_CHANNEL + 1);
	execve(g->exe, g->argv, env);
	number = errno;
	if (write(trouble, &number, sizeof(number)) < 0)
		_exit(127);
	_exit(127);
}

static bool start_child(struct guard *g)
{
	pid_t self = getpid();
	int trouble[2], number;

	if (pipe2(trouble, O_CLOEXEC) != 0) {
		g->report.exec_errno = errno;
		return false;
	}
	g->child = fork();
	if (g->child == 0)
		become_child(g, trouble[1], self);
	close(trouble[1]);
	if (g->child < 0)
		g->report.exec_errno = errno;
	else if (read(trouble[0], &number, sizeof(number)) == sizeof(number))
		g->report.exec_errno = number;
	close(trouble[0]);
	return g->report.exec_errno == 0;
}

/* Until the child ends, the deadline passes, or assay ends or asks. */
static void watch(struct guard *g)
{
	double end = proc_seconds() + g->deadline;

	while (!g->child_ended) {
		struct pollfd fds[2] = {{GUARD_LIFE, POLLIN, 0}, {g->signals, POLLIN, 0}};
		double left = end - proc_seconds();
		struct signalfd_siginfo info;
		char byte;

		if (left <= 0) {
			g->report.timed_out = 1;
			return;
		}
		poll(fds, 2, left < 3600 ? (int)(left * 1000) + 1 : 3600000);
		if (fds[0].revents) {
			/* A byte asks for the end, and so does the end of the pipe. */
			if (read(GUARD_LIFE, &byte, 1) < 0 && errno == EINTR)
				continue;
			g->report.stopped = 1;
			return;
		}
		if (fds[1].revents && read(g->signals, &info, sizeof(info)) == sizeof(info) &&
		    info.ssi_signo != SIGCHLD) {
			g->report.stopped = 1;
			return;
		}
		reap(g);
	}
}

static void send_report(const struct guard *g)
{
	const struct guard_report *r = &g->report;
	struct str line = {0};

	str_addf(&line, "%d %d %d %d %d %d\n", r->exec_errno, r->exit_code, r->signal, r->timed_out,
	         r->stopped, r->unkillable);
	fd_write_all(GUARD_STATUS, line.data, line.len);
	str_release(&line);
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* assay --guard DEADLINE GRACE EXE N SCRATCH… ARGV… */
static bool read_arguments(struct guard *g, int argc, char **argv)
{
	if (argc < 7)
		return false;
	g->deadline = atof(argv[2]);
	g->grace = atof(argv[3]);
	g->exe = argv[4];
	g->n_scratch = atoi(argv[5]);
	if (g->n_scratch < 0 || argc < 7 + g->n_scratch)
		return false;
	g->scratch = argv + 6;
	g->argv = argv + 6 + g->n_scratch;
	return true;
}

int guard_main(int argc, char **argv)
{
	struct guard g = {.report = {.exit_code = -1}};

	if (!read_arguments(&g, argc, argv) || fcntl(GUARD_STATUS, F_GETFD) < 0)
		return EXIT_USAGE;
	fcntl(GUARD_LIFE, F_SETFD, FD_CLOEXEC);
	fcntl(GUARD_STATUS, F_SETFD, FD_CLOEXEC);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	g.signals = open_signals();
	if (start_child(&g))
		watch(&g);
	if (!proc_end_all(is_descendant, &g, g.child_ended ? 0 : g.grace, reap))
		g.report.unkillable = 1;
	reap(&g);
	if (g.child_ended && WIFEXITED(g.wait_status))
		g.report.exit_code = WEXITSTATUS(g.wait_status);
	else if (g.child_ended)
		g.report.signal = WTERMSIG(g.wait_status);
	for (int i = 0; i < g.n_scratch; i++)
		scratch_remove(g.scratch[i]);
	send_report(&g);
	return 0;
}
