/* Activations, softmax and gelu.
 *
 * A select also chooses what its unused side is computed from, where that side could overflow: a
 * zero cotangent times an infinite slope would be NaN. Conditions are so that NaN takes the
 * side that keeps it. */
#include "nn/compose.h"

#include <math.h>

static mica_value number(mica_graph *g, mica_value like, double value) {
    return mica_nn_number(g, like, value);
}

mica_nn_activation mica_nn_activation_make(mica_nn_activation_kind kind) {
    mica_nn_activation activation = {kind, 1, 1, 1};
    switch (kind) {
    case MICA_NN_RELU: activation.a = 0; break;
    case MICA_NN_LINEAR: activation.b = 0; break;
    case MICA_NN_HARD_SIGMOID: activation.a = 0.2, activation.b = 0.5; break;
    case MICA_NN_HARD_SHRINK:
    case MICA_NN_SOFT_SHRINK: activation.a = 0.5; break;
    default: break;
    }
    return activation;
}

/* ---- kinds ------------------------------------------------------------------------------------*/

/* a x + b */
static mica_value affine(mica_graph *g, mica_value x, double a, double b) {
    x = mica_nn_scale(g, x, a);
    return b == 0 ? x : mica_add(g, x, number(g, x, b));
}

static mica_value leaky(mica_graph *g, mica_value x, double slope) {
    mica_value left = slope == 0 ? number(g, x, 0) : mica_nn_scale(g, x, slope);
    return mica_select(g, mica_nn_test(g, x, "le", 0), left, x);
}

/* x > 0 ? x : a (e^(x/s) - 1) */
static mica_value exponential_unit(mica_graph *g, mica_value x, double a, double s) {
    mica_value is_left = mica_nn_test(g, x, "le", 0);
    mica_value left = mica_select(g, is_left, x, number(g, x, 0));
    if (s != 1) left = mica_div(g, left, number(g, x, s));
    return mica_select(g, is_left, mica_nn_scale(g, mica_expm1(g, left), a), x);
}

/* ln(1 + e^x): above a limit where the dtype sees no difference it is x. */
static mica_value soft_plus(mica_graph *g, mica_value x) {
    mica_dtype dtype = mica_nn_type(x).dtype;
    double limit = dtype == MICA_DTYPE_f64 ? 40 : dtype == MICA_DTYPE_f16 ? 10 : 20;
    mica_value is_large = mica_nn_test(g, x, "gt", limit);
    mica_value small = mica_select(g, is_large, number(g, x, 0), x);
    return mica_select(g, is_large, x, mica_log1p(g, mica_exp(g, small)));
}

static mica_value bounded_above(mica_graph *g, mica_value x, double bound) {
    return mica_select(g, mica_nn_test(g, x, "ge", bound), number(g, x, bound), x);
}

static mica_value soft_shrink(mica_graph *g, mica_value x, double a) {
    return mica_sub(g, x, mica_clamp(g, x, number(g, x, -a), number(g, x, a)));
}

static mica_value hard_swish(mica_graph *g, mica_value x) {
    mica_value inner = mica_clamp(g, x, number(g, x, -3), number(g, x, 3));
    mica_value middle = mica_mul(g, inner, affine(g, inner, 1, 3));
    middle = mica_div(g, middle, number(g, x, 6));
    mica_value right = mica_select(g, mica_nn_test(g, x, "ge", 3), x, middle);
    return mica_select(g, mica_nn_test(g, x, "le", -3), number(g, x, 0), right);
}

