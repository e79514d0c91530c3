/* Lowerings of convolutions, pools, softmax and bias. */
#include <string.h>

#include "mica/nn.h"
#include "tf/lower_rules.h"
#include "tf/ops/nn/windows.h"

static bool read_windows(mica_tf_lowering *c, const mica_type *images, mica_tf_windows *out) {
    mica_status status = mica_tf_windows_read(c->info, c->attrs, images->rank, out);
    if (status) mica_graph_fail(c->g, status);
    return !status;
}

/* "N01C,01IO,N01C" and its kin; `kernel` names the last two axes of the filter. */
static void layout_of(const mica_tf_windows *w, const char *kernel, char out[24]) {
    const char *spatial = w->rank == 2 ? "01" : "012";
    char images[8];
    strcpy(images, w->channels_first ? "NC" : "N");
    strcat(images, spatial);
    if (!w->channels_first) strcat(images, "C");
    strcpy(out, images);
    strcat(out, ",");
    strcat(out, spatial);
    strcat(out, kernel);
    strcat(out, ",");
    strcat(out, images);
}

static void convolve(mica_tf_lowering *c, const mica_tf_windows *w, mica_value filter,
                     int64_t groups) {
    static const int64_t ones[MICA_TF_SPATIAL] = {1, 1, 1};
    const mica_type *x = mica_tf_type(c, 0);
    int64_t low[MICA_TF_SPATIAL], high[MICA_TF_SPATIAL];
    char layout[24];
    for (int32_t i = 0; i < w->rank; i++)
        mica_tf_windows_fit(w, i, x->dims[mica_tf_spatial_axis(w, i)], &low[i], &high[i]);
    layout_of(w, "IO", layout);
    c->outputs[0] =
        mica_conv(c->g, c->inputs[0], filter, layout, (mica_ints){w->stride, w->rank},
                  (mica_ints){low, w->rank}, (mica_ints){high, w->rank}, (mica_ints){ones, w->rank},
                  (mica_ints){w->dilation, w->rank}, groups, 1);
}

void tf_lower_conv(mica_tf_lowering *c) {
    mica_tf_windows w;
    const mica_type *x = mica_tf_type(c, 0), *filter = mica_tf_type(c, 1);
    if (!read_windows(c, x, &w)) return;
    for (int32_t i = 0; i < w.rank; i++) w.window[i] = filter->dims[i];
    int64_t groups = x->dims[mica_tf_channel_axis(&w)] / filter->dims[x->rank - 2];
    convolve(c, &w, c->inputs[1], groups);
}

void tf_lower_depthwise_conv(mica_tf_lowering *c) {
    mica_tf_windows w;
    const mica_type *x = mica_tf_type(c, 0);
    mica_type filter = *mica_tf_type(c, 1);
    if (!read_windows(c, x, &w)) return;
    for (int32_t i = 0; i < w.rank; i++) w.window[i] = filter.dims[i];
    int64_t groups = filter.dims[2];
    filter.dims[3] *= filter.dims[2];
    filter.dims[2] = 1;
    convolve(c, &w, mica_reshape(c->g, c->inputs[1], (mica_ints){filter.dims, filter.rank}),
             groups);
}

