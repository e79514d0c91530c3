/* tf/: TensorFlow's graphs. See mica/tf.h for the contract.
 *
 * One op, one row of an ops/<family>/rows.def: it names a shape function (partial shapes in,
 * partial shapes out), and a lowering (concrete values of a graph of primitives in and out) or a
 * host function (values in and out). Everything that needs to look at a row's text reads it through
 * table.c.
 *
 * A graph's nodes stand in the order of the program, which is the order of their effects. segment.c
 * cuts them into steps: segments, which are lowered as a whole for given sizes, and host ops.
 * The room stands on include/mica, base and text alone. */
#ifndef MICA_TF_TF_H
#define MICA_TF_TF_H

#include "base/arena.h"
#include "base/memory.h"
#include "base/platform.h"
#include "base/status.h"
#include "mica/tf.h"
#include "mica/transform.h"

/* ---- objects that are values without being tensors --------------------------------------------*/

typedef struct mica_tf_object mica_tf_object;

typedef struct mica_tf_class {
    const char *name;
    void (*destroy)(mica_tf_object *object);
    void (*shape)(const mica_tf_object *object, mica_tf_shape *out); /* NULL: a scalar */
} mica_tf_class;

struct mica_tf_object {
    mica_refcount references;
    const mica_tf_class *kind;
};

static inline mica_tensor *mica_tf_tensor(mica_tf_value value) {
    return value.object;
}
static inline bool mica_tf_is_core(mica_tf_dtype dtype) {
    return mica_tf_dtype_core(dtype) != MICA_DTYPE_COUNT;
}
/* How TensorFlow's messages call a dtype: float, double, half, int32. */
const char *mica_tf_dtype_text(mica_tf_dtype dtype);

/* The elements of an integer tensor, waited for; false when there are more than `capacity`. */
MICA_MUST_CHECK mica_status mica_tf_tensor_ints(mica_tensor *tensor, int64_t *out, int32_t capacity,
                                                int32_t *out_n);
/* A scalar of any real dtype, as a double. */
MICA_MUST_CHECK mica_status mica_tf_tensor_double(mica_tensor *tensor, double *out);
double mica_tf_half_value(uint16_t bits, bool is_bf16);
/* A vector (rank 1) or scalar (rank 0) of i32 or i64. */
/* The value where it is needed: itself, retained, or a copy. What is no tensor stays where it is.
 */
MICA_MUST_CHECK mica_status mica_tf_value_move(mica_tf_value value, mica_device *device,
                                               mica_tf_value *out_value);
static inline bool mica_tf_value_is_on(mica_tf_value value, const mica_device *device) {
    return !mica_tf_is_core(value.dtype) || !value.object ||
           mica_tensor_device(value.object) == device;
}
MICA_MUST_CHECK mica_status mica_tf_ints_tensor(mica_device *device, mica_dtype dtype,
                                                const int64_t *ints, int32_t n, int32_t rank,
                                                mica_tensor **out_tensor);

/* ---- variables --------------------------------------------------------------------------------*/

extern const mica_tf_class mica_tf_variable_class;
/* One lock orders all that read or replace variables' values. */
void mica_tf_variables_lock(void);
void mica_tf_variables_unlock(void);
/* With the lock held. Borrowed; the object is NULL before the first assignment. */
mica_tf_value *mica_tf_variable_cell(mica_tf_value handle);
MICA_MUST_CHECK mica_status mica_tf_variable_check(mica_tf_value handle, mica_tf_dtype dtype,
                                                   const mica_tf_shape *shape);

/* ---- shapes -----------------------------------------------------------------------------------*/

typedef struct mica_tf_text {
    char chars[300];
} mica_tf_text;

