/* The double of libcublas: products of the types that GemmEx takes. */
#include <stdlib.h>

#include "tests/standin/blas.h"

EXPORT extern const char assay_standin[];
const char assay_standin[] = "libcublas of tests/standin";

struct handle {
	struct card *card;
	struct stream *stream; /* NULL: the card's own */
	int math;
};

cublas_status cublasCreate_v2(cublas_handle *handle)
{
	int result = blas_start("cublasCreate_v2");
	struct handle *h;

	if (!result) {
		h = calloc(1, sizeof(*h));
		if (!h)
			node_bad("out of memory");
		h->card = current_card();
		*handle = (cublas_handle)h;
	}
	return machine_leave(result);
}

cublas_status cublasDestroy_v2(cublas_handle handle)
{
	int result = machine_enter("cublasDestroy_v2", NULL);

	if (!handle)
		result = CUBLAS_NOT_INITIALIZED;
	free(handle);
	return machine_leave(result);
}

cublas_status cublasSetStream_v2(cublas_handle handle, cu_stream stream)
{
	int result = machine_enter("cublasSetStream_v2", NULL);
	struct handle *h = (struct handle *)handle;
	struct stream *s = (struct stream *)stream;

	if (!result && (!h || (s && (!stream_valid(s) || s->card != h->card))))
		result = h ? CUBLAS_INVALID_VALUE : CUBLAS_NOT_INITIALIZED;
	if (!result)
		h->stream = s;
	return machine_leave(result);
}

cublas_status cublasSetWorkspace_v2(cublas_handle handle, void *workspace, size_t bytes)
{
	int result = machine_enter("cublasSetWorkspace_v2", NULL);

	if (!result && (!handle || !memory_at((device_ptr)(uintptr_t)workspace, bytes) ||
	                (uintptr_t)workspace % 256))
		result = handle ? CUBLAS_INVALID_VALUE : CUBLAS_NOT_INITIALIZED;
	return machine_leave(result);
}

cublas_status cublasSetMathMode(cublas_handle handle, cublas_math mode)
{
	int result = machine_enter("cublasSetMathMode", NULL);

	if (!result && !handle)
		result = CUBLAS_NOT_INITIALIZED;
	if (!result)
		((struct handle *)handle)->math = mode;
	return machine_leave(result);
}

cublas_status cublasGetProperty(cublas_property property, int *value)
{
	return blas_property("cublasGetProperty", property, value);
}

const char *cublasGetStatusString(cublas_status status)
{
	static const struct {
		const char *name;
		int status;
	} names[] = {
#define X(ours, theirs, value) {#theirs, value},
		CUBLAS_VALUES(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].status == status)
			return names[i].name;
	return "<unknown>";
}

/* Which products the real one takes; FP8 is cublasLt's. */
static bool takes(const struct gemm *g)
{
	bool half = g->type_a == CUDA_FP16 || g->type_a == CUDA_BF16;

	if (g->type_a != g->type_b || g->type_a == CUDA_FP8_E4M3 || g->type_a == CUDA_FP8_E5M2)
		return false;
	switch (g->compute) {
	case CUBLAS_COMPUTE_FP64:
	case CUBLAS_COMPUTE_FP64_PEDANTIC:
		return g->type_a == CUDA_FP64 && g->type_c == CUDA_FP64;
	case CUBLAS_COMPUTE_FP16:
		return g->type_a == CUDA_FP16 && g->type_c == CUDA_FP16;
	case CUBLAS_COMPUTE_TF32:
		return g->type_a == CUDA_FP32 && g->type_c == CUDA_FP32;
	case CUBLAS_COMPUTE_FP32:
	case CUBLAS_COMPUTE_FP32_PEDANTIC:
		return (g->type_a == CUDA_FP32 && g->type_c == CUDA_FP32) ||
		       (half && (g->type_c == g->type_a || g->type_c == CUDA_FP32));
	default:
		return false;
	}
}

static int scale_type(int compute)
{
	return compute == CUBLAS_COMPUTE_FP64 || compute == CUBLAS_COMPUTE_FP64_PEDANTIC ? CUDA_FP64
	       : compute == CUBLAS_COMPUTE_FP16                                          ? CUDA_FP16
	                                        : CUDA_FP32;
}

cublas_status cublasGemmEx(cublas_handle handle, cublas_operation trans_a, cublas_operation trans_b,
                           int m, int n, int k, const void *alpha, const void *a, cuda_type type_a,
                           int lda, const void *b, cuda_type type_b, int ldb, const void *beta,
                           void *c, cuda_type type_c, int ldc, cublas_compute compute,
                           cublas_algo algo)
{
	struct handle *h = (struct handle *)handle;
	int result = machine_enter("cublasGemmEx", h ? h->card : NULL);
	device_ptr to = (device_ptr)(uintptr_t)c;
	struct gemm g = {trans_a,
	                 trans_b,
	                 m,
	                 n,
	                 k,
	                 lda,
	                 ldb,
	                 ldc,
	                 ldc,
	                 type_a,
	                 type_b,
	                 type_c,
	                 type_c,
	                 compute,
	                 0,
	                 0,
	                 (device_ptr)(uintptr_t)a,
	                 (device_ptr)(uintptr_t)b,
	                 to,
	                 to,
	                 0,
	                 0};

	(void)algo;
	if (!result && (!h || !alpha || !beta))
		result = h ? CUBLAS_INVALID_VALUE : CUBLAS_NOT_INITIALIZED;
	if (!result)
		h->card->calls++;
	if (!result && (current_card() != h->card || h->card->sticky || card_lost(h->card)))
		result = CUBLAS_EXECUTION_FAILED;
	if (!result && !takes(&g))
		result = CUBLAS_NOT_SUPPORTED;
	if (!result) {
		g.alpha = blas_scalar(scale_type(compute), alpha);
		g.beta = blas_scalar(scale_type(compute), beta);
		result = blas_status(gemm_submit(h->stream ? h->stream : stream_of(NULL), &g));
	}
	return machine_leave(result);
}
