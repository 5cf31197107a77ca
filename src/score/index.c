/* Interning of metrics, nodes and subjects with one open-addressing table,
 * then a counting sort of the readings by metric and a sort by subject. */
#include "score/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct key {
	const char *id;
	int kind, node;
};

struct key_table {
	struct key *keys;
	uint32_t *slots; /* index + 1, 0: free */
	uint32_t mask;
	int n, cap;
};

/* FNV-1a. */
static uint32_t key_hash(const struct key *k)
{
	uint32_t h = 2166136261u;

	for (const char *p = k->id; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	h = (h ^ (uint32_t)k->kind) * 16777619u;
	return (h ^ (uint32_t)k->node) * 16777619u;
}

static uint32_t *key_slot(const struct key_table *t, const struct key *k)
{
	uint32_t at = key_hash(k) & t->mask;

	for (; t->slots[at]; at = (at + 1) & t->mask) {
		const struct key *other = &t->keys[t->slots[at] - 1];

		if (other->kind == k->kind && other->node == k->node &&
		    strcmp(other->id, k->id) == 0)
			break;
	}
	return &t->slots[at];
}

/* Grows by doubling; the old arrays stay in the arena, which costs as much
 * again and ends with it. */
static void key_grow(struct key_table *t, struct arena *arena)
{
	int cap = t->cap ? t->cap * 2 : 256;
	struct key *keys = arena_array(arena, (size_t)cap, sizeof(*keys));

	if (t->n)
		memcpy(keys, t->keys, (size_t)t->n * sizeof(*keys));
	t->keys = keys;
	t->cap = cap;
	t->mask = (uint32_t)cap * 2 - 1;
	t->slots = arena_array(arena, (size_t)cap * 2, sizeof(*t->slots));
	for (int i = 0; i < t->n; i++)
		*key_slot(t, &t->keys[i]) = (uint32_t)i + 1;
}

static int key_intern(struct key_table *t, struct arena *arena, struct key k)
{
	uint32_t *slot;

	if (t->n == t->cap)
		key_grow(t, arena);
	slot = key_slot(t, &k);
	if (!*slot) {
		t->keys[t->n++] = k;
		*slot = (uint32_t)t->n;
	}
	return (int)*slot - 1;
}

bool kind_spans_nodes(enum subject_kind kind)
{
	return kind == SUBJECT_CLUSTER || kind == SUBJECT_PAIR || kind == SUBJECT_PATH;
}

/* Interned numbers of each reading, and the tables they come from. */
struct builder {
	struct index *x;
	struct arena *arena;
	struct key_table nodes, subjects;
	int *metric, *subject, *node; /* per reading */
	const struct reading **first; /* per subject */
};

static void intern_all(struct builder *b)
{
	struct index *x = b->x;
	size_t n = (size_t)x->readings.count;

	b->metric = arena_array(b->arena, n, sizeof(int));
	b->subject = arena_array(b->arena, n, sizeof(int));
	b->node = arena_array(b->arena, n, sizeof(int));
	b->first = arena_array(b->arena, n, sizeof(*b->first));
	for (size_t i = 0; i < n; i++) {
		const struct reading *r = x->readings.readings[i];
		bool spans = kind_spans_nodes(r->subject.kind);
		const char *id =
			r->subject.kind != SUBJECT_CLUSTER && r->subject.id ? r->subject.id : "";

		b->node[i] = -1;
		if (r->node || !spans)
			b->node[i] = key_intern(&b->nodes, b->arena,
			                        (struct key){r->node ? r->node : "", 0, 0});
		b->metric[i] = key_intern(x->metrics, b->arena, (struct key){r->metric, 0, 0});
		b->subject[i] =
			key_intern(&b->subjects, b->arena,
		                   (struct key){id, r->subject.kind, spans ? -1 : b->node[i]});
		if (!b->first[b->subject[i]])
			b->first[b->subject[i]] = r;
	}
}

static void list_subjects(struct builder *b)
{
	struct index *x = b->x;

	x->n_subjects = b->subjects.n;
	x->subjects = arena_array(b->arena, (size_t)x->n_subjects, sizeof(*x->subjects));
	for (int s = 0; s < x->n_subjects; s++) {
		const struct key *k = &b->subjects.keys[s];

		x->subjects[s] = (struct subject_entry){
			.subject = &b->first[s]->subject,
			.node = k->node,
			.node_name = k->node >= 0 ? b->nodes.keys[k->node].id : NULL,
			.star = strcmp(k->id, "*") == 0,
		};
	}
}

/* A socket measured in the place of a card is no accelerator. */
static bool is_card(const struct subject_entry *s, const struct series *series)
{
	return s->subject->kind == SUBJECT_CARD && !s->star &&
	       (!series->def || series->def->backend != BACKEND_CPU) &&
	       !str_starts(s->subject->id ? s->subject->id : "", "cpu-");
}

static void list_nodes(struct builder *b)
{
	struct index *x = b->x;
	bool *card = arena_array(b->arena, (size_t)x->n_subjects, sizeof(*card));
	int **cards = arena_array(b->arena, (size_t)b->nodes.n, sizeof(*cards));

	x->n_nodes = b->nodes.n;
	x->nodes = arena_array(b->arena, (size_t)x->n_nodes, sizeof(*x->nodes));
	for (int64_t i = 0; i < x->readings.count; i++) {
		int s = b->subject[i];

		if (!card[s] && is_card(&x->subjects[s], &x->series[b->metric[i]])) {
			card[s] = true;
			x->nodes[x->subjects[s].node].n_cards++;
			x->n_cards++;
		}
	}
	for (int n = 0; n < x->n_nodes; n++) {
		x->nodes[n].name = b->nodes.keys[n].id;
		cards[n] = arena_array(b->arena, (size_t)x->nodes[n].n_cards, sizeof(int));
		x->nodes[n].cards = cards[n];
		x->nodes[n].n_cards = 0;
	}
	for (int s = 0; s < x->n_subjects; s++)
		if (card[s])
			cards[x->subjects[s].node][x->nodes[x->subjects[s].node].n_cards++] = s;
}

static int by_subject(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->subject != y->subject)
		return x->subject < y->subject ? -1 : 1;
	return x->reading < y->reading ? -1 : x->reading > y->reading;
}

