/* Graph: a finished graph, to print, parse, inline and run. Executable: a graph compiled for a
 * device. */
#include "extension.h"

#include <string.h>

/* ---- types: (shape, dtype), or "token"
 * ------------------------------------------------------------*/

PyObject *type_to_object(const mica_type *type) {
    if (type->kind == MICA_TOKEN) return PyUnicode_FromString("token");
    if (type->kind == MICA_LIST) return PyUnicode_FromString("list");
    PyObject *shape = ints_to_tuple(type->dims, type->rank);
    return shape ? Py_BuildValue("NN", shape, dtype_object(type->dtype)) : NULL;
}

int type_from_object(PyObject *object, mica_type *out_type) {
    if (is_array(object)) {
        *out_type = *array_type(object);
        return 0;
    }
    if (PyUnicode_Check(object) && !PyUnicode_CompareWithASCIIString(object, "token")) {
        *out_type = mica_type_token();
        return 0;
    }
    PyObject *pair = PySequence_Tuple(object), *shape, *dtype_name;
    mica_dtype dtype;
    int64_t dims[MICA_MAX_RANK];
    int result = -1;
    if (pair && PyArg_ParseTuple(pair, "OO;a type is (shape, dtype)", &shape, &dtype_name)) {
        int32_t rank = ints_from_object(shape, "shape", dims);
        if (rank >= 0 && dtype_from_object(dtype_name, &dtype) == 0) {
            *out_type = mica_type_make(dtype, (mica_ints){dims, rank});
            result = 0;
        }
    }
    Py_XDECREF(pair);
    return result;
}

/* ---- Graph
 * --------------------------------------------------------------------------------------*/

PyObject *graph_object(mica_graph *graph, PyObject *held) {
    GraphObject *self = PyObject_GC_New(GraphObject, &Graph_Type);
    if (!self) return NULL;
    mica_graph_retain(graph);
    self->graph = graph;
    Py_XINCREF(held);
    self->held = held;
    self->executables = PyDict_New();
    PyObject_GC_Track(self);
    if (!self->executables) Py_CLEAR(self);
    return (PyObject *)self;
}

/* Takes over one reference. */
static PyObject *graph_take(mica_graph *graph) {
    PyObject *object = graph_object(graph, NULL);
    mica_graph_release(graph);
    return object;
}

static PyObject *graph_parse(PyObject *Py_UNUSED(type), PyObject *text) {
    const char *chars = PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    if (!chars) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "[parse] text is needed");
        return NULL;
    }
    mica_graph *graph = NULL;
    mica_status status = mica_graph_parse(chars, &graph);
    return status ? raise_status(status) : graph_take(graph);
}

static PyObject *graph_deserialize(PyObject *Py_UNUSED(type), PyObject *bytes) {
    Py_buffer view;
    if (PyObject_GetBuffer(bytes, &view, PyBUF_SIMPLE) < 0) return NULL;
    mica_graph *graph = NULL;
    mica_status status = mica_graph_deserialize(view.buf, (size_t)view.len, &graph);
    PyBuffer_Release(&view);
    return status ? raise_status(status) : graph_take(graph);
}

static PyObject *graph_serialize(PyObject *self, PyObject *Py_UNUSED(unused)) {
    uint8_t *bytes = NULL;
    size_t size = 0;
    mica_status status = mica_graph_serialize(((GraphObject *)self)->graph, &bytes, &size);
    if (status) return raise_status(status);
    PyObject *object = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
    mica_bytes_free(bytes);
    return object;
}

static PyObject *graph_str(PyObject *self) {
    char *text = NULL;
    mica_status status = mica_graph_print(((GraphObject *)self)->graph, &text);
    if (status) return raise_status(status);
    PyObject *object = PyUnicode_FromString(text);
    mica_string_free(text);
    return object;
}

static PyObject *graph_print(PyObject *self, PyObject *Py_UNUSED(unused)) {
    return graph_str(self);
}

