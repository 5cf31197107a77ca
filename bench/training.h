/* The parts of training: the step, what its children say to each other, what one
 * node does with cards or CPUs, and what is said of all. As in storage_all the first
 * node gives orders, each answered by all nodes it was given to before the next; a
 * node that cannot go on answers why. Sums go by NCCL between cards, round a ring
 * of TCP (bench/group.h) between CPUs.
 *
 * The step: for each of `layers`, forward one product and backward two of tokens x
 * width x width, whose last one is the layer's gradient; gradients of neighbouring
 * layers make a bucket, which is summed over all ranks as soon as it is whole and
 * then feeds a stand-in for the optimiser, while products go on. */
#ifndef ASSAY_BENCH_TRAINING_H
#define ASSAY_BENCH_TRAINING_H

#include "assay/probe.h"
#include "base/error.h"
#include "cards.h"
#include "stats/scaling.h"

#define TRAINING_CARDS_MOST  64   /* of a node: they travel in one text */
#define TRAINING_STEPS_MOST  1500 /* likewise */
#define TRAINING_LAYERS_MOST 512
#define TRAINING_ID_MOST     256 /* bytes of a communicator's id */
#define TRAINING_SIZES_MOST  32
#define TRAINING_NODE_S      1.0 /* planned for a run, beside its steps */

/* --- the step -------------------------------------------------------------------------- */

enum training_mode {
	TRAINING_PRODUCTS, /* nothing but products */
	TRAINING_ALONE,    /* and the optimiser, as if there were one rank */
	TRAINING_SUMS,     /* nothing but sums */
	TRAINING_SERIAL,   /* products, then sums and optimiser */
	TRAINING_OVERLAP,  /* the step */
	TRAINING_MODES
};

struct training_shape {
	int layers, width; /* of the model */
	int tokens;        /* of a card */
	int accumulate;    /* passes before the gradients are summed */
};

/* Gradients in one array, layer by layer; a bucket is a range of it that is whole
 * after layer `layer`. The last layers come first. */
struct training_bucket {
	size_t first, count; /* elements */
	int layer;
};

/* Buckets of about so many bytes (a multiple of the layer where it is smaller, equal
 * parts of it where it is larger); their number. *buckets is the arena's. */
int training_buckets(struct arena *arena, const struct training_shape *shape, size_t element,
                     size_t bytes, struct training_bucket **buckets);

/* --- what is said ------------------------------------------------------------------------ */

enum training_step {
	TRAINING_READY, /* open the devices, make room for the model */
	TRAINING_ID,    /* name a communicator: the first node alone */
	TRAINING_JOIN,  /* with the first `nodes` nodes; 1: each node for itself */
	TRAINING_CHECK, /* whether sums are right */
	TRAINING_RUN,
	TRAINING_LEAVE,
	TRAINING_OVER,
	TRAINING_STEPS
};

struct training_order {
	enum training_step step;
	int nodes;        /* JOIN */
	int first, ranks; /* JOIN: number of the node's first rank, of all */
	const char *id;   /* JOIN: hex digits; NULL: none, or each its own */
	enum training_mode mode;
	int tokens, warm, steps; /* RUN */
	bool together;           /* RUN: all ranks that have joined */
	int turn;                /* CHECK: number of it, which changes the data */
	double clock_s;          /* of the first node's cards: see training_meet_clock */
};

struct training_card {
	const char *id, *pci, *name;
	int index;
	double step_s; /* RUN: median over steps */
	double wrong;  /* CHECK: elements */
};

struct training_answer {
	enum outcome outcome;
	const char *why;
	bool waited;    /* it is not the one to blame: it waited for others */
	bool gpus;      /* READY */
	bool simulated; /* READY: stand-ins answered */
	const char *library, *format;
	const char *id; /* ID */
	struct training_card *cards;
	int n_cards;
	double *steps; /* RUN: of the node's slowest card in each */
	int n_steps;
	double work_s;  /* RUN: median time of the products in a step, sums beside them */
	double checked; /* CHECK: elements */
	double clock_s; /* of its cards */
};

