/* inventory on recorded machines and on this one. */
#include "probe_harness.h"

#include <string.h>

#include "base/json.h"

extern const struct probe probe_inventory;

static void read_node(struct harness *h, const char *tree)
{
	harness_init(h, &probe_inventory);
	h->ctx.sys_root = tree;
	h->ctx.lib_dir = "/nonexistent"; /* no driver library, whatever is installed here */
	harness_run(h, ST_OK);
	/* One reading for each metric, measured or not. */
	for (const struct metric *m = probe_inventory.metrics; m->name; m++)
		assert_int_equal(harness_count(h, m->name), 1);
}

static double number(const struct harness *h, const char *metric)
{
	const struct reading *r = harness_expect(h, metric, OUTCOME_MEASURED, NULL);

	assert_int_equal(r->value_kind, VALUE_NUMBER);
	assert_string_equal(r->subject.id, "n001");
	return r->value;
}

static const char *text(const struct harness *h, const char *metric)
{
	const struct reading *r = harness_expect(h, metric, OUTCOME_MEASURED, NULL);

	assert_int_equal(r->value_kind, VALUE_TEXT);
	return r->text;
}

static void a_gpu_node_is_listed(void **state)
{
	struct harness h;
	const struct reading *r;
	struct json_doc doc;
	const cJSON *card, *device;

	(void)state;
	read_node(&h, TESTS_DIR "/nodes/gpu-node");
	assert_true(number(&h, "node_cpus") == 8);
	assert_true(number(&h, "node_cpu_limit") == 6);
	assert_true(number(&h, "node_nvidia_pci_devices") == 4);
	assert_true(number(&h, "node_rdma_devices") == 2);
	assert_true(number(&h, "node_nics") == 1);
	assert_true(number(&h, "node_filesystems") == 3);
	assert_true(number(&h, "node_memory_gib") > 2015 && number(&h, "node_memory_gib") < 2016);
	assert_string_equal(text(&h, "node_container"), "docker");
	assert_string_equal(text(&h, "node_driver_version"), "550.54.15");
	assert_string_equal(text(&h, "node_limits"),
	                    "memlock unlimited, nofile 1048576, nproc 512000");

	r = harness_reading(&h, "node_nvidia_pci_devices");
	assert_int_equal(json_parse(&doc, "params", r->params, strlen(r->params), 0, NULL), ST_OK);
	card = cJSON_GetArrayItem(json_get(doc.root, "cards"), 3);
	assert_string_equal(json_string(card, "pci", ""), "0000:c1:00.0");
	assert_string_equal(json_string(card, "device", ""), "10de:2330");
	assert_string_equal(json_string(card, "subsystem", ""), "10de:16c1");
	assert_string_equal(json_string(card, "link_speed_max", ""), "32.0 GT/s PCIe");
	json_release(&doc);

	/* Software devices are listed, labelled, and not counted. */
	r = harness_reading(&h, "node_rdma_devices");
	assert_int_equal(json_parse(&doc, "params", r->params, strlen(r->params), 0, NULL), ST_OK);
	assert_int_equal(cJSON_GetArraySize(json_get(doc.root, "devices")), 4);
	device = cJSON_GetArrayItem(json_get(doc.root, "devices"), 3);
	assert_string_equal(json_string(device, "name", ""), "siw_eth0");
	assert_true(json_bool(device, "software", false));
	json_release(&doc);
	harness_release(&h);
}

static void what_gpus_owe_has_its_reason(void **state)
{
	struct harness h;

	(void)state;
	read_node(&h, TESTS_DIR "/nodes/gpu-node");
	for (const struct metric *m = probe_inventory.metrics; m->name; m++) {
		const struct reading *r;

		if (m->backend != BACKEND_CUDA)
			continue;
		r = harness_expect(&h, m->name, OUTCOME_NOT_MEASURED, "no_driver");
		assert_string_equal(r->subject.id, "*");
		assert_string_equal(r->reason.text, "no NVIDIA driver (libcuda.so.1 not found)");
	}
	harness_expect(&h, "node_cards_agree", OUTCOME_NOT_MEASURED, "no_driver");
	harness_release(&h);
}

static void a_machine_without_driver(void **state)
{
	struct harness h;

	(void)state;
	read_node(&h, TESTS_DIR "/nodes/vm-cgroup1");
	assert_true(number(&h, "node_nvidia_pci_devices") == 1);
	assert_true(number(&h, "node_cpu_limit") == 1.5);
	assert_string_equal(text(&h, "node_virtualization"), "vm KVM");
	harness_expect(&h, "node_driver_version", OUTCOME_NOT_MEASURED, "no_driver");
	harness_expect(&h, "node_machine_id", OUTCOME_NOT_MEASURED, "host_unreadable");
	harness_expect(&h, "node_numa_nodes", OUTCOME_NOT_MEASURED, "host_unreadable");
	harness_release(&h);
}

static void unknown_is_never_zero(void **state)
{
	static const char *const unknown[] = {
		"node_cpu_model",
		"node_cpus",
		"node_cpu_limit",
		"node_numa_nodes",
		"node_memory_gib",
		"node_kernel",
		"node_os",
		"node_clocksource",
		"node_virtualization",
		"node_machine_id",
		"node_boot_id",
		"node_limits",
		"node_filesystems",
		"node_nics",
		"node_rdma_devices",
		"node_nvidia_pci_devices",
	};
	struct harness h;

	(void)state;
	read_node(&h, TESTS_DIR "/nodes/bare");
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		harness_expect(&h, unknown[i], OUTCOME_NOT_MEASURED, "host_unreadable");
	harness_release(&h);
}

static void this_machine(void **state)
{
	struct harness h;

	(void)state;
	harness_init(&h, &probe_inventory);
	assert_true(probe_inventory.supported(&h.ctx).yes);
	harness_run(&h, ST_OK);
	assert_true(number(&h, "node_cpus") >= 1);
	assert_true(number(&h, "node_memory_gib") > 0.1);
	assert_true(strlen(text(&h, "node_kernel")) > 2);
	assert_int_equal(strlen(text(&h, "node_boot_id")), 36);
	harness_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gpu_node_is_listed),
		cmocka_unit_test(what_gpus_owe_has_its_reason),
		cmocka_unit_test(a_machine_without_driver),
		cmocka_unit_test(unknown_is_never_zero),
		cmocka_unit_test(this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
