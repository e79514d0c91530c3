/* Operators of tensors. The other operand becomes a tensor of this tensor's dtype. */
#include "tf_extension.h"

#include <string.h>

/* Both operands as tensors; false: NotImplemented or an error. */
static int operands_of(PyObject *a, PyObject *b, bool loose, PyObject **x, PyObject **y) {
    bool first = tf_is_tensor(a);
    PyObject *mine = first ? a : b, *other = first ? b : a;
    /* Objects with their own idea of the operator (variables, Keras' tensors) go first. */
    if (!tf_is_tensor(other) && !PyLong_CheckExact(other) && !PyFloat_CheckExact(other) &&
        PyObject_HasAttrString((PyObject *)Py_TYPE(other), "_mica_own_operators"))
        return 0;
    /* On the left of a tensor, anything has to become one of its dtype. */
    bool hint = tf_is_tensor(other) || (first && (loose || !tf_is_plain(other)));
    PyObject *converted = tf_convert(other, tf_tensor_dtype((TFTensor *)mine), hint);
    if (!converted) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        if (PyLong_CheckExact(other) || PyFloat_CheckExact(other) || PyBool_Check(other) ||
            PyUnicode_Check(other) || PySequence_Check(other))
            return -1;
        PyErr_Clear();
        return 0;
    }
    Py_INCREF(mine);
    *x = first ? mine : converted;
    *y = first ? converted : mine;
    return 1;
}

static PyObject *binary(mica_tf_op op, const char *name, PyObject *a, PyObject *b) {
    PyObject *x, *y;
    int given = operands_of(a, b, tf_converts_loosely(op), &x, &y);
    if (given < 0) return NULL;
    if (!given) Py_RETURN_NOTIMPLEMENTED;
    PyObject *result = tf_apply2(op, name, x, y);
    Py_DECREF(x);
    Py_DECREF(y);
    return result;
}

#define BINARY(name, op)                                                                           \
    static PyObject *number_##name(PyObject *a, PyObject *b) {                                     \
        return binary(op, #name, a, b);                                                            \
    }
BINARY(add, MICA_TF_AddV2)
BINARY(sub, MICA_TF_Sub)
BINARY(mul, MICA_TF_Mul)

/* Operators whose op depends on the dtypes or the ranks are Python's: hooks named after them. */
static PyObject *by_hook(const char *name, bool loose, PyObject *a, PyObject *b) {
    PyObject *x, *y, *hook = tf_hook(name);
    if (!hook) return NULL;
    int given = operands_of(a, b, loose, &x, &y);
    if (given < 0) return NULL;
    if (!given) Py_RETURN_NOTIMPLEMENTED;
    PyObject *result = PyObject_CallFunctionObjArgs(hook, x, y, NULL);
    Py_DECREF(x);
    Py_DECREF(y);
    return result;
}

#define BY_HOOK(name, loose)                                                                       \
    static PyObject *number_##name(PyObject *a, PyObject *b) {                                     \
        return by_hook("operator_" #name, loose, a, b);                                            \
    }
BY_HOOK(truediv, false)
BY_HOOK(floordiv, false)
BY_HOOK(mod, false)
BY_HOOK(matmul, true)
BY_HOOK(and, false)
BY_HOOK(or, false)
BY_HOOK(xor, false)

static PyObject *number_power(PyObject *a, PyObject *b, PyObject *modulus) {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return binary(MICA_TF_Pow, "pow", a, b);
}

static PyObject *number_negative(PyObject *a) {
    return tf_apply1(MICA_TF_Neg, a);
}
static PyObject *number_positive(PyObject *a) {
    Py_INCREF(a);
    return a;
}
static PyObject *unary_hook(const char *name, PyObject *a) {
    PyObject *hook = tf_hook(name);
    return hook ? PyObject_CallFunctionObjArgs(hook, a, NULL) : NULL;
}
static PyObject *number_absolute(PyObject *a) {
    return unary_hook("operator_abs", a);
}
static PyObject *number_invert(PyObject *a) {
    return unary_hook("operator_invert", a);
}

PyNumberMethods tf_number = {
    .nb_add = number_add,
    .nb_subtract = number_sub,
    .nb_multiply = number_mul,
    .nb_remainder = number_mod,
    .nb_power = number_power,
    .nb_negative = number_negative,
    .nb_positive = number_positive,
    .nb_absolute = number_absolute,
    .nb_invert = number_invert,
    .nb_and = number_and,
    .nb_xor = number_xor,
    .nb_or = number_or,
    .nb_floor_divide = number_floordiv,
    .nb_true_divide = number_truediv,
    .nb_matrix_multiply = number_matmul,
};

/* Whether the expression is one of mica.tf's own: these compare elements, whatever graph is built.
 */
static bool is_own_expression(void) {
    PyObject *globals = PyEval_GetGlobals();
    PyObject *name = globals ? PyDict_GetItemString(globals, "__name__") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    return text && !strncmp(text, "mica.tf", 7);
}

PyObject *tf_compare(PyObject *a, PyObject *b, int operation) {
    switch (operation) {
    case Py_LT: return binary(MICA_TF_Less, NULL, a, b);
    case Py_LE: return binary(MICA_TF_LessEqual, NULL, a, b);
    case Py_GT: return binary(MICA_TF_Greater, NULL, a, b);
    case Py_GE: return binary(MICA_TF_GreaterEqual, NULL, a, b);
    default: break;
    }
    if (b == Py_None) return PyBool_FromLong(operation == Py_NE);
    bool by_identity = tf_is_compared_by_identity(a) || tf_is_compared_by_identity(b);
    if (by_identity && !is_own_expression()) {
        const TFTensor *x = (const TFTensor *)a, *y = (const TFTensor *)b;
        bool is_same = a == b;
        if (Py_TYPE(a) == &TFSymbolic_Type && Py_TYPE(b) == &TFSymbolic_Type)
            is_same =
                x->graph == y->graph && x->ref.node == y->ref.node && x->ref.index == y->ref.index;
        return PyBool_FromLong(is_same == (operation == Py_EQ));
    }
    PyObject *hook = tf_hook(operation == Py_EQ ? "operator_eq" : "operator_ne");
    return hook ? PyObject_CallFunctionObjArgs(hook, a, b, NULL) : NULL;
}
