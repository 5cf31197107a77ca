/* Is C = A B right? Freivalds' check: C X must equal A (B X) for random signs
 * X, which costs n^2 operations instead of n^3 and shares no code with the
 * library that made C (R. Freivalds, IFIP 1977).
 *
 * The columns of C are cut into blocks and each sign vector covers one block,
 * twice over with other signs. So every element counts, the place of an error
 * is known to a row and a block, and the tolerance of a row,
 *
 *	FREIVALDS_K x eps x (|A| |B| |x|)
 *
 * sums rounding over one block only, which lets small errors stand out. */
#ifndef ASSAY_BENCH_FREIVALDS_H
#define ASSAY_BENCH_FREIVALDS_H

#include <stdint.h>

#include "assay/device.h"
#include "base/error.h"

/* With this factor honest products of zero-mean data stay below a third of the
 * tolerance at any size from 64 on: their rounding errors have random signs and
 * grow with the root of the block only. */
#define FREIVALDS_K      1.0
#define FREIVALDS_BLOCKS 16
#define FREIVALDS_ROUNDS 2

struct freivalds {
	int blocks, width;  /* of columns; the last block may be wider */
	double *y;          /* A (B X), m rows of blocks x rounds */
	double *tolerance;  /* m rows of blocks */
	signed char *signs; /* rounds x n of +1, -1 */
};

struct freivalds_result {
	int64_t checked; /* row-block sums compared */
	int64_t wrong;
	int row; /* of the first wrong one, -1: none */
	int first_column, last_column;
	double worst; /* largest |C X - A (B X)| / tolerance; infinite for NaN */
};

/* Computes the right sides in FP64 from A and B as they are on the device.
 * FP64 and FP32 only (ST_UNSUPPORTED). Release even after a failure. */
enum status freivalds_init(struct freivalds *f, struct device *dev, const struct device_gemm *job,
                           uint64_t seed, struct error *err);
/* Adds what is found in C to *result (zeroed, row -1, before the first). */
enum status freivalds_check(const struct freivalds *f, struct device *dev,
                            const struct device_gemm *job, struct freivalds_result *result,
                            struct error *err);
void freivalds_release(struct freivalds *f);

#endif
