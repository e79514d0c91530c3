/* Shape functions of convolutions and pools. */
#include <string.h>

#include "tf/ops/nn/windows.h"
#include "tf/shape_rules.h"

static const mica_tf_attr *optional_attr(const mica_tf_op_info *info, const mica_tf_attr *attrs,
                                         const char *name) {
    for (int32_t i = 0; i < info->n_attrs; i++)
        if (strcmp(info->attrs[i].name, name) == 0) return &attrs[i];
    return NULL;
}

static mica_status read_list(const mica_tf_op_info *info, const mica_tf_attr *list,
                             const mica_tf_windows *w, const char *name, int64_t *out) {
    for (int32_t i = 0; i < w->rank; i++) out[i] = 1;
    if (!list || list->n == 0) return NULL;
    if (list->n != w->rank + 2)
        return MICA_INVALID("[%s] %s must have %d entries, not %d", info->name, name, w->rank + 2,
                            list->n);
    for (int32_t i = 0; i < list->n; i++) {
        if (list->as.ints[i] < 1 || list->as.ints[i] > INT32_MAX)
            return MICA_INVALID("[%s] %s must be positive, and at most %d", info->name, name,
                                INT32_MAX);
        if (list->as.ints[i] != 1 && (i == 0 || i == mica_tf_channel_axis(w)))
            return MICA_ERROR(MICA_UNSUPPORTED,
                              "[%s] %s of the batch and of the channels must be 1", info->name,
                              name);
    }
    for (int32_t i = 0; i < w->rank; i++) out[i] = list->as.ints[mica_tf_spatial_axis(w, i)];
    return NULL;
}

mica_status mica_tf_channels_first(const mica_tf_op_info *info, const mica_tf_attr *attrs,
                                   bool *out) {
    static const char *const formats[] = {"NHWC", "NDHWC", "NCHW", "NCDHW"};
    const char *format = mica_tf_attr_find(info, attrs, "data_format")->as.string;
    if (!format) format = "NHWC"; /* BiasAddV1 has no such attribute */
    for (int32_t i = 0; i < 4; i++)
        if (strcmp(format, formats[i]) == 0) {
            *out = i >= 2;
            return NULL;
        }
    return MICA_INVALID("[%s] data_format '%s' must be NHWC, NCHW, NDHWC or NCDHW", info->name,
                        format);
}

/* How many elements a window reaches over. */
static int64_t reach_of(const mica_tf_windows *w, int32_t axis) {
    return mica_tf_plus(mica_tf_times(w->window[axis] - 1, w->dilation[axis]), 1);
}

mica_status mica_tf_windows_read(const mica_tf_op_info *info, const mica_tf_attr *attrs,
                                 int32_t rank, mica_tf_windows *out) {
    *out = (mica_tf_windows){.rank = rank - 2};
    const char *padding = mica_tf_attr_find(info, attrs, "padding")->as.string;
    const mica_tf_attr *explicit_paddings = optional_attr(info, attrs, "explicit_paddings");
    if (rank != 4 && rank != 5)
        return MICA_INVALID("[%s] the input must have rank 4 or 5, not %d", info->name, rank);
    MICA_TRY(mica_tf_channels_first(info, attrs, &out->channels_first));
    out->padding = strcmp(padding, "SAME") == 0 ? 's' : strcmp(padding, "VALID") == 0 ? 'v' : 'e';
    if (out->padding == 'e' && strcmp(padding, "EXPLICIT") != 0)
        return MICA_INVALID("[%s] padding '%s' must be SAME, VALID or EXPLICIT", info->name,
                            padding);
    MICA_TRY(read_list(info, optional_attr(info, attrs, "ksize"), out, "ksize", out->window));
    MICA_TRY(read_list(info, optional_attr(info, attrs, "strides"), out, "strides", out->stride));
    MICA_TRY(
        read_list(info, optional_attr(info, attrs, "dilations"), out, "dilations", out->dilation));
    if (out->padding != 'e') return NULL;
    if (!explicit_paddings || explicit_paddings->n != 2 * rank)
        return MICA_INVALID("[%s] explicit_paddings must have %d entries", info->name, 2 * rank);
    for (int32_t i = 0; i < 2 * rank; i++)
        if (explicit_paddings->as.ints[i] < 0 || explicit_paddings->as.ints[i] > INT32_MAX)
            return MICA_INVALID("[%s] explicit_paddings must be >= 0, and at most %d", info->name,
                                INT32_MAX);
    for (int32_t i = 0; i < out->rank; i++) {
        out->low[i] = explicit_paddings->as.ints[2 * mica_tf_spatial_axis(out, i)];
        out->high[i] = explicit_paddings->as.ints[2 * mica_tf_spatial_axis(out, i) + 1];
    }
    return NULL;
}

