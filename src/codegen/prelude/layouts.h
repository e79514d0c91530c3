/* codegen/prelude/layouts.h: the arguments of the kernels in this folder, for those who launch them
 * too. Addresses are numbers; sizes and strides count elements. The integers of <stdint.h> must be
 * there. */
#ifndef MICA_CODEGEN_PRELUDE_LAYOUTS_H
#define MICA_CODEGEN_PRELUDE_LAYOUTS_H

/* Axes, the last one first to change. Axes that continue each other are one. */
#define MICA_SPACE_AXES 16
typedef struct mica_space {
    int64_t rank, n; /* n: elements */
    int64_t sizes[MICA_SPACE_AXES], strides[MICA_SPACE_AXES];
} mica_space;

/* What a launch fills in. */
typedef struct mica_places {
    uint64_t x[3], y, scratch;
} mica_places;

/* y[to + to_offset] = x[from + from_offset], element by element. With entries, the integers at x[1]
 * say where a slice begins, in `from` or (in_target) in `to`: each between 0 and highest. */
typedef struct mica_move_layout {
    mica_places at;
    mica_space from, to;
    int64_t from_offset, to_offset;
    int64_t entries, entry_bytes, entry_is_signed, in_target;
    int64_t highest[MICA_SPACE_AXES], entry_strides[MICA_SPACE_AXES];
} mica_move_layout;

/* y[to + column * to_stride + row] = x[from + row * from_stride + column], in each of the places of
 * two spaces of the same axes. */
typedef struct mica_turn_layout {
    mica_places at;
    mica_space from, to;
    int64_t from_offset, to_offset;
    int64_t rows, columns, from_stride, to_stride;
} mica_turn_layout;

/* y[i] = i / inner % size + start, as the dtype. */
typedef struct mica_iota_layout {
    mica_places at;
    int64_t n, inner, size;
} mica_iota_layout;

/* See prelude/reduce.h. */
typedef struct mica_reduce_layout {
    mica_places at;
    mica_space kept, reduced; /* all axes but the innermost */
    int64_t inner;            /* size of the innermost axis */
    int64_t parts, blocks;    /* per result; by rows: per row */
    int64_t results;
} mica_reduce_layout;

/* y[b, m, n] = the sum over k of x0[b, m, k] x1[b, k, n]. */
typedef struct mica_dot_layout {
    mica_places at;
    mica_space left_batch, left_rows, left_depth;
    mica_space right_batch, right_columns, right_depth;
    int64_t left_runs_down, right_runs_down; /* neighbours in memory are along depth */
} mica_dot_layout;

#define MICA_CONV_ROLES 5 /* batch, channels, three spatial axes */
typedef struct mica_conv_arguments {
    mica_places at;
    int64_t n, rank;                    /* of the result */
    int64_t y_sizes[MICA_CONV_ROLES];   /* in the order of its axes ... */
    int64_t y_roles[MICA_CONV_ROLES];   /* ... and what each is */
    int64_t x_strides[MICA_CONV_ROLES]; /* by role */
    int64_t k_strides[MICA_CONV_ROLES]; /* by role: 0 output, 1 input channels */
    int64_t x_sizes[3], k_sizes[3];     /* spatial; absent axes have size 1 */
    int64_t strides[3], low[3], x_dilation[3], k_dilation[3];
    int64_t group_inputs, group_outputs; /* channels */
    int64_t group_batch, batch_group_outputs;
} mica_conv_arguments;

/* Element i of the array of windows lies in x where its window's index vector says. */
typedef struct mica_index_arguments {
    mica_places at; /* x, indices, updates */
    int64_t n, rank;
    int64_t sizes[MICA_SPACE_AXES];         /* of the array of windows */
    int64_t x_strides[MICA_SPACE_AXES];     /* per axis of it; 0: numbers the index vectors */
    int64_t index_strides[MICA_SPACE_AXES]; /* per axis of it; 0: runs inside a window */
    int64_t entries, entry_stride, index_bytes, index_is_signed, fills;
    int64_t highest[MICA_SPACE_AXES], entry_x_strides[MICA_SPACE_AXES];
    /* Scatter: the same axes in two spaces, positions and inside. */
    mica_space position_updates, window_updates;
    int64_t shards; /* of the elements of x: a thread per shard and element of a window */
} mica_index_arguments;

typedef struct mica_window_arguments {
    mica_places at;
    int64_t n, rank, window_elements;
    int64_t x_sizes[MICA_SPACE_AXES], x_strides[MICA_SPACE_AXES], y_sizes[MICA_SPACE_AXES];
    int64_t y_strides[MICA_SPACE_AXES];
    int64_t window[MICA_SPACE_AXES], stride[MICA_SPACE_AXES], low[MICA_SPACE_AXES];
    int64_t base_dilation[MICA_SPACE_AXES], window_dilation[MICA_SPACE_AXES];
} mica_window_arguments;

/* See prelude/pool.h. Neighbouring axes without windows are one. */
typedef struct mica_pool_axis {
    int32_t size, results; /* of x; how many windows */
    int32_t window, stride, low, base_dilation, window_dilation;
} mica_pool_axis;
typedef struct mica_pool_arguments {
    mica_places at;
    int64_t n;     /* groups of the result */
    int32_t inner; /* groups of the innermost axis */
    mica_pool_axis axes[3];
} mica_pool_arguments;

/* Lines along an axis: line l begins at l / inner * size * inner + l % inner. */
typedef struct mica_line_arguments {
    mica_places at;
    int64_t lines, size, inner;
    int64_t reverse, exclusive, index_bytes;
} mica_line_arguments;

#endif
