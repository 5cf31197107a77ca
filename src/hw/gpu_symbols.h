/* The functions Assay calls, one row each: X(slot, symbol, need, result,
 * parameters). The symbol is the exported name with its version, never the one
 * that a vendor's header renames by a macro. REQUIRED: without it the library
 * is of no use; OPTIONAL: one reading less. The same rows declare what a
 * stand-in must define, and what the conformance test compares.
 *
 * To add a function: one row; types go to hw/gpu_abi.h. */
#ifndef ASSAY_HW_GPU_SYMBOLS_H
#define ASSAY_HW_GPU_SYMBOLS_H

/* A pointer in a row is taken for a product. */
/* clang-format off */

/* libcuda.so.1; all there since driver 450. */
#define CUDA_SYMBOLS(X)                                                                            \
	X(init, cuInit, REQUIRED, cu_result, (unsigned flags))                                     \
	X(driver_version, cuDriverGetVersion, REQUIRED, cu_result, (int *version))                 \
	X(error_name, cuGetErrorName, REQUIRED, cu_result, (cu_result code, const char **name))    \
	X(error_string, cuGetErrorString, REQUIRED, cu_result,                                     \
	  (cu_result code, const char **text))                                                     \
	X(device_count, cuDeviceGetCount, REQUIRED, cu_result, (int *count))                       \
	X(device_get, cuDeviceGet, REQUIRED, cu_result, (cu_device *device, int index))            \
	X(device_name, cuDeviceGetName, REQUIRED, cu_result,                                       \
	  (char *name, int size, cu_device device))                                                \
	X(device_attribute, cuDeviceGetAttribute, REQUIRED, cu_result,                             \
	  (int *value, cu_attribute attribute, cu_device device))                                  \
	X(device_memory, cuDeviceTotalMem_v2, REQUIRED, cu_result,                                 \
	  (size_t *bytes, cu_device device))                                                       \
	X(device_pci, cuDeviceGetPCIBusId, REQUIRED, cu_result,                                    \
	  (char *id, int size, cu_device device))                                                  \
	X(device_uuid, cuDeviceGetUuid, REQUIRED, cu_result, (cu_uuid *uuid, cu_device device))    \
	X(device_uuid_mig, cuDeviceGetUuid_v2, OPTIONAL, cu_result,                                \
	  (cu_uuid *uuid, cu_device device))                                                       \
	X(context_retain, cuDevicePrimaryCtxRetain, REQUIRED, cu_result,                           \
	  (cu_context *context, cu_device device))                                                 \
	X(context_release, cuDevicePrimaryCtxRelease_v2, REQUIRED, cu_result, (cu_device device))  \
	X(context_set, cuCtxSetCurrent, REQUIRED, cu_result, (cu_context context))                 \
	X(context_get, cuCtxGetCurrent, REQUIRED, cu_result, (cu_context *context))                \
	X(context_sync, cuCtxSynchronize, REQUIRED, cu_result, (void))                             \
	X(alloc, cuMemAlloc_v2, REQUIRED, cu_result, (cu_ptr *at, size_t bytes))                   \
	X(free, cuMemFree_v2, REQUIRED, cu_result, (cu_ptr at))                                    \
	X(memory_info, cuMemGetInfo_v2, REQUIRED, cu_result, (size_t *free, size_t *total))        \
	X(host_alloc, cuMemHostAlloc, REQUIRED, cu_result,                                         \
	  (void **at, size_t bytes, unsigned flags))                                               \
	X(host_free, cuMemFreeHost, REQUIRED, cu_result, (void *at))                               \
	X(host_device_ptr, cuMemHostGetDevicePointer_v2, REQUIRED, cu_result,                      \
	  (cu_ptr *at, void *host, unsigned flags))                                                \
	X(set8, cuMemsetD8Async, REQUIRED, cu_result,                                              \
	  (cu_ptr at, unsigned char value, size_t count, cu_stream stream))                        \
	X(set32, cuMemsetD32Async, REQUIRED, cu_result,                                            \
	  (cu_ptr at, unsigned value, size_t count, cu_stream stream))                             \
	X(copy_to_device, cuMemcpyHtoDAsync_v2, REQUIRED, cu_result,                               \
	  (cu_ptr to, const void *from, size_t bytes, cu_stream stream))                           \
	X(copy_to_host, cuMemcpyDtoHAsync_v2, REQUIRED, cu_result,                                 \
	  (void *to, cu_ptr from, size_t bytes, cu_stream stream))                                 \
	X(copy_on_device, cuMemcpyDtoDAsync_v2, REQUIRED, cu_result,                               \
	  (cu_ptr to, cu_ptr from, size_t bytes, cu_stream stream))                                \
	X(copy_peer, cuMemcpyPeerAsync, REQUIRED, cu_result,                                       \
	  (cu_ptr to, cu_context to_context, cu_ptr from, cu_context from_context, size_t bytes,   \
	   cu_stream stream))                                                                      \
	X(stream_create, cuStreamCreate, REQUIRED, cu_result,                                      \
	  (cu_stream *stream, unsigned flags))                                                     \
	X(stream_destroy, cuStreamDestroy_v2, REQUIRED, cu_result, (cu_stream stream))             \
	X(stream_sync, cuStreamSynchronize, REQUIRED, cu_result, (cu_stream stream))               \
	X(stream_query, cuStreamQuery, REQUIRED, cu_result, (cu_stream stream))                    \
	X(stream_wait, cuStreamWaitEvent, REQUIRED, cu_result,                                     \
	  (cu_stream stream, cu_event event, unsigned flags))                                      \
	X(event_create, cuEventCreate, REQUIRED, cu_result, (cu_event *event, unsigned flags))     \
	X(event_destroy, cuEventDestroy_v2, REQUIRED, cu_result, (cu_event event))                 \
	X(event_record, cuEventRecord, REQUIRED, cu_result, (cu_event event, cu_stream stream))    \
	X(event_query, cuEventQuery, REQUIRED, cu_result, (cu_event event))                        \
	X(event_sync, cuEventSynchronize, REQUIRED, cu_result, (cu_event event))                   \
	X(event_elapsed, cuEventElapsedTime, REQUIRED, cu_result,                                  \
	  (float *ms, cu_event begin, cu_event end))                                               \
	X(module_load, cuModuleLoadDataEx, REQUIRED, cu_result,                                    \
	  (cu_module *module, const void *image, unsigned count, cu_jit_option *options,           \
	   void **values))                                                                         \
	X(module_unload, cuModuleUnload, REQUIRED, cu_result, (cu_module module))                  \
	X(module_function, cuModuleGetFunction, REQUIRED, cu_result,                               \
	  (cu_function *function, cu_module module, const char *name))                             \
	X(launch, cuLaunchKernel, REQUIRED, cu_result,                                             \
	  (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                \
	   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,            \
	   cu_stream stream, void **arguments, void **extra))                                      \
	X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor, OPTIONAL, cu_result,             \
	  (int *blocks, cu_function function, int block_size, size_t shared_bytes))                \
	X(can_access_peer, cuDeviceCanAccessPeer, REQUIRED, cu_result,                             \
	  (int *can, cu_device device, cu_device peer))                                            \
	X(enable_peer, cuCtxEnablePeerAccess, REQUIRED, cu_result,                                 \
	  (cu_context peer, unsigned flags))                                                       \
	X(disable_peer, cuCtxDisablePeerAccess, REQUIRED, cu_result, (cu_context peer))            \
	X(p2p_attribute, cuDeviceGetP2PAttribute, OPTIONAL, cu_result,                             \
	  (int *value, cu_p2p_attribute attribute, cu_device from, cu_device to))

