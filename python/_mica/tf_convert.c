/* Between Python objects and values: dtypes, shapes, tensors from anything, errors. */
#include "tf_extension.h"

#include <string.h>

/* ---- what the Python side registers -----------------------------------------------------------*/

static PyObject *hooks;
static PyObject *dtype_objects[32];
static PyObject *as_dtype_hook, *shape_hook;

PyObject *tf_hook(const char *name) {
    PyObject *hook = hooks ? PyDict_GetItemString(hooks, name) : NULL;
    if (!hook) PyErr_Format(PyExc_RuntimeError, "mica.tf has not registered '%s'", name);
    return hook;
}

static PyObject *register_hooks(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *dtypes, *given, *key, *value;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(args, "O!O!:tf_register", &PyDict_Type, &dtypes, &PyDict_Type, &given))
        return NULL;
    while (PyDict_Next(dtypes, &at, &key, &value)) {
        long number = PyLong_AsLong(key);
        if (number < 0 || number >= 32) {
            PyErr_SetString(PyExc_ValueError, "a dtype's number is between 0 and 31");
            return NULL;
        }
        Py_INCREF(value);
        Py_XSETREF(dtype_objects[number], value);
    }
    if (!hooks && !(hooks = PyDict_New())) return NULL;
    if (PyDict_Update(hooks, given) < 0) return NULL;
    as_dtype_hook = PyDict_GetItemString(hooks, "as_dtype");
    shape_hook = PyDict_GetItemString(hooks, "TensorShape");
    Py_RETURN_NONE;
}

PyObject *tf_dtype_object(mica_tf_dtype dtype) {
    PyObject *object = (unsigned)dtype < 32 ? dtype_objects[dtype] : NULL;
    if (!object) return PyErr_Format(PyExc_RuntimeError, "dtype %d is not registered", (int)dtype);
    Py_INCREF(object);
    return object;
}

int tf_dtype_from_object(PyObject *object, mica_tf_dtype *out) {
    for (int i = 1; i < 32; i++)
        if (dtype_objects[i] == object) {
            *out = (mica_tf_dtype)i;
            return 0;
        }
    if (!as_dtype_hook) {
        PyErr_SetString(PyExc_RuntimeError, "mica.tf has not registered its dtypes");
        return -1;
    }
    PyObject *dtype = PyObject_CallFunctionObjArgs(as_dtype_hook, object, NULL);
    PyObject *number = dtype ? PyObject_GetAttrString(dtype, "as_datatype_enum") : NULL;
    long value = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(dtype);
    Py_XDECREF(number);
    if (value < 0 || PyErr_Occurred()) return -1;
    *out = (mica_tf_dtype)(value % 100); /* a reference's number is 100 more */
    if (mica_tf_dtype_name(*out)) return 0;
    PyErr_Format(PyExc_TypeError, "%R is not a dtype that Mica computes with", object);
    return -1;
}

PyObject *tf_shape_object(const mica_tf_shape *shape) {
    PyObject *dims;
    if (shape->rank < 0) {
        Py_INCREF(Py_None);
        dims = Py_None;
    } else {
        dims = PyTuple_New(shape->rank);
        for (int32_t i = 0; dims && i < shape->rank; i++) {
            PyObject *size;
            if (shape->dims[i] < 0) {
                Py_INCREF(Py_None);
                size = Py_None;
            } else {
                size = PyLong_FromLongLong(shape->dims[i]);
            }
            if (size)
                PyTuple_SET_ITEM(dims, i, size);
            else
                Py_CLEAR(dims);
        }
    }
    PyObject *object =
        dims && shape_hook ? PyObject_CallFunctionObjArgs(shape_hook, dims, NULL) : NULL;
    Py_XDECREF(dims);
    return object;
}

