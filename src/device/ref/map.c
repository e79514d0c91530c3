/* MAP rows: one scalar function per row and per kind of number.
 *
 * A row named `neg` is real_neg on doubles, signed_neg on int64 and unsigned_neg on uint64, as far
 * as its dtypes column goes; wrapping arithmetic is done on uint64 and cut when it is stored.
 * Behind the three operands of an integer function stands the width of the dtype in bits, x[3].
 * The functions of complex numbers are in complex.c. */
#include <math.h>

#include "device/ref/value.h"

/* Not every libm declares it under every standard; lgamma itself writes a global. */
extern double lgamma_r(double x, int *sign);

#define REAL(name, expression)                                                                     \
    static double real_##name(const double *x) {                                                   \
        return expression;                                                                         \
    }
#define SIGNED(name, expression)                                                                   \
    static uint64_t signed_##name(const uint64_t *bits) {                                          \
        const int64_t *x = (const int64_t *)bits;                                                  \
        (void)x;                                                                                   \
        return (uint64_t)(expression);                                                             \
    }
#define UNSIGNED(name, expression)                                                                 \
    static uint64_t unsigned_##name(const uint64_t *x) {                                           \
        return expression;                                                                         \
    }
/* Where wrapping makes signed and unsigned the same. */
#define WRAPPING(name, expression)                                                                 \
    UNSIGNED(name, expression)                                                                     \
    static uint64_t signed_##name(const uint64_t *x) {                                             \
        return unsigned_##name(x);                                                                 \
    }

REAL(neg, -x[0])
WRAPPING(neg, -x[0])
REAL(abs, fabs(x[0]))
SIGNED(abs, x[0] < 0 ? -bits[0] : bits[0])
UNSIGNED(abs, x[0])
REAL(sign, isnan(x[0]) || x[0] == 0 ? x[0] : x[0] > 0 ? 1.0 : -1.0)
SIGNED(sign, (x[0] > 0) - (x[0] < 0))
UNSIGNED(sign, x[0] != 0)
REAL(floor, floor(x[0]))
REAL(ceil, ceil(x[0]))
REAL(round, rint(x[0]))
REAL(exp, exp(x[0]))
REAL(expm1, expm1(x[0]))
REAL(log, log(x[0]))
REAL(log1p, log1p(x[0]))
REAL(sqrt, sqrt(x[0]))
REAL(rsqrt, 1.0 / sqrt(x[0]))
REAL(cbrt, cbrt(x[0]))
REAL(sin, sin(x[0]))
REAL(cos, cos(x[0]))
REAL(tan, tan(x[0]))
REAL(asin, asin(x[0]))
REAL(acos, acos(x[0]))
REAL(atan, atan(x[0]))
REAL(sinh, sinh(x[0]))
REAL(cosh, cosh(x[0]))
REAL(tanh, tanh(x[0]))
REAL(asinh, asinh(x[0]))
REAL(acosh, x[0] < 1 ? NAN : acosh(x[0])) /* not every libm answers NaN below 1 */
REAL(atanh, atanh(x[0]))
REAL(erf, erf(x[0]))
REAL(erfc, erfc(x[0]))
REAL(logistic, x[0] < 0 ? exp(x[0]) / (1 + exp(x[0])) : 1 / (1 + exp(-x[0])))

static double real_lgamma(const double *x) {
    int sign;
    return lgamma_r(x[0], &sign);
}

