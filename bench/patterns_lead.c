/* A pattern as the leader sees it: orders out, what each needs to connect handed on, all
 * let go at once, results in. A node that cannot take part ends the pattern and is
 * named; one that does not answer ends them all. */
#include "patterns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Of texts on their way, beyond what a step may take. */
#define SLACK_S 1.5

struct step {
	enum pattern pattern;
	int turn;
	const int *to;
	struct json_doc *docs; /* per node: its last text */
	bool *has;
	struct net_fault *faults; /* per node: why it ended the step */
	int broken;               /* the first of those; -1: none */
};

/* --- texts from all ----------------------------------------------------------------------- */

static void lose(struct patterns_lead *l, int node, enum status st)
{
	net_fault_set(l->ctx, &l->trouble, OUTCOME_NOT_MEASURED,
	              st == ST_PARSE ? MSG_patterns_garbled : MSG_patterns_silent,
	              l->ctx->peers[node]);
}

static void drop_text(struct step *s, int node)
{
	if (s->has[node])
		json_release(&s->docs[node]);
	s->has[node] = false;
}

static void take_fault(struct patterns_lead *l, struct step *s, int node)
{
	patterns_read_fault(l->ctx, s->docs[node].root, &s->faults[node]);
	if (s->faults[node].reason.code && s->broken < 0)
		s->broken = node;
}

/* One of all others that is due; `busy`: sends meanwhile. */
static enum status await(struct patterns_lead *l, int node, const char *kind, double seconds,
                         bool busy, struct json_doc *doc)
{
	const struct clock_source *clock = l->ctx->clock;
	int64_t until = clock_now(clock) + (int64_t)(seconds * 1e9);
	enum status st = ST_TIMEOUT;

	if (!busy)
		return patterns_text_recv(l->ctx, node, kind, l->n->step, seconds, doc);
	while (st == ST_TIMEOUT && clock_now(clock) < until) {
		patterns_go_on(l->n);
		st = patterns_text_recv(l->ctx, node, kind, l->n->step, 0, doc);
	}
	return st;
}

static bool gather(struct patterns_lead *l, struct step *s, const char *kind, double seconds,
                   bool busy)
{
	for (int i = 0; i < l->ctx->n_peers; i++) {
		enum status st;

		if (i == l->ctx->self_index)
			continue;
		drop_text(s, i);
		st = await(l, i, kind, seconds, busy, &s->docs[i]);
		if (st != ST_OK) {
			lose(l, i, st);
			return false;
		}
		s->has[i] = true;
		take_fault(l, s, i);
	}
	return true;
}

/* Our own, as if it had come from elsewhere. */
static void keep_own(struct patterns_lead *l, struct step *s, struct patterns_text *t)
{
	int self = l->ctx->self_index;

	drop_text(s, self);
	json_object_end(&t->j);
	s->has[self] = json_parse(&s->docs[self], "text", t->text.data, t->text.len, JSON_STRICT,
	                          NULL) == ST_OK;
	str_release(&t->text);
	if (s->has[self])
		take_fault(l, s, self);
}

/* --- hello --------------------------------------------------------------------------------------- */

static void take_hello(struct patterns_lead *l, int node, const cJSON *root)
{
	int rails = json_int(root, "rails", 0);
	struct net_fault fault = {0};

	l->ctx->simulated |= json_bool(root, "simulated", false);
	patterns_read_fault(l->ctx, root, &fault);
	if (fault.reason.code && !l->no_rdma.reason.code)
		l->no_rdma = fault;
	if (rails <= 0)
		net_fault_set(l->ctx, &l->no_rdma, OUTCOME_UNSUPPORTED, MSG_rdma_no_device,
		              l->ctx->peers[node]);
	l->rails = rails < l->rails ? rails : l->rails;
}

bool patterns_hear_all(struct patterns_lead *l)
{
	double seconds = l->ctx->param_real(l->ctx, "meet_s");

	l->rails = l->n->n_rails;
	l->no_rdma = l->n->no_rdma;
	for (int i = 0; i < l->ctx->n_peers; i++) {
		struct json_doc doc;
		enum status st;

		if (i == l->ctx->self_index)
			continue;
		st = patterns_text_recv(l->ctx, i, "hello", 0, seconds, &doc);
		if (st != ST_OK) {
			lose(l, i, st);
			return false;
		}
		take_hello(l, i, doc.root);
		json_release(&doc);
	}
	return true;
}

/* --- orders --------------------------------------------------------------------------------------- */

static void put_order(struct patterns_lead *l, struct step *s, int node, struct patterns_text *t)
{
	patterns_text_begin(t, "order", l->n->step);
	json_put_string(&t->j, "way", l->way == PATTERNS_RDMA ? "rdma" : "tcp");
	json_put_int(&t->j, "rails", l->rails);
	json_put_string(&t->j, "seed", tmpf("%016llx", (unsigned long long)l->n->seed));
	json_put_int(&t->j, "to", s->to[node]);
	json_array_begin(&t->j, "from");
	for (int i = 0; i < l->ctx->n_peers; i++)
		if (s->to[i] == node)
			json_put_int(&t->j, NULL, i);
	json_array_end(&t->j);
}

