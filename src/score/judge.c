/* One reading against one rule. Everything that is not a measured figure gets
 * its verdict here from the table of outcomes; nothing absent ever passes. */
#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "score/judging.h"
#include "stats/fluctuation.h"

int verdict_severity(enum verdict v)
{
	static const int severity[VERDICTS] = {
		[VERDICT_NOT_APPLICABLE] = 0, [VERDICT_PASS] = 1,         [VERDICT_WARN] = 2,
		[VERDICT_TOO_FEW] = 3,        [VERDICT_TOO_SHORT] = 4,    [VERDICT_STATED_ONLY] = 5,
		[VERDICT_NOT_MEASURED] = 6,   [VERDICT_INCONCLUSIVE] = 7, [VERDICT_FAIL] = 8,
	};

	return severity[v];
}

double reading_figure(const struct reading *r, int stat)
{
	if (stat == STAT_VALUE)
		return r->value_kind == VALUE_NUMBER ? r->value : NAN;
	/* Two names of one figure. */
	if (stat == STAT_P50 && !isfinite(r->stats[STAT_P50]))
		return r->stats[STAT_MEDIAN];
	if (stat == STAT_MEDIAN && !isfinite(r->stats[STAT_MEDIAN]))
		return r->stats[STAT_P50];
	return r->stats[stat];
}

static void settle(struct finding *f, enum verdict verdict, struct reason reason)
{
	f->verdict = verdict;
	f->reason = reason;
}

/* --- outcome and origin ----------------------------------------------------------- */

static enum verdict outcome_verdict(const struct rule *rule, const struct reading *r)
{
	switch (r->outcome) {
	case OUTCOME_UNSUPPORTED:
		return rule->must_exist ? VERDICT_FAIL : VERDICT_NOT_APPLICABLE;
	case OUTCOME_FAILED:
	case OUTCOME_LOST:
		return VERDICT_FAIL;
	case OUTCOME_TIMED_OUT:
		return r->subject.kind == SUBJECT_ENVIRONMENT ? VERDICT_NOT_MEASURED : VERDICT_FAIL;
	default:
		break;
	}
	if (r->reason.code && strcmp(r->reason.code, msg_name(MSG_too_short)) == 0)
		return VERDICT_TOO_SHORT;
	if (r->reason.code && strcmp(r->reason.code, msg_name(MSG_availability_too_short)) == 0)
		return VERDICT_TOO_SHORT;
	if (r->reason.code && (strcmp(r->reason.code, msg_name(MSG_too_few)) == 0 ||
	                       strcmp(r->reason.code, msg_name(MSG_tickets_too_few)) == 0))
		return VERDICT_TOO_FEW;
	return VERDICT_NOT_MEASURED;
}

/* A statement, good or bad, is no measurement of ours; "unsupported" said by
 * somebody else excuses nothing. */
static bool only_stated(const struct reading *r)
{
	return (r->origin == ORIGIN_IMPORTED || r->origin == ORIGIN_DECLARED) &&
	       r->outcome != OUTCOME_NOT_MEASURED;
}

static bool wants_text(const struct rule *rule)
{
	return strcmp(rule->metric->unit, "text") == 0 && rule->stat == STAT_VALUE;
}

/* Figure or text into the finding; false with the reason when there is none. */
static bool take_figure(struct judging *j, const struct resolved *rr, const struct reading *r,
                        struct finding *f)
{
	const struct rule *rule = rr->rule;

	if (r->unit && strcmp(r->unit, rule->metric->unit) != 0) {
		settle(f, VERDICT_NOT_MEASURED,
		       judging_reason(j, MSG_reading_unit, r->metric, r->unit, rule->metric->unit));
		return false;
	}
	if (wants_text(rule)) {
		f->text = r->value_kind == VALUE_TEXT && r->text && *r->text ? r->text : NULL;
		if (!f->text)
			settle(f, VERDICT_NOT_MEASURED,
			       judging_reason(j, MSG_value_missing, r->metric));
		return f->text != NULL;
	}
	f->value = reading_figure(r, rule->stat);
	f->has_value = isfinite(f->value);
	if (f->has_value)
		return true;
	f->value = NAN;
	settle(f, VERDICT_NOT_MEASURED,
	       rule->stat == STAT_VALUE
	               ? judging_reason(j, MSG_value_missing, r->metric)
	               : judging_reason(j, MSG_stat_missing, r->metric, rule->info.stat));
	return false;
}

bool judge_take(struct judging *j, const struct resolved *rr, const struct entry *e,
                struct finding *f)
{
	const struct reading *r = e->reading;
	const struct subject_entry *s = &j->index.subjects[e->subject];

