/* What the pair probe says: the second child's half to the first, and the readings.
 * Each end knows things the other cannot: the receiver how much came and when, the
 * sender what its TCP did for it, both what it cost them. */
#include "net.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "stats/summary.h"
#include "talk.h"

#define US 1000 /* ns; points are told in it */
/* A second is whole when a tick came this much early. */
#define EARLY_NS (20 * NS_PER_MS)

/* --- the second to the first --------------------------------------------------------------- */

void net_fault_put(struct json_out *j, const struct net_fault *fault)
{
	if (!fault->reason.code)
		return;
	json_object_begin(j, "fault");
	json_put_string(j, "outcome", outcome_name(fault->outcome));
	json_put_string(j, "code", fault->reason.code);
	json_array_begin(j, "args");
	for (int i = 0; i < fault->reason.n_args; i++)
		json_put_string(j, NULL, fault->reason.args[i]);
	json_array_end(j);
	json_object_end(j);
}

static void put_flow(struct json_out *j, const struct net *n, const struct net_flow *f)
{
	json_object_begin(j, NULL);
	net_fault_put(j, &f->fault);
	json_put_number(j, "cpu_s", f->cpu_s[n->self]);
	json_put_int(j, "retransmits", f->tcp.retransmits);
	json_put_int(j, "mss", f->tcp.mss);
	json_put_string(j, "congestion", f->tcp.congestion);
	/* Steps of time and bytes: short. */
	json_array_begin(j, "points");
	for (int i = 1; i < f->n_points; i++) {
		const struct net_point *p = &f->points[i];

		json_put_int(j, NULL, p->ns / US - p[-1].ns / US);
		json_put_int(j, NULL, (int64_t)(p->bytes - p[-1].bytes));
	}
	json_array_end(j);
	json_object_end(j);
}

void net_tell(struct net *n)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const struct net_address *end = &n->ends[n->self];

	json_object_begin(&j, NULL);
	net_fault_put(&j, &n->trouble);
	json_put_string(&j, "address", end->text);
	json_put_string(&j, "interface", end->interface);
	json_put_int(&j, "speed_mbps", end->speed_mbps);
	json_array_begin(&j, "flows");
	for (int d = 0; d < 2; d++)
		put_flow(&j, n, &n->flows[d]);
	json_array_end(&j);
	json_object_end(&j);
	/* When it cannot be carried the first one waits in vain and says so. */
	n->ctx->send_text(n->ctx, n->other, text.data);
	str_release(&text);
}

/* --- the first hears ------------------------------------------------------------------------ */

bool net_fault_read(struct probe_ctx *ctx, const cJSON *o, enum outcome *outcome, enum msg *id,
                    const char *const **args)
{
	const cJSON *told = json_get(o, "fault"), *list = json_get(told, "args"), *arg;
	const char **texts = arena_array(
		ctx->arena, (size_t)(list ? cJSON_GetArraySize(list) : 0) + 1, sizeof(*texts));
	int n = 0;

	if (!told || !outcome_parse(json_string(told, "outcome", ""), outcome) ||
	    *outcome == OUTCOME_MEASURED || !msg_parse(json_string(told, "code", ""), id))
		return false;
	cJSON_ArrayForEach(arg, list)
	{
		if (cJSON_IsString(arg))
			texts[n++] = arg->valuestring;
	}
	*args = (const char *const *)texts;
	return true;
}

static void hear_fault(struct net *n, struct net_fault *fault, const cJSON *o)
{
	const char *const *args;
	enum outcome outcome;
	enum msg id;

	if (!net_fault_read(n->ctx, o, &outcome, &id, &args))
		return;
	/* Who lost the other mostly knows less than who was lost: theirs goes first,
	 * unless it is just that. */
	if (id != MSG_net_peer_gone)
		fault->reason.code = NULL;
	net_fault_list(n->ctx, fault, outcome, id, args);
}

/* Sums of what is below do not run over. */
#define US_MOST    1e11
#define BYTES_MOST 1e14

/* One that cannot be leaves none. */
static void hear_points(struct net *n, struct net_flow *f, const cJSON *list)
{
	int count = list ? cJSON_GetArraySize(list) / 2 : 0;
	const cJSON *item = list ? list->child : NULL;

	if (count == 0)
		return;
	f->points = arena_array(n->ctx->arena, (size_t)count + 1, sizeof(*f->points));
	for (int i = 1; i <= count && item && item->next; i++, item = item->next->next) {
		struct net_point *p = &f->points[i];
		int64_t us = talk_count(item, US_MOST), bytes = talk_count(item->next, BYTES_MOST);

		if (us < 0 || bytes < 0) {
			f->n_points = 0;
			return;
		}
		*p = (struct net_point){p[-1].ns + us * US, p[-1].bytes + (uint64_t)bytes};
		f->n_points = i + 1;
	}
}

