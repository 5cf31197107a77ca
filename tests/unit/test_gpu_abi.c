/* Our declarations of NVIDIA's libraries against the real headers where they
 * are installed: signature by signature, value by value, struct by struct. A
 * table of facts stands in for NVML's header, which few machines have. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "hw/gpu_abi.h"

/* Our sizes and places, taken before NVIDIA's names cover ours. */
struct layout {
	const char *name;
	size_t ours, theirs;
};

#define FACT(type, bytes)                                                                          \
	{                                                                                          \
#type, sizeof(type), bytes                                                         \
	}
#define PLACE(type, member, at)                                                                    \
	{                                                                                          \
#type "." #member, offsetof(type, member), at                                      \
	}

static const struct layout facts[] = {
	FACT(cu_uuid, 16),
	FACT(cu_ptr, 8),
	FACT(nccl_id, 128),
	FACT(nccl_config, NCCL_CONFIG_SIZE),
	FACT(cublaslt_algo, 64),
	FACT(cublaslt_choice, 96),
	PLACE(cublaslt_choice, workspace, 64),
	PLACE(cublaslt_choice, state, 72),
	FACT(nvml_pci, 68),
	PLACE(nvml_pci, domain, 16),
	PLACE(nvml_pci, device_id, 28),
	PLACE(nvml_pci, bus_id, 36),
	FACT(nvml_memory, 24),
	PLACE(nvml_memory, free, 8),
	FACT(nvml_memory_v2, 40),
	PLACE(nvml_memory_v2, total, 8),
	PLACE(nvml_memory_v2, free, 24),
	FACT(nvml_value, 8),
	FACT(nvml_field, 40),
	PLACE(nvml_field, scope, 4),
	PLACE(nvml_field, timestamp_us, 8),
	PLACE(nvml_field, latency_us, 16),
	PLACE(nvml_field, type, 24),
	PLACE(nvml_field, result, 28),
	PLACE(nvml_field, value, 32),
	FACT(nvml_process_v1, 16),
	FACT(nvml_process, 24),
	FACT(nvml_utilization, 8),
	FACT(nvml_violation, 16),
	FACT(nvml_temperature, 12),
	FACT(nvml_sram_errors, 104),
	PLACE(nvml_sram_errors, boot_corrected, 48),
	PLACE(nvml_sram_errors, threshold_exceeded, 96),
	FACT(nvml_remap_histogram, 20),
	FACT(nvml_fabric_v1, 28),
	FACT(nvml_fabric, 40),
	PLACE(nvml_fabric, health_mask, 32),
	PLACE(nvml_fabric, health_summary, 36),
	FACT(nvml_confidential, 12),
	FACT(nvml_event, 32),
	{"version of nvml_memory_v2", NVML_VERSION_OF(nvml_memory_v2, 2), 0x2000028},
	{"version of nvml_fabric", NVML_VERSION_OF(nvml_fabric, 3), 0x3000028},
	{"version 2 of nvml_fabric", NVML_FABRIC_V2, 0x2000024},
	{"version of nvml_sram_errors", NVML_VERSION_OF(nvml_sram_errors, 1), 0x1000068},
	{"version of nvml_temperature", NVML_VERSION_OF(nvml_temperature, 1), 0x100000c},
};

struct fact_value {
	const char *name;
	long ours, theirs;
};

