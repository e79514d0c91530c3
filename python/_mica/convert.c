/* Python data as tensors and back: scalars, nested sequences, buffers.
 *
 * bool, int and float default to bool, i32 and f32. Values that a dtype cannot hold are errors. */
#include "extension.h"

#include <math.h>
#include <string.h>

/* ---- one element
 * --------------------------------------------------------------------------------*/

/* A small format as IEEE lays floats out. Where `all_finite`, the last number alone is NaN, and
 * what is too large becomes that. */
typedef struct small_format {
    int exponent_bits, mantissa_bits;
    bool all_finite;
} small_format;

static const small_format half = {5, 10, false}, brain = {8, 7, false}, e4m3fn = {4, 3, true},
                          e5m2 = {5, 2, false};

/* A double rounded to nearest, ties to even. */
static uint32_t pack_float(double x, small_format format) {
    int exponent_bits = format.exponent_bits, mantissa_bits = format.mantissa_bits;
    uint32_t bias = (1u << (exponent_bits - 1)) - 1, top = (1u << exponent_bits) - 1;
    uint32_t sign = signbit(x) ? 1u << (exponent_bits + mantissa_bits) : 0;
    uint32_t last = (top + 1) << mantissa_bits, too_large = top << mantissa_bits;
    if (format.all_finite) too_large = last - 1;
    if (isnan(x)) return sign | too_large | 1u << (mantissa_bits - 1);
    if (isinf(x)) return sign | too_large;
    int exponent;
    double fraction = frexp(fabs(x), &exponent); /* |x| = fraction 2^exponent, in [1/2, 1) */
    int64_t field = exponent - 1 + (int64_t)bias;
    uint32_t bits;
    if (x == 0 || field < -mantissa_bits - 1)
        bits = 0;
    else if (field <= 0)
        bits = (uint32_t)rint(ldexp(fabs(x), (int)bias - 1 + mantissa_bits));
    else if (field > top)
        bits = too_large;
    else /* rounding up carries into the exponent by itself */
        bits =
            (uint32_t)(((uint64_t)field << mantissa_bits) +
                       (uint64_t)rint(ldexp(fraction, mantissa_bits + 1)) - (1u << mantissa_bits));
    return sign | (bits > too_large ? too_large : bits);
}

static double unpack_float(uint32_t bits, small_format format) {
    int exponent_bits = format.exponent_bits, mantissa_bits = format.mantissa_bits;
    uint32_t bias = (1u << (exponent_bits - 1)) - 1, top = (1u << exponent_bits) - 1;
    uint32_t mantissa = bits & ((1u << mantissa_bits) - 1), field = bits >> mantissa_bits & top;
    double magnitude;
    if (field == top && (!format.all_finite || mantissa == (1u << mantissa_bits) - 1))
        magnitude = mantissa ? NAN : INFINITY;
    else if (field == 0)
        magnitude = ldexp(mantissa, 1 - (int)bias - mantissa_bits);
    else
        magnitude = ldexp(mantissa + (1u << mantissa_bits), (int)field - (int)bias - mantissa_bits);
    return bits >> (exponent_bits + mantissa_bits) & 1 ? -magnitude : magnitude;
}

double element_to_double(const void *element, mica_dtype dtype) {
    switch (dtype) {
    case MICA_DTYPE_bool: return *(const uint8_t *)element != 0;
    case MICA_DTYPE_i8: return *(const int8_t *)element;
    case MICA_DTYPE_i16: return *(const int16_t *)element;
    case MICA_DTYPE_i32: return *(const int32_t *)element;
    case MICA_DTYPE_i64: return (double)*(const int64_t *)element;
    case MICA_DTYPE_u8: return *(const uint8_t *)element;
    case MICA_DTYPE_u16: return *(const uint16_t *)element;
    case MICA_DTYPE_u32: return *(const uint32_t *)element;
    case MICA_DTYPE_u64: return (double)*(const uint64_t *)element;
    case MICA_DTYPE_f16: return unpack_float(*(const uint16_t *)element, half);
    case MICA_DTYPE_bf16: return unpack_float(*(const uint16_t *)element, brain);
    case MICA_DTYPE_f8e4m3fn: return unpack_float(*(const uint8_t *)element, e4m3fn);
    case MICA_DTYPE_f8e5m2: return unpack_float(*(const uint8_t *)element, e5m2);
    case MICA_DTYPE_f32:
    case MICA_DTYPE_c64: return *(const float *)element;
    case MICA_DTYPE_f64:
    case MICA_DTYPE_c128: return *(const double *)element;
    default: return NAN;
    }
}

