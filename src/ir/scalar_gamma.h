/* ir/scalar_gamma.h: the incomplete gamma function. Part of ir/scalar.h.
 *
 * With s = x^a e^-x / Gamma(a + 1),
 *     P(a, x) = s (1 + x/(a+1) + x^2/((a+1)(a+2)) + ...)                       for a < 10, small x
 *     P(a, x) = a s I, I the integral of e^(-a v + x (1 - e^-v)) from 0 to infinity   for x <= a
 *     P(a, x) = 1 - a s I, the integral from minus infinity to 0                      for x > a
 * The integrand decreases away from 0, without a bump: 24 points of Gauss and Legendre over where
 * it is above e^-38 give the integral to rounding. Everything is computed and the right one chosen.
 */
#ifndef MICA_IR_SCALAR_GAMMA_H
#define MICA_IR_SCALAR_GAMMA_H

#define MICA_IGAMMA_DEPTH 38.0
#define MICA_ROOT_TWO_PI 2.50662827463100050242

/* e^-v - 1 + v, without cancellation near 0. */
MICA_SCALAR double mica_igamma_bend(double v) {
    double q = -1.0 / 355687428096000;
    q = MICA_FMA_F64(q, v, 1.0 / 20922789888000);
    q = MICA_FMA_F64(q, v, -1.0 / 1307674368000);
    q = MICA_FMA_F64(q, v, 1.0 / 87178291200);
    q = MICA_FMA_F64(q, v, -1.0 / 6227020800);
    q = MICA_FMA_F64(q, v, 1.0 / 479001600);
    q = MICA_FMA_F64(q, v, -1.0 / 39916800);
    q = MICA_FMA_F64(q, v, 1.0 / 3628800);
    q = MICA_FMA_F64(q, v, -1.0 / 362880);
    q = MICA_FMA_F64(q, v, 1.0 / 40320);
    q = MICA_FMA_F64(q, v, -1.0 / 5040);
    q = MICA_FMA_F64(q, v, 1.0 / 720);
    q = MICA_FMA_F64(q, v, -1.0 / 120);
    q = MICA_FMA_F64(q, v, 1.0 / 24);
    q = MICA_FMA_F64(q, v, -1.0 / 6);
    q = MICA_FMA_F64(q, v, 0.5);
    double far = (mica_exp_f64(-v) - 1.0) + v;
    return mica_abs_f64(v) < 0.75 ? q * v * v : far;
}

/* u - ln(1 + u) for u = (x - a) / a, without cancellation near 0: with r = u / (2 + u) it is
 * u r - 2 r^3 (1/3 + ...). */
MICA_SCALAR double mica_igamma_gap(double a, double x) {
    double u = (x - a) / a, r = u / (2.0 + u), z = r * r, q = 1.0 / 27;
    q = MICA_FMA_F64(q, z, 1.0 / 25);
    q = MICA_FMA_F64(q, z, 1.0 / 23);
    q = MICA_FMA_F64(q, z, 1.0 / 21);
    q = MICA_FMA_F64(q, z, 1.0 / 19);
    q = MICA_FMA_F64(q, z, 1.0 / 17);
    q = MICA_FMA_F64(q, z, 1.0 / 15);
    q = MICA_FMA_F64(q, z, 1.0 / 13);
    q = MICA_FMA_F64(q, z, 1.0 / 11);
    q = MICA_FMA_F64(q, z, 1.0 / 9);
    q = MICA_FMA_F64(q, z, 1.0 / 7);
    q = MICA_FMA_F64(q, z, 1.0 / 5);
    q = MICA_FMA_F64(q, z, 1.0 / 3);
    double near = MICA_FMA_F64(-2.0 * r * z, q, u * r);
    return mica_abs_f64(u) < 0.4 ? near : u - mica_log_f64(x / a);
}

/* Gamma(z + 1) / ((2 pi z)^(1/2) z^z e^-z) for z >= 10. */
MICA_SCALAR double mica_igamma_stirling(double z) {
    double r = 1.0 / z, r2 = r * r, q = -3617.0 / 122400;
    q = MICA_FMA_F64(q, r2, 1.0 / 156);
    q = MICA_FMA_F64(q, r2, -691.0 / 360360);
    q = MICA_FMA_F64(q, r2, 1.0 / 1188);
    q = MICA_FMA_F64(q, r2, -1.0 / 1680);
    q = MICA_FMA_F64(q, r2, 1.0 / 1260);
    q = MICA_FMA_F64(q, r2, -1.0 / 360);
    q = MICA_FMA_F64(q, r2, 1.0 / 12);
    return mica_exp_f64(q * r);
}

