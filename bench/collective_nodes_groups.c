/* Who adds up with whom, the leader's orders to them, and whose fault it is when they
 * do not come through: a node that says why it cannot outweighs one that is silent,
 * that one a card that never came, and that one those who merely waited longest. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/unit.h"
#include "collective_nodes.h"

/* As nccl-tests. */
#define MOST_CALLS 20

/* --- groups --------------------------------------------------------------------------- */

static struct nodes_groups groups_new(struct arena *arena, int most)
{
	struct nodes_groups g = {0};

	g.list = arena_array(arena, (size_t)most + 1, sizeof(*g.list));
	return g;
}

static struct nodes_group *group_add(struct arena *arena, struct nodes_groups *g, int size)
{
	struct nodes_group *one = &g->list[g->n++];

	one->members = arena_array(arena, (size_t)size + 1, sizeof(*one->members));
	one->n_members = size;
	return one;
}

int nodes_pair_rounds(int nodes)
{
	return nodes < 2 ? 0 : nodes == 2 ? 1 : nodes % 2 ? 3 : 2;
}

struct nodes_groups nodes_pairs(struct arena *arena, int nodes, int round)
{
	struct nodes_groups g = groups_new(arena, nodes);
	int first = round == 2 ? nodes - 1 : round;

	for (int i = first; i < nodes; i += 2) {
		struct nodes_group *pair;

		if (i + 1 == nodes && nodes % 2 && round != 2)
			break;
		pair = group_add(arena, &g, 2);
		pair->members[0] = i;
		pair->members[1] = (i + 1) % nodes;
	}
	return g;
}

struct nodes_groups nodes_in(struct arena *arena, int nodes, int size)
{
	struct nodes_groups g = groups_new(arena, nodes / size);

	for (int i = 0; i + size <= nodes; i += size) {
		struct nodes_group *one = group_add(arena, &g, size);

		for (int k = 0; k < size; k++)
			one->members[k] = i + k;
	}
	return g;
}

void nodes_groups_release(struct nodes_groups *g)
{
	for (int i = 0; i < g->n; i++)
		samples_release(&g->list[i].seconds);
}

/* --- whose fault it is ------------------------------------------------------------------- */

static const char *name(const struct nodes_lead *l, int node)
{
	return l->ctx->peers[node];
}

static void name_add(struct str *names, const char *name)
{
	str_addf(names, "%s%s", names->len ? ", " : "", name);
}

