/* Trace: a graph under construction, entered with `with`; Traced: one of its values.
 *
 * Traces nest: a region's body or a vmapped function is traced into a graph of its own while the
 * trace around it waits. What a body uses from outside is captured on the way in, level by level:
 * at each level it becomes one more parameter, and the level outside learns which of its values to
 * pass for it. In an outermost trace the captured things are Tensors. */
#include "extension.h"

#include <string.h>

static _Thread_local TraceObject *current;

TraceObject *trace_current(void) {
    return current;
}

TraceObject *trace_set_current(TraceObject *trace) {
    TraceObject *old = current;
    current = trace;
    return old;
}

TraceObject *trace_require(const char *caller) {
    if (!current) PyErr_Format(PyExc_RuntimeError, "[%s] works inside a trace only", caller);
    return current;
}

PyObject *trace_is_active(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyBool_FromLong(current != NULL);
}

PyObject *trace_current_object(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    PyObject *object = current ? (PyObject *)current : Py_None;
    Py_INCREF(object);
    return object;
}

PyObject *trace_raise(TraceObject *trace) {
    mica_status status = mica_graph_take_error(trace->graph);
    if (status) return raise_status(status);
    PyErr_SetString(PyExc_RuntimeError, "[trace] the graph gave no value");
    return NULL;
}

PyObject *traced_new(TraceObject *trace, mica_value value, bool weak) {
    if (mica_value_is_null(value)) return trace_raise(trace);
    TracedObject *self = PyObject_New(TracedObject, &Traced_Type);
    if (!self) return NULL;
    Py_INCREF(trace);
    self->trace = trace;
    self->value = value;
    self->weak = weak;
    return (PyObject *)self;
}

/* ---- capturing
 * ----------------------------------------------------------------------------------*/

static PyObject *capture_key(const void *address, int32_t index) {
    return PyLong_FromUnsignedLongLong((uintptr_t)address ^ ((uint64_t)(uint32_t)index << 48));
}

/* The parameter that stands for `thing` (an object of the level outside), made when it is new. */
static bool capture(TraceObject *trace, PyObject *key, PyObject *thing, const mica_type *type,
                    mica_value *out_value) {
    PyObject *known = PyDict_GetItemWithError(trace->captured_index, key);
    if (known) {
        *out_value = mica_graph_parameter(trace->graph, (int32_t)PyLong_AsLong(known));
        return true;
    }
    if (PyErr_Occurred()) return false;
    int32_t number = mica_graph_parameter_count(trace->graph);
    *out_value = mica_parameter(trace->graph, type);
    if (mica_value_is_null(*out_value)) return trace_raise(trace) != NULL;
    PyObject *place = PyLong_FromLong(number);
    bool ok = place && PyDict_SetItem(trace->captured_index, key, place) == 0 &&
              PyList_Append(trace->captured, thing) == 0;
    Py_XDECREF(place);
    return ok;
}

static bool lift_from_parent(TraceObject *trace, PyObject *array, mica_value *out_value) {
    mica_value outside;
    if (!trace_lift(trace->parent, array, &outside)) return false;
    PyObject *key = capture_key(outside.node, outside.index);
    PyObject *thing = traced_new(trace->parent, outside, false);
    bool ok = key && thing && capture(trace, key, thing, mica_value_type(outside), out_value);
    Py_XDECREF(key);
    Py_XDECREF(thing);
    return ok;
}

static bool lift_tensor(TraceObject *trace, PyObject *tensor, mica_value *out_value) {
    PyObject *key = capture_key(tensor_of(tensor), 0);
    bool ok = key && capture(trace, key, tensor, array_type(tensor), out_value);
    Py_XDECREF(key);
    return ok;
}

static bool raise_leaked(PyObject *array) {
    char text[256];
    mica_type_format(array_type(array), text, sizeof text);
    PyErr_Format(PyExc_RuntimeError,
                 "[trace] a traced value %s was used outside the function whose trace made it; "
                 "return it from that function instead",
                 text);
    return false;
}

