/* The names of the enumerations' values, and the elements of data types. */
#include "mlc/objects.h"

typedef struct name {
    uint64_t value;
    const char *text;
} name;

static const char *look_up(const name *names, size_t n, uint64_t value) {
    for (size_t i = 0; i < n; i++)
        if (names[i].value == value) return names[i].text;
    return NULL;
}

#define DESCRIBE(function, type, ...)                                                              \
    const char *function(type value) {                                                             \
        static const name names[] = {__VA_ARGS__};                                                 \
        return look_up(names, sizeof names / sizeof *names, (uint64_t)value);                      \
    }

DESCRIBE(mlc_data_type_description, mlc_data_type, {0, "Invalid"}, {1, "Float32"}, {3, "Float16"},
         {4, "Boolean"}, {5, "Int64"}, {7, "Int32"}, {8, "Int8"}, {9, "UInt8"})
DESCRIBE(mlc_random_initializer_type_description, mlc_random_initializer_type, {0, "Invalid"},
         {1, "Uniform"}, {2, "GlorotUniform"}, {3, "Xavier"})
DESCRIBE(mlc_device_type_description, mlc_device_type, {0, "CPU"}, {1, "GPU"}, {2, "Any"},
         {3, "ANE"})
DESCRIBE(mlc_graph_compilation_options_description, uint64_t, {0, "None"}, {1, "DebugLayers"},
         {2, "DisableLayerFusion"}, {4, "LinkGraphs"}, {8, "ComputeAllGradients"})
DESCRIBE(mlc_execution_options_description, uint64_t, {0, "None"},
         {1, "SkipWritingInputDataToDevice"}, {2, "Synchronous"}, {4, "Profiling"},
         {8, "ForwardForInference"}, {16, "PerLayerProfiling"})
DESCRIBE(mlc_arithmetic_operation_description, mlc_arithmetic_operation, {0, "Add"},
         {1, "Subtract"}, {2, "Multiply"}, {3, "Divide"}, {4, "Floor"}, {5, "Round"}, {6, "Ceil"},
         {7, "Sqrt"}, {8, "Rsqrt"}, {9, "Sin"}, {10, "Cos"}, {11, "Tan"}, {12, "Asin"},
         {13, "Acos"}, {14, "Atan"}, {15, "Sinh"}, {16, "Cosh"}, {17, "Tanh"}, {18, "Asinh"},
         {19, "Acosh"}, {20, "Atanh"}, {21, "Pow"}, {22, "Exp"}, {23, "Exp2"}, {24, "Log"},
         {25, "Log2"}, {26, "MultiplyNoNaN"}, {27, "DivideNoNaN"}, {28, "Min"}, {29, "Max"})
DESCRIBE(mlc_comparison_operation_description, mlc_comparison_operation, {0, "Equal"},
         {1, "NotEqual"}, {2, "Less"}, {3, "Greater"}, {4, "LessOrEqual"}, {5, "GreaterOrEqual"},
         {6, "LogicalAND"}, {7, "LogicalOR"}, {8, "LogicalNOT"}, {9, "LogicalNAND"},
         {10, "LogicalNOR"}, {11, "LogicalXOR"})
DESCRIBE(mlc_activation_type_description, mlc_activation_type, {0, "None"}, {1, "ReLU"},
         {2, "Linear"}, {3, "Sigmoid"}, {4, "HardSigmoid"}, {5, "Tanh"}, {6, "Absolute"},
         {7, "SoftPlus"}, {8, "SoftSign"}, {9, "ELU"}, {10, "ReLUN"}, {11, "LogSigmoid"},
         {12, "SELU"}, {13, "CELU"}, {14, "HardShrink"}, {15, "SoftShrink"}, {16, "TanhShrink"},
         {17, "Threshold"}, {18, "GELU"}, {19, "HardSwish"}, {20, "Clamp"})
DESCRIBE(mlc_loss_type_description, mlc_loss_type, {0, "MeanAbsoluteError"},
         {1, "MeanSquaredError"}, {2, "SoftmaxCrossEntropy"}, {3, "SigmoidCrossEntropy"},
         {4, "CategoricalCrossEntropy"}, {5, "Hinge"}, {6, "Huber"}, {7, "CosineDistance"},
         {8, "Log"})
DESCRIBE(mlc_reduction_type_description, mlc_reduction_type, {0, "None"}, {1, "Sum"}, {2, "Mean"},
         {3, "Max"}, {4, "Min"}, {5, "ArgMax"}, {6, "ArgMin"}, {7, "L1Norm"}, {8, "Any"},
         {9, "All"})
DESCRIBE(mlc_regularization_type_description, mlc_regularization_type, {0, "None"}, {1, "L1"},
         {2, "L2"})
DESCRIBE(mlc_gradient_clipping_type_description, mlc_gradient_clipping_type, {0, "ByValue"},
         {1, "ByNorm"}, {2, "ByGlobalNorm"})
DESCRIBE(mlc_convolution_type_description, mlc_convolution_type, {0, "Standard"}, {1, "Transposed"},
         {2, "Depthwise"})
