/* NVML's answers that come in more than one shape, and its errors by cause, on
 * a function table filled by hand: no library is loaded. */
#include "tests/unit/unit.h"

#include <string.h>

#include "hw/nvml.h"

/* What the fake driver answers; reset before each test. */
static struct {
	size_t entry_bytes;
	unsigned processes;
	unsigned long long used;
	nvml_result newer, older; /* of forms that have two */
	nvml_field field;
	nvml_result field_code;
	int links;
	nvml_result after_links;
	unsigned fabric_version; /* highest it knows */
} fake;

static struct arena arena;
static struct error err;
static struct nvml nvml;
static nvml_device device;

static void assert_says(const char *words)
{
	if (!strstr(str_text(&err.text), words))
		fail_msg("\"%s\" does not say \"%s\"", str_text(&err.text), words);
	error_release(&err);
}

/* --- forms --------------------------------------------------------------------- */

/* Writes entries of whatever size, as drivers of one version did. */
static nvml_result processes(nvml_device dev, unsigned *count, nvml_process *entries)
{
	unsigned room = *count;

	(void)dev;
	*count = fake.processes;
	if (fake.processes == 0)
		return NVML_OK;
	if (room < fake.processes)
		return NVML_INSUFFICIENT_SIZE;
	for (unsigned i = 0; i < fake.processes; i++) {
		char *entry = (char *)entries + i * fake.entry_bytes;
		unsigned pid = 100 + i;

		memset(entry, 0, fake.entry_bytes);
		memcpy(entry, &pid, sizeof(pid));
		memcpy(entry + 8, &fake.used, sizeof(fake.used));
	}
	return NVML_OK;
}

static void process_entries_are_measured(void **state)
{
	static const size_t sizes[] = {16, 24, 32};
	struct nvml_user *users;
	int count;

	(void)state;
	nvml.call.processes_v3 = processes;
	for (size_t i = 0; i < 3; i++)
		for (unsigned n = 1; n < 20; n += 6) {
			fake.entry_bytes = sizes[i];
			fake.processes = n;
			fake.used = 5ULL << 30;
			assert_int_equal(nvml_processes(&nvml, &arena, device, &users, &count),
			                 NVML_OK);
			assert_int_equal(count, n);
			assert_int_equal(users[n - 1].pid, 99 + n);
			assert_int_equal(users[n - 1].used_bytes, 5LL << 30);
		}
	/* Not told, as in containers. */
	fake.used = ~0ULL;
	assert_int_equal(nvml_processes(&nvml, &arena, device, &users, &count), NVML_OK);
	assert_int_equal(users[0].used_bytes, -1);
	/* No size we know: no guess. */
	fake.entry_bytes = 48;
	assert_int_equal(nvml_processes(&nvml, &arena, device, &users, &count),
	                 NVML_VERSION_MISMATCH);
	assert_int_equal(count, 0);
	fake.processes = 0;
	assert_int_equal(nvml_processes(&nvml, &arena, device, &users, &count), NVML_OK);
	assert_int_equal(count, 0);
	fake.processes = 1U << 30;
	assert_int_equal(nvml_processes(&nvml, &arena, device, &users, &count), NVML_UNKNOWN);
}

static nvml_result processes_v1(nvml_device dev, unsigned *count, nvml_process_v1 *entries)
{
	return processes(dev, count, (nvml_process *)entries);
}

static void the_oldest_process_list_serves(void **state)
{
	struct nvml_user *users;
	int count;

	(void)state;
	assert_int_equal(nvml_processes(&nvml, &arena, device, &users, &count),
	                 NVML_FUNCTION_NOT_FOUND);
	nvml.call.processes_v1 = processes_v1;
	fake.entry_bytes = 16;
	fake.processes = 2;
	assert_int_equal(nvml_processes(&nvml, &arena, device, &users, &count), NVML_OK);
	assert_int_equal(count, 2);
	nvml.call.processes_v2 = processes;
	fake.entry_bytes = 24;
	assert_int_equal(nvml_processes(&nvml, &arena, device, &users, &count), NVML_OK);
	assert_int_equal(users[1].pid, 101);
}

