/* Lowerings of special functions: Chebyshev expansions over intervals, chosen by select.
 *
 * Each interval's expansion is computed everywhere, at places clamped into it. A derivative is
 * another function, not that of an expansion: a call with a gradient of its own says so, and the
 * functions in that gradient are such calls as well, down to DEPTH. So derivatives are TensorFlow's
 * at poles and beyond the domain too. */
#include <math.h>

#include "tf/lower_rules.h"
#include "tf/ops/special/tables.h"
#include "tf/shape_rules.h"

static mica_value number(mica_graph *g, mica_value like, double value) {
    return mica_full_like(g, like, value);
}

static mica_value scaled(mica_graph *g, mica_value x, double by) {
    return mica_mul(g, x, number(g, x, by));
}

static mica_value plus(mica_graph *g, mica_value x, double value) {
    return mica_add(g, x, number(g, x, value));
}

static mica_value inverse(mica_graph *g, mica_value x) {
    return mica_div(g, number(g, x, 1), x);
}

static mica_value is_below(mica_graph *g, mica_value x, double bound) {
    return mica_compare(g, x, number(g, x, bound), "lt");
}

/* x within two bounds, with the derivative of a constant outside. */
static mica_value within(mica_graph *g, mica_value x, double low, double high) {
    mica_value above = mica_compare(g, x, number(g, x, high), "gt");
    mica_value bounded = mica_select(g, above, number(g, x, high), x);
    return mica_select(g, is_below(g, x, low), number(g, x, low), bounded);
}

/* Clenshaw's recurrence; u is clamped into the interval. */
static mica_value expansion(mica_graph *g, const mica_tf_chebyshev *c, mica_value u) {
    double scale = 2 / (c->high - c->low);
    mica_value t = within(g, u, c->low, c->high);
    t = plus(g, scaled(g, t, scale), -(c->high + c->low) / (c->high - c->low));
    mica_value twice = mica_add(g, t, t);
    mica_value next = number(g, t, c->terms[c->n - 1]), after = mica_zeros_like(g, t);
    for (int32_t k = c->n - 2; k > 0; k--) {
        mica_value b = plus(g, mica_sub(g, mica_mul(g, twice, next), after), c->terms[k]);
        after = next;
        next = b;
    }
    return plus(g, mica_sub(g, mica_mul(g, t, next), after), c->terms[0]);
}

static mica_value at_infinity(mica_graph *g, const mica_tf_chebyshev *c, mica_value x) {
    mica_value far = mica_select(g, is_below(g, x, 1 / c->high), number(g, x, 1 / c->high), x);
    return expansion(g, c, inverse(g, far));
}

/* A function of n values of one type, and its slope by the last of them; by the others it counts as
 * constant. The slope's own functions are applied at a depth. */
typedef struct special {
    int32_t n;
    mica_value (*value)(mica_graph *g, const mica_value *x);
    mica_value (*slope)(mica_graph *g, const mica_value *x, int32_t depth);
} special;

enum { MOST = 3, DEPTH = 2 };

static mica_graph *region(mica_graph *outer, const special *f, const mica_type *type,
                          int32_t depth) {
    mica_graph *g = NULL;
    mica_value x[MOST];
    bool backward = depth >= 0;
    mica_status status = mica_graph_create(backward ? "gradient" : "function", &g);
    if (!status) {
        for (int32_t i = 0; i < f->n; i++) x[i] = mica_parameter(g, type);
        if (backward) {
            mica_parameter(g, type);
            mica_value cotangent = mica_parameter(g, type);
            for (int32_t i = 0; i + 1 < f->n; i++) mica_output(g, mica_zeros_like(g, cotangent));
            mica_output(g, mica_mul(g, cotangent, f->slope(g, x, depth)));
        } else {
            mica_output(g, f->value(g, x));
        }
        status = mica_graph_check(g);
    }
    if (!status) return g;
    mica_graph_fail(outer, status);
    mica_graph_release(g);
    return NULL;
}

static mica_value apply(mica_graph *g, const special *f, const mica_value *x, int32_t depth) {
    mica_value y = MICA_NULL_VALUE;
    const mica_type *type = mica_value_type(x[0]);
    if (depth == 0) return f->value(g, x);
    mica_graph *function = type ? region(g, f, type, -1) : NULL;
    mica_graph *gradient = function ? region(g, f, type, depth - 1) : NULL;
    if (gradient) mica_custom_gradient(g, function, gradient, x, f->n, &y);
    mica_graph_release(function);
    mica_graph_release(gradient);
    return y;
}

