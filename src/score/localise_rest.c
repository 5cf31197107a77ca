/* Levels and noise of sound pairs: from all values at the start, then from those
 * nobody is blamed for. Medians wherever bad values may still be among them. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "score/localise_model.h"
#include "stats/samples.h"

#define DISTURBED        1e-4 /* share of values that are one-off disturbances, before any is seen */
#define DISTURBED_WEIGHT 1000 /* values that this counts for */
#define MAD_SQUARE       5.44 /* n x variance of the log of a squared median deviation */
#define OUTLIER          3.5  /* sigmas */
#define NOISE_WEIGHT     4    /* readings that the noise expected beforehand counts for */
#define LEAST_FREE       4    /* values of a level nobody is blamed for */
#define FEW_NODES        4    /* below: no majority to compare with */
#define MOST_ABOVE       0.02 /* share of values far above what is expected */
#define AGAINST          4    /* sigmas above what the candidate says */

/* --- median ----------------------------------------------------------------------- */

static void swap(double *a, double *b)
{
	double c = *a;

	*a = *b;
	*b = c;
}

/* Puts the k-th smallest in its place, smaller ones before it (Hoare's selection,
 * pivot in the middle): medians of all values are most of the work otherwise. */
static double select_kth(double *x, int n, int k)
{
	int lo = 0, hi = n - 1;

	while (lo < hi) {
		double pivot = x[lo + (hi - lo) / 2];
		int i = lo, j = hi;

		while (i <= j) {
			while (x[i] < pivot)
				i++;
			while (x[j] > pivot)
				j--;
			if (i <= j)
				swap(&x[i++], &x[j--]);
		}
		if (k <= j)
			hi = j;
		else if (k >= i)
			lo = i;
		else
			break;
	}
	return x[k];
}

/* Of n > 0 values, whose order changes. */
double model_middle(double *x, int n)
{
	double upper = select_kth(x, n, n / 2), lower;

	if (n % 2)
		return upper;
	lower = x[0];
	for (int i = 1; i < n / 2; i++)
		lower = fmax(lower, x[i]);
	return (lower + upper) / 2;
}

/* --- the start ------------------------------------------------------------- */

static void *room(size_t n)
{
	void *array = malloc((n + 1) * sizeof(double));

	if (!array)
		die_nomem();
	return array;
}

/* Median over nodes of the median of each node's values of this level. */
static double level_start(const struct model *m, int level)
{
	double *of_node = room((size_t)m->in->n_nodes), result;
	int nodes = 0;

	for (int node = 0; node < m->in->n_nodes; node++) {
		int part = m->parts.of_node[node], n, used = 0;
		const int *list;

		if (part < 0)
			continue;
		list = part_values(&m->parts, part, CULPRIT_WAY_BOTH, &n);
		for (int i = 0; i < n; i++)
			if (m->level[list[i]] == level && !m->in->pairs[list[i]].failed)
				m->work[used++] = m->y[list[i]];
		if (used)
			of_node[nodes++] = model_middle(m->work, used);
	}
	result = nodes ? model_middle(of_node, nodes) : NAN;
	free(of_node);
	return result;
}

static int nodes_seen(const struct model *m)
{
	int n = 0;

	for (int node = 0; node < m->in->n_nodes; node++)
		n += m->parts.of_node[node] >= 0;
	return n;
}

static double noise_floor(const struct model *m)
{
	return m->in->noise > 0 ? m->in->noise : LOCALISE_NOISE;
}

/* Two or three nodes: the best pair, or the figure a sound one should reach. */
static void start_small(struct model *m)
{
	m->mu[0] = -INFINITY;
	for (int i = 0; i < m->n; i++)
		if (!m->in->pairs[i].failed)
			m->mu[0] = fmax(m->mu[0], m->y[i]);
	if (m->in->expected > 0 && isfinite(m->in->expected))
		m->mu[0] = m->in->better == BETTER_HIGHER ? log(m->in->expected)
		                                          : -log(m->in->expected);
	m->mu[1] = m->two_levels ? m->mu[0] : NAN;
	m->sigma = noise_floor(m);
}

