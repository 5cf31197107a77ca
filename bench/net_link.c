/* Connections of the pair probe, over plain sockets and without a name server:
 * what two nodes of a cluster call each other says nothing of which way the data
 * will take. Every wait here has an end. */
#include "net_link.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw/sysfs.h"

#define PROOF_NS NS_PER_S /* for the first frame of one who came */
#define BACKLOG  128

_Static_assert(sizeof(struct net_frame) == 64, "a frame is what its latency is told of");

/* --- addresses -------------------------------------------------------------------- */

static const uint8_t *bytes_of(const struct net_address *a, int *bits)
{
	bool v6 = a->at.any.sa_family == AF_INET6;

	*bits = v6 ? 128 : 32;
	return v6 ? a->at.v6.sin6_addr.s6_addr : (const uint8_t *)&a->at.v4.sin_addr;
}

static socklen_t length_of(const union net_sockaddr *at)
{
	return at->any.sa_family == AF_INET6 ? sizeof(at->v6) : sizeof(at->v4);
}

static void set_address(struct net_address *a, int family, const void *bytes)
{
	memset(&a->at, 0, sizeof(a->at));
	a->at.any.sa_family = (sa_family_t)family;
	if (family == AF_INET6)
		memcpy(&a->at.v6.sin6_addr, bytes, sizeof(struct in6_addr));
	else
		memcpy(&a->at.v4.sin_addr, bytes, sizeof(struct in_addr));
}

/* What a socket of both families calls ::ffff:10.0.0.1 is 10.0.0.1. */
static bool from_socket(struct net_address *a, const struct sockaddr *sa)
{
	const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;

	if (sa->sa_family == AF_INET)
		set_address(a, AF_INET, &((const struct sockaddr_in *)(const void *)sa)->sin_addr);
	else if (sa->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(v6))
		set_address(a, AF_INET, v6->s6_addr + 12);
	else if (sa->sa_family == AF_INET6)
		set_address(a, AF_INET6, v6);
	else
		return false;
	return true;
}

static const char *write_address(struct arena *arena, const struct net_address *a)
{
	char text[INET6_ADDRSTRLEN];
	int bits;

	return arena_str(arena,
	                 inet_ntop(a->at.any.sa_family, bytes_of(a, &bits), text, sizeof(text)));
}

bool net_address_parse(struct net_address *a, const char *text)
{
	uint8_t bytes[16];
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;

	if (inet_pton(family, text, bytes) != 1)
		return false;
	set_address(a, family, bytes);
	return true;
}

static uint8_t prefix_of(const struct sockaddr *mask)
{
	struct net_address a = {0};
	const uint8_t *bytes;
	int bits, n = 0;

	if (!mask || !from_socket(&a, mask))
		return 128;
	bytes = bytes_of(&a, &bits);
	while (n < bits && (bytes[n / 8] >> (7 - n % 8) & 1))
		n++;
	return (uint8_t)n;
}

static bool is_link_local(const struct net_address *a)
{
	return a->at.any.sa_family == AF_INET6
	               ? IN6_IS_ADDR_LINKLOCAL(&a->at.v6.sin6_addr)
	               : (ntohl(a->at.v4.sin_addr.s_addr) & 0xffff0000u) == 0xa9fe0000u;
}

static bool is_wanted(const struct ifaddrs *i, const char *only, bool loopback)
{
	if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || !(i->ifa_flags & IFF_RUNNING))
		return false;
	if (only)
		return strcmp(i->ifa_name, only) == 0;
	return !(i->ifa_flags & IFF_LOOPBACK) == !loopback;
}

static void sort_by_speed(struct net_addresses *all)
{
	for (int i = 1; i < all->count; i++) {
		struct net_address a = all->list[i];
		int at = i;

		for (; at > 0 && all->list[at - 1].speed_mbps < a.speed_mbps; at--)
			all->list[at] = all->list[at - 1];
		all->list[at] = a;
	}
}

