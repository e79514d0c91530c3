/* Sums and products of complex numbers. The avx512 variant has none: the avx2 loops serve it. */
#include "device/cpu/isa.h"

#ifndef __AVX512F__
#include "device/cpu/isa/reduce_loops.h"

#define REDUCE_KIND(kind, dtype, IDENTITY)                                                         \
    REDUCE_ONE(kind##_##dtype, mica_##dtype, mica_##kind##_##dtype, IDENTITY)                      \
    REDUCE_ROWS(kind##_##dtype, mica_##dtype)                                                      \
    REDUCE_COLUMNS(kind##_##dtype, mica_##dtype, mica_##dtype, REDUCE_SAME, mica_##kind##_##dtype) \
    REDUCE_COMBINE(kind##_##dtype, mica_##dtype, mica_##kind##_##dtype, IDENTITY)
#define REDUCE_KINDS(dtype)                                                                        \
    REDUCE_KIND(add, dtype, mica_make_##dtype(0, 0))                                               \
    REDUCE_KIND(mul, dtype, mica_make_##dtype(1, 0))                                               \
    REDUCE_STORE(dtype, mica_##dtype, mica_##dtype, REDUCE_SAME)

REDUCE_KINDS(c64)
REDUCE_KINDS(c128)

#define REDUCE_ENTRIES(dtype)                                                                      \
    {                                                                                              \
        [CPU_SUM] = REDUCE_ENTRY(add_##dtype, add_##dtype, mica_##dtype, dtype),                   \
        [CPU_PROD] = REDUCE_ENTRY(mul_##dtype, mul_##dtype, mica_##dtype, dtype)                   \
    }
const mica_cpu_reducer MICA_ISA_NAME(mica_cpu_reduce_complex)[2][CPU_REDUCTION_COUNT] = {
    REDUCE_ENTRIES(c64), REDUCE_ENTRIES(c128)};
#endif
