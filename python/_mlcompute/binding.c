/* Arguments from Python objects, and Python objects from results. */
#include "binding.h"
#include "../_mica/entry.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define NAME_OF(name) #name,
static const char *const kind_names[KINDS] = {MLC_OBJECTS(NAME_OF)};

/* ---- calls ------------------------------------------------------------------------------------*/

void call_end(call *c) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_CLEAR(c->held);
    PyErr_Restore(type, value, traceback);
}

/* Takes the reference; false when it is NULL. */
static bool hold(call *c, PyObject *object) {
    if (!object) return false;
    if (!c->held) c->held = PyList_New(0);
    bool ok = c->held && PyList_Append(c->held, object) == 0;
    Py_DECREF(object);
    return ok;
}

/* Memory that lives as long as the call. */
static void *scratch(call *c, size_t n, size_t size) {
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((n + 1) * size));
    return hold(c, bytes) ? PyBytes_AS_STRING(bytes) : NULL;
}

static const char *call_name(const call *c) {
    return c->name + strlen("mlc_");
}

static bool wrong(call *c, PyObject *exception, const char *name, const char *wanted,
                  PyObject *given) {
    PyErr_Format(exception, "[%s] %s: expected %s, got %R", call_name(c), name, wanted, given);
    return false;
}

static bool wrong_type(call *c, const char *name, const char *wanted, PyObject *given) {
    PyErr_Format(PyExc_TypeError, "[%s] %s: expected %s, got %s", call_name(c), name, wanted,
                 Py_TYPE(given)->tp_name);
    return false;
}

