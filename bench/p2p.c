/* p2p: what the cards of a node can do to each other's memory: bandwidth pushed
 * and pulled, by copy engines and by SMs, one way and both, the latency of a flag,
 * of a load and of a copy; and what each gets from and to the host. One reading a
 * metric, the matrix of all pairs in its raw file. Cards that cannot reach each
 * other are said to be so: copies through the host would pass for slow ones. */
#include "p2p.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

/* Bytes of a copy on stand-ins, unless fewer are asked for: below that, starting a
 * copy takes longer than the copy. */
#define LEAST_BYTES ((uint64_t)2 << 20)
/* Of the table, by the metric of each kind. */
static const struct {
	const char *metric;
	bool mutual; /* has no way: one half of the matrix */
} kinds[P2P_KINDS] = {
	[P2P_CE_PUSH] = {"p2p_ce_push_gbs", false}, [P2P_SM_PUSH] = {"p2p_sm_push_gbs", false},
	[P2P_FLAG] = {"p2p_flag_oneway_us", true},  [P2P_CE_PULL] = {"p2p_ce_pull_gbs", false},
	[P2P_SM_PULL] = {"p2p_sm_pull_gbs", false}, [P2P_CE_BOTH] = {"p2p_ce_both_gbs", true},
	[P2P_SM_BOTH] = {"p2p_sm_both_gbs", true},  [P2P_CHASE] = {"p2p_chase_ns", false},
	[P2P_COPY] = {"p2p_copy_us", false},
};

/* --- matrices ----------------------------------------------------------------------- */

static struct p2p_cell *cells_new(struct p2p *p)
{
	size_t n = (size_t)p->team.count;

	return arena_array(p->team.ctx->arena, n * n, sizeof(struct p2p_cell));
}

static void cells_release(struct p2p *p, struct p2p_cell *cells)
{
	for (int k = 0; k < p->team.count * p->team.count; k++)
		samples_release(&cells[k].samples);
}

static enum status measure_kind(struct p2p *p, enum p2p_kind kind, struct p2p_cell *cells)
{
	int n = p->team.count, pairs = n * (n - 1) / (kinds[kind].mutual ? 2 : 1), done = 0;

	for (int a = 0; a < n; a++)
		for (int b = kinds[kind].mutual ? a + 1 : 0; b < n; b++) {
			if (a == b)
				continue;
			p->team.ctx->progress(p->team.ctx, STAGE_MEASURING,
			                      (kind + (double)done++ / pairs) / P2P_KINDS,
			                      MSG_doing_p2p);
			p2p_measure(p, kind, a, b, &cells[a * n + b]);
		}
	return p2p_emit(p, kinds[kind].metric, cells);
}

/* The better of copy engine and SM for every pair; a pair that either could not
 * do is not done. */
static enum status emit_better(struct p2p *p, const char *metric, const struct p2p_cell *ce,
                               const struct p2p_cell *sm)
{
	int n = p->team.count;
	struct p2p_cell *best = cells_new(p);

	for (int k = 0; k < n * n; k++) {
		const struct p2p_cell *from = &ce[k];

		if (sm[k].outcome != OUTCOME_MEASURED ||
		    (ce[k].outcome == OUTCOME_MEASURED && sm[k].value > ce[k].value))
			from = &sm[k];
		best[k] = *from;
	}
	return p2p_emit(p, metric, best);
}

static enum status measure_pairs(struct p2p *p)
{
	struct p2p_cell *cells[P2P_KINDS];
	enum status st = ST_OK;

	for (int k = 0; k < P2P_KINDS; k++)
		cells[k] = cells_new(p);
	for (int k = 0; k < P2P_KINDS && st == ST_OK; k++) {
		st = measure_kind(p, (enum p2p_kind)k, cells[k]);
		if (st == ST_OK && k == P2P_SM_PUSH)
			st = emit_better(p, "p2p_push_gbs", cells[P2P_CE_PUSH], cells[P2P_SM_PUSH]);
		if (st == ST_OK && k == P2P_SM_PULL)
			st = emit_better(p, "p2p_pull_gbs", cells[P2P_CE_PULL], cells[P2P_SM_PULL]);
	}
	for (int k = 0; k < P2P_KINDS; k++)
		cells_release(p, cells[k]);
	return st;
}

/* --- the node -------------------------------------------------------------------------- */

