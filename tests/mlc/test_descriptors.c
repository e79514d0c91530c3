/* Enumerations, descriptors of layers, optimizers: names, fields and defaults. */
#include "mlc_test.h"

#define SAME(a, b) (strcmp((a), (b)) == 0)

TEST(enumerations_have_names) {
    CHECK(SAME(mlc_data_type_description(MLC_DATA_TYPE_UINT8), "UInt8"));
    CHECK(!mlc_data_type_description((mlc_data_type)2));
    CHECK(SAME(mlc_random_initializer_type_description(MLC_RANDOM_INITIALIZER_XAVIER), "Xavier"));
    CHECK(SAME(mlc_device_type_description(MLC_DEVICE_TYPE_ANE), "ANE"));
    CHECK(SAME(mlc_graph_compilation_options_description(8), "ComputeAllGradients"));
    CHECK(SAME(mlc_execution_options_description(0x10), "PerLayerProfiling"));
    CHECK(SAME(mlc_arithmetic_operation_description(MLC_ARITHMETIC_OPERATION_DIVIDE_NO_NAN),
               "DivideNoNaN"));
    CHECK(SAME(mlc_comparison_operation_description(MLC_COMPARISON_OPERATION_LOGICAL_XOR),
               "LogicalXOR"));
    CHECK(SAME(mlc_activation_type_description(MLC_ACTIVATION_CELU), "CELU"));
    CHECK(SAME(mlc_loss_type_description(MLC_LOSS_COSINE_DISTANCE), "CosineDistance"));
    CHECK(SAME(mlc_reduction_type_description(MLC_REDUCTION_L1_NORM), "L1Norm"));
    CHECK(SAME(mlc_regularization_type_description(MLC_REGULARIZATION_L2), "L2"));
    CHECK(SAME(mlc_gradient_clipping_type_description(MLC_GRADIENT_CLIPPING_BY_GLOBAL_NORM),
               "ByGlobalNorm"));
    CHECK(SAME(mlc_convolution_type_description(MLC_CONVOLUTION_DEPTHWISE), "Depthwise"));
    CHECK(SAME(mlc_padding_policy_description(MLC_PADDING_USE_PADDING_SIZE), "UsePaddingSize"));
    CHECK(SAME(mlc_padding_type_description(MLC_PADDING_SYMMETRIC), "Symmetric"));
    CHECK(SAME(mlc_pooling_type_description(MLC_POOLING_L2_NORM), "L2Norm"));
    CHECK(!mlc_pooling_type_description((mlc_pooling_type)0));
    CHECK(SAME(mlc_sample_mode_description(MLC_SAMPLE_LINEAR), "Linear"));
    CHECK(SAME(mlc_softmax_operation_description(MLC_LOG_SOFTMAX), "LogSoftmax"));
    CHECK(SAME(mlc_lstm_result_mode_description(MLC_LSTM_OUTPUT_AND_STATES), "OutputAndStates"));
    CHECK(SAME(mlc_layer_kind_description(MLC_MULTIHEAD_ATTENTION_LAYER), "MultiheadAttention"));
}

TEST(data_types_have_sizes_and_dtypes) {
    mica_dtype dtype;
    CHECK(mlc_data_type_bytes(MLC_DATA_TYPE_FLOAT16) == 2);
    CHECK(mlc_data_type_bytes(MLC_DATA_TYPE_INT64) == 8);
    CHECK(mlc_data_type_bytes(MLC_DATA_TYPE_BOOLEAN) == 1);
    CHECK(mlc_data_type_bytes(MLC_DATA_TYPE_INVALID) == 0);
    CHECK(mlc_data_type_dtype(MLC_DATA_TYPE_INT32, &dtype) && dtype == MICA_DTYPE_i32);
    CHECK(!mlc_data_type_dtype(MLC_DATA_TYPE_INVALID, &dtype));
}

