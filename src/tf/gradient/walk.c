/* The reverse walk: see walk.h. */
#include "tf/gradient/walk.h"

#include <string.h>

mica_status mica_tf_walk_init(mica_tf_walk *w, const mica_tf_walk_class *kind, int32_t n_steps,
                              int32_t n_slots, int32_t most) {
    size_t n = (size_t)n_slots, m = (size_t)most + 1;
    w->kind = kind;
    w->n_steps = n_steps;
    w->n_slots = n_slots;
    w->cotangents = mica_calloc(n + 3 * m, sizeof *w->cotangents);
    w->ints = mica_alloc(4 * m * sizeof *w->ints);
    if (!w->cotangents || !w->ints) return MICA_NO_MEMORY();
    w->given = w->cotangents + n;
    w->tensors = w->given + m;
    return NULL;
}

void mica_tf_walk_deinit(mica_tf_walk *w) {
    for (int32_t i = 0; w->cotangents && w->kind->release && i < w->n_slots; i++)
        if (w->cotangents[i]) w->kind->release(w->cotangents[i]);
    mica_free(w->cotangents);
    mica_free(w->ints);
    w->cotangents = NULL;
    w->ints = NULL;
}

static void release(const mica_tf_walk *w, void *tensor) {
    if (tensor && w->kind->release) w->kind->release(tensor);
}

mica_status mica_tf_walk_add(mica_tf_walk *w, int32_t slot, void *cotangent) {
    void *before = w->cotangents[slot], *sum = NULL;
    if (!before) {
        w->cotangents[slot] = cotangent;
        return NULL;
    }
    mica_status status = w->kind->sum(w, before, cotangent, &sum);
    release(w, cotangent);
    MICA_TRY(status);
    release(w, before);
    w->cotangents[slot] = sum;
    return NULL;
}

bool mica_tf_walk_carries(const mica_tf_walk *w, const mica_tf_step *step, int32_t i) {
    if (!w->active[step->inputs[i]]) return false;
    if (!step->operation) return true;
    char role = mica_tf_operation_role(step->operation, i);
    return role == 'd' || role == 'z';
}

/* ---- one step ---------------------------------------------------------------------------------*/

/* The op Vjp: the inputs of its forward op, then the cotangents. */
static mica_status emit_vjp(mica_tf_walk *w, const mica_tf_step *step, void *const *given,
                            const int64_t *places, int32_t n_places) {
    size_t m = (size_t)step->n_inputs;
    int64_t *result_types = w->ints + m, *types = result_types + m;
    int64_t *outputs = types + m + (size_t)step->n_outputs;
    int32_t n = step->n_inputs, n_given = 0;
    void **operands = w->tensors, **results = w->tensors + m + (size_t)step->n_outputs;
    mica_status status = NULL;
    for (int32_t i = 0; i < n; i++) {
        MICA_TRY(w->kind->operand(w, step, i, &operands[i]));
        types[i] = w->kind->input_dtype(w, step, i);
    }
    for (int32_t i = 0; i < n_places; i++) result_types[i] = types[places[i]];
    for (int32_t i = 0; i < step->n_outputs && !status; i++) {
        if (!given[i]) continue;
        void *cotangent = given[i];
        if (w->kind->dense) status = w->kind->dense(w, given[i], &cotangent);
        if (status) break;
        outputs[n_given] = i;
        types[n + n_given] = w->kind->dtype(w, cotangent);
        operands[n + n_given++] = cotangent;
    }
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {
        {.as.operation = step->operation},    {.as.integer = n},
        {.n = n_given, .as.ints = outputs},   {.n = n_places, .as.ints = places},
        {.n = n + n_given, .as.ints = types}, {.n = n_places, .as.ints = result_types},
    };
    if (!status)
        status = w->kind->run(w, MICA_TF_Vjp, attrs, operands, n + n_given, results, n_places);
    for (int32_t i = 0; w->kind->dense && i < n_given; i++) release(w, operands[n + i]);
    MICA_TRY(status);
    for (int32_t i = 0; i < n_places; i++) { /* all of them, for their references */
        if (status)
            release(w, results[i]);
        else
            status = mica_tf_walk_add(w, step->inputs[places[i]], results[i]);
    }
    return status;
}

mica_status mica_tf_walk_vjp(mica_tf_walk *w, const mica_tf_step *step, void *const *given) {
    int64_t *places = w->ints;
    int32_t n_places = 0;
    for (int32_t i = 0; i < step->n_inputs; i++) {
        void *input = NULL, *zeros = NULL;
        if (!mica_tf_walk_carries(w, step, i) ||
            !w->kind->has_derivative(w->kind->input_dtype(w, step, i)))
            continue;
        if (mica_tf_operation_role(step->operation, i) == 'd') {
            places[n_places++] = i;
            continue;
        }
        MICA_TRY(w->kind->operand(w, step, i, &input));
        MICA_TRY(w->kind->zeros_like(w, input, &zeros));
        MICA_TRY(mica_tf_walk_add(w, step->inputs[i], zeros));
    }
    return n_places ? emit_vjp(w, step, given, places, n_places) : NULL;
}

/* Gathers along whole rows may give their indices back in place of a dense gradient. */
static bool may_give_slices(const mica_tf_walk *w, const mica_tf_step *step) {
    const mica_tf_operation *o = step->operation;
    if (!w->kind->gather || !mica_tf_walk_carries(w, step, 0)) return false;
    if (o->op == MICA_TF_GatherNd) return true;
    return o->op == MICA_TF_GatherV2 &&
           mica_tf_attr_find(o->info, o->attrs, "batch_dims")->as.integer == 0;
}

