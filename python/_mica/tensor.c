/* Tensor: data on a device. Immutable, so that operations never copy more than they must.
 *
 * Dead Tensor objects wait in a free list: small eager operations make one object each. */
#include "extension.h"

#include <string.h>

#define FREE_LIST_SIZE 128
static TensorObject *free_list[FREE_LIST_SIZE];
static int n_free;

PyObject *tensor_take(mica_tensor *tensor) {
    TensorObject *self;
    if (n_free > 0) {
        self = free_list[--n_free];
        (void)PyObject_Init((PyObject *)self, &Tensor_Type);
    } else {
        self = PyObject_New(TensorObject, &Tensor_Type);
        if (!self) {
            mica_tensor_release(tensor);
            return NULL;
        }
    }
    self->tensor = tensor;
    return (PyObject *)self;
}

static void tensor_dealloc(PyObject *self) {
    mica_tensor_release(((TensorObject *)self)->tensor);
    if (n_free < FREE_LIST_SIZE)
        free_list[n_free++] = (TensorObject *)self;
    else
        PyObject_Free(self);
}

int tensor_free_list_clear(void) {
    int n = n_free;
    while (n_free > 0) PyObject_Free(free_list[--n_free]);
    return n;
}

const mica_type *array_type(PyObject *array) {
    return is_tensor(array) ? mica_tensor_type(tensor_of(array))
                            : mica_value_type(((TracedObject *)array)->value);
}

static mica_status open_view(mica_tensor *tensor, void **out_data) {
    mica_status status;
    BEGIN_COMPUTING;
    status = mica_tensor_open_view(tensor, MICA_READ, out_data);
    END_COMPUTING;
    return status;
}

static void close_view(mica_tensor *tensor) {
    mica_status_release(mica_tensor_close_view(tensor)); /* a view for reading has nothing to say */
}

static PyObject *tensor_get_device(PyObject *self, void *Py_UNUSED(unused)) {
    return device_object(mica_tensor_device(tensor_of(self)));
}

static PyObject *tensor_tolist(PyObject *self, PyObject *Py_UNUSED(unused)) {
    void *data;
    mica_status status = open_view(tensor_of(self), &data);
    if (status) return raise_status(status);
    PyObject *list = array_to_list(mica_tensor_type(tensor_of(self)), data);
    close_view(tensor_of(self));
    return list;
}

static PyObject *tensor_item(PyObject *self, PyObject *Py_UNUSED(unused)) {
    const mica_type *type = mica_tensor_type(tensor_of(self));
    if (mica_type_elements(type) != 1) {
        char text[256];
        mica_type_format(type, text, sizeof text);
        PyErr_Format(PyExc_ValueError, "[item] only a tensor of one element is a scalar, not %s",
                     text);
        return NULL;
    }
    void *data;
    mica_status status = open_view(tensor_of(self), &data);
    if (status) return raise_status(status);
    PyObject *item = element_to_object(data, type->dtype);
    close_view(tensor_of(self));
    return item;
}

/* Python's conversions go through the element: int(x), float(x), bool(x), x as an index. */
static PyObject *tensor_as(PyObject *self, PyObject *(*convert)(PyObject *)) {
    PyObject *item = tensor_item(self, NULL);
    if (!item) return NULL;
    PyObject *result = convert(item);
    Py_DECREF(item);
    return result;
}

static PyObject *tensor_int(PyObject *self) {
    return tensor_as(self, PyNumber_Long);
}
static PyObject *tensor_float(PyObject *self) {
    return tensor_as(self, PyNumber_Float);
}

static PyObject *tensor_index(PyObject *self) {
    const mica_type *type = mica_tensor_type(tensor_of(self));
    mica_dtype_kind kind = mica_dtype_kind_of(type->dtype);
    if (type->rank != 0 || (kind != MICA_KIND_SIGNED && kind != MICA_KIND_UNSIGNED)) {
        char text[256];
        mica_type_format(type, text, sizeof text);
        PyErr_Format(PyExc_TypeError, "[index] only an integer scalar is an index, not %s", text);
        return NULL;
    }
    return tensor_as(self, PyNumber_Index);
}

static int tensor_bool(PyObject *self) {
    const mica_type *type = mica_tensor_type(tensor_of(self));
    if (mica_type_elements(type) != 1) {
        PyErr_SetString(PyExc_ValueError,
                        "[bool] the truth of several elements is ambiguous: use any() or all()");
        return -1;
    }
    PyObject *item = tensor_item(self, NULL);
    if (!item) return -1;
    int truth = PyObject_IsTrue(item);
    Py_DECREF(item);
    return truth;
}

static PyObject *tensor_to(PyObject *self, PyObject *device_name) {
    mica_device *device = device_from_object(device_name);
    if (!device) return NULL;
    mica_tensor *copy = NULL;
    mica_status status;
    BEGIN_COMPUTING;
    status = mica_tensor_copy_to(tensor_of(self), device, &copy);
    END_COMPUTING;
    if (status) return raise_status(status);
    return tensor_take(copy);
}