int64_t mica_tf_windows_fit(const mica_tf_windows *w, int32_t axis, int64_t size, int64_t *out_low,
                            int64_t *out_high) {
    int64_t reach = reach_of(w, axis), stride = w->stride[axis];
    *out_low = *out_high = 0;
    if (w->padding == 's') {
        int64_t n = size / stride + (size % stride != 0);
        int64_t total = mica_tf_plus((n - 1) * stride - size, reach);
        if (total < 0) total = 0;
        *out_low = total / 2;
        *out_high = total - total / 2;
        return n;
    }
    if (w->padding == 'e') *out_low = w->low[axis], *out_high = w->high[axis];
    int64_t room = mica_tf_plus(size, *out_low + *out_high - reach);
    return room < 0 ? 0 : room / stride + 1;
}

static mica_status spatial_sizes(mica_tf_inference *c, const mica_tf_windows *w,
                                 const mica_tf_shape *x, mica_tf_shape *out) {
    int64_t low, high;
    for (int32_t i = 0; i < w->rank; i++) {
        int32_t axis = mica_tf_spatial_axis(w, i);
        out->dims[axis] = -1;
        if (x->dims[axis] < 0 || (w->window[i] < 0 && w->padding != 's')) continue;
        out->dims[axis] = mica_tf_windows_fit(w, i, x->dims[axis], &low, &high);
        int64_t reach = reach_of(w, i);
        /* Eagerly a window that reaches less than a stride too far has no places. */
        int64_t room = mica_tf_plus(x->dims[axis] + low + high, -reach);
        if (w->padding != 's' && room < 0 && (c->graph || room <= -2 * w->stride[i]))
            return c->graph
                       ? MICA_INVALID("[%s] Negative dimension size caused by subtracting %lld "
                                      "from %lld",
                                      c->info->name, (long long)reach,
                                      (long long)(x->dims[axis] + low + high))
                       : MICA_INVALID("[%s] Computed output size would be negative: a window "
                                      "of %lld in an axis of %lld",
                                      c->info->name, (long long)reach, (long long)x->dims[axis]);
    }
    return NULL;
}

/* The rank of images, also where the inputs do not tell: that of the strides. */
static int32_t image_rank(const mica_tf_inference *c, const mica_tf_shape *x) {
    return x->rank >= 0 ? x->rank : mica_tf_attr_find(c->info, c->attrs, "strides")->n;
}

/* Of volumes TensorFlow refuses such windows when the function runs. */
static bool reaches_nowhere(const mica_tf_inference *c) {
    const mica_tf_attr *ksize = mica_tf_attr_find(c->info, c->attrs, "ksize");
    for (int32_t i = 0; i < ksize->n; i++)
        if (ksize->as.ints[i] < 1) return true;
    return false;
}

mica_status tf_shape_pool(mica_tf_inference *c) {
    mica_tf_windows w;
    int32_t rank = image_rank(c, &c->inputs[0]);
    mica_tf_shape x = c->inputs[0].rank < 0 ? mica_tf_unknown_of_rank(rank) : c->inputs[0];
    if (c->graph && rank == 5 && reaches_nowhere(c)) {
        c->outputs[0] = mica_tf_unknown_of_rank(rank);
        return NULL;
    }
    MICA_TRY(mica_tf_windows_read(c->info, c->attrs, rank, &w));
    c->outputs[0] = x;
    return spatial_sizes(c, &w, &x, &c->outputs[0]);
}

static mica_status filter_windows(mica_tf_inference *c, mica_tf_windows *w, int32_t rank,
                                  const mica_tf_shape *filter) {
    MICA_TRY(mica_tf_windows_read(c->info, c->attrs, rank, w));
    if (filter->rank >= 0 && filter->rank != rank)
        return MICA_INVALID("[%s] the filter must have rank %d: %s", c->info->name, rank,
                            mica_tf_shape_text(filter).chars);
    for (int32_t i = 0; i < w->rank; i++) w->window[i] = filter->rank < 0 ? -1 : filter->dims[i];
    for (int32_t i = 0; i < filter->rank; i++)
        if (filter->dims[i] == 0)
            return MICA_INVALID("[%s] the filter must not be empty: %s", c->info->name,
                                mica_tf_shape_text(filter).chars);
    return NULL;
}

