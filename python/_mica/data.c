/* What mica.data needs of C: datasets (mica/data.h) as objects, and their iterators.
 *
 * A function of a pipeline is a function of Python: a graph of one PyFunc node, whose number is
 * negative and names the dataset that keeps the function. Threads of the pipeline enter the
 * interpreter to call it, so what waits for such a thread lets go of Python's lock. */
#include "entry.h"
#include "tf_extension.h"

#include <mica/data.h>

typedef struct DataObject {
    PyObject_HEAD mica_dataset *dataset;
    PyObject *inputs;   /* what it was made of, which may keep functions: a tuple */
    PyObject *function; /* of this dataset; NULL: it has none */
    int64_t number;     /* of the function, below zero */
    struct DataObject *next_with_function;
} DataObject;

typedef struct DataIteratorObject {
    PyObject_HEAD mica_iterator *iterator;
    PyObject *data;
} DataIteratorObject;

static PyTypeObject Data_Type, DataIterator_Type;
static DataObject *with_function; /* those alive; Python's lock guards the list */
static int64_t last_number;

/* Takes over the dataset; keeps the inputs. */
static PyObject *data_take(mica_status status, mica_dataset *dataset, PyObject *inputs) {
    if (status) return raise_status(status);
    DataObject *self = PyObject_GC_New(DataObject, &Data_Type);
    if (!self) {
        mica_dataset_release(dataset);
        return NULL;
    }
    self->dataset = dataset;
    Py_XINCREF(inputs);
    self->inputs = inputs;
    self->function = NULL;
    self->number = 0;
    self->next_with_function = NULL;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int data_traverse(PyObject *object, visitproc visit, void *arg) {
    DataObject *self = (DataObject *)object;
    Py_VISIT(self->inputs);
    Py_VISIT(self->function);
    return 0;
}

static int data_clear(PyObject *object) {
    DataObject *self = (DataObject *)object;
    Py_CLEAR(self->inputs);
    Py_CLEAR(self->function);
    return 0;
}

static void data_dealloc(PyObject *object) {
    DataObject *self = (DataObject *)object;
    PyObject_GC_UnTrack(object);
    for (DataObject **at = &with_function; *at; at = &(*at)->next_with_function)
        if (*at == self) {
            *at = self->next_with_function;
            break;
        }
    mica_dataset *dataset = self->dataset;
    data_clear(object);
    PyObject_GC_Del(object);
    Py_BEGIN_ALLOW_THREADS;
    mica_dataset_release(dataset);
    Py_END_ALLOW_THREADS;
}

/* ---- functions --------------------------------------------------------------------------------*/

static PyObject *tensors_of(const mica_tf_value *values, int32_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (int32_t i = 0; tuple && i < n; i++) {
        PyObject *tensor = NULL;
        if (!values[i].object || mica_tf_dtype_core(values[i].dtype) == MICA_DTYPE_COUNT) {
            PyErr_Format(PyExc_TypeError, "[data] component %d of an element is no tensor", i);
        } else {
            mica_tensor_retain(values[i].object);
            tensor = tensor_take(values[i].object);
        }
        if (tensor)
            PyTuple_SET_ITEM(tuple, i, tensor);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static int values_of(PyObject *results, mica_tf_value *outputs, int32_t n) {
    if (!PyTuple_Check(results) || PyTuple_GET_SIZE(results) != n) {
        PyErr_Format(PyExc_ValueError, "[data] a function gave %R, not a tuple of %d tensors",
                     results, (int)n);
        return -1;
    }
    for (int32_t i = 0; i < n; i++) {
        PyObject *tensor = PyTuple_GET_ITEM(results, i);
        if (!is_tensor(tensor)) {
            PyErr_Format(PyExc_TypeError, "[data] a function gave %R, which is no tensor", tensor);
            return -1;
        }
        mica_tensor_retain(tensor_of(tensor));
        outputs[i] = mica_tf_value_of(tensor_of(tensor));
    }
    return 0;
}

mica_status data_call(int64_t number, const mica_tf_value *inputs, int32_t n_inputs,
                      mica_tf_value *outputs, int32_t n_outputs) {
    DataObject *self = with_function;
    while (self && self->number != number) self = self->next_with_function;
    if (!self || !self->function)
        return mica_status_create(MICA_FAILED_PRECONDITION,
                                  "[data] function %lld is not registered: its dataset is gone",
                                  (long long)number);
    PyObject *function = self->function;
    Py_INCREF(function);
    PyObject *arguments = tensors_of(inputs, n_inputs);
    PyObject *results = arguments ? PyObject_Call(function, arguments, NULL) : NULL;
    mica_status status = NULL;
    if (!results || values_of(results, outputs, n_outputs) < 0)
        status = status_from_exception("a function of mica.data");
    Py_XDECREF(results);
    Py_XDECREF(arguments);
    Py_DECREF(function);
    return status;
}

enum { MOST_COMPONENTS = 256 };

/* A list of dtypes of tensors; the number of them, or -1. */
static int32_t dtypes_of(PyObject *list, int64_t out[MOST_COMPONENTS]) {
    Py_ssize_t n = PyList_Check(list) ? PyList_GET_SIZE(list) : -1;
    if (n < 0 || n > MOST_COMPONENTS) {
        PyErr_Format(PyExc_ValueError,
                     "[data] an element has %zd components; at most %d are allowed", n,
                     MOST_COMPONENTS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        mica_dtype dtype;
        if (dtype_from_object(PyList_GET_ITEM(list, i), &dtype) < 0) return -1;
        out[i] = mica_tf_dtype_of_core(dtype);
    }
    return (int32_t)n;
}

static mica_status build_graph(int64_t number, const int64_t *in, int32_t n_in, const int64_t *out,
                               int32_t n_out, mica_tf_graph *g) {
    mica_tf_ref parameters[MOST_COMPONENTS], first = {0};
    mica_tf_shape unknown = {.rank = -1};
    mica_status status = NULL;
    for (int32_t i = 0; i < n_in && !status; i++)
        status =
            mica_tf_graph_parameter(g, (mica_tf_dtype)in[i], &unknown, "element", &parameters[i]);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {
        {.n = 1, .as.integer = number}, {.n = n_in, .as.ints = in}, {.n = n_out, .as.ints = out}};
    if (!status)
        status = mica_tf_graph_add(g, MICA_TF_PyFunc, attrs, parameters, n_in, "function", &first);
    for (int32_t i = 0; i < n_out && !status; i++)
        status = mica_tf_graph_output(g, (mica_tf_ref){first.node, i});
    return status;
}

/* map(function, dtypes of elements, dtypes of results, whether it filters) */
static PyObject *map_method(PyObject *self, PyObject *args) {
    PyObject *function, *in_list, *out_list;
    int filters;
    int64_t in[MOST_COMPONENTS], out[MOST_COMPONENTS];
    if (!PyArg_ParseTuple(args, "OOOp:map", &function, &in_list, &out_list, &filters)) return NULL;
    int32_t n_in = dtypes_of(in_list, in), n_out = n_in < 0 ? -1 : dtypes_of(out_list, out);
    if (n_out < 0) return NULL;
    int64_t number = --last_number;
    mica_dataset *input = ((DataObject *)self)->dataset, *made = NULL;
    mica_tf_graph *g = NULL;
    mica_status status = mica_tf_graph_create("function", &g);
    if (!status) status = build_graph(number, in, n_in, out, n_out, g);
    mica_dataset_function described = {.graph = g};
    if (!status)
        status = filters ? mica_dataset_filter(input, &described, &made)
                         : mica_dataset_map(input, &described, &made);
    mica_tf_graph_release(g);
    PyObject *inputs = PyTuple_Pack(1, self);
    PyObject *result = inputs ? data_take(status, made, inputs) : NULL;
    Py_XDECREF(inputs);
    if (!result) return NULL;
    DataObject *data = (DataObject *)result;
    Py_INCREF(function);
    data->function = function;
    data->number = number;
    data->next_with_function = with_function;
    with_function = data;
    return result;
}

/* ---- sources and steps ------------------------------------------------------------------------*/

/* data_slices([tensor...]): an element for each index of the first axis. */
static PyObject *slices_function(PyObject *Py_UNUSED(module), PyObject *list) {
    mica_tf_value values[MOST_COMPONENTS];
    Py_ssize_t n = PyList_Check(list) ? PyList_GET_SIZE(list) : -1;
    if (n < 0 || n > MOST_COMPONENTS)
        return PyErr_Format(PyExc_ValueError, "[data] at most %d arrays make an element",
                            MOST_COMPONENTS);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *tensor = PyList_GET_ITEM(list, i);
        if (!is_tensor(tensor))
            return PyErr_Format(PyExc_TypeError, "[data] %R is no tensor", tensor);
        values[i].dtype = mica_tf_dtype_of_core(array_type(tensor)->dtype);
        values[i].object = tensor_of(tensor);
    }
    mica_dataset *made = NULL;
    mica_status status = mica_dataset_slices(values, (int32_t)n, &made);
    return data_take(status, made, NULL);
}

/* data_range(start, stop, step) */
static PyObject *range_function(PyObject *Py_UNUSED(module), PyObject *args) {
    long long start, stop, step;
    if (!PyArg_ParseTuple(args, "LLL:range", &start, &stop, &step)) return NULL;
    mica_dataset *made = NULL;
    mica_status status = mica_dataset_range(start, stop, step, MICA_TF_int64, &made);
    return data_take(status, made, NULL);
}

/* data_joined((data...), in_turn): side by side, or one after the other. */
static PyObject *joined_function(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *inputs;
    int in_turn;
    mica_dataset *datasets[MOST_COMPONENTS], *made = NULL;
    if (!PyArg_ParseTuple(args, "O!p:joined", &PyTuple_Type, &inputs, &in_turn)) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(inputs);
    if (n < 1 || n > (in_turn ? 2 : MOST_COMPONENTS))
        return PyErr_Format(PyExc_ValueError, "[data] %zd datasets cannot be joined", n);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *data = PyTuple_GET_ITEM(inputs, i);
        if (!Py_IS_TYPE(data, &Data_Type))
            return PyErr_Format(PyExc_TypeError, "[data] %R is no dataset", data);
        datasets[i] = ((DataObject *)data)->dataset;
    }
    mica_status status = in_turn ? mica_dataset_concatenate(datasets[0], datasets[n - 1], &made)
                                 : mica_dataset_zip(datasets, (int32_t)n, &made);
    return data_take(status, made, inputs);
}

typedef mica_status (*make_step)(mica_dataset *input, const long long *numbers, mica_dataset **out);

static PyObject *step(PyObject *self, PyObject *args, const char *format, make_step make) {
    long long numbers[4] = {0};
    if (!PyArg_ParseTuple(args, format, &numbers[0], &numbers[1], &numbers[2], &numbers[3]))
        return NULL;
    mica_dataset *made = NULL;
    mica_status status = make(((DataObject *)self)->dataset, numbers, &made);
    PyObject *inputs = PyTuple_Pack(1, self);
    PyObject *result = inputs ? data_take(status, made, inputs) : NULL;
    Py_XDECREF(inputs);
    return result;
}

/* A method whose arguments are integers, n[0], n[1], ... */
#define STEP(name, format, call)                                                                   \
    static mica_status make_##name(mica_dataset *input, const long long *n, mica_dataset **out) {  \
        (void)n;                                                                                   \
        return call;                                                                               \
    }                                                                                              \
    static PyObject *name##_method(PyObject *self, PyObject *args) {                               \
        return step(self, args, format ":" #name, make_##name);                                    \
    }

STEP(batch, "LL", mica_dataset_batch(input, n[0], n[1] != 0, out))
STEP(unbatch, "", mica_dataset_unbatch(input, out))
STEP(shuffle, "LLLL",
     mica_dataset_shuffle(input, n[0], (uint64_t)n[1], (uint64_t)n[2], n[3] != 0, out))
STEP(repeat, "L", mica_dataset_repeat(input, n[0], out))
STEP(take, "L", mica_dataset_take(input, n[0], out))
STEP(skip, "L", mica_dataset_skip(input, n[0], out))
STEP(shard, "LL", mica_dataset_shard(input, n[0], n[1], out))
STEP(cache, "", mica_dataset_cache(input, out))
STEP(prefetch, "L", mica_dataset_prefetch(input, n[0], out))

static PyObject *count_method(PyObject *self, PyObject *Py_UNUSED(unused)) {
    return PyLong_FromLongLong(mica_dataset_cardinality(((DataObject *)self)->dataset));
}

static PyMethodDef data_methods[] = {
    {"map", map_method, METH_VARARGS, NULL},
    {"batch", batch_method, METH_VARARGS, NULL},
    {"unbatch", unbatch_method, METH_VARARGS, NULL},
    {"shuffle", shuffle_method, METH_VARARGS, NULL},
    {"repeat", repeat_method, METH_VARARGS, NULL},
    {"take", take_method, METH_VARARGS, NULL},
    {"skip", skip_method, METH_VARARGS, NULL},
    {"shard", shard_method, METH_VARARGS, NULL},
    {"cache", cache_method, METH_VARARGS, NULL},
    {"prefetch", prefetch_method, METH_VARARGS, NULL},
    {"count", count_method, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---- iterators --------------------------------------------------------------------------------*/

static PyObject *data_iter(PyObject *data) {
    mica_iterator *iterator = NULL;
    mica_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = mica_iterator_create(((DataObject *)data)->dataset, NULL, &iterator);
    Py_END_ALLOW_THREADS;
    if (status) return raise_status(status);
    DataIteratorObject *self = PyObject_New(DataIteratorObject, &DataIterator_Type);
    if (!self) {
        mica_iterator_release(iterator);
        return NULL;
    }
    self->iterator = iterator;
    Py_INCREF(data);
    self->data = data;
    return (PyObject *)self;
}

static PyObject *iterator_next(PyObject *object) {
    DataIteratorObject *self = (DataIteratorObject *)object;
    mica_tf_value values[MOST_COMPONENTS];
    int32_t n = mica_dataset_component_count(((DataObject *)self->data)->dataset);
    if (n > MOST_COMPONENTS)
        return PyErr_Format(PyExc_ValueError, "[data] an element of %d components is too large", n);
    bool end = false;
    mica_status status;
    BEGIN_COMPUTING;
    status = mica_iterator_next(self->iterator, values, n, &end);
    END_COMPUTING;
    if (status) return raise_status(status);
    if (end) return NULL;
    PyObject *element = tensors_of(values, n);
    for (int32_t i = 0; i < n; i++) mica_tf_value_release(values[i]);
    return element;
}

/* Its threads may wait for Python's lock while they are ended. */
static void iterator_dealloc(PyObject *object) {
    DataIteratorObject *self = (DataIteratorObject *)object;
    mica_iterator *iterator = self->iterator;
    PyObject *data = self->data;
    PyObject_Free(object);
    Py_BEGIN_ALLOW_THREADS;
    mica_iterator_release(iterator);
    Py_END_ALLOW_THREADS;
    Py_DECREF(data);
}

static PyTypeObject Data_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica._mica.Data",
    .tp_basicsize = sizeof(DataObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "A dataset of the C API.",
    .tp_dealloc = data_dealloc,
    .tp_traverse = data_traverse,
    .tp_clear = data_clear,
    .tp_iter = data_iter,
    .tp_methods = data_methods,
};

static PyTypeObject DataIterator_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica._mica.DataIterator",
    .tp_basicsize = sizeof(DataIteratorObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Makes the elements of a dataset.",
    .tp_dealloc = iterator_dealloc,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = iterator_next,
};

static PyMethodDef data_functions[] = {
    {"data_slices", slices_function, METH_O, NULL},
    {"data_range", range_function, METH_VARARGS, NULL},
    {"data_joined", joined_function, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int data_add_to(PyObject *module) {
    if (PyType_Ready(&Data_Type) < 0 || PyType_Ready(&DataIterator_Type) < 0) return -1;
    return PyModule_AddFunctions(module, data_functions);
}
