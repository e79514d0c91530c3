/* mica/mlc_descriptors.h: descriptors of layers, and optimizers, of ML Compute. Start with mlc.h.
 */
#ifndef MICA_MLC_DESCRIPTORS_H
#define MICA_MLC_DESCRIPTORS_H

#include "mlc_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- descriptors ------------------------------------------------------------------------------
 * Plain values: make one, change fields, pass it to a layer, which checks and copies it. */

/* @mlc MLCActivationDescriptor */
typedef struct mlc_activation_descriptor {
    size_t size;              /* sizeof(mlc_activation_descriptor), as in all descriptors */
    mlc_activation_type type; /* @mlc MLCActivationDescriptor .activationType */
    float a;                  /* @mlc MLCActivationDescriptor .a */
    float b;                  /* @mlc MLCActivationDescriptor .b */
    float c;                  /* @mlc MLCActivationDescriptor .c */
} mlc_activation_descriptor;
/* a, b, c are 1, except: ReLU a = 0, Linear b = 0, HardSigmoid a = 0.2 b = 0.5, HardShrink and
 * SoftShrink a = 0.5. @mlc MLCActivationDescriptor +descriptorWithType: */
MICA_API mlc_activation_descriptor mlc_activation_descriptor_make(mlc_activation_type type);
/* @mlc MLCActivationDescriptor +descriptorWithType:a: */
MICA_API mlc_activation_descriptor mlc_activation_descriptor_make_a(mlc_activation_type type,
                                                                    float a);
/* @mlc MLCActivationDescriptor +descriptorWithType:a:b: */
MICA_API mlc_activation_descriptor mlc_activation_descriptor_make_ab(mlc_activation_type type,
                                                                     float a, float b);
/* @mlc MLCActivationDescriptor +descriptorWithType:a:b:c: */
MICA_API mlc_activation_descriptor mlc_activation_descriptor_make_abc(mlc_activation_type type,
                                                                      float a, float b, float c);

/* @mlc MLCConvolutionDescriptor */
typedef struct mlc_convolution_descriptor {
    size_t size;
    mlc_convolution_type type; /* @mlc MLCConvolutionDescriptor .convolutionType */
    int64_t kernel_width;      /* @mlc MLCConvolutionDescriptor .kernelWidth */
    int64_t kernel_height;     /* @mlc MLCConvolutionDescriptor .kernelHeight */
    int64_t in_channels;       /* @mlc MLCConvolutionDescriptor .inputFeatureChannelCount */
    int64_t out_channels;      /* @mlc MLCConvolutionDescriptor .outputFeatureChannelCount */
    int64_t stride_x;          /* @mlc MLCConvolutionDescriptor .strideInX */
    int64_t stride_y;          /* @mlc MLCConvolutionDescriptor .strideInY */
    int64_t dilation_x;        /* @mlc MLCConvolutionDescriptor .dilationRateInX */
    int64_t dilation_y;        /* @mlc MLCConvolutionDescriptor .dilationRateInY */
    int64_t groups;            /* @mlc MLCConvolutionDescriptor .groupCount */
    mlc_padding_policy padding_policy; /* @mlc MLCConvolutionDescriptor .paddingPolicy */
    int64_t padding_x;                 /* @mlc MLCConvolutionDescriptor .paddingSizeInX */
    int64_t padding_y;                 /* @mlc MLCConvolutionDescriptor .paddingSizeInY */
} mlc_convolution_descriptor;
/* Lists are [y, x]; of one entry: both. An empty list of strides or dilation rates is 1, of padding
 * sizes 0. @mlc MLCConvolutionDescriptor
 *      +descriptorWithType:kernelSizes:inputFeatureChannelCount:outputFeatureChannelCount:groupCount:strides:dilationRates:paddingPolicy:paddingSizes:
 */
MICA_API mlc_convolution_descriptor mlc_convolution_descriptor_make_type(
    mlc_convolution_type type, mica_ints kernel_sizes, int64_t in_channels, int64_t out_channels,
    int64_t groups, mica_ints strides, mica_ints dilation_rates, mlc_padding_policy policy,
    mica_ints padding_sizes);
