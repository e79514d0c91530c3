/* codegen/: fused bodies as text for a compiler.
 *
 * A body (the region of a `call` named MICA_FUSED) becomes one loop nest. The nest's loops are the
 * axes of the largest value in it; every value of the body is looked at through an index map that
 * says which element of it a turn of the loops needs. There are three kinds of nest:
 *
 * loop     no reduction: every output has an element per turn
 * rows     reductions over the inner loops: the nest goes over a row in passes, and what a pass
 *          reduces is a scalar for the next. Outputs are rows, or one element per row
 * columns  reductions over the outer loops: every output is a line of columns
 *
 * Sums and the like run in the order of ir/scalar_reduce.h, so that generated code gives the bits
 * that the built-in kernels give.
 */
#ifndef MICA_CODEGEN_NEST_H
#define MICA_CODEGEN_NEST_H

#include <string.h>

#include "ir/graph.h"

#define MICA_FUSED "mica.fused" /* no user's call has this name */

/* An index of a value's axis: start + step * (turn of a loop); loop -1: start alone. */
typedef struct mica_axis_map {
    int32_t loop;
    int64_t step, start;
} mica_axis_map;

/* A value of the body at one place of the nest. */
typedef struct mica_use {
    mica_value value;
    mica_axis_map map[MICA_MAX_RANK];
    int32_t operands[3];          /* uses */
    int32_t pass;                 /* rows: the first pass in which it can be computed */
    bool varies;                  /* along the inner loops */
    bool is_kept;                 /* rows: stored for later passes instead of computed again */
    int64_t steps[MICA_MAX_RANK]; /* of what is loaded, and of iota: elements per turn */
    int64_t offset;
} mica_use;

typedef enum mica_nest_kind { MICA_NEST_LOOP, MICA_NEST_ROWS, MICA_NEST_COLUMNS } mica_nest_kind;

typedef struct mica_store {
    int32_t use; /* columns: of the reduce itself */
    int64_t steps[MICA_MAX_RANK], offset;
} mica_store;

typedef struct mica_nest {
    const mica_graph *body;
    mica_nest_kind kind;
    int32_t rank, inner; /* loops inner .. rank - 1 are the row or the line */
    int64_t sizes[MICA_MAX_RANK];
    mica_use *uses; /* operands stand before their users */
    int32_t n_uses, capacity;
    mica_store *stores; /* one per output */
    int32_t n_passes;
    int64_t outer_turns, inner_turns;
    bool is_costly; /* has a function that takes long */
    bool streams;   /* large results may be written past the caches; a GPU's must not */
} mica_nest;

static inline bool mica_node_is_fused(const mica_node *n) {
    return n->op == MICA_OP_call && !strcmp(n->attrs[0].as.string, MICA_FUSED);
}

/* UNSUPPORTED, with the reason, for a body that is no nest. */
MICA_MUST_CHECK mica_status mica_nest_create(const mica_graph *body, mica_nest **out_nest);
void mica_nest_destroy(mica_nest *nest); /* NULL is allowed */

/* What a node can be in a nest, for the pass that makes bodies. */
typedef enum mica_nest_role {
    MICA_ROLE_NONE,
    MICA_ROLE_MAP,    /* element by element */
    MICA_ROLE_FREE,   /* costs next to nothing, or saves bytes: may be in several bodies */
    MICA_ROLE_ROW,    /* a reduction over the last axes */
    MICA_ROLE_COLUMN, /* a reduction over the first axes */
} mica_nest_role;
mica_nest_role mica_nest_role_of(const mica_node *n);
/* Axes of x that a reduction of role ROW keeps, or of role COLUMN reduces: the leading ones. */
int32_t mica_nest_leading(const mica_node *reduce);
bool mica_nest_is_costly(const mica_node *n);

#endif
