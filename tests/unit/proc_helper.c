/* Plays every part of a guarded child for test_guard: the guard itself
 * (--guard), children that behave in all the ways children do, and an assay
 * that is to be killed. Says what it did on descriptor 3 or stdout. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"

static void tell(const char *text)
{
	struct str line = {0};

	str_addf(&line, "%s\n", text);
	fd_write_all(3, line.data, line.len);
	str_release(&line);
}

_Noreturn static void stay(void)
{
	for (;;)
		pause();
}

/* A grandchild that detached itself as a daemon would, and ignores TERM. */
static void detach(void)
{
	int ready[2];
	char byte;

	if (pipe(ready) != 0)
		exit(9);
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			signal(SIGTERM, SIG_IGN);
			tell(tmpf("pid %d", (int)getpid()));
			if (write(ready[1], "x", 1) != 1)
				exit(9);
			stay();
		}
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1)
		exit(9);
}

/* The first thread ends, another lives on: /proc calls the process a zombie. */
static void *live_on(void *arg)
{
	(void)arg;
	tell(tmpf("pid %d", (int)getpid()));
	stay();
}

static void go_headless(void)
{
	pthread_t thread;

	signal(SIGTERM, SIG_IGN);
	pthread_create(&thread, NULL, live_on, NULL);
	pthread_exit(NULL);
}

/* Detached, with an environment that says nothing of where it came from. */
static void detach_bare(void)
{
	char *const none[] = {NULL};

	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			execle("/proc/self/exe", "helper", "bare-inner", (char *)NULL, none);
		_exit(0);
	}
}

/* Hands its life from process to process, so that each scan of /proc finds
 * one that is gone already. */
_Noreturn static void fly(const char *name)
{
	struct timespec wait = {.tv_nsec = 10000000};

	signal(SIGTERM, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_NAME, name);
	tell("flying");
	for (;;) {
		if (fork() > 0)
			_exit(0);
		setsid();
		nanosleep(&wait, NULL);
	}
}

/* First process of a pid namespace: cannot end while another lives in it. */
static void open_namespace(void)
{
	pid_t first;

	if (unshare(CLONE_NEWPID) != 0) {
		tell("refused");
		return;
	}
	first = fork();
	if (first == 0)
		stay();
	tell(tmpf("pid %d", (int)first));
	stay();
}

static void on_line(void *arg, const char *line, size_t len)
{
	(void)arg;
	printf("%.*s\n", (int)len, line);
	fflush(stdout);
}

static void note_pid(void *arg, const char *line, size_t len)
{
	str_addn(arg, line, len);
	str_addc(arg, ' ');
}

static pid_t parent_of_pid(pid_t pid)
{
	struct str text = {0};
	int parent = -1;

	if (file_read(&text, tmpf("/proc/%d/stat", (int)pid), 4096, NULL) == ST_OK)
		sscanf(strrchr(text.data, ')') + 1, " %*c %d", &parent);
	str_release(&text);
	return parent;
}

/* assay EXE SCRATCH: runs one stubborn child under a guard, and waits. */
static int play_assay(char **argv)
{
	const char *child[] = {"helper", "stubborn", NULL};
	const char *scratch[] = {argv[3]};
	struct proc_spec spec = {.exe = argv[2],
	                         .argv = child,
	                         .request = "",
	                         .label = "stubborn",
	                         .deadline_s = 300,
	                         .grace_s = 0.2,
	                         .scratch = scratch,
	                         .n_scratch = 1,
	                         .on_line = on_line};
	struct proc *p;

	proc_init();
	if (proc_start(&p, &spec, NULL) != ST_OK)
		return 9;
	while (!proc_done(p))
		proc_pump(&p, 1, 100);
	printf("guard_lost %d\n", proc_result(p)->guard_lost);
	proc_free(p);
	return 0;
}

/* lose EXE: kills the guard of its child and tells who lives on. To be run as
 * process 1 of a container. */