/* Stride 1, padding Same. @mlc MLCConvolutionDescriptor
 *      +descriptorWithKernelWidth:kernelHeight:inputFeatureChannelCount:outputFeatureChannelCount:
 */
MICA_API mlc_convolution_descriptor mlc_convolution_descriptor_make(int64_t kernel_width,
                                                                    int64_t kernel_height,
                                                                    int64_t in_channels,
                                                                    int64_t out_channels);
/* @mlc MLCConvolutionDescriptor
 *      +descriptorWithKernelSizes:inputFeatureChannelCount:outputFeatureChannelCount:strides:paddingPolicy:paddingSizes:
 * @mlc MLCConvolutionDescriptor
 *      +descriptorWithKernelSizes:inputFeatureChannelCount:outputFeatureChannelCount:groupCount:strides:dilationRates:paddingPolicy:paddingSizes:
 */
MICA_API mlc_convolution_descriptor mlc_convolution_descriptor_make_sizes(
    mica_ints kernel_sizes, int64_t in_channels, int64_t out_channels, int64_t groups,
    mica_ints strides, mica_ints dilation_rates, mlc_padding_policy policy,
    mica_ints padding_sizes);
/* @mlc MLCConvolutionDescriptor
 *      +convolutionTransposeDescriptorWithKernelWidth:kernelHeight:inputFeatureChannelCount:outputFeatureChannelCount:
 */
MICA_API mlc_convolution_descriptor mlc_convolution_descriptor_make_transpose(int64_t kernel_width,
                                                                              int64_t kernel_height,
                                                                              int64_t in_channels,
                                                                              int64_t out_channels);
/* @mlc MLCConvolutionDescriptor
 *      +convolutionTransposeDescriptorWithKernelSizes:inputFeatureChannelCount:outputFeatureChannelCount:strides:paddingPolicy:paddingSizes:
 * @mlc MLCConvolutionDescriptor
 *      +convolutionTransposeDescriptorWithKernelSizes:inputFeatureChannelCount:outputFeatureChannelCount:groupCount:strides:dilationRates:paddingPolicy:paddingSizes:
 */
MICA_API mlc_convolution_descriptor mlc_convolution_descriptor_make_transpose_sizes(
    mica_ints kernel_sizes, int64_t in_channels, int64_t out_channels, int64_t groups,
    mica_ints strides, mica_ints dilation_rates, mlc_padding_policy policy,
    mica_ints padding_sizes);
/* in * multiplier channels come out. @mlc MLCConvolutionDescriptor
 *      +depthwiseConvolutionDescriptorWithKernelWidth:kernelHeight:inputFeatureChannelCount:channelMultiplier:
 */
MICA_API mlc_convolution_descriptor mlc_convolution_descriptor_make_depthwise(int64_t kernel_width,
                                                                              int64_t kernel_height,
                                                                              int64_t in_channels,
                                                                              int64_t multiplier);
/* @mlc MLCConvolutionDescriptor
 *      +depthwiseConvolutionDescriptorWithKernelSizes:inputFeatureChannelCount:channelMultiplier:strides:paddingPolicy:paddingSizes:
 * @mlc MLCConvolutionDescriptor
 *      +depthwiseConvolutionDescriptorWithKernelSizes:inputFeatureChannelCount:channelMultiplier:strides:dilationRates:paddingPolicy:paddingSizes:
 */
MICA_API mlc_convolution_descriptor mlc_convolution_descriptor_make_depthwise_sizes(
    mica_ints kernel_sizes, int64_t in_channels, int64_t multiplier, mica_ints strides,
    mica_ints dilation_rates, mlc_padding_policy policy, mica_ints padding_sizes);
/* @mlc MLCConvolutionDescriptor .isConvolutionTranspose */
MICA_API bool mlc_convolution_descriptor_is_transpose(const mlc_convolution_descriptor *descriptor);
/* @mlc MLCConvolutionDescriptor .usesDepthwiseConvolution */
MICA_API bool mlc_convolution_descriptor_is_depthwise(const mlc_convolution_descriptor *descriptor);

