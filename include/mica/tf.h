/* mica/tf.h: TensorFlow's ops and graphs.
 *
 * tf_ops.h has a number per TensorFlow op. An op runs by itself (mica_tf_eager) or becomes a node
 * of a graph, whose shapes may be partly unknown; a graph is a function, and running it lowers what
 * lies between host ops to graphs of primitives, once for each set of concrete sizes.
 *
 * A value is a dtype and a reference-counted object: a mica_tensor for numbers, else an object of
 * this header (strings, a variable, a list). Whoever gets a value from a call releases it.
 * A graph belongs to one thread while it is built; once it has run it does not change,
 * and any thread may run it.
 *
 * @example
 *     mica_tf_graph *g = NULL;
 *     mica_tf_shape any_vector = {.rank = 1, .dims = {-1}};
 *     mica_tf_ref x, y;
 *     mica_status status = mica_tf_graph_create("twice", &g);
 *     if (!status) status = mica_tf_graph_parameter(g, MICA_TF_float32, &any_vector, "x", &x);
 *     mica_tf_ref operands[2] = {x, x};
 *     if (!status) status = mica_tf_graph_add(g, MICA_TF_AddV2, NULL, operands, 2, "y", &y);
 *     if (!status) status = mica_tf_graph_output(g, y);
 *     mica_tf_graph_release(g);
 *     mica_status_release(status);
 * @end
 */
#ifndef MICA_TF_H
#define MICA_TF_H

#include "runtime.h"
#include "tf_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- dtypes, shapes ---------------------------------------------------------------------------*/

typedef enum mica_tf_dtype {
    MICA_TF_no_dtype = 0,
#define MICA_TF_DTYPE(name, number, core, meaning) MICA_TF_##name = number,
#include "tf_dtypes.def"
#undef MICA_TF_DTYPE
} mica_tf_dtype;

MICA_API const char *mica_tf_dtype_name(mica_tf_dtype dtype); /* "float32"; NULL: no such number */
/* The dtype of the tensors that hold it; MICA_DTYPE_COUNT for string, resource and variant. */
MICA_API mica_dtype mica_tf_dtype_core(mica_tf_dtype dtype);
MICA_API mica_tf_dtype mica_tf_dtype_of_core(mica_dtype dtype);

/* rank -1: not even the rank is known; a dim of -1 is unknown. */
typedef struct mica_tf_shape {
    int32_t rank;
    int64_t dims[MICA_MAX_RANK];
} mica_tf_shape;

/* ---- values -----------------------------------------------------------------------------------*/

typedef struct mica_tf_value {
    mica_tf_dtype dtype;
    void *object; /* NULL: no value */
} mica_tf_value;

MICA_API void mica_tf_value_retain(mica_tf_value value);
MICA_API void mica_tf_value_release(mica_tf_value value);
MICA_API void mica_tf_value_shape(mica_tf_value value, mica_tf_shape *out_shape);
/* Takes the tensor's reference. */
MICA_API mica_tf_value mica_tf_value_of(mica_tensor *tensor);

/* Strings: n = product of dims of them; bytes are copied. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_strings_create(mica_ints dims, const char *const *data,
                                                            const size_t *lengths,
                                                            mica_tf_value *out_value);
MICA_API int64_t mica_tf_strings_count(mica_tf_value strings);
/* Empty where there is no i-th. */
MICA_API const char *mica_tf_strings_get(mica_tf_value strings, int64_t i, size_t *out_length);

/* A variable: a cell that holds a value; its handle is of dtype resource. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_variable_create(const char *name, mica_tf_dtype dtype,
                                                             const mica_tf_shape *shape,
                                                             mica_tf_value *out_handle);
/* FAILED_PRECONDITION before the first assignment. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_variable_read(mica_tf_value handle,
                                                           mica_tf_value *out_value);
MICA_API MICA_MUST_CHECK mica_status mica_tf_variable_assign(mica_tf_value handle,
                                                             mica_tf_value value);
MICA_API bool mica_tf_variable_is_set(mica_tf_value handle);
MICA_API mica_tf_dtype mica_tf_variable_dtype(mica_tf_value handle);
/* Where its value is, borrowed; NULL: it has none, or it is no tensor's. */
MICA_API mica_device *mica_tf_variable_device(mica_tf_value handle);
MICA_API void mica_tf_variable_shape(mica_tf_value handle, mica_tf_shape *out_shape);
MICA_API const char *mica_tf_variable_name(mica_tf_value handle);

