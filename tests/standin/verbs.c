/* The double of libibverbs: the node's adapters for processes of one machine, which
 * meet in a file of the folder ASSAY_STANDIN_MEET. What an adapter would do is done at
 * once, by copying into the other process; how long it takes is virtual: each process
 * has a clock that moves as completions are taken, by the rate of the path. A small
 * message moves the clock of who gets it, so that round trips add up; large ones do not,
 * for all ask at the same time. Nothing waits, so that no load of the machine shows.
 *
 * The rate of a path is the least of what both adapters, the uplinks of their leaves
 * and a lossy path let through; of a receiver that three or more are connected to, the
 * share of each, less where it collapses. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/standin.h"
#include "tests/standin/verbs_plain.h"

#pragma GCC visibility push(default)
extern const char assay_standin[];
const char assay_standin[] = "libibverbs of tests/standin";
int64_t assay_standin_now_ns(void);
void assay_standin_sleep_ns(int64_t ns);

#define PROCESSES  2048
#define PAIRS      4096 /* queue pairs at a time */
#define REGIONS    1024
#define LATENCY_NS 1000  /* one way */
#define SMALL      64    /* bytes of a message that moves the other clock */
#define MANY       3     /* senders, from which on it is many to one */
#define REACHED    0.985 /* of what the headers leave */

struct shared_process {
	atomic_int pid;
	atomic_llong now;
	double rates[MAX_CARDS]; /* bytes per ns of each adapter */
	double uplink, collapse;
	char uuid[48], leaf[32];
};

struct shared_qp {
	atomic_int process; /* number + 1; 0: free */
	int nic;
	atomic_int remote; /* queue pair + 1; 0: not connected */
	struct verbs_inbox inbox;
};

struct shared {
	struct shared_process processes[PROCESSES];
	struct shared_qp pairs[PAIRS];
	struct {
		atomic_int process;
		uint64_t address, bytes, shift;
	} regions[REGIONS];
};

struct adapter {
	struct ibv_context context; /* first */
	int nic;
	double free_at; /* virtual: its line is busy until then */
};

struct done {
	struct ibv_wc wc;
	double at;
};

struct double_cq {
	struct ibv_cq cq; /* first */
	struct done *ring;
	unsigned size, put, taken;
	struct double_qp *qps[PAIRS];
	int n_qps;
};

struct double_qp {
	struct ibv_qp qp; /* first */
	struct adapter *adapter;
	struct double_cq *cq;
	int number;
	double rate; /* bytes per ns, once it has sent; 0: not yet */
};

static struct ibv_device devices[MAX_CARDS];
static struct shared *shared;
static struct shared_process *self;

/* --- where all meet ---------------------------------------------------------------------- */

static double payload_share(void)
{
	return (double)node.nic_mtu / (node.nic_mtu + (node.nic_roce ? 82 : 26));
}

static void describe_self(void)
{
	struct fault *f;

	snprintf(self->uuid, sizeof(self->uuid), "%s", node.cards[0].is.uuid);
	snprintf(self->leaf, sizeof(self->leaf), "%s", node.leaf);
	self->uplink = node.uplink;
	self->collapse = (f = fault_next(NULL, FAULT_INCAST, -1)) ? f->factor : 1;
	for (int n = 0; n < node.nics; n++) {
		self->rates[n] = node.nic_gbps / 8 * payload_share() * REACHED;
		for (f = NULL; (f = fault_next(f, FAULT_SLOW_NIC, -1));)
			if (f->rank < 0 || f->rank == n)
				self->rates[n] *= f->factor;
	}
	atomic_store(&self->now, (long long)START_NS);
}

