/* Tapes: what was recorded, and walks back over it. See mica/tf/tape.h.
 *
 * Tensors are known by their ids, which are never used twice, and inside of a tape by slots: the
 * first mention of an id gives it one. A tensor is followed when it is watched or was computed from
 * one that is. An entry's derivative is the op Vjp, which other tapes record in turn. */
#include "tf/gradient/tape.h"

#include <string.h>

#include "tf/gradient/walk.h"

/* ---- ids --------------------------------------------------------------------------------------*/

static int32_t place_of(const int64_t *keys, int32_t mask, int64_t id) {
    uint64_t h = (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15);
    int32_t i = (int32_t)(h >> 40) & mask;
    while (keys[i] && keys[i] != id) i = (i + 1) & mask;
    return i;
}

static int32_t slot_of(const mica_tf_tape *tape, int64_t id) {
    if (!tape->keys) return -1;
    int32_t i = place_of(tape->keys, tape->mask, id);
    return tape->keys[i] == id ? tape->places[i] : -1;
}

static mica_status grow_map(mica_tf_tape *tape) {
    int32_t mask = tape->keys ? 2 * tape->mask + 1 : 63;
    size_t n = (size_t)mask + 1;
    int64_t *keys = mica_calloc(n, sizeof *keys + sizeof *tape->places);
    if (!keys) return MICA_NO_MEMORY();
    int32_t *places = (int32_t *)(keys + n);
    for (int32_t i = 0; tape->keys && i <= tape->mask; i++) {
        if (!tape->keys[i]) continue;
        int32_t k = place_of(keys, mask, tape->keys[i]);
        keys[k] = tape->keys[i];
        places[k] = tape->places[i];
    }
    mica_free(tape->keys);
    tape->keys = keys;
    tape->places = places;
    tape->mask = mask;
    return NULL;
}

static mica_status grow_slots(mica_tf_tape *tape) {
    int32_t larger = tape->slots_capacity ? 2 * tape->slots_capacity : 64;
    uint8_t *followed = mica_realloc(tape->followed, (size_t)larger);
    if (!followed) return MICA_NO_MEMORY();
    tape->followed = followed;
    tape->slots_capacity = larger;
    return NULL;
}

/* The slot of an id, a new one where it has none. */
static mica_status need_slot(mica_tf_tape *tape, int64_t id, int32_t *out_slot) {
    if (!tape->keys || 2 * tape->n_slots >= tape->mask) MICA_TRY(grow_map(tape));
    if (tape->n_slots == tape->slots_capacity) MICA_TRY(grow_slots(tape));
    int32_t i = place_of(tape->keys, tape->mask, id);
    if (!tape->keys[i]) {
        tape->keys[i] = id;
        tape->places[i] = tape->n_slots;
        tape->followed[tape->n_slots++] = 0;
    }
    *out_slot = tape->places[i];
    return NULL;
}

bool mica_tf_tape_knows(const mica_tf_tape *tape, int64_t id) {
    return slot_of(tape, id) >= 0;
}

bool mica_tf_tape_follows(const mica_tf_tape *tape, int64_t id) {
    if (!tape || id == 0) return false;
    int32_t slot = slot_of(tape, id);
    return slot >= 0 && tape->followed[slot];
}

mica_status mica_tf_tape_follow(mica_tf_tape *tape, int64_t id) {
    MICA_GIVEN(tape);
    int32_t slot;
    if (id == 0) return MICA_INVALID("[tape] 0 is not the id of a tensor");
    MICA_TRY(need_slot(tape, id, &slot));
    tape->followed[slot] = 1;
    return NULL;
}

/* ---- life -------------------------------------------------------------------------------------*/

mica_status mica_tf_tape_make(const mica_tf_front *front, mica_tf_tape **out_tape) {
    mica_tf_tape *tape = mica_calloc(1, sizeof *tape);
    *out_tape = NULL;
    if (!tape) return MICA_NO_MEMORY();
    mica_refcount_init(&tape->references);
    mica_arena_init(&tape->arena);
    tape->front = *front;
    *out_tape = tape;
    return NULL;
}

