/* Where a run of many nodes stands: what most of them are at, and who the others wait
 * for once they are few. */
#include <string.h>

#include "base/clock.h"
#include "base/unit.h"
#include "coord/leader.h"

#define WAITED_NAMED 3 /* nodes that are still at work, by name */
#define WORKS_NAMED  4 /* … or what they do, and how many */

struct tally {
	const char *what;
	size_t len;
	int nodes;
};

static void add_waited(struct str *out, const struct leader *l)
{
	for (int i = 0; i < l->count; i++) {
		const struct member *m = &l->members[i];

		if (m->busy && !m->lost)
			str_addf(out, "%s%s %s", out->len ? ", " : "", m->name,
			         *m->doing ? m->doing : "...");
	}
}

/* By the probe: the first word of what a node says of itself. */
static void add_works(struct str *out, const struct leader *l)
{
	struct tally works[WORKS_NAMED];
	int n = 0, others = 0;

	for (int i = 0; i < l->count; i++) {
		const struct member *m = &l->members[i];
		size_t len = strcspn(m->doing, " ");
		int k = 0;

		if (!m->busy || m->lost)
			continue;
		while (k < n && (works[k].len != len || memcmp(works[k].what, m->doing, len) != 0))
			k++;
		if (k == WORKS_NAMED || len == 0) {
			others++;
			continue;
		}
		if (k == n)
			works[n++] = (struct tally){m->doing, len, 0};
		works[k].nodes++;
	}
	for (int k = 0; k < n; k++)
		str_addf(out, "%s%.*s %d", k ? ", " : "", (int)works[k].len, works[k].what,
		         works[k].nodes);
	if (others)
		str_addf(out, "%s... %d", n ? ", " : "", others);
}

static const char *phase_text(const struct leader *l, const char *phase, const char *lost)
{
	struct str works = {0};
	int busy = 0, left = members_left(l);
	double seconds = l->phase_s - (double)(clock_now(&clock_system) - l->stage_ns) / 1e9;
	const char *done, *text;

	for (int i = 0; i < l->count; i++)
		busy += l->members[i].busy && !l->members[i].lost;
	if (busy <= WAITED_NAMED)
		add_waited(&works, l);
	else
		add_works(&works, l);
	done = tmpf("%d/%d", left - busy, left);
	text = seconds >= 1 ? say(MSG_show_phase_left, phase, done, lost, str_text(&works),
	                          fmt_duration(seconds))
	                    : say(MSG_show_phase, phase, done, lost, str_text(&works));
	str_release(&works);
	return text;
}

const char *leader_show(const struct leader *l)
{
	const char *lost = tmpf("%d", l->result->lost);
	int there = 0;

	switch (l->stage) {
	case LEAD_HELLO:
		for (int i = 0; i < l->count; i++)
			there += l->members[i].said_hello;
		return say(MSG_show_hello, tmpf("%d/%d", there, l->count));
	case LEAD_PHASE:
		return phase_text(l, plan_phases[l->phase], lost);
	case LEAD_CREWS:
		return say(MSG_show_crews, plan_phases[l->phase], crews_state(l), lost,
		           fmt_duration(crews_left_s(l)));
	case LEAD_PLAN:
	case LEAD_READY:
	case LEAD_END:
	case LEAD_OVER:
		break;
	}
	return NULL;
}
