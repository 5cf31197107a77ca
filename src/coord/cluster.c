/* The course of a run of many nodes, as a machine that is stepped: it never waits,
 * so that rank 0's own units and everybody else's messages go on beside it. */
#include "coord/cluster.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/unit.h"
#include "coord/leader.h"
#include "run/run_json.h"

#define STEP_NS  (5 * NS_PER_MS) /* between two looks, at most 200 a second */
#define ALIVE_NS NS_PER_S
#define SHOW_NS  (NS_PER_S / 2)
#define AWAY_NS  (2 * NS_PER_S) /* between two looks: rank 0 itself stood still */
#define END_S    20             /* for good-byes */
#define STOP_S   10             /* for the last lines of an interrupted run */
#define LEAVE_S  180 /* for rank 0 to judge and write, before a node leaves without its word */
/* Whose clock differs more, after so many answers, is said to. */
#define CLOCK_APART_S 1
#define CLOCK_PINGS   2

struct world {
	struct comm *comm;
	struct agent *agent;
	struct leader *leader; /* on rank 0 */
	bool moved;
	struct error trouble; /* of the transport */
};

/* --- messages ------------------------------------------------------------------- */

static bool for_agent(char kind)
{
	return strchr("SUGCXKBQEV", kind) != NULL;
}

static void take(void *arg, int from, const void *bytes, size_t len)
{
	struct world *w = arg;
	char kind = len ? *(const char *)bytes : '\0';
	bool to_agent;

	if (!kind)
		return;
	/* A text goes up to rank 0 and from there down. */
	to_agent = for_agent(kind) ||
	           (kind == WIRE_TEXT && !(w->leader && memmem(bytes, len, "\"to\":", 5)));
	if (to_agent && from == 0)
		agent_take(w->agent, bytes, len);
	else if (!to_agent && w->leader)
		member_take(w->leader, from, bytes, len);
}

static void flow(struct world *w)
{
	bool moved = false;

	if (w->trouble.status)
		return;
	w->comm->ops->poll(w->comm, take, w, &moved, &w->trouble);
	w->moved = w->moved || moved;
}

/* --- stages --------------------------------------------------------------------------- */

static void enter(struct leader *l, enum leader_stage stage)
{
	l->stage = stage;
	l->stage_ns = clock_now(&clock_system);
}

static double in_stage_s(const struct leader *l)
{
	return (double)(clock_now(&clock_system) - l->stage_ns) / 1e9;
}

static void lose_silent(struct leader *l, bool (*has)(const struct member *m), enum msg why)
{
	for (int i = 0; i < l->count; i++)
		if (!l->members[i].lost && !has(&l->members[i]))
			member_lose(l, &l->members[i], say(why, tmpf("%.0f", l->o->hello_s)));
}

static void lose_absent(struct leader *l)
{
	for (int i = 0; i < l->o->n_absent; i++) {
		struct member *m = &l->members[l->count + i];

		m->name = l->o->absent[i];
		member_lose(l, m, say(MSG_lost_absent));
	}
}

static bool all_have(const struct leader *l, bool (*has)(const struct member *m))
{
	for (int i = 0; i < l->count; i++)
		if (!l->members[i].lost && !has(&l->members[i]))
			return false;
	return true;
}

static bool has_hello(const struct member *m)
{
	return m->said_hello;
}

static bool has_plan(const struct member *m)
{
	return m->planned;
}

static void end_run(struct leader *l, enum status st)
{
	const char *alive = l->result->lost ? "" : WIRE_ALL_ALIVE;

	voice_flush(&l->voice);
	if (st != ST_OK && l->end == ST_OK)
		l->end = st;
	for (int i = 0; i < l->count; i++)
		if (!l->members[i].lost)
			wire_send(l->comm, i, WIRE_END, alive, strlen(alive), NULL);
	enter(l, LEAD_END);
}

static void send_setup(struct leader *l, int rank, const char *run)
{
	struct wire_json w;

	wire_begin(&w);
	json_put_string(&w.j, "run", run);
	json_put_string(&w.j, "id", l->o->request->info->id);
	json_put_string(&w.j, "dir", l->o->dir);
	json_put_string(&w.j, "name", l->members[rank].name);
	json_object_end(&w.j);
	member_order(l, &l->members[rank], WIRE_SETUP, w.text.data, w.text.len, l->o->hello_s);
	str_release(&w.text);
}

