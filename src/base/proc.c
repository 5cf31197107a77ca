/* Assay's side of guarded children: start, pump, stop. One poll serves all of
 * them. When a guard is lost, this side does its work. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"
#include "base/proc_private.h"

#define ERR_LIMIT  ((size_t)1 << 20)
#define LINE_LIMIT ((size_t)4 << 20)
/* The guard's own grace and kill times, plus this, and it must have answered. */
#define GUARD_SLACK 30.0

struct proc {
	pid_t guard;
	int channel, err, life, status; /* our ends, -1 once closed */
	struct str line, report;
	void (*on_line)(void *arg, const char *line, size_t len);
	void *arg;
	char *label;
	char **scratch;
	int n_scratch;
	double grace, started, expected_end;
	bool too_long; /* a line beyond LINE_LIMIT: the rest of it is skipped */
	bool asked, done;
	struct proc_end end;
};

void proc_init(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGPIPE, SIG_IGN);
}

/* --- starting ---------------------------------------------------------------------- */

struct pipes {
	int out[2], channel[2], life[2], status[2], request;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_pipes(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		close_fd(&p->out[i]);
		close_fd(&p->channel[i]);
		close_fd(&p->life[i]);
		close_fd(&p->status[i]);
	}
	close_fd(&p->request);
}

/* Descriptors above those a guard uses, so that dup2 never meets itself. */
static bool high_pipe(int pair[2])
{
	int low[2];

	if (pipe2(low, O_CLOEXEC) != 0)
		return false;
	for (int i = 0; i < 2; i++) {
		pair[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 16);
		close(low[i]);
	}
	return pair[0] >= 0 && pair[1] >= 0;
}

static bool open_pipes(struct pipes *p, const char *request)
{
	int low;

	*p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, -1};
	if (!high_pipe(p->out) || !high_pipe(p->channel) || !high_pipe(p->life) ||
	    !high_pipe(p->status))
		return false;
	/* A file, not a pipe: nobody waits for anybody to read the request. */
	low = memfd_create("assay-request", MFD_CLOEXEC);
	if (low < 0)
		return false;
	p->request = fcntl(low, F_DUPFD_CLOEXEC, 16);
	close(low);
	return p->request >= 0 && fd_write_all(p->request, request, strlen(request)) == ST_OK &&
	       lseek(p->request, 0, SEEK_SET) == 0;
}

static int spawn_guard(struct proc *p, const struct proc_spec *spec, const struct pipes *pipes)
{
	const char *argv[64] = {"assay",
	                        "--guard",
	                        tmpf("%.3f", spec->deadline_s),
	                        tmpf("%.3f", p->grace),
	                        spec->exe,
	                        tmpf("%d", spec->n_scratch)};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	char **env = clean_environment(NULL);
	int n = 6, failed;

	for (int i = 0; i < spec->n_scratch && n < 40; i++)
		argv[n++] = spec->scratch[i];
	for (const char *const *a = spec->argv; *a && n < 63; a++)
		argv[n++] = *a;
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipes->request, GUARD_REQUEST);
	posix_spawn_file_actions_adddup2(&actions, pipes->out[1], GUARD_OUT);
	posix_spawn_file_actions_adddup2(&actions, pipes->out[1], GUARD_ERR);
	posix_spawn_file_actions_adddup2(&actions, pipes->channel[1], GUARD_CHANNEL);
	posix_spawn_file_actions_adddup2(&actions, pipes->life[0], GUARD_LIFE);
	posix_spawn_file_actions_adddup2(&actions, pipes->status[1], GUARD_STATUS);
	failed = posix_spawn(&p->guard, spec->exe, &actions, &attr, (char *const *)(uintptr_t)argv,
	                     env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	free(env);
	return failed;
}

enum status proc_start(struct proc **out, const struct proc_spec *spec, struct error *err)
{
	struct proc *p = calloc(1, sizeof(*p));
	struct pipes pipes;
	int failed;

