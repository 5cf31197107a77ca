/* NVML: loading, who the cards are, and every question that drivers answer in
 * more than one shape. */
#include "hw/nvml.h"

#include <limits.h>
#include <string.h>

#define CALLS(rows) (sizeof(rows) / sizeof(*(rows)))

static const struct library_row rows[] = {NVML_SYMBOLS(GPU_ROW)};
_Static_assert(sizeof(struct nvml_calls) == CALLS(rows) * sizeof(void *), "pointers alone");

/* To add a cause: one row, and its text in messages/gpu.def. */
#define NOT OUTCOME_NOT_MEASURED
#define BAD OUTCOME_FAILED
static const struct gpu_cause causes[] = {
	{NVML_UNINITIALIZED, MSG_nvml_uninitialized, BAD, ST_INTERNAL, true},
	{NVML_NOT_SUPPORTED, MSG_nvml_unsupported, OUTCOME_UNSUPPORTED, ST_UNSUPPORTED, false},
	{NVML_NO_PERMISSION, MSG_nvml_no_permission, NOT, ST_PERMISSION, false},
	{NVML_NOT_FOUND, MSG_nvml_not_found, NOT, ST_NOTFOUND, false},
	{NVML_INSUFFICIENT_POWER, MSG_nvml_power_cable, BAD, ST_UNSUPPORTED, false},
	{NVML_DRIVER_NOT_LOADED, MSG_nvml_no_driver, NOT, ST_NOTFOUND, true},
	{NVML_TIMEOUT, MSG_nvml_timeout, BAD, ST_TIMEOUT, false},
	{NVML_IRQ_ISSUE, MSG_nvml_irq, BAD, ST_IO, false},
	{NVML_LIBRARY_NOT_FOUND, MSG_nvml_no_library, NOT, ST_NOTFOUND, true},
	{NVML_FUNCTION_NOT_FOUND, MSG_nvml_no_function, NOT, ST_UNSUPPORTED, false},
	{NVML_GPU_LOST, MSG_nvml_lost, BAD, ST_IO, false},
	{NVML_RESET_REQUIRED, MSG_nvml_reset_required, BAD, ST_IO, false},
	{NVML_OPERATING_SYSTEM, MSG_nvml_blocked, NOT, ST_PERMISSION, false},
	{NVML_VERSION_MISMATCH_KERNEL, MSG_nvml_mismatch, NOT, ST_UNSUPPORTED, true},
	{NVML_VERSION_MISMATCH, MSG_nvml_version, NOT, ST_UNSUPPORTED, false},
	{NVML_DEPRECATED, MSG_nvml_deprecated, NOT, ST_UNSUPPORTED, false},
	{NVML_NOT_READY, MSG_nvml_not_ready, NOT, ST_UNSUPPORTED, false},
	{NVML_GPU_NOT_FOUND, MSG_nvml_not_found, NOT, ST_NOTFOUND, false},
	/* Seen on sound machines whose container lost its devices: not the card. */
	{NVML_UNKNOWN, MSG_nvml_unknown, NOT, ST_IO, true},
};
#undef NOT
#undef BAD

const struct gpu_cause *nvml_cause(nvml_result code)
{
	return gpu_cause_find(causes, CALLS(causes), code);
}

enum status nvml_check(const struct nvml *nvml, nvml_result code, const char *call,
                       struct error *err)
{
	const struct gpu_cause *cause = nvml_cause(code);

	if (code == NVML_OK)
		return ST_OK;
	return gpu_cause_error(cause, call, cause ? NULL : nvml->call.error_string(code), code,
	                       err);
}

/* --- opening ----------------------------------------------------------------------- */

enum status nvml_open(struct nvml *nvml, struct arena *arena, const struct gpu_search *where,
                      struct error *err)
{
	static const char *const names[] = {"libnvidia-ml.so.1", NULL};
	enum status st;

	*nvml = (struct nvml){0};
	st = gpu_lib_open(&nvml->lib, arena, where, names, "nvml", NULL, err);
	if (st != ST_OK)
		return st;
	return library_bind(&nvml->lib, arena, rows, CALLS(rows), &nvml->call, err);
}

enum status nvml_start(struct nvml *nvml, struct arena *arena, struct error *err)
{
	char text[NVML_TEXT_BYTES] = "";
	unsigned count = 0;
	enum status st = nvml_check(nvml, nvml->call.init(), "nvmlInit_v2", err);