static void greet(struct leader *l)
{
	struct identity *ids = arena_array(&l->arena, (size_t)l->count + 1, sizeof(*ids));
	const char **names = arena_array(&l->arena, (size_t)l->count + 1, sizeof(*names));
	struct hello_result result;
	struct str run = {0};
	enum status st;

	for (int i = 0; i < l->count; i++)
		if (l->members[i].said_hello)
			ids[i] = l->members[i].id;
	result = hello_check(ids, l->count, names, &l->arena);
	if (result.refusal) {
		end_run(l, error_set(l->err, ST_USAGE, MSG_path_error, "hello", result.refusal));
		return;
	}
	if (result.notes)
		leader_say(l, result.notes);
	st = l->o->begin(l->o->store_arg, l->err);
	if (st != ST_OK) {
		end_run(l, st);
		return;
	}
	for (int i = 0; i < l->count; i++)
		l->members[i].name = names[i];
	lose_silent(l, has_hello, MSG_lost_hello);
	lose_absent(l);
	run_json_format(&run, l->o->request->info, NULL);
	enter(l, LEAD_PLAN);
	for (int i = 0; i < l->count; i++) {
		if (!l->members[i].lost)
			send_setup(l, i, str_text(&run));
	}
	str_release(&run);
}

static void send_states(struct leader *l, struct member *m)
{
	struct wire_json w;

	wire_begin(&w);
	json_array_begin(&w.j, "units");
	for (int i = 0; i < m->n_units; i++) {
		json_array_begin(&w.j, NULL);
		json_put_bool(&w.j, NULL, !m->units[i].run);
		json_put_int(&w.j, NULL, m->units[i].attempt);
		json_array_end(&w.j);
	}
	json_array_end(&w.j);
	json_object_end(&w.j);
	member_order(l, m, WIRE_STATES, w.text.data, w.text.len, l->o->hello_s);
	str_release(&w.text);
}

static void take_plans(struct leader *l)
{
	struct crews_plan together;
	double longest = 0;
	int64_t bytes = 0;

	lose_silent(l, has_plan, MSG_lost_plan);
	enter(l, LEAD_READY);
	for (int i = 0; i < l->count; i++) {
		struct member *m = &l->members[i];

		if (m->lost)
			continue;
		longest = m->seconds > longest ? m->seconds : longest;
		bytes += m->bytes;
		send_states(l, m);
	}
	together = crews_estimate_all(l->o->request, members_left(l), l->o->pairs);
	bytes += together.bytes;
	if (together.seconds > 0)
		leader_say(l,
		           say(MSG_cluster_plan_both, tmpf("%d", members_left(l)),
		               fmt_duration(longest), fmt_duration(together.seconds),
		               fmt_duration(l->o->judge ? together.again_s : 0), fmt_bytes(bytes)));
	else
		leader_say(l, say(MSG_cluster_plan, tmpf("%d", members_left(l)),
		                  fmt_duration(longest), fmt_bytes(bytes)));
}

/* Whether anybody has something to do in it. */
static bool begin_phase(struct leader *l, const char *phase)
{
	double longest = 0;
	int n = 0;

	for (int i = 0; i < l->count; i++) {
		struct member *m = &l->members[i];
		double limit = 0, seconds = 0;

		/* One after another at worst, each with the time it may take. */
		for (int k = 0; k < m->n_units && !m->lost; k++) {
			const struct member_unit *mu = &m->units[k];
			const struct unit u = {.probe = mu->probe, .seconds = mu->seconds};

			if (!mu->run || mu->over || strcmp(mu->probe->phase, phase) != 0)
				continue;
			limit +=
				unit_limit_s(&u, l->o->request->budget, l->o->agent.deadline_scale);
			seconds += mu->seconds;
		}
		if (limit == 0)
			continue;
		n++;
		longest = seconds > longest ? seconds : longest;
		member_order(l, m, WIRE_PHASE, phase, strlen(phase), limit);
	}
	l->phase_s = longest;
	if (n)
		leader_say(l, say(MSG_cluster_phase, phase, tmpf("%d", n)));
	return n > 0;
}

/* What nodes do alone, then what they do together. */
static void next_phase(struct leader *l)
{
	bool alone = l->stage == LEAD_PHASE;

	voice_flush(&l->voice);
	l->o->store_sync(l->o->store_arg, NULL);
	if (alone && crews_open(l, plan_phases[l->phase])) {
		enter(l, LEAD_CREWS);
		return;
	}
	while (plan_phases[++l->phase]) {
		enter(l, LEAD_PHASE);
		if (begin_phase(l, plan_phases[l->phase]))
			return;
		if (crews_open(l, plan_phases[l->phase])) {
			enter(l, LEAD_CREWS);
			return;
		}
	}
	end_run(l, ST_OK);
}

/* --- watching ---------------------------------------------------------------------------- */

