/* Between the files of collective_nodes: what the children of all nodes say to each
 * other, and the two ways of adding up, by the cards through NCCL and, where no node
 * has cards, by the hosts round a TCP ring.
 *
 * The first node's child leads: it gives orders, all nodes carry them out, itself
 * among them, and answer. It alone decides what comes next, so that no two nodes can
 * be of two minds about a call that all must make.
 *
 * collective_nodes.c is the course; _groups.c who adds up with whom and what came of
 * it; _node.c a node's part, _cards.c and _ring.c its two ways; _talk.c the texts;
 * _say.c the readings. Memory is the arena's. */
#ifndef ASSAY_BENCH_COLLECTIVE_NODES_H
#define ASSAY_BENCH_COLLECTIVE_NODES_H

#include "collective.h"
#include "group.h"

#define NODES_CARDS_MOST 32 /* of a node: they travel in one text */
#define NODES_SMALLEST   8  /* bytes of the smallest sum */

/* --- what is said (collective_nodes_talk.c) ----------------------------------------- */

/* A node, as it joins. */
struct nodes_hello {
	bool driver;                         /* of GPUs */
	const char *cards[NODES_CARDS_MOST]; /* "GPU-… (0000:17:00.0)" */
	int n_cards;
	uint64_t room;  /* bytes of a buffer */
	int nics;       /* RDMA ports for the cards, of the fastest kind */
	double nic_gbs; /* of one, one way; NaN: unknown */
	bool simulated;
	double memory_scale;
	enum outcome outcome; /* of being ready; else why not: */
	const char *why;
	const char *environment; /* NCCL_* as found: a JSON object */
	const char *library, *path;
};

enum nodes_step {
	NODES_BEGIN,
	NODES_JOIN,
	NODES_TRY,
	NODES_TIME,
	NODES_LEAVE,
	NODES_OVER,
	NODES_STEPS
};

struct nodes_order {
	enum nodes_step step;
	bool ring; /* BEGIN: no cards, add up on the hosts; else the cards */
	/* JOIN */
	const int *members; /* of ctx->peers, in the order of their ranks */
	int n_members;
	int turn;              /* so that no two groups have the same data */
	int first_rank, ranks; /* of the node's cards; of all in the communicator */
	bool rails;            /* card i of each node has a communicator with the others' */
	const char *algorithm; /* NULL: as NCCL chooses in the environment as found */
	const nccl_id *ids;    /* of the communicators, one or one a rail */
	int n_ids;
	/* TRY, TIME */
	uint64_t bytes;
	int checks, calls, windows;
};

struct nodes_answer {
	enum outcome outcome;
	const char *why;       /* in words, where it is not measured */
	bool gave_up;          /* waited in vain: somebody else may be the cause */
	int blamed;            /* of ctx->peers, where that is known here; -1: not */
	const char *missing;   /* own cards that did not come; NULL: all did, or not known */
	const char *late;      /* own cards that were waited for; NULL: all, or not known */
	double seconds;        /* TRY: of one call */
	const double *windows; /* TIME: of a call of each; NaN: void */
	int n_windows;
	const char *slowest;    /* TIME: own card of the slowest of them; NULL: not known */
	const char *algorithm;  /* TRY: as NCCL told it; NULL: it did not */
	int64_t checked, wrong; /* elements of this order */
	const char *wrong_at;   /* the first of them, in words; NULL: none */
};

/* ctx->send_text; ctx->recv_text: ST_PARSE: something, but none of these. */
enum status nodes_send_hello(struct probe_ctx *ctx, const struct nodes_hello *hello);
enum status nodes_recv_hello(struct probe_ctx *ctx, int from, double seconds,
                             struct nodes_hello *hello);
enum status nodes_send_order(struct probe_ctx *ctx, int to, const struct nodes_order *order);
enum status nodes_recv_order(struct probe_ctx *ctx, double seconds, struct nodes_order *order);
enum status nodes_send_answer(struct probe_ctx *ctx, const struct nodes_answer *answer);
enum status nodes_recv_answer(struct probe_ctx *ctx, int from, double seconds,
                              struct nodes_answer *answer);

/* --- a node's part (collective_nodes_node.c) ------------------------------------------- */

struct nodes_ring;

struct nodes_bench {
	struct probe_ctx *ctx;
	const struct clock_source *clock; /* of the machine, also on stand-ins */
	int64_t deadline_ns;              /* on it */
	struct nodes_hello hello;
	bool ring;            /* the order was: without cards */
	struct collective *c; /* cards; NULL: no driver */
	struct nodes_ring *hosts;
};

/* Opens what is there and says in hello what that is. */
void nodes_open(struct nodes_bench *b);
void nodes_do(struct nodes_bench *b, const struct nodes_order *order, struct nodes_answer *answer);
/* Ends whatever is under way. */
void nodes_end(struct nodes_bench *b);
double nodes_left_s(const struct nodes_bench *b); /* until the deadline */

/* collective_nodes_cards.c */
void nodes_cards_open(struct nodes_bench *b);
void nodes_cards_do(struct nodes_bench *b, const struct nodes_order *order,
                    struct nodes_answer *answer);