TEST(activation_descriptors_have_defaults) {
    mlc_activation_descriptor d = mlc_activation_descriptor_make(MLC_ACTIVATION_TANH);
    CHECK(d.size == sizeof d && d.type == MLC_ACTIVATION_TANH && d.a == 1 && d.b == 1 && d.c == 1);
    CHECK(mlc_activation_descriptor_make(MLC_ACTIVATION_RELU).a == 0);
    CHECK(mlc_activation_descriptor_make(MLC_ACTIVATION_LINEAR).b == 0);
    d = mlc_activation_descriptor_make(MLC_ACTIVATION_HARD_SIGMOID);
    CHECK(d.a == 0.2f && d.b == 0.5f);
    CHECK(mlc_activation_descriptor_make(MLC_ACTIVATION_HARD_SHRINK).a == 0.5f);
    CHECK(mlc_activation_descriptor_make(MLC_ACTIVATION_SOFT_SHRINK).a == 0.5f);
    CHECK(mlc_activation_descriptor_make_a(MLC_ACTIVATION_ELU, 3).a == 3);
    d = mlc_activation_descriptor_make_ab(MLC_ACTIVATION_CLAMP, -2, 4);
    CHECK(d.a == -2 && d.b == 4 && d.c == 1);
    d = mlc_activation_descriptor_make_abc(MLC_ACTIVATION_TANH, 5, 6, 7);
    CHECK(d.a == 5 && d.b == 6 && d.c == 7);
}

TEST(convolution_descriptors_read_pairs_as_y_x) {
    mlc_convolution_descriptor d = mlc_convolution_descriptor_make_type(
        MLC_CONVOLUTION_STANDARD, MICA_INTS(3, 5), 4, 6, 2, MICA_INTS(1, 2), MICA_INTS(3, 4),
        MLC_PADDING_USE_PADDING_SIZE, MICA_INTS(7, 8));
    CHECK(d.type == MLC_CONVOLUTION_STANDARD && d.kernel_height == 3 && d.kernel_width == 5);
    CHECK(d.in_channels == 4 && d.out_channels == 6 && d.groups == 2);
    CHECK(d.stride_y == 1 && d.stride_x == 2 && d.dilation_y == 3 && d.dilation_x == 4);
    CHECK(d.padding_policy == MLC_PADDING_USE_PADDING_SIZE);
    CHECK(d.padding_y == 7 && d.padding_x == 8);
    d = mlc_convolution_descriptor_make(5, 3, 1, 2);
    CHECK(d.kernel_width == 5 && d.kernel_height == 3 && d.padding_policy == MLC_PADDING_SAME);
    CHECK(d.stride_x == 1 && d.dilation_y == 1 && d.groups == 1 && d.padding_x == 0);
    d = mlc_convolution_descriptor_make_sizes(MICA_INTS(2), 1, 2, 1, MICA_INTS(3), MICA_NO_INTS,
                                              MLC_PADDING_VALID, MICA_NO_INTS);
    CHECK(d.kernel_width == 2 && d.kernel_height == 2 && d.stride_x == 3 && d.stride_y == 3);
    CHECK(d.padding_policy == MLC_PADDING_VALID);
    CHECK(!mlc_convolution_descriptor_is_transpose(&d));
    CHECK(!mlc_convolution_descriptor_is_depthwise(&d));
    d = mlc_convolution_descriptor_make_transpose(2, 3, 4, 5);
    CHECK(mlc_convolution_descriptor_is_transpose(&d) && d.out_channels == 5);
    d = mlc_convolution_descriptor_make_transpose_sizes(
        MICA_INTS(3, 2), 4, 6, 2, MICA_INTS(2, 2), MICA_NO_INTS, MLC_PADDING_VALID, MICA_NO_INTS);
    CHECK(mlc_convolution_descriptor_is_transpose(&d) && d.groups == 2 && d.stride_y == 2);
    d = mlc_convolution_descriptor_make_depthwise(3, 3, 4, 2);
    CHECK(mlc_convolution_descriptor_is_depthwise(&d) && d.out_channels == 8 && d.groups == 4);
    d = mlc_convolution_descriptor_make_depthwise_sizes(
        MICA_INTS(3, 1), 4, 3, MICA_INTS(2), MICA_INTS(2, 1), MLC_PADDING_VALID, MICA_NO_INTS);
    CHECK(d.out_channels == 12 && d.kernel_width == 1 && d.dilation_y == 2 && d.stride_x == 2);
}

