/* The part of the extension that mica.tf stands on: TensorFlow's tensors, ops, graphs and tapes.
 *
 * A Tensor is eager (it has a value) or symbolic (it is a result of a node of a graph). Every op
 * passes through tf_execute: it runs at once when no graph is being built on this thread, else
 * becomes a node; either way the tapes and accumulators of this thread see it. */
#ifndef MICA_TF_EXTENSION_H
#define MICA_TF_EXTENSION_H

#include "extension.h"

#include <mica/tf.h>

/* A function that a graph's nodes call. */
typedef struct tf_held_function {
    PyObject *function;
    int64_t number;
} tf_held_function;

/* A graph under construction. What comes from outside is captured: it becomes a parameter. */
typedef struct TFGraph {
    PyObject_HEAD mica_tf_graph *graph;
    struct TFGraph *outer;   /* whose tensors it may capture; NULL for an outermost one */
    PyObject *captures;      /* dict: id of what was captured -> (external, internal) */
    PyObject *capture_order; /* list of (external, internal) */
    PyObject *scope;         /* str: what names begin with; NULL: nothing */
    bool by_identity;        /* its tensors are equal where they are the same, and keys of dicts */
    PyObject *dict, *weakrefs;
    tf_held_function *functions; /* tf_function.c: while garbage is collected */
    int32_t n_functions;
    struct TFGraph *next, *previous; /* of all */
} TFGraph;

typedef struct TFTensor {
    PyObject_HEAD mica_tf_value value; /* object NULL: symbolic */
    TFGraph *graph;                    /* of a symbolic one */
    mica_tf_ref ref;
    int64_t id;         /* what tapes know it by; a captured tensor keeps it */
    bool is_watched;    /* a handle of a trainable variable: tapes watch it when it is read */
    PyObject *variable; /* of a handle: a weak reference to its variable, or NULL */
    PyObject *home;     /* of a handle: what runs the ops of its variable elsewhere, or NULL */
    PyObject *dict, *weakrefs;
} TFTensor;

extern PyTypeObject TFTensor_Type, TFEager_Type, TFSymbolic_Type, TFGraph_Type, TFTape_Type,
    TFAccumulator_Type, TFCache_Type, TFFunction_Type;

static inline bool tf_is_tensor(PyObject *object) {
    return Py_TYPE(object) == &TFEager_Type || Py_TYPE(object) == &TFSymbolic_Type;
}
/* Whether no tensor is compared by its values, which disable_tensor_equality asks for. */
extern bool tf_all_by_identity;

/* Whether == asks if two are the same tensor: of a graph that no function is traced to, or all. */
static inline bool tf_is_compared_by_identity(PyObject *object) {
    if (tf_all_by_identity && tf_is_tensor(object)) return true;
    if (Py_TYPE(object) != &TFSymbolic_Type) return false;
    return ((TFTensor *)object)->graph && ((TFTensor *)object)->graph->by_identity;
}
static inline bool tf_is_eager(const TFTensor *tensor) {
    return tensor->value.object != NULL;
}

/* ---- tf_tensor.c ------------------------------------------------------------------------------*/

PyObject *tf_eager_tensor(mica_tf_value value); /* takes the reference */
PyObject *tf_symbolic_tensor(TFGraph *graph, mica_tf_ref ref);
mica_tf_dtype tf_tensor_dtype(const TFTensor *tensor);
void tf_tensor_shape(const TFTensor *tensor, mica_tf_shape *out);
int64_t tf_next_id(void);
extern PyMethodDef tf_tensor_functions[];

/* ---- tf_function.c ----------------------------------------------------------------------------*/

PyObject *tf_function_find(int64_t number); /* new reference; NULL, without an error: none */
void tf_functions_drop(void); /* those that nothing holds any more; with Python's lock */
void tf_graph_begin(TFGraph *graph);
int tf_graph_visit_functions(TFGraph *graph, visitproc visit, void *arg);
void tf_graph_end(TFGraph *graph);
extern PyMethodDef tf_function_functions[];

/* ---- tf_convert.c -----------------------------------------------------------------------------*/

/* Objects of the Python side, registered once: dtypes, TensorShape, errors, helpers. Borrowed; NULL
 * with an error when there is none. */
PyObject *tf_hook(const char *name);
PyObject *tf_dtype_object(mica_tf_dtype dtype);                 /* new reference */
int tf_dtype_from_object(PyObject *object, mica_tf_dtype *out); /* -1 on error */
PyObject *tf_shape_object(const mica_tf_shape *shape);          /* a TensorShape */
int tf_shape_from_object(PyObject *object, mica_tf_shape *out); /* -1 on error */
/* A tensor from anything; dtype 0: by the data. `hint` only suggests the dtype. */
PyObject *tf_convert(PyObject *value, mica_tf_dtype dtype, bool hint);
/* A number or text of Python, or sequences of them: no arrays, no tensors. */
bool tf_is_plain(PyObject *value);
/* Whether an op takes operands of a Python value's own dtype and refuses them then as it would
 * tensors; all others refuse to convert the value. */
