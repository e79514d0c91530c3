/* mica/runtime.h: devices, tensors, executables, asynchronous runs.
 *
 * Devices, tensors, executables and events are reference-counted; any thread may use them. A run
 * is asynchronous: it returns at once with its outputs (whose data arrives later) and an event.
 * Reading a tensor waits for it. A run acquires all its memory before its first command, so
 * running out of memory changes nothing.
 *
 * Donation is permission: a donated input may be overwritten by an output when the caller's
 * reference is the only one and no host view is open; it is then consumed (reading it answers
 * FAILED_PRECONDITION) and the caller still releases it. Otherwise it is left alone.
 *
 * @example
 *     mica_device *device = NULL;
 *     mica_tensor *x = NULL, *y = NULL;
 *     mica_graph *g = NULL;
 *     mica_executable *exe = NULL;
 *     mica_event *done = NULL;
 *     float data[3] = {1, 2, 3};
 *     mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3));
 *     mica_status status = mica_device_open("cpu", &device);
 *     if (!status) status = mica_tensor_from_host(device, &type, data, &x);
 *     if (!status) status = mica_graph_create("double", &g);
 *     if (!status) {
 *         mica_value v = mica_parameter(g, &type);
 *         mica_output(g, mica_add(g, v, v));
 *         status = mica_executable_create(device, g, NULL, &exe);
 *     }
 *     mica_run_args args = {.size = sizeof args, .inputs = &x, .n_inputs = 1,
 *                           .outputs = &y, .n_outputs = 1};
 *     if (!status) status = mica_executable_run(exe, &args, &done);
 *     if (!status) status = mica_tensor_to_host(y, data, sizeof data);
 *     mica_event_release(done);
 *     mica_tensor_release(y);
 *     mica_tensor_release(x);
 *     mica_executable_release(exe);
 *     mica_graph_release(g);
 *     mica_device_release(device);
 *     mica_status_release(status);
 * @end
 */
#ifndef MICA_RUNTIME_H
#define MICA_RUNTIME_H

#include "dist.h"
#include "graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mica_device mica_device;
typedef struct mica_tensor mica_tensor;
typedef struct mica_executable mica_executable;
typedef struct mica_event mica_event;

/* ---- devices ----------------------------------------------------------------------------------*/

/* "cpu", "cuda:1", "ref", "fake", or "any": the best device that works. Opening one again gives
 * the same object. An unknown name is NOT_FOUND and lists the known ones with the reason why one
 * is absent. */
MICA_API MICA_MUST_CHECK mica_status mica_device_open(const char *name, mica_device **out_device);
MICA_API void mica_device_retain(mica_device *device);
MICA_API void mica_device_release(mica_device *device);
MICA_API const char *mica_device_name(const mica_device *device);        /* "cpu:0" */
MICA_API const char *mica_device_description(const mica_device *device); /* "AMD EPYC, 2 threads" */
/* true when the device computes in the host's memory: looking at a value costs no transfer. */
MICA_API bool mica_device_is_host_visible(const mica_device *device);
/* true when front ends check indices and divisors, and refuse those that are none; else such an
 * index reads as zero and is not written. */
MICA_API bool mica_device_checks_bounds(const mica_device *device);
/* Bytes the device has given out and not got back, and the highest that was. */
MICA_API void mica_device_memory(const mica_device *device, size_t *out_now, size_t *out_peak);

typedef struct mica_memory_info {
    size_t size;    /* sizeof(mica_memory_info), set by the caller */
    size_t now;     /* bytes given out */
    size_t peak;    /* the highest that was, since the last reset */
    size_t cached;  /* given back, and kept for the next who asks */
    size_t limit;   /* of both together; 0: what the device has */
    int64_t blocks; /* pieces of memory that came from the device */
} mica_memory_info;
MICA_API void mica_device_memory_info(const mica_device *device, mica_memory_info *out_info);
/* The peak is what is in use now. */
MICA_API void mica_device_memory_reset(mica_device *device);
/* From now on the device holds at most so many bytes; 0: no limit. What is in use stays. When there
 * is not enough, all that is kept for reuse goes back, runs in flight are waited for, and it is
 * tried once more; then OUT_OF_MEMORY is answered, with a table of what holds most, and the next
 * call finds the device as it was. */
