/* A pattern by verbs: RDMA writes, over all rails at once, into a region of the receiver
 * that is this sender's alone. Who receives does nothing, so that many senders meet in
 * the fabric and its adapter and not in a processor; the sender counts what is done by
 * its own clock, which for a write means that it has arrived.
 *
 * Memory of a rail: what goes out in the first region, what comes in of sender s in
 * region 1 + s; queue pairs likewise, `qps` each. */
#include "patterns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdma.h"
#include "talk.h"
#include "stats/rng.h"

#define PAGE     4096
#define UNDERWAY ((size_t)16 << 20) /* bytes at once on a rail, where messages are large */
#define LEAST_Q  2
#define TOLD     16 /* one in so many tells that it is done */
#define LOOKS    64 /* at the queues before a nap */
#define NAP_US   20
#define DRAIN_S  2
#define READS    1

struct stream {
	int underway;
	uint64_t posted, done;
};

struct patterns_lane {
	struct verbs_device *dev;
	struct rdma_memory memory;
	uint32_t psn;
	int most, told;
	struct stream streams[PATTERNS_QPS];
};

/* --- making ready -------------------------------------------------------------------------- */

static const char *own_name(const struct patterns_node *n)
{
	return n->ctx->peers[n->ctx->self_index];
}

static void make_memory(struct patterns_node *n, struct patterns_lane *lane)
{
	size_t bytes = (size_t)(1 + n->n_in) * PATTERNS_REGION;
	void *at = NULL;

	if (posix_memalign(&at, PAGE, bytes) != 0)
		die_nomem();
	memset(at, 0, bytes);
	lane->memory = (struct rdma_memory){
		.at = at, .bytes = bytes, .dmabuf = VERBS_HOST, .path = "host"};
	rdma_fill(&lane->memory, 0, PATTERNS_REGION, n->seed + (uint64_t)n->ctx->self_index);
}

static int clamp(size_t value, int least, int most)
{
	return value < (size_t)least ? least : value > (size_t)most ? most : (int)value;
}

static enum status make_lane(struct patterns_node *n, int rail, struct error *err)
{
	struct patterns_lane *lane = &n->lanes[rail];
	const struct rdma_port *p = &n->ports[rail];
	uint64_t random = n->seed ^ (uint64_t)(n->ctx->self_index * PATTERNS_RAILS + rail + 1)
	                                    << 20;
	enum status st;

	make_memory(n, lane);
	lane->psn = (uint32_t)splitmix64(&random) & 0xffffff;
	st = verbs_device_open(&lane->dev, &n->verbs, n->ctx->arena, p->device, p->port, err);
	if (st == ST_OK)
		st = verbs_memory(lane->dev, lane->memory.at, lane->memory.bytes, VERBS_HOST, err);
	if (st == ST_OK)
		st = verbs_make_queues(lane->dev, (1 + n->n_in) * n->qps, n->depth, err);
	if (st != ST_OK)
		return st;
	lane->most = clamp(UNDERWAY / n->size / (size_t)n->qps, LEAST_Q, lane->dev->depth);
	lane->told = clamp((size_t)lane->most / 4, 1, TOLD);
	return ST_OK;
}

void patterns_rdma_prepare(struct patterns_node *n)
{
	struct error err = {0};
	enum status st = ST_OK;

	/* Who sits out needs none. */
	if (!n->sends && n->n_in == 0)
		return;
	n->lanes = arena_array(n->ctx->arena, PATTERNS_RAILS, sizeof(*n->lanes));
	for (int i = 0; i < n->rails && st == ST_OK; i++)
		st = make_lane(n, i, &err);
	if (st != ST_OK)
		net_fault_set(n->ctx, &n->fault, OUTCOME_NOT_MEASURED, MSG_rdma_refused,
		              own_name(n), str_text(&err.text));
	error_release(&err);
}

/* --- texts ----------------------------------------------------------------------------------- */

static void put_rail(struct patterns_node *n, struct json_out *j, int rail)
{
	const struct rdma_port *p = &n->ports[rail];
	const struct verbs_device *dev = n->lanes[rail].dev;

	json_object_begin(j, NULL);
	json_put_string(j, "device", p->device);
	json_put_int(j, "port", p->port);
	json_put_bool(j, "ib", p->infiniband);
	json_put_string(j, "rate", p->rate);
	json_put_number(j, "gbps", p->gbps);
	json_put_string(j, "gid", rdma_gid_text(n->ctx->arena, p->gid.raw));
	json_put_string(j, "type", rdma_gid_type_name(p->gid.type));
	json_put_int(j, "mtu", dev->mtu);
	json_put_int(j, "lid", dev->lid);
	json_put_bool(j, "grh", dev->grh_required);
	json_put_int(j, "psn", n->lanes[rail].psn);
	json_put_int(j, "key", dev->key);
	json_put_string(j, "address", tmpf("%llx", (unsigned long long)dev->address));
	json_array_begin(j, "qpn");
	for (int i = 0; i < dev->qps; i++)
		json_put_int(j, NULL, dev->qpn[i]);
	json_array_end(j);
	json_object_end(j);
}