/* An object of another room as a value of dtype variant or resource: `release(object)` is called
 * with the last reference. `kind` is told apart by its address. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_object_value(mica_tf_dtype dtype, const char *kind,
                                                          void *object,
                                                          void (*release)(void *object),
                                                          mica_tf_value *out_value);
/* That object, when the value holds one of this kind; else NULL. */
MICA_API void *mica_tf_object_of(mica_tf_value value, const char *kind);

/* A tensor of variants: n = product of dims of single ones, which are retained. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_variants_create(mica_ints dims,
                                                             const mica_tf_value *elements,
                                                             mica_tf_value *out_value);
/* A single variant counts as a tensor of one. */
MICA_API int64_t mica_tf_variants_count(mica_tf_value variants);
/* Borrowed; without an object where there is no i-th. */
MICA_API mica_tf_value mica_tf_variants_get(mica_tf_value variants, int64_t i);

/* ---- the table --------------------------------------------------------------------------------*/

typedef enum mica_tf_attr_kind {
    MICA_TF_INT,
    MICA_TF_FLOAT,
    MICA_TF_BOOL,
    MICA_TF_STRING,
    MICA_TF_TYPE,
    MICA_TF_SHAPE,
    MICA_TF_TENSOR,
    MICA_TF_FUNCTION,
    MICA_TF_OPERATION, /* an op with its attributes: what Vjp and Jvp are of */
    MICA_TF_INTS,      /* lists */
    MICA_TF_FLOATS,
    MICA_TF_TYPES,
    MICA_TF_SHAPES,
    MICA_TF_STRINGS,
    MICA_TF_FUNCTIONS,
} mica_tf_attr_kind;

typedef struct mica_tf_graph mica_tf_graph;
typedef struct mica_tf_operation mica_tf_operation;

/* An attribute's value, by its kind; n counts the entries of a list, or a string's bytes. In
 * arguments everything is borrowed. */
typedef struct mica_tf_attr {
    int32_t n;
    union {
        int64_t integer; /* INT BOOL TYPE */
        double real;     /* FLOAT */
        const char *string;
        const int64_t *ints; /* INTS TYPES */
        const double *reals;
        const mica_tf_shape *shapes; /* SHAPE, SHAPES */
        const char *const *strings;
        mica_tf_value value; /* TENSOR */
        mica_tf_graph *function;
        mica_tf_graph *const *functions;
        mica_tf_operation *operation;
    } as;
} mica_tf_attr;

enum { MICA_TF_MAX_ARGUMENTS = 16, MICA_TF_MAX_ATTRS = 20 };

/* An input or output of a row. */
typedef struct mica_tf_argument {
    char name[40];
    int8_t dtype;      /* a mica_tf_dtype, or 0: */
    int8_t type_attr;  /* the attribute that says it, or -1 */
    int8_t count_attr; /* as many tensors as this INT attribute says, or -1; with a TYPES attribute
                          in type_attr, one for each of its dtypes */
} mica_tf_argument;

typedef struct mica_tf_attr_info {
    char name[40];
    mica_tf_attr_kind kind;
    bool has_default;
    bool is_inferred;    /* it follows from the inputs */
    uint32_t allowed;    /* TYPE, TYPES: a bit per dtype number */
    mica_tf_attr value;  /* the default */
    char text[24];       /* of a STRING's default */
    const char *choices; /* STRING: the values it may have, as the row has them; NULL: any */
} mica_tf_attr_info;

/* What an op is to those that walk over graphs. */
typedef enum mica_tf_category {
    MICA_TF_CATEGORY_PLAIN,
    MICA_TF_CATEGORY_SAME,     /* its results are its inputs */
    MICA_TF_CATEGORY_OF_SHAPE, /* the result follows from the shape of input 0 alone */
    MICA_TF_CATEGORY_CALL,
    MICA_TF_CATEGORY_BRANCH, /* input 0 chooses one of several functions, the others go to it */
    MICA_TF_CATEGORY_LOOP,
    MICA_TF_CATEGORY_READ, /* of a variable */
    MICA_TF_CATEGORY_ASSIGN,
    MICA_TF_CATEGORY_DERIVATIVE /* of the operation that is its first attribute */
} mica_tf_category;

