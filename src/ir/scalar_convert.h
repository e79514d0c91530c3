/* ir/scalar_convert.h: mica_convert_<from>_<to> for every pair of real dtypes. Part of ir/scalar.h.
 *
 * Arguments and results are storage values (uint16_t for f16 and bf16, uint8_t for bool and the
 * 8-bit floats). To a
 * float: rounded once, to nearest even; NaN stays NaN and is made quiet. Float to integer:
 * truncated, saturated, NaN gives 0. Integer to integer: the low bits. To bool: x != 0. */
#ifndef MICA_IR_SCALAR_CONVERT_H
#define MICA_IR_SCALAR_CONVERT_H

/* ---- between floats ------------------------------------------------------------------------- */

MICA_SCALAR float mica_convert_bf16_f32(uint16_t a) {
    uint32_t bits = (uint32_t)a << 16;
    uint32_t quiet = (bits & 0x7fffffffu) > 0x7f800000u ? 0x00400000u : 0u;
    return mica_from_bits_f32(bits | quiet);
}

MICA_SCALAR uint16_t mica_convert_f32_bf16(float a) {
    uint32_t bits = mica_bits_f32(a);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uint32_t nan = (bits >> 16) | 0x0040u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

/* Half: 1 sign, 5 exponent, 10 fraction bits. A denormal is an integer times 2^-24. */
MICA_SCALAR float mica_convert_f16_f32(uint16_t a) {
    uint32_t magnitude = a & 0x7fffu;
    uint32_t normal = (magnitude << 13) + (112u << 23);
    uint32_t special = normal + (112u << 23);
    special |= magnitude > 0x7c00u ? 0x00400000u : 0u;
    uint32_t denormal = mica_bits_f32((float)(int32_t)magnitude * 5.9604644775390625e-08f);
    uint32_t bits = magnitude >= 0x7c00u ? special : magnitude < 0x0400u ? denormal : normal;
    return mica_from_bits_f32(bits | ((uint32_t)(a & 0x8000u) << 16));
}

MICA_SCALAR uint16_t mica_convert_f32_f16(float a) {
    uint32_t magnitude = mica_bits_f32(a) & 0x7fffffffu;
    uint32_t normal = (magnitude + 0x0fffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
    /* Below 2^-14: one unit of 0.5's last place is one unit of the half denormals. */
    uint32_t denormal = mica_bits_f32(mica_from_bits_f32(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x03ffu);
    uint32_t bits = magnitude < 0x38800000u ? denormal : normal;
    bits = magnitude >= 0x477ff000u ? 0x7c00u : bits; /* 65520, halfway to 2^16 */
    bits = magnitude > 0x7f800000u ? nan : bits;
    return (uint16_t)(bits | ((mica_bits_f32(a) >> 16) & 0x8000u));
}

/* f8e4m3fn: 1 sign, 4 exponent, 3 fraction bits, and one NaN where infinity would be and below. A
 * denormal is an integer times 2^-9. */
MICA_SCALAR float mica_convert_f8e4m3fn_f32(uint8_t a) {
    uint32_t magnitude = a & 0x7fu;
    uint32_t normal = (magnitude << 20) + (120u << 23);
    uint32_t denormal = mica_bits_f32((float)(int32_t)magnitude * 0.001953125f);
    uint32_t bits = magnitude < 0x08u ? denormal : normal;
    bits = magnitude == 0x7fu ? 0x7fc00000u : bits;
    return mica_from_bits_f32(bits | ((uint32_t)(a & 0x80u) << 24));
}

MICA_SCALAR uint8_t mica_convert_f32_f8e4m3fn(float a) {
    uint32_t magnitude = mica_bits_f32(a) & 0x7fffffffu;
    uint32_t normal = (magnitude + 0x0007ffffu + ((magnitude >> 20) & 1u) - (120u << 23)) >> 20;
    /* Below 2^-6: one unit of 2^14's last place is one unit of the denormals. */
    uint32_t denormal = mica_bits_f32(mica_from_bits_f32(magnitude) + 16384.0f) - 0x46800000u;
    uint32_t bits = magnitude < 0x3c800000u ? denormal : normal;
    bits = magnitude > 0x43e80000u ? 0x7fu : bits; /* 464, halfway from 448 to what would be next */
    return (uint8_t)(bits | ((mica_bits_f32(a) >> 24) & 0x80u));
}

/* f8e5m2: the upper byte of an f16, with one NaN for all. */
MICA_SCALAR float mica_convert_f8e5m2_f32(uint8_t a) {
    uint32_t upper = (a & 0x7fu) > 0x7cu ? (a & 0x80u) | 0x7eu : a;
    return mica_convert_f16_f32((uint16_t)(upper << 8));
}

MICA_SCALAR uint8_t mica_convert_f32_f8e5m2(float a) {
    uint32_t magnitude = mica_bits_f32(a) & 0x7fffffffu;
    uint32_t normal = (magnitude + 0x000fffffu + ((magnitude >> 21) & 1u) - (112u << 23)) >> 21;
    /* Below 2^-14: one unit of 2^7's last place is one unit of the denormals. */
    uint32_t denormal = mica_bits_f32(mica_from_bits_f32(magnitude) + 128.0f) - 0x43000000u;
    uint32_t bits = magnitude < 0x38800000u ? denormal : normal;
    bits = magnitude >= 0x47700000u ? 0x7cu : bits; /* 61440, halfway to 2^16 */
    bits = magnitude > 0x7f800000u ? 0x7eu : bits;
    return (uint8_t)(bits | ((mica_bits_f32(a) >> 24) & 0x80u));
}

/* Of the two floats around an inexact result, the one whose last bit is set ("round to odd"):
 * rounding it again to fewer bits gives what rounding `a` once would have given. */
MICA_SCALAR float mica_round_to_odd_f32(double a) {
    float nearest = (float)a;
    uint32_t bits = mica_bits_f32(nearest);
    double error = mica_abs_f64(a) - mica_abs_f64((double)nearest);
    uint32_t odd = error > 0.0 ? bits + 1u : bits - 1u;
    int adjust = ((bits & 1u) == 0u) & (error != 0.0) & (error == error);
    return mica_from_bits_f32(adjust ? odd : bits);
}

MICA_SCALAR double mica_convert_f32_f64(float a) {
    return (double)a;
}
MICA_SCALAR float mica_convert_f64_f32(double a) {
    return (float)a;
}
MICA_SCALAR double mica_convert_f16_f64(uint16_t a) {
    return (double)mica_convert_f16_f32(a);
}
MICA_SCALAR double mica_convert_bf16_f64(uint16_t a) {
    return (double)mica_convert_bf16_f32(a);
}
MICA_SCALAR uint16_t mica_convert_f64_f16(double a) {
    return mica_convert_f32_f16(mica_round_to_odd_f32(a));
}
MICA_SCALAR uint16_t mica_convert_f64_bf16(double a) {
    return mica_convert_f32_bf16(mica_round_to_odd_f32(a));
}
MICA_SCALAR uint16_t mica_convert_f16_bf16(uint16_t a) {
    return mica_convert_f32_bf16(mica_convert_f16_f32(a));
}
MICA_SCALAR uint16_t mica_convert_bf16_f16(uint16_t a) {
    return mica_convert_f32_f16(mica_convert_bf16_f32(a));
}
MICA_SCALAR float mica_convert_f32_f32(float a) {
    return a;
}
MICA_SCALAR double mica_convert_f64_f64(double a) {
    return a;
}
MICA_SCALAR uint16_t mica_convert_f16_f16(uint16_t a) {
    return a;
}
MICA_SCALAR uint16_t mica_convert_bf16_bf16(uint16_t a) {
    return a;
}

/* By way of f32, which holds every one of them, and every f16 and bf16. */
#define MICA_FLOAT8_TO_FLOAT(name)                                                                 \
    MICA_SCALAR double mica_convert_##name##_f64(uint8_t a) {                                      \
        return (double)mica_convert_##name##_f32(a);                                               \
    }                                                                                              \
    MICA_SCALAR uint16_t mica_convert_##name##_f16(uint8_t a) {                                    \
        return mica_convert_f32_f16(mica_convert_##name##_f32(a));                                 \
    }                                                                                              \
    MICA_SCALAR uint16_t mica_convert_##name##_bf16(uint8_t a) {                                   \
        return mica_convert_f32_bf16(mica_convert_##name##_f32(a));                                \
    }                                                                                              \
    MICA_SCALAR uint8_t mica_convert_##name##_##name(uint8_t a) {                                  \
        return a;                                                                                  \
    }                                                                                              \
    MICA_SCALAR uint8_t mica_convert_f64_##name(double a) {                                        \
        return mica_convert_f32_##name(mica_round_to_odd_f32(a));                                  \
    }                                                                                              \
    MICA_SCALAR uint8_t mica_convert_f16_##name(uint16_t a) {                                      \
        return mica_convert_f32_##name(mica_convert_f16_f32(a));                                   \
    }                                                                                              \
    MICA_SCALAR uint8_t mica_convert_bf16_##name(uint16_t a) {                                     \
        return mica_convert_f32_##name(mica_convert_bf16_f32(a));                                  \
    }
