/* compare, select, is_finite, nextafter, convert and the parts of complex numbers: elementwise
 * loops whose result has another dtype or that work on bits. The avx512 variant has none: the avx2
 * loops serve it. */
#include "device/cpu/isa.h"

#ifndef __AVX512F__
#include "ir/scalar.h"

#undef bool /* it is pasted into names here */

/* ---- compare -------------------------------------------------------------------------------- */

#define COMPARE_LOOP(name, type, expression)                                                       \
    static void name(const void *const *x, void *result, int64_t n) {                              \
        const type *xa = (const type *)x[0], *xb = (const type *)x[1];                             \
        uint8_t *y = (uint8_t *)result;                                                            \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type a = xa[i], b = xb[i];                                                             \
            y[i] = (uint8_t)(expression);                                                          \
        }                                                                                          \
    }
#define COMPARE_LOOPS(dtype, type)                                                                 \
    COMPARE_LOOP(eq_##dtype, type, a == b)                                                         \
    COMPARE_LOOP(ne_##dtype, type, a != b)                                                         \
    COMPARE_LOOP(lt_##dtype, type, a < b)                                                          \
    COMPARE_LOOP(le_##dtype, type, a <= b)

COMPARE_LOOPS(i8, int8_t)
COMPARE_LOOPS(i16, int16_t)
COMPARE_LOOPS(i32, int32_t)
COMPARE_LOOPS(i64, int64_t)
COMPARE_LOOPS(u8, uint8_t)
COMPARE_LOOPS(u16, uint16_t)
COMPARE_LOOPS(u32, uint32_t)
COMPARE_LOOPS(u64, uint64_t)
COMPARE_LOOPS(f32, float)
COMPARE_LOOPS(f64, double)

COMPARE_LOOP(eq_c64, mica_c64, (a.real == b.real) & (a.imaginary == b.imaginary))
COMPARE_LOOP(ne_c64, mica_c64, (a.real != b.real) | (a.imaginary != b.imaginary))
COMPARE_LOOP(eq_c128, mica_c128, (a.real == b.real) & (a.imaginary == b.imaginary))
COMPARE_LOOP(ne_c128, mica_c128, (a.real != b.real) | (a.imaginary != b.imaginary))

#define COMPARE_ENTRIES(direction)                                                                 \
    {                                                                                              \
        [MICA_DTYPE_bool] = direction##_u8, [MICA_DTYPE_i8] = direction##_i8,                      \
        [MICA_DTYPE_i16] = direction##_i16, [MICA_DTYPE_i32] = direction##_i32,                    \
        [MICA_DTYPE_i64] = direction##_i64, [MICA_DTYPE_u8] = direction##_u8,                      \
        [MICA_DTYPE_u16] = direction##_u16, [MICA_DTYPE_u32] = direction##_u32,                    \
        [MICA_DTYPE_u64] = direction##_u64, [MICA_DTYPE_f32] = direction##_f32,                    \
        [MICA_DTYPE_f64] = direction##_f64, COMPARE_COMPLEX_##direction                            \
    }
#define COMPARE_COMPLEX_eq [MICA_DTYPE_c64] = eq_c64, [MICA_DTYPE_c128] = eq_c128
#define COMPARE_COMPLEX_ne [MICA_DTYPE_c64] = ne_c64, [MICA_DTYPE_c128] = ne_c128
#define COMPARE_COMPLEX_lt
#define COMPARE_COMPLEX_le

/* ---- select: bytes are moved, whatever they mean ----------------------------------------------
 */

/* Complex elements are aligned to their parts only. */
typedef uint8_t __attribute__((may_alias)) bits8;
typedef uint16_t __attribute__((may_alias)) bits16;
typedef uint32_t __attribute__((may_alias)) bits32;
typedef uint64_t __attribute__((may_alias, aligned(4))) bits64;
typedef struct bits128 {
    uint64_t low, high;
} __attribute__((may_alias, aligned(8))) bits128;

#define SELECT_LOOP(name, type)                                                                    \
    static void name(const void *const *x, void *result, int64_t n) {                              \
        const uint8_t *condition = (const uint8_t *)x[0];                                          \
        const type *xa = (const type *)x[1], *xb = (const type *)x[2];                             \
        type *y = (type *)result;                                                                  \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type a = xa[i], b = xb[i];                                                             \
            y[i] = condition[i] ? a : b;                                                           \
        }                                                                                          \
    }
SELECT_LOOP(select_1, bits8)
SELECT_LOOP(select_2, bits16)
SELECT_LOOP(select_4, bits32)
SELECT_LOOP(select_8, bits64)
SELECT_LOOP(select_16, bits128)

/* ---- is_finite: not all exponent bits are set --------------------------------------------------
 */

#define FINITE_LOOP(name, type, exponent)                                                          \
    static void name(const void *const *x, void *result, int64_t n) {                              \
        const type *xa = (const type *)x[0];                                                       \
        uint8_t *y = (uint8_t *)result;                                                            \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) y[i] = (uint8_t)((xa[i] & (exponent)) != (exponent));      \
    }
FINITE_LOOP(finite_f16, bits16, 0x7c00u)
FINITE_LOOP(finite_bf16, bits16, 0x7f80u)
FINITE_LOOP(finite_f32, bits32, 0x7f800000u)
FINITE_LOOP(finite_f64, bits64, 0x7ff0000000000000u)

#define FINITE_PARTS_LOOP(name, type, exponent)                                                    \
    static void name(const void *const *x, void *result, int64_t n) {                              \
        const type *xa = (const type *)x[0];                                                       \
        uint8_t *y = (uint8_t *)result;                                                            \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = (uint8_t)(((xa[2 * i] & (exponent)) != (exponent)) &                            \
                             ((xa[2 * i + 1] & (exponent)) != (exponent)));                        \
    }
FINITE_PARTS_LOOP(finite_c64, bits32, 0x7f800000u)
FINITE_PARTS_LOOP(finite_c128, bits64, 0x7ff0000000000000u)

/* ---- nextafter: magnitudes are in the order of their bits -------------------------------------
 */

/* `infinity` has the bits of the magnitude; larger magnitudes are NaN. In two's complement order a
 * negative number is the complement of its magnitude, so that one comparison orders all. */
#define NEXT_LOOP(name, type, order, sign, infinity)                                               \
    static void name(const void *const *x, void *result, int64_t n) {                              \
        const type *xa = (const type *)x[0], *xb = (const type *)x[1];                             \
        type *y = (type *)result;                                                                  \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type a = xa[i], b = xb[i];                                                             \
            type size_a = (type)(a & ((sign)-1u)), size_b = (type)(b & ((sign)-1u));               \
            order place_a = (order)(a & (sign) ? (type)~size_a : a);                               \
            order place_b = (order)(b & (sign) ? (type)~size_b : b);                               \
            int up = place_b > place_a, away = up == !(a & (sign));                                \
            type next = (type)(away ? a + 1u : a - 1u);                                            \
            next = size_a == 0 ? (type)((b & (sign)) | 1u) : next;                                 \
            next = ((a == b) | ((size_a | size_b) == 0)) ? b : next;                               \
            next = size_b > (infinity) ? b : next;                                                 \
            y[i] = size_a > (infinity) ? a : next;                                                 \
        }                                                                                          \
    }
NEXT_LOOP(next_f16, bits16, int16_t, 0x8000u, 0x7c00u)
NEXT_LOOP(next_bf16, bits16, int16_t, 0x8000u, 0x7f80u)
NEXT_LOOP(next_f32, bits32, int32_t, 0x80000000u, 0x7f800000u)
NEXT_LOOP(next_f64, bits64, int64_t, 0x8000000000000000u, 0x7ff0000000000000u)

/* ---- reduce_precision ------------------------------------------------------------------------ */

/* Normal numbers round in their bits, where a carry runs into the exponent; denormals by adding and
 * taking away a number with their last place. */
static void round_to_format(const mica_cpu_precision *format, const double *x, double *y,
                            int64_t n) {
    const int32_t drop = format->drop;
    const uint64_t odd = drop > 0, dropped = ((uint64_t)1 << drop) - 1, below_half = dropped >> 1;
    const double smallest = format->smallest, shift = format->denormal_shift,
                 largest = format->largest;
    CPU_INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        double a = x[i], size = mica_abs_f64(a);
        uint64_t bits = mica_bits_f64(size);
        double normal = mica_from_bits_f64((bits + below_half + ((bits >> drop) & odd)) & ~dropped);
        double denormal = (size + shift) - shift;
        double rounded = size < smallest ? denormal : normal;
        rounded = rounded > largest ? MICA_INF_F64 : rounded;
        y[i] = a != a ? a : mica_copysign_f64(rounded, a);
    }
}

