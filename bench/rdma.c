/* rdma: what RDMA carries between two nodes, by verbs: write, read and send on reliable
 * connections, latency and bandwidth, each adapter with its partner on the other node,
 * the memory of hosts and, where there are any, of cards. */
#include "rdma.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "hw/sysfs.h"

/* The text of ten points a second has to fit into one message. */
#define SECONDS_MOST 60
#define QPS_MOST     (VERBS_QPS_MOST - 1) /* one is for latency */

void rdma_blame_list(struct rdma *r, struct net_fault *fault, enum outcome why, enum msg id,
                     const char *const *args)
{
	if (fault->reason.code)
		return;
	fault->outcome = why;
	reason_set_list(r->ctx, &fault->reason, id, args);
}

/* --- a rail -------------------------------------------------------------------------------- */

/* The processors near the adapter, where the kernel says which: what is far costs
 * latency that is not the fabric's. */
static void go_near(struct rdma *r, const struct rdma_port *p)
{
	int cpus[CPU_SETSIZE], n;
	cpu_set_t set;

	if (p->numa_node < 0 || *r->ctx->sys_root)
		return;
	n = cpu_list_parse(sys_text(r->ctx->arena, "", "/sys/devices/system/node/node%d/cpulist",
	                            p->numa_node),
	                   cpus, CPU_SETSIZE);
	CPU_ZERO(&set);
	for (int i = 0; i < n; i++)
		CPU_SET((size_t)cpus[i] % CPU_SETSIZE, &set);
	/* Where that is not allowed it goes on from where it is. */
	if (n > 0)
		sched_setaffinity(0, sizeof(set), &set);
}

static const struct rdma_flow *best_of(const struct rdma_rail *rail)
{
	const struct rdma_flow *best = &rail->sweep[0];

	for (int i = 1; i < rail->n_sweep; i++)
		if (rdma_gbps(&rail->sweep[i]) > rdma_gbps(best))
			best = &rail->sweep[i];
	return best;
}

/* The best of sizes and numbers of queue pairs; both ends know the figures. */
static bool sweep(struct rdma *r, struct rdma_rail *rail)
{
	bool going = true;

	for (int s = 0; s < r->n_sizes && going; s++)
		for (int q = 0; q < r->n_qps && going; q++)
			going = rdma_flow(r, rail, &rail->sweep[rail->n_sweep++], 0, VERBS_WRITE,
			                  (size_t)r->sizes[s], (int)r->qps[q], r->point_s);
	return going;
}

static bool measure(struct rdma *r, struct rdma_rail *rail)
{
	const struct rdma_flow *best;
	bool going = true;

	for (int op = 0; op < RDMA_OPS && going; op++)
		going = rdma_latency(r, rail, (enum verbs_op)op);
	if (!going || !sweep(r, rail))
		return false;
	best = best_of(rail);
	for (int op = 0; op < RDMA_OPS && going; op++)
		for (int d = 0; d < 2 && going; d++)
			going = rdma_flow(r, rail, &rail->flows[d][op], d, (enum verbs_op)op,
			                  best->size, best->qps,
			                  op == VERBS_WRITE ? r->seconds : r->others_s);
	return going;
}

static void measure_rail(struct rdma *r, struct rdma_rail *rail)
{
	cpu_set_t before;
	bool known = sched_getaffinity(0, sizeof(before), &before) == 0;

	if (rail->fault.reason.code)
		return;
	go_near(r, &rail->ends[r->self].at);
	rdma_counters_begin(r, rail);
	if (rdma_rail_open(r, rail))
		measure(r, rail);
	if (rail->up && !r->trouble.reason.code)
		rdma_counters_end(r, rail);
	rdma_rail_close(rail);
	if (known)
		sched_setaffinity(0, sizeof(before), &before);
}

static void measure_all(struct rdma *r)
{
	struct probe_ctx *ctx = r->ctx;

	for (int i = 0; i < r->n_rails && !r->trouble.reason.code; i++) {
		ctx->progress(ctx, STAGE_MEASURING, (double)i / r->n_rails, MSG_doing_rdma);
		measure_rail(r, &r->rails[i]);
	}
	if (!r->trouble.reason.code)
		rdma_gpu(r);
	if (r->tcp_s > 0 && !r->trouble.reason.code) {
		ctx->progress(ctx, STAGE_MEASURING, 1, MSG_doing_rdma_tcp);
		rdma_tcp(r);
	}
	if (r->tcp_s <= 0)
		rdma_blame(r, &r->tcp_fault, OUTCOME_NOT_MEASURED, MSG_rdma_no_tcp);
}