MICA_API MICA_MUST_CHECK mica_status mica_device_set_memory_limit(mica_device *device,
                                                                  size_t bytes);
/* Waits until all the work given to the device is done; answers its pending error, if any. */
MICA_API MICA_MUST_CHECK mica_status mica_device_wait(mica_device *device);

typedef struct mica_device_info {
    size_t size; /* sizeof(mica_device_info), set by the caller */
    char name[32];
    char description[160]; /* of the device, or why there is none */
    bool available;
    int32_t priority; /* "any" takes the highest; negative: never by itself */
} mica_device_info;
/* i = 0, 1, ... over every kind of device built in, present or not; false at the end. */
MICA_API bool mica_device_enumerate(int32_t i, mica_device_info *out_info);

/* Threads the CPU devices compute with, from now on; 0 means the machine's. */
MICA_API MICA_MUST_CHECK mica_status mica_set_threads(int32_t n);
MICA_API int32_t mica_threads(void);

/* Libraries that are optional, such as LAPACK and NVRTC, are also looked for in the wheels of this
 * folder of Python packages (site-packages). To be called before they are first used. */
MICA_API MICA_MUST_CHECK mica_status mica_packages_add(const char *folder);
/* The LAPACK that linear algebra on the CPU uses: the library's path, or, with false, why there is
 * none (then the built-in versions serve). MICA_LAPACK names one, or is "off". */
MICA_API bool mica_lapack_describe(char *text, size_t capacity);
/* The C compiler that makes code for the CPU while programs run: its path, or, with false, why
 * there is none (then built-in kernels serve). MICA_CC names one, or is "none". */
MICA_API bool mica_compiler_describe(char *text, size_t capacity);

/* Stops threads, closes devices, frees caches. All objects must have been released. The library
 * can be used again afterwards. */
MICA_API void mica_shutdown(void);

/* ---- tensors ----------------------------------------------------------------------------------*/

/* Uninitialised. */
MICA_API MICA_MUST_CHECK mica_status mica_tensor_create(mica_device *device, const mica_type *type,
                                                        mica_tensor **out_tensor);
/* Copies mica_type_bytes(type) bytes; those of bools that are neither 0 nor 1 become 1. */
MICA_API MICA_MUST_CHECK mica_status mica_tensor_from_host(mica_device *device,
                                                           const mica_type *type, const void *data,
                                                           mica_tensor **out_tensor);
/* Takes the caller's memory without a copy where the device can (cpu, ref) and bools are 0 or 1;
 * else copies. When the last reference is gone, `free_data(context)` is called (it may be NULL),
 * exactly once also when it was copied. */
MICA_API MICA_MUST_CHECK mica_status mica_tensor_wrap(mica_device *device, const mica_type *type,
                                                      void *data, void (*free_data)(void *context),
                                                      void *context, mica_tensor **out_tensor);
/* Waits for the data and copies it out; `bytes` must be the tensor's size. */
MICA_API MICA_MUST_CHECK mica_status mica_tensor_to_host(mica_tensor *tensor, void *data,
                                                         size_t bytes);
/* The same data on another device (the same tensor, retained, when it is already there). */
MICA_API MICA_MUST_CHECK mica_status mica_tensor_copy_to(mica_tensor *tensor, mica_device *device,
                                                         mica_tensor **out_tensor);
MICA_API void mica_tensor_retain(mica_tensor *tensor);
MICA_API void mica_tensor_release(mica_tensor *tensor);
MICA_API const mica_type *mica_tensor_type(const mica_tensor *tensor);
MICA_API mica_device *mica_tensor_device(const mica_tensor *tensor); /* borrowed */

typedef enum mica_access { MICA_READ = 1, MICA_WRITE = 2 } mica_access;
/* Opens a host view: waits for the data, then gives its address (on devices with their own memory
 * a copy, written back when a view with MICA_WRITE closes). Views nest; each is closed once. */
MICA_API MICA_MUST_CHECK mica_status mica_tensor_open_view(mica_tensor *tensor, int access,
                                                           void **out_data);
MICA_API MICA_MUST_CHECK mica_status mica_tensor_close_view(mica_tensor *tensor);

/* ---- events -----------------------------------------------------------------------------------*/

