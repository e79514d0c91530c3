/* How a Tensor looks: Tensor([[1, 2], [3, 4]], f32[2,2], cpu:0). Large ones show their corners. */
#include "extension.h"

#include <stdlib.h>
#include <string.h>

#define WHOLE_ELEMENTS 200 /* up to here everything is shown */
#define EDGE 3             /* else this many at each end of an axis */

/* The shortest text that reads back as the same value. */
static PyObject *format_float(double value, mica_dtype dtype) {
    double shortest = value;
    char text[64];
    for (int digits = 1; dtype != MICA_DTYPE_f64 && digits <= 9; digits++) {
        PyOS_snprintf(text, sizeof text, "%.*g", digits, value);
        shortest = strtod(text, NULL);
        if ((float)shortest == (float)value || value != value) break;
    }
    char *repr = PyOS_double_to_string(shortest, 'r', 0, 0, NULL);
    PyObject *object = repr ? PyUnicode_FromString(repr) : PyErr_NoMemory();
    PyMem_Free(repr);
    return object;
}

static PyObject *format_element(const void *element, mica_dtype dtype) {
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    if (kind == MICA_KIND_FLOAT || kind == MICA_KIND_FLOAT8)
        return format_float(element_to_double(element, dtype), dtype);
    PyObject *object = element_to_object(element, dtype);
    PyObject *string = object ? PyObject_Str(object) : NULL;
    Py_XDECREF(object);
    return string;
}

typedef struct printer {
    const mica_type *type;
    const char *data;
    PyObject *parts; /* list of strings */
    bool whole;
} printer;

static int put(printer *p, PyObject *text) {
    int failed = !text || PyList_Append(p->parts, text) < 0;
    Py_XDECREF(text);
    return failed ? -1 : 0;
}

static int put_indent(printer *p, int width) {
    char spaces[8 + MICA_MAX_RANK + 1];
    memset(spaces, ' ', sizeof spaces);
    return put(p, PyUnicode_FromStringAndSize(spaces, width));
}

/* Prints the sub-array at `offset`, in elements. */
static int print_level(printer *p, int32_t axis, int64_t offset, int64_t inner) {
    if (axis == p->type->rank)
        return put(p, format_element(p->data + (size_t)offset * mica_dtype_bytes(p->type->dtype),
                                     p->type->dtype));
    int64_t size = p->type->dims[axis], step = size ? inner / size : 0;
    bool skip = !p->whole && size > 2 * EDGE;
    if (put(p, PyUnicode_FromString("[")) < 0) return -1;
    for (int64_t i = 0; i < size; i++) {
        bool last_axis = axis + 1 == p->type->rank;
        if (i > 0 && put(p, PyUnicode_FromString(last_axis ? ", " : ",\n")) < 0) return -1;
        if (i > 0 && !last_axis && put_indent(p, 8 + axis) < 0) return -1;
        if (skip && i == EDGE) {
            if (put(p, PyUnicode_FromString("...")) < 0) return -1;
            i = size - EDGE - 1;
        } else if (print_level(p, axis + 1, offset + i * step, step) < 0) {
            return -1;
        }
    }
    return put(p, PyUnicode_FromString("]"));
}

PyObject *tensor_repr(PyObject *self) {
    mica_tensor *tensor = tensor_of(self);
    const mica_type *type = mica_tensor_type(tensor);
    int64_t elements = mica_type_elements(type);
    printer p = {type, NULL, PyList_New(0), elements <= WHOLE_ELEMENTS};
    if (!p.parts) return NULL;
    void *data = NULL;
    mica_status status;
    BEGIN_COMPUTING;
    status = mica_tensor_open_view(tensor, MICA_READ, &data);
    END_COMPUTING;
    if (status) {
        Py_DECREF(p.parts);
        return raise_status(status);
    }
    p.data = data;
    int failed = print_level(&p, 0, 0, elements);
    mica_status_release(mica_tensor_close_view(tensor));
    PyObject *nothing = PyUnicode_FromString(""), *result = NULL;
    PyObject *body = failed || !nothing ? NULL : PyUnicode_Join(nothing, p.parts);
    char text[256];
    mica_type_format(type, text, sizeof text);
    if (body)
        result = PyUnicode_FromFormat("Tensor(%U, %s, %s)", body, text,
                                      mica_device_name(mica_tensor_device(tensor)));
    Py_XDECREF(body);
    Py_XDECREF(nothing);
    Py_DECREF(p.parts);
    return result;
}

PyObject *call_notebook(const char *function, PyObject *self) {
    PyObject *module = PyImport_ImportModule("mica._notebook");
    PyObject *text = module ? PyObject_CallMethod(module, function, "O", self) : NULL;
    Py_XDECREF(module);
    return text;
}
