/* The device behind the vtable: contexts, memory, streams, events, recordings, kernels. */
#include <stdio.h>
#include <string.h>

#include "device/cuda/attention.h"
#include "device/cuda/parts.h"

typedef struct cuda_event {
    cuda_device *device;
    CUevent handle;
    CUresult poison; /* of the stream that recorded it */
} cuda_event;

typedef struct cuda_recording {
    cuda_device *device;
    CUgraph graph;
    CUgraphExec executable;
} cuda_recording;

/* ---- errors --------------------------------------------------------------------------------- */

mica_status cuda_error(const cuda_device *device, CUresult result, const char *what) {
    const char *name = NULL, *text = NULL;
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        return MICA_ERROR(MICA_OUT_OF_MEMORY, "[%s] %s is out of memory", what, device->base.name);
    }
    device->api->error_name(result, &name);
    device->api->error_string(result, &text);
    return MICA_ERROR(MICA_DEVICE_ERROR, "[%s] %s: %s: %s", what, device->base.name,
                      name ? name : "unknown error", text ? text : "");
}

/* The result of a call on a stream. Running out of memory leaves the stream as it was. */
static mica_status stream_result(cuda_stream *stream, CUresult result, const char *what) {
    if (result == CUDA_SUCCESS) return NULL;
    if (result != CUDA_ERROR_OUT_OF_MEMORY) stream->poison = result;
    return cuda_error(stream->device, result, what);
}

/* Makes the device's context current around calls, and puts back what was there. */
CUresult cuda_enter(const cuda_device *device) {
    return device->api->context_push(device->context);
}
void cuda_leave(const cuda_device *device) {
    CUcontext previous;
    device->api->context_pop(&previous);
}

/* Runs `call` in the context of a healthy stream. */
#define ON_STREAM(stream, what, call)                                                              \
    do {                                                                                           \
        if ((stream)->poison) return cuda_error((stream)->device, (stream)->poison, what);         \
        CUresult on_stream_result = cuda_enter((stream)->device);                                  \
        if (on_stream_result == CUDA_SUCCESS) {                                                    \
            on_stream_result = (call);                                                             \
            cuda_leave((stream)->device);                                                          \
        }                                                                                          \
        return stream_result(stream, on_stream_result, what);                                      \
    } while (0)

/* ---- memory --------------------------------------------------------------------------------- */

static mica_status cuda_allocate(mica_device *base, size_t bytes, mica_address *out_address) {
    cuda_device *device = (cuda_device *)base;
    CUdeviceptr address = 0;
    *out_address = 0;
    CUresult result = cuda_enter(device);
    if (result == CUDA_SUCCESS) {
        result = device->api->memory_allocate(&address, bytes);
        cuda_leave(device);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        return MICA_ERROR(MICA_OUT_OF_MEMORY, "[allocate] %s has no %zu bytes left", base->name,
                          bytes);
    }
    if (result != CUDA_SUCCESS) return cuda_error(device, result, "allocate");
    *out_address = address;
    return NULL;
}

static void cuda_deallocate(mica_device *base, mica_address address) {
    cuda_device *device = (cuda_device *)base;
    if (cuda_enter(device) != CUDA_SUCCESS) return;
    device->api->memory_free(address);
    cuda_leave(device);
}

/* ---- streams and copies --------------------------------------------------------------------- */

static mica_status cuda_stream_create(mica_device *base, mica_device_stream **out_stream) {
    cuda_device *device = (cuda_device *)base;
    *out_stream = NULL;
    cuda_stream *stream = mica_calloc(1, sizeof *stream);
    if (!stream) return MICA_NO_MEMORY();
    stream->device = device;
    CUresult result = cuda_enter(device);
    if (result == CUDA_SUCCESS) {
        result = device->api->stream_create(&stream->handle, CU_STREAM_NON_BLOCKING);
        cuda_leave(device);
    }
    if (result != CUDA_SUCCESS) {
        mica_free(stream);
        return cuda_error(device, result, "stream_create");
    }
    *out_stream = (mica_device_stream *)stream;
    return NULL;
}

static void cuda_stream_destroy(mica_device_stream *base) {
    cuda_stream *stream = (cuda_stream *)base;
    if (cuda_enter(stream->device) == CUDA_SUCCESS) {
        stream->device->api->stream_synchronize(stream->handle);
        stream->device->api->stream_destroy(stream->handle);
        cuda_leave(stream->device);
    }
    mica_free(stream);
}

/* The driver has read pageable memory when its call returns; memory that it knows (page-locked) it
 * reads later, so that is waited for. */
