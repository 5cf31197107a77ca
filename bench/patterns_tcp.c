/* A pattern over TCP, with the streams of the probe net: who receives listens and
 * counts, each sender by itself, by one clock for all. Blocks are numbered and compared
 * as there. */
#include "patterns.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define STREAM_BITS 8
#define CONNECT_S   1 /* for each address */

static int64_t until(const struct patterns_node *n, double seconds)
{
	int64_t at = clock_now(n->ctx->clock) + (int64_t)(seconds * 1e9);

	return at < n->ctx->deadline_ns ? at : n->ctx->deadline_ns;
}

static struct net_streams *streams_new(const struct patterns_node *n, int sender)
{
	return net_streams_new(n->ctx->arena, n->streams, n->block, n->seed + (uint64_t)sender + 1);
}

void patterns_tcp_prepare(struct patterns_node *n)
{
	struct probe_ctx *ctx = n->ctx;
	int failed = n->mine.count ? 0 : EADDRNOTAVAIL;

	n->offer = (struct net_offer){.addresses = n->mine};
	if (!failed && n->n_in)
		failed = net_listen(&n->listener, &n->offer.port, n->only);
	if (!failed && n->n_in && !net_offer_tokens(&n->offer))
		failed = EAGAIN;
	if (failed)
		net_fault_set(ctx, &n->fault, OUTCOME_NOT_MEASURED, MSG_patterns_no_listen,
		              ctx->peers[ctx->self_index], strerror(failed));
}

/* --- connecting -------------------------------------------------------------------------- */

static int dial(struct patterns_node *n, const struct net_address *to, int number)
{
	struct patterns_peer *p = &n->out;
	const struct net_address *from =
		n->only ? net_address_of(&n->mine, to->at.any.sa_family) : NULL;
	uint64_t name = (uint64_t)n->ctx->self_index << STREAM_BITS | (uint64_t)number;
	int fd = -1, failed;

	if (n->only && !from)
		return EADDRNOTAVAIL;
	failed = net_connect(&fd, to, p->offer.port, from, n->ctx->clock, until(n, CONNECT_S));
	if (!failed)
		failed = net_frame_send(fd, NET_STREAM, name, p->offer.token);
	if (!failed && !net_streams_set(p->streams, (uint64_t)number, fd))
		failed = EINVAL;
	if (failed && fd >= 0)
		close(fd);
	return failed;
}

/* The first address that answers carries all streams. */
static void connect_out(struct patterns_node *n)
{
	struct net_addresses *theirs = &n->out.offer.addresses;
	struct str tried = {0};
	int at = 0, failed = EADDRNOTAVAIL;

	n->out.streams = streams_new(n, n->ctx->self_index);
	net_addresses_order(theirs, &n->mine);
	for (; at < theirs->count; at++) {
		failed = dial(n, &theirs->list[at], 0);
		if (!failed)
			break;
		net_tried_add(&tried, at, &theirs->list[at], failed);
	}
	for (int i = 1; i < n->streams && !failed; i++) {
		failed = dial(n, &theirs->list[at], i);
		if (failed)
			net_tried_add(&tried, 0, &theirs->list[at], failed);
	}
	if (failed)
		net_fault_set(n->ctx, &n->fault, OUTCOME_NOT_MEASURED, MSG_net_no_peer,
		              n->ctx->peers[n->ctx->self_index], n->ctx->peers[n->out.node],
		              tried.len ? tried.data : strerror(failed));
	str_release(&tried);
}

static struct patterns_peer *sender_of(struct patterns_node *n, uint64_t name)
{
	for (int i = 0; i < n->n_in; i++)
		if ((uint64_t)n->in[i].node == name >> STREAM_BITS)
			return &n->in[i];
	return NULL;
}

static void accept_in(struct patterns_node *n)
{
	const struct clock_source *clock = n->ctx->clock;
	int64_t end = until(n, n->silence_s);
	int have = 0, failed = 0;

	for (int i = 0; i < n->n_in; i++)
		n->in[i].streams = streams_new(n, n->in[i].node);
	while (have < n->n_in * n->streams && !failed) {
		struct net_frame hello;
		struct patterns_peer *p;
		int fd;

		failed = net_accept(n->listener, &fd, &hello, n->offer.token, clock, end);
		if (failed)
			break;
		p = hello.kind == NET_STREAM ? sender_of(n, hello.number) : NULL;
		if (p && net_streams_set(p->streams, hello.number & ((1 << STREAM_BITS) - 1), fd))
			have++;
		else
			close(fd);
	}
	if (failed)
		net_fault_set(n->ctx, &n->fault, OUTCOME_NOT_MEASURED, MSG_patterns_not_met,
		              n->ctx->peers[n->ctx->self_index], tmpf("%d", have),
		              tmpf("%d", n->n_in * n->streams), tmpf("%d", n->n_in),
		              strerror(failed));
}