mica_tf_text mica_tf_shape_text(const mica_tf_shape *shape); /* "[2,?]", "<unknown>" */
static inline mica_tf_shape mica_tf_unknown(void) {
    return (mica_tf_shape){.rank = -1};
}
/* Of unknown rank too where a rank above MICA_MAX_RANK is asked for: no array is written beyond. */
mica_tf_shape mica_tf_unknown_of_rank(int32_t rank);
mica_tf_shape mica_tf_shape_of(const mica_type *type);
bool mica_tf_shape_is_known(const mica_tf_shape *shape);
bool mica_tf_shape_equal(const mica_tf_shape *a, const mica_tf_shape *b);
/* -1 when unknown; INT64_MAX when there are more. */
int64_t mica_tf_shape_elements(const mica_tf_shape *shape);
/* Sums and products of sizes and places, INT64_MIN or INT64_MAX where they are beyond: such a
 * number is none of a size, and is refused where it becomes one. */
static inline int64_t mica_tf_plus(int64_t a, int64_t b) {
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return a < 0 ? INT64_MIN + 1 : INT64_MAX;
}
static inline int64_t mica_tf_times(int64_t a, int64_t b) {
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    return (a < 0) != (b < 0) ? INT64_MIN + 1 : INT64_MAX;
}
/* What both say; false when they contradict each other. */
bool mica_tf_shape_merge(const mica_tf_shape *a, const mica_tf_shape *b, mica_tf_shape *out);
/* What holds for either. */
mica_tf_shape mica_tf_shape_join(const mica_tf_shape *a, const mica_tf_shape *b);
bool mica_tf_shape_broadcast(const mica_tf_shape *a, const mica_tf_shape *b, mica_tf_shape *out);

/* ---- attributes, operations -------------------------------------------------------------------*/

typedef struct mica_tf_philox mica_tf_philox;

/* What a walk over graphs has found out: host_functions.c. */
typedef struct mica_tf_mark {
    int64_t walk; /* the number of the walk that it is of */
    int32_t references;
    bool is_open;
} mica_tf_mark;

struct mica_tf_operation {
    mica_refcount references;
    mica_tf_op op;
    uint64_t hash;
    const mica_tf_op_info *info;
    mica_tf_attr *attrs;
    mica_arena arena;
    mica_tf_philox *philox; /* the generator of a random op in a graph; NULL: not drawn yet */
    mica_tf_graph *apart;   /* of a derivative that ran on the host: the function of it */
    mica_tf_mark mark;      /* this and what follows: host_functions.c */
    mica_tf_operation *next_found;
};

uint64_t mica_tf_attrs_hash(mica_tf_op op, const mica_tf_attr *attrs);
bool mica_tf_attrs_equal(const mica_tf_op_info *info, const mica_tf_attr *a, const mica_tf_attr *b);
/* Of a PyFunc operation: the number of its function. */
int64_t mica_tf_host_function_of(const mica_tf_operation *operation);
/* Of a function that lives: one holder more, one less. Of an unknown number: nothing. */
void mica_tf_host_function_hold(int64_t number);
void mica_tf_host_function_drop(int64_t number);
/* By name; a row's own attribute, so it is there. */
const mica_tf_attr *mica_tf_attr_find(const mica_tf_op_info *info, const mica_tf_attr *attrs,
                                      const char *name);
/* The row's argument that input i belongs to; NULL: there is none. */
const mica_tf_argument *mica_tf_argument_of(const mica_tf_operation *operation, int32_t i);
/* Whether the row lets input i have this dtype. */
MICA_MUST_CHECK mica_status mica_tf_check_input(const mica_tf_operation *operation, int32_t i,
                                                mica_tf_dtype dtype);
/* Results of an op with these attributes; the count, or -1 when there are more than capacity. */
int32_t mica_tf_output_dtypes(const mica_tf_op_info *info, const mica_tf_attr *attrs,
                              mica_tf_dtype *out, int32_t capacity);

enum { MICA_TF_MAX_VALUES = 8192 };

/* ---- shape functions --------------------------------------------------------------------------*/

typedef struct mica_tf_inference {
    const mica_tf_op_info *info;
    const mica_tf_attr *attrs;
    int32_t n_inputs, n_outputs;
    const mica_tf_dtype *dtypes; /* of the inputs */
    const mica_tf_shape *inputs;
    mica_tf_shape *outputs;     /* of unknown rank when the function begins */
    const mica_tf_graph *graph; /* where `refs` are, or NULL: */
    const mica_tf_ref *refs;
    const mica_tf_value *values; /* the inputs themselves */
} mica_tf_inference;

