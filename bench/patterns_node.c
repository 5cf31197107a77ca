/* A node's part of a pattern, step by step as the leader calls for it: making ready,
 * connecting, sending, and what came of it. Which of the two ways carries it is the
 * leader's choice. */
#include "patterns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cards.h"
#include "rdma.h"
#include "talk.h"

/* Beyond the time of measuring, for texts on their way. */
#define SLACK_S 5

/* --- what it has ------------------------------------------------------------------------ */

/* One active port a device; *some: there are devices, up or down. */
static int choose_ports(struct patterns_node *n, const struct rdma_port *all, int count, bool *some)
{
	struct rdma_port *list = arena_array(n->ctx->arena, PATTERNS_RAILS, sizeof(*list));
	int rails = 0;

	*some = false;
	for (int i = 0; i < count; i++) {
		if (n->devices ? !rdma_names(n->devices, all[i].device) : !all[i].pci)
			continue;
		*some = true;
		if (!rdma_port_active(&all[i]) || all[i].gid.index < 0 || rails == PATTERNS_RAILS ||
		    (rails && strcmp(list[rails - 1].device, all[i].device) == 0))
			continue;
		list[rails++] = all[i];
	}
	n->ports = list;
	return rails;
}

static void look_for_rdma(struct patterns_node *n)
{
	struct probe_ctx *ctx = n->ctx;
	const char *node = ctx->peers[ctx->self_index];
	struct error err = {0};
	bool some;
	int count;
	const struct rdma_port *all = rdma_ports_read(ctx->arena, ctx->sys_root, &count);

	if (count < 0)
		net_fault_set(ctx, &n->no_rdma, OUTCOME_NOT_MEASURED, MSG_host_unreadable,
		              "/sys/class/infiniband");
	n->n_rails = choose_ports(n, all, count, &some);
	if (!some && n->devices)
		net_fault_set(ctx, &n->no_rdma, OUTCOME_UNSUPPORTED, MSG_rdma_no_such, node,
		              n->devices);
	else if (!some)
		net_fault_set(ctx, &n->no_rdma, OUTCOME_UNSUPPORTED, MSG_rdma_no_device, node);
	else if (n->n_rails == 0)
		net_fault_set(ctx, &n->no_rdma, OUTCOME_FAILED, MSG_patterns_all_down, node);
	if (n->no_rdma.reason.code)
		return;
	if (verbs_open(&n->verbs, ctx->arena, ctx->lib_dir, &err) != ST_OK)
		net_fault_set(ctx, &n->no_rdma, OUTCOME_NOT_MEASURED, MSG_rdma_no_library, node,
		              str_text(&err.text));
	if (n->verbs.lib.standin) {
		ctx->simulated = true;
		n->clock = standin_clock(ctx, &n->verbs.lib);
	}
	error_release(&err);
}

void patterns_open(struct patterns_node *n)
{
	struct probe_ctx *ctx = n->ctx;
	const char *devices = ctx->param_word(ctx, "devices");
	const char *only = ctx->param_word(ctx, "interface");

	n->qps = (int)ctx->param_int(ctx, "qps");
	n->streams = (int)ctx->param_int(ctx, "streams");
	n->depth = (int)ctx->param_int(ctx, "depth");
	n->traffic_class = (int)ctx->param_int(ctx, "traffic_class");
	/* Words of eight bytes are what is compared. */
	n->size = (size_t)ctx->param_int(ctx, "size") & ~(size_t)7;
	n->block = (size_t)ctx->param_int(ctx, "block");
	n->seconds = ctx->param_real(ctx, "seconds");
	n->ramp_s = ctx->param_real(ctx, "ramp_s");
	n->silence_s = ctx->param_real(ctx, "silence_s");
	n->devices = *devices ? devices : NULL;
	n->only = *only ? only : NULL;
	n->clock = ctx->clock;
	n->listener = -1;
	n->mine = net_addresses_read(ctx->arena, ctx->sys_root, n->only);
	look_for_rdma(n);
}

/* --- a step --------------------------------------------------------------------------------- */

static struct patterns_peer peer_of(int node)
{
	return (struct patterns_peer){.node = node, .retransmits = -1, .expected = NAN};
}

/* A node's number; -1: that is none. */
static int node_of(const struct patterns_node *n, const cJSON *item)
{
	int node = cJSON_IsNumber(item) ? item->valueint : -1;

	return node >= 0 && node < n->ctx->n_peers && node != n->ctx->self_index ? node : -1;
}

