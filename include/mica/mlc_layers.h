/* mica/mlc_layers.h: the layers of ML Compute. Start with mlc.h. */
#ifndef MICA_MLC_LAYERS_H
#define MICA_MLC_LAYERS_H

#include "mlc_descriptors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- layers -----------------------------------------------------------------------------------
 * A layer belongs to one graph and stands there once. Weights are tensors with data, Float32 or
 * Float16 like the layer's sources; layers that share a tensor share the weights. */

MICA_API void mlc_layer_retain(mlc_layer *layer);
MICA_API void mlc_layer_release(mlc_layer *layer);
MICA_API mlc_layer_kind mlc_layer_kind_of(const mlc_layer *layer);
/* @mlc MLCLayer .layerID */
MICA_API uint64_t mlc_layer_id(const mlc_layer *layer);
/* "Convolution3" (class and id) until set; messages name layers by it. @mlc MLCLayer .label */
MICA_API const char *mlc_layer_label(const mlc_layer *layer);
MICA_API MICA_MUST_CHECK mica_status mlc_layer_set_label(mlc_layer *layer, const char *label);
/* See MLC_COMPILATION_DEBUG_LAYERS. @mlc MLCLayer .isDebuggingEnabled */
MICA_API bool mlc_layer_is_debugging_enabled(const mlc_layer *layer);
MICA_API void mlc_layer_set_is_debugging_enabled(mlc_layer *layer, bool is_enabled);
/* Where it runs; MLC_DEVICE_TYPE_ANY before its graph was compiled. @mlc MLCLayer .deviceType */
MICA_API mlc_device_type mlc_layer_device_type(const mlc_layer *layer);
/* Whether layers of a class take sources of a type on a device.
 * @mlc MLCLayer +supportsDataType:onDevice: */
MICA_API bool mlc_layer_supports(mlc_layer_kind kind, mlc_data_type type, const mlc_device *device);

/* Tensors of a layer. */
/* @mlc MLCConvolutionLayer .weights
 * @mlc MLCFullyConnectedLayer .weights
 * @mlc MLCEmbeddingLayer .weights
 * @mlc MLCLossLayer .weights */
MICA_API mlc_tensor *mlc_layer_weights(const mlc_layer *layer);
/* @mlc MLCConvolutionLayer .biases
 * @mlc MLCFullyConnectedLayer .biases */
MICA_API mlc_tensor *mlc_layer_biases(const mlc_layer *layer);
/* @mlc MLCConvolutionLayer .weightsParameter
 * @mlc MLCFullyConnectedLayer .weightsParameter
 * @mlc MLCEmbeddingLayer .weightsParameter */
MICA_API mlc_tensor_parameter *mlc_layer_weights_parameter(const mlc_layer *layer);
/* @mlc MLCConvolutionLayer .biasesParameter
 * @mlc MLCFullyConnectedLayer .biasesParameter */
MICA_API mlc_tensor_parameter *mlc_layer_biases_parameter(const mlc_layer *layer);
/* @mlc MLCBatchNormalizationLayer .mean
 * @mlc MLCInstanceNormalizationLayer .mean */
MICA_API mlc_tensor *mlc_layer_mean(const mlc_layer *layer);
/* @mlc MLCBatchNormalizationLayer .variance
 * @mlc MLCInstanceNormalizationLayer .variance */
MICA_API mlc_tensor *mlc_layer_variance(const mlc_layer *layer);
/* @mlc MLCBatchNormalizationLayer .beta
 * @mlc MLCGroupNormalizationLayer .beta
 * @mlc MLCInstanceNormalizationLayer .beta
 * @mlc MLCLayerNormalizationLayer .beta */
MICA_API mlc_tensor *mlc_layer_beta(const mlc_layer *layer);
/* @mlc MLCBatchNormalizationLayer .gamma
 * @mlc MLCGroupNormalizationLayer .gamma
 * @mlc MLCInstanceNormalizationLayer .gamma
 * @mlc MLCLayerNormalizationLayer .gamma */
MICA_API mlc_tensor *mlc_layer_gamma(const mlc_layer *layer);
/* @mlc MLCBatchNormalizationLayer .betaParameter
 * @mlc MLCGroupNormalizationLayer .betaParameter
 * @mlc MLCInstanceNormalizationLayer .betaParameter
 * @mlc MLCLayerNormalizationLayer .betaParameter */
MICA_API mlc_tensor_parameter *mlc_layer_beta_parameter(const mlc_layer *layer);
/* @mlc MLCBatchNormalizationLayer .gammaParameter
 * @mlc MLCGroupNormalizationLayer .gammaParameter
 * @mlc MLCInstanceNormalizationLayer .gammaParameter
 * @mlc MLCLayerNormalizationLayer .gammaParameter */