	if (st != ST_OK)
		return st;
	if (nvml->call.nvml_version(text, sizeof(text)) == NVML_OK)
		nvml->lib.version = arena_str(arena, text);
	if (nvml->call.driver_version(text, sizeof(text)) == NVML_OK)
		nvml->driver = arena_str(arena, text);
	st = nvml_check(nvml, nvml->call.count(&count), "nvmlDeviceGetCount_v2", err);
	nvml->count = count > INT_MAX ? INT_MAX : (int)count;
	return st;
}

/* --- identity ------------------------------------------------------------------------ */

/* A text the card may not have: NULL then. */
#define OPTIONAL_TEXT(nvml, arena, slot, device, to)                                               \
	do {                                                                                       \
		char text_[NVML_TEXT_BYTES] = "";                                                  \
		if (NVML_ASK(nvml, slot, device, text_, sizeof(text_)) == NVML_OK && text_[0])     \
			*(to) = arena_str(arena, text_);                                           \
	} while (0)

static void read_optional(const struct nvml *nvml, struct arena *arena, struct nvml_card *card)
{
	nvml_device dev = card->device;
	char gsp[NVML_TEXT_BYTES] = "";
	unsigned n = 0;

	OPTIONAL_TEXT(nvml, arena, serial, dev, &card->serial);
	OPTIONAL_TEXT(nvml, arena, vbios, dev, &card->vbios);
	if (NVML_ASK(nvml, gsp_version, dev, gsp) == NVML_OK && gsp[0])
		card->gsp = arena_str(arena, gsp);
	card->minor_number = NVML_ASK(nvml, minor, dev, &n) == NVML_OK ? (int)n : -1;
	card->cores = NVML_ASK(nvml, cores, dev, &n) == NVML_OK ? (int)n : -1;
	card->bus_bits = NVML_ASK(nvml, bus_width, dev, &n) == NVML_OK ? (int)n : -1;
	if (NVML_ASK(nvml, capability, dev, &card->major, &card->minor) != NVML_OK)
		card->major = card->minor = -1;
}

enum status nvml_card_read(const struct nvml *nvml, struct arena *arena, int index,
                           struct nvml_card *card, struct error *err)
{
	char name[NVML_TEXT_BYTES] = "", uuid[NVML_TEXT_BYTES] = "";
	nvml_pci pci = {.bus_id = ""};
	enum status st;

	*card = (struct nvml_card){.index = index};
	st = nvml_check(nvml, nvml->call.by_index((unsigned)index, &card->device),
	                tmpf("nvmlDeviceGetHandleByIndex_v2(%d)", index), err);
	if (st == ST_OK)
		st = nvml_check(nvml, nvml->call.pci(card->device, &pci), "nvmlDeviceGetPciInfo_v3",
		                err);
	if (st == ST_OK)
		st = nvml_check(nvml, nvml->call.uuid(card->device, uuid, sizeof(uuid)),
		                "nvmlDeviceGetUUID", err);
	if (st == ST_OK)
		st = nvml_check(nvml, nvml->call.name(card->device, name, sizeof(name)),
		                "nvmlDeviceGetName", err);
	if (st != ST_OK)
		return st;
	pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
	card->name = arena_str(arena, name);
	card->uuid = arena_str(arena, uuid);
	card->pci = gpu_pci(arena, pci.bus_id);
	card->device_id = pci.device_id;
	card->subsystem_id = pci.subsystem_id;
	if (!card->pci)
		return error_set(err, ST_UNSUPPORTED, MSG_gpu_call_failed,
		                 "nvmlDeviceGetPciInfo_v3", pci.bus_id, "0");
	read_optional(nvml, arena, card);
	return ST_OK;
}

/* --- questions with more than one form ------------------------------------------------ */

/* Whether an older form may know what the newer did not. */
static bool ask_older(nvml_result code)
{
	return code == NVML_FUNCTION_NOT_FOUND || code == NVML_VERSION_MISMATCH ||
	       code == NVML_NOT_SUPPORTED || code == NVML_INVALID_ARGUMENT ||
	       code == NVML_DEPRECATED;
}

nvml_result nvml_memory_read(const struct nvml *nvml, nvml_device device,
                             struct nvml_memory_use *use)
{
	nvml_memory_v2 newer = {.version = NVML_VERSION_OF(nvml_memory_v2, 2)};
	nvml_memory older = {0};
	nvml_result code = NVML_ASK(nvml, memory_v2, device, &newer);

