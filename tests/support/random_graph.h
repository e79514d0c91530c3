/* tests/support/random_graph.h: random well-typed graphs from a seed, and data to run them on.
 *
 * The same seed and options give the same graph on every machine. Arrays are small: rank up to 4,
 * at most a few hundred elements. Loops end. */
#ifndef MICA_TESTS_SUPPORT_RANDOM_GRAPH_H
#define MICA_TESTS_SUPPORT_RANDOM_GRAPH_H

#include "mica/graph.h"

typedef struct random_graph_options {
    uint64_t seed;
    int32_t n_nodes; /* about this many, regions not counted */
    /* Only ops whose results are exact by definition (integers, bits, moves, correctly rounded
     * arithmetic): devices must agree bit for bit, except in the sign of a NaN. */
    bool exact;
    /* For tests of derivatives: floats are f64, and a vjp that a composite brings is right. */
    bool derivatives;
    bool complex;          /* let complex dtypes in, where the table has them */
    bool no_regions;       /* no control flow */
    const char *axis_name; /* collectives over this axis; NULL: none */
    int64_t axis_size;     /* its participants, when it has a name: at most MICA_MAX_RANK */
    int64_t host_function; /* callbacks to this function; 0: none */
} random_graph_options;

/* Every value that nothing uses is an output, so nothing can be left out. NULL without memory. */
mica_graph *random_graph(const random_graph_options *options);

/* How many seeds to try: n, and many more when MICA_TEST_SOAK is set. */
uint64_t random_seeds(uint64_t n);

/* Fills mica_type_bytes(type) bytes: small numbers of both signs, with zeros and ones among them.
 */
void random_data(uint64_t seed, const mica_type *type, void *bytes);

/* ---- for random_regions.c --------------------------------------------------------------------*/

#define RANDOM_MOST_VALUES 4096

/* A graph while it is made. */
typedef struct random_builder {
    mica_graph *g;
    const random_graph_options *options;
    uint64_t state;
    int32_t depth;                       /* regions around it */
    mica_value pool[RANDOM_MOST_VALUES]; /* tensors that can be operands */
    int32_t n_pool;
} random_builder;

uint64_t random_next(random_builder *b);
int64_t random_below(random_builder *b, int64_t n);   /* 0 .. n - 1 */
void random_add(random_builder *b, mica_value value); /* into the pool, when it is a tensor */
mica_value random_pick(random_builder *b);
mica_value random_zeros(random_builder *b, const mica_type *type); /* of any kind of type */
/* A value of exactly this type: one of the pool, or a new constant. */
mica_value random_of_type(random_builder *b, const mica_type *type);
/* Adds about n nodes. */
void random_fill(random_builder *b, int32_t n);
/* Adds a node of this op; false when the op takes no part here. */
bool random_region_node(random_builder *b, mica_op op);

#endif
