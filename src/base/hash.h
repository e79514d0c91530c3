/* base/hash.h: a 64-bit hash, for keys of caches; the same on every machine. Not for secrets.
 *
 * A key of several parts is hashed by passing each answer on as the next seed; the lengths count,
 * so ("ab", "c") and ("a", "bc") differ. Start with MICA_HASH_SEED. */
#ifndef MICA_BASE_HASH_H
#define MICA_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define MICA_HASH_SEED UINT64_C(0x9e3779b97f4a7c15)

uint64_t mica_hash_bytes(uint64_t seed, const void *bytes, size_t n);
uint64_t mica_hash_string(uint64_t seed, const char *string);
uint64_t mica_hash_u64(uint64_t seed, uint64_t value);

#endif
