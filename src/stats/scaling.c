/* The loss of a training step by cause. Causes are taken off one after another, in the
 * order in which they can be measured without the others: what a card does alone, the
 * slowest card, the unlucky one of each step, sums within a node; what is left is due
 * to the fabric. */
#include "stats/scaling.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "stats/interval.h"
#include "stats/samples.h"

#define BLOCKS     10
#define MOST_T     1e6
#define HALVINGS   200
#define KEPT_STEPS 3 /* below, none can be left out */

double student_95(double degrees)
{
	double lo = 0, hi = MOST_T;

	if (!(degrees >= 1))
		return NAN;
	for (int i = 0; i < HALVINGS; i++) {
		double t = (lo + hi) / 2;

		/* P(|T| > t) falls with t. */
		if (beta_regularized(degrees / (degrees + t * t), degrees / 2, 0.5) > 0.05)
			lo = t;
		else
			hi = t;
	}
	return (lo + hi) / 2;
}

static double half_of(const double *step, size_t n)
{
	double means[BLOCKS];

	for (size_t b = 0; b < BLOCKS; b++) {
		size_t from = n * b / BLOCKS, to = n * (b + 1) / BLOCKS;

		means[b] = mean(step + from, to - from);
	}
	return student_95(BLOCKS - 1) * standard_deviation(means, BLOCKS) / sqrt(BLOCKS);
}

double scaling_pace(const double *step, size_t n, double *half)
{
	double *kept;
	double pace;
	size_t longest = 0, m = 0;

	if (half)
		*half = NAN;
	if (n < KEPT_STEPS)
		return mean(step, n);
	kept = reallocarray(NULL, n, sizeof(*kept));
	if (!kept)
		die_nomem();
	for (size_t i = 1; i < n; i++)
		longest = step[i] > step[longest] ? i : longest;
	for (size_t i = 0; i < n; i++)
		if (i != longest)
			kept[m++] = step[i];
	pace = mean(kept, m);
	if (half && m >= BLOCKS)
		*half = half_of(kept, m);
	free(kept);
	return pace;
}

double scaling_overlap(double alone_s, double sums_s, double with_s)
{
	if (!(alone_s > 0 && sums_s > 0 && with_s > 0))
		return NAN;
	return fmin(fmax(1 - (with_s - alone_s) / sums_s, 0), 1);
}

/* Raises *level by `more`, at most up to `top`; by how much. */
static double rise(double *level, double more, double top)
{
	double by = fmin(fmax(more, 0), top - *level);

	*level += by;
	return by;
}

enum status scaling_split(const struct scaling_levels *v, struct scaling_loss *loss)
{
	double level = v->base_s;

	*loss = (struct scaling_loss){0};
	if (!(isfinite(v->base_s) && isfinite(v->serial_s) && isfinite(v->slowest_s) &&
	      isfinite(v->paced_s) && isfinite(v->node_s) && isfinite(v->step_s)) ||
	    v->base_s <= 0 || v->step_s <= 0)
		return ST_RANGE;
	if (v->step_s <= v->base_s)
		return ST_OK;
	loss->total = v->step_s - v->base_s;
	loss->serial = rise(&level, v->serial_s, v->step_s);
	loss->slow_card = rise(&level, v->slowest_s - v->base_s, v->step_s);
	loss->jitter = rise(&level, v->paced_s - v->slowest_s, v->step_s);
	loss->intra_node = rise(&level, v->node_s, v->step_s);
	loss->fabric =
		loss->total - loss->serial - loss->slow_card - loss->jitter - loss->intra_node;
	/* Rounding alone. */
	loss->fabric = fmax(loss->fabric, 0);
	return ST_OK;
}

/* --- projection ------------------------------------------------------------------------- */

struct line {
	double a, b;     /* y = a + b x */
	double middle;   /* mean of x */
	double spread;   /* sum of squares of x about it */
	double residual; /* standard deviation about the line */
};

static void fit_line(struct line *l, const double *x, const double *y, size_t n)
{
	double cross = 0, squares = 0, my = mean(y, n);

	*l = (struct line){.middle = mean(x, n)};
	for (size_t i = 0; i < n; i++) {
		l->spread += (x[i] - l->middle) * (x[i] - l->middle);
		cross += (x[i] - l->middle) * (y[i] - my);
	}
	l->b = cross / l->spread;
	l->a = my - l->b * l->middle;
	for (size_t i = 0; i < n; i++)
		squares += pow(y[i] - l->a - l->b * x[i], 2);
	l->residual = sqrt(squares / (double)(n - 2));
}

static double amdahl_share(const double *cards, const double *loss, size_t n)
{
	double cross = 0, squares = 0;

	for (size_t i = 0; i < n; i++) {
		cross += (cards[i] - 1) * loss[i];
		squares += (cards[i] - 1) * (cards[i] - 1);
	}
	return fmax(cross / squares, 0);
}

static double efficiency_of(double loss)
{
	return loss <= 0 ? 1 : 1 / (1 + loss);
}

static bool usable(const double *cards, const double *loss, size_t n, double to)
{
	if (n < SCALING_LEAST_SIZES || !(to >= 2) || !isfinite(to))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!(cards[i] >= 2 && isfinite(cards[i]) && loss[i] > -1 && isfinite(loss[i])))
			return false;
		for (size_t k = 0; k < i; k++)
			if (cards[k] == cards[i])
				return false;
	}
	return true;
}

enum status scaling_project(const double *cards, const double *loss, size_t n, double to,
                            struct scaling_projection *out)
{
	struct line l;
	double *x, at = log2(to), loss_at, away;

	*out = (struct scaling_projection){NAN, NAN, NAN, NAN};
	if (!usable(cards, loss, n, to))
		return ST_RANGE;
	x = reallocarray(NULL, n, sizeof(*x));
	if (!x)
		die_nomem();
	for (size_t i = 0; i < n; i++)
		x[i] = log2(cards[i]);
	fit_line(&l, x, loss, n);
	free(x);
	loss_at = l.a + l.b * at;
	away = student_95((double)n - 2) * l.residual *
	       sqrt(1 + 1 / (double)n + (at - l.middle) * (at - l.middle) / l.spread);
	out->serial_share = amdahl_share(cards, loss, n);
	out->efficiency = efficiency_of(loss_at);
	out->hi = efficiency_of(loss_at - away);
	out->lo = fmin(efficiency_of(loss_at + away), 1 / (1 + out->serial_share * (to - 1)));
	return ST_OK;
}