void nodes_cards_end(struct nodes_bench *b);
/* Ids for n communicators. */
enum status nodes_cards_ids(struct nodes_bench *b, nccl_id *ids, int n, struct error *err);
/* collective_nodes_ring.c */
void nodes_ring_do(struct nodes_bench *b, const struct nodes_order *order,
                   struct nodes_answer *answer);
void nodes_ring_end(struct nodes_bench *b);

/* --- groups (collective_nodes_groups.c) -------------------------------------------------- */

/* Nodes that add up together, and what came of it. */
struct nodes_group {
	int *members;
	int n_members, ranks;
	int calls;
	struct samples seconds; /* of a call, by the slowest node; one a window */
	const char *algorithm;
	const char *slowest; /* "n002: GPU-… (0000:17:00.0)" of the slowest window, or NULL */
	bool wrong;
};

struct nodes_groups {
	struct nodes_group *list;
	int n;
};

/* Neighbours in twos: round 0 has 0-1, 2-3 …, round 1 has 1-2, 3-4 … and the last with
 * the first where their number is even, round 2, of odd numbers only, that pair alone:
 * so that each node is measured with two others. */
int nodes_pair_rounds(int nodes);
struct nodes_groups nodes_pairs(struct arena *arena, int nodes, int round);
/* Groups of `size` one after another; who is left over sits out. */
struct nodes_groups nodes_in(struct arena *arena, int nodes, int size);

/* Who leads. */
struct nodes_lead {
	struct nodes_bench *b;
	struct probe_ctx *ctx;
	struct nodes_hello *hello; /* of ctx->peers */
	enum status *heard;        /* how they came */
	struct nodes_answer *answers;
	bool ring;
	int cards; /* of the node that has the fewest */
	int turn;
	int64_t checked, wrong;
	int wrong_node;       /* the first that had any; -1: none */
	const char *wrong_at; /* what it said */
	/* Why it did not go on. */
	bool failed;
	struct reading like; /* outcome and reason of what is not said */
	bool *blamed;        /* of ctx->peers */
	const char *step;    /* in words */
	/* What is known. */
	double nic_gbs;    /* a node's, all NICs; the upper median. NaN: unknown */
	double nics;       /* how many; likewise */
	double own_gbs;    /* ring within a node likewise. NaN: a card a node, or the hosts' ring */
	double *best_pair; /* of ctx->peers: busbw of the better of its pairs; NaN: none */
	struct nodes_group ring_all, found_all, tree_all; /* all nodes; no samples: not measured */
	unsigned said; /* metrics of the table that have their reading: bits */
};

/* The course of one communicator. False: it failed, and l says why. */
bool nodes_join(struct nodes_lead *l, struct nodes_groups *g, const char *algorithm, bool rails);
bool nodes_measure(struct nodes_lead *l, struct nodes_groups *g, uint64_t bytes);
bool nodes_leave(struct nodes_lead *l, struct nodes_groups *g);
/* To all, and what they make of it. */
bool nodes_begin(struct nodes_lead *l);
void nodes_over(struct nodes_lead *l);
/* Who did not say hello, or cannot take part. */
bool nodes_check_hellos(struct nodes_lead *l);
void nodes_groups_release(struct nodes_groups *g);

/* --- figures (collective_nodes_say.c) ------------------------------------------------------ */

double nodes_seconds(const struct nodes_group *g); /* median of a call; NaN: none */
double nodes_busbw(const struct nodes_group *g, uint64_t bytes);
/* What each node's NICs together carried, GB/s one way: of a ring its busbw, of another
 * algorithm at least busbw (k-1) m / (n-1) of k nodes with m cards each, n in all. */
double nodes_wire(const struct nodes_group *g, uint64_t bytes, bool ring, int cards);
/* The most that wire rate can be: NICs, or the ring within a node. NaN: not known. */
double nodes_wire_most(const struct nodes_lead *l);

/* A size of the sweep as found. */
struct nodes_point {
	uint64_t bytes;
	double seconds, busbw;
	const char *algorithm;
};

struct nodes_sweep {
	struct nodes_point points[64];
	int n;
	bool cut;
};

/* Groups that were measured, a line each, for the raw file and its worst. */
struct nodes_growth {
	struct str raw;
	double worst; /* busbw; NaN: none yet */
	const char *worst_nodes;
	int groups;
};

void nodes_growth_add(struct nodes_lead *l, struct nodes_growth *growth,
                      const struct nodes_groups *g, uint64_t bytes);

void nodes_say_growth(struct nodes_lead *l, struct nodes_growth *growth);
void nodes_say_ring(struct nodes_lead *l, uint64_t bytes);
void nodes_say_found(struct nodes_lead *l, const struct nodes_sweep *sweep);
void nodes_say_small(struct nodes_lead *l, const struct nodes_group *g, uint64_t bytes);
void nodes_say_default(struct nodes_lead *l, uint64_t bytes);
void nodes_say_nic(struct nodes_lead *l, uint64_t bytes);
void nodes_say_pairs(struct nodes_lead *l);
void nodes_say_rails(struct nodes_lead *l, const struct nodes_group *g, uint64_t bytes);
void nodes_say_wrong(struct nodes_lead *l);
/* All that has no reading yet shares outcome and reason of l->like. */
void nodes_say_rest(struct nodes_lead *l);
/* Of all figures of this back end, where none is there at all. */
void nodes_say_none(struct nodes_lead *l);

#endif
