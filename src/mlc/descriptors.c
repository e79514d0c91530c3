/* Descriptors of layers and their defaults. */
#include "mlc/objects.h"

mlc_activation_descriptor mlc_activation_descriptor_make(mlc_activation_type type) {
    mlc_activation_descriptor d = {.size = sizeof d, .type = type, .a = 1, .b = 1, .c = 1};
    if (type == MLC_ACTIVATION_RELU) d.a = 0;
    if (type == MLC_ACTIVATION_LINEAR) d.b = 0;
    if (type == MLC_ACTIVATION_HARD_SIGMOID) d.a = 0.2f, d.b = 0.5f;
    if (type == MLC_ACTIVATION_HARD_SHRINK || type == MLC_ACTIVATION_SOFT_SHRINK) d.a = 0.5f;
    return d;
}

mlc_activation_descriptor mlc_activation_descriptor_make_a(mlc_activation_type type, float a) {
    mlc_activation_descriptor d = mlc_activation_descriptor_make(type);
    d.a = a;
    return d;
}

mlc_activation_descriptor mlc_activation_descriptor_make_ab(mlc_activation_type type, float a,
                                                            float b) {
    mlc_activation_descriptor d = mlc_activation_descriptor_make_a(type, a);
    d.b = b;
    return d;
}

mlc_activation_descriptor mlc_activation_descriptor_make_abc(mlc_activation_type type, float a,
                                                             float b, float c) {
    mlc_activation_descriptor d = mlc_activation_descriptor_make_ab(type, a, b);
    d.c = c;
    return d;
}

/* Entry i of a list of pairs [y, x]: one entry serves both, none is the default; -1, which every
 * layer refuses, for any other number of entries. */
static int64_t of_pair(mica_ints pair, int32_t i, int64_t otherwise) {
    if (pair.n == 0) return otherwise;
    if (pair.n == 1) return pair.data[0];
    return pair.n == 2 ? pair.data[i] : -1;
}

mlc_convolution_descriptor
mlc_convolution_descriptor_make_type(mlc_convolution_type type, mica_ints kernel_sizes,
                                     int64_t in_channels, int64_t out_channels, int64_t groups,
                                     mica_ints strides, mica_ints dilation_rates,
                                     mlc_padding_policy policy, mica_ints padding_sizes) {
    if ((kernel_sizes.n > 0 && !kernel_sizes.data) || (strides.n > 0 && !strides.data) ||
        (dilation_rates.n > 0 && !dilation_rates.data) ||
        (padding_sizes.n > 0 && !padding_sizes.data))
        return (mlc_convolution_descriptor){0};
    return (mlc_convolution_descriptor){.size = sizeof(mlc_convolution_descriptor),
                                        .type = type,
                                        .kernel_width = of_pair(kernel_sizes, 1, 0),
                                        .kernel_height = of_pair(kernel_sizes, 0, 0),
                                        .in_channels = in_channels,
                                        .out_channels = out_channels,
                                        .stride_x = of_pair(strides, 1, 1),
                                        .stride_y = of_pair(strides, 0, 1),
                                        .dilation_x = of_pair(dilation_rates, 1, 1),
                                        .dilation_y = of_pair(dilation_rates, 0, 1),
                                        .groups = groups,
                                        .padding_policy = policy,
                                        .padding_x = of_pair(padding_sizes, 1, 0),
                                        .padding_y = of_pair(padding_sizes, 0, 0)};
}

mlc_convolution_descriptor mlc_convolution_descriptor_make(int64_t kernel_width,
                                                           int64_t kernel_height,
                                                           int64_t in_channels,
                                                           int64_t out_channels) {
    return mlc_convolution_descriptor_make_sizes(MICA_INTS(kernel_height, kernel_width),
                                                 in_channels, out_channels, 1, MICA_NO_INTS,
                                                 MICA_NO_INTS, MLC_PADDING_SAME, MICA_NO_INTS);
}

mlc_convolution_descriptor
mlc_convolution_descriptor_make_sizes(mica_ints kernel_sizes, int64_t in_channels,
                                      int64_t out_channels, int64_t groups, mica_ints strides,
                                      mica_ints dilation_rates, mlc_padding_policy policy,
                                      mica_ints padding_sizes) {
    return mlc_convolution_descriptor_make_type(MLC_CONVOLUTION_STANDARD, kernel_sizes, in_channels,
                                                out_channels, groups, strides, dilation_rates,
                                                policy, padding_sizes);
}