static void collect(struct net_addresses *all, struct arena *arena, const struct ifaddrs *first,
                    const char *sys_root, const char *only, bool loopback)
{
	for (const struct ifaddrs *i = first; i; i = i->ifa_next) {
		struct net_address a = {.speed_mbps = -1};

		if (!is_wanted(i, only, loopback) || !from_socket(&a, i->ifa_addr) ||
		    is_link_local(&a))
			continue;
		a.prefix = prefix_of(i->ifa_netmask);
		a.text = write_address(arena, &a);
		a.interface = arena_str(arena, i->ifa_name);
		/* A link that is down or made of nothing reads as an error or as -1. */
		a.speed_mbps = sys_number(-1, sys_root, "/sys/class/net/%s/speed", i->ifa_name);
		if (a.speed_mbps <= 0)
			a.speed_mbps = -1;
		all->list[all->count++] = a;
	}
}

struct net_addresses net_addresses_read(struct arena *arena, const char *sys_root, const char *only)
{
	struct net_addresses all = {0};
	struct ifaddrs *first = NULL;
	size_t n = 0;

	if (getifaddrs(&first) != 0)
		return all;
	for (const struct ifaddrs *i = first; i; i = i->ifa_next)
		n++;
	all.list = arena_array(arena, n + 1, sizeof(*all.list));
	collect(&all, arena, first, sys_root, only, false);
	if (all.count == 0 && !only)
		collect(&all, arena, first, sys_root, only, true);
	freeifaddrs(first);
	sort_by_speed(&all);
	return all;
}

/* Whether the first bits are the same. */
static bool alike(const struct net_address *a, const struct net_address *b, int bits)
{
	int all;
	const uint8_t *x = bytes_of(a, &all), *y = bytes_of(b, &all);
	int rest;

	if (a->at.any.sa_family != b->at.any.sa_family)
		return false;
	bits = bits > all ? all : bits;
	rest = bits % 8;
	return memcmp(x, y, (size_t)bits / 8) == 0 &&
	       (rest == 0 || ((x[bits / 8] ^ y[bits / 8]) >> (8 - rest)) == 0);
}

static int rank_of(const struct net_address *a, const struct net_addresses *mine)
{
	int rank = 1;

	for (int i = 0; i < mine->count; i++) {
		if (alike(a, &mine->list[i], 128))
			return 2;
		if (alike(a, &mine->list[i], mine->list[i].prefix))
			rank = 0;
	}
	return rank;
}

void net_addresses_order(struct net_addresses *theirs, const struct net_addresses *mine)
{
	for (int i = 1; i < theirs->count; i++) {
		struct net_address a = theirs->list[i];
		int at = i, rank = rank_of(&a, mine);

		for (; at > 0 && rank_of(&theirs->list[at - 1], mine) > rank; at--)
			theirs->list[at] = theirs->list[at - 1];
		theirs->list[at] = a;
	}
}

const struct net_address *net_address_of(const struct net_addresses *all, int family)
{
	for (int i = 0; i < all->count; i++)
		if (all->list[i].at.any.sa_family == family)
			return &all->list[i];
	return NULL;
}

struct net_address net_local_end(struct arena *arena, int fd, const struct net_addresses *mine)
{
	struct net_address a = {.speed_mbps = -1};
	union net_sockaddr at = {0};
	socklen_t len = sizeof(at);

	if (getsockname(fd, &at.any, &len) != 0 || !from_socket(&a, &at.any))
		return a;
	for (int i = 0; i < mine->count; i++)
		if (alike(&a, &mine->list[i], 128))
			return mine->list[i];
	a.text = write_address(arena, &a);
	return a;
}

/* --- frames ------------------------------------------------------------------------- */

/* Until fd is ready for `events`. */
static int wait_for(int fd, short events, const struct clock_source *clock, int64_t until_ns)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = events};
		int64_t left = until_ns - clock_now(clock);
		int n;

		if (left <= 0)
			return ETIMEDOUT;
		n = ppoll(&p, 1,
		          &(struct timespec){.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S},
		          NULL);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return errno;
	}
}

int net_frame_send(int fd, enum net_kind kind, uint64_t number, const char *token)
{
	struct net_frame f = {.kind = htole64(kind), .number = htole64(number)};
	ssize_t n;

	if (token)
		memcpy(f.token, token, NET_TOKEN);
	/* A connection that does not take 64 bytes at once has not answered for long. */
	n = send(fd, &f, sizeof(f), MSG_NOSIGNAL | MSG_DONTWAIT);
	return n == (ssize_t)sizeof(f) ? 0 : n >= 0 ? EAGAIN : errno;
}

static void unpack(struct net_frame *frame)
{
	frame->kind = le64toh(frame->kind);
	frame->number = le64toh(frame->number);
}

