/* Trees: nested tuples, lists and dicts of leaves.
 *
 * flatten gives the leaves and the tree's structure, a hashable object: 0 for a leaf, None for
 * None, (type, child...) for tuples and lists, (dict, keys, child...) for dicts, whose keys are
 * taken in sorted order where they can be sorted. */
#include "extension.h"

#include <string.h>

static PyObject *flatten(PyObject *tree, PyObject *leaves);

static bool is_named_tuple(PyObject *tree) {
    return PyTuple_Check(tree) && !PyTuple_CheckExact(tree) &&
           PyObject_HasAttrString(tree, "_fields");
}

static bool is_branch(PyObject *tree) {
    return PyTuple_CheckExact(tree) || PyList_CheckExact(tree) || is_named_tuple(tree);
}

static PyObject *flatten_sequence(PyObject *tree, PyObject *leaves) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(tree);
    PyObject *structure = PyTuple_New(n + 1);
    if (!structure) return NULL;
    Py_INCREF(Py_TYPE(tree));
    PyTuple_SET_ITEM(structure, 0, (PyObject *)Py_TYPE(tree));
    for (Py_ssize_t i = 0; structure && i < n; i++) {
        PyObject *child = flatten(PySequence_Fast_GET_ITEM(tree, i), leaves);
        if (!child)
            Py_CLEAR(structure);
        else
            PyTuple_SET_ITEM(structure, i + 1, child);
    }
    return structure;
}

static PyObject *sorted_keys(PyObject *tree) {
    PyObject *keys = PyDict_Keys(tree);
    if (keys && PyList_Sort(keys) < 0) {
        PyErr_Clear(); /* keys of several kinds: as they were put in */
        Py_SETREF(keys, PyDict_Keys(tree));
    }
    if (keys) Py_SETREF(keys, PyList_AsTuple(keys));
    return keys;
}

static PyObject *flatten_dict(PyObject *tree, PyObject *leaves) {
    PyObject *keys = sorted_keys(tree);
    if (!keys) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(keys);
    PyObject *structure = PyTuple_New(n + 2);
    if (!structure) {
        Py_DECREF(keys);
        return NULL;
    }
    Py_INCREF(&PyDict_Type);
    PyTuple_SET_ITEM(structure, 0, (PyObject *)&PyDict_Type);
    PyTuple_SET_ITEM(structure, 1, keys);
    for (Py_ssize_t i = 0; structure && i < n; i++) {
        PyObject *value = PyDict_GetItemWithError(tree, PyTuple_GET_ITEM(keys, i));
        PyObject *child = value ? flatten(value, leaves) : NULL;
        if (!child)
            Py_CLEAR(structure);
        else
            PyTuple_SET_ITEM(structure, i + 2, child);
    }
    return structure;
}

static PyObject *flatten(PyObject *tree, PyObject *leaves) {
    if (tree == Py_None) Py_RETURN_NONE;
    if (Py_EnterRecursiveCall(" in a tree")) return NULL;
    PyObject *structure = NULL;
    if (is_branch(tree))
        structure = flatten_sequence(tree, leaves);
    else if (PyDict_CheckExact(tree))
        structure = flatten_dict(tree, leaves);
    else if (PyList_Append(leaves, tree) == 0)
        structure = PyLong_FromLong(0);
    Py_LeaveRecursiveCall();
    return structure;
}

static PyObject *tree_flatten(PyObject *Py_UNUSED(module), PyObject *tree) {
    PyObject *leaves = PyList_New(0);
    PyObject *structure = leaves ? flatten(tree, leaves) : NULL;
    if (structure) return Py_BuildValue("NN", leaves, structure);
    Py_XDECREF(leaves);
    return NULL;
}