MICA_API mlc_tensor_parameter *mlc_layer_gamma_parameter(const mlc_layer *layer);
/* [Wq, Wk, Wv, Wo] @mlc MLCMultiheadAttentionLayer .weights */
MICA_API mlc_tensors mlc_layer_weights_list(const mlc_layer *layer);
/* @mlc MLCMultiheadAttentionLayer .biases
 * @mlc MLCLSTMLayer .biases */
MICA_API mlc_tensors mlc_layer_biases_list(const mlc_layer *layer);
/* @mlc MLCMultiheadAttentionLayer .attentionBiases */
MICA_API mlc_tensors mlc_layer_attention_biases(const mlc_layer *layer);
/* @mlc MLCMultiheadAttentionLayer .weightsParameters */
MICA_API mlc_parameters mlc_layer_weights_parameters(const mlc_layer *layer);
/* @mlc MLCMultiheadAttentionLayer .biasesParameters
 * @mlc MLCLSTMLayer .biasesParameters */
MICA_API mlc_parameters mlc_layer_biases_parameters(const mlc_layer *layer);
/* @mlc MLCLSTMLayer .inputWeights */
MICA_API mlc_tensors mlc_layer_input_weights(const mlc_layer *layer);
/* @mlc MLCLSTMLayer .hiddenWeights */
MICA_API mlc_tensors mlc_layer_hidden_weights(const mlc_layer *layer);
/* @mlc MLCLSTMLayer .peepholeWeights */
MICA_API mlc_tensors mlc_layer_peephole_weights(const mlc_layer *layer);
/* @mlc MLCLSTMLayer .inputWeightsParameters */
MICA_API mlc_parameters mlc_layer_input_weights_parameters(const mlc_layer *layer);
/* @mlc MLCLSTMLayer .hiddenWeightsParameters */
MICA_API mlc_parameters mlc_layer_hidden_weights_parameters(const mlc_layer *layer);
/* @mlc MLCLSTMLayer .peepholeWeightsParameters */
MICA_API mlc_parameters mlc_layer_peephole_weights_parameters(const mlc_layer *layer);

/* Descriptors and numbers of a layer. A descriptor of another class of layer is NULL. */
/* @mlc MLCActivationLayer .descriptor */
MICA_API const mlc_activation_descriptor *mlc_layer_activation_descriptor(const mlc_layer *layer);
/* @mlc MLCConvolutionLayer .descriptor
 * @mlc MLCFullyConnectedLayer .descriptor */
MICA_API const mlc_convolution_descriptor *mlc_layer_convolution_descriptor(const mlc_layer *layer);
/* @mlc MLCPoolingLayer .descriptor */
MICA_API const mlc_pooling_descriptor *mlc_layer_pooling_descriptor(const mlc_layer *layer);
/* @mlc MLCLossLayer .descriptor */
MICA_API const mlc_loss_descriptor *mlc_layer_loss_descriptor(const mlc_layer *layer);
/* @mlc MLCYOLOLossLayer .yoloLossDescriptor */
MICA_API const mlc_yolo_loss_descriptor *mlc_layer_yolo_loss_descriptor(const mlc_layer *layer);
/* @mlc MLCLSTMLayer .descriptor */
MICA_API const mlc_lstm_descriptor *mlc_layer_lstm_descriptor(const mlc_layer *layer);
/* Gate i of input, forget, cell, output: i = 0..3. @mlc MLCLSTMLayer .gateActivations */
MICA_API const mlc_activation_descriptor *mlc_layer_gate_activation(const mlc_layer *layer,
                                                                    int32_t i);
/* @mlc MLCLSTMLayer .outputResultActivation */
MICA_API const mlc_activation_descriptor *
mlc_layer_output_result_activation(const mlc_layer *layer);
/* @mlc MLCMultiheadAttentionLayer .descriptor */
MICA_API const mlc_multihead_attention_descriptor *
mlc_layer_multihead_attention_descriptor(const mlc_layer *layer);
/* @mlc MLCEmbeddingLayer .descriptor */
MICA_API const mlc_embedding_descriptor *mlc_layer_embedding_descriptor(const mlc_layer *layer);
/* @mlc MLCMatMulLayer .descriptor */
MICA_API const mlc_matmul_descriptor *mlc_layer_matmul_descriptor(const mlc_layer *layer);
/* @mlc MLCArithmeticLayer .operation */
MICA_API mlc_arithmetic_operation mlc_layer_arithmetic_operation(const mlc_layer *layer);
/* @mlc MLCComparisonLayer .operation */
MICA_API mlc_comparison_operation mlc_layer_comparison_operation(const mlc_layer *layer);
/* @mlc MLCSoftmaxLayer .operation */
MICA_API mlc_softmax_operation mlc_layer_softmax_operation(const mlc_layer *layer);
/* @mlc MLCConcatenationLayer .dimension
 * @mlc MLCGatherLayer .dimension
 * @mlc MLCScatterLayer .dimension
 * @mlc MLCSoftmaxLayer .dimension
 * @mlc MLCSplitLayer .dimension
 * @mlc MLCReductionLayer .dimension */