/* @mlc MLCPoolingDescriptor */
typedef struct mlc_pooling_descriptor {
    size_t size;
    mlc_pooling_type type;             /* @mlc MLCPoolingDescriptor .poolingType */
    int64_t kernel_width;              /* @mlc MLCPoolingDescriptor .kernelWidth */
    int64_t kernel_height;             /* @mlc MLCPoolingDescriptor .kernelHeight */
    int64_t stride_x;                  /* @mlc MLCPoolingDescriptor .strideInX */
    int64_t stride_y;                  /* @mlc MLCPoolingDescriptor .strideInY */
    int64_t dilation_x;                /* @mlc MLCPoolingDescriptor .dilationRateInX */
    int64_t dilation_y;                /* @mlc MLCPoolingDescriptor .dilationRateInY */
    mlc_padding_policy padding_policy; /* @mlc MLCPoolingDescriptor .paddingPolicy */
    int64_t padding_x;                 /* @mlc MLCPoolingDescriptor .paddingSizeInX */
    int64_t padding_y;                 /* @mlc MLCPoolingDescriptor .paddingSizeInY */
    /* An average counts padded places too. @mlc MLCPoolingDescriptor .countIncludesPadding */
    bool count_includes_padding;
} mlc_pooling_descriptor;
/* Square; padding Same. @mlc MLCPoolingDescriptor +poolingDescriptorWithType:kernelSize:stride: */
MICA_API mlc_pooling_descriptor mlc_pooling_descriptor_make(mlc_pooling_type type,
                                                            int64_t kernel_size, int64_t stride);
/* Lists as in convolutions. @mlc MLCPoolingDescriptor
 *      +maxPoolingDescriptorWithKernelSizes:strides:paddingPolicy:paddingSizes:
 * @mlc MLCPoolingDescriptor
 *      +maxPoolingDescriptorWithKernelSizes:strides:dilationRates:paddingPolicy:paddingSizes: */
MICA_API mlc_pooling_descriptor mlc_pooling_descriptor_make_max(mica_ints kernel_sizes,
                                                                mica_ints strides,
                                                                mica_ints dilation_rates,
                                                                mlc_padding_policy policy,
                                                                mica_ints padding_sizes);
/* @mlc MLCPoolingDescriptor
 *      +averagePoolingDescriptorWithKernelSizes:strides:paddingPolicy:paddingSizes:countIncludesPadding:
 * @mlc MLCPoolingDescriptor
 *      +averagePoolingDescriptorWithKernelSizes:strides:dilationRates:paddingPolicy:paddingSizes:countIncludesPadding:
 */
MICA_API mlc_pooling_descriptor mlc_pooling_descriptor_make_average(
    mica_ints kernel_sizes, mica_ints strides, mica_ints dilation_rates, mlc_padding_policy policy,
    mica_ints padding_sizes, bool count_includes_padding);
/* (sum of squares)^(1/2) over the window. @mlc MLCPoolingDescriptor
 *      +l2NormPoolingDescriptorWithKernelSizes:strides:paddingPolicy:paddingSizes:
 * @mlc MLCPoolingDescriptor
 *      +l2NormPoolingDescriptorWithKernelSizes:strides:dilationRates:paddingPolicy:paddingSizes: */
MICA_API mlc_pooling_descriptor mlc_pooling_descriptor_make_l2_norm(mica_ints kernel_sizes,
                                                                    mica_ints strides,
                                                                    mica_ints dilation_rates,
                                                                    mlc_padding_policy policy,
                                                                    mica_ints padding_sizes);

/* @mlc MLCLossDescriptor */
typedef struct mlc_loss_descriptor {
    size_t size;
    mlc_loss_type type; /* @mlc MLCLossDescriptor .lossType */
    /* None, Sum or Mean. @mlc MLCLossDescriptor .reductionType */
    mlc_reduction_type reduction;
    float weight;          /* @mlc MLCLossDescriptor .weight */
    float label_smoothing; /* @mlc MLCLossDescriptor .labelSmoothing */
    int64_t class_count;   /* @mlc MLCLossDescriptor .classCount */
    float epsilon;         /* @mlc MLCLossDescriptor .epsilon */
    float delta;           /* @mlc MLCLossDescriptor .delta */
} mlc_loss_descriptor;
/* weight 1, label smoothing 0, class count 1, epsilon 1e-7, delta 1.
 * @mlc MLCLossDescriptor +descriptorWithType:reductionType: */
