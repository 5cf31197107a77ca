/* The cards of the node: libraries opened, lists joined, every fact of every
 * card handed in. NVML comes first and CUDA after it, so that what NVML knows
 * is out before the slower one is started, and so that processes are counted
 * while Assay has none on a card. */
#include "inventory_cards.h"

#include <stdlib.h>
#include <string.h>

#include "limited.h"

#define FABRIC_WAIT_NS   (30 * NS_PER_S) /* for CUDA error 802 to go away */
#define LEFT_FOR_REST_NS (15 * NS_PER_S)

/* --- emitting ------------------------------------------------------------------------ */

struct reading card_fact(const struct gpu_card *card, const char *metric)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject = (struct subject){.kind = SUBJECT_CARD,
	                             .id = card->id,
	                             .pci = card->pci,
	                             .index = card->has_nv   ? card->nv.index
	                                      : card->has_cu ? card->cu.index
	                                                     : -1};
	return r;
}

enum status card_emit(struct gpus *g, struct gpu_card *card, const struct reading *r)
{
	const struct metric *m = g->ctx->probe->metrics;

	/* A thread that hung and came back: who waited has spoken for it. */
	if (card->hangs)
		return ST_TIMEOUT;
	for (int i = 0; m[i].name && i < INVENTORY_METRICS; i++)
		if (strcmp(m[i].name, r->metric) == 0)
			card->said[i] = true;
	return g->ctx->emit(g->ctx, r);
}

enum status card_number(struct gpus *g, struct gpu_card *card, const char *metric, double value,
                        const char *params)
{
	struct reading r = card_fact(card, metric);

	r.value_kind = VALUE_NUMBER;
	r.value = value;
	r.params = params;
	return card_emit(g, card, &r);
}

enum status card_text(struct gpus *g, struct gpu_card *card, const char *metric, const char *text,
                      const char *params)
{
	struct reading r = card_fact(card, metric);

	r.value_kind = VALUE_TEXT;
	r.text = text;
	r.params = params;
	return card_emit(g, card, &r);
}

enum status card_unknown(struct gpus *g, struct gpu_card *card, const char *metric,
                         const struct why *why)
{
	struct reading r = card_fact(card, metric);

	r.outcome = why->outcome;
	r.reason = why->reason;
	return card_emit(g, card, &r);
}

enum status card_refused(struct gpus *g, struct gpu_card *card, const char *metric,
                         nvml_result code, const char *call)
{
	struct why why = why_nvml(g, code, call);

	return card_unknown(g, card, metric, &why);
}

struct why why_of(struct probe_ctx *ctx, enum outcome outcome, enum msg id, const char *argument)
{
	struct why why = {.outcome = outcome};

	reason_set_list(ctx, &why.reason, id, (const char *const[]){argument, NULL});
	return why;
}

struct why why_nvml(struct gpus *g, nvml_result code, const char *call)
{
	const struct gpu_cause *cause = nvml_cause(code);
	struct why why = {.outcome = OUTCOME_NOT_MEASURED};

	if (cause)
		return why_of(g->ctx, cause->outcome, cause->why, call);
	reason_set(g->ctx, &why.reason, MSG_gpu_call_failed, call, g->nvml.call.error_string(code),
	           tmpf("%d", code));
	return why;
}

const char *answer_word(nvml_result code)
{
	switch (code) {
	case NVML_OK:
		return NULL;
	case NVML_NOT_SUPPORTED:
		return "not supported";
	case NVML_NO_PERMISSION:
		return "no permission";
	case NVML_FUNCTION_NOT_FOUND:
		return "driver too old";
	case NVML_GPU_LOST:
		return "lost";
	default:
		return "error";
	}
}

void put_answer(struct json_out *j, const char *key, nvml_result code, int64_t value)
{
	if (code == NVML_OK)
		json_put_int(j, key, value);
	else
		json_put_string(j, key, answer_word(code));
}

/* --- libraries ------------------------------------------------------------------------ */

