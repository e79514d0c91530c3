/* Lowerings of functions of elements. Where TensorFlow says what the derivative at a kink is, the
 * expression is written so that its own derivative there is that. */
#include <math.h>

#include "tf/lower_rules.h"

#define LOWER_1(name, builder)                                                                     \
    void tf_lower_##name(mica_tf_lowering *c) {                                                    \
        c->outputs[0] = builder(c->g, c->inputs[0]);                                               \
    }
#define LOWER_2(name, builder)                                                                     \
    void tf_lower_##name(mica_tf_lowering *c) {                                                    \
        c->outputs[0] = builder(c->g, c->inputs[0], c->inputs[1]);                                 \
    }

LOWER_1(abs, mica_abs)
LOWER_1(sign, mica_sign)
LOWER_1(floor, mica_floor)
LOWER_1(ceil, mica_ceil)
LOWER_1(sin, mica_sin)
LOWER_1(cos, mica_cos)
LOWER_1(tan, mica_tan)
LOWER_1(atan, mica_atan)
LOWER_1(sinh, mica_sinh)
LOWER_1(cosh, mica_cosh)
LOWER_1(asinh, mica_asinh)
LOWER_1(acosh, mica_acosh)
LOWER_1(atanh, mica_atanh)
LOWER_1(log1p, mica_log1p)
LOWER_1(expm1, mica_expm1)
LOWER_1(erf, mica_erf)
LOWER_1(erfc, mica_erfc)
LOWER_1(erfinv, mica_erfinv)
LOWER_1(is_finite, mica_is_finite)
LOWER_1(conj, mica_conj)
LOWER_1(real, mica_real)
LOWER_1(imag, mica_imag)
LOWER_1(invert, mica_not)
LOWER_2(complex, mica_complex)
LOWER_2(bitwise_xor, mica_xor)
LOWER_2(atan2, mica_atan2)
LOWER_2(next_after, mica_nextafter)
LOWER_2(igamma, mica_igamma)
LOWER_2(truncate_mod, mica_rem)

static mica_dtype_kind kind_of(const mica_tf_lowering *c) {
    return mica_dtype_kind_of(mica_tf_type(c, 0)->dtype);
}

/* Both operands in the shape of the result. */
static void broadcast_operands(mica_tf_lowering *c, mica_value out[2]) {
    mica_tf_shape shape;
    out[0] = c->inputs[0];
    out[1] = c->inputs[1];
    if (!mica_tf_result_dims(c, &shape)) return;
    for (int32_t i = 0; i < 2; i++)
        out[i] = mica_broadcast_to(c->g, out[i], (mica_ints){shape.dims, shape.rank});
}

void tf_lower_round(mica_tf_lowering *c) {
    mica_dtype_kind kind = kind_of(c);
    if (kind == MICA_KIND_COMPLEX)
        MICA_TF_FAIL(c, "[Round] of complex numbers is not defined");
    else
        c->outputs[0] = kind == MICA_KIND_FLOAT ? mica_round(c->g, c->inputs[0]) : c->inputs[0];
}

/* sqrt(2) erfinv(2 x - 1) */
void tf_lower_ndtri(mica_tf_lowering *c) {
    mica_value x = c->inputs[0];
    mica_value doubled = mica_sub(c->g, mica_add(c->g, x, x), mica_full_like(c->g, x, 1.0));
    c->outputs[0] =
        mica_mul(c->g, mica_erfinv(c->g, doubled), mica_full_like(c->g, x, 1.4142135623730951));
}

static mica_value is_positive(mica_graph *g, mica_value x) {
    return mica_compare(g, x, mica_zeros_like(g, x), "gt");
}

/* max(x, 0) + log1p(e^-|x|); both derivatives are taken on the side of x <= 0 at 0. */
void tf_lower_softplus(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value x = c->inputs[0], positive = is_positive(g, x);
    mica_value small = mica_exp(g, mica_select(g, positive, mica_neg(g, x), x));
    mica_value large = mica_select(g, positive, x, mica_zeros_like(g, x));
    c->outputs[0] = mica_add(g, large, mica_log1p(g, small));
}

