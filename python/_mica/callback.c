/* Python functions called from graphs.
 *
 * A HostFunction registers a Python callable with the library for as long as it lives; graphs and
 * executables that call it hold it. Effects of a trace are a chain of tokens: the trace knows the
 * newest one, and a nested trace takes its first as a parameter. */
#include "entry.h"
#include "extension.h"

#include <stddef.h>
#include <string.h>

typedef struct HostFunctionObject {
    PyObject_HEAD PyObject *function;
    PyObject *name;
    int64_t number;
    PyObject *weak_references;
} HostFunctionObject;

/* ---- the way in and out
 * ---------------------------------------------------------------------------*/

static PyObject *arguments_from(const void *const *inputs, const mica_type *types, int32_t n) {
    mica_device *cpu = NULL;
    mica_status status = mica_device_open("cpu", &cpu);
    if (status) return raise_status(status);
    PyObject *args = PyTuple_New(n);
    for (int32_t i = 0; args && i < n; i++) {
        mica_tensor *tensor = NULL;
        status = mica_tensor_from_host(cpu, &types[i], inputs[i], &tensor);
        PyObject *object = status ? raise_status(status) : tensor_take(tensor);
        if (!object)
            Py_CLEAR(args);
        else
            PyTuple_SET_ITEM(args, i, object);
    }
    mica_device_release(cpu);
    return args;
}

static int write_result(PyObject *item, const mica_type *type, void *output) {
    PyObject *tensor = tensor_from_object(item, type->dtype, NULL);
    if (!tensor) return -1;
    int result = -1;
    if (!is_tensor(tensor) || !mica_type_equal(array_type(tensor), type)) {
        char given[256], wanted[256];
        mica_type_format(array_type(tensor), given, sizeof given);
        mica_type_format(type, wanted, sizeof wanted);
        PyErr_Format(PyExc_ValueError, "[callback] a result is %s; it must be %s", given, wanted);
    } else {
        mica_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = mica_tensor_to_host(tensor_of(tensor), output, mica_type_bytes(type));
        Py_END_ALLOW_THREADS;
        if (status)
            raise_status(status);
        else
            result = 0;
    }
    Py_DECREF(tensor);
    return result;
}

static int write_results(PyObject *value, void *const *outputs, const mica_type *types, int32_t n) {
    if (n == 0) return 0;
    if (n == 1 && !PyTuple_Check(value)) return write_result(value, &types[0], outputs[0]);
    PyObject *fast = PySequence_Fast(value, "[callback] several results are a tuple");
    if (!fast) return -1;
    int result = 0;
    if (PySequence_Fast_GET_SIZE(fast) != n) {
        PyErr_Format(PyExc_ValueError, "[callback] gave %zd results; it must give %d",
                     PySequence_Fast_GET_SIZE(fast), n);
        result = -1;
    }
    for (int32_t i = 0; result == 0 && i < n; i++)
        result = write_result(PySequence_Fast_GET_ITEM(fast, i), &types[i], outputs[i]);
    Py_DECREF(fast);
    return result;
}

static mica_status call_python(void *context, const void *const *inputs,
                               const mica_type *input_types, int32_t n_inputs, void *const *outputs,
                               const mica_type *output_types, int32_t n_outputs) {
    HostFunctionObject *self = context;
    PyGILState_STATE state;
    if (!python_enter(&state))
        return mica_status_create(MICA_CANCELLED, "[callback] the interpreter is ending");
    TraceObject *outside = trace_set_current(NULL); /* what it does belongs to no trace */
    mica_status status = NULL;
    PyObject *args = arguments_from(inputs, input_types, n_inputs);
    PyObject *value = args ? PyObject_Call(self->function, args, NULL) : NULL;
    if (!value || write_results(value, outputs, output_types, n_outputs) < 0)
        status = status_from_exception(PyUnicode_AsUTF8(self->name));
    Py_XDECREF(args);
    Py_XDECREF(value);
    trace_set_current(outside);
    python_leave(state);
    return status;
}

/* ---- HostFunction
 * ---------------------------------------------------------------------------------*/

