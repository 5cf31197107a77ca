/* One program with captured streams and a deadline, for use inside a probe
 * child. The program gets its own process group and dies with us. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/proc_private.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* the same on all architectures; older headers lack it */
#endif
#define ERR_LIMIT ((size_t)1 << 20)
#define TICK_MS   200
#define GRACE_S   2.0
#define STUCK_S   10.0

extern char **environ;

/* --- environment ------------------------------------------------------------ */

/* A probe under mpirun must not start programs that think they are ranks. */
static bool launcher_variable(const char *entry)
{
	static const char *const prefixes[] = {
		"OMPI_", "PMIX_",  "PMI_",    "PMI2_",       "MPI",         "HYDRA_",
		"HYDI_", "SLURM_", "PRTE_",   "PRRTE_",      "I_MPI_",      "MV2_",
		"ORTE_", "OPAL_",  "LC_ALL=", "LC_NUMERIC=", GUARD_MARK "="};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (str_starts(entry, prefixes[i]))
			return true;
	return false;
}

char **clean_environment(const char *extra)
{
	size_t n = 0, kept = 0;
	char **list;

	while (environ && environ[n])
		n++;
	list = calloc(n + 3, sizeof(*list));
	if (!list)
		die_nomem();
	for (size_t i = 0; i < n; i++)
		if (!launcher_variable(environ[i]))
			list[kept++] = environ[i];
	list[kept++] = (char *)(uintptr_t) "LC_ALL=C";
	if (extra)
		list[kept++] = (char *)(uintptr_t)extra;
	return list;
}

/* Marks all descriptors from `first` on close-on-exec: whoever started us may
 * have left some open. Safe between fork and exec. */
void close_others(int first)
{
	if (syscall(SYS_close_range, first, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */) == 0)
		return;
	for (int fd = first; fd < 1024; fd++) /* Linux before 5.11 */
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* --- starting ------------------------------------------------------------------ */

/* Full path of a program, searched before the fork: execvp may allocate. */
static bool find_program(const char *name, struct str *path)
{
	const char *p = getenv("PATH");

	str_clear(path);
	if (strchr(name, '/')) {
		str_add(path, name);
		return access(name, X_OK) == 0;
	}
	for (p = p ? p : "/usr/local/bin:/usr/bin:/bin"; *p;) {
		size_t len = strcspn(p, ":");
		struct stat info;

		str_clear(path);
		str_addn(path, len ? p : ".", len ? len : 1);
		str_addf(path, "/%s", name);
		if (access(path->data, X_OK) == 0 && stat(path->data, &info) == 0 &&
		    S_ISREG(info.st_mode))
			return true;
		p += len + (p[len] == ':');
	}
	return false;
}

struct child {
	pid_t pid;
	int out, err; /* our ends, -1 once closed */
};

static void close_pair(int pair[2])
{
	if (pair[0] >= 0)
		close(pair[0]);
	if (pair[1] >= 0)
		close(pair[1]);
}

_Noreturn static void become(const struct spawn_spec *spec, const char *path, char **env, int out,
                             int err, int trouble, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;
	int number;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close_others(STDERR_FILENO + 1);
	if (!spec->cwd || chdir(spec->cwd) == 0)
		execve(path, (char *const *)(uintptr_t)spec->argv, env);
	number = errno;
	if (write(trouble, &number, sizeof(number)) < 0)
		_exit(127);
	_exit(127);
}

static enum status start(const struct spawn_spec *spec, struct child *child, struct error *err)
{
	int out[2] = {-1, -1}, errs[2] = {-1, -1}, trouble[2] = {-1, -1};
	struct str path = {0};
	char **env = clean_environment(NULL);
	pid_t parent = getpid();
	enum status st = ST_OK;
	int number = 0;

	if (!find_program(spec->argv[0], &path)) {
		st = error_set(err, ST_NOTFOUND, MSG_program_missing, spec->argv[0]);
		goto out;
	}
	if (pipe2(out, O_CLOEXEC) || pipe2(errs, O_CLOEXEC) || pipe2(trouble, O_CLOEXEC)) {
		st = error_errno(err, "pipe", errno);
		goto out;
	}
	child->pid = fork();
	if (child->pid == 0)
		become(spec, path.data, env, out[1], errs[1], trouble[1], parent);
	if (child->pid < 0) {
		st = error_errno(err, spec->argv[0], errno);
		goto out;
	}
	setpgid(child->pid, child->pid);
	close(trouble[1]);
	trouble[1] = -1;
	if (read(trouble[0], &number, sizeof(number)) == sizeof(number)) {
		waitpid(child->pid, NULL, 0);
		st = error_errno(err, path.data, number);
		goto out;
	}
	child->out = out[0];
	child->err = errs[0];
	out[0] = errs[0] = -1;
out:
	close_pair(out);
	close_pair(errs);
	close_pair(trouble);
	str_release(&path);
	free(env);
	return st;
}

/* --- running --------------------------------------------------------------------- */

/* Reads what is there; closes at the end. Keeps at most `limit` bytes; false
 * when there was more. */
static bool drain(int *fd, struct str *text, size_t limit)
{
	char buffer[16384];
	ssize_t n = read(*fd, buffer, sizeof(buffer));
	size_t room = text->len < limit ? limit - text->len : 0;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0) {
		close(*fd);
		*fd = -1;
		return true;
	}
	str_addn(text, buffer, (size_t)n < room ? (size_t)n : room);
	return (size_t)n <= room;
}

