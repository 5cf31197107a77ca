/* A family changes while one looks at it: processes fork, die and are handed to
 * another parent between two reads of /proc. So membership is sticky, a round
 * is repeated until two in a row find nobody alive, and whoever is the reaper
 * of the family may stop earlier, on the kernel's word that it has no child. */
#include "base/ending.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

/* The same on all architectures; older headers lack them. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define WAIT_FIRST_MS 5
#define WAIT_MOST_MS  250

struct member {
	pid_t pid;
	uint64_t start;
	bool asked; /* got its TERM */
};

struct scan {
	struct proc_stat *all;
	size_t count, cap;
};

/* The name in parentheses may hold anything, also ") 1 (": the last one counts. */
static bool parse_stat(char *text, struct proc_stat *out)
{
	char *rest = strrchr(text, ')');
	int ppid, pgrp, session, threads;
	unsigned long long start;

	if (!rest ||
	    sscanf(rest + 1,
	           " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
	           &out->state, &ppid, &pgrp, &session, &threads, &start) != 6)
		return false;
	out->ppid = ppid;
	out->pgrp = pgrp;
	out->session = session;
	/* The first thread may be gone while others run on. */
	out->zombie = (out->state == 'Z' || out->state == 'X') && threads <= 1;
	out->start = start;
	return true;
}

bool proc_stat_read(pid_t pid, struct proc_stat *out)
{
	char name[32], text[1024];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	out->pid = pid;
	return parse_stat(text, out);
}

static void *grow(void *list, size_t count, size_t size)
{
	list = realloc(list, count * size);
	if (!list)
		die_nomem();
	return list;
}

static void scan_proc(struct scan *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (s->count == s->cap) {
			s->cap = s->cap ? s->cap * 2 : 256;
			s->all = grow(s->all, s->cap, sizeof(*s->all));
		}
		if (proc_stat_read((pid_t)atoi(entry->d_name), &s->all[s->count]))
			s->count++;
	}
	if (dir)
		closedir(dir);
}

/* start 0: any. */
static struct member *find_member(const struct ending *e, pid_t pid, uint64_t start)
{
	for (int i = 0; i < e->n_members; i++)
		if (e->members[i].pid == pid && (start == 0 || e->members[i].start == start))
			return &e->members[i];
	return NULL;
}

static bool parent_is_member(const struct ending *e, const struct scan *s, pid_t ppid)
{
	/* No such parent any more: the next look sees the new one. */
	for (size_t i = 0; find_member(e, ppid, 0) && i < s->count; i++)
		if (s->all[i].pid == ppid)
			return find_member(e, ppid, s->all[i].start) != NULL;
	return false;
}

/* Adds all that belong now, and what descends from members, to a fixpoint. */
static void collect(struct ending *e, const struct scan *s)
{
	bool more;

	do {
		more = false;
		for (size_t i = 0; i < s->count; i++) {
			const struct proc_stat *p = &s->all[i];

			if (p->pid == getpid() || find_member(e, p->pid, p->start) ||
			    !(e->belongs(e->arg, p) || parent_is_member(e, s, p->ppid)))
				continue;
			e->members =
				grow(e->members, (size_t)e->n_members + 1, sizeof(*e->members));
			e->members[e->n_members++] =
				(struct member){.pid = p->pid, .start = p->start};
			more = true;
		}
	} while (more);
}

/* The pid may have been given to somebody else since the scan: the start time
 * is compared again while the pidfd holds on to the process. */
static void signal_member(const struct member *m, int sig)
{
	struct proc_stat now;
	int fd = (int)syscall(SYS_pidfd_open, m->pid, 0U);

	if (fd < 0 && errno == ESRCH)
		return;
	if (proc_stat_read(m->pid, &now) && now.start == m->start && !now.zombie) {
		/* No pidfds before Linux 5.3, or under some filters. */
		if (fd < 0 ||
		    (syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0U) != 0 && errno == ENOSYS))
			kill(m->pid, sig);
	}
	if (fd >= 0)
		close(fd);
}

/* Number of living members; signals each that is due one. */
static int signal_round(struct ending *e, const struct scan *s, bool kill_now, bool *news)
{
	int alive = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct proc_stat *p = &s->all[i];
		struct member *m = find_member(e, p->pid, p->start);

		if (!m)
			continue;
		if (p->zombie) {
			if (e->reap && p->ppid == getpid())
				waitpid(p->pid, NULL, WNOHANG);
			continue;
		}
		alive++;
		if (kill_now) {
			signal_member(m, SIGKILL);
		} else if (!m->asked) {
			signal_member(m, SIGTERM);
			signal_member(m, SIGCONT); /* a stopped one could not react */
			m->asked = *news = true;
		}
	}
	return alive;
}

enum ending_state ending_step(struct ending *e, int64_t now_ns)
{
	bool kill_now = now_ns >= e->kill_ns, news = false;
	struct scan s = {0};
	int alive;

	scan_proc(&s);
	collect(e, &s);
	alive = signal_round(e, &s, kill_now, &news);
	free(s.all);
	e->quiet = alive ? 0 : e->quiet + 1;
	if (e->quiet >= 2)
		return ENDING_CLEAR;
	if (alive && now_ns >= e->give_up_ns)
		return ENDING_STUCK;
	/* Rarer and rarer, to cost nothing while somebody dies slowly. */
	if (e->quiet || news || e->wait_ms == 0)
		e->wait_ms = WAIT_FIRST_MS;
	else if (e->wait_ms < WAIT_MOST_MS)
		e->wait_ms *= 2;
	if (e->wait_ms > WAIT_MOST_MS)
		e->wait_ms = WAIT_MOST_MS;
	if (!kill_now && (e->kill_ns - now_ns) / 1000000 < e->wait_ms)
		e->wait_ms = (int)((e->kill_ns - now_ns) / 1000000) + 1;
	return ENDING_BUSY;
}

void ending_release(struct ending *e)
{
	free(e->members);
	e->members = NULL;
	e->n_members = 0;
}
