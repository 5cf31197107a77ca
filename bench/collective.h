/* Between the files of the collective probes: NCCL driven over all cards of a node
 * by one process, one rank a card, alone or together with other nodes.
 *
 * collective.c measures, collective_say.c says it; collective_comm.c opens communicators and ends
 * them, also those that hang; collective_run.c makes calls and times them;
 * collective_check.c makes the data and counts what came out wrong;
 * collective_log.c reads what NCCL tells of its choices.
 *
 * What may hang runs in steps of bench/team.h. Functions that take err are called
 * in such a step. Memory is the arena's. */
#ifndef ASSAY_BENCH_COLLECTIVE_H
#define ASSAY_BENCH_COLLECTIVE_H

#include "hw/nccl.h"
#include "kernels/kernels_types.h"
#include "stats/samples.h"
#include "team.h"

/* To add an operation: a name here, a row in collective_run.c, what its ranks
 * send and expect in collective_check.c, a metric in collective.c. */
enum collective_op {
	OP_ALL_REDUCE,
	OP_ALL_GATHER,
	OP_REDUCE_SCATTER,
	OP_ALL_TO_ALL,
	OP_BROADCAST,
	OP_SEND_RECV, /* each rank to the next, the last to the first */
	OP_PAIR,      /* rank `from` to rank `to`, the others do nothing */
	COLLECTIVE_OPS
};

/* Elements are 64-bit integers, so that sums are exact whatever their order. */
struct collective_job {
	enum collective_op op;
	uint64_t words; /* `count` of the call, of one rank */
	uint64_t bytes; /* the size the formulas of nccl-tests mean by it */
	bool in_place;
	int root;     /* of a broadcast */
	int from, to; /* of OP_PAIR */
};

struct collective_rank {
	cu_function write, check, spin;
	cu_ptr send, recv; /* collective.buffer_bytes each */
	cu_ptr checks;     /* a struct kernel_check for each segment */
	cu_ptr flags;      /* collective_shared.go, and expired after it, as the card sees them */
	nccl_comm comm;    /* NULL: none open */
	int number;        /* its rank in there */
	int rail;          /* communicators of other cards of the node have others */
	bool late, busy;   /* of whoever waits */
};

/* In pinned memory, seen by all cards. */
struct collective_shared {
	volatile uint32_t *go;      /* number of the window that may begin */
	volatile uint32_t *expired; /* some card did not wait for it */
	struct kernel_check *blank; /* n of them */
	struct kernel_check *found; /* n of each rank */
	uint64_t *got;
};

/* The first element that was wrong. */
struct collective_wrong {
	struct collective_job job;
	int rank, segment;
	uint64_t index, expected, got, bits;
};

struct collective_log;

struct collective {
	struct probe_ctx *ctx;
	struct team team;
	struct nccl nccl;
	struct collective_log *log;
	struct collective_rank *rank; /* of this node's cards */
	int n;
	int ranks; /* of a communicator, all nodes' */
	/* What deadlines of waits are on: the machine's clock where other processes are
	 * waited for; NULL: that of ctx, which stand-ins make their own. */
	const struct clock_source *wait_clock;
	int64_t wait_until_ns; /* with it: the probe's deadline on that clock */
	bool others;           /* nodes take part: a window begins by a barrier of all */
	void *pinned;
	struct collective_shared shared;
	uint64_t buffer_bytes;
	int64_t timeout_ns;
	uint32_t turn; /* changes the data, so that an old result is a wrong one */
	uint64_t base; /* of the data of this turn */
	int64_t expired;
	/* Of all that was checked. */
	int64_t checks;
	uint64_t words_checked, wrong;
	uint64_t *wrong_of; /* each rank's */
	struct collective_wrong first;
	/* Ranks that did not come, when a step gave up: "GPU-… (0000:17:00.0), …". */
	const char *what, *absent;
	bool cut; /* the probe's time was over: nobody was absent */
};

/* --- collective_comm.c ------------------------------------------------------------ */

/* A rank as a person finds it: "GPU-… (0000:17:00.0)". */
const char *collective_name(const struct collective *c, int rank);
/* Kernels, buffers and pinned memory; a step. Buffers are as large as `bytes`, or
 * as the fullest card has room for. */
enum status collective_alloc(struct collective *c, uint64_t bytes, struct error *err);
void collective_free(struct collective *c);

