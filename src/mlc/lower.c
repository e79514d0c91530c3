#include "mlc/lower.h"

#include <stdio.h>
#include <string.h>

/* ---- what a layer takes -----------------------------------------------------------------------*/

typedef struct arity {
    int32_t low, high;
} arity;

static arity arity_of(const mlc_layer *layer) {
    switch (layer->kind) {
    case MLC_ARITHMETIC_LAYER: {
        int32_t n = mica_nn_arithmetic_arity((mica_nn_arithmetic_kind)layer->operation);
        return (arity){n, n};
    }
    case MLC_COMPARISON_LAYER: {
        int32_t n = mica_nn_comparison_arity((mica_nn_comparison_kind)layer->operation);
        return (arity){n, n};
    }
    case MLC_CONCATENATION_LAYER: return (arity){1, INT32_MAX};
    case MLC_GATHER_LAYER:
    case MLC_MATMUL_LAYER: return (arity){2, 2};
    case MLC_SCATTER_LAYER:
    case MLC_SELECTION_LAYER: return (arity){3, 3};
    case MLC_LSTM_LAYER: return (arity){1, 4};
    case MLC_MULTIHEAD_ATTENTION_LAYER: return (arity){3, 5};
    default: return (arity){1, 1};
    }
}

static mlc_text all_shapes(mlc_tensors tensors) {
    mlc_text text = {""};
    size_t at = 0;
    for (int32_t i = 0; i < tensors.n && at + 80 < sizeof text.chars; i++)
        at += (size_t)snprintf(text.chars + at, sizeof text.chars - at, "%s%s %.56s", i ? ", " : "",
                               mlc_data_type_description(tensors.data[i]->descriptor->data_type),
                               mlc_tensor_shape_text(tensors.data[i]).chars);
    return text;
}

mica_status mlc_check_operands(const mlc_layer *layer, mlc_tensors sources, mlc_tensors labels) {
    const char *label = mlc_layer_label(layer);
    arity n = arity_of(layer);
    for (int32_t i = 0; i < sources.n; i++)
        if (!sources.data[i]) return MICA_INVALID("[%s] source %d is NULL", label, i);
    if (sources.n < n.low || sources.n > n.high)
        return MICA_INVALID(
            "[%s] %s%s%s takes %d%s source%s, not %d", label,
            mlc_layer_kind_description(layer->kind), layer->kind == MLC_ARITHMETIC_LAYER ? " " : "",
            layer->kind == MLC_ARITHMETIC_LAYER
                ? mlc_arithmetic_operation_description((mlc_arithmetic_operation)layer->operation)
                : "",
            n.low, n.high > n.low ? " or more" : "", n.low > 1 ? "s" : "", sources.n);
    int32_t first = layer->kind == MLC_SELECTION_LAYER ? 1 : 0;
    mlc_data_type type = sources.data[first]->descriptor->data_type;
    mlc_device any = {.type = MLC_DEVICE_TYPE_CPU};
    if (!mlc_layer_supports(layer->kind, type, &any))
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] %s does not take %s: %s", label,
                          mlc_layer_kind_description(layer->kind), mlc_data_type_description(type),
                          all_shapes(sources).chars);
    if (mlc_layer_is_loss(layer) && labels.n > 2)
        return MICA_INVALID("[%s] %d label tensors: there are labels and label weights", label,
                            labels.n);
    return NULL;
}

/* ---- helpers ----------------------------------------------------------------------------------*/

static void fail(mlc_lowering *l, const char *text) {
    mica_graph_fail(l->g, MICA_INVALID("%s", text));
}

static mica_value tensor_as(mlc_lowering *l, mlc_tensor *tensor, mica_ints shape) {
    return mica_reshape(l->g, l->value_of(l, tensor), shape);
}

static mica_value one_of(mlc_lowering *l, const mlc_layer *layer, mlc_role role) {
    const mlc_group *group = &layer->groups[role];
    return group->n ? l->value_of(l, group->tensors[0]) : MICA_NULL_VALUE;
}

