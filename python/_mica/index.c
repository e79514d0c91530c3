/* Indexing: x[1, 2:8:3, ..., None, ::-1] as slice, reverse, dynamic_slice and reshape nodes.
 *
 * An int takes one element of an axis away, a slice keeps the axis, None adds one, an ellipsis
 * stands for as many full slices as are missing. A traced integer scalar takes one element by
 * dynamic_slice: out of range it is clamped, since its value is unknown while tracing. Arrays as
 * indices are gathered by mica/_index.py. */
#include "extension.h"

#include <string.h>

typedef struct selection {
    int64_t start[MICA_MAX_RANK], limit[MICA_MAX_RANK], stride[MICA_MAX_RANK];
    int64_t reversed[MICA_MAX_RANK];
    int32_t n_reversed;
    PyObject *dynamic[MICA_MAX_RANK]; /* borrowed: a traced index of this axis, or NULL */
    bool any_dynamic, cut;
    int64_t shape[MICA_MAX_RANK]; /* of the result */
    int32_t rank;                 /* of the result */
    int32_t axis;                 /* the next axis of the operand */
} selection;

static bool is_integer_scalar(PyObject *object) {
    if (!is_array(object) || array_type(object)->rank != 0) return false;
    mica_dtype_kind kind = mica_dtype_kind_of(array_type(object)->dtype);
    return kind == MICA_KIND_SIGNED || kind == MICA_KIND_UNSIGNED;
}

static bool is_int_index(PyObject *object) {
    return PyIndex_Check(object) && !PyBool_Check(object) &&
           (!is_array(object) || is_integer_scalar(object));
}

static int push_size(selection *s, int64_t size) {
    if (s->rank == MICA_MAX_RANK) {
        PyErr_Format(PyExc_IndexError, "[index] more than %d axes", MICA_MAX_RANK);
        return -1;
    }
    s->shape[s->rank++] = size;
    return 0;
}

static int take_int(selection *s, const mica_type *type, PyObject *object) {
    int32_t axis = s->axis++;
    if (is_traced(object)) {
        s->dynamic[axis] = object;
        s->any_dynamic = true;
        return 0;
    }
    Py_ssize_t size = type->dims[axis], i = PyNumber_AsSsize_t(object, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) return -1;
    if (i < -size || i >= size) {
        PyErr_Format(PyExc_IndexError, "[index] %zd is out of range for axis %d of size %zd", i,
                     axis, size);
        return -1;
    }
    s->start[axis] = i < 0 ? i + size : i;
    s->limit[axis] = s->start[axis] + 1;
    s->cut = true;
    return 0;
}

static int take_slice(selection *s, const mica_type *type, PyObject *slice) {
    int32_t axis = s->axis++;
    Py_ssize_t start, stop, stride, size = type->dims[axis];
    if (PySlice_Unpack(slice, &start, &stop, &stride) < 0) return -1;
    Py_ssize_t n = PySlice_AdjustIndices(size, &start, &stop, stride);
    if (n == 0) {
        s->start[axis] = s->limit[axis] = 0;
        s->cut = true;
        return push_size(s, 0);
    }
    Py_ssize_t last = start + (n - 1) * stride;
    s->start[axis] = stride > 0 ? start : last;
    s->limit[axis] = (stride > 0 ? last : start) + 1;
    s->stride[axis] = stride > 0 ? stride : -stride;
    if (stride < 0 && n > 1) s->reversed[s->n_reversed++] = axis;
    s->cut = s->cut || n != size;
    return push_size(s, n);
}

static int take_rest(selection *s, const mica_type *type, int32_t until) {
    while (s->axis < until)
        if (push_size(s, type->dims[s->axis++]) < 0) return -1;
    return 0;
}

static int select_items(selection *s, const mica_type *type, PyObject *const *items, Py_ssize_t n) {
    Py_ssize_t taken = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (items[i] == Py_Ellipsis)
            ellipses++;
        else if (items[i] != Py_None)
            taken++;
    }
    if (ellipses > 1 || taken > type->rank) {
        PyErr_Format(PyExc_IndexError,
                     ellipses > 1 ? "[index] more than one ellipsis"
                                  : "[index] %zd indices for %d axes",
                     taken, type->rank);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        int result;
        if (items[i] == Py_None)
            result = push_size(s, 1);
        else if (items[i] == Py_Ellipsis)
            result = take_rest(s, type, s->axis + type->rank - (int32_t)taken);
        else if (PySlice_Check(items[i]))
            result = take_slice(s, type, items[i]);
        else if (is_int_index(items[i]))
            result = take_int(s, type, items[i]);
        else {
            PyErr_Format(PyExc_IndexError,
                         "[index] an index is an int, a slice, an ellipsis, None or an array, "
                         "not %s",
                         Py_TYPE(items[i])->tp_name);
            return -1;
        }
        if (result < 0) return -1;
    }
    return take_rest(s, type, type->rank);
}

