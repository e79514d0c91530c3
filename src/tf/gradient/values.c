/* Tapes of values: those of C programs, told by mica_tf_eager of what it runs.
 *
 * A value is known by the address of its object, so that a tape holds all that it knows. An op on
 * the host may answer with an object that it was given or that a variable holds: where a tape knows
 * that one already, the result becomes a tensor of its own. */
#include <string.h>

#include "tf/gradient/tape.h"

static _Thread_local mica_tf_tape *recording; /* on this thread, the innermost first */
int32_t mica_tf_n_recording;

/* ---- values as tensors of a tape --------------------------------------------------------------*/

/* A pointer says in its lowest bits what it points to; objects are aligned. */
enum { TENSOR, RESOURCE, VARIANT, STRING, KINDS = 4 };
/* The id of outputs that no tape follows; no object has this address. */
enum { ANYTHING = 1 };

static void *pack(mica_tf_value value) {
    int kind = value.dtype == MICA_TF_resource  ? RESOURCE
               : value.dtype == MICA_TF_variant ? VARIANT
               : value.dtype == MICA_TF_string  ? STRING
                                                : TENSOR;
    return (char *)value.object + kind;
}

static mica_tf_value unpack(void *tensor) {
    static const mica_tf_dtype dtypes[KINDS] = {0, MICA_TF_resource, MICA_TF_variant,
                                                MICA_TF_string};
    uintptr_t kind = (uintptr_t)tensor % KINDS;
    void *object = (char *)tensor - kind;
    if (kind == TENSOR) return mica_tf_value_of(object);
    return (mica_tf_value){dtypes[kind], object};
}

static int64_t describe(void *tensor, mica_tf_dtype *out_dtype) {
    if (!tensor) {
        if (out_dtype) *out_dtype = MICA_TF_string;
        return ANYTHING;
    }
    if (out_dtype) *out_dtype = unpack(tensor).dtype;
    return (int64_t)((uintptr_t)tensor - (uintptr_t)tensor % KINDS);
}

static void retain(void *tensor) {
    if (tensor) mica_tf_value_retain(unpack(tensor));
}

static void release(void *tensor) {
    if (tensor) mica_tf_value_release(unpack(tensor));
}

static mica_status run(void *device, mica_tf_op op, const mica_tf_attr *attrs, void *const *inputs,
                       int32_t n, void **outputs, int32_t n_outputs) {
    mica_tf_value *values = mica_alloc((size_t)(n + n_outputs + 1) * sizeof *values);
    if (!values) return MICA_NO_MEMORY();
    mica_tf_value *results = values + n;
    int32_t made;
    for (int32_t i = 0; i < n; i++) values[i] = unpack(inputs[i]);
    mica_status status =
        mica_tf_eager(device, op, attrs, values, n, results, n_outputs, &made, NULL);
    for (int32_t i = 0; i < n_outputs && !status; i++) outputs[i] = pack(results[i]);
    mica_free(values);
    return status;
}

static mica_status no_slices(void *context, void *const *inputs, int32_t n_inputs, void *cotangent,
                             void **out_slices) {
    (void)context, (void)inputs, (void)n_inputs, (void)cotangent;
    *out_slices = NULL; /* gradients are dense */
    return NULL;
}

static const mica_tf_front values_front = {.size = sizeof values_front,
                                           .describe = describe,
                                           .retain = retain,
                                           .release = release,
                                           .run = run,
                                           .slices = no_slices};

/* ---- life -------------------------------------------------------------------------------------*/

mica_status mica_tf_tape_create(const mica_tf_tape_options *options, mica_tf_tape **out_tape) {
    MICA_GIVEN(out_tape);
    *out_tape = NULL;
    if (options && options->size != sizeof *options)
        return MICA_INVALID("[tape] options of %zu bytes, not %zu: set their size, or compile with "
                            "these headers",
                            options->size, sizeof *options);
    MICA_TRY(mica_tf_tape_make(&values_front, out_tape));
    (*out_tape)->is_of_values = true;
    (*out_tape)->is_persistent = options && options->is_persistent;
    (*out_tape)->ignores_variables = options && options->ignores_variables;
    return NULL;
}

void mica_tf_tape_forget_values(mica_tf_tape *tape) {
    for (int32_t i = 0; i < tape->n_held; i++) mica_tf_value_release(tape->held[i]);
    mica_free(tape->held);
    tape->held = NULL;
    tape->n_held = tape->held_capacity = 0;
}

static mica_status check(const mica_tf_tape *tape) {
    if (tape->is_of_values) return NULL;
    return MICA_INVALID("[tape] it is a tape of a front end's tensors, not of values");
}