MICA_FLOAT8_TO_FLOAT(f8e4m3fn)
MICA_FLOAT8_TO_FLOAT(f8e5m2)
MICA_SCALAR uint8_t mica_convert_f8e4m3fn_f8e5m2(uint8_t a) {
    return mica_convert_f32_f8e5m2(mica_convert_f8e4m3fn_f32(a));
}
MICA_SCALAR uint8_t mica_convert_f8e5m2_f8e4m3fn(uint8_t a) {
    return mica_convert_f32_f8e4m3fn(mica_convert_f8e5m2_f32(a));
}

/* ---- float to integer ----------------------------------------------------------------------- */

#define MICA_HALF_TO_INTEGER(to, type)                                                             \
    MICA_SCALAR type mica_convert_f16_##to(uint16_t a) {                                           \
        return mica_convert_f32_##to(mica_convert_f16_f32(a));                                     \
    }                                                                                              \
    MICA_SCALAR type mica_convert_bf16_##to(uint16_t a) {                                          \
        return mica_convert_f32_##to(mica_convert_bf16_f32(a));                                    \
    }                                                                                              \
    MICA_SCALAR type mica_convert_f8e4m3fn_##to(uint8_t a) {                                       \
        return mica_convert_f32_##to(mica_convert_f8e4m3fn_f32(a));                                \
    }                                                                                              \
    MICA_SCALAR type mica_convert_f8e5m2_##to(uint8_t a) {                                         \
        return mica_convert_f32_##to(mica_convert_f8e5m2_f32(a));                                  \
    }

