/* Layers, losses and optimizers of nn.h in the current trace. Operands are a tuple of arrays, with
 * None for those that are not there; the package checks shapes where its words are better. */
#include <mica/nn.h>

#include "extension.h"

#include <string.h>

enum { MAX_OPERANDS = 8 };

typedef struct layer_call {
    TraceObject *trace;
    mica_value operands[MAX_OPERANDS];
} layer_call;

/* `n` operands, of which the first `n_needed` may not be None. */
static int operands_from(layer_call *call, const char *caller, PyObject *operands, int32_t n_needed,
                         int32_t n) {
    *call = (layer_call){.trace = trace_require(caller)};
    int32_t n_given = 0;
    mica_value *values = call->trace ? lift_sequence(call->trace, operands, true, &n_given) : NULL;
    if (!values) return -1;
    bool is_complete = n_given == n && n <= MAX_OPERANDS;
    for (int32_t i = 0; is_complete && i < n; i++) {
        call->operands[i] = values[i];
        if (i < n_needed && mica_value_is_null(values[i])) is_complete = false;
    }
    PyMem_Free(values);
    if (is_complete) return 0;
    PyErr_Format(PyExc_TypeError, "[%s] takes %d arrays, the first %d of which may not be None",
                 caller, (int)n, (int)n_needed);
    return -1;
}

static PyObject *results_from(layer_call *call, mica_value *results, int32_t n) {
    mica_status status = mica_graph_take_error(call->trace->graph);
    return status ? raise_status(status) : traced_list(call->trace, results, n);
}

/* ---- normalisation ----------------------------------------------------------------------------*/

/* layer_norm((x, gamma, beta), axes, epsilon) -> [y], over the last `axes` axes */
static PyObject *layers_layer_norm(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands;
    int axes;
    double epsilon;
    layer_call call;
    if (!PyArg_ParseTuple(args, "Oid:layer_norm", &operands, &axes, &epsilon) ||
        operands_from(&call, "layer_norm", operands, 1, 3) < 0)
        return NULL;
    const mica_type *type = mica_value_type(call.operands[0]);
    if (axes < 1 || axes > type->rank)
        return PyErr_Format(
            PyExc_ValueError,
            "[layer_norm] the number of axes must be 1 to the rank of the array: %d given, rank %d",
            axes, (int)type->rank);
    mica_ints shape = {type->dims + type->rank - axes, axes};
    mica_value y = mica_nn_layer_norm(call.trace->graph, call.operands[0], call.operands[1],
                                      call.operands[2], shape, epsilon);
    return results_from(&call, &y, 1);
}

/* group_norm((x, gamma, beta), groups, epsilon) -> [y], x (N, C, ...) */
static PyObject *layers_group_norm(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands;
    long long groups;
    double epsilon;
    layer_call call;
    if (!PyArg_ParseTuple(args, "OLd:group_norm", &operands, &groups, &epsilon) ||
        operands_from(&call, "group_norm", operands, 1, 3) < 0)
        return NULL;
    mica_value y = mica_nn_group_norm(call.trace->graph, call.operands[0], call.operands[1],
                                      call.operands[2], groups, epsilon);
    return results_from(&call, &y, 1);
}

/* batch_norm((x, mean, variance, gamma, beta), axis, epsilon, momentum, training)
 * -> [y, mean', variance'] when training, else [y] */
static PyObject *layers_batch_norm(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands;
    long long axis;
    double epsilon, momentum;
    int is_training;
    layer_call call;
    if (!PyArg_ParseTuple(args, "OLddp:batch_norm", &operands, &axis, &epsilon, &momentum,
                          &is_training) ||
        operands_from(&call, "batch_norm", operands, 3, 5) < 0)
        return NULL;
    mica_value *v = call.operands, out[3];
    if (is_training) {
        mica_nn_batch_norm(call.trace->graph, v[0], v[1], v[2], v[3], v[4], axis, epsilon, momentum,
                           out);
        return results_from(&call, out, 3);
    }
    out[0] = mica_nn_batch_norm_inference(call.trace->graph, v[0], v[1], v[2], v[3], v[4], axis,
                                          epsilon);
    return results_from(&call, out, 1);
}

