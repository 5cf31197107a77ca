/* Whether one figure became worse: its samples of now beside those of one or more
 * baselines, told apart from noise. Arithmetic only.
 *
 * All is done on logarithms, so a difference is a ratio. A run's figure is the mean
 * over its subjects; its noise is their scatter, or where there are too few the scatter
 * of the windows behind each. Subjects that are the same ones in both are compared in
 * pairs, so that cards that differ among themselves do not count as noise. What runs
 * differ by as a whole comes from the baselines where there are two and more, else from
 * the tolerance file. Variances are added with Satterthwaite's degrees of freedom. */
#ifndef ASSAY_GATE_NOISE_H
#define ASSAY_GATE_NOISE_H

#include <stdbool.h>
#include <stddef.h>

/* A figure of one run, by subject; sorted by id. */
struct noise_sample {
	const char *id;
	double value;    /* positive and finite */
	double variance; /* of its logarithm, by its windows; NaN: not known */
	double df;       /* degrees of freedom of that */
};

struct noise_run {
	const struct noise_sample *sample;
	size_t n; /* at least 1 */
};

struct noise_limits {
	bool higher_better;
	double tolerance;  /* share of the baseline, 0 to 1; 1: not judged */
	double run_to_run; /* standard deviation between runs, as a share */
	double alpha;      /* one-sided probability of a false alarm of this figure */
};

/* UNKNOWN: worse than the tolerance allows, and too little known of the noise to say that
 * this is or is not it. */
enum noise_verdict { NOISE_SAME, NOISE_WORSE, NOISE_BETTER, NOISE_UNKNOWN };

struct noise_result {
	enum noise_verdict verdict;
	double now, base;     /* geometric means */
	double ratio, lo, hi; /* now / base, 95 % interval; NaN: noise not known */
};

void noise_compare(const struct noise_run *now, const struct noise_run *base, int n_base,
                   const struct noise_limits *limits, struct noise_result *out);

#endif
