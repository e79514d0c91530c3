/* ir/scalar_elementary.h: f64 elementary functions without libm. Part of ir/scalar.h.
 *
 * Branch-free, so that loops over them become vector code, and the same bits everywhere. Each is
 * within about 1 ulp (2 where docs/numerics.md says so): arguments are reduced exactly or to a sum
 * of two doubles, and what a rounding takes away on the way to the result is added back in the
 * last sum. Polynomials interpolate at Chebyshev points. sin, cos and tan have two ways: these
 * here are for arguments below MICA_BOUNDED_F64. */
#ifndef MICA_IR_SCALAR_ELEMENTARY_H
#define MICA_IR_SCALAR_ELEMENTARY_H

/* a + MICA_ROUND_F64 is rounded to an integer, which the low bits hold. */
#define MICA_ROUND_F64 0x1.8p52
#define MICA_LN2_HIGH_F64 0x1.62e42fefa4000p-1 /* 41 bits: exact times an exponent */
#define MICA_LN2_LOW_F64 -0x1.8432a1b0e2634p-43
#define MICA_PI_HIGH_F64 0x1.921fb54442d18p+1
#define MICA_PI_LOW_F64 0x1.1a62633145c07p-53

MICA_SCALAR double mica_abs_f64(double a) {
    return mica_from_bits_f64(mica_bits_f64(a) & 0x7fffffffffffffffu);
}
MICA_SCALAR double mica_copysign_f64(double magnitude, double sign) {
    return mica_from_bits_f64((mica_bits_f64(magnitude) & 0x7fffffffffffffffu) |
                              (mica_bits_f64(sign) & 0x8000000000000000u));
}
/* 2^n for -1022 <= n <= 1023, given n + MICA_ROUND_F64. */
MICA_SCALAR double mica_power_of_two_f64(double shifted) {
    return mica_from_bits_f64((mica_bits_f64(shifted) + 1023u) << 52);
}

/* ---- exponentials --------------------------------------------------------------------------- */

