/* One program with a deadline, for use inside a probe child: start, drain both
 * streams, and end it with its whole family when it is late, talks too much or
 * its caller has seen enough. Waits on descriptors only, never by spinning. */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ending.h"
#include "base/launch.h"
#include "base/stream.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* the same on all architectures; older headers lack it */
#endif
#define ERR_LIMIT    ((size_t)1 << 20)
#define TICK_MS      200
#define BLIND_MS     20             /* between looks without pidfd_open (before Linux 5.3) */
#define GRACE_NS     (2 * NS_PER_S) /* between TERM and KILL */
#define KILL_WAIT_NS (10 * NS_PER_S)
#define DRAIN_BUDGET ((size_t)1 << 20)

struct spawn {
	const struct spawn_spec *spec;
	pid_t pid;
	int out_fd, err_fd, pid_fd;
	struct str *out;
	struct capture err;
	bool too_much; /* more than max_out */
	int64_t start_ns, deadline_ns;
	bool ending;
	struct ending family;
};

static bool in_family(void *arg, const struct proc_stat *p)
{
	const struct spawn *s = arg;

	return p->pid == s->pid || p->pgrp == s->pid;
}

static void take_out(void *arg, const char *data, size_t len)
{
	struct spawn *s = arg;
	size_t room = s->spec->max_out - s->out->len;

	if (len > room)
		s->too_much = true;
	str_addn(s->out, data, len < room ? len : room);
}

static void take_err(void *arg, const char *data, size_t len)
{
	capture_add(arg, data, len);
}

/* True when something came. */
static bool drain(struct spawn *s, size_t budget)
{
	size_t before = s->out->len + s->err.total;

	if (s->out_fd >= 0 && stream_drain(s->out_fd, budget, take_out, s) == DRAIN_END)
		close_fd(&s->out_fd);
	if (s->err_fd >= 0 && stream_drain(s->err_fd, budget, take_err, &s->err) == DRAIN_END)
		close_fd(&s->err_fd);
	return s->out->len + s->err.total != before;
}

static void begin_ending(struct spawn *s, int64_t now)
{
	if (s->ending)
		return;
	s->ending = true;
	s->family = (struct ending){.belongs = in_family,
	                            .arg = s,
	                            .kill_ns = now + GRACE_NS,
	                            .give_up_ns = now + GRACE_NS + KILL_WAIT_NS};
}

static enum status start(struct spawn *s, struct error *err)
{
	struct launch l = {.argv = s->spec->argv,
	                   .cwd = s->spec->cwd,
	                   .dies_with_us = true,
	                   .clean_env = true,
	                   .n_fds = 3};
	char *path = launch_find(s->spec->argv[0]);
	int out[2] = {-1, -1}, errs[2] = {-1, -1}, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	enum status st;

	if (!path)
		st = error_set(err, ST_NOTFOUND, MSG_program_missing, s->spec->argv[0]);
	else if (null < 0)
		st = error_errno(err, "/dev/null", errno);
	else
		st = launch_pipe(out, err);
	if (st == ST_OK)
		st = launch_pipe(errs, err);
	if (st == ST_OK) {
		l.path = path;
		l.fds = (const int[]){null, out[1], errs[1]};
		st = launch_start(&l, &s->pid, err);
	}
	s->out_fd = out[0];
	s->err_fd = errs[0];
	close_fd(&out[1]);
	close_fd(&errs[1]);
	close_fd(&null);
	free(path);
	return st;
}

/* The program's end, left unreaped: its pid stays its own while we look for
 * the rest of its group. */
