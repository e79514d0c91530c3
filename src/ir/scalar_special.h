/* ir/scalar_special.h: error and gamma functions in single precision. Part of ir/scalar.h. */
#ifndef MICA_IR_SCALAR_SPECIAL_H
#define MICA_IR_SCALAR_SPECIAL_H

/* Near 0 a polynomial in a^2; beyond, 1 - e^-q with a polynomial q for -ln(erfc). */
MICA_SCALAR float mica_erf_f32(float a) {
    float x = mica_abs_f32(a), z = x * x;
    float p = 0x1.5cd4b2p-14f;
    p = MICA_FMA_F32(p, z, -0x1.aa3f2ep-11f);
    p = MICA_FMA_F32(p, z, 0x1.54c7f6p-8f);
    p = MICA_FMA_F32(p, z, -0x1.b80e90p-6f);
    p = MICA_FMA_F32(p, z, 0x1.ce2e0ap-4f);
    p = MICA_FMA_F32(p, z, -0x1.812742p-2f);
    p = MICA_FMA_F32(p, z, 0x1.06eba8p-3f);
    float small = MICA_FMA_F32(p, x, x);
    float t = x > 4.0f ? 4.0f : x;
    float q = 0x1.5fbe30p-16f;
    q = MICA_FMA_F32(q, t, -0x1.c5ffd2p-12f);
    q = MICA_FMA_F32(q, t, 0x1.10e186p-8f);
    q = MICA_FMA_F32(q, t, -0x1.9b3ed8p-6f);
    q = MICA_FMA_F32(q, t, 0x1.bb652ep-4f);
    q = MICA_FMA_F32(q, t, 0x1.444986p-1f);
    q = MICA_FMA_F32(q, t, 0x1.212708p+0f);
    q = MICA_FMA_F32(q, t, -0x1.68a654p-13f);
    float large = 1.0f - mica_exp_normal_f32(-q);
    return mica_copysign_f32(x < 0.92f ? small : large, a);
}

/* e^(-a^2) / (1 + 2a) times a polynomial in (a - 2) / (a + 2). */
MICA_SCALAR float mica_erfc_f32(float a) {
    double x = mica_abs_f64((double)a);
    x = x > 10.1 ? 10.1 : x; /* 0 from here on */
    double t = (x - 2.0) / (x + 2.0), q = -0x1.5852ea350b2a9p-17;
    q = MICA_FMA_F64(q, t, -0x1.bfeb5726956adp-19);
    q = MICA_FMA_F64(q, t, 0x1.f5e2d570fa6ebp-14);
    q = MICA_FMA_F64(q, t, 0x1.9b5c24a752058p-13);
    q = MICA_FMA_F64(q, t, -0x1.cbace5c34b75ep-12);
    q = MICA_FMA_F64(q, t, -0x1.7bf2509a3ca6cp-10);
    q = MICA_FMA_F64(q, t, 0x1.4c36438a3a418p-10);
    q = MICA_FMA_F64(q, t, 0x1.1dc184f9069e7p-7);
    q = MICA_FMA_F64(q, t, -0x1.073dd4274ba60p-7);
    q = MICA_FMA_F64(q, t, -0x1.bc2b0f5c2c43ep-5);
    q = MICA_FMA_F64(q, t, 0x1.4ffa19ef1abb3p-3);
    q = MICA_FMA_F64(q, t, -0x1.5407c030be45cp-3);
    q = MICA_FMA_F64(q, t, -0x1.7bf5ebeec993dp-4);
    q = MICA_FMA_F64(q, t, 0x1.46e80e22c86d6p+0);
    double y = mica_exp_wide(-x * x) * q / (1.0 + (x + x));
    return (float)(a < 0.0f ? 2.0 - y : y);
}

/* a times a polynomial in w = -ln(1 - a^2), or in its square root towards the ends. */
MICA_SCALAR float mica_erfinv_f32(float a) {
    double x = (double)a, v = (1.0 - x) * (1.0 + x);
    double w = -mica_log_wide(v); /* any number at the ends and beyond */
    double s = w - 2.5, p = 0x1.242902ebc7f00p-33;
    p = MICA_FMA_F64(p, s, 0x1.e08520c6fc5f2p-32);
    p = MICA_FMA_F64(p, s, -0x1.7ac13bb66bac1p-27);
    p = MICA_FMA_F64(p, s, 0x1.1abbb642a4d84p-26);
    p = MICA_FMA_F64(p, s, 0x1.01894f87f7975p-21);
    p = MICA_FMA_F64(p, s, -0x1.cbd4e22b91d2fp-19);
    p = MICA_FMA_F64(p, s, -0x1.4f760a491822ap-18);
    p = MICA_FMA_F64(p, s, 0x1.c9bb5aefe7e21p-13);
    p = MICA_FMA_F64(p, s, -0x1.486399e86e735p-10);
    p = MICA_FMA_F64(p, s, -0x1.11c3e0b28e542p-8);
    p = MICA_FMA_F64(p, s, 0x1.f91e8973007e3p-3);
    p = MICA_FMA_F64(p, s, 0x1.805c5cff6d84cp+0);
    double t = MICA_SQRT_F64(w) - 3.0, q = -0x1.b8c92eefb46b9p-16;
    q = MICA_FMA_F64(q, t, 0x1.4cbd4632fb715p-13);
    q = MICA_FMA_F64(q, t, -0x1.28d9ff9ccc205p-12);
    q = MICA_FMA_F64(q, t, -0x1.ed7181d964189p-14);
    q = MICA_FMA_F64(q, t, 0x1.839ea624f16ffp-10);
    q = MICA_FMA_F64(q, t, -0x1.d3ab407da531ep-9);
    q = MICA_FMA_F64(q, t, 0x1.74b003575bdccp-8);
    q = MICA_FMA_F64(q, t, -0x1.f4de5cbaf278fp-8);
    q = MICA_FMA_F64(q, t, 0x1.3581ad06bb43dp-7);
    q = MICA_FMA_F64(q, t, 0x1.006dc9c467c2fp+0);
    q = MICA_FMA_F64(q, t, 0x1.6a9efbd9a0aaap+1);
    float y = (float)((w < 5.0 ? p : q) * x);
    y = mica_abs_f32(a) == 1.0f ? mica_copysign_f32(MICA_INF_F32, a) : y;
    return mica_abs_f32(a) <= 1.0f ? y : MICA_NAN_F32;
}

