/* Between the files of the double of libnccl. */
#ifndef STANDIN_NCCL_H
#define STANDIN_NCCL_H

#include "tests/standin/nccl_world.h"

#define DECLARE(slot, symbol, need, result, params) EXPORT result symbol params;
NCCL_SYMBOLS(DECLARE)
#undef DECLARE

/* Kept after its end: ops in streams may still point here. */
struct comm {
	struct comm *next;
	struct world *world; /* NULL: never came, or has ended */
	nccl_id id;
	int ranks, rank;
	struct card *card;
	uint64_t submitted, ran;    /* collectives */
	uint64_t *sends, *receives; /* begun, by peer */
	bool ready, gone;
	bool ring; /* NCCL_ALGO allowed nothing else */
	int error;
};

int comm_fail(int code, const char *text);
/* machine_enter, and the communicator behind the handle. */
int comm_enter(const char *call, nccl_comm handle, struct comm **c);
/* Whether work may go to that stream with these buffers. */
int comm_check(struct comm *c, const void *from, const void *to, size_t from_bytes, size_t to_bytes,
               cu_stream stream, struct stream **s);
/* Bytes per ns of the bus as a card has it, and what the hop to another card of
 * this node leaves of it (0 to 1). */
double bus_rate(const struct comm *c);
double hop_share(int from, int to);
uint64_t this_node(void);

#endif
