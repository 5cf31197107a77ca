/* membw on GPUs: reading, writing, copying and the triad by Assay's own kernels
 * on all SMs. A copy engine does not reach what the memory can do. */
#ifndef ASSAY_BENCH_MEMBW_CARD_H
#define ASSAY_BENCH_MEMBW_CARD_H

#include "cards.h"

/* Measures one card; for cards_each. */
enum status membw_card(struct card_unit *unit);

/* Seconds one card is planned to take, by the parameters. */
double membw_card_duration(struct probe_ctx *ctx);

#endif
