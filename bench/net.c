/* net: what TCP carries between two nodes, over plain sockets and on any machine:
 * bandwidth both ways one after the other, its worst second, and the latency of a
 * small message. RDMA on the same pair is later compared with it. */
#include "net.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_LEAST 4096
#define BLOCK_MOST  (16 << 20)
/* The text of ten points a second has to fit into one message. */
#define SECONDS_MOST 120
#define STREAMS_MOST 64
/* Texts go by way of the first rank. */
#define TEXT_S 2

void net_fault_list(struct probe_ctx *ctx, struct net_fault *fault, enum outcome why, enum msg id,
                    const char *const *args)
{
	if (fault->reason.code)
		return;
	fault->outcome = why;
	reason_set_list(ctx, &fault->reason, id, args);
}

int64_t net_until(const struct net *n, double seconds)
{
	int64_t until = clock_now(n->ctx->clock) + (int64_t)(seconds * 1e9);

	return until < n->ctx->deadline_ns ? until : n->ctx->deadline_ns;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void measure(struct net *n)
{
	struct probe_ctx *ctx = n->ctx;
	bool going = net_latency(n);

	for (int d = 0; d < 2 && going; d++) {
		ctx->progress(ctx, STAGE_MEASURING, d / 2.0, MSG_doing_net);
		going = net_flow(n, d);
	}
}

/* The other one's half; without it nothing that it received or was is known. */
static void await_text(struct net *n)
{
	struct probe_ctx *ctx = n->ctx;
	const char *text;
	/* It may still wait for us before it knows. */
	double seconds = (n->trouble.reason.code ? n->silence_s : 0) + TEXT_S;

	if (ctx->recv_text(ctx, n->other, seconds, &text) == ST_OK && net_hear(n, text))
		return;
	net_blame(n, &n->trouble, OUTCOME_NOT_MEASURED, MSG_net_peer_gone, ctx->peers[n->self],
	          ctx->peers[n->other], strerror(ETIMEDOUT));
}

static struct net net_new(struct probe_ctx *ctx)
{
	const char *only = ctx->param_word(ctx, "interface");
	struct net n = {.ctx = ctx,
	                .self = ctx->self_index,
	                .other = !ctx->self_index,
	                .streams = (int)ctx->param_int(ctx, "streams"),
	                .pings = (int)ctx->param_int(ctx, "pings"),
	                .block = (size_t)ctx->param_int(ctx, "block"),
	                .seconds = ctx->param_real(ctx, "seconds"),
	                .ramp_s = ctx->param_real(ctx, "ramp_s"),
	                .silence_s = ctx->param_real(ctx, "silence_s"),
	                .meet_s = ctx->param_real(ctx, "meet_s"),
	                .only = *only ? only : NULL,
	                .listener = -1,
	                .control = -1,
	                .seed = ctx->seed};

	for (int d = 0; d < 2; d++)
		n.flows[d] = (struct net_flow){.cpu_s = {NAN, NAN}, .tcp.retransmits = -1};
	n.mine = net_addresses_read(ctx->arena, ctx->sys_root, n.only);
	return n;
}

static enum status run(struct probe_ctx *ctx)
{
	enum status st = ST_OK;
	struct net n;

	if (ctx->n_peers != 2)
		return ST_USAGE;
	n = net_new(ctx);
	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_doing_net_meet);
	if (net_meet(&n))
		measure(&n);
	/* If it waits for us it need not any longer. */
	if (n.trouble.reason.code)
		close_fd(&n.control);
	if (n.self == 1 && (n.ends[1].text || n.trouble.reason.code))
		net_tell(&n);
	if (n.self == 0 && !n.heard && n.ends[0].text)
		await_text(&n);
	if (n.self == 0)
		st = net_emit(&n);
	close_fd(&n.control);
	close_fd(&n.listener);
	samples_release(&n.latency);
	return st;
}

static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

static double duration(struct probe_ctx *ctx)
{
	return 2 * (ctx->param_real(ctx, "seconds") + ctx->param_real(ctx, "ramp_s")) + 1;
}

static const struct param params[] = {
	{"streams", PARAM_INT, "1", {"4", "4", "4"}, 1, STREAMS_MOST, NULL, MSG_help_net_streams},
	{"block",
         PARAM_SIZE,
         "B",
         {"131072", "131072", "131072"},
         BLOCK_LEAST,
         BLOCK_MOST,
         NULL,
         MSG_help_net_block},
	{"seconds",
         PARAM_REAL,
         "s",
         {"0.5", "2", "10"},
         0.1,
         SECONDS_MOST,
         NULL,
         MSG_help_net_seconds},
	{"ramp_s", PARAM_REAL, "s", {"0.2", "0.5", "1"}, 0, 60, NULL, MSG_help_net_ramp},
	{"pings", PARAM_INT, "1", {"200", "1000", "5000"}, 10, 1000000, NULL, MSG_help_net_pings},
	{"interface", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_net_interface},
	{"meet_s", PARAM_REAL, "s", {"10", "10", "10"}, 0.1, 600, NULL, MSG_help_net_meet},
	{"silence_s", PARAM_REAL, "s", {"5", "5", "5"}, 0.1, 600, NULL, MSG_help_net_silence},
	{0},
};

#define PAIR_METRIC(name, unit, better, formula)                                                   \
	{                                                                                          \
		name, unit, BETTER_##better, SUBJECT_PAIR, BACKEND_ANY, formula                    \
	}

static const struct metric metrics[] = {
	PAIR_METRIC(
		"net_tcp_gbps", "Gb/s", HIGHER,
		"8 x bytes that arrived / seconds by the receiver's clock, all streams, one way"),
	PAIR_METRIC("net_tcp_worst_second", "1", HIGHER,
                    "lowest rate of a whole second / mean rate, one way"),
	PAIR_METRIC("net_tcp_latency_us", "us", LOWER,
                    "median of half the round trip of 64 bytes, TCP_NODELAY"),
	PAIR_METRIC("net_tcp_p99_us", "us", LOWER,
                    "99th percentile of half the round trip of 64 bytes, TCP_NODELAY"),
	{0},
};

const struct probe probe_net = {
	.name = "net",
	.title = MSG_probe_net,
	.subject = SUBJECT_PAIR,
	.phase = "pairs",
	.exclusive = true,
	.seconds = {2.4, 6, 23},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.each_way = (const char *const[]){"net_tcp_gbps", "net_tcp_worst_second", NULL},
	.supported = supported,
	.run = run,
};
