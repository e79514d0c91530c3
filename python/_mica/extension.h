/* The CPython extension `mica._mica`: Mica's C API as Python objects.
 *
 * Two types stand for arrays: Tensor holds data on a device, Traced stands for a value of a graph
 * that is being built. They share their number slots, indexing and methods; everything they do
 * passes through apply_op, which either runs a primitive at once (mica_eager) or appends a node.
 *
 * numpy is never included: it is reached through the buffer protocol, __array__ and DLPack.
 *
 * A function that returns PyObject * gives a new reference, or NULL with a Python error set.
 */
#ifndef MICA_EXTENSION_H
#define MICA_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <mica/mica.h>

#define UNLIKELY(condition) __builtin_expect((condition), 0)

/* ---- objects ----------------------------------------------------------------------------------*/

typedef struct DTypeObject {
    PyObject_HEAD mica_dtype dtype;
} DTypeObject;

typedef struct DeviceObject {
    PyObject_HEAD mica_device *device;
} DeviceObject;

typedef struct TensorObject {
    PyObject_HEAD mica_tensor *tensor;
} TensorObject;

/* A graph under construction. Values of enclosing traces and concrete tensors that its function
 * uses are captured: each becomes a parameter after those asked for. */
typedef struct TraceObject {
    PyObject_HEAD mica_graph *graph;
    struct TraceObject *parent;  /* whose values it may capture; NULL for an outermost trace */
    struct TraceObject *outside; /* what was current when it was entered */
    PyObject *captured;          /* list: Traced of the parent, or Tensor in an outermost trace */
    PyObject *captured_index;    /* dict: address of what was captured -> parameter number */
    PyObject *held;              /* list: host functions that the graph's callbacks use */
    mica_value token;            /* the newest effect of the graph; null when there was none */
    int32_t token_parameter;     /* where a nested trace gets its first token; -1: it needs none */
    bool entered, closed;
} TraceObject;

/* `weak` marks a value made of Python scalars only: it takes the dtype of what it meets. It is
 * carried as f64 or i64 and counts as f32 or i32 when it meets nothing. */
typedef struct TracedObject {
    PyObject_HEAD TraceObject *trace;
    mica_value value;
    bool weak;
} TracedObject;

typedef struct GraphObject {
    PyObject_HEAD mica_graph *graph;
    PyObject *held;        /* host functions that its callbacks use */
    PyObject *executables; /* dict: device name -> Executable */
} GraphObject;

typedef struct ExecutableObject {
    PyObject_HEAD mica_executable *executable;
    mica_device *device;
    PyObject *held;
    int32_t n_inputs, n_outputs;
    bool wait; /* it calls back to Python: a run is over when its call returns */
} ExecutableObject;

extern PyTypeObject DType_Type, Device_Type, Tensor_Type, Trace_Type, Traced_Type, Graph_Type,
    Executable_Type, HostFunction_Type;

static inline bool is_tensor(PyObject *object) {
    return Py_TYPE(object) == &Tensor_Type;
}
static inline bool is_traced(PyObject *object) {
    return Py_TYPE(object) == &Traced_Type;
}
static inline bool is_array(PyObject *object) {
    return is_tensor(object) || is_traced(object);
}
static inline mica_tensor *tensor_of(PyObject *object) {
    return ((TensorObject *)object)->tensor;
}

/* The type of a Tensor or Traced. */
const mica_type *array_type(PyObject *array);

/* ---- errors.c ---------------------------------------------------------------------------------*/

/* Raises what the status says; releases it; returns NULL. */
PyObject *raise_status(mica_status status);
PyObject *raise_file_status(mica_status status); /* the same, with OSError for files */
/* The same for a primitive: a wrong dtype is a TypeError. */
PyObject *raise_op_status(mica_op op, const mica_type *const *types, int32_t n, mica_status status);
/* Keeps the current Python exception for the caller of a run, and makes a status of it. */
mica_status status_from_exception(const char *name);

/* ---- interrupt.c ------------------------------------------------------------------------------*/

