/* What NVML knows of the roads between cards: NVLinks that are up and the errors
 * they counted, before and after they were loaded, and what the PCIe slot and card
 * are built for. An error that a link repairs costs little and shows in no figure. */
#include "p2p.h"

#include <string.h>

#include "inventory.h"
#include "stats/summary.h"

#define COUNTERS 5

static const struct {
	const char *name;
	nvml_link_error kind;
	unsigned field; /* where newer cards tell it for all links; 0: nowhere */
} counters[COUNTERS] = {
	{"recovery", NVML_LINK_RECOVERY, NVML_FIELD_LINK_RECOVERY},
	{"replay", NVML_LINK_REPLAY, NVML_FIELD_LINK_REPLAY},
	{"crc_flit", NVML_LINK_CRC_FLIT, NVML_FIELD_LINK_CRC_FLIT},
	{"crc_data", NVML_LINK_CRC_DATA, 0},
	{"ecc", NVML_LINK_ECC, 0},
};

struct card_links {
	nvml_result code; /* of the number of links */
	int count, up;
	nvml_result counted[COUNTERS];
	int64_t errors[COUNTERS][NVML_LINK_LIMIT]; /* by link; in [0] for all, from a field */
};

struct p2p_links {
	struct card_links *cards;
};

struct job {
	struct p2p *p;
	struct card_links *links;
	int card;
};

/* --- reading --------------------------------------------------------------------- */

static nvml_result read_counter(const struct nvml *nvml, nvml_device dev, int which,
                                struct card_links *l)
{
	nvml_result code = NVML_NOT_SUPPORTED;

	for (int i = 0; i < l->count; i++) {
		unsigned long long count = 0;

		code = NVML_ASK(nvml, link_errors, dev, (unsigned)i, counters[which].kind, &count);
		if (code != NVML_OK)
			break;
		l->errors[which][i] = count > INT64_MAX ? INT64_MAX : (int64_t)count;
	}
	if (code == NVML_OK || code == NVML_GPU_LOST || !counters[which].field)
		return code;
	memset(l->errors[which], 0, sizeof(l->errors[which]));
	return nvml_field_read(nvml, dev, counters[which].field, NVML_ALL_LINKS,
	                       &l->errors[which][0]);
}

static enum status read_links(struct team *team, void *arg, struct error *err)
{
	struct job *job = arg;
	const struct team_card *c = &team->cards[job->card];
	struct card_links *l = job->links;
	nvml_enable state;

	(void)err;
	team->at = job->card;
	l->code = nvml_links(&team->nvml, c->nv, &l->count);
	if (l->code == NVML_OK && l->count == 0)
		l->code = NVML_NOT_SUPPORTED;
	if (l->code != NVML_OK)
		return ST_OK;
	l->count = l->count < NVML_LINK_LIMIT ? l->count : NVML_LINK_LIMIT;
	/* Asleep is up, and wakes by itself. */
	for (int i = 0; i < l->count; i++)
		l->up += NVML_ASK(&team->nvml, link_state, c->nv, (unsigned)i, &state) == NVML_OK &&
		         state != NVML_LINK_DOWN;
	for (int k = 0; k < COUNTERS; k++)
		l->counted[k] = read_counter(&team->nvml, c->nv, k, l);
	return ST_OK;
}

struct p2p_links *p2p_links_read(struct p2p *p)
{
	struct arena *arena = p->team.ctx->arena;
	struct p2p_links *links = arena_alloc(arena, sizeof(*links));
	struct error err = {0};

	links->cards = arena_array(arena, (size_t)p->team.count, sizeof(*links->cards));
	for (int i = 0; i < p->team.count; i++) {
		struct job *job = arena_alloc(arena, sizeof(*job));

		*job = (struct job){p, &links->cards[i], i};
		memset(job->links, 0, sizeof(*job->links));
		job->links->code = NVML_UNKNOWN;
		if (p->team.cards[i].in_nvml && team_has(&p->team, i))
			team_run(&p->team, read_links, job, i, -1, &err);
	}
	error_release(&err);
	return links;
}

