/* mica/mlc_types.h: the enumerations, objects and lists of ML Compute. Start with mlc.h. */
#ifndef MICA_MLC_TYPES_H
#define MICA_MLC_TYPES_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- enumerations -----------------------------------------------------------------------------
 * The raw values are the original's. Each has a function that names a value ("Float32"; NULL for a
 * value that does not exist). */

/* @mlc MLCDataType */
typedef enum mlc_data_type {
    MLC_DATA_TYPE_INVALID = 0, /* @mlc MLCDataType Invalid */
    MLC_DATA_TYPE_FLOAT32 = 1, /* @mlc MLCDataType Float32 */
    MLC_DATA_TYPE_FLOAT16 = 3, /* @mlc MLCDataType Float16 */
    MLC_DATA_TYPE_BOOLEAN = 4, /* @mlc MLCDataType Boolean */
    MLC_DATA_TYPE_INT64 = 5,   /* @mlc MLCDataType Int64 */
    MLC_DATA_TYPE_INT32 = 7,   /* @mlc MLCDataType Int32 */
    MLC_DATA_TYPE_INT8 = 8,    /* @mlc MLCDataType Int8 */
    MLC_DATA_TYPE_UINT8 = 9,   /* @mlc MLCDataType UInt8 */
} mlc_data_type;

/* @mlc MLCRandomInitializerType */
typedef enum mlc_random_initializer_type {
    MLC_RANDOM_INITIALIZER_INVALID = 0, /* @mlc MLCRandomInitializerType Invalid */
    /* [0, 1) @mlc MLCRandomInitializerType Uniform */
    MLC_RANDOM_INITIALIZER_UNIFORM = 1,
    /* uniform in +-(6 / (fan_in + fan_out))^(1/2) @mlc
       MLCRandomInitializerType GlorotUniform */
    MLC_RANDOM_INITIALIZER_GLOROT_UNIFORM = 2,
    /* normal, variance 2 / (fan_in + fan_out) @mlc
       MLCRandomInitializerType Xavier */
    MLC_RANDOM_INITIALIZER_XAVIER = 3,
} mlc_random_initializer_type;

/* @mlc MLCDeviceType */
typedef enum mlc_device_type {
    MLC_DEVICE_TYPE_CPU = 0, /* @mlc MLCDeviceType CPU */
    MLC_DEVICE_TYPE_GPU = 1, /* @mlc MLCDeviceType GPU */
    MLC_DEVICE_TYPE_ANY = 2, /* @mlc MLCDeviceType Any */
    MLC_DEVICE_TYPE_ANE = 3, /* @mlc MLCDeviceType ANE */
} mlc_device_type;

/* @mlc MLCGraphCompilationOptions */
typedef enum mlc_graph_compilation_options {
    MLC_COMPILATION_NONE = 0, /* @mlc MLCGraphCompilationOptions None */
    /* Every execution checks the result and the gradient
     * of every layer for NaN and infinity and fails naming
     * the first; layers flagged for debugging have both
     * synchronised to the host. No fusion across layers.
     * @mlc MLCGraphCompilationOptions DebugLayers */
    MLC_COMPILATION_DEBUG_LAYERS = 1,
    /* Layers are kept apart by barriers: nothing merges
     * across them.
     * @mlc MLCGraphCompilationOptions DisableLayerFusion
     */
    MLC_COMPILATION_DISABLE_LAYER_FUSION = 2,
    /* The graph may be linked with others. @mlc
       MLCGraphCompilationOptions LinkGraphs */
    MLC_COMPILATION_LINK_GRAPHS = 4,
    /* Gradients with respect to the graph's inputs too.
     * @mlc MLCGraphCompilationOptions ComputeAllGradients
     */
    MLC_COMPILATION_COMPUTE_ALL_GRADIENTS = 8,
} mlc_graph_compilation_options;

