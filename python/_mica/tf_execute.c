/* The door through which every op goes: run it, or append it to the graph being built. */
#include "tf_extension.h"

#include <string.h>

static _Thread_local TFGraph *current;       /* borrowed: whoever entered it holds it */
static _Thread_local PyObject *remote;       /* owned: runs ops elsewhere; NULL: they run here */
static mica_device *device;                  /* where ops without a device scope run */
static bool is_started;                      /* something was asked to run */
static _Thread_local mica_device *placement; /* what tf.device asks for; NULL: nothing */

PyObject *tf_remote(void) {
    return remote;
}

static void raise_unimplemented(PyObject *message) { /* takes the reference */
    PyObject *error = message ? tf_hook("UnimplementedError") : NULL;
    PyObject *raised =
        error ? PyObject_CallFunction(error, "OOO", Py_None, Py_None, message) : NULL;
    if (raised) PyErr_SetObject(error, raised);
    Py_XDECREF(raised);
    Py_XDECREF(message);
}

bool tf_refuse_remote(const char *what) {
    if (!remote) return false;
    raise_unimplemented(
        PyUnicode_FromFormat("%s cannot run on %S: ops can, one by one", what, remote));
    return true;
}

static bool observes_calls; /* any_homes or listener: what most programs never ask for */
static bool any_homes;      /* whether a handle has ever been told that its variable is elsewhere */

/* What runs the ops of a variable that is elsewhere; borrowed; NULL: it is here, or is none. */
static PyObject *home_of(const TFTensor *tensor) {
    return tensor->home;
}

TFGraph *tf_current_graph(void) {
    return current;
}

mica_device *tf_device(void) {
    is_started = true;
    if (placement) return placement;
    if (!device) device = device_default();
    return device;
}

void tf_default_attrs(const mica_tf_op_info *info, mica_tf_attr *attrs) {
    for (int32_t i = 0; i < info->n_attrs; i++) attrs[i] = info->attrs[i].value;
}

/* ---- capturing --------------------------------------------------------------------------------*/

/* Small values of integers and the like, which have no gradient, become constants of the
 * graph: sizes and axes among them. */
#define MOST_CONSTANT_ELEMENTS 128

/* A constant of the graph outside, once more. */
static PyObject *embed_again(TFGraph *graph, TFTensor *tensor) {
    const mica_tf_operation *o = mica_tf_graph_operation(tensor->graph->graph, tensor->ref.node);
    mica_tf_ref ref;
    mica_status status = mica_tf_graph_add(graph->graph, MICA_TF_Const, mica_tf_operation_attrs(o),
                                           NULL, 0, "Const", &ref);
    return status ? tf_raise(status) : tf_symbolic_tensor(graph, ref);
}

static bool is_constant_node(const TFTensor *tensor) {
    if (!tensor->graph) return false;
    const mica_tf_operation *o = mica_tf_graph_operation(tensor->graph->graph, tensor->ref.node);
    return o && mica_tf_operation_op(o) == MICA_TF_Const;
}

static PyObject *embed(TFGraph *graph, TFTensor *tensor) {
    const mica_tf_op_info *info = mica_tf_op_describe(MICA_TF_Const);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{0}};
    for (int32_t i = 0; i < info->n_attrs; i++) {
        if (!strcmp(info->attrs[i].name, "value")) attrs[i].as.value = tensor->value;
        if (!strcmp(info->attrs[i].name, "dtype")) attrs[i].as.integer = tensor->value.dtype;
    }
    mica_tf_ref ref;
    mica_status status =
        mica_tf_graph_add(graph->graph, MICA_TF_Const, attrs, NULL, 0, "Const", &ref);
    return status ? tf_raise(status) : tf_symbolic_tensor(graph, ref);
}

