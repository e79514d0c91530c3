/* mica._mica: the module. */
#include "entry.h"
#include "extension.h"
#include "tf_extension.h"

/* restore(bytes, dtype, shape): what unpickling calls. */
static PyObject *restore(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *dtype_name, *shape;
    Py_buffer data;
    if (!PyArg_ParseTuple(args, "y*OO:restore", &data, &dtype_name, &shape)) return NULL;
    mica_dtype dtype;
    int64_t dims[MICA_MAX_RANK];
    mica_tensor *tensor = NULL;
    PyObject *result = NULL;
    int32_t rank = ints_from_object(shape, "shape", dims);
    mica_device *device = device_default();
    if (rank >= 0 && device && dtype_from_object(dtype_name, &dtype) == 0) {
        mica_type type = mica_type_make(dtype, (mica_ints){dims, rank});
        if (mica_type_bytes(&type) != (size_t)data.len) {
            PyErr_Format(PyExc_ValueError, "[restore] %zd bytes do not make the shape", data.len);
        } else {
            mica_status status = mica_tensor_from_host(device, &type, data.buf, &tensor);
            result = status ? raise_status(status) : tensor_take(tensor);
        }
    }
    PyBuffer_Release(&data);
    return result;
}

static PyObject *set_threads(PyObject *Py_UNUSED(module), PyObject *number) {
    long n = PyLong_AsLong(number);
    if (n == -1 && PyErr_Occurred()) return NULL;
    mica_status status = mica_set_threads((int32_t)n);
    if (status) return raise_status(status);
    Py_RETURN_NONE;
}

/* ---- a trace of what runs ---------------------------------------------------------------------*/

static PyObject *trace_start(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    mica_status status = mica_trace_start();
    if (status) return raise_status(status);
    Py_RETURN_NONE;
}

static PyObject *trace_stop(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    char *text;
    mica_status status;
    Py_BEGIN_ALLOW_THREADS status = mica_trace_stop(&text);
    Py_END_ALLOW_THREADS if (status) return raise_status(status);
    PyObject *bytes = PyBytes_FromString(text);
    mica_string_free(text);
    return bytes;
}

static PyObject *trace_note(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *name;
    double start, seconds;
    if (!PyArg_ParseTuple(args, "sdd:trace_note", &name, &start, &seconds)) return NULL;
    mica_trace_note(name, start, seconds);
    Py_RETURN_NONE;
}

static PyObject *trace_clock(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyFloat_FromDouble(mica_trace_clock());
}

static PyObject *get_threads(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyLong_FromLong(mica_threads());
}

static PyObject *packages_add(PyObject *Py_UNUSED(module), PyObject *folder) {
    const char *path = PyUnicode_AsUTF8(folder);
    if (!path) return NULL;
    mica_status status = mica_packages_add(path);
    if (status) return raise_status(status);
    Py_RETURN_NONE;
}

static PyObject *lapack(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    char text[1100];
    if (mica_lapack_describe(text, sizeof text)) return PyUnicode_DecodeFSDefault(text);
    Py_RETURN_NONE;
}

static PyObject *matmul(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "OO:matmul", &a, &b)) return NULL;
    PyObject *first = as_operand(a, NULL), *second = first ? as_operand(b, NULL) : NULL;
    PyObject *product = second ? array_matmul(first, second) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    return product;
}

/* full(shape, value, dtype): a broadcast scalar, in the trace when there is one. */
static PyObject *full(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *shape, *value, *dtype_name;
    mica_dtype dtype;
    int64_t dims[MICA_MAX_RANK];
    if (!PyArg_ParseTuple(args, "OOO:full", &shape, &value, &dtype_name)) return NULL;
    int32_t rank = ints_from_object(shape, "[full] shape", dims);
    if (rank < 0 || dtype_from_object(dtype_name, &dtype) < 0) return NULL;
    PyObject *scalar;
    if (trace_current() && is_weak_scalar(value)) {
        char element[16] = {0};
        mica_type type = mica_type_scalar(dtype);
        if (scalar_to_element(value, dtype, element) < 0) return NULL;
        scalar = trace_constant(trace_current(), &type, element, false);
    } else {
        scalar = tensor_from_object(value, (int)dtype, NULL);
    }
    PyObject *result = scalar ? array_broadcast(scalar, dims, rank) : NULL;
    Py_XDECREF(scalar);
    return result;
}