bool p2p_links_built(const struct p2p *p, const struct p2p_links *links)
{
	for (int i = 0; i < p->team.count; i++)
		if (links->cards[i].code == NVML_OK && links->cards[i].count > 0)
			return true;
	return false;
}

/* --- readings ---------------------------------------------------------------------- */

static enum status emit_code(struct p2p *p, int card, struct reading *r, nvml_result code,
                             const char *call)
{
	const struct gpu_cause *cause = nvml_cause(code);
	struct probe_ctx *ctx = p->team.ctx;

	r->outcome = OUTCOME_NOT_MEASURED;
	if (!team_has(&p->team, card)) {
		team_refuse(&p->team, card, r);
	} else if (!p->team.has_nvml) {
		reason_set(ctx, &r->reason, MSG_gpu_library_unusable, "libnvidia-ml.so.1",
		           p->team.no_nvml);
	} else if (cause) {
		r->outcome = cause->outcome;
		reason_set_list(ctx, &r->reason, cause->why, (const char *const[]){call, NULL});
	} else {
		reason_set(ctx, &r->reason, MSG_telemetry_silent);
	}
	return ctx->emit(ctx, r);
}

/* Links whose counter grew, with by how much, and the sum. */
static int64_t put_growth(struct json_out *j, const char *key, const int64_t *before,
                          const int64_t *after, int links)
{
	int64_t sum = 0;

	json_object_begin(j, key);
	for (int i = 0; i < links; i++) {
		if (after[i] <= before[i])
			continue;
		json_put_int(j, tmpf("%d", i), after[i] - before[i]);
		sum += after[i] - before[i];
	}
	json_object_end(j);
	return sum;
}

static enum status emit_errors(struct p2p *p, int card, const struct card_links *before,
                               const struct card_links *after, bool recoveries)
{
	struct reading r = team_reading(&p->team, card,
	                                recoveries ? "p2p_nvlink_recoveries" : "p2p_nvlink_errors");
	struct json_text t = json_text_begin();
	nvml_result code = before->code == NVML_OK ? after->code : before->code;
	int64_t sum = 0;
	int known = 0;

	for (int k = recoveries ? 0 : 1; k < (recoveries ? 1 : COUNTERS); k++) {
		if (code != NVML_OK || before->counted[k] != NVML_OK ||
		    after->counted[k] != NVML_OK)
			continue;
		known++;
		sum += put_growth(&t.j, counters[k].name, before->errors[k], after->errors[k],
		                  after->count);
	}
	r.params = json_text_end(&t, p->team.ctx->arena);
	if (!known)
		return emit_code(p, card, &r, code == NVML_OK ? after->counted[0] : code,
		                 "nvmlDeviceGetNvLinkErrorCounter");
	r.value_kind = VALUE_NUMBER;
	r.value = (double)sum;
	return p->team.ctx->emit(p->team.ctx, &r);
}

static enum status emit_dropped(struct p2p *p, int card, const struct card_links *before,
                                const struct card_links *after)
{
	struct reading r = team_reading(&p->team, card, "p2p_nvlink_dropped");
	nvml_result code = before->code == NVML_OK ? after->code : before->code;

	r.params = arena_strf(p->team.ctx->arena, "{\"links\":%d,\"before\":%d,\"after\":%d}",
	                      after->count, before->up, after->up);
	if (code != NVML_OK)
		return emit_code(p, card, &r, code, "nvmlDeviceGetNvLinkState");
	r.value_kind = VALUE_NUMBER;
	r.value = before->up > after->up ? before->up - after->up : 0;
	return p->team.ctx->emit(p->team.ctx, &r);
}

enum status p2p_links_emit(struct p2p *p, const struct p2p_links *before,
                           const struct p2p_links *after)
{
	enum status st = ST_OK;

	for (int i = 0; i < p->team.count && st == ST_OK; i++) {
		st = emit_dropped(p, i, &before->cards[i], &after->cards[i]);
		if (st == ST_OK)
			st = emit_errors(p, i, &before->cards[i], &after->cards[i], true);
		if (st == ST_OK)
			st = emit_errors(p, i, &before->cards[i], &after->cards[i], false);
	}
	return st;
}

/* --- PCIe ---------------------------------------------------------------------------- */

