/* base/hmac.h: proofs that somebody knows a secret (HMAC-SHA256, RFC 2104), and what they need. */
#ifndef MICA_BASE_HMAC_H
#define MICA_BASE_HMAC_H

#include <stdbool.h>

#include "base/sha256.h"

/*     mica_hmac mac;
 *     uint8_t digest[MICA_SHA256_BYTES];
 *     mica_hmac_init(&mac, key, n_key);
 *     mica_hmac_add(&mac, bytes, n);
 *     mica_hmac_finish(&mac, digest); */
typedef struct mica_hmac {
    mica_sha256 inner, outer;
} mica_hmac;

void mica_hmac_init(mica_hmac *mac, const void *key, size_t n);
void mica_hmac_add(mica_hmac *mac, const void *bytes, size_t n);
void mica_hmac_finish(mica_hmac *mac, uint8_t digest[MICA_SHA256_BYTES]);

/* Whether bytes are the same; the time it takes does not say where they differ. */
bool mica_secret_equal(const uint8_t *a, const uint8_t *b, size_t n);
/* Zeros that the compiler does not leave out. */
void mica_secret_erase(void *bytes, size_t n);

#endif
