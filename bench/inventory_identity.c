/* Who a card says it is, by each that can be asked. A library that invents a
 * better card has to be matched by the bus, by CUDA and by the work; what they
 * say differently is a finding of its own, before any table is opened. */
#include <math.h>
#include <string.h>

#include "inventory_cards.h"

#define MIB (1024.0 * 1024)

/* --- what NVML says --------------------------------------------------------------------- */

static const char *capability_text(struct gpus *g, int major, int minor)
{
	return major < 0 ? NULL : arena_strf(g->ctx->arena, "%d.%d", major, minor);
}

static const char *name_params(struct gpus *g, const struct gpu_card *card)
{
	const struct nvml_card *nv = &card->nv;
	nvml_compute_mode mode = 0;
	nvml_enable persistence = 0;
	struct json_text t = json_text_begin();
	nvml_result code;

	json_put_int(&t.j, "nvml_index", nv->index);
	json_put_known(&t.j, "minor_number", nv->minor_number);
	json_put_string(&t.j, "serial", nv->serial);
	json_put_string(&t.j, "vbios", nv->vbios);
	json_put_string(&t.j, "gsp", nv->gsp);
	json_put_known(&t.j, "cores", nv->cores);
	json_put_known(&t.j, "bus_bits", nv->bus_bits);
	code = NVML_ASK(&g->nvml, compute_mode, nv->device, &mode);
	if (code == NVML_OK)
		json_put_string(&t.j, "compute_mode",
		                mode == NVML_COMPUTE_DEFAULT      ? "default"
		                : mode == NVML_COMPUTE_PROHIBITED ? "prohibited"
		                : mode == NVML_COMPUTE_EXCLUSIVE  ? "exclusive process"
		                                                  : "exclusive thread");
	else
		json_put_string(&t.j, "compute_mode", answer_word(code));
	code = NVML_ASK(&g->nvml, persistence, nv->device, &persistence);
	put_answer(&t.j, "persistence", code, persistence);
	return json_text_end(&t, g->ctx->arena);
}

static void put_clock(struct gpus *g, const struct gpu_card *card, struct json_out *j,
                      const char *key, nvml_clock_kind kind, bool highest)
{
	unsigned mhz = 0;
	nvml_result code = highest ? NVML_ASK(&g->nvml, max_clock, card->nv.device, kind, &mhz)
	                           : g->nvml.call.clock(card->nv.device, kind, &mhz);

	put_answer(j, key, code, mhz);
}

static enum status emit_clock(struct gpus *g, struct gpu_card *card)
{
	struct json_text t = json_text_begin();
	unsigned long long reasons = 0;
	unsigned mhz = 0;
	nvml_result code = NVML_ASK(&g->nvml, max_clock, card->nv.device, NVML_SM_CLOCK, &mhz);
	const char *params;

	put_clock(g, card, &t.j, "sm_now_mhz", NVML_SM_CLOCK, false);
	put_clock(g, card, &t.j, "memory_now_mhz", NVML_MEMORY_CLOCK, false);
	put_clock(g, card, &t.j, "memory_max_mhz", NVML_MEMORY_CLOCK, true);
	put_answer(&t.j, "reasons", nvml_reasons(&g->nvml, card->nv.device, &reasons),
	           (int64_t)reasons);
	params = json_text_end(&t, g->ctx->arena);
	if (code == NVML_OK)
		return card_number(g, card, "card_max_sm_clock_mhz", mhz, params);
	return card_refused(g, card, "card_max_sm_clock_mhz", code, "nvmlDeviceGetMaxClockInfo");
}

static enum status emit_memory(struct gpus *g, struct gpu_card *card)
{
	struct nvml_memory_use use;
	nvml_result code = nvml_memory_read(&g->nvml, card->nv.device, &use);
	struct json_text t;

	if (code != NVML_OK)
		return card_refused(g, card, "card_memory_mib", code, "nvmlDeviceGetMemoryInfo");
	t = json_text_begin();
	json_put_known(&t.j, "used_mib", (int64_t)((double)use.used * g->memory_scale / MIB));
	json_put_known(&t.j, "reserved_mib",
	               use.reserved < 0 ? -1
	                                : (int64_t)((double)use.reserved * g->memory_scale / MIB));
	return card_number(g, card, "card_memory_mib", (double)use.total * g->memory_scale / MIB,
	                   json_text_end(&t, g->ctx->arena));
}

enum status identity_facts(struct gpus *g, struct gpu_card *card)
{
	const char *capability = capability_text(g, card->nv.major, card->nv.minor);
	enum status st = card_text(g, card, "card_name", card->nv.name, name_params(g, card));

	if (st == ST_OK)
		st = emit_clock(g, card);
	if (st == ST_OK)
		st = emit_memory(g, card);
	if (st == ST_OK && capability)
		st = card_text(g, card, "card_capability", capability, NULL);
	return st;
}

/* --- the sources against each other ------------------------------------------------------ */

