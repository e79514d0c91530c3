/* Ops as Python callables, all from the table: op(inputs..., attributes..., name=None). */
#include "tf_extension.h"

#include <string.h>

#define MOST_VALUES 8192
#define FEW_VALUES 24

/* What the conversion of a call's arguments owns. */
typedef struct call {
    mica_tf_op op;
    const mica_tf_op_info *info;
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    bool given[MICA_TF_MAX_ATTRS];
    PyObject *arguments[MICA_TF_MAX_ARGUMENTS]; /* borrowed */
    TFTensor *few[FEW_VALUES], **inputs;        /* owned */
    int32_t n_inputs, capacity;
    void *memory[MICA_TF_MAX_ATTRS]; /* of attributes; PyMem_Free */
    PyObject *kept;                  /* list of objects that attributes point into */
    const char *name;
} call;

static void call_clear(call *c) {
    for (int32_t i = 0; i < c->n_inputs; i++) Py_DECREF(c->inputs[i]);
    if (c->inputs != c->few) PyMem_Free(c->inputs);
    for (int32_t i = 0; i < c->info->n_attrs; i++) PyMem_Free(c->memory[i]);
    Py_XDECREF(c->kept);
}

static int keep(call *c, PyObject *object) {
    if (!c->kept && !(c->kept = PyList_New(0))) return -1;
    return PyList_Append(c->kept, object);
}

/* ---- attributes -------------------------------------------------------------------------------*/

static int attr_string(call *c, PyObject *object, const char **out, Py_ssize_t *n) {
    if (PyBytes_Check(object)) {
        *out = PyBytes_AS_STRING(object);
        *n = PyBytes_GET_SIZE(object);
    } else {
        *out = PyUnicode_AsUTF8AndSize(object, n);
        if (!*out) return -1;
    }
    return keep(c, object);
}

static mica_tf_graph *graph_of(PyObject *object) {
    if (PyObject_TypeCheck(object, &TFGraph_Type)) return ((TFGraph *)object)->graph;
    PyErr_Format(PyExc_TypeError, "a graph is needed for a function attribute, not %R", object);
    return NULL;
}

/* An integer; other numbers are cut off, as int() does. */
static int attr_integer(PyObject *object, int64_t *out) {
    bool is_text = PyUnicode_Check(object) || PyBytes_Check(object);
    PyObject *number = is_text ? PyNumber_Index(object) : PyNumber_Long(object);
    *out = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

static int attr_list_entry(call *c, mica_tf_attr_kind kind, PyObject *item, void *room,
                           Py_ssize_t i) {
    Py_ssize_t n;
    mica_tf_dtype dtype;
    switch (kind) {
    case MICA_TF_INTS: return attr_integer(item, &((int64_t *)room)[i]);
    case MICA_TF_TYPES:
        if (tf_dtype_from_object(item, &dtype) < 0) return -1;
        ((int64_t *)room)[i] = dtype;
        return 0;
    case MICA_TF_FLOATS:
        ((double *)room)[i] = PyFloat_AsDouble(item);
        return PyErr_Occurred() ? -1 : 0;
    case MICA_TF_SHAPES: return tf_shape_from_object(item, &((mica_tf_shape *)room)[i]);
    case MICA_TF_STRINGS: return attr_string(c, item, &((const char **)room)[i], &n);
    default:
        ((mica_tf_graph **)room)[i] = graph_of(item);
        return ((mica_tf_graph **)room)[i] ? 0 : -1;
    }
}

static int set_attr_list(call *c, int32_t at, mica_tf_attr_kind kind, PyObject *object) {
    PyObject *sequence = PySequence_Fast(object, "a list is needed");
    if (!sequence) return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence);
    size_t size = kind == MICA_TF_SHAPES ? sizeof(mica_tf_shape) : sizeof(int64_t);
    void *room = c->memory[at] = PyMem_Malloc(size * (size_t)(n + 1));
    int result = room ? 0 : -1;
    if (!room) PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n && result == 0; i++)
        result = attr_list_entry(c, kind, PySequence_Fast_GET_ITEM(sequence, i), room, i);
    Py_DECREF(sequence);
    c->attrs[at] = (mica_tf_attr){.n = (int32_t)n, .as.ints = room};
    return result;
}

