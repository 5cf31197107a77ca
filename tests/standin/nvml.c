/* The double of libnvidia-ml: start, the list of cards, who they are, what they
 * are doing. Sensors come from the machine's own record of its work. */
#include <stdio.h>
#include <string.h>

#include "tests/standin/nvml.h"

EXPORT extern const char assay_standin[];
const char assay_standin[] = "libnvidia-ml of tests/standin";

static int starts;

/* --- cards --------------------------------------------------------------------------- */

static bool nvml_sees(const struct card *card)
{
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_MISSING, card->index));)
		if (!*f->word || strcmp(f->word, "nvml") == 0)
			return false;
	return true;
}

static struct card *nth_card(unsigned index)
{
	for (int c = 0; c < node.n_cards; c++)
		if (nvml_sees(&node.cards[c]) && index-- == 0)
			return &node.cards[c];
	return NULL;
}

const struct identity *nvml_says(const struct card *card)
{
	return &card->says[LAYER_NVML];
}

int nvml_enter(const char *call, nvml_device device, struct card **card)
{
	int result;

	*card = NULL;
	for (int c = 0; c < MAX_CARDS; c++)
		if ((struct card *)device == &node.cards[c])
			*card = &node.cards[c];
	result = machine_enter(call, *card);
	if (result)
		return result;
	if (!starts)
		return NVML_UNINITIALIZED;
	if (!*card)
		return NVML_INVALID_ARGUMENT;
	return card_lost(*card) ? NVML_GPU_LOST : NVML_OK;
}

int nvml_text(char *to, unsigned size, const char *text)
{
	if (strlen(text) >= size)
		return NVML_INSUFFICIENT_SIZE;
	strcpy(to, text);
	return NVML_OK;
}

nvml_result nvmlInit_v2(void)
{
	int result = machine_enter("nvmlInit_v2", NULL);

	starts += !result;
	return machine_leave(result);
}

nvml_result nvmlShutdown(void)
{
	int result = machine_enter("nvmlShutdown", NULL);

	if (!result && !starts)
		result = NVML_UNINITIALIZED;
	starts -= !result;
	return machine_leave(result);
}

const char *nvmlErrorString(nvml_result code)
{
	static const struct {
		const char *name;
		int code;
	} names[] = {
#define X(ours, theirs, value) {#theirs, value},
		NVML_VALUES(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].code == code)
			return names[i].name;
	return "Unknown Error";
}

nvml_result nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	int result = machine_enter("nvmlSystemGetDriverVersion", NULL);

	if (!result)
		result = starts ? nvml_text(text, size, node.driver) : NVML_UNINITIALIZED;
	return machine_leave(result);
}

nvml_result nvmlSystemGetNVMLVersion(char *text, unsigned size)
{
	int result = machine_enter("nvmlSystemGetNVMLVersion", NULL);
	char version[48];

	snprintf(version, sizeof(version), "%d.%s", node.cuda / 1000, node.driver);
	if (!result)
		result = starts ? nvml_text(text, size, version) : NVML_UNINITIALIZED;
	return machine_leave(result);
}

nvml_result nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	int result = machine_enter("nvmlSystemGetCudaDriverVersion_v2", NULL);

	if (!result)
		*version = node.cuda;
	return machine_leave(result);
}

nvml_result nvmlSystemGetConfComputeState(nvml_confidential *state)
{
	int result = machine_enter("nvmlSystemGetConfComputeState", NULL);

	if (!result)
		*state = (nvml_confidential){0, 0, 0};
	return machine_leave(result);
}

static int enter_list(const char *call)
{
	int result = machine_enter(call, NULL);

	return result || starts ? result : NVML_UNINITIALIZED;
}

nvml_result nvmlDeviceGetCount_v2(unsigned *count)
{
	int result = enter_list("nvmlDeviceGetCount_v2");
	unsigned n = 0;

	while (!result && nth_card(n))
		n++;
	if (!result)
		*count = n;
	return machine_leave(result);
}

