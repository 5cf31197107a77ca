/* The check of a row by who named it: Freivalds' sums over the row (freivalds.h)
 * against those of A and B, which are made anew from the seed, on the host. So it
 * shares neither a library nor a device with what made the row, and the signs of
 * the sums are known to nobody else. */
#include <string.h>

#include "gemm_rows.h"
#include "stats/rng.h"

/* --- A, B and a row as a device has them ------------------------------------------------ */

static enum status source_read(struct device *dev, const struct device_buffer *from, size_t offset,
                               void *to, size_t bytes, struct error *err)
{
	struct rows_source *s = (struct rows_source *)dev;
	size_t size = number_format_bytes(s->format);

	(void)err;
	if (from == &s->c)
		memcpy(to, s->row, bytes);
	else
		rows_fill(s->format, s->seed, from == &s->a ? ROWS_A : ROWS_B, offset / size, to,
		          bytes / size);
	return ST_OK;
}

static const struct device_ops source_ops = {.read = source_read};

/* --- the exam ------------------------------------------------------------------------------ */

enum status rows_exam_open(struct rows_exam *e, struct arena *arena, const struct rows_shape *shape,
                           int cards, uint64_t seed, uint64_t secret, struct error *err)
{
	int n = cards < shape->order ? cards : shape->order;
	struct rng rng;

	*e = (struct rows_exam){
		.shape = *shape,
		.source = {.device = {.ops = &source_ops}, .format = shape->format, .seed = seed}};
	e->job = (struct device_gemm){.format = shape->format,
	                              .m = shape->order,
	                              .n = shape->order,
	                              .k = shape->order,
	                              .a = &e->source.a,
	                              .b = &e->source.b,
	                              .c = &e->source.c};
	e->turn = arena_array(arena, (size_t)n, sizeof(*e->turn));
	rng_seed(&rng, secret);
	for (int i = 0; i < n; i++) {
		int k = (int)rng_below(&rng, (uint32_t)i + 1);

		e->turn[i] = e->turn[k];
		e->turn[k] = i;
	}
	return freivalds_sample(&e->check, &e->source.device, &e->job, n, rng_next(&rng), err);
}

/* More cards than rows: some share one. */
int rows_exam_draw(struct rows_exam *e)
{
	return e->turn[e->given++ % e->check.n_rows];
}

enum status rows_exam_check(struct rows_exam *e, int place, const void *row,
                            struct freivalds_result *result, struct error *err)
{
	struct freivalds one = e->check;

	one.n_rows = 1;
	one.rows += place;
	one.y += (size_t)place * (size_t)one.blocks * FREIVALDS_ROUNDS;
	one.tolerance += (size_t)place * (size_t)one.blocks;
	e->source.row = row;
	*result = (struct freivalds_result){.row = -1};
	return freivalds_check(&one, &e->source.device, &e->job, result, err);
}

void rows_exam_release(struct rows_exam *e)
{
	freivalds_release(&e->check);
}
