/* Attempts and resume (judging.md 3): which of several readings of one thing
 * stands, and which units of work are still owed. Texts are compared by
 * content, so it holds for runs made by hand as well as for opened ones. */
#include "run/attempts.h"

#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/error.h"
#include "base/sha256.h"
#include "run/intern.h"
#include "run/journal.h"
#include "run/rundir.h"

void work_id(char id[13], const char *phase, const char *probe, const char *subject,
             const char *params)
{
	const char *parts[] = {phase, probe, subject, params};
	char hex[SHA256_HEX];
	struct sha256 sum;

	sha256_init(&sum);
	for (int i = 0; i < 4; i++) {
		const char *part = parts[i] ? parts[i] : "";

		sha256_add(&sum, part, strlen(part) + 1); /* the NUL keeps them apart */
	}
	sha256_hex(&sum, hex);
	memcpy(id, hex, 12);
	id[12] = '\0';
}

/* --- sameness ------------------------------------------------------------------ */

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static uint64_t mix(uint64_t h, const char *text)
{
	return (h ^ (text ? text_hash(text, strlen(text)) : 1)) * 0x9e3779b97f4a7c15ULL;
}

static bool same_end(const struct subject_end *a, const struct subject_end *b)
{
	return a->port == b->port && same(a->node, b->node) && same(a->card, b->card) &&
	       same(a->nic, b->nic);
}

static bool same_subject(const struct subject *a, const struct subject *b)
{
	if (a->kind != b->kind || a->n_ends != b->n_ends || !same(a->id, b->id))
		return false;
	return a->n_ends < 2 ||
	       (same_end(&a->ends[0], &b->ends[0]) && same_end(&a->ends[1], &b->ends[1]));
}

/* All subjects of a kind on a node: what "*" stands for. */
static bool same_group(const struct reading *a, const struct reading *b)
{
	return a->subject.kind == b->subject.kind && same(a->metric, b->metric) &&
	       same(a->node, b->node);
}

static uint64_t group_hash(const struct reading *r)
{
	return mix(mix(r->subject.kind, r->metric), r->node);
}

static bool same_thing(const struct reading *a, const struct reading *b)
{
	return same_group(a, b) && same(a->work, b->work) && same(a->point, b->point) &&
	       same_subject(&a->subject, &b->subject);
}

static uint64_t thing_hash(const struct reading *r)
{
	uint64_t h = mix(mix(mix(group_hash(r), r->work), r->point), r->subject.id);

	for (int i = 0; i < r->subject.n_ends; i++)
		h = mix(mix(mix(h + (uint64_t)r->subject.ends[i].port, r->subject.ends[i].node),
		            r->subject.ends[i].card),
		        r->subject.ends[i].nic);
	return h;
}

/* --- what stands ------------------------------------------------------------------ */

struct standing {
	const struct reading *reading;
	int session, attempt; /* newest that said something about it */
	bool recovered;       /* a lost reading was replaced */
	bool dropped;         /* gave way to readings of what it was about */
	int64_t next_star;    /* of the same group, -1: none */
};

/* Indices of standings by hash; open addressing, never full. */
struct index {
	int64_t *slots; /* -1: free */
	size_t mask;
};

struct merge {
	struct standing *list;
	int64_t count;
	struct index things, stars;
};

static struct index index_new(int64_t entries)
{
	struct index x;
	size_t cap = 16;

	while (cap < (size_t)entries * 2)
		cap *= 2;
	x.mask = cap - 1;
	x.slots = malloc(cap * sizeof(*x.slots));
	if (!x.slots)
		die_nomem();
	memset(x.slots, 0xff, cap * sizeof(*x.slots));
	return x;
}

/* The slot of the standing that is `same` as r, or a free one. */
static int64_t *index_find(const struct merge *m, const struct index *x, uint64_t hash,
                           const struct reading *r,
                           bool (*alike)(const struct reading *, const struct reading *))
{
	size_t at = (hash ^ hash >> 32) & x->mask;

	while (x->slots[at] >= 0 && !alike(m->list[x->slots[at]].reading, r))
		at = (at + 1) & x->mask;
	return &x->slots[at];
}

