/* Derivatives and batching on the graph of the current trace; the package wraps them. */
#include "extension.h"

/* jvp(outputs, inputs, tangents) -> tangents of the outputs, None where they are zero. */
static PyObject *transform_jvp(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *outputs, *inputs, *tangents, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOO:jvp", &outputs, &inputs, &tangents)) return NULL;
    TraceObject *trace = trace_require("jvp");
    if (!trace) return NULL;
    int32_t n_outputs = 0, n_inputs = 0, n_tangents = 0;
    mica_value *y = lift_sequence(trace, outputs, false, &n_outputs);
    mica_value *x = y ? lift_sequence(trace, inputs, false, &n_inputs) : NULL;
    mica_value *dx = x ? lift_sequence(trace, tangents, true, &n_tangents) : NULL;
    mica_value *dy = dx ? PyMem_New(mica_value, n_outputs + 1) : NULL;
    if (dy && n_inputs != n_tangents) {
        PyErr_Format(PyExc_ValueError, "[jvp] each of %d inputs needs a tangent, %d given",
                     n_inputs, n_tangents);
    } else if (dy) {
        mica_jvp(trace->graph, y, n_outputs, x, dx, n_inputs, dy);
        mica_status status = mica_graph_take_error(trace->graph);
        result = status ? raise_status(status) : traced_list(trace, dy, n_outputs);
    }
    PyMem_Free(y);
    PyMem_Free(x);
    PyMem_Free(dx);
    PyMem_Free(dy);
    return result;
}

/* vjp(outputs, cotangents, inputs) -> cotangents of the inputs, None where they are zero. */
static PyObject *transform_vjp(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *outputs, *cotangents, *inputs, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOO:vjp", &outputs, &cotangents, &inputs)) return NULL;
    TraceObject *trace = trace_require("vjp");
    if (!trace) return NULL;
    int32_t n_outputs = 0, n_inputs = 0, n_cotangents = 0;
    mica_value *y = lift_sequence(trace, outputs, false, &n_outputs);
    mica_value *dy = y ? lift_sequence(trace, cotangents, true, &n_cotangents) : NULL;
    mica_value *x = dy ? lift_sequence(trace, inputs, false, &n_inputs) : NULL;
    mica_value *dx = x ? PyMem_New(mica_value, n_inputs + 1) : NULL;
    if (dx && n_outputs != n_cotangents) {
        PyErr_Format(PyExc_ValueError, "[vjp] each of %d outputs needs a cotangent, %d given",
                     n_outputs, n_cotangents);
    } else if (dx) {
        mica_vjp(trace->graph, y, dy, n_outputs, x, n_inputs, dx);
        mica_status status = mica_graph_take_error(trace->graph);
        result = status ? raise_status(status) : traced_list(trace, dx, n_inputs);
    }
    PyMem_Free(y);
    PyMem_Free(x);
    PyMem_Free(dy);
    PyMem_Free(dx);
    return result;
}

/* A sequence of ints and None (unmapped) as axes. */
static int32_t *axes_from_sequence(PyObject *sequence, int32_t expected, const char *what) {
    PyObject *fast = PySequence_Fast(sequence, "axes are a sequence");
    if (!fast) return NULL;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    int32_t *axes = PyMem_New(int32_t, n + 1);
    if (!axes) PyErr_NoMemory();
    if (axes && n != expected) {
        PyErr_Format(PyExc_ValueError, "[vmap] %zd %s for %d values", n, what, expected);
        PyMem_Free(axes);
        axes = NULL;
    }
    for (Py_ssize_t i = 0; axes && i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(fast, i);
        axes[i] = item == Py_None ? MICA_UNMAPPED : (int32_t)PyLong_AsLong(item);
        if (PyErr_Occurred()) {
            PyMem_Free(axes);
            axes = NULL;
        }
    }
    Py_DECREF(fast);
    return axes;
}

/* vmap(graph, in_axes, out_axes, size, axis_name) -> Graph; None is an unmapped axis. */
static PyObject *transform_vmap(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *graph, *in, *out, *result = NULL;
    long long size;
    const char *axis_name;
    if (!PyArg_ParseTuple(args, "O!OOLz:vmap", &Graph_Type, &graph, &in, &out, &size, &axis_name))
        return NULL;
    mica_graph *g = ((GraphObject *)graph)->graph, *mapped = NULL;
    int32_t *in_axes = axes_from_sequence(in, mica_graph_parameter_count(g), "in_axes");
    int32_t *out_axes =
        in_axes ? axes_from_sequence(out, mica_graph_output_count(g), "out_axes") : NULL;
    if (out_axes) {
        mica_status status = mica_vmap(g, in_axes, out_axes, size, axis_name, &mapped);
        if (status) raise_status(status);
    }
    if (mapped) {
        result = graph_object(mapped, ((GraphObject *)graph)->held);
        mica_graph_release(mapped);
    }
    PyMem_Free(in_axes);
    PyMem_Free(out_axes);
    return result;
}

