/* Tapes and accumulators: what is told of ops, and what it is told.
 *
 * A tape belongs to the graph in which it was started (none: eager) and records the ops of that
 * graph alone. Tensors are known by their ids; a captured tensor keeps its id, and a variable is
 * known by its handle. What is recorded, and the walk back, is mica/tf/tape.h; here is what the
 * walk emits through, so that other tapes and accumulators, and servers, see each op. */
#include "tf_extension.h"

#include <mica/tf/tape.h>
#include <string.h>

/* ---- maps from ids ----------------------------------------------------------------------------*/

typedef struct id_map {
    int64_t *keys; /* 0: free */
    PyObject **values;
    int32_t n, mask;
} id_map;

static int32_t map_place(const id_map *map, int64_t id) {
    uint64_t h = (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15);
    int32_t i = (int32_t)(h >> 40) & map->mask;
    while (map->keys[i] && map->keys[i] != id) i = (i + 1) & map->mask;
    return i;
}

static int map_grow(id_map *map) {
    id_map larger = {.mask = map->keys ? 2 * map->mask + 1 : 31};
    size_t n = (size_t)larger.mask + 1;
    larger.keys = PyMem_Calloc(n, sizeof *larger.keys);
    larger.values = PyMem_Calloc(n, sizeof *larger.values);
    if (!larger.keys || !larger.values) {
        PyMem_Free(larger.keys);
        PyMem_Free(larger.values);
        PyErr_NoMemory();
        return -1;
    }
    for (int32_t i = 0; map->keys && i <= map->mask; i++)
        if (map->keys[i]) {
            int32_t k = map_place(&larger, map->keys[i]);
            larger.keys[k] = map->keys[i];
            larger.values[k] = map->values[i];
            larger.n++;
        }
    PyMem_Free(map->keys);
    PyMem_Free(map->values);
    *map = larger;
    return 0;
}

static PyObject *map_get(const id_map *map, int64_t id) { /* borrowed */
    if (!map->keys) return NULL;
    int32_t i = map_place(map, id);
    return map->keys[i] == id ? map->values[i] : NULL;
}

