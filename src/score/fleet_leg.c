/* The third leg: every subject beside its like. It warns about those that are
 * worse than their fleet by more than chance, all metrics of the run tested
 * together, and never fails nor lifts anybody. Only metrics whose healthy
 * spread is known take part. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/unit.h"
#include "score/judging.h"
#include "stats/fleet.h"

/* All tests of a run. */
struct tests {
	double *p;
	int64_t *finding;
	struct fleet *fleet; /* per test */
	size_t *alike;       /* per test: subjects compared */
	size_t n, cap;
};

static double noise_of(const struct profile *p, const char *metric)
{
	for (int i = 0; i < p->n_noise; i++)
		if (strcmp(p->noise[i].metric, metric) == 0)
			return p->noise[i].sd;
	return NAN;
}

static void *grown(void *array, size_t count, size_t size)
{
	array = realloc(array, count * size);
	if (!array)
		die_nomem();
	return array;
}

static void add_test(struct tests *t, double p, int64_t finding, const struct fleet *fleet,
                     size_t alike)
{
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 256;
		t->p = grown(t->p, t->cap, sizeof(*t->p));
		t->finding = grown(t->finding, t->cap, sizeof(*t->finding));
		t->fleet = grown(t->fleet, t->cap, sizeof(*t->fleet));
		t->alike = grown(t->alike, t->cap, sizeof(*t->alike));
	}
	t->p[t->n] = p;
	t->finding[t->n] = finding;
	t->alike[t->n] = alike;
	t->fleet[t->n++] = *fleet;
}

/* The fleet beside the figure honest cards of this row reach. */
static void note_expected(struct judging *j, struct resolved *rr, const struct fleet *fleet)
{
	const struct limit *l = &rr->rule->limit;
	double expected = rr->figure.value * l->factor;
	struct str note = {0};
	const char *text;

	if (!l->banded || !isfinite(expected) ||
	    fabs(fleet->median - expected) <= 0.02 * fabs(expected))
		return;
	text = judging_text(j, MSG_leg_fleet, fmt_measure(fleet->median, rr->info->unit),
	                    fmt_measure(expected, rr->info->unit));
	if (rr->info->note)
		msg_again(&note, rr->info->note);
	rr->info->note = note.len ? judging_text(j, MSG_leg_note, note.data, text) : text;
	str_release(&note);
}

/* A rule that has nothing but the fleet to go by. */
static void not_compared(struct judging *j, const int64_t *of, size_t n, bool noise_known)
{
	struct reason reason = noise_known ? judging_reason(j, MSG_fleet_too_few, tmpf("%zu", n),
	                                                    tmpf("%d", FLEET_LEAST))
	                                   : judging_reason_list(j, MSG_fleet_no_noise,
	                                                         (const char *const[]){NULL});

	for (size_t i = 0; i < n; i++) {
		struct finding *f = &j->findings[of[i]];

		if (f->verdict != VERDICT_PASS && f->verdict != VERDICT_WARN)
			continue;
		f->verdict = noise_known ? VERDICT_TOO_FEW : VERDICT_NOT_MEASURED;
		f->reason = reason;
	}
}

static void compare_rule(struct judging *j, struct resolved *rr, struct tests *t)
{
	double noise = noise_of(j->profile, rr->rule->metric->name);
	size_t room = (size_t)(rr->end - rr->first), n = 0;
	bool compared = false;
	double *value, *p;
	int64_t *of;
	struct fleet fleet;

	if (!room)
		return;
	value = grown(NULL, room, sizeof(*value));
	p = grown(NULL, room, sizeof(*p));
	of = grown(NULL, room, sizeof(*of));
	for (int64_t i = rr->first; i < rr->end; i++) {
		const struct finding *f = &j->findings[i];

		if (!f->has_value || f->verdict == VERDICT_STATED_ONLY)
			continue;
		value[n] = f->value;
		of[n++] = i;
	}
	compared = isfinite(noise) && fleet_compare(value, n, noise, rr->rule->metric->better,
	                                            &fleet, NULL, p) == ST_OK;
	if (compared) {
		note_expected(j, rr, &fleet);
		for (size_t i = 0; i < n; i++)
			add_test(t, p[i], of[i], &fleet, n);
	}
	if (!compared && rr->rule->limit.kind == LIMIT_FLEET)
		not_compared(j, of, n, isfinite(noise));
	free(value);
	free(p);
	free(of);
}

/* The metric's first rule that looks at single subjects stands for it. */
static bool stands_for_metric(const struct judging *j, int rule)
{
	const struct rule *own = j->rules[rule].rule;

	if (own->info.reading != RULE_SOUND || own->scope != SCOPE_EACH || own->stat != STAT_VALUE)
		return false;
	for (int i = 0; i < rule; i++) {
		const struct rule *other = j->rules[i].rule;

		if (other->metric == own->metric && other->info.reading == RULE_SOUND &&
		    other->scope == SCOPE_EACH && other->stat == STAT_VALUE)
			return false;
	}
	return true;
}

void fleet_warn(struct judging *j)
{
	struct tests t = {0};
	bool *rejected;

	for (int i = 0; i < j->n_rules; i++)
		if (stands_for_metric(j, i))
			compare_rule(j, &j->rules[i], &t);
	rejected = calloc(t.n + 1, sizeof(*rejected));
	if (!rejected)
		die_nomem();
	if (t.n && holm(t.p, t.n, FLEET_ALPHA, rejected))
		for (size_t i = 0; i < t.n; i++) {
			struct finding *f = &j->findings[t.finding[i]];

			if (!rejected[i] || f->verdict != VERDICT_PASS)
				continue;
			f->verdict = VERDICT_WARN;
			f->reason = judging_reason(
				j, MSG_fleet_worse, fmt_measure(t.fleet[i].median, f->rule->unit),
				fmt_value(t.fleet[i].spread), tmpf("%zu", t.alike[i]),
				tmpf("%.1f",
			             fabs(f->value - t.fleet[i].median) / t.fleet[i].spread));
		}
	free(rejected);
	free(t.p);
	free(t.finding);
	free(t.fleet);
	free(t.alike);
}
