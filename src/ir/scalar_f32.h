/* ir/scalar_f32.h: single precision. Part of ir/scalar.h. */
#ifndef MICA_IR_SCALAR_F32_H
#define MICA_IR_SCALAR_F32_H

MICA_SCALAR float mica_copysign_f32(float magnitude, float sign) {
    return mica_from_bits_f32((mica_bits_f32(magnitude) & 0x7fffffffu) |
                              (mica_bits_f32(sign) & 0x80000000u));
}

MICA_SCALAR float mica_neg_f32(float a) {
    return -a;
}
MICA_SCALAR float mica_abs_f32(float a) {
    return mica_from_bits_f32(mica_bits_f32(a) & 0x7fffffffu);
}
MICA_SCALAR float mica_sign_f32(float a) {
    return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a;
}
MICA_SCALAR float mica_floor_f32(float a) {
    return MICA_FLOOR_F32(a);
}
MICA_SCALAR float mica_ceil_f32(float a) {
    return MICA_CEIL_F32(a);
}
/* Adding and taking away 2^23 rounds to an integer, ties to even; above 2^23 all are integers. */
MICA_SCALAR float mica_round_f32(float a) {
    float magnitude = mica_abs_f32(a);
    float rounded = (magnitude + 8388608.0f) - 8388608.0f;
    return mica_copysign_f32(magnitude < 8388608.0f ? rounded : magnitude, a);
}
MICA_SCALAR float mica_sqrt_f32(float a) {
    return MICA_SQRT_F32(a);
}

#define MICA_THROUGH_F64(f)                                                                        \
    MICA_SCALAR float mica_##f##_f32(float a) {                                                    \
        return (float)mica_##f##_f64((double)a);                                                   \
    }
MICA_THROUGH_F64(exp)
MICA_THROUGH_F64(expm1)
MICA_THROUGH_F64(log)
MICA_THROUGH_F64(log1p)
MICA_THROUGH_F64(rsqrt)
MICA_THROUGH_F64(cbrt)
MICA_THROUGH_F64(sin)
MICA_THROUGH_F64(cos)
MICA_THROUGH_F64(tan)
MICA_THROUGH_F64(asin)
MICA_THROUGH_F64(acos)
MICA_THROUGH_F64(atan)
MICA_THROUGH_F64(sinh)
MICA_THROUGH_F64(cosh)
MICA_THROUGH_F64(tanh)
MICA_THROUGH_F64(asinh)
MICA_THROUGH_F64(acosh)
MICA_THROUGH_F64(atanh)
MICA_THROUGH_F64(erf)
MICA_THROUGH_F64(erfc)
MICA_THROUGH_F64(erfinv)
MICA_THROUGH_F64(lgamma)
MICA_THROUGH_F64(digamma)
MICA_THROUGH_F64(logistic)

MICA_SCALAR float mica_add_f32(float a, float b) {
    return a + b;
}
MICA_SCALAR float mica_sub_f32(float a, float b) {
    return a - b;
}
MICA_SCALAR float mica_mul_f32(float a, float b) {
    return a * b;
}
MICA_SCALAR float mica_div_f32(float a, float b) {
    return a / b;
}
MICA_SCALAR float mica_rem_f32(float a, float b) {
    return (float)mica_rem_f64((double)a, (double)b);
}
MICA_SCALAR float mica_pow_f32(float a, float b) {
    return (float)mica_pow_f64((double)a, (double)b);
}
MICA_SCALAR float mica_atan2_f32(float a, float b) {
    return (float)mica_atan2_f64((double)a, (double)b);
}

/* Equal operands differ in bits only when they are zeros of both signs. */
MICA_SCALAR float mica_max_f32(float a, float b) {
    float equal = mica_from_bits_f32(mica_bits_f32(a) & mica_bits_f32(b));
    float larger = a == b ? equal : a > b ? a : b;
    return a != a ? a : b != b ? b : larger;
}
MICA_SCALAR float mica_min_f32(float a, float b) {
    float equal = mica_from_bits_f32(mica_bits_f32(a) | mica_bits_f32(b));
    float smaller = a == b ? equal : a < b ? a : b;
    return a != a ? a : b != b ? b : smaller;
}

#endif