MICA_API bool mica_event_is_done(const mica_event *event);
/* Waits; answers the run's status (each call returns its own copy). */
MICA_API MICA_MUST_CHECK mica_status mica_event_wait(mica_event *event);
/* Seconds from the first command to the last, once done; else 0. */
MICA_API double mica_event_seconds(const mica_event *event);
MICA_API void mica_event_retain(mica_event *event);
MICA_API void mica_event_release(mica_event *event);

/* ---- executables ------------------------------------------------------------------------------*/

/* When a device that can generate code does so. Results are the same bits in any case, and what
 * cannot be generated (no C compiler is found, ...) runs on built-in kernels. */
typedef enum mica_tier {
    MICA_TIER_DEFAULT,  /* as MICA_TIER says: built-in, auto or compiled; auto when not set */
    MICA_TIER_BUILT_IN, /* never */
    MICA_TIER_AUTO,     /* in the background, from the third run on */
    MICA_TIER_COMPILED, /* at once */
} mica_tier;

typedef struct mica_compile_options {
    size_t size;        /* sizeof(mica_compile_options) */
    const char *passes; /* "-simplify,-inline" switches passes off; NULL: MICA_PASSES, or all */
    mica_tier tier;
    /* The graph's collectives along this axis are those of the ranks, each of which runs the same
     * executables in the same order; NULL: there must be none. */
    mica_dist *dist;
    const char *axis;
} mica_compile_options;

/* Compiles a graph for a device; options may be NULL. The graph may be released afterwards. */
MICA_API MICA_MUST_CHECK mica_status mica_executable_create(mica_device *device,
                                                            const mica_graph *g,
                                                            const mica_compile_options *options,
                                                            mica_executable **out_executable);
MICA_API void mica_executable_retain(mica_executable *executable);
MICA_API void mica_executable_release(mica_executable *executable);
/* true when runs take generated code. */
MICA_API bool mica_executable_is_generated(const mica_executable *executable);
/* Bytes of the arena that one run leases. */
MICA_API size_t mica_executable_arena_bytes(const mica_executable *executable);
/* The commands, one per line, with offsets; free with mica_string_free. */
MICA_API MICA_MUST_CHECK mica_status mica_executable_print(const mica_executable *executable,
                                                           char **out_text);

/* The graph as one file of C that needs libc and libm alone, for gcc and clang: a function `name`
 * with the bits of a run on the cpu, forward or training step alike, its memory in one static
 * arena, nothing allocated. The file says how it is compiled and called. UNSUPPORTED, with the
 * node, for what has no text: lists, callbacks, sorts, linear algebra, Fourier transforms,
 * convolutions by Winograd's algorithm, attention and loops of LSTM and GRU that the cpu computes
 * whole; products, windows and reductions of other dtypes than f32 and f64. Free with
 * mica_string_free. */
MICA_API MICA_MUST_CHECK mica_status mica_graph_write_c(const mica_graph *g, const char *name,
                                                        char **out_text);

/* ---- a trace ----------------------------------------------------------------------------------*/

/* From now on the process keeps what it runs: functions and ops of mica/tf, programs, their kernels
 * one by one, ops on the host; at most 2^18 events, those after them are counted. Beside the host a
 * kernel's time is that of issuing it. FAILED_PRECONDITION when a trace is on. */
MICA_API MICA_MUST_CHECK mica_status mica_trace_start(void);
/* Ends the trace and gives it as Chrome's trace format, which chrome://tracing, Perfetto and
 * TensorBoard show; free with mica_string_free. FAILED_PRECONDITION when none is on. */
MICA_API MICA_MUST_CHECK mica_status mica_trace_stop(char **out_text);
/* Adds an event of the caller's own to a trace that is on; `start` is of mica_trace_clock. */
MICA_API void mica_trace_note(const char *name, double start, double seconds);
MICA_API double mica_trace_clock(void);

typedef struct mica_run_args {
    size_t size; /* sizeof(mica_run_args) */
    mica_tensor *const *inputs;
    int32_t n_inputs;
    const uint8_t *donate; /* NULL, or one flag per input */
    mica_tensor **outputs; /* receives new references; all NULL when the run is refused */
    int32_t n_outputs;
    /* Called once when the run has ended, from any thread, under no lock; may be NULL. The status
     * is borrowed. */
    void (*completed)(void *context, mica_status status, double seconds);
    void *context;
    /* Return when the run has ended, on the caller's own thread where nothing else runs; a failure
     * is then a refusal. Of no effect on devices that compute beside the host. */
    bool waits;
} mica_run_args;