/* e^(a + low) = 2^n (1 + result + *tail), |a| <= 1200; *shifted is n + MICA_ROUND_F64. */
MICA_SCALAR double mica_exp_parts_f64(double a, double low, double *tail, double *shifted) {
    *shifted = MICA_FMA_F64(a, 0x1.71547652b82fep+0, MICA_ROUND_F64);
    double n = *shifted - MICA_ROUND_F64, start = MICA_FMA_F64(n, -MICA_LN2_HIGH_F64, a);
    double rest = MICA_FMA_F64(n, -MICA_LN2_LOW_F64, low), r = start + rest;
    double q = 0x1.1f731ea5352cap-29;
    q = MICA_FMA_F64(q, r, 0x1.af4e196027428p-26);
    q = MICA_FMA_F64(q, r, 0x1.27e4db57442fbp-22);
    q = MICA_FMA_F64(q, r, 0x1.71de021a90822p-19);
    q = MICA_FMA_F64(q, r, 0x1.a01a01a6dcaffp-16);
    q = MICA_FMA_F64(q, r, 0x1.a01a01abef415p-13);
    q = MICA_FMA_F64(q, r, 0x1.6c16c16c162ccp-10);
    q = MICA_FMA_F64(q, r, 0x1.11111111100cep-7);
    q = MICA_FMA_F64(q, r, 0x1.5555555555556p-5);
    q = MICA_FMA_F64(q, r, 0x1.5555555555557p-3);
    q = MICA_FMA_F64(q, r, 0.5);
    *tail = MICA_FMA_F64(q, r * r, (start - r) + rest);
    return r;
}
/* 1 + r + tail, |r| < 1. */
MICA_SCALAR double mica_one_plus_f64(double r, double tail) {
    double sum = 1.0 + r;
    return sum + (((1.0 - sum) + r) + tail);
}
/* y 2^n in two factors, so that only the last product rounds, also to denormals. */
MICA_SCALAR double mica_scale_f64(double y, double shifted) {
    double n = shifted - MICA_ROUND_F64, half = MICA_FMA_F64(n, 0.5, MICA_ROUND_F64);
    double rest = n - (half - MICA_ROUND_F64);
    return y * mica_power_of_two_f64(half) * mica_power_of_two_f64(rest + MICA_ROUND_F64);
}
MICA_SCALAR double mica_exp_f64(double a) {
    double tail, shifted, x = a > 710.0 ? 710.0 : a < -750.0 ? -750.0 : a;
    double r = mica_exp_parts_f64(x, 0.0, &tail, &shifted);
    return mica_scale_f64(mica_one_plus_f64(r, tail), shifted);
}
/* (e^a - 1) / 4 for -40 <= a <= 710.75, where e^a itself may overflow. */
MICA_SCALAR double mica_expm1_quarter_f64(double a) {
    double tail, shifted, r = mica_exp_parts_f64(a, 0.0, &tail, &shifted);
    double scale = mica_power_of_two_f64(shifted - 2.0), less = scale - 0.25;
    double sum = MICA_FMA_F64(scale, r, less);
    return sum + MICA_FMA_F64(scale, tail, MICA_FMA_F64(scale, r, less - sum));
}
MICA_SCALAR double mica_expm1_f64(double a) {
    double x = a > 710.0 ? 710.0 : a < -40.0 ? -40.0 : a;
    double y = 4.0 * mica_expm1_quarter_f64(x);
    return mica_abs_f64(a) < 0x1p-54 ? a : y;
}
/* With e = e^|a| - 1: (e + e / (e + 1)) / 2. */
MICA_SCALAR double mica_sinh_f64(double a) {
    double x = mica_abs_f64(a), e = mica_expm1_quarter_f64(x > 710.75 ? 710.75 : x);
    double y = 2.0 * (e + e / MICA_FMA_F64(4.0, e, 1.0));
    return x < 0x1p-28 ? a : mica_copysign_f64(y, a);
}
MICA_SCALAR double mica_cosh_f64(double a) {
    double tail, shifted, x = mica_abs_f64(a);
    double r = mica_exp_parts_f64(x > 710.75 ? 710.75 : x, 0.0, &tail, &shifted);
    double e = mica_one_plus_f64(r, tail) * mica_power_of_two_f64(shifted - 2.0);
    return 2.0 * (e + 0.0625 / e);
}
/* e / (e + 2) with e = e^(2|a|) - 1. */
MICA_SCALAR double mica_tanh_f64(double a) {
    double x = mica_abs_f64(a), e = mica_expm1_quarter_f64(x > 22.0 ? 44.0 : x + x);
    double y = e / (e + 0.5);
    return x < 0x1p-28 ? a : mica_copysign_f64(y, a);
}
/* For a < 0, e^a / (1 + e^a) keeps the small result's relative accuracy. */
MICA_SCALAR double mica_logistic_f64(double a) {
    double e = mica_exp_f64(-mica_abs_f64(a));
    return (a < 0.0 ? e : 1.0) / (1.0 + e);
}

/* ---- logarithms ----------------------------------------------------------------------------- */

/* The exponent e for which a 2^-e lies in [sqrt(1/2), sqrt(2)), biased by 1023; a positive, normal.
 */