static void read_order(struct patterns_node *n, const cJSON *order)
{
	const cJSON *from = json_get(order, "from"), *item;
	int to = node_of(n, json_get(order, "to"));

	n->step = json_int(order, "step", -1);
	n->seed = strtoull(json_string(order, "seed", "0"), NULL, 16);
	n->rails = json_int(order, "rails", 0);
	n->rails = n->rails < n->n_rails ? n->rails : n->n_rails;
	n->way = strcmp(json_string(order, "way", ""), "rdma") == 0 ? PATTERNS_RDMA : PATTERNS_TCP;
	n->fault = (struct net_fault){0};
	n->sends = to >= 0;
	n->out = peer_of(to);
	n->in = arena_array(n->ctx->arena, PATTERNS_INCOMING, sizeof(*n->in));
	n->n_in = 0;
	cJSON_ArrayForEach(item, from)
	{
		if (n->n_in < PATTERNS_INCOMING && node_of(n, item) >= 0)
			n->in[n->n_in++] = peer_of(item->valueint);
	}
}

void patterns_prepare(struct patterns_node *n, const cJSON *order)
{
	patterns_close(n);
	read_order(n, order);
	if (n->way == PATTERNS_RDMA)
		patterns_rdma_prepare(n);
	else
		patterns_tcp_prepare(n);
}

void patterns_put_offer(struct patterns_node *n, struct json_out *j)
{
	net_fault_put(j, &n->fault);
	json_object_begin(j, "offer");
	if (n->way == PATTERNS_RDMA)
		patterns_rdma_put(n, j);
	else if (n->listener >= 0)
		net_offer_put(j, &n->offer);
	json_object_end(j);
}

static void read_peer(struct patterns_node *n, struct patterns_peer *p, const cJSON *o, int slot)
{
	if (n->way == PATTERNS_RDMA) {
		patterns_rdma_read(n->ctx, p, json_get(o, "rails"));
		/* Of a receiver: the part that is ours. */
		for (int i = 0; i < p->n_rails && slot >= 0; i++) {
			struct patterns_rail *r = &p->rails[i];
			int first = n->qps * (1 + slot);

			r->n_qpn = r->n_qpn > first ? r->n_qpn - first : 0;
			memmove(r->qpn, r->qpn + first * (r->n_qpn > 0),
			        (size_t)r->n_qpn * sizeof(*r->qpn));
			r->address += (uint64_t)(1 + slot) * PATTERNS_REGION;
		}
	} else if (slot >= 0 && !net_offer_read(&p->offer, n->ctx->arena, o)) {
		net_fault_set(n->ctx, &n->fault, OUTCOME_NOT_MEASURED, MSG_patterns_garbled,
		              n->ctx->peers[p->node]);
	}
}

void patterns_connect(struct patterns_node *n, const cJSON *meet)
{
	const cJSON *in = json_get(meet, "in");
	int slot = json_int(meet, "slot", 0);

	if (n->sends)
		read_peer(n, &n->out, json_get(meet, "out"),
		          slot >= 0 && slot < PATTERNS_INCOMING ? slot : 0);
	for (int i = 0; i < n->n_in; i++)
		read_peer(n, &n->in[i], cJSON_GetArrayItem(in, i), -1);
	if (n->fault.reason.code)
		return;
	if (n->way == PATTERNS_RDMA)
		patterns_rdma_connect(n);
	else
		patterns_tcp_connect(n);
}

void patterns_measure(struct patterns_node *n)
{
	if (n->way == PATTERNS_RDMA)
		patterns_rdma_measure(n);
	else
		patterns_tcp_measure(n);
}

void patterns_go_on(struct patterns_node *n)
{
	if (n->way == PATTERNS_RDMA)
		patterns_rdma_go_on(n);
	else
		clock_sleep(n->ctx->clock, NS_PER_MS);
}

static void put_peer(struct json_out *j, const char *key, const struct patterns_peer *p)
{
	json_object_begin(j, key);
	json_put_int(j, "node", p->node);
	json_put_int(j, "bytes", p->bytes);
	json_put_int(j, "messages", p->messages);
	json_put_int(j, "ns", p->ns);
	json_put_int(j, "retransmits", p->retransmits);
	json_put_number(j, "expected", p->expected);
	net_fault_put(j, &p->fault);
	json_object_end(j);
}

