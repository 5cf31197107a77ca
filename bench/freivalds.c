/* Checking a matrix product without computing it again. */
#include "freivalds.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/rng.h"

#define LEAST_WIDTH 64 /* columns; narrower blocks would only cost time */

static void *allocate(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (!p)
		die_nomem();
	return p;
}

/* --- rows of a matrix on the device, as doubles ---------------------------------- */

struct row_reader {
	struct device *dev;
	enum number_format format;
	size_t columns;
	void *raw;
	double *row;
};

static void reader_init(struct row_reader *r, struct device *dev, enum number_format format,
                        int columns)
{
	*r = (struct row_reader){.dev = dev, .format = format, .columns = (size_t)columns};
	r->raw = allocate(r->columns, sizeof(double));
	r->row = allocate(r->columns, sizeof(double));
}

static void reader_release(struct row_reader *r)
{
	free(r->raw);
	free(r->row);
}

static enum status read_row(struct row_reader *r, const struct device_buffer *from, int index,
                            struct error *err)
{
	size_t bytes = r->columns * number_format_bytes(r->format);
	enum status st = r->dev->ops->read(r->dev, from, (size_t)index * bytes, r->raw, bytes, err);

	if (st == ST_OK)
		number_format_decode(r->format, r->raw, r->row, r->columns);
	return st;
}

/* --- sums ---------------------------------------------------------------------- */

static int block_end(const struct freivalds *f, int block, int n)
{
	return block == f->blocks - 1 ? n : (block + 1) * f->width;
}

/* sums[block x rounds + round] = sum over the block of row[j] x sign[j]. */
static void signed_sums(const struct freivalds *f, const double *row, int n, double *sums)
{
	for (int b = 0; b < f->blocks; b++) {
		int end = block_end(f, b, n);

		for (int r = 0; r < FREIVALDS_ROUNDS; r++) {
			const signed char *sign = f->signs + (size_t)r * (size_t)n;
			double sum = 0;

			for (int j = b * f->width; j < end; j++)
				sum += row[j] * sign[j];
			sums[b * FREIVALDS_ROUNDS + r] = sum;
		}
	}
}

/* What the tolerance is made of: |value|, or its square where rounding adds by
 * squares. */
static double weight(enum number_format format, double value)
{
	return format == NUMBER_TF32 ? value * value : fabs(value);
}

static void weight_sums(const struct freivalds *f, enum number_format format, const double *row,
                        int n, double *sums)
{
	for (int b = 0; b < f->blocks; b++) {
		double sum = 0;

		for (int j = b * f->width; j < block_end(f, b, n); j++)
			sum += weight(format, row[j]);
		sums[b] = sum;
	}
}

/* out[v] += factor x in[v] for each of count. */
static void add_scaled(double *restrict out, const double *restrict in, double factor, int count)
{
	for (int v = 0; v < count; v++)
		out[v] += factor * in[v];
}

/* From the sum of weights to the part of the tolerance that A and B decide. */
static double tolerance_of(enum number_format format, double weights)
{
	if (format == NUMBER_TF32)
		return 8 * 0x1p-10 * sqrt(weights);
	return FREIVALDS_K * (format == NUMBER_FP64 ? DBL_EPSILON : FLT_EPSILON) * weights;
}

static double result_epsilon(enum number_format format)
{
	switch (format) {
	case NUMBER_FP16:
		return 0x1p-11;
	case NUMBER_BF16:
		return 0x1p-8;
	case NUMBER_FP8:
		return 0x1p-5;
	default:
		return 0;
	}
}

/* z = B X and w = weight(B) |X|, k rows. FP8 has B by columns. */
static enum status sum_b(const struct freivalds *f, struct device *dev,
                         const struct device_gemm *job, double *z, double *w, struct error *err)
{
	bool by_columns = job->format == NUMBER_FP8;
	int vectors = f->blocks * FREIVALDS_ROUNDS, lines = by_columns ? job->n : job->k;
	struct row_reader reader;
	enum status st = ST_OK;

	reader_init(&reader, dev, job->format, by_columns ? job->k : job->n);
	for (int i = 0; i < lines && st == ST_OK; i++) {
		int b = i / f->width < f->blocks ? i / f->width : f->blocks - 1;

		st = read_row(&reader, job->b, i, err);
		if (st != ST_OK)
			break;
		if (!by_columns) {
			signed_sums(f, reader.row, job->n, z + (size_t)i * (size_t)vectors);
			weight_sums(f, job->format, reader.row, job->n,
			            w + (size_t)i * (size_t)f->blocks);
			continue;
		}
		for (int l = 0; l < job->k; l++) {
			double *to = z + (size_t)l * (size_t)vectors + b * FREIVALDS_ROUNDS;

			for (int r = 0; r < FREIVALDS_ROUNDS; r++)
				to[r] += reader.row[l] *
				         f->signs[(size_t)r * (size_t)job->n + (size_t)i];
			w[(size_t)l * (size_t)f->blocks + (size_t)b] +=
				weight(job->format, reader.row[l]);
		}
	}
	reader_release(&reader);
	return st;
}

