/* The guard of one probe child: a process of its own, because only somebody who
 * outlives both assay and the child can promise that nothing is left behind.
 * It has no threads, needs nothing of assay but the link, and as subreaper it is
 * the parent of whatever loses its parent: when it has no child left, nobody is
 * left (the one proof that does not race with forks). */
#include "base/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/answers.h"
#include "base/clock.h"
#include "base/ending.h"
#include "base/launch.h"
#include "base/proc.h"
#include "base/scratch.h"
#include "base/unit.h"

struct guard {
	int64_t grace_ns, kill_wait_ns, deadline_ns, start_ns;
	double deadline_s;
	char **scratch_paths;
	struct scratch *scratch;
	int n_scratch;
	char **program; /* path, argv… */
	pid_t child;
	bool link_open, stop, child_ended, ending;
	int signals; /* signalfd */
	struct ending family;
	int64_t next_look_ns;
	struct guard_word word;
};

static bool seconds_arg(const char *text, double *s)
{
	return parse_double(text, s) && *s > 0 && *s < 1e9;
}

static bool parse_args(struct guard *g, int argc, char **argv)
{
	double grace_s, kill_wait_s;
	int64_t n;

	if (argc < 8 || !seconds_arg(argv[2], &g->deadline_s) || !seconds_arg(argv[3], &grace_s) ||
	    !seconds_arg(argv[4], &kill_wait_s) || !parse_int64(argv[5], &n) || n < 0 ||
	    n > argc - 8)
		return false;
	g->grace_ns = (int64_t)(grace_s * NS_PER_S);
	g->kill_wait_ns = (int64_t)(kill_wait_s * NS_PER_S);
	g->n_scratch = (int)n;
	g->scratch_paths = argv + 6;
	g->program = argv + 6 + n;
	return true;
}

