/* What tf.saved_model and checkpoints need of C: bundles of tensors, files and folders that are
 * replaced whole, rows of the table, and the graphs that nodes refer to. */
#include "tf_extension.h"

#include <mica/io.h>
#include <string.h>

#define BUNDLE "mica.bundle"

/* ---- bundles ----------------------------------------------------------------------------------*/

static void release_bundle(PyObject *capsule) {
    mica_bundle_release(PyCapsule_GetPointer(capsule, BUNDLE));
}

static PyObject *bundle_open(PyObject *Py_UNUSED(module), PyObject *path) {
    PyObject *encoded;
    mica_bundle *bundle = NULL;
    if (!PyUnicode_FSConverter(path, &encoded)) return NULL;
    mica_status status = mica_bundle_open(PyBytes_AS_STRING(encoded), &bundle);
    Py_DECREF(encoded);
    if (status) return tf_raise(status);
    PyObject *capsule = PyCapsule_New(bundle, BUNDLE, release_bundle);
    if (!capsule) mica_bundle_release(bundle);
    return capsule;
}

/* A list of (key, number of the dtype, shape) of all entries. */
static PyObject *bundle_entries(PyObject *Py_UNUSED(module), PyObject *capsule) {
    mica_bundle *bundle = PyCapsule_GetPointer(capsule, BUNDLE);
    if (!bundle) return NULL;
    int64_t n = mica_bundle_count(bundle);
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list && i < n; i++) {
        const mica_bundle_entry *entry = mica_bundle_entry_at(bundle, i);
        PyObject *shape = PyList_New(entry->rank);
        for (int32_t k = 0; shape && k < entry->rank; k++) {
            PyObject *size = PyLong_FromLongLong(entry->dims[k]);
            if (size)
                PyList_SET_ITEM(shape, k, size);
            else
                Py_CLEAR(shape);
        }
        PyObject *key =
            PyUnicode_DecodeUTF8(entry->key, (Py_ssize_t)entry->key_length, "surrogateescape");
        PyObject *item =
            shape && key ? Py_BuildValue("(OiO)", key, (int)entry->dtype, shape) : NULL;
        Py_XDECREF(shape);
        Py_XDECREF(key);
        if (item)
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* Ends a view; the first of two errors is told. */
static mica_status close_view(mica_tensor *tensor, mica_status status) {
    mica_status closed = mica_tensor_close_view(tensor);
    if (!status) return closed;
    mica_status_release(closed);
    return status;
}

static PyObject *read_numbers(mica_bundle *bundle, int64_t i, const mica_bundle_entry *entry) {
    mica_type type =
        mica_type_make(mica_tf_dtype_core(entry->dtype), (mica_ints){entry->dims, entry->rank});
    mica_tensor *tensor = NULL;
    void *data;
    if (!tf_device()) return NULL;
    mica_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = mica_tensor_create(tf_device(), &type, &tensor);
    if (!status) status = mica_tensor_open_view(tensor, MICA_WRITE, &data);
    if (!status) {
        status = close_view(tensor, mica_bundle_read(bundle, i, data));
    }
    if (status) mica_tensor_release(tensor);
    Py_END_ALLOW_THREADS;
    return status ? tf_raise(status) : tf_eager_tensor(mica_tf_value_of(tensor));
}

/* tf_bundle_read(bundle, i): the tensor of entry i. */
static PyObject *bundle_read(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *capsule;
    long long i;
    if (!PyArg_ParseTuple(args, "OL:tf_bundle_read", &capsule, &i)) return NULL;
    mica_bundle *bundle = PyCapsule_GetPointer(capsule, BUNDLE);
    const mica_bundle_entry *entry = bundle ? mica_bundle_entry_at(bundle, i) : NULL;
    if (!bundle) return NULL;
    if (!entry) return PyErr_Format(PyExc_IndexError, "there is no entry %lld", i);
    bool is_number = entry->dtype && mica_tf_dtype_core(entry->dtype) != MICA_DTYPE_COUNT;
    if (is_number && !entry->is_sliced) return read_numbers(bundle, i, entry);
    mica_tf_value strings;
    mica_status status = mica_bundle_read_strings(bundle, i, &strings);
    return status ? tf_raise(status) : tf_eager_tensor(strings);
}

static mica_status write_tensor(mica_bundle_writer *writer, const char *key, mica_tf_value value) {
    if (value.dtype == MICA_TF_string) return mica_bundle_writer_add_strings(writer, key, value);
    if (mica_tf_dtype_core(value.dtype) == MICA_DTYPE_COUNT)
        return mica_status_create(MICA_INVALID_ARGUMENT, "[bundle] '%s' is of dtype %s", key,
                                  mica_tf_dtype_name(value.dtype));
    const mica_type *type = mica_tensor_type(value.object);
    void *data;
    mica_status status = mica_tensor_open_view(value.object, MICA_READ, &data);
    if (status) return status;
    status = mica_bundle_writer_add(writer, key, value.dtype, (mica_ints){type->dims, type->rank},
                                    data, mica_type_bytes(type));
    return close_view(value.object, status);
}

static int write_pairs(mica_bundle_writer *writer, PyObject *pairs) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); i++) {
        const char *key;
        PyObject *tensor;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(pairs, i), "sO", &key, &tensor)) return -1;
        if (!tf_is_tensor(tensor) || !tf_is_eager((TFTensor *)tensor)) {
            PyErr_Format(PyExc_TypeError, "'%s' is no tensor with a value", key);
            return -1;
        }
        mica_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = write_tensor(writer, key, ((TFTensor *)tensor)->value);
        Py_END_ALLOW_THREADS;
        if (status) {
            tf_raise(status);
            return -1;
        }
    }
    return 0;
}