static void hear_flow(struct net *n, int direction, const cJSON *o)
{
	struct net_flow *f = &n->flows[direction];

	hear_fault(n, &f->fault, o);
	f->cpu_s[n->other] = json_number(o, "cpu_s", NAN);
	if (direction != n->other) {
		hear_points(n, f, json_get(o, "points"));
		return;
	}
	f->tcp.retransmits = json_int64(o, "retransmits", -1);
	f->tcp.mss = json_int(o, "mss", 0);
	strncpy(f->tcp.congestion, json_string(o, "congestion", ""), sizeof(f->tcp.congestion) - 1);
}

bool net_hear(struct net *n, const char *text)
{
	struct arena *arena = n->ctx->arena;
	struct net_address *end = &n->ends[n->other];
	const cJSON *flows;
	struct json_doc doc;

	if (json_parse(&doc, "peer", text, strlen(text), JSON_STRICT, NULL) != ST_OK)
		return false;
	flows = json_get(doc.root, "flows");
	hear_fault(n, &n->trouble, doc.root);
	end->text = arena_str(arena, json_string(doc.root, "address", NULL));
	end->interface = arena_str(arena, json_string(doc.root, "interface", NULL));
	end->speed_mbps = json_int64(doc.root, "speed_mbps", -1);
	for (int d = 0; d < 2 && flows && cJSON_GetArraySize(flows) == 2; d++)
		hear_flow(n, d, cJSON_GetArrayItem(flows, d));
	json_release(&doc);
	n->heard = true;
	return true;
}

/* --- figures of a direction -------------------------------------------------------------------- */

static double gbps(uint64_t bytes, int64_t ns)
{
	return 8 * (double)bytes / (double)ns;
}

static const struct net_point *last_point(const struct net_flow *f)
{
	return &f->points[f->n_points - 1];
}

/* Lowest rate of the whole seconds one after the other; *count of them. */
static double slowest_second(const struct net_flow *f, int *count)
{
	const struct net_point *from = f->points;
	double least = INFINITY;

	*count = 0;
	for (int i = 1; i < f->n_points; i++) {
		const struct net_point *p = &f->points[i];

		if (p->ns - from->ns < NS_PER_S - EARLY_NS)
			continue;
		least = fmin(least, gbps(p->bytes - from->bytes, p->ns - from->ns));
		from = p;
		++*count;
	}
	return least;
}

static void interval_stats(struct reading *r, const struct net_flow *f)
{
	struct samples s = {0};

	for (int i = 1; i < f->n_points; i++) {
		const struct net_point *p = &f->points[i];

		if (p->ns > p[-1].ns)
			samples_add(&s, gbps(p->bytes - p[-1].bytes, p->ns - p[-1].ns));
	}
	samples_to_stats(&s, NULL, r->stats);
	samples_release(&s);
}

/* --- params --------------------------------------------------------------------------------------- */

static void put_end(struct json_out *j, const char *key, const struct net_address *end)
{
	json_object_begin(j, key);
	json_put_string(j, "interface", end->interface);
	json_put_string(j, "address", end->text);
	if (end->speed_mbps > 0)
		json_put_int(j, "speed_mbps", end->speed_mbps);
	else
		json_put_null(j, "speed_mbps");
	json_object_end(j);
}

static const char *keep_text(struct net *n, struct str *text)
{
	const char *kept = arena_str(n->ctx->arena, str_text(text));

	str_release(text);
	return kept;
}

static const char *flow_params(struct net *n, int direction)
{
	const struct net_flow *f = &n->flows[direction];
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	put_end(&j, "from", &n->ends[direction]);
	put_end(&j, "to", &n->ends[!direction]);
	json_put_int(&j, "streams", n->streams);
	json_put_int(&j, "block", (int64_t)n->block);
	json_put_number(&j, "seconds", n->seconds);
	json_put_number(&j, "ramp_s", n->ramp_s);
	if (f->n_points > 1) {
		double gb = (double)last_point(f)->bytes / 1e9;

		json_put_int(&j, "bytes", (int64_t)last_point(f)->bytes);
		json_put_number(&j, "measured_s", (double)last_point(f)->ns / 1e9);
		json_put_number(&j, "sender_cpu_s_per_gb", f->cpu_s[direction] / gb);
		json_put_number(&j, "receiver_cpu_s_per_gb", f->cpu_s[!direction] / gb);
	}
	if (f->tcp.mss > 0) {
		json_put_int(&j, "mss", f->tcp.mss);
		json_put_string(&j, "congestion_control", f->tcp.congestion);
	}
	if (f->tcp.mss > 0 && f->tcp.retransmits >= 0)
		json_put_int(&j, "retransmits", f->tcp.retransmits);
	json_object_end(&j);
	return keep_text(n, &text);
}

static const char *latency_params(struct net *n)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	put_end(&j, "from", &n->ends[0]);
	put_end(&j, "to", &n->ends[1]);
	json_put_int(&j, "bytes", sizeof(struct net_frame));
	json_put_string(&j, "of", "half the round trip");
	json_put_int(&j, "pings", n->pings);
	json_object_end(&j);
	return keep_text(n, &text);
}

