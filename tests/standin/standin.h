/* The machine behind the doubles of the GPU libraries: cards made of a node
 * file, memory, streams, one virtual clock, and faults. All of it lives in the
 * double of libcuda; the others link to it, so that a process has one state.
 *
 * Time is virtual and counted in nanoseconds as a double: a GEMM of a test is
 * shorter than one. The host's clock moves by the cost of each call and when it
 * waits; work moves along in the order of its virtual start. Everything is done
 * under one lock, which machine_enter takes and machine_leave gives back. */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Shared by the doubles; names that nobody else in a process has. */
#define node          standin_node
#define host_now      standin_host_now
#define hash64        standin_hash64
#define machine_enter standin_enter
#define machine_leave standin_leave
#pragma GCC visibility push(default)

#define MAX_CARDS 32
#define MAX_LINKS 18

/* Rates of a card that work is charged at; also the names of `achieved`. */
#define RATE_LIST(X)                                                                               \
	X(FP64, "fp64")                                                                            \
	X(FP64_TENSOR, "fp64_tensor")                                                              \
	X(FP32, "fp32")                                                                            \
	X(TF32, "tf32")                                                                            \
	X(FP16, "fp16")                                                                            \
	X(BF16, "bf16")                                                                            \
	X(FP8, "fp8")                                                                              \
	X(INT8, "int8")                                                                            \
	X(MEMORY, "memory")                                                                        \
	X(NVLINK, "nvlink")                                                                        \
	X(PCIE, "pcie")                                                                            \
	X(SM_COPY, "sm_copy")                                                                      \
	X(COLLECTIVE, "collective")

enum rate {
#define X(name, text) RATE_##name,
	RATE_LIST(X)
#undef X
		RATES
};

/* What a layer says about a card; a "claim" fault replaces it in one layer. */
struct identity {
	char name[96], uuid[48];
	int pci_device; /* (device << 16) | 0x10de */
	int sm_count, sm_clock_mhz, memory_clock_mhz, bus_width;
	int cc_major, cc_minor;
	int64_t memory_bytes;
	int power_limit_w;
	int links;
};

enum layer { LAYER_PCI, LAYER_NVML, LAYER_CUDA, LAYERS };

struct interval {
	double start, end;
};

#define INTERVALS 64

struct context;
struct block;
struct tag;

struct card {
	int index; /* in the file: PCI order, NVML's order */
	char model[40], serial[32];
	int domain, bus, device; /* PCI */
	int numa_node;
	struct identity is;           /* the truth */
	struct identity says[LAYERS]; /* what is told */
	double rate[RATES];           /* FLOP or bytes per nanosecond, as achieved */
	double rated[RATES];          /* of the row, for RATE_FP64 to RATE_INT8 */
	int pcie_gen, pcie_width, pcie_max_gen, pcie_max_width;
	int nvlink_version;
	double link_gbs; /* one link, one direction, rated */
	bool ecc;
	double idle_w, load_w;
	double spread; /* of its computing by noise, about 1 */

	/* memory.c */
	unsigned char *memory;
	size_t real_bytes; /* less than memory_bytes: addresses alias */
	struct block *blocks;
	struct tag *tags;

	/* engine.c, perf.c */
	double sm_free, copy_free, host_in, host_out, out_free, in_free;
	double link_free[MAX_CARDS];
	struct interval busy[INTERVALS];
	int n_busy;
	double busy_before; /* busy time of intervals forgotten */
	int64_t noise_at;   /* tick noise_value is of, plus 1 */
	double noise_value;
	double sent, received; /* bytes over NVLink */

	/* cuda */
	int context_refs;
	bool peer[MAX_CARDS]; /* peers this card may reach */
	int sticky;           /* error every later call on it gives */
	long calls, gemms;    /* of CUDA and cuBLAS */
};

/* A fault: one struct for all kinds, members by the table in faults.c. */
#define FAULT_LIST(X)                                                                              \
	X(SLOW, "slow")                                                                            \
	X(THROTTLE, "throttle")                                                                    \
	X(OSCILLATION, "oscillation")                                                              \
	X(SIBLINGS, "siblings")                                                                    \
	X(TIME_SLICED, "time_sliced")                                                              \
	X(WRONG, "wrong")                                                                          \
	X(BAD_MEMORY, "bad_memory")                                                                \
	X(ALIASED_MEMORY, "aliased_memory")                                                        \
	X(LOST, "lost")                                                                            \
	X(HANG, "hang")                                                                            \
	X(ERROR, "error")                                                                          \
	X(ECC, "ecc")                                                                              \
	X(REMAP, "remap")                                                                          \
	X(XID, "xid")                                                                              \
	X(MISSING, "missing")                                                                      \
	X(CLAIM, "claim")                                                                          \
	X(FEWER_SMS, "fewer_sms")                                                                  \
	X(MIG, "mig")                                                                              \
	X(VIRTUALIZATION, "virtualization")                                                        \
	X(FOREIGN_PROCESS, "foreign_process")                                                      \
	X(POWER_LIMIT, "power_limit")                                                              \
	X(NVLINK_DOWN, "nvlink_down")                                                              \
	X(NVLINK_ERRORS, "nvlink_errors")                                                          \
	X(SLOW_LINK, "slow_link")                                                                  \
	X(NO_P2P, "no_p2p")                                                                        \
	X(PCIE, "pcie")                                                                            \
	X(EVENT_CLOCK, "event_clock")                                                              \
	X(TF32_AS_FP32, "tf32_as_fp32")                                                            \
	X(NCCL_WRONG, "nccl_wrong")                                                                \
	X(NCCL_ABSENT, "nccl_absent")                                                              \
	X(NCCL_SLOW, "nccl_slow")                                                                  \
	X(SLOW_NIC, "slow_nic")                                                                    \
	X(LOSSY_PATH, "lossy_path")                                                                \
	X(INCAST, "incast")