mlc_convolution_descriptor mlc_convolution_descriptor_make_transpose(int64_t kernel_width,
                                                                     int64_t kernel_height,
                                                                     int64_t in_channels,
                                                                     int64_t out_channels) {
    return mlc_convolution_descriptor_make_transpose_sizes(
        MICA_INTS(kernel_height, kernel_width), in_channels, out_channels, 1, MICA_NO_INTS,
        MICA_NO_INTS, MLC_PADDING_SAME, MICA_NO_INTS);
}

mlc_convolution_descriptor mlc_convolution_descriptor_make_transpose_sizes(
    mica_ints kernel_sizes, int64_t in_channels, int64_t out_channels, int64_t groups,
    mica_ints strides, mica_ints dilation_rates, mlc_padding_policy policy,
    mica_ints padding_sizes) {
    return mlc_convolution_descriptor_make_type(MLC_CONVOLUTION_TRANSPOSED, kernel_sizes,
                                                in_channels, out_channels, groups, strides,
                                                dilation_rates, policy, padding_sizes);
}

mlc_convolution_descriptor mlc_convolution_descriptor_make_depthwise(int64_t kernel_width,
                                                                     int64_t kernel_height,
                                                                     int64_t in_channels,
                                                                     int64_t multiplier) {
    return mlc_convolution_descriptor_make_depthwise_sizes(
        MICA_INTS(kernel_height, kernel_width), in_channels, multiplier, MICA_NO_INTS, MICA_NO_INTS,
        MLC_PADDING_SAME, MICA_NO_INTS);
}

mlc_convolution_descriptor mlc_convolution_descriptor_make_depthwise_sizes(
    mica_ints kernel_sizes, int64_t in_channels, int64_t multiplier, mica_ints strides,
    mica_ints dilation_rates, mlc_padding_policy policy, mica_ints padding_sizes) {
    int64_t out_channels;
    if (__builtin_mul_overflow(in_channels, multiplier, &out_channels)) out_channels = -1;
    return mlc_convolution_descriptor_make_type(MLC_CONVOLUTION_DEPTHWISE, kernel_sizes,
                                                in_channels, out_channels, in_channels, strides,
                                                dilation_rates, policy, padding_sizes);
}

bool mlc_convolution_descriptor_is_transpose(const mlc_convolution_descriptor *descriptor) {
    if (!descriptor) return false;
    return descriptor->type == MLC_CONVOLUTION_TRANSPOSED;
}

bool mlc_convolution_descriptor_is_depthwise(const mlc_convolution_descriptor *descriptor) {
    if (!descriptor) return false;
    return descriptor->type == MLC_CONVOLUTION_DEPTHWISE;
}

static mlc_pooling_descriptor pooling(mlc_pooling_type type, mica_ints kernel_sizes,
                                      mica_ints strides, mica_ints dilation_rates,
                                      mlc_padding_policy policy, mica_ints padding_sizes,
                                      bool count_includes_padding) {
    return (mlc_pooling_descriptor){.size = sizeof(mlc_pooling_descriptor),
                                    .type = type,
                                    .kernel_width = of_pair(kernel_sizes, 1, 0),
                                    .kernel_height = of_pair(kernel_sizes, 0, 0),
                                    .stride_x = of_pair(strides, 1, 1),
                                    .stride_y = of_pair(strides, 0, 1),
                                    .dilation_x = of_pair(dilation_rates, 1, 1),
                                    .dilation_y = of_pair(dilation_rates, 0, 1),
                                    .padding_policy = policy,
                                    .padding_x = of_pair(padding_sizes, 1, 0),
                                    .padding_y = of_pair(padding_sizes, 0, 0),
                                    .count_includes_padding = count_includes_padding};
}

mlc_pooling_descriptor mlc_pooling_descriptor_make(mlc_pooling_type type, int64_t kernel_size,
                                                   int64_t stride) {
    return pooling(type, MICA_INTS(kernel_size), MICA_INTS(stride), MICA_NO_INTS, MLC_PADDING_SAME,
                   MICA_NO_INTS, false);
}

mlc_pooling_descriptor mlc_pooling_descriptor_make_max(mica_ints kernel_sizes, mica_ints strides,
                                                       mica_ints dilation_rates,
                                                       mlc_padding_policy policy,
                                                       mica_ints padding_sizes) {
    if ((kernel_sizes.n > 0 && !kernel_sizes.data) || (strides.n > 0 && !strides.data) ||
        (dilation_rates.n > 0 && !dilation_rates.data) ||
        (padding_sizes.n > 0 && !padding_sizes.data))
        return (mlc_pooling_descriptor){0};
    return pooling(MLC_POOLING_MAX, kernel_sizes, strides, dilation_rates, policy, padding_sizes,
                   false);
}

