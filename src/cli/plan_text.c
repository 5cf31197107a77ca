/* Plans in words. */
#include "cli/plan_text.h"

#include <string.h>

#include "base/unit.h"
#include "coord/rounds.h"

static void print_unit(FILE *to, const struct unit *u)
{
	const char *what =
		u->subject ? tmpf("%s %s", u->probe->name, u->subject) : tmpf("%s", u->probe->name);

	if (u->state == UNIT_OUT)
		fprintf(to, "%s\n", say(MSG_plan_out, u->probe->name, u->reason.text));
	else if (u->state == UNIT_DONE)
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

static double pair_seconds(const struct run_setup *s, const struct probe *probe, bool all,
                           struct rounds *rounds)
{
	struct arena arena = {0};
	struct probe_ctx ctx;
	int n = (int)s->info.expected_nodes;
	int *members = arena_array(&arena, (size_t)n, sizeof(*members));
	double seconds;

	for (int i = 0; i < n; i++)
		members[i] = i;
	rounds_make(rounds, &arena, members, n, all ? 0 : PAIRS_SAMPLE_ROUNDS, 1);
	plan_context(&ctx, &arena, probe, &s->request);
	seconds = rounds->count *
	          (probe->duration ? probe->duration(&ctx) : probe->seconds[s->request.budget]);
	arena_release(&arena);
	return seconds;
}

/* All pair probes; with `to` in words. Seconds of them. */
static double print_pairs(FILE *to, const struct run_setup *s, bool all)
{
	double sum = 0;

	for (int i = 0; s->request.probes[i]; i++) {
		const struct probe *probe = s->request.probes[i];
		int64_t n = s->info.expected_nodes;
		struct rounds rounds;
		double seconds;

		if (probe->subject != SUBJECT_PAIR || !plan_selects(&s->info, probe))
			continue;
		seconds = pair_seconds(s, probe, all, &rounds);
		sum += seconds;
		if (to)
			fprintf(to, "%s\n",
			        say(MSG_plan_pairs, probe->name, tmpf("%d", rounds.n_pairs),
			            tmpf("%lld", (long long)(n * (n - 1) / 2)),
			            tmpf("%d", rounds.count), fmt_duration(seconds)));
	}
	return sum;
}

void plan_print_cluster(FILE *to, const struct run_setup *s, bool all_pairs)
{
	const struct plan *plan = &s->plan;
	int64_t nodes = s->info.expected_nodes;
	double seconds = plan->seconds + print_pairs(NULL, s, all_pairs);

	fprintf(to, "%s\n",
	        say(MSG_plan_cluster, s->info.budget, tmpf("%lld", (long long)nodes),
	            fmt_duration(seconds), fmt_bytes(plan->bytes * nodes), s->dir));
	for (int i = 0, n = 1; i < plan->count; i += n) {
		const struct unit *u = &plan->units[i];
		bool at_once = false;
		double sum;

		n = cards_of(plan, i, &at_once, &sum);
		if (n > 1)
			fprintf(to, "%s\n",
			        at_once ? say(MSG_plan_at_once, u->probe->name, tmpf("%d", n),
			                      fmt_duration(sum))
			                : say(MSG_plan_in_turn, u->probe->name, tmpf("%d", n),
			                      fmt_duration(sum)));
		else if (!silent(u))
			print_unit(to, u);
		n = n > 1 ? n : 1;
	}
	print_pairs(to, s, all_pairs);
	fflush(to);
}