/* ---- convert: every pair of dtypes ------------------------------------------------------------
 */

#define CONVERT_LOOP(from, from_type, to, to_type)                                                 \
    static void from##_to_##to(const void *const *x, void *result, int64_t n) {                    \
        const from_type *xa = (const from_type *)x[0];                                             \
        to_type *y = (to_type *)result;                                                            \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) y[i] = mica_convert_##from##_##to(xa[i]);                  \
    }
/* A real number is the real part, the imaginary part is 0. */
#define COMPLEX_LOOP(from, from_type, to, part, part_type)                                         \
    static void from##_to_##to(const void *const *x, void *result, int64_t n) {                    \
        const from_type *xa = (const from_type *)x[0];                                             \
        part_type *y = (part_type *)result;                                                        \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                          \
            y[2 * i] = mica_convert_##from##_##part(xa[i]);                                        \
            y[2 * i + 1] = 0;                                                                      \
        }                                                                                          \
    }
/* Between complex dtypes both parts convert alike. */
#define PARTS_LOOP(from, to, real_loop)                                                            \
    static void from##_to_##to(const void *const *x, void *result, int64_t n) {                    \
        real_loop(x, result, 2 * n);                                                               \
    }
#define CONVERT_LOOPS(from, type)                                                                  \
    CONVERT_LOOP(from, type, bool, uint8_t)                                                        \
    CONVERT_LOOP(from, type, i8, int8_t)                                                           \
    CONVERT_LOOP(from, type, i16, int16_t)                                                         \
    CONVERT_LOOP(from, type, i32, int32_t)                                                         \
    CONVERT_LOOP(from, type, i64, int64_t)                                                         \
    CONVERT_LOOP(from, type, u8, uint8_t)                                                          \
    CONVERT_LOOP(from, type, u16, uint16_t)                                                        \
    CONVERT_LOOP(from, type, u32, uint32_t)                                                        \
    CONVERT_LOOP(from, type, u64, uint64_t)                                                        \
    CONVERT_LOOP(from, type, f16, uint16_t)                                                        \
    CONVERT_LOOP(from, type, bf16, uint16_t)                                                       \
    CONVERT_LOOP(from, type, f32, float)                                                           \
    CONVERT_LOOP(from, type, f64, double)                                                          \
    CONVERT_LOOP(from, type, f8e4m3fn, uint8_t)                                                    \
    CONVERT_LOOP(from, type, f8e5m2, uint8_t)                                                      \
    COMPLEX_LOOP(from, type, c64, f32, float)                                                      \
    COMPLEX_LOOP(from, type, c128, f64, double)
