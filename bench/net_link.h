/* Connections between the two nodes of a pair: which addresses a node has, how
 * one end finds the other, and the small frames they speak in.
 *
 * Functions that return int give 0 or an errno value: which address failed how
 * becomes words for a person. Memory is the arena's. Times are of `clock`. */
#ifndef ASSAY_BENCH_NET_LINK_H
#define ASSAY_BENCH_NET_LINK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/clock.h"

union net_sockaddr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct net_address {
	const char *text;      /* "10.0.0.1" */
	const char *interface; /* "eth0" */
	int64_t speed_mbps;    /* of the link as the kernel tells it, or -1 */
	union net_sockaddr at; /* port 0 */
	uint8_t prefix;        /* bits of the network in it */
};

struct net_addresses {
	struct net_address *list;
	int count;
};

/* Addresses of interfaces that are up, the fastest link first; without link-local
 * ones, which mean nothing without a place. Loopback only where there is nothing
 * else. With `only` those of that interface, whatever it is. */
struct net_addresses net_addresses_read(struct arena *arena, const char *sys_root,
                                        const char *only);
/* The address as it was written by another node; false: it is none. */
bool net_address_parse(struct net_address *a, const char *text);
/* Those first that lie in a network of `mine`, ours last: an address of a private
 * bridge, the same on every node, would only lead back to us. */
void net_addresses_order(struct net_addresses *theirs, const struct net_addresses *mine);
/* The first of that family, or NULL. */
const struct net_address *net_address_of(const struct net_addresses *all, int family);
/* The end of a connection that is ours: the address, and interface and speed where
 * it is one of `mine`. */
struct net_address net_local_end(struct arena *arena, int fd, const struct net_addresses *mine);

/* --- frames --------------------------------------------------------------------- */

enum net_kind {
	NET_CONTROL = 1, /* hello of the control connection, with the token */
	NET_STREAM,      /* hello of a stream: its number, the token */
	NET_WELCOME,     /* the answer to NET_CONTROL: the other token */
	NET_PING,
	NET_PONG,
	NET_PINGED, /* that was the last one */
	NET_READY,  /* all streams are connected */
	NET_GO,     /* the receiver is ready: send */
	NET_BEGIN,  /* from here on it counts */
	NET_STOP,
	NET_STOPPED,
};

#define NET_TOKEN 32 /* hex digits */

/* 64 bytes on the wire, which is also the size whose latency is taken. */
struct net_frame {
	uint64_t kind, number;
	char token[NET_TOKEN];
	char rest[16];
};

int net_frame_send(int fd, enum net_kind kind, uint64_t number, const char *token);
int net_frame_recv(int fd, struct net_frame *frame, const struct clock_source *clock,
                   int64_t until_ns);

/* The same with one system call, for latency: waits as long as net_patience said. */
int net_patience(int fd, double seconds);
int net_frame_next(int fd, struct net_frame *frame);

/* --- connecting ------------------------------------------------------------------- */

/* All addresses, IPv4 and IPv6, on a port of the kernel's choice; with `device`
 * only through it, where the kernel lets us. */
int net_listen(int *fd, int *port, const char *device);
/* The next one who proves himself by the token within a second; others are shown
 * the door. ETIMEDOUT: nobody came until then. */
int net_accept(int listener, int *fd, struct net_frame *hello, const char *token,
               const struct clock_source *clock, int64_t until_ns);
/* `from`: with our address there and through its interface, or NULL. */
int net_connect(int *fd, const struct net_address *to, int port, const struct net_address *from,
                const struct clock_source *clock, int64_t until_ns);

#endif