	f->subject = r->subject;
	f->node = s->node_name;
	f->outcome = r->outcome;
	f->origin = r->origin;
	f->attempt = r->attempt;
	f->recovered = e->recovered;
	f->evidence = r;
	f->point = rr->rule->at_point && !s->star ? r->point : NULL;
	if (r->outcome != OUTCOME_MEASURED && !only_stated(r)) {
		/* Declared and not even a figure: at most somebody's word, which is missing. */
		settle(f,
		       r->origin == ORIGIN_DECLARED ? VERDICT_STATED_ONLY
		                                    : outcome_verdict(rr->rule, r),
		       r->reason);
		return false;
	}
	if (s->star) {
		settle(f, VERDICT_NOT_MEASURED, judging_reason(j, MSG_star_measured, r->metric));
		return false;
	}
	if (only_stated(r)) {
		if (r->outcome == OUTCOME_MEASURED)
			take_figure(j, rr, r, f);
		settle(f, VERDICT_STATED_ONLY,
		       judging_reason_list(j,
		                           r->origin == ORIGIN_IMPORTED ? MSG_stated_import
		                                                        : MSG_stated_declared,
		                           (const char *const[]){NULL}));
		return false;
	}
	return take_figure(j, rr, r, f);
}

/* --- comparing -------------------------------------------------------------------- */

bool figure_worse(const struct resolved *rr, double a, double b)
{
	switch (rr->rule->limit.kind) {
	case LIMIT_MIN:
		return a < b;
	case LIMIT_MAX:
		return a > b;
	case LIMIT_FRACTION:
		return rr->is_min ? a < b : a > b;
	case LIMIT_FLEET:
		return rr->rule->metric->better == BETTER_HIGHER ? a < b : a > b;
	default:
		return fabs(a - rr->limit) > fabs(b - rr->limit);
	}
}

static bool meets(bool is_min, double value, double limit)
{
	return is_min ? value >= limit : value <= limit;
}

/* The interval belongs to the value; other statistics decide by themselves. */
static bool has_interval(const struct resolved *rr, const struct finding *f)
{
	const double *stats = f->evidence ? f->evidence->stats : NULL;

	return stats && rr->rule->stat == STAT_VALUE && f->value == f->evidence->value &&
	       isfinite(stats[STAT_CI_LO]) && isfinite(stats[STAT_CI_HI]) &&
	       stats[STAT_CI_LO] <= stats[STAT_CI_HI];
}

static void compare_ordered(struct judging *j, const struct resolved *rr, double warn,
                            struct finding *f)
{
	bool lo, hi;

	if (has_interval(rr, f)) {
		f->ci_lo = f->evidence->stats[STAT_CI_LO];
		f->ci_hi = f->evidence->stats[STAT_CI_HI];
		f->resolution = (f->ci_hi - f->ci_lo) / 2;
		lo = meets(rr->is_min, f->ci_lo, f->limit);
		hi = meets(rr->is_min, f->ci_hi, f->limit);
	} else {
		lo = hi = meets(rr->is_min, f->value, f->limit);
	}
	if (lo != hi) {
		settle(f, VERDICT_INCONCLUSIVE,
		       judging_reason(j, MSG_ci_straddles, fmt_value(f->ci_lo),
		                      fmt_value(f->ci_hi)));
	} else if (!lo) {
		f->verdict = VERDICT_FAIL;
	} else if (isfinite(warn) && !meets(rr->is_min, f->value, warn)) {
		settle(f, VERDICT_WARN,
		       judging_reason(j, MSG_near_limit, fmt_measure(warn, rr->info->unit)));
	} else {
		f->verdict = VERDICT_PASS;
	}
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* The other metric of the same subject, at the same operating point where
 * there are several. */
static double reference(struct judging *j, const struct limit *l, const struct entry *e)
{
	int64_t n;
	const struct entry *other =
		series_of_subject(index_series(&j->index, l->of), e->subject, &n);
	double found = NAN;

	for (int64_t i = 0; i < n; i++) {
		const struct reading *r = other[i].reading;

		if (r->outcome != OUTCOME_MEASURED || only_stated(r))
			continue;
		if (same_text(r->point, e->reading->point))
			return reading_figure(r, STAT_VALUE);
		if (n == 1)
			found = reading_figure(r, STAT_VALUE);
	}
	return found;
}

static void compare_fraction(struct judging *j, const struct resolved *rr, const struct entry *e,
                             struct finding *f)
{
	const struct limit *l = &rr->rule->limit;
	double warn = rr->warn;