/* GB/s of payload and packet overhead a lane carries one way: transfer rate x
 * coding (8b/10b, 128b/130b, 242B of 256B flits) / 8. */
static double lane_gbs(unsigned generation)
{
	static const double gts[] = {0, 2.5, 5, 8, 16, 32, 64};

	if (generation < 1 || generation >= sizeof(gts) / sizeof(*gts))
		return 0;
	return gts[generation] / 8 *
	       (generation < 3   ? 8.0 / 10
	        : generation < 6 ? 128.0 / 130
	                         : 242.0 / 256);
}

struct slot {
	int card;
	nvml_result code;
	unsigned generation, width, now, width_now;
};

static enum status read_slot(struct team *team, void *arg, struct error *err)
{
	struct slot *s = arg;
	nvml_device dev = team->cards[s->card].nv;

	(void)err;
	team->at = s->card;
	s->code = NVML_ASK(&team->nvml, pcie_max_generation, dev, &s->generation);
	if (s->code == NVML_OK)
		s->code = NVML_ASK(&team->nvml, pcie_max_width, dev, &s->width);
	NVML_ASK(&team->nvml, pcie_generation, dev, &s->now);
	NVML_ASK(&team->nvml, pcie_width, dev, &s->width_now);
	return ST_OK;
}

static enum status emit_rate(struct p2p *p, int card)
{
	struct slot *s = arena_alloc(p->team.ctx->arena, sizeof(*s));
	struct reading r = team_reading(&p->team, card, "pcie_rate_gbs");
	struct error err = {0};

	*s = (struct slot){.card = card, .code = NVML_UNKNOWN};
	if (p->team.cards[card].in_nvml && team_has(&p->team, card))
		team_run(&p->team, read_slot, s, card, -1, &err);
	error_release(&err);
	r.params = arena_strf(p->team.ctx->arena,
	                      "{\"generation\":%u,\"width\":%u,\"generation_now\":%u,"
	                      "\"width_now\":%u}",
	                      s->generation, s->width, s->now, s->width_now);
	if (s->code != NVML_OK || lane_gbs(s->generation) <= 0 || s->width == 0)
		return emit_code(p, card, &r, s->code, "nvmlDeviceGetMaxPcieLinkGeneration");
	r.value_kind = VALUE_NUMBER;
	r.value = lane_gbs(s->generation) * s->width;
	return p->team.ctx->emit(p->team.ctx, &r);
}

static enum status emit_host(struct p2p *p, int card, const char *metric,
                             const struct p2p_cell *cell, bool near)
{
	struct probe_ctx *ctx = p->team.ctx;
	struct reading r = team_reading(&p->team, card, metric);

	r.params = arena_strf(
		ctx->arena, "{\"bytes\":%llu,\"copies\":%d,\"samples\":%zu,\"near_socket\":%s}",
		(unsigned long long)p->bytes, cell->reps, cell->samples.n, near ? "true" : "false");
	if (cell->outcome == OUTCOME_MEASURED) {
		samples_to_stats(&cell->samples, NULL, r.stats);
		r.value_kind = VALUE_NUMBER;
		r.value = cell->value;
	} else {
		r.outcome = cell->outcome;
		reason_set(ctx, &r.reason, MSG_card_refused, r.subject.id, cell->why);
	}
	return ctx->emit(ctx, &r);
}

enum status p2p_pcie_emit(struct p2p *p)
{
	enum status st = ST_OK;

	for (int i = 0; i < p->team.count && st == ST_OK; i++) {
		struct p2p_cell to_card = {0}, from_card = {0};
		const struct team_card *c = &p->team.cards[i];
		bool near = false;

		if (team_has(&p->team, i)) {
			p2p_host(p, i, &to_card, &from_card, &near);
		} else {
			to_card.outcome = from_card.outcome = c->outcome;
			to_card.why = from_card.why = c->why;
		}
		st = emit_host(p, i, "pcie_h2d_gbs", &to_card, near);
		if (st == ST_OK)
			st = emit_host(p, i, "pcie_d2h_gbs", &from_card, near);
		if (st == ST_OK)
			st = emit_rate(p, i);
		samples_release(&to_card.samples);
		samples_release(&from_card.samples);
	}
	return st;
}
