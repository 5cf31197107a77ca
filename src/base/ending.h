/* Ending a family of processes: find every member through /proc, TERM, then
 * KILL, until only zombies are left. Never signals anything that is not a
 * member: a process is known by pid and start time, and signalled through a
 * pidfd where the kernel has them. */
#ifndef ASSAY_BASE_ENDING_H
#define ASSAY_BASE_ENDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What /proc/<pid>/stat says. */
struct proc_stat {
	pid_t pid, ppid, pgrp, session;
	char state;
	bool zombie;    /* all its threads are gone */
	uint64_t start; /* clock ticks since boot */
};

bool proc_stat_read(pid_t pid, struct proc_stat *out);

enum ending_state {
	ENDING_BUSY,  /* look again after ending.wait_ms */
	ENDING_CLEAR, /* no living member found twice in a row */
	ENDING_STUCK, /* still some when the time was up */
};

/* One family. Zeroed, then filled down to `give_up_ns`. */
struct ending {
	/* Members besides their descendants: true for a process that belongs.
	 * A member once found stays one, whoever becomes its parent. */
	bool (*belongs)(void *arg, const struct proc_stat *p);
	void *arg;
	bool reap;          /* members that are our own children, with waitpid */
	int64_t kill_ns;    /* until then TERM, from then on KILL; monotonic */
	int64_t give_up_ns; /* then ENDING_STUCK */

	int wait_ms; /* out: when to look again */
	int quiet;   /* scans in a row without a living member */
	struct member *members;
	int n_members;
};

/* One look, one round of signals. */
enum ending_state ending_step(struct ending *e, int64_t now_ns);
void ending_release(struct ending *e);

#endif