static PyObject *clear_caches(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    scalar_cache_clear();
    tensor_free_list_clear();
    Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
    {"tensor", (PyCFunction)(void (*)(void))tensor_function, METH_VARARGS | METH_KEYWORDS,
     "tensor(data, dtype=None, device=None)\n--\n\n"
     "A tensor from scalars, nested lists, buffers and arrays.\n\n"
     "bool, int and float give bool, i32 and f32; a buffer keeps its element type."},
    {"scalar", (PyCFunction)(void (*)(void))scalar_function, METH_FASTCALL, NULL},
    {"from_dlpack", (PyCFunction)(void (*)(void))from_dlpack, METH_VARARGS | METH_KEYWORDS,
     "from_dlpack(x, device=None)\n--\n\nA tensor that shares the memory of x where it can."},
    {"devices", device_list, METH_NOARGS, NULL},
    {"device", device_open, METH_O,
     "device(name)\n--\n\nThe device of this name; None gives the default one."},
    {"set_default_device", device_set_default, METH_O,
     "set_default_device(name)\n--\n\nWhere new tensors go; None: the best device found."},
    {"ops", ops_table, METH_NOARGS, "ops()\n--\n\nThe table of primitives, a dict per row."},
    {"set_threads", set_threads, METH_O,
     "set_threads(n)\n--\n\nThreads the CPU devices compute with; 0 means the machine's."},
    {"threads", get_threads, METH_NOARGS, "threads()\n--\n\nThreads the CPU devices compute with."},
    {"packages_add", packages_add, METH_O, NULL},
    {"trace_start", trace_start, METH_NOARGS, NULL},
    {"trace_stop", trace_stop, METH_NOARGS, NULL},
    {"trace_note", trace_note, METH_VARARGS, NULL},
    {"trace_clock", trace_clock, METH_NOARGS, NULL},
    {"lapack", lapack, METH_NOARGS, NULL},
    {"matmul", matmul, METH_VARARGS, "matmul(a, b, /)\n--\n\nThe product of matrices, as a @ b."},
    {"full", full, METH_VARARGS, NULL},
    {"is_tracing", trace_is_active, METH_NOARGS,
     "is_tracing()\n--\n\nWhether a function is being traced on this thread."},
    {"current", trace_current_object, METH_NOARGS, NULL},
    {"strengthen", strengthen_function, METH_O, NULL},
    {"restore", restore, METH_VARARGS, NULL},
    {"clear_caches", clear_caches, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "mica._mica",
    "Mica's C API as Python objects.",
    -1,
    module_methods,
    NULL,
    NULL,
    NULL,
    NULL,
};

static int add_types(PyObject *module) {
    static const struct {
        const char *name;
        PyTypeObject *type;
    } types[] = {
        {"DType", &DType_Type},           {"Device", &Device_Type},
        {"Tensor", &Tensor_Type},         {"Trace", &Trace_Type},
        {"Traced", &Traced_Type},         {"Graph", &Graph_Type},
        {"Executable", &Executable_Type}, {"HostFunction", &HostFunction_Type},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (PyType_Ready(types[i].type) < 0) return -1;
        if (PyModule_AddObjectRef(module, types[i].name, (PyObject *)types[i].type) < 0) return -1;
    }
    /* numpy leaves the operators of `array + tensor` to the tensor. */
    PyDict_SetItemString(Tensor_Type.tp_dict, "__array_ufunc__", Py_None);
    PyDict_SetItemString(Traced_Type.tp_dict, "__array_ufunc__", Py_None);
    PyType_Modified(&Tensor_Type);
    PyType_Modified(&Traced_Type);
    return 0;
}

PyMODINIT_FUNC PyInit__mica(void);
PyMODINIT_FUNC PyInit__mica(void) {
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (watch_interrupts() < 0 || watch_lines() < 0 || python_close_at_exit() < 0 ||
        add_types(module) < 0 || dtypes_add_to(module) < 0 || ops_add_to(module) < 0 ||
        PyModule_AddFunctions(module, transform_methods) < 0 ||
        PyModule_AddFunctions(module, control_methods) < 0 ||
        PyModule_AddFunctions(module, layers_methods) < 0 ||
        PyModule_AddFunctions(module, arrays_methods) < 0 ||
        PyModule_AddFunctions(module, callback_methods) < 0 ||
        PyModule_AddFunctions(module, tree_methods) < 0 || tf_add_to(module) < 0 ||
        data_add_to(module) < 0 ||
        PyModule_AddStringConstant(module, "__version__", mica_version()) < 0)
        Py_CLEAR(module);
    return module;
}
