/* What the patterns say. A receiver speaks for what came to it from many at once, the
 * cluster for its halves and permutations, and every flow for itself: by those faults
 * are located. A figure that lacks one of its flows is no figure. */
#include "patterns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/summary.h"

enum figure { INCAST, FAIRNESS, HALVES, PERMUTED, SLOWEST, FLOW, FIGURES };

static const char *const metrics[PATTERNS_WAYS][FIGURES] = {
	[PATTERNS_TCP] = {"net_incast_kept", "net_incast_fairness", "net_bisection_gbps",
                          "net_permutation_gbps", "net_permutation_worst", "net_flow_gbps"},
	[PATTERNS_RDMA] = {"rdma_incast_share", "rdma_incast_fairness", "rdma_bisection_share",
                           "rdma_permutation_share", "rdma_permutation_worst", "rdma_flow_gbps"}};

struct say {
	struct patterns_lead *l;
	struct probe_ctx *ctx;
	struct raw_file raw;
	enum status st;
};

/* Flows that belong together. */
struct sum {
	int n;
	double gbps, squares, expected, least;
	const struct patterns_flow *slowest;
	const struct net_fault *fault; /* of one of them */
};

/* --- params ----------------------------------------------------------------------------- */

struct params {
	struct str text;
	struct json_out j;
};

static void params_begin(struct say *s, struct params *p)
{
	const struct patterns_node *n = s->l->n;
	bool rdma = s->l->way == PATTERNS_RDMA;

	*p = (struct params){0};
	p->j = json_writer(&p->text, 0);
	json_object_begin(&p->j, NULL);
	json_put_string(&p->j, "transport", rdma ? "RDMA writes" : "TCP over sockets");
	json_put_int(&p->j, "nodes", s->ctx->n_peers);
	json_put_number(&p->j, "seconds", n->seconds);
	json_put_number(&p->j, "ramp_s", n->ramp_s);
	if (rdma) {
		json_put_int(&p->j, "rails", s->l->rails);
		json_put_int(&p->j, "queue_pairs", n->qps);
		json_put_int(&p->j, "size", (int64_t)n->size);
	} else {
		json_put_int(&p->j, "streams", n->streams);
		json_put_int(&p->j, "block", (int64_t)n->block);
	}
}

static const char *params_end(struct say *s, struct params *p)
{
	const char *kept;

	json_object_end(&p->j);
	kept = arena_str(s->ctx->arena, p->text.data);
	str_release(&p->text);
	return kept;
}

static void put_flow(struct say *s, struct json_out *j, const char *key,
                     const struct patterns_flow *f)
{
	if (!f)
		return;
	json_object_begin(j, key);
	json_put_string(j, "from", s->ctx->peers[f->from]);
	json_put_string(j, "to", s->ctx->peers[f->to]);
	json_put_number(j, "gbps", f->gbps);
	json_object_end(j);
}

/* --- readings ------------------------------------------------------------------------------ */

static struct reading blank(struct say *s, enum figure figure, int node)
{
	struct reading r = reading_init();

	r.metric = metrics[s->l->way][figure];
	r.raw = s->raw;
	r.subject.kind = node >= 0 ? SUBJECT_NODE : SUBJECT_CLUSTER;
	r.subject.id = node >= 0 ? s->ctx->peers[node] : s->ctx->subject_id;
	if (node >= 0)
		r.node = s->ctx->peers[node];
	return r;
}

static void emit(struct say *s, const struct reading *r)
{
	enum status st = s->ctx->emit(s->ctx, r);

	if (s->st == ST_OK)
		s->st = st;
}

static void set_fault(struct reading *r, const struct net_fault *fault)
{
	r->outcome = fault->outcome;
	r->reason = fault->reason;
}

static void set_value(struct reading *r, double value)
{
	r->value_kind = VALUE_NUMBER;
	r->value = value;
}

/* --- sums ------------------------------------------------------------------------------------- */

static int severity(const struct net_fault *f)
{
	return f->outcome == OUTCOME_FAILED ? 2 : f->outcome == OUTCOME_TIMED_OUT ? 1 : 0;
}

static void sum_add(struct sum *sum, const struct patterns_flow *f)
{
	sum->n++;
	if (f->fault.reason.code) {
		if (!sum->fault || severity(&f->fault) > severity(sum->fault))
			sum->fault = &f->fault;
		return;
	}
	sum->gbps += f->gbps;
	sum->squares += f->gbps * f->gbps;
	sum->expected += f->expected;
	if (!sum->slowest || f->gbps < sum->slowest->gbps)
		sum->slowest = f;
}

