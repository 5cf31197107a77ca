/* From what each node has to queue pairs that are connected: which ports there are,
 * which two make a rail, whether their ends fit, and what the adapters need to know
 * of each other. Ends that do not fit are said by name before anything is tried. */
#include "rdma.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cards.h"
#include "talk.h"
#include "stats/rng.h"

#define PAGE 4096

/* --- our ports ------------------------------------------------------------------------ */

bool rdma_names(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == len && strncmp(at, name, len) == 0)
			return true;
	return false;
}

/* One port a device: an active one if it has any. */
static int choose_ports(struct rdma *r, const struct rdma_port *all, int count)
{
	r->ports = arena_array(r->ctx->arena, (size_t)count + 1, sizeof(*r->ports));
	for (int i = 0; i < count; i++) {
		struct rdma_port *last = r->n_ports ? &r->ports[r->n_ports - 1] : NULL;

		if (r->devices ? !rdma_names(r->devices, all[i].device) : !all[i].pci)
			continue;
		if (!last || strcmp(last->device, all[i].device) != 0)
			r->ports[r->n_ports++] = all[i];
		else if (!rdma_port_active(last) && rdma_port_active(&all[i]))
			*last = all[i];
	}
	return r->n_ports;
}

static void look_for_ports(struct rdma *r)
{
	const char *node = r->ctx->peers[r->self];
	struct error err = {0};
	int count;
	const struct rdma_port *all = rdma_ports_read(r->ctx->arena, r->ctx->sys_root, &count);

	if (count < 0) {
		rdma_blame(r, &r->trouble, OUTCOME_NOT_MEASURED, MSG_host_unreadable,
		           "/sys/class/infiniband");
		return;
	}
	if (choose_ports(r, all, count) == 0) {
		if (r->devices)
			rdma_blame(r, &r->trouble, OUTCOME_UNSUPPORTED, MSG_rdma_no_such, node,
			           r->devices);
		else
			rdma_blame(r, &r->trouble, OUTCOME_UNSUPPORTED, MSG_rdma_no_device, node);
		return;
	}
	if (verbs_open(&r->verbs, r->ctx->arena, r->ctx->lib_dir, &err) != ST_OK)
		rdma_blame(r, &r->trouble, OUTCOME_NOT_MEASURED, MSG_rdma_no_library, node,
		           str_text(&err.text));
	if (r->verbs.lib.standin) {
		r->ctx->simulated = true;
		r->clock = standin_clock(r->ctx, &r->verbs.lib);
	}
	error_release(&err);
}

/* --- ports in texts ---------------------------------------------------------------------- */

static void put_port(struct rdma *r, struct json_out *j, const struct rdma_port *p)
{
	json_object_begin(j, NULL);
	json_put_string(j, "device", p->device);
	json_put_int(j, "port", p->port);
	json_put_string(j, "pci", p->pci);
	json_put_int(j, "numa", p->numa_node);
	json_put_string(j, "state", p->state);
	json_put_string(j, "link_layer", p->link_layer);
	json_put_string(j, "rate", p->rate);
	json_put_number(j, "gbps", p->gbps);
	json_put_int(j, "gid_index", p->gid.index);
	json_put_string(j, "gid_type", rdma_gid_type_name(p->gid.type));
	json_put_string(j, "gid", rdma_gid_text(r->ctx->arena, p->gid.raw));
	json_put_string(j, "netdev", p->gid.netdev);
	json_put_int(j, "netdev_mtu", p->netdev_mtu);
	json_object_end(j);
}

static const char *kept(struct rdma *r, const cJSON *o, const char *key)
{
	return arena_str(r->ctx->arena, json_string(o, key, NULL));
}

static struct rdma_port port_of(struct rdma *r, const cJSON *o)
{
	struct rdma_port p = {
		.device = arena_str(r->ctx->arena, json_string(o, "device", "?")),
		.port = json_int(o, "port", 1),
		.pci = kept(r, o, "pci"),
		.numa_node = json_int(o, "numa", -1),
		.state = kept(r, o, "state"),
		.link_layer = kept(r, o, "link_layer"),
		.rate = kept(r, o, "rate"),
		.gbps = json_number(o, "gbps", NAN),
		.netdev_mtu = json_int(o, "netdev_mtu", -1),
		.gid = {.index = json_int(o, "gid_index", -1), .netdev = kept(r, o, "netdev")},
	};

