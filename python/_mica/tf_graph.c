/* Graphs under construction and their runs. mica.tf's FuncGraph is a subclass. */
#include "entry.h"
#include "tf_extension.h"

#include <string.h>

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", "outer", NULL};
    const char *name;
    PyObject *outer = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|O:Graph", names, &name, &outer)) return NULL;
    if (outer != Py_None && !PyObject_TypeCheck(outer, &TFGraph_Type))
        return PyErr_Format(PyExc_TypeError, "outer is a graph or None, not %R", outer);
    TFGraph *self = (TFGraph *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    tf_graph_begin(self);
    self->captures = PyDict_New();
    self->capture_order = PyList_New(0);
    if (outer != Py_None) {
        Py_INCREF(outer);
        self->outer = (TFGraph *)outer;
    }
    mica_status status = mica_tf_graph_create(name, &self->graph);
    if (status) tf_raise(status);
    if (status || !self->captures || !self->capture_order) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int graph_traverse(PyObject *object, visitproc visit, void *arg) {
    TFGraph *self = (TFGraph *)object;
    Py_VISIT(self->outer);
    Py_VISIT(self->captures);
    Py_VISIT(self->capture_order);
    Py_VISIT(self->dict);
    return tf_graph_visit_functions(self, visit, arg);
}

/* The functions stay: what they hold is cleared itself. */
static int graph_clear(PyObject *object) {
    TFGraph *self = (TFGraph *)object;
    Py_CLEAR(self->outer);
    Py_CLEAR(self->captures);
    Py_CLEAR(self->capture_order);
    Py_CLEAR(self->scope);
    Py_CLEAR(self->dict);
    return 0;
}

static void graph_dealloc(PyObject *object) {
    TFGraph *self = (TFGraph *)object;
    PyObject_GC_UnTrack(object);
    if (self->weakrefs) PyObject_ClearWeakRefs(object);
    graph_clear(object);
    mica_tf_graph_release(self->graph);
    self->graph = NULL;
    tf_graph_end(self);
    Py_TYPE(object)->tp_free(object);
}

/* ---- building ---------------------------------------------------------------------------------*/

static PyObject *parameter_method(PyObject *object, PyObject *args) {
    TFGraph *self = (TFGraph *)object;
    PyObject *dtype_object, *shape_object;
    const char *name = NULL;
    mica_tf_dtype dtype;
    mica_tf_shape shape;
    mica_tf_ref ref;
    if (!PyArg_ParseTuple(args, "OO|z:_parameter", &dtype_object, &shape_object, &name))
        return NULL;
    if (tf_dtype_from_object(dtype_object, &dtype) < 0) return NULL;
    if (tf_shape_from_object(shape_object, &shape) < 0) return NULL;
    mica_status status = mica_tf_graph_parameter(self->graph, dtype, &shape, name, &ref);
    return status ? tf_raise(status) : tf_symbolic_tensor(self, ref);
}

static PyObject *output_method(PyObject *object, PyObject *tensor) {
    TFGraph *self = (TFGraph *)object;
    if (!tf_is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "a tensor is needed");
    PyObject *lifted = tf_lift(self, (TFTensor *)tensor);
    if (!lifted) return NULL;
    mica_status status = mica_tf_graph_output(self->graph, ((TFTensor *)lifted)->ref);
    if (!status) return lifted;
    Py_DECREF(lifted);
    return tf_raise(status);
}

/* ---- running ----------------------------------------------------------------------------------*/

#define FEW 16

/* _run(tensors): eager tensors for all parameters; a list of results. Nothing is recorded. */
static PyObject *run_method(PyObject *object, PyObject *arguments) {
    TFGraph *self = (TFGraph *)object;
    if (tf_refuse_remote("a traced function")) return NULL;
    PyObject *sequence = PySequence_Fast(arguments, "a list of tensors is needed");
    if (!sequence) return NULL;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence);
    int32_t n_out = mica_tf_graph_output_count(self->graph);
    mica_tf_value few_in[FEW], few_out[FEW], *inputs = few_in, *outputs = few_out;
    PyObject *result = NULL;
    if (n > FEW) inputs = PyMem_New(mica_tf_value, n);
    if (n_out > FEW) outputs = PyMem_New(mica_tf_value, n_out);
    if (!inputs || !outputs || !tf_device()) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(sequence, i);
        if (!tf_is_tensor(item) || !tf_is_eager((TFTensor *)item)) {
            PyErr_Format(PyExc_TypeError, "an eager tensor is needed, not %R", item);
            goto done;
        }
        inputs[i] = ((TFTensor *)item)->value;
    }
    mica_status status;
    BEGIN_COMPUTING;
    status = mica_tf_graph_run(self->graph, tf_device(), inputs, (int32_t)n, outputs, n_out);
    END_COMPUTING;
    if (status) {
        tf_raise(status);
        goto done;
    }
    result = PyList_New(n_out);
    for (int32_t i = 0; i < n_out; i++) {
        PyObject *tensor = tf_eager_tensor(outputs[i]);
        if (!tensor)
            Py_CLEAR(result);
        else if (result)
            PyList_SET_ITEM(result, i, tensor);
        else
            Py_DECREF(tensor);
    }