/* @mlc MLCExecutionOptions */
typedef enum mlc_execution_options {
    MLC_EXECUTION_NONE = 0, /* @mlc MLCExecutionOptions None */
    /* Inputs that were written before are used again; their data
     * is not looked at.
     * @mlc MLCExecutionOptions SkipWritingInputDataToDevice */
    MLC_EXECUTION_SKIP_WRITING_INPUT_DATA_TO_DEVICE = 1,
    /* Returns when all is done, the handler included. @mlc
       MLCExecutionOptions Synchronous */
    MLC_EXECUTION_SYNCHRONOUS = 2,
    /* The handler is told the seconds the device took. @mlc
       MLCExecutionOptions Profiling */
    MLC_EXECUTION_PROFILING = 4,
    /* A training graph's forward pass as an inference graph would
     * run it: no dropout, running statistics used and not updated.
     * @mlc MLCExecutionOptions ForwardForInference */
    MLC_EXECUTION_FORWARD_FOR_INFERENCE = 8,
    /* Times every layer alone as well; see
     * mlc_graph_layer_seconds.
     * @mlc MLCExecutionOptions PerLayerProfiling */
    MLC_EXECUTION_PER_LAYER_PROFILING = 0x10,
} mlc_execution_options;

/* @mlc MLCArithmeticOperation */
typedef enum mlc_arithmetic_operation {
    MLC_ARITHMETIC_OPERATION_ADD = 0,      /* @mlc MLCArithmeticOperation Add */
    MLC_ARITHMETIC_OPERATION_SUBTRACT = 1, /* @mlc MLCArithmeticOperation Subtract */
    MLC_ARITHMETIC_OPERATION_MULTIPLY = 2, /* @mlc MLCArithmeticOperation Multiply */
    MLC_ARITHMETIC_OPERATION_DIVIDE = 3,   /* @mlc MLCArithmeticOperation Divide */
    MLC_ARITHMETIC_OPERATION_FLOOR = 4,    /* @mlc MLCArithmeticOperation Floor */
    MLC_ARITHMETIC_OPERATION_ROUND = 5,    /* @mlc MLCArithmeticOperation Round */
    MLC_ARITHMETIC_OPERATION_CEIL = 6,     /* @mlc MLCArithmeticOperation Ceil */
    MLC_ARITHMETIC_OPERATION_SQRT = 7,     /* @mlc MLCArithmeticOperation Sqrt */
    MLC_ARITHMETIC_OPERATION_RSQRT = 8,    /* @mlc MLCArithmeticOperation Rsqrt */
    MLC_ARITHMETIC_OPERATION_SIN = 9,      /* @mlc MLCArithmeticOperation Sin */
    MLC_ARITHMETIC_OPERATION_COS = 10,     /* @mlc MLCArithmeticOperation Cos */
    MLC_ARITHMETIC_OPERATION_TAN = 11,     /* @mlc MLCArithmeticOperation Tan */
    MLC_ARITHMETIC_OPERATION_ASIN = 12,    /* @mlc MLCArithmeticOperation Asin */
    MLC_ARITHMETIC_OPERATION_ACOS = 13,    /* @mlc MLCArithmeticOperation Acos */
    MLC_ARITHMETIC_OPERATION_ATAN = 14,    /* @mlc MLCArithmeticOperation Atan */
    MLC_ARITHMETIC_OPERATION_SINH = 15,    /* @mlc MLCArithmeticOperation Sinh */
    MLC_ARITHMETIC_OPERATION_COSH = 16,    /* @mlc MLCArithmeticOperation Cosh */
    MLC_ARITHMETIC_OPERATION_TANH = 17,    /* @mlc MLCArithmeticOperation Tanh */
    MLC_ARITHMETIC_OPERATION_ASINH = 18,   /* @mlc MLCArithmeticOperation Asinh */
    MLC_ARITHMETIC_OPERATION_ACOSH = 19,   /* @mlc MLCArithmeticOperation Acosh */
    MLC_ARITHMETIC_OPERATION_ATANH = 20,   /* @mlc MLCArithmeticOperation Atanh */
    MLC_ARITHMETIC_OPERATION_POW = 21,     /* @mlc MLCArithmeticOperation Pow */
    MLC_ARITHMETIC_OPERATION_EXP = 22,     /* @mlc MLCArithmeticOperation Exp */
    MLC_ARITHMETIC_OPERATION_EXP2 = 23,    /* @mlc MLCArithmeticOperation Exp2 */
    MLC_ARITHMETIC_OPERATION_LOG = 24,     /* @mlc MLCArithmeticOperation Log */
    MLC_ARITHMETIC_OPERATION_LOG2 = 25,    /* @mlc MLCArithmeticOperation Log2 */
    /* x y, but 0 where y = 0. @mlc MLCArithmeticOperation
       MultiplyNoNaN */
    MLC_ARITHMETIC_OPERATION_MULTIPLY_NO_NAN = 26,
    /* x / y, but 0 where y = 0. @mlc MLCArithmeticOperation
       DivideNoNaN */
    MLC_ARITHMETIC_OPERATION_DIVIDE_NO_NAN = 27,
    MLC_ARITHMETIC_OPERATION_MIN = 28, /* @mlc MLCArithmeticOperation Min */
    MLC_ARITHMETIC_OPERATION_MAX = 29, /* @mlc MLCArithmeticOperation Max */
} mlc_arithmetic_operation;