void patterns_put_result(struct patterns_node *n, struct json_out *j)
{
	net_fault_put(j, &n->fault);
	if (n->sends)
		put_peer(j, "out", &n->out);
	json_array_begin(j, "in");
	for (int i = 0; i < n->n_in; i++)
		put_peer(j, NULL, &n->in[i]);
	json_array_end(j);
}

void patterns_finish(struct patterns_node *n, const cJSON *end)
{
	const cJSON *sent = json_get(end, "sent");

	for (int i = 0; i < n->n_in; i++) {
		const cJSON *messages = cJSON_GetArrayItem(sent, i);

		n->in[i].messages = (int64_t)fmax(talk_count(messages, TALK_COUNT), 0);
	}
	if (n->way == PATTERNS_RDMA)
		patterns_rdma_finish(n);
	else
		patterns_tcp_finish(n);
}

void patterns_close(struct patterns_node *n)
{
	patterns_tcp_finish(n);
	patterns_rdma_close(n);
}

/* --- who follows ------------------------------------------------------------------------------ */

static enum status say_hello(struct patterns_node *n)
{
	struct patterns_text t;

	patterns_text_begin(&t, "hello", 0);
	json_put_int(&t.j, "rails", n->no_rdma.reason.code ? 0 : n->n_rails);
	json_put_bool(&t.j, "simulated", n->ctx->simulated);
	net_fault_put(&t.j, &n->no_rdma);
	return patterns_text_send(n->ctx, 0, &t);
}

static enum status say_offer(struct patterns_node *n)
{
	struct patterns_text t;

	patterns_text_begin(&t, "offer", n->step);
	patterns_put_offer(n, &t.j);
	return patterns_text_send(n->ctx, 0, &t);
}

static enum status say_ready(struct patterns_node *n)
{
	struct patterns_text t;

	patterns_text_begin(&t, "ready", n->step);
	net_fault_put(&t.j, &n->fault);
	return patterns_text_send(n->ctx, 0, &t);
}

static enum status say_result(struct patterns_node *n, const char *kind)
{
	struct patterns_text t;

	patterns_text_begin(&t, kind, n->step);
	patterns_put_result(n, &t.j);
	return patterns_text_send(n->ctx, 0, &t);
}

/* Sends until told to stop, and no longer than that can take. */
static enum status run_on(struct patterns_node *n)
{
	const struct clock_source *clock = n->ctx->clock;
	int64_t until;
	enum status st;

	patterns_measure(n);
	st = say_result(n, "result");
	until = clock_now(clock) +
	        (int64_t)((n->seconds + n->ramp_s + n->silence_s + SLACK_S) * 1e9);
	while (st == ST_OK && clock_now(clock) < until) {
		struct json_doc doc;

		st = patterns_text_recv(n->ctx, 0, "end", n->step, 0, &doc);
		if (st == ST_OK) {
			patterns_finish(n, doc.root);
			json_release(&doc);
			return say_result(n, "ended");
		}
		if (st != ST_TIMEOUT)
			break;
		patterns_go_on(n);
		st = ST_OK;
	}
	patterns_finish(n, NULL);
	return st == ST_OK ? ST_TIMEOUT : st;
}

static enum status take_order(struct patterns_node *n, const cJSON *root, bool *over)
{
	const char *kind = json_string(root, "kind", "");

	if (strcmp(kind, "order") == 0) {
		patterns_prepare(n, root);
		return say_offer(n);
	}
	if (strcmp(kind, "meet") == 0) {
		patterns_connect(n, root);
		return say_ready(n);
	}
	if (strcmp(kind, "go") == 0)
		return run_on(n);
	/* It came to nothing: somebody was not ready. */
	if (strcmp(kind, "end") == 0) {
		patterns_finish(n, NULL);
		return say_result(n, "ended");
	}
	*over = true;
	return ST_OK;
}

enum status patterns_follow(struct patterns_node *n)
{
	struct probe_ctx *ctx = n->ctx;
	enum status st = say_hello(n);
	bool over = false;

	ctx->progress(ctx, STAGE_MEASURING, -1, MSG_doing_patterns);
	while (st == ST_OK && !over) {
		double left = (double)(ctx->deadline_ns - clock_now(ctx->clock)) / 1e9;
		struct json_doc doc;

		st = patterns_text_recv(ctx, 0, NULL, -1, left, &doc);
		if (st != ST_OK)
			break;
		st = take_order(n, doc.root, &over);
		json_release(&doc);
	}
	/* Who leads says why it ended. */
	return ST_OK;
}