done:
    if (inputs != few_in) PyMem_Free(inputs);
    if (outputs != few_out) PyMem_Free(outputs);
    Py_DECREF(sequence);
    return result;
}

/* ---- checking ---------------------------------------------------------------------------------*/

static PyObject *captures_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    PyObject *list = ((TFGraph *)object)->capture_order;
    return PyList_GetSlice(list, 0, PyList_GET_SIZE(list));
}

static PyObject *node_method(PyObject *object, PyObject *number) {
    mica_tf_graph *g = ((TFGraph *)object)->graph;
    long i = PyLong_AsLong(number);
    if (i < 0 || i >= mica_tf_graph_node_count(g)) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_IndexError, "there is no node %ld", i);
        return NULL;
    }
    const mica_tf_ref *inputs;
    int32_t n = mica_tf_graph_inputs(g, (int32_t)i, &inputs);
    PyObject *list = PyList_New(n);
    for (int32_t k = 0; list && k < n; k++) {
        PyObject *pair = Py_BuildValue("(ii)", inputs[k].node, inputs[k].index);
        if (pair)
            PyList_SET_ITEM(list, k, pair);
        else
            Py_CLEAR(list);
    }
    mica_tf_operation *operation = mica_tf_graph_operation(g, (int32_t)i);
    const char *type =
        operation ? mica_tf_op_describe(mica_tf_operation_op(operation))->name : "Placeholder";
    return Py_BuildValue("(ssNi)", type, mica_tf_graph_node_name(g, (int32_t)i), list,
                         (int)mica_tf_graph_result_count(g, (int32_t)i));
}

static PyObject *attributes_method(PyObject *object, PyObject *number) {
    mica_tf_graph *g = ((TFGraph *)object)->graph;
    long i = PyLong_AsLong(number);
    if (i >= 0 && i < mica_tf_graph_node_count(g)) return tf_graph_attributes(g, (int32_t)i);
    if (!PyErr_Occurred()) PyErr_Format(PyExc_IndexError, "there is no node %ld", i);
    return NULL;
}

static PyObject *request_method(PyObject *object, PyObject *number) {
    mica_tf_graph *g = ((TFGraph *)object)->graph;
    long i = PyLong_AsLong(number);
    if (i >= 0 && i < mica_tf_graph_node_count(g)) return tf_graph_request(g, (int32_t)i);
    if (!PyErr_Occurred()) PyErr_Format(PyExc_IndexError, "there is no node %ld", i);
    return NULL;
}

static PyObject *tensor_method(PyObject *object, PyObject *args) {
    TFGraph *self = (TFGraph *)object;
    int node, index;
    if (!PyArg_ParseTuple(args, "ii:_tensor", &node, &index)) return NULL;
    if (node < 0 || node >= mica_tf_graph_node_count(self->graph) || index < 0 ||
        index >= mica_tf_graph_result_count(self->graph, node))
        return PyErr_Format(PyExc_IndexError, "there is no tensor %d:%d", node, index);
    return tf_symbolic_tensor(self, (mica_tf_ref){node, index});
}

static PyObject *text_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    char *text = NULL;
    mica_status status = mica_tf_graph_print(((TFGraph *)object)->graph, &text);
    if (status) return tf_raise(status);
    PyObject *result = PyUnicode_FromString(text);
    mica_string_free(text);
    return result;
}

static PyObject *describe_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    char *text = NULL;
    mica_status status = mica_tf_graph_describe(((TFGraph *)object)->graph, &text);
    if (status) return tf_raise(status);
    PyObject *result = PyUnicode_FromString(text);
    mica_string_free(text);
    return result;
}

