/* Plays every part of a guarded child for test_guard: the guard itself
 * (--guard), children that behave in all the ways children do, and an assay
 * that is to be killed. Says what it did on descriptor 3 or stdout. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

static void on_line(void *arg, const char *line, size_t len)
{
	(void)arg;
	printf("%.*s\n", (int)len, line);
	fflush(stdout);
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
	return play_child(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "0");
}