static int set_attr(call *c, int32_t at, PyObject *object) {
    const mica_tf_attr_info *info = &c->info->attrs[at];
    mica_tf_attr *attr = &c->attrs[at];
    mica_tf_dtype dtype;
    Py_ssize_t n;
    c->given[at] = true;
    switch (info->kind) {
    case MICA_TF_INT: return attr_integer(object, &attr->as.integer);
    case MICA_TF_BOOL:
        if (!PyBool_Check(object)) {
            PyErr_Format(PyExc_TypeError, "Expected bool for argument '%s' not %R.", info->name,
                         object);
            return -1;
        }
        attr->as.integer = object == Py_True;
        return 0;
    case MICA_TF_FLOAT: attr->as.real = PyFloat_AsDouble(object); return PyErr_Occurred() ? -1 : 0;
    case MICA_TF_TYPE:
        if (tf_dtype_from_object(object, &dtype) < 0) return -1;
        attr->as.integer = dtype;
        return 0;
    case MICA_TF_STRING:
        if (attr_string(c, object, &attr->as.string, &n) < 0) return -1;
        attr->n = (int32_t)n;
        return 0;
    case MICA_TF_SHAPE: {
        mica_tf_shape *shape = c->memory[at] = PyMem_Malloc(sizeof *shape);
        attr->n = 1;
        attr->as.shapes = shape;
        return shape ? tf_shape_from_object(object, shape) : -1;
    }
    case MICA_TF_TENSOR: {
        PyObject *tensor = tf_convert(object, MICA_TF_no_dtype, false);
        if (!tensor || keep(c, tensor) < 0) {
            Py_XDECREF(tensor);
            return -1;
        }
        Py_DECREF(tensor);
        if (!tf_is_eager((TFTensor *)tensor)) {
            PyErr_SetString(PyExc_TypeError, "an attribute must be a tensor with a value");
            return -1;
        }
        attr->as.value = ((TFTensor *)tensor)->value;
        return 0;
    }
    case MICA_TF_FUNCTION: attr->as.function = graph_of(object); return attr->as.function ? 0 : -1;
    case MICA_TF_OPERATION:
        PyErr_SetString(PyExc_TypeError, "operations are no arguments of Python");
        return -1;
    default: return set_attr_list(c, at, info->kind, object);
    }
}

/* ---- binding arguments ------------------------------------------------------------------------*/

static int bind_keyword(call *c, PyObject *key, PyObject *value) {
    for (int32_t i = 0; i < c->info->n_inputs; i++)
        if (!PyUnicode_CompareWithASCIIString(key, c->info->inputs[i].name)) {
            c->arguments[i] = value;
            return 0;
        }
    for (int32_t i = 0; i < c->info->n_attrs; i++)
        if (!PyUnicode_CompareWithASCIIString(key, c->info->attrs[i].name))
            return value == Py_None ? 0 : set_attr(c, i, value);
    if (!PyUnicode_CompareWithASCIIString(key, "name")) {
        if (value != Py_None) c->name = PyUnicode_AsUTF8(value);
        return value != Py_None && !c->name ? -1 : 0;
    }
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", c->info->name, key);
    return -1;
}

static int bind_positional(call *c, PyObject *const *args, Py_ssize_t n) {
    Py_ssize_t at = 0;
    for (int32_t i = 0; i < c->info->n_inputs && at < n; i++) c->arguments[i] = args[at++];
    for (int32_t i = 0; i < c->info->n_attrs && at < n; i++) {
        if (c->info->attrs[i].is_inferred) continue;
        if (args[at] != Py_None && set_attr(c, i, args[at]) < 0) return -1;
        at++;
    }
    if (at < n) { /* the last one may be the name */
        if (at + 1 == n && (args[at] == Py_None || PyUnicode_Check(args[at]))) {
            if (args[at] != Py_None) c->name = PyUnicode_AsUTF8(args[at]);
            return 0;
        }
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zd positional arguments, %zd given",
                     c->info->name, at + 1, n);
        return -1;
    }
    return 0;
}

/* ---- inputs -----------------------------------------------------------------------------------*/

static int add_input(call *c, PyObject *tensor) {
    if (c->n_inputs == c->capacity) {
        int32_t larger = 2 * c->capacity;
        TFTensor **block = PyMem_New(TFTensor *, larger);
        if (!block) {
            Py_DECREF(tensor);
            PyErr_NoMemory();
            return -1;
        }
        memcpy(block, c->inputs, sizeof *block * (size_t)c->n_inputs);
        if (c->inputs != c->few) PyMem_Free(c->inputs);
        c->inputs = block;
        c->capacity = larger;
    }
    c->inputs[c->n_inputs++] = (TFTensor *)tensor;
    return 0;
}

