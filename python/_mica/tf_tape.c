/* Tapes and accumulators: what records ops, and derivatives from what was recorded.
 *
 * A tape belongs to the graph in which it was started (none: eager) and records the ops of that
 * graph alone. Tensors are known by their ids; a captured tensor keeps its id, and a variable is
 * known by its handle. An entry keeps the operation and its inputs; its derivative is the op
 * Vjp, which other tapes record in turn, so that derivatives of any order need nothing more. */
#include "tf_extension.h"

#include <string.h>

/* ---- maps from ids ----------------------------------------------------------------------------*/

typedef struct id_map {
    int64_t *keys;     /* 0: free */
    PyObject **values; /* NULL when the map is a set */
    int32_t n, mask;
} id_map;

static int32_t map_place(const id_map *map, int64_t id) {
    uint64_t h = (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15);
    int32_t i = (int32_t)(h >> 40) & map->mask;
    while (map->keys[i] && map->keys[i] != id) i = (i + 1) & map->mask;
    return i;
}

static int map_grow(id_map *map, bool has_values) {
    id_map larger = {.mask = map->keys ? 2 * map->mask + 1 : 31};
    size_t n = (size_t)larger.mask + 1;
    larger.keys = PyMem_Calloc(n, sizeof *larger.keys);
    larger.values = has_values ? PyMem_Calloc(n, sizeof *larger.values) : NULL;
    if (!larger.keys || (has_values && !larger.values)) {
        PyMem_Free(larger.keys);
        PyErr_NoMemory();
        return -1;
    }
    for (int32_t i = 0; map->keys && i <= map->mask; i++)
        if (map->keys[i]) {
            int32_t k = map_place(&larger, map->keys[i]);
            larger.keys[k] = map->keys[i];
            if (has_values) larger.values[k] = map->values[i];
            larger.n++;
        }
    PyMem_Free(map->keys);
    PyMem_Free(map->values);
    *map = larger;
    return 0;
}

static bool map_has(const id_map *map, int64_t id) {
    return map->keys && map->keys[map_place(map, id)] == id;
}

static int set_add(id_map *map, int64_t id) {
    if ((!map->keys || 2 * map->n >= map->mask) && map_grow(map, false) < 0) return -1;
    int32_t i = map_place(map, id);
    if (!map->keys[i]) map->n++;
    map->keys[i] = id;
    return 0;
}

static PyObject *map_get(const id_map *map, int64_t id) { /* borrowed */
    if (!map->keys) return NULL;
    int32_t i = map_place(map, id);
    return map->keys[i] == id ? map->values[i] : NULL;
}

static int map_set(id_map *map, int64_t id, PyObject *value) { /* takes the reference */
    if ((!map->keys || 2 * map->n >= map->mask) && map_grow(map, true) < 0) {
        Py_XDECREF(value);
        return -1;
    }
    int32_t i = map_place(map, id);
    if (!map->keys[i]) map->n++;
    map->keys[i] = id;
    Py_XSETREF(map->values[i], value);
    return 0;
}

static void map_clear(id_map *map) {
    for (int32_t i = 0; map->values && i <= map->mask; i++) Py_XDECREF(map->values[i]);
    PyMem_Free(map->keys);
    PyMem_Free(map->values);
    memset(map, 0, sizeof *map);
}

/* ---- tapes ------------------------------------------------------------------------------------*/

typedef struct entry {
    mica_tf_operation *operation; /* NULL: `backward` says the derivative */
    PyObject *backward;           /* called with the outputs' cotangents, or NULL */
    PyObject **inputs;            /* tensors, held */
    PyObject **outputs;           /* held for `backward` only */
    int64_t *ids;                 /* of the outputs */
    int32_t n_inputs, n_outputs;
} entry;

typedef struct TFTape {
    PyObject_HEAD TFGraph *graph; /* where it was started; NULL: eager */
    id_map tracked;
    entry *entries;
    int32_t n_entries, capacity;
    PyObject *watched; /* list of handles of variables that were read */
    bool watches_variables, is_on;
    bool only_watches;   /* it notes which variables are read, also where recording is stopped */
    struct TFTape *next; /* on this thread's stack */
} TFTape;

typedef struct TFAccumulator {
    PyObject_HEAD TFGraph *graph;
    id_map tangents;
    bool is_on;
    struct TFAccumulator *next;
} TFAccumulator;

static _Thread_local TFTape *tapes;
static _Thread_local TFAccumulator *accumulators;
static _Thread_local int stopped;
static _Thread_local int watchers; /* tapes that only watch */

bool tf_is_recording(void) {
    return watchers || ((tapes || accumulators) && !stopped);
}

tf_tapes tf_hide_tapes(void) {
    tf_tapes hidden = {tapes, accumulators, stopped, watchers};
    tapes = NULL;
    accumulators = NULL;
    stopped = watchers = 0;
    return hidden;
}

void tf_show_tapes(tf_tapes hidden) {
    tapes = hidden.tapes;
    accumulators = hidden.accumulators;
    stopped = hidden.stopped;
    watchers = hidden.watchers;
}

static void entry_clear(entry *e) {
    mica_tf_operation_release(e->operation);
    Py_XDECREF(e->backward);
    for (int32_t i = 0; i < e->n_inputs; i++) Py_XDECREF(e->inputs[i]);
    for (int32_t i = 0; e->outputs && i < e->n_outputs; i++) Py_XDECREF(e->outputs[i]);
    PyMem_Free(e->inputs);
}