static nvml_result reasons_newer(nvml_device dev, unsigned long long *mask)
{
	(void)dev;
	*mask = NVML_REASON_SW_THERMAL;
	return fake.newer;
}

static nvml_result reasons_older(nvml_device dev, unsigned long long *mask)
{
	(void)dev;
	*mask = NVML_REASON_POWER_CAP | NVML_REASON_IDLE;
	return fake.older;
}

static void reasons_fall_back(void **state)
{
	unsigned long long mask = 0;

	(void)state;
	assert_int_equal(nvml_reasons(&nvml, device, &mask), NVML_FUNCTION_NOT_FOUND);
	nvml.call.throttle_reasons = reasons_older;
	assert_int_equal(nvml_reasons(&nvml, device, &mask), NVML_OK);
	assert_int_equal(mask, 5);
	nvml.call.event_reasons = reasons_newer;
	assert_int_equal(nvml_reasons(&nvml, device, &mask), NVML_OK);
	assert_int_equal(mask, NVML_REASON_SW_THERMAL);
	/* A lost card is lost whatever the form: nobody else is asked. */
	fake.newer = NVML_GPU_LOST;
	assert_int_equal(nvml_reasons(&nvml, device, &mask), NVML_GPU_LOST);
	fake.newer = NVML_NO_PERMISSION;
	assert_int_equal(nvml_reasons(&nvml, device, &mask), NVML_NO_PERMISSION);
}

static nvml_result memory_newer(nvml_device dev, nvml_memory_v2 *memory)
{
	(void)dev;
	assert_int_equal(memory->version, 0x2000028);
	*memory =
		(nvml_memory_v2){memory->version, 80ULL << 30, 1ULL << 29, 79ULL << 30, 1ULL << 29};
	return fake.newer;
}

static nvml_result memory_older(nvml_device dev, nvml_memory *memory)
{
	(void)dev;
	*memory = (nvml_memory){80ULL << 30, 79ULL << 30, 1ULL << 30};
	return fake.older;
}

static void memory_falls_back(void **state)
{
	struct nvml_memory_use use;

	(void)state;
	nvml.call.memory = memory_older;
	assert_int_equal(nvml_memory_read(&nvml, device, &use), NVML_OK);
	assert_int_equal(use.total, 80LL << 30);
	assert_int_equal(use.used, 1LL << 30);
	assert_int_equal(use.reserved, -1);
	nvml.call.memory_v2 = memory_newer;
	assert_int_equal(nvml_memory_read(&nvml, device, &use), NVML_OK);
	assert_int_equal(use.reserved, 1LL << 29);
	assert_int_equal(use.used, 1LL << 29);
	fake.newer = NVML_VERSION_MISMATCH;
	assert_int_equal(nvml_memory_read(&nvml, device, &use), NVML_OK);
	assert_int_equal(use.reserved, -1);
	fake.newer = NVML_GPU_LOST;
	assert_int_equal(nvml_memory_read(&nvml, device, &use), NVML_GPU_LOST);
}

static nvml_result temperature_newer(nvml_device dev, nvml_temperature *t)
{
	(void)dev;
	assert_int_equal(t->version, 0x100000c);
	t->celsius = 61;
	return fake.newer;
}

static nvml_result temperature_older(nvml_device dev, nvml_sensor sensor, unsigned *celsius)
{
	(void)dev;
	assert_int_equal(sensor, NVML_SENSOR_GPU);
	*celsius = 60;
	return fake.older;
}

