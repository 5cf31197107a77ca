/* A node's part of collective_nodes: what it brings along, and which of the two ways
 * carries an order out. */
#include <math.h>

#include "base/clock.h"
#include "collective_nodes.h"
#include "hw/rdma_ports.h"

/* Ports of the fastest kind that are up on real adapters, at most one a card: others
 * are there for storage and management. How many carry NCCL's traffic is the
 * environment's choice; `nics` says it where this guess is wrong. */
static void count_nics(struct nodes_bench *b)
{
	struct nodes_hello *h = &b->hello;
	int count, told = (int)b->ctx->param_int(b->ctx, "nics");
	const struct rdma_port *ports = rdma_ports_read(b->ctx->arena, b->ctx->sys_root, &count);
	double fastest = 0;

	h->nic_gbs = NAN;
	for (int i = 0; i < count; i++)
		if (ports[i].pci && rdma_port_active(&ports[i]) && ports[i].gbps > fastest)
			fastest = ports[i].gbps;
	for (int i = 0; i < count; i++)
		h->nics += ports[i].pci && rdma_port_active(&ports[i]) && ports[i].gbps >= fastest;
	if (h->nics > h->n_cards)
		h->nics = h->n_cards;
	if (told > 0)
		h->nics = told;
	if (fastest > 0)
		h->nic_gbs = fastest / 8;
}

void nodes_open(struct nodes_bench *b)
{
	b->clock = b->ctx->clock;
	b->deadline_ns = b->ctx->deadline_ns;
	b->hello = (struct nodes_hello){.driver = cards_have_driver(b->ctx), .memory_scale = 1};
	if (b->hello.driver)
		nodes_cards_open(b);
	count_nics(b);
	b->hello.simulated = b->ctx->simulated;
}

void nodes_do(struct nodes_bench *b, const struct nodes_order *order, struct nodes_answer *answer)
{
	*answer = (struct nodes_answer){.blamed = -1, .seconds = NAN};
	if (order->step == NODES_BEGIN)
		b->ring = order->ring;
	if (b->ring)
		nodes_ring_do(b, order, answer);
	else
		nodes_cards_do(b, order, answer);
}

void nodes_end(struct nodes_bench *b)
{
	nodes_ring_end(b);
	nodes_cards_end(b);
}

double nodes_left_s(const struct nodes_bench *b)
{
	return (double)(b->deadline_ns - clock_now(b->clock)) / 1e9;
}
