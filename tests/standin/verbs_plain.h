/* What the doubles of libibverbs share: the calls that have nothing to decide, and how the
 * queues of two processes meet in memory that both have mapped. */
#ifndef ASSAY_TESTS_VERBS_PLAIN_H
#define ASSAY_TESTS_VERBS_PLAIN_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <sys/types.h>

#define VERBS_RING 1024 /* the most requests of a queue: max_qp_wr */

/* Of one request: an address in the process that asked. */
struct verbs_slot {
	uint64_t id, address;
	uint32_t bytes;
};

/* One writes, one reads. */
struct verbs_ring {
	atomic_uint put, taken;
	struct verbs_slot slots[VERBS_RING];
};

/* The receiving half of a queue pair: posted, and done. */
struct verbs_inbox {
	struct verbs_ring wanted, come;
};

int verbs_req_notify(struct ibv_cq *cq, int solicited);
/* Between two processes as between two adapters; 0: it could not be. */
int verbs_copy(pid_t pid, uint64_t mine, uint64_t theirs, size_t bytes, int reads);
void verbs_want(struct verbs_inbox *inbox, uint64_t id, uint64_t address, uint32_t bytes);
/* A message into the inbox of that process, which gets a while to post a receive. */
enum ibv_wc_status verbs_send(struct verbs_inbox *to, pid_t pid, uint64_t mine, uint32_t bytes);
/* Receives that are done, `most` at the most; how many. */
int verbs_take(struct verbs_inbox *inbox, uint32_t qp_num, struct ibv_wc *wc, int most);

#endif
