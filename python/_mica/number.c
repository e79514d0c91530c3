/* The operators of Tensor and Traced. Python scalars adopt the array's dtype; two arrays must have
 * the same one. `a + b` of two Tensors goes straight to mica_eager. */
#include "extension.h"

#include <string.h>

static bool is_float_array(PyObject *array) {
    mica_dtype_kind kind = mica_dtype_kind_of(array_type(array)->dtype);
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
}

static bool is_weak(PyObject *array) {
    return is_traced(array) && ((TracedObject *)array)->weak;
}

/* An array of integers or bools that no other operand tells its dtype. */
static bool is_whole(PyObject *array) {
    return !is_float_array(array) && !is_weak(array);
}

/* Exchanges an array in a slot; false with an error, the slot then NULL. */
static bool convert_in_place(PyObject **slot, mica_dtype dtype) {
    PyObject *converted = array_convert(*slot, dtype);
    Py_SETREF(*slot, converted);
    return converted != NULL;
}

/* An array and what stands beside it, as arrays: the rule of dtypes, which docs/jax_pytorch.md
 * tells. Two Mica arrays stay as they are, so nothing widens unasked. Scalars, numpy's arrays and
 * lists take the array's dtype where that is a float one; beside fractions integers become f32. */
static bool pair_from(PyObject *array, PyObject *other, PyObject *pair[2]) {
    bool is_scalar = is_weak_scalar(other) || PyComplex_Check(other), has_fraction;
    pair[0] = Py_NewRef(array);
    pair[1] = is_scalar ? NULL : as_operand(other, array);
    if (!is_scalar && !pair[1]) return false;
    if (is_array(other)) {
        if (is_whole(array) && is_weak(other) && is_float_array(other))
            return convert_in_place(&pair[0], MICA_DTYPE_f32);
        if (is_whole(other) && is_weak(array) && is_float_array(array))
            return convert_in_place(&pair[1], MICA_DTYPE_f32);
        return true;
    }
    has_fraction = is_scalar ? PyFloat_Check(other) : is_float_array(pair[1]);
    if (has_fraction && is_whole(array) && !convert_in_place(&pair[0], MICA_DTYPE_f32))
        return false;
    if (is_scalar) return (pair[1] = as_operand(other, pair[0])) != NULL;
    mica_dtype dtype = array_type(pair[0])->dtype, given = array_type(pair[1])->dtype;
    bool loses_part = mica_dtype_kind_of(given) == MICA_KIND_COMPLEX &&
                      mica_dtype_kind_of(dtype) != MICA_KIND_COMPLEX;
    if (is_weak(array) || !is_float_array(pair[0]) || loses_part) return true;
    return convert_in_place(&pair[1], dtype);
}

/* Converts both operands; false with an error. */
static bool both_operands(PyObject *a, PyObject *b, PyObject *out[2]) {
    PyObject *pair[2];
    bool is_first = is_array(a);
    bool ok = pair_from(is_first ? a : b, is_first ? b : a, pair);
    if (!ok) {
        Py_XDECREF(pair[0]);
        Py_XDECREF(pair[1]);
        return false;
    }
    out[0] = pair[!is_first];
    out[1] = pair[is_first];
    return true;
}

/* Objects that are no numbers and no arrays leave the operator to the other operand. */
static bool is_operand(PyObject *object) {
    return is_array(object) || is_weak_scalar(object) || PyObject_CheckBuffer(object) ||
           PyList_Check(object) || PyTuple_Check(object) || PyIndex_Check(object) ||
           PyFloat_Check(object) || PyComplex_Check(object) ||
           PyObject_HasAttrString(object, "__array__");
}

static PyObject *binary_slow(mica_op op, PyObject *a, PyObject *b) {
    PyObject *operands[2];
    if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
    if (!both_operands(a, b, operands)) return NULL;
    PyObject *result = apply_op(op, operands, 2, NULL);
    Py_DECREF(operands[0]);
    Py_DECREF(operands[1]);
    return result;
}

static inline PyObject *binary(mica_op op, PyObject *a, PyObject *b) {
    if (is_tensor(a) && is_tensor(b)) return apply_op(op, (PyObject *[]){a, b}, 2, NULL);
    return binary_slow(op, a, b);
}