/* As the headers 11.0 to 13.3 have them. */
static const struct fact_value values[] = {
	{"lost", NVML_GPU_LOST, 15},
	{"reset required", NVML_RESET_REQUIRED, 16},
	{"library and kernel differ", NVML_VERSION_MISMATCH_KERNEL, 18},
	{"driver not loaded", NVML_DRIVER_NOT_LOADED, 9},
	{"no permission", NVML_NO_PERMISSION, 4},
	{"not supported", NVML_NOT_SUPPORTED, 3},
	{"function not found", NVML_FUNCTION_NOT_FOUND, 13},
	{"version mismatch", NVML_VERSION_MISMATCH, 25},
	{"deprecated", NVML_DEPRECATED, 26},
	{"power cap", NVML_REASON_POWER_CAP, 0x4},
	{"hardware slowdown", NVML_REASON_HW_SLOWDOWN, 0x8},
	{"software thermal", NVML_REASON_SW_THERMAL, 0x20},
	{"hardware thermal", NVML_REASON_HW_THERMAL, 0x40},
	{"power brake", NVML_REASON_POWER_BRAKE, 0x80},
	{"link count", NVML_FIELD_LINK_COUNT, 91},
	{"power time", NVML_FIELD_POWER_TIME, 74},
	{"thermal time", NVML_FIELD_THERMAL_TIME, 75},
	{"memory temperature", NVML_FIELD_MEMORY_TEMP, 82},
	{"remapping failed", NVML_FIELD_REMAPPED_FAILED, 145},
	{"instant power", NVML_FIELD_POWER_INSTANT, 186},
	{"recovery action", NVML_FIELD_RECOVERY_ACTION, 230},
	{"Xid event", NVML_EVENT_XID, 8},
	{"fabric completed", NVML_FABRIC_COMPLETED, 3},
	{"host vSGA", NVML_VIRTUAL_HOST_VSGA, 4},
};

static void layouts_are_those_of_the_binaries(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		if (facts[i].ours != facts[i].theirs)
			fail_msg("%s: %zu, should be %zu", facts[i].name, facts[i].ours,
			         facts[i].theirs);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		if (values[i].ours != values[i].theirs)
			fail_msg("%s: %ld, should be %ld", values[i].name, values[i].ours,
			         values[i].theirs);
}

/* Numbers that meant something else in another header must not be asked for. */
static void no_field_that_moved_is_used(void **state)
{
	static const int moved[] = {199, 200, 251, 252, 253, 269, 270, 271};
	static const int used[] = {
#define X(ours, theirs, value) value,
		NVML_FIELDS(X)
#undef X
	};

	(void)state;
	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		for (size_t j = 0; j < sizeof(moved) / sizeof(*moved); j++)
			assert_int_not_equal(used[i], moved[j]);
}

/* A table of function pointers is filled as an array. */
static void tables_hold_pointers_alone(void **state)
{
#define COUNT(slot, symbol, need, result, params) +1
	(void)state;
	assert_int_equal(sizeof(struct cuda_calls), (0 CUDA_SYMBOLS(COUNT)) * sizeof(void *));
	assert_int_equal(sizeof(struct nvml_calls), (0 NVML_SYMBOLS(COUNT)) * sizeof(void *));
	assert_int_equal(sizeof(struct cublas_calls), (0 CUBLAS_SYMBOLS(COUNT)) * sizeof(void *));
	assert_int_equal(sizeof(struct cublaslt_calls),
	                 (0 CUBLASLT_SYMBOLS(COUNT)) * sizeof(void *));
	assert_int_equal(sizeof(struct nccl_calls), (0 NCCL_SYMBOLS(COUNT)) * sizeof(void *));
#undef COUNT
}

struct row {
	const char *name;
	int same;
};

/* From here on a row is read in NVIDIA's types. */
#define ROW(slot, symbol, need, result, params)                                                    \
	{#symbol, __builtin_types_compatible_p(__typeof__(symbol), result params)},
#define VALUE(ours, theirs, value) {#theirs, (long)(theirs) == (long)(value)},

#if defined(HAVE_CUDA_H) || defined(HAVE_NVML_H)
static void compare(const struct row *rows, size_t count)
{
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++) {
		if (!rows[i].same)
			printf("differs: %s\n", rows[i].name);
		wrong += !rows[i].same;
	}
	assert_int_equal(wrong, 0);
}
#endif

#ifdef HAVE_CUDA_H
static const size_t our_choice = sizeof(cublaslt_choice);
static const size_t our_id = sizeof(nccl_id), our_blocking = offsetof(nccl_config, blocking);

/* With the old functions and without the macros that rename them. */
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>

#include <cublasLt.h>
#include <cublas_v2.h>
#ifdef HAVE_NCCL_H
#include <nccl.h>
#endif

