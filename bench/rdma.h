/* The parts of the RDMA probe: two children, a rail (a device of each) after the
 * other. Both run the same steps in the same order and agree by texts, which take
 * another way than what is measured; the first of the pair emits. */
#ifndef ASSAY_BENCH_RDMA_H
#define ASSAY_BENCH_RDMA_H

#include "assay/probe.h"
#include "base/json.h"
#include "hw/verbs.h"
#include "net.h"
#include "stats/samples.h"

#define RDMA_OPS    3 /* of enum verbs_op */
#define RDMA_MOST   8 /* sizes, and numbers of queue pairs */
#define RDMA_TICK   (NS_PER_S / 10)
#define RDMA_PING   8         /* bytes of a message whose latency is taken */
#define RDMA_REGION (1 << 20) /* of memory a queue pair works in, at least a message */

extern const char *const rdma_op_names[RDMA_OPS];

/* Where the data lie: of the host, or of a card. */
struct rdma_memory {
	void *at; /* as the adapter is told */
	size_t bytes;
	int dmabuf;       /* as of verbs_memory */
	bool peermem;     /* where that is refused, as it is */
	const char *path; /* "host", "dma-buf", "nvidia-peermem" */
	const char *card; /* "0000:17:00.0, PHB": whose, and how far from the adapter; or NULL */
	void *self;
	/* Bytes from and to host memory; false: the device refused. NULL: at is host memory. */
	bool (*write)(void *self, size_t at, const void *from, size_t bytes);
	bool (*read)(void *self, size_t at, void *to, size_t bytes);
};

/* One direction with one operation: peers[d] asks for the work. */
struct rdma_flow {
	struct net_fault fault;
	enum verbs_op op;
	size_t size;
	int qps;
	uint64_t bytes;
	int64_t ns;
	double cpu_s[2];
	struct net_point *points; /* the first is 0, 0 */
	int n_points;
};

/* What the other end tells of its queue pairs. */
struct rdma_far {
	uint32_t qpn[VERBS_QPS_MOST], psn, key;
	uint64_t address;
	int lid, reads, served, inline_bytes;
	bool grh_required;
	const char *card; /* as of rdma_memory */
};

struct rdma_rail {
	struct rdma_end ends[2];
	struct rdma_mismatch mismatch;
	struct net_fault fault; /* that ended it */
	bool up, relaxed;       /* relaxed ordering: asked for and not refused */
	int inline_bytes;
	struct verbs_device *dev; /* one queue pair more than are asked for, of latency */
	struct rdma_memory memory;
	struct rdma_far far;
	uint32_t psn;
	int mtu, reads;
	double expected; /* Gb/s; NaN */
	struct samples latency[RDMA_OPS];
	struct rdma_flow flows[2][RDMA_OPS];
	struct rdma_flow sweep[RDMA_MOST * RDMA_MOST]; /* writes of peers[0] */
	int n_sweep;
	const struct rdma_counter *before; /* ours */
	int n_before;
	const char *rises[2]; /* of each end: JSON object of the errors that rose */
	int64_t n_rises[2];   /* their sum; -1: the driver counts nothing */
};

struct rdma {
	struct probe_ctx *ctx;
	int self, other;
	int64_t sizes[RDMA_MOST], qps[RDMA_MOST];
	int n_sizes, n_qps, most_qps;
	int pings, depth, shift, traffic_class;
	double point_s, seconds, others_s, silence_s, tcp_s;
	const char *devices; /* named ones, or NULL: those of hardware */
	struct verbs verbs;
	/* Of what is measured: a double of libibverbs has its own. */
	const struct clock_source *clock;
	struct rdma_port *ports; /* ours that count */
	int n_ports;
	struct rdma_rail *rails;
	int n_rails;
	int step;
	uint64_t seed;
	struct net_fault trouble; /* that ended all */
	double tcp_gbps[2], tcp_cpu_s_per_gb[2];
	struct net_fault tcp_fault;
	struct rdma_rail *gpu; /* the same rails with the memory of cards */
	int n_gpu;
	struct net_fault gpu_fault;
};

#define rdma_blame(r, fault, why, id, ...)                                                         \
	rdma_blame_list(r, fault, why, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
void rdma_blame_list(struct rdma *r, struct net_fault *fault, enum outcome why, enum msg id,
                     const char *const *args);

/* This many seconds from now, but no later than the probe's deadline. */
int64_t rdma_until(const struct rdma *r, double seconds);

/* --- rdma_talk.c: texts --------------------------------------------------------------- */

struct rdma_text {
	struct str text;
	struct json_out j;
};

/* An object with the step's number; the fault, if it is one, goes along. */
void rdma_text_begin(struct rdma *r, struct rdma_text *t, const struct net_fault *fault);
/* False: the coordinator does not carry it, r->trouble. */
bool rdma_text_send(struct rdma *r, struct rdma_text *t);
/* The other end's text of this step, and its fault into `fault` unless there is one.
 * False: it did not come, r->trouble. The document is the caller's. */
bool rdma_text_await(struct rdma *r, struct json_doc *doc, struct net_fault *fault, double seconds);
/* ST_TIMEOUT: not yet. */
enum status rdma_text_look(struct rdma *r, struct json_doc *doc, struct net_fault *fault,
                           double seconds);
/* Both say that they are there; false: one of them has a fault. Begins a step. */
bool rdma_agree(struct rdma *r, struct net_fault *fault);

/* --- rdma_meet.c: devices, rails, connections ------------------------------------------- */

/* Which ports there are on both sides; false: r->trouble. */
bool rdma_meet(struct rdma *r);
/* Whether the list, with commas between, has the name. */
bool rdma_names(const char *list, const char *name);
/* Makes the rail's queue pairs and connects them. False: rail->fault, or trouble. */
bool rdma_rail_open(struct rdma *r, struct rdma_rail *rail);
void rdma_rail_close(struct rdma_rail *rail);
/* A completion that went wrong; d: which of peers asked. */
void rdma_blame_done(struct rdma *r, struct rdma_rail *rail, struct net_fault *fault, int asked,
                     const struct verbs_done *done);
/* A call that failed on our side. */
void rdma_blame_call(struct rdma *r, struct rdma_rail *rail, struct net_fault *fault,
                     const char *call, int errnum);
/* Nothing happened for so long. */
void rdma_blame_silence(struct rdma *r, struct rdma_rail *rail, struct net_fault *fault);

/* --- measuring: false: the rail or all is over ----------------------------------------- */

bool rdma_latency(struct rdma *r, struct rdma_rail *rail, enum verbs_op op);
/* rdma_flow.c */
bool rdma_flow(struct rdma *r, struct rdma_rail *rail, struct rdma_flow *f, int direction,
               enum verbs_op op, size_t size, int qps, double seconds);
double rdma_gbps(const struct rdma_flow *f); /* NaN: not measured */
/* Lowest whole second / mean; *count of them. */
double rdma_worst_second(const struct rdma_flow *f, int *count);
size_t rdma_memory_needed(const struct rdma *r);
/* rdma_data.c */
bool rdma_fill(const struct rdma_memory *m, size_t at, size_t bytes, uint64_t seed);
/* First byte that is not as rdma_fill made it, or `bytes`; SIZE_MAX: not readable. */
size_t rdma_check(const struct rdma_memory *m, size_t at, size_t bytes, uint64_t seed);

void rdma_counters_begin(struct rdma *r, struct rdma_rail *rail);
bool rdma_counters_end(struct rdma *r, struct rdma_rail *rail);
void rdma_tcp(struct rdma *r);
void rdma_gpu(struct rdma *r);

enum status rdma_emit(struct rdma *r);

#endif
