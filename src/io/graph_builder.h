/* io/graph_builder.h: what graph_build.c, graph_lists.c and graph_compose.c share: one graph that
 * is being built. */
#ifndef MICA_IO_GRAPH_BUILDER_H
#define MICA_IO_GRAPH_BUILDER_H

#include "io/graph_build.h"

typedef enum io_state {
    IO_NEW,
    IO_ENTERED,
    IO_MADE,
    IO_TRANSLATED /* it became other nodes, and has one result */
} io_state;

typedef struct io_builder {
    io_library *library;
    const io_function *function;
    const io_part *part; /* NULL: a function */
    mica_tf_graph *graph;
    mica_arena *scratch;
    bool skips_control; /* a part of a function, for the shape of a result alone */
    /* Of arguments and nodes: */
    uint8_t *states;
    mica_tf_ref *refs; /* the first result; of a pending list, its size; node -1: no results */
    io_fact **facts;   /* of its results; NULL: nothing is known of any */
    int32_t *captured, n_captured;
} io_builder;

/* A node that is being made, with its tensors. */
typedef struct io_making {
    const io_node *node;
    int32_t item;
    const mica_tf_ref *inputs;
    const io_fact *facts; /* of the inputs */
    int32_t n;
} io_making;

/* Sets what is known of result i. */
MICA_MUST_CHECK mica_status io_learn(io_builder *b, int32_t item, int32_t i, const io_fact *fact);
/* Adds the row of an op. */
MICA_MUST_CHECK mica_status io_add_row(io_builder *b, const io_making *m, mica_tf_op op);
/* A node of ours: attrs is NULL for a row's defaults. */
MICA_MUST_CHECK mica_status io_add(io_builder *b, mica_tf_op op, const mica_tf_attr *attrs,
                                   const mica_tf_ref *inputs, int32_t n, mica_tf_ref *out_ref);
/* A tensor of a function's body, made of these arguments in this graph; nothing else of the body
 * is. */
MICA_MUST_CHECK mica_status io_inline(io_builder *b, const io_function *function,
                                      const io_making *m, io_range tensor, mica_tf_ref *out_ref);

/* The node is this tensor, of which this is known. */
MICA_MUST_CHECK mica_status io_become(io_builder *b, const io_making *m, mica_tf_ref ref,
                                      const io_fact *fact);

/* Inputs that refer to variables become values, except those that `node` assigns to; it is NULL for
 * results of a signature. */
MICA_MUST_CHECK mica_status io_read_references(io_builder *b, const io_node *node,
                                               mica_tf_ref *inputs, io_fact *facts, int32_t n);
/* Reads the variables that the functions of a branch or loop only read: their inputs become values.
 */
MICA_MUST_CHECK mica_status io_take_values(io_builder *b, const io_node *node, mica_tf_ref *inputs,
                                           io_fact *facts, int32_t n);
/* The handle of a variable becomes its value. */
MICA_MUST_CHECK mica_status io_take_value(io_builder *b, mica_tf_ref *input, io_fact *fact);
/* Whether a function only reads the variable that is its argument. */
bool io_only_reads(io_library *library, io_range function, int32_t argument);
/* Ops that read such a variable. out_done: the node is made. */
MICA_MUST_CHECK mica_status io_make_value_node(io_builder *b, const io_making *m, bool *out_done);
/* RegisteredGradients of a FunctionDefLibrary. */
MICA_MUST_CHECK mica_status io_read_gradients(io_library *library, io_range message);
/* Nodes with a gradient of their own. out_done: the node is made. */
MICA_MUST_CHECK mica_status io_make_gradient_node(io_builder *b, const io_making *m,
                                                  bool *out_done);
/* The tensor "node:1", or an argument, of the function that is being built, whose node is made if
 * it is not yet. */
MICA_MUST_CHECK mica_status io_find_made(io_builder *b, io_range tensor, mica_tf_ref *out_ref,
                                         io_fact *out_fact);
/* NameAttrList: a function. It gets these facts if it has so many arguments. */
MICA_MUST_CHECK mica_status io_read_function(const io_builder *b, io_range message,
                                             const io_fact *facts, int32_t n,
                                             mica_tf_graph **out_graph);
MICA_MUST_CHECK mica_status io_symbolic_gradient(io_builder *b, const io_making *m);
/* Ops that have no row. out_done: the node is made. */
MICA_MUST_CHECK mica_status io_compose(io_builder *b, const io_making *m, bool *out_done);
/* Ops of lists, and loops that carry them. out_done: the node is made. */
MICA_MUST_CHECK mica_status io_make_list_node(io_builder *b, const io_making *m, bool *out_done);

#endif
