/* Real data for reading back: files full of stamped, incompressible blocks that
 * Assay wrote itself. A block that comes back as anything else was a hole, an
 * unwritten extent, another file's or another run's. */
#ifndef ASSAY_BENCH_STORAGE_DATA_H
#define ASSAY_BENCH_STORAGE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

#define STORAGE_BLOCK 4096

struct storage_data {
	const char *path;  /* the file */
	uint64_t seed;     /* of the run and file: no two files hold equal blocks */
	int64_t bytes;     /* whole blocks */
	/* Called about every 64 MiB; false ends the writing (ST_TIMEOUT). */
	bool (*go_on)(void *arg, int64_t done);
	void *arg;
};

struct storage_written {
	bool created;    /* whatever happened then: the file is the caller's to remove */
	bool direct;     /* O_DIRECT was accepted and every write went through it */
	double seconds;  /* first write to the end of fsync */
	int64_t bytes;
};

/* The block at `offset` (a multiple of STORAGE_BLOCK): path, offset and seed
 * hashed into a stamp, then pseudo-random words seeded by it. */
void storage_block(void *block, const struct storage_data *data, int64_t offset);

/* Creates the file, fills it, fsyncs. ST_EXISTS: there is one, it stays as it
 * was. ST_NOSPACE, ST_PERMISSION, ST_TIMEOUT, ST_IO with the cause. */
enum status storage_write(struct storage_written *out, const struct storage_data *data,
                          const struct clock_source *clock, struct error *err);

struct storage_check {
	int64_t blocks, right; /* read back and found as written */
	int64_t first_wrong;   /* offset, -1: none */
	int64_t allocated;     /* bytes the file system says it stores */
};

/* Reads `samples` seeded random blocks (all, when there are fewer), past the
 * page cache where the file system lets it. ST_IO: shorter than written, or a
 * block that cannot be read. */
enum status storage_verify(struct storage_check *out, const struct storage_data *data, int64_t samples,
                           struct error *err);

#endif