#define BINARY(name)                                                                               \
    static PyObject *number_##name(PyObject *a, PyObject *b) {                                     \
        return binary(MICA_OP_##name, a, b);                                                       \
    }
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(and)
BINARY(or)
BINARY(xor)
BINARY(shl)

/* Keeps the sign of signed integers. */
static PyObject *number_shift_right(PyObject *a, PyObject *b) {
    PyObject *array = is_array(a) ? a : b;
    bool is_signed = mica_dtype_kind_of(array_type(array)->dtype) == MICA_KIND_SIGNED;
    return binary(is_signed ? MICA_OP_sar : MICA_OP_shr, a, b);
}

#define UNARY(name)                                                                                \
    static PyObject *number_##name(PyObject *a) {                                                  \
        return apply1(MICA_OP_##name, a);                                                          \
    }
UNARY(neg)
UNARY(abs)
UNARY(not )

static PyObject *number_positive(PyObject *a) {
    Py_INCREF(a);
    return a;
}

/* Integers are divided as f32. */
static PyObject *number_divide(PyObject *a, PyObject *b) {
    PyObject *operands[2], *result = NULL;
    if (is_tensor(a) && is_tensor(b) && is_float_array(a)) return binary(MICA_OP_div, a, b);
    if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
    if (!both_operands(a, b, operands)) return NULL;
    bool ok = is_float_array(operands[0]) || is_float_array(operands[1]) ||
              (convert_in_place(&operands[0], MICA_DTYPE_f32) &&
               convert_in_place(&operands[1], MICA_DTYPE_f32));
    if (ok) result = apply_op(MICA_OP_div, operands, 2, NULL);
    Py_XDECREF(operands[0]);
    Py_XDECREF(operands[1]);
    return result;
}

/* A chain of primitives whose intermediate results are dropped at the end: each step consumes no
 * reference, adds its result, and does nothing after a failure. */
typedef struct chain {
    PyObject *values[24];
    int n;
    bool failed;
} chain;

static PyObject *keep(chain *c, PyObject *value) {
    if (!value) c->failed = true;
    if (value) c->values[c->n++] = value;
    return value;
}

static PyObject *step(chain *c, mica_op op, PyObject *a, PyObject *b, PyObject *third) {
    if (c->failed) return NULL;
    PyObject *operands[3] = {a, b, third};
    return keep(c, apply_op(op, operands, third ? 3 : b ? 2 : 1, NULL));
}

static PyObject *step_compare(chain *c, const char *direction, PyObject *a, PyObject *b) {
    if (c->failed) return NULL;
    mica_attribute attribute = {.string = direction};
    return keep(c, apply_op(MICA_OP_compare, (PyObject *[]){a, b}, 2, &attribute));
}

static PyObject *chain_end(chain *c, PyObject *result) {
    if (c->failed) result = NULL;
    Py_XINCREF(result);
    for (int i = 0; i < c->n; i++) Py_DECREF(c->values[i]);
    return result;
}

/* Where trunc and floor differ: the remainder is not zero and its sign is not the divisor's. */
static PyObject *rounds_down(chain *c, PyObject *remainder, PyObject *b) {
    PyObject *zero = c->failed ? NULL : keep(c, scalar_like(b, 0));
    PyObject *inexact = step_compare(c, "ne", remainder, zero);
    PyObject *remainder_negative = step_compare(c, "lt", remainder, zero);
    PyObject *divisor_negative = step_compare(c, "lt", b, zero);
    PyObject *differ = step(c, MICA_OP_xor, remainder_negative, divisor_negative, NULL);
    return step(c, MICA_OP_and, inexact, differ, NULL);
}