mica_status mica_tf_tape_create_for(const mica_tf_front *front, mica_tf_tape **out_tape) {
    MICA_GIVEN(front, out_tape);
    *out_tape = NULL;
    if (front->size != sizeof *front)
        return MICA_INVALID("[tape] the front end's description has %zu bytes, not %zu: it was "
                            "compiled with other headers",
                            front->size, sizeof *front);
    if (!front->describe || !front->retain || !front->release || !front->run || !front->sum ||
        !front->dense || !front->slices || !front->backward)
        return MICA_INVALID("[tape] the front end's description lacks a function");
    return mica_tf_tape_make(front, out_tape);
}

void mica_tf_tape_retain(mica_tf_tape *tape) {
    if (tape) mica_refcount_retain(&tape->references);
}

static void clear_entry(const mica_tf_tape *tape, const mica_tf_tape_entry *e) {
    mica_tf_operation_release(e->operation);
    for (int32_t i = 0; i < e->n_inputs; i++) tape->front.release(e->inputs[i]);
    if (e->owner) tape->front.release(e->owner);
}

void mica_tf_tape_drop_last(mica_tf_tape *tape) {
    mica_tf_tape_entry last = tape->entries[--tape->n_entries];
    for (int32_t i = 0; i < last.n_outputs; i++) tape->followed[last.slots[last.n_inputs + i]] = 0;
    clear_entry(tape, &last);
}

void mica_tf_tape_clear(mica_tf_tape *tape) {
    if (!tape) return;
    tape->is_to_clear = tape->n_walks > 0; /* then the last walk does it */
    if (tape->is_to_clear) return;
    /* What is released may come back to the tape: it is empty by then. */
    mica_tf_tape_entry *entries = tape->entries;
    mica_arena arena = tape->arena;
    int32_t n = tape->n_entries;
    mica_arena_init(&tape->arena);
    tape->entries = NULL;
    tape->n_entries = tape->capacity = 0;
    mica_free(tape->keys);
    mica_free(tape->followed);
    tape->keys = NULL;
    tape->places = NULL;
    tape->followed = NULL;
    tape->n_slots = tape->slots_capacity = tape->mask = 0;
    for (int32_t i = 0; i < n; i++) clear_entry(tape, &entries[i]);
    mica_free(entries);
    mica_arena_deinit(&arena);
    mica_tf_tape_forget_values(tape);
}

void mica_tf_tape_release(mica_tf_tape *tape) {
    if (!tape) return;
    mica_tf_tape_leave(tape);
    if (!mica_refcount_release(&tape->references)) return;
    mica_tf_tape_clear(tape);
    mica_free(tape);
}

int mica_tf_tape_visit(const mica_tf_tape *tape, int (*visit)(void *object, void *argument),
                       void *argument) {
    if (!tape || !visit) return 0;
    for (int32_t i = 0; i < tape->n_entries; i++) {
        const mica_tf_tape_entry *e = &tape->entries[i];
        int answer = e->owner ? visit(e->owner, argument) : 0;
        for (int32_t k = 0; k < e->n_inputs && !answer; k++) answer = visit(e->inputs[k], argument);
        if (answer) return answer;
    }
    return 0;
}

/* ---- recording --------------------------------------------------------------------------------*/

bool mica_tf_tape_may_follow(mica_tf_dtype dtype) {
    mica_dtype core = mica_tf_dtype_core(dtype);
    if (core == MICA_DTYPE_COUNT) return dtype == MICA_TF_resource || dtype == MICA_TF_variant;
    mica_dtype_kind kind = mica_dtype_kind_of(core);
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
}

/* Fills slots of the inputs, -1 where one has none yet; whether the tape follows any of them. */
static bool follows_any(const mica_tf_tape *tape, const mica_tf_operation *operation,
                        void *const *inputs, int32_t n, int32_t *slots) {
    bool any = false;
    for (int32_t i = 0; i < n; i++) {
        slots[i] = slot_of(tape, tape->front.describe(inputs[i], NULL));
        if (any || slots[i] < 0 || !tape->followed[slots[i]]) continue;
        char role = operation ? mica_tf_operation_role(operation, i) : 'd';
        any = role == 'd' || role == 'z';
    }
    return any;
}