static int map_set(id_map *map, int64_t id, PyObject *value) { /* takes the reference */
    if ((!map->keys || 2 * map->n >= map->mask) && map_grow(map) < 0) {
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

/* ---- tapes ------------------------------------------------------------------------------------*/

typedef struct TFTape {
    PyObject_HEAD TFGraph *graph; /* where it was started; NULL: eager */
    mica_tf_tape *tape;
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

static bool is_differentiable(mica_tf_dtype dtype) {
    mica_dtype core = mica_tf_dtype_core(dtype);
    if (core == MICA_DTYPE_COUNT) return dtype == MICA_TF_resource || dtype == MICA_TF_variant;
    mica_dtype_kind kind = mica_dtype_kind_of(core);
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
}

/* -1 with an exception when there is a status. A callback's exception stands as it is. */
static int check_status(mica_status status) {
    if (!status) return 0;
    if (PyErr_Occurred())
        mica_status_release(status);
    else
        tf_raise(status);
    return -1;
}

static int tape_watch(TFTape *tape, TFTensor *tensor) {
    return check_status(mica_tf_tape_follow(tape->tape, tensor->id));
}

static int watch_variable(TFTape *tape, TFTensor *handle) {
    if (mica_tf_tape_follows(tape->tape, handle->id)) return 0;
    if (PyList_Append(tape->watched, (PyObject *)handle) < 0) return -1;
    return tape_watch(tape, handle);
}

/* ---- what a walk emits through ----------------------------------------------------------------*/

/* An exception that is set, on its way through the library. */
static mica_status raised(void) {
    return mica_status_create(MICA_CALLBACK_ERROR, "[tape] an exception was raised");
}

static int64_t describe_tensor(void *object, mica_tf_dtype *out_dtype) {
    if (!tf_is_tensor(object)) return 0; /* IndexedSlices */
    if (out_dtype) *out_dtype = tf_tensor_dtype(object);
    return ((TFTensor *)object)->id;
}

static void retain_object(void *object) {
    Py_INCREF((PyObject *)object);
}

static void release_object(void *object) {
    Py_DECREF((PyObject *)object);
}

static mica_status run_op(void *context, mica_tf_op op, const mica_tf_attr *attrs,
                          void *const *inputs, int32_t n, void **outputs, int32_t n_outputs) {
    mica_tf_attr own[MICA_TF_MAX_ATTRS];
    (void)context;
    memcpy(own, attrs, (size_t)mica_tf_op_describe(op)->n_attrs * sizeof *own);
    int32_t count =
        tf_execute(op, own, (TFTensor *const *)inputs, n, NULL, (PyObject **)outputs, n_outputs);
    return count == n_outputs ? NULL : raised();
}

static mica_status answer(PyObject *object, void **out) {
    *out = object;
    return object ? NULL : raised();
}

static mica_status add_gradients(void *context, void *a, void *b, void **out_sum) {
    PyObject *hook = tf_hook("add_gradients");
    (void)context;
    return answer(hook ? PyObject_CallFunctionObjArgs(hook, a, b, NULL) : NULL, out_sum);
}

static mica_status make_dense(void *context, void *gradient, void **out_tensor) {
    (void)context;
    return answer(tf_convert(gradient, MICA_TF_no_dtype, false), out_tensor);
}

static mica_status gather_gradient(void *context, void *const *inputs, int32_t n, void *cotangent,
                                   void **out_slices) {
    PyObject *hook = tf_hook("gather_gradient");
    PyObject *axis = n > 2 ? inputs[2] : Py_None; /* GatherNd has none */
    (void)context;
    *out_slices = NULL;
    if (!hook) return raised();
    PyObject *slices =
        PyObject_CallFunctionObjArgs(hook, inputs[0], inputs[1], axis, cotangent, NULL);
    if (!slices) return raised();
    if (slices != Py_None)
        *out_slices = slices;
    else
        Py_DECREF(slices);
    return NULL;
}

/* A list of objects, None in place of NULL. */
static PyObject *list_of(void *const *objects, Py_ssize_t n) {
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list && i < n; i++) {
        PyObject *item = objects[i] ? objects[i] : Py_None;
        Py_INCREF(item);
        PyList_SET_ITEM(list, i, item);
    }
    return list;
}

/* The owner is (backward, outputs, number of inputs); backward(cotangents or None, outputs, which
 * gradients are wanted) gives a list of the inputs' gradients or None. */
static mica_status call_backward(void *context, void *owner, void *const *cotangents,
                                 const uint8_t *wanted, void **out_gradients) {
    PyObject *function = PyTuple_GET_ITEM(owner, 0), *outputs = PyTuple_GET_ITEM(owner, 1);
    Py_ssize_t n = PyLong_AsSsize_t(PyTuple_GET_ITEM(owner, 2));
    (void)context;
    PyObject *given = list_of(cotangents, PyList_GET_SIZE(outputs));
    PyObject *results = PyList_GetSlice(outputs, 0, PyList_GET_SIZE(outputs));
    PyObject *flags = PyList_New(n), *answer = NULL;
    for (Py_ssize_t i = 0; flags && i < n; i++)
        PyList_SET_ITEM(flags, i, PyBool_FromLong(wanted[i]));
    if (given && results && flags)
        answer = PyObject_CallFunctionObjArgs(function, given, results, flags, NULL);
    Py_XDECREF(given);
    Py_XDECREF(results);
    Py_XDECREF(flags);
    PyObject *gradients = answer ? PySequence_Fast(answer, "a list of gradients is needed") : NULL;
    Py_XDECREF(answer);
    if (!gradients) return raised();
    bool fits = PySequence_Fast_GET_SIZE(gradients) == n;
    for (Py_ssize_t i = 0; i < n && fits; i++) {
        PyObject *gradient = PySequence_Fast_GET_ITEM(gradients, i);
        if (gradient == Py_None || !wanted[i]) continue;
        Py_INCREF(gradient);
        out_gradients[i] = gradient;
    }
    if (!fits)
        PyErr_Format(PyExc_ValueError, "a gradient function gave %zd gradients for %zd inputs",
                     PySequence_Fast_GET_SIZE(gradients), n);
    Py_DECREF(gradients);
    return fits ? NULL : raised();
}

static const mica_tf_front front = {.size = sizeof front,
                                    .describe = describe_tensor,
                                    .retain = retain_object,
                                    .release = release_object,
                                    .run = run_op,
                                    .sum = add_gradients,
                                    .dense = make_dense,
                                    .slices = gather_gradient,
                                    .backward = call_backward};

/* ---- accumulators -----------------------------------------------------------------------------*/

#define MOST 512

/* The op Jvp: of the forward's inputs and the tangents of some of them, one result for each of
 * `wanted`, the outputs that have tangents. */
static int32_t jvp(mica_tf_operation *forward, TFTensor *const *inputs, int32_t n_inputs,
                   const int64_t *places, PyObject *const *tangents, int32_t n_tangents,
                   const int64_t *wanted, const int64_t *result_types, int32_t n_wanted,
                   PyObject **results) {
    TFTensor *all[2 * MOST];
    int64_t types[2 * MOST];
    for (int32_t i = 0; i < n_inputs; i++) all[i] = inputs[i];
    for (int32_t i = 0; i < n_tangents; i++) all[n_inputs + i] = (TFTensor *)tangents[i];
    for (int32_t i = 0; i < n_inputs + n_tangents; i++) types[i] = tf_tensor_dtype(all[i]);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {
        {.as.operation = forward},
        {.as.integer = n_inputs},
        {.n = n_wanted, .as.ints = wanted},
        {.n = n_tangents, .as.ints = places},
        {.n = n_inputs + n_tangents, .as.ints = types},
        {.n = n_wanted, .as.ints = result_types},
    };
    return tf_execute(MICA_TF_Jvp, attrs, all, n_inputs + n_tangents, NULL, results, n_wanted);
}

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
    int32_t made =
        jvp(operation, inputs, n_inputs, places, tangents, n, wanted, types, n_wanted, results);
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
        if (check_status(mica_tf_tape_record(tape->tape, operation, (void *const *)inputs, n_inputs,
                                             (void *const *)outputs, n_outputs)) < 0)
            return -1;
    }
    for (TFAccumulator *a = accumulators; a; a = a->next)
        if (a->is_on && a->graph == graph && n_inputs <= MOST &&
            accumulate_forward(a, operation, inputs, n_inputs, outputs, n_outputs) < 0)
            return -1;
    return 0;
}