static void put_part(struct step *s, int node, struct json_out *j, const char *key)
{
	char *text =
		s->has[node] ? cJSON_PrintUnformatted(json_get(s->docs[node].root, "offer")) : NULL;

	if (text)
		json_put_raw(j, key, text);
	else
		json_put_null(j, key);
	free(text);
}

/* Who connects needs what the other offered; by verbs both do. */
static void put_meet(struct patterns_lead *l, struct step *s, int node, struct patterns_text *t)
{
	patterns_text_begin(t, "meet", l->n->step);
	if (s->to[node] >= 0) {
		int slot = 0;

		for (int i = 0; i < node; i++)
			slot += s->to[i] == s->to[node];
		json_put_int(&t->j, "slot", slot);
		put_part(s, s->to[node], &t->j, "out");
	}
	json_array_begin(&t->j, "in");
	for (int i = 0; i < l->ctx->n_peers && l->way == PATTERNS_RDMA; i++)
		if (s->to[i] == node)
			put_part(s, i, &t->j, NULL);
	json_array_end(&t->j);
}

static void put_go(struct patterns_lead *l, struct step *s, int node, struct patterns_text *t)
{
	(void)s;
	(void)node;
	patterns_text_begin(t, "go", l->n->step);
}

static void put_end(struct patterns_lead *l, struct step *s, int node, struct patterns_text *t)
{
	patterns_text_begin(t, "end", l->n->step);
	json_array_begin(&t->j, "sent");
	for (int i = 0; i < l->ctx->n_peers; i++) {
		const cJSON *out = s->has[i] ? json_get(s->docs[i].root, "out") : NULL;

		if (s->to[i] == node)
			json_put_int(&t->j, NULL, json_int64(out, "messages", 0));
	}
	json_array_end(&t->j);
}

typedef void put_text(struct patterns_lead *l, struct step *s, int node, struct patterns_text *t);

/* To all others; our own text is parsed into `own`. */
static bool tell(struct patterns_lead *l, struct step *s, put_text *put, struct json_doc *own)
{
	for (int i = 0; i < l->ctx->n_peers; i++) {
		struct patterns_text t;

		put(l, s, i, &t);
		if (i != l->ctx->self_index) {
			if (patterns_text_send(l->ctx, i, &t) == ST_OK)
				continue;
			lose(l, i, ST_TIMEOUT);
			return false;
		}
		json_object_end(&t.j);
		if (json_parse(own, "text", t.text.data, t.text.len, JSON_STRICT, NULL) != ST_OK)
			*own = (struct json_doc){0};
		str_release(&t.text);
	}
	return true;
}

/* --- results ---------------------------------------------------------------------------------------- */

static struct patterns_flow *flow_new(struct patterns_lead *l)
{
	if (l->n_flows == l->cap_flows) {
		l->cap_flows = l->cap_flows ? 2 * l->cap_flows : 64;
		l->flows = realloc(l->flows, (size_t)l->cap_flows * sizeof(*l->flows));
		if (!l->flows)
			die_nomem();
	}
	return &l->flows[l->n_flows++];
}

static const cJSON *heard_of(const struct step *s, int receiver, int sender)
{
	const cJSON *list = s->has[receiver] ? json_get(s->docs[receiver].root, "in") : NULL, *item;

	cJSON_ArrayForEach(item, list)
	{
		if (json_int(item, "node", -1) == sender)
			return item;
	}
	return NULL;
}

/* A step that one node ended tells nothing of the others. */
static void blame_broken(struct patterns_lead *l, const struct step *s, struct patterns_flow *f)
{
	const struct net_fault *fault;

	if (s->broken < 0)
		return;
	fault = &s->faults[s->broken];
	if ((s->broken == f->from || s->broken == f->to) && !f->fault.reason.code)
		f->fault = *fault;
	net_fault_set(l->ctx, &f->fault, OUTCOME_NOT_MEASURED, MSG_patterns_broken,
	              l->ctx->peers[s->broken], fault->reason.text);
}

/* `measured`: the texts are results. Of TCP the receiver counts, by verbs the sender. */
static void take_flow(struct patterns_lead *l, const struct step *s, int from, bool measured)
{
	struct patterns_flow *f = flow_new(l);
	const cJSON *out = s->has[from] ? json_get(s->docs[from].root, "out") : NULL;
	const cJSON *in = heard_of(s, s->to[from], from);
	const cJSON *count = l->way == PATTERNS_RDMA ? out : in;
	double ns = json_number(count, "ns", 0);

	*f = (struct patterns_flow){
		.pattern = s->pattern,
		.turn = s->turn,
		.from = from,
		.to = s->to[from],
		.senders = patterns_senders(s->to, l->ctx->n_peers, s->to[from]),
		.gbps = NAN,
		.expected = json_number(s->pattern == PATTERN_INCAST ? in : out, "expected", NAN),
		.retransmits = json_int64(out, "retransmits", -1)};
	patterns_read_fault(l->ctx, out, &f->fault);
	patterns_read_fault(l->ctx, in, &f->fault);
	blame_broken(l, s, f);
	if (measured && ns > 0 && !f->fault.reason.code)
		f->gbps = 8 * json_number(count, "bytes", 0) / ns;
	if (isnan(f->gbps))
		net_fault_set(l->ctx, &f->fault, OUTCOME_NOT_MEASURED, MSG_patterns_silent,
		              l->ctx->peers[from]);
}

