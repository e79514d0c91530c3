/* Derivatives of elementwise ops: first, second and third order against closed forms, forward and
 * backward. */
#include "calculus.h"

typedef mica_value (*unary)(mica_graph *, mica_value);

/* f, x, f'(x), f''(x), f'''(x) */
typedef struct unary_case {
    const char *name;
    unary f;
    double x, first, second, third;
} unary_case;

static mica_value cube(mica_graph *g, mica_value x) {
    return mica_mul(g, x, mica_mul(g, x, x));
}
static mica_value reciprocal(mica_graph *g, mica_value x) {
    return mica_div(g, number(g, 1), x);
}
static mica_value power_of_four(mica_graph *g, mica_value x) {
    return mica_pow(g, x, number(g, 4));
}
static mica_value two_to_the(mica_graph *g, mica_value x) {
    return mica_pow(g, number(g, 2), x);
}

#define PI 3.14159265358979323846
#define LN2 0.69314718055994530942
#define PSI1_2 0.64493406684822643647    /* pi^2/6 - 1 */
#define PSI2_2 (-0.40411380631918857080) /* -2 (zeta(3) - 1) */
#define PSI3_2 0.49393940226682914910    /* pi^4/15 - 6 */

static const unary_case unary_cases[] = {
    {"cube", cube, 2, 12, 12, 6},
    {"reciprocal", reciprocal, 2, -0.25, 0.25, -0.375},
    {"power_of_four", power_of_four, -1.5, -13.5, 27, -36},
    {"power_of_four at 0", power_of_four, 0, 0, 0, 0},
    {"two_to_the", two_to_the, 3, 8 * LN2, 8 * LN2 *LN2, 8 * LN2 *LN2 *LN2},
    {"neg", mica_neg, 2, -1, 0, 0},
    {"abs", mica_abs, -2, -1, 0, 0},
    {"abs at 0", mica_abs, 0, 0, 0, 0},
    {"floor", mica_floor, 1.5, 0, 0, 0},
    {"exp", mica_exp, 0, 1, 1, 1},
    {"expm1", mica_expm1, 0, 1, 1, 1},
    {"log", mica_log, 2, 0.5, -0.25, 0.25},
    {"log1p", mica_log1p, 1, 0.5, -0.25, 0.25},
    {"sqrt", mica_sqrt, 4, 0.25, -0.03125, 0.01171875},
    {"rsqrt", mica_rsqrt, 4, -0.0625, 0.0234375, -0.0146484375},
    {"cbrt", mica_cbrt, 8, 1.0 / 12, -1.0 / 144, 5.0 / 3456},
    {"sin", mica_sin, 0, 1, 0, -1},
    {"cos", mica_cos, PI / 2, -1, 0, 1},
    {"tan", mica_tan, PI / 4, 2, 4, 16},
    {"asin", mica_asin, 0, 1, 0, 1},
    {"acos", mica_acos, 0, -1, 0, -1},
    {"atan", mica_atan, 1, 0.5, -0.5, 0.5},
    {"sinh", mica_sinh, 0, 1, 0, 1},
    {"cosh", mica_cosh, 0, 0, 1, 0},
    {"tanh", mica_tanh, 0, 1, 0, -2},
    {"asinh", mica_asinh, 0, 1, 0, -1},
    {"acosh", mica_acosh, 1.25, 4.0 / 3, -80.0 / 27, 1408.0 / 81},
    {"atanh", mica_atanh, 0.5, 4.0 / 3, 16.0 / 9, 224.0 / 27},
    {"erf", mica_erf, 0, 2 / 1.77245385090551602730, 0, -4 / 1.77245385090551602730},
    {"erfc", mica_erfc, 0, -2 / 1.77245385090551602730, 0, 4 / 1.77245385090551602730},
    {"erfinv", mica_erfinv, 0, 0.88622692545275801365, 0, 0.88622692545275801365 * PI / 2},
    {"lgamma", mica_lgamma, 2, 0.42278433509846713939, PSI1_2, PSI2_2},
    {"digamma", mica_digamma, 2, PSI1_2, PSI2_2, PSI3_2},
    {"digamma below 1/2", mica_digamma, -0.5, 8.9348022005446793094, -0.8287966442343199956,
     193.40909103400243724},
    {"logistic", mica_logistic, 0, 0.25, 0, -0.125},
};