PyObject *element_to_object(const void *element, mica_dtype dtype) {
    switch (dtype) {
    case MICA_DTYPE_bool: return PyBool_FromLong(*(const uint8_t *)element);
    case MICA_DTYPE_i64: return PyLong_FromLongLong(*(const int64_t *)element);
    case MICA_DTYPE_u64: return PyLong_FromUnsignedLongLong(*(const uint64_t *)element);
    case MICA_DTYPE_c64:
        return PyComplex_FromDoubles(((const float *)element)[0], ((const float *)element)[1]);
    case MICA_DTYPE_c128:
        return PyComplex_FromDoubles(((const double *)element)[0], ((const double *)element)[1]);
    default: break;
    }
    double value = element_to_double(element, dtype);
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    bool is_float = kind == MICA_KIND_FLOAT || kind == MICA_KIND_FLOAT8;
    return is_float ? PyFloat_FromDouble(value) : PyLong_FromLongLong((long long)value);
}

static int raise_range(PyObject *scalar, mica_dtype dtype) {
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "%R does not fit dtype %s", scalar, mica_dtype_name(dtype));
    return -1;
}

static int raise_kind(PyObject *scalar, mica_dtype dtype) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%R (%s) cannot become dtype %s", scalar,
                 Py_TYPE(scalar)->tp_name, mica_dtype_name(dtype));
    return -1;
}

static int integer_to_element(PyObject *scalar, mica_dtype dtype, void *element) {
    if (!PyIndex_Check(scalar)) return raise_kind(scalar, dtype);
    PyObject *number = PyNumber_Index(scalar);
    if (!number) return -1;
    int result = 0;
    if (dtype == MICA_DTYPE_u64) {
        uint64_t value = PyLong_AsUnsignedLongLong(number);
        if (value == (uint64_t)-1 && PyErr_Occurred()) result = raise_range(scalar, dtype);
        memcpy(element, &value, 8);
    } else {
        int64_t value = PyLong_AsLongLong(number);
        int bits = (int)mica_dtype_bytes(dtype) * 8;
        bool is_signed = mica_dtype_kind_of(dtype) == MICA_KIND_SIGNED;
        int64_t high = is_signed ? (int64_t)(UINT64_MAX >> (65 - bits)) : ((int64_t)1 << bits) - 1;
        int64_t low = is_signed ? -high - 1 : 0;
        if ((value == -1 && PyErr_Occurred()) || value < low || value > high)
            result = raise_range(scalar, dtype);
        memcpy(element, &value, mica_dtype_bytes(dtype)); /* little-endian machines */
    }
    Py_DECREF(number);
    return result;
}

static void double_to_element(double value, mica_dtype dtype, void *element) {
    if (dtype == MICA_DTYPE_f64)
        memcpy(element, &value, 8);
    else if (dtype == MICA_DTYPE_f32)
        memcpy(element, &(float){(float)value}, 4);
    else if (dtype == MICA_DTYPE_f16)
        memcpy(element, &(uint16_t){(uint16_t)pack_float(value, half)}, 2);
    else if (dtype == MICA_DTYPE_bf16)
        memcpy(element, &(uint16_t){(uint16_t)pack_float(value, brain)}, 2);
    else
        *(uint8_t *)element =
            (uint8_t)pack_float(value, dtype == MICA_DTYPE_f8e4m3fn ? e4m3fn : e5m2);
}

