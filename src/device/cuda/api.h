/* device/cuda/api.h: the parts of the CUDA driver and of NVRTC that are used, loaded at run time.
 *
 * No CUDA header is needed to build: the handful of types is declared here. Both libraries are
 * loaded once, through the symbol tables below, and stay loaded. */
#ifndef MICA_DEVICE_CUDA_API_H
#define MICA_DEVICE_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef int CUresult, CUdevice, nvrtcResult;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct _nvrtcProgram *nvrtcProgram;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_NOT_READY = 600,
    CU_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_STREAM_NON_BLOCKING = 1,
    CU_CAPTURE_MODE_RELAXED = 2,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_FUNCTION_MOST_SHARED_BYTES = 8,
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
};

/* name in the struct, symbol in the library, parameters */
#define MICA_CUDA_DRIVER_API(X)                                                                    \
    X(init, cuInit, (unsigned flags))                                                              \
    X(driver_version, cuDriverGetVersion, (int *version))                                          \
    X(error_name, cuGetErrorName, (CUresult result, const char **text))                            \
    X(error_string, cuGetErrorString, (CUresult result, const char **text))                        \
    X(device_count, cuDeviceGetCount, (int *count))                                                \
    X(device_get, cuDeviceGet, (CUdevice * device, int ordinal))                                   \
    X(device_name, cuDeviceGetName, (char *name, int capacity, CUdevice device))                   \
    X(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                       \
    X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))        \
    X(context_retain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))            \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                            \
    X(context_push, cuCtxPushCurrent_v2, (CUcontext context))                                      \
    X(context_pop, cuCtxPopCurrent_v2, (CUcontext * context))                                      \
    X(memory_allocate, cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                       \
    X(memory_free, cuMemFree_v2, (CUdeviceptr address))                                            \
    X(pointer_attribute, cuPointerGetAttribute, (void *data, int attribute, CUdeviceptr pointer))  \
    X(upload, cuMemcpyHtoDAsync_v2,                                                                \
      (CUdeviceptr target, const void *source, size_t bytes, CUstream stream))                     \
    X(download, cuMemcpyDtoHAsync_v2,                                                              \
      (void *target, CUdeviceptr source, size_t bytes, CUstream stream))                           \
    X(copy, cuMemcpyDtoDAsync_v2,                                                                  \
      (CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream))                     \
    X(fill, cuMemsetD8Async,                                                                       \
      (CUdeviceptr target, unsigned char value, size_t bytes, CUstream stream))                    \
    X(stream_create, cuStreamCreate, (CUstream * stream, unsigned flags))                          \
    X(stream_destroy, cuStreamDestroy_v2, (CUstream stream))                                       \
    X(stream_synchronize, cuStreamSynchronize, (CUstream stream))                                  \
    X(stream_wait, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))            \
    X(event_create, cuEventCreate, (CUevent * event, unsigned flags))                              \
    X(event_destroy, cuEventDestroy_v2, (CUevent event))                                           \
    X(event_record, cuEventRecord, (CUevent event, CUstream stream))                               \
    X(event_query, cuEventQuery, (CUevent event))                                                  \
    X(event_synchronize, cuEventSynchronize, (CUevent event))                                      \
    X(event_elapsed, cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end))        \
    X(module_load, cuModuleLoadData, (CUmodule * module, const void *image))                       \
    X(module_unload, cuModuleUnload, (CUmodule module))                                            \
    X(module_function, cuModuleGetFunction,                                                        \
      (CUfunction * function, CUmodule module, const char *name))                                  \
    X(function_set, cuFuncSetAttribute, (CUfunction function, int attribute, int value))           \
    X(launch, cuLaunchKernel,                                                                      \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,                 \
       void **arguments, void **extra))                                                            \
    X(capture_begin, cuStreamBeginCapture_v2, (CUstream stream, int mode))                         \
    X(capture_end, cuStreamEndCapture, (CUstream stream, CUgraph * graph))                         \
    X(graph_instantiate, cuGraphInstantiateWithFlags,                                              \
      (CUgraphExec * executable, CUgraph graph, unsigned long long flags))                         \
    X(graph_launch, cuGraphLaunch, (CUgraphExec executable, CUstream stream))                      \
    X(graph_executable_destroy, cuGraphExecDestroy, (CUgraphExec executable))                      \
    X(graph_destroy, cuGraphDestroy, (CUgraph graph))

#define MICA_CUDA_NVRTC_API(X)                                                                     \
    X(version, nvrtcVersion, (int *major, int *minor))                                             \
    X(architecture_count, nvrtcGetNumSupportedArchs, (int *count))                                 \
    X(architectures, nvrtcGetSupportedArchs, (int *architectures))                                 \
    X(create, nvrtcCreateProgram,                                                                  \
      (nvrtcProgram * program, const char *source, const char *name, int n_headers,                \
       const char *const *headers, const char *const *header_names))                               \
    X(destroy, nvrtcDestroyProgram, (nvrtcProgram * program))                                      \
    X(compile, nvrtcCompileProgram,                                                                \
      (nvrtcProgram program, int n_options, const char *const *options))                           \
    X(log_size, nvrtcGetProgramLogSize, (nvrtcProgram program, size_t * bytes))                    \
    X(log, nvrtcGetProgramLog, (nvrtcProgram program, char *log))                                  \
    X(cubin_size, nvrtcGetCUBINSize, (nvrtcProgram program, size_t * bytes))                       \
    X(cubin, nvrtcGetCUBIN, (nvrtcProgram program, char *image))                                   \
    X(ptx_size, nvrtcGetPTXSize, (nvrtcProgram program, size_t * bytes))                           \
    X(ptx, nvrtcGetPTX, (nvrtcProgram program, char *image))