#define cu_result          CUresult
#define cu_device          CUdevice
#define cu_attribute       CUdevice_attribute
#define cu_p2p_attribute   CUdevice_P2PAttribute
#define cu_jit_option      CUjit_option
#define cu_ptr             CUdeviceptr
#define cu_context         CUcontext
#define cu_stream          CUstream
#define cu_event           CUevent
#define cu_module          CUmodule
#define cu_function        CUfunction
#define cu_uuid            CUuuid
#define cublas_status      cublasStatus_t
#define cublas_operation   cublasOperation_t
#define cublas_compute     cublasComputeType_t
#define cublas_algo        cublasGemmAlgo_t
#define cublas_math        cublasMath_t
#define cublas_property    libraryPropertyType
#define cublas_handle      cublasHandle_t
#define cuda_type          cudaDataType
#define cublaslt_handle    cublasLtHandle_t
#define cublaslt_desc      cublasLtMatmulDesc_t
#define cublaslt_layout    cublasLtMatrixLayout_t
#define cublaslt_pref      cublasLtMatmulPreference_t
#define cublaslt_desc_attr cublasLtMatmulDescAttributes_t
#define cublaslt_pref_attr cublasLtMatmulPreferenceAttributes_t
#define cublaslt_algo      cublasLtMatmulAlgo_t
#define cublaslt_choice    cublasLtMatmulHeuristicResult_t
#define nccl_result        ncclResult_t
#define nccl_type          ncclDataType_t
#define nccl_operation     ncclRedOp_t
#define nccl_comm          ncclComm_t
#define nccl_id            ncclUniqueId
#define nccl_config        ncclConfig_t

static void cuda_as_in_its_header(void **state)
{
	static const struct row rows[] = {CUDA_SYMBOLS(ROW) CUDA_VALUES(VALUE)};

	(void)state;
	compare(rows, sizeof(rows) / sizeof(*rows));
}

static void cublas_as_in_its_header(void **state)
{
	static const struct row rows[] = {CUBLAS_SYMBOLS(ROW) CUBLAS_VALUES(VALUE)
	                                          CUBLASLT_SYMBOLS(ROW) CUBLASLT_VALUES(VALUE)};

	(void)state;
	compare(rows, sizeof(rows) / sizeof(*rows));
	assert_int_equal(our_choice, sizeof(cublasLtMatmulHeuristicResult_t));
}

/* The comparison itself must be able to fail. */
static void a_wrong_row_is_seen(void **state)
{
	static const struct row wrong[] = {
		ROW(alloc, cuMemAlloc_v2, REQUIRED, cu_result, (cu_ptr *, unsigned))
			ROW(init, cuInit, REQUIRED, int, (unsigned))
				VALUE(none, CUDA_ERROR_STUB_LIBRARY, 35)};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_false(wrong[i].same);
}
#else
static void cuda_as_in_its_header(void **state)
{
	(void)state;
	puts("skipped: cuda.h was not found when this was built (CUDA toolkit)");
	skip();
}

static void cublas_as_in_its_header(void **state)
{
	cuda_as_in_its_header(state);
}

static void a_wrong_row_is_seen(void **state)
{
	cuda_as_in_its_header(state);
}
#endif

static void nccl_as_in_its_header(void **state)
{
#if defined(HAVE_CUDA_H) && defined(HAVE_NCCL_H)
	static const struct row rows[] = {NCCL_SYMBOLS(ROW) NCCL_VALUES(VALUE)};

	(void)state;
	compare(rows, sizeof(rows) / sizeof(*rows));
	assert_int_equal(our_id, sizeof(ncclUniqueId));
	assert_int_equal(our_blocking, offsetof(ncclConfig_t, blocking));
#else
	(void)state;
	puts("skipped: nccl.h was not found when this was built");
	skip();
#endif
}

#ifdef HAVE_NVML_H
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