/* The result is Boolean. Logical operations take numbers too: what is not 0 is true. */
/* @mlc MLCComparisonOperation */
typedef enum mlc_comparison_operation {
    MLC_COMPARISON_OPERATION_EQUAL = 0,            /* @mlc MLCComparisonOperation Equal */
    MLC_COMPARISON_OPERATION_NOT_EQUAL = 1,        /* @mlc MLCComparisonOperation NotEqual */
    MLC_COMPARISON_OPERATION_LESS = 2,             /* @mlc MLCComparisonOperation Less */
    MLC_COMPARISON_OPERATION_GREATER = 3,          /* @mlc MLCComparisonOperation Greater */
    MLC_COMPARISON_OPERATION_LESS_OR_EQUAL = 4,    /* @mlc MLCComparisonOperation LessOrEqual */
    MLC_COMPARISON_OPERATION_GREATER_OR_EQUAL = 5, /* @mlc MLCComparisonOperation GreaterOrEqual */
    MLC_COMPARISON_OPERATION_LOGICAL_AND = 6,      /* @mlc MLCComparisonOperation LogicalAND */
    MLC_COMPARISON_OPERATION_LOGICAL_OR = 7,       /* @mlc MLCComparisonOperation LogicalOR */
    MLC_COMPARISON_OPERATION_LOGICAL_NOT = 8,      /* @mlc MLCComparisonOperation LogicalNOT */
    MLC_COMPARISON_OPERATION_LOGICAL_NAND = 9,     /* @mlc MLCComparisonOperation LogicalNAND */
    MLC_COMPARISON_OPERATION_LOGICAL_NOR = 10,     /* @mlc MLCComparisonOperation LogicalNOR */
    MLC_COMPARISON_OPERATION_LOGICAL_XOR = 11,     /* @mlc MLCComparisonOperation LogicalXOR */
} mlc_comparison_operation;

/* @mlc MLCActivationType */
typedef enum mlc_activation_type {
    /* x @mlc MLCActivationType None */
    MLC_ACTIVATION_NONE = 0,
    /* x where x >= 0, else a x @mlc MLCActivationType ReLU */
    MLC_ACTIVATION_RELU = 1,
    /* a x + b @mlc MLCActivationType Linear */
    MLC_ACTIVATION_LINEAR = 2,
    /* 1 / (1 + e^-x) @mlc MLCActivationType Sigmoid */
    MLC_ACTIVATION_SIGMOID = 3,
    /* min(max(a x + b, 0), 1) @mlc MLCActivationType HardSigmoid */
    MLC_ACTIVATION_HARD_SIGMOID = 4,
    /* a tanh(b x) @mlc MLCActivationType Tanh */
    MLC_ACTIVATION_TANH = 5,
    /* |x| @mlc MLCActivationType Absolute */
    MLC_ACTIVATION_ABSOLUTE = 6,
    /* a log(1 + e^(b x)) @mlc MLCActivationType SoftPlus */
    MLC_ACTIVATION_SOFT_PLUS = 7,
    /* x / (1 + |x|) @mlc MLCActivationType SoftSign */
    MLC_ACTIVATION_SOFT_SIGN = 8,
    /* x where x >= 0, else a (e^x - 1) @mlc MLCActivationType ELU */
    MLC_ACTIVATION_ELU = 9,
    /* min(x >= 0 ? x : a x, b) @mlc MLCActivationType ReLUN */
    MLC_ACTIVATION_RELUN = 10,
    /* -log(1 + e^-x) @mlc MLCActivationType LogSigmoid */
    MLC_ACTIVATION_LOG_SIGMOID = 11,
    /* s (x >= 0 ? x : t (e^x - 1)) @mlc MLCActivationType SELU */
    MLC_ACTIVATION_SELU = 12,
    /* max(0, x) + min(0, a (e^(x / a) - 1)) @mlc MLCActivationType
       CELU */
    MLC_ACTIVATION_CELU = 13,
    /* x where |x| > a, else 0 @mlc MLCActivationType HardShrink */
    MLC_ACTIVATION_HARD_SHRINK = 14,
    /* x - a above a, x + a below -a, else 0 @mlc MLCActivationType
       SoftShrink */
    MLC_ACTIVATION_SOFT_SHRINK = 15,
    /* x - tanh x @mlc MLCActivationType TanhShrink */
    MLC_ACTIVATION_TANH_SHRINK = 16,
    /* x where x > a, else b @mlc MLCActivationType Threshold */
    MLC_ACTIVATION_THRESHOLD = 17,
    /* x (1 + tanh((2 / pi)^(1/2) (x + 0.044715 x^3))) / 2 @mlc
       MLCActivationType GELU */
    MLC_ACTIVATION_GELU = 18,
    /* 0 below -3, x above 3, else x (x + 3) / 6 @mlc
       MLCActivationType HardSwish */
    MLC_ACTIVATION_HARD_SWISH = 19,
    /* min(max(x, a), b) @mlc MLCActivationType Clamp */
    MLC_ACTIVATION_CLAMP = 20,
} mlc_activation_type;

