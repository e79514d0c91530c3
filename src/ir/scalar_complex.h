/* ir/scalar_complex.h: complex numbers. Part of ir/scalar.h.
 *
 * c64 computes in f64 and rounds once at the end, so that nothing overflows on the way; c128
 * computes in f64. Functions that are not arithmetic are made of libm's real ones, take branches
 * and are not inlined: they are for being right.
 *
 * What is promised:
 * - add sub neg conj: part by part. mul is (ac - bd) + i (ad + bc) as it stands: an infinite factor
 *   may give NaN, as in numpy.
 * - The error of a result is a few ulps of its larger part, for all finite arguments; nothing
 *   overflows or underflows that the result does not. pow loses as many bits as its exponent times
 *   the logarithm of its base is large.
 * - Branch cuts are those of C99: along the negative real axis for sqrt, log, pow and rsqrt, beyond
 *   -1 and 1 for asin, acos and atanh, beyond -i and i for asinh and atan, below 1 for acosh; the
 *   sign of a zero part says on which side an argument lies.
 * - Infinite and NaN arguments give what C99's Annex G says for sqrt, exp, log and the circular and
 *   hyperbolic functions and their inverses, up to signs that it leaves open.
 * - x / 0 is (a / 0, b / 0); a finite number divided by an infinite one is 0. 0^0 = 1.
 */
#ifndef MICA_IR_SCALAR_COMPLEX_H
#define MICA_IR_SCALAR_COMPLEX_H

typedef struct mica_c64 {
    float real, imaginary;
} mica_c64;
typedef struct mica_c128 {
    double real, imaginary;
} mica_c128;

MICA_SCALAR mica_c64 mica_make_c64(float real, float imaginary) {
    mica_c64 z;
    z.real = real;
    z.imaginary = imaginary;
    return z;
}
MICA_SCALAR mica_c128 mica_make_c128(double real, double imaginary) {
    mica_c128 z;
    z.real = real;
    z.imaginary = imaginary;
    return z;
}
MICA_SCALAR mica_c128 mica_widen_c64(mica_c64 z) {
    return mica_make_c128((double)z.real, (double)z.imaginary);
}
MICA_SCALAR mica_c64 mica_narrow_c128(mica_c128 z) {
    return mica_make_c64((float)z.real, (float)z.imaginary);
}

#define MICA_PI_F64 3.14159265358979323846
#define MICA_LN2_F64 0.693147180559945309417

MICA_SCALAR int mica_is_inf_f64(double a) {
    return mica_abs_f64(a) == MICA_INF_F64;
}
MICA_SCALAR int mica_is_finite_f64(double a) {
    return mica_abs_f64(a) < MICA_INF_F64;
}
/* 1 for an infinity, else 0, with the sign of a. */
MICA_SCALAR double mica_unit_if_inf_f64(double a) {
    return mica_copysign_f64(mica_is_inf_f64(a) ? 1.0 : 0.0, a);
}

/* -a by its sign bit. Next to a sum of products a difference of products must be written with it:
 * gcc 12 makes one fused instruction of the two, even when it is told not to contract. */
MICA_SCALAR double mica_opposite_f64(double a) {
    return mica_from_bits_f64(mica_bits_f64(a) ^ 0x8000000000000000u);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

#define MICA_COMPLEX_PARTS(dtype)                                                                  \
    MICA_SCALAR mica_##dtype mica_neg_##dtype(mica_##dtype a) {                                    \
        return mica_make_##dtype(-a.real, -a.imaginary);                                           \
    }                                                                                              \
    MICA_SCALAR mica_##dtype mica_conj_##dtype(mica_##dtype a) {                                   \
        return mica_make_##dtype(a.real, -a.imaginary);                                            \
    }                                                                                              \
    MICA_SCALAR mica_##dtype mica_add_##dtype(mica_##dtype a, mica_##dtype b) {                    \
        return mica_make_##dtype(a.real + b.real, a.imaginary + b.imaginary);                      \
    }                                                                                              \
    MICA_SCALAR mica_##dtype mica_sub_##dtype(mica_##dtype a, mica_##dtype b) {                    \
        return mica_make_##dtype(a.real - b.real, a.imaginary - b.imaginary);                      \
    }
