/* Readings of collective_nodes: rates with everything that explains them, what each
 * node's adapters must have carried for that, and what is owed where it broke off. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "base/unit.h"
#include "collective_nodes.h"
#include "stats/bootstrap.h"
#include "stats/summary.h"

#define SEED 0x6e6f646573ull /* the same interval every time */

/* --- figures --------------------------------------------------------------------------- */

double nodes_seconds(const struct nodes_group *g)
{
	return g->seconds.n ? median(g->seconds.value, g->seconds.n) : NAN;
}

static double bus_factor(const struct nodes_group *g)
{
	return collective_bus_factor(OP_ALL_REDUCE, g->ranks);
}

double nodes_busbw(const struct nodes_group *g, uint64_t bytes)
{
	return (double)bytes / nodes_seconds(g) / 1e9 * bus_factor(g);
}

double nodes_wire(const struct nodes_group *g, uint64_t bytes, bool ring, int cards)
{
	double least = (double)(g->n_members - 1) * cards / (g->ranks - 1);

	return nodes_busbw(g, bytes) * (ring ? 1 : least);
}

double nodes_wire_most(const struct nodes_lead *l)
{
	/* fmin leaves out what is not a number, and without adapters nothing is known. */
	return isnan(l->nic_gbs) ? NAN : fmin(l->nic_gbs, l->own_gbs);
}

/* --- readings ------------------------------------------------------------------------------ */

static int place_of(const struct nodes_lead *l, const char *metric)
{
	const struct metric *m = l->ctx->probe->metrics;
	int i = 0;

	while (strcmp(m[i].name, metric) != 0)
		i++;
	return i;
}

static struct reading blank(const struct nodes_lead *l, const char *metric, int node)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = l->ctx->probe->metrics[place_of(l, metric)].subject;
	r.subject.id = l->ctx->subject_id;
	if (r.subject.kind == SUBJECT_NODE) {
		r.node = l->ctx->n_peers ? l->ctx->peers[node] : l->ctx->node;
		r.subject.id = r.node;
	}
	return r;
}

static void emit(struct nodes_lead *l, const struct reading *r)
{
	l->said |= 1u << place_of(l, r->metric);
	l->ctx->emit(l->ctx, r);
}

static bool is_said(const struct nodes_lead *l, const char *metric)
{
	return l->said >> place_of(l, metric) & 1;
}

static void set_value(struct reading *r, double value)
{
	r->value_kind = VALUE_NUMBER;
	r->value = value;
}

static const char *ended(struct nodes_lead *l, struct json_out *j)
{
	const char *text;

	json_object_end(j);
	text = arena_str(l->ctx->arena, j->out->data);
	str_release(j->out);
	return text;
}

static void blame_wrong(struct nodes_lead *l, struct reading *r)
{
	r->outcome = OUTCOME_FAILED;
	reason_set(l->ctx, &r->reason, MSG_collective_nodes_wrong,
	           tmpf("%lld", (long long)l->wrong), tmpf("%lld", (long long)l->checked),
	           l->ctx->peers[l->wrong_node], l->wrong_at ? l->wrong_at : "?");
}

/* Nodes whose environment is another than the first one's. */
static void put_environment(const struct nodes_lead *l, struct json_out *j)
{
	const char *first = l->hello[0].environment;

	json_put_raw(j, "environment", first ? first : "{}");
	json_array_begin(j, "other_environment");
	for (int i = 1; i < l->ctx->n_peers; i++) {
		const char *other = l->hello[i].environment;

		if (first && other && strcmp(first, other) != 0)
			json_put_string(j, NULL, l->ctx->peers[i]);
	}
	json_array_end(j);
}

static void put_common(const struct nodes_lead *l, struct json_out *j)
{
	json_put_int(j, "nodes", l->ctx->n_peers);
	if (l->ring) {
		json_put_string(j, "transport",
		                "TCP over sockets, a ring of the hosts' CPUs; not NCCL");
		return;
	}
	json_put_string(j, "library", l->hello[0].library);
	json_put_string(j, "library_path", l->hello[0].path);
	put_environment(l, j);
}