/* --- readings ------------------------------------------------------------------------------------- */

static struct reading reading_of(struct net *n, const char *metric, int from)
{
	struct reading r = reading_init();
	const int ends[2] = {from, !from};

	r.metric = metric;
	r.subject.kind = SUBJECT_PAIR;
	r.subject.id =
		arena_strf(n->ctx->arena, "%s|%s", n->ctx->peers[from], n->ctx->peers[!from]);
	r.subject.n_ends = 2;
	for (int e = 0; e < 2; e++)
		r.subject.ends[e] = (struct subject_end){.node = n->ctx->peers[ends[e]],
		                                         .nic = n->ends[ends[e]].interface};
	return r;
}

static void set_value(struct reading *r, double value)
{
	r->value_kind = VALUE_NUMBER;
	r->value = value;
}

static void set_fault(struct reading *r, const struct net_fault *fault)
{
	r->outcome = fault->outcome;
	r->reason = fault->reason;
}

static void save_flow(struct net *n, int direction, struct raw_file *raw)
{
	const struct net_flow *f = &n->flows[direction];
	struct str csv = {0};

	str_addf(&csv, "# %s sends to %s\nend_s,bytes\n", n->ctx->peers[direction],
	         n->ctx->peers[!direction]);
	for (int i = 1; i < f->n_points; i++)
		str_addf(&csv, "%.6f,%llu\n", (double)f->points[i].ns / 1e9,
		         (unsigned long long)(f->points[i].bytes - f->points[i - 1].bytes));
	n->ctx->save_raw(n->ctx, direction == 0 ? "tcp-there.csv" : "tcp-back.csv", csv.data,
	                 csv.len, raw);
	str_release(&csv);
}

static enum status emit_flow(struct net *n, int direction)
{
	struct net_flow *f = &n->flows[direction];
	struct reading rate = reading_of(n, "net_tcp_gbps", direction);
	struct reading worst = reading_of(n, "net_tcp_worst_second", direction);
	bool measured = f->n_points > 1 && last_point(f)->ns > 0;
	double mean, least;
	int seconds;
	enum status st;

	rate.params = worst.params = flow_params(n, direction);
	if (f->n_points > 1)
		save_flow(n, direction, &rate.raw);
	worst.raw = rate.raw;
	if (f->fault.reason.code || !measured) {
		set_fault(&rate, f->fault.reason.code ? &f->fault : &n->trouble);
		set_fault(&worst, f->fault.reason.code ? &f->fault : &n->trouble);
	} else {
		mean = gbps(last_point(f)->bytes, last_point(f)->ns);
		least = slowest_second(f, &seconds);
		set_value(&rate, mean);
		interval_stats(&rate, f);
		set_value(&worst, least / mean);
		if (seconds < 2) {
			worst.value_kind = VALUE_NONE;
			worst.outcome = OUTCOME_NOT_MEASURED;
			reason_set(n->ctx, &worst.reason, MSG_net_no_second,
			           tmpf("%.1f", (double)last_point(f)->ns / 1e9));
		}
	}
	st = n->ctx->emit(n->ctx, &rate);
	return st == ST_OK ? n->ctx->emit(n->ctx, &worst) : st;
}

static enum status emit_latency(struct net *n)
{
	struct reading half = reading_of(n, "net_tcp_latency_us", 0);
	struct reading p99 = reading_of(n, "net_tcp_p99_us", 0);
	struct str csv = {0};
	enum status st;

	half.params = p99.params = latency_params(n);
	str_add(&csv, "half_round_trip_us\n");
	for (size_t i = 0; i < n->latency.n; i++)
		str_addf(&csv, "%.3f\n", n->latency.value[i]);
	if (n->latency.n) {
		n->ctx->save_raw(n->ctx, "tcp-pings.csv", csv.data, csv.len, &half.raw);
		p99.raw = half.raw;
		samples_to_stats(&n->latency, NULL, half.stats);
		set_value(&half, half.stats[STAT_P50]);
		set_value(&p99, half.stats[STAT_P99]);
	} else {
		set_fault(&half, &n->trouble);
		set_fault(&p99, &n->trouble);
	}
	str_release(&csv);
	st = n->ctx->emit(n->ctx, &half);
	return st == ST_OK ? n->ctx->emit(n->ctx, &p99) : st;
}

enum status net_emit(struct net *n)
{
	const char *const *peers = n->ctx->peers;
	enum status st = ST_OK;

	/* For what is missing although nothing broke: the text was half a one. */
	net_blame(n, &n->trouble, OUTCOME_NOT_MEASURED, MSG_net_peer_gone, peers[n->self],
	          peers[n->other], strerror(EPROTO));
	for (int d = 0; d < 2 && st == ST_OK; d++)
		st = emit_flow(n, d);
	return st == ST_OK ? emit_latency(n) : st;
}
