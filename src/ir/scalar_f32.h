/* ir/scalar_f32.h: single precision, elementary functions. Part of ir/scalar.h.
 *
 * The functions that models spend their time in (exp, log, tanh, erf and their like) and cbrt use
 * f32 arithmetic alone; the others compute in f64 (scalar_wide.h) and round once at the end. NaN
 * passes through arithmetic, and selects are written so that a comparison with NaN keeps it. */
#ifndef MICA_IR_SCALAR_F32_H
#define MICA_IR_SCALAR_F32_H

MICA_SCALAR float mica_copysign_f32(float magnitude, float sign) {
    return mica_from_bits_f32((mica_bits_f32(magnitude) & 0x7fffffffu) |
                              (mica_bits_f32(sign) & 0x80000000u));
}

/* ---- exact ---------------------------------------------------------------------------------- */

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
    float rounded = (magnitude + 0x1p23f) - 0x1p23f;
    return mica_copysign_f32(magnitude < 0x1p23f ? rounded : magnitude, a);
}
MICA_SCALAR float mica_sqrt_f32(float a) {
    return MICA_SQRT_F32(a);
}
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

/* Equal operands differ in bits only when they are zeros of both signs. */
MICA_SCALAR float mica_max_f32(float a, float b) {
    float equal = mica_from_bits_f32(mica_bits_f32(a) & mica_bits_f32(b));
    float larger = a > b ? a : b; /* b when b is NaN */
    larger = a == b ? equal : larger;
    return a != a ? a : larger;
}
MICA_SCALAR float mica_min_f32(float a, float b) {
    float equal = mica_from_bits_f32(mica_bits_f32(a) | mica_bits_f32(b));
    float smaller = a < b ? a : b; /* b when b is NaN */
    smaller = a == b ? equal : smaller;
    return a != a ? a : smaller;
}

/* The remainder, exact: long division in digits of 28 bits. Before each step the remainder is below
 * 2^28 times the shifted divisor, so the quotient's digit is exact in f64, and what remains is
 * again a multiple of the divisor's last place. */
#define MICA_REM_STEP(k) r = MICA_FMA_F64(-MICA_TRUNC_F64(r / (y * 0x1p##k)), y * 0x1p##k, r)
MICA_SCALAR float mica_rem_f32(float a, float b) {
    double r = mica_abs_f64((double)a), y = mica_abs_f64((double)b);
    MICA_REM_STEP(252);
    MICA_REM_STEP(224);
    MICA_REM_STEP(196);
    MICA_REM_STEP(168);
    MICA_REM_STEP(140);
    MICA_REM_STEP(112);
    MICA_REM_STEP(84);
    MICA_REM_STEP(56);
    MICA_REM_STEP(28);
    MICA_REM_STEP(0);
    float magnitude = (float)r;
    magnitude = mica_abs_f32(b) == MICA_INF_F32 ? mica_abs_f32(a) : magnitude;
    int undefined = (mica_abs_f32(a) == MICA_INF_F32) | (b == 0.0f) | (a != a) | (b != b);
    return undefined ? MICA_NAN_F32 : mica_copysign_f32(magnitude, a);
}

/* ---- exponentials --------------------------------------------------------------------------- */

