/* libcuda: the driver. Everything Assay computes on a GPU goes through here,
 * without the CUDA runtime: primary contexts, streams, events, copies, our own
 * kernels. Only a fresh child process may start it: a process that forks after
 * cuInit leaves its children without CUDA. */
#ifndef ASSAY_HW_CUDA_H
#define ASSAY_HW_CUDA_H

#include "base/clock.h"
#include "hw/gpu_lib.h"

/* `fault` and `code` are of the last call that failed; a probe takes the
 * outcome of what it owes from them. Used by one thread at a time. */
struct cuda {
	struct library lib;
	struct cuda_calls call;
	int version; /* of CUDA that the driver does: 13000 is 13.0 */
	int count;   /* visible cards, after cuda_start */
	cu_result code;
	const struct gpu_cause *fault; /* NULL: none, or a code without a row */
};

/* Loads and binds, calls nothing but cuDriverGetVersion. ST_NOTFOUND: no driver;
 * ST_UNSUPPORTED: it does not load or lacks a function. */
enum status cuda_open(struct cuda *cuda, struct arena *arena, const struct gpu_search *where,
                      struct error *err);

/* Cards numbered by PCI address, cuInit, their count. While the system is not
 * ready (802: the fabric of an NVSwitch machine) it asks again each second until
 * deadline_ns of clock. No card at all is an error with its cause. */
enum status cuda_start(struct cuda *cuda, const struct clock_source *clock, int64_t deadline_ns,
                       struct error *err);

/* ST_OK for CU_OK; else err is filled by cause, code and fault are kept. */
enum status cuda_check(struct cuda *cuda, cu_result code, const char *call, struct error *err);
/* The same around a call by its slot: CUDA_TRY(cuda, err, alloc, &at, bytes). */
#define CUDA_TRY(cuda, err, slot, ...) cuda_check(cuda, (cuda)->call.slot(__VA_ARGS__), #slot, err)

/* The row of a code, NULL: none. */
const struct gpu_cause *cuda_cause(cu_result code);

/* A card as the driver describes it; -1: an attribute it does not tell. */
struct cuda_card {
	int index; /* CUDA's: for display, and for NVML never */
	cu_device device;
	const char *name;
	const char *uuid; /* GPU-8-4-4-4-12 hex digits */
	const char *pci;  /* 0000:17:00.0 */
	int major, minor; /* compute capability */
	int sm_count;
	int clock_mhz, memory_clock_mhz; /* highest */
	int bus_bits;                    /* of the memory */
	int64_t memory_bytes, l2_bytes;
	int compute_mode; /* NVML_COMPUTE_* */
	int copy_engines;
	bool ecc, integrated, kernel_timeout;
};

/* An error is about this card; the others may be well. */
enum status cuda_card_read(struct cuda *cuda, struct arena *arena, int index,
                           struct cuda_card *card, struct error *err);

/* The card with this UUID or PCI address (any spelling), without regard to
 * cards that cannot be read. ST_NOTFOUND: none. */
enum status cuda_card_find(struct cuda *cuda, struct arena *arena, const char *id,
                           struct cuda_card *card, struct error *err);

/* Retains the card's primary context and makes it the thread's. */
enum status cuda_context(struct cuda *cuda, cu_device device, cu_context *context,
                         struct error *err);

/* Device code as PTX text; err has the compiler's words. */
enum status cuda_module(struct cuda *cuda, const char *ptx, cu_module *module, struct error *err);

#endif
