/* Copies and fills: which engine or link they occupy, how long they take, and
 * the bytes themselves, moved when their virtual time has come. */
#include <math.h>
#include <string.h>

#include "tests/standin/standin.h"

struct copy {
	device_ptr to, from;
	size_t bytes;
	void *staged; /* pageable source, taken at the call as a driver does */
};

static double copy_cost(struct copy *c, double start, struct card *card)
{
	struct card *from = memory_card(c->from), *to = memory_card(c->to);
	double bytes = (double)c->bytes, least = start + node.copy_ns;

	if (from && to && from != to) {
		bool direct = from->peer[to->index] || to->peer[from->index];
		double rate = direct ? pair_rate(from, to, false)
		                     : fmin(from->rate[RATE_PCIE], to->rate[RATE_PCIE]) / 2;
		double end = card_end(from, RATE_NVLINK, start, bytes / rate);

		if (direct && links_between(from, to)) {
			from->sent += bytes;
			to->received += bytes;
		}
		return fmax(least, end);
	}
	if (from && to)
		return fmax(least, card_end(card, RATE_MEMORY, start,
		                            2 * bytes / card->rate[RATE_MEMORY]));
	return fmax(least, card_end(card, RATE_PCIE, start, bytes / card->rate[RATE_PCIE]));
}

static double run_copy(struct op *op, double start)
{
	struct copy *c = op->data;
	void *to = memory_card(c->to) ? memory_at(c->to, c->bytes) : (void *)(uintptr_t)c->to;
	const void *from = c->staged              ? c->staged
	                   : memory_card(c->from) ? memory_at(c->from, c->bytes)
	                                          : (const void *)(uintptr_t)c->from;
	bool tagged = memory_card(c->from) && memory_card(c->to);
	uint64_t tag = tagged ? content_tag(c->from, c->bytes) : 0;

	if (!to || !from) {
		op->stream->card->sticky = 700;
		return start;
	}
	if (tagged && content_is(c->to, c->bytes, tag))
		return copy_cost(c, start, op->stream->card);
	if (!tagged && memory_card(c->to))
		tag = content_digest(from, c->bytes);
	memmove(to, from, c->bytes);
	memory_wrote(c->to, c->bytes);
	if (memory_card(c->to))
		content_set(c->to, c->bytes, tag);
	return copy_cost(c, start, op->stream->card);
}

static void release_copy(struct op *op)
{
	struct copy *c = op->data;

	if (c->staged)
		host_free(c->staged);
}

static void choose_engines(struct op *op, struct card *from, struct card *to)
{
	struct card *own = op->stream->card;

	if (from && to && from == to) {
		op->uses[0] = &own->copy_free;
	} else if (from && to && node.nvswitch) {
		op->uses[0] = &from->out_free;
		op->uses[1] = &to->in_free;
	} else if (from && to) {
		op->uses[0] = &from->link_free[to->index];
	} else {
		op->uses[0] = from ? &own->host_out : &own->host_in;
	}
}

int copy_submit(struct stream *s, device_ptr to, device_ptr from, size_t bytes)
{
	struct card *from_card = memory_card(from), *to_card = memory_card(to);
	bool pageable_to = !to_card && !host_pinned((void *)(uintptr_t)to, bytes);
	struct op *op;
	struct copy *c;

	if (bytes == 0)
		return 0;
	if (!from_card && !to_card)
		return 1;
	if ((from_card && !memory_at(from, bytes)) || (to_card && !memory_at(to, bytes)))
		return 1;
	op = op_new(s, run_copy, sizeof(*c));
	c = op->data;
	*c = (struct copy){to, from, bytes, NULL};
	op->release = release_copy;
	if (!from_card && !host_pinned((void *)(uintptr_t)from, bytes)) {
		c->staged = host_alloc(bytes);
		memcpy(c->staged, (void *)(uintptr_t)from, bytes);
	}
	choose_engines(op, from_card, to_card);
	op_submit(op);
	/* The call returns when pageable memory has its bytes. */
	if (pageable_to)
		stream_wait(s);
	return 0;
}

struct fill {
	device_ptr to;
	uint32_t value;
	size_t width, count;
};

static double run_fill(struct op *op, double start)
{
	struct fill *f = op->data;
	struct card *card = op->stream->card;
	size_t bytes = f->width * f->count;
	uint64_t tag = hash64(hash64(f->value, f->width), bytes);
	unsigned char *to = memory_at(f->to, bytes);

	if (!to) {
		card->sticky = 700;
		return start;
	}
	if (!content_is(f->to, bytes, tag)) {
		if (f->width == 1)
			memset(to, (int)f->value, bytes);
		for (size_t i = 0; f->width == 4 && i < f->count; i++)
			memcpy(to + 4 * i, &f->value, 4);
		memory_wrote(f->to, bytes);
		content_set(f->to, bytes, tag);
	}
	return card_end(card, RATE_MEMORY, start, (double)bytes / card->rate[RATE_MEMORY]);
}

int fill_submit(struct stream *s, device_ptr to, uint32_t value, size_t width, size_t count)
{
	struct op *op;

	if (count == 0)
		return 0;
	if (to % width || !memory_at(to, width * count))
		return 1;
	op = op_new(s, run_fill, sizeof(struct fill));
	*(struct fill *)op->data = (struct fill){to, value, width, count};
	op->uses[0] = &s->card->sm_free;
	op_submit(op);
	return 0;
}
