/* Derivatives of igamma, P(a, x), composed of primitives: so they have derivatives themselves.
 *
 * By x it is the density x^(a-1) e^-x / Gamma(a). By a, with the integrals of ir/scalar_gamma.h,
 *     P (x <= a), Q = 1 - P (x > a) = s I,   s = x^a e^-x / Gamma(a),   I = integral of e^E(v),
 *     E = -a v + x (1 - e^-v),   dP/da = +-s (I (ln x - psi(a)) - M),   M = integral of v e^E(v),
 * by 24 points of Gauss and Legendre. Where a is below 10 and x small, ten steps of
 *     P(a, x) = P(a + 1, x) + x^a e^-x / Gamma(a + 1)
 * come first. All is computed in f64: the exponents are differences of large numbers. */
#include <math.h>

#include "transform/transform.h"

#define POINTS 24
#define STEPS 10
#define DEPTH 38.0 /* the integrals end where the integrand is below e^-38 */

static const double half_places[POINTS / 2] = {
    0.00240639000148932, 0.012635722014345251, 0.030862723998633622, 0.056792236497799485,
    0.08999900701304854, 0.12993790421072282,  0.17595317403151223,  0.22728926430558022,
    0.2831032461869774,  0.3424786601519183,   0.40444056626319186,  0.4679715535686972};
static const double half_weights[POINTS / 2] = {
    0.0061706148999936,  0.014265694314466832, 0.022138719408709904, 0.02964929245771839,
    0.03667324070554015, 0.04309508076597664,  0.04880932605205694,  0.05372213505798282,
    0.0577528340268628,  0.060835236463901696, 0.06291872817341415,  0.06396909767337608};

static mica_value number(mica_graph *g, double value) {
    return mica_scalar(g, MICA_DTYPE_f64, value);
}

/* x^a e^-x / Gamma(b) */
static mica_value density(mica_graph *g, mica_value a, mica_value x, mica_value b) {
    mica_value exponent = mica_sub(g, mica_mul(g, a, mica_log(g, x)), x);
    return mica_exp(g, mica_sub(g, exponent, mica_lgamma(g, b)));
}

/* At 0 it is infinite, 1 or 0 as a is below, at or above 1; far away it is 0. */
mica_value mica_igamma_by_x(mica_graph *g, mica_value a, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    mica_dtype dtype = type->dtype;
    a = mica_as(g, a, MICA_DTYPE_f64);
    x = mica_as(g, x, MICA_DTYPE_f64);
    mica_value one = number(g, 1), zero = number(g, 0);
    mica_value at_zero = mica_compare(g, x, zero, "eq");
    mica_value far = mica_compare(g, x, number(g, INFINITY), "eq");
    mica_value inside = mica_select(g, mica_or(g, at_zero, far), one, x);
    mica_value y = density(g, mica_sub(g, a, one), inside, a);
    mica_value limit = mica_select(g, mica_compare(g, a, one, "eq"), one, zero);
    limit = mica_select(g, mica_compare(g, a, one, "lt"), number(g, INFINITY), limit);
    y = mica_select(g, at_zero, limit, mica_select(g, far, zero, y));
    mica_value valid = mica_and(g, mica_compare(g, a, zero, "ge"), mica_compare(g, x, zero, "ge"));
    return mica_as(g, mica_select(g, valid, y, number(g, NAN)), dtype);
}

/* (slope, x, end; I, M; place, weight) -> (I, M) with one more point */
static mica_graph *point_region(mica_graph *g, const mica_type *type) {
    mica_graph *body = mica_region_create(g, "igamma point");
    if (!body) return NULL;
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f64);
    mica_value p[7];
    for (int i = 0; i < 7; i++) p[i] = mica_parameter(body, i < 5 ? type : &scalar);
    mica_value v = mica_mul(body, p[2], p[5]);
    mica_value bend = mica_add(body, mica_expm1(body, mica_neg(body, v)), v);
    mica_value e = mica_sub(body, mica_mul(body, p[0], v), mica_mul(body, p[1], bend));
    mica_value part = mica_mul(body, mica_exp(body, e), p[6]);
    mica_output(body, mica_add(body, p[3], part));
    mica_output(body, mica_add(body, p[4], mica_mul(body, part, v)));
    if (mica_region_check(g, body)) return body;
    mica_graph_release(body);
    return NULL;
}

/* Where the integrand is below e^-38: negative when the integral is over the other side. */
static mica_value end_of(mica_graph *g, mica_value a, mica_value x, mica_value upper) {
    mica_value d = mica_abs(g, mica_sub(g, a, x)), twice = number(g, 2 * DEPTH);
    mica_value p = mica_add(g, mica_div(g, d, number(g, 3)), mica_mul(g, x, number(g, 0.5)));
    mica_value q = mica_sub(g, d, number(g, DEPTH / 3));
    mica_value root = mica_add(g, mica_mul(g, q, q), mica_mul(g, p, number(g, 4 * DEPTH)));
    mica_value lower = mica_div(g, twice, mica_add(g, q, mica_sqrt(g, root)));
    root = mica_add(g, mica_mul(g, d, d), mica_mul(g, x, twice));
    mica_value u = mica_div(g, twice, mica_add(g, d, mica_sqrt(g, root)));
    u = mica_div(g, mica_add(g, number(g, DEPTH), mica_mul(g, a, u)), x);
    return mica_select(g, upper, mica_neg(g, mica_log1p(g, u)), lower);
}

