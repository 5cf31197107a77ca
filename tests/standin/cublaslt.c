/* The double of libcublasLt, as far as FP8 products need it: TN layout, scales
 * on the card, one algorithm that the heuristic hands out. */
#include <stdlib.h>
#include <string.h>

#define STANDIN_LT
#include "tests/standin/blas.h"

EXPORT extern const char assay_standin[];
const char assay_standin[] = "libcublasLt of tests/standin";

#define ALGO 0x55

/* Attributes that are taken and not all callers know. */
enum { A_SCALE = 17, B_SCALE = 18, D_SCALE = 20 };

struct desc {
	int compute, scale;
	int32_t trans_a, trans_b;
	void *scale_a, *scale_b, *scale_d;
	int8_t fast;
};

struct layout {
	int type;
	uint64_t rows, columns;
	int64_t ld;
};

static int give(const char *call, void **out, size_t bytes, const void *from)
{
	int result = machine_enter(call, NULL);

	if (!result && !(*out = malloc(bytes)))
		result = CUBLAS_ALLOC_FAILED;
	if (!result)
		memcpy(*out, from, bytes);
	return machine_leave(result);
}

cublas_status cublasLtCreate(cublaslt_handle *handle)
{
	int result = blas_start("cublasLtCreate");

	if (!result && !(*handle = calloc(1, 16)))
		result = CUBLAS_ALLOC_FAILED;
	return machine_leave(result);
}

cublas_status cublasLtDestroy(cublaslt_handle handle)
{
	free(handle);
	return CUBLAS_OK;
}

cublas_status cublasLtGetProperty(cublas_property property, int *value)
{
	return blas_property("cublasLtGetProperty", property, value);
}

cublas_status cublasLtMatmulDescCreate(cublaslt_desc *desc, cublas_compute compute, cuda_type scale)
{
	return give("cublasLtMatmulDescCreate", (void **)desc, sizeof(struct desc),
	            &(struct desc){.compute = compute, .scale = scale});
}

cublas_status cublasLtMatmulDescDestroy(cublaslt_desc desc)
{
	free(desc);
	return CUBLAS_OK;
}

