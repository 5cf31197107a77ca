#include "base/answers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Newer than the headers of Debian 11; the number is that of every machine. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#include "base/clock.h"
#include "base/str.h"

/* Others' pipes and locks must not stay open in a process that hangs. Only calls
 * that are safe after fork in a process with threads. */
static void keep_only(int fd, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (dup2(fd, 0) < 0 || syscall(SYS_close_range, 1U, ~0U, 0U) != 0)
		for (int other = 1; other < 1024; other++)
			close(other);
}

static void ask(const char *name, int answer, pid_t parent)
{
	keep_only(answer, parent);
	if (mkdir(name, 0700) == 0)
		rmdir(name);
	write(0, "", 1);
	_exit(0);
}

static bool wait_answer(int fd, double seconds)
{
	int64_t until = clock_now(&clock_system) + (int64_t)(seconds * NS_PER_S);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		int64_t left = until - clock_now(&clock_system);
		int n = poll(&p, 1, left > 0 ? (int)(left / NS_PER_MS) + 1 : 0);

		if (n > 0 || (n < 0 && errno != EINTR))
			return true;
		if (left <= 0)
			return false;
	}
}

bool path_answers(const char *path, double seconds)
{
	struct str name = {0};
	bool answers = true;
	pid_t parent = getpid(), pid;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return true;
	str_addf(&name, "%s/.assay-asks-%d", path, (int)getpid());
	pid = fork();
	if (pid == 0)
		ask(name.data, ends[1], parent);
	close(ends[1]);
	if (pid > 0) {
		answers = wait_answer(ends[0], seconds);
		if (!answers)
			kill(pid, SIGKILL);
		waitpid(pid, NULL, answers ? 0 : WNOHANG);
	}
	close(ends[0]);
	str_release(&name);
	return answers;
}

void lock_abandon(int fd)
{
	pid_t parent = getpid();
	sigset_t all;

	if (fd < 0 || fork() != 0)
		return;
	keep_only(fd, parent);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (;;)
		pause();
}