enum status training_send_order(struct probe_ctx *ctx, int to, const struct training_order *o);
enum status training_recv_order(struct probe_ctx *ctx, double seconds, struct training_order *o);
enum status training_send_answer(struct probe_ctx *ctx, const struct training_answer *a);
/* Whatever comes or does not is an answer. */
void training_recv_answer(struct probe_ctx *ctx, int from, double seconds,
                          struct training_answer *a);

/* --- one node's part ---------------------------------------------------------------------- */

struct training_node {
	struct probe_ctx *ctx;
	const struct clock_source *clock; /* the machine's: that of stand-ins is another */
	int64_t deadline_ns;              /* on it */
	struct training_shape shape;
	const struct training_back *back;
	void *self; /* of the back end */
	/* Why an order failed. */
	enum outcome outcome;
	struct reason reason;
	bool waited;
};

/* What does the work. Each returns false with why in the node. */
struct training_back {
	bool (*ready)(struct training_node *node, struct training_answer *out);
	bool (*name)(struct training_node *node, struct training_answer *out);
	bool (*join)(struct training_node *node, const struct training_order *o);
	bool (*check)(struct training_node *node, const struct training_order *o,
	              struct training_answer *out);
	bool (*run)(struct training_node *node, const struct training_order *o,
	            struct training_answer *out);
	bool (*leave)(struct training_node *node);
	void (*close)(struct training_node *node);
};
extern const struct training_back training_cards, training_cpus;

void training_node_open(struct training_node *node, struct probe_ctx *ctx);
void training_node_do(struct training_node *node, const struct training_order *o,
                      struct training_answer *out);
void training_node_close(struct training_node *node);
/* The clock of doubles of cards passes in each process by itself, and sums between
 * them wait for the one that is behind: brings it to that of another node, in seconds.
 * Real cards have the machine's clock, which is left alone. */
void training_meet_clock(const struct training_node *node, double clock_s);
double training_clock(const struct training_node *node);
/* Always false. */
bool training_because(struct training_node *node, enum outcome outcome, enum msg id,
                      const char *const *args);
#define because(node, outcome, id, ...)                                                            \
	training_because(node, outcome, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* --- what is found, and said ------------------------------------------------------------- */

/* A number of cards, measured. Seconds; NaN: not measured. */
struct training_size {
	int nodes, cards;
	double step_s, half_s, p50_s, p99_s; /* overlapped: pace, half its interval */
	double sums_s, serial_s;             /* modes of those names: pace */
	double products_s;                   /* pace of the slowest card's products */
	double work_ratio;                   /* products with sums beside / without */
	double overlap;
	double weak, strong, of_node; /* efficiencies */
	int strong_tokens;
	struct scaling_loss loss;
	double *steps; /* of the job */
	int n_steps;
};

struct training_lead {
	struct probe_ctx *ctx;
	struct training_node *self;
	struct training_answer *ready, *products; /* of ctx->peers, or of the one node */
	int n, cards;
	bool gpus, simulated;
	int tokens, steps, warm; /* of runs */
	int most_steps;          /* of runs without sums */
	int64_t half_ns;         /* half of the time there is: from then on only what must be */
	int strong_cards;        /* whose tokens all cards share in strong scaling */
	double base_s, serial_s;
	double node_s; /* by which sums within a node lengthen its step: median node */
	double node_step_s;
	struct training_size sizes[TRAINING_SIZES_MOST];
	int n_sizes;
	int turn;
	double checked, wrong;
	const char *wrong_at; /* a card and its node */
	/* Why something is missing; reason.code NULL: nothing is. */
	enum outcome outcome;
	struct reason reason;
	uint64_t said;
};

extern const struct metric training_metrics[];

/* The course of the first node. */
void training_lead(struct training_node *self);
/* Of what was measured; then of the rest, that it is missing for lead->reason. */
void training_say(struct training_lead *lead);
void training_say_rest(struct training_lead *lead);
/* Cards of the first `nodes` nodes. */
int training_count(const struct training_lead *lead, int nodes);

#endif
