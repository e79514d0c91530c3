/* Lowerings of the derivatives of convolutions, pools and normalizations: each lowers the op that
 * it is the derivative of, whose row has attributes of the same names, and pulls the cotangent back
 * through it. */
#include "mica/nn.h"
#include "tf/lower_rules.h"
#include "tf/ops/nn/normalization.h"

/* The result is the cotangent of operand `wanted` of the op that `forward` lowers. */
static void pull_back(mica_tf_lowering *c, mica_tf_lower_function forward,
                      const mica_value *operands, int32_t n, int32_t wanted, mica_value cotangent) {
    mica_value y = MICA_NULL_VALUE;
    mica_tf_lowering inner = *c;
    inner.inputs = operands;
    inner.n_inputs = n;
    inner.outputs = &y;
    inner.n_outputs = 1;
    forward(&inner);
    if (mica_value_is_null(y)) return; /* with an error */
    mica_vjp(c->g, &y, &cotangent, 1, &operands[wanted], 1, &c->outputs[0]);
    if (mica_value_is_null(c->outputs[0])) c->outputs[0] = mica_zeros_like(c->g, operands[wanted]);
}

/* Zeros of the result's shape, to be differentiated by: the op is linear in them. */
static mica_value zeros_of_result(mica_tf_lowering *c, mica_dtype dtype) {
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return MICA_NULL_VALUE;
    return mica_broadcast_to(c->g, mica_scalar(c->g, dtype, 0),
                             (mica_ints){shape.dims, shape.rank});
}

void tf_lower_max_pool_grad(mica_tf_lowering *c) {
    pull_back(c, tf_lower_max_pool, c->inputs, 1, 0, c->inputs[2]);
}

void tf_lower_avg_pool_grad(mica_tf_lowering *c) {
    mica_value x = zeros_of_result(c, mica_tf_type(c, 1)->dtype);
    if (!mica_value_is_null(x)) pull_back(c, tf_lower_avg_pool, &x, 1, 0, c->inputs[1]);
}

static void filter_grad(mica_tf_lowering *c, mica_tf_lower_function forward) {
    mica_value filter = zeros_of_result(c, mica_tf_type(c, 0)->dtype);
    const mica_value operands[2] = {c->inputs[0], filter};
    if (!mica_value_is_null(filter)) pull_back(c, forward, operands, 2, 1, c->inputs[2]);
}

void tf_lower_conv_filter_grad(mica_tf_lowering *c) {
    filter_grad(c, tf_lower_conv);
}

void tf_lower_depthwise_filter_grad(mica_tf_lowering *c) {
    filter_grad(c, tf_lower_depthwise_conv);
}

void tf_lower_depthwise_input_grad(mica_tf_lowering *c) {
    mica_value x = zeros_of_result(c, mica_tf_type(c, 1)->dtype);
    const mica_value operands[2] = {x, c->inputs[1]};
    if (!mica_value_is_null(x)) pull_back(c, tf_lower_depthwise_conv, operands, 2, 0, c->inputs[2]);
}

void tf_lower_lrn_grad(mica_tf_lowering *c) {
    pull_back(c, tf_lower_lrn, &c->inputs[1], 1, 0, c->inputs[0]);
}

/* In training the moments follow from x; else they are given, and constants. */
void tf_lower_batch_norm_grad(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_tf_normalization n;
    mica_dtype dtype = mica_tf_type(c, 1)->dtype;
    if (!mica_tf_normalization_read(c, 1, &n)) return;
    mica_value dy = mica_convert(g, c->inputs[0], n.dtype), scale = c->inputs[2];
    mica_value mean = c->inputs[3], variance = c->inputs[4];
    if (n.is_training) mica_tf_moments(g, &n, &mean, &variance);
    mica_value inverse = mica_tf_inverse_deviation(g, &n, variance);
    mica_value normal = mica_tf_normalized(g, &n, mean, inverse), dx = dy;
    mica_value along = mica_mul(g, dy, normal);
    if (n.is_training) {
        dx = mica_sub(g, dy, mica_tf_by_channel(g, &n, mica_mean(g, dy, n.axes)));
        mica_value drift = mica_tf_by_channel(g, &n, mica_mean(g, along, n.axes));
        dx = mica_sub(g, dx, mica_mul(g, normal, drift));
    }
    dx = mica_mul(g, dx, mica_tf_by_channel(g, &n, mica_mul(g, scale, inverse)));
    c->outputs[0] = mica_convert(g, dx, dtype);
    c->outputs[1] = mica_sum(g, along, n.axes);
    c->outputs[2] = mica_sum(g, dy, n.axes);
    mica_value nothing = mica_broadcast_to(g, mica_scalar(g, n.dtype, 0), MICA_INTS(0));
    for (int32_t i = 3; i < c->n_outputs; i++) c->outputs[i] = nothing;
}
