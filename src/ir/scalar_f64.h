/* ir/scalar_f64.h: double precision: exact functions, special ones, and by libm what is left. Part
 * of ir/scalar.h. */
#ifndef MICA_IR_SCALAR_F64_H
#define MICA_IR_SCALAR_F64_H

MICA_SCALAR double mica_neg_f64(double a) {
    return -a;
}
MICA_SCALAR double mica_sign_f64(double a) {
    return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a;
}
MICA_SCALAR double mica_floor_f64(double a) {
    return floor(a);
}
MICA_SCALAR double mica_ceil_f64(double a) {
    return ceil(a);
}
MICA_SCALAR double mica_round_f64(double a) {
    return rint(a);
}
MICA_SCALAR double mica_sqrt_f64(double a) {
    return MICA_SQRT_F64(a);
}
MICA_SCALAR double mica_rsqrt_f64(double a) {
    return 1.0 / MICA_SQRT_F64(a);
}
MICA_SCALAR double mica_sin_f64(double a) {
    return mica_abs_f64(a) < MICA_BOUNDED_F64 ? mica_sin_bounded_f64(a) : sin(a);
}
MICA_SCALAR double mica_cos_f64(double a) {
    return mica_abs_f64(a) < MICA_BOUNDED_F64 ? mica_cos_bounded_f64(a) : cos(a);
}
MICA_SCALAR double mica_tan_f64(double a) {
    return mica_abs_f64(a) < MICA_BOUNDED_F64 ? mica_tan_bounded_f64(a) : tan(a);
}
MICA_SCALAR double mica_erf_f64(double a) {
    return erf(a);
}
MICA_SCALAR double mica_erfc_f64(double a) {
    return erfc(a);
}
MICA_SCALAR double mica_lgamma_f64(double a) {
    return MICA_LGAMMA_F64(a);
}

/* Inverse error function, from a first guess (Giles' polynomial in the middle, good to 1e-7, the
 * asymptotic form of erfc in the tails) polished by Halley's method on erf(y) = a, or
 * erfc(y) = 1 - a beyond 1/2. */
MICA_SCALAR double mica_erfinv_f64(double a) {
    const double half_root_pi = 0.88622692545275801365;
    double x = mica_abs_f64(a), c = 1.0 - x;
    double w = -mica_log_f64(c * (1.0 + x)), s = w - 2.5;
    double y = 2.81022636e-08;
    y = 3.43273939e-07 + y * s;
    y = -3.5233877e-06 + y * s;
    y = -4.39150654e-06 + y * s;
    y = 0.00021858087 + y * s;
    y = -0.00125372503 + y * s;
    y = -0.00417768164 + y * s;
    y = 0.246640727 + y * s;
    y = (1.50140941 + y * s) * x;
    double tail = -mica_log_f64(c);
    y = w < 5.0 ? y : sqrt(tail - 0.5 * mica_log_f64(3.14159265358979323846 * tail));
    int steps = w < 5.0 ? 1 : 3;
    for (int i = 0; i < steps; i++) {
        double difference = x < 0.5 ? erf(y) - x : c - erfc(y);
        double step = difference * half_root_pi * mica_exp_f64(y * y);
        y -= step / (1.0 + y * step);
    }
    y = x < 1e-9 ? x * half_root_pi : y;
    y = x == 1.0 ? MICA_INF_F64 : y;
    return x > 1.0 ? MICA_NAN_F64 : mica_copysign_f64(y, a);
}

/* Digamma: reflected to x >= 0.5, shifted up to x >= 10 by psi(x) = psi(x + 1) - 1/x, then the
 * asymptotic series. Poles: psi(+0) = -inf, psi(-0) = inf, NaN at the negative integers. */
MICA_SCALAR double mica_digamma_f64(double a) {
    const double pi = 3.14159265358979323846;
    int reflect = a < 0.5;
    double x = reflect ? 1.0 - a : a;
    double shift = 0.0;
    for (int i = 0; i < 10; i++) {
        int small = x < 10.0;
        shift += small ? 1.0 / x : 0.0;
        x = small ? x + 1.0 : x;
    }
    double r = 1.0 / x, r2 = r * r;
    double series =
        r2 *
        (1.0 / 12 -
         r2 * (1.0 / 120 -
               r2 * (1.0 / 252 -
                     r2 * (1.0 / 240 -
                           r2 * (1.0 / 132 -
                                 r2 * (691.0 / 32760 - r2 * (1.0 / 12 - r2 * (3617.0 / 8160))))))));
    double y = mica_log_f64(x) - 0.5 * r - series - shift;
    double angle = a - rint(a); /* exact; cot has period 1 in a */
    y = reflect ? y - pi / mica_tan_bounded_f64(pi * angle) : y;
    y = a == 0.0 ? -1.0 / a : y;
    int pole = ((a < 0.0) & (angle == 0.0)) | (a == -MICA_INF_F64);
    y = pole ? MICA_NAN_F64 : y;
    return a == MICA_INF_F64 ? a : y;
}

MICA_SCALAR double mica_add_f64(double a, double b) {
    return a + b;
}
MICA_SCALAR double mica_sub_f64(double a, double b) {
    return a - b;
}
MICA_SCALAR double mica_mul_f64(double a, double b) {
    return a * b;
}
MICA_SCALAR double mica_div_f64(double a, double b) {
    return a / b;
}
MICA_SCALAR double mica_rem_f64(double a, double b) {
    return fmod(a, b);
}

/* Equal operands differ in bits only when they are zeros of both signs. */
MICA_SCALAR double mica_max_f64(double a, double b) {
    double equal = mica_from_bits_f64(mica_bits_f64(a) & mica_bits_f64(b));
    double larger = a > b ? a : b; /* b when b is NaN */
    larger = a == b ? equal : larger;
    return a != a ? a : larger;
}
MICA_SCALAR double mica_min_f64(double a, double b) {
    double equal = mica_from_bits_f64(mica_bits_f64(a) | mica_bits_f64(b));
    double smaller = a < b ? a : b; /* b when b is NaN */
    smaller = a == b ? equal : smaller;
    return a != a ? a : smaller;
}

#endif