static int play_loser(const char *exe)
{
	const char *child[] = {"helper", "stubborn", NULL};
	struct str seen = {0};
	struct proc_spec spec = {.exe = exe,
	                         .argv = child,
	                         .request = "",
	                         .label = "stubborn",
	                         .deadline_s = 300,
	                         .grace_s = 0.1,
	                         .on_line = note_pid,
	                         .arg = &seen};
	struct proc *p;
	int first, second, killed = 0;

	proc_init();
	if (proc_start(&p, &spec, NULL) != ST_OK)
		return 9;
	while (!proc_done(p)) {
		proc_pump(&p, 1, 100);
		if (!killed && sscanf(str_text(&seen), "pid %d pid %d", &first, &second) == 2)
			killed = kill(parent_of_pid(second), SIGKILL) == 0;
	}
	printf("self %d lost %d alive %d\n", (int)getpid(), proc_result(p)->guard_lost,
	       (kill(first, 0) == 0) + (kill(second, 0) == 0));
	proc_free(p);
	str_release(&seen);
	return 0;
}

static int play_child(const char *mode, const char *number)
{
	struct str text = {0};

	if (strcmp(mode, "echo") == 0) {
		fd_read_all(&text, STDIN_FILENO, "stdin", 1 << 20, NULL);
		tell("first");
		fd_write_all(3, str_text(&text), text.len);
		fprintf(stderr, "to stderr\n");
		printf("to stdout\n");
	} else if (strcmp(mode, "exit") == 0) {
		return atoi(number);
	} else if (strcmp(mode, "abort") == 0) {
		raise(atoi(number));
	} else if (strcmp(mode, "stubborn") == 0) {
		signal(SIGTERM, SIG_IGN);
		detach();
		tell(tmpf("pid %d", (int)getpid()));
		stay();
	} else if (strcmp(mode, "leave") == 0) {
		detach();
	} else if (strcmp(mode, "flood") == 0) {
		for (int i = 0; i < 300000; i++)
			fprintf(i % 2 ? stderr : stdout, "line %d of far too many\n", i);
	} else if (strcmp(mode, "long") == 0) {
		str_pad(&text, 'x', (size_t)atoi(number));
		tell(text.data);
		tell("after");
	} else if (strcmp(mode, "unended") == 0) {
		fd_write_all(3, "whole\nunended", 13);
	} else if (strcmp(mode, "mute") == 0) {
		for (int fd = 0; fd < 4; fd++)
			close(fd);
		stay();
	} else if (strcmp(mode, "sigpipe") == 0) {
		close(1);
		raise(SIGPIPE);
	} else if (strcmp(mode, "headless") == 0) {
		go_headless();
	} else if (strcmp(mode, "bare") == 0) {
		detach_bare();
		stay();
	} else if (strcmp(mode, "bare-inner") == 0) {
		signal(SIGTERM, SIG_IGN);
		tell(tmpf("pid %d", (int)getpid()));
		stay();
	} else if (strcmp(mode, "comet") == 0) {
		fly(number);
	} else if (strcmp(mode, "namespace") == 0) {
		open_namespace();
	} else if (strcmp(mode, "env") == 0) {
		tell(tmpf("LC_ALL=%s", getenv("LC_ALL") ? getenv("LC_ALL") : "-"));
		tell(tmpf("OMPI=%s", getenv("OMPI_COMM_WORLD_RANK") ? "there" : "-"));
		tell(tmpf("KEPT=%s", getenv("ASSAY_TEST_KEPT") ? "there" : "-"));
		for (int fd = 4; fd < 64; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				tell(tmpf("open %d", fd));
	}
	str_release(&text);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--guard") == 0)
		return guard_main(argc, argv);
	if (argc > 3 && strcmp(argv[1], "assay") == 0)
		return play_assay(argv);
	if (argc > 2 && strcmp(argv[1], "lose") == 0)
		return play_loser(argv[2]);
	if (argc > 2 && strcmp(argv[1], "count") == 0) {
		tell(tmpf("%d arguments", argc));
		return 0;
	}
	return play_child(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "0");
}
