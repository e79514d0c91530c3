/* Elements as words and back; see mica_cpu_order. */
#include <stddef.h>

#include "device/cpu/isa.h"

/* `storage` is the unsigned integer of the dtype's width, `word` that of the word. */
#define LOAD_DEFINE(dtype, storage, word, WORD, SPECIAL)                                           \
    static int load_##dtype(const void *x, int64_t step, int64_t n, uint64_t flip, void *out,      \
                            int64_t out_step) {                                                    \
        const storage *from = x;                                                                   \
        word *to = out, mask = (word)flip, special = 0;                                            \
        if (step == 1 && out_step == 1)                                                            \
            for (int64_t i = 0; i < n; i++) {                                                      \
                storage bits = from[i];                                                            \
                special |= (word)SPECIAL(storage, bits);                                           \
                to[i] = (word)WORD(storage, bits) ^ mask;                                          \
            }                                                                                      \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                      \
                storage bits = from[i * step];                                                     \
                special |= (word)SPECIAL(storage, bits);                                           \
                to[i * out_step] = (word)WORD(storage, bits) ^ mask;                               \
            }                                                                                      \
        return special != 0;                                                                       \
    }
#define STORE_DEFINE(dtype, storage, word, BITS)                                                   \
    static void store_##dtype(const void *words, int64_t word_step, int64_t n, uint64_t flip,      \
                              void *y, int64_t step) {                                             \
        const word *from = words;                                                                  \
        storage *to = y;                                                                           \
        word mask = (word)flip;                                                                    \
        if (step == 1 && word_step == 1)                                                           \
            for (int64_t i = 0; i < n; i++) to[i] = BITS(storage, (storage)(from[i] ^ mask));      \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                to[i * step] = BITS(storage, (storage)(from[i * word_step] ^ mask));               \
    }

#define TOP(storage) ((storage)((storage)1 << (8 * sizeof(storage) - 1)))
#define NOTHING_SPECIAL(storage, bits) 0
#define UNSIGNED_WORD(storage, bits) (bits)
#define SIGNED_WORD(storage, bits) ((storage)((bits) ^ TOP(storage)))
/* All bits of negative numbers turned, the sign of the others set. */
#define ORDERED(storage, bits)                                                                     \
    ((storage)((bits) ^ (storage)((storage) - (storage)((bits) >> (8 * sizeof(storage) - 1)) |     \
                                  TOP(storage))))
#define FLOAT_BITS(storage, word)                                                                  \
    ((storage)((word) ^ (storage)((storage)((storage)((word) >> (8 * sizeof(storage) - 1)) - 1) |  \
                                  TOP(storage))))

#define INTEGER_DEFINE(dtype, storage, word, WORD)                                                 \
    LOAD_DEFINE(dtype, storage, word, WORD, NOTHING_SPECIAL)                                       \
    STORE_DEFINE(dtype, storage, word, WORD)
INTEGER_DEFINE(u8, uint8_t, uint32_t, UNSIGNED_WORD)
INTEGER_DEFINE(u16, uint16_t, uint32_t, UNSIGNED_WORD)
INTEGER_DEFINE(u32, uint32_t, uint32_t, UNSIGNED_WORD)
INTEGER_DEFINE(u64, uint64_t, uint64_t, UNSIGNED_WORD)
INTEGER_DEFINE(i8, uint8_t, uint32_t, SIGNED_WORD)
INTEGER_DEFINE(i16, uint16_t, uint32_t, SIGNED_WORD)
INTEGER_DEFINE(i32, uint32_t, uint32_t, SIGNED_WORD)
INTEGER_DEFINE(i64, uint64_t, uint64_t, SIGNED_WORD)

