/* device/cuda/parts.h: between the files of the device.
 *
 * device.c   contexts, memory, streams, events, recordings: the vtable
 * module.c   text compiled and loaded, once for all who ask for the same
 * kernel.c   who makes a node's kernel; launching
 * element.c  element by element, through codegen's writer
 * nest.c     fused nodes, through codegen's writer
 * steps.c    kernels made of launches of codegen's templates; move.c, index.c, reduce.c, window.c,
 *            count.c and contract.c make them
 * attention.c attention as a whole, one launch or three
 * blas.c     dot by cuBLASLt, where it is there
 * dnn.c      convolutions by cuDNN, where it is there; conv.c says which a node is
 * host.c     what has no kernel here: the CPU's, between two copies */
#ifndef MICA_DEVICE_CUDA_PARTS_H
#define MICA_DEVICE_CUDA_PARTS_H

#include "base/platform.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "device/cuda/cuda.h"

enum { CUDA_THREADS = 256, CUDA_BLOCKS_PER_MULTIPROCESSOR = 16, CUDA_MOST_UNUSED_MODULES = 500 };

/* A compiled text. */
typedef struct cuda_module {
    struct cuda_module *next;
    int32_t references;
    uint8_t digest[MICA_SHA256_BYTES]; /* of the text */
    CUmodule handle;
} cuda_module;

typedef struct cuda_device {
    mica_device base;
    const mica_cuda_driver_api *api;
    CUdevice handle;
    CUcontext context; /* the primary one, shared with other users of the GPU in this process */
    int32_t capability, multiprocessors;
    mica_mutex mutex;               /* of what follows */
    const mica_cuda_blas_api *blas; /* NULL: there is none */
    cublasLtHandle_t blas_handle;   /* NULL until the first dot */
    bool looked_for_blas;
    struct cuda_dnn *dnn; /* NULL: there is none */
    bool looked_for_dnn;
    cuda_module *modules; /* a list */
    int32_t unused_modules;
} cuda_device;

typedef struct cuda_stream {
    cuda_device *device;
    CUstream handle;
    CUresult poison; /* the first failure; every later call answers it */
    bool capturing;
} cuda_stream;

/* A kernel knows how it is launched. Its files embed it at offset 0. */
typedef struct cuda_kernel cuda_kernel;
struct cuda_kernel {
    mica_kernel base;
    mica_status (*launch)(const cuda_kernel *kernel, cuda_stream *stream,
                          const mica_address *operands, const mica_address *results,
                          mica_address scratch);
    void (*destroy)(cuda_device *device, cuda_kernel *kernel); /* NULL: mica_free */
    cuda_module *module;                                       /* released with it; or NULL */
};

/* ---- device.c ---------------------------------------------------------------------------------*/

mica_status cuda_error(const cuda_device *device, CUresult result, const char *what);
/* Makes the device's context current around calls, and puts back what was there. */
CUresult cuda_enter(const cuda_device *device);
void cuda_leave(const cuda_device *device);
/* A launch of blocks of so many threads on a healthy stream. Nothing for 0 blocks. */
mica_status cuda_launch_function(cuda_stream *stream, CUfunction function, int64_t blocks,
                                 int32_t threads, void *argument);
/* The same with memory that the threads of a block share, which the function was allowed before. */
mica_status cuda_launch_shared(cuda_stream *stream, CUfunction function, int64_t blocks,
                               int32_t threads, int32_t shared_bytes, void *argument);
mica_status cuda_function_shared(cuda_device *device, CUfunction function, int32_t bytes);
mica_status cuda_upload(mica_device_stream *stream, mica_address target, const void *source,
                        size_t bytes);
mica_status cuda_copy(mica_device_stream *stream, mica_address target, mica_address source,
                      size_t bytes);
mica_status cuda_download(mica_device_stream *stream, void *target, mica_address source,
                          size_t bytes);

/* ---- module.c ---------------------------------------------------------------------------------*/

/* The module of a text, compiled when it is not cached. `what` names it in the log. */
mica_status cuda_module_get(cuda_device *device, const char *text, const char *what,
                            cuda_module **out_module);
void cuda_module_retain(cuda_device *device, cuda_module *module);
void cuda_module_release(cuda_device *device, cuda_module *module); /* NULL is allowed */
void cuda_modules_unload(cuda_device *device);                      /* unused ones */
mica_status cuda_module_function(cuda_device *device, const cuda_module *module, const char *name,
                                 CUfunction *out_function);

/* ---- nest.c: the slots of the vtable ----------------------------------------------------------*/

mica_status cuda_unit_create(mica_device *device, mica_node *const *fused, int32_t n,
                             bool in_background, mica_unit **out_unit);
void cuda_unit_destroy(mica_device *device, mica_unit *unit);
mica_status cuda_unit_kernel(mica_device *device, mica_unit *unit, int32_t i,
                             mica_kernel **out_kernel);

/* ---- kernels ----------------------------------------------------------------------------------*/

mica_status cuda_kernel_create(mica_device *device, const mica_node *node,
                               mica_kernel **out_kernel);
void cuda_kernel_destroy(mica_device *device, mica_kernel *kernel);
mica_status cuda_launch(mica_device_stream *stream, const mica_kernel *kernel,
                        const mica_address *operands, const mica_address *results,
                        mica_address scratch);
/* Memory for a kernel of so many bytes, zeroed. */
mica_status cuda_kernel_new(size_t bytes, void *out_kernel);
/* Blocks for n threads that each have something to do, as many as the device runs at once. */
int64_t cuda_blocks(const cuda_device *device, int64_t n);

/* Whether a node is one's own, and its kernel. */
bool cuda_element_takes(const mica_node *node);
mica_status cuda_element_create(cuda_device *device, const mica_node *node,
                                cuda_kernel **out_kernel);
bool cuda_move_takes(const mica_node *node);
mica_status cuda_move_create(cuda_device *device, const mica_node *node, cuda_kernel **out_kernel);
bool cuda_index_takes(const mica_node *node);
mica_status cuda_index_create(cuda_device *device, const mica_node *node, cuda_kernel **out_kernel);
bool cuda_reduce_takes(const mica_node *node);
mica_status cuda_reduce_create(cuda_device *device, const mica_node *node,
                               cuda_kernel **out_kernel);
bool cuda_window_takes(const mica_node *node);
mica_status cuda_window_create(cuda_device *device, const mica_node *node,
                               cuda_kernel **out_kernel);
bool cuda_count_takes(const mica_node *node);
mica_status cuda_count_create(cuda_device *device, const mica_node *node, cuda_kernel **out_kernel);
bool cuda_contract_takes(const mica_node *node);
mica_status cuda_contract_create(cuda_device *device, const mica_node *node,
                                 cuda_kernel **out_kernel);
/* A dot by cuBLASLt; *out_kernel is NULL when it is not one for it. */
mica_status cuda_blas_create(cuda_device *device, const mica_node *node, cuda_kernel **out_kernel);
void cuda_blas_close(cuda_device *device);
/* A conv by cuDNN; *out_kernel is NULL when it is not one for it. */
mica_status cuda_conv_create(cuda_device *device, const mica_node *node, cuda_kernel **out_kernel);
void cuda_dnn_close(cuda_device *device);
mica_status cuda_host_create(cuda_device *device, const mica_node *node, cuda_kernel **out_kernel);

#endif
