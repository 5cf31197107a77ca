/* The roads to a card: NVLink link by link, the fabric behind it, and PCIe. A
 * PCIe link that has nothing to do sleeps in its first generation, so it is
 * given copies to carry while it is read. */
#include <string.h>

#include "inventory_cards.h"

/* --- NVLink ------------------------------------------------------------------------------ */

struct links {
	int count, up;
	double lowest; /* version of those up; 0: none told */
	double gbs;    /* of those up; negative: not told */
	const char *params;
};

/* NVML numbers the versions; 0: a number not known here. */
static double version_of(unsigned number)
{
	static const double versions[] = {0, 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0, 6.0};

	return number < sizeof(versions) / sizeof(*versions) ? versions[number] : 0;
}

/* GB/s of data one way. Drivers tell the line's rate with its coding (25781,
 * 26562 MB/s) or without (25000) for links of 25 GB/s; 53125 for 50. */
static double data_gbs(int64_t mbs)
{
	double gbs = (double)mbs / 1000;

	if (gbs >= 25 && gbs <= 26.75)
		return 25;
	if (gbs >= 50 && gbs <= 53.5)
		return 50;
	return gbs;
}

static nvml_result speed_of(struct gpus *g, nvml_device dev, unsigned link, int64_t *mbs)
{
	nvml_result code = nvml_field_read(&g->nvml, dev, NVML_FIELD_LINK_SPEED_EACH, link, mbs);

	if (code == NVML_OK && *mbs > 0)
		return code;
	return nvml_field_read(&g->nvml, dev, NVML_FIELD_LINK_SPEED, 0, mbs);
}

static void put_peer(struct gpus *g, nvml_device dev, unsigned link, struct json_out *j)
{
	nvml_link_peer peer = 0;
	nvml_pci pci = {.bus_id = ""};

	if (NVML_ASK(&g->nvml, link_remote_type, dev, link, &peer) == NVML_OK)
		json_put_string(j, "peer",
		                peer == NVML_REMOTE_GPU      ? "card"
		                : peer == NVML_REMOTE_SWITCH ? "switch"
		                                             : "other");
	if (NVML_ASK(&g->nvml, link_remote, dev, link, &pci) == NVML_OK) {
		pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
		json_put_string(j, "peer_pci", gpu_pci(g->ctx->arena, pci.bus_id));
	}
}

static nvml_result read_link(struct gpus *g, nvml_device dev, unsigned link, struct links *l,
                             struct json_out *j)
{
	nvml_enable state = 0;
	unsigned number = 0;
	int64_t mbs = 0;
	nvml_result code = NVML_ASK(&g->nvml, link_state, dev, link, &state);
	double version;

	if (code != NVML_OK)
		return code;
	json_object_begin(j, NULL);
	json_put_int(j, "link", link);
	json_put_string(j, "state",
	                state == NVML_LINK_UP     ? "up"
	                : state == NVML_LINK_DOWN ? "down"
	                                          : "asleep");
	if (state != NVML_LINK_DOWN) { /* asleep is up, and wakes by itself */
		l->up++;
		if (NVML_ASK(&g->nvml, link_version, dev, link, &number) == NVML_OK &&
		    (version = version_of(number)) > 0) {
			l->lowest = l->lowest > 0 && l->lowest < version ? l->lowest : version;
			json_put_number(j, "version", version);
		}
		if (speed_of(g, dev, link, &mbs) != NVML_OK)
			l->gbs = -1;
		else if (l->gbs >= 0)
			l->gbs += data_gbs(mbs);
		put_peer(g, dev, link, j);
	}
	json_object_end(j);
	return NVML_OK;
}

