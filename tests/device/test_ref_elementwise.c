/* The reference's elementwise primitives, by hand-computed values and at the edges. */
#include "device/ref/ref.h"
#include "test.h"

typedef mica_value (*unary)(mica_graph *g, mica_value a);
typedef mica_value (*binary)(mica_graph *g, mica_value a, mica_value b);

static void run_unary(unary build, mica_dtype dtype, int64_t n, const void *x, void *y) {
    mica_graph *g = NULL;
    mica_type type = mica_type_make(dtype, MICA_INTS(n));
    REQUIRE_OK(mica_graph_create("unary", &g));
    mica_output(g, build(g, mica_parameter(g, &type)));
    CHECK_OK(mica_ref_evaluate(g, &x, &y));
    mica_graph_release(g);
}

static void run_binary(binary build, mica_dtype dtype, int64_t n, const void *a, const void *b,
                       void *y) {
    mica_graph *g = NULL;
    mica_type type = mica_type_make(dtype, MICA_INTS(n));
    REQUIRE_OK(mica_graph_create("binary", &g));
    mica_value pa = mica_parameter(g, &type), pb = mica_parameter(g, &type);
    mica_output(g, build(g, pa, pb));
    CHECK_OK(mica_ref_evaluate(g, (const void *[]){a, b}, &y));
    mica_graph_release(g);
}

static void run_convert(mica_dtype from, mica_dtype to, int64_t n, const void *x, void *y) {
    mica_graph *g = NULL;
    mica_type type = mica_type_make(from, MICA_INTS(n));
    REQUIRE_OK(mica_graph_create("convert", &g));
    mica_output(g, mica_convert(g, mica_parameter(g, &type), to));
    CHECK_OK(mica_ref_evaluate(g, &x, &y));
    mica_graph_release(g);
}

static double one(unary build, double x) {
    double y = 0;
    run_unary(build, MICA_DTYPE_f64, 1, &x, &y);
    return y;
}

TEST(integer_division_by_zero_sets_all_bits_and_min_by_minus_one_wraps) {
    int32_t a[6] = {7, -7, INT32_MIN, INT32_MIN, 0, 9}, b[6] = {2, 2, -1, 0, 0, -4}, y[6];
    run_binary(mica_div, MICA_DTYPE_i32, 6, a, b, y);
    CHECK(y[0] == 3 && y[1] == -3 && y[2] == INT32_MIN && y[3] == -1 && y[4] == -1 && y[5] == -2);
    run_binary(mica_rem, MICA_DTYPE_i32, 6, a, b, y);
    CHECK(y[0] == 1 && y[1] == -1 && y[2] == 0 && y[3] == INT32_MIN && y[4] == 0 && y[5] == 1);
}

TEST(integer_division_has_the_same_edges_at_64_bits_and_without_a_sign) {
    int64_t a[2] = {INT64_MIN, INT64_MIN}, b[2] = {-1, 0}, y[2];
    run_binary(mica_div, MICA_DTYPE_i64, 2, a, b, y);
    CHECK(y[0] == INT64_MIN && y[1] == -1);
    run_binary(mica_rem, MICA_DTYPE_i64, 2, a, b, y);
    CHECK(y[0] == 0 && y[1] == INT64_MIN);
    uint8_t c[3] = {200, 200, 0}, d[3] = {7, 0, 0}, z[3];
    run_binary(mica_div, MICA_DTYPE_u8, 3, c, d, z);
    CHECK(z[0] == 28 && z[1] == 255 && z[2] == 255);
    run_binary(mica_rem, MICA_DTYPE_u8, 3, c, d, z);
    CHECK(z[0] == 4 && z[1] == 200 && z[2] == 0);
}

TEST(integers_wrap_in_sums_products_negation_and_absolute_value) {
    int8_t a[3] = {127, -128, 100}, b[3] = {1, -1, 3}, y[3];
    run_binary(mica_add, MICA_DTYPE_i8, 3, a, b, y);
    CHECK(y[0] == -128 && y[1] == 127 && y[2] == 103);
    run_binary(mica_mul, MICA_DTYPE_i8, 3, a, b, y);
    CHECK(y[0] == 127 && y[1] == -128 && y[2] == 44);
    run_unary(mica_neg, MICA_DTYPE_i8, 3, a, y);
    CHECK(y[0] == -127 && y[1] == -128 && y[2] == -100);
    run_unary(mica_abs, MICA_DTYPE_i8, 3, a, y);
    CHECK(y[0] == 127 && y[1] == -128 && y[2] == 100);
    uint16_t c[2] = {1, 0}, d[2] = {2, 1}, z[2];
    run_binary(mica_sub, MICA_DTYPE_u16, 2, c, d, z);
    CHECK(z[0] == 65535 && z[1] == 65535);
}