/* The limits are exact in f64 but for the largest 64-bit integers, where the first value too large
 * (a power of two) is the limit instead: below it everything fits. */
#define MICA_FLOAT_TO_INTEGER(to, type, lowest, highest, too_large)                                \
    MICA_SCALAR type mica_convert_f64_##to(double a) {                                             \
        int fits = (a > (double)(lowest)) & (a < (too_large));                                     \
        type inside = (type)(fits ? a : 0.0);                                                      \
        type outside = a >= (too_large) ? (type)(highest) : a == a ? (type)(lowest) : (type)0;     \
        return fits ? inside : outside;                                                            \
    }                                                                                              \
    MICA_SCALAR type mica_convert_f32_##to(float a) {                                              \
        return mica_convert_f64_##to((double)a);                                                   \
    }                                                                                              \
    MICA_HALF_TO_INTEGER(to, type)

/* (-2^31 - 1, 2^31) is what lies within 2^31 + 1/2 of -1/2; where the sum rounds, a and its limit
 * give the same integer. Masks of bits, not selects, so that vectors need few steps. */
MICA_SCALAR int32_t mica_convert_f64_i32(double a) {
    double limit = mica_copysign_f64(2147483647.5, a) - 0.5;
    double inside = mica_abs_f64(a + 0.5) < 2147483648.5 ? a : limit;
    uint64_t number = 0u - (uint64_t)(a == a);
    return (int32_t)mica_from_bits_f64(mica_bits_f64(inside) & number);
}
MICA_SCALAR int32_t mica_convert_f32_i32(float a) {
    float clamped = a > -0x1p31f ? a : -0x1p31f;
    clamped = a < 0x1p31f ? clamped : 0.0f; /* NaN gives 0 here */
    int32_t inside = (int32_t)clamped;
    return a >= 0x1p31f ? 2147483647 : inside;
}
MICA_HALF_TO_INTEGER(i32, int32_t)

