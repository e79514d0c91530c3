/* tf.Tensor: eager and symbolic. Both have number slots and take attributes. */
#include "tf_extension.h"

#include <string.h>

#define FREE_LIST_SIZE 128
static TFTensor *free_list[FREE_LIST_SIZE];
static int n_free;
static int64_t last_id;

int64_t tf_next_id(void) {
    return ++last_id;
}

PyObject *tf_eager_tensor(mica_tf_value value) {
    TFTensor *self;
    if (n_free > 0) {
        self = free_list[--n_free];
        (void)PyObject_Init((PyObject *)self, &TFEager_Type);
    } else {
        self = PyObject_New(TFTensor, &TFEager_Type);
        if (!self) {
            mica_tf_value_release(value);
            return NULL;
        }
    }
    self->value = value;
    self->graph = NULL;
    self->ref = (mica_tf_ref){-1, 0};
    self->id = ++last_id;
    self->is_watched = false;
    self->variable = self->home = self->dict = self->weakrefs = NULL;
    return (PyObject *)self;
}

PyObject *tf_symbolic_tensor(TFGraph *graph, mica_tf_ref ref) {
    TFTensor *self = PyObject_GC_New(TFTensor, &TFSymbolic_Type);
    if (!self) return NULL;
    self->value = (mica_tf_value){mica_tf_graph_type(graph->graph, ref, NULL), NULL};
    Py_INCREF(graph);
    self->graph = graph;
    self->ref = ref;
    self->id = ++last_id;
    self->is_watched = false;
    self->variable = self->home = self->dict = self->weakrefs = NULL;
    PyObject_GC_Track((PyObject *)self);
    return (PyObject *)self;
}

/* The last reference to an iterator waits for its thread, which may be waiting for the interpreter,
 * and may call a function of Python: an exception that is on its way is kept. */
static void release_value(mica_tf_value value) {
    if (value.dtype != MICA_TF_resource && value.dtype != MICA_TF_variant) {
        mica_tf_value_release(value);
        return;
    }
    PyObject *type, *raised, *traceback;
    PyErr_Fetch(&type, &raised, &traceback);
    Py_BEGIN_ALLOW_THREADS;
    mica_tf_value_release(value);
    Py_END_ALLOW_THREADS;
    PyErr_Restore(type, raised, traceback);
}

static void clear_objects(TFTensor *self) {
    Py_CLEAR(self->dict);
    Py_CLEAR(self->variable);
    Py_CLEAR(self->home);
}

static void eager_dealloc(PyObject *object) {
    TFTensor *self = (TFTensor *)object;
    if (self->weakrefs) PyObject_ClearWeakRefs(object);
    clear_objects(self);
    release_value(self->value);
    if (n_free < FREE_LIST_SIZE)
        free_list[n_free++] = self;
    else
        PyObject_Free(self);
}

static void symbolic_dealloc(PyObject *object) {
    TFTensor *self = (TFTensor *)object;
    PyObject_GC_UnTrack(object);
    if (self->weakrefs) PyObject_ClearWeakRefs(object);
    clear_objects(self);
    Py_CLEAR(self->graph);
    PyObject_GC_Del(object);
}

static int symbolic_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(((TFTensor *)object)->graph);
    Py_VISIT(((TFTensor *)object)->dict);
    Py_VISIT(((TFTensor *)object)->variable);
    Py_VISIT(((TFTensor *)object)->home);
    return 0;
}

static int symbolic_clear(PyObject *object) {
    clear_objects((TFTensor *)object);
    return 0;
}

mica_tf_dtype tf_tensor_dtype(const TFTensor *tensor) {
    return tensor->value.dtype;
}

void tf_tensor_shape(const TFTensor *tensor, mica_tf_shape *out) {
    if (tf_is_eager(tensor))
        mica_tf_value_shape(tensor->value, out);
    else
        mica_tf_graph_type(tensor->graph->graph, tensor->ref, out);
}

/* ---- attributes -------------------------------------------------------------------------------*/

static PyObject *get_dtype(PyObject *self, void *Py_UNUSED(unused)) {
    return tf_dtype_object(((TFTensor *)self)->value.dtype);
}