/* cuBLASLt: descriptors are opaque; an algorithm is eight words that it fills in. */
typedef struct cublasLtContext *cublasLtHandle_t;
typedef void *cublasLtObject;
typedef struct cublasLtHeuristicResult {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} cublasLtHeuristicResult;

enum {
    CUBLAS_R_32F = 0,
    CUBLAS_R_64F = 1,
    CUBLAS_R_16F = 2,
    CUBLAS_R_16BF = 14,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_32F_TF32 = 77,
    CUBLAS_OP_T = 1,
    CUBLASLT_LAYOUT_BATCH_COUNT = 5,
    CUBLASLT_LAYOUT_BATCH_OFFSET = 6,
    CUBLASLT_DESC_TRANSA = 3,
    CUBLASLT_DESC_TRANSB = 4,
    CUBLASLT_PREFERENCE_WORKSPACE = 1,
    CUBLASLT_PREFERENCE_REDUCTIONS = 3,
    CUBLASLT_PREFERENCE_ALIGNMENT = 5, /* of A; then B, C, D */
    CUBLASLT_REDUCTION_COMPUTE_TYPE = 2,
};

#define MICA_CUDA_BLAS_API(X)                                                                      \
    X(create, cublasLtCreate, (cublasLtHandle_t * handle))                                         \
    X(destroy, cublasLtDestroy, (cublasLtHandle_t handle))                                         \
    X(desc_create, cublasLtMatmulDescCreate, (cublasLtObject * desc, int compute, int scale))      \
    X(desc_set, cublasLtMatmulDescSetAttribute,                                                    \
      (cublasLtObject desc, int attribute, const void *value, size_t bytes))                       \
    X(desc_destroy, cublasLtMatmulDescDestroy, (cublasLtObject desc))                              \
    X(layout_create, cublasLtMatrixLayoutCreate,                                                   \
      (cublasLtObject * layout, int dtype, uint64_t rows, uint64_t columns, int64_t leading))      \
    X(layout_set, cublasLtMatrixLayoutSetAttribute,                                                \
      (cublasLtObject layout, int attribute, const void *value, size_t bytes))                     \
    X(layout_destroy, cublasLtMatrixLayoutDestroy, (cublasLtObject layout))                        \
    X(preference_create, cublasLtMatmulPreferenceCreate, (cublasLtObject * preference))            \
    X(preference_set, cublasLtMatmulPreferenceSetAttribute,                                        \
      (cublasLtObject preference, int attribute, const void *value, size_t bytes))                 \
    X(preference_destroy, cublasLtMatmulPreferenceDestroy, (cublasLtObject preference))            \
    X(heuristic, cublasLtMatmulAlgoGetHeuristic,                                                   \
      (cublasLtHandle_t handle, cublasLtObject desc, cublasLtObject a, cublasLtObject b,           \
       cublasLtObject c, cublasLtObject d, cublasLtObject preference, int asked,                   \
       cublasLtHeuristicResult *results, int *found))                                              \
    X(matmul, cublasLtMatmul,                                                                      \
      (cublasLtHandle_t handle, cublasLtObject desc, const void *alpha, const void *a,             \
       cublasLtObject a_layout, const void *b, cublasLtObject b_layout, const void *beta,          \
       const void *c, cublasLtObject c_layout, void *d, cublasLtObject d_layout,                   \
       const uint64_t *algorithm, void *workspace, size_t workspace_bytes, CUstream stream))

typedef struct mica_cuda_blas_api {
#define X(field, symbol, parameters) int(*field) parameters;
    MICA_CUDA_BLAS_API(X)
#undef X
} mica_cuda_blas_api;

typedef struct mica_cuda_driver_api {
#define X(field, symbol, parameters) CUresult(*field) parameters;
    MICA_CUDA_DRIVER_API(X)
#undef X
} mica_cuda_driver_api;

typedef struct mica_cuda_nvrtc_api {
#define X(field, symbol, parameters) nvrtcResult(*field) parameters;
    MICA_CUDA_NVRTC_API(X)
#undef X
} mica_cuda_nvrtc_api;

/* Loads on the first call; afterwards answers the same. The tables are valid for good. NOT_FOUND
 * says which file or symbol is missing. The driver is also initialised. MICA_CUDA_DRIVER names
 * another file than libcuda.so.1, MICA_CUDA_PATH the folder of libnvrtc. */
mica_status mica_cuda_load_driver(const mica_cuda_driver_api **out_api);
mica_status mica_cuda_load_nvrtc(const mica_cuda_nvrtc_api **out_api);
/* cuBLASLt, which is not needed: without it dot has kernels of our own. MICA_CUBLAS=off: without.
 */
mica_status mica_cuda_load_blas(const mica_cuda_blas_api **out_api);
/* Looks again at the next question. For tests, while no other caller uses the device. */
void mica_cuda_forget(void);

#endif
