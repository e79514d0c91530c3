/* Reductions over ranks as a binary tree: neighbours first, then neighbouring pairs, ... One that
 * has no neighbour waits for the next level. What transform/shard.c puts in front of a collective
 * adds up the shards of a rank in the same order, with the device's kernels; the scalar functions
 * are the same. */
#include "dist/communicator.h"
#include "ir/scalar.h"

#define PLAIN(f, name, a, b) mica_##f##_##name(a, b)
#define HALF(f, name, a, b)                                                                        \
    mica_convert_f32_##name(                                                                       \
        mica_##f##_f32(mica_convert_##name##_f32(a), mica_convert_##name##_f32(b)))

#define LOOP(form, f, name, type)                                                                  \
    do {                                                                                           \
        type *to = (type *)(void *)x;                                                              \
        const type *from = (const type *)(const void *)y;                                          \
        for (int64_t i = 0; i < count; i++) to[i] = form(f, name, to[i], from[i]);                 \
    } while (0)

#define ORDERED(form, name, type)                                                                  \
    case MICA_DTYPE_##name:                                                                        \
        if (kind == MICA_DIST_SUM)                                                                 \
            LOOP(form, add, name, type);                                                           \
        else if (kind == MICA_DIST_MAX)                                                            \
            LOOP(form, max, name, type);                                                           \
        else                                                                                       \
            LOOP(form, min, name, type);                                                           \
        break;

static void combine(mica_dist_kind kind, mica_dtype dtype, uint8_t *x, const uint8_t *y,
                    int64_t count) {
    switch ((int)dtype) {
        ORDERED(PLAIN, i8, int8_t)
        ORDERED(PLAIN, i16, int16_t)
        ORDERED(PLAIN, i32, int32_t)
        ORDERED(PLAIN, i64, int64_t)
        ORDERED(PLAIN, u8, uint8_t)
        ORDERED(PLAIN, u16, uint16_t)
        ORDERED(PLAIN, u32, uint32_t)
        ORDERED(PLAIN, u64, uint64_t)
        ORDERED(HALF, f16, uint16_t)
        ORDERED(HALF, bf16, uint16_t)
        ORDERED(PLAIN, f32, float)
        ORDERED(PLAIN, f64, double)
    case MICA_DTYPE_c64: LOOP(PLAIN, add, c64, mica_c64); break;
    case MICA_DTYPE_c128: LOOP(PLAIN, add, c128, mica_c128); break;
    }
}

bool dist_can_reduce(mica_dist_kind kind, mica_dtype dtype) {
    if (kind != MICA_DIST_SUM && kind != MICA_DIST_MAX && kind != MICA_DIST_MIN) return false;
    if (dtype <= MICA_DTYPE_bool || dtype >= MICA_DTYPE_COUNT) return false;
    return kind == MICA_DIST_SUM || mica_dtype_kind_of(dtype) != MICA_KIND_COMPLEX;
}

void dist_tree(mica_dist_kind kind, mica_dtype dtype, uint8_t **parts, int32_t n, int64_t count) {
    for (int32_t stride = 1; stride < n; stride *= 2)
        for (int32_t i = 0; i + stride < n; i += 2 * stride)
            combine(kind, dtype, parts[i], parts[i + stride], count);
}
