/* The cards' part of jitter: time that a kernel on a GPU did not run, how many of
 * the SMs it is said to have a card really has, and whether it slows down when the
 * other cards of its node work. */
#ifndef ASSAY_BENCH_JITTER_CARDS_H
#define ASSAY_BENCH_JITTER_CARDS_H

#include "cards.h"

/* Emits what is measured, or owed, about every card of the node. On stand-ins the
 * context's clock is theirs from then on. */
enum status jitter_cards(struct probe_ctx *ctx);
/* Seconds it is planned to take. */
double jitter_cards_duration(struct probe_ctx *ctx);

#endif