static bool fails(struct nodes_lead *l, enum outcome outcome, enum msg id, const char *const *args)
{
	if (!l->failed) {
		l->like.outcome = outcome;
		reason_set_list(l->ctx, &l->like.reason, id, args);
	}
	l->failed = true;
	return false;
}
#define fail(l, outcome, id, ...)                                                                  \
	fails(l, outcome, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* How an answer did not come, or what it says. */
static void blame_node(struct nodes_lead *l, int node, enum status came)
{
	const struct nodes_answer *a = &l->answers[node];
	int blamed = a->blamed >= 0 ? a->blamed : node;

	l->blamed[came == ST_OK ? blamed : node] = true;
	if (came == ST_PARSE)
		fail(l, OUTCOME_FAILED, MSG_collective_nodes_garbage, name(l, node), l->step);
	else if (came != ST_OK)
		fail(l, OUTCOME_TIMED_OUT, MSG_collective_nodes_silent, name(l, node), l->step);
	else
		fail(l, a->outcome, MSG_collective_nodes_refused, name(l, node), l->step, a->why);
}

static const char *timeout(const struct nodes_lead *l)
{
	return fmt_duration(l->ctx->param_real(l->ctx, "timeout_s"));
}

/* Cards of these nodes that were told to be missing, or to be late. */
static struct str cards_of(struct nodes_lead *l, const struct nodes_groups *g, bool missing)
{
	struct str names = {0};

	for (int i = 0; i < g->n; i++)
		for (int k = 0; k < g->list[i].n_members; k++) {
			int node = g->list[i].members[k];
			const struct nodes_answer *a = &l->answers[node];
			const char *cards = missing ? a->missing : a->late;

			if (!a->gave_up || !cards)
				continue;
			name_add(&names, tmpf("%s: %s", name(l, node), cards));
			l->blamed[node] = true;
		}
	return names;
}

/* Members of the first group with some that gave up: they, where others came through;
 * else all of them. */
static struct str stuck_of(struct nodes_lead *l, const struct nodes_groups *g)
{
	struct str names = {0};

	for (int i = 0; i < g->n && names.len == 0; i++) {
		const struct nodes_group *one = &g->list[i];

		for (int k = 0; k < one->n_members; k++)
			if (l->answers[one->members[k]].gave_up) {
				name_add(&names, name(l, one->members[k]));
				l->blamed[one->members[k]] = true;
			}
	}
	return names;
}

static bool blame_waiting(struct nodes_lead *l, const struct nodes_groups *g)
{
	struct str names = cards_of(l, g, true);

	if (names.len)
		fail(l, OUTCOME_TIMED_OUT, MSG_collective_nodes_absent, l->step, timeout(l),
		     names.data);
	str_release(&names);
	if (l->failed)
		return false;
	names = cards_of(l, g, false);
	if (names.len)
		fail(l, OUTCOME_TIMED_OUT, MSG_collective_nodes_late, l->step, timeout(l),
		     names.data);
	str_release(&names);
	if (l->failed)
		return false;
	names = stuck_of(l, g);
	fail(l, OUTCOME_TIMED_OUT, MSG_collective_nodes_stuck, l->step, timeout(l), names.data);
	str_release(&names);
	return false;
}

/* True: all came through. */
static bool judge(struct nodes_lead *l, const struct nodes_groups *g, const enum status *came)
{
	bool waited = false;

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < g->n; i++)
			for (int k = 0; k < g->list[i].n_members; k++) {
				int node = g->list[i].members[k];
				const struct nodes_answer *a = &l->answers[node];
				bool said = came[node] == ST_OK;
				bool bad = !said || a->outcome != OUTCOME_MEASURED;

				waited |= said && a->gave_up;
				/* First those who know why. */
				if (bad && said == (pass == 0) && !(said && a->gave_up))
					blame_node(l, node, came[node]);
			}
	return !l->failed && (!waited || blame_waiting(l, g));
}

/* --- orders ---------------------------------------------------------------------------------- */

/* Elements that came out wrong stand, whatever came after. */
static void count_wrong(struct nodes_lead *l, int node)
{
	const struct nodes_answer *a = &l->answers[node];

	l->checked += a->checked;
	l->wrong += a->wrong;
	if (a->wrong && l->wrong_node < 0) {
		l->wrong_node = node;
		l->wrong_at = a->wrong_at;
	}
}

static bool gather(struct nodes_lead *l, const struct nodes_groups *g)
{
	enum status *came = arena_array(l->ctx->arena, (size_t)l->ctx->n_peers, sizeof(*came));
	/* Beyond what a node itself allows a step. */
	double most_s = 2 * l->ctx->param_real(l->ctx, "timeout_s") +
	                l->ctx->param_real(l->ctx, "patience_s");
	int64_t until = clock_now(l->b->clock) + (int64_t)(most_s * 1e9);

	for (int i = 0; i < g->n; i++)
		for (int k = 0; k < g->list[i].n_members; k++) {
			int node = g->list[i].members[k];
			double left = fmin((double)(until - clock_now(l->b->clock)) / 1e9,
			                   nodes_left_s(l->b));

			if (node != l->ctx->self_index)
				came[node] =
					nodes_recv_answer(l->ctx, node, left, &l->answers[node]);
			if (came[node] == ST_OK)
				count_wrong(l, node);
		}
	return judge(l, g, came);
}

