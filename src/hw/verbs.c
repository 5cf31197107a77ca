/* Verbs: the calls that libibverbs exports by X-macro rows, those that are inline in
 * its header through the tables it hands out. The only file that sees its types. */
#include "hw/verbs.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#if defined(ASSAY_VERBS) && __has_include(<infiniband/verbs.h>)
#include <infiniband/verbs.h>
#include <fcntl.h>
#include <unistd.h>

static const char *const names[] = {"libibverbs.so.1", NULL};

/* X(slot, symbol, required, result, parameters) */
/* clang-format off */
#define VERBS_CALLS(X)                                                                             \
	X(list, ibv_get_device_list, true, struct ibv_device **, (int *count))                     \
	X(free_list, ibv_free_device_list, true, void, (struct ibv_device **list))                 \
	X(device_name, ibv_get_device_name, true, const char *, (struct ibv_device *device))       \
	X(open, ibv_open_device, true, struct ibv_context *, (struct ibv_device *device))          \
	X(close, ibv_close_device, true, int, (struct ibv_context *context))                       \
	X(device, ibv_query_device, true, int,                                                     \
	  (struct ibv_context *context, struct ibv_device_attr *attr))                             \
	X(port, ibv_query_port, true, int,                                                         \
	  (struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr))         \
	X(alloc_pd, ibv_alloc_pd, true, struct ibv_pd *, (struct ibv_context *context))            \
	X(free_pd, ibv_dealloc_pd, true, int, (struct ibv_pd *pd))                                 \
	X(reg, ibv_reg_mr, true, struct ibv_mr *,                                                  \
	  (struct ibv_pd *pd, void *address, size_t bytes, int access))                            \
	X(reg_iova2, ibv_reg_mr_iova2, false, struct ibv_mr *,                                     \
	  (struct ibv_pd *pd, void *address, size_t bytes, uint64_t iova, unsigned access))        \
	X(reg_dmabuf, ibv_reg_dmabuf_mr, false, struct ibv_mr *,                                   \
	  (struct ibv_pd *pd, uint64_t offset, size_t bytes, uint64_t iova, int fd, int access))   \
	X(dereg, ibv_dereg_mr, true, int, (struct ibv_mr *mr))                                     \
	X(channel, ibv_create_comp_channel, true, struct ibv_comp_channel *,                       \
	  (struct ibv_context *context))                                                           \
	X(free_channel, ibv_destroy_comp_channel, true, int, (struct ibv_comp_channel *channel))   \
	X(cq, ibv_create_cq, true, struct ibv_cq *,                                                \
	  (struct ibv_context *context, int entries, void *self, struct ibv_comp_channel *channel, \
	   int vector))                                                                            \
	X(free_cq, ibv_destroy_cq, true, int, (struct ibv_cq *cq))                                 \
	X(cq_event, ibv_get_cq_event, true, int,                                                   \
	  (struct ibv_comp_channel *channel, struct ibv_cq **cq, void **self))                     \
	X(ack, ibv_ack_cq_events, true, void, (struct ibv_cq *cq, unsigned count))                 \
	X(qp, ibv_create_qp, true, struct ibv_qp *,                                                \
	  (struct ibv_pd *pd, struct ibv_qp_init_attr *attr))                                      \
	X(modify, ibv_modify_qp, true, int,                                                        \
	  (struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask))                                 \
	X(free_qp, ibv_destroy_qp, true, int, (struct ibv_qp *qp))
/* clang-format on */

#define SLOT(slot, symbol, required, result, params) result(*slot) params;
struct calls {
	VERBS_CALLS(SLOT)
};
#define ROW(slot, symbol, required, result, params) {#symbol, required},
static const struct library_row rows[] = {VERBS_CALLS(ROW)};
#define COUNT(list) (sizeof(list) / sizeof(*(list)))
_Static_assert(sizeof(struct calls) == COUNT(rows) * sizeof(void *), "pointers alone");

#define INLINE_WANTED 220 /* perftest's for a write on mlx5 */
#define ACCESS        (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
/* 4.096 us x 2^14 = 67 ms, what perftest waits. */
#define ACK_TIMEOUT 14
/* 7 would be for ever: of a receiver that is not ready by the standard, of everything in
 * soft-RoCE. */
#define RETRIES   6
#define RNR_TIMER 12 /* 0.64 ms */
#define HOPS      64

struct verbs_queues {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp[VERBS_QPS_MOST];
	bool ethernet;
};

static const struct calls *calls_of(const struct verbs_device *dev)
{
	return dev->verbs->calls;
}