static mica_status room_for_entry(mica_tf_tape *tape) {
    if (tape->n_entries < tape->capacity) return NULL;
    int32_t larger = tape->capacity ? 2 * tape->capacity : 32;
    mica_tf_tape_entry *entries = mica_realloc(tape->entries, (size_t)larger * sizeof *entries);
    if (!entries) return MICA_NO_MEMORY();
    tape->entries = entries;
    tape->capacity = larger;
    return NULL;
}

enum { FEW = 16 };

/* The slots of the inputs that have none yet, then those of the outputs. */
static mica_status find_slots(mica_tf_tape *tape, void *const *inputs, int32_t n_inputs,
                              void *const *outputs, int32_t n_outputs, int32_t *slots) {
    for (int32_t i = 0; i < n_inputs; i++)
        if (slots[i] < 0)
            MICA_TRY(need_slot(tape, tape->front.describe(inputs[i], NULL), &slots[i]));
    for (int32_t i = 0; i < n_outputs; i++)
        MICA_TRY(need_slot(tape, tape->front.describe(outputs[i], NULL), &slots[n_inputs + i]));
    return NULL;
}

static mica_status append_entry(mica_tf_tape *tape, mica_tf_tape_entry e, void *const *inputs,
                                void *const *outputs, const int32_t *slots) {
    size_t n = (size_t)e.n_inputs, m = (size_t)e.n_outputs;
    MICA_TRY(room_for_entry(tape));
    e.inputs = mica_arena_alloc(&tape->arena, n * sizeof *e.inputs + (n + m) * sizeof *e.slots);
    if (!e.inputs) return MICA_NO_MEMORY();
    e.slots = (int32_t *)(e.inputs + n);
    if (n) memcpy(e.inputs, inputs, n * sizeof *e.inputs);
    if (n + m) memcpy(e.slots, slots, (n + m) * sizeof *e.slots);
    mica_tf_operation_retain(e.operation);
    if (e.owner) tape->front.retain(e.owner);
    for (size_t i = 0; i < n; i++) tape->front.retain(inputs[i]);
    for (size_t i = 0; i < m; i++) {
        mica_tf_dtype dtype;
        tape->front.describe(outputs[i], &dtype);
        if (mica_tf_tape_may_follow(dtype)) tape->followed[slots[n + i]] = 1;
    }
    if (e.n_inputs + e.n_outputs > tape->most) tape->most = e.n_inputs + e.n_outputs;
    tape->entries[tape->n_entries++] = e;
    return NULL;
}

mica_status mica_tf_tape_keep(mica_tf_tape *tape, mica_tf_operation *operation, void *owner,
                              void *const *inputs, int32_t n_inputs, void *const *outputs,
                              int32_t n_outputs) {
    int32_t few[FEW], *slots = few;
    size_t n = (size_t)n_inputs + (size_t)n_outputs;
    if (n > FEW && !(slots = mica_alloc(n * sizeof *slots))) return MICA_NO_MEMORY();
    mica_status status = NULL;
    mica_tf_tape_entry e = {operation, owner, NULL, NULL, n_inputs, n_outputs};
    if (follows_any(tape, operation, inputs, n_inputs, slots)) {
        status = find_slots(tape, inputs, n_inputs, outputs, n_outputs, slots);
        if (!status) status = append_entry(tape, e, inputs, outputs, slots);
    }
    if (slots != few) mica_free(slots);
    return status;
}

static mica_status check_tensors(const mica_tf_tape *tape, const char *what, void *const *tensors,
                                 int32_t n) {
    if (tape->is_of_values)
        return MICA_INVALID("[tape] it is a tape of values, not of a front end's tensors");
    if (n < 0) return MICA_INVALID("[tape] the number of %ss is %d", what, n);
    for (int32_t i = 0; i < n; i++)
        if (!tensors[i]) return MICA_INVALID("[tape] %s %d of %d is NULL", what, i, n);
    return NULL;
}