/* @mlc MLCLossType */
typedef enum mlc_loss_type {
    MLC_LOSS_MEAN_ABSOLUTE_ERROR = 0,       /* @mlc MLCLossType MeanAbsoluteError */
    MLC_LOSS_MEAN_SQUARED_ERROR = 1,        /* @mlc MLCLossType MeanSquaredError */
    MLC_LOSS_SOFTMAX_CROSS_ENTROPY = 2,     /* @mlc MLCLossType SoftmaxCrossEntropy */
    MLC_LOSS_SIGMOID_CROSS_ENTROPY = 3,     /* @mlc MLCLossType SigmoidCrossEntropy */
    MLC_LOSS_CATEGORICAL_CROSS_ENTROPY = 4, /* @mlc MLCLossType CategoricalCrossEntropy */
    MLC_LOSS_HINGE = 5,                     /* @mlc MLCLossType Hinge */
    MLC_LOSS_HUBER = 6,                     /* @mlc MLCLossType Huber */
    MLC_LOSS_COSINE_DISTANCE = 7,           /* @mlc MLCLossType CosineDistance */
    MLC_LOSS_LOG = 8,                       /* @mlc MLCLossType Log */
} mlc_loss_type;

/* A reduced dimension stays, with size 1. ArgMax and ArgMin give Int32, Any and All Boolean. */
/* @mlc MLCReductionType */
typedef enum mlc_reduction_type {
    MLC_REDUCTION_NONE = 0,    /* @mlc MLCReductionType None */
    MLC_REDUCTION_SUM = 1,     /* @mlc MLCReductionType Sum */
    MLC_REDUCTION_MEAN = 2,    /* @mlc MLCReductionType Mean */
    MLC_REDUCTION_MAX = 3,     /* @mlc MLCReductionType Max */
    MLC_REDUCTION_MIN = 4,     /* @mlc MLCReductionType Min */
    MLC_REDUCTION_ARG_MAX = 5, /* @mlc MLCReductionType ArgMax */
    MLC_REDUCTION_ARG_MIN = 6, /* @mlc MLCReductionType ArgMin */
    MLC_REDUCTION_L1_NORM = 7, /* @mlc MLCReductionType L1Norm */
    MLC_REDUCTION_ANY = 8,     /* @mlc MLCReductionType Any */
    MLC_REDUCTION_ALL = 9,     /* @mlc MLCReductionType All */
} mlc_reduction_type;

/* @mlc MLCRegularizationType */
typedef enum mlc_regularization_type {
    MLC_REGULARIZATION_NONE = 0, /* @mlc MLCRegularizationType None */
    MLC_REGULARIZATION_L1 = 1,   /* @mlc MLCRegularizationType L1 */
    MLC_REGULARIZATION_L2 = 2,   /* @mlc MLCRegularizationType L2 */
} mlc_regularization_type;