static PyObject *capture(TFGraph *graph, TFTensor *tensor) {
    mica_tf_shape shape;
    mica_tf_ref ref;
    PyObject *internal = NULL, *home = home_of(tensor);
    if (home) {
        raise_unimplemented(PyUnicode_FromFormat(
            "a variable on %S cannot be used by a function that is traced: call the function "
            "within its tf.device, its ops run there one by one",
            home));
        return NULL;
    }
    tf_tensor_shape(tensor, &shape);
    if (tensor->graph && graph->outer && tensor->graph != graph->outer) {
        /* Through every graph in between. */
        PyObject *outer = tf_lift(graph->outer, tensor);
        if (!outer) return NULL;
        PyObject *result = tf_lift(graph, (TFTensor *)outer);
        Py_DECREF(outer);
        return result;
    }
    if (tensor->graph && !graph->outer) {
        PyErr_Format(PyExc_TypeError,
                     "<tf.Tensor '%s:%d'> is out of scope and cannot be used here. Use return "
                     "values, explicit Python locals or TensorFlow collections to access it.",
                     mica_tf_graph_node_name(tensor->graph->graph, tensor->ref.node),
                     (int)tensor->ref.index);
        return NULL;
    }
    mica_dtype core = mica_tf_dtype_core(tensor->value.dtype);
    bool discrete = core != MICA_DTYPE_COUNT && mica_dtype_kind_of(core) != MICA_KIND_FLOAT &&
                    mica_dtype_kind_of(core) != MICA_KIND_COMPLEX;
    if (discrete && (tf_is_eager(tensor) || is_constant_node(tensor))) {
        int64_t elements = 1;
        for (int32_t i = 0; i < shape.rank; i++) elements *= shape.dims[i];
        if (elements <= MOST_CONSTANT_ELEMENTS)
            internal = tf_is_eager(tensor) ? embed(graph, tensor) : embed_again(graph, tensor);
        if (!internal && PyErr_Occurred()) return NULL;
    }
    bool is_constant = internal != NULL;
    if (!internal) {
        mica_status status =
            mica_tf_graph_parameter(graph->graph, tensor->value.dtype, &shape, "captured", &ref);
        if (status) return tf_raise(status);
        internal = tf_symbolic_tensor(graph, ref);
        if (!internal) return NULL;
    }
    ((TFTensor *)internal)->id = tensor->id;
    ((TFTensor *)internal)->is_watched = tensor->is_watched;
    Py_XINCREF(tensor->variable); /* what stands for a handle inside knows the variable */
    Py_XSETREF(((TFTensor *)internal)->variable, tensor->variable);
    PyObject *key = PyLong_FromLongLong(tensor->id);
    PyObject *pair = key ? PyTuple_Pack(2, (PyObject *)tensor, internal) : NULL;
    int failed = !pair || PyDict_SetItem(graph->captures, key, pair) < 0 ||
                 (!is_constant && PyList_Append(graph->capture_order, pair) < 0);
    Py_XDECREF(key);
    Py_XDECREF(pair);
    if (failed) Py_CLEAR(internal);
    return internal;
}

PyObject *tf_lift(TFGraph *graph, TFTensor *tensor) {
    if (tensor->graph == graph) {
        Py_INCREF(tensor);
        return (PyObject *)tensor;
    }
    PyObject *key = PyLong_FromLongLong(tensor->id);
    if (!key) return NULL;
    PyObject *pair = PyDict_GetItem(graph->captures, key);
    Py_DECREF(key);
    if (pair) {
        PyObject *internal = PyTuple_GET_ITEM(pair, 1);
        Py_INCREF(internal);
        return internal;
    }
    return capture(graph, tensor);
}

/* ---- executing --------------------------------------------------------------------------------*/

#define SMALL_BYTES (64 * 1024)
#define FEW 16

/* Whether it is over before another thread could use the time. A host op may wait for threads that
 * need the interpreter. */
static bool is_quick(mica_tf_op op, const mica_tf_value *values, int32_t n) {
    if (mica_tf_op_describe(op)->is_host) return false;
    size_t bytes = 0;
    for (int32_t i = 0; i < n; i++)
        if (mica_tf_dtype_core(values[i].dtype) != MICA_DTYPE_COUNT)
            bytes += mica_type_bytes(mica_tensor_type(values[i].object));
    return bytes < SMALL_BYTES;
}

