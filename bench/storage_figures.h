/* What the storage probe says: its metrics, for a named path and for a local
 * one, and how each becomes a reading. */
#ifndef ASSAY_BENCH_STORAGE_FIGURES_H
#define ASSAY_BENCH_STORAGE_FIGURES_H

#include "assay/probe.h"
#include "storage_counters.h"
#include "storage_data.h"
#include "storage_fio.h"
#include "storage_place.h"

/* Those of an operating point first; of these the last three belong to points
 * held for the long run. */
enum figure {
	READ_IOPS,
	LAT_MEAN,
	LAT_P99,
	LAT_P999,
	READ_CV,
	READ_WORST,
	READ_THIRDS,
	POINT_FIGURES,
	LAT_DEPTH1 = POINT_FIGURES,
	IOPS_MAX,
	KNEE_DEPTH,
	DEPTH_BELOW,
	OFFERED_IOPS,
	LIMIT,
	DATA_REAL,
	COUNTER_RATIO,
	CACHE_SIGNS,
	BURST_SIGNS,
	SIGNS,
	REDUCTION,
	WRITE_MBS,
	ENGINE,
	DIRECT,
	FILESYSTEM,
	SHARED,
	FIGURES
};

/* storage_* for all figures in their order, then local_storage_*. */
extern const struct metric storage_metrics[];

#define STORAGE_DEPTHS 12

struct storage_why {
	enum outcome outcome;
	struct reason reason;
};

/* What one depth gave. */
struct storage_point {
	int depth;
	bool measured; /* `r` holds; else `why` */
	bool held;     /* `r` is of the long run */
	bool client_bound;
	int threads;
	double window_s; /* of r.windows */
	struct fio_result r;
	struct raw_file raw;
	struct storage_why why;
};

/* One path being measured. */
struct storage_work {
	struct probe_ctx *ctx;
	bool local;               /* not named by --storage */
	const struct metric *set; /* storage_metrics of this path */
	bool emitted[FIGURES];
	struct storage_why why; /* something is not measured: set before a step returns false */
	struct storage_place place;
	struct storage_counters counters;
	bool blind; /* the counters do not see this path, for blind_why */
	struct storage_why blind_why;
	bool broke; /* the storage itself gave up, for broke_why: nothing more is tried */
	struct storage_why broke_why;
	bool hangs; /* nothing on the path is touched any more */
	struct storage_data data;
	bool created; /* its file is ours to remove */
	struct fio_tool tool;
	struct fio_job job;                      /* as the engine was chosen for it */
	int64_t write_until_ns, verify_until_ns; /* on ctx->clock */
	/* Read in the runs: those whose ramp is next to nothing, and all of them. */
	struct storage_counts {
		double device_bytes, fio_bytes;
	} exact, all;
	bool counted; /* device_bytes holds for all of fio_bytes */
	struct storage_point points[STORAGE_DEPTHS];
	int n_points;
	double done_s, all_s; /* of the runs, for progress */
};

/* Sets w->why; returns false, for a step to end with. */
bool storage_stop(struct storage_work *w, enum outcome outcome, enum msg id,
                  const char *const *args);
#define because(w, outcome, id, ...)                                                               \
	storage_stop(w, outcome, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* `params`: JSON object as text, or NULL for those every reading has. */
void storage_emit_number(struct storage_work *w, enum figure f, double value, const char *params);
void storage_emit_text(struct storage_work *w, enum figure f, const char *text, const char *params);
/* A figure that is missing for w->why; `point` or NULL. */
void storage_emit_missing(struct storage_work *w, enum figure f, const char *point);
/* Every figure not said yet is missing for w->why. */
void storage_emit_rest(struct storage_work *w);

/* The figures of an operating point, all from one run of fio; for depth 1
 * LAT_DEPTH1 too. A buffered run has none: its cache may have answered. A point
 * that was not reached is said to be missing. */
void storage_emit_point(struct storage_work *w, const struct storage_point *p);

/* fio's threads together had no CPU left, or each of them a whole one. */
bool storage_client_bound(const struct storage_work *w, const struct fio_job *job,
                          const struct fio_result *r);
/* Whatever went wrong just now: the path is not there any more. Says so. */
bool storage_path_gone(struct storage_work *w);

#endif