#define CONVERT_ENTRIES(from)                                                                      \
    [MICA_DTYPE_##from] = {                                                                        \
        [MICA_DTYPE_bool] = from##_to_bool,    [MICA_DTYPE_i8] = from##_to_i8,                     \
        [MICA_DTYPE_i16] = from##_to_i16,      [MICA_DTYPE_i32] = from##_to_i32,                   \
        [MICA_DTYPE_i64] = from##_to_i64,      [MICA_DTYPE_u8] = from##_to_u8,                     \
        [MICA_DTYPE_u16] = from##_to_u16,      [MICA_DTYPE_u32] = from##_to_u32,                   \
        [MICA_DTYPE_u64] = from##_to_u64,      [MICA_DTYPE_f16] = from##_to_f16,                   \
        [MICA_DTYPE_bf16] = from##_to_bf16,    [MICA_DTYPE_f32] = from##_to_f32,                   \
        [MICA_DTYPE_f64] = from##_to_f64,      [MICA_DTYPE_c64] = from##_to_c64,                   \
        [MICA_DTYPE_c128] = from##_to_c128,    [MICA_DTYPE_f8e4m3fn] = from##_to_f8e4m3fn,         \
        [MICA_DTYPE_f8e5m2] = from##_to_f8e5m2}

CONVERT_LOOPS(bool, uint8_t)
CONVERT_LOOPS(i8, int8_t)
CONVERT_LOOPS(i16, int16_t)
CONVERT_LOOPS(i32, int32_t)
CONVERT_LOOPS(i64, int64_t)
CONVERT_LOOPS(u8, uint8_t)
CONVERT_LOOPS(u16, uint16_t)
CONVERT_LOOPS(u32, uint32_t)
CONVERT_LOOPS(u64, uint64_t)
CONVERT_LOOPS(f16, uint16_t)
CONVERT_LOOPS(bf16, uint16_t)
CONVERT_LOOPS(f32, float)
CONVERT_LOOPS(f64, double)
CONVERT_LOOPS(f8e4m3fn, uint8_t)
CONVERT_LOOPS(f8e5m2, uint8_t)
PARTS_LOOP(c64, c64, f32_to_f32)
PARTS_LOOP(c64, c128, f32_to_f64)
PARTS_LOOP(c128, c64, f64_to_f32)
PARTS_LOOP(c128, c128, f64_to_f64)

/* Of a complex number the real part converts; to bool is whether either part is not 0. */
#define FROM_COMPLEX_LOOP(from, part, part_type, to, to_type)                                      \
    static void from##_to_##to(const void *const *x, void *result, int64_t n) {                    \
        const part_type *xa = (const part_type *)x[0];                                             \
        to_type *y = (to_type *)result;                                                            \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) y[i] = mica_convert_##part##_##to(xa[2 * i]);              \
    }
