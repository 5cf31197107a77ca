/* The short list of shapes. */
#include "gemm_shapes.h"

/* In eighths of the fixed order; none needs larger buffers than that. The slim
 * ones are those by which others reached most on an H100 and an A100 in 16-bit
 * formats (ml-engineering, MAMF: 2048 x 2048 x 13312, 1024 x 10240 x 5120).
 * To add one: a row. */
static const struct {
	int m, n, k;
} shapes[] = {
	{4, 4, 8},
	{2, 2, 13},
	{1, 10, 5},
};
#define PARTS 8

struct shape {
	struct device_cuda *dev;
	struct device_gemm job;
};

static enum status call(void *arg, int index, struct error *err)
{
	const struct shape *s = arg;

	(void)index;
	return device_cuda_gemm(s->dev, &s->job, err);
}

enum status gemm_peak_find(struct windows_line *line, const struct device_gemm *job, int order,
                           double window_s, int windows, struct gemm_peak *peak, struct error *err)
{
	int unit = order / PARTS;
	enum status st = ST_OK;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes) && st == ST_OK; i++) {
		struct shape shape = {line->dev, *job};
		struct device_gemm *j = &shape.job;
		double seconds = 0, tflops;
		int calls;

		j->m = unit * shapes[i].m;
		j->n = unit * shapes[i].n;
		j->k = unit * shapes[i].k;
		st = windows_fit(line, call, &shape, window_s, &calls, err);
		if (st == ST_OK)
			st = windows_plain(line, call, &shape, calls, windows, &seconds, err);
		if (st != ST_OK)
			break;
		tflops = 2.0 * j->m * j->n * j->k * calls / seconds / 1e12;
		if (tflops > peak->tflops)
			*peak = (struct gemm_peak){tflops, j->m, j->n, j->k};
	}
	return st;
}