/* @mlc MLCGradientClippingType */
typedef enum mlc_gradient_clipping_type {
    MLC_GRADIENT_CLIPPING_BY_VALUE = 0,       /* @mlc MLCGradientClippingType ByValue */
    MLC_GRADIENT_CLIPPING_BY_NORM = 1,        /* @mlc MLCGradientClippingType ByNorm */
    MLC_GRADIENT_CLIPPING_BY_GLOBAL_NORM = 2, /* @mlc MLCGradientClippingType ByGlobalNorm */
} mlc_gradient_clipping_type;

/* @mlc MLCConvolutionType */
typedef enum mlc_convolution_type {
    MLC_CONVOLUTION_STANDARD = 0,   /* @mlc MLCConvolutionType Standard */
    MLC_CONVOLUTION_TRANSPOSED = 1, /* @mlc MLCConvolutionType Transposed */
    MLC_CONVOLUTION_DEPTHWISE = 2,  /* @mlc MLCConvolutionType Depthwise */
} mlc_convolution_type;

/* @mlc MLCPaddingPolicy */
typedef enum mlc_padding_policy {
    MLC_PADDING_SAME = 0,             /* @mlc MLCPaddingPolicy Same */
    MLC_PADDING_VALID = 1,            /* @mlc MLCPaddingPolicy Valid */
    MLC_PADDING_USE_PADDING_SIZE = 2, /* @mlc MLCPaddingPolicy UsePaddingSize */
} mlc_padding_policy;

/* @mlc MLCPaddingType */
typedef enum mlc_padding_type {
    MLC_PADDING_ZERO = 0,      /* @mlc MLCPaddingType Zero */
    MLC_PADDING_REFLECT = 1,   /* @mlc MLCPaddingType Reflect */
    MLC_PADDING_SYMMETRIC = 2, /* @mlc MLCPaddingType Symmetric */
    MLC_PADDING_CONSTANT = 3,  /* @mlc MLCPaddingType Constant */
} mlc_padding_type;

/* @mlc MLCPoolingType */
typedef enum mlc_pooling_type {
    MLC_POOLING_MAX = 1,     /* @mlc MLCPoolingType Max */
    MLC_POOLING_AVERAGE = 2, /* @mlc MLCPoolingType Average */
    MLC_POOLING_L2_NORM = 3, /* @mlc MLCPoolingType L2Norm */
} mlc_pooling_type;

/* @mlc MLCSampleMode */
typedef enum mlc_sample_mode {
    MLC_SAMPLE_NEAREST = 0, /* @mlc MLCSampleMode Nearest */
    MLC_SAMPLE_LINEAR = 1,  /* @mlc MLCSampleMode Linear */
} mlc_sample_mode;

/* @mlc MLCSoftmaxOperation */
typedef enum mlc_softmax_operation {
    MLC_SOFTMAX = 0,     /* @mlc MLCSoftmaxOperation Softmax */
    MLC_LOG_SOFTMAX = 1, /* @mlc MLCSoftmaxOperation LogSoftmax */
} mlc_softmax_operation;

/* @mlc MLCLSTMResultMode */
typedef enum mlc_lstm_result_mode {
    MLC_LSTM_OUTPUT = 0, /* @mlc MLCLSTMResultMode Output */
    /* (output, hidden states, cell states) @mlc MLCLSTMResultMode
       OutputAndStates */
    MLC_LSTM_OUTPUT_AND_STATES = 1,
} mlc_lstm_result_mode;

/* The classes of layers, in the order of the original's list. */
typedef enum mlc_layer_kind {
    MLC_ACTIVATION_LAYER,
    MLC_ARITHMETIC_LAYER,
    MLC_BATCH_NORMALIZATION_LAYER,
    MLC_COMPARISON_LAYER,
    MLC_CONCATENATION_LAYER,
    MLC_CONVOLUTION_LAYER,
    MLC_DROPOUT_LAYER,
    MLC_EMBEDDING_LAYER,
    MLC_FULLY_CONNECTED_LAYER,
    MLC_GATHER_LAYER,
    MLC_GRAM_MATRIX_LAYER,
    MLC_GROUP_NORMALIZATION_LAYER,
    MLC_INSTANCE_NORMALIZATION_LAYER,
    MLC_LAYER_NORMALIZATION_LAYER,
    MLC_LOSS_LAYER,
    MLC_LSTM_LAYER,
    MLC_MATMUL_LAYER,
    MLC_MULTIHEAD_ATTENTION_LAYER,
    MLC_PADDING_LAYER,
    MLC_POOLING_LAYER,
    MLC_REDUCTION_LAYER,
    MLC_RESHAPE_LAYER,
    MLC_SCATTER_LAYER,
    MLC_SELECTION_LAYER,
    MLC_SLICE_LAYER,
    MLC_SOFTMAX_LAYER,
    MLC_SPLIT_LAYER,
    MLC_TRANSPOSE_LAYER,
    MLC_UPSAMPLE_LAYER,
    MLC_YOLO_LOSS_LAYER,
    MLC_LAYER_KINDS
} mlc_layer_kind;

