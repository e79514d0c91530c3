/* Primitives as Python functions, all from the table: mica.<name>(operands..., attributes).
 *
 * apply_op is the one door: arrays in, array out. It runs the primitive at once when every operand
 * is a Tensor, and appends a node to the current trace when one is Traced. Primitives without
 * operands, and collectives, follow the trace whenever there is one. */
#include "extension.h"

#include <string.h>

/* An op has at most as many results as operands, or these. */
#define FEW_RESULTS 8
#define MOST_RESULTS 64

/* ---- builders by number
 * -------------------------------------------------------------------------*/

#define TAKE_INT(i) attributes[i].integer
#define TAKE_INTS(i) attributes[i].ints
#define TAKE_STRING(i) attributes[i].string
#define TAKE_DTYPE(i) (mica_dtype) attributes[i].integer
#define TAKE_DATA(i) attributes[i].data
#define OPERANDS_0 g
#define OPERANDS_1 g, operands[0]
#define OPERANDS_2 g, operands[0], operands[1]
#define OPERANDS_3 g, operands[0], operands[1], operands[2]
#define OPERANDS_N g, operands, n
#define ATTRIBUTES_A0()
#define ATTRIBUTES_A1(k0, n0) , TAKE_##k0(0)
#define ATTRIBUTES_A2(k0, n0, k1, n1) ATTRIBUTES_A1(k0, n0), TAKE_##k1(1)
#define ATTRIBUTES_A3(k0, n0, k1, n1, k2, n2) ATTRIBUTES_A2(k0, n0, k1, n1), TAKE_##k2(2)
#define ATTRIBUTES_A4(k0, n0, k1, n1, k2, n2, k3, n3)                                              \
    ATTRIBUTES_A3(k0, n0, k1, n1, k2, n2), TAKE_##k3(3)
#define ATTRIBUTES_A5(k0, n0, k1, n1, k2, n2, k3, n3, k4, n4)                                      \
    ATTRIBUTES_A4(k0, n0, k1, n1, k2, n2, k3, n3), TAKE_##k4(4)
#define ATTRIBUTES_A6(k0, n0, k1, n1, k2, n2, k3, n3, k4, n4, k5, n5)                              \
    ATTRIBUTES_A5(k0, n0, k1, n1, k2, n2, k3, n3, k4, n4), TAKE_##k5(5)
#define ATTRIBUTES_A7(k0, n0, k1, n1, k2, n2, k3, n3, k4, n4, k5, n5, k6, n6)                      \
    ATTRIBUTES_A6(k0, n0, k1, n1, k2, n2, k3, n3, k4, n4, k5, n5), TAKE_##k6(6)
#define ATTRIBUTES_A8(k0, n0, k1, n1, k2, n2, k3, n3, k4, n4, k5, n5, k6, n6, k7, n7)              \
    ATTRIBUTES_A7(k0, n0, k1, n1, k2, n2, k3, n3, k4, n4, k5, n5, k6, n6), TAKE_##k7(7)

#define BUILD(name, arity, attributes_)                                                            \
    case MICA_OP_##name:                                                                           \
        return mica_##name(OPERANDS_##arity ATTRIBUTES_##attributes_);
#define BUILD_MAP(...) BUILD(__VA_ARGS__)
#define BUILD_ELEMENTWISE(...) BUILD(__VA_ARGS__)
#define BUILD_SHAPE(...) BUILD(__VA_ARGS__)
#define BUILD_CONTRACTION(...) BUILD(__VA_ARGS__)
#define BUILD_REDUCTION(...) BUILD(__VA_ARGS__)
#define BUILD_RANDOM(...) BUILD(__VA_ARGS__)
#define BUILD_COLLECTIVE(...) BUILD(__VA_ARGS__)
#define BUILD_SEVERAL(name, arity, attributes_)                                                    \
    case MICA_OP_##name:                                                                           \
        mica_##name(OPERANDS_##arity ATTRIBUTES_##attributes_, out);                               \
        return out[0];
#define BUILD_CONTROL(...)
#define BUILD_HOST(...)

