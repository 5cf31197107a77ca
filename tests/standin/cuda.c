/* The double of libcuda: start, devices, contexts, peers. Visible devices and
 * their order are as CUDA has them, so that they differ from NVML's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cuda.h"

EXPORT extern const char assay_standin[];
const char assay_standin[] = "libcuda of tests/standin";

static bool started;
static struct card *visible[MAX_CARDS];
static int n_visible;
static _Thread_local struct card *current;

/* --- which devices there are --------------------------------------------------------- */

static bool cuda_sees(const struct card *card)
{
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_MISSING, card->index));)
		if (!*f->word || strcmp(f->word, "cuda") == 0)
			return false;
	return true;
}

/* PCI order, or with the fastest in front. */
static int order_cards(struct card **order)
{
	const char *way = getenv("CUDA_DEVICE_ORDER");
	int n = 0, best = 0;

	for (int c = 0; c < node.n_cards; c++)
		if (cuda_sees(&node.cards[c]))
			order[n++] = &node.cards[c];
	for (int i = 1; i < n; i++)
		if (order[i]->rate[RATE_FP32] > order[best]->rate[RATE_FP32] * 1.001)
			best = i;
	if (n && !(way && strcmp(way, "PCI_BUS_ID") == 0)) {
		struct card *fastest = order[best];

		memmove(order + 1, order, (size_t)best * sizeof(*order));
		order[0] = fastest;
	}
	return n;
}

static struct card *visible_word(struct card **order, int n, const char *word, size_t len)
{
	char *end;
	long index;

	while (len && *word == ' ')
		word++, len--;
	for (int i = 0; len > 4 && i < n; i++)
		if (strncmp(order[i]->says[LAYER_CUDA].uuid, word, len) == 0)
			return order[i];
	index = strtol(word, &end, 10);
	return end == word + len && len && index >= 0 && index < n ? order[index] : NULL;
}

/* As CUDA: the list ends at the first entry that is not valid or there twice. */
static void find_visible(void)
{
	struct card *order[MAX_CARDS];
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	int n = order_cards(order);

	if (!list) {
		memcpy(visible, order, sizeof(*order) * (size_t)n);
		n_visible = n;
		return;
	}
	while (*list) {
		size_t len = strcspn(list, ",");
		struct card *card = visible_word(order, n, list, len);

		for (int i = 0; i < n_visible; i++)
			if (visible[i] == card)
				card = NULL;
		if (!card)
			return;
		visible[n_visible++] = card;
		list += len + (list[len] == ',');
	}
}

struct card *cuda_card(cu_device device)
{
	return device >= 0 && device < n_visible ? visible[device] : NULL;
}

struct card *context_card(cu_context context)
{
	struct card *card = (struct card *)context;

	for (int c = 0; c < node.n_cards; c++)
		if (card == &node.cards[c] && card->context_refs)
			return card;
	return NULL;
}

struct card *current_card(void)
{
	return current;
}

/* --- entering --------------------------------------------------------------------------- */

int cuda_state(struct card *card, int result)
{
	if (card && !card->sticky && card_lost(card))
		card->sticky = CU_UNKNOWN;
	return result == CU_OK && card ? card->sticky : result;
}

static int enter_about(const char *call, struct card *card)
{
	int result = machine_enter(call, card);

	return result || started ? result : CU_NOT_INITIALIZED;
}

int cuda_enter(const char *call, bool context)
{
	int result = enter_about(call, context ? current : NULL);

	if (result || !context)
		return result;
	if (!current)
		return CU_INVALID_CONTEXT;
	current->calls++;
	return cuda_state(current, CU_OK);
}

cu_result cuInit(unsigned flags)
{
	int result = machine_enter("cuInit", NULL);

	if (!result && flags)
		result = CU_INVALID_VALUE;
	if (!result && !started) {
		find_visible();
		result = n_visible ? CU_OK : CU_NO_DEVICE;
		started = result == CU_OK;
	}
	return machine_leave(result);
}

cu_result cuDriverGetVersion(int *version)
{
	int result = machine_enter("cuDriverGetVersion", NULL);

	if (!version)
		result = CU_INVALID_VALUE;
	if (!result)
		*version = node.cuda;
	return machine_leave(result);
}

cu_result cuGetErrorName(cu_result code, const char **name)
{
	static const struct {
		const char *name;
		int code;
	} names[] = {
#define X(ours, theirs, value) {#theirs, value},
		CUDA_VALUES(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].code == code && strncmp(names[i].name, "CUDA_", 5) == 0) {
			*name = names[i].name;
			return CU_OK;
		}
	*name = NULL;
	return CU_INVALID_VALUE;
}

