/* From findings to the scorecard: coverage, the verdict of each rule and
 * criterion, the overall word, and who is to blame. Whatever is not shown to
 * be good keeps ACCEPT away. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "score/judging.h"

/* Over the findings of a rule, with and without what is waived. */
struct tally {
	int64_t count[VERDICTS];
	struct coverage coverage;
};

static bool is_tested(enum verdict v)
{
	return v == VERDICT_PASS || v == VERDICT_WARN || v == VERDICT_FAIL ||
	       v == VERDICT_INCONCLUSIVE;
}

/* --- rules ------------------------------------------------------------------------ */

/* Worst verdict with a count among those up to `most`. */
static enum verdict worst_of(const int64_t count[VERDICTS], bool with_untested)
{
	enum verdict worst = VERDICT_NOT_APPLICABLE;

	for (enum verdict v = 0; v < VERDICTS; v++)
		if (count[v] && (with_untested || is_tested(v)) &&
		    verdict_severity(v) > verdict_severity(worst))
			worst = v;
	return worst;
}

/* Subjects left out matter only where the rule's coverage is not reached; a
 * rule with nothing tested is never good. */
static enum verdict verdict_of(const struct rule_info *info, const struct tally *t, bool *is_short)
{
	double needed = info->min_coverage * (double)t->coverage.due;

	*is_short = false;
	if (!t->coverage.due)
		return VERDICT_NOT_APPLICABLE;
	*is_short = !t->coverage.tested || (double)t->coverage.tested < needed - 1e-9;
	return worst_of(t->count, *is_short);
}

static void add_finding(struct tally *t, const struct finding *f, int64_t subjects)
{
	t->count[f->verdict] += f->subjects;
	if (f->verdict != VERDICT_NOT_APPLICABLE)
		t->coverage.due += subjects;
	if (is_tested(f->verdict))
		t->coverage.tested += subjects;
}

/* What is waived was tested all the same, or is not due; it decides nothing. */
static void gather_rule(struct judging *j, const struct resolved *rr, struct rule_result *r)
{
	struct tally all = {0}, rest = {0};
	bool ignored;

	r->rule = rr->info;
	for (int64_t i = rr->first; i < rr->end; i++) {
		const struct finding *f = &j->findings[i];
		int64_t subjects = i == rr->combined_at ? rr->combined : f->subjects;

		add_finding(&all, f, subjects);
		if (!f->waived) {
			add_finding(&rest, f, subjects);
			continue;
		}
		r->waived += subjects;
		if (!is_tested(f->verdict))
			continue;
		rest.coverage.due += subjects;
		rest.coverage.tested += subjects;
	}
	memcpy(r->count, all.count, sizeof(r->count));
	r->coverage = rest.coverage;
	r->verdict = verdict_of(rr->info, &rest, &r->coverage_short);
	r->unwaived = verdict_of(rr->info, &all, &ignored);
}

/* --- findings, worst first -------------------------------------------------------- */

static void place_findings(struct judging *j, const struct resolved *rr, struct finding *out)
{
	int64_t at[VERDICTS + 1] = {0}; /* by severity, worst first */

	for (int64_t i = rr->first; i < rr->end; i++)
		at[VERDICTS - verdict_severity(j->findings[i].verdict)]++;
	for (int s = 1; s <= VERDICTS; s++)
		at[s] += at[s - 1];
	for (int64_t i = rr->end; i-- > rr->first;) {
		struct finding *f = &j->findings[i];

		advise(j, f);
		out[rr->first + --at[VERDICTS - verdict_severity(f->verdict)]] = *f;
	}
}

/* Those from `first` on are placed: of a large cluster they need not stay twice. */
static void drop_findings(struct judging *j, int64_t first)
{
	struct finding *kept = realloc(j->findings, (size_t)(first + 1) * sizeof(*j->findings));

	if (kept)
		j->findings = kept;
}

/* --- criteria --------------------------------------------------------------------- */

static void add_to_criterion(struct criterion_result *c, const struct rule_result *r)
{
	bool period = r->rule->stage == RULE_PERIOD;
	enum verdict *verdict = period ? &c->period_verdict : &c->verdict;
	struct coverage *coverage = period ? &c->period_coverage : &c->coverage;

	if (!r->rule->required)
		return;
	c->has_period = c->has_period || period;
	coverage->due += r->coverage.due;
	coverage->tested += r->coverage.tested;
	for (int v = 0; !period && v < VERDICTS; v++)
		c->count[v] += r->count[v];
	c->waived += period ? 0 : r->waived;
	if (!period && verdict_severity(r->unwaived) > verdict_severity(c->unwaived))
		c->unwaived = r->unwaived;
	if (verdict_severity(r->verdict) > verdict_severity(*verdict))
		*verdict = r->verdict;
}