MICA_COMPLEX_PARTS(c64)
MICA_COMPLEX_PARTS(c128)

MICA_SCALAR mica_c128 mica_mul_c128(mica_c128 a, mica_c128 b) {
    return mica_make_c128(a.real * b.real + mica_opposite_f64(a.imaginary * b.imaginary),
                          a.real * b.imaginary + a.imaginary * b.real);
}

/* a / b for infinite a and finite b: what is finite does not count. */
MICA_SCALAR mica_c128 mica_div_infinite_c128(mica_c128 a, mica_c128 b) {
    double ar = mica_unit_if_inf_f64(a.real), ai = mica_unit_if_inf_f64(a.imaginary);
    return mica_make_c128(MICA_INF_F64 * (ar * b.real + ai * b.imaginary),
                          MICA_INF_F64 * (ai * b.real + mica_opposite_f64(ar * b.imaginary)));
}

/* The divisor is brought to about 1 by a power of two, and so is a dividend at the ends of the
 * range. A real or imaginary divisor divides both parts. */
MICA_CALLED mica_c128 mica_div_c128(mica_c128 a, mica_c128 b) {
    if (b.imaginary == 0.0) return mica_make_c128(a.real / b.real, a.imaginary / b.real);
    if (b.real == 0.0) return mica_make_c128(a.imaginary / b.imaginary, -a.real / b.imaginary);
    if (mica_is_inf_f64(b.real) || mica_is_inf_f64(b.imaginary)) {
        if (!mica_is_finite_f64(a.real) || !mica_is_finite_f64(a.imaginary))
            return mica_make_c128(MICA_NAN_F64, MICA_NAN_F64);
        double br = mica_unit_if_inf_f64(b.real), bi = mica_unit_if_inf_f64(b.imaginary);
        return mica_make_c128(0.0 * (a.real * br + a.imaginary * bi),
                              0.0 * (a.imaginary * br + mica_opposite_f64(a.real * bi)));
    }
    double size = fmax(mica_abs_f64(b.real), mica_abs_f64(b.imaginary));
    double large = fmax(mica_abs_f64(a.real), mica_abs_f64(a.imaginary));
    if (large == MICA_INF_F64 && b.real == b.real && b.imaginary == b.imaginary)
        return mica_div_infinite_c128(a, b);
    int exponent = 0, shift = large > 0x1p1000 ? -60 : large < 0x1p-900 ? 100 : 0;
    frexp(size, &exponent);
    double br = ldexp(b.real, -exponent), bi = ldexp(b.imaginary, -exponent);
    double ar = ldexp(a.real, shift), ai = ldexp(a.imaginary, shift);
    double d = br * br + bi * bi;
    double cross = ai * br + mica_opposite_f64(ar * bi);
    mica_c128 y = mica_make_c128((ar * br + ai * bi) / d, cross / d);
    return mica_make_c128(ldexp(y.real, -exponent - shift), ldexp(y.imaginary, -exponent - shift));
}

MICA_SCALAR double mica_abs_c128(mica_c128 a) {
    return hypot(a.real, a.imaginary);
}

/* Of two infinite parts there is no direction. */
MICA_CALLED mica_c128 mica_sign_c128(mica_c128 a) {
    double size = fmax(mica_abs_f64(a.real), mica_abs_f64(a.imaginary));
    if (a.real != a.real || a.imaginary != a.imaginary)
        return mica_make_c128(MICA_NAN_F64, MICA_NAN_F64);
    if (size == 0.0) return a;
    if (size == MICA_INF_F64) {
        double real = mica_unit_if_inf_f64(a.real), imaginary = mica_unit_if_inf_f64(a.imaginary);
        if (real != 0.0 && imaginary != 0.0) real = imaginary = MICA_NAN_F64;
        return mica_make_c128(real, imaginary);
    }
    double scale = size > 0x1p1000 ? 0x1p-60 : size < 0x1p-900 ? 0x1p200 : 1.0;
    double real = a.real * scale, imaginary = a.imaginary * scale;
    double length = hypot(real, imaginary);
    return mica_make_c128(real / length, imaginary / length);
}