/* dP/da by the integrals, for a >= 10 or x > a. */
static mica_value by_integrals(mica_graph *g, mica_value a, mica_value x) {
    double places[POINTS], weights[POINTS];
    for (int i = 0; i < POINTS / 2; i++) {
        places[i] = half_places[i];
        places[POINTS - 1 - i] = 1 - half_places[i];
        weights[i] = weights[POINTS - 1 - i] = half_weights[i];
    }
    mica_type list = mica_type_make(MICA_DTYPE_f64, MICA_INTS(POINTS));
    mica_value upper = mica_compare(g, x, a, "gt"), end = end_of(g, a, x, upper);
    mica_value zeros = mica_zeros_like(g, x), sums[2] = {zeros, zeros};
    if (g->error) return MICA_NULL_VALUE;
    mica_graph *body = point_region(g, mica_value_type(x));
    if (!body) return MICA_NULL_VALUE;
    mica_value operands[] = {mica_sub(g, x, a),
                             x,
                             end,
                             zeros,
                             zeros,
                             mica_constant(g, (mica_data){&list, places}),
                             mica_constant(g, (mica_data){&list, weights})};
    mica_scan(g, body, operands, 7, 3, 2, POINTS, false, sums);
    mica_graph_release(body);
    mica_value by_log = mica_sub(g, mica_log(g, x), mica_digamma(g, a));
    mica_value y = mica_sub(g, mica_mul(g, sums[0], by_log), sums[1]);
    y = mica_mul(g, mica_mul(g, y, end), density(g, a, x, a));
    return y; /* `end` is negative for Q, whose derivative is that of -P */
}

/* (x, ln x; term, psi, c, total) -> the next term; c is a + k + 1 */
static mica_graph *step_region(mica_graph *g, const mica_type *type) {
    mica_graph *body = mica_region_create(g, "igamma step");
    if (!body) return NULL;
    mica_value p[6];
    for (int i = 0; i < 6; i++) p[i] = mica_parameter(body, type);
    mica_value slope = mica_mul(body, p[2], mica_sub(body, p[1], p[3]));
    mica_output(body, mica_mul(body, p[2], mica_div(body, p[0], p[4])));
    mica_output(body, mica_add(body, p[3], mica_div(body, number(body, 1), p[4])));
    mica_output(body, mica_add(body, p[4], number(body, 1)));
    mica_output(body, mica_add(body, p[5], slope));
    if (mica_region_check(g, body)) return body;
    mica_graph_release(body);
    return NULL;
}

/* Of x^(a + k) e^-x / Gamma(a + k + 1), k = 0 .. 9, the sum of the derivatives by a. */
static mica_value by_steps(mica_graph *g, mica_value a, mica_value x) {
    mica_value c = mica_add(g, a, number(g, 1)), out[4];
    for (int i = 0; i < 4; i++) out[i] = MICA_NULL_VALUE;
    if (g->error) return MICA_NULL_VALUE;
    mica_graph *body = step_region(g, mica_value_type(x));
    if (!body) return MICA_NULL_VALUE;
    mica_value operands[] = {x, mica_log(g, x),       density(g, a, x, c), mica_digamma(g, c),
                             c, mica_zeros_like(g, x)};
    mica_scan(g, body, operands, 6, 2, 4, STEPS, false, out);
    mica_graph_release(body);
    return out[3];
}

mica_value mica_igamma_by_a(mica_graph *g, mica_value a, mica_value x) {
    const mica_type *type = mica_value_type(a);
    if (!type) return MICA_NULL_VALUE;
    mica_dtype dtype = type->dtype;
    a = mica_as(g, a, MICA_DTYPE_f64);
    x = mica_as(g, x, MICA_DTYPE_f64);
    mica_value one = number(g, 1), zero = number(g, 0), limit = number(g, 1e15);
    mica_value usable = mica_and(g, mica_compare(g, a, zero, "ge"), mica_compare(g, x, zero, "gt"));
    usable = mica_and(g, usable, mica_compare(g, a, limit, "lt"));
    usable = mica_and(g, usable, mica_compare(g, x, limit, "lt"));
    mica_value valid = mica_and(g, mica_compare(g, a, zero, "ge"), mica_compare(g, x, zero, "ge"));
    /* at a = 0 the limit, -E1(x) */
    mica_value b = mica_select(g, usable, mica_max(g, a, number(g, 1e-300)), one);
    mica_value y = mica_select(g, usable, x, one);
    mica_value small = mica_compare(g, y, mica_max(g, b, one), "le");
    small = mica_and(g, small, mica_compare(g, b, number(g, STEPS), "lt"));
    mica_value raised = mica_select(g, small, mica_add(g, b, number(g, STEPS)), b);
    mica_value slope = by_integrals(g, raised, y);
    slope = mica_add(g, slope, mica_select(g, small, by_steps(g, b, y), zero));
    slope = mica_select(g, usable, slope, mica_select(g, valid, zero, number(g, NAN)));
    return mica_as(g, slope, dtype);
}