mica_status mica_tf_tape_record(mica_tf_tape *tape, mica_tf_operation *operation,
                                void *const *inputs, int32_t n_inputs, void *const *outputs,
                                int32_t n_outputs) {
    MICA_GIVEN(tape, operation, MICA_MANY(inputs, n_inputs), MICA_MANY(outputs, n_outputs));
    MICA_TRY(check_tensors(tape, "input", inputs, n_inputs));
    MICA_TRY(check_tensors(tape, "output", outputs, n_outputs));
    return mica_tf_tape_keep(tape, operation, NULL, inputs, n_inputs, outputs, n_outputs);
}

mica_status mica_tf_tape_record_function(mica_tf_tape *tape, void *owner, void *const *inputs,
                                         int32_t n_inputs, void *const *outputs,
                                         int32_t n_outputs) {
    MICA_GIVEN(tape, owner, MICA_MANY(inputs, n_inputs), MICA_MANY(outputs, n_outputs));
    MICA_TRY(check_tensors(tape, "input", inputs, n_inputs));
    MICA_TRY(check_tensors(tape, "output", outputs, n_outputs));
    return mica_tf_tape_keep(tape, NULL, owner, inputs, n_inputs, outputs, n_outputs);
}

/* ---- walking back -----------------------------------------------------------------------------*/

typedef struct tape_walk {
    mica_tf_walk walk; /* first */
    mica_tf_tape *tape;
    void *context;
} tape_walk;

static tape_walk *walk_of(mica_tf_walk *w) {
    return (tape_walk *)w;
}

/* Entries may move while the walk emits what the same tape records; their blocks do not. */
static const mica_tf_tape_entry *entry_of(mica_tf_walk *w, int32_t index) {
    return &walk_of(w)->tape->entries[index];
}

static void step_of(mica_tf_walk *w, int32_t index, mica_tf_step *out) {
    const mica_tf_tape_entry *e = entry_of(w, index);
    *out = (mica_tf_step){.index = index,
                          .operation = e->operation,
                          .inputs = e->slots,
                          .outputs = e->slots + e->n_inputs,
                          .n_inputs = e->n_inputs,
                          .n_outputs = e->n_outputs};
}

static mica_status own_of_entry(mica_tf_walk *w, const mica_tf_step *step, void *const *given,
                                bool *out_done) {
    const mica_tf_front *front = &walk_of(w)->tape->front;
    if (step->operation) return NULL;
    *out_done = true;
    size_t n = (size_t)step->n_inputs + 1;
    void **gradients = mica_calloc(n, sizeof *gradients + 1);
    if (!gradients) return MICA_NO_MEMORY();
    uint8_t *wanted = (uint8_t *)(gradients + n);
    for (int32_t i = 0; i < step->n_inputs; i++) wanted[i] = w->active[step->inputs[i]];
    mica_status status = front->backward(walk_of(w)->context, entry_of(w, step->index)->owner,
                                         given, wanted, gradients);
    for (int32_t i = 0; i < step->n_inputs; i++) {
        if (!gradients[i]) continue;
        if (status || !wanted[i])
            front->release(gradients[i]);
        else
            status = mica_tf_walk_add(w, step->inputs[i], gradients[i]);
    }
    mica_free(gradients);
    return status;
}

static mica_status slices_of(mica_tf_walk *w, const mica_tf_step *step, void *cotangent,
                             bool *out_done) {
    const mica_tf_front *front = &walk_of(w)->tape->front;
    const mica_tf_tape_entry e = *entry_of(w, step->index);
    void *values = NULL, *slices = NULL;
    MICA_TRY(w->kind->dense(w, cotangent, &values));
    mica_status status = front->slices(walk_of(w)->context, e.inputs, e.n_inputs, values, &slices);
    front->release(values);
    MICA_TRY(status);
    *out_done = slices != NULL;
    return slices ? mica_tf_walk_add(w, step->inputs[0], slices) : NULL;
}

