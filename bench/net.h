/* The parts of the pair probe: how its two children meet, what they measure, and
 * what is said of it. Both run the same steps in the same order; the first of the
 * pair drives and emits, the other one tells it in one text at the end. */
#ifndef ASSAY_BENCH_NET_H
#define ASSAY_BENCH_NET_H

#include "assay/probe.h"
#include "net_link.h"
#include "net_offer.h"
#include "net_streams.h"
#include "stats/samples.h"

#define NET_TICK_NS (NS_PER_S / 10) /* bytes are noted ten times a second */

/* Why something is missing; reason.code NULL: nothing is. */
struct net_fault {
	enum outcome outcome;
	struct reason reason;
};

/* Bytes that had come, since the first point. */
struct net_point {
	int64_t ns;
	uint64_t bytes;
};

/* A direction: peers[d] sends. */
struct net_flow {
	struct net_fault fault;
	struct net_point *points; /* of the receiver; the first is 0, 0 */
	int n_points;
	uint64_t seen; /* the receiver's, while it watches */
	int64_t seen_ns;
	double cpu_s[2];    /* of peers[0] and [1] while it counted; NaN: not known */
	struct net_tcp tcp; /* of the sender */
};

struct net {
	struct probe_ctx *ctx;
	int self, other; /* index of each in ctx->peers */
	int streams, pings;
	size_t block;
	double seconds, ramp_s, silence_s, meet_s;
	const char *only; /* interface, or NULL */
	struct net_addresses mine;
	int listener, control;  /* descriptors: -1, none */
	struct net_offer offer; /* of the first */
	struct net_address to;  /* of the listener, for the one who connects */
	uint64_t seed;
	struct net_address ends[2]; /* text NULL: not known */
	struct net_fault trouble;   /* that ended all */
	bool heard;                 /* the first has the other's text */
	struct samples latency;     /* us, half the round trip */
	struct net_flow flows[2];
};

/* A fault, unless there is one already. */
#define net_blame(n, ...) net_fault_set((n)->ctx, __VA_ARGS__)
#define net_fault_set(ctx, fault, why, id, ...)                                                    \
	net_fault_list(ctx, fault, why, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
void net_fault_list(struct probe_ctx *ctx, struct net_fault *fault, enum outcome why, enum msg id,
                    const char *const *args);
/* As the member "fault" of an object; none is none. */
void net_fault_put(struct json_out *j, const struct net_fault *fault);
/* That member of what came. False: none, or one that cannot be. Arguments are in the
 * context's arena, their texts in `o`. */
bool net_fault_read(struct probe_ctx *ctx, const cJSON *o, enum outcome *outcome, enum msg *id,
                    const char *const **args);
/* This many seconds from now, but no later than the probe's deadline. */
int64_t net_until(const struct net *n, double seconds);

/* net_meet.c: the control connection. False: n->trouble says why, at least on one
 * of both sides. */
bool net_meet(struct net *n);
/* The address of peers[self] to speak to the others from: NULL, any. */
const struct net_address *net_source(const struct net *n, int family);

/* net_flow.c: false: the control connection is lost, n->trouble. */
bool net_latency(struct net *n);
bool net_flow(struct net *n, int direction);

/* net_say.c */
void net_tell(struct net *n); /* the second to the first … */
/* … who takes it in; false: that is no such text. */
bool net_hear(struct net *n, const char *text);
enum status net_emit(struct net *n);

#endif
