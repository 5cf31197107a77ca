/* The inside of a fio document: its job entries into one fio_result, and what
 * was noticed on the way that decides whether the figures may be believed. */
#ifndef ASSAY_BENCH_FIO_JOB_H
#define ASSAY_BENCH_FIO_JOB_H

#include "base/json.h"
#include "fio.h"

struct fio_checks {
	int entries;                    /* of jobs[], or of client_stats[] without its sum */
	bool bad;                       /* a number negative, missing or no number */
	bool groups;                    /* several group ids: ran together or in turn? */
	bool errors;                    /* continue_on_error let I/Os fail */
	bool idle;                      /* an entry without a single I/O */
	bool no_latency;                /* an entry whose I/Os were not timed */
	double shortest_s;              /* the shortest entry's run time */
	const char *printed, *computed; /* a contradiction, with units; else NULL */
};

/* All figures absent. */
void fio_job_clear(struct fio_result *r);
/* Merges the entries in the wanted direction. Entries that only went the other
 * way are left out. */
void fio_job_read(struct fio_result *r, struct arena *arena, const cJSON *root, bool write,
                  struct fio_checks *checks);

#endif