static void put_group(struct json_out *j, const struct nodes_group *g, uint64_t bytes)
{
	double seconds = nodes_seconds(g);

	json_put_int(j, "ranks", g->ranks);
	json_put_int(j, "bytes", (int64_t)bytes);
	json_put_number(j, "us", seconds * 1e6);
	json_put_number(j, "algbw_gbs", (double)bytes / seconds / 1e9);
	json_put_number(j, "busbw_gbs", nodes_busbw(g, bytes));
	json_put_int(j, "calls", g->calls);
	json_put_string(j, "algorithm", g->algorithm);
	json_put_string(j, "slowest", g->slowest);
}

/* Stats and value of a rate, wrong elements before it. */
static void emit_rate(struct nodes_lead *l, struct reading *r, const struct nodes_group *g,
                      uint64_t bytes)
{
	struct samples rates = {0};
	struct estimate e;

	for (size_t i = 0; i < g->seconds.n; i++)
		samples_add(&rates, (double)bytes / g->seconds.value[i] / 1e9 * bus_factor(g));
	samples_to_stats(&rates, NULL, r->stats);
	set_value(r, median(rates.value, rates.n));
	/* Calls that follow each other are alike: whole blocks are drawn. */
	if (bootstrap_median(rates.value, rates.n, (size_t)ceil(cbrt((double)rates.n)), SEED, &e) ==
	    ST_OK) {
		r->stats[STAT_CI_LO] = e.lo;
		r->stats[STAT_CI_HI] = e.hi;
	}
	if (g->wrong)
		blame_wrong(l, r);
	emit(l, r);
	samples_release(&rates);
}

void nodes_say_ring(struct nodes_lead *l, uint64_t bytes)
{
	struct reading r = blank(
		l, l->ring ? "cpu_collective_nodes_busbw_gbs" : "collective_nodes_ring_busbw_gbs",
		0);
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	put_common(l, &j);
	put_group(&j, &l->ring_all, bytes);
	r.params = ended(l, &j);
	emit_rate(l, &r, &l->ring_all, bytes);
}

static void save_log(const struct nodes_lead *l, struct reading *r)
{
	struct str text = {0};

	if (l->b->c && l->b->c->log)
		collective_log_text(l->b->c->log, &text);
	if (text.len)
		l->ctx->save_raw(l->ctx, "collective-nodes-nccl.log", text.data, text.len, &r->raw);
	str_release(&text);
}

