/* Functions of Python that graphs call.
 *
 * A TFFunction is a number for one: nodes of PyFunc carry it. The function stays for as long as a
 * TFFunction or an operation has its number (mica_tf_host_function_create), whoever holds the graph
 * of that: a dataset, a derivative, a branch.
 *
 * The garbage collector does not see the way from a graph's object to a function, through the
 * library. While it collects all there is, each graph's object holds the functions that its graph
 * reaches, and visits them; a function that is reached through such objects alone is lent to them:
 * the library's reference to it is taken back until the collection ends, or one of them goes. */
#include "entry.h"
#include "tf_extension.h"

#include <stddef.h>
#include <string.h>

typedef struct kept_function {
    PyObject *function;
    int64_t number;
    bool is_lent;                          /* no reference of the library's: graphs hold it */
    struct kept_function *next, *previous; /* of all; with Python's lock */
    struct kept_function *next_dropped;
} kept_function;

typedef struct TFFunction {
    PyObject_HEAD PyObject *function;
    int64_t number;
} TFFunction;

static kept_function *all;
static kept_function *dropped; /* atomic: a stack of those that nothing in the library has */
static TFGraph *graphs;

/* ---- the end of functions ---------------------------------------------------------------------*/

void tf_functions_drop(void) {
    kept_function *f;
    while ((f = __atomic_exchange_n(&dropped, NULL, __ATOMIC_ACQ_REL))) {
        while (f) {
            kept_function *next = f->next_dropped;
            if (f->previous)
                f->previous->next = f->next;
            else
                all = f->next;
            if (f->next) f->next->previous = f->previous;
            PyObject *function = f->is_lent ? NULL : f->function;
            PyMem_RawFree(f);
            Py_XDECREF(function);
            f = next;
        }
    }
}

static int drop_pending(void *Py_UNUSED(unused)) {
    tf_functions_drop();
    return 0;
}

/* By any thread, with or without Python's lock, which may not be waited for here. */
static void let_go(void *context) {
    kept_function *f = context;
    f->next_dropped = __atomic_load_n(&dropped, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&dropped, &f->next_dropped, f, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
        continue;
    if (!f->next_dropped && Py_IsInitialized()) Py_AddPendingCall(drop_pending, NULL);
}

/* The library has its reference again: what held the function goes. */
static void take_back(int64_t number) {
    kept_function *f = mica_tf_host_function_context(number);
    if (!f || !f->is_lent) return;
    f->is_lent = false;
    Py_INCREF(f->function);
}

PyObject *tf_function_find(int64_t number) {
    kept_function *f = mica_tf_host_function_context(number);
    return f ? Py_NewRef(f->function) : NULL;
}

/* ---- TFFunction -------------------------------------------------------------------------------*/

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"function", NULL};
    PyObject *function;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:TFFunction", names, &function)) return NULL;
    if (!PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "%R cannot be called", function);
    tf_functions_drop();
    TFFunction *self = (TFFunction *)type->tp_alloc(type, 0);
    kept_function *f = self ? PyMem_RawCalloc(1, sizeof *f) : NULL;
    mica_status status = f ? mica_tf_host_function_create(let_go, f, &self->number) : NULL;
    if (!f || status) {
        PyMem_RawFree(f);
        Py_XDECREF(self);
        return status ? tf_raise(status) : PyErr_NoMemory();
    }
    f->number = self->number;
    f->function = Py_NewRef(function);
    self->function = Py_NewRef(function);
    f->next = all;
    if (all) all->previous = f;
    all = f;
    return (PyObject *)self;
}

static int function_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(((TFFunction *)object)->function);
    return 0;
}

static void function_dealloc(PyObject *object) {
    TFFunction *self = (TFFunction *)object;
    PyObject_GC_UnTrack(object);
    if (self->number) {
        mica_tf_host_function_release(self->number);
        take_back(self->number);
    }
    Py_XDECREF(self->function);
    Py_TYPE(object)->tp_free(object);
    tf_functions_drop();
}

static PyObject *function_index(PyObject *object) {
    return PyLong_FromLongLong(((TFFunction *)object)->number);
}

static PyNumberMethods function_number = {.nb_index = function_index};