static bool is_differentiable(mica_tf_dtype dtype) {
    mica_dtype core = mica_tf_dtype_core(dtype);
    if (core == MICA_DTYPE_COUNT) return dtype == MICA_TF_resource || dtype == MICA_TF_variant;
    mica_dtype_kind kind = mica_dtype_kind_of(core);
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
}

static int tape_watch(TFTape *tape, TFTensor *tensor) {
    return set_add(&tape->tracked, tensor->id);
}

static int watch_variable(TFTape *tape, TFTensor *handle) {
    if (map_has(&tape->tracked, handle->id)) return 0;
    if (PyList_Append(tape->watched, (PyObject *)handle) < 0) return -1;
    return tape_watch(tape, handle);
}

/* One block for inputs, outputs and ids. */
static entry *add_entry(TFTape *tape, int32_t n_inputs, int32_t n_outputs) {
    if (tape->n_entries == tape->capacity) {
        int32_t larger = tape->capacity ? 2 * tape->capacity : 32;
        entry *block = PyMem_Resize(tape->entries, entry, larger);
        if (!block) {
            PyErr_NoMemory();
            return NULL;
        }
        tape->entries = block;
        tape->capacity = larger;
    }
    entry *e = &tape->entries[tape->n_entries];
    size_t n = (size_t)n_inputs + 2 * (size_t)n_outputs;
    memset(e, 0, sizeof *e);
    e->inputs = PyMem_Calloc(n + 1, sizeof(int64_t));
    if (!e->inputs) {
        PyErr_NoMemory();
        return NULL;
    }
    e->ids = (int64_t *)(e->inputs + n_inputs);
    e->n_inputs = n_inputs;
    e->n_outputs = n_outputs;
    tape->n_entries++;
    return e;
}

static int tape_record(TFTape *tape, mica_tf_operation *operation, TFTensor *const *inputs,
                       int32_t n_inputs, PyObject *const *outputs, int32_t n_outputs) {
    bool any = false;
    for (int32_t i = 0; i < n_inputs; i++) {
        if (!map_has(&tape->tracked, inputs[i]->id)) continue;
        char role = mica_tf_operation_role(operation, i);
        any |= role == 'd' || role == 'z';
    }
    if (!any) return 0;
    entry *e = add_entry(tape, n_inputs, n_outputs);
    if (!e) return -1;
    mica_tf_operation_retain(operation);
    e->operation = operation;
    for (int32_t i = 0; i < n_inputs; i++) {
        Py_INCREF(inputs[i]);
        e->inputs[i] = (PyObject *)inputs[i];
    }
    for (int32_t i = 0; i < n_outputs; i++) {
        e->ids[i] = ((TFTensor *)outputs[i])->id;
        if (is_differentiable(tf_tensor_dtype((TFTensor *)outputs[i])) &&
            set_add(&tape->tracked, e->ids[i]) < 0)
            return -1;
    }
    return 0;
}

/* ---- derivative ops ---------------------------------------------------------------------------*/

#define MOST 512

/* Vjp or Jvp: `extra` follow the forward's inputs; one result for each of `wanted`. */
static int32_t derivative(mica_tf_op op, mica_tf_operation *forward, PyObject *const *inputs,
                          int32_t n_inputs, const int64_t *outputs, int32_t n_outputs,
                          const int64_t *places, int32_t n_places, PyObject *const *extra,
                          int32_t n_extra, const int64_t *result_types, PyObject **results) {
    TFTensor *all[2 * MOST];
    int64_t types[2 * MOST];
    if (n_inputs + n_extra > 2 * MOST) {
        PyErr_SetString(PyExc_ValueError, "an op has too many inputs for its derivative");
        return -1;
    }
    for (int32_t i = 0; i < n_inputs; i++) all[i] = (TFTensor *)inputs[i];
    for (int32_t i = 0; i < n_extra; i++) all[n_inputs + i] = (TFTensor *)extra[i];
    for (int32_t i = 0; i < n_inputs + n_extra; i++) types[i] = tf_tensor_dtype(all[i]);
    int32_t n_results = op == MICA_TF_Vjp ? n_places : n_outputs;
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {
        {.as.operation = forward},
        {.as.integer = n_inputs},
        {.n = n_outputs, .as.ints = outputs},
        {.n = n_places, .as.ints = places},
        {.n = n_inputs + n_extra, .as.ints = types},
        {.n = n_results, .as.ints = result_types},
    };
    return tf_execute(op, attrs, all, n_inputs + n_extra, NULL, results, n_results);
}

/* ---- accumulators -----------------------------------------------------------------------------*/

