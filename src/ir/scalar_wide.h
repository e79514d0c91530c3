/* ir/scalar_wide.h: what f32 functions use where f32 arithmetic cannot reach 2 ulp. Part of
 * ir/scalar.h.
 *
 * f64 arithmetic without libm, branch-free, good to about 2^-34 and better: enough for an f32
 * result, not for an f64 one. Polynomials are minimax fits (Remez). Integer steps keep to what
 * vector units have for 64-bit lanes: add, logical shift, and; integers become doubles by way of
 * 2^52. */
#ifndef MICA_IR_SCALAR_WIDE_H
#define MICA_IR_SCALAR_WIDE_H

#define MICA_LN2_WIDE 0x1.62e42fefa39efp-1
#define MICA_PI_WIDE 0x1.921fb54442d18p+1

/* The integer nearest to a, for |a| < 2^51; the low bits of a + MICA_ROUND_WIDE hold it as well. */
#define MICA_ROUND_WIDE 0x1.8p52
MICA_SCALAR double mica_round_wide(double a) {
    return (a + MICA_ROUND_WIDE) - MICA_ROUND_WIDE;
}

/* e^a - 1 = scale (1 + p) - 1, with |a| clamped to where f32 results are 0 or infinite long since.
 */
MICA_SCALAR double mica_exp_parts_wide(double a, double *scale) {
    a = a > 700.0 ? 700.0 : a < -700.0 ? -700.0 : a;
    double shifted = MICA_FMA_F64(a, 0x1.71547652b82fep+0, MICA_ROUND_WIDE);
    double n = shifted - MICA_ROUND_WIDE;
    *scale = mica_from_bits_f64((mica_bits_f64(shifted) + 1023u) << 52);
    double r = MICA_FMA_F64(n, -0x1.62e42fefa2000p-1, a);
    r = MICA_FMA_F64(n, -0x1.9ef35793c7673p-41, r);
    double q = 0x1.73c1e7ba1214cp-19;
    q = MICA_FMA_F64(q, r, 0x1.a165f8a128c2dp-16);
    q = MICA_FMA_F64(q, r, 0x1.a018f27d89e70p-13);
    q = MICA_FMA_F64(q, r, 0x1.6c16455708ceap-10);
    q = MICA_FMA_F64(q, r, 0x1.1111114313f6bp-7);
    q = MICA_FMA_F64(q, r, 0x1.55555577af391p-5);
    q = MICA_FMA_F64(q, r, 0x1.555555554bff8p-3);
    q = MICA_FMA_F64(q, r, 0x1.fffffffff5bc7p-2);
    return MICA_FMA_F64(q, r * r, r);
}
MICA_SCALAR double mica_exp_wide(double a) {
    double scale, p = mica_exp_parts_wide(a, &scale);
    return MICA_FMA_F64(scale, p, scale);
}
MICA_SCALAR double mica_expm1_wide(double a) {
    double scale, p = mica_exp_parts_wide(a, &scale);
    return MICA_FMA_F64(scale, p, scale - 1.0);
}

/* The exponent e for which a 2^-e lies in [sqrt(1/2), sqrt(2)), biased by 1023; a positive, normal.
 */
MICA_SCALAR uint64_t mica_exponent_wide(double a) {
    return (mica_bits_f64(a) - 0x3fe6a09e00000000u + 0x3ff0000000000000u) >> 52;
}
/* ln((1 + t) 2^e), with the biased exponent. */
MICA_SCALAR double mica_log_parts_wide(double t, uint64_t exponent) {
    double e = mica_from_bits_f64(0x4330000000000000u | exponent) - (0x1p52 + 1023.0);
    double s = t / (2.0 + t), z = s * s;
    double q = 0x1.91172117c3e17p-3;
    q = MICA_FMA_F64(q, z, 0x1.c62afbaba7099p-3);
    q = MICA_FMA_F64(q, z, 0x1.24941233d1a02p-2);
    q = MICA_FMA_F64(q, z, 0x1.999996a8ab41dp-2);
    q = MICA_FMA_F64(q, z, 0x1.555555561e7c0p-1);
    double y = MICA_FMA_F64(q, z * s, s + s);
    return MICA_FMA_F64(e, MICA_LN2_WIDE, y);
}
/* For positive, finite, normal a. */
MICA_SCALAR double mica_log_wide(double a) {
    uint64_t e = mica_exponent_wide(a);
    double m = mica_from_bits_f64(mica_bits_f64(a) - (e << 52) + 0x3ff0000000000000u);
    return mica_log_parts_wide(m - 1.0, e);
}
/* For finite a > -1; keeps relative accuracy near 0. */
MICA_SCALAR double mica_log1p_wide(double a) {
    uint64_t e = mica_exponent_wide(1.0 + a);
    double scale = mica_from_bits_f64((2046u - e) << 52);
    return mica_log_parts_wide(MICA_FMA_F64(a, scale, scale - 1.0), e);
}

/* a = (quadrant + result) pi/2 modulo 2 pi, |result| about 1/2 at most. 2/pi comes in two doubles.
 * From 2^47 on, a is scaled down by 2^(24 k), which leaves an integer, and 2/pi is scaled up with
 * its multiples of 4 dropped, so that the product keeps enough bits behind the point for every a.
 */