/* Halves are computed as floats. */
static mica_value widened(mica_graph *g, mica_value x, mica_dtype *narrow) {
    const mica_type *type = mica_value_type(x);
    *narrow = MICA_DTYPE_COUNT;
    if (!type || mica_dtype_bytes(type->dtype) >= 4) return x;
    *narrow = type->dtype;
    return mica_convert(g, x, MICA_DTYPE_f32);
}

static void give(mica_tf_lowering *c, mica_value y, mica_dtype narrow) {
    c->outputs[0] = narrow == MICA_DTYPE_COUNT ? y : mica_convert(c->g, y, narrow);
}

static void lower(mica_tf_lowering *c, const special *f) {
    mica_dtype narrow;
    mica_value x = widened(c->g, c->inputs[0], &narrow);
    give(c, apply(c->g, f, &x, DEPTH), narrow);
}

/* A row of the table of one variable: name, the function that computes it. Slopes follow. */
#define SPECIAL(name, function)                                                                    \
    static mica_value value_##name(mica_graph *g, const mica_value *x) {                           \
        return function(g, x[0]);                                                                  \
    }                                                                                              \
    static mica_value slope_##name(mica_graph *g, const mica_value *x, int32_t depth);             \
    static const special special_##name = {1, value_##name, slope_##name};                         \
    void tf_lower_##name(mica_tf_lowering *c) {                                                    \
        lower(c, &special_##name);                                                                 \
    }

#define SLOPE(name)                                                                                \
    static mica_value slope_##name(mica_graph *g, const mica_value *x, int32_t depth)

/* ---- Bessel's I -------------------------------------------------------------------------------*/

static mica_value over_root(mica_graph *g, mica_value y, mica_value x, double least) {
    mica_value far = mica_select(g, is_below(g, x, least), number(g, x, least), x);
    return mica_mul(g, y, mica_rsqrt(g, far));
}

static mica_value i0e(mica_graph *g, mica_value x) {
    mica_value size = mica_abs(g, x);
    mica_value large = over_root(g, at_infinity(g, &i0e_large, size), size, 8);
    return mica_select(g, is_below(g, size, 8), expansion(g, &i0e_small, size), large);
}

static mica_value i1e(mica_graph *g, mica_value x) {
    mica_value size = mica_abs(g, x);
    mica_value large = over_root(g, at_infinity(g, &i1e_large, size), size, 8);
    mica_value small = mica_mul(g, expansion(g, &i1e_small, size), x);
    large = mica_select(g, is_below(g, x, 0), mica_neg(g, large), large);
    return mica_select(g, is_below(g, size, 8), small, large);
}

static mica_value grown(mica_graph *g, mica_value y, mica_value x) {
    return mica_mul(g, y, mica_exp(g, mica_abs(g, x)));
}

static mica_value i0(mica_graph *g, mica_value x) {
    return grown(g, i0e(g, x), x);
}

static mica_value i1(mica_graph *g, mica_value x) {
    return grown(g, i1e(g, x), x);
}

/* y(x) / x, `limit` at 0 */
static mica_value over_x(mica_graph *g, mica_value y, mica_value x, double limit) {
    mica_value zero = mica_compare(g, x, mica_zeros_like(g, x), "eq");
    mica_value quotient = mica_div(g, y, mica_select(g, zero, number(g, x, 1), x));
    return mica_select(g, zero, number(g, x, limit), quotient);
}

SPECIAL(bessel_i0, i0)
SPECIAL(bessel_i1, i1)
SPECIAL(bessel_i0e, i0e)
SPECIAL(bessel_i1e, i1e)

SLOPE(bessel_i0) {
    return apply(g, &special_bessel_i1, x, depth);
}
SLOPE(bessel_i1) {
    mica_value y = apply(g, &special_bessel_i1, x, depth);
    return mica_sub(g, apply(g, &special_bessel_i0, x, depth), over_x(g, y, x[0], 0.5));
}
SLOPE(bessel_i0e) {
    mica_value y = apply(g, &special_bessel_i0e, x, depth);
    return mica_sub(g, apply(g, &special_bessel_i1e, x, depth), mica_mul(g, mica_sign(g, x[0]), y));
}
SLOPE(bessel_i1e) {
    mica_value y = apply(g, &special_bessel_i1e, x, depth);
    mica_value less = mica_mul(g, mica_sign(g, x[0]), y);
    less = mica_add(g, less, over_x(g, y, x[0], 0.5));
    return mica_sub(g, apply(g, &special_bessel_i0e, x, depth), less);
}