/* All connect before they look who came: the kernel takes connections in meanwhile. */
void patterns_tcp_connect(struct patterns_node *n)
{
	if (n->sends)
		connect_out(n);
	if (n->n_in && !n->fault.reason.code)
		accept_in(n);
}

/* --- measuring ------------------------------------------------------------------------------ */

static void start(struct patterns_node *n)
{
	int failed = 0;

	for (int i = 0; i < n->n_in && !failed; i++)
		failed = net_streams_start(n->in[i].streams, false);
	if (n->sends && !failed)
		failed = net_streams_start(n->out.streams, true);
	if (failed)
		net_fault_set(n->ctx, &n->fault, OUTCOME_NOT_MEASURED, MSG_patterns_no_listen,
		              n->ctx->peers[n->ctx->self_index], strerror(failed));
}

static void wait_until(struct patterns_node *n, int64_t at)
{
	for (int64_t left = at - clock_now(n->ctx->clock); left > 0;
	     left = at - clock_now(n->ctx->clock))
		clock_sleep(n->ctx->clock, left);
}

static void look_at(struct patterns_node *n, struct patterns_peer *p)
{
	const char *const *peers = n->ctx->peers;
	const char *self = peers[n->ctx->self_index];
	int broken = net_streams_broken(p->streams);
	struct net_wrong w;

	if (net_streams_wrong(p->streams, &w))
		net_fault_set(n->ctx, &p->fault, OUTCOME_FAILED, MSG_net_wrong, peers[p->node],
		              self, tmpf("%llu", (unsigned long long)w.block), tmpf("%d", w.stream),
		              tmpf("%zu", w.at));
	else if (broken)
		net_fault_set(n->ctx, &p->fault, OUTCOME_NOT_MEASURED, MSG_net_peer_gone, self,
		              peers[p->node], strerror(broken));
	else if (p->bytes == 0)
		net_fault_set(n->ctx, &p->fault, OUTCOME_TIMED_OUT, MSG_net_stalled, peers[p->node],
		              self, tmpf("%.1f", (double)p->ns / 1e9));
}

/* Whether all have sent since `bytes` of theirs was noted, negative. */
static bool all_moved(const struct patterns_node *n)
{
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i].bytes + (int64_t)net_streams_bytes(n->in[i].streams) <= 0)
			return false;
	return true;
}

/* A flow that many others hold up for as long as it is measured still has a rate: it is
 * waited for, as long as for one that is silent. */
static void count_in(struct patterns_node *n)
{
	const struct clock_source *clock = n->ctx->clock;
	int64_t begin = clock_now(clock), end = begin + (int64_t)(n->silence_s * 1e9);

	for (int i = 0; i < n->n_in; i++) {
		n->in[i].bytes = -(int64_t)net_streams_bytes(n->in[i].streams);
		n->in[i].ns = -clock_now(clock);
	}
	wait_until(n, begin + (int64_t)(n->seconds * 1e9));
	while (!all_moved(n) && clock_now(clock) < end)
		clock_sleep(clock, NS_PER_MS);
	for (int i = 0; i < n->n_in; i++) {
		n->in[i].bytes += (int64_t)net_streams_bytes(n->in[i].streams);
		n->in[i].ns += clock_now(clock);
		look_at(n, &n->in[i]);
	}
}

void patterns_tcp_measure(struct patterns_node *n)
{
	struct net_tcp tcp;

	start(n);
	if (n->fault.reason.code)
		return;
	wait_until(n, clock_now(n->ctx->clock) + (int64_t)(n->ramp_s * 1e9));
	count_in(n);
	if (n->sends) {
		net_streams_tcp(n->out.streams, &tcp);
		n->out.retransmits = tcp.retransmits;
	}
}

void patterns_tcp_finish(struct patterns_node *n)
{
	if (n->out.streams)
		net_streams_end(n->out.streams);
	for (int i = 0; i < n->n_in; i++) {
		if (n->in[i].streams)
			net_streams_end(n->in[i].streams);
		n->in[i].streams = NULL;
	}
	n->out.streams = NULL;
	if (n->listener >= 0)
		close(n->listener);
	n->listener = -1;
}
