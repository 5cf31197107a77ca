/* Libraries that have NVIDIA's functions and do nothing: what the loader meets
 * when a function is missing (renamed by -D), old, or a stand-in's. One of
 * NCCL, CUBLAS, CUBLASLT is defined; MAJOR is the version it says. */
#include "hw/gpu_abi.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"

#define DEFINE(slot, symbol, need, result, params)                                                 \
	result symbol params                                                                       \
	{                                                                                          \
		return 0;                                                                          \
	}

#ifdef NCCL
const char *assay_standin = "double";

#define ncclGetVersion not_this
NCCL_SYMBOLS(DEFINE)
#undef ncclGetVersion
nccl_result ncclGetVersion(int *version)
{
	*version = MAJOR;
	return NCCL_OK;
}
#endif

#ifdef CUBLAS
#define cublasGetProperty not_this
CUBLAS_SYMBOLS(DEFINE)
#undef cublasGetProperty
cublas_status cublasGetProperty(cublas_property property, int *value)
{
	*value = property == CUBLAS_PROPERTY_MAJOR ? MAJOR : property;
	return CUBLAS_OK;
}
#endif

#ifdef CUBLASLT
#define cublasLtGetProperty not_this
CUBLASLT_SYMBOLS(DEFINE)
#undef cublasLtGetProperty
cublas_status cublasLtGetProperty(cublas_property property, int *value)
{
	*value = property == CUBLAS_PROPERTY_MAJOR ? MAJOR : property;
	return CUBLAS_OK;
}
#endif