static bool any_path(const struct p2p *p)
{
	for (int k = 0; k < p->team.count * p->team.count; k++)
		if (p->reach[k])
			return true;
	return false;
}

static enum status emit_none(struct p2p *p, enum msg why)
{
	struct reason reason;
	enum status st = ST_OK;

	reason_set(p->team.ctx, &reason, why);
	for (const struct metric *m = p->team.ctx->probe->metrics; m->name && st == ST_OK; m++)
		if (m->subject == SUBJECT_LINK)
			st = p2p_emit_none(p, m->name, &reason);
	return st;
}

/* Cards without NVLink that were never meant to reach each other are not at
 * fault; if some of them can, the others are. */
static enum status measure_links(struct p2p *p, const struct p2p_links *before)
{
	enum status st;

	if (p->team.count < 2)
		st = emit_none(p, MSG_p2p_one_card);
	else if (!any_path(p) && team_able(&p->team) == p->team.count &&
	         !p2p_links_built(p, before))
		st = emit_none(p, MSG_p2p_not_built);
	else
		st = measure_pairs(p);
	return st == ST_OK ? p2p_links_emit(p, before, p2p_links_read(p)) : st;
}

static enum status measure_node(struct p2p *p)
{
	struct probe_ctx *ctx = p->team.ctx;
	size_t n = (size_t)p->team.count;
	uint64_t asked = (uint64_t)ctx->param_int(ctx, "bytes");
	uint64_t bytes = (uint64_t)((double)asked / p->team.memory_scale);
	uint64_t least = asked < LEAST_BYTES ? asked : LEAST_BYTES;
	struct p2p_links *before;
	enum status st;

	p->bytes = (bytes < least ? least : bytes) / 4096 * 4096;
	p->samples = (int)ctx->param_int(ctx, "samples");
	p->window_s = ctx->param_real(ctx, "window_s");
	p->cards = arena_array(ctx->arena, n, sizeof(*p->cards));
	p->reach = arena_array(ctx->arena, n * n, sizeof(*p->reach));
	p->stays = arena_array(ctx->arena, n * n, sizeof(*p->stays));
	p2p_open_cards(p);
	p2p_open_paths(p);
	before = p2p_links_read(p);
	st = p2p_pcie_emit(p);
	if (st == ST_OK)
		st = measure_links(p, before);
	p2p_close_cards(p);
	return st;
}

/* --- the probe --------------------------------------------------------------------------- */

/* What is owed when no card can be opened at all. */
static enum status owe(struct p2p *p, const struct error *err)
{
	struct probe_ctx *ctx = p->team.ctx;
	const struct gpu_cause *cause = p->team.cuda.fault;
	enum status st = ST_OK;

	for (const struct metric *m = ctx->probe->metrics; m->name && st == ST_OK; m++) {
		struct reading r = reading_init();

		r.metric = m->name;
		r.subject.kind = m->subject;
		r.subject.id = CARDS_ALL;
		r.outcome = err->status == ST_TIMEOUT ? OUTCOME_TIMED_OUT
		            : cause                   ? cause->outcome
		                                      : OUTCOME_NOT_MEASURED;
		reason_set(ctx, &r.reason, MSG_card_refused, ctx->node, str_text(&err->text));
		st = ctx->emit(ctx, &r);
	}
	return st;
}

static enum status run(struct probe_ctx *ctx)
{
	/* A thread that hangs may still look at it. */
	struct p2p *p = arena_alloc(ctx->arena, sizeof(*p));
	struct error err = {0};
	enum status st;

	*p = (struct p2p){0};
	ctx->progress(ctx, STAGE_LOADING, -1, MSG_doing_load);
	st = team_open(&p->team, ctx, ctx->param_real(ctx, "hang_s"), &err);
	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_doing_p2p);
	if (st == ST_OK) {
		st = measure_node(p);
		team_close(&p->team);
	} else {
		st = owe(p, &err);
	}
	error_release(&err);
	return st;
}

/* Pairs of the cards that can be counted without a driver; the host's path. */
static double duration(struct probe_ctx *ctx)
{
	const char *const *all = cards_gpus(ctx);
	double window = ctx->param_real(ctx, "window_s"), n = 0;
	double samples = 1 + (double)ctx->param_int(ctx, "samples");

	while (all[(int)n])
		n++;
	/* Seven kinds of copies, latencies of some milliseconds, checks as long again. */
	return 5 + n * (n - 1) * samples * (6 * 2 * window + 3 * 0.02) + n * 2 * samples * 0.1;
}

