/* Telling a slowdown from noise; see noise.h. */
#include "gate/noise.h"

#include <math.h>
#include <string.h>

#include "stats/pairs.h"

/* A mean with the variance of that mean. */
struct part {
	double mean, variance, df;
	bool known;
};

#define FEW      3   /* subjects below which their scatter says nothing */
#define PAIRED   0.8 /* share of the subjects that must be the same ones */
#define SURE_DF  1e6 /* a variance that is given and not estimated */
#define DF_LEAST 1.0
#define DF_FEW   12 /* below it even a gross slowdown stays within what is surely noise */

static double logarithm_of(const struct noise_sample *s)
{
	return log(s->value);
}

/* Mean and variance of the mean of n logarithms by their scatter. */
static struct part by_scatter(const double *x, size_t n)
{
	struct part p = {.df = (double)n - 1, .known = n >= FEW};
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		p.mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - p.mean) * (x[i] - p.mean);
	if (p.known)
		p.variance = sum / p.df / (double)n;
	return p;
}

/* Streams over the samples: runs have up to tens of thousands. */
static struct part part_of(const struct noise_run *run)
{
	struct part p = {.known = true};
	double n = (double)run->n, sum = 0;

	for (size_t i = 0; i < run->n; i++)
		p.mean += logarithm_of(&run->sample[i]) / n;
	if (run->n >= FEW) {
		for (size_t i = 0; i < run->n; i++)
			sum += pow(logarithm_of(&run->sample[i]) - p.mean, 2);
		p.df = n - 1;
		p.variance = sum / p.df / n;
		return p;
	}
	for (size_t i = 0; i < run->n; i++) {
		p.known = p.known && isfinite(run->sample[i].variance);
		p.variance += run->sample[i].variance / n / n;
		p.df += run->sample[i].df;
	}
	p.df = fmax(p.df, DF_LEAST);
	return p;
}

/* --- the same subjects in both ------------------------------------------------------ */

/* The difference by subject; known only if nearly all are in both. */
static struct part pair_up(const struct noise_run *now, const struct noise_run *base)
{
	size_t i = 0, k = 0, n = 0;
	double mean = 0, squares = 0;
	struct part p = {0};

	while (i < now->n && k < base->n) {
		int c = strcmp(now->sample[i].id, base->sample[k].id);
		double d, before = mean;

		if (c != 0) {
			i += c < 0;
			k += c > 0;
			continue;
		}
		d = logarithm_of(&now->sample[i++]) - logarithm_of(&base->sample[k++]);
		mean += (d - mean) / (double)++n;
		squares += (d - before) * (d - mean);
	}
	p.mean = mean;
	p.known = n >= FEW && (double)n >= PAIRED * (double)now->n &&
	          (double)n >= PAIRED * (double)base->n;
	if (p.known) {
		p.df = (double)n - 1;
		p.variance = squares / p.df / (double)n;
	}
	return p;
}

/* --- putting it together --------------------------------------------------------------- */

/* The difference of now to all baselines, by the noise within runs. */
static struct part within(const struct noise_run *now, const struct noise_run *base, int n_base)
{
	struct part own = part_of(now), d = {.known = true};
	double weight = 1.0 / n_base, over = 0;
	bool paired = true;

	for (int b = 0; b < n_base && paired; b++)
		paired = pair_up(now, &base[b]).known;
	for (int b = 0; b < n_base; b++) {
		struct part p = paired ? pair_up(now, &base[b]) : part_of(&base[b]);
		/* Pairs share the samples of now: their variances do not average out. */
		double v = p.variance * weight * (paired ? 1 : weight);

		d.mean += (paired ? p.mean : own.mean - p.mean) * weight;
		d.variance += v;
		over += v * v / fmax(p.df, DF_LEAST);
		d.known = d.known && p.known;
	}
	if (!paired) {
		d.known = d.known && own.known;
		d.variance += own.variance;
		over += own.variance * own.variance / fmax(own.df, DF_LEAST);
	}
	d.df = over > 0 ? d.variance * d.variance / over : SURE_DF;
	return d;
}

/* What runs differ by as a whole: the scatter of the baselines' means beyond their own
 * noise, not below what the file says a healthy machine does. */
static struct part between(const struct noise_run *base, int n_base, double run_to_run)
{
	struct part p = {.variance = run_to_run * run_to_run, .df = SURE_DF, .known = true};
	double mean[64], own = 0;
	int n = n_base < 64 ? n_base : 64;
	struct part spread;

	for (int b = 0; b < n; b++) {
		struct part q = part_of(&base[b]);

		mean[b] = q.mean;
		own += q.known ? q.variance / n : 0;
	}
	spread = by_scatter(mean, (size_t)n);
	if (n < 2)
		return p;
	if (n == 2) /* by_scatter wants three; two have one degree of freedom */
		spread.variance = pow(mean[0] - mean[1], 2) / 2 / 2;
	if (spread.variance * n - own > p.variance) {
		p.variance = spread.variance * n - own;
		p.df = n - 1;
	}
	return p;
}

static void judge(const struct noise_limits *limits, struct part d, struct noise_result *out)
{
	double sign = limits->higher_better ? 1 : -1, better = sign * d.mean;
	double edge = limits->tolerance < 1 ? -log1p(-limits->tolerance) : INFINITY,
	       error = sqrt(d.variance), reach;
	bool few;

	out->ratio = exp(d.mean);
	out->lo = out->hi = NAN;
	if (!d.known) {
		out->verdict = better < -edge ? NOISE_UNKNOWN : NOISE_SAME;
		return;
	}
	reach = student_t(0.05, d.df) * error;
	out->lo = exp(d.mean - reach);
	out->hi = exp(d.mean + reach);
	few = d.df < DF_FEW && better < -edge && better + reach < 0;
	reach = student_t(2 * limits->alpha, d.df) * error;
	out->verdict = better + reach < -edge  ? NOISE_WORSE
	               : better - reach > edge ? NOISE_BETTER
	               : few                   ? NOISE_UNKNOWN
	                                       : NOISE_SAME;
}

void noise_compare(const struct noise_run *now, const struct noise_run *base, int n_base,
                   const struct noise_limits *limits, struct noise_result *out)
{
	struct part d = within(now, base, n_base), runs = between(base, n_base, limits->run_to_run);
	double own = d.variance, shared = runs.variance * (1 + 1.0 / n_base);

	*out = (struct noise_result){.now = exp(part_of(now).mean)};
	/* One subject without windows: only runs that repeat it tell its noise. */
	if (!d.known && n_base >= FEW) {
		d.known = true;
		own = 0;
	}
	d.variance = own + shared;
	d.df = d.variance > 0
	               ? d.variance * d.variance / (own * own / d.df + shared * shared / runs.df)
	               : SURE_DF;
	judge(limits, d, out);
	out->base = out->now / out->ratio;
}