MICA_API mlc_loss_descriptor mlc_loss_descriptor_make(mlc_loss_type type,
                                                      mlc_reduction_type reduction);
/* @mlc MLCLossDescriptor +descriptorWithType:reductionType:weight: */
MICA_API mlc_loss_descriptor mlc_loss_descriptor_make_weight(mlc_loss_type type,
                                                             mlc_reduction_type reduction,
                                                             float weight);
/* @mlc MLCLossDescriptor +descriptorWithType:reductionType:weight:labelSmoothing:classCount: */
MICA_API mlc_loss_descriptor mlc_loss_descriptor_make_classes(mlc_loss_type type,
                                                              mlc_reduction_type reduction,
                                                              float weight, float label_smoothing,
                                                              int64_t class_count);
/* @mlc MLCLossDescriptor
 *      +descriptorWithType:reductionType:weight:labelSmoothing:classCount:epsilon:delta: */
MICA_API mlc_loss_descriptor mlc_loss_descriptor_make_all(mlc_loss_type type,
                                                          mlc_reduction_type reduction,
                                                          float weight, float label_smoothing,
                                                          int64_t class_count, float epsilon,
                                                          float delta);

/* @mlc MLCYOLOLossDescriptor */
typedef struct mlc_yolo_loss_descriptor {
    size_t size;
    int64_t anchor_box_count; /* @mlc MLCYOLOLossDescriptor .anchorBoxCount */
    /* (width, height) of each box, in cells; borrowed until a layer has copied it.
     * @mlc MLCYOLOLossDescriptor .anchorBoxes */
    const float *anchor_boxes;
    bool should_rescore;               /* @mlc MLCYOLOLossDescriptor .shouldRescore */
    float scale_spatial_position_loss; /* @mlc MLCYOLOLossDescriptor .scaleSpatialPositionLoss */
    float scale_spatial_size_loss;     /* @mlc MLCYOLOLossDescriptor .scaleSpatialSizeLoss */
    /* @mlc MLCYOLOLossDescriptor .scaleNoObjectConfidenceLoss */
    float scale_no_object_confidence_loss;
    /* @mlc MLCYOLOLossDescriptor .scaleObjectConfidenceLoss */
    float scale_object_confidence_loss;
    float scale_class_loss; /* @mlc MLCYOLOLossDescriptor .scaleClassLoss */
    /* @mlc MLCYOLOLossDescriptor .minimumIOUForObjectPresence */
    float minimum_iou_for_object_presence;
    /* @mlc MLCYOLOLossDescriptor .maximumIOUForObjectAbsence */
    float maximum_iou_for_object_absence;
} mlc_yolo_loss_descriptor;
/* rescores; scales 10, 10, 5, 100, 2; IOU 0.7 and 0.3.
 * @mlc MLCYOLOLossDescriptor +descriptorWithAnchorBoxes:anchorBoxCount: */
MICA_API mlc_yolo_loss_descriptor mlc_yolo_loss_descriptor_make(const float *anchor_boxes,
                                                                int64_t anchor_box_count);

/* @mlc MLCLSTMDescriptor */
typedef struct mlc_lstm_descriptor {
    size_t size;
    int64_t input_size;     /* @mlc MLCLSTMDescriptor .inputSize */
    int64_t hidden_size;    /* @mlc MLCLSTMDescriptor .hiddenSize */
    int64_t layer_count;    /* @mlc MLCLSTMDescriptor .layerCount */
    bool uses_biases;       /* @mlc MLCLSTMDescriptor .usesBiases */
    bool batch_first;       /* must be true @mlc MLCLSTMDescriptor .batchFirst */
    bool is_bidirectional;  /* @mlc MLCLSTMDescriptor .isBidirectional */
    bool returns_sequences; /* @mlc MLCLSTMDescriptor .returnsSequences */
    float dropout;          /* between layers, in training @mlc MLCLSTMDescriptor .dropout */
    mlc_lstm_result_mode result_mode; /* @mlc MLCLSTMDescriptor .resultMode */
} mlc_lstm_descriptor;
/* Biases, batch first, one direction, sequences returned, no dropout, mode Output.
 * @mlc MLCLSTMDescriptor +descriptorWithInputSize:hiddenSize:layerCount: */