void nodes_say_found(struct nodes_lead *l, const struct nodes_sweep *sweep)
{
	struct reading r = blank(l, "collective_nodes_busbw_gbs", 0);
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	put_common(l, &j);
	put_group(&j, &l->found_all, sweep->points[0].bytes);
	json_put_string(&j, "transports", collective_log_transports(l->b->c->log, l->ctx->arena));
	json_array_begin(&j, "sizes");
	for (int i = 0; i < sweep->n; i++) {
		const struct nodes_point *p = &sweep->points[i];

		json_object_begin(&j, NULL);
		json_put_int(&j, "bytes", (int64_t)p->bytes);
		json_put_number(&j, "us", p->seconds * 1e6);
		json_put_number(&j, "algbw_gbs", (double)p->bytes / p->seconds / 1e9);
		json_put_number(&j, "busbw_gbs", p->busbw);
		json_put_string(&j, "algorithm", p->algorithm);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_put_bool(&j, "cut", sweep->cut);
	r.params = ended(l, &j);
	save_log(l, &r);
	emit_rate(l, &r, &l->found_all, sweep->points[0].bytes);
}

void nodes_say_small(struct nodes_lead *l, const struct nodes_group *g, uint64_t bytes)
{
	struct reading r = blank(l, "collective_allreduce_small_us", 0);
	struct samples us = {0};
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	put_common(l, &j);
	put_group(&j, g, bytes);
	r.params = ended(l, &j);
	for (size_t i = 0; i < g->seconds.n; i++)
		samples_add(&us, g->seconds.value[i] * 1e6);
	samples_to_stats(&us, NULL, r.stats);
	set_value(&r, median(us.value, us.n));
	if (g->wrong)
		blame_wrong(l, &r);
	emit(l, &r);
	samples_release(&us);
}

void nodes_say_default(struct nodes_lead *l, uint64_t bytes)
{
	struct reading r = blank(l, "collective_default_share", 0);
	double found = nodes_busbw(&l->found_all, bytes), ring = nodes_busbw(&l->ring_all, bytes);
	double tree = nodes_busbw(&l->tree_all, bytes), best = fmax(found, fmax(ring, tree));
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	put_common(l, &j);
	json_put_int(&j, "bytes", (int64_t)bytes);
	json_put_number(&j, "found_busbw_gbs", found);
	json_put_number(&j, "ring_busbw_gbs", ring);
	json_put_number(&j, "tree_busbw_gbs", tree);
	json_put_string(&j, "found_algorithm", l->found_all.algorithm);
	r.params = ended(l, &j);
	set_value(&r, found / best);
	emit(l, &r);
}

/* --- adapters ------------------------------------------------------------------------------- */

static void put_nics(const struct nodes_lead *l, struct json_out *j)
{
	json_put_number(j, "node_nics_gbs", l->nic_gbs);
	json_put_number(j, "node_ring_gbs", l->own_gbs);
	json_put_string(j, "bound", l->own_gbs < l->nic_gbs ? "ring within a node" : "adapters");
}

static void no_nic(struct nodes_lead *l, struct reading *r)
{
	r->outcome = OUTCOME_NOT_MEASURED;
	reason_set(l->ctx, &r->reason, MSG_collective_nodes_no_nic);
}

/* The most that any of the algorithms proves the adapters to have carried. At two
 * nodes only a ring proves anything. */
static double carried(const struct nodes_lead *l, uint64_t bytes, const char **by)
{
	double ring = nodes_wire(&l->ring_all, bytes, true, l->cards), most = ring, other;
	const struct nodes_group *others[] = {&l->found_all, &l->tree_all};

	*by = "ring";
	for (int i = 0; i < 2 && l->ctx->n_peers > 2; i++) {
		other = nodes_wire(others[i], bytes, false, l->cards);
		if (other > most) {
			most = other;
			*by = i ? "tree" : "as found";
		}
	}
	return most;
}

void nodes_say_nic(struct nodes_lead *l, uint64_t bytes)
{
	const char *by;
	struct reading rate = blank(l, "collective_nic_gbs", 0);
	struct reading share = blank(l, "collective_nic_share", 0);
	double wire = carried(l, bytes, &by), most = nodes_wire_most(l);
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "nodes", l->ctx->n_peers);
	json_put_int(&j, "cards_a_node", l->cards);
	json_put_int(&j, "bytes", (int64_t)bytes);
	json_put_number(&j, "wire_gbs", wire);
	json_put_string(&j, "by", by);
	put_nics(l, &j);
	rate.params = share.params = ended(l, &j);
	if (isnan(most)) {
		no_nic(l, &rate);
		no_nic(l, &share);
	} else {
		set_value(&rate, wire / l->nics);
		set_value(&share, wire / most);
	}
	emit(l, &rate);
	emit(l, &share);
}

void nodes_say_pairs(struct nodes_lead *l)
{
	const char *metric = l->ring ? "cpu_collective_node_gbs" : "collective_node_nic_share";
	double most = nodes_wire_most(l);

	for (int i = 0; i < l->ctx->n_peers; i++) {
		struct reading r = blank(l, metric, i);
		struct str text = {0};
		struct json_out j = json_writer(&text, 0);

		json_object_begin(&j, NULL);
		json_put_number(&j, "pair_busbw_gbs", l->best_pair[i]);
		if (!l->ring)
			put_nics(l, &j);
		r.params = ended(l, &j);
		if (l->ring)
			set_value(&r, l->best_pair[i]);
		else if (isnan(most))
			no_nic(l, &r);
		else
			set_value(&r, l->best_pair[i] / most);
		emit(l, &r);
	}
}

/* --- groups ------------------------------------------------------------------------------------ */