/* Cards of the members before this one. */
static int ranks_before(const struct nodes_lead *l, const struct nodes_group *g, int place,
                        bool rails)
{
	int sum = 0;

	for (int k = 0; k < place; k++)
		sum += rails || l->ring ? 1 : l->hello[g->members[k]].n_cards;
	return sum;
}

/* Own part last: whoever leads has told all others by then. ids: of each group n_ids. */
static bool together(struct nodes_lead *l, const struct nodes_groups *g,
                     const struct nodes_order *like, const nccl_id *ids)
{
	struct nodes_order own;
	bool takes_part = false;

	for (int i = 0; i < g->n; i++)
		for (int k = 0; k < g->list[i].n_members; k++) {
			const struct nodes_group *one = &g->list[i];
			struct nodes_order o = *like;

			o.members = one->members;
			o.n_members = one->n_members;
			o.ranks = one->ranks;
			o.first_rank = ranks_before(l, one, k, like->rails);
			o.ids = ids ? ids + i * like->n_ids : NULL;
			o.calls = one->calls;
			if (one->members[k] == l->ctx->self_index) {
				own = o;
				takes_part = true;
			} else if (nodes_send_order(l->ctx, one->members[k], &o) != ST_OK) {
				l->blamed[one->members[k]] = true;
				return fail(l, OUTCOME_NOT_MEASURED, MSG_collective_nodes_silent,
				            name(l, one->members[k]), l->step);
			}
		}
	if (takes_part)
		nodes_do(l->b, &own, &l->answers[l->ctx->self_index]);
	return gather(l, g);
}

static void step_is(struct nodes_lead *l, enum msg id, const struct nodes_groups *g,
                    const char *what)
{
	l->step = arena_str(l->ctx->arena,
	                    say(id, what, tmpf("%d", g->n ? g->list[0].n_members : 0)));
}

bool nodes_begin(struct nodes_lead *l)
{
	struct nodes_groups all = nodes_in(l->ctx->arena, l->ctx->n_peers, l->ctx->n_peers);
	struct nodes_order o = {.step = NODES_BEGIN, .ring = l->ring};

	step_is(l, MSG_collective_nodes_beginning, &all, "");
	return together(l, &all, &o, NULL);
}

/* Nobody answers. */
void nodes_over(struct nodes_lead *l)
{
	const struct nodes_order o = {.step = NODES_OVER};

	for (int i = 0; i < l->ctx->n_peers; i++)
		if (i != l->ctx->self_index)
			nodes_send_order(l->ctx, i, &o);
}

bool nodes_join(struct nodes_lead *l, struct nodes_groups *g, const char *algorithm, bool rails)
{
	int n_ids = l->ring ? 0 : rails ? l->cards : 1;
	nccl_id *ids = arena_array(l->ctx->arena, (size_t)(g->n * n_ids) + 1, sizeof(*ids));
	struct nodes_order o = {.step = NODES_JOIN,
	                        .algorithm = algorithm,
	                        .rails = rails,
	                        .turn = ++l->turn,
	                        .n_ids = n_ids};
	struct error err = {0};
	enum status st = ST_OK;

	step_is(l, MSG_collective_nodes_joining, g, algorithm ? algorithm : "NCCL");
	for (int i = 0; i < g->n; i++)
		g->list[i].ranks = ranks_before(l, &g->list[i], g->list[i].n_members, rails);
	if (n_ids)
		st = nodes_cards_ids(l->b, ids, g->n * n_ids, &err);
	if (st != ST_OK) {
		l->blamed[l->ctx->self_index] = true;
		fail(l, OUTCOME_NOT_MEASURED, MSG_collective_nodes_refused,
		     name(l, l->ctx->self_index), l->step, str_text(&err.text));
	}
	error_release(&err);
	return st == ST_OK && together(l, g, &o, ids);
}

bool nodes_leave(struct nodes_lead *l, struct nodes_groups *g)
{
	const struct nodes_order o = {.step = NODES_LEAVE};

	step_is(l, MSG_collective_nodes_leaving, g, "");
	return together(l, g, &o, NULL);
}