#define FROM_COMPLEX_LOOPS(from, part, type)                                                       \
    FROM_COMPLEX_LOOP(from, part, type, i8, int8_t)                                                \
    FROM_COMPLEX_LOOP(from, part, type, i16, int16_t)                                              \
    FROM_COMPLEX_LOOP(from, part, type, i32, int32_t)                                              \
    FROM_COMPLEX_LOOP(from, part, type, i64, int64_t)                                              \
    FROM_COMPLEX_LOOP(from, part, type, u8, uint8_t)                                               \
    FROM_COMPLEX_LOOP(from, part, type, u16, uint16_t)                                             \
    FROM_COMPLEX_LOOP(from, part, type, u32, uint32_t)                                             \
    FROM_COMPLEX_LOOP(from, part, type, u64, uint64_t)                                             \
    FROM_COMPLEX_LOOP(from, part, type, f16, uint16_t)                                             \
    FROM_COMPLEX_LOOP(from, part, type, bf16, uint16_t)                                            \
    FROM_COMPLEX_LOOP(from, part, type, f32, float)                                                \
    FROM_COMPLEX_LOOP(from, part, type, f64, double)                                               \
    FROM_COMPLEX_LOOP(from, part, type, f8e4m3fn, uint8_t)                                         \
    FROM_COMPLEX_LOOP(from, part, type, f8e5m2, uint8_t)                                           \
    static void from##_to_bool(const void *const *x, void *result, int64_t n) {                    \
        const type *xa = (const type *)x[0];                                                       \
        uint8_t *y = (uint8_t *)result;                                                            \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) y[i] = (uint8_t)((xa[2 * i] != 0) | (xa[2 * i + 1] != 0)); \
    }
FROM_COMPLEX_LOOPS(c64, f32, float)
FROM_COMPLEX_LOOPS(c128, f64, double)

/* ---- real, imag, conj, complex ----------------------------------------------------------------
 */

#define PART_LOOPS(dtype, type)                                                                    \
    static void real_##dtype(const void *const *x, void *result, int64_t n) {                      \
        const mica_##dtype *xa = (const mica_##dtype *)x[0];                                       \
        type *y = (type *)result;                                                                  \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) y[i] = xa[i].real;                                         \
    }                                                                                              \
    static void imag_##dtype(const void *const *x, void *result, int64_t n) {                      \
        const mica_##dtype *xa = (const mica_##dtype *)x[0];                                       \
        type *y = (type *)result;                                                                  \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) y[i] = xa[i].imaginary;                                    \
    }                                                                                              \
    static void conj_##dtype(const void *const *x, void *result, int64_t n) {                      \
        const mica_##dtype *xa = (const mica_##dtype *)x[0];                                       \
        mica_##dtype *y = (mica_##dtype *)result;                                                  \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) y[i] = mica_conj_##dtype(xa[i]);                           \
    }                                                                                              \
    static void join_##dtype(const void *const *x, void *result, int64_t n) {                      \
        const type *xa = (const type *)x[0], *xb = (const type *)x[1];                             \
        mica_##dtype *y = (mica_##dtype *)result;                                                  \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) y[i] = mica_make_##dtype(xa[i], xb[i]);                    \
    }