enum status verbs_open(struct verbs *verbs, struct arena *arena, const char *lib_dir,
                       struct error *err)
{
	enum status st;

	*verbs = (struct verbs){.calls = arena_alloc(arena, sizeof(struct calls))};
	st = library_open(&verbs->lib, arena, names, lib_dir, err);
	verbs->lib.standin = st == ST_OK && library_symbol(&verbs->lib, "assay_standin");
	return st == ST_OK ? library_bind(&verbs->lib, arena, rows, COUNT(rows), verbs->calls, err)
	                   : st;
}

/* --- devices --------------------------------------------------------------------- */

static enum status refuse(const struct verbs_device *dev, const char *call, int errnum,
                          struct error *err)
{
	enum status st = status_from_errno(errnum);

	return error_set(err, st == ST_OK ? ST_IO : st, MSG_verbs_call, dev->name, call,
	                 strerror(errnum));
}

static int query_port(const struct verbs_device *dev, struct ibv_port_attr *port)
{
	struct ibv_context *context = dev->queues->context;
	struct verbs_context *more = verbs_get_ctx_op(context, query_port);

	memset(port, 0, sizeof(*port));
	if (more)
		return more->query_port(context, (uint8_t)dev->port, port, sizeof(*port));
	return calls_of(dev)->port(context, (uint8_t)dev->port, (void *)port);
}

static enum status read_facts(struct verbs_device *dev, struct error *err)
{
	struct ibv_device_attr device = {0};
	struct ibv_port_attr port;
	int failed = calls_of(dev)->device(dev->queues->context, &device);

	if (failed)
		return refuse(dev, "ibv_query_device", failed, err);
	failed = query_port(dev, &port);
	if (failed)
		return refuse(dev, "ibv_query_port", failed, err);
	dev->reads = device.max_qp_init_rd_atom;
	dev->served = device.max_qp_rd_atom;
	dev->depth = device.max_qp_wr;
	dev->mtu = port.active_mtu ? 128 << port.active_mtu : 0;
	dev->lid = port.lid;
	dev->grh_required = port.flags & IBV_QPF_GRH_REQUIRED;
	dev->queues->ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	return ST_OK;
}

static enum status open_context(struct verbs_device *dev, struct error *err)
{
	const struct calls *call = calls_of(dev);
	struct ibv_device **list = call->list(NULL), **at = list;

	while (at && *at && strcmp(call->device_name(*at), dev->name) != 0)
		at++;
	if (!at || !*at) {
		if (list)
			call->free_list(list);
		return error_set(err, ST_NOTFOUND, MSG_verbs_not_listed, dev->name);
	}
	errno = 0;
	dev->queues->context = call->open(*at);
	if (!dev->queues->context)
		refuse(dev, "ibv_open_device", errno ? errno : EIO, err);
	call->free_list(list);
	return dev->queues->context ? ST_OK : ST_IO;
}

enum status verbs_device_open(struct verbs_device **out, struct verbs *verbs, struct arena *arena,
                              const char *name, int port, struct error *err)
{
	struct verbs_device *dev = arena_alloc(arena, sizeof(*dev));
	enum status st;

	*dev = (struct verbs_device){.verbs = verbs, .name = name, .port = port};
	dev->queues = arena_alloc(arena, sizeof(*dev->queues));
	*out = dev;
	st = open_context(dev, err);
	if (st == ST_OK)
		st = read_facts(dev, err);
	if (st == ST_OK) {
		dev->queues->pd = calls_of(dev)->alloc_pd(dev->queues->context);
		if (!dev->queues->pd)
			st = refuse(dev, "ibv_alloc_pd", errno, err);
	}
	if (st != ST_OK) {
		verbs_device_close(dev);
		*out = NULL;
	}
	return st;
}

void verbs_device_close(struct verbs_device *dev)
{
	struct verbs_queues *q = dev ? dev->queues : NULL;

	if (!q)
		return;
	for (int i = 0; i < VERBS_QPS_MOST; i++)
		if (q->qp[i])
			calls_of(dev)->free_qp(q->qp[i]);
	if (q->cq)
		calls_of(dev)->free_cq(q->cq);
	if (q->channel)
		calls_of(dev)->free_channel(q->channel);
	if (q->mr)
		calls_of(dev)->dereg(q->mr);
	if (q->pd)
		calls_of(dev)->free_pd(q->pd);
	if (q->context)
		calls_of(dev)->close(q->context);
	dev->queues = NULL;
}

/* --- memory and queues --------------------------------------------------------------- */