/* 2^n, for -126 <= n <= 127. */
MICA_SCALAR float mica_power_of_two_f32(int32_t n) {
    return mica_from_bits_f32((uint32_t)(n + 127) << 23);
}
/* e^a = 2^n (1 + result), |a| < 2^20; the reduced argument is exact but for its last rounding. */
MICA_SCALAR float mica_exp_parts_f32(float a, int32_t *n) {
    float shifted = MICA_FMA_F32(a, 0x1.715476p+0f, 0x1.8p23f);
    float whole = shifted - 0x1.8p23f;
    *n = (int32_t)(mica_bits_f32(shifted) - 0x4b400000u);
    float r = MICA_FMA_F32(whole, -0x1.62e430p-1f, a);
    r = MICA_FMA_F32(whole, 0x1.05c610p-29f, r);
    float q = 0x1.a2a6b8p-13f;
    q = MICA_FMA_F32(q, r, 0x1.6d84c4p-10f);
    q = MICA_FMA_F32(q, r, 0x1.11101cp-7f);
    q = MICA_FMA_F32(q, r, 0x1.55549ep-5f);
    q = MICA_FMA_F32(q, r, 0x1.555556p-3f);
    q = MICA_FMA_F32(q, r, 0x1.000000p-1f);
    return MICA_FMA_F32(q, r * r, r);
}
/* For |a| < 87, where neither 2^n nor the result leaves the normal numbers. */
MICA_SCALAR float mica_exp_normal_f32(float a) {
    int32_t n;
    float p = mica_exp_parts_f32(a, &n), scale = mica_power_of_two_f32(n);
    return MICA_FMA_F32(scale, p, scale);
}
/* 2^n in two factors, so that only the last product rounds, also to denormals. */
MICA_SCALAR float mica_exp_f32(float a) {
    int32_t n;
    float x = mica_abs_f32(a) > 104.0f ? mica_copysign_f32(104.0f, a) : a;
    float y = 1.0f + mica_exp_parts_f32(x, &n);
    return y * mica_power_of_two_f32(n >> 1) * mica_power_of_two_f32(n - (n >> 1));
}
/* scale p + (scale - 1), halved because scale itself may be 2^128. */
MICA_SCALAR float mica_expm1_f32(float a) {
    int32_t n;
    float x = a > 89.0f ? 89.0f : a < -30.0f ? -30.0f : a;
    float p = mica_exp_parts_f32(x, &n), scale = mica_power_of_two_f32(n - 1);
    float y = 2.0f * MICA_FMA_F32(scale, p, scale - 0.5f);
    return mica_abs_f32(a) < 0x1p-25f ? a : y;
}
/* With e = e^-|a|: 1 / (1 + e), or e / (1 + e) for negative a. What rounding took from e and from
 * 1 + e is added back to first order; 1 / (1 + e) is the quotient itself or 1 less it. */
MICA_SCALAR float mica_logistic_f32(float a) {
    int32_t n;
    float x = mica_abs_f32(a);
    float p = mica_exp_parts_f32(x > 104.0f ? -104.0f : -x, &n), y = 1.0f + p;
    float scale = mica_power_of_two_f32(n >> 1), rest = mica_power_of_two_f32(n - (n >> 1));
    float e = y * scale * rest, e_low = (p - (y - 1.0f)) * scale * rest;
    float sum = 1.0f + e, sum_low = (e - (sum - 1.0f)) + e_low;
    int negative = a < 0.0f;
    float quotient = (negative ? e : 1.0f) / sum;
    float reciprocal = negative ? 1.0f - quotient : quotient;
    float error = MICA_FMA_F32(-quotient, sum_low, negative ? e_low : 0.0f);
    return MICA_FMA_F32(error, reciprocal, quotient);
}
/* m / (m + 1), where 2 m = e^2x - 1 = 2^n (e^2r - 1) + (2^n - 1), with 2 x = n ln 2 + 2 r. What
 * rounding took from m + 1 and from the quotient is given back to first order, with 1 - y for
 * 1 / (m + 1), which makes the function monotone. From the limit on m is 2^24 and the quotient 1.
 * The limit is taken among bits, turned so that NaN lies below it. */
MICA_SCALAR float mica_tanh_f32(float a) {
    const uint32_t turn = 0x807fffffu, limit = 0x410aa123u + turn; /* 8.66434 */
    uint32_t turned = (mica_bits_f32(a) & 0x7fffffffu) + turn;
    float x = mica_from_bits_f32((turned < limit ? turned : limit) - turn);
    float shifted = MICA_FMA_F32(x, 0x1.715476p+1f, 0x1.8p23f);
    float whole = shifted - 0x1.8p23f;
    float r = MICA_FMA_F32(whole, -0x1.62e430p-2f, x);
    r = MICA_FMA_F32(whole, 0x1.05c610p-30f, r);
    float q = 0x1.a032bep-7f;
    q = MICA_FMA_F32(q, r, 0x1.6d71f4p-5f);
    q = MICA_FMA_F32(q, r, 0x1.11118ap-3f);
    q = MICA_FMA_F32(q, r, 0x1.5554b2p-2f);
    q = MICA_FMA_F32(q, r, 0x1.555554p-1f);
    q = MICA_FMA_F32(q, r, 1.0f);
    float p = MICA_FMA_F32(q, r * r, r);
    uint32_t n = mica_bits_f32(shifted) << 23;
    float scale = mica_from_bits_f32(n + 0x3f800000u), half = mica_from_bits_f32(n + 0x3f000000u);
    float m = MICA_FMA_F32(scale, p, half - 0.5f), sum = m + 1.0f, lost = m - (sum - 1.0f);
    float y = m / sum, over = MICA_FMA_F32(y, lost, MICA_FMA_F32(y, sum, -m));
    y = MICA_FMA_F32(over, y - 1.0f, y);
    return mica_from_bits_f32(mica_bits_f32(y) | (mica_bits_f32(a) & 0x80000000u));
}
MICA_SCALAR float mica_sinh_f32(float a) {
    double e = mica_expm1_wide(mica_abs_f64((double)a));
    return mica_copysign_f32((float)(0.5 * (e + e / (e + 1.0))), a);
}
MICA_SCALAR float mica_cosh_f32(float a) {
    double e = mica_exp_wide(mica_abs_f64((double)a));
    return (float)(0.5 * (e + 1.0 / e));
}