TEST(elementwise_ops_have_three_derivatives_backward) {
    for (size_t i = 0; i < sizeof unary_cases / sizeof *unary_cases; i++) {
        const unary_case *c = &unary_cases[i];
        mica_graph *g = new_graph(c->name);
        mica_value x = scalar_parameter(g), y = c->f(g, x);
        mica_value first = gradient(g, y, x), second = gradient(g, first, x);
        mica_output(g, first);
        mica_output(g, second);
        mica_output(g, gradient(g, second, x));
        double d[3] = {NAN, NAN, NAN};
        const void *inputs[] = {&c->x};
        void *outputs[] = {&d[0], &d[1], &d[2]};
        EVALUATE(g, inputs, outputs);
        double scale = 1 + fabs(c->third);
        bool right = fabs(d[0] - c->first) < 1e-12 * scale &&
                     fabs(d[1] - c->second) < 1e-11 * scale &&
                     fabs(d[2] - c->third) < 1e-10 * scale;
        if (!right)
            printf("    %s at %g: %.17g %.17g %.17g, not %.17g %.17g %.17g\n", c->name, c->x, d[0],
                   d[1], d[2], c->first, c->second, c->third);
        CHECK(right);
        mica_graph_release(g);
    }
}

TEST(elementwise_ops_have_three_derivatives_forward) {
    for (size_t i = 0; i < sizeof unary_cases / sizeof *unary_cases; i++) {
        const unary_case *c = &unary_cases[i];
        mica_graph *g = new_graph(c->name);
        mica_value x = scalar_parameter(g), one = number(g, 1), y = c->f(g, x);
        for (int order = 0; order < 3; order++) {
            mica_value dy = mica_value_is_null(y) ? y : tangent(g, y, x, one);
            y = mica_value_is_null(dy) ? number(g, 0) : dy;
            mica_output(g, y);
        }
        double d[3] = {NAN, NAN, NAN};
        const void *inputs[] = {&c->x};
        void *outputs[] = {&d[0], &d[1], &d[2]};
        EVALUATE(g, inputs, outputs);
        double scale = 1 + fabs(c->third);
        CHECK_NEAR(d[0], c->first, 1e-12 * scale);
        CHECK_NEAR(d[1], c->second, 1e-11 * scale);
        CHECK_NEAR(d[2], c->third, 1e-10 * scale);
        mica_graph_release(g);
    }
}

typedef mica_value (*binary)(mica_graph *, mica_value, mica_value);
typedef struct binary_case {
    const char *name;
    binary f;
    double a, b, by_a, by_b;
} binary_case;

static const binary_case binary_cases[] = {
    {"add", mica_add, 2, 3, 1, 1},          {"sub", mica_sub, 2, 3, 1, -1},
    {"mul", mica_mul, 2, 3, 3, 2},          {"div", mica_div, 3, 2, 0.5, -0.75},
    {"rem", mica_rem, 7.5, 2, 1, -3},       {"rem of a negative", mica_rem, -7.5, 2, 1, 3},
    {"pow", mica_pow, 2, 3, 12, 8 * LN2},   {"pow of 0", mica_pow, 0, 3, 0, 0},
    {"pow 0 of 0", mica_pow, 0, 0, 0, 0},   {"pow 1 of 0", mica_pow, 0, 1, 1, 0},
    {"max", mica_max, 2, 3, 0, 1},          {"max of equals", mica_max, 2, 2, 0.5, 0.5},
    {"min", mica_min, 2, 3, 1, 0},          {"min of equals", mica_min, 2, 2, 0.5, 0.5},
    {"atan2", mica_atan2, 1, 2, 0.4, -0.2},
};

TEST(binary_ops_have_both_derivatives) {
    for (size_t i = 0; i < sizeof binary_cases / sizeof *binary_cases; i++) {
        const binary_case *c = &binary_cases[i];
        mica_graph *g = new_graph(c->name);
        mica_value x[] = {scalar_parameter(g), scalar_parameter(g)}, dx[2];
        mica_value y = c->f(g, x[0], x[1]), one = number(g, 1);
        mica_gradient(g, y, x, 2, dx);
        mica_output(g, dx[0]);
        mica_output(g, dx[1]);
        mica_output(g, tangent(g, y, x[0], one));
        mica_output(g, tangent(g, y, x[1], one));
        double d[4] = {NAN, NAN, NAN, NAN};
        const void *inputs[] = {&c->a, &c->b};
        void *outputs[] = {&d[0], &d[1], &d[2], &d[3]};
        EVALUATE(g, inputs, outputs);
        for (int k = 0; k < 4; k++) CHECK_NEAR(d[k], k % 2 ? c->by_b : c->by_a, 1e-13);
        mica_graph_release(g);
    }
}