DESCRIBE(mlc_padding_policy_description, mlc_padding_policy, {0, "Same"}, {1, "Valid"},
         {2, "UsePaddingSize"})
DESCRIBE(mlc_padding_type_description, mlc_padding_type, {0, "Zero"}, {1, "Reflect"},
         {2, "Symmetric"}, {3, "Constant"})
DESCRIBE(mlc_pooling_type_description, mlc_pooling_type, {1, "Max"}, {2, "Average"}, {3, "L2Norm"})
DESCRIBE(mlc_sample_mode_description, mlc_sample_mode, {0, "Nearest"}, {1, "Linear"})
DESCRIBE(mlc_softmax_operation_description, mlc_softmax_operation, {0, "Softmax"},
         {1, "LogSoftmax"})
DESCRIBE(mlc_lstm_result_mode_description, mlc_lstm_result_mode, {0, "Output"},
         {1, "OutputAndStates"})
DESCRIBE(mlc_layer_kind_description, mlc_layer_kind, {MLC_ACTIVATION_LAYER, "Activation"},
         {MLC_ARITHMETIC_LAYER, "Arithmetic"},
         {MLC_BATCH_NORMALIZATION_LAYER, "BatchNormalization"},
         {MLC_COMPARISON_LAYER, "Comparison"}, {MLC_CONCATENATION_LAYER, "Concatenation"},
         {MLC_CONVOLUTION_LAYER, "Convolution"}, {MLC_DROPOUT_LAYER, "Dropout"},
         {MLC_EMBEDDING_LAYER, "Embedding"}, {MLC_FULLY_CONNECTED_LAYER, "FullyConnected"},
         {MLC_GATHER_LAYER, "Gather"}, {MLC_GRAM_MATRIX_LAYER, "GramMatrix"},
         {MLC_GROUP_NORMALIZATION_LAYER, "GroupNormalization"},
         {MLC_INSTANCE_NORMALIZATION_LAYER, "InstanceNormalization"},
         {MLC_LAYER_NORMALIZATION_LAYER, "LayerNormalization"}, {MLC_LOSS_LAYER, "Loss"},
         {MLC_LSTM_LAYER, "LSTM"}, {MLC_MATMUL_LAYER, "MatMul"},
         {MLC_MULTIHEAD_ATTENTION_LAYER, "MultiheadAttention"}, {MLC_PADDING_LAYER, "Padding"},
         {MLC_POOLING_LAYER, "Pooling"}, {MLC_REDUCTION_LAYER, "Reduction"},
         {MLC_RESHAPE_LAYER, "Reshape"}, {MLC_SCATTER_LAYER, "Scatter"},
         {MLC_SELECTION_LAYER, "Selection"}, {MLC_SLICE_LAYER, "Slice"},
         {MLC_SOFTMAX_LAYER, "Softmax"}, {MLC_SPLIT_LAYER, "Split"},
         {MLC_TRANSPOSE_LAYER, "Transpose"}, {MLC_UPSAMPLE_LAYER, "Upsample"},
         {MLC_YOLO_LOSS_LAYER, "YOLOLoss"})

/* ---- data types -------------------------------------------------------------------------------*/

static const struct {
    mlc_data_type type;
    mica_dtype dtype;
} data_types[] = {
    {MLC_DATA_TYPE_FLOAT32, MICA_DTYPE_f32},  {MLC_DATA_TYPE_FLOAT16, MICA_DTYPE_f16},
    {MLC_DATA_TYPE_BOOLEAN, MICA_DTYPE_bool}, {MLC_DATA_TYPE_INT64, MICA_DTYPE_i64},
    {MLC_DATA_TYPE_INT32, MICA_DTYPE_i32},    {MLC_DATA_TYPE_INT8, MICA_DTYPE_i8},
    {MLC_DATA_TYPE_UINT8, MICA_DTYPE_u8},
};
enum { N_DATA_TYPES = sizeof data_types / sizeof *data_types };

bool mlc_data_type_dtype(mlc_data_type value, mica_dtype *out_dtype) {
    if (!out_dtype) return false;
    for (int32_t i = 0; i < N_DATA_TYPES; i++)
        if (data_types[i].type == value) {
            *out_dtype = data_types[i].dtype;
            return true;
        }
    return false;
}

bool mlc_data_type_of(mica_dtype dtype, mlc_data_type *out_type) {
    for (int32_t i = 0; i < N_DATA_TYPES; i++)
        if (data_types[i].dtype == dtype) {
            *out_type = data_types[i].type;
            return true;
        }
    return false;
}

size_t mlc_data_type_bytes(mlc_data_type value) {
    mica_dtype dtype;
    return mlc_data_type_dtype(value, &dtype) ? mica_dtype_bytes(dtype) : 0;
}

bool mlc_data_type_is_float(mlc_data_type type) {
    return type == MLC_DATA_TYPE_FLOAT32 || type == MLC_DATA_TYPE_FLOAT16;
}