typedef mica_status (*mica_tf_shape_function)(mica_tf_inference *c);
/* Numbers that are known: INT64_MIN, which stands for one that is not, becomes the next above it,
 * as far out of any range. */
static inline void mica_tf_as_known(int64_t *ints, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (ints[i] == MICA_TF_UNKNOWN_INT) ints[i]++;
}
/* As mica_tf_graph_ints for an input. */
bool mica_tf_input_ints(const mica_tf_inference *c, int32_t i, int64_t *out_ints, int32_t *out_n);
/* The same, and every element is known. */
bool mica_tf_input_known(const mica_tf_inference *c, int32_t i, int64_t *out_ints, int32_t *out_n);
/* An operand that must be one number; *out_known is false where it is not known yet. */
MICA_MUST_CHECK mica_status mica_tf_input_number(const mica_tf_inference *c, int32_t i,
                                                 int64_t *out, bool *out_known);
int64_t mica_tf_inference_int(const mica_tf_inference *c, const char *name);
/* The row's shape function, and what holds for every result: its rank is at most MICA_MAX_RANK, no
 * size is negative, and its elements can be counted. */
MICA_MUST_CHECK mica_status mica_tf_infer(mica_tf_inference *c, mica_tf_op op);
/* axis (maybe negative) within rank. */
/* How many numbers from start on, delta apart, lie before limit; delta is not 0. */
int64_t mica_tf_range_length(int64_t start, int64_t limit, int64_t delta);
MICA_MUST_CHECK mica_status mica_tf_axis(const char *op, int64_t axis, int32_t rank, int32_t *out);
/* What StridedSlice selects, axis by axis; shared by its shape function and its lowering. */
typedef struct mica_tf_slice {
    int32_t rank;                                                             /* of the input */
    int64_t begin[MICA_MAX_RANK], stride[MICA_MAX_RANK], size[MICA_MAX_RANK]; /* -1: unknown */
    mica_tf_shape result;
} mica_tf_slice;
MICA_MUST_CHECK mica_status mica_tf_slice_make(const mica_tf_shape *input, const int64_t *begin,
                                               const int64_t *end, const int64_t *strides,
                                               int32_t n, const int64_t masks[5],
                                               mica_tf_slice *out);

/* ---- graphs -----------------------------------------------------------------------------------*/

typedef struct mica_tf_node {
    mica_tf_operation *operation; /* NULL: a parameter */
    int32_t n_inputs, n_results;
    int32_t first; /* number of its result 0 among all results of the graph */
    mica_tf_ref *inputs;
    mica_tf_dtype *dtypes;
    mica_tf_shape *shapes;
    const char *name;
    const char *place; /* the caller's "file:line" that it was made by, or NULL (places.c) */
    int32_t line;      /* of the caller's program, while a report is asked for (report/) */
} mica_tf_node;

/* Integers that follow from constants and known sizes while a graph is built (partial.c): what is
 * known of a node's first result. out has room for MICA_TF_MOST_KNOWN; an element that is not known
 * is MICA_TF_UNKNOWN_INT. */
enum { MICA_TF_MOST_KNOWN = 64 };
typedef bool (*mica_tf_ints_function)(const mica_tf_graph *g, const mica_tf_node *node,
                                      int64_t *out, int32_t *n, int depth);
bool mica_tf_known_ints(const mica_tf_graph *g, mica_tf_ref ref, int64_t *out, int32_t *n,
                        int depth);

typedef struct mica_tf_steps mica_tf_steps;

/* Functions inside functions, and the nodes of a graph with all of them written out: bounds of what
 * lowering and differentiation make, which enter a function once for each node that refers to it.
 */
#define MICA_TF_MAX_DEPTH 200
#define MICA_TF_MAX_NODES_INSIDE (1 << 21)