	if (!p)
		die_nomem();
	*out = NULL;
	p->channel = p->err = p->life = p->status = -1;
	p->grace = spec->grace_s > 0 ? spec->grace_s : 2;
	if (!open_pipes(&pipes, spec->request ? spec->request : "")) {
		failed = errno;
		close_pipes(&pipes);
		free(p);
		return error_errno(err, spec->label, failed);
	}
	failed = spawn_guard(p, spec, &pipes);
	if (failed) {
		close_pipes(&pipes);
		free(p);
		return error_errno(err, spec->exe, failed);
	}
	p->err = pipes.out[0];
	p->channel = pipes.channel[0];
	p->life = pipes.life[1];
	p->status = pipes.status[0];
	pipes.out[0] = pipes.channel[0] = pipes.life[1] = pipes.status[0] = -1;
	close_pipes(&pipes);
	p->on_line = spec->on_line;
	p->arg = spec->arg;
	p->label = strdup(spec->label ? spec->label : "");
	p->scratch = calloc((size_t)spec->n_scratch + 1, sizeof(*p->scratch));
	if (!p->label || !p->scratch)
		die_nomem();
	for (int i = 0; i < spec->n_scratch; i++) {
		p->scratch[i] = strdup(spec->scratch[i]);
		if (!p->scratch[i])
			die_nomem();
	}
	p->n_scratch = spec->n_scratch;
	p->started = proc_seconds();
	p->expected_end = p->started + spec->deadline_s + p->grace + GUARD_SLACK;
	p->end.exit_code = -1;
	*out = p;
	return ST_OK;
}

/* --- reading ------------------------------------------------------------------------- */

static void give_line(struct proc *p)
{
	if (p->too_long)
		str_addf(&p->end.err, "%s: a line of more than %zu bytes was dropped\n", p->label,
		         LINE_LIMIT);
	else if (p->line.len && p->on_line)
		p->on_line(p->arg, p->line.data, p->line.len);
	str_clear(&p->line);
	p->too_long = false;
}

static void take_channel(struct proc *p, const char *data, size_t len)
{
	while (len > 0) {
		const char *newline = memchr(data, '\n', len);
		size_t n = newline ? (size_t)(newline - data) : len;

		if (p->line.len + n > LINE_LIMIT)
			p->too_long = true;
		else
			str_addn(&p->line, data, n);
		if (!newline)
			return;
		give_line(p);
		data += n + 1;
		len -= n + 1;
	}
}

/* One read; false at the end of the pipe. */
static bool take(struct proc *p, int fd)
{
	char buffer[65536];
	ssize_t n = read(fd, buffer, sizeof(buffer));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return false;
	if (fd == p->channel) {
		take_channel(p, buffer, (size_t)n);
	} else if (fd == p->status) {
		str_addn(&p->report, buffer, (size_t)n);
	} else if (p->end.err.len < ERR_LIMIT) {
		size_t room = ERR_LIMIT - p->end.err.len;

		str_addn(&p->end.err, buffer, (size_t)n < room ? (size_t)n : room);
		if ((size_t)n >= room)
			str_add(&p->end.err, "\n[the rest was cut]\n");
	}
	return true;
}

/* Whatever is still in a pipe, without waiting for its end: somebody the guard
 * could not end may hold it. */
static void take_rest(struct proc *p, int *fd)
{
	struct pollfd one = {*fd, POLLIN, 0};

	while (*fd >= 0 && poll(&one, 1, 0) > 0 && take(p, *fd))
		;
	close_fd(fd);
}

/* --- the end ---------------------------------------------------------------------------- */

struct lost {
	const struct proc *proc;
	char mark[64];
};

/* Ours: in the guard's session, or marked by it in the environment. */
static bool left_by_guard(const struct proc_entry *list, int count, int index, void *arg)
{
	const struct lost *l = arg;
	const struct proc_entry *e = &list[index];
	struct str env = {0};
	bool is = false;

	if (!proc_descends(list, count, index, getpid()) || e->pid == l->proc->guard)
		return false;
	if (e->session == l->proc->guard)
		return true;
	if (file_read(&env, tmpf("/proc/%d/environ", (int)e->pid), 1 << 20, NULL) == ST_OK)
		for (size_t i = 0; i < env.len && !is; i += strlen(env.data + i) + 1)
			is = strcmp(env.data + i, l->mark) == 0;
	str_release(&env);
	return is;
}

