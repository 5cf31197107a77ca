#include "coord/comm_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_t quiet_thread;
static pid_t quiet_process; /* 0: none */
static int silent = -1;     /* its other end stays open, and nobody writes there */

void comm_sockets_quiet(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
		return;
	silent = ends[0];
	quiet_thread = pthread_self();
	quiet_process = getpid();
}

static bool is_quiet(int fd)
{
	int type;
	socklen_t len = sizeof(type);

	return quiet_process == getpid() && pthread_equal(quiet_thread, pthread_self()) &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/* A call that has found the peer gone, by the errno it has set: the socket falls silent. */
static ssize_t gone(int fd, ssize_t got)
{
	int why = errno;

	if (is_quiet(fd) && dup3(silent, fd, O_CLOEXEC) == fd) {
		why = EAGAIN;
		got = -1;
	}
	errno = why;
	return got;
}

static bool is_death(int why)
{
	switch (why) {
	case EPIPE:
	case ECONNRESET:
	case ECONNABORTED:
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETUNREACH:
	case ENETDOWN:
	case ENETRESET:
		return true;
	default:
		return false;
	}
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
	ssize_t got = syscall(SYS_writev, fd, parts, n);

	return got < 0 && is_death(errno) ? gone(fd, got) : got;
}

ssize_t readv(int fd, const struct iovec *parts, int n)
{
	ssize_t got = syscall(SYS_readv, fd, parts, n);

	return got == 0 || (got < 0 && is_death(errno)) ? gone(fd, got) : got;
}
