/* transform/partial.h: partial evaluation of a region.
 *
 * mica_split_begin clones a body and linearizes the clone: primal nodes and the linear nodes that
 * compute tangents stand in one graph. What linear nodes use of the primal are the residuals,
 * except
 *   - values that depend on constants only, and stretched ones, which are cheap,
 *   - in loops and branches, lists (which cannot be stacked, pushed on lists, or selected by vmap),
 * whose nodes are computed again next to the linear nodes, and whose operands are kept instead.
 * The caller then lets the primal graph return residuals and closes it with mica_split_end, after
 * which it has no linear nodes; mica_split_tangent copies those into a graph of their own, before
 * or after that.
 */
#ifndef MICA_TRANSFORM_PARTIAL_H
#define MICA_TRANSFORM_PARTIAL_H

#include "transform/transform.h"

typedef struct mica_residual {
    mica_value value;  /* in the primal graph */
    int32_t parameter; /* it is this parameter of the body; -1: computed there */
    bool invariant;    /* in a loop: depends on its constants only */
} mica_residual;

typedef enum mica_split_kind {
    MICA_SPLIT_CALL,
    MICA_SPLIT_BRANCH,
    MICA_SPLIT_LOOP
} mica_split_kind;

typedef struct mica_split {
    mica_split_kind kind;
    mica_transform *t;
    mica_graph *g;            /* the graph with the region op; errors stick to it */
    mica_graph *primal;       /* owned until the caller passes it on */
    mica_node *last;          /* of the cloned body */
    int32_t n_parameters;     /* of the body */
    int32_t n_outputs;        /* of the body */
    mica_value *placeholders; /* per parameter; null: it has no tangent */
    mica_value *tangents;     /* per output; null: zero */
    mica_residual *residuals;
    int32_t n_residuals;
    mica_node **nodes; /* of the primal graph when it was cut */
    int32_t n_nodes;
    uint8_t *roles; /* per node of these */
} mica_split;

/* active[i]: parameter i has a tangent. invariant[i]: it is a constant of the loop (NULL for a body
 * that runs once). wanted[j]: output j's tangent is asked for (NULL: all).
 * false after an error. */
bool mica_split_begin(mica_split *s, mica_split_kind kind, mica_transform *t, mica_graph *g,
                      const mica_graph *body, const bool *active, const bool *invariant,
                      const bool *wanted);
/* Copies the linear nodes into `to`. residuals[i] and tangents[k] stand there for s->residuals[i]
 * and parameter k's tangent; out has one value per output of the body, null where it is zero. */
void mica_split_tangent(mica_split *s, mica_graph *to, const mica_value *residuals,
                        const mica_value *tangents, mica_value *out);
/* The invariant residual i, computed in g from the loop's operands (one per parameter); before
 * mica_split_end. */
mica_value mica_split_hoist(mica_split *s, int32_t i, const mica_value *operands);
/* Removes linear nodes from the primal graph; its outputs must be set. true without errors. */
bool mica_split_end(mica_split *s);
/* Releases what is left after an error, and always at the end. */
void mica_split_deinit(mica_split *s);

/* Which outputs of a body may have tangents when these parameters do. With carry > 0, `active` is
 * first widened: parameter consts + i becomes active with output i, until nothing changes. */
bool mica_find_active(mica_transform *t, mica_graph *g, const mica_graph *body, bool *active,
                      int32_t consts, int32_t carry, bool *out_active);

/* A graph transposed: linear[i] says which parameters of `f` it is linear in, given[j] which
 * outputs have a cotangent. The new graph's parameters are the other parameters of f, then the
 * cotangents; it has no outputs yet: out[i] is the cotangent of f's i-th linear parameter, null
 * where zero. */
mica_graph *mica_transpose_graph(mica_transform *t, mica_graph *g, const mica_graph *f,
                                 const bool *linear, const bool *given, mica_value *out);

/* (parameters, tangents of active ones) -> tangents of outputs, zeros where they are zero. With
 * with_outputs the body's outputs come first. All outputs of float type, or those of want. */
mica_graph *mica_jvp_graph(mica_transform *t, mica_graph *g, const mica_graph *body,
                           const bool *active, const bool *want, bool with_outputs);

#endif
