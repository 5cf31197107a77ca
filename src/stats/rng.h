/* Reproducible random numbers: xoshiro256** seeded by splitmix64 (Blackman and
 * Vigna, 2018, public domain). The same seed gives the same resamples on every
 * machine, so an interval in a report can be computed again. Not for secrets. */
#ifndef ASSAY_STATS_RNG_H
#define ASSAY_STATS_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state[4];
};

/* One step of splitmix64; also a way to derive a seed from another one. */
uint64_t splitmix64(uint64_t *state);

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
/* Uniform in 0 .. bound - 1; bound > 0. Exact, by Lemire's rejection. */
uint32_t rng_below(struct rng *rng, uint32_t bound);
/* Uniform in [0, 1), 53 bits. */
double rng_unit(struct rng *rng);
/* Standard normal, by Marsaglia's polar method. */
double rng_normal(struct rng *rng);

#endif
