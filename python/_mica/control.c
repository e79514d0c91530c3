/* Control flow and composites in the current trace: operands are arrays, regions are Graphs. The
 * package traces the regions and decides what goes where; here are the bare nodes. */
#include <mica/nn.h>

#include "extension.h"

typedef struct node_parts {
    TraceObject *trace;
    mica_value *operands;
    int32_t n;
    mica_graph *regions[64];
    int32_t n_regions;
} node_parts;

static void parts_free(node_parts *p) {
    PyMem_Free(p->operands);
}

static int parts_regions(node_parts *p, PyObject *regions) {
    PyObject *fast = PySequence_Fast(regions, "regions are a sequence of graphs");
    if (!fast) return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    int result = 0;
    if (n > (Py_ssize_t)(sizeof p->regions / sizeof *p->regions)) {
        PyErr_Format(PyExc_ValueError, "[case] %zd branches, at most 64 are possible", n);
        result = -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < n; i++) {
        PyObject *region = PySequence_Fast_GET_ITEM(fast, i);
        if (region == Py_None) {
            p->regions[p->n_regions++] = NULL;
            continue;
        }
        if (Py_TYPE(region) != &Graph_Type) {
            PyErr_SetString(PyExc_TypeError, "a region is a Graph");
            result = -1;
            break;
        }
        GraphObject *graph = (GraphObject *)region;
        p->regions[p->n_regions++] = graph->graph;
        for (Py_ssize_t k = 0; graph->held && k < PyList_GET_SIZE(graph->held); k++)
            if (PyList_Append(p->trace->held, PyList_GET_ITEM(graph->held, k)) < 0) result = -1;
    }
    Py_DECREF(fast);
    return result;
}

static int parts_from(node_parts *p, const char *caller, PyObject *operands, PyObject *regions) {
    *p = (node_parts){.trace = trace_require(caller)};
    if (!p->trace || parts_regions(p, regions) < 0) return -1;
    p->operands = lift_sequence(p->trace, operands, false, &p->n);
    return p->operands ? 0 : -1;
}

/* Results into a list; frees what was needed on the way. */
static PyObject *parts_results(node_parts *p, mica_value *results, int32_t n_results) {
    mica_status status = mica_graph_take_error(p->trace->graph);
    PyObject *list = status ? raise_status(status) : traced_list(p->trace, results, n_results);
    PyMem_Free(results);
    parts_free(p);
    return list;
}

static mica_value *results_of(node_parts *p, int32_t n) {
    mica_value *results = PyMem_New(mica_value, n + 1);
    if (!results) {
        PyErr_NoMemory();
        parts_free(p);
    }
    return results;
}

/* cond((predicate, ...), (then, else)) and case((index, ...), branches) */
static PyObject *control_branches(PyObject *args, bool is_case) {
    PyObject *operands, *regions;
    node_parts p;
    if (!PyArg_ParseTuple(args, "OO", &operands, &regions)) return NULL;
    if (parts_from(&p, is_case ? "case" : "cond", operands, regions) < 0) return NULL;
    int32_t n = mica_graph_output_count(p.regions[0]);
    mica_value *out = results_of(&p, n);
    if (!out) return NULL;
    if (is_case)
        mica_case(p.trace->graph, p.operands[0], p.regions, p.n_regions, p.operands + 1, p.n - 1,
                  out);
    else
        mica_cond(p.trace->graph, p.operands[0], p.regions[0], p.regions[1], p.operands + 1,
                  p.n - 1, out);
    return parts_results(&p, out, n);
}

static PyObject *control_cond(PyObject *Py_UNUSED(module), PyObject *args) {
    return control_branches(args, false);
}
static PyObject *control_case(PyObject *Py_UNUSED(module), PyObject *args) {
    return control_branches(args, true);
}

/* while_(operands, (condition, body), n_consts) */
static PyObject *control_while(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands, *regions;
    long long n_consts;
    node_parts p;
    if (!PyArg_ParseTuple(args, "OOL:while", &operands, &regions, &n_consts)) return NULL;
    if (parts_from(&p, "while", operands, regions) < 0) return NULL;
    int32_t n = p.n - (int32_t)n_consts;
    mica_value *out = results_of(&p, n);
    if (!out) return NULL;
    mica_while(p.trace->graph, p.regions[0], p.regions[1], p.operands, p.n, n_consts, out);
    return parts_results(&p, out, n);
}

/* scan(operands, (body,), n_consts, n_carry, length, reverse) */
static PyObject *control_scan(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands, *regions;
    long long n_consts, n_carry, length;
    int reverse;
    node_parts p;
    if (!PyArg_ParseTuple(args, "OOLLLp:scan", &operands, &regions, &n_consts, &n_carry, &length,
                          &reverse))
        return NULL;
    if (parts_from(&p, "scan", operands, regions) < 0) return NULL;
    int32_t n = mica_graph_output_count(p.regions[0]);
    mica_value *out = results_of(&p, n);
    if (!out) return NULL;
    mica_scan(p.trace->graph, p.regions[0], p.operands, p.n, n_consts, n_carry, length, reverse,
              out);
    return parts_results(&p, out, n);
}

/* call(operands, (body, vjp or None), name, config, vjp_name) */
static PyObject *control_call(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands, *regions;
    const char *name, *config, *vjp_name;
    node_parts p;
    if (!PyArg_ParseTuple(args, "OOssz:call", &operands, &regions, &name, &config, &vjp_name))
        return NULL;
    if (parts_from(&p, "call", operands, regions) < 0) return NULL;
    int32_t n = mica_graph_output_count(p.regions[0]);
    mica_value *out = results_of(&p, n);
    if (!out) return NULL;
    mica_call(p.trace->graph, name, config, p.regions[0], vjp_name, p.regions[1], p.operands, p.n,
              out);
    return parts_results(&p, out, n);
}

