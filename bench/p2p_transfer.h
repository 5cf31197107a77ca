/* One transfer between two cards, or a card and the host: what p2p_transfer.c,
 * p2p_measure.c and p2p_host.c share. Functions are for the steps of the team. */
#ifndef ASSAY_BENCH_P2P_TRANSFER_H
#define ASSAY_BENCH_P2P_TRANSFER_H

#include <stddef.h>

#include "kernels/kernels.h"
#include "p2p.h"

#define P2P_FLAG_ROUNDS 2000
#define P2P_CHASE_HOPS  20000
#define P2P_CHASE_STEP  4097 /* odd: one ring over any power of two; beyond a TLB's page */

/* Places in the small buffer of a card. */
#define P2P_SMALL   4096
#define P2P_AT_FLAG 0
#define P2P_AT_SPAN 1024

/* The pinned words of a card. */
struct p2p_words {
	volatile uint32_t flag, expired;
	struct kernel_check check;
	struct kernel_span span;
};
#define P2P_HOST_AT(member) offsetof(struct p2p_words, member)

/* A sample of a cell. */
struct p2p_transfer {
	struct p2p *p;
	enum p2p_kind kind;
	int from, to;
	uint64_t bytes;
	int reps;
	double seconds;   /* of all reps */
	uint64_t wrong;   /* words that did not arrive */
	bool expired;     /* the queue was let go too early */
	uint64_t reached; /* rounds, or the line a chase ended at */
};

static inline struct p2p_words *p2p_words(struct p2p *p, int card)
{
	return p->cards[card].host;
}

static inline struct device_cuda *p2p_dev(struct p2p *p, int card)
{
	return p->team.cards[card].dev;
}

/* Of the pattern that card `from` has in its out buffer. */
uint64_t p2p_seed(const struct p2p *p, int from);

/* Makes the card's queue wait until its words' flag is 1. */
enum status p2p_hold(struct p2p *p, int card, struct error *err);
enum status p2p_record(struct p2p *p, int card, cu_event event, struct error *err);
/* Time between the events of the card, when both have passed. */
enum status p2p_take_time(struct p2p *p, int card, struct p2p_transfer *t, struct error *err);
/* Overwrites what the card was sent; counts words that are not `from`'s since. */
enum status p2p_poison(struct p2p *p, int card, uint64_t bytes, struct error *err);
enum status p2p_check(struct p2p *p, int card, int from, uint64_t bytes, uint64_t *wrong,
                      struct error *err);

/* Lines of the ring that is chased. */
uint64_t p2p_lines(const struct p2p *p);
/* The step that runs a transfer of this kind; its argument is the transfer. */
team_step *p2p_step(enum p2p_kind kind);
/* Both cards send at the same time. */
static inline bool p2p_both_ways(enum p2p_kind kind)
{
	return kind == P2P_CE_BOTH || kind == P2P_SM_BOTH;
}

/* --- p2p_measure.c: what a cell is made of -------------------------------------- */

bool p2p_in_time(struct p2p *p); /* before the deadline */
void p2p_refuse(struct p2p *p, struct p2p_cell *cell, enum outcome outcome, const char *why);
void p2p_refuse_error(struct p2p *p, struct p2p_cell *cell, const struct error *err);
/* Puts in a sample; false: it was refused. A first one, not kept, says how many
 * copies fill the window. */
bool p2p_take_sample(struct p2p_cell *cell, const struct p2p_transfer *t, bool warm_up);
/* The median; or that the samples have a fault. */
void p2p_finish(struct p2p_cell *cell);

#endif