struct mica_tf_graph {
    mica_refcount references;
    mica_arena arena;
    const char *name;
    mica_tf_node *nodes;
    int32_t n_nodes, nodes_capacity, n_results, names_capacity;
    struct mica_tf_name *names; /* graph.c */
    mica_tf_ref *parameters, *outputs;
    int32_t n_parameters, parameters_capacity, n_outputs, outputs_capacity;
    int32_t depth;        /* how deep functions nest in it; at most MICA_TF_MAX_DEPTH */
    int64_t n_inside;     /* nodes of all functions, each written out where a node refers to it */
    mica_mutex lock;      /* of what follows */
    mica_tf_steps *steps; /* made when it first runs */
    int8_t lowers;        /* mica_tf_graph_lowers' answer + 1; 0: not asked yet */
    bool is_compiled;     /* the first run of a segment waits for the compiler */
    bool has_host_functions; /* a node, or a function that one refers to, calls the host language */
    mica_tf_mark mark;       /* this and what follows: host_functions.c */
    mica_tf_graph *next_found;
};

static inline mica_tf_node *mica_tf_node_of(const mica_tf_graph *g, mica_tf_ref ref) {
    return &g->nodes[ref.node];
}
static inline int32_t mica_tf_slot(const mica_tf_graph *g, mica_tf_ref ref) {
    return g->nodes[ref.node].first + ref.index;
}
/* Whether the values of the inputs with role o need not be known: each entry of a slice's begin and
 * end that is not known (through `g`, when it is given) selects one element of its axis. */
bool mica_tf_is_dynamic(const mica_tf_graph *g, const mica_tf_operation *operation,
                        const mica_tf_ref *inputs);
/* The op that Vjp and Jvp are of, at the bottom. */
const mica_tf_operation *mica_tf_innermost(const mica_tf_operation *operation);
/* Whether input i's value must be known before the node can be lowered; foldable by node. */
bool mica_tf_needs_value(const mica_tf_graph *g, const mica_tf_node *node, int32_t i,
                         const bool *foldable);
/* A node of another graph once more; `map`: what stands here for each slot there. */
MICA_MUST_CHECK mica_status mica_tf_graph_append(mica_tf_graph *g, const mica_tf_node *of,
                                                 const mica_tf_graph *from, const mica_tf_ref *map,
                                                 mica_tf_ref *out_first);
/* A place's text in the graph's arena; the place that runs now (NULL: not known). */
MICA_MUST_CHECK mica_status mica_tf_place_keep(mica_tf_graph *g, const char *place,
                                               const char **out_place);
MICA_MUST_CHECK mica_status mica_tf_place_find(mica_tf_graph *g, const char **out_place);
/* The error of a run with the node that it came up in; an inner function has named its own. Keeps
 * what is no fault of a node: no memory, an exception of the caller's, an interrupt. */
MICA_MUST_CHECK mica_status mica_tf_status_at(mica_status status, const char *name,
                                              const char *place);
/* flags[i]: node i is reached from the outputs or has an effect. */
void mica_tf_find_needed(const mica_tf_graph *g, bool *flags);
/* flags[i]: node i's results follow from constants and shapes. */
void mica_tf_find_foldable(const mica_tf_graph *g, bool *flags);
/* Whether the whole graph can be part of a segment: no host op, no shape operand that does not
 * fold. A region must not assign variables. */
typedef enum mica_tf_lowers {
    MICA_TF_STAYS_HOST,
    MICA_TF_LOWERS_ASSIGNING,
    MICA_TF_LOWERS
} mica_tf_lowers;
mica_tf_lowers mica_tf_graph_lowers(mica_tf_graph *g);
/* The same for a node with its bodies, without looking at its shape operands. */
mica_tf_lowers mica_tf_node_lowers(const mica_tf_node *node);
mica_tf_lowers mica_tf_operation_lowers(const mica_tf_operation *operation);
/* TF_DISABLE_MLC=1: op by op, on built-in kernels. */
bool mica_tf_is_disabled(void);
void mica_tf_steps_destroy(mica_tf_steps *steps);

