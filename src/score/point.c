/* Operating points: figures that must hold at once are judged at one point,
 * the one that maximises the group's metric among those that meet its
 * conditions, never each at its own best point. */
#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "score/judging.h"

static bool same_point(const struct entry *a, const struct entry *b)
{
	const char *x = a->reading->point, *y = b->reading->point;

	return a->node == b->node && strcmp(x ? x : "", y ? y : "") == 0;
}

static const struct entry *at_same_point(const struct judging *j, const struct metric *metric,
                                         const struct entry *point)
{
	int64_t n;
	const struct entry *e =
		series_of_subject(index_series(&j->index, metric->name), point->subject, &n);

	for (int64_t i = 0; i < n; i++)
		if (same_point(&e[i], point))
			return &e[i];
	return NULL;
}

static bool usable(const struct entry *e, int stat, double *value)
{
	if (!e || e->reading->outcome != OUTCOME_MEASURED)
		return false;
	*value = reading_figure(e->reading, stat);
	return isfinite(*value);
}

/* Whether a point meets all conditions. */
static enum holds point_holds(const struct judging *j, const struct at_point *at,
                              const struct entry *point)
{
	enum holds all = HOLDS_YES;

	for (int i = 0; i < at->n_subject_to; i++) {
		const struct constraint *c = &at->subject_to[i];
		double value;

		if (!usable(at_same_point(j, c->metric, point), c->stat, &value))
			all = HOLDS_UNKNOWN;
		else if (c->is_min ? value < c->value : value > c->value)
			return HOLDS_NO;
	}
	return all;
}

static const char *conditions(const struct at_point *at)
{
	const char *text = "";

	for (int i = 0; i < at->n_subject_to; i++) {
		const struct constraint *c = &at->subject_to[i];
		const char *one = say_list(
			c->is_min ? MSG_constraint_min : MSG_constraint_max,
			(const char *const[]){c->metric->name,
		                              fmt_measure(c->value, c->metric->unit), NULL});

		text = i ? say(MSG_constraint_and, text, one) : one;
	}
	return text;
}

/* Settles a subject without a usable point: failed when every point was
 * measured and none is good enough, otherwise nobody knows. The figures shown
 * are those of the best point regardless of the conditions. */
static bool no_point(struct judging *j, const struct resolved *rr, const struct entry *best,
                     bool known, struct finding *f)
{
	const struct entry *own = best ? at_same_point(j, rr->rule->metric, best) : NULL;
	bool judged = !own || judge_take(j, rr, own, f);

	f->point = NULL; /* the best one, which nobody chose */
	if (!judged)
		return false;
	f->limit = rr->limit;
	f->verdict = known && best ? VERDICT_FAIL : VERDICT_NOT_MEASURED;
	f->reason = known && best
	                    ? judging_reason(j, MSG_no_point_meets, conditions(rr->rule->at_point))
	                    : judging_reason(j, MSG_no_reading, rr->rule->metric->name);
	return false;
}

/* What a look over all points of one node found. */
struct search {
	const struct entry *chosen; /* highest that meets the conditions */
	const struct entry *best;   /* highest of all */
	bool known;                 /* every point could be told */
};

static struct search look(const struct judging *j, const struct at_point *at, int node,
                          const struct entry *e, int64_t n)
{
	struct search s = {NULL, NULL, true};
	double high = -INFINITY, highest = -INFINITY, value;

	for (int64_t i = 0; i < n; i++) {
		enum holds meets;

		if (e[i].node != node)
			continue;
		if (!usable(&e[i], STAT_VALUE, &value)) {
			s.known = s.known && e[i].reading->outcome == OUTCOME_UNSUPPORTED;
			continue;
		}
		meets = point_holds(j, at, &e[i]);
		s.known = s.known && meets != HOLDS_UNKNOWN;
		if (value > highest) {
			highest = value;
			s.best = &e[i];
		}
		if (meets == HOLDS_YES && value > high) {
			high = value;
			s.chosen = &e[i];
		}
	}
	return s;
}

bool point_choose(struct judging *j, const struct resolved *rr, const struct entry *e,
                  struct entry *out, struct finding *f)
{
	const struct at_point *at = rr->rule->at_point;
	int64_t n;
	const struct entry *all =
		series_of_subject(index_series(&j->index, at->maximize->name), e->subject, &n);
	struct search s = look(j, at, e->node, all, n);
	const struct entry *own;

	if (!s.chosen)
		return no_point(j, rr, s.best, s.known, f);
	own = at_same_point(j, rr->rule->metric, s.chosen);
	if (own) {
		*out = *own;
		return true;
	}
	f->point = s.chosen->reading->point;
	f->reason = judging_reason(j, MSG_point_missing, rr->rule->metric->name,
	                           s.chosen->reading->point ? s.chosen->reading->point : "-");
	return false;
}
