/* Items from words, and the sorts of items. */
#include "device/cpu/order.h"
#include "base/interrupt.h"

#include <string.h>

const mica_cpu_order *mica_cpu_order_of(mica_dtype dtype) {
    const mica_cpu_order *order = &mica_cpu_isa_current()->order[dtype];
    return order->load ? order : NULL;
}

static uint64_t all_bits(const mica_cpu_order *dtype) {
    return ~(uint64_t)0 >> (64 - dtype->bits);
}

uint64_t mica_cpu_order_flip(const mica_cpu_order *dtype, bool descending) {
    return descending ? all_bits(dtype) : 0;
}

/* ---- items ------------------------------------------------------------------------------------*/

/* The words of both zeros; for integers two that no element is taken for another by. */
typedef struct zeros {
    uint64_t minus, plus;
} zeros;

static zeros zeros_of(const mica_cpu_order *dtype, uint64_t flip) {
    uint64_t top = (uint64_t)1 << (dtype->bits - 1);
    if (!dtype->is_float) return (zeros){0, 0};
    return (zeros){(top - 1) ^ flip, top ^ flip};
}

void mica_cpu_order_pack(const mica_cpu_order *dtype, const void *words, const int64_t *places,
                         int64_t n, uint64_t flip, uint64_t *out) {
    const uint32_t *from = words;
    zeros z = zeros_of(dtype, flip);
    uint32_t minus = (uint32_t)z.minus, plus = (uint32_t)z.plus;
    if (places)
        for (int64_t i = 0; i < n; i++) {
            uint32_t word = from[places[i]];
            out[i] = (uint64_t)(word == minus ? plus : word) << 32 | (uint64_t)i;
        }
    else
        for (int64_t i = 0; i < n; i++) {
            uint32_t word = from[i];
            out[i] = (uint64_t)(word == minus ? plus : word) << 32 | (uint64_t)i;
        }
}

static inline uint64_t word_at(const mica_cpu_order *dtype, const void *words, int64_t i) {
    return dtype->bits <= 32 ? ((const uint32_t *)words)[i] : ((const uint64_t *)words)[i];
}

void mica_cpu_order_keys(const mica_cpu_order *dtype, const void *words, const int64_t *places,
                         int64_t n, uint64_t flip, uint64_t *out) {
    zeros z = zeros_of(dtype, flip);
    for (int64_t i = 0; i < n; i++) {
        uint64_t word = word_at(dtype, words, places ? places[i] : i);
        out[i] = word == z.minus ? z.plus : word;
    }
}

void mica_cpu_order_pair(const mica_cpu_order *dtype, const void *words, const int64_t *places,
                         int64_t n, uint64_t flip, cpu_pair *out) {
    zeros z = zeros_of(dtype, flip);
    for (int64_t i = 0; i < n; i++) {
        uint64_t word = word_at(dtype, words, places ? places[i] : i);
        out[i] = (cpu_pair){word == z.minus ? z.plus : word, (uint64_t)i};
    }
}

/* ---- sorts ------------------------------------------------------------------------------------*/

enum {
    RADIX_INSERTION = 32, /* items up to which nothing is counted */
    RADIX_LARGE = 65536,  /* items from which on digits are wide and there are several blocks */
    RADIX_BLOCKS = 32,
    RADIX_WIDE = 11, /* bits of a digit, at most */
    RADIX_NARROW = 8,
};

static int64_t radix_blocks(int64_t n) {
    return n >= RADIX_LARGE ? cpu_min(RADIX_BLOCKS, n / (RADIX_LARGE / 2)) : 1;
}

size_t mica_cpu_radix_counts(int64_t n) {
    int digit = n >= RADIX_LARGE ? RADIX_WIDE : RADIX_NARROW;
    return n <= RADIX_INSERTION ? 0 : (size_t)radix_blocks(n) * sizeof(uint64_t) << digit;
}

#define ITEM uint32_t
#define COUNT uint32_t
#define KEY(item) (item)
#define NAME(x) x##_u32
#include "device/cpu/radix.h"

#define ITEM uint64_t
#define COUNT uint32_t
#define KEY(item) (item)
#define NAME(x) x##_u64
#include "device/cpu/radix.h"

#define ITEM cpu_pair
#define COUNT uint64_t
#define KEY(item) (item).key
#define NAME(x) x##_pair
#include "device/cpu/radix.h"
