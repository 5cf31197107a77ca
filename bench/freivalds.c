/* Checking a matrix product without computing it again. */
#include "freivalds.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/rng.h"

#define VECTORS     (FREIVALDS_BLOCKS * FREIVALDS_ROUNDS)
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

static enum status reader_init(struct row_reader *r, struct device *dev, enum number_format format,
                               int columns, struct error *err)
{
	*r = (struct row_reader){.dev = dev, .format = format, .columns = (size_t)columns};
	if (format != NUMBER_FP64 && format != NUMBER_FP32)
		return error_set(err, ST_UNSUPPORTED, MSG_device_format, dev->info.id,
		                 number_format_name(format));
	r->raw = allocate(r->columns, sizeof(double));
	r->row = allocate(r->columns, sizeof(double));
	return ST_OK;
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

	if (st == ST_OK && r->format == NUMBER_FP64)
		memcpy(r->row, r->raw, bytes);
	else if (st == ST_OK)
		for (size_t i = 0; i < r->columns; i++)
			r->row[i] = ((const float *)r->raw)[i];
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

static void absolute_sums(const struct freivalds *f, const double *row, int n, double *sums)
{
	for (int b = 0; b < f->blocks; b++) {
		double sum = 0;

		for (int j = b * f->width; j < block_end(f, b, n); j++)
			sum += fabs(row[j]);
		sums[b] = sum;
	}
}

/* out[v] += factor x in[v] for each of count. */
static void add_scaled(double *restrict out, const double *restrict in, double factor, int count)
{
	for (int v = 0; v < count; v++)
		out[v] += factor * in[v];
}

static double epsilon_of(enum number_format format)
{
	return format == NUMBER_FP32 ? FLT_EPSILON : DBL_EPSILON;
}

/* z = B X and w = |B| |X|, k rows. */
static enum status sum_b(const struct freivalds *f, struct device *dev,
                         const struct device_gemm *job, double *z, double *w, struct error *err)
{
	struct row_reader reader;
	enum status st = reader_init(&reader, dev, job->format, job->n, err);

	for (int i = 0; i < job->k && st == ST_OK; i++) {
		st = read_row(&reader, job->b, i, err);
		if (st != ST_OK)
			break;
		signed_sums(f, reader.row, job->n, z + (size_t)i * VECTORS);
		absolute_sums(f, reader.row, job->n, w + (size_t)i * FREIVALDS_BLOCKS);
	}
	reader_release(&reader);
	return st;
}

/* y = A z and the tolerances from |A| w, m rows. */
static enum status sum_a(struct freivalds *f, struct device *dev, const struct device_gemm *job,
                         const double *z, const double *w, struct error *err)
{
	double factor = FREIVALDS_K * epsilon_of(job->format);
	struct row_reader reader;
	enum status st = reader_init(&reader, dev, job->format, job->k, err);

	for (int i = 0; i < job->m && st == ST_OK; i++) {
		double *y = f->y + (size_t)i * VECTORS;
		double *t = f->tolerance + (size_t)i * FREIVALDS_BLOCKS;

		st = read_row(&reader, job->a, i, err);
		for (int l = 0; l < job->k && st == ST_OK; l++) {
			double a = reader.row[l];

			add_scaled(y, z + (size_t)l * VECTORS, a, VECTORS);
			add_scaled(t, w + (size_t)l * FREIVALDS_BLOCKS, fabs(a) * factor,
			           FREIVALDS_BLOCKS);
		}
	}
	reader_release(&reader);
	return st;
}

enum status freivalds_init(struct freivalds *f, struct device *dev, const struct device_gemm *job,
                           uint64_t seed, struct error *err)
{
	size_t n = (size_t)job->n, m = (size_t)job->m, k = (size_t)job->k;
	double *z = allocate(k, VECTORS * sizeof(double));
	double *w = allocate(k, FREIVALDS_BLOCKS * sizeof(double));
	struct rng rng;
	enum status st;

	*f = (struct freivalds){
		.blocks = job->n / LEAST_WIDTH,
		.y = allocate(m, VECTORS * sizeof(double)),
		.tolerance = allocate(m, FREIVALDS_BLOCKS * sizeof(double)),
		.signs = allocate(n, FREIVALDS_ROUNDS),
	};
	f->blocks = f->blocks < 1 ? 1 : f->blocks > FREIVALDS_BLOCKS ? FREIVALDS_BLOCKS : f->blocks;
	f->width = job->n / f->blocks;
	rng_seed(&rng, seed);
	for (size_t i = 0; i < n * FREIVALDS_ROUNDS; i++)
		f->signs[i] = rng_next(&rng) >> 63 ? 1 : -1;
	st = sum_b(f, dev, job, z, w, err);
	if (st == ST_OK)
		st = sum_a(f, dev, job, z, w, err);
	free(z);
	free(w);
	return st;
}

/* --- the check ------------------------------------------------------------------- */

static void compare(const struct freivalds *f, int row, int n, const double *sums,
                    struct freivalds_result *result)
{
	const double *y = f->y + (size_t)row * VECTORS;
	const double *t = f->tolerance + (size_t)row * FREIVALDS_BLOCKS;

	for (int b = 0; b < f->blocks; b++) {
		double worst = 0;

		for (int r = 0; r < FREIVALDS_ROUNDS; r++) {
			int v = b * FREIVALDS_ROUNDS + r;
			double off = fabs(sums[v] - y[v]);
			/* No rounding is allowed where all summands are zero. */
			double ratio = off == 0 ? 0 : off / t[b];

			if (!(ratio <= worst))
				worst = isnan(ratio) ? INFINITY : ratio;
		}
		result->checked++;
		if (worst > result->worst)
			result->worst = worst;
		if (worst <= 1)
			continue;
		if (result->wrong++ == 0) {
			result->row = row;
			result->first_column = b * f->width;
			result->last_column = block_end(f, b, n) - 1;
		}
	}
}

enum status freivalds_check(const struct freivalds *f, struct device *dev,
                            const struct device_gemm *job, struct freivalds_result *result,
                            struct error *err)
{
	double sums[VECTORS];
	struct row_reader reader;
	enum status st = reader_init(&reader, dev, job->format, job->n, err);

	for (int i = 0; i < job->m && st == ST_OK; i++) {
		st = read_row(&reader, job->c, i, err);
		if (st != ST_OK)
			break;
		signed_sums(f, reader.row, job->n, sums);
		compare(f, i, job->n, sums, result);
	}
	reader_release(&reader);
	return st;
}

void freivalds_release(struct freivalds *f)
{
	free(f->y);
	free(f->tolerance);
	free(f->signs);
	*f = (struct freivalds){0};
}