static void gather_criteria(struct judging *j, struct scorecard *card)
{
	const struct profile *p = j->profile;
	struct criterion_result *list = arena_array(j->arena, (size_t)p->n_criteria, sizeof(*list));

	for (int i = 0; i < p->n_criteria; i++)
		list[i] = (struct criterion_result){
			.id = arena_str(j->arena, p->criteria[i].id),
			.title = arena_str(j->arena, p->criteria[i].title),
			.subjects = arena_str(j->arena, p->criteria[i].subjects),
			.verdict = VERDICT_NOT_APPLICABLE,
			.unwaived = VERDICT_NOT_APPLICABLE,
			.period_verdict = VERDICT_NOT_APPLICABLE,
		};
	for (int i = 0; i < j->n_rules; i++)
		add_to_criterion(&list[j->rules[i].rule->criterion], &card->rule_results[i]);
	card->criteria = list;
	card->n_criteria = p->n_criteria;
}

/* --- overall ---------------------------------------------------------------------- */

static bool decides(const struct judging *j, const struct rule_result *r)
{
	return r->rule->required && r->rule->stage == j->options->stage;
}

static bool is_open(enum verdict v)
{
	return v != VERDICT_FAIL && verdict_severity(v) > verdict_severity(VERDICT_WARN);
}

static enum overall overall_of(bool fail, bool open)
{
	return fail ? OVERALL_REJECT : open ? OVERALL_INCOMPLETE : OVERALL_ACCEPT;
}

static void judge_overall(struct judging *j, struct scorecard *card)
{
	bool fail = false, open = false, fail_all = false, open_all = false, doubt;

	for (int i = 0; i < card->n_rules; i++) {
		const struct rule_result *r = &card->rule_results[i];

		if (!decides(j, r))
			continue;
		fail_all = fail_all || r->unwaived == VERDICT_FAIL;
		open_all = open_all || is_open(r->unwaived);
		if (!r->coverage.due)
			continue;
		card->rules++;
		card->rules_judged += r->coverage.tested > 0;
		fail = fail || r->verdict == VERDICT_FAIL;
		open = open || is_open(r->verdict);
	}
	/* Nothing judged proves nothing; a guessed card matches itself; a screen
	 * is too short to accept; an altered journal may say anything. */
	doubt = !card->rules_judged || j->options->guessed || card->screen_only || card->altered;
	card->overall_if_measured = overall_of(fail, open || doubt);
	card->overall_unwaived = overall_of(fail_all, open_all || doubt);
	card->overall = card->overall_if_measured;
	if (card->simulated && card->overall == OVERALL_ACCEPT)
		card->overall = OVERALL_INCOMPLETE;
}

/* --- culprits --------------------------------------------------------------------- */

/* How far on the wrong side, relative to the limit. */
static double shortfall(const struct finding *f)
{
	if (!f->has_value || !isfinite(f->limit))
		return INFINITY;
	return fabs(f->value - f->limit) / fmax(fabs(f->limit), 1e-300);
}

static int by_importance(const void *a, const void *b)
{
	const struct finding *x = *(const struct finding *const *)a;
	const struct finding *y = *(const struct finding *const *)b;
	int severity = verdict_severity(y->verdict) - verdict_severity(x->verdict);
	double dx, dy;

	if (severity)
		return severity;
	dx = shortfall(x);
	dy = shortfall(y);
	if (dx != dy)
		return dx > dy ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool is_culprit(const struct rule_result *r, const struct finding *f)
{
	if (f->waived)
		return false;
	if (f->verdict == VERDICT_FAIL || f->verdict == VERDICT_INCONCLUSIVE)
		return true;
	return !is_tested(f->verdict) && f->verdict != VERDICT_NOT_APPLICABLE && r->coverage_short;
}

static void gather_culprits(struct judging *j, struct scorecard *card)
{
	const struct finding **list = NULL;

	for (int pass = 0; pass < 2; pass++) {
		card->n_culprits = 0;
		for (int i = 0; i < card->n_rules; i++) {
			const struct rule_result *r = &card->rule_results[i];

			for (int64_t k = j->rules[i].first; decides(j, r) && k < j->rules[i].end;
			     k++) {
				if (!is_culprit(r, &card->findings[k]))
					continue;
				if (list)
					list[card->n_culprits] = &card->findings[k];
				card->n_culprits++;
			}
		}
		if (!list)
			list = arena_array(j->arena, (size_t)card->n_culprits, sizeof(*list));
	}
	qsort(list, (size_t)card->n_culprits, sizeof(*list), by_importance);
	card->culprits = list;
}

void verdicts_gather(struct judging *j, struct scorecard *card)
{
	struct rule_result *results = arena_array(j->arena, (size_t)j->n_rules, sizeof(*results));
	struct finding *out = arena_array(j->arena, (size_t)j->n_findings, sizeof(*out));

	waivers_apply(j, card);
	for (int i = j->n_rules - 1; i >= 0; i--) {
		gather_rule(j, &j->rules[i], &results[i]);
		place_findings(j, &j->rules[i], out);
		drop_findings(j, j->rules[i].first);
	}
	card->rule_results = results;
	card->n_rules = j->n_rules;
	card->findings = out;
	card->n_findings = j->n_findings;
	gather_criteria(j, card);
	judge_overall(j, card);
	gather_culprits(j, card);
}