/* ---- Bessel's K -------------------------------------------------------------------------------*/

static mica_value not_negative(mica_graph *g, mica_value y, mica_value x, double below) {
    return mica_select(g, is_below(g, x, 0), number(g, y, below), y);
}

/* The pole at 0 and all below it. */
static mica_value positive(mica_graph *g, mica_value y, mica_value x, double below) {
    mica_value outside = mica_compare(g, x, mica_zeros_like(g, x), "le");
    return mica_select(g, outside, number(g, y, below), y);
}

static mica_value small_k(mica_graph *g, mica_value x, bool first) {
    mica_value near = within(g, x, 0, 2), squared = mica_mul(g, near, near);
    mica_value logarithm = mica_log(g, scaled(g, near, 0.5));
    if (!first)
        return mica_sub(g, expansion(g, &k0_small, squared), mica_mul(g, logarithm, i0(g, near)));
    mica_value zero = mica_compare(g, near, mica_zeros_like(g, near), "eq");
    mica_value rest =
        mica_mul(g, mica_select(g, zero, mica_zeros_like(g, x), logarithm), i1(g, near));
    return mica_add(g, mica_div(g, expansion(g, &k1_small, squared), near), rest);
}

static mica_value bessel_k(mica_graph *g, mica_value x, bool first, bool scaled_up) {
    mica_value large = over_root(g, at_infinity(g, first ? &k1e_large : &k0e_large, x), x, 2);
    mica_value small = small_k(g, x, first);
    if (scaled_up)
        small = mica_mul(g, small, mica_exp(g, within(g, x, 0, 2)));
    else
        large = mica_mul(g, large, mica_exp(g, mica_neg(g, x)));
    return positive(g, mica_select(g, is_below(g, x, 2), small, large), x, INFINITY);
}

static mica_value k0(mica_graph *g, mica_value x) {
    return bessel_k(g, x, false, false);
}
static mica_value k1(mica_graph *g, mica_value x) {
    return bessel_k(g, x, true, false);
}
static mica_value k0e(mica_graph *g, mica_value x) {
    return bessel_k(g, x, false, true);
}
static mica_value k1e(mica_graph *g, mica_value x) {
    return bessel_k(g, x, true, true);
}
SPECIAL(bessel_k0, k0)
SPECIAL(bessel_k1, k1)
SPECIAL(bessel_k0e, k0e)
SPECIAL(bessel_k1e, k1e)

SLOPE(bessel_k0) {
    return mica_neg(g, apply(g, &special_bessel_k1, x, depth));
}
SLOPE(bessel_k1) {
    mica_value quotient = mica_div(g, apply(g, &special_bessel_k1, x, depth), x[0]);
    return mica_neg(g, mica_add(g, apply(g, &special_bessel_k0, x, depth), quotient));
}
SLOPE(bessel_k0e) {
    return mica_sub(g, apply(g, &special_bessel_k0e, x, depth),
                    apply(g, &special_bessel_k1e, x, depth));
}
SLOPE(bessel_k1e) {
    mica_value factor = mica_sub(g, number(g, x[0], 1), inverse(g, x[0]));
    mica_value product = mica_mul(g, apply(g, &special_bessel_k1e, x, depth), factor);
    return mica_sub(g, product, apply(g, &special_bessel_k0e, x, depth));
}

/* ---- Bessel's J and Y -------------------------------------------------------------------------*/

/* sqrt(2 / pi x) (P cos(x - phase) - Q sin(x - phase)), or (P sin + Q cos). */
static mica_value far_wave(mica_graph *g, mica_value x, bool first, bool second_kind) {
    mica_value far = mica_select(g, is_below(g, x, 8), number(g, x, 8), x);
    mica_value p = at_infinity(g, first ? &p1_large : &p0_large, far);
    mica_value q = mica_div(g, at_infinity(g, first ? &q1_large : &q0_large, far), far);
    /* sin and cos of x - phase by sums, times sqrt(2): a difference would lose bits of a large x.
     */
    mica_value sin_x = mica_sin(g, far), cos_x = mica_cos(g, far);
    mica_value sum = mica_add(g, sin_x, cos_x), difference = mica_sub(g, sin_x, cos_x);
    mica_value sine = first ? mica_neg(g, sum) : difference, cosine = first ? difference : sum;
    mica_value wave = second_kind ? mica_add(g, mica_mul(g, p, sine), mica_mul(g, q, cosine))
                                  : mica_sub(g, mica_mul(g, p, cosine), mica_mul(g, q, sine));
    return mica_mul(g, wave, scaled(g, mica_rsqrt(g, far), sqrt(1 / M_PI)));
}

