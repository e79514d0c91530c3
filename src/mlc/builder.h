/* mlc/builder.h: building the ir graph of a program. */
#ifndef MICA_MLC_BUILDER_H
#define MICA_MLC_BUILDER_H

#include "mlc/graph.h"
#include "mlc/lower.h"

/* What is known of a tensor while a program is built. */
typedef struct mlc_entry {
    mlc_tensor *tensor;
    mica_value value;     /* null: not used yet */
    mica_value latest;    /* its value after the execution; null: unchanged */
    mica_value cotangent; /* null: zero */
    int32_t slot;         /* the input that is its value; -1: none */
    bool needs_gradient, is_parameter, comes_of_loss;
} mlc_entry;

typedef struct mlc_builder {
    mlc_lowering l; /* first: the lowering's functions are handed this */
    mlc_graph *graph;
    mlc_entry *entries;
    int32_t n_entries, entries_capacity;
    int32_t *table; /* hash table of places + 1 */
    int32_t table_size;
    mlc_slots inputs, outputs;
    bool has_update; /* the optimizer's update follows, and writes the parameters */
} mlc_builder;

MICA_MUST_CHECK mica_status mlc_builder_init(mlc_builder *b, mlc_graph *graph, const char *name,
                                             int64_t batch, bool is_training);
void mlc_builder_deinit(mlc_builder *b);
/* The entry of a tensor, made when it is new; NULL when out of memory (the error sticks). Entries
 * move when one is made. */
mlc_entry *mlc_builder_entry(mlc_builder *b, mlc_tensor *tensor);
/* An input of the program. */
mica_value mlc_builder_input(mlc_builder *b, mlc_slot slot);
void mlc_builder_output(mlc_builder *b, mlc_slot slot, mica_value value);
/* One layer; false after an error, which then names it. */
bool mlc_build_node(mlc_builder *b, const mlc_node *node, int32_t place);
void mlc_build_step_input(mlc_builder *b);
/* All layers, and the outputs of a forward pass. */
void mlc_build_forward(mlc_builder *b);
/* Cotangents of everything that needs one, after mlc_build_forward (gradient.c). */
void mlc_build_backward(mlc_builder *b);
/* Outputs of the gradients that are asked for; with parameters: all parameters' too. */
void mlc_build_gradient_outputs(mlc_builder *b, bool with_parameters);
/* bool[]: every element of every value is finite; null when none is of float dtype. */
mica_value mlc_all_finite(mica_graph *g, const mica_value *values, int32_t n);

#endif
