/* What the RDMA probe says. The figures that are judged are of the pair: those of its
 * weakest rail the weaker way, measured by what that rail should carry. Beside them
 * every rail speaks for itself each way, which is what faults are located by. */
#include "rdma.h"

#include <math.h>
#include <string.h>

#include "stats/summary.h"

const char *const rdma_op_names[RDMA_OPS] = {
	[VERBS_WRITE] = "write", [VERBS_READ] = "read", [VERBS_SEND] = "send"};

static const char *const nic_metrics[RDMA_OPS] = {[VERBS_WRITE] = "rdma_nic_write_gbps",
                                                  [VERBS_READ] = "rdma_nic_read_gbps",
                                                  [VERBS_SEND] = "rdma_nic_send_gbps"};
static const char *const latency_metrics[RDMA_OPS] = {[VERBS_WRITE] = "rdma_write_latency_us",
                                                      [VERBS_READ] = "rdma_read_latency_us",
                                                      [VERBS_SEND] = "rdma_send_latency_us"};

/* --- params ------------------------------------------------------------------------------- */

struct params {
	struct str text;
	struct json_out j;
};

static void params_begin(struct params *p)
{
	*p = (struct params){0};
	p->j = json_writer(&p->text, 0);
	json_object_begin(&p->j, NULL);
}

static const char *params_end(struct rdma *r, struct params *p)
{
	const char *kept;

	json_object_end(&p->j);
	kept = arena_str(r->ctx->arena, p->text.data);
	str_release(&p->text);
	return kept;
}

static void put_end(struct rdma *r, struct json_out *j, const char *key, const struct rdma_end *end)
{
	const struct rdma_port *p = &end->at;

	json_object_begin(j, key);
	json_put_string(j, "device", p->device);
	json_put_int(j, "port", p->port);
	json_put_string(j, "pci", p->pci);
	json_put_bool(j, "software", p->pci == NULL);
	if (p->numa_node < 0)
		json_put_string(j, "numa", "unknown");
	else
		json_put_int(j, "numa", p->numa_node);
	json_put_string(j, "link_layer", p->link_layer);
	json_put_string(j, "rate", p->rate);
	json_put_int(j, "mtu", end->mtu);
	json_put_string(j, "gid", rdma_gid_text(r->ctx->arena, p->gid.raw));
	json_put_int(j, "gid_index", p->gid.index);
	json_put_string(j, "gid_type", rdma_gid_type_name(p->gid.type));
	json_object_end(j);
}

static void put_rail(struct rdma *r, struct json_out *j, const struct rdma_rail *rail, int from)
{
	put_end(r, j, "from", &rail->ends[from]);
	put_end(r, j, "to", &rail->ends[!from]);
	json_put_int(j, "mtu", rail->mtu);
	json_put_number(j, "expected_gbps", rail->expected);
	json_put_int(j, "outstanding_reads", rail->reads);
	json_put_string(j, "memory", rail->memory.path);
	if (rail->memory.card) {
		json_put_string(j, from == r->self ? "from_card" : "to_card", rail->memory.card);
		json_put_string(j, from == r->self ? "to_card" : "from_card", rail->far.card);
	}
	json_put_bool(j, "relaxed_ordering", rail->relaxed);
	json_put_int(j, "traffic_class", r->traffic_class);
}

static void put_sweep(struct json_out *j, const struct rdma_rail *rail)
{
	json_array_begin(j, "tried");
	for (int i = 0; i < rail->n_sweep; i++) {
		json_object_begin(j, NULL);
		json_put_int(j, "size", (int64_t)rail->sweep[i].size);
		json_put_int(j, "queue_pairs", rail->sweep[i].qps);
		json_put_number(j, "gbps", rdma_gbps(&rail->sweep[i]));
		json_object_end(j);
	}
	json_array_end(j);
}

static const char *flow_params(struct rdma *r, const struct rdma_rail *rail, int direction,
                               const struct rdma_flow *f)
{
	double gb = (double)f->bytes / 1e9;
	struct params p;

	params_begin(&p);
	put_rail(r, &p.j, rail, direction);
	json_put_int(&p.j, "size", (int64_t)f->size);
	json_put_int(&p.j, "queue_pairs", f->qps);
	json_put_number(&p.j, "measured_s", (double)f->ns / 1e9);
	if (gb > 0) {
		json_put_number(&p.j, "asker_cpu_s_per_gb", f->cpu_s[direction] / gb);
		json_put_number(&p.j, "server_cpu_s_per_gb", f->cpu_s[!direction] / gb);
	}
	if (f->op == VERBS_WRITE && direction == 0)
		put_sweep(&p.j, rail);
	return params_end(r, &p);
}

