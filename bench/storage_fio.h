/* Running fio for the storage probe: one job, one result. */
#ifndef ASSAY_BENCH_STORAGE_FIO_H
#define ASSAY_BENCH_STORAGE_FIO_H

#include "assay/probe.h"
#include "fio.h"

struct fio_tool {
	const char *version;  /* "fio-3.33" */
	bool lat_percentiles; /* prints percentiles of lat beside those of clat (3.18) */
};

enum fio_way { FIO_RANDOM_READ, FIO_STREAM_READ, FIO_STREAM_WRITE };

struct fio_job {
	const struct fio_tool *tool;
	const char *dir; /* fio runs there: names need no escaping */
	enum fio_way way;
	const char *file; /* in dir; read from: exists */
	/* 0: all threads work on FILE. Else thread i, from 0, has FILE.i.0 to
	 * FILE.i.(files-1) for itself; a write creates them. */
	int files;
	int64_t offset;     /* of the part of FILE that is read; 0 with own files */
	int64_t bytes;      /* of that part; with own files of all files of a thread */
	int block;          /* bytes of one I/O */
	const char *engine; /* io_uring, libaio, psync */
	bool direct;
	int depth; /* outstanding I/Os in all */
	int jobs;  /* threads they are spread over, a divisor of depth; psync:
	                          as many as depth whatever is said here */
	/* Seconds that count, and those before them that do not. runtime_s 0:
	 * every byte once, however long it takes within most_s. */
	double runtime_s, ramp_s, most_s;
	int64_t most_ios; /* reads of a thread after which it ends; 0: no such end */
	bool same_order;  /* random reads: the same blocks again for the same seed,
	                          each at most once */
	bool unsynced;    /* writes: no fsync at the end, data may still be in caches */
	double window_s;  /* > 0: the rate of every such window, see fio_result */
	uint64_t seed;
	bool (*tick)(void *arg, double seconds); /* false ends the run */
	void *arg;
};

/* Threads the job really takes. */
int fio_threads(const struct fio_job *job);

/* fio there, and new enough? Fills *tool (arena); else the reason. */
bool fio_available(struct probe_ctx *ctx, struct fio_tool *tool, struct reason *reason);

/* Runs it under a deadline; whatever happens is in *result. *raw (may be NULL)
 * gets fio's stdout (arena) for keeping. */
void fio_run(struct probe_ctx *ctx, const struct fio_job *job, struct fio_result *result,
             const char **raw);

/* The reason of a result that is not measured, in the form of readings. */
void fio_reason(struct probe_ctx *ctx, const struct fio_result *result, struct reason *reason);

/* First engine of io_uring, libaio, psync (or `wanted` alone) that reads the
 * file, with direct I/O if the file system takes it; job->engine and
 * job->direct are set to it. Where none has room for the depth, job->depth comes
 * down until one has. False, with the last result, when none does.
 * *refused lists those that did not and why. */
bool fio_choose_engine(struct probe_ctx *ctx, struct fio_job *job, const char *wanted,
                       const char **refused, struct fio_result *last);

#endif