mica_value build_op(mica_graph *g, mica_op op, const mica_value *operands, int32_t n,
                    const mica_attribute *attributes) {
    mica_value out[MOST_RESULTS] = {{NULL, 0}};
    (void)n;
    (void)out;
    switch ((int)op) {
#define MICA_OP(name, arity, class, dtypes, attributes, ...) BUILD_##class(name, arity, attributes)
#include <mica/ops.def>
#undef MICA_OP
    default: return MICA_NULL_VALUE;
    }
}

/* ---- applying
 * -----------------------------------------------------------------------------------*/

/* Below this many bytes of operands, handing the GIL over costs more than the work. */
#define SMALL_BYTES (64 * 1024)

/* Whether the result may be much larger than the operands. */
static bool may_grow(mica_op op, mica_tensor *const *tensors, int32_t n, size_t bytes) {
    if (op == MICA_OP_broadcast || op == MICA_OP_rng_bits || op == MICA_OP_pad) return true;
    if (bytes < 2048 || n < 2) return false;
    return !mica_type_equal(mica_tensor_type(tensors[0]), mica_tensor_type(tensors[1]));
}

static PyObject *eager_failed(mica_op op, mica_tensor *const *tensors, int32_t n,
                              mica_status status) {
    const mica_type **types = PyMem_New(const mica_type *, n + 1);
    if (!types) return raise_status(status);
    for (int32_t i = 0; i < n; i++) types[i] = mica_tensor_type(tensors[i]);
    raise_op_status(op, types, n, status);
    PyMem_Free(types);
    return NULL;
}

static PyObject *eager_op(mica_op op, PyObject *const *operands, int32_t n,
                          const mica_attribute *attributes) {
    mica_tensor *few[4], **tensors = few, *result = NULL;
    if (n > 4 && !(tensors = PyMem_New(mica_tensor *, n))) return PyErr_NoMemory();
    size_t bytes = 0;
    for (int32_t i = 0; i < n; i++) {
        tensors[i] = tensor_of(operands[i]);
        bytes += mica_type_bytes(mica_tensor_type(tensors[i]));
    }
    mica_device *device = n ? mica_tensor_device(tensors[0]) : device_default();
    PyObject *object = NULL;
    if (device) {
        mica_status status;
        if (n > 0 && bytes < SMALL_BYTES && !may_grow(op, tensors, n, bytes)) {
            status = mica_eager(device, op, tensors, n, attributes, &result);
        } else {
            BEGIN_COMPUTING;
            status = mica_eager(device, op, tensors, n, attributes, &result);
            END_COMPUTING;
        }
        object = status ? eager_failed(op, tensors, n, status) : tensor_take(result);
    }
    if (tensors != few) PyMem_Free(tensors);
    return object;
}

bool op_has_several(mica_op op) {
    return strcmp(mica_op_describe(op)->op_class, "SEVERAL") == 0;
}