/* ---- roots, exponentials and logarithms ------------------------------------------------------ */

MICA_CALLED mica_c128 mica_sqrt_c128(mica_c128 z) {
    double x = z.real, y = z.imaginary;
    if (mica_is_inf_f64(y)) return mica_make_c128(MICA_INF_F64, y);
    if (mica_is_inf_f64(x)) {
        double none = y != y ? y : mica_copysign_f64(0.0, y);
        return x > 0.0 ? mica_make_c128(x, none)
                       : mica_make_c128(mica_abs_f64(none), mica_copysign_f64(MICA_INF_F64, y));
    }
    double size = fmax(mica_abs_f64(x), mica_abs_f64(y));
    if (x == 0.0 && y == 0.0) return mica_make_c128(0.0, y);
    /* Powers of four, whose roots are exact. */
    double up = size > 0x1p1000 ? 0x1p-100 : size < 0x1p-900 ? 0x1p100 : 1.0;
    double down = size > 0x1p1000 ? 0x1p50 : size < 0x1p-900 ? 0x1p-50 : 1.0;
    x *= up;
    y *= up;
    double t = MICA_SQRT_F64(0.5 * (mica_abs_f64(x) + hypot(x, y)));
    double other = mica_abs_f64(y) / (2.0 * t);
    double real = x < 0.0 ? other : t, imaginary = x < 0.0 ? t : other;
    return mica_make_c128(real * down, mica_copysign_f64(imaginary * down, y));
}

MICA_CALLED mica_c128 mica_rsqrt_c128(mica_c128 z) {
    return mica_div_c128(mica_make_c128(1.0, 0.0), mica_sqrt_c128(z));
}

/* scale e^x times a factor of at most 1, where e^x may overflow alone, and so may its root. */
MICA_CALLED double mica_exp_times_f64(double x, double factor, double scale) {
    if (x > 1400.0 && factor != 0.0) return mica_copysign_f64(MICA_INF_F64, factor);
    if (x > 700.0 && x <= 1400.0) {
        double half = exp(0.5 * x);
        return scale * half * factor * half;
    }
    return scale * exp(x) * factor;
}

MICA_CALLED mica_c128 mica_exp_c128(mica_c128 z) {
    double x = z.real, y = z.imaginary;
    if (y == 0.0) return mica_make_c128(exp(x), y);
    if (!mica_is_finite_f64(y)) {
        if (x == -MICA_INF_F64) return mica_make_c128(0.0, mica_copysign_f64(0.0, y));
        if (x == MICA_INF_F64) return mica_make_c128(x, MICA_NAN_F64);
        return mica_make_c128(MICA_NAN_F64, MICA_NAN_F64);
    }
    return mica_make_c128(mica_exp_times_f64(x, cos(y), 1.0), mica_exp_times_f64(x, sin(y), 1.0));
}

MICA_CALLED mica_c128 mica_expm1_c128(mica_c128 z) {
    double x = z.real, y = z.imaginary;
    if (y == 0.0) return mica_make_c128(expm1(x), y);
    if (!mica_is_finite_f64(x) || !mica_is_finite_f64(y) || x > 40.0) {
        mica_c128 e = mica_exp_c128(z);
        return mica_make_c128(e.real - 1.0, e.imaginary);
    }
    double s = sin(0.5 * y);
    return mica_make_c128(expm1(x) * cos(y) - 2.0 * s * s, exp(x) * sin(y));
}