/* What was wrong with the data shows when all is over. */
static void take_late(struct patterns_lead *l, const struct step *s, int first)
{
	for (int i = first; i < l->n_flows; i++) {
		struct patterns_flow *f = &l->flows[i];

		patterns_read_fault(l->ctx, heard_of(s, f->to, f->from), &f->fault);
		if (f->fault.reason.code)
			f->gbps = NAN;
	}
}

static void take_flows(struct patterns_lead *l, const struct step *s, bool measured)
{
	for (int i = 0; i < l->ctx->n_peers; i++)
		if (s->to[i] >= 0)
			take_flow(l, s, i, measured);
}

/* --- a step -------------------------------------------------------------------------------------------- */

static bool prepare(struct patterns_lead *l, struct step *s)
{
	struct json_doc own = {0};
	struct patterns_text t;

	if (!tell(l, s, put_order, &own))
		return false;
	patterns_prepare(l->n, own.root);
	json_release(&own);
	patterns_text_begin(&t, "offer", l->n->step);
	patterns_put_offer(l->n, &t.j);
	keep_own(l, s, &t);
	return gather(l, s, "offer", l->n->silence_s + SLACK_S, false);
}

static bool connect_all(struct patterns_lead *l, struct step *s)
{
	struct json_doc own = {0};
	struct patterns_text t;

	if (!tell(l, s, put_meet, &own))
		return false;
	patterns_connect(l->n, own.root);
	json_release(&own);
	patterns_text_begin(&t, "ready", l->n->step);
	net_fault_put(&t.j, &l->n->fault);
	keep_own(l, s, &t);
	return gather(l, s, "ready", 2 * l->n->silence_s + SLACK_S, false);
}

static bool send_all(struct patterns_lead *l, struct step *s)
{
	struct json_doc own = {0};
	struct patterns_text t;

	if (!tell(l, s, put_go, &own))
		return false;
	json_release(&own);
	patterns_measure(l->n);
	patterns_text_begin(&t, "result", l->n->step);
	patterns_put_result(l->n, &t.j);
	keep_own(l, s, &t);
	return gather(l, s, "result", l->n->seconds + l->n->silence_s + SLACK_S, true);
}

static bool end_all(struct patterns_lead *l, struct step *s)
{
	struct json_doc own = {0};
	struct patterns_text t;

	if (!tell(l, s, put_end, &own))
		return false;
	patterns_finish(l->n, own.root);
	json_release(&own);
	patterns_text_begin(&t, "ended", l->n->step);
	patterns_put_result(l->n, &t.j);
	keep_own(l, s, &t);
	return gather(l, s, "ended", l->n->silence_s + SLACK_S, false);
}

static bool go_through(struct patterns_lead *l, struct step *s)
{
	int first = l->n_flows;
	bool measured = false, going = prepare(l, s);

	if (going && s->broken < 0)
		going = connect_all(l, s);
	if (going && s->broken < 0) {
		going = send_all(l, s);
		measured = going;
	}
	take_flows(l, s, measured);
	if (going)
		going = end_all(l, s);
	if (going && measured)
		take_late(l, s, first);
	return going;
}

bool patterns_step(struct patterns_lead *l, enum pattern pattern, int turn, const int *to)
{
	size_t nodes = (size_t)l->ctx->n_peers;
	struct step s = {.pattern = pattern, .turn = turn, .to = to, .broken = -1};
	bool going;

	l->n->step++;
	l->n->seed = l->ctx->seed ^ (uint64_t)l->n->step << 48;
	s.docs = arena_array(l->ctx->arena, nodes, sizeof(*s.docs));
	s.has = arena_array(l->ctx->arena, nodes, sizeof(*s.has));
	s.faults = arena_array(l->ctx->arena, nodes, sizeof(*s.faults));
	going = go_through(l, &s);
	for (int i = 0; i < l->ctx->n_peers; i++)
		drop_text(&s, i);
	return going;
}

void patterns_over(struct patterns_lead *l)
{
	for (int i = 0; i < l->ctx->n_peers; i++) {
		struct patterns_text t;

		if (i == l->ctx->self_index)
			continue;
		patterns_text_begin(&t, "over", l->n->step);
		patterns_text_send(l->ctx, i, &t);
	}
}