static int accumulate_forward(TFAccumulator *a, mica_tf_operation *operation,
                              TFTensor *const *inputs, int32_t n_inputs, PyObject *const *outputs,
                              int32_t n_outputs) {
    PyObject *tangents[MOST], *results[MOST];
    int64_t places[MOST], wanted[MOST], types[MOST];
    int32_t n = 0, n_wanted = 0;
    for (int32_t i = 0; i < n_inputs && n < MOST; i++) {
        PyObject *tangent = map_get(&a->tangents, inputs[i]->id);
        if (!tangent || mica_tf_operation_role(operation, i) != 'd') continue;
        places[n] = i;
        tangents[n++] = tangent;
    }
    for (int32_t i = 0; i < n_outputs && n_wanted < MOST; i++)
        if (is_differentiable(tf_tensor_dtype((TFTensor *)outputs[i]))) {
            types[n_wanted] = tf_tensor_dtype((TFTensor *)outputs[i]);
            wanted[n_wanted++] = i;
        }
    if (n == 0 || n_wanted == 0) return 0;
    if (mica_tf_operation_op(operation) == MICA_TF_ReadVariableOp) {
        Py_INCREF(tangents[0]);
        return map_set(&a->tangents, ((TFTensor *)outputs[0])->id, tangents[0]);
    }
    a->is_on = false; /* its own tangents are not tangents' tangents */
    int32_t made = derivative(MICA_TF_Jvp, operation, (PyObject *const *)inputs, n_inputs, wanted,
                              n_wanted, places, n, tangents, n, types, results);
    a->is_on = true;
    for (int32_t i = 0; i < made; i++)
        if (map_set(&a->tangents, ((TFTensor *)outputs[wanted[i]])->id, results[i]) < 0) return -1;
    return made < 0 ? -1 : 0;
}

/* Tapes that only watch are told of a variable that is read, wherever that is. */
static int note_variable(TFTensor *handle) {
    for (TFTape *tape = tapes; tape; tape = tape->next)
        if (tape->only_watches && handle->is_watched && watch_variable(tape, handle) < 0) return -1;
    return 0;
}

int tf_record(mica_tf_operation *operation, TFTensor *const *inputs, int32_t n_inputs,
              PyObject *const *outputs, int32_t n_outputs) {
    TFGraph *graph = tf_current_graph();
    bool reads = mica_tf_operation_op(operation) == MICA_TF_ReadVariableOp;
    for (int32_t i = 0; i < n_inputs && watchers; i++)
        if (mica_tf_operation_role(operation, i) == 'd' && note_variable(inputs[i]) < 0) return -1;
    if (stopped) return 0;
    for (TFTape *tape = tapes; tape; tape = tape->next) {
        if (!tape->is_on || tape->graph != graph || tape->only_watches) continue;
        if (reads && tape->watches_variables && inputs[0]->is_watched &&
            watch_variable(tape, inputs[0]) < 0)
            return -1;
        if (tape_record(tape, operation, inputs, n_inputs, outputs, n_outputs) < 0) return -1;
    }
    for (TFAccumulator *a = accumulators; a; a = a->next)
        if (a->is_on && a->graph == graph && n_inputs <= MOST &&
            accumulate_forward(a, operation, inputs, n_inputs, outputs, n_outputs) < 0)
            return -1;
    return 0;
}

/* ---- gradients --------------------------------------------------------------------------------*/

typedef struct pass {
    TFTape *tape;
    id_map cotangents, reach, sources;
} pass;

/* A gradient may be a tensor or IndexedSlices; two tensors are added here, others in Python. */
static int add_cotangent(pass *p, int64_t id, PyObject *value) { /* takes the reference */
    PyObject *before = map_get(&p->cotangents, id);
    if (!before) return map_set(&p->cotangents, id, value);
    PyObject *sum;
    if (tf_is_tensor(before) && tf_is_tensor(value)) {
        sum = tf_apply2(MICA_TF_AddV2, NULL, before, value);
    } else {
        PyObject *hook = tf_hook("add_gradients");
        sum = hook ? PyObject_CallFunctionObjArgs(hook, before, value, NULL) : NULL;
    }
    Py_DECREF(value);
    return sum ? map_set(&p->cotangents, id, sum) : -1;
}

/* The cotangent of an output, taken out unless its tensor is a source; NULL when there is none. */
static PyObject *take_cotangent(pass *p, int64_t id) {
    PyObject *value = map_get(&p->cotangents, id);
    if (!value) return NULL;
    Py_INCREF(value);
    if (!map_has(&p->sources, id)) (void)map_set(&p->cotangents, id, NULL);
    return value;
}

static PyObject *dense(PyObject *gradient) {
    if (tf_is_tensor(gradient)) {
        Py_INCREF(gradient);
        return gradient;
    }
    return tf_convert(gradient, MICA_TF_no_dtype, false);
}

static bool leads_somewhere(const pass *p, const TFTensor *tensor) {
    return map_has(&p->tape->tracked, tensor->id) && map_has(&p->reach, tensor->id);
}

/* A gather along the first axis gives slices: 1 when it did, 0: the usual way, -1: an error. */
static int backward_of_gather(pass *p, const entry *e, PyObject *cotangent) {
    const mica_tf_op_info *info = mica_tf_op_describe(mica_tf_operation_op(e->operation));
    const mica_tf_attr *attrs = mica_tf_operation_attrs(e->operation);
    for (int32_t i = 0; i < info->n_attrs; i++)
        if (!strcmp(info->attrs[i].name, "batch_dims") && attrs[i].as.integer != 0) return 0;
    PyObject *axis = e->n_inputs > 2 ? e->inputs[2] : Py_None; /* GatherNd has none */
    PyObject *hook = tf_hook("gather_gradient"), *values = hook ? dense(cotangent) : NULL;
    if (!values) return -1;
    PyObject *slices =
        PyObject_CallFunctionObjArgs(hook, e->inputs[0], e->inputs[1], axis, values, NULL);
    Py_DECREF(values);
    if (!slices) return -1;
    if (slices == Py_None) {
        Py_DECREF(slices);
        return 0;
    }
    return add_cotangent(p, ((TFTensor *)e->inputs[0])->id, slices) < 0 ? -1 : 1;
}

