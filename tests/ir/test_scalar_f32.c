/* The f32 functions of ir/scalar.h, swept over bit patterns and measured in units of the last place
 * against a wider type. Prints the worst error of each function and where it is; docs/numerics.md
 * is made from that. MICA_EXHAUSTIVE=1 takes all 2^32 inputs, MICA_TEST_QUICK=1 few. */
#include "ir/scalar.h"
#include "test.h"

enum { BLOCK = 4096 };

typedef void (*loop)(const float *x, float *y, int n);

/* Every function twice: for the baseline, and for a machine with vectors and fused multiply-adds.
 */
#if defined(__x86_64__)
#define FAST __attribute__((target("avx2,fma")))
static bool machine_is_fast(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define FAST
static bool machine_is_fast(void) {
    return true;
}
#endif

/* clang-format off */
#define UNARY(X)                                                                                   \
    X(exp) X(expm1) X(log) X(log1p) X(sqrt) X(rsqrt) X(cbrt) X(sin) X(cos) X(tan) X(asin) X(acos)  \
    X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(erfc) X(erfinv) X(lgamma)  \
    X(digamma) X(logistic) X(floor) X(ceil) X(round) X(abs) X(neg) X(sign)
/* clang-format on */

#define DEFINE_LOOPS(f)                                                                            \
    static void f##_plain(const float *x, float *y, int n) {                                       \
        for (int i = 0; i < n; i++) y[i] = mica_##f##_f32(x[i]);                                   \
    }                                                                                              \
    FAST static void f##_fast(const float *x, float *y, int n) {                                   \
        for (int i = 0; i < n; i++) y[i] = mica_##f##_f32(x[i]);                                   \
    }
UNARY(DEFINE_LOOPS)

/* ---- references ----------------------------------------------------------------------------- */

static double reference_rsqrt(double x) {
    return (double)(1.0L / sqrtl((long double)x));
}
static double reference_logistic(double x) {
    return 1.0 / (1.0 + exp(-x));
}
static double reference_neg(double x) {
    return -x;
}
static double reference_sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
/* Not every libm answers NaN to all arguments below 1. */
static double reference_acosh(double x) {
    return x < 1 ? (double)NAN : acosh(x);
}
static double reference_lgamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* Upwards to 20 one step at a time, then the asymptotic series, in long double. */
static double reference_digamma(double a) {
    if (a == 0) return -1 / a;
    if (a < 0 && (isinf(a) || a == floor(a))) return (double)NAN;
    if (isinf(a)) return a;
    const long double pi = 3.141592653589793238462643383279503L;
    long double x = a < 0 ? 1 - (long double)a : (long double)a, sum = 0;
    while (x < 20) {
        sum -= 1 / x;
        x += 1;
    }
    long double r = 1 / x, z = r * r;
    sum += logl(x) - r / 2;
    sum -= z * (1.0L / 12 - z * (1.0L / 120 - z * (1.0L / 252 - z * (1.0L / 240 - z / 132))));
    if (a < 0) sum -= pi / tanl(pi * ((long double)a - rintl((long double)a)));
    return (double)sum;
}

/* Newton's method in long double from the f64 function, on erfc where erf is near 1. */
static double reference_erfinv(double a) {
    if (!(fabs(a) < 1)) return fabs(a) == 1 ? copysign((double)INFINITY, a) : (double)NAN;
    const long double half_root_pi = 0.886226925452758013649083741670572591L;
    long double x = (long double)fabs(a), y = (long double)mica_erfinv_f64(fabs(a));
    long double difference = x < 0.5L ? erfl(y) - x : (1 - x) - erfcl(y);
    y -= difference * half_root_pi * expl(y * y);
    return copysign((double)y, a);
}

/* ---- measuring ------------------------------------------------------------------------------ */

typedef struct function {
    const char *name;
    loop plain, fast;
    double (*reference)(double);
    double limit;    /* in ulp */
    double absolute; /* errors below this are forgiven; 0 for most */
    int every;       /* slow references see every so manieth input of the sweep only */
} function;