/* One lost card spoils its own handle and no other. */
static int hand_out(struct card *card, nvml_device *device, int absent)
{
	if (!card)
		return absent;
	if (card_lost(card))
		return NVML_GPU_LOST;
	*device = (nvml_device)card;
	return NVML_OK;
}

nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device)
{
	int result = enter_list("nvmlDeviceGetHandleByIndex_v2");

	if (!result)
		result = hand_out(nth_card(index), device, NVML_INVALID_ARGUMENT);
	return machine_leave(result);
}

nvml_result nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvml_device *device)
{
	int result = enter_list("nvmlDeviceGetHandleByPciBusId_v2");
	int domain, bus, slot;
	struct card *found = NULL, *card;

	if (!result &&
	    sscanf(id, "%x:%x:%x", (unsigned *)&domain, (unsigned *)&bus, (unsigned *)&slot) != 3)
		result = NVML_INVALID_ARGUMENT;
	for (unsigned n = 0; !result && (card = nth_card(n)); n++)
		if (card->domain == domain && card->bus == bus && card->device == slot)
			found = card;
	if (!result)
		result = hand_out(found, device, NVML_NOT_FOUND);
	return machine_leave(result);
}

nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device)
{
	int result = enter_list("nvmlDeviceGetHandleByUUID");
	struct card *found = NULL, *card;

	for (unsigned n = 0; !result && (card = nth_card(n)); n++)
		if (strcmp(nvml_says(card)->uuid, uuid) == 0)
			found = card;
	if (!result)
		result = hand_out(found, device, NVML_NOT_FOUND);
	return machine_leave(result);
}

/* --- identity ------------------------------------------------------------------------- */

nvml_result nvmlDeviceGetName(nvml_device device, char *text, unsigned size)
{
	NVML_GET("nvmlDeviceGetName", device,
	         result = nvml_text(text, size, nvml_says(card)->name));
}

nvml_result nvmlDeviceGetUUID(nvml_device device, char *text, unsigned size)
{
	NVML_GET("nvmlDeviceGetUUID", device,
	         result = nvml_text(text, size, nvml_says(card)->uuid));
}

nvml_result nvmlDeviceGetSerial(nvml_device device, char *text, unsigned size)
{
	NVML_GET("nvmlDeviceGetSerial", device, result = nvml_text(text, size, card->serial));
}

nvml_result nvmlDeviceGetVbiosVersion(nvml_device device, char *text, unsigned size)
{
	NVML_GET("nvmlDeviceGetVbiosVersion", device, result = nvml_text(text, size, node.vbios));
}

nvml_result nvmlDeviceGetGspFirmwareVersion(nvml_device device, char *text)
{
	NVML_GET("nvmlDeviceGetGspFirmwareVersion", device, strcpy(text, node.driver));
}

nvml_result nvmlDeviceGetMinorNumber(nvml_device device, unsigned *minor)
{
	NVML_GET("nvmlDeviceGetMinorNumber", device, *minor = (unsigned)card->index);
}

void nvml_pci_of(const struct card *card, nvml_pci *pci)
{
	*pci = (nvml_pci){.domain = (unsigned)card->domain,
	                  .bus = (unsigned)card->bus,
	                  .device = (unsigned)card->device,
	                  .device_id = (unsigned)nvml_says(card)->pci_device,
	                  .subsystem_id = (unsigned)nvml_says(card)->pci_device};
	snprintf(pci->bus_id_legacy, sizeof(pci->bus_id_legacy), "%04X:%02X:%02X.0",
	         pci->domain & 0xffff, pci->bus & 0xff, pci->device & 0xff);
	snprintf(pci->bus_id, sizeof(pci->bus_id), "%08X:%02X:%02X.0", pci->domain, pci->bus,
	         pci->device);
}

nvml_result nvmlDeviceGetPciInfo_v3(nvml_device device, nvml_pci *pci)
{
	NVML_GET("nvmlDeviceGetPciInfo_v3", device, nvml_pci_of(card, pci));
}

