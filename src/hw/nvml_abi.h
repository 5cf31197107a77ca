/* The NVML half of hw/gpu_abi.h: its header comes with the driver's developer
 * package only, so a table of facts in a test takes its place as the witness.
 * Structs with a `version` hold NVML_VERSION_OF(type, n); a library that
 * does not know it answers NVML_VERSION_MISMATCH. */
#ifndef ASSAY_HW_NVML_ABI_H
#define ASSAY_HW_NVML_ABI_H

#include <stdint.h>

typedef int nvml_result;
typedef int nvml_clock_kind;
typedef int nvml_pstate;
typedef int nvml_sensor;
typedef int nvml_threshold;
typedef int nvml_policy;
typedef int nvml_ecc_kind;
typedef int nvml_ecc_counter;
typedef int nvml_memory_place;
typedef int nvml_retire_cause;
typedef int nvml_pcie_way;
typedef int nvml_enable;
typedef int nvml_link_error;
typedef int nvml_link_peer;
typedef int nvml_p2p_kind;
typedef int nvml_p2p_status;
typedef int nvml_topology_level;
typedef int nvml_virtual_mode;
typedef int nvml_compute_mode;
typedef struct nvml_device_body *nvml_device;
typedef struct nvml_event_set_body *nvml_event_set;

#define NVML_VERSION_OF(type, n) ((unsigned)(sizeof(type) | ((unsigned)(n) << 24)))

typedef struct nvml_pci {
	char bus_id_legacy[16]; /* 0000:17:00.0 */
	unsigned domain, bus, device;
	unsigned device_id;    /* device << 16 | vendor */
	unsigned subsystem_id; /* the same of the board */
	char bus_id[32];       /* 00000000:17:00.0 */
} nvml_pci;

/* Bytes. */
typedef struct nvml_memory {
	unsigned long long total, free, used; /* used includes what the driver keeps */
} nvml_memory;
typedef struct nvml_memory_v2 {
	unsigned version; /* 2 */
	unsigned long long total, reserved, free, used;
} nvml_memory_v2;

typedef union nvml_value {
	double f64;
	int i32;
	unsigned u32;
	unsigned long ul;
	unsigned long long u64;
	long long i64;
	unsigned short u16;
} nvml_value;

typedef struct nvml_field {
	unsigned id;
	unsigned scope;         /* NVLink number, or NVML_ALL_LINKS */
	long long timestamp_us; /* since 1970 */
	long long latency_us;   /* of reading it */
	int type;               /* NVML_TYPE_* */
	nvml_result result;     /* value holds only when this is NVML_OK */
	nvml_value value;
} nvml_field;

/* Drivers 535.43 to 535.86 give 32 bytes an entry: nvml_processes() measures. */
typedef struct nvml_process_v1 {
	unsigned pid;
	unsigned long long used_bytes; /* all bits set: not told */
} nvml_process_v1;
typedef struct nvml_process {
	unsigned pid;
	unsigned long long used_bytes;
	unsigned gpu_instance, compute_instance;
} nvml_process;

typedef struct nvml_utilization {
	unsigned gpu, memory; /* percent of the last sample period */
} nvml_utilization;

typedef struct nvml_violation {
	unsigned long long reference_us; /* since 1970 */
	unsigned long long violated_ns;
} nvml_violation;

typedef struct nvml_temperature {
	unsigned version; /* 1 */
	int sensor;       /* NVML_SENSOR_GPU */
	int celsius;
} nvml_temperature;

typedef struct nvml_sram_errors {
	unsigned version; /* 1 */
	unsigned long long total_parity, total_secded, total_corrected;
	unsigned long long boot_parity, boot_secded, boot_corrected;
	unsigned long long l2, sm, pcie, microcontroller, other; /* uncorrected, total */
	unsigned threshold_exceeded;
} nvml_sram_errors;

typedef struct nvml_remap_histogram {
	unsigned max, high, partial, low, none; /* banks by remapping rows left */
} nvml_remap_histogram;

typedef struct nvml_fabric_v1 {
	unsigned char cluster[16];
	nvml_result status;
	unsigned clique;
	unsigned char state; /* NVML_FABRIC_* */
} nvml_fabric_v1;
typedef struct nvml_fabric {
	unsigned version; /* 3; the first 36 bytes are version 2 */
	unsigned char cluster[16];
	nvml_result status;
	unsigned clique;
	unsigned char state;
	unsigned health_mask;
	unsigned char health_summary; /* version 3 */
} nvml_fabric;
#define NVML_FABRIC_V2 (36U | 2U << 24)