/* libnvidia-ml.so.1. Required is what every driver since 450 has and without
 * which no card can be named; newer forms stand beside the older they replace. */
#define NVML_SYMBOLS(X)                                                                            \
	X(init, nvmlInit_v2, REQUIRED, nvml_result, (void))                                        \
	X(shutdown, nvmlShutdown, REQUIRED, nvml_result, (void))                                   \
	X(error_string, nvmlErrorString, REQUIRED, const char *, (nvml_result code))               \
	X(driver_version, nvmlSystemGetDriverVersion, REQUIRED, nvml_result,                       \
	  (char *text, unsigned size))                                                             \
	X(nvml_version, nvmlSystemGetNVMLVersion, REQUIRED, nvml_result,                           \
	  (char *text, unsigned size))                                                             \
	X(cuda_version, nvmlSystemGetCudaDriverVersion_v2, OPTIONAL, nvml_result, (int *version))  \
	X(confidential, nvmlSystemGetConfComputeState, OPTIONAL, nvml_result,                      \
	  (nvml_confidential *state))                                                              \
	X(count, nvmlDeviceGetCount_v2, REQUIRED, nvml_result, (unsigned *count))                  \
	X(by_index, nvmlDeviceGetHandleByIndex_v2, REQUIRED, nvml_result,                          \
	  (unsigned index, nvml_device *device))                                                   \
	X(by_pci, nvmlDeviceGetHandleByPciBusId_v2, REQUIRED, nvml_result,                         \
	  (const char *id, nvml_device *device))                                                   \
	X(by_uuid, nvmlDeviceGetHandleByUUID, REQUIRED, nvml_result,                               \
	  (const char *uuid, nvml_device *device))                                                 \
	X(name, nvmlDeviceGetName, REQUIRED, nvml_result,                                          \
	  (nvml_device device, char *text, unsigned size))                                         \
	X(uuid, nvmlDeviceGetUUID, REQUIRED, nvml_result,                                          \
	  (nvml_device device, char *text, unsigned size))                                         \
	X(pci, nvmlDeviceGetPciInfo_v3, REQUIRED, nvml_result,                                     \
	  (nvml_device device, nvml_pci *pci))                                                     \
	X(serial, nvmlDeviceGetSerial, OPTIONAL, nvml_result,                                      \
	  (nvml_device device, char *text, unsigned size))                                         \
	X(vbios, nvmlDeviceGetVbiosVersion, OPTIONAL, nvml_result,                                 \
	  (nvml_device device, char *text, unsigned size))                                         \
	X(minor, nvmlDeviceGetMinorNumber, OPTIONAL, nvml_result,                                  \
	  (nvml_device device, unsigned *minor))                                                   \
	X(gsp_version, nvmlDeviceGetGspFirmwareVersion, OPTIONAL, nvml_result,                     \
	  (nvml_device device, char *text))                                                        \
	X(capability, nvmlDeviceGetCudaComputeCapability, OPTIONAL, nvml_result,                   \
	  (nvml_device device, int *major, int *minor))                                            \
	X(cores, nvmlDeviceGetNumGpuCores, OPTIONAL, nvml_result,                                  \
	  (nvml_device device, unsigned *cores))                                                   \
	X(bus_width, nvmlDeviceGetMemoryBusWidth, OPTIONAL, nvml_result,                           \
	  (nvml_device device, unsigned *bits))                                                    \
	X(memory, nvmlDeviceGetMemoryInfo, REQUIRED, nvml_result,                                  \
	  (nvml_device device, nvml_memory *memory))                                               \
	X(memory_v2, nvmlDeviceGetMemoryInfo_v2, OPTIONAL, nvml_result,                            \
	  (nvml_device device, nvml_memory_v2 *memory))                                            \
	X(clock, nvmlDeviceGetClockInfo, REQUIRED, nvml_result,                                    \
	  (nvml_device device, nvml_clock_kind clock, unsigned *mhz))                              \
	X(max_clock, nvmlDeviceGetMaxClockInfo, OPTIONAL, nvml_result,                             \
	  (nvml_device device, nvml_clock_kind clock, unsigned *mhz))                              \
	X(power, nvmlDeviceGetPowerUsage, OPTIONAL, nvml_result,                                   \
	  (nvml_device device, unsigned *milliwatts))                                              \
	X(power_limit, nvmlDeviceGetEnforcedPowerLimit, OPTIONAL, nvml_result,                     \
	  (nvml_device device, unsigned *milliwatts))                                              \
	X(power_default, nvmlDeviceGetPowerManagementDefaultLimit, OPTIONAL, nvml_result,          \
	  (nvml_device device, unsigned *milliwatts))                                              \
	X(power_range, nvmlDeviceGetPowerManagementLimitConstraints, OPTIONAL, nvml_result,        \
	  (nvml_device device, unsigned *min_mw, unsigned *max_mw))                                \
	X(energy, nvmlDeviceGetTotalEnergyConsumption, OPTIONAL, nvml_result,                      \
	  (nvml_device device, unsigned long long *millijoules))                                   \
	X(performance_state, nvmlDeviceGetPerformanceState, OPTIONAL, nvml_result,                 \
	  (nvml_device device, nvml_pstate *state))                                                \
	X(utilization, nvmlDeviceGetUtilizationRates, OPTIONAL, nvml_result,                       \
	  (nvml_device device, nvml_utilization *rates))                                           \
	X(temperature, nvmlDeviceGetTemperature, OPTIONAL, nvml_result,                            \
	  (nvml_device device, nvml_sensor sensor, unsigned *celsius))                             \
	X(temperature_v, nvmlDeviceGetTemperatureV, OPTIONAL, nvml_result,                         \
	  (nvml_device device, nvml_temperature *temperature))                                     \
	X(temperature_limit, nvmlDeviceGetTemperatureThreshold, OPTIONAL, nvml_result,             \
	  (nvml_device device, nvml_threshold threshold, unsigned *celsius))                       \
	X(event_reasons, nvmlDeviceGetCurrentClocksEventReasons, OPTIONAL, nvml_result,            \
	  (nvml_device device, unsigned long long *mask))                                          \
	X(throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons, OPTIONAL, nvml_result,      \
	  (nvml_device device, unsigned long long *mask))                                          \
	X(violation, nvmlDeviceGetViolationStatus, OPTIONAL, nvml_result,                          \
	  (nvml_device device, nvml_policy policy, nvml_violation *time))                          \
	X(fields, nvmlDeviceGetFieldValues, OPTIONAL, nvml_result,                                 \
	  (nvml_device device, int count, nvml_field *values))                                     \
	X(ecc_mode, nvmlDeviceGetEccMode, OPTIONAL, nvml_result,                                   \
	  (nvml_device device, nvml_enable *current, nvml_enable *pending))                        \
	X(ecc_total, nvmlDeviceGetTotalEccErrors, OPTIONAL, nvml_result,                           \
	  (nvml_device device, nvml_ecc_kind kind, nvml_ecc_counter counter,                       \
	   unsigned long long *count))                                                             \
	X(ecc_at, nvmlDeviceGetMemoryErrorCounter, OPTIONAL, nvml_result,                          \
	  (nvml_device device, nvml_ecc_kind kind, nvml_ecc_counter counter,                       \
	   nvml_memory_place place, unsigned long long *count))                                    \
	X(sram_errors, nvmlDeviceGetSramEccErrorStatus, OPTIONAL, nvml_result,                     \
	  (nvml_device device, nvml_sram_errors *errors))                                          \
	X(retired_pages, nvmlDeviceGetRetiredPages_v2, OPTIONAL, nvml_result,                      \
	  (nvml_device device, nvml_retire_cause cause, unsigned *count,                           \
	   unsigned long long *addresses, unsigned long long *timestamps))                         \
	X(retired_pending, nvmlDeviceGetRetiredPagesPendingStatus, OPTIONAL, nvml_result,          \
	  (nvml_device device, nvml_enable *pending))                                              \
	X(remapped_rows, nvmlDeviceGetRemappedRows, OPTIONAL, nvml_result,                         \
	  (nvml_device device, unsigned *corrected, unsigned *uncorrected, unsigned *pending,      \
	   unsigned *failed))                                                                      \
	X(remap_histogram, nvmlDeviceGetRowRemapperHistogram, OPTIONAL, nvml_result,               \
	  (nvml_device device, nvml_remap_histogram *banks))                                       \
	X(pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration, OPTIONAL, nvml_result,             \
	  (nvml_device device, unsigned *generation))                                              \
	X(pcie_width, nvmlDeviceGetCurrPcieLinkWidth, OPTIONAL, nvml_result,                       \
	  (nvml_device device, unsigned *lanes))                                                   \
	X(pcie_max_generation, nvmlDeviceGetMaxPcieLinkGeneration, OPTIONAL, nvml_result,          \
	  (nvml_device device, unsigned *generation))                                              \
	X(pcie_max_width, nvmlDeviceGetMaxPcieLinkWidth, OPTIONAL, nvml_result,                    \
	  (nvml_device device, unsigned *lanes))                                                   \
	X(pcie_card_generation, nvmlDeviceGetGpuMaxPcieLinkGeneration, OPTIONAL, nvml_result,      \
	  (nvml_device device, unsigned *generation))                                              \
	X(pcie_replays, nvmlDeviceGetPcieReplayCounter, OPTIONAL, nvml_result,                     \
	  (nvml_device device, unsigned *count))                                                   \
	X(pcie_throughput, nvmlDeviceGetPcieThroughput, OPTIONAL, nvml_result,                     \
	  (nvml_device device, nvml_pcie_way way, unsigned *kb_per_s))                             \
	X(link_state, nvmlDeviceGetNvLinkState, OPTIONAL, nvml_result,                             \
	  (nvml_device device, unsigned link, nvml_enable *state))                                 \
	X(link_version, nvmlDeviceGetNvLinkVersion, OPTIONAL, nvml_result,                         \
	  (nvml_device device, unsigned link, unsigned *version))                                  \
	X(link_errors, nvmlDeviceGetNvLinkErrorCounter, OPTIONAL, nvml_result,                     \
	  (nvml_device device, unsigned link, nvml_link_error kind, unsigned long long *count))    \
	X(link_remote, nvmlDeviceGetNvLinkRemotePciInfo_v2, OPTIONAL, nvml_result,                 \
	  (nvml_device device, unsigned link, nvml_pci *pci))                                      \
	X(link_remote_type, nvmlDeviceGetNvLinkRemoteDeviceType, OPTIONAL, nvml_result,            \
	  (nvml_device device, unsigned link, nvml_link_peer *peer))                               \
	X(p2p_status, nvmlDeviceGetP2PStatus, OPTIONAL, nvml_result,                               \
	  (nvml_device device, nvml_device peer, nvml_p2p_kind kind, nvml_p2p_status *status))     \
	X(common_ancestor, nvmlDeviceGetTopologyCommonAncestor, OPTIONAL, nvml_result,             \
	  (nvml_device device, nvml_device peer, nvml_topology_level *level))                      \
	X(fabric, nvmlDeviceGetGpuFabricInfoV, OPTIONAL, nvml_result,                              \
	  (nvml_device device, nvml_fabric *fabric))                                               \
	X(fabric_v1, nvmlDeviceGetGpuFabricInfo, OPTIONAL, nvml_result,                            \
	  (nvml_device device, nvml_fabric_v1 *fabric))                                            \
	X(virtualization, nvmlDeviceGetVirtualizationMode, OPTIONAL, nvml_result,                  \
	  (nvml_device device, nvml_virtual_mode *mode))                                           \
	X(mig_mode, nvmlDeviceGetMigMode, OPTIONAL, nvml_result,                                   \
	  (nvml_device device, unsigned *current, unsigned *pending))                              \
	X(mig_max, nvmlDeviceGetMaxMigDeviceCount, OPTIONAL, nvml_result,                          \
	  (nvml_device device, unsigned *count))                                                   \
	X(mig_by_index, nvmlDeviceGetMigDeviceHandleByIndex, OPTIONAL, nvml_result,                \
	  (nvml_device device, unsigned index, nvml_device *mig))                                  \
	X(compute_mode, nvmlDeviceGetComputeMode, OPTIONAL, nvml_result,                           \
	  (nvml_device device, nvml_compute_mode *mode))                                           \
	X(persistence, nvmlDeviceGetPersistenceMode, OPTIONAL, nvml_result,                        \
	  (nvml_device device, nvml_enable *mode))                                                 \
	X(processes_v3, nvmlDeviceGetComputeRunningProcesses_v3, OPTIONAL, nvml_result,            \
	  (nvml_device device, unsigned *count, nvml_process *entries))                            \
	X(processes_v2, nvmlDeviceGetComputeRunningProcesses_v2, OPTIONAL, nvml_result,            \
	  (nvml_device device, unsigned *count, nvml_process *entries))                            \
	X(processes_v1, nvmlDeviceGetComputeRunningProcesses, OPTIONAL, nvml_result,               \
	  (nvml_device device, unsigned *count, nvml_process_v1 *entries))                         \
	X(event_set_create, nvmlEventSetCreate, OPTIONAL, nvml_result, (nvml_event_set *set))      \
	X(event_set_free, nvmlEventSetFree, OPTIONAL, nvml_result, (nvml_event_set set))           \
	X(event_register, nvmlDeviceRegisterEvents, OPTIONAL, nvml_result,                         \
	  (nvml_device device, unsigned long long types, nvml_event_set set))                      \
	X(event_wait, nvmlEventSetWait_v2, OPTIONAL, nvml_result,                                  \
	  (nvml_event_set set, nvml_event *event, unsigned timeout_ms))