/* Newton's method on erf y = x, and in the tails on ln erfc y = ln(1 - x), from a rough formula. */
static double real_erfinv(const double *x) {
    const long double half_root_pi = 0.886226925452758013649083741670572591L;
    long double a = fabsl((long double)x[0]), c = 1 - a;
    if (isnan(x[0]) || a > 1) return NAN;
    if (a == 1) return copysign(INFINITY, x[0]);
    if (a < 1e-10L) return (double)(half_root_pi * (long double)x[0]);
    long double l = logl(c * (1 + a)), p = 2 / (3.14159265358979323846L * 0.147L) + l / 2;
    long double y = sqrtl(sqrtl(p * p - l / 0.147L) - p);
    for (int i = 0; i < 8; i++) {
        long double inverse_slope = half_root_pi * expl(y * y);
        if (a < 0.5L)
            y -= (erfl(y) - a) * inverse_slope;
        else
            y += logl(erfcl(y) / c) * erfcl(y) * inverse_slope;
    }
    return copysign((double)y, x[0]);
}

/* psi(x) = psi(1 - x) - pi / tan(pi x) for negative x, psi(x) = psi(x + 1) - 1/x up to 10, then
 * ln x - 1/(2x) - sum B_2k / (2k x^2k). Poles: -+inf at +-0, NaN at the negative integers. */
static double real_digamma(const double *x) {
    const double pi = 3.14159265358979323846;
    double t = x[0], result = 0;
    if (t == 0) return signbit(t) ? INFINITY : -INFINITY;
    if (t < 0) {
        if (t == floor(t)) return NAN;
        double angle = t - rint(t); /* exact */
        result = -pi / tan(pi * angle);
        t = 1 - t;
    }
    for (; t < 10; t += 1) result -= 1 / t;
    double s = 1 / (t * t);
    double series = 1.0 / 12;
    series = 691.0 / 32760 - s * series;
    series = 1.0 / 132 - s * series;
    series = 1.0 / 240 - s * series;
    series = 1.0 / 252 - s * series;
    series = 1.0 / 120 - s * series;
    series = 1.0 / 12 - s * series;
    return result + (log(t) - 0.5 / t - s * series);
}

/* ln of Gamma(z) / ((2 pi / z)^(1/2) z^z e^-z), Stirling's series, for z >= 20. */
static long double stirling(long double z) {
    static const long double terms[] = {1 / 12.0L,    -1 / 360.0L,      1 / 1260.0L,
                                        -1 / 1680.0L, 1 / 1188.0L,      -691 / 360360.0L,
                                        1 / 156.0L,   -3617 / 122400.0L};
    long double sum = 0;
    for (int i = 7; i >= 0; i--) sum = sum / (z * z) + terms[i];
    return sum / z;
}

/* x^a e^-x / Gamma(a), for z = a, or a + k >= 20: Gamma(a) = Gamma(a + k) / (a ... (a + k - 1)). */
static long double gamma_density(long double a, long double x) {
    long double z = a, product = 1;
    for (; z < 20; z += 1) product *= z;
    long double root = sqrtl(z / 6.28318530717958647692528676655900577L);
    if (z == a) return root * expl(-a * ((x - a) / a - log1pl((x - a) / a)) - stirling(a));
    return root * product * expl(a * logl(x) - x - z * logl(z) + z - stirling(z));
}

/* Temme's uniform expansion for very large a, two terms of it. */
static double igamma_of_large(long double a, long double x) {
    long double u = (x - a) / a, half = u - log1pl(u);
    if (u * u * a > 3200) return u > 0;
    long double eta = copysignl(sqrtl(2 * half), u);
    long double first = -1 / 3.0L + eta / 12 - 2 * eta * eta / 135, second = -1 / 540.0L;
    long double rest = expl(-a * half) / sqrtl(6.28318530717958647692528676655900577L * a);
    return (double)(erfcl(-eta * sqrtl(a / 2)) / 2 - rest * (first + second / a));
}

