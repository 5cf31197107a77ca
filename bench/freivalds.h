/* Is C = A B right? Freivalds' check: C X must equal A (B X) for random signs
 * X, which costs n^2 operations instead of n^3 and shares no code with the
 * library that made C (R. Freivalds, IFIP 1977).
 *
 * The columns of C are cut into blocks and each sign vector covers one block,
 * twice over with other signs. So every element of a row counts, the place of an
 * error is known to a row and a block, and the tolerance of a row,
 *
 *	FREIVALDS_K x eps x (|A| |B| |x|)
 *
 * sums rounding over one block only, which lets small errors stand out. eps is
 * that of the sums: FP32's for all formats but FP64. What else is rounded has
 * random signs, so it adds by squares:
 *
 *	results   4 eps_out x root(sum of c^2 over the block), for 16-bit results; for
 *	          FP8 eps_out is that of its short sums (fast accumulation)
 *	operands  8 eps_in x root(A^2 B^2 x^2), TF32 alone: others come as they are */
#ifndef ASSAY_BENCH_FREIVALDS_H
#define ASSAY_BENCH_FREIVALDS_H

#include <stdint.h>

#include "assay/device.h"
#include "base/error.h"

/* With this factor honest products of zero-mean data stay below a third of the
 * tolerance at any size from 64 on: their rounding errors have random signs and
 * grow with the root of the block only. */
#define FREIVALDS_K           1.0
#define FREIVALDS_BLOCKS      16 /* where all rows are checked */
#define FREIVALDS_MOST_BLOCKS 256
#define FREIVALDS_ROUNDS      2

struct freivalds {
	int blocks, width;  /* of columns; the last block may be wider */
	int n_rows;         /* that are checked */
	int *rows;          /* which, ascending */
	double *y;          /* A (B X), a row of blocks x rounds for each */
	double *tolerance;  /* a row of blocks for each */
	signed char *signs; /* rounds x n of +1, -1 */
};

struct freivalds_result {
	int64_t checked; /* row-block sums compared */
	int64_t wrong;
	int row; /* of the first wrong one, -1: none */
	int first_column, last_column;
	double worst; /* largest |C X - A (B X)| / tolerance; infinite for NaN */
};

/* Computes the right sides in FP64 from A and B as they are on the device, for
 * all rows. Release even after a failure. */
enum status freivalds_init(struct freivalds *f, struct device *dev, const struct device_gemm *job,
                           uint64_t seed, struct error *err);
/* The same for so many rows, one in each equal stretch of C at a random place,
 * and narrower blocks: for products whose m x k is too much for the host. */
enum status freivalds_sample(struct freivalds *f, struct device *dev, const struct device_gemm *job,
                             int rows, uint64_t seed, struct error *err);
/* Adds what is found in C to *result (zeroed, row -1, before the first). */
enum status freivalds_check(const struct freivalds *f, struct device *dev,
                            const struct device_gemm *job, struct freivalds_result *result,
                            struct error *err);
void freivalds_release(struct freivalds *f);

#endif
