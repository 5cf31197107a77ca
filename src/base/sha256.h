/* SHA-256 (FIPS 180-4), for the chain of the journal and raw files. */
#ifndef ASSAY_BASE_SHA256_H
#define ASSAY_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX 65 /* with the NUL */

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	unsigned char block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
/* Ends the digest and writes it as 64 lower-case hex digits. */
void sha256_hex(struct sha256 *s, char hex[SHA256_HEX]);
/* One-shot. */
void sha256_text(const void *data, size_t len, char hex[SHA256_HEX]);

#endif