static void no_reap(void *arg)
{
	const struct lost *l = arg;
	int status;

	/* Orphans became our children: their zombies are ours to collect, but not
	 * those of other guards, whose own proc waits for them. */
	while (waitpid(-l->proc->guard, &status, WNOHANG) > 0)
		;
}

static void do_guards_work(struct proc *p)
{
	struct lost lost = {.proc = p};

	snprintf(lost.mark, sizeof(lost.mark), GUARD_MARK "=%d", (int)p->guard);
	p->end.guard_lost = true;
	p->end.unkillable = !proc_end_all(left_by_guard, &lost, p->grace, no_reap);
	for (int i = 0; i < p->n_scratch; i++)
		scratch_remove(p->scratch[i]);
}

static void finish(struct proc *p)
{
	struct guard_report r;
	int status, exec_errno = 0;

	close_fd(&p->life);
	if (sscanf(str_text(&p->report), "%d %d %d %d %d %d", &r.exec_errno, &r.exit_code,
	           &r.signal, &r.timed_out, &r.stopped, &r.unkillable) == 6) {
		exec_errno = r.exec_errno;
		p->end.started = exec_errno == 0;
		p->end.exit_code = r.exit_code;
		p->end.signal = r.signal;
		p->end.timed_out = r.timed_out;
		p->end.stopped = r.stopped;
		p->end.unkillable = r.unkillable;
	} else {
		p->end.started = true;
		kill(p->guard, SIGKILL);
		do_guards_work(p);
	}
	waitpid(p->guard, &status, 0);
	take_rest(p, &p->channel);
	if (p->line.len || p->too_long)
		give_line(p);
	take_rest(p, &p->err);
	close_fd(&p->status);
	if (exec_errno)
		str_addf(&p->end.err, "%s: %s\n", p->label, strerror(exec_errno));
	p->end.seconds = proc_seconds() - p->started;
	p->done = true;
}

enum status proc_pump(struct proc *const *procs, int count, int timeout_ms)
{
	struct pollfd *fds = calloc((size_t)count * 3 + 1, sizeof(*fds));
	double now;

	if (!fds)
		die_nomem();
	for (int i = 0; i < count; i++) {
		const struct proc *p = procs[i];

		fds[3 * i] = (struct pollfd){p->done ? -1 : p->channel, POLLIN, 0};
		fds[3 * i + 1] = (struct pollfd){p->done ? -1 : p->err, POLLIN, 0};
		fds[3 * i + 2] = (struct pollfd){p->done ? -1 : p->status, POLLIN, 0};
	}
	poll(fds, (nfds_t)count * 3, timeout_ms);
	now = proc_seconds();
	for (int i = 0; i < count; i++) {
		struct proc *p = procs[i];

		if (p->done)
			continue;
		if (fds[3 * i].revents && !take(p, p->channel))
			close_fd(&p->channel);
		if (fds[3 * i + 1].revents && !take(p, p->err))
			close_fd(&p->err);
		/* The status pipe ends when the guard does: only then is it over. */
		if ((fds[3 * i + 2].revents && !take(p, p->status)) || now > p->expected_end)
			finish(p);
	}
	free(fds);
	return ST_OK;
}

bool proc_done(const struct proc *p)
{
	return p->done;
}

const struct proc_end *proc_result(const struct proc *p)
{
	return &p->end;
}

void proc_stop(struct proc *p)
{
	if (!p->asked && p->life >= 0) {
		p->asked = true;
		p->expected_end = proc_seconds() + p->grace + GUARD_SLACK;
		if (write(p->life, "T", 1) < 0)
			close_fd(&p->life);
	}
}

void proc_free(struct proc *p)
{
	if (!p)
		return;
	if (!p->done) {
		proc_stop(p);
		while (!p->done)
			proc_pump(&p, 1, 200);
	}
	for (int i = 0; i < p->n_scratch; i++)
		free(p->scratch[i]);
	free(p->scratch);
	free(p->label);
	str_release(&p->line);
	str_release(&p->report);
	str_release(&p->end.err);
	free(p);
}
