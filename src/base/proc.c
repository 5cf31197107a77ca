/* assay's side of its guarded children: starts each guard, drains what the
 * children write, and takes over when a guard dies or falls silent. All waiting
 * is one poll over all children, so that a node with many cards costs nothing
 * while they measure. */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/ending.h"
#include "base/file.h"
#include "base/guard.h"
#include "base/launch.h"
#include "base/log.h"
#include "base/scratch.h"
#include "base/stream.h"
#include "base/unit.h"

#define ERR_LIMIT    ((size_t)1 << 20)
#define LINE_LIMIT   ((size_t)8 << 20)
#define DRAIN_BUDGET ((size_t)1 << 18) /* per stream and pump: nobody starves */
#define LAST_BUDGET  ((size_t)1 << 24)
#define SLACK_NS     NS_PER_S         /* for the guard to be scheduled */
#define CLEAN_NS     (120 * NS_PER_S) /* for the removal of large files */
#define HUNG_NS      (20 * NS_PER_S)  /* the same where something hung before */
#define FDS          3

enum state {
	RUNNING, /* the guard is in charge */
	CLEANED, /* it said goodbye; its link is about to end */
	SILENT,  /* it missed its time and got SIGKILL */
	LOST,    /* it is dead: we end the family ourselves */
	DONE,
};

struct proc {
	struct proc *next; /* in `guarded` */
	enum state state;
	char *label;
	struct scratch *scratch;
	int n_scratch;
	pid_t guard;     /* -1: none, or reaped */
	pid_t guard_pid; /* as it was, with its start time */
	uint64_t guard_start;
	int link, channel, err_fd;
	struct str unsent; /* for its stdin */
	int input;         /* the other end of the child's stdin, -1: not kept */
	struct liner lines;
	struct capture err;
	struct proc_end end;
	bool ended; /* the guard's GUARD_ENDED came */
	int64_t start_ns, deadline_ns, limit_ns, next_look_ns;
	int64_t grace_ns, kill_wait_ns;
	struct ending family;
};

/* All whose guard may live: what tells a guard from the orphans of another.
 * Process-wide because parenthood is. */
static struct proc *guarded;

void proc_init(void)
{
	struct sigaction action;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* A closed terminal or pipe must not end us half way. */
	signal(SIGPIPE, SIG_IGN);
	/* Inherited as ignored (some job starters do), it would lose exit codes. */
	if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
		signal(SIGCHLD, SIG_DFL);
}

/* --- start ------------------------------------------------------------------------ */

/* The request as a file without a name: read to its end like any file, and no
 * pipe to be fed while everything else goes on. */
static int request_fd(const char *text, struct error *err)
{
	int fd = memfd_create("request", MFD_CLOEXEC);
	size_t len = text ? strlen(text) : 0;
	enum status st;

	if (fd < 0)
		return error_errno(err, "memfd_create", errno), -1;
	st = fd_write_all(fd, text ? text : "", len);
	if (st == ST_OK && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	error_errno(err, "memfd", errno);
	close(fd);
	return -1;
}

/* The same as a stream that stays open: *kept is our end of it. */
static int request_stream(const char *text, int *kept, struct error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return error_errno(err, "socketpair", errno), -1;
	*kept = ends[0];
	/* Nobody reads yet: what does not fit would wait for ever. */
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	if (fd_write_all(ends[0], text, strlen(text)) == ST_OK)
		return ends[1];
	error_errno(err, "request", errno);
	close(ends[1]);
	return -1;
}

static const char **guard_argv(struct arena *a, const struct proc_spec *spec, const struct proc *p)
{
	size_t n = 0, i = 0;
	const char **list;

	while (spec->argv[n])
		n++;
	list = arena_array(a, 8 + (size_t)spec->n_scratch + n, sizeof(*list));
	list[i++] = spec->argv[0];
	list[i++] = "--guard";
	list[i++] = arena_strf(a, "%.6f", spec->deadline_s);
	list[i++] = arena_strf(a, "%.6f", (double)p->grace_ns / NS_PER_S);
	list[i++] = arena_strf(a, "%.6f", (double)p->kill_wait_ns / NS_PER_S);
	list[i++] = arena_strf(a, "%d", spec->n_scratch);
	for (int s = 0; s < spec->n_scratch; s++)
		list[i++] = spec->scratch[s];
	list[i++] = spec->exe;
	memcpy(list + i, spec->argv, n * sizeof(*list));
	return list;
}

static enum status launch_guard(struct proc *p, const struct proc_spec *spec, struct error *err)
{
	int link[2] = {-1, -1}, channel[2] = {-1, -1}, errs[2] = {-1, -1};
	int request = spec->keep_input ? request_stream(spec->request, &p->input, err)
	                               : request_fd(spec->request, err);
	struct arena arena = {0};
	struct launch l = {
		.path = spec->exe, .n_fds = GUARD_FDS, .new_session = true, .clean_env = true};
	enum status st = request < 0 ? err ? err->status : ST_IO : ST_OK;

	if (st == ST_OK && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) != 0)
		st = error_errno(err, "socketpair", errno);
	if (st == ST_OK)
		st = launch_pipe(channel, err);
	if (st == ST_OK)
		st = launch_pipe(errs, err);
	if (st == ST_OK) {
		l.argv = guard_argv(&arena, spec, p);
		l.fds = (const int[GUARD_FDS]){[GUARD_LINK] = link[1],
		                               [GUARD_OUT] = errs[1],
		                               [GUARD_ERR] = errs[1],
		                               [GUARD_CHANNEL] = channel[1],
		                               [GUARD_REQUEST] = request};
		st = launch_start(&l, &p->guard, err);
	}
	p->link = link[0];
	p->channel = channel[0];
	p->err_fd = errs[0];
	close_fd(&link[1]);
	close_fd(&channel[1]);
	close_fd(&errs[1]);
	close_fd(&request);
	arena_release(&arena);
	return st;
}