static PyObject *host_function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"function", "name", NULL};
    PyObject *function, *name;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OU:HostFunction", names, &function, &name))
        return NULL;
    if (!PyCallable_Check(function) || !PyUnicode_AsUTF8(name)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "[callback] %R cannot be called", function);
        return NULL;
    }
    HostFunctionObject *self = (HostFunctionObject *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    Py_INCREF(function);
    self->function = function;
    Py_INCREF(name);
    self->name = name;
    self->number = mica_host_function_register(call_python, self);
    if (self->number) return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

static int host_function_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((HostFunctionObject *)self)->function);
    return 0;
}

/* The function stays until the object goes: a run may still call it. */
static void host_function_dealloc(PyObject *object) {
    HostFunctionObject *self = (HostFunctionObject *)object;
    PyObject_GC_UnTrack(object);
    if (self->weak_references) PyObject_ClearWeakRefs(object);
    if (self->number) mica_host_function_unregister(self->number);
    Py_XDECREF(self->function);
    Py_XDECREF(self->name);
    Py_TYPE(object)->tp_free(object);
}

PyTypeObject HostFunction_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica._mica.HostFunction",
    .tp_basicsize = sizeof(HostFunctionObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "HostFunction(function, name)\n--\n\nA Python function that graphs can call.",
    .tp_new = host_function_new,
    .tp_dealloc = host_function_dealloc,
    .tp_traverse = host_function_traverse,
    .tp_weaklistoffset = offsetof(HostFunctionObject, weak_references),
};

/* ---- effects
 * ------------------------------------------------------------------------------------*/

/* The newest token of a trace; a nested trace gets its first from outside. */
static mica_value newest_token(TraceObject *trace) {
    if (!mica_value_is_null(trace->token)) return trace->token;
    if (trace->parent) {
        mica_type type = mica_type_token();
        trace->token_parameter = mica_graph_parameter_count(trace->graph);
        trace->token = mica_parameter(trace->graph, &type);
    } else {
        trace->token = mica_token(trace->graph);
    }
    return trace->token;
}

static PyObject *effects_token(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    TraceObject *trace = trace_require("token");
    return trace ? traced_new(trace, newest_token(trace), false) : NULL;
}

static PyObject *effects_set_token(PyObject *Py_UNUSED(module), PyObject *token) {
    TraceObject *trace = trace_require("token");
    if (!trace || !trace_lift(trace, token, &trace->token)) return NULL;
    Py_RETURN_NONE;
}

/* callback(host_function, operands, types) -> results */
static PyObject *effects_callback(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *host, *operands, *specifications, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!OO:callback", &HostFunction_Type, &host, &operands,
                          &specifications))
        return NULL;
    HostFunctionObject *function = (HostFunctionObject *)host;
    TraceObject *trace = trace_require("callback");
    PyObject *fast = trace ? PySequence_Fast(specifications, "types are a sequence") : NULL;
    if (!fast) return NULL;
    int32_t n = 0, n_types = (int32_t)PySequence_Fast_GET_SIZE(fast);
    mica_type *types = PyMem_New(mica_type, n_types + 1);
    mica_value *out = PyMem_New(mica_value, n_types + 1);
    mica_value *values = types && out ? lift_sequence(trace, operands, false, &n) : NULL;
    bool ok = values != NULL;
    for (int32_t i = 0; ok && i < n_types; i++)
        ok = type_from_object(PySequence_Fast_GET_ITEM(fast, i), &types[i]) == 0;
    if (ok && PyList_Append(trace->held, host) == 0) {
        mica_callback(trace->graph, PyUnicode_AsUTF8(function->name), function->number,
                      newest_token(trace), values, n, (mica_types){types, n_types}, out);
        mica_status status = mica_graph_take_error(trace->graph);
        if (!status) trace->token = out[0];
        result = status ? raise_status(status) : traced_list(trace, out + 1, n_types);
    }
    PyMem_Free(types);
    PyMem_Free(out);
    PyMem_Free(values);
    Py_DECREF(fast);
    return result;
}

PyMethodDef callback_methods[] = {
    {"token", effects_token, METH_NOARGS, NULL},
    {"set_token", effects_set_token, METH_O, NULL},
    {"callback", effects_callback, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
