/* Reading what fio printed. Every accident of its output, by version and by
 * mishap, ends as an outcome with a reason; nothing is guessed from it.
 *
 * Facts relied on (fio 2.1 to 3.42, source and recorded outputs in
 * tests/probes/data/fio): text may stand before and after the JSON; with
 * --status-interval several documents follow one another and the last counts,
 * unless it is cut: those before it are interim reports; units are told by key
 * names (clat_ns against clat, io_kbytes beside io_bytes), never by the version;
 * exit 128 with error 0 is an interrupted run; grouped figures are sums;
 * percentiles can be merged only from json+ bins. */
#ifndef ASSAY_BENCH_FIO_H
#define ASSAY_BENCH_FIO_H

#include "assay/message.h"
#include "assay/reading.h"
#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* Microseconds; NaN: not in the output, or nothing was timed (then n is 0). sd
 * is absent when several entries were merged; that of a group is not usable. */
struct fio_latency {
	double n;
	double min, mean, sd, max;
	double p50, p90, p95, p99, p99_9, p99_99;
};

/* One histogram bin of json+: its latency and how many I/Os fell into it. */
struct fio_bin {
	double ns, count;
};

/* The figures may be used when `outcome` is OUTCOME_MEASURED; else `reason` with
 * up to three arguments (arena) says why. */
struct fio_result {
	enum outcome outcome;
	enum msg reason;
	const char *args[4];
	double iops, bandwidth_bs; /* sums over jobs; recomputed and checked */
	double total_ios, io_bytes, runtime_s;
	struct fio_latency slat, clat, lat;
	bool lat_from_clat;     /* p99 of lat is clat's plus mean slat: older fio */
	double share_below_1ms; /* of clat, 0 to 1; NaN: not in the output */
	struct fio_bin *bins;   /* of lat if printed, else clat; ascending; none
	                          * unless every entry has them */
	size_t n_bins;
	double depth;            /* mean outstanding I/Os of one job by iodepth_level */
	double usr_cpu, sys_cpu; /* percent of one core, highest job; NaN: not in the output */
	double short_ios, dropped_ios; /* NaN: not in the output */
	bool has_disk_util;
	double util;         /* percent, highest disk */
	int jobs;            /* entries merged */
	int error;           /* of the first failing job; 0 */
	const char *version; /* "fio-3.33" */
	const char *notes;   /* text around the JSON, at most 2 KiB */
	/* I/Os a second of all threads together, window by window; none unless asked
	 * for (storage_fio.h). A window nothing was done in is 0. */
	double *windows;
	size_t n_windows;
};

/* What was asked of fio and how it ended. */
struct fio_asked {
	bool write;       /* direction; else read */
	double runtime_s; /* 0: not time-based */
	int exit_code;    /* -1: ended by `signal` */
	int signal;
	const char *err; /* its stderr, or NULL */
};

void fio_read(struct fio_result *r, struct arena *arena, const char *text, size_t len,
              const struct fio_asked *asked);

/* Adds the counts of `b` to `a`; both ascending; result in the arena. */
size_t fio_bins_merge(struct arena *arena, const struct fio_bin *a, size_t n_a,
                      const struct fio_bin *b, size_t n_b, struct fio_bin **out);
/* p in (0, 1]: the latency in ns below which that share fell; NaN if empty. */
double fio_bins_percentile(const struct fio_bin *bins, size_t n, double p);

/* "fio-3.33", "fio-3.8-5-g464b-dirty"; false if it is no fio version. */
bool fio_version_parse(const char *text, int *major, int *minor);

#endif
