/* libnccl: collectives, called directly. Communicators are non-blocking, so
 * that a rank that never comes costs its deadline and not the run: every call
 * may answer NCCL_IN_PROGRESS, the caller polls, and who gives up aborts. */
#ifndef ASSAY_HW_NCCL_H
#define ASSAY_HW_NCCL_H

#include "base/clock.h"
#include "hw/gpu_lib.h"

struct nccl {
	struct library lib;
	struct nccl_calls call;
	int version;      /* 22809 is 2.28.9 */
	nccl_result code; /* of the last call that failed */
	const struct gpu_cause *fault;
};

/* ST_NOTFOUND, ST_UNSUPPORTED (also for an NCCL before 2.14) as library_search. */
enum status nccl_open(struct nccl *nccl, struct arena *arena, const struct gpu_search *where,
                      struct error *err);

/* ST_OK for NCCL_OK and NCCL_IN_PROGRESS; else err by cause, with NCCL's own
 * words on it. `call` is the function's name; comm may be NULL. */
enum status nccl_check(struct nccl *nccl, nccl_comm comm, nccl_result code, const char *call,
                       struct error *err);
const struct gpu_cause *nccl_cause(nccl_result code);

/* The configuration of a non-blocking communicator. */
nccl_config nccl_config_make(void);

#endif