TEST(max_and_min_keep_nan_and_order_the_zeros) {
    float a[4] = {NAN, 1, -0.0f, 0.0f}, b[4] = {1, NAN, 0.0f, -0.0f}, y[4];
    run_binary(mica_max, MICA_DTYPE_f32, 4, a, b, y);
    CHECK(isnan(y[0]) && isnan(y[1]) && !signbit(y[2]) && !signbit(y[3]));
    run_binary(mica_min, MICA_DTYPE_f32, 4, a, b, y);
    CHECK(isnan(y[0]) && isnan(y[1]) && signbit(y[2]) && signbit(y[3]));
}

TEST(sign_keeps_nan_and_the_sign_of_zero) {
    double x[5] = {-3, -0.0, 0.0, 2, NAN}, y[5];
    run_unary(mica_sign, MICA_DTYPE_f64, 5, x, y);
    CHECK(y[0] == -1 && y[1] == 0 && signbit(y[1]) && y[2] == 0 && !signbit(y[2]));
    CHECK(y[3] == 1 && isnan(y[4]));
}

TEST(round_takes_ties_to_even) {
    double x[6] = {0.5, 1.5, 2.5, -0.5, -1.5, 2.4}, y[6];
    run_unary(mica_round, MICA_DTYPE_f64, 6, x, y);
    CHECK(y[0] == 0 && y[1] == 2 && y[2] == 2 && y[3] == 0 && signbit(y[3]) && y[4] == -2);
    CHECK(y[5] == 2);
}

TEST(functions_of_the_gamma_family_have_their_closed_forms) {
    const double gamma = 0.57721566490153286061, pi = 3.14159265358979323846;
    CHECK_NEAR(one(mica_digamma, 1.0), -gamma, 1e-15);
    CHECK_NEAR(one(mica_digamma, 0.5), -gamma - 2 * log(2.0), 1e-14);
    CHECK_NEAR(one(mica_digamma, 10.0), 2.2517525890667211076, 1e-14);
    CHECK_NEAR(one(mica_digamma, -0.5), one(mica_digamma, 0.5) + 2, 1e-14);
    CHECK_NEAR(one(mica_digamma, 1e6), log(1e6) - 0.5e-6 - 1e-12 / 12, 1e-14);
    CHECK(one(mica_digamma, 0.0) == -INFINITY && isnan(one(mica_digamma, -2.0)));
    CHECK_NEAR(one(mica_lgamma, 5.0), log(24.0), 1e-15);
    CHECK_NEAR(one(mica_lgamma, -0.5), log(2 * sqrt(pi)), 1e-15);
    CHECK(one(mica_lgamma, 0.0) == INFINITY);
}

TEST(logistic_reaches_far_on_both_sides) {
    CHECK(one(mica_logistic, 0.0) == 0.5);
    CHECK(one(mica_logistic, 800.0) == 1.0);
    CHECK(one(mica_logistic, -740.0) > 0);
    CHECK(one(mica_logistic, -INFINITY) == 0);
}

TEST(complement_is_of_the_truth_value_or_of_every_bit) {
    uint8_t b[2] = {0, 1}, y[2];
    int32_t i = 5, z = 0;
    run_unary(mica_not, MICA_DTYPE_bool, 2, b, y);
    CHECK(y[0] == 1 && y[1] == 0);
    run_unary(mica_not, MICA_DTYPE_i32, 1, &i, &z);
    CHECK(z == -6);
}