#define LOOPS(f) #f, f##_plain, f##_fast
static const function functions[] = {
    {LOOPS(exp), exp, 2, 0, 1},
    {LOOPS(expm1), expm1, 2, 0, 1},
    {LOOPS(log), log, 2, 0, 1},
    {LOOPS(log1p), log1p, 2, 0, 1},
    {LOOPS(sqrt), sqrt, 0.5, 0, 1},
    {LOOPS(rsqrt), reference_rsqrt, 2, 0, 1},
    {LOOPS(cbrt), cbrt, 2, 0, 1},
    {LOOPS(sin), sin, 2, 0, 1},
    {LOOPS(cos), cos, 2, 0, 1},
    {LOOPS(tan), tan, 2, 0, 1},
    {LOOPS(asin), asin, 2, 0, 1},
    {LOOPS(acos), acos, 2, 0, 1},
    {LOOPS(atan), atan, 2, 0, 1},
    {LOOPS(sinh), sinh, 2, 0, 1},
    {LOOPS(cosh), cosh, 2, 0, 1},
    {LOOPS(tanh), tanh, 2, 0, 1},
    {LOOPS(asinh), asinh, 2, 0, 1},
    {LOOPS(acosh), reference_acosh, 2, 0, 1},
    {LOOPS(atanh), atanh, 2, 0, 1},
    {LOOPS(erf), erf, 2, 0, 1},
    {LOOPS(erfc), erfc, 2, 0, 1},
    {LOOPS(erfinv), reference_erfinv, 2, 0, 8},
    {LOOPS(lgamma), reference_lgamma, 2, 1e-6, 1},
    {LOOPS(digamma), reference_digamma, 2, 1e-6, 4},
    {LOOPS(logistic), reference_logistic, 2, 0, 1},
    {LOOPS(floor), floor, 0, 0, 4},
    {LOOPS(ceil), ceil, 0, 0, 4},
    {LOOPS(round), rint, 0, 0, 4},
    {LOOPS(abs), fabs, 0, 0, 4},
    {LOOPS(neg), reference_neg, 0, 0, 4},
    {LOOPS(sign), reference_sign, 0, 0, 4},
};

/* Distance in units of f32's last place at the exact value; infinite for a wrong special value. */
static double ulp_error(float got, double exact, double absolute) {
    if (isnan(exact)) return isnan(got) ? 0 : (double)INFINITY;
    if (isnan(got)) return (double)INFINITY;
    if (isinf(exact)) return (double)got == exact ? 0 : (double)INFINITY;
    if (fabs((double)got - exact) < absolute) return 0;
    if (exact == 0) return got == 0 && !signbit(got) == !signbit(exact) ? 0 : (double)INFINITY;
    if (isinf(got) && (float)exact == got) return 0.5;
    double value = isinf(got) ? copysign(0x1p128, (double)got) : (double)got;
    double difference = fabs(value - exact);
    int exponent = ilogb(exact);
    return difference / ldexp(1, (exponent < -126 ? -126 : exponent) - 23);
}

typedef struct worst {
    double ulp;
    float at;
    int64_t n, different;
} worst;

static void measure_block(const function *f, const float *x, int n, bool compare, worst *w) {
    static float y[BLOCK], z[BLOCK];
    (machine_is_fast() ? f->fast : f->plain)(x, y, n);
    if (compare) {
        f->plain(x, z, n);
        for (int i = 0; i < n; i++) {
            w->different += mica_bits_f32(y[i]) != mica_bits_f32(z[i]) && !isnan(y[i]);
        }
    }
    for (int i = 0; i < n; i++) {
        double error = ulp_error(y[i], f->reference((double)x[i]), f->absolute);
        if (error > w->ulp) {
            w->ulp = error;
            w->at = x[i];
        }
    }
    w->n += n;
}

