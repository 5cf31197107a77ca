/* One precision of one GPU: the same product of random numbers again and again,
 * in windows, each result compared bit by bit with a first one that the host has
 * checked.
 *
 * Results go into as many buffers in turn as memory has room for, so that every
 * product of a window can be looked at after it, outside of its time. One buffer
 * a window is filled with NaN before: a product that is not computed cannot look
 * right. */
#ifndef ASSAY_BENCH_GEMM_SERIES_H
#define ASSAY_BENCH_GEMM_SERIES_H

#include "cards.h"
#include "freivalds.h"
#include "gemm_shapes.h"
#include "kernels/kernels_types.h"
#include "stats/samples.h"

#define GEMM_CHECKED_ROWS 256 /* of the first result, by the host */

/* What all precisions of a card share. */
struct gemm_bench {
	struct card_unit *unit;
	struct device_cuda *dev;
	struct windows_line line;
	struct telemetry telemetry;
	cu_function fill, compare, digest;
	struct kernel_check *seen;  /* pinned, one a slot: what is wrong so far */
	struct device_buffer found; /* the same on the card */
};

struct gemm_plan {
	int order;
	double window_s;
	int windows;     /* timed */
	int extended;    /* … and up to so many where F95 does not say it is steady */
	double warmup_s; /* at most, until it is steady; 0: two windows */
	int peak_windows;
};

struct gemm_series {
	struct gemm_bench *bench;
	const struct gemm_plan *plan;
	enum number_format format;
	uint64_t seed; /* of A; B has the next */
	struct device_gemm job;
	struct device_buffer a, b, reference;
	struct device_buffer *results;
	int n_results;
	int calls, wanted; /* calls of a window, windows wanted */
	bool warming;
	int queued;      /* windows in all, for the turn of the NaNs */
	int poisoned[2]; /* buffer of the slot's window */
	/* Warm-up. */
	struct samples warm_rates, warm_s, warm_celsius;
	bool steady; /* the card was before the first timed window */
	/* Timed windows. */
	struct samples rates; /* TFLOP/s */
	struct clock_pairs clocks;
	struct str raw;
	struct { /* sums of clock and power that earlier windows had */
		double sm, power;
		int sm_samples, power_samples;
	} told;
	struct telemetry_sum telemetry;
	struct gemm_peak peak;
	/* Results. */
	struct freivalds_result sums; /* of the first result, by the host */
	uint64_t digest;              /* of its bits */
	uint64_t compared;            /* products */
	uint64_t different;           /* elements that are not those of the first */
	int64_t first_different;      /* index of one; window it was seen in, -1 */
	int first_window;
};

/* Makes A, B and the first result; checks and digests that. Release even after
 * a failure. */
enum status gemm_series_init(struct gemm_series *s, struct gemm_bench *bench,
                             enum number_format format, const struct gemm_plan *plan,
                             struct error *err);
/* Warm-up, windows, peak. */
enum status gemm_series_run(struct gemm_series *s, struct error *err);
void gemm_series_release(struct gemm_series *s);

#endif