/* --- readings -------------------------------------------------------------------------------- */

static struct reading reading_of(struct rdma *r, const char *metric, const struct rdma_rail *rail,
                                 int from)
{
	struct reading o = reading_init();
	const char *const *peers = r->ctx->peers;

	o.metric = metric;
	o.subject.kind = SUBJECT_PAIR;
	o.subject.n_ends = 2;
	for (int e = 0; e < 2; e++)
		o.subject.ends[e] = (struct subject_end){.node = peers[e ? !from : from]};
	if (!rail)
		return o;
	for (int e = 0; e < 2; e++) {
		const struct rdma_port *p = &rail->ends[e ? !from : from].at;

		o.subject.ends[e].nic = p->device;
		o.subject.ends[e].port = p->port;
	}
	return o;
}

/* About the pair; the ends are those of the rail and way that decide. */
static struct reading of_pair(struct rdma *r, const char *metric, const struct rdma_rail *rail,
                              int from)
{
	struct reading o = reading_of(r, metric, rail, from);

	o.subject.id = arena_strf(r->ctx->arena, "%s|%s", r->ctx->peers[0], r->ctx->peers[1]);
	return o;
}

static struct reading of_rail(struct rdma *r, const char *metric, const struct rdma_rail *rail,
                              int from)
{
	struct reading o = reading_of(r, metric, rail, from);
	const char *nic = o.subject.ends[0].nic ? o.subject.ends[0].nic : o.subject.ends[1].nic;

	o.subject.id = arena_strf(r->ctx->arena, "%s|%s|%s", r->ctx->peers[from],
	                          r->ctx->peers[!from], nic);
	return o;
}

static void set_value(struct reading *o, double value)
{
	o->value_kind = VALUE_NUMBER;
	o->value = value;
}

static void set_fault(struct reading *o, const struct net_fault *fault)
{
	o->value_kind = VALUE_NONE;
	o->outcome = fault->outcome;
	o->reason = fault->reason;
}

static void set_missing(struct rdma *r, struct reading *o, const struct rdma_rail *rail)
{
	if (r->trouble.reason.code || (rail && rail->fault.reason.code)) {
		set_fault(o, rail && rail->fault.reason.code ? &rail->fault : &r->trouble);
		return;
	}
	o->value_kind = VALUE_NONE;
	o->outcome = OUTCOME_NOT_MEASURED;
	reason_set(r->ctx, &o->reason, MSG_rdma_not_reached, r->ctx->peers[0],
	           rail ? rail->ends[0].at.device : "", r->ctx->peers[1],
	           rail ? rail->ends[1].at.device : "");
}

static enum status emit(struct rdma *r, const struct reading *o)
{
	return r->ctx->emit(r->ctx, o);
}

/* --- a rail -------------------------------------------------------------------------------------- */

static void interval_stats(struct reading *o, const struct rdma_flow *f)
{
	struct samples s = {0};

	for (int i = 1; i < f->n_points; i++) {
		const struct net_point *p = &f->points[i];

		if (p->ns > p[-1].ns)
			samples_add(&s, 8 * (double)(p->bytes - p[-1].bytes) /
			                        (double)(p->ns - p[-1].ns));
	}
	samples_to_stats(&s, NULL, o->stats);
	samples_release(&s);
}

static void save_flow(struct rdma *r, const struct rdma_rail *rail, int direction,
                      const struct rdma_flow *f, struct raw_file *raw)
{
	struct str csv = {0};
	const char *name = arena_strf(r->ctx->arena, "rdma-%s-%s-%s.csv", rdma_op_names[f->op],
	                              rail->ends[0].at.device, direction ? "back" : "there");

	str_addf(&csv, "# %s %s asks %s %s\nend_s,bytes\n", rail->ends[direction].node,
	         rail->ends[direction].at.device, rail->ends[!direction].node,
	         rail->ends[!direction].at.device);
	for (int i = 1; i < f->n_points; i++)
		str_addf(&csv, "%.6f,%llu\n", (double)f->points[i].ns / 1e9,
		         (unsigned long long)(f->points[i].bytes - f->points[i - 1].bytes));
	r->ctx->save_raw(r->ctx, name, csv.data, csv.len, raw);
	str_release(&csv);
}

