/* The bytes that travel: pseudo-random words of a seed of the step, each of them of
 * its place, so that what is stale, moved or missing does not look right. */
#include "rdma.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "stats/rng.h"

#define PART ((size_t)64 << 10)  /* of a card's memory, by way of the host */
#define STEP 0x9e3779b97f4a7c15u /* of splitmix64 from word to word */

/* `at` and `bytes` are multiples of 8. */
static void make(unsigned char *to, size_t at, size_t bytes, uint64_t seed)
{
	uint64_t state = seed + (uint64_t)(at / sizeof(uint64_t)) * STEP;

	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		uint64_t word = splitmix64(&state);

		memcpy(to + i, &word, sizeof(word));
	}
}

static unsigned char *part_new(void)
{
	unsigned char *part = malloc(2 * PART);

	if (!part)
		die_nomem();
	return part;
}

bool rdma_fill(const struct rdma_memory *m, size_t at, size_t bytes, uint64_t seed)
{
	unsigned char *part;
	bool well = true;

	if (!m->write) {
		make((unsigned char *)m->at + at, at, bytes, seed);
		return true;
	}
	part = part_new();
	for (size_t i = 0; i < bytes && well; i += PART) {
		size_t n = bytes - i < PART ? bytes - i : PART;

		make(part, at + i, n, seed);
		well = m->write(m->self, at + i, part, n);
	}
	free(part);
	return well;
}

size_t rdma_check(const struct rdma_memory *m, size_t at, size_t bytes, uint64_t seed)
{
	unsigned char *part = part_new();
	size_t wrong = bytes;

	for (size_t i = 0; i < bytes && wrong == bytes; i += PART) {
		size_t n = bytes - i < PART ? bytes - i : PART, k = 0;
		const unsigned char *have = (const unsigned char *)m->at + at + i;

		make(part, at + i, n, seed);
		if (m->read) {
			have = part + PART;
			if (!m->read(m->self, at + i, part + PART, n)) {
				wrong = SIZE_MAX;
				break;
			}
		}
		if (memcmp(have, part, n) == 0)
			continue;
		while (have[k] == part[k])
			k++;
		wrong = i + k;
	}
	free(part);
	return wrong;
}
