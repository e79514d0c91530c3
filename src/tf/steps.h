/* tf/steps.h: a graph cut into steps, and the programs of its segments.
 *
 * A segment's program is an executable for given types of its inputs and variables, given values of
 * shape operands, and given aliases among variables; all that is its key. */
#ifndef MICA_TF_STEPS_H
#define MICA_TF_STEPS_H

#include "tf/tf.h"

/* Integers that are checked: an input before the run, or a result after it. */
typedef struct mica_tf_checked {
    int32_t input; /* -1: it is a result */
    mica_tf_bounds bounds;
} mica_tf_checked;

typedef struct mica_tf_program {
    struct mica_tf_program *next;
    uint64_t hash;
    size_t key_bytes;
    mica_device *device; /* retained */
    mica_executable *executable;
    int32_t n_written;
    int32_t
        *written; /* variables (places in the step's list) whose new values follow the outputs */
    int32_t n_randoms;
    mica_tf_random_slot *randoms; /* an array; their states follow the variables' values */
    mica_type *written_types;
    uint8_t *donated; /* per input: it is a variable's old value */
    mica_tf_checked *checks;
    int32_t n_checks,
        n_checked_results; /* all; those at results, which follow those for variables */
    int64_t key[];
} mica_tf_program;

void mica_tf_program_destroy(mica_tf_program *program);

typedef struct mica_tf_step {
    int32_t node; /* a host op, or -1: a segment */
    int32_t *nodes, *inputs, *values, *variables, *outputs, *releases;
    int32_t n_nodes, n_inputs, n_values, n_variables, n_outputs, n_releases;
    mica_tf_program *programs; /* newest first; under the graph's lock */
} mica_tf_step;

struct mica_tf_steps {
    mica_arena arena;
    mica_tf_step *data;
    int32_t n, capacity;
    bool *host_nodes;        /* those that turned out to need it; NULL: none */
    mica_tf_steps *replaced; /* what was cut before that; runs under way may use it */
};

/* host_nodes (by node, or NULL) must run on the host. */
MICA_MUST_CHECK mica_status mica_tf_steps_create(const mica_tf_graph *g, const bool *host_nodes,
                                                 mica_tf_steps **out_steps);

#endif