/* The gradient of a convolution: the filter turned around over images with gaps. */
void tf_lower_conv_transpose(mica_tf_lowering *c) {
    static const int64_t ones[MICA_TF_SPATIAL] = {1, 1, 1};
    mica_tf_windows w;
    mica_tf_shape shape;
    const mica_type *y = mica_tf_type(c, 2), *filter = mica_tf_type(c, 1);
    int64_t low[MICA_TF_SPATIAL], high[MICA_TF_SPATIAL], axes[MICA_TF_SPATIAL] = {0, 1, 2};
    char layout[24];
    if (!read_windows(c, y, &w) || !mica_tf_result_dims(c, &shape)) return;
    for (int32_t i = 0; i < w.rank; i++) {
        int32_t axis = mica_tf_spatial_axis(&w, i);
        int64_t before, after, size = shape.dims[axis];
        w.window[i] = filter->dims[i];
        if (mica_tf_windows_fit(&w, i, size, &before, &after) != y->dims[axis]) {
            MICA_TF_FAIL(c, "[%s] Size of out_backprop doesn't match computed: axis %d",
                         c->info->name, axis);
            return;
        }
        int64_t reach = (w.window[i] - 1) * w.dilation[i] + 1;
        low[i] = reach - 1 - before;
        high[i] = size - ((y->dims[axis] - 1) * w.stride[i] + 1) + reach - 1 - low[i];
    }
    layout_of(&w, "OI", layout);
    mica_value turned = mica_reverse(c->g, c->inputs[1], (mica_ints){axes, w.rank});
    c->outputs[0] = mica_conv(c->g, c->inputs[2], turned, layout, (mica_ints){ones, w.rank},
                              (mica_ints){low, w.rank}, (mica_ints){high, w.rank},
                              (mica_ints){w.stride, w.rank}, (mica_ints){w.dilation, w.rank}, 1, 1);
}

/* ---- pools ------------------------------------------------------------------------------------*/

static mica_value pool(mica_tf_lowering *c, const mica_tf_windows *w, const char *kind,
                       mica_value x) {
    const mica_type *type = mica_tf_type(c, 0);
    int64_t window[MICA_MAX_RANK], stride[MICA_MAX_RANK], ones[MICA_MAX_RANK];
    int64_t low[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK] = {0};
    int32_t rank = type->rank;
    for (int32_t i = 0; i < rank; i++) window[i] = stride[i] = ones[i] = 1;
    for (int32_t i = 0; i < w->rank; i++) {
        int32_t axis = mica_tf_spatial_axis(w, i);
        window[axis] = w->window[i];
        stride[axis] = w->stride[i];
        mica_tf_windows_fit(w, i, type->dims[axis], &low[axis], &high[axis]);
    }
    return mica_reduce_window(c->g, x, kind, (mica_ints){window, rank}, (mica_ints){stride, rank},
                              (mica_ints){low, rank}, (mica_ints){high, rank},
                              (mica_ints){ones, rank}, (mica_ints){ones, rank});
}

void tf_lower_max_pool(mica_tf_lowering *c) {
    mica_tf_windows w;
    if (read_windows(c, mica_tf_type(c, 0), &w)) c->outputs[0] = pool(c, &w, "max", c->inputs[0]);
}

void tf_lower_avg_pool(mica_tf_lowering *c) {
    mica_tf_windows w;
    if (!read_windows(c, mica_tf_type(c, 0), &w)) return;
    mica_value sum = pool(c, &w, "sum", c->inputs[0]);
    mica_value count = pool(c, &w, "sum", mica_full_like(c->g, c->inputs[0], 1.0));
    c->outputs[0] = mica_div(c->g, sum, count);
}

/* ---- activations ------------------------------------------------------------------------------*/

void tf_lower_softmax(mica_tf_lowering *c) {
    c->outputs[0] = mica_nn_softmax(c->g, c->inputs[0], mica_tf_type(c, 0)->rank - 1);
}

void tf_lower_log_softmax(mica_tf_lowering *c) {
    c->outputs[0] = mica_nn_log_softmax(c->g, c->inputs[0], mica_tf_type(c, 0)->rank - 1);
}

void tf_lower_bias_add(mica_tf_lowering *c) {
    mica_type type = *mica_tf_type(c, 0);
    bool first = false;
    mica_status status = mica_tf_channels_first(c->info, c->attrs, &first);
    if (status) {
        mica_graph_fail(c->g, status);
        return;
    }
    int64_t axis = first ? 1 : type.rank - 1;
    mica_value bias =
        mica_broadcast(c->g, c->inputs[1], (mica_ints){type.dims, type.rank}, MICA_INTS(axis));
    c->outputs[0] = mica_add(c->g, c->inputs[0], bias);
}
