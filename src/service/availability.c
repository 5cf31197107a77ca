/* Availability; the formulas stand in availability.h, the statistics in support.h. */
#include "service/availability.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "service/availability_read.h"
#include "service/moment.h"
#include "service/support.h"

#define ALPHA 0.05

static double seconds(int64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

int64_t outage_minutes(const struct outage *o)
{
	return (o->to_ns - o->from_ns + MIN_NS - 1) / MIN_NS;
}

/* --- nodes ------------------------------------------------------------------------- */

static int by_node(const void *a, const void *b)
{
	const struct observed *x = *(const struct observed *const *)a;
	const struct observed *y = *(const struct observed *const *)b;

	return strcmp(x->node, y->node);
}

static void read_window(struct availability *a, const struct watched *w)
{
	a->first_ns = INT64_MAX;
	a->last_ns = INT64_MIN;
	for (int i = 0; i < w->count; i++) {
		const struct observed *o = &w->list[i];

		if (o->first_ns < a->first_ns)
			a->first_ns = o->first_ns;
		if (o->last_ns > a->last_ns)
			a->last_ns = o->last_ns;
		a->period_s = fmax(a->period_s, seconds(o->period_ns));
	}
}

/* From the first beat of anybody about the node to the end of the whole watch: a node
 * that fell silent for good is not forgotten. */
static void join_node(struct availability *a, struct node_time *node,
                      const struct observed *const *of_node, int count)
{
	int64_t first = of_node[0]->first_ns;

	node->name = arena_str(&a->arena, of_node[0]->node);
	for (int i = 0; i < count; i++) {
		const struct observed *o = of_node[i];

		first = o->first_ns < first ? o->first_ns : first;
		node->steps += o->steps;
		node->boots += o->boots;
		node->lost_beats += o->lost;
		node->boot_down_s += seconds(o->boot_down_ns);
		node->outside |= o->outside;
		node->agent |= !o->outside;
	}
	if (node->outside)
		node->boot_down_s = 0;
	timeline_join(&node->spans, of_node, count, first, a->last_ns, &node->blips);
}

static void join_all(struct availability *a, struct watched *w)
{
	const struct observed **all = calloc((size_t)w->count, sizeof(*all));

	if (!all)
		die_nomem();
	for (int i = 0; i < w->count; i++)
		all[i] = &w->list[i];
	qsort(all, (size_t)w->count, sizeof(*all), by_node);
	a->nodes = arena_array(&a->arena, (size_t)w->count, sizeof(*a->nodes));
	for (int i = 0, end; i < w->count; i = end) {
		for (end = i + 1; end < w->count && strcmp(all[i]->node, all[end]->node) == 0;)
			end++;
		join_node(a, &a->nodes[a->n_nodes++], &all[i], end - i);
	}
	free(all);
}

/* --- whose time ---------------------------------------------------------------------- */

static void count_time(struct node_time *n, enum node_state state, enum cause cause, double s)
{
	if (cause == CAUSE_NOT_RENTED)
		n->not_rented_s += s;
	else if (state == NODE_UP)
		n->up_s += s;
	else if (cause == CAUSE_PLANNED)
		n->planned_s += s;
	else if (cause == CAUSE_CUSTOMER)
		n->customer_s += s;
	else if (state == NODE_DEGRADED)
		n->degraded_s += s;
	else if (state == NODE_DOWN)
		n->down_s += s;
	else
		n->unknown_s += s;
}

static void add_outage(struct availability *a, int *room, int node, const struct span *s,
                       enum cause cause)
{
	struct outage *last = a->n_outages ? &a->outages[a->n_outages - 1] : NULL;

	if (cause == CAUSE_NOT_RENTED)
		return;
	if (last && last->node == node && last->to_ns == s->from_ns && last->cause == cause) {
		last->to_ns = s->to_ns;
		return;
	}
	if (a->n_outages == *room) {
		*room = *room ? *room * 2 : 32;
		a->outages = reallocarray(a->outages, (size_t)*room, sizeof(*a->outages));
		if (!a->outages)
			die_nomem();
	}
	a->outages[a->n_outages++] = (struct outage){
		.node = node, .from_ns = s->from_ns, .to_ns = s->to_ns, .cause = cause};
	a->nodes[node].outages++;
}

static void account(struct availability *a, int *room, int node)
{
	struct node_time *n = &a->nodes[node];

	for (int i = 0; i < n->spans.count; i++)
		for (struct span s = n->spans.list[i]; s.from_ns < n->spans.list[i].to_ns;
		     s.from_ns = s.to_ns) {
			enum cause cause;

			s.to_ns = n->spans.list[i].to_ns;
			cause = causes_at(&a->causes, n->name, s.from_ns, &s.to_ns);
			count_time(n, s.state, cause, seconds(s.to_ns - s.from_ns));
			if (s.state == NODE_DOWN)
				add_outage(a, room, node, &s, cause);
		}
	a->up_s += n->up_s;
	a->degraded_s += n->degraded_s;
	a->down_s += n->down_s;
	a->unknown_s += n->unknown_s;
	a->planned_s += n->planned_s;
	a->customer_s += n->customer_s;
}

/* --- all nodes at once ----------------------------------------------------------------- */

struct edge {
	int64_t ns;
	int due, up, unknown; /* changes */
};

static int by_ns(const void *a, const void *b)
{
	int64_t x = ((const struct edge *)a)->ns, y = ((const struct edge *)b)->ns;

	return (x > y) - (x < y);
}

static void add_edges(struct edge *edges, int *n, const struct availability *a, int node)
{
	const struct node_time *t = &a->nodes[node];

	for (int i = 0; i < t->spans.count; i++) {
		const struct span *s = &t->spans.list[i];
		int up = s->state == NODE_UP, unknown = s->state == NODE_UNKNOWN;

		edges[(*n)++] = (struct edge){s->from_ns, 1, up, unknown};
		edges[(*n)++] = (struct edge){s->to_ns, -1, -up, -unknown};
	}
}

/* Time in which every node that was watched was up, whoever is to blame. */
static void whole_set(struct availability *a)
{
	int64_t all_up = 0, may_be_up = 0, watched = 0;
	int due = 0, up = 0, unknown = 0, n = 0;
	struct edge *edges;
	size_t room = 0;

	for (int i = 0; i < a->n_nodes; i++)
		room += 2 * (size_t)a->nodes[i].spans.count;
	edges = calloc(room + 1, sizeof(*edges));
	if (!edges)
		die_nomem();
	for (int i = 0; i < a->n_nodes; i++)
		add_edges(edges, &n, a, i);
	qsort(edges, (size_t)n, sizeof(*edges), by_ns);
	for (int i = 0; i < n; i++) {
		int64_t length = i ? edges[i].ns - edges[i - 1].ns : 0;

		if (due > 0)
			watched += length;
		if (due > 0 && up == due)
			all_up += length;
		if (due > 0 && up + unknown == due)
			may_be_up += length;
		due += edges[i].due;
		up += edges[i].up;
		unknown += edges[i].unknown;
	}
	free(edges);
	a->a_all = watched ? (double)all_up / (double)watched : NAN;
	a->a_all_high = watched ? (double)may_be_up / (double)watched : NAN;
}

/* --- outages ------------------------------------------------------------------------------ */

static int by_begin(const void *a, const void *b)
{
	const struct outage *x = a, *y = b;

	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->node - y->node;
}

static bool counts(const struct outage *o)
{
	return o->cause == CAUSE_NONE || o->cause == CAUSE_PROVIDER;
}

/* One event: outages of different nodes, each beginning within two minutes of the first. */
static int same_event(struct availability *a, int first)
{
	int end = first + 1, others = 0;

	while (end < a->n_outages &&
	       a->outages[end].from_ns - a->outages[first].from_ns <= COMMON_WITHIN_NS) {
		others +=
			counts(&a->outages[end]) && a->outages[end].node != a->outages[first].node;
		end++;
	}
	if (!others)
		return first + 1;
	a->common++;
	for (int i = first; i < end; i++)
		if (counts(&a->outages[i]))
			a->outages[i].common = a->common;
	return end;
}

static void sort_outages(struct availability *a)
{
	double alone_s = 0, common_s = 0, longest = 0;

	if (a->n_outages)
		qsort(a->outages, (size_t)a->n_outages, sizeof(*a->outages), by_begin);
	for (int i = 0; i < a->n_outages;)
		i = counts(&a->outages[i]) ? same_event(a, i) : i + 1;
	for (int i = 0, event = 0; i < a->n_outages; i++) {
		const struct outage *o = &a->outages[i];
		double s = seconds(o->to_ns - o->from_ns);

		if (!counts(o))
			continue;
		if (!o->common) {
			a->alone++;
			alone_s += s;
			continue;
		}
		if (o->common != event) {
			common_s += longest;
			longest = 0;
			event = o->common;
		}
		longest = fmax(longest, s);
	}
	common_s += longest;
	a->alone_min = a->alone ? alone_s / a->alone / 60 : NAN;
	a->common_min = a->common ? common_s / a->common / 60 : NAN;
}

/* --- what may be said ------------------------------------------------------------------------ */

static void shares(struct availability *a)
{
	double known = a->up_s + a->degraded_s + a->down_s, due = known + a->unknown_s;
	double apart = a->planned_s + a->customer_s;

	a->a_node = known > 0 ? a->up_s / known : NAN;
	a->a_contract = known > 0 ? (a->up_s + a->degraded_s) / known : NAN;
	a->a_all_in = known > 0 ? a->up_s / (known + apart) : NAN;
	a->a_node_low = due > 0 ? a->up_s / due : NAN;
	a->a_node_high = due > 0 ? (a->up_s + a->unknown_s) / due : NAN;
	a->unknown_share = due > 0 ? a->unknown_s / due : NAN;
	a->node_days = known / 86400;
	a->calendar_days = seconds(a->last_ns - a->first_ns) / 86400;
}

static double one_less(double rate, double minutes, double days)
{
	double share = days > 0 ? rate * minutes / (days * 1440) : 1;

	return share < 1 ? 1 - share : 0;
}

static void limits(struct availability *a)
{
	double target = a->options.target, repair = a->options.repair_min;
	double common = a->common ? a->common_min : repair;

	a->assumed_min = a->alone ? a->alone_min : repair;
	a->low95 = one_less(poisson_upper(a->alone, ALPHA / 2), a->assumed_min, a->node_days);
	a->bound95 = one_less(poisson_upper(a->alone, ALPHA), a->assumed_min, a->node_days);
	a->high95 = one_less(poisson_lower(a->alone, ALPHA / 2), a->assumed_min, a->node_days);
	a->confidence = support_confidence(a->alone, a->assumed_min, target, a->node_days);
	a->needed_days = support_days(a->alone, a->assumed_min, target, ALPHA);
	a->missing_days = fmax(0, a->needed_days - a->node_days);
	a->low95_common = a->confidence_common = a->missing_calendar_days = NAN;
	if (a->n_nodes < 2)
		return;
	a->low95_common = one_less(poisson_upper(a->common, ALPHA), common, a->calendar_days);
	a->confidence_common = support_confidence(a->common, common, target, a->calendar_days);
	a->missing_calendar_days =
		fmax(0, support_days(a->common, common, target, ALPHA) - a->calendar_days);
}

/* A promise for 30 days is broken when the lost time exceeds what 30 days allow, also
 * before they are over; it is kept only when they are over. */
static void judge(struct availability *a)
{
	double allowed_s = (1 - a->options.target) * a->options.days * 86400 * a->n_nodes;
	bool over = a->calendar_days >= a->options.days;

	a->already = !over && a->degraded_s + a->down_s > allowed_s;
	if (a->already || (over && a->a_node_high < a->options.target)) {
		a->verdict = SERVICE_MISSED;
		return;
	}
	a->open_unknown = over && (!(a->unknown_share < AVAILABILITY_UNKNOWN_MOST) ||
	                           !(a->a_node_low >= a->options.target));
	a->verdict = over && !a->open_unknown ? SERVICE_MET : SERVICE_TOO_SHORT;
}

/* A name that is misspelled would leave the vendor with minutes that are not its own. */
static void note_strangers(const struct availability *a)
{
	struct arena arena = {0};
	const char **names = arena_array(&arena, (size_t)a->n_nodes + 1, sizeof(*names));

	for (int i = 0; i < a->n_nodes; i++)
		names[i] = a->nodes[i].name;
	for (int i = 0; i < a->causes.count; i++) {
		const struct cause_line *line = &a->causes.lines[i];
		const char *near;
		int n = 0;

		while (n < a->n_nodes && strcmp(names[n], line->node) != 0)
			n++;
		if (n < a->n_nodes || strcmp(line->node, "*") == 0)
			continue;
		near = nearest_word(line->node, names);
		log_note(near ? MSG_causes_stranger_near : MSG_causes_stranger, a->options.causes,
		         tmpf("%d", line->line), line->node, near);
	}
	arena_release(&arena);
}

enum service_verdict availability_of_node(const struct availability *a, const struct node_time *n)
{
	double lost_s = n->degraded_s + n->down_s, due_s = n->up_s + lost_s + n->unknown_s;
	double target = a->options.target, period_s = a->options.days * 86400;
	bool over = due_s + n->planned_s + n->customer_s >= period_s;

	if (lost_s > (1 - target) * fmax(period_s, due_s))
		return SERVICE_MISSED;
	if (over && n->up_s >= target * due_s && n->unknown_s < AVAILABILITY_UNKNOWN_MOST * due_s)
		return SERVICE_MET;
	return SERVICE_TOO_SHORT;
}

enum status availability_read(struct availability *a, const char *const *paths, int n_paths,
                              const struct availability_options *options, struct error *err)
{
	struct watched w = {.arena = &a->arena};
	enum status st = ST_OK;
	int room = 0;

	*a = (struct availability){.options = *options};
	if (options->causes)
		st = causes_load(&a->causes, &a->arena, options->causes, err);
	if (st == ST_OK)
		st = watched_read(&w, paths, n_paths, err);
	if (st == ST_OK) {
		read_window(a, &w);
		join_all(a, &w);
		for (int i = 0; i < a->n_nodes; i++)
			account(a, &room, i);
		whole_set(a);
		sort_outages(a);
		shares(a);
		limits(a);
		judge(a);
		note_strangers(a);
	}
	a->notes = w.notes;
	a->n_notes = w.n_notes;
	watched_release(&w);
	return st;
}

void availability_release(struct availability *a)
{
	for (int i = 0; i < a->n_nodes; i++)
		spans_release(&a->nodes[i].spans);
	free(a->outages);
	arena_release(&a->arena);
	*a = (struct availability){0};
}
