/* What the probes of cards have in common: which cards there are to measure,
 * opening one, and what is owed for GPUs while they cannot be measured. */
#ifndef ASSAY_BENCH_CARDS_H
#define ASSAY_BENCH_CARDS_H

#include "assay/device.h"
#include "assay/probe.h"
#include "base/error.h"

/* Subject of the unit that speaks for all GPUs of the node at once. */
#define CARDS_ALL "*"

/* One unit for the GPUs, "*", then one a CPU socket: cpu-socket-0 … */
const char *const *cards_subjects(struct probe_ctx *ctx);
bool cards_are_gpus(const struct probe_ctx *ctx);

/* Why GPUs are not measured: no_driver, or cuda_not_built. */
void cards_reason(struct probe_ctx *ctx, struct reason *reason);
/* Emits a not_measured reading with that reason for each BACKEND_CUDA metric
 * of the probe, for all cards of the node at once. */
enum status cards_owe(struct probe_ctx *ctx);

/* Opens the card the unit is for; blas NULL: without a library for gemm, "auto":
 * with the fastest, else with one of that family. */
enum status cards_open(struct probe_ctx *ctx, struct device **dev, int threads, const char *blas,
                       struct error *err);

/* A reading of this metric about the unit's card. */
struct reading cards_reading(struct probe_ctx *ctx, const char *metric);

#endif
