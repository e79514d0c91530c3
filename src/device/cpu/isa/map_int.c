/* One loop per MAP row of ops.def that takes integers or bool. The avx512 variant has none: the
 * avx2 loops serve it. */
#include "device/cpu/isa.h"

#ifndef __AVX512F__
#include "device/cpu/isa/map_loops.h"
#include "ir/scalar.h"

#define MICA_OP CPU_MAP_ROW
#define CPU_TAKES_FLOATS(...)
#define CPU_TAKES_FLOATS_COMPLEX(...)
#define CPU_TAKES_NUMBERS(...) CPU_MAP_DEFINE(__VA_ARGS__)
#define CPU_TAKES_NUMBERS_COMPLEX(...) CPU_MAP_DEFINE(__VA_ARGS__)
#define CPU_TAKES_INTEGERS(...) CPU_MAP_DEFINE(__VA_ARGS__)
#define CPU_TAKES_BITS(...) CPU_MAP_DEFINE(__VA_ARGS__)

#define M(f) mica_##f##_i8
#define CPU_ELEMENT int8_t
#define CPU_NAME(op) op##_i8
#include "mica/ops.def"
#undef M
#undef CPU_ELEMENT
#undef CPU_NAME

#define M(f) mica_##f##_i16
#define CPU_ELEMENT int16_t
#define CPU_NAME(op) op##_i16
#include "mica/ops.def"
#undef M
#undef CPU_ELEMENT
#undef CPU_NAME

#define M(f) mica_##f##_i32
#define CPU_ELEMENT int32_t
#define CPU_NAME(op) op##_i32
#include "mica/ops.def"
#undef M
#undef CPU_ELEMENT
#undef CPU_NAME

#define M(f) mica_##f##_i64
#define CPU_ELEMENT int64_t
#define CPU_NAME(op) op##_i64
#include "mica/ops.def"
#undef M
#undef CPU_ELEMENT
#undef CPU_NAME

#define M(f) mica_##f##_u8
#define CPU_ELEMENT uint8_t
#define CPU_NAME(op) op##_u8
#include "mica/ops.def"
#undef M
#undef CPU_ELEMENT
#undef CPU_NAME

#define M(f) mica_##f##_u16
#define CPU_ELEMENT uint16_t
#define CPU_NAME(op) op##_u16
#include "mica/ops.def"
#undef M
#undef CPU_ELEMENT
#undef CPU_NAME

#define M(f) mica_##f##_u32
#define CPU_ELEMENT uint32_t
#define CPU_NAME(op) op##_u32
#include "mica/ops.def"
#undef M
#undef CPU_ELEMENT
#undef CPU_NAME

#define M(f) mica_##f##_u64
#define CPU_ELEMENT uint64_t
#define CPU_NAME(op) op##_u64
#include "mica/ops.def"
#undef M
#undef CPU_ELEMENT
#undef CPU_NAME

#undef CPU_TAKES_NUMBERS
#undef CPU_TAKES_NUMBERS_COMPLEX
#undef CPU_TAKES_INTEGERS
#define CPU_TAKES_NUMBERS(...)
#define CPU_TAKES_NUMBERS_COMPLEX(...)
#define CPU_TAKES_INTEGERS(...)
#define M(f) mica_##f##_bool
#define CPU_ELEMENT uint8_t
#define CPU_NAME(op) op##_bool
#include "mica/ops.def"
#undef CPU_NAME

#undef CPU_TAKES_BITS
#define CPU_TAKES_BITS(...) CPU_MAP_ENTRY(__VA_ARGS__)
const mica_cpu_map MICA_ISA_NAME(mica_cpu_map_int)[MICA_DTYPE_f16][MICA_OP_COUNT] = {
#define CPU_NAME(op) op##_bool
    [MICA_DTYPE_bool] =
        {
#include "mica/ops.def"
        },
#undef CPU_NAME
#undef CPU_TAKES_NUMBERS
#undef CPU_TAKES_NUMBERS_COMPLEX
#undef CPU_TAKES_INTEGERS
#define CPU_TAKES_NUMBERS(...) CPU_MAP_ENTRY(__VA_ARGS__)
#define CPU_TAKES_NUMBERS_COMPLEX(...) CPU_MAP_ENTRY(__VA_ARGS__)
#define CPU_TAKES_INTEGERS(...) CPU_MAP_ENTRY(__VA_ARGS__)
#define CPU_NAME(op) op##_i8
    [MICA_DTYPE_i8] =
        {
#include "mica/ops.def"
        },
#undef CPU_NAME
#define CPU_NAME(op) op##_i16
    [MICA_DTYPE_i16] =
        {
#include "mica/ops.def"
        },
#undef CPU_NAME
#define CPU_NAME(op) op##_i32
    [MICA_DTYPE_i32] =
        {
#include "mica/ops.def"
        },
#undef CPU_NAME
#define CPU_NAME(op) op##_i64
    [MICA_DTYPE_i64] =
        {
#include "mica/ops.def"
        },
#undef CPU_NAME
#define CPU_NAME(op) op##_u8
    [MICA_DTYPE_u8] =
        {
#include "mica/ops.def"
        },
#undef CPU_NAME
#define CPU_NAME(op) op##_u16
    [MICA_DTYPE_u16] =
        {
#include "mica/ops.def"
        },
#undef CPU_NAME
#define CPU_NAME(op) op##_u32
    [MICA_DTYPE_u32] =
        {
#include "mica/ops.def"
        },
#undef CPU_NAME
#define CPU_NAME(op) op##_u64
    [MICA_DTYPE_u64] =
        {
#include "mica/ops.def"
        },
};
#endif
