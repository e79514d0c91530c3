/* runtime/device.h: what a device is.
 *
 * A device is one vtable. Addresses belong to the device's own address space and mean nothing to
 * the host unless host_pointer says so. Different streams overlap; events order them. Calls on one
 * stream come from one thread at a time, but not always from the same one. Slots marked (optional)
 * may be NULL, with the default given there.
 *
 * Facts. Each is true or not by itself:
 *
 *   synchronous    a command is complete when the call that issues it returns
 *   in_order       commands of one stream take effect in the order in which they were issued
 *   may_donate     a run may write its results over inputs that were donated to it
 *   checks_bounds  indices and divisors that a front end refuses are checked, before a program or
 *                  after it; where that would be a transfer at every step they are not: a place
 *                  beyond the end reads as zero and is not written
 *   cannot_fail    (of a kernel) once launched, it completes
 *   waits          (of a kernel) its launch waits for the device, so that it cannot be recorded
 *
 * In order means that memory belongs to the stream, not to a point in time: when the last command
 * that uses a buffer was issued, the host lets go of it, and a later command of the same stream may
 * be given it at once. The runtime gives such memory to another stream, to the host or back to the
 * device only after an event recorded behind that command has been waited for. So a device needs no
 * bookkeeping of its own: `deallocate` is never called for memory that a command may still touch,
 * nor are `kernel_destroy`, `unit_destroy`, `event_destroy` and `recording_destroy` for what is
 * still in use.
 *
 * Donation. On a synchronous device a run is given inputs to overwrite only when none of its
 * commands can fail, so a failure never costs anything. On an asynchronous one commands may fail
 * long after the run was started; a training step that kept its old state in case of that would
 * need it twice, and at other addresses in each step. So there the rule is:
 *
 *   A run that fails before its first command was issued changes nothing. A run that fails later
 *   loses what was donated to it: the consumed inputs and the outputs answer the failure from then
 *   on, whoever reads them, and no half-written value can be read. A failure of the device poisons
 *   the stream: runs are refused until mica_device_wait has reported it; then the device works
 *   again, on fresh state.
 *
 * Alignment. On devices without host_pointer every whole buffer and everything the planner lays out
 * in one begins at a multiple of 256 bytes. A slice of a scan's array begins at a multiple of its
 * own size. So an operand or result of n bytes begins at a multiple of mica_alignment_of(n): the
 * largest power of two, up to 256, that divides n. A kernel may rely on this when it is created,
 * and find at launch that an address is better aligned. Scratch memory begins at a multiple of
 * 256. Where the host can address the memory, elements are aligned to their size, no more, because
 * callers' memory is used as it is.
 */
#ifndef MICA_RUNTIME_DEVICE_H
#define MICA_RUNTIME_DEVICE_H

#include "base/memory.h"
#include "base/status.h"
#include "base/strings.h"
#include "compile/plan.h"
#include "ir/graph.h"
#include "mica/runtime.h"

typedef uint64_t mica_address; /* 0 is never valid */

/* Opaque to the runtime; each device defines its own and casts. */
typedef struct mica_device_stream mica_device_stream;
typedef struct mica_device_event mica_device_event;
typedef struct mica_recording mica_recording;
typedef struct mica_unit mica_unit;

/* What the address of an operand of so many bytes is a multiple of (see above). */
static inline size_t mica_alignment_of(size_t bytes) {
    size_t power = bytes & (~bytes + 1);
    return power == 0 || power > 256 ? 256 : power;
}

/* One primitive, prepared for given types and attributes. Devices embed it at offset 0.
 *
 * Which results may share an operand's memory is said by masks for the first four results and 32
 * operands, and by a list of pairs, in ascending order of (result, operand), for any others. All
 * that are said hold at once: each result may take another operand's memory in one launch. The
 * list is the kernel's own and lives as long as it does. */
typedef struct mica_kernel {
    size_t scratch_bytes;          /* temporary memory a launch needs; the planner provides it */
    uint32_t in_place_operands;    /* bit i: result 0 may share operand i's memory */
    uint32_t in_place_more[3];     /* the same for results 1, 2 and 3 */
    const mica_in_place *in_place; /* the same for any result and operand */
    int32_t n_in_place;
    bool cannot_fail; /* once launched, it completes */
    bool waits;       /* its launch waits for the device */
} mica_kernel;

/* A kernel as C, for programs that run without Mica (runtime/write_c.c): constants in front of a
 * function, and its statements over `x` and `y`, arrays of the operands' and results' addresses,
 * and `scratch`. Their names end with `number`. */
typedef struct mica_kernel_text {
    mica_text *constants, *body;
    int32_t number;
    size_t scratch_bytes; /* that the text needs; not those of the kernel itself */
} mica_kernel_text;

typedef struct mica_device_vtable {
    const char *kind; /* "cpu" */
    /* The facts above. A synchronous device runs commands on the calling thread, is in order, has
     * host_pointer and needs no events. */
    bool synchronous, in_order, may_donate, checks_bounds;

    void (*destroy)(mica_device *device);

    /* Memory: aligned to 256 bytes, or, where the host can address it, to 64. Size 0 is never asked
     * for. OUT_OF_MEMORY is answered when there is none; the runtime then gives back what it keeps
     * in its pool and asks once more. */
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

    /* Events. Each is recorded, waited for and recorded again any number of times; the runtime
     * keeps those it does not need for the next runs. One that has answered an error is destroyed.
     */
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
    /* It computes faster than it reads: fused kernels make values again that they could read. For
     * devices that claim calls. */
    bool computes_again;
    /* Products are a library's: nothing is gained by a kernel of a product and what follows it. */
    bool keeps_products;

    /* (optional: NULL, nothing is generated) Code for n fused calls (codegen/nest.h), made in one
     * go: a unit, with a kernel for each of them. The unit outlives its kernels. in_background:
     * no caller waits for it. */
    mica_status (*unit_create)(mica_device *device, mica_node *const *fused, int32_t n,
                               bool in_background, mica_unit **out_unit);
    void (*unit_destroy)(mica_device *device, mica_unit *unit);
    mica_status (*unit_kernel)(mica_device *device, mica_unit *unit, int32_t i,
                               mica_kernel **out_kernel);

    /* (optional: NULL, nothing can be written) The kernel of a node as text; UNSUPPORTED where
     * there is none. */
    mica_status (*kernel_write)(mica_device *device, const mica_kernel *kernel,
                                const mica_node *node, mica_kernel_text *out);

    /* (optional: NULL, the runtime walks the commands) Runs a whole graph on host memory. */
    mica_status (*interpret)(mica_device *device, const mica_graph *g, const void *const *inputs,
                             void *const *outputs);

    /* (optional: NULL, commands are launched one by one) What is issued on the stream between begin
     * and end (`launch`, `copy` and `zero` only) is not run but recorded; `replay` is one command
     * that runs it all, in order, with the same addresses. When a call between the two fails,
     * capture_end is called all the same, whatever it answers, and the stream is as before
     * capture_begin. The kernels outlive the recording, and so does the memory: the runtime replays
     * (runtime/replay.h) only while all that was recorded is still allocated. */
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