MICA_SCALAR uint64_t mica_exponent_f64(double a) {
    return (mica_bits_f64(a) - 0x3fe6a09e00000000u + 0x3ff0000000000000u) >> 52;
}
MICA_SCALAR double mica_unbiased_f64(uint64_t exponent) {
    return mica_from_bits_f64(0x4330000000000000u | exponent) - (0x1p52 + 1023.0);
}
MICA_SCALAR double mica_mantissa_f64(double a, uint64_t exponent) {
    return mica_from_bits_f64(mica_bits_f64(a) - (exponent << 52) + 0x3ff0000000000000u);
}
/* ln((1 + f) 2^e), sqrt(1/2) <= 1 + f < sqrt(2): f - f^2/2 + s (f^2/2 + s^2 P), s = f / (2 + f). */
MICA_SCALAR double mica_log_parts_f64(double f, double e) {
    double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double q = 0x1.2b5f68a51190dp-3;
    q = MICA_FMA_F64(q, z, 0x1.39fdcceb4b524p-3);
    q = MICA_FMA_F64(q, z, 0x1.7462b91b8df9fp-3);
    q = MICA_FMA_F64(q, z, 0x1.c71c62d5e53dfp-3);
    q = MICA_FMA_F64(q, z, 0x1.2492492dfd86cp-2);
    q = MICA_FMA_F64(q, z, 0x1.9999999995273p-2);
    q = MICA_FMA_F64(q, z, 0x1.5555555555558p-1);
    double tail = MICA_FMA_F64(s, MICA_FMA_F64(q, z, half), e * MICA_LN2_LOW_F64);
    return MICA_FMA_F64(e, MICA_LN2_HIGH_F64, f - (half - tail));
}
MICA_SCALAR double mica_log_f64(double a) {
    int denormal = a < 0x1p-1022;
    double x = denormal ? a * 0x1p54 : a;
    uint64_t e = mica_exponent_f64(x);
    double exponent = mica_unbiased_f64(e) - (denormal ? 54.0 : 0.0);
    double y = mica_log_parts_f64(mica_mantissa_f64(x, e) - 1.0, exponent);
    y = a == 0.0 ? -MICA_INF_F64 : y;
    y = a < 0.0 ? MICA_NAN_F64 : y;
    return a < MICA_INF_F64 ? y : a;
}
/* With 1 + a = m 2^e: m - 1 = a 2^-e + (2^-e - 1), rounded once; of large a the 1 is not felt. */
MICA_SCALAR double mica_log1p_parts_f64(double a) {
    double sum = 1.0 + a;
    uint64_t e = mica_exponent_f64(sum);
    double scale = mica_from_bits_f64((2046u - e) << 52);
    double f = MICA_FMA_F64(a, scale, scale - 1.0);
    f = a < 0x1p64 ? f : mica_mantissa_f64(sum, e) - 1.0;
    return mica_log_parts_f64(f, mica_unbiased_f64(e));
}
MICA_SCALAR double mica_log1p_f64(double a) {
    double y = mica_log1p_parts_f64(a);
    y = mica_abs_f64(a) < 0x1p-54 ? a : y;
    y = a == -1.0 ? -MICA_INF_F64 : y;
    y = a < -1.0 ? MICA_NAN_F64 : y;
    return a < MICA_INF_F64 ? y : a;
}
/* From 2^300 on, asinh and acosh are ln 2x. */
MICA_SCALAR double mica_asinh_f64(double a) {
    double x = mica_abs_f64(a), z = x * x;
    int large = x > 0x1p300;
    double y = mica_log1p_parts_f64(large ? x : x + z / (1.0 + MICA_SQRT_F64(1.0 + z)));
    y = large ? y + (MICA_LN2_HIGH_F64 + MICA_LN2_LOW_F64) : y;
    y = x < 0x1p-28 ? x : y;
    return x < MICA_INF_F64 ? mica_copysign_f64(y, a) : a;
}
MICA_SCALAR double mica_acosh_f64(double a) {
    double x = a - 1.0;
    int large = a > 0x1p300;
    double y = mica_log1p_parts_f64(large ? a : x + MICA_SQRT_F64(x * (x + 2.0)));
    y = large ? y + (MICA_LN2_HIGH_F64 + MICA_LN2_LOW_F64) : y;
    y = a < 1.0 ? MICA_NAN_F64 : y;
    return a < MICA_INF_F64 ? y : a;
}
MICA_SCALAR double mica_atanh_f64(double a) {
    double x = mica_abs_f64(a), y = 0.5 * mica_log1p_parts_f64((x + x) / (1.0 - x));
    y = x < 0x1p-28 ? x : y;
    y = x == 1.0 ? MICA_INF_F64 : y;
    return x <= 1.0 ? mica_copysign_f64(y, a) : MICA_NAN_F64;
}

/* ---- powers --------------------------------------------------------------------------------- */

/* a = t 2^(3 q) with t in [1/2, 4). z starts near t^(-1/3) and is improved by
 * (1 - h)^(-1/3) = 1 + h/3 + 2 h^2/9 + ..., h = 1 - t z^3; then t z^2 by a step of Newton's. */
