/* Units that several nodes do together. Pairs come round by round: in a round every
 * node has one partner, so that no two measurements meet at a node; then those that
 * look slow are read again, in rounds of the same kind. What all nodes do is one
 * unit, begun again without a node that was lost in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/unit.h"
#include "coord/again.h"
#include "coord/leader.h"
#include "coord/owed.h"
#include "coord/rounds.h"
#include "run/journal.h"

#define STRAGGLE_S       10 /* for the others to end, once the first has said all */
#define STRAGGLERS_NAMED 4

/* The nodes of one unit; the first speaks for all. */
struct crew {
	int count;
	int *ranks;
	const char **nodes;
	bool *over;
	const char *id; /* "n001|n002"; of all nodes "*", or the storage path */
	char work[13];
	int attempt, times;
	bool given_up;
	int64_t first_over_ns; /* when the first had said all; 0: not yet */
	bool hurried;          /* the others were told to end */
	/* Metrics that came: of a pair by reading_way, else by node, those about what
	 * several nodes share as of the first. */
	uint64_t (*seen)[METRICS_MAX / 64];
	int told;       /* place of the node that the last reading was about */
	bool told_some; /* … which may have more cards than were named */
};

/* One thing to do in the phase: a probe, for all nodes also about a path. */
struct task {
	const struct probe *probe;
	const char *path; /* NULL: none */
};

struct crews {
	struct task *tasks;
	int n_tasks, task; /* … of them at work */
	struct rounds rounds;
	int round, n_rounds;
	struct again reread;  /* passes 0: not yet */
	struct crew *current; /* of this round */
	int n_current;
	bool again; /* of all nodes, one was lost */
	int done, total;
	double seconds;     /* of one */
	struct arena arena; /* of the round */
	struct str refused; /* works that were given up, with a blank behind each */
};

/* --- the plan --------------------------------------------------------------------- */

static int alive(const struct leader *l, struct arena *arena, int **ranks)
{
	int n = 0;

	*ranks = arena_array(arena, (size_t)l->count + 1, sizeof(**ranks));
	for (int i = 0; i < l->count; i++)
		if (!l->members[i].lost)
			(*ranks)[n++] = i;
	return n;
}

/* What an earlier attempt has read of the pairs counts as well. */
static void hear_resumed(struct leader *l, const struct probe *probe)
{
	struct effective e;

	if (!l->o->resume || !l->o->judge)
		return;
	e = rundir_effective(l->o->resume);
	for (int64_t i = 0; i < e.count; i++)
		if (e.readings[i]->probe && strcmp(e.readings[i]->probe, probe->name) == 0)
			l->o->judge->on_reading(l->o->judge->arg, e.readings[i]);
}

static void begin_task(struct leader *l)
{
	struct crews *c = l->crews;
	const struct task *task = &c->tasks[c->task];
	const struct probe *probe = task->probe;
	int *ranks, n = alive(l, &l->arena, &ranks);
	const struct crews_plan plan = crews_estimate(l->o->request, probe, n, l->o->pairs);

	c->seconds = plan.round_s;
	c->round = c->done = 0;
	c->n_rounds = c->total = 1;
	if (probe->all_nodes) {
		leader_say(l, say(MSG_cluster_group, probe->name, tmpf("%d", n),
		                  tmpf("%.0f", c->seconds)));
		return;
	}
	again_release(&c->reread);
	c->reread = (struct again){0};
	hear_resumed(l, probe);
	rounds_make(&c->rounds, &l->arena, ranks, n,
	            l->o->pairs == PAIRS_ALL ? 0 : PAIRS_SAMPLE_ROUNDS,
	            strtoull(l->o->request->info->seed, NULL, 16));
	c->n_rounds = c->rounds.count;
	c->total = c->rounds.n_pairs;
	leader_say(l, say(MSG_cluster_pairs, probe->name, tmpf("%d", c->total),
	                  tmpf("%lld", (long long)n * (n - 1) / 2), fmt_duration(plan.seconds),
	                  fmt_duration(l->o->judge ? plan.again_s : 0)));
}

/* After the rounds: whether there are pairs to be read again. */
static bool read_again(struct leader *l)
{
	struct crews *c = l->crews;
	const struct probe *probe = c->tasks[c->task].probe;
	struct again *g = &c->reread;

	if (probe->all_nodes || *l->o->agent.stop || !again_next(g, l, probe, &c->rounds))
		return false;
	c->round = c->done = 0;
	c->n_rounds = g->rounds;
	c->total = g->n;
	leader_say(l, say(MSG_cluster_again, probe->name, tmpf("%d", g->n), tmpf("%d", g->passes),
	                  tmpf("%d", AGAIN_PASSES), tmpf("%d", g->count[AGAIN_SLOW]),
	                  tmpf("%d", g->count[AGAIN_NODE]), tmpf("%d", g->count[AGAIN_LOST]),
	                  fmt_duration(g->rounds * c->seconds)));
	return true;
}