static int hold_all(TraceObject *trace, PyObject *held) {
    for (Py_ssize_t i = 0; held && i < PyList_GET_SIZE(held); i++)
        if (PyList_Append(trace->held, PyList_GET_ITEM(held, i)) < 0) return -1;
    return 0;
}

/* inline(graph, operands) -> its outputs, computed in the current trace. */
static PyObject *transform_inline(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *graph, *operands, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O:inline", &Graph_Type, &graph, &operands)) return NULL;
    TraceObject *trace = trace_require("inline");
    if (!trace) return NULL;
    const mica_graph *g = ((GraphObject *)graph)->graph;
    int32_t n, n_results = mica_graph_output_count(g);
    mica_value *values = lift_sequence(trace, operands, false, &n);
    mica_value *results = values ? PyMem_New(mica_value, n_results + 1) : NULL;
    if (results && hold_all(trace, ((GraphObject *)graph)->held) == 0) {
        mica_inline(trace->graph, g, values, n, results);
        mica_status status = mica_graph_take_error(trace->graph);
        result = status ? raise_status(status) : traced_list(trace, results, n_results);
    }
    PyMem_Free(values);
    PyMem_Free(results);
    return result;
}

static int32_t *numbers_from_sequence(PyObject *sequence, int32_t *out_n) {
    PyObject *fast = PySequence_Fast(sequence, "a sequence of ints is needed");
    if (!fast) return NULL;
    *out_n = (int32_t)PySequence_Fast_GET_SIZE(fast);
    int32_t *numbers = PyMem_New(int32_t, *out_n + 1);
    for (int32_t i = 0; numbers && i < *out_n; i++)
        numbers[i] = (int32_t)PyLong_AsLong(PySequence_Fast_GET_ITEM(fast, i));
    Py_DECREF(fast);
    if (numbers && PyErr_Occurred()) {
        PyMem_Free(numbers);
        return NULL;
    }
    return numbers;
}

static int rewire_graph(mica_graph *to, const mica_graph *from, const int32_t *positions,
                        const int32_t *outputs, int32_t n_outputs) {
    int32_t n_in = mica_graph_parameter_count(from), n_out = mica_graph_output_count(from);
    mica_value *values = PyMem_New(mica_value, n_in + n_out + 1);
    if (!values) {
        PyErr_NoMemory();
        return -1;
    }
    for (int32_t i = 0; i < n_in; i++) values[i] = mica_graph_parameter(to, positions[i]);
    mica_inline(to, from, values, n_in, values + n_in);
    for (int32_t i = 0; i < n_outputs; i++)
        mica_output(to, outputs[i] >= 0 ? values[n_in + outputs[i]]
                                        : mica_graph_parameter(to, -1 - outputs[i]));
    PyMem_Free(values);
    mica_status status = mica_graph_check(to);
    if (status) raise_status(status);
    return PyErr_Occurred() ? -1 : 0;
}

/* rewire(graph, types, positions, outputs) -> a graph with parameters of these types; parameter i
 * of the old one is the new parameter positions[i]; outputs[k] names an old output, or, as -1 - j,
 * the new parameter j. */
static PyObject *transform_rewire(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *graph, *types, *position_list, *output_list, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!OOO:rewire", &Graph_Type, &graph, &types, &position_list,
                          &output_list))
        return NULL;
    const mica_graph *from = ((GraphObject *)graph)->graph;
    int32_t n_positions = 0, n_outputs = 0;
    mica_graph *to = NULL;
    PyObject *fast = PySequence_Fast(types, "types are a sequence");
    int32_t *positions = fast ? numbers_from_sequence(position_list, &n_positions) : NULL;
    int32_t *outputs = positions ? numbers_from_sequence(output_list, &n_outputs) : NULL;
    if (!outputs) goto done;
    mica_status status = mica_graph_create(mica_graph_name(from), &to);
    if (status) {
        raise_status(status);
        goto done;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); i++) {
        mica_type type;
        if (type_from_object(PySequence_Fast_GET_ITEM(fast, i), &type) < 0) goto done;
        mica_parameter(to, &type);
    }
    if (n_positions != mica_graph_parameter_count(from)) {
        PyErr_SetString(PyExc_ValueError, "[rewire] one position per parameter");
        goto done;
    }
    if (rewire_graph(to, from, positions, outputs, n_outputs) == 0)
        result = graph_object(to, ((GraphObject *)graph)->held);
done:
    mica_graph_release(to);
    PyMem_Free(positions);
    PyMem_Free(outputs);
    Py_XDECREF(fast);
    return result;
}

PyMethodDef transform_methods[] = {
    {"jvp", transform_jvp, METH_VARARGS, NULL},
    {"vjp", transform_vjp, METH_VARARGS, NULL},
    {"vmap", transform_vmap, METH_VARARGS, NULL},
    {"inline", transform_inline, METH_VARARGS, NULL},
    {"rewire", transform_rewire, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