static enum status emit_worst(struct rdma *r, const struct rdma_rail *rail, int direction,
                              const struct reading *rate)
{
	const struct rdma_flow *f = &rail->flows[direction][VERBS_WRITE];
	struct reading o = of_rail(r, "rdma_nic_worst_second", rail, direction);
	int seconds;

	o.params = rate->params;
	o.raw = rate->raw;
	if (rate->outcome != OUTCOME_MEASURED) {
		o.outcome = rate->outcome;
		o.reason = rate->reason;
		return emit(r, &o);
	}
	set_value(&o, rdma_worst_second(f, &seconds));
	if (seconds < 2) {
		o.value_kind = VALUE_NONE;
		o.outcome = OUTCOME_NOT_MEASURED;
		reason_set(r->ctx, &o.reason, MSG_rdma_no_second,
		           tmpf("%.1f", (double)f->ns / 1e9));
	}
	return emit(r, &o);
}

static enum status emit_flow(struct rdma *r, const struct rdma_rail *rail, int direction,
                             enum verbs_op op)
{
	const struct rdma_flow *f = &rail->flows[direction][op];
	struct reading o = of_rail(r, nic_metrics[op], rail, direction);
	double gbps = rdma_gbps(f);
	enum status st;

	o.params = flow_params(r, rail, direction, f);
	if (f->n_points > 1)
		save_flow(r, rail, direction, f, &o.raw);
	if (isfinite(gbps)) {
		set_value(&o, gbps);
		interval_stats(&o, f);
	} else if (f->fault.reason.code) {
		set_fault(&o, &f->fault);
	} else {
		set_missing(r, &o, rail);
	}
	st = emit(r, &o);
	return st == ST_OK && op == VERBS_WRITE ? emit_worst(r, rail, direction, &o) : st;
}

static void save_pings(struct rdma *r, const struct rdma_rail *rail, enum verbs_op op,
                       struct raw_file *raw)
{
	const struct samples *s = &rail->latency[op];
	struct str csv = {0};
	const char *name = arena_strf(r->ctx->arena, "rdma-%s-%s-pings.csv", rdma_op_names[op],
	                              rail->ends[0].at.device);

	str_add(&csv, op == VERBS_READ ? "round_trip_us\n" : "half_round_trip_us\n");
	for (size_t i = 0; i < s->n; i++)
		str_addf(&csv, "%.3f\n", s->value[i]);
	r->ctx->save_raw(r->ctx, name, csv.data, csv.len, raw);
	str_release(&csv);
}

static const char *latency_params(struct rdma *r, const struct rdma_rail *rail, enum verbs_op op)
{
	struct params p;

	params_begin(&p);
	put_rail(r, &p.j, rail, 0);
	json_put_int(&p.j, "bytes", RDMA_PING);
	json_put_string(&p.j, "of", op == VERBS_READ ? "the round trip" : "half the round trip");
	json_put_bool(&p.j, "inline", op != VERBS_READ && rail->inline_bytes >= RDMA_PING);
	return params_end(r, &p);
}

static enum status emit_latency(struct rdma *r, const struct rdma_rail *rail, enum verbs_op op)
{
	struct reading o = of_rail(r, latency_metrics[op], rail, 0);

	o.params = latency_params(r, rail, op);
	if (rail->latency[op].n) {
		save_pings(r, rail, op, &o.raw);
		samples_to_stats(&rail->latency[op], NULL, o.stats);
		set_value(&o, o.stats[STAT_P50]);
	} else {
		set_missing(r, &o, rail);
	}
	return emit(r, &o);
}

static enum status emit_one_qp(struct rdma *r, const struct rdma_rail *rail)
{
	struct reading o = of_rail(r, "rdma_nic_one_qp_gbps", rail, 0);
	const struct rdma_flow *best = NULL;

	for (int i = 0; i < rail->n_sweep; i++) {
		const struct rdma_flow *f = &rail->sweep[i];

		if (f->qps == 1 && isfinite(rdma_gbps(f)) &&
		    (!best || rdma_gbps(f) > rdma_gbps(best)))
			best = f;
	}
	if (best) {
		o.params = flow_params(r, rail, 0, best);
		set_value(&o, rdma_gbps(best));
	} else {
		set_missing(r, &o, rail);
		if (!rail->fault.reason.code && !r->trouble.reason.code)
			reason_set(r->ctx, &o.reason, MSG_rdma_not_tried);
	}
	return emit(r, &o);
}