/* Where many things are bad, the better half of the values is a surer start. */
static double level_upper(const struct model *m, int level)
{
	int n = 0;

	for (int i = 0; i < m->n; i++)
		if (m->level[i] == level && !m->in->pairs[i].failed)
			m->work[n++] = m->y[i];
	return n ? select_kth(m->work, n, 3 * (n - 1) / 4) : NAN;
}

void model_start(struct model *m, bool upper)
{
	int above = 0;

	m->tau = m->pair = m->mu_se = 0;
	m->disturbed = DISTURBED;
	if (nodes_seen(m) < FEW_NODES) {
		start_small(m);
		return;
	}
	for (int level = 0; level < 2; level++)
		m->mu[level] = upper ? level_upper(m, level) : level_start(m, level);
	/* Faults only lower: what lies above the level is noise. */
	for (int i = 0; i < m->n; i++)
		if (!m->in->pairs[i].failed && model_deviation(m, i) > 0)
			m->work[above++] = model_deviation(m, i);
	m->sigma = fmax(above ? MAD_TO_SD * model_middle(m->work, above) : 0, noise_floor(m) / 2);
}

/* Mean distance from a centre, without what lies far out. */
static double tail_free_mean(const struct model *m, const double *y, int n, double centre)
{
	double sum = 0, weight = 0;

	for (int i = 0; i < n; i++) {
		double w = model_weight(m, y[i] - centre);

		sum += w * (y[i] - centre);
		weight += w;
	}
	return weight > 1 ? sum / weight : 0;
}

static void rest_level(struct model *m, int level)
{
	int n = 0, all = 0;

	for (int i = 0; i < m->n; i++) {
		if (m->level[i] != level || m->in->pairs[i].failed)
			continue;
		all++;
		if (model_explained(m, i, -1) == 0)
			m->work[n++] = m->y[i];
	}
	if (n < LEAST_FREE || 4 * n < all)
		return;
	m->mu[level] = model_middle(m->work, n);
	m->mu[level] += tail_free_mean(m, m->work, n, m->mu[level]);
	m->mu_se = fmax(m->mu_se, m->sigma / sqrt((double)n));
}

static void rest_noise(struct model *m)
{
	double expected = noise_floor(m), squares = 0, weight = 0;
	int n = 0;

	for (int i = 0; i < m->n; i++)
		if (!m->in->pairs[i].failed && model_explained(m, i, -1) == 0)
			m->work[n++] = fabs(model_deviation(m, i));
	if (n)
		m->sigma = fmax(MAD_TO_SD * model_middle(m->work, n), expected / 100);
	for (int i = 0; i < n; i++) {
		double w = model_weight(m, m->work[i]);

		squares += w * m->work[i] * m->work[i];
		weight += w;
	}
	m->sigma = sqrt((NOISE_WEIGHT * expected * expected + squares) / (NOISE_WEIGHT + weight));
}

/* Variance between sound nodes beyond what noise makes of their means; 0 unless it
 * is more than chance (three standard deviations). A median, so that bad nodes not
 * found yet do not pass for a wide spread and hide themselves. */
static void rest_spread(struct model *m)
{
	double *off = room((size_t)m->in->n_nodes), variances = 0, ratio;
	int nodes = 0;

	m->tau = 0;
	for (int node = 0; node < m->in->n_nodes; node++) {
		int part = m->parts.of_node[node], n, used = 0;
		double variance, sum = 0;
		const int *list;

		if (part < 0)
			continue;
		list = part_values(&m->parts, part, CULPRIT_WAY_BOTH, &n);
		for (int i = 0; i < n; i++) {
			if (m->in->pairs[list[i]].failed || m->head[list[i]] >= 0)
				continue;
			sum += model_deviation(m, list[i]);
			used++;
		}
		if (used < LOCALISE_PARTNERS)
			continue;
		variance = m->sigma * m->sigma / used;
		off[nodes++] = fabs(sum / used) / sqrt(variance);
		variances += variance;
	}
	ratio = nodes ? pow(MAD_TO_SD * model_middle(off, nodes), 2) : 0;
	if (nodes >= FEW_NODES && log(ratio) > 3 * sqrt(MAD_SQUARE / nodes))
		m->tau = sqrt((ratio - 1) * variances / nodes);
	free(off);
}