static CUresult upload_and_read(cuda_stream *stream, mica_address target, const void *source,
                                size_t bytes) {
    const mica_cuda_driver_api *api = stream->device->api;
    unsigned kind = 0;
    CUresult result = api->upload(target, source, bytes, stream->handle);
    bool known = api->pointer_attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        (CUdeviceptr)(uintptr_t)source) == CUDA_SUCCESS;
    return result == CUDA_SUCCESS && known ? api->stream_synchronize(stream->handle) : result;
}
static CUresult download_and_wait(cuda_stream *stream, void *target, mica_address source,
                                  size_t bytes) {
    const mica_cuda_driver_api *api = stream->device->api;
    CUresult result = api->download(target, source, bytes, stream->handle);
    return result == CUDA_SUCCESS ? api->stream_synchronize(stream->handle) : result;
}

mica_status cuda_upload(mica_device_stream *base, mica_address target, const void *source,
                        size_t bytes) {
    cuda_stream *stream = (cuda_stream *)base;
    if (stream->capturing) {
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[upload] host memory cannot be recorded");
    }
    ON_STREAM(stream, "upload", upload_and_read(stream, target, source, bytes));
}

mica_status cuda_download(mica_device_stream *base, void *target, mica_address source,
                          size_t bytes) {
    cuda_stream *stream = (cuda_stream *)base;
    if (stream->capturing) {
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[download] host memory cannot be recorded");
    }
    ON_STREAM(stream, "download", download_and_wait(stream, target, source, bytes));
}

mica_status cuda_copy(mica_device_stream *base, mica_address target, mica_address source,
                      size_t bytes) {
    cuda_stream *stream = (cuda_stream *)base;
    ON_STREAM(stream, "copy", stream->device->api->copy(target, source, bytes, stream->handle));
}

static mica_status cuda_zero(mica_device_stream *base, mica_address target, size_t bytes) {
    cuda_stream *stream = (cuda_stream *)base;
    ON_STREAM(stream, "zero", stream->device->api->fill(target, 0, bytes, stream->handle));
}

/* ---- events --------------------------------------------------------------------------------- */

static mica_status cuda_event_create(mica_device *base, mica_device_event **out_event) {
    cuda_device *device = (cuda_device *)base;
    *out_event = NULL;
    cuda_event *event = mica_calloc(1, sizeof *event);
    if (!event) return MICA_NO_MEMORY();
    event->device = device;
    CUresult result = cuda_enter(device);
    if (result == CUDA_SUCCESS) {
        result = device->api->event_create(&event->handle, 0);
        cuda_leave(device);
    }
    if (result != CUDA_SUCCESS) {
        mica_free(event);
        return cuda_error(device, result, "event_create");
    }
    *out_event = (mica_device_event *)event;
    return NULL;
}

static void cuda_event_destroy(mica_device_event *base) {
    cuda_event *event = (cuda_event *)base;
    if (cuda_enter(event->device) == CUDA_SUCCESS) {
        event->device->api->event_destroy(event->handle);
        cuda_leave(event->device);
    }
    mica_free(event);
}

/* On a poisoned stream the event takes over the failure, so that whoever waits hears of it. */
static mica_status cuda_event_record(mica_device_stream *base, mica_device_event *base_event) {
    cuda_stream *stream = (cuda_stream *)base;
    cuda_event *event = (cuda_event *)base_event;
    event->poison = stream->poison;
    if (stream->poison) return NULL;
    ON_STREAM(stream, "event_record",
              stream->device->api->event_record(event->handle, stream->handle));
}

static bool cuda_event_is_done(mica_device_event *base) {
    cuda_event *event = (cuda_event *)base;
    if (event->poison || cuda_enter(event->device) != CUDA_SUCCESS) return true;
    CUresult result = event->device->api->event_query(event->handle);
    cuda_leave(event->device);
    return result != CUDA_ERROR_NOT_READY;
}

static mica_status cuda_event_wait(mica_device_event *base) {
    cuda_event *event = (cuda_event *)base;
    CUresult result = event->poison;
    if (!result) {
        result = cuda_enter(event->device);
        if (result == CUDA_SUCCESS) {
            result = event->device->api->event_synchronize(event->handle);
            cuda_leave(event->device);
        }
    }
    return result == CUDA_SUCCESS ? NULL : cuda_error(event->device, result, "event_wait");
}

static mica_status cuda_stream_wait(mica_device_stream *base, mica_device_event *base_event) {
    cuda_stream *stream = (cuda_stream *)base;
    cuda_event *event = (cuda_event *)base_event;
    if (event->poison) return stream_result(stream, event->poison, "stream_wait");
    ON_STREAM(stream, "stream_wait",
              stream->device->api->stream_wait(stream->handle, event->handle, 0));
}

