/* The cards of a node as inventory sees them: what PCI, NVML and CUDA say of
 * the same card, joined by its PCI address, and the ways its parts hand in a
 * reading about one card.
 *
 * Strings belong to the arena of the context. Every fact is emitted about its
 * card, measured or with the reason; a card that cannot be asked owes all of
 * them and spoils nothing of the others. */
#ifndef ASSAY_BENCH_INVENTORY_CARDS_H
#define ASSAY_BENCH_INVENTORY_CARDS_H

#include "hw/cuda.h"
#include "hw/host.h"
#include "hw/nvml.h"
#include "inventory.h"
#include "inventory_visible.h"
#include "inventory_xid.h"

#define INVENTORY_METRICS 128 /* room for one mark a metric; the coordinator's limit too */

/* Why something was not measured. */
struct why {
	enum outcome outcome;
	struct reason reason;
};

struct gpu_card {
	const char *id;             /* UUID; else the PCI address, else nvml-N or cuda-N */
	const char *pci;            /* 0000:17:00.0, or NULL */
	const struct host_pci *bus; /* what /sys says, or NULL */
	bool in_nvml, in_cuda;      /* listed there, readable or not */
	bool withheld;              /* a container has this card of the host not */
	bool hidden;                /* by CUDA_VISIBLE_DEVICES */
	bool has_nv, has_cu;        /* nv, cu hold */
	bool fabric_begun;          /* NVSwitch's fabric was in progress when first asked */
	struct nvml_card nv;
	struct cuda_card cu;
	struct why no_nvml, no_cuda; /* when they do not */
	/* The driver does not answer about it: nothing more is said but that. */
	_Atomic bool hangs;
	bool said[INVENTORY_METRICS];
};

struct gpus {
	struct probe_ctx *ctx;
	struct host_nvidia host;
	struct visible visible;
	struct cuda cuda;
	struct nvml nvml;
	bool has_nvml, has_cuda;     /* started */
	struct why no_nvml, no_cuda; /* when not */
	struct gpu_card *cards;      /* by PCI address */
	int n_cards;
	/* Memory of stand-ins is divided by this; 1 on real cards. */
	double memory_scale;
	struct xid_log xids;
	nvml_event_set events;
};

/* --- emitting (inventory_cards.c) ---------------------------------------------- */

/* A reading of the metric about the card. */
struct reading card_fact(const struct gpu_card *card, const char *metric);
enum status card_emit(struct gpus *g, struct gpu_card *card, const struct reading *r);
/* params: JSON text or NULL. */
enum status card_number(struct gpus *g, struct gpu_card *card, const char *metric, double value,
                        const char *params);
enum status card_text(struct gpus *g, struct gpu_card *card, const char *metric, const char *text,
                      const char *params);
enum status card_unknown(struct gpus *g, struct gpu_card *card, const char *metric,
                         const struct why *why);
/* What NVML answered instead: lost, no permission and not supported differ. */
enum status card_refused(struct gpus *g, struct gpu_card *card, const char *metric,
                         nvml_result code, const char *call);

/* argument: of the message, NULL for one that has none. */
struct why why_of(struct probe_ctx *ctx, enum outcome outcome, enum msg id, const char *argument);
struct why why_nvml(struct gpus *g, nvml_result code, const char *call);

/* A member that holds the value, or in words why there is none. */
void put_answer(struct json_out *j, const char *key, nvml_result code, int64_t value);
/* The word of the answer, NULL for NVML_OK. */
const char *answer_word(nvml_result code);

/* --- facts about one card ------------------------------------------------------- */

/* Those that ask NVML are called for cards it can read, the others for all.
 * inventory_identity.c: identity_facts asks NVML, identity_compare all three. */
enum status identity_facts(struct gpus *g, struct gpu_card *card);
enum status identity_compare(struct gpus *g, struct gpu_card *card);
/* inventory_health.c: memory errors, power, the driver's own opinion. */
enum status health_facts(struct gpus *g, struct gpu_card *card);
/* inventory_sharing.c: slices, guests, other processes, settings. */
enum status sharing_facts(struct gpus *g, struct gpu_card *card);
/* inventory_links.c: NVLink; the fabric that was in progress, after CUDA has waited
 * for it; PCIe needs a context for its load. */
enum status nvlink_facts(struct gpus *g, struct gpu_card *card);
enum status fabric_facts(struct gpus *g, struct gpu_card *card);
enum status pcie_facts(struct gpus *g, struct gpu_card *card);

/* --- inventory_join.c: which cards there are -------------------------------------- */

void join_pci(struct gpus *g);
void join_nvml(struct gpus *g);
void join_cuda(struct gpus *g);
enum status join_emit(struct gpus *g);

#endif