static int32_t run_eagerly(mica_tf_op op, mica_tf_attr *attrs, TFTensor *const *inputs, int32_t n,
                           PyObject **outputs, int32_t capacity) {
    mica_tf_value few_in[FEW], few_out[FEW], *values = few_in, *results = few_out;
    bool recording = tf_is_recording();
    mica_tf_operation *operation = NULL;
    int32_t n_results = 0;
    mica_device *here = tf_device();
    if (!here) return -1;
    if (n > FEW) values = PyMem_New(mica_tf_value, n);
    if (capacity > FEW) results = PyMem_New(mica_tf_value, capacity);
    mica_status status = NULL;
    if (!values || !results) {
        PyErr_NoMemory();
        n_results = -1;
        goto done;
    }
    for (int32_t i = 0; i < n; i++) {
        if (!tf_is_eager(inputs[i])) {
            PyErr_Format(PyExc_TypeError,
                         "<tf.Tensor '%s:%d'> is out of scope and cannot be used here. Use return "
                         "values, explicit Python locals or TensorFlow collections to access it: "
                         "it belongs to a function that was being traced",
                         mica_tf_graph_node_name(inputs[i]->graph->graph, inputs[i]->ref.node),
                         (int)inputs[i]->ref.index);
            n_results = -1;
            goto done;
        }
        values[i] = inputs[i]->value;
    }
    if (is_quick(op, values, n)) {
        bool began = interrupt_begin();
        status = mica_tf_eager(here, op, attrs, values, n, results, capacity, &n_results,
                               recording ? &operation : NULL);
        interrupt_end(began);
    } else {
        BEGIN_COMPUTING;
        status = mica_tf_eager(here, op, attrs, values, n, results, capacity, &n_results,
                               recording ? &operation : NULL);
        END_COMPUTING;
    }
    if (status) {
        tf_raise(status);
        n_results = -1;
        goto done;
    }
    bool failed = false;
    for (int32_t i = 0; i < n_results; i++) {
        outputs[i] = tf_eager_tensor(results[i]);
        failed |= !outputs[i];
    }
    if (!failed && recording) failed = tf_record(operation, inputs, n, outputs, n_results) < 0;
    if (failed) {
        for (int32_t i = 0; i < n_results; i++) Py_CLEAR(outputs[i]);
        n_results = -1;
    }
done:
    mica_tf_operation_release(operation);
    if (values != few_in) PyMem_Free(values);
    if (results != few_out) PyMem_Free(results);
    return n_results;
}

#define RUNS_HERE (-2)

/* What the runner gave, as outputs; told to the tapes. */
static int32_t take_results(PyObject *results, mica_tf_op op, mica_tf_attr *attrs,
                            TFTensor *const *inputs, int32_t n, PyObject **outputs,
                            int32_t capacity) {
    int32_t count = PyList_Check(results) ? (int32_t)PyList_GET_SIZE(results) : -1;
    bool good = count >= 0 && count <= capacity;
    for (int32_t i = 0; i < count && good; i++)
        good = Py_TYPE(PyList_GET_ITEM(results, i)) == &TFEager_Type;
    if (!good) {
        PyErr_SetString(PyExc_RuntimeError, "an op that ran elsewhere gave no list of tensors");
        return -1;
    }
    for (int32_t i = 0; i < count; i++) Py_INCREF(outputs[i] = PyList_GET_ITEM(results, i));
    if (!tf_is_recording()) return count;
    mica_tf_operation *operation = NULL;
    mica_status status = mica_tf_operation_create(op, attrs, &operation);
    bool failed = status != NULL;
    if (failed)
        tf_raise(status);
    else
        failed = tf_record(operation, inputs, n, outputs, count) < 0;
    mica_tf_operation_release(operation);
    for (int32_t i = 0; i < count && failed; i++) Py_CLEAR(outputs[i]);
    return failed ? -1 : count;
}

