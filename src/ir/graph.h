/* ir/: graphs of primitives, the centre of the house.
 *
 * A graph owns an arena; its nodes, their operands, attributes and constants live there until the
 * last reference is gone. Nodes stand in graph->nodes in the order they were made, and an operand
 * always stands before its user: that order is the topological order everybody walks.
 *
 * Nodes are not changed after they are made, with one exception: a region op (cond, case, scan,
 * while, call) may be extended in place by transform/, which gives it other regions and more
 * results (and more operands, which stand before it). Its first results keep their meaning, so
 * values that others hold stay right. Region graphs are shared and never change once a node refers
 * to them.
 */
#ifndef MICA_IR_GRAPH_H
#define MICA_IR_GRAPH_H

#include "base/arena.h"
#include "base/memory.h"
#include "base/status.h"
#include "mica/graph.h"

typedef enum mica_attr_kind {
    MICA_ATTR_INT,
    MICA_ATTR_INTS,
    MICA_ATTR_STRING,
    MICA_ATTR_DTYPE,
    MICA_ATTR_DATA,
    MICA_ATTR_TYPES,
} mica_attr_kind;

/* The class and dtypes columns of ops.def, as numbers. */
typedef enum mica_op_class {
    MICA_CLASS_MAP,
    MICA_CLASS_ELEMENTWISE,
    MICA_CLASS_SHAPE,
    MICA_CLASS_CONTRACTION,
    MICA_CLASS_REDUCTION,
    MICA_CLASS_RANDOM,
    MICA_CLASS_SEVERAL,
    MICA_CLASS_CONTROL,
    MICA_CLASS_COLLECTIVE,
    MICA_CLASS_HOST,
} mica_op_class;

typedef enum mica_dtype_set {
    MICA_SET_FLOATS,
    MICA_SET_INTEGERS,
    MICA_SET_NUMBERS,
    MICA_SET_BITS,
    MICA_SET_ANY,
    MICA_SET_STORED,
    MICA_SET_F32_F64,
    MICA_SET_FLOATS_COMPLEX,
    MICA_SET_NUMBERS_COMPLEX,
    MICA_SET_F32_F64_COMPLEX,
} mica_dtype_set;

/* What a node keeps of an attribute; pointers point into the graph's arena. */
typedef struct mica_attr {
    mica_attr_kind kind;
    union {
        int64_t integer; /* INT, DTYPE */
        mica_ints ints;
        const char *string; /* never NULL; "" when none was given */
        struct {
            mica_type type;
            const void *bytes;
        } data;
        mica_types types;
    } as;
} mica_attr;

struct mica_node {
    mica_op op;
    int32_t id; /* its place in graph->nodes */
    mica_graph *graph;
    int32_t n_operands, n_results, n_regions, n_attrs;
    mica_value *operands;
    mica_type *results;
    mica_graph **regions; /* retained by the graph that holds the node */
    mica_attr *attrs;     /* in the order of the row in ops.def */
    int32_t line;         /* of the caller's program, while a report is asked for (report/) */
};

struct mica_graph {
    mica_refcount references;
    mica_arena arena;
    const char *name;
    mica_node **nodes;
    int32_t n_nodes, nodes_capacity;
    mica_value *parameters;
    int32_t n_parameters, parameters_capacity;
    mica_value *outputs;
    int32_t n_outputs, outputs_capacity;
    mica_graph *
        *held; /* every region a node of this graph refers or referred to: one reference each */
    int32_t n_held, held_capacity;
    mica_status error; /* sticky */
    bool is_region;    /* a node refers to it: from now on it must not change */
    uint64_t hash;     /* of a region: mica_graph_hash, computed once */
    int32_t depth;     /* how deep regions nest in it; at most MICA_MAX_DEPTH */
    int64_t n_inside;  /* nodes of all regions, each written out where a node refers to it */
};

/* Regions inside regions, so that walking them recursively is safe. */
#define MICA_MAX_DEPTH 200
/* Nodes of a graph with all of its regions written out: what inlining makes is bounded by it, and
 * so are walks that enter a region once for each node that refers to it. A graph of n nodes can
 * stand for 2^n otherwise. */
