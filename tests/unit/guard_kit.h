/* What the tests of guarded children share: starting tests/unit/proc_helper
 * under a guard, collecting its lines, and seeing who is still alive. */
#ifndef ASSAY_TESTS_GUARD_KIT_H
#define ASSAY_TESTS_GUARD_KIT_H

#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"

static const char helper[] __attribute__((unused)) = BINARY_DIR "/tests/unit/proc_helper";

struct lines {
	struct str text; /* newline-separated */
	int count;
	pid_t pids[8];
	int n_pids;
};

static inline void collect(void *arg, const char *line, size_t len)
{
	struct lines *l = arg;
	int pid;

	str_addn(&l->text, line, len);
	str_addc(&l->text, '\n');
	l->count++;
	if (sscanf(line, "pid %d", &pid) == 1 && l->n_pids < 8)
		l->pids[l->n_pids++] = pid;
}

static inline bool lives(pid_t pid)
{
	struct str text = {0};
	const char *tail;
	bool is = false;

	if (file_read(&text, tmpf("/proc/%d/stat", (int)pid), 4096, NULL) == ST_OK &&
	    (tail = strrchr(text.data, ')')))
		is = tail[2] != 'Z' && tail[2] != 'X';
	str_release(&text);
	return is;
}

/* Polls with a deadline far beyond what is needed. */
static inline bool all_gone(const struct lines *l)
{
	struct timespec pause = {.tv_nsec = 5000000};

	for (int round = 0; round < 6000; round++) {
		int alive = 0;

		for (int i = 0; i < l->n_pids; i++)
			alive += lives(l->pids[i]);
		if (alive == 0)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static inline struct proc *begin(const char *mode, const char *number, double deadline,
                                 const char *scratch, struct lines *lines)
{
	const char *argv[] = {"helper", mode, number, NULL};
	const char *dirs[] = {scratch};
	struct proc_spec spec = {.exe = helper,
	                         .argv = argv,
	                         .request = "asked\n",
	                         .label = mode,
	                         .deadline_s = deadline,
	                         .grace_s = 0.2,
	                         .scratch = dirs,
	                         .n_scratch = scratch ? 1 : 0,
	                         .on_line = collect,
	                         .arg = lines};
	struct proc *p = NULL;
	struct error err = {0};

	assert_int_equal(proc_start(&p, &spec, &err), ST_OK);
	return p;
}

static inline void run_to_end(struct proc *p)
{
	while (!proc_done(p))
		assert_int_equal(proc_pump(&p, 1, 1000), ST_OK);
}

static inline void until_pids(struct proc *p, struct lines *l, int n)
{
	while (l->n_pids < n && !proc_done(p))
		proc_pump(&p, 1, 1000);
	assert_int_equal(l->n_pids, n);
}

static inline void make_scratch(char *dir, struct str *scratch, int *lock)
{
	assert_non_null(mkdtemp(dir));
	assert_int_equal(scratch_make(dir, "run1", "n1", scratch, lock, NULL), ST_OK);
}

static inline bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static inline pid_t parent_of(pid_t pid)
{
	struct str text = {0};
	int parent = 0;

	assert_int_equal(file_read(&text, tmpf("/proc/%d/stat", (int)pid), 4096, NULL), ST_OK);
	assert_int_equal(sscanf(strrchr(text.data, ')') + 1, " %*c %d", &parent), 1);
	str_release(&text);
	return parent;
}

/* Starts "assay", returns its pid, reads the pids its child tells. */
static inline pid_t start_assay(const char *scratch, struct lines *l)
{
	int out[2];
	pid_t pid;
	FILE *f;
	char line[256];

	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		signal(SIGINT, SIG_DFL); /* ignored in a shell's background */
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		execl(helper, "helper", "assay", helper, scratch, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	f = fdopen(out[0], "r");
	while (l->n_pids < 2 && fgets(line, sizeof(line), f))
		collect(l, line, strcspn(line, "\n"));
	assert_int_equal(l->n_pids, 2);
	fclose(f);
	return pid;
}

#endif