static int64_t span_ns(double seconds, double otherwise)
{
	return (int64_t)((seconds == 0 ? otherwise : seconds) * NS_PER_S);
}

static enum status check_seconds(const struct proc_spec *spec, struct error *err)
{
	const double all[] = {spec->deadline_s, spec->grace_s, spec->kill_wait_s};

	for (int i = 0; i < 3; i++)
		if (!isfinite(all[i]) || all[i] < 0 || all[i] > 1e8 || (i == 0 && all[i] < 1e-5))
			return error_set(err, ST_RANGE, MSG_proc_seconds, tmpf("%g", all[i]));
	return ST_OK;
}

static struct proc *proc_new(const struct proc_spec *spec)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		die_nomem();
	p->label = strdup(spec->label ? spec->label : spec->argv[0]);
	p->scratch = calloc((size_t)spec->n_scratch + 1, sizeof(*p->scratch));
	if (!p->label || !p->scratch)
		die_nomem();
	p->guard = -1;
	p->link = p->channel = p->err_fd = p->input = -1;
	p->lines = (struct liner){.limit = LINE_LIMIT, .on_line = spec->on_line, .arg = spec->arg};
	p->err.limit = ERR_LIMIT;
	p->end.exit_code = -1;
	p->grace_ns = span_ns(spec->grace_s, 2);
	p->kill_wait_ns = span_ns(spec->kill_wait_s, 10);
	return p;
}

static void clean(struct proc *p)
{
	for (int i = 0; i < p->n_scratch; i++) {
		struct error err = {0};

		if (scratch_remove(&p->scratch[i], &err) != ST_OK)
			log_note(MSG_scratch_left, p->label, str_text(&err.text));
		error_release(&err);
	}
}

static void set_limit(struct proc *p, int64_t from_ns)
{
	int64_t limit = from_ns + p->grace_ns + 2 * p->kill_wait_ns + SLACK_NS;

	if (limit < p->limit_ns)
		p->limit_ns = limit;
}

enum status proc_start(struct proc **out, const struct proc_spec *spec, struct error *err)
{
	struct proc *p = proc_new(spec);
	struct proc_stat stat;
	enum status st = check_seconds(spec, err);

	*out = NULL;
	for (int i = 0; i < spec->n_scratch && st == ST_OK; i++) {
		st = scratch_note(&p->scratch[i], spec->scratch[i], false, err);
		p->n_scratch += st == ST_OK;
	}
	if (st == ST_OK)
		st = launch_guard(p, spec, err);
	if (st != ST_OK) {
		clean(p);
		p->state = DONE;
		proc_free(p);
		return st;
	}
	p->start_ns = clock_now(&clock_system);
	p->deadline_ns = p->start_ns + (int64_t)(spec->deadline_s * NS_PER_S);
	p->limit_ns = INT64_MAX;
	set_limit(p, p->deadline_ns);
	p->guard_pid = p->guard;
	/* Unreadable: nothing but its own session can be told to be its family. */
	p->guard_start = proc_stat_read(p->guard, &stat) ? stat.start : UINT64_MAX;
	p->next = guarded;
	guarded = p;
	*out = p;
	return ST_OK;
}

/* --- the end ------------------------------------------------------------------------- */