bool trace_lift(TraceObject *trace, PyObject *array, mica_value *out_value) {
    if (is_traced(array)) {
        TracedObject *traced = (TracedObject *)array;
        if (traced->trace == trace) {
            *out_value = traced->value;
            return true;
        }
        TraceObject *around = trace ? trace->parent : NULL;
        while (around && around != traced->trace) around = around->parent;
        return around ? lift_from_parent(trace, array, out_value) : raise_leaked(array);
    }
    return trace->parent ? lift_from_parent(trace, array, out_value)
                         : lift_tensor(trace, array, out_value);
}

mica_value *lift_sequence(TraceObject *trace, PyObject *sequence, bool allow_none, int32_t *out_n) {
    PyObject *fast = PySequence_Fast(sequence, "a sequence of arrays is needed");
    if (!fast) return NULL;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    mica_value *values = PyMem_New(mica_value, n + 1);
    if (!values) PyErr_NoMemory();
    for (Py_ssize_t i = 0; values && i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(fast, i);
        bool ok;
        if (allow_none && item == Py_None) {
            values[i] = MICA_NULL_VALUE;
            ok = true;
        } else if (is_array(item)) {
            ok = trace_lift(trace, item, &values[i]);
        } else {
            PyErr_Format(PyExc_TypeError, "an array is needed, not %R", item);
            ok = false;
        }
        if (!ok) {
            PyMem_Free(values);
            values = NULL;
        }
    }
    Py_DECREF(fast);
    *out_n = (int32_t)n;
    return values;
}

