/* device/cuda/dnn.h: convolutions as cuDNN sees them, and plans for them. */
#ifndef MICA_DEVICE_CUDA_DNN_H
#define MICA_DEVICE_CUDA_DNN_H

#include "device/cuda/parts.h"

enum { CUDA_DNN_AXES = 5, CUDA_DNN_SPATIAL = 3 };

/* In y = x * w, what is computed from the other two. */
typedef enum cuda_dnn_kind {
    CUDA_DNN_FORWARD,
    CUDA_DNN_INPUT_GRADIENT,
    CUDA_DNN_FILTER_GRADIENT,
} cuda_dnn_kind;

/* Axes in the library's order: batch, channels, space; of a filter: output, input channels. */
typedef struct cuda_dnn_tensor {
    int64_t sizes[CUDA_DNN_AXES], strides[CUDA_DNN_AXES];
    int64_t alignment;
} cuda_dnn_tensor;

/* y[n, k, p] = the sum over c, r of x[n, c, p stride + r dilation - low] w[k, c, r]. All of it is
 * compared byte by byte: it is made by {0}. */
typedef struct cuda_dnn_conv {
    int64_t kind, dtype, spatial; /* axes of space: 2 or 3 */
    int64_t is_fast, is_tf32;     /* may differ from run to run; f32 may be rounded to tf32 */
    cuda_dnn_tensor x, w, y;
    int64_t low[CUDA_DNN_SPATIAL], high[CUDA_DNN_SPATIAL];
    int64_t strides[CUDA_DNN_SPATIAL], dilations[CUDA_DNN_SPATIAL];
} cuda_dnn_conv;

typedef struct cuda_dnn_plan cuda_dnn_plan;

/* A plan, shared by all who ask for the same; NULL when there is no library or it has none. */
mica_status cuda_dnn_plan_get(cuda_device *device, const cuda_dnn_conv *conv,
                              cuda_dnn_plan **out_plan);
void cuda_dnn_plan_release(cuda_device *device, cuda_dnn_plan *plan); /* NULL is allowed */
size_t cuda_dnn_workspace(const cuda_dnn_plan *plan);
mica_status cuda_dnn_execute(const cuda_dnn_plan *plan, cuda_stream *stream, mica_address x,
                             mica_address w, mica_address y, mica_address workspace);

#endif