typedef enum mlc_optimizer_kind {
    MLC_SGD_OPTIMIZER,
    MLC_ADAM_OPTIMIZER,
    MLC_ADAMW_OPTIMIZER,
    MLC_RMSPROP_OPTIMIZER,
} mlc_optimizer_kind;

/* @mlc MLCDataType MLCDataTypeDebugDescription() */
MICA_API const char *mlc_data_type_description(mlc_data_type value);
/* @mlc MLCRandomInitializerType MLCRandomInitializerTypeDebugDescription() */
MICA_API const char *mlc_random_initializer_type_description(mlc_random_initializer_type value);
/* @mlc MLCDeviceType MLCDeviceTypeDebugDescription() */
MICA_API const char *mlc_device_type_description(mlc_device_type value);
/* One option; of several together NULL.
 * @mlc MLCGraphCompilationOptions MLCGraphCompilationOptionsDebugDescription() */
MICA_API const char *mlc_graph_compilation_options_description(uint64_t value);
/* @mlc MLCExecutionOptions MLCExecutionOptionsDebugDescription() */
MICA_API const char *mlc_execution_options_description(uint64_t value);
/* @mlc MLCArithmeticOperation MLCArithmeticOperationDebugDescription() */
MICA_API const char *mlc_arithmetic_operation_description(mlc_arithmetic_operation value);
/* @mlc MLCComparisonOperation MLCComparisonOperationDebugDescription() */
MICA_API const char *mlc_comparison_operation_description(mlc_comparison_operation value);
/* @mlc MLCActivationType MLCActivationTypeDebugDescription() */
MICA_API const char *mlc_activation_type_description(mlc_activation_type value);
/* @mlc MLCLossType MLCLossTypeDebugDescription() */
MICA_API const char *mlc_loss_type_description(mlc_loss_type value);
/* @mlc MLCReductionType MLCReductionTypeDebugDescription() */
MICA_API const char *mlc_reduction_type_description(mlc_reduction_type value);
/* @mlc MLCRegularizationType MLCRegularizationTypeDebugDescription() */
MICA_API const char *mlc_regularization_type_description(mlc_regularization_type value);
/* @mlc MLCGradientClippingType MLCGradientClippingTypeDebugDescription() */
MICA_API const char *mlc_gradient_clipping_type_description(mlc_gradient_clipping_type value);
/* @mlc MLCConvolutionType MLCConvolutionTypeDebugDescription() */
MICA_API const char *mlc_convolution_type_description(mlc_convolution_type value);
/* @mlc MLCPaddingPolicy MLCPaddingPolicyDebugDescription() */
MICA_API const char *mlc_padding_policy_description(mlc_padding_policy value);
/* @mlc MLCPaddingType MLCPaddingTypeDebugDescription() */
MICA_API const char *mlc_padding_type_description(mlc_padding_type value);
/* @mlc MLCPoolingType MLCPoolingTypeDebugDescription() */
MICA_API const char *mlc_pooling_type_description(mlc_pooling_type value);
/* @mlc MLCSampleMode MLCSampleModeDebugDescription() */
MICA_API const char *mlc_sample_mode_description(mlc_sample_mode value);
/* @mlc MLCSoftmaxOperation MLCSoftmaxOperationDebugDescription() */
MICA_API const char *mlc_softmax_operation_description(mlc_softmax_operation value);
/* @mlc MLCLSTMResultMode MLCLSTMResultModeDebugDescription() */
MICA_API const char *mlc_lstm_result_mode_description(mlc_lstm_result_mode value);
/* "Activation", "MultiheadAttention", ...: the class without MLC and Layer. */
MICA_API const char *mlc_layer_kind_description(mlc_layer_kind value);