static PyObject *tuple_of_tensors(mica_tensor **results, int32_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (int32_t i = 0; i < n; i++) {
        if (!tuple) {
            mica_tensor_release(results[i]);
            continue;
        }
        PyObject *object = tensor_take(results[i]);
        if (object)
            PyTuple_SET_ITEM(tuple, i, object);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *eager_several(mica_op op, PyObject *const *operands, int32_t n,
                               const mica_attribute *attributes) {
    mica_tensor *tensors[MOST_RESULTS], *results[MOST_RESULTS];
    for (int32_t i = 0; i < n; i++) tensors[i] = tensor_of(operands[i]);
    mica_device *device = n ? mica_tensor_device(tensors[0]) : device_default();
    if (!device) return NULL;
    mica_status status;
    int32_t n_results = 0;
    BEGIN_COMPUTING;
    status =
        mica_eager_several(device, op, tensors, n, attributes, results, MOST_RESULTS, &n_results);
    END_COMPUTING;
    return status ? eager_failed(op, tensors, n, status) : tuple_of_tensors(results, n_results);
}

static bool follows_trace(mica_op op, PyObject *const *operands, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (is_traced(operands[i])) return true;
    bool collective = !strcmp(mica_op_describe(op)->op_class, "COLLECTIVE");
    return (n == 0 || collective) && trace_current();
}

PyObject *apply_op(mica_op op, PyObject *const *operands, int32_t n,
                   const mica_attribute *attributes) {
    if (op_has_several(op) && n > MOST_RESULTS - FEW_RESULTS) {
        PyErr_Format(PyExc_ValueError, "[%s] takes at most %d operands, %d given",
                     mica_op_describe(op)->name, MOST_RESULTS - FEW_RESULTS, (int)n);
        return NULL;
    }
    if (follows_trace(op, operands, n)) return trace_op(op, operands, n, attributes);
    if (op == MICA_OP_constant) {
        mica_device *device = device_default();
        mica_tensor *result = NULL;
        if (!device) return NULL;
        mica_status status = mica_tensor_from_host(device, attributes[0].data.type,
                                                   attributes[0].data.bytes, &result);
        return status ? raise_status(status) : tensor_take(result);
    }
    return (op_has_several(op) ? eager_several : eager_op)(op, operands, n, attributes);
}

/* ---- attributes from Python
 * ---------------------------------------------------------------------*/

int32_t ints_from_object(PyObject *object, const char *what, int64_t out[MICA_MAX_RANK]) {
    if (PyIndex_Check(object) && !PySequence_Check(object)) {
        out[0] = PyLong_AsLongLong(object);
        return out[0] == -1 && PyErr_Occurred() ? -1 : 1;
    }
    if (is_tensor(object) && array_type(object)->rank == 0) {
        PyObject *number = PyNumber_Index(object);
        if (!number) return -1;
        out[0] = PyLong_AsLongLong(number);
        Py_DECREF(number);
        return out[0] == -1 && PyErr_Occurred() ? -1 : 1;
    }
    PyObject *sequence = PySequence_Fast(object, "");
    if (!sequence) {
        PyErr_Format(PyExc_TypeError, "%s: an int or a sequence of ints is needed, not %R", what,
                     object);
        return -1;
    }
    Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence);
    if (n > MICA_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "%s: %zd entries, at most %d are possible", what, n,
                     MICA_MAX_RANK);
        n = -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *number = PyNumber_Index(PySequence_Fast_GET_ITEM(sequence, i));
        out[i] = number ? PyLong_AsLongLong(number) : -1;
        Py_XDECREF(number);
        if (out[i] == -1 && PyErr_Occurred()) n = -1;
    }
    Py_DECREF(sequence);
    return (int32_t)n;
}

PyObject *ints_to_tuple(const int64_t *ints, int32_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (int32_t i = 0; tuple && i < n; i++) {
        PyObject *number = PyLong_FromLongLong(ints[i]);
        if (!number)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, number);
    }
    return tuple;
}

#define MAX_ATTRIBUTES 8
typedef struct attribute_memory {
    mica_attribute attributes[MAX_ATTRIBUTES];
    int64_t ints[MAX_ATTRIBUTES][MICA_MAX_RANK];
    mica_type type; /* of a DATA attribute, and its bytes */
    PyObject *bytes;
    bool given[MAX_ATTRIBUTES];
} attribute_memory;

static int data_attribute(attribute_memory *m, mica_attribute *attribute, PyObject *object) {
    PyObject *tensor = tensor_from_object(object, -1, NULL);
    if (!tensor) return -1;
    m->type = *array_type(tensor);
    m->bytes = PyObject_CallMethod(tensor, "tobytes", NULL);
    Py_DECREF(tensor);
    if (!m->bytes) return -1;
    attribute->data = (mica_data){&m->type, PyBytes_AS_STRING(m->bytes)};
    return 0;
}

