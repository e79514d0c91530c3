/* Ops whose derivative at poles and kinks is TensorFlow's own: a call with the function and its
 * gradient. sqrt, rsqrt and 1/x give 0 for a cotangent of 0, also where their derivative is
 * infinite; x^y and the remainder multiply through, and log x counts as 0 where x is not positive;
 * that of softsign is 0 at infinities, those of maxima and rectifiers are 0 for what is NaN, and
 * those of asin and acos infinite at 1. Samples that were drawn on the host get their derivative
 * here too. */
#include "tf/lower_rules.h"

typedef struct kink {
    mica_value (*function)(mica_graph *g, const mica_value *x);
    /* From operands, the result and its cotangent: the operands' cotangents. */
    void (*gradient)(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                     mica_value *out);
} kink;

enum { MOST = 2 };

static mica_graph *region(mica_graph *outer, const mica_value *operands, int32_t n, const kink *k,
                          bool backward) {
    mica_graph *g = NULL;
    mica_value x[MOST], out[MOST] = {MICA_NULL_VALUE};
    mica_status status = mica_graph_create(backward ? "gradient" : "function", &g);
    if (!status) {
        for (int32_t i = 0; i < n; i++) x[i] = mica_parameter(g, mica_value_type(operands[i]));
        if (backward) {
            mica_value y = mica_parameter(g, mica_value_type(operands[0]));
            k->gradient(g, x, y, mica_parameter(g, mica_value_type(operands[0])), out);
        } else {
            out[0] = k->function(g, x);
        }
        for (int32_t i = 0; i < (backward ? n : 1); i++) mica_output(g, out[i]);
        status = mica_graph_check(g);
    }
    if (!status) return g;
    mica_graph_fail(outer, status);
    mica_graph_release(g);
    return NULL;
}

/* Operands of one shape; only of real numbers, where there are kinks. Forward mode takes the
 * tangent of the function, or the transpose of the gradient where `by_gradient`. */
static mica_value apply(mica_graph *g, const mica_value *operands, int32_t n, const kink *k,
                        bool by_gradient) {
    mica_value y = MICA_NULL_VALUE;
    const mica_type *type = mica_value_type(operands[0]);
    if (!type) return y;
    if (mica_dtype_kind_of(type->dtype) != MICA_KIND_FLOAT) return k->function(g, operands);
    mica_graph *function = region(g, operands, n, k, false);
    mica_graph *gradient = function ? region(g, operands, n, k, true) : NULL;
    if (gradient && by_gradient)
        mica_custom_gradient(g, function, gradient, operands, n, &y);
    else if (gradient)
        mica_call(g, "", "", function, "", gradient, operands, n, &y);
    mica_graph_release(function);
    mica_graph_release(gradient);
    return y;
}

static void lower_by(mica_tf_lowering *c, const mica_value *operands, int32_t n, const kink *k,
                     bool by_gradient) {
    c->outputs[0] = apply(c->g, operands, n, k, by_gradient);
}

static void lower(mica_tf_lowering *c, const mica_value *operands, int32_t n, const kink *k) {
    lower_by(c, operands, n, k, false);
}

static mica_value number(mica_graph *g, mica_value like, double value) {
    return mica_full_like(g, like, value);
}

/* value, but 0 where the cotangent is. */
static mica_value unless_zero(mica_graph *g, mica_value cotangent, mica_value value) {
    mica_value zero = mica_zeros_like(g, cotangent);
    return mica_select(g, mica_compare(g, cotangent, zero, "eq"), zero, value);
}

static mica_value square_root(mica_graph *g, const mica_value *x) {
    return mica_sqrt(g, x[0]);
}

static void back_square_root(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                             mica_value *out) {
    (void)x;
    mica_value half = mica_mul(g, cotangent, number(g, y, 0.5));
    out[0] = unless_zero(g, cotangent, mica_div(g, half, y));
}

void tf_lower_sqrt(mica_tf_lowering *c) {
    lower(c, c->inputs, 1, &(kink){square_root, back_square_root});
}

static mica_value reciprocal_root(mica_graph *g, const mica_value *x) {
    return mica_rsqrt(g, x[0]);
}

static void back_reciprocal_root(mica_graph *g, const mica_value *x, mica_value y,
                                 mica_value cotangent, mica_value *out) {
    (void)x;
    mica_value half = mica_mul(g, cotangent, number(g, y, -0.5));
    out[0] = unless_zero(g, cotangent, mica_mul(g, half, mica_mul(g, y, mica_mul(g, y, y))));
}

void tf_lower_rsqrt(mica_tf_lowering *c) {
    lower(c, c->inputs, 1, &(kink){reciprocal_root, back_reciprocal_root});
}

static mica_value reciprocal(mica_graph *g, const mica_value *x) {
    return mica_div(g, number(g, x[0], 1.0), x[0]);
}