/* ---- lowering ---------------------------------------------------------------------------------*/

typedef struct mica_tf_session mica_tf_session;
typedef struct mica_tf_check mica_tf_check;
typedef struct mica_tf_frame mica_tf_frame;

/* One op being lowered. `inputs` are null values where an input is a handle, which only rows have
 * whose dtypes name resource. */
typedef struct mica_tf_lowering {
    mica_graph *g;
    mica_tf_operation *operation;
    const mica_tf_op_info *info;
    const mica_tf_attr *attrs;
    int32_t n_inputs, n_outputs;
    const mica_value *inputs;
    mica_value *outputs;
    mica_tensor *const *constants; /* the value of inputs with role s */
    const int32_t *variables;      /* the session's number of an input that is a handle, else -1 */
    mica_tf_session *session;
    mica_tf_frame *frame; /* where `refs`, the inputs, are; or NULL */
    const mica_tf_ref *refs;
    const mica_tf_shape *shapes; /* of the results, as the shape function sees them now */
} mica_tf_lowering;

typedef void (*mica_tf_lower_function)(mica_tf_lowering *c);
/* The only caller of lowerings (lower.c). The row's shape function runs first, with the types and
 * values that are known now, so that a lowering never indexes by an unbounded number;
 * afterwards the results must have the dtypes and shapes that it promised. Errors stick to c->g. */
void mica_tf_lower(mica_tf_lowering *c);
/* Appends an op that was lowered to what mica_tf_recall finds. */
void mica_tf_remember(const mica_tf_lowering *c);

#define MICA_TF_FAIL(c, ...) mica_graph_fail((c)->g, MICA_INVALID(__VA_ARGS__))
static inline const mica_type *mica_tf_type(const mica_tf_lowering *c, int32_t i) {
    return mica_value_type(c->inputs[i]);
}
int64_t mica_tf_lowering_int(const mica_tf_lowering *c, const char *name);
const char *mica_tf_lowering_string(const mica_tf_lowering *c, const char *name);
/* The elements of an input with role s. false with a sticky error. */
bool mica_tf_constant_ints(mica_tf_lowering *c, int32_t i, int64_t *out, int32_t *out_n);
/* x with an element of zeros along the axes from `first` on that have none where a window of
 * `sizes` has one: what is gathered there, if anything, is zeros. */
mica_value mica_tf_with_room(mica_tf_lowering *c, mica_value x, const int64_t *sizes,
                             int32_t first);
/* The shape function's answer for what is being lowered, all known; false with a sticky error. */
bool mica_tf_result_dims(mica_tf_lowering *c, mica_tf_shape *out);

/* A session lowers nodes of one or more tf graphs into one graph of primitives, and into regions of
 * it. It knows the values of variables as they are at the point that has been reached. */
typedef struct mica_tf_variable_slot {
    mica_value value; /* null: not set yet */
    bool written;
} mica_tf_variable_slot;

/* A random op of the segment; its generator's state is an input of the executable. */
typedef struct mica_tf_random_slot {
    struct mica_tf_random_slot *next; /* in the order of inputs */
    mica_tf_operation *operation;
    int64_t elements;
    int64_t runs; /* 0: key and counter of one draw, u32[6]; else of so many draws, u32[runs, 6] */
} mica_tf_random_slot;

/* Draws of a function that a Vmap runs: slots for one slice, parameters of its region. */
typedef struct mica_tf_slice_draws {
    const mica_graph *region;
    mica_tf_random_slot *first;
    int32_t n;
} mica_tf_slice_draws;

enum { MICA_TF_MEMO_BUCKETS = 512 };

