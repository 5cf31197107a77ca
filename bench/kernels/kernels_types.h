/* What kernels and probes share: structures written by kernels, with fixed
 * widths and no padding, and the words for kinds. */
#ifndef ASSAY_KERNELS_TYPES_H
#define ASSAY_KERNELS_TYPES_H

#include <stdint.h>

/* nvcc's uint64_t is unsigned long, as gcc's here; atomics want long long. */
typedef unsigned long long u64;
typedef uint32_t u32;

struct __attribute__((aligned(16))) word2 {
	u64 x, y;
};

struct __attribute__((aligned(16))) double2s {
	double x, y;
};

/* Start: bad 0, first UINT64_MAX, bits 0. */
struct kernel_check {
	u64 bad;   /* words or elements that are not right */
	u64 first; /* lowest index of them */
	u64 bits;  /* every bit that was wrong in any (8-byte words) */
};

struct kernel_span {
	u64 cycles; /* of the SM clock */
	u64 ns;     /* of the card's global timer, whose step may be 1 us */
	u64 value;
};

/* One block of assay_gaps. */
struct kernel_gaps {
	u64 sm;
	u64 start_ns; /* global timer: the same on all SMs of a card */
	u64 span_ns, span_cycles;
	u64 gaps; /* all that were longer than the threshold */
	u64 gap_cycles, longest_cycles;
	u64 reads; /* of the clock: span_cycles / reads is the resolution */
};

struct kernel_gap {
	u64 at_ns, cycles;
};

enum kernel_pattern {
	PATTERN_ADDRESS,  /* base + 8 i */
	PATTERN_WALKING,  /* one bit: 1 << ((i + seed) mod 64) */
	PATTERN_RANDOM,   /* hash of (seed, i) */
	PATTERN_CONSTANT, /* seed */
};

enum kernel_type {
	KERNEL_FP64,
	KERNEL_FP32,
	KERNEL_FP16,
	KERNEL_BF16,
	KERNEL_E4M3,
};

#define KERNEL_FMA_CHAINS 8

#endif