/* u32[2]: the step and a number that the layer's seed and place give. */
static mica_value key_of(mlc_lowering *l, uint64_t seed, int32_t place) {
    uint64_t mixed = seed + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(place + 1);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    uint32_t word = (uint32_t)(mixed ^ mixed >> 31);
    mica_type type = mica_type_make(MICA_DTYPE_u32, MICA_INTS(1));
    mica_value parts[] = {l->step, mica_constant(l->g, (mica_data){&type, &word})};
    return mica_concat(l->g, parts, 2, 0);
}

/* Values of all of a role's tensors. */
static mica_value *list_of(mlc_lowering *l, const mlc_layer *layer, mlc_role role) {
    const mlc_group *group = &layer->groups[role];
    if (!group->n) return NULL;
    mica_value *values = mica_arena_alloc(&l->arena, (size_t)group->n * sizeof *values);
    if (!values) {
        mica_graph_fail(l->g, MICA_NO_MEMORY());
        return NULL;
    }
    for (int32_t i = 0; i < group->n; i++) values[i] = l->value_of(l, group->tensors[i]);
    return values;
}

static mica_nn_activation activation_of(const mlc_activation_descriptor *d) {
    return (mica_nn_activation){(mica_nn_activation_kind)d->type, d->a, d->b, d->c};
}

/* ---- layers without weights -------------------------------------------------------------------*/

/* A smaller batch than the graph was built for shows in a source as an axis of another size than
 * the tensor's. A size that merely equals the batch does not change. */
static bool follows_batch(const mica_type *built, const mica_type *now, int32_t axis) {
    return built->rank == now->rank && built->dims[axis] != now->dims[axis];
}

/* The axis of the new shape that begins where the source's axis does gets the change; it holds
 * whole batches. Where there is none (the batch is cut apart, or is not the outer part of an axis)
 * the sizes stay, and do not fit. */
static void resize_target(const mlc_lowering *l, const mica_type *built, const mica_type *now,
                          int64_t *shape, int32_t rank) {
    int64_t before = 1, place = 1, others = 1;
    int32_t axis = 0;
    while (axis < built->rank && !follows_batch(built, now, axis)) before *= built->dims[axis++];
    if (axis == built->rank) return;
    for (int32_t k = 0; k < rank; k++) others *= shape[k] == -1 ? 1 : shape[k];
    for (int32_t k = 0; k < rank; place *= shape[k++]) {
        if (shape[k] == -1 && others) shape[k] = mica_type_elements(built) / others;
        if (place != before || shape[k] % l->full_batch) continue;
        shape[k] = shape[k] / l->full_batch * l->batch;
        return;
    }
}

static mica_value lower_reshape(mlc_lowering *l, const mlc_layer *layer, const mlc_operands *p) {
    int64_t shape[MICA_MAX_RANK];
    const mica_type *now = mica_value_type(p->sources[0]);
    int32_t rank = layer->list_sizes[0];
    if (!now) return MICA_NULL_VALUE;
    memcpy(shape, layer->lists[0], (size_t)rank * sizeof *shape);
    resize_target(l, &p->tensors[0]->descriptor->type, now, shape, rank);
    return mica_nn_reshape(l->g, p->sources[0], (mica_ints){shape, rank});
}

/* What reaches to the end of the batch reaches to the end of a smaller one. */
static mica_value lower_slice(mlc_lowering *l, const mlc_layer *layer, const mlc_operands *p) {
    int64_t end[MICA_MAX_RANK];
    const mica_type *now = mica_value_type(p->sources[0]);
    const mica_type *built = &p->tensors[0]->descriptor->type;
    if (!now) return MICA_NULL_VALUE;
    memcpy(end, layer->lists[1], (size_t)layer->list_sizes[1] * sizeof *end);
    for (int32_t i = 0; i < built->rank && i < layer->list_sizes[1]; i++)
        if (follows_batch(built, now, i) && end[i] == built->dims[i]) end[i] = now->dims[i];
    return mica_nn_slice(l->g, p->sources[0], (mica_ints){layer->lists[0], layer->list_sizes[0]},
                         (mica_ints){end, layer->list_sizes[1]},
                         (mica_ints){layer->lists[2], layer->list_sizes[2]});
}