TEST(pooling_descriptors_have_their_fields) {
    mlc_pooling_descriptor d = mlc_pooling_descriptor_make(MLC_POOLING_L2_NORM, 3, 2);
    CHECK(d.type == MLC_POOLING_L2_NORM && d.kernel_width == 3 && d.kernel_height == 3);
    CHECK(d.stride_x == 2 && d.stride_y == 2 && d.padding_policy == MLC_PADDING_SAME);
    CHECK(d.dilation_x == 1 && d.dilation_y == 1 && !d.count_includes_padding);
    d = mlc_pooling_descriptor_make_max(MICA_INTS(2, 3), MICA_INTS(4, 5), MICA_INTS(1, 2),
                                        MLC_PADDING_USE_PADDING_SIZE, MICA_INTS(0, 1));
    CHECK(d.type == MLC_POOLING_MAX && d.kernel_height == 2 && d.kernel_width == 3);
    CHECK(d.stride_y == 4 && d.stride_x == 5 && d.dilation_x == 2 && d.padding_x == 1);
    CHECK(d.padding_y == 0);
    d = mlc_pooling_descriptor_make_average(MICA_INTS(2), MICA_INTS(2), MICA_NO_INTS,
                                            MLC_PADDING_VALID, MICA_NO_INTS, true);
    CHECK(d.type == MLC_POOLING_AVERAGE && d.count_includes_padding);
    d = mlc_pooling_descriptor_make_l2_norm(MICA_INTS(2), MICA_INTS(2), MICA_NO_INTS,
                                            MLC_PADDING_VALID, MICA_NO_INTS);
    CHECK(d.type == MLC_POOLING_L2_NORM && d.padding_policy == MLC_PADDING_VALID);
}

TEST(loss_descriptors_have_defaults) {
    mlc_loss_descriptor d = mlc_loss_descriptor_make(MLC_LOSS_HUBER, MLC_REDUCTION_SUM);
    CHECK(d.type == MLC_LOSS_HUBER && d.reduction == MLC_REDUCTION_SUM && d.weight == 1);
    CHECK(d.label_smoothing == 0 && d.class_count == 1 && d.epsilon == 1e-7f && d.delta == 1);
    CHECK(mlc_loss_descriptor_make_weight(MLC_LOSS_LOG, MLC_REDUCTION_NONE, 3).weight == 3);
    d = mlc_loss_descriptor_make_classes(MLC_LOSS_SOFTMAX_CROSS_ENTROPY, MLC_REDUCTION_MEAN, 2,
                                         0.1f, 5);
    CHECK(d.weight == 2 && d.label_smoothing == 0.1f && d.class_count == 5);
    d = mlc_loss_descriptor_make_all(MLC_LOSS_HUBER, MLC_REDUCTION_MEAN, 2, 0.1f, 5, 1e-3f, 4);
    CHECK(d.epsilon == 1e-3f && d.delta == 4);
    const float boxes[] = {1, 2, 3, 4};
    mlc_yolo_loss_descriptor y = mlc_yolo_loss_descriptor_make(boxes, 2);
    CHECK(y.anchor_boxes == boxes && y.anchor_box_count == 2 && y.should_rescore);
    CHECK(y.scale_spatial_position_loss == 10 && y.scale_spatial_size_loss == 10);
    CHECK(y.scale_no_object_confidence_loss == 5 && y.scale_object_confidence_loss == 100);
    CHECK(y.scale_class_loss == 2 && y.minimum_iou_for_object_presence == 0.7f);
    CHECK(y.maximum_iou_for_object_absence == 0.3f);
}

