/* One list of cards from three: PCI, NVML, CUDA. Their orders and numbers
 * differ, and a card that is lost shifts the numbers of those behind it, so
 * that only PCI addresses join them. A card missing from one list is named by
 * its address, with who does not see it. */
#include <stdlib.h>
#include <string.h>

#include "hw/sysfs.h"
#include "inventory_cards.h"

#define PROC_CARDS "/proc/driver/nvidia/gpus"

static struct gpu_card *find_card(struct gpus *g, const char *pci)
{
	for (int i = 0; pci && i < g->n_cards; i++)
		if (g->cards[i].pci && strcmp(g->cards[i].pci, pci) == 0)
			return &g->cards[i];
	return NULL;
}

/* The array has room for as many as all lists together have. */
static struct gpu_card *add_card(struct gpus *g, const char *pci, const char *id)
{
	struct gpu_card *card = find_card(g, pci);

	if (card)
		return card;
	card = &g->cards[g->n_cards++];
	*card = (struct gpu_card){.id = id, .pci = pci};
	return card;
}

static struct gpu_card *grow(struct gpus *g, int more)
{
	struct gpu_card *cards =
		arena_array(g->ctx->arena, (size_t)(g->n_cards + more) + 1, sizeof(*cards));

	if (g->n_cards)
		memcpy(cards, g->cards, (size_t)g->n_cards * sizeof(*cards));
	return cards;
}

/* --- PCI ------------------------------------------------------------------------------ */

/* "GPU UUID: \t GPU-…" of the driver's file: the only one who knows the name of a
 * card that is lost. */
static const char *uuid_on_file(struct gpus *g, const char *pci)
{
	struct str text = {0};
	const char *at, *kept = NULL;

	if (sys_read(&text, g->ctx->sys_root, tmpf(PROC_CARDS "/%s/information", pci)) &&
	    (at = strstr(str_text(&text), "GPU UUID:"))) {
		at += strlen("GPU UUID:");
		at += strspn(at, " \t");
		/* An unreadable card's is all question marks. */
		if (str_starts(at, "GPU-") && !memchr(at, '?', strcspn(at, "\n")))
			kept = arena_strn(g->ctx->arena, at, strcspn(at, " \t\n"));
	}
	str_release(&text);
	return kept;
}

/* In a container /sys shows all cards of the host, the driver's folder those
 * that the container was given. */
static bool withheld(struct gpus *g, const char *pci, bool container)
{
	const char *root = g->ctx->sys_root;

	return container && sys_exists(root, PROC_CARDS) &&
	       !sys_exists(root, tmpf(PROC_CARDS "/%s", pci));
}

void join_pci(struct gpus *g)
{
	const char *container = host_system_read(g->ctx->arena, g->ctx->sys_root).container;
	bool inside = container && strcmp(container, "none") != 0;

	g->cards = grow(g, g->host.n_cards > 0 ? g->host.n_cards : 0);
	for (int i = 0; i < g->host.n_cards; i++) {
		const char *pci = gpu_pci(g->ctx->arena, g->host.cards[i].address), *uuid;
		struct gpu_card *card;

		if (!pci)
			continue;
		uuid = uuid_on_file(g, pci);
		card = add_card(g, pci, uuid ? uuid : pci);
		card->bus = &g->host.cards[i];
		card->withheld = withheld(g, pci, inside);
	}
}

/* --- NVML ------------------------------------------------------------------------------ */

/* Why a card of the list cannot be read: the first question that fails. */
static nvml_result why_unreadable(struct gpus *g, int index, const char **pci)
{
	char text[NVML_TEXT_BYTES] = "";
	nvml_pci address = {.bus_id = ""};
	nvml_device device;
	nvml_result code = g->nvml.call.by_index((unsigned)index, &device);

	*pci = NULL;
	if (code != NVML_OK)
		return code;
	code = g->nvml.call.pci(device, &address);
	if (code != NVML_OK)
		return code;
	address.bus_id[sizeof(address.bus_id) - 1] = '\0';
	*pci = gpu_pci(g->ctx->arena, address.bus_id);
	code = g->nvml.call.uuid(device, text, sizeof(text));
	if (code == NVML_OK)
		code = g->nvml.call.name(device, text, sizeof(text));
	return code == NVML_OK ? NVML_UNKNOWN : code;
}