cu_result cuGetErrorString(cu_result code, const char **text)
{
	return cuGetErrorName(code, text);
}

/* --- devices -------------------------------------------------------------------------------- */

cu_result cuDeviceGetCount(int *count)
{
	int result = cuda_enter("cuDeviceGetCount", false);

	if (!result)
		*count = n_visible;
	return machine_leave(result);
}

cu_result cuDeviceGet(cu_device *device, int index)
{
	int result = cuda_enter("cuDeviceGet", false);

	if (!result && !cuda_card(index))
		result = CU_INVALID_DEVICE;
	if (!result)
		*device = index;
	return machine_leave(result);
}

/* Enters for a call about one device; *id: what CUDA says of it. */
static int enter_device(const char *call, cu_device device, struct card **card,
                        const struct identity **id)
{
	int result;

	*card = cuda_card(device);
	result = enter_about(call, *card);
	if (!result && !*card)
		result = CU_INVALID_DEVICE;
	*id = *card ? &(*card)->says[LAYER_CUDA] : NULL;
	return result;
}

cu_result cuDeviceGetName(char *name, int size, cu_device device)
{
	struct card *card;
	const struct identity *id;
	int result = enter_device("cuDeviceGetName", device, &card, &id);

	if (!result && size <= 0)
		result = CU_INVALID_VALUE;
	if (!result)
		snprintf(name, (size_t)size, "%s", id->name);
	return machine_leave(result);
}

static bool attribute(const struct card *card, const struct identity *id, int which, int *value)
{
	switch (which) {
	case CU_ATTR_SM_COUNT:
		*value = id->sm_count;
		return true;
	case CU_ATTR_CLOCK_KHZ:
		*value = id->sm_clock_mhz * 1000;
		return true;
	case CU_ATTR_MEMORY_CLOCK_KHZ:
		*value = id->memory_clock_mhz * 1000;
		return true;
	case CU_ATTR_BUS_WIDTH:
		*value = id->bus_width;
		return true;
	case CU_ATTR_MAJOR:
		*value = id->cc_major;
		return true;
	case CU_ATTR_MINOR:
		*value = id->cc_minor;
		return true;
	case CU_ATTR_ECC:
		*value = card->ecc;
		return true;
	case CU_ATTR_PCI_BUS:
		*value = card->bus;
		return true;
	case CU_ATTR_PCI_DEVICE:
		*value = card->device;
		return true;
	case CU_ATTR_PCI_DOMAIN:
		*value = card->domain;
		return true;
	case CU_ATTR_L2_BYTES:
		*value = (int)(41943040 / node.memory_divisor);
		return true;
	case CU_ATTR_THREADS_PER_BLOCK:
		*value = 1024;
		return true;
	case CU_ATTR_THREADS_PER_SM:
		*value = 2048;
		return true;
	case CU_ATTR_COPY_ENGINES:
		*value = 3;
		return true;
	case CU_ATTR_UNIFIED_ADDRESSING:
		*value = 1;
		return true;
	default:
		*value = 0;
		return which == CU_ATTR_KERNEL_TIMEOUT || which == CU_ATTR_INTEGRATED ||
		       which == CU_ATTR_COMPUTE_MODE;
	}
}

cu_result cuDeviceGetAttribute(int *value, cu_attribute which, cu_device device)
{
	struct card *card;
	const struct identity *id;
	int result = enter_device("cuDeviceGetAttribute", device, &card, &id);

	if (!result && !attribute(card, id, which, value))
		result = CU_INVALID_VALUE;
	return machine_leave(result);
}

cu_result cuDeviceTotalMem_v2(size_t *bytes, cu_device device)
{
	struct card *card;
	const struct identity *id;
	int result = enter_device("cuDeviceTotalMem_v2", device, &card, &id);

	if (!result)
		*bytes = (size_t)id->memory_bytes;
	return machine_leave(result);
}

cu_result cuDeviceGetPCIBusId(char *text, int size, cu_device device)
{
	struct card *card;
	const struct identity *id;
	int result = enter_device("cuDeviceGetPCIBusId", device, &card, &id);

	if (!result && size < 13)
		result = CU_INVALID_VALUE;
	if (!result)
		snprintf(text, (size_t)size, "%04x:%02x:%02x.0", (unsigned)card->domain,
		         (unsigned)card->bus, (unsigned)card->device);
	return machine_leave(result);
}

