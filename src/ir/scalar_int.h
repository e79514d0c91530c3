/* ir/scalar_int.h: integers and bool. Part of ir/scalar.h.
 *
 * Arithmetic wraps: it is done in an unsigned type at least 32 bits wide (`wide`), where wrapping
 * is defined, and cut back. Converting an out-of-range value to a signed type keeps its low bits
 * with every compiler supported here. Division never traps: the divisor is replaced before
 * dividing. */
#ifndef MICA_IR_SCALAR_INT_H
#define MICA_IR_SCALAR_INT_H

MICA_SCALAR uint32_t mica_count_bits_32(uint32_t a) {
    a = a - ((a >> 1) & 0x55555555u);
    a = (a & 0x33333333u) + ((a >> 2) & 0x33333333u);
    a = (a + (a >> 4)) & 0x0f0f0f0fu;
    return (a * 0x01010101u) >> 24;
}
MICA_SCALAR uint64_t mica_count_bits_64(uint64_t a) {
    return (uint64_t)mica_count_bits_32((uint32_t)a) + mica_count_bits_32((uint32_t)(a >> 32));
}

/* Bits of a `width` bits wide type, in `wide`, where the bits above are zero. A shift by a negative
 * or too large amount is one by a large amount, since amounts are unsigned there; the amount is cut
 * before shifting, as it would be undefined otherwise. */
#define MICA_INTEGER_BITS(suffix, type, wide, width)                                               \
    MICA_SCALAR wide mica_bits_##suffix(type a) {                                                  \
        return (wide)a & ((wide) ~(wide)0 >> (8 * sizeof(wide) - width));                          \
    }                                                                                              \
    MICA_SCALAR type mica_shl_##suffix(type a, type b) {                                           \
        wide shifted = (wide)a << ((wide)b & (width - 1));                                         \
        return (type)((wide)b < width ? shifted : 0);                                              \
    }                                                                                              \
    MICA_SCALAR type mica_shr_##suffix(type a, type b) {                                           \
        wide shifted = mica_bits_##suffix(a) >> ((wide)b & (width - 1));                           \
        return (type)((wide)b < width ? shifted : 0);                                              \
    }                                                                                              \
    MICA_SCALAR type mica_sar_##suffix(type a, type b) {                                           \
        wide amount = (wide)b < width ? (wide)b : width - 1;                                       \
        wide sign = (wide)0 - (mica_bits_##suffix(a) >> (width - 1)); /* all zeros or all ones */  \
        wide magnitude = mica_bits_##suffix(a) ^ mica_bits_##suffix((type)sign);                   \
        return (type)((magnitude >> amount) ^ sign);                                               \
    }                                                                                              \
    MICA_SCALAR type mica_popcount_##suffix(type a) {                                              \
        return (type)MICA_COUNT_##wide(mica_bits_##suffix(a));                                     \
    }                                                                                              \
    MICA_SCALAR type mica_clz_##suffix(type a) {                                                   \
        wide below = mica_bits_##suffix(a); /* becomes ones from the highest 1 down */             \
        below |= below >> 1;                                                                       \
        below |= below >> 2;                                                                       \
        below |= below >> 4;                                                                       \
        below |= below >> 8;                                                                       \
        below |= below >> 16;                                                                      \
        below |= below >> (4 * sizeof(wide));                                                      \
        return (type)(width - MICA_COUNT_##wide(below));                                           \
    }
#define MICA_COUNT_uint32_t mica_count_bits_32
#define MICA_COUNT_uint64_t mica_count_bits_64

MICA_INTEGER_BITS(i8, int8_t, uint32_t, 8u)
MICA_INTEGER_BITS(i16, int16_t, uint32_t, 16u)
MICA_INTEGER_BITS(i32, int32_t, uint32_t, 32u)
MICA_INTEGER_BITS(i64, int64_t, uint64_t, 64u)
MICA_INTEGER_BITS(u8, uint8_t, uint32_t, 8u)
MICA_INTEGER_BITS(u16, uint16_t, uint32_t, 16u)
MICA_INTEGER_BITS(u32, uint32_t, uint32_t, 32u)
MICA_INTEGER_BITS(u64, uint64_t, uint64_t, 64u)