/* libcublas.so.11 and later. */
#define CUBLAS_SYMBOLS(X)                                                                          \
	X(create, cublasCreate_v2, REQUIRED, cublas_status, (cublas_handle *handle))               \
	X(destroy, cublasDestroy_v2, REQUIRED, cublas_status, (cublas_handle handle))              \
	X(set_stream, cublasSetStream_v2, REQUIRED, cublas_status,                                 \
	  (cublas_handle handle, cu_stream stream))                                                \
	X(set_workspace, cublasSetWorkspace_v2, OPTIONAL, cublas_status,                           \
	  (cublas_handle handle, void *workspace, size_t bytes))                                   \
	X(set_math, cublasSetMathMode, REQUIRED, cublas_status,                                    \
	  (cublas_handle handle, cublas_math mode))                                                \
	X(property, cublasGetProperty, REQUIRED, cublas_status,                                    \
	  (cublas_property property, int *value))                                                  \
	X(gemm, cublasGemmEx, REQUIRED, cublas_status,                                             \
	  (cublas_handle handle, cublas_operation trans_a, cublas_operation trans_b, int m, int n, \
	   int k, const void *alpha, const void *a, cuda_type type_a, int lda, const void *b,      \
	   cuda_type type_b, int ldb, const void *beta, void *c, cuda_type type_c, int ldc,        \
	   cublas_compute compute, cublas_algo algo))                                              \
	X(status_string, cublasGetStatusString, OPTIONAL, const char *, (cublas_status status))

