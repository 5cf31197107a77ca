/* FNV-1a of 64 bits (Fowler, Noll, Vo): a quick sum of bytes, for tables and
 * seeds. Whoever wants two texts with the same sum finds them: never for evidence. */
#ifndef ASSAY_BASE_HASH_H
#define ASSAY_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* `h` with these bytes behind what it sums up already. */
static inline uint64_t hash_add(uint64_t h, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

#endif