mica_status mica_cuda_event_seconds(mica_device_event *start, mica_device_event *end,
                                    double *out_seconds) {
    cuda_event *first = (cuda_event *)start, *last = (cuda_event *)end;
    float milliseconds = 0;
    *out_seconds = 0;
    CUresult result = cuda_enter(first->device);
    if (result == CUDA_SUCCESS) {
        result = first->device->api->event_elapsed(&milliseconds, first->handle, last->handle);
        cuda_leave(first->device);
    }
    if (result != CUDA_SUCCESS) return cuda_error(first->device, result, "event_seconds");
    *out_seconds = (double)milliseconds * 1e-3;
    return NULL;
}

/* ---- launches ------------------------------------------------------------------------------- */

mica_status cuda_launch_shared(cuda_stream *stream, CUfunction function, int64_t blocks,
                               int32_t threads, int32_t shared_bytes, void *argument) {
    void *arguments[] = {argument};
    if (blocks <= 0) return NULL;
    ON_STREAM(stream, "launch",
              stream->device->api->launch(function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1,
                                          (unsigned)shared_bytes, stream->handle, arguments, NULL));
}

mica_status cuda_launch_function(cuda_stream *stream, CUfunction function, int64_t blocks,
                                 int32_t threads, void *argument) {
    return cuda_launch_shared(stream, function, blocks, threads, 0, argument);
}

mica_status cuda_function_shared(cuda_device *device, CUfunction function, int32_t bytes) {
    CUresult result = cuda_enter(device);
    if (result == CUDA_SUCCESS) {
        result = device->api->function_set(function, CU_FUNCTION_MOST_SHARED_BYTES, bytes);
        cuda_leave(device);
    }
    return result == CUDA_SUCCESS ? NULL : cuda_error(device, result, "kernel_create");
}

/* ---- recordings ----------------------------------------------------------------------------- */

static mica_status cuda_capture_begin(mica_device_stream *base) {
    cuda_stream *stream = (cuda_stream *)base;
    if (stream->capturing) {
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[capture_begin] the stream is recording");
    }
    stream->capturing = stream->poison == CUDA_SUCCESS;
    ON_STREAM(stream, "capture_begin",
              stream->device->api->capture_begin(stream->handle, CU_CAPTURE_MODE_RELAXED));
}

static CUresult end_capture(cuda_stream *stream, cuda_recording *recording) {
    const mica_cuda_driver_api *api = stream->device->api;
    CUresult result = cuda_enter(stream->device);
    if (result != CUDA_SUCCESS) return result;
    result = api->capture_end(stream->handle, &recording->graph);
    if (result == CUDA_SUCCESS) {
        result = api->graph_instantiate(&recording->executable, recording->graph, 0);
        if (result != CUDA_SUCCESS) api->graph_destroy(recording->graph);
    }
    cuda_leave(stream->device);
    return result;
}

static mica_status cuda_capture_end(mica_device_stream *base, mica_recording **out_recording) {
    cuda_stream *stream = (cuda_stream *)base;
    *out_recording = NULL;
    if (!stream->capturing) {
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[capture_end] the stream is not recording");
    }
    cuda_recording *recording = mica_calloc(1, sizeof *recording);
    cuda_recording unwanted = {0};
    stream->capturing = false;
    CUresult result = end_capture(stream, recording ? recording : &unwanted);
    if (!recording) {
        if (result == CUDA_SUCCESS && cuda_enter(stream->device) == CUDA_SUCCESS) {
            stream->device->api->graph_executable_destroy(unwanted.executable);
            stream->device->api->graph_destroy(unwanted.graph);
            cuda_leave(stream->device);
        }
        return MICA_NO_MEMORY();
    }
    if (result != CUDA_SUCCESS) {
        mica_free(recording);
        return stream_result(stream, result, "capture_end");
    }
    recording->device = stream->device;
    *out_recording = (mica_recording *)recording;
    return NULL;
}

static mica_status cuda_replay(mica_device_stream *base, mica_recording *base_recording) {
    cuda_stream *stream = (cuda_stream *)base;
    cuda_recording *recording = (cuda_recording *)base_recording;
    ON_STREAM(stream, "replay",
              stream->device->api->graph_launch(recording->executable, stream->handle));
}

static void cuda_recording_destroy(mica_recording *base) {
    cuda_recording *recording = (cuda_recording *)base;
    if (cuda_enter(recording->device) == CUDA_SUCCESS) {
        recording->device->api->graph_executable_destroy(recording->executable);
        recording->device->api->graph_destroy(recording->graph);
        cuda_leave(recording->device);
    }
    mica_free(recording);
}

/* ---- the device ----------------------------------------------------------------------------- */