/* What another process may have run here. */
typedef enum mica_tf_remote {
    MICA_TF_REMOTE_NONE,    /* not this op: it may touch files, processes or functions */
    MICA_TF_REMOTE_VALUES,  /* of tensors with elements */
    MICA_TF_REMOTE_VARIABLE /* its first input is a variable, the others have elements */
} mica_tf_remote;

typedef struct mica_tf_op_info {
    const char *name, *inputs_text, *outputs_text, *attrs_text;
    const char
        *roles; /* a character per input, the last for all that follow; see src/tf/ops/rows.def */
    const char *meaning;
    int32_t n_inputs, n_outputs, n_attrs;
    bool has_effect; /* its nodes run in the order of the program, and are never left out */
    bool is_host;    /* a function of C: no part of a segment */
    mica_tf_remote remote;
    mica_tf_category category;
    const char *axis;    /* the input or attribute that TensorFlow's Python calls axis, or NULL */
    const char *no_file; /* what it is in words, where files have no form for it, else NULL */
    mica_tf_argument inputs[MICA_TF_MAX_ARGUMENTS], outputs[MICA_TF_MAX_ARGUMENTS];
    mica_tf_attr_info attrs[MICA_TF_MAX_ATTRS];
} mica_tf_op_info;

MICA_API const mica_tf_op_info *mica_tf_op_describe(mica_tf_op op); /* NULL outside the table */
MICA_API bool mica_tf_op_parse(const char *name, mica_tf_op *out_op);

/* Checks the number and dtypes of inputs against the row and fills the attributes that follow from
 * them. attrs has a place per attribute of the row. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_op_infer_types(mica_tf_op op,
                                                            const mica_tf_dtype *inputs, int32_t n,
                                                            mica_tf_attr *attrs);

/* ---- operations: an op and its attributes, kept -----------------------------------------------*/

MICA_API MICA_MUST_CHECK mica_status mica_tf_operation_create(mica_tf_op op,
                                                              const mica_tf_attr *attrs,
                                                              mica_tf_operation **out_operation);
MICA_API void mica_tf_operation_retain(mica_tf_operation *operation);
MICA_API void mica_tf_operation_release(mica_tf_operation *operation);
MICA_API mica_tf_op mica_tf_operation_op(const mica_tf_operation *operation);
MICA_API const mica_tf_attr *mica_tf_operation_attrs(const mica_tf_operation *operation);
/* The role of input i, a letter of the column in src/tf/ops/rows.def. */
MICA_API char mica_tf_operation_role(const mica_tf_operation *operation, int32_t i);

/* ---- running one op ---------------------------------------------------------------------------*/

/* Fills out_outputs, which has room for `capacity` values, and says how many there are. Tensors
 * are moved to the device where they are not on it (MICA_LOG=transfer shows each move); an op on a
 * variable runs on the device of the variable's value. out_operation (may be NULL) receives the
 * operation, retained. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_eager(mica_device *device, mica_tf_op op,
                                                   const mica_tf_attr *attrs,
                                                   const mica_tf_value *inputs, int32_t n_inputs,
                                                   mica_tf_value *out_outputs, int32_t capacity,
                                                   int32_t *out_n,
                                                   mica_tf_operation **out_operation);
/* A short way for small operands: runs what mica_tf_eager has run before for operands of these
 * types, with the attributes that a call without any has. False, and nothing has happened, where
 * nothing is kept for them (ops with an effect, with more than MICA_TF_MOST_PLAIN inputs or with
 * inputs read on the host never are), the device is busy, or a tape records: call mica_tf_eager. */
#define MICA_TF_MOST_PLAIN 4
MICA_API bool mica_tf_eager_again(mica_device *device, mica_tf_op op, const mica_tf_value *inputs,
                                  int32_t n_inputs, mica_tf_value *out_output,
                                  mica_status *out_status);
/* Starts the generators of random ops that run by themselves anew: after another seed was set. */
MICA_API void mica_tf_random_reset(void);

/* Generators of their own for the random ops of graphs that run while the set is entered: each op
 * starts anew in a new set. Safe for several threads. */