/* Stopped, moved to another machine, or waiting for its own disk: what nodes said
 * meanwhile is not read yet, and that was not their silence. */
static void forgive_own_absence(struct leader *l)
{
	int64_t now = clock_now(&clock_system), away = l->turn_ns ? now - l->turn_ns : 0;

	l->turn_ns = now;
	if (away < AWAY_NS)
		return;
	for (int i = 0; i < l->count; i++) {
		l->members[i].heard_ns += away;
		l->members[i].until_ns += away;
	}
	l->stage_ns += away;
	if (l->stopped_ns)
		l->stopped_ns += away;
	leader_say(l, say(MSG_rank0_absent, tmpf("%.0f", (double)away / 1e9)));
}

static void watch(struct leader *l)
{
	int64_t now = clock_now(&clock_system);

	for (int i = 0; i < l->count; i++) {
		struct member *m = &l->members[i];
		double silent = (double)(now - m->heard_ns) / 1e9;

		if (m->lost || m->gone)
			continue;
		if (l->comm->ops->broken(l->comm, i))
			member_lose(l, m, say(MSG_lost_broken));
		else if (m->said_hello && silent > l->o->agent.lost_after_s)
			member_lose(l, m, say(MSG_lost_silent, tmpf("%.0f", silent)));
		else if (m->busy && now > m->until_ns)
			member_lose(l, m, say(MSG_lost_late, m->doing));
	}
}

static void tell_alive(struct leader *l)
{
	int64_t now = clock_now(&clock_system);

	if (now - l->alive_ns < ALIVE_NS)
		return;
	l->alive_ns = now;
	for (int i = 0; i < l->count; i++) {
		const char *saved =
			tmpf("%lld", keeper_empty(&l->keeper) ? (long long)l->members[i].lines : 0);

		if (l->members[i].lost)
			continue;
		wire_send(l->comm, i, WIRE_ALIVE, saved, strlen(saved), NULL);
		saved = tmpf("%" PRId64, clock_wall(&clock_system));
		wire_send(l->comm, i, WIRE_PING, saved, strlen(saved), NULL);
	}
}

/* Once for each node, when its clock is known well enough. */
static void watch_clocks(struct leader *l)
{
	for (int i = 1; i < l->count; i++) {
		struct member *m = &l->members[i];
		double error, ahead;

		if (m->clock_told || m->lost || m->n_pings < CLOCK_PINGS)
			continue;
		ahead = member_offset_s(m, &error);
		m->clock_told = true;
		if (fabs(ahead) - error < CLOCK_APART_S)
			continue;
		leader_warn(l, m, say(MSG_voice_clock), m->name,
		            say(ahead > 0 ? MSG_clock_ahead : MSG_clock_behind, m->name,
		                fmt_duration(fabs(ahead)), l->members[0].name));
	}
}

static void show(struct leader *l)
{
	int64_t now = clock_now(&clock_system);
	const char *text;

	if (now - l->shown_ns < SHOW_NS)
		return;
	l->shown_ns = now;
	text = leader_show(l);
	if (text)
		l->o->print(l->o->print_arg, text, true);
}

static void stop_all(struct leader *l)
{
	if (!l->stopped_ns) {
		l->stopped_ns = clock_now(&clock_system);
		l->end = ST_INTERRUPTED;
		for (int i = 0; i < l->count; i++)
			if (!l->members[i].lost)
				wire_send(l->comm, i, WIRE_STOP, "", 0, NULL);
	}
	if (l->stage < LEAD_END &&
	    (members_idle(l) || clock_now(&clock_system) - l->stopped_ns > STOP_S * NS_PER_S))
		end_run(l, ST_INTERRUPTED);
}

static bool all_gone(const struct leader *l)
{
	for (int i = 0; i < l->count; i++)
		if (!l->members[i].lost && !l->members[i].gone)
			return false;
	return true;
}

static void lead(struct leader *l)
{
	forgive_own_absence(l);
	watch(l);
	tell_alive(l);
	watch_clocks(l);
	show(l);
	if (*l->o->agent.stop)
		stop_all(l);
	switch (l->stage) {
	case LEAD_HELLO:
		if (all_have(l, has_hello) || in_stage_s(l) > l->o->hello_s)
			greet(l);
		break;
	case LEAD_PLAN:
		if (all_have(l, has_plan) || in_stage_s(l) > l->o->hello_s)
			take_plans(l);
		break;
	case LEAD_READY:
		if (members_idle(l)) {
			l->phase = -1;
			next_phase(l);
		}
		break;
	case LEAD_PHASE:
		if (members_idle(l))
			next_phase(l);
		break;
	case LEAD_CREWS:
		if (!crews_step(l))
			next_phase(l);
		break;
	case LEAD_END:
		if (all_gone(l) || in_stage_s(l) > END_S)
			enter(l, LEAD_OVER);
		break;
	case LEAD_OVER:
		break;
	}
}

