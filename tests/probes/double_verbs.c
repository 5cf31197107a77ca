/* A libibverbs without hardware, for two processes of one user: what an adapter would
 * do, this does at once, copying into the other process. VERBS_DOUBLE names a file
 * that both share; VERBS_FAULT is what goes wrong, words with commas between:
 *
 *	list     no device is listed          open     the device cannot be opened
 *	reg=E    memory is refused, errno E   rtr=E    connecting is refused
 *	mtu=N    of the second one's port (code of the standard, 3 is 1024)
 *	status=S every request from number `after` on ends so
 *	flip     one of them changes a byte   hang     they never end
 *	card     the same on the second device that is opened, the card's
 *	ib       the port is InfiniBand, LID 7, which wants no GRH in RTR, or
 *	grh      wants one: its port says so, and RTR fails without
 *	after=N  0 unless given               first, second: only where that one asks */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/verbs_plain.h"

#define QPS  64
#define RING 4096 /* of what is done */

struct shared_qp {
	pid_t pid;
	struct verbs_inbox inbox;
};

struct fabric {
	atomic_uint used, keys;
	struct {
		pid_t pid;
		uint64_t address, bytes;
		uint64_t shift; /* to where it really is */
	} memory[QPS];
	struct shared_qp qps[QPS];
};

struct double_qp {
	struct ibv_qp qp; /* first */
	struct double_cq *cq;
	unsigned number, remote;
};

struct double_cq {
	struct ibv_cq cq; /* first */
	struct ibv_wc done[RING];
	unsigned put, taken;
	struct double_qp *qps[QPS];
	int n_qps;
};

static struct ibv_device devices[2] = {{.name = "mlx5_0"}, {.name = "mlx5_1"}};
static struct fabric *fabric;
static unsigned requests, opened, users;
static int flipped;

/* --- faults --------------------------------------------------------------------------- */

static const char *fault(const char *word)
{
	const char *at = getenv("VERBS_FAULT");
	size_t len = strlen(word);

	for (; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strncmp(at, word, len) == 0 && (at[len] == '=' || at[len] == ',' || !at[len]))
			return at[len] == '=' ? at + len + 1 : at + len;
	return NULL;
}

static int number(const char *word)
{
	const char *text = fault(word);

	return text ? atoi(text) : 0;
}

static int is_first(void)
{
	const char *pid = getenv("VERBS_FIRST");

	return pid && atoi(pid) == getpid();
}

static int goes_wrong(void)
{
	if ((fault("first") && !is_first()) || (fault("second") && is_first()))
		return 0;
	return requests >= (unsigned)number("after");
}

/* --- devices ---------------------------------------------------------------------------- */

struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list = calloc(3, sizeof(*list));

	for (int i = 0; i < 2 && !fault("list"); i++)
		list[i] = &devices[i];
	if (count)
		*count = list[0] ? 2 : 0;
	return list;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc);
static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context = calloc(1, sizeof(*context));
	int fd = open(getenv("VERBS_DOUBLE"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fault("open") || fd < 0 || ftruncate(fd, sizeof(*fabric)) != 0) {
		free(context);
		errno = EACCES;
		return NULL;
	}
	if (users++ == 0)
		fabric = mmap(NULL, sizeof(*fabric), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	requests = 0;
	opened++;
	flipped = 0;
	context->device = device;
	context->ops.poll_cq = poll_cq;
	context->ops.req_notify_cq = verbs_req_notify;
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
	return context;
}

int ibv_close_device(struct ibv_context *context)
{
	if (--users == 0)
		munmap(fabric, sizeof(*fabric));
	free(context);
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	*attr = (struct ibv_device_attr){.fw_ver = "1.2.3",
	                                 .max_qp_wr = VERBS_RING,
	                                 .max_qp_rd_atom = 16,
	                                 .max_qp_init_rd_atom = 8};
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *out)
{
	struct ibv_port_attr *attr = (void *)out;

	(void)context;
	(void)port;
	attr->state = IBV_PORT_ACTIVE;
	attr->active_mtu = IBV_MTU_4096;
	if (fault("mtu") && !is_first())
		attr->active_mtu = (enum ibv_mtu)number("mtu");
	attr->link_layer =
		fault("ib") || fault("grh") ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
	attr->lid = fault("ib") || fault("grh") ? 7 : 0;
	attr->flags = fault("grh") ? IBV_QPF_GRH_REQUIRED : 0;
	return 0;
}

/* The memory of a double of a card is somewhere else than its addresses say. */
static uint64_t shift_of(void *address, size_t bytes)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *(*memory_at)(unsigned long long p, size_t bytes);
	void *symbol = cuda ? dlsym(cuda, "memory_at") : NULL, *at;

	if (!symbol)
		return 0;
	memcpy(&memory_at, &symbol, sizeof(symbol));
	at = memory_at((uintptr_t)address, bytes);
	return at ? (uint64_t)(uintptr_t)at - (uint64_t)(uintptr_t)address : 0;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t bytes, int access)
{
	struct ibv_mr *mr;

	(void)access;
	if (fault("reg")) {
		errno = number("reg");
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	mr->pd = pd;
	mr->rkey = mr->lkey = atomic_fetch_add(&fabric->keys, 1) % QPS;
	fabric->memory[mr->rkey].pid = getpid();
	fabric->memory[mr->rkey].address = (uintptr_t)address;
	fabric->memory[mr->rkey].bytes = bytes;
	fabric->memory[mr->rkey].shift = shift_of(address, bytes);
	return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	return 0;
}

/* --- queues ------------------------------------------------------------------------------- */

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *self,
                             struct ibv_comp_channel *channel, int vector)
{
	struct double_cq *cq = calloc(1, sizeof(*cq));