static PyObject *get_shape(PyObject *self, void *Py_UNUSED(unused)) {
    mica_tf_shape shape;
    tf_tensor_shape((TFTensor *)self, &shape);
    return tf_shape_object(&shape);
}

static PyObject *get_shape_method(PyObject *self, PyObject *Py_UNUSED(unused)) {
    return get_shape(self, NULL);
}

static PyObject *get_ndim(PyObject *self, void *Py_UNUSED(unused)) {
    mica_tf_shape shape;
    tf_tensor_shape((TFTensor *)self, &shape);
    if (shape.rank < 0) Py_RETURN_NONE;
    return PyLong_FromLong(shape.rank);
}

static PyObject *get_id(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromLongLong(((TFTensor *)self)->id);
}

static PyObject *get_graph(PyObject *self, void *Py_UNUSED(unused)) {
    TFTensor *tensor = (TFTensor *)self;
    if (!tensor->graph) {
        PyErr_SetString(PyExc_AttributeError,
                        "Tensor.graph is undefined when eager execution is enabled.");
        return NULL;
    }
    Py_INCREF(tensor->graph);
    return (PyObject *)tensor->graph;
}

static PyObject *get_node(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromLong(((TFTensor *)self)->ref.node);
}

static PyObject *get_op(PyObject *self, void *Py_UNUSED(unused)) {
    TFTensor *tensor = (TFTensor *)self;
    if (!tensor->graph) {
        PyErr_SetString(PyExc_AttributeError,
                        "Tensor.op is undefined when eager execution is enabled.");
        return NULL;
    }
    PyObject *hook = tf_hook("operation_of");
    return hook ? PyObject_CallFunction(hook, "Oi", tensor->graph, (int)tensor->ref.node) : NULL;
}

static PyObject *get_index(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromLong(((TFTensor *)self)->ref.index);
}

/* TensorFlow's name of a device; of none: the CPU's. */
static PyObject *device_text(const mica_device *device) {
    const char *name = device ? mica_device_name(device) : "cpu:0", *colon = strchr(name, ':');
    char kind[32] = "";
    size_t n = colon ? (size_t)(colon - name) : strlen(name);
    for (size_t i = 0; i < n && i + 1 < sizeof kind; i++)
        kind[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    bool is_gpu = !strcmp(kind, "CUDA") || !strcmp(kind, "OPENCL");
    return PyUnicode_FromFormat("/job:localhost/replica:0/task:0/device:%s:%s",
                                is_gpu ? "GPU" : kind, colon ? colon + 1 : "0");
}

/* Where it was computed: what ran elsewhere has been told so. */
static PyObject *get_device(PyObject *self, void *Py_UNUSED(unused)) {
    PyObject *dict = ((TFTensor *)self)->dict;
    PyObject *told = dict ? PyDict_GetItemString(dict, "_device") : NULL;
    if (told) {
        Py_INCREF(told);
        return told;
    }
    if (!tf_is_eager((TFTensor *)self)) return PyUnicode_FromString("");
    mica_tf_value value = ((TFTensor *)self)->value;
    if (value.dtype == MICA_TF_resource) {
        mica_device *home = mica_tf_variable_device(value);
        return device_text(home);
    }
    bool is_tensor = mica_tf_dtype_core(value.dtype) != MICA_DTYPE_COUNT;
    return device_text(is_tensor ? mica_tensor_device(value.object) : NULL);
}

static PyObject *get_watched(PyObject *self, void *Py_UNUSED(unused)) {
    return PyBool_FromLong(((TFTensor *)self)->is_watched);
}

static int set_watched(PyObject *self, PyObject *value, void *Py_UNUSED(unused)) {
    int truth = value ? PyObject_IsTrue(value) : 0;
    if (truth < 0) return -1;
    ((TFTensor *)self)->is_watched = truth;
    return 0;
}

static PyObject *get_name(PyObject *self, void *Py_UNUSED(unused)) {
    TFTensor *tensor = (TFTensor *)self;
    if (!tensor->graph) {
        PyErr_SetString(PyExc_AttributeError,
                        "Tensor.name is undefined when eager execution is enabled.");
        return NULL;
    }
    return PyUnicode_FromFormat("%s:%d",
                                mica_tf_graph_node_name(tensor->graph->graph, tensor->ref.node),
                                (int)tensor->ref.index);
}

/* ---- values -----------------------------------------------------------------------------------*/

static bool require_eager(TFTensor *self, const char *what) {
    if (tf_is_eager(self)) return true;
    PyObject *error = tf_hook("OperatorNotAllowedInGraphError");
    PyErr_Format(error ? error : PyExc_TypeError,
                 "%s is not possible for a symbolic tf.Tensor (%s:%d): it has no value while its "
                 "function is traced",
                 what, mica_tf_graph_node_name(self->graph->graph, self->ref.node),
                 (int)self->ref.index);
    return false;
}

/* The value as a mica.Tensor, which knows how to become numpy's. */
static PyObject *as_core(TFTensor *self) {
    mica_tensor_retain(self->value.object);
    return tensor_take(self->value.object);
}

static bool is_numeric(const TFTensor *self) {
    return mica_tf_dtype_core(self->value.dtype) != MICA_DTYPE_COUNT;
}

static PyObject *strings_list(TFTensor *self) {
    if (self->value.dtype != MICA_TF_string)
        return PyErr_Format(PyExc_ValueError, "a %s has no value in numpy",
                            mica_tf_dtype_name(self->value.dtype));
    int64_t n = mica_tf_strings_count(self->value);
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list && i < n; i++) {
        size_t length;
        const char *bytes = mica_tf_strings_get(self->value, i, &length);
        PyObject *item = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)length);
        if (item)
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* numpy(): arrays; a scalar of a string is bytes, of a number a numpy scalar. */
static PyObject *tensor_numpy_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    TFTensor *self = (TFTensor *)object;
    PyObject *hook = tf_hook("to_numpy");
    if (!hook) return NULL;
    PyObject *inner = is_numeric(self) ? as_core(self) : strings_list(self);
    PyObject *result = inner ? PyObject_CallFunctionObjArgs(hook, object, inner, NULL) : NULL;
    Py_XDECREF(inner);
    return result;
}

