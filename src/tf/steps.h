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
    char *name, *place; /* of the node, or NULL */
} mica_tf_checked;

/* A program's neighbours in one of the lists it is in, and a list. */
enum { OF_SEGMENT, OF_PROCESS };
typedef struct mica_tf_links {
    struct mica_tf_program *newer, *older;
} mica_tf_links;
typedef struct mica_tf_program_list {
    struct mica_tf_program *newest, *oldest;
    int32_t n;
} mica_tf_program_list;

typedef struct mica_tf_program {
    mica_refcount references;
    mica_tf_links links[2];
    struct mica_tf_step *step; /* NULL: in no list */
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
    mica_graph *graph; /* what was compiled, and its inputs and outputs: where graphs are kept */
    char *notes;
    int64_t key[];
} mica_tf_program;

typedef struct mica_tf_step {
    int32_t node; /* a host op, or -1: a segment */
    int32_t *nodes, *inputs, *values, *variables, *outputs, *releases;
    int32_t n_nodes, n_inputs, n_values, n_variables, n_outputs, n_releases;
    mica_tf_program_list programs; /* under the lock of programs.c */
    bool was_compiled;             /* somebody has waited for a compiler (jit_compile) */
} mica_tf_step;

/* ---- programs.c -------------------------------------------------------------------------------*/

typedef struct mica_tf_key {
    const int64_t *words;
    size_t bytes;
    uint64_t hash;
} mica_tf_key;

/* The caller's reference, or NULL: there is none. */
mica_tf_program *mica_tf_program_find(mica_tf_step *step, const mica_tf_key *key);
/* Takes what the caller has made and gives what is to be used: this, or what another thread has
 * made for the key meanwhile. What was used longest ago makes room. */
mica_tf_program *mica_tf_program_keep(mica_tf_step *step, const mica_tf_key *key,
                                      mica_tf_program *made);
void mica_tf_program_release(mica_tf_program *program);
/* All of a segment, newest first; each is released by the caller, and the array freed. */
MICA_MUST_CHECK mica_status mica_tf_programs_hold(mica_tf_step *step, mica_tf_program ***out_held,
                                                  int32_t *out_n);
/* No run uses the step any more. */
void mica_tf_programs_forget(mica_tf_step *step);

/* ---- lowered.c --------------------------------------------------------------------------------*/

/* Keeps the graph with the names of its inputs and outputs, where mica_tf_keep_graphs asks for it.
 * handles: by input that is a variable's value, a slot that holds the variable's handle; so
 * many. */
MICA_MUST_CHECK mica_status mica_tf_program_note(mica_tf_program *program, const mica_tf_graph *g,
                                                 const mica_tf_step *step, mica_graph *lowered,
                                                 const int32_t *handles, const bool *has_value,
                                                 int32_t n_handles);
/* A graph's steps, cut when they are first asked for (run.c). */
MICA_MUST_CHECK mica_status mica_tf_graph_steps(mica_tf_graph *g, mica_tf_steps **out_steps);

/* ---- segment.c --------------------------------------------------------------------------------*/

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