static void add_task(struct leader *l, const struct probe *probe)
{
	const struct run_info *info = l->o->request->info;
	struct crews *c = l->crews;

	if (!probe->needs_storage)
		c->tasks[c->n_tasks++] = (struct task){probe, NULL};
	for (int i = 0; probe->needs_storage && i < info->n_storage; i++)
		c->tasks[c->n_tasks++] = (struct task){probe, info->storage[i]};
}

bool crews_open(struct leader *l, const char *phase)
{
	const struct run_info *info = l->o->request->info;
	const struct probe *const *all = l->o->agent.probes;
	struct crews *c = arena_alloc(&l->arena, sizeof(*c));
	size_t n = 0;

	crews_close(l);
	while (all[n])
		n++;
	c->tasks = arena_array(&l->arena, n * (1 + (size_t)info->n_storage), sizeof(*c->tasks));
	l->crews = c;
	for (size_t i = 0; i < n; i++)
		if (probe_in_company(all[i]) && strcmp(all[i]->phase, phase) == 0 &&
		    plan_selects(info, all[i]))
			add_task(l, all[i]);
	if (c->n_tasks)
		begin_task(l);
	return c->n_tasks > 0;
}

void crews_close(struct leader *l)
{
	if (!l->crews)
		return;
	str_release(&l->crews->refused);
	again_release(&l->crews->reread);
	arena_release(&l->crews->arena);
	l->crews = NULL;
}

const char *crews_state(const struct leader *l)
{
	const struct crews *c = l->crews;

	return tmpf("%s %d/%d", c->task < c->n_tasks ? c->tasks[c->task].probe->name : "", c->done,
	            c->total);
}

double crews_left_s(const struct leader *l)
{
	const struct crews *c = l->crews;

	return (c->n_rounds - c->round + 1) * c->seconds;
}

/* --- orders -------------------------------------------------------------------------- */

/* How far the clock of one is ahead of the first one's; NaN: not known. */
static double ahead_s(const struct leader *l, const struct crew *crew, int self)
{
	double error;

	return member_offset_s(&l->members[crew->ranks[self]], &error) -
	       member_offset_s(&l->members[crew->ranks[0]], &error);
}

static void order(struct leader *l, struct crew *crew, int self)
{
	struct crews *c = l->crews;
	struct member *m = &l->members[crew->ranks[self]];
	const struct probe *probe = c->tasks[c->task].probe;
	struct unit u = {.probe = probe, .seconds = c->seconds};
	struct wire_json w;

	wire_begin(&w);
	json_put_string(&w.j, "probe", probe->name);
	json_put_string(&w.j, "id", crew->id);
	json_put_string(&w.j, "work", crew->work);
	json_put_int(&w.j, "attempt", crew->attempt);
	json_put_int(&w.j, "times", crew->times);
	json_put_number(&w.j, "seconds", c->seconds);
	json_put_int(&w.j, "self", self);
	json_put_number(&w.j, "ahead_s", ahead_s(l, crew, self));
	json_array_begin(&w.j, "nodes");
	for (int i = 0; i < crew->count; i++)
		json_put_string(&w.j, NULL, crew->nodes[i]);
	json_array_end(&w.j);
	json_object_end(&w.j);
	m->crew = crew;
	member_order(l, m, WIRE_CREW, w.text.data, w.text.len,
	             unit_limit_s(&u, l->o->request->budget, l->o->agent.deadline_scale));
	str_release(&w.text);
}

