/* The device "cpu": host memory, built-in kernels on the compute pool. Every call is done when it
 * returns, so streams and events carry nothing. */
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "base/pool.h"
#include "device/cpu/generated.h"
#include "device/cpu/kernels.h"

struct mica_device_stream {
    mica_device *device;
};

struct mica_device_event {
    mica_device *device;
};

static void *to_host(mica_address address) {
    return (void *)(uintptr_t)address;
}

static void cpu_destroy(mica_device *device) {
    mica_free(device);
}

static mica_status cpu_allocate(mica_device *device, size_t bytes, mica_address *out_address) {
    (void)device;
    *out_address = (mica_address)(uintptr_t)mica_alloc_aligned(bytes);
    return *out_address ? NULL : MICA_NO_MEMORY();
}

static void cpu_deallocate(mica_device *device, mica_address address) {
    (void)device;
    mica_free_aligned(to_host(address));
}

static void *cpu_host_pointer(mica_device *device, mica_address address) {
    (void)device;
    return to_host(address);
}

static mica_status cpu_stream_create(mica_device *device, mica_device_stream **out_stream) {
    *out_stream = mica_alloc(sizeof **out_stream);
    if (!*out_stream) return MICA_NO_MEMORY();
    (*out_stream)->device = device;
    return NULL;
}

static void cpu_stream_destroy(mica_device_stream *stream) {
    mica_free(stream);
}

static mica_status cpu_upload(mica_device_stream *stream, mica_address target, const void *source,
                              size_t bytes) {
    (void)stream;
    memmove(to_host(target), source, bytes);
    return NULL;
}

static mica_status cpu_download(mica_device_stream *stream, void *target, mica_address source,
                                size_t bytes) {
    (void)stream;
    memmove(target, to_host(source), bytes);
    return NULL;
}

static mica_status cpu_copy(mica_device_stream *stream, mica_address target, mica_address source,
                            size_t bytes) {
    return cpu_upload(stream, target, to_host(source), bytes);
}

static mica_status cpu_zero(mica_device_stream *stream, mica_address target, size_t bytes) {
    (void)stream;
    memset(to_host(target), 0, bytes);
    return NULL;
}

static mica_status cpu_event_create(mica_device *device, mica_device_event **out_event) {
    *out_event = mica_alloc(sizeof **out_event);
    if (!*out_event) return MICA_NO_MEMORY();
    (*out_event)->device = device;
    return NULL;
}

static void cpu_event_destroy(mica_device_event *event) {
    mica_free(event);
}

static mica_status cpu_event_record(mica_device_stream *stream, mica_device_event *event) {
    (void)stream, (void)event;
    return NULL;
}

static bool cpu_event_is_done(mica_device_event *event) {
    (void)event;
    return true;
}

static mica_status cpu_event_wait(mica_device_event *event) {
    (void)event;
    return NULL;
}

static mica_status cpu_stream_wait(mica_device_stream *stream, mica_device_event *event) {
    (void)stream, (void)event;
    return NULL;
}

static mica_status cpu_kernel_create(mica_device *device, const mica_node *node,
                                     mica_kernel **out_kernel) {
    (void)device;
    return mica_cpu_kernel_create(node, out_kernel);
}

static bool cpu_claims(mica_device *device, const mica_node *call) {
    (void)device;
    return mica_cpu_claims(call);
}

static void cpu_kernel_destroy(mica_device *device, mica_kernel *kernel) {
    (void)device;
    mica_cpu_kernel_destroy(kernel);
}

static mica_status cpu_kernel_write(mica_device *device, const mica_kernel *kernel,
                                    const mica_node *node, mica_kernel_text *out) {
    (void)device;
    return mica_cpu_kernel_write(kernel, node, out);
}

static mica_status cpu_launch(mica_device_stream *stream, const mica_kernel *kernel,
                              const mica_address *operands, const mica_address *results,
                              mica_address scratch) {
    (void)stream;
    /* Addresses are pointers: the same bytes, read as an array of pointers. */
    _Static_assert(sizeof(mica_address) == sizeof(void *), "an address is a pointer");
    mica_cpu_kernel_run(kernel, (const void *const *)operands, (void *const *)results,
                        to_host(scratch));
    return NULL;
}

static const mica_device_vtable cpu_vtable = {
    .kind = "cpu",
    .synchronous = true,
    .checks_bounds = true,
    .in_order = true,
    .may_donate = true,
    .destroy = cpu_destroy,
    .allocate = cpu_allocate,
    .deallocate = cpu_deallocate,
    .host_pointer = cpu_host_pointer,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .upload = cpu_upload,
    .download = cpu_download,
    .copy = cpu_copy,
    .zero = cpu_zero,
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .event_is_done = cpu_event_is_done,
    .event_wait = cpu_event_wait,
    .stream_wait = cpu_stream_wait,
    .kernel_create = cpu_kernel_create,
    .kernel_destroy = cpu_kernel_destroy,
    .launch = cpu_launch,
    .claims = cpu_claims,
    .unit_create = mica_cpu_unit_create,
    .unit_destroy = mica_cpu_unit_destroy,
    .unit_kernel = mica_cpu_unit_kernel,
    .kernel_write = cpu_kernel_write,
};

static const char *instruction_set(void) {
    if (mica_machine_has_avx512()) return "AVX-512";
    if (mica_machine_has_avx2_fma()) return "AVX2";
#if defined(__aarch64__)
    return "NEON";
#elif defined(__x86_64__)
    return "SSE2";
#else
    return "portable";
#endif
}

static int32_t cpu_probe(char *description, size_t capacity) {
    snprintf(description, capacity, "%.100s, %d threads, %s", mica_machine_description(),
             mica_pool_threads(), instruction_set());
    return 1;
}

static mica_status cpu_open(int32_t ordinal, mica_device **out_device) {
    (void)ordinal;
    mica_device *device = *out_device = mica_calloc(1, sizeof *device);
    if (!device) return MICA_NO_MEMORY();
    device->vtable = &cpu_vtable;
    cpu_probe(device->description, sizeof device->description);
    return NULL;
}

extern const mica_driver mica_cpu_driver;
const mica_driver mica_cpu_driver = {
    .kind = "cpu", .priority = 10, .probe = cpu_probe, .open = cpu_open};