/* g with constants in place of parameters: values has a tensor, or None, for each. */
static mica_status bind(const mica_graph *g, PyObject *given, mica_graph *to) {
    int32_t n = mica_graph_parameter_count(g), n_outputs = mica_graph_output_count(g);
    mica_value *values = PyMem_Calloc((size_t)(n + n_outputs + 1), sizeof *values);
    mica_status status = values ? NULL : mica_status_create(MICA_OUT_OF_MEMORY, "out of memory");
    for (int32_t i = 0; !status && i < n; i++) {
        const mica_type *type = mica_value_type(mica_graph_parameter(g, i));
        PyObject *tensor = PyTuple_GET_ITEM(given, i);
        if (tensor == Py_None) {
            values[i] = mica_parameter(to, type);
            continue;
        }
        size_t bytes = mica_type_bytes(type);
        void *data = PyMem_Malloc(bytes + 1);
        if (!data) status = mica_status_create(MICA_OUT_OF_MEMORY, "out of memory");
        if (!status) status = mica_tensor_to_host(tensor_of(tensor), data, bytes);
        if (!status) values[i] = mica_constant(to, (mica_data){type, data});
        PyMem_Free(data);
    }
    if (!status) mica_inline(to, g, values, n, values + n);
    for (int32_t i = 0; !status && i < n_outputs; i++) mica_output(to, values[n + i]);
    if (!status) status = mica_graph_check(to);
    PyMem_Free(values);
    return status;
}

static bool check_bound(const mica_graph *g, PyObject *given) {
    int32_t n = mica_graph_parameter_count(g);
    if (PyTuple_GET_SIZE(given) != n) {
        PyErr_Format(PyExc_ValueError, "[bind] %zd values for a graph of %d inputs",
                     PyTuple_GET_SIZE(given), n);
        return false;
    }
    for (int32_t i = 0; i < n; i++) {
        PyObject *tensor = PyTuple_GET_ITEM(given, i);
        if (tensor == Py_None) continue;
        if (!is_tensor(tensor)) {
            PyErr_Format(PyExc_TypeError, "[bind] value %d is a %s: it is a Tensor, or None", i,
                         Py_TYPE(tensor)->tp_name);
            return false;
        }
        const mica_type *type = mica_value_type(mica_graph_parameter(g, i));
        if (!mica_type_equal(mica_tensor_type(tensor_of(tensor)), type)) {
            PyObject *wanted = type_to_object(type);
            PyErr_Format(PyExc_ValueError, "[bind] value %d is %R, input %d is %R", i, tensor, i,
                         wanted ? wanted : Py_None);
            Py_XDECREF(wanted);
            return false;
        }
    }
    return true;
}

static PyObject *graph_bind(PyObject *self, PyObject *values) {
    const mica_graph *g = ((GraphObject *)self)->graph;
    PyObject *given = PySequence_Tuple(values);
    if (!given) return NULL;
    mica_graph *to = NULL;
    mica_status status = NULL;
    bool is_right = check_bound(g, given);
    if (is_right) status = mica_graph_create(mica_graph_name(g), &to);
    if (is_right && !status) status = bind(g, given, to);
    Py_DECREF(given);
    if (is_right && !status) return graph_take(to);
    mica_graph_release(to);
    return status ? raise_status(status) : NULL;
}

static PyObject *graph_write_c(PyObject *self, PyObject *name) {
    const char *chars = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (!chars && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "[export] the name must be a str, not %s",
                     Py_TYPE(name)->tp_name);
    if (!chars) return NULL;
    char *text = NULL;
    mica_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = mica_graph_write_c(((GraphObject *)self)->graph, chars, &text);
    Py_END_ALLOW_THREADS;
    if (status) return raise_status(status);
    PyObject *object = PyUnicode_FromString(text);
    mica_string_free(text);
    return object;
}

static PyObject *graph_repr(PyObject *self) {
    const mica_graph *g = ((GraphObject *)self)->graph;
    return PyUnicode_FromFormat("<Graph %s: %d inputs, %d outputs, %d nodes>", mica_graph_name(g),
                                mica_graph_parameter_count(g), mica_graph_output_count(g),
                                mica_graph_node_count(g));
}

static PyObject *graph_verify(PyObject *self, PyObject *Py_UNUSED(unused)) {
    mica_status status = mica_graph_verify(((GraphObject *)self)->graph);
    if (status) return raise_status(status);
    Py_RETURN_NONE;
}