/* What differs, in words and as params; how many things were compared. */
struct comparison {
	struct str words;
	struct json_text params;
	int compared;
};

static void differ(struct comparison *c, const char *what, const char *one, const char *says,
                   const char *other, const char *otherwise)
{
	str_addf(&c->words, "%s%s: %s says %s, %s %s", c->words.len ? "; " : "", what, one, says,
	         other, otherwise);
	json_object_begin(&c->params.j, NULL);
	json_put_string(&c->params.j, "what", what);
	json_put_string(&c->params.j, one, says);
	json_put_string(&c->params.j, other, otherwise);
	json_object_end(&c->params.j);
}

static void compare_numbers(struct comparison *c, const char *what, double nvml, double cuda,
                            double least, double most)
{
	if (!(nvml > 0) || !(cuda > 0))
		return;
	c->compared++;
	if (!(cuda >= nvml * least && cuda <= nvml * most))
		differ(c, what, "NVML", tmpf("%.15g", nvml), "CUDA", tmpf("%.15g", cuda));
}

/* FP32 units of an SM, which NVML counts and CUDA does not; 0: not known here. */
static int cores_per_sm(int major, int minor)
{
	if ((major == 7 && minor != 3) || (major == 8 && minor == 0))
		return 64;
	if (major == 8 || major == 9 || major == 10 || major == 12)
		return 128;
	return 0;
}

/* A slice (MIG) is less of its card by right. */
static void compare_sizes(struct gpus *g, struct comparison *c, const struct gpu_card *card)
{
	const struct cuda_card *cu = &card->cu;
	struct nvml_memory_use use;
	int cores = cores_per_sm(cu->major, cu->minor);

	if (nvml_memory_read(&g->nvml, card->nv.device, &use) == NVML_OK)
		/* CUDA leaves out what the driver keeps: 1 to 4 % on cards from 16 GB. */
		compare_numbers(
			c, "memory in MiB", floor((double)use.total * g->memory_scale / MIB),
			floor((double)cu->memory_bytes * g->memory_scale / MIB), 0.93, 1.001);
	if (cores && card->nv.cores > 0)
		compare_numbers(c, "multiprocessors", (double)card->nv.cores / cores, cu->sm_count,
		                1, 1);
}

static void compare_nvml_cuda(struct gpus *g, struct comparison *c, const struct gpu_card *card)
{
	const struct nvml_card *nv = &card->nv;
	const struct cuda_card *cu = &card->cu;
	unsigned cut = 0, pending = 0, mhz = 0;
	bool mig = NVML_ASK(&g->nvml, mig_mode, nv->device, &cut, &pending) == NVML_OK && cut;

	c->compared += 2;
	/* "NVIDIA A100-SXM4-80GB MIG 1g.10gb" is a slice of one. */
	if (mig ? !str_starts(cu->name, nv->name) : strcmp(nv->name, cu->name) != 0)
		differ(c, "name", "NVML", nv->name, "CUDA", cu->name);
	if (!mig && strcasecmp(nv->uuid, cu->uuid) != 0)
		differ(c, "UUID", "NVML", nv->uuid, "CUDA", cu->uuid);
	if (nv->major >= 0 && cu->major >= 0) {
		c->compared++;
		if (nv->major != cu->major || nv->minor != cu->minor)
			differ(c, "compute capability", "NVML", tmpf("%d.%d", nv->major, nv->minor),
			       "CUDA", tmpf("%d.%d", cu->major, cu->minor));
	}
	compare_numbers(c, "memory bus in bits", nv->bus_bits, cu->bus_bits, 1, 1);
	/* CUDA tells the rated boost; GeForce cards go up to a third above it. */
	if (NVML_ASK(&g->nvml, max_clock, nv->device, NVML_SM_CLOCK, &mhz) == NVML_OK)
		compare_numbers(c, "highest clock in MHz", mhz, cu->clock_mhz, 1 / 1.4, 1.02);
	if (!mig)
		compare_sizes(g, c, card);
}

static void compare_bus(struct comparison *c, const struct gpu_card *card)
{
	unsigned device = card->nv.device_id >> 16, board = card->nv.subsystem_id;
	const struct host_pci *bus = card->bus;

	if (bus->device >= 0) {
		c->compared++;
		if ((unsigned)bus->device != device)
			differ(c, "PCI device", "NVML", tmpf("10de:%04x", device), "the bus",
			       tmpf("10de:%04x", (unsigned)bus->device));
	}
	/* A guest's board may be rewritten by its hypervisor; absent reads as 0. */
	if (bus->subsystem_device > 0 && bus->subsystem_vendor > 0 && board) {
		unsigned seen =
			(unsigned)bus->subsystem_device << 16 | (unsigned)bus->subsystem_vendor;

		c->compared++;
		if (seen != board)
			differ(c, "PCI board", "NVML",
			       tmpf("%04x:%04x", board & 0xffff, board >> 16), "the bus",
			       tmpf("%04x:%04x", seen & 0xffff, seen >> 16));
	}
}