static void list_series(struct builder *b, const struct metric_set *metrics)
{
	struct index *x = b->x;
	struct entry *all = arena_array(b->arena, (size_t)x->readings.count, sizeof(*all));
	int *series_of = arena_array(b->arena, (size_t)x->readings.count, sizeof(*series_of));
	struct entry **next;

	x->n_series = x->metrics->n;
	x->series = arena_array(b->arena, (size_t)x->n_series, sizeof(*x->series));
	x->series_of = series_of;
	next = arena_array(b->arena, (size_t)x->n_series, sizeof(*next));
	for (int m = 0; m < x->n_series; m++) {
		x->series[m].metric = x->metrics->keys[m].id;
		x->series[m].def = metric_find(metrics, x->series[m].metric, NULL);
	}
	for (int64_t i = 0; i < x->readings.count; i++) {
		const struct metric *def = x->series[b->metric[i]].def;

		series_of[i] = def && def->subject != x->readings.readings[i]->subject.kind
		                       ? -1
		                       : b->metric[i];
		if (series_of[i] >= 0)
			x->series[series_of[i]].n++;
	}
	for (int m = 0; m < x->n_series; m++) {
		x->series[m].entries = next[m] = all;
		all += x->series[m].n;
	}
	for (int64_t i = 0; i < x->readings.count; i++)
		if (series_of[i] >= 0)
			*next[series_of[i]]++ =
				(struct entry){x->readings.readings[i], b->subject[i], b->node[i],
			                       x->readings.recovered[i]};
	for (int m = 0; m < x->n_series; m++)
		qsort(next[m] - x->series[m].n, (size_t)x->series[m].n, sizeof(*all), by_subject);
}

/* The journal names the cards of a link by UUID; a person looks for their numbers. */
static void number_ends(struct builder *b)
{
	struct index *x = b->x;

	for (int64_t i = 0; i < x->readings.count; i++) {
		struct subject *s = (struct subject *)&x->readings.readings[i]->subject;

		for (int e = 0; e < s->n_ends && b->node[i] >= 0; e++) {
			struct key k = {s->ends[e].card, SUBJECT_CARD, b->node[i]};
			uint32_t slot = k.id ? *key_slot(&b->subjects, &k) : 0;

			if (slot && x->subjects[slot - 1].subject->index >= 0)
				s->ends[e].number = x->subjects[slot - 1].subject->index + 1;
		}
	}
}

void index_build(struct index *x, struct arena *arena, struct rundir *run,
                 const struct metric_set *metrics)
{
	struct builder b = {.x = x, .arena = arena};

	*x = (struct index){.readings = rundir_effective(run)};
	x->metrics = arena_alloc(arena, sizeof(*x->metrics));
	key_grow(x->metrics, arena);
	intern_all(&b);
	list_subjects(&b);
	list_series(&b, metrics);
	list_nodes(&b);
	number_ends(&b);
}

const struct series *index_series(const struct index *x, const char *metric)
{
	struct key k = {metric, 0, 0};
	uint32_t slot = *key_slot(x->metrics, &k);

	return slot && x->series[slot - 1].n ? &x->series[slot - 1] : NULL;
}

const struct entry *series_of_subject(const struct series *s, int subject, int64_t *n)
{
	int64_t lo = 0, hi = s ? s->n : 0, end;

	*n = 0;
	while (lo < hi) {
		int64_t mid = lo + (hi - lo) / 2;

		if (s->entries[mid].subject < subject)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; s && end < s->n && s->entries[end].subject == subject; end++)
		;
	*n = end - lo;
	return *n ? &s->entries[lo] : NULL;
}