/* turn, to < 0: any. */
static struct sum sum_of(const struct patterns_lead *l, enum pattern pattern, int turn, int to)
{
	struct sum sum = {0};

	for (int i = 0; i < l->n_flows; i++) {
		const struct patterns_flow *f = &l->flows[i];

		if (f->pattern == pattern && (turn < 0 || f->turn == turn) &&
		    (to < 0 || f->to == to))
			sum_add(&sum, f);
	}
	return sum;
}

static int turns_of(const struct patterns_lead *l, enum pattern pattern)
{
	int turns = 0;

	for (int i = 0; i < l->n_flows; i++)
		if (l->flows[i].pattern == pattern && l->flows[i].turn >= turns)
			turns = l->flows[i].turn + 1;
	return turns;
}

/* Why a figure has no flows: all ended before, or it was not to be measured. */
static void set_missing(struct say *s, struct reading *r, const char *parameter)
{
	struct net_fault fault = s->l->trouble;

	net_fault_set(s->ctx, &fault, OUTCOME_NOT_MEASURED, MSG_patterns_not_tried, parameter);
	set_fault(r, &fault);
}

/* --- many to one -------------------------------------------------------------------------------- */

/* What one sender alone got through to that node, at best; NaN: none tried. */
static double alone(const struct patterns_lead *l, int to)
{
	double best = NAN;

	for (int i = 0; i < l->n_flows; i++) {
		const struct patterns_flow *f = &l->flows[i];

		if (f->to == to && f->senders == 1 && !f->fault.reason.code)
			best = fmax(best, f->gbps);
	}
	return best;
}

static int64_t retransmits(const struct patterns_lead *l, int to)
{
	int64_t sum = 0;

	for (int i = 0; i < l->n_flows; i++) {
		const struct patterns_flow *f = &l->flows[i];

		if (f->pattern == PATTERN_INCAST && f->to == to && f->retransmits >= 0)
			sum += f->retransmits;
	}
	return sum;
}

static const char *incast_params(struct say *s, int node, const struct sum *sum, double of)
{
	bool rdma = s->l->way == PATTERNS_RDMA;
	struct params p;

	params_begin(s, &p);
	json_put_int(&p.j, "senders", sum->n);
	if (!sum->fault) {
		json_put_number(&p.j, "gbps", sum->gbps);
		json_put_number(&p.j, rdma ? "line_gbps" : "alone_gbps", of);
		put_flow(s, &p.j, "slowest", sum->slowest);
	}
	if (!rdma)
		json_put_int(&p.j, "retransmits", retransmits(s->l, node));
	return params_end(s, &p);
}

static void say_incast(struct say *s, int node)
{
	const struct patterns_lead *l = s->l;
	struct sum sum = sum_of(l, PATTERN_INCAST, -1, node);
	struct reading share = blank(s, INCAST, node), fair = blank(s, FAIRNESS, node);
	double of = l->way == PATTERNS_RDMA ? sum.expected / sum.n : alone(l, node);

	share.params = fair.params = incast_params(s, node, &sum, of);
	if (sum.n == 0) {
		set_missing(s, &share, "incast");
		fair.outcome = share.outcome;
		fair.reason = share.reason;
	} else if (sum.fault) {
		set_fault(&share, sum.fault);
		set_fault(&fair, sum.fault);
	} else {
		set_value(&fair, sum.gbps * sum.gbps / (sum.n * sum.squares));
		if (of > 0) {
			set_value(&share, sum.gbps / of);
		} else {
			share.outcome = OUTCOME_NOT_MEASURED;
			reason_set(s->ctx, &share.reason,
			           l->way == PATTERNS_RDMA ? MSG_patterns_no_rate
			                                   : MSG_patterns_not_alone,
			           s->ctx->peers[node]);
		}
	}
	emit(s, &share);
	emit(s, &fair);
}

/* --- all at once ------------------------------------------------------------------------------------ */

/* By verbs the share of what the links carry, else the sum. */
static void set_sum(struct say *s, struct reading *r, const struct sum *sum)
{
	if (sum->fault) {
		set_fault(r, sum->fault);
	} else if (s->l->way == PATTERNS_TCP) {
		set_value(r, sum->gbps);
	} else if (sum->expected > 0) {
		set_value(r, sum->gbps / sum->expected);
	} else {
		r->outcome = OUTCOME_NOT_MEASURED;
		reason_set(s->ctx, &r->reason, MSG_patterns_no_rate, s->ctx->peers[0]);
	}
}