MICA_SCALAR double mica_cbrt_f64(double a) {
    double magnitude = mica_abs_f64(a);
    int denormal = magnitude < 0x1p-1022;
    double x = denormal ? magnitude * 0x1p54 : magnitude;
    uint64_t biased = mica_bits_f64(x) >> 52;
    double e = mica_unbiased_f64(biased);
    double shifted = MICA_FMA_F64(e, 0x1.5555555555555p-2, MICA_ROUND_F64);
    double rest = MICA_FMA_F64(shifted - MICA_ROUND_F64, -3.0, e);
    double t = mica_mantissa_f64(x, biased) * mica_power_of_two_f64(rest + MICA_ROUND_F64);
    double z = 0x1.2f79df10041bfp-7;
    z = MICA_FMA_F64(z, t, -0x1.b74a238867828p-4);
    z = MICA_FMA_F64(z, t, 0x1.e30ecd45ef224p-2);
    z = MICA_FMA_F64(z, t, -0x1.04a8e153b88f7p+0);
    z = MICA_FMA_F64(z, t, 0x1.a67396320ace4p+0);
    double h = MICA_FMA_F64(-t * z, z * z, 1.0);
    z = MICA_FMA_F64(z * h, MICA_FMA_F64(h, 0x1.c71c71c71c71cp-3, 0x1.5555555555555p-2), z);
    h = MICA_FMA_F64(-t * z, z * z, 1.0);
    z = MICA_FMA_F64(z * h, MICA_FMA_F64(h, 0x1.c71c71c71c71cp-3, 0x1.5555555555555p-2), z);
    double square = z * z, y = t * square, lost = MICA_FMA_F64(-y * y, y, t);
    y = MICA_FMA_F64(lost * square, 0x1.5555555555555p-2, y);
    y *= mica_power_of_two_f64(shifted - (denormal ? 18.0 : 0.0));
    int ordinary = (magnitude > 0.0) & (magnitude < MICA_INF_F64);
    return ordinary ? mica_copysign_f64(y, a) : a;
}

/* ln(m 2^e) as a sum of two doubles, good to about 2^-70: the first two terms of the series in s
 * are computed in pairs. */
MICA_SCALAR double mica_log_pair_f64(double m, double e, double *low) {
    double f = m - 1.0, d = 2.0 + f, d_low = f - (d - 2.0), inverse = 1.0 / d;
    double s = f * inverse, s_low = (MICA_FMA_F64(-s, d, f) - s * d_low) * inverse;
    double z = s * s, z_low = MICA_FMA_F64(s, s, -z) + 2.0 * s * s_low;
    double q = 0x1.e03a7acf0f7e3p-4;
    q = MICA_FMA_F64(q, z, 0x1.df7ba1f47fc77p-4);
    q = MICA_FMA_F64(q, z, 0x1.1118cd6725210p-3);
    q = MICA_FMA_F64(q, z, 0x1.3b1395b82701cp-3);
    q = MICA_FMA_F64(q, z, 0x1.745d177ad436ap-3);
    q = MICA_FMA_F64(q, z, 0x1.c71c71c6ea5acp-3);
    q = MICA_FMA_F64(q, z, 0x1.2492492492522p-2);
    q = MICA_FMA_F64(q, z, 0x1.999999999999ap-2);
    double c = 0x1.5555555555555p-1 + z * q;
    double c_low = MICA_FMA_F64(z, q, 0x1.5555555555555p-1 - c) + 0x1.5555555555555p-55;
    double cube = s * z, cube_low = MICA_FMA_F64(s, z, -cube) + (s * z_low + s_low * z);
    double w = cube * c, w_low = MICA_FMA_F64(cube, c, -w) + (cube * c_low + cube_low * c);
    double sum = 2.0 * s + w, sum_low = (2.0 * s - sum) + w + (2.0 * s_low + w_low);
    double high = MICA_FMA_F64(e, MICA_LN2_HIGH_F64, sum);
    *low = MICA_FMA_F64(e, MICA_LN2_HIGH_F64, -high) + sum;
    *low += MICA_FMA_F64(e, MICA_LN2_LOW_F64, sum_low);
    return high;
}
/* Whether a is an integer, and an odd one. */
MICA_SCALAR int mica_is_integer_f64(double a) {
    double x = mica_abs_f64(a);
    return (x >= 0x1p52) | ((x + 0x1p52) - 0x1p52 == x);
}
/* e^(b ln|a|) with the special cases of C99's pow. */
MICA_SCALAR double mica_pow_f64(double a, double b) {
    double magnitude = mica_abs_f64(a), low, shifted;
    int denormal = magnitude < 0x1p-1022;
    double x = denormal ? magnitude * 0x1p54 : magnitude;
    uint64_t e = mica_exponent_f64(x);
    double exponent = mica_unbiased_f64(e) - (denormal ? 54.0 : 0.0);
    double high = mica_log_pair_f64(mica_mantissa_f64(x, e), exponent, &low);
    high = a == 0.0 ? -MICA_INF_F64 : magnitude == MICA_INF_F64 ? MICA_INF_F64 : high;
    double product = b * high, product_low = MICA_FMA_F64(b, high, -product) + b * low;
    product_low = mica_abs_f64(product) < 1100.0 ? product_low : 0.0;
    product = product > 1100.0 ? 1100.0 : product < -1100.0 ? -1100.0 : product;
    double tail, r = mica_exp_parts_f64(product, product_low, &tail, &shifted);
    double y = mica_scale_f64(mica_one_plus_f64(r, tail), shifted);
    int integer = mica_is_integer_f64(b), odd = integer & !mica_is_integer_f64(0.5 * b);
    int negative = (mica_bits_f64(a) >> 63) != 0;
    y = (negative & odd) != 0 ? -y : y;
    int finite = magnitude < MICA_INF_F64, has_nan = (a != a) | (b != b);
    y = ((a < 0.0) & finite & !integer) ? MICA_NAN_F64 : y;
    y = has_nan ? MICA_NAN_F64 : y;
    int infinite = mica_abs_f64(b) == MICA_INF_F64;
    y = ((magnitude == 1.0) & infinite) ? 1.0 : y;
    return ((a == 1.0) | (b == 0.0)) ? 1.0 : y;
}