typedef struct mica_tf_generators mica_tf_generators;
MICA_API MICA_MUST_CHECK mica_status mica_tf_generators_create(mica_tf_generators **out_generators);
MICA_API void mica_tf_generators_retain(mica_tf_generators *generators);
MICA_API void mica_tf_generators_release(mica_tf_generators *generators);
/* Makes the set (NULL: none) this thread's and returns the one before. */
MICA_API mica_tf_generators *mica_tf_generators_enter(mica_tf_generators *generators);
/* What the next runs of the function draw, one after the other, as a set of its own: `generators`
 * moves on as if they had happened, so that they may happen at any time. For functions of order
 * MICA_TF_DRAWS. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_generators_take(mica_tf_generators *generators,
                                                             const mica_tf_graph *function,
                                                             int64_t runs,
                                                             mica_tf_generators **out_taken);
/* Where the random ops of a function are in their streams: out_n words, of which the first
 * `capacity` are written. FAILED_PRECONDITION for a function of order MICA_TF_IN_ORDER, which has
 * state elsewhere. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_generators_save(mica_tf_generators *generators,
                                                             const mica_tf_graph *function,
                                                             uint32_t *out_words, int32_t capacity,
                                                             int32_t *out_n);
/* The set goes on from there. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_generators_restore(mica_tf_generators *generators,
                                                                const mica_tf_graph *function,
                                                                const uint32_t *words, int32_t n);
/* Forgets what eager ops have compiled. */
MICA_API void mica_tf_eager_clear(void);

/* ---- graphs -----------------------------------------------------------------------------------*/

typedef struct mica_tf_ref {
    int32_t node, index; /* the index-th result of a node */
} mica_tf_ref;

MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_create(const char *name,
                                                          mica_tf_graph **out_graph);
MICA_API void mica_tf_graph_retain(mica_tf_graph *g);
MICA_API void mica_tf_graph_release(mica_tf_graph *g);
MICA_API const char *mica_tf_graph_name(const mica_tf_graph *g);
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_parameter(mica_tf_graph *g, mica_tf_dtype dtype,
                                                             const mica_tf_shape *shape,
                                                             const char *name,
                                                             mica_tf_ref *out_ref);
/* Appends a node; out_first is its result 0 (the node's number, when it has none). A name that is
 * taken gets a number; NULL: the op's. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_add(mica_tf_graph *g, mica_tf_op op,
                                                       const mica_tf_attr *attrs,
                                                       const mica_tf_ref *inputs, int32_t n_inputs,
                                                       const char *name, mica_tf_ref *out_first);
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_output(mica_tf_graph *g, mica_tf_ref ref);
MICA_API int32_t mica_tf_graph_parameter_count(const mica_tf_graph *g);
MICA_API int32_t mica_tf_graph_output_count(const mica_tf_graph *g);
MICA_API mica_tf_ref mica_tf_graph_parameter_ref(const mica_tf_graph *g, int32_t i);
MICA_API mica_tf_ref mica_tf_graph_output_ref(const mica_tf_graph *g, int32_t i);
MICA_API int32_t mica_tf_graph_node_count(const mica_tf_graph *g);
/* The operation of a node; NULL for a parameter. */
MICA_API mica_tf_operation *mica_tf_graph_operation(const mica_tf_graph *g, int32_t node);
MICA_API const char *mica_tf_graph_node_name(const mica_tf_graph *g, int32_t node);
MICA_API int32_t mica_tf_graph_inputs(const mica_tf_graph *g, int32_t node,
                                      const mica_tf_ref **out_inputs);
MICA_API int32_t mica_tf_graph_result_count(const mica_tf_graph *g, int32_t node);
MICA_API mica_tf_dtype mica_tf_graph_type(const mica_tf_graph *g, mica_tf_ref ref,
                                          mica_tf_shape *out_shape);
/* What is known from elsewhere about a result's shape; it must agree with what is known already. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_set_shape(mica_tf_graph *g, mica_tf_ref ref,
                                                             const mica_tf_shape *shape);
/* The value of an integer tensor as far as it follows from constants and known sizes: its elements,
 * MICA_TF_UNKNOWN_INT where unknown. false when not even their number is known, or it is above 64:
 * out_ints has room for that many. */
#define MICA_TF_UNKNOWN_INT INT64_MIN
MICA_API bool mica_tf_graph_ints(const mica_tf_graph *g, mica_tf_ref ref, int64_t *out_ints,
                                 int32_t *out_n);