static mica_status derive(mica_tf_walk *w, const mica_tf_step *step, void *const *given) {
    bool done = false;
    if (w->kind->own) MICA_TRY(w->kind->own(w, step, given, &done));
    if (done) return NULL;
    if (mica_tf_is_a(step->operation, MICA_TF_CATEGORY_READ)) { /* a variable's, its value's */
        if (w->kind->retain) w->kind->retain(given[0]);
        return mica_tf_walk_add(w, step->inputs[0], given[0]);
    }
    mica_tf_derive_function own = mica_tf_traits_of[step->operation->op].derive;
    if (own) return own(w, step, given);
    if (may_give_slices(w, step)) MICA_TRY(w->kind->gather(w, step, given[0], &done));
    return done ? NULL : mica_tf_walk_vjp(w, step, given);
}

/* The cotangents of the results; where they are counted they leave the slots that are not asked for
 * afterwards. */
static bool take_given(mica_tf_walk *w, const mica_tf_step *step, void **given) {
    bool any = false;
    for (int32_t i = 0; i < step->n_outputs; i++) {
        int32_t slot = step->outputs[i];
        given[i] = w->held && w->held[slot] ? NULL : w->cotangents[slot];
        any |= given[i] != NULL;
        if (!given[i] || !w->kind->release) continue;
        if (w->kept && w->kept[slot])
            w->kind->retain(given[i]);
        else
            w->cotangents[slot] = NULL;
    }
    return any;
}

static mica_status take_step(mica_tf_walk *w, int32_t index) {
    mica_tf_step step;
    bool leads = false;
    if (w->kind->begin) MICA_TRY(w->kind->begin(w, index));
    w->kind->step(w, index, &step);
    for (int32_t i = 0; i < step.n_inputs && !leads; i++) leads = mica_tf_walk_carries(w, &step, i);
    bool any = take_given(w, &step, w->given);
    mica_status status = any && leads ? derive(w, &step, w->given) : NULL;
    for (int32_t i = 0; i < step.n_outputs; i++) release(w, w->given[i]);
    return status;
}

/* ---- first come, first served -----------------------------------------------------------------*/

typedef struct order {
    int32_t *makers;  /* by slot: the step that made it, or -1 */
    int32_t *uses;    /* by slot: by steps on the way that are not done */
    int32_t *missing; /* by step: its results with uses; -1: it is not on the way */
    int32_t *queue, head, tail;
} order;

static mica_status order_start(order *o, mica_tf_walk *w) {
    size_t n = (size_t)w->n_slots, m = (size_t)w->n_steps;
    o->makers = mica_calloc(2 * (n + m) + 1, sizeof *o->makers);
    if (!o->makers) return MICA_NO_MEMORY();
    o->uses = o->makers + n;
    o->missing = o->uses + n;
    o->queue = o->missing + m;
    for (size_t i = 0; i < n; i++) o->makers[i] = -1;
    for (int32_t i = 0; i < w->n_steps; i++) {
        mica_tf_step step;
        w->kind->step(w, i, &step);
        o->missing[i] = -1;
        for (int32_t k = 0; k < step.n_outputs; k++) o->makers[step.outputs[k]] = i;
    }
    return NULL;
}

/* Puts the step that made it on the way; the queue serves as the list of those to look at. */
static void order_reach(order *o, int32_t slot) {
    int32_t maker = o->makers[slot];
    if (maker < 0 || o->missing[maker] >= 0) return;
    o->missing[maker] = 0;
    o->queue[o->tail++] = maker;
}

static void order_find_way(order *o, mica_tf_walk *w, const int32_t *targets, int32_t n) {
    for (int32_t i = 0; i < n; i++) order_reach(o, targets[i]);
    for (int32_t k = 0; k < o->tail; k++) {
        mica_tf_step step;
        w->kind->step(w, o->queue[k], &step);
        for (int32_t i = 0; i < step.n_inputs; i++) {
            int32_t slot = step.inputs[i];
            if (!w->active[slot] || o->makers[slot] < 0 || o->uses[slot]++) continue;
            order_reach(o, slot);
            o->missing[o->makers[slot]]++;
        }
    }
}

static void order_done(order *o, mica_tf_walk *w, int32_t index) {
    mica_tf_step step;
    w->kind->step(w, index, &step);
    for (int32_t i = 0; i < step.n_inputs; i++) {
        int32_t slot = step.inputs[i];
        if (!w->active[slot] || o->makers[slot] < 0 || --o->uses[slot]) continue;
        if (--o->missing[o->makers[slot]] == 0) o->queue[o->tail++] = o->makers[slot];
    }
}

static mica_status serve(mica_tf_walk *w, const int32_t *targets, int32_t n) {
    order o = {0};
    MICA_TRY(order_start(&o, w));
    order_find_way(&o, w, targets, n);
    o.tail = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t maker = o.makers[targets[i]];
        if (maker < 0 || o.missing[maker] != 0) continue;
        o.missing[maker] = -1; /* once only */
        o.queue[o.tail++] = maker;
    }
    mica_status status = NULL;
    while (o.head < o.tail && !status) {
        int32_t index = o.queue[o.head++];
        status = take_step(w, index);
        order_done(&o, w, index);
    }
    mica_free(o.makers);
    return status;
}

mica_status mica_tf_walk_back(mica_tf_walk *w, const int32_t *targets, int32_t n) {
    if (w->kind->is_served) return serve(w, targets, n);
    for (int32_t i = w->n_steps; i-- > 0;) MICA_TRY(take_step(w, i));
    return NULL;
}
