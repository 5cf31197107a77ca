/* How well the values are explained: levels, noise, and the odds of one candidate
 * while the others found are granted. Medians start every estimate and the
 * likelihood is flat far out, so that a few wild values decide nothing. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "score/localise_model.h"
#include "stats/samples.h"

#define DISTURBED_RANGE 1.0       /* of log value, over which they mostly lie */
#define RANGE           log(10.0) /* over which deltas mostly lie */
#define FAILED          log(0.01) /* of a pair that failed */
#define AGAINST         4         /* sigmas above what the candidate says */

/* --- values ----------------------------------------------------------------------- */

double model_deviation(const struct model *m, int value)
{
	return m->in->pairs[value].failed ? FAILED : m->y[value] - m->mu[m->level[value]];
}

double model_explained(const struct model *m, int value, int without)
{
	double sum = 0;

	for (int c = m->head[value]; c >= 0; c = m->cover[c].next) {
		const struct found *f = &m->found[m->cover[c].found];

		if (m->cover[c].found == without || f->gone)
			continue;
		sum = m->minimum ? fmin(sum, f->delta) : sum + f->delta;
	}
	return sum;
}

static double joined(const struct model *m, double explained, double delta)
{
	return m->minimum ? fmin(explained, delta) : explained + delta;
}

static double flat(const struct model *m)
{
	return m->disturbed * m->sigma * sqrt(2 * M_PI) / DISTURBED_RANGE;
}

double model_likelihood(const struct model *m, double off)
{
	double z = off / m->sigma;

	return log(exp(-z * z / 2) + flat(m));
}

/* Odds of a value being no disturbance, this far from what was expected. */
double model_weight(const struct model *m, double off)
{
	double z = off / m->sigma, normal = exp(-z * z / 2);

	return normal / (normal + flat(m));
}

/* --- one candidate ---------------------------------------------------------------- */

/* Depth from the values nobody else lowers, if there are any: where two bad things
 * meet, the two models differ. Median first, then a mean in which wild values have
 * no weight. Returns the sum of weights. */
static double estimate(const struct model *m, int n, double *delta)
{
	double *r = m->work, weight = 0;
	int used = 0, slow = 0;

	for (int i = 0; i < n; i++)
		if (m->explained[i] == 0) {
			slow += m->off[i] <= log(1 - LOCALISE_DEPTH);
			r[used++] = m->off[i];
		}
	if (2 * slow + 2 <= used)
		return 0; /* so is the median; nearly all candidates end here */
	for (int i = 0; !used && i < n; i++)
		r[i] = m->off[i] - (m->minimum ? 0 : m->explained[i]);
	used = used ? used : n;
	*delta = model_middle(r, used);
	if (*delta > log(1 - LOCALISE_DEPTH))
		return 0;
	for (int round = 0; round < 2; round++) {
		double sum = 0;

		weight = 0;
		for (int i = 0; i < used; i++) {
			double w = model_weight(m, r[i] - *delta);

			sum += w * r[i];
			weight += w;
		}
		if (weight < 0.5)
			return 0;
		*delta = sum / weight;
	}
	return weight;
}

static double way_share(enum culprit_way way)
{
	return way == CULPRIT_WAY_BOTH ? 0.5 : 0.25;
}

static void weigh(const struct model *m, int n, struct look *look)
{
	double supporting = 0, counted = 0;

	look->log_odds = 0;
	for (int i = 0; i < n; i++) {
		double e = m->off[i], p = m->explained[i], with = joined(m, p, look->delta);

		if (with == p)
			continue;
		/* Where two bad things meet, neither speaks for itself. */
		counted += p == 0;
		supporting += p == 0 && e < with / 2;
		look->against += e - with > AGAINST * m->sigma;
		look->log_odds += model_likelihood(m, e - with) - model_likelihood(m, e - p);
	}
	look->support = counted > 0 ? supporting / counted : 1;
}

/* Some bad members make a group slow on the whole: the least share of any member is
 * what supports the group. */
static double member_support(const struct model *m, const struct part *c, const int *list, int n,
                             double delta)
{
	const struct localise_input *in = m->in;
	double least = 1;

	for (int i = 0; i < n; i++)
		for (int e = 0; e < 2; e++) {
			const struct pair_value *v = &in->pairs[list[i]];
			struct member *member = &m->member[e ? v->to : v->from];

			if (m->explained[i] != 0 || !part_has_end(in, c, v, e))
				continue;
			member->counted++;
			member->supporting += m->off[i] < delta / 2;
		}
	for (int i = 0; i < n; i++)
		for (int e = 0; e < 2; e++) {
			const struct pair_value *v = &in->pairs[list[i]];
			struct member *member = &m->member[e ? v->to : v->from];

			if (member->counted)
				least = fmin(least, (double)member->supporting / member->counted);
			*member = (struct member){0};
		}
	return least;
}

/* By how much sound things differ by themselves. A group is the mean of its members;
 * of a pair its ends' part has been taken off already. What pairs differ by makes
 * their two directions one value. */
static double own_variance(const struct model *m, const struct part *c, int n)
{
	double pair = m->pair * m->pair;

	return c->kind == CULPRIT_LINK ? pair : m->tau * m->tau / c->members + 2 * pair / n;
}

struct look model_look(const struct model *m, int part, enum culprit_way way, int without)
{
	struct look look = {.log_odds = -INFINITY, .delta = NAN, .se = NAN};
	const struct part *c = &m->parts.part[part];
	int n;
	const int *list = part_values(&m->parts, part, way, &n);
	double weight, variance, own;

	look.n = (size_t)n;
	for (int i = 0; i < n; i++) {
		m->explained[i] = model_explained(m, list[i], without);
		m->off[i] = model_deviation(m, list[i]);
		if (c->kind == CULPRIT_LINK && m->tau > 0 && !m->in->pairs[list[i]].failed)
			m->off[i] -= m->own[c->node] + m->own[c->peer];
	}
	weight = estimate(m, n, &look.delta);
	if (weight <= 0 || look.delta > log(1 - LOCALISE_DEPTH))
		return look;
	weigh(m, n, &look);
	if (c->kind == CULPRIT_LEAF || c->kind == CULPRIT_UPLINK || c->kind == CULPRIT_RAIL)
		look.support = fmin(look.support, member_support(m, c, list, n, look.delta));
	variance = m->sigma * m->sigma / weight;
	own = own_variance(m, c, n);
	look.log_odds *= variance / (variance + own);
	variance += own;
	look.se = sqrt(variance);
	look.price =
		c->log_prior + log(way_share(way)) + fmin(0, log(sqrt(2 * M_PI) * look.se / RANGE));
	look.log_odds += look.price;
	look.se = hypot(look.se, m->mu_se);
	return look;
}

double model_worth(const struct model *m)
{
	double sum = 0;

	for (int i = 0; i < m->n; i++)
		sum += model_likelihood(m, model_deviation(m, i) - model_explained(m, i, -1)) -
		       log(m->sigma);
	for (int f = 0; f < m->n_found; f++)
		if (!m->found[f].gone)
			sum += m->found[f].price;
	return sum;
}