/* ---- inverse trigonometry ------------------------------------------------------------------- */

/* (arcsin(s) - s) / s with z = s^2 <= 1/4. */
MICA_SCALAR double mica_asin_tail_f64(double z) {
    double q = 0x1.d7d7f9098cc02p-6;
    q = MICA_FMA_F64(q, z, -0x1.e89a42a24c550p-7);
    q = MICA_FMA_F64(q, z, 0x1.1db3b63ed9095p-6);
    q = MICA_FMA_F64(q, z, 0x1.64cb211c56522p-8);
    q = MICA_FMA_F64(q, z, 0x1.525b4e2752689p-7);
    q = MICA_FMA_F64(q, z, 0x1.78228b4085ab6p-7);
    q = MICA_FMA_F64(q, z, 0x1.c9cf677405d26p-7);
    q = MICA_FMA_F64(q, z, 0x1.1c4d32ae44ec0p-6);
    q = MICA_FMA_F64(q, z, 0x1.6e8bb1e91965ap-6);
    q = MICA_FMA_F64(q, z, 0x1.f1c71c1ce46ccp-6);
    q = MICA_FMA_F64(q, z, 0x1.6db6db6e33356p-5);
    q = MICA_FMA_F64(q, z, 0x1.3333333332ebdp-4);
    q = MICA_FMA_F64(q, z, 0x1.5555555555556p-3);
    return q * z;
}
/* |a| up to 1/2: arcsin |a| = s + tail. Beyond: arccos |a| = s + tail, by the half angle; s + what
 * its square root lost is twice the root. */
MICA_SCALAR double mica_asin_parts_f64(double a, double *tail, int *large) {
    double x = mica_abs_f64(a);
    *large = x > 0.5;
    double z = *large ? 0.5 * (1.0 - x) : x * x, root = MICA_SQRT_F64(z);
    double lost = root > 0.0 ? MICA_FMA_F64(-root, root, z) / root : 0.0;
    double s = *large ? root + root : x;
    *tail = MICA_FMA_F64(s, mica_asin_tail_f64(z), *large ? lost : 0.0);
    return s;
}
/* high + low - s - tail for |high| >= |s|, or 0. */
MICA_SCALAR double mica_less_f64(double high, double low, double s, double tail) {
    double difference = high - s;
    return difference + (((high - difference) - s) + (low - tail));
}
MICA_SCALAR double mica_asin_f64(double a) {
    int large;
    double tail, s = mica_asin_parts_f64(a, &tail, &large);
    double beyond = mica_less_f64(0.5 * MICA_PI_HIGH_F64, 0.5 * MICA_PI_LOW_F64, s, tail);
    return mica_copysign_f64(large ? beyond : s + tail, a);
}
MICA_SCALAR double mica_acos_f64(double a) {
    int large, negative = a < 0.0;
    double tail, s = mica_asin_parts_f64(a, &tail, &large);
    double turns = large ? (negative ? 1.0 : 0.0) : 0.5;
    int plus = large ? !negative : negative;
    return mica_less_f64(turns * MICA_PI_HIGH_F64, turns * MICA_PI_LOW_F64, plus ? -s : s,
                         plus ? -tail : tail);
}
/* The angle of (x, y) for 0 <= y, x, not both 0 and far from the limits of f64, in [0, pi/2]: the
 * sum of the result and *low. Beyond tan(pi/8) it is pi/4 and the angle of (y - x) / (y + x). */
