/* The f64 functions of ir/scalar.h against long double, on random arguments from the range where
 * the result is neither trivial nor infinite; and at special values against libm. */
#include <float.h>

#include "ir/scalar.h"
#include "test.h"

static uint64_t random_state = 7;
static uint64_t random_bits(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static long double reference_rsqrt(long double x) {
    return 1 / sqrtl(x);
}
static long double reference_logistic(long double x) {
    return 1 / (1 + expl(-x));
}
/* Upwards to 40 one step at a time, then the asymptotic series. */
static long double reference_digamma(long double x) {
    const long double pi = 3.141592653589793238462643383279503L;
    long double sum = 0;
    if (x < 0) {
        sum = -pi / tanl(pi * (x - rintl(x)));
        x = 1 - x;
    }
    for (; x < 40; x += 1) sum -= 1 / x;
    long double r = 1 / x, z = r * r;
    long double series =
        1.0L / 12 - z * (1.0L / 120 - z * (1.0L / 252 - z * (1.0L / 240 - z / 132)));
    return sum + logl(x) - r / 2 - z * series;
}
static long double reference_erfinv(long double x) {
    const long double half_root_pi = 0.886226925452758013649083741670572591L;
    long double a = fabsl(x), y = (long double)mica_erfinv_f64((double)a);
    for (int i = 0; i < 2; i++) {
        long double difference = a < 0.5L ? erfl(y) - a : (1 - a) - erfcl(y);
        long double step = difference * half_root_pi * expl(y * y);
        y -= step / (1 + y * step);
    }
    return copysignl(y, x);
}

typedef struct function {
    const char *name;
    double (*call)(double);
    long double (*reference)(long double);
    double low, high, limit, absolute;
} function;

#define CALL(f)                                                                                    \
    static double call_##f(double x) {                                                             \
        return mica_##f##_f64(x);                                                                  \
    }
/* clang-format off */
CALL(exp) CALL(expm1) CALL(log) CALL(log1p) CALL(sqrt) CALL(rsqrt) CALL(cbrt) CALL(sin) CALL(cos)
CALL(tan) CALL(asin) CALL(acos) CALL(atan) CALL(sinh) CALL(cosh) CALL(tanh) CALL(asinh) CALL(acosh)
CALL(atanh) CALL(erf) CALL(erfc) CALL(erfinv) CALL(lgamma) CALL(digamma) CALL(logistic)
    /* clang-format on */

    static const function functions[] = {
        {"exp", call_exp, expl, -745, 709, 1, 0},
        {"expm1", call_expm1, expm1l, -40, 709, 2, 0},
        {"log", call_log, logl, 0, 100, 1, 0},
        {"log1p", call_log1p, log1pl, -1, 100, 2, 0},
        {"sqrt", call_sqrt, sqrtl, 0, 1e6, 0.5001, 0},
        {"rsqrt", call_rsqrt, reference_rsqrt, 0, 1e6, 1.6, 0},
        {"cbrt", call_cbrt, cbrtl, -1e6, 1e6, 4, 0},
        {"sin", call_sin, sinl, -1000, 1000, 1, 0},
        {"cos", call_cos, cosl, -1000, 1000, 1, 0},
        {"tan", call_tan, tanl, -1000, 1000, 1, 0},
        {"asin", call_asin, asinl, -1, 1, 1, 0},
        {"acos", call_acos, acosl, -1, 1, 1, 0},
        {"atan", call_atan, atanl, -20, 20, 1, 0},
        {"sinh", call_sinh, sinhl, -700, 700, 3, 0},
        {"cosh", call_cosh, coshl, -700, 700, 3, 0},
        {"tanh", call_tanh, tanhl, -20, 20, 3, 0},
        {"asinh", call_asinh, asinhl, -100, 100, 3, 0},
        {"acosh", call_acosh, acoshl, 1, 100, 3, 0},
        {"atanh", call_atanh, atanhl, -1, 1, 3, 0},
        {"erf", call_erf, erfl, -6, 6, 2, 0},
        {"erfc", call_erfc, erfcl, -6, 26, 6, 0},
        {"erfinv", call_erfinv, reference_erfinv, -1, 1, 4, 0},
        {"sin of many turns", call_sin, sinl, -1048576, 1048576, 1, 0},
        {"cos of many turns", call_cos, cosl, -1048576, 1048576, 1, 0},
        {"tan of many turns", call_tan, tanl, -1048576, 1048576, 1, 0},
        {"lgamma", call_lgamma, lgammal, 0.1, 100, 3, 1e-15},
        {"digamma", call_digamma, reference_digamma, -20, 100, 4, 1e-13},
        {"logistic", call_logistic, reference_logistic, -700, 40, 3, 0},
};