static const struct param params[] = {
	{"bytes",
         PARAM_SIZE,
         "B",
         {"268435456", "268435456", "536870912"},
         65536,
         1e11,
         NULL,
         MSG_help_p2p_bytes},
	{"samples", PARAM_INT, "1", {"3", "10", "30"}, 1, 10000, NULL, MSG_help_p2p_samples},
	{"window_s",
         PARAM_REAL,
         "s",
         {"0.01", "0.02", "0.02"},
         1e-6,
         60,
         NULL,
         MSG_help_p2p_window},
	{"hang_s", PARAM_REAL, "s", {"10", "10", "30"}, 0.01, 3600, NULL, MSG_help_hang},
	{0},
};

#define LINK_METRIC(name, unit, better, formula)                                                   \
	{                                                                                          \
		name, unit, BETTER_##better, SUBJECT_LINK, BACKEND_CUDA,                           \
			formula "; the worst pair"                                                 \
	}
#define CARD_METRIC(name, unit, better, formula)                                                   \
	{                                                                                          \
		name, unit, BETTER_##better, SUBJECT_CARD, BACKEND_CUDA, formula                   \
	}

static const struct metric metrics[] = {
	LINK_METRIC("p2p_push_gbs", "GB/s", HIGHER,
                    "bytes / seconds of one card writing to another, better of copy engine and SM"),
	LINK_METRIC("p2p_pull_gbs", "GB/s", HIGHER,
                    "bytes / seconds of one card reading another, better of copy engine and SM"),
	LINK_METRIC("p2p_ce_push_gbs", "GB/s", HIGHER,
                    "bytes / seconds of a copy engine writing to another card"),
	LINK_METRIC("p2p_ce_pull_gbs", "GB/s", HIGHER,
                    "bytes / seconds of a copy engine reading another card"),
	LINK_METRIC("p2p_sm_push_gbs", "GB/s", HIGHER,
                    "bytes / seconds of all SMs of a card writing to another"),
	LINK_METRIC("p2p_sm_pull_gbs", "GB/s", HIGHER,
                    "bytes / seconds of all SMs of a card reading another"),
	LINK_METRIC(
		"p2p_ce_both_gbs", "GB/s", HIGHER,
		"bytes of both ways / seconds till the later is done, both cards' engines push"),
	LINK_METRIC("p2p_sm_both_gbs", "GB/s", HIGHER,
                    "bytes of both ways / seconds, half the warps of one card push, half pull"),
	LINK_METRIC("p2p_flag_oneway_us", "us", LOWER,
                    "half the round trip of a flag written by an SM and answered by the peer"),
	LINK_METRIC("p2p_chase_ns", "ns", LOWER,
                    "seconds / loads of one thread that follows a ring in the other's memory; not "
                    "halved"),
	LINK_METRIC("p2p_copy_us", "us", LOWER,
                    "seconds / copies of 16 bytes by a copy engine, one after another; not halved"),
	CARD_METRIC("p2p_nvlink_dropped", "1", LOWER,
                    "NVLinks that were up before the copies and not after"),
	CARD_METRIC("p2p_nvlink_recoveries", "1", LOWER,
                    "recoveries of the card's NVLinks counted during the copies"),
	CARD_METRIC(
		"p2p_nvlink_errors", "1", LOWER,
		"replays and CRC and ECC errors of the card's NVLinks counted during the copies"),
	CARD_METRIC("pcie_h2d_gbs", "GB/s", HIGHER,
                    "bytes / seconds of a copy from pinned memory of the near socket"),
	CARD_METRIC("pcie_d2h_gbs", "GB/s", HIGHER,
                    "bytes / seconds of a copy to pinned memory of the near socket"),
	CARD_METRIC("pcie_rate_gbs", "GB/s", NEITHER,
                    "lanes x transfer rate x coding of the PCIe slot and card as built, one way"),
	{0},
};

const struct probe probe_p2p = {
	.name = "p2p",
	.title = MSG_probe_p2p,
	.subject = SUBJECT_LINK,
	.phase = "cards",
	.exclusive = true,
	.seconds = {30, 90, 300},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.supported = cards_support,
	.run = run,
};