/* What a runner gives for an op: by a call, or by a method of it. While it works, ops run here. */
static PyObject *ask_runner(PyObject *runner, const char *method, mica_tf_op op,
                            const mica_tf_attr *attrs, TFTensor *const *inputs, int32_t n) {
    PyObject *request = tf_request(op, attrs);
    PyObject *tensors = request ? PyTuple_New(n) : NULL;
    for (int32_t i = 0; i < n && tensors; i++) {
        Py_INCREF(inputs[i]);
        PyTuple_SET_ITEM(tensors, i, (PyObject *)inputs[i]);
    }
    PyObject *before = remote, *results = NULL;
    remote = NULL;
    Py_INCREF(runner);
    if (tensors)
        results = method ? PyObject_CallMethod(runner, method, "OO", request, tensors)
                         : PyObject_CallFunctionObjArgs(runner, request, tensors, NULL);
    Py_DECREF(runner);
    Py_XDECREF(remote);
    remote = before;
    Py_XDECREF(request);
    Py_XDECREF(tensors);
    return results;
}

/* RUNS_HERE where the runner leaves the op to this process. */
static int32_t run_remotely(PyObject *runner, mica_tf_op op, mica_tf_attr *attrs,
                            TFTensor *const *inputs, int32_t n, PyObject **outputs,
                            int32_t capacity) {
    for (int32_t i = 0; i < n; i++)
        if (!tf_is_eager(inputs[i])) return RUNS_HERE; /* which refuses it */
    PyObject *results = ask_runner(runner, NULL, op, attrs, inputs, n);
    int32_t count = -1;
    if (results == Py_NotImplemented)
        count = RUNS_HERE;
    else if (results)
        count = take_results(results, op, attrs, inputs, n, outputs, capacity);
    Py_XDECREF(results);
    return count;
}

/* The same for a node of the graph being built, which runs elsewhere when the graph runs here. */
static int32_t add_remotely(mica_tf_op op, mica_tf_attr *attrs, TFTensor *const *inputs, int32_t n,
                            PyObject **outputs, int32_t capacity) {
    PyObject *results = ask_runner(remote, "add_to_graph", op, attrs, inputs, n);
    int32_t count = -1;
    if (results == Py_NotImplemented) {
        count = RUNS_HERE;
    } else if (results) {
        bool good = PyList_Check(results) && PyList_GET_SIZE(results) <= capacity;
        count = good ? (int32_t)PyList_GET_SIZE(results) : 0;
        for (int32_t i = 0; i < count; i++) good &= tf_is_tensor(PyList_GET_ITEM(results, i));
        if (!good) {
            PyErr_SetString(PyExc_RuntimeError, "an op that runs elsewhere gave no tensors");
            count = -1;
        }
        for (int32_t i = 0; i < count; i++) Py_INCREF(outputs[i] = PyList_GET_ITEM(results, i));
    }
    Py_XDECREF(results);
    return count;
}

/* "[2,3], [4]": what is known of the shapes of inputs. */
static PyObject *shapes_text(TFTensor *const *inputs, int32_t n) {
    PyObject *texts = PyList_New(0);
    for (int32_t i = 0; texts && i < n; i++) {
        mica_tf_shape shape;
        tf_tensor_shape(inputs[i], &shape);
        char chars[MICA_MAX_RANK * 24 + 16] = "<unknown>"; /* a size has at most 19 digits */
        size_t at = 0;
        if (shape.rank >= 0) at = (size_t)PyOS_snprintf(chars, sizeof chars, "[");
        for (int32_t k = 0; k < shape.rank && k < MICA_MAX_RANK; k++)
            at += (size_t)PyOS_snprintf(chars + at, sizeof chars - at,
                                        shape.dims[k] < 0 ? "%s?" : "%s%lld", k ? "," : "",
                                        (long long)shape.dims[k]);
        if (shape.rank >= 0) PyOS_snprintf(chars + at, sizeof chars - at, "]");
        PyObject *text = PyUnicode_FromString(chars);
        if (!text || PyList_Append(texts, text) < 0) Py_CLEAR(texts);
        Py_XDECREF(text);
    }
    PyObject *comma = texts ? PyUnicode_FromString(", ") : NULL;
    PyObject *all = comma ? PyUnicode_Join(comma, texts) : NULL;
    Py_XDECREF(texts);
    Py_XDECREF(comma);
    return all;
}