mlc_pooling_descriptor
mlc_pooling_descriptor_make_average(mica_ints kernel_sizes, mica_ints strides,
                                    mica_ints dilation_rates, mlc_padding_policy policy,
                                    mica_ints padding_sizes, bool count_includes_padding) {
    if ((kernel_sizes.n > 0 && !kernel_sizes.data) || (strides.n > 0 && !strides.data) ||
        (dilation_rates.n > 0 && !dilation_rates.data) ||
        (padding_sizes.n > 0 && !padding_sizes.data))
        return (mlc_pooling_descriptor){0};
    return pooling(MLC_POOLING_AVERAGE, kernel_sizes, strides, dilation_rates, policy,
                   padding_sizes, count_includes_padding);
}

mlc_pooling_descriptor mlc_pooling_descriptor_make_l2_norm(mica_ints kernel_sizes,
                                                           mica_ints strides,
                                                           mica_ints dilation_rates,
                                                           mlc_padding_policy policy,
                                                           mica_ints padding_sizes) {
    if ((kernel_sizes.n > 0 && !kernel_sizes.data) || (strides.n > 0 && !strides.data) ||
        (dilation_rates.n > 0 && !dilation_rates.data) ||
        (padding_sizes.n > 0 && !padding_sizes.data))
        return (mlc_pooling_descriptor){0};
    return pooling(MLC_POOLING_L2_NORM, kernel_sizes, strides, dilation_rates, policy,
                   padding_sizes, false);
}

mlc_loss_descriptor mlc_loss_descriptor_make(mlc_loss_type type, mlc_reduction_type reduction) {
    return mlc_loss_descriptor_make_all(type, reduction, 1, 0, 1, 1e-7f, 1);
}

mlc_loss_descriptor mlc_loss_descriptor_make_weight(mlc_loss_type type,
                                                    mlc_reduction_type reduction, float weight) {
    return mlc_loss_descriptor_make_all(type, reduction, weight, 0, 1, 1e-7f, 1);
}

mlc_loss_descriptor mlc_loss_descriptor_make_classes(mlc_loss_type type,
                                                     mlc_reduction_type reduction, float weight,
                                                     float label_smoothing, int64_t class_count) {
    return mlc_loss_descriptor_make_all(type, reduction, weight, label_smoothing, class_count,
                                        1e-7f, 1);
}

mlc_loss_descriptor mlc_loss_descriptor_make_all(mlc_loss_type type, mlc_reduction_type reduction,
                                                 float weight, float label_smoothing,
                                                 int64_t class_count, float epsilon, float delta) {
    return (mlc_loss_descriptor){.size = sizeof(mlc_loss_descriptor),
                                 .type = type,
                                 .reduction = reduction,
                                 .weight = weight,
                                 .label_smoothing = label_smoothing,
                                 .class_count = class_count,
                                 .epsilon = epsilon,
                                 .delta = delta};
}

mlc_yolo_loss_descriptor mlc_yolo_loss_descriptor_make(const float *anchor_boxes,
                                                       int64_t anchor_box_count) {
    return (mlc_yolo_loss_descriptor){.size = sizeof(mlc_yolo_loss_descriptor),
                                      .anchor_box_count = anchor_box_count,
                                      .anchor_boxes = anchor_boxes,
                                      .should_rescore = true,
                                      .scale_spatial_position_loss = 10,
                                      .scale_spatial_size_loss = 10,
                                      .scale_no_object_confidence_loss = 5,
                                      .scale_object_confidence_loss = 100,
                                      .scale_class_loss = 2,
                                      .minimum_iou_for_object_presence = 0.7f,
                                      .maximum_iou_for_object_absence = 0.3f};
}

mlc_lstm_descriptor mlc_lstm_descriptor_make(int64_t input_size, int64_t hidden_size,
                                             int64_t layer_count) {
    return mlc_lstm_descriptor_make_all(input_size, hidden_size, layer_count, true, true, false,
                                        true, 0, MLC_LSTM_OUTPUT);
}

mlc_lstm_descriptor mlc_lstm_descriptor_make_all(int64_t input_size, int64_t hidden_size,
                                                 int64_t layer_count, bool uses_biases,
                                                 bool batch_first, bool is_bidirectional,
                                                 bool returns_sequences, float dropout,
                                                 mlc_lstm_result_mode result_mode) {
    return (mlc_lstm_descriptor){.size = sizeof(mlc_lstm_descriptor),
                                 .input_size = input_size,
                                 .hidden_size = hidden_size,
                                 .layer_count = layer_count,
                                 .uses_biases = uses_biases,
                                 .batch_first = batch_first,
                                 .is_bidirectional = is_bidirectional,
                                 .returns_sequences = returns_sequences,
                                 .dropout = dropout,
                                 .result_mode = result_mode};
}