static const char *sum_params(struct say *s, const struct sum *sum, int turns)
{
	struct params p;

	params_begin(s, &p);
	json_put_int(&p.j, "turns", turns);
	json_put_int(&p.j, "flows", sum->n);
	if (!sum->fault && sum->n) {
		json_put_number(&p.j, "gbps", sum->gbps);
		put_flow(s, &p.j, "slowest", sum->slowest);
	}
	if (!sum->fault && s->l->way == PATTERNS_RDMA)
		json_put_number(&p.j, "expected_gbps", sum->expected);
	return params_end(s, &p);
}

/* The turn in which least came through; one that failed counts as that. */
static struct sum worst_turn(const struct patterns_lead *l, enum pattern pattern, int turns,
                             struct samples *shares)
{
	struct sum worst = {0};

	for (int t = 0; t < turns; t++) {
		struct sum sum = sum_of(l, pattern, t, -1);
		double of = l->way == PATTERNS_RDMA ? sum.expected : 1;

		if (!sum.fault && isfinite(sum.gbps / of))
			samples_add(shares, sum.gbps / of);
		if (worst.n && worst.fault)
			continue;
		if (worst.n == 0 || sum.fault || sum.gbps < worst.gbps)
			worst = sum;
	}
	return worst;
}

static void say_pattern(struct say *s, enum figure figure, enum pattern pattern,
                        const char *parameter)
{
	struct reading r = blank(s, figure, -1);
	struct samples shares = {0};
	int turns = turns_of(s->l, pattern);
	struct sum sum = worst_turn(s->l, pattern, turns, &shares);

	r.params = sum_params(s, &sum, turns);
	if (sum.n == 0)
		set_missing(s, &r, parameter);
	else
		set_sum(s, &r, &sum);
	if (r.outcome == OUTCOME_MEASURED && shares.n > 1)
		samples_to_stats(&shares, NULL, r.stats);
	samples_release(&shares);
	emit(s, &r);
}

static double median_flow(const struct patterns_lead *l)
{
	struct samples all = {0};
	double middle;

	for (int i = 0; i < l->n_flows; i++)
		if (l->flows[i].pattern == PATTERN_PERMUTATION && !isnan(l->flows[i].gbps))
			samples_add(&all, l->flows[i].gbps);
	middle = median(all.value, all.n);
	samples_release(&all);
	return middle;
}

static void say_slowest(struct say *s)
{
	struct reading r = blank(s, SLOWEST, -1);
	struct sum sum = sum_of(s->l, PATTERN_PERMUTATION, -1, -1);
	bool rdma = s->l->way == PATTERNS_RDMA;
	double of = !sum.slowest ? NAN : rdma ? sum.slowest->expected : median_flow(s->l);

	r.params = sum_params(s, &sum, turns_of(s->l, PATTERN_PERMUTATION));
	if (sum.n == 0) {
		set_missing(s, &r, "permutations");
	} else if (sum.fault) {
		set_fault(&r, sum.fault);
	} else if (of > 0) {
		set_value(&r, sum.slowest->gbps / of);
	} else {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(s->ctx, &r.reason, MSG_patterns_no_rate,
		           s->ctx->peers[sum.slowest->from]);
	}
	emit(s, &r);
}

/* --- flows -------------------------------------------------------------------------------------------- */

static const char *flow_params(struct say *s, const struct patterns_flow *f)
{
	const char *const *leaf = s->l->leaf;
	struct params p;

	params_begin(s, &p);
	json_put_string(&p.j, "pattern", pattern_names[f->pattern]);
	json_put_int(&p.j, "turn", f->turn);
	json_put_number(&p.j, "expected_gbps", f->expected);
	/* Left out it is one: disjoint pairs. */
	if (f->senders > 1)
		json_put_int(&p.j, "senders", f->senders);
	if (leaf[f->from] && leaf[f->to]) {
		json_array_begin(&p.j, "leaves");
		json_put_string(&p.j, NULL, leaf[f->from]);
		json_put_string(&p.j, NULL, leaf[f->to]);
		json_array_end(&p.j);
	}
	return params_end(s, &p);
}