/* Errors of shapes while tracing are ValueErrors, as TensorFlow's are. */
static void raise_while_tracing(mica_status status, const mica_tf_op_info *info,
                                TFTensor *const *inputs, int32_t n, const char *name) {
    mica_code code = mica_status_code(status);
    if (code == MICA_OUT_OF_MEMORY || code == MICA_RESOURCE_EXHAUSTED) {
        tf_raise(status);
        return;
    }
    const char *message = mica_status_message(status);
    bool dtypes =
        strstr(message, "was expected to be a") || strstr(message, "list of allowed values");
    if (*message == '[') { /* the op is named below */
        const char *end = strstr(message, "] ");
        if (end) message = end + 2;
    }
    PyObject *shapes = shapes_text(inputs, n);
    if (shapes)
        PyErr_Format(dtypes ? PyExc_TypeError : PyExc_ValueError,
                     "%s for '{{node %s}} = %s' with input shapes: %U.", message,
                     name ? name : info->name, info->name, shapes);
    Py_XDECREF(shapes);
    mica_status_release(status);
}

/* "Input 'y' of 'AddV2' Op has type float64 that does not match type float32 of argument 'x'." */
static bool raise_unlike(const mica_tf_op_info *info, const mica_tf_dtype *dtypes, int32_t n) {
    if (info->n_inputs != n) { /* a list of tensors */
        PyErr_Format(PyExc_TypeError,
                     "Tensors in list passed to '%s' of '%s' Op have types that don't all match",
                     info->inputs[0].name, info->name);
        return true;
    }
    for (int32_t i = 0; i < n; i++) {
        const mica_tf_argument *a = &info->inputs[i];
        if (a->dtype && dtypes[i] != (mica_tf_dtype)a->dtype) {
            PyErr_Format(PyExc_TypeError,
                         "Input '%s' of '%s' Op has type %s that does not match expected type of "
                         "%s.",
                         a->name, info->name, mica_tf_dtype_name(dtypes[i]),
                         mica_tf_dtype_name((mica_tf_dtype)a->dtype));
            return true;
        }
        for (int32_t k = 0; k < i; k++)
            if (a->type_attr >= 0 && info->inputs[k].type_attr == a->type_attr &&
                dtypes[k] != dtypes[i]) {
                PyErr_Format(PyExc_TypeError,
                             "Input '%s' of '%s' Op has type %s that does not match type %s of "
                             "argument '%s'.",
                             a->name, info->name, mica_tf_dtype_name(dtypes[i]),
                             mica_tf_dtype_name(dtypes[k]), info->inputs[k].name);
                return true;
            }
    }
    return false;
}

PyObject *tf_raise_dtypes(mica_tf_op op, const mica_tf_dtype *dtypes, int32_t n,
                          mica_status status) {
    if (!current) return tf_raise(status);
    bool allowed = !strstr(mica_status_message(status), "list of allowed values");
    if (!allowed || !raise_unlike(mica_tf_op_describe(op), dtypes, n))
        PyErr_SetString(PyExc_TypeError, mica_status_message(status));
    mica_status_release(status);
    return NULL;
}

