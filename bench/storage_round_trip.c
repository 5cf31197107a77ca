/* The network's round trip to the server of a mount: no read that the server
 * answers can take less. The smallest of several, since that is what a cache would
 * have to be measured against. */
#include "storage_counters.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define TRIES  8
#define SILENT 2 /* tries of a server that never answered */
/* Together 2 s at most; no server of a cluster is farther away. */
#define TRY_MS   250
#define NFS_PORT "2049"

/* "host:/path" or "[address]:/path". */
static const char *host_of(struct arena *arena, const char *source)
{
	const char *end = source ? strstr(source, ":/") : NULL;

	if (!end || end == source)
		return NULL;
	if (*source == '[' && end[-1] == ']')
		return arena_strn(arena, source + 1, (size_t)(end - source - 2));
	return arena_strn(arena, source, (size_t)(end - source));
}

/* The address alone: to ask a name server could take longer than we have. */
static struct addrinfo *find_server(struct arena *arena, const struct storage_place *place,
                                    const char **address, const char **port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	                         .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found = NULL;

	*address = storage_mount_option(arena, place->options, "addr");
	*port = storage_mount_option(arena, place->options, "port");
	if (!*address)
		*address = host_of(arena, place->source);
	if (!*port || strcmp(*port, "0") == 0)
		*port = NFS_PORT;
	if (!*address || getaddrinfo(*address, *port, &hints, &found) != 0)
		return NULL;
	return found;
}

/* What the kernel measured of the handshake, where it did; us. */
static double kernel_round_trip(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 || info.tcpi_rtt == 0)
		return INFINITY;
	return info.tcpi_rtt;
}

/* One round trip in us; infinite: none. A refusal has gone there and back too. */
static double connect_once(const struct addrinfo *server, const struct clock_source *clock)
{
	int fd = socket(server->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	int64_t start = clock_now(clock);
	double us = INFINITY;
	socklen_t len = sizeof(int);
	int failed = 0;

	if (fd < 0)
		return INFINITY;
	if (connect(fd, server->ai_addr, server->ai_addrlen) != 0)
		failed = errno;
	if (failed == EINPROGRESS) {
		failed = ETIMEDOUT;
		if (poll(&wait, 1, TRY_MS) == 1)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len);
	}
	if (failed == 0 || failed == ECONNREFUSED)
		us = (double)(clock_now(clock) - start) / 1e3;
	if (failed == 0)
		us = fmin(us, kernel_round_trip(fd));
	close(fd);
	return us;
}

enum status storage_round_trip(double *us, struct arena *arena, const struct storage_place *place,
                               const struct clock_source *clock, struct error *err)
{
	const char *where = place->source ? place->source : place->fs, *address, *port;
	const char *transport = storage_mount_option(arena, place->options, "proto");
	struct addrinfo *server = NULL;
	double best = INFINITY;

	if (str_starts(place->fs, "nfs") && transport && str_starts(transport, "rdma"))
		return error_set(err, ST_UNSUPPORTED, MSG_storage_rdma_server, where);
	if (str_starts(place->fs, "nfs"))
		server = find_server(arena, place, &address, &port);
	if (!server)
		return error_set(err, ST_UNSUPPORTED, MSG_storage_no_server, where, place->fs);
	for (int i = 0; i < TRIES && (i < SILENT || isfinite(best)); i++)
		best = fmin(best, connect_once(server, clock));
	freeaddrinfo(server);
	if (!isfinite(best))
		return error_set(err, ST_TIMEOUT, MSG_storage_no_answer, address, port);
	*us = best;
	return ST_OK;
}