TEST(descriptors_of_lstm_attention_embedding_and_matmul_have_defaults) {
    mlc_lstm_descriptor l = mlc_lstm_descriptor_make(3, 4, 2);
    CHECK(l.input_size == 3 && l.hidden_size == 4 && l.layer_count == 2 && l.uses_biases);
    CHECK(l.batch_first && !l.is_bidirectional && l.returns_sequences && l.dropout == 0);
    CHECK(l.result_mode == MLC_LSTM_OUTPUT);
    l = mlc_lstm_descriptor_make_all(3, 4, 2, false, true, true, false, 0.5f,
                                     MLC_LSTM_OUTPUT_AND_STATES);
    CHECK(!l.uses_biases && l.is_bidirectional && !l.returns_sequences && l.dropout == 0.5f);
    CHECK(l.result_mode == MLC_LSTM_OUTPUT_AND_STATES);
    mlc_multihead_attention_descriptor a = mlc_multihead_attention_descriptor_make(8, 2);
    CHECK(a.model_dimension == 8 && a.key_dimension == 8 && a.value_dimension == 8);
    CHECK(a.head_count == 2 && a.dropout == 0 && a.has_biases && !a.has_attention_biases);
    CHECK(!a.adds_zero_attention);
    a = mlc_multihead_attention_descriptor_make_all(8, 6, 4, 2, 0.1f, false, true, true);
    CHECK(a.key_dimension == 6 && a.value_dimension == 4 && a.dropout == 0.1f && !a.has_biases);
    CHECK(a.has_attention_biases && a.adds_zero_attention);
    mlc_embedding_descriptor e = mlc_embedding_descriptor_make(10, 3);
    CHECK(e.embedding_count == 10 && e.embedding_dimension == 3 && e.padding_index < 0);
    CHECK(e.maximum_norm == 0 && e.p_norm == 2 && !e.scales_gradient_by_frequency);
    e = mlc_embedding_descriptor_make_all(10, 3, 1, 2.5f, 1, true);
    CHECK(e.padding_index == 1 && e.maximum_norm == 2.5f && e.p_norm == 1);
    CHECK(e.scales_gradient_by_frequency);
    mlc_matmul_descriptor m = mlc_matmul_descriptor_make();
    CHECK(m.alpha == 1 && !m.transposes_x && !m.transposes_y);
    m = mlc_matmul_descriptor_make_all(2, true, false);
    CHECK(m.alpha == 2 && m.transposes_x && !m.transposes_y);
}