TEST(powers_of_a_negative_base_have_x_gradients) {
    mica_graph *g = new_graph("power");
    mica_value x = scalar_parameter(g), y = mica_pow(g, x, number(g, 3));
    mica_output(g, gradient(g, gradient(g, y, x), x));
    CHECK_NEAR(VALUE_AT(g, -2), -12, 1e-13);
    CHECK_NEAR(VALUE_AT(g, 0), 0, 0);
    mica_graph_release(g);
}

TEST(clamp_passes_the_tangent_on_and_between_its_bounds) {
    const double at[] = {-1, 0, 0.5, 1, 2}, by_x[] = {0, 1, 1, 1, 0}, by_low[] = {1, 0, 0, 0, 0},
                 by_high[] = {0, 0, 0, 0, 1};
    mica_graph *g = new_graph("clamp");
    mica_value x[] = {scalar_parameter(g), scalar_parameter(g), scalar_parameter(g)}, dx[3];
    mica_gradient(g, mica_clamp(g, x[0], x[1], x[2]), x, 3, dx);
    for (int i = 0; i < 3; i++) mica_output(g, dx[i]);
    double low = 0, high = 1, d[3];
    for (int i = 0; i < 5; i++) {
        const void *inputs[] = {&at[i], &low, &high};
        void *outputs[] = {&d[0], &d[1], &d[2]};
        EVALUATE(g, inputs, outputs);
        CHECK_NEAR(d[0], by_x[i], 0);
        CHECK_NEAR(d[1], by_low[i], 0);
        CHECK_NEAR(d[2], by_high[i], 0);
    }
    mica_graph_release(g);
}

TEST(select_sends_cotangents_where_it_took_values) {
    mica_graph *g = new_graph("select");
    mica_value x = scalar_parameter(g), zero = number(g, 0);
    mica_value y =
        mica_select(g, mica_compare(g, x, zero, "gt"), mica_mul(g, x, x), mica_neg(g, x));
    mica_output(g, gradient(g, y, x));
    CHECK_NEAR(VALUE_AT(g, 3), 6, 0);
    CHECK_NEAR(VALUE_AT(g, -3), -1, 0);
    mica_graph_release(g);
}

TEST(trigamma_is_accurate) {
    /* trigamma(1) = pi^2/6, trigamma(1/2) = pi^2/2, trigamma(1/4) = pi^2 + 8 Catalan */
    const double at[] = {1, 0.5, 0.25, 10, 100.5, -1.5};
    const double want[] = {1.6449340668482264365,  4.9348022005446793094, 17.197329154507109390,
                           0.10516633568168574612, 0.0099999166691666875, 9.3792466449891237539};
    mica_graph *g = new_graph("trigamma");
    mica_value x = scalar_parameter(g);
    mica_output(g, gradient(g, mica_digamma(g, x), x));
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        CHECK_NEAR(VALUE_AT(g, at[i]) / want[i], 1, i == 4 ? 1e-9 : 1e-13);
    mica_graph_release(g);
}

/* Golden values made with 50 digits: the series of P, differentiated by differences. */
typedef struct igamma_golden_values {
    double a, x, p, by_a, by_x, by_aa, by_ax;
} igamma_golden_values;