static mica_value apply(mica_graph *g, mica_value x, mica_nn_activation f) {
    switch (f.kind) {
    case MICA_NN_RELU: return leaky(g, x, f.a);
    case MICA_NN_LINEAR: return affine(g, x, f.a, f.b);
    case MICA_NN_SIGMOID: return mica_logistic(g, x);
    case MICA_NN_HARD_SIGMOID: return bounded_above(g, leaky(g, affine(g, x, f.a, f.b), 0), 1);
    case MICA_NN_TANH: return mica_nn_scale(g, mica_tanh(g, mica_nn_scale(g, x, f.b)), f.a);
    case MICA_NN_ABSOLUTE: return mica_abs(g, x);
    case MICA_NN_SOFT_PLUS: return mica_nn_scale(g, soft_plus(g, mica_nn_scale(g, x, f.b)), f.a);
    case MICA_NN_SOFT_SIGN: return mica_div(g, x, affine(g, mica_abs(g, x), 1, 1));
    case MICA_NN_ELU: return exponential_unit(g, x, f.a, 1);
    case MICA_NN_RELU_N: return bounded_above(g, leaky(g, x, f.a), f.b);
    case MICA_NN_LOG_SIGMOID: return mica_neg(g, soft_plus(g, mica_neg(g, x)));
    case MICA_NN_SELU:
        return mica_nn_scale(g, exponential_unit(g, x, 1.6732632423543772, 1), 1.0507009873554805);
    case MICA_NN_CELU: return exponential_unit(g, x, f.a, f.a);
    case MICA_NN_HARD_SHRINK:
        return mica_select(g, mica_nn_test(g, mica_abs(g, x), "le", f.a), number(g, x, 0), x);
    case MICA_NN_SOFT_SHRINK: return soft_shrink(g, x, f.a);
    case MICA_NN_TANH_SHRINK: return mica_sub(g, x, mica_tanh(g, x));
    case MICA_NN_THRESHOLD:
        return mica_select(g, mica_nn_test(g, x, "le", f.a), number(g, x, f.b), x);
    case MICA_NN_GELU: return mica_nn_gelu(g, x, true);
    case MICA_NN_HARD_SWISH: return hard_swish(g, x);
    case MICA_NN_CLAMP: return mica_clamp(g, x, number(g, x, f.a), number(g, x, f.b));
    default: return x;
    }
}

mica_value mica_nn_activate(mica_graph *g, mica_value x, mica_nn_activation activation) {
    if ((unsigned)activation.kind >= MICA_NN_ACTIVATION_COUNT) {
        MICA_NN_FAIL(g, "[activation] there is no kind %d", (int)activation.kind);
        return MICA_NULL_VALUE;
    }
    if (!mica_nn_check(g, "activation", &x, 1, 0, true)) return MICA_NULL_VALUE;
    return apply(g, x, activation);
}

/* ---- composites -------------------------------------------------------------------------------*/

static mica_value normal_distribution_twice(mica_graph *g, mica_value x, bool tanh_form) {
    if (!tanh_form)
        return affine(g, mica_erf(g, mica_nn_scale(g, x, 0.70710678118654752440)), 1, 1);
    mica_value cubic = mica_nn_scale(g, mica_mul(g, x, mica_nn_square(g, x)), 0.044715);
    mica_value inner = mica_nn_scale(g, mica_add(g, x, cubic), 0.79788456080286535588);
    return affine(g, mica_tanh(g, inner), 1, 1);
}

mica_value mica_nn_gelu(mica_graph *g, mica_value x, bool tanh_form) {
    mica_composite c;
    mica_value out = MICA_NULL_VALUE;
    if (!mica_nn_check(g, "gelu", &x, 1, 0, true)) return out;
    if (!mica_composite_begin(&c, g, "gelu", &x, 1)) return out;
    mica_value weight = normal_distribution_twice(c.body, c.in[0], tanh_form);
    mica_composite_result(&c, mica_mul(c.body, mica_nn_scale(c.body, c.in[0], 0.5), weight));
    mica_composite_end(&c, false, &out, "form=%s", tanh_form ? "tanh" : "erf");
    return out;
}

/* x minus its largest along the axis. */
static mica_value shifted(mica_graph *g, mica_value x, int32_t axis) {
    return mica_sub(g, x, mica_nn_reduce_keep(g, x, "max", MICA_INTS(axis)));
}