static int backward_of_op(pass *p, const entry *e, PyObject **given) {
    mica_tf_op op = mica_tf_operation_op(e->operation);
    if ((op == MICA_TF_GatherV2 || op == MICA_TF_GatherNd) &&
        leads_somewhere(p, (TFTensor *)e->inputs[0])) {
        int done = backward_of_gather(p, e, given[0]);
        if (done) return done < 0 ? -1 : 0;
    }
    PyObject *cotangents[MOST], *results[MOST];
    int64_t outputs[MOST], places[MOST], types[MOST];
    int32_t n_given = 0, n_places = 0, failed = 0;
    for (int32_t i = 0; i < e->n_outputs && n_given < MOST; i++) {
        if (!given[i]) continue;
        cotangents[n_given] = dense(given[i]);
        if (!cotangents[n_given])
            failed = -1;
        else
            outputs[n_given++] = i;
    }
    for (int32_t i = 0; i < e->n_inputs && n_places < MOST && !failed; i++) {
        TFTensor *input = (TFTensor *)e->inputs[i];
        if (!leads_somewhere(p, input)) continue;
        char role = mica_tf_operation_role(e->operation, i);
        if (role == 'z') {
            PyObject *zeros = tf_apply1(MICA_TF_ZerosLike, (PyObject *)input);
            if (!zeros || add_cotangent(p, input->id, zeros) < 0) failed = -1;
        }
        if (role != 'd' || !is_differentiable(tf_tensor_dtype(input))) continue;
        types[n_places] = tf_tensor_dtype(input);
        places[n_places++] = i;
    }
    if (!failed && n_given && n_places) {
        if (mica_tf_operation_op(e->operation) == MICA_TF_ReadVariableOp) {
            Py_INCREF(given[0]);
            failed = add_cotangent(p, ((TFTensor *)e->inputs[0])->id, given[0]);
        } else {
            int32_t n = derivative(MICA_TF_Vjp, e->operation, e->inputs, e->n_inputs, outputs,
                                   n_given, places, n_places, cotangents, n_given, types, results);
            if (n < 0) failed = -1;
            for (int32_t i = 0; i < n; i++)
                if (add_cotangent(p, ((TFTensor *)e->inputs[places[i]])->id, results[i]) < 0)
                    failed = -1;
        }
    }
    for (int32_t i = 0; i < n_given; i++) Py_DECREF(cotangents[i]);
    return failed;
}

/* backward(list of cotangents or None) -> list of the inputs' gradients or None */
static int backward_of_function(pass *p, const entry *e, PyObject **given) {
    PyObject *list = PyList_New(e->n_outputs);
    for (int32_t i = 0; list && i < e->n_outputs; i++) {
        PyObject *item = given[i] ? given[i] : Py_None;
        Py_INCREF(item);
        PyList_SET_ITEM(list, i, item);
    }
    PyObject *outputs = list ? PyList_New(e->n_outputs) : NULL;
    for (int32_t i = 0; outputs && i < e->n_outputs; i++) {
        Py_INCREF(e->outputs[i]);
        PyList_SET_ITEM(outputs, i, e->outputs[i]);
    }
    PyObject *wanted = outputs ? PyList_New(e->n_inputs) : NULL;
    for (int32_t i = 0; wanted && i < e->n_inputs; i++)
        PyList_SET_ITEM(wanted, i, PyBool_FromLong(leads_somewhere(p, (TFTensor *)e->inputs[i])));
    PyObject *answer =
        wanted ? PyObject_CallFunctionObjArgs(e->backward, list, outputs, wanted, NULL) : NULL;
    PyObject *gradients = answer ? PySequence_Fast(answer, "a list of gradients is needed") : NULL;
    int failed = !gradients;
    if (gradients && PySequence_Fast_GET_SIZE(gradients) != e->n_inputs) {
        PyErr_Format(PyExc_ValueError, "a gradient function gave %zd gradients for %d inputs",
                     PySequence_Fast_GET_SIZE(gradients), (int)e->n_inputs);
        failed = 1;
    }
    for (int32_t i = 0; i < e->n_inputs && !failed; i++) {
        PyObject *gradient = PySequence_Fast_GET_ITEM(gradients, i);
        TFTensor *input = (TFTensor *)e->inputs[i];
        if (gradient == Py_None || !leads_somewhere(p, input)) continue;
        Py_INCREF(gradient);
        failed = add_cotangent(p, input->id, gradient) < 0;
    }
    Py_XDECREF(list);
    Py_XDECREF(outputs);
    Py_XDECREF(wanted);
    Py_XDECREF(answer);
    Py_XDECREF(gradients);
    return failed ? -1 : 0;
}