mica_status mica_tf_tape_start(mica_tf_tape *tape) {
    MICA_GIVEN(tape);
    MICA_TRY(check(tape));
    if (tape->thread)
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[tape] it records already: stop it first");
    mica_tf_tape_retain(tape);
    tape->thread = mica_thread_id();
    tape->is_used = false;
    tape->next = recording;
    recording = tape;
    __atomic_fetch_add(&mica_tf_n_recording, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* true when it was on this thread's stack, whose reference is the caller's from now on. */
static bool unlink_tape(mica_tf_tape *tape) {
    mica_tf_tape **place = &recording;
    while (*place && *place != tape) place = &(*place)->next;
    if (!*place) return false;
    *place = tape->next;
    tape->next = NULL;
    tape->thread = NULL;
    __atomic_fetch_sub(&mica_tf_n_recording, 1, __ATOMIC_RELAXED);
    return true;
}

mica_status mica_tf_tape_stop(mica_tf_tape *tape) {
    MICA_GIVEN(tape);
    MICA_TRY(check(tape));
    if (!unlink_tape(tape))
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[tape] it does not record on this thread: "
                                                    "start it here first");
    mica_tf_tape_release(tape);
    return NULL;
}

void mica_tf_tape_leave(mica_tf_tape *tape) {
    if (!tape->thread || tape->thread != mica_thread_id()) return;
    if (__atomic_load_n(&tape->references.count, __ATOMIC_ACQUIRE) != 2) return;
    if (unlink_tape(tape)) (void)mica_refcount_release(&tape->references);
}

/* ---- recording --------------------------------------------------------------------------------*/

static mica_status hold(mica_tf_tape *tape, mica_tf_value value) {
    if (tape->n_held == tape->held_capacity) {
        int32_t larger = tape->held_capacity ? 2 * tape->held_capacity : 32;
        mica_tf_value *held = mica_realloc(tape->held, (size_t)larger * sizeof *held);
        if (!held) return MICA_NO_MEMORY();
        tape->held = held;
        tape->held_capacity = larger;
    }
    mica_tf_value_retain(value);
    tape->held[tape->n_held++] = value;
    return NULL;
}

static bool is_known(const mica_tf_tape *tape, mica_tf_value value) {
    return mica_tf_tape_knows(tape, describe(pack(value), NULL));
}

static mica_status follow(mica_tf_tape *tape, mica_tf_value value) {
    int64_t id = describe(pack(value), NULL);
    if (mica_tf_tape_follows(tape, id)) return NULL;
    MICA_TRY(hold(tape, value));
    return mica_tf_tape_follow(tape, id);
}

mica_status mica_tf_tape_watch(mica_tf_tape *tape, mica_tf_value value) {
    MICA_GIVEN(tape, value.object);
    MICA_TRY(check(tape));
    if (value.dtype == MICA_TF_variant || !mica_tf_tape_may_follow(value.dtype))
        return MICA_INVALID("[tape] a value of dtype %s cannot be watched: a floating or complex "
                            "one can, or a variable",
                            mica_tf_dtype_name(value.dtype));
    return follow(tape, value);
}

mica_tf_tape *mica_tf_tapes_hide(void) {
    mica_tf_tape *tapes = recording;
    recording = NULL;
    return tapes;
}

void mica_tf_tapes_show(mica_tf_tape *tapes) {
    recording = tapes;
}

/* Another tensor with the same elements. */
static mica_status replace(mica_tf_value *value) {
    mica_tensor *tensor = value->object, *other = NULL;
    const mica_type *type = mica_tensor_type(tensor);
    mica_attribute dims = {.ints = {type->dims, type->rank}};
    MICA_TRY(mica_eager(mica_tensor_device(tensor), MICA_OP_reshape, &tensor, 1, &dims, &other));
    mica_tensor_release(tensor);
    value->object = other;
    return NULL;
}

static mica_status replace_known(mica_tf_tape *tapes, mica_tf_value *outputs, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        bool known = false;
        if (!outputs[i].object || !mica_tf_is_core(outputs[i].dtype)) continue;
        for (const mica_tf_tape *tape = tapes; tape && !known; tape = tape->next)
            known = is_known(tape, outputs[i]);
        if (known) MICA_TRY(replace(&outputs[i]));
    }
    return NULL;
}

typedef struct packed {
    void **inputs, **outputs;
} packed;

static mica_status record(mica_tf_tape *tape, mica_tf_operation *operation,
                          const mica_tf_value *inputs, int32_t n_inputs,
                          const mica_tf_value *outputs, int32_t n_outputs, const packed *p) {
    bool reads = mica_tf_is_a(operation, MICA_TF_CATEGORY_READ);
    if (reads && !tape->ignores_variables) MICA_TRY(follow(tape, inputs[0]));
    int32_t before = tape->n_entries;
    MICA_TRY(mica_tf_tape_keep(tape, operation, NULL, p->inputs, n_inputs, p->outputs, n_outputs));
    if (tape->n_entries == before) return NULL;
    mica_status status = NULL;
    for (int32_t i = 0; i < n_outputs && !status; i++) {
        if (outputs[i].dtype == MICA_TF_variant)
            status = MICA_ERROR(MICA_UNSUPPORTED,
                                "[%s] result %d is a list, which a tape of values does not "
                                "follow: stop the tape for it, or put the op into a graph",
                                mica_tf_op_describe(mica_tf_operation_op(operation))->name, i);
        else if (p->outputs[i])
            status = hold(tape, outputs[i]);
    }
    if (status) mica_tf_tape_drop_last(tape);
    return status;
}

