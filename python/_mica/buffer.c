/* The buffer protocol and numpy's __array__: a host view, for reading, open while it is in use. */
#include "extension.h"

#include <string.h>

const char *dtype_buffer_format(mica_dtype dtype) {
    static const char *const formats[MICA_DTYPE_COUNT] = {
        [MICA_DTYPE_bool] = "?", [MICA_DTYPE_i8] = "b",    [MICA_DTYPE_i16] = "h",
        [MICA_DTYPE_i32] = "i",  [MICA_DTYPE_i64] = "q",   [MICA_DTYPE_u8] = "B",
        [MICA_DTYPE_u16] = "H",  [MICA_DTYPE_u32] = "I",   [MICA_DTYPE_u64] = "Q",
        [MICA_DTYPE_f16] = "e",  [MICA_DTYPE_f32] = "f",   [MICA_DTYPE_f64] = "d",
        [MICA_DTYPE_c64] = "Zf", [MICA_DTYPE_c128] = "Zd",
    };
    return formats[dtype];
}

static bool integer_of_size(Py_ssize_t itemsize, bool is_signed, mica_dtype *out_dtype) {
    switch (itemsize) {
    case 1: *out_dtype = is_signed ? MICA_DTYPE_i8 : MICA_DTYPE_u8; return true;
    case 2: *out_dtype = is_signed ? MICA_DTYPE_i16 : MICA_DTYPE_u16; return true;
    case 4: *out_dtype = is_signed ? MICA_DTYPE_i32 : MICA_DTYPE_u32; return true;
    case 8: *out_dtype = is_signed ? MICA_DTYPE_i64 : MICA_DTYPE_u64; return true;
    default: return false;
    }
}

int dtype_from_buffer_format(const char *format, Py_ssize_t itemsize, mica_dtype *out_dtype) {
    const char *letter = format ? format : "B";
    if (*letter == '@' || *letter == '=' || *letter == '<' || *letter == '|') letter++;
    if (letter[0] && !letter[1]) {
        if (strchr("bhilqn", *letter) && integer_of_size(itemsize, true, out_dtype)) return 0;
        if (strchr("BHILQN", *letter) && integer_of_size(itemsize, false, out_dtype)) return 0;
    }
    for (int i = 0; i < MICA_DTYPE_COUNT; i++) {
        const char *known = dtype_buffer_format((mica_dtype)i);
        if (known && !strcmp(letter, known) &&
            (Py_ssize_t)mica_dtype_bytes((mica_dtype)i) == itemsize) {
            *out_dtype = (mica_dtype)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_TypeError, "[tensor] elements of buffer format '%s' are not supported",
                 format ? format : "");
    return -1;
}

/* Shape and strides of an exported buffer, kept in view->internal. */
typedef struct layout {
    Py_ssize_t shape[MICA_MAX_RANK], strides[MICA_MAX_RANK];
} layout;

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    const mica_type *type = array_type(self);
    const char *format = dtype_buffer_format(type->dtype);
    view->obj = NULL;
    if (!format) {
        PyErr_Format(PyExc_BufferError, "[buffer] dtype %s has no buffer format",
                     mica_dtype_name(type->dtype));
        return -1;
    }
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "[buffer] tensors are read-only");
        return -1;
    }
    layout *l = PyMem_Malloc(sizeof *l);
    if (!l) {
        PyErr_NoMemory();
        return -1;
    }
    mica_status status;
    mica_tensor *tensor = tensor_of(self);
    BEGIN_COMPUTING;
    status = mica_tensor_open_view(tensor, MICA_READ, &view->buf);
    END_COMPUTING;
    if (status) {
        PyMem_Free(l);
        raise_status(status);
        return -1;
    }
    Py_ssize_t step = (Py_ssize_t)mica_dtype_bytes(type->dtype);
    for (int32_t i = type->rank - 1; i >= 0; i--) {
        l->shape[i] = type->dims[i];
        l->strides[i] = step;
        step *= type->dims[i];
    }
    Py_INCREF(self);
    view->obj = self;
    view->len = (Py_ssize_t)mica_type_bytes(type);
    view->itemsize = (Py_ssize_t)mica_dtype_bytes(type->dtype);
    view->readonly = 1;
    view->ndim = type->rank;
    view->format = flags & PyBUF_FORMAT ? (char *)format : NULL;
    view->shape = l->shape;
    view->strides = l->strides;
    view->suboffsets = NULL;
    view->internal = l;
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view) {
    PyMem_Free(view->internal);
    mica_status_release(mica_tensor_close_view(tensor_of(self)));
}

PyBufferProcs tensor_buffer = {get_buffer, release_buffer};

/* numpy is imported only here, when somebody asks for its arrays. */
static PyObject *numpy_array(PyObject *self, PyObject *dtype, bool copy) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return NULL;
    PyObject *source = self, *array = NULL;
    Py_INCREF(source);
    if (!dtype_buffer_format(array_type(self)->dtype)) /* numpy itself has no such dtype */
        Py_SETREF(source, array_convert(self, MICA_DTYPE_f32));
    if (source) array = PyMemoryView_FromObject(source);
    Py_XDECREF(source);
    if (array) Py_SETREF(array, PyObject_CallMethod(numpy, copy ? "array" : "asarray", "O", array));
    if (array && dtype && dtype != Py_None)
        Py_SETREF(array, PyObject_CallMethod(array, "astype", "O", dtype));
    Py_DECREF(numpy);
    return array;
}

PyObject *tensor_array(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", names, &dtype, &copy))
        return NULL;
    if (copy == Py_False) {
        PyObject *array = numpy_array(self, NULL, false);
        if (!array || dtype == Py_None) return array;
        PyObject *own = PyObject_GetAttrString(array, "dtype");
        int same = own ? PyObject_RichCompareBool(own, dtype, Py_EQ) : -1;
        Py_XDECREF(own);
        if (same == 1) return array;
        Py_DECREF(array);
        if (same == 0) PyErr_SetString(PyExc_ValueError, "[__array__] another dtype needs a copy");
        return NULL;
    }
    return numpy_array(self, dtype, copy == Py_True);
}

PyObject *tensor_numpy(PyObject *self, PyObject *Py_UNUSED(unused)) {
    return numpy_array(self, NULL, true);
}
