/* Attributes as Python values: of a graph's nodes, for those who inspect graphs, and of an op that
 * runs elsewhere. */
#include "tf_extension.h"

static PyObject *shape_object(const mica_tf_shape *shape) {
    if (shape->rank < 0) Py_RETURN_NONE;
    PyObject *list = PyList_New(shape->rank);
    for (int32_t i = 0; list && i < shape->rank; i++) {
        PyObject *size = PyLong_FromLongLong(shape->dims[i]);
        if (size)
            PyList_SET_ITEM(list, i, size);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *function_name(const mica_tf_graph *function) {
    return PyUnicode_FromString(function ? mica_tf_graph_name(function) : "");
}

/* The entry of a list, or the value itself where the kind is no list. */
static PyObject *entry_object(mica_tf_attr_kind kind, const mica_tf_attr *attr, int32_t i) {
    switch (kind) {
    case MICA_TF_INT: return PyLong_FromLongLong(attr->as.integer);
    case MICA_TF_BOOL: return PyBool_FromLong(attr->as.integer != 0);
    case MICA_TF_FLOAT: return PyFloat_FromDouble(attr->as.real);
    case MICA_TF_STRING: return PyBytes_FromStringAndSize(attr->as.string, attr->n);
    case MICA_TF_TYPE: return PyLong_FromLongLong(attr->as.integer);
    case MICA_TF_SHAPE:
        if (!attr->as.shapes) Py_RETURN_NONE;
        return shape_object(attr->as.shapes);
    case MICA_TF_SHAPES: return shape_object(&attr->as.shapes[i]);
    case MICA_TF_TENSOR:
        mica_tf_value_retain(attr->as.value);
        return tf_eager_tensor(attr->as.value);
    case MICA_TF_FUNCTION: return function_name(attr->as.function);
    case MICA_TF_OPERATION:
        return PyUnicode_FromString(
            attr->as.operation ? mica_tf_op_describe(mica_tf_operation_op(attr->as.operation))->name
                               : "");
    case MICA_TF_INTS:
    case MICA_TF_TYPES: return PyLong_FromLongLong(attr->as.ints[i]);
    case MICA_TF_FLOATS: return PyFloat_FromDouble(attr->as.reals[i]);
    case MICA_TF_STRINGS: return PyBytes_FromString(attr->as.strings[i]);
    case MICA_TF_FUNCTIONS: return function_name(attr->as.functions[i]);
    }
    Py_RETURN_NONE;
}

static PyObject *attr_object(mica_tf_attr_kind kind, const mica_tf_attr *attr) {
    if (kind < MICA_TF_INTS) return entry_object(kind, attr, 0);
    PyObject *list = PyList_New(attr->n);
    for (int32_t i = 0; list && i < attr->n; i++) {
        PyObject *entry = entry_object(kind, attr, i);
        if (entry)
            PyList_SET_ITEM(list, i, entry);
        else
            Py_CLEAR(list);
    }
    return list;
}

static const char *const kind_names[] = {"int",    "float",  "bool",     "string",    "type",
                                         "shape",  "tensor", "function", "operation", "ints",
                                         "floats", "types",  "shapes",   "strings",   "functions"};

PyObject *tf_graph_attributes(mica_tf_graph *graph, int32_t node) {
    mica_tf_operation *operation = mica_tf_graph_operation(graph, node);
    if (!operation) return PyList_New(0);
    const mica_tf_op_info *info = mica_tf_op_describe(mica_tf_operation_op(operation));
    const mica_tf_attr *attrs = mica_tf_operation_attrs(operation);
    PyObject *list = PyList_New(info->n_attrs);
    for (int32_t i = 0; list && i < info->n_attrs; i++) {
        mica_tf_attr_kind kind = info->attrs[i].kind;
        PyObject *value = attr_object(kind, &attrs[i]);
        PyObject *entry =
            value ? Py_BuildValue("(ssN)", info->attrs[i].name, kind_names[kind], value) : NULL;
        if (entry)
            PyList_SET_ITEM(list, i, entry);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* How many tensors each input takes: -1 for one that is no list. */
static PyObject *groups_of(const mica_tf_op_info *info, const mica_tf_attr *attrs) {
    PyObject *list = PyList_New(info->n_inputs);
    for (int32_t i = 0; list && i < info->n_inputs; i++) {
        const mica_tf_argument *a = &info->inputs[i];
        long count = -1;
        if (a->count_attr >= 0)
            count = (long)attrs[a->count_attr].as.integer;
        else if (a->type_attr >= 0 && info->attrs[a->type_attr].kind == MICA_TF_TYPES)
            count = attrs[a->type_attr].n;
        PyObject *number = PyLong_FromLong(count);
        if (number)
            PyList_SET_ITEM(list, i, number);
        else
            Py_CLEAR(list);
    }
    return list;
}

PyObject *tf_request(mica_tf_op op, const mica_tf_attr *attrs) {
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    PyObject *list = PyList_New(0);
    for (int32_t i = 0; list && i < info->n_attrs; i++) {
        mica_tf_attr_kind kind = info->attrs[i].kind;
        const mica_tf_operation *inner = attrs[i].as.operation;
        if (info->attrs[i].is_inferred) continue;
        PyObject *value =
            kind == MICA_TF_OPERATION && inner
                ? tf_request(mica_tf_operation_op(inner), mica_tf_operation_attrs(inner))
                : attr_object(kind, &attrs[i]);
        PyObject *entry =
            value ? Py_BuildValue("(ssN)", info->attrs[i].name, kind_names[kind], value) : NULL;
        if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    PyObject *groups = list ? groups_of(info, attrs) : NULL;
    if (!groups) {
        Py_XDECREF(list);
        return NULL;
    }
    return Py_BuildValue("(sNN)", info->name, list, groups);
}

/* A node's request with the graphs of its functions: (op, attributes, groups, [graph...]), the
 * graphs in the order of the attributes that are functions. */
PyObject *tf_graph_request(mica_tf_graph *graph, int32_t node) {
    mica_tf_operation *operation = mica_tf_graph_operation(graph, node);
    if (!operation) return PyErr_Format(PyExc_ValueError, "node %d is a parameter", (int)node);
    const mica_tf_op_info *info = mica_tf_op_describe(mica_tf_operation_op(operation));
    const mica_tf_attr *attrs = mica_tf_operation_attrs(operation);
    PyObject *graphs = PyList_New(0);
    for (int32_t i = 0; graphs && i < info->n_attrs; i++) {
        bool is_list = info->attrs[i].kind == MICA_TF_FUNCTIONS;
        if (!is_list && info->attrs[i].kind != MICA_TF_FUNCTION) continue;
        for (int32_t k = 0; graphs && k < (is_list ? attrs[i].n : 1); k++) {
            mica_tf_graph *body = is_list ? attrs[i].as.functions[k] : attrs[i].as.function;
            if (!body) continue;
            mica_tf_graph_retain(body);
            PyObject *wrapped = tf_wrap_graph(body);
            if (!wrapped || PyList_Append(graphs, wrapped) < 0) Py_CLEAR(graphs);
            Py_XDECREF(wrapped);
        }
    }
    PyObject *request = graphs ? tf_request(mica_tf_operation_op(operation), attrs) : NULL;
    PyObject *result =
        request ? Py_BuildValue("(OOOO)", PyTuple_GET_ITEM(request, 0),
                                PyTuple_GET_ITEM(request, 1), PyTuple_GET_ITEM(request, 2), graphs)
                : NULL;
    Py_XDECREF(request);
    Py_XDECREF(graphs);
    return result;
}
