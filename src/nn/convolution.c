/* Convolutions and pooling of images.
 *
 * A transposed convolution is a convolution of the input dilated by the strides with the kernel
 * turned over. Where SAME padding would need more rows than the kernel reaches, they are
 * padded: conv takes negative and positive amounts alike. */
#include "nn/compose.h"

typedef struct frame {
    int64_t low[2], high[2]; /* padding, per spatial axis */
} frame;

/* TensorFlow's rule: ceil(in / stride) results, the odd element of padding after. */
static void same_padding(int64_t in, int64_t window, int64_t stride, int64_t *low, int64_t *high) {
    int64_t out = (in + stride - 1) / stride;
    int64_t total = out > 0 ? (out - 1) * stride + window - in : 0;
    if (total < 0) total = 0;
    *low = total / 2;
    *high = total - total / 2;
}

static bool all_positive(const int64_t *values, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (values[i] < 1 || values[i] > INT32_MAX) return false;
    return true;
}

/* Strides, dilations and padding that can be meant. */
static bool check_window(mica_graph *g, const char *where, const int64_t strides[2],
                         const int64_t dilations[2], mica_nn_padding_policy policy,
                         const int64_t padding[2]) {
    if (!all_positive(strides, 2) || !all_positive(dilations, 2))
        MICA_NN_FAIL(g, "[%s] strides (%lld,%lld) and dilations (%lld,%lld) must be positive",
                     where, (long long)strides[0], (long long)strides[1], (long long)dilations[0],
                     (long long)dilations[1]);
    else if ((unsigned)policy > MICA_NN_EXPLICIT)
        MICA_NN_FAIL(g, "[%s] there is no padding policy %d", where, (int)policy);
    else if (policy == MICA_NN_EXPLICIT &&
             (padding[0] < 0 || padding[1] < 0 || padding[0] > INT32_MAX || padding[1] > INT32_MAX))
        MICA_NN_FAIL(g, "[%s] padding (%lld,%lld) must not be negative", where,
                     (long long)padding[0], (long long)padding[1]);
    else
        return true;
    return false;
}

/* ---- convolution ------------------------------------------------------------------------------*/

typedef struct conv_plan {
    mica_type x, weights;
    int32_t channel_axis, first; /* of the two spatial axes */
    int64_t groups, extent[2];   /* of the dilated kernel */
    const mica_nn_conv2d_options *options;
} conv_plan;

static bool plan_conv(mica_graph *g, mica_value x, mica_value weights,
                      const mica_nn_conv2d_options *o, conv_plan *plan) {
    *plan = (conv_plan){.x = mica_nn_type(x), .weights = mica_nn_type(weights), .options = o};
    if (!check_window(g, "conv2d", o->strides, o->dilations, o->padding_policy, o->padding))
        return false;
    if (plan->x.rank != 4 || plan->weights.rank != 4) {
        MICA_NN_FAIL(g, "[conv2d] input and weights must have 4 axes, not %s and %s",
                     mica_nn_type_text(&plan->x).chars, mica_nn_type_text(&plan->weights).chars);
        return false;
    }
    if (o->output_padding[0] < 0 || o->output_padding[1] < 0) {
        MICA_NN_FAIL(g, "[conv2d] output padding (%lld,%lld) must not be negative",
                     (long long)o->output_padding[0], (long long)o->output_padding[1]);
        return false;
    }
    plan->channel_axis = o->channels_last ? 3 : 1;
    plan->first = o->channels_last ? 1 : 2;
    int64_t channels = plan->x.dims[plan->channel_axis];
    plan->groups = o->kind == MICA_NN_CONV_DEPTHWISE ? channels : o->groups;
    bool transposed = o->kind == MICA_NN_CONV_TRANSPOSED;
    bool fits = plan->groups > 0 && channels % plan->groups == 0;
    if (fits && transposed)
        fits = plan->weights.dims[0] == channels;
    else if (fits)
        fits = plan->weights.dims[1] == channels / plan->groups &&
               plan->weights.dims[0] % plan->groups == 0;
    if (!fits || (unsigned)o->kind > MICA_NN_CONV_DEPTHWISE) {
        MICA_NN_FAIL(g, "[conv2d] weights %s do not fit the input %s, kind %d with %lld groups",
                     mica_nn_type_text(&plan->weights).chars, mica_nn_type_text(&plan->x).chars,
                     (int)o->kind, (long long)plan->groups);
        return false;
    }
    for (int32_t i = 0; i < 2; i++)
        plan->extent[i] = (plan->weights.dims[2 + i] - 1) * o->dilations[i] + 1;
    return true;
}