/* floor(a / b), exact where it is an integer that the dtype holds. */
static PyObject *floor_divide(PyObject *a, PyObject *b) {
    chain c = {.n = 0};
    PyObject *remainder = step(&c, MICA_OP_rem, a, b, NULL);
    PyObject *down = rounds_down(&c, remainder, b);
    PyObject *one = c.failed ? NULL : keep(&c, scalar_like(b, 1));
    PyObject *quotient, *result;
    if (is_float_array(a)) {
        PyObject *whole = step(&c, MICA_OP_sub, a, remainder, NULL);
        quotient = step(&c, MICA_OP_div, whole, b, NULL);
        quotient = step(&c, MICA_OP_round, quotient, NULL, NULL);
    } else {
        quotient = step(&c, MICA_OP_div, a, b, NULL);
    }
    PyObject *lower = step(&c, MICA_OP_sub, quotient, one, NULL);
    result = step(&c, MICA_OP_select, down, lower, quotient);
    if (is_float_array(a)) { /* a / 0 is infinite or NaN, as in Python's C */
        PyObject *zero = c.failed ? NULL : keep(&c, scalar_like(b, 0));
        PyObject *by_zero = step_compare(&c, "eq", b, zero);
        PyObject *plain = step(&c, MICA_OP_div, a, b, NULL);
        plain = step(&c, MICA_OP_floor, plain, NULL, NULL);
        result = step(&c, MICA_OP_select, by_zero, plain, result);
    }
    return chain_end(&c, result);
}

/* a - b floor(a / b): with the sign of b, as in Python. */
static PyObject *modulo(PyObject *a, PyObject *b) {
    chain c = {.n = 0};
    PyObject *remainder = step(&c, MICA_OP_rem, a, b, NULL);
    PyObject *down = rounds_down(&c, remainder, b);
    PyObject *shifted = step(&c, MICA_OP_add, remainder, b, NULL);
    return chain_end(&c, step(&c, MICA_OP_select, down, shifted, remainder));
}

static PyObject *composed(PyObject *a, PyObject *b, PyObject *(*compose)(PyObject *, PyObject *)) {
    PyObject *operands[2];
    if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
    if (!both_operands(a, b, operands)) return NULL;
    PyObject *result = compose(operands[0], operands[1]);
    Py_DECREF(operands[0]);
    Py_DECREF(operands[1]);
    return result;
}

static PyObject *number_floor_divide(PyObject *a, PyObject *b) {
    return composed(a, b, floor_divide);
}
static PyObject *number_modulo(PyObject *a, PyObject *b) {
    return composed(a, b, modulo);
}
static PyObject *number_divmod(PyObject *a, PyObject *b) {
    PyObject *quotient = number_floor_divide(a, b);
    if (!quotient || quotient == Py_NotImplemented) return quotient;
    PyObject *remainder = number_modulo(a, b);
    return remainder ? Py_BuildValue("NN", quotient, remainder) : (Py_DECREF(quotient), NULL);
}

/* Small whole exponents are multiplications, for integers, too. */
static PyObject *whole_power(PyObject *base, long exponent) {
    chain c = {.n = 0};
    PyObject *square = base, *result = NULL;
    for (long rest = exponent; rest > 0 && !c.failed; rest >>= 1) {
        if (rest & 1) result = result ? step(&c, MICA_OP_mul, result, square, NULL) : square;
        if (rest > 1) square = step(&c, MICA_OP_mul, square, square, NULL);
    }
    if (!result && !c.failed) {
        PyObject *one = keep(&c, scalar_like(base, 1));
        const mica_type *type = array_type(base);
        if (one) result = keep(&c, array_broadcast(one, type->dims, type->rank));
    }
    return chain_end(&c, result);
}

static PyObject *number_power(PyObject *a, PyObject *b, PyObject *modulus) {
    if (modulus != Py_None) {
        PyErr_SetString(PyExc_TypeError, "[pow] with a modulus is not defined for arrays");
        return NULL;
    }
    if (is_array(a) && PyLong_CheckExact(b)) {
        long exponent = PyLong_AsLong(b);
        if (exponent == -1 && PyErr_Occurred()) PyErr_Clear();
        if (exponent >= 0 && exponent <= (is_float_array(a) ? 8 : 64))
            return whole_power(a, exponent);
        if (!is_float_array(a)) {
            PyErr_Format(
                PyExc_ValueError,
                "[pow] integers have no power %R: give an exponent from 0 to 64, or a float array",
                b);
            return NULL;
        }
    }
    return binary(MICA_OP_pow, a, b);
}

PyObject *array_compare(PyObject *a, PyObject *b, int operation) {
    static const char *const directions[] = {
        [Py_LT] = "lt", [Py_LE] = "le", [Py_EQ] = "eq",
        [Py_NE] = "ne", [Py_GT] = "gt", [Py_GE] = "ge",
    };
    mica_attribute direction = {.string = directions[operation]};
    PyObject *operands[2];
    if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
    if (!both_operands(a, b, operands)) return NULL;
    PyObject *result = apply_op(MICA_OP_compare, operands, 2, &direction);
    Py_DECREF(operands[0]);
    Py_DECREF(operands[1]);
    return result;
}