static void back_reciprocal(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                            mica_value *out) {
    (void)x;
    mica_value slope = mica_neg(g, mica_mul(g, y, y));
    out[0] = unless_zero(g, cotangent, mica_mul(g, cotangent, slope));
}

void tf_lower_reciprocal(mica_tf_lowering *c) {
    lower(c, c->inputs, 1, &(kink){reciprocal, back_reciprocal});
}

static mica_value one_and_size(mica_graph *g, mica_value x) {
    return mica_add(g, mica_abs(g, x), number(g, x, 1.0));
}

static mica_value softsign(mica_graph *g, const mica_value *x) {
    return mica_div(g, x[0], one_and_size(g, x[0]));
}

static void back_softsign(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                          mica_value *out) {
    (void)y;
    mica_value divisor = one_and_size(g, x[0]);
    out[0] = mica_div(g, cotangent, mica_mul(g, divisor, divisor));
}

void tf_lower_softsign(mica_tf_lowering *c) {
    lower(c, c->inputs, 1, &(kink){softsign, back_softsign});
}

static bool broadcast(mica_tf_lowering *c, mica_value *out) {
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return false;
    for (int32_t i = 0; i < 2; i++)
        out[i] = mica_broadcast_to(c->g, c->inputs[i], (mica_ints){shape.dims, shape.rank});
    return true;
}

/* x unless y is beyond it or NaN. */
static mica_value chosen(mica_graph *g, const mica_value *x, const char *direction) {
    mica_value beyond = mica_compare(g, x[0], x[1], direction);
    const mica_type *type = mica_value_type(x[1]);
    if (type && mica_dtype_kind_of(type->dtype) == MICA_KIND_FLOAT)
        beyond = mica_or(g, beyond, mica_compare(g, x[1], x[1], "ne"));
    return mica_select(g, beyond, x[1], x[0]);
}

/* Ties belong to x, and where one is NaN the gradient is y's. */
static void back_chosen(mica_graph *g, const mica_value *x, mica_value cotangent,
                        const char *direction, mica_value *out) {
    mica_value zero = mica_zeros_like(g, cotangent);
    mica_value first = mica_compare(g, x[0], x[1], direction);
    out[0] = mica_select(g, first, cotangent, zero);
    out[1] = mica_select(g, first, zero, cotangent);
}

static mica_value larger(mica_graph *g, const mica_value *x) {
    return chosen(g, x, "lt");
}

static mica_value smaller(mica_graph *g, const mica_value *x) {
    return chosen(g, x, "gt");
}

static void back_larger(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                        mica_value *out) {
    (void)y;
    back_chosen(g, x, cotangent, "ge", out);
}

static void back_smaller(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                         mica_value *out) {
    (void)y;
    back_chosen(g, x, cotangent, "le", out);
}

void tf_lower_maximum(mica_tf_lowering *c) {
    mica_value operands[2];
    if (broadcast(c, operands)) lower(c, operands, 2, &(kink){larger, back_larger});
}

void tf_lower_minimum(mica_tf_lowering *c) {
    mica_value operands[2];
    if (broadcast(c, operands)) lower(c, operands, 2, &(kink){smaller, back_smaller});
}

/* x where x > 0; NaN stays NaN. */
static mica_value rectified(mica_graph *g, const mica_value *x) {
    mica_value zero = mica_zeros_like(g, x[0]);
    return mica_select(g, mica_compare(g, x[0], zero, "le"), zero, x[0]);
}

/* 0 at 0 and where x is NaN. */
static void back_rectified(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                           mica_value *out) {
    (void)x;
    mica_value zero = mica_zeros_like(g, y);
    out[0] = mica_select(g, mica_compare(g, y, zero, "gt"), cotangent, zero);
}

void tf_lower_relu(mica_tf_lowering *c) {
    lower(c, c->inputs, 1, &(kink){rectified, back_rectified});
}

static mica_value rectified_to_six(mica_graph *g, const mica_value *x) {
    mica_value six = number(g, x[0], 6.0), y = rectified(g, x);
    return mica_select(g, mica_compare(g, x[0], six, "ge"), six, y);
}

static void back_rectified_to_six(mica_graph *g, const mica_value *x, mica_value y,
                                  mica_value cotangent, mica_value *out) {
    back_rectified(g, x, y, cotangent, out);
    mica_value below = mica_compare(g, y, number(g, y, 6.0), "lt");
    out[0] = mica_select(g, below, out[0], mica_zeros_like(g, y));
}

void tf_lower_relu6(mica_tf_lowering *c) {
    lower(c, c->inputs, 1, &(kink){rectified_to_six, back_rectified_to_six});
}