#define MICA_MAX_NODES_INSIDE (1 << 21)

/* Of any op, MICA_OP_PARAMETER included; never NULL. The others: of ops in the table only. */
const char *mica_op_name(mica_op op);
mica_op_class mica_op_class_of(mica_op op);
mica_dtype_set mica_op_dtype_set(mica_op op);
mica_attr_kind mica_op_attr_kind(mica_op op, int32_t i);
bool mica_dtype_in_set(mica_dtype dtype, mica_dtype_set set);

/* Text for messages, by value: mica_type_text(t).chars lives to the end of the expression. */
typedef struct mica_label {
    char chars[400];
} mica_label;
mica_label mica_type_text(const mica_type *type); /* "f32[2,3]" */
mica_label mica_dims_text(const mica_type *type); /* "(2,3)"; of tokens and lists as above */
mica_label mica_ints_text(mica_ints ints);        /* "(2,3)" */

/* Not OK unless kind, dtype, rank and sizes are possible and the bytes fit an int64. */
MICA_MUST_CHECK mica_status mica_type_check(const mica_type *type, const char *where);
/* Tensors and lists of float and complex dtype: what has a cotangent. */
bool mica_type_is_differentiable(const mica_type *type);

/* Attributes by name. An attribute that the node does not have reads as 0, () or "". */
const mica_attr *mica_node_attr(const mica_node *n, const char *name); /* NULL when there is none */
int64_t mica_node_int(const mica_node *n, const char *name);
mica_ints mica_node_ints(const mica_node *n, const char *name);
const char *mica_node_string(const mica_node *n, const char *name);

static inline const mica_type *mica_operand_type(const mica_node *n, int32_t i) {
    return &n->operands[i].node->results[n->operands[i].index];
}
static inline mica_value mica_node_result(const mica_node *n, int32_t i) {
    return (mica_value){(mica_node *)n, i};
}
static inline bool mica_value_same(mica_value a, mica_value b) {
    return a.node == b.node && a.index == b.index;
}

/* The one way a node is made: copies operands and attributes into the arena, retains regions, runs
 * the shape rule, appends. On failure the error sticks and NULL comes back. `attrs` has one entry
 * per attribute of the row, in its order. */
mica_node *mica_node_create(mica_graph *g, mica_op op, const mica_value *operands,
                            int32_t n_operands, const mica_attr *attrs, mica_graph *const *regions,
                            int32_t n_regions);
/* As the op's builder does: broadcasts the operands of elementwise ops. For ops with one result and
 * no regions. */
mica_value mica_build(mica_graph *g, mica_op op, const mica_value *operands, int32_t n,
                      const mica_attr *attrs);
/* A node like n (same op, attributes, regions) on other operands; may be of another graph. */
mica_node *mica_node_clone(mica_graph *g, const mica_node *n, const mica_value *operands);

/* Extends a region op in place (see above): new regions, operands and attributes; results are
 * inferred anew and must begin with the old ones. */
void mica_node_extend(mica_node *n, const mica_value *operands, int32_t n_operands,
                      const mica_attr *attrs, mica_graph *const *regions, int32_t n_regions);

/* Shape rules, one per name in ops.def's shape column: check n's operands and attributes and set
 * n->results and n->n_results (in the arena of g, for which alone they use it). Messages begin
 * with "[op]". mica_node_infer first checks what the table says: arity, kinds, dtypes. */
typedef mica_status (*mica_shape_rule)(mica_graph *g, mica_node *n);
extern const mica_shape_rule mica_shape_rules[MICA_OP_COUNT];
MICA_MUST_CHECK mica_status mica_node_infer(mica_graph *g, mica_node *n);

/* Makes an operand check fail like a builder's would: true when every operand is a value of g. A
 * null operand is an error unless an error already sticks. */
bool mica_operands_check(mica_graph *g, const char *where, const mica_value *operands,
                         int32_t n_operands);

/* The host function registered under a number; false when there is none. */
bool mica_host_function_find(int64_t number, mica_host_function *out_function, void **out_context);

#endif