bool count_is(call *c, Py_ssize_t n, Py_ssize_t wanted) {
    if (n == wanted) return true;
    PyErr_Format(PyExc_TypeError, "[%s] takes %zd arguments, got %zd", call_name(c), wanted, n);
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

PyObject *raise_status(mica_status status) {
    PyErr_SetString(exception_for(mica_status_code(status)), mica_status_message(status));
    mica_status_release(status);
    return NULL;
}

/* ---- numbers ----------------------------------------------------------------------------------*/

bool read_int64(call *c, PyObject *object, const char *name, int64_t *out) {
    if (!object) return false;
    PyObject *index = PyBool_Check(object) ? NULL : PyNumber_Index(object);
    if (!index) {
        PyErr_Clear();
        return wrong_type(c, name, "an integer", object);
    }
    *out = PyLong_AsLongLong(index);
    Py_DECREF(index);
    if (*out != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return wrong(c, PyExc_ValueError, name, "an integer of 64 bits", object);
}

bool read_int32(call *c, PyObject *object, const char *name, int32_t *out) {
    int64_t value;
    if (!read_int64(c, object, name, &value)) return false;
    *out = (int32_t)value;
    return *out == value || wrong(c, PyExc_ValueError, name, "an integer of 32 bits", object);
}

bool read_uint64(call *c, PyObject *object, const char *name, uint64_t *out) {
    if (!object) return false;
    PyObject *index = PyBool_Check(object) ? NULL : PyNumber_Index(object);
    if (!index) {
        PyErr_Clear();
        return wrong_type(c, name, "an integer", object);
    }
    *out = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    if (!PyErr_Occurred()) return true;
    PyErr_Clear();
    return wrong(c, PyExc_ValueError, name, "an integer from 0 to 2**64 - 1", object);
}

bool read_size(call *c, PyObject *object, const char *name, size_t *out) {
    uint64_t value = 0;
    bool ok = read_uint64(c, object, name, &value);
    *out = (size_t)value;
    return ok;
}

bool read_double(call *c, PyObject *object, const char *name, double *out) {
    if (!object) return false;
    *out = PyFloat_AsDouble(object);
    if (*out != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return wrong_type(c, name, "a number", object);
}

bool read_float(call *c, PyObject *object, const char *name, float *out) {
    double value;
    if (!read_double(c, object, name, &value)) return false;
    *out = (float)value;
    return isinf(*out) == isinf(value) ||
           wrong(c, PyExc_ValueError, name, "a number that fits a float", object);
}

bool read_bool(call *c, PyObject *object, const char *name, bool *out) {
    if (!object) return false;
    const char *type = Py_TYPE(object)->tp_name; /* numpy's scalars are no bool */
    bool from_numpy = !strcmp(type, "numpy.bool_") || !strcmp(type, "numpy.bool");
    if (!PyBool_Check(object) && !from_numpy) return wrong_type(c, name, "a bool", object);
    *out = PyObject_IsTrue(object) == 1;
    return true;
}

int64_t whole(PyObject *object) {
    int64_t value = PyLong_Check(object) ? PyLong_AsLongLong(object) : -1;
    PyErr_Clear();
    return value;
}

/* ---- enumerations -----------------------------------------------------------------------------*/

/* "LogicalAND", "logical_and" and "LOGICAL_AND" are one name. */
static bool same_name(const char *a, const char *b) {
    for (;; a++, b++) {
        while (*a == '_' || *a == ' ' || *a == '-') a++;
        while (*b == '_') b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
    }
}

static bool not_a_value(call *c, const char *name, const enum_table *table, PyObject *object) {
    PyObject *names = PyUnicode_FromString("");
    for (int i = 0; names && i < table->n; i++)
        Py_SETREF(names,
                  PyUnicode_FromFormat("%U%s%s", names, i ? ", " : "", table->values[i].name));
    if (names)
        PyErr_Format(PyExc_ValueError, "[%s] %s: %R is no %s; there are %U", call_name(c), name,
                     object, table->name, names);
    Py_XDECREF(names);
    return false;
}

static bool named_value(const enum_table *table, const char *text, int *out) {
    for (int i = 0; i < table->n; i++) {
        if (!same_name(text, table->values[i].name)) continue;
        *out = table->values[i].number;
        return true;
    }
    return false;
}

bool read_enum(call *c, PyObject *object, const char *name, const enum_table *table, int *out) {
    if (!object) return false;
    if (PyUnicode_Check(object)) {
        const char *text = PyUnicode_AsUTF8(object);
        if (!text) return false;
        return named_value(table, text, out) || not_a_value(c, name, table, object);
    }
    if (!PyLong_Check(object) || PyBool_Check(object))
        return wrong_type(c, name, "a value of an enumeration or its name", object);
    int64_t number = whole(object);
    for (int i = 0; i < table->n; i++) {
        if (table->values[i].number != number) continue;
        *out = (int)number;
        return true;
    }
    return not_a_value(c, name, table, object);
}

bool read_flags(call *c, PyObject *object, const char *name, const enum_table *table,
                uint64_t *out) {
    if (!object) return false;
    *out = 0;
    if (PyLong_Check(object) && !PyBool_Check(object)) {
        int64_t number = whole(object), all = 0;
        for (int i = 0; i < table->n; i++) all |= table->values[i].number;
        *out = (uint64_t)number;
        return (number >= 0 && (number & ~all) == 0) || not_a_value(c, name, table, object);
    }
    int value;
    if (PyUnicode_Check(object)) {
        if (!read_enum(c, object, name, table, &value)) return false;
        *out = (uint64_t)value;
        return true;
    }
    PyObject *items = PySequence_Tuple(object);
    if (!items) {
        PyErr_Clear();
        return wrong_type(c, name, "options or their names", object);
    }
    if (!hold(c, items)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        if (!read_enum(c, PyTuple_GET_ITEM(items, i), name, table, &value)) return false;
        *out |= (uint64_t)value;
    }
    return true;
}

/* ---- strings and lists ------------------------------------------------------------------------*/

bool read_string(call *c, PyObject *object, const char *name, const char **out) {
    if (!object) return false;
    if (!PyUnicode_Check(object)) return wrong_type(c, name, "a str", object);
    Py_ssize_t length;
    *out = PyUnicode_AsUTF8AndSize(object, &length);
    if (!*out || !hold(c, Py_NewRef(object))) return false;
    return strlen(*out) == (size_t)length ||
           wrong(c, PyExc_ValueError, name, "a str without null characters", object);
}

/* A tuple, held until the call ends: lists may change meanwhile. */
static PyObject *items_of(call *c, PyObject *object, const char *name, const char *wanted) {
    bool is_text = PyUnicode_Check(object) || PyBytes_Check(object) || PyDict_Check(object);
    PyObject *items = is_text ? NULL : PySequence_Tuple(object);
    if (items) return hold(c, items) ? items : NULL;
    if (is_text || PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        wrong_type(c, name, wanted, object);
    }
    return NULL;
}

bool read_ints(call *c, PyObject *object, const char *name, mica_ints *out) {
    *out = (mica_ints){NULL, 0};
    if (object == Py_None) return true;
    bool single = PyLong_Check(object);
    PyObject *items = single ? NULL : items_of(c, object, name, "a sequence of integers");
    if (!single && !items) return false;
    Py_ssize_t n = single ? 1 : PyTuple_GET_SIZE(items);
    int64_t *numbers = scratch(c, (size_t)n, sizeof *numbers);
    if (!numbers) return false;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!read_int64(c, single ? object : PyTuple_GET_ITEM(items, i), name, &numbers[i]))
            return false;
    if (n > INT32_MAX) return wrong(c, PyExc_ValueError, name, "fewer integers", object);
    *out = (mica_ints){numbers, (int32_t)n};
    return true;
}

PyObject *four_items(call *c, PyObject *object) {
    PyObject *items = items_of(c, object, "gate_activations", "4 activation descriptors");
    if (items && PyTuple_GET_SIZE(items) != 4) {
        wrong(c, PyExc_ValueError, "gate_activations", "4 activation descriptors", object);
        return NULL;
    }
    return items;
}

bool read_object(call *c, PyObject *object, const char *name, object_kind kind, bool may_be_none,
                 void **out) {
    *out = NULL;
    if (may_be_none && object == Py_None) return true;
    PyObject *handle = Py_TYPE(object) == &Handle_Type ? Py_NewRef(object)
                                                       : PyObject_GetAttrString(object, "_handle");
    if (!handle || Py_TYPE(handle) != &Handle_Type || ((Handle *)handle)->kind != kind) {
        Py_XDECREF(handle);
        PyErr_Clear();
        char wanted[64];
        PyOS_snprintf(wanted, sizeof wanted, "a %s", kind_names[kind]);
        return wrong_type(c, name, wanted, object);
    }
    *out = ((Handle *)handle)->pointer;
    return hold(c, handle);
}

bool read_list(call *c, PyObject *object, const char *name, object_kind kind, void ***out,
               int32_t *out_n) {
    *out = NULL;
    *out_n = 0;
    if (object == Py_None) return true;
    bool single = PyObject_HasAttrString(object, "_handle");
    PyObject *items = single ? NULL : items_of(c, object, name, "a list");
    if (!single && !items) return false;
    Py_ssize_t n = single ? 1 : PyTuple_GET_SIZE(items);
    *out = scratch(c, (size_t)n, sizeof **out);
    if (!*out) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = single ? object : PyTuple_GET_ITEM(items, i);
        if (!read_object(c, item, name, kind, false, &(*out)[i])) return false;
    }
    *out_n = (int32_t)n;
    return true;
}

bool read_named(call *c, PyObject *object, const char *name, object_kind kind, named_list *out) {
    *out = (named_list){NULL, 0};
    if (object == Py_None) return true;
    if (!PyDict_Check(object)) return wrong_type(c, name, "a dict of names", object);
    PyObject *copy = PyDict_Copy(object), *key, *value;
    if (!hold(c, copy)) return false;
    out->data = scratch(c, (size_t)PyDict_GET_SIZE(copy), sizeof *out->data);
    if (!out->data) return false;
    Py_ssize_t place = 0;
    while (PyDict_Next(copy, &place, &key, &value)) {
        mlc_named_item *item = &out->data[out->n];
        void *pointer;
        if (!read_string(c, key, name, &item->name)) return false;
        if (!read_object(c, value, item->name, kind, false, &pointer)) return false;
        item->data = pointer;
        out->n++;
    }
    return true;
}

bool read_buffer(call *c, PyObject *object, bool writable, void **out_bytes, size_t *out_length) {
    PyObject *view = PyMemoryView_FromObject(object);
    if (!view) {
        PyErr_Clear();
        return wrong_type(c, "bytes", "a buffer, such as a numpy array", object);
    }
    if (!hold(c, view)) return false;
    const Py_buffer *buffer = PyMemoryView_GET_BUFFER(view);
    if (writable && buffer->readonly)
        return wrong(c, PyExc_ValueError, "bytes", "a buffer that can be written", object);
    if (!PyBuffer_IsContiguous(buffer, 'C'))
        return wrong(c, PyExc_ValueError, "bytes", "a C-contiguous buffer", object);
    *out_bytes = buffer->buf;
    *out_length = (size_t)buffer->len;
    return true;
}

bool read_anchors(call *c, PyObject *object, const char *name, const float **out, int64_t count) {
    if (!object) return false;
    if (!PyBytes_Check(object)) return wrong_type(c, name, "bytes of float32 pairs", object);
    if (count < 0 || PyBytes_GET_SIZE(object) / 8 != count || PyBytes_GET_SIZE(object) % 8)
        return wrong(c, PyExc_ValueError, name, "a width and a height for every box", object);
    *out = (const float *)(const void *)PyBytes_AS_STRING(object);
    return hold(c, Py_NewRef(object));
}

/* ---- descriptors ------------------------------------------------------------------------------*/

PyObject *descriptor_fields(call *c, PyObject *object, const char *struct_name) {
    PyObject *fields = PyObject_GetAttrString(object, "_fields");
    PyObject *name =
        fields && PyDict_Check(fields) ? PyDict_GetItemString(fields, "_struct") : NULL;
    bool fits =
        name && PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, struct_name);
    PyErr_Clear();
    if (!fits) {
        Py_XDECREF(fields);
        char wanted[64];
        PyOS_snprintf(wanted, sizeof wanted, "a %s", struct_name + strlen("mlc_"));
        wrong_type(c, "descriptor", wanted, object);
        return NULL;
    }
    return hold(c, fields) ? fields : NULL;
}