static int size_from_object(PyObject *item, int64_t *out) {
    if (item == Py_None) {
        *out = -1;
        return 0;
    }
    PyObject *number = PyNumber_Index(item);
    if (!number) { /* a Dimension */
        PyErr_Clear();
        PyObject *value = PyObject_GetAttrString(item, "value");
        int result = value && value != item ? size_from_object(value, out) : -1;
        Py_XDECREF(value);
        return result;
    }
    *out = PyLong_AsLongLong(number);
    Py_DECREF(number);
    if (*out == -1 && PyErr_Occurred()) return -1;
    if (*out < -1) {
        PyErr_Format(PyExc_ValueError, "Dimension %lld must be >= 0", (long long)*out);
        return -1;
    }
    return 0;
}

int tf_shape_from_object(PyObject *object, mica_tf_shape *out) {
    memset(out, 0, sizeof *out);
    if (object == Py_None) {
        out->rank = -1;
        return 0;
    }
    if (PyObject_HasAttrString(object, "as_list")) {
        PyObject *rank = PyObject_GetAttrString(object, "rank");
        bool unknown = rank == Py_None;
        Py_XDECREF(rank);
        if (!rank) return -1;
        if (unknown) {
            out->rank = -1;
            return 0;
        }
        PyObject *list = PyObject_CallMethod(object, "as_list", NULL);
        int result = list ? tf_shape_from_object(list, out) : -1;
        Py_XDECREF(list);
        return result;
    }
    if (PyIndex_Check(object) && !PySequence_Check(object)) {
        out->rank = 1;
        return size_from_object(object, &out->dims[0]);
    }
    PyObject *sequence = PySequence_Fast(object, "a shape is None or a sequence of sizes");
    if (!sequence) return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence);
    int result = 0;
    if (n > MICA_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "a rank of %zd is too high: at most %d", n, MICA_MAX_RANK);
        result = -1;
    }
    out->rank = (int32_t)n;
    for (Py_ssize_t i = 0; i < n && result == 0; i++)
        result = size_from_object(PySequence_Fast_GET_ITEM(sequence, i), &out->dims[i]);
    Py_DECREF(sequence);
    return result;
}

/* ---- errors -----------------------------------------------------------------------------------*/

PyObject *tf_raise(mica_status status) {
    static const char *const classes[] = {
        [MICA_INVALID_ARGUMENT] = "InvalidArgumentError",
        [MICA_OUT_OF_MEMORY] = "ResourceExhaustedError",
        [MICA_NOT_FOUND] = "NotFoundError",
        [MICA_UNSUPPORTED] = "UnimplementedError",
        [MICA_FAILED_PRECONDITION] = "FailedPreconditionError",
        [MICA_DEVICE_ERROR] = "InternalError",
        [MICA_CALLBACK_ERROR] = "UnknownError",
        [MICA_DATA_LOSS] = "DataLossError",
        [MICA_INTERNAL] = "InternalError",
        [MICA_OUT_OF_RANGE] = "OutOfRangeError",
        [MICA_RESOURCE_EXHAUSTED] = "ResourceExhaustedError",
        [MICA_UNAVAILABLE] = "UnavailableError",
        [MICA_CANCELLED] = "CancelledError",
    };
    mica_code code = mica_status_code(status);
    if (raise_interrupt(status)) return NULL;
    if (code == MICA_CALLBACK_ERROR) return raise_status(status);
    PyObject *hook = tf_hook("raise_error");
    PyObject *unused =
        hook ? PyObject_CallFunction(hook, "ss", classes[code], mica_status_message(status)) : NULL;
    Py_XDECREF(unused);
    mica_status_release(status);
    return NULL;
}

/* ---- tensors from anything --------------------------------------------------------------------*/

static PyObject *constant(mica_tf_value value) {
    TFGraph *graph = tf_current_graph();
    if (!graph) return tf_eager_tensor(value);
    const mica_tf_op_info *info = mica_tf_op_describe(MICA_TF_Const);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{0}};
    for (int32_t i = 0; i < info->n_attrs; i++) {
        if (!strcmp(info->attrs[i].name, "value")) attrs[i].as.value = value;
        if (!strcmp(info->attrs[i].name, "dtype")) attrs[i].as.integer = value.dtype;
    }
    PyObject *output = NULL;
    int32_t n = tf_execute(MICA_TF_Const, attrs, NULL, 0, "Const", &output, 1);
    mica_tf_value_release(value);
    return n == 1 ? output : NULL;
}