	p.infiniband = p.link_layer && strcmp(p.link_layer, "InfiniBand") == 0;
	if (!rdma_gid_parse(json_string(o, "gid", ""), p.gid.raw) ||
	    !rdma_gid_type_parse(json_string(o, "gid_type", ""), &p.gid.type))
		p.gid.index = -1;
	return p;
}

/* --- rails -------------------------------------------------------------------------------- */

/* Device i of the first with device i of the second, or `shift` further. What is down
 * on both sides is not in use. A device without a partner is a rail that is broken. */
static void make_rails(struct rdma *r, const struct rdma_port *theirs, int n_theirs)
{
	const struct rdma_port *of[2] = {r->ports, theirs};
	int n[2] = {r->n_ports, n_theirs}, most = n[0] > n[1] ? n[0] : n[1];

	if (r->self == 1) {
		of[0] = theirs, of[1] = r->ports;
		n[0] = n_theirs, n[1] = r->n_ports;
	}
	r->rails = arena_array(r->ctx->arena, (size_t)most + 1, sizeof(*r->rails));
	for (int i = 0; i < most; i++) {
		struct rdma_rail *rail = &r->rails[r->n_rails];
		int at[2] = {i, (i + r->shift) % most}, missing = -1;

		*rail = (struct rdma_rail){.expected = NAN, .n_rises = {-1, -1}};
		for (int e = 0; e < 2; e++) {
			rail->ends[e].node = r->ctx->peers[e];
			if (at[e] < n[e])
				rail->ends[e].at = of[e][at[e]];
			else
				missing = e;
		}
		if (missing >= 0)
			rdma_blame(r, &rail->fault, OUTCOME_FAILED, MSG_rdma_no_partner,
			           r->ctx->peers[!missing], rail->ends[!missing].at.device,
			           r->ctx->peers[missing], tmpf("%d", n[missing]));
		else if (!rdma_port_active(&rail->ends[0].at) &&
		         !rdma_port_active(&rail->ends[1].at))
			continue;
		r->n_rails++;
	}
}

static void read_ports(struct rdma *r, const cJSON *root)
{
	const cJSON *list = json_get(root, "ports"), *o;
	struct rdma_port *theirs = arena_array(
		r->ctx->arena, (size_t)(list ? cJSON_GetArraySize(list) : 0) + 1, sizeof(*theirs));
	int n = 0;

	cJSON_ArrayForEach(o, list) theirs[n++] = port_of(r, o);
	/* One seed for both. */
	if (r->self == 1)
		r->seed = strtoull(json_string(root, "seed", "0"), NULL, 16);
	make_rails(r, theirs, n);
}

bool rdma_meet(struct rdma *r)
{
	struct rdma_text t;
	struct json_doc doc;
	bool heard;

	look_for_ports(r);
	rdma_text_begin(r, &t, &r->trouble);
	json_put_string(&t.j, "seed", tmpf("%016llx", (unsigned long long)r->seed));
	json_array_begin(&t.j, "ports");
	for (int i = 0; i < r->n_ports; i++)
		put_port(r, &t.j, &r->ports[i]);
	json_array_end(&t.j);
	heard = rdma_text_send(r, &t) &&
	        rdma_text_await(r, &doc, &r->trouble, r->ctx->param_real(r->ctx, "meet_s"));
	if (!heard)
		return false;
	if (!r->trouble.reason.code)
		read_ports(r, doc.root);
	json_release(&doc);
	if (!r->trouble.reason.code && r->n_rails == 0)
		rdma_blame(r, &r->trouble, OUTCOME_FAILED, MSG_rdma_all_down, r->ctx->peers[0],
		           r->ctx->peers[1]);
	return !r->trouble.reason.code;
}

/* --- blame ----------------------------------------------------------------------------------- */

void rdma_blame_done(struct rdma *r, struct rdma_rail *rail, struct net_fault *fault, int asked,
                     const struct verbs_done *done)
{
	const struct verbs_cause *cause = verbs_cause(done->status);
	const struct rdma_end *from = &rail->ends[asked], *to = &rail->ends[!asked];
	const char *gids[2];

	for (int e = 0; e < 2; e++)
		gids[e] = rdma_gid_text(r->ctx->arena, rail->ends[e ? !asked : asked].at.gid.raw);
	rdma_blame(r, fault, cause->outcome, cause->why, from->node, from->at.device, to->node,
	           to->at.device, gids[0], gids[1], tmpf("%u", done->vendor));
}

