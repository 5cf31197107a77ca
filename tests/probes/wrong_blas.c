/* A BLAS that is found and loaded like OpenBLAS and multiplies plainly. With
 * WRONG defined one element of each product is off by that much, with EVERY_ROW
 * one of each of its rows, as on a processor that computes wrongly. Fits row-major
 * calls without transposition. */
#include <stddef.h>

int openblas_get_num_threads(void);
void openblas_set_num_threads(int count);
const char *openblas_get_config(void);
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_dgemm(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c,
                 int ldc);

static int threads = 1;

int openblas_get_num_threads(void)
{
	return threads;
}

void openblas_set_num_threads(int count)
{
	threads = count;
}

const char *openblas_get_config(void)
{
	return "stand-in";
}

#ifdef EVERY_ROW
#define FIRST_WRONG 0
#define LAST_WRONG  ((size_t)m - 1)
#else
#define FIRST_WRONG ((size_t)m - 2)
#define LAST_WRONG  FIRST_WRONG
#endif

#define GEMM(name, type, wrong)                                                                    \
	void name(int order, int trans_a, int trans_b, int m, int n, int k, type alpha,            \
	          const type *a, int lda, const type *b, int ldb, type beta, type *c, int ldc)     \
	{                                                                                          \
		(void)order, (void)trans_a, (void)trans_b, (void)beta;                             \
		for (size_t i = 0; i < (size_t)m; i++)                                             \
			for (size_t j = 0; j < (size_t)n; j++) {                                   \
				type sum = 0;                                                      \
				for (size_t l = 0; l < (size_t)k; l++)                             \
					sum += a[i * (size_t)lda + l] * b[l * (size_t)ldb + j];    \
				c[i * (size_t)ldc + j] = alpha * sum;                              \
			}                                                                          \
		for (size_t i = FIRST_WRONG; i <= LAST_WRONG; i++)                                 \
			c[i * (size_t)ldc + (size_t)(n - 3)] += (type)(wrong);                     \
	}

GEMM(cblas_sgemm, float, WRONG)
GEMM(cblas_dgemm, double, WRONG)