static enum status emit_agree(struct gpus *g, struct gpu_card *card)
{
	struct comparison c = {.params = json_text_begin()};
	struct reading r = card_fact(card, "card_sources_agree");
	enum status st;

	json_array_begin(&c.params.j, "differ");
	if (card->has_nv && card->has_cu)
		compare_nvml_cuda(g, &c, card);
	if (card->has_nv && card->bus)
		compare_bus(&c, card);
	json_array_end(&c.params.j);
	json_put_int(&c.params.j, "compared", c.compared);
	json_put_bool(&c.params.j, "pci", card->bus != NULL);
	json_put_bool(&c.params.j, "nvml", card->has_nv);
	json_put_bool(&c.params.j, "cuda", card->has_cu);
	r.params = json_text_end(&c.params, g->ctx->arena);
	if (c.words.len) {
		r.outcome = OUTCOME_FAILED;
		reason_set(g->ctx, &r.reason, MSG_card_sources_differ, c.words.data);
	} else if (c.compared && card->has_cu) {
		r.value_kind = VALUE_NUMBER;
		r.value = 1;
	} else {
		const struct why *why = card->has_nv ? &card->no_cuda : &card->no_nvml;

		r.outcome = why->outcome;
		r.reason = why->reason;
	}
	st = card_emit(g, card, &r);
	str_release(&c.words);
	return st;
}

/* --- what needs the bus or CUDA ------------------------------------------------------------ */

/* The bus is read by the kernel: of the three the hardest to make up. */
static enum status emit_pci(struct gpus *g, struct gpu_card *card)
{
	struct json_text t;
	int device = card->bus ? card->bus->device : -1;

	if (device < 0 && card->has_nv)
		device = (int)(card->nv.device_id >> 16);
	if (device < 0)
		return card_unknown(g, card, "card_pci_device", &card->no_nvml);
	t = json_text_begin();
	json_put_string(&t.j, "source", card->bus ? "/sys" : "NVML");
	if (card->bus && card->bus->subsystem_vendor >= 0 && card->bus->subsystem_device >= 0)
		json_put_string(&t.j, "subsystem",
		                tmpf("%04x:%04x", (unsigned)card->bus->subsystem_vendor,
		                     (unsigned)card->bus->subsystem_device));
	else if (card->has_nv)
		json_put_string(&t.j, "subsystem",
		                tmpf("%04x:%04x", card->nv.subsystem_id & 0xffff,
		                     card->nv.subsystem_id >> 16));
	if (card->bus) {
		json_put_known(&t.j, "revision", card->bus->revision);
		json_put_known(&t.j, "numa", card->bus->numa_node);
		json_put_string(&t.j, "driver", card->bus->driver);
	}
	return card_text(g, card, "card_pci_device",
	                 arena_strf(g->ctx->arena, "10de:%04x", (unsigned)device & 0xffff),
	                 json_text_end(&t, g->ctx->arena));
}

/* A card that NVML cannot be asked about has its name from CUDA. */
static enum status emit_by_cuda(struct gpus *g, struct gpu_card *card)
{
	enum status st = card_text(g, card, "card_name", card->cu.name, "{\"source\":\"CUDA\"}");

	if (st == ST_OK)
		st = card_text(g, card, "card_capability",
		               capability_text(g, card->cu.major, card->cu.minor), NULL);
	return st;
}

static enum status emit_units(struct gpus *g, struct gpu_card *card)
{
	struct json_text t;

	if (!card->has_cu)
		return card_unknown(g, card, "card_sm_count", &card->no_cuda);
	t = json_text_begin();
	json_put_int(&t.j, "cuda_index", card->cu.index);
	json_put_known(&t.j, "nvml_index", card->has_nv ? card->nv.index : -1);
	json_put_int(&t.j, "memory_mib",
	             (int64_t)((double)card->cu.memory_bytes * g->memory_scale / MIB));
	json_put_known(&t.j, "clock_mhz", card->cu.clock_mhz);
	json_put_known(&t.j, "memory_clock_mhz", card->cu.memory_clock_mhz);
	json_put_known(&t.j, "bus_bits", card->cu.bus_bits);
	json_put_known(&t.j, "copy_engines", card->cu.copy_engines);
	json_put_bool(&t.j, "kernel_timeout", card->cu.kernel_timeout);
	return card_number(g, card, "card_sm_count", card->cu.sm_count,
	                   json_text_end(&t, g->ctx->arena));
}

enum status identity_compare(struct gpus *g, struct gpu_card *card)
{
	enum status st = emit_pci(g, card);

	if (st == ST_OK)
		st = emit_units(g, card);
	if (st == ST_OK && card->has_cu && !card->has_nv && !g->has_nvml)
		st = emit_by_cuda(g, card);
	return st == ST_OK ? emit_agree(g, card) : st;
}