static const igamma_golden_values of_igamma[] = {
    {2, 1, 0.264241117657115357, -0.276196045702834797, 0.367879441171442322, 0.205118822290779953,
     -0.155533664932063899},
    {0.5, 0.25, 0.520499877813046538, -0.797947316783222941, 0.878782578935444794,
     0.809661546192860579, 0.507247070604106552},
    {0.5, 3, 0.98569412156457036, -0.0472403264479737509, 0.0162173911098804867,
     -0.085989868973685684, 0.0496596352036126934},
    {3, 8, 0.986246032255997015, -0.0177913359864964839, 0.0107348040928803788,
     -0.0177804059582560235, 0.0124164885152692635},
    {15, 12, 0.2279754676964555, -0.081669025667804513, 0.0904889001832983546,
     0.0183563353968281677, -0.0171422183250800564},
    {15, 20, 0.895135718892015328, -0.045072894324092345, 0.0387366401488187594,
     -0.0130224166545792643, 0.01244939879691471},
    {120, 110, 0.181705293676018806, -0.0244734808700567592, 0.0255342980444275812,
     0.00213109325858943983, -0.00211523375788844052},
};

TEST(igamma_has_derivatives_by_both_operands) {
    mica_graph *g = new_graph("igamma");
    mica_value x[] = {scalar_parameter(g), scalar_parameter(g)}, dx[2];
    mica_value y = mica_igamma(g, x[0], x[1]);
    mica_gradient(g, y, x, 2, dx);
    mica_output(g, y);
    mica_output(g, dx[0]);
    mica_output(g, dx[1]);
    mica_output(g, gradient(g, dx[0], x[0]));
    mica_output(g, gradient(g, dx[0], x[1]));
    mica_output(g, gradient(g, dx[1], x[0]));
    mica_output(g, tangent(g, dx[0], x[0], number(g, 1)));
    for (size_t i = 0; i < sizeof of_igamma / sizeof *of_igamma; i++) {
        const igamma_golden_values *c = &of_igamma[i];
        double d[7];
        const double want[] = {c->p, c->by_a, c->by_x, c->by_aa, c->by_ax, c->by_ax, c->by_aa};
        const void *inputs[] = {&c->a, &c->x};
        void *outputs[] = {&d[0], &d[1], &d[2], &d[3], &d[4], &d[5], &d[6]};
        EVALUATE(g, inputs, outputs);
        /* The value is the reference's, whose last digits are libm's. */
        for (int k = 0; k < 7; k++) CHECK_NEAR(d[k] / want[k], 1, k == 0 ? 1e-13 : 1e-11);
    }
    mica_graph_release(g);
}

/* At the borders: the limit where there is one, nothing infinite by a. */
TEST(igamma_has_derivatives_at_the_borders) {
    mica_graph *g = new_graph("igamma");
    mica_value x[] = {scalar_parameter(g), scalar_parameter(g)}, dx[2];
    mica_gradient(g, mica_igamma(g, x[0], x[1]), x, 2, dx);
    mica_output(g, dx[0]);
    mica_output(g, dx[1]);
    /* {a, x, by a, by x}; E1(1) = 0.21938... */
    const double cases[][4] = {{0, 1, -0.21938393439552027, 0},
                               {0, 0.5, -0.55977359477616084, 0},
                               {2, 0, 0, 0},
                               {1, 0, 0, 1},
                               {0.5, 0, 0, INFINITY},
                               {3, INFINITY, 0, 0},
                               {-1, 1, NAN, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double d[2];
        const void *inputs[] = {&cases[i][0], &cases[i][1]};
        void *outputs[] = {&d[0], &d[1]};
        EVALUATE(g, inputs, outputs);
        for (int k = 0; k < 2; k++) {
            double want = cases[i][2 + k];
            CHECK(isnan(want) ? isnan(d[k]) : d[k] == want || fabs(d[k] - want) < 1e-13);
        }
    }
    mica_graph_release(g);
}

TEST(conversion_between_floats_passes_tangents_and_to_integers_stops_them) {
    mica_graph *g = new_graph("convert");
    mica_value x = scalar_parameter(g);
    mica_value single = mica_convert(g, x, MICA_DTYPE_f32);
    mica_value back = mica_convert(g, mica_mul(g, single, single), MICA_DTYPE_f64);
    mica_value whole = mica_convert(g, mica_convert(g, x, MICA_DTYPE_i32), MICA_DTYPE_f64);
    mica_value out, one = number(g, 1);
    mica_vjp(g, &whole, &one, 1, &x, 1, &out);
    CHECK(mica_value_is_null(out));
    mica_output(g, gradient(g, mica_add(g, back, whole), x));
    CHECK_NEAR(VALUE_AT(g, 1.5), 3, 0);
    mica_graph_release(g);
}