/* (bytes of the primitives, names of inputs and outputs); see mica_tf_graph_lowered. */
static PyObject *lowered_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    char *notes = NULL;
    mica_graph *graph = NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;
    mica_status status = mica_tf_graph_lowered(((TFGraph *)object)->graph, &graph, &notes);
    if (!status) status = mica_graph_serialize(graph, &bytes, &size);
    PyObject *result = status ? tf_raise(status)
                              : Py_BuildValue("y#s", (const char *)bytes, (Py_ssize_t)size, notes);
    mica_bytes_free(bytes);
    mica_string_free(notes);
    mica_graph_release(graph);
    return result;
}

static PyObject *keep_graphs_method(PyObject *Py_UNUSED(object), PyObject *keeps) {
    int wanted = PyObject_IsTrue(keeps);
    if (wanted < 0) return NULL;
    mica_tf_keep_graphs(wanted);
    Py_RETURN_NONE;
}

static PyObject *segments_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    mica_tf_graph *g = ((TFGraph *)object)->graph;
    int32_t n;
    mica_status status = mica_tf_graph_segments(g, &n);
    if (status) return tf_raise(status);
    PyObject *list = PyList_New(n);
    for (int32_t i = 0; list && i < n; i++) {
        PyObject *size = PyLong_FromLong(mica_tf_graph_segment_size(g, i));
        if (size)
            PyList_SET_ITEM(list, i, size);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* The integers of a symbolic tensor as far as they are known: a list with None, or None. */
static PyObject *ints_method(PyObject *object, PyObject *tensor) {
    TFGraph *self = (TFGraph *)object;
    int64_t ints[64];
    int32_t n;
    if (!tf_is_tensor(tensor) || ((TFTensor *)tensor)->graph != self)
        return PyErr_Format(PyExc_ValueError, "not a tensor of this graph");
    if (!mica_tf_graph_ints(self->graph, ((TFTensor *)tensor)->ref, ints, &n)) Py_RETURN_NONE;
    PyObject *list = PyList_New(n);
    for (int32_t i = 0; list && i < n; i++) {
        PyObject *item;
        if (ints[i] == MICA_TF_UNKNOWN_INT) {
            Py_INCREF(Py_None);
            item = Py_None;
        } else {
            item = PyLong_FromLongLong(ints[i]);
        }
        if (item)
            PyList_SET_ITEM(list, i, item);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* jit_compile=True: see mica_tf_graph_set_compiled. */
static PyObject *set_compiled_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    mica_tf_graph_set_compiled(((TFGraph *)object)->graph);
    Py_RETURN_NONE;
}

PyObject *tf_wrap_graph(mica_tf_graph *graph) {
    return tf_wrap_graph_as(&TFGraph_Type, graph);
}

PyObject *tf_wrap_graph_as(PyTypeObject *type, mica_tf_graph *graph) {
    bool is_one = PyType_IsSubtype(type, &TFGraph_Type);
    if (!is_one) PyErr_SetString(PyExc_TypeError, "the class is none of graphs");
    TFGraph *self = is_one ? (TFGraph *)type->tp_alloc(type, 0) : NULL;
    if (!self) {
        mica_tf_graph_release(graph);
        return NULL;
    }
    tf_graph_begin(self);
    self->graph = graph;
    self->captures = PyDict_New();
    self->capture_order = PyList_New(0);
    if (!self->captures || !self->capture_order) Py_CLEAR(self);
    return (PyObject *)self;
}

/* _backward(wanted): (forward graph, backward graph, list of connected: see mica/tf.h). */
static PyObject *backward_method(PyObject *object, PyObject *wanted) {
    TFGraph *self = (TFGraph *)object;
    Py_ssize_t n = mica_tf_graph_parameter_count(self->graph);
    if (!PyList_Check(wanted) || PyList_GET_SIZE(wanted) != n)
        return PyErr_Format(PyExc_ValueError, "a flag for each of %zd parameters is needed", n);
    uint8_t *flags = PyMem_Calloc((size_t)n + 1, 2);
    if (!flags) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) flags[i] = PyObject_IsTrue(PyList_GET_ITEM(wanted, i)) == 1;
    mica_tf_graph *forward, *backward;
    mica_status status = mica_tf_graph_backward(self->graph, flags, flags + n, &forward, &backward);
    PyObject *connected = status ? NULL : PyList_New(n);
    for (Py_ssize_t i = 0; connected && i < n; i++)
        PyList_SET_ITEM(connected, i, PyLong_FromLong(flags[n + i]));
    PyMem_Free(flags);
    if (status) return tf_raise(status);
    if (mica_tf_graph_is_compiled(self->graph)) {
        mica_tf_graph_set_compiled(forward);
        mica_tf_graph_set_compiled(backward);
    }
    PyObject *first = tf_wrap_graph(forward), *second = tf_wrap_graph(backward);
    if (first && second && connected) return Py_BuildValue("(NNN)", first, second, connected);
    Py_XDECREF(first);
    Py_XDECREF(second);
    Py_XDECREF(connected);
    return NULL;
}

static int refs_of(TFGraph *self, PyObject *list, mica_tf_ref *refs) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        TFTensor *tensor = (TFTensor *)PyList_GET_ITEM(list, i);
        if (!tf_is_tensor((PyObject *)tensor) || tensor->graph != self) {
            PyErr_SetString(PyExc_ValueError, "not a tensor of this graph");
            return -1;
        }
        refs[i] = tensor->ref;
    }
    return 0;
}