struct running {
	const struct spawn_spec *spec;
	struct child child;
	struct str *out;
	struct proc_end *end;
	int ended; /* pidfd: readable when it ended; -1 where the kernel has none */
	double started, asked, killed; /* seconds; 0: not yet */
	bool too_much, gone;
	int wait_status;
};

static void ask_to_end(struct running *r)
{
	if (r->asked == 0) {
		r->asked = proc_seconds();
		kill(-r->child.pid, SIGTERM);
		kill(-r->child.pid, SIGCONT);
	}
}

static void check_time(struct running *r)
{
	double now = proc_seconds();

	if (r->asked == 0 && now - r->started > r->spec->deadline_s) {
		r->end->timed_out = true;
		ask_to_end(r);
	}
	if (r->asked && !r->killed && now - r->asked > GRACE_S) {
		r->killed = now;
		kill(-r->child.pid, SIGKILL);
	}
	if (r->killed && now - r->killed > STUCK_S) {
		r->end->unkillable = true;
		r->gone = true;
	}
	if (r->asked == 0 && r->spec->tick && !r->spec->tick(r->spec->arg, now - r->started)) {
		r->end->stopped = true;
		ask_to_end(r);
	}
}

static void pump(struct running *r)
{
	struct pollfd fds[3] = {{r->child.out, POLLIN, 0},
	                        {r->child.err, POLLIN, 0},
	                        {r->gone ? -1 : r->ended, POLLIN, 0}};
	/* Once it has ended only what is still in the pipes counts: a process it
	 * left behind may hold them open for ever. */
	int ready = poll(fds, 3, r->gone ? 0 : TICK_MS);

	if (ready > 0 && fds[0].revents && !drain(&r->child.out, r->out, r->spec->max_out)) {
		r->too_much = true;
		ask_to_end(r);
	}
	if (ready > 0 && fds[1].revents)
		drain(&r->child.err, &r->end->err, ERR_LIMIT);
	if (!r->gone && waitpid(r->child.pid, &r->wait_status, WNOHANG) == r->child.pid) {
		r->gone = true;
		return;
	}
	if (!r->gone)
		check_time(r);
	else if (ready <= 0)
		r->started = -1; /* drained */
}

enum status spawn_run(const struct spawn_spec *spec, struct str *out, struct proc_end *end,
                      struct error *err)
{
	struct running r = {.spec = spec, .out = out, .end = end, .child = {.out = -1, .err = -1}};
	enum status st;

	*end = (struct proc_end){.exit_code = -1};
	st = start(spec, &r.child, err);
	if (st != ST_OK)
		return st;
	end->started = true;
	r.started = proc_seconds();
	r.ended = (int)syscall(SYS_pidfd_open, r.child.pid, 0);
	while (!(r.gone && (r.started < 0 || (r.child.out < 0 && r.child.err < 0)))) {
		double before = r.started;

		pump(&r);
		if (r.gone && end->seconds == 0)
			end->seconds = proc_seconds() - before;
	}
	if (r.ended >= 0)
		close(r.ended);
	kill(-r.child.pid, SIGKILL); /* what it may have left in its group */
	if (r.child.out >= 0)
		close(r.child.out);
	if (r.child.err >= 0)
		close(r.child.err);
	if (!end->unkillable && WIFEXITED(r.wait_status))
		end->exit_code = WEXITSTATUS(r.wait_status);
	else if (!end->unkillable && WIFSIGNALED(r.wait_status))
		end->signal = WTERMSIG(r.wait_status);
	if (r.too_much)
		return error_set(err, ST_RANGE, MSG_output_too_large, spec->argv[0]);
	return ST_OK;
}