/* c + a^2 + b^2 for |c| at most 2, with the roundings of the larger terms put back. */
MICA_CALLED double mica_sum_with_squares_f64(double c, double a, double b) {
    double p = a * a, p_rest = MICA_FMA_F64(a, a, -p);
    double q = b * b, q_rest = MICA_FMA_F64(b, b, -q);
    double s = c + p, s_part = s - c, s_rest = (c - (s - s_part)) + (p - s_part);
    double t = s + q, t_part = t - s, t_rest = (s - (t - t_part)) + (q - t_part);
    return t + (t_rest + s_rest + p_rest + q_rest);
}

/* ln |x + i y|; near the unit circle from |z|^2 - 1. */
MICA_CALLED double mica_log_abs_f64(double x, double y) {
    double size = fmax(mica_abs_f64(x), mica_abs_f64(y));
    if (size > 0.5 && size < 1.5 && mica_abs_f64(x) <= 1.5 && mica_abs_f64(y) <= 1.5)
        return 0.5 * log1p(mica_sum_with_squares_f64(-1.0, size, size == mica_abs_f64(x) ? y : x));
    if (size > 0x1p1000 && size < MICA_INF_F64)
        return log(hypot(x * 0x1p-60, y * 0x1p-60)) + 60.0 * MICA_LN2_F64;
    if (size < 0x1p-900 && size > 0.0)
        return log(hypot(x * 0x1p200, y * 0x1p200)) - 200.0 * MICA_LN2_F64;
    return log(hypot(x, y));
}

MICA_CALLED mica_c128 mica_log_c128(mica_c128 z) {
    return mica_make_c128(mica_log_abs_f64(z.real, z.imaginary), atan2(z.imaginary, z.real));
}

MICA_CALLED mica_c128 mica_log1p_c128(mica_c128 z) {
    double x = z.real, y = z.imaginary;
    if (mica_abs_f64(x) < 0.5 && mica_abs_f64(y) < 0.5)
        return mica_make_c128(0.5 * log1p(mica_sum_with_squares_f64(2.0 * x, x, y)),
                              atan2(y, 1.0 + x));
    return mica_log_c128(mica_make_c128(1.0 + x, y));
}

MICA_CALLED mica_c128 mica_tanh_c128(mica_c128 z);

/* For a negative real part, e^z / (1 + e^z) keeps small results accurate; around the poles, where
 * e^z is about -1, (1 + tanh(z / 2)) / 2. */
MICA_CALLED mica_c128 mica_logistic_c128(mica_c128 z) {
    mica_c128 one = mica_make_c128(1.0, 0.0);
    if (mica_abs_f64(z.real) < 1.0 && mica_is_finite_f64(z.imaginary)) {
        mica_c128 t = mica_tanh_c128(mica_make_c128(0.5 * z.real, 0.5 * z.imaginary));
        return mica_make_c128(0.5 * (1.0 + t.real), 0.5 * t.imaginary);
    }
    mica_c128 e = mica_exp_c128(z.real < 0.0 ? z : mica_neg_c128(z));
    return mica_div_c128(z.real < 0.0 ? e : one, mica_add_c128(one, e));
}

/* ---- circular and hyperbolic functions; those of i z are those of z, turned ------------------ */

/* sinh x (cosh x) times a number of at most 1. */
MICA_CALLED double mica_sinh_times_f64(double x, double factor) {
    if (mica_abs_f64(x) < 700.0) return sinh(x) * factor;
    return mica_copysign_f64(1.0, x) * mica_exp_times_f64(mica_abs_f64(x), factor, 0.5);
}
MICA_CALLED double mica_cosh_times_f64(double x, double factor) {
    if (mica_abs_f64(x) < 700.0) return cosh(x) * factor;
    return mica_exp_times_f64(mica_abs_f64(x), factor, 0.5);
}

MICA_CALLED mica_c128 mica_sinh_c128(mica_c128 z) {
    double x = z.real, y = z.imaginary;
    if (y == 0.0) return mica_make_c128(sinh(x), y);
    if (!mica_is_finite_f64(y))
        return mica_make_c128(x == 0.0 || mica_is_inf_f64(x) ? x : MICA_NAN_F64, MICA_NAN_F64);
    if (x == 0.0) return mica_make_c128(mica_copysign_f64(0.0, x * cos(y)), sin(y));
    return mica_make_c128(mica_sinh_times_f64(x, cos(y)), mica_cosh_times_f64(x, sin(y)));
}