MICA_API int64_t mlc_layer_dimension(const mlc_layer *layer);
/* @mlc MLCReductionLayer .dimensions
 * @mlc MLCTransposeLayer .dimensions */
MICA_API mica_ints mlc_layer_dimensions(const mlc_layer *layer);
/* @mlc MLCReductionLayer .reductionType
 * @mlc MLCScatterLayer .reductionType */
MICA_API mlc_reduction_type mlc_layer_reduction_type(const mlc_layer *layer);
/* @mlc MLCReshapeLayer .shape
 * @mlc MLCUpsampleLayer .shape */
MICA_API mica_ints mlc_layer_shape(const mlc_layer *layer);
/* @mlc MLCLayerNormalizationLayer .normalizedShape */
MICA_API mica_ints mlc_layer_normalized_shape(const mlc_layer *layer);
/* @mlc MLCSliceLayer .start */
MICA_API mica_ints mlc_layer_start(const mlc_layer *layer);
/* @mlc MLCSliceLayer .end */
MICA_API mica_ints mlc_layer_end(const mlc_layer *layer);
/* @mlc MLCSliceLayer .stride */
MICA_API mica_ints mlc_layer_stride(const mlc_layer *layer);
/* @mlc MLCSplitLayer .splitCount */
MICA_API int64_t mlc_layer_split_count(const mlc_layer *layer);
/* @mlc MLCSplitLayer .splitSectionLengths */
MICA_API mica_ints mlc_layer_split_section_lengths(const mlc_layer *layer);
/* @mlc MLCBatchNormalizationLayer .featureChannelCount
 * @mlc MLCGroupNormalizationLayer .featureChannelCount
 * @mlc MLCInstanceNormalizationLayer .featureChannelCount */
MICA_API int64_t mlc_layer_feature_channel_count(const mlc_layer *layer);
/* @mlc MLCGroupNormalizationLayer .groupCount */
MICA_API int64_t mlc_layer_group_count(const mlc_layer *layer);
/* @mlc MLCBatchNormalizationLayer .varianceEpsilon
 * @mlc MLCGroupNormalizationLayer .varianceEpsilon
 * @mlc MLCInstanceNormalizationLayer .varianceEpsilon
 * @mlc MLCLayerNormalizationLayer .varianceEpsilon */
MICA_API float mlc_layer_variance_epsilon(const mlc_layer *layer);
/* @mlc MLCBatchNormalizationLayer .momentum
 * @mlc MLCInstanceNormalizationLayer .momentum */
MICA_API float mlc_layer_momentum(const mlc_layer *layer);
/* @mlc MLCDropoutLayer .rate */
MICA_API float mlc_layer_rate(const mlc_layer *layer);
/* @mlc MLCDropoutLayer .seed */
MICA_API uint64_t mlc_layer_seed(const mlc_layer *layer);
/* @mlc MLCGramMatrixLayer .scale */
MICA_API float mlc_layer_scale(const mlc_layer *layer);
/* @mlc MLCPaddingLayer .paddingType */
MICA_API mlc_padding_type mlc_layer_padding_type(const mlc_layer *layer);
/* @mlc MLCPaddingLayer .paddingLeft */
MICA_API int64_t mlc_layer_padding_left(const mlc_layer *layer);
/* @mlc MLCPaddingLayer .paddingRight */
MICA_API int64_t mlc_layer_padding_right(const mlc_layer *layer);
/* @mlc MLCPaddingLayer .paddingTop */
MICA_API int64_t mlc_layer_padding_top(const mlc_layer *layer);
/* @mlc MLCPaddingLayer .paddingBottom */
MICA_API int64_t mlc_layer_padding_bottom(const mlc_layer *layer);
/* @mlc MLCPaddingLayer .constantValue */
MICA_API float mlc_layer_constant_value(const mlc_layer *layer);
/* @mlc MLCUpsampleLayer .sampleMode */
MICA_API mlc_sample_mode mlc_layer_sample_mode(const mlc_layer *layer);
/* @mlc MLCUpsampleLayer .alignsCorners */
MICA_API bool mlc_layer_aligns_corners(const mlc_layer *layer);

/* @mlc MLCActivationLayer
 * @mlc MLCActivationLayer +layerWithDescriptor: */