mlc_multihead_attention_descriptor mlc_multihead_attention_descriptor_make(int64_t model_dimension,
                                                                           int64_t head_count) {
    return mlc_multihead_attention_descriptor_make_all(
        model_dimension, model_dimension, model_dimension, head_count, 0, true, false, false);
}

mlc_multihead_attention_descriptor mlc_multihead_attention_descriptor_make_all(
    int64_t model_dimension, int64_t key_dimension, int64_t value_dimension, int64_t head_count,
    float dropout, bool has_biases, bool has_attention_biases, bool adds_zero_attention) {
    return (mlc_multihead_attention_descriptor){.size = sizeof(mlc_multihead_attention_descriptor),
                                                .model_dimension = model_dimension,
                                                .key_dimension = key_dimension,
                                                .value_dimension = value_dimension,
                                                .head_count = head_count,
                                                .dropout = dropout,
                                                .has_biases = has_biases,
                                                .has_attention_biases = has_attention_biases,
                                                .adds_zero_attention = adds_zero_attention};
}

mlc_embedding_descriptor mlc_embedding_descriptor_make(int64_t embedding_count,
                                                       int64_t embedding_dimension) {
    return mlc_embedding_descriptor_make_all(embedding_count, embedding_dimension, -1, 0, 2, false);
}

mlc_embedding_descriptor mlc_embedding_descriptor_make_all(int64_t embedding_count,
                                                           int64_t embedding_dimension,
                                                           int64_t padding_index,
                                                           float maximum_norm, float p_norm,
                                                           bool scales_gradient_by_frequency) {
    return (mlc_embedding_descriptor){.size = sizeof(mlc_embedding_descriptor),
                                      .embedding_count = embedding_count,
                                      .embedding_dimension = embedding_dimension,
                                      .padding_index = padding_index,
                                      .maximum_norm = maximum_norm,
                                      .p_norm = p_norm,
                                      .scales_gradient_by_frequency = scales_gradient_by_frequency};
}

mlc_matmul_descriptor mlc_matmul_descriptor_make(void) {
    return mlc_matmul_descriptor_make_all(1, false, false);
}

mlc_matmul_descriptor mlc_matmul_descriptor_make_all(float alpha, bool transposes_x,
                                                     bool transposes_y) {
    return (mlc_matmul_descriptor){.size = sizeof(mlc_matmul_descriptor),
                                   .alpha = alpha,
                                   .transposes_x = transposes_x,
                                   .transposes_y = transposes_y};
}

mlc_optimizer_descriptor mlc_optimizer_descriptor_make(float learning_rate, float gradient_rescale,
                                                       mlc_regularization_type regularization,
                                                       float regularization_scale) {
    return mlc_optimizer_descriptor_make_clipped(learning_rate, gradient_rescale, false, 1, -1,
                                                 regularization, regularization_scale);
}

mlc_optimizer_descriptor mlc_optimizer_descriptor_make_clipped(
    float learning_rate, float gradient_rescale, bool applies_gradient_clipping,
    float gradient_clip_max, float gradient_clip_min, mlc_regularization_type regularization,
    float regularization_scale) {
    return mlc_optimizer_descriptor_make_all(
        learning_rate, gradient_rescale, applies_gradient_clipping, MLC_GRADIENT_CLIPPING_BY_VALUE,
        gradient_clip_max, gradient_clip_min, 1, 0, regularization, regularization_scale);
}

mlc_optimizer_descriptor mlc_optimizer_descriptor_make_all(
    float learning_rate, float gradient_rescale, bool applies_gradient_clipping,
    mlc_gradient_clipping_type clipping, float gradient_clip_max, float gradient_clip_min,
    float maximum_clipping_norm, float custom_global_norm, mlc_regularization_type regularization,
    float regularization_scale) {
    return (mlc_optimizer_descriptor){.size = sizeof(mlc_optimizer_descriptor),
                                      .learning_rate = learning_rate,
                                      .gradient_rescale = gradient_rescale,
                                      .applies_gradient_clipping = applies_gradient_clipping,
                                      .gradient_clip_max = gradient_clip_max,
                                      .gradient_clip_min = gradient_clip_min,
                                      .regularization_scale = regularization_scale,
                                      .regularization = regularization,
                                      .clipping = clipping,
                                      .maximum_clipping_norm = maximum_clipping_norm,
                                      .custom_global_norm = custom_global_norm};
}