typedef struct nvml_confidential {
	unsigned environment, feature, dev_tools;
} nvml_confidential;

typedef struct nvml_event {
	nvml_device device;
	unsigned long long type; /* NVML_EVENT_* */
	unsigned long long data; /* the number of an Xid */
	unsigned gpu_instance, compute_instance;
} nvml_event;

#define NVML_VALUES(X)                                                                             \
	X(NVML_OK, NVML_SUCCESS, 0)                                                                \
	X(NVML_UNINITIALIZED, NVML_ERROR_UNINITIALIZED, 1)                                         \
	X(NVML_INVALID_ARGUMENT, NVML_ERROR_INVALID_ARGUMENT, 2)                                   \
	X(NVML_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED, 3)                                         \
	X(NVML_NO_PERMISSION, NVML_ERROR_NO_PERMISSION, 4)                                         \
	X(NVML_NOT_FOUND, NVML_ERROR_NOT_FOUND, 6)                                                 \
	X(NVML_INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_SIZE, 7)                                 \
	X(NVML_INSUFFICIENT_POWER, NVML_ERROR_INSUFFICIENT_POWER, 8)                               \
	X(NVML_DRIVER_NOT_LOADED, NVML_ERROR_DRIVER_NOT_LOADED, 9)                                 \
	X(NVML_TIMEOUT, NVML_ERROR_TIMEOUT, 10)                                                    \
	X(NVML_IRQ_ISSUE, NVML_ERROR_IRQ_ISSUE, 11)                                                \
	X(NVML_LIBRARY_NOT_FOUND, NVML_ERROR_LIBRARY_NOT_FOUND, 12)                                \
	X(NVML_FUNCTION_NOT_FOUND, NVML_ERROR_FUNCTION_NOT_FOUND, 13)                              \
	X(NVML_GPU_LOST, NVML_ERROR_GPU_IS_LOST, 15)                                               \
	X(NVML_RESET_REQUIRED, NVML_ERROR_RESET_REQUIRED, 16)                                      \
	X(NVML_OPERATING_SYSTEM, NVML_ERROR_OPERATING_SYSTEM, 17)                                  \
	X(NVML_VERSION_MISMATCH_KERNEL, NVML_ERROR_LIB_RM_VERSION_MISMATCH, 18)                    \
	X(NVML_IN_USE, NVML_ERROR_IN_USE, 19)                                                      \
	X(NVML_MEMORY, NVML_ERROR_MEMORY, 20)                                                      \
	X(NVML_VERSION_MISMATCH, NVML_ERROR_ARGUMENT_VERSION_MISMATCH, 25)                         \
	X(NVML_DEPRECATED, NVML_ERROR_DEPRECATED, 26)                                              \
	X(NVML_NOT_READY, NVML_ERROR_NOT_READY, 27)                                                \
	X(NVML_GPU_NOT_FOUND, NVML_ERROR_GPU_NOT_FOUND, 28)                                        \
	X(NVML_UNKNOWN, NVML_ERROR_UNKNOWN, 999)                                                   \
	X(NVML_GRAPHICS_CLOCK, NVML_CLOCK_GRAPHICS, 0)                                             \
	X(NVML_SM_CLOCK, NVML_CLOCK_SM, 1)                                                         \
	X(NVML_MEMORY_CLOCK, NVML_CLOCK_MEM, 2)                                                    \
	X(NVML_SENSOR_GPU, NVML_TEMPERATURE_GPU, 0)                                                \
	X(NVML_THRESHOLD_SHUTDOWN, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN, 0)                         \
	X(NVML_THRESHOLD_SLOWDOWN, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, 1)                         \
	X(NVML_REASON_IDLE, nvmlClocksEventReasonGpuIdle, 0x1)                                     \
	X(NVML_REASON_APP_CLOCKS, nvmlClocksEventReasonApplicationsClocksSetting, 0x2)             \
	X(NVML_REASON_POWER_CAP, nvmlClocksEventReasonSwPowerCap, 0x4)                             \
	X(NVML_REASON_HW_SLOWDOWN, nvmlClocksThrottleReasonHwSlowdown, 0x8)                        \
	X(NVML_REASON_SYNC_BOOST, nvmlClocksEventReasonSyncBoost, 0x10)                            \
	X(NVML_REASON_SW_THERMAL, nvmlClocksEventReasonSwThermalSlowdown, 0x20)                    \
	X(NVML_REASON_HW_THERMAL, nvmlClocksThrottleReasonHwThermalSlowdown, 0x40)                 \
	X(NVML_REASON_POWER_BRAKE, nvmlClocksThrottleReasonHwPowerBrakeSlowdown, 0x80)             \
	X(NVML_REASON_DISPLAY, nvmlClocksEventReasonDisplayClockSetting, 0x100)                    \
	X(NVML_VIOLATION_POWER, NVML_PERF_POLICY_POWER, 0)                                         \
	X(NVML_VIOLATION_THERMAL, NVML_PERF_POLICY_THERMAL, 1)                                     \
	X(NVML_ECC_CORRECTED, NVML_MEMORY_ERROR_TYPE_CORRECTED, 0)                                 \
	X(NVML_ECC_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, 1)                             \
	X(NVML_ECC_SINCE_BOOT, NVML_VOLATILE_ECC, 0)                                               \
	X(NVML_ECC_TOTAL, NVML_AGGREGATE_ECC, 1)                                                   \
	X(NVML_ECC_DEVICE_MEMORY, NVML_MEMORY_LOCATION_DEVICE_MEMORY, 2)                           \
	X(NVML_RETIRED_CORRECTED, NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS, 0)    \
	X(NVML_RETIRED_UNCORRECTED, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR, 1)            \
	X(NVML_PCIE_TX, NVML_PCIE_UTIL_TX_BYTES, 0)                                                \
	X(NVML_PCIE_RX, NVML_PCIE_UTIL_RX_BYTES, 1)                                                \
	X(NVML_LINK_DOWN, NVML_FEATURE_DISABLED, 0)                                                \
	X(NVML_LINK_UP, NVML_FEATURE_ENABLED, 1)                                                   \
	X(NVML_LINK_REPLAY, NVML_NVLINK_ERROR_DL_REPLAY, 0)                                        \
	X(NVML_LINK_RECOVERY, NVML_NVLINK_ERROR_DL_RECOVERY, 1)                                    \
	X(NVML_LINK_CRC_FLIT, NVML_NVLINK_ERROR_DL_CRC_FLIT, 2)                                    \
	X(NVML_LINK_CRC_DATA, NVML_NVLINK_ERROR_DL_CRC_DATA, 3)                                    \
	X(NVML_LINK_ECC, NVML_NVLINK_ERROR_DL_ECC_DATA, 4)                                         \
	X(NVML_REMOTE_GPU, NVML_NVLINK_DEVICE_TYPE_GPU, 0)                                         \
	X(NVML_REMOTE_SWITCH, NVML_NVLINK_DEVICE_TYPE_SWITCH, 2)                                   \
	X(NVML_P2P_READ, NVML_P2P_CAPS_INDEX_READ, 0)                                              \
	X(NVML_P2P_WRITE, NVML_P2P_CAPS_INDEX_WRITE, 1)                                            \
	X(NVML_P2P_NVLINK, NVML_P2P_CAPS_INDEX_NVLINK, 2)                                          \
	X(NVML_P2P_PCI, NVML_P2P_CAPS_INDEX_PCI, 4)                                                \
	X(NVML_P2P_OK, NVML_P2P_STATUS_OK, 0)                                                      \
	X(NVML_FABRIC_NOT_SUPPORTED, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED, 0)                       \
	X(NVML_FABRIC_NOT_STARTED, NVML_GPU_FABRIC_STATE_NOT_STARTED, 1)                           \
	X(NVML_FABRIC_IN_PROGRESS, NVML_GPU_FABRIC_STATE_IN_PROGRESS, 2)                           \
	X(NVML_FABRIC_COMPLETED, NVML_GPU_FABRIC_STATE_COMPLETED, 3)                               \
	X(NVML_VIRTUAL_NONE, NVML_GPU_VIRTUALIZATION_MODE_NONE, 0)                                 \
	X(NVML_VIRTUAL_PASSTHROUGH, NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH, 1)                   \
	X(NVML_VIRTUAL_VGPU, NVML_GPU_VIRTUALIZATION_MODE_VGPU, 2)                                 \
	X(NVML_VIRTUAL_HOST_VGPU, NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU, 3)                       \
	X(NVML_VIRTUAL_HOST_VSGA, NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA, 4)                       \
	X(NVML_COMPUTE_DEFAULT, NVML_COMPUTEMODE_DEFAULT, 0)                                       \
	X(NVML_COMPUTE_PROHIBITED, NVML_COMPUTEMODE_PROHIBITED, 2)                                 \
	X(NVML_COMPUTE_EXCLUSIVE, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS, 3)                           \
	X(NVML_TYPE_F64, NVML_VALUE_TYPE_DOUBLE, 0)                                                \
	X(NVML_TYPE_U32, NVML_VALUE_TYPE_UNSIGNED_INT, 1)                                          \
	X(NVML_TYPE_UL, NVML_VALUE_TYPE_UNSIGNED_LONG, 2)                                          \
	X(NVML_TYPE_U64, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, 3)                                    \
	X(NVML_TYPE_I64, NVML_VALUE_TYPE_SIGNED_LONG_LONG, 4)                                      \
	X(NVML_TYPE_I32, NVML_VALUE_TYPE_SIGNED_INT, 5)                                            \
	X(NVML_TYPE_U16, NVML_VALUE_TYPE_UNSIGNED_SHORT, 6)                                        \
	X(NVML_EVENT_SINGLE_BIT, nvmlEventTypeSingleBitEccError, 0x1)                              \
	X(NVML_EVENT_DOUBLE_BIT, nvmlEventTypeDoubleBitEccError, 0x2)                              \
	X(NVML_EVENT_XID, nvmlEventTypeXidCriticalError, 0x8)

