/* Digests of lines seen so far, to find one that comes twice. */
#ifndef ASSAY_SERVICE_DIGESTS_H
#define ASSAY_SERVICE_DIGESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed it is empty; free the slots at the end. */
struct digests {
	uint64_t *slots; /* 0: free */
	size_t cap, used;
};

/* True: it was there. */
bool digests_add(struct digests *d, uint64_t digest);

#endif
