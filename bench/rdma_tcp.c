/* TCP between the same two nodes in the same minute, with the means of the probe net:
 * what RDMA has to be better than. */
#include "rdma.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define STREAMS 4
#define BLOCK   ((size_t)128 << 10)
#define RAMP_S  0.2
#define MEET_S  5
#define TEXT_S  2

static struct net net_of(struct rdma *r)
{
	struct net n = {.ctx = r->ctx,
	                .self = r->self,
	                .other = r->other,
	                .streams = STREAMS,
	                .block = BLOCK,
	                .seconds = r->tcp_s,
	                .ramp_s = RAMP_S,
	                .silence_s = r->silence_s,
	                .meet_s = MEET_S,
	                .listener = -1,
	                .control = -1,
	                .seed = r->seed};

	for (int d = 0; d < 2; d++)
		n.flows[d] = (struct net_flow){.cpu_s = {NAN, NAN}, .tcp.retransmits = -1};
	n.mine = net_addresses_read(r->ctx->arena, r->ctx->sys_root, NULL);
	n.offer.addresses = n.mine;
	return n;
}

/* The second's half of it, for the first. */
static void exchange(struct rdma *r, struct net *n)
{
	const char *text;

	if (r->self == 1 && (n->ends[1].text || n->trouble.reason.code))
		net_tell(n);
	if (r->self == 0 && !n->heard &&
	    (r->ctx->recv_text(r->ctx, r->other, r->silence_s + TEXT_S, &text) != ST_OK ||
	     !net_hear(n, text)))
		net_blame(n, &n->trouble, OUTCOME_NOT_MEASURED, MSG_net_peer_gone, r->ctx->peers[0],
		          r->ctx->peers[1], strerror(ETIMEDOUT));
}

static void take(struct rdma *r, const struct net *n)
{
	r->tcp_fault = n->trouble;
	for (int d = 0; d < 2 && !r->tcp_fault.reason.code; d++) {
		const struct net_flow *f = &n->flows[d];
		const struct net_point *last;

		if (f->fault.reason.code)
			r->tcp_fault = f->fault;
		if (f->fault.reason.code || f->n_points < 2)
			continue;
		last = &f->points[f->n_points - 1];
		if (last->ns <= 0)
			continue;
		r->tcp_gbps[d] = 8 * (double)last->bytes / (double)last->ns;
		r->tcp_cpu_s_per_gb[d] = (f->cpu_s[0] + f->cpu_s[1]) / ((double)last->bytes / 1e9);
	}
}

void rdma_tcp(struct rdma *r)
{
	struct net n = net_of(r);
	bool going = net_meet(&n);

	for (int d = 0; d < 2 && going; d++)
		going = net_flow(&n, d);
	if (n.trouble.reason.code && n.control >= 0) {
		close(n.control);
		n.control = -1;
	}
	exchange(r, &n);
	if (n.control >= 0)
		close(n.control);
	if (n.listener >= 0)
		close(n.listener);
	take(r, &n);
}