MICA_API MICA_MUST_CHECK mica_status
mlc_activation_layer_create(const mlc_activation_descriptor *descriptor, mlc_layer **out_layer);
/* @mlc MLCActivationLayer .reluLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_relu(mlc_layer **out_layer);
/* ReLUN with a = 0, b = 6. @mlc MLCActivationLayer .relu6Layer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_relu6(mlc_layer **out_layer);
/* ReLU with a = 0.01. @mlc MLCActivationLayer .leakyReLULayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_leaky_relu(mlc_layer **out_layer);
/* @mlc MLCActivationLayer +leakyReLULayerWithNegativeSlope: */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_leaky_relu_slope(float negative_slope,
                                                                           mlc_layer **out_layer);
/* @mlc MLCActivationLayer +linearLayerWithScale:bias: */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_linear(float scale, float bias,
                                                                 mlc_layer **out_layer);
/* @mlc MLCActivationLayer .sigmoidLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_sigmoid(mlc_layer **out_layer);
/* @mlc MLCActivationLayer .hardSigmoidLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_hard_sigmoid(mlc_layer **out_layer);
/* @mlc MLCActivationLayer .tanhLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_tanh(mlc_layer **out_layer);
/* @mlc MLCActivationLayer .absoluteLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_absolute(mlc_layer **out_layer);
/* @mlc MLCActivationLayer .softPlusLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_soft_plus(mlc_layer **out_layer);
/* log(1 + e^(beta x)) / beta @mlc MLCActivationLayer +softPlusLayerWithBeta: */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_soft_plus_beta(float beta,
                                                                         mlc_layer **out_layer);
/* @mlc MLCActivationLayer .softSignLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_soft_sign(mlc_layer **out_layer);
/* @mlc MLCActivationLayer .eluLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_elu(mlc_layer **out_layer);
/* @mlc MLCActivationLayer +eluLayerWithA: */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_elu_a(float a, mlc_layer **out_layer);
/* @mlc MLCActivationLayer +relunLayerWithA:b: */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_relun(float a, float b,
                                                                mlc_layer **out_layer);
/* @mlc MLCActivationLayer .logSigmoidLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_log_sigmoid(mlc_layer **out_layer);
/* @mlc MLCActivationLayer .seluLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_selu(mlc_layer **out_layer);
/* @mlc MLCActivationLayer .celuLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_celu(mlc_layer **out_layer);
/* @mlc MLCActivationLayer +celuLayerWithA: */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_celu_a(float a, mlc_layer **out_layer);
/* @mlc MLCActivationLayer .hardShrinkLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_hard_shrink(mlc_layer **out_layer);
/* @mlc MLCActivationLayer +hardShrinkLayerWithA: */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_hard_shrink_a(float a,
                                                                        mlc_layer **out_layer);
/* @mlc MLCActivationLayer .softShrinkLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_soft_shrink(mlc_layer **out_layer);
/* @mlc MLCActivationLayer +softShrinkLayerWithA: */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_soft_shrink_a(float a,
                                                                        mlc_layer **out_layer);
/* @mlc MLCActivationLayer .tanhShrinkLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_tanh_shrink(mlc_layer **out_layer);
/* @mlc MLCActivationLayer +thresholdLayerWithThreshold:replacement: */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_threshold(float threshold,
                                                                    float replacement,
                                                                    mlc_layer **out_layer);
/* @mlc MLCActivationLayer .geluLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_gelu(mlc_layer **out_layer);
/* @mlc MLCActivationLayer .hardSwishLayer */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_hard_swish(mlc_layer **out_layer);
/* @mlc MLCActivationLayer +clampLayerWithMinValue:maxValue: */
MICA_API MICA_MUST_CHECK mica_status mlc_activation_layer_clamp(float minimum, float maximum,
                                                                mlc_layer **out_layer);

/* One source for unary operations, two for binary ones, which broadcast.
 * @mlc MLCArithmeticLayer
 * @mlc MLCArithmeticLayer +layerWithOperation: */
MICA_API MICA_MUST_CHECK mica_status mlc_arithmetic_layer_create(mlc_arithmetic_operation operation,
                                                                 mlc_layer **out_layer);
/* @mlc MLCComparisonLayer
 * @mlc MLCComparisonLayer +layerWithOperation: */
MICA_API MICA_MUST_CHECK mica_status mlc_comparison_layer_create(mlc_comparison_operation operation,
                                                                 mlc_layer **out_layer);

/* The momentum of layers made without one. */
#define MLC_DEFAULT_MOMENTUM 0.99f

/* y = (x - mean) / (variance + epsilon)^(1/2) gamma + beta per channel; in training with the
 * batch's statistics, running ones become momentum * old + (1 - momentum) * new. beta, gamma may be
 * NULL.
 * @mlc MLCBatchNormalizationLayer
 * @mlc MLCBatchNormalizationLayer
 *      +layerWithFeatureChannelCount:mean:variance:beta:gamma:varianceEpsilon:
 * @mlc MLCBatchNormalizationLayer
 *      +layerWithFeatureChannelCount:mean:variance:beta:gamma:varianceEpsilon:momentum: */