	(void)entries;
	(void)self;
	(void)vector;
	cq->cq.context = context;
	cq->cq.channel = channel;
	return &cq->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct double_qp *qp = calloc(1, sizeof(*qp));

	qp->qp.context = pd->context;
	qp->cq = (struct double_cq *)attr->send_cq;
	qp->cq->qps[qp->cq->n_qps++] = qp;
	qp->number = atomic_fetch_add(&fabric->used, 1) % QPS;
	qp->qp.qp_num = 0x100 + qp->number;
	memset(&fabric->qps[qp->number], 0, sizeof(fabric->qps[0]));
	fabric->qps[qp->number].pid = getpid();
	return &qp->qp;
}

int ibv_modify_qp(struct ibv_qp *q, struct ibv_qp_attr *attr, int mask)
{
	struct double_qp *qp = (struct double_qp *)q;

	if (attr->qp_state == IBV_QPS_RTR && attr->ah_attr.is_global != !fault("ib"))
		return EINVAL;
	if (mask & IBV_QP_DEST_QPN)
		qp->remote = (attr->dest_qp_num - 0x100) % QPS;
	return attr->qp_state == IBV_QPS_RTR && fault("rtr") ? number("rtr") : 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	free(qp);
	return 0;
}

/* --- work ------------------------------------------------------------------------------------ */

static void finish(struct double_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	if (!(wr->send_flags & IBV_SEND_SIGNALED) && status == IBV_WC_SUCCESS)
		return;
	qp->cq->done[qp->cq->put++ % RING] = (struct ibv_wc){.wr_id = wr->wr_id,
	                                                     .status = status,
	                                                     .vendor_err = status ? 129 : 0,
	                                                     .qp_num = qp->qp.qp_num};
}

static uint64_t real_address(const struct ibv_sge *part)
{
	return part->addr + fabric->memory[part->lkey % QPS].shift;
}

static enum ibv_wc_status carry_out(struct double_qp *qp, const struct ibv_send_wr *wr)
{
	struct shared_qp *to = &fabric->qps[qp->remote];
	const struct ibv_sge *part = wr->sg_list;
	uint64_t at = wr->wr.rdma.remote_addr, from;
	unsigned key = wr->wr.rdma.rkey;

	if (wr->opcode == IBV_WR_SEND)
		return verbs_send(&to->inbox, to->pid, real_address(part), part->length);
	from = key < QPS ? fabric->memory[key].address : 0;
	if (key >= QPS || fabric->memory[key].pid != to->pid || at < from ||
	    at + part->length > from + fabric->memory[key].bytes)
		return IBV_WC_REM_ACCESS_ERR;
	return verbs_copy(to->pid, real_address(part), at + fabric->memory[key].shift, part->length,
	                  wr->opcode == IBV_WR_RDMA_READ)
	               ? IBV_WC_SUCCESS
	               : IBV_WC_RETRY_EXC_ERR;
}

static int post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct double_qp *qp = (struct double_qp *)q;
	int wrong = goes_wrong();
	char *byte = (char *)(uintptr_t)real_address(wr->sg_list) + wr->sg_list->length / 2;
	enum ibv_wc_status status;

	(void)bad;
	requests++;
	if (wrong && fault("hang"))
		return 0;
	if (wrong && fault("status")) {
		finish(qp, wr, (enum ibv_wc_status)number("status"));
		return 0;
	}
	if (wrong && !flipped && (fault("flip") || (fault("card") && opened > 1)) &&
	    wr->sg_list->length > 64) {
		flipped = 1;
		*byte = (char)(*byte ^ 4);
	}
	status = carry_out(qp, wr);
	finish(qp, wr, status);
	return 0;
}

static int post_recv(struct ibv_qp *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct double_qp *qp = (struct double_qp *)q;

	(void)bad;
	verbs_want(&fabric->qps[qp->number].inbox, wr->wr_id, real_address(wr->sg_list),
	           wr->sg_list->length);
	return 0;
}

static int poll_cq(struct ibv_cq *c, int most, struct ibv_wc *wc)
{
	struct double_cq *cq = (struct double_cq *)c;
	int n = 0;

	for (; n < most && cq->taken != cq->put; n++)
		wc[n] = cq->done[cq->taken++ % RING];
	for (int i = 0; i < cq->n_qps; i++)
		n += verbs_take(&fabric->qps[cq->qps[i]->number].inbox, cq->qps[i]->qp.qp_num,
		                wc + n, most - n);
	return n;
}