struct mica_tf_session {
    mica_arena arena;
    mica_device *device;
    mica_tf_variable_slot *variables;
    int32_t n_variables;
    mica_tf_random_slot *randoms;
    int32_t n_randoms;
    mica_tf_slice_draws *slice; /* NULL: no Vmap is being lowered */
    bool checks_bounds;         /* of values that TensorFlow refuses */
    mica_tf_check *checks;
    const mica_tf_node *node;                        /* that is being lowered, or NULL */
    struct mica_tf_memo *memo[MICA_TF_MEMO_BUCKETS]; /* what was lowered */
    mica_tf_frame *frames;                           /* all, for their release */
    int32_t n_replicas; /* above 0: what is lowered is one of so many, side by side along an axis */
    bool region_varies; /* the error is that a region's results differ in shape: run it on the host
                         */
};

struct mica_tf_frame {
    mica_tf_session *session;
    mica_tf_frame *next;
    mica_tf_graph *graph;
    mica_graph *g;
    bool *done;            /* by node */
    mica_value *values;    /* by slot */
    mica_tensor **known;   /* by slot; retained */
    int32_t *variables;    /* by slot; -1 */
    mica_tf_frame *caller; /* where the operands of the parameters are, or NULL */
    const mica_tf_ref *operands;
};

void mica_tf_session_init(mica_tf_session *session, mica_device *device);
void mica_tf_session_deinit(mica_tf_session *session);
/* NULL with a sticky error on g. */
mica_tf_frame *mica_tf_frame_create(mica_tf_session *session, mica_tf_graph *graph, mica_graph *g);
/* Lowers node by node; what is pure is lowered when it is asked for. */
void mica_tf_frame_lower(mica_tf_frame *frame, int32_t node);
mica_value mica_tf_frame_value(mica_tf_frame *frame, mica_tf_ref ref);
/* The value of what folds; borrowed. */
MICA_MUST_CHECK mica_status mica_tf_fold(mica_tf_frame *frame, mica_tf_ref ref,
                                         mica_tensor **out_tensor);
/* Lowers a whole function into g, on these operands; `first` is the place of the first operand
 * among c's inputs, or -1 when parameters are not simply operands (loops). */
void mica_tf_lower_body(mica_tf_lowering *c, mica_tf_graph *body, const mica_value *operands,
                        const int32_t *variables, int32_t first, mica_graph *g, mica_value *out);
/* What was lowered in c->g for this operation on these inputs, or NULL. */
const mica_value *mica_tf_recall(const mica_tf_session *session, const mica_graph *g,
                                 const mica_tf_operation *operation, const mica_value *inputs,
                                 int32_t n);

/* ---- values that are refused (checks.c) -------------------------------------------------------*/

/* What the elements of an integer tensor may be: low <= element < high, `width` bounds in turn; or
 * with width 0 all but zero. */
typedef struct mica_tf_bounds {
    mica_tf_op op;
    int32_t width;
    int64_t low[MICA_MAX_RANK], high[MICA_MAX_RANK];
    int32_t axes[MICA_MAX_RANK]; /* of a slice: those that the bounds are of */
    mica_tf_shape shape;         /* of what is indexed */
} mica_tf_bounds;

/* Integers of a graph of primitives, to be checked when they are known. */
struct mica_tf_check {
    mica_tf_check *next;
    const mica_graph *g;
    mica_value value;
    mica_tf_bounds bounds;
    const char *name, *place; /* of the node; both live as long as the session */
};

/* Whether TensorFlow refuses some values of this op's integers, and which: before it runs by
 * itself. */
bool mica_tf_checks_values(mica_tf_op op);
MICA_MUST_CHECK mica_status mica_tf_check_values(mica_tf_op op, const mica_tf_op_info *info,
                                                 const mica_tf_attr *attrs,
                                                 const mica_tf_value *inputs);
MICA_MUST_CHECK mica_status mica_tf_bounds_check(const mica_tf_bounds *b, mica_tensor *tensor);
/* What an op that was just lowered refuses, added to the session. */
void mica_tf_lower_checks(mica_tf_lowering *c);
void mica_tf_lower_check(mica_tf_lowering *c, int32_t input, const mica_tf_bounds *b);
/* The session's checks of values of g, which it has no longer; and one of them again, elsewhere. */
mica_tf_check *mica_tf_take_checks(mica_tf_session *session, const mica_graph *g);
void mica_tf_put_check(mica_tf_session *session, mica_graph *g, mica_value value,
                       const mica_tf_check *check);
