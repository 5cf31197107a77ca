/* The formulas of a training run's time: arithmetic alone. Units in the names; rates
 * of cards in TFLOP/s, dense, of the precision that is used. */
#ifndef ASSAY_ESTIMATE_MODELS_H
#define ASSAY_ESTIMATE_MODELS_H

/* FLOP of a token and parameter, forward and backward, weights alone; attention's
 * 12 L h s is left out. With full recomputation the hardware does 8, which is no
 * part of MFU. */
#define FLOP_PER_TOKEN 6.0
/* Mixed-precision Adam: weights, gradients, master weights, two moments. */
#define STATE_BYTES 16.0
/* What a checkpoint has of it. */
#define CHECKPOINT_BYTES 14.0

/* 6 N D / (n x peak x MFU x ETTR x 86400). */
double training_days(double params, double tokens, double cards, double peak_tflops, double mfu,
                     double ettr);
/* Tokens that fit into so many days. */
double tokens_in(double days, double params, double cards, double peak_tflops, double mfu);

/* Scaling efficiency by bandwidth, nothing hidden: 1 / (1 + share x at / gbs), with
 * share = 0.099 at 300 GB/s, which is 91 % there. */
double interconnect_efficiency(double gbs, double share, double at_gbs);
/* Seconds of a step: compute + max(0, transfer - overlap x compute). */
double step_seconds(double compute_s, double transfer_s, double overlap);
/* Bytes a card moves a step for its gradients: 2 x 2 P / (TP x PP) in BF16. */
double gradient_bytes(double params, double tensor, double pipeline);

/* Share of time the cards compute when data is read ahead. */
double storage_utilisation(double step_s, double bytes_per_step, double read_bytes_s);

/* Price of 1e9 tokens: price x 6 N x 1e9 / (3.6e15 x TFLOP/s a card), with the price of a
 * card for an hour. */
double price_of_1e9_tokens(double card_hour, double params, double tflops);

/* Daly: effective training time ratio of a job that fails every mttf_s, with
 * checkpoints of write_s every interval_s and restarts of restart_s. */
double ettr_of(double mttf_s, double write_s, double restart_s, double interval_s);
/* sqrt(2 w M). */
double checkpoint_interval_s(double mttf_s, double write_s);

#endif