TEST(f64_functions_are_within_a_few_ulp) {
    volatile long double one = 1;
    if (fabsl(expl(one) - 2.718281828459045235360287471352662498L) > 1e-18L) {
        test_skip("the C library's long double functions are no better than its double ones");
        return;
    }
    int n = getenv("MICA_EXHAUSTIVE") ? 10000000 : getenv("MICA_TEST_QUICK") ? 2000 : 50000;
    printf("| function | worst error (ulp) | at | bound | arguments |\n|---|---|---|---|---|\n");
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        const function *f = &functions[k];
        double worst = 0, at = 0;
        for (int i = 0; i < n; i++) {
            double unit = (double)(random_bits() >> 11) * 0x1p-53;
            double x = f->low + (f->high - f->low) * unit;
            if (i % 4 == 0) x = ldexp(x, -(int)(random_bits() % 60)); /* small ones, too */
            if (!(x > f->low && x < f->high)) continue;
            long double exact = f->reference((long double)x);
            long double difference = fabsl((long double)f->call(x) - exact);
            int exponent = ilogbl(exact);
            double ulp = (double)ldexpl(difference, 52 - (exponent < -1022 ? -1022 : exponent));
            if (difference > (long double)f->absolute && ulp > worst) worst = ulp, at = x;
        }
        printf("| %s | %.3f | %a (%.9g) | %g | %d |\n", f->name, worst, at, at, f->limit, n);
        test_checks++;
        if (!(worst <= f->limit)) {
            test_report(__FILE__, __LINE__, "%s(%a) is off by %g ulp", f->name, at, worst);
        }
    }
}

typedef struct binary {
    const char *name;
    double (*call)(double, double);
    long double (*reference)(long double, long double);
    double low, high, other_low, other_high, limit;
} binary;

static double call_pow(double x, double y) {
    return mica_pow_f64(x, y);
}
static double call_atan2(double x, double y) {
    return mica_atan2_f64(x, y);
}
static double call_igamma(double a, double x) {
    return mica_igamma_f64(a, x);
}
static long double reference_igamma(long double a, long double x) {
    long double term = 1, sum = 1;
    for (long double n = 1; n < x - a || term > sum * 1e-21L; n += 1) sum += term *= x / (a + n);
    return expl(a * logl(x) - x - lgammal(a + 1)) * sum;
}
static const binary binaries[] = {
    {"pow", call_pow, powl, 0, 10, -300, 300, 1},
    {"pow near 1", call_pow, powl, 0.9, 1.1, -5000, 5000, 1},
    {"pow of large numbers", call_pow, powl, 0, 1e300, -1, 1, 1},
    {"atan2", call_atan2, atan2l, -10, 10, -10, 10, 1},
    {"atan2 of small and large", call_atan2, atan2l, -1e-300, 1e-300, -1e300, 1e300, 1},
    {"igamma", call_igamma, reference_igamma, 0.01, 10, 0.01, 15, 16},
    {"igamma of large numbers", call_igamma, reference_igamma, 10, 60, 8, 80, 200},
};