static mica_value squared_within(mica_graph *g, mica_value x) {
    mica_value near = within(g, x, -8, 8);
    return mica_mul(g, near, near);
}

static mica_value j0_of(mica_graph *g, mica_value x) {
    mica_value size = mica_abs(g, x);
    return mica_select(g, is_below(g, size, 8), expansion(g, &j0_small, squared_within(g, x)),
                       far_wave(g, size, false, false));
}

static mica_value j1_of(mica_graph *g, mica_value x) {
    mica_value size = mica_abs(g, x);
    mica_value small = mica_mul(g, expansion(g, &j1_small, squared_within(g, x)), x);
    mica_value large = far_wave(g, size, true, false);
    large = mica_select(g, is_below(g, x, 0), mica_neg(g, large), large);
    return mica_select(g, is_below(g, size, 8), small, large);
}

static mica_value y0_of(mica_graph *g, mica_value x) {
    mica_value near = within(g, x, 0, 8);
    mica_value waves = scaled(g, mica_mul(g, mica_log(g, near), j0_of(g, near)), 2 / M_PI);
    mica_value small = mica_add(g, expansion(g, &y0_small, squared_within(g, near)), waves);
    mica_value y = mica_select(g, is_below(g, x, 8), small, far_wave(g, x, false, true));
    return positive(g, y, x, -INFINITY);
}

static mica_value y1_of(mica_graph *g, mica_value x) {
    mica_value near = within(g, x, 0, 8);
    mica_value waves =
        mica_sub(g, mica_mul(g, mica_log(g, near), j1_of(g, near)), inverse(g, near));
    mica_value smooth = mica_mul(g, expansion(g, &y1_small, squared_within(g, near)), near);
    mica_value small = mica_add(g, smooth, scaled(g, waves, 2 / M_PI));
    mica_value y = mica_select(g, is_below(g, x, 8), small, far_wave(g, x, true, true));
    return positive(g, y, x, -INFINITY);
}

SPECIAL(bessel_j0, j0_of)
SPECIAL(bessel_j1, j1_of)
SPECIAL(bessel_y0, y0_of)
SPECIAL(bessel_y1, y1_of)

SLOPE(bessel_j0) {
    return mica_neg(g, apply(g, &special_bessel_j1, x, depth));
}
SLOPE(bessel_j1) {
    mica_value y = apply(g, &special_bessel_j1, x, depth);
    return mica_sub(g, apply(g, &special_bessel_j0, x, depth), over_x(g, y, x[0], 0.5));
}
SLOPE(bessel_y0) {
    return mica_neg(g, apply(g, &special_bessel_y1, x, depth));
}
SLOPE(bessel_y1) {
    mica_value quotient = mica_div(g, apply(g, &special_bessel_y1, x, depth), x[0]);
    return mica_sub(g, apply(g, &special_bessel_y0, x, depth), quotient);
}

/* ---- integrals --------------------------------------------------------------------------------*/

static mica_value dawson(mica_graph *g, mica_value x) {
    mica_value size = mica_abs(g, x), near = within(g, x, -3, 3);
    mica_value small = mica_mul(g, expansion(g, &dawson_small, mica_mul(g, near, near)), x);
    mica_value away = mica_select(g, is_below(g, size, 3), number(g, x, 3), x);
    mica_value middle = mica_div(g, expansion(g, &dawson_middle, size), away);
    mica_value large = mica_div(g, at_infinity(g, &dawson_large, size), away);
    mica_value far = mica_select(g, is_below(g, size, 6), middle, large);
    return mica_select(g, is_below(g, size, 3), small, far);
}

SPECIAL(dawsn, dawson)

SLOPE(dawsn) {
    mica_value product = mica_mul(g, x[0], apply(g, &special_dawsn, x, depth));
    return mica_sub(g, number(g, x[0], 1), mica_add(g, product, product));
}

static const double euler = 0.57721566490153286;

