/* Shape functions of batch and local response normalization. */
#include "tf/ops/nn/windows.h"
#include "tf/shape_rules.h"

mica_status mica_tf_check_channels(mica_tf_inference *c, const mica_tf_shape *operands, int32_t n,
                                   mica_tf_shape *out_images, mica_tf_shape *out_channels) {
    static const char *const names[] = {"x", "scale", "offset", "mean", "variance"};
    bool first = false;
    MICA_TRY(mica_tf_channels_first(c->info, c->attrs, &first));
    const char *format = mica_tf_attr_find(c->info, c->attrs, "data_format")->as.string;
    int32_t rank = format[1] == 'D' || format[2] == 'D' ? 5 : 4;
    *out_images = operands[0].rank < 0 ? mica_tf_unknown_of_rank(rank) : operands[0];
    if (out_images->rank != rank)
        return MICA_INVALID("[%s] input must be %d-dimensional for %s: %s", c->info->name, rank,
                            format, mica_tf_shape_text(out_images).chars);
    int32_t axis = first ? 1 : rank - 1;
    *out_channels = (mica_tf_shape){.rank = 1, .dims = {out_images->dims[axis]}};
    for (int32_t i = 1; i < n; i++) {
        mica_tf_shape both;
        if (!mica_tf_shape_merge(out_channels, &operands[i], &both))
            return MICA_INVALID("[%s] %s must have the same number of elements as the channels of "
                                "x, got %s and %s",
                                c->info->name, names[i], mica_tf_shape_text(&operands[i]).chars,
                                mica_tf_shape_text(out_channels).chars);
        *out_channels = both;
    }
    out_images->dims[axis] = out_channels->dims[0];
    return NULL;
}

/* In training without a moving average, mean and variance may be empty. */
mica_status tf_shape_batch_norm(mica_tf_inference *c) {
    double factor = mica_tf_attr_find(c->info, c->attrs, "exponential_avg_factor")->as.real;
    bool unused = mica_tf_inference_int(c, "is_training") != 0 && factor == 1;
    for (int32_t i = 3; i < 5 && unused; i++)
        if (c->inputs[i].rank > 1)
            return MICA_INVALID("[%s] estimated mean and variance must be 1-dimensional: %s",
                                c->info->name, mica_tf_shape_text(&c->inputs[i]).chars);
    MICA_TRY(mica_tf_check_channels(c, c->inputs, unused ? 3 : 5, &c->outputs[0], &c->outputs[1]));
    for (int32_t i = 2; i < c->n_outputs; i++) c->outputs[i] = c->outputs[1];
    if (c->n_outputs == 6) c->outputs[5] = (mica_tf_shape){.rank = 1, .dims = {0}};
    return NULL;
}

mica_status tf_shape_lrn(mica_tf_inference *c) {
    int64_t radius = mica_tf_inference_int(c, "depth_radius");
    c->outputs[0] = c->inputs[0].rank < 0 ? mica_tf_unknown_of_rank(4) : c->inputs[0];
    if (c->outputs[0].rank != 4)
        return MICA_INVALID("[%s] in must be 4-dimensional: %s", c->info->name,
                            mica_tf_shape_text(&c->inputs[0]).chars);
    if (radius < 0 && !c->graph)
        return MICA_INVALID("[%s] depth_radius = %lld must be non-negative", c->info->name,
                            (long long)radius);
    return NULL;
}