static mica_status operand(mica_tf_walk *w, const mica_tf_step *step, int32_t i, void **out) {
    *out = entry_of(w, step->index)->inputs[i];
    return NULL;
}

static mica_tf_dtype dtype_of(mica_tf_walk *w, void *tensor) {
    mica_tf_dtype dtype;
    walk_of(w)->tape->front.describe(tensor, &dtype);
    return dtype;
}

static mica_tf_dtype input_dtype(mica_tf_walk *w, const mica_tf_step *step, int32_t i) {
    return dtype_of(w, entry_of(w, step->index)->inputs[i]);
}

static mica_status run(mica_tf_walk *w, mica_tf_op op, const mica_tf_attr *attrs,
                       void *const *inputs, int32_t n, void **outputs, int32_t n_outputs) {
    return walk_of(w)->tape->front.run(walk_of(w)->context, op, attrs, inputs, n, outputs,
                                       n_outputs);
}

/* An op of operands of one dtype with one result. */
static mica_status apply(mica_tf_walk *w, mica_tf_op op, void *const *inputs, int32_t n,
                         void **out) {
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    mica_tf_dtype dtypes[2];
    for (int32_t i = 0; i < info->n_attrs; i++) attrs[i] = info->attrs[i].value;
    for (int32_t i = 0; i < n; i++) dtypes[i] = dtype_of(w, inputs[i]);
    MICA_TRY(mica_tf_op_infer_types(op, dtypes, n, attrs));
    return run(w, op, attrs, inputs, n, out, 1);
}

static bool is_tensor(const tape_walk *w, void *gradient) {
    return w->tape->front.describe(gradient, NULL) != 0;
}

static mica_status sum(mica_tf_walk *w, void *a, void *b, void **out) {
    const tape_walk *t = walk_of(w);
    if (is_tensor(t, a) && is_tensor(t, b))
        return apply(w, MICA_TF_AddV2, (void *[2]){a, b}, 2, out);
    return t->tape->front.sum(t->context, a, b, out);
}

static mica_status zeros_like(mica_tf_walk *w, void *like, void **out) {
    return apply(w, MICA_TF_ZerosLike, &like, 1, out);
}

static mica_status dense(mica_tf_walk *w, void *cotangent, void **out) {
    const tape_walk *t = walk_of(w);
    *out = cotangent;
    if (!is_tensor(t, cotangent)) return t->tape->front.dense(t->context, cotangent, out);
    t->tape->front.retain(cotangent);
    return NULL;
}

static void mark_active(tape_walk *w) {
    const mica_tf_tape *tape = w->tape;
    uint8_t *active = w->walk.active;
    for (int32_t k = 0; k < w->walk.n_steps; k++) {
        const mica_tf_tape_entry *e = &tape->entries[k];
        bool reached = false;
        for (int32_t i = 0; i < e->n_inputs && !reached; i++) reached = active[e->slots[i]];
        for (int32_t i = 0; reached && i < e->n_outputs; i++) active[e->slots[e->n_inputs + i]] = 1;
    }
    for (int32_t i = 0; i < w->walk.n_slots; i++) active[i] &= tape->followed[i];
}

/* The cotangents of targets; those that the tape does not follow have no slot afterwards. */
static mica_status start(tape_walk *w, int32_t *slots, void *const *targets, int32_t n,
                         void *const *cotangents) {
    const mica_tf_front *front = &w->tape->front;
    for (int32_t i = 0; i < n; i++) {
        mica_tf_dtype dtype;
        slots[i] = slot_of(w->tape, front->describe(targets[i], &dtype));
        if (slots[i] < 0 || !w->tape->followed[slots[i]] || !mica_tf_tape_may_follow(dtype))
            continue;
        void *cotangent = cotangents ? cotangents[i] : NULL, *target = targets[i];
        if (cotangent)
            front->retain(cotangent);
        else
            MICA_TRY(apply(&w->walk, MICA_TF_OnesLike, &target, 1, &cotangent));
        MICA_TRY(mica_tf_walk_add(&w->walk, slots[i], cotangent));
    }
    return NULL;
}