mica_status mica_tf_tapes_record(mica_tf_tape *tapes, mica_tf_operation *operation,
                                 const mica_tf_value *inputs, int32_t n_inputs,
                                 mica_tf_value *outputs, int32_t n_outputs) {
    MICA_TRY(replace_known(tapes, outputs, n_outputs));
    void **room = mica_alloc((size_t)(n_inputs + n_outputs + 1) * sizeof *room);
    if (!room) return MICA_NO_MEMORY();
    packed p = {room, room + n_inputs};
    for (int32_t i = 0; i < n_inputs; i++) p.inputs[i] = pack(inputs[i]);
    for (int32_t i = 0; i < n_outputs; i++)
        p.outputs[i] = mica_tf_is_core(outputs[i].dtype) ? pack(outputs[i]) : NULL;
    mica_status status = NULL;
    for (mica_tf_tape *tape = tapes; tape && !status; tape = tape->next)
        status = record(tape, operation, inputs, n_inputs, outputs, n_outputs, &p);
    mica_free(room);
    return status;
}

/* ---- gradients --------------------------------------------------------------------------------*/

static mica_status check_values(const char *what, const mica_tf_value *values, int32_t n) {
    if (n < 0) return MICA_INVALID("[tape] the number of %ss is %d", what, n);
    for (int32_t i = 0; i < n; i++)
        if (!values[i].object) return MICA_INVALID("[tape] %s %d of %d is no value", what, i, n);
    return NULL;
}

static mica_status check_cotangent(mica_tf_value cotangent, mica_tf_value target, int32_t i) {
    mica_tf_shape given, needed;
    if (!cotangent.object) return NULL;
    mica_tf_value_shape(cotangent, &given);
    mica_tf_value_shape(target, &needed);
    if (cotangent.dtype == target.dtype && mica_tf_shape_equal(&given, &needed)) return NULL;
    return MICA_INVALID("[tape] cotangent %d is %s %s, its target %s %s: they must be alike", i,
                        mica_tf_dtype_name(cotangent.dtype), mica_tf_shape_text(&given).chars,
                        mica_tf_dtype_name(target.dtype), mica_tf_shape_text(&needed).chars);
}

static mica_status differentiate(mica_tf_tape *tape, mica_device *device,
                                 const mica_tf_value *targets, int32_t n_targets,
                                 const mica_tf_value *cotangents, const mica_tf_value *sources,
                                 int32_t n_sources, mica_tf_value *out_gradients) {
    size_t n = (size_t)n_targets, m = (size_t)n_sources;
    void **room = mica_calloc(2 * n + 2 * m + 1, sizeof *room);
    if (!room) return MICA_NO_MEMORY();
    void **given = room + n, **from = given + n, **results = from + m;
    for (size_t i = 0; i < n; i++) room[i] = pack(targets[i]);
    for (size_t i = 0; i < n && cotangents; i++)
        if (cotangents[i].object) given[i] = pack(cotangents[i]);
    for (size_t i = 0; i < m; i++) from[i] = pack(sources[i]);
    mica_status status =
        mica_tf_tape_differentiate(tape, device, room, n_targets, given, from, n_sources, results);
    for (size_t i = 0; i < m && !status; i++)
        if (results[i]) out_gradients[i] = unpack(results[i]);
    mica_free(room);
    return status;
}

mica_status mica_tf_tape_gradient(mica_tf_tape *tape, mica_device *device,
                                  const mica_tf_value *targets, int32_t n_targets,
                                  const mica_tf_value *cotangents, const mica_tf_value *sources,
                                  int32_t n_sources, mica_tf_value *out_gradients) {
    MICA_GIVEN(tape, device, MICA_MANY(targets, n_targets), MICA_MANY(sources, n_sources),
               MICA_MANY(out_gradients, n_sources));
    for (int32_t i = 0; i < n_sources; i++) out_gradients[i] = (mica_tf_value){0};
    MICA_TRY(check(tape));
    MICA_TRY(check_values("target", targets, n_targets));
    MICA_TRY(check_values("source", sources, n_sources));
    for (int32_t i = 0; i < n_targets && cotangents; i++)
        MICA_TRY(check_cotangent(cotangents[i], targets[i], i));
    if (tape->is_used)
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[tape] its gradient was taken: make it persistent, or record anew");
    if (!tape->is_persistent && tape->thread) MICA_TRY(mica_tf_tape_stop(tape));
    mica_status status = differentiate(tape, device, targets, n_targets, cotangents, sources,
                                       n_sources, out_gradients);
    tape->is_used = !tape->is_persistent;
    if (tape->is_used) mica_tf_tape_clear(tape);
    return status;
}
