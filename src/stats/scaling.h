/* How a training step scales over cards, what the loss is due to, and what it would
 * be at more cards. Arithmetic only. Times are seconds of a step; a step of a job is as
 * long as that of its slowest rank (MAX over ranks, then figures over steps).
 *
 * Efficiency with fixed work a card (weak) is base / step; the base is the median
 * card's step without communication, all cards of its node busy. */
#ifndef ASSAY_STATS_SCALING_H
#define ASSAY_STATS_SCALING_H

#include <stddef.h>

#include "assay/status.h"

#define SCALING_LEAST_SIZES 3 /* of a projection */

/* Mean of n steps without the longest one, which a single hiccup of a host would
 * decide; of fewer than 3 of all. *half (or NULL): half the two-sided 95 % interval
 * by Student over the means of up to 10 blocks of neighbours; NaN below 10 steps.
 * NaN for no steps. */
double scaling_pace(const double *step, size_t n, double *half);

/* Two-sided 95 % quantile of Student's t: P(|T| <= t) = 0.95; degrees >= 1. */
double student_95(double degrees);

/* 1 - (with - alone) / sums, within 0 to 1: the share of the time of sums that work
 * hides. NaN when a time is not positive. */
double scaling_overlap(double alone_s, double sums_s, double with_s);

/* What a size was measured with. */
struct scaling_levels {
	double base_s;    /* median card, products alone */
	double serial_s;  /* the same card's whole step without sums, less base_s */
	double slowest_s; /* products alone on the slowest card: median of its steps */
	double paced_s;   /* … of the slowest card in each step: scaling_pace of those */
	double node_s;    /* by which sums within a node lengthen its step */
	double step_s;    /* the step of all cards: scaling_pace */
};

/* Where step_s - base_s goes, in seconds; they add up to it exactly. Each cause gets
 * what its level is above those before it, and none more than is left. */
struct scaling_loss {
	double serial, slow_card, jitter, intra_node, fabric;
	double total; /* 0: no loss */
};

/* ST_RANGE: a time that is not finite, base_s or step_s not positive. */
enum status scaling_split(const struct scaling_levels *levels, struct scaling_loss *loss);

/* What was measured at several sizes, brought to another one. The loss y = step /
 * base - 1 is fitted by least squares as a + b log2(n) (a cost for each doubling) and
 * as s (n - 1) (Amdahl: S = n / (1 + s (n - 1))). `efficiency` is the first one's;
 * the interval goes from the lower of its prediction limit (Student, 95 %) and of
 * the second one's figure to its upper limit, all within 0 to 1: measured sizes do
 * not tell which of the two holds beyond them. */
struct scaling_projection {
	double efficiency, lo, hi;
	double serial_share; /* s */
};

/* cards[i] >= 2, all different, with loss[i] > -1 each; to >= 2. ST_RANGE: fewer
 * than SCALING_LEAST_SIZES, or such a value. */
enum status scaling_project(const double *cards, const double *loss, size_t n, double to,
                            struct scaling_projection *out);

#endif