static bool has_ended(const struct spawn *s)
{
	siginfo_t info = {0};

	/* ECHILD: somebody set SIGCHLD to be ignored. */
	if (waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
		return errno == ECHILD;
	return info.si_pid == s->pid;
}

static void wait_more(struct spawn *s, int64_t now)
{
	struct pollfd fds[3] = {{.fd = s->out_fd, .events = POLLIN},
	                        {.fd = s->err_fd, .events = POLLIN},
	                        {.fd = s->pid_fd, .events = POLLIN}};
	int64_t left = (s->deadline_ns - now) / NS_PER_MS + 1;
	int ms = s->pid_fd < 0 ? BLIND_MS : TICK_MS;

	/* A program that ended would wake us at once while its family is ended. */
	if (s->ending) {
		fds[2].fd = -1;
		ms = s->family.wait_ms;
	} else if (left < ms) {
		ms = left > 0 ? (int)left : 0;
	}
	poll(fds, 3, ms);
}

/* Reasons to end it early. */
static void check_limits(struct spawn *s, struct proc_end *end, bool came, int64_t now,
                         int64_t *next_tick)
{
	if (s->ending)
		return;
	if (now >= s->deadline_ns)
		end->timed_out = true;
	if (s->spec->tick && (came || now >= *next_tick)) {
		*next_tick = now + TICK_MS * NS_PER_MS;
		end->stopped = !s->spec->tick(s->spec->arg, (double)(now - s->start_ns) / NS_PER_S);
	}
	if (end->timed_out || end->stopped || s->too_much)
		begin_ending(s, now);
}

static void follow(struct spawn *s, struct proc_end *end)
{
	const struct clock_source *clock = &clock_system;
	int64_t next_tick = s->start_ns + TICK_MS * NS_PER_MS;

	for (;;) {
		int64_t now = clock_now(clock);
		bool came = drain(s, DRAIN_BUDGET);

		if (has_ended(s)) {
			if (end->seconds == 0)
				end->seconds = (double)(now - s->start_ns) / NS_PER_S;
			begin_ending(s, now);
		} else {
			check_limits(s, end, came, now, &next_tick);
		}
		if (s->ending) {
			enum ending_state state = ending_step(&s->family, now);

			end->unkillable = state == ENDING_STUCK;
			if (state != ENDING_BUSY)
				break;
		}
		wait_more(s, now);
	}
	drain(s, DRAIN_BUDGET * 16); /* more can only come from what hid from us */
	if (end->seconds == 0)
		end->seconds = (double)(clock_now(clock) - s->start_ns) / NS_PER_S;
}

static void reap(const struct spawn *s, struct proc_end *end)
{
	int status;

	if (waitpid(s->pid, &status, WNOHANG) != s->pid)
		return;
	if (WIFEXITED(status))
		end->exit_code = WEXITSTATUS(status);
	else if (WIFSIGNALED(status))
		end->signal = WTERMSIG(status);
}

enum status spawn_run(const struct spawn_spec *spec, struct str *out, struct proc_end *end,
                      struct error *err)
{
	struct spawn s = {.spec = spec,
	                  .pid = -1,
	                  .out_fd = -1,
	                  .err_fd = -1,
	                  .pid_fd = -1,
	                  .out = out,
	                  .err = {.limit = ERR_LIMIT}};
	enum status st;

	*end = (struct proc_end){.exit_code = -1};
	if (!isfinite(spec->deadline_s) || spec->deadline_s <= 0 || spec->deadline_s > 1e9)
		return error_set(err, ST_RANGE, MSG_proc_seconds, tmpf("%g", spec->deadline_s));
	str_clear(out);
	st = start(&s, err);
	if (st == ST_OK) {
		end->started = true;
		s.start_ns = clock_now(&clock_system);
		s.deadline_ns = s.start_ns + (int64_t)(spec->deadline_s * NS_PER_S);
		s.pid_fd = (int)syscall(SYS_pidfd_open, s.pid, 0U);
		follow(&s, end);
		reap(&s, end);
		if (s.too_much)
			st = error_set(err, ST_RANGE, MSG_output_too_large, spec->argv[0]);
	}
	capture_finish(&s.err, &end->err);
	ending_release(&s.family);
	close_fd(&s.out_fd);
	close_fd(&s.err_fd);
	close_fd(&s.pid_fd);
	return st;
}