/* --- parameters -------------------------------------------------------------------------------- */

/* Numbers with commas between; validated by the row. Returns how many. */
static int numbers(struct probe_ctx *ctx, const char *name, int64_t list[RDMA_MOST], int64_t *most)
{
	const char *text = ctx->param_word(ctx, name);
	int n = 0;

	*most = 0;
	while (*text && n < RDMA_MOST) {
		char *end;

		list[n] = strtoll(text, &end, 10);
		*most = list[n] > *most ? list[n] : *most;
		n++;
		text = *end == ',' ? end + 1 : "";
	}
	return n;
}

static struct rdma rdma_new(struct probe_ctx *ctx)
{
	const char *devices = ctx->param_word(ctx, "devices");
	struct rdma r = {.ctx = ctx,
	                 .clock = ctx->clock,
	                 .self = ctx->self_index,
	                 .other = !ctx->self_index,
	                 .pings = (int)ctx->param_int(ctx, "pings"),
	                 .depth = (int)ctx->param_int(ctx, "depth"),
	                 .shift = (int)ctx->param_int(ctx, "shift"),
	                 .traffic_class = (int)ctx->param_int(ctx, "traffic_class"),
	                 .point_s = ctx->param_real(ctx, "point_s"),
	                 .seconds = ctx->param_real(ctx, "seconds"),
	                 .others_s = ctx->param_real(ctx, "others_s"),
	                 .silence_s = ctx->param_real(ctx, "silence_s"),
	                 .tcp_s = ctx->param_real(ctx, "tcp_s"),
	                 .devices = *devices ? devices : NULL,
	                 .tcp_gbps = {NAN, NAN},
	                 .tcp_cpu_s_per_gb = {NAN, NAN},
	                 .seed = ctx->seed};
	int64_t most;

	r.n_sizes = numbers(ctx, "sizes", r.sizes, &most);
	r.n_qps = numbers(ctx, "qps", r.qps, &most);
	r.most_qps = (int)most;
	/* Words of eight bytes are what is compared. */
	for (int i = 0; i < r.n_sizes; i++)
		r.sizes[i] &= ~(int64_t)7;
	return r;
}

static enum status run(struct probe_ctx *ctx)
{
	enum status st = ST_OK;
	struct rdma r;

	if (ctx->n_peers != 2)
		return ST_USAGE;
	r = rdma_new(ctx);
	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_doing_rdma_meet);
	if (rdma_meet(&r))
		measure_all(&r);
	if (r.self == 0)
		st = rdma_emit(&r);
	for (int i = 0; i < r.n_rails; i++)
		for (int o = 0; o < RDMA_OPS; o++)
			samples_release(&r.rails[i].latency[o]);
	for (int i = 0; i < r.n_gpu; i++)
		for (int o = 0; o < RDMA_OPS; o++)
			samples_release(&r.gpu[i].latency[o]);
	return st;
}

/* Always: that there is no adapter is a finding of the pair. */
static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

static double duration(struct probe_ctx *ctx)
{
	int64_t list[RDMA_MOST], most;
	int rails = 0, count, points = numbers(ctx, "sizes", list, &most);
	const struct rdma_port *ports = rdma_ports_read(ctx->arena, ctx->sys_root, &count);
	double tcp_s = ctx->param_real(ctx, "tcp_s");

	points *= numbers(ctx, "qps", list, &most);
	for (int i = 0; i < count; i++)
		rails += *ctx->param_word(ctx, "devices") ||
		         (ports[i].pci && rdma_port_active(&ports[i]));
	if (rails == 0)
		return 0.2;
	return rails * (1.5 + points * ctx->param_real(ctx, "point_s") +
	                2 * ctx->param_real(ctx, "seconds") +
	                4 * ctx->param_real(ctx, "others_s")) +
	       (tcp_s > 0 ? 2 * tcp_s + 1 : 0);
}

