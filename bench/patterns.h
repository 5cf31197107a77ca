/* Between the files of patterns: who sends to whom, what the children of all nodes say
 * to each other, and the two ways of sending, over TCP and by verbs.
 *
 * The first node's child leads: for each pattern it says to all who sends to whom,
 * hands on what they need to connect, lets all go at once and gathers what came. In
 * every pattern a node sends to one other at most.
 *
 * patterns.c is the course; _plan.c who sends to whom; _talk.c the texts; _lead.c a
 * pattern as the leader sees it, _node.c as a node does it, by _tcp.c or _rdma.c;
 * _say.c the readings. Memory is the arena's. */
#ifndef ASSAY_BENCH_PATTERNS_H
#define ASSAY_BENCH_PATTERNS_H

#include "assay/probe.h"
#include "base/json.h"
#include "hw/verbs.h"
#include "net.h"

#define PATTERNS_RAILS    8 /* of a node that take part */
#define PATTERNS_SENDERS  7 /* to one receiver; groups that come out uneven have up to half more */
#define PATTERNS_LEAST    3 /* nodes: with fewer a pattern is a pair */
#define PATTERNS_QPS      4 /* of one sender on one rail */
#define PATTERNS_INCOMING (PATTERNS_SENDERS + (PATTERNS_SENDERS + 1) / 2)
#define PATTERNS_REGION   ((size_t)1 << 20) /* what one sender fills on one rail */

_Static_assert((PATTERNS_INCOMING + 1) * PATTERNS_QPS <= VERBS_QPS_MOST, "of a receiver");

/* --- who sends to whom (patterns_plan.c) ---------------------------------------------- */

enum pattern { PATTERN_PERMUTATION, PATTERN_BISECTION, PATTERN_INCAST, PATTERNS };
extern const char *const pattern_names[PATTERNS];

/* to[i]: whom node i sends to; -1: nobody. */

/* Groups of about senders + 1 nodes; in each turn another of a group receives from all
 * others of it. So many turns until each node has received. */
int patterns_incast_turns(int nodes, int senders);
void patterns_incast(int nodes, int senders, int turn, int *to);
/* The first half of `order` with the second one, both ways; of an odd number the last
 * one sits out. */
void patterns_bisection(const int *order, int nodes, int *to);
/* A random cycle through all nodes (Sattolo), another one for each turn. */
void patterns_permutation(int nodes, uint64_t seed, int turn, int *to);
/* How many send to it. */
int patterns_senders(const int *to, int nodes, int node);

/* --- what is measured ------------------------------------------------------------------- */

enum patterns_way { PATTERNS_TCP, PATTERNS_RDMA, PATTERNS_WAYS };

struct patterns_flow {
	enum pattern pattern;
	int turn, from, to, senders;
	double gbps;         /* NaN: not measured */
	double expected;     /* what it should carry alone, Gb/s; NaN: not known */
	int64_t retransmits; /* TCP: segments of the sender; -1: not told */
	struct net_fault fault;
};

/* --- texts (patterns_talk.c) -------------------------------------------------------------- */

struct patterns_text {
	struct str text;
	struct json_out j;
};

/* An object of that kind, about step number `step`. */
void patterns_text_begin(struct patterns_text *t, const char *kind, int step);
enum status patterns_text_send(struct probe_ctx *ctx, int to, struct patterns_text *t);
/* The next text from there, of that kind (NULL: any) and step (< 0: any); ST_PARSE: it
 * is another one. The document is the caller's. */
enum status patterns_text_recv(struct probe_ctx *ctx, int from, const char *kind, int step,
                               double seconds, struct json_doc *doc);
/* The fault in it, unless there is one already. */
void patterns_read_fault(struct probe_ctx *ctx, const cJSON *o, struct net_fault *fault);

/* --- a node ------------------------------------------------------------------------------------ */

/* One adapter's end, ours or of another node. */
struct patterns_rail {
	struct rdma_port at;
	int mtu, lid, reads;
	bool grh;
	uint32_t psn, key, qpn[VERBS_QPS_MOST];
	int n_qpn;
	uint64_t address;
};

