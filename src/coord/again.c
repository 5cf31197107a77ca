/* Which pairs come next: those that score suspects, and of a run that is resumed those
 * whose reading was lost. */
#include "coord/again.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "coord/leader.h"
#include "run/journal.h"

#define LOST_MOST 1024 /* of a pass */

const char *again_unit(struct arena *arena, const char *id, int times)
{
	return times > 1 ? arena_strf(arena, "%s %d", id, times) : id;
}

/* --- one pair ------------------------------------------------------------------------ */

static struct again_pair *known_pair(struct again *g, int a, int b)
{
	for (int i = 0; i < g->n_known; i++)
		if (g->known[i].a == a && g->known[i].b == b)
			return &g->known[i];
	return NULL;
}

static void remember(struct again *g, const struct again_pair *p)
{
	struct again_pair *known = known_pair(g, p->a, p->b);

	if (known) {
		known->times = p->times;
		return;
	}
	if (g->n_known == g->cap_known) {
		g->cap_known = g->cap_known ? 2 * g->cap_known : 64;
		g->known = realloc(g->known, (size_t)g->cap_known * sizeof(*g->known));
		if (!g->known)
			die_nomem();
	}
	g->known[g->n_known++] = *p;
}

static bool in_pass(const struct again *g, int a, int b)
{
	for (int i = 0; i < g->n; i++)
		if (g->pairs[i].a == a && g->pairs[i].b == b)
			return true;
	return false;
}

static void add(struct again *g, int a, int b, int times, enum again_why why)
{
	g->pairs[g->n++] = (struct again_pair){.a = a, .b = b, .times = times, .why = why};
}

/* --- suspects ------------------------------------------------------------------------ */

/* -1: none that is still there. */
static int member_named(const struct leader *l, const char *name)
{
	for (int i = 0; i < l->count; i++)
		if (strcmp(l->members[i].name, name) == 0)
			return l->members[i].lost ? -1 : i;
	return -1;
}

struct asking {
	const struct leader *l;
	const struct probe *probe;
	const char *params; /* of the probe, as in the id of its work */
	const struct rounds *met;
};

static void work_of(struct again *g, const struct asking *q, int a, int b, int times, char work[13])
{
	const char *id =
		arena_strf(&g->arena, "%s|%s", q->l->members[a].name, q->l->members[b].name);

	work_id(work, q->probe->phase, q->probe->name, again_unit(&g->arena, id, times), q->params);
}

/* The first reading of the pair that is not there, of this run or the one resumed. */
static int next_times(struct again *g, const struct asking *q, int a, int b)
{
	const struct again_pair *known = known_pair(g, a, b);
	int times = known ? known->times + 1 : rounds_have(q->met, a, b) ? 2 : 1, attempt;
	char work[13];

	for (; q->l->o->resume && times <= PAIR_TIMES; times++) {
		work_of(g, q, a, b, times, work);
		if (work_is_open(q->l->o->resume, work, &attempt))
			break;
	}
	return times;
}

static void take_suspects(struct again *g, const struct asking *q, const struct suspect *list,
                          size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int x = member_named(q->l, list[i].a), y = member_named(q->l, list[i].b);
		int a = x < y ? x : y, b = x < y ? y : x, times;

		if (a < 0 || a == b || in_pass(g, a, b))
			continue;
		times = next_times(g, q, a, b);
		if (times <= PAIR_TIMES)
			add(g, a, b, times, list[i].slow ? AGAIN_SLOW : AGAIN_NODE);
	}
}

/* --- lost before --------------------------------------------------------------------- */

static bool is_owed(const struct asking *q, const struct reading *r)
{
	return (r->outcome == OUTCOME_LOST || r->outcome == OUTCOME_NOT_MEASURED) && r->work &&
	       r->probe && strcmp(r->probe, q->probe->name) == 0 && r->subject.n_ends == 2 &&
	       r->subject.ends[0].node && r->subject.ends[1].node;
}

/* A repeated reading that was begun and lost is owed, suspect or not. */
static void take_lost(struct again *g, const struct asking *q)
{
	const struct rundir *run = q->l->o->resume;

	for (int64_t i = 0; run && i < run->n_readings && g->n < LOST_MOST; i++) {
		const struct reading *r = &run->readings[i];
		int x, y, a, b, attempt;
		char work[13];

		if (!is_owed(q, r))
			continue;
		x = member_named(q->l, r->subject.ends[0].node);
		y = member_named(q->l, r->subject.ends[1].node);
		a = x < y ? x : y;
		b = x < y ? y : x;
		if (a < 0 || a == b || in_pass(g, a, b))
			continue;
		for (int times = rounds_have(q->met, a, b) ? 2 : 1; times <= PAIR_TIMES; times++) {
			work_of(g, q, a, b, times, work);
			if (strcmp(work, r->work) != 0 || !work_is_open(run, work, &attempt))
				continue;
			add(g, a, b, times, AGAIN_LOST);
			break;
		}
	}
}

/* --- a pass ---------------------------------------------------------------------------- */

/* What finds no place is left for the next pass, which asks anew. */
static void place(struct again *g, const struct leader *l)
{
	struct round_pair *pairs = arena_array(&g->arena, (size_t)g->n + 1, sizeof(*pairs));
	int *round = arena_array(&g->arena, (size_t)g->n + 1, sizeof(*round)), kept = 0;

	for (int i = 0; i < g->n; i++)
		pairs[i] = (struct round_pair){g->pairs[i].a, g->pairs[i].b};
	memset(g->count, 0, sizeof(g->count));
	g->rounds = rounds_place(pairs, g->n, l->count, AGAIN_ROUNDS, round);
	for (int i = 0; i < g->n; i++) {
		if (round[i] < 0)
			continue;
		g->pairs[kept] = g->pairs[i];
		g->pairs[kept].round = round[i];
		g->count[g->pairs[kept].why]++;
		remember(g, &g->pairs[kept++]);
	}
	g->n = kept;
}

bool again_next(struct again *g, const struct leader *l, const struct probe *probe,
                const struct rounds *met)
{
	const struct judge *judge = l->o->judge;
	const struct suspect *list;
	struct asking q = {.l = l, .probe = probe, .met = met};
	size_t n;

	if (!judge || g->passes == AGAIN_PASSES)
		return false;
	arena_reset(&g->arena);
	n = judge->suspects(judge->arg, probe->name, &list);
	g->pairs = arena_array(&g->arena, n + LOST_MOST, sizeof(*g->pairs));
	g->n = 0;
	q.params = plan_params(&g->arena, l->o->request, probe);
	if (g->passes++ == 0)
		take_lost(g, &q);
	take_suspects(g, &q, list, n);
	place(g, l);
	return g->n > 0;
}

void again_release(struct again *g)
{
	free(g->known);
	arena_release(&g->arena);
}