PyObject *field(call *c, PyObject *fields, const char *name) {
    PyObject *value = PyDict_GetItemString(fields, name);
    if (!value) PyErr_Format(PyExc_TypeError, "[%s] the descriptor has no %s", call_name(c), name);
    return value;
}

bool set_field(PyObject *fields, const char *name, PyObject *value) {
    bool ok = value && PyDict_SetItemString(fields, name, value) == 0;
    Py_XDECREF(value);
    return ok;
}

/* ---- results ----------------------------------------------------------------------------------*/

PyObject *make_string(const char *text) {
    return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
}

PyObject *take_text(char *text) {
    PyObject *string = make_string(text);
    mica_string_free(text);
    return string;
}

PyObject *make_ints(mica_ints ints) {
    PyObject *list = PyList_New(ints.n);
    for (int32_t i = 0; list && i < ints.n; i++) {
        PyObject *number = PyLong_FromLongLong(ints.data[i]);
        if (!number) Py_CLEAR(list);
        if (list) PyList_SET_ITEM(list, i, number);
    }
    return list;
}

PyObject *make_anchors(const float *anchors, int64_t count) {
    return PyBytes_FromStringAndSize((const char *)anchors, (Py_ssize_t)count * 8);
}

#define RETAIN_CASE(name)                                                                          \
    case KIND_##name:                                                                              \
        mlc_##name##_retain(pointer);                                                              \
        break;