static mica_value total(mica_graph *g, mica_value x, int32_t axis) {
    return mica_nn_reduce_keep(g, x, "sum", MICA_INTS(axis));
}

/* e^(x - largest) times 1 / total, which is one division for all of them; f16 and bf16, where a
 * rounding more would show, are divided. `masked`: the largest counts as 0 where it is -inf, and a
 * total of 0 as 1, so that a slice without finite elements gives 0. */
static mica_value softmax_of(mica_graph *g, mica_value x, int32_t axis, bool masked) {
    mica_value largest = mica_nn_reduce_keep(g, x, "max", MICA_INTS(axis));
    if (masked) {
        mica_value is_empty = mica_nn_test(g, largest, "eq", -INFINITY);
        largest = mica_select(g, is_empty, number(g, x, 0), largest);
    }
    mica_value powers = mica_exp(g, mica_sub(g, x, largest)), sum = total(g, powers, axis);
    if (masked) sum = mica_select(g, mica_nn_test(g, sum, "eq", 0), number(g, x, 1), sum);
    mica_dtype dtype = mica_nn_type(x).dtype;
    if (dtype != MICA_DTYPE_f32 && dtype != MICA_DTYPE_f64) return mica_div(g, powers, sum);
    return mica_mul(g, powers, mica_div(g, number(g, sum, 1), sum));
}

static mica_value softmax(mica_graph *g, mica_value x, int32_t axis, bool masked) {
    mica_composite c;
    mica_value out = MICA_NULL_VALUE;
    if (!mica_composite_begin(&c, g, "softmax", &x, 1)) return out;
    mica_composite_result(&c, softmax_of(c.body, c.in[0], axis, masked));
    if (mica_composite_begin_vjp(&c)) {
        mica_value y = c.vjp_out[0], dy = c.vjp_cotangent[0];
        mica_value mean = total(c.vjp, mica_mul(c.vjp, y, dy), axis);
        mica_composite_cotangent(&c, mica_mul(c.vjp, y, mica_sub(c.vjp, dy, mean)));
    }
    mica_composite_end(&c, false, &out, "axis=%d%s", (int)axis, masked ? " masked" : "");
    return out;
}

mica_value mica_nn_softmax(mica_graph *g, mica_value x, int64_t axis) {
    if (!mica_nn_check(g, "softmax", &x, 1, 0, true)) return MICA_NULL_VALUE;
    mica_type type = mica_nn_type(x);
    int32_t along = mica_nn_axis(g, "softmax", &type, axis);
    return along < 0 ? MICA_NULL_VALUE : softmax(g, x, along, false);
}

mica_value mica_nn_masked_softmax(mica_graph *g, mica_value x, int32_t axis) {
    return mica_value_is_null(x) ? x : softmax(g, x, axis, true);
}

mica_value mica_nn_log_softmax(mica_graph *g, mica_value x, int64_t axis) {
    mica_composite c;
    mica_value out = MICA_NULL_VALUE;
    if (!mica_nn_check(g, "log_softmax", &x, 1, 0, true)) return out;
    mica_type type = mica_nn_type(x);
    int32_t along = mica_nn_axis(g, "log_softmax", &type, axis);
    if (along < 0 || !mica_composite_begin(&c, g, "log_softmax", &x, 1)) return out;
    mica_value below = shifted(c.body, c.in[0], along);
    mica_value sum = total(c.body, mica_exp(c.body, below), along);
    mica_composite_result(&c, mica_sub(c.body, below, mica_log(c.body, sum)));
    if (mica_composite_begin_vjp(&c)) {
        mica_value dy = c.vjp_cotangent[0];
        mica_value part = mica_mul(c.vjp, mica_exp(c.vjp, c.vjp_out[0]), total(c.vjp, dy, along));
        mica_composite_cotangent(&c, mica_sub(c.vjp, dy, part));
    }
    mica_composite_end(&c, false, &out, "axis=%d", (int)along);
    return out;
}
