/* Shared by spawn.c, proc.c and guard.c only. */
#ifndef ASSAY_BASE_PROC_PRIVATE_H
#define ASSAY_BASE_PROC_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* Descriptors of a guard; 0 to 3 are handed on to the child. */
enum guard_fd {
	GUARD_REQUEST = 0,
	GUARD_OUT = 1,
	GUARD_ERR = 2,
	GUARD_CHANNEL = 3,
	GUARD_LIFE = 4,
	GUARD_STATUS = 5
};

/* Environment variable that marks everything a guard has started. */
#define GUARD_MARK "ASSAY_GUARD_MARK"

/* How a guard reports the end: one line of these numbers. */
struct guard_report {
	int exec_errno, exit_code, signal, timed_out, stopped, unkillable;
};

/* Our environment with LC_ALL=C, without launcher variables; plus `extra`
 * ("NAME=value") unless NULL. One block: free() it. */
char **clean_environment(const char *extra);

void close_others(int first);

/* Monotonic seconds. */
double proc_seconds(void);

/* One process of /proc. */
struct proc_entry {
	pid_t pid, parent, session;
	char state;
	unsigned long long start; /* ticks since boot: tells a reused pid apart */
};

/* Signals every live process for which `chosen` holds, following no pid that
 * was reused meanwhile. Returns how many live ones there were. */
int proc_signal_all(bool (*chosen)(const struct proc_entry *list, int count, int index, void *arg),
                    void *arg, int signal);
/* Whether entry `index` descends from `ancestor`. */
bool proc_descends(const struct proc_entry *list, int count, int index, pid_t ancestor);

/* Ends all that are chosen: TERM, after `grace` seconds KILL, until only
 * zombies are left. `reap` is called between rounds. False when some live on
 * after ten more seconds: they sit in the kernel. */
bool proc_end_all(bool (*chosen)(const struct proc_entry *list, int count, int index, void *arg),
                  void *arg, double grace, void (*reap)(void *arg));

/* Removes a scratch directory and its .assay-RUN parent when that is empty.
 * Refuses paths without a component that begins with ".assay-". */
void scratch_remove(const char *dir);

#endif