/* ---- gradients --------------------------------------------------------------------------------*/

static int check_tensors(PyObject *list) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
        if (!tf_is_tensor(PyList_GET_ITEM(list, i))) {
            PyErr_Format(PyExc_TypeError, "a tensor is needed, not %R", PyList_GET_ITEM(list, i));
            return -1;
        }
    return 0;
}

static void **items_of(PyObject *tuple) {
    return (void **)((PyTupleObject *)tuple)->ob_item;
}

/* gradient(targets, sources, output_gradients or None): a list, None where unconnected. */
static PyObject *gradient_method(PyObject *self, PyObject *args) {
    PyObject *target_list, *source_list, *given;
    if (!PyArg_ParseTuple(args, "O!O!O:gradient", &PyList_Type, &target_list, &PyList_Type,
                          &source_list, &given))
        return NULL;
    if (check_tensors(target_list) < 0 || check_tensors(source_list) < 0) return NULL;
    Py_ssize_t n = PyList_GET_SIZE(target_list), m = PyList_GET_SIZE(source_list);
    if (given != Py_None && (!PyList_Check(given) || PyList_GET_SIZE(given) != n))
        return PyErr_Format(PyExc_ValueError, "as many output_gradients as targets are needed");
    /* Tuples: the caller may change the lists meanwhile. */
    PyObject *targets = PyList_AsTuple(target_list), *sources = PyList_AsTuple(source_list);
    PyObject *weights = given == Py_None ? NULL : PyList_AsTuple(given), *results = NULL;
    void **cotangents = PyMem_Calloc((size_t)(n + m) + 1, sizeof *cotangents);
    bool failed = !targets || !sources || !cotangents || (given != Py_None && !weights);
    if (failed && !PyErr_Occurred()) PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n && weights && !failed; i++) {
        PyObject *cotangent = PyTuple_GET_ITEM(weights, i);
        if (cotangent != Py_None) cotangents[i] = cotangent;
    }
    if (!failed) {
        void **found = cotangents + n;
        mica_status status =
            mica_tf_tape_walk(((TFTape *)self)->tape, NULL, items_of(targets), (int32_t)n,
                              cotangents, items_of(sources), (int32_t)m, found);
        if (check_status(status) == 0) results = list_of(found, m);
        for (Py_ssize_t i = 0; i < m; i++) Py_XDECREF((PyObject *)found[i]);
    }
    Py_XDECREF(targets);
    Py_XDECREF(sources);
    Py_XDECREF(weights);
    PyMem_Free(cotangents);
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
    if (!self->watched || check_status(mica_tf_tape_create_for(&front, &self->tape)) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
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
    mica_tf_tape_release(self->tape);
    Py_XDECREF(self->watched);
    Py_XDECREF(self->graph);
    Py_TYPE(object)->tp_free(object);
}