MICA_CALLED mica_c128 mica_cosh_c128(mica_c128 z) {
    double x = z.real, y = z.imaginary;
    if (x != x && y == 0.0) return mica_make_c128(x, y);
    if (y == 0.0) return mica_make_c128(cosh(x), mica_copysign_f64(1.0, x) * y);
    if (!mica_is_finite_f64(y))
        return x == 0.0
                   ? mica_make_c128(MICA_NAN_F64, x)
                   : mica_make_c128(mica_is_inf_f64(x) ? MICA_INF_F64 : MICA_NAN_F64, MICA_NAN_F64);
    if (x == 0.0) return mica_make_c128(cos(y), x * sin(y));
    return mica_make_c128(mica_cosh_times_f64(x, cos(y)), mica_sinh_times_f64(x, sin(y)));
}

/* Kahan's: with t = tan y and s = sinh x, (sqrt(1 + s^2) s (1 + t^2) + i t) / (1 + (1 + t^2) s^2).
 */
MICA_CALLED mica_c128 mica_tanh_c128(mica_c128 z) {
    double x = z.real, y = z.imaginary;
    if (x != x) return mica_make_c128(x, y == 0.0 ? y : MICA_NAN_F64);
    if (mica_abs_f64(x) > 22.0) {
        double wave = mica_is_finite_f64(y) ? sin(y) * cos(y) : mica_copysign_f64(0.0, y);
        if (!mica_is_finite_f64(y) && !mica_is_inf_f64(x))
            return mica_make_c128(MICA_NAN_F64, MICA_NAN_F64);
        return mica_make_c128(mica_copysign_f64(1.0, x), 4.0 * wave * exp(-2.0 * mica_abs_f64(x)));
    }
    if (!mica_is_finite_f64(y)) return mica_make_c128(x == 0.0 ? x : MICA_NAN_F64, MICA_NAN_F64);
    double t = tan(y), slope = 1.0 + t * t, s = sinh(x);
    double d = 1.0 + slope * s * s;
    return mica_make_c128(MICA_SQRT_F64(1.0 + s * s) * s * slope / d, t / d);
}

MICA_SCALAR mica_c128 mica_times_i_c128(mica_c128 z) {
    return mica_make_c128(-z.imaginary, z.real);
}
MICA_SCALAR mica_c128 mica_over_i_c128(mica_c128 z) {
    return mica_make_c128(z.imaginary, -z.real);
}
MICA_CALLED mica_c128 mica_sin_c128(mica_c128 z) {
    return mica_over_i_c128(mica_sinh_c128(mica_times_i_c128(z)));
}
MICA_CALLED mica_c128 mica_cos_c128(mica_c128 z) {
    return mica_cosh_c128(mica_times_i_c128(z));
}
MICA_CALLED mica_c128 mica_tan_c128(mica_c128 z) {
    return mica_over_i_c128(mica_tanh_c128(mica_times_i_c128(z)));
}

/* ---- their inverses, after Kahan: from the roots of 1 - z and 1 + z, whose products cancel
 * nowhere; beyond 2^60 from the logarithm of 2 z ------------------------------------------------
 */

MICA_SCALAR int mica_is_huge_c128(mica_c128 z) {
    return mica_abs_f64(z.real) > 0x1p60 || mica_abs_f64(z.imaginary) > 0x1p60;
}