/* The start vector of dynamic_slice, negative indices counted from the end. */
static PyObject *dynamic_start(const selection *s, const mica_type *type) {
    PyObject *parts[MICA_MAX_RANK] = {NULL}, *start = NULL;
    int64_t one = 1;
    bool ok = true;
    for (int32_t i = 0; ok && i < type->rank; i++) {
        PyObject *scalar;
        if (s->dynamic[i]) {
            PyObject *index = array_convert(s->dynamic[i], MICA_DTYPE_i32);
            PyObject *zero = index ? scalar_like(index, 0) : NULL;
            PyObject *size = zero ? scalar_like(index, (double)type->dims[i]) : NULL;
            PyObject *negative = size ? array_compare(index, zero, Py_LT) : NULL;
            PyObject *wrapped = negative ? apply2(MICA_OP_add, index, size) : NULL;
            PyObject *choice[3] = {negative, wrapped, index};
            scalar = wrapped ? apply_op(MICA_OP_select, choice, 3, NULL) : NULL;
            Py_XDECREF(index);
            Py_XDECREF(zero);
            Py_XDECREF(size);
            Py_XDECREF(negative);
            Py_XDECREF(wrapped);
        } else {
            mica_type i32 = mica_type_scalar(MICA_DTYPE_i32);
            scalar = trace_constant(trace_current(), &i32, &(int32_t){0}, false);
        }
        parts[i] = scalar ? array_reshape(scalar, &one, 1) : NULL;
        Py_XDECREF(scalar);
        ok = parts[i] != NULL;
    }
    mica_attribute axis = {.integer = 0};
    if (ok) start = apply_op(MICA_OP_concat, parts, type->rank, &axis);
    for (int32_t i = 0; i < type->rank; i++) Py_XDECREF(parts[i]);
    return start;
}

static PyObject *take_dynamic(PyObject *self, const selection *s) {
    if (!trace_require("index")) return NULL;
    mica_type type = *array_type(self);
    PyObject *start = dynamic_start(s, &type);
    if (!start) return NULL;
    int64_t sizes[MICA_MAX_RANK];
    for (int32_t i = 0; i < type.rank; i++) sizes[i] = s->dynamic[i] ? 1 : type.dims[i];
    mica_attribute attribute = {.ints = {sizes, type.rank}};
    PyObject *result = apply_op(MICA_OP_dynamic_slice, (PyObject *[]){self, start}, 2, &attribute);
    Py_DECREF(start);
    return result;
}

static PyObject *take_selection(PyObject *self, selection *s) {
    int32_t rank = array_type(self)->rank;
    PyObject *result = self;
    Py_INCREF(result);
    if (s->cut) {
        mica_attribute attributes[3] = {
            {.ints = {s->start, rank}}, {.ints = {s->limit, rank}}, {.ints = {s->stride, rank}}};
        Py_SETREF(result, apply_op(MICA_OP_slice, &result, 1, attributes));
    }
    if (result && s->n_reversed) {
        mica_attribute axes = {.ints = {s->reversed, s->n_reversed}};
        Py_SETREF(result, apply_op(MICA_OP_reverse, &result, 1, &axes));
    }
    if (result && s->any_dynamic) Py_SETREF(result, take_dynamic(result, s));
    if (!result) return NULL;
    const mica_type *type = array_type(result);
    if (type->rank != s->rank || memcmp(type->dims, s->shape, (size_t)s->rank * sizeof *s->shape))
        Py_SETREF(result, array_reshape(result, s->shape, s->rank));
    return result;
}

/* Of rank 1 or more: an array, a list, or another library's array. */
static bool is_index_array(PyObject *item) {
    if (PyLong_CheckExact(item) || PySlice_Check(item) || item == Py_None || item == Py_Ellipsis)
        return false;
    if (is_array(item)) return array_type(item)->rank > 0;
    if (PyList_Check(item)) return true;
    if (PyFloat_Check(item) || PyBool_Check(item)) return false;
    PyObject *rank = PyObject_GetAttrString(item, "ndim");
    bool found = rank && PyLong_Check(rank) && PyLong_AsLong(rank) > 0;
    Py_XDECREF(rank);
    PyErr_Clear();
    return found;
}

static PyObject *take_arrays(PyObject *self, PyObject *key) {
    PyObject *module = PyImport_ImportModule("mica._index");
    PyObject *items = PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
    PyObject *result =
        module && items ? PyObject_CallMethod(module, "subscript", "OO", self, items) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(items);
    return result;
}

PyObject *array_subscript(PyObject *self, PyObject *key) {
    mica_type type = *array_type(self);
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (is_index_array(PyTuple_Check(key) ? PyTuple_GET_ITEM(key, i) : key))
            return take_arrays(self, key);
    selection s;
    memset(&s, 0, sizeof s);
    for (int32_t i = 0; i < type.rank; i++) {
        s.limit[i] = type.dims[i];
        s.stride[i] = 1;
    }
    int failed = PyTuple_Check(key)
                     ? select_items(&s, &type, PySequence_Fast_ITEMS(key), PyTuple_GET_SIZE(key))
                     : select_items(&s, &type, &key, 1);
    return failed ? NULL : take_selection(self, &s);
}

PyObject *array_item_at(PyObject *self, Py_ssize_t i) {
    const mica_type *type = array_type(self);
    if (type->rank > 0 && (i < 0 || i >= type->dims[0])) {
        PyErr_Format(PyExc_IndexError, "[index] %zd is out of range for axis 0 of size %lld", i,
                     (long long)type->dims[0]);
        return NULL;
    }
    PyObject *index = PyLong_FromSsize_t(i);
    PyObject *item = index ? array_subscript(self, index) : NULL;
    Py_XDECREF(index);
    return item;
}

Py_ssize_t array_length(PyObject *self) {
    const mica_type *type = array_type(self);
    if (type->rank > 0) return (Py_ssize_t)type->dims[0];
    PyErr_SetString(PyExc_TypeError, "[len] an array without axes has no length");
    return -1;
}

PyObject *array_iter(PyObject *self) {
    if (array_type(self)->rank > 0) return PySeqIter_New(self);
    PyErr_SetString(PyExc_TypeError, "[iter] an array without axes cannot be iterated");
    return NULL;
}
