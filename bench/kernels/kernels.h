/* The device code: names, parameters and launch shapes of every kernel in
 * kernels.c, and the structures kernels write. Read by the probes and, through
 * kernels.c, by nvcc and by the C compiler of the stand-in libcuda.
 *
 * All names begin with assay_. Launch shapes:
 *   wide    any grid; every thread takes its share in a grid-stride loop.
 *           KERNEL_BLOCKS_PER_SM x SMs blocks of KERNEL_THREADS fill a card.
 *   single  one block of one thread.
 *   spread  as many blocks of one thread as wanted; each reports its SM.
 * Buffers are aligned to 16 bytes. Counters are not cleared by the kernels:
 * set them to zero, or what the structure says, before. */
#ifndef ASSAY_KERNELS_H
#define ASSAY_KERNELS_H

#include "kernels/kernels_types.h"

#define KERNEL_THREADS       256
#define KERNEL_BLOCKS_PER_SM 8

/* KERNEL(name, parameters): the X-macro row of every kernel.
 *
 * Bandwidth (wide; n counts 16-byte units, traffic is 16 n bytes per buffer)
 *   assay_read   *sum += all 64-bit words of src, modulo 2^64
 *   assay_write  64-bit word i of dst = base + i
 *   assay_copy   dst = src; peers: the SM copy, push (dst remote) or pull
 *   assay_copy_both  warps of even number copy a, of odd number b: an SM copy
 *                both ways at once; launch at least two warps
 *   assay_triad  a = b + scalar * c, n counts pairs of doubles
 *   assay_ramp   p[i] = i mod `modulus`, n counts doubles
 *   assay_triad_check  counts a[i] != i mod mod_b + scalar * (i mod mod_c)
 *
 * Memory (wide; n counts 64-bit words)
 *   assay_pattern_write, assay_pattern_check: the pattern `kind` (enum
 *                kernel_pattern) or, with invert = ~0, its complement. base: value
 *                of word 0 for own addresses (bytes; each word adds 8). seed: of
 *                PATTERN_RANDOM; the shift of PATTERN_WALKING; the value of
 *                PATTERN_CONSTANT. With rewrite = 1 the check leaves the
 *                complement behind: one step of moving inversions.
 *   assay_compare  counts `element`-byte elements (1, 2, 4, 8) of a and b that
 *                differ in any bit; first is an index of elements
 *   assay_digest *sum += a value of each word and its index: order does not
 *                matter, exchanged words do. Of n = 0 it is 0.
 *   assay_fill   elements of `type` (enum kernel_type), n counts elements:
 *                `scale` times N(0,1) (sum of 12 uniforms: |x| < 6) or times
 *                uniform on [-1,1). Element i depends on (seed, i) alone and is
 *                the same bit for bit on every compiler. FP8 saturates at 448.
 *   assay_ring   builds the ring for assay_chase: word 0 of each 128-byte line i
 *                of `lines` holds the number of the line `step` further on (modulo
 *                lines; step and lines without common factor give one ring)
 *
 * Time
 *   assay_spin   (single) waits until *flag == value, at most limit_ns;
 *                *expired = 1 when the limit ended it
 *   assay_fma32, assay_fma64  (wide) KERNEL_FMA_CHAINS chains of `rounds` fused
 *                multiply-adds x = x a + b, chain k from x = k, in every thread:
 *                2 * KERNEL_FMA_CHAINS * rounds FLOP a thread. out[thread] = sum of
 *                the chains; span[block] = time its first thread took
 *   assay_gaps   (spread) reads the clock for duration_ns and records every pause
 *                longer than threshold_cycles: summary[block], and the first
 *                max_rows of them in rows[block * max_rows ...]
 *   assay_chase  (single) follows `hops` steps of the ring from line 0; out->value is
 *                the line reached
 *   assay_pingpong (single, one launch on each of two cards) `mine` lies on the own
 *                card, `theirs` on the other's and is its `mine`. The one with
 *                first = 1 opens each of `rounds` rounds. Half the time of a round
 *                is the one-way latency. out->value: rounds done (fewer: the other
 *                did not answer within limit_ns). Both flags are 0 at the start. */
#define KERNEL_LIST(KERNEL)                                                                        \
	KERNEL(assay_read, (const struct word2 *src, u64 n, u64 *sum))                             \
	KERNEL(assay_write, (struct word2 * dst, u64 n, u64 base))                                 \
	KERNEL(assay_copy, (struct word2 * dst, const struct word2 *src, u64 n))                   \
	KERNEL(assay_copy_both, (struct word2 * dst_a, const struct word2 *src_a,                  \
	                         struct word2 *dst_b, const struct word2 *src_b, u64 n))           \
	KERNEL(assay_triad, (struct double2s * a, const struct double2s *b,                        \
	                     const struct double2s *c, double scalar, u64 n))                      \
	KERNEL(assay_ramp, (double *p, u64 n, u64 modulus))                                        \
	KERNEL(assay_triad_check, (const double *a, u64 n, u64 mod_b, u64 mod_c, double scalar,    \
	                           struct kernel_check *check))                                    \
	KERNEL(assay_pattern_write, (u64 * p, u64 n, u32 kind, u64 base, u64 seed, u64 invert))    \
	KERNEL(assay_pattern_check, (u64 * p, u64 n, u32 kind, u64 base, u64 seed, u64 invert,     \
	                             u32 rewrite, struct kernel_check * check))                    \
	KERNEL(assay_compare,                                                                      \
	       (const u64 *a, const u64 *b, u64 n, u32 element, struct kernel_check *check))       \
	KERNEL(assay_digest, (const u64 *p, u64 n, u64 *sum))                                      \
	KERNEL(assay_fill, (void *p, u64 n, u32 type, u32 uniform, u64 seed, double scale))        \
	KERNEL(assay_ring, (u64 * ring, u64 lines, u64 step))                                      \
	KERNEL(assay_spin, (volatile u32 * flag, u32 value, u64 limit_ns, u32 * expired))          \
	KERNEL(assay_fma32, (float *out, u64 rounds, float a, float b, struct kernel_span *span))  \
	KERNEL(assay_fma64,                                                                        \
	       (double *out, u64 rounds, double a, double b, struct kernel_span *span))            \
	KERNEL(assay_gaps, (struct kernel_gaps * summary, struct kernel_gap * rows, u64 max_rows,  \
	                    u64 duration_ns, u64 threshold_cycles))                                \
	KERNEL(assay_chase, (const u64 *ring, u64 hops, struct kernel_span *out))                  \
	KERNEL(assay_pingpong, (volatile u64 * mine, volatile u64 * theirs, u64 rounds, u32 first, \
	                        u64 limit_ns, struct kernel_span * out))

#endif
