/* The double of libnvidia-ml: throttling, memory health, PCIe, links, and the
 * table of fields. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/standin/nvml.h"

/* --- throttling ------------------------------------------------------------------------ */

/* Busy time under a fault whose reason is one of the words. */
static unsigned long long throttled_ns(const struct card *card, bool thermal)
{
	double ns = 0;

	for (struct fault *f = node.faults; f < node.faults + node.n_faults; f++) {
		bool heat = strstr(f->word2, "thermal") != NULL;
		bool power = f->kind == FAULT_POWER_LIMIT || strcmp(f->word2, "power") == 0;

		if ((f->card < 0 || f->card == card->index) &&
		    (f->kind == FAULT_THROTTLE || f->kind == FAULT_OSCILLATION ||
		     f->kind == FAULT_POWER_LIMIT) &&
		    (thermal ? heat : power))
			ns += card->busy_before +
			      card_busy(card, START_NS + f->from_s * 1e9, host_now);
	}
	return (unsigned long long)ns;
}

nvml_result nvmlDeviceGetViolationStatus(nvml_device device, nvml_policy policy,
                                         nvml_violation *time)
{
	struct card *card;
	int result = nvml_enter("nvmlDeviceGetViolationStatus", device, &card);

	if (!result && policy > NVML_VIOLATION_THERMAL)
		result = NVML_NOT_SUPPORTED;
	if (!result) {
		time->reference_us = (unsigned long long)(host_now / 1e3);
		time->violated_ns = throttled_ns(card, policy == NVML_VIOLATION_THERMAL);
	}
	return machine_leave(result);
}

/* --- memory ---------------------------------------------------------------------------- */

nvml_result nvmlDeviceGetEccMode(nvml_device device, nvml_enable *mode, nvml_enable *pending)
{
	NVML_GET("nvmlDeviceGetEccMode", device, *mode = *pending = card->ecc);
}

static int ecc_count(const struct card *card, int kind, unsigned long long *count)
{
	if (!card->ecc)
		return NVML_NOT_SUPPORTED;
	*count = 0;
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_ECC, card->index));)
		*count += (unsigned long long)(kind == NVML_ECC_CORRECTED
		                                       ? (double)f->number
		                                       : (double)f->number2 +
		                                                 floor(f->rate * nvml_seconds()));
	return NVML_OK;
}

nvml_result nvmlDeviceGetTotalEccErrors(nvml_device device, nvml_ecc_kind kind,
                                        nvml_ecc_counter counter, unsigned long long *count)
{
	(void)counter;
	NVML_GET("nvmlDeviceGetTotalEccErrors", device, result = ecc_count(card, kind, count));
}

nvml_result nvmlDeviceGetMemoryErrorCounter(nvml_device device, nvml_ecc_kind kind,
                                            nvml_ecc_counter counter, nvml_memory_place place,
                                            unsigned long long *count)
{
	(void)counter;
	NVML_GET("nvmlDeviceGetMemoryErrorCounter", device, result = ecc_count(card, kind, count);
	         if (place != NVML_ECC_DEVICE_MEMORY) *count = 0);
}

nvml_result nvmlDeviceGetSramEccErrorStatus(nvml_device device, nvml_sram_errors *errors)
{
	struct card *card;
	int result = nvml_enter("nvmlDeviceGetSramEccErrorStatus", device, &card);
	unsigned version = NVML_VERSION_OF(nvml_sram_errors, 1);

	if (!result && !card->ecc)
		result = NVML_NOT_SUPPORTED;
	if (!result && errors->version != version)
		result = NVML_VERSION_MISMATCH;
	if (!result)
		*errors = (nvml_sram_errors){.version = version};
	return machine_leave(result);
}

/* Rows are remapped from Ampere on, pages retired before. */
nvml_result nvmlDeviceGetRetiredPages_v2(nvml_device device, nvml_retire_cause cause,
                                         unsigned *count, unsigned long long *addresses,
                                         unsigned long long *timestamps)
{
	(void)cause, (void)addresses, (void)timestamps;
	NVML_GET("nvmlDeviceGetRetiredPages_v2", device,
	         if (card->is.cc_major >= 8) result = NVML_NOT_SUPPORTED;
	         else *count = 0);
}

nvml_result nvmlDeviceGetRetiredPagesPendingStatus(nvml_device device, nvml_enable *pending)
{
	NVML_GET("nvmlDeviceGetRetiredPagesPendingStatus", device,
	         if (card->is.cc_major >= 8) result = NVML_NOT_SUPPORTED;
	         else *pending = 0);
}

