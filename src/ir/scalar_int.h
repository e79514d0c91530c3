/* ir/scalar_int.h: integers and bool. Part of ir/scalar.h.
 *
 * Arithmetic wraps: it is done in an unsigned type at least 32 bits wide (`wide`), where wrapping
 * is defined, and cut back. Converting an out-of-range value to a signed type keeps its low bits
 * with every compiler supported here. Division never traps: the divisor is replaced before
 * dividing. */
#ifndef MICA_IR_SCALAR_INT_H
#define MICA_IR_SCALAR_INT_H

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
