/* Whether a card is the tenant's alone: cut into slices, a guest's share, used
 * by others. Asked before Assay has a context of its own on any card, so that
 * in a container, where process numbers mean nothing, whoever is listed is
 * somebody else. */
#include <string.h>
#include <unistd.h>

#include "inventory_cards.h"

#define MIB (1024.0 * 1024)
/* Memory in use, as a share of all, that nobody listed accounts for: the driver's
 * own stays below 1 %. */
#define UNEXPLAINED 0.02
/* The kernel of a Grace machine puts pages of its own on the cards' memory. */
#ifdef __aarch64__
#define KERNEL_SHARES true
#else
#define KERNEL_SHARES false
#endif

static enum status emit_mig(struct gpus *g, struct gpu_card *card)
{
	unsigned now = 0, pending = 0, slices = 0;
	nvml_result code = NVML_ASK(&g->nvml, mig_mode, card->nv.device, &now, &pending);
	struct json_text t;

	if (code != NVML_OK)
		return card_refused(g, card, "card_mig_enabled", code, "nvmlDeviceGetMigMode");
	t = json_text_begin();
	json_put_int(&t.j, "after_reset", pending);
	code = NVML_ASK(&g->nvml, mig_max, card->nv.device, &slices);
	put_answer(&t.j, "most_slices", code, slices);
	return card_number(g, card, "card_mig_enabled", now != 0, json_text_end(&t, g->ctx->arena));
}

static const char *virtual_word(nvml_virtual_mode mode)
{
	static const char *const words[] = {"none", "passthrough", "vgpu", "host of vgpu",
	                                    "host of vsga"};

	return mode >= 0 && mode < 5 ? words[mode] : "unknown";
}

/* A whole card passed through is the tenant's own. A host of vGPUs shares it. */
static enum status emit_virtual(struct gpus *g, struct gpu_card *card)
{
	static const char *const call = "nvmlDeviceGetVirtualizationMode";
	nvml_virtual_mode mode = 0;
	nvml_result code = NVML_ASK(&g->nvml, virtualization, card->nv.device, &mode);
	enum status st;

	if (code != NVML_OK) {
		st = card_refused(g, card, "card_virtualization", code, call);
		return st == ST_OK ? card_refused(g, card, "card_vgpu", code, call) : st;
	}
	st = card_text(g, card, "card_virtualization", virtual_word(mode), NULL);
	if (st != ST_OK)
		return st;
	return card_number(g, card, "card_vgpu",
	                   mode != NVML_VIRTUAL_NONE && mode != NVML_VIRTUAL_PASSTHROUGH, NULL);
}

/* --- processes --------------------------------------------------------------------------- */

/* Bytes in use beyond what the listed processes have; negative: not known. Only
 * the newer form of the question leaves out what the driver keeps for itself. */
static double unexplained(struct gpus *g, const struct gpu_card *card, double *share)
{
	struct nvml_memory_use use;

	*share = 0;
	if (nvml_memory_read(&g->nvml, card->nv.device, &use) != NVML_OK || use.reserved < 0 ||
	    use.total <= 0)
		return -1;
	*share = (double)use.used / (double)use.total;
	return (double)use.used * g->memory_scale;
}

static int put_users(struct json_out *j, const struct gpus *g, const struct nvml_user *users, int n)
{
	int foreign = 0;

	json_array_begin(j, "processes");
	for (int i = 0; i < n; i++) {
		if (users[i].pid == (unsigned)getpid())
			continue;
		foreign++;
		json_object_begin(j, NULL);
		json_put_int(j, "pid", users[i].pid);
		json_put_known(j, "memory_mib",
		               users[i].used_bytes < 0 ? -1
		                                       : (int64_t)((double)users[i].used_bytes *
		                                                   g->memory_scale / MIB));
		json_object_end(j);
	}
	json_array_end(j);
	return foreign;
}

static enum status emit_processes(struct gpus *g, struct gpu_card *card)
{
	struct nvml_user *users;
	int n = 0, foreign;
	nvml_result code = nvml_processes(&g->nvml, g->ctx->arena, card->nv.device, &users, &n);
	double share, bytes = unexplained(g, card, &share);
	struct json_text t;

	if (code != NVML_OK)
		return card_refused(g, card, "card_foreign_processes", code,
		                    "nvmlDeviceGetComputeRunningProcesses");
	t = json_text_begin();
	foreign = put_users(&t.j, g, users, n);
	json_put_known(&t.j, "used_mib", bytes < 0 ? -1 : (int64_t)(bytes / MIB));
	/* In another name space: not listed here, and its memory is taken all the same. */
	if (foreign == 0 && share > UNEXPLAINED && !KERNEL_SHARES) {
		json_put_bool(&t.j, "hidden", true);
		foreign = 1;
	}
	return card_number(g, card, "card_foreign_processes", foreign,
	                   json_text_end(&t, g->ctx->arena));
}

enum status sharing_facts(struct gpus *g, struct gpu_card *card)
{
	enum status st = emit_mig(g, card);

	if (st == ST_OK)
		st = emit_virtual(g, card);
	return st == ST_OK ? emit_processes(g, card) : st;
}