static PyObject *core_constant(mica_dtype dtype, const void *element) {
    mica_type type = mica_type_scalar(dtype);
    mica_tensor *tensor = NULL;
    mica_device *device = tf_device();
    if (!device) return NULL;
    mica_status status = mica_tensor_from_host(device, &type, element, &tensor);
    if (status) return tf_raise(status);
    return constant(mica_tf_value_of(tensor));
}

static PyObject *wrong_kind(PyObject *value, mica_tf_dtype dtype) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "Cannot convert %R to EagerTensor of dtype %s", value,
                 mica_tf_dtype_name(dtype));
    return NULL;
}

/* What Python's True and False may be given for. */
static bool holds_bools(mica_dtype dtype) {
    return dtype == MICA_DTYPE_bool || dtype == MICA_DTYPE_i32 || dtype == MICA_DTYPE_i64 ||
           dtype == MICA_DTYPE_f16 || dtype == MICA_DTYPE_f32 || dtype == MICA_DTYPE_f64;
}

bool tf_converts_loosely(mica_tf_op op) {
    return op == MICA_TF_AddV2 || op == MICA_TF_MatMul || op == MICA_TF_BatchMatMulV2;
}

bool tf_is_plain(PyObject *value) {
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++)
            if (!tf_is_plain(PySequence_Fast_GET_ITEM(value, i))) return false;
        return true;
    }
    return PyBool_Check(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyComplex_CheckExact(value) || PyUnicode_Check(value) || PyBytes_Check(value);
}

/* bool, int, float, complex; NULL without an error: not a scalar of these. */
static PyObject *convert_scalar(PyObject *value, mica_tf_dtype dtype, bool hint) {
    bool is_bool = PyBool_Check(value), is_int = PyLong_CheckExact(value);
    bool is_float = PyFloat_CheckExact(value), is_complex = PyComplex_CheckExact(value);
    if (!is_bool && !is_int && !is_float && !is_complex) return NULL;
    mica_tf_dtype natural = is_bool    ? MICA_TF_bool
                            : is_int   ? MICA_TF_int32
                            : is_float ? MICA_TF_float32
                                       : MICA_TF_complex128;
    mica_dtype core = mica_tf_dtype_core(dtype ? dtype : natural);
    if (core == MICA_DTYPE_COUNT) {
        if (!hint) return wrong_kind(value, dtype);
        core = mica_tf_dtype_core(natural);
    }
    mica_dtype_kind kind = mica_dtype_kind_of(core);
    bool fits = is_bool    ? holds_bools(core)
                : is_int   ? kind != MICA_KIND_BOOLEAN
                : is_float ? kind >= MICA_KIND_FLOAT
                           : kind == MICA_KIND_COMPLEX;
    if (!fits && !hint) return wrong_kind(value, dtype);
    if (!fits) core = mica_tf_dtype_core(natural);
    char element[16] = {0};
    if (scalar_to_element(value, core, element) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return NULL;
        PyErr_Clear();
        if (!dtype && is_int && scalar_to_element(value, MICA_DTYPE_i64, element) == 0)
            return core_constant(MICA_DTYPE_i64, element);
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "Python int too large to convert to %s: %R",
                     mica_dtype_name(core), value);
        return NULL;
    }
    return core_constant(core, element);
}