/* Bytes of one element; 0 for a type that does not exist. */
MICA_API size_t mlc_data_type_bytes(mlc_data_type value);
/* Mica's dtype of the same elements; false for a type that does not exist. */
MICA_API bool mlc_data_type_dtype(mlc_data_type value, mica_dtype *out_dtype);

/* ---- objects ----------------------------------------------------------------------------------*/

typedef struct mlc_device mlc_device;                       /* @mlc MLCDevice */
typedef struct mlc_tensor_descriptor mlc_tensor_descriptor; /* @mlc MLCTensorDescriptor */
typedef struct mlc_tensor_data mlc_tensor_data;             /* @mlc MLCTensorData */
typedef struct mlc_tensor mlc_tensor;                       /* @mlc MLCTensor */
typedef struct mlc_tensor_parameter mlc_tensor_parameter;   /* @mlc MLCTensorParameter */
/* One buffer of an optimizer's state on a device. @mlc MLCTensorOptimizerDeviceData */
typedef struct mlc_optimizer_device_data mlc_optimizer_device_data;
/* One type for all classes of layers; see mlc_layer_kind_of. Properties of another class read as
 * 0, NULL or the empty list. @mlc MLCLayer */
typedef struct mlc_layer mlc_layer;
/* @mlc MLCOptimizer */
typedef struct mlc_optimizer mlc_optimizer;
/* Inference and training graphs are graphs: every mlc_graph_* function takes them. A function for
 * one kind answers INVALID_ARGUMENT for another. @mlc MLCGraph */
typedef struct mlc_graph mlc_graph;
typedef struct mlc_graph mlc_inference_graph; /* @mlc MLCInferenceGraph */
typedef struct mlc_graph mlc_training_graph;  /* @mlc MLCTrainingGraph */

/* Borrowed lists. */
typedef struct mlc_tensors {
    mlc_tensor *const *data;
    int32_t n;
} mlc_tensors;
typedef struct mlc_parameters {
    mlc_tensor_parameter *const *data;
    int32_t n;
} mlc_parameters;
typedef struct mlc_layers {
    mlc_layer *const *data;
    int32_t n;
} mlc_layers;
typedef struct mlc_graphs {
    mlc_graph *const *data;
    int32_t n;
} mlc_graphs;
typedef struct mlc_data_list {
    mlc_tensor_data *const *data;
    int32_t n;
} mlc_data_list;
typedef struct mlc_device_data_list {
    mlc_optimizer_device_data *const *data;
    int32_t n;
} mlc_device_data_list;

typedef struct mlc_named_tensor {
    const char *name;
    mlc_tensor *tensor;
} mlc_named_tensor;
typedef struct mlc_named_tensors {
    const mlc_named_tensor *data;
    int32_t n;
} mlc_named_tensors;
typedef struct mlc_named_item {
    const char *name;
    mlc_tensor_data *data;
} mlc_named_item;
typedef struct mlc_named_data {
    const mlc_named_item *data;
    int32_t n;
} mlc_named_data;

/* MLC_TENSORS(a, b), MLC_NAMED_TENSORS({"x", x}, {"y", y}): lists that live to the end of their
 * block. */
#define MLC_LIST_OF(list, element, ...)                                                            \
    ((list){(element[]){__VA_ARGS__},                                                              \
            (int32_t)(sizeof((element[]){__VA_ARGS__}) / sizeof(element))})
#define MLC_TENSORS(...) MLC_LIST_OF(mlc_tensors, mlc_tensor *const, __VA_ARGS__)
#define MLC_PARAMETERS(...) MLC_LIST_OF(mlc_parameters, mlc_tensor_parameter *const, __VA_ARGS__)
#define MLC_GRAPHS(...) MLC_LIST_OF(mlc_graphs, mlc_graph *const, __VA_ARGS__)
#define MLC_DATA_LIST(...) MLC_LIST_OF(mlc_data_list, mlc_tensor_data *const, __VA_ARGS__)
#define MLC_NAMED_TENSORS(...) MLC_LIST_OF(mlc_named_tensors, const mlc_named_tensor, __VA_ARGS__)
#define MLC_NAMED_DATA(...) MLC_LIST_OF(mlc_named_data, const mlc_named_item, __VA_ARGS__)
#define MLC_NO_TENSORS ((mlc_named_tensors){NULL, 0})
#define MLC_NO_LIST ((mlc_tensors){NULL, 0})

#ifdef __cplusplus
}
#endif
#include "mlc_names.h"

#endif