/* ---- dropout ----------------------------------------------------------------------------------*/

/* dropout((x, key), rate, stream) -> [y] */
static PyObject *layers_dropout(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands;
    double rate;
    long long stream;
    layer_call call;
    if (!PyArg_ParseTuple(args, "OdL:dropout", &operands, &rate, &stream) ||
        operands_from(&call, "dropout", operands, 2, 2) < 0)
        return NULL;
    mica_value y =
        mica_nn_dropout(call.trace->graph, call.operands[0], rate, call.operands[1], stream);
    return results_from(&call, &y, 1);
}

/* ---- losses -----------------------------------------------------------------------------------*/

static const char *const LOSS_NAMES[MICA_NN_LOSS_COUNT] = {
    [MICA_NN_MEAN_ABSOLUTE_ERROR] = "absolute_error",
    [MICA_NN_MEAN_SQUARED_ERROR] = "squared_error",
    [MICA_NN_SOFTMAX_CROSS_ENTROPY] = "softmax_cross_entropy",
    [MICA_NN_SIGMOID_CROSS_ENTROPY] = "sigmoid_cross_entropy",
    [MICA_NN_CATEGORICAL_CROSS_ENTROPY] = "categorical_cross_entropy",
    [MICA_NN_HINGE] = "hinge",
    [MICA_NN_HUBER] = "huber",
    [MICA_NN_COSINE_DISTANCE] = "cosine_distance",
    [MICA_NN_LOG_LOSS] = "log_loss",
};

/* The place of a name in a list, or -1 and ValueError. */
static int choice_from(const char *caller, const char *what, const char *given,
                       const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        if (names[i] && !strcmp(names[i], given)) return i;
    PyErr_Format(PyExc_ValueError, "[%s] there is no %s '%s'", caller, what, given);
    return -1;
}

/* loss((predictions, labels, weights), kind, smoothing, epsilon, delta, axis) -> [losses] */
static PyObject *layers_loss(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands;
    const char *kind;
    long long axis;
    layer_call call;
    mica_nn_loss_options options = MICA_NN_LOSS_OPTIONS;
    options.reduction = MICA_NN_REDUCE_NONE;
    if (!PyArg_ParseTuple(args, "OsdddL:loss", &operands, &kind, &options.label_smoothing,
                          &options.epsilon, &options.delta, &axis))
        return NULL;
    int chosen = choice_from("loss", "kind", kind, LOSS_NAMES, MICA_NN_LOSS_COUNT);
    if (chosen < 0 || operands_from(&call, "loss", operands, 2, 3) < 0) return NULL;
    options.kind = (mica_nn_loss_kind)chosen;
    options.axis = axis;
    mica_value losses = mica_nn_loss(call.trace->graph, call.operands[0], call.operands[1],
                                     call.operands[2], &options);
    return results_from(&call, &losses, 1);
}

/* ---- optimizers -------------------------------------------------------------------------------*/

static const char *const OPTIMIZER_NAMES[] = {
    [MICA_NN_SGD] = "sgd",
    [MICA_NN_ADAM] = "adam",
    [MICA_NN_ADAMW] = "adamw",
    [MICA_NN_RMSPROP] = "rmsprop",
};

typedef struct optimizer_option {
    const char *name;
    size_t offset;
    bool is_flag;
} optimizer_option;

static const optimizer_option OPTIMIZER_OPTIONS[] = {
    {"weight_decay", offsetof(mica_nn_optimizer, regularization_scale), false},
    {"momentum", offsetof(mica_nn_optimizer, momentum), false},
    {"nesterov", offsetof(mica_nn_optimizer, nesterov), true},
    {"beta1", offsetof(mica_nn_optimizer, beta1), false},
    {"beta2", offsetof(mica_nn_optimizer, beta2), false},
    {"amsgrad", offsetof(mica_nn_optimizer, amsgrad), true},
    {"alpha", offsetof(mica_nn_optimizer, alpha), false},
    {"centered", offsetof(mica_nn_optimizer, centered), true},
    {"epsilon", offsetof(mica_nn_optimizer, epsilon), false},
};

