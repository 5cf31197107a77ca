/* Units that several nodes do together. Pairs come round by round: in a round every
 * node has one partner, so that no two measurements meet at a node. What all nodes
 * do is one unit, begun again without a node that was lost in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "coord/leader.h"
#include "coord/owed.h"
#include "coord/rounds.h"
#include "run/journal.h"

/* The nodes of one unit; the first speaks for all. */
struct crew {
	int count;
	int *ranks;
	const char **nodes;
	bool *over;
	const char *id; /* "n001|n002"; of all nodes "*", or the storage path */
	char work[13];
	int attempt;
	bool given_up;
	uint64_t seen[METRICS_MAX / 64]; /* metrics that came */
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

static void begin_task(struct leader *l)
{
	struct crews *c = l->crews;
	const struct task *task = &c->tasks[c->task];
	const struct probe *probe = task->probe;
	struct probe_ctx ctx;
	int *ranks, n = alive(l, &l->arena, &ranks);

	plan_context(&ctx, &l->arena, probe, l->o->request);
	ctx.n_peers = probe->all_nodes ? n : 2;
	c->seconds =
		probe->duration ? probe->duration(&ctx) : probe->seconds[l->o->request->budget];
	c->round = c->done = 0;
	c->n_rounds = c->total = 1;
	if (probe->all_nodes) {
		leader_say(l, say(MSG_cluster_group, probe->name, tmpf("%d", n),
		                  tmpf("%.0f", c->seconds)));
		return;
	}
	rounds_make(&c->rounds, &l->arena, ranks, n,
	            l->o->pairs == PAIRS_ALL ? 0 : PAIRS_SAMPLE_ROUNDS,
	            strtoull(l->o->request->info->seed, NULL, 16));
	c->n_rounds = c->rounds.count;
	c->total = c->rounds.n_pairs;
	leader_say(l, say(MSG_cluster_pairs, probe->name, tmpf("%d", c->total),
	                  tmpf("%lld", (long long)n * (n - 1) / 2),
	                  tmpf("%.0f", c->seconds * c->rounds.count)));
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
	arena_release(&l->crews->arena);
	l->crews = NULL;
}

const char *crews_state(const struct leader *l)
{
	const struct crews *c = l->crews;

	return tmpf("%s %d/%d", c->task < c->n_tasks ? c->tasks[c->task].probe->name : "", c->done,
	            c->total);
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

static void begin_crew(struct leader *l, struct crew *crew, const int *ranks, int count,
                       const char *id)
{
	struct crews *c = l->crews;
	const struct probe *probe = c->tasks[c->task].probe;
	bool whole = true;

	*crew = (struct crew){.count = count, .id = id, .attempt = c->again ? 2 : 1};
	crew->ranks = arena_array(&c->arena, (size_t)count + 1, sizeof(*crew->ranks));
	crew->nodes = arena_array(&c->arena, (size_t)count + 1, sizeof(*crew->nodes));
	crew->over = arena_array(&c->arena, (size_t)count + 1, sizeof(*crew->over));
	for (int i = 0; i < count; i++) {
		crew->ranks[i] = ranks[i];
		crew->nodes[i] = l->members[ranks[i]].name;
		whole = whole && !l->members[ranks[i]].lost;
	}
	work_id(crew->work, probe->phase, probe->name, id,
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

static void begin_pairs(struct leader *l)
{
	struct crews *c = l->crews;
	const struct round_pair *list;
	int n = rounds_get(&c->rounds, c->round, &c->arena, &list);

	c->current = arena_array(&c->arena, (size_t)n + 1, sizeof(*c->current));
	c->n_current = n;
	for (int i = 0; i < n; i++)
		begin_crew(l, &c->current[i], (const int[]){list[i].a, list[i].b}, 2,
		           arena_strf(&c->arena, "%s|%s", l->members[list[i].a].name,
		                      l->members[list[i].b].name));
}

static void begin_all(struct leader *l)
{
	struct crews *c = l->crews;
	const struct task *task = &c->tasks[c->task];
	int *ranks, n = alive(l, &c->arena, &ranks);

	c->current = arena_array(&c->arena, 1, sizeof(*c->current));
	c->n_current = n > 0;
	if (n)
		begin_crew(l, c->current, ranks, n, task->path ? task->path : "*");
}

static void begin_round(struct leader *l)
{
	struct crews *c = l->crews;

	for (int i = 0; i < l->count; i++)
		l->members[i].crew = NULL;
	arena_reset(&c->arena);
	if (c->tasks[c->task].probe->all_nodes)
		begin_all(l);
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

bool crews_step(struct leader *l)
{
	struct crews *c = l->crews;

	if (!round_over(c))
		return true;
	c->done += c->n_current;
	c->n_current = 0;
	if (c->again)
		c->round = 0;
	while (c->task < c->n_tasks && c->round >= c->n_rounds)
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
	m->crew = NULL;
}

void crews_carry(struct leader *l, const struct member *from, const cJSON *o)
{
	const struct crew *crew = from->crew;
	int to = (int)json_number(o, "to", -1);
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

void crews_saw(struct leader *l, struct member *m, const struct reading *r)
{
	struct crew *crew = m->crew;
	const struct metric *metrics;

	if (!crew || !r->work || strcmp(crew->work, r->work) != 0)
		return;
	metrics = l->crews->tasks[l->crews->task].probe->metrics;
	for (int i = 0; metrics[i].name && i < METRICS_MAX; i++)
		if (strcmp(metrics[i].name, r->metric) == 0)
			crew->seen[i / 64] |= (uint64_t)1 << i % 64;
}

static void owe_crew(struct leader *l, const struct crew *crew, const struct reason *reason)
{
	const struct probe *probe = l->crews->tasks[l->crews->task].probe;
	const struct company company = {.nodes = crew->nodes, .count = crew->count};
	struct unit u = {
		.probe = probe, .subject = crew->id, .attempt = crew->attempt, .company = &company};
	const struct owed_by by = {.node = crew->nodes[0],
	                           .writer = crew->ranks[0],
	                           .simulated = *l->o->agent.sys_root != '\0'};

	memcpy(u.work, crew->work, sizeof(u.work));
	for (int i = 0; probe->metrics[i].name && i < METRICS_MAX; i++) {
		const struct metric *metric = &probe->metrics[i];
		struct str line = {0};
		struct reading r;

		if (crew->seen[i / 64] >> i % 64 & 1)
			continue;
		owed_line(&line, &r, &by, &u, metric, OUTCOME_LOST, reason);
		leader_store(l, line.data, line.len);
		str_release(&line);
	}
}

/* The others cannot go on without it. */
void crews_lost(struct leader *l, struct member *m, const struct reason *reason)
{
	struct crews *c = l->crews;
	struct crew *crew = m->crew;

	if (!crew)
		return;
	m->crew = NULL;
	crew->over[place_in(l, crew, m)] = true;
	if (crew->given_up)
		return;
	crew->given_up = true;
	c->again = c->tasks[c->task].probe->all_nodes && members_left(l) > 1;
	str_addf(&c->refused, "%s/%d ", crew->work, crew->attempt);
	for (int i = 0; i < crew->count; i++) {
		struct member *other = &l->members[crew->ranks[i]];

		/* Who has no order yet gets none. */
		if (other->crew != crew || other->lost)
			crew->over[i] = true;
		else
			wire_send(l->comm, crew->ranks[i], WIRE_CANCEL, crew->work,
			          strlen(crew->work), NULL);
	}
	owe_crew(l, crew, reason);
}
