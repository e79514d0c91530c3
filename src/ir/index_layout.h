/* ir/index_layout.h: how gather and scatter lay out their arrays.
 *
 * Both move windows between an array x and an array of windows, which is gather's result and
 * scatter's updates. The axes of the windows' array either number the index vectors (positions) or
 * run inside a window. */
#ifndef MICA_IR_INDEX_LAYOUT_H
#define MICA_IR_INDEX_LAYOUT_H

#include "ir/graph.h"

/* The attributes, under one set of names. */
typedef struct mica_index_dims {
    mica_ints window;        /* axes of the windows' array inside a window; they increase */
    mica_ints dropped;       /* axes of x, of size 1 in a window, that the windows' array lacks */
    mica_ints operand_batch; /* axes of x, dropped too, that go in step with ... */
    mica_ints indices_batch; /* ... these axes of the indices */
    mica_ints map;           /* the axis of x that entry k of an index vector is for */
    int64_t vector_dim;      /* axis of the indices; their rank: every index is a vector of one */
    bool fill;               /* mode "fill"; else "clip" */
} mica_index_dims;

typedef struct mica_index_layout {
    int32_t n_positions; /* axes */
    struct {
        int32_t windows, indices; /* the same axis in the windows' array and in the indices */
        int32_t batch;            /* the axis of x in step with it; -1: none */
        int64_t size;
    } positions[MICA_MAX_RANK];
    int32_t n_window; /* axes */
    struct {
        int32_t windows, x; /* the same axis in the windows' array and in x */
        int64_t size;
    } window[MICA_MAX_RANK];
    int64_t sizes[MICA_MAX_RANK]; /* of a window along every axis of x */
} mica_index_layout;

/* Of a node of gather or scatter. */
mica_index_dims mica_index_dims_of(const mica_node *n);
/* Of a node whose shape rule has passed. */
mica_index_layout mica_index_layout_of(const mica_node *n);

static inline bool mica_ints_have(mica_ints ints, int64_t value) {
    for (int32_t i = 0; i < ints.n; i++)
        if (ints.data[i] == value) return true;
    return false;
}

#endif
