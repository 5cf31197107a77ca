/* xoshiro256** and what is drawn from it. Own code because results must not
 * depend on the C library's generator, and because a few lines suffice. */
#include "stats/rng.h"

#include <math.h>

static uint64_t rotate_left(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void rng_seed(struct rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		rng->state[i] = splitmix64(&seed);
}

uint64_t rng_next(struct rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint32_t rng_below(struct rng *rng, uint32_t bound)
{
	uint64_t product = (rng_next(rng) >> 32) * bound;

	if ((uint32_t)product < bound) {
		/* 2^32 mod bound values of the low half would favour some results. */
		uint32_t biased = -bound % bound;

		while ((uint32_t)product < biased)
			product = (rng_next(rng) >> 32) * bound;
	}
	return (uint32_t)(product >> 32);
}

double rng_unit(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

double rng_normal(struct rng *rng)
{
	double u, square;

	do {
		double v;

		u = 2 * rng_unit(rng) - 1;
		v = 2 * rng_unit(rng) - 1;
		square = u * u + v * v;
	} while (square >= 1 || square == 0);
	return u * sqrt(-2 * log(square) / square);
}
