/* What the probes share that move whole files in streams: the path they work on,
 * runs of fio by a clock of our own, and their readings. */
#ifndef ASSAY_BENCH_STORAGE_STREAMS_H
#define ASSAY_BENCH_STORAGE_STREAMS_H

#include "assay/probe.h"
#include "base/json.h"
#include "storage_fio.h"
#include "storage_place.h"

#define STREAMS_FIGURES 16
/* A slow path gets less data than asked for, down to this. */
#define STREAMS_LEAST_DATA (16LL << 20)
/* Of fio, on a slow path; nothing is begun that would not end in time. */
#define STREAMS_START_S 2

/* One path being measured. */
struct streams {
	struct probe_ctx *ctx;
	bool local;               /* not named by --storage */
	const struct metric *set; /* of this path */
	int figures;              /* metrics in it, at most STREAMS_FIGURES */
	bool said[STREAMS_FIGURES];
	/* Why something is not measured: set before a step returns false. */
	enum outcome outcome;
	struct reason reason;
	struct storage_place place;
	struct fio_tool tool;
	const char *refused; /* engines that were, and why; NULL: none */
	bool direct;         /* the file system takes O_DIRECT */
	bool hangs;          /* nothing on the path is touched any more */
	double start_s;      /* of fio beside its run, measured by the trial */
	double trial_bs;     /* bytes a second of the trial, its start not counted */
	enum msg doing;      /* for progress */
	int step, steps;     /* which one this is, 0: preparing, and how many in all */
	double step_s;       /* expected of this one */
};

/* A run of fio that is measured. */
struct streams_run {
	struct fio_result fio;
	/* Of the data: fio's, or ours where much of the time is hidden from fio. */
	double seconds, wall_s;
	struct raw_file raw;
};

/* Sets s->outcome and s->reason; returns false, for a step to end with. */
bool streams_stop(struct streams *s, enum outcome outcome, enum msg id, const char *const *args);
#define because(s, outcome, id, ...)                                                               \
	streams_stop(s, outcome, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* A context for the first `figures` metrics of `metrics`, or, for the local disk
 * (the parameter `shared`), for those after them. */
struct streams streams_init(struct probe_ctx *ctx, const struct metric *metrics, int figures);

/* The rows of parameters that all such probes have. */
#define STREAMS_PARAMS                                                                             \
	{"engine",                                                                                 \
	 PARAM_WORD,                                                                               \
	 "",                                                                                       \
	 {"auto", "auto", "auto"},                                                                 \
	 0,                                                                                        \
	 0,                                                                                        \
	 "auto|io_uring|libaio|psync",                                                             \
	 MSG_help_storage_engine},                                                                 \
	{                                                                                          \
		"shared", PARAM_WORD, "", {"named", "named", "named"}, 0, 0, "named|local",        \
			MSG_help_storage_shared                                                    \
	}

/* fio, and a path that is storage? Fills s->tool and s->place. */
bool streams_begin(struct streams *s);
/* What of the parameter `size` may be used: at most a tenth of the free space. */
bool streams_room(struct streams *s, int64_t *bytes);
/* A block size as direct I/O needs it? */
bool streams_block_valid(struct streams *s, int64_t block);
/* Whatever went wrong just now: is the path still there? Sets the reason if not. */
bool streams_gone(struct streams *s);

/* Sets job->engine and job->direct by a trial of the job itself, which moves its
 * bytes once. With s->direct false every figure of direct I/O is out. */
bool streams_choose(struct streams *s, struct fio_job *job);
/* One run under the deadline, its output kept as raw file `name`. */
bool streams_run(struct streams *s, struct fio_job *job, const char *name, struct streams_run *run);
/* Nanoseconds on ctx->clock in so many seconds, or the deadline where that is sooner. */
int64_t streams_until(const struct streams *s, double seconds);
/* Removes STEM.i.k for all i < threads, k < files; those that are not there are
 * no error. */
void streams_remove(struct streams *s, const char *stem, int threads, int files);

/* The share of `bytes` that the file system says it stores for these files; 0
 * where it does not account. Waits up to 7 s for one that does so later. */
double streams_allocated(struct streams *s, const char *stem, int threads, int files,
                         int64_t bytes);

/* Members of params that all readings of a run have. */
void streams_put_job(struct streams *s, struct json_out *j, const struct fio_job *job,
                     const struct streams_run *run);
/* Steadiness by the second, where the run had `least` windows. */
void streams_put_seconds(struct json_out *j, const struct fio_result *r, size_t least);
/* Ends the object of *text with the place and keeps it in the arena. */
const char *streams_params(struct streams *s, struct json_out *j);

/* A reading of figure `f`: params NULL are those of the place alone. */
struct reading streams_reading(struct streams *s, int f, const char *params);
void streams_emit(struct streams *s, int f, double value, const char *params,
                  const struct raw_file *raw);
/* A figure that is missing for s->reason. */
void streams_emit_missing(struct streams *s, int f, const char *params);
/* Every figure not said yet is missing for s->reason. */
void streams_emit_rest(struct streams *s);

/* Hooks of such probes. A missing fio is a reason for each path, which only run()
 * knows. */
struct support streams_supported(struct probe_ctx *ctx);
struct support streams_try_run(struct probe_ctx *ctx);

#endif