TEST(floats_become_integers_by_truncation_and_saturation) {
    float x[7] = {-1.9f, 1.9f, 300, -300, NAN, INFINITY, -INFINITY};
    int8_t y[7];
    uint8_t u[7];
    int64_t w[7];
    uint64_t v[7];
    run_convert(MICA_DTYPE_f32, MICA_DTYPE_i8, 7, x, y);
    CHECK(y[0] == -1 && y[1] == 1 && y[2] == 127 && y[3] == -128 && y[4] == 0);
    CHECK(y[5] == 127 && y[6] == -128);
    run_convert(MICA_DTYPE_f32, MICA_DTYPE_u8, 7, x, u);
    CHECK(u[0] == 0 && u[1] == 1 && u[2] == 255 && u[3] == 0 && u[4] == 0 && u[5] == 255);
    run_convert(MICA_DTYPE_f32, MICA_DTYPE_i64, 7, x, w);
    CHECK(w[5] == INT64_MAX && w[6] == INT64_MIN);
    run_convert(MICA_DTYPE_f32, MICA_DTYPE_u64, 7, x, v);
    CHECK(v[5] == UINT64_MAX && v[6] == 0);
}

TEST(integers_are_cut_and_everything_but_zero_is_true) {
    int32_t x[3] = {300, -1, 0};
    uint8_t y[3], b[3], c[3];
    run_convert(MICA_DTYPE_i32, MICA_DTYPE_u8, 3, x, y);
    CHECK(y[0] == 44 && y[1] == 255 && y[2] == 0);
    run_convert(MICA_DTYPE_i32, MICA_DTYPE_bool, 3, x, b);
    CHECK(b[0] == 1 && b[1] == 1 && b[2] == 0);
    float f[3] = {NAN, 0.25f, -0.0f};
    run_convert(MICA_DTYPE_f32, MICA_DTYPE_bool, 3, f, c);
    CHECK(c[0] == 1 && c[1] == 1 && c[2] == 0);
}

TEST(half_and_brain_floats_round_once_to_nearest_even) {
    double x[8] = {1, 65504, 65519.999, 65520, 5.9604644775390625e-8, 2.98e-8, -0.0, 2049};
    uint16_t y[8];
    run_convert(MICA_DTYPE_f64, MICA_DTYPE_f16, 8, x, y);
    CHECK(y[0] == 0x3c00 && y[1] == 0x7bff && y[2] == 0x7bff && y[3] == 0x7c00);
    CHECK(y[4] == 1 && y[5] == 0 && y[6] == 0x8000 && y[7] == 0x6800);
    /* Just above a tie of f16, by less than f32 can see. */
    double near_tie = 1 + ldexp(1, -11) + ldexp(1, -40);
    run_convert(MICA_DTYPE_f64, MICA_DTYPE_f16, 1, &near_tie, y);
    CHECK(y[0] == 0x3c01);
    double z[3] = {1 + ldexp(1, -8), 1 + 3 * ldexp(1, -8), 3.4e38};
    run_convert(MICA_DTYPE_f64, MICA_DTYPE_bf16, 3, z, y);
    CHECK(y[0] == 0x3f80 && y[1] == 0x3f82 && y[2] == 0x7f80);
    double back[3];
    uint16_t h[3] = {0x0001, 0xfc00, 0x3555};
    run_convert(MICA_DTYPE_f16, MICA_DTYPE_f64, 3, h, back);
    CHECK(back[0] == ldexp(1, -24) && back[1] == -INFINITY && back[2] == 0.333251953125);
}

TEST(large_integers_round_once_on_their_way_to_f32) {
    int64_t x[2] = {((int64_t)1 << 60) + ((int64_t)1 << 36) + 1, -((int64_t)1 << 62)};
    float y[2];
    run_convert(MICA_DTYPE_i64, MICA_DTYPE_f32, 2, x, y);
    CHECK(y[0] == ldexpf(1, 60) + ldexpf(1, 37) && y[1] == -ldexpf(1, 62));
}

TEST(comparisons_with_nan_are_false_except_inequality) {
    mica_graph *g = NULL;
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3));
    float a[3] = {NAN, 1, 2}, b[3] = {NAN, 2, 2};
    uint8_t y[6][3];
    const char *directions[6] = {"eq", "ne", "lt", "le", "gt", "ge"};
    uint8_t expected[6][3] = {{0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {0, 1, 1}, {0, 0, 0}, {0, 0, 1}};
    REQUIRE_OK(mica_graph_create("compare", &g));
    mica_value pa = mica_parameter(g, &type), pb = mica_parameter(g, &type);
    void *outputs[6];
    for (int i = 0; i < 6; i++) {
        mica_output(g, mica_compare(g, pa, pb, directions[i]));
        outputs[i] = y[i];
    }
    CHECK_OK(mica_ref_evaluate(g, (const void *[]){a, b}, outputs));
    CHECK(memcmp(y, expected, sizeof y) == 0);
    mica_graph_release(g);
}
