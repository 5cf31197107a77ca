/* What Assay calls of NVIDIA's libraries, in declarations of its own: nothing
 * of a vendor is needed to build. Types and values are here, the functions are
 * rows in hw/gpu_symbols.h. A test holds all of it against the real headers
 * where a toolkit is installed.
 *
 * A type that a row names is a typedef, structs too, so that the test can put
 * NVIDIA's type in its place. Enumerations are ints: libraries newer than this
 * file answer with values it does not know.
 *
 * To add a value: one row of its library's list, X(ours, NVIDIA's, value). */
#ifndef ASSAY_HW_GPU_ABI_H
#define ASSAY_HW_GPU_ABI_H

#include <stddef.h>
#include <stdint.h>

/* --- libcuda ----------------------------------------------------------------- */

typedef int cu_result;
typedef int cu_device;
typedef int cu_attribute;
typedef int cu_p2p_attribute;
typedef int cu_jit_option;
typedef unsigned long long cu_ptr;
typedef struct cu_context_body *cu_context;
typedef struct cu_stream_body *cu_stream; /* cudaStream_t is the same object */
typedef struct cu_event_body *cu_event;
typedef struct cu_module_body *cu_module;
typedef struct cu_function_body *cu_function;
typedef struct cu_uuid {
	char bytes[16];
} cu_uuid;