/* Field ids that meant the same in every header from 11.0 to 13.3; those that
 * were renumbered (199, 200, 251 to 253, 269 to 271) are left out, policy times
 * 74 and 75 say what they would. */
#define NVML_FIELDS(X)                                                                             \
	X(NVML_FIELD_LINK_CRC_FLIT, NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, 38)             \
	X(NVML_FIELD_LINK_REPLAY, NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, 52)                 \
	X(NVML_FIELD_LINK_RECOVERY, NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, 59)             \
	X(NVML_FIELD_POWER_TIME, NVML_FI_DEV_PERF_POLICY_POWER, 74)                                \
	X(NVML_FIELD_THERMAL_TIME, NVML_FI_DEV_PERF_POLICY_THERMAL, 75)                            \
	X(NVML_FIELD_MEMORY_TEMP, NVML_FI_DEV_MEMORY_TEMP, 82)                                     \
	X(NVML_FIELD_LINK_SPEED, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, 90)                         \
	X(NVML_FIELD_LINK_COUNT, NVML_FI_DEV_NVLINK_LINK_COUNT, 91)                                \
	X(NVML_FIELD_LINK_TX_KIB, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, 138)                      \
	X(NVML_FIELD_LINK_RX_KIB, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, 139)                      \
	X(NVML_FIELD_REMAPPED_CORRECTED, NVML_FI_DEV_REMAPPED_COR, 142)                            \
	X(NVML_FIELD_REMAPPED_UNCORRECTED, NVML_FI_DEV_REMAPPED_UNC, 143)                          \
	X(NVML_FIELD_REMAPPED_PENDING, NVML_FI_DEV_REMAPPED_PENDING, 144)                          \
	X(NVML_FIELD_REMAPPED_FAILED, NVML_FI_DEV_REMAPPED_FAILURE, 145)                           \
	X(NVML_FIELD_LINK_SPEED_EACH, NVML_FI_DEV_NVLINK_GET_SPEED, 164)                           \
	X(NVML_FIELD_POWER_AVERAGE, NVML_FI_DEV_POWER_AVERAGE, 185)                                \
	X(NVML_FIELD_POWER_INSTANT, NVML_FI_DEV_POWER_INSTANT, 186)                                \
	X(NVML_FIELD_RECOVERY_ACTION, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, 230)

#define X(ours, theirs, value) ours = value,
enum nvml_values { NVML_VALUES(X) NVML_FIELDS(X) };
#undef X

#define NVML_ALL_LINKS  0xffffffffU
#define NVML_LINK_LIMIT 64 /* links asked for where field 91 is unknown */
#define NVML_TEXT_BYTES 96 /* name, UUID, serial, versions */

#endif
