/* DType: the element types, one object each: mica.f32 and its siblings. */
#include "extension.h"

#include <string.h>

static DTypeObject dtypes[MICA_DTYPE_COUNT];

PyObject *dtype_object(mica_dtype dtype) {
    PyObject *object = (PyObject *)&dtypes[dtype];
    Py_INCREF(object);
    return object;
}

/* numpy's names. */
static const struct {
    const char *name;
    mica_dtype dtype;
} other_names[] = {
    {"bool_", MICA_DTYPE_bool},
    {"int8", MICA_DTYPE_i8},
    {"int16", MICA_DTYPE_i16},
    {"int32", MICA_DTYPE_i32},
    {"int64", MICA_DTYPE_i64},
    {"uint8", MICA_DTYPE_u8},
    {"uint16", MICA_DTYPE_u16},
    {"uint32", MICA_DTYPE_u32},
    {"uint64", MICA_DTYPE_u64},
    {"float16", MICA_DTYPE_f16},
    {"bfloat16", MICA_DTYPE_bf16},
    {"float32", MICA_DTYPE_f32},
    {"float64", MICA_DTYPE_f64},
    {"complex64", MICA_DTYPE_c64},
    {"complex128", MICA_DTYPE_c128},
    {"float", MICA_DTYPE_f32},
    {"int", MICA_DTYPE_i32},
    {"float8_e4m3fn", MICA_DTYPE_f8e4m3fn},
    {"float8_e5m2", MICA_DTYPE_f8e5m2},
};

static bool dtype_from_name(const char *name, mica_dtype *out_dtype) {
    if (mica_dtype_parse(name, out_dtype)) return true;
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (!strcmp(name, other_names[i].name)) {
            *out_dtype = other_names[i].dtype;
            return true;
        }
    return false;
}

int dtype_from_object(PyObject *object, mica_dtype *out_dtype) {
    if (Py_TYPE(object) == &DType_Type) {
        *out_dtype = ((DTypeObject *)object)->dtype;
        return 0;
    }
    PyObject *name = NULL;
    if (PyUnicode_Check(object)) {
        name = object;
        Py_INCREF(name);
    } else if (object == (PyObject *)&PyFloat_Type || object == (PyObject *)&PyLong_Type ||
               object == (PyObject *)&PyBool_Type || PyType_Check(object)) {
        name = PyObject_GetAttrString(object, "__name__"); /* float, numpy.float32 */
    } else {
        name = PyObject_GetAttrString(object, "name"); /* numpy.dtype */
    }
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    bool found = text && dtype_from_name(text, out_dtype);
    Py_XDECREF(name);
    if (found) return 0;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%R is not a dtype", object);
    return -1;
}

static PyObject *dtype_repr(PyObject *self) {
    return PyUnicode_FromFormat("mica.%s", mica_dtype_name(((DTypeObject *)self)->dtype));
}

static PyObject *dtype_str(PyObject *self) {
    return PyUnicode_FromString(mica_dtype_name(((DTypeObject *)self)->dtype));
}

static Py_hash_t dtype_hash(PyObject *self) {
    return ((DTypeObject *)self)->dtype + 1000003;
}

static PyObject *dtype_compare(PyObject *self, PyObject *other, int operation) {
    if (operation != Py_EQ && operation != Py_NE) Py_RETURN_NOTIMPLEMENTED;
    mica_dtype dtype;
    if (Py_TYPE(self) != &DType_Type) Py_RETURN_NOTIMPLEMENTED;
    if (dtype_from_object(other, &dtype) < 0) {
        PyErr_Clear();
        Py_RETURN_NOTIMPLEMENTED;
    }
    return PyBool_FromLong((dtype == ((DTypeObject *)self)->dtype) == (operation == Py_EQ));
}

static PyObject *dtype_reduce(PyObject *self, PyObject *Py_UNUSED(unused)) {
    return Py_BuildValue("O(s)", &DType_Type, mica_dtype_name(((DTypeObject *)self)->dtype));
}

static PyObject *dtype_new(PyTypeObject *Py_UNUSED(type), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", NULL};
    PyObject *name;
    mica_dtype dtype;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:DType", names, &name)) return NULL;
    if (dtype_from_object(name, &dtype) < 0) return NULL;
    return dtype_object(dtype);
}

static PyObject *dtype_get_name(PyObject *self, void *Py_UNUSED(unused)) {
    return dtype_str(self);
}

static PyObject *dtype_get_itemsize(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromSize_t(mica_dtype_bytes(((DTypeObject *)self)->dtype));
}

static PyObject *dtype_get_kind(PyObject *self, void *Py_UNUSED(unused)) {
    static const char *const kinds[] = {"boolean", "signed",  "unsigned",
                                        "float",   "complex", "float8"};
    return PyUnicode_FromString(kinds[mica_dtype_kind_of(((DTypeObject *)self)->dtype)]);
}

static PyGetSetDef dtype_getters[] = {
    {"name", dtype_get_name, NULL, "Its name, such as \"f32\".", NULL},
    {"itemsize", dtype_get_itemsize, NULL, "Bytes of an element.", NULL},
    {"kind", dtype_get_kind, NULL, "boolean, signed, unsigned, float, complex or float8.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static void dtype_dealloc(PyObject *self) {
    Py_SET_REFCNT(self, 1); /* the objects are static */
}

PyTypeObject DType_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica.DType",
    .tp_basicsize = sizeof(DTypeObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "DType(name)\n--\n\nAn element type: mica.f32, mica.i32 ... Equal to its name.",
    .tp_new = dtype_new,
    .tp_dealloc = dtype_dealloc,
    .tp_repr = dtype_repr,
    .tp_str = dtype_str,
    .tp_hash = dtype_hash,
    .tp_richcompare = dtype_compare,
    .tp_getset = dtype_getters,
    .tp_methods = dtype_methods,
};

int dtypes_add_to(PyObject *module) {
    for (int i = 0; i < MICA_DTYPE_COUNT; i++) {
        dtypes[i].dtype = (mica_dtype)i;
        PyObject_Init((PyObject *)&dtypes[i], &DType_Type);
        if (PyModule_AddObjectRef(module, mica_dtype_name((mica_dtype)i), (PyObject *)&dtypes[i]))
            return -1;
    }
    return 0;
}