static enum status blame_memory(const struct verbs_device *dev, size_t bytes, int dmabuf,
                                int errnum, struct error *err)
{
	struct rlimit limit = {0};

	if (dmabuf >= 0)
		return error_set(err, ST_UNSUPPORTED, MSG_verbs_dmabuf, dev->name,
		                 strerror(errnum));
	if (dmabuf == VERBS_CARD)
		return error_set(err, ST_UNSUPPORTED, MSG_verbs_fault, dev->name, strerror(errnum));
	if (errnum != ENOMEM && errnum != EPERM)
		return refuse(dev, "ibv_reg_mr", errnum, err);
	getrlimit(RLIMIT_MEMLOCK, &limit);
	return error_set(err, ST_NOMEM, MSG_verbs_locked, dev->name, tmpf("%zu MiB", bytes >> 20),
	                 strerror(errnum),
	                 limit.rlim_cur == RLIM_INFINITY
	                         ? "unlimited"
	                         : tmpf("%llu KiB", (unsigned long long)limit.rlim_cur >> 10));
}

enum status verbs_memory(struct verbs_device *dev, void *memory, size_t bytes, int dmabuf,
                         struct error *err)
{
	const struct calls *call = calls_of(dev);
	struct verbs_queues *q = dev->queues;
	uint64_t address = (uintptr_t)memory;

	errno = EOPNOTSUPP;
	if (dmabuf >= 0 && call->reg_dmabuf)
		q->mr = call->reg_dmabuf(q->pd, 0, bytes, address, dmabuf, ACCESS);
	/* Of devices and kernels that know it; NCCL asks for it too. */
	if (dmabuf == VERBS_HOST && call->reg_iova2)
		q->mr = call->reg_iova2(q->pd, memory, bytes, address,
		                        ACCESS | IBV_ACCESS_RELAXED_ORDERING);
	dev->relaxed = dmabuf == VERBS_HOST && q->mr;
	if (dmabuf < 0 && !q->mr)
		q->mr = call->reg(q->pd, memory, bytes, ACCESS);
	if (!q->mr)
		return blame_memory(dev, bytes, dmabuf, errno, err);
	dev->key = q->mr->rkey;
	dev->address = address;
	return ST_OK;
}

static struct ibv_qp *make_qp(struct verbs_device *dev, int bytes_inline)
{
	struct ibv_qp_init_attr want = {
		.send_cq = dev->queues->cq,
		.recv_cq = dev->queues->cq,
		.cap = {.max_send_wr = (uint32_t)dev->depth,
	                .max_recv_wr = (uint32_t)dev->depth,
	                .max_send_sge = 1,
	                .max_recv_sge = 1,
	                .max_inline_data = (uint32_t)bytes_inline},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = calls_of(dev)->qp(dev->queues->pd, &want);

	if (qp)
		dev->inline_bytes = (int)want.cap.max_inline_data;
	return qp;
}

enum status verbs_make_queues(struct verbs_device *dev, int count, int depth, struct error *err)
{
	struct verbs_queues *q = dev->queues;

	dev->depth = depth < dev->depth ? depth : dev->depth;
	q->channel = calls_of(dev)->channel(q->context);
	if (!q->channel)
		return refuse(dev, "ibv_create_comp_channel", errno, err);
	fcntl(q->channel->fd, F_SETFL, fcntl(q->channel->fd, F_GETFL) | O_NONBLOCK);
	q->cq = calls_of(dev)->cq(q->context, 2 * count * dev->depth + 1, NULL, q->channel, 0);
	if (!q->cq)
		return refuse(dev, "ibv_create_cq", errno, err);
	for (dev->qps = 0; dev->qps < count; dev->qps++) {
		q->qp[dev->qps] = make_qp(dev, dev->qps ? dev->inline_bytes : INLINE_WANTED);
		if (!q->qp[dev->qps] && dev->qps == 0)
			q->qp[0] = make_qp(dev, 0);
		if (!q->qp[dev->qps])
			return refuse(dev, "ibv_create_qp", errno, err);
		dev->qpn[dev->qps] = q->qp[dev->qps]->qp_num;
	}
	return ST_OK;
}

/* --- connecting --------------------------------------------------------------------------- */

static enum ibv_mtu mtu_code(int bytes)
{
	int code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && 128 << (code + 1) <= bytes)
		code++;
	return (enum ibv_mtu)code;
}