/* ---- logarithms and powers ------------------------------------------------------------------ */

/* ln((1 + f) 2^e), |f| <= 1/3. */
MICA_SCALAR float mica_log_parts_f32(float f, float e) {
    float z = f * f, q = 0x1.ebefb2p-4f;
    q = MICA_FMA_F32(q, f, -0x1.0732aep-3f);
    q = MICA_FMA_F32(q, f, 0x1.b8787cp-4f);
    q = MICA_FMA_F32(q, f, -0x1.f37c88p-4f);
    q = MICA_FMA_F32(q, f, 0x1.24f4b4p-3f);
    q = MICA_FMA_F32(q, f, -0x1.559970p-3f);
    q = MICA_FMA_F32(q, f, 0x1.99977ep-3f);
    q = MICA_FMA_F32(q, f, -0x1.ffff0cp-3f);
    q = MICA_FMA_F32(q, f, 0x1.555556p-2f);
    float tail = MICA_FMA_F32(q, f * z, -0.5f * z);
    tail = MICA_FMA_F32(e, -0x1.05c610p-29f, tail);
    return MICA_FMA_F32(e, 0x1.62e430p-1f, f + tail);
}
/* The exponent e for which a 2^-e lies in [2/3, 4/3), shifted to its place in the bits. */
MICA_SCALAR uint32_t mica_exponent_f32(float a) {
    return (mica_bits_f32(a) - 0x3f2aaaabu) & 0xff800000u;
}
MICA_SCALAR float mica_log_f32(float a) {
    int denormal = a < 0x1p-126f;
    float x = denormal ? a * 0x1p23f : a;
    uint32_t e = mica_exponent_f32(x);
    float m = mica_from_bits_f32(mica_bits_f32(x) - e);
    float exponent = (float)(int32_t)e * 0x1p-23f - (denormal ? 23.0f : 0.0f);
    float y = mica_log_parts_f32(m - 1.0f, exponent);
    y = a == 0.0f ? -MICA_INF_F32 : y;
    y = a < 0.0f ? MICA_NAN_F32 : y;
    return a < MICA_INF_F32 ? y : a; /* infinity and NaN */
}
/* With 1 + a = m 2^e: m - 1 = a 2^-e + (2^-e - 1), both exact when e is not 0. */
MICA_SCALAR float mica_log1p_f32(float a) {
    uint32_t e = mica_exponent_f32(1.0f + a);
    float scaled = mica_from_bits_f32(mica_bits_f32(a) - e);
    float quadruple = mica_from_bits_f32(0x40800000u - e); /* 4 2^-e never underflows */
    float f = scaled + MICA_FMA_F32(0.25f, quadruple, -1.0f);
    float y = mica_log_parts_f32(f, (float)(int32_t)e * 0x1p-23f);
    y = a == 0.0f ? a : y;
    y = a == -1.0f ? -MICA_INF_F32 : y;
    y = a < -1.0f ? MICA_NAN_F32 : y;
    return a < MICA_INF_F32 ? y : a;
}
MICA_SCALAR float mica_asinh_f32(float a) {
    double x = mica_abs_f64((double)a), z = x * x;
    float y = (float)mica_log1p_wide(x + z / (1.0 + MICA_SQRT_F64(1.0 + z)));
    return mica_abs_f32(a) < MICA_INF_F32 ? mica_copysign_f32(y, a) : a;
}
MICA_SCALAR float mica_acosh_f32(float a) {
    double x = (double)a - 1.0;
    float y = (float)mica_log1p_wide(x + MICA_SQRT_F64(x * (x + 2.0)));
    y = a < 1.0f ? MICA_NAN_F32 : y;
    return a < MICA_INF_F32 ? y : a;
}
MICA_SCALAR float mica_atanh_f32(float a) {
    double x = mica_abs_f64((double)a);
    float y = (float)(0.5 * mica_log1p_wide((x + x) / (1.0 - x)));
    y = x == 1.0 ? MICA_INF_F32 : y;
    return x <= 1.0 ? mica_copysign_f32(y, a) : MICA_NAN_F32;
}
/* Two correctly rounded steps. */
MICA_SCALAR float mica_rsqrt_f32(float a) {
    return 1.0f / MICA_SQRT_F32(a);
}
/* |a| = t 2^(3 n), t in [1/2, 4). z is t^(-1/3), by a polynomial and a step of third order; then a
 * Newton step for t z^2, whose residue is exact but for its last rounding. */