int watch_interrupts(void);
int watch_lines(void); /* caller.c */
/* mica._notebook.<function>(self). */
PyObject *call_notebook(const char *function, PyObject *self);
bool interrupt_begin(void);
void interrupt_end(bool began);
/* Around calls that compute or wait, without Python's lock: Ctrl-C ends them with a status. */
#define BEGIN_COMPUTING                                                                            \
    {                                                                                              \
        bool computing_began = interrupt_begin();                                                  \
        Py_BEGIN_ALLOW_THREADS;
#define END_COMPUTING                                                                              \
    Py_END_ALLOW_THREADS;                                                                          \
    interrupt_end(computing_began);                                                                \
    }
/* Whether the status is of such an interrupt: it was released, and KeyboardInterrupt is raised. */
bool raise_interrupt(mica_status status);

/* ---- dtype.c ----------------------------------------------------------------------------------*/

PyObject *dtype_object(mica_dtype dtype);
/* From a DType, a name ("f32", "float32"), float, int, bool, or a numpy dtype. -1 on error. */
int dtype_from_object(PyObject *object, mica_dtype *out_dtype);
int dtypes_add_to(PyObject *module);

/* ---- device.c ---------------------------------------------------------------------------------*/

PyObject *device_object(mica_device *device); /* retains */
/* Borrowed; None or NULL gives the default device. NULL on error. */
mica_device *device_from_object(PyObject *object);
mica_device *device_default(void);
PyObject *device_list(PyObject *module, PyObject *unused);
PyObject *device_set_default(PyObject *module, PyObject *name);
PyObject *device_open(PyObject *module, PyObject *name);

/* ---- tensor.c, traced
 * ---------------------------------------------------------------------------*/

PyObject *tensor_take(mica_tensor *tensor); /* owns the reference given */
int tensor_free_list_clear(void);

/* ---- convert.c --------------------------------------------------------------------------------*/

/* A Tensor from scalars, nested sequences, buffers, arrays. dtype < 0: by the data. */
PyObject *tensor_from_object(PyObject *data, int dtype, mica_device *device);
PyObject *tensor_from_buffer(const Py_buffer *view, int dtype, mica_device *device);
PyObject *tensor_function(PyObject *module, PyObject *args, PyObject *kwargs);
/* Writes a Python scalar as one element; -1 on error (kind or range). */
int scalar_to_element(PyObject *scalar, mica_dtype dtype, void *element);
PyObject *element_to_object(const void *element, mica_dtype dtype);
double element_to_double(const void *element, mica_dtype dtype);
PyObject *array_to_list(const mica_type *type, const void *data);
/* bool, int, float: what adopts another operand's dtype. */
bool is_weak_scalar(PyObject *object);
/* An array operand from any object; scalars adopt the dtype of `like` (an array or NULL). */
PyObject *as_operand(PyObject *object, PyObject *like);
/* A rank 0 array of this dtype where `like` is (its device, or the current trace). */
PyObject *scalar_like(PyObject *like, double value);
PyObject *scalar_function(PyObject *module, PyObject *const *args, Py_ssize_t n);
void scalar_cache_clear(void);

/* ---- buffer.c, dlpack.c
 * -------------------------------------------------------------------------*/