MICA_SCALAR double mica_angle_f64(double y, double x, double *low) {
    double small = y < x ? y : x, large = y < x ? x : y;
    int turn = small > large * 0.41421356237309503;
    double n = turn ? small - large : small, d = turn ? small + large : large;
    double back = n - small, n_low = (small - (n - back)) - (large + back);
    double d_low = small - (d - large), inverse = 1.0 / d, u = n * inverse;
    double lost = MICA_FMA_F64(-u, d, n) + (turn ? MICA_FMA_F64(-u, d_low, n_low) : 0.0);
    double z = u * u, q = -0x1.c7a6bc6dd325ep-7;
    q = MICA_FMA_F64(q, z, 0x1.f5ba271a2474bp-6);
    q = MICA_FMA_F64(q, z, -0x1.5030c28011f6fp-5);
    q = MICA_FMA_F64(q, z, 0x1.829a09d7f3187p-5);
    q = MICA_FMA_F64(q, z, -0x1.aebcad6415b42p-5);
    q = MICA_FMA_F64(q, z, 0x1.e1d8ddf459f2cp-5);
    q = MICA_FMA_F64(q, z, -0x1.1110ce80547d5p-4);
    q = MICA_FMA_F64(q, z, 0x1.3b13aea53b18fp-4);
    q = MICA_FMA_F64(q, z, -0x1.745d173542f7ap-4);
    q = MICA_FMA_F64(q, z, 0x1.c71c71c6dd2d8p-4);
    q = MICA_FMA_F64(q, z, -0x1.24924924920a3p-3);
    q = MICA_FMA_F64(q, z, 0x1.9999999999997p-3);
    q = MICA_FMA_F64(q, z, -0x1.5555555555555p-2);
    double tail = MICA_FMA_F64(q * z, u, lost * inverse);
    double base = turn ? 0.25 * MICA_PI_HIGH_F64 : 0.0, sum = turn ? base + u : u;
    tail += turn ? (base - sum) + u + 0.25 * MICA_PI_LOW_F64 : 0.0;
    int over = y > x;
    double other = 0.5 * MICA_PI_HIGH_F64 - sum;
    double other_low = ((0.5 * MICA_PI_HIGH_F64 - other) - sum) + (0.5 * MICA_PI_LOW_F64 - tail);
    *low = over ? other_low : tail;
    return over ? other : sum;
}
MICA_SCALAR double mica_atan_f64(double a) {
    double low, x = mica_abs_f64(a);
    double angle = mica_angle_f64(x > 0x1p60 ? 0x1p60 : x, 1.0, &low);
    return mica_copysign_f64(angle + low, a);
}
/* Infinities count as 1 beside 0, or beside each other; both coordinates are brought away from the
 * limits by a power of two. */
MICA_SCALAR double mica_atan2_f64(double a, double b) {
    double y = mica_abs_f64(a), x = mica_abs_f64(b), low;
    int far_y = y == MICA_INF_F64, far_x = x == MICA_INF_F64, far = far_x | far_y;
    y = far ? (far_y ? 1.0 : 0.0) : y;
    x = far ? (far_x ? 1.0 : 0.0) : x;
    double large = y < x ? x : y;
    double scale = large > 0x1p900 ? 0x1p-120 : large < 0x1p-900 ? 0x1p120 : 1.0;
    y *= scale;
    x = large == 0.0 ? 1.0 : x * scale;
    double angle = mica_angle_f64(y, x, &low);
    int left = (mica_bits_f64(b) >> 63) != 0;
    double behind = mica_less_f64(MICA_PI_HIGH_F64, MICA_PI_LOW_F64, angle, low);
    double result = mica_copysign_f64(left ? behind : angle + low, a);
    return ((a != a) | (b != b)) ? MICA_NAN_F64 : result;
}

/* ---- trigonometry of arguments that are not far ---------------------------------------------- */

#define MICA_BOUNDED_F64 0x1p20