static int option_set(mica_nn_optimizer *optimizer, PyObject *name, PyObject *value) {
    for (size_t i = 0; i < sizeof OPTIMIZER_OPTIONS / sizeof *OPTIMIZER_OPTIONS; i++) {
        const optimizer_option *option = &OPTIMIZER_OPTIONS[i];
        if (PyUnicode_CompareWithASCIIString(name, option->name) != 0) continue;
        char *field = (char *)optimizer + option->offset;
        if (option->is_flag) {
            int flag = PyObject_IsTrue(value);
            if (flag < 0) return -1;
            *(bool *)field = flag;
            return 0;
        }
        double number = PyFloat_AsDouble(value);
        if (number == -1 && PyErr_Occurred()) return -1;
        *(double *)field = number;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "[optimizer] there is no option %R", name);
    return -1;
}

static int optimizer_from(mica_nn_optimizer *optimizer, const char *kind, PyObject *options) {
    *optimizer = MICA_NN_OPTIMIZER;
    int n = (int)(sizeof OPTIMIZER_NAMES / sizeof *OPTIMIZER_NAMES);
    int chosen = choice_from("optimizer", "kind", kind, OPTIMIZER_NAMES, n);
    if (chosen < 0) return -1;
    optimizer->kind = (mica_nn_optimizer_kind)chosen;
    PyObject *name, *value;
    for (Py_ssize_t at = 0; PyDict_Next(options, &at, &name, &value);)
        if (option_set(optimizer, name, value) < 0) return -1;
    if (optimizer->regularization_scale != 0) optimizer->regularization = MICA_NN_REGULARIZATION_L2;
    return 0;
}

/* optimizer_state_count(kind, options) -> arrays of state per parameter */
static PyObject *layers_state_count(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *kind;
    PyObject *options;
    mica_nn_optimizer optimizer;
    if (!PyArg_ParseTuple(args, "sO!:optimizer_state_count", &kind, &PyDict_Type, &options) ||
        optimizer_from(&optimizer, kind, options) < 0)
        return NULL;
    return PyLong_FromLong(mica_nn_optimizer_state_count(&optimizer));
}

/* optimizer_update((rate, step, parameter, gradient, state0, state1, state2), kind, options)
 * -> [parameter', state'...]; states beyond those of the kind are None */
static PyObject *layers_update(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands, *options;
    const char *kind;
    mica_nn_optimizer optimizer;
    layer_call call;
    if (!PyArg_ParseTuple(args, "OsO!:optimizer_update", &operands, &kind, &PyDict_Type,
                          &options) ||
        optimizer_from(&optimizer, kind, options) < 0)
        return NULL;
    int32_t n_states = mica_nn_optimizer_state_count(&optimizer);
    if (operands_from(&call, "optimizer_update", operands, 4 + n_states, 4 + MICA_NN_MAX_STATE) < 0)
        return NULL;
    mica_value *v = call.operands, out[1 + MICA_NN_MAX_STATE];
    mica_nn_optimizer_update(call.trace->graph, &optimizer, v[0], v[1], v[2], v[3], v + 4, out);
    return results_from(&call, out, 1 + n_states);
}

PyMethodDef layers_methods[] = {
    {"layer_norm", layers_layer_norm, METH_VARARGS, NULL},
    {"group_norm", layers_group_norm, METH_VARARGS, NULL},
    {"batch_norm", layers_batch_norm, METH_VARARGS, NULL},
    {"dropout", layers_dropout, METH_VARARGS, NULL},
    {"loss", layers_loss, METH_VARARGS, NULL},
    {"optimizer_state_count", layers_state_count, METH_VARARGS, NULL},
    {"optimizer_update", layers_update, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