/* times: which reading of a pair it is. */
static void begin_crew(struct leader *l, struct crew *crew, const int *ranks, int count,
                       const char *id, int times)
{
	struct crews *c = l->crews;
	const struct probe *probe = c->tasks[c->task].probe;
	bool whole = true;

	*crew = (struct crew){
		.count = count, .id = id, .attempt = c->again ? 2 : 1, .times = times};
	crew->ranks = arena_array(&c->arena, (size_t)count + 1, sizeof(*crew->ranks));
	crew->nodes = arena_array(&c->arena, (size_t)count + 1, sizeof(*crew->nodes));
	crew->over = arena_array(&c->arena, (size_t)count + 1, sizeof(*crew->over));
	crew->seen = arena_array(&c->arena, (size_t)count + 1, sizeof(*crew->seen));
	for (int i = 0; i < count; i++) {
		crew->ranks[i] = ranks[i];
		crew->nodes[i] = l->members[ranks[i]].name;
		whole = whole && !l->members[ranks[i]].lost;
	}
	work_id(crew->work, probe->phase, probe->name, again_unit(&c->arena, id, times),
	        plan_params(&c->arena, l->o->request, probe));
	if (!whole || (!c->again && l->o->resume &&
	               !work_is_open(l->o->resume, crew->work, &crew->attempt))) {
		memset(crew->over, true, (size_t)count);
		return;
	}
	/* A loss while orders go out ends the crew; the rest of it gets none. */
	for (int i = 0; i < count && !crew->given_up; i++)
		order(l, crew, i);
}

static void begin_pair(struct leader *l, struct crew *crew, int a, int b, int times)
{
	struct arena *arena = &l->crews->arena;
	const char *id = arena_strf(arena, "%s|%s", l->members[a].name, l->members[b].name);

	begin_crew(l, crew, (const int[]){a, b}, 2, id, times);
}

static void begin_pairs(struct leader *l)
{
	struct crews *c = l->crews;
	const struct round_pair *list;
	int n = rounds_get(&c->rounds, c->round, &c->arena, &list);

	c->current = arena_array(&c->arena, (size_t)n + 1, sizeof(*c->current));
	c->n_current = n;
	for (int i = 0; i < n; i++)
		begin_pair(l, &c->current[i], list[i].a, list[i].b, 1);
}

static void begin_pairs_again(struct leader *l)
{
	struct crews *c = l->crews;
	const struct again *g = &c->reread;

	c->current = arena_array(&c->arena, (size_t)g->n + 1, sizeof(*c->current));
	c->n_current = 0;
	for (int i = 0; i < g->n; i++)
		if (g->pairs[i].round == c->round)
			begin_pair(l, &c->current[c->n_current++], g->pairs[i].a, g->pairs[i].b,
			           g->pairs[i].times);
}

static void begin_all(struct leader *l)
{
	struct crews *c = l->crews;
	const struct task *task = &c->tasks[c->task];
	int *ranks, n = alive(l, &c->arena, &ranks);

	c->current = arena_array(&c->arena, 1, sizeof(*c->current));
	c->n_current = n > 0;
	if (n)
		begin_crew(l, c->current, ranks, n, task->path ? task->path : "*", 1);
}

static void begin_round(struct leader *l)
{
	struct crews *c = l->crews;

	for (int i = 0; i < l->count; i++)
		l->members[i].crew = NULL;
	arena_reset(&c->arena);
	if (c->tasks[c->task].probe->all_nodes)
		begin_all(l);
	else if (c->reread.passes)
		begin_pairs_again(l);
	else
		begin_pairs(l);
	c->round++;
	c->again = false;
}

static bool round_over(const struct crews *c)
{
	for (int i = 0; i < c->n_current; i++)
		for (int k = 0; k < c->current[i].count; k++)
			if (!c->current[i].over[k])
				return false;
	return true;
}

/* The first speaks for all: once it has, a child that goes on is one that hangs, and
 * nothing is lost with it. */
static void hurry(struct leader *l, struct crew *crew)
{
	double scale = l->o->agent.deadline_scale,
	       patience_s = STRAGGLE_S * (scale < 1 ? scale : 1);
	int64_t since = crew->first_over_ns;
	struct str names = {0};
	int n = 0;

	if (!since || crew->given_up || crew->hurried ||
	    (double)(clock_now(&clock_system) - since) / 1e9 < patience_s)
		return;
	crew->hurried = true;
	for (int i = 0; i < crew->count; i++) {
		if (crew->over[i])
			continue;
		if (n++ < STRAGGLERS_NAMED)
			str_addf(&names, "%s%s", n > 1 ? ", " : "", crew->nodes[i]);
		wire_send(l->comm, crew->ranks[i], WIRE_CANCEL, crew->work, strlen(crew->work),
		          NULL);
	}
	if (n)
		leader_say(l,
		           say(MSG_cluster_straggle, l->crews->tasks[l->crews->task].probe->name,
		               crew->id, tmpf("%d", n), tmpf("%d", crew->count), str_text(&names)));
	str_release(&names);
}