static void cuda_destroy(mica_device *base) {
    cuda_device *device = (cuda_device *)base;
    cuda_modules_unload(device);
    cuda_blas_close(device);
    cuda_dnn_close(device);
    device->api->context_release(device->handle);
    mica_free(device);
}

static bool cuda_claims(mica_device *base, const mica_node *call) {
    return cuda_attention_claims((const cuda_device *)base, call);
}

static const mica_device_vtable cuda_vtable = {
    .kind = "cuda",
    .in_order = true,
    .may_donate = true,
    .destroy = cuda_destroy,
    .allocate = cuda_allocate,
    .deallocate = cuda_deallocate,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .zero = cuda_zero,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_is_done = cuda_event_is_done,
    .event_wait = cuda_event_wait,
    .stream_wait = cuda_stream_wait,
    .kernel_create = cuda_kernel_create,
    .kernel_destroy = cuda_kernel_destroy,
    .launch = cuda_launch,
    .claims = cuda_claims,
    .computes_again = true,
    .keeps_products = true,
    .unit_create = cuda_unit_create,
    .unit_destroy = cuda_unit_destroy,
    .unit_kernel = cuda_unit_kernel,
    .capture_begin = cuda_capture_begin,
    .capture_end = cuda_capture_end,
    .replay = cuda_replay,
    .recording_destroy = cuda_recording_destroy,
};

/* Both libraries and the number of devices; a failure's message is the reason why there are none.
 */
static mica_status look(const mica_cuda_driver_api **out_api, int *out_count) {
    const mica_cuda_nvrtc_api *nvrtc;
    *out_count = 0;
    MICA_TRY(mica_cuda_load_driver(out_api));
    MICA_TRY(mica_cuda_load_nvrtc(&nvrtc));
    int count = 0;
    if ((*out_api)->device_count(&count) != CUDA_SUCCESS || count < 1) {
        return MICA_ERROR(MICA_NOT_FOUND, "the CUDA driver finds no GPU");
    }
    *out_count = count;
    return NULL;
}

static void describe(const mica_cuda_driver_api *api, CUdevice handle, char *text,
                     size_t capacity) {
    char name[96] = "NVIDIA GPU";
    size_t bytes = 0;
    int major = 0, minor = 0, version = 0;
    api->device_name(name, sizeof name, handle);
    api->device_memory(&bytes, handle);
    api->device_attribute(&major, CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle);
    api->device_attribute(&minor, CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle);
    api->driver_version(&version);
    snprintf(text, capacity, "%s, %.1f GiB, capability %d.%d, CUDA %d.%d", name,
             (double)bytes / 1073741824.0, major, minor, version / 1000, version % 1000 / 10);
}

static int32_t cuda_probe(char *description, size_t capacity) {
    const mica_cuda_driver_api *api;
    int count = 0;
    CUdevice handle = 0;
    mica_status status = look(&api, &count);
    if (status)
        snprintf(description, capacity, "%s", mica_status_message(status));
    else if (api->device_get(&handle, 0) == CUDA_SUCCESS)
        describe(api, handle, description, capacity);
    mica_status_release(status);
    return count;
}

static mica_status cuda_open(int32_t ordinal, mica_device **out_device) {
    const mica_cuda_driver_api *api;
    int count = 0, major = 0, minor = 0;
    *out_device = NULL;
    MICA_TRY(look(&api, &count));
    if (ordinal < 0 || ordinal >= count) {
        return MICA_ERROR(MICA_NOT_FOUND, "[device_open] there is no cuda:%d, only %d", ordinal,
                          count);
    }
    cuda_device *device = mica_calloc(1, sizeof *device);
    if (!device) return MICA_NO_MEMORY();
    device->api = api;
    device->base.vtable = &cuda_vtable;
    mica_refcount_init(&device->base.references);
    snprintf(device->base.name, sizeof device->base.name, "cuda:%d", ordinal);
    CUresult result = api->device_get(&device->handle, ordinal);
    if (result == CUDA_SUCCESS) result = api->context_retain(&device->context, device->handle);
    if (result != CUDA_SUCCESS) {
        mica_status status = cuda_error(device, result, "device_open");
        mica_free(device);
        return status;
    }
    describe(api, device->handle, device->base.description, sizeof device->base.description);
    api->device_attribute(&major, CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device->handle);
    api->device_attribute(&minor, CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device->handle);
    api->device_attribute(&device->multiprocessors, CU_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                          device->handle);
    device->capability = 10 * major + minor;
    *out_device = &device->base;
    return NULL;
}

/* Never taken by itself yet: what it has no kernels for is copied through the host. */
const mica_driver mica_cuda_driver = {
    .kind = "cuda",
    .priority = -1,
    .probe = cuda_probe,
    .open = cuda_open,
};