void rdma_blame_call(struct rdma *r, struct rdma_rail *rail, struct net_fault *fault,
                     const char *call, int errnum)
{
	rdma_blame(r, fault, OUTCOME_FAILED, MSG_rdma_call, rail->ends[r->self].node,
	           rail->ends[r->self].at.device, call, strerror(errnum));
}

void rdma_blame_silence(struct rdma *r, struct rdma_rail *rail, struct net_fault *fault)
{
	const struct rdma_end *a = &rail->ends[0], *b = &rail->ends[1];

	rdma_blame(r, fault, OUTCOME_TIMED_OUT, MSG_rdma_stalled, a->node, a->at.device, b->node,
	           b->at.device, tmpf("%g", r->silence_s));
}

static void blame_error(struct rdma *r, struct rdma_rail *rail, struct error *err)
{
	if (err->status != ST_OK)
		rdma_blame(r, &rail->fault,
		           err->status == ST_UNSUPPORTED ? OUTCOME_FAILED : OUTCOME_NOT_MEASURED,
		           MSG_rdma_refused, rail->ends[r->self].node, str_text(&err->text));
	error_release(err);
}

/* --- opening ------------------------------------------------------------------------------------ */

static void make_memory(struct rdma *r, struct rdma_rail *rail)
{
	size_t bytes = rdma_memory_needed(r);
	void *at = NULL;

	if (rail->memory.at)
		return;
	if (posix_memalign(&at, PAGE, bytes) != 0)
		die_nomem();
	/* Touched where this thread runs: near the adapter, if it was put there. */
	memset(at, 0, bytes);
	rail->memory = (struct rdma_memory){
		.at = at, .bytes = bytes, .dmabuf = VERBS_HOST, .path = "host"};
}

static void make_device(struct rdma *r, struct rdma_rail *rail)
{
	const struct rdma_port *p = &rail->ends[r->self].at;
	struct rdma_memory *m = &rail->memory;
	struct error err = {0};
	enum status st = ST_OK;

	make_memory(r, rail);
	/* A port that is down needs no device to be named. */
	if (!rdma_port_active(p))
		return;
	st = verbs_device_open(&rail->dev, &r->verbs, r->ctx->arena, p->device, p->port, &err);
	if (st == ST_OK)
		st = verbs_memory(rail->dev, m->at, m->bytes, m->dmabuf, &err);
	if (st != ST_OK && rail->dev && m->dmabuf >= 0 && m->peermem) {
		error_release(&err);
		m->dmabuf = VERBS_CARD;
		m->path = "nvidia-peermem";
		st = verbs_memory(rail->dev, m->at, m->bytes, m->dmabuf, &err);
	}
	if (st == ST_OK)
		verbs_make_queues(rail->dev, r->most_qps + 1, r->depth, &err);
	blame_error(r, rail, &err);
}

static void put_device(struct rdma *r, struct json_out *j, struct rdma_rail *rail)
{
	const struct verbs_device *dev = rail->dev;

	if (!dev)
		return;
	json_put_int(j, "mtu", dev->mtu);
	json_put_int(j, "lid", dev->lid);
	json_put_bool(j, "grh", dev->grh_required);
	json_put_int(j, "reads", dev->reads);
	json_put_int(j, "served", dev->served);
	json_put_int(j, "inline", dev->inline_bytes);
	json_put_int(j, "psn", rail->psn);
	json_put_string(j, "card", rail->memory.card);
	json_put_int(j, "key", dev->key);
	json_put_string(j, "address", tmpf("%016llx", (unsigned long long)dev->address));
	json_array_begin(j, "qpn");
	for (int i = 0; i <= r->most_qps; i++)
		json_put_int(j, NULL, dev->qpn[i]);
	json_array_end(j);
}