/* The power series up to a + 1; beyond, 1 less the continued fraction, by Lentz' method. */
static double real_igamma(const double *args) {
    long double a = (long double)args[0], x = (long double)args[1];
    if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x))) return NAN;
    if (x == 0 || isinf(a)) return 0;
    if (a == 0 || isinf(x)) return 1;
    if (a > 1e8L) return igamma_of_large(a, x);
    if (x > 2 * a + 20000) return 1;
    if (x < a + 1) {
        long double term = 1 / a, sum = term;
        for (long double n = 1; term > sum * 1e-21L; n += 1) sum += term *= x / (a + n);
        return (double)(gamma_density(a, x) * sum);
    }
    long double b = x + 1 - a, c = 1e300L, d = 1 / b, h = d, change = 0;
    for (long double n = 1; fabsl(change - 1) > 1e-19L; n += 1) {
        long double an = n * (a - n);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= change = c * d;
    }
    return (double)(1 - gamma_density(a, x) * h);
}

WRAPPING(not, ~x[0])
REAL(add, x[0] + x[1])
WRAPPING(add, x[0] + x[1])
REAL(sub, x[0] - x[1])
WRAPPING(sub, x[0] - x[1])
REAL(mul, x[0] * x[1])
WRAPPING(mul, x[0] * x[1])
REAL(div, x[0] / x[1])
SIGNED(div, x[1] == 0 ? -1 : x[1] == -1 ? (int64_t)-bits[0] : x[0] / x[1])
UNSIGNED(div, x[1] == 0 ? ~(uint64_t)0 : x[0] / x[1])
REAL(rem, fmod(x[0], x[1]))
SIGNED(rem, x[1] == 0 ? x[0] : x[1] == -1 ? 0 : x[0] % x[1])
UNSIGNED(rem, x[1] == 0 ? x[0] : x[0] % x[1])
REAL(pow, pow(x[0], x[1]))
REAL(max, ref_extreme(x[0], x[1], 1))
SIGNED(max, x[0] > x[1] ? x[0] : x[1])
UNSIGNED(max, x[0] > x[1] ? x[0] : x[1])
REAL(min, ref_extreme(x[0], x[1], -1))
SIGNED(min, x[0] < x[1] ? x[0] : x[1])
UNSIGNED(min, x[0] < x[1] ? x[0] : x[1])
REAL(atan2, atan2(x[0], x[1]))
WRAPPING(and, x[0] & x[1])
WRAPPING(or, x[0] | x[1])
WRAPPING(xor, x[0] ^ x[1])

/* As an unsigned number of its own width. */
static uint64_t cut(uint64_t bits, uint64_t width) {
    return width < 64 ? bits & (((uint64_t)1 << width) - 1) : bits;
}
WRAPPING(shl, x[1] < x[3] ? x[0] << x[1] : 0)
WRAPPING(shr, x[1] < x[3] ? cut(x[0], x[3]) >> x[1] : 0)

/* One place at a time, each keeping the top bit. */
static uint64_t unsigned_sar(const uint64_t *x) {
    uint64_t y = cut(x[0], x[3]), top = y & (uint64_t)1 << (x[3] - 1);
    for (uint64_t i = 0; i < x[1] && i < x[3]; i++) y = y >> 1 | top;
    return y;
}
static uint64_t signed_sar(const uint64_t *x) {
    return unsigned_sar(x);
}

static uint64_t unsigned_popcount(const uint64_t *x) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < x[3]; i++) count += x[0] >> i & 1;
    return count;
}
static uint64_t signed_popcount(const uint64_t *x) {
    return unsigned_popcount(x);
}

static uint64_t unsigned_clz(const uint64_t *x) {
    uint64_t count = 0;
    while (count < x[3] && !(x[0] >> (x[3] - 1 - count) & 1)) count++;
    return count;
}
static uint64_t signed_clz(const uint64_t *x) {
    return unsigned_clz(x);
}

static double real_clamp(const double *x) {
    double raised = ref_extreme(x[0], x[1], 1);
    return ref_extreme(raised, x[2], -1);
}

static uint64_t signed_clamp(const uint64_t *bits) {
    uint64_t raised[2] = {signed_max(bits), bits[2]};
    return signed_min(raised);
}

static uint64_t unsigned_clamp(const uint64_t *x) {
    uint64_t raised[2] = {unsigned_max(x), x[2]};
    return unsigned_min(raised);
}

