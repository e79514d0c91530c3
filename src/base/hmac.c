#include "base/hmac.h"

#include <string.h>

enum { BLOCK = 64 };

void mica_secret_erase(void *bytes, size_t n) {
    memset(bytes, 0, n);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

bool mica_secret_equal(const uint8_t *a, const uint8_t *b, size_t n) {
    volatile uint8_t different = 0;
    for (size_t i = 0; i < n; i++) different = (uint8_t)(different | (a[i] ^ b[i]));
    return different == 0;
}

void mica_hmac_init(mica_hmac *mac, const void *key, size_t n) {
    uint8_t block[BLOCK] = {0}, pad[BLOCK];
    mica_sha256_init(&mac->inner);
    mica_sha256_init(&mac->outer);
    if (n > BLOCK) {
        mica_sha256 sum;
        mica_sha256_init(&sum);
        mica_sha256_add(&sum, key, n);
        mica_sha256_finish(&sum, block);
    } else if (n > 0) {
        memcpy(block, key, n);
    }
    for (int i = 0; i < BLOCK; i++) pad[i] = block[i] ^ 0x36;
    mica_sha256_add(&mac->inner, pad, BLOCK);
    for (int i = 0; i < BLOCK; i++) pad[i] = block[i] ^ 0x5c;
    mica_sha256_add(&mac->outer, pad, BLOCK);
    mica_secret_erase(block, sizeof block);
    mica_secret_erase(pad, sizeof pad);
}

void mica_hmac_add(mica_hmac *mac, const void *bytes, size_t n) {
    mica_sha256_add(&mac->inner, bytes, n);
}

void mica_hmac_finish(mica_hmac *mac, uint8_t digest[MICA_SHA256_BYTES]) {
    mica_sha256_finish(&mac->inner, digest);
    mica_sha256_add(&mac->outer, digest, MICA_SHA256_BYTES);
    mica_sha256_finish(&mac->outer, digest);
    mica_secret_erase(mac, sizeof *mac);
}
