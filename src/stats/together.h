/* A load that several nodes ran at the same time: what all got together. Adding
 * up each node's own rate flatters a run whose nodes did not run at once, and
 * one node that stuck must not be hidden by the others. */
#ifndef ASSAY_STATS_TOGETHER_H
#define ASSAY_STATS_TOGETHER_H

#include <stdbool.h>
#include <stddef.h>

#include "assay/status.h"

/* One node's part. Seconds on one clock common to all. */
struct share {
	double ios; /* done from start_s to end_s */
	double start_s, end_s;
	/* Rates of consecutive windows from start_s on; NULL: not kept. */
	const double *windows;
	size_t n_windows;
	double window_s;
};

struct together {
	double sum;          /* of the nodes' own rates: the optimistic form */
	double conservative; /* all I/Os / (last end - first start): the judged one */
	/* I/Os inside [last start, first end] / that span; NaN when a node kept no
	 * windows or there is no such span. */
	double overlap;
	double skew; /* sum / conservative; above TOGETHER_SKEW they did not run at once */
	double least, median, most; /* nodes' own rates */
	size_t slow;                /* nodes below TOGETHER_SLOW x median */
};

#define TOGETHER_SKEW 1.1
#define TOGETHER_SLOW 0.8

/* slow[i], n long, may be NULL: node i is a straggler. ST_RANGE: no share, or one
 * that is not finite, negative or without duration. */
enum status together_rate(const struct share *share, size_t n, struct together *out, bool *slow);

/* 95 % interval of a rate of all, as shares of the rate: block bootstrap of the median
 * over the windows of all nodes together. False below TOGETHER_WINDOWS of them. */
#define TOGETHER_WINDOWS 10
bool together_interval(const struct share *share, size_t n, double *lo, double *hi);

/* I/Os a node must keep outstanding so that `nodes` of them reach `iops` when
 * one takes latency_s (Little), at least 1. */
long offered_depth(double iops, double latency_s, long nodes);
/* The most that can be asked for: nodes x depth / latency_s. A target above it is
 * out of reach of the load, whatever the storage can do. */
double offered_iops(long nodes, long depth, double latency_s);

/* One question to another node's clock: asked and answered on ours, read on its. */
struct ping {
	double asked_s, theirs_s, answered_s;
};

/* What to add to our clock to get theirs, from the quickest of n > 0 answers; the
 * truth is within *error_s (half its round trip). NaN: none usable. */
double clock_offset(const struct ping *ping, size_t n, double *error_s);

#endif
