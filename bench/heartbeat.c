/* heartbeat: a short look at whether a node's cards still work, for the watch, which
 * takes it every few minutes beside the customer's own work. A few megabytes and
 * milliseconds of each card: a triad by Assay's own kernel, checked, and what the
 * driver and the kernel counted since boot. Runs leave it out unless it is named. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "cards.h"
#include "hw/device_cuda.h"
#include "hw/host.h"
#include "hw/rdma_ports.h"
#include "hw/sysfs.h"
#include "inventory_xid.h"
#include "kernels/kernels.h"
#include "kernels/ptx.h"
#include "telemetry.h"

#define PASSES    4
#define CPU_STEPS 2000000

static struct reading node_reading(struct probe_ctx *ctx, const char *metric)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = SUBJECT_NODE;
	r.subject.id = ctx->node;
	return r;
}

static enum status emit_number(struct probe_ctx *ctx, struct reading *r, double value)
{
	r->value_kind = VALUE_NUMBER;
	r->value = value;
	return ctx->emit(ctx, r);
}

/* --- the node ------------------------------------------------------------------------ */

/* Multiply-adds that wait for each other: no compiler and no SIMD shortens them. */
static enum status emit_cpu(struct probe_ctx *ctx)
{
	struct reading r = node_reading(ctx, "heartbeat_cpu_ms");
	int64_t begin = clock_now(ctx->clock);
	volatile double x = 1;

	for (int i = 0; i < CPU_STEPS; i++)
		x = x * 0.999999 + 1e-6;
	return emit_number(ctx, &r, (double)(clock_now(ctx->clock) - begin) / 1e6);
}

static int64_t nic_downs(struct probe_ctx *ctx)
{
	int count;
	const struct host_nic *nics = host_nics_read(ctx->arena, ctx->sys_root, &count);
	int64_t sum = -1;

	for (int i = 0; i < count; i++) {
		int64_t downs =
			nics[i].is_virtual
				? -1
				: sys_number(-1, ctx->sys_root,
		                             "/sys/class/net/%s/carrier_down_count", nics[i].name);

		if (downs >= 0)
			sum = (sum < 0 ? 0 : sum) + downs;
	}
	return sum;
}

static int64_t rdma_downs(struct probe_ctx *ctx)
{
	int ports, count;
	const struct rdma_port *list = rdma_ports_read(ctx->arena, ctx->sys_root, &ports);
	int64_t sum = -1;

	for (int i = 0; i < ports; i++) {
		const struct rdma_counter *counters = rdma_counters_read(
			ctx->arena, ctx->sys_root, list[i].device, list[i].port, &count);

		for (int k = 0; k < count; k++)
			if (strcmp(counters[k].name, "link_downed") == 0)
				sum = (sum < 0 ? 0 : sum) + counters[k].value;
	}
	return sum;
}

static enum status emit_links(struct probe_ctx *ctx)
{
	struct reading r = node_reading(ctx, "heartbeat_link_downs");
	int64_t nics = nic_downs(ctx), rdma = rdma_downs(ctx);

	if (nics >= 0 || rdma >= 0)
		return emit_number(ctx, &r,
		                   (double)((nics < 0 ? 0 : nics) + (rdma < 0 ? 0 : rdma)));
	r.outcome = OUTCOME_NOT_MEASURED;
	reason_set(ctx, &r.reason, MSG_host_unreadable, "/sys/class/net");
	return ctx->emit(ctx, &r);
}

static enum status emit_xids(struct probe_ctx *ctx)
{
	struct reading r = node_reading(ctx, "heartbeat_xids");
	struct xid_log log = xid_read(ctx->arena, ctx->sys_root);
	int count = 0;

	for (int i = 0; i < log.n; i++)
		count += xid_blames_card(log.list[i].number);
	if (log.source)
		return emit_number(ctx, &r, count);
	r.outcome = OUTCOME_NOT_MEASURED;
	reason_set(ctx, &r.reason, MSG_host_unreadable, "/dev/kmsg");
	return ctx->emit(ctx, &r);
}

/* --- cards ---------------------------------------------------------------------------- */

struct small_triad {
	struct device_cuda *dev;
	struct device_buffer a, b, c;
	struct device_triad job;
};

static enum status open_triad(struct small_triad *t, struct card_unit *unit, struct error *err)
{
	struct device_cuda_request request = {
		.cuda = unit->cuda,
		.card = &unit->card,
		.where = unit->where,
		.code = {kernels_ptx, KERNEL_THREADS, KERNEL_BLOCKS_PER_SM},
	};
	size_t bytes =
		(size_t)((double)unit->ctx->param_int(unit->ctx, "size") / unit->memory_scale);
	struct device_buffer *buffers[] = {&t->a, &t->b, &t->c};
	enum status st = device_cuda_open(&t->dev, unit->ctx->arena, &request, err);

	bytes = bytes / 4096 * 4096 + 4096;
	for (int i = 0; i < 3 && st == ST_OK; i++)
		st = t->dev->device.ops->alloc(&t->dev->device, buffers[i], bytes, err);
	t->job = (struct device_triad){
		.a = &t->a, .b = &t->b, .c = &t->c, .n = bytes / sizeof(double), .scalar = 3};
	return st == ST_OK ? t->dev->device.ops->triad_fill(&t->dev->device, &t->job, err) : st;
}