/* `infinity` is the bits of infinity. */
#define MAGNITUDE(storage, bits) ((storage)((bits) & (storage)~TOP(storage)))
#define FLOAT_DEFINE(dtype, storage, word, infinity)                                               \
    static inline storage word_of_##dtype(storage bits) {                                          \
        return MAGNITUDE(storage, bits) > (infinity) ? (storage) ~(storage)0                       \
                                                     : ORDERED(storage, bits);                     \
    }                                                                                              \
    static inline int special_##dtype(storage bits) {                                              \
        return (MAGNITUDE(storage, bits) > (infinity)) | (bits == TOP(storage));                   \
    }                                                                                              \
    static void restore_##dtype(const void *x, void *y, int64_t step, int64_t n) {                 \
        const storage *from = x;                                                                   \
        storage *to = y;                                                                           \
        int64_t zero = 0, nan = 0;                                                                 \
        while (zero < n && MAGNITUDE(storage, to[zero * step]) != 0) zero++;                       \
        while (nan < n && MAGNITUDE(storage, to[nan * step]) <= (infinity)) nan++;                 \
        for (int64_t i = 0; i < n; i++) {                                                          \
            storage bits = from[i * step];                                                         \
            if (MAGNITUDE(storage, bits) == 0) to[zero++ * step] = bits;                           \
            if (MAGNITUDE(storage, bits) > (infinity)) to[nan++ * step] = bits;                    \
        }                                                                                          \
    }
#define FLOAT_WORD_f16(storage, bits) word_of_f16(bits)
#define FLOAT_WORD_bf16(storage, bits) word_of_bf16(bits)
#define FLOAT_WORD_f32(storage, bits) word_of_f32(bits)
#define FLOAT_WORD_f64(storage, bits) word_of_f64(bits)
#define SPECIAL_f16(storage, bits) special_f16(bits)
#define SPECIAL_bf16(storage, bits) special_bf16(bits)
#define SPECIAL_f32(storage, bits) special_f32(bits)
#define SPECIAL_f64(storage, bits) special_f64(bits)
FLOAT_DEFINE(f16, uint16_t, uint32_t, 0x7c00u)
FLOAT_DEFINE(bf16, uint16_t, uint32_t, 0x7f80u)
FLOAT_DEFINE(f32, uint32_t, uint32_t, 0x7f800000u)
FLOAT_DEFINE(f64, uint64_t, uint64_t, 0x7ff0000000000000u)
LOAD_DEFINE(f16, uint16_t, uint32_t, FLOAT_WORD_f16, SPECIAL_f16)
LOAD_DEFINE(bf16, uint16_t, uint32_t, FLOAT_WORD_bf16, SPECIAL_bf16)
LOAD_DEFINE(f32, uint32_t, uint32_t, FLOAT_WORD_f32, SPECIAL_f32)
LOAD_DEFINE(f64, uint64_t, uint64_t, FLOAT_WORD_f64, SPECIAL_f64)
STORE_DEFINE(f16, uint16_t, uint32_t, FLOAT_BITS)
STORE_DEFINE(bf16, uint16_t, uint32_t, FLOAT_BITS)
STORE_DEFINE(f32, uint32_t, uint32_t, FLOAT_BITS)
STORE_DEFINE(f64, uint64_t, uint64_t, FLOAT_BITS)

#define INTEGER_ENTRY(dtype, bits)                                                                 \
    [MICA_DTYPE_##dtype] = {bits, bits / 8, 0, load_##dtype, store_##dtype, NULL}
#define FLOAT_ENTRY(dtype, bits)                                                                   \
    [MICA_DTYPE_##dtype] = {bits, bits / 8, 1, load_##dtype, store_##dtype, restore_##dtype}
const mica_cpu_order MICA_ISA_NAME(mica_cpu_order)[MICA_DTYPE_COUNT] = {
    [MICA_DTYPE_bool] = {1, 1, 0, load_u8, store_u8, NULL},
    INTEGER_ENTRY(i8, 8),
    INTEGER_ENTRY(i16, 16),
    INTEGER_ENTRY(i32, 32),
    INTEGER_ENTRY(i64, 64),
    INTEGER_ENTRY(u8, 8),
    INTEGER_ENTRY(u16, 16),
    INTEGER_ENTRY(u32, 32),
    INTEGER_ENTRY(u64, 64),
    FLOAT_ENTRY(f16, 16),
    FLOAT_ENTRY(bf16, 16),
    FLOAT_ENTRY(f32, 32),
    FLOAT_ENTRY(f64, 64),
};