	if (code == NVML_OK) {
		*use = (struct nvml_memory_use){(int64_t)newer.total, (int64_t)newer.used,
		                                (int64_t)newer.free, (int64_t)newer.reserved};
		return code;
	}
	if (!ask_older(code))
		return code;
	code = nvml->call.memory(device, &older);
	if (code == NVML_OK)
		*use = (struct nvml_memory_use){(int64_t)older.total, (int64_t)older.used,
		                                (int64_t)older.free, -1};
	return code;
}

nvml_result nvml_reasons(const struct nvml *nvml, nvml_device device, unsigned long long *mask)
{
	nvml_result code = NVML_ASK(nvml, event_reasons, device, mask);

	return ask_older(code) ? NVML_ASK(nvml, throttle_reasons, device, mask) : code;
}

nvml_result nvml_temperature_read(const struct nvml *nvml, nvml_device device, int *celsius)
{
	nvml_temperature newer = {.version = NVML_VERSION_OF(nvml_temperature, 1),
	                          .sensor = NVML_SENSOR_GPU};
	nvml_result code = NVML_ASK(nvml, temperature_v, device, &newer);
	unsigned older = 0;

	if (code == NVML_OK)
		*celsius = newer.celsius;
	if (!ask_older(code))
		return code;
	code = NVML_ASK(nvml, temperature, device, NVML_SENSOR_GPU, &older);
	if (code == NVML_OK)
		*celsius = (int)older;
	return code;
}

/* --- fields --------------------------------------------------------------------------- */

/* The type differs from field to field and from driver to driver. */
static nvml_result field_number(const nvml_field *field, int64_t *value)
{
	if (field->result != NVML_OK)
		return field->result;
	switch (field->type) {
	case NVML_TYPE_U32:
		*value = field->value.u32;
		return NVML_OK;
	case NVML_TYPE_U16:
		*value = field->value.u16;
		return NVML_OK;
	case NVML_TYPE_I32:
		*value = field->value.i32;
		return NVML_OK;
	case NVML_TYPE_UL:
	case NVML_TYPE_U64:
	case NVML_TYPE_I64:
		*value = field->value.i64;
		return NVML_OK;
	case NVML_TYPE_F64:
		/* Also false for NaN. */
		if (!(field->value.f64 > -9e18 && field->value.f64 < 9e18))
			return NVML_UNKNOWN;
		*value = (int64_t)field->value.f64;
		return NVML_OK;
	default:
		return NVML_VERSION_MISMATCH;
	}
}

nvml_result nvml_field_read(const struct nvml *nvml, nvml_device device, unsigned id,
                            unsigned scope, int64_t *value)
{
	nvml_field field = {.id = id, .scope = scope, .result = NVML_UNKNOWN, .type = -1};
	nvml_result code = NVML_ASK(nvml, fields, device, 1, &field);

	return code == NVML_OK ? field_number(&field, value) : code;
}

static nvml_result held(const struct nvml *nvml, nvml_device device, unsigned field,
                        nvml_policy policy, int64_t *ns)
{
	nvml_violation time = {0};
	nvml_result code = nvml_field_read(nvml, device, field, 0, ns);

	if (!ask_older(code))
		return code;
	code = NVML_ASK(nvml, violation, device, policy, &time);
	if (code == NVML_OK)
		*ns = (int64_t)time.violated_ns;
	return code;
}

nvml_result nvml_power_held(const struct nvml *nvml, nvml_device device, int64_t *ns)
{
	return held(nvml, device, NVML_FIELD_POWER_TIME, NVML_VIOLATION_POWER, ns);
}

nvml_result nvml_heat_held(const struct nvml *nvml, nvml_device device, int64_t *ns)
{
	return held(nvml, device, NVML_FIELD_THERMAL_TIME, NVML_VIOLATION_THERMAL, ns);
}

nvml_result nvml_links(const struct nvml *nvml, nvml_device device, int *count)
{
	int64_t told = 0;
	nvml_result code = nvml_field_read(nvml, device, NVML_FIELD_LINK_COUNT, 0, &told);
	int links = 0;

	if (code == NVML_OK && told >= 0 && told <= NVML_LINK_LIMIT) {
		*count = (int)told;
		return code;
	}
	if (code != NVML_OK && !ask_older(code))
		return code;
	/* The highest number grew with every generation: ask until it is refused. */
	for (; links < NVML_LINK_LIMIT; links++) {
		nvml_enable state;

		code = NVML_ASK(nvml, link_state, device, (unsigned)links, &state);
		if (code != NVML_OK)
			break;
	}
	if (links == 0 || (code != NVML_OK && !ask_older(code)))
		return code;
	*count = links;
	return NVML_OK;
}