/* The dtype that an attribute has from tensors among the arguments; 0: from none. */
static mica_tf_dtype dtype_of_attr(const call *c, int32_t attr) {
    for (int32_t i = 0; i < c->info->n_inputs; i++) {
        PyObject *argument = c->arguments[i];
        if (c->info->inputs[i].type_attr != attr || !argument) continue;
        if (tf_is_tensor(argument)) return tf_tensor_dtype((TFTensor *)argument);
        if (c->info->inputs[i].count_attr < 0 || !PySequence_Check(argument)) continue;
        PyObject *sequence = PySequence_Fast(argument, "");
        if (!sequence) {
            PyErr_Clear();
            continue;
        }
        mica_tf_dtype found = MICA_TF_no_dtype;
        for (Py_ssize_t k = 0; !found && k < PySequence_Fast_GET_SIZE(sequence); k++) {
            PyObject *item = PySequence_Fast_GET_ITEM(sequence, k);
            if (tf_is_tensor(item)) found = tf_tensor_dtype((TFTensor *)item);
        }
        Py_DECREF(sequence);
        if (found) return found;
    }
    return MICA_TF_no_dtype;
}

static int convert_one(call *c, const mica_tf_argument *a, PyObject *object, mica_tf_dtype known) {
    PyObject *tensor;
    if (tf_is_tensor(object)) {
        Py_INCREF(object);
        return add_input(c, object);
    }
    if (a->dtype) {
        tensor = tf_convert(object, (mica_tf_dtype)a->dtype, false);
    } else if (known) { /* what is no Python number is refused as tensors of other dtypes are */
        tensor = tf_convert(object, known, tf_converts_loosely(c->op) || !tf_is_plain(object));
    } else if (a->type_attr >= 0 && c->info->attrs[a->type_attr].kind == MICA_TF_TYPE) {
        /* Python numbers take the default dtype of the attribute, where it has one; arrays too,
         * but in graphs they keep a dtype that is allowed. */
        const mica_tf_attr_info *attr = &c->info->attrs[a->type_attr];
        mica_tf_dtype hint =
            attr->has_default ? (mica_tf_dtype)attr->value.as.integer : MICA_TF_no_dtype;
        if (hint && tf_current_graph() && !tf_is_plain(object)) {
            tensor = tf_convert(object, MICA_TF_no_dtype, false);
            if (!tensor) return -1;
            if (attr->allowed >> tf_tensor_dtype((TFTensor *)tensor) & 1)
                return add_input(c, tensor);
            Py_DECREF(tensor);
        }
        tensor = tf_convert(object, hint, true);
        if (tensor && hint && tf_is_plain(object) &&
            !(attr->allowed >> tf_tensor_dtype((TFTensor *)tensor) & 1)) {
            Py_DECREF(tensor);
            PyErr_Format(PyExc_TypeError, "Cannot convert %R to EagerTensor of dtype %s", object,
                         mica_tf_dtype_name(hint));
            return -1;
        }
    } else {
        tensor = tf_convert(object, MICA_TF_no_dtype, false);
    }
    return tensor ? add_input(c, tensor) : -1;
}

static int convert_several(call *c, const mica_tf_argument *a, PyObject *object) {
    bool one_type = a->count_attr >= 0 && a->type_attr >= 0;
    mica_tf_dtype known = one_type ? dtype_of_attr(c, a->type_attr) : MICA_TF_no_dtype;
    PyObject *sequence = PySequence_Fast(object, "a list of tensors is needed");
    if (!sequence) return -1;
    int32_t first = c->n_inputs;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence);
    int result = 0;
    for (Py_ssize_t i = 0; i < n && result == 0; i++) {
        result = convert_one(c, a, PySequence_Fast_GET_ITEM(sequence, i), known);
        if (one_type && !known && result == 0) known = tf_tensor_dtype(c->inputs[first]);
    }
    Py_DECREF(sequence);
    if (result < 0) return -1;
    if (a->count_attr >= 0) {
        c->attrs[a->count_attr].as.integer = n;
        return 0;
    }
    int64_t *types = c->memory[a->type_attr] = PyMem_New(int64_t, n + 1);
    if (!types) return -1;
    for (Py_ssize_t i = 0; i < n; i++) types[i] = tf_tensor_dtype(c->inputs[first + i]);
    c->attrs[a->type_attr] = (mica_tf_attr){.n = (int32_t)n, .as.ints = types};
    return 0;
}