static PyObject *types_tuple(const mica_graph *g, int32_t n,
                             mica_value (*value)(const mica_graph *, int32_t)) {
    PyObject *tuple = PyTuple_New(n);
    for (int32_t i = 0; tuple && i < n; i++) {
        PyObject *type = type_to_object(mica_value_type(value(g, i)));
        if (!type)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, type);
    }
    return tuple;
}

static PyObject *graph_get_inputs(PyObject *self, void *Py_UNUSED(unused)) {
    const mica_graph *g = ((GraphObject *)self)->graph;
    return types_tuple(g, mica_graph_parameter_count(g), mica_graph_parameter);
}

static PyObject *graph_get_outputs(PyObject *self, void *Py_UNUSED(unused)) {
    const mica_graph *g = ((GraphObject *)self)->graph;
    return types_tuple(g, mica_graph_output_count(g), mica_graph_output);
}

static PyObject *graph_get_name(PyObject *self, void *Py_UNUSED(unused)) {
    return PyUnicode_FromString(mica_graph_name(((GraphObject *)self)->graph));
}

static PyObject *graph_compile(PyObject *object, PyObject *device_name) {
    GraphObject *self = (GraphObject *)object;
    mica_device *device = device_from_object(device_name);
    if (!device) return NULL;
    PyObject *key = PyUnicode_FromString(mica_device_name(device));
    PyObject *known = key ? PyDict_GetItemWithError(self->executables, key) : NULL;
    Py_XINCREF(known);
    if (!known && !PyErr_Occurred()) {
        known = PyObject_CallFunction((PyObject *)&Executable_Type, "OO", self, device_name);
        if (known && PyDict_SetItem(self->executables, key, known) < 0) Py_CLEAR(known);
    }
    Py_XDECREF(key);
    return known;
}

static PyObject *graph_run(PyObject *self, PyObject *args) {
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    mica_device *device = NULL;
    PyObject *inputs = PyList_New(0);
    for (Py_ssize_t i = 0; inputs && i < n; i++) {
        PyObject *input = tensor_from_object(PyTuple_GET_ITEM(args, i), -1, device);
        if (input && is_tensor(input) && !device) device = mica_tensor_device(tensor_of(input));
        if (!input || PyList_Append(inputs, input) < 0) Py_CLEAR(inputs);
        Py_XDECREF(input);
    }
    if (!inputs || (!device && !(device = device_default()))) {
        Py_XDECREF(inputs);
        return NULL;
    }
    PyObject *place = device_object(device);
    PyObject *executable = place ? graph_compile(self, place) : NULL;
    PyObject *outputs = executable ? PyObject_CallMethod(executable, "run", "O", inputs) : NULL;
    Py_XDECREF(place);
    Py_XDECREF(executable);
    Py_DECREF(inputs);
    return outputs;
}

/* graph(x, y): the outputs, or the only one. Traced operands: the nodes go into the trace. */
static PyObject *graph_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    if (kwargs && PyDict_GET_SIZE(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "[graph] takes no keywords");
        return NULL;
    }
    bool traced = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        traced = traced || is_traced(PyTuple_GET_ITEM(args, i));
    PyObject *outputs;
    if (traced) {
        PyObject *module = PyImport_ImportModule("mica._mica");
        outputs = module ? PyObject_CallMethod(module, "inline", "OO", self, args) : NULL;
        Py_XDECREF(module);
    } else {
        outputs = graph_run(self, args);
    }
    if (!outputs) return NULL;
    PyObject *result =
        PyList_GET_SIZE(outputs) == 1 ? PySequence_GetItem(outputs, 0) : PyList_AsTuple(outputs);
    Py_DECREF(outputs);
    return result;
}

static int graph_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((GraphObject *)self)->held);
    Py_VISIT(((GraphObject *)self)->executables);
    return 0;
}

static int graph_clear(PyObject *self) {
    Py_CLEAR(((GraphObject *)self)->held);
    Py_CLEAR(((GraphObject *)self)->executables);
    return 0;
}

static void graph_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    graph_clear(self);
    mica_graph_release(((GraphObject *)self)->graph);
    PyObject_GC_Del(self);
}