bool crews_step(struct leader *l)
{
	struct crews *c = l->crews;

	if (!round_over(c)) {
		for (int i = 0; i < c->n_current; i++)
			hurry(l, &c->current[i]);
		return true;
	}
	c->done += c->n_current;
	c->n_current = 0;
	if (c->again)
		c->round = 0;
	while (c->task < c->n_tasks && c->round >= c->n_rounds && !read_again(l))
		if (++c->task < c->n_tasks)
			begin_task(l);
	if (c->task >= c->n_tasks)
		return false;
	begin_round(l);
	return true;
}

/* --- words of nodes ------------------------------------------------------------------- */

static int place_in(const struct leader *l, const struct crew *crew, const struct member *m)
{
	for (int i = 0; i < crew->count; i++)
		if (&l->members[crew->ranks[i]] == m)
			return i;
	return 0;
}

void crews_over(struct leader *l, struct member *m, const char *work)
{
	struct crew *crew = m->crew;

	if (strcmp(crew->work, work) != 0)
		return;
	crew->over[place_in(l, crew, m)] = true;
	if (crew->over[0] && !crew->first_over_ns)
		crew->first_over_ns = clock_now(&clock_system);
	m->crew = NULL;
}

void crews_carry(struct leader *l, const struct member *from, const cJSON *o)
{
	const struct crew *crew = from->crew;
	int to = json_int(o, "to", -1);
	const char *work = json_string(o, "work", "");
	struct wire_json w;

	if (!crew || strcmp(crew->work, work) != 0 || to < 0 || to >= crew->count ||
	    l->members[crew->ranks[to]].lost)
		return;
	wire_begin(&w);
	json_put_string(&w.j, "work", work);
	json_put_int(&w.j, "from", place_in(l, crew, from));
	json_put_string(&w.j, "text", json_string(o, "text", ""));
	wire_end(&w, l->comm, crew->ranks[to], WIRE_TEXT, NULL);
}

/* --- trouble -------------------------------------------------------------------------- */

bool crews_refuse(struct leader *l, const char *work, int attempt)
{
	return strstr(str_text(&l->crews->refused), tmpf("%s/%d ", work, attempt)) != NULL;
}

/* As its first node knows it. */
static struct unit unit_of(const struct leader *l, const struct crew *crew, struct company *company)
{
	struct unit u = {.probe = l->crews->tasks[l->crews->task].probe,
	                 .subject = crew->id,
	                 .attempt = crew->attempt,
	                 .company = company};

	*company = (struct company){.nodes = crew->nodes, .count = crew->count};
	memcpy(u.work, crew->work, sizeof(u.work));
	return u;
}

static void hear(struct leader *l, const struct reading *r)
{
	if (l->o->judge && r->subject.kind == SUBJECT_PAIR)
		l->o->judge->on_reading(l->o->judge->arg, r);
}

/* Each node has its own: its cards, its links. The cluster and a path belong to all. */
static bool is_of_node(const struct metric *m)
{
	return m->subject != SUBJECT_CLUSTER && m->subject != SUBJECT_PAIR &&
	       m->subject != SUBJECT_PATH;
}

/* Which of the crew the reading is about; -1: none. Those of a node come together, and
 * the nodes in turn. */
static int place_named(struct crew *crew, const char *node)
{
	for (int i = 0; node && i < crew->count; i++) {
		int at = (crew->told + i) % crew->count;

		if (strcmp(crew->nodes[at], node) == 0)
			return crew->told = at;
	}
	return -1;
}

/* That the first could not measure what all share says less than who was lost
 * meanwhile: begun again, the unit would leave no trace of it. */
static bool says_less(const struct metric *metric, const struct reading *r)
{
	return !is_of_node(metric) && metric->subject != SUBJECT_PAIR &&
	       r->outcome == OUTCOME_NOT_MEASURED;
}

void crews_saw(struct leader *l, struct member *m, const struct reading *r)
{
	struct crew *crew = m->crew;
	struct company company;
	struct unit u;

	if (!crew || !r->work || strcmp(crew->work, r->work) != 0)
		return;
	u = unit_of(l, crew, &company);
	for (int i = 0; u.probe->metrics[i].name && i < METRICS_MAX; i++) {
		const struct metric *metric = &u.probe->metrics[i];
		int row;

		if (strcmp(metric->name, r->metric) != 0 || says_less(metric, r))
			continue;
		row = is_of_node(metric) ? place_named(crew, r->node) : reading_way(&u, metric, r);
		if (row >= 0 && is_of_node(metric))
			crew->told_some = metric->subject != SUBJECT_NODE && r->subject.id &&
			                  strcmp(r->subject.id, "*") != 0;
		if (row >= 0)
			crew->seen[row][i / 64] |= (uint64_t)1 << i % 64;
	}
	hear(l, r);
}

