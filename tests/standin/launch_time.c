/* How long kernels take, and those whose result is a time: the spin that holds
 * a queue back, pauses of the SMs, the chase and the ping-pong of flags. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/kernel.h"

/* --- memory and links ------------------------------------------------------------------- */

/* Traffic of each pointer goes to the own memory or over the link to a peer. */
static double wide_end(const struct launch *l, double start)
{
	struct card *own = l->card;
	double local = 0, end = start;

	for (int i = 0; i < l->n_args; i++) {
		char letter = l->kernel->sig[i];
		struct card *at = memory_card(l->arg[i].l);
		double bytes = (double)l->bytes[i], rate;

		if (!strchr("rwx", letter))
			continue;
		/* A check that rewrites moves its bytes twice. */
		if (letter == 'x' && l->arg[6].u)
			bytes *= 2;
		if (!at || at == own) {
			local += bytes;
			continue;
		}
		rate = letter == 'r' ? pair_rate(at, own, true) : pair_rate(own, at, true);
		end = fmax(end, card_end(own, RATE_NVLINK, start, bytes / rate));
		if (links_between(own, at)) {
			*(letter == 'r' ? &at->sent : &own->sent) += bytes;
			*(letter == 'r' ? &own->received : &at->received) += bytes;
		}
	}
	return fmax(end, card_end(own, RATE_MEMORY, start, local / own->rate[RATE_MEMORY]));
}

static void use_links(struct op *op, const struct launch *l)
{
	int n = 1;

	for (int i = 0; i < l->n_args && n < 3; i++) {
		struct card *at = memory_card(l->arg[i].l), *own = l->card, *from, *to;

		if (!strchr("rwx", l->kernel->sig[i]) || !at || at == own)
			continue;
		from = l->kernel->sig[i] == 'r' ? at : own;
		to = from == at ? own : at;
		op->uses[n++] = node.nvswitch ? (from == own ? &own->out_free : &own->in_free)
		                              : &from->link_free[to->index];
	}
}

/* --- spin -------------------------------------------------------------------------------- */

static double limit_ns(const struct launch *l)
{
	return (double)l->arg[l->kernel->kind == SPIN ? 2 : 4].l;
}

static bool spin_ready(struct op *op, double *start)
{
	struct launch *l = op->data;
	const volatile u32 *flag = memory_at(l->arg[0].l, 4);

	if (!flag || *flag == l->arg[1].u) {
		l->seen = host_now;
		return true;
	}
	l->expired = host_now >= *start + limit_ns(l);
	return l->expired;
}

/* For both that wait: since when is in the stream. */
static double gives_up(struct op *op)
{
	return fmax(op->stream->tail, op->enqueued) + limit_ns(op->data) + 1;
}

static double spin_run(struct launch *l, double start)
{
	u32 *expired = memory_at(l->arg[3].l, 4);

	if (!l->expired)
		return fmax(start, l->seen);
	if (expired)
		*expired = 1;
	return start + limit_ns(l);
}

/* --- ping-pong ----------------------------------------------------------------------------- */

static struct waiting {
	struct waiting *next;
	struct launch *launch;
	double start;
} * waiting;

/* Two launches meet when each one's flag is the other's. */
static struct waiting *partner_of(const struct launch *l)
{
	for (struct waiting *w = waiting; w; w = w->next)
		if (w->launch->arg[0].l == l->arg[1].l && w->launch->arg[1].l == l->arg[0].l &&
		    w->launch->arg[3].u != l->arg[3].u)
			return w;
	return NULL;
}

static void leave_waiting(const struct launch *l)
{
	for (struct waiting **w = &waiting; *w; w = &(*w)->next)
		if ((*w)->launch == l) {
			struct waiting *gone = *w;

			*w = gone->next;
			free(gone);
			return;
		}
}

static void pingpong_release(struct op *op)
{
	leave_waiting(op->data);
}

static bool pingpong_ready(struct op *op, double *start)
{
	struct launch *l = op->data;
	struct waiting *partner = partner_of(l);

	if (!l->there) {
		struct waiting *w = calloc(1, sizeof(*w));

		if (!w)
			node_bad("out of memory");
		*w = (struct waiting){waiting, l, *start};
		waiting = w;
		l->there = true;
	}
	/* What the partner leaves when it has run: the common start. */
	if (l->seen > 0) {
		*start = fmax(*start, l->seen);
		return true;
	}
	if (partner) {
		*start = fmax(*start, partner->start);
		return true;
	}
	l->expired = host_now >= *start + limit_ns(l);
	return l->expired;
}

static void write_span(const struct launch *l, device_ptr to, double ns, u64 value)
{
	struct kernel_span *span = memory_at(to, sizeof(*span));

	*span = (struct kernel_span){(u64)(ns * l->card->is.sm_clock_mhz / 1000), (u64)ns, value};
	memory_wrote(to, sizeof(*span));
}

static double pingpong_run(struct launch *l, double start)
{
	struct waiting *partner = partner_of(l);
	struct card *mine = memory_card(l->arg[0].l), *theirs = memory_card(l->arg[1].l);
	u64 rounds = l->expired ? 0 : l->arg[2].l;
	double way = mine == theirs                                  ? node.chase_local_ns
	             : mine && theirs && links_between(mine, theirs) ? node.flag_ns
	                                                             : 2 * node.flag_ns;
	double ns = 2 * way * (double)rounds;

	if (partner)
		partner->launch->seen = start;
	*(u64 *)memory_at(l->arg[0].l, 8) = rounds + !l->expired;
	memory_wrote(l->arg[0].l, 8);
	write_span(l, l->arg[5].l, l->expired ? limit_ns(l) : ns, rounds);
	return start + (l->expired ? limit_ns(l) : ns);
}

