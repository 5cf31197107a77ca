/* Stretches of time; see timeline.h. */
#include "service/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define DEFAULT_PERIOD_NS (10 * NS_PER_S)
#define LONGEST_PERIOD_S  3600

/* --- lists -------------------------------------------------------------------------- */

void spans_add(struct spans *s, int64_t from_ns, int64_t to_ns, enum node_state state)
{
	struct span *last = s->count ? &s->list[s->count - 1] : NULL;

	if (to_ns <= from_ns)
		return;
	if (last && last->to_ns == from_ns && last->state == state) {
		last->to_ns = to_ns;
		return;
	}
	if (s->count == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 32;
		s->list = reallocarray(s->list, (size_t)s->cap, sizeof(*s->list));
		if (!s->list)
			die_nomem();
	}
	s->list[s->count++] = (struct span){from_ns, to_ns, state};
}

void spans_release(struct spans *s)
{
	free(s->list);
	*s = (struct spans){0};
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int by_from(const void *a, const void *b)
{
	return by_time(&((const struct span *)a)->from_ns, &((const struct span *)b)->from_ns);
}

/* Worse has more. */
static int badness(enum node_state state)
{
	static const int rank[NODE_STATES] = {
		[NODE_UP] = 0, [NODE_DEGRADED] = 1, [NODE_UNKNOWN] = 2, [NODE_DOWN] = 3};

	return rank[state];
}

/* All ends of the stretches, sorted and each once; from malloc. */
static int64_t *edges_of(const struct spans *const *lists, int n_lists, int *count)
{
	size_t room = 0;
	int64_t *edges;
	int n = 0, kept = 0;

	for (int i = 0; i < n_lists; i++)
		room += 2 * (size_t)lists[i]->count;
	edges = malloc((room + 1) * sizeof(*edges));
	if (!edges)
		die_nomem();
	for (int i = 0; i < n_lists; i++)
		for (int k = 0; k < lists[i]->count; k++) {
			edges[n++] = lists[i]->list[k].from_ns;
			edges[n++] = lists[i]->list[k].to_ns;
		}
	qsort(edges, (size_t)n, sizeof(*edges), by_time);
	for (int i = 0; i < n; i++)
		if (kept == 0 || edges[i] != edges[kept - 1])
			edges[kept++] = edges[i];
	*count = kept;
	return edges;
}

static bool overlaps(const struct spans *s)
{
	for (int i = 1; i < s->count; i++)
		if (s->list[i].from_ns < s->list[i - 1].to_ns)
			return true;
	return false;
}

/* Sorted by their beginning; how many of them can matter at `at` moves on with it. */
static void settle_overlaps(struct spans *s)
{
	const struct spans *one[] = {s};
	struct spans out = {0};
	int n, first = 0;
	int64_t *edges = edges_of(one, 1, &n);

	for (int e = 0; e + 1 < n; e++) {
		int worst = -1;

		while (first < s->count && s->list[first].to_ns <= edges[e])
			first++;
		for (int i = first; i < s->count && s->list[i].from_ns <= edges[e]; i++)
			if (s->list[i].to_ns > edges[e] &&
			    (worst < 0 ||
			     badness(s->list[i].state) > badness(s->list[worst].state)))
				worst = i;
		if (worst >= 0)
			spans_add(&out, edges[e], edges[e + 1], s->list[worst].state);
	}
	free(edges);
	spans_release(s);
	*s = out;
}

void spans_settle(struct spans *s)
{
	struct spans merged = {0};

	if (s->count > 1)
		qsort(s->list, (size_t)s->count, sizeof(*s->list), by_from);
	if (overlaps(s)) {
		settle_overlaps(s);
		return;
	}
	for (int i = 0; i < s->count; i++)
		spans_add(&merged, s->list[i].from_ns, s->list[i].to_ns, s->list[i].state);
	spans_release(s);
	*s = merged;
}

/* --- one observer --------------------------------------------------------------------- */

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void take_period(struct observed *o, const char *note)
{
	const char *at = strstr(note, "period_s=");
	long seconds = at ? strtol(at + strlen("period_s="), NULL, 10) : 0;

	if (seconds >= 1 && seconds <= LONGEST_PERIOD_S)
		o->period_ns = seconds * NS_PER_S;
}

/* How long a beat speaks for the time after it. Looks from outside are written when
 * something changed and else once a minute. */
static int64_t holds_ns(const struct observed *o)
{
	return max64(DOWN_AFTER_NS, 2 * o->period_ns) + (o->outside ? 2 * o->period_ns : 0);
}

/* The node itself came up again, by its own clocks. */
static void after_boot(struct observed *o, const struct heartbeat *b)
{
	int64_t booted = b->wall_ns - b->mono_ns, back = min64(b->wall_ns, booted + BOOT_MOST_NS);

	o->boots++;
	if (o->kind == BEAT_STOP || b->wall_ns < o->wall_ns || back <= o->wall_ns)
		return;
	o->boot_down_ns += back - o->wall_ns;
	spans_add(&o->spans, o->wall_ns, back, NODE_DOWN);
}

static void same_boot(struct observed *o, const struct heartbeat *b)
{
	int64_t wall = b->wall_ns - o->wall_ns, mono = b->mono_ns - o->mono_ns;
	int64_t apart = wall > mono ? wall - mono : mono - wall;

	if (apart > STEP_NS) {
		o->steps++;
		spans_add(&o->spans, min64(o->wall_ns, b->wall_ns), max64(o->wall_ns, b->wall_ns),
		          NODE_UNKNOWN);
	} else if (b->kind == BEAT_LOST) {
		spans_add(&o->spans, o->wall_ns, b->wall_ns, b->state);
	} else if (wall <= holds_ns(o) && o->kind != BEAT_STOP) {
		spans_add(&o->spans, o->wall_ns, b->wall_ns, o->state);
	}
}

static void note_beat(struct observed *o, const struct heartbeat *b)
{
	if (!o->begun || b->wall_ns < o->first_ns)
		o->first_ns = b->wall_ns;
	if (!o->begun || b->wall_ns > o->last_ns)
		o->last_ns = b->wall_ns;
	o->starts += b->kind == BEAT_START;
	o->stops += b->kind == BEAT_STOP;
	if (b->kind == BEAT_LOST)
		o->lost += strtoll(b->note, NULL, 10);
}

void observed_beat(struct observed *o, const struct heartbeat *b)
{
	if (b->wall_ns < UNSET_NS)
		return;
	if (!o->period_ns)
		o->period_ns = DEFAULT_PERIOD_NS;
	if (o->begun && strcmp(o->boot_id, b->boot_id) == 0)
		same_boot(o, b);
	else if (o->begun && !o->outside)
		after_boot(o, b);
	note_beat(o, b);
	if (b->kind == BEAT_START)
		take_period(o, b->note);
	o->begun = true;
	o->wall_ns = b->wall_ns;
	o->mono_ns = b->mono_ns;
	o->kind = b->kind;
	o->state = b->state;
	snprintf(o->boot_id, sizeof(o->boot_id), "%s", b->boot_id);
}

void observed_release(struct observed *o)
{
	free(o->node);
	free(o->observer);
	spans_release(&o->spans);
}

/* --- all observers of a node -------------------------------------------------------------- */

/* State of a settled list at a moment; *at moves on with it. */
static bool state_at(const struct spans *s, int *at, int64_t ns, enum node_state *state)
{
	while (*at < s->count && s->list[*at].to_ns <= ns)
		(*at)++;
	if (*at == s->count || s->list[*at].from_ns > ns)
		return false;
	*state = s->list[*at].state;
	return *state != NODE_UNKNOWN;
}

struct view {
	bool agent, outside; /* somebody knows */
	enum node_state by_agent, by_outside;
};

/* Contracts: reachable from any place is reachable. An agent cannot see that nobody
 * reaches it, a look from outside cannot see cards. */
static enum node_state verdict(const struct view *v)
{
	if (v->outside && v->by_outside == NODE_DOWN)
		return NODE_DOWN;
	if (!v->agent)
		return v->outside ? v->by_outside : NODE_UNKNOWN;
	if (v->by_agent == NODE_DOWN && v->outside)
		return v->by_outside;
	return v->by_agent;
}

static void see(struct view *v, const struct observed *o, enum node_state state)
{
	if (o->outside) {
		if (!v->outside || badness(state) < badness(v->by_outside))
			v->by_outside = state;
		v->outside = true;
	} else {
		if (!v->agent || badness(state) > badness(v->by_agent))
			v->by_agent = state;
		v->agent = true;
	}
}

static void add_within(struct spans *out, int64_t from, int64_t to, int64_t first, int64_t last,
                       enum node_state state)
{
	spans_add(out, max64(from, first), min64(to, last), state);
}

/* Outages less than a period apart, with nothing unknown between, are one. */
static void merge_outages(struct spans *s, int64_t period_ns)
{
	struct spans out = {0};

	for (int i = 0; i < s->count; i++) {
		struct span x = s->list[i];
		bool between = i > 0 && i + 1 < s->count && s->list[i - 1].state == NODE_DOWN &&
		               s->list[i + 1].state == NODE_DOWN && x.state != NODE_UNKNOWN &&
		               x.to_ns - x.from_ns < period_ns;

		spans_add(&out, x.from_ns, x.to_ns, between ? NODE_DOWN : x.state);
	}
	spans_release(s);
	*s = out;
}

/* A minute makes an outage; what is shorter keeps the state before it. */
static int drop_blips(struct spans *s)
{
	struct spans out = {0};
	int blips = 0;

	for (int i = 0; i < s->count; i++) {
		struct span x = s->list[i];

		if (x.state == NODE_DOWN && x.to_ns - x.from_ns < DOWN_AFTER_NS) {
			blips++;
			x.state = out.count ? out.list[out.count - 1].state : NODE_UNKNOWN;
		}
		spans_add(&out, x.from_ns, x.to_ns, x.state);
	}
	spans_release(s);
	*s = out;
	return blips;
}

void timeline_join(struct spans *out, const struct observed *const *of_node, int count,
                   int64_t first_ns, int64_t last_ns, int *blips)
{
	const struct spans **lists = calloc((size_t)count + 1, sizeof(*lists));
	int *at = calloc((size_t)count + 1, sizeof(*at));
	int64_t *edges, at_ns = first_ns, period = 0;
	int n;

	if (!lists || !at)
		die_nomem();
	for (int i = 0; i < count; i++) {
		lists[i] = &of_node[i]->spans;
		period = max64(period, of_node[i]->period_ns);
	}
	*out = (struct spans){0};
	edges = edges_of(lists, count, &n);
	for (int e = 0; e + 1 < n; e++) {
		struct view v = {0};
		enum node_state state;

		for (int i = 0; i < count; i++)
			if (state_at(lists[i], &at[i], edges[e], &state))
				see(&v, of_node[i], state);
		add_within(out, at_ns, edges[e], first_ns, last_ns, NODE_UNKNOWN);
		add_within(out, edges[e], edges[e + 1], first_ns, last_ns, verdict(&v));
		at_ns = max64(at_ns, edges[e + 1]);
	}
	add_within(out, at_ns, last_ns, first_ns, last_ns, NODE_UNKNOWN);
	free(edges);
	free(at);
	free(lists);
	merge_outages(out, period ? period : DEFAULT_PERIOD_NS);
	*blips = drop_blips(out);
}
