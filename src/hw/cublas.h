/* libcublas and libcublasLt: the products. cuBLAS for all formats but FP8,
 * which only cublasLt takes. Both need the driver loaded and the card's primary
 * context current. Loading half a gigabyte from a cold disk takes a minute:
 * never inside a timed region. */
#ifndef ASSAY_HW_CUBLAS_H
#define ASSAY_HW_CUBLAS_H

#include "hw/gpu_lib.h"

struct cublas {
	struct library lib;
	struct cublas_calls call;
	struct library lt; /* handle NULL: not there or unusable, lt_why says it */
	struct cublaslt_calls lt_call;
	const char *lt_why;
	cublas_status code; /* of the last call that failed */
	const struct gpu_cause *fault;
};

/* Opens the newest cuBLAS that is not above the driver's CUDA (driver_version
 * as cuDriverGetVersion gives it: 12040 is 12.4) and not below 11, then the
 * cublasLt beside it. ST_NOTFOUND, ST_UNSUPPORTED as library_search, also for a
 * driver older than CUDA 11. Without cublasLt all but FP8 works. */
enum status cublas_open(struct cublas *cublas, struct arena *arena, const struct gpu_search *where,
                        int driver_version, struct error *err);

/* ST_OK for CUBLAS_OK; else err by cause. `call` is the function's name. */
enum status cublas_check(struct cublas *cublas, cublas_status code, const char *call,
                         struct error *err);
const struct gpu_cause *cublas_cause(cublas_status code);

/* C = A B as cublasLt takes it, for FP8: both operands E4M3, the result BF16,
 * FP32 accumulation, A transposed, as Ada and Hopper want it. Column-major: A
 * is k x m, B k x n, C m x n; scales of 1. `workspace` is memory of the card.
 * `fast`: sums of fewer bits, as the rated figures have them. */
struct cublaslt_product {
	int m, n, k;
	bool fast;
	cu_ptr a, b, c;
	cu_ptr workspace;
	size_t workspace_bytes;
};
struct cublaslt_plan {
	cublaslt_desc desc;
	cublaslt_layout a, b, c;
	cublaslt_algo algo;
	size_t workspace; /* bytes that the algorithm uses */
};
/* Asks for the library's first choice once, outside the timed loop. */
enum status cublaslt_plan_make(struct cublas *cublas, cublaslt_handle handle,
                               const struct cublaslt_product *product, struct cublaslt_plan *plan,
                               struct error *err);
enum status cublaslt_plan_run(struct cublas *cublas, cublaslt_handle handle,
                              const struct cublaslt_product *product,
                              const struct cublaslt_plan *plan, cu_stream stream,
                              struct error *err);
void cublaslt_plan_release(struct cublas *cublas, struct cublaslt_plan *plan);

#endif
