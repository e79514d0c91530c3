/* Shape functions of the derivatives that TensorFlow writes. A cotangent has the shape of the
 * result that it belongs to, which the forward op's own shape function tells. */
#include "tf/ops/nn/windows.h"
#include "tf/shape_rules.h"

/* Both operands have the result's shape. */
mica_status tf_shape_merged(mica_tf_inference *c) {
    if (mica_tf_shape_merge(&c->inputs[0], &c->inputs[1], &c->outputs[0])) return NULL;
    return MICA_INVALID("[%s] inputs must have the same size and shape. Input 0: %s != input 1: %s",
                        c->info->name, mica_tf_shape_text(&c->inputs[0]).chars,
                        mica_tf_shape_text(&c->inputs[1]).chars);
}

mica_status tf_shape_bias_add_grad(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0];
    bool first = false;
    MICA_TRY(mica_tf_channels_first(c->info, c->attrs, &first));
    c->outputs[0] = mica_tf_unknown_of_rank(1);
    if (x->rank < 0) return NULL;
    if (x->rank < (first && c->graph ? 3 : 2))
        return MICA_INVALID("[%s] Input tensor must be at least 2D: %s", c->info->name,
                            mica_tf_shape_text(x).chars);
    c->outputs[0].dims[0] = x->dims[first ? 1 : x->rank - 1];
    return NULL;
}

/* ---- windows ----------------------------------------------------------------------------------*/

/* Input i is a vector of sizes: the result's shape, of which what is not known is unknown. */
static mica_status shape_from_sizes(mica_tf_inference *c, int32_t i, mica_tf_shape *out) {
    int64_t sizes[MICA_MAX_RANK * 4];
    int32_t n;
    const mica_tf_shape *given = &c->inputs[i];
    if (given->rank >= 0 && given->rank != 1)
        return MICA_INVALID("[%s] the sizes must be a vector, not of shape %s", c->info->name,
                            mica_tf_shape_text(given).chars);
    *out = given->rank == 1 && given->dims[0] >= 0 && given->dims[0] <= MICA_MAX_RANK
               ? mica_tf_unknown_of_rank((int32_t)given->dims[0])
               : mica_tf_unknown();
    if (!mica_tf_input_ints(c, i, sizes, &n)) return NULL;
    if (n > 5)
        return MICA_INVALID("[%s] %d sizes are given, of images with rank 4 or 5", c->info->name,
                            n);
    *out = mica_tf_unknown_of_rank(n);
    for (int32_t k = 0; k < n; k++) {
        if (sizes[k] != MICA_TF_UNKNOWN_INT && sizes[k] < 0)
            return MICA_INVALID("[%s] size %d is negative: %lld", c->info->name, k,
                                (long long)sizes[k]);
        if (sizes[k] != MICA_TF_UNKNOWN_INT) out->dims[k] = sizes[k];
    }
    return NULL;
}

/* The cotangent, input i, against the result of the forward op on these shapes. */
static mica_status check_cotangent(mica_tf_inference *c, mica_tf_shape_function forward,
                                   const mica_tf_shape *operands, int32_t n, int32_t i) {
    mica_tf_shape result = mica_tf_unknown(), both;
    mica_tf_inference inner = *c;
    inner.inputs = operands;
    inner.n_inputs = n;
    inner.outputs = &result;
    inner.n_outputs = 1;
    MICA_TRY(forward(&inner));
    if (mica_tf_shape_merge(&result, &c->inputs[i], &both)) return NULL;
    return MICA_INVALID("[%s] Expected grad shape to be %s, but got %s", c->info->name,
                        mica_tf_shape_text(&result).chars, mica_tf_shape_text(&c->inputs[i]).chars);
}

mica_status tf_shape_max_pool_grad(mica_tf_inference *c) {
    MICA_TRY(check_cotangent(c, tf_shape_pool, c->inputs, 1, 1));
    MICA_TRY(check_cotangent(c, tf_shape_pool, c->inputs, 1, 2));
    c->outputs[0] = c->inputs[0];
    return NULL;
}

mica_status tf_shape_avg_pool_grad(mica_tf_inference *c) {
    MICA_TRY(shape_from_sizes(c, 0, &c->outputs[0]));
    return check_cotangent(c, tf_shape_pool, &c->outputs[0], 1, 1);
}

static mica_status filter_grad(mica_tf_inference *c, mica_tf_shape_function forward) {
    mica_tf_shape filter;
    MICA_TRY(shape_from_sizes(c, 1, &filter));
    const mica_tf_shape operands[2] = {c->inputs[0], filter};
    MICA_TRY(check_cotangent(c, forward, operands, 2, 2));
    c->outputs[0] = filter;
    return NULL;
}

mica_status tf_shape_conv_filter_grad(mica_tf_inference *c) {
    return filter_grad(c, tf_shape_conv);
}

mica_status tf_shape_depthwise_filter_grad(mica_tf_inference *c) {
    return filter_grad(c, tf_shape_depthwise_conv);
}

mica_status tf_shape_depthwise_input_grad(mica_tf_inference *c) {
    mica_tf_shape images;
    MICA_TRY(shape_from_sizes(c, 0, &images));
    const mica_tf_shape operands[2] = {images, c->inputs[1]};
    MICA_TRY(check_cotangent(c, tf_shape_depthwise_conv, operands, 2, 2));
    c->outputs[0] = images;
    return NULL;
}

/* ---- normalization ----------------------------------------------------------------------------*/

mica_status tf_shape_lrn_grad(mica_tf_inference *c) {
    mica_tf_shape both;
    for (int32_t i = 0; i < 3; i++)
        if (!mica_tf_shape_merge(&c->inputs[1], &c->inputs[i], &both))
            return MICA_INVALID("[%s] the gradients, images and results must have one shape: %s "
                                "and %s",
                                c->info->name, mica_tf_shape_text(&c->inputs[1]).chars,
                                mica_tf_shape_text(&c->inputs[i]).chars);
    mica_tf_inference inner = *c;
    inner.inputs = &c->inputs[1];
    inner.n_inputs = 1;
    return tf_shape_lrn(&inner);
}

mica_status tf_shape_batch_norm_grad(mica_tf_inference *c) {
    mica_tf_shape x;
    if (!mica_tf_shape_merge(&c->inputs[0], &c->inputs[1], &x))
        return MICA_INVALID("[%s] x and y_backprop must have same shape, but x has shape %s and "
                            "y_backprop has shape %s",
                            c->info->name, mica_tf_shape_text(&c->inputs[1]).chars,
                            mica_tf_shape_text(&c->inputs[0]).chars);
    /* In training the moments are those of x. */
    bool is_training = mica_tf_inference_int(c, "is_training") != 0;
    const mica_tf_shape unknown = mica_tf_unknown_of_rank(1);
    const mica_tf_shape operands[5] = {x, c->inputs[2], unknown,
                                       is_training ? unknown : c->inputs[3],
                                       is_training ? unknown : c->inputs[4]};
    MICA_TRY(mica_tf_check_channels(c, operands, 5, &c->outputs[0], &c->outputs[1]));
    c->outputs[2] = c->outputs[1];
    for (int32_t i = 3; i < c->n_outputs; i++)
        c->outputs[i] = (mica_tf_shape){.rank = 1, .dims = {0}};
    return NULL;
}