int scalar_to_element(PyObject *scalar, mica_dtype dtype, void *element) {
    switch (mica_dtype_kind_of(dtype)) {
    case MICA_KIND_BOOLEAN:
        if (!PyBool_Check(scalar)) return raise_kind(scalar, dtype);
        *(uint8_t *)element = scalar == Py_True;
        return 0;
    case MICA_KIND_SIGNED:
    case MICA_KIND_UNSIGNED: return integer_to_element(scalar, dtype, element);
    case MICA_KIND_FLOAT:
    case MICA_KIND_FLOAT8: {
        double value = PyFloat_AsDouble(scalar);
        if (value == -1 && PyErr_Occurred()) return raise_kind(scalar, dtype);
        double_to_element(value, dtype, element);
        return 0;
    }
    case MICA_KIND_COMPLEX: {
        Py_complex value = PyComplex_AsCComplex(scalar);
        if (value.real == -1 && PyErr_Occurred()) return raise_kind(scalar, dtype);
        if (dtype == MICA_DTYPE_c64)
            memcpy(element, (float[]){(float)value.real, (float)value.imag}, 8);
        else
            memcpy(element, &value, 16);
        return 0;
    }
    }
    return -1;
}

/* ---- to lists
 * -----------------------------------------------------------------------------------*/