/* x^a e^-x / Gamma(a + 1), for x <= 1e4 or a >= 10. Below 10, Gamma(a + 11) is divided by (a + 1)
 * ... (a + 10). */
MICA_SCALAR double mica_igamma_scale(double a, double x) {
    double shift = a < 10.0 ? 10.0 : 0.0, z = a + shift, lost = a - (z - shift);
    double root = MICA_ROOT_TWO_PI * MICA_SQRT_F64(z) * mica_igamma_stirling(z);
    double gap = mica_igamma_gap(z, x), exponent = -z * gap;
    double rounded = MICA_FMA_F64(-z, gap, -exponent);     /* what is missing of the product */
    rounded = mica_abs_f64(rounded) < 1.0 ? rounded : 0.0; /* NaN where it is infinite */
    double large = mica_exp_f64(exponent) * (1.0 + rounded) / root;
    double product = (a + 1.0) * (a + 2.0) * ((a + 3.0) * (a + 4.0)) * ((a + 5.0) * (a + 6.0)) *
                     ((a + 7.0) * (a + 8.0)) * ((a + 9.0) * (a + 10.0));
    double power = mica_pow_f64(x, a) * mica_exp_f64(-x);
    double below = mica_pow_f64(z, z) * mica_exp_f64(-z) * root;
    below *= MICA_FMA_F64(lost, mica_log_f64(z + 0.5), 1.0); /* what rounding took from z */
    double small = power * product / below;
    return shift > 0.0 ? small : large;
}

/* 1 + x/(a+1) + x^2/((a+1)(a+2)) + ... for x <= 10. */
MICA_SCALAR double mica_igamma_series(double a, double x) {
    double term = 1.0, sum = 1.0;
#define MICA_IGAMMA_TERM(n)                                                                        \
    term = term * x / (a + n);                                                                     \
    sum = sum + term
#define MICA_IGAMMA_FIVE(n)                                                                        \
    MICA_IGAMMA_TERM(n + 1.0);                                                                     \
    MICA_IGAMMA_TERM(n + 2.0);                                                                     \
    MICA_IGAMMA_TERM(n + 3.0);                                                                     \
    MICA_IGAMMA_TERM(n + 4.0);                                                                     \
    MICA_IGAMMA_TERM(n + 5.0)
    MICA_IGAMMA_FIVE(0.0);
    MICA_IGAMMA_FIVE(5.0);
    MICA_IGAMMA_FIVE(10.0);
    MICA_IGAMMA_FIVE(15.0);
    MICA_IGAMMA_FIVE(20.0);
    MICA_IGAMMA_FIVE(25.0);
    MICA_IGAMMA_FIVE(30.0);
    MICA_IGAMMA_FIVE(35.0);
    return sum;
}

