/* Sorting networks: many short lines side by side, one in each lane. The network is Batcher's merge
 * exchange, for any length. It is not stable: equal words must be the same, or carry their place.
 */
#include "device/cpu/isa.h"

/* Calls EXCHANGE(i, i + distance) in an order that sorts n places. */
#define MERGE_EXCHANGE(n, EXCHANGE)                                                                \
    do {                                                                                           \
        int64_t top = 1;                                                                           \
        while (2 * top < (n)) top *= 2;                                                            \
        for (int64_t p = top; p > 0; p /= 2)                                                       \
            for (int64_t q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {                       \
                for (int64_t begin = r; begin < (n)-d; begin += 2 * p) {                           \
                    int64_t end = begin + p < (n)-d ? begin + p : (n)-d;                           \
                    for (int64_t i = begin; i < end; i++) EXCHANGE(i, i + d);                      \
                }                                                                                  \
                if (q == p) break;                                                                 \
            }                                                                                      \
    } while (0)

#define EXCHANGE_WORDS(type, lanes, i, j)                                                          \
    do {                                                                                           \
        type *a = words + (i)*lanes, *b = words + (j)*lanes;                                       \
        CPU_INDEPENDENT for (int l = 0; l < lanes; l++) {                                          \
            type low = a[l] < b[l] ? a[l] : b[l], high = a[l] < b[l] ? b[l] : a[l];                \
            a[l] = low;                                                                            \
            b[l] = high;                                                                           \
        }                                                                                          \
    } while (0)
#define EXCHANGE_U32(i, j) EXCHANGE_WORDS(uint32_t, CPU_NETWORK_U32, i, j)
#define EXCHANGE_U64(i, j) EXCHANGE_WORDS(uint64_t, CPU_NETWORK_U64, i, j)

static void network_u32(uint32_t *words, int64_t n) {
    MERGE_EXCHANGE(n, EXCHANGE_U32);
}

static void network_u64(uint64_t *words, int64_t n) {
    MERGE_EXCHANGE(n, EXCHANGE_U64);
}

/* Keys with the places they came from, which decide between equal keys. */
#define EXCHANGE_PAIRS(i, j)                                                                       \
    do {                                                                                           \
        uint64_t *a = keys + (i)*CPU_NETWORK_U64, *b = keys + (j)*CPU_NETWORK_U64;                 \
        uint64_t *c = places + (i)*CPU_NETWORK_U64, *e = places + (j)*CPU_NETWORK_U64;             \
        CPU_INDEPENDENT for (int l = 0; l < CPU_NETWORK_U64; l++) {                                \
            uint64_t x = a[l], y = b[l], u = c[l], v = e[l];                                       \
            uint64_t swap = -(uint64_t)((y < x) | ((y == x) & (v < u)));                           \
            uint64_t keys_differ = (x ^ y) & swap, places_differ = (u ^ v) & swap;                 \
            a[l] = x ^ keys_differ;                                                                \
            b[l] = y ^ keys_differ;                                                                \
            c[l] = u ^ places_differ;                                                              \
            e[l] = v ^ places_differ;                                                              \
        }                                                                                          \
    } while (0)

static void network_pairs(uint64_t *keys, uint64_t *places, int64_t n) {
    MERGE_EXCHANGE(n, EXCHANGE_PAIRS);
}

/* ---- squares ----------------------------------------------------------------------------------
 * A square of vectors is transposed in steps: each exchanges one bit of the vector's number with
 * the same bit of the lane's. */

typedef uint32_t vector_u32 __attribute__((vector_size(64)));
typedef uint64_t vector_u64 __attribute__((vector_size(64)));

/* Lane l of the two vectors that differ in bit s, taken from lanes of both. */
#define FIRST(s, w, l) ((l) & (s) ? (w) + (l) - (s) : (l))
#define SECOND(s, w, l) ((l) & (s) ? (w) + (l) : (l) + (s))
#define FOUR(PICK, s, w, l) PICK(s, w, l), PICK(s, w, l + 1), PICK(s, w, l + 2), PICK(s, w, l + 3)
#define EIGHT(PICK, s, w, l) FOUR(PICK, s, w, l), FOUR(PICK, s, w, l + 4)
#define SHUFFLE_U32(PICK, s, a, b)                                                                 \
    __builtin_shufflevector(a, b, EIGHT(PICK, s, 16, 0), EIGHT(PICK, s, 16, 8))
#define SHUFFLE_U64(PICK, s, a, b) __builtin_shufflevector(a, b, EIGHT(PICK, s, 8, 0))

#define EXCHANGE_BIT(SHUFFLE, vector, width, s)                                                    \
    for (int i = 0; i < width; i++)                                                                \
        if (!(i & s)) {                                                                            \
            vector a = v[i], b = v[i + s];                                                         \
            v[i] = SHUFFLE(FIRST, s, a, b);                                                        \
            v[i + s] = SHUFFLE(SECOND, s, a, b);                                                   \
        }

static inline void transpose_u32(vector_u32 v[16]) {
    EXCHANGE_BIT(SHUFFLE_U32, vector_u32, 16, 8)
    EXCHANGE_BIT(SHUFFLE_U32, vector_u32, 16, 4)
    EXCHANGE_BIT(SHUFFLE_U32, vector_u32, 16, 2)
    EXCHANGE_BIT(SHUFFLE_U32, vector_u32, 16, 1)
}

static inline void transpose_u64(vector_u64 v[8]){
    EXCHANGE_BIT(SHUFFLE_U64, vector_u64, 8, 4) EXCHANGE_BIT(SHUFFLE_U64, vector_u64, 8, 2)
        EXCHANGE_BIT(SHUFFLE_U64, vector_u64, 8, 1)}

#define SQUARES_DEFINE(suffix, type, vector, lanes)                                                \
    static void join_##suffix(const type *lines, int64_t step, int64_t n, type *words) {           \
        for (int64_t i = 0; i < n; i += lanes) {                                                   \
            vector v[lanes];                                                                       \
            for (int l = 0; l < lanes; l++)                                                        \
                v[l] = *(const vector *)(const void *)(lines + l * step + i);                      \
            transpose_##suffix(v);                                                                 \
            for (int l = 0; l < lanes; l++) *(vector *)(void *)(words + (i + l) * lanes) = v[l];   \
        }                                                                                          \
    }                                                                                              \
    static void part_##suffix(const type *words, int64_t n, type *lines, int64_t step) {           \
        for (int64_t i = 0; i < n; i += lanes) {                                                   \
            vector v[lanes];                                                                       \
            for (int l = 0; l < lanes; l++)                                                        \
                v[l] = *(const vector *)(const void *)(words + (i + l) * lanes);                   \
            transpose_##suffix(v);                                                                 \
            for (int l = 0; l < lanes; l++) *(vector *)(void *)(lines + l * step + i) = v[l];      \
        }                                                                                          \
    }
SQUARES_DEFINE(u32, uint32_t, vector_u32, CPU_NETWORK_U32)
    SQUARES_DEFINE(u64, uint64_t, vector_u64, CPU_NETWORK_U64)

        const mica_cpu_networks MICA_ISA_NAME(mica_cpu_networks) = {
            join_u32, join_u64, part_u32, part_u64, network_u32, network_u64, network_pairs};
