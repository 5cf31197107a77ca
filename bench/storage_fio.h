/* Running fio for the storage probe: one job, one result. */
#ifndef ASSAY_BENCH_STORAGE_FIO_H
#define ASSAY_BENCH_STORAGE_FIO_H

#include "assay/probe.h"
#include "fio.h"

struct fio_job {
	const char *file;      /* data file, exists; absolute, its last component plain */
	int64_t bytes;
	const char *engine;    /* io_uring, libaio, psync */
	bool direct;
	int depth;             /* outstanding I/Os in all */
	int jobs;              /* threads they are spread over */
	double runtime_s, ramp_s;
	uint64_t seed;
	bool (*tick)(void *arg, double seconds);
	void *arg;
};

/* fio there, and new enough? Fills `version` (arena); else the reason. */
bool fio_available(struct probe_ctx *ctx, const char **version, struct reason *reason);

/* Runs it under a deadline; whatever happens is in *result. *raw gets fio's
 * stdout (arena) for keeping. */
void fio_run(struct probe_ctx *ctx, const struct fio_job *job, struct fio_result *result, const char **raw);

/* The reason of a result that is not measured, in the form of readings. */
void fio_reason(struct probe_ctx *ctx, const struct fio_result *result, struct reason *reason);

/* First engine of io_uring, libaio, psync (or `wanted` alone) that does I/O on
 * the file, with direct I/O if the file system takes it. Returns NULL and the
 * last result when none does; *refused lists those that did not and why. */
const char *fio_choose_engine(struct probe_ctx *ctx, struct fio_job *job, const char *wanted,
                              const char **refused, struct fio_result *last);

#endif
