/* Operating points: the sweep over depths, the long run at the point chosen, and
 * what follows from them. */
#ifndef ASSAY_BENCH_STORAGE_POINTS_H
#define ASSAY_BENCH_STORAGE_POINTS_H

#include "storage_figures.h"

/* A screen does not look for tricks on a disk that nobody judges: no pairs, no
 * long run. */
bool storage_is_brief(struct probe_ctx *ctx);

/* Runs one job on the path: within the deadline, with the device's counters
 * beside it, its output saved as `raw_name`. False: no figures, and w says why;
 * w->broke when the storage itself gave up. raw may be NULL. */
bool storage_run(struct storage_work *w, const struct fio_job *job, const char *raw_name,
                 struct fio_result *r, struct raw_file *raw);

/* Threads to spread a depth over: one CPU cannot drive a fast device. A divisor
 * of depth. */
int storage_jobs(struct storage_work *w, int depth);

/* w->points[] hold the depths; each is measured. */
void storage_sweep(struct storage_work *w);
/* The fastest point below the latency limit runs again for as long as a burst
 * could last, until the fastest is one that was held; then once more for a
 * moment: *after (not measured when there was no time). The sweep's run of that
 * depth is *before. False: no point was held, for w->why. */
bool storage_hold(struct storage_work *w, struct storage_point *before,
                  struct storage_point *after);
/* Readings of all points and those that follow from them. */
void storage_emit_points(struct storage_work *w);

/* Fastest measured point; `limited`: of those whose p99 is below the limit. NULL:
 * none. */
const struct storage_point *storage_fastest(const struct storage_work *w, bool limited);

#endif
