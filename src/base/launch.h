/* Fork and exec with nothing inherited by accident: descriptors, signals,
 * environment and parentage are what is listed here and nothing else. Safe in
 * a process with threads. */
#ifndef ASSAY_BASE_LAUNCH_H
#define ASSAY_BASE_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct launch {
	const char *path;        /* program; no PATH lookup here */
	const char *const *argv; /* ends with NULL */
	const char *cwd;         /* NULL: ours */
	const int *fds;          /* fds[i] becomes descriptor i; all others are closed on exec */
	int n_fds;
	bool new_session;  /* else: own process group in our session */
	bool dies_with_us; /* SIGKILL when the calling thread ends */
	bool clean_env;    /* LC_ALL=C, no launcher variables, no core files */
};

/* Returns once the program was exec'd. ST_NOTFOUND, ST_PERMISSION …: it could
 * not be; no process is left then. */
enum status launch_start(const struct launch *l, pid_t *pid, struct error *err);

/* The file that `name` means: itself if it has a slash, else from PATH. NULL:
 * none; from malloc otherwise. */
char *launch_find(const char *name);

/* Pipe with both ends close-on-exec and above the standard descriptors; the
 * reading end does not block. */
enum status launch_pipe(int fds[2], struct error *err);

void close_fd(int *fd); /* closes unless -1, then sets -1 */

#endif