bool tf_converts_loosely(mica_tf_op op);
/* A list of (name, kind, value) for the attributes of a node. */
PyObject *tf_graph_attributes(mica_tf_graph *graph, int32_t node);
/* (op, [(attribute, kind, value)...], [tensors of each input]): what another process needs to run
 * it. Attributes that follow from the inputs are left out; an operation is such a triple itself. */
PyObject *tf_request(mica_tf_op op, const mica_tf_attr *attrs);
/* The same of a node, and a list of the graphs of its functions. */
PyObject *tf_graph_request(mica_tf_graph *graph, int32_t node);
PyObject *tf_raise(mica_status status); /* as an exception of tf.errors; returns NULL */
extern PyMethodDef tf_convert_functions[];

/* ---- tf_execute.c -----------------------------------------------------------------------------*/

TFGraph *tf_current_graph(void); /* borrowed; NULL: eager */
/* What runs eager ops of this thread in another process; borrowed; NULL: they run here. */
PyObject *tf_remote(void);
/* Whether this thread's ops go elsewhere; then UnimplementedError says that this one cannot. */
bool tf_refuse_remote(const char *what);
/* The tensor as one of this graph: itself, or captured. New reference. */
PyObject *tf_lift(TFGraph *graph, TFTensor *tensor);
/* One op. attrs has a place per attribute of the row, inferred ones are filled in. The number of
 * outputs, new references, or -1. */
int32_t tf_execute(mica_tf_op op, mica_tf_attr *attrs, TFTensor *const *inputs, int32_t n,
                   const char *name, PyObject **outputs, int32_t capacity);
/* The short way to run an op of few tensors with one result and default attributes (see
 * mica_tf_eager_again). False: nothing has happened, tf_execute does it. True: *out_output is the
 * result, or NULL with an exception. */
bool tf_execute_again(mica_tf_op op, PyObject *const *inputs, int32_t n, PyObject **out_output);
/* An op with one result and default attributes; name NULL: the op's own. */
PyObject *tf_apply(mica_tf_op op, const char *name, TFTensor *const *inputs, int32_t n);
static inline PyObject *tf_apply1(mica_tf_op op, PyObject *x) {
    return tf_apply(op, NULL, (TFTensor *[]){(TFTensor *)x}, 1);
}
static inline PyObject *tf_apply2(mica_tf_op op, const char *name, PyObject *x, PyObject *y) {
    return tf_apply(op, name, (TFTensor *[]){(TFTensor *)x, (TFTensor *)y}, 2);
}
/* What mica_tf_op_infer_types refused, as an exception: eagerly one of tf.errors, in a graph a
 * TypeError that names the arguments. Returns NULL. */
PyObject *tf_raise_dtypes(mica_tf_op op, const mica_tf_dtype *dtypes, int32_t n,
                          mica_status status);
void tf_default_attrs(const mica_tf_op_info *info, mica_tf_attr *attrs);
mica_device *tf_device(void); /* borrowed; NULL with an error */
extern PyMethodDef tf_execute_functions[];

/* ---- tf_graph.c, tf_files.c, tf_ops.c, tf_number.c, tf_dispatch.c -----------------------------*/

extern PyMethodDef tf_graph_functions[], tf_files_functions[], tf_peer_functions[],
    tf_dist_functions[];
extern PyMethodDef tf_records_functions[], tf_dispatch_functions[];
extern PyTypeObject TFReceived_Type, TFDispatched_Type;
PyObject *tf_wrap_graph(mica_tf_graph *graph); /* takes the reference */
/* As an object of a class of graphs, whose __init__ is not called. */
PyObject *tf_wrap_graph_as(PyTypeObject *type, mica_tf_graph *graph);
/* Of each None or (dtype, shape); MICA_TF_no_dtype for None. */
int tf_variables_from_list(PyObject *list, mica_tf_dtype *dtypes, mica_tf_shape *shapes);
int tf_ops_add_to(PyObject *module);
extern PyNumberMethods tf_number;
PyObject *tf_compare(PyObject *a, PyObject *b, int operation);

/* ---- tf_tape.c --------------------------------------------------------------------------------*/

/* Whether any tape or accumulator of this thread is on. */
bool tf_is_recording(void);
/* A function of Python that a graph calls is not recorded by the tapes of the graph's caller. */
typedef struct tf_tapes {
    void *tapes, *accumulators;
    int stopped, watchers;
} tf_tapes;
tf_tapes tf_hide_tapes(void);
void tf_show_tapes(tf_tapes hidden);
/* Tells them of an op that ran: -1 on error. `operation` is retained by those who keep it. */
int tf_record(mica_tf_operation *operation, TFTensor *const *inputs, int32_t n_inputs,
              PyObject *const *outputs, int32_t n_outputs);
extern PyMethodDef tf_tape_functions[];

int tf_add_to(PyObject *module);

/* ---- data.c -----------------------------------------------------------------------------------*/

/* A function of mica.data, whose number is below zero; with Python's lock. */
mica_status data_call(int64_t number, const mica_tf_value *inputs, int32_t n_inputs,
                      mica_tf_value *outputs, int32_t n_outputs);
int data_add_to(PyObject *module);

#endif