typedef struct scalar_functions {
    double (*on_reals)(const double *x);
    uint64_t (*on_signed)(const uint64_t *bits);
    uint64_t (*on_unsigned)(const uint64_t *x);
    ref_complex_function on_complex;
} scalar_functions;

#define FUNCTIONS_FLOATS(name)                                                                     \
    { real_##name, NULL, NULL, NULL }
#define FUNCTIONS_FLOATS_COMPLEX(name)                                                             \
    { real_##name, NULL, NULL, ref_complex_##name }
#define FUNCTIONS_NUMBERS_COMPLEX(name)                                                            \
    { real_##name, signed_##name, unsigned_##name, ref_complex_##name }
#define FUNCTIONS_INTEGERS(name) FUNCTIONS_BITS(name)
#define FUNCTIONS_NUMBERS(name)                                                                    \
    { real_##name, signed_##name, unsigned_##name, NULL }
#define FUNCTIONS_BITS(name)                                                                       \
    { NULL, signed_##name, unsigned_##name, NULL }
#define ENTRY_MAP(name, dtypes) [MICA_OP_##name] = FUNCTIONS_##dtypes(name),
#define ENTRY_ELEMENTWISE(name, dtypes)
#define ENTRY_SHAPE(name, dtypes)
#define ENTRY_CONTRACTION(name, dtypes)
#define ENTRY_REDUCTION(name, dtypes)
#define ENTRY_RANDOM(name, dtypes)
#define ENTRY_SEVERAL(name, dtypes)
#define ENTRY_CONTROL(name, dtypes)
#define ENTRY_COLLECTIVE(name, dtypes)
#define ENTRY_HOST(name, dtypes)
static const scalar_functions table[MICA_OP_COUNT] = {
#define MICA_OP(name, arity, class, dtypes, ...) ENTRY_##class(name, dtypes)
#include "mica/ops.def"
#undef MICA_OP
};

static void run_complex(const mica_node *n, ref_complex_function function,
                        ref_value *const *operands, ref_value *result) {
    mica_dtype dtype = operands[0]->type.dtype;
    for (int64_t i = 0, end = mica_type_elements(&result->type); i < end; i++) {
        ref_number x[3] = {{0}};
        for (int32_t k = 0; k < n->n_operands && k < 3; k++)
            x[k] = ref_load(dtype, operands[k]->data, i);
        ref_store(result->type.dtype, result->data, i, function(x));
    }
}

mica_status ref_run_map(const mica_node *n, ref_value *const *operands, ref_value **results) {
    scalar_functions functions = table[n->op];
    mica_dtype dtype = operands[0]->type.dtype;
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    int64_t count = mica_type_elements(&results[0]->type);
    bool known = kind == MICA_KIND_FLOAT     ? functions.on_reals != NULL
                 : kind == MICA_KIND_COMPLEX ? functions.on_complex != NULL
                                             : functions.on_unsigned != NULL;
    if (!known)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] no meaning for %s", mica_op_describe(n->op)->name,
                          mica_dtype_name(dtype));
    if (kind == MICA_KIND_COMPLEX) {
        run_complex(n, functions.on_complex, operands, results[0]);
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        double reals[3] = {0};
        uint64_t bits[4] = {0, 0, 0, 8 * mica_dtype_bytes(dtype)};
        for (int32_t k = 0; k < n->n_operands && k < 3; k++) {
            ref_number number = ref_load(dtype, operands[k]->data, i);
            reals[k] = number.real;
            bits[k] = number.bits;
        }
        ref_number y = kind == MICA_KIND_FLOAT    ? ref_from_double(functions.on_reals(reals))
                       : kind == MICA_KIND_SIGNED ? ref_from_bits(functions.on_signed(bits))
                                                  : ref_from_bits(functions.on_unsigned(bits));
        ref_store(dtype, results[0]->data, i, y);
    }
    return NULL;
}
