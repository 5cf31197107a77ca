/* The CUDA back end of assay/device.h: a card with its primary context, one
 * stream, Assay's device code and cuBLAS; FP8 by cublasLt. Everything goes into
 * that one stream, in order, which also keeps cuBLAS' results the same bit for
 * bit from run to run.
 *
 * Beside the operations of a device, work can be queued without waiting, which
 * is what timed windows are made of (bench/windows.h). An operation that fails
 * leaves its cause in fault: the outcome of what it was for. */
#ifndef ASSAY_HW_DEVICE_CUDA_H
#define ASSAY_HW_DEVICE_CUDA_H

#include "assay/device.h"
#include "hw/cublas.h"
#include "hw/cuda.h"

/* Device code as the caller has it. It has the kernels assay_ramp, assay_triad
 * and assay_triad_check. */
struct device_code {
	const char *ptx;
	int threads;       /* of a block */
	int blocks_per_sm; /* that fill a card */
};

struct device_cuda_request {
	struct cuda *cuda; /* started; outlives the device */
	const struct cuda_card *card;
	const struct gpu_search *where;
	struct device_code code;
	bool blas; /* load cuBLAS: without it the device multiplies nothing */
};

/* Members are for reading. */
struct device_cuda {
	struct device device;
	struct cuda *cuda;
	struct cuda_card card;
	struct device_code code;
	cu_context context;
	cu_stream stream;
	cu_event begin, end; /* of the operations that wait */
	cu_module module;
	cu_function ramp, triad, triad_check;
	struct cublas cublas;
	cublas_handle blas;
	cublaslt_handle lt; /* NULL: no FP8, lt_why says it */
	const char *lt_why;
	cu_ptr workspace; /* of cublasLt */
	size_t workspace_bytes;
	struct cublaslt_plan plan;
	int plan_m, plan_n, plan_k; /* what the plan is for; 0: none */
};

/* Errors are about this card alone. Texts of info go to the arena. */
enum status device_cuda_open(struct device_cuda **out, struct arena *arena,
                             const struct device_cuda_request *request, struct error *err);

/* The cause of what failed last, NULL: unknown or nothing. */
const struct gpu_cause *device_cuda_fault(const struct device_cuda *dev);
/* Before work whose failure is to have a cause of its own. */
void device_cuda_forget(struct device_cuda *dev);

/* A kernel of the device code. */
enum status device_cuda_kernel(struct device_cuda *dev, const char *name, cu_function *function,
                               struct error *err);
/* Queues it over the whole card, or with one thread. */
enum status device_cuda_wide(struct device_cuda *dev, cu_function function, void **arguments,
                             struct error *err);
enum status device_cuda_single(struct device_cuda *dev, cu_function function, void **arguments,
                               struct error *err);
/* Queues one product. */
enum status device_cuda_gemm(struct device_cuda *dev, const struct device_gemm *job,
                             struct error *err);
/* Waits for all that is queued. */
enum status device_cuda_wait(struct device_cuda *dev, struct error *err);

static inline cu_ptr device_cuda_address(const struct device_buffer *buffer)
{
	return (cu_ptr)(uintptr_t)buffer->data;
}

#endif