TEST(optimizers_have_their_properties) {
    mlc_optimizer_descriptor d = mlc_optimizer_descriptor_make_all(
        0.5f, 0.25f, true, MLC_GRADIENT_CLIPPING_BY_NORM, 3, -2, 7, 9, MLC_REGULARIZATION_L2, 0.1f);
    mlc_optimizer *o = NULL, *copy = NULL;
    REQUIRE_OK(mlc_sgd_optimizer_create(&d, 0.9f, true, &o));
    CHECK(mlc_optimizer_kind_of(o) == MLC_SGD_OPTIMIZER && mlc_optimizer_state_count(o) == 1);
    CHECK(mlc_optimizer_momentum_scale(o) == 0.9f && mlc_optimizer_uses_nesterov_momentum(o));
    CHECK(mlc_optimizer_learning_rate(o) == 0.5f && mlc_optimizer_gradient_rescale(o) == 0.25f);
    CHECK(mlc_optimizer_applies_gradient_clipping(o) && mlc_optimizer_gradient_clip_max(o) == 3);
    CHECK(mlc_optimizer_gradient_clip_min(o) == -2);
    CHECK(mlc_optimizer_clipping(o) == MLC_GRADIENT_CLIPPING_BY_NORM);
    CHECK(mlc_optimizer_maximum_clipping_norm(o) == 7 && mlc_optimizer_custom_global_norm(o) == 9);
    CHECK(mlc_optimizer_regularization(o) == MLC_REGULARIZATION_L2);
    CHECK(mlc_optimizer_regularization_scale(o) == 0.1f);
    REQUIRE_OK(mlc_optimizer_copy(o, &copy));
    mlc_optimizer_set_learning_rate(o, 0.125f);
    mlc_optimizer_set_applies_gradient_clipping(o, false);
    CHECK(mlc_optimizer_learning_rate(o) == 0.125f && !mlc_optimizer_applies_gradient_clipping(o));
    CHECK(mlc_optimizer_learning_rate(copy) == 0.5f);
    CHECK(mlc_optimizer_momentum_scale(copy) == 0.9f);
    mlc_optimizer_retain(o);
    mlc_optimizer_release(o);
    mlc_optimizer_release(o);
    mlc_optimizer_release(copy);
    d = mlc_optimizer_descriptor_make_clipped(0.5f, 1, true, 2, -3, MLC_REGULARIZATION_L1, 0.5f);
    CHECK(d.gradient_clip_max == 2 && d.gradient_clip_min == -3 && d.maximum_clipping_norm == 1);
    CHECK(d.clipping == MLC_GRADIENT_CLIPPING_BY_VALUE && d.custom_global_norm == 0);
    d = mlc_optimizer_descriptor_make(0.5f, 2, MLC_REGULARIZATION_NONE, 0);
    CHECK(!d.applies_gradient_clipping && d.gradient_clip_max == 1 && d.gradient_clip_min == -1);
    CHECK(d.gradient_rescale == 2 && d.regularization == MLC_REGULARIZATION_NONE);
    REQUIRE_OK(mlc_sgd_optimizer_create_default(&d, &o));
    CHECK(mlc_optimizer_momentum_scale(o) == 0 && !mlc_optimizer_uses_nesterov_momentum(o));
    CHECK(mlc_optimizer_state_count(o) == 0);
    mlc_optimizer_release(o);
    REQUIRE_OK(mlc_adam_optimizer_create_default(&d, &o));
    CHECK(mlc_optimizer_beta1(o) == 0.9f && mlc_optimizer_beta2(o) == 0.999f);
    CHECK(mlc_optimizer_epsilon(o) == 1e-8f && !mlc_optimizer_uses_amsgrad(o));
    CHECK(mlc_optimizer_time_step(o) == 1 && mlc_optimizer_state_count(o) == 2);
    mlc_optimizer_release(o);
    REQUIRE_OK(mlc_adam_optimizer_create(&d, 0.8f, 0.9f, 1e-3f, true, 5, &o));
    CHECK(mlc_optimizer_beta1(o) == 0.8f && mlc_optimizer_beta2(o) == 0.9f);
    CHECK(mlc_optimizer_uses_amsgrad(o) && mlc_optimizer_time_step(o) == 5);
    CHECK(mlc_optimizer_state_count(o) == 3);
    mlc_optimizer_release(o);
    REQUIRE_OK(mlc_adamw_optimizer_create_default(&d, &o));
    CHECK(mlc_optimizer_kind_of(o) == MLC_ADAMW_OPTIMIZER && mlc_optimizer_beta1(o) == 0.9f);
    mlc_optimizer_release(o);
    REQUIRE_OK(mlc_adamw_optimizer_create(&d, 0.8f, 0.9f, 1e-3f, true, 5, &o));
    CHECK(mlc_optimizer_epsilon(o) == 1e-3f && mlc_optimizer_time_step(o) == 5);
    mlc_optimizer_release(o);
    REQUIRE_OK(mlc_rmsprop_optimizer_create_default(&d, &o));
    CHECK(mlc_optimizer_alpha(o) == 0.99f && !mlc_optimizer_is_centered(o));
    CHECK(mlc_optimizer_momentum_scale(o) == 0 && mlc_optimizer_epsilon(o) == 1e-8f);
    mlc_optimizer_release(o);
    REQUIRE_OK(mlc_rmsprop_optimizer_create(&d, 0.5f, 0.9f, 1e-4f, true, &o));
    CHECK(mlc_optimizer_alpha(o) == 0.9f && mlc_optimizer_is_centered(o));
    CHECK(mlc_optimizer_kind_of(o) == MLC_RMSPROP_OPTIMIZER && mlc_optimizer_state_count(o) == 3);
    mlc_optimizer_release(o);
    d.size = 1;
    CHECK_FAILS(mlc_sgd_optimizer_create_default(&d, &o), MICA_INVALID_ARGUMENT, "size");
    d.size = sizeof d;
    d.learning_rate = NAN;
    CHECK_FAILS(mlc_sgd_optimizer_create_default(&d, &o), MICA_INVALID_ARGUMENT, "learning rate");
}
