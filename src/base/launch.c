/* The one place that forks. Between fork and exec only async-signal-safe calls
 * are made, because assay and probes have threads; everything that needs memory
 * is prepared before. A failing step is sent back through a close-on-exec pipe,
 * so that the caller learns of a missing program at once. */
#include "base/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

extern char **environ;

#ifndef SYS_close_range
#define SYS_close_range 436 /* the same on all architectures; older headers lack it */
#endif
#define LAUNCH_FDS 8  /* most descriptors handed on */
#define FD_ASIDE   16 /* sources are moved up here before they are placed */

/* Variables of MPI launchers and resource managers, by prefix: a child that
 * sees them may believe it is a rank, or load a transport it must not use.
 * UCX_TLS is what the coordinator sets for its own MPI. To add one: a row. */
static const char *const dropped[] = {
	"OMPI_",  "PMI",  "MPI",      "ORTE_",    "OPAL_", "PRTE",  "HYDRA_",    "HYDI_",
	"I_MPI_", "MV2_", "MVAPICH_", "SLURM",    "SRUN_", "PALS_", "FLUX_",     "ALPS_",
	"PBS_",   "LSB_", "LSF_",     "UCX_TLS=", "LC_",   "LANG=", "LANGUAGE=", NULL,
};

static bool is_dropped(const char *variable)
{
	for (int i = 0; dropped[i]; i++)
		if (str_starts(variable, dropped[i]))
			return true;
	return false;
}

/* The variables are shared with environ; only the list is new. */
static char **clean_environment(void)
{
	static char locale[] = "LC_ALL=C";
	size_t n = 0, kept = 0;
	char **list;

	while (environ && environ[n])
		n++;
	list = malloc((n + 2) * sizeof(*list));
	if (!list)
		die_nomem();
	for (size_t i = 0; i < n; i++)
		if (!is_dropped(environ[i]))
			list[kept++] = environ[i];
	list[kept++] = locale;
	list[kept] = NULL;
	return list;
}

/* --- after fork: async-signal-safe only --------------------------------------- */

enum step { STEP_PARENT, STEP_GROUP, STEP_FDS, STEP_CWD, STEP_EXEC };

struct failure {
	enum step step;
	int errnum;
};

static void default_signals(void)
{
	struct sigaction action;
	sigset_t none;

	memset(&action, 0, sizeof(action));
	action.sa_handler = SIG_DFL;
	for (int s = 1; s < NSIG; s++)
		sigaction(s, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Marks everything from `first` on close-on-exec: libraries open descriptors
 * without asking, and one stray end of a pipe keeps a reader waiting for ever. */
static void seal_fds(int first)
{
	struct rlimit limit;
	rlim_t last = 65536;

	if (syscall(SYS_close_range, (unsigned)first, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) == 0)
		return;
	/* Linux before 5.11 */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < last)
		last = limit.rlim_cur;
	for (int fd = first; (rlim_t)fd < last; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static bool place_fds(const struct launch *l)
{
	int aside[LAUNCH_FDS];

	for (int i = 0; i < l->n_fds; i++) {
		aside[i] = fcntl(l->fds[i], F_DUPFD_CLOEXEC, FD_ASIDE);
		if (aside[i] < 0)
			return false;
	}
	for (int i = 0; i < l->n_fds; i++)
		if (dup2(aside[i], i) < 0)
			return false;
	seal_fds(l->n_fds);
	return true;
}

/* Only returns when something failed. */
static enum step become(const struct launch *l, char **env, pid_t parent)
{
	static const struct rlimit no_core;

	/* The parent may have died before prctl: then no signal would ever come. */
	if (l->dies_with_us && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
		return STEP_PARENT;
	if (l->new_session ? setsid() < 0 : setpgid(0, 0) != 0)
		return STEP_GROUP;
	if (l->clean_env)
		setrlimit(RLIMIT_CORE, &no_core); /* an abort leaves no file in the user's folder */
	if (!place_fds(l))
		return STEP_FDS;
	if (l->cwd && chdir(l->cwd) != 0)
		return STEP_CWD;
	default_signals();
	execve(l->path, (char *const *)l->argv, env);
	return STEP_EXEC;
}

/* --- before fork ----------------------------------------------------------------- */

void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

enum status launch_pipe(int fds[2], struct error *err)
{
	int raw[2];

	fds[0] = fds[1] = -1;
	if (pipe2(raw, O_CLOEXEC) != 0)
		return error_errno(err, "pipe", errno);
	fds[0] = fcntl(raw[0], F_DUPFD_CLOEXEC, FD_ASIDE);
	fds[1] = fcntl(raw[1], F_DUPFD_CLOEXEC, FD_ASIDE);
	close(raw[0]);
	close(raw[1]);
	if (fds[0] >= 0 && fds[1] >= 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0)
		return ST_OK;
	close_fd(&fds[0]);
	close_fd(&fds[1]);
	return error_errno(err, "pipe", EMFILE);
}

static pid_t fork_into(const struct launch *l, char **env, int report)
{
	pid_t parent = getpid(), pid;
	sigset_t all, before;

	/* Our handlers must not run in the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0) {
		struct failure f = {.step = become(l, env, parent)};
		ssize_t n;

		f.errnum = errno;
		n = write(report, &f, sizeof(f));
		_exit(n == (ssize_t)sizeof(f) ? 127 : 126);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* Waits for the exec, which closes the pipe, or for word of a failure. */
static enum status await_exec(const struct launch *l, pid_t pid, int report, struct error *err)
{
	struct failure f;
	ssize_t n;

	do
		n = read(report, &f, sizeof(f));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return ST_OK;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(f))
		return error_errno(err, l->path, EIO);
	if (f.step == STEP_PARENT)
		return error_set(err, ST_INTERRUPTED, MSG_launch_parent_gone, l->path);
	return error_errno(err, f.step == STEP_CWD ? l->cwd : l->path, f.errnum);
}

enum status launch_start(const struct launch *l, pid_t *pid, struct error *err)
{
	char **env = l->clean_env ? clean_environment() : environ;
	enum status st;
	int report[2];

	*pid = -1;
	st = launch_pipe(report, err);
	if (st != ST_OK)
		goto out;
	fcntl(report[0], F_SETFL, 0);
	*pid = fork_into(l, env, report[1]);
	if (*pid < 0)
		st = error_errno(err, l->path, errno);
	close_fd(&report[1]);
	if (st == ST_OK)
		st = await_exec(l, *pid, report[0], err);
	if (st != ST_OK)
		*pid = -1;
	close_fd(&report[0]);
out:
	if (l->clean_env)
		free(env);
	return st;
}

char *launch_find(const char *name)
{
	const char *path = getenv("PATH");
	struct str file = {0};
	struct stat info;

	if (!*name)
		return NULL;
	if (strchr(name, '/')) {
		str_add(&file, name);
		return str_detach(&file);
	}
	for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *p;) {
		size_t len = strcspn(p, ":");

		str_clear(&file);
		str_addn(&file, len ? p : ".", len ? len : 1);
		str_addc(&file, '/');
		str_add(&file, name);
		if (stat(file.data, &info) == 0 && S_ISREG(info.st_mode) &&
		    access(file.data, X_OK) == 0)
			return str_detach(&file);
		p += len + (p[len] == ':');
	}
	str_release(&file);
	return NULL;
}