extern PyBufferProcs tensor_buffer;
const char *dtype_buffer_format(mica_dtype dtype); /* NULL when there is none */
int dtype_from_buffer_format(const char *format, Py_ssize_t itemsize, mica_dtype *out_dtype);
PyObject *tensor_array(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *tensor_numpy(PyObject *self, PyObject *unused);
PyObject *tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *tensor_dlpack_device(PyObject *self, PyObject *unused);
PyObject *from_dlpack(PyObject *module, PyObject *args, PyObject *kwargs);

/* ---- print.c ----------------------------------------------------------------------------------*/

PyObject *tensor_repr(PyObject *self);

/* ---- ops.c ------------------------------------------------------------------------------------*/

/* Its class has any number of results: a call gives a tuple, of one at times. */
bool op_has_several(mica_op op);
/* One primitive on arrays; attributes in the row's order. */
PyObject *apply_op(mica_op op, PyObject *const *operands, int32_t n,
                   const mica_attribute *attributes);
static inline PyObject *apply1(mica_op op, PyObject *a) {
    return apply_op(op, &a, 1, NULL);
}
static inline PyObject *apply2(mica_op op, PyObject *a, PyObject *b) {
    return apply_op(op, (PyObject *[]){a, b}, 2, NULL);
}
mica_value build_op(mica_graph *g, mica_op op, const mica_value *operands, int32_t n,
                    const mica_attribute *attributes);
/* Sizes, axes and the like: an int or a sequence of ints. Returns the count or -1. */
int32_t ints_from_object(PyObject *object, const char *what, int64_t out[MICA_MAX_RANK]);
PyObject *ints_to_tuple(const int64_t *ints, int32_t n);
int ops_add_to(PyObject *module);
PyObject *ops_table(PyObject *module, PyObject *unused);

/* ---- number.c, index.c, methods.c: shared by Tensor and Traced
 * ----------------------------------*/

extern PyNumberMethods array_number, traced_number;
PyObject *array_compare(PyObject *a, PyObject *b, int operation);
PyObject *array_matmul(PyObject *a, PyObject *b);
PyObject *array_subscript(PyObject *self, PyObject *key);
PyObject *array_item_at(PyObject *self, Py_ssize_t i);
Py_ssize_t array_length(PyObject *self);
PyObject *array_iter(PyObject *self);
PyObject *array_reshape(PyObject *self, const int64_t *dims, int32_t rank);
PyObject *array_convert(PyObject *self, mica_dtype dtype);
/* numpy's rule; the array itself when it has this shape already. */
PyObject *array_broadcast(PyObject *self, const int64_t *dims, int32_t rank);
/* axis (maybe negative) within rank; -1 with an error when it is not. */
int32_t axis_within(int64_t axis, int32_t rank, const char *what);

#define ARRAY_METHOD(name) PyObject *array_method_##name(PyObject *, PyObject *, PyObject *)
ARRAY_METHOD(reshape);
ARRAY_METHOD(transpose);
ARRAY_METHOD(astype);
ARRAY_METHOD(sum);
ARRAY_METHOD(prod);
ARRAY_METHOD(mean);
ARRAY_METHOD(max);
ARRAY_METHOD(min);
ARRAY_METHOD(any);
ARRAY_METHOD(all);
ARRAY_METHOD(argmax);
ARRAY_METHOD(argmin);
ARRAY_METHOD(broadcast_to);
ARRAY_METHOD(flatten);
ARRAY_METHOD(conj);

#define ARRAY_METHOD_ROW(name, doc)                                                                \
    { #name, (PyCFunction)(void (*)(void))array_method_##name, METH_VARARGS | METH_KEYWORDS, doc }
#define ARRAY_METHOD_ROWS                                                                          \
    ARRAY_METHOD_ROW(reshape, "reshape(*shape)\n\nThe same elements in another shape; one size "   \
                              "may be -1."),                                                       \
        ARRAY_METHOD_ROW(transpose, "transpose(*axes)\n\nAxis k of the result is axis axes[k]; "   \
                                    "without axes, the reverse order."),                           \
        ARRAY_METHOD_ROW(astype, "astype(dtype)\n\nThe elements converted."),                      \
        ARRAY_METHOD_ROW(sum, "sum(axis=None, keepdims=False)\n\nThe sum over axes."),             \
        ARRAY_METHOD_ROW(prod, "prod(axis=None, keepdims=False)\n\nThe product over axes."),       \
        ARRAY_METHOD_ROW(mean, "mean(axis=None, keepdims=False)\n\nThe mean over axes."),          \
        ARRAY_METHOD_ROW(max, "max(axis=None, keepdims=False)\n\nThe largest over axes."),         \
        ARRAY_METHOD_ROW(min, "min(axis=None, keepdims=False)\n\nThe smallest over axes."),        \
        ARRAY_METHOD_ROW(any, "any(axis=None, keepdims=False)\n\nWhether any is not zero."),       \
        ARRAY_METHOD_ROW(all, "all(axis=None, keepdims=False)\n\nWhether none is zero."),          \
        ARRAY_METHOD_ROW(argmax, "argmax(axis=None, dtype=i32)\n\nThe index of the largest; "      \
                                 "without an axis, in the flattened array."),                      \
        ARRAY_METHOD_ROW(argmin, "argmin(axis=None, dtype=i32)\n\nThe index of the smallest; "     \
                                 "without an axis, in the flattened array."),                      \
        ARRAY_METHOD_ROW(broadcast_to, "broadcast_to(*shape)\n\nStretched by numpy's rule."),      \
        ARRAY_METHOD_ROW(flatten, "flatten()\n\nThe elements as a vector."),                       \
        ARRAY_METHOD_ROW(conj, "conj()\n\nThe complex conjugate.")

PyObject *array_get_shape(PyObject *self, void *unused);
PyObject *array_get_dtype(PyObject *self, void *unused);
PyObject *array_get_ndim(PyObject *self, void *unused);
PyObject *array_get_size(PyObject *self, void *unused);
PyObject *array_get_T(PyObject *self, void *unused);
PyObject *array_get_real(PyObject *self, void *unused);
PyObject *array_get_imag(PyObject *self, void *unused);
#define ARRAY_GETTER_ROWS                                                                          \
    {"shape", array_get_shape, NULL, "The sizes, a tuple.", NULL},                                 \
        {"dtype", array_get_dtype, NULL, "The element type.", NULL},                               \
        {"ndim", array_get_ndim, NULL, "The number of axes.", NULL},                               \
        {"size", array_get_size, NULL, "The number of elements.", NULL},                           \
        {"real", array_get_real, NULL, "The real parts.", NULL},                                   \
        {"imag", array_get_imag, NULL, "The imaginary parts; zeros for real dtypes.", NULL}, {     \
        "T", array_get_T, NULL, "The array with its axes reversed.", NULL                          \
    }

/* ---- trace.c ----------------------------------------------------------------------------------*/

/* The trace that nodes go to on this thread, or NULL. */
TraceObject *trace_current(void);
/* Replaces it, for code that runs outside any trace; returns the old one. */
TraceObject *trace_set_current(TraceObject *trace);
/* The value in `trace` that stands for an array; false with an error set. */
bool trace_lift(TraceObject *trace, PyObject *array, mica_value *out_value);
PyObject *traced_new(TraceObject *trace, mica_value value, bool weak);
/* Raises the graph's sticky error. */
PyObject *trace_raise(TraceObject *trace);
/* One node of a primitive in the current trace. */
PyObject *trace_op(mica_op op, PyObject *const *operands, int32_t n,
                   const mica_attribute *attributes);
PyObject *trace_constant(TraceObject *trace, const mica_type *type, const void *bytes, bool weak);
PyObject *trace_current_object(PyObject *module, PyObject *unused);
PyObject *trace_is_active(PyObject *module, PyObject *unused);
/* A weak value as f32 or i32, others as they are (new reference). */
PyObject *traced_strengthen(PyObject *array);
PyObject *strengthen_function(PyObject *module, PyObject *array);

/* ---- graph.c ----------------------------------------------------------------------------------*/

PyObject *graph_object(mica_graph *graph, PyObject *held); /* retains both */
PyObject *type_to_object(const mica_type *type);           /* (shape, dtype) */
int type_from_object(PyObject *object, mica_type *out_type);

/* ---- transform.c, control.c, callback.c, tree.c
 * -------------------------------------------------*/

extern PyMethodDef arrays_methods[], transform_methods[], control_methods[], layers_methods[],
    tree_methods[], callback_methods[];

/* Values in the current trace from a sequence of arrays (None gives the null value when allowed).
 * Free with PyMem_Free; NULL with an error set. */
mica_value *lift_sequence(TraceObject *trace, PyObject *sequence, bool allow_none, int32_t *out_n);
/* A list of Traced; the null value becomes None. */
PyObject *traced_list(TraceObject *trace, const mica_value *values, int32_t n);
/* The current trace, or NULL with an error that names the caller. */
TraceObject *trace_require(const char *caller);

#endif