static void temperature_falls_back(void **state)
{
	int celsius = -1;

	(void)state;
	assert_int_equal(nvml_temperature_read(&nvml, device, &celsius), NVML_FUNCTION_NOT_FOUND);
	nvml.call.temperature = temperature_older;
	assert_int_equal(nvml_temperature_read(&nvml, device, &celsius), NVML_OK);
	assert_int_equal(celsius, 60);
	nvml.call.temperature_v = temperature_newer;
	assert_int_equal(nvml_temperature_read(&nvml, device, &celsius), NVML_OK);
	assert_int_equal(celsius, 61);
}

static nvml_result fields(nvml_device dev, int count, nvml_field *values)
{
	(void)dev;
	assert_int_equal(count, 1);
	fake.field.id = values->id;
	*values = fake.field;
	return fake.field_code;
}

static nvml_result violation(nvml_device dev, nvml_policy policy, nvml_violation *time)
{
	(void)dev;
	time->violated_ns = policy == NVML_VIOLATION_THERMAL ? 7 : 5;
	return fake.older;
}

static void fields_are_read_by_their_type(void **state)
{
	static const struct {
		nvml_field field;
		nvml_result code;
		int64_t value;
	} told[] = {
		{{.type = NVML_TYPE_U32, .value.u64 = 0xffffffff00000012}, NVML_OK, 0x12},
		{{.type = NVML_TYPE_U16, .value.u64 = 0xffffffffffff0003}, NVML_OK, 3},
		{{.type = NVML_TYPE_I32, .value.i32 = -4}, NVML_OK, -4},
		{{.type = NVML_TYPE_U64, .value.u64 = 1ULL << 40}, NVML_OK, 1LL << 40},
		{{.type = NVML_TYPE_UL, .value.ul = 9}, NVML_OK, 9},
		{{.type = NVML_TYPE_F64, .value.f64 = 412.7}, NVML_OK, 412},
		{{.type = NVML_TYPE_F64, .value.f64 = 1e300}, NVML_UNKNOWN, 0},
		{{.type = 77, .value.u64 = 1}, NVML_VERSION_MISMATCH, 0},
		/* The call is well, the entry is not: never a zero. */
		{{.result = NVML_NOT_SUPPORTED}, NVML_NOT_SUPPORTED, 0},
	};
	int64_t value;

	(void)state;
	nvml.call.fields = fields;
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		fake.field = told[i].field;
		value = 0;
		assert_int_equal(nvml_field_read(&nvml, device, NVML_FIELD_MEMORY_TEMP, 0, &value),
		                 told[i].code);
		assert_int_equal(value, told[i].value);
	}
	fake.field_code = NVML_GPU_LOST;
	assert_int_equal(nvml_field_read(&nvml, device, NVML_FIELD_MEMORY_TEMP, 0, &value),
	                 NVML_GPU_LOST);
}

static void held_time_falls_back(void **state)
{
	int64_t ns = -1;

	(void)state;
	assert_int_equal(nvml_power_held(&nvml, device, &ns), NVML_FUNCTION_NOT_FOUND);
	nvml.call.violation = violation;
	assert_int_equal(nvml_power_held(&nvml, device, &ns), NVML_OK);
	assert_int_equal(ns, 5);
	nvml.call.fields = fields;
	fake.field = (nvml_field){.type = NVML_TYPE_U64, .value.u64 = 11};
	assert_int_equal(nvml_heat_held(&nvml, device, &ns), NVML_OK);
	assert_int_equal(ns, 11);
	fake.field.result = NVML_NOT_SUPPORTED;
	assert_int_equal(nvml_heat_held(&nvml, device, &ns), NVML_OK);
	assert_int_equal(ns, 7);
}

static nvml_result link_state(nvml_device dev, unsigned link, nvml_enable *up)
{
	(void)dev;
	*up = link % 2 ? NVML_LINK_DOWN : NVML_LINK_UP;
	return (int)link < fake.links ? NVML_OK : fake.after_links;
}

