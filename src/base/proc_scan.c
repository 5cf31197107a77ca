/* Finding and ending processes through /proc. A guard must end everything it
 * started and nothing else: descent is read afresh each round, and a pid is
 * signalled through a pidfd after its start time was checked. */
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/proc_private.h"

#define KILL_SECONDS 10.0

double proc_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The command name in stat may hold blanks and parentheses: parse behind the
 * last one. */
static bool read_entry(pid_t pid, struct proc_entry *e)
{
	struct str text = {0};
	const char *tail;
	int parent, session;
	bool ok = false;

	if (file_read(&text, tmpf("/proc/%d/stat", (int)pid), 4096, NULL) == ST_OK &&
	    (tail = strrchr(str_text(&text), ')'))) {
		e->pid = pid;
		ok = sscanf(tail + 1,
		            " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
		            "%*d %*d %*d %llu",
		            &e->state, &parent, &session, &e->start) == 4;
		e->parent = parent;
		e->session = session;
	}
	str_release(&text);
	return ok;
}

static int scan(struct proc_entry **list)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int count = 0, capacity = 0;

	*list = NULL;
	while (dir && (d = readdir(dir))) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		if (count == capacity) {
			capacity = capacity ? capacity * 2 : 256;
			*list = realloc(*list, (size_t)capacity * sizeof(**list));
			if (!*list)
				die_nomem();
		}
		if (read_entry((pid_t)atoi(d->d_name), &(*list)[count]))
			count++;
	}
	if (dir)
		closedir(dir);
	return count;
}

bool proc_descends(const struct proc_entry *list, int count, int index, pid_t ancestor)
{
	pid_t parent = list[index].parent;

	for (int depth = 0; depth < 1000 && parent > 1; depth++) {
		int i = 0;

		if (parent == ancestor)
			return true;
		while (i < count && list[i].pid != parent)
			i++;
		if (i == count)
			return false;
		parent = list[i].parent;
	}
	return false;
}

static void signal_one(const struct proc_entry *e, int signal)
{
	struct proc_entry now;
	int fd = (int)syscall(SYS_pidfd_open, e->pid, 0);

	/* Between the scan and here the pid may have become somebody else's. */
	if (read_entry(e->pid, &now) && now.start == e->start) {
		if (fd >= 0)
			syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
		else
			kill(e->pid, signal);
	}
	if (fd >= 0)
		close(fd);
}

int proc_signal_all(bool (*chosen)(const struct proc_entry *, int, int, void *), void *arg,
                    int signal)
{
	struct proc_entry *list;
	int count = scan(&list), live = 0;

	for (int i = 0; i < count; i++) {
		if (list[i].state == 'Z' || list[i].state == 'X' || list[i].pid == getpid() ||
		    !chosen(list, count, i, arg))
			continue;
		live++;
		if (signal)
			signal_one(&list[i], signal);
	}
	free(list);
	return live;
}

static void pause_ms(int ms)
{
	struct timespec t = {.tv_nsec = ms * 1000000L};

	nanosleep(&t, NULL);
}

bool proc_end_all(bool (*chosen)(const struct proc_entry *, int, int, void *), void *arg,
                  double grace, void (*reap)(void *arg))
{
	double start = proc_seconds();
	int signal = SIGTERM, wait_ms = 1;

	if (proc_signal_all(chosen, arg, SIGTERM) == 0)
		return true;
	/* A stopped process takes TERM only when it goes on. */
	proc_signal_all(chosen, arg, SIGCONT);
	for (;;) {
		double past = proc_seconds() - start;

		pause_ms(wait_ms);
		wait_ms = wait_ms < 50 ? wait_ms * 2 : 50;
		if (reap)
			reap(arg);
		if (signal == SIGTERM && past >= grace)
			signal = SIGKILL;
		if (proc_signal_all(chosen, arg, signal == SIGKILL ? SIGKILL : 0) == 0)
			return true;
		if (past > grace + KILL_SECONDS)
			return false;
	}
}