MICA_API MICA_MUST_CHECK mica_status mlc_batch_normalization_layer_create(
    int64_t channels, mlc_tensor *mean, mlc_tensor *variance, mlc_tensor *beta, mlc_tensor *gamma,
    float epsilon, float momentum, mlc_layer **out_layer);
/* mean and variance may be NULL: no running statistics, the example's own are always used.
 * @mlc MLCInstanceNormalizationLayer
 * @mlc MLCInstanceNormalizationLayer +layerWithFeatureChannelCount:beta:gamma:varianceEpsilon:
 * @mlc MLCInstanceNormalizationLayer
 *      +layerWithFeatureChannelCount:beta:gamma:varianceEpsilon:momentum:
 * @mlc MLCInstanceNormalizationLayer
 *      +layerWithFeatureChannelCount:mean:variance:beta:gamma:varianceEpsilon:momentum: */
MICA_API MICA_MUST_CHECK mica_status mlc_instance_normalization_layer_create(
    int64_t channels, mlc_tensor *mean, mlc_tensor *variance, mlc_tensor *beta, mlc_tensor *gamma,
    float epsilon, float momentum, mlc_layer **out_layer);
/* @mlc MLCGroupNormalizationLayer
 * @mlc MLCGroupNormalizationLayer
 *      +layerWithFeatureChannelCount:groupCount:beta:gamma:varianceEpsilon: */
MICA_API MICA_MUST_CHECK mica_status
mlc_group_normalization_layer_create(int64_t channels, int64_t groups, mlc_tensor *beta,
                                     mlc_tensor *gamma, float epsilon, mlc_layer **out_layer);
/* Over the last dimensions, which must be normalized_shape.
 * @mlc MLCLayerNormalizationLayer
 * @mlc MLCLayerNormalizationLayer +layerWithNormalizedShape:beta:gamma:varianceEpsilon: */
MICA_API MICA_MUST_CHECK mica_status
mlc_layer_normalization_layer_create(mica_ints normalized_shape, mlc_tensor *beta,
                                     mlc_tensor *gamma, float epsilon, mlc_layer **out_layer);

/* @mlc MLCConcatenationLayer
 * @mlc MLCConcatenationLayer +layer */
MICA_API MICA_MUST_CHECK mica_status
mlc_concatenation_layer_create(mlc_layer **out_layer); /* dimension 1 */
/* @mlc MLCConcatenationLayer +layerWithDimension: */
MICA_API MICA_MUST_CHECK mica_status
mlc_concatenation_layer_create_dimension(int64_t dimension, mlc_layer **out_layer);
/* biases may be NULL. @mlc MLCConvolutionLayer
 * @mlc MLCConvolutionLayer +layerWithWeights:biases:descriptor: */
MICA_API MICA_MUST_CHECK mica_status
mlc_convolution_layer_create(mlc_tensor *weights, mlc_tensor *biases,
                             const mlc_convolution_descriptor *descriptor, mlc_layer **out_layer);
/* Zeroes elements with probability `rate`, in training only, and multiplies the others by
 * 1 / (1 - rate). Which ones depends on the seed, the layer's place and the step.
 * @mlc MLCDropoutLayer
 * @mlc MLCDropoutLayer +layerWithRate:seed: */
MICA_API MICA_MUST_CHECK mica_status mlc_dropout_layer_create(float rate, uint64_t seed,
                                                              mlc_layer **out_layer);
/* weights [count, dimension] (or [1, count * dimension, 1, 1]); Int32 or Int64 sources.
 * @mlc MLCEmbeddingLayer
 * @mlc MLCEmbeddingLayer +layerWithDescriptor:weights: */
MICA_API MICA_MUST_CHECK mica_status mlc_embedding_layer_create(
    const mlc_embedding_descriptor *descriptor, mlc_tensor *weights, mlc_layer **out_layer);
/* (..., in) -> (..., out), or (N, in, 1, 1) -> (N, out, 1, 1); weights in the order out, in.
 * @mlc MLCFullyConnectedLayer
 * @mlc MLCFullyConnectedLayer +layerWithWeights:biases:descriptor: */
MICA_API MICA_MUST_CHECK mica_status mlc_fully_connected_layer_create(
    mlc_tensor *weights, mlc_tensor *biases, const mlc_convolution_descriptor *descriptor,
    mlc_layer **out_layer);
/* Sources: values, indices (Int32 or Int64) of one rank: y[i][j] = x[indices[i][j]][j] for
 * dimension 0. @mlc MLCGatherLayer
 * @mlc MLCGatherLayer +layerWithDimension: */