void tf_lower_elu(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value x = c->inputs[0], zero = mica_zeros_like(g, x);
    mica_value negative = mica_compare(g, x, zero, "lt");
    mica_value low = mica_select(g, negative, x, zero);
    c->outputs[0] = mica_select(g, negative, mica_expm1(g, low), x);
}

void tf_lower_selu(mica_tf_lowering *c) {
    static const double scale = 1.0507009873554805, alpha = 1.6732632423543772;
    mica_graph *g = c->g;
    mica_value x = c->inputs[0], zero = mica_zeros_like(g, x);
    mica_value negative = mica_compare(g, x, zero, "lt");
    mica_value low = mica_expm1(g, mica_select(g, negative, x, zero));
    mica_value scaled = mica_mul(g, low, mica_full_like(g, x, scale * alpha));
    c->outputs[0] = mica_select(g, negative, scaled, mica_mul(g, x, mica_full_like(g, x, scale)));
}

void tf_lower_leaky_relu(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value x = c->inputs[0];
    double alpha = (double)(float)mica_tf_attr_find(c->info, c->attrs, "alpha")->as.real;
    mica_value low = mica_mul(g, x, mica_full_like(g, x, alpha));
    c->outputs[0] = mica_select(g, is_positive(g, x), x, low);
}

void tf_lower_is_nan(mica_tf_lowering *c) {
    c->outputs[0] = mica_compare(c->g, c->inputs[0], c->inputs[0], "ne");
}

/* Neither finite nor unequal to itself. */
void tf_lower_is_inf(mica_tf_lowering *c) {
    mica_value x = c->inputs[0];
    mica_value number = mica_compare(c->g, x, x, "eq");
    c->outputs[0] = mica_and(c->g, number, mica_not(c->g, mica_is_finite(c->g, x)));
}

void tf_lower_angle(mica_tf_lowering *c) {
    mica_value x = c->inputs[0];
    c->outputs[0] = mica_atan2(c->g, mica_imag(c->g, x), mica_real(c->g, x));
}

/* A shift by less than 0 is one by 0, a shift by more than width - 1 one by that. */
static mica_value shift_count(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value y = c->inputs[1];
    mica_dtype dtype = mica_tf_type(c, 1)->dtype;
    double most = 8.0 * (double)mica_dtype_bytes(dtype) - 1;
    if (mica_dtype_kind_of(dtype) == MICA_KIND_SIGNED) y = mica_max(g, y, mica_zeros_like(g, y));
    return mica_min(g, y, mica_full_like(g, y, most));
}

void tf_lower_left_shift(mica_tf_lowering *c) {
    c->outputs[0] = mica_shl(c->g, c->inputs[0], shift_count(c));
}

void tf_lower_right_shift(mica_tf_lowering *c) {
    mica_value count = shift_count(c);
    c->outputs[0] = kind_of(c) == MICA_KIND_SIGNED ? mica_sar(c->g, c->inputs[0], count)
                                                   : mica_shr(c->g, c->inputs[0], count);
}

/* ---- quotients --------------------------------------------------------------------------------*/

/* Whether a remainder and a divisor, neither 0, have different signs. */
static mica_value signs_differ(mica_graph *g, mica_value remainder, mica_value y) {
    mica_value zero = mica_zeros_like(g, y);
    mica_value differ = mica_compare(g, mica_compare(g, remainder, zero, "lt"),
                                     mica_compare(g, y, zero, "lt"), "ne");
    return mica_and(g, differ, mica_compare(g, remainder, zero, "ne"));
}

void tf_lower_floor_div(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    if (kind_of(c) == MICA_KIND_FLOAT) {
        c->outputs[0] = mica_floor(g, mica_div(g, c->inputs[0], c->inputs[1]));
        return;
    }
    mica_value v[2];
    broadcast_operands(c, v);
    mica_value quotient = mica_div(g, v[0], v[1]);
    mica_value one_less = mica_sub(g, quotient, mica_full_like(g, quotient, 1.0));
    c->outputs[0] =
        mica_select(g, signs_differ(g, mica_rem(g, v[0], v[1]), v[1]), one_less, quotient);
}