/* y = A z and the tolerances from weight(A) w, for the rows that are checked. */
static enum status sum_a(struct freivalds *f, struct device *dev, const struct device_gemm *job,
                         const double *z, const double *w, struct error *err)
{
	int vectors = f->blocks * FREIVALDS_ROUNDS;
	struct row_reader reader;
	enum status st = ST_OK;

	reader_init(&reader, dev, job->format, job->k);
	for (int i = 0; i < f->n_rows && st == ST_OK; i++) {
		double *y = f->y + (size_t)i * (size_t)vectors;
		double *t = f->tolerance + (size_t)i * (size_t)f->blocks;

		st = read_row(&reader, job->a, f->rows[i], err);
		for (int l = 0; l < job->k && st == ST_OK; l++) {
			double a = reader.row[l];

			add_scaled(y, z + (size_t)l * (size_t)vectors, a, vectors);
			add_scaled(t, w + (size_t)l * (size_t)f->blocks, weight(job->format, a),
			           f->blocks);
		}
		for (int b = 0; b < f->blocks; b++)
			t[b] = tolerance_of(job->format, t[b]);
	}
	reader_release(&reader);
	return st;
}

/* One row in each of n_rows equal stretches. */
static void choose_rows(struct freivalds *f, int m, struct rng *rng)
{
	for (int i = 0; i < f->n_rows; i++) {
		int from = (int)((int64_t)m * i / f->n_rows);
		int to = (int)((int64_t)m * (i + 1) / f->n_rows);

		f->rows[i] = from + (int)rng_below(rng, (uint32_t)(to - from));
	}
}

static enum status start(struct freivalds *f, struct device *dev, const struct device_gemm *job,
                         int rows, int most_blocks, uint64_t seed, struct error *err)
{
	size_t n = (size_t)job->n, k = (size_t)job->k, count, vectors;
	double *z, *w;
	struct rng rng;
	enum status st;

	*f = (struct freivalds){.n_rows = rows < job->m ? rows : job->m,
	                        .blocks = job->n / LEAST_WIDTH};
	f->blocks = f->blocks < 1 ? 1 : f->blocks > most_blocks ? most_blocks : f->blocks;
	f->width = job->n / f->blocks;
	count = (size_t)f->n_rows;
	vectors = (size_t)f->blocks * FREIVALDS_ROUNDS;
	f->rows = allocate(count, sizeof(int));
	f->y = allocate(count, vectors * sizeof(double));
	f->tolerance = allocate(count, (size_t)f->blocks * sizeof(double));
	f->signs = allocate(n, FREIVALDS_ROUNDS);
	z = allocate(k, vectors * sizeof(double));
	w = allocate(k, (size_t)f->blocks * sizeof(double));
	rng_seed(&rng, seed);
	for (size_t i = 0; i < n * FREIVALDS_ROUNDS; i++)
		f->signs[i] = rng_next(&rng) >> 63 ? 1 : -1;
	choose_rows(f, job->m, &rng);
	st = sum_b(f, dev, job, z, w, err);
	if (st == ST_OK)
		st = sum_a(f, dev, job, z, w, err);
	free(z);
	free(w);
	return st;
}

enum status freivalds_init(struct freivalds *f, struct device *dev, const struct device_gemm *job,
                           uint64_t seed, struct error *err)
{
	return start(f, dev, job, job->m, FREIVALDS_BLOCKS, seed, err);
}

enum status freivalds_sample(struct freivalds *f, struct device *dev, const struct device_gemm *job,
                             int rows, uint64_t seed, struct error *err)
{
	return start(f, dev, job, rows, FREIVALDS_MOST_BLOCKS, seed, err);
}

/* --- the check ------------------------------------------------------------------- */

/* What the rounding of the results themselves may add. */
static double rounding(enum number_format format, const double *row, int from, int to)
{
	double epsilon = result_epsilon(format), sum = 0;

	if (epsilon == 0)
		return 0;
	for (int j = from; j < to; j++)
		sum += row[j] * row[j];
	return 4 * epsilon * sqrt(sum);
}

static void compare(const struct freivalds *f, const struct device_gemm *job, int index,
                    const double *row, const double *sums, struct freivalds_result *result)
{
	const double *y = f->y + (size_t)index * (size_t)f->blocks * FREIVALDS_ROUNDS;
	const double *t = f->tolerance + (size_t)index * (size_t)f->blocks;

	for (int b = 0; b < f->blocks; b++) {
		int end = block_end(f, b, job->n);
		double allowed = t[b] + rounding(job->format, row, b * f->width, end), worst = 0;

		for (int r = 0; r < FREIVALDS_ROUNDS; r++) {
			int v = b * FREIVALDS_ROUNDS + r;
			double off = fabs(sums[v] - y[v]);
			/* No rounding is allowed where all summands are zero. */
			double ratio = off == 0 ? 0 : off / allowed;

			if (!(ratio <= worst))
				worst = isnan(ratio) ? INFINITY : ratio;
		}
		result->checked++;
		if (worst > result->worst)
			result->worst = worst;
		if (worst <= 1)
			continue;
		if (result->wrong++ == 0) {
			result->row = f->rows[index];
			result->first_column = b * f->width;
			result->last_column = end - 1;
		}
	}
}

enum status freivalds_check(const struct freivalds *f, struct device *dev,
                            const struct device_gemm *job, struct freivalds_result *result,
                            struct error *err)
{
	double *sums = allocate((size_t)f->blocks * FREIVALDS_ROUNDS, sizeof(*sums));
	struct row_reader reader;
	enum status st = ST_OK;

	reader_init(&reader, dev, number_format_result(job->format), job->n);
	for (int i = 0; i < f->n_rows && st == ST_OK; i++) {
		st = read_row(&reader, job->c, f->rows[i], err);
		if (st != ST_OK)
			break;
		signed_sums(f, reader.row, job->n, sums);
		compare(f, job, i, reader.row, sums, result);
	}
	reader_release(&reader);
	free(sums);
	return st;
}

void freivalds_release(struct freivalds *f)
{
	free(f->rows);
	free(f->y);
	free(f->tolerance);
	free(f->signs);
	*f = (struct freivalds){0};
}
