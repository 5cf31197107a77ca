/* What the storage probe says: its metrics, for a named path and for a local
 * one, and how each becomes a reading. */
#ifndef ASSAY_BENCH_STORAGE_FIGURES_H
#define ASSAY_BENCH_STORAGE_FIGURES_H

#include "assay/probe.h"
#include "storage_data.h"
#include "storage_fio.h"
#include "storage_place.h"

/* The first four belong to an operating point. */
enum figure {
	READ_IOPS,
	LAT_MEAN,
	LAT_P99,
	LAT_P999,
	POINT_FIGURES,
	LAT_DEPTH1 = POINT_FIGURES,
	DATA_REAL,
	COUNTER_RATIO,
	WRITE_MBS,
	ENGINE,
	DIRECT,
	FILESYSTEM,
	FIGURES
};

/* storage_* for all figures in their order, then local_storage_*. */
extern const struct metric storage_metrics[];

/* One path being measured. */
struct storage_work {
	struct probe_ctx *ctx;
	bool local;               /* not named by --storage */
	const struct metric *set; /* storage_metrics of this path */
	bool emitted[FIGURES];
	/* Why something is not measured: set before a step returns false. */
	enum outcome outcome;
	struct reason reason;
	struct storage_place place;
	struct storage_data data;
	bool created; /* its file is ours to remove */
	struct fio_tool tool;
	struct fio_job job;
	int64_t write_until_ns, verify_until_ns; /* on ctx->clock */
	double device_bytes, fio_bytes;          /* read in the runs, ramps included */
	bool counted;                            /* device_bytes holds for all of fio_bytes */
	int points, point;                       /* for progress */
};

/* Sets w->outcome and w->reason; returns false, for a step to end with. */
bool storage_stop(struct storage_work *w, enum outcome outcome, enum msg id,
                  const char *const *args);
#define because(w, outcome, id, ...)                                                               \
	storage_stop(w, outcome, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* `params`: JSON object as text, or NULL for those every reading has. */
void storage_emit_number(struct storage_work *w, enum figure f, double value, const char *params);
void storage_emit_text(struct storage_work *w, enum figure f, const char *text, const char *params);
/* A figure that is missing for w->reason; `point` or NULL. */
void storage_emit_missing(struct storage_work *w, enum figure f, const char *point);
/* Every figure not said yet is missing for w->reason. */
void storage_emit_rest(struct storage_work *w);

/* The four figures of an operating point, all from one run of fio; for depth 1
 * LAT_DEPTH1 too. A buffered run has none: its cache may have answered. */
void storage_emit_point(struct storage_work *w, const char *point, const struct fio_result *r,
                        const struct raw_file *raw);
/* An operating point that was not reached, for w->reason. */
void storage_emit_missing_point(struct storage_work *w, int depth);

const char *storage_point_name(struct storage_work *w, int depth); /* "depth=16" */

#endif