static int backward_of(pass *p, const entry *e) {
    PyObject *few[MOST], **given = few; /* a function may have any number: its residuals */
    bool any = false, leads = false;
    int failed = 0;
    if (e->operation && (e->n_outputs > MOST || e->n_inputs > MOST)) {
        PyErr_SetString(PyExc_ValueError, "an op has too many inputs or outputs for its gradient");
        return -1;
    }
    if (e->n_outputs > MOST && !(given = PyMem_Calloc((size_t)e->n_outputs, sizeof *given))) {
        PyErr_NoMemory();
        return -1;
    }
    for (int32_t i = 0; i < e->n_inputs; i++) leads |= leads_somewhere(p, (TFTensor *)e->inputs[i]);
    for (int32_t i = 0; i < e->n_outputs; i++) {
        given[i] = take_cotangent(p, e->ids[i]);
        any |= given[i] != NULL;
    }
    if (any && leads)
        failed = e->operation ? backward_of_op(p, e, given) : backward_of_function(p, e, given);
    for (int32_t i = 0; i < e->n_outputs; i++) Py_XDECREF(given[i]);
    if (given != few) PyMem_Free(given);
    return failed;
}

/* Whatever depends on a source. */
static int find_reach(pass *p, PyObject *sources) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(sources); i++) {
        int64_t id = ((TFTensor *)PyList_GET_ITEM(sources, i))->id;
        if (set_add(&p->sources, id) < 0 || set_add(&p->reach, id) < 0) return -1;
    }
    for (int32_t k = 0; k < p->tape->n_entries; k++) {
        const entry *e = &p->tape->entries[k];
        bool reached = false;
        for (int32_t i = 0; i < e->n_inputs && !reached; i++)
            reached = map_has(&p->reach, ((TFTensor *)e->inputs[i])->id);
        for (int32_t i = 0; reached && i < e->n_outputs; i++)
            if (set_add(&p->reach, e->ids[i]) < 0) return -1;
    }
    return 0;
}

static int start_cotangents(pass *p, PyObject *targets, PyObject *given) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(targets); i++) {
        PyObject *target = PyList_GET_ITEM(targets, i);
        PyObject *cotangent = given == Py_None ? Py_None : PyList_GET_ITEM(given, i);
        TFTensor *tensor = (TFTensor *)target;
        if (!map_has(&p->tape->tracked, tensor->id) || !is_differentiable(tf_tensor_dtype(tensor)))
            continue;
        if (cotangent == Py_None) {
            cotangent = tf_apply1(MICA_TF_OnesLike, target);
            if (!cotangent) return -1;
        } else {
            Py_INCREF(cotangent);
        }
        if (add_cotangent(p, tensor->id, cotangent) < 0) return -1;
    }
    return 0;
}

/* ---- the order of the backward pass
 * ----------------------------------------------------------------*/

/* First come, first served: an entry's turn comes when all that uses its outputs is done. So terms
 * are added, and slices concatenated, in TensorFlow's order. */
typedef struct order {
    int64_t *keys;   /* ids of outputs, by hash; 0: free */
    int32_t *makers; /* the entry that made it */
    int32_t *uses;   /* by entries on the way that are not done */
    int32_t mask;
    int32_t *missing; /* by entry: its outputs with uses; -1: it is not on the way */
    int32_t *queue, head, tail;
} order;

static int32_t order_place(const order *o, int64_t id) {
    int32_t i = (int32_t)(((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15)) >> 40) & o->mask;
    while (o->keys[i] && o->keys[i] != id) i = (i + 1) & o->mask;
    return i;
}

static int order_start(order *o, const TFTape *tape) {
    size_t n_ids = 0, n = (size_t)tape->n_entries, size = 64;
    for (int32_t i = 0; i < tape->n_entries; i++) n_ids += (size_t)tape->entries[i].n_outputs;
    while (size < 2 * n_ids) size *= 2;
    o->mask = (int32_t)size - 1;
    o->keys =
        PyMem_Calloc(size * (sizeof *o->keys + 2 * sizeof *o->uses) + 2 * n * sizeof *o->queue, 1);
    if (!o->keys) {
        PyErr_NoMemory();
        return -1;
    }
    o->makers = (int32_t *)(o->keys + size);
    o->uses = o->makers + size;
    o->missing = o->uses + size;
    o->queue = o->missing + n;
    for (int32_t i = 0; i < tape->n_entries; i++) {
        const entry *e = &tape->entries[i];
        o->missing[i] = -1;
        for (int32_t k = 0; k < e->n_outputs; k++) {
            int32_t place = order_place(o, e->ids[k]);
            o->keys[place] = e->ids[k];
            o->makers[place] = i;
        }
    }
    return 0;
}

/* Puts an entry on the way; the queue serves as the list of those to look at. */
static void order_reach(order *o, int64_t id) {
    int32_t place = order_place(o, id);
    if (!o->keys[place] || o->missing[o->makers[place]] >= 0) return;
    o->missing[o->makers[place]] = 0;
    o->queue[o->tail++] = o->makers[place];
}

static void order_find_way(order *o, const pass *p, PyObject *targets) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(targets); i++)
        order_reach(o, ((TFTensor *)PyList_GET_ITEM(targets, i))->id);
    for (int32_t k = 0; k < o->tail; k++) {
        const entry *e = &p->tape->entries[o->queue[k]];
        for (int32_t i = 0; i < e->n_inputs; i++) {
            TFTensor *input = (TFTensor *)e->inputs[i];
            if (!leads_somewhere(p, input)) continue;
            int32_t place = order_place(o, input->id);
            if (o->keys[place] && o->uses[place]++ == 0) {
                order_reach(o, input->id);
                o->missing[o->makers[place]]++;
            }
        }
    }
}