static PyMethodDef graph_methods[] = {
    {"parse", graph_parse, METH_O | METH_STATIC, "parse(text)\n--\n\nA graph from its text."},
    {"print", graph_print, METH_NOARGS, "print()\n--\n\nThe text of the graph."},
    {"deserialize", graph_deserialize, METH_O | METH_STATIC,
     "deserialize(data)\n--\n\nA graph from its bytes."},
    {"serialize", graph_serialize, METH_NOARGS, "serialize()\n--\n\nThe graph as bytes."},
    {"bind", graph_bind, METH_O,
     "bind(values)\n--\n\nThe graph with inputs fixed: a Tensor for each of them, or None."},
    {"write_c", graph_write_c, METH_O,
     "write_c(name)\n--\n\nThe graph as a file of C that needs libc and libm alone: a function "
     "`name`\nwith the bits of a run on the cpu."},
    {"verify", graph_verify, METH_NOARGS, "verify()\n--\n\nChecks every invariant of the graph."},
    {"compile", graph_compile, METH_O,
     "compile(device)\n--\n\nAn Executable of this graph; the same one when asked again."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef graph_getters[] = {
    {"name", graph_get_name, NULL, "Its name.", NULL},
    {"inputs", graph_get_inputs, NULL, "The types of its parameters: (shape, dtype) each.", NULL},
    {"outputs", graph_get_outputs, NULL, "The types of its outputs: (shape, dtype) each.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject Graph_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica.Graph",
    .tp_basicsize = sizeof(GraphObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A graph of primitives. str(graph) prints it; graph(x, y) runs it.",
    .tp_dealloc = graph_dealloc,
    .tp_traverse = graph_traverse,
    .tp_clear = graph_clear,
    .tp_repr = graph_repr,
    .tp_str = graph_str,
    .tp_call = graph_call,
    .tp_methods = graph_methods,
    .tp_getset = graph_getters,
};

/* ---- Executable
 * -----------------------------------------------------------------------------------*/

static PyObject *executable_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"graph", "device", "compile_now", NULL};
    PyObject *graph, *device_name;
    int compile_now = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O|p:Executable", names, &Graph_Type, &graph,
                                     &device_name, &compile_now))
        return NULL;
    mica_compile_options options = {.size = sizeof options,
                                    .tier = compile_now ? MICA_TIER_COMPILED : MICA_TIER_DEFAULT};
    mica_device *device = device_from_object(device_name);
    if (!device) return NULL;
    mica_graph *g = ((GraphObject *)graph)->graph;
    mica_executable *executable = NULL;
    mica_status status;
    mica_mark_caller_line();
    Py_BEGIN_ALLOW_THREADS;
    status = mica_executable_create(device, g, &options, &executable);
    Py_END_ALLOW_THREADS;
    if (status) return raise_status(status);
    ExecutableObject *self = (ExecutableObject *)type->tp_alloc(type, 0);
    if (!self) {
        mica_executable_release(executable);
        return NULL;
    }
    self->executable = executable;
    mica_device_retain(device);
    self->device = device;
    self->held = ((GraphObject *)graph)->held;
    Py_XINCREF(self->held);
    self->wait = self->held && PyList_GET_SIZE(self->held) > 0;
    self->n_inputs = mica_graph_parameter_count(g);
    self->n_outputs = mica_graph_output_count(g);
    return (PyObject *)self;
}

static PyObject *run_tensors(ExecutableObject *self, mica_tensor **inputs, const uint8_t *donate,
                             mica_tensor **outputs) {
    mica_run_args run = {.size = sizeof run,
                         .inputs = inputs,
                         .n_inputs = self->n_inputs,
                         .donate = donate,
                         .outputs = outputs,
                         .n_outputs = self->n_outputs};
    mica_event *done = NULL;
    mica_status status;
    BEGIN_COMPUTING;
    status = mica_executable_run(self->executable, &run, self->wait ? &done : NULL);
    if (!status && done) {
        status = mica_event_wait(done);
        mica_event_release(done);
        for (int32_t i = 0; status && i < self->n_outputs; i++) mica_tensor_release(outputs[i]);
    }
    END_COMPUTING;
    if (status) return raise_status(status);
    PyObject *list = PyList_New(self->n_outputs);
    for (int32_t i = 0; i < self->n_outputs; i++) {
        PyObject *tensor = list ? tensor_take(outputs[i]) : NULL;
        if (!list) mica_tensor_release(outputs[i]);
        if (list && !tensor)
            Py_CLEAR(list);
        else if (list)
            PyList_SET_ITEM(list, i, tensor);
    }
    return list;
}