MICA_SCALAR double mica_quarter_turns_wide(float a, uint64_t *quadrant) {
    /* 1 where |a| >= 2^47, 2^71, 2^95, 2^119; as integer arithmetic, which nothing turns into jumps
     */
    uint64_t size = mica_bits_f64((double)a) & 0x7fffffffffffffffu;
    uint64_t k1 = (0x42dfffffffffffffu - size) >> 63, k2 = (0x445fffffffffffffu - size) >> 63;
    uint64_t k3 = (0x45dfffffffffffffu - size) >> 63, k4 = (0x475fffffffffffffu - size) >> 63;
    uint64_t m1 = 0u - k1, m2 = 0u - k2, m3 = 0u - k3, m4 = 0u - k4, k = k1 + k2 + k3 + k4;
    /* each mask turns the constant for k - 1 into the one for k */
    double high = mica_from_bits_f64(0x3fe45f306dc9c883u ^ (m1 & 0x7fef2d424d608762u) ^
                                     (m2 & 0x7fbe5b8e07fe9e14u) ^ (m3 & 0x00768214ddcdbf15u) ^
                                     (m4 & 0x003cf8a52697d8c9u));
    double low = mica_from_bits_f64(0xbc86b01ec5417056u ^ (m1 & 0x801bef5911920755u) ^
                                    (m2 & 0x00d731a7b9623dceu) ^ (m3 & 0x002102b2de96c2bfu) ^
                                    (m4 & 0x00fd08a3bd668f8bu));
    double x = (double)a * mica_from_bits_f64(0x3ff0000000000000u - (k << 56) - (k << 55));
    double product = x * high, error = MICA_FMA_F64(x, high, -product);
    double shifted = product + MICA_ROUND_WIDE;
    *quadrant = mica_bits_f64(shifted);
    return (product - (shifted - MICA_ROUND_WIDE)) + MICA_FMA_F64(x, low, error);
}
/* The same for |a| < MICA_BOUNDED_F32, where nothing is scaled. */
#define MICA_BOUNDED_F32 0x1p47f
MICA_SCALAR double mica_quarter_turns_bounded_wide(float a, uint64_t *quadrant) {
    double x = (double)a, high = 0x1.45f306dc9c883p-1, low = -0x1.6b01ec5417056p-55;
    double product = x * high, error = MICA_FMA_F64(x, high, -product);
    double shifted = product + MICA_ROUND_WIDE;
    *quadrant = mica_bits_f64(shifted);
    return (product - (shifted - MICA_ROUND_WIDE)) + MICA_FMA_F64(x, low, error);
}
/* Of f pi/2, |f| <= 1/2. */
MICA_SCALAR double mica_sin_quarter_wide(double f) {
    double z = f * f, q = 0x1.4bc1da7f370e0p-13;
    q = MICA_FMA_F64(q, z, -0x1.32ca83cf24a7fp-8);
    q = MICA_FMA_F64(q, z, 0x1.466bba8996ef3p-4);
    q = MICA_FMA_F64(q, z, -0x1.4abbce564bd5bp-1);
    q = MICA_FMA_F64(q, z, 0x1.921fb5443af6bp+0);
    return q * f;
}
MICA_SCALAR double mica_cos_quarter_wide(double f) {
    double z = f * f, q = 0x1.d99e75696d767p-11;
    q = MICA_FMA_F64(q, z, -0x1.55c4e6e092cfcp-6);
    q = MICA_FMA_F64(q, z, 0x1.03c1daa7998c1p-2);
    q = MICA_FMA_F64(q, z, -0x1.3bd3cc6e734b9p+0);
    return MICA_FMA_F64(q, z, 0x1.ffffffff84a7cp-1);
}

/* arcsin of s with z = s^2 <= 1/4. */
MICA_SCALAR double mica_asin_wide(double s, double z) {
    double q = 0x1.1c51c450f8156p-5;
    q = MICA_FMA_F64(q, z, 0x1.e8c1df6c1a96ap-8);
    q = MICA_FMA_F64(q, z, 0x1.9367be39c6c33p-6);
    q = MICA_FMA_F64(q, z, 0x1.ed51467877e45p-6);
    q = MICA_FMA_F64(q, z, 0x1.6ddb3d34d890ep-5);
    q = MICA_FMA_F64(q, z, 0x1.3332a7a338e2fp-4);
    q = MICA_FMA_F64(q, z, 0x1.55555609ade61p-3);
    return MICA_FMA_F64(q * z, s, s);
}

/* The angle of (x, y) for 0 <= y, x, not both 0, not both infinite: in [0, pi/2]. */
MICA_SCALAR double mica_atan2_wide(double y, double x) {
    double small = y < x ? y : x, large = y < x ? x : y;
    int turn = small > large * 0.41421356237309503; /* tan(pi/8): take pi/4 away */
    double u = (turn ? small - large : small) / (turn ? small + large : large);
    double z = u * u, q = 0x1.84d915f1be6e0p-5;
    q = MICA_FMA_F64(q, z, -0x1.5b3ecbfbd28dbp-4);
    q = MICA_FMA_F64(q, z, 0x1.c466e1a3c99f0p-4);
    q = MICA_FMA_F64(q, z, -0x1.247efb7741e8dp-3);
    q = MICA_FMA_F64(q, z, 0x1.999919eb14d4ep-3);
    q = MICA_FMA_F64(q, z, -0x1.555554c81ad11p-2);
    double angle = MICA_FMA_F64(q * z, u, u) + (turn ? MICA_PI_WIDE / 4 : 0.0);
    return y > x ? MICA_PI_WIDE / 2 - angle : angle;
}

/* sin(pi a) and cos(pi a), up to the same sign, for f32 values a >= 0: even integers from 2^24 on.
 */
MICA_SCALAR double mica_sin_pi_wide(double a, double *cosine) {
    double half = a < 0x1p24 ? a + a : 0.0, n = half + MICA_ROUND_WIDE;
    double f = half - (n - MICA_ROUND_WIDE);
    double s = mica_sin_quarter_wide(f), c = mica_cos_quarter_wide(f);
    int odd = (mica_bits_f64(n) & 1u) != 0;
    *cosine = odd ? -s : c;
    return odd ? c : s;
}

#endif