void patterns_rdma_put(struct patterns_node *n, struct json_out *j)
{
	json_array_begin(j, "rails");
	for (int i = 0; i < n->rails && n->lanes && !n->fault.reason.code; i++)
		put_rail(n, j, i);
	json_array_end(j);
}

static struct patterns_rail read_rail(struct probe_ctx *ctx, const cJSON *o)
{
	struct patterns_rail r = {
		.at = {.device = arena_str(ctx->arena, json_string(o, "device", "?")),
	               .port = json_int(o, "port", 1),
	               .state = "ACTIVE", /* else it would not take part */
	               .infiniband = json_bool(o, "ib", false),
	               .rate = arena_str(ctx->arena, json_string(o, "rate", NULL)),
	               .gbps = json_number(o, "gbps", NAN)},
		.mtu = json_int(o, "mtu", 0),
		.lid = json_int(o, "lid", 0),
		.grh = json_bool(o, "grh", false),
		.psn = (uint32_t)json_int64(o, "psn", 0),
		.key = (uint32_t)json_int64(o, "key", 0),
		.address = strtoull(json_string(o, "address", "0"), NULL, 16),
	};
	const cJSON *item;

	r.at.link_layer = r.at.infiniband ? "InfiniBand" : "Ethernet";
	if (!rdma_gid_parse(json_string(o, "gid", ""), r.at.gid.raw) ||
	    !rdma_gid_type_parse(json_string(o, "type", ""), &r.at.gid.type))
		r.at.gid.index = -1;
	cJSON_ArrayForEach(item, json_get(o, "qpn"))
	{
		if (cJSON_IsNumber(item) && r.n_qpn < VERBS_QPS_MOST)
			r.qpn[r.n_qpn++] = (uint32_t)talk_count(item, UINT32_MAX);
	}
	return r;
}

void patterns_rdma_read(struct probe_ctx *ctx, struct patterns_peer *p, const cJSON *rails)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, rails)
	{
		if (p->n_rails < PATTERNS_RAILS)
			p->rails[p->n_rails++] = read_rail(ctx, item);
	}
}

/* --- connecting -------------------------------------------------------------------------------- */

static int lesser(int a, int b)
{
	return a < b ? a : b;
}

/* Whether both ends fit; the sender says so, once. */
static bool fits(struct patterns_node *n, int rail, struct patterns_peer *p)
{
	struct rdma_end ends[2] = {{own_name(n), n->ports[rail], n->lanes[rail].dev->mtu},
	                           {n->ctx->peers[p->node], p->rails[rail].at, p->rails[rail].mtu}};
	struct rdma_mismatch m = rdma_ends_compare(n->ctx->arena, ends);

	if (m.found && m.fatal)
		net_fault_list(n->ctx, &p->fault, OUTCOME_FAILED, m.id, m.args);
	return !m.found || !m.fatal;
}

static enum status connect_rail(struct patterns_node *n, int rail, const struct patterns_peer *p,
                                int first, struct error *err)
{
	struct patterns_lane *lane = &n->lanes[rail];
	const struct rdma_port *own = &n->ports[rail];
	const struct patterns_rail *far = &p->rails[rail];
	struct verbs_route route = {
		.psn = far->psn,
		.own_psn = lane->psn,
		.lid = far->lid,
		.own_gid = own->gid.index,
		.global = !own->infiniband || lane->dev->grh_required || far->grh,
		.mtu = lesser(lane->dev->mtu, far->mtu),
		.reads = lesser(READS, lane->dev->reads),
		.served = lesser(READS, lane->dev->served),
		.traffic_class = n->traffic_class,
	};
	enum status st = ST_OK;

	memcpy(route.gid, far->at.gid.raw, sizeof(route.gid));
	for (int i = 0; i < n->qps && st == ST_OK; i++) {
		route.qpn = far->qpn[i];
		st = verbs_connect(lane->dev, first + i, &route, err);
	}
	return st;
}