static PyObject *level_to_list(const mica_type *type, int32_t axis, const char **data) {
    if (axis == type->rank) {
        PyObject *element = element_to_object(*data, type->dtype);
        *data += mica_dtype_bytes(type->dtype);
        return element;
    }
    PyObject *list = PyList_New(type->dims[axis]);
    for (int64_t i = 0; list && i < type->dims[axis]; i++) {
        PyObject *item = level_to_list(type, axis + 1, data);
        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

PyObject *array_to_list(const mica_type *type, const void *data) {
    const char *at = data;
    return level_to_list(type, 0, &at);
}

/* ---- from nested sequences
 * ------------------------------------------------------------------------*/

typedef struct nesting {
    int64_t dims[MICA_MAX_RANK];
    int32_t rank;
    bool any_bool, any_int, any_float, any_complex;
} nesting;

/* Arrays and numpy scalars inside a list are taken apart; others stay (new reference). */
static PyObject *unwrap(PyObject *object) {
    if (!PyLong_Check(object) && !PyFloat_Check(object) && !PyList_Check(object) &&
        !PyTuple_Check(object) && PyObject_HasAttrString(object, "tolist"))
        return PyObject_CallMethod(object, "tolist", NULL);
    Py_INCREF(object);
    return object;
}

static int note_scalar(nesting *n, PyObject *object) {
    if (PyBool_Check(object))
        n->any_bool = true;
    else if (PyIndex_Check(object))
        n->any_int = true;
    else if (PyComplex_Check(object))
        n->any_complex = true;
    else if (PyFloat_Check(object) ||
             (Py_TYPE(object)->tp_as_number && Py_TYPE(object)->tp_as_number->nb_float))
        n->any_float = true;
    else {
        PyErr_Format(PyExc_TypeError, "[tensor] %R (%s) is no number", object,
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    return 0;
}

/* Finds the shape on the first way down; elsewhere compares. */
static int measure(nesting *n, PyObject *object, int32_t depth, bool first) {
    PyObject *data = unwrap(object);
    if (!data) return -1;
    int result = -1;
    if (!PyList_Check(data) && !PyTuple_Check(data)) {
        if (first) n->rank = depth;
        if (depth == n->rank)
            result = note_scalar(n, data);
        else
            PyErr_Format(PyExc_ValueError, "[tensor] a number where a list is expected at depth %d",
                         depth);
        goto done;
    }
    if (first && depth == MICA_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "[tensor] lists nest deeper than %d", MICA_MAX_RANK);
        goto done;
    }
    Py_ssize_t size = PySequence_Fast_GET_SIZE(data);
    if (first) n->dims[depth] = size;
    if (first && size == 0) n->rank = depth + 1;
    if (depth >= MICA_MAX_RANK || (!first && (depth >= n->rank || n->dims[depth] != size))) {
        PyErr_Format(PyExc_ValueError,
                     "[tensor] lists of different lengths at depth %d: %lld and %zd", depth,
                     depth < n->rank ? (long long)n->dims[depth] : 0LL, size);
        goto done;
    }
    for (Py_ssize_t i = 0; i < size; i++)
        if (measure(n, PySequence_Fast_GET_ITEM(data, i), depth + 1, first && i == 0) < 0)
            goto done;
    result = 0;
done:
    Py_DECREF(data);
    return result;
}

static int fill(PyObject *object, mica_dtype dtype, char **at) {
    PyObject *data = unwrap(object);
    if (!data) return -1;
    int result = 0;
    if (PyList_Check(data) || PyTuple_Check(data)) {
        for (Py_ssize_t i = 0; result == 0 && i < PySequence_Fast_GET_SIZE(data); i++)
            result = fill(PySequence_Fast_GET_ITEM(data, i), dtype, at);
    } else {
        PyObject *truth = NULL; /* asking for bool takes any number */
        if (dtype == MICA_DTYPE_bool && !PyBool_Check(data)) {
            int is_true = PyObject_IsTrue(data);
            if (is_true >= 0) truth = PyBool_FromLong(is_true);
        }
        result = PyErr_Occurred() ? -1 : scalar_to_element(truth ? truth : data, dtype, *at);
        Py_XDECREF(truth);
        *at += mica_dtype_bytes(dtype);
    }
    Py_DECREF(data);
    return result;
}

static mica_dtype default_dtype(const nesting *n) {
    if (n->any_complex) return MICA_DTYPE_c64;
    if (n->any_float) return MICA_DTYPE_f32;
    if (n->any_int) return MICA_DTYPE_i32;
    return n->any_bool ? MICA_DTYPE_bool : MICA_DTYPE_f32;
}

static PyObject *tensor_from_nested(PyObject *data, int dtype, mica_device *device) {
    nesting n = {.rank = 0};
    if (measure(&n, data, 0, true) < 0) return NULL;
    mica_dtype wanted = dtype < 0 ? default_dtype(&n) : (mica_dtype)dtype;
    bool float_to_integer =
        dtype >= 0 && n.any_float && mica_dtype_kind_of(wanted) < MICA_KIND_FLOAT;
    if (float_to_integer && wanted != MICA_DTYPE_bool) { /* truncates, as convert does */
        PyObject *floats = tensor_from_nested(data, MICA_DTYPE_f64, device);
        PyObject *converted = floats ? array_convert(floats, wanted) : NULL;
        Py_XDECREF(floats);
        return converted;
    }
    mica_type type = mica_type_make(wanted, (mica_ints){n.dims, n.rank});
    size_t bytes = mica_type_bytes(&type);
    char *memory = PyMem_Malloc(bytes ? bytes : 1), *at = memory;
    if (!memory) return PyErr_NoMemory();
    mica_tensor *tensor = NULL;
    PyObject *result = NULL;
    if (fill(data, wanted, &at) == 0) {
        mica_status status;
        mica_mark_caller_line();
        Py_BEGIN_ALLOW_THREADS;
        status = mica_tensor_from_host(device, &type, memory, &tensor);
        Py_END_ALLOW_THREADS;
        result = status ? raise_status(status) : tensor_take(tensor);
    }
    PyMem_Free(memory);
    return result;
}

/* ---- from buffers
 * -------------------------------------------------------------------------------*/

PyObject *tensor_from_buffer(const Py_buffer *view, int dtype, mica_device *device) {
    mica_dtype own;
    if (dtype_from_buffer_format(view->format, view->itemsize, &own) < 0) return NULL;
    if (view->ndim > MICA_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "[tensor] %d axes, at most %d are possible", view->ndim,
                     MICA_MAX_RANK);
        return NULL;
    }
    int64_t dims[MICA_MAX_RANK];
    for (int i = 0; i < view->ndim; i++) dims[i] = view->shape[i];
    mica_type type = mica_type_make(own, (mica_ints){dims, view->ndim});
    void *copy = NULL;
    if (!PyBuffer_IsContiguous((Py_buffer *)view, 'C')) {
        copy = PyMem_Malloc(view->len ? (size_t)view->len : 1);
        if (!copy) return PyErr_NoMemory();
        if (PyBuffer_ToContiguous(copy, (Py_buffer *)view, view->len, 'C') < 0) {
            PyMem_Free(copy);
            return NULL;
        }
    }
    mica_tensor *tensor = NULL;
    mica_status status;
    mica_mark_caller_line();
    Py_BEGIN_ALLOW_THREADS;
    status = mica_tensor_from_host(device, &type, copy ? copy : view->buf, &tensor);
    Py_END_ALLOW_THREADS;
    PyMem_Free(copy);
    if (status) return raise_status(status);
    PyObject *result = tensor_take(tensor);
    if (!result || dtype < 0 || dtype == (int)own) return result;
    PyObject *converted = array_convert(result, (mica_dtype)dtype);
    Py_DECREF(result);
    return converted;
}

static PyObject *tensor_from_array(PyObject *data, int dtype, mica_device *device) {
    PyObject *array = PyObject_CallMethod(data, "__array__", NULL);
    if (!array) return NULL;
    PyObject *result = NULL;
    if (PyObject_CheckBuffer(array))
        result = tensor_from_object(array, dtype, device);
    else
        PyErr_Format(PyExc_TypeError, "[tensor] __array__ of %R gave no buffer", data);
    Py_DECREF(array);
    return result;
}

/* A Tensor or Traced as asked for: another dtype, another device. */
static PyObject *tensor_from_own(PyObject *array, int dtype, mica_device *device) {
    PyObject *moved = array;
    Py_INCREF(moved);
    if (is_tensor(array) && device && device != mica_tensor_device(tensor_of(array))) {
        PyObject *place = device_object(device);
        PyObject *there = place ? PyObject_CallMethod(array, "to", "O", place) : NULL;
        Py_XDECREF(place);
        Py_SETREF(moved, there);
    }
    if (!moved || dtype < 0) return moved;
    PyObject *converted = array_convert(moved, (mica_dtype)dtype);
    Py_DECREF(moved);
    return converted;
}

PyObject *tensor_from_object(PyObject *data, int dtype, mica_device *device) {
    if (is_array(data)) return tensor_from_own(data, dtype, device);
    if (!device && !(device = device_default())) return NULL;
    if (PyObject_CheckBuffer(data)) {
        Py_buffer view;
        if (PyObject_GetBuffer(data, &view, PyBUF_FULL_RO) < 0) return NULL;
        PyObject *result = tensor_from_buffer(&view, dtype, device);
        PyBuffer_Release(&view);
        return result;
    }
    bool plain = PyLong_Check(data) || PyFloat_Check(data) || PyList_Check(data) ||
                 PyTuple_Check(data) || PyComplex_Check(data);
    if (!plain && PyObject_HasAttrString(data, "__array__"))
        return tensor_from_array(data, dtype, device);
    return tensor_from_nested(data, dtype, device);
}

PyObject *tensor_function(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", "dtype", "device", NULL};
    PyObject *data, *dtype_name = Py_None, *device_name = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:tensor", names, &data, &dtype_name,
                                     &device_name))
        return NULL;
    mica_dtype dtype = MICA_DTYPE_f32;
    if (dtype_name != Py_None && dtype_from_object(dtype_name, &dtype) < 0) return NULL;
    mica_device *device = NULL;
    if (device_name != Py_None && !(device = device_from_object(device_name))) return NULL;
    return tensor_from_object(data, dtype_name == Py_None ? -1 : (int)dtype, device);
}