mica_status tf_shape_conv(mica_tf_inference *c) {
    mica_tf_windows w;
    const mica_tf_shape *x = &c->inputs[0], *filter = &c->inputs[1];
    int32_t rank = image_rank(c, x->rank >= 0 ? x : filter);
    MICA_TRY(filter_windows(c, &w, rank, filter));
    mica_tf_shape images = x->rank >= 0 ? *x : mica_tf_unknown_of_rank(rank);
    int32_t channels = mica_tf_channel_axis(&w);
    int64_t in = images.dims[channels], per_group = filter->rank < 0 ? -1 : filter->dims[rank - 2];
    if (in >= 0 && per_group >= 0 && (per_group == 0 || in % per_group))
        return c->graph
                   ? MICA_INVALID("[%s] Depth of input (%lld) is not a multiple of input depth "
                                  "of filter (%lld)",
                                  c->info->name, (long long)in, (long long)per_group)
                   : MICA_INVALID("[%s] input depth must be evenly divisible by filter depth: "
                                  "%lld vs %lld",
                                  c->info->name, (long long)in, (long long)per_group);
    c->outputs[0] = images;
    c->outputs[0].dims[channels] = filter->rank < 0 ? -1 : filter->dims[rank - 1];
    return spatial_sizes(c, &w, &images, &c->outputs[0]);
}

mica_status tf_shape_depthwise_conv(mica_tf_inference *c) {
    mica_tf_windows w;
    const mica_tf_shape *x = &c->inputs[0], *filter = &c->inputs[1];
    int32_t rank = image_rank(c, x->rank >= 0 ? x : filter);
    if (rank != 4)
        return MICA_INVALID("[%s] the input must have rank 4, not %d", c->info->name, rank);
    MICA_TRY(filter_windows(c, &w, rank, filter));
    mica_tf_shape images = x->rank >= 0 ? *x : mica_tf_unknown_of_rank(rank);
    int32_t channels = mica_tf_channel_axis(&w);
    int64_t in = images.dims[channels];
    c->outputs[0] = images;
    c->outputs[0].dims[channels] = -1;
    if (filter->rank >= 0 && in >= 0 && filter->dims[2] >= 0 && in != filter->dims[2])
        return MICA_INVALID("[%s] input and filter must have the same depth: %lld vs %lld",
                            c->info->name, (long long)in, (long long)filter->dims[2]);
    if (filter->rank >= 0 && filter->dims[2] >= 0 && filter->dims[3] >= 0)
        c->outputs[0].dims[channels] = mica_tf_times(filter->dims[2], filter->dims[3]);
    return spatial_sizes(c, &w, &images, &c->outputs[0]);
}

mica_status tf_shape_conv_transpose(mica_tf_inference *c) {
    int64_t sizes[MICA_MAX_RANK * 4];
    const mica_tf_shape *filter = &c->inputs[1], *cotangent = &c->inputs[2];
    int32_t n, rank = image_rank(c, cotangent->rank >= 0 ? cotangent : filter);
    mica_tf_windows w;
    MICA_TRY(filter_windows(c, &w, rank, filter));
    if (mica_tf_input_ints(c, 0, sizes, &n)) {
        if (n != rank || n > MICA_MAX_RANK)
            return MICA_INVALID("[%s] input_sizes must have %d entries, not %d", c->info->name,
                                rank, n);
        c->outputs[0] = mica_tf_unknown_of_rank(n);
        for (int32_t i = 0; i < n; i++)
            if (sizes[i] != MICA_TF_UNKNOWN_INT) c->outputs[0].dims[i] = sizes[i];
    } else {
        c->outputs[0] = mica_tf_unknown_of_rank(rank);
    }
    int64_t *dims = c->outputs[0].dims, channels = dims[mica_tf_channel_axis(&w)];
    int64_t batch = cotangent->rank < 0 ? -1 : cotangent->dims[0];
    if (dims[0] >= 0 && batch >= 0 && dims[0] != batch)
        return MICA_INVALID("[%s] input_sizes and out_backprop have batches of %lld and %lld",
                            c->info->name, (long long)dims[0], (long long)batch);
    if (rank == 4 && dims[0] < 0) dims[0] = batch;
    int64_t per_group = filter->rank < 0 ? -1 : filter->dims[rank - 2];
    if (channels >= 0 && per_group >= 0 && (channels == 0 || channels % per_group))
        return MICA_INVALID("[%s] %lld channels are no multiple of the %lld of the filter",
                            c->info->name, (long long)channels, (long long)per_group);
    if (channels >= 0 && per_group >= 0 && channels != per_group)
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[%s] groups of channels are not supported: %lld of %lld", c->info->name,
                          (long long)per_group, (long long)channels);
    return NULL;
}

