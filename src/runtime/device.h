/* runtime/device.h: what a device is.
 *
 * A device is one vtable. Addresses belong to the device's own address space and mean nothing to
 * the host unless host_pointer says so. A stream runs its commands in order; different streams
 * overlap; events order them. Calls on one stream come from one thread at a time. Slots marked
 * (optional) may be NULL, with the default given there.
 */
#ifndef MICA_RUNTIME_DEVICE_H
#define MICA_RUNTIME_DEVICE_H

#include "base/memory.h"
#include "base/status.h"
#include "ir/graph.h"
#include "mica/runtime.h"

typedef uint64_t mica_address; /* 0 is never valid */

/* Opaque to the runtime; each device defines its own and casts. */
typedef struct mica_device_stream mica_device_stream;
typedef struct mica_device_event mica_device_event;
typedef struct mica_recording mica_recording;
typedef struct mica_unit mica_unit;

/* One primitive, prepared for given types and attributes. Devices embed it at offset 0. */
typedef struct mica_kernel {
    size_t scratch_bytes;       /* temporary memory a launch needs; the planner provides it */
    uint32_t in_place_operands; /* bit i: result 0 may share operand i's memory */
    uint32_t in_place_more[3];  /* the same for results 1, 2 and 3 */
    bool cannot_fail;           /* once launched, it completes */
} mica_kernel;

typedef struct mica_device_vtable {
    const char *kind; /* "cpu" */
    /* Commands run on the calling thread and are complete when the call returns; they then cannot
     * fail, and the runtime needs no device events. Such a device has host_pointer. */
    bool synchronous;

    void (*destroy)(mica_device *device);

    /* Memory: at least 64-byte aligned. Size 0 is never asked for. */
    mica_status (*allocate)(mica_device *device, size_t bytes, mica_address *out_address);
    void (*deallocate)(mica_device *device, mica_address address);
    /* (optional: NULL, the memory cannot be addressed by the host) */
    void *(*host_pointer)(mica_device *device, mica_address address);

    /* Streams and copies; copies are in stream order. `download` returns when the bytes are there;
     * `upload` may return before the device has them, but has then read `source`. */
    mica_status (*stream_create)(mica_device *device, mica_device_stream **out_stream);
    /* Waits for the commands that were given to it, or for the failure that ended them. */
    void (*stream_destroy)(mica_device_stream *stream);
    mica_status (*upload)(mica_device_stream *stream, mica_address target, const void *source,
                          size_t bytes);
    mica_status (*download)(mica_device_stream *stream, void *target, mica_address source,
                            size_t bytes);
    mica_status (*copy)(mica_device_stream *stream, mica_address target, mica_address source,
                        size_t bytes);
    mica_status (*zero)(mica_device_stream *stream, mica_address target, size_t bytes);

    /* Events. */
    mica_status (*event_create)(mica_device *device, mica_device_event **out_event);
    void (*event_destroy)(mica_device_event *event);
    mica_status (*event_record)(mica_device_stream *stream, mica_device_event *event);
    bool (*event_is_done)(mica_device_event *event);
    /* Waits on the host; answers the error that poisoned the stream, if any. */
    mica_status (*event_wait)(mica_device_event *event);
    mica_status (*stream_wait)(mica_device_stream *stream, mica_device_event *event);

    /* Kernels. kernel_create looks at the node's op, attributes, operand and result types only, and
     * answers UNSUPPORTED with a reason for what the device cannot do. Kernels are immutable. */
    mica_status (*kernel_create)(mica_device *device, const mica_node *node,
                                 mica_kernel **out_kernel);
    void (*kernel_destroy)(mica_device *device, mica_kernel *kernel);
    /* Operands and results without elements have the address 0. */
    mica_status (*launch)(mica_device_stream *stream, const mica_kernel *kernel,
                          const mica_address *operands, const mica_address *results,
                          mica_address scratch);

    /* (optional: NULL, none) Whether a kernel can be created for this `call` as a whole; its name
     * tells what it computes. It looks at what kernel_create looks at, and says the same always. */
    bool (*claims)(mica_device *device, const mica_node *call);

    /* (optional: NULL, nothing is generated) Code for n fused calls (codegen/nest.h), made in one
     * go: a unit, with a kernel for each of them. The unit outlives its kernels. in_background:
     * nobody waits for it. */
    mica_status (*unit_create)(mica_device *device, mica_node *const *fused, int32_t n,
                               bool in_background, mica_unit **out_unit);
    void (*unit_destroy)(mica_device *device, mica_unit *unit);
    mica_status (*unit_kernel)(mica_device *device, mica_unit *unit, int32_t i,
                               mica_kernel **out_kernel);

    /* (optional: NULL, the runtime walks the commands) Runs a whole graph on host memory. */
    mica_status (*interpret)(mica_device *device, const mica_graph *g, const void *const *inputs,
                             void *const *outputs);

    /* (optional: NULL, commands are launched one by one) Records launches and copies between begin
     * and end, to be replayed as one submission. */
    mica_status (*capture_begin)(mica_device_stream *stream);
    mica_status (*capture_end)(mica_device_stream *stream, mica_recording **out_recording);
    mica_status (*replay)(mica_device_stream *stream, mica_recording *recording);
    void (*recording_destroy)(mica_recording *recording);
} mica_device_vtable;

/* The part of a device that every device has; devices embed it at offset 0. */
struct mica_device {
    mica_refcount references;
    const mica_device_vtable *vtable;
    char name[32];
    char description[160];
    struct mica_device_runtime *runtime; /* streams, pools and counters: runtime/'s own */
};

/* A kind of device that is built in. `probe` never fails: it says how many there are, and describes
 * them or tells why there are none. */
typedef struct mica_driver {
    const char *kind;
    int32_t priority; /* as in mica_device_info */
    int32_t (*probe)(char *description, size_t capacity);
    mica_status (*open)(int32_t ordinal, mica_device **out_device);
} mica_driver;

/* Defined in device/drivers.c; ends with a NULL. */
extern const mica_driver *const mica_drivers[];

#endif