static PyObject *unflatten(PyObject *structure, PyObject *leaves, Py_ssize_t *at) {
    if (structure == Py_None) Py_RETURN_NONE;
    if (!PyTuple_Check(structure)) {
        if (*at >= PySequence_Fast_GET_SIZE(leaves)) {
            PyErr_SetString(PyExc_ValueError, "[tree] fewer leaves than the structure has");
            return NULL;
        }
        PyObject *leaf = PySequence_Fast_GET_ITEM(leaves, (*at)++);
        Py_INCREF(leaf);
        return leaf;
    }
    PyObject *type = PyTuple_GET_ITEM(structure, 0);
    bool is_dict = type == (PyObject *)&PyDict_Type;
    Py_ssize_t skip = is_dict ? 2 : 1, n = PyTuple_GET_SIZE(structure) - skip;
    PyObject *children = PyList_New(n), *tree = NULL;
    for (Py_ssize_t i = 0; children && i < n; i++) {
        PyObject *child = unflatten(PyTuple_GET_ITEM(structure, i + skip), leaves, at);
        if (!child)
            Py_CLEAR(children);
        else
            PyList_SET_ITEM(children, i, child);
    }
    if (!children) return NULL;
    if (type == (PyObject *)&PyList_Type) return children;
    if (is_dict) {
        PyObject *keys = PyTuple_GET_ITEM(structure, 1);
        tree = PyDict_New();
        for (Py_ssize_t i = 0; tree && i < n; i++)
            if (PyDict_SetItem(tree, PyTuple_GET_ITEM(keys, i), PyList_GET_ITEM(children, i)) < 0)
                Py_CLEAR(tree);
    } else {
        PyObject *tuple = PyList_AsTuple(children);
        if (type == (PyObject *)&PyTuple_Type) {
            tree = tuple;
        } else {
            tree = tuple ? PyObject_CallObject(type, tuple) : NULL; /* a named tuple */
            Py_XDECREF(tuple);
        }
    }
    Py_DECREF(children);
    return tree;
}

static PyObject *tree_unflatten(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *structure, *leaves;
    if (!PyArg_ParseTuple(args, "OO:unflatten", &structure, &leaves)) return NULL;
    PyObject *fast = PySequence_Fast(leaves, "leaves are a sequence");
    if (!fast) return NULL;
    Py_ssize_t at = 0;
    PyObject *tree = unflatten(structure, fast, &at);
    if (tree && at != PySequence_Fast_GET_SIZE(fast)) {
        PyErr_SetString(PyExc_ValueError, "[tree] more leaves than the structure has");
        Py_CLEAR(tree);
    }
    Py_DECREF(fast);
    return tree;
}

/* ---- signatures
 * -----------------------------------------------------------------------------------*/

typedef struct leaf_key {
    const void *device; /* or what kind of scalar */
    int64_t dtype, rank;
} leaf_key;

/* signature(leaves) -> bytes that are equal when types and devices are; without a tensor among them
 * the default device counts. Leaves that are neither arrays nor scalars are replaced by tensors in
 * the list. */
static PyObject *tree_signature(PyObject *Py_UNUSED(module), PyObject *leaves) {
    if (!PyList_CheckExact(leaves)) {
        PyErr_SetString(PyExc_TypeError, "[signature] leaves are a list");
        return NULL;
    }
    Py_ssize_t n = PyList_GET_SIZE(leaves), size = 0;
    bool placed = false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *leaf = PyList_GET_ITEM(leaves, i);
        if (!is_array(leaf) && !is_weak_scalar(leaf)) {
            PyObject *tensor = tensor_from_object(leaf, -1, NULL);
            if (!tensor) return NULL;
            PyList_SetItem(leaves, i, tensor);
            leaf = tensor;
        }
        size += (Py_ssize_t)sizeof(leaf_key);
        if (is_array(leaf)) size += 8 * array_type(leaf)->rank;
        placed = placed || is_tensor(leaf);
    }
    const mica_device *device = placed ? NULL : device_default();
    if (!placed && !device) return NULL;
    if (!placed) size += (Py_ssize_t)sizeof device;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    char *at = bytes ? PyBytes_AS_STRING(bytes) : NULL;
    for (Py_ssize_t i = 0; bytes && i < n; i++) {
        PyObject *leaf = PyList_GET_ITEM(leaves, i);
        leaf_key key = {0};
        if (!is_array(leaf)) {
            key = (leaf_key){Py_TYPE(leaf), PyBool_Check(leaf), -1};
            memcpy(at, &key, sizeof key);
            at += sizeof key;
            continue;
        }
        const mica_type *type = array_type(leaf);
        key = (leaf_key){is_tensor(leaf) ? mica_tensor_device(tensor_of(leaf)) : NULL, type->dtype,
                         type->rank};
        memcpy(at, &key, sizeof key);
        memcpy(at + sizeof key, type->dims, 8 * (size_t)type->rank);
        at += sizeof key + 8 * (size_t)type->rank;
    }
    if (bytes && !placed) memcpy(at, &device, sizeof device);
    return bytes;
}

PyMethodDef tree_methods[] = {
    {"flatten", tree_flatten, METH_O, NULL},
    {"unflatten", tree_unflatten, METH_VARARGS, NULL},
    {"signature", tree_signature, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
