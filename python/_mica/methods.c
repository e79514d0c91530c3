/* Methods and properties that Tensor and Traced share, composed of primitives. */
#include "extension.h"

#include <string.h>

int32_t axis_within(int64_t axis, int32_t rank, const char *what) {
    if (axis >= -rank && axis < rank) return (int32_t)(axis < 0 ? axis + rank : axis);
    PyErr_Format(PyExc_ValueError, "[%s] axis %lld is out of range for %d axes", what,
                 (long long)axis, rank);
    return -1;
}

/* ---- shapes
 * -------------------------------------------------------------------------------------*/

PyObject *array_reshape(PyObject *self, const int64_t *dims, int32_t rank) {
    mica_attribute shape = {.ints = {dims, rank}};
    return apply_op(MICA_OP_reshape, &self, 1, &shape);
}

PyObject *array_convert(PyObject *self, mica_dtype dtype) {
    bool weak = is_traced(self) && ((TracedObject *)self)->weak;
    if (!weak && array_type(self)->dtype == dtype) {
        Py_INCREF(self);
        return self;
    }
    mica_attribute attribute = {.integer = dtype};
    return apply_op(MICA_OP_convert, &self, 1, &attribute);
}

PyObject *array_broadcast(PyObject *self, const int64_t *dims, int32_t rank) {
    const mica_type *type = array_type(self);
    if (type->rank == rank && !memcmp(type->dims, dims, (size_t)rank * sizeof *dims)) {
        Py_INCREF(self);
        return self;
    }
    if (type->rank > rank) {
        char text[256];
        mica_type_format(type, text, sizeof text);
        PyErr_Format(PyExc_ValueError, "[broadcast] %s has more axes than the %d asked for", text,
                     rank);
        return NULL;
    }
    int64_t axes[MICA_MAX_RANK];
    for (int32_t i = 0; i < type->rank; i++) axes[i] = rank - type->rank + i;
    mica_attribute attributes[2] = {{.ints = {dims, rank}}, {.ints = {axes, type->rank}}};
    return apply_op(MICA_OP_broadcast, &self, 1, attributes);
}

/* f(2, 3) and f((2, 3)) alike. */
static int32_t ints_from_args(PyObject *args, const char *what, int64_t *out) {
    bool one = PyTuple_GET_SIZE(args) == 1;
    return ints_from_object(one ? PyTuple_GET_ITEM(args, 0) : args, what, out);
}

static int refuse_keywords(PyObject *kwargs, const char *what) {
    if (!kwargs || PyDict_GET_SIZE(kwargs) == 0) return 0;
    PyErr_Format(PyExc_TypeError, "%s takes no keywords", what);
    return -1;
}

PyObject *array_method_reshape(PyObject *self, PyObject *args, PyObject *kwargs) {
    int64_t dims[MICA_MAX_RANK];
    if (refuse_keywords(kwargs, "reshape") < 0) return NULL;
    int32_t rank = ints_from_args(args, "[reshape] shape", dims), unknown = -1;
    if (rank < 0) return NULL;
    int64_t known = 1, total = mica_type_elements(array_type(self));
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] == -1 && unknown < 0)
            unknown = i;
        else
            known *= dims[i];
    }
    if (unknown >= 0) {
        if (known <= 0 || total % known != 0) {
            PyErr_Format(PyExc_ValueError, "[reshape] %lld elements do not divide by %lld",
                         (long long)total, (long long)known);
            return NULL;
        }
        dims[unknown] = total / known;
    }
    return array_reshape(self, dims, rank);
}

PyObject *array_method_flatten(PyObject *self, PyObject *args, PyObject *kwargs) {
    if (refuse_keywords(kwargs, "flatten") < 0 || !PyArg_ParseTuple(args, ":flatten")) return NULL;
    int64_t total = mica_type_elements(array_type(self));
    return array_reshape(self, &total, 1);
}

PyObject *array_method_broadcast_to(PyObject *self, PyObject *args, PyObject *kwargs) {
    int64_t dims[MICA_MAX_RANK];
    if (refuse_keywords(kwargs, "broadcast_to") < 0) return NULL;
    int32_t rank = ints_from_args(args, "[broadcast] shape", dims);
    return rank < 0 ? NULL : array_broadcast(self, dims, rank);
}