static mica_value standard(mica_graph *g, mica_value x, mica_value weights, const conv_plan *plan) {
    const mica_nn_conv2d_options *o = plan->options;
    frame f = {{0, 0}, {0, 0}};
    for (int32_t i = 0; i < 2; i++) {
        if (o->padding_policy == MICA_NN_SAME)
            same_padding(plan->x.dims[plan->first + i], plan->extent[i], o->strides[i], &f.low[i],
                         &f.high[i]);
        else if (o->padding_policy == MICA_NN_EXPLICIT)
            f.low[i] = f.high[i] = o->padding[i];
    }
    /* Of many channels a convolution is quicker when they lie next to each other, by more than it
     * costs to bring them there and back. */
    bool turns = !o->channels_last && plan->groups == 1 && plan->x.dims[1] >= 8;
    if (turns) {
        x = mica_transpose(g, x, MICA_INTS(0, 2, 3, 1));
        weights = mica_transpose(g, weights, MICA_INTS(2, 3, 1, 0));
    }
    const char *layout = turns              ? "N01C,01IO,N01C"
                         : o->channels_last ? "N01C,OI01,N01C"
                                            : "NC01,OI01,NC01";
    mica_value y = mica_conv(g, x, weights, layout, (mica_ints){o->strides, 2},
                             (mica_ints){f.low, 2}, (mica_ints){f.high, 2}, MICA_INTS(1, 1),
                             (mica_ints){o->dilations, 2}, plan->groups, 1);
    return turns ? mica_transpose(g, y, MICA_INTS(0, 3, 1, 2)) : y;
}

/* (I, O / groups, kH, kW) -> (O, I / groups, kH, kW), flipped in space. */
static mica_value flipped_weights(mica_graph *g, mica_value weights, const conv_plan *plan) {
    const int64_t *d = plan->weights.dims;
    int64_t n = plan->groups, inputs = d[0] / n;
    weights = mica_reshape(g, weights, MICA_INTS(n, inputs, d[1], d[2], d[3]));
    weights = mica_transpose(g, weights, MICA_INTS(0, 2, 1, 3, 4));
    weights = mica_reshape(g, weights, MICA_INTS(n * d[1], inputs, d[2], d[3]));
    return mica_reverse(g, weights, MICA_INTS(2, 3));
}

static mica_value transposed(mica_graph *g, mica_value x, mica_value weights,
                             const conv_plan *plan) {
    const mica_nn_conv2d_options *o = plan->options;
    frame f;
    for (int32_t i = 0; i < 2; i++) {
        int64_t reach = plan->extent[i] - 1, low, more = o->output_padding[i];
        int64_t cut = o->padding_policy == MICA_NN_EXPLICIT ? o->padding[i] : 0;
        f.low[i] = reach - cut;
        f.high[i] = reach - cut + more;
        if (o->padding_policy != MICA_NN_SAME) continue;
        /* in stride results: those of the gradient of a SAME convolution of that many */
        int64_t total = plan->extent[i] > o->strides[i] ? plan->extent[i] - o->strides[i] : 0;
        low = total / 2;
        f.low[i] = reach - low;
        f.high[i] = o->strides[i] - 1 + low;
    }
    weights = flipped_weights(g, weights, plan);
    return mica_conv(g, x, weights, o->channels_last ? "N01C,OI01,N01C" : "NC01,OI01,NC01",
                     MICA_INTS(1, 1), (mica_ints){f.low, 2}, (mica_ints){f.high, 2},
                     (mica_ints){o->strides, 2}, (mica_ints){o->dilations, 2}, plan->groups, 1);
}

mica_value mica_nn_conv2d(mica_graph *g, mica_value x, mica_value weights, mica_value bias,
                          const mica_nn_conv2d_options *options) {
    static const char *const kinds[] = {"standard", "transposed", "depthwise"};
    mica_composite c;
    conv_plan plan;
    mica_value out = MICA_NULL_VALUE;
    if (!mica_nn_check_options(g, "conv2d", options, sizeof *options) ||
        !mica_nn_check(g, "conv2d", (const mica_value[]){x, weights, bias}, 3, 4, true) ||
        !plan_conv(g, x, weights, options, &plan))
        return out;
    bool is_transposed = options->kind == MICA_NN_CONV_TRANSPOSED;
    mica_type result = plan.x;
    result.dims[plan.channel_axis] =
        is_transposed ? plan.weights.dims[1] * plan.groups : plan.weights.dims[0];
    bias = mica_nn_along(g, "conv2d", "bias", bias, &result, plan.channel_axis);
    if (!mica_composite_begin(&c, g, "conv2d", (const mica_value[]){x, weights, bias}, 3))
        return out;
    mica_value y = is_transposed ? transposed(c.body, c.in[0], c.in[1], &plan)
                                 : standard(c.body, c.in[0], c.in[1], &plan);
    if (!mica_value_is_null(bias)) y = mica_add(c.body, y, c.in[2]);
    mica_composite_result(&c, y);
    mica_composite_end(&c, false, &out, "kind=%s groups=%lld", kinds[options->kind],
                       (long long)plan.groups);
    return out;
}

/* ---- pooling ----------------------------------------------------------------------------------*/

typedef struct pool_plan {
    int64_t window[4], strides[4], low[4], high[4], dilations[4];
} pool_plan;