MICA_SCALAR float mica_cbrt_f32(float a) {
    float x = mica_abs_f32(a);
    int denormal = x < 0x1p-126f;
    uint32_t bits = mica_bits_f32(denormal ? x * 0x1p24f : x), e = (bits >> 23) - 127u;
    float shifted = MICA_FMA_F32((float)(int32_t)e, 0x1.555556p-2f, 0x1.8p23f);
    uint32_t n = mica_bits_f32(shifted) - 0x4b400000u;
    float t = mica_from_bits_f32((bits & 0x7fffffu) + ((127u + e - 3u * n) << 23));
    float z = 0x1.2f79dep-7f;
    z = MICA_FMA_F32(z, t, -0x1.b74a24p-4f);
    z = MICA_FMA_F32(z, t, 0x1.e30eccp-2f);
    z = MICA_FMA_F32(z, t, -0x1.04a8e2p+0f);
    z = MICA_FMA_F32(z, t, 0x1.a67396p+0f);
    float h = MICA_FMA_F32(-t * z, z * z, 1.0f);
    z = MICA_FMA_F32(z * h, MICA_FMA_F32(h, 0x1.c71c72p-3f, 0x1.555556p-2f), z);
    float inverse = z * z, y = t * inverse, square = y * y;
    float lost = MICA_FMA_F32(-square, y, t);
    lost = MICA_FMA_F32(-MICA_FMA_F32(y, y, -square), y, lost);
    y = MICA_FMA_F32(lost * inverse, 0x1.555556p-2f, y);
    y = y * mica_from_bits_f32((n + (denormal ? 119u : 127u)) << 23);
    int ordinary = (x > 0.0f) & (x < MICA_INF_F32);
    return ordinary ? mica_copysign_f32(y, a) : a;
}
/* e^(b ln|a|) with the special cases of C99's pow. */
MICA_SCALAR float mica_pow_f32(float a, float b) {
    float magnitude = mica_abs_f32(a), half = 0.5f * b;
    double logarithm = mica_log_wide((double)magnitude);
    logarithm = a == 0.0f ? -MICA_INF_F64 : magnitude == MICA_INF_F32 ? MICA_INF_F64 : logarithm;
    float y = (float)mica_exp_wide((double)b * logarithm);
    int integer = mica_round_f32(b) == b, odd = integer & (mica_round_f32(half) != half);
    int negative = (mica_bits_f32(a) >> 31) != 0;
    y = (negative & odd) != 0 ? -y : y;
    int finite = magnitude < MICA_INF_F32, has_nan = (a != a) | (b != b);
    y = ((a < 0.0f) & finite & !integer) ? MICA_NAN_F32 : y;
    y = has_nan ? MICA_NAN_F32 : y;
    int infinite = mica_abs_f32(b) == MICA_INF_F32;
    y = ((magnitude == 1.0f) & infinite) ? 1.0f : y;
    return ((a == 1.0f) | (b == 0.0f)) ? 1.0f : y;
}

/* ---- trigonometry --------------------------------------------------------------------------- */