static int set_attribute(const mica_op_info *info, attribute_memory *m, int i, PyObject *object) {
    const char *kind = info->attribute_kinds[i], *name = info->attribute_names[i];
    mica_attribute *attribute = &m->attributes[i];
    m->given[i] = true;
    if (!strcmp(kind, "INT")) {
        attribute->integer = PyLong_AsLongLong(object);
        return attribute->integer == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (!strcmp(kind, "INTS")) {
        char what[128];
        PyOS_snprintf(what, sizeof what, "[%s] %s", info->name, name);
        int32_t n = ints_from_object(object, what, m->ints[i]);
        attribute->ints = (mica_ints){m->ints[i], n};
        return n < 0 ? -1 : 0;
    }
    if (!strcmp(kind, "STRING")) {
        if (PyUnicode_Check(object)) attribute->string = PyUnicode_AsUTF8(object);
        if (attribute->string) return 0;
        PyErr_Format(PyExc_TypeError, "[%s] %s: a string is needed, not %R", info->name, name,
                     object);
        return -1;
    }
    if (!strcmp(kind, "DTYPE")) {
        mica_dtype dtype;
        if (dtype_from_object(object, &dtype) < 0) return -1;
        attribute->integer = dtype;
        return 0;
    }
    return data_attribute(m, attribute, object);
}

static int find_attribute(const mica_op_info *info, PyObject *keyword) {
    for (int i = 0; i < info->n_attributes; i++)
        if (!PyUnicode_CompareWithASCIIString(keyword, info->attribute_names[i])) return i;
    PyErr_Format(PyExc_TypeError, "[%s] has no attribute %R", info->name, keyword);
    return -1;
}

/* ---- the functions
 * ------------------------------------------------------------------------------*/

/* Converts operands; scalars adopt the dtype of the first array among them. New references. */
static int convert_operands(mica_op op, PyObject *const *args, int32_t n, PyObject **operands) {
    PyObject *like = NULL;
    for (int32_t i = op == MICA_OP_select ? 1 : 0; i < n && !like; i++)
        if (is_array(args[i])) like = args[i];
    for (int32_t i = 0; i < n; i++) {
        bool own_type = op == MICA_OP_select && i == 0;
        operands[i] = as_operand(args[i], own_type ? NULL : like);
        if (!operands[i]) {
            while (i-- > 0) Py_DECREF(operands[i]);
            return -1;
        }
        if (!like && !own_type) like = operands[i];
    }
    return 0;
}

static int take_attributes(const mica_op_info *info, attribute_memory *m, PyObject *const *args,
                           Py_ssize_t n_args, PyObject *keywords) {
    if (n_args > info->n_attributes) {
        PyErr_Format(PyExc_TypeError, "[%s] takes %d operands and %d attributes", info->name,
                     info->arity, info->n_attributes);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n_args; i++)
        if (set_attribute(info, m, (int)i, args[i]) < 0) return -1;
    Py_ssize_t n_keywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < n_keywords; i++) {
        int at = find_attribute(info, PyTuple_GET_ITEM(keywords, i));
        if (at < 0 || set_attribute(info, m, at, args[n_args + i]) < 0) return -1;
    }
    for (int i = 0; i < info->n_attributes; i++)
        if (!m->given[i]) {
            PyErr_Format(PyExc_TypeError, "[%s] needs the attribute %s", info->name,
                         info->attribute_names[i]);
            return -1;
        }
    return 0;
}

static PyObject *call_op(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *keywords) {
    mica_op op = (mica_op)PyLong_AsLong(self);
    const mica_op_info *info = mica_op_describe(op);
    Py_ssize_t n = info->arity >= 0 ? info->arity : n_args;
    PyObject *const *operand_args = args, *const *attribute_args = args + n;
    PyObject *sequence = NULL;
    if (n_args < n) {
        PyErr_Format(PyExc_TypeError, "[%s] takes %zd operands, %zd were given", info->name, n,
                     n_args);
        return NULL;
    }
    if (info->arity < 0 && n_args > 0 && (PyList_Check(args[0]) || PyTuple_Check(args[0]))) {
        sequence = PySequence_Fast(args[0], "");
        if (!sequence) return NULL;
        attribute_args = args + 1;
        operand_args = PySequence_Fast_ITEMS(sequence);
        n = PySequence_Fast_GET_SIZE(sequence);
    }
    attribute_memory memory;
    memset(memory.given, 0, sizeof memory.given);
    memset(memory.attributes, 0, sizeof memory.attributes);
    memory.bytes = NULL;
    PyObject *few[8], **operands = few, *result = NULL;
    if (n > 8 && !(operands = PyMem_New(PyObject *, n))) {
        PyErr_NoMemory();
        goto done;
    }
    if (take_attributes(info, &memory, attribute_args, n_args - (attribute_args - args), keywords))
        goto done;
    if (convert_operands(op, operand_args, (int32_t)n, operands) < 0) goto done;
    result = apply_op(op, operands, (int32_t)n, memory.attributes);
    for (Py_ssize_t i = 0; i < n; i++) Py_DECREF(operands[i]);
done:
    if (operands != few) PyMem_Free(operands);
    Py_XDECREF(memory.bytes);
    Py_XDECREF(sequence);
    return result;
}