/* Starts a run. out_done may be NULL when the caller does not wait. A refusal (status not NULL)
 * changes nothing; a failure on the way comes out of the event, of reading an output, and of
 * `completed`.
 */
MICA_API MICA_MUST_CHECK mica_status mica_executable_run(mica_executable *executable,
                                                         const mica_run_args *args,
                                                         mica_event **out_done);

/* ---- eager ------------------------------------------------------------------------------------*/

/* One attribute of an op, by the kind its row declares. */
typedef struct mica_attribute {
    int64_t integer;    /* INT, DTYPE */
    mica_ints ints;     /* INTS */
    const char *string; /* STRING */
    mica_data data;     /* DATA */
} mica_attribute;

/* Runs one primitive with one result (not CONTROL or HOST) on tensors of one device; attributes in
 * the row's order. Executables are cached by (op, attributes, types, device). Shapes broadcast as
 * in builders. */
MICA_API MICA_MUST_CHECK mica_status mica_eager(mica_device *device, mica_op op,
                                                mica_tensor *const *operands, int32_t n_operands,
                                                const mica_attribute *attributes,
                                                mica_tensor **out_result);

/* The same for an op with any number of results (class SEVERAL): fills out_results, which has room
 * for `capacity` of them, and says how many there are. */
MICA_API MICA_MUST_CHECK mica_status mica_eager_several(
    mica_device *device, mica_op op, mica_tensor *const *operands, int32_t n_operands,
    const mica_attribute *attributes, mica_tensor **out_results, int32_t capacity, int32_t *out_n);

/* The same cache for a caller's own ops. `number`, from 0, is the caller's; it, the device and the
 * operands' types alone decide what the executable is. It is retained where its runs need no
 * bookkeeping (small, one result, cannot fail); else nothing is kept. */
MICA_API void mica_eager_keep(mica_device *device, int32_t number, mica_tensor *const *operands,
                              int32_t n_operands, mica_executable *executable);
/* Runs what was kept for such operands. False, and nothing has happened: there is none, an operand
 * is on another device or not computed yet, the device is busy. */
MICA_API bool mica_eager_run_kept(mica_device *device, int32_t number, mica_tensor *const *operands,
                                  int32_t n_operands, mica_tensor **out_result,
                                  mica_status *out_status);
/* Forgets all executables that the device keeps for eager ops. */
MICA_API void mica_eager_clear(mica_device *device);

/* ---- interrupts -------------------------------------------------------------------------------*/

/* `check` is asked a few times a second, by the thread that main runs in, while that computes or
 * waits; when it answers true the call ends soon with MICA_CANCELLED. Runs that were given memory
 * to take (mica_run_args.donate) are finished first. It is called in the middle of runs, with
 * locks held: it may only look at a flag. NULL: none. */
MICA_API void mica_set_interrupt_check(bool (*check)(void));

/* ---- logging ----------------------------------------------------------------------------------*/

/* Receives the lines that MICA_LOG=<topic>[,<topic>] asks for (warning, pass, run, memory, device,
 * eager, match, fuse, transfer, time).
 * NULL: none. By default they go to standard error, and nothing is asked for. */
MICA_API void mica_set_log(void (*sink)(void *context, const char *topic, const char *line),
                           void *context);

/* MICA_REPORT=page.html writes a page about what the process did, at its end or when mica_shutdown
 * is called: graphs before and after each pass, what was fused, generated code, time and bytes of
 * kernels, memory over time, what ran on the host. %p in the name is the number of the process. On
 * devices beside the host each kernel is waited for meanwhile. Front ends whose programs have lines
 * of their own say here how the current one is found: it writes "file:line" and answers true, or
 * answers false. It is called on the thread that runs the program, without locks, while a report is
 * asked for and for each node of a function of mica/tf.h, whose line the error of a run then names.
 * NULL: lines are not known. */
MICA_API void mica_set_caller_line(bool (*find)(char *text, size_t capacity));
/* The line that is found now stands for what this thread does while none can be found, as without
 * an interpreter's lock. Costs nothing without a report. */
MICA_API void mica_mark_caller_line(void);

/* "1.2.3": of the library that runs; version.h has that of the headers. */
MICA_API const char *mica_version(void);

#ifdef __cplusplus
}
#endif
#endif