static PyObject *executable_run(PyObject *object, PyObject *args) {
    ExecutableObject *self = (ExecutableObject *)object;
    PyObject *sequence, *flags = Py_None;
    if (!PyArg_ParseTuple(args, "O|O:run", &sequence, &flags)) return NULL;
    PyObject *fast = PySequence_Fast(sequence, "[run] a sequence of tensors is needed");
    if (!fast) return NULL;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    PyObject *result = NULL;
    mica_tensor **tensors = PyMem_New(mica_tensor *, (size_t)n + (size_t)self->n_outputs + 1);
    if (!tensors) {
        PyErr_NoMemory();
        goto done;
    }
    if (n != self->n_inputs || (flags != Py_None && PyBytes_GET_SIZE(flags) != n)) {
        PyErr_Format(PyExc_ValueError, "[run] takes %d inputs, %zd were given", self->n_inputs, n);
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(fast, i);
        if (!is_tensor(item)) {
            PyErr_Format(PyExc_TypeError, "[run] input %zd is no tensor: %R", i, item);
            goto done;
        }
        tensors[i] = tensor_of(item);
    }
    const uint8_t *donate = flags == Py_None ? NULL : (const uint8_t *)PyBytes_AS_STRING(flags);
    result = run_tensors(self, tensors, donate, tensors + n);
done:
    PyMem_Free(tensors);
    Py_DECREF(fast);
    return result;
}

static PyObject *executable_print(PyObject *self, PyObject *Py_UNUSED(unused)) {
    char *text = NULL;
    mica_status status = mica_executable_print(((ExecutableObject *)self)->executable, &text);
    if (status) return raise_status(status);
    PyObject *object = PyUnicode_FromString(text);
    mica_string_free(text);
    return object;
}

static PyObject *executable_get_device(PyObject *self, void *Py_UNUSED(unused)) {
    return device_object(((ExecutableObject *)self)->device);
}

static PyObject *executable_get_bytes(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromSize_t(mica_executable_arena_bytes(((ExecutableObject *)self)->executable));
}

static int executable_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((ExecutableObject *)self)->held);
    return 0;
}

static int executable_clear(PyObject *self) {
    Py_CLEAR(((ExecutableObject *)self)->held);
    return 0;
}

static void executable_dealloc(PyObject *object) {
    ExecutableObject *self = (ExecutableObject *)object;
    PyObject_GC_UnTrack(object);
    mica_executable_release(self->executable);
    mica_device_release(self->device);
    executable_clear(object); /* host functions go after what calls them */
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef executable_methods[] = {
    {"run", executable_run, METH_VARARGS,
     "run(inputs, donate=None)\n\nRuns on tensors; donate: bytes, one flag per input."},
    {"print", executable_print, METH_NOARGS, "print()\n--\n\nThe commands, one per line."},
    {NULL, NULL, 0, NULL},
};

static PyObject *executable_get_generated(PyObject *object, void *closure) {
    (void)closure;
    return PyBool_FromLong(mica_executable_is_generated(((ExecutableObject *)object)->executable));
}

static PyGetSetDef executable_getters[] = {
    {"is_generated", executable_get_generated, NULL, "Whether runs take code made for it.", NULL},
    {"device", executable_get_device, NULL, "Where it runs.", NULL},
    {"arena_bytes", executable_get_bytes, NULL, "Memory that one run leases.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject Executable_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica.Executable",
    .tp_basicsize = sizeof(ExecutableObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Executable(graph, device, compile_now=False)\n--\n\nA graph compiled for a device.",
    .tp_new = executable_new,
    .tp_dealloc = executable_dealloc,
    .tp_traverse = executable_traverse,
    .tp_clear = executable_clear,
    .tp_methods = executable_methods,
    .tp_getset = executable_getters,
};