/* A flat list or tuple of Python ints, or of Python floats; NULL without an error: not that. */
static PyObject *convert_flat(PyObject *value, mica_tf_dtype dtype, bool hint) {
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return NULL;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
    PyObject **items = PySequence_Fast_ITEMS(value);
    if (n == 0 || n > 64) return NULL;
    PyTypeObject *kind = Py_TYPE(items[0]);
    if (kind != &PyLong_Type && kind != &PyFloat_Type) return NULL;
    for (Py_ssize_t i = 1; i < n; i++)
        if (Py_TYPE(items[i]) != kind) return NULL;
    mica_tf_dtype natural = kind == &PyLong_Type ? MICA_TF_int32 : MICA_TF_float32;
    mica_dtype core = mica_tf_dtype_core(dtype ? dtype : natural);
    mica_dtype_kind wanted = mica_dtype_kind_of(core);
    bool is_float =
        core != MICA_DTYPE_COUNT && (wanted == MICA_KIND_FLOAT || wanted == MICA_KIND_FLOAT8);
    bool is_int = core != MICA_DTYPE_COUNT && (mica_dtype_kind_of(core) == MICA_KIND_SIGNED ||
                                               mica_dtype_kind_of(core) == MICA_KIND_UNSIGNED);
    if (!(kind == &PyLong_Type ? is_int || is_float : is_float)) {
        if (!hint) return NULL;
        core = mica_tf_dtype_core(natural);
    }
    char bytes[64 * 8];
    size_t size = mica_dtype_bytes(core);
    for (Py_ssize_t i = 0; i < n; i++)
        if (scalar_to_element(items[i], core, bytes + (size_t)i * size) < 0) {
            PyErr_Clear(); /* too large: Python's side knows what to do */
            return NULL;
        }
    mica_type type = mica_type_make(core, MICA_INTS(n));
    mica_tensor *tensor = NULL;
    mica_device *device = tf_device();
    if (!device) return NULL;
    mica_status status = mica_tensor_from_host(device, &type, bytes, &tensor);
    return status ? tf_raise(status) : constant(mica_tf_value_of(tensor));
}

static PyObject *convert_text(PyObject *value, mica_tf_dtype dtype, bool hint) {
    Py_ssize_t n = 0;
    const char *bytes =
        PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &n) : PyBytes_AS_STRING(value);
    if (!bytes) return NULL;
    if (PyBytes_Check(value)) n = PyBytes_GET_SIZE(value);
    if (dtype && dtype != MICA_TF_string && !hint) return wrong_kind(value, dtype);
    size_t length = (size_t)n;
    mica_tf_value strings;
    mica_status status = mica_tf_strings_create(MICA_NO_INTS, &bytes, &length, &strings);
    return status ? tf_raise(status) : constant(strings);
}

static PyObject *checked(PyObject *tensor, PyObject *value, mica_tf_dtype dtype, bool hint) {
    if (!dtype || hint || tf_tensor_dtype((TFTensor *)tensor) == dtype) return tensor;
    PyErr_Format(
        PyExc_ValueError, "Tensor conversion requested dtype %s for Tensor with dtype %s: %R",
        mica_tf_dtype_name(dtype), mica_tf_dtype_name(tf_tensor_dtype((TFTensor *)tensor)), value);
    Py_DECREF(tensor);
    return NULL;
}

/* Objects that say themselves what tensor they are: variables, Keras' own, slices to be made dense.
 */
static PyObject *convert_by_method(PyObject *value, mica_tf_dtype dtype, bool hint) {
    PyObject *wanted;
    if (dtype && !hint) {
        wanted = tf_dtype_object(dtype);
    } else {
        Py_INCREF(Py_None);
        wanted = Py_None;
    }
    PyObject *result =
        wanted ? PyObject_CallMethod(value, "__tf_tensor__", "OO", wanted, Py_None) : NULL;
    Py_XDECREF(wanted);
    if (result && !tf_is_tensor(result)) {
        PyErr_Format(PyExc_TypeError, "__tf_tensor__ of %R did not give a tensor", value);
        Py_CLEAR(result);
    }
    return result ? checked(result, value, dtype, hint) : NULL;
}

