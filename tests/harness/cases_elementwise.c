/* Cases of MAP and ELEMENTWISE rows. Shapes, dtypes and special values come from the harness; a
 * case says where derivatives are checked and how exact the function is. */
#include "harness.h"

#define UNARY(name_, low_, high_, ulps_, ...)                                                      \
    {                                                                                              \
        .op = MICA_OP_##name_, .n_operands = 1, .operands = {SHAPED(VARIES, low_, high_, 2, 3)},   \
        .ulps = ulps_, __VA_ARGS__                                                                 \
    }
#define BINARY(name_, low0, high0, low1, high1, ulps_, ...)                                        \
    {                                                                                              \
        .op = MICA_OP_##name_, .n_operands = 2,                                                    \
        .operands = {SHAPED(VARIES, low0, high0, 2, 3), SHAPED(VARIES, low1, high1, 2, 3)},        \
        .ulps = ulps_, __VA_ARGS__                                                                 \
    }
#define COMPARE(direction_)                                                                        \
    BINARY(compare, 0, 0, 0, 0, 0, .name = direction_, .attributes = {A_STRING(direction_)},       \
           .dtypes = REAL_DTYPES)
#define CONVERT(to, ...)                                                                           \
    UNARY(convert, 0, 0, 0, .name = "to " #to,                                                     \
          .attributes = {{.kind = MICA_ATTR_DTYPE, .as.integer = MICA_DTYPE_##to}},                \
          .dtypes = REAL_DTYPES " f8e4m3fn f8e5m2", __VA_ARGS__)

#define PRECISION(name_, exponent, mantissa, ...)                                                  \
    UNARY(reduce_precision, 0, 0, 0, .name = "to " name_,                                          \
          .attributes = {A_INT(exponent), A_INT(mantissa)}, __VA_ARGS__)

#define REAL_DTYPES "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64"
#define COMPLEX_DTYPES "c64 c128"

static const op_case cases[] = {
    UNARY(neg, 0, 0, 0),
    UNARY(abs, 0.3, 2, 0),
    UNARY(abs, -2, -0.3, 0, .name = "of negatives", .dtypes = "i32 f32 f64"),
    UNARY(sign, 0.3, 2, 0),
    UNARY(floor, 1.1, 1.9, 0),
    UNARY(ceil, 1.1, 1.9, 0),
    UNARY(round, 1.6, 2.4, 0),
    UNARY(exp, -2, 2, 2),
    UNARY(expm1, -2, 2, 2),
    UNARY(log, 0.2, 3, 2),
    UNARY(log1p, -0.5, 2, 2),
    UNARY(sqrt, 0.2, 3, 0),
    UNARY(rsqrt, 0.2, 3, 2),
    UNARY(cbrt, 0.2, 3, 2),
    UNARY(cbrt, -3, -0.2, 2, .name = "of negatives", .dtypes = "f32 f64"),
    UNARY(sin, -2, 2, 2, .largest = 1048576),
    UNARY(cos, -2, 2, 2, .largest = 1048576),
    UNARY(tan, -1.2, 1.2, 2, .largest = 1048576),
    UNARY(asin, -0.9, 0.9, 2),
    UNARY(acos, -0.9, 0.9, 2),
    UNARY(atan, -2, 2, 2),
    UNARY(sinh, -2, 2, 2),
    UNARY(cosh, -2, 2, 2),
    UNARY(tanh, -2, 2, 2),
    UNARY(asinh, -2, 2, 2),
    UNARY(acosh, 1.2, 3, 2),
    UNARY(atanh, -0.8, 0.8, 2),
    UNARY(erf, -2, 2, 2),
    UNARY(erfc, -2, 2, 2),
    UNARY(erfinv, -0.9, 0.9, 2),
    UNARY(lgamma, 0.4, 4, 2, .absolute = 1e-6, .flags = ZEROS_ALIKE),
    UNARY(lgamma, -1.7, -1.3, 2, .name = "of negatives", .dtypes = "f64", .absolute = 1e-6),
    UNARY(digamma, 0.4, 4, 2, .absolute = 1e-6),
    UNARY(digamma, -1.7, -1.3, 2, .name = "of negatives", .dtypes = "f64", .absolute = 1e-6),
    UNARY(logistic, -2, 2, 2),
    UNARY(not, 0, 0, 0),
    UNARY(popcount, 0, 0, 0),
    UNARY(clz, 0, 0, 0),

    BINARY(add, 0, 0, 0, 0, 0),
    BINARY(sub, 0, 0, 0, 0, 0),
    BINARY(mul, 0, 0, 0, 0, 0),
    BINARY(div, 0, 0, 0.5, 2, 0),
    BINARY(rem, 2.2, 2.8, 1, 1.09, 0),
    BINARY(rem, -2.8, -2.2, -1.09, -1, 0, .name = "of negatives", .dtypes = "i32 f32 f64"),
    BINARY(pow, 0.3, 2, -2, 2, 2, .dtypes = "f16 bf16 f32 f64"),
    BINARY(max, 0, 0, 0, 0, 0, .flags = DISTINCT),
    BINARY(min, 0, 0, 0, 0, 0, .flags = DISTINCT),
    BINARY(atan2, -2, 2, 0.5, 2, 2),
    BINARY(atan2, 0.5, 2, -2, -0.5, 2, .name = "to the left", .dtypes = "f32 f64"),
    BINARY(igamma, 0.5, 4, 0.3, 5, 2, .absolute = 2e-7, .largest = 1048576),
    BINARY(igamma, 11, 15, 8, 20, 2, .name = "of large numbers", .dtypes = "f32 f64",
           .absolute = 2e-7, .largest = 1048576),
    BINARY(and, 0, 0, 0, 0, 0),
    BINARY(or, 0, 0, 0, 0, 0),
    BINARY(xor, 0, 0, 0, 0, 0),
    BINARY(shl, 0, 0, -3, 70, 0),
    BINARY(shl, 0, 0, 0, 9, 0, .name = "by little"),
    BINARY(shr, 0, 0, -3, 70, 0),
    BINARY(shr, 0, 0, 0, 9, 0, .name = "by little"),
    BINARY(sar, 0, 0, -3, 70, 0),
    BINARY(sar, 0, 0, 0, 9, 0, .name = "by little"),
    {.op = MICA_OP_clamp,
     .n_operands = 3,
     .operands = {OF(2, 3), OF(2, 3), OF(2, 3)},
     .flags = DISTINCT},

    BINARY(nextafter, 0, 0, 0, 0, 0, .flags = DISTINCT),
    BINARY(nextafter, 0, 0, 0, 0, 0, .name = "of special values", .flags = SPRINKLED),
    UNARY(is_finite, 0, 0, 0),
    COMPARE("eq"),
    COMPARE("ne"),
    COMPARE("lt"),
    COMPARE("le"),
    COMPARE("gt"),
    COMPARE("ge"),
    BINARY(compare, 0, 0, 0, 0, 0, .name = "of complex numbers", .attributes = {A_STRING("eq")},
           .dtypes = COMPLEX_DTYPES),
    {.op = MICA_OP_select,
     .n_operands = 3,
     .operands = {SHAPED(MICA_DTYPE_bool, 0, 0, 2, 3), OF(2, 3), OF(2, 3)}},
    CONVERT(bool),
    CONVERT(i8),
    CONVERT(i16),
    CONVERT(i32),
    CONVERT(i64),
    CONVERT(u8),
    CONVERT(u16),
    CONVERT(u32),
    CONVERT(u64),
    CONVERT(f16, .flags = COARSE),
    CONVERT(bf16, .flags = COARSE),
    CONVERT(f8e4m3fn, .flags = COARSE),
    CONVERT(f8e5m2, .flags = COARSE),
    CONVERT(f32, .noise = 1e-3),
    CONVERT(f64),
    CONVERT(c64, .noise = 1e-3),
    CONVERT(c128),
    PRECISION("f64", 11, 52),
    PRECISION("f32", 8, 23, .flags = COARSE),
    PRECISION("f16", 5, 10, .flags = COARSE),
    PRECISION("bf16", 8, 7, .flags = COARSE),
    PRECISION("few bits", 4, 3, .flags = COARSE),
    PRECISION("the fewest bits", 2, 1, .flags = COARSE),
    PRECISION("a small range", 3, 52, .flags = COARSE),
#define CONVERT_COMPLEX(to, ...)                                                                   \
    UNARY(convert, 0, 0, 0, .name = "of complex numbers to " #to,                                  \
          .attributes = {{.kind = MICA_ATTR_DTYPE, .as.integer = MICA_DTYPE_##to}},                \
          .dtypes = COMPLEX_DTYPES, __VA_ARGS__)
    CONVERT_COMPLEX(bool),
    CONVERT_COMPLEX(i32),
    CONVERT_COMPLEX(u8),
    CONVERT_COMPLEX(f16, .flags = COARSE),
    CONVERT_COMPLEX(f32, .noise = 1e-3),
    CONVERT_COMPLEX(f64),
    CONVERT_COMPLEX(c64, .noise = 1e-3),
    CONVERT_COMPLEX(c128),

    UNARY(real, 0, 0, 0),
    UNARY(real, 0, 0, 0, .name = "of complex numbers", .dtypes = COMPLEX_DTYPES),
    UNARY(imag, 0, 0, 0),
    UNARY(imag, 0, 0, 0, .name = "of complex numbers", .dtypes = COMPLEX_DTYPES),
    UNARY(conj, 0, 0, 0),
    UNARY(conj, 0, 0, 0, .name = "of complex numbers", .dtypes = COMPLEX_DTYPES),
    BINARY(complex, 0, 0, 0, 0, 0),
    UNARY(sign, 0, 0, 0, .name = "of complex numbers", .dtypes = COMPLEX_DTYPES),
    UNARY(acosh, -3, -0.2, 2, .name = "to the left", .dtypes = COMPLEX_DTYPES),
    BINARY(mul, 0, 0, 0, 0, 0, .name = "of complex numbers", .dtypes = COMPLEX_DTYPES),
    /* Where infinite numbers go, numpy and libraries do not agree. */
    BINARY(pow, 0.3, 2, -2, 2, 2, .name = "of complex numbers", .dtypes = COMPLEX_DTYPES,
           .flags = AS_GIVEN),
    {.op = MICA_OP_pow,
     .name = "of many complex numbers",
     .n_operands = 2,
     .operands = {OF(700), OF(700)},
     .dtypes = COMPLEX_DTYPES,
     .flags = AS_GIVEN | LARGE | COARSE},
};

const case_table elementwise_cases = {cases, sizeof cases / sizeof *cases};
