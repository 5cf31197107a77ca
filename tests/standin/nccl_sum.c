/* Element types and reductions of the NCCL double. Sums are in the order of
 * ranks, in double for the narrow floats, so every rank gets the same bits. */
#include <string.h>

#include "tests/standin/nccl_world.h"

size_t nccl_type_bytes(int type)
{
	static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

	return type >= 0 && type <= NCCL_BF16 ? sizes[type] : 0;
}

#define FOLD(ctype)                                                                                \
	do {                                                                                       \
		for (size_t i = 0; i < count; i++) {                                               \
			ctype sum = ((const ctype *)in[0])[i];                                     \
                                                                                                   \
			for (int r = 1; r < n; r++) {                                              \
				ctype x = ((const ctype *)in[r])[i];                               \
                                                                                                   \
				sum = operation == NCCL_SUM                  ? (ctype)(sum + x)    \
				      : (operation == NCCL_MAX) == (x > sum) ? x                   \
				                                             : sum;                \
			}                                                                          \
			((ctype *)out)[i] = sum;                                                   \
		}                                                                                  \
	} while (0)

static void fold_narrow(void *out, const void *const *in, int n, size_t count, int type,
                        int operation)
{
	int format = type == NCCL_FP16 ? CUDA_FP16 : CUDA_BF16;

	for (size_t i = 0; i < count; i++) {
		double sum = type_read(format, in[0], i);

		for (int r = 1; r < n; r++) {
			double x = type_read(format, in[r], i);

			sum = operation == NCCL_SUM                  ? sum + x
			      : (operation == NCCL_MAX) == (x > sum) ? x
			                                             : sum;
		}
		type_write(format, out, i, sum);
	}
}

void nccl_reduce(void *out, const void *const *in, int n, size_t count, int type, int operation)
{
	switch (type) {
	case NCCL_FP32:
		FOLD(float);
		break;
	case NCCL_FP64:
		FOLD(double);
		break;
	case NCCL_INT32:
		FOLD(int32_t);
		break;
	case NCCL_UINT32:
		FOLD(uint32_t);
		break;
	case NCCL_INT64:
		FOLD(int64_t);
		break;
	case NCCL_UINT64:
		FOLD(uint64_t);
		break;
	case NCCL_FP16:
	case NCCL_BF16:
		fold_narrow(out, in, n, count, type, operation);
		break;
	default:
		FOLD(uint8_t);
		break;
	}
}

void nccl_spoil(void *out, int type)
{
	size_t bytes = nccl_type_bytes(type);

	/* The highest bit below the sign: never lost in rounding. */
	((unsigned char *)out)[bytes - 1] ^= 0x40;
}