static bool plan_pool(mica_graph *g, const mica_type *x, const mica_nn_pool2d_options *o,
                      pool_plan *plan) {
    if (!check_window(g, "pool2d", o->strides, o->dilations, o->padding_policy, o->padding))
        return false;
    if (x->rank != 4 || !all_positive(o->window, 2)) {
        MICA_NN_FAIL(g, "[pool2d] windows of (%lld,%lld) over %s: images have 4 axes",
                     (long long)o->window[0], (long long)o->window[1], mica_nn_type_text(x).chars);
        return false;
    }
    for (int32_t i = 0; i < 4; i++) {
        plan->window[i] = plan->strides[i] = plan->dilations[i] = 1;
        plan->low[i] = plan->high[i] = 0;
    }
    for (int32_t k = 0; k < 2; k++) {
        int32_t i = k + (o->channels_last ? 1 : 2);
        plan->window[i] = o->window[k];
        plan->strides[i] = o->strides[k];
        plan->dilations[i] = o->dilations[k];
        int64_t extent = (o->window[k] - 1) * o->dilations[k] + 1;
        if (o->padding_policy == MICA_NN_SAME)
            same_padding(x->dims[i], extent, o->strides[k], &plan->low[i], &plan->high[i]);
        else if (o->padding_policy == MICA_NN_EXPLICIT)
            plan->low[i] = plan->high[i] = o->padding[k];
    }
    return true;
}

static mica_value windows(mica_graph *g, mica_value x, const char *kind, const pool_plan *plan) {
    return mica_reduce_window(g, x, kind, (mica_ints){plan->window, 4},
                              (mica_ints){plan->strides, 4}, (mica_ints){plan->low, 4},
                              (mica_ints){plan->high, 4}, MICA_INTS(1, 1, 1, 1),
                              (mica_ints){plan->dilations, 4});
}

/* How many elements of each window count, at least 1, with size 1 for batch and channels. */
static mica_value counts(mica_graph *g, const mica_type *x, const mica_nn_pool2d_options *o,
                         const pool_plan *plan) {
    mica_value one = mica_scalar(g, x->dtype, 1);
    bool padded =
        plan->low[1] | plan->low[2] | plan->low[3] | plan->high[1] | plan->high[2] | plan->high[3];
    if (!padded || o->count_includes_padding)
        return mica_scalar(g, x->dtype, (double)(o->window[0] * o->window[1]));
    int32_t first = o->channels_last ? 1 : 2;
    int64_t shape[4] = {1, 1, 1, 1};
    shape[first] = x->dims[first];
    shape[first + 1] = x->dims[first + 1];
    mica_value ones = mica_broadcast_to(g, one, (mica_ints){shape, 4});
    return mica_max(g, windows(g, ones, "sum", plan), one);
}

/* Where the sum of squares is 0 the root's slope is infinite, and the cotangent is taken as 0. */
static mica_value safe_root(mica_graph *g, mica_value x) {
    mica_value is_zero = mica_nn_test(g, x, "eq", 0);
    mica_value root = mica_sqrt(g, mica_select(g, is_zero, mica_nn_number(g, x, 1), x));
    return mica_select(g, is_zero, mica_nn_number(g, x, 0), root);
}

mica_value mica_nn_pool2d(mica_graph *g, mica_value x, const mica_nn_pool2d_options *options) {
    mica_composite c;
    pool_plan plan;
    mica_value out = MICA_NULL_VALUE;
    if (!mica_nn_check_options(g, "pool2d", options, sizeof *options) ||
        !mica_nn_check(g, "pool2d", &x, 1, 0, true))
        return out;
    mica_type type = mica_nn_type(x);
    if (!plan_pool(g, &type, options, &plan)) return out;
    if (!mica_composite_begin(&c, g, "pool2d", &x, 1)) return out;
    mica_value y = MICA_NULL_VALUE;
    const char *kind = "l2";
    switch (options->kind) {
    case MICA_NN_POOL_MAX:
        kind = "max";
        y = windows(c.body, c.in[0], "max", &plan);
        break;
    case MICA_NN_POOL_AVERAGE:
        kind = "average";
        y = mica_div(c.body, windows(c.body, c.in[0], "sum", &plan),
                     counts(c.body, &type, options, &plan));
        break;
    case MICA_NN_POOL_L2:
        y = safe_root(c.body, windows(c.body, mica_nn_square(c.body, c.in[0]), "sum", &plan));
        break;
    default: MICA_NN_FAIL(c.body, "[pool2d] there is no kind %d", (int)options->kind);
    }
    mica_composite_result(&c, y);
    bool is_dense = options->dilations[0] == 1 && options->dilations[1] == 1;
    if (options->kind == MICA_NN_POOL_MAX && is_dense && mica_composite_begin_vjp(&c))
        mica_composite_cotangent(
            &c, mica_select_and_scatter(c.vjp, c.vjp_in[0], c.vjp_cotangent[0], "max",
                                        (mica_ints){plan.window, 4}, (mica_ints){plan.strides, 4},
                                        (mica_ints){plan.low, 4}, (mica_ints){plan.high, 4}));
    mica_composite_end(&c, false, &out, "kind=%s", kind);
    return out;
}