/* ---- operands
 * -----------------------------------------------------------------------------------*/

bool is_weak_scalar(PyObject *object) {
    return PyLong_Check(object) || PyFloat_Check(object);
}

/* Scalars that eager operations used lately: x + 1 in a loop makes its 1 once. */
#define SCALAR_CACHE 64
static struct {
    mica_device *device;
    mica_dtype dtype;
    uint64_t bits;
    mica_tensor *tensor;
} scalar_cache[SCALAR_CACHE];

void scalar_cache_clear(void) {
    for (int i = 0; i < SCALAR_CACHE; i++) {
        if (scalar_cache[i].tensor) mica_tensor_release(scalar_cache[i].tensor);
        scalar_cache[i].tensor = NULL;
    }
}

static PyObject *cached_scalar(mica_device *device, mica_dtype dtype, const void *element) {
    mica_type type = mica_type_scalar(dtype);
    size_t bytes = mica_dtype_bytes(dtype);
    mica_tensor *tensor = NULL;
    uint64_t bits = 0;
    if (bytes <= 8) memcpy(&bits, element, bytes);
    uint64_t mixed = (bits ^ (uint64_t)dtype << 57 ^ (uintptr_t)device) * 0x9E3779B97F4A7C15u;
    int at = (int)(mixed >> 58);
    if (bytes <= 8 && scalar_cache[at].tensor && scalar_cache[at].bits == bits &&
        scalar_cache[at].dtype == dtype && scalar_cache[at].device == device) {
        mica_tensor_retain(scalar_cache[at].tensor);
        return tensor_take(scalar_cache[at].tensor);
    }
    mica_status status;
    mica_mark_caller_line();
    Py_BEGIN_ALLOW_THREADS;
    status = mica_tensor_from_host(device, &type, element, &tensor);
    Py_END_ALLOW_THREADS;
    if (status) return raise_status(status);
    if (bytes <= 8) {
        if (scalar_cache[at].tensor) mica_tensor_release(scalar_cache[at].tensor);
        mica_tensor_retain(tensor);
        scalar_cache[at].device = device;
        scalar_cache[at].dtype = dtype;
        scalar_cache[at].bits = bits;
        scalar_cache[at].tensor = tensor;
    }
    return tensor_take(tensor);
}

