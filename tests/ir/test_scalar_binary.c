/* The two-operand f32 functions of ir/scalar.h on a grid of special values and on random pairs, and
 * the f64 functions that are not libm's. */
#include "ir/scalar.h"
#include "test.h"

static uint64_t random_state = 0x9e3779b97f4a7c15u;
static uint64_t random_bits(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static double random_between(double low, double high) {
    return low + (high - low) * (double)(random_bits() >> 11) * 0x1p-53;
}

static const float specials[] = {
    0.0f,       -0.0f,      1.0f,       -1.0f,      0.5f,       -0.5f,           2.0f,
    -2.0f,      3.0f,       -3.0f,      1.5f,       -2.5f,      0x1p-126f,       -0x1p-126f,
    0x1p-149f,  -0x1p-149f, 0x1p-24f,   0x1p23f,    -0x1p23f,   0x1.fffffep127f, -0x1.fffffep127f,
    INFINITY,   -INFINITY,  16777215.f, 16777217.f, -8388609.f, 0x1.fffffep-1f,  -1.0000001f,
    1.0000001f, 1e10f,      -1e-10f,    NAN,        127.0f,     -149.0f,         0.33333334f,
};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

static double ulp_error(float got, double exact) {
    if (isnan(exact)) return isnan(got) ? 0 : (double)INFINITY;
    if (isnan(got)) return (double)INFINITY;
    if (isinf(exact)) return (double)got == exact ? 0 : (double)INFINITY;
    if (exact == 0) return got == 0 && !signbit(got) == !signbit(exact) ? 0 : (double)INFINITY;
    if (isinf(got) && (float)exact == got) return 0.5;
    double value = isinf(got) ? copysign(0x1p128, (double)got) : (double)got;
    int exponent = ilogb(exact);
    return fabs(value - exact) / ldexp(1, (exponent < -126 ? -126 : exponent) - 23);
}

typedef float (*binary)(float, float);
static void measure(const char *name, binary f, double (*reference)(double, double), double limit,
                    bool powers) {
    int64_t n = getenv("MICA_EXHAUSTIVE")   ? 400000000
                : getenv("MICA_TEST_QUICK") ? 100000
                                            : 4000000;
    double worst = 0;
    float worst_a = 0, worst_b = 0;
    for (int64_t i = 0; i < n + SPECIALS * SPECIALS; i++) {
        float a, b;
        if (i < SPECIALS * SPECIALS) {
            a = specials[i / SPECIALS];
            b = specials[i % SPECIALS];
        } else if (powers && i % 2) { /* results from 2^-152 to 2^130 */
            a = (float)exp2(random_between(-20, 20));
            b = (float)(random_between(-152, 130) / log2((double)a));
        } else if (i % 4 == 0) { /* of like size */
            a = (float)random_between(-8, 8);
            b = (float)random_between(-8, 8);
        } else {
            a = mica_from_bits_f32((uint32_t)random_bits());
            b = mica_from_bits_f32((uint32_t)random_bits());
        }
        double error = ulp_error(f(a, b), reference((double)a, (double)b));
        if (error > worst) {
            worst = error;
            worst_a = a;
            worst_b = b;
        }
    }
    printf("| %s | %.3f | %a, %a | %g | %lld |\n", name, worst, (double)worst_a, (double)worst_b,
           limit, (long long)n);
    test_checks++;
    if (!(worst <= limit)) {
        test_report(__FILE__, __LINE__, "%s(%a, %a) is off by %g ulp: %a, not %a", name,
                    (double)worst_a, (double)worst_b, worst, (double)f(worst_a, worst_b),
                    reference((double)worst_a, (double)worst_b));
    }
}

/* A division or square root that is rounded twice, in f64 and f32, is still correctly rounded. */
static double reference_div(double a, double b) {
    return (double)(float)(a / b);
}
static double reference_max(double a, double b) {
    if (isnan(a) || isnan(b)) return (double)NAN;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}
static double reference_min(double a, double b) {
    return -reference_max(-a, -b);
}

static float call_div(float a, float b) {
    return mica_div_f32(a, b);
}
static float call_rem(float a, float b) {
    return mica_rem_f32(a, b);
}
static float call_pow(float a, float b) {
    return mica_pow_f32(a, b);
}
static float call_atan2(float a, float b) {
    return mica_atan2_f32(a, b);
}
static float call_max(float a, float b) {
    return mica_max_f32(a, b);
}
static float call_min(float a, float b) {
    return mica_min_f32(a, b);
}

TEST(binary_f32_functions_are_within_their_bounds) {
    printf("| function | worst error (ulp) | at | bound | pairs |\n|---|---|---|---|---|\n");
    measure("div", call_div, reference_div, 0, false);
    measure("rem", call_rem, fmod, 0, false);
    measure("pow", call_pow, pow, 2, true);
    measure("atan2", call_atan2, atan2, 2, false);
    measure("max", call_max, reference_max, 0, false);
    measure("min", call_min, reference_min, 0, false);
}

/* ---- f64 ------------------------------------------------------------------------------------ */

TEST(f64_max_and_min_keep_nan_and_order_zeros) {
    CHECK(!signbit(mica_max_f64(-0.0, 0.0)) && !signbit(mica_max_f64(0.0, -0.0)));
    CHECK(signbit(mica_min_f64(-0.0, 0.0)) && signbit(mica_min_f64(0.0, -0.0)));
    CHECK(isnan(mica_max_f64((double)NAN, 1)) && isnan(mica_max_f64(1, (double)NAN)));
    CHECK(isnan(mica_min_f64((double)NAN, 1)) && isnan(mica_min_f64(1, (double)NAN)));
    CHECK(mica_max_f64(1, 2) == 2 && mica_min_f64(1, 2) == 1);
    CHECK(mica_sign_f64(-3) == -1 && signbit(mica_sign_f64(-0.0)) &&
          isnan(mica_sign_f64((double)NAN)));
}

TEST(f64_logistic_is_accurate_in_both_tails) {
    for (double x = -700; x <= 700; x += 0.37) {
        long double exact = 1 / (1 + expl(-(long double)x));
        CHECK_NEAR(mica_logistic_f64(x) / (double)exact, 1, 4e-16);
    }
    CHECK(mica_logistic_f64(-(double)INFINITY) == 0 && mica_logistic_f64((double)INFINITY) == 1);
}

TEST(f64_erfinv_inverts_erf) {
    for (int i = 1; i < 4000; i++) {
        double x = (double)i / 4000;
        CHECK_NEAR((double)(erfl((long double)mica_erfinv_f64(x)) / (long double)x), 1, 4e-16);
        CHECK(mica_erfinv_f64(-x) == -mica_erfinv_f64(x));
    }
    for (int k = 2; k <= 53; k++) {
        double c =
            ldexp(1, -k); /* the tail: erfc(y) = c; its relative error is about 2 y^2 that of y */
        double y = mica_erfinv_f64(1 - c);
        CHECK_NEAR((double)(erfcl((long double)y) / (long double)c), 1, 1e-15 * (1 + 2 * y * y));
    }
    CHECK_NEAR(mica_erfinv_f64(1e-300) / 1e-300, 0.88622692545275801, 1e-15);
    CHECK(mica_erfinv_f64(1) == (double)INFINITY && mica_erfinv_f64(-1) == -(double)INFINITY);
    CHECK(isnan(mica_erfinv_f64(1.5)) && isnan(mica_erfinv_f64((double)NAN)));
    CHECK(signbit(mica_erfinv_f64(-0.0)));
}

TEST(f64_digamma_has_its_known_values_and_obeys_its_recurrence) {
    const double gamma = 0.57721566490153286061;
    CHECK_NEAR(mica_digamma_f64(1), -gamma, 1e-15);
    CHECK_NEAR(mica_digamma_f64(0.5), -gamma - 2 * log(2), 1e-15);
    CHECK_NEAR(mica_digamma_f64(0.25), -gamma - M_PI / 2 - 3 * log(2), 2e-15);
    CHECK_NEAR(mica_digamma_f64(-0.5), 2 - gamma - 2 * log(2), 1e-15);
    CHECK_NEAR(mica_digamma_f64(1e10) / log(1e10), 1, 1e-11);
    for (double x = -20.3; x < 30; x += 0.173) {
        double step = mica_digamma_f64(x + 1) - mica_digamma_f64(x);
        CHECK_NEAR(step, 1 / x, 1e-13 * (1 + fabs(mica_digamma_f64(x))));
    }
    CHECK(mica_digamma_f64(0.0) == -(double)INFINITY && mica_digamma_f64(-0.0) == (double)INFINITY);
    CHECK(isnan(mica_digamma_f64(-3)) && isnan(mica_digamma_f64(-(double)INFINITY)));
    CHECK(mica_digamma_f64((double)INFINITY) == (double)INFINITY);
}
