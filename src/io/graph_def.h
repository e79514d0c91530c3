/* io/graph_def.h: GraphDef, as TensorFlow's files have it: nodes, functions, places of attributes.
 *
 * Reading finds names and bounds; what nodes mean is for io/graph_build.h to say. Everything points
 * into the bytes of the file, which must stay. What is allocated is at most a small multiple of
 * them: a node has a name and an op, an input and an attribute have a name. */
#ifndef MICA_IO_GRAPH_DEF_H
#define MICA_IO_GRAPH_DEF_H

#include "io/names.h"
#include "mica/tf.h"

typedef struct io_attr {
    io_range name, value; /* AttrValue */
} io_attr;

typedef struct io_node {
    io_range name, op;
    const io_range *inputs;
    const io_attr *attrs;
    int32_t n_inputs, n_attrs;
} io_node;

typedef struct io_argument {
    io_range name;
    mica_tf_dtype dtype;
    io_range shape; /* TensorShapeProto */
    bool has_shape;
} io_argument;

/* A function, or (without a name, arguments and results) the nodes of the graph itself. */
typedef struct io_function {
    io_range name;
    io_argument *arguments;
    io_node *nodes;
    io_range *results; /* where each comes from: "node:output:0", or an argument */
    int32_t n_arguments, n_nodes, n_results;
    io_names names; /* of arguments, i, and of nodes, n_arguments + i */
} io_function;

typedef struct io_graph_def {
    const char *path; /* of the file, for messages */
    io_function graph;
    io_function *functions;
    int32_t n_functions;
    io_names names;   /* of functions */
    io_range library; /* FunctionDefLibrary */
} io_graph_def;

/* DATA_LOSS, with the path in the message, where the bytes are no GraphDef. */
MICA_MUST_CHECK mica_status io_graph_def_read(io_range bytes, const char *path, mica_arena *arena,
                                              io_graph_def *out_graph);
/* An attribute's AttrValue; false: the node has none of this name. */
bool io_node_attr(const io_node *node, const char *name, io_range *out_value);

/* ---- pieces of messages -----------------------------------------------------------------------*/

/* Fields of this number that have a length; -1 where the bytes are no message. */
int64_t io_count_parts(io_range message, uint64_t number);
/* The last such field; false, and empty: there is none. */
bool io_find_part(io_range message, uint64_t number, io_range *out_part);
/* The last field of this number that is a varint; 0: there is none. */
uint64_t io_find_number(io_range message, uint64_t number);

/* Room for %.*s of a name: names in messages are cut. */
#define IO_TEXT(range) ((range).n < 200 ? (int)(range).n : 200), (const char *)(range).data

#endif