static int remapped(const struct card *card, unsigned rows[4])
{
	const struct fault *f = fault_of(FAULT_REMAP, card->index);

	if (card->is.cc_major < 8 || !card->ecc)
		return NVML_NOT_SUPPORTED;
	rows[0] = f ? (unsigned)f->number : 0;
	rows[1] = f ? (unsigned)f->number2 : 0;
	rows[2] = f && f->flag;
	rows[3] = f && f->flag2;
	return NVML_OK;
}

nvml_result nvmlDeviceGetRemappedRows(nvml_device device, unsigned *corrected,
                                      unsigned *uncorrected, unsigned *pending, unsigned *failed)
{
	struct card *card;
	unsigned rows[4] = {0};
	int result = nvml_enter("nvmlDeviceGetRemappedRows", device, &card);

	if (!result)
		result = remapped(card, rows);
	if (!result) {
		*corrected = rows[0];
		*uncorrected = rows[1];
		*pending = rows[2];
		*failed = rows[3];
	}
	return machine_leave(result);
}

nvml_result nvmlDeviceGetRowRemapperHistogram(nvml_device device, nvml_remap_histogram *banks)
{
	struct card *card;
	unsigned rows[4] = {0};
	int result = nvml_enter("nvmlDeviceGetRowRemapperHistogram", device, &card);

	if (!result)
		result = remapped(card, rows);
	if (!result)
		*banks = (nvml_remap_histogram){640 - rows[3], 0, 0, 0, rows[3]};
	return machine_leave(result);
}

/* --- PCIe ------------------------------------------------------------------------------- */

nvml_result nvmlDeviceGetCurrPcieLinkGeneration(nvml_device device, unsigned *generation)
{
	NVML_GET("nvmlDeviceGetCurrPcieLinkGeneration", device,
	         *generation = (unsigned)card->pcie_gen);
}

nvml_result nvmlDeviceGetCurrPcieLinkWidth(nvml_device device, unsigned *lanes)
{
	NVML_GET("nvmlDeviceGetCurrPcieLinkWidth", device, *lanes = (unsigned)card->pcie_width);
}

nvml_result nvmlDeviceGetMaxPcieLinkGeneration(nvml_device device, unsigned *generation)
{
	NVML_GET("nvmlDeviceGetMaxPcieLinkGeneration", device,
	         *generation = (unsigned)card->pcie_max_gen);
}

nvml_result nvmlDeviceGetMaxPcieLinkWidth(nvml_device device, unsigned *lanes)
{
	NVML_GET("nvmlDeviceGetMaxPcieLinkWidth", device, *lanes = (unsigned)card->pcie_max_width);
}

nvml_result nvmlDeviceGetGpuMaxPcieLinkGeneration(nvml_device device, unsigned *generation)
{
	NVML_GET("nvmlDeviceGetGpuMaxPcieLinkGeneration", device,
	         *generation = (unsigned)card->pcie_max_gen);
}

nvml_result nvmlDeviceGetPcieReplayCounter(nvml_device device, unsigned *count)
{
	NVML_GET("nvmlDeviceGetPcieReplayCounter", device, *count = 0);
}

nvml_result nvmlDeviceGetPcieThroughput(nvml_device device, nvml_pcie_way way, unsigned *kb_per_s)
{
	(void)way;
	NVML_GET("nvmlDeviceGetPcieThroughput", device, *kb_per_s = 0);
}

/* --- NVLink ------------------------------------------------------------------------------ */

static int link_enter(const char *call, nvml_device device, unsigned link, struct card **card)
{
	int result = nvml_enter(call, device, card);

	if (!result && nvml_says(*card)->links == 0)
		result = NVML_NOT_SUPPORTED;
	if (!result && link >= (unsigned)nvml_says(*card)->links)
		result = NVML_INVALID_ARGUMENT;
	return result;
}

nvml_result nvmlDeviceGetNvLinkState(nvml_device device, unsigned link, nvml_enable *state)
{
	struct card *card;
	int result = link_enter("nvmlDeviceGetNvLinkState", device, link, &card);

	if (!result)
		*state = link_active(card, (int)link);
	return machine_leave(result);
}

nvml_result nvmlDeviceGetNvLinkVersion(nvml_device device, unsigned link, unsigned *version)
{
	/* 1.0 is 1, 2.0 2, 2.2 3, 3.0 4, 3.1 5, 4.0 6, 5.0 7. */
	static const unsigned words[] = {0, 1, 2, 4, 6, 7};
	struct card *card;
	int result = link_enter("nvmlDeviceGetNvLinkVersion", device, link, &card);

	if (!result)
		*version = card->nvlink_version < 6 ? words[card->nvlink_version] : 8;
	return machine_leave(result);
}

