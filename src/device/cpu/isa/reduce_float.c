/* Reductions of floats. f16 and bf16 are accumulated in f32. */
#include <string.h>

#include "device/cpu/isa/reduce_loops.h"

#define LOWEST_f32 (-MICA_INF_F32)
#define HIGHEST_f32 MICA_INF_F32
#define LOWEST_f64 (-MICA_INF_F64)
#define HIGHEST_f64 MICA_INF_F64

#define WORD_f32 uint32_t
#define WORD_f64 uint64_t
#define INFINITE_f32 0x7f800000u
#define INFINITE_f64 0x7ff0000000000000u
#define NAN_f32 MICA_NAN_F32
#define NAN_f64 MICA_NAN_F64

#if defined(__AVX2__)
#define VECTOR_BYTES 32 /* in kernels of 64 bytes too: memory is read faster in halves of lines */
#else
#define VECTOR_BYTES 16
#endif
#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

/* name##_whole is name##_one for n that is a multiple of the lanes. */
#define REDUCE_WHOLE_ROWS(name, compute, SIGN, IDENTITY)                                           \
    typedef compute name##_vector __attribute__((vector_size(VECTOR_BYTES)));                      \
    static inline compute name##_whole(const compute *row, int64_t n) {                            \
        enum { EACH = VECTOR_BYTES / (int)sizeof(compute), VECTORS = CPU_REDUCE_LANES / EACH };    \
        name##_vector lanes[VECTORS], x;                                                           \
        compute last[EACH];                                                                        \
        UNROLLED for (int v = 0; v < VECTORS; v++) lanes[v] = (name##_vector){0} + IDENTITY;       \
        for (int64_t i = 0; i < n; i += CPU_REDUCE_LANES)                                          \
            UNROLLED for (int v = 0; v < VECTORS; v++) {                                           \
                memcpy(&x, row + i + v * EACH, sizeof x);                                          \
                lanes[v] = lanes[v] SIGN x;                                                        \
            }                                                                                      \
        UNROLLED for (int w = VECTORS / 2; w > 0; w /= 2) UNROLLED for (int v = 0; v < w; v++)     \
            lanes[v] = lanes[v] SIGN lanes[v + w];                                                 \
        memcpy(last, lanes, sizeof last);                                                          \
        UNROLLED for (int w = EACH / 2; w > 0; w /= 2) UNROLLED for (int l = 0; l < w; l++)        \
            last[l] = last[l] SIGN last[l + w];                                                    \
        return last[0];                                                                            \
    }                                                                                              \
    static void name##_rows(const void *x, const int64_t *offsets, int64_t count, int64_t n,       \
                            void *acc) {                                                           \
        for (int64_t r = 0; r < count; r++) {                                                      \
            const compute *row = (const compute *)x + offsets[r];                                  \
            ((compute *)acc)[r] =                                                                  \
                n % CPU_REDUCE_LANES ? name##_one(row, n) : name##_whole(row, n);                  \
        }                                                                                          \
    }

#define REDUCE_WIDE(kind, math, compute, SIGN, IDENTITY)                                           \
    REDUCE_ONE(kind##_##math, compute, mica_##kind##_##math, IDENTITY)                             \
    REDUCE_WHOLE_ROWS(kind##_##math, compute, SIGN, IDENTITY)                                      \
    REDUCE_COLUMNS(kind##_##math, compute, compute, REDUCE_SAME, mica_##kind##_##math)             \
    REDUCE_COMBINE(kind##_##math, compute, mica_##kind##_##math, IDENTITY)
#define REDUCE_SELECT(kind, math, compute, BETTER, SIGN, IDENTITY)                                 \
    REDUCE_BEST(kind##_##math, compute, WORD_##math, mica_bits_##math, mica_from_bits_##math,      \
                BETTER, SIGN, IDENTITY, INFINITE_##math, NAN_##math)                               \
    REDUCE_ROWS(kind##_##math, compute)                                                            \
    REDUCE_COMBINE(kind##_##math, compute, mica_##kind##_##math, IDENTITY)
#define REDUCE_HALF(kind, dtype)                                                                   \
    REDUCE_NARROW_ROWS(kind##_##dtype, uint16_t, kind##_f32, float, mica_convert_##dtype##_f32)    \
    REDUCE_COLUMNS(kind##_##dtype, uint16_t, float, mica_convert_##dtype##_f32, mica_##kind##_f32)
#define REDUCE_KINDS(math, compute)                                                                \
    REDUCE_WIDE(add, math, compute, +, (compute)0)                                                 \
    REDUCE_WIDE(mul, math, compute, *, (compute)1)                                                 \
    REDUCE_SELECT(max, math, compute, >, &, LOWEST_##math)                                         \
    REDUCE_SELECT(min, math, compute, <, |, HIGHEST_##math)

REDUCE_KINDS(f32, float)
REDUCE_KINDS(f64, double)
REDUCE_HALF(add, f16)
REDUCE_HALF(mul, f16)
REDUCE_HALF(max, f16)
REDUCE_HALF(min, f16)
REDUCE_HALF(add, bf16)
REDUCE_HALF(mul, bf16)
REDUCE_HALF(max, bf16)
REDUCE_HALF(min, bf16)
REDUCE_STORE(f16, uint16_t, float, mica_convert_f32_f16)
REDUCE_STORE(bf16, uint16_t, float, mica_convert_f32_bf16)
REDUCE_STORE(f32, float, float, REDUCE_SAME)
REDUCE_STORE(f64, double, double, REDUCE_SAME)

#define REDUCE_ENTRIES(dtype, math, compute, block)                                                \
    [MICA_DTYPE_##dtype - MICA_DTYPE_f16] = {                                                      \
        [CPU_SUM] = REDUCE_ENTRY(add_##dtype, add_##math, compute, dtype),                         \
        [CPU_PROD] = REDUCE_ENTRY(mul_##dtype, mul_##math, compute, dtype),                        \
        [CPU_MAX] = REDUCE_ENTRY_OF(max_##dtype, max_##math, compute, dtype, block),               \
        [CPU_MIN] = REDUCE_ENTRY_OF(min_##dtype, min_##math, compute, dtype, block)}

const mica_cpu_reducer MICA_ISA_NAME(mica_cpu_reduce_float)[4][CPU_REDUCTION_COUNT] = {
    REDUCE_ENTRIES(f16, f32, float, CPU_REDUCE_BLOCK),
    REDUCE_ENTRIES(bf16, f32, float, CPU_REDUCE_BLOCK),
    REDUCE_ENTRIES(f32, f32, float, CPU_REDUCE_LONG),
    REDUCE_ENTRIES(f64, f64, double, CPU_REDUCE_LONG)};
