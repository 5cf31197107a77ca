/* Plans in words. */
#include "cli/plan_text.h"

#include <string.h>

#include "base/unit.h"
#include "coord/crews_plan.h"

static void print_unit(FILE *to, const struct unit *u)
{
	const char *what =
		u->subject ? tmpf("%s %s", u->probe->name, u->subject) : tmpf("%s", u->probe->name);

	if (u->state == UNIT_OUT) {
		struct str why = {0};

		reason_say(&why, &u->reason);
		fprintf(to, "%s\n", say(MSG_plan_out, u->probe->name, str_text(&why)));
		str_release(&why);
	} else if (u->state == UNIT_DONE)
		fprintf(to, "%s\n", say(MSG_plan_done, what));
	else if (u->bytes)
		fprintf(to, "%s\n",
		        say(MSG_plan_unit_bytes, what, fmt_duration(u->seconds),
		            fmt_bytes(u->bytes), u->subject));
	else
		fprintf(to, "%s\n", say(MSG_plan_unit, what, fmt_duration(u->seconds)));
}

/* It only says what cards are missing. */
static bool silent(const struct unit *u)
{
	return u->state == UNIT_RUN && u->subject && strcmp(u->subject, "*") == 0;
}

void plan_print(FILE *to, const struct run_setup *s)
{
	const struct plan *plan = &s->plan;

	fprintf(to, "%s\n",
	        say(MSG_plan_head, s->info.budget, fmt_duration(plan->seconds), s->dir));
	if (s->info.expected_nodes > 1)
		fprintf(to, "%s\n",
		        say(MSG_plan_one_node,
		            tmpf("%lld", (long long)s->info.expected_nodes - 1)));
	for (int i = 0; i < plan->count; i++)
		if (!silent(&plan->units[i]))
			print_unit(to, &plan->units[i]);
	fflush(to);
}

/* --- a cluster ---------------------------------------------------------------------- */

/* Units of one probe on cards, from the first on: how many, and the seconds of all. */
static int cards_of(const struct plan *plan, int first, bool *at_once, double *seconds)
{
	const struct unit *u = plan->units;
	int n = 0;

	*seconds = 0;
	for (; first + n < plan->count; n++) {
		const struct unit *next = &u[first + n];

		if (next->probe != u[first].probe || !unit_on_gpu(next) || next->state != UNIT_RUN)
			break;
		*at_once = n > 0 && unit_beside(next - 1, next);
		*seconds = *at_once ? u[first].seconds : *seconds + next->seconds;
	}
	return n;
}

static void print_all_nodes(FILE *to, const struct run_setup *s, const struct probe *probe,
                            const struct crews_plan *p)
{
	const struct run_info *info = &s->info;
	const char *nodes = tmpf("%lld", (long long)info->expected_nodes);

	if (!probe->needs_storage)
		fprintf(to, "%s\n",
		        say(MSG_plan_all_nodes, probe->name, nodes, fmt_duration(p->round_s)));
	else if (info->n_storage == 0)
		fprintf(to, "%s\n", say(MSG_plan_out, probe->name, say(MSG_no_storage_named)));
	for (int i = 0; probe->needs_storage && i < info->n_storage; i++)
		fprintf(to, "%s\n",
		        say(MSG_plan_all_nodes_bytes, probe->name, nodes, fmt_duration(p->round_s),
		            fmt_bytes(p->bytes / info->n_storage), info->storage[i]));
}

static void print_pairs(FILE *to, const struct run_setup *s, const struct probe *probe,
                        const struct crews_plan *p)
{
	long long n = s->info.expected_nodes;

	fprintf(to, "%s\n",
	        say(MSG_plan_pairs, probe->name, tmpf("%lld", (long long)p->pairs),
	            tmpf("%lld", n * (n - 1) / 2), tmpf("%d", p->rounds), fmt_duration(p->seconds),
	            fmt_duration(p->again_s)));
}

/* What nodes do together. */
static void print_crews(FILE *to, const struct run_setup *s, enum pair_choice pairs)
{
	for (int i = 0; s->request.probes[i]; i++) {
		const struct probe *probe = s->request.probes[i];
		struct crews_plan p;

		if (!probe_in_company(probe) || !plan_selects(&s->info, probe))
			continue;
		p = crews_estimate(&s->request, probe, (int)s->info.expected_nodes, pairs);
		if (probe->all_nodes)
			print_all_nodes(to, s, probe, &p);
		else
			print_pairs(to, s, probe, &p);
	}
}

void plan_print_cluster(FILE *to, const struct run_setup *s, bool all_pairs)
{
	const enum pair_choice pairs = all_pairs ? PAIRS_ALL : PAIRS_SAMPLE;
	const struct plan *plan = &s->plan;
	int64_t nodes = s->info.expected_nodes;
	struct crews_plan crews = crews_estimate_all(&s->request, (int)nodes, pairs);

	fprintf(to, "%s\n",
	        say(MSG_plan_cluster, s->info.budget, tmpf("%lld", (long long)nodes),
	            fmt_duration(plan->seconds + crews.seconds),
	            fmt_bytes(plan->bytes * nodes + crews.bytes), s->dir));
	for (int i = 0, n = 1; i < plan->count; i += n) {
		const struct unit *u = &plan->units[i];
		bool at_once = false;
		double seconds;

		n = cards_of(plan, i, &at_once, &seconds);
		if (n > 1)
			fprintf(to, "%s\n",
			        at_once ? say(MSG_plan_at_once, u->probe->name, tmpf("%d", n),
			                      fmt_duration(seconds))
			                : say(MSG_plan_in_turn, u->probe->name, tmpf("%d", n),
			                      fmt_duration(seconds)));
		else if (!silent(u))
			print_unit(to, u);
		n = n > 1 ? n : 1;
	}
	print_crews(to, s, pairs);
	fflush(to);
}
