/* What readings of pairs say, for all who look at them. A pair that was read again
 * is judged by the median of its readings: the worst of them would punish a pair
 * for having been looked at more often. */
#include "score/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

bool pair_usable(const struct reading *r)
{
	const struct subject *s = &r->subject;
	bool measured =
		r->outcome == OUTCOME_MEASURED && r->value_kind == VALUE_NUMBER && r->value > 0;
	bool dead = r->outcome == OUTCOME_FAILED || r->outcome == OUTCOME_TIMED_OUT;

	return (measured || dead) &&
	       (r->origin == ORIGIN_MEASURED || r->origin == ORIGIN_SIMULATED) && s->n_ends == 2 &&
	       s->ends[0].node && s->ends[1].node && strcmp(s->ends[0].node, s->ends[1].node) != 0;
}

/* Few readings have it, so few are parsed. */
struct pair_pattern pair_pattern(const struct reading *r, struct arena *arena)
{
	struct pair_pattern p = {.senders = 1};
	struct json_doc doc = {0};
	const cJSON *leaves;

	if (!r->params || (!strstr(r->params, "\"senders\"") && !strstr(r->params, "\"leaves\"")))
		return p;
	if (json_parse(&doc, "params", r->params, strlen(r->params), JSON_STRICT, NULL) != ST_OK)
		return p;
	p.senders = (int)fmin(1e6, fmax(0, json_number(doc.root, "senders", 1)));
	leaves = json_get(doc.root, "leaves");
	for (int e = 0; e < 2 && cJSON_IsArray(leaves); e++) {
		const cJSON *name = cJSON_GetArrayItem(leaves, e);

		if (cJSON_IsString(name) && *name->valuestring)
			p.leaf[e] = arena_str(arena, name->valuestring);
	}
	json_release(&doc);
	return p;
}

/* --- how many ------------------------------------------------------------------- */

/* The ends of a reading in the order of their names. */
struct meeting {
	const char *low, *high;
	const char *work;
	int subject;
};

static int by_pair(const void *a, const void *b)
{
	const struct meeting *x = a, *y = b;
	int order = strcmp(x->low, y->low);

	return order ? order : strcmp(x->high, y->high);
}

static int by_pair_subject(const void *a, const void *b)
{
	const struct meeting *x = a, *y = b;
	int order = by_pair(a, b);

	if (!order)
		order = (x->subject > y->subject) - (x->subject < y->subject);
	return order ? order : strcmp(x->work, y->work);
}

static int64_t gather(const struct series *s, bool tested, struct meeting *list)
{
	int64_t n = 0;

	for (int64_t i = 0; i < s->n; i++) {
		const struct reading *r = s->entries[i].reading;
		const char *a = r->subject.ends[0].node, *b = r->subject.ends[1].node;

		if (r->subject.n_ends != 2 || !a || !b || strcmp(a, b) == 0 ||
		    (tested && !pair_usable(r)))
			continue;
		list[n++] = (struct meeting){.low = strcmp(a, b) < 0 ? a : b,
		                             .high = strcmp(a, b) < 0 ? b : a,
		                             .work = r->work ? r->work : "",
		                             .subject = s->entries[i].subject};
	}
	qsort(list, (size_t)n, sizeof(*list), by_pair_subject);
	return n;
}

struct pairs_seen pairs_count(const struct series *s, bool tested)
{
	struct meeting *list = malloc(((size_t)s->n + 1) * sizeof(*list));
	struct pairs_seen seen = {0};
	int64_t n;
	bool again = false;

	if (!list)
		die_nomem();
	n = gather(s, tested, list);
	for (int64_t i = 0; i < n; i++) {
		bool first = i == 0 || by_pair(&list[i - 1], &list[i]) != 0;
		bool same = !first && list[i - 1].subject == list[i].subject;

		seen.pairs += first;
		seen.subjects += !same;
		again = !first && again;
		if (same && !again && strcmp(list[i - 1].work, list[i].work) != 0) {
			seen.again++;
			again = true;
		}
	}
	free(list);
	return seen;
}

/* --- read again ----------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a == b || strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_end(const struct subject_end *a, const struct subject_end *b)
{
	return same_text(a->node, b->node) && same_text(a->card, b->card) &&
	       same_text(a->nic, b->nic) && a->port == b->port;
}

/* Many senders at once are another pattern, not another reading. */
static bool has_senders(const struct reading *r)
{
	return r->params && strstr(r->params, "\"senders\"");
}

static bool same_way(const struct reading *a, const struct reading *b)
{
	return a->subject.n_ends == 2 && b->subject.n_ends == 2 && same_text(a->point, b->point) &&
	       a->origin == b->origin && has_senders(a) == has_senders(b) &&
	       same_end(&a->subject.ends[0], &b->subject.ends[0]) &&
	       same_end(&a->subject.ends[1], &b->subject.ends[1]);
}

static bool has_figure(const struct reading *r)
{
	return r->outcome == OUTCOME_MEASURED && r->value_kind == VALUE_NUMBER;
}

/* Worse ones first; where there is no better side, as they are. */
static bool is_worse(const struct reading *a, const struct reading *b)
{
	return a->better == BETTER_LOWER ? a->value > b->value : a->value < b->value;
}

/* e[at] among its like: how many are worse, and how many there are; of equal ones the
 * earlier counts as worse. */
static int64_t place_among(const struct entry *e, int64_t n, int64_t at, int64_t *count)
{
	int64_t worse = 0;

	*count = 0;
	for (int64_t i = 0; i < n; i++) {
		const struct reading *a = e[i].reading, *b = e[at].reading;

		if (!has_figure(a) || !same_way(a, b))
			continue;
		++*count;
		worse += i != at && (is_worse(a, b) || (i < at && !is_worse(b, a)));
	}
	return worse;
}

int64_t pairs_join(const struct entry *e, int64_t n, struct entry *out)
{
	int64_t kept = 0;

	for (int64_t i = 0; i < n; i++) {
		int64_t count, place;

		if (has_figure(e[i].reading)) {
			place = place_among(e, n, i, &count);
			if (place != (count - 1) / 2)
				continue;
		}
		out[kept++] = e[i];
	}
	return kept;
}