static mica_value ei(mica_graph *g, mica_value x) {
    mica_value near = within(g, x, 0, 6);
    mica_value small = plus(g, mica_mul(g, expansion(g, &ei_small, near), near), euler);
    small = mica_add(g, small, mica_log(g, near));
    mica_value far = mica_select(g, is_below(g, x, 6), number(g, x, 6), x);
    mica_value further = mica_select(g, is_below(g, x, 14), number(g, x, 14), x);
    mica_value large =
        mica_select(g, is_below(g, x, 40), expansion(g, &ei_far, inverse(g, further)),
                    at_infinity(g, &ei_large, x));
    large = mica_select(g, is_below(g, x, 14), expansion(g, &ei_middle, x), large);
    large = mica_div(g, mica_mul(g, large, mica_exp(g, far)), far);
    return not_negative(g, mica_select(g, is_below(g, x, 6), small, large), x, NAN);
}

SPECIAL(expint, ei)

SLOPE(expint) {
    (void)depth;
    return mica_div(g, mica_exp(g, x[0]), x[0]);
}

static mica_value spence_of(mica_graph *g, mica_value x) {
    mica_value one = number(g, x, 1);
    mica_value high = mica_compare(g, x, number(g, x, 1.5), "gt");
    mica_value divisor = mica_select(g, high, x, one);
    mica_value w = mica_select(g, high, mica_sub(g, inverse(g, divisor), one), mica_sub(g, x, one));
    /* Beyond 2 the inverse is close to 0: mirrored once more. */
    mica_value mirrored = mica_compare(g, w, number(g, x, -0.5), "lt");
    mica_value z = plus(g, w, 1); /* in (0, 0.5) where it is mirrored */
    mica_value v = mica_select(g, mirrored, mica_neg(g, z), w);
    mica_value direct = mica_neg(g, mica_mul(g, expansion(g, &spence, v), v));
    mica_value inside = mica_select(g, mirrored, z, number(g, x, 0.5));
    mica_value zero = mica_compare(g, inside, mica_zeros_like(g, x), "eq");
    mica_value safe = mica_select(g, zero, one, inside);
    mica_value logs = mica_mul(g, mica_log(g, safe), mica_log1p(g, mica_neg(g, inside)));
    logs = mica_select(g, zero, mica_zeros_like(g, x), logs);
    mica_value turned = mica_sub(g, number(g, x, M_PI * M_PI / 6), mica_add(g, logs, direct));
    mica_value y = mica_select(g, mirrored, turned, direct);
    mica_value logarithm = mica_log(g, divisor);
    mica_value half = scaled(g, mica_mul(g, logarithm, logarithm), -0.5);
    y = mica_select(g, high, mica_sub(g, half, y), y);
    return not_negative(g, y, x, NAN);
}

SPECIAL(spence, spence_of)

SLOPE(spence) {
    (void)depth;
    return over_x(g, mica_log(g, x[0]), mica_sub(g, number(g, x[0], 1), x[0]), -1);
}

static mica_value half_turn(mica_graph *g, mica_value x) {
    return scaled(g, mica_mul(g, x, x), M_PI / 2);
}

static mica_value fresnel(mica_graph *g, mica_value x, bool is_sine) {
    mica_value size = mica_abs(g, x), near = within(g, size, 0, 1.6);
    mica_value squared = mica_mul(g, near, near), fourth = mica_mul(g, squared, squared);
    mica_value small = expansion(g, is_sine ? &fresnel_s_small : &fresnel_c_small, fourth);
    small = mica_mul(g, small, is_sine ? mica_mul(g, near, squared) : near);
    mica_value far = within(g, size, 1.6, 36974); /* beyond is 1/2, as in TensorFlow */
    mica_value f = mica_div(g, at_infinity(g, &fresnel_f_large, far), scaled(g, far, M_PI));
    mica_value cubed = mica_mul(g, far, mica_mul(g, far, far));
    mica_value h =
        mica_div(g, at_infinity(g, &fresnel_g_large, far), scaled(g, cubed, M_PI * M_PI));
    mica_value angle = half_turn(g, far), sine = mica_sin(g, angle), cosine = mica_cos(g, angle);
    mica_value waves = is_sine
                           ? mica_neg(g, mica_add(g, mica_mul(g, f, cosine), mica_mul(g, h, sine)))
                           : mica_sub(g, mica_mul(g, f, sine), mica_mul(g, h, cosine));
    mica_value beyond = mica_compare(g, size, number(g, size, 36974), "gt");
    waves = mica_select(g, beyond, mica_zeros_like(g, waves), waves);
    mica_value y = mica_select(g, is_below(g, size, 1.6), small, plus(g, waves, 0.5));
    return mica_select(g, is_below(g, x, 0), mica_neg(g, y), y);
}