static void meet(void)
{
	const char *folder = getenv("ASSAY_STANDIN_MEET");
	char path[4096];
	int fd, free_one = 0;

	if (self && atomic_load(&self->pid) == getpid())
		return;
	if (!folder)
		node_bad("ASSAY_STANDIN_MEET names no folder to meet in");
	snprintf(path, sizeof(path), "%s/assay-verbs", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*shared)) != 0)
		node_bad("%s: %s", path, strerror(errno));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shared == MAP_FAILED)
		node_bad("%s: %s", path, strerror(errno));
	for (int i = 0; i < PROCESSES; i++, free_one = 0)
		if (atomic_compare_exchange_strong(&shared->processes[i].pid, &free_one,
		                                   getpid())) {
			self = &shared->processes[i];
			describe_self();
			return;
		}
	node_bad("more than %d processes have met", PROCESSES);
}

static int64_t now_ns(void)
{
	node_load();
	meet();
	return atomic_load(&self->now);
}

/* libcuda's double has one of the same name: another clock. */
int64_t assay_standin_now_ns(void)
{
	return now_ns();
}

static void move_clock(struct shared_process *p, long long to)
{
	long long now = atomic_load(&p->now);

	while (now < to && !atomic_compare_exchange_weak(&p->now, &now, to))
		;
}

void assay_standin_sleep_ns(int64_t ns)
{
	move_clock(self, now_ns() + ns);
}

/* --- devices ------------------------------------------------------------------------------- */

struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list = calloc(MAX_CARDS + 1, sizeof(*list));

	node_load();
	meet();
	for (int i = 0; i < node.nics; i++) {
		snprintf(devices[i].name, sizeof(devices[i].name), "mlx5_%d", i);
		list[i] = &devices[i];
	}
	if (count)
		*count = node.nics;
	return list;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc);
static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct adapter *a = calloc(1, sizeof(*a));

	a->nic = (int)(device - devices);
	a->context.device = device;
	a->context.ops.poll_cq = poll_cq;
	a->context.ops.req_notify_cq = verbs_req_notify;
	a->context.ops.post_send = post_send;
	a->context.ops.post_recv = post_recv;
	return &a->context;
}

int ibv_close_device(struct ibv_context *context)
{
	free(context);
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	*attr = (struct ibv_device_attr){.fw_ver = "1.2.3",
	                                 .max_qp_wr = VERBS_RING / 2,
	                                 .max_qp_rd_atom = 16,
	                                 .max_qp_init_rd_atom = 16};
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *out)
{
	struct ibv_port_attr *attr = (void *)out;
	int code = IBV_MTU_256;

	(void)port;
	while (128 << (code + 1) <= node.nic_mtu)
		code++;
	attr->state = IBV_PORT_ACTIVE;
	attr->active_mtu = (enum ibv_mtu)code;
	attr->link_layer = node.nic_roce ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
	attr->lid = node.nic_roce ? 0 : (uint16_t)(1 + ((struct adapter *)context)->nic);
	attr->flags = 0;
	return 0;
}

/* --- memory ---------------------------------------------------------------------------------- */

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t bytes, int access)
{
	struct ibv_mr *mr = calloc(1, sizeof(*mr));
	void *card = memory_at((uintptr_t)address, bytes);
	int number = 1 + (int)(self - shared->processes), free_one = 0;

	(void)access;
	mr->pd = pd;
	for (int i = 0; i < REGIONS; i++, free_one = 0)
		if (atomic_compare_exchange_strong(&shared->regions[i].process, &free_one,
		                                   number)) {
			shared->regions[i].address = (uintptr_t)address;
			shared->regions[i].bytes = bytes;
			/* Memory of a card is elsewhere than its address says. */
			shared->regions[i].shift = card ? (uintptr_t)card - (uintptr_t)address : 0;
			mr->rkey = mr->lkey = (uint32_t)i;
			return mr;
		}
	node_bad("more than %d regions of memory", REGIONS);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	atomic_store(&shared->regions[mr->rkey].process, 0);
	free(mr);
	return 0;
}

/* --- queues ------------------------------------------------------------------------------------ */

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *user,
                             struct ibv_comp_channel *channel, int vector)
{
	struct double_cq *cq = calloc(1, sizeof(*cq));

