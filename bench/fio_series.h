/* fio's rates window by window: the logs of its threads, put together. */
#ifndef ASSAY_BENCH_FIO_SERIES_H
#define ASSAY_BENCH_FIO_SERIES_H

#include "fio.h"

/* Reads DIR/STEM_iops.1.log to .THREADS.log, removes them, and fills r->windows
 * (arena). No windows: a log is absent or not to be read. */
void fio_series_take(struct fio_result *r, struct arena *arena, const char *dir, const char *stem,
                     int threads, double window_s);

/* Adds one thread's log to sum[], seen[] (both n long): "msec, rate, …" a line,
 * the rate of the window that ends at msec. False: no such log. */
bool fio_series_add(double *sum, int *seen, size_t n, const char *text, double window_s);

/* How rates of a steady load held. */
struct fio_steadiness {
	double cv;     /* standard deviation / mean of the windows */
	double worst;  /* lowest window / mean */
	double thirds; /* mean of the last third / mean of the first */
};

/* False below 3 windows, or when nothing was done at all. */
bool fio_steadiness(struct fio_steadiness *out, const double *windows, size_t n);

#endif