static void order_done(order *o, const pass *p, const entry *e) {
    for (int32_t i = 0; i < e->n_inputs; i++) {
        TFTensor *input = (TFTensor *)e->inputs[i];
        int32_t place = order_place(o, input->id);
        if (!o->keys[place] || !leads_somewhere(p, input) || --o->uses[place]) continue;
        if (--o->missing[o->makers[place]] == 0) o->queue[o->tail++] = o->makers[place];
    }
}

static int go_back(pass *p, PyObject *targets) {
    order o = {0};
    if (order_start(&o, p->tape) < 0) return -1;
    order_find_way(&o, p, targets);
    o.tail = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(targets); i++) {
        int32_t place = order_place(&o, ((TFTensor *)PyList_GET_ITEM(targets, i))->id);
        if (!o.keys[place] || o.missing[o.makers[place]] != 0) continue;
        o.missing[o.makers[place]] = -1; /* once only */
        o.queue[o.tail++] = o.makers[place];
    }
    int failed = 0;
    while (o.head < o.tail && !failed) {
        const entry *e = &p->tape->entries[o.queue[o.head++]];
        failed = backward_of(p, e) < 0;
        order_done(&o, p, e);
    }
    PyMem_Free(o.keys);
    return failed ? -1 : 0;
}

static int check_tensors(PyObject *list) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
        if (!tf_is_tensor(PyList_GET_ITEM(list, i))) {
            PyErr_Format(PyExc_TypeError, "a tensor is needed, not %R", PyList_GET_ITEM(list, i));
            return -1;
        }
    return 0;
}

/* gradient(targets, sources, output_gradients or None): a list, None where unconnected. */
static PyObject *gradient_method(PyObject *self, PyObject *args) {
    PyObject *targets, *sources, *given, *results = NULL;
    pass p = {.tape = (TFTape *)self};
    if (!PyArg_ParseTuple(args, "O!O!O:gradient", &PyList_Type, &targets, &PyList_Type, &sources,
                          &given))
        return NULL;
    if (check_tensors(targets) < 0 || check_tensors(sources) < 0) return NULL;
    if (given != Py_None &&
        (!PyList_Check(given) || PyList_GET_SIZE(given) != PyList_GET_SIZE(targets)))
        return PyErr_Format(PyExc_ValueError, "as many output_gradients as targets are needed");
    int failed = find_reach(&p, sources) < 0 || start_cotangents(&p, targets, given) < 0 ||
                 go_back(&p, targets) < 0;
    if (!failed) results = PyList_New(PyList_GET_SIZE(sources));
    for (Py_ssize_t i = 0; results && i < PyList_GET_SIZE(sources); i++) {
        PyObject *value = map_get(&p.cotangents, ((TFTensor *)PyList_GET_ITEM(sources, i))->id);
        if (!value) value = Py_None;
        Py_INCREF(value);
        PyList_SET_ITEM(results, i, value);
    }
    map_clear(&p.cotangents);
    map_clear(&p.reach);
    map_clear(&p.sources);
    return results;
}

/* ---- the types --------------------------------------------------------------------------------*/

static PyObject *tape_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"watch_accessed_variables", "only_watches", NULL};
    int watches = 1, only = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pp:TFTape", names, &watches, &only))
        return NULL;
    TFTape *self = (TFTape *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->watches_variables = watches;
    self->only_watches = only;
    self->watched = PyList_New(0);
    if (!self->watched) Py_CLEAR(self);
    return (PyObject *)self;
}

static void tape_reset(TFTape *tape) {
    for (int32_t i = 0; i < tape->n_entries; i++) entry_clear(&tape->entries[i]);
    tape->n_entries = 0;
    map_clear(&tape->tracked);
}

static void remove_tape(TFTape *tape) {
    TFTape **place = &tapes;
    while (*place && *place != tape) place = &(*place)->next;
    if (*place) {
        *place = tape->next;
        watchers -= tape->only_watches;
        tape->is_on = false;
        Py_CLEAR(tape->graph);
        Py_DECREF(tape);
    }
}

static void tape_dealloc(PyObject *object) {
    TFTape *self = (TFTape *)object;
    PyObject_GC_UnTrack(object);
    tape_reset(self);
    PyMem_Free(self->entries);
    Py_XDECREF(self->watched);
    Py_XDECREF(self->graph);
    Py_TYPE(object)->tp_free(object);
}

static int tape_traverse(PyObject *object, visitproc visit, void *arg) {
    TFTape *self = (TFTape *)object;
    Py_VISIT(self->watched);
    Py_VISIT(self->graph);
    for (int32_t i = 0; i < self->n_entries; i++) {
        const entry *e = &self->entries[i];
        Py_VISIT(e->backward);
        for (int32_t k = 0; k < e->n_inputs; k++) Py_VISIT(e->inputs[k]);
        for (int32_t k = 0; e->outputs && k < e->n_outputs; k++) Py_VISIT(e->outputs[k]);
    }
    return 0;
}

static int tape_clear(PyObject *object) {
    tape_reset((TFTape *)object);
    return 0;
}

static PyObject *push_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    TFTape *self = (TFTape *)object;
    if (self->is_on) return PyErr_Format(PyExc_ValueError, "Tape is already recording.");
    TFGraph *graph = tf_current_graph();
    Py_XINCREF(graph);
    Py_XSETREF(self->graph, graph);
    Py_INCREF(self);
    self->is_on = true;
    self->next = tapes;
    watchers += self->only_watches;
    tapes = self;
    Py_RETURN_NONE;
}