static bool link_is_socket(void)
{
	int type;
	socklen_t len = sizeof(type);

	return getsockopt(GUARD_LINK, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_SEQPACKET;
}

static void tell(struct guard *g, enum guard_kind kind)
{
	g->word.kind = kind;
	send(GUARD_LINK, &g->word, sizeof(g->word), MSG_NOSIGNAL);
}

static void complain(struct error *err)
{
	if (err->status != ST_OK)
		fprintf(stderr, "%s\n", err->text.data);
	fflush(stderr);
	error_release(err);
}

/* Reads what assay said; its silence for ever is a word too. */
static void read_link(struct guard *g)
{
	char byte;
	ssize_t n = recv(GUARD_LINK, &byte, 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	g->stop = true;
	if (n <= 0)
		g->link_open = false;
}

/* Whoever signals the guard wants the job to end: a batch system that ends
 * every process it finds, or a person. */
static int catch_signals(void)
{
	sigset_t all, wanted;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGHUP);
	sigaddset(&wanted, SIGQUIT);
	return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void read_signals(struct guard *g)
{
	struct signalfd_siginfo info;

	while (read(g->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			g->stop = true;
}

static void note_scratch(struct guard *g)
{
	g->scratch = calloc((size_t)g->n_scratch + 1, sizeof(*g->scratch));
	if (!g->scratch)
		die_nomem();
	for (int i = 0; i < g->n_scratch; i++) {
		struct error err = {0};

		scratch_note(&g->scratch[i], g->scratch_paths[i], true, &err);
		complain(&err);
	}
}

static void start_child(struct guard *g)
{
	static const int fds[] = {GUARD_REQUEST, GUARD_OUT, GUARD_ERR, GUARD_CHANNEL};
	struct launch l = {
		.path = g->program[0],
		.argv = (const char *const *)g->program + 1,
		.fds = fds,
		.n_fds = 4,
		.dies_with_us = true,
		.clean_env = true,
	};
	struct error err = {0};

	if (launch_start(&l, &g->child, &err) == ST_OK) {
		g->word.started = true;
		tell(g, GUARD_STARTED);
	}
	complain(&err);
	/* Else assay would not see the end of these streams. */
	close(GUARD_OUT);
	close(GUARD_CHANNEL);
	close(GUARD_REQUEST);
}

/* Collects the dead; false when we have no child any more. */
static bool reap(struct guard *g, int64_t now)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != g->child)
			continue;
		g->child_ended = true;
		g->word.seconds = (double)(now - g->start_ns) / NS_PER_S;
		if (WIFEXITED(status))
			g->word.exit_code = WEXITSTATUS(status);
		else
			g->word.signal = WTERMSIG(status);
	}
	return pid == 0 || errno != ECHILD;
}

static bool in_family(void *arg, const struct proc_stat *p)
{
	(void)arg;
	return p->ppid == getpid();
}

static void decide(struct guard *g, int64_t now)
{
	if (g->ending || (!g->child_ended && !g->stop && now < g->deadline_ns))
		return;
	g->ending = true;
	g->word.stopped = !g->child_ended && g->stop;
	g->word.timed_out = !g->child_ended && !g->stop;
	g->family = (struct ending){.belongs = in_family,
	                            .kill_ns = now + g->grace_ns,
	                            .give_up_ns = now + g->grace_ns + g->kill_wait_ns};
}

static void wait_more(struct guard *g, int64_t now)
{
	int64_t until = g->ending ? g->next_look_ns : g->deadline_ns;
	int64_t ms = until > now ? (until - now) / NS_PER_MS + 1 : 0;
	struct pollfd fds[2] = {{.fd = g->link_open ? GUARD_LINK : -1, .events = POLLIN},
	                        {.fd = g->signals, .events = POLLIN}};

	if (poll(fds, 2, ms > 60000 ? 60000 : (int)ms) <= 0)
		return;
	if (fds[0].revents)
		read_link(g);
	if (fds[1].revents)
		read_signals(g);
}

/* Until nobody is left, or cannot be made to go. */
static void follow(struct guard *g)
{
	for (;;) {
		int64_t now = clock_now(&clock_system);

		if (!reap(g, now))
			break;
		decide(g, now);
		if (g->ending && now >= g->next_look_ns) {
			ending_step(&g->family, now);
			g->next_look_ns = now + g->family.wait_ms * NS_PER_MS;
			if (now >= g->family.give_up_ns) {
				g->word.unkillable = true;
				break;
			}
		}
		wait_more(g, now);
	}
	if (!g->child_ended)
		g->word.seconds = (double)(clock_now(&clock_system) - g->start_ns) / NS_PER_S;
	ending_release(&g->family);
}

static void clean(struct guard *g)
{
	for (int i = 0; i < g->n_scratch; i++) {
		struct error err = {0};

		if (g->scratch[i].path && scratch_remove(&g->scratch[i], &err) != ST_OK)
			g->word.left++;
		complain(&err);
		scratch_release(&g->scratch[i]);
	}
	free(g->scratch);
}

/* Our locks stay with somebody who can hang in our place. */
static void abandon(struct guard *g)
{
	g->word.left = g->n_scratch;
	for (int i = 0; i < g->n_scratch; i++)
		lock_abandon(g->scratch[i].lock_fd);
}

int guard_main(int argc, char **argv)
{
	struct guard g = {.link_open = true, .word = {.exit_code = -1}};

	if (!parse_args(&g, argc, argv) || !link_is_socket()) {
		fprintf(stderr, "%s\n", say(MSG_guard_usage));
		return EXIT_USAGE;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	g.signals = catch_signals();
	note_scratch(&g);
	g.start_ns = clock_now(&clock_system);
	g.deadline_ns = g.start_ns + (int64_t)(g.deadline_s * NS_PER_S);
	read_link(&g);
	if (!g.stop)
		start_child(&g);
	if (g.word.started)
		follow(&g);
	else
		g.word.stopped = g.stop;
	tell(&g, GUARD_ENDED);
	/* Where a process hangs in the kernel, its files may hang us as well. */
	if (g.word.unkillable)
		abandon(&g);
	else
		clean(&g);
	tell(&g, GUARD_CLEANED);
	if (g.signals >= 0)
		close(g.signals);
	return g.word.left ? EXIT_INTERNAL : 0;
}
