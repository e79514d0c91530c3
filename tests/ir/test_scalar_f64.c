/* The f64 functions of ir/scalar.h against long double, on random arguments from the range where
 * the result is neither trivial nor infinite. They are libm's but for logistic, rsqrt, erfinv and
 * digamma; what is measured here is what a user gets. */
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
