/* mica/tf/tape.h: derivatives of ops that run by themselves.
 *
 * A tape that is started records what mica_tf_eager does on this thread, as far as it depends on
 * what the tape watches: values, and every variable that is read. From what it recorded it computes
 * the derivative of targets with respect to sources. Tapes nest: what the inner one computes is
 * recorded by the outer one, so that derivatives of derivatives need nothing more.
 *
 * Values are known by their objects: a source is the very value that was watched and used. Ops that
 * a graph runs (mica_tf_graph_run) are not recorded; the op PartitionedCall calls a graph, and is.
 * Lists (dtype variant) are not followed: an op that makes one of what is watched is refused.
 * A tape belongs to one thread at a time.
 *
 * @example
 *     mica_device *device = NULL;
 *     mica_tf_tape *tape = NULL;
 *     mica_tensor *three = NULL;
 *     mica_tf_value x = {0}, square = {0}, gradient = {0};
 *     mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
 *     const mica_tf_attr attrs[1] = {{.as.integer = MICA_TF_float32}};
 *     int32_t n = 0;
 *     mica_status status = mica_device_open("cpu", &device);
 *     if (!status) status = mica_tensor_from_host(device, &scalar, &(float){3}, &three);
 *     if (!status) x = mica_tf_value_of(three);
 *     if (!status) status = mica_tf_tape_create(NULL, &tape);
 *     if (!status) status = mica_tf_tape_watch(tape, x);
 *     if (!status) status = mica_tf_tape_start(tape);
 *     if (!status)
 *         status = mica_tf_eager(device, MICA_TF_Square, attrs, &x, 1, &square, 1, &n, NULL);
 *     if (!status) status = mica_tf_tape_gradient(tape, device, &square, 1, NULL, &x, 1,
 * &gradient); mica_tf_value_release(gradient);  // 6 mica_tf_value_release(square);
 *     mica_tf_value_release(x);
 *     mica_tf_tape_release(tape);
 *     mica_device_release(device);
 *     mica_status_release(status);
 * @end
 */
#ifndef MICA_TF_TAPE_H
#define MICA_TF_TAPE_H

#include <mica/tf.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mica_tf_tape mica_tf_tape;

typedef struct mica_tf_tape_options {
    size_t size;
    bool is_persistent;     /* its gradient may be asked for more than once */
    bool ignores_variables; /* variables are watched where that is asked for, not when they are read
                             */
} mica_tf_tape_options;

/* options may be NULL. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_tape_create(const mica_tf_tape_options *options,
                                                         mica_tf_tape **out_tape);
MICA_API void mica_tf_tape_retain(mica_tf_tape *tape);
/* Stops it where it still records on this thread and this was the last other reference. */
MICA_API void mica_tf_tape_release(mica_tf_tape *tape);
/* From now on what runs on this thread is recorded, until it is stopped. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_tape_start(mica_tf_tape *tape);
MICA_API MICA_MUST_CHECK mica_status mica_tf_tape_stop(mica_tf_tape *tape);
/* Follows a tensor of floating or complex dtype, or a variable, from now on. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_tape_watch(mica_tf_tape *tape, mica_tf_value value);
/* out_gradients[i] = d sum_k <targets[k], cotangents[k]> / d sources[i], of the source's shape; a
 * variable's is that of its value, over all reads. Without a connection its object is NULL.
 * cotangents: NULL, or one whose object is NULL, is ones. A tape that is not persistent is stopped
 * and forgets what it recorded, also after an error. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_tape_gradient(
    mica_tf_tape *tape, mica_device *device, const mica_tf_value *targets, int32_t n_targets,
    const mica_tf_value *cotangents, const mica_tf_value *sources, int32_t n_sources,
    mica_tf_value *out_gradients);

/* ---- for front ends ---------------------------------------------------------------------------*/

/* Tensors of a front end's own: pointers to objects that it counts. All functions are called by the
 * thread that uses the tape. A gradient may be another object than a tensor (slices). */
typedef struct mica_tf_front {
    size_t size;
    /* What the tensor is known by, never used twice, and its dtype (out_dtype may be NULL). 0: this
     * gradient is no tensor. */
    int64_t (*describe)(void *tensor, mica_tf_dtype *out_dtype);
    void (*retain)(void *object);
    void (*release)(void *object);
    /* Runs an op, or adds a node; outer tapes of the front end's may record it. */
    mica_status (*run)(void *context, mica_tf_op op, const mica_tf_attr *attrs, void *const *inputs,
                       int32_t n_inputs, void **out_outputs, int32_t n_outputs);
    /* The sum of two gradients of which one is no tensor; and such a one as a tensor. */
    mica_status (*sum)(void *context, void *a, void *b, void **out_sum);
    mica_status (*dense)(void *context, void *gradient, void **out_tensor);
    /* What a gather gives back, as another object than a tensor; NULL: it cannot be one. inputs are
     * those of the op: params, indices, perhaps the axis. */
    mica_status (*slices)(void *context, void *const *inputs, int32_t n_inputs, void *cotangent,
                          void **out_slices);
    /* The derivative of what was recorded with `owner`: cotangents of its outputs in, NULL where
     * there is none, those of its inputs out, NULL where there is none or it is not wanted. */
    mica_status (*backward)(void *context, void *owner, void *const *cotangents,
                            const uint8_t *wanted, void **out_gradients);
} mica_tf_front;

/* A tape of the front end's tensors; `front` is copied. Which threads and graphs it is for, and
 * what it is told of, is the front end's. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_tape_create_for(const mica_tf_front *front,
                                                             mica_tf_tape **out_tape);
MICA_API bool mica_tf_tape_follows(const mica_tf_tape *tape, int64_t id);
MICA_API MICA_MUST_CHECK mica_status mica_tf_tape_follow(mica_tf_tape *tape, int64_t id);
/* Keeps the op and its inputs, when the tape follows one of them. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_tape_record(mica_tf_tape *tape,
                                                         mica_tf_operation *operation,
                                                         void *const *inputs, int32_t n_inputs,
                                                         void *const *outputs, int32_t n_outputs);
/* The same for something whose derivative `backward` computes. The tape holds the owner. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_tape_record_function(mica_tf_tape *tape, void *owner,
                                                                  void *const *inputs,
                                                                  int32_t n_inputs,
                                                                  void *const *outputs,
                                                                  int32_t n_outputs);
/* As mica_tf_tape_gradient, and nothing is forgotten. `context` is handed to the front end. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_tape_walk(mica_tf_tape *tape, void *context,
                                                       void *const *targets, int32_t n_targets,
                                                       void *const *cotangents,
                                                       void *const *sources, int32_t n_sources,
                                                       void **out_gradients);
/* Calls visit(object, argument) for every reference to an object that the tape holds, until one
 * answers something else than 0, which is the answer. */
MICA_API int mica_tf_tape_visit(const mica_tf_tape *tape,
                                int (*visit)(void *object, void *argument), void *argument);
/* Forgets what was recorded and what is followed. */
MICA_API void mica_tf_tape_clear(mica_tf_tape *tape);

#ifdef __cplusplus
}
#endif
#endif