static void take_line(void *arg, const char *data, size_t len)
{
	liner_add(arg, data, len);
}

static void take_text(void *arg, const char *data, size_t len)
{
	capture_add(arg, data, len);
}

static void drain_one(int *fd, size_t budget, void (*take)(void *, const char *, size_t), void *arg)
{
	if (*fd >= 0 && stream_drain(*fd, budget, take, arg) == DRAIN_END)
		close_fd(fd);
}

static void drain(struct proc *p, size_t budget)
{
	drain_one(&p->channel, budget, take_line, &p->lines);
	drain_one(&p->err_fd, budget, take_text, &p->err);
}

static void forget(struct proc *p)
{
	for (struct proc **at = &guarded; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
}

static void finish(struct proc *p)
{
	drain(p, LAST_BUDGET);
	liner_finish(&p->lines);
	capture_finish(&p->err, &p->end.err);
	if (p->lines.dropped) {
		msg_add(&p->end.err, MSG_line_dropped, tmpf("%d", p->lines.dropped),
		        fmt_bytes((int64_t)LINE_LIMIT));
		str_addc(&p->end.err, '\n');
	}
	if (!p->ended)
		p->end.seconds = (double)(clock_now(&clock_system) - p->start_ns) / NS_PER_S;
	forget(p);
	close_fd(&p->input);
	str_release(&p->unsent);
	p->state = DONE;
}

static void send_rest(struct proc *p)
{
	ssize_t n;

	if (p->input < 0 || p->unsent.len == 0)
		return;
	n = send(p->input, p->unsent.data, p->unsent.len, MSG_NOSIGNAL);
	if (n >= 0)
		str_drop(&p->unsent, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR)
		close_fd(&p->input);
}

void proc_send(struct proc *p, const char *data, size_t len)
{
	str_addn(&p->unsent, data, len);
	send_rest(p);
}

static bool is_guard(pid_t pid)
{
	for (const struct proc *p = guarded; p; p = p->next)
		if (p->guard == pid)
			return true;
	return false;
}

/* The family of a dead guard is handed to us, its subreaper. It is told from
 * other children of ours by its session: the guard left ours, and nobody can
 * come back into a session. What was there before the guard is not its; start
 * times are as coarse as 10 ms, within which the pid tells. */
static bool in_family(void *arg, const struct proc_stat *p)
{
	const struct proc *lost = arg;

	if (p->ppid != getpid() || p->session == getsid(0) || is_guard(p->pid))
		return false;
	return p->session == lost->guard_pid || p->start > lost->guard_start ||
	       (p->start == lost->guard_start && p->pid > lost->guard_pid);
}

static void take_over(struct proc *p, int64_t now)
{
	p->end.guard_lost = true;
	if (!p->ended && now >= p->deadline_ns)
		p->end.timed_out = true;
	p->family = (struct ending){.belongs = in_family,
	                            .arg = p,
	                            .reap = true,
	                            .kill_ns = now + p->grace_ns,
	                            .give_up_ns = now + p->grace_ns + p->kill_wait_ns};
	p->next_look_ns = now;
	p->state = LOST;
}

static void step_lost(struct proc *p, int64_t now)
{
	enum ending_state state;

	if (now < p->next_look_ns)
		return;
	state = ending_step(&p->family, now);
	p->next_look_ns = now + p->family.wait_ms * NS_PER_MS;
	if (state == ENDING_BUSY)
		return;
	ending_release(&p->family);
	/* Where a process hangs in the kernel, its files may hang us as well. */
	if (state == ENDING_STUCK)
		p->end.unkillable = true;
	else
		clean(p);
	finish(p);
}

/* False: it hangs in its last act, giving up its locks on a dead file system. */
static bool reap_guard(const struct proc *p)
{
	int64_t until = clock_now(&clock_system) + p->kill_wait_ns;

	for (;;) {
		pid_t pid = waitpid(p->guard, NULL, WNOHANG);

		if (pid == p->guard || (pid < 0 && errno != EINTR))
			return true;
		if (clock_now(&clock_system) >= until)
			return false;
		clock_sleep(&clock_system, 2 * NS_PER_MS);
	}
}

/* The link ended, so the guard is dying: wait until its children are ours. */
static void guard_gone(struct proc *p, int64_t now)
{
	close_fd(&p->link);
	if (!reap_guard(p))
		p->end.unkillable = true;
	p->guard = -1;
	/* One that hung while it removed files would be followed by us. */
	if (p->state == SILENT && p->ended)
		p->end.unkillable = true;
	if (p->state == CLEANED || p->end.unkillable)
		finish(p);
	else
		take_over(p, now);
}

static void take_word(struct proc *p, const struct guard_word *w, int64_t now)
{
	switch (w->kind) {
	case GUARD_STARTED:
		p->end.started = true;
		break;
	case GUARD_ENDED:
		p->ended = true;
		p->end.started = w->started;
		p->end.timed_out = w->timed_out;
		p->end.stopped = w->stopped;
		p->end.unkillable = w->unkillable;
		p->end.exit_code = w->exit_code;
		p->end.signal = w->signal;
		p->end.seconds = w->seconds;
		p->limit_ns = now + (w->timed_out || w->stopped ? HUNG_NS : CLEAN_NS);
		break;
	case GUARD_CLEANED:
		p->state = CLEANED;
		p->end.left = w->left > 0;
		break;
	}
}

static void read_link(struct proc *p, int64_t now)
{
	struct guard_word word;
	ssize_t n;

	while (p->link >= 0) {
		n = recv(p->link, &word, sizeof(word), MSG_DONTWAIT);
		if (n == (ssize_t)sizeof(word))
			take_word(p, &word, now);
		else if (n < 0 && errno == EAGAIN)
			break;
		else if (n >= 0 || errno != EINTR)
			guard_gone(p, now);
	}
}

/* A guard that is stopped, or hangs in a dead file system, holds up nothing. */
static void check_silence(struct proc *p, int64_t now)
{
	if (p->link < 0 || now < p->limit_ns)
		return;
	if (p->state == SILENT) {
		p->end.unkillable = true;
		p->end.guard_lost = !p->ended;
		close_fd(&p->link);
		finish(p);
		return;
	}
	log_note(MSG_guard_silent, p->label);
	kill(p->guard, SIGKILL);
	p->state = SILENT;
	p->limit_ns = now + p->kill_wait_ns;
}

static void step(struct proc *p)
{
	int64_t now = clock_now(&clock_system);

	drain(p, DRAIN_BUDGET);
	read_link(p, now);
	if (p->state == LOST)
		step_lost(p, now);
	else if (p->state != DONE)
		check_silence(p, now);
}

/* --- the pump -------------------------------------------------------------------------- */

static int time_left_ms(const struct proc *p, int timeout_ms, int64_t now)
{
	int64_t until = p->state == LOST ? p->next_look_ns : p->limit_ns;
	int64_t ms = until > now ? (until - now) / NS_PER_MS + 1 : 0;

	return timeout_ms >= 0 && timeout_ms < ms ? timeout_ms : ms < 60000 ? (int)ms : 60000;
}

enum status proc_pump(struct proc *const *procs, int count, int timeout_ms)
{
	struct pollfd *fds = calloc((size_t)count * FDS + 1, sizeof(*fds));
	int64_t now = clock_now(&clock_system);
	enum status st = ST_OK;
	nfds_t n = 0;
	bool any = false;

	if (!fds)
		die_nomem();
	for (int i = 0; i < count; i++) {
		const struct proc *p = procs[i];
		const int all[FDS] = {p->link, p->channel, p->err_fd};

		if (p->state == DONE)
			continue;
		any = true;
		timeout_ms = time_left_ms(p, timeout_ms, now);
		for (int k = 0; k < FDS; k++)
			fds[n++] = (struct pollfd){.fd = all[k], .events = POLLIN};
	}
	if (any && poll(fds, n, timeout_ms) < 0)
		st = errno == EINTR ? ST_INTERRUPTED : ST_IO;
	free(fds);
	for (int i = 0; i < count; i++)
		if (procs[i]->state != DONE) {
			send_rest(procs[i]);
			step(procs[i]);
		}
	return st;
}

bool proc_done(const struct proc *p)
{
	return p->state == DONE;
}

const struct proc_end *proc_result(const struct proc *p)
{
	return &p->end;
}

void proc_stop(struct proc *p)
{
	const char word = GUARD_STOP;

	if (p->link < 0)
		return;
	send(p->link, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	set_limit(p, clock_now(&clock_system));
}

void proc_free(struct proc *p)
{
	if (!p)
		return;
	if (p->state != DONE)
		proc_stop(p);
	while (p->state != DONE)
		proc_pump(&p, 1, -1);
	close_fd(&p->link);
	close_fd(&p->channel);
	close_fd(&p->err_fd);
	for (int i = 0; i < p->n_scratch; i++)
		scratch_release(&p->scratch[i]);
	str_release(&p->end.err);
	str_release(&p->lines.line);
	free(p->scratch);
	free(p->label);
	free(p);
}
