/* Between collective.c, which measures, and collective_say.c: the readings. */
#ifndef ASSAY_BENCH_COLLECTIVE_SAY_H
#define ASSAY_BENCH_COLLECTIVE_SAY_H

#include "collective.h"

/* The probe's run. */
struct collective_bench {
	struct collective *c;
	struct probe_ctx *ctx;
	int64_t stop_ns; /* begin no further size */
	struct str raw;
	double ring_gbs; /* busbw of the ring */
	int said;        /* metrics of the table that have their reading: bits */
	bool wrong_said;
};

/* Sizes of an operation, measured. */
struct collective_sweep {
	struct collective_point *points[64]; /* the largest first */
	int n;
	bool cut;
};

/* A reading of a metric of the probe about the node, or all its links. */
struct reading collective_reading(const struct probe_ctx *ctx, const char *metric);
/* Emits it; the metric is no longer owed. */
enum status collective_say(struct collective_bench *b, const struct reading *r);
/* Says it failed because of elements that came out wrong. */
void collective_blame(struct collective_bench *b, struct reading *r);
/* Outcome and reason of what could not be done; and of all figures still owed. */
void collective_refuse(struct collective_bench *b, struct reading *r, const struct error *err);
enum status collective_owe(struct collective_bench *b, const struct reading *like);
enum status collective_say_no_time(struct collective_bench *b, const char *metric);
/* "GPU-… (0000:17:00.0)", else cuda-N. */
const char *collective_card_name(const struct collective *c, int card);

/* Median of a call; what it means on the bus, GB/s. */
double collective_seconds(const struct collective_point *p);
double collective_busbw(const struct collective *c, const struct collective_point *p,
                        double seconds);

/* The largest size as busbw; the smallest as time; the elements that were wrong. */
enum status collective_emit_busbw(struct collective_bench *b, const char *metric,
                                  const struct collective_sweep *s);
/* The largest size as a share of the ring's busbw. */
enum status collective_emit_of_ring(struct collective_bench *b, const struct collective_sweep *s);
enum status collective_emit_small(struct collective_bench *b, const struct collective_sweep *s);
enum status collective_emit_wrong(struct collective_bench *b);

#endif