/* What one end lets through: of a sender to this receiver the slower of both. */
static double expected_gbps(const struct patterns_node *n, int rail, const struct patterns_peer *p,
                            bool both)
{
	int mtu = lesser(n->lanes[rail].dev->mtu, p->rails[rail].mtu);
	double own = rdma_expected_gbps(&n->ports[rail], mtu);

	return both ? fmin(own, rdma_expected_gbps(&p->rails[rail].at, mtu)) : own;
}

static void connect_peer(struct patterns_node *n, struct patterns_peer *p, int first, bool sends)
{
	struct error err = {0};
	enum status st = ST_OK;

	p->expected = 0;
	for (int i = 0; i < n->rails && st == ST_OK; i++) {
		if (p->n_rails <= i || p->rails[i].n_qpn < n->qps) {
			net_fault_set(n->ctx, &n->fault, OUTCOME_NOT_MEASURED, MSG_patterns_garbled,
			              n->ctx->peers[p->node]);
			return;
		}
		p->expected += expected_gbps(n, i, p, sends);
		/* The other end of what does not fit is left unconnected and stays silent. */
		if (fits(n, i, p))
			st = connect_rail(n, i, p, first, &err);
	}
	if (st != ST_OK)
		net_fault_set(n->ctx, &p->fault, OUTCOME_FAILED, MSG_rdma_refused, own_name(n),
		              str_text(&err.text));
	error_release(&err);
}

void patterns_rdma_connect(struct patterns_node *n)
{
	if (n->sends)
		connect_peer(n, &n->out, 0, true);
	for (int i = 0; i < n->n_in; i++)
		connect_peer(n, &n->in[i], n->qps * (1 + i), false);
}

/* --- sending --------------------------------------------------------------------------------------- */

static bool well(const struct patterns_node *n)
{
	return !n->out.fault.reason.code;
}

static void blame_call(struct patterns_node *n, int rail, const char *call, int errnum)
{
	net_fault_set(n->ctx, &n->out.fault, OUTCOME_FAILED, MSG_rdma_call, own_name(n),
	              n->ports[rail].device, call, strerror(errnum));
}

static void blame_done(struct patterns_node *n, int rail, const struct verbs_done *done)
{
	const struct verbs_cause *cause = verbs_cause(done->status);
	const struct rdma_port *own = &n->ports[rail], *far = &n->out.rails[rail].at;

	net_fault_set(n->ctx, &n->out.fault, cause->outcome, cause->why, own_name(n), own->device,
	              n->ctx->peers[n->out.node], far->device,
	              rdma_gid_text(n->ctx->arena, own->gid.raw),
	              rdma_gid_text(n->ctx->arena, far->gid.raw), tmpf("%u", done->vendor));
}

static void blame_silence(struct patterns_node *n)
{
	net_fault_set(n->ctx, &n->out.fault, OUTCOME_TIMED_OUT, MSG_rdma_stalled, own_name(n),
	              n->ports[0].device, n->ctx->peers[n->out.node], n->out.rails[0].at.device,
	              tmpf("%g", n->silence_s));
}

static void post(struct patterns_node *n, int rail, int qp)
{
	struct patterns_lane *lane = &n->lanes[rail];
	const struct patterns_rail *far = &n->out.rails[rail];
	struct stream *s = &lane->streams[qp];
	/* Queue pairs share the region: they write the same bytes. */
	size_t at = s->posted % (PATTERNS_REGION / n->size) * n->size;
	const struct verbs_work work = {
		.op = VERBS_WRITE,
		.qp = qp,
		.id = (uint64_t)qp,
		.at = at,
		.bytes = n->size,
		.remote_address = far->address + at,
		.remote_key = far->key,
		.told = ++s->posted % (uint64_t)lane->told == 0,
	};
	int failed = verbs_post(lane->dev, &work);

	s->underway++;
	if (failed)
		blame_call(n, rail, "ibv_post_send", failed);
}

static void fill(struct patterns_node *n, int rail, int qp)
{
	struct patterns_lane *lane = &n->lanes[rail];

	while (well(n) && lane->streams[qp].underway < lane->most)
		post(n, rail, qp);
}

/* Bytes that are done; goes on with new ones. */
static int64_t take_done(struct patterns_node *n, int rail, bool more)
{
	struct patterns_lane *lane = &n->lanes[rail];
	struct verbs_done done[TOLD];
	int found = verbs_poll(lane->dev, done, TOLD);
	int64_t bytes = 0;

	if (found < 0)
		blame_call(n, rail, "ibv_poll_cq", -found);
	for (int i = 0; i < found && well(n); i++) {
		int qp = (int)(done[i].id % (uint64_t)n->qps);
		struct stream *s = &lane->streams[qp];

		if (done[i].status != 0) {
			blame_done(n, rail, &done[i]);
			break;
		}
		s->underway -= lane->told;
		s->done += (uint64_t)lane->told;
		bytes += (int64_t)lane->told * (int64_t)n->size;
		if (more)
			fill(n, rail, qp);
	}
	return bytes;
}