static int32_t add_node(mica_tf_op op, mica_tf_attr *attrs, TFTensor *const *inputs, int32_t n,
                        const char *name, PyObject **outputs, int32_t capacity) {
    TFGraph *graph = current;
    mica_tf_ref few[FEW], *refs = few, first;
    TFTensor *few_lifted[FEW], **lifted = few_lifted;
    int32_t n_results = -1, n_lifted = 0;
    if (n > FEW) {
        refs = PyMem_New(mica_tf_ref, n);
        lifted = PyMem_New(TFTensor *, n);
    }
    if (!refs || !lifted) {
        PyErr_NoMemory();
        goto done;
    }
    for (; n_lifted < n; n_lifted++) {
        lifted[n_lifted] = (TFTensor *)tf_lift(graph, inputs[n_lifted]);
        if (!lifted[n_lifted]) goto done;
        refs[n_lifted] = lifted[n_lifted]->ref;
    }
    char scoped[512];
    if (graph->scope) {
        const char *scope = PyUnicode_AsUTF8(graph->scope);
        if (!scope) goto done;
        PyOS_snprintf(scoped, sizeof scoped, "%s/%s", scope,
                      name ? name : mica_tf_op_describe(op)->name);
        name = scoped;
    }
    mica_status status = mica_tf_graph_add(graph->graph, op, attrs, refs, n, name, &first);
    if (status) {
        raise_while_tracing(status, mica_tf_op_describe(op), lifted, n, name);
        goto done;
    }
    n_results = mica_tf_graph_result_count(graph->graph, first.node);
    bool failed = n_results > capacity;
    if (failed)
        PyErr_SetString(PyExc_RuntimeError, "an op has more results than there is room for");
    int32_t n_made = 0;
    while (n_made < n_results && !failed) {
        outputs[n_made] = tf_symbolic_tensor(graph, (mica_tf_ref){first.node, n_made});
        failed = !outputs[n_made++];
    }
    if (!failed && tf_is_recording())
        failed = tf_record(mica_tf_graph_operation(graph->graph, first.node), lifted, n, outputs,
                           n_results) < 0;
    if (failed) {
        while (n_made > 0) Py_CLEAR(outputs[--n_made]);
        n_results = -1;
    }
done:
    for (int32_t i = 0; i < n_lifted; i++) Py_DECREF(lifted[i]);
    if (refs != few) PyMem_Free(refs);
    if (lifted != few_lifted) PyMem_Free(lifted);
    return n_results;
}

static PyObject *listener; /* is told of every op and of where it runs; NULL: no one asked */

