/* Lowerings of batch and local response normalization. */
#include "tf/ops/nn/normalization.h"
#include "mica/nn.h"
#include "tf/lower_rules.h"
#include "tf/ops/nn/windows.h"

bool mica_tf_normalization_read(mica_tf_lowering *c, int32_t images, mica_tf_normalization *out) {
    bool first = false;
    mica_status status = mica_tf_channels_first(c->info, c->attrs, &first);
    if (status) {
        mica_graph_fail(c->g, status);
        return false;
    }
    *out = (mica_tf_normalization){.dtype = MICA_DTYPE_f32, .type = *mica_tf_type(c, images)};
    out->x = mica_convert(c->g, c->inputs[images], out->dtype);
    out->channel = first ? 1 : out->type.rank - 1;
    out->is_training = mica_tf_lowering_int(c, "is_training") != 0;
    out->epsilon = mica_tf_attr_find(c->info, c->attrs, "epsilon")->as.real;
    int32_t n = 0;
    for (int32_t i = 0; i < out->type.rank; i++)
        if (i != out->channel) out->others[n++] = i;
    out->axes = (mica_ints){out->others, n};
    return true;
}

mica_value mica_tf_by_channel(mica_graph *g, const mica_tf_normalization *n, mica_value vector) {
    return mica_broadcast(g, vector, (mica_ints){n->type.dims, n->type.rank},
                          MICA_INTS(n->channel));
}

void mica_tf_moments(mica_graph *g, const mica_tf_normalization *n, mica_value *out_mean,
                     mica_value *out_variance) {
    *out_mean = mica_mean(g, n->x, n->axes);
    mica_value around = mica_sub(g, n->x, mica_tf_by_channel(g, n, *out_mean));
    *out_variance = mica_mean(g, mica_mul(g, around, around), n->axes);
}

mica_value mica_tf_inverse_deviation(mica_graph *g, const mica_tf_normalization *n,
                                     mica_value variance) {
    return mica_rsqrt(g, mica_add(g, variance, mica_full_like(g, variance, n->epsilon)));
}

mica_value mica_tf_normalized(mica_graph *g, const mica_tf_normalization *n, mica_value mean,
                              mica_value inverse) {
    mica_value around = mica_sub(g, n->x, mica_tf_by_channel(g, n, mean));
    return mica_mul(g, around, mica_tf_by_channel(g, n, inverse));
}

/* old (1 - factor) + new factor: what moving averages become. */
static mica_value moved(mica_graph *g, mica_value old, mica_value new, double factor) {
    if (factor == 1) return new;
    return mica_add(g, mica_mul(g, old, mica_full_like(g, old, 1 - factor)),
                    mica_mul(g, new, mica_full_like(g, new, factor)));
}

/* Inputs x, scale, offset, mean, variance; results y, both averages, both moments, nothing. */
void tf_lower_batch_norm(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_tf_normalization n;
    if (!mica_tf_normalization_read(c, 0, &n)) return;
    mica_dtype dtype = n.type.dtype;
    mica_value mean = c->inputs[3], variance = c->inputs[4];
    c->outputs[1] = mean;
    c->outputs[2] = variance;
    if (n.is_training) {
        double factor = mica_tf_attr_find(c->info, c->attrs, "exponential_avg_factor")->as.real;
        double count = 1;
        for (int32_t i = 0; i < n.axes.n; i++) count *= (double)n.type.dims[n.others[i]];
        mica_tf_moments(g, &n, &mean, &variance);
        double unbiased = count > 1 ? count / (count - 1) : 1;
        mica_value spread = mica_mul(g, variance, mica_full_like(g, variance, unbiased));
        c->outputs[1] = moved(g, c->inputs[3], mean, factor);
        c->outputs[2] = moved(g, c->inputs[4], spread, factor);
    }
    mica_value inverse = mica_tf_inverse_deviation(g, &n, variance);
    mica_value y = mica_tf_normalized(g, &n, mean, inverse);
    y = mica_mul(g, y, mica_tf_by_channel(g, &n, c->inputs[1]));
    y = mica_add(g, y, mica_tf_by_channel(g, &n, c->inputs[2]));
    c->outputs[0] = mica_convert(g, y, dtype);
    c->outputs[3] = mean;
    c->outputs[4] = variance;
    if (c->n_outputs == 6)
        c->outputs[5] = mica_broadcast_to(g, mica_scalar(g, n.dtype, 0), MICA_INTS(0));
}

/* x / (bias + alpha sum of x^2 over the channels around)^beta */
void tf_lower_lrn(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value x = c->inputs[0];
    mica_type type = *mica_tf_type(c, 0);
    int64_t window[4] = {1, 1, 1, 1}, around[4] = {0}, ones[4] = {1, 1, 1, 1};
    int64_t radius = mica_tf_lowering_int(c, "depth_radius");
    if (radius > type.dims[3]) radius = type.dims[3];
    window[3] = 2 * radius + 1;
    around[3] = radius;
    mica_ints steps = {ones, 4};
    mica_value sum =
        mica_reduce_window(g, mica_mul(g, x, x), "sum", (mica_ints){window, 4}, steps,
                           (mica_ints){around, 4}, (mica_ints){around, 4}, steps, steps);
    double alpha = mica_tf_attr_find(c->info, c->attrs, "alpha")->as.real;
    double bias = mica_tf_attr_find(c->info, c->attrs, "bias")->as.real;
    double beta = mica_tf_attr_find(c->info, c->attrs, "beta")->as.real;
    mica_value base =
        mica_add(g, mica_mul(g, sum, mica_full_like(g, sum, alpha)), mica_full_like(g, sum, bias));
    c->outputs[0] = mica_div(g, x, mica_pow(g, base, mica_full_like(g, base, beta)));
}
