/* What inventory says of a node's RDMA ports, without another node: how many are up,
 * and by which way an adapter reaches the memory of a card. */
#include <math.h>
#include <stdlib.h>

#include "hw/host.h"
#include "hw/rdma_ports.h"
#include "inventory.h"

/* dma-buf of NVIDIA's memory came with this driver, in the open kernel module only. */
#define DMABUF_DRIVER 515

static struct reading reading_of(struct probe_ctx *ctx, const char *metric)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = SUBJECT_NODE;
	r.subject.id = ctx->node;
	return r;
}

static const char *list_ports(struct probe_ctx *ctx, const struct rdma_port *ports, int count)
{
	struct json_text t = json_text_begin();

	json_array_begin(&t.j, "ports");
	for (int i = 0; i < count; i++) {
		const struct rdma_port *p = &ports[i];

		json_object_begin(&t.j, NULL);
		json_put_string(&t.j, "device", p->device);
		json_put_int(&t.j, "port", p->port);
		json_put_bool(&t.j, "software", p->pci == NULL);
		json_put_string(&t.j, "pci", p->pci);
		json_put_known(&t.j, "numa", p->numa_node);
		json_put_string(&t.j, "state", p->state);
		json_put_string(&t.j, "link_layer", p->link_layer);
		json_put_string(&t.j, "rate", p->rate);
		if (p->gid.index >= 0) {
			json_put_int(&t.j, "gid_index", p->gid.index);
			json_put_string(&t.j, "gid", rdma_gid_text(ctx->arena, p->gid.raw));
			json_put_string(&t.j, "gid_type", rdma_gid_type_name(p->gid.type));
		}
		json_object_end(&t.j);
	}
	json_array_end(&t.j);
	return json_text_end(&t, ctx->arena);
}

/* Outcome and reason where there is no adapter to speak of. */
static bool has_hardware(struct probe_ctx *ctx, struct reading *r, const struct rdma_port *ports,
                         int count)
{
	for (int i = 0; i < count; i++)
		if (ports[i].pci)
			return true;
	if (count < 0) {
		r->outcome = OUTCOME_NOT_MEASURED;
		reason_set(ctx, &r->reason, MSG_host_unreadable, "/sys/class/infiniband");
	} else {
		r->outcome = OUTCOME_UNSUPPORTED;
		reason_set(ctx, &r->reason, MSG_rdma_no_device, ctx->node);
	}
	return false;
}

static enum status emit_active(struct probe_ctx *ctx, const struct rdma_port *ports, int count)
{
	struct reading r = reading_of(ctx, "rdma_ports_active");

	r.params = list_ports(ctx, ports, count);
	if (has_hardware(ctx, &r, ports, count)) {
		r.value_kind = VALUE_NUMBER;
		for (int i = 0; i < count; i++)
			r.value += ports[i].pci && rdma_port_active(&ports[i]);
	}
	return ctx->emit(ctx, &r);
}

static enum status emit_path(struct probe_ctx *ctx, const struct rdma_port *ports, int count)
{
	struct host_nvidia nv = host_nvidia_read(ctx->arena, ctx->sys_root);
	bool dmabuf = nv.open_module == 1 && nv.driver && atoi(nv.driver) >= DMABUF_DRIVER;
	struct reading r = reading_of(ctx, "rdma_gpu_path");

	if (!has_hardware(ctx, &r, ports, count))
		return ctx->emit(ctx, &r);
	if (nv.n_cards <= 0) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(ctx, &r.reason, MSG_rdma_gpu_no_card, ctx->node);
	} else if (dmabuf || nv.peermem) {
		r.value_kind = VALUE_TEXT;
		r.text = dmabuf ? "dma-buf" : "nvidia-peermem";
	} else {
		r.outcome = OUTCOME_UNSUPPORTED;
		reason_set(ctx, &r.reason, MSG_rdma_no_gpudirect, ctx->node,
		           say(MSG_rdma_gpu_path_missing));
	}
	return ctx->emit(ctx, &r);
}

enum status inventory_rdma_ports(struct probe_ctx *ctx)
{
	int count;
	const struct rdma_port *ports = rdma_ports_read(ctx->arena, ctx->sys_root, &count);
	enum status st = emit_active(ctx, ports, count);

	return st == ST_OK ? emit_path(ctx, ports, count) : st;
}