/* The nodes, one per line; free with mica_string_free. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_print(const mica_tf_graph *g, char **out_text);
/* Whether running it may do more than compute its outputs. */
MICA_API bool mica_tf_graph_has_effects(const mica_tf_graph *g);
/* What runs of a function may be arranged by. */
typedef enum mica_tf_order {
    MICA_TF_ANY_ORDER, /* results follow from the arguments and from what is read */
    MICA_TF_DRAWS,     /* and from random numbers, the same count in each run */
    MICA_TF_IN_ORDER, /* effects, calls of the host language, random numbers in branches or loops */
} mica_tf_order;
MICA_API mica_tf_order mica_tf_graph_order(const mica_tf_graph *g);
/* Whether it can be a region: nothing in it has to run on the host. Ask when it is complete. */
MICA_API bool mica_tf_graph_is_lowered(mica_tf_graph *g);
/* Segments a run passes through, and the nodes of segment i (0 past the end). */
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_segments(mica_tf_graph *g, int32_t *out_n);
MICA_API int32_t mica_tf_graph_segment_size(const mica_tf_graph *g, int32_t i);

/* The steps of a run, segments as MLCSubgraphOp nodes with their ops, and the programs made so far;
 * free with mica_string_free. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_describe(mica_tf_graph *g, char **out_text);

/* The primitives of a function that is one segment, for the sizes of its last new program, for
 * mica_graph_write_c. Inputs are its arguments and the values of its variables, outputs its results
 * and the new values of variables; out_notes has a line " *     inputs[i]  name" for each. Programs
 * keep their graphs from mica_tf_keep_graphs(true) on. FAILED_PRECONDITION where there is none;
 * UNSUPPORTED where a part runs on the host, draws from a generator or checks indices. */
MICA_API void mica_tf_keep_graphs(bool keeps);
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_lowered(mica_tf_graph *g, mica_graph **out_graph,
                                                           char **out_notes);

/* Programs of all segments: one for each combination of sizes that was run lately. The one used
 * longest ago makes room for a new one, in its segment and in the process. */
typedef struct mica_tf_program_counts {
    size_t size; /* of this struct */
    int64_t held, most, most_of_segment;
    int64_t made, evicted; /* since the process began */
} mica_tf_program_counts;
MICA_API void mica_tf_count_programs(mica_tf_program_counts *out_counts);
/* Both at least 1. A segment that holds more keeps them until its next new one. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_set_program_limits(int32_t most,
                                                                int32_t most_of_segment);

/* Receives a line for every op that runs by itself; NULL: none. */
MICA_API void mica_tf_set_log(void (*log)(void *context, const char *line), void *context);

/* The first run of each segment waits for the compiler, as jit_compile=True asks for; that of the
 * functions in it too. Other sizes run at once and are compiled meanwhile. */
MICA_API void mica_tf_graph_set_compiled(mica_tf_graph *g);
MICA_API bool mica_tf_graph_is_compiled(const mica_tf_graph *g);

/* Runs the function. From now on the graph does not change. Arguments and the values of variables
 * are moved to the device where they are not on it; variables stay there. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_run(mica_tf_graph *g, mica_device *device,
                                                       const mica_tf_value *inputs,
                                                       int32_t n_inputs, mica_tf_value *out_outputs,
                                                       int32_t n_outputs);

/* The function's gradient with respect to the wanted parameters (a flag for each), as two
 * functions. `forward` is g with residuals as further outputs; `backward` takes the cotangents of
 * g's outputs of float or variant dtype, then the residuals, and gives the gradient of each
 * parameter that is wanted and connected; a handle's is that of its variable. out_connected: 0, 1,
 * or 1 + n where n gathers along the first axis alone lead to the parameter: in place of its
 * gradient there are then, for each of them, the cotangent of what was gathered and the indices. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_backward(mica_tf_graph *g, const uint8_t *wanted,
                                                            uint8_t *out_connected,
                                                            mica_tf_graph **out_forward,
                                                            mica_tf_graph **out_backward);
/* Of what a gradient is: targets, each weighed with a cotangent, with respect to sources; nothing
 * flows back through what is held. */
typedef struct mica_tf_gradient_of {
    const mica_tf_ref *targets, *cotangents;
    int32_t n_targets;
    const mica_tf_ref *sources;
    int32_t n_sources;
    const mica_tf_ref *held;
    int32_t n_held;
} mica_tf_gradient_of;
/* Adds the nodes of a gradient to the graph; one result per source, node -1 without a connection.
 */
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_gradients(mica_tf_graph *g,
                                                             const mica_tf_gradient_of *of,
                                                             mica_tf_ref *out_gradients);