PyObject *traced_list(TraceObject *trace, const mica_value *values, int32_t n) {
    PyObject *list = PyList_New(n);
    for (int32_t i = 0; list && i < n; i++) {
        PyObject *item;
        if (mica_value_is_null(values[i])) {
            Py_INCREF(Py_None);
            item = Py_None;
        } else {
            item = traced_new(trace, values[i], false);
        }
        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

/* ---- nodes
 * --------------------------------------------------------------------------------------*/

static bool is_weak(PyObject *array) {
    return is_traced(array) && ((TracedObject *)array)->weak;
}

/* Which operands of a primitive must have one dtype: [first, n). */
static int32_t first_alike(mica_op op) {
    const char *op_class = mica_op_describe(op)->op_class;
    if (op == MICA_OP_select) return 1;
    bool alike = !strcmp(op_class, "MAP") || !strcmp(op_class, "CONTRACTION") ||
                 op == MICA_OP_compare || op == MICA_OP_concat || op == MICA_OP_pad;
    return alike ? 0 : INT32_MAX;
}

/* Weak operands take the dtype of the others; true when the result is weak, too. */
static bool unify_weak(TraceObject *trace, mica_op op, PyObject *const *operands,
                       mica_value *values, int32_t n) {
    int32_t first = first_alike(op);
    bool all_weak = n > 0, any_weak = false;
    const mica_type *strong = NULL, *widest = NULL;
    for (int32_t i = first; i < n; i++) {
        const mica_type *type = mica_value_type(values[i]);
        if (is_weak(operands[i])) {
            any_weak = true;
            if (!widest || mica_dtype_kind_of(type->dtype) == MICA_KIND_FLOAT) widest = type;
        } else {
            all_weak = false;
            if (!strong) strong = type;
        }
    }
    for (int32_t i = 0; i < n && first == INT32_MAX; i++)
        all_weak = all_weak && is_weak(operands[i]);
    if (!any_weak) return first == INT32_MAX && all_weak;
    mica_dtype target = strong ? strong->dtype : widest->dtype;
    bool target_is_float = mica_dtype_kind_of(target) == MICA_KIND_FLOAT;
    for (int32_t i = first; i < n; i++) {
        const mica_type *type = mica_value_type(values[i]);
        bool fits = target_is_float || mica_dtype_kind_of(type->dtype) != MICA_KIND_FLOAT;
        if (is_weak(operands[i]) && type->dtype != target && fits)
            values[i] = mica_convert(trace->graph, values[i], target);
    }
    return all_weak;
}

static PyObject *trace_op_failed(mica_op op, const mica_value *values, int32_t n,
                                 TraceObject *trace) {
    mica_status status = mica_graph_take_error(trace->graph);
    const mica_type **types = PyMem_New(const mica_type *, n + 1);
    if (!status || !types) {
        mica_status_release(status);
        PyMem_Free((void *)types);
        return trace_raise(trace);
    }
    int32_t known = 0;
    while (known < n && mica_value_type(values[known])) {
        types[known] = mica_value_type(values[known]);
        known++;
    }
    raise_op_status(op, types, known, status);
    PyMem_Free((void *)types);
    return NULL;
}

/* All the results of a node that has several. */
static PyObject *traced_tuple(TraceObject *trace, mica_node *node) {
    int32_t n = 0;
    while (mica_value_type((mica_value){node, n})) n++;
    PyObject *tuple = PyTuple_New(n);
    for (int32_t i = 0; tuple && i < n; i++) {
        PyObject *object = traced_new(trace, (mica_value){node, i}, false);
        if (object)
            PyTuple_SET_ITEM(tuple, i, object);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *trace_op(mica_op op, PyObject *const *operands, int32_t n,
                   const mica_attribute *attributes) {
    TraceObject *trace = current;
    if (!trace) {
        for (int32_t i = 0; i < n; i++)
            if (is_traced(operands[i])) raise_leaked(operands[i]);
        return NULL;
    }
    mica_value few[8], *values = few;
    if (n > 8 && !(values = PyMem_New(mica_value, n))) return PyErr_NoMemory();
    PyObject *result = NULL;
    for (int32_t i = 0; i < n; i++)
        if (!trace_lift(trace, operands[i], &values[i])) goto done;
    bool weak = unify_weak(trace, op, operands, values, n);
    mica_value value = build_op(trace->graph, op, values, n, attributes);
    if (mica_value_is_null(value)) {
        result = trace_op_failed(op, values, n, trace);
    } else if (op_has_several(op)) {
        result = traced_tuple(trace, value.node);
    } else {
        mica_dtype dtype = mica_value_type(value)->dtype;
        bool carried = dtype == MICA_DTYPE_f64 || dtype == MICA_DTYPE_i64;
        result = traced_new(trace, value, weak && carried && op != MICA_OP_convert);
    }
done:
    if (values != few) PyMem_Free(values);
    return result;
}

PyObject *trace_constant(TraceObject *trace, const mica_type *type, const void *bytes, bool weak) {
    return traced_new(trace, mica_constant(trace->graph, (mica_data){type, bytes}), weak);
}

PyObject *traced_strengthen(PyObject *array) {
    if (is_weak(array)) {
        bool is_float = array_type(array)->dtype == MICA_DTYPE_f64;
        mica_attribute dtype = {.integer = is_float ? MICA_DTYPE_f32 : MICA_DTYPE_i32};
        return trace_op(MICA_OP_convert, &array, 1, &dtype);
    }
    Py_INCREF(array);
    return array;
}

PyObject *strengthen_function(PyObject *Py_UNUSED(module), PyObject *array) {
    return traced_strengthen(array);
}

/* ---- Trace
 * --------------------------------------------------------------------------------------*/

static PyObject *trace_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", NULL};
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s:Trace", names, &name)) return NULL;
    TraceObject *self = (TraceObject *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->captured = PyList_New(0);
    self->captured_index = PyDict_New();
    self->held = PyList_New(0);
    self->token_parameter = -1;
    mica_status status = mica_graph_create(name, &self->graph);
    if (status) raise_status(status);
    if (status || !self->captured || !self->captured_index || !self->held) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *trace_enter(PyObject *object, PyObject *Py_UNUSED(unused)) {
    TraceObject *self = (TraceObject *)object;
    if (self->entered) {
        PyErr_SetString(PyExc_RuntimeError, "[trace] a trace is entered once");
        return NULL;
    }
    self->entered = true;
    Py_XINCREF(current);
    self->parent = self->outside = current;
    Py_INCREF(self); /* held by `current` */
    current = self;
    Py_INCREF(self);
    return object;
}

static PyObject *trace_exit(PyObject *object, PyObject *Py_UNUSED(args)) {
    TraceObject *self = (TraceObject *)object;
    if (current == self) {
        current = self->outside;
        self->closed = true;
        Py_DECREF(self);
    }
    Py_RETURN_FALSE;
}

static PyObject *trace_parameter(PyObject *object, PyObject *args) {
    TraceObject *self = (TraceObject *)object;
    PyObject *specification;
    int weak = 0;
    mica_type type;
    if (!PyArg_ParseTuple(args, "O|p:parameter", &specification, &weak)) return NULL;
    if (type_from_object(specification, &type) < 0) return NULL;
    return traced_new(self, mica_parameter(self->graph, &type), weak);
}

static PyObject *trace_output(PyObject *object, PyObject *arrays) {
    TraceObject *self = (TraceObject *)object;
    int32_t n;
    mica_value *values = lift_sequence(self, arrays, false, &n);
    if (!values) return NULL;
    for (int32_t i = 0; i < n; i++) mica_output(self->graph, values[i]);
    PyMem_Free(values);
    mica_status status = mica_graph_take_error(self->graph);
    if (status) return raise_status(status);
    Py_RETURN_NONE;
}

static PyObject *trace_get_graph(PyObject *self, void *Py_UNUSED(unused)) {
    return graph_object(((TraceObject *)self)->graph, ((TraceObject *)self)->held);
}

static PyObject *trace_get_captured(PyObject *self, void *Py_UNUSED(unused)) {
    return PyList_AsTuple(((TraceObject *)self)->captured);
}

static PyObject *trace_get_effects(PyObject *self, void *Py_UNUSED(unused)) {
    return PyBool_FromLong(!mica_value_is_null(((TraceObject *)self)->token));
}

static PyObject *trace_get_token_parameter(PyObject *self, void *Py_UNUSED(unused)) {
    return PyLong_FromLong(((TraceObject *)self)->token_parameter);
}

static int trace_traverse(PyObject *object, visitproc visit, void *arg) {
    TraceObject *self = (TraceObject *)object;
    Py_VISIT(self->parent);
    Py_VISIT(self->captured);
    Py_VISIT(self->captured_index);
    Py_VISIT(self->held);
    return 0;
}

static int trace_clear(PyObject *object) {
    TraceObject *self = (TraceObject *)object;
    Py_CLEAR(self->parent);
    Py_CLEAR(self->captured);
    Py_CLEAR(self->captured_index);
    Py_CLEAR(self->held);
    return 0;
}

static void trace_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    trace_clear(object);
    mica_graph_release(((TraceObject *)object)->graph);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef trace_methods[] = {
    {"__enter__", trace_enter, METH_NOARGS, NULL},
    {"__exit__", trace_exit, METH_VARARGS, NULL},
    {"parameter", trace_parameter, METH_VARARGS,
     "parameter((shape, dtype), weak=False)\n\nOne more parameter of the graph."},
    {"output", trace_output, METH_O, "output(arrays)\n\nMore outputs of the graph."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef trace_getters[] = {
    {"graph", trace_get_graph, NULL, "The graph, as far as it is built.", NULL},
    {"captured", trace_get_captured, NULL,
     "What was captured from outside: the parameters after those asked for.", NULL},
    {"has_effects", trace_get_effects, NULL, "Whether it calls host functions.", NULL},
    {"token_parameter", trace_get_token_parameter, NULL,
     "The parameter that is the first token of a nested trace, or -1.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject Trace_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica._mica.Trace",
    .tp_basicsize = sizeof(TraceObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Trace(name)\n--\n\nA graph under construction.",
    .tp_new = trace_new,
    .tp_dealloc = trace_dealloc,
    .tp_traverse = trace_traverse,
    .tp_clear = trace_clear,
    .tp_methods = trace_methods,
    .tp_getset = trace_getters,
};

/* ---- Traced
 * -------------------------------------------------------------------------------------*/

static void traced_dealloc(PyObject *self) {
    Py_DECREF(((TracedObject *)self)->trace);
    PyObject_Free(self);
}

static PyObject *traced_repr(PyObject *self) {
    char text[256];
    mica_type_format(array_type(self), text, sizeof text);
    return PyUnicode_FromFormat("Traced(%s%s)", text, ((TracedObject *)self)->weak ? ", weak" : "");
}

static PyObject *refuse_value(PyObject *self, const char *use, const char *instead) {
    char text[256];
    mica_type_format(array_type(self), text, sizeof text);
    PyErr_Format(PyExc_TypeError,
                 "[trace] %s of a traced value %s is not known while the function is traced; %s",
                 use, text, instead);
    return NULL;
}

static int traced_bool(PyObject *self) {
    refuse_value(self, "the truth",
                 "use mica.cond, mica.where or mica.while_loop, or make it a static argument");
    return -1;
}

#define REFUSED(name, use)                                                                         \
    static PyObject *traced_##name(PyObject *self) {                                               \
        return refuse_value(self, use, "return it from the function and look at the result");      \
    }
REFUSED(int, "the int")
REFUSED(float, "the float")
REFUSED(index, "the index")

static PyObject *traced_no_data(PyObject *self, PyObject *Py_UNUSED(args),
                                PyObject *Py_UNUSED(kwargs)) {
    return refuse_value(self, "the data", "return it from the function and look at the result");
}

static PyObject *traced_get_weak(PyObject *self, void *Py_UNUSED(unused)) {
    return PyBool_FromLong(((TracedObject *)self)->weak);
}

#define NO_DATA(name)                                                                              \
    { name, (PyCFunction)(void (*)(void))traced_no_data, METH_VARARGS | METH_KEYWORDS, NULL }
static PyMethodDef traced_methods[] = {
    ARRAY_METHOD_ROWS,    NO_DATA("item"),       NO_DATA("tolist"),
    NO_DATA("numpy"),     NO_DATA("tobytes"),    NO_DATA("to"),
    NO_DATA("__array__"), NO_DATA("__reduce__"), {NULL, NULL, 0, NULL},
};

static PyGetSetDef traced_getters[] = {
    ARRAY_GETTER_ROWS,
    {"weak", traced_get_weak, NULL, "Whether it takes the dtype of what it meets.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMappingMethods traced_mapping = {array_length, array_subscript, NULL};
static PySequenceMethods traced_sequence = {.sq_length = array_length, .sq_item = array_item_at};

PyTypeObject Traced_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica.Traced",
    .tp_basicsize = sizeof(TracedObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A value of a graph that is being built; has the operators and methods of Tensor.",
    .tp_dealloc = traced_dealloc,
    .tp_repr = traced_repr,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_richcompare = array_compare,
    .tp_iter = array_iter,
    .tp_as_number = &traced_number,
    .tp_as_mapping = &traced_mapping,
    .tp_as_sequence = &traced_sequence,
    .tp_methods = traced_methods,
    .tp_getset = traced_getters,
};

__attribute__((constructor)) static void fill_number_slots(void) {
    traced_number.nb_int = traced_int;
    traced_number.nb_float = traced_float;
    traced_number.nb_index = traced_index;
    traced_number.nb_bool = traced_bool;
}
