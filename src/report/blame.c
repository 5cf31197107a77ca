/* Counting over a whole scorecard. A subject that fails by ten rules is one
 * subject: they are told apart by a 64-bit hash of what names them, kept in a
 * table that grows with the failures only. */
#include "report/blame.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/msg.h"
#include "report/waived.h"
#include "report/words.h"

/* --- distinct subjects ------------------------------------------------------------ */

/* The NUL that ends each part keeps them apart. */
static uint64_t hash_text(uint64_t h, const char *text)
{
	text = text ? text : "\1";
	return hash_add(h, text, strlen(text) + 1);
}

static uint64_t hash_subject(const struct finding *f)
{
	const struct subject *s = &f->subject;
	uint64_t h = hash_text(HASH_START ^ (uint64_t)s->kind, s->id);

	/* The same path is one path from wherever it was looked at. */
	if (s->kind != SUBJECT_PATH && s->kind != SUBJECT_CLUSTER)
		h = hash_text(h, f->node);
	for (int i = 0; i < s->n_ends; i++) {
		h = hash_text(h, s->ends[i].node);
		h = hash_text(h, s->ends[i].card);
		h = hash_text(h, s->ends[i].nic);
		h = hash_add(h, &s->ends[i].port, sizeof(s->ends[i].port));
	}
	return h ? h : 1; /* 0 marks a free place */
}

struct seen {
	uint64_t *places;
	size_t size, used; /* size: a power of two */
};

static bool place(uint64_t *places, size_t size, uint64_t h)
{
	size_t i = h & (size - 1);

	while (places[i] && places[i] != h)
		i = (i + 1) & (size - 1);
	if (places[i])
		return false;
	places[i] = h;
	return true;
}

/* True the first time. */
static bool is_new(struct seen *s, uint64_t h)
{
	if (2 * s->used >= s->size) {
		size_t size = s->size ? 4 * s->size : 256;
		uint64_t *places = calloc(size, sizeof(*places));

		if (!places)
			die_nomem();
		for (size_t i = 0; i < s->size; i++)
			if (s->places[i])
				place(places, size, s->places[i]);
		free(s->places);
		s->places = places;
		s->size = size;
	}
	if (!place(s->places, s->size, h))
		return false;
	s->used++;
	return true;
}

/* --- blame ------------------------------------------------------------------------------ */

static void add_kind(struct str *out, enum subject_kind kind, int64_t count, int64_t of)
{
	str_add(out, out->len ? ", " : "");
	if (kind == SUBJECT_CLUSTER)
		str_add(out, msg_format(MSG_words_cluster));
	else if (count < of)
		msg_add(out, MSG_blame_of, words_count(count), words_subjects(kind, of));
	else
		str_add(out, words_subjects(kind, count));
}

void blame_summary(struct str *out, const struct scorecard *card)
{
	static const enum subject_kind order[] = {SUBJECT_CARD,   SUBJECT_LINK, SUBJECT_NODE,
	                                          SUBJECT_PAIR,   SUBJECT_PATH, SUBJECT_ENVIRONMENT,
	                                          SUBJECT_CLUSTER};
	int64_t kinds[SUBJECT_KINDS] = {0}, of[SUBJECT_KINDS] = {0};
	struct seen seen = {0};

	of[SUBJECT_CARD] = card->expected_cards;
	of[SUBJECT_NODE] = card->expected_nodes;
	for (int64_t i = 0; i < card->n_culprits; i++) {
		const struct finding *f = card->culprits[i];

		if (f->verdict == VERDICT_FAIL && is_new(&seen, hash_subject(f)))
			kinds[f->subject.kind] += f->subjects;
	}
	free(seen.places);
	for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++)
		if (kinds[order[k]])
			add_kind(out, order[k], kinds[order[k]], of[order[k]]);
}

/* --- coverage ------------------------------------------------------------------------------ */

/* The kind of subject a rule is about: that of any of its findings. */
static bool about(const struct scorecard *card, const struct rule_info *rule, int64_t *at,
                  enum subject_kind *kind)
{
	for (int64_t n = 0; n < card->n_findings; n++) {
		int64_t i = (*at + n) % card->n_findings;

		if (card->findings[i].rule != rule)
			continue;
		*at = i;
		*kind = card->findings[i].subject.kind;
		return true;
	}
	return false;
}

void coverage_words(struct str *out, const struct scorecard *card, const struct criterion_result *c)
{
	enum subject_kind wanted, kind;
	int64_t due = 0, tested = -1, at = 0;
	bool agree = subject_kind_parse(c->subjects, &wanted);

	for (int i = 0; i < card->n_rules && agree; i++) {
		const struct rule_result *r = &card->rule_results[i];

		if (!r->rule->required || r->rule->stage != RULE_DELIVERY || !r->coverage.due ||
		    strcmp(r->rule->criterion, c->id) != 0 || !about(card, r->rule, &at, &kind) ||
		    kind != wanted)
			continue;
		due = r->coverage.due > due ? r->coverage.due : due;
		agree = tested < 0 || tested == r->coverage.tested;
		tested = r->coverage.tested;
	}
	if (agree && tested >= 0)
		msg_add(out, MSG_coverage_subjects, words_count(tested),
		        words_subjects(wanted, due));
	else
		msg_add(out, MSG_coverage, words_count(c->coverage.tested),
		        words_count(c->coverage.due));
	waived_count(out, c->waived);
}

/* --- the fleet ----------------------------------------------------------------------------- */

#define FLEET_MIN 8

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double fleet_median(const struct scorecard *card, const struct finding *f)
{
	const struct finding *first = f, *end = f, *last = card->findings + card->n_findings;
	double *values, median = NAN;
	size_t n = 0;

	while (first > card->findings && first[-1].rule == f->rule)
		first--;
	while (end < last && end->rule == f->rule)
		end++;
	if (end - first < FLEET_MIN)
		return NAN;
	values = malloc((size_t)(end - first) * sizeof(*values));
	if (!values)
		die_nomem();
	for (; first < end; first++)
		if (first->has_value && !first->text)
			values[n++] = first->value;
	if (n >= FLEET_MIN) {
		qsort(values, n, sizeof(*values), by_number);
		median = (values[(n - 1) / 2] + values[n / 2]) / 2;
	}
	free(values);
	return median;
}