static int convert_inputs(call *c) {
    for (int32_t i = 0; i < c->info->n_inputs; i++) {
        const mica_tf_argument *a = &c->info->inputs[i];
        bool listed = a->type_attr >= 0 && c->info->attrs[a->type_attr].kind == MICA_TF_TYPES;
        if (!c->arguments[i]) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%s'", c->info->name,
                         a->name);
            return -1;
        }
        int32_t first = c->n_inputs;
        if (a->count_attr >= 0 || listed) {
            if (convert_several(c, a, c->arguments[i]) < 0) return -1;
            continue;
        }
        mica_tf_dtype known = MICA_TF_no_dtype;
        if (a->type_attr >= 0) {
            known = dtype_of_attr(c, a->type_attr);
            for (int32_t k = 0; !known && k < i; k++)
                if (c->info->inputs[k].type_attr == a->type_attr && k < first)
                    known = tf_tensor_dtype(c->inputs[k]);
        }
        if (convert_one(c, a, c->arguments[i], known) < 0) return -1;
    }
    return 0;
}

/* ---- calling ----------------------------------------------------------------------------------*/

static PyObject *results_of(const mica_tf_op_info *info, PyObject **outputs, int32_t n) {
    bool variadic = info->n_outputs > 0 && info->outputs[0].count_attr >= 0;
    if (info->n_outputs > 0 && info->outputs[0].type_attr >= 0)
        variadic |= info->attrs[info->outputs[0].type_attr].kind == MICA_TF_TYPES;
    if (n == 0 && !variadic) Py_RETURN_NONE;
    if (n == 1 && info->n_outputs == 1 && !variadic) return outputs[0];
    PyObject *list = info->n_outputs == 1 ? PyList_New(n) : PyTuple_New(n);
    for (int32_t i = 0; i < n; i++) {
        if (!list)
            Py_DECREF(outputs[i]);
        else if (info->n_outputs == 1)
            PyList_SET_ITEM(list, i, outputs[i]);
        else
            PyTuple_SET_ITEM(list, i, outputs[i]);
    }
    return list;
}

/* Whether an output stands for as many tensors as an attribute says. */
static bool has_lists(const mica_tf_op_info *info) {
    for (int32_t i = 0; i < info->n_outputs; i++) {
        const mica_tf_argument *a = &info->outputs[i];
        if (a->count_attr >= 0) return true;
        if (a->type_attr >= 0 && info->attrs[a->type_attr].kind == MICA_TF_TYPES) return true;
    }
    return false;
}

static PyObject *run_call(call *c, mica_tf_op op) {
    mica_tf_dtype dtypes[MOST_VALUES];
    if (c->n_inputs > MOST_VALUES)
        return PyErr_Format(PyExc_ValueError, "%s: more than %d inputs", c->info->name,
                            MOST_VALUES);
    for (int32_t i = 0; i < c->n_inputs; i++) dtypes[i] = tf_tensor_dtype(c->inputs[i]);
    mica_status status = mica_tf_op_infer_types(op, dtypes, c->n_inputs, c->attrs);
    if (status) return tf_raise_dtypes(op, dtypes, c->n_inputs, status);
    for (int32_t i = 0; i < c->info->n_attrs; i++) {
        const mica_tf_attr_info *attr = &c->info->attrs[i];
        if (attr->has_default || attr->is_inferred || c->given[i]) continue;
        return PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%s'", c->info->name,
                            attr->name);
    }
    PyObject *few[FEW_VALUES], **outputs = few;
    int32_t capacity = FEW_VALUES;
    if (has_lists(c->info)) {
        capacity = MOST_VALUES;
        outputs = PyMem_New(PyObject *, MOST_VALUES);
        if (!outputs) return PyErr_NoMemory();
    }
    int32_t n = tf_execute(op, c->attrs, c->inputs, c->n_inputs, c->name, outputs, capacity);
    PyObject *result = n < 0 ? NULL : results_of(c->info, outputs, n);
    if (outputs != few) PyMem_Free(outputs);
    return result;
}

/* Only tensors, as many as there are inputs, nothing else: the usual call. */
static PyObject *call_quickly(mica_tf_op op, const mica_tf_op_info *info, PyObject *const *args,
                              int32_t n) {
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    mica_tf_dtype dtypes[4];
    PyObject *output = NULL;
    if (tf_execute_again(op, args, n, &output)) return output;
    tf_default_attrs(info, attrs);
    for (int32_t i = 0; i < n; i++) dtypes[i] = tf_tensor_dtype((TFTensor *)args[i]);
    mica_status status = mica_tf_op_infer_types(op, dtypes, n, attrs);
    if (status) return tf_raise_dtypes(op, dtypes, n, status);
    return tf_execute(op, attrs, (TFTensor *const *)args, n, NULL, &output, 1) == 1 ? output : NULL;
}