TEST(f64_functions_of_two_operands_are_within_their_bounds) {
    volatile long double one = 1;
    if (fabsl(expl(one) - 2.718281828459045235360287471352662498L) > 1e-18L) {
        test_skip("the C library's long double functions are no better than its double ones");
        return;
    }
    int n = getenv("MICA_EXHAUSTIVE") ? 10000000 : getenv("MICA_TEST_QUICK") ? 2000 : 50000;
    for (size_t k = 0; k < sizeof binaries / sizeof *binaries; k++) {
        const binary *f = &binaries[k];
        double worst = 0, at = 0, with = 0;
        for (int i = 0; i < n; i++) {
            double unit = (double)(random_bits() >> 11) * 0x1p-53;
            double x = f->low + (f->high - f->low) * unit;
            unit = (double)(random_bits() >> 11) * 0x1p-53;
            double y = f->other_low + (f->other_high - f->other_low) * unit;
            if (i % 4 == 0 && f->low <= 0) x = ldexp(x, -(int)(random_bits() % 60));
            long double exact = f->reference((long double)x, (long double)y);
            double got = f->call(x, y);
            if (fabsl(exact) > (long double)DBL_MAX || exact == 0) {
                CHECK(isinf(got) || fabs(got) >= DBL_MAX || got == 0);
                continue;
            }
            int exponent = ilogbl(exact);
            long double difference = fabsl((long double)got - exact);
            double ulp = (double)ldexpl(difference, 52 - (exponent < -1022 ? -1022 : exponent));
            if (!(ulp <= worst)) worst = ulp, at = x, with = y;
        }
        printf("| %s | %.3f | %a, %a | %g | %d |\n", f->name, worst, at, with, f->limit, n);
        test_checks++;
        if (!(worst <= f->limit))
            test_report(__FILE__, __LINE__, "%s(%a, %a) is off by %g ulp", f->name, at, with,
                        worst);
    }
}

static const double specials[] = {0.0,
                                  -0.0,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  1.0,
                                  -1.0,
                                  0.5,
                                  -0.5,
                                  2.0,
                                  -2.0,
                                  3.0,
                                  -3.0,
                                  1.5,
                                  -1.5,
                                  0x1p-1074,
                                  -0x1p-1074,
                                  0x1p-1022,
                                  DBL_MAX,
                                  -DBL_MAX,
                                  1e-300,
                                  -1e-300,
                                  1e300,
                                  1e16,
                                  -1e16,
                                  0x1p53,
                                  0x1p52 + 0.5,
                                  709.5,
                                  709.79,
                                  710.4,
                                  710.5,
                                  -745.2,
                                  -708.5,
                                  1e-20,
                                  0x1p20,
                                  1048577.5,
                                  1e22,
                                  -750,
                                  0x1.fffffffffffffp-1,
                                  0x1.0000000000001p0};
enum { N_SPECIALS = sizeof specials / sizeof *specials };

static void check_special(const char *name, double x, double y, double got, double want) {
    bool same = isnan(want)
                    ? isnan(got)
                    : signbit(got) == signbit(want) &&
                          (got == want || fabs(got - want) <= 4e-16 * fabs(want) + 0x1p-1073);
    test_checks++;
    if (!same) test_report(__FILE__, __LINE__, "%s(%a, %a) is %a, not %a", name, x, y, got, want);
}

TEST(special_values_are_those_of_the_c_library) {
    static double (*const libm[])(double) = {exp,  expm1, log,  log1p, cbrt, sin,  cos,   tan,
                                             asin, acos,  atan, sinh,  cosh, tanh, asinh, atanh};
    static double (*const ours[])(double) = {
        call_exp,  call_expm1, call_log,  call_log1p, call_cbrt, call_sin,  call_cos,   call_tan,
        call_asin, call_acos,  call_atan, call_sinh,  call_cosh, call_tanh, call_asinh, call_atanh};
    static const char *const names[] = {"exp",  "expm1", "log",   "log1p", "cbrt", "sin",
                                        "cos",  "tan",   "asin",  "acos",  "atan", "sinh",
                                        "cosh", "tanh",  "asinh", "atanh"};
    for (int i = 0; i < N_SPECIALS; i++) {
        double x = specials[i];
        for (size_t f = 0; f < sizeof ours / sizeof *ours; f++)
            check_special(names[f], x, 0, ours[f](x), libm[f](x));
        check_special("acosh", x, 0, call_acosh(x), x < 1 ? NAN : acosh(x));
        for (int k = 0; k < N_SPECIALS; k++) {
            double y = specials[k];
            check_special("pow", x, y, call_pow(x, y), pow(x, y));
            check_special("atan2", x, y, call_atan2(x, y), atan2(x, y));
        }
    }
}
