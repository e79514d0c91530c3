/* Reductions of integers and bool, which wrap. The avx512 variant has none: the avx2 loops serve
 * it. */
#include "device/cpu/isa.h"

#ifndef __AVX512F__
#include "device/cpu/isa/reduce_loops.h"

#undef bool /* it is pasted into names here */

#define REDUCE_KIND(kind, dtype, type, IDENTITY)                                                   \
    REDUCE_ROWS(kind##_##dtype, type, type, REDUCE_SAME, mica_##kind##_##dtype, IDENTITY)          \
    REDUCE_COLUMNS(kind##_##dtype, type, type, REDUCE_SAME, mica_##kind##_##dtype)                 \
    REDUCE_COMBINE(kind##_##dtype, type, mica_##kind##_##dtype, IDENTITY)
#define REDUCE_BITS(dtype, type, all)                                                              \
    REDUCE_KIND(and, dtype, type, all)                                                             \
    REDUCE_KIND(or, dtype, type, (type)0)                                                          \
    REDUCE_STORE(dtype, type, type, REDUCE_SAME)
#define REDUCE_NUMBERS(dtype, type, lowest, highest)                                               \
    REDUCE_KIND(add, dtype, type, (type)0)                                                         \
    REDUCE_KIND(mul, dtype, type, (type)1)                                                         \
    REDUCE_KIND(max, dtype, type, lowest)                                                          \
    REDUCE_KIND(min, dtype, type, highest)                                                         \
    REDUCE_BITS(dtype, type, (type) ~(type)0)

REDUCE_BITS(bool, uint8_t, 1)
REDUCE_NUMBERS(i8, int8_t, INT8_MIN, INT8_MAX)
REDUCE_NUMBERS(i16, int16_t, INT16_MIN, INT16_MAX)
REDUCE_NUMBERS(i32, int32_t, INT32_MIN, INT32_MAX)
REDUCE_NUMBERS(i64, int64_t, INT64_MIN, INT64_MAX)
REDUCE_NUMBERS(u8, uint8_t, 0, UINT8_MAX)
REDUCE_NUMBERS(u16, uint16_t, 0, UINT16_MAX)
REDUCE_NUMBERS(u32, uint32_t, 0, UINT32_MAX)
REDUCE_NUMBERS(u64, uint64_t, 0, UINT64_MAX)

#define BITS_ENTRIES(dtype, type)                                                                  \
    [CPU_AND] = REDUCE_ENTRY(and_##dtype, and_##dtype, type, dtype), [CPU_OR] = REDUCE_ENTRY(      \
                                                                         or_##dtype, or_##dtype,   \
                                                                         type, dtype)
#define NUMBERS_ENTRIES(dtype, type)                                                               \
    [MICA_DTYPE_##dtype] = {[CPU_SUM] = REDUCE_ENTRY(add_##dtype, add_##dtype, type, dtype),       \
                            [CPU_PROD] = REDUCE_ENTRY(mul_##dtype, mul_##dtype, type, dtype),      \
                            [CPU_MAX] = REDUCE_ENTRY(max_##dtype, max_##dtype, type, dtype),       \
                            [CPU_MIN] = REDUCE_ENTRY(min_##dtype, min_##dtype, type, dtype),       \
                            BITS_ENTRIES(dtype, type)}

const mica_cpu_reducer MICA_ISA_NAME(mica_cpu_reduce_int)[MICA_DTYPE_f16][CPU_REDUCTION_COUNT] = {
    [MICA_DTYPE_bool] = {BITS_ENTRIES(bool, uint8_t)},
    NUMBERS_ENTRIES(i8, int8_t),
    NUMBERS_ENTRIES(i16, int16_t),
    NUMBERS_ENTRIES(i32, int32_t),
    NUMBERS_ENTRIES(i64, int64_t),
    NUMBERS_ENTRIES(u8, uint8_t),
    NUMBERS_ENTRIES(u16, uint16_t),
    NUMBERS_ENTRIES(u32, uint32_t),
    NUMBERS_ENTRIES(u64, uint64_t),
};
#endif
