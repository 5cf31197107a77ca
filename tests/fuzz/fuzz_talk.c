/* What the processes of a probe on several nodes say to each other: each receiver gets
 * every text. What is believed can be. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "collective_nodes.h"
#include "coord/hello.h"
#include "frameworks_nodes.h"
#include "gemm_rows.h"
#include "net.h"
#include "patterns.h"
#include "storage_all.h"
#include "training.h"

#define PEERS 4

static const char *text_of_peer;

static enum status receive(struct probe_ctx *ctx, int from, double seconds, const char **text)
{
	(void)ctx;
	(void)from;
	(void)seconds;
	*text = text_of_peer;
	return ST_OK;
}

static void nodes(struct probe_ctx *ctx)
{
	struct nodes_hello h;
	struct nodes_order o;
	struct nodes_answer a;

	if (nodes_recv_hello(ctx, 1, 0, &h) == ST_OK)
		fuzz_promise(h.n_cards <= NODES_CARDS_MOST && h.nics >= 0 && h.memory_scale >= 1,
		             "a node that cannot be");
	if (nodes_recv_order(ctx, 0, &o) == ST_OK)
		for (int i = 0; i < o.n_members; i++)
			fuzz_promise(o.members[i] >= 0 && o.members[i] < PEERS, "a member");
	if (nodes_recv_answer(ctx, 1, 0, &a) == ST_OK)
		fuzz_promise(a.blamed < PEERS && (a.outcome == OUTCOME_MEASURED || a.why),
		             "an answer without its reason");
}

static void rows(struct probe_ctx *ctx)
{
	struct rows_order o;
	struct rows_pledge p;
	struct rows_answer a;

	if (rows_recv_order(ctx, 0, &o) == ST_OK)
		fuzz_promise(o.step < ROWS_STEPS, "a step");
	if (rows_recv_pledge(ctx, 1, 0, &p) == ST_OK)
		for (int i = 0; i < p.n_cards; i++)
			fuzz_promise(p.cards[i].id && (p.cards[i].why || p.cards[i].root),
			             "a card without name or root");
	if (rows_recv_answer(ctx, 1, 0, &a) == ST_OK) {
		fuzz_promise(a.depth <= ROWS_DEPTH_MOST, "depth");
		rows_tree_holds(a.depth ? a.proof[0] : "", 0, a.row, a.bytes, a.proof, a.depth);
	}
}

static void training(struct probe_ctx *ctx)
{
	struct training_order o;
	struct training_answer a;

	if (training_recv_order(ctx, 0, &o) == ST_OK)
		fuzz_promise(o.step < TRAINING_STEPS && o.mode < TRAINING_MODES && o.steps >= 0,
		             "an order");
	training_recv_answer(ctx, 1, 0, &a);
	fuzz_promise(a.outcome == OUTCOME_MEASURED || a.why, "an answer without its reason");
	for (int i = 0; i < a.n_steps; i++)
		fuzz_promise(a.steps[i] > 0, "a step that took no time");
}

static void storage(struct probe_ctx *ctx)
{
	struct all_order o;
	struct all_answer a;

	if (all_recv_order(ctx, 0, &o) == ST_OK)
		fuzz_promise(o.depth >= 0 && o.bytes >= 0 && isfinite(o.at_s), "an order");
	all_recv_answer(ctx, 1, 0, &a);
	fuzz_promise(a.outcome == OUTCOME_MEASURED || a.why, "an answer without its reason");
	fuzz_promise(a.share.ios >= 0 && a.bytes >= 0 && a.room >= 0, "figures that cannot be");
}

static void frameworks(struct probe_ctx *ctx)
{
	struct fwn_order o;
	struct fwn_answer a;

	if (fwn_recv_order(ctx, 0, &o) == ST_OK && o.step == FWN_RUN)
		fuzz_promise(o.port > 0 && o.port < 65536 && o.first < o.size && o.seconds > 0,
		             "a job that cannot be");
	fuzz_promise(fwn_recv_answer(ctx, 1, 0, &a), "nothing came");
	fuzz_promise(a.outcome == OUTCOME_MEASURED || a.why, "an answer without its reason");
}

static double second(struct probe_ctx *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return 1;
}

/* Rank 0 among nodes of which each has two rails. */
static void patterns(struct probe_ctx *ctx)
{
	struct patterns_node n = {.ctx = ctx, .n_rails = 2};
	struct patterns_lead lead = {.n = &n, .ctx = ctx};

	patterns_hear_all(&lead);
	fuzz_promise(lead.rails <= 2, "more rails than all have");
}

static void parts(struct probe_ctx *ctx, const char *text)
{
	struct json_doc doc;
	struct net net = {.ctx = ctx, .self = 0, .other = 1};
	struct net_offer offer;
	struct net_fault fault = {0};
	struct patterns_peer peer = {0};
	const char *const *args;
	struct identity ids[2] = {{.host = "a",
	                           .version = "1",
	                           .program = "",
	                           .machine_id = "",
	                           .boot_id = "",
	                           .options = ""}};
	const char *names[2];
	enum outcome outcome;
	enum msg id;

	if (json_parse(&doc, "text", text, strlen(text), JSON_STRICT, NULL) != ST_OK)
		return;
	if (net_offer_read(&offer, ctx->arena, doc.root))
		fuzz_promise(offer.port > 0 && strlen(offer.token) == NET_TOKEN, "an offer");
	if (net_fault_read(ctx, doc.root, &outcome, &id, &args))
		net_fault_list(ctx, &fault, outcome, id, args);
	identity_parse(&ids[1], ctx->arena, doc.root);
	hello_check(ids, 2, names, ctx->arena);
	patterns_rdma_read(ctx, &peer, json_get(doc.root, "rails"));
	fuzz_promise(peer.n_rails <= PATTERNS_RAILS, "a rail too many");
	for (int i = 0; i < peer.n_rails; i++)
		fuzz_promise(peer.rails[i].n_qpn <= VERBS_QPS_MOST, "a queue pair too many");
	json_release(&doc);
	net_hear(&net, text);
	for (int d = 0; d < 2; d++)
		for (int i = 1; i < net.flows[d].n_points; i++)
			fuzz_promise(net.flows[d].points[i].ns >= net.flows[d].points[i - 1].ns,
			             "time that runs backwards");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const peers[PEERS] = {"n1", "n2", "n3", "n4"};
	struct arena arena = {0};
	struct probe_ctx ctx = {.arena = &arena,
	                        .peers = peers,
	                        .n_peers = PEERS,
	                        .recv_text = receive,
	                        .param_real = second};

	text_of_peer = arena_strn(&arena, (const char *)data, len);
	nodes(&ctx);
	rows(&ctx);
	training(&ctx);
	storage(&ctx);
	frameworks(&ctx);
	patterns(&ctx);
	parts(&ctx, text_of_peer);
	arena_release(&arena);
	return 0;
}