static mica_value fresnel_cosine(mica_graph *g, mica_value x) {
    return fresnel(g, x, false);
}
static mica_value fresnel_sine(mica_graph *g, mica_value x) {
    return fresnel(g, x, true);
}
SPECIAL(fresnel_cos, fresnel_cosine)
SPECIAL(fresnel_sin, fresnel_sine)

SLOPE(fresnel_cos) {
    (void)depth;
    return mica_cos(g, half_turn(g, x[0]));
}
SLOPE(fresnel_sin) {
    (void)depth;
    return mica_sin(g, half_turn(g, x[0]));
}

/* ---- zeta, polygamma --------------------------------------------------------------------------*/

/* Euler and Maclaurin: nine terms, then an integral and Bernoulli's numbers. */
static mica_value hurwitz(mica_graph *g, mica_value x, mica_value q) {
    static const double bernoulli[] = {1.0 / 12,          -1.0 / 720,
                                       1.0 / 30240,       -1.0 / 1209600,
                                       1.0 / 47900160,    -691.0 / 1307674368000,
                                       1.0 / 74724249600, -3617.0 / 10670622842880000};
    enum { TERMS = 9 };
    mica_value minus_x = mica_neg(g, x), sum = mica_pow(g, q, minus_x);
    for (int32_t k = 1; k < TERMS; k++) sum = mica_add(g, sum, mica_pow(g, plus(g, q, k), minus_x));
    mica_value a = plus(g, q, TERMS), power = mica_pow(g, a, minus_x);
    mica_value less_one = plus(g, x, -1);
    sum = mica_add(g, sum, mica_div(g, mica_mul(g, power, a), less_one));
    sum = mica_add(g, sum, scaled(g, power, 0.5));
    mica_value squared = mica_mul(g, a, a);
    mica_value factor = mica_div(g, mica_mul(g, power, x), a); /* x (x + 1) ... a^(-x - 2 k + 1) */
    for (int32_t k = 0; k < 8; k++) {
        sum = mica_add(g, sum, scaled(g, factor, bernoulli[k]));
        mica_value rise = mica_mul(g, plus(g, x, 2 * k + 1), plus(g, x, 2 * k + 2));
        factor = mica_div(g, mica_mul(g, factor, rise), squared);
    }
    return sum;
}

static void broadcast_operands(mica_tf_lowering *c, int32_t n, mica_value *out,
                               mica_dtype *narrow) {
    mica_tf_shape shape;
    for (int32_t i = 0; i < n; i++) out[i] = widened(c->g, c->inputs[i], narrow);
    if (!mica_tf_result_dims(c, &shape)) return;
    for (int32_t i = 0; i < n; i++)
        out[i] = mica_broadcast_to(c->g, out[i], (mica_ints){shape.dims, shape.rank});
}

static mica_value is_whole(mica_graph *g, mica_value x) {
    return mica_compare(g, mica_floor(g, x), x, "eq");
}

static mica_value is_even(mica_graph *g, mica_value x) {
    return is_whole(g, scaled(g, x, 0.5));
}

/* At q = 0, -1, ... both sides are +inf where x is even, and differ (NaN) where it is not. */
static mica_value at_poles(mica_graph *g, mica_value x, mica_value q, mica_value y) {
    mica_value zero = mica_zeros_like(g, q);
    mica_value pole = mica_and(g, mica_compare(g, q, zero, "le"), is_whole(g, q));
    mica_value both = mica_select(g, is_even(g, x), number(g, y, INFINITY), number(g, y, NAN));
    mica_value beyond = mica_compare(g, q, number(g, q, INFINITY), "eq");
    return mica_select(g, pole, both, mica_select(g, beyond, zero, y));
}

static mica_value value_zeta(mica_graph *g, const mica_value *v) {
    mica_value x = v[0], one = mica_compare(g, x, number(g, x, 1), "eq");
    mica_value y = hurwitz(g, mica_select(g, one, number(g, x, 2), x), v[1]);
    y = at_poles(g, x, v[1], y);
    y = mica_select(g, one, number(g, y, INFINITY), y);
    mica_value beyond = mica_compare(g, x, number(g, x, INFINITY), "eq");
    y = mica_select(g, beyond, mica_pow(g, v[1], mica_neg(g, x)), y); /* of the first term alone */
    mica_value known =
        mica_and(g, mica_compare(g, x, number(g, x, 1), "ge"), mica_compare(g, v[1], v[1], "eq"));
    return mica_select(g, known, y, number(g, y, NAN));
}

