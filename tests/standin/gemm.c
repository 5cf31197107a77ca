/* Matrix multiplication as the cuBLAS doubles need it: real arithmetic, done
 * once for equal inputs, charged at the card's rate. Faults of results come
 * after the arithmetic. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hw/gpu_abi.h"
#include "tests/standin/standin.h"

#define INT8_TYPE 3

enum rate gemm_rate(const struct gemm *g, const struct card *card)
{
	enum rate rate = RATES;

	if (g->compute == CUBLAS_COMPUTE_FP64)
		rate = card->rate[RATE_FP64_TENSOR] > 0 ? RATE_FP64_TENSOR : RATE_FP64;
	else if (g->compute == CUBLAS_COMPUTE_FP64_PEDANTIC)
		rate = RATE_FP64;
	else if (g->type_a == CUDA_FP8_E4M3 || g->type_a == CUDA_FP8_E5M2)
		rate = RATE_FP8;
	else if (g->type_a == CUDA_FP16)
		rate = RATE_FP16;
	else if (g->type_a == CUDA_BF16)
		rate = RATE_BF16;
	else if (g->type_a == INT8_TYPE)
		rate = RATE_INT8;
	else if (g->compute == CUBLAS_COMPUTE_TF32)
		rate = RATE_TF32;
	else if (g->type_a == CUDA_FP32)
		rate = RATE_FP32;
	if (rate == RATE_FP32 && card->rate[RATE_TF32] > 0 &&
	    fault_of(FAULT_TF32_AS_FP32, card->index))
		rate = RATE_TF32;
	return rate == RATES || card->rate[rate] <= 0 ? RATES : rate;
}

/* TF32 has 10 bits of fraction; to nearest even. */
static float to_tf32(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, 4);
	if ((bits >> 23 & 0xff) != 0xff)
		bits += 0xfff + (bits >> 13 & 1);
	bits &= ~0x1fffu;
	memcpy(&value, &bits, 4);
	return value;
}

/* op(X) of rows x columns, packed column by column. */
static void *unpack(const void *x, int type, bool trans, int ld, int rows, int columns, bool wide,
                    bool tf32)
{
	size_t count = (size_t)rows * (size_t)columns, n = 0;
	double *d = malloc(count * sizeof(double));
	float *f = (float *)d;

	if (!d)
		node_bad("out of memory");
	for (int j = 0; j < columns; j++)
		for (int i = 0; i < rows; i++, n++) {
			size_t at = trans ? (size_t)i * (size_t)ld + (size_t)j
			                  : (size_t)j * (size_t)ld + (size_t)i;
			double value = type_read(type, x, at);

			if (wide)
				d[n] = value;
			else
				f[n] = tf32 ? to_tf32((float)value) : (float)value;
		}
	return d;
}

#define COLUMN(real, a, b, sum)                                                                    \
	do {                                                                                       \
		const real *pa = a, *pb = (const real *)b + (size_t)j * (size_t)g->k;              \
		real *ps = sum;                                                                    \
                                                                                                   \
		memset(ps, 0, (size_t)g->m * sizeof(*ps));                                         \
		for (int k = 0; k < g->k; k++, pa += g->m)                                         \
			for (int i = 0; i < g->m; i++)                                             \
				ps[i] += pa[i] * pb[k];                                            \
	} while (0)

static float scale_of(device_ptr p)
{
	const float *scale = p ? memory_at(p, sizeof(float)) : NULL;

	return scale ? *scale : 1;
}

static void compute(const struct gemm *g, bool tf32, const void *c, void *out)
{
	bool wide = g->compute == CUBLAS_COMPUTE_FP64 || g->compute == CUBLAS_COMPUTE_FP64_PEDANTIC;
	size_t bytes_a = type_bytes(g->type_a), bytes_b = type_bytes(g->type_b);
	void *a = unpack(memory_at(g->a, bytes_a), g->type_a, g->trans_a, g->lda, g->m, g->k, wide,
	                 tf32);
	void *b = unpack(memory_at(g->b, bytes_b), g->type_b, g->trans_b, g->ldb, g->k, g->n, wide,
	                 tf32);
	double *sum = malloc((size_t)g->m * sizeof(double));
	double scale = g->alpha * (double)scale_of(g->scale_a) * (double)scale_of(g->scale_b);

	if (!sum)
		node_bad("out of memory");
	for (int j = 0; j < g->n; j++) {
		if (wide)
			COLUMN(double, a, b, sum);
		else
			COLUMN(float, a, b, (float *)sum);
		for (int i = 0; i < g->m; i++) {
			size_t at_c = (size_t)j * (size_t)g->ldc + (size_t)i;
			double value = scale * (wide ? sum[i] : (double)((float *)sum)[i]);

			if (g->beta != 0)
				value += g->beta * type_read(g->type_c, c, at_c);
			type_write(g->type_d, out, (size_t)j * (size_t)g->ldd + (size_t)i, value);
		}
	}
	free(a);
	free(b);
	free(sum);
}

/* --- faults of results ---------------------------------------------------------------- */

