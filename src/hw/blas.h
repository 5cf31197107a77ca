/* Matrix multiplication by whatever tuned CPU BLAS the machine has: OpenBLAS,
 * BLIS or MKL. The reference BLAS is not taken: its figures would say nothing
 * about the machine. */
#ifndef ASSAY_HW_BLAS_H
#define ASSAY_HW_BLAS_H

#include "hw/loader.h"

#define BLAS_FAMILIES 3 /* openblas, blis, mkl */

struct blas {
	struct library lib;
	const char *name;    /* "openblas" */
	const char *version; /* as the library says it, with its configuration */
	void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
	              const float *a, int lda, const float *b, int ldb, float beta, float *c,
	              int ldc);
	void (*dgemm)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
	              const double *a, int lda, const double *b, int ldb, double beta, double *c,
	              int ldc);
	void *set_threads, *get_threads; /* called through the functions below */
	bool wide_threads;               /* counts threads in 64 bits */
};

#define BLAS_ROW_MAJOR 101
#define BLAS_NO_TRANS  111

/* Opens one library of each family that is usable, or of the family named (NULL:
 * all), from dir alone if given. ST_NOTFOUND with an install hint when there is
 * none. Loading starts a library's threads, which inherit the caller's CPU
 * affinity: set it before. */
enum status blas_open(struct blas list[BLAS_FAMILIES], int *count, struct arena *arena,
                      const char *family, const char *dir, struct error *err);

void blas_set_threads(const struct blas *blas, int count);
/* What it will use: OpenBLAS is built for a highest number. 0: it does not say. */
int blas_threads(const struct blas *blas);

/* Path of the first library blas_open would try, NULL: none. Opens nothing. */
const char *blas_find(struct arena *arena, const char *dir);

#endif
