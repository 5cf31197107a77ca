/* The double of libnvidia-ml: who shares the card and how, and Xids. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/standin/nvml.h"

/* --- isolation ----------------------------------------------------------------------------- */

nvml_result nvmlDeviceGetVirtualizationMode(nvml_device device, int *mode)
{
	struct card *card;
	int result = nvml_enter("nvmlDeviceGetVirtualizationMode", device, &card);
	const struct fault *f;

	if (!result) {
		f = fault_of(FAULT_VIRTUALIZATION, card->index);
		*mode = !f                                    ? NVML_VIRTUAL_NONE
		        : strcmp(f->word, "passthrough") == 0 ? NVML_VIRTUAL_PASSTHROUGH
		                                              : NVML_VIRTUAL_VGPU;
	}
	return machine_leave(result);
}

static bool can_mig(const struct card *card)
{
	return card->is.cc_major >= 8 && card->is.cc_minor == 0;
}

nvml_result nvmlDeviceGetMigMode(nvml_device device, unsigned *mode, unsigned *pending)
{
	NVML_GET("nvmlDeviceGetMigMode", device, if (!can_mig(card)) result = NVML_NOT_SUPPORTED;
	         else *mode = *pending = fault_of(FAULT_MIG, card->index) != NULL);
}

nvml_result nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned *count)
{
	NVML_GET("nvmlDeviceGetMaxMigDeviceCount", device, *count = can_mig(card) ? 7 : 0);
}

nvml_result nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned index,
                                                nvml_device *mig)
{
	NVML_GET("nvmlDeviceGetMigDeviceHandleByIndex", device,
	         if (index || !fault_of(FAULT_MIG, card->index)) result = NVML_NOT_FOUND;
	         else *mig = device);
}

/* --- others on the card ---------------------------------------------------------------------- */

/* Own process once it has a context, then foreign ones. */
static unsigned list_processes(const struct card *card, nvml_process *out, unsigned room)
{
	unsigned n = 0;

	if (card->context_refs && n++ < room)
		out[n - 1] = (nvml_process){(unsigned)getpid(), memory_used(card), ~0u, ~0u};
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_FOREIGN_PROCESS, card->index));)
		if (n++ < room)
			out[n - 1] =
				(nvml_process){(unsigned)f->number,
			                       (unsigned long long)((double)f->number2 * 1048576 /
			                                            node.memory_divisor),
			                       ~0u, ~0u};
	return n;
}

#define ENTRIES 16

/* Entries of `stride` bytes; what is longer than the struct is zero. */
static int processes(const char *call, nvml_device device, unsigned *count, void *entries,
                     size_t stride)
{
	struct card *card;
	nvml_process list[ENTRIES];
	int result = nvml_enter(call, device, &card);
	size_t bytes = stride < sizeof(*list) ? stride : sizeof(*list);
	unsigned n;

	if (!result) {
		n = list_processes(card, list, ENTRIES);
		result = n > *count ? NVML_INSUFFICIENT_SIZE : NVML_OK;
		for (unsigned i = 0; !result && i < n; i++) {
			memset((char *)entries + i * stride, 0, stride);
			memcpy((char *)entries + i * stride, &list[i], bytes);
		}
		*count = n;
	}
	return machine_leave(result);
}

nvml_result nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned *count,
                                                    nvml_process *entries)
{
	return processes("nvmlDeviceGetComputeRunningProcesses_v3", device, count, entries,
	                 (size_t)node.process_bytes);
}

nvml_result nvmlDeviceGetComputeRunningProcesses_v2(nvml_device device, unsigned *count,
                                                    nvml_process *entries)
{
	return processes("nvmlDeviceGetComputeRunningProcesses_v2", device, count, entries,
	                 sizeof(*entries));
}

/* The oldest form is the beginning of the newer. */
nvml_result nvmlDeviceGetComputeRunningProcesses(nvml_device device, unsigned *count,
                                                 nvml_process_v1 *entries)
{
	return processes("nvmlDeviceGetComputeRunningProcesses", device, count, entries,
	                 sizeof(*entries));
}

/* --- events ------------------------------------------------------------------------------------- */

struct event_set {
	uint32_t cards; /* registered for Xids, one bit each */
};

nvml_result nvmlEventSetCreate(nvml_event_set *set)
{
	int result = machine_enter("nvmlEventSetCreate", NULL);

	if (!result && !(*set = calloc(1, sizeof(struct event_set))))
		result = NVML_MEMORY;
	return machine_leave(result);
}

nvml_result nvmlEventSetFree(nvml_event_set set)
{
	free(set);
	return NVML_OK;
}

nvml_result nvmlDeviceRegisterEvents(nvml_device device, unsigned long long types,
                                     nvml_event_set set)
{
	NVML_GET("nvmlDeviceRegisterEvents", device,
	         if (types & NVML_EVENT_XID)((struct event_set *)set)->cards |= 1u << card->index);
}

nvml_result nvmlEventSetWait_v2(nvml_event_set set, nvml_event *event, unsigned timeout_ms)
{
	int result = machine_enter("nvmlEventSetWait_v2", NULL);
	uint32_t watched = ((struct event_set *)set)->cards;

	if (result)
		return machine_leave(result);
	for (struct fault *f = NULL; watched && (f = fault_next(f, FAULT_XID, -1));) {
		/* Any card: the first that is watched. */
		int card = f->card >= 0 ? f->card : __builtin_ctz(watched);

		if (!(watched & 1u << card) || nvml_seconds() < f->from_s || f->seen++)
			continue;
		*event = (nvml_event){.device = (nvml_device)&node.cards[card],
		                      .type = NVML_EVENT_XID,
		                      .data = (unsigned long long)f->number};
		return machine_leave(NVML_OK);
	}
	host_now += timeout_ms * 1e6;
	return machine_leave(NVML_TIMEOUT);
}
