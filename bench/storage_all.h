/* The parts of storage_all: what its children say to each other, what one node
 * does, and what is said of all. The first node gives orders, one after another
 * and each answered by all nodes, itself too, before the next; a node that cannot
 * go on answers why, one that does not answer in time is silent. Either ends it:
 * a sum over the others would look whole. */
#ifndef ASSAY_BENCH_STORAGE_ALL_H
#define ASSAY_BENCH_STORAGE_ALL_H

#include "assay/probe.h"
#include "stats/together.h"
#include "storage_data.h"
#include "storage_fio.h"
#include "storage_place.h"

#define ALL_STREAM_BLOCK (1 << 20)
#define ALL_MOST_WINDOWS 1000 /* of a run: they travel in one text */
#define ALL_MOST_DEPTH   1024
#define ALL_VERIFY_S     20 /* of reading back another node's blocks */
#define ALL_TRIAL_S      1
#define ALL_NAMED_MOST   8 /* nodes named in one text */

#define ALL_STEP_LIST(X)                                                                           \
	X(MEET, "meet")       /* leave a token */                                                  \
	X(LOOK, "look")       /* whose tokens are there? */                                        \
	X(PREPARE, "prepare") /* write data, choose an engine */                                   \
	X(BASE, "base")       /* check the next node's data; its reads one at a time */            \
	X(RANDOM, "random")   /* 4 KiB reads of the next node's data at a depth */                 \
	X(WRITE, "write")     /* new files by 1 MiB */                                             \
	X(READ, "read")       /* those of the next node */                                         \
	X(OVER, "over")       /* remove what is ours */

enum all_step {
#define X(name, text) ALL_##name,
	ALL_STEP_LIST(X)
#undef X
		ALL_STEPS
};

struct all_order {
	enum all_step step;
	double sent_s, at_s; /* the first node's wall clock: now, and when fio starts */
	int depth;           /* RANDOM */
	const char *engine;  /* RANDOM, WRITE, READ: the one that all nodes have */
	int64_t bytes;       /* of the next node's data, or of each of its stream files */
};

/* Numbers that a step does not give are 0, texts NULL. */
struct all_answer {
	enum outcome outcome; /* of its part; MEASURED, else why it is missing: */
	const char *why;
	/* LOOK: hexadecimal digits, bit i % 4 of digit i / 4 for peers[i]. */
	const char *seen;
	int cards; /* PREPARE: GPUs of the node; -1: unknown */
	int room;  /* PREPARE: the greatest depth its engine takes */
	const char *engine, *fs, *kind;
	int64_t bytes; /* PREPARE, WRITE: of the file to read, of the least of them */
	/* Runs: I/Os, or bytes of streams; on the first node's clock. */
	struct share share;
	double mean_s, p99_s; /* of an I/O */
	bool client_bound;    /* fio had no CPU left */
};

/* --- storage_all_talk.c --------------------------------------------------------------- */

enum status all_send_order(struct probe_ctx *ctx, int to, const struct all_order *order);
/* ST_PARSE: no order. */
enum status all_recv_order(struct probe_ctx *ctx, double seconds, struct all_order *order);
enum status all_send_answer(struct probe_ctx *ctx, const struct all_answer *answer);
/* Whatever comes or does not is an answer. */
void all_recv_answer(struct probe_ctx *ctx, int from, double seconds, struct all_answer *answer);
/* Takes in what others have sent by now: much waits for a node that is late. */
void all_take_in(struct probe_ctx *ctx);

/* --- storage_all_node.c: one node's part ------------------------------------------------ */

struct all_node {
	struct probe_ctx *ctx;
	const char *next; /* the node whose files are read, in a ring */
	struct storage_place place;
	struct fio_tool tool;
	struct fio_job job; /* as the trial chose it */
	struct storage_data data;
	bool created;     /* its file is ours to remove */
	int stream_files; /* ours as well */
	bool hangs;       /* nothing on the path is touched any more */
	/* Why a step failed. */
	enum outcome outcome;
	struct reason reason;
	int64_t until_ns; /* of what goes on now, on ctx->clock */
	double step_s;    /* expected of it, for progress */
	enum msg doing;
};

struct all_node all_node_init(struct probe_ctx *ctx);
void all_node_do(struct all_node *node, const struct all_order *order, struct all_answer *answer);
/* Removes its files. */
void all_node_release(struct all_node *node);

/* Seconds a step is expected to take at most, its wait for the start included. */
double all_step_seconds(struct probe_ctx *ctx, enum all_step step);
/* From an order to its common start. */
double all_start_s(const struct probe_ctx *ctx);

/* --- storage_all_say.c: what is said of all ----------------------------------------------- */

/* Those of an operating point first. */
enum all_figure {
	ALL_IOPS,
	ALL_PER_CARD,
	ALL_LAT_MEAN,
	ALL_LAT_P99,
	ALL_OVERLAP,
	ALL_SLOWEST,
	ALL_POINT_FIGURES,
	ALL_SHARED = ALL_POINT_FIGURES,
	ALL_WRITE_GBS,
	ALL_READ_GBS,
	ALL_FIGURES
};

extern const struct metric storage_all_metrics[];

/* What all nodes got together in one run. */
struct all_run {
	int depth;                        /* of each node; streams: 0 */
	const char *engine;               /* of all nodes */
	double at_s;                      /* the common start */
	int tries;                        /* until all ran at once, or it was left at that */
	const struct all_answer *answers; /* of ctx->peers */
	struct together together;
	bool *slow;
	double offered_iops; /* the most that this depth asks for */
};

/* The first node's view. */
struct all_lead {
	struct probe_ctx *ctx;
	struct all_node *self;
	struct all_answer *ready, *base; /* of PREPARE and BASE */
	int cards;                       /* of all nodes; -1: some are unknown */
	double target_iops;
	/* Why something is missing; reason.code NULL: nothing is. */
	enum outcome outcome;
	struct reason reason;
	bool said[ALL_FIGURES];
};

void all_say_shared(struct all_lead *lead, const char *text, const char *apart);
/* The figures of an operating point; run NULL: missing for lead->reason. */
void all_say_point(struct all_lead *lead, int depth, const struct all_run *run);
void all_say_stream(struct all_lead *lead, enum all_figure figure, const struct all_run *run);
/* Every figure not said yet is missing for lead->reason. */
void all_say_rest(struct all_lead *lead);

#endif