PART_LOOPS(c64, float)
PART_LOOPS(c128, double)

/* Real numbers are their own real part and conjugate. */
#define SAME_LOOP(bytes)                                                                           \
    static void same_##bytes(const void *const *x, void *result, int64_t n) {                      \
        if (x[0] != result) memcpy(result, x[0], (size_t)n *bytes);                                \
    }                                                                                              \
    static void zero_##bytes(const void *const *x, void *result, int64_t n) {                      \
        (void)x;                                                                                   \
        memset(result, 0, (size_t)n *bytes);                                                       \
    }
SAME_LOOP(1)
SAME_LOOP(2)
SAME_LOOP(4)
SAME_LOOP(8)
#define PART_ENTRIES(on_real, on_complex)                                                          \
    {                                                                                              \
        [MICA_DTYPE_i8] = on_real##_1, [MICA_DTYPE_u8] = on_real##_1,                              \
        [MICA_DTYPE_i16] = on_real##_2, [MICA_DTYPE_u16] = on_real##_2,                            \
        [MICA_DTYPE_f16] = on_real##_2, [MICA_DTYPE_bf16] = on_real##_2,                           \
        [MICA_DTYPE_i32] = on_real##_4, [MICA_DTYPE_u32] = on_real##_4,                            \
        [MICA_DTYPE_f32] = on_real##_4, [MICA_DTYPE_i64] = on_real##_8,                            \
        [MICA_DTYPE_u64] = on_real##_8, [MICA_DTYPE_f64] = on_real##_8,                            \
        [MICA_DTYPE_c64] = on_complex##_c64, [MICA_DTYPE_c128] = on_complex##_c128                 \
    }

const mica_cpu_elementwise MICA_ISA_NAME(mica_cpu_elementwise) = {
    .compare = {[CPU_EQ] = COMPARE_ENTRIES(eq),
                [CPU_NE] = COMPARE_ENTRIES(ne),
                [CPU_LT] = COMPARE_ENTRIES(lt),
                [CPU_LE] = COMPARE_ENTRIES(le)},
    .select = {select_1, select_2, select_4, select_8, select_16},
    .is_finite = {[MICA_DTYPE_f16] = finite_f16,
                  [MICA_DTYPE_bf16] = finite_bf16,
                  [MICA_DTYPE_f32] = finite_f32,
                  [MICA_DTYPE_f64] = finite_f64,
                  [MICA_DTYPE_c64] = finite_c64,
                  [MICA_DTYPE_c128] = finite_c128},
    .nextafter = {[MICA_DTYPE_f16] = next_f16,
                  [MICA_DTYPE_bf16] = next_bf16,
                  [MICA_DTYPE_f32] = next_f32,
                  [MICA_DTYPE_f64] = next_f64},
    .reduce_precision = round_to_format,
    .convert = {CONVERT_ENTRIES(bool), CONVERT_ENTRIES(i8), CONVERT_ENTRIES(i16),
                CONVERT_ENTRIES(i32), CONVERT_ENTRIES(i64), CONVERT_ENTRIES(u8),
                CONVERT_ENTRIES(u16), CONVERT_ENTRIES(u32), CONVERT_ENTRIES(u64),
                CONVERT_ENTRIES(f16), CONVERT_ENTRIES(bf16), CONVERT_ENTRIES(f32),
                CONVERT_ENTRIES(f64), CONVERT_ENTRIES(f8e4m3fn), CONVERT_ENTRIES(f8e5m2),
                CONVERT_ENTRIES(c64), CONVERT_ENTRIES(c128)},
    .real = PART_ENTRIES(same, real),
    .imag = PART_ENTRIES(zero, imag),
    .conj = PART_ENTRIES(same, conj),
    .join = {[MICA_DTYPE_f32] = join_c64, [MICA_DTYPE_f64] = join_c128},
};
#endif