static const struct param params[] = {
	{"devices", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_rdma_devices},
	{"sizes",
         PARAM_INTS,
         "B",
         {"65536,1048576", "65536,1048576,8388608", "65536,1048576,8388608"},
         64,
         1 << 30,
         NULL,
         MSG_help_rdma_sizes},
	{"qps", PARAM_INTS, "1", {"1,4", "1,4,8", "1,4,8"}, 1, QPS_MOST, NULL, MSG_help_rdma_qps},
	{"point_s", PARAM_REAL, "s", {"0.05", "0.05", "0.5"}, 0.01, 60, NULL, MSG_help_rdma_point},
	{"seconds",
         PARAM_REAL,
         "s",
         {"0.5", "2", "10"},
         0.05,
         SECONDS_MOST,
         NULL,
         MSG_help_rdma_seconds},
	{"others_s", PARAM_REAL, "s", {"0.1", "0.25", "2"}, 0.01, 60, NULL, MSG_help_rdma_others},
	{"pings", PARAM_INT, "1", {"500", "1000", "5000"}, 20, 1000000, NULL, MSG_help_rdma_pings},
	{"depth", PARAM_INT, "1", {"128", "128", "128"}, 4, 4096, NULL, MSG_help_rdma_depth},
	{"shift", PARAM_INT, "1", {"0", "0", "0"}, 0, 64, NULL, MSG_help_rdma_shift},
	{"traffic_class", PARAM_INT, "1", {"0", "0", "0"}, 0, 255, NULL, MSG_help_rdma_class},
	{"tcp_s", PARAM_REAL, "s", {"0.3", "0.5", "2"}, 0, 60, NULL, MSG_help_rdma_tcp},
	{"meet_s", PARAM_REAL, "s", {"10", "10", "10"}, 0.1, 600, NULL, MSG_help_rdma_meet},
	{"silence_s", PARAM_REAL, "s", {"5", "5", "5"}, 0.1, 600, NULL, MSG_help_rdma_silence},
	{0},
};

#define PAIR_METRIC(name, unit, better, backend, formula)                                          \
	{                                                                                          \
		name, unit, BETTER_##better, SUBJECT_PAIR, BACKEND_##backend, formula              \
	}

static const struct metric metrics[] = {
	PAIR_METRIC("rdma_write_gbps", "Gb/s", HIGHER, ANY,
                    "8 x bytes / seconds of RDMA writes from host memory; the slower way"),
	PAIR_METRIC("rdma_expected_gbps", "Gb/s", NEITHER, ANY,
                    "line rate x payload share of a packet at the MTU in use; the slower end"),
	PAIR_METRIC("rdma_tcp_rate_ratio", "1", HIGHER, ANY,
                    "RDMA rate / TCP rate of the same pair"),
	PAIR_METRIC("rdma_gpu_write_gbps", "Gb/s", HIGHER, CUDA,
                    "8 x bytes / seconds of RDMA writes between card memories; the slower way"),
	PAIR_METRIC(
		"rdma_gpu_send_p99_us", "us", LOWER, CUDA,
		"99th percentile of half the round trip of an 8-byte send between card memories"),
	PAIR_METRIC("rdma_ends_agree", "1", NEITHER, ANY,
                    "1 if both ends of a rail are of one kind, GID type, subnet, rate and MTU"),
	PAIR_METRIC("rdma_nic_write_gbps", "Gb/s", HIGHER, ANY,
                    "8 x bytes / seconds of RDMA writes of one rail, one way, by the writer"),
	PAIR_METRIC("rdma_nic_worst_second", "1", HIGHER, ANY,
                    "lowest rate of a whole second / mean rate of these writes"),
	PAIR_METRIC("rdma_nic_read_gbps", "Gb/s", HIGHER, ANY,
                    "8 x bytes / seconds of RDMA reads of one rail, one way, by the reader"),
	PAIR_METRIC("rdma_nic_send_gbps", "Gb/s", HIGHER, ANY,
                    "8 x bytes / seconds of sends of one rail, one way, by the sender"),
	PAIR_METRIC("rdma_nic_one_qp_gbps", "Gb/s", NEITHER, ANY,
                    "best rate of writes with one queue pair; what one connection reaches"),
	PAIR_METRIC("rdma_write_latency_us", "us", LOWER, ANY,
                    "median of half the round trip of 8-byte writes, seen in memory"),
	PAIR_METRIC("rdma_read_latency_us", "us", LOWER, ANY,
                    "median of the round trip of 8-byte reads; not halved"),
	PAIR_METRIC("rdma_send_latency_us", "us", LOWER, ANY,
                    "median of half the round trip of 8-byte sends, by completions"),
	PAIR_METRIC("rdma_error_rises", "1", NEITHER, ANY,
                    "sum of what the error counters of both ends rose by meanwhile"),
	{0},
};

const struct probe probe_rdma = {
	.name = "rdma",
	.title = MSG_probe_rdma,
	.subject = SUBJECT_PAIR,
	.phase = "pairs",
	.exclusive = true,
	.seconds = {4, 9, 35},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.supported = supported,
	.run = run,
};
