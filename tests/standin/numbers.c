/* Number formats of the cards, read into and written from doubles. Written
 * apart from the device code on purpose: a mistake there is not repeated. */
#include <math.h>
#include <string.h>

#include "hw/gpu_abi.h"
#include "tests/standin/standin.h"

enum { INT8 = 3, INT32 = 10 };

size_t type_bytes(int type)
{
	switch (type) {
	case CUDA_FP64:
		return 8;
	case CUDA_FP32:
	case INT32:
		return 4;
	case CUDA_FP16:
	case CUDA_BF16:
		return 2;
	case INT8:
	case CUDA_FP8_E4M3:
	case CUDA_FP8_E5M2:
		return 1;
	default:
		return 0;
	}
}

/* 2 to the power of a normal double. Multiplying by it is exact and, other than ldexp,
 * no call. */
static double power(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Where the leading one of a normal double is, as frexp says it. */
static int leading(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (int)(bits >> 52 & 0x7ff) - 1022;
}

/* Value of a small float with those field widths; all ones is NaN or infinity
 * except in E4M3, which has no infinity and one NaN. */
static double small_read(unsigned bits, int exponent_bits, int fraction_bits)
{
	int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
	int exponent = (int)(bits >> fraction_bits) & top;
	unsigned fraction = bits & ((1u << fraction_bits) - 1);
	double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;

	if (exponent_bits == 4 && exponent == top && fraction == 7)
		return NAN;
	if (exponent_bits != 4 && exponent == top)
		return fraction ? NAN : sign * INFINITY;
	if (exponent == 0)
		return sign * fraction * power(1 - bias - fraction_bits);
	return sign * (fraction + (double)(1u << fraction_bits)) *
	       power(exponent - bias - fraction_bits);
}

static unsigned small_write(double value, int exponent_bits, int fraction_bits)
{
	int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1, exponent;
	unsigned sign = signbit(value) ? 1u << (exponent_bits + fraction_bits) : 0;
	unsigned infinity = (unsigned)top << fraction_bits;
	double scaled;

	if (isnan(value))
		return exponent_bits == 4 ? 0x7f : infinity | 1u << (fraction_bits - 1);
	if (value == 0)
		return sign;
	exponent = leading(value);
	exponent = exponent - 1 + bias < 1 ? 1 : exponent - 1 + bias;
	/* The fraction with the leading one, as a whole number, to nearest even. */
	scaled = nearbyint(fabs(value) * power(fraction_bits - (exponent - bias)));
	if (!(scaled < 1048576))
		return sign | (exponent_bits == 4 ? 0x7e : infinity);
	scaled += (exponent - 1) * power(fraction_bits);
	if (exponent_bits == 4)
		return sign | (scaled > 0x7e ? 0x7e : (unsigned)scaled);
	return sign | (scaled >= infinity ? infinity : (unsigned)scaled);
}

double type_read(int type, const void *p, size_t i)
{
	const uint16_t *halves = p;
	const uint8_t *bytes = p;

	switch (type) {
	case CUDA_FP64:
		return ((const double *)p)[i];
	case CUDA_FP32:
		return (double)((const float *)p)[i];
	case CUDA_FP16:
		return small_read(halves[i], 5, 10);
	case CUDA_BF16:
		return small_read(halves[i], 8, 7);
	case CUDA_FP8_E4M3:
		return small_read(bytes[i], 4, 3);
	case CUDA_FP8_E5M2:
		return small_read(bytes[i], 5, 2);
	case INT32:
		return ((const int32_t *)p)[i];
	default:
		return ((const int8_t *)p)[i];
	}
}

void type_write(int type, void *p, size_t i, double value)
{
	switch (type) {
	case CUDA_FP64:
		((double *)p)[i] = value;
		break;
	case CUDA_FP32:
		((float *)p)[i] = (float)value;
		break;
	case CUDA_FP16:
		((uint16_t *)p)[i] = (uint16_t)small_write(value, 5, 10);
		break;
	case CUDA_BF16:
		((uint16_t *)p)[i] = (uint16_t)small_write(value, 8, 7);
		break;
	case CUDA_FP8_E4M3:
		((uint8_t *)p)[i] = (uint8_t)small_write(value, 4, 3);
		break;
	case CUDA_FP8_E5M2:
		((uint8_t *)p)[i] = (uint8_t)small_write(value, 5, 2);
		break;
	case INT32:
		((int32_t *)p)[i] = (int32_t)value;
		break;
	default:
		((int8_t *)p)[i] = (int8_t)value;
		break;
	}
}
