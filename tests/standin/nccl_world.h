/* Where the ranks of a communicator meet: one sparse file that all of them map,
 * in this process or another. Collectives meet by number, sends and receives in
 * a channel for each ordered pair.
 *
 * A rank leaves its bytes, the virtual time of its coming and its rate; when all
 * have come each computes its own result from what is there. */
#ifndef STANDIN_NCCL_WORLD_H
#define STANDIN_NCCL_WORLD_H

#include "hw/gpu_abi.h"
#include "tests/standin/standin.h"

#define WORLD_RANKS 64
#define WORLD_BYTES ((size_t)128 << 20) /* of one message */

struct arrival {
	uint64_t number; /* of the op it is for, from 1; written last */
	double start, rate;
	double nic;          /* bytes per ns of the card's adapter; 0: any */
	uint64_t node, card; /* whose it is */
	uint64_t tag, bytes;
	uint64_t shape; /* of the op: all must agree */
};

struct channel {
	uint64_t sent, received;
	double sent_at;      /* when the sender came for number `sent` */
	double wanted_at[2]; /* the receiver, by number mod 2: it may be one ahead */
	uint64_t wanted;     /* receives begun */
	double rate;
	uint64_t node, card; /* of the sender */
	uint64_t tag, bytes;
};

struct world {
	uint32_t joined; /* ranks that are here */
	uint32_t failed;
	struct arrival arrivals[WORLD_RANKS][2]; /* by number mod 2 */
	struct channel channels[WORLD_RANKS][WORLD_RANKS];
};

struct world *world_join(const nccl_id *id, int ranks);
void world_leave(struct world *w, const nccl_id *id, int ranks);
void *world_slot(struct world *w, int rank, int buffer);
void *world_channel_bytes(struct world *w, int ranks, int from, int to);

static inline uint64_t shared_get(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
static inline void shared_set(uint64_t *p, uint64_t value)
{
	__atomic_store_n(p, value, __ATOMIC_RELEASE);
}

/* nccl_sum.c: reduces `count` elements of n inputs in the order of ranks. */
size_t nccl_type_bytes(int type); /* 0: not known */
void nccl_reduce(void *out, const void *const *in, int n, size_t count, int type, int operation);
/* Makes one element wrong. */
void nccl_spoil(void *out, int type);

#endif