static PyObject *pop_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    remove_tape((TFTape *)object);
    Py_RETURN_NONE;
}

static PyObject *watch_method(PyObject *object, PyObject *tensor) {
    if (!tf_is_tensor(tensor))
        return PyErr_Format(PyExc_ValueError, "Passed in object %R is not a Tensor", tensor);
    TFTape *self = (TFTape *)object;
    if (tf_tensor_dtype((TFTensor *)tensor) == MICA_TF_resource) {
        if (watch_variable(self, (TFTensor *)tensor) < 0) return NULL;
        Py_RETURN_NONE;
    }
    if (tape_watch(self, (TFTensor *)tensor) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *reset_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    tape_reset((TFTape *)object);
    PyList_SetSlice(((TFTape *)object)->watched, 0, PY_SSIZE_T_MAX, NULL);
    Py_RETURN_NONE;
}

static PyObject *watched_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    PyObject *list = ((TFTape *)object)->watched;
    return PyList_GetSlice(list, 0, PyList_GET_SIZE(list));
}

static PyMethodDef tape_methods[] = {
    {"push", push_method, METH_NOARGS, NULL},
    {"pop", pop_method, METH_NOARGS, NULL},
    {"watch", watch_method, METH_O, NULL},
    {"reset", reset_method, METH_NOARGS, NULL},
    {"watched", watched_method, METH_NOARGS, NULL},
    {"gradient", gradient_method, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject TFTape_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica._mica.TFTape",
    .tp_basicsize = sizeof(TFTape),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = tape_new,
    .tp_dealloc = tape_dealloc,
    .tp_traverse = tape_traverse,
    .tp_clear = tape_clear,
    .tp_methods = tape_methods,
};

static void accumulator_dealloc(PyObject *object) {
    TFAccumulator *self = (TFAccumulator *)object;
    map_clear(&self->tangents);
    Py_XDECREF(self->graph);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *accumulator_push(PyObject *object, PyObject *Py_UNUSED(unused)) {
    TFAccumulator *self = (TFAccumulator *)object;
    if (self->is_on) return PyErr_Format(PyExc_ValueError, "Accumulator is already recording.");
    TFGraph *graph = tf_current_graph();
    Py_XINCREF(graph);
    Py_XSETREF(self->graph, graph);
    Py_INCREF(self);
    self->is_on = true;
    self->next = accumulators;
    accumulators = self;
    Py_RETURN_NONE;
}

static PyObject *accumulator_pop(PyObject *object, PyObject *Py_UNUSED(unused)) {
    TFAccumulator **place = &accumulators;
    while (*place && *place != (TFAccumulator *)object) place = &(*place)->next;
    if (*place) {
        *place = ((TFAccumulator *)object)->next;
        ((TFAccumulator *)object)->is_on = false;
        Py_DECREF(object);
    }
    Py_RETURN_NONE;
}

/* watch(tensor, tangent) */
static PyObject *accumulator_watch(PyObject *object, PyObject *args) {
    PyObject *tensor, *tangent;
    if (!PyArg_ParseTuple(args, "O!O!:watch", &TFTensor_Type, &tensor, &TFTensor_Type, &tangent))
        return NULL;
    Py_INCREF(tangent);
    if (map_set(&((TFAccumulator *)object)->tangents, ((TFTensor *)tensor)->id, tangent) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *accumulator_jvp(PyObject *object, PyObject *tensor) {
    if (!tf_is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "a tensor is needed");
    PyObject *tangent = map_get(&((TFAccumulator *)object)->tangents, ((TFTensor *)tensor)->id);
    if (!tangent) tangent = Py_None;
    Py_INCREF(tangent);
    return tangent;
}

static PyMethodDef accumulator_methods[] = {
    {"push", accumulator_push, METH_NOARGS, NULL},
    {"pop", accumulator_pop, METH_NOARGS, NULL},
    {"watch", accumulator_watch, METH_VARARGS, NULL},
    {"jvp", accumulator_jvp, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject TFAccumulator_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica._mica.TFAccumulator",
    .tp_basicsize = sizeof(TFAccumulator),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = accumulator_dealloc,
    .tp_methods = accumulator_methods,
};

/* ---- for Python -------------------------------------------------------------------------------*/

/* tf_record(inputs, outputs, backward): an entry whose derivative is a function of Python. */
static PyObject *record_function(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *inputs, *outputs, *backward;
    if (!PyArg_ParseTuple(args, "O!O!O:tf_record", &PyList_Type, &inputs, &PyList_Type, &outputs,
                          &backward))
        return NULL;
    if (check_tensors(inputs) < 0 || check_tensors(outputs) < 0) return NULL;
    TFGraph *graph = tf_current_graph();
    int32_t n_in = (int32_t)PyList_GET_SIZE(inputs), n_out = (int32_t)PyList_GET_SIZE(outputs);
    for (int32_t i = 0; i < n_in; i++) {
        TFTensor *input = (TFTensor *)PyList_GET_ITEM(inputs, i);
        if (watchers && note_variable(input) < 0) return NULL;
    }
    for (TFTape *tape = stopped ? NULL : tapes; tape; tape = tape->next) {
        bool any = false;
        if (!tape->is_on || tape->graph != graph || tape->only_watches) continue;
        for (int32_t i = 0; i < n_in; i++) {
            TFTensor *input = (TFTensor *)PyList_GET_ITEM(inputs, i);
            if (tape->watches_variables && input->is_watched && watch_variable(tape, input) < 0)
                return NULL;
            any |= map_has(&tape->tracked, input->id);
        }
        entry *e = any ? add_entry(tape, n_in, n_out) : NULL;
        if (any && !e) return NULL;
        if (!any) continue;
        Py_INCREF(backward);
        e->backward = backward;
        for (int32_t i = 0; i < n_in; i++) {
            e->inputs[i] = PyList_GET_ITEM(inputs, i);
            Py_INCREF(e->inputs[i]);
        }
        e->outputs = (PyObject **)(e->ids + n_out);
        for (int32_t i = 0; i < n_out; i++) {
            e->outputs[i] = PyList_GET_ITEM(outputs, i);
            Py_INCREF(e->outputs[i]);
            e->ids[i] = ((TFTensor *)e->outputs[i])->id;
            if (is_differentiable(tf_tensor_dtype((TFTensor *)e->outputs[i])) &&
                set_add(&tape->tracked, e->ids[i]) < 0)
                return NULL;
        }
    }
    Py_RETURN_NONE;
}

/* tf_accumulate(inputs, outputs, forward): forward(tangents of the inputs or None) gives those of
 * the outputs, for every accumulator that follows an input. */
static PyObject *accumulate_function(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *inputs, *outputs, *forward;
    if (!PyArg_ParseTuple(args, "O!O!O:tf_accumulate", &PyList_Type, &inputs, &PyList_Type,
                          &outputs, &forward))
        return NULL;
    if (check_tensors(inputs) < 0 || check_tensors(outputs) < 0) return NULL;
    TFGraph *graph = tf_current_graph();
    Py_ssize_t n_in = PyList_GET_SIZE(inputs), n_out = PyList_GET_SIZE(outputs);
    for (TFAccumulator *a = stopped ? NULL : accumulators; a; a = a->next) {
        if (!a->is_on || a->graph != graph) continue;
        bool any = false;
        PyObject *tangents = PyList_New(n_in);
        if (!tangents) return NULL;
        for (Py_ssize_t i = 0; i < n_in; i++) {
            TFTensor *input = (TFTensor *)PyList_GET_ITEM(inputs, i);
            PyObject *tangent = map_get(&a->tangents, input->id);
            any |= tangent != NULL;
            if (!tangent) tangent = Py_None;
            Py_INCREF(tangent);
            PyList_SET_ITEM(tangents, i, tangent);
        }
        a->is_on = false; /* its own tangents are not tangents' tangents */
        PyObject *answer = any ? PyObject_CallFunctionObjArgs(forward, tangents, NULL) : NULL;
        a->is_on = true;
        Py_DECREF(tangents);
        if (!any) continue;
        PyObject *found = answer ? PySequence_Fast(answer, "a list of tangents is needed") : NULL;
        Py_XDECREF(answer);
        if (!found) return NULL;
        for (Py_ssize_t i = 0; i < n_out && i < PySequence_Fast_GET_SIZE(found); i++) {
            PyObject *tangent = PySequence_Fast_GET_ITEM(found, i);
            if (tangent == Py_None) continue;
            Py_INCREF(tangent);
            if (map_set(&a->tangents, ((TFTensor *)PyList_GET_ITEM(outputs, i))->id, tangent) < 0) {
                Py_DECREF(found);
                return NULL;
            }
        }
        Py_DECREF(found);
    }
    Py_RETURN_NONE;
}

/* How many tapes of the current graph follow one of these tensors; -1: an accumulator is on. */
static PyObject *count_recording(PyObject *Py_UNUSED(module), PyObject *inputs) {
    TFGraph *graph = tf_current_graph();
    long count = 0;
    if (!PyList_Check(inputs) || check_tensors(inputs) < 0) return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inputs) && watchers; i++) {
        TFTensor *input = (TFTensor *)PyList_GET_ITEM(inputs, i);
        if (note_variable(input) < 0) return NULL;
    }
    for (TFAccumulator *a = stopped ? NULL : accumulators; a; a = a->next)
        if (a->is_on && a->graph == graph) return PyLong_FromLong(-1);
    for (TFTape *tape = stopped ? NULL : tapes; tape; tape = tape->next) {
        bool follows = false;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inputs) && !follows; i++) {
            TFTensor *input = (TFTensor *)PyList_GET_ITEM(inputs, i);
            follows = map_has(&tape->tracked, input->id) ||
                      (input->is_watched && tape->watches_variables);
        }
        count += tape->is_on && tape->graph == graph && follows && !tape->only_watches;
    }
    return PyLong_FromLong(count);
}

static PyObject *is_recording_function(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyBool_FromLong(tf_is_recording());
}

/* tf_stop_recording(+1 or -1) */
static PyObject *stop_function(PyObject *Py_UNUSED(module), PyObject *change) {
    long by = PyLong_AsLong(change);
    if (by == -1 && PyErr_Occurred()) return NULL;
    stopped += (int)by;
    Py_RETURN_NONE;
}

PyMethodDef tf_tape_functions[] = {
    {"tf_record", record_function, METH_VARARGS, NULL},
    {"tf_accumulate", accumulate_function, METH_VARARGS, NULL},
    {"tf_count_recording", count_recording, METH_O, NULL},
    {"tf_is_recording", is_recording_function, METH_NOARGS, NULL},
    {"tf_stop_recording", stop_function, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