MICA_CALLED mica_c128 mica_asin_c128(mica_c128 z) {
    double x = z.real, y = z.imaginary;
    if (mica_is_huge_c128(z))
        return mica_make_c128(atan2(x, mica_abs_f64(y)),
                              mica_copysign_f64(mica_log_abs_f64(x, y) + MICA_LN2_F64, y));
    if (y != y) return mica_make_c128(x == 0.0 ? x : MICA_NAN_F64, MICA_NAN_F64);
    mica_c128 low = mica_sqrt_c128(mica_make_c128(1.0 - x, -y));
    mica_c128 high = mica_sqrt_c128(mica_make_c128(1.0 + x, y));
    double imaginary = low.real * high.imaginary + mica_opposite_f64(low.imaginary * high.real);
    return mica_make_c128(
        atan2(x, low.real * high.real + mica_opposite_f64(low.imaginary * high.imaginary)),
        asinh(imaginary));
}

MICA_CALLED mica_c128 mica_acos_c128(mica_c128 z) {
    double x = z.real, y = z.imaginary;
    if (mica_is_huge_c128(z))
        return mica_make_c128(atan2(mica_abs_f64(y), x),
                              mica_copysign_f64(mica_log_abs_f64(x, y) + MICA_LN2_F64, -y));
    if (y != y) return mica_make_c128(x == 0.0 ? 0.5 * MICA_PI_F64 : MICA_NAN_F64, MICA_NAN_F64);
    mica_c128 low = mica_sqrt_c128(mica_make_c128(1.0 - x, -y));
    mica_c128 high = mica_sqrt_c128(mica_make_c128(1.0 + x, y));
    return mica_make_c128(
        2.0 * atan2(low.real, high.real),
        asinh(high.real * low.imaginary + mica_opposite_f64(high.imaginary * low.real)));
}

MICA_CALLED mica_c128 mica_acosh_c128(mica_c128 z) {
    double x = z.real, y = z.imaginary;
    if (mica_is_huge_c128(z))
        return mica_make_c128(mica_log_abs_f64(x, y) + MICA_LN2_F64, atan2(y, x));
    if (y != y && x == 0.0) return mica_make_c128(MICA_NAN_F64, 0.5 * MICA_PI_F64);
    mica_c128 low = mica_sqrt_c128(mica_make_c128(x - 1.0, y));
    mica_c128 high = mica_sqrt_c128(mica_make_c128(x + 1.0, y));
    return mica_make_c128(asinh(low.real * high.real + low.imaginary * high.imaginary),
                          2.0 * atan2(low.imaginary, high.real));
}

MICA_CALLED mica_c128 mica_atanh_c128(mica_c128 z) {
    double x = z.real, y = z.imaginary, a = mica_abs_f64(x);
    if ((x != x && !mica_is_inf_f64(y)) || (y != y && !mica_is_inf_f64(x)))
        return mica_make_c128(x == 0.0 ? x : MICA_NAN_F64, MICA_NAN_F64);
    if (mica_is_huge_c128(z)) {
        double length = hypot(x, y), real = mica_is_inf_f64(length) ? 0.0 : a / length / length;
        if (mica_is_finite_f64(x) && mica_is_finite_f64(y) && mica_is_inf_f64(length))
            real = a * 0x1p-100 / hypot(x * 0x1p-100, y * 0x1p-100) /
                   hypot(x * 0x1p-100, y * 0x1p-100) * 0x1p-100;
        return mica_make_c128(mica_copysign_f64(real, x),
                              y != y ? y : mica_copysign_f64(0.5 * MICA_PI_F64, y));
    }
    double real = a == 1.0 && mica_abs_f64(y) < 0x1p-500
                      ? 0.5 * (MICA_LN2_F64 - log(mica_abs_f64(y)))
                      : 0.25 * log1p(4.0 * a / ((1.0 - a) * (1.0 - a) + y * y));
    return mica_make_c128(mica_copysign_f64(real, x),
                          0.5 * atan2(2.0 * y, (1.0 - a) * (1.0 + a) - y * y));
}

MICA_CALLED mica_c128 mica_asinh_c128(mica_c128 z) {
    return mica_over_i_c128(mica_asin_c128(mica_times_i_c128(z)));
}
MICA_CALLED mica_c128 mica_atan_c128(mica_c128 z) {
    return mica_over_i_c128(mica_atanh_c128(mica_times_i_c128(z)));
}

