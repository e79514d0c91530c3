/* Reductions of floats. f16 and bf16 are accumulated in f32. */
#include "device/cpu/isa/reduce_loops.h"

#define LOWEST_f32 (-MICA_INF_F32)
#define HIGHEST_f32 MICA_INF_F32
#define LOWEST_f64 (-MICA_INF_F64)
#define HIGHEST_f64 MICA_INF_F64

#define REDUCE_KIND(kind, dtype, storage, math, compute, LOAD, IDENTITY)                           \
    REDUCE_ROWS(kind##_##dtype, storage, compute, LOAD, mica_##kind##_##math, IDENTITY)            \
    REDUCE_COLUMNS(kind##_##dtype, storage, compute, LOAD, mica_##kind##_##math)
#define REDUCE_KINDS(dtype, storage, math, compute, LOAD)                                          \
    REDUCE_KIND(add, dtype, storage, math, compute, LOAD, (compute)0)                              \
    REDUCE_KIND(mul, dtype, storage, math, compute, LOAD, (compute)1)                              \
    REDUCE_KIND(max, dtype, storage, math, compute, LOAD, LOWEST_##math)                           \
    REDUCE_KIND(min, dtype, storage, math, compute, LOAD, HIGHEST_##math)
#define REDUCE_MATH(math, compute)                                                                 \
    REDUCE_COMBINE(add_##math, compute, mica_add_##math, (compute)0)                               \
    REDUCE_COMBINE(mul_##math, compute, mica_mul_##math, (compute)1)                               \
    REDUCE_COMBINE(max_##math, compute, mica_max_##math, LOWEST_##math)                            \
    REDUCE_COMBINE(min_##math, compute, mica_min_##math, HIGHEST_##math)

REDUCE_KINDS(f16, uint16_t, f32, float, mica_convert_f16_f32)
REDUCE_KINDS(bf16, uint16_t, f32, float, mica_convert_bf16_f32)
REDUCE_KINDS(f32, float, f32, float, REDUCE_SAME)
REDUCE_KINDS(f64, double, f64, double, REDUCE_SAME)
REDUCE_MATH(f32, float)
REDUCE_MATH(f64, double)
REDUCE_STORE(f16, uint16_t, float, mica_convert_f32_f16)
REDUCE_STORE(bf16, uint16_t, float, mica_convert_f32_bf16)
REDUCE_STORE(f32, float, float, REDUCE_SAME)
REDUCE_STORE(f64, double, double, REDUCE_SAME)

#define REDUCE_ENTRIES(dtype, math, compute)                                                       \
    [MICA_DTYPE_##dtype -                                                                          \
        MICA_DTYPE_f16] = {[CPU_SUM] = REDUCE_ENTRY(add_##dtype, add_##math, compute, dtype),      \
                           [CPU_PROD] = REDUCE_ENTRY(mul_##dtype, mul_##math, compute, dtype),     \
                           [CPU_MAX] = REDUCE_ENTRY(max_##dtype, max_##math, compute, dtype),      \
                           [CPU_MIN] = REDUCE_ENTRY(min_##dtype, min_##math, compute, dtype)}

const mica_cpu_reducer MICA_ISA_NAME(mica_cpu_reduce_float)[4][CPU_REDUCTION_COUNT] = {
    REDUCE_ENTRIES(f16, f32, float), REDUCE_ENTRIES(bf16, f32, float),
    REDUCE_ENTRIES(f32, f32, float), REDUCE_ENTRIES(f64, f64, double)};
