#include "tests/standin/verbs_plain.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define WAITS 50000 /* of 0.1 ms, for a receive of the other side */

/* --- queues of two processes ------------------------------------------------------------- */

int verbs_copy(pid_t pid, uint64_t mine, uint64_t theirs, size_t bytes, int reads)
{
	struct iovec a = {(void *)(uintptr_t)mine, bytes}, b = {(void *)(uintptr_t)theirs, bytes};
	ssize_t n = reads ? process_vm_readv(pid, &a, 1, &b, 1, 0)
	                  : process_vm_writev(pid, &a, 1, &b, 1, 0);

	return n == (ssize_t)bytes;
}

void verbs_want(struct verbs_inbox *inbox, uint64_t id, uint64_t address, uint32_t bytes)
{
	struct verbs_ring *wanted = &inbox->wanted;

	wanted->slots[atomic_load(&wanted->put) % VERBS_RING] =
		(struct verbs_slot){id, address, bytes};
	atomic_fetch_add(&wanted->put, 1);
}

enum ibv_wc_status verbs_send(struct verbs_inbox *to, pid_t pid, uint64_t mine, uint32_t bytes)
{
	const struct timespec moment = {.tv_nsec = 100000};
	unsigned at = atomic_load(&to->wanted.taken);
	struct verbs_slot *slot;

	for (int i = 0; at == atomic_load(&to->wanted.put); i++) {
		if (i == WAITS)
			return IBV_WC_RNR_RETRY_EXC_ERR;
		nanosleep(&moment, NULL);
	}
	slot = &to->wanted.slots[at % VERBS_RING];
	if (bytes > slot->bytes)
		return IBV_WC_REM_INV_REQ_ERR;
	if (!verbs_copy(pid, mine, slot->address, bytes, 0))
		return IBV_WC_RETRY_EXC_ERR;
	to->come.slots[atomic_load(&to->come.put) % VERBS_RING] =
		(struct verbs_slot){slot->id, 0, bytes};
	atomic_store(&to->wanted.taken, at + 1);
	atomic_fetch_add(&to->come.put, 1);
	return IBV_WC_SUCCESS;
}

int verbs_take(struct verbs_inbox *inbox, uint32_t qp_num, struct ibv_wc *wc, int most)
{
	struct verbs_ring *come = &inbox->come;
	int n = 0;

	while (n < most && atomic_load(&come->taken) != atomic_load(&come->put)) {
		const struct verbs_slot *s =
			&come->slots[atomic_fetch_add(&come->taken, 1) % VERBS_RING];

		wc[n++] = (struct ibv_wc){.wr_id = s->id,
		                          .opcode = IBV_WC_RECV,
		                          .byte_len = s->bytes,
		                          .qp_num = qp_num};
	}
	return n;
}

/* --- nothing to decide --------------------------------------------------------------------- */

int verbs_req_notify(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

#pragma GCC visibility push(default)

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	pd->context = context;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));

	channel->context = context;
	channel->fd = eventfd(0, EFD_CLOEXEC);
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **user)
{
	(void)channel;
	(void)cq;
	(void)user;
	return -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
	(void)cq;
	(void)count;
}
