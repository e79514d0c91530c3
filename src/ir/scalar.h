/* ir/scalar.h: one mathematics. The scalar functions behind ops.def's expressions.
 *
 * M(f) in an expression is mica_<f>_<dtype>: mica_tanh_f32, mica_add_i8, mica_not_bool. The dtypes
 * f16 and bf16 compute in f32 and convert at the edges; c64 and c128 are structs of two parts
 * (ir/scalar_complex.h). Conversions are mica_convert_<from>_<to>, for every pair of real dtypes,
 * on storage values.
 *
 * What must stay true:
 * - A function gives the same bits in every build: fused multiply-adds are written out
 * (MICA_FMA_*), compilers are told not to contract, and nothing depends on the instruction set.
 * - f32 and integer functions have no branches, only selects, so that compilers vectorise loops
 *   over them, and call no library, so that the same text is C, CUDA C and OpenCL C. Everything
 * that is language dependent is in this file. So are f64 elementary functions; others go through
 *   libm, as do sin, cos and tan of large arguments.
 * - f32 functions are within 2 ulp for all inputs (docs/numerics.md has the measured table).
 * - No input is undefined behaviour.
 */
#ifndef MICA_IR_SCALAR_H
#define MICA_IR_SCALAR_H

#if defined(__CUDACC__) /* NVRTC defines it as well, and has no C library headers */

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

#define MICA_SCALAR static __device__ __forceinline__
#define MICA_CALLED static __device__
#define MICA_FMA_F32(a, b, c) __fmaf_rn(a, b, c)
#define MICA_FMA_F64(a, b, c) __fma_rn(a, b, c)
#define MICA_SQRT_F32(a) __fsqrt_rn(a)
#define MICA_SQRT_F64(a) __dsqrt_rn(a)
#define MICA_FLOOR_F32(a) floorf(a)
#define MICA_CEIL_F32(a) ceilf(a)
#define MICA_TRUNC_F64(a) trunc(a)
#define MICA_LGAMMA_F64(a) lgamma(a)
#define MICA_INF_F32 __int_as_float(0x7f800000)
#define MICA_NAN_F32 __int_as_float(0x7fc00000)
#define MICA_INF_F64 __longlong_as_double(0x7ff0000000000000ll)
#define MICA_NAN_F64 __longlong_as_double(0x7ff8000000000000ll)

MICA_SCALAR uint32_t mica_bits_f32(float a) {
    return __float_as_uint(a);
}
MICA_SCALAR float mica_from_bits_f32(uint32_t a) {
    return __uint_as_float(a);
}
MICA_SCALAR uint64_t mica_bits_f64(double a) {
    return (uint64_t)__double_as_longlong(a);
}
MICA_SCALAR double mica_from_bits_f64(uint64_t a) {
    return __longlong_as_double((int64_t)a);
}

#else

#include <math.h>
#include <stdint.h>
#include <string.h>

#define MICA_SCALAR static inline __attribute__((always_inline, unused))
#define MICA_CALLED static __attribute__((unused)) /* too large to be in every loop */
#define MICA_FMA_F32(a, b, c) __builtin_fmaf(a, b, c)
#define MICA_FMA_F64(a, b, c) __builtin_fma(a, b, c)
#define MICA_SQRT_F32(a) __builtin_sqrtf(a)
#define MICA_SQRT_F64(a) __builtin_sqrt(a)
#define MICA_FLOOR_F32(a) __builtin_floorf(a)
#define MICA_CEIL_F32(a) __builtin_ceilf(a)
#define MICA_TRUNC_F64(a) __builtin_trunc(a)
#define MICA_INF_F32 __builtin_inff()
#define MICA_NAN_F32 __builtin_nanf("")
#define MICA_INF_F64 __builtin_inf()
#define MICA_NAN_F64 __builtin_nan("")

MICA_SCALAR uint32_t mica_bits_f32(float a) {
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}
MICA_SCALAR float mica_from_bits_f32(uint32_t bits) {
    float a;
    memcpy(&a, &bits, sizeof a);
    return a;
}
MICA_SCALAR uint64_t mica_bits_f64(double a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}
MICA_SCALAR double mica_from_bits_f64(uint64_t bits) {
    double a;
    memcpy(&a, &bits, sizeof a);
    return a;
}
/* lgamma itself writes the global signgam, which is a race. */
MICA_SCALAR double mica_lgamma_without_sign(double a) {
    int sign;
    return lgamma_r(a, &sign);
}
#define MICA_LGAMMA_F64(a) mica_lgamma_without_sign(a)

#endif

#include "ir/scalar_int.h"
/* f64 before f32: where f32 arithmetic cannot reach 2 ulp, f32 functions compute in f64. */
#include "ir/scalar_elementary.h"

#include "ir/scalar_f64.h"

#include "ir/scalar_wide.h"

#include "ir/scalar_f32.h"

#include "ir/scalar_special.h"

#include "ir/scalar_complex.h"

#include "ir/scalar_gamma.h"

#include "ir/scalar_convert.h"

#endif