	(void)user;
	(void)vector;
	cq->size = (unsigned)entries + 1;
	cq->ring = calloc(cq->size, sizeof(*cq->ring));
	cq->cq.context = context;
	cq->cq.channel = channel;
	return &cq->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(((struct double_cq *)cq)->ring);
	free(cq);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct double_qp *qp = calloc(1, sizeof(*qp));
	int number = 1 + (int)(self - shared->processes), free_one = 0;

	qp->qp.context = pd->context;
	qp->adapter = (struct adapter *)pd->context;
	qp->cq = (struct double_cq *)attr->send_cq;
	for (int i = 0; i < PAIRS; i++, free_one = 0) {
		struct shared_qp *s = &shared->pairs[i];

		if (!atomic_compare_exchange_strong(&s->process, &free_one, number))
			continue;
		s->nic = qp->adapter->nic;
		atomic_store(&s->remote, 0);
		atomic_store(&s->inbox.wanted.put, 0);
		atomic_store(&s->inbox.wanted.taken, 0);
		atomic_store(&s->inbox.come.put, 0);
		atomic_store(&s->inbox.come.taken, 0);
		qp->number = i;
		qp->qp.qp_num = 1 + (uint32_t)i;
		qp->cq->qps[qp->cq->n_qps++] = qp;
		return &qp->qp;
	}
	node_bad("more than %d queue pairs", PAIRS);
}

int ibv_modify_qp(struct ibv_qp *q, struct ibv_qp_attr *attr, int mask)
{
	struct double_qp *qp = (struct double_qp *)q;

	if (mask & IBV_QP_DEST_QPN)
		atomic_store(&shared->pairs[qp->number].remote, (int)attr->dest_qp_num);
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *q)
{
	struct double_qp *qp = (struct double_qp *)q;

	atomic_store(&shared->pairs[qp->number].remote, 0);
	atomic_store(&shared->pairs[qp->number].process, 0);
	free(qp);
	return 0;
}

/* --- how fast ------------------------------------------------------------------------------------ */

static struct shared_qp *far_end(const struct double_qp *qp)
{
	int remote = atomic_load(&shared->pairs[qp->number].remote);

	return remote ? &shared->pairs[remote - 1] : NULL;
}

static struct shared_process *process_of(const struct shared_qp *s)
{
	int number = atomic_load(&s->process);

	return number ? &shared->processes[number - 1] : NULL;
}

/* Different processes connected to one adapter of this one. */
static int connected(int process, int nic)
{
	int list[MAX_CARDS * 4], n = 0;

	for (int i = 0; i < PAIRS; i++) {
		const struct shared_qp *s = &shared->pairs[i];
		int remote = atomic_load(&s->remote), other = 0;

		if (atomic_load(&s->process) != process || s->nic != nic || !remote)
			continue;
		remote = atomic_load(&shared->pairs[remote - 1].process);
		while (other < n && list[other] != remote)
			other++;
		if (other == n && n < MAX_CARDS * 4)
			list[n++] = remote;
	}
	return n;
}

/* What a path loses shows in the kernel's counter. */
static void count_errors(int nic, const struct fault *f)
{
	const char *root = getenv("ASSAY_STANDIN_ROOT");
	char path[4096];
	long before = 0;
	FILE *file;

	if (!root)
		return;
	snprintf(path, sizeof(path),
	         "%s/sys/class/infiniband/mlx5_%d/ports/1/hw_counters/out_of_sequence", root, nic);
	file = fopen(path, "r+");
	if (!file)
		return;
	if (fscanf(file, "%ld", &before) != 1)
		before = 0;
	rewind(file);
	fprintf(file, "%ld\n", before + f->number);
	fclose(file);
}

static double rate_of(const struct double_qp *qp, const struct shared_qp *far)
{
	const struct shared_process *there = process_of(far);
	int senders = connected(atomic_load(&far->process), far->nic);
	double in = there->rates[far->nic], rate;

	if (senders >= MANY)
		in *= there->collapse / senders;
	rate = fmin(self->rates[qp->adapter->nic], in);
	if (strcmp(self->leaf, there->leaf) != 0)
		rate = fmin(rate, fmin(self->uplink * self->rates[qp->adapter->nic],
		                       there->uplink * there->rates[far->nic]));
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_LOSSY_PATH, -1));)
		if (strncmp(there->uuid, f->text, strlen(f->text)) == 0) {
			count_errors(qp->adapter->nic, f);
			rate *= f->factor;
		}
	return rate;
}

