/* One loop per MAP row of ops.def that takes complex numbers. The avx512 variant has none: the avx2
 * loops serve it. */
#include "device/cpu/isa.h"

#ifndef __AVX512F__
#include "device/cpu/isa/map_loops.h"
#include "ir/scalar.h"

/* The result has the type of the expression: that of abs is real. */
#define COMPLEX_DEFINE(op, arity, expression)                                                      \
    static void CPU_NAME(op)(const void *const *x, void *result, int64_t n) {                      \
        CPU_MAP_POINTERS_##arity CPU_INDEPENDENT for (int64_t i = 0; i < n; i++) {                 \
            CPU_MAP_VALUES_##arity((__typeof__(expression) *)result)[i] = expression;              \
        }                                                                                          \
    }

#define MICA_OP CPU_MAP_ROW
#define CPU_TAKES_FLOATS(...)
#define CPU_TAKES_NUMBERS(...)
#define CPU_TAKES_INTEGERS(...)
#define CPU_TAKES_BITS(...)
#define CPU_TAKES_FLOATS_COMPLEX(...) COMPLEX_DEFINE(__VA_ARGS__)
#define CPU_TAKES_NUMBERS_COMPLEX(...) COMPLEX_DEFINE(__VA_ARGS__)

#define M(f) mica_##f##_c64
#define CPU_ELEMENT mica_c64
#define CPU_NAME(op) op##_c64
#include "mica/ops.def"
#undef M
#undef CPU_ELEMENT
#undef CPU_NAME

#define M(f) mica_##f##_c128
#define CPU_ELEMENT mica_c128
#define CPU_NAME(op) op##_c128
#include "mica/ops.def"
#undef CPU_NAME

#undef CPU_TAKES_FLOATS_COMPLEX
#undef CPU_TAKES_NUMBERS_COMPLEX
#define CPU_TAKES_FLOATS_COMPLEX(...) CPU_MAP_ENTRY(__VA_ARGS__)
#define CPU_TAKES_NUMBERS_COMPLEX(...) CPU_MAP_ENTRY(__VA_ARGS__)
const mica_cpu_map MICA_ISA_NAME(mica_cpu_map_complex)[2][MICA_OP_COUNT] = {
#define CPU_NAME(op) op##_c64
    {
#include "mica/ops.def"
    },
#undef CPU_NAME
#define CPU_NAME(op) op##_c128
    {
#include "mica/ops.def"
    },
};
#endif