void nodes_growth_add(struct nodes_lead *l, struct nodes_growth *growth,
                      const struct nodes_groups *g, uint64_t bytes)
{
	if (growth->raw.len == 0)
		str_add(&growth->raw, "nodes,first,last,ranks,bytes,busbw_gbs\n");
	for (int i = 0; i < g->n; i++) {
		const struct nodes_group *one = &g->list[i];
		const char *first = l->ctx->peers[one->members[0]];
		const char *last = l->ctx->peers[one->members[one->n_members - 1]];
		double rate = nodes_busbw(one, bytes);

		growth->groups++;
		str_addf(&growth->raw, "%d,%s,%s,%d,%llu,%.6g\n", one->n_members, first, last,
		         one->ranks, (unsigned long long)bytes, rate);
		if (rate >= growth->worst)
			continue;
		growth->worst = rate;
		growth->worst_nodes = one->n_members == 2
		                              ? arena_strf(l->ctx->arena, "%s, %s", first, last)
		                              : arena_strf(l->ctx->arena, "%s to %s", first, last);
	}
}

void nodes_say_growth(struct nodes_lead *l, struct nodes_growth *growth)
{
	struct reading r = blank(
		l, l->ring ? "cpu_collective_group_busbw_gbs" : "collective_group_busbw_gbs", 0);
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "groups", growth->groups);
	json_put_string(&j, "slowest", growth->worst_nodes);
	put_common(l, &j);
	r.params = ended(l, &j);
	set_value(&r, growth->worst);
	l->ctx->save_raw(l->ctx, "collective-groups.csv", growth->raw.data, growth->raw.len,
	                 &r.raw);
	emit(l, &r);
}

void nodes_say_rails(struct nodes_lead *l, const struct nodes_group *g, uint64_t bytes)
{
	struct reading r = blank(l, "collective_rail_busbw_gbs", 0);
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "rails", l->cards);
	put_common(l, &j);
	put_group(&j, g, bytes);
	r.params = ended(l, &j);
	emit_rate(l, &r, g, bytes);
}

/* --- the rest ------------------------------------------------------------------------------------ */

void nodes_say_wrong(struct nodes_lead *l)
{
	struct reading r = blank(
		l, l->ring ? "cpu_collective_nodes_wrong" : "collective_nodes_wrong_elements", 0);
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "elements_checked", l->checked);
	json_put_string(&j, "element", l->ring ? "float" : "uint64");
	json_put_string(&j, "node", l->wrong_node >= 0 ? l->ctx->peers[l->wrong_node] : NULL);
	r.params = ended(l, &j);
	set_value(&r, (double)l->wrong);
	if (l->wrong)
		blame_wrong(l, &r);
	emit(l, &r);
}

/* A node that is not to blame was merely not measured. */
static void emit_owed(struct nodes_lead *l, const struct metric *m)
{
	int n = m->subject == SUBJECT_NODE && l->ctx->n_peers ? l->ctx->n_peers : 1;
	bool any = false;

	for (int i = 0; i < n; i++)
		any |= l->blamed[i];
	for (int i = 0; i < n; i++) {
		struct reading r = blank(l, m->name, i);

		r.outcome = l->like.outcome;
		r.reason = l->like.reason;
		r.params = l->like.params;
		if (m->subject == SUBJECT_NODE && any && !l->blamed[i])
			r.outcome = OUTCOME_NOT_MEASURED;
		emit(l, &r);
	}
}

void nodes_say_rest(struct nodes_lead *l)
{
	const struct metric *m = l->ctx->probe->metrics;
	enum backend backend = l->ring ? BACKEND_CPU : BACKEND_CUDA;
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "step", l->step);
	json_array_begin(&j, "blamed");
	for (int i = 0; i < l->ctx->n_peers; i++)
		if (l->blamed[i])
			json_put_string(&j, NULL, l->ctx->peers[i]);
	json_array_end(&j);
	l->like.params = ended(l, &j);
	for (int i = 0; m[i].name; i++)
		if (m[i].backend == backend && !is_said(l, m[i].name))
			emit_owed(l, &m[i]);
}

void nodes_say_none(struct nodes_lead *l)
{
	const struct metric *m = l->ctx->probe->metrics;

	for (int i = 0; m[i].name; i++)
		if (m[i].backend == BACKEND_CUDA)
			emit_owed(l, &m[i]);
}