static int device_uuid(const char *call, cu_uuid *uuid, cu_device device)
{
	struct card *card;
	const struct identity *id;
	int result = enter_device(call, device, &card, &id), n = 0;

	memset(uuid, 0, sizeof(*uuid));
	for (const char *p = result ? "" : id->uuid + 4; *p && n < 32; p++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = strchr(digits, *p);

		if (digit) {
			uuid->bytes[n / 2] = (char)(uuid->bytes[n / 2] << 4 | (digit - digits));
			n++;
		}
	}
	return machine_leave(result);
}

cu_result cuDeviceGetUuid(cu_uuid *uuid, cu_device device)
{
	return device_uuid("cuDeviceGetUuid", uuid, device);
}

cu_result cuDeviceGetUuid_v2(cu_uuid *uuid, cu_device device)
{
	return device_uuid("cuDeviceGetUuid_v2", uuid, device);
}

/* --- contexts ---------------------------------------------------------------------------------- */

cu_result cuDevicePrimaryCtxRetain(cu_context *context, cu_device device)
{
	struct card *card;
	const struct identity *id;
	int result = enter_device("cuDevicePrimaryCtxRetain", device, &card, &id);

	if (!result)
		result = cuda_state(card, CU_OK);
	if (!result) {
		if (card->context_refs++ == 0)
			host_now += node.first_call_ns;
		*context = (cu_context)card;
	}
	return machine_leave(result);
}

cu_result cuDevicePrimaryCtxRelease_v2(cu_device device)
{
	struct card *card;
	const struct identity *id;
	int result = enter_device("cuDevicePrimaryCtxRelease_v2", device, &card, &id);

	if (!result && !card->context_refs)
		result = CU_INVALID_CONTEXT;
	if (!result && --card->context_refs == 0 && current == card)
		current = NULL;
	return machine_leave(result);
}

cu_result cuCtxSetCurrent(cu_context context)
{
	int result = cuda_enter("cuCtxSetCurrent", false);

	if (!result && context && !context_card(context))
		result = CU_INVALID_CONTEXT;
	if (!result)
		current = (struct card *)context;
	return machine_leave(result);
}

cu_result cuCtxGetCurrent(cu_context *context)
{
	int result = cuda_enter("cuCtxGetCurrent", false);

	if (!result)
		*context = (cu_context)current;
	return machine_leave(result);
}

cu_result cuCtxSynchronize(void)
{
	int result = cuda_enter("cuCtxSynchronize", true);

	if (!result) {
		card_wait(current);
		result = cuda_state(current, CU_OK);
	}
	return machine_leave(result);
}

/* --- peers --------------------------------------------------------------------------------------- */

cu_result cuDeviceCanAccessPeer(int *can, cu_device device, cu_device peer)
{
	int result = cuda_enter("cuDeviceCanAccessPeer", false);

	if (!result && (!cuda_card(device) || !cuda_card(peer)))
		result = CU_INVALID_DEVICE;
	if (!result)
		*can = pair_p2p(cuda_card(device), cuda_card(peer));
	return machine_leave(result);
}

cu_result cuDeviceGetP2PAttribute(int *value, cu_p2p_attribute which, cu_device from, cu_device to)
{
	int result = cuda_enter("cuDeviceGetP2PAttribute", false);
	const struct card *a = cuda_card(from), *b = cuda_card(to);

	if (!result && (!a || !b || a == b))
		result = CU_INVALID_DEVICE;
	if (!result)
		*value = which == CU_P2P_RANK      ? !links_between(a, b)
		         : which == CU_P2P_ATOMICS ? pair_p2p(a, b) && links_between(a, b)
		                                   : pair_p2p(a, b);
	return machine_leave(result);
}

cu_result cuCtxEnablePeerAccess(cu_context peer, unsigned flags)
{
	int result = cuda_enter("cuCtxEnablePeerAccess", true);
	struct card *other = context_card(peer);

	if (!result && (flags || !other || other == current))
		result = flags ? CU_INVALID_VALUE : CU_INVALID_CONTEXT;
	if (!result && !pair_p2p(current, other))
		result = CU_PEER_UNSUPPORTED;
	if (!result && current->peer[other->index])
		result = CU_PEER_ALREADY;
	if (!result)
		current->peer[other->index] = true;
	return machine_leave(result);
}

cu_result cuCtxDisablePeerAccess(cu_context peer)
{
	int result = cuda_enter("cuCtxDisablePeerAccess", true);
	struct card *other = context_card(peer);

	if (!result && (!other || !current->peer[other->index]))
		result = other ? CU_PEER_NOT_ENABLED : CU_INVALID_CONTEXT;
	if (!result)
		current->peer[other->index] = false;
	return machine_leave(result);
}