static unsigned long long link_errors(const struct card *card, int link, const char *counter)
{
	double count = 0;

	for (struct fault *f = NULL; (f = fault_next(f, FAULT_NVLINK_ERRORS, card->index));)
		if ((link < 0 || f->link < 0 || f->link == link) && strcmp(f->word, counter) == 0)
			count += (double)f->number + f->rate * nvml_seconds();
	return (unsigned long long)count;
}

nvml_result nvmlDeviceGetNvLinkErrorCounter(nvml_device device, unsigned link, nvml_link_error kind,
                                            unsigned long long *count)
{
	static const char *const words[] = {"replay", "recovery", "crc_flit", "crc_data", "ecc"};
	struct card *card;
	int result = link_enter("nvmlDeviceGetNvLinkErrorCounter", device, link, &card);

	if (!result && (kind < 0 || kind > NVML_LINK_ECC))
		result = NVML_INVALID_ARGUMENT;
	/* Blackwell counts otherwise. */
	if (!result && card->is.cc_major >= 10)
		result = NVML_NOT_SUPPORTED;
	if (!result)
		*count = link_errors(card, (int)link, words[kind]);
	return machine_leave(result);
}

nvml_result nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, unsigned link, nvml_pci *pci)
{
	struct card *card;
	int result = link_enter("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, &card), peer;

	if (result)
		return machine_leave(result);
	peer = link_peer(card, (int)link);
	if (peer == -2)
		return machine_leave(NVML_NOT_SUPPORTED);
	if (peer >= 0)
		nvml_pci_of(&node.cards[peer], pci);
	else
		*pci = (nvml_pci){.bus_id_legacy = "0000:C4:00.0",
		                  .bus = 0xc4,
		                  .device_id = 0x1af110de,
		                  .bus_id = "00000000:C4:00.0"};
	return machine_leave(result);
}

nvml_result nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device device, unsigned link,
                                                nvml_link_peer *peer)
{
	struct card *card;
	int result = link_enter("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, &card);

	if (!result)
		*peer = node.nvswitch ? NVML_REMOTE_SWITCH : NVML_REMOTE_GPU;
	return machine_leave(result);
}

static int enter_pair(const char *call, nvml_device device, nvml_device peer, struct card **a,
                      struct card **b)
{
	int result = nvml_enter(call, device, a);

	*b = NULL;
	for (int c = 0; c < node.n_cards; c++)
		if ((struct card *)peer == &node.cards[c])
			*b = &node.cards[c];
	return !result && (!*b || *a == *b) ? NVML_INVALID_ARGUMENT : result;
}

nvml_result nvmlDeviceGetP2PStatus(nvml_device device, nvml_device peer, nvml_p2p_kind kind,
                                   nvml_p2p_status *status)
{
	struct card *a, *b;
	int result = enter_pair("nvmlDeviceGetP2PStatus", device, peer, &a, &b);

	if (!result) {
		bool fine = pair_p2p(a, b) && (kind != NVML_P2P_NVLINK || links_between(a, b));

		*status = fine ? NVML_P2P_OK : kind == NVML_P2P_NVLINK ? 5 : 1;
	}
	return machine_leave(result);
}

nvml_result nvmlDeviceGetTopologyCommonAncestor(nvml_device device, nvml_device peer,
                                                nvml_topology_level *level)
{
	struct card *a, *b;
	int result = enter_pair("nvmlDeviceGetTopologyCommonAncestor", device, peer, &a, &b);

	if (!result)
		*level = a->numa_node == b->numa_node ? 20 : 50;
	return machine_leave(result);
}

static int fabric_state(const struct card *card)
{
	return node.nvswitch && card->is.cc_major >= 9 ? NVML_FABRIC_COMPLETED
	                                               : NVML_FABRIC_NOT_SUPPORTED;
}

nvml_result nvmlDeviceGetGpuFabricInfoV(nvml_device device, nvml_fabric *fabric)
{
	struct card *card;
	int result = nvml_enter("nvmlDeviceGetGpuFabricInfoV", device, &card);
	bool v3 = node.cuda >= 13000 && fabric->version == NVML_VERSION_OF(nvml_fabric, 3);

	if (!result && !v3 && fabric->version != NVML_FABRIC_V2)
		result = NVML_VERSION_MISMATCH;
	if (!result) {
		fabric->state = (unsigned char)fabric_state(card);
		fabric->status = NVML_OK;
		fabric->clique = 0;
		fabric->health_mask = 0;
		memset(fabric->cluster, 0, sizeof(fabric->cluster));
		if (v3)
			fabric->health_summary = 1;
	}
	return machine_leave(result);
}

nvml_result nvmlDeviceGetGpuFabricInfo(nvml_device device, nvml_fabric_v1 *fabric)
{
	NVML_GET("nvmlDeviceGetGpuFabricInfo", device,
	         *fabric = (nvml_fabric_v1){.state = (unsigned char)fabric_state(card)});
}

/* --- fields ----------------------------------------------------------------------------------------- */

static int u64_field(nvml_field *f, double value)
{
	f->type = NVML_TYPE_U64;
	f->value.u64 = (unsigned long long)value;
	return NVML_OK;
}

static int u32_field(nvml_field *f, double value)
{
	f->type = NVML_TYPE_U32;
	f->value.u32 = (unsigned)value;
	return NVML_OK;
}

static int link_field(struct card *card, nvml_field *f)
{
	int links = nvml_says(card)->links;
	double share = f->scope == NVML_ALL_LINKS ? 1 : 1.0 / fmax(1, links);

	if (links == 0)
		return NVML_NOT_SUPPORTED;
	switch (f->id) {
	case NVML_FIELD_LINK_COUNT:
		return u32_field(f, links);
	case NVML_FIELD_LINK_SPEED:
	case NVML_FIELD_LINK_SPEED_EACH:
		/* The line's rate, coding included: 26562 MB/s for 25 GB/s. */
		return u32_field(f, card->link_gbs * 1062.5);
	case NVML_FIELD_LINK_TX_KIB:
		return u64_field(f, card->sent / 1024 * share);
	case NVML_FIELD_LINK_RX_KIB:
		return u64_field(f, card->received / 1024 * share);
	case NVML_FIELD_LINK_CRC_FLIT:
		return u64_field(f, (double)link_errors(card, -1, "crc_flit"));
	case NVML_FIELD_LINK_REPLAY:
		return u64_field(f, (double)link_errors(card, -1, "replay"));
	default:
		return u64_field(f, (double)link_errors(card, -1, "recovery"));
	}
}

static int one_field(struct card *card, nvml_field *f)
{
	unsigned rows[4] = {0};
	int result;

	switch (f->id) {
	case NVML_FIELD_POWER_TIME:
		return u64_field(f, (double)throttled_ns(card, false));
	case NVML_FIELD_THERMAL_TIME:
		return u64_field(f, (double)throttled_ns(card, true));
	case NVML_FIELD_MEMORY_TEMP:
		return u32_field(f, card_temperature(card) + 8);
	case NVML_FIELD_POWER_AVERAGE:
	case NVML_FIELD_POWER_INSTANT:
		return node.cuda < 12020 ? NVML_INVALID_ARGUMENT
		                         : u32_field(f, card_power_w(card) * 1000);
	case NVML_FIELD_RECOVERY_ACTION:
		return node.cuda < 12080 ? NVML_INVALID_ARGUMENT : u32_field(f, 0);
	case NVML_FIELD_REMAPPED_CORRECTED:
	case NVML_FIELD_REMAPPED_UNCORRECTED:
	case NVML_FIELD_REMAPPED_PENDING:
	case NVML_FIELD_REMAPPED_FAILED:
		result = remapped(card, rows);
		return result ? result : u32_field(f, rows[f->id - NVML_FIELD_REMAPPED_CORRECTED]);
	case NVML_FIELD_LINK_COUNT:
	case NVML_FIELD_LINK_SPEED:
	case NVML_FIELD_LINK_SPEED_EACH:
	case NVML_FIELD_LINK_TX_KIB:
	case NVML_FIELD_LINK_RX_KIB:
	case NVML_FIELD_LINK_CRC_FLIT:
	case NVML_FIELD_LINK_REPLAY:
	case NVML_FIELD_LINK_RECOVERY:
		return link_field(card, f);
	default:
		return NVML_NOT_SUPPORTED;
	}
}

nvml_result nvmlDeviceGetFieldValues(nvml_device device, int count, nvml_field *values)
{
	NVML_GET(
		"nvmlDeviceGetFieldValues", device, for (int i = 0; i < count; i++) {
			values[i].timestamp_us = (long long)(host_now / 1e3);
			values[i].latency_us = 1;
			values[i].result = one_field(card, &values[i]);
		});
}
