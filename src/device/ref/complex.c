/* MAP rows on complex numbers: libm's complex functions in long double, rounded once. */
#include <complex.h>
#include <math.h>
#undef complex /* it is a row of the table */

#include "device/ref/value.h"

typedef long double _Complex wide;

static wide wide_of(ref_number x) {
    wide z;
    ((long double *)&z)[0] = x.real; /* not x + i y, which spoils infinities */
    ((long double *)&z)[1] = x.imaginary;
    return z;
}

static ref_number number_of(wide z) {
    return (ref_number){.real = (double)creall(z), .imaginary = (double)cimagl(z)};
}

static ref_number parts(long double real, long double imaginary) {
    return (ref_number){.real = (double)real, .imaginary = (double)imaginary};
}

#define LIBM(name)                                                                                 \
    ref_number ref_complex_##name(const ref_number *x) {                                           \
        return number_of(c##name##l(wide_of(x[0])));                                               \
    }
LIBM(exp)
LIBM(log)
LIBM(sqrt)
LIBM(sin)
LIBM(cos)
LIBM(tan)
LIBM(sinh)
LIBM(cosh)
LIBM(tanh)
LIBM(asin)
LIBM(acos)
LIBM(atan)
LIBM(asinh)
LIBM(acosh)
LIBM(atanh)

ref_number ref_complex_neg(const ref_number *x) {
    return parts(-x[0].real, -x[0].imaginary);
}

ref_number ref_complex_add(const ref_number *x) {
    return parts(x[0].real + x[1].real, x[0].imaginary + x[1].imaginary);
}

ref_number ref_complex_sub(const ref_number *x) {
    return parts(x[0].real - x[1].real, x[0].imaginary - x[1].imaginary);
}

/* In double, as it stands, so that infinities spoil the same products. */
ref_number ref_complex_mul(const ref_number *x) {
    return ref_product(MICA_DTYPE_c128, x[0], x[1]);
}

/* A real or imaginary divisor divides both parts; of a finite number an infinite one leaves
 * nothing, and an infinite number stays one, whose finite part does not count. */
static wide quotient(ref_number a, ref_number b) {
    long double ar = a.real, ai = a.imaginary, br = b.real, bi = b.imaginary;
    if (bi == 0) return wide_of(parts(ar / br, ai / br));
    if (br == 0) return wide_of(parts(ai / bi, -ar / bi));
    if (isinf(br) || isinf(bi)) {
        if (!isfinite(ar) || !isfinite(ai)) return wide_of(parts(NAN, NAN));
        br = copysignl(isinf(br) ? 1 : 0, br);
        bi = copysignl(isinf(bi) ? 1 : 0, bi);
        return wide_of(parts(0 * (ar * br + ai * bi), 0 * (ai * br - ar * bi)));
    }
    long double size = br * br + bi * bi;
    if ((isinf(ar) || isinf(ai)) && !isnan(size)) {
        ar = copysignl(isinf(ar) ? 1 : 0, ar);
        ai = copysignl(isinf(ai) ? 1 : 0, ai);
        return wide_of(parts(INFINITY * (ar * br + ai * bi), INFINITY * (ai * br - ar * bi)));
    }
    return wide_of(parts((ar * br + ai * bi) / size, (ai * br - ar * bi) / size));
}

ref_number ref_complex_div(const ref_number *x) {
    return number_of(quotient(x[0], x[1]));
}

ref_number ref_complex_rsqrt(const ref_number *x) {
    return number_of(quotient(parts(1, 0), ref_complex_sqrt(x)));
}

ref_number ref_complex_abs(const ref_number *x) {
    return parts(hypotl(x[0].real, x[0].imaginary), 0);
}

ref_number ref_complex_sign(const ref_number *x) {
    double a = x[0].real, b = x[0].imaginary;
    if (isnan(a) || isnan(b) || (isinf(a) && isinf(b))) return parts(NAN, NAN);
    if (isinf(a)) return parts(copysign(1, a), copysign(0, b));
    if (isinf(b)) return parts(copysign(0, a), copysign(1, b));
    if (a == 0 && b == 0) return x[0];
    long double length = hypotl(a, b);
    return parts(a / length, b / length);
}

ref_number ref_complex_expm1(const ref_number *x) {
    long double a = x[0].real, b = x[0].imaginary, s = sinl(b / 2);
    if (isfinite(a) && isfinite(b))
        return parts(expm1l(a) * cosl(b) - 2 * s * s, b == 0 ? b : expl(a) * sinl(b));
    ref_number y = ref_complex_exp(x);
    y.real -= 1;
    return y;
}

ref_number ref_complex_log1p(const ref_number *x) {
    long double a = x[0].real, b = x[0].imaginary;
    if (fabsl(a) < 0.1L && fabsl(b) < 0.1L)
        return parts(log1pl(a * (2 + a) + b * b) / 2, atan2l(b, 1 + a));
    ref_number y = {.real = (double)(1 + a), .imaginary = x[0].imaginary};
    wide z = wide_of(y);
    ((long double *)&z)[0] = 1 + a;
    return number_of(clogl(z));
}

ref_number ref_complex_logistic(const ref_number *x) {
    bool negative = x[0].real < 0;
    wide z = wide_of(negative ? x[0] : ref_complex_neg(x));
    wide e = cexpl(z), below = e;
    ((long double *)&below)[0] += 1;
    return number_of(negative ? quotient(number_of(e), number_of(below))
                              : quotient(parts(1, 0), number_of(below)));
}

ref_number ref_complex_pow(const ref_number *x) {
    if (x[1].real == 0 && x[1].imaginary == 0) return parts(1, 0);
    if (x[0].real == 0 && x[0].imaginary == 0) return x[1].real > 0 ? parts(0, 0) : parts(NAN, NAN);
    return number_of(cpowl(wide_of(x[0]), wide_of(x[1])));
}