static void note_unreadable(struct gpus *g, struct gpu_card *card, nvml_result code)
{
	card->in_nvml = true;
	card->no_nvml = why_nvml(g, code, "nvmlDeviceGetHandleByIndex_v2");
}

/* Asked by its address, a lost card answers for itself. */
static bool listed_by_address(struct gpus *g, struct gpu_card *card)
{
	nvml_device device;
	nvml_result code = g->nvml.call.by_pci(card->pci, &device);

	if (code == NVML_OK || code == NVML_NOT_FOUND || code == NVML_GPU_NOT_FOUND ||
	    code == NVML_INVALID_ARGUMENT)
		return false;
	note_unreadable(g, card, code);
	return true;
}

/* The cards of the list that told no address: by address from those nobody has
 * claimed yet, else one after the other, else under a number. */
static void place_unreadable(struct gpus *g, const int *index, const nvml_result *code, int n)
{
	int placed = 0;

	for (int i = 0; i < g->n_cards && placed < n; i++)
		if (!g->cards[i].in_nvml && g->cards[i].pci)
			placed += listed_by_address(g, &g->cards[i]);
	for (int i = 0; i < g->n_cards && placed < n; i++)
		if (!g->cards[i].in_nvml && !g->cards[i].withheld)
			note_unreadable(g, &g->cards[i], code[placed++]);
	for (; placed < n; placed++)
		note_unreadable(
			g, add_card(g, NULL, arena_strf(g->ctx->arena, "nvml-%d", index[placed])),
			code[placed]);
}

void join_nvml(struct gpus *g)
{
	int count = g->nvml.count, unplaced = 0;
	int *index = arena_array(g->ctx->arena, (size_t)count + 1, sizeof(*index));
	nvml_result *codes = arena_array(g->ctx->arena, (size_t)count + 1, sizeof(*codes));

	g->cards = grow(g, count);
	for (int i = 0; i < count; i++) {
		struct nvml_card nv;
		struct gpu_card *card;
		const char *pci;

		if (nvml_card_read(&g->nvml, g->ctx->arena, i, &nv, NULL) == ST_OK) {
			card = add_card(g, nv.pci, nv.uuid);
			card->nv = nv;
			card->id = nv.uuid;
			card->in_nvml = card->has_nv = true;
			continue;
		}
		codes[unplaced] = why_unreadable(g, i, &pci);
		if (pci)
			note_unreadable(g, add_card(g, pci, pci), codes[unplaced]);
		else
			index[unplaced++] = i;
	}
	place_unreadable(g, index, codes, unplaced);
}

/* --- CUDA ------------------------------------------------------------------------------ */

/* A card that cannot be read by CUDA mostly tells its address still. */
static const char *address_of(struct gpus *g, int index)
{
	char text[32] = "";
	cu_device device;

	if (g->cuda.call.device_get(&device, index) != CU_OK ||
	    g->cuda.call.device_pci(text, sizeof(text) - 1, device) != CU_OK)
		return NULL;
	return gpu_pci(g->ctx->arena, text);
}

static void take_unreadable(struct gpus *g, int index, const struct error *err)
{
	const char *pci = address_of(g, index);
	struct gpu_card *card =
		add_card(g, pci, pci ? pci : arena_strf(g->ctx->arena, "cuda-%d", index));

	card->in_cuda = true;
	card->no_cuda.outcome = OUTCOME_FAILED;
	if (g->cuda.fault)
		card->no_cuda =
			why_of(g->ctx, g->cuda.fault->outcome, g->cuda.fault->why, "cuDeviceGet");
	else
		reason_set(g->ctx, &card->no_cuda.reason, MSG_card_refused, card->id,
		           str_text(&err->text));
}