/* tf_bundle_write(prefix, [(key, tensor)...]) */
static PyObject *bundle_write(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *encoded, *pairs;
    mica_bundle_writer *writer = NULL;
    if (!PyArg_ParseTuple(args, "O&O!:tf_bundle_write", PyUnicode_FSConverter, &encoded,
                          &PyList_Type, &pairs))
        return NULL;
    mica_status status = mica_bundle_writer_create(PyBytes_AS_STRING(encoded), &writer);
    Py_DECREF(encoded);
    if (status) return tf_raise(status);
    int failed = write_pairs(writer, pairs);
    if (!failed && (status = mica_bundle_writer_finish(writer))) {
        tf_raise(status);
        failed = -1;
    }
    mica_bundle_writer_release(writer);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *bundle_remove(PyObject *Py_UNUSED(module), PyObject *path) {
    PyObject *encoded;
    if (!PyUnicode_FSConverter(path, &encoded)) return NULL;
    mica_status status = mica_bundle_remove(PyBytes_AS_STRING(encoded));
    Py_DECREF(encoded);
    if (status) return tf_raise(status);
    Py_RETURN_NONE;
}

/* ---- whole files and folders ------------------------------------------------------------------*/

/* tf_file_replace(path, bytes) */
static PyObject *file_replace(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *encoded;
    Py_buffer bytes;
    mica_status status;
    if (!PyArg_ParseTuple(args, "O&y*:tf_file_replace", PyUnicode_FSConverter, &encoded, &bytes))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = mica_file_replace(PyBytes_AS_STRING(encoded), bytes.buf, (size_t)bytes.len);
    Py_END_ALLOW_THREADS;
    Py_DECREF(encoded);
    PyBuffer_Release(&bytes);
    if (status) return tf_raise(status);
    Py_RETURN_NONE;
}

#define FOLDER "mica.folder"
#define MOST_NAMES 16

static void release_folder(PyObject *capsule) {
    mica_folder_writer_release(PyCapsule_GetPointer(capsule, FOLDER));
}

/* tf_folder_begin(path, names): (writer, the folder to write to), or None where the folder cannot
 * be exchanged with another. */
static PyObject *folder_begin(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *encoded, *list;
    const char *names[MOST_NAMES];
    if (!PyArg_ParseTuple(args, "O&O!:tf_folder_begin", PyUnicode_FSConverter, &encoded,
                          &PyTuple_Type, &list))
        return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(list);
    mica_folder_writer *writer = NULL;
    mica_status status = NULL;
    for (Py_ssize_t i = 0; i < n && i < MOST_NAMES; i++)
        if (!(names[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(list, i)))) n = -1;
    if (n >= 0 && n <= MOST_NAMES)
        status = mica_folder_writer_create(PyBytes_AS_STRING(encoded), names, (int32_t)n, &writer);
    else if (n > MOST_NAMES)
        PyErr_SetString(PyExc_ValueError, "too many names");
    Py_DECREF(encoded);
    if (status && mica_status_code(status) == MICA_UNSUPPORTED) {
        mica_status_release(status);
        Py_RETURN_NONE;
    }
    if (status) return tf_raise(status);
    PyObject *capsule = writer ? PyCapsule_New(writer, FOLDER, release_folder) : NULL;
    if (!capsule) {
        mica_folder_writer_release(writer);
        return NULL;
    }
    return Py_BuildValue("(NN)", capsule,
                         PyUnicode_DecodeFSDefault(mica_folder_writer_path(writer)));
}

static PyObject *folder_finish(PyObject *Py_UNUSED(module), PyObject *capsule) {
    mica_folder_writer *writer = PyCapsule_GetPointer(capsule, FOLDER);
    mica_status status;
    if (!writer) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = mica_folder_writer_finish(writer);
    Py_END_ALLOW_THREADS;
    if (status) return tf_raise(status);
    Py_RETURN_NONE;
}

/* Removes what an unfinished writer has written, now. */
static PyObject *folder_end(PyObject *Py_UNUSED(module), PyObject *capsule) {
    mica_folder_writer *writer = PyCapsule_GetPointer(capsule, FOLDER);
    if (!writer || PyCapsule_SetDestructor(capsule, NULL) || PyCapsule_SetName(capsule, "ended"))
        return NULL;
    mica_folder_writer_release(writer);
    Py_RETURN_NONE;
}

/* ---- rows and nodes ---------------------------------------------------------------------------*/

static const char *const categories[] = {
    [MICA_TF_CATEGORY_PLAIN] = "plain",
    [MICA_TF_CATEGORY_SAME] = "same",
    [MICA_TF_CATEGORY_OF_SHAPE] = "of_shape",
    [MICA_TF_CATEGORY_CALL] = "call",
    [MICA_TF_CATEGORY_BRANCH] = "branch",
    [MICA_TF_CATEGORY_LOOP] = "loop",
    [MICA_TF_CATEGORY_READ] = "read",
    [MICA_TF_CATEGORY_ASSIGN] = "assign",
    [MICA_TF_CATEGORY_DERIVATIVE] = "derivative",
};

/* tf_row(name): (inputs, outputs, attributes, whether it has an effect, category, what Python calls
 * axis or None, why files have no form for it or None) as the table has them, or None. */
static PyObject *row(PyObject *Py_UNUSED(module), PyObject *name) {
    const char *text = PyUnicode_AsUTF8(name);
    mica_tf_op op;
    if (!text) return NULL;
    if (!mica_tf_op_parse(text, &op)) Py_RETURN_NONE;
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    return Py_BuildValue("(sssOszz)", info->inputs_text, info->outputs_text, info->attrs_text,
                         info->has_effect ? Py_True : Py_False, categories[info->category],
                         info->axis, info->no_file);
}

/* tf_row_remote(name): what another process may ask of an op, as mica_tf_remote; 0 where there is
 * none. */
static PyObject *remote(PyObject *Py_UNUSED(module), PyObject *name) {
    const char *text = PyUnicode_AsUTF8(name);
    mica_tf_op op;
    if (!text) return NULL;
    return PyLong_FromLong(mica_tf_op_parse(text, &op) ? (long)mica_tf_op_describe(op)->remote : 0);
}

static PyObject *graph_entry(mica_tf_graph *graph) {
    if (!graph) Py_RETURN_NONE;
    mica_tf_graph_retain(graph);
    return Py_BuildValue("(NN)", PyLong_FromVoidPtr(graph), tf_wrap_graph(graph));
}

static mica_tf_operation *operation_of(PyObject *args, TFGraph **out_graph, int *out_node) {
    if (!PyArg_ParseTuple(args, "O!i", &TFGraph_Type, out_graph, out_node)) return NULL;
    mica_tf_operation *operation = NULL;
    if (*out_node >= 0 && *out_node < mica_tf_graph_node_count((*out_graph)->graph))
        operation = mica_tf_graph_operation((*out_graph)->graph, *out_node);
    if (!operation) PyErr_Format(PyExc_IndexError, "there is no operation %d", *out_node);
    return operation;
}

/* tf_functions(graph, node): {attribute: [(a number that is the function's own, graph)...]} */
static PyObject *functions(PyObject *Py_UNUSED(module), PyObject *args) {
    TFGraph *graph;
    int node;
    mica_tf_operation *operation = operation_of(args, &graph, &node);
    if (!operation) return NULL;
    const mica_tf_op_info *info = mica_tf_op_describe(mica_tf_operation_op(operation));
    const mica_tf_attr *attrs = mica_tf_operation_attrs(operation);
    PyObject *dict = PyDict_New();
    for (int32_t i = 0; dict && i < info->n_attrs; i++) {
        bool is_list = info->attrs[i].kind == MICA_TF_FUNCTIONS;
        if (!is_list && info->attrs[i].kind != MICA_TF_FUNCTION) continue;
        PyObject *list = PyList_New(0);
        for (int32_t k = 0; list && k < (is_list ? attrs[i].n : 1); k++) {
            PyObject *entry =
                graph_entry(is_list ? attrs[i].as.functions[k] : attrs[i].as.function);
            if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
            Py_XDECREF(entry);
        }
        if (!list || PyDict_SetItemString(dict, info->attrs[i].name, list) < 0) Py_CLEAR(dict);
        Py_XDECREF(list);
    }
    return dict;
}

/* The operation that a derivative is of, as a function of the first n inputs of the node. */
static mica_status forward_graph(mica_tf_graph *of, int node, mica_tf_operation *forward, int32_t n,
                                 mica_tf_graph **out_graph) {
    const mica_tf_ref *inputs;
    mica_tf_ref refs[256], first;
    mica_tf_shape shape;
    int32_t count = mica_tf_graph_inputs(of, node, &inputs);
    mica_status status = mica_tf_graph_create("forward", out_graph);
    if (!status && (n > 256 || n > count))
        status = mica_status_create(MICA_UNSUPPORTED, "[Vjp] of an operation of %d inputs", n);
    for (int32_t i = 0; !status && i < n; i++) {
        mica_tf_dtype dtype = mica_tf_graph_type(of, inputs[i], &shape);
        status = mica_tf_graph_parameter(*out_graph, dtype, &shape, "input", &refs[i]);
    }
    if (!status)
        status = mica_tf_graph_add(*out_graph, mica_tf_operation_op(forward),
                                   mica_tf_operation_attrs(forward), refs, n, NULL, &first);
    int32_t n_results = status ? 0 : mica_tf_graph_result_count(*out_graph, first.node);
    for (int32_t i = 0; !status && i < n_results; i++)
        status = mica_tf_graph_output(*out_graph, (mica_tf_ref){first.node, i});
    return status;
}

/* tf_forward(graph, node): of a Vjp or Jvp, what it is the derivative of, as a graph. */
static PyObject *forward_of(PyObject *Py_UNUSED(module), PyObject *args) {
    TFGraph *graph;
    int node;
    mica_tf_operation *operation = operation_of(args, &graph, &node);
    if (!operation) return NULL;
    const mica_tf_op_info *info = mica_tf_op_describe(mica_tf_operation_op(operation));
    const mica_tf_attr *attrs = mica_tf_operation_attrs(operation);
    mica_tf_operation *forward = NULL;
    int32_t n = 0;
    for (int32_t i = 0; i < info->n_attrs; i++) {
        if (info->attrs[i].kind == MICA_TF_OPERATION) forward = attrs[i].as.operation;
        if (!strcmp(info->attrs[i].name, "n")) n = (int32_t)attrs[i].as.integer;
    }
    if (!forward) return PyErr_Format(PyExc_ValueError, "%s is no derivative", info->name);
    mica_tf_graph *made = NULL;
    mica_status status = forward_graph(graph->graph, node, forward, n, &made);
    if (!status) return tf_wrap_graph(made);
    mica_tf_graph_release(made);
    return tf_raise(status);
}

PyMethodDef tf_files_functions[] = {
    {"tf_bundle_open", bundle_open, METH_O, NULL},
    {"tf_bundle_entries", bundle_entries, METH_O, NULL},
    {"tf_bundle_read", bundle_read, METH_VARARGS, NULL},
    {"tf_bundle_write", bundle_write, METH_VARARGS, NULL},
    {"tf_bundle_remove", bundle_remove, METH_O, NULL},
    {"tf_file_replace", file_replace, METH_VARARGS, NULL},
    {"tf_folder_begin", folder_begin, METH_VARARGS, NULL},
    {"tf_folder_finish", folder_finish, METH_O, NULL},
    {"tf_folder_end", folder_end, METH_O, NULL},
    {"tf_row", row, METH_O, NULL},
    {"tf_row_remote", remote, METH_O, NULL},
    {"tf_functions", functions, METH_VARARGS, NULL},
    {"tf_forward", forward_of, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