/* Opens a communicator of all ranks. algorithm: the only one NCCL may use ("Ring"),
 * NULL: its own choice in the environment as found. ST_TIMEOUT: c->absent says who
 * did not come. */
enum status collective_open(struct collective *c, const char *algorithm, struct error *err);
/* The same with other nodes: card r joins the communicator ids[r] as its `number`. */
enum status collective_join(struct collective *c, const char *algorithm, const nccl_id *ids,
                            struct error *err);
enum status collective_close(struct collective *c, struct error *err);
/* Ends what hangs: kernels that wait for other ranks go on and end. */
void collective_abort(struct collective *c);
/* Waits until no rank is in progress of a call of NCCL; until all that is queued
 * on all cards has ended. */
enum status collective_settle(struct collective *c, const char *call, struct error *err);
enum status collective_wait(struct collective *c, const char *what, struct error *err);

/* --- collective_run.c --------------------------------------------------------------- */

const char *collective_op_name(enum collective_op op); /* "all-reduce" */
/* busbw / algbw of the operation among n ranks, after nccl-tests. */
double collective_bus_factor(enum collective_op op, int n);
/* The job of about that size; false: too small to give each rank an element. */
bool collective_job_make(struct collective_job *job, enum collective_op op, int n, uint64_t bytes);

/* A size of an operation, measured. */
struct collective_point {
	struct collective_job job;
	int checks;                    /* calls that are checked alone, before windows */
	int windows, in_place_windows; /* wanted */
	double window_s;
	int calls;              /* of a window */
	struct samples seconds; /* of a call, by the slowest card; one a window */
	double in_place_s;      /* median likewise; NaN: not timed */
	const char *algorithm;  /* as NCCL told it, NULL: it did not */
	int slowest;            /* card of the slowest window; of collective_time */
	bool wrong;
	struct str *raw; /* a line for each window; NULL: none */
};

#define COLLECTIVE_RAW_HEAD                                                                        \
	"operation,bytes,in_place,window,calls,slowest_s,slowest_card,fastest_s\n"

/* Checks, times and checks again. */
enum status collective_measure(struct collective *c, struct collective_point *point,
                               struct error *err);

/* The two halves of it that nodes go through together; between them they agree on
 * point->calls. Checked calls, then the seconds of one of a window of its own. */
enum status collective_try(struct collective *c, struct collective_point *point, double *seconds,
                           struct error *err);
/* seconds[i]: of a call of window i, by this node's slowest card; NaN: it is void. */
enum status collective_time(struct collective *c, struct collective_point *point, double *seconds,
                            struct error *err);

/* --- collective_check.c --------------------------------------------------------------- */

/* Queues what gives every rank fresh data and poisons what it will receive. */
enum status collective_prepare(struct collective *c, const struct collective_job *job,
                               struct error *err);
/* Counts the elements of the last call's result that are not what was sent. Waits. */
enum status collective_check(struct collective *c, const struct collective_job *job,
                             uint64_t *wrong, struct error *err);
/* Elements of the buffers a rank sends from and receives to. */
uint64_t collective_sent(const struct collective_job *job, int n);
uint64_t collective_received(const struct collective_job *job, int n);
/* Where they are. */
cu_ptr collective_from(const struct collective *c, const struct collective_job *job, int rank);
cu_ptr collective_to(const struct collective *c, const struct collective_job *job, int rank);

/* --- collective_log.c -------------------------------------------------------------------- */

/* Has NCCL write its log into memory and keeps the environment as found. Before
 * NCCL's first call in the process. Where it cannot, the log tells nothing. */
struct collective_log *collective_log_open(struct arena *arena);
/* NCCL_* of the environment as found: a JSON object. */
const char *collective_log_environment(const struct collective_log *log);
/* From here on is new. */
void collective_log_mark(struct collective_log *log);
/* "RING SIMPLE, 24 channels" of the newest line since the mark, or NULL (arena). */
const char *collective_log_algorithm(struct collective_log *log, struct arena *arena);
/* All that was written, its last 4 MiB at most. */
void collective_log_text(const struct collective_log *log, struct str *out);
/* How the cards reach each other: "P2P", "P2P SHM" …, or NULL (arena). */
const char *collective_log_transports(struct collective_log *log, struct arena *arena);
/* Whether the log since the mark names any rank that came, and this one. */
bool collective_log_came(struct collective_log *log, int rank, bool *any);

/* For tests: the same of a text. */
const char *collective_log_find_algorithm(struct arena *arena, const char *text);

#endif