static void take_cuda(struct gpus *g)
{
	g->cards = grow(g, g->cuda.count);
	for (int i = 0; i < g->cuda.count; i++) {
		struct error err = {0};
		struct cuda_card cu;
		struct gpu_card *card;

		if (cuda_card_read(&g->cuda, g->ctx->arena, i, &cu, &err) != ST_OK) {
			take_unreadable(g, i, &err);
			error_release(&err);
			continue;
		}
		card = add_card(g, cu.pci, cu.uuid);
		/* Slices of a card (MIG) have its address: the first speaks. */
		if (card->has_cu)
			continue;
		card->cu = cu;
		card->in_cuda = card->has_cu = true;
		if (!card->has_nv)
			card->id = cu.uuid;
	}
}

static int by_address(const void *a, const void *b)
{
	const struct gpu_card *x = a, *y = b;

	if (!x->pci || !y->pci)
		return (x->pci == NULL) - (y->pci == NULL);
	return strcmp(x->pci, y->pci);
}

static bool cut_up(struct gpus *g, const struct gpu_card *card)
{
	unsigned now = 0, pending;

	return card->has_nv &&
	       NVML_ASK(&g->nvml, mig_mode, card->nv.device, &now, &pending) == NVML_OK && now;
}

/* CUDA numbers by address all cards that the driver has, also those hidden. */
static void find_hidden(struct gpus *g)
{
	int number = 0;

	qsort(g->cards, (size_t)g->n_cards, sizeof(*g->cards), by_address);
	for (int i = 0; i < g->n_cards; i++) {
		struct gpu_card *card = &g->cards[i];
		bool counts = card->in_nvml || card->in_cuda || (!g->has_nvml && !card->withheld);

		card->hidden = !card->in_cuda && counts &&
		               !visible_names(&g->visible, number, card->id, cut_up(g, card));
		number += counts;
	}
}

void join_cuda(struct gpus *g)
{
	if (g->has_cuda)
		take_cuda(g);
	find_hidden(g);
	for (int i = 0; i < g->n_cards; i++) {
		struct gpu_card *card = &g->cards[i];

		if (card->hidden)
			card->no_cuda = why_of(g->ctx, OUTCOME_NOT_MEASURED, MSG_card_hidden,
			                       g->visible.text);
		else if (!g->has_cuda)
			card->no_cuda = g->no_cuda;
	}
}

/* --- agreement ---------------------------------------------------------------------------- */

/* Who could see the card and does not, and who does: "NVML and CUDA". */
struct witnesses {
	const char *seen, *missed;
};

static void name_one(struct gpus *g, const char **list, const char *name)
{
	*list = *list ? arena_strf(g->ctx->arena, "%s and %s", *list, name) : name;
}

static struct witnesses witnesses(struct gpus *g, const struct gpu_card *card)
{
	struct witnesses w = {NULL, NULL};

	if (g->host.n_cards > 0)
		name_one(g, card->bus ? &w.seen : &w.missed, "PCI");
	if (g->has_nvml)
		name_one(g, card->in_nvml ? &w.seen : &w.missed, "NVML");
	if (g->has_cuda && !card->hidden)
		name_one(g, card->in_cuda ? &w.seen : &w.missed, "CUDA");
	return w;
}

static bool absent(struct gpus *g, struct gpu_card *card, struct reason *reason)
{
	struct witnesses w = witnesses(g, card);
	struct why why = {.outcome = OUTCOME_FAILED};

	if (card->withheld && !card->in_nvml && !card->in_cuda)
		return false;
	if (!w.missed || !w.seen)
		return false;
	reason_set(g->ctx, &why.reason, MSG_card_unlisted, card->pci ? card->pci : card->id,
	           w.missed, w.seen);
	*reason = why.reason;
	if (g->has_nvml && !card->in_nvml)
		card->no_nvml = why;
	if (g->has_cuda && !card->in_cuda && !card->hidden)
		card->no_cuda = why;
	return true;
}