PyTypeObject TFFunction_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica._mica.TFFunction",
    .tp_basicsize = sizeof(TFFunction),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "TFFunction(function)\n--\n\nThe number of a function that nodes of graphs call.",
    .tp_new = function_new,
    .tp_dealloc = function_dealloc,
    .tp_traverse = function_traverse,
    .tp_as_number = &function_number,
};

/* ---- graphs' objects --------------------------------------------------------------------------*/

void tf_graph_begin(TFGraph *graph) {
    graph->previous = NULL;
    graph->next = graphs;
    if (graphs) graphs->previous = graph;
    graphs = graph;
}

int tf_graph_visit_functions(TFGraph *graph, visitproc visit, void *arg) {
    for (int32_t i = 0; i < graph->n_functions; i++) Py_VISIT(graph->functions[i].function);
    return 0;
}

static void forget(TFGraph *graph) {
    int32_t n = graph->n_functions;
    tf_held_function *held = graph->functions;
    graph->functions = NULL;
    graph->n_functions = 0;
    for (int32_t i = 0; i < n; i++) Py_DECREF(held[i].function);
    PyMem_RawFree(held);
}

/* Once the library's graph was released. */
void tf_graph_end(TFGraph *graph) {
    if (graph->previous)
        graph->previous->next = graph->next;
    else if (graphs == graph)
        graphs = graph->next;
    if (graph->next) graph->next->previous = graph->previous;
    for (int32_t i = 0; i < graph->n_functions; i++) take_back(graph->functions[i].number);
    forget(graph);
    tf_functions_drop();
}

/* ---- collections ------------------------------------------------------------------------------*/

static void count_function(void *context, int64_t Py_UNUSED(number)) {
    ++*(int32_t *)context;
}

static void hold_function(void *context, int64_t number) {
    TFGraph *graph = context;
    PyObject *function = tf_function_find(number);
    if (function) graph->functions[graph->n_functions++] = (tf_held_function){function, number};
}

/* False: no memory. */
static bool hold_functions(TFGraph *graph) {
    int32_t n = 0;
    mica_tf_graph_host_functions(graph->graph, count_function, &n);
    if (!n) return true;
    graph->functions = PyMem_RawCalloc((size_t)n, sizeof *graph->functions);
    if (!graph->functions) return false;
    mica_tf_graph_host_functions(graph->graph, hold_function, graph);
    return true;
}

static void lend(void) {
    size_t n = 0;
    bool is_held = true;
    for (TFGraph *g = graphs; g; g = g->next) n++;
    mica_tf_graph **given = PyMem_RawCalloc(n + 1, sizeof *given);
    n = 0;
    for (TFGraph *g = graphs; g && given; g = g->next) {
        if (!g->graph) continue;
        is_held = is_held && hold_functions(g);
        given[n++] = g->graph;
    }
    if (given && is_held) {
        mica_tf_graphs_close(given, (int32_t)n);
        for (kept_function *f = all; f; f = f->next)
            if (mica_tf_host_function_is_closed(f->number)) {
                f->is_lent = true;
                Py_DECREF(f->function);
            }
    }
    PyMem_RawFree(given);
}

/* collecting(phase, details): of gc.callbacks. */
static PyObject *collecting(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *phase;
    PyObject *details;
    if (!PyArg_ParseTuple(args, "sO!:tf_collecting", &phase, &PyDict_Type, &details)) return NULL;
    PyObject *generation = PyDict_GetItemString(details, "generation");
    bool is_whole = generation && PyLong_Check(generation) && PyLong_AsLong(generation) == 2;
    tf_functions_drop();
    if (is_whole && all && !strcmp(phase, "start")) lend();
    if (is_whole && !strcmp(phase, "stop")) {
        for (kept_function *f = all; f; f = f->next)
            if (f->is_lent) {
                f->is_lent = false;
                Py_INCREF(f->function);
            }
        for (TFGraph *g = graphs; g; g = g->next)
            if (g->functions) forget(g);
    }
    Py_RETURN_NONE;
}

/* How many functions graphs can call. */
static PyObject *count(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    tf_functions_drop();
    return PyLong_FromLong(mica_tf_host_function_count());
}

PyMethodDef tf_function_functions[] = {
    {"tf_collecting", collecting, METH_VARARGS, NULL},
    {"tf_function_count", count, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