/* _gradients(targets, cotangents, sources, held): tensors of this graph; None without a connection.
 */
static PyObject *gradients_method(PyObject *object, PyObject *args) {
    TFGraph *self = (TFGraph *)object;
    PyObject *targets, *cotangents, *sources, *held, *list = NULL;
    if (!PyArg_ParseTuple(args, "O!O!O!O!:_gradients", &PyList_Type, &targets, &PyList_Type,
                          &cotangents, &PyList_Type, &sources, &PyList_Type, &held))
        return NULL;
    Py_ssize_t n = PyList_GET_SIZE(targets), m = PyList_GET_SIZE(sources);
    Py_ssize_t n_held = PyList_GET_SIZE(held);
    if (PyList_GET_SIZE(cotangents) != n)
        return PyErr_Format(PyExc_ValueError, "a cotangent for each target is needed");
    mica_tf_ref *refs = PyMem_Calloc((size_t)(2 * n + 2 * m + n_held) + 1, sizeof *refs);
    if (!refs) return PyErr_NoMemory();
    mica_tf_ref *given = refs + n, *from = given + n, *found = from + m, *stops = found + m;
    if (refs_of(self, targets, refs) == 0 && refs_of(self, cotangents, given) == 0 &&
        refs_of(self, sources, from) == 0 && refs_of(self, held, stops) == 0) {
        mica_tf_gradient_of of = {refs,       given, (int32_t)n,     from,
                                  (int32_t)m, stops, (int32_t)n_held};
        mica_status status = mica_tf_graph_gradients(self->graph, &of, found);
        list = status ? tf_raise(status) : PyList_New(m);
    }
    for (Py_ssize_t i = 0; list && i < m; i++) {
        PyObject *item = found[i].node < 0 ? Py_None : tf_symbolic_tensor(self, found[i]);
        if (item == Py_None) Py_INCREF(item);
        if (item)
            PyList_SET_ITEM(list, i, item);
        else
            Py_CLEAR(list);
    }
    PyMem_Free(refs);
    return list;
}

/* A list of (first, end, before). */
static int controls_of(PyObject *list, mica_tf_control *controls) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (!PyTuple_Check(item)) {
            PyErr_SetString(PyExc_TypeError, "a control is (first, end, before)");
            return -1;
        }
        if (!PyArg_ParseTuple(item, "iii", &controls[i].first, &controls[i].end,
                              &controls[i].before))
            return -1;
    }
    return 0;
}

static int numbers_of(PyObject *list, int32_t *numbers) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        long number = PyLong_AsLong(PyList_GET_ITEM(list, i));
        if (PyErr_Occurred()) return -1;
        numbers[i] = number < 0 || number > INT32_MAX ? -1 : (int32_t)number;
    }
    return 0;
}

static PyObject *pruned_of(TFGraph *self, const mica_tf_pruning *of, int32_t *parameters) {
    mica_tf_graph *graph;
    int32_t n;
    mica_status status = mica_tf_graph_prune(self->graph, of, parameters, &n, &graph);
    if (status) return tf_raise(status);
    PyObject *wrapped = tf_wrap_graph(graph), *list = wrapped ? PyList_New(n) : NULL;
    for (int32_t i = 0; list && i < n; i++) {
        PyObject *number = PyLong_FromLong(parameters[i]);
        if (number)
            PyList_SET_ITEM(list, i, number);
        else
            Py_CLEAR(list);
    }
    if (list) return Py_BuildValue("(NN)", wrapped, list);
    Py_XDECREF(wrapped);
    return NULL;
}

