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
	const char *path; /* the file */
	uint64_t seed;    /* of the run and file: no two files hold equal blocks */
	int64_t bytes;    /* whole blocks */
	/* Called about every 8 MiB; false ends the writing there. May be NULL. */
	bool (*go_on)(void *arg, int64_t done);
	void *arg;
};

struct storage_written {
	bool created;   /* the file is ours, whatever happened to it later */
	bool direct;    /* O_DIRECT was accepted and every write went through it */
	double seconds; /* first write to the end of fsync, > 0 */
	int64_t bytes;  /* less than asked: go_on ended it */
};

/* The block at `offset` (a multiple of STORAGE_BLOCK): path, offset and seed
 * hashed into a stamp, the offset, then pseudo-random words seeded by the stamp. */
void storage_block(void *block, const struct storage_data *data, int64_t offset);

/* Creates the file (it must not exist), fills it, fsyncs. Errors: the status of
 * the errno, with the cause. */
enum status storage_write(struct storage_written *out, const struct storage_data *data,
                          const struct clock_source *clock, struct error *err);

struct storage_check {
	int64_t blocks, right; /* read back and found as written */
	/* Of the others: all zero (a hole), written for another place of this file,
	 * whole but of another file or run; the rest is damaged. */
	int64_t zero, moved, foreign;
	int64_t first_wrong; /* offset, -1: none */
};

/* Reads `samples` seeded random blocks (all, when there are fewer), past the
 * page cache where the file system lets it. go_on is asked before each block;
 * ended by it the check has fewer blocks. */
enum status storage_verify(struct storage_check *out, const struct storage_data *data,
                           int64_t samples, struct error *err);

/* Bytes the file system says it stores for the file; -1: it cannot be asked. */
int64_t storage_allocated(const struct storage_data *data);
/* The same as a share of `bytes`, waited for up to 7 s where a file system accounts
 * later; <= 0: it does not account at all. */
double storage_allocated_share(const struct storage_data *data, const struct clock_source *clock);
/* The share in written extents, by the file system's own map; NaN: it has none. */
double storage_mapped_share(const struct storage_data *data);

#endif
