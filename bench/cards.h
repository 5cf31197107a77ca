/* What the probes of cards have in common: which cards there are to measure,
 * opening one, and what is owed for GPUs that cannot be measured.
 *
 * Each GPU is a unit of its own, and so a child of its own: a card that hangs,
 * breaks the process or never ends takes nothing from the other seven. The plan
 * is made in a process that may open no vendor library, so units are named by
 * what the kernel tells without one, the PCI address; the child asks the driver
 * for the card there and gives its readings the UUID. Where the kernel lists no
 * card but the driver may (no /sys, WSL), one unit "*" measures what CUDA lists,
 * one card after another. */
#ifndef ASSAY_BENCH_CARDS_H
#define ASSAY_BENCH_CARDS_H

#include "assay/device.h"
#include "assay/probe.h"
#include "base/error.h"
#include "hw/cuda.h"

/* Subject of the unit that speaks for all GPUs of the node at once. */
#define CARDS_ALL "*"

/* One unit a GPU, "0000:17:00.0" …, or "*" where none can be named, then one a
 * CPU socket: cpu-socket-0 … */
const char *const *cards_subjects(struct probe_ctx *ctx);
/* The GPUs of them alone. */
const char *const *cards_gpus(struct probe_ctx *ctx);
bool cards_are_gpus(const struct probe_ctx *ctx);
/* Whether a libcuda is there to be tried; opens none. */
bool cards_have_driver(struct probe_ctx *ctx);

/* Why GPUs are not measured where cards_have_driver() says no. */
void cards_reason(struct probe_ctx *ctx, struct reason *reason);
/* supported() of a probe that is about GPUs and nothing else. */
struct support cards_support(struct probe_ctx *ctx);
/* Emits a not_measured reading with that reason for each BACKEND_CUDA metric
 * of the probe, for all cards of the node at once. */
enum status cards_owe(struct probe_ctx *ctx);

/* --- GPUs --------------------------------------------------------------------- */

/* One GPU being measured. */
struct card_unit {
	struct probe_ctx *ctx;
	struct cuda *cuda;
	const struct gpu_search *where;
	struct cuda_card card;
	/* Memory of stand-ins is smaller by this than that of the card whose rates
	 * they have: sizes chosen by us are divided by it. 1 on a real card. */
	double memory_scale;
};

/* The virtual clock that a double brings with it; ours where it has none. */
const struct clock_source *standin_clock(struct probe_ctx *ctx, const struct library *lib);

/* Loads and starts CUDA. On stand-ins the context becomes simulated and its
 * clock and deadline those of their virtual time. */
enum status cards_cuda(struct probe_ctx *ctx, struct cuda *cuda, const struct gpu_search *where,
                       double *memory_scale, struct error *err);
/* Calls measure for the card of the unit, for each one where it is "*". Cards
 * that cannot be read owe their figures; so does the unit without CUDA. */
enum status cards_each(struct probe_ctx *ctx, enum status (*measure)(struct card_unit *unit));

/* A reading of this metric about the card. */
struct reading card_reading(const struct card_unit *unit, const char *metric);
/* What could not be measured by a failure: outcome by the cause (NULL: none is
 * known), reason card_refused with the error's words. */
void card_refuse(const struct card_unit *unit, struct reading *r, const struct gpu_cause *cause,
                 const struct error *err);
/* The same for all figures of the card. */
enum status card_owe(const struct card_unit *unit, const struct gpu_cause *cause,
                     const struct error *err);

/* --- CPU sockets ---------------------------------------------------------------- */

/* Opens the socket the unit is for; blas NULL: without a library for gemm,
 * "auto": with the fastest, else with one of that family. */
enum status cards_open(struct probe_ctx *ctx, struct device **dev, int threads, const char *blas,
                       struct error *err);

/* A reading of this metric about the unit's socket. */
struct reading cards_reading(struct probe_ctx *ctx, const char *metric);

#endif
