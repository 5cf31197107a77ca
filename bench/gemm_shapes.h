/* The best rate of a GPU over a short list of shapes. One fixed shape is right for comparing cards
 * and for judging how steady one is; it is not the most a card can do. */
#ifndef ASSAY_BENCH_GEMM_SHAPES_H
#define ASSAY_BENCH_GEMM_SHAPES_H

#include "windows.h"

/* Orders are whole numbers of this: FP8 wants multiples of 16, of which shapes
 * take eighths. */
#define GEMM_ORDER_STEP 128

struct gemm_peak {
	double tflops; /* the best median of a shape's windows; 0: none yet */
	int m, n, k;
};

/* Tries the list, in eighths of `order` (the fixed shape, whose buffers the job
 * has), `windows` of window_s each. */
enum status gemm_peak_find(struct windows_line *line, const struct device_gemm *job, int order,
                           double window_s, int windows, struct gemm_peak *peak, struct error *err);

#endif