/* What old drivers have must be compared, too. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define nvml_result          nvmlReturn_t
#define nvml_device          nvmlDevice_t
#define nvml_event_set       nvmlEventSet_t
#define nvml_clock_kind      nvmlClockType_t
#define nvml_pstate          nvmlPstates_t
#define nvml_sensor          nvmlTemperatureSensors_t
#define nvml_threshold       nvmlTemperatureThresholds_t
#define nvml_policy          nvmlPerfPolicyType_t
#define nvml_ecc_kind        nvmlMemoryErrorType_t
#define nvml_ecc_counter     nvmlEccCounterType_t
#define nvml_memory_place    nvmlMemoryLocation_t
#define nvml_retire_cause    nvmlPageRetirementCause_t
#define nvml_pcie_way        nvmlPcieUtilCounter_t
#define nvml_enable          nvmlEnableState_t
#define nvml_link_error      nvmlNvLinkErrorCounter_t
#define nvml_link_peer       nvmlIntNvLinkDeviceType_t
#define nvml_p2p_kind        nvmlGpuP2PCapsIndex_t
#define nvml_p2p_status      nvmlGpuP2PStatus_t
#define nvml_topology_level  nvmlGpuTopologyLevel_t
#define nvml_virtual_mode    nvmlGpuVirtualizationMode_t
#define nvml_compute_mode    nvmlComputeMode_t
#define nvml_pci             nvmlPciInfo_t
#define nvml_memory          nvmlMemory_t
#define nvml_memory_v2       nvmlMemory_v2_t
#define nvml_field           nvmlFieldValue_t
#define nvml_process         nvmlProcessInfo_t
#define nvml_process_v1      nvmlProcessInfo_v1_t
#define nvml_utilization     nvmlUtilization_t
#define nvml_violation       nvmlViolationTime_t
#define nvml_temperature     nvmlTemperature_t
#define nvml_sram_errors     nvmlEccSramErrorStatus_t
#define nvml_remap_histogram nvmlRowRemapperHistogramValues_t
#define nvml_fabric          nvmlGpuFabricInfoV_t
#define nvml_fabric_v1       nvmlGpuFabricInfo_t
#define nvml_confidential    nvmlConfComputeSystemState_t
#define nvml_event           nvmlEventData_t

static void nvml_as_in_its_header(void **state)
{
	static const struct row rows[] = {NVML_SYMBOLS(ROW) NVML_VALUES(VALUE) NVML_FIELDS(VALUE)};

	(void)state;
	compare(rows, sizeof(rows) / sizeof(*rows));
	/* The same figures as in facts[]. */
	assert_int_equal(sizeof(nvmlPciInfo_t), 68);
	assert_int_equal(offsetof(nvmlPciInfo_t, pciDeviceId), 28);
	assert_int_equal(sizeof(nvmlMemory_v2_t), 40);
	assert_int_equal(offsetof(nvmlMemory_v2_t, free), 24);
	assert_int_equal(sizeof(nvmlFieldValue_t), 40);
	assert_int_equal(offsetof(nvmlFieldValue_t, nvmlReturn), 28);
	assert_int_equal(sizeof(nvmlEccSramErrorStatus_t), 104);
	assert_int_equal(offsetof(nvmlEccSramErrorStatus_t, bThresholdExceeded), 96);
	assert_int_equal(sizeof(nvmlRowRemapperHistogramValues_t), 20);
	assert_int_equal(sizeof(nvmlTemperature_t), 12);
	assert_int_equal(sizeof(nvmlGpuFabricInfo_t), 28);
	assert_int_equal(sizeof(nvmlGpuFabricInfo_v2_t), 36);
	assert_int_equal(sizeof(nvmlGpuFabricInfo_v3_t), 40);
	assert_int_equal(offsetof(nvmlGpuFabricInfo_v3_t, healthMask), 32);
	assert_int_equal(sizeof(nvmlProcessInfo_v1_t), 16);
	assert_int_equal(sizeof(nvmlEventData_t), 32);
}
#else
static void nvml_as_in_its_header(void **state)
{
	(void)state;
	puts("skipped: nvml.h was not found when this was built (CUDA toolkit's nvml-dev)");
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_are_those_of_the_binaries),
		cmocka_unit_test(no_field_that_moved_is_used),
		cmocka_unit_test(tables_hold_pointers_alone),
		cmocka_unit_test(cuda_as_in_its_header),
		cmocka_unit_test(cublas_as_in_its_header),
		cmocka_unit_test(nccl_as_in_its_header),
		cmocka_unit_test(nvml_as_in_its_header),
		cmocka_unit_test(a_wrong_row_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