typedef struct traversal {
    visitproc visit;
    void *arg;
} traversal;

static int traverse_object(void *object, void *argument) {
    traversal *t = argument;
    return t->visit(object, t->arg);
}

static int tape_traverse(PyObject *object, visitproc visit, void *arg) {
    TFTape *self = (TFTape *)object;
    Py_VISIT(self->watched);
    Py_VISIT(self->graph);
    traversal t = {visit, arg};
    return mica_tf_tape_visit(self->tape, traverse_object, &t);
}

static int tape_clear(PyObject *object) {
    mica_tf_tape_clear(((TFTape *)object)->tape);
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

static PyObject *watched_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    PyObject *list = ((TFTape *)object)->watched;
    return PyList_GetSlice(list, 0, PyList_GET_SIZE(list));
}

static PyMethodDef tape_methods[] = {
    {"push", push_method, METH_NOARGS, NULL},
    {"pop", pop_method, METH_NOARGS, NULL},
    {"watch", watch_method, METH_O, NULL},
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
    PyObject *owner = NULL; /* of all tapes' entries */
    for (TFTape *tape = stopped ? NULL : tapes; tape; tape = tape->next) {
        if (!tape->is_on || tape->graph != graph || tape->only_watches) continue;
        for (int32_t i = 0; i < n_in; i++) {
            TFTensor *input = (TFTensor *)PyList_GET_ITEM(inputs, i);
            if (tape->watches_variables && input->is_watched && watch_variable(tape, input) < 0)
                goto failed;
        }
        if (!owner) {
            PyObject *held = PyList_GetSlice(outputs, 0, n_out);
            owner = held ? Py_BuildValue("(ONi)", backward, held, (int)n_in) : NULL;
            if (!owner) goto failed;
        }
        if (check_status(mica_tf_tape_record_function(
                tape->tape, owner, (void *const *)((PyListObject *)inputs)->ob_item, n_in,
                (void *const *)((PyListObject *)outputs)->ob_item, n_out)) < 0)
            goto failed;
    }
    Py_XDECREF(owner);
    Py_RETURN_NONE;
failed:
    Py_XDECREF(owner);
    return NULL;
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
            follows = mica_tf_tape_follows(tape->tape, input->id) ||
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