static void links_are_counted(void **state)
{
	int count = -1;

	(void)state;
	assert_int_equal(nvml_links(&nvml, device, &count), NVML_FUNCTION_NOT_FOUND);
	nvml.call.link_state = link_state;
	fake.links = 36;
	fake.after_links = NVML_INVALID_ARGUMENT;
	assert_int_equal(nvml_links(&nvml, device, &count), NVML_OK);
	assert_int_equal(count, 36);
	/* A card that has none, and one that is gone. */
	fake.links = 0;
	fake.after_links = NVML_NOT_SUPPORTED;
	count = -1;
	assert_int_equal(nvml_links(&nvml, device, &count), NVML_NOT_SUPPORTED);
	fake.links = 3;
	fake.after_links = NVML_GPU_LOST;
	assert_int_equal(nvml_links(&nvml, device, &count), NVML_GPU_LOST);
	assert_int_equal(count, -1);
	nvml.call.fields = fields;
	fake.field = (nvml_field){.type = NVML_TYPE_U32, .value.u32 = 18};
	assert_int_equal(nvml_links(&nvml, device, &count), NVML_OK);
	assert_int_equal(count, 18);
	/* Nonsense is not believed. */
	fake.field.value.u32 = 4000000000U;
	fake.links = 12;
	fake.after_links = NVML_INVALID_ARGUMENT;
	assert_int_equal(nvml_links(&nvml, device, &count), NVML_OK);
	assert_int_equal(count, 12);
}

static nvml_result fabric(nvml_device dev, nvml_fabric *f)
{
	(void)dev;
	if (f->version >> 24 > fake.fabric_version)
		return NVML_VERSION_MISMATCH;
	f->state = NVML_FABRIC_COMPLETED;
	f->health_mask = 7;
	return NVML_OK;
}

static nvml_result fabric_v1(nvml_device dev, nvml_fabric_v1 *f)
{
	(void)dev;
	f->state = NVML_FABRIC_IN_PROGRESS;
	f->cluster[15] = 9;
	return NVML_OK;
}

static void the_fabric_is_asked_in_three_forms(void **state)
{
	nvml_fabric f;
	int version;

	(void)state;
	assert_int_equal(nvml_fabric_read(&nvml, device, &f, &version), NVML_FUNCTION_NOT_FOUND);
	nvml.call.fabric_v1 = fabric_v1;
	assert_int_equal(nvml_fabric_read(&nvml, device, &f, &version), NVML_OK);
	assert_int_equal(version, 1);
	assert_int_equal(f.state, NVML_FABRIC_IN_PROGRESS);
	assert_int_equal(f.cluster[15], 9);
	nvml.call.fabric = fabric;
	for (unsigned v = 2; v <= 3; v++) {
		fake.fabric_version = v;
		assert_int_equal(nvml_fabric_read(&nvml, device, &f, &version), NVML_OK);
		assert_int_equal(version, v);
		assert_int_equal(f.health_mask, 7);
	}
}

static nvml_result by_index(unsigned index, nvml_device *dev)
{
	*dev = (nvml_device)(uintptr_t)(index + 1);
	return index == 2 ? NVML_GPU_LOST : NVML_OK;
}

static nvml_result get_pci(nvml_device dev, nvml_pci *pci)
{
	*pci = (nvml_pci){.device_id = 0x233010de, .bus_id = "00000000:9A:00.0"};
	pci->bus_id[9] = (char)('0' + (uintptr_t)dev);
	return NVML_OK;
}

static nvml_result get_text(nvml_device dev, char *text, unsigned size)
{
	(void)dev;
	assert_int_equal(size, 96);
	strcpy(text, "NVIDIA H100 80GB HBM3");
	return NVML_OK;
}