static mica_value slope_zeta(mica_graph *g, const mica_value *v, int32_t depth);
static const special zeta = {2, value_zeta, slope_zeta};

static mica_value slope_zeta(mica_graph *g, const mica_value *v, int32_t depth) {
    mica_value next[] = {plus(g, v[0], 1), v[1]};
    return mica_mul(g, mica_neg(g, v[0]), apply(g, &zeta, next, depth));
}

void tf_lower_zeta(mica_tf_lowering *c) {
    mica_value v[2];
    mica_dtype narrow;
    broadcast_operands(c, 2, v, &narrow);
    give(c, apply(c->g, &zeta, v, DEPTH), narrow);
}

/* NaN at the poles, 0 too, of either sign. */
static mica_value digamma(mica_graph *g, mica_value x) {
    mica_value zero = mica_zeros_like(g, x);
    mica_value hole = mica_select(g, mica_compare(g, x, zero, "eq"), number(g, x, NAN), zero);
    return mica_add(g, mica_digamma(g, x), hole);
}

SPECIAL(digamma, digamma)
SPECIAL(lgamma, mica_lgamma)

SLOPE(lgamma) {
    return apply(g, &special_digamma, x, depth);
}

/* (-1)^(a + 1) a! zeta(a + 1, x); digamma for a = 0. */
static mica_value value_polygamma(mica_graph *g, const mica_value *v) {
    mica_value a = v[0], zero = mica_compare(g, a, mica_zeros_like(g, a), "eq");
    mica_value order = mica_select(g, zero, number(g, a, 1), a);
    mica_value operands[] = {plus(g, order, 1), v[1]};
    mica_value y = value_zeta(g, operands);
    y = mica_mul(g, mica_exp(g, mica_lgamma(g, operands[0])), y);
    y = mica_select(g, is_even(g, order), mica_neg(g, y), y);
    mica_value wrong = mica_or(g, is_below(g, a, 0), mica_not(g, is_whole(g, a)));
    y = mica_select(g, wrong, number(g, y, NAN), y);
    return mica_select(g, zero, digamma(g, v[1]), y);
}

static mica_value slope_polygamma(mica_graph *g, const mica_value *v, int32_t depth);
static const special polygamma = {2, value_polygamma, slope_polygamma};

static mica_value slope_polygamma(mica_graph *g, const mica_value *v, int32_t depth) {
    mica_value next[] = {plus(g, v[0], 1), v[1]};
    return apply(g, &polygamma, next, depth);
}

SLOPE(digamma) {
    mica_value first[] = {number(g, x[0], 1), x[0]};
    return apply(g, &polygamma, first, depth);
}

void tf_lower_polygamma(mica_tf_lowering *c) {
    mica_value v[2];
    mica_dtype narrow;
    broadcast_operands(c, 2, v, &narrow);
    give(c, apply(c->g, &polygamma, v, DEPTH), narrow);
}

/* ---- the incomplete beta function -------------------------------------------------------------*/

mica_status tf_shape_betainc(mica_tf_inference *c) {
    mica_tf_shape whole = {.rank = 0};
    bool fits = true, is_known = true;
    for (int32_t i = 0; i < 3; i++) {
        const mica_tf_shape *x = &c->inputs[i];
        if (x->rank < 0) is_known = false;
        if (x->rank <= 0) continue;
        if (whole.rank == 0)
            whole = *x;
        else
            fits = fits && mica_tf_shape_merge(&whole, x, &whole);
    }
    if (whole.rank == 0 && !is_known) whole.rank = -1;
    c->outputs[0] = whole;
    if (fits) return NULL;
    return MICA_INVALID("[Betainc] Shapes of a, b and x are incompatible: %s, %s and %s",
                        mica_tf_shape_text(&c->inputs[0]).chars,
                        mica_tf_shape_text(&c->inputs[1]).chars,
                        mica_tf_shape_text(&c->inputs[2]).chars);
}

/* One step of Lentz' method for a continued fraction: d, c, h with the numerator `term`. */
static void lentz(mica_graph *g, mica_value term, mica_value state[3]) {
    mica_value d = plus(g, mica_mul(g, term, state[0]), 1);
    mica_value c = plus(g, mica_div(g, term, state[1]), 1);
    state[0] = inverse(g, d);
    state[1] = c;
    state[2] = mica_mul(g, state[2], mica_mul(g, state[0], c));
}