/* Integers like those of a check that are not refused, unless all are. */
mica_value mica_tf_check_neutral(mica_graph *g, const mica_tf_check *check);
/* Whether a value is refused: a scalar of g. */
mica_value mica_tf_check_fails(mica_graph *g, const mica_tf_check *check, mica_value value);

/* ---- host functions ---------------------------------------------------------------------------*/

typedef struct mica_tf_host {
    mica_device *device;
    mica_tf_operation *operation; /* of a random op: which one it is */
    bool is_eager;
    const mica_tf_op_info *info;
    const mica_tf_attr *attrs;
    int32_t n_inputs, n_outputs;
    const mica_tf_value *inputs;
    const mica_tf_dtype *output_dtypes;
    mica_tf_value *outputs; /* new references; released by the caller after an error too */
} mica_tf_host;

typedef mica_status (*mica_tf_host_function)(mica_tf_host *c);
/* The only caller of host functions (lower.c), with the promise of mica_tf_lower. After an error
 * there are no results. */
MICA_MUST_CHECK mica_status mica_tf_run_host(mica_tf_op op, mica_tf_host *c);
static inline const mica_tf_attr *mica_tf_host_attr(const mica_tf_host *c, const char *name) {
    return mica_tf_attr_find(c->info, c->attrs, name);
}
/* A view of a tensor for reading; close with mica_tf_close. */
MICA_MUST_CHECK mica_status mica_tf_open(mica_tf_value value, const void **out_data);
void mica_tf_close(mica_tf_value value);
/* Elements as TensorFlow prints them, first and last `summarize` of each axis; -1: all. */
struct mica_text;
MICA_MUST_CHECK mica_status mica_tf_value_print(mica_tf_value value, int64_t summarize,
                                                bool quote_strings, char **out_text);
MICA_MUST_CHECK mica_status mica_tf_truth(mica_tf_value value, bool *out);

/* ---- rows' functions, by op -------------------------------------------------------------------*/

typedef enum mica_tf_effect {
    MICA_TF_PURE,
    MICA_TF_RANDOM,
    MICA_TF_STATE,
    MICA_TF_CHECK,
    MICA_TF_READS,
    MICA_TF_EFFECT
} mica_tf_effect;
typedef enum mica_tf_run {
    MICA_TF_LOWER,
    MICA_TF_HOST,
    MICA_TF_BOTH,
    MICA_TF_ARRAY,
    MICA_TF_MOVE
} mica_tf_run;

typedef struct mica_tf_row {
    mica_tf_shape_function shape;
    mica_tf_lower_function lower; /* NULL: none */
    mica_tf_host_function host;
    mica_tf_run run;
    mica_tf_effect effect;
} mica_tf_row;
extern const mica_tf_row mica_tf_rows[MICA_TF_OP_COUNT];

/* The columns that a row gives by name. */
struct mica_tf_refusal;
struct mica_tf_walk;
struct mica_tf_step;
/* The derivative of a step whose op stays on the host, as steps of other ops: `given` has the
 * cotangents of the results, NULL where there is none (gradient/walk.h). */
typedef mica_status (*mica_tf_derive_function)(struct mica_tf_walk *w,
                                               const struct mica_tf_step *step, void *const *given);
typedef struct mica_tf_traits {
    mica_tf_category category;
    const char *axis, *no_file;
    const struct mica_tf_refusal *refuses; /* refusals.h */
    mica_tf_ints_function ints;
    mica_tf_derive_function derive;
    bool draws_by_size; /* of an op with effect RANDOM: how much it draws follows from its result's
                         * size alone */
} mica_tf_traits;
extern const mica_tf_traits mica_tf_traits_of[MICA_TF_OP_COUNT];

/* Whether a node's operation is of a category; a parameter has none. */
static inline bool mica_tf_is_a(const mica_tf_operation *operation, mica_tf_category category) {
    return operation && operation->info->category == category;
}

#endif
