/* base/sha256.h: SHA-256 (FIPS 180-4), for names and seals that cannot be forged by
 * finding other bytes with the same sum. base/hash.h is for tables in memory.
 *
 *     mica_sha256 sum;
 *     uint8_t digest[MICA_SHA256_BYTES];
 *     mica_sha256_init(&sum);
 *     mica_sha256_add(&sum, "abc", 3);
 *     mica_sha256_finish(&sum, digest);
 */
#ifndef MICA_BASE_SHA256_H
#define MICA_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define MICA_SHA256_BYTES 32

typedef struct mica_sha256 {
    uint32_t state[8];
    uint64_t length; /* of what was added, in bytes */
    uint8_t block[64];
} mica_sha256;

void mica_sha256_init(mica_sha256 *sum);
void mica_sha256_add(mica_sha256 *sum, const void *bytes, size_t n);
/* Adds a string with its length before it, so that ("ab", "c") and ("a", "bc") differ. */
void mica_sha256_add_string(mica_sha256 *sum, const char *string);
void mica_sha256_finish(mica_sha256 *sum, uint8_t digest[MICA_SHA256_BYTES]);

#endif