/* libcublasLt.so.11 and later: FP8, which cublasGemmEx does not take. */
#define CUBLASLT_SYMBOLS(X)                                                                        \
	X(create, cublasLtCreate, REQUIRED, cublas_status, (cublaslt_handle *handle))              \
	X(destroy, cublasLtDestroy, REQUIRED, cublas_status, (cublaslt_handle handle))             \
	X(property, cublasLtGetProperty, REQUIRED, cublas_status,                                  \
	  (cublas_property property, int *value))                                                  \
	X(desc_create, cublasLtMatmulDescCreate, REQUIRED, cublas_status,                          \
	  (cublaslt_desc *desc, cublas_compute compute, cuda_type scale))                          \
	X(desc_destroy, cublasLtMatmulDescDestroy, REQUIRED, cublas_status, (cublaslt_desc desc))  \
	X(desc_set, cublasLtMatmulDescSetAttribute, REQUIRED, cublas_status,                       \
	  (cublaslt_desc desc, cublaslt_desc_attr attribute, const void *value, size_t bytes))     \
	X(layout_create, cublasLtMatrixLayoutCreate, REQUIRED, cublas_status,                      \
	  (cublaslt_layout *layout, cuda_type type, uint64_t rows, uint64_t columns, int64_t ld))  \
	X(layout_destroy, cublasLtMatrixLayoutDestroy, REQUIRED, cublas_status,                    \
	  (cublaslt_layout layout))                                                                \
	X(pref_create, cublasLtMatmulPreferenceCreate, REQUIRED, cublas_status,                    \
	  (cublaslt_pref *preference))                                                             \
	X(pref_destroy, cublasLtMatmulPreferenceDestroy, REQUIRED, cublas_status,                  \
	  (cublaslt_pref preference))                                                              \
	X(pref_set, cublasLtMatmulPreferenceSetAttribute, REQUIRED, cublas_status,                 \
	  (cublaslt_pref preference, cublaslt_pref_attr attribute, const void *value,              \
	   size_t bytes))                                                                          \
	X(heuristic, cublasLtMatmulAlgoGetHeuristic, REQUIRED, cublas_status,                      \
	  (cublaslt_handle handle, cublaslt_desc desc, cublaslt_layout a, cublaslt_layout b,       \
	   cublaslt_layout c, cublaslt_layout d, cublaslt_pref preference, int wanted,             \
	   cublaslt_choice *choices, int *found))                                                  \
	X(matmul, cublasLtMatmul, REQUIRED, cublas_status,                                         \
	  (cublaslt_handle handle, cublaslt_desc desc, const void *alpha, const void *a,           \
	   cublaslt_layout layout_a, const void *b, cublaslt_layout layout_b, const void *beta,    \
	   const void *c, cublaslt_layout layout_c, void *d, cublaslt_layout layout_d,             \
	   const cublaslt_algo *algo, void *workspace, size_t workspace_bytes, cu_stream stream))