/* A listener that uses ops itself is not told of those. */
static int tell_listener(mica_tf_op op, const char *name, PyObject *runner) {
    static _Thread_local bool is_telling;
    if (is_telling) return 0;
    PyObject *told = listener; /* it may set another one */
    Py_INCREF(told);
    is_telling = true;
    PyObject *answer =
        PyObject_CallFunction(told, "szO", mica_tf_op_describe(op)->name,
                              current ? (name ? name : "") : NULL, runner ? runner : Py_None);
    is_telling = false;
    Py_DECREF(told);
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

/* Gives the runner that the op belongs to: the last one that holds an input. */
static int observe_call(mica_tf_op op, const char *name, TFTensor *const *inputs, int32_t n,
                        PyObject **runner) {
    for (int32_t i = 0; any_homes && i < n; i++)
        if (home_of(inputs[i])) *runner = home_of(inputs[i]);
    return listener ? tell_listener(op, name, current ? remote : *runner) : 0;
}

int32_t tf_execute(mica_tf_op op, mica_tf_attr *attrs, TFTensor *const *inputs, int32_t n,
                   const char *name, PyObject **outputs, int32_t capacity) {
    PyObject *runner = remote;
    if (observes_calls && observe_call(op, name, inputs, n, &runner) < 0) return -1;
    if (current) {
        int32_t count = RUNS_HERE;
        if (remote) count = add_remotely(op, attrs, inputs, n, outputs, capacity);
        return count != RUNS_HERE ? count : add_node(op, attrs, inputs, n, name, outputs, capacity);
    }
    if (runner) {
        int32_t count = run_remotely(runner, op, attrs, inputs, n, outputs, capacity);
        if (count != RUNS_HERE) return count;
    }
    return run_eagerly(op, attrs, inputs, n, outputs, capacity);
}

/* Neither a tape, a graph nor a listener hears of such a run, so that nothing but it happens. */
bool tf_execute_again(mica_tf_op op, PyObject *const *inputs, int32_t n, PyObject **out_output) {
    mica_tf_value values[MICA_TF_MOST_PLAIN], result;
    mica_status status;
    if (observes_calls || current || remote || tf_is_recording()) return false;
    mica_device *here = tf_device();
    if (!here) PyErr_Clear(); /* and again, by whoever runs it then */
    if (!here || n > MICA_TF_MOST_PLAIN) return false;
    for (int32_t i = 0; i < n; i++) values[i] = ((TFTensor *)inputs[i])->value;
    if (!mica_tf_eager_again(here, op, values, n, &result, &status)) return false;
    *out_output = status ? tf_raise(status) : tf_eager_tensor(result);
    return true;
}

PyObject *tf_apply(mica_tf_op op, const char *name, TFTensor *const *inputs, int32_t n) {
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    mica_tf_dtype dtypes[4];
    PyObject *output = NULL;
    if (tf_execute_again(op, (PyObject *const *)inputs, n, &output)) return output;
    tf_default_attrs(mica_tf_op_describe(op), attrs);
    for (int32_t i = 0; i < n; i++) dtypes[i] = inputs[i]->value.dtype;
    mica_status status = mica_tf_op_infer_types(op, dtypes, n, attrs);
    if (status) return tf_raise_dtypes(op, dtypes, n, status);
    return tf_execute(op, attrs, inputs, n, name, &output, 1) == 1 ? output : NULL;
}

/* ---- for Python -------------------------------------------------------------------------------*/

static PyObject *current_function(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    PyObject *object = current ? (PyObject *)current : Py_None;
    Py_INCREF(object);
    return object;
}

/* tf_set_graph(graph or None): returns the one before. The caller holds both. */
static PyObject *set_function(PyObject *Py_UNUSED(module), PyObject *graph) {
    if (graph != Py_None && !PyObject_TypeCheck(graph, &TFGraph_Type))
        return PyErr_Format(PyExc_TypeError, "a graph is needed, not %R", graph);
    PyObject *before = current ? (PyObject *)current : Py_None;
    Py_INCREF(before);
    current = graph == Py_None ? NULL : (TFGraph *)graph;
    return before;
}

static PyObject *is_eager_function(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyBool_FromLong(current == NULL);
}

static PyObject *set_device_function(PyObject *Py_UNUSED(module), PyObject *name) {
    mica_device *found = device_from_object(name);
    if (!found) return NULL;
    device = found;
    Py_RETURN_NONE;
}

/* tf_place(name or None): ops and functions of this thread run there from now on; returns what was
 * asked for before. */
static PyObject *place_function(PyObject *Py_UNUSED(module), PyObject *name) {
    PyObject *before = NULL;
    mica_device *found = NULL;
    if (name != Py_None && !(found = device_from_object(name))) return NULL;
    if (placement) {
        before = PyUnicode_FromString(mica_device_name(placement));
        if (!before) return NULL;
    }
    placement = found;
    if (before) return before;
    Py_RETURN_NONE;
}

static PyObject *remote_function(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    PyObject *object = remote ? remote : Py_None;
    Py_INCREF(object);
    return object;
}

/* tf_set_remote(runner or None): returns the one before. runner(request, tensors) gives a list of
 * tensors, or NotImplemented to have the op run here. */
static PyObject *set_remote_function(PyObject *Py_UNUSED(module), PyObject *runner) {
    PyObject *before = remote;
    remote = NULL;
    if (runner != Py_None) Py_INCREF(remote = runner);
    if (before) return before;
    Py_RETURN_NONE;
}

/* tf_set_home(handle, runner): the handle's variable is where the runner runs ops. */
static PyObject *set_home_function(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *handle, *runner;
    if (!PyArg_ParseTuple(args, "O!O:tf_set_home", &TFEager_Type, &handle, &runner)) return NULL;
    Py_INCREF(runner);
    Py_XSETREF(((TFTensor *)handle)->home, runner);
    any_homes = observes_calls = true;
    Py_RETURN_NONE;
}

static PyObject *lift_function(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *graph, *tensor;
    if (!PyArg_ParseTuple(args, "O!O!:tf_lift", &TFGraph_Type, &graph, &TFTensor_Type, &tensor))
        return NULL;
    return tf_lift((TFGraph *)graph, (TFTensor *)tensor);
}

/* tf_variable(name, dtype, shape): the handle of a new variable. */
static PyObject *variable_function(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *name;
    PyObject *dtype_object, *shape_object;
    mica_tf_dtype dtype;
    mica_tf_shape shape;
    mica_tf_value handle;
    if (!PyArg_ParseTuple(args, "sOO:tf_variable", &name, &dtype_object, &shape_object))
        return NULL;
    if (tf_dtype_from_object(dtype_object, &dtype) < 0) return NULL;
    if (tf_shape_from_object(shape_object, &shape) < 0) return NULL;
    mica_status status = mica_tf_variable_create(name, dtype, &shape, &handle);
    return status ? tf_raise(status) : tf_eager_tensor(handle);
}

static PyObject *random_reset_function(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    mica_tf_random_reset();
    Py_RETURN_NONE;
}

/* tf_set_listener(listener or None): listener(op, name of the node or None when it runs now, runner
 * or None) is called before every op. */
static PyObject *set_listener_function(PyObject *Py_UNUSED(module), PyObject *object) {
    PyObject *before = listener;
    listener = NULL;
    if (object != Py_None) Py_INCREF(listener = object);
    observes_calls = any_homes || listener;
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

bool tf_all_by_identity;

/* tf_set_equality(by_values): how == compares tensors that are values; returns how it did. */
static PyObject *set_equality_function(PyObject *Py_UNUSED(module), PyObject *object) {
    int truth = PyObject_IsTrue(object);
    if (truth < 0) return NULL;
    bool before = !tf_all_by_identity;
    tf_all_by_identity = !truth;
    return PyBool_FromLong(before);
}

static PyObject *get_equality_function(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyBool_FromLong(!tf_all_by_identity);
}

/* Whether anything has run or been made: from then on devices stay as they are. */
static PyObject *is_started_function(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyBool_FromLong(is_started || device != NULL);
}

/* Forget it: devices may be divided anew. What has run stays valid. */
static PyObject *restart_function(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    is_started = false;
    device = NULL; /* the default again, asked for when it is needed */
    Py_RETURN_NONE;
}

static PyObject *wait_function(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused)) {
    mica_device *here = tf_device();
    mica_status status;
    if (!here) return NULL;
    mica_mark_caller_line();
    Py_BEGIN_ALLOW_THREADS;
    status = mica_device_wait(here);
    Py_END_ALLOW_THREADS;
    if (status) return tf_raise(status);
    Py_RETURN_NONE;
}

static PyObject *eager_clear_function(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused)) {
    mica_tf_eager_clear();
    Py_RETURN_NONE;
}