static struct why why_unopened(struct probe_ctx *ctx, const char *soname, enum status st,
                               const struct error *err)
{
	struct why why = {.outcome = OUTCOME_NOT_MEASURED};

	if (st == ST_NOTFOUND)
		return why_of(ctx, OUTCOME_NOT_MEASURED, MSG_no_driver, soname);
	reason_set(ctx, &why.reason, MSG_gpu_library_unusable, soname, str_text(&err->text));
	return why;
}

/* libcuda before NVML: see hw/gpu_lib.h. False: neither is there. */
static bool open_libraries(struct gpus *g)
{
	struct gpu_search where = {g->ctx->lib_dir, g->ctx->sys_root};
	struct error cuda_err = {0}, nvml_err = {0};
	enum status cuda, nvml;
	double (*scale)(void);

	cuda = cuda_open(&g->cuda, g->ctx->arena, &where, &cuda_err);
	g->has_cuda = cuda == ST_OK;
	g->no_cuda = why_unopened(g->ctx, "libcuda.so.1", cuda, &cuda_err);
	nvml = nvml_open(&g->nvml, g->ctx->arena, &where, &nvml_err);
	g->has_nvml = nvml == ST_OK;
	g->no_nvml = why_unopened(g->ctx, "libnvidia-ml.so.1", nvml, &nvml_err);
	error_release(&cuda_err);
	error_release(&nvml_err);
	g->ctx->simulated |= gpu_lib_simulated(&g->cuda.lib) || gpu_lib_simulated(&g->nvml.lib);
	g->memory_scale = 1;
	if (g->has_cuda && gpu_lib_simulated(&g->cuda.lib) &&
	    (*(void **)&scale = library_symbol(&g->cuda.lib, "assay_standin_memory_divisor")))
		g->memory_scale = scale();
	return cuda != ST_NOTFOUND || nvml != ST_NOTFOUND;
}

static void start_nvml(struct gpus *g)
{
	nvml_result code;
	unsigned count = 0;

	if (!g->has_nvml)
		return;
	if (nvml_start(&g->nvml, g->ctx->arena, NULL) == ST_OK)
		return;
	/* Which of the two it was, and its code: to start once more does no harm. */
	g->has_nvml = false;
	code = g->nvml.call.init();
	if (code == NVML_OK)
		code = g->nvml.call.count(&count);
	g->no_nvml = why_nvml(g, code, "nvmlInit_v2");
}

static void start_cuda(struct gpus *g)
{
	struct probe_ctx *ctx = g->ctx;
	int64_t until = clock_now(ctx->clock) + FABRIC_WAIT_NS;
	struct error err = {0};

	if (!g->has_cuda)
		return;
	if (until > ctx->deadline_ns - LEFT_FOR_REST_NS)
		until = ctx->deadline_ns - LEFT_FOR_REST_NS;
	if (cuda_start(&g->cuda, ctx->clock, until, &err) != ST_OK) {
		g->has_cuda = false;
		if (g->cuda.fault)
			g->no_cuda =
				why_of(ctx, g->cuda.fault->outcome, g->cuda.fault->why, "cuInit");
		else
			g->no_cuda = why_of(ctx, OUTCOME_NOT_MEASURED, MSG_library_broken,
			                    str_text(&err.text));
	}
	error_release(&err);
}

/* --- the driver ------------------------------------------------------------------------- */

static const char *driver_params(struct gpus *g)
{
	struct json_text t = json_text_begin();
	nvml_confidential cc = {0};
	nvml_result code =
		g->has_nvml ? NVML_ASK(&g->nvml, confidential, &cc) : NVML_FUNCTION_NOT_FOUND;

	json_put_known(&t.j, "open_module", g->host.open_module);
	json_put_bool(&t.j, "peermem", g->host.peermem);
	json_put_string(&t.j, "nvml_driver", g->nvml.driver);
	json_put_string(&t.j, "nvml", g->nvml.lib.version);
	json_put_string(&t.j, "cuda", g->cuda.lib.version);
	json_put_string(&t.j, "libcuda", g->cuda.lib.path);
	json_put_string(&t.j, "libnvidia_ml", g->nvml.lib.path);
	put_answer(&t.j, "confidential_computing", code, cc.feature);
	return json_text_end(&t, g->ctx->arena);
}