/* _prune(feeds, fetches, targets, controls): (a graph, the nodes of its further parameters); feeds
 * and fetches are tensors of this graph, targets numbers of nodes. See mica_tf_graph_prune. */
static PyObject *prune_method(PyObject *object, PyObject *args) {
    TFGraph *self = (TFGraph *)object;
    PyObject *feeds, *fetches, *targets, *controls, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!O!O!:_prune", &PyList_Type, &feeds, &PyList_Type, &fetches,
                          &PyList_Type, &targets, &PyList_Type, &controls))
        return NULL;
    size_t n = (size_t)PyList_GET_SIZE(feeds), m = (size_t)PyList_GET_SIZE(fetches);
    size_t n_targets = (size_t)PyList_GET_SIZE(targets);
    size_t n_controls = (size_t)PyList_GET_SIZE(controls);
    size_t n_parameters = (size_t)mica_tf_graph_parameter_count(self->graph);
    mica_tf_ref *refs = PyMem_Calloc(n + m + 1, sizeof *refs);
    int32_t *numbers = PyMem_Calloc(n_targets + n_parameters + 1, sizeof *numbers);
    mica_tf_control *order = PyMem_Calloc(n_controls + 1, sizeof *order);
    if (!refs || !numbers || !order)
        PyErr_NoMemory();
    else if (refs_of(self, feeds, refs) == 0 && refs_of(self, fetches, refs + n) == 0 &&
             numbers_of(targets, numbers) == 0 && controls_of(controls, order) == 0) {
        mica_tf_pruning of = {refs,    (int32_t)n,         refs + n, (int32_t)m,
                              numbers, (int32_t)n_targets, order,    (int32_t)n_controls};
        result = pruned_of(self, &of, numbers + n_targets);
    }
    PyMem_Free(refs);
    PyMem_Free(numbers);
    PyMem_Free(order);
    return result;
}

int tf_variables_from_list(PyObject *list, mica_tf_dtype *dtypes, mica_tf_shape *shapes) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i), *dtype, *shape;
        dtypes[i] = MICA_TF_no_dtype;
        if (item == Py_None) continue;
        bool is_one = PyTuple_Check(item) && PyArg_ParseTuple(item, "OO", &dtype, &shape) &&
                      tf_dtype_from_object(dtype, &dtypes[i]) == 0 &&
                      tf_shape_from_object(shape, &shapes[i]) == 0;
        if (is_one) continue;
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a variable is (dtype, shape) or None");
        return -1;
    }
    return 0;
}

/* _functional(variables): a graph; of each parameter None or the (dtype, shape) of its variable.
 * See mica_tf_graph_functional. */
static PyObject *functional_method(PyObject *object, PyObject *variables) {
    TFGraph *self = (TFGraph *)object;
    Py_ssize_t n = mica_tf_graph_parameter_count(self->graph);
    if (!PyList_Check(variables) || PyList_GET_SIZE(variables) != n)
        return PyErr_Format(PyExc_ValueError, "an entry for each of %zd parameters is needed", n);
    mica_tf_shape *shapes = PyMem_Calloc((size_t)n + 1, sizeof *shapes);
    mica_tf_dtype *dtypes = PyMem_Calloc((size_t)n + 1, sizeof *dtypes);
    bool failed = !shapes || !dtypes;
    if (failed) PyErr_NoMemory();
    if (!failed) failed = tf_variables_from_list(variables, dtypes, shapes) < 0;
    mica_tf_graph *graph = NULL;
    mica_status status =
        failed ? NULL : mica_tf_graph_functional(self->graph, dtypes, shapes, &graph);
    PyMem_Free(shapes);
    PyMem_Free(dtypes);
    if (status) return tf_raise(status);
    return failed ? NULL : tf_wrap_graph(graph);
}

/* Its value now. `given` holds an eager tensor, or None, for each of the first parameters; NULL is
 * none. */
