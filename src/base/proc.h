/* Running other programs so that nothing is ever left behind.
 *
 * Two levels. spawn_*: one program with captured streams and a deadline, for
 * use inside a probe child (fio, an interpreter). proc_*: a probe child under
 * a guard of its own, for the process that runs the probes. The guard is
 * `assay --guard`, a small process in its own session that starts the child in
 * its own process group, kills every descendant when the deadline passes or
 * when the pipe to assay ends, and removes the child's scratch directories.
 * It never touches anything else.
 *
 * assay, guard and children are subreapers / PDEATHSIG users: see DESIGN 3.
 * Deadlines are wall time. Children get a clean environment: LC_ALL=C, no
 * MPI or launcher variables (OMPI_*, PMIX_*, PMI_*, MPI*, SLURM_* …). */
#ifndef ASSAY_BASE_PROC_H
#define ASSAY_BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

struct proc_end {
	bool started;    /* false: exec failed; `err` says why */
	bool timed_out;  /* its deadline passed */
	bool stopped;    /* proc_stop / a signal to us asked for it */
	bool guard_lost; /* the guard died; assay cleaned up itself */
	bool unkillable; /* still there after KILL (D state); given up on */
	bool left;       /* scratch files were not all removed */
	int exit_code;   /* -1: ended by a signal or never started */
	int signal;      /* 0: none */
	double seconds;  /* wall */
	struct str err;  /* stderr (of a guarded child stdout too), at most 1 MiB:
	                      beginning and end, the cut is said. The caller of
	                      spawn_run releases it */
};

/* --- one program, inside a probe child --------------------------------- */

struct spawn_spec {
	const char *const *argv; /* argv[0] looked up in PATH */
	const char *cwd;         /* NULL: ours */
	double deadline_s;
	size_t max_out; /* stdout kept, bytes; more ends the program: ST_RANGE */
	/* Called about every 0.2 s and after output; false ends the program
	 * (proc_end.stopped). May be NULL. */
	bool (*tick)(void *arg, double seconds);
	void *arg;
};

/* Runs to its end. stdout goes to *out. A status other than ST_OK: the
 * program could not be started (ST_NOTFOUND …) or its output was too large;
 * how it ended otherwise is in *end. Its process group and all that descends
 * from it end with it; what hid from both is ended by the guard of the calling
 * probe. */
enum status spawn_run(const struct spawn_spec *spec, struct str *out, struct proc_end *end,
                      struct error *err);

/* --- a probe child under its guard ------------------------------------- */

struct proc_spec {
	const char *exe;            /* /proc/self/exe unless a test says otherwise */
	const char *const *argv;    /* of the child */
	const char *request;        /* text for its stdin */
	bool keep_input;            /* stdin stays open after it, for proc_send */
	const char *label;          /* "gemm n003 cpu-socket-0", for messages */
	double deadline_s;          /* > 0 */
	double grace_s;             /* between TERM and KILL; 0: 2 s */
	double kill_wait_s;         /* from KILL to giving up (unkillable); 0: 10 s */
	const char *const *scratch; /* directories removed at the end; each has a
	                             component beginning with ".assay-" */
	int n_scratch;
	/* Called for each line on the child's channel (fd 3), without its newline
	 * and NUL-terminated. Lines over 8 MiB are dropped; `err` says so. */
	void (*on_line)(void *arg, const char *line, size_t len);
	void *arg;
};

struct proc; /* one guarded child; all proc_* functions from one thread */

/* On failure nothing runs and the scratch directories are removed. */
enum status proc_start(struct proc **out, const struct proc_spec *spec, struct error *err);
/* Handles whatever the children sent or did; returns after at most
 * timeout_ms (negative: no limit), sooner when something happened or all are
 * done. ST_INTERRUPTED: a signal came; everything was handled all the same. */
enum status proc_pump(struct proc *const *procs, int count, int timeout_ms);
bool proc_done(const struct proc *p);
/* More for the stdin of a child started with keep_input; what it does not take now
 * goes with later pumps. */
void proc_send(struct proc *p, const char *data, size_t len);
/* After proc_done. */
const struct proc_end *proc_result(const struct proc *p);
/* Asks the guard to end it (TERM, grace, KILL, cleaning). */
void proc_stop(struct proc *p);
void proc_free(struct proc *p); /* ends it first if need be; NULL is fine */

/* Makes this process a subreaper; call once at start. */
void proc_init(void);

/* --- the other sides --------------------------------------------------- */

/* main() of `assay --guard`; never returns to the caller with work undone. */
int guard_main(int argc, char **argv);

/* Removes left-overs of this node's earlier runs whose lock is free:
 * <path>/.assay-<run>/<node>/. Other nodes' directories stay: on a parallel
 * file system a lock may be local to its node. Adds the removed names,
 * separated by ", ". A path that does not exist has none. */
enum status guard_sweep(const char *path, const char *node, struct str *removed, struct error *err);
/* Makes <path>/.assay-<run>/<node>, mode 0700, and holds its lock while the
 * returned descriptor is open; the guard holds it too. Waits up to 5 s for the
 * guard of a killed run to finish, then ST_EXISTS. */
enum status scratch_make(const char *path, const char *run, const char *node, struct str *dir,
                         int *lock_fd, struct error *err);
/* Instead of close(lock_fd), after the child's end: on NFS the emptied
 * directory can only go once its lock is closed. lock_fd may be -1. */
void scratch_close(const char *dir, int lock_fd);

#endif