static enum status emit_errors(struct rdma *r, const struct rdma_rail *rail)
{
	struct reading o = of_rail(r, "rdma_error_rises", rail, 0);
	int64_t sum = 0;
	struct params p;

	params_begin(&p);
	put_rail(r, &p.j, rail, 0);
	for (int e = 0; e < 2; e++) {
		sum += rail->n_rises[e] > 0 ? rail->n_rises[e] : 0;
		if (rail->rises[e])
			json_put_raw(&p.j, e ? "to_rises" : "from_rises", rail->rises[e]);
	}
	o.params = params_end(r, &p);
	if (rail->n_rises[0] >= 0 || rail->n_rises[1] >= 0) {
		set_value(&o, (double)sum);
	} else if (rail->rises[0] && rail->rises[1]) {
		o.outcome = OUTCOME_NOT_MEASURED;
		reason_set(r->ctx, &o.reason, MSG_rdma_no_counters, r->ctx->peers[0],
		           r->ctx->peers[1]);
	} else {
		set_missing(r, &o, rail);
	}
	return emit(r, &o);
}

static enum status emit_ends(struct rdma *r, const struct rdma_rail *rail)
{
	struct reading o = of_rail(r, "rdma_ends_agree", rail, 0);
	struct params p;

	params_begin(&p);
	put_rail(r, &p.j, rail, 0);
	o.params = params_end(r, &p);
	if (rail->mismatch.found) {
		o.outcome = OUTCOME_FAILED;
		reason_set_list(r->ctx, &o.reason, rail->mismatch.id, rail->mismatch.args);
	} else if (rail->up) {
		set_value(&o, 1);
	} else {
		set_missing(r, &o, rail);
	}
	return emit(r, &o);
}

static enum status emit_rail(struct rdma *r, const struct rdma_rail *rail)
{
	enum status st = emit_ends(r, rail);

	for (int d = 0; d < 2 && st == ST_OK; d++)
		for (int op = 0; op < RDMA_OPS && st == ST_OK; op++)
			st = emit_flow(r, rail, d, (enum verbs_op)op);
	for (int op = 0; op < RDMA_OPS && st == ST_OK; op++)
		st = emit_latency(r, rail, (enum verbs_op)op);
	if (st == ST_OK)
		st = emit_one_qp(r, rail);
	return st == ST_OK ? emit_errors(r, rail) : st;
}

/* --- the pair --------------------------------------------------------------------------------------- */

/* Lower is worse: what is not measured, then the share of what it should carry. */
static double standing(const struct rdma_rail *rail, int direction)
{
	double gbps = rdma_gbps(&rail->flows[direction][VERBS_WRITE]);

	if (!isfinite(gbps))
		return -1;
	return isfinite(rail->expected) ? gbps / rail->expected : gbps;
}

static const struct rdma_rail *weakest(const struct rdma_rail *rails, int n, int *direction)
{
	const struct rdma_rail *worst = NULL;

	*direction = 0;
	for (int i = 0; i < n; i++)
		for (int d = 0; d < 2; d++)
			if (!worst || standing(&rails[i], d) < standing(worst, *direction)) {
				worst = &rails[i];
				*direction = d;
			}
	return worst;
}

/* Writes of the weakest of some rails; returns it. */
static enum status emit_write(struct rdma *r, const char *metric, const struct rdma_rail *rails,
                              int n, const struct net_fault *fault)
{
	int d;
	const struct rdma_rail *rail = weakest(rails, n, &d);
	struct reading o = of_pair(r, metric, rail, d);

	if (rail)
		o.params = flow_params(r, rail, d, &rail->flows[d][VERBS_WRITE]);
	if (rail && standing(rail, d) >= 0)
		set_value(&o, rdma_gbps(&rail->flows[d][VERBS_WRITE]));
	else if (fault->reason.code)
		set_fault(&o, fault);
	else if (rail && rail->flows[d][VERBS_WRITE].fault.reason.code)
		set_fault(&o, &rail->flows[d][VERBS_WRITE].fault);
	else
		set_missing(r, &o, rail);
	return emit(r, &o);
}

static enum status emit_expected(struct rdma *r)
{
	int d;
	const struct rdma_rail *rail = weakest(r->rails, r->n_rails, &d);
	struct reading o = of_pair(r, "rdma_expected_gbps", rail, d);
	struct params p;