mica_status tf_shape_bias_add(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0], *bias = &c->inputs[1];
    c->outputs[0] = *x;
    if (x->rank < 0 || bias->rank < 0) return NULL;
    bool first = false;
    MICA_TRY(mica_tf_channels_first(c->info, c->attrs, &first));
    if (first && x->rank == 2 && c->graph)
        return MICA_INVALID("[%s] Shape must be at least rank 3 but is rank 2: %s", c->info->name,
                            mica_tf_shape_text(x).chars);
    int32_t axis = first ? 1 : x->rank - 1;
    if (x->rank < 2 || bias->rank != 1 ||
        (x->dims[axis] >= 0 && bias->dims[0] >= 0 && x->dims[axis] != bias->dims[0]))
        return MICA_INVALID("[%s] Must provide as many biases as the channel dimension of the "
                            "input tensor: %s vs. %s",
                            c->info->name, mica_tf_shape_text(bias).chars,
                            mica_tf_shape_text(x).chars);
    if (x->dims[axis] < 0) c->outputs[0].dims[axis] = bias->dims[0];
    return NULL;
}

/* Two matrices that broadcast: a loss for each row, and the matrix of slopes. */
mica_status tf_shape_softmax_cross_entropy(mica_tf_inference *c) {
    mica_tf_shape both;
    if (!mica_tf_shape_broadcast(&c->inputs[0], &c->inputs[1], &both))
        return MICA_INVALID("[%s] logits and labels must be broadcastable: logits_size=%s "
                            "labels_size=%s",
                            c->info->name, mica_tf_shape_text(&c->inputs[0]).chars,
                            mica_tf_shape_text(&c->inputs[1]).chars);
    if (both.rank < 0) both = (mica_tf_shape){.rank = 2, .dims = {-1, -1}};
    if (both.rank != 2)
        return MICA_INVALID("[%s] logits and labels must be matrices, not of rank %d",
                            c->info->name, both.rank);
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {both.dims[0]}};
    c->outputs[1] = both;
    return NULL;
}

mica_status tf_shape_sparse_softmax_cross_entropy(mica_tf_inference *c) {
    mica_tf_shape x = c->inputs[0], labels = c->inputs[1], rows;
    if ((x.rank >= 0 && x.rank != 2) || (labels.rank >= 0 && labels.rank != 1))
        return MICA_INVALID("[%s] logits must be a matrix and labels a vector, not %s and %s",
                            c->info->name, mica_tf_shape_text(&x).chars,
                            mica_tf_shape_text(&labels).chars);
    if (x.rank < 0) x = mica_tf_unknown_of_rank(2);
    if (labels.rank < 0) labels = mica_tf_unknown_of_rank(1);
    mica_tf_shape first = {.rank = 1, .dims = {x.dims[0]}};
    if (!mica_tf_shape_merge(&first, &labels, &rows))
        return MICA_INVALID("[%s] logits and labels must have the same first dimension, got logits "
                            "shape %s and labels shape %s",
                            c->info->name, mica_tf_shape_text(&x).chars,
                            mica_tf_shape_text(&labels).chars);
    x.dims[0] = rows.dims[0];
    c->outputs[0] = rows;
    c->outputs[1] = x;
    return NULL;
}

mica_status tf_shape_ctc_beam_search(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0], *lengths = &c->inputs[1];
    int64_t width = mica_tf_inference_int(c, "beam_width");
    int64_t paths = mica_tf_inference_int(c, "top_paths");
    if ((x->rank >= 0 && x->rank != 3) || (lengths->rank >= 0 && lengths->rank != 1))
        return MICA_INVALID("[%s] inputs must have rank 3 and sequence_length rank 1, not %s and "
                            "%s",
                            c->info->name, mica_tf_shape_text(x).chars,
                            mica_tf_shape_text(lengths).chars);
    if (width < 1 || paths < 1 || paths > width)
        return MICA_INVALID("[%s] requested more paths than the beam width: top_paths %lld must be "
                            "from 1 to beam_width %lld",
                            c->info->name, (long long)paths, (long long)width);
    for (int64_t i = 0; i < paths; i++) {
        c->outputs[i] = (mica_tf_shape){.rank = 2, .dims = {-1, 2}};
        c->outputs[paths + i] = mica_tf_unknown_of_rank(1);
        c->outputs[2 * paths + i] = (mica_tf_shape){.rank = 1, .dims = {2}};
    }
    int64_t batch = x->rank == 3 ? x->dims[1] : lengths->rank == 1 ? lengths->dims[0] : -1;
    c->outputs[3 * paths] = (mica_tf_shape){.rank = 2, .dims = {batch, paths}};
    return NULL;
}