static mica_value lower_padding(mlc_lowering *l, const mlc_layer *layer, mica_value x) {
    const mica_type *type = mica_value_type(x);
    int64_t low[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK] = {0};
    if (!type) return MICA_NULL_VALUE;
    if (type->rank < 2) {
        fail(l, "[Padding] sources have at least two dimensions");
        return MICA_NULL_VALUE;
    }
    for (int32_t i = 0; i < 2; i++) {
        low[type->rank - 2 + i] = layer->padding[2 * i];
        high[type->rank - 2 + i] = layer->padding[2 * i + 1];
    }
    return mica_nn_pad(l->g, x, (mica_nn_pad_kind)layer->operation, (mica_ints){low, type->rank},
                       (mica_ints){high, type->rank}, layer->epsilon);
}

static mica_value lower_pooling(mlc_lowering *l, const mlc_pooling_descriptor *d, mica_value x) {
    mica_nn_pool2d_options o = MICA_NN_POOL2D_OPTIONS;
    o.kind = (mica_nn_pool_kind)d->type;
    o.window[0] = d->kernel_height, o.window[1] = d->kernel_width;
    o.strides[0] = d->stride_y, o.strides[1] = d->stride_x;
    o.dilations[0] = d->dilation_y, o.dilations[1] = d->dilation_x;
    o.padding_policy = (mica_nn_padding_policy)d->padding_policy;
    o.padding[0] = d->padding_y, o.padding[1] = d->padding_x;
    o.count_includes_padding = d->count_includes_padding;
    return mica_nn_pool2d(l->g, x, &o);
}

/* (N, C, H, W) -> (N, 1, C, C) */
static mica_value lower_gram(mlc_lowering *l, const mlc_layer *layer, mica_value x) {
    mica_value y = mica_nn_gram_matrix(l->g, x, layer->epsilon);
    const mica_type *type = mica_value_type(y);
    if (!type) return y;
    return mica_reshape(l->g, y, MICA_INTS(type->dims[0], 1, type->dims[1], type->dims[2]));
}

static void lower_split(mlc_lowering *l, const mlc_layer *layer, mica_value x,
                        mica_value **out_results, int32_t *out_n) {
    const mica_type *type = mica_value_type(x);
    if (!type) return;
    if (layer->dimension >= type->rank) {
        fail(l, "[Split] the dimension to split is out of range for the source");
        return;
    }
    int64_t extent = type->dims[layer->dimension];
    int32_t n = (int32_t)(layer->count < extent ? layer->count : extent);
    if (layer->list_sizes[0]) n = layer->list_sizes[0];
    int64_t *sizes = mica_arena_alloc(&l->arena, (size_t)n * sizeof *sizes);
    mica_value *parts = mica_arena_alloc(&l->arena, (size_t)n * sizeof *parts);
    if (!sizes || !parts) {
        mica_graph_fail(l->g, MICA_NO_MEMORY());
        return;
    }
    if (layer->list_sizes[0])
        memcpy(sizes, layer->lists[0], (size_t)n * sizeof *sizes);
    else
        n = mica_nn_split_sizes(extent, n, sizes);
    mica_nn_split(l->g, x, layer->dimension, (mica_ints){sizes, n}, parts);
    *out_results = parts;
    *out_n = n;
}

/* ---- layers with weights ----------------------------------------------------------------------*/

static mica_value lower_convolution(mlc_lowering *l, const mlc_layer *layer, mica_value x) {
    const mlc_convolution_descriptor *d = &layer->as.convolution;
    mica_nn_conv2d_options o = MICA_NN_CONV2D_OPTIONS;
    o.kind = (mica_nn_conv_kind)d->type;
    o.strides[0] = d->stride_y, o.strides[1] = d->stride_x;
    o.dilations[0] = d->dilation_y, o.dilations[1] = d->dilation_x;
    o.groups = d->groups;
    o.padding_policy = (mica_nn_padding_policy)d->padding_policy;
    o.padding[0] = d->padding_y, o.padding[1] = d->padding_x;
    bool is_transposed = d->type == MLC_CONVOLUTION_TRANSPOSED;
    int64_t first = is_transposed ? d->in_channels : d->out_channels;
    int64_t second = (is_transposed ? d->out_channels : d->in_channels) / d->groups;
    mica_value w = tensor_as(l, layer->groups[MLC_ROLE_WEIGHTS].tensors[0],
                             MICA_INTS(first, second, d->kernel_height, d->kernel_width));
    return mica_nn_conv2d(l->g, x, w, one_of(l, layer, MLC_ROLE_BIASES), &o);
}