MICA_API mlc_lstm_descriptor mlc_lstm_descriptor_make(int64_t input_size, int64_t hidden_size,
                                                      int64_t layer_count);
/* The rest of the original's forms are fields.
 * @mlc MLCLSTMDescriptor
 *      +descriptorWithInputSize:hiddenSize:layerCount:usesBiases:isBidirectional:dropout:
 * @mlc MLCLSTMDescriptor
 *      +descriptorWithInputSize:hiddenSize:layerCount:usesBiases:batchFirst:isBidirectional:dropout:
 * @mlc MLCLSTMDescriptor
 *      +descriptorWithInputSize:hiddenSize:layerCount:usesBiases:batchFirst:isBidirectional:returnsSequences:dropout:
 * @mlc MLCLSTMDescriptor
 *      +descriptorWithInputSize:hiddenSize:layerCount:usesBiases:batchFirst:isBidirectional:returnsSequences:dropout:resultMode:
 */
MICA_API mlc_lstm_descriptor mlc_lstm_descriptor_make_all(int64_t input_size, int64_t hidden_size,
                                                          int64_t layer_count, bool uses_biases,
                                                          bool batch_first, bool is_bidirectional,
                                                          bool returns_sequences, float dropout,
                                                          mlc_lstm_result_mode result_mode);

/* @mlc MLCMultiheadAttentionDescriptor */
typedef struct mlc_multihead_attention_descriptor {
    size_t size;
    int64_t model_dimension;   /* @mlc MLCMultiheadAttentionDescriptor .modelDimension */
    int64_t key_dimension;     /* @mlc MLCMultiheadAttentionDescriptor .keyDimension */
    int64_t value_dimension;   /* @mlc MLCMultiheadAttentionDescriptor .valueDimension */
    int64_t head_count;        /* @mlc MLCMultiheadAttentionDescriptor .headCount */
    float dropout;             /* @mlc MLCMultiheadAttentionDescriptor .dropout */
    bool has_biases;           /* @mlc MLCMultiheadAttentionDescriptor .hasBiases */
    bool has_attention_biases; /* @mlc MLCMultiheadAttentionDescriptor .hasAttentionBiases */
    bool adds_zero_attention;  /* @mlc MLCMultiheadAttentionDescriptor .addsZeroAttention */
} mlc_multihead_attention_descriptor;
/* Key and value dimensions are the model's; biases, no attention biases, no dropout.
 * @mlc MLCMultiheadAttentionDescriptor +descriptorWithModelDimension:headCount: */
MICA_API mlc_multihead_attention_descriptor
mlc_multihead_attention_descriptor_make(int64_t model_dimension, int64_t head_count);
/* @mlc MLCMultiheadAttentionDescriptor
 *      +descriptorWithModelDimension:keyDimension:valueDimension:headCount:dropout:hasBiases:hasAttentionBiases:addsZeroAttention:
 */
MICA_API mlc_multihead_attention_descriptor mlc_multihead_attention_descriptor_make_all(
    int64_t model_dimension, int64_t key_dimension, int64_t value_dimension, int64_t head_count,
    float dropout, bool has_biases, bool has_attention_biases, bool adds_zero_attention);

/* @mlc MLCEmbeddingDescriptor */
typedef struct mlc_embedding_descriptor {
    size_t size;
    int64_t embedding_count;     /* @mlc MLCEmbeddingDescriptor .embeddingCount */
    int64_t embedding_dimension; /* @mlc MLCEmbeddingDescriptor .embeddingDimension */
    int64_t padding_index;       /* negative: none @mlc MLCEmbeddingDescriptor .paddingIndex */
    float maximum_norm;          /* 0: none @mlc MLCEmbeddingDescriptor .maximumNorm */
    float p_norm;                /* @mlc MLCEmbeddingDescriptor .pNorm */
    bool scales_gradient_by_frequency; /* @mlc MLCEmbeddingDescriptor .scalesGradientByFrequency */
} mlc_embedding_descriptor;
/* No padding index, no maximum norm, p = 2.
 * @mlc MLCEmbeddingDescriptor +descriptorWithEmbeddingCount:embeddingDimension: */