	if (l->of_metric) {
		double of = reference(j, l, e);

		if (!isfinite(of)) {
			settle(f, VERDICT_NOT_MEASURED,
			       judging_reason(j, MSG_reference_missing, l->of));
			return;
		}
		f->limit = of * l->factor;
		warn = rr->rule->has_warn ? of * rr->rule->warn : NAN;
	} else if (!isfinite(rr->limit)) {
		settle(f, VERDICT_NOT_MEASURED, judging_reason(j, MSG_limit_unknown, l->of));
		return;
	}
	compare_ordered(j, rr, warn, f);
	if (rr->thin && f->verdict == VERDICT_FAIL && !(f->value < rr->thin_fail))
		settle(f, VERDICT_WARN,
		       judging_reason_list(j, MSG_few_sources, (const char *const[]){NULL}));
	if (rr->unproven && (f->verdict == VERDICT_FAIL || f->verdict == VERDICT_PASS ||
	                     f->verdict == VERDICT_WARN))
		settle(f, VERDICT_WARN,
		       judging_reason(j, MSG_identity_unproven,
		                      fmt_measure(rr->figure.value, rr->info->unit)));
}

static bool cell_accepts(struct judging *j, const char *column, const char *cell, const char *text)
{
	if (j->matched.cell != cell || strcmp(j->matched.text, text) != 0) {
		j->matched.cell = cell;
		j->matched.text = text;
		j->matched.same = accel_accepts(column, cell, text);
	}
	return j->matched.same;
}

static void compare_row(struct judging *j, const struct resolved *rr, struct finding *f)
{
	const struct limit *l = &rr->rule->limit;
	bool same;

	if (j->card_row < 0 || j->card_guessed) {
		settle(f, VERDICT_STATED_ONLY,
		       judging_reason_list(j, MSG_identity_stated, (const char *const[]){NULL}));
		return;
	}
	if (!rr->cell || !rr->cell_trusted) {
		settle(f, VERDICT_WARN,
		       judging_reason(j, rr->cell ? MSG_figure_unverified : MSG_figure_empty,
		                      l->of));
		return;
	}
	same = f->text ? cell_accepts(j, l->of, rr->cell, f->text)
	               : fabs(f->value - rr->limit) <= l->tolerance * fabs(rr->limit);
	f->verdict = same ? VERDICT_PASS : VERDICT_FAIL;
}

/* --- fluctuation: its own test, in stats ------------------------------------------ */

static void compare_f95(struct judging *j, const struct resolved *rr, struct finding *f)
{
	const double *stats = f->evidence->stats;
	const char *n = tmpf("%.0f", stats[STAT_N]);

	switch (f95_judge(stats, rr->limit, &f->resolution)) {
	case F95_PASS:
		f->verdict = VERDICT_PASS;
		break;
	case F95_FAIL:
		f->verdict = VERDICT_FAIL;
		break;
	case F95_WARN:
		settle(f, VERDICT_WARN,
		       judging_reason_list(j, MSG_f95_near, (const char *const[]){NULL}));
		break;
	case F95_INCONCLUSIVE:
		settle(f, VERDICT_INCONCLUSIVE,
		       judging_reason(j, MSG_f95_noise, fmt_value(f->resolution)));
		break;
	case F95_EXTEND:
		settle(f, VERDICT_INCONCLUSIVE,
		       judging_reason(j, MSG_f95_short_open, n, tmpf("%d", F95_LONG)));
		break;
	case F95_TOO_SHORT:
		settle(f, VERDICT_TOO_SHORT,
		       judging_reason(j, MSG_too_short, n, tmpf("%d", F95_SHORT)));
		break;
	case F95_ABSENT:
		settle(f, VERDICT_NOT_MEASURED,
		       judging_reason(j, MSG_stat_missing, f->evidence->metric, "f95"));
		break;
	}
}

static void compare_dips(struct judging *j, const struct resolved *rr, struct finding *f)
{
	const double *stats = f->evidence->stats;

	switch (dips_judge(stats, rr->limit)) {
	case DIPS_PASS:
		f->verdict = VERDICT_PASS;
		break;
	case DIPS_FAIL:
		f->verdict = VERDICT_FAIL;
		break;
	case DIPS_WARN:
		settle(f, VERDICT_WARN,
		       judging_reason(j, MSG_dips_few, tmpf("%.0f", stats[STAT_N]),
		                      tmpf("%d", DIPS_LEAST)));
		break;
	case DIPS_ABSENT:
		settle(f, VERDICT_NOT_MEASURED,
		       judging_reason(j, MSG_stat_missing, f->evidence->metric, "dip_lo95"));
		break;
	}
}

void judge_compare(struct judging *j, const struct resolved *rr, const struct entry *e,
                   struct finding *f)
{
	const struct limit *l = &rr->rule->limit;

	f->limit = rr->limit;
	if (rr->rule->stat == STAT_F95) {
		compare_f95(j, rr, f);
		return;
	}
	if (rr->rule->stat == STAT_DIP_SHARE) {
		compare_dips(j, rr, f);
		return;
	}
	switch (l->kind) {
	case LIMIT_MIN:
	case LIMIT_MAX:
		compare_ordered(j, rr, rr->warn, f);
		break;
	case LIMIT_NUMBER:
		f->verdict = f->value == l->number ? VERDICT_PASS : VERDICT_FAIL;
		break;
	case LIMIT_TEXT:
		f->verdict = strcmp(f->text, l->text) == 0 ? VERDICT_PASS : VERDICT_FAIL;
		break;
	case LIMIT_FRACTION:
		compare_fraction(j, rr, e, f);
		break;
	case LIMIT_ROW:
		compare_row(j, rr, f);
		break;
	case LIMIT_EXISTS:
		f->verdict = f->text ? VERDICT_PASS : VERDICT_FAIL;
		break;
	case LIMIT_FLEET:
	case LIMIT_MAJORITY:
		f->verdict = VERDICT_PASS; /* until compared with all others */
		break;
	}
}
