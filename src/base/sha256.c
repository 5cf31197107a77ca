/* SHA-256 as FIPS 180-4 writes it; no library of the base system offers it
 * without pulling a crypto stack into every child. Where the processor has
 * instructions for it they are used, at a fifth of the time: a journal of 90 MB
 * is digested whenever it is judged. */
#include "base/sha256.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__) && !defined(SHA256_PORTABLE)
#define SHA256_X86
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static uint32_t load_be(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void sha256_block(uint32_t state[8], const unsigned char *p)
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++)
		w[i] = load_be(p + 4 * i);
	for (int i = 16; i < 64; i++) {
		uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
	memcpy(v, state, sizeof(v));
	for (int i = 0; i < 64; i++) {
		uint32_t s1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
		uint32_t ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t t1 = v[7] + s1 + ch + k[i] + w[i];
		uint32_t s0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
		uint32_t maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

		v[7] = v[6];
		v[6] = v[5];
		v[5] = v[4];
		v[4] = v[3] + t1;
		v[3] = v[2];
		v[2] = v[1];
		v[1] = v[0];
		v[0] = t1 + s0 + maj;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

#ifdef SHA256_X86

/* The instructions keep the state as (a b e f) and (c d g h), highest first, and
 * do two rounds at a time. */
__attribute__((target("sha,sse4.1"))) static void blocks_x86(uint32_t state[8],
                                                             const unsigned char *p, size_t count)
{
	const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i dcba = _mm_loadu_si128((const __m128i *)state);
	__m128i hgfe = _mm_loadu_si128((const __m128i *)(state + 4));
	__m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
	__m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
	__m128i feba, dchg;

	for (; count > 0; count--, p += 64) {
		__m128i abef_before = abef, cdgh_before = cdgh, w[4];

		for (int i = 0; i < 4; i++)
			w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)p + i),
			                        big_endian);
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			__m128i wk = _mm_loadu_si128((const __m128i *)k + i), next;

			wk = _mm_add_epi32(wk, w[i % 4]);
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0e));
			next = _mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]);
			next = _mm_add_epi32(next,
			                     _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4));
			w[i % 4] = _mm_sha256msg2_epu32(next, w[(i + 3) % 4]);
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	feba = _mm_shuffle_epi32(abef, 0x1b);
	dchg = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/* CPUID traps on a virtual machine, so the answer is kept. */
static bool have_x86(void)
{
	static _Atomic int known; /* 0: not asked yet, 1: no, 2: yes */
	unsigned a, b, c, d;

	if (!known) {
		bool sse = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) && (c & bit_SSE4_1);

		known = sse && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) ? 2 : 1;
	}
	return known == 2;
}

#endif

static void sha256_blocks(uint32_t state[8], const unsigned char *p, size_t count)
{
#ifdef SHA256_X86
	if (have_x86()) {
		blocks_x86(state, p, count);
		return;
	}
#endif
	for (; count > 0; count--, p += 64)
		sha256_block(state, p);
}

void sha256_init(struct sha256 *s)
{
	static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	memcpy(s->state, start, sizeof(start));
	s->bytes = 0;
}

void sha256_add(struct sha256 *s, const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t have = s->bytes % 64;

	s->bytes += len;
	if (have) {
		size_t take = 64 - have < len ? 64 - have : len;

		memcpy(s->block + have, p, take);
		p += take;
		len -= take;
		if (have + take < 64)
			return;
		sha256_blocks(s->state, s->block, 1);
	}
	if (len >= 64)
		sha256_blocks(s->state, p, len / 64);
	if (len % 64)
		memcpy(s->block, p + len / 64 * 64, len % 64);
}

void sha256_hex(struct sha256 *s, char hex[SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";
	static const unsigned char pad[64] = {0x80};
	uint64_t bits = s->bytes * 8;
	unsigned char length[8];
	size_t have = s->bytes % 64;

	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(s, pad, have < 56 ? 56 - have : 120 - have);
	sha256_add(s, length, sizeof(length));
	for (int i = 0; i < 32; i++) {
		unsigned byte = s->state[i / 4] >> (24 - 8 * (i % 4)) & 0xff;

		hex[2 * i] = digits[byte >> 4];
		hex[2 * i + 1] = digits[byte & 15];
	}
	hex[64] = '\0';
}

void sha256_text(const void *data, size_t len, char hex[SHA256_HEX])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, data, len);
	sha256_hex(&s, hex);
}