static mica_status differentiate(tape_walk *w, int32_t *slots, void *const *targets,
                                 int32_t n_targets, void *const *cotangents, void *const *sources,
                                 int32_t n_sources, void **out_gradients) {
    mica_tf_tape *tape = w->tape;
    int32_t *of_sources = slots + n_targets, n = 0;
    for (int32_t i = 0; i < n_sources; i++) {
        of_sources[i] = slot_of(tape, tape->front.describe(sources[i], NULL));
        if (of_sources[i] >= 0) w->walk.active[of_sources[i]] = w->walk.kept[of_sources[i]] = 1;
    }
    mark_active(w);
    MICA_TRY(start(w, slots, targets, n_targets, cotangents));
    for (int32_t i = 0; i < n_targets; i++)
        if (slots[i] >= 0) slots[n++] = slots[i];
    MICA_TRY(mica_tf_walk_back(&w->walk, slots, n));
    for (int32_t i = 0; i < n_sources; i++) {
        if (of_sources[i] < 0) continue;
        out_gradients[i] = w->walk.cotangents[of_sources[i]];
        if (out_gradients[i]) tape->front.retain(out_gradients[i]);
    }
    return NULL;
}

mica_status mica_tf_tape_differentiate(mica_tf_tape *tape, void *context, void *const *targets,
                                       int32_t n_targets, void *const *cotangents,
                                       void *const *sources, int32_t n_sources,
                                       void **out_gradients) {
    static const mica_tf_walk_class tape_class = {.is_served = true,
                                                  .step = step_of,
                                                  .own = own_of_entry,
                                                  .gather = slices_of,
                                                  .input_dtype = input_dtype,
                                                  .operand = operand,
                                                  .dtype = dtype_of,
                                                  .has_derivative = mica_tf_tape_may_follow,
                                                  .run = run,
                                                  .sum = sum,
                                                  .zeros_like = zeros_like,
                                                  .dense = dense};
    mica_tf_walk_class kind = tape_class;
    kind.retain = tape->front.retain;
    kind.release = tape->front.release;
    tape_walk w = {.tape = tape, .context = context};
    for (int32_t i = 0; i < n_sources; i++) out_gradients[i] = NULL;
    size_t n = (size_t)n_targets + (size_t)n_sources, n_slots = (size_t)tape->n_slots;
    int32_t *slots = mica_calloc((n + 1) * sizeof *slots + 2 * n_slots, 1);
    if (!slots) return MICA_NO_MEMORY();
    w.walk.active = (uint8_t *)(slots + n + 1);
    w.walk.kept = w.walk.active + n_slots;
    mica_status status =
        mica_tf_walk_init(&w.walk, &kind, tape->n_entries, tape->n_slots, tape->most);
    mica_tf_tape_retain(tape);
    tape->n_walks++;
    if (!status)
        status = differentiate(&w, slots, targets, n_targets, cotangents, sources, n_sources,
                               out_gradients);
    mica_tf_walk_deinit(&w.walk);
    mica_free(slots);
    if (--tape->n_walks == 0 && tape->is_to_clear) mica_tf_tape_clear(tape);
    mica_tf_tape_release(tape);
    return status;
}

mica_status mica_tf_tape_walk(mica_tf_tape *tape, void *context, void *const *targets,
                              int32_t n_targets, void *const *cotangents, void *const *sources,
                              int32_t n_sources, void **out_gradients) {
    MICA_GIVEN(tape, MICA_MANY(targets, n_targets), MICA_MANY(sources, n_sources),
               MICA_MANY(out_gradients, n_sources));
    MICA_TRY(check_tensors(tape, "target", targets, n_targets));
    MICA_TRY(check_tensors(tape, "source", sources, n_sources));
    return mica_tf_tape_differentiate(tape, context, targets, n_targets, cotangents, sources,
                                      n_sources, out_gradients);
}