/* --- chase, FMA, gaps ------------------------------------------------------------------------ */

static double chase_run(const struct launch *l, double start)
{
	struct card *at = memory_card(l->arg[0].l);
	double hop = !at || at == l->card ? node.chase_local_ns : node.chase_peer_ns;
	u64 line = 0;

	/* Followed with a look at every address: a bad ring ends as it would. */
	for (u64 i = 0; i < l->arg[1].l; i++) {
		const u64 *word = memory_at(l->arg[0].l + 128 * line, 8);

		if (!word) {
			l->card->sticky = 700;
			return start;
		}
		line = *word;
	}
	write_span(l, l->arg[2].l, hop * (double)l->arg[1].l, line);
	return start + hop * (double)l->arg[1].l;
}

static double fma_run(const struct launch *l, double start)
{
	bool wide = l->kernel->align == 8;
	enum rate rate = wide ? RATE_FP64 : RATE_FP32;
	u64 threads = (u64)l->blocks * l->threads;
	double flop = 2.0 * KERNEL_FMA_CHAINS * (double)l->arg[1].l * (double)threads, end;
	unsigned char *out = memory_at(l->arg[0].l, l->bytes[0]);
	union arg at[MAX_ARGS];
	struct kernel_span span;

	/* All threads compute the same: once is enough. */
	memcpy(at, l->arg, sizeof(at));
	at[0].l = (uintptr_t)out;
	at[4].l = (uintptr_t)&span;
	launch_place(0);
	l->kernel->run(at);
	for (size_t done = l->kernel->align; done < l->bytes[0]; done *= 2)
		memcpy(out + done, out, done < l->bytes[0] - done ? done : l->bytes[0] - done);
	memory_wrote(l->arg[0].l, l->bytes[0]);
	end = card_end(l->card, rate, start, flop / l->card->rate[rate]);
	for (unsigned b = 0; b < l->blocks; b++)
		write_span(l, l->arg[4].l + b * sizeof(span), end - start,
		           l->card->is.sm_count ? b % (unsigned)l->card->is.sm_count : 0);
	return end;
}

/* When one that is launched in somebody else's slice comes to run. */
static double own_slice(const struct fault *f, double t)
{
	double period = f->period_s * 1e9, at = fmod(t, period);

	return at < period * f->factor ? t : t + period - at;
}

/* Others' slices are pauses, seen by all SMs and only from their end on, which
 * may be past the time that was asked for. Returns when the watch ended. */
static double find_gaps(const struct launch *l, struct kernel_gaps *g, struct kernel_gap *rows,
                        const struct fault *f, double start)
{
	double mhz = l->card->is.sm_clock_mhz, end = start + (double)l->arg[3].l;
	double period = f->period_s * 1e9, pause = period * (1 - f->factor);
	u64 cycles = (u64)(pause * mhz / 1000);

	for (double t = (floor(start / period) + f->factor) * period; t < end; t += period) {
		end = fmax(end, t + pause);
		if (cycles <= l->arg[4].l)
			continue;
		if (g->gaps < l->arg[2].l)
			rows[g->gaps] = (struct kernel_gap){(u64)(t + pause), cycles};
		g->gaps++;
		g->gap_cycles += cycles;
		g->longest_cycles = cycles;
	}
	return end;
}

static double gaps_run(const struct launch *l, double start)
{
	const struct fault *f = fault_of(FAULT_TIME_SLICED, l->card->index);
	struct kernel_gaps *all = memory_at(l->arg[0].l, l->bytes[0]);
	struct kernel_gap *rows = memory_at(l->arg[1].l, l->bytes[1]);
	double mhz = l->card->is.sm_clock_mhz, end;

	if (f)
		start = own_slice(f, start);
	end = start + (double)l->arg[3].l;
	for (unsigned b = 0; b < l->blocks; b++) {
		struct kernel_gaps *g = &all[b];

		*g = (struct kernel_gaps){
			.sm = l->card->is.sm_count ? b % (unsigned)l->card->is.sm_count : 0,
			.start_ns = (u64)start,
			.reads = (u64)((double)l->arg[3].l / 30),
		};
		if (f)
			end = find_gaps(l, g, rows ? rows + b * l->arg[2].l : NULL, f, start);
		g->span_ns = (u64)(end - start);
		g->span_cycles = (u64)((end - start) * mhz / 1000);
	}
	memory_wrote(l->arg[0].l, l->bytes[0]);
	memory_wrote(l->arg[1].l, l->bytes[1]);
	return end;
}

/* --- for launch.c ----------------------------------------------------------------------------- */

void launch_prepare(struct op *op)
{
	struct launch *l = op->data;

	switch (l->kernel->kind) {
	case SPIN:
		op->ready = spin_ready;
		op->expires = gives_up;
		break;
	case PINGPONG:
		op->ready = pingpong_ready;
		op->release = pingpong_release;
		op->expires = gives_up;
		break;
	case CHASE:
		break;
	default:
		op->uses[0] = &op->stream->card->sm_free;
		use_links(op, l);
		break;
	}
}

double launch_run(struct op *op, double start)
{
	struct launch *l = op->data;

	switch (l->kernel->kind) {
	case SPIN:
		return spin_run(l, start);
	case PINGPONG:
		return pingpong_run(l, start);
	case CHASE:
		return chase_run(l, start);
	case FMA:
		return fma_run(l, start);
	case GAPS:
		return gaps_run(l, start);
	default:
		launch_compute(l);
		return wide_end(l, start);
	}
}