#define RELEASE_CASE(name)                                                                         \
    case KIND_##name: mlc_##name##_release(pointer); break;

static void retain(object_kind kind, void *pointer) {
    switch (kind) {
        MLC_OBJECTS(RETAIN_CASE)
    default: break;
    }
}

static void release(object_kind kind, void *pointer) {
    switch (kind) {
        MLC_OBJECTS(RELEASE_CASE)
    default: break;
    }
}

static PyObject *make_handle(object_kind kind, void *pointer, bool owned) {
    if (!pointer) return Py_NewRef(Py_None);
    if (!owned) retain(kind, pointer);
    Handle *handle = PyObject_New(Handle, &Handle_Type);
    if (!handle) {
        release(kind, pointer);
        return NULL;
    }
    handle->kind = kind;
    handle->pointer = pointer;
    return (PyObject *)handle;
}

static PyObject *make_handle_list(object_kind kind, void *const *data, int32_t n) {
    PyObject *list = PyList_New(n);
    for (int32_t i = 0; list && i < n; i++) {
        PyObject *handle = make_handle(kind, data[i], false);
        if (!handle) Py_CLEAR(list);
        if (list) PyList_SET_ITEM(list, i, handle);
    }
    return list;
}

#define DEFINE_MAKERS(name)                                                                        \
    PyObject *make_##name(void *pointer, bool owned) {                                             \
        return make_handle(KIND_##name, pointer, owned);                                           \
    }                                                                                              \
    PyObject *make_##name##_list(mlc_##name *const *data, int32_t n) {                             \
        return make_handle_list(KIND_##name, (void *const *)data, n);                              \
    }