MICA_API mlc_embedding_descriptor mlc_embedding_descriptor_make(int64_t embedding_count,
                                                                int64_t embedding_dimension);
/* @mlc MLCEmbeddingDescriptor
 *      +descriptorWithEmbeddingCount:embeddingDimension:paddingIndex:maximumNorm:pNorm:scalesGradientByFrequency:
 */
MICA_API mlc_embedding_descriptor mlc_embedding_descriptor_make_all(
    int64_t embedding_count, int64_t embedding_dimension, int64_t padding_index, float maximum_norm,
    float p_norm, bool scales_gradient_by_frequency);

/* @mlc MLCMatMulDescriptor */
typedef struct mlc_matmul_descriptor {
    size_t size;
    float alpha;       /* @mlc MLCMatMulDescriptor .alpha */
    bool transposes_x; /* @mlc MLCMatMulDescriptor .transposesX */
    bool transposes_y; /* @mlc MLCMatMulDescriptor .transposesY */
} mlc_matmul_descriptor;
/* alpha 1, nothing transposed. @mlc MLCMatMulDescriptor +descriptor */
MICA_API mlc_matmul_descriptor mlc_matmul_descriptor_make(void);
/* @mlc MLCMatMulDescriptor +descriptorWithAlpha:transposesX:transposesY: */
MICA_API mlc_matmul_descriptor mlc_matmul_descriptor_make_all(float alpha, bool transposes_x,
                                                              bool transposes_y);

/* @mlc MLCOptimizerDescriptor */
typedef struct mlc_optimizer_descriptor {
    size_t size;
    float learning_rate;            /* @mlc MLCOptimizerDescriptor .learningRate */
    float gradient_rescale;         /* @mlc MLCOptimizerDescriptor .gradientRescale */
    bool applies_gradient_clipping; /* @mlc MLCOptimizerDescriptor .appliesGradientClipping */
    float gradient_clip_max;        /* @mlc MLCOptimizerDescriptor .gradientClipMax */
    float gradient_clip_min;        /* @mlc MLCOptimizerDescriptor .gradientClipMin */
    float regularization_scale;     /* @mlc MLCOptimizerDescriptor .regularizationScale */
    mlc_regularization_type regularization; /* @mlc MLCOptimizerDescriptor .regularizationType */
    mlc_gradient_clipping_type clipping;    /* @mlc MLCOptimizerDescriptor .gradientClippingType */
    float maximum_clipping_norm;            /* @mlc MLCOptimizerDescriptor .maximumClippingNorm */
    /* Used instead of the computed global norm when it is not 0.
     * @mlc MLCOptimizerDescriptor .customGlobalNorm */
    float custom_global_norm;
} mlc_optimizer_descriptor;
/* No clipping; clip max and min 1 and -1, maximum norm 1, no custom norm.
 * @mlc MLCOptimizerDescriptor
 *      +descriptorWithLearningRate:gradientRescale:regularizationType:regularizationScale: */
MICA_API mlc_optimizer_descriptor
mlc_optimizer_descriptor_make(float learning_rate, float gradient_rescale,
                              mlc_regularization_type regularization, float regularization_scale);
/* @mlc MLCOptimizerDescriptor
 *      +descriptorWithLearningRate:gradientRescale:appliesGradientClipping:gradientClipMax:gradientClipMin:regularizationType:regularizationScale:
 */
MICA_API mlc_optimizer_descriptor mlc_optimizer_descriptor_make_clipped(
    float learning_rate, float gradient_rescale, bool applies_gradient_clipping,
    float gradient_clip_max, float gradient_clip_min, mlc_regularization_type regularization,
    float regularization_scale);
/* @mlc MLCOptimizerDescriptor
 *      +descriptorWithLearningRate:gradientRescale:appliesGradientClipping:gradientClippingType:gradientClipMax:gradientClipMin:maximumClippingNorm:customGlobalNorm:regularizationType:regularizationScale:
 */