nvml_result nvml_fabric_read(const struct nvml *nvml, nvml_device device, nvml_fabric *fabric,
                             int *version)
{
	nvml_fabric_v1 first = {.state = 0};
	nvml_result code;

	*fabric = (nvml_fabric){.version = NVML_VERSION_OF(nvml_fabric, 3)};
	*version = 3;
	code = NVML_ASK(nvml, fabric, device, fabric);
	if (code == NVML_VERSION_MISMATCH || code == NVML_INVALID_ARGUMENT) {
		*fabric = (nvml_fabric){.version = NVML_FABRIC_V2};
		*version = 2;
		code = NVML_ASK(nvml, fabric, device, fabric);
	}
	if (!ask_older(code))
		return code;
	*version = 1;
	code = NVML_ASK(nvml, fabric_v1, device, &first);
	*fabric =
		(nvml_fabric){.status = first.status, .clique = first.clique, .state = first.state};
	memcpy(fabric->cluster, first.cluster, sizeof(first.cluster));
	return code;
}

/* --- processes ------------------------------------------------------------------------- */

#define ENTRY_BYTES    64 /* of room for each entry: more than any driver writes */
#define UNTOUCHED      0xaa
#define SPARE          8 /* entries: processes come while we ask */
#define MOST_PROCESSES 65536

static nvml_result list_processes(const struct nvml *nvml, nvml_device device, unsigned *count,
                                  void *entries)
{
	if (nvml->call.processes_v3)
		return nvml->call.processes_v3(device, count, entries);
	if (nvml->call.processes_v2)
		return nvml->call.processes_v2(device, count, entries);
	return NVML_ASK(nvml, processes_v1, device, count, entries);
}

/* Bytes of an entry, from how far a filled buffer was overwritten; 0: no known size. */
static size_t entry_size(const unsigned char *buffer, size_t bytes, size_t count)
{
	static const size_t sizes[] = {sizeof(nvml_process_v1), sizeof(nvml_process), 32};

	while (bytes > 0 && buffer[bytes - 1] == UNTOUCHED)
		bytes--;
	for (size_t i = 0; i < CALLS(sizes); i++)
		/* Shorter by more than an entry: another layout, or not all written. */
		if (bytes <= sizes[i] * count)
			return bytes > sizes[i] * (count - 1) ? sizes[i] : 0;
	return 0;
}

static nvml_result take_processes(struct arena *arena, const unsigned char *buffer, size_t bytes,
                                  unsigned count, struct nvml_user **users)
{
	size_t size = entry_size(buffer, bytes, count);

	if (size == 0)
		return NVML_VERSION_MISMATCH;
	*users = arena_array(arena, count, sizeof(**users));
	for (unsigned i = 0; i < count; i++) {
		nvml_process_v1 entry; /* all sizes begin like this */

		memcpy(&entry, buffer + i * size, sizeof(entry));
		(*users)[i].pid = entry.pid;
		(*users)[i].used_bytes =
			entry.used_bytes > INT64_MAX ? -1 : (int64_t)entry.used_bytes;
	}
	return NVML_OK;
}

nvml_result nvml_processes(const struct nvml *nvml, struct arena *arena, nvml_device device,
                           struct nvml_user **users, int *count)
{
	unsigned room = 0, n = 0;
	nvml_result code = list_processes(nvml, device, &n, NULL);
	unsigned char *buffer;
	size_t bytes;

	*users = NULL;
	*count = 0;
	if (code == NVML_OK && n > 0)
		code = NVML_INSUFFICIENT_SIZE;
	for (int tries = 0; code == NVML_INSUFFICIENT_SIZE && tries < 4; tries++) {
		if (n > MOST_PROCESSES)
			return NVML_UNKNOWN;
		room = n + SPARE;
		bytes = (size_t)room * ENTRY_BYTES;
		buffer = arena_alloc(arena, bytes);
		memset(buffer, UNTOUCHED, bytes);
		n = room;
		code = list_processes(nvml, device, &n, buffer);
		if (code == NVML_OK && n > room)
			return NVML_UNKNOWN;
		if (code == NVML_OK && n > 0)
			code = take_processes(arena, buffer, bytes, n, users);
	}
	if (code == NVML_OK)
		*count = (int)n;
	return code;
}
