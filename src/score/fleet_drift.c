/* Stack drift: what nodes or cards say of themselves beside what most of them say.
 * One node with another kernel or clock limit is worth a line and fails nobody;
 * where no value has the majority there is no odd one out, and one finding says so. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "score/judging.h"

#define SHOWN 3 /* values of a mixed fleet that are named */

/* One subject's word. */
struct word {
	const char *text;
	int64_t finding;
};

/* A value and how many say it. */
struct value {
	const char *text;
	int64_t count;
};

static int by_text(const void *a, const void *b)
{
	const struct word *x = a, *y = b;
	int c = strcmp(x->text, y->text);

	return c ? c : (x->finding > y->finding) - (x->finding < y->finding);
}

static int by_count(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->text, y->text);
}

static const char *number_text(struct judging *j, double value)
{
	struct str text = {0};
	const char *kept;

	json_number_text(&text, value);
	kept = arena_strn(&j->scratch, str_text(&text), text.len);
	str_release(&text);
	return kept;
}

/* Sorted by text; *n of them. */
static struct word *take_words(struct judging *j, const struct resolved *rr, size_t *n)
{
	struct word *words =
		arena_array(&j->scratch, (size_t)(rr->end - rr->first), sizeof(*words));

	*n = 0;
	for (int64_t i = rr->first; i < rr->end; i++) {
		const struct finding *f = &j->findings[i];

		if (f->verdict == VERDICT_PASS || (f->verdict == VERDICT_WARN && f->recovered))
			words[(*n)++] =
				(struct word){f->text ? f->text : number_text(j, f->value), i};
	}
	qsort(words, *n, sizeof(*words), by_text);
	return words;
}

/* The most frequent value first; *n of them. */
static struct value *count_values(struct judging *j, const struct word *words, size_t n_words,
                                  size_t *n)
{
	struct value *values = arena_array(&j->scratch, n_words, sizeof(*values));

	*n = 0;
	for (size_t i = 0; i < n_words; i++) {
		if (!*n || strcmp(values[*n - 1].text, words[i].text) != 0)
			values[(*n)++] = (struct value){words[i].text, 0};
		values[*n - 1].count++;
	}
	qsort(values, *n, sizeof(*values), by_count);
	return values;
}

static const char *count_text(int64_t count)
{
	return tmpf("%lld", (long long)count);
}

static void warn_others(struct judging *j, const struct word *words, size_t n,
                        const struct value *most)
{
	for (size_t i = 0; i < n; i++) {
		struct finding *f = &j->findings[words[i].finding];

		if (strcmp(words[i].text, most->text) == 0)
			continue;
		f->verdict = VERDICT_WARN;
		f->reason = judging_reason(j, MSG_drift_other, words[i].text, most->text,
		                           count_text(most->count), count_text((int64_t)n));
	}
}

static const char *mixture(struct judging *j, const struct value *values, size_t n)
{
	struct str text = {0};
	const char *kept;
	int64_t rest = 0;

	for (size_t i = 0; i < n && i < SHOWN; i++) {
		str_add(&text, i ? ", " : "");
		msg_add(&text, MSG_drift_count, values[i].text, count_text(values[i].count));
	}
	for (size_t i = SHOWN; i < n; i++)
		rest += values[i].count;
	if (rest) {
		str_add(&text, ", ");
		msg_add(&text, MSG_drift_more, count_text((int64_t)n - SHOWN), count_text(rest));
	}
	kept = arena_strn(&j->scratch, str_text(&text), text.len);
	str_release(&text);
	return kept;
}

/* All that were compared become one finding about "*"; missing ones stay. */
static void join(struct judging *j, struct resolved *rr, const struct word *words, size_t n)
{
	int64_t kept = rr->first;
	enum origin origin = j->findings[words[0].finding].origin;
	struct finding *f;

	for (size_t i = 0; i < n; i++)
		j->findings[words[i].finding].subjects = 0;
	for (int64_t i = rr->first; i < rr->end; i++)
		if (j->findings[i].subjects)
			j->findings[kept++] = j->findings[i];
	j->n_findings = kept;
	f = finding_add(j, rr);
	f->subject.id = "*";
	f->outcome = OUTCOME_MEASURED;
	f->origin = origin;
	rr->combined_at = j->n_findings - 1;
	rr->combined = (int64_t)n;
	rr->end = j->n_findings;
}

static void warn_mixed(struct judging *j, struct resolved *rr, const struct word *words, size_t n,
                       const struct value *values, size_t n_values)
{
	const char *text = mixture(j, values, n_values);
	struct finding *f;

	join(j, rr, words, n);
	f = &j->findings[rr->combined_at];
	f->verdict = VERDICT_WARN;
	f->reason = judging_reason(j, MSG_drift_mixed, tmpf("%g", 100 * rr->rule->limit.number),
	                           count_text((int64_t)n), text);
}

void drift_warn(struct judging *j, struct resolved *rr)
{
	struct value *values;
	struct word *words;
	size_t n, n_values;

	if (rr->rule->limit.kind != LIMIT_MAJORITY)
		return;
	words = take_words(j, rr, &n);
	if (n < 2) {
		for (size_t i = 0; i < n; i++) {
			struct finding *f = &j->findings[words[i].finding];

			f->verdict = VERDICT_NOT_APPLICABLE;
			f->reason = judging_reason_list(j, MSG_nothing_to_compare,
			                                (const char *const[]){NULL});
		}
		return;
	}
	values = count_values(j, words, n, &n_values);
	if ((double)values[0].count >= rr->rule->limit.number * (double)n)
		warn_others(j, words, n, &values[0]);
	else
		warn_mixed(j, rr, words, n, values, n_values);
}
