/* io/object_graph.h: SavedObjectGraph, what TensorFlow makes of a file: objects by number, and what
 * functions are given beside their own arguments. */
#ifndef MICA_IO_OBJECT_GRAPH_H
#define MICA_IO_OBJECT_GRAPH_H

#include "io/graph_def.h"

typedef struct io_object_graph {
    io_range *objects;   /* SavedObject */
    io_range *functions; /* SavedConcreteFunction, by the number of a name */
    int32_t n_objects;
    io_names names; /* of functions */
} io_object_graph;

/* `message` may be empty. */
MICA_MUST_CHECK mica_status io_object_graph_read(io_range message, const char *path,
                                                 mica_arena *arena, io_object_graph *out_graph);
/* The objects whose tensors are a function's last arguments; none of a function that is not there.
 */
MICA_MUST_CHECK mica_status io_bound_inputs(const io_object_graph *graph, io_range function,
                                            mica_arena *arena, uint64_t **out_objects,
                                            int32_t *out_n);

#endif
