/* Functions of the package as they stand in its namespaces: where an argument, or an entry of a
 * list among them, is a value made of tensors (ragged, sparse, of a class of one's own), a handler
 * of Python is asked first. For all other arguments that is a look at their types. */
#include "tf_extension.h"

#include <stddef.h>

typedef struct TFDispatched {
    PyObject_HEAD vectorcallfunc call;
    PyObject *function, *handler; /* handler(args, kwargs): NotImplemented leaves it to function */
    PyObject *dict, *weakrefs;
} TFDispatched;

static PyTypeObject *composite; /* the base of such values; NULL: none was registered */

static inline bool is_composite(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    return !tf_is_tensor(object) && type != &PyLong_Type && type != &PyFloat_Type &&
           type != &PyUnicode_Type && PyType_IsSubtype(type, composite);
}

static bool holds_composite(PyObject *object) {
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) return is_composite(object);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    for (Py_ssize_t i = 0; i < n; i++)
        if (is_composite(PySequence_Fast_GET_ITEM(object, i))) return true;
    return false;
}

static PyObject *ask(TFDispatched *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords) {
    Py_ssize_t n_keywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    PyObject *positional = PyTuple_New(n), *named = positional ? PyDict_New() : NULL;
    PyObject *result = NULL;
    for (Py_ssize_t i = 0; i < n && named; i++) {
        Py_INCREF(args[i]);
        PyTuple_SET_ITEM(positional, i, args[i]);
    }
    bool failed = !named;
    for (Py_ssize_t i = 0; i < n_keywords && !failed; i++)
        failed = PyDict_SetItem(named, PyTuple_GET_ITEM(keywords, i), args[n + i]) < 0;
    if (!failed) result = PyObject_CallFunctionObjArgs(self->handler, positional, named, NULL);
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return result;
}

static PyObject *dispatched_call(PyObject *object, PyObject *const *args, size_t flags,
                                 PyObject *keywords) {
    TFDispatched *self = (TFDispatched *)object;
    Py_ssize_t n = PyVectorcall_NARGS(flags);
    Py_ssize_t all = n + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    for (Py_ssize_t i = 0; i < all && composite; i++) {
        if (!holds_composite(args[i])) continue;
        PyObject *result = ask(self, args, n, keywords);
        if (result != Py_NotImplemented) return result;
        Py_DECREF(result);
        break;
    }
    return PyObject_Vectorcall(self->function, args, flags, keywords);
}

static int dispatched_traverse(PyObject *object, visitproc visit, void *arg) {
    TFDispatched *self = (TFDispatched *)object;
    Py_VISIT(self->function);
    Py_VISIT(self->handler);
    Py_VISIT(self->dict);
    return 0;
}

static int dispatched_clear(PyObject *object) {
    TFDispatched *self = (TFDispatched *)object;
    Py_CLEAR(self->function);
    Py_CLEAR(self->handler);
    Py_CLEAR(self->dict);
    return 0;
}

static void dispatched_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    if (((TFDispatched *)object)->weakrefs) PyObject_ClearWeakRefs(object);
    dispatched_clear(object);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *dispatched_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *function, *handler;
    static char *names[] = {"function", "handler", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", names, &function, &handler)) return NULL;
    TFDispatched *self = (TFDispatched *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->call = dispatched_call;
    Py_INCREF(self->function = function);
    Py_INCREF(self->handler = handler);
    self->dict = PyDict_New();
    if (!self->dict) Py_CLEAR(self);
    return (PyObject *)self;
}

/* In a class it is a method, as functions are. */
static PyObject *dispatched_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type)) {
    if (object && object != Py_None) return PyMethod_New(self, object);
    Py_INCREF(self);
    return self;
}

static PyObject *dispatched_repr(PyObject *self) {
    PyObject *name = PyObject_GetAttrString(self, "__qualname__");
    PyObject *text = name ? PyUnicode_FromFormat("<function %U at %p>", name, self) : NULL;
    Py_XDECREF(name);
    return text;
}

/* Copies are the same; a pickle names it. */
static PyObject *dispatched_reduce(PyObject *self, PyObject *Py_UNUSED(unused)) {
    return PyObject_GetAttrString(self, "__name__");
}

static PyMethodDef dispatched_methods[] = {
    {"__reduce__", dispatched_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef dispatched_fields[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject TFDispatched_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica._mica.TFDispatched",
    .tp_basicsize = sizeof(TFDispatched),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = dispatched_new,
    .tp_dealloc = dispatched_dealloc,
    .tp_traverse = dispatched_traverse,
    .tp_clear = dispatched_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(TFDispatched, call),
    .tp_dictoffset = offsetof(TFDispatched, dict),
    .tp_weaklistoffset = offsetof(TFDispatched, weakrefs),
    .tp_descr_get = dispatched_get,
    .tp_methods = dispatched_methods,
    .tp_getset = dispatched_fields,
    .tp_repr = dispatched_repr,
};

/* tf_dispatch_on(class): for values of which handlers are asked. */
static PyObject *dispatch_on(PyObject *Py_UNUSED(module), PyObject *type) {
    if (!PyType_Check(type)) return PyErr_Format(PyExc_TypeError, "a class is needed");
    Py_INCREF(type);
    Py_XSETREF(composite, (PyTypeObject *)type);
    Py_RETURN_NONE;
}

PyMethodDef tf_dispatch_functions[] = {
    {"tf_dispatch_on", dispatch_on, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