static PyMethodDef op_methods[MICA_OP_COUNT];

/* The signature and the meaning, kept for as long as the process lives, as the methods are. NULL
 * with an exception set. */
static const char *describe_op(const mica_op_info *info) {
    static const char *const operands[] = {"", "x, /", "x0, x1, /", "x0, x1, x2, /"};
    const char *first = info->arity < 0 ? "*operands" : operands[info->arity];
    PyObject *names = PyUnicode_FromString(first);
    for (int i = 0; i < info->n_attributes; i++)
        PyUnicode_AppendAndDel(
            &names, PyUnicode_FromFormat(i || *first ? ", %s" : "%s", info->attribute_names[i]));
    PyObject *doc =
        names ? PyUnicode_FromFormat("%s(%U)\n--\n\n%s", info->name, names, info->meaning) : NULL;
    Py_XDECREF(names);
    return doc ? PyUnicode_AsUTF8(doc) : NULL; /* the text is the object's, which is not released */
}

int ops_add_to(PyObject *module) {
    PyObject *module_name = PyModule_GetNameObject(module);
    if (!module_name) return -1;
    int failed = 0;
    for (int i = 0; i < MICA_OP_COUNT && !failed; i++) {
        const mica_op_info *info = mica_op_describe((mica_op)i);
        if (!strcmp(info->op_class, "CONTROL") || !strcmp(info->op_class, "HOST")) continue;
        const char *doc = describe_op(info);
        op_methods[i] = (PyMethodDef){info->name, (PyCFunction)(void (*)(void))call_op,
                                      METH_FASTCALL | METH_KEYWORDS, doc};
        PyObject *number = doc ? PyLong_FromLong(i) : NULL;
        PyObject *function = number ? PyCFunction_NewEx(&op_methods[i], number, module_name) : NULL;
        Py_XDECREF(number);
        failed = !function || PyModule_AddObjectRef(module, info->name, function) < 0;
        Py_XDECREF(function);
    }
    Py_DECREF(module_name);
    return failed ? -1 : 0;
}

static PyObject *attribute_list(const mica_op_info *info) {
    PyObject *list = PyList_New(info->n_attributes);
    for (int i = 0; list && i < info->n_attributes; i++) {
        PyObject *pair = Py_BuildValue("(ss)", info->attribute_names[i], info->attribute_kinds[i]);
        if (!pair)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, pair);
    }
    return list;
}

PyObject *ops_table(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    PyObject *table = PyList_New(0);
    for (int i = 0; table && i < MICA_OP_COUNT; i++) {
        const mica_op_info *info = mica_op_describe((mica_op)i);
        PyObject *row = Py_BuildValue(
            "{s:s,s:i,s:s,s:s,s:N,s:s,s:s,s:s,s:s,s:z,s:s}", "name", info->name, "arity",
            (int)info->arity, "class", info->op_class, "dtypes", info->dtypes, "attributes",
            attribute_list(info), "shape", info->shape_rule, "jvp", info->jvp_rule, "transpose",
            info->transpose_rule, "vmap", info->vmap_rule, "expression", info->expression,
            "meaning", info->meaning);
        if (!row || PyList_Append(table, row) < 0) Py_CLEAR(table);
        Py_XDECREF(row);
    }
    return table;
}