static PyObject *permute(PyObject *self, const int64_t *axes, int32_t n) {
    mica_attribute permutation = {.ints = {axes, n}};
    return apply_op(MICA_OP_transpose, &self, 1, &permutation);
}

static PyObject *reverse_axes(PyObject *self) {
    int64_t axes[MICA_MAX_RANK];
    int32_t rank = array_type(self)->rank;
    for (int32_t i = 0; i < rank; i++) axes[i] = rank - 1 - i;
    return permute(self, axes, rank);
}

PyObject *array_method_transpose(PyObject *self, PyObject *args, PyObject *kwargs) {
    int64_t axes[MICA_MAX_RANK];
    if (refuse_keywords(kwargs, "transpose") < 0) return NULL;
    bool all = PyTuple_GET_SIZE(args) == 0 ||
               (PyTuple_GET_SIZE(args) == 1 && PyTuple_GET_ITEM(args, 0) == Py_None);
    if (all) return reverse_axes(self);
    int32_t n = ints_from_args(args, "[transpose] axes", axes);
    if (n < 0) return NULL;
    int32_t rank = array_type(self)->rank;
    for (int32_t i = 0; i < n; i++) {
        int32_t axis = axis_within(axes[i], rank, "transpose");
        if (axis < 0) return NULL;
        axes[i] = axis;
    }
    return permute(self, axes, n);
}

PyObject *array_method_astype(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"dtype", NULL};
    PyObject *object;
    mica_dtype dtype;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:astype", names, &object)) return NULL;
    return dtype_from_object(object, &dtype) < 0 ? NULL : array_convert(self, dtype);
}

/* ---- reductions
 * ---------------------------------------------------------------------------------*/

typedef struct reduction {
    int64_t axes[MICA_MAX_RANK];
    int32_t n;
    int64_t kept[MICA_MAX_RANK]; /* the shape with the reduced axes as 1 */
    int64_t count;               /* elements that go into one result */
    int keepdims;
} reduction;

static int parse_reduction(PyObject *self, PyObject *args, PyObject *kwargs, const char *what,
                           reduction *r) {
    static char *names[] = {"axis", "keepdims", NULL};
    PyObject *axis = Py_None;
    r->keepdims = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op", names, &axis, &r->keepdims)) return -1;
    const mica_type *type = array_type(self);
    if (axis == Py_None) {
        r->n = type->rank;
        for (int32_t i = 0; i < r->n; i++) r->axes[i] = i;
    } else {
        char name[64];
        PyOS_snprintf(name, sizeof name, "[%s] axis", what);
        r->n = ints_from_object(axis, name, r->axes);
        if (r->n < 0) return -1;
    }
    memcpy(r->kept, type->dims, sizeof r->kept);
    r->count = 1;
    for (int32_t i = 0; i < r->n; i++) {
        int32_t at = axis_within(r->axes[i], type->rank, what);
        if (at < 0) return -1;
        r->axes[i] = at;
        r->count *= type->dims[at];
        r->kept[at] = 1;
    }
    return 0;
}

static PyObject *reduce(PyObject *self, const char *kind, const reduction *r) {
    mica_attribute attributes[2] = {{.string = kind}, {.ints = {r->axes, r->n}}};
    int32_t rank = array_type(self)->rank;
    PyObject *result = apply_op(MICA_OP_reduce, &self, 1, attributes);
    if (!result || !r->keepdims) return result;
    PyObject *kept = array_reshape(result, r->kept, rank);
    Py_DECREF(result);
    return kept;
}