PyObject *tf_convert(PyObject *value, mica_tf_dtype dtype, bool hint) {
    if (tf_is_tensor(value)) {
        Py_INCREF(value);
        return checked(value, value, dtype, hint);
    }
    PyObject *result = convert_scalar(value, dtype, hint);
    if (result || PyErr_Occurred()) return result;
    result = convert_flat(value, dtype, hint);
    if (result || PyErr_Occurred()) return result;
    if (PyUnicode_Check(value) || PyBytes_Check(value)) return convert_text(value, dtype, hint);
    if (PyObject_HasAttrString((PyObject *)Py_TYPE(value), "__tf_tensor__"))
        return convert_by_method(value, dtype, hint);
    /* Everything else is rare enough for Python: arrays, sequences, sequences of tensors. */
    PyObject *hook = tf_hook("convert");
    PyObject *wanted;
    if (!hook) return NULL;
    if (dtype) {
        wanted = tf_dtype_object(dtype);
    } else {
        Py_INCREF(Py_None);
        wanted = Py_None;
    }
    result =
        wanted ? PyObject_CallFunctionObjArgs(hook, value, wanted, hint ? Py_True : Py_False, NULL)
               : NULL;
    Py_XDECREF(wanted);
    if (result && !tf_is_tensor(result)) {
        PyErr_Format(PyExc_TypeError, "%R is not a tensor", result);
        Py_CLEAR(result);
    }
    return result;
}

/* tf_convert(value, dtype=None, hint=False) */
static PyObject *convert_function(PyObject *Py_UNUSED(module), PyObject *const *args,
                                  Py_ssize_t n) {
    mica_tf_dtype dtype = MICA_TF_no_dtype;
    if (n < 1 || n > 3) return PyErr_Format(PyExc_TypeError, "tf_convert takes 1 to 3 arguments");
    if (n > 1 && args[1] != Py_None && tf_dtype_from_object(args[1], &dtype) < 0) return NULL;
    return tf_convert(args[0], dtype, n > 2 && args[2] == Py_True);
}

/* A tensor that shares the data of a mica.Tensor. */
static PyObject *from_core(PyObject *Py_UNUSED(module), PyObject *core) {
    if (!is_tensor(core)) return PyErr_Format(PyExc_TypeError, "a mica.Tensor is needed");
    mica_tensor_retain(tensor_of(core));
    return constant(mica_tf_value_of(tensor_of(core)));
}

/* tf_strings(shape, list of bytes) */
static PyObject *from_strings(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *shape_object, *list;
    mica_tf_shape shape;
    if (!PyArg_ParseTuple(args, "OO!:tf_strings", &shape_object, &PyList_Type, &list)) return NULL;
    if (tf_shape_from_object(shape_object, &shape) < 0) return NULL;
    Py_ssize_t n = PyList_GET_SIZE(list);
    const char **data = PyMem_New(const char *, n + 1);
    size_t *lengths = PyMem_New(size_t, n + 1);
    PyObject *result = NULL;
    bool good = data && lengths;
    for (Py_ssize_t i = 0; good && i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        good = PyBytes_Check(item);
        if (!good) {
            PyErr_Format(PyExc_TypeError, "bytes are needed, not %R", item);
            break;
        }
        data[i] = PyBytes_AS_STRING(item);
        lengths[i] = (size_t)PyBytes_GET_SIZE(item);
    }
    int64_t elements = 1;
    for (int32_t i = 0; i < shape.rank; i++) elements *= shape.dims[i];
    if (good && elements != n) {
        PyErr_Format(PyExc_ValueError, "%zd strings do not fill the shape %R", n, shape_object);
        good = false;
    }
    if (good) {
        mica_tf_value value;
        mica_status status =
            mica_tf_strings_create((mica_ints){shape.dims, shape.rank}, data, lengths, &value);
        result = status ? tf_raise(status) : constant(value);
    }
    PyMem_Free(data);
    PyMem_Free(lengths);
    return result;
}

PyMethodDef tf_convert_functions[] = {
    {"tf_register", register_hooks, METH_VARARGS, NULL},
    {"tf_convert", (PyCFunction)(void (*)(void))convert_function, METH_FASTCALL, NULL},
    {"tf_from_core", from_core, METH_O, NULL},
    {"tf_strings", from_strings, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