#define MICA_INTEGER_COMMON(suffix, type, wide)                                                    \
    MICA_SCALAR type mica_neg_##suffix(type a) {                                                   \
        return (type)(0u - (wide)a);                                                               \
    }                                                                                              \
    MICA_SCALAR type mica_add_##suffix(type a, type b) {                                           \
        return (type)((wide)a + (wide)b);                                                          \
    }                                                                                              \
    MICA_SCALAR type mica_sub_##suffix(type a, type b) {                                           \
        return (type)((wide)a - (wide)b);                                                          \
    }                                                                                              \
    MICA_SCALAR type mica_mul_##suffix(type a, type b) {                                           \
        return (type)((wide)a * (wide)b);                                                          \
    }                                                                                              \
    MICA_SCALAR type mica_max_##suffix(type a, type b) {                                           \
        return a > b ? a : b;                                                                      \
    }                                                                                              \
    MICA_SCALAR type mica_min_##suffix(type a, type b) {                                           \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    MICA_SCALAR type mica_not_##suffix(type a) {                                                   \
        return (type) ~(wide)a;                                                                    \
    }                                                                                              \
    MICA_SCALAR type mica_and_##suffix(type a, type b) {                                           \
        return (type)((wide)a & (wide)b);                                                          \
    }                                                                                              \
    MICA_SCALAR type mica_or_##suffix(type a, type b) {                                            \
        return (type)((wide)a | (wide)b);                                                          \
    }                                                                                              \
    MICA_SCALAR type mica_xor_##suffix(type a, type b) {                                           \
        return (type)((wide)a ^ (wide)b);                                                          \
    }

#define MICA_INTEGER_SIGNED(suffix, type, wide, lowest)                                            \
    MICA_INTEGER_COMMON(suffix, type, wide)                                                        \
    MICA_SCALAR type mica_abs_##suffix(type a) {                                                   \
        return (type)(a < 0 ? 0u - (wide)a : (wide)a);                                             \
    }                                                                                              \
    MICA_SCALAR type mica_sign_##suffix(type a) {                                                  \
        return (type)((a > 0) - (a < 0));                                                          \
    }                                                                                              \
    MICA_SCALAR type mica_div_##suffix(type a, type b) {                                           \
        type divisor = ((b == 0) | ((a == (lowest)) & (b == -1))) ? (type)1 : b;                   \
        type quotient = (type)(a / divisor);                                                       \
        return b == 0 ? (type)-1 : quotient;                                                       \
    }                                                                                              \
    MICA_SCALAR type mica_rem_##suffix(type a, type b) {                                           \
        type divisor = ((b == 0) | (b == -1)) ? (type)1 : b;                                       \
        type remainder = (type)(a % divisor);                                                      \
        return b == 0 ? a : remainder;                                                             \
    }

#define MICA_INTEGER_UNSIGNED(suffix, type, wide)                                                  \
    MICA_INTEGER_COMMON(suffix, type, wide)                                                        \
    MICA_SCALAR type mica_abs_##suffix(type a) {                                                   \
        return a;                                                                                  \
    }                                                                                              \
    MICA_SCALAR type mica_sign_##suffix(type a) {                                                  \
        return (type)(a != 0);                                                                     \
    }                                                                                              \
    MICA_SCALAR type mica_div_##suffix(type a, type b) {                                           \
        type quotient = (type)(a / (b == 0 ? (type)1 : b));                                        \
        return b == 0 ? (type) ~(type)0 : quotient;                                                \
    }                                                                                              \
    MICA_SCALAR type mica_rem_##suffix(type a, type b) {                                           \
        type remainder = (type)(a % (b == 0 ? (type)1 : b));                                       \
        return b == 0 ? a : remainder;                                                             \
    }

MICA_INTEGER_SIGNED(i8, int8_t, uint32_t, -128)
MICA_INTEGER_SIGNED(i16, int16_t, uint32_t, -32768)
MICA_INTEGER_SIGNED(i32, int32_t, uint32_t, -2147483647 - 1)
MICA_INTEGER_SIGNED(i64, int64_t, uint64_t, -9223372036854775807 - 1)
MICA_INTEGER_UNSIGNED(u8, uint8_t, uint32_t)
MICA_INTEGER_UNSIGNED(u16, uint16_t, uint32_t)
MICA_INTEGER_UNSIGNED(u32, uint32_t, uint32_t)
MICA_INTEGER_UNSIGNED(u64, uint64_t, uint64_t)

/* A bool is stored as 0 or 1. */
MICA_SCALAR uint8_t mica_not_bool(uint8_t a) {
    return (uint8_t)(a == 0);
}
MICA_SCALAR uint8_t mica_and_bool(uint8_t a, uint8_t b) {
    return (uint8_t)(a & b);
}
MICA_SCALAR uint8_t mica_or_bool(uint8_t a, uint8_t b) {
    return (uint8_t)(a | b);
}
MICA_SCALAR uint8_t mica_xor_bool(uint8_t a, uint8_t b) {
    return (uint8_t)(a ^ b);
}

#endif
