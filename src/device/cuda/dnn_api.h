/* device/cuda/dnn_api.h: the part of cuDNN 9 that is used: graphs of operations, described by
 * objects with numbered attributes. Found by load.c. */
#ifndef MICA_DEVICE_CUDA_DNN_API_H
#define MICA_DEVICE_CUDA_DNN_API_H

#include "device/cuda/api.h"

typedef struct cudnnContext *cudnnHandle_t;
typedef void *cudnnObject;

enum {
    CUDNN_SUCCESS = 0,
    /* what an object is */
    CUDNN_CONVOLUTION = 1,
    CUDNN_ENGINE = 2,
    CUDNN_ENGINE_CONFIG = 3,
    CUDNN_HEURISTIC = 4,
    CUDNN_EXECUTION_PLAN = 5,
    CUDNN_OPERATION_FORWARD = 10,
    CUDNN_OPERATION_FILTER_GRADIENT = 11,
    CUDNN_OPERATION_INPUT_GRADIENT = 12,
    CUDNN_OPERATION_GRAPH = 15,
    CUDNN_VARIANT_PACK = 16,
    CUDNN_TENSOR = 17,
    /* what an attribute is made of */
    CUDNN_OF_HANDLE = 0,
    CUDNN_OF_DATA_TYPE = 1,
    CUDNN_OF_INT64 = 3,
    CUDNN_OF_FLOAT = 4,
    CUDNN_OF_DOUBLE = 5,
    CUDNN_OF_POINTER = 6,
    CUDNN_OF_CONVOLUTION_MODE = 7,
    CUDNN_OF_HEURISTIC_MODE = 8,
    CUDNN_OF_NUMERICAL_NOTE = 11,
    CUDNN_OF_OBJECT = 15,
    CUDNN_OF_BEHAVIOR_NOTE = 19,
    /* attributes */
    CUDNN_CONVOLUTION_COMPUTES_IN = 100,
    CUDNN_CONVOLUTION_MODE = 101,
    CUDNN_CONVOLUTION_DILATIONS = 102,
    CUDNN_CONVOLUTION_STRIDES = 103,
    CUDNN_CONVOLUTION_HIGH = 104,
    CUDNN_CONVOLUTION_LOW = 105,
    CUDNN_CONVOLUTION_SPATIAL = 106,
    CUDNN_HEURISTIC_MODE = 200,
    CUDNN_HEURISTIC_GRAPH = 201,
    CUDNN_HEURISTIC_RESULTS = 202,
    CUDNN_CONFIG_ENGINE = 300,
    CUDNN_PLAN_HANDLE = 400,
    CUDNN_PLAN_CONFIG = 401,
    CUDNN_PLAN_WORKSPACE = 402,
    CUDNN_FORWARD_ALPHA = 700, /* of the three: alpha, beta, convolution, w, x, y */
    CUDNN_INPUT_GRADIENT_ALPHA = 706,
    CUDNN_FILTER_GRADIENT_ALPHA = 712,
    CUDNN_GRAPH_HANDLE = 800,
    CUDNN_GRAPH_OPERATIONS = 801,
    CUDNN_TENSOR_ALIGNMENT = 900,
    CUDNN_TENSOR_DATA_TYPE = 901,
    CUDNN_TENSOR_SIZES = 902,
    CUDNN_TENSOR_STRIDES = 903,
    CUDNN_TENSOR_ID = 906,
    CUDNN_PACK_IDS = 1000,
    CUDNN_PACK_POINTERS = 1001,
    CUDNN_PACK_WORKSPACE = 1003,
    CUDNN_ENGINE_NUMBER = 1301,
    CUDNN_ENGINE_NUMERICAL_NOTES = 1303,
    CUDNN_ENGINE_BEHAVIOR_NOTES = 1305,
    /* their values */
    CUDNN_F32 = 0,
    CUDNN_F64 = 1,
    CUDNN_F16 = 2,
    CUDNN_BF16 = 9,
    CUDNN_CROSS_CORRELATION = 1,
    CUDNN_MODE_FALLBACK = 2,
    CUDNN_MODE_A = 3,
    CUDNN_NOTE_TENSOR_CORE = 0,
    CUDNN_NOTE_DOWN_CONVERTS = 1,
    CUDNN_NOTE_REDUCED_PRECISION = 2,
    CUDNN_NOTE_NONDETERMINISTIC = 4,
    CUDNN_NOTE_COMPILES = 0, /* of behavior */
};

#define MICA_CUDA_DNN_API(X)                                                                       \
    X(create, cudnnCreate, (cudnnHandle_t * handle))                                               \
    X(destroy, cudnnDestroy, (cudnnHandle_t handle))                                               \
    X(set_stream, cudnnSetStream, (cudnnHandle_t handle, CUstream stream))                         \
    X(object_create, cudnnBackendCreateDescriptor, (int what, cudnnObject *object))                \
    X(object_destroy, cudnnBackendDestroyDescriptor, (cudnnObject object))                         \
    X(finalize, cudnnBackendFinalize, (cudnnObject object))                                        \
    X(set, cudnnBackendSetAttribute,                                                               \
      (cudnnObject object, int attribute, int of, int64_t n, const void *elements))                \
    X(get, cudnnBackendGetAttribute,                                                               \
      (cudnnObject object, int attribute, int of, int64_t asked, int64_t *n, void *elements))      \
    X(execute, cudnnBackendExecute, (cudnnHandle_t handle, cudnnObject plan, cudnnObject pack))

typedef struct mica_cuda_dnn_api {
#define X(field, symbol, parameters) int(*field) parameters;
    MICA_CUDA_DNN_API(X)
#undef X
} mica_cuda_dnn_api;

/* cuDNN, which is not needed: without it convolutions have kernels of our own. MICA_CUDNN=off:
 * without. */
mica_status mica_cuda_load_dnn(const mica_cuda_dnn_api **out_api);

#endif