static int64_t take_all(struct patterns_node *n, bool more)
{
	int64_t bytes = 0;

	for (int i = 0; i < n->rails && well(n); i++)
		bytes += take_done(n, i, more);
	return bytes;
}

static void count_messages(struct patterns_node *n)
{
	n->out.messages = INT64_MAX;
	for (int i = 0; i < n->rails; i++) {
		uint64_t done = 0;

		for (int q = 0; q < n->qps; q++)
			if (n->lanes[i].streams[q].done > done)
				done = n->lanes[i].streams[q].done;
		if ((int64_t)done < n->out.messages)
			n->out.messages = (int64_t)done;
	}
}

/* What is done after `ramp_s`, for `seconds`: from one completion to another. */
void patterns_rdma_measure(struct patterns_node *n)
{
	int64_t start, begin = 0, real = clock_now(n->ctx->clock);
	int looks = 0;

	if (!n->sends)
		return;
	for (int i = 0; i < n->rails; i++)
		for (int q = 0; q < n->qps; q++)
			fill(n, i, q);
	start = clock_now(n->clock);
	while (well(n)) {
		int64_t bytes = take_all(n, true), now = clock_now(n->clock);

		if (bytes == 0) {
			if (++looks % LOOKS == 0)
				usleep(NAP_US);
			if ((double)(clock_now(n->ctx->clock) - real) / 1e9 > n->silence_s)
				blame_silence(n);
			continue;
		}
		real = clock_now(n->ctx->clock);
		if (begin) {
			n->out.bytes += bytes;
			n->out.ns = now - begin;
		} else if ((double)(now - start) / 1e9 >= n->ramp_s) {
			begin = now;
		}
		if (begin && (double)n->out.ns / 1e9 >= n->seconds)
			break;
	}
	count_messages(n);
}

void patterns_rdma_go_on(struct patterns_node *n)
{
	if (!n->sends || !well(n) || take_all(n, true) == 0)
		usleep(NAP_US);
}

/* --- the end ------------------------------------------------------------------------------------------ */

static bool under_way(const struct patterns_node *n)
{
	for (int i = 0; i < n->rails; i++)
		for (int q = 0; q < n->qps; q++)
			/* What does not tell any more is not waited for. */
			if (n->lanes[i].streams[q].underway >= n->lanes[i].told)
				return true;
	return false;
}

/* What senders told to have arrived is there. */
static void check(struct patterns_node *n, int slot)
{
	struct patterns_peer *p = &n->in[slot];
	uint64_t slots = PATTERNS_REGION / n->size, messages = (uint64_t)p->messages;
	size_t bytes = (size_t)(messages < slots ? messages : slots) * n->size;
	size_t at = (size_t)(1 + slot) * PATTERNS_REGION;

	for (int i = 0; i < n->rails && !p->fault.reason.code; i++) {
		struct rdma_memory part = n->lanes[i].memory;
		size_t wrong;

		/* As the sender filled it: from its place in the sender's memory. */
		part.at = (char *)part.at + at;
		wrong = rdma_check(&part, 0, bytes, n->seed + (uint64_t)p->node);
		if (wrong != bytes)
			net_fault_set(n->ctx, &p->fault, OUTCOME_FAILED, MSG_patterns_wrong,
			              n->ctx->peers[p->node], own_name(n), n->ports[i].device,
			              tmpf("%zu", wrong));
	}
}

void patterns_rdma_finish(struct patterns_node *n)
{
	int64_t until = clock_now(n->ctx->clock) + DRAIN_S * NS_PER_S;

	if (!n->lanes || n->fault.reason.code)
		return;
	while (n->sends && well(n) && under_way(n) && clock_now(n->ctx->clock) < until)
		if (take_all(n, false) == 0)
			usleep(NAP_US);
	for (int i = 0; i < n->n_in; i++)
		check(n, i);
}

void patterns_rdma_close(struct patterns_node *n)
{
	for (int i = 0; i < n->rails && n->lanes; i++) {
		verbs_device_close(n->lanes[i].dev);
		free(n->lanes[i].memory.at);
	}
	n->lanes = NULL;
}