static const float special_values[] = {
    0.0f,
    -0.0f,
    1.0f,
    -1.0f,
    0.5f,
    -0.5f,
    2.0f,
    -2.0f,
    3.0f,
    -3.0f,
    1.5f,
    -1.5f,
    0x1p-126f,
    -0x1p-126f,
    0x1p-149f,
    -0x1p-149f,
    0x1p-24f,
    -0x1p-24f,
    0x1p23f,
    -0x1p23f,
    0x1.fffffep127f,
    INFINITY,
    -INFINITY,
    0x1p127f,
    -0x1.fffffep127f,
    88.72283f,
    88.722839f,
    -103.97208f,
    -87.3f,
    9.01f,
    10.05f,
    0x1.fffffep-1f,
    -0x1.fffffep-1f,
    1.0000001f,
    89.41598f,
    0x1p20f,
    -0x1p20f,
    1.5707964f,
    3.1415927f,
    6.2831855f,
    16367173.0f * 0x1p72f,
};
enum { SPECIAL_VALUES = sizeof special_values / sizeof special_values[0] };

static worst measure(const function *f, uint64_t stride) {
    static float x[BLOCK];
    worst w = {0, 0, 0, 0};
    measure_block(f, special_values, SPECIAL_VALUES, true, &w);
    int filled = 0;
    int64_t blocks = 0;
    for (uint64_t bits = 0; bits < ((uint64_t)1 << 32); bits += stride * (uint64_t)f->every) {
        x[filled++] = mica_from_bits_f32((uint32_t)bits);
        if (filled == BLOCK) {
            measure_block(f, x, filled, blocks++ % 16 == 0, &w);
            filled = 0;
        }
    }
    measure_block(f, x, filled, true, &w);
    return w;
}

TEST(unary_f32_functions_are_within_their_bounds_over_all_bit_patterns) {
    uint64_t stride = getenv("MICA_EXHAUSTIVE") ? 1 : getenv("MICA_TEST_QUICK") ? 65537 : 257;
    const char *only = getenv("MICA_TEST_FUNCTION");
    printf("| function | worst error (ulp) | at | bound | inputs |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        const function *f = &functions[i];
        if (only && strcmp(only, f->name) != 0) continue;
        worst w = measure(f, stride);
        printf("| %s | %.3f | %a (%.9g) | %g | %lld |\n", f->name, w.ulp, (double)w.at,
               (double)w.at, f->limit, (long long)w.n);
        fflush(stdout);
        if (!(w.ulp <= f->limit)) {
            test_report(__FILE__, __LINE__, "%s(%a) is off by %g ulp", f->name, (double)w.at,
                        w.ulp);
        }
        if (w.different) {
            test_report(__FILE__, __LINE__, "%s gives other bits with fma: %lld times", f->name,
                        (long long)w.different);
        }
        test_checks += 2;
    }
}

TEST(tanh_never_falls_and_is_odd) {
    const uint32_t stride = getenv("MICA_EXHAUSTIVE") ? 1 : getenv("MICA_TEST_QUICK") ? 4099 : 61;
    const loop tanh_of = machine_is_fast() ? tanh_fast : tanh_plain;
    static float x[BLOCK], y[BLOCK], z[BLOCK];
    float before = 0;
    int64_t falls = 0, uneven = 0;
    for (uint64_t bits = 0; bits <= 0x7f800000u;) {
        for (int i = 0; i < BLOCK; i++, bits += stride)
            x[i] = mica_from_bits_f32(bits < 0x7f800000u ? (uint32_t)bits : 0x7f800000u);
        tanh_of(x, y, BLOCK);
        for (int i = 0; i < BLOCK; i++) x[i] = -x[i];
        tanh_of(x, z, BLOCK);
        for (int i = 0; i < BLOCK; i++) {
            falls += !(y[i] >= before);
            uneven += mica_bits_f32(z[i]) != (mica_bits_f32(y[i]) | 0x80000000u);
            before = y[i];
        }
    }
    CHECK(falls == 0);
    CHECK(uneven == 0);
    CHECK(before == 1.0f);
}
