/* The parts of frameworks_nodes: what its children say to each other, and what one
 * node does of a job over all of them. As in training the first node gives orders, each
 * answered by all nodes before the next. Orders and answers come from other processes
 * on other machines: nothing in them is believed that cannot be. */
#ifndef ASSAY_BENCH_FRAMEWORKS_NODES_H
#define ASSAY_BENCH_FRAMEWORKS_NODES_H

#include "frameworks.h"
#include "net_offer.h"

/* Over gloo each worker speaks to each: more nodes without cards show nothing more. */
#define FWN_CPU_NODES_MOST 64
/* Of tensor and pipeline parallel: a stage a worker, and all of them in one place. */
#define FWN_MODES_WORKERS_MOST 64

enum fwn_step {
	FWN_READY, /* find PyTorch; how many cards does it see? */
	FWN_REACH, /* at which of the first node's addresses is it reached? */
	FWN_RUN,   /* our part of the job */
	FWN_STOP,  /* end the job that runs: another node has failed; not answered */
	FWN_OVER,
	FWN_STEPS
};

struct fwn_order {
	enum fwn_step step;
	struct net_offer offer; /* REACH */
	/* RUN */
	const char *address;
	int port, size, first; /* ranks of all; the first of ours */
	bool brief, sums, off; /* off: without the acceleration engine */
	double seconds;        /* limit of the job */
};

#define FWN_REACHED_MOST 32 /* addresses that are told */

struct fwn_answer {
	enum outcome outcome; /* of its part; MEASURED, else why it is missing: */
	const char *why;
	bool waited; /* for others: it is not the one to blame */
	/* READY */
	bool cuda;
	int workers;
	const char *version, *python;
	const char *engine; /* NULL: none; as fw_engine_find finds it */
	const char *engine_found;
	bool engine_on;
	/* REACH: addresses of the offer, as it writes them */
	const char *reached[FWN_REACHED_MOST];
	int n_reached;
};

/* --- frameworks_nodes_talk.c ------------------------------------------------------------ */

enum status fwn_send_order(struct probe_ctx *ctx, int to, const struct fwn_order *order);
/* ST_TIMEOUT: nothing came; ST_PARSE: no order. */
enum status fwn_recv_order(struct probe_ctx *ctx, double seconds, struct fwn_order *order);
enum status fwn_send_answer(struct probe_ctx *ctx, const struct fwn_answer *answer);
/* False: nothing came within the time. What is no answer is one that says so. */
bool fwn_recv_answer(struct probe_ctx *ctx, int from, double seconds, struct fwn_answer *answer);

/* --- frameworks_nodes_node.c: one node's part -------------------------------------------- */

struct fwn_node {
	struct probe_ctx *ctx;
	struct fw_pythons pythons;
	const struct fw_python *python; /* whose PyTorch is used */
	bool cuda;
	int workers;
	struct fw_engine engine;
	bool engine_there;
	struct net_addresses ours;
	/* Of the last REACH: interface on the way to each address that was reached. */
	struct {
		const char *address, *interface;
	} ways[FWN_REACHED_MOST];
	int n_ways;
	/* Of the last RUN. */
	struct fw_line line;
	const char *text; /* whole output of the job */
};

void fwn_node_open(struct fwn_node *node, struct probe_ctx *ctx);
/* goes_on: as of fw_job, or NULL. */
void fwn_node_do(struct fwn_node *node, const struct fwn_order *order, struct fwn_answer *answer,
                 bool (*goes_on)(void *arg, double seconds), void *arg);
/* The interface that leads to the address by the last REACH, or NULL. */
const char *fwn_way(const struct fwn_node *node, const char *address);

/* --- frameworks_nodes_say.c: readings ------------------------------------------------------ */

extern const struct metric fwn_metrics[];

/* What the first node knows. */
struct fwn_lead {
	struct probe_ctx *ctx;
	struct fwn_node *self;
	int n; /* nodes */
	struct fwn_answer *ready;
	int *first; /* rank of each node's first worker */
	int size;   /* workers of all */
	const char *address, *interface;
	/* While a job runs: what has come of the others. */
	struct fwn_answer *answers;
	bool *here;
	int asked;       /* whom to look at next */
	double failed_s; /* when the first failure came, by the job's clock; NaN: none */
	struct raw_file raw;
};

/* The figures of the job; a line that is not measured says why there are none. */
enum status fwn_say_job(struct fwn_lead *lead, const struct fw_line *line);
enum status fwn_say_gain(struct fwn_lead *lead, const struct fw_pairs *pairs,
                         const struct fw_line *line);

#endif
