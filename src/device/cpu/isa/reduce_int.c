/* Reductions of integers and bool, which wrap. The avx512 variant has none: the avx2 loops serve
 * it. */
#include "device/cpu/isa.h"

#ifndef __AVX512F__
#include "device/cpu/isa/reduce_loops.h"

#undef bool /* it is pasted into names here */

/* Types of 8 and 16 bits are reduced in 32, whose low bits are the answer. */
#define REDUCE_WIDE(kind, dtype, type, IDENTITY)                                                   \
    REDUCE_ONE_ANY_ORDER(kind##_##dtype, type, mica_##kind##_##dtype, IDENTITY)                    \
    REDUCE_ROWS(kind##_##dtype, type)                                                              \
    REDUCE_COLUMNS(kind##_##dtype, type, type, REDUCE_SAME, mica_##kind##_##dtype)                 \
    REDUCE_COMBINE(kind##_##dtype, type, mica_##kind##_##dtype, IDENTITY)
#define REDUCE_WIDE_KINDS(dtype, type, lowest, highest)                                            \
    REDUCE_WIDE(add, dtype, type, (type)0)                                                         \
    REDUCE_WIDE(mul, dtype, type, (type)1)                                                         \
    REDUCE_WIDE(max, dtype, type, lowest)                                                          \
    REDUCE_WIDE(min, dtype, type, highest)                                                         \
    REDUCE_WIDE(and, dtype, type, (type) ~(type)0)                                                 \
    REDUCE_WIDE(or, dtype, type, (type)0)                                                          \
    REDUCE_STORE(dtype, type, type, REDUCE_SAME)
REDUCE_WIDE_KINDS(i32, int32_t, INT32_MIN, INT32_MAX)
REDUCE_WIDE_KINDS(i64, int64_t, INT64_MIN, INT64_MAX)
REDUCE_WIDE_KINDS(u32, uint32_t, 0, UINT32_MAX)
REDUCE_WIDE_KINDS(u64, uint64_t, 0, UINT64_MAX)

/* The identity of a wide maximum, cut to the narrow type, is not the narrow one. */
#define REDUCE_NARROW(kind, dtype, storage, math, compute, IDENTITY)                               \
    REDUCE_NARROW_ROWS(kind##_##dtype, storage, kind##_##math, compute, (compute))                 \
    REDUCE_COLUMNS(kind##_##dtype, storage, compute, (compute), mica_##kind##_##math)              \
    REDUCE_COMBINE(kind##_##dtype, compute, mica_##kind##_##math, IDENTITY)
#define REDUCE_NARROW_BIT(kind, SIGN, dtype, storage, math, compute, IDENTITY, all)                \
    REDUCE_BITS_ROWS(kind##_##dtype, storage, compute, SIGN, all)                                  \
    REDUCE_COLUMNS(kind##_##dtype, storage, compute, (compute), mica_##kind##_##math)              \
    REDUCE_COMBINE(kind##_##dtype, compute, mica_##kind##_##math, IDENTITY)
#define REDUCE_NARROW_BITS(dtype, storage, math, compute, all)                                     \
    REDUCE_NARROW_BIT(and, &, dtype, storage, math, compute, all, ~(uint64_t)0)                    \
    REDUCE_NARROW_BIT(or, |, dtype, storage, math, compute, (compute)0, (uint64_t)0)               \
    REDUCE_STORE(dtype, storage, compute, (storage))
#define REDUCE_NARROW_KINDS(dtype, storage, math, compute, lowest, highest)                        \
    REDUCE_NARROW(add, dtype, storage, math, compute, (compute)0)                                  \
    REDUCE_NARROW(mul, dtype, storage, math, compute, (compute)1)                                  \
    REDUCE_NARROW(max, dtype, storage, math, compute, lowest)                                      \
    REDUCE_NARROW(min, dtype, storage, math, compute, highest)                                     \
    REDUCE_NARROW_BITS(dtype, storage, math, compute, (compute) ~(compute)0)
REDUCE_NARROW_BITS(bool, uint8_t, u32, uint32_t, 1)
REDUCE_NARROW_KINDS(i8, int8_t, i32, int32_t, INT8_MIN, INT8_MAX)
REDUCE_NARROW_KINDS(i16, int16_t, i32, int32_t, INT16_MIN, INT16_MAX)
REDUCE_NARROW_KINDS(u8, uint8_t, u32, uint32_t, 0, UINT8_MAX)
REDUCE_NARROW_KINDS(u16, uint16_t, u32, uint32_t, 0, UINT16_MAX)

/* Narrow numbers are widened in a buffer of CPU_REDUCE_BLOCK; bits are taken as they are. */
#define BITS_ENTRIES(dtype, type)                                                                  \
    [CPU_AND] = REDUCE_ENTRY_OF(and_##dtype, and_##dtype, type, dtype, CPU_REDUCE_LONG),           \
    [CPU_OR] = REDUCE_ENTRY_OF(or_##dtype, or_##dtype, type, dtype, CPU_REDUCE_LONG)
#define NUMBERS_ENTRIES(dtype, type, block)                                                        \
    [MICA_DTYPE_##                                                                                 \
        dtype] = {[CPU_SUM] = REDUCE_ENTRY_OF(add_##dtype, add_##dtype, type, dtype, block),       \
                  [CPU_PROD] = REDUCE_ENTRY_OF(mul_##dtype, mul_##dtype, type, dtype, block),      \
                  [CPU_MAX] = REDUCE_ENTRY_OF(max_##dtype, max_##dtype, type, dtype, block),       \
                  [CPU_MIN] = REDUCE_ENTRY_OF(min_##dtype, min_##dtype, type, dtype, block),       \
                  BITS_ENTRIES(dtype, type)}

const mica_cpu_reducer MICA_ISA_NAME(mica_cpu_reduce_int)[MICA_DTYPE_f16][CPU_REDUCTION_COUNT] = {
    [MICA_DTYPE_bool] = {BITS_ENTRIES(bool, uint32_t)},
    NUMBERS_ENTRIES(i8, int32_t, CPU_REDUCE_BLOCK),
    NUMBERS_ENTRIES(i16, int32_t, CPU_REDUCE_BLOCK),
    NUMBERS_ENTRIES(i32, int32_t, CPU_REDUCE_LONG),
    NUMBERS_ENTRIES(i64, int64_t, CPU_REDUCE_LONG),
    NUMBERS_ENTRIES(u8, uint32_t, CPU_REDUCE_BLOCK),
    NUMBERS_ENTRIES(u16, uint32_t, CPU_REDUCE_BLOCK),
    NUMBERS_ENTRIES(u32, uint32_t, CPU_REDUCE_LONG),
    NUMBERS_ENTRIES(u64, uint64_t, CPU_REDUCE_LONG),
};
#endif