/* Of (quadrant + f) pi/2. */
MICA_SCALAR float mica_sin_turns_f32(float a, double f, uint64_t quadrant) {
    double y = (quadrant & 1u) != 0 ? mica_cos_quarter_wide(f) : mica_sin_quarter_wide(f);
    y = (quadrant & 2u) != 0 ? -y : y;
    return a == 0.0f ? a : (float)y;
}
MICA_SCALAR float mica_cos_turns_f32(double f, uint64_t quadrant) {
    double y = (quadrant & 1u) != 0 ? mica_sin_quarter_wide(f) : mica_cos_quarter_wide(f);
    return (float)(((quadrant + 1u) & 2u) != 0 ? -y : y);
}
MICA_SCALAR float mica_tan_turns_f32(float a, double f, uint64_t quadrant) {
    double s = mica_sin_quarter_wide(f), c = mica_cos_quarter_wide(f);
    int odd = (quadrant & 1u) != 0;
    double y = (odd ? -c : s) / (odd ? s : c);
    return a == 0.0f ? a : (float)y;
}
MICA_SCALAR float mica_sin_f32(float a) {
    uint64_t quadrant;
    double f = mica_quarter_turns_wide(a, &quadrant);
    return mica_sin_turns_f32(a, f, quadrant);
}
MICA_SCALAR float mica_cos_f32(float a) {
    uint64_t quadrant;
    double f = mica_quarter_turns_wide(a, &quadrant);
    return mica_cos_turns_f32(f, quadrant);
}
MICA_SCALAR float mica_tan_f32(float a) {
    uint64_t quadrant;
    double f = mica_quarter_turns_wide(a, &quadrant);
    return mica_tan_turns_f32(a, f, quadrant);
}
/* The same bits for |a| < MICA_BOUNDED_F32. */
MICA_SCALAR float mica_sin_bounded_f32(float a) {
    uint64_t quadrant;
    double f = mica_quarter_turns_bounded_wide(a, &quadrant);
    return mica_sin_turns_f32(a, f, quadrant);
}
MICA_SCALAR float mica_cos_bounded_f32(float a) {
    uint64_t quadrant;
    double f = mica_quarter_turns_bounded_wide(a, &quadrant);
    return mica_cos_turns_f32(f, quadrant);
}
MICA_SCALAR float mica_tan_bounded_f32(float a) {
    uint64_t quadrant;
    double f = mica_quarter_turns_bounded_wide(a, &quadrant);
    return mica_tan_turns_f32(a, f, quadrant);
}
MICA_SCALAR float mica_asin_f32(float a) {
    double x = mica_abs_f64((double)a);
    int large = x > 0.5;
    double z = large ? 0.5 * (1.0 - x) : x * x, s = large ? MICA_SQRT_F64(z) : x;
    double y = mica_asin_wide(s, z);
    y = large ? MICA_PI_WIDE / 2 - (y + y) : y;
    return mica_copysign_f32((float)y, a);
}
MICA_SCALAR float mica_acos_f32(float a) {
    double x = mica_abs_f64((double)a);
    int large = x > 0.5;
    double z = large ? 0.5 * (1.0 - x) : x * x, s = large ? MICA_SQRT_F64(z) : x;
    double y = mica_asin_wide(s, z);
    y = large ? y + y : MICA_PI_WIDE / 2 - y;
    return (float)(a < 0.0f ? MICA_PI_WIDE - y : y);
}
MICA_SCALAR float mica_atan_f32(float a) {
    return mica_copysign_f32((float)mica_atan2_wide(mica_abs_f64((double)a), 1.0), a);
}
/* Only the ratio matters: (0, 0) is taken as (0, 1) and two infinities as (1, 1). */
MICA_SCALAR float mica_atan2_f32(float a, float b) {
    double y = mica_abs_f64((double)a), x = mica_abs_f64((double)b);
    int infinite = (y == MICA_INF_F64) & (x == MICA_INF_F64);
    y = infinite ? 1.0 : y;
    x = (infinite | ((x == 0.0) & (y == 0.0))) ? 1.0 : x;
    double angle = mica_atan2_wide(y, x);
    angle = (mica_bits_f32(b) >> 31) != 0 ? MICA_PI_WIDE - angle : angle;
    return ((a != a) | (b != b)) ? MICA_NAN_F32 : mica_copysign_f32((float)angle, a);
}

#endif