static mica_value lower_dense(mlc_lowering *l, const mlc_layer *layer, mica_value x) {
    const mlc_convolution_descriptor *d = &layer->as.convolution;
    mica_value w = tensor_as(l, layer->groups[MLC_ROLE_WEIGHTS].tensors[0],
                             MICA_INTS(d->out_channels, d->in_channels));
    return mica_nn_fully_connected(l->g, x, w, one_of(l, layer, MLC_ROLE_BIASES));
}

/* Batch and instance normalisation, with running statistics. */
static mica_value lower_running(mlc_lowering *l, const mlc_layer *layer, mica_value x) {
    mica_value mean = one_of(l, layer, MLC_ROLE_MEAN);
    mica_value variance = one_of(l, layer, MLC_ROLE_VARIANCE);
    mica_value beta = one_of(l, layer, MLC_ROLE_BETA), gamma = one_of(l, layer, MLC_ROLE_GAMMA);
    bool is_batch = layer->kind == MLC_BATCH_NORMALIZATION_LAYER;
    const mica_type *type = mica_value_type(x);
    if (!type) return x;
    if (type->rank < 2 || type->dims[1] != layer->channels) {
        fail(l, "the source's dimension 1 is not the number of channels");
        return MICA_NULL_VALUE;
    }
    if (!l->is_training && layer->groups[MLC_ROLE_MEAN].n)
        return mica_nn_batch_norm_inference(l->g, x, mean, variance, gamma, beta, 1,
                                            layer->epsilon);
    mica_value out[3] = {MICA_NULL_VALUE, MICA_NULL_VALUE, MICA_NULL_VALUE};
    if (is_batch)
        mica_nn_batch_norm(l->g, x, mean, variance, gamma, beta, 1, layer->epsilon, layer->momentum,
                           out);
    else
        mica_nn_instance_norm(l->g, x, mean, variance, gamma, beta, layer->epsilon, layer->momentum,
                              out);
    if (layer->groups[MLC_ROLE_MEAN].n) {
        l->update(l, layer->groups[MLC_ROLE_MEAN].tensors[0], out[1]);
        l->update(l, layer->groups[MLC_ROLE_VARIANCE].tensors[0], out[2]);
    }
    return out[0];
}

static mica_value lower_embedding(mlc_lowering *l, const mlc_layer *layer, mica_value x) {
    const mlc_embedding_descriptor *d = &layer->as.embedding;
    mlc_tensor *weights = layer->groups[MLC_ROLE_WEIGHTS].tensors[0];
    mica_nn_embedding_options o = MICA_NN_EMBEDDING_OPTIONS;
    mica_value out[2] = {MICA_NULL_VALUE, MICA_NULL_VALUE};
    o.padding_index = d->padding_index;
    o.maximum_norm = d->maximum_norm;
    o.p_norm = d->p_norm;
    o.scales_gradient_by_frequency = d->scales_gradient_by_frequency;
    mica_nn_embedding(l->g,
                      tensor_as(l, weights, MICA_INTS(d->embedding_count, d->embedding_dimension)),
                      x, &o, out);
    if (d->maximum_norm > 0)
        l->update(l, weights, mica_reshape(l->g, out[1], mlc_dims(&weights->descriptor->type)));
    return out[0];
}

