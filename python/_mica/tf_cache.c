/* The quick way into a traced function: arguments that are all eager tensors find their trace by
 * dtypes and shapes, and its graph runs, without a step of Python.
 *
 * Only when no graph is being built, no tape records and ops run here; else NotImplemented sends
 * the caller the long way. */
#include "tf_extension.h"

#include <string.h>

#define MOST_KEY 64
#define MOST_ENTRIES 16
#define MOST_VALUES 64

typedef struct cache_entry {
    int64_t key[MOST_KEY];
    int32_t key_length, n_captured;
    TFGraph *graph;
    PyObject *captured; /* tuple of eager tensors */
    PyObject *finish;   /* makes the result of the list of outputs; None: the only output is it */
} cache_entry;

typedef struct TFCache {
    PyObject_HEAD cache_entry *entries;
    int32_t n;
} TFCache;

/* -1: not for the quick way. */
static int32_t make_key(PyObject *args, int64_t key[MOST_KEY]) {
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    int32_t length = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        TFTensor *tensor = (TFTensor *)PyTuple_GET_ITEM(args, i);
        if (Py_TYPE(tensor) != &TFEager_Type ||
            mica_tf_dtype_core(tensor->value.dtype) == MICA_DTYPE_COUNT)
            return -1;
        const mica_type *type = mica_tensor_type(tensor->value.object);
        if (length + 1 + type->rank > MOST_KEY) return -1;
        key[length++] = (int64_t)type->dtype << 32 | type->rank;
        for (int32_t k = 0; k < type->rank; k++) key[length++] = type->dims[k];
    }
    return length;
}

static const cache_entry *look_up(const TFCache *cache, const int64_t *key, int32_t length) {
    for (int32_t i = 0; i < cache->n; i++) {
        const cache_entry *e = &cache->entries[i];
        if (e->key_length == length && !memcmp(e->key, key, sizeof *key * (size_t)length)) return e;
    }
    return NULL;
}

static PyObject *list_of(mica_tf_value *outputs, int32_t n) {
    PyObject *list = PyList_New(n);
    for (int32_t i = 0; i < n; i++) {
        PyObject *tensor = tf_eager_tensor(outputs[i]);
        if (!tensor)
            Py_CLEAR(list);
        else if (list)
            PyList_SET_ITEM(list, i, tensor);
        else
            Py_DECREF(tensor);
    }
    return list;
}

static PyObject *run_entry(const cache_entry *e, PyObject *args) {
    mica_tf_value inputs[MOST_VALUES], outputs[MOST_VALUES];
    int32_t n = 0, n_out = mica_tf_graph_output_count(e->graph->graph);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        inputs[n++] = ((TFTensor *)PyTuple_GET_ITEM(args, i))->value;
    for (int32_t i = 0; i < e->n_captured; i++)
        inputs[n++] = ((TFTensor *)PyTuple_GET_ITEM(e->captured, i))->value;
    TFGraph *graph = e->graph;
    PyObject *finish = e->finish, *captured = e->captured;
    Py_INCREF(graph);
    Py_INCREF(finish);
    Py_INCREF(captured);
    mica_status status;
    BEGIN_COMPUTING;
    status = mica_tf_graph_run(graph->graph, tf_device(), inputs, n, outputs, n_out);
    END_COMPUTING;
    PyObject *result = NULL;
    if (status) {
        tf_raise(status);
    } else if (finish == Py_None) {
        result = tf_eager_tensor(outputs[0]);
    } else {
        PyObject *list = list_of(outputs, n_out);
        result = list ? PyObject_CallFunctionObjArgs(finish, list, NULL) : NULL;
        Py_XDECREF(list);
    }
    Py_DECREF(graph);
    Py_DECREF(finish);
    Py_DECREF(captured);
    return result;
}

/* call(args): the result, or NotImplemented. */
static PyObject *call_method(PyObject *self, PyObject *args) {
    int64_t key[MOST_KEY];
    const cache_entry *e = NULL;
    if (!tf_current_graph() && !tf_is_recording() && !tf_remote() && PyTuple_CheckExact(args)) {
        int32_t length = make_key(args, key);
        if (length >= 0) e = look_up((TFCache *)self, key, length);
    }
    if (!e) Py_RETURN_NOTIMPLEMENTED;
    return run_entry(e, args);
}

/* add(args, graph, captured, finish) after the long way was gone once; too many are not kept. */
static PyObject *add_method(PyObject *self, PyObject *arguments) {
    TFCache *cache = (TFCache *)self;
    PyObject *args, *graph, *captured, *finish;
    int64_t key[MOST_KEY];
    if (!PyArg_ParseTuple(arguments, "O!O!O!O:add", &PyTuple_Type, &args, &TFGraph_Type, &graph,
                          &PyTuple_Type, &captured, &finish))
        return NULL;
    int32_t length = make_key(args, key);
    Py_ssize_t values = PyTuple_GET_SIZE(args) + PyTuple_GET_SIZE(captured);
    int32_t n_out = mica_tf_graph_output_count(((TFGraph *)graph)->graph);
    bool fits = length >= 0 && cache->n < MOST_ENTRIES && values <= MOST_VALUES &&
                n_out <= MOST_VALUES && !look_up(cache, key, length);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(captured); i++)
        fits &= Py_TYPE(PyTuple_GET_ITEM(captured, i)) == &TFEager_Type;
    if (!fits) Py_RETURN_FALSE;
    cache_entry *block = PyMem_Resize(cache->entries, cache_entry, cache->n + 1);
    if (!block) return PyErr_NoMemory();
    cache->entries = block;
    cache_entry *e = &block[cache->n++];
    memcpy(e->key, key, sizeof e->key);
    e->key_length = length;
    e->n_captured = (int32_t)PyTuple_GET_SIZE(captured);
    Py_INCREF(graph);
    Py_INCREF(captured);
    Py_INCREF(finish);
    e->graph = (TFGraph *)graph;
    e->captured = captured;
    e->finish = finish;
    Py_RETURN_TRUE;
}

static int cache_traverse(PyObject *object, visitproc visit, void *arg) {
    TFCache *self = (TFCache *)object;
    for (int32_t i = 0; i < self->n; i++) {
        Py_VISIT(self->entries[i].graph);
        Py_VISIT(self->entries[i].captured);
        Py_VISIT(self->entries[i].finish);
    }
    return 0;
}

static int cache_clear(PyObject *object) {
    TFCache *self = (TFCache *)object;
    while (self->n > 0) {
        cache_entry e = self->entries[--self->n];
        Py_DECREF(e.graph);
        Py_DECREF(e.captured);
        Py_DECREF(e.finish);
    }
    return 0;
}

static PyObject *clear_method(PyObject *self, PyObject *Py_UNUSED(unused)) {
    cache_clear(self);
    Py_RETURN_NONE;
}

static void cache_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    cache_clear(object);
    PyMem_Free(((TFCache *)object)->entries);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef cache_methods[] = {
    {"call", call_method, METH_O, NULL},
    {"add", add_method, METH_VARARGS, NULL},
    {"clear", clear_method, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject TFCache_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica._mica.TFCache",
    .tp_basicsize = sizeof(TFCache),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = cache_dealloc,
    .tp_traverse = cache_traverse,
    .tp_clear = cache_clear,
    .tp_methods = cache_methods,
};