static void put_cards(struct gpus *g, struct json_out *j)
{
	json_array_begin(j, "cards");
	for (int i = 0; i < g->n_cards; i++) {
		const struct gpu_card *card = &g->cards[i];

		json_object_begin(j, NULL);
		json_put_string(j, "id", card->id);
		json_put_string(j, "pci", card->pci);
		json_put_known(j, "nvml_index", card->has_nv ? card->nv.index : -1);
		json_put_known(j, "cuda_index", card->has_cu ? card->cu.index : -1);
		json_put_string(j, "model",
		                card->has_nv   ? card->nv.name
		                : card->has_cu ? card->cu.name
		                               : NULL);
		if (card->hidden)
			json_put_bool(j, "hidden", true);
		if (card->withheld)
			json_put_bool(j, "withheld", true);
		json_object_end(j);
	}
	json_array_end(j);
}

static int models(const struct gpus *g)
{
	int n = 0;

	for (int i = 0; i < g->n_cards; i++) {
		bool known = !g->cards[i].has_nv;

		for (int k = 0; k < i && !known; k++)
			known = g->cards[k].has_nv &&
			        strcmp(g->cards[k].nv.name, g->cards[i].nv.name) == 0;
		n += !known;
	}
	return n;
}

static const char *agreement_params(struct gpus *g)
{
	struct json_text t = json_text_begin();

	json_put_known(&t.j, "pci", g->host.n_cards);
	json_put_known(&t.j, "nvml", g->has_nvml ? g->nvml.count : -1);
	json_put_known(&t.j, "cuda", g->has_cuda ? g->cuda.count : -1);
	json_put_known(&t.j, "models", g->has_nvml ? models(g) : -1);
	json_put_string(&t.j, "visible_devices", g->visible.text);
	if (g->visible.ended_by)
		json_put_string(&t.j, "visible_devices_ended_by", g->visible.ended_by);
	put_cards(g, &t.j);
	return json_text_end(&t, g->ctx->arena);
}

/* "2 of 8: 0000:3d:00.0 is not listed by NVML; PCI shows it" of the first one. */
static int count_absent(struct gpus *g, struct reason *reason)
{
	struct reason first = {0}, each;
	int n = 0;

	for (int i = 0; i < g->n_cards; i++) {
		if (!absent(g, &g->cards[i], &each))
			continue;
		if (n++ == 0)
			first = each;
		else if (n <= 8)
			first.text = arena_strf(g->ctx->arena, "%s; %s", first.text, each.text);
	}
	if (n)
		reason_set(g->ctx, reason, MSG_cards_disagree, tmpf("%d", n),
		           tmpf("%d", g->n_cards), first.text);
	return n;
}

enum status join_emit(struct gpus *g)
{
	struct reading r = reading_init();
	int lists = (g->host.n_cards > 0) + g->has_nvml + g->has_cuda;

	r.metric = "node_cards_agree";
	r.subject.kind = SUBJECT_NODE;
	r.subject.id = g->ctx->node;
	r.params = agreement_params(g);
	if (count_absent(g, &r.reason)) {
		r.outcome = OUTCOME_FAILED;
	} else if (!g->has_nvml || !g->has_cuda || lists < 2) {
		const struct why *why = !g->has_nvml ? &g->no_nvml : &g->no_cuda;

		r.outcome = why->outcome;
		r.reason = why->reason;
	} else if (g->host.n_cards == 0 && g->n_cards > 0) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(g->ctx, &r.reason, MSG_cards_one_witness, "the driver");
	} else {
		r.value_kind = VALUE_NUMBER;
		r.value = 1;
	}
	return g->ctx->emit(g->ctx, &r);
}
