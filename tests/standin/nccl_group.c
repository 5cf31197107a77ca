/* The double of libnccl: groups, sends and receives. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/nccl.h"

static _Thread_local int group_depth;

/* All of a group on one stream go together: none waits for another. */
struct batch_item {
	struct batch_item *next;
	bool send;
	int peer;
	device_ptr at;
	size_t bytes;
	uint64_t number;
	bool here;
};

struct batch {
	struct batch *next; /* of the group being filled */
	struct comm *comm;
	struct stream *stream;
	struct batch_item *items;
};

static _Thread_local struct batch *group;

static struct channel *channel_of(const struct comm *c, const struct batch_item *i)
{
	return i->send ? &c->world->channels[c->rank][i->peer]
	               : &c->world->channels[i->peer][c->rank];
}

/* Leaves its bytes, or its wish; true when the other side has come too. */
static bool item_ready(const struct comm *c, struct batch_item *i, double *start)
{
	struct channel *ch = channel_of(c, i);

	if (i->send && !i->here && shared_get(&ch->received) + 1 == i->number) {
		uint64_t tag = content_tag(i->at, i->bytes);

		if (ch->tag != tag || ch->bytes != i->bytes)
			memcpy(world_channel_bytes(c->world, c->ranks, c->rank, i->peer),
			       memory_at(i->at, i->bytes), i->bytes);
		ch->tag = tag;
		ch->bytes = i->bytes;
		ch->sent_at = *start;
		ch->rate = bus_rate(c);
		ch->node = this_node();
		ch->card = (uint64_t)c->card->index;
		shared_set(&ch->sent, i->number);
		i->here = true;
	} else if (!i->send && !i->here && shared_get(&ch->wanted) + 1 == i->number) {
		ch->wanted_at[i->number % 2] = *start;
		shared_set(&ch->wanted, i->number);
		i->here = true;
	}
	if (!i->here || shared_get(i->send ? &ch->wanted : &ch->sent) < i->number)
		return false;
	*start = fmax(*start, i->send ? ch->wanted_at[i->number % 2] : ch->sent_at);
	return true;
}

static bool batch_ready(struct op *op, double *start)
{
	struct batch *b = op->data;
	double own = *start;
	bool all = true;

	if (b->comm->gone)
		return true;
	for (struct batch_item *i = b->items; b->comm->world && i; i = i->next) {
		double at = own;

		all &= item_ready(b->comm, i, &at);
		*start = fmax(*start, at);
	}
	return all && b->comm->world;
}

static void take(struct comm *c, const struct batch_item *i)
{
	struct channel *ch = channel_of(c, i);
	void *to = memory_at(i->at, i->bytes);

	if (ch->bytes != i->bytes || !to)
		c->error = comm_fail(NCCL_INVALID_USAGE, "sent and received sizes differ");
	else if (!content_is(i->at, i->bytes, ch->tag)) {
		memcpy(to, world_channel_bytes(c->world, c->ranks, i->peer, c->rank), i->bytes);
		memory_wrote(i->at, i->bytes);
		content_set(i->at, i->bytes, ch->tag);
	}
	shared_set(&ch->received, i->number);
}

static double batch_run(struct op *op, double start)
{
	struct batch *b = op->data;
	struct comm *c = b->comm;
	double out = 0, in = 0, rate = bus_rate(c);

	if (c->gone)
		return start;
	for (struct batch_item *i = b->items; i; i = i->next) {
		if (i->peer != c->rank)
			*(i->send ? &out : &in) += (double)i->bytes;
		if (!i->send) {
			const struct channel *ch = channel_of(c, i);
			bool near = ch->node == this_node();

			rate = fmin(rate,
			            ch->rate *
			                    (near ? hop_share((int)ch->card, c->card->index) : 1));
			take(c, i);
		}
	}
	return card_end(c->card, RATE_COLLECTIVE, start,
	                fmax(node.collective_ns, fmax(out, in) / rate));
}

static void batch_release(struct op *op)
{
	struct batch *b = op->data;

	for (struct batch_item *i = b->items, *next; i; i = next) {
		next = i->next;
		free(i);
	}
}

static void submit_group(void)
{
	for (struct batch *b = group, *next; b; b = next) {
		struct op *op = op_new(b->stream, batch_run, sizeof(*b));

		next = b->next;
		*(struct batch *)op->data = *b;
		op->ready = batch_ready;
		op->release = batch_release;
		op_submit(op);
		free(b);
	}
	group = NULL;
}

static struct batch *batch_for(struct comm *c, struct stream *s)
{
	struct batch *b = group;

	while (b && (b->comm != c || b->stream != s))
		b = b->next;
	if (!b) {
		b = calloc(1, sizeof(*b));
		if (!b)
			node_bad("out of memory");
		*b = (struct batch){group, c, s, NULL};
		group = b;
	}
	return b;
}

static int item(const char *call, bool send, const void *at, size_t count, int type, int peer,
                nccl_comm comm, cu_stream stream)
{
	struct comm *c;
	struct stream *s;
	int result = comm_enter(call, comm, &c);
	size_t bytes = count * nccl_type_bytes(type);
	struct batch_item *i;
	struct batch *b;

	if (!result && (bytes == 0 || peer < 0 || peer >= c->ranks))
		result = comm_fail(NCCL_INVALID_ARGUMENT, "no such type or peer");
	if (!result)
		result = comm_check(c, at, at, bytes, bytes, stream, &s);
	if (!result) {
		i = calloc(1, sizeof(*i));
		if (!i)
			node_bad("out of memory");
		b = batch_for(c, s);
		*i = (struct batch_item){b->items, send,
		                         peer,     (device_ptr)(uintptr_t)at,
		                         bytes,    send ? ++c->sends[peer] : ++c->receives[peer],
		                         false};
		b->items = i;
		if (!group_depth)
			submit_group();
	}
	return machine_leave(result);
}

nccl_result ncclSend(const void *from, size_t count, nccl_type type, int peer, nccl_comm comm,
                     cu_stream stream)
{
	return item("ncclSend", true, from, count, type, peer, comm, stream);
}

nccl_result ncclRecv(void *to, size_t count, nccl_type type, int peer, nccl_comm comm,
                     cu_stream stream)
{
	return item("ncclRecv", false, to, count, type, peer, comm, stream);
}

nccl_result ncclGroupStart(void)
{
	int result = machine_enter("ncclGroupStart", NULL);

	group_depth++;
	return machine_leave(result);
}

nccl_result ncclGroupEnd(void)
{
	int result = machine_enter("ncclGroupEnd", NULL);

	if (group_depth == 0)
		return machine_leave(comm_fail(NCCL_INVALID_USAGE, "no group was begun"));
	if (--group_depth == 0)
		submit_group();
	return machine_leave(result);
}