/* What ended a unit, and the place of the node where it happened. */
struct fall {
	int at;
	enum outcome outcome;
	const struct reason *reason;
};

static void owe_metric(struct leader *l, const struct crew *crew, int i, int row,
                       const struct fall *fall)
{
	struct company company;
	const struct unit u = unit_of(l, crew, &company);
	const struct metric *metric = &u.probe->metrics[i];
	bool of_node = is_of_node(metric);
	const struct owed_by by = {.node = crew->nodes[of_node ? row : 0],
	                           .writer = crew->ranks[0],
	                           .simulated = *l->o->agent.sys_root != '\0',
	                           .arena = &l->crews->arena};
	/* The others' own were well, and could not be measured without it. What all share
	 * did break, and says who broke it: begun again without that node, it stays on
	 * record. */
	enum outcome outcome = of_node && row != fall->at ? OUTCOME_NOT_MEASURED : fall->outcome;
	struct str line = {0};
	struct reading r;

	if ((crew->seen[row][i / 64] >> i % 64 & 1) &&
	    !(of_node && row == crew->told && crew->told_some))
		return;
	owed_line(&line, &r, &by, &u, metric, of_node ? 0 : row, outcome, fall->reason);
	hear(l, &r);
	leader_store(l, line.data, line.len);
	str_release(&line);
}

static void owe_crew(struct leader *l, const struct crew *crew, const struct fall *fall)
{
	struct company company;
	const struct unit u = unit_of(l, crew, &company);

	for (int i = 0; u.probe->metrics[i].name && i < METRICS_MAX; i++) {
		const struct metric *metric = &u.probe->metrics[i];
		int rows = is_of_node(metric) ? crew->count : unit_ways(&u, metric);

		for (int row = 0; row < rows; row++)
			owe_metric(l, crew, i, row, fall);
	}
}

/* The unit cannot be had any more: its children are ended, what they say is refused,
 * and what they did not say yet is owed. */
static void give_up(struct leader *l, struct crew *crew, const struct fall *fall)
{
	crew->given_up = true;
	str_addf(&l->crews->refused, "%s/%d ", crew->work, crew->attempt);
	for (int i = 0; i < crew->count; i++) {
		struct member *other = &l->members[crew->ranks[i]];

		/* Who has no order yet gets none. */
		if (other->crew != crew || other->lost)
			crew->over[i] = true;
		else
			wire_send(l->comm, crew->ranks[i], WIRE_CANCEL, crew->work,
			          strlen(crew->work), NULL);
	}
	owe_crew(l, crew, fall);
}

/* The others cannot go on without it. */
void crews_lost(struct leader *l, struct member *m, const struct reason *reason)
{
	struct crews *c = l->crews;
	struct crew *crew = m->crew;
	struct fall fall = {.outcome = OUTCOME_LOST, .reason = reason};

	if (!crew)
		return;
	fall.at = place_in(l, crew, m);
	m->crew = NULL;
	crew->over[fall.at] = true;
	if (crew->given_up)
		return;
	c->again = c->tasks[c->task].probe->all_nodes && members_left(l) > 1;
	give_up(l, crew, &fall);
}

/* It is done all the same: as of a node that works alone, what failed is not tried
 * again by a resume. */
void crews_broke(struct leader *l, struct member *m, const cJSON *o)
{
	struct crew *crew = m->crew;
	struct probe_ctx ctx = {.arena = &l->crews->arena};
	enum outcome outcome;
	struct reason reason;
	const char *probe;
	struct fall fall;

	if (!crew || crew->given_up || strcmp(crew->work, json_string(o, "work", "")) != 0 ||
	    !outcome_parse(json_string(o, "outcome", ""), &outcome) || outcome == OUTCOME_MEASURED)
		return;
	reason_set(&ctx, &reason, MSG_crew_broke, m->name, json_string(o, "text", "?"));
	fall = (struct fall){.at = place_in(l, crew, m), .outcome = outcome, .reason = &reason};
	probe = l->crews->tasks[l->crews->task].probe->name;
	leader_warn(l, m, tmpf("%s: %s", probe, outcome_name(outcome)), reason.text,
	            say(MSG_cluster_broke, probe, crew->id, reason.text));
	give_up(l, crew, &fall);
	if (outcome != OUTCOME_NOT_MEASURED && keeper_empty(&l->keeper))
		l->o->store_work(l->o->store_arg, crew->work, NULL);
}