/* --- work -------------------------------------------------------------------------------------------- */

static uint64_t real_address(const struct ibv_sge *part)
{
	return part->addr + shared->regions[part->lkey % REGIONS].shift;
}

static enum ibv_wc_status carry_out(struct shared_qp *far, const struct ibv_send_wr *wr)
{
	const struct ibv_sge *part = wr->sg_list;
	uint64_t at = wr->wr.rdma.remote_addr, from;
	unsigned key = wr->wr.rdma.rkey;
	pid_t pid = atomic_load(&process_of(far)->pid);

	if (wr->opcode == IBV_WR_SEND)
		return verbs_send(&far->inbox, pid, real_address(part), part->length);
	if (key >= REGIONS ||
	    atomic_load(&shared->regions[key].process) != atomic_load(&far->process))
		return IBV_WC_REM_ACCESS_ERR;
	from = shared->regions[key].address;
	if (at < from || at + part->length > from + shared->regions[key].bytes)
		return IBV_WC_REM_ACCESS_ERR;
	return verbs_copy(pid, real_address(part), at + shared->regions[key].shift, part->length,
	                  wr->opcode == IBV_WR_RDMA_READ)
	               ? IBV_WC_SUCCESS
	               : IBV_WC_RETRY_EXC_ERR;
}

static void finish(struct double_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status status,
                   double at)
{
	struct double_cq *cq = qp->cq;

	if (!(wr->send_flags & IBV_SEND_SIGNALED) && status == IBV_WC_SUCCESS)
		return;
	cq->ring[cq->put++ % cq->size] = (struct done){{.wr_id = wr->wr_id,
	                                                .status = status,
	                                                .vendor_err = status ? 129 : 0,
	                                                .qp_num = qp->qp.qp_num},
	                                               at};
}

static int post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct double_qp *qp = (struct double_qp *)q;
	struct shared_qp *far = far_end(qp);
	double now = (double)atomic_load(&self->now), at;
	enum ibv_wc_status status;

	(void)bad;
	if (!far || !process_of(far)) {
		finish(qp, wr, IBV_WC_RETRY_EXC_ERR, now);
		return 0;
	}
	if (wr->sg_list->length <= SMALL) {
		at = now + 2 * LATENCY_NS;
		/* Before it is there to be seen. */
		if (wr->opcode != IBV_WR_RDMA_READ)
			move_clock(process_of(far), (long long)now + LATENCY_NS);
	} else {
		/* All are connected before anybody begins. */
		if (qp->rate <= 0)
			qp->rate = rate_of(qp, far);
		at = fmax(now, qp->adapter->free_at) + wr->sg_list->length / qp->rate;
		qp->adapter->free_at = at;
	}
	status = carry_out(far, wr);
	finish(qp, wr, status, at);
	return 0;
}

static int post_recv(struct ibv_qp *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct double_qp *qp = (struct double_qp *)q;

	(void)bad;
	verbs_want(&shared->pairs[qp->number].inbox, wr->wr_id, real_address(wr->sg_list),
	           wr->sg_list->length);
	return 0;
}

static int poll_cq(struct ibv_cq *c, int most, struct ibv_wc *wc)
{
	struct double_cq *cq = (struct double_cq *)c;
	int n = 0;

	for (; n < most && cq->taken != cq->put; n++) {
		const struct done *d = &cq->ring[cq->taken++ % cq->size];

		wc[n] = d->wc;
		move_clock(self, (long long)d->at);
	}
	for (int i = 0; i < cq->n_qps; i++)
		n += verbs_take(&shared->pairs[cq->qps[i]->number].inbox,
		                1 + (uint32_t)cq->qps[i]->number, wc + n, most - n);
	return n;
}