/* custom_gradient(operands, (function, vjp)) */
static PyObject *control_custom_gradient(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands, *regions;
    node_parts p;
    if (!PyArg_ParseTuple(args, "OO:custom_gradient", &operands, &regions)) return NULL;
    if (parts_from(&p, "custom_gradient", operands, regions) < 0) return NULL;
    int32_t n = mica_graph_output_count(p.regions[0]);
    mica_value *out = results_of(&p, n);
    if (!out) return NULL;
    mica_custom_gradient(p.trace->graph, p.regions[0], p.regions[1], p.operands, p.n, out);
    return parts_results(&p, out, n);
}

/* remat(operands, (body,)) */
static PyObject *control_remat(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands, *regions;
    node_parts p;
    if (!PyArg_ParseTuple(args, "OO:remat", &operands, &regions)) return NULL;
    if (parts_from(&p, "remat", operands, regions) < 0) return NULL;
    int32_t n = mica_graph_output_count(p.regions[0]);
    mica_value *out = results_of(&p, n);
    if (!out) return NULL;
    mica_remat(p.trace->graph, p.regions[0], p.operands, p.n, out);
    return parts_results(&p, out, n);
}

/* barrier(operands) */
static PyObject *control_barrier(PyObject *Py_UNUSED(module), PyObject *operands) {
    node_parts p;
    PyObject *none = PyTuple_New(0);
    if (!none) return NULL;
    int failed = parts_from(&p, "barrier", operands, none);
    Py_DECREF(none);
    if (failed) return NULL;
    mica_value *out = results_of(&p, p.n);
    if (!out) return NULL;
    mica_barrier(p.trace->graph, p.operands, p.n, out);
    return parts_results(&p, out, p.n);
}

/* lstm_steps((projected, hidden, cell, weights), reverse) -> [outputs, cells, gates] */
static PyObject *control_lstm_steps(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands;
    int reverse;
    node_parts p;
    if (!PyArg_ParseTuple(args, "Op:lstm_steps", &operands, &reverse)) return NULL;
    PyObject *none = PyTuple_New(0);
    if (!none) return NULL;
    int failed = parts_from(&p, "lstm_steps", operands, none);
    Py_DECREF(none);
    if (failed) return NULL;
    if (p.n != 4) {
        parts_free(&p);
        return PyErr_Format(PyExc_TypeError, "[lstm_steps] takes 4 arrays, not %d", (int)p.n);
    }
    mica_value *out = results_of(&p, 3);
    if (!out) return NULL;
    mica_nn_lstm_steps(p.trace->graph, p.operands[0], p.operands[1], p.operands[2], p.operands[3],
                       reverse, out);
    return parts_results(&p, out, 3);
}

/* gru_steps((projected, hidden, weights, bias), reverse) -> [outputs, gates] */
static PyObject *control_gru_steps(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands;
    int reverse;
    node_parts p;
    if (!PyArg_ParseTuple(args, "Op:gru_steps", &operands, &reverse)) return NULL;
    PyObject *none = PyTuple_New(0);
    if (!none) return NULL;
    int failed = parts_from(&p, "gru_steps", operands, none);
    Py_DECREF(none);
    if (failed) return NULL;
    if (p.n != 4) {
        parts_free(&p);
        return PyErr_Format(PyExc_TypeError, "[gru_steps] takes 4 arrays, not %d", (int)p.n);
    }
    mica_value *out = results_of(&p, 2);
    if (!out) return NULL;
    mica_nn_gru_steps(p.trace->graph, p.operands[0], p.operands[1], p.operands[2], p.operands[3],
                      reverse, out);
    return parts_results(&p, out, 2);
}

/* attend((q, k, v[, mask]), scale, causal) -> [y] */
static PyObject *control_attend(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *operands;
    double scale;
    int causal;
    node_parts p;
    if (!PyArg_ParseTuple(args, "Odp:attend", &operands, &scale, &causal)) return NULL;
    PyObject *none = PyTuple_New(0);
    if (!none) return NULL;
    int failed = parts_from(&p, "attend", operands, none);
    Py_DECREF(none);
    if (failed) return NULL;
    if (p.n != 3 && p.n != 4) {
        parts_free(&p);
        return PyErr_Format(PyExc_TypeError, "[attend] takes 3 or 4 arrays, not %d", (int)p.n);
    }
    mica_value *out = results_of(&p, 1);
    if (!out) return NULL;
    out[0] = mica_nn_attend(p.trace->graph, p.operands[0], p.operands[1], p.operands[2],
                            p.n == 4 ? p.operands[3] : MICA_NULL_VALUE, scale, causal);
    return parts_results(&p, out, 1);
}

PyMethodDef control_methods[] = {
    {"cond", control_cond, METH_VARARGS, NULL},
    {"case_", control_case, METH_VARARGS, NULL},
    {"while_", control_while, METH_VARARGS, NULL},
    {"scan", control_scan, METH_VARARGS, NULL},
    {"call", control_call, METH_VARARGS, NULL},
    {"custom_gradient", control_custom_gradient, METH_VARARGS, NULL},
    {"remat", control_remat, METH_VARARGS, NULL},
    {"barrier", control_barrier, METH_O, NULL},
    {"lstm_steps", control_lstm_steps, METH_VARARGS, NULL},
    {"gru_steps", control_gru_steps, METH_VARARGS, NULL},
    {"attend", control_attend, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