static struct reading node_fact(struct gpus *g, const char *metric)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = SUBJECT_NODE;
	r.subject.id = g->ctx->node;
	return r;
}

/* The kernel module's; NVML's word where /sys is not to be seen. */
static enum status emit_version(struct gpus *g)
{
	struct reading r = node_fact(g, "node_driver_version");

	r.params = driver_params(g);
	r.value_kind = VALUE_TEXT;
	r.text = g->host.driver ? g->host.driver : g->nvml.driver;
	if (!r.text) {
		r.value_kind = VALUE_NONE;
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(g->ctx, &r.reason, MSG_no_driver, "/sys/module/nvidia/version");
	}
	return g->ctx->emit(g->ctx, &r);
}

/* NVML asks the kernel module for its version: another one is another machine's
 * /proc, or a library that invents. */
static enum status emit_driver_agrees(struct gpus *g)
{
	struct reading r = node_fact(g, "node_driver_agrees");

	if (!g->has_nvml) {
		r.outcome = g->no_nvml.outcome;
		r.reason = g->no_nvml.reason;
	} else if (!g->host.driver || !g->nvml.driver) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(g->ctx, &r.reason, MSG_host_unreadable, "/sys/module/nvidia/version");
	} else if (strcmp(g->host.driver, g->nvml.driver) != 0) {
		r.outcome = OUTCOME_FAILED;
		reason_set(g->ctx, &r.reason, MSG_driver_differs, g->host.driver, g->nvml.driver);
	} else {
		r.value_kind = VALUE_NUMBER;
		r.value = 1;
	}
	return g->ctx->emit(g->ctx, &r);
}

/* --- Xids ---------------------------------------------------------------------------------- */

/* Best effort: what happens while the inventory looks. */
static void watch_events(struct gpus *g)
{
	g->events = NULL;
	if (!g->has_nvml || NVML_ASK(&g->nvml, event_set_create, &g->events) != NVML_OK)
		return;
	for (int i = 0; i < g->n_cards; i++)
		if (g->cards[i].has_nv)
			NVML_ASK(&g->nvml, event_register, g->cards[i].nv.device, NVML_EVENT_XID,
			         g->events);
}

static const char *pci_of(const struct gpus *g, nvml_device device)
{
	for (int i = 0; i < g->n_cards; i++)
		if (g->cards[i].has_nv && g->cards[i].nv.device == device)
			return g->cards[i].pci;
	return NULL;
}

static void read_xids(struct gpus *g)
{
	nvml_event event;
	struct str seen = {0};

	for (int i = 0; g->events && i < 64; i++) {
		if (NVML_ASK(&g->nvml, event_wait, g->events, &event, 1) != NVML_OK)
			break;
		if (event.type == NVML_EVENT_XID && pci_of(g, event.device))
			str_addf(&seen, "NVRM: Xid (PCI:%s): %llu, told by NVML\n",
			         pci_of(g, event.device), event.data);
	}
	if (g->events)
		NVML_ASK(&g->nvml, event_set_free, g->events);
	g->xids = xid_read(g->ctx->arena, g->ctx->sys_root);
	/* The log has them too, where it can be read. */
	if (!g->xids.source)
		xid_parse(&g->xids, g->ctx->arena, str_text(&seen));
	str_release(&seen);
}

