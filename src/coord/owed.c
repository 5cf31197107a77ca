/* Readings in the place of those that did not come. */
#include "coord/owed.h"

#include <string.h>

#include "base/clock.h"
#include "run/journal.h"

static void name_pair(const struct owed_by *by, const struct unit *u, int way, struct subject *s)
{
	const char *const nodes[] = {u->company->nodes[way], u->company->nodes[!way]};

	s->id = way ? arena_strf(by->arena, "%s|%s", nodes[0], nodes[1]) : u->subject;
	s->n_ends = 2;
	for (int i = 0; i < 2; i++)
		s->ends[i] = (struct subject_end){.node = nodes[i]};
}

static void name_subject(const struct owed_by *by, const struct unit *u, const struct metric *m,
                         int way, struct subject *s)
{
	s->kind = m->subject;
	s->id = "*";
	/* Which pairs all nodes would have made is not known here. */
	if (m->subject == SUBJECT_PAIR && u->company && u->probe->subject == SUBJECT_PAIR) {
		name_pair(by, u, way, s);
		return;
	}
	if (u->company && m->subject == u->probe->subject) {
		s->id = u->subject;
		return;
	}
	if (m->subject == SUBJECT_NODE || m->subject == SUBJECT_ENVIRONMENT)
		s->id = by->node;
	else if (u->subject && m->subject == u->probe->subject)
		s->id = u->subject;
	if (m->subject != SUBJECT_CARD || !unit_on_gpu(u) || strcmp(s->id, "*") == 0)
		return;
	s->pci = u->subject;
	s->id = card_names_find(by->cards, u->subject);
}

bool unit_owes(const struct unit *u, const struct metric *m)
{
	bool cpu = u->subject && str_starts(u->subject, "cpu-");

	if (u->company)
		return u->company->self == 0;
	if (!u->subject)
		return true;
	switch (m->backend) {
	case BACKEND_CPU:
		return cpu;
	case BACKEND_CUDA:
		return !cpu;
	case BACKEND_LOCAL:
		return !u->named_path;
	case BACKEND_EVIDENCE: /* no probe's */
		return false;
	case BACKEND_ANY:
		break;
	}
	return !u->probe->needs_storage || u->named_path;
}

int unit_ways(const struct unit *u, const struct metric *m)
{
	const char *const *name = u->probe->each_way;

	if (!u->company || m->subject != SUBJECT_PAIR)
		return 1;
	while (name && *name && strcmp(*name, m->name) != 0)
		name++;
	return name && *name ? 2 : 1;
}

int reading_way(const struct unit *u, const struct metric *m, const struct reading *r)
{
	return unit_ways(u, m) == 2 && r->subject.n_ends == 2 && r->subject.ends[0].node &&
	       strcmp(r->subject.ends[0].node, u->company->nodes[1]) == 0;
}

void owed_line(struct str *line, struct reading *r, const struct owed_by *by, const struct unit *u,
               const struct metric *m, int way, enum outcome outcome, const struct reason *reason)
{
	struct str time = {0};

	*r = reading_init();
	time_add_utc(&time, clock_wall(&clock_system));
	r->time = time.data;
	r->node = by->node;
	r->writer = by->writer;
	r->phase = u->probe->phase;
	r->attempt = u->attempt;
	r->work = u->work;
	r->probe = u->probe->name;
	name_subject(by, u, m, way, &r->subject);
	r->metric = m->name;
	r->unit = m->unit;
	r->better = m->better;
	r->outcome = outcome;
	r->reason = *reason;
	if (by->simulated)
		r->origin = ORIGIN_SIMULATED;
	reading_format(line, r);
	r->time = NULL;
	str_release(&time);
}
