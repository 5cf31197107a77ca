/* What all back ends of assay/device.h share: number formats, their names and
 * their values on the host, where results are checked. */
#include "assay/device.h"

#include <math.h>
#include <string.h>

const char *number_format_name(enum number_format format)
{
	static const char *const names[] = {
#define X(name, text, bytes) text,
		NUMBER_FORMAT_LIST(X)
#undef X
	};

	return (unsigned)format < NUMBER_FORMATS ? names[format] : "?";
}

size_t number_format_bytes(enum number_format format)
{
	static const size_t sizes[] = {
#define X(name, text, bytes) bytes,
		NUMBER_FORMAT_LIST(X)
#undef X
	};

	return (unsigned)format < NUMBER_FORMATS ? sizes[format] : 0;
}

enum number_format number_format_result(enum number_format format)
{
	return format == NUMBER_FP8 ? NUMBER_BF16 : format;
}

/* An IEEE number of few bits. E4M3 spends its highest exponent on numbers: only
 * all ones is NaN there, and there is no infinity. */
static double narrow_value(unsigned bits, int exponent_bits, int fraction_bits)
{
	unsigned fraction = bits & ((1U << fraction_bits) - 1);
	int top = (1 << exponent_bits) - 1, bias = top >> 1;
	int exponent = (int)(bits >> fraction_bits) & top;
	double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;

	if (exponent == top && exponent_bits == 4 && fraction == 7)
		return NAN;
	if (exponent == top && exponent_bits != 4)
		return fraction ? NAN : sign * INFINITY;
	if (exponent == 0)
		return sign * ldexp(fraction, 1 - bias - fraction_bits);
	return sign * ldexp(fraction + (1U << fraction_bits), exponent - bias - fraction_bits);
}

static void decode_bf16(const uint16_t *from, double *to, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t bits = (uint32_t)from[i] << 16;
		float value;

		memcpy(&value, &bits, sizeof(value));
		to[i] = value;
	}
}

void number_format_decode(enum number_format format, const void *from, double *to, size_t n)
{
	switch (format) {
	case NUMBER_FP64:
		memcpy(to, from, n * sizeof(*to));
		break;
	case NUMBER_FP32:
	case NUMBER_TF32:
		for (size_t i = 0; i < n; i++)
			to[i] = ((const float *)from)[i];
		break;
	case NUMBER_FP16:
		for (size_t i = 0; i < n; i++)
			to[i] = narrow_value(((const uint16_t *)from)[i], 5, 10);
		break;
	case NUMBER_BF16:
		decode_bf16(from, to, n);
		break;
	default:
		for (size_t i = 0; i < n; i++)
			to[i] = narrow_value(((const uint8_t *)from)[i], 4, 3);
		break;
	}
}
