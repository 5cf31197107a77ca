/* Many subjects as one figure. The finding names the subject that made it so
 * wherever one did: the worst one, or the one farthest from the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "score/judging.h"
#include "stats/samples.h"

/* --- one of them ------------------------------------------------------------------ */

static const struct sample *extreme(const struct resolved *rr, const struct sample *s, int64_t n,
                                    bool worst)
{
	const struct sample *found = &s[0];

	for (int64_t i = 1; i < n; i++)
		if (worst ? figure_worse(rr, s[i].value, found->value)
		          : figure_worse(rr, found->value, s[i].value))
			found = &s[i];
	return found;
}

/* --- all of them ------------------------------------------------------------------ */

static double *values_of(const struct sample *s, int64_t n)
{
	double *values = malloc((size_t)n * sizeof(*values));

	if (!values)
		die_nomem();
	for (int64_t i = 0; i < n; i++)
		values[i] = s[i].value;
	return values;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct sample *)a)->text, ((const struct sample *)b)->text);
}

static int64_t same_text(const struct sample *s, int64_t n, int64_t first)
{
	int64_t next = first + 1;

	while (next < n && strcmp(s[next].text, s[first].text) == 0)
		next++;
	return next - first;
}

/* Sorts the samples. Where most agree the rarest text is the odd one out; where
 * they do not, nobody can tell who is wrong. */
static double text_spread(struct sample *s, int64_t n, const struct sample **odd)
{
	int64_t kinds = 0, rarest = n + 1, most = 0;

	qsort(s, (size_t)n, sizeof(*s), by_text);
	for (int64_t i = 0, len; i < n; i += len) {
		len = same_text(s, n, i);
		kinds++;
		most = len > most ? len : most;
		if (len < rarest) {
			rarest = len;
			*odd = &s[i];
		}
	}
	if (2 * most <= n)
		*odd = NULL;
	return (double)(kinds - 1);
}

/* Sorts the samples: how many have a text that one before them has. */
static double text_doubles(struct sample *s, int64_t n, const struct sample **second)
{
	int64_t doubles = 0;

	qsort(s, (size_t)n, sizeof(*s), by_text);
	for (int64_t i = 0, len; i < n; i += len) {
		len = same_text(s, n, i);
		if (len > 1 && doubles == 0)
			*second = &s[i + 1];
		doubles += len - 1;
	}
	return (double)doubles;
}

static double number_spread(const struct sample *s, int64_t n, const struct sample **odd)
{
	double *values = values_of(s, n), center = median(values, (size_t)n);
	double low = INFINITY, high = -INFINITY, far = -1;

	for (int64_t i = 0; i < n; i++) {
		low = fmin(low, values[i]);
		high = fmax(high, values[i]);
		if (fabs(values[i] - center) > far) {
			far = fabs(values[i] - center);
			*odd = &s[i];
		}
	}
	free(values);
	/* Of two each is as far off as the other. */
	if (n == 2)
		*odd = NULL;
	return high - low;
}

static double combined(const struct resolved *rr, struct sample *s, int64_t n,
                       const struct sample **odd)
{
	double *values, result = 0;

	*odd = NULL;
	if (rr->rule->scope == SCOPE_DISTINCT)
		return text_doubles(s, n, odd);
	if (rr->rule->scope == SCOPE_SPREAD)
		return s[0].text ? text_spread(s, n, odd) : number_spread(s, n, odd);
	values = values_of(s, n);
	if (rr->rule->scope == SCOPE_MEDIAN) {
		result = median(values, (size_t)n);
	} else {
		for (int64_t i = 0; i < n; i++)
			result += values[i];
	}
	free(values);
	return result;
}

/* --- judging ---------------------------------------------------------------------- */

static void name_all(struct finding *f, const struct resolved *rr, const struct sample *s)
{
	f->subject = (struct subject){.kind = rr->rule->metric->subject, .id = "*", .index = -1};
	f->outcome = OUTCOME_MEASURED;
	f->origin = s->entry.reading->origin;
}

static void name_one(struct judging *j, struct finding *f, const struct sample *s)
{
	f->subject = s->entry.reading->subject;
	f->node = j->index.subjects[s->entry.subject].node_name;
	f->evidence = s->entry.reading;
	f->attempt = s->entry.reading->attempt;
	f->text = s->text;
}

static void judge_combined(struct judging *j, const struct resolved *rr, struct sample *s,
                           int64_t n, struct finding *f)
{
	const struct sample *odd;
	double value;

	name_all(f, rr, &s[0]);
	if (rr->rule->scope == SCOPE_SPREAD && n < 2) {
		f->verdict = VERDICT_TOO_FEW;
		f->reason = judging_reason(j, MSG_too_few, tmpf("%lld", (long long)n));
		return;
	}
	value = combined(rr, s, n, &odd);
	f->value = value;
	f->has_value = isfinite(value);
	judge_compare(j, rr, NULL, f);
	if (odd && f->verdict != VERDICT_PASS)
		name_one(j, f, odd);
	/* Who has it too stands before it. */
	if (odd && f->verdict != VERDICT_PASS && rr->rule->scope == SCOPE_DISTINCT)
		f->reason = judging_reason(j, MSG_shared_with,
		                           j->index.subjects[odd[-1].entry.subject].node_name,
		                           odd->text);
}

/* A subject not measured could still lift a best, a median or a sum over the
 * limit; it cannot mend a worst one or a spread. */
static bool may_still_meet(enum scope scope)
{
	return scope == SCOPE_BEST || scope == SCOPE_MEDIAN || scope == SCOPE_SUM;
}

void scope_judge(struct judging *j, struct resolved *rr, struct sample *s, int64_t n, bool complete)
{
	struct finding *f = finding_add(j, rr);
	enum scope scope = rr->rule->scope;

	rr->combined_at = j->n_findings - 1;
	rr->combined = n;
	if (scope == SCOPE_WORST || scope == SCOPE_BEST) {
		const struct sample *one = extreme(rr, s, n, scope == SCOPE_WORST);

		judge_take(j, rr, &one->entry, f);
		judge_compare(j, rr, &one->entry, f);
	} else {
		judge_combined(j, rr, s, n, f);
	}
	for (int64_t i = 0; i < n && f->verdict == VERDICT_PASS; i++) {
		if (!s[i].entry.recovered)
			continue;
		f->verdict = VERDICT_WARN;
		f->reason =
			judging_reason(j, MSG_recovered, tmpf("%d", s[i].entry.reading->attempt));
	}
	if (!complete && f->verdict == VERDICT_FAIL && may_still_meet(scope)) {
		f->verdict = VERDICT_NOT_MEASURED;
		f->reason =
			judging_reason_list(j, MSG_subjects_missing, (const char *const[]){NULL});
	}
}