MICA_API MICA_MUST_CHECK mica_status mlc_gather_layer_create(int64_t dimension,
                                                             mlc_layer **out_layer);
/* Sources: values, indices, copyFrom: a copy of copyFrom with values put (None) or added (Sum)
 * where the indices say. @mlc MLCScatterLayer
 * @mlc MLCScatterLayer +layerWithDimension:reductionType: */
MICA_API MICA_MUST_CHECK mica_status mlc_scatter_layer_create(int64_t dimension,
                                                              mlc_reduction_type reduction,
                                                              mlc_layer **out_layer);
/* scale * X X^T of (N, C, H, W), X being C rows of H * W: (N, 1, C, C)
 * @mlc MLCGramMatrixLayer
 * @mlc MLCGramMatrixLayer +layerWithScale: */
MICA_API MICA_MUST_CHECK mica_status mlc_gram_matrix_layer_create(float scale,
                                                                  mlc_layer **out_layer);

/* Sources: scores; and labels, of the scores' shape, in a node with labels, or declared by
 * mlc_training_graph_add_inputs. Label weights multiply the labels' losses. `weights` (NULL: use
 * the descriptor's scalar) multiplies losses too.
 * @mlc MLCLossLayer
 * @mlc MLCLossLayer +layerWithDescriptor: +layerWithDescriptor:weights: */
MICA_API MICA_MUST_CHECK mica_status mlc_loss_layer_create(const mlc_loss_descriptor *descriptor,
                                                           mlc_tensor *weights,
                                                           mlc_layer **out_layer);
/* In these, weights may be NULL; weight is used when it is.
 * @mlc MLCLossLayer
 *      +softmaxCrossEntropyLossWithReductionType:labelSmoothing:classCount:weight:
 * @mlc MLCLossLayer
 *      +softmaxCrossEntropyLossWithReductionType:labelSmoothing:classCount:weights: */
MICA_API MICA_MUST_CHECK mica_status mlc_loss_layer_softmax_cross_entropy(
    mlc_reduction_type reduction, float label_smoothing, int64_t class_count, float weight,
    mlc_tensor *weights, mlc_layer **out_layer);
/* @mlc MLCLossLayer
 *      +categoricalCrossEntropyLossWithReductionType:labelSmoothing:classCount:weight:
 * @mlc MLCLossLayer
 *      +categoricalCrossEntropyLossWithReductionType:labelSmoothing:classCount:weights: */
MICA_API MICA_MUST_CHECK mica_status mlc_loss_layer_categorical_cross_entropy(
    mlc_reduction_type reduction, float label_smoothing, int64_t class_count, float weight,
    mlc_tensor *weights, mlc_layer **out_layer);
/* @mlc MLCLossLayer +sigmoidCrossEntropyLossWithReductionType:labelSmoothing:weight:
 * @mlc MLCLossLayer +sigmoidCrossEntropyLossWithReductionType:labelSmoothing:weights: */
MICA_API MICA_MUST_CHECK mica_status
mlc_loss_layer_sigmoid_cross_entropy(mlc_reduction_type reduction, float label_smoothing,
                                     float weight, mlc_tensor *weights, mlc_layer **out_layer);
/* @mlc MLCLossLayer +logLossWithReductionType:epsilon:weight:
 * @mlc MLCLossLayer +logLossWithReductionType:epsilon:weights: */
MICA_API MICA_MUST_CHECK mica_status mlc_loss_layer_log(mlc_reduction_type reduction, float epsilon,
                                                        float weight, mlc_tensor *weights,
                                                        mlc_layer **out_layer);
/* @mlc MLCLossLayer +huberLossWithReductionType:delta:weight:
 * @mlc MLCLossLayer +huberLossWithReductionType:delta:weights: */
MICA_API MICA_MUST_CHECK mica_status mlc_loss_layer_huber(mlc_reduction_type reduction, float delta,
                                                          float weight, mlc_tensor *weights,
                                                          mlc_layer **out_layer);
/* @mlc MLCLossLayer +meanAbsoluteErrorLossWithReductionType:weight:
 * @mlc MLCLossLayer +meanAbsoluteErrorLossWithReductionType:weights: */
MICA_API MICA_MUST_CHECK mica_status mlc_loss_layer_mean_absolute_error(
    mlc_reduction_type reduction, float weight, mlc_tensor *weights, mlc_layer **out_layer);
/* @mlc MLCLossLayer +meanSquaredErrorLossWithReductionType:weight:
 * @mlc MLCLossLayer +meanSquaredErrorLossWithReductionType:weights: */
MICA_API MICA_MUST_CHECK mica_status mlc_loss_layer_mean_squared_error(mlc_reduction_type reduction,
                                                                       float weight,
                                                                       mlc_tensor *weights,
                                                                       mlc_layer **out_layer);