static void put_xid(struct json_out *j, const struct xid_log *log, int at, const char *pci)
{
	int times = 0;

	for (int i = 0; i < log->n; i++) {
		if (log->list[i].number != log->list[at].number ||
		    strcmp(log->list[i].pci, pci) != 0)
			continue;
		if (i < at)
			return; /* put already */
		times++;
	}
	json_object_begin(j, NULL);
	json_put_int(j, "xid", log->list[at].number);
	json_put_int(j, "times", times);
	json_put_string(j, "first", log->list[at].text);
	json_object_end(j);
}

static enum status emit_xids(struct gpus *g, struct gpu_card *card)
{
	struct json_text t = json_text_begin();
	struct why why;
	const char *params;
	int blaming = 0, all = 0;

	json_put_string(&t.j, "source", g->xids.source ? g->xids.source : "NVML events");
	json_array_begin(&t.j, "xids");
	for (int i = 0; i < g->xids.n; i++) {
		if (!card->pci || strcmp(g->xids.list[i].pci, card->pci) != 0)
			continue;
		all++;
		blaming += xid_blames_card(g->xids.list[i].number);
		put_xid(&t.j, &g->xids, i, card->pci);
	}
	json_array_end(&t.j);
	params = json_text_end(&t, g->ctx->arena);
	if (g->xids.source || all)
		return card_number(g, card, "card_xids", blaming, params);
	why = why_of(g->ctx, OUTCOME_NOT_MEASURED, MSG_xid_unreadable, NULL);
	return card_unknown(g, card, "card_xids", &why);
}

/* --- what could not be asked -------------------------------------------------------------- */

static bool asks_cuda(const char *metric)
{
	return strcmp(metric, "card_sm_count") == 0;
}

static enum status owe(struct gpus *g, const struct gpu_card *card, const char *metric,
                       const struct why *why)
{
	struct reading r = card_fact(card, metric);

	r.outcome = why->outcome;
	r.reason = why->reason;
	return g->ctx->emit(g->ctx, &r);
}

static enum status owe_rest(struct gpus *g, struct gpu_card *card)
{
	const struct metric *m = g->ctx->probe->metrics;
	enum status st = ST_OK;

	for (int i = 0; m[i].name && i < INVENTORY_METRICS && st == ST_OK; i++)
		if (m[i].subject == SUBJECT_CARD && !card->said[i])
			st = owe(g, card, m[i].name,
			         asks_cuda(m[i].name) ? &card->no_cuda : &card->no_nvml);
	return st;
}

/* For all cards of the node at once: there is none to be named. */
static enum status owe_all(struct gpus *g, const struct why *why)
{
	enum status st = ST_OK;

	for (const struct metric *m = g->ctx->probe->metrics; m->name && st == ST_OK; m++) {
		struct reading r = reading_init();

		if (m->subject != SUBJECT_CARD)
			continue;
		r.metric = m->name;
		r.subject.kind = SUBJECT_CARD;
		r.subject.id = "*";
		r.outcome = why->outcome;
		r.reason = why->reason;
		st = g->ctx->emit(g->ctx, &r);
	}
	return st;
}

/* Without a driver's library there are no lists to compare. */
static enum status owe_without_driver(struct gpus *g)
{
	static const char *const node[] = {"node_driver_agrees", "node_cards_agree"};
	enum status st = emit_version(g);

	for (size_t i = 0; i < sizeof(node) / sizeof(*node) && st == ST_OK; i++) {
		struct reading r = node_fact(g, node[i]);

		r.outcome = g->no_cuda.outcome;
		r.reason = g->no_cuda.reason;
		st = g->ctx->emit(g->ctx, &r);
	}
	return st == ST_OK ? owe_all(g, &g->no_cuda) : st;
}

/* --- running ------------------------------------------------------------------------------- */

typedef enum status card_facts(struct gpus *g, struct gpu_card *card);

struct asked {
	struct gpus *g;
	struct gpu_card *card;
	card_facts *facts;
};

static enum status ask(void *arg, struct error *err)
{
	const struct asked *a = arg;

	(void)err;
	return a->facts(a->g, a->card);
}

/* A driver that hangs at one card takes nothing from the others: that card is asked
 * nothing more. */