static void a_lost_card_does_not_hide_the_others(void **state)
{
	struct nvml_card card;

	(void)state;
	nvml.call.by_index = by_index;
	nvml.call.pci = get_pci;
	nvml.call.uuid = nvml.call.name = get_text;
	for (int i = 0; i < 4; i++) {
		enum status st = nvml_card_read(&nvml, &arena, i, &card, &err);

		assert_int_equal(st, i == 2 ? ST_IO : ST_OK);
		if (i == 2) {
			assert_says("NVML error 15");
			continue;
		}
		assert_string_equal(card.pci, i == 0   ? "0000:1a:00.0"
		                              : i == 1 ? "0000:2a:00.0"
		                                       : "0000:4a:00.0");
		assert_null(card.serial);
		assert_int_equal(card.minor_number, -1);
		assert_int_equal(card.cores, -1);
		assert_int_equal(card.major, -1);
	}
}

/* --- errors by cause ---------------------------------------------------------------- */

static const char *error_string(nvml_result code)
{
	return code == 24 ? "Insufficient resources" : "?";
}

static void nvml_errors_say_what_to_do(void **state)
{
	static const struct {
		nvml_result code;
		const char *words;
		enum outcome outcome;
	} due[] = {
		{NVML_NOT_SUPPORTED, "does not tell", OUTCOME_UNSUPPORTED},
		{NVML_NO_PERMISSION, "root", OUTCOME_NOT_MEASURED},
		{NVML_DRIVER_NOT_LOADED, "modprobe", OUTCOME_NOT_MEASURED},
		{NVML_FUNCTION_NOT_FOUND, "too old", OUTCOME_NOT_MEASURED},
		{NVML_GPU_LOST, "Xid 79", OUTCOME_FAILED},
		{NVML_RESET_REQUIRED, "--gpu-reset", OUTCOME_FAILED},
		{NVML_VERSION_MISMATCH_KERNEL, "without a reboot", OUTCOME_NOT_MEASURED},
		{NVML_DEPRECATED, "Recovery Action", OUTCOME_NOT_MEASURED},
		{NVML_UNKNOWN, "container", OUTCOME_NOT_MEASURED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(due) / sizeof(*due); i++) {
		assert_int_not_equal(nvml_check(&nvml, due[i].code, "nvmlX", &err), ST_OK);
		assert_int_equal(nvml_cause(due[i].code)->outcome, due[i].outcome);
		assert_says(due[i].words);
	}
	assert_int_equal(nvml_check(&nvml, 24, "nvmlX", &err), ST_UNSUPPORTED);
	assert_says("nvmlX failed: Insufficient resources (24)");
}

static void bus_ids_are_one(void **state)
{
	static const char *const forms[][2] = {{"00000000:17:00.0", "0000:17:00.0"},
	                                       {"0000:0B:00.0", "0000:0b:00.0"},
	                                       {"000:BA:80.0", "0000:ba:80.0"},
	                                       {"0000:07:00", "0000:07:00.0"},
	                                       {"00010000:AF:1F.7", "10000:af:1f.7"},
	                                       {"17:00.0", NULL},
	                                       {"GPU-1234", NULL},
	                                       {"0000:17:00.0 ", NULL},
	                                       {"0000:17:00.x", NULL},
	                                       {"", NULL},
	                                       {NULL, NULL}};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		const char *pci = gpu_pci(&arena, forms[i][0]);

		if (!forms[i][1])
			assert_null(pci);
		else
			assert_string_equal(pci, forms[i][1]);
	}
}

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	nvml = (struct nvml){.call.error_string = error_string};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_release(&arena);
	error_release(&err);
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(process_entries_are_measured),
		TEST(the_oldest_process_list_serves),
		TEST(reasons_fall_back),
		TEST(memory_falls_back),
		TEST(temperature_falls_back),
		TEST(fields_are_read_by_their_type),
		TEST(held_time_falls_back),
		TEST(links_are_counted),
		TEST(the_fabric_is_asked_in_three_forms),
		TEST(a_lost_card_does_not_hide_the_others),
		TEST(nvml_errors_say_what_to_do),
		TEST(bus_ids_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