static void lower_lstm(mlc_lowering *l, const mlc_layer *layer, const mlc_operands *p,
                       mica_value *out, int32_t *out_n) {
    const mlc_lstm_descriptor *d = &layer->as.lstm;
    mica_nn_lstm_options o = MICA_NN_LSTM_OPTIONS;
    mica_nn_lstm_weights w = {.size = sizeof w,
                              .input = list_of(l, layer, MLC_ROLE_INPUT_WEIGHTS),
                              .hidden = list_of(l, layer, MLC_ROLE_HIDDEN_WEIGHTS),
                              .peephole = list_of(l, layer, MLC_ROLE_PEEPHOLES),
                              .bias = list_of(l, layer, MLC_ROLE_BIASES)};
    if (!w.input || !w.hidden) return;
    o.hidden_size = d->hidden_size;
    o.layer_count = d->layer_count;
    o.bidirectional = d->is_bidirectional;
    o.returns_sequences = d->returns_sequences;
    for (int32_t i = 0; i < 4; i++) o.gates[i] = activation_of(&layer->gates[i]);
    o.output = activation_of(&layer->output_activation);
    bool has_state = p->n_sources > 2, has_lengths = p->n_sources == 2 || p->n_sources == 4;
    mica_value null = MICA_NULL_VALUE, key = null;
    if (l->is_training && d->dropout > 0) {
        o.dropout = d->dropout;
        key = key_of(l, 0, p->place);
    }
    mica_value *inputs = (mica_value *)w.input, *hiddens = (mica_value *)w.hidden;
    int64_t directions = d->is_bidirectional ? 2 : 1, h = d->hidden_size;
    for (int64_t i = 0; i < 4 * d->layer_count * directions; i++) {
        int64_t features = i / 4 % d->layer_count == 0 ? d->input_size : h * directions;
        inputs[i] = mica_reshape(l->g, inputs[i], MICA_INTS(h, features));
        hiddens[i] = mica_reshape(l->g, hiddens[i], MICA_INTS(h, h));
    }
    mica_nn_lstm(l->g, p->sources[0], &w, has_state ? p->sources[1] : null,
                 has_state ? p->sources[2] : null,
                 has_lengths ? p->sources[p->n_sources - 1] : null, key, &o, out);
    *out_n = d->result_mode == MLC_LSTM_OUTPUT_AND_STATES ? 3 : 1;
}

static mica_value lower_attention(mlc_lowering *l, const mlc_layer *layer, const mlc_operands *p) {
    const mlc_multihead_attention_descriptor *d = &layer->as.attention;
    mica_nn_multihead_options o = MICA_NN_MULTIHEAD_OPTIONS;
    const mica_value *w = list_of(l, layer, MLC_ROLE_WEIGHTS);
    const mica_value *b = list_of(l, layer, MLC_ROLE_BIASES);
    const mica_value *a = list_of(l, layer, MLC_ROLE_ATTENTION_BIASES);
    mica_value null = MICA_NULL_VALUE, key = null, key_mask = null, mask = null;
    int64_t e = d->model_dimension;
    if (!w) return null;
    mica_nn_multihead_weights weights = {
        .size = sizeof weights,
        .query = mica_reshape(l->g, w[0], MICA_INTS(e, e)),
        .key = mica_reshape(l->g, w[1], MICA_INTS(e, d->key_dimension)),
        .value = mica_reshape(l->g, w[2], MICA_INTS(e, d->value_dimension)),
        .output = mica_reshape(l->g, w[3], MICA_INTS(e, e)),
        .query_bias = b ? b[0] : null,
        .key_bias = b ? b[1] : null,
        .value_bias = b ? b[2] : null,
        .output_bias = b ? b[3] : null,
        .key_attention_bias = a ? a[0] : null,
        .value_attention_bias = a ? a[1] : null};
    o.head_count = d->head_count;
    o.adds_zero_attention = d->adds_zero_attention;
    if (l->is_training && d->dropout > 0) {
        o.dropout = d->dropout;
        key = key_of(l, 1, p->place);
    }
    /* A mask of two dimensions is the keys', of three the attention's. */
    for (int32_t i = 3; i < p->n_sources; i++) {
        const mica_type *type = mica_value_type(p->sources[i]);
        if (type && type->rank == 2)
            key_mask = p->sources[i];
        else
            mask = p->sources[i];
    }
    return mica_nn_multihead_attention(l->g, p->sources[0], p->sources[1], p->sources[2], &weights,
                                       key_mask, mask, key, &o);
}

/* ---- losses -----------------------------------------------------------------------------------*/