static enum status ask_driver(struct gpus *g, struct gpu_card *card, card_facts *facts)
{
	struct asked *a = arena_alloc(g->ctx->arena, sizeof(*a));
	struct error err = {0};
	enum status st;

	*a = (struct asked){g, card, facts};
	st = limited_run(ask, a, (int64_t)(g->ctx->param_real(g->ctx, "hang_s") * 1e9), &err);
	if (st == ST_TIMEOUT) {
		card->hangs = true;
		card->no_nvml.outcome = OUTCOME_TIMED_OUT;
		reason_set(g->ctx, &card->no_nvml.reason, MSG_card_refused, card->id,
		           str_text(&err.text));
		card->no_cuda = card->no_nvml;
		st = ST_OK;
	}
	error_release(&err);
	return st;
}

static enum status each_card(struct gpus *g, card_facts *facts)
{
	enum status st = ST_OK;

	for (int i = 0; i < g->n_cards && st == ST_OK; i++) {
		struct gpu_card *card = &g->cards[i];

		/* Of the host, not of this container. */
		if (card->withheld && !card->in_nvml && !card->in_cuda)
			continue;
		if (facts == owe_rest)
			st = facts(g, card);
		else if (!card->hangs)
			st = ask_driver(g, card, facts);
	}
	return st;
}

static enum status nvml_facts(struct gpus *g, struct gpu_card *card)
{
	static card_facts *const facts[] = {identity_facts, health_facts, sharing_facts,
	                                    nvlink_facts};
	enum status st = ST_OK;

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts) && st == ST_OK && card->has_nv; i++)
		st = facts[i](g, card);
	return st;
}

static enum status measure(struct gpus *g)
{
	static card_facts *const later[] = {identity_compare, fabric_facts, pcie_facts};
	enum status st;

	join_pci(g);
	if (g->has_nvml)
		join_nvml(g);
	watch_events(g);
	st = each_card(g, nvml_facts);
	start_cuda(g);
	join_cuda(g);
	for (int i = 0; i < g->n_cards && !g->has_nvml; i++)
		g->cards[i].no_nvml = g->no_nvml;
	if (st == ST_OK)
		st = join_emit(g);
	for (size_t i = 0; i < sizeof(later) / sizeof(*later) && st == ST_OK; i++)
		st = each_card(g, later[i]);
	read_xids(g);
	if (st == ST_OK)
		st = each_card(g, emit_xids);
	return st == ST_OK ? each_card(g, owe_rest) : st;
}

static bool any_card(const struct gpus *g)
{
	for (int i = 0; i < g->n_cards; i++)
		if (!g->cards[i].withheld || g->cards[i].in_nvml || g->cards[i].in_cuda)
			return true;
	return false;
}

enum status inventory_cards(struct probe_ctx *ctx)
{
	struct gpus g = {.ctx = ctx, .host = host_nvidia_read(ctx->arena, ctx->sys_root)};
	struct why why;
	enum status st;
	bool driver;

	ctx->progress(ctx, STAGE_LOADING, 0, MSG_doing_load);
	driver = open_libraries(&g);
	ctx->progress(ctx, STAGE_MEASURING, 0, MSG_doing_cards);
	if (!driver)
		return owe_without_driver(&g);
	start_nvml(&g);
	g.visible = visible_parse(ctx->arena, getenv("CUDA_VISIBLE_DEVICES"),
	                          g.has_nvml ? g.nvml.count : -1);
	st = emit_version(&g);
	if (st == ST_OK)
		st = emit_driver_agrees(&g);
	if (st == ST_OK)
		st = measure(&g);
	if (st == ST_OK && !any_card(&g)) {
		why = why_of(ctx, OUTCOME_NOT_MEASURED, MSG_no_cards, NULL);
		st = owe_all(&g, g.has_nvml ? &why : &g.no_nvml);
	}
	if (g.has_nvml)
		g.nvml.call.shutdown();
	return st;
}