static int to_init(struct verbs_device *dev, struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
	                        .port_num = (uint8_t)dev->port,
	                        .qp_access_flags = ACCESS};

	return calls_of(dev)->modify(
		qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int to_receive(struct verbs_device *dev, struct ibv_qp *qp, const struct verbs_route *r)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(r->mtu),
		.dest_qp_num = r->qpn,
		.rq_psn = r->psn,
		.max_dest_rd_atomic = (uint8_t)r->served,
		.min_rnr_timer = RNR_TIMER,
		.ah_attr = {.dlid = (uint16_t)r->lid,
	                    .is_global = r->global,
	                    .port_num = (uint8_t)dev->port},
	};

	if (r->global) {
		a.ah_attr.grh =
			(struct ibv_global_route){.sgid_index = (uint8_t)r->own_gid,
		                                  .hop_limit = HOPS,
		                                  .traffic_class = (uint8_t)r->traffic_class};
		memcpy(a.ah_attr.grh.dgid.raw, r->gid, RDMA_GID_BYTES);
	}
	return calls_of(dev)->modify(qp, &a,
	                             IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
	                                     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
	                                     IBV_QP_MIN_RNR_TIMER);
}

static int to_send(struct verbs_device *dev, struct ibv_qp *qp, const struct verbs_route *r)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = r->own_psn,
		.timeout = ACK_TIMEOUT,
		.retry_cnt = RETRIES,
		.rnr_retry = RETRIES,
		.max_rd_atomic = (uint8_t)r->reads,
	};

	return calls_of(dev)->modify(qp, &a,
	                             IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
	                                     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	                                     IBV_QP_MAX_QP_RD_ATOMIC);
}

enum status verbs_connect(struct verbs_device *dev, int qp, const struct verbs_route *route,
                          struct error *err)
{
	struct ibv_qp *q = dev->queues->qp[qp];
	const char *step = "INIT";
	int failed = to_init(dev, q);

	if (!failed) {
		step = "ready to receive";
		failed = to_receive(dev, q, route);
	}
	if (!failed) {
		step = "ready to send";
		failed = to_send(dev, q, route);
	}
	if (!failed)
		return ST_OK;
	return error_set(err, ST_UNSUPPORTED, MSG_verbs_connect, dev->name, step, strerror(failed),
	                 tmpf("%d", route->own_gid), tmpf("%d", route->mtu));
}

/* --- work ------------------------------------------------------------------------------------ */

int verbs_post(struct verbs_device *dev, const struct verbs_work *w)
{
	static const enum ibv_wr_opcode codes[] = {
		[VERBS_WRITE] = IBV_WR_RDMA_WRITE,
		[VERBS_READ] = IBV_WR_RDMA_READ,
		[VERBS_SEND] = IBV_WR_SEND,
	};
	struct ibv_sge part = {dev->address + w->at, (uint32_t)w->bytes, dev->queues->mr->lkey};
	struct ibv_send_wr request = {
		.wr_id = w->id,
		.sg_list = &part,
		.num_sge = 1,
		.opcode = codes[w->op],
		.send_flags = (w->told ? IBV_SEND_SIGNALED : 0) |
	                      (w->copied ? IBV_SEND_INLINE : 0) |
	                      (w->told && w->op == VERBS_SEND ? IBV_SEND_SOLICITED : 0),
		.wr.rdma = {w->remote_address, w->remote_key},
	};
	struct ibv_send_wr *bad;

	return ibv_post_send(dev->queues->qp[w->qp], &request, &bad);
}

int verbs_post_receive(struct verbs_device *dev, int qp, uint64_t id, size_t at, size_t bytes)
{
	struct ibv_sge part = {dev->address + at, (uint32_t)bytes, dev->queues->mr->lkey};
	struct ibv_recv_wr request = {.wr_id = id, .sg_list = &part, .num_sge = 1};
	struct ibv_recv_wr *bad;

	return ibv_post_recv(dev->queues->qp[qp], &request, &bad);
}

#define BATCH 16

int verbs_poll(struct verbs_device *dev, struct verbs_done *list, int most)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(dev->queues->cq, most < BATCH ? most : BATCH, wc);

	for (int i = 0; i < n; i++)
		list[i] = (struct verbs_done){.id = wc[i].wr_id,
		                              .status = (int)wc[i].status,
		                              .vendor = wc[i].vendor_err,
		                              .received = wc[i].opcode & IBV_WC_RECV};
	return n;
}

int verbs_arm(struct verbs_device *dev, bool told)
{
	return -ibv_req_notify_cq(dev->queues->cq, told);
}