static bool replaceable(const struct reading *r)
{
	return r->outcome == OUTCOME_NOT_MEASURED || r->outcome == OUTCOME_LOST;
}

/* What follows from the run itself, its shape, parameters and places, stays as it
 * is however often it is tried: a resume would measure for hours to say it again. */
static bool is_settled(const struct reading *r)
{
	static const enum msg codes[] = {
		MSG_storage_unproven,     MSG_storage_left_out,      MSG_storage_no_point,
		MSG_storage_buffered,     MSG_storage_cached,        MSG_storage_reduction_unknown,
		MSG_storage_counter_none, MSG_storage_counter_blind, MSG_dataset_in_ram,
		MSG_net_no_second,
	};

	for (size_t i = 0; r->reason.code && i < sizeof(codes) / sizeof(*codes); i++)
		if (strcmp(r->reason.code, msg_name(codes[i])) == 0)
			return true;
	return false;
}

static int badness(enum outcome outcome)
{
	switch (outcome) {
	case OUTCOME_FAILED:
		return 3;
	case OUTCOME_TIMED_OUT:
		return 2;
	case OUTCOME_MEASURED:
		return 1;
	default:
		return 0;
	}
}

/* Whether `r` is worse than what stands; without an order the first stays. */
static bool worse(const struct reading *r, const struct reading *stands)
{
	if (r->outcome != OUTCOME_MEASURED || stands->outcome != OUTCOME_MEASURED)
		return badness(r->outcome) > badness(stands->outcome);
	if (r->value_kind != VALUE_NUMBER || stands->value_kind != VALUE_NUMBER)
		return false;
	switch (stands->better) {
	case BETTER_HIGHER:
		return r->value < stands->value;
	case BETTER_LOWER:
		return r->value > stands->value;
	case BETTER_NEITHER:
		break;
	}
	return false;
}

static void fold(struct standing *s, const struct reading *r, int session)
{
	s->session = session;
	if (r->attempt > s->attempt)
		s->attempt = r->attempt;
	if (replaceable(s->reading)) {
		s->recovered = s->recovered || s->reading->outcome == OUTCOME_LOST;
		s->reading = r;
	} else if (!replaceable(r) && worse(r, s->reading)) {
		s->reading = r;
	}
}

static bool about_all(const struct reading *r)
{
	return r->subject.id && strcmp(r->subject.id, "*") == 0;
}

static void list_star(struct merge *m, int64_t i)
{
	const struct reading *r = m->list[i].reading;
	int64_t *slot = index_find(m, &m->stars, group_hash(r), r, same_group);

	m->list[i].next_star = *slot;
	*slot = i;
}

/* In a later session, or a later attempt of the same unit of work. */
static bool later(const struct standing *s, const struct standing *than)
{
	return s->session > than->session ||
	       (s->attempt > than->attempt && same(s->reading->work, than->reading->work));
}

/* Whether `wide` was said about more than one thing, `narrow` among them: all
 * subjects of a kind, or all operating points of one subject. */
static bool covers(const struct reading *wide, const struct reading *narrow)
{
	if (about_all(wide))
		return !about_all(narrow);
	return !wide->point && narrow->point && same_subject(&wide->subject, &narrow->subject);
}

/* What was owed for many gives way to what was said later about one of them. */
static void drop_stars(struct merge *m)
{
	for (int64_t i = 0; i < m->count; i++) {
		struct standing *s = &m->list[i], *star;

		for (int64_t at = *index_find(m, &m->stars, group_hash(s->reading), s->reading,
		                              same_group);
		     at >= 0; at = star->next_star) {
			star = &m->list[at];
			if (!covers(star->reading, s->reading) || !later(s, star))
				continue;
			star->dropped = true;
			s->recovered = s->recovered || star->recovered ||
			               star->reading->outcome == OUTCOME_LOST;
		}
	}
}