/* The value of one result of a graph that is being built, computed now. Parameters without an
 * object are unknown; FAILED_PRECONDITION when it depends on one, or, with `is_constant`, on what
 * can be another value the next time: a variable, random numbers, anything with an effect. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_evaluate(const mica_tf_graph *g,
                                                            mica_device *device, mica_tf_ref ref,
                                                            const mica_tf_value *parameters,
                                                            bool is_constant,
                                                            mica_tf_value *out_value);

/* ---- functions made of a graph ----------------------------------------------------------------*/

/* The nodes from `first` on, below `end`, run after node `before`, which stands in front of them.
 */
typedef struct mica_tf_control {
    int32_t first, end, before;
} mica_tf_control;

typedef struct mica_tf_pruning {
    const mica_tf_ref *feeds; /* given when it runs, in place of what the graph computes */
    int32_t n_feeds;
    const mica_tf_ref *fetches;
    int32_t n_fetches;
    const int32_t *targets; /* nodes that run, with or without results */
    int32_t n_targets;
    const mica_tf_control *controls;
    int32_t n_controls;
} mica_tf_pruning;

/* What the fetches and targets need, as a function: its parameters are the feeds, then those of the
 * graph that are needed and not fed, whose nodes out_parameters gets (room for all of the graph's);
 * its results are the fetches. Effects that nothing asks for are left out. Operations are shared
 * with the graph, which may grow on. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_prune(const mica_tf_graph *g,
                                                         const mica_tf_pruning *of,
                                                         int32_t *out_parameters, int32_t *out_n,
                                                         mica_tf_graph **out_graph);
/* The function with the values of variables in place of their handles: parameter i is a variable of
 * dtypes[i] and shapes[i] (no_dtype: it stays what it is). After its results it gives what each
 * variable is in the end. UNSUPPORTED where a branch or loop takes a handle. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_graph_functional(const mica_tf_graph *g,
                                                              const mica_tf_dtype *dtypes,
                                                              const mica_tf_shape *shapes,
                                                              mica_tf_graph **out_graph);

/* ---- what the front end provides
 * ---------------------------------------------------------------*/

/* Where Print writes: "stdout", "stderr", "log(info)", ... or a file's path after "file://". */
MICA_API void mica_tf_set_print(void (*print)(void *context, const char *stream, const char *text,
                                              size_t n),
                                void *context);
/* Functions of the host language, for PyFunc and its like: called with the number that the node
 * carries. It fills n_outputs values. */
typedef mica_status (*mica_tf_host_call)(void *context, int64_t function,
                                         const mica_tf_value *inputs, int32_t n_inputs,
                                         mica_tf_value *outputs, int32_t n_outputs);
MICA_API void mica_tf_set_host_call(mica_tf_host_call call, void *context);
/* A number for such a function, above 0. It is held by its creator until
 * mica_tf_host_function_release, and by each operation of a graph that carries it. After the last
 * of them destroy(context) is called, once, by the thread that let go last: it may be any. Numbers
 * that were not made so (negative ones are free to use) are not counted. */
MICA_API MICA_MUST_CHECK mica_status mica_tf_host_function_create(void (*destroy)(void *context),
                                                                  void *context,
                                                                  int64_t *out_number);
MICA_API void mica_tf_host_function_release(int64_t number); /* by its creator */
/* What it was made with; NULL: there is no such function (any more). */
MICA_API void *mica_tf_host_function_context(int64_t number);
MICA_API int32_t mica_tf_host_function_count(void); /* how many there are */
/* The functions that a graph and those it refers to carry: found(context, number) for each
 * operation. */
MICA_API void mica_tf_graph_host_functions(mica_tf_graph *g,
                                           void (*found)(void *context, int64_t function),
                                           void *context);
/* For garbage collectors of a host language whose objects hold graphs, which hold functions, which
 * hold such objects. Of graphs, one entry for each reference that these objects hold: finds which
 * functions are held by operations that nothing else reaches. Then those are asked for by number;
 * for as long as no other reference to the graphs is taken, the answer stays true. */
MICA_API void mica_tf_graphs_close(mica_tf_graph *const *graphs, int32_t n);
MICA_API bool mica_tf_host_function_is_closed(int64_t number);

#ifdef __cplusplus
}
#endif
#endif