enum fault_kind {
#define X(name, text) FAULT_##name,
	FAULT_LIST(X)
#undef X
		FAULTS
};

struct fault {
	enum fault_kind kind;
	int card, peer, link; /* -1: any */
	int rank;
	double factor, from_s, period_s, rate;
	long after, every; /* calls; every 0: once, 1: from then on */
	long number;       /* code, bit, width, pid, count: by kind */
	long number2;
	bool flag, flag2;
	char word[48], word2[48]; /* call, what, layer; field */
	char text[96];
	long seen; /* how often it was asked */
};

struct node {
	struct card cards[MAX_CARDS];
	int n_cards;
	struct fault *faults;
	int n_faults;
	bool performance_fault[MAX_CARDS]; /* any that factor() must look at */
	char id[64], driver[32], vbios[32];
	int cuda, max_ptx; /* 13000, 90 */
	int nccl;          /* 22809 */
	int cublas;        /* 130100 */
	int process_bytes; /* of an entry of NVML's process list: 24, or 32 as in 535.43 */
	double memory_divisor;
	double host_call_ns, poll_ns, first_call_ns, kernel_ns, copy_ns;
	double flag_ns, chase_local_ns, chase_peer_ns, collective_ns;
	int nics; /* RDMA adapters; 0: none, and other nodes are reached at any rate */
	double nic_gbps;
	bool nic_roce; /* Ethernet; else InfiniBand */
	int nic_mtu;   /* bytes of payload in a packet */
	char leaf[32]; /* the switch they are on … */
	double uplink; /* … and the share of a NIC's rate that leaves it */
	bool nvswitch, p2p;
	int links[MAX_CARDS][MAX_CARDS]; /* between two cards without a switch */
	uint64_t seed;
	double noise_card, noise_window, noise_rho, noise_tick_ns;
	double hiccup_per_hour, hiccup_depth;
};

extern struct node node;

/* node.c: reads the file named by ASSAY_STANDIN on first use; what is wrong in
 * it ends the process with a sentence. */
void node_load(void);
void fault_parse(const void *json_array); /* faults.c; a cJSON array or NULL */
_Noreturn void node_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* faults.c: the next fault of a kind that is about a card (-1: any), NULL: no more. */
struct fault *fault_next(struct fault *after, enum fault_kind kind, int card);
static inline struct fault *fault_of(enum fault_kind kind, int card)
{
	return fault_next(NULL, kind, card);
}
/* Counts the occasion; true when this is one at which it strikes. */
bool fault_strikes(struct fault *f);

/* --- engine.c ------------------------------------------------------------------ */

/* A moment that work reaches: an event's record, shared by all who wait. */
struct mark {
	bool done;
	double time;
	int refs;
};

struct op;
struct stream {
	struct stream *next;
	struct card *card;
	struct op *head, *last;
	double tail; /* when the last op that ran ended */
};

/* One piece of work in a stream. ready: may it start, and not before when
 * (NULL: at once). run: does it, given its start, and returns its end. */
struct op {
	struct op *next;
	struct stream *stream;
	double enqueued;
	bool (*ready)(struct op *op, double *start);
	double (*run)(struct op *op, double start);
	void (*release)(struct op *op);   /* of what data holds; NULL: nothing */
	double (*expires)(struct op *op); /* when it gives up waiting; NULL: never */
	double *uses[3];                  /* resources: free from, occupied until the end */
	struct mark *mark;
	void *data; /* freed with the op */
};

#define START_NS 1e9
extern double host_now; /* nanoseconds, from START_NS on */

struct stream *stream_new(struct card *card);
void stream_free(struct stream *s);
bool stream_valid(const struct stream *s);
struct op *op_new(struct stream *s, double (*run)(struct op *, double), size_t data_bytes);
void op_submit(struct op *op);
struct mark *mark_new(void);
void mark_release(struct mark *m);
/* Runs everything that starts before host_now. */
void engine_pump(void);
bool stream_idle(const struct stream *s); /* at host_now */
/* Waits until the stream is done, or all of the card's; moves host_now. */
void stream_wait(struct stream *s);
void card_wait(struct card *card);
void mark_wait(struct mark *m);
/* Polls cost time, or a loop of them would never end. */
void host_polled(void);