static nvml_result read_links(struct gpus *g, const struct gpu_card *card, struct links *l)
{
	nvml_device dev = card->nv.device;
	struct json_text t;
	nvml_result code;

	*l = (struct links){0};
	code = nvml_links(&g->nvml, dev, &l->count);
	if (code == NVML_OK && l->count == 0)
		code = NVML_NOT_SUPPORTED;
	if (code != NVML_OK)
		return code;
	t = json_text_begin();
	json_put_int(&t.j, "links", l->count);
	json_array_begin(&t.j, "each");
	for (int i = 0; i < l->count && code == NVML_OK; i++)
		code = read_link(g, dev, (unsigned)i, l, &t.j);
	json_array_end(&t.j);
	l->params = json_text_end(&t, g->ctx->arena);
	return code;
}

static nvml_result count_recoveries(struct gpus *g, const struct gpu_card *card, int links,
                                    double *count)
{
	nvml_result code = NVML_NOT_SUPPORTED;
	int64_t total = 0;

	*count = 0;
	for (int i = 0; i < links; i++) {
		unsigned long long one = 0;

		code = NVML_ASK(&g->nvml, link_errors, card->nv.device, (unsigned)i,
		                NVML_LINK_RECOVERY, &one);
		if (code != NVML_OK)
			break;
		*count += (double)one;
	}
	if (code == NVML_OK)
		return code;
	/* Newer cards tell it as a field, for all links. */
	if (code != NVML_GPU_LOST)
		code = nvml_field_read(&g->nvml, card->nv.device, NVML_FIELD_LINK_RECOVERY,
		                       NVML_ALL_LINKS, &total);
	*count = (double)total;
	return code;
}

static enum status emit_recoveries(struct gpus *g, struct gpu_card *card, int links)
{
	double count;
	nvml_result code = count_recoveries(g, card, links, &count);

	if (code == NVML_OK)
		return card_number(g, card, "nvlink_recoveries", count, NULL);
	return card_refused(g, card, "nvlink_recoveries", code, "nvmlDeviceGetNvLinkErrorCounter");
}

/* Links, none of which is up: the version and rate of nothing. */
static enum status emit_links(struct gpus *g, struct gpu_card *card, const struct links *l)
{
	struct why none = why_of(g->ctx, OUTCOME_FAILED, MSG_nvlink_all_down, tmpf("%d", l->count));
	struct why silent = why_of(g->ctx, OUTCOME_NOT_MEASURED, MSG_nvlink_speed_unknown, NULL);
	enum status st = card_number(g, card, "nvlink_links_active", l->up, l->params);

	if (st != ST_OK)
		return st;
	if (l->up && l->lowest > 0)
		st = card_number(g, card, "nvlink_version", l->lowest, NULL);
	else
		st = card_unknown(g, card, "nvlink_version", l->up ? &silent : &none);
	if (st != ST_OK)
		return st;
	if (l->gbs >= 0)
		return card_number(g, card, "nvlink_rate_gbs", l->gbs, NULL);
	return card_unknown(g, card, "nvlink_rate_gbs", &silent);
}

static enum status emit_no_links(struct gpus *g, struct gpu_card *card, nvml_result code)
{
	static const char *const metrics[] = {"nvlink_links_active", "nvlink_version",
	                                      "nvlink_rate_gbs", "nvlink_recoveries"};
	enum status st = ST_OK;

	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics) && st == ST_OK; i++)
		st = card_refused(g, card, metrics[i], code, "nvmlDeviceGetNvLinkState");
	return st;
}

/* --- fabric --------------------------------------------------------------------------------- */

static enum status emit_fabric(struct gpus *g, struct gpu_card *card)
{
	static const char *const words[] = {"not supported", "not started", "in progress",
	                                    "completed"};
	nvml_fabric fabric;
	int version;
	nvml_result code = nvml_fabric_read(&g->nvml, card->nv.device, &fabric, &version);
	struct json_text t;