static PyObject *evaluate(TFGraph *self, PyObject *tensor, PyObject *given, bool is_constant) {
    if (!tf_is_tensor(tensor) || ((TFTensor *)tensor)->graph != self)
        return PyErr_Format(PyExc_ValueError, "not a tensor of this graph");
    int32_t n = mica_tf_graph_parameter_count(self->graph);
    mica_tf_value *values = PyMem_Calloc((size_t)n + 1, sizeof *values), value;
    if (!values || !tf_device()) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; given && i < n && i < PyList_GET_SIZE(given); i++) {
        PyObject *item = PyList_GET_ITEM(given, i);
        if (tf_is_tensor(item)) values[i] = ((TFTensor *)item)->value;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(self->capture_order); i++) {
        PyObject *pair = PyList_GET_ITEM(self->capture_order, i);
        TFTensor *external = (TFTensor *)PyTuple_GET_ITEM(pair, 0);
        TFTensor *internal = (TFTensor *)PyTuple_GET_ITEM(pair, 1);
        for (int32_t k = 0; k < n; k++)
            if (mica_tf_graph_parameter_ref(self->graph, k).node == internal->ref.node)
                if (!external->graph) values[k] = external->value;
    }
    mica_status status = mica_tf_graph_evaluate(self->graph, tf_device(), ((TFTensor *)tensor)->ref,
                                                values, is_constant, &value);
    PyMem_Free(values);
    return status ? tf_raise(status) : tf_eager_tensor(value);
}

/* _evaluate(tensor, given): its value now, when it follows from constants, what was captured and
 * the given values of parameters, a list. */
static PyObject *evaluate_method(PyObject *object, PyObject *args) {
    PyObject *tensor, *given = NULL;
    if (!PyArg_ParseTuple(args, "O|O!", &tensor, &PyList_Type, &given)) return NULL;
    return evaluate((TFGraph *)object, tensor, given, false);
}

/* _constant(tensor): its value, when that will be the same whenever the graph runs. */
static PyObject *constant_method(PyObject *object, PyObject *tensor) {
    return evaluate((TFGraph *)object, tensor, NULL, true);
}

static PyObject *outputs_method(PyObject *object, PyObject *Py_UNUSED(unused)) {
    TFGraph *self = (TFGraph *)object;
    int32_t n = mica_tf_graph_output_count(self->graph);
    PyObject *list = PyList_New(n);
    for (int32_t i = 0; list && i < n; i++) {
        PyObject *tensor = tf_symbolic_tensor(self, mica_tf_graph_output_ref(self->graph, i));
        if (tensor)
            PyList_SET_ITEM(list, i, tensor);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *parameter_at_method(PyObject *object, PyObject *number) {
    TFGraph *self = (TFGraph *)object;
    long i = PyLong_AsLong(number);
    if (i < 0 || i >= mica_tf_graph_parameter_count(self->graph)) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_IndexError, "there is no parameter %ld", i);
        return NULL;
    }
    return tf_symbolic_tensor(self, mica_tf_graph_parameter_ref(self->graph, (int32_t)i));
}

static PyObject *get_parameter_count(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromLong(mica_tf_graph_parameter_count(((TFGraph *)self)->graph));
}

static PyObject *get_node_count(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromLong(mica_tf_graph_node_count(((TFGraph *)self)->graph));
}
static PyObject *get_name(PyObject *self, void *Py_UNUSED(unused)) {
    return PyUnicode_FromString(mica_tf_graph_name(((TFGraph *)self)->graph));
}
static PyObject *get_outer(PyObject *self, void *Py_UNUSED(unused)) {
    PyObject *outer = (PyObject *)((TFGraph *)self)->outer;
    if (!outer) outer = Py_None;
    Py_INCREF(outer);
    return outer;
}
/* Whether it can be part of a segment: nothing in it runs on the host. */
static PyObject *get_lowers(PyObject *self, void *Py_UNUSED(unused)) {
    return PyBool_FromLong(mica_tf_graph_is_lowered(((TFGraph *)self)->graph));
}

static PyObject *get_effects(PyObject *self, void *Py_UNUSED(unused)) {
    return PyBool_FromLong(mica_tf_graph_has_effects(((TFGraph *)self)->graph));
}

