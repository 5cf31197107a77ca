/* Whether runs can be compared at all, and the order and weight of what was found. */
#include "gate/gate.h"

#include <stdlib.h>
#include <string.h>

void gate_add(struct gate *g, enum gate_kind kind, enum gate_class class, const char *name,
              const char *text)
{
	if (g->n_lines == g->cap_lines) {
		struct gate_line *more;

		g->cap_lines = g->cap_lines ? g->cap_lines * 2 : 64;
		more = arena_array(g->arena, (size_t)g->cap_lines, sizeof(*more));
		if (g->n_lines)
			memcpy(more, g->lines, (size_t)g->n_lines * sizeof(*more));
		g->lines = more;
	}
	g->lines[g->n_lines++] = (struct gate_line){kind, class, arena_str(g->arena, name),
	                                            arena_str(g->arena, text)};
}

int64_t gate_measured(struct rundir *run)
{
	int64_t n = 0;

	for (int64_t i = 0; i < run->n_readings; i++)
		n += run->readings[i].outcome == OUTCOME_MEASURED;
	return n;
}

/* --- whether they can be compared -------------------------------------------------------- */

/* The first name that a card of the run was measured with, or NULL. */
static const char *card_of(const struct rundir *run)
{
	for (int64_t i = 0; i < run->n_readings; i++) {
		const struct reading *r = &run->readings[i];

		if (strcmp(r->metric, "card_name") == 0 && r->outcome == OUTCOME_MEASURED &&
		    r->text)
			return r->text;
	}
	return NULL;
}

static enum status check_run(struct rundir *run, struct error *err)
{
	if (run->state == JOURNAL_ALTERED || run->state == JOURNAL_UNREADABLE)
		return error_set(err, ST_CORRUPT, MSG_gate_altered, run->path,
		                 run->trouble ? run->trouble : "?");
	if (!gate_measured(run))
		return error_set(err, ST_USAGE, MSG_gate_empty, run->path);
	return ST_OK;
}

static void note_apart(struct gate *g, const struct rundir *base)
{
	const struct run_info *a = &g->now->info, *b = &base->info;

	if (a->created && b->created && strcmp(a->created, b->created) < 0)
		gate_add(g, GATE_NOTE, GATE_WATCH, "clock",
		         say(MSG_gate_clock, g->now->path, base->path));
	if (a->profile && b->profile && strcmp(a->profile, b->profile) != 0)
		gate_add(g, GATE_NOTE, GATE_WATCH, "profile",
		         say(MSG_gate_profile_apart, g->now->path, a->profile, b->profile));
}

static enum status check_baseline(struct gate *g, struct rundir *base, struct error *err)
{
	const char *card = card_of(g->now), *other = card_of(base);
	enum status st = check_run(base, err);

	if (st == ST_OK && card && other && strcmp(card, other) != 0)
		st = error_set(err, ST_USAGE, MSG_gate_cards_apart, g->now->path, card, base->path,
		               other);
	if (st != ST_OK)
		return st;
	st = baseline_check(base, err);
	if (st == ST_NOTFOUND) {
		gate_add(g, GATE_NOTE, GATE_WATCH, "baseline",
		         say(MSG_gate_never_accepted, base->path));
		st = ST_OK;
	}
	if (st == ST_OK && base->state == JOURNAL_CUT)
		gate_add(g, GATE_NOTE, GATE_WATCH, "cut", say(MSG_gate_cut, base->path));
	if (st == ST_OK)
		note_apart(g, base);
	return st;
}

/* --- putting it in order -------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b)
{
	const struct gate_line *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->class != y->class)
		return x->class > y->class ? -1 : 1;
	return strcmp(x->name, y->name);
}

static enum gate_verdict verdict_of(const struct gate *g)
{
	enum gate_verdict verdict = GATE_SAME;

	for (int i = 0; i < g->n_lines; i++) {
		const struct gate_line *l = &g->lines[i];

		if (l->kind == GATE_FAILURE || l->kind == GATE_SLOWER ||
		    (l->kind == GATE_SOFTWARE && l->class == GATE_BREAKING))
			return GATE_WORSE;
		if (l->kind == GATE_LOST || l->kind == GATE_UNCLEAR)
			verdict = GATE_OPEN;
	}
	return verdict;
}

enum status gate_compare(struct gate *g, struct error *err)
{
	enum status st = check_run(g->now, err);

	for (int b = 0; b < g->n_base && st == ST_OK; b++)
		st = check_baseline(g, &g->base[b], err);
	if (st == ST_OK)
		st = gate_figures(g, err);
	if (st != ST_OK)
		return st;
	gate_software(g);
	if (g->now->state == JOURNAL_CUT)
		gate_add(g, GATE_LOST, GATE_WATCH, "run", say(MSG_gate_cut, g->now->path));
	if (g->n_lines)
		qsort(g->lines, (size_t)g->n_lines, sizeof(*g->lines), by_weight);
	g->verdict = verdict_of(g);
	return ST_OK;
}