MICA_API mlc_optimizer_descriptor mlc_optimizer_descriptor_make_all(
    float learning_rate, float gradient_rescale, bool applies_gradient_clipping,
    mlc_gradient_clipping_type clipping, float gradient_clip_max, float gradient_clip_min,
    float maximum_clipping_norm, float custom_global_norm, mlc_regularization_type regularization,
    float regularization_scale);

/* ---- optimizers -------------------------------------------------------------------------------
 * The gradient is clipped, then multiplied by gradient_rescale, then the regularization's gradient
 * is added (scale * sign w, or scale * w); AdamW instead takes scale * w off the weights with the
 * learning rate. */

/* v = momentum v + g; w -= rate v (Nesterov: w -= rate (g + momentum v)). @mlc MLCSGDOptimizer
 * @mlc MLCSGDOptimizer +optimizerWithDescriptor: */
MICA_API MICA_MUST_CHECK mica_status mlc_sgd_optimizer_create_default(
    const mlc_optimizer_descriptor *descriptor, mlc_optimizer **out_optimizer);
/* @mlc MLCSGDOptimizer +optimizerWithDescriptor:momentumScale:usesNesterovMomentum: */
MICA_API MICA_MUST_CHECK mica_status
mlc_sgd_optimizer_create(const mlc_optimizer_descriptor *descriptor, float momentum_scale,
                         bool uses_nesterov_momentum, mlc_optimizer **out_optimizer);
/* beta1 0.9, beta2 0.999, epsilon 1e-8, no AMSGrad, time step 1. @mlc MLCAdamOptimizer
 * @mlc MLCAdamOptimizer +optimizerWithDescriptor: */
MICA_API MICA_MUST_CHECK mica_status mlc_adam_optimizer_create_default(
    const mlc_optimizer_descriptor *descriptor, mlc_optimizer **out_optimizer);
/* @mlc MLCAdamOptimizer +optimizerWithDescriptor:beta1:beta2:epsilon:timeStep:
 * @mlc MLCAdamOptimizer +optimizerWithDescriptor:beta1:beta2:epsilon:usesAMSGrad:timeStep: */
MICA_API MICA_MUST_CHECK mica_status mlc_adam_optimizer_create(
    const mlc_optimizer_descriptor *descriptor, float beta1, float beta2, float epsilon,
    bool uses_amsgrad, int64_t time_step, mlc_optimizer **out_optimizer);
/* @mlc MLCAdamWOptimizer
 * @mlc MLCAdamWOptimizer +optimizerWithDescriptor: */
MICA_API MICA_MUST_CHECK mica_status mlc_adamw_optimizer_create_default(
    const mlc_optimizer_descriptor *descriptor, mlc_optimizer **out_optimizer);
/* @mlc MLCAdamWOptimizer +optimizerWithDescriptor:beta1:beta2:epsilon:usesAMSGrad:timeStep: */
MICA_API MICA_MUST_CHECK mica_status mlc_adamw_optimizer_create(
    const mlc_optimizer_descriptor *descriptor, float beta1, float beta2, float epsilon,
    bool uses_amsgrad, int64_t time_step, mlc_optimizer **out_optimizer);
/* No momentum, alpha 0.99, epsilon 1e-8, not centered. @mlc MLCRMSPropOptimizer
 * @mlc MLCRMSPropOptimizer +optimizerWithDescriptor: */
MICA_API MICA_MUST_CHECK mica_status mlc_rmsprop_optimizer_create_default(
    const mlc_optimizer_descriptor *descriptor, mlc_optimizer **out_optimizer);
/* @mlc MLCRMSPropOptimizer +optimizerWithDescriptor:momentumScale:alpha:epsilon:isCentered: */
MICA_API MICA_MUST_CHECK mica_status mlc_rmsprop_optimizer_create(
    const mlc_optimizer_descriptor *descriptor, float momentum_scale, float alpha, float epsilon,
    bool is_centered, mlc_optimizer **out_optimizer);
MICA_API MICA_MUST_CHECK mica_status mlc_optimizer_copy(const mlc_optimizer *optimizer,
                                                        mlc_optimizer **out_optimizer);