#define REDUCTION(name)                                                                            \
    PyObject *array_method_##name(PyObject *self, PyObject *args, PyObject *kwargs) {              \
        reduction r;                                                                               \
        return parse_reduction(self, args, kwargs, #name, &r) < 0 ? NULL                           \
                                                                  : reduce(self, #name, &r);       \
    }
REDUCTION(sum)
REDUCTION(prod)
REDUCTION(max)
REDUCTION(min)

static PyObject *reduce_truth(PyObject *self, PyObject *args, PyObject *kwargs, const char *what,
                              const char *kind) {
    reduction r;
    if (parse_reduction(self, args, kwargs, what, &r) < 0) return NULL;
    PyObject *truth = array_convert(self, MICA_DTYPE_bool);
    PyObject *result = truth ? reduce(truth, kind, &r) : NULL;
    Py_XDECREF(truth);
    return result;
}

PyObject *array_method_any(PyObject *self, PyObject *args, PyObject *kwargs) {
    return reduce_truth(self, args, kwargs, "any", "or");
}

PyObject *array_method_all(PyObject *self, PyObject *args, PyObject *kwargs) {
    return reduce_truth(self, args, kwargs, "all", "and");
}

PyObject *array_method_mean(PyObject *self, PyObject *args, PyObject *kwargs) {
    reduction r;
    if (parse_reduction(self, args, kwargs, "mean", &r) < 0) return NULL;
    /* A sum of halves, or their number, may be beyond what they hold when the mean is not. */
    mica_dtype dtype = array_type(self)->dtype;
    bool is_half = dtype == MICA_DTYPE_f16 || dtype == MICA_DTYPE_bf16;
    bool is_whole = !mica_op_takes(MICA_OP_exp, dtype); /* its mean is an f32 */
    PyObject *wide = is_half || is_whole ? array_convert(self, MICA_DTYPE_f32) : Py_NewRef(self);
    PyObject *sum = wide ? reduce(wide, "sum", &r) : NULL;
    PyObject *count = sum ? scalar_like(sum, (double)r.count) : NULL;
    PyObject *mean = count ? apply2(MICA_OP_div, sum, count) : NULL;
    PyObject *result = mean && is_half ? array_convert(mean, dtype) : Py_XNewRef(mean);
    Py_XDECREF(wide);
    Py_XDECREF(sum);
    Py_XDECREF(count);
    Py_XDECREF(mean);
    return result;
}

static PyObject *arg_extreme(PyObject *self, PyObject *args, PyObject *kwargs, mica_op op) {
    static char *names[] = {"axis", "dtype", NULL};
    PyObject *axis = Py_None, *dtype_name = Py_None, *flat = NULL;
    mica_dtype dtype = MICA_DTYPE_i32;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &axis, &dtype_name)) return NULL;
    if (dtype_name != Py_None && dtype_from_object(dtype_name, &dtype) < 0) return NULL;
    int64_t along = 0;
    if (axis == Py_None) {
        int64_t total = mica_type_elements(array_type(self));
        flat = array_reshape(self, &total, 1);
        if (!flat) return NULL;
    } else {
        along = PyLong_AsLongLong(axis);
        if (along == -1 && PyErr_Occurred()) return NULL;
        along = axis_within(along, array_type(self)->rank, mica_op_describe(op)->name);
        if (along < 0) return NULL;
    }
    mica_attribute attributes[2] = {{.integer = along}, {.integer = dtype}};
    PyObject *result = apply_op(op, flat ? &flat : &self, 1, attributes);
    Py_XDECREF(flat);
    return result;
}

PyObject *array_method_argmax(PyObject *self, PyObject *args, PyObject *kwargs) {
    return arg_extreme(self, args, kwargs, MICA_OP_argmax);
}

PyObject *array_method_argmin(PyObject *self, PyObject *args, PyObject *kwargs) {
    return arg_extreme(self, args, kwargs, MICA_OP_argmin);
}

PyObject *array_method_conj(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "", names)) return NULL;
    return apply1(MICA_OP_conj, self);
}

/* ---- properties
 * ---------------------------------------------------------------------------------*/

PyObject *array_get_shape(PyObject *self, void *Py_UNUSED(unused)) {
    const mica_type *type = array_type(self);
    return ints_to_tuple(type->dims, type->rank);
}

PyObject *array_get_dtype(PyObject *self, void *Py_UNUSED(unused)) {
    mica_dtype dtype = array_type(self)->dtype;
    if (is_traced(self) && ((TracedObject *)self)->weak)
        dtype = dtype == MICA_DTYPE_f64 ? MICA_DTYPE_f32 : MICA_DTYPE_i32;
    return dtype_object(dtype);
}

PyObject *array_get_ndim(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromLong(array_type(self)->rank);
}

PyObject *array_get_size(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromLongLong(mica_type_elements(array_type(self)));
}

PyObject *array_get_real(PyObject *self, void *Py_UNUSED(unused)) {
    return apply1(MICA_OP_real, self);
}

PyObject *array_get_imag(PyObject *self, void *Py_UNUSED(unused)) {
    return apply1(MICA_OP_imag, self);
}

PyObject *array_get_T(PyObject *self, void *Py_UNUSED(unused)) {
    return reverse_axes(self);
}