/* --- the loop ------------------------------------------------------------------------------ */

static void idle(void *arg)
{
	struct world *w = arg;

	flow(w);
	if (w->leader)
		lead(w->leader);
	agent_tick(w->agent);
}

static void run_world(struct world *w)
{
	bool said_bye = false;
	int64_t bye_ns = 0;

	for (;;) {
		w->moved = false;
		flow(w);
		if (w->leader)
			lead(w->leader);
		if (w->trouble.status)
			break;
		if (!said_bye)
			agent_step(w->agent);
		if (agent_over(w->agent) && !said_bye) {
			agent_end(w->agent);
			said_bye = true;
			bye_ns = clock_now(&clock_system);
		}
		/* Nobody takes it who is not there any more. */
		if (said_bye && !w->leader &&
		    (agent_trouble(w->agent) || w->comm->ops->queued(w->comm, 0) == 0 ||
		     clock_now(&clock_system) > bye_ns + END_S * NS_PER_S))
			break;
		if (w->leader && w->leader->stage == LEAD_OVER)
			break;
		if (!w->moved)
			clock_sleep(&clock_system, STEP_NS);
	}
}

static void world_open(struct world *w, const struct agent_options *options,
                       struct agent_options *own)
{
	*own = *options;
	own->idle = idle;
	own->idle_arg = w;
	*w = (struct world){.comm = options->comm};
	w->agent = agent_open(own);
}

enum status cluster_follow(const struct agent_options *options, bool *all_alive, struct error *err)
{
	struct agent_options own;
	struct world w;
	enum status st = ST_OK;

	world_open(&w, options, &own);
	run_world(&w);
	if (w.trouble.status)
		st = error_set(err, w.trouble.status, MSG_path_error, options->host,
		               str_text(&w.trouble.text));
	else if (agent_trouble(w.agent))
		st = error_set(err, ST_TIMEOUT, MSG_path_error, options->host,
		               agent_trouble(w.agent));
	else if (!agent_leave(w.agent))
		cluster_wait_leave(options->comm, LEAVE_S);
	*all_alive = agent_all_alive(w.agent);
	agent_close(w.agent);
	error_release(&w.trouble);
	return st;
}

static void say_line(void *arg, const char *text)
{
	leader_say(arg, text);
}

static void leader_open(struct leader *l, const struct cluster_options *o)
{
	int64_t now = clock_now(&clock_system);

	l->comm = o->agent.comm;
	l->count = l->comm->size;
	l->members = arena_array(&l->arena, (size_t)l->count + (size_t)o->n_absent + 1,
	                         sizeof(*l->members));
	l->keeper = (struct keeper){.save = o->store, .arg = o->store_arg};
	l->voice = (struct voice){.tell = say_line, .arg = l, .count = l->count + o->n_absent};
	l->started_ns = l->stage_ns = now;
	for (int i = 0; i < l->count; i++) {
		l->members[i].name = arena_strf(&l->arena, "rank-%d", i);
		l->members[i].heard_ns = now;
		l->members[i].heard_wall_ns = clock_wall(&clock_system);
	}
}

static void leader_close(struct leader *l)
{
	for (int i = 0; i < l->count; i++)
		card_names_release(&l->members[i].cards);
	crews_close(l);
	voice_release(&l->voice);
	arena_release(&l->arena);
}

enum status cluster_lead(struct cluster_result *result, const struct cluster_options *options,
                         struct error *err)
{
	struct leader l = {.o = options, .result = result, .err = err};
	struct agent_options own;
	struct world w;
	enum status st;

	*result = (struct cluster_result){.nodes = options->agent.comm->size};
	leader_open(&l, options);
	world_open(&w, &options->agent, &own);
	w.leader = &l;
	run_world(&w);
	result->all_alive = result->lost == 0 && all_gone(&l);
	agent_close(w.agent);
	if (w.trouble.status && l.end == ST_OK)
		l.end = error_set(err, w.trouble.status, MSG_path_error, "MPI",
		                  str_text(&w.trouble.text));
	st = keeper_end(&l.keeper, l.end == ST_OK ? err : NULL);
	result->store_failed = st != ST_OK;
	result->readings = l.keeper.lines;
	result->seconds = (double)(clock_now(&clock_system) - l.started_ns) / 1e9;
	st = l.end != ST_OK ? l.end : st;
	leader_close(&l);
	error_release(&w.trouble);
	return st;
}