int net_patience(int fd, double seconds)
{
	struct timeval limit = {.tv_sec = (time_t)seconds,
	                        .tv_usec = (suseconds_t)((seconds - (time_t)seconds) * 1e6)};

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 ? 0 : errno;
}

int net_frame_next(int fd, struct net_frame *frame)
{
	ssize_t n = recv(fd, frame, sizeof(*frame), MSG_WAITALL);

	if (n < 0)
		return errno == EAGAIN ? ETIMEDOUT : errno;
	if (n != (ssize_t)sizeof(*frame))
		return n == 0 ? ECONNRESET : ETIMEDOUT;
	unpack(frame);
	return 0;
}

int net_frame_recv(int fd, struct net_frame *frame, const struct clock_source *clock,
                   int64_t until_ns)
{
	size_t have = 0;

	while (have < sizeof(*frame)) {
		ssize_t n = recv(fd, (char *)frame + have, sizeof(*frame) - have, MSG_DONTWAIT);
		int failed;

		if (n > 0) {
			have += (size_t)n;
			continue;
		}
		if (n == 0)
			return ECONNRESET;
		if (errno != EAGAIN && errno != EINTR)
			return errno;
		failed = wait_for(fd, POLLIN, clock, until_ns);
		if (failed)
			return failed;
	}
	unpack(frame);
	return 0;
}

/* --- connecting ------------------------------------------------------------------------ */

static int fail(int *fd)
{
	int failed = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return failed;
}

static void use_device(int fd, const char *device)
{
	/* Kernels before 5.7 keep it for the privileged; the address alone then has
	 * to do, and which interface it became is told. */
	if (device)
		(void)!setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device,
		                  (socklen_t)strlen(device) + 1);
}

static int bind_all(int family, const char *device)
{
	union net_sockaddr at = {.any.sa_family = (sa_family_t)family};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), off = 0;

	if (fd < 0)
		return -1;
	use_device(fd, device);
	if ((family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0) ||
	    bind(fd, &at.any, length_of(&at)) != 0 || listen(fd, BACKLOG) != 0)
		fail(&fd);
	return fd;
}

int net_listen(int *fd, int *port, const char *device)
{
	union net_sockaddr at = {0};
	socklen_t len = sizeof(at);

	*fd = bind_all(AF_INET6, device);
	if (*fd < 0)
		*fd = bind_all(AF_INET, device); /* IPv6 is switched off here */
	if (*fd < 0 || getsockname(*fd, &at.any, &len) != 0)
		return fail(fd);
	*port = ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
	return 0;
}

static void set_options(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int net_accept(int listener, int *fd, struct net_frame *hello, const char *token,
               const struct clock_source *clock, int64_t until_ns)
{
	for (;;) {
		int failed = wait_for(listener, POLLIN, clock, until_ns);

		*fd = -1;
		if (failed)
			return failed;
		*fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (*fd < 0 && (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR))
			continue; /* gone again before we looked */
		if (*fd < 0)
			return errno;
		set_options(*fd);
		if (net_frame_recv(*fd, hello, clock, clock_now(clock) + PROOF_NS) == 0 &&
		    memcmp(hello->token, token, NET_TOKEN) == 0)
			return 0;
		close(*fd);
	}
}

int net_connect(int *fd, const struct net_address *to, int port, const struct net_address *from,
                const struct clock_source *clock, int64_t until_ns)
{
	union net_sockaddr at = to->at;
	socklen_t len = sizeof(int);
	int failed = 0;

	if (at.any.sa_family == AF_INET6)
		at.v6.sin6_port = htons((uint16_t)port);
	else
		at.v4.sin_port = htons((uint16_t)port);
	*fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return fail(fd);
	if (from) {
		use_device(*fd, from->interface);
		if (bind(*fd, &from->at.any, length_of(&from->at)) != 0)
			return fail(fd);
	}
	if (connect(*fd, &at.any, length_of(&at)) != 0 && errno != EINPROGRESS)
		return fail(fd);
	failed = wait_for(*fd, POLLOUT, clock, until_ns);
	if (!failed && getsockopt(*fd, SOL_SOCKET, SO_ERROR, &failed, &len) != 0)
		failed = errno;
	if (!failed && fcntl(*fd, F_SETFL, 0) != 0)
		failed = errno;
	if (failed) {
		errno = failed;
		return fail(fd);
	}
	set_options(*fd);
	return 0;
}