static PyObject *tensor_wait(PyObject *self, PyObject *Py_UNUSED(unused)) {
    void *data;
    mica_status status = open_view(tensor_of(self), &data);
    if (status) return raise_status(status);
    close_view(tensor_of(self));
    Py_INCREF(self);
    return self;
}

static PyObject *tensor_bytes(PyObject *self, PyObject *Py_UNUSED(unused)) {
    Py_ssize_t n = (Py_ssize_t)mica_type_bytes(mica_tensor_type(tensor_of(self)));
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, n);
    if (!bytes) return NULL;
    mica_status status;
    BEGIN_COMPUTING;
    status = mica_tensor_to_host(tensor_of(self), PyBytes_AS_STRING(bytes), (size_t)n);
    END_COMPUTING;
    if (!status) return bytes;
    Py_DECREF(bytes);
    return raise_status(status);
}

static PyObject *tensor_reduce(PyObject *self, PyObject *Py_UNUSED(unused)) {
    PyObject *module = PyImport_ImportModule("mica._mica");
    PyObject *restore = module ? PyObject_GetAttrString(module, "restore") : NULL;
    PyObject *bytes = restore ? tensor_bytes(self, NULL) : NULL;
    PyObject *shape = bytes ? array_get_shape(self, NULL) : NULL;
    PyObject *result = NULL;
    if (shape)
        result = Py_BuildValue("O(OsO)", restore, bytes, mica_dtype_name(array_type(self)->dtype),
                               shape);
    Py_XDECREF(module);
    Py_XDECREF(restore);
    Py_XDECREF(bytes);
    Py_XDECREF(shape);
    return result;
}

static PyObject *tensor_same(PyObject *self, PyObject *Py_UNUSED(argument)) {
    Py_INCREF(self);
    return self;
}

static PyObject *tensor_format(PyObject *self, PyObject *specification) {
    if (!PyUnicode_Check(specification)) {
        PyErr_Format(PyExc_TypeError, "a format is a string, not %R", specification);
        return NULL;
    }
    if (PyUnicode_GetLength(specification) == 0) return PyObject_Str(self);
    PyObject *item = tensor_item(self, NULL);
    if (!item) return NULL;
    PyObject *text = PyObject_Format(item, specification);
    Py_DECREF(item);
    return text;
}

static PyObject *tensor_html(PyObject *self, PyObject *unused) {
    (void)unused;
    return call_notebook("tensor_html", self);
}

static PyMethodDef tensor_methods[] = {
    ARRAY_METHOD_ROWS,
    {"item", tensor_item, METH_NOARGS, "item()\n\nThe only element, as a Python scalar."},
    {"tolist", tensor_tolist, METH_NOARGS, "tolist()\n\nThe elements as nested lists."},
    {"numpy", tensor_numpy, METH_NOARGS,
     "numpy()\n\nA copy as a numpy array (bf16 and 8-bit floats as float32)."},
    {"tobytes", tensor_bytes, METH_NOARGS, "tobytes()\n\nThe elements' bytes, row-major."},
    {"to", tensor_to, METH_O, "to(device)\n\nThe same data on a device."},
    {"wait", tensor_wait, METH_NOARGS, "wait()\n\nWaits until the data is there; returns itself."},
    {"__array__", (PyCFunction)(void (*)(void))tensor_array, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, NULL},
    {"__reduce__", tensor_reduce, METH_NOARGS, NULL},
    {"__copy__", tensor_same, METH_NOARGS, NULL},
    {"__deepcopy__", tensor_same, METH_O, NULL},
    {"__format__", tensor_format, METH_O, NULL},
    {"_repr_html_", tensor_html, METH_NOARGS, "For notebooks."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef tensor_getters[] = {
    ARRAY_GETTER_ROWS,
    {"device", tensor_get_device, NULL, "Where the data is.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMappingMethods tensor_mapping = {array_length, array_subscript, NULL};
static PySequenceMethods tensor_sequence = {.sq_length = array_length, .sq_item = array_item_at};

PyTypeObject Tensor_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica.Tensor",
    .tp_basicsize = sizeof(TensorObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "An array on a device; made by mica.tensor and by operations. Immutable.",
    .tp_dealloc = tensor_dealloc,
    .tp_repr = tensor_repr,
    .tp_str = tensor_repr,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_richcompare = array_compare,
    .tp_iter = array_iter,
    .tp_as_number = &array_number,
    .tp_as_mapping = &tensor_mapping,
    .tp_as_sequence = &tensor_sequence,
    .tp_as_buffer = &tensor_buffer,
    .tp_methods = tensor_methods,
    .tp_getset = tensor_getters,
};

/* Slots that only a Tensor has; the rest of array_number is shared (number.c). */
__attribute__((constructor)) static void fill_number_slots(void) {
    array_number.nb_int = tensor_int;
    array_number.nb_float = tensor_float;
    array_number.nb_index = tensor_index;
    array_number.nb_bool = tensor_bool;
}
