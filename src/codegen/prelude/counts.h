/* codegen/prelude/counts.h: what is made of numbers alone: iota, and Philox 4x32-10. */
#include "codegen/prelude/space.h"

#define MICA_IOTA(dtype, type)                                                                     \
    MICA_KERNEL(iota_##dtype, mica_iota_layout) {                                                  \
        MICA_EACH_THREAD MICA_EACH(i, a.n)((type *)a.at.y)[i] =                                    \
            mica_convert_i64_##dtype(i / a.inner % a.size);                                        \
    }
MICA_IOTA(i8, int8_t)
MICA_IOTA(i16, int16_t)
MICA_IOTA(i32, int32_t)
MICA_IOTA(i64, int64_t)
MICA_IOTA(u8, uint8_t)
MICA_IOTA(u16, uint16_t)
MICA_IOTA(u32, uint32_t)
MICA_IOTA(u64, uint64_t)
MICA_IOTA(f16, uint16_t)
MICA_IOTA(bf16, uint16_t)
MICA_IOTA(f32, float)
MICA_IOTA(f64, double)

/* Block k of the counter: four words. */
MICA_SCALAR void mica_philox_block(const uint32_t *key, const uint32_t *counter, uint64_t k,
                                   uint32_t *out) {
    uint32_t k0 = key[0], k1 = key[1], c[4];
    uint64_t carry = 0;
    for (int i = 0; i < 4; i++) {
        const uint64_t word =
            (uint64_t)counter[i] + (i < 2 ? (uint32_t)(k >> (32 * i)) : 0u) + carry;
        c[i] = (uint32_t)word;
        carry = word >> 32;
    }
    for (int round = 0; round < 10; round++) {
        const uint64_t first = (uint64_t)0xD2511F53u * c[0], second = (uint64_t)0xCD9E8D57u * c[2];
        const uint32_t c1 = c[1], c3 = c[3];
        c[0] = (uint32_t)(second >> 32) ^ c1 ^ k0;
        c[1] = (uint32_t)second;
        c[2] = (uint32_t)(first >> 32) ^ c3 ^ k1;
        c[3] = (uint32_t)first;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) out[i] = c[i];
}

/* A thread per block; n counts the elements, the last block may be cut. */
#define MICA_PHILOX(bytes, type, of_block)                                                         \
    MICA_KERNEL(philox##bytes, mica_iota_layout) {                                                 \
        MICA_EACH_THREAD MICA_EACH(b, (a.n + of_block - 1) / of_block) {                           \
            uint32_t words[4];                                                                     \
            mica_philox_block((const uint32_t *)a.at.x[0], (const uint32_t *)a.at.x[1],            \
                              (uint64_t)b, words);                                                 \
            for (int64_t i = 0; i < of_block; i++)                                                 \
                if (b * of_block + i < a.n)                                                        \
                    ((type *)a.at.y)[b * of_block + i] =                                           \
                        of_block == 2                                                              \
                            ? (type)(words[2 * i % 4] | (uint64_t)words[(2 * i + 1) % 4] << 32)    \
                            : (type)words[i];                                                      \
        }                                                                                          \
    }
MICA_PHILOX(1, uint8_t, 4)
MICA_PHILOX(2, uint16_t, 4)
MICA_PHILOX(4, uint32_t, 4)
MICA_PHILOX(8, uint64_t, 2)