static void merge_readings(struct merge *m, const struct rundir *run)
{
	int session = 0;

	*m = (struct merge){.list = calloc((size_t)run->n_readings + 1, sizeof(*m->list)),
	                    .things = index_new(run->n_readings),
	                    .stars = index_new(run->n_readings)};
	if (!m->list)
		die_nomem();
	for (int64_t i = 0; i < run->n_readings; i++) {
		const struct reading *r = &run->readings[i];
		int64_t *slot = index_find(m, &m->things, thing_hash(r), r, same_thing);

		while (session < run->n_resumes && run->resumed_at[session] <= i)
			session++;
		if (*slot >= 0) {
			fold(&m->list[*slot], r, session);
			continue;
		}
		*slot = m->count;
		m->list[m->count++] = (struct standing){
			.reading = r, .session = session, .attempt = r->attempt, .next_star = -1};
	}
	for (int64_t i = 0; i < m->count; i++)
		if (replaceable(m->list[i].reading) &&
		    (about_all(m->list[i].reading) || !m->list[i].reading->point))
			list_star(m, i);
	drop_stars(m);
}

static void merge_release(struct merge *m)
{
	free(m->list);
	free(m->things.slots);
	free(m->stars.slots);
}

struct effective rundir_effective(struct rundir *run)
{
	struct effective e = {0};
	struct merge m;

	merge_readings(&m, run);
	e.readings = arena_array(&run->arena, (size_t)m.count, sizeof(*e.readings));
	e.recovered = arena_array(&run->arena, (size_t)m.count, sizeof(*e.recovered));
	for (int64_t i = 0; i < m.count; i++) {
		if (m.list[i].dropped)
			continue;
		e.recovered[e.count] = m.list[i].recovered;
		e.readings[e.count++] = m.list[i].reading;
	}
	merge_release(&m);
	return e;
}

/* --- units of work -------------------------------------------------------------------- */

struct work {
	const char *id;
	int attempt; /* highest so far */
	bool done, owed;
};

struct works {
	struct arena *arena;
	struct work *list; /* sorted by id; NULL: not made yet */
	int64_t count;
};

struct works *works_new(struct arena *arena)
{
	struct works *w = arena_alloc(arena, sizeof(*w));

	w->arena = arena;
	return w;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct work *)a)->id, ((const struct work *)b)->id);
}

/* One entry a unit out of one per mention. */
static void unite(struct works *w)
{
	int64_t kept = 0;

	qsort(w->list, (size_t)w->count, sizeof(*w->list), by_id);
	for (int64_t i = 0; i < w->count; i++) {
		struct work *last = kept ? &w->list[kept - 1] : NULL;

		if (!last || strcmp(last->id, w->list[i].id) != 0) {
			w->list[kept++] = w->list[i];
			continue;
		}
		last->done = last->done || w->list[i].done;
		last->owed = last->owed || w->list[i].owed;
		if (w->list[i].attempt > last->attempt)
			last->attempt = w->list[i].attempt;
	}
	w->count = kept;
}

static void works_make(struct works *w, const struct rundir *run)
{
	struct merge m;

	merge_readings(&m, run);
	w->list = arena_array(w->arena, (size_t)(m.count + run->n_done), sizeof(*w->list));
	for (int64_t i = 0; i < m.count; i++)
		if (m.list[i].reading->work)
			w->list[w->count++] = (struct work){
				.id = m.list[i].reading->work,
				.attempt = m.list[i].attempt,
				.owed = !m.list[i].dropped && replaceable(m.list[i].reading) &&
			                !is_settled(m.list[i].reading)};
	for (int64_t i = 0; i < run->n_done; i++)
		w->list[w->count++] = (struct work){.id = run->done[i], .done = true};
	unite(w);
	merge_release(&m);
}

bool work_is_open(const struct rundir *run, const char *work, int *attempt)
{
	struct work key = {.id = work}, *found;

	if (!run->works->list)
		works_make(run->works, run);
	found = bsearch(&key, run->works->list, (size_t)run->works->count, sizeof(key), by_id);
	*attempt = found ? found->attempt + 1 : 1;
	return !found || !found->done || found->owed;
}