/* @mlc MLCLossLayer +hingeLossWithReductionType:weight:
 * @mlc MLCLossLayer +hingeLossWithReductionType:weights: */
MICA_API MICA_MUST_CHECK mica_status mlc_loss_layer_hinge(mlc_reduction_type reduction,
                                                          float weight, mlc_tensor *weights,
                                                          mlc_layer **out_layer);
/* @mlc MLCLossLayer +cosineDistanceLossWithReductionType:weight:
 * @mlc MLCLossLayer +cosineDistanceLossWithReductionType:weights: */
MICA_API MICA_MUST_CHECK mica_status mlc_loss_layer_cosine_distance(mlc_reduction_type reduction,
                                                                    float weight,
                                                                    mlc_tensor *weights,
                                                                    mlc_layer **out_layer);
/* Scores (N, anchors * (5 + classes), H, W); labels of the same shape: per anchor tx, ty, tw, th,
 * objectness, classes. @mlc MLCYOLOLossLayer
 * @mlc MLCYOLOLossLayer +layerWithDescriptor: */
MICA_API MICA_MUST_CHECK mica_status
mlc_yolo_loss_layer_create(const mlc_yolo_loss_descriptor *descriptor, mlc_layer **out_layer);

/* 4 tensors per layer and direction, gates in the order input, forget, cell, output; all forward
 * layers, then all backward ones. Input weights [hidden, features] (features: input_size; after the
 * first layer hidden, or twice that when bidirectional), hidden weights [hidden, hidden], biases
 * [hidden], peepholes [hidden] or [hidden, hidden]. Sources: x (N, T, F) [, hidden and cell states
 * (layers, directions, N, H)] [, Int32 lengths (N), not increasing]. Results: output (N, T, H *
 * directions), or (N, H * directions) of the last step when sequences are not returned; with
 * states: output, hidden, cell.
 * @mlc MLCLSTMLayer
 * @mlc MLCLSTMLayer +layerWithDescriptor:inputWeights:hiddenWeights:biases: */
MICA_API MICA_MUST_CHECK mica_status mlc_lstm_layer_create(const mlc_lstm_descriptor *descriptor,
                                                           mlc_tensors input_weights,
                                                           mlc_tensors hidden_weights,
                                                           mlc_tensors biases,
                                                           mlc_layer **out_layer);
/* gate_activations: NULL or 4 of input, forget, cell, output; output_activation: NULL is tanh.
 * @mlc MLCLSTMLayer +layerWithDescriptor:inputWeights:hiddenWeights:peepholeWeights:biases:
 * @mlc MLCLSTMLayer
 *      +layerWithDescriptor:inputWeights:hiddenWeights:peepholeWeights:biases:gateActivations:outputResultActivation:
 */
MICA_API MICA_MUST_CHECK mica_status mlc_lstm_layer_create_all(
    const mlc_lstm_descriptor *descriptor, mlc_tensors input_weights, mlc_tensors hidden_weights,
    mlc_tensors peephole_weights, mlc_tensors biases,
    const mlc_activation_descriptor *gate_activations,
    const mlc_activation_descriptor *output_activation, mlc_layer **out_layer);
/* alpha op(x) op(y), over leading dimensions, which broadcast. @mlc MLCMatMulLayer
 * @mlc MLCMatMulLayer +layerWithDescriptor: */
MICA_API MICA_MUST_CHECK mica_status
mlc_matmul_layer_create(const mlc_matmul_descriptor *descriptor, mlc_layer **out_layer);
/* Sources: query (N, L, E), key (N, S, K), value (N, S, V) [, key mask (N, S) Boolean]
 * [, attention mask (1, L, S) or (N * heads, L, S), Float32 added or Boolean]. weights: [Wq, Wk,
 * Wv, Wo], each (out, in); biases: one for each; attention biases: [bias_k, bias_v] of size E.
 * @mlc MLCMultiheadAttentionLayer
 * @mlc MLCMultiheadAttentionLayer +layerWithDescriptor:weights:biases:attentionBiases: */
MICA_API MICA_MUST_CHECK mica_status mlc_multihead_attention_layer_create(
    const mlc_multihead_attention_descriptor *descriptor, mlc_tensors weights, mlc_tensors biases,
    mlc_tensors attention_biases, mlc_layer **out_layer);
/* Padding of the last two dimensions: 1 entry for all sides; 2: left, right; 4: top, bottom, left,
 * right. @mlc MLCPaddingLayer
 * @mlc MLCPaddingLayer +layerWithReflectionPadding: */
MICA_API MICA_MUST_CHECK mica_status mlc_padding_layer_reflect(mica_ints padding,
                                                               mlc_layer **out_layer);
