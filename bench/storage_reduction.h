/* Does the storage compress or deduplicate? Then only data that are neither give
 * honest figures, and space sold by the byte holds less than it seems. Pieces of
 * data that differ in nothing else are written, and what arrives below is compared.
 *
 * Seen is what this machine can see: the bytes that reached its disks, or the space
 * the file system accounts for. An array that reduces below its own disks cannot
 * be told from one that does not, nor a server that keeps it to itself. */
#ifndef ASSAY_BENCH_STORAGE_REDUCTION_H
#define ASSAY_BENCH_STORAGE_REDUCTION_H

#include <stdint.h>

#include "base/clock.h"
#include "storage_counters.h"
#include "storage_place.h"

enum storage_reduction {
	REDUCTION_UNKNOWN,
	REDUCTION_NONE,
	REDUCTION_COMPRESSION,
	REDUCTION_DEDUPLICATION,
	REDUCTION_BOTH
};

#define REDUCTION_PIECE (16LL << 20)

struct storage_reduction_job {
	const char *dir; /* on the storage; needs 64 MiB */
	const char *root;
	const struct storage_place *place;
	const struct storage_counters *counters;
	uint64_t seed;
	const struct clock_source *clock;
	int64_t deadline_ns; /* on clock; ended by it: unknown */
};

struct storage_reduced {
	enum storage_reduction result;
	/* Bytes arrived by bytes written, by the gauge that saw least; NaN: no gauge
	 * saw the incompressible pieces, so none is believed. */
	double incompressible, compressible, repeated;
	const char *gauge; /* "counters", "blocks" or "free"; NULL: none */
};

/* Nothing of it is left behind, whatever happens. Errors: of writing. */
enum status storage_reduction_find(struct storage_reduced *out,
                                   const struct storage_reduction_job *job, struct error *err);
/* "no", "compression", "deduplication", "both"; NULL: unknown. */
const char *storage_reduction_name(enum storage_reduction result);

#endif