static void say_flow(struct say *s, const struct patterns_flow *f)
{
	struct reading r = blank(s, FLOW, -1);
	const char *from = s->ctx->peers[f->from], *to = s->ctx->peers[f->to];

	r.raw = (struct raw_file){0};
	r.subject.kind = SUBJECT_PAIR;
	r.subject.id = arena_strf(s->ctx->arena, "%s|%s", from, to);
	r.subject.n_ends = 2;
	r.subject.ends[0].node = from;
	r.subject.ends[1].node = to;
	r.params = flow_params(s, f);
	if (f->fault.reason.code)
		set_fault(&r, &f->fault);
	else
		set_value(&r, f->gbps);
	emit(s, &r);
}

static void say_no_flow(struct say *s)
{
	struct reading r = blank(s, FLOW, -1);

	r.subject.kind = SUBJECT_PAIR;
	r.subject.id = "*";
	set_missing(s, &r, "permutations");
	emit(s, &r);
}

static void save_flows(struct say *s)
{
	const struct patterns_lead *l = s->l;
	struct str csv = {0};

	str_add(&csv, "pattern,turn,from,to,senders,gbps,expected_gbps,retransmits\n");
	for (int i = 0; i < l->n_flows; i++) {
		const struct patterns_flow *f = &l->flows[i];

		str_addf(&csv, "%s,%d,%s,%s,%d,", pattern_names[f->pattern], f->turn,
		         s->ctx->peers[f->from], s->ctx->peers[f->to], f->senders);
		str_addf(&csv, isnan(f->gbps) ? "," : "%.6g,", f->gbps);
		str_addf(&csv, isnan(f->expected) ? "," : "%.6g,", f->expected);
		if (f->retransmits >= 0)
			str_addf(&csv, "%lld", (long long)f->retransmits);
		str_addc(&csv, '\n');
	}
	if (l->n_flows)
		s->ctx->save_raw(s->ctx, "patterns-flows.csv", csv.data, csv.len, &s->raw);
	str_release(&csv);
}

/* --- all of it ------------------------------------------------------------------------------------------ */

/* One reading of each figure of a way, for the cluster, without a value. */
static void say_way(struct say *s, enum patterns_way way, const struct net_fault *why)
{
	for (const struct metric *m = s->ctx->probe->metrics; m->name; m++) {
		struct reading r = reading_init();
		bool of_way = false;

		for (int f = 0; f < FIGURES; f++)
			of_way |= strcmp(metrics[way][f], m->name) == 0;
		if (!of_way)
			continue;
		r.metric = m->name;
		r.subject.kind = m->subject;
		r.subject.id = m->subject == SUBJECT_CLUSTER ? s->ctx->subject_id : "*";
		set_fault(&r, why);
		for (int i = 0; i < (m->subject == SUBJECT_NODE ? s->ctx->n_peers : 1); i++) {
			if (m->subject == SUBJECT_NODE)
				r.node = r.subject.id = s->ctx->peers[i];
			emit(s, &r);
		}
	}
}

/* Of the other way: why it was not taken. */
static void say_other(struct say *s)
{
	struct net_fault why = {0};

	if (s->l->way == PATTERNS_TCP)
		why = s->l->no_rdma;
	net_fault_set(s->ctx, &why, OUTCOME_NOT_MEASURED, MSG_patterns_other_way,
	              s->l->way == PATTERNS_TCP ? "TCP" : "RDMA");
	say_way(s, s->l->way == PATTERNS_TCP ? PATTERNS_RDMA : PATTERNS_TCP, &why);
}

enum status patterns_say(struct patterns_lead *l)
{
	struct say s = {.l = l, .ctx = l->ctx};

	save_flows(&s);
	for (int i = 0; i < l->ctx->n_peers; i++)
		say_incast(&s, i);
	say_pattern(&s, HALVES, PATTERN_BISECTION, "bisection");
	say_pattern(&s, PERMUTED, PATTERN_PERMUTATION, "permutations");
	say_slowest(&s);
	for (int i = 0; i < l->n_flows; i++)
		say_flow(&s, &l->flows[i]);
	if (l->n_flows == 0)
		say_no_flow(&s);
	say_other(&s);
	return s.st;
}

enum status patterns_say_none(struct probe_ctx *ctx, const struct net_fault *why)
{
	struct say s = {.ctx = ctx};

	say_way(&s, PATTERNS_RDMA, why);
	say_way(&s, PATTERNS_TCP, why);
	return s.st;
}
