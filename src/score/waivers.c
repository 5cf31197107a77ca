/* Which findings a waiver is about. It is matched by the words that reports print, so
 * that it can be written from what was read, and it never reaches farther than they
 * say: one subject of a figure made of many cannot be taken out of it. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "score/judging.h"

/* --- who is meant ------------------------------------------------------------------- */

static bool is(const char *word, const char *name)
{
	return name && strcmp(word, name) == 0;
}

static const char *end_name(const struct subject_end *e)
{
	return e->node ? e->node : "";
}

/* "n017": all of a node, all pairs with it; an id; "n017 card 3"; "n001 - n002". */
static bool speaks_of(const char *word, const struct finding *f)
{
	const struct subject *s = &f->subject;
	const char *a = end_name(&s->ends[0]), *b = end_name(&s->ends[1]);

	if (is(word, s->id) && strcmp(word, "*") != 0)
		return true;
	if (s->kind == SUBJECT_CARD && s->index >= 0 && f->node &&
	    is(word, tmpf("%s card %d", f->node, s->index)))
		return true;
	if (s->n_ends == 2 && (is(word, tmpf("%s - %s", a, b)) || is(word, tmpf("%s - %s", b, a))))
		return true;
	if (s->kind == SUBJECT_PAIR)
		return s->n_ends == 2 && (is(word, a) || is(word, b));
	/* A path is one path from wherever it was looked at. */
	return s->kind != SUBJECT_PATH && is(word, f->node);
}

/* --- marking ------------------------------------------------------------------------ */

static bool is_good(enum verdict v)
{
	return v == VERDICT_PASS || v == VERDICT_WARN || v == VERDICT_NOT_APPLICABLE;
}

static void mark(struct judging *j, const struct resolved *rr, struct waiver_result *w)
{
	const struct rule_info *info = rr->info;

	for (int64_t i = rr->first; i < rr->end; i++) {
		struct finding *f = &j->findings[i];
		bool of_many = i == rr->combined_at && rr->combined > 1;

		if (w->waiver.subject && of_many)
			w->too_fine = true;
		else if (!w->waiver.subject || speaks_of(w->waiver.subject, f))
			w->matched += f->subjects;
		else
			continue;
		if ((w->waiver.subject && of_many) || is_good(f->verdict) || f->waived)
			continue;
		f->waived = w;
		w->excused += of_many ? rr->combined : f->subjects;
		w->decides = w->decides || (info->required && info->stage == j->options->stage);
	}
}

static const char *kept(struct judging *j, const char *text)
{
	return text ? arena_str(j->arena, text) : NULL;
}

void waivers_apply(struct judging *j, struct scorecard *card)
{
	const struct score_options *o = j->options;
	struct waiver_result *list = arena_array(j->arena, (size_t)o->n_waivers + 1, sizeof(*list));

	for (int i = 0; i < o->n_waivers; i++) {
		const struct waiver *w = &o->waivers[i];

		list[i].waiver =
			(struct waiver){kept(j, w->rule), kept(j, w->subject), kept(j, w->reason),
		                        kept(j, w->by), kept(j, w->granted)};
		for (int k = 0; k < j->n_rules; k++) {
			if (strcmp(j->rules[k].info->id, w->rule) != 0)
				continue;
			list[i].known = true;
			mark(j, &j->rules[k], &list[i]);
		}
		card->waivers_used += list[i].decides;
	}
	card->waivers = list;
	card->n_waivers = o->n_waivers;
}

/* --- before anything is judged ------------------------------------------------------- */

static bool has_rule(const struct profile *p, const char *id)
{
	for (int i = 0; i < p->n_rules; i++)
		if (strcmp(p->rules[i].info.id, id) == 0)
			return true;
	return false;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static enum status unknown(const struct profile *p, const char *rule, struct error *err)
{
	const char **names = calloc((size_t)p->n_rules + 1, sizeof(*names));
	const char *near;
	enum status st;

	if (!names)
		die_nomem();
	for (int i = 0; i < p->n_rules; i++)
		names[i] = p->rules[i].info.id;
	near = nearest_word(rule, names);
	if (near)
		st = error_set(err, ST_USAGE, MSG_waive_rule_near, rule, p->name, near);
	else
		st = error_set(err, ST_USAGE, MSG_waive_rule, rule, p->name);
	free(names);
	return st;
}

enum status waivers_check(const struct profile *p, const struct waiver *list, int n,
                          struct error *err)
{
	for (int i = 0; i < n; i++) {
		if (!has_rule(p, list[i].rule))
			return unknown(p, list[i].rule, err);
		for (int k = 0; k < i; k++)
			if (strcmp(list[k].rule, list[i].rule) == 0 &&
			    same(list[k].subject, list[i].subject))
				return error_set(err, ST_USAGE, MSG_waive_twice, list[i].rule,
				                 list[i].subject ? list[i].subject : "*");
	}
	return ST_OK;
}