	params_begin(&p);
	if (rail)
		put_rail(r, &p.j, rail, d);
	o.params = params_end(r, &p);
	if (rail && isfinite(rail->expected))
		set_value(&o, rail->expected);
	else if (rail && rail->up) {
		o.outcome = OUTCOME_NOT_MEASURED;
		reason_set(r->ctx, &o.reason, MSG_host_unreadable,
		           "/sys/class/infiniband/*/ports/*/rate");
	} else
		set_missing(r, &o, rail);
	return emit(r, &o);
}

static enum status emit_tcp(struct rdma *r)
{
	int d, slow = r->tcp_gbps[0] <= r->tcp_gbps[1] ? 0 : 1;
	const struct rdma_rail *rail = weakest(r->rails, r->n_rails, &d);
	struct reading o = of_pair(r, "rdma_tcp_rate_ratio", rail, d);
	double rdma = rail ? rdma_gbps(&rail->flows[d][VERBS_WRITE]) : NAN;
	struct params p;

	params_begin(&p);
	for (int e = 0; e < 2 && rail; e++) {
		const struct rdma_flow *f = &rail->flows[e][VERBS_WRITE];
		double gb = (double)f->bytes / 1e9;

		json_object_begin(&p.j, e ? "back" : "there");
		json_put_number(&p.j, "rdma_gbps", rdma_gbps(f));
		json_put_number(&p.j, "tcp_gbps", r->tcp_gbps[e]);
		json_put_number(&p.j, "rdma_cpu_s_per_gb", (f->cpu_s[0] + f->cpu_s[1]) / gb);
		json_put_number(&p.j, "tcp_cpu_s_per_gb", r->tcp_cpu_s_per_gb[e]);
		json_object_end(&p.j);
	}
	o.params = params_end(r, &p);
	if (isfinite(rdma) && isfinite(r->tcp_gbps[slow]))
		set_value(&o, rdma / r->tcp_gbps[slow]);
	else if (isfinite(rdma) && r->tcp_fault.reason.code)
		set_fault(&o, &r->tcp_fault);
	else if (rail && rail->flows[d][VERBS_WRITE].fault.reason.code)
		set_fault(&o, &rail->flows[d][VERBS_WRITE].fault);
	else
		set_missing(r, &o, rail);
	return emit(r, &o);
}

static enum status emit_gpu_latency(struct rdma *r)
{
	const struct rdma_rail *worst = NULL;
	double most = -1;
	struct reading o;

	for (int i = 0; i < r->n_gpu; i++) {
		double stats[STATS];
		const struct samples *s = &r->gpu[i].latency[VERBS_SEND];

		if (s->n)
			samples_to_stats(s, NULL, stats);
		if (!s->n || stats[STAT_P99] > most) {
			worst = &r->gpu[i];
			most = s->n ? stats[STAT_P99] : INFINITY;
		}
	}
	o = of_pair(r, "rdma_gpu_send_p99_us", worst, 0);
	if (worst)
		o.params = latency_params(r, worst, VERBS_SEND);
	if (worst && isfinite(most)) {
		samples_to_stats(&worst->latency[VERBS_SEND], NULL, o.stats);
		set_value(&o, most);
	} else if (r->gpu_fault.reason.code) {
		set_fault(&o, &r->gpu_fault);
	} else {
		set_missing(r, &o, worst);
	}
	return emit(r, &o);
}

/* Nothing was begun: the same reason for everything, of the pair. */
static enum status emit_trouble(struct rdma *r)
{
	enum status st = ST_OK;

	for (const struct metric *m = r->ctx->probe->metrics; m->name && st == ST_OK; m++) {
		struct reading o = of_pair(r, m->name, NULL, 0);

		set_fault(&o, &r->trouble);
		st = emit(r, &o);
	}
	return st;
}

enum status rdma_emit(struct rdma *r)
{
	enum status st = ST_OK;

	if (r->n_rails == 0)
		return emit_trouble(r);
	for (int i = 0; i < r->n_rails && st == ST_OK; i++)
		st = emit_rail(r, &r->rails[i]);
	if (st == ST_OK)
		st = emit_write(r, "rdma_write_gbps", r->rails, r->n_rails, &(struct net_fault){0});
	if (st == ST_OK)
		st = emit_expected(r);
	if (st == ST_OK)
		st = emit_tcp(r);
	if (st == ST_OK)
		st = emit_write(r, "rdma_gpu_write_gbps", r->gpu, r->n_gpu, &r->gpu_fault);
	return st == ST_OK ? emit_gpu_latency(r) : st;
}