static uint8_t
    is_quick[MICA_TF_OP_COUNT]; /* one or two tensors in, one out, all attributes known */

static PyObject *call_op(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *keywords) {
    mica_tf_op op = (mica_tf_op)PyLong_AsLong(self);
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    Py_ssize_t n_keywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    if (is_quick[op] && n_keywords == 0 && n_args == info->n_inputs && !tf_current_graph()) {
        bool tensors = true;
        for (Py_ssize_t i = 0; i < n_args; i++) tensors &= tf_is_tensor(args[i]);
        if (tensors) return call_quickly(op, info, args, (int32_t)n_args);
    }
    call c = {.op = op, .info = info, .capacity = FEW_VALUES};
    c.inputs = c.few;
    tf_default_attrs(info, c.attrs);
    PyObject *result = NULL;
    int bound = bind_positional(&c, args, n_args);
    for (Py_ssize_t i = 0; i < n_keywords && bound == 0; i++)
        bound = bind_keyword(&c, PyTuple_GET_ITEM(keywords, i), args[n_args + i]);
    if (bound == 0 && convert_inputs(&c) == 0) result = run_call(&c, op);
    call_clear(&c);
    return result;
}

static PyMethodDef op_methods[MICA_TF_OP_COUNT];

/* Kept for as long as the process lives, as the methods are. NULL with an exception set. */
static const char *describe(const mica_tf_op_info *info) {
    PyObject *names = PyUnicode_FromString("");
    for (int32_t i = 0; i < info->n_inputs; i++)
        PyUnicode_AppendAndDel(&names, PyUnicode_FromFormat("%s, ", info->inputs[i].name));
    for (int given = 0; given < 2; given++) /* those with a default come last, as in TensorFlow */
        for (int32_t i = 0; i < info->n_attrs; i++)
            if (!info->attrs[i].is_inferred && info->attrs[i].has_default == given)
                PyUnicode_AppendAndDel(&names, PyUnicode_FromFormat("%s%s, ", info->attrs[i].name,
                                                                    given ? "=..." : ""));
    PyObject *doc =
        names ? PyUnicode_FromFormat("%s(%Uname=None)\n--\n\n%s", info->name, names, info->meaning)
              : NULL;
    Py_XDECREF(names);
    return doc ? PyUnicode_AsUTF8(doc) : NULL; /* the text is the object's, which is not released */
}

static void find_quick(mica_tf_op op, const mica_tf_op_info *info) {
    bool quick = info->n_inputs >= 1 && info->n_inputs <= 4 && info->n_outputs == 1 &&
                 info->outputs[0].count_attr < 0;
    for (int32_t i = 0; i < info->n_inputs; i++) quick &= info->inputs[i].count_attr < 0;
    for (int32_t i = 0; i < info->n_attrs; i++)
        quick &= info->attrs[i].kind != MICA_TF_TYPES &&
                 (info->attrs[i].has_default || info->attrs[i].is_inferred);
    is_quick[op] = quick;
}

/* The ops, as a dict by name in the module: tf_ops. */
int tf_ops_add_to(PyObject *module) {
    PyObject *dict = PyDict_New();
    int failed = !dict;
    for (int i = 0; i < MICA_TF_OP_COUNT && !failed; i++) {
        const mica_tf_op_info *info = mica_tf_op_describe((mica_tf_op)i);
        if (info->n_inputs < 0) {
            PyErr_Format(PyExc_SystemError, "the row of %s cannot be read", info->name);
            failed = 1;
            break;
        }
        find_quick((mica_tf_op)i, info);
        const char *doc = describe(info);
        if (!doc) {
            failed = 1;
            break;
        }
        op_methods[i] = (PyMethodDef){info->name, (PyCFunction)(void (*)(void))call_op,
                                      METH_FASTCALL | METH_KEYWORDS, doc};
        PyObject *number = PyLong_FromLong(i);
        PyObject *function = number ? PyCFunction_NewEx(&op_methods[i], number, NULL) : NULL;
        failed = !function || PyDict_SetItemString(dict, info->name, function) < 0;
        Py_XDECREF(number);
        Py_XDECREF(function);
    }
    if (!failed) failed = PyModule_AddObjectRef(module, "tf_ops", dict) < 0;
    Py_XDECREF(dict);
    return failed ? -1 : 0;
}
