/* The few words in which nvcc and the C compiler differ. On the host a kernel
 * is called once for a whole grid, or once a block, by the stand-in, which
 * provides the thread's place (struct standin_place) and models the time. */
#ifndef ASSAY_KERNELS_TARGET_H
#define ASSAY_KERNELS_TARGET_H

#include "kernels/kernels.h"

#ifdef __CUDACC__

#define KERNEL   extern "C" __global__ void
#define DEVICE   static __device__ __forceinline__
#define UNROLLED _Pragma("unroll")

DEVICE u64 global_thread(void)
{
	return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}
DEVICE u64 global_threads(void)
{
	return (u64)gridDim.x * blockDim.x;
}
DEVICE u64 block(void)
{
	return blockIdx.x;
}
DEVICE u32 block_thread(void)
{
	return threadIdx.x;
}
DEVICE void add_u64(u64 *where, u64 value)
{
	atomicAdd(where, value);
}
DEVICE void min_u64(u64 *where, u64 value)
{
	atomicMin(where, value);
}
DEVICE void or_u64(u64 *where, u64 value)
{
	atomicOr(where, value);
}
/* One atomic a block: one a thread would cost as much as the reading. */
DEVICE void add_from_block(u64 *where, u64 value)
{
	__shared__ u64 part[32];

	for (u32 step = 16; step; step /= 2)
		value += __shfl_down_sync(0xffffffffu, value, step);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = value;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (u32 warp = 1; warp < (blockDim.x + 31) / 32; warp++)
			value += part[warp];
		atomicAdd(where, value);
	}
}
DEVICE u64 double_bits(double value)
{
	return (u64)__double_as_longlong(value);
}
DEVICE u32 float_bits(float value)
{
	return __float_as_uint(value);
}
DEVICE u64 global_ns(void)
{
	u64 ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
	return ns;
}
DEVICE u64 sm_cycles(void)
{
	u64 cycles;

	asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
	return cycles;
}
DEVICE u32 sm_id(void)
{
	u32 id;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
	return id;
}
/* Past the L1, which would hold a small ring. */
DEVICE u64 uncached(const u64 *where)
{
	u64 value;

	asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(where) : "memory");
	return value;
}
DEVICE void system_fence(void)
{
	__threadfence_system();
}
#define FMA32(x, a, b) __fmaf_rn(x, a, b)
#define FMA64(x, a, b) __fma_rn(x, a, b)

#else

#include <math.h>
#include <string.h>

#define KERNEL void
#define DEVICE static inline
#define UNROLLED

/* Set by the stand-in before the call. */
struct standin_place {
	u64 block, thread, threads;
	u64 cycles, ns; /* of the clocks, which stand still in a kernel */
	u32 sm;
};
extern _Thread_local struct standin_place standin_place;

DEVICE u64 global_thread(void)
{
	return standin_place.thread;
}
DEVICE u64 global_threads(void)
{
	return standin_place.threads;
}
DEVICE u64 block(void)
{
	return standin_place.block;
}
DEVICE u32 block_thread(void)
{
	return 0;
}
DEVICE void add_u64(u64 *where, u64 value)
{
	*where += value;
}
DEVICE void min_u64(u64 *where, u64 value)
{
	if (value < *where)
		*where = value;
}
DEVICE void or_u64(u64 *where, u64 value)
{
	*where |= value;
}
DEVICE void add_from_block(u64 *where, u64 value)
{
	*where += value;
}
DEVICE u64 double_bits(double value)
{
	u64 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}
DEVICE u32 float_bits(float value)
{
	u32 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}
DEVICE u64 global_ns(void)
{
	return standin_place.ns;
}
DEVICE u64 sm_cycles(void)
{
	return standin_place.cycles;
}
DEVICE u32 sm_id(void)
{
	return standin_place.sm;
}
DEVICE u64 uncached(const u64 *where)
{
	return *where;
}
DEVICE void system_fence(void) {}
#define FMA32(x, a, b) fmaf(x, a, b)
#define FMA64(x, a, b) fma(x, a, b)

#define KERNEL_DECLARE(name, parameters) void name parameters;
KERNEL_LIST(KERNEL_DECLARE)
#undef KERNEL_DECLARE

#endif
#endif