/* By way of i32, which saturates later. */
#define MICA_F64_TO_NARROW(to, type, lowest, highest)                                              \
    MICA_SCALAR type mica_convert_f64_##to(double a) {                                             \
        int32_t wide = mica_convert_f64_i32(a);                                                    \
        wide = wide < (lowest) ? (lowest) : wide;                                                  \
        return (type)(wide > (highest) ? (highest) : wide);                                        \
    }
#define MICA_F32_TO_SIGNED(to, type, lowest, highest)                                              \
    MICA_F64_TO_NARROW(to, type, lowest, highest)                                                  \
    MICA_SCALAR type mica_convert_f32_##to(float a) {                                              \
        int32_t wide = mica_convert_f32_i32(a);                                                    \
        wide = wide < (lowest) ? (lowest) : wide;                                                  \
        return (type)(wide > (highest) ? (highest) : wide);                                        \
    }                                                                                              \
    MICA_HALF_TO_INTEGER(to, type)
/* The bits of floats that are not negative are in their order: `highest_bits` are those of the
 * highest. */
#define MICA_F32_TO_UNSIGNED(to, type, highest, highest_bits)                                      \
    MICA_F64_TO_NARROW(to, type, 0, highest)                                                       \
    MICA_SCALAR type mica_convert_f32_##to(float a) {                                              \
        int32_t bits = (int32_t)mica_bits_f32(a), number = -(int32_t)(a == a);                     \
        bits = bits < 0 ? 0 : bits;                                                                \
        bits = bits > (highest_bits) ? (highest_bits) : bits;                                      \
        return (type)(int32_t)mica_from_bits_f32((uint32_t)(bits & number));                       \
    }                                                                                              \
    MICA_HALF_TO_INTEGER(to, type)

MICA_F32_TO_SIGNED(i8, int8_t, -128, 127)
MICA_F32_TO_SIGNED(i16, int16_t, -32768, 32767)
MICA_F32_TO_UNSIGNED(u8, uint8_t, 255, 0x437f0000)
MICA_F32_TO_UNSIGNED(u16, uint16_t, 65535, 0x477fff00)
MICA_FLOAT_TO_INTEGER(i64, int64_t, -9223372036854775807 - 1, 9223372036854775807,
                      9223372036854775808.0)
MICA_FLOAT_TO_INTEGER(u32, uint32_t, 0, 4294967295u, 4294967296.0)
MICA_FLOAT_TO_INTEGER(u64, uint64_t, 0, 18446744073709551615u, 18446744073709551616.0)

MICA_SCALAR uint8_t mica_convert_f32_bool(float a) {
    return (uint8_t)(a != 0.0f);
}
MICA_SCALAR uint8_t mica_convert_f64_bool(double a) {
    return (uint8_t)(a != 0.0);
}
MICA_SCALAR uint8_t mica_convert_f16_bool(uint16_t a) {
    return (uint8_t)((a & 0x7fffu) != 0);
}
MICA_SCALAR uint8_t mica_convert_bf16_bool(uint16_t a) {
    return (uint8_t)((a & 0x7fffu) != 0);
}
MICA_SCALAR uint8_t mica_convert_f8e4m3fn_bool(uint8_t a) {
    return (uint8_t)((a & 0x7fu) != 0);
}
MICA_SCALAR uint8_t mica_convert_f8e5m2_bool(uint8_t a) {
    return (uint8_t)((a & 0x7fu) != 0);
}

/* ---- integer to anything -------------------------------------------------------------------- */

