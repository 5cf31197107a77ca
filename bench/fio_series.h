/* fio's rates window by window: the logs of its threads, put together. */
#ifndef ASSAY_BENCH_FIO_SERIES_H
#define ASSAY_BENCH_FIO_SERIES_H

#include "fio.h"

/* Reads DIR/STEM_iops.1.log to .THREADS.log, removes them, and fills r->windows
 * (arena). No windows: a log is absent or not to be read. */
void fio_series_take(struct fio_result *r, struct arena *arena, const char *dir, const char *stem,
                     int threads, double window_s);

/* The parts of it. ios[] are I/Os of each window until finished, then rates. */
struct fio_series {
	double *ios, *covered; /* n of them; covered: seconds of threads with lines */
	size_t n;              /* whole windows in runtime_s */
	double window_s, runtime_s;
	double ios_all, covered_all;
};

void fio_series_init(struct fio_series *s, struct arena *arena, double runtime_s, double window_s);
/* One thread's log: "msec, rate, …" a line. False: it is none. */
bool fio_series_add(struct fio_series *s, const char *text);
/* total_ios: of all threads, by fio's own count. */
void fio_series_finish(struct fio_series *s, double total_ios, int threads);

/* How rates of a steady load held. */
struct fio_steadiness {
	double cv;     /* standard deviation / mean of the windows */
	double worst;  /* lowest window / mean */
	double thirds; /* mean of the last third / mean of the first */
};

/* False below 3 windows, or when nothing was done at all. */
bool fio_steadiness(struct fio_steadiness *out, const double *windows, size_t n);

#endif
