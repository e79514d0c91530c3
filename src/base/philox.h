/* base/philox.h: Philox 4x32-10, the counter-based generator of random bits. */
#ifndef MICA_BASE_PHILOX_H
#define MICA_BASE_PHILOX_H

#include <stdint.h>

/* Four words for a key and a counter of 128 bits. */
static inline void mica_philox(uint64_t key, uint64_t high, uint64_t low, uint32_t out[4]) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t x[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xd2511f53) * x[0], b = UINT64_C(0xcd9e8d57) * x[2];
        uint32_t y[4] = {(uint32_t)(b >> 32) ^ x[1] ^ k0, (uint32_t)b,
                         (uint32_t)(a >> 32) ^ x[3] ^ k1, (uint32_t)a};
        for (int i = 0; i < 4; i++) x[i] = y[i];
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    for (int i = 0; i < 4; i++) out[i] = x[i];
}

/* A stream of words: the seed is the key, the stream the upper half of the counter. */
typedef struct mica_philox_stream {
    uint64_t seed, stream, next;
    uint32_t words[4];
    int32_t used; /* of words; 4 in a stream that has not begun */
} mica_philox_stream;

static inline mica_philox_stream mica_philox_begin(uint64_t seed, uint64_t stream) {
    return (mica_philox_stream){.seed = seed, .stream = stream, .used = 4};
}

static inline uint32_t mica_philox_word(mica_philox_stream *s) {
    if (s->used == 4) {
        mica_philox(s->seed, s->stream, s->next++, s->words);
        s->used = 0;
    }
    return s->words[s->used++];
}

#endif