/* A 64-bit magnitude as an f64 rounded to odd: the 11 bits that do not fit become one. */
MICA_SCALAR double mica_magnitude_to_odd_f64(uint64_t a) {
    uint64_t kept = (a & ~(uint64_t)0x7ff) | ((a & 0x7ffu) != 0 ? (uint64_t)0x800 : 0);
    return (double)(a >= ((uint64_t)1 << 53) ? kept : a);
}
MICA_SCALAR uint16_t mica_magnitude_to_bf16(uint64_t a, int negative) {
    uint32_t bits = mica_convert_f64_bf16(mica_magnitude_to_odd_f64(a));
    return (uint16_t)(bits | (negative ? 0x8000u : 0u));
}

/* To f16 and the 8-bit floats by way of f32: what f32 rounds (above 2^24) is beyond them before and
 * after. */
#define MICA_INTEGER_TO_ANY(from, type)                                                            \
    MICA_SCALAR float mica_convert_##from##_f32(type a) {                                          \
        return (float)a;                                                                           \
    }                                                                                              \
    MICA_SCALAR double mica_convert_##from##_f64(type a) {                                         \
        return (double)a;                                                                          \
    }                                                                                              \
    MICA_SCALAR uint16_t mica_convert_##from##_f16(type a) {                                       \
        return mica_convert_f32_f16((float)a);                                                     \
    }                                                                                              \
    MICA_SCALAR uint16_t mica_convert_##from##_bf16(type a) {                                      \
        int negative = a < (type)1 && a != 0;                                                      \
        return mica_magnitude_to_bf16(negative ? 0u - (uint64_t)a : (uint64_t)a, negative);        \
    }                                                                                              \
    MICA_SCALAR uint8_t mica_convert_##from##_f8e4m3fn(type a) {                                   \
        return mica_convert_f32_f8e4m3fn((float)a);                                                \
    }                                                                                              \
    MICA_SCALAR uint8_t mica_convert_##from##_f8e5m2(type a) {                                     \
        return mica_convert_f32_f8e5m2((float)a);                                                  \
    }                                                                                              \
    MICA_SCALAR int8_t mica_convert_##from##_i8(type a) {                                          \
        return (int8_t)a;                                                                          \
    }                                                                                              \
    MICA_SCALAR int16_t mica_convert_##from##_i16(type a) {                                        \
        return (int16_t)a;                                                                         \
    }                                                                                              \
    MICA_SCALAR int32_t mica_convert_##from##_i32(type a) {                                        \
        return (int32_t)a;                                                                         \
    }                                                                                              \
    MICA_SCALAR int64_t mica_convert_##from##_i64(type a) {                                        \
        return (int64_t)a;                                                                         \
    }                                                                                              \
    MICA_SCALAR uint8_t mica_convert_##from##_u8(type a) {                                         \
        return (uint8_t)a;                                                                         \
    }                                                                                              \
    MICA_SCALAR uint16_t mica_convert_##from##_u16(type a) {                                       \
        return (uint16_t)a;                                                                        \
    }                                                                                              \
    MICA_SCALAR uint32_t mica_convert_##from##_u32(type a) {                                       \
        return (uint32_t)a;                                                                        \
    }                                                                                              \
    MICA_SCALAR uint64_t mica_convert_##from##_u64(type a) {                                       \
        return (uint64_t)a;                                                                        \
    }                                                                                              \
    MICA_SCALAR uint8_t mica_convert_##from##_bool(type a) {                                       \
        return (uint8_t)(a != 0);                                                                  \
    }

MICA_INTEGER_TO_ANY(i8, int8_t)
MICA_INTEGER_TO_ANY(i16, int16_t)
MICA_INTEGER_TO_ANY(i32, int32_t)
MICA_INTEGER_TO_ANY(i64, int64_t)
MICA_INTEGER_TO_ANY(u8, uint8_t)
MICA_INTEGER_TO_ANY(u16, uint16_t)
MICA_INTEGER_TO_ANY(u32, uint32_t)
MICA_INTEGER_TO_ANY(u64, uint64_t)
MICA_INTEGER_TO_ANY(bool, uint8_t)

#endif
