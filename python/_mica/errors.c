/* Statuses as Python exceptions, and Python exceptions as statuses.
 *
 * An exception in a host callback cannot travel through a device's queue. It is kept here under the
 * message of the status that takes its place, and raised again when that status comes out of a
 * call.
 */
#include "extension.h"

#include <string.h>

#define KEPT_EXCEPTIONS 16

static struct {
    char *message;
    PyObject *type, *value, *traceback;
} kept[KEPT_EXCEPTIONS];
static int kept_next;

static void kept_clear(int i) {
    PyMem_Free(kept[i].message);
    Py_CLEAR(kept[i].type);
    Py_CLEAR(kept[i].value);
    Py_CLEAR(kept[i].traceback);
    kept[i].message = NULL;
}

static void keep(const char *message, PyObject *type, PyObject *value, PyObject *traceback) {
    int i = kept_next;
    kept_next = (kept_next + 1) % KEPT_EXCEPTIONS;
    kept_clear(i);
    kept[i].message = PyMem_Malloc(strlen(message) + 1);
    if (!kept[i].message) return;
    strcpy(kept[i].message, message);
    kept[i].type = Py_XNewRef(type);
    kept[i].value = Py_XNewRef(value);
    kept[i].traceback = Py_XNewRef(traceback);
}

/* StopIteration is the end of a sequence, as it is for TensorFlow: it is not raised again, so what
 * its frames hold is not kept. */
mica_status status_from_exception(const char *name) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *said = text ? PyUnicode_AsUTF8(text) : NULL;
    if (!said) PyErr_Clear();
    bool is_end = type && PyErr_GivenExceptionMatches(type, PyExc_StopIteration);
    mica_status status = mica_status_create(
        is_end ? MICA_OUT_OF_RANGE : MICA_CALLBACK_ERROR, "[callback] %s raised %s: %s", name,
        type ? ((PyTypeObject *)type)->tp_name : "an error", said ? said : "");
    Py_XDECREF(text);
    if (!is_end) keep(mica_status_message(status), type, value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return status;
}

static bool raise_kept(const char *message) {
    for (int i = 0; i < KEPT_EXCEPTIONS; i++) {
        if (!kept[i].message || !strstr(message, kept[i].message)) continue;
        PyErr_Restore(kept[i].type, kept[i].value, kept[i].traceback);
        kept[i].type = kept[i].value = kept[i].traceback = NULL;
        kept_clear(i);
        return true;
    }
    return false;
}

static PyObject *exception_for(mica_code code) {
    switch (code) {
    case MICA_INVALID_ARGUMENT:
    case MICA_NOT_FOUND: return PyExc_ValueError;
    case MICA_OUT_OF_MEMORY: return PyExc_MemoryError;
    case MICA_UNSUPPORTED: return PyExc_NotImplementedError;
    default: return PyExc_RuntimeError;
    }
}

static PyObject *raise_as(PyObject *exception, mica_status status) {
    const char *message = mica_status_message(status);
    if (mica_status_code(status) != MICA_CALLBACK_ERROR || !raise_kept(message))
        PyErr_SetString(exception, message);
    mica_status_release(status);
    return NULL;
}

PyObject *raise_file_status(mica_status status) {
    switch (mica_status_code(status)) {
    case MICA_NOT_FOUND: return raise_as(PyExc_FileNotFoundError, status);
    case MICA_DATA_LOSS:
    case MICA_RESOURCE_EXHAUSTED:
    case MICA_FAILED_PRECONDITION: return raise_as(PyExc_OSError, status);
    default: return raise_status(status);
    }
}

PyObject *raise_status(mica_status status) {
    if (raise_interrupt(status)) return NULL;
    return raise_as(exception_for(mica_status_code(status)), status);
}

/* Whether dtypes alone make the operands unusable. */
static bool dtypes_are_wrong(mica_op op, const mica_type *const *types, int32_t n) {
    const mica_op_info *info = mica_op_describe(op);
    if (!info || n == 0) return false;
    for (int32_t i = 0; i < n; i++)
        if (!mica_op_takes(op, types[i]->dtype)) return true;
    if (op == MICA_OP_select)
        return types[0]->dtype != MICA_DTYPE_bool || (n == 3 && types[1]->dtype != types[2]->dtype);
    bool alike = !strcmp(info->op_class, "MAP") || !strcmp(info->op_class, "CONTRACTION") ||
                 op == MICA_OP_compare || op == MICA_OP_complex || op == MICA_OP_concat ||
                 op == MICA_OP_pad || op == MICA_OP_select_and_scatter;
    for (int32_t i = 1; alike && i < n; i++)
        if (types[i]->dtype != types[0]->dtype) return true;
    int32_t update = op == MICA_OP_dynamic_update_slice ? 1 : op == MICA_OP_scatter ? 2 : 0;
    return n > update && types[update]->dtype != types[0]->dtype;
}

PyObject *raise_op_status(mica_op op, const mica_type *const *types, int32_t n,
                          mica_status status) {
    if (mica_status_code(status) == MICA_INVALID_ARGUMENT && dtypes_are_wrong(op, types, n))
        return raise_as(PyExc_TypeError, status);
    return raise_status(status);
}