/* libnccl.so.2 from 2.14 on. */
#define NCCL_SYMBOLS(X)                                                                            \
	X(get_version, ncclGetVersion, REQUIRED, nccl_result, (int *version))                      \
	X(unique_id, ncclGetUniqueId, REQUIRED, nccl_result, (nccl_id *id))                        \
	X(init_rank, ncclCommInitRankConfig, REQUIRED, nccl_result,                                \
	  (nccl_comm *comm, int ranks, nccl_id id, int rank, nccl_config *config))                 \
	X(finalize, ncclCommFinalize, REQUIRED, nccl_result, (nccl_comm comm))                     \
	X(destroy, ncclCommDestroy, REQUIRED, nccl_result, (nccl_comm comm))                       \
	X(abort, ncclCommAbort, REQUIRED, nccl_result, (nccl_comm comm))                           \
	X(async_error, ncclCommGetAsyncError, REQUIRED, nccl_result,                               \
	  (nccl_comm comm, nccl_result *error))                                                    \
	X(group_start, ncclGroupStart, REQUIRED, nccl_result, (void))                              \
	X(group_end, ncclGroupEnd, REQUIRED, nccl_result, (void))                                  \
	X(all_reduce, ncclAllReduce, REQUIRED, nccl_result,                                        \
	  (const void *from, void *to, size_t count, nccl_type type, nccl_operation operation,     \
	   nccl_comm comm, cu_stream stream))                                                      \
	X(all_gather, ncclAllGather, REQUIRED, nccl_result,                                        \
	  (const void *from, void *to, size_t count, nccl_type type, nccl_comm comm,               \
	   cu_stream stream))                                                                      \
	X(reduce_scatter, ncclReduceScatter, REQUIRED, nccl_result,                                \
	  (const void *from, void *to, size_t count, nccl_type type, nccl_operation operation,     \
	   nccl_comm comm, cu_stream stream))                                                      \
	X(broadcast, ncclBroadcast, REQUIRED, nccl_result,                                         \
	  (const void *from, void *to, size_t count, nccl_type type, int root, nccl_comm comm,     \
	   cu_stream stream))                                                                      \
	X(send, ncclSend, REQUIRED, nccl_result,                                                   \
	  (const void *from, size_t count, nccl_type type, int peer, nccl_comm comm,               \
	   cu_stream stream))                                                                      \
	X(recv, ncclRecv, REQUIRED, nccl_result,                                                   \
	  (void *to, size_t count, nccl_type type, int peer, nccl_comm comm, cu_stream stream))    \
	X(error_string, ncclGetErrorString, REQUIRED, const char *, (nccl_result result))          \
	X(last_error, ncclGetLastError, REQUIRED, const char *, (nccl_comm comm))

/* clang-format on */

/* The function pointers of a library in the order of its rows. */
#define GPU_CALL(slot, symbol, need, result, params) result(*slot) params;
struct cuda_calls {
	CUDA_SYMBOLS(GPU_CALL)
};
struct nvml_calls {
	NVML_SYMBOLS(GPU_CALL)
};
struct cublas_calls {
	CUBLAS_SYMBOLS(GPU_CALL)
};
struct cublaslt_calls {
	CUBLASLT_SYMBOLS(GPU_CALL)
};
struct nccl_calls {
	NCCL_SYMBOLS(GPU_CALL)
};
#undef GPU_CALL

#endif
