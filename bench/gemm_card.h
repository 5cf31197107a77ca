/* gemm on GPUs: every precision a card has, one after another, and what is said
 * of the card as a whole. */
#ifndef ASSAY_BENCH_GEMM_CARD_H
#define ASSAY_BENCH_GEMM_CARD_H

#include "cards.h"

/* Measures one card; for cards_each. */
enum status gemm_card(struct card_unit *unit);

/* FP16 alone, for some windows on a card that has not been warmed: the probe
 * gemm_alone, whose parameters card_order, window_s and windows it reads. */
enum status gemm_card_alone(struct card_unit *unit);

/* Whether there is a card or a BLAS to multiply with. */
struct support gemm_supported(struct probe_ctx *ctx);

/* Seconds one card is planned to take, by the parameters. */
double gemm_card_duration(struct probe_ctx *ctx);

#endif