int verbs_sleep(struct verbs_device *dev, int ms)
{
	struct pollfd p = {.fd = dev->queues->channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	unsigned events = 0;
	void *self;

	if (poll(&p, 1, ms) < 0)
		return errno == EINTR ? 0 : -errno;
	while (calls_of(dev)->cq_event(dev->queues->channel, &cq, &self) == 0)
		events++;
	if (events)
		calls_of(dev)->ack(dev->queues->cq, events);
	return 0;
}

/* To add a cause: one row, and its text in messages/verbs.def. */
static const struct verbs_cause causes[] = {
	{IBV_WC_RETRY_EXC_ERR, MSG_verbs_retries, OUTCOME_FAILED},
	{IBV_WC_RESP_TIMEOUT_ERR, MSG_verbs_retries, OUTCOME_FAILED},
	{IBV_WC_RNR_RETRY_EXC_ERR, MSG_verbs_not_ready, OUTCOME_NOT_MEASURED},
	{IBV_WC_REM_ACCESS_ERR, MSG_verbs_remote_access, OUTCOME_FAILED},
	{IBV_WC_REM_INV_REQ_ERR, MSG_verbs_remote, OUTCOME_FAILED},
	{IBV_WC_REM_OP_ERR, MSG_verbs_remote, OUTCOME_FAILED},
	{IBV_WC_REM_INV_RD_REQ_ERR, MSG_verbs_remote, OUTCOME_FAILED},
	{IBV_WC_LOC_PROT_ERR, MSG_verbs_protection, OUTCOME_FAILED},
	{IBV_WC_LOC_ACCESS_ERR, MSG_verbs_protection, OUTCOME_FAILED},
	{IBV_WC_WR_FLUSH_ERR, MSG_verbs_flushed, OUTCOME_FAILED},
	{IBV_WC_LOC_LEN_ERR, MSG_verbs_length, OUTCOME_FAILED},
};
static const struct verbs_cause unknown = {IBV_WC_GENERAL_ERR, MSG_verbs_broken, OUTCOME_FAILED};

const struct verbs_cause *verbs_cause(int status)
{
	for (size_t i = 0; i < COUNT(causes); i++)
		if (causes[i].status == status)
			return &causes[i];
	return &unknown;
}

#else

/* Nobody comes past verbs_open. */
enum status verbs_open(struct verbs *verbs, struct arena *arena, const char *lib_dir,
                       struct error *err)
{
	(void)arena;
	(void)lib_dir;
	*verbs = (struct verbs){0};
	return error_set(err, ST_UNSUPPORTED, MSG_verbs_not_built);
}

enum status verbs_device_open(struct verbs_device **out, struct verbs *verbs, struct arena *arena,
                              const char *name, int port, struct error *err)
{
	(void)name;
	(void)port;
	*out = NULL;
	return verbs_open(verbs, arena, NULL, err);
}

void verbs_device_close(struct verbs_device *dev)
{
	(void)dev;
}

enum status verbs_memory(struct verbs_device *dev, void *memory, size_t bytes, int dmabuf,
                         struct error *err)
{
	(void)memory;
	(void)bytes;
	(void)dmabuf;
	return verbs_open(dev->verbs, NULL, NULL, err);
}

enum status verbs_make_queues(struct verbs_device *dev, int count, int depth, struct error *err)
{
	(void)count;
	(void)depth;
	return verbs_open(dev->verbs, NULL, NULL, err);
}

enum status verbs_connect(struct verbs_device *dev, int qp, const struct verbs_route *route,
                          struct error *err)
{
	(void)qp;
	(void)route;
	return verbs_open(dev->verbs, NULL, NULL, err);
}

int verbs_post(struct verbs_device *dev, const struct verbs_work *work)
{
	(void)dev;
	(void)work;
	return ENOSYS;
}

int verbs_post_receive(struct verbs_device *dev, int qp, uint64_t id, size_t at, size_t bytes)
{
	(void)dev;
	(void)qp;
	(void)id;
	(void)at;
	(void)bytes;
	return ENOSYS;
}

int verbs_poll(struct verbs_device *dev, struct verbs_done *list, int most)
{
	(void)dev;
	(void)list;
	(void)most;
	return -ENOSYS;
}

int verbs_arm(struct verbs_device *dev, bool told)
{
	(void)dev;
	(void)told;
	return -ENOSYS;
}

int verbs_sleep(struct verbs_device *dev, int ms)
{
	(void)dev;
	(void)ms;
	return -ENOSYS;
}

const struct verbs_cause *verbs_cause(int status)
{
	static const struct verbs_cause none = {0, MSG_verbs_broken, OUTCOME_FAILED};

	(void)status;
	return &none;
}

#endif