	/* Drivers from before there was one; and cards that have none. */
	if (code == NVML_FUNCTION_NOT_FOUND ||
	    (code == NVML_OK && fabric.state == NVML_FABRIC_NOT_SUPPORTED))
		code = NVML_NOT_SUPPORTED;
	if (code != NVML_OK)
		return card_refused(g, card, "card_fabric", code, "nvmlDeviceGetGpuFabricInfo");
	/* On its way: CUDA waits for it, and then it is asked again. */
	if (fabric.state == NVML_FABRIC_IN_PROGRESS && fabric.status == NVML_OK &&
	    !card->fabric_begun) {
		card->fabric_begun = true;
		return ST_OK;
	}
	t = json_text_begin();
	json_put_int(&t.j, "clique", fabric.clique);
	json_put_string(&t.j, "status",
	                fabric.status == NVML_OK ? "ok" : g->nvml.call.error_string(fabric.status));
	if (version >= 2)
		json_put_int(&t.j, "health_mask", fabric.health_mask);
	return card_text(g, card, "card_fabric",
	                 fabric.status != NVML_OK ? "failed"
	                 : fabric.state < 4       ? words[fabric.state]
	                                          : "unknown",
	                 json_text_end(&t, g->ctx->arena));
}

enum status nvlink_facts(struct gpus *g, struct gpu_card *card)
{
	struct links l;
	nvml_result code = read_links(g, card, &l);
	enum status st;

	if (code == NVML_OK)
		st = emit_links(g, card, &l);
	else
		st = emit_no_links(g, card, code);
	if (st == ST_OK && code == NVML_OK)
		st = emit_recoveries(g, card, l.count);
	return st == ST_OK ? emit_fabric(g, card) : st;
}

enum status fabric_facts(struct gpus *g, struct gpu_card *card)
{
	return card->fabric_begun ? emit_fabric(g, card) : ST_OK;
}

/* --- PCIe ------------------------------------------------------------------------------------ */

#define COPY_BYTES  (2 << 20) /* of a real card; on stand-ins divided as their memory is */
#define LEAST_BYTES ((size_t)4096)
#define COPIES      64  /* a round: some milliseconds of a fast link */
#define ROUNDS      200 /* at most, and no longer than WAKE_NS */
#define WAKE_NS     (NS_PER_S)

struct load {
	cu_context context;
	cu_stream stream;
	cu_ptr device;
	void *host;
	size_t bytes;
};

struct pcie {
	nvml_result code; /* of the generation */
	unsigned now, first, most, slot;
	unsigned width, most_width;
	nvml_result width_code;
	int rounds;
};

static enum status load_open(struct gpus *g, const struct gpu_card *card, struct load *l,
                             struct error *err)
{
	struct cuda *cuda = &g->cuda;
	enum status st = cuda_context(cuda, card->cu.device, &l->context, err);

	l->bytes = (size_t)(COPY_BYTES / g->memory_scale);
	if (l->bytes < LEAST_BYTES)
		l->bytes = LEAST_BYTES;
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, stream_create, &l->stream, CU_STREAM_INDEPENDENT);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, alloc, &l->device, l->bytes);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, host_alloc, &l->host, l->bytes, 0);
	return st;
}

static void load_close(struct gpus *g, const struct gpu_card *card, struct load *l)
{
	if (l->host)
		g->cuda.call.host_free(l->host);
	if (l->device)
		g->cuda.call.free(l->device);
	if (l->stream)
		g->cuda.call.stream_destroy(l->stream);
	if (l->context)
		g->cuda.call.context_release(card->cu.device);
}

static void read_generation(struct gpus *g, const struct gpu_card *card, struct pcie *p)
{
	unsigned now = 0;
	nvml_result code = NVML_ASK(&g->nvml, pcie_generation, card->nv.device, &now);

	if (code == NVML_OK && now > p->now)
		p->now = now;
	if (p->code == NVML_OK)
		p->code = code;
}

static bool awake(const struct pcie *p)
{
	return p->code != NVML_OK || (p->most && p->now >= p->most);
}

