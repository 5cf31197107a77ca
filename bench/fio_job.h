/* The inside of a fio document: jobs into one fio_result. */
#ifndef ASSAY_BENCH_FIO_JOB_H
#define ASSAY_BENCH_FIO_JOB_H

#include "base/json.h"
#include "fio.h"

/* All figures absent. */
void fio_job_clear(struct fio_result *r);
/* Merges all entries of jobs[] (or client_stats[] without its "All clients")
 * in the wanted direction. *printed_iops: fio's own figure, summed. False when
 * a number is negative or no number where one must be. */
bool fio_job_read(struct fio_result *r, struct arena *arena, const cJSON *root, bool write,
                  double *printed_iops);

#endif