/* (1 - x^2)^(-1/2), without cancellation where |x| is near 1. */
static mica_value inverse_leg(mica_graph *g, const mica_value *x) {
    mica_value one = number(g, x[0], 1.0);
    return mica_rsqrt(g, mica_mul(g, mica_sub(g, one, x[0]), mica_add(g, one, x[0])));
}

/* x (1 - x^2)^(-3/2): infinite at 1, where the rule of products has infinity times 0. */
static void back_inverse_leg(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                             mica_value *out) {
    mica_value cube = mica_mul(g, y, mica_mul(g, y, y));
    out[0] = mica_mul(g, cotangent, mica_mul(g, x[0], cube));
}

static mica_value arc_sine(mica_graph *g, const mica_value *x) {
    return mica_asin(g, x[0]);
}

static void back_arc_sine(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                          mica_value *out) {
    (void)y;
    mica_value slope = apply(g, x, 1, &(kink){inverse_leg, back_inverse_leg}, false);
    out[0] = mica_mul(g, slope, cotangent);
}

static mica_value arc_cosine(mica_graph *g, const mica_value *x) {
    return mica_acos(g, x[0]);
}

static void back_arc_cosine(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                            mica_value *out) {
    back_arc_sine(g, x, y, cotangent, out);
    out[0] = mica_neg(g, out[0]);
}

void tf_lower_asin(mica_tf_lowering *c) {
    lower(c, c->inputs, 1, &(kink){arc_sine, back_arc_sine});
}

void tf_lower_acos(mica_tf_lowering *c) {
    lower(c, c->inputs, 1, &(kink){arc_cosine, back_arc_cosine});
}

static mica_value power(mica_graph *g, const mica_value *x) {
    return mica_pow(g, x[0], x[1]);
}

static void back_power(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                       mica_value *out) {
    mica_value less = mica_sub(g, x[1], number(g, y, 1.0));
    out[0] = mica_mul(g, mica_mul(g, cotangent, x[1]), mica_pow(g, x[0], less));
    mica_value positive = mica_compare(g, x[0], mica_zeros_like(g, y), "gt");
    mica_value safe = mica_select(g, positive, x[0], number(g, y, 1.0)); /* log 1 is 0 */
    out[1] = mica_mul(g, mica_mul(g, cotangent, y), mica_log(g, safe));
}

/* Of floats and complex numbers. */
void tf_lower_float_pow(mica_tf_lowering *c) {
    mica_value operands[2];
    if (broadcast(c, operands)) lower_by(c, operands, 2, &(kink){power, back_power}, true);
}

static mica_value product(mica_graph *g, const mica_value *x) {
    mica_value zero = mica_zeros_like(g, x[1]);
    return mica_select(g, mica_compare(g, x[1], zero, "eq"), zero, mica_mul(g, x[0], x[1]));
}

static void back_product(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                         mica_value *out) {
    (void)y;
    out[0] = product(g, (mica_value[]){cotangent, x[1]});
    out[1] = product(g, (mica_value[]){x[0], cotangent});
}

void tf_lower_mul_no_nan(mica_tf_lowering *c) {
    mica_value operands[2];
    if (broadcast(c, operands)) lower(c, operands, 2, &(kink){product, back_product});
}

static void back_floor_mod(mica_graph *g, const mica_value *x, mica_value y, mica_value cotangent,
                           mica_value *out) {
    (void)y;
    mica_value quotient = mica_floor(g, mica_div(g, x[0], x[1]));
    out[0] = cotangent;
    out[1] = mica_mul(g, cotangent, mica_neg(g, quotient));
}

void tf_lower_floor_mod(mica_tf_lowering *c) {
    mica_value operands[2];
    if (broadcast(c, operands)) lower(c, operands, 2, &(kink){tf_floor_mod, back_floor_mod});
}

static mica_value given_sample(mica_graph *g, const mica_value *x) {
    (void)g;
    return x[1];
}

/* Moving alpha, a sample y stays at its quantile: P(alpha, y) = u, so dy/dalpha = -P_alpha / P_y.
 */
static void back_given_sample(mica_graph *g, const mica_value *x, mica_value y,
                              mica_value cotangent, mica_value *out) {
    mica_value at[2] = {x[0], y}, one = number(g, y, 1.0), slopes[2] = {MICA_NULL_VALUE};
    mica_value p = mica_igamma(g, x[0], y);
    for (int32_t i = 0; i < 2; i++) mica_jvp(g, &p, 1, &at[i], &one, 1, &slopes[i]);
    out[0] = mica_mul(g, cotangent, mica_neg(g, mica_div(g, slopes[0], slopes[1])));
    out[1] = mica_zeros_like(g, y);
}

void tf_lower_implicit_gamma(mica_tf_lowering *c) {
    mica_value operands[2];
    if (broadcast(c, operands))
        lower_by(c, operands, 2, &(kink){given_sample, back_given_sample}, true);
}
