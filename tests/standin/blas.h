/* Between the doubles of libcublas and libcublasLt. */
#ifndef STANDIN_BLAS_H
#define STANDIN_BLAS_H

#include "hw/gpu_abi.h"
#include "tests/standin/standin.h"

#define DECLARE(slot, symbol, need, result, params) EXPORT result symbol params;
#ifdef STANDIN_LT
CUBLASLT_SYMBOLS(DECLARE)
#else
CUBLAS_SYMBOLS(DECLARE)
#endif
#undef DECLARE

/* Of what gemm_submit answers. */
static inline int blas_status(int result)
{
	switch (result) {
	case 0:
		return CUBLAS_OK;
	case 1:
		return CUBLAS_INVALID_VALUE;
	case 15:
		return CUBLAS_NOT_SUPPORTED;
	default:
		return CUBLAS_EXECUTION_FAILED;
	}
}

/* Alpha and beta come in the scale's type. */
static inline double blas_scalar(int type, const void *p)
{
	return p ? type_read(type, p, 0) : 0;
}

static inline int blas_property(const char *call, int property, int *value)
{
	int result = machine_enter(call, NULL), version = node.cublas;

	if (!result && (property < CUBLAS_PROPERTY_MAJOR || property > CUBLAS_PROPERTY_PATCH))
		result = CUBLAS_INVALID_VALUE;
	if (!result)
		*value = property == CUBLAS_PROPERTY_MAJOR   ? version / 10000
		         : property == CUBLAS_PROPERTY_MINOR ? version / 100 % 100
		                                             : version % 100;
	return machine_leave(result);
}

/* A library newer than the driver opens, and fails here. */
static inline int blas_start(const char *call)
{
	int result = machine_enter(call, NULL);

	if (!result && (!current_card() || node.cublas / 10000 > node.cuda / 1000))
		result = CUBLAS_NOT_INITIALIZED;
	return result;
}

#endif