/* One whom this node sends to or hears from. */
struct patterns_peer {
	int node;
	struct patterns_rail rails[PATTERNS_RAILS];
	int n_rails;
	struct net_offer offer; /* TCP: where it listens */
	struct net_streams *streams;
	int64_t bytes, ns; /* that counted */
	int64_t messages;  /* by verbs, on the rail with the fewest: what has to have arrived */
	int64_t retransmits;
	double expected;
	struct net_fault fault;
};

struct patterns_lane;

struct patterns_node {
	struct probe_ctx *ctx;
	enum patterns_way way;
	/* Parameters. */
	int qps, streams, depth, traffic_class;
	size_t size, block;
	double seconds, ramp_s, silence_s;
	const char *devices, *only; /* NULL: any */
	/* What it has. */
	struct verbs verbs;
	const struct clock_source *clock; /* of what verbs do: a double has its own */
	const struct rdma_port *ports;    /* to be used, one a rail */
	int n_rails;
	struct net_fault no_rdma; /* why there is none */
	struct net_addresses mine;
	/* Of the step. */
	int step, rails; /* rails: that all nodes have */
	uint64_t seed;   /* of the step's data */
	bool sends;
	struct patterns_peer out, *in;
	int n_in;
	struct net_fault fault; /* of ours, that ends it */
	int listener;
	struct net_offer offer;
	struct patterns_lane *lanes; /* by verbs */
};

void patterns_open(struct patterns_node *n);
/* A step's parts in their order, each after all nodes have done the one before:
 * making ready, with what others need in `offer`; connecting; sending until told to
 * stop; the end, with what came of it. What goes wrong is in n->fault, or the peer's. */
void patterns_prepare(struct patterns_node *n, const cJSON *order);
void patterns_put_offer(struct patterns_node *n, struct json_out *j);
void patterns_connect(struct patterns_node *n, const cJSON *meet);
void patterns_measure(struct patterns_node *n);
/* While others may still count: sends on, for a moment. */
void patterns_go_on(struct patterns_node *n);
void patterns_put_result(struct patterns_node *n, struct json_out *j);
/* end: the leader's text, with what senders told of `messages`; NULL: it broke. */
void patterns_finish(struct patterns_node *n, const cJSON *end);
/* Once all have finished, or nobody is left. */
void patterns_close(struct patterns_node *n);

/* Each way's part of these. */
void patterns_tcp_prepare(struct patterns_node *n);
void patterns_tcp_connect(struct patterns_node *n);
void patterns_tcp_measure(struct patterns_node *n);
void patterns_tcp_finish(struct patterns_node *n);
void patterns_rdma_prepare(struct patterns_node *n);
void patterns_rdma_put(struct patterns_node *n, struct json_out *j);
void patterns_rdma_read(struct probe_ctx *ctx, struct patterns_peer *p, const cJSON *rails);
void patterns_rdma_connect(struct patterns_node *n);
void patterns_rdma_measure(struct patterns_node *n);
void patterns_rdma_go_on(struct patterns_node *n);
void patterns_rdma_finish(struct patterns_node *n);
void patterns_rdma_close(struct patterns_node *n);

/* --- the leader ---------------------------------------------------------------------------------- */

struct patterns_lead {
	struct patterns_node *n;
	struct probe_ctx *ctx;
	int rails;                /* that all nodes have */
	struct net_fault no_rdma; /* why not by verbs */
	enum patterns_way way;
	const char **leaf; /* per node, NULL: not said */
	struct patterns_flow *flows;
	int n_flows, cap_flows;
	struct net_fault trouble; /* that ended all */
};

/* False: l->trouble. */
bool patterns_hear_all(struct patterns_lead *l);
bool patterns_step(struct patterns_lead *l, enum pattern pattern, int turn, const int *to);
void patterns_over(struct patterns_lead *l);
/* What who follows does until it is told that all is over. */
enum status patterns_follow(struct patterns_node *n);

enum status patterns_say(struct patterns_lead *l);
/* All figures share an outcome and reason. */
enum status patterns_say_none(struct probe_ctx *ctx, const struct net_fault *why);

#endif