/* --- a size ----------------------------------------------------------------------------------- */

/* As many as fill a window on the slowest node. */
static void choose_calls(const struct nodes_lead *l, struct nodes_group *g)
{
	double slowest = 0, window_s = l->ctx->param_real(l->ctx, "window_s");

	g->algorithm = NULL;
	for (int k = 0; k < g->n_members; k++) {
		const struct nodes_answer *a = &l->answers[g->members[k]];

		slowest = fmax(slowest, a->seconds);
		if (!g->algorithm)
			g->algorithm = a->algorithm;
	}
	g->calls = slowest > 0 ? (int)fmin(fmax(window_s / slowest, 1), MOST_CALLS) : MOST_CALLS;
}

/* A sum takes as long as on the slowest node; a window that is void on one is void. */
static bool take_windows(struct nodes_lead *l, struct nodes_group *g, int windows, uint64_t bytes)
{
	double longest = 0;

	samples_clear(&g->seconds);
	for (int i = 0; i < windows; i++) {
		double slowest = 0;

		for (int k = 0; k < g->n_members; k++) {
			const struct nodes_answer *a = &l->answers[g->members[k]];
			double one = i < a->n_windows ? a->windows[i] : NAN;

			slowest = isnan(one) || isnan(slowest) ? NAN : fmax(slowest, one);
			if (!(one > longest) || !a->slowest)
				continue;
			longest = one;
			g->slowest = arena_strf(l->ctx->arena, "%s: %s", name(l, g->members[k]),
			                        a->slowest);
		}
		samples_add(&g->seconds, slowest);
	}
	return g->seconds.n > 0 ||
	       fail(l, OUTCOME_NOT_MEASURED, MSG_collective_held, collective_op_name(OP_ALL_REDUCE),
	            fmt_bytes((int64_t)bytes));
}

bool nodes_measure(struct nodes_lead *l, struct nodes_groups *g, uint64_t bytes)
{
	struct nodes_order o = {.step = NODES_TRY,
	                        .bytes = bytes,
	                        .checks = (int)l->ctx->param_int(l->ctx, "checks"),
	                        .windows = (int)l->ctx->param_int(l->ctx, "windows")};
	int64_t wrong = l->wrong;
	bool well;

	step_is(l, MSG_collective_nodes_adding, g, fmt_bytes((int64_t)bytes));
	well = together(l, g, &o, NULL);
	for (int i = 0; i < g->n && well; i++)
		choose_calls(l, &g->list[i]);
	o.step = NODES_TIME;
	well = well && together(l, g, &o, NULL);
	for (int i = 0; i < g->n && well; i++) {
		well = take_windows(l, &g->list[i], o.windows, bytes);
		g->list[i].wrong |= l->wrong > wrong;
	}
	return well;
}

/* --- hellos ------------------------------------------------------------------------------------- */

bool nodes_check_hellos(struct nodes_lead *l)
{
	l->step = arena_str(l->ctx->arena, say(MSG_collective_nodes_beginning));
	for (int i = 0; i < l->ctx->n_peers; i++) {
		const struct nodes_hello *h = &l->hello[i];

		l->answers[i] =
			(struct nodes_answer){.blamed = -1, .outcome = h->outcome, .why = h->why};
		/* Others have cards to add up with. */
		if (l->heard[i] == ST_OK && h->outcome == OUTCOME_MEASURED && !l->ring &&
		    !h->driver) {
			l->answers[i].outcome = OUTCOME_NOT_MEASURED;
			l->answers[i].why =
				arena_str(l->ctx->arena, say(MSG_no_driver, "libcuda.so.1"));
		}
		if (l->heard[i] != ST_OK || l->answers[i].outcome != OUTCOME_MEASURED)
			blame_node(l, i, l->heard[i]);
		if (!l->failed && !l->ring && (l->cards == 0 || h->n_cards < l->cards))
			l->cards = h->n_cards;
	}
	return !l->failed;
}