static void hear_device(struct rdma *r, struct rdma_rail *rail, const cJSON *o)
{
	struct rdma_far *f = &rail->far;
	const cJSON *qpn;
	int n = 0;

	rail->ends[r->other].mtu = json_int(o, "mtu", 0);
	f->lid = json_int(o, "lid", 0);
	f->card = kept(r, o, "card");
	f->grh_required = json_bool(o, "grh", false);
	f->reads = json_int(o, "reads", 0);
	f->served = json_int(o, "served", 0);
	f->inline_bytes = json_int(o, "inline", 0);
	f->psn = (uint32_t)json_int64(o, "psn", 0);
	f->key = (uint32_t)json_int64(o, "key", 0);
	f->address = strtoull(json_string(o, "address", "0"), NULL, 16);
	cJSON_ArrayForEach(qpn, json_get(o, "qpn"))
	{
		if (n < VERBS_QPS_MOST)
			f->qpn[n++] = (uint32_t)talk_count(qpn, UINT32_MAX);
	}
	if (!rail->fault.reason.code && n <= r->most_qps && rail->dev)
		rdma_blame(r, &rail->fault, OUTCOME_NOT_MEASURED, MSG_rdma_peer_gone,
		           r->ctx->peers[r->self], r->ctx->peers[r->other], strerror(EPROTO));
}

static bool swap_devices(struct rdma *r, struct rdma_rail *rail)
{
	uint64_t random = r->seed ^ (uint64_t)r->step << 8 ^ (uint64_t)r->self;
	struct rdma_text t;
	struct json_doc doc;

	r->step++;
	rail->psn = (uint32_t)splitmix64(&random) & 0xffffff;
	rail->ends[r->self].mtu = rail->dev ? rail->dev->mtu : 0;
	rdma_text_begin(r, &t, &rail->fault);
	put_device(r, &t.j, rail);
	if (!rdma_text_send(r, &t) || !rdma_text_await(r, &doc, &rail->fault, r->silence_s))
		return false;
	hear_device(r, rail, doc.root);
	json_release(&doc);
	return true;
}

static int lesser(int a, int b)
{
	return a < b ? a : b;
}

static void connect_queues(struct rdma *r, struct rdma_rail *rail)
{
	const struct rdma_port *mine = &rail->ends[r->self].at, *theirs = &rail->ends[r->other].at;
	const struct rdma_far *far = &rail->far;
	struct verbs_route route = {
		.psn = far->psn,
		.own_psn = rail->psn,
		.lid = far->lid,
		.own_gid = mine->gid.index,
		.global = !mine->infiniband || rail->dev->grh_required || far->grh_required,
		.mtu = rail->mtu,
		.reads = lesser(rail->dev->reads, far->served),
		.served = lesser(rail->dev->served, far->reads),
		.traffic_class = r->traffic_class,
	};
	struct error err = {0};
	enum status st = ST_OK;

	rail->reads = route.reads;
	rail->inline_bytes = rail->dev->inline_bytes;
	rail->relaxed = rail->dev->relaxed;
	memcpy(route.gid, theirs->gid.raw, sizeof(route.gid));
	for (int i = 0; i <= r->most_qps && st == ST_OK; i++) {
		route.qpn = far->qpn[i];
		st = verbs_connect(rail->dev, i, &route, &err);
	}
	blame_error(r, rail, &err);
}

bool rdma_rail_open(struct rdma *r, struct rdma_rail *rail)
{
	make_device(r, rail);
	if (!swap_devices(r, rail))
		return false;
	/* Before what a device said: it may only say that its port is down. */
	rail->mismatch = rdma_ends_compare(r->ctx->arena, rail->ends);
	if (rail->mismatch.found && rail->mismatch.fatal) {
		rail->fault.reason.code = NULL;
		rdma_blame_list(r, &rail->fault, OUTCOME_FAILED, rail->mismatch.id,
		                rail->mismatch.args);
	}
	if (rail->fault.reason.code)
		return false;
	rail->mtu = lesser(rail->ends[0].mtu, rail->ends[1].mtu);
	rail->expected = fmin(rdma_expected_gbps(&rail->ends[0].at, rail->mtu),
	                      rdma_expected_gbps(&rail->ends[1].at, rail->mtu));
	connect_queues(r, rail);
	rail->up = rdma_agree(r, &rail->fault);
	return rail->up;
}

void rdma_rail_close(struct rdma_rail *rail)
{
	verbs_device_close(rail->dev);
	rail->dev = NULL;
	if (!rail->memory.write)
		free(rail->memory.at);
	rail->memory.at = NULL;
}