/* Stirling's series at z >= 8, reached by Gamma(x + 8) = x (x + 1) ... (x + 7) Gamma(x), and for
 * negative a, with x = -a, Gamma(a) = -pi / (x sin(pi x) Gamma(x)). */
MICA_SCALAR float mica_lgamma_f32(float a) {
    double wide = (double)a, x = mica_abs_f64(wide), z = x < 8.0 ? x + 8.0 : x;
    double rest = (x + 1.0) * (x + 2.0) * (x + 3.0) * ((x + 4.0) * (x + 5.0)) *
                  ((x + 6.0) * (x + 7.0)); /* the product without its factor x */
    rest = x < 8.0 ? rest : 1.0 / x;
    double r = 1.0 / z, r2 = r * r;
    double q = MICA_FMA_F64(-1.0 / 1680, r2, 1.0 / 1260);
    q = MICA_FMA_F64(q, r2, -1.0 / 360);
    q = MICA_FMA_F64(q, r2, 1.0 / 12);
    double stirling = MICA_FMA_F64(z - 0.5, mica_log_wide(z), -z) + 0x1.d67f1c864beb5p-1;
    stirling = MICA_FMA_F64(q, r, stirling);
    double cosine, sine = mica_abs_f64(mica_sin_pi_wide(x, &cosine));
    int negative = wide < 0.0, pole = (MICA_TRUNC_F64(x) == x) & (wide <= 0.0);
    double factor = negative ? MICA_PI_WIDE * rest / sine : 1.0 / (rest * x);
    double y = mica_log_wide(factor) + (negative ? -stirling : stirling);
    y = x < MICA_INF_F64 ? y : x;
    y = pole ? MICA_INF_F64 : y;
    y = ((wide == 1.0) | (wide == 2.0)) ? 0.0 : y; /* of terms that cancel rounding errors remain */
    return a != a ? a : (float)y;
}

/* The asymptotic series at z >= 8, reached by psi(x) = psi(x + 8) - (1/x + ... + 1/(x + 7)), the
 * sum as one fraction, and for negative a, with x = -a, psi(a) = psi(x) + 1/x + pi / tan(pi x). */
MICA_SCALAR float mica_digamma_f32(float a) {
    double wide = (double)a, x = mica_abs_f64(wide), z = x < 8.0 ? x + 8.0 : x;
    double top = 1.0, bottom = x;
#define MICA_DIGAMMA_STEP(k)                                                                       \
    top = MICA_FMA_F64(top, x + k, bottom);                                                        \
    bottom = bottom * (x + k)
    MICA_DIGAMMA_STEP(1.0);
    MICA_DIGAMMA_STEP(2.0);
    MICA_DIGAMMA_STEP(3.0);
    MICA_DIGAMMA_STEP(4.0);
    MICA_DIGAMMA_STEP(5.0);
    MICA_DIGAMMA_STEP(6.0);
    MICA_DIGAMMA_STEP(7.0);
    double shift = x < 8.0 ? top / bottom : 0.0;
    double r = 1.0 / z, r2 = r * r;
    double q = MICA_FMA_F64(-1.0 / 240, r2, 1.0 / 252);
    q = MICA_FMA_F64(q, r2, -1.0 / 120);
    q = MICA_FMA_F64(q, r2, 1.0 / 12);
    double y = MICA_FMA_F64(-q, r2, MICA_FMA_F64(-0.5, r, mica_log_wide(z))) - shift;
    double cosine, sine = mica_sin_pi_wide(x, &cosine);
    double reflected = y + 1.0 / x + MICA_PI_WIDE * cosine / sine;
    y = wide < 0.0 ? reflected : y;
    y = ((MICA_TRUNC_F64(x) == x) & (wide < 0.0)) ? MICA_NAN_F64 : y;
    y = wide == MICA_INF_F64 ? wide : y;
    return a == 0.0f ? -1.0f / a : a != a ? a : (float)y;
}

#endif