static void close_triad(struct small_triad *t)
{
	struct device_buffer *buffers[] = {&t->a, &t->b, &t->c};

	if (!t->dev)
		return;
	for (int i = 0; i < 3; i++)
		if (buffers[i]->data)
			t->dev->device.ops->release(&t->dev->device, buffers[i]);
	t->dev->device.ops->close(&t->dev->device);
}

static enum status emit_kernel(struct card_unit *unit)
{
	struct reading r = card_reading(unit, "heartbeat_kernel_ms");
	struct small_triad t = {0};
	struct error err = {0};
	int64_t wrong = 0;
	double seconds = 0;
	enum status st = open_triad(&t, unit, &err);

	if (st == ST_OK)
		st = t.dev->device.ops->triad(&t.dev->device, &t.job, PASSES, &seconds, &err);
	if (st == ST_OK)
		st = t.dev->device.ops->triad_check(&t.dev->device, &t.job, &wrong, &err);
	if (st != ST_OK) {
		card_refuse(unit, &r, t.dev ? device_cuda_fault(t.dev) : unit->cuda->fault, &err);
	} else if (wrong) {
		r.outcome = OUTCOME_FAILED;
		reason_set(unit->ctx, &r.reason, MSG_membw_wrong, tmpf("%lld", (long long)wrong),
		           tmpf("%zu", t.job.n), "1");
	} else {
		r.value_kind = VALUE_NUMBER;
		r.value = seconds / PASSES * 1e3;
	}
	close_triad(&t);
	error_release(&err);
	return unit->ctx->emit(unit->ctx, &r);
}

static enum status emit_ecc(struct card_unit *unit)
{
	struct reading r = card_reading(unit, "heartbeat_ecc");
	struct telemetry telemetry;
	nvml_result code = NVML_NOT_SUPPORTED;
	int64_t count = -1;

	telemetry_open(&telemetry, unit->ctx->arena, unit->where, unit->ctx->clock, unit->card.pci);
	if (telemetry.ready)
		count = telemetry_ecc(&telemetry, &code);
	if (count >= 0) {
		r.value_kind = VALUE_NUMBER;
		r.value = (double)count;
	} else {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(unit->ctx, &r.reason, MSG_card_refused, unit->card.uuid,
		           telemetry.ready ? tmpf("NVML %d", (int)code) : telemetry.why);
	}
	telemetry_close(&telemetry);
	return unit->ctx->emit(unit->ctx, &r);
}

static enum status measure(struct card_unit *unit)
{
	enum status st = emit_kernel(unit);

	return st == ST_OK ? emit_ecc(unit) : st;
}

/* --- running ---------------------------------------------------------------------------- */

static enum status cards(struct probe_ctx *ctx)
{
	const char *subject = ctx->subject_id;
	enum status st;

	if (!cards_have_driver(ctx))
		return cards_owe(ctx);
	ctx->subject_id = CARDS_ALL;
	st = cards_each(ctx, measure);
	ctx->subject_id = subject;
	return st;
}

static enum status run(struct probe_ctx *ctx)
{
	enum status st = emit_cpu(ctx);

	if (st == ST_OK)
		st = emit_links(ctx);
	if (st == ST_OK)
		st = emit_xids(ctx);
	return st == ST_OK ? cards(ctx) : st;
}

static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

static const struct param params[] = {
	{"size", PARAM_SIZE, "B", {"4M", "4M", "4M"}, 4096, 1e12, NULL, MSG_help_heartbeat_size},
	{0},
};

static const struct metric metrics[] = {
	{"heartbeat_kernel_ms", "ms", BETTER_NEITHER, SUBJECT_CARD, BACKEND_CUDA,
         "time of one pass of a small triad, mean of 4, by events; its result is checked"},
	{"heartbeat_ecc", "1", BETTER_LOWER, SUBJECT_CARD, BACKEND_CUDA,
         "uncorrected memory errors since the driver loaded, by NVML"},
	{"heartbeat_cpu_ms", "ms", BETTER_NEITHER, SUBJECT_NODE, BACKEND_ANY,
         "time of 2,000,000 multiply-adds that wait for each other, on one CPU"},
	{"heartbeat_link_downs", "1", BETTER_LOWER, SUBJECT_NODE, BACKEND_ANY,
         "times a network link went down since boot: carrier_down_count of all NICs + link_downed "
         "of "
         "all RDMA ports"},
	{"heartbeat_xids", "1", BETTER_LOWER, SUBJECT_NODE, BACKEND_ANY,
         "Xids in the kernel's log since boot, without those that programs cause"},
	{0},
};

const struct probe probe_heartbeat = {
	.name = "heartbeat",
	.title = MSG_probe_heartbeat,
	.subject = SUBJECT_NODE,
	.phase = "watch",
	.seconds = {1, 1, 1},
	.params = params,
	.metrics = metrics,
	.supported = supported,
	.run = run,
};