static void spoil(const struct fault *f, const struct gemm *g, unsigned char *out)
{
	size_t size = type_bytes(g->type_d);
	int i = g->m / 2, j = g->n / 3, tile = strcmp(f->word2, "tile") == 0 ? 16 : 1;

	for (int x = i; x < i + tile && x < g->m; x++)
		for (int y = j; y < j + tile && y < g->n; y++) {
			size_t at = (size_t)y * (size_t)g->ldd + (size_t)x;

			if (strcmp(f->word2, "nan") == 0)
				type_write(g->type_d, out, at, NAN);
			else if (tile > 1)
				type_write(g->type_d, out, at,
				           2 * type_read(g->type_d, out, at) + 1);
			else
				out[at * size + (size_t)f->number / 8 % size] ^=
					(unsigned char)(1u << f->number % 8);
		}
}

static const char *rate_word(enum rate rate)
{
#define X(name, text) text,
	static const char *const names[] = {RATE_LIST(X)};
#undef X
	return names[rate];
}

static const struct fault *wrong_now(struct card *card, enum rate rate)
{
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_WRONG, card->index));)
		if ((!*f->word || strcmp(f->word, rate_word(rate)) == 0) && fault_strikes(f))
			return f;
	return NULL;
}

/* --- the op ------------------------------------------------------------------------------- */

static size_t span(bool trans, int rows, int columns, int ld, int type)
{
	int r = trans ? columns : rows, c = trans ? rows : columns;

	return ((size_t)(c - 1) * (size_t)ld + (size_t)r) * type_bytes(type);
}

static size_t span_a(const struct gemm *g)
{
	return span(g->trans_a, g->m, g->k, g->lda, g->type_a);
}
static size_t span_b(const struct gemm *g)
{
	return span(g->trans_b, g->k, g->n, g->ldb, g->type_b);
}
static size_t span_c(const struct gemm *g)
{
	return span(false, g->m, g->n, g->ldc, g->type_c);
}
static size_t span_d(const struct gemm *g)
{
	return span(false, g->m, g->n, g->ldd, g->type_d);
}

static uint64_t result_tag(const struct gemm *g, enum rate rate)
{
	struct gemm shape = *g;
	float scales[2] = {scale_of(g->scale_a), scale_of(g->scale_b)};
	uint64_t tag;

	shape.a = shape.b = shape.c = shape.d = shape.scale_a = shape.scale_b = 0;
	tag = hash64(content_digest(&shape, sizeof(shape)), (uint64_t)rate);
	tag = hash64(tag, content_digest(scales, sizeof(scales)));
	tag = hash64(tag, content_tag(g->a, span_a(g)));
	tag = hash64(tag, content_tag(g->b, span_b(g)));
	return g->beta != 0 ? hash64(tag, content_tag(g->c, span_c(g))) : tag;
}

static void produce(struct card *card, const struct gemm *g, enum rate rate)
{
	const struct fault *wrong = wrong_now(card, rate);
	uint64_t right = result_tag(g, rate), tag = right;
	size_t bytes = span_d(g);
	const void *known;
	unsigned char *out = memory_at(g->d, bytes);
	bool packed = g->ldd == g->m;

	if (wrong)
		tag = hash64(right, 0xbad + (uint64_t)(wrong - node.faults));
	if (packed && content_is(g->d, bytes, tag))
		return;
	known = packed ? content_find(right, bytes) : NULL;
	if (known)
		memmove(out, known, bytes);
	else
		compute(g, rate == RATE_TF32, g->beta != 0 ? memory_at(g->c, 1) : NULL, out);
	if (wrong)
		spoil(wrong, g, out);
	memory_wrote(g->d, bytes);
	if (packed)
		content_set(g->d, bytes, tag);
}

static double run_gemm(struct op *op, double start)
{
	const struct gemm *g = op->data;
	struct card *card = op->stream->card;
	enum rate rate = gemm_rate(g, card);

	if (!memory_at(g->a, span_a(g)) || !memory_at(g->b, span_b(g)) ||
	    !memory_at(g->d, span_d(g)) || (g->beta != 0 && !memory_at(g->c, span_c(g)))) {
		card->sticky = 700;
		return start;
	}
	card->gemms++;
	produce(card, g, rate);
	return card_end(card, rate, start,
	                2.0 * g->m * g->n * g->k / card->rate[rate] + node.kernel_ns);
}

int gemm_submit(struct stream *s, const struct gemm *g)
{
	struct op *op;

	if (g->m <= 0 || g->n <= 0 || g->k <= 0 || g->lda < (g->trans_a ? g->k : g->m) ||
	    g->ldb < (g->trans_b ? g->n : g->k) || g->ldc < g->m || g->ldd < g->m)
		return 1;
	if (gemm_rate(g, s->card) == RATES)
		return 15;
	/* Where the library would read past its matrices, it is told at once. */
	if (!memory_at(g->a, span_a(g)) || !memory_at(g->b, span_b(g)) ||
	    !memory_at(g->d, span_d(g)))
		return 700;
	op = op_new(s, run_gemm, sizeof(*g));
	*(struct gemm *)op->data = *g;
	op->uses[0] = &s->card->sm_free;
	op_submit(op);
	return 0;
}
