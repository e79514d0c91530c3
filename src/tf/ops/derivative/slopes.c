/* Lowerings of derivatives of single elements, as TensorFlow writes them: from the operands or from
 * the results of the function, and a cotangent. */
#include "tf/lower_rules.h"
#include "tf/ops/nn/windows.h"

static mica_value scalar_like(mica_graph *g, mica_value x, double number) {
    return mica_full_like(g, x, number);
}

static mica_value is_less(mica_graph *g, mica_value x, double number) {
    return mica_compare(g, x, scalar_like(g, x, number), "lt");
}

static mica_value is_greater(mica_graph *g, mica_value x, double number) {
    return mica_compare(g, x, scalar_like(g, x, number), "gt");
}

/* Of a complex function of numbers TensorFlow takes the conjugate of the derivative. */
static mica_value result_of(mica_tf_lowering *c) {
    mica_value y = c->inputs[0];
    return mica_dtype_kind_of(mica_tf_type(c, 0)->dtype) == MICA_KIND_COMPLEX ? mica_conj(c->g, y)
                                                                              : y;
}

/* ---- from the operand or result in input 1, the cotangent in input 0 --------------------------*/

void tf_lower_relu_grad(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value dy = c->inputs[0], x = c->inputs[1];
    c->outputs[0] = mica_select(g, is_greater(g, x, 0), dy, mica_zeros_like(g, dy));
}

void tf_lower_relu6_grad(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value dy = c->inputs[0], x = c->inputs[1];
    mica_value within = mica_and(g, is_greater(g, x, 0), is_less(g, x, 6));
    c->outputs[0] = mica_select(g, within, dy, mica_zeros_like(g, dy));
}

void tf_lower_leaky_relu_grad(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value dy = c->inputs[0], x = c->inputs[1];
    double alpha = mica_tf_attr_find(c->info, c->attrs, "alpha")->as.real;
    mica_value scaled = mica_mul(g, dy, scalar_like(g, dy, alpha));
    c->outputs[0] = mica_select(g, is_greater(g, x, 0), dy, scaled);
}

void tf_lower_elu_grad(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value dy = c->inputs[0], y = c->inputs[1];
    mica_value below = mica_mul(g, dy, mica_add(g, y, scalar_like(g, y, 1)));
    c->outputs[0] = mica_select(g, is_less(g, y, 0), below, dy);
}

/* Selu is s x above 0 and s a (e^x - 1), which is y, below: with derivative y + s a. */
void tf_lower_selu_grad(mica_tf_lowering *c) {
    static const double scale = 1.0507009873554805, scale_alpha = 1.7580993408473766;
    mica_graph *g = c->g;
    mica_value dy = c->inputs[0], y = c->inputs[1];
    mica_value below = mica_mul(g, dy, mica_add(g, y, scalar_like(g, y, scale_alpha)));
    mica_value above = mica_mul(g, dy, scalar_like(g, dy, scale));
    c->outputs[0] = mica_select(g, is_less(g, y, 0), below, above);
}

void tf_lower_softplus_grad(mica_tf_lowering *c) {
    c->outputs[0] = mica_mul(c->g, c->inputs[0], mica_logistic(c->g, c->inputs[1]));
}

void tf_lower_softsign_grad(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value x = c->inputs[1];
    mica_value root = mica_add(g, mica_abs(g, x), scalar_like(g, x, 1));
    c->outputs[0] = mica_div(g, c->inputs[0], mica_mul(g, root, root));
}

/* ---- from the result in input 0, the cotangent in input 1 -------------------------------------*/

void tf_lower_sigmoid_grad(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value y = result_of(c);
    mica_value rest = mica_sub(g, scalar_like(g, y, 1), y);
    c->outputs[0] = mica_mul(g, mica_mul(g, c->inputs[1], y), rest);
}

void tf_lower_tanh_grad(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value y = result_of(c);
    mica_value slope = mica_sub(g, scalar_like(g, y, 1), mica_mul(g, y, y));
    c->outputs[0] = mica_mul(g, c->inputs[1], slope);
}

void tf_lower_sqrt_grad(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value y = result_of(c), half = scalar_like(g, y, 0.5);
    c->outputs[0] = mica_div(g, mica_mul(g, half, c->inputs[1]), y);
}

void tf_lower_rsqrt_grad(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value y = result_of(c);
    mica_value cube = mica_mul(g, mica_mul(g, y, y), y);
    c->outputs[0] = mica_mul(g, mica_mul(g, scalar_like(g, y, -0.5), c->inputs[1]), cube);
}

void tf_lower_reciprocal_grad(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value y = result_of(c);
    c->outputs[0] = mica_neg(g, mica_mul(g, c->inputs[1], mica_mul(g, y, y)));
}

void tf_lower_bias_add_grad(mica_tf_lowering *c) {
    const mica_type *type = mica_tf_type(c, 0);
    bool first = false;
    mica_status status = mica_tf_channels_first(c->info, c->attrs, &first);
    if (status) {
        mica_graph_fail(c->g, status);
        return;
    }
    int32_t channel = first ? 1 : type->rank - 1, n = 0;
    int64_t axes[MICA_MAX_RANK];
    for (int32_t i = 0; i < type->rank; i++)
        if (i != channel) axes[n++] = i;
    c->outputs[0] = mica_sum(c->g, c->inputs[0], (mica_ints){axes, n});
}