MLC_OBJECTS(DEFINE_MAKERS)

/* ---- handles ----------------------------------------------------------------------------------*/

static void handle_dealloc(PyObject *object) {
    Handle *self = (Handle *)object;
    PyThreadState *state = PyEval_SaveThread();
    release(self->kind, self->pointer);
    PyEval_RestoreThread(state);
    PyObject_Free(object);
}

static PyObject *handle_address(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromVoidPtr(((Handle *)self)->pointer);
}

static PyObject *handle_kind(PyObject *self, void *Py_UNUSED(unused)) {
    return PyUnicode_FromString(kind_names[((Handle *)self)->kind]);
}

static PyGetSetDef handle_getters[] = {
    {"address", handle_address, NULL, "Where the object lies.", NULL},
    {"kind", handle_kind, NULL, "What it is.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject Handle_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mlcompute._mlcompute.Handle",
    .tp_basicsize = sizeof(Handle),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "One reference of an object of the library.",
    .tp_dealloc = handle_dealloc,
    .tp_getset = handle_getters,
    .tp_as_buffer = &handle_buffer,
};

/* ---- the module -------------------------------------------------------------------------------*/

static PyObject *enums_dict(void) {
    PyObject *all = PyDict_New();
    for (int i = 0; all && generated_enums[i]; i++) {
        const enum_table *table = generated_enums[i];
        PyObject *values = PyDict_New();
        for (int k = 0; values && k < table->n; k++)
            if (!set_field(values, table->values[k].name, PyLong_FromLong(table->values[k].number)))
                Py_CLEAR(values);
        PyObject *row = values ? Py_BuildValue("(zNN)", table->original, values,
                                               PyBool_FromLong(table->are_flags))
                               : NULL;
        if (!set_field(all, table->name, row)) Py_CLEAR(all);
    }
    return all;
}

static PyObject *properties_list(void) {
    PyObject *all = PyList_New(0);
    for (const property_row *row = generated_properties; all && row->owner; row++) {
        PyObject *one = Py_BuildValue("(sszzzzN)", row->owner, row->name, row->getter, row->setter,
                                      row->enumeration, row->text, PyBool_FromLong(row->is_field));
        if (!one || PyList_Append(all, one)) Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

static int add(PyObject *module, const char *name, PyObject *value) {
    int failed = value ? PyModule_AddObjectRef(module, name, value) : -1;
    Py_XDECREF(value);
    return failed;
}

static int module_exec(PyObject *module) {
    if (python_close_at_exit() < 0) return -1;
    if (PyType_Ready(&Handle_Type) || PyModule_AddType(module, &Handle_Type)) return -1;
    if (PyModule_AddFunctions(module, generated_methods)) return -1;
    if (PyModule_AddFunctions(module, data_methods)) return -1;
    if (add(module, "ENUMS", enums_dict())) return -1;
    return add(module, "PROPERTIES", properties_list());
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)module_exec},
    {0, NULL},
};

static PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "mlcompute._mlcompute",
    .m_doc = "The functions of mica/mlc.h.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__mlcompute(void);
PyMODINIT_FUNC PyInit__mlcompute(void) {
    return PyModuleDef_Init(&module_definition);
}