#define CUDA_VALUES(X)                                                                             \
	X(CU_OK, CUDA_SUCCESS, 0)                                                                  \
	X(CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, 1)                                           \
	X(CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, 2)                                           \
	X(CU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED, 3)                                       \
	X(CU_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED, 4)                                           \
	X(CU_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY, 34)                                            \
	X(CU_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                                \
	X(CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE, 100)                                                 \
	X(CU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE, 101)                                       \
	X(CU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE, 200)                                         \
	X(CU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT, 201)                                     \
	X(CU_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                 \
	X(CU_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE, 214)                                 \
	X(CU_PEER_UNSUPPORTED, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217)                            \
	X(CU_INVALID_PTX, CUDA_ERROR_INVALID_PTX, 218)                                             \
	X(CU_NVLINK_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE, 220)                           \
	X(CU_JIT_COMPILER_NOT_FOUND, CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221)                       \
	X(CU_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                                 \
	X(CU_JIT_DISABLED, CUDA_ERROR_JIT_COMPILATION_DISABLED, 223)                               \
	X(CU_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE, 400)                                       \
	X(CU_NOT_FOUND, CUDA_ERROR_NOT_FOUND, 500)                                                 \
	X(CU_NOT_READY, CUDA_ERROR_NOT_READY, 600)                                                 \
	X(CU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                     \
	X(CU_LAUNCH_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                            \
	X(CU_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                       \
	X(CU_PEER_ALREADY, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704)                            \
	X(CU_PEER_NOT_ENABLED, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705)                            \
	X(CU_CONTEXT_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                              \
	X(CU_TOO_MANY_PEERS, CUDA_ERROR_TOO_MANY_PEERS, 711)                                       \
	X(CU_HARDWARE_STACK, CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                                 \
	X(CU_ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                             \
	X(CU_MISALIGNED_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS, 716)                               \
	X(CU_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                         \
	X(CU_INVALID_PC, CUDA_ERROR_INVALID_PC, 718)                                               \
	X(CU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED, 719)                                         \
	X(CU_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED, 800)                                         \
	X(CU_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED, 801)                                         \
	X(CU_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_NOT_READY, 802)                                   \
	X(CU_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)                              \
	X(CU_COMPAT_UNSUPPORTED, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804)                   \
	X(CU_MPS_CONNECTION, CUDA_ERROR_MPS_CONNECTION_FAILED, 805)                                \
	X(CU_UNKNOWN, CUDA_ERROR_UNKNOWN, 999)                                                     \
	X(CU_ATTR_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                 \
	X(CU_ATTR_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                   \
	X(CU_ATTR_SM_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                          \
	X(CU_ATTR_KERNEL_TIMEOUT, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 17)                     \
	X(CU_ATTR_INTEGRATED, CU_DEVICE_ATTRIBUTE_INTEGRATED, 18)                                  \
	X(CU_ATTR_COMPUTE_MODE, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20)                              \
	X(CU_ATTR_ECC, CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 32)                                        \
	X(CU_ATTR_PCI_BUS, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33)                                     \
	X(CU_ATTR_PCI_DEVICE, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 34)                               \
	X(CU_ATTR_MEMORY_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)                     \
	X(CU_ATTR_BUS_WIDTH, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)                      \
	X(CU_ATTR_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                 \
	X(CU_ATTR_THREADS_PER_SM, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)          \
	X(CU_ATTR_COPY_ENGINES, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 40)                        \
	X(CU_ATTR_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41)                  \
	X(CU_ATTR_PCI_DOMAIN, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 50)                               \
	X(CU_ATTR_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                         \
	X(CU_ATTR_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                         \
	X(CU_P2P_RANK, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 1)                                \
	X(CU_P2P_ACCESS, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 2)                              \
	X(CU_P2P_ATOMICS, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 3)                      \
	X(CU_STREAM_INDEPENDENT, CU_STREAM_NON_BLOCKING, 1)                                        \
	X(CU_EVENT_TIMED, CU_EVENT_DEFAULT, 0)                                                     \
	X(CU_EVENT_UNTIMED, CU_EVENT_DISABLE_TIMING, 2)                                            \
	X(CU_HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE, 1)                                           \
	X(CU_HOST_MAPPED, CU_MEMHOSTALLOC_DEVICEMAP, 2)                                            \
	X(CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER, 5)                                            \
	X(CU_JIT_ERROR_LOG_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)

/* --- libcublas, libcublasLt ---------------------------------------------------- */

typedef int cublas_status;
typedef int cublas_operation;
typedef int cublas_compute;
typedef int cublas_algo;
typedef int cublas_math;
typedef int cublas_property;
typedef int cuda_type;
typedef struct cublas_body *cublas_handle;

typedef int cublaslt_desc_attr;
typedef int cublaslt_layout_attr;
typedef int cublaslt_pref_attr;
typedef struct cublaslt_body *cublaslt_handle;
typedef struct cublaslt_desc_body *cublaslt_desc;
typedef struct cublaslt_layout_body *cublaslt_layout;
typedef struct cublaslt_pref_body *cublaslt_pref;
typedef struct cublaslt_algo {
	uint64_t data[8];
} cublaslt_algo;
typedef struct cublaslt_choice {
	cublaslt_algo algo;
	size_t workspace;
	cublas_status state; /* the rest holds only when this is CUBLAS_OK */
	float waves;
	int reserved[4];
} cublaslt_choice;

#define CUBLAS_VALUES(X)                                                                           \
	X(CUBLAS_OK, CUBLAS_STATUS_SUCCESS, 0)                                                     \
	X(CUBLAS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED, 1)                                \
	X(CUBLAS_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED, 3)                                      \
	X(CUBLAS_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE, 7)                                    \
	X(CUBLAS_ARCH_MISMATCH, CUBLAS_STATUS_ARCH_MISMATCH, 8)                                    \
	X(CUBLAS_MAPPING_ERROR, CUBLAS_STATUS_MAPPING_ERROR, 11)                                   \
	X(CUBLAS_EXECUTION_FAILED, CUBLAS_STATUS_EXECUTION_FAILED, 13)                             \
	X(CUBLAS_INTERNAL_ERROR, CUBLAS_STATUS_INTERNAL_ERROR, 14)                                 \
	X(CUBLAS_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED, 15)                                   \
	X(CUBLAS_NO_TRANSPOSE, CUBLAS_OP_N, 0)                                                     \
	X(CUBLAS_TRANSPOSE, CUBLAS_OP_T, 1)                                                        \
	X(CUBLAS_MATH_DEFAULT, CUBLAS_DEFAULT_MATH, 0)                                             \
	X(CUBLAS_MATH_PEDANTIC, CUBLAS_PEDANTIC_MATH, 2)                                           \
	X(CUBLAS_COMPUTE_FP16, CUBLAS_COMPUTE_16F, 64)                                             \
	X(CUBLAS_COMPUTE_FP32, CUBLAS_COMPUTE_32F, 68)                                             \
	X(CUBLAS_COMPUTE_FP32_PEDANTIC, CUBLAS_COMPUTE_32F_PEDANTIC, 69)                           \
	X(CUBLAS_COMPUTE_FP64, CUBLAS_COMPUTE_64F, 70)                                             \
	X(CUBLAS_COMPUTE_FP64_PEDANTIC, CUBLAS_COMPUTE_64F_PEDANTIC, 71)                           \
	X(CUBLAS_COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32, 77)                                   \
	X(CUBLAS_ALGO_DEFAULT, CUBLAS_GEMM_DEFAULT, -1)                                            \
	X(CUBLAS_PROPERTY_MAJOR, MAJOR_VERSION, 0)                                                 \
	X(CUBLAS_PROPERTY_MINOR, MINOR_VERSION, 1)                                                 \
	X(CUBLAS_PROPERTY_PATCH, PATCH_LEVEL, 2)                                                   \
	X(CUDA_FP32, CUDA_R_32F, 0)                                                                \
	X(CUDA_FP64, CUDA_R_64F, 1)                                                                \
	X(CUDA_FP16, CUDA_R_16F, 2)                                                                \
	X(CUDA_BF16, CUDA_R_16BF, 14)                                                              \
	X(CUDA_FP8_E4M3, CUDA_R_8F_E4M3, 28)                                                       \
	X(CUDA_FP8_E5M2, CUDA_R_8F_E5M2, 29)

#define CUBLASLT_VALUES(X)                                                                         \
	X(CUBLASLT_TRANS_A, CUBLASLT_MATMUL_DESC_TRANSA, 3)                                        \
	X(CUBLASLT_TRANS_B, CUBLASLT_MATMUL_DESC_TRANSB, 4)                                        \
	X(CUBLASLT_FAST_ACCUMULATION, CUBLASLT_MATMUL_DESC_FAST_ACCUM, 25)                         \
	X(CUBLASLT_MAX_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)

/* --- libnccl --------------------------------------------------------------------- */

typedef int nccl_result;
typedef int nccl_type;
typedef int nccl_operation;
typedef struct nccl_comm_body *nccl_comm;
/* Passed by value. */
typedef struct nccl_id {
	char bytes[128];
} nccl_id;
/* The oldest layout: a library copies the smaller of this size and its own and
 * takes defaults for the rest, so it serves every NCCL from 2.14 on. */
typedef struct nccl_config {
	size_t size; /* NCCL_CONFIG_SIZE */
	unsigned int magic, version;
	int blocking;
} nccl_config;

#define NCCL_CONFIG_SIZE    24
#define NCCL_CONFIG_MAGIC   0xcafebeefU
#define NCCL_CONFIG_VERSION 21400U

#define NCCL_VALUES(X)                                                                             \
	X(NCCL_OK, ncclSuccess, 0)                                                                 \
	X(NCCL_UNHANDLED_CUDA_ERROR, ncclUnhandledCudaError, 1)                                    \
	X(NCCL_SYSTEM_ERROR, ncclSystemError, 2)                                                   \
	X(NCCL_INTERNAL_ERROR, ncclInternalError, 3)                                               \
	X(NCCL_INVALID_ARGUMENT, ncclInvalidArgument, 4)                                           \
	X(NCCL_INVALID_USAGE, ncclInvalidUsage, 5)                                                 \
	X(NCCL_REMOTE_ERROR, ncclRemoteError, 6)                                                   \
	X(NCCL_IN_PROGRESS, ncclInProgress, 7)                                                     \
	X(NCCL_SUM, ncclSum, 0)                                                                    \
	X(NCCL_MAX, ncclMax, 2)                                                                    \
	X(NCCL_MIN, ncclMin, 3)                                                                    \
	X(NCCL_UINT8, ncclUint8, 1)                                                                \
	X(NCCL_INT32, ncclInt32, 2)                                                                \
	X(NCCL_UINT32, ncclUint32, 3)                                                              \
	X(NCCL_INT64, ncclInt64, 4)                                                                \
	X(NCCL_UINT64, ncclUint64, 5)                                                              \
	X(NCCL_FP16, ncclFloat16, 6)                                                               \
	X(NCCL_FP32, ncclFloat32, 7)                                                               \
	X(NCCL_FP64, ncclFloat64, 8)                                                               \
	X(NCCL_BF16, ncclBfloat16, 9)

#define X(ours, theirs, value) ours = value,
enum cuda_value { CUDA_VALUES(X) };
enum cublas_value { CUBLAS_VALUES(X) CUBLASLT_VALUES(X) };
enum nccl_value { NCCL_VALUES(X) };
#undef X

/* What a stand-in exports beside its functions: const char *, a word on what
 * it is. A real library has no such symbol. */
#define GPU_STANDIN_SYMBOL "assay_standin"

#include "hw/nvml_abi.h"
#include "hw/gpu_symbols.h"

#endif
