/* Device code, compiled twice: by nvcc (-x cu) to the PTX that goes into the
 * program, and by the C compiler into the stand-in libcuda, where one thread
 * walks the whole grid-stride loop. C subset only, and no contraction of
 * multiply and add on either side, so that both compute the same bits. */
#include "kernels/target.h"

#define EACH(i, n) for (u64 i = global_thread(); i < (n); i += global_threads())

/* splitmix64: every input bit reaches every output bit. */
DEVICE u64 mix(u64 x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

DEVICE void report(struct kernel_check *check, u64 index, u64 bits)
{
	add_u64(&check->bad, 1);
	min_u64(&check->first, index);
	or_u64(&check->bits, bits);
}

/* --- bandwidth ---------------------------------------------------------------- */

KERNEL assay_read(const struct word2 *src, u64 n, u64 *sum)
{
	u64 total = 0;

	EACH(i, n)
	{
		struct word2 w = src[i];

		total += w.x + w.y;
	}
	add_from_block(sum, total);
}

KERNEL assay_write(struct word2 *dst, u64 n, u64 base)
{
	EACH(i, n)
	{
		struct word2 w;

		w.x = base + 2 * i;
		w.y = base + 2 * i + 1;
		dst[i] = w;
	}
}

KERNEL assay_copy(struct word2 *dst, const struct word2 *src, u64 n)
{
	EACH(i, n)
	dst[i] = src[i];
}

KERNEL assay_copy_both(struct word2 *dst_a, const struct word2 *src_a, struct word2 *dst_b,
                       const struct word2 *src_b, u64 n)
{
	u64 warps = global_threads() / 32, warp = global_thread() / 32, lane = global_thread() % 32;

#ifdef __CUDACC__
	u64 start = warp / 2 * 32 + lane, stride = warps / 2 * 32;

	/* An odd last warp has no partner. */
	if (warp / 2 >= warps / 2)
		return;
	for (u64 i = start; i < n; i += stride)
		(warp % 2 ? dst_b : dst_a)[i] = (warp % 2 ? src_b : src_a)[i];
#else
	(void)warps;
	for (u64 i = warp + lane; i < n; i++) {
		dst_a[i] = src_a[i];
		dst_b[i] = src_b[i];
	}
#endif
}

KERNEL assay_triad(struct double2s *a, const struct double2s *b, const struct double2s *c,
                   double scalar, u64 n)
{
	EACH(i, n)
	{
		struct double2s x = b[i], y = c[i];

		x.x = x.x + scalar * y.x;
		x.y = x.y + scalar * y.y;
		a[i] = x;
	}
}

KERNEL assay_ramp(double *p, u64 n, u64 modulus)
{
	EACH(i, n)
	p[i] = (double)(i % modulus);
}

KERNEL assay_triad_check(const double *a, u64 n, u64 mod_b, u64 mod_c, double scalar,
                         struct kernel_check *check)
{
	EACH(i, n)
	{
		double want = (double)(i % mod_b) + scalar * (double)(i % mod_c);
		u64 bits = double_bits(a[i]) ^ double_bits(want);

		if (bits)
			report(check, i, bits);
	}
}

/* --- memory ------------------------------------------------------------------- */

DEVICE u64 pattern(u32 kind, u64 i, u64 base, u64 seed)
{
	switch (kind) {
	case PATTERN_ADDRESS:
		return base + 8 * i;
	case PATTERN_WALKING:
		return 1ull << ((i + seed) & 63);
	case PATTERN_RANDOM:
		return mix(seed ^ mix(i));
	default:
		return seed;
	}
}

KERNEL assay_pattern_write(u64 *p, u64 n, u32 kind, u64 base, u64 seed, u64 invert)
{
	EACH(i, n)
	p[i] = pattern(kind, i, base, seed) ^ invert;
}

KERNEL assay_pattern_check(u64 *p, u64 n, u32 kind, u64 base, u64 seed, u64 invert, u32 rewrite,
                           struct kernel_check *check)
{
	EACH(i, n)
	{
		u64 want = pattern(kind, i, base, seed) ^ invert;
		u64 bits = p[i] ^ want;

		if (bits)
			report(check, i, bits);
		if (rewrite)
			p[i] = ~want;
	}
}

KERNEL assay_compare(const u64 *a, const u64 *b, u64 n, u32 element, struct kernel_check *check)
{
	u32 lanes = 8 / element;

	EACH(i, n)
	{
		u64 bits = a[i] ^ b[i];

		for (u32 lane = 0; bits && lane < lanes; lane++) {
			u64 mask = element == 8
			                   ? ~0ull
			                   : ((1ull << (8 * element)) - 1) << (8 * element * lane);

			if (bits & mask)
				report(check, i * lanes + lane, bits & mask);
		}
	}
}

KERNEL assay_digest(const u64 *p, u64 n, u64 *sum)
{
	u64 total = 0;

	EACH(i, n)
	total += mix(p[i] ^ mix(i));
	add_from_block(sum, total);
}

/* Rounds to nearest even to `exponent_bits` and `fraction_bits`; what is too
 * large becomes the largest finite value, here given as bits. */
DEVICE u32 narrow(float value, u32 exponent_bits, u32 fraction_bits, u32 largest)
{
	u32 bits = float_bits(value), sign = bits >> 31 << (exponent_bits + fraction_bits);
	u32 magnitude = bits & 0x7fffffffu, drop = 23 - fraction_bits;
	int bias = (1 << (exponent_bits - 1)) - 1, exponent = (int)(magnitude >> 23) - 127 + bias;
	u32 whole = magnitude & 0x7fffffu, result, rest, half;

	if (exponent <= 0) {
		/* Subnormal there: the leading one becomes explicit and moves right. */
		whole |= 0x800000u;
		drop += (u32)(1 - exponent);
		exponent = 0;
		if (drop > 24)
			return sign;
	}
	result = ((u32)exponent << fraction_bits) + (whole >> drop);
	rest = whole & ((1u << drop) - 1);
	half = 1u << (drop - 1);
	if (rest > half || (rest == half && (result & 1)))
		result++;
	return sign | (result > largest ? largest : result);
}

/* Sum of twelve uniforms of 48 bits: fits 53 bits, so the double is exact. */
DEVICE double normal(u64 seed, u64 i)
{
	u64 state = mix(seed ^ mix(i)), sum = 0;

	for (u32 k = 0; k < 12; k++)
		sum += mix(state + k) >> 16;
	return ((double)(long long)(2 * sum) - 12.0 * 281474976710655.0) / 562949953421312.0;
}

DEVICE double uniform(u64 seed, u64 i)
{
	return (double)(long long)(mix(seed ^ mix(i)) >> 11) / 4503599627370496.0 - 1.0;
}

KERNEL assay_fill(void *p, u64 n, u32 type, u32 uniform_one, u64 seed, double scale)
{
	EACH(i, n)
	{
		double value = scale * (uniform_one ? uniform(seed, i) : normal(seed, i));

		switch (type) {
		case KERNEL_FP64:
			((double *)p)[i] = value;
			break;
		case KERNEL_FP32:
			((float *)p)[i] = (float)value;
			break;
		case KERNEL_FP16:
			((uint16_t *)p)[i] = (uint16_t)narrow((float)value, 5, 10, 0x7bff);
			break;
		case KERNEL_BF16:
			((uint16_t *)p)[i] = (uint16_t)narrow((float)value, 8, 7, 0x7f7f);
			break;
		default:
			((uint8_t *)p)[i] = (uint8_t)narrow((float)value, 4, 3, 0x7e);
			break;
		}
	}
}

KERNEL assay_ring(u64 *ring, u64 lines, u64 step)
{
	EACH(i, lines)
	ring[16 * i] = (i + step) % lines;
}

/* --- time --------------------------------------------------------------------- */

KERNEL assay_spin(volatile u32 *flag, u32 value, u64 limit_ns, u32 *expired)
{
	u64 start = global_ns();

	while (*flag != value)
		if (global_ns() - start > limit_ns) {
			*expired = 1;
			return;
		}
}

/* Chains begin apart, or an optimiser would see one; threads all compute the
 * same, so that where time is modelled one is enough. */
#define FMA(real, fused)                                                                           \
	do {                                                                                       \
		real x[KERNEL_FMA_CHAINS], sum = 0;                                                \
		u64 cycles = sm_cycles(), ns = global_ns();                                        \
                                                                                                   \
		for (u32 k = 0; k < KERNEL_FMA_CHAINS; k++)                                        \
			x[k] = (real)k;                                                            \
		for (u64 r = 0; r < rounds; r++)                                                   \
			UNROLLED for (u32 k = 0; k < KERNEL_FMA_CHAINS; k++) x[k] =                \
				fused(x[k], a, b);                                                 \
		for (u32 k = 0; k < KERNEL_FMA_CHAINS; k++)                                        \
			sum += x[k];                                                               \
		out[global_thread()] = sum;                                                        \
		if (block_thread() == 0) {                                                         \
			span[block()].cycles = sm_cycles() - cycles;                               \
			span[block()].ns = global_ns() - ns;                                       \
			span[block()].value = sm_id();                                             \
		}                                                                                  \
	} while (0)

KERNEL assay_fma32(float *out, u64 rounds, float a, float b, struct kernel_span *span)
{
	FMA(float, FMA32);
}

KERNEL assay_fma64(double *out, u64 rounds, double a, double b, struct kernel_span *span)
{
	FMA(double, FMA64);
}

KERNEL assay_gaps(struct kernel_gaps *summary, struct kernel_gap *rows, u64 max_rows,
                  u64 duration_ns, u64 threshold_cycles)
{
	struct kernel_gaps g;
	u64 first, before, now, ns;

	g.sm = sm_id();
	g.start_ns = ns = global_ns();
	g.gaps = g.gap_cycles = g.longest_cycles = g.reads = 0;
	first = before = sm_cycles();
	while (ns - g.start_ns < duration_ns) {
		now = sm_cycles();
		g.reads++;
		if (now - before > threshold_cycles) {
			if (g.gaps < max_rows) {
				rows[block() * max_rows + g.gaps].at_ns = ns;
				rows[block() * max_rows + g.gaps].cycles = now - before;
			}
			g.gaps++;
			g.gap_cycles += now - before;
			if (now - before > g.longest_cycles)
				g.longest_cycles = now - before;
		}
		before = now;
		ns = global_ns();
	}
	g.span_ns = ns - g.start_ns;
	g.span_cycles = before - first;
	summary[block()] = g;
}

KERNEL assay_chase(const u64 *ring, u64 hops, struct kernel_span *out)
{
	u64 at = 0, cycles, ns;

	cycles = sm_cycles();
	ns = global_ns();
	for (u64 i = 0; i < hops; i++)
		at = uncached(&ring[16 * at]);
	/* The address is the value: the last load is waited for. */
	out->value = at;
	out->cycles = sm_cycles() - cycles;
	out->ns = global_ns() - ns;
}

/* True when the other side has written `round`, false after the limit. */
DEVICE int await(volatile u64 *flag, u64 round, u64 limit_ns)
{
	u64 start = global_ns();

	while (*flag < round)
		if (global_ns() - start > limit_ns)
			return 0;
	return 1;
}

KERNEL assay_pingpong(volatile u64 *mine, volatile u64 *theirs, u64 rounds, u32 first, u64 limit_ns,
                      struct kernel_span *out)
{
	u64 cycles = 0, ns = 0, done = 0;

	/* Round 0 is not timed: it ends when both are running. */
	for (u64 r = 0; r <= rounds; r++) {
		if (r == 1) {
			cycles = sm_cycles();
			ns = global_ns();
		}
		if (first)
			*theirs = r + 1;
		if (!await(mine, r + 1, limit_ns))
			break;
		if (!first)
			*theirs = r + 1;
		done = r;
	}
	system_fence();
	out->cycles = sm_cycles() - cycles;
	out->ns = global_ns() - ns;
	out->value = done;
}