/* Lock, cost of a call, faults by its name; 0 or the code of an `error` fault.
 * Always machine_leave, which passes its argument on. card: the one the call is
 * about, or NULL. */
int machine_enter(const char *call, struct card *card);
int machine_leave(int result);
/* Between enter and leave: lets other threads and processes get on. */
void machine_yield(void);
/* For the program: the host's clock, and sleeping on it (others' work goes on);
 * by how much memory is smaller than that of the card the rates are of. */
EXPORT int64_t assay_standin_now_ns(void);
EXPORT void assay_standin_sleep_ns(int64_t ns);
EXPORT double assay_standin_memory_divisor(void);

/* --- perf.c --------------------------------------------------------------------- */

/* End of work that takes `work_ns` at the achieved rate, begun at start; which
 * of the card's rates decides what slows it down. Marks the card busy. */
double card_end(struct card *card, enum rate rate, double start, double work_ns);
/* Speed at time t relative to the achieved rate. */
double card_factor(struct card *card, enum rate rate, double t);
double card_busy(const struct card *card, double from, double to);
double card_clock_mhz(struct card *card);
double card_power_w(struct card *card);
double card_energy_mj(struct card *card);
double card_temperature(struct card *card);
uint64_t card_reasons(struct card *card);
bool card_lost(struct card *card);
/* Bytes per ns one way between two cards; links_between: those active. */
double pair_rate(struct card *from, struct card *to, bool by_sm);
int links_between(const struct card *a, const struct card *b);
int link_peer(const struct card *card, int link); /* index; -1: a switch, -2: nobody */
bool link_active(const struct card *card, int link);
bool pair_p2p(const struct card *a, const struct card *b);
uint64_t hash64(uint64_t a, uint64_t b);

/* --- memory.c ------------------------------------------------------------------- */

typedef uint64_t device_ptr;

int memory_alloc(struct card *card, size_t bytes, device_ptr *out);
int memory_free(struct card *card, device_ptr p);
size_t memory_used(const struct card *card);
size_t memory_reserved(const struct card *card);
void *host_alloc(size_t bytes);
bool host_free(void *p);
bool host_pinned(const void *p, size_t bytes);
/* Card an address lies on, NULL: host or nothing. */
struct card *memory_card(device_ptr p);
/* Host address of `bytes` at p, all inside one allocation (a card's or pinned
 * host memory); NULL: not so. */
void *memory_at(device_ptr p, size_t bytes);
/* After every write: forgets what is known of the range, puts stuck bits in. */
void memory_wrote(device_ptr p, size_t bytes);

/* Content of a range as a number: equal tags, equal bytes. */
uint64_t content_tag(device_ptr p, size_t bytes);
void content_set(device_ptr p, size_t bytes, uint64_t tag); /* after memory_wrote */
bool content_is(device_ptr p, size_t bytes, uint64_t tag);
/* Some place in this process with that content, NULL: none. */
const void *content_find(uint64_t tag, size_t bytes);
uint64_t content_digest(const void *data, size_t bytes);

/* --- launch.c -------------------------------------------------------------------- */

struct kernel;
const struct kernel *kernel_find(const char *name);
/* Checks and queues; a CUresult. */
int kernel_launch(const struct kernel *k, struct stream *s, const unsigned grid[3],
                  const unsigned block[3], void **params);

/* --- copy.c ----------------------------------------------------------------------- */

/* What a copy of bytes is: addresses of cards or of the host. A CUresult. */
int copy_submit(struct stream *s, device_ptr to, device_ptr from, size_t bytes);
int fill_submit(struct stream *s, device_ptr to, uint32_t value, size_t width, size_t count);

/* --- gemm.c ------------------------------------------------------------------------ */

/* Types and compute types by CUDA's numbers. Column-major. */
struct gemm {
	bool trans_a, trans_b;
	int m, n, k, lda, ldb, ldc, ldd;
	int type_a, type_b, type_c, type_d;
	int compute;
	double alpha, beta;
	device_ptr a, b, c, d, scale_a, scale_b;
};

size_t type_bytes(int type); /* 0: not known */
double type_read(int type, const void *p, size_t i);
void type_write(int type, void *p, size_t i, double value);
/* RATES: the card has no units for it. */
enum rate gemm_rate(const struct gemm *g, const struct card *card);
/* Queues it. 0; 1 bad argument; 15 the card cannot; 700 memory not there: numbers
 * of CUDA except 15, which is cuBLAS's. */
int gemm_submit(struct stream *s, const struct gemm *g);

/* --- cuda.c, for the other doubles ------------------------------------------------ */

struct card *current_card(void); /* of the calling thread's context, or NULL */
/* A stream handle, NULL: the current card's own; NULL: no such stream. */
struct stream *stream_of(const void *handle);

#pragma GCC visibility pop
#endif