mica_value tf_floor_mod(mica_graph *g, const mica_value *x) {
    mica_value remainder = mica_rem(g, x[0], x[1]);
    mica_value moved = mica_add(g, remainder, x[1]);
    return mica_select(g, signs_differ(g, remainder, x[1]), moved, remainder);
}

void tf_lower_truncate_div(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value quotient = mica_div(g, c->inputs[0], c->inputs[1]);
    if (kind_of(c) != MICA_KIND_FLOAT) {
        c->outputs[0] = quotient;
        return;
    }
    mica_value negative = mica_compare(g, quotient, mica_zeros_like(g, quotient), "lt");
    c->outputs[0] = mica_select(g, negative, mica_ceil(g, quotient), mica_floor(g, quotient));
}

void tf_lower_squared_difference(mica_tf_lowering *c) {
    mica_value difference = mica_sub(c->g, c->inputs[0], c->inputs[1]);
    bool is_complex = kind_of(c) == MICA_KIND_COMPLEX;
    c->outputs[0] =
        mica_mul(c->g, is_complex ? mica_conj(c->g, difference) : difference, difference);
}

static mica_value is_zero(mica_graph *g, mica_value x) {
    return mica_compare(g, x, mica_zeros_like(g, x), "eq");
}

/* y with 1 where `hole` is true: what the other branch of a select may compute with. */
static mica_value fill_hole(mica_graph *g, mica_value hole, mica_value y) {
    return mica_select(g, hole, mica_full_like(g, y, 1.0), y);
}

void tf_lower_div_no_nan(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value v[2];
    broadcast_operands(c, v);
    mica_value hole = is_zero(g, v[1]);
    mica_value quotient = mica_div(g, v[0], fill_hole(g, hole, v[1]));
    c->outputs[0] = mica_select(g, hole, mica_zeros_like(g, quotient), quotient);
}

/* x f(y), 0 with derivatives 0 where x is 0. */
static void times_function(mica_tf_lowering *c, mica_value (*function)(mica_graph *, mica_value)) {
    mica_graph *g = c->g;
    mica_value v[2];
    broadcast_operands(c, v);
    mica_value hole = is_zero(g, v[0]);
    mica_value product = mica_mul(g, v[0], function(g, fill_hole(g, hole, v[1])));
    c->outputs[0] = mica_select(g, hole, mica_zeros_like(g, product), product);
}

static mica_value reciprocal(mica_graph *g, mica_value x) {
    return mica_div(g, mica_full_like(g, x, 1.0), x);
}

static mica_value logarithm(mica_graph *g, mica_value x) {
    return mica_log(g, x);
}

static mica_value logarithm_of_one_plus(mica_graph *g, mica_value x) {
    return mica_log1p(g, x);
}

void tf_lower_xlogy(mica_tf_lowering *c) {
    times_function(c, logarithm);
}

void tf_lower_xlog1py(mica_tf_lowering *c) {
    times_function(c, logarithm_of_one_plus);
}

void tf_lower_xdivy(mica_tf_lowering *c) {
    times_function(c, reciprocal);
}

void tf_lower_igammac(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value v[2];
    broadcast_operands(c, v);
    mica_value lower = mica_igamma(g, v[0], v[1]), zero = mica_zeros_like(g, lower);
    mica_value upper = mica_sub(g, mica_full_like(g, lower, 1.0), lower);
    mica_value outside = mica_compare(g, v[0], zero, "le");
    c->outputs[0] = mica_select(g, outside, mica_full_like(g, lower, NAN), upper);
}

void tf_lower_bitcast(mica_tf_lowering *c) {
    mica_tf_dtype dtype = (mica_tf_dtype)mica_tf_lowering_int(c, "type");
    if (mica_tf_dtype_core(dtype) == MICA_DTYPE_COUNT)
        MICA_TF_FAIL(c, "[Bitcast] to %s is not possible", mica_tf_dtype_name(dtype));
    else
        c->outputs[0] = mica_bitcast(c->g, c->inputs[0], mica_tf_dtype_core(dtype));
}
