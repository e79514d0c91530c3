/* io/graph_build.h: nodes of files as graphs of the op table: a node becomes the row of its op.
 *
 * A function is built for what is known of its arguments: the variable behind a handle, so that
 * what is read from it has a shape, or its value; the elements of a list. So a function may be
 * built several times; each is kept. */
#ifndef MICA_IO_GRAPH_BUILD_H
#define MICA_IO_GRAPH_BUILD_H

#include "io/attr_value.h"
#include "io/object_graph.h"

/* What is known of a tensor beside its own type. A list of tensors, which files keep behind a
 * handle, becomes one tensor, its elements along axis 0; until the shape of an element is known it
 * is pending, and only its size is there. */
typedef enum io_fact_kind {
    IO_UNKNOWN,
    IO_VARIABLE,
    IO_REFERENCE, /* a variable of TensorFlow 1: its handle is here, and a value in the file */
    IO_VALUE,     /* a variable's value, where the file has its handle */
    IO_RESOURCE,  /* the handle of something else */
    IO_LIST,
    IO_PENDING
} io_fact_kind;

typedef struct io_fact {
    io_fact_kind kind;
    mica_tf_dtype dtype; /* of the variable that it is the handle of, or of an element */
    mica_tf_shape shape;
} io_fact;

typedef struct io_library {
    const io_graph_def *def;
    io_range *ops; /* OpDef: the ops of the file, with their defaults */
    io_names op_names;
    io_values values;
    mica_arena arena;
    struct io_built **built; /* of each function */
    uint8_t **uses;          /* of each function, for each argument: graph_values.c */
    int64_t n_visits;
    io_names gradient_names; /* graph_gradient.c: names that gradients are registered under */
    io_range *gradients;     /* and the functions that they are */
    int32_t gradient_depth;
    const io_object_graph *objects; /* NULL: they are not known */
    int32_t depth;                  /* functions being built, each within the one before */
} io_library;

/* `ops` is an OpList, which may be empty. */
MICA_MUST_CHECK mica_status io_library_init(io_library *library, const io_graph_def *def,
                                            io_range ops, mica_device *device);
void io_library_deinit(io_library *library);
/* The graph of a function, which stays the library's. */
MICA_MUST_CHECK mica_status io_library_function(io_library *library, io_range name,
                                                const io_fact *facts, int32_t n_facts,
                                                mica_tf_graph **out_graph);

/* What is known of the results of a function of the library; NULL: it is none of its. */
const io_fact *io_library_results(const io_library *library, const mica_tf_graph *graph);
/* Of the tensor that a list of such elements becomes. */
mica_tf_shape io_list_shape(const mica_tf_shape *element);

/* A part of the file's own graph, as a function: of what is fed, and of the resources that it uses.
 */
typedef struct io_feed {
    io_range tensor; /* "node:0" */
    const char *name;
    mica_tf_dtype dtype;
    mica_tf_shape shape;
} io_feed;

typedef struct io_part {
    const char *name;
    const io_feed *feeds;
    const io_range *fetches; /* tensors, "node:0" */
    int32_t n_feeds, n_fetches;
    const io_fact *resources; /* for each node of the graph, when it is one */
} io_part;

/* out_captured, which has room for every node, receives the nodes of the resources that are the
 * parameters after those that are fed. */
MICA_MUST_CHECK mica_status io_library_part(io_library *library, const io_part *part,
                                            mica_tf_graph **out_graph, int32_t *out_captured,
                                            int32_t *out_n_captured);

/* The node behind an input of the file's own graph, "node", "node:1" or "^node"; -1: there is none.
 */
int32_t io_input_node(const io_function *function, io_range input);
/* A node that is a variable: of TensorFlow 2, or one that is referred to by name. */
bool io_is_variable(const io_node *node);
bool io_is_reference(const io_node *node);

#endif