/* Weights of one number per example stand along the first dimension. */
static mica_value example_weights(mlc_lowering *l, mica_value weights, mica_value x) {
    const mica_type *w = mica_value_type(weights), *type = mica_value_type(x);
    if (!w || !type || w->rank >= type->rank || type->rank == 0 ||
        mica_type_elements(w) != type->dims[0])
        return weights;
    mica_type shape = mica_type_make(w->dtype, mlc_dims(type));
    for (int32_t i = 1; i < shape.rank; i++) shape.dims[i] = 1;
    return mica_reshape(l->g, weights, mlc_dims(&shape));
}

static mica_value lower_loss(mlc_lowering *l, const mlc_layer *layer, const mlc_operands *p) {
    const mlc_loss_descriptor *d = &layer->as.loss;
    mica_nn_loss_options o = MICA_NN_LOSS_OPTIONS;
    mica_value x = p->sources[0], weights = one_of(l, layer, MLC_ROLE_WEIGHTS);
    const mica_type *type = mica_value_type(x);
    if (!type) return x;
    o.kind = (mica_nn_loss_kind)d->type;
    o.reduction = (mica_nn_reduction_kind)d->reduction;
    o.weight = layer->groups[MLC_ROLE_WEIGHTS].n ? 1 : d->weight;
    o.label_smoothing = d->label_smoothing;
    o.class_count = d->class_count;
    o.epsilon = d->epsilon;
    o.delta = d->delta;
    o.axis = type->rank > 1 ? 1 : 0;
    if (!mica_value_is_null(weights)) weights = example_weights(l, weights, x);
    if (p->n_labels > 1) {
        mica_value more = example_weights(l, p->labels[1], x);
        weights = mica_value_is_null(weights) ? more : mica_mul(l->g, weights, more);
    }
    return mica_nn_loss(l->g, x, p->labels[0], weights, &o);
}

static mica_value lower_yolo(mlc_lowering *l, const mlc_layer *layer, const mlc_operands *p) {
    const mlc_yolo_loss_descriptor *d = &layer->as.yolo;
    mica_nn_yolo_options o = MICA_NN_YOLO_OPTIONS;
    o.anchor_boxes = d->anchor_boxes;
    o.anchor_count = d->anchor_box_count;
    o.rescores = d->should_rescore;
    o.position_scale = d->scale_spatial_position_loss;
    o.size_scale = d->scale_spatial_size_loss;
    o.no_object_scale = d->scale_no_object_confidence_loss;
    o.object_scale = d->scale_object_confidence_loss;
    o.class_scale = d->scale_class_loss;
    o.minimum_iou_for_presence = d->minimum_iou_for_object_presence;
    o.maximum_iou_for_absence = d->maximum_iou_for_object_absence;
    mica_value loss = mica_nn_yolo_loss(l->g, p->sources[0], p->labels[0], &o);
    if (p->n_labels > 1) loss = mica_mul(l->g, loss, p->labels[1]);
    return loss;
}

/* ---- all of them ------------------------------------------------------------------------------*/