PyMethodDef tf_execute_functions[] = {
    {"tf_set_listener", set_listener_function, METH_O, NULL},
    {"tf_set_equality", set_equality_function, METH_O, NULL},
    {"tf_compares_values", get_equality_function, METH_NOARGS, NULL},
    {"tf_is_started", is_started_function, METH_NOARGS, NULL},
    {"tf_restart", restart_function, METH_NOARGS, NULL},
    {"tf_wait", wait_function, METH_NOARGS, NULL},
    {"tf_eager_clear", eager_clear_function, METH_NOARGS, NULL},
    {"tf_random_reset", random_reset_function, METH_NOARGS, NULL},
    {"tf_current_graph", current_function, METH_NOARGS, NULL},
    {"tf_set_graph", set_function, METH_O, NULL},
    {"tf_executing_eagerly", is_eager_function, METH_NOARGS, NULL},
    {"tf_set_device", set_device_function, METH_O, NULL},
    {"tf_place", place_function, METH_O, NULL},
    {"tf_remote", remote_function, METH_NOARGS, NULL},
    {"tf_set_remote", set_remote_function, METH_O, NULL},
    {"tf_set_home", set_home_function, METH_VARARGS, NULL},
    {"tf_lift", lift_function, METH_VARARGS, NULL},
    {"tf_variable", variable_function, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