MICA_API void mlc_optimizer_retain(mlc_optimizer *optimizer);
MICA_API void mlc_optimizer_release(mlc_optimizer *optimizer);
MICA_API mlc_optimizer_kind mlc_optimizer_kind_of(const mlc_optimizer *optimizer);
/* Buffers of state per parameter: 0 to 3. */
MICA_API int32_t mlc_optimizer_state_count(const mlc_optimizer *optimizer);
/* The rate and whether gradients are clipped may change between executions; nothing is compiled
 * again for the rate. @mlc MLCOptimizer .learningRate */
MICA_API float mlc_optimizer_learning_rate(const mlc_optimizer *optimizer);
MICA_API void mlc_optimizer_set_learning_rate(mlc_optimizer *optimizer, float learning_rate);
/* @mlc MLCOptimizer .gradientRescale */
MICA_API float mlc_optimizer_gradient_rescale(const mlc_optimizer *optimizer);
/* @mlc MLCOptimizer .appliesGradientClipping */
MICA_API bool mlc_optimizer_applies_gradient_clipping(const mlc_optimizer *optimizer);
MICA_API void mlc_optimizer_set_applies_gradient_clipping(mlc_optimizer *optimizer, bool applies);
/* @mlc MLCOptimizer .gradientClipMax */
MICA_API float mlc_optimizer_gradient_clip_max(const mlc_optimizer *optimizer);
/* @mlc MLCOptimizer .gradientClipMin */
MICA_API float mlc_optimizer_gradient_clip_min(const mlc_optimizer *optimizer);
/* @mlc MLCOptimizer .regularizationScale */
MICA_API float mlc_optimizer_regularization_scale(const mlc_optimizer *optimizer);
/* @mlc MLCOptimizer .regularizationType */
MICA_API mlc_regularization_type mlc_optimizer_regularization(const mlc_optimizer *optimizer);
/* @mlc MLCOptimizer .gradientClippingType */
MICA_API mlc_gradient_clipping_type mlc_optimizer_clipping(const mlc_optimizer *optimizer);
/* @mlc MLCOptimizer .maximumClippingNorm */
MICA_API float mlc_optimizer_maximum_clipping_norm(const mlc_optimizer *optimizer);
/* @mlc MLCOptimizer .customGlobalNorm */
MICA_API float mlc_optimizer_custom_global_norm(const mlc_optimizer *optimizer);
/* @mlc MLCSGDOptimizer .momentumScale
 * @mlc MLCRMSPropOptimizer .momentumScale */
MICA_API float mlc_optimizer_momentum_scale(const mlc_optimizer *optimizer);
/* @mlc MLCSGDOptimizer .usesNesterovMomentum */
MICA_API bool mlc_optimizer_uses_nesterov_momentum(const mlc_optimizer *optimizer);
/* @mlc MLCAdamOptimizer .beta1
 * @mlc MLCAdamWOptimizer .beta1 */
MICA_API float mlc_optimizer_beta1(const mlc_optimizer *optimizer);
/* @mlc MLCAdamOptimizer .beta2
 * @mlc MLCAdamWOptimizer .beta2 */
MICA_API float mlc_optimizer_beta2(const mlc_optimizer *optimizer);
/* @mlc MLCAdamOptimizer .epsilon
 * @mlc MLCAdamWOptimizer .epsilon
 * @mlc MLCRMSPropOptimizer .epsilon */
MICA_API float mlc_optimizer_epsilon(const mlc_optimizer *optimizer);
/* @mlc MLCAdamOptimizer .usesAMSGrad
 * @mlc MLCAdamWOptimizer .usesAMSGrad */
MICA_API bool mlc_optimizer_uses_amsgrad(const mlc_optimizer *optimizer);
/* The step that the next update will be: it counts up with every update.
 * @mlc MLCAdamOptimizer .timeStep
 * @mlc MLCAdamWOptimizer .timeStep */
MICA_API int64_t mlc_optimizer_time_step(const mlc_optimizer *optimizer);
/* @mlc MLCRMSPropOptimizer .alpha */
MICA_API float mlc_optimizer_alpha(const mlc_optimizer *optimizer);
/* @mlc MLCRMSPropOptimizer .isCentered */
MICA_API bool mlc_optimizer_is_centered(const mlc_optimizer *optimizer);

#ifdef __cplusplus
}
#endif
#endif