/* scalar(value, dtype, device): a rank 0 tensor, perhaps one that was used lately. */
PyObject *scalar_function(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n) {
    mica_dtype dtype;
    char element[16] = {0};
    if (n != 3) {
        PyErr_SetString(PyExc_TypeError, "[scalar] takes a value, a dtype and a device");
        return NULL;
    }
    mica_device *device = device_from_object(args[2]);
    if (!device || dtype_from_object(args[1], &dtype) < 0) return NULL;
    if (scalar_to_element(args[0], dtype, element) < 0) return NULL;
    return cached_scalar(device, dtype, element);
}

static PyObject *element_like(PyObject *like, mica_dtype dtype, const void *element, bool weak) {
    if (is_tensor(like)) return cached_scalar(mica_tensor_device(tensor_of(like)), dtype, element);
    TraceObject *trace = trace_current();
    mica_type type = mica_type_scalar(dtype);
    mica_value unused;
    if (!trace && !trace_lift(NULL, like, &unused)) return NULL; /* says that `like` has leaked */
    return trace_constant(trace, &type, element, weak);
}

PyObject *scalar_like(PyObject *like, double value) {
    mica_dtype dtype = array_type(like)->dtype;
    char element[16] = {0};
    PyObject *number = PyFloat_FromDouble(value), *result = NULL;
    bool weak = is_traced(like) && ((TracedObject *)like)->weak;
    if (number && mica_dtype_kind_of(dtype) < MICA_KIND_FLOAT)
        Py_SETREF(number, PyNumber_Long(number));
    if (number && dtype == MICA_DTYPE_bool) Py_SETREF(number, PyBool_FromLong(value != 0));
    if (number && scalar_to_element(number, dtype, element) == 0)
        result = element_like(like, dtype, element, weak);
    Py_XDECREF(number);
    return result;
}

PyObject *as_operand(PyObject *object, PyObject *like) {
    if (is_array(object)) {
        Py_INCREF(object);
        return object;
    }
    if (!like || !(is_weak_scalar(object) || PyComplex_Check(object))) {
        mica_device *device = like && is_tensor(like) ? mica_tensor_device(tensor_of(like)) : NULL;
        return tensor_from_object(object, -1, device);
    }
    char element[16] = {0};
    mica_dtype dtype = array_type(like)->dtype;
    bool weak = is_traced(like) && ((TracedObject *)like)->weak;
    if (weak) dtype = PyFloat_Check(object) ? MICA_DTYPE_f64 : dtype;
    if (scalar_to_element(object, dtype, element) < 0) return NULL;
    return element_like(like, dtype, element, weak);
}