static mica_value lower_one(mlc_lowering *l, const mlc_layer *layer, const mlc_operands *p) {
    mica_graph *g = l->g;
    mica_value x = p->sources[0], y = p->n_sources > 1 ? p->sources[1] : MICA_NULL_VALUE;
    mica_value beta = one_of(l, layer, MLC_ROLE_BETA), gamma = one_of(l, layer, MLC_ROLE_GAMMA);
    mica_ints list = {layer->lists[0], layer->list_sizes[0]};
    switch (layer->kind) {
    case MLC_ACTIVATION_LAYER: return mica_nn_activate(g, x, activation_of(&layer->as.activation));
    case MLC_ARITHMETIC_LAYER:
        return mica_nn_arithmetic(g, (mica_nn_arithmetic_kind)layer->operation, x, y);
    case MLC_COMPARISON_LAYER:
        return mica_nn_compare(g, (mica_nn_comparison_kind)layer->operation, x, y);
    case MLC_BATCH_NORMALIZATION_LAYER:
    case MLC_INSTANCE_NORMALIZATION_LAYER: return lower_running(l, layer, x);
    case MLC_GROUP_NORMALIZATION_LAYER:
        return mica_nn_group_norm(g, x, gamma, beta, layer->count, layer->epsilon);
    case MLC_LAYER_NORMALIZATION_LAYER:
        return mica_nn_layer_norm(g, x, gamma, beta, list, layer->epsilon);
    case MLC_CONCATENATION_LAYER: return mica_concat(g, p->sources, p->n_sources, layer->dimension);
    case MLC_CONVOLUTION_LAYER: return lower_convolution(l, layer, x);
    case MLC_DROPOUT_LAYER:
        if (!l->is_training || layer->epsilon == 0) return x;
        return mica_nn_dropout(g, x, layer->epsilon, key_of(l, layer->seed, p->place), 0);
    case MLC_EMBEDDING_LAYER: return lower_embedding(l, layer, x);
    case MLC_FULLY_CONNECTED_LAYER: return lower_dense(l, layer, x);
    case MLC_GATHER_LAYER: return mica_nn_gather(g, x, y, layer->dimension);
    case MLC_SCATTER_LAYER:
        return mica_nn_scatter(g, p->sources[2], y, x, layer->dimension,
                               layer->operation == MLC_REDUCTION_SUM);
    case MLC_GRAM_MATRIX_LAYER: return lower_gram(l, layer, x);
    case MLC_LOSS_LAYER: return lower_loss(l, layer, p);
    case MLC_YOLO_LOSS_LAYER: return lower_yolo(l, layer, p);
    case MLC_MATMUL_LAYER:
        return mica_nn_matmul(g, x, y, layer->as.matmul.alpha, layer->as.matmul.transposes_x,
                              layer->as.matmul.transposes_y);
    case MLC_MULTIHEAD_ATTENTION_LAYER: return lower_attention(l, layer, p);
    case MLC_PADDING_LAYER: return lower_padding(l, layer, x);
    case MLC_POOLING_LAYER: return lower_pooling(l, &layer->as.pooling, x);
    case MLC_REDUCTION_LAYER:
        return mica_nn_reduce(g, (mica_nn_reduction_kind)layer->operation, x, list);
    case MLC_RESHAPE_LAYER: return lower_reshape(l, layer, p);
    case MLC_SELECTION_LAYER: return mica_nn_where(g, x, y, p->sources[2]);
    case MLC_SLICE_LAYER: return lower_slice(l, layer, p);
    case MLC_SOFTMAX_LAYER:
        return layer->operation == MLC_LOG_SOFTMAX ? mica_nn_log_softmax(g, x, layer->dimension)
                                                   : mica_nn_softmax(g, x, layer->dimension);
    case MLC_TRANSPOSE_LAYER: return mica_transpose(g, x, list);
    case MLC_UPSAMPLE_LAYER:
        return mica_nn_resize(g, x, list, (mica_nn_sample_mode)layer->operation,
                              layer->aligns_corners);
    case MLC_LSTM_LAYER:
    case MLC_SPLIT_LAYER:
    case MLC_LAYER_KINDS: break;
    }
    return MICA_NULL_VALUE;
}

void mlc_lower_layer(mlc_lowering *l, const mlc_layer *layer, const mlc_operands *p,
                     mica_value **out_results, int32_t *out_n) {
    mica_value *results = mica_arena_alloc(&l->arena, 3 * sizeof *results);
    *out_results = results;
    *out_n = 0;
    if (!results) {
        mica_graph_fail(l->g, MICA_NO_MEMORY());
        return;
    }
    if (mlc_layer_is_loss(layer) && p->n_labels == 0) {
        fail(l, "the loss has no labels");
        return;
    }
    if (layer->kind == MLC_SPLIT_LAYER) {
        lower_split(l, layer, p->sources[0], out_results, out_n);
    } else if (layer->kind == MLC_LSTM_LAYER) {
        lower_lstm(l, layer, p, results, out_n);
    } else {
        results[0] = lower_one(l, layer, p);
        *out_n = 1;
    }
    for (int32_t i = 0; i < *out_n; i++) { /* tensors have at least one dimension */
        const mica_type *type = mica_value_type((*out_results)[i]);
        if (type && type->rank == 0)
            (*out_results)[i] = mica_reshape(l->g, (*out_results)[i], MICA_INTS(1));
    }
}