/* ---- powers ---------------------------------------------------------------------------------- */

/* By squaring; 0 < |n| <= 64. */
MICA_CALLED mica_c128 mica_pow_integer_c128(mica_c128 a, int n) {
    mica_c128 y = mica_make_c128(1.0, 0.0), one = y;
    for (int rest = n < 0 ? -n : n; rest; rest >>= 1) {
        if (rest & 1) y = mica_mul_c128(y, a);
        if (rest > 1) a = mica_mul_c128(a, a);
    }
    return n < 0 ? mica_div_c128(one, y) : y;
}

/* Small whole exponents by multiplication, positive real bases by pow, else e^(b ln a). */
MICA_CALLED mica_c128 mica_pow_c128(mica_c128 a, mica_c128 b) {
    if (b.real == 0.0 && b.imaginary == 0.0) return mica_make_c128(1.0, 0.0);
    if (b.imaginary == 0.0 && b.real == floor(b.real) && mica_abs_f64(b.real) <= 64.0) {
        mica_c128 y = mica_pow_integer_c128(a, (int)b.real);
        if (mica_is_finite_f64(y.real) && mica_is_finite_f64(y.imaginary)) return y;
    }
    if (a.real == 0.0 && a.imaginary == 0.0)
        return b.real > 0.0 ? mica_make_c128(0.0, 0.0) : mica_make_c128(MICA_NAN_F64, MICA_NAN_F64);
    if (a.imaginary == 0.0 && b.imaginary == 0.0 && a.real > 0.0)
        return mica_make_c128(pow(a.real, b.real), 0.0 * a.imaginary * b.real);
    return mica_exp_c128(mica_mul_c128(b, mica_log_c128(a)));
}

/* ---- c64 ------------------------------------------------------------------------------------- */

#define MICA_COMPLEX_UNARY(name)                                                                   \
    MICA_SCALAR mica_c64 mica_##name##_c64(mica_c64 a) {                                           \
        return mica_narrow_c128(mica_##name##_c128(mica_widen_c64(a)));                            \
    }
#define MICA_COMPLEX_BINARY(name)                                                                  \
    MICA_SCALAR mica_c64 mica_##name##_c64(mica_c64 a, mica_c64 b) {                               \
        return mica_narrow_c128(mica_##name##_c128(mica_widen_c64(a), mica_widen_c64(b)));         \
    }
MICA_COMPLEX_UNARY(sign)
MICA_COMPLEX_UNARY(sqrt)
MICA_COMPLEX_UNARY(rsqrt)
MICA_COMPLEX_UNARY(exp)
MICA_COMPLEX_UNARY(expm1)
MICA_COMPLEX_UNARY(log)
MICA_COMPLEX_UNARY(log1p)
MICA_COMPLEX_UNARY(logistic)
MICA_COMPLEX_UNARY(sin)
MICA_COMPLEX_UNARY(cos)
MICA_COMPLEX_UNARY(tan)
MICA_COMPLEX_UNARY(sinh)
MICA_COMPLEX_UNARY(cosh)
MICA_COMPLEX_UNARY(tanh)
MICA_COMPLEX_UNARY(asin)
MICA_COMPLEX_UNARY(acos)
MICA_COMPLEX_UNARY(atan)
MICA_COMPLEX_UNARY(asinh)
MICA_COMPLEX_UNARY(acosh)
MICA_COMPLEX_UNARY(atanh)
MICA_COMPLEX_BINARY(mul)
MICA_COMPLEX_BINARY(div)
MICA_COMPLEX_BINARY(pow)

/* The squares and their sum are finite in f64. */
MICA_SCALAR float mica_abs_c64(mica_c64 a) {
    double x = (double)a.real, y = (double)a.imaginary;
    int infinite = mica_is_inf_f64(x) | mica_is_inf_f64(y);
    return (float)(infinite ? MICA_INF_F64 : MICA_SQRT_F64(x * x + y * y));
}

#endif