cublas_status cublasLtMatmulDescSetAttribute(cublaslt_desc desc, cublaslt_desc_attr attribute,
                                             const void *value, size_t bytes)
{
	struct desc *d = (struct desc *)desc;
	const struct {
		int attribute;
		void *at;
		size_t bytes;
	} places[] = {
		{CUBLASLT_TRANS_A, &d->trans_a, sizeof(d->trans_a)},
		{CUBLASLT_TRANS_B, &d->trans_b, sizeof(d->trans_b)},
		{A_SCALE, &d->scale_a, sizeof(d->scale_a)},
		{B_SCALE, &d->scale_b, sizeof(d->scale_b)},
		{D_SCALE, &d->scale_d, sizeof(d->scale_d)},
		{CUBLASLT_FAST_ACCUMULATION, &d->fast, sizeof(d->fast)},
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (places[i].attribute == attribute && places[i].bytes == bytes) {
			memcpy(places[i].at, value, bytes);
			return CUBLAS_OK;
		}
	return CUBLAS_INVALID_VALUE;
}

cublas_status cublasLtMatrixLayoutCreate(cublaslt_layout *layout, cuda_type type, uint64_t rows,
                                         uint64_t columns, int64_t ld)
{
	return give("cublasLtMatrixLayoutCreate", (void **)layout, sizeof(struct layout),
	            &(struct layout){type, rows, columns, ld});
}

cublas_status cublasLtMatrixLayoutDestroy(cublaslt_layout layout)
{
	free(layout);
	return CUBLAS_OK;
}

cublas_status cublasLtMatmulPreferenceCreate(cublaslt_pref *preference)
{
	return give("cublasLtMatmulPreferenceCreate", (void **)preference, sizeof(uint64_t),
	            &(uint64_t){0});
}

cublas_status cublasLtMatmulPreferenceDestroy(cublaslt_pref preference)
{
	free(preference);
	return CUBLAS_OK;
}

cublas_status cublasLtMatmulPreferenceSetAttribute(cublaslt_pref preference,
                                                   cublaslt_pref_attr attribute, const void *value,
                                                   size_t bytes)
{
	if (attribute != CUBLASLT_MAX_WORKSPACE || bytes != sizeof(uint64_t))
		return CUBLAS_INVALID_VALUE;
	memcpy(preference, value, bytes);
	return CUBLAS_OK;
}

/* What Ada and Hopper ask of FP8, and shapes that belong together. */
static int check(const struct desc *d, const struct layout *a, const struct layout *b,
                 const struct layout *c, const struct layout *to, struct gemm *g)
{
	bool fp8 = type_bytes(a->type) == 1 && type_bytes(b->type) == 1;

	*g = (struct gemm){.trans_a = d->trans_a,
	                   .trans_b = d->trans_b,
	                   .m = (int)to->rows,
	                   .n = (int)to->columns,
	                   .k = (int)(d->trans_a ? a->rows : a->columns),
	                   .lda = (int)a->ld,
	                   .ldb = (int)b->ld,
	                   .ldc = (int)c->ld,
	                   .ldd = (int)to->ld,
	                   .type_a = a->type,
	                   .type_b = b->type,
	                   .type_c = c->type,
	                   .type_d = to->type,
	                   .compute = d->compute,
	                   .scale_a = (device_ptr)(uintptr_t)d->scale_a,
	                   .scale_b = (device_ptr)(uintptr_t)d->scale_b};
	if ((d->trans_a ? a->columns : a->rows) != to->rows ||
	    (d->trans_b ? b->rows : b->columns) != to->columns ||
	    (int)(d->trans_b ? b->columns : b->rows) != g->k)
		return CUBLAS_INVALID_VALUE;
	if (fp8 && (!d->trans_a || d->trans_b || g->m % 16 || g->n % 16 || g->k % 16 ||
	            d->compute != CUBLAS_COMPUTE_FP32))
		return CUBLAS_NOT_SUPPORTED;
	return gemm_rate(g, current_card()) == RATES ? CUBLAS_NOT_SUPPORTED : CUBLAS_OK;
}

cublas_status cublasLtMatmulAlgoGetHeuristic(cublaslt_handle handle, cublaslt_desc desc,
                                             cublaslt_layout a, cublaslt_layout b,
                                             cublaslt_layout c, cublaslt_layout d,
                                             cublaslt_pref preference, int wanted,
                                             cublaslt_choice *choices, int *found)
{
	int result = machine_enter("cublasLtMatmulAlgoGetHeuristic", current_card());
	struct gemm g;

	*found = 0;
	if (!result && (!handle || !preference || wanted < 1 || !current_card()))
		result = CUBLAS_INVALID_VALUE;
	if (!result)
		result = check((void *)desc, (void *)a, (void *)b, (void *)c, (void *)d, &g);
	if (!result) {
		memset(choices, 0, sizeof(*choices));
		choices->algo.data[0] = ALGO;
		choices->waves = 1;
		*found = 1;
	}
	return machine_leave(result);
}

cublas_status cublasLtMatmul(cublaslt_handle handle, cublaslt_desc desc, const void *alpha,
                             const void *a, cublaslt_layout layout_a, const void *b,
                             cublaslt_layout layout_b, const void *beta, const void *c,
                             cublaslt_layout layout_c, void *d, cublaslt_layout layout_d,
                             const cublaslt_algo *algo, void *workspace, size_t workspace_bytes,
                             cu_stream stream)
{
	struct card *card = current_card();
	int result = machine_enter("cublasLtMatmul", card);
	struct stream *s = stream_of(stream);
	struct gemm g;

	if (!result &&
	    (!handle || !card || !s || s->card != card || !alpha || !beta ||
	     (algo && algo->data[0] != ALGO) || (uintptr_t)a % 16 || (uintptr_t)b % 16 ||
	     (workspace_bytes && !memory_at((device_ptr)(uintptr_t)workspace, workspace_bytes))))
		result = CUBLAS_INVALID_VALUE;
	if (!result)
		card->calls++;
	if (!result && (card->sticky || card_lost(card)))
		result = CUBLAS_EXECUTION_FAILED;
	if (!result)
		result = check((void *)desc, (void *)layout_a, (void *)layout_b, (void *)layout_c,
		               (void *)layout_d, &g);
	if (!result) {
		int scale = ((struct desc *)desc)->scale;

		g.a = (device_ptr)(uintptr_t)a;
		g.b = (device_ptr)(uintptr_t)b;
		g.c = (device_ptr)(uintptr_t)c;
		g.d = (device_ptr)(uintptr_t)d;
		g.alpha = blas_scalar(scale, alpha);
		g.beta = blas_scalar(scale, beta);
		result = blas_status(gemm_submit(s, &g));
	}
	return machine_leave(result);
}