/* The links of real cards take some milliseconds to wake up. */
static enum status read_under_load(struct gpus *g, const struct gpu_card *card, struct pcie *p,
                                   struct error *err)
{
	int64_t until = clock_now(g->ctx->clock) + WAKE_NS;
	struct load l = {0};
	enum status st = load_open(g, card, &l, err);

	for (; st == ST_OK && p->rounds < ROUNDS && !awake(p); p->rounds++) {
		if (p->rounds && clock_now(g->ctx->clock) > until)
			break;
		for (int i = 0; i < COPIES && st == ST_OK; i++)
			st = CUDA_TRY(&g->cuda, err, copy_to_device, l.device, l.host, l.bytes,
			              l.stream);
		read_generation(g, card, p);
		if (st == ST_OK)
			st = CUDA_TRY(&g->cuda, err, stream_sync, l.stream);
	}
	load_close(g, card, &l);
	return st;
}

static void read_idle(struct gpus *g, const struct gpu_card *card, struct pcie *p)
{
	nvml_device dev = card->nv.device;

	NVML_ASK(&g->nvml, pcie_max_generation, dev, &p->most);
	NVML_ASK(&g->nvml, pcie_card_generation, dev, &p->slot);
	NVML_ASK(&g->nvml, pcie_max_width, dev, &p->most_width);
	p->width_code = NVML_ASK(&g->nvml, pcie_width, dev, &p->width);
	read_generation(g, card, p);
	p->first = p->now;
}

static const char *pcie_params(struct gpus *g, const struct gpu_card *card, const struct pcie *p)
{
	struct json_text t = json_text_begin();
	unsigned replays = 0;
	nvml_result code = NVML_ASK(&g->nvml, pcie_replays, card->nv.device, &replays);

	json_put_known(&t.j, "idle_generation", p->first ? (int64_t)p->first : -1);
	json_put_known(&t.j, "most_generation", p->most ? (int64_t)p->most : -1);
	json_put_known(&t.j, "card_generation", p->slot ? (int64_t)p->slot : -1);
	json_put_known(&t.j, "most_width", p->most_width ? (int64_t)p->most_width : -1);
	json_put_int(&t.j, "rounds_of_load", p->rounds);
	put_answer(&t.j, "replays", code, replays);
	return json_text_end(&t, g->ctx->arena);
}

/* A generation below the most that was read without load proves nothing. */
static enum status emit_generation(struct gpus *g, struct gpu_card *card, const struct pcie *p,
                                   const char *no_load)
{
	struct reading r = card_fact(card, "card_pcie_gen");

	if (p->code != NVML_OK)
		return card_refused(g, card, "card_pcie_gen", p->code,
		                    "nvmlDeviceGetCurrPcieLinkGeneration");
	r.params = pcie_params(g, card, p);
	r.value_kind = VALUE_NUMBER;
	r.value = p->now;
	if (no_load && !awake(p)) {
		r.value_kind = VALUE_NONE;
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(g->ctx, &r.reason, MSG_pcie_idle, tmpf("%u", p->now),
		           tmpf("%u", p->most), no_load);
	}
	return card_emit(g, card, &r);
}

enum status pcie_facts(struct gpus *g, struct gpu_card *card)
{
	struct pcie p = {.code = NVML_OK};
	struct error err = {0};
	const char *no_load = NULL;
	enum status st;

	if (!card->has_nv)
		return ST_OK;
	read_idle(g, card, &p);
	if (!card->has_cu)
		no_load = card->no_cuda.reason.text;
	else if (!awake(&p) && read_under_load(g, card, &p, &err) != ST_OK)
		no_load = arena_str(g->ctx->arena, str_text(&err.text));
	error_release(&err);
	st = emit_generation(g, card, &p, no_load);
	if (st != ST_OK)
		return st;
	if (p.width_code != NVML_OK)
		return card_refused(g, card, "card_pcie_width", p.width_code,
		                    "nvmlDeviceGetCurrPcieLinkWidth");
	return card_number(g, card, "card_pcie_width", p.width, NULL);
}