/* Blamed on more than readings of one direction: those may be chance. */
static bool well_explained(const struct model *m, int value)
{
	for (int c = m->head[value]; c >= 0; c = m->cover[c].next) {
		const struct found *f = &m->found[m->cover[c].found];

		if (!f->gone &&
		    (m->parts.part[f->part].kind != CULPRIT_LINK ||
		     (f->way == CULPRIT_WAY_BOTH && part_is_two_way(&m->parts, f->part))))
			return true;
	}
	return false;
}

/* One-off disturbances: values far below that nothing but themselves speaks of; a
 * single one may be plain noise. */
static void rest_disturbed(struct model *m)
{
	double low = 0, n = DISTURBED_WEIGHT;

	for (int i = 0; i < m->n; i++) {
		if (m->in->pairs[i].failed || well_explained(m, i))
			continue;
		n++;
		low += model_deviation(m, i) < -AGAINST * m->sigma;
	}
	m->disturbed = (DISTURBED * DISTURBED_WEIGHT + fmax(0, low - 1)) / n;
}

/* Within two sigmas, so that few wild values make no correlation. */
static double clipped(const struct model *m, int value)
{
	return fmax(-2, fmin(2, model_deviation(m, value) / m->sigma));
}

/* Variance of sound pairs that their two directions share: half the difference of
 * the variances of their sums and differences, by medians for the same reason. It
 * must be more than chance by that and by their correlation. */
static void rest_pairs(struct model *m)
{
	double *sum = m->work, *difference = m->explained, a, b, correlation = 0;
	int pairs = 0;

	m->pair = 0;
	for (int p = 0; p < m->parts.n; p++) {
		const struct part *c = &m->parts.part[p];
		int out, in;

		if (c->kind != CULPRIT_LINK || !part_is_two_way(&m->parts, p))
			continue;
		out = m->parts.list[c->out];
		in = m->parts.list[c->in];
		if (m->in->pairs[out].failed || m->in->pairs[in].failed || m->head[out] >= 0 ||
		    m->head[in] >= 0)
			continue;
		correlation += clipped(m, out) * clipped(m, in);
		sum[pairs] = fabs(model_deviation(m, out) + model_deviation(m, in));
		difference[pairs++] = fabs(model_deviation(m, out) - model_deviation(m, in));
	}
	if (pairs < FEW_NODES)
		return;
	a = pow(MAD_TO_SD * model_middle(sum, pairs), 2) / 2;
	b = pow(MAD_TO_SD * model_middle(difference, pairs), 2) / 2;
	if (log(a / b) > 3 * sqrt(2 * MAD_SQUARE / pairs) && correlation > 4 * sqrt(pairs))
		m->pair = sqrt((a - b) / 2);
}

/* What a node differs by itself, as far as the spread makes it believable. */
static void rest_own(struct model *m)
{
	for (int node = 0; node < m->in->n_nodes; node++) {
		int part = m->parts.of_node[node], n, used = 0;
		const int *list;

		if (part < 0)
			continue;
		list = part_values(&m->parts, part, CULPRIT_WAY_BOTH, &n);
		for (int i = 0; i < n; i++)
			if (!m->in->pairs[list[i]].failed)
				m->work[used++] = model_deviation(m, list[i]);
		m->own[node] = used ? model_middle(m->work, used) * m->tau * m->tau /
		                               (m->tau * m->tau + m->sigma * m->sigma / used)
		                    : 0;
	}
}

void model_rest(struct model *m)
{
	m->mu_se = 0;
	if (nodes_seen(m) >= FEW_NODES) {
		rest_level(m, 0);
		rest_level(m, 1);
		rest_noise(m);
	}
	rest_spread(m);
	if (m->tau > 0)
		rest_own(m);
	rest_pairs(m);
	rest_disturbed(m);
}

/* The rest must be the larger part, and have no better part of its own: else what
 * was taken for the level of sound pairs may not be it. */
bool model_sound(const struct model *m)
{
	int all = 0, unblamed = 0, above = 0;

	for (int i = 0; i < m->n; i++) {
		all++;
		unblamed += model_explained(m, i, -1) == 0;
		above += !m->in->pairs[i].failed &&
		         model_deviation(m, i) - model_explained(m, i, -1) > OUTLIER * m->sigma;
	}
	return 2 * unblamed >= all && above <= 1 + MOST_ABOVE * all;
}