nvml_result nvmlDeviceGetCudaComputeCapability(nvml_device device, int *major, int *minor)
{
	struct card *card;
	int result = nvml_enter("nvmlDeviceGetCudaComputeCapability", device, &card);

	if (!result) {
		*major = nvml_says(card)->cc_major;
		*minor = nvml_says(card)->cc_minor;
	}
	return machine_leave(result);
}

nvml_result nvmlDeviceGetNumGpuCores(nvml_device device, unsigned *cores)
{
	/* 64 a SM on the large chips (x.0), 128 on the others. */
	NVML_GET("nvmlDeviceGetNumGpuCores", device,
	         *cores = (unsigned)nvml_says(card)->sm_count *
	                  (nvml_says(card)->cc_minor || nvml_says(card)->cc_major >= 9 ? 128 : 64));
}

nvml_result nvmlDeviceGetMemoryBusWidth(nvml_device device, unsigned *bits)
{
	NVML_GET("nvmlDeviceGetMemoryBusWidth", device,
	         *bits = (unsigned)nvml_says(card)->bus_width);
}

nvml_result nvmlDeviceGetMemoryInfo(nvml_device device, nvml_memory *memory)
{
	struct card *card;
	int result = nvml_enter("nvmlDeviceGetMemoryInfo", device, &card);

	if (!result) {
		memory->total = (unsigned long long)nvml_says(card)->memory_bytes;
		memory->used = memory_used(card) + memory_reserved(card);
		memory->free = memory->total > memory->used ? memory->total - memory->used : 0;
	}
	return machine_leave(result);
}

nvml_result nvmlDeviceGetMemoryInfo_v2(nvml_device device, nvml_memory_v2 *memory)
{
	struct card *card;
	int result = nvml_enter("nvmlDeviceGetMemoryInfo_v2", device, &card);

	if (!result && memory->version != NVML_VERSION_OF(nvml_memory_v2, 2))
		result = NVML_VERSION_MISMATCH;
	if (!result) {
		memory->total = (unsigned long long)nvml_says(card)->memory_bytes;
		memory->reserved = memory->total / 128;
		memory->used = memory_used(card) + memory_reserved(card) - memory->reserved;
		memory->free = memory->total - memory->reserved - memory->used;
	}
	return machine_leave(result);
}

/* --- clocks, power, heat ---------------------------------------------------------------- */

static int clock_of(struct card *card, int kind, bool highest, unsigned *mhz)
{
	if (kind < 0 || kind > 3)
		return NVML_INVALID_ARGUMENT;
	if (kind == NVML_MEMORY_CLOCK)
		*mhz = (unsigned)nvml_says(card)->memory_clock_mhz;
	else if (highest)
		*mhz = (unsigned)nvml_says(card)->sm_clock_mhz;
	else
		/* A card that claims another clock shows it in proportion. */
		*mhz = (unsigned)(card_clock_mhz(card) * nvml_says(card)->sm_clock_mhz /
		                  card->is.sm_clock_mhz);
	return NVML_OK;
}

nvml_result nvmlDeviceGetClockInfo(nvml_device device, nvml_clock_kind clock, unsigned *mhz)
{
	NVML_GET("nvmlDeviceGetClockInfo", device, result = clock_of(card, clock, false, mhz));
}

nvml_result nvmlDeviceGetMaxClockInfo(nvml_device device, nvml_clock_kind clock, unsigned *mhz)
{
	NVML_GET("nvmlDeviceGetMaxClockInfo", device, result = clock_of(card, clock, true, mhz));
}

nvml_result nvmlDeviceGetPowerUsage(nvml_device device, unsigned *milliwatts)
{
	NVML_GET("nvmlDeviceGetPowerUsage", device,
	         *milliwatts = (unsigned)(card_power_w(card) * 1000));
}