static PyMethodDef graph_methods[] = {
    {"_parameter", parameter_method, METH_VARARGS, NULL},
    {"_output", output_method, METH_O, NULL},
    {"_run", run_method, METH_O, NULL},
    {"_captures", captures_method, METH_NOARGS, NULL},
    {"_node", node_method, METH_O, NULL},
    {"_attributes", attributes_method, METH_O, NULL},
    {"_request", request_method, METH_O, NULL},
    {"_tensor", tensor_method, METH_VARARGS, NULL},
    {"_text", text_method, METH_NOARGS, NULL},
    {"_segments", segments_method, METH_NOARGS, NULL},
    {"_set_compiled", set_compiled_method, METH_NOARGS, NULL},
    {"_describe", describe_method, METH_NOARGS, NULL},
    {"_lowered", lowered_method, METH_NOARGS, NULL},
    {"_keep_graphs", keep_graphs_method, METH_O | METH_STATIC, NULL},
    {"_ints", ints_method, METH_O, NULL},
    {"_backward", backward_method, METH_O, NULL},
    {"_gradients", gradients_method, METH_VARARGS, NULL},
    {"_evaluate", evaluate_method, METH_VARARGS, NULL},
    {"_constant", constant_method, METH_O, NULL},
    {"_prune", prune_method, METH_VARARGS, NULL},
    {"_functional", functional_method, METH_O, NULL},
    {"_outputs", outputs_method, METH_NOARGS, NULL},
    {"_parameter_at", parameter_at_method, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* What the names of new nodes begin with, without the slash. */
static PyObject *get_scope(PyObject *object, void *Py_UNUSED(closure)) {
    PyObject *scope = ((TFGraph *)object)->scope;
    return scope ? Py_NewRef(scope) : PyUnicode_FromString("");
}

static int set_scope(PyObject *object, PyObject *scope, void *Py_UNUSED(closure)) {
    if (!scope || !PyUnicode_Check(scope)) {
        PyErr_SetString(PyExc_TypeError, "a scope is a string");
        return -1;
    }
    PyObject *kept = PyUnicode_GET_LENGTH(scope) ? Py_NewRef(scope) : NULL;
    Py_XSETREF(((TFGraph *)object)->scope, kept);
    return 0;
}

static PyObject *get_by_identity(PyObject *object, void *Py_UNUSED(closure)) {
    return PyBool_FromLong(((TFGraph *)object)->by_identity);
}

static int set_by_identity(PyObject *object, PyObject *value, void *Py_UNUSED(closure)) {
    int truth = value ? PyObject_IsTrue(value) : 0;
    if (truth < 0) return -1;
    ((TFGraph *)object)->by_identity = truth;
    return 0;
}

static PyGetSetDef graph_getters[] = {
    {"_by_identity", get_by_identity, set_by_identity, NULL, NULL},
    {"_scope", get_scope, set_scope, NULL, NULL},
    {"_node_count", get_node_count, NULL, NULL, NULL},
    {"_parameter_count", get_parameter_count, NULL, NULL, NULL},
    {"name", get_name, NULL, "The function's name.", NULL},
    {"outer_graph", get_outer, NULL, "The graph it is built inside of, or None.", NULL},
    {"_has_effects", get_effects, NULL, NULL, NULL},
    {"_lowers", get_lowers, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject TFGraph_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica._mica.TFGraph",
    .tp_basicsize = sizeof(TFGraph),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "A graph of TensorFlow ops under construction.",
    .tp_new = graph_new,
    .tp_dealloc = graph_dealloc,
    .tp_traverse = graph_traverse,
    .tp_clear = graph_clear,
    .tp_methods = graph_methods,
    .tp_getset = graph_getters,
    .tp_dictoffset = offsetof(TFGraph, dict),
    .tp_weaklistoffset = offsetof(TFGraph, weakrefs),
};

/* ---- printing and functions of Python ---------------------------------------------------------*/

static void print_text(void *context, const char *stream, const char *text, size_t n) {
    (void)context;
    PyGILState_STATE state;
    if (!python_enter(&state)) return;
    PyObject *hook = tf_hook("print");
    PyObject *result =
        hook ? PyObject_CallFunction(hook, "ss#", stream, text, (Py_ssize_t)n) : NULL;
    if (!result) PyErr_WriteUnraisable(NULL);
    Py_XDECREF(result);
    python_leave(state);
}

static PyObject *tensors_of(const mica_tf_value *values, int32_t n) {
    PyObject *list = PyList_New(n);
    for (int32_t i = 0; list && i < n; i++) {
        mica_tf_value_retain(values[i]);
        PyObject *tensor = tf_eager_tensor(values[i]);
        if (tensor)
            PyList_SET_ITEM(list, i, tensor);
        else
            Py_CLEAR(list);
    }
    return list;
}

static int take_results(PyObject *results, mica_tf_value *outputs, int32_t n) {
    PyObject *sequence = results ? PySequence_Fast(results, "a list of results is needed") : NULL;
    int failed = !sequence;
    if (sequence && PySequence_Fast_GET_SIZE(sequence) != n) {
        PyErr_Format(PyExc_ValueError, "the function gave %zd results, %d were expected",
                     PySequence_Fast_GET_SIZE(sequence), (int)n);
        failed = 1;
    }
    for (int32_t i = 0; i < n && !failed; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(sequence, i);
        failed = !tf_is_tensor(item) || !tf_is_eager((TFTensor *)item);
        if (failed) {
            PyErr_Format(PyExc_TypeError, "%R is not an eager tensor", item);
            break;
        }
        outputs[i] = ((TFTensor *)item)->value;
        mica_tf_value_retain(outputs[i]);
    }
    Py_XDECREF(sequence);
    return failed ? -1 : 0;
}

static mica_status call_python(void *context, int64_t function, const mica_tf_value *inputs,
                               int32_t n_inputs, mica_tf_value *outputs, int32_t n_outputs) {
    (void)context;
    PyGILState_STATE state;
    if (!python_enter(&state))
        return mica_status_create(MICA_CANCELLED, "[PyFunc] the interpreter is ending");
    if (function < 0) {
        mica_status status = data_call(function, inputs, n_inputs, outputs, n_outputs);
        python_leave(state);
        return status;
    }
    PyObject *hook = tf_hook("py_func");
    tf_tapes hidden = tf_hide_tapes();
    PyObject *called = tf_function_find(function);
    PyObject *tensors = hook ? tensors_of(inputs, n_inputs) : NULL;
    PyObject *results = tensors ? PyObject_CallFunction(hook, "LOO", (long long)function,
                                                        called ? called : Py_None, tensors)
                                : NULL;
    mica_status status = NULL;
    if (take_results(results, outputs, n_outputs) < 0) status = status_from_exception("PyFunc");
    tf_show_tapes(hidden);
    Py_XDECREF(called);
    Py_XDECREF(tensors);
    Py_XDECREF(results);
    python_leave(state);
    return status;
}

static void log_line(void *context, const char *line) {
    (void)context;
    PyGILState_STATE state;
    if (!python_enter(&state)) return;
    PySys_FormatStderr("mica.tf eager: %s\n", line);
    python_leave(state);
}

/* tf_log_eager(on) */
static PyObject *log_function(PyObject *Py_UNUSED(module), PyObject *on) {
    mica_tf_set_log(PyObject_IsTrue(on) ? log_line : NULL, NULL);
    Py_RETURN_NONE;
}

static PyObject *start_function(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    mica_tf_set_print(print_text, NULL);
    mica_tf_set_host_call(call_python, NULL);
    Py_RETURN_NONE;
}

PyMethodDef tf_graph_functions[] = {
    {"tf_start", start_function, METH_NOARGS, NULL},
    {"tf_log_eager", log_function, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int tf_add_to(PyObject *module) {
    static const struct {
        const char *name;
        PyTypeObject *type;
    } types[] = {{"TFTensor", &TFTensor_Type},
                 {"TFEagerTensor", &TFEager_Type},
                 {"TFSymbolicTensor", &TFSymbolic_Type},
                 {"TFGraph", &TFGraph_Type},
                 {"TFTape", &TFTape_Type},
                 {"TFAccumulator", &TFAccumulator_Type},
                 {"TFCache", &TFCache_Type},
                 {"TFFunction", &TFFunction_Type},
                 {"TFReceived", &TFReceived_Type},
                 {"TFDispatched", &TFDispatched_Type}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (PyType_Ready(types[i].type) < 0) return -1;
        if (PyModule_AddObjectRef(module, types[i].name, (PyObject *)types[i].type) < 0) return -1;
    }
    PyObject *priority = PyLong_FromLong(100); /* numpy leaves `array + tensor` to the tensor */
    if (!priority) return -1;
    PyDict_SetItemString(TFTensor_Type.tp_dict, "__array_priority__", priority);
    Py_DECREF(priority);
    PyType_Modified(&TFTensor_Type);
    if (PyModule_AddFunctions(module, tf_convert_functions) < 0 ||
        PyModule_AddFunctions(module, tf_execute_functions) < 0 ||
        PyModule_AddFunctions(module, tf_graph_functions) < 0 ||
        PyModule_AddFunctions(module, tf_function_functions) < 0 ||
        PyModule_AddFunctions(module, tf_files_functions) < 0 ||
        PyModule_AddFunctions(module, tf_records_functions) < 0 ||
        PyModule_AddFunctions(module, tf_dispatch_functions) < 0 ||
        PyModule_AddFunctions(module, tf_peer_functions) < 0 ||
        PyModule_AddFunctions(module, tf_dist_functions) < 0 ||
        PyModule_AddFunctions(module, tf_tape_functions) < 0)
        return -1;
    return tf_ops_add_to(module);
}
