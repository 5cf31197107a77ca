/* The streams of one direction: a thread and a connection each, blocks that the
 * receiver recognises, and counters that can be read meanwhile.
 *
 * A block is `size` bytes: pseudo-random words of the direction's seed, and at
 * every 4096th byte from its beginning a stamp of stream, running number and place.
 * The receiver compares all stamps, and of every 16th block every byte: TCP's own
 * checksum is 16 bits wide, and adapters that compute it have been wrong. */
#ifndef ASSAY_BENCH_NET_STREAMS_H
#define ASSAY_BENCH_NET_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define NET_STAMP_STEP  4096
#define NET_WHOLE_EVERY 16

/* The first thing that was wrong. */
struct net_wrong {
	int stream;
	uint64_t block;
	size_t at; /* byte in the block */
};

/* What the kernel tells of the sender's connections. */
struct net_tcp {
	int64_t retransmits; /* segments, of all streams; -1: not told */
	int mss;
	char congestion[16];
};

struct net_streams;

/* Connections are handed over one by one with net_streams_set. */
struct net_streams *net_streams_new(struct arena *arena, int count, size_t block, uint64_t seed);
/* False: there is no such stream, or it has its connection already; fd stays the
 * caller's. */
bool net_streams_set(struct net_streams *s, uint64_t number, int fd);
/* Starts the threads; an errno value when there are none to be had. */
int net_streams_start(struct net_streams *s, bool sends);
/* Bytes received, or given to the kernel, by all. */
uint64_t net_streams_bytes(const struct net_streams *s);
/* Whether a wrong block came. */
bool net_streams_wrong(const struct net_streams *s, struct net_wrong *first);
/* Why a stream ended before net_streams_end: an errno value, 0: none did. */
int net_streams_broken(const struct net_streams *s);
void net_streams_tcp(const struct net_streams *s, struct net_tcp *tcp);
/* Ends threads and connections at once, whatever is under way; a second call does
 * nothing. */
void net_streams_end(struct net_streams *s);

#endif