/* a = n pi/2 + result + *low, with pi/2 in three doubles; *quadrant's low bits are those of n. */
MICA_SCALAR double mica_quarter_turns_f64(double a, double *low, uint64_t *quadrant) {
    double shifted = MICA_FMA_F64(a, 0x1.45f306dc9c883p-1, MICA_ROUND_F64);
    double n = shifted - MICA_ROUND_F64;
    *quadrant = mica_bits_f64(shifted);
    double r = MICA_FMA_F64(n, -0x1.921fb54442d18p+0, a); /* exact */
    double step = n * 0x1.1a62633145c07p-54;
    double step_low = MICA_FMA_F64(n, 0x1.1a62633145c07p-54, -step);
    double high = r - step, back = high - r;
    *low = (r - (high - back)) - (step + back);
    *low -= MICA_FMA_F64(n, -0x1.f1976b7ed8fbcp-110, step_low);
    return high;
}
/* sin(r + low) = r + result, |r| <= pi/4. */
MICA_SCALAR double mica_sin_tail_f64(double r, double low) {
    double z = r * r, q = -0x1.ab16f5caa192ap-41;
    q = MICA_FMA_F64(q, z, 0x1.61217d9252c03p-33);
    q = MICA_FMA_F64(q, z, -0x1.ae645410e937bp-26);
    q = MICA_FMA_F64(q, z, 0x1.71de3a545f836p-19);
    q = MICA_FMA_F64(q, z, -0x1.a01a01a01992fp-13);
    q = MICA_FMA_F64(q, z, 0x1.1111111111110p-7);
    q = MICA_FMA_F64(q, z, -0x1.5555555555555p-3);
    return MICA_FMA_F64(q * z, r, MICA_FMA_F64(-0.5 * z, low, low));
}
/* cos(r + low) = result + *tail. */
MICA_SCALAR double mica_cos_parts_f64(double r, double low, double *tail) {
    double z = r * r, half = 0.5 * z, q = -0x1.907cd8ff5ed8fp-37;
    q = MICA_FMA_F64(q, z, 0x1.1eeb67d026ec6p-29);
    q = MICA_FMA_F64(q, z, -0x1.27e4fa16cc2d1p-22);
    q = MICA_FMA_F64(q, z, 0x1.a01a019f4ddfdp-16);
    q = MICA_FMA_F64(q, z, -0x1.6c16c16c16963p-10);
    q = MICA_FMA_F64(q, z, 0x1.5555555555555p-5);
    double c = 1.0 - half;
    *tail = ((1.0 - c) - half) + MICA_FMA_F64(q * z, z, -r * low);
    return c;
}
MICA_SCALAR double mica_sin_bounded_f64(double a) {
    uint64_t quadrant;
    double low, tail, r = mica_quarter_turns_f64(a, &low, &quadrant);
    double s = r + mica_sin_tail_f64(r, low), c = mica_cos_parts_f64(r, low, &tail) + tail;
    double y = (quadrant & 1u) != 0 ? c : s;
    return a == 0.0 ? a : (quadrant & 2u) != 0 ? -y : y;
}
MICA_SCALAR double mica_cos_bounded_f64(double a) {
    uint64_t quadrant;
    double low, tail, r = mica_quarter_turns_f64(a, &low, &quadrant);
    double s = r + mica_sin_tail_f64(r, low), c = mica_cos_parts_f64(r, low, &tail) + tail;
    double y = (quadrant & 1u) != 0 ? s : c;
    return ((quadrant + 1u) & 2u) != 0 ? -y : y;
}
MICA_SCALAR double mica_tan_bounded_f64(double a) {
    uint64_t quadrant;
    double low, tail, r = mica_quarter_turns_f64(a, &low, &quadrant);
    double s_tail = mica_sin_tail_f64(r, low), s = r + s_tail, s_low = (r - s) + s_tail;
    double start = mica_cos_parts_f64(r, low, &tail), c = start + tail, c_low = (start - c) + tail;
    int odd = (quadrant & 1u) != 0;
    double n = odd ? -c : s, n_low = odd ? -c_low : s_low, d = odd ? s : c;
    double inverse = 1.0 / d, y = n * inverse;
    double lost = MICA_FMA_F64(-y, d, n) + MICA_FMA_F64(-y, odd ? s_low : c_low, n_low);
    return a == 0.0 ? a : MICA_FMA_F64(lost, inverse, y);
}

#endif