/* @mlc MLCPaddingLayer +layerWithSymmetricPadding: */
MICA_API MICA_MUST_CHECK mica_status mlc_padding_layer_symmetric(mica_ints padding,
                                                                 mlc_layer **out_layer);
/* @mlc MLCPaddingLayer +layerWithZeroPadding: */
MICA_API MICA_MUST_CHECK mica_status mlc_padding_layer_zero(mica_ints padding,
                                                            mlc_layer **out_layer);
/* @mlc MLCPaddingLayer +layerWithConstantPadding:constantValue: */
MICA_API MICA_MUST_CHECK mica_status mlc_padding_layer_constant(mica_ints padding, float value,
                                                                mlc_layer **out_layer);
/* @mlc MLCPoolingLayer
 * @mlc MLCPoolingLayer +layerWithDescriptor: */
MICA_API MICA_MUST_CHECK mica_status
mlc_pooling_layer_create(const mlc_pooling_descriptor *descriptor, mlc_layer **out_layer);
/* @mlc MLCReductionLayer
 * @mlc MLCReductionLayer +layerWithReductionType:dimension: */
MICA_API MICA_MUST_CHECK mica_status mlc_reduction_layer_create(mlc_reduction_type type,
                                                                int64_t dimension,
                                                                mlc_layer **out_layer);
/* @mlc MLCReductionLayer +layerWithReductionType:dimensions: */
MICA_API MICA_MUST_CHECK mica_status mlc_reduction_layer_create_dimensions(mlc_reduction_type type,
                                                                           mica_ints dimensions,
                                                                           mlc_layer **out_layer);
/* One size may be -1: the rest. @mlc MLCReshapeLayer
 * @mlc MLCReshapeLayer +layerWithShape: */
MICA_API MICA_MUST_CHECK mica_status mlc_reshape_layer_create(mica_ints shape,
                                                              mlc_layer **out_layer);
/* Sources: condition (Boolean), x, y: x where true. @mlc MLCSelectionLayer
 * @mlc MLCSelectionLayer +layer */
MICA_API MICA_MUST_CHECK mica_status mlc_selection_layer_create(mlc_layer **out_layer);
/* One entry per dimension; stride empty: 1. @mlc MLCSliceLayer
 * @mlc MLCSliceLayer +sliceLayerWithStart:end:stride: */
MICA_API MICA_MUST_CHECK mica_status mlc_slice_layer_create(mica_ints start, mica_ints end,
                                                            mica_ints stride,
                                                            mlc_layer **out_layer);
/* Over dimension 1. @mlc MLCSoftmaxLayer
 * @mlc MLCSoftmaxLayer +layerWithOperation: */
MICA_API MICA_MUST_CHECK mica_status mlc_softmax_layer_create(mlc_softmax_operation operation,
                                                              mlc_layer **out_layer);
/* @mlc MLCSoftmaxLayer +layerWithOperation:dimension: */
MICA_API MICA_MUST_CHECK mica_status mlc_softmax_layer_create_dimension(
    mlc_softmax_operation operation, int64_t dimension, mlc_layer **out_layer);
/* Where the count does not divide the size, the first parts are one longer; at most `size` parts.
 * @mlc MLCSplitLayer
 * @mlc MLCSplitLayer +layerWithSplitCount:dimension: */
MICA_API MICA_MUST_CHECK mica_status mlc_split_layer_create(int64_t count, int64_t dimension,
                                                            mlc_layer **out_layer);
/* @mlc MLCSplitLayer +layerWithSplitSectionLengths:dimension: */
MICA_API MICA_MUST_CHECK mica_status mlc_split_layer_create_sections(mica_ints lengths,
                                                                     int64_t dimension,
                                                                     mlc_layer **out_layer);
/* Dimension i of the result is dimension dimensions[i] of the source; the batch stays the first.
 * @mlc MLCTransposeLayer
 * @mlc MLCTransposeLayer +layerWithDimensions: */
MICA_API MICA_MUST_CHECK mica_status mlc_transpose_layer_create(mica_ints dimensions,
                                                                mlc_layer **out_layer);
/* shape: [height, width] of the result; nearest, corners not aligned. @mlc MLCUpsampleLayer
 * @mlc MLCUpsampleLayer +layerWithShape: */
MICA_API MICA_MUST_CHECK mica_status mlc_upsample_layer_create(mica_ints shape,
                                                               mlc_layer **out_layer);
/* @mlc MLCUpsampleLayer +layerWithShape:sampleMode:alignsCorners: */
MICA_API MICA_MUST_CHECK mica_status mlc_upsample_layer_create_mode(mica_ints shape,
                                                                    mlc_sample_mode mode,
                                                                    bool aligns_corners,
                                                                    mlc_layer **out_layer);

#ifdef __cplusplus
}
#endif
#endif
