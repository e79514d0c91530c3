/* The device "ref": host memory, no kernels; whole graphs go to the interpreter. Every call is
 * done when it returns, so streams and events carry nothing. */
#include <stdio.h>
#include <string.h>

#include "device/ref/ref.h"
#include "runtime/device.h"

struct mica_device_stream {
    mica_device *device;
};

struct mica_device_event {
    mica_device *device;
};

static void ref_destroy(mica_device *device) {
    mica_free(device);
}

static void *to_host(mica_address address) {
    return (void *)(uintptr_t)address;
}

static mica_status ref_allocate(mica_device *device, size_t bytes, mica_address *out_address) {
    (void)device;
    *out_address = (mica_address)(uintptr_t)mica_alloc_aligned(bytes);
    return *out_address ? NULL : MICA_NO_MEMORY();
}

static void ref_deallocate(mica_device *device, mica_address address) {
    (void)device;
    mica_free_aligned(to_host(address));
}

static void *ref_host_pointer(mica_device *device, mica_address address) {
    (void)device;
    return to_host(address);
}

static mica_status ref_stream_create(mica_device *device, mica_device_stream **out_stream) {
    *out_stream = mica_alloc(sizeof **out_stream);
    if (!*out_stream) return MICA_NO_MEMORY();
    (*out_stream)->device = device;
    return NULL;
}

static void ref_stream_destroy(mica_device_stream *stream) {
    mica_free(stream);
}

static mica_status ref_upload(mica_device_stream *stream, mica_address target, const void *source,
                              size_t bytes) {
    (void)stream;
    if (bytes) memmove(to_host(target), source, bytes);
    return NULL;
}

static mica_status ref_download(mica_device_stream *stream, void *target, mica_address source,
                                size_t bytes) {
    (void)stream;
    if (bytes) memmove(target, to_host(source), bytes);
    return NULL;
}

static mica_status ref_copy(mica_device_stream *stream, mica_address target, mica_address source,
                            size_t bytes) {
    return ref_upload(stream, target, to_host(source), bytes);
}

static mica_status ref_zero(mica_device_stream *stream, mica_address target, size_t bytes) {
    (void)stream;
    if (bytes) memset(to_host(target), 0, bytes);
    return NULL;
}

static mica_status ref_event_create(mica_device *device, mica_device_event **out_event) {
    *out_event = mica_alloc(sizeof **out_event);
    if (!*out_event) return MICA_NO_MEMORY();
    (*out_event)->device = device;
    return NULL;
}

static void ref_event_destroy(mica_device_event *event) {
    mica_free(event);
}

static mica_status ref_event_record(mica_device_stream *stream, mica_device_event *event) {
    (void)stream, (void)event;
    return NULL;
}

static bool ref_event_is_done(mica_device_event *event) {
    (void)event;
    return true;
}

static mica_status ref_event_wait(mica_device_event *event) {
    (void)event;
    return NULL;
}

static mica_status ref_stream_wait(mica_device_stream *stream, mica_device_event *event) {
    (void)stream, (void)event;
    return NULL;
}

static mica_status ref_kernel_create(mica_device *device, const mica_node *node,
                                     mica_kernel **out_kernel) {
    *out_kernel = NULL;
    const mica_op_info *info = mica_op_describe(node->op);
    return MICA_ERROR(MICA_UNSUPPORTED, "[%s] device '%s' interprets graphs and has no kernels",
                      info ? info->name : "parameter", device->name);
}

static void ref_kernel_destroy(mica_device *device, mica_kernel *kernel) {
    (void)device;
    mica_free(kernel);
}

static mica_status ref_launch(mica_device_stream *stream, const mica_kernel *kernel,
                              const mica_address *operands, const mica_address *results,
                              mica_address scratch) {
    (void)kernel, (void)operands, (void)results, (void)scratch;
    return MICA_ERROR(MICA_UNSUPPORTED, "[launch] device '%s' interprets graphs and has no kernels",
                      stream->device->name);
}

static mica_status ref_interpret(mica_device *device, const mica_graph *g,
                                 const void *const *inputs, void *const *outputs) {
    (void)device;
    return mica_ref_evaluate(g, inputs, outputs);
}

static const mica_device_vtable ref_vtable = {
    .kind = "ref",
    .synchronous = true,
    .checks_bounds = true,
    .in_order = true,
    .destroy = ref_destroy,
    .allocate = ref_allocate,
    .deallocate = ref_deallocate,
    .host_pointer = ref_host_pointer,
    .stream_create = ref_stream_create,
    .stream_destroy = ref_stream_destroy,
    .upload = ref_upload,
    .download = ref_download,
    .copy = ref_copy,
    .zero = ref_zero,
    .event_create = ref_event_create,
    .event_destroy = ref_event_destroy,
    .event_record = ref_event_record,
    .event_is_done = ref_event_is_done,
    .event_wait = ref_event_wait,
    .stream_wait = ref_stream_wait,
    .kernel_create = ref_kernel_create,
    .kernel_destroy = ref_kernel_destroy,
    .launch = ref_launch,
    .interpret = ref_interpret,
};

static const char description[] = "the reference: a plain interpreter, slow and exact";

static int32_t ref_probe(char *out_description, size_t capacity) {
    snprintf(out_description, capacity, "%s", description);
    return 1;
}

static mica_status ref_open(int32_t ordinal, mica_device **out_device) {
    *out_device = NULL;
    if (ordinal != 0)
        return MICA_ERROR(MICA_NOT_FOUND, "there is one device of kind 'ref', asked for ref:%d",
                          ordinal);
    mica_device *device = mica_calloc(1, sizeof *device);
    if (!device) return MICA_NO_MEMORY();
    mica_refcount_init(&device->references);
    device->vtable = &ref_vtable;
    snprintf(device->name, sizeof device->name, "ref:0");
    snprintf(device->description, sizeof device->description, "%s", description);
    *out_device = device;
    return NULL;
}

extern const mica_driver mica_ref_driver;
const mica_driver mica_ref_driver = {
    .kind = "ref", .priority = -1, .probe = ref_probe, .open = ref_open};