/* operands: a, b, x, then m, d, c, h; results: the last four */
static mica_graph *fraction_step(mica_graph *g, const mica_type *type) {
    mica_graph *body = NULL;
    mica_status status = mica_graph_create("betainc_step", &body);
    if (status) {
        mica_graph_fail(g, status);
        return NULL;
    }
    mica_value in[7];
    for (int32_t i = 0; i < 7; i++) in[i] = mica_parameter(body, type);
    mica_value a = in[0], b = in[1], x = in[2], m = in[3];
    mica_value a_even = mica_add(body, a, mica_add(body, m, m));
    mica_value even = mica_mul(body, mica_mul(body, m, mica_sub(body, b, m)), x);
    even = mica_div(body, even, mica_mul(body, plus(body, a_even, -1), a_even));
    mica_value odd = mica_mul(body, mica_add(body, a, m), mica_add(body, mica_add(body, a, b), m));
    odd = mica_div(body, mica_neg(body, mica_mul(body, odd, x)),
                   mica_mul(body, a_even, plus(body, a_even, 1)));
    mica_value state[3] = {in[4], in[5], in[6]};
    lentz(body, even, state);
    lentz(body, odd, state);
    mica_output(body, plus(body, m, 1));
    for (int32_t i = 0; i < 3; i++) mica_output(body, state[i]);
    return body;
}

enum { FRACTION_STEPS = 128 };

/* x^a (1 - x)^b / B(a, b) */
static mica_value beta_front(mica_graph *g, mica_value a, mica_value b, mica_value x) {
    mica_value norm = mica_sub(g, mica_lgamma(g, mica_add(g, a, b)),
                               mica_add(g, mica_lgamma(g, a), mica_lgamma(g, b)));
    mica_value powers =
        mica_add(g, mica_mul(g, a, mica_log(g, x)), mica_mul(g, b, mica_log1p(g, mica_neg(g, x))));
    return mica_exp(g, mica_add(g, powers, norm));
}

static mica_value beta_value(mica_graph *g, mica_value a, mica_value b, mica_value x) {
    const mica_type *type = mica_value_type(x);
    mica_graph *step = type ? fraction_step(g, type) : NULL;
    if (!step) return MICA_NULL_VALUE;
    mica_value one = number(g, x, 1), sum = mica_add(g, a, b);
    mica_value bound = mica_div(g, plus(g, a, 1), plus(g, sum, 2));
    mica_value swap = mica_compare(g, x, bound, "gt");
    mica_value p = mica_select(g, swap, b, a), q = mica_select(g, swap, a, b);
    mica_value t = mica_select(g, swap, mica_sub(g, one, x), x);
    mica_value first = mica_div(g, mica_mul(g, sum, t), plus(g, p, 1));
    mica_value d = inverse(g, mica_sub(g, one, first));
    mica_value operands[7] = {p, q, t, one, d, one, d}, results[4];
    mica_scan(g, step, operands, 7, 3, 4, FRACTION_STEPS, false, results);
    mica_graph_release(step);
    mica_value y = mica_div(g, mica_mul(g, beta_front(g, p, q, t), results[3]), p);
    return mica_select(g, swap, mica_sub(g, one, y), y);
}

static mica_value value_betainc(mica_graph *g, const mica_value *v) {
    mica_value zero = mica_zeros_like(g, v[0]), one = number(g, v[0], 1);
    mica_value y = beta_value(g, v[0], v[1], within(g, v[2], 0, 1));
    mica_value orders =
        mica_and(g, mica_compare(g, v[0], zero, "gt"), mica_compare(g, v[1], zero, "gt"));
    mica_value place =
        mica_and(g, mica_compare(g, v[2], zero, "ge"), mica_compare(g, v[2], one, "le"));
    return mica_select(g, mica_and(g, orders, place), y, number(g, y, NAN));
}

static mica_value slope_betainc(mica_graph *g, const mica_value *v, int32_t depth) {
    (void)depth;
    mica_value divisor = mica_mul(g, v[2], mica_sub(g, number(g, v[2], 1), v[2]));
    return mica_div(g, beta_front(g, v[0], v[1], v[2]), divisor);
}

void tf_lower_betainc(mica_tf_lowering *c) {
    static const special betainc = {3, value_betainc, slope_betainc};
    mica_value v[3];
    mica_dtype narrow;
    broadcast_operands(c, 3, v, &narrow);
    give(c, apply(c->g, &betainc, v, DEPTH), narrow);
}