/* ---- matmul: numpy's rule
 * ------------------------------------------------------------------------*/

static PyObject *dot(PyObject *a, PyObject *b, int32_t batch, int32_t lhs, int32_t rhs) {
    int64_t axes[MICA_MAX_RANK], lhs_contract = lhs, rhs_contract = rhs;
    for (int32_t i = 0; i < batch; i++) axes[i] = i;
    mica_attribute attributes[4] = {{.ints = {&lhs_contract, 1}},
                                    {.ints = {&rhs_contract, 1}},
                                    {.ints = {axes, batch}},
                                    {.ints = {axes, batch}}};
    return apply_op(MICA_OP_dot, (PyObject *[]){a, b}, 2, attributes);
}

/* The leading axes of both stretched to one shape. */
static int batch_shape(const mica_type *a, const mica_type *b, int64_t *dims, int32_t *out_n) {
    int32_t na = a->rank - 2, nb = b->rank - 2, n = na > nb ? na : nb;
    for (int32_t i = 0; i < n; i++) {
        int64_t da = i < n - na ? 1 : a->dims[i - (n - na)];
        int64_t db = i < n - nb ? 1 : b->dims[i - (n - nb)];
        if (da != db && da != 1 && db != 1) {
            char left[256], right[256];
            mica_type_format(a, left, sizeof left);
            mica_type_format(b, right, sizeof right);
            PyErr_Format(PyExc_ValueError, "[matmul] batch dimensions differ: %s x %s", left,
                         right);
            return -1;
        }
        dims[i] = da == 1 ? db : da;
    }
    *out_n = n;
    return 0;
}

static PyObject *batched_matmul(PyObject *a, PyObject *b) {
    mica_type ta = *array_type(a), tb = *array_type(b);
    int64_t dims[MICA_MAX_RANK];
    int32_t n;
    if (batch_shape(&ta, &tb, dims, &n) < 0) return NULL;
    memcpy(dims + n, ta.dims + ta.rank - 2, 2 * sizeof *dims);
    PyObject *left = array_broadcast(a, dims, n + 2);
    memcpy(dims + n, tb.dims + tb.rank - 2, 2 * sizeof *dims);
    PyObject *right = left ? array_broadcast(b, dims, n + 2) : NULL;
    PyObject *result = right ? dot(left, right, n, n + 1, n) : NULL;
    Py_XDECREF(left);
    Py_XDECREF(right);
    return result;
}

static PyObject *matmul(PyObject *a, PyObject *b) {
    const mica_type *ta = array_type(a), *tb = array_type(b);
    if (ta->rank == 0 || tb->rank == 0) {
        PyErr_SetString(PyExc_ValueError, "[matmul] operands must have at least one axis");
        return NULL;
    }
    /* One matrix, or a vector, is multiplied once for all of the other's rows. */
    if (ta->rank == 1 || tb->rank <= 2)
        return dot(a, b, 0, ta->rank - 1, tb->rank == 1 ? 0 : tb->rank - 2);
    return batched_matmul(a, b);
}

PyObject *array_matmul(PyObject *a, PyObject *b) {
    return composed(a, b, matmul);
}

#define SHARED_SLOTS                                                                               \
    .nb_add = number_add, .nb_subtract = number_sub, .nb_multiply = number_mul,                    \
    .nb_remainder = number_modulo, .nb_divmod = number_divmod, .nb_power = number_power,           \
    .nb_negative = number_neg, .nb_positive = number_positive, .nb_absolute = number_abs,          \
    .nb_invert = number_not, .nb_lshift = number_shl, .nb_rshift = number_shift_right,             \
    .nb_and = number_and, .nb_xor = number_xor, .nb_or = number_or,                                \
    .nb_floor_divide = number_floor_divide, .nb_true_divide = number_divide,                       \
    .nb_matrix_multiply = array_matmul

PyNumberMethods array_number = {SHARED_SLOTS};
PyNumberMethods traced_number = {SHARED_SLOTS};