/* The integral from 0 to `end`, which is negative for the other side; of positive sign. */
MICA_SCALAR double mica_igamma_integral(double a, double x, double end) {
    double slope = x - a, sum = 0.0;
#define MICA_IGAMMA_POINT(place, weight)                                                           \
    do {                                                                                           \
        double v = end * place;                                                                    \
        double e = MICA_FMA_F64(slope, v, -x * mica_igamma_bend(v));                               \
        sum = MICA_FMA_F64(weight, mica_exp_f64(e), sum);                                          \
    } while (0)
    MICA_IGAMMA_POINT(0x1.3b690cb733ec7p-9, 0x1.9465bd3112202p-8);
    MICA_IGAMMA_POINT(0x1.9e0c1e680f139p-7, 0x1.d375514486f1dp-7);
    MICA_IGAMMA_POINT(0x1.f9a7a58f55b36p-6, 0x1.6ab884f57c979p-6);
    MICA_IGAMMA_POINT(0x1.d13df3cd9785bp-5, 0x1.e5c6255d25edap-6);
    MICA_IGAMMA_POINT(0x1.70a2cc7cb2401p-4, 0x1.2c6d5c2eff064p-5);
    MICA_IGAMMA_POINT(0x1.0a1ce248c4454p-3, 0x1.6108ef504463ap-5);
    MICA_IGAMMA_POINT(0x1.685a2340bdef4p-3, 0x1.8fd8936444b16p-5);
    MICA_IGAMMA_POINT(0x1.d17d08a7651aap-3, 0x1.b8177ba4a68dcp-5);
    MICA_IGAMMA_POINT(0x1.21e5d13f0eda5p-2, 0x1.d91c78acb1b2dp-5);
    MICA_IGAMMA_POINT(0x1.5eb2b9d3b8b78p-2, 0x1.f25cbce1d1ff6p-5);
    MICA_IGAMMA_POINT(0x1.9e25aaf51ac1dp-2, 0x1.01b7117cf8bd8p-4);
    MICA_IGAMMA_POINT(0x1.df33ef5824ba3p-2, 0x1.060475e763736p-4);
    MICA_IGAMMA_POINT(0x1.10660853eda2ep-1, 0x1.060475e763736p-4);
    MICA_IGAMMA_POINT(0x1.30ed2a85729f2p-1, 0x1.01b7117cf8bd8p-4);
    MICA_IGAMMA_POINT(0x1.50a6a31623a44p-1, 0x1.f25cbce1d1ff6p-5);
    MICA_IGAMMA_POINT(0x1.6f0d17607892dp-1, 0x1.d91c78acb1b2dp-5);
    MICA_IGAMMA_POINT(0x1.8ba0bdd626b95p-1, 0x1.b8177ba4a68dcp-5);
    MICA_IGAMMA_POINT(0x1.a5e9772fd0843p-1, 0x1.8fd8936444b16p-5);
    MICA_IGAMMA_POINT(0x1.bd78c76dceeebp-1, 0x1.6108ef504463ap-5);
    MICA_IGAMMA_POINT(0x1.d1eba67069b80p-1, 0x1.2c6d5c2eff064p-5);
    MICA_IGAMMA_POINT(0x1.e2ec20c32687ap-1, 0x1.e5c6255d25edap-6);
    MICA_IGAMMA_POINT(0x1.f032c2d385526p-1, 0x1.6ab884f57c979p-6);
    MICA_IGAMMA_POINT(0x1.f987cf865fc3bp-1, 0x1.d375514486f1dp-7);
    MICA_IGAMMA_POINT(0x1.fec496f348cc1p-1, 0x1.9465bd3112202p-8);
    return sum * mica_abs_f64(end);
}

/* Where the integrand is e^-38 or below. For x <= a, from e^-v - 1 + v >= v^2 / (2 + 2v/3); else
 * from e^v - 1 - v >= v^2 / 2, improved by one step. */
MICA_SCALAR double mica_igamma_end(double a, double x, int upper) {
    const double depth = MICA_IGAMMA_DEPTH;
    double d = mica_abs_f64(a - x), p = d / 3.0 + 0.5 * x, q = d - depth / 3.0;
    double lower = 2.0 * depth / (q + MICA_SQRT_F64(p) * MICA_SQRT_F64(q * (q / p) + 4.0 * depth));
    double u = 2.0 * depth / (d + MICA_SQRT_F64(x) * MICA_SQRT_F64(d * (d / x) + 2.0 * depth));
    return upper ? -mica_log1p_f64((depth + a * u) / x) : lower;
}

MICA_SCALAR double mica_igamma_f64(double a, double x) {
    int small = a<10.0, upper = x>(a > 1.0 ? a : 1.0), summed = small & !upper;
    double scale = mica_igamma_scale(a, x);
    double series = scale * mica_igamma_series(a, summed ? x : 0.0);
    double part = a * scale * mica_igamma_integral(a, x, mica_igamma_end(a, x, upper));
    double y = upper ? 1.0 - part : summed ? series : part;
    y = y > 1.0 ? 1.0 : y;
    y = ((a == 0.0) | (x == MICA_INF_F64) | (small & (x > 1e4))) ? 1.0 : y;
    y = ((x == 0.0) | (a == MICA_INF_F64)) ? 0.0 : y;
    int none = !(a >= 0.0) | !(x >= 0.0) | ((a == 0.0) & (x == 0.0)) |
               ((a == MICA_INF_F64) & (x == MICA_INF_F64));
    return none ? MICA_NAN_F64 : y;
}

MICA_SCALAR float mica_igamma_f32(float a, float x) {
    return (float)mica_igamma_f64((double)a, (double)x);
}

#endif
