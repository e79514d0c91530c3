/* The CPython extension `mlcompute._mlcompute`: the functions of mica/mlc.h, by their own names.
 *
 * generate.py writes a function for each from the headers; binding.c holds what they share. The
 * package mlcompute puts classes on top.
 *
 * The interpreter's lock is let go around every call that returns a status. Callbacks take it. A
 * function that returns PyObject * gives a new reference, or NULL with a Python error set. */
#ifndef MLCOMPUTE_BINDING_H
#define MLCOMPUTE_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <mica/mlc.h>
#include <stdbool.h>

#define MLC_OBJECTS(X)                                                                             \
    X(device)                                                                                      \
    X(tensor_descriptor)                                                                           \
    X(tensor_data)                                                                                 \
    X(tensor)                                                                                      \
    X(tensor_parameter)                                                                            \
    X(optimizer_device_data)                                                                       \
    X(layer)                                                                                       \
    X(optimizer)                                                                                   \
    X(graph)

#define KIND_OF(name) KIND_##name,
typedef enum object_kind { MLC_OBJECTS(KIND_OF) KINDS } object_kind;

/* Holds one reference of an object of the library. */
typedef struct Handle {
    PyObject_HEAD object_kind kind;
    void *pointer;
} Handle;
extern PyTypeObject Handle_Type;

/* One call: what its arguments need until it ends. */
typedef struct call {
    const char *name;
    PyObject *held; /* list, or NULL */
} call;
void call_end(call *c);
bool count_is(call *c, Py_ssize_t n, Py_ssize_t wanted);
PyObject *raise_status(mica_status status); /* releases it; NULL */

/* Name and number of an enumeration's values. */
typedef struct enum_value {
    const char *name;
    int number;
} enum_value;
typedef struct enum_table {
    const char *name, *original;
    const enum_value *values;
    int n;
    bool are_flags;
} enum_table;
extern const enum_table *const generated_enums[];
extern const enum_table *const execution_options_table;

/* A property of a class: by a function, or a field of a descriptor. */
typedef struct property_row {
    const char *owner, *name, *getter, *setter, *enumeration, *text;
    bool is_field;
} property_row;
extern const property_row generated_properties[];
extern PyMethodDef generated_methods[];

/* ---- arguments: false with an error set -------------------------------------------------------*/

bool read_int64(call *c, PyObject *object, const char *name, int64_t *out);
bool read_int32(call *c, PyObject *object, const char *name, int32_t *out);
bool read_uint64(call *c, PyObject *object, const char *name, uint64_t *out);
bool read_size(call *c, PyObject *object, const char *name, size_t *out);
bool read_float(call *c, PyObject *object, const char *name, float *out);
bool read_double(call *c, PyObject *object, const char *name, double *out);
bool read_bool(call *c, PyObject *object, const char *name, bool *out);
bool read_enum(call *c, PyObject *object, const char *name, const enum_table *table, int *out);
bool read_flags(call *c, PyObject *object, const char *name, const enum_table *table,
                uint64_t *out);
bool read_string(call *c, PyObject *object, const char *name, const char **out);
bool read_ints(call *c, PyObject *object, const char *name, mica_ints *out);
bool read_object(call *c, PyObject *object, const char *name, object_kind kind, bool may_be_none,
                 void **out);
bool read_list(call *c, PyObject *object, const char *name, object_kind kind, void ***out,
               int32_t *out_n);
typedef struct named_list {
    mlc_named_item *data; /* of tensors or of data: both are a name and a pointer */
    int32_t n;
} named_list;
bool read_named(call *c, PyObject *object, const char *name, object_kind kind, named_list *out);
/* Whole bytes of a C-contiguous buffer, held until the call ends. */
bool read_buffer(call *c, PyObject *object, bool writable, void **out_bytes, size_t *out_length);
bool read_anchors(call *c, PyObject *object, const char *name, const float **out, int64_t count);
int64_t whole(PyObject *object); /* -1 for what is no number */
PyObject *descriptor_fields(call *c, PyObject *object, const char *struct_name); /* borrowed */
PyObject *field(call *c, PyObject *fields, const char *name);                    /* borrowed */
PyObject *four_items(call *c, PyObject *object);                                 /* borrowed */

typedef struct completion completion;
typedef struct execution_holder {
    mlc_execution execution;
    completion *completion;
} execution_holder;
/* (inputs, loss labels, label weights, outputs, batch size, options, callback or None) */
bool read_execution(call *c, PyObject *object, execution_holder *out);
void execution_started(execution_holder *holder, mica_status status);

/* ---- results ----------------------------------------------------------------------------------*/

#define MAKERS_OF(name)                                                                            \
    PyObject *make_##name(void *pointer, bool owned);                                              \
    PyObject *make_##name##_list(mlc_##name *const *data, int32_t n);
MLC_OBJECTS(MAKERS_OF)
PyObject *make_string(const char *text);
PyObject *take_text(char *text);
PyObject *make_ints(mica_ints ints);
PyObject *make_anchors(const float *anchors, int64_t count);
bool set_field(PyObject *fields, const char *name, PyObject *value); /* takes the value */
static inline PyObject *make_int64(int64_t value) {
    return PyLong_FromLongLong(value);
}
static inline PyObject *make_int32(int32_t value) {
    return PyLong_FromLong(value);
}
static inline PyObject *make_uint64(uint64_t value) {
    return PyLong_FromUnsignedLongLong(value);
}
static inline PyObject *make_size(size_t value) {
    return PyLong_FromSize_t(value);
}
static inline PyObject *make_float(float value) {
    return PyFloat_FromDouble((double)value);
}
static inline PyObject *make_double(double value) {
    return PyFloat_FromDouble(value);
}
static inline PyObject *make_bool(bool value) {
    return PyBool_FromLong(value);
}

/* ---- data.c -----------------------------------------------------------------------------------*/

extern PyBufferProcs handle_buffer;
extern PyMethodDef data_methods[];

#endif