static PyObject *core_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    TFTensor *self = (TFTensor *)object;
    if (!require_eager(self, "Reading")) return NULL;
    if (!is_numeric(self))
        return PyErr_Format(PyExc_TypeError, "%s is no dtype of mica.Tensor",
                            mica_tf_dtype_name(self->value.dtype));
    return as_core(self);
}

static PyObject *array_method(PyObject *object, PyObject *args, PyObject *kwargs) {
    TFTensor *self = (TFTensor *)object;
    PyObject *dtype = Py_None, *copy = Py_None;
    static char *names[] = {"dtype", "copy", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", names, &dtype, &copy))
        return NULL;
    if (!tf_is_eager(self)) {
        PyErr_Format(PyExc_NotImplementedError,
                     "Cannot convert a symbolic tf.Tensor (%s:%d) to a numpy array. This error may "
                     "indicate that you're trying to pass a Tensor to a NumPy call, which is not "
                     "supported.",
                     mica_tf_graph_node_name(self->graph->graph, self->ref.node),
                     (int)self->ref.index);
        return NULL;
    }
    PyObject *hook = tf_hook("to_array");
    PyObject *inner = !hook ? NULL : is_numeric(self) ? as_core(self) : strings_list(self);
    PyObject *result =
        inner ? PyObject_CallFunctionObjArgs(hook, object, inner, dtype, NULL) : NULL;
    Py_XDECREF(inner);
    return result;
}

static int tensor_get_buffer(PyObject *object, Py_buffer *view, int flags) {
    TFTensor *self = (TFTensor *)object;
    if (!tf_is_eager(self) || !is_numeric(self)) {
        PyErr_SetString(PyExc_BufferError, "a tensor without numbers has no buffer");
        return -1;
    }
    PyObject *core = as_core(self);
    if (!core) return -1;
    int result = PyObject_GetBuffer(core, view, flags); /* the view holds the mica.Tensor */
    Py_DECREF(core);
    return result;
}

static PyObject *scalar_item(TFTensor *self) {
    PyObject *core = as_core(self);
    PyObject *item = core ? PyObject_CallMethod(core, "item", NULL) : NULL;
    Py_XDECREF(core);
    return item;
}

static int tensor_bool(PyObject *object) {
    TFTensor *self = (TFTensor *)object;
    if (!tf_is_eager(self)) {
        PyObject *error = tf_hook("OperatorNotAllowedInGraphError");
        PyErr_SetString(error ? error : PyExc_TypeError,
                        "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed. You can "
                        "attempt the following resolutions to the problem: If you are running in "
                        "Graph mode, use Eager execution mode or decorate this function with "
                        "@tf.function. If you are using AutoGraph, it may not see this code.");
        return -1;
    }
    if (self->value.dtype == MICA_TF_string) {
        mica_tf_shape shape;
        tf_tensor_shape(self, &shape);
        size_t length = 0;
        if (shape.rank == 0) (void)mica_tf_strings_get(self->value, 0, &length);
        return length > 0;
    }
    if (!is_numeric(self)) return 1;
    if (mica_type_elements(mica_tensor_type(self->value.object)) != 1) {
        PyErr_SetString(PyExc_ValueError,
                        "The truth value of an array with more than one element is ambiguous. Use "
                        "a.any() or a.all()");
        return -1;
    }
    PyObject *item = scalar_item(self);
    if (!item) return -1;
    int truth = PyObject_IsTrue(item);
    Py_DECREF(item);
    return truth;
}

static PyObject *tensor_as(PyObject *object, PyObject *(*convert)(PyObject *), const char *what) {
    const char *several = "only length-1 arrays can be converted to Python scalars";
    TFTensor *self = (TFTensor *)object;
    if (!require_eager(self, what)) return NULL;
    if (!is_numeric(self)) {
        PyObject *list = strings_list(self), *result = NULL;
        if (list && PyList_GET_SIZE(list) == 1)
            result = convert(PyList_GET_ITEM(list, 0));
        else if (list)
            PyErr_SetString(PyExc_TypeError, several);
        Py_XDECREF(list);
        return result;
    }
    if (mica_type_elements(mica_tensor_type(self->value.object)) != 1) {
        PyErr_SetString(PyExc_TypeError, several);
        return NULL;
    }
    PyObject *item = scalar_item(self);
    PyObject *result = item ? convert(item) : NULL;
    Py_XDECREF(item);
    return result;
}

static PyObject *tensor_int(PyObject *self) {
    return tensor_as(self, PyNumber_Long, "int()");
}
static PyObject *tensor_float(PyObject *self) {
    return tensor_as(self, PyNumber_Float, "float()");
}

static PyObject *tensor_index(PyObject *self) {
    TFTensor *tensor = (TFTensor *)self;
    mica_dtype core = mica_tf_dtype_core(tensor->value.dtype);
    mica_tf_shape shape;
    tf_tensor_shape(tensor, &shape);
    bool integer = core != MICA_DTYPE_COUNT && (mica_dtype_kind_of(core) == MICA_KIND_SIGNED ||
                                                mica_dtype_kind_of(core) == MICA_KIND_UNSIGNED);
    if (!integer || shape.rank > 0) {
        PyErr_SetString(PyExc_TypeError,
                        "only integer scalar tensors can be converted to a scalar index");
        return NULL;
    }
    return tensor_as(self, PyNumber_Index, "Indexing with it");
}

static Py_ssize_t tensor_length(PyObject *self) {
    mica_tf_shape shape;
    tf_tensor_shape((TFTensor *)self, &shape);
    if (!tf_is_eager((TFTensor *)self)) {
        PyErr_Format(PyExc_TypeError,
                     "len is not well defined for a symbolic Tensor. Please call `x.shape` rather "
                     "than `len(x)` for shape information.");
        return -1;
    }
    if (shape.rank == 0) {
        PyErr_SetString(PyExc_TypeError, "Scalar tensor has no `len()`");
        return -1;
    }
    return (Py_ssize_t)shape.dims[0];
}

/* What is not needed at every call is written in Python: hooks named after the method. */
static PyObject *call_hook(const char *name, PyObject *self, PyObject *argument) {
    PyObject *hook = tf_hook(name);
    if (!hook) return NULL;
    return PyObject_CallFunctionObjArgs(hook, self, argument, NULL);
}

static PyObject *tensor_repr_method(PyObject *self) {
    return call_hook("tensor_repr", self, NULL);
}
static PyObject *tensor_str_method(PyObject *self) {
    return call_hook("tensor_str", self, NULL);
}
static PyObject *tensor_subscript(PyObject *self, PyObject *key) {
    return call_hook("tensor_getitem", self, key);
}
static PyObject *tensor_iterate(PyObject *self) {
    return call_hook("tensor_iter", self, NULL);
}
static PyObject *format_method(PyObject *self, PyObject *specification) {
    return call_hook("tensor_format", self, specification);
}

static PyObject *set_shape_method(PyObject *self, PyObject *argument) {
    TFTensor *tensor = (TFTensor *)self;
    mica_tf_shape shape, own;
    if (tf_shape_from_object(argument, &shape) < 0) return NULL;
    if (tf_is_eager(tensor)) {
        tf_tensor_shape(tensor, &own);
        bool fits = shape.rank < 0 || shape.rank == own.rank;
        for (int32_t i = 0; fits && i < shape.rank; i++)
            fits = shape.dims[i] < 0 || shape.dims[i] == own.dims[i];
        if (fits) Py_RETURN_NONE;
        PyObject *mine = tf_shape_object(&own);
        PyErr_Format(PyExc_ValueError,
                     "Tensor's shape %S is not compatible with supplied shape %S.", mine, argument);
        Py_XDECREF(mine);
        return NULL;
    }
    mica_status status = mica_tf_graph_set_shape(tensor->graph->graph, tensor->ref, &shape);
    if (status) {
        PyErr_SetString(PyExc_ValueError, mica_status_message(status));
        mica_status_release(status);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *same_method(PyObject *self, PyObject *Py_UNUSED(argument)) {
    Py_INCREF(self);
    return self;
}

static PyObject *ref_method(PyObject *self, PyObject *Py_UNUSED(unused)) {
    return call_hook("tensor_ref", self, NULL);
}

static PyObject *eval_method(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *feed_dict = Py_None, *session = Py_None;
    static char *names[] = {"feed_dict", "session", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:eval", names, &feed_dict, &session))
        return NULL;
    PyObject *hook = tf_hook("tensor_eval");
    return hook ? PyObject_CallFunctionObjArgs(hook, self, feed_dict, session, NULL) : NULL;
}

static Py_hash_t tensor_hash(PyObject *self) {
    const TFTensor *tensor = (const TFTensor *)self;
    if (!tf_is_eager(tensor) && tf_is_compared_by_identity(self)) {
        size_t hash = (size_t)(uintptr_t)tensor->graph / sizeof(void *);
        hash = hash * 31 + (size_t)tensor->ref.node * 7 + (size_t)tensor->ref.index;
        return (Py_hash_t)(hash & (SIZE_MAX >> 1));
    }
    PyErr_SetString(PyExc_TypeError, "Tensor is unhashable. Instead, use tensor.ref() as the key.");
    return -1;
}

/* None where there is none. */
static PyObject *object_or_none(PyObject *object) {
    PyObject *answer = object ? object : Py_None;
    Py_INCREF(answer);
    return answer;
}

static PyObject *get_variable(PyObject *self, void *Py_UNUSED(unused)) {
    return object_or_none(((TFTensor *)self)->variable);
}

static int set_variable(PyObject *self, PyObject *reference, void *Py_UNUSED(unused)) {
    if (!reference || !PyWeakref_Check(reference)) {
        PyErr_SetString(PyExc_TypeError, "the variable of a handle is set to a weak reference");
        return -1;
    }
    Py_INCREF(reference);
    Py_XSETREF(((TFTensor *)self)->variable, reference);
    return 0;
}

static PyObject *get_home(PyObject *self, void *Py_UNUSED(unused)) {
    return object_or_none(((TFTensor *)self)->home);
}

static PyMethodDef tensor_methods_table[] = {
    {"_core", core_method, METH_NOARGS, NULL},
    {"__array__", (PyCFunction)(void (*)(void))array_method, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__format__", format_method, METH_O, NULL},
    {"set_shape", set_shape_method, METH_O,
     "set_shape(shape)\n\nSays what is known about the shape from elsewhere."},
    {"get_shape", get_shape_method, METH_NOARGS, "get_shape()\n\nThe same as shape."},
    {"eval", (PyCFunction)(void (*)(void))eval_method, METH_VARARGS | METH_KEYWORDS,
     "eval(feed_dict=None, session=None)\n\nThe value of a graph's tensor in a session."},
    {"ref", ref_method, METH_NOARGS, "ref()\n\nA hashable reference to this tensor."},
    {"__copy__", same_method, METH_NOARGS, NULL},
    {"__deepcopy__", same_method, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef tensor_getters[] = {
    {"dtype", get_dtype, NULL, "The element type.", NULL},
    {"shape", get_shape, NULL, "The shape, as far as it is known.", NULL},
    {"ndim", get_ndim, NULL, "The number of axes.", NULL},
    {"device", get_device, NULL, "Where the value is.", NULL},
    {"_id", get_id, NULL, NULL, NULL},
    {"_node", get_node, NULL, NULL, NULL},
    {"op", get_op, NULL, "The op that gives a symbolic tensor.", NULL},
    {"value_index", get_index, NULL, "Its number among the results of its op.", NULL},
    {"_trainable", get_watched, set_watched, NULL, NULL},
    {"_variable", get_variable, set_variable, NULL, NULL},
    {"_home", get_home, NULL, NULL, NULL},
    {"graph", get_graph, NULL, "The graph of a symbolic tensor.", NULL},
    {"name", get_name, NULL, "The name of a symbolic tensor.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMappingMethods tensor_mapping = {tensor_length, tensor_subscript, NULL};
static PySequenceMethods tensor_sequence = {.sq_length = tensor_length};
static PyBufferProcs tensor_buffer_procs = {tensor_get_buffer, NULL};

#define COMMON_SLOTS                                                                               \
    .tp_basicsize = sizeof(TFTensor), .tp_repr = tensor_repr_method, .tp_str = tensor_str_method,  \
    .tp_hash = tensor_hash, .tp_richcompare = tf_compare, .tp_iter = tensor_iterate,               \
    .tp_as_number = &tf_number, .tp_as_mapping = &tensor_mapping,                                  \
    .tp_as_sequence = &tensor_sequence, .tp_dictoffset = offsetof(TFTensor, dict),                 \
    .tp_weaklistoffset = offsetof(TFTensor, weakrefs)

PyTypeObject TFTensor_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tensorflow.python.framework.tensor.Tensor",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A tensor: a value (eager), or a result of a node of a graph (symbolic).",
    .tp_methods = tensor_methods_table,
    .tp_getset = tensor_getters,
    COMMON_SLOTS,
};

static PyObject *eager_html(PyObject *self, PyObject *unused) {
    (void)unused;
    return call_notebook("eager_html", self);
}

/* What symbolic tensors do not have at all: programs ask for it to tell the two apart. */
static PyMethodDef eager_methods_table[] = {
    {"numpy", tensor_numpy_method, METH_NOARGS, "numpy()\n\nThe value as a numpy array or scalar."},
    {"_repr_html_", eager_html, METH_NOARGS, "For notebooks."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject TFEager_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tensorflow.python.framework.ops.EagerTensor",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_base = &TFTensor_Type,
    .tp_dealloc = eager_dealloc,
    .tp_as_buffer = &tensor_buffer_procs,
    .tp_methods = eager_methods_table,
    COMMON_SLOTS,
};

PyTypeObject TFSymbolic_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tensorflow.python.framework.ops.SymbolicTensor",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC,
    .tp_base = &TFTensor_Type,
    .tp_dealloc = symbolic_dealloc,
    .tp_traverse = symbolic_traverse,
    .tp_clear = symbolic_clear,
    COMMON_SLOTS,
};

__attribute__((constructor)) static void fill_number_slots(void) {
    tf_number.nb_int = tensor_int;
    tf_number.nb_float = tensor_float;
    tf_number.nb_index = tensor_index;
    tf_number.nb_bool = tensor_bool;
}