nvml_result nvmlDeviceGetEnforcedPowerLimit(nvml_device device, unsigned *milliwatts)
{
	struct card *card;
	int result = nvml_enter("nvmlDeviceGetEnforcedPowerLimit", device, &card);
	const struct fault *f;

	if (!result) {
		f = fault_of(FAULT_POWER_LIMIT, card->index);
		*milliwatts = 1000 * (unsigned)(f && f->number ? f->number
		                                               : nvml_says(card)->power_limit_w);
	}
	return machine_leave(result);
}

nvml_result nvmlDeviceGetPowerManagementDefaultLimit(nvml_device device, unsigned *milliwatts)
{
	NVML_GET("nvmlDeviceGetPowerManagementDefaultLimit", device,
	         *milliwatts = 1000 * (unsigned)nvml_says(card)->power_limit_w);
}

nvml_result nvmlDeviceGetPowerManagementLimitConstraints(nvml_device device, unsigned *min_mw,
                                                         unsigned *max_mw)
{
	struct card *card;
	int result = nvml_enter("nvmlDeviceGetPowerManagementLimitConstraints", device, &card);

	if (!result) {
		*min_mw = 250 * (unsigned)nvml_says(card)->power_limit_w;
		*max_mw = 1000 * (unsigned)nvml_says(card)->power_limit_w;
	}
	return machine_leave(result);
}

nvml_result nvmlDeviceGetTotalEnergyConsumption(nvml_device device, unsigned long long *millijoules)
{
	NVML_GET("nvmlDeviceGetTotalEnergyConsumption", device,
	         *millijoules = (unsigned long long)card_energy_mj(card));
}

nvml_result nvmlDeviceGetPerformanceState(nvml_device device, nvml_pstate *state)
{
	NVML_GET("nvmlDeviceGetPerformanceState", device, *state = card_reasons(card) & 1 ? 8 : 0);
}

nvml_result nvmlDeviceGetUtilizationRates(nvml_device device, nvml_utilization *rates)
{
	struct card *card;
	int result = nvml_enter("nvmlDeviceGetUtilizationRates", device, &card);

	if (!result) {
		double share = card_busy(card, host_now - 1e8, host_now) / 1e8;

		*rates = (nvml_utilization){(unsigned)(share * 100), (unsigned)(share * 50)};
	}
	return machine_leave(result);
}

nvml_result nvmlDeviceGetTemperature(nvml_device device, nvml_sensor sensor, unsigned *celsius)
{
	NVML_GET("nvmlDeviceGetTemperature", device, if (sensor) result = NVML_INVALID_ARGUMENT;
	         else *celsius = (unsigned)card_temperature(card));
}

nvml_result nvmlDeviceGetTemperatureV(nvml_device device, nvml_temperature *temperature)
{
	NVML_GET("nvmlDeviceGetTemperatureV", device,
	         if (temperature->version != NVML_VERSION_OF(nvml_temperature, 1)) result =
	                 NVML_VERSION_MISMATCH;
	         else temperature->celsius = (int)card_temperature(card));
}

nvml_result nvmlDeviceGetTemperatureThreshold(nvml_device device, nvml_threshold threshold,
                                              unsigned *celsius)
{
	NVML_GET("nvmlDeviceGetTemperatureThreshold", device,
	         *celsius = threshold == NVML_THRESHOLD_SHUTDOWN ? 95 : 90);
}

nvml_result nvmlDeviceGetCurrentClocksEventReasons(nvml_device device, unsigned long long *mask)
{
	NVML_GET("nvmlDeviceGetCurrentClocksEventReasons", device, *mask = card_reasons(card));
}

nvml_result nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *mask)
{
	NVML_GET("nvmlDeviceGetCurrentClocksThrottleReasons", device, *mask = card_reasons(card));
}

nvml_result nvmlDeviceGetComputeMode(nvml_device device, nvml_compute_mode *mode)
{
	NVML_GET("nvmlDeviceGetComputeMode", device, *mode = NVML_COMPUTE_DEFAULT);
}

nvml_result nvmlDeviceGetPersistenceMode(nvml_device device, nvml_enable *mode)
{
	NVML_GET("nvmlDeviceGetPersistenceMode", device, *mode = 1);
}
