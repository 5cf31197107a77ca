/* libibverbs, opened at run time: one device with its memory, queue pairs of the kind
 * RC and one completion queue, used by one thread. Built without its header
 * (infiniband/verbs.h, whose fast calls are inline) every open says so.
 *
 * Ownership: verbs_device_close frees all that was made on the device; memory that
 * was registered stays the caller's. Strings go to the arena given at open. */
#ifndef ASSAY_HW_VERBS_H
#define ASSAY_HW_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assay/reading.h"
#include "hw/loader.h"
#include "hw/rdma_ports.h"

#define VERBS_QPS_MOST 64

struct verbs {
	struct library lib; /* standin: a double of the tests */
	void *calls;
};

/* ST_NOTFOUND: no libibverbs; ST_UNSUPPORTED: it does not load, lacks a function, or
 * this build has no verbs. */
enum status verbs_open(struct verbs *verbs, struct arena *arena, const char *lib_dir,
                       struct error *err);

struct verbs_queues; /* what libibverbs gave */

/* Members are for reading. */
struct verbs_device {
	struct verbs *verbs;
	struct verbs_queues *queues;
	const char *name;
	int port;
	int mtu;           /* active, in bytes */
	int lid;           /* InfiniBand */
	bool grh_required; /* the port says that no packet goes without */
	int reads, served; /* RDMA reads under way: as asker, as answerer */
	int depth;         /* of a queue pair */
	int inline_bytes;  /* 0: the device does not */
	int qps;
	uint32_t qpn[VERBS_QPS_MOST];
	uint32_t key;     /* remote key of the memory */
	uint64_t address; /* of its first byte, as the other end names it */
	bool relaxed;     /* relaxed ordering was asked for and granted */
};

/* ST_NOTFOUND: the library does not list it; ST_PERMISSION, ST_UNSUPPORTED … */
enum status verbs_device_open(struct verbs_device **out, struct verbs *verbs, struct arena *arena,
                              const char *name, int port, struct error *err);
void verbs_device_close(struct verbs_device *dev); /* NULL: nothing */

/* Where memory is that is not known by a descriptor. */
#define VERBS_HOST (-1)
#define VERBS_CARD (-2) /* an address of a card, which takes nvidia_peermem */

/* Registers the memory that all work is about; once a device. dmabuf: the descriptor of
 * a card's memory with `memory` its address there, or one of these. */
enum status verbs_memory(struct verbs_device *dev, void *memory, size_t bytes, int dmabuf,
                         struct error *err);
/* Queue pairs with room for `depth` requests each way. */
enum status verbs_make_queues(struct verbs_device *dev, int count, int depth, struct error *err);

/* How to reach the other end's queue pair. */
struct verbs_route {
	uint32_t qpn, psn, own_psn;
	int lid;
	uint8_t gid[RDMA_GID_BYTES];
	int own_gid; /* index of ours */
	bool global; /* with a GRH: RoCE always */
	int mtu;     /* bytes, the smaller of both */
	int reads;   /* that we may have under way */
	int served;  /* that we answer */
	int traffic_class;
};

/* From new to ready to send. ST_UNSUPPORTED with the step that failed. */
enum status verbs_connect(struct verbs_device *dev, int qp, const struct verbs_route *route,
                          struct error *err);

/* --- work ------------------------------------------------------------------------ */

enum verbs_op { VERBS_WRITE, VERBS_READ, VERBS_SEND };

/* Byte offsets are from the beginning of the memory on each side. */
struct verbs_work {
	enum verbs_op op;
	int qp;
	uint64_t id;
	size_t at, bytes;
	uint64_t remote_address; /* not of VERBS_SEND */
	uint32_t remote_key;
	bool told;   /* a completion is wanted; of a send, it wakes the receiver too */
	bool copied; /* inline: bytes <= inline_bytes */
};

/* 0 or an errno value. */
int verbs_post(struct verbs_device *dev, const struct verbs_work *work);
int verbs_post_receive(struct verbs_device *dev, int qp, uint64_t id, size_t at, size_t bytes);

struct verbs_done {
	uint64_t id;
	int status; /* 0: well */
	uint32_t vendor;
	bool received;
};

/* What is done by now, at most `most`; negative: the queue is broken. */
int verbs_poll(struct verbs_device *dev, struct verbs_done *list, int most);
/* Sleeps until something may be done, at most `ms`; look once more before: what came
 * earlier does not wake. `told`: of what is received, only what was sent as told wakes;
 * what goes wrong always does. Negative: an errno value. */
int verbs_arm(struct verbs_device *dev, bool told);
int verbs_sleep(struct verbs_device *dev, int ms);

/* What a completion status means to the person who rents the machine. {1} and {2} of
 * the text are node and device of who asked, {3} and {4} of who should have answered,
 * {5} and {6} their GIDs, {7} the vendor's code. */
struct verbs_cause {
	int status;
	enum msg why;
	enum outcome outcome;
};

/* Never NULL. */
const struct verbs_cause *verbs_cause(int status);

#endif
