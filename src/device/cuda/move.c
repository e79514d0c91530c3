/* Ops that move elements: each is one or several moves between two spaces (prelude/move.h). */
#include <stdio.h>
#include <string.h>

#include "device/cuda/steps.h"

bool cuda_move_takes(const mica_node *node) {
    switch ((int)node->op) {
    case MICA_OP_broadcast:
    case MICA_OP_reshape:
    case MICA_OP_bitcast:
    case MICA_OP_transpose:
    case MICA_OP_slice:
    case MICA_OP_pad:
    case MICA_OP_concat:
    case MICA_OP_reverse:
    case MICA_OP_dynamic_slice:
    case MICA_OP_dynamic_update_slice: return true;
    default: return false;
    }
}

/* ---- how elements are moved -------------------------------------------------------------------*/

static bool divides(const mica_space *s, int64_t unit) {
    for (int64_t d = 0; d < s->rank - 1; d++)
        if (s->strides[d] % unit != 0) return false;
    return s->strides[s->rank - 1] == 1 && s->sizes[s->rank - 1] % unit == 0;
}

static void divide(mica_space *s, int64_t unit) {
    for (int64_t d = 0; d < s->rank - 1; d++) s->strides[d] /= unit;
    s->sizes[s->rank - 1] /= unit;
    s->n /= unit;
}

/* Neighbours that stay neighbours are moved several at a time, up to 16 bytes. */
static size_t widen(mica_move_layout *a, size_t bytes, size_t alignment) {
    if (a->to.rank == 0) return bytes;
    for (size_t wide = 16; wide > bytes; wide /= 2) {
        int64_t unit = (int64_t)(wide / bytes);
        bool fits = wide <= alignment && divides(&a->from, unit) && divides(&a->to, unit) &&
                    a->from_offset % unit == 0 && a->to_offset % unit == 0;
        for (int64_t k = 0; k < a->entries; k++) fits = fits && a->entry_strides[k] % unit == 0;
        if (!fits) continue;
        divide(&a->from, unit);
        divide(&a->to, unit);
        a->from_offset /= unit;
        a->to_offset /= unit;
        for (int64_t k = 0; k < a->entries; k++) a->entry_strides[k] /= unit;
        return wide;
    }
    return bytes;
}

enum { LEAST_TURNED = 8 }; /* rows and columns of a matrix worth a tile */

/* The axis of s whose neighbours are neighbours in memory; -1: there is none. */
static int64_t dense_axis(const mica_space *s) {
    int64_t d = s->rank - 1;
    while (d >= 0 && s->strides[d] != 1) d--;
    return d;
}

/* Rows that become columns. */
static bool find_turn(const mica_move_layout *a, mica_turn_layout *out) {
    int64_t row = dense_axis(&a->to), column = dense_axis(&a->from);
    if (a->entries > 0 || row < 0 || column < 0 || row == column ||
        a->to.sizes[row] < LEAST_TURNED || a->to.sizes[column] < LEAST_TURNED)
        return false;
    *out = (mica_turn_layout){.from_offset = a->from_offset,
                              .to_offset = a->to_offset,
                              .rows = a->to.sizes[row],
                              .columns = a->to.sizes[column],
                              .from_stride = a->from.strides[row],
                              .to_stride = a->to.strides[column]};
    cuda_space_init(&out->from);
    cuda_space_init(&out->to);
    for (int64_t d = 0; d < a->to.rank; d++)
        if (d != row && d != column)
            cuda_space_add_pair(&out->from, &out->to, a->to.sizes[d], a->from.strides[d],
                                a->to.strides[d]);
    return true;
}

static mica_status add_turn(cuda_device *device, cuda_steps *steps, size_t bytes,
                            const mica_turn_layout *a, int32_t source) {
    char name[32];
    int64_t tiles = a->from.n * ((a->rows + 31) / 32) * ((a->columns + 31) / 32);
    snprintf(name, sizeof name, "turn%zu", bytes);
    return cuda_steps_add(device, steps, name, -(tiles < 1 << 20 ? tiles : 1 << 20), a, sizeof *a,
                          source, -1, -1);
}

mica_status cuda_move_add(cuda_device *device, cuda_steps *steps, size_t bytes, size_t alignment,
                          const mica_move_layout *layout, int32_t source, int32_t starts) {
    char name[32];
    mica_move_layout wide = *layout;
    mica_turn_layout turn;
    if (layout->to.n == 0) return NULL;
    if (find_turn(layout, &turn)) return add_turn(device, steps, bytes, &turn, source);
    snprintf(name, sizeof name, "move%zu", widen(&wide, bytes, alignment));
    return cuda_steps_add(device, steps, name, wide.to.n, &wide, sizeof wide, source, starts, -1);
}

static mica_status add_move(cuda_device *device, cuda_steps *steps, const mica_node *node,
                            const mica_move_layout *layout, int32_t source, int32_t starts) {
    size_t of_x = mica_alignment_of(mica_type_bytes(mica_operand_type(node, source)));
    size_t of_y = mica_alignment_of(mica_type_bytes(&node->results[0]));
    return cuda_move_add(device, steps, mica_dtype_bytes(node->results[0].dtype),
                         of_x < of_y ? of_x : of_y, layout, source, starts);
}

/* The strides in x of the result's axes, and where its first element lies. */
static void find_view(const mica_node *node, int64_t strides[MICA_MAX_RANK], int64_t *offset) {
    const mica_type *x = mica_operand_type(node, 0), *y = &node->results[0];
    int64_t of_x[MICA_MAX_RANK];
    cuda_strides(x, of_x);
    memset(strides, 0, MICA_MAX_RANK * sizeof *strides);
    *offset = 0;
    if (node->op == MICA_OP_broadcast) {
        mica_ints axes = mica_node_ints(node, "axes");
        for (int32_t i = 0; i < axes.n; i++)
            if (x->dims[i] > 1) strides[axes.data[i]] = of_x[i];
        return;
    }
    if (node->op == MICA_OP_transpose) {
        mica_ints permutation = mica_node_ints(node, "permutation");
        for (int32_t i = 0; i < y->rank; i++) strides[i] = of_x[permutation.data[i]];
        return;
    }
    memcpy(strides, of_x, (size_t)x->rank * sizeof *strides);
    if (node->op == MICA_OP_slice) {
        mica_ints start = mica_node_ints(node, "start"), stride = mica_node_ints(node, "stride");
        for (int32_t i = 0; i < y->rank; i++) {
            *offset += start.data[i] * of_x[i];
            strides[i] *= stride.n ? stride.data[i] : 1;
        }
    } else if (node->op == MICA_OP_reverse) {
        mica_ints axes = mica_node_ints(node, "axes");
        for (int32_t i = 0; i < axes.n; i++) {
            int64_t axis = axes.data[i];
            *offset += (x->dims[axis] - 1) * of_x[axis];
            strides[axis] = -of_x[axis];
        }
    }
}

static void init_layout(mica_move_layout *layout) {
    *layout = (mica_move_layout){0};
    cuda_space_init(&layout->from);
    cuda_space_init(&layout->to);
}

static mica_status add_view(cuda_device *device, cuda_steps *steps, const mica_node *node) {
    const mica_type *y = &node->results[0];
    int64_t from[MICA_MAX_RANK], to[MICA_MAX_RANK];
    mica_move_layout layout;
    init_layout(&layout);
    find_view(node, from, &layout.from_offset);
    cuda_strides(y, to);
    for (int32_t i = 0; i < y->rank; i++)
        cuda_space_add_pair(&layout.from, &layout.to, y->dims[i], from[i], to[i]);
    return add_move(device, steps, node, &layout, 0, -1);
}

/* The operand `source` into the result, from its place on. */
static mica_status add_part(cuda_device *device, cuda_steps *steps, const mica_node *node,
                            int32_t source, int64_t offset) {
    const mica_type *x = mica_operand_type(node, source), *y = &node->results[0];
    int64_t from[MICA_MAX_RANK], to[MICA_MAX_RANK];
    mica_move_layout layout;
    init_layout(&layout);
    cuda_strides(x, from);
    cuda_strides(y, to);
    layout.to_offset = offset;
    for (int32_t i = 0; i < x->rank; i++)
        cuda_space_add_pair(&layout.from, &layout.to, x->dims[i], from[i], to[i]);
    return add_move(device, steps, node, &layout, source, -1);
}

static mica_status add_concat(cuda_device *device, cuda_steps *steps, const mica_node *node) {
    int64_t axis = mica_node_int(node, "axis"), at = 0, strides[MICA_MAX_RANK];
    cuda_strides(&node->results[0], strides);
    for (int32_t i = 0; i < node->n_operands; i++) {
        MICA_TRY(add_part(device, steps, node, i, at * strides[axis]));
        at += mica_operand_type(node, i)->dims[axis];
    }
    return NULL;
}

/* The padding everywhere, then what is left of x. */
static mica_status add_pad(cuda_device *device, cuda_steps *steps, const mica_node *node) {
    const mica_type *x = mica_operand_type(node, 0), *y = &node->results[0];
    mica_ints low = mica_node_ints(node, "low"), interior = mica_node_ints(node, "interior");
    int64_t from[MICA_MAX_RANK], to[MICA_MAX_RANK];
    mica_move_layout fill, layout;
    init_layout(&fill);
    init_layout(&layout);
    cuda_space_add_pair(&fill.from, &fill.to, mica_type_elements(y), 0, 1);
    MICA_TRY(add_move(device, steps, node, &fill, 1, -1));
    cuda_strides(x, from);
    cuda_strides(y, to);
    for (int32_t i = 0; i < x->rank; i++) {
        /* Element e of x goes to low + e step, where that is inside. A step may be 2^63. */
        uint64_t step = (uint64_t)interior.data[i] + 1;
        int64_t first = 0, count = 0;
        if (low.data[i] < 0) first = (int64_t)(((uint64_t)-low.data[i] + step - 1) / step);
        if (first < x->dims[i]) {
            int64_t place = low.data[i] + (int64_t)((uint64_t)first * step);
            if (place < y->dims[i])
                count = (int64_t)((uint64_t)(y->dims[i] - 1 - place) / step) + 1;
            if (count > x->dims[i] - first) count = x->dims[i] - first;
            layout.from_offset += first * from[i];
            layout.to_offset += place * to[i];
        }
        cuda_space_add_pair(&layout.from, &layout.to, count, from[i],
                            count > 1 ? (int64_t)step * to[i] : 0);
    }
    return add_move(device, steps, node, &layout, 0, -1);
}

/* The slice of x0 that begins at the integers of operand `starts`, of the shape of `slice`; in the
 * target for an update. */
static mica_status add_dynamic(cuda_device *device, cuda_steps *steps, const mica_node *node,
                               const mica_type *slice, int32_t source, int32_t starts) {
    const mica_type *x = mica_operand_type(node, 0), *start = mica_operand_type(node, starts);
    bool is_update = node->op == MICA_OP_dynamic_update_slice;
    int64_t of_x[MICA_MAX_RANK], of_slice[MICA_MAX_RANK];
    mica_move_layout layout;
    init_layout(&layout);
    cuda_strides(x, of_x);
    cuda_strides(slice, of_slice);
    layout.entries = x->rank;
    layout.entry_bytes = (int64_t)mica_dtype_bytes(start->dtype);
    layout.entry_is_signed = mica_dtype_kind_of(start->dtype) == MICA_KIND_SIGNED;
    layout.in_target = is_update;
    for (int32_t i = 0; i < x->rank; i++) {
        layout.highest[i] = x->dims[i] - slice->dims[i];
        layout.entry_strides[i] = of_x[i];
        cuda_space_add_pair(&layout.from, &layout.to, slice->dims[i],
                            is_update ? of_slice[i] : of_x[i], is_update ? of_x[i] : of_slice[i]);
    }
    return add_move(device, steps, node, &layout, source, starts);
}

static mica_status add_steps(cuda_device *device, cuda_steps *steps, const mica_node *node) {
    size_t bytes = mica_type_bytes(&node->results[0]);
    switch ((int)node->op) {
    case MICA_OP_reshape:
    case MICA_OP_bitcast:
        cuda_steps_add_copy(steps, 0, bytes);
        steps->base.base.in_place_operands = 1;
        return NULL;
    case MICA_OP_concat: return add_concat(device, steps, node);
    case MICA_OP_pad: return add_pad(device, steps, node);
    case MICA_OP_dynamic_slice: return add_dynamic(device, steps, node, &node->results[0], 0, 1);
    case MICA_OP_dynamic_update_slice:
        cuda_steps_add_copy(steps, 0, bytes);
        steps->base.base.in_place_operands = 1;
        return add_dynamic(device, steps, node, mica_operand_type(node, 1), 1, 2);
    default: return add_view(device, steps, node);
    }
}

mica_status cuda_move_create(cuda_device *device, const mica_node *node, cuda_kernel **out_kernel) {
    cuda_steps *steps;
    int32_t most = node->op == MICA_OP_concat ? node->n_operands : 2;
    MICA_TRY(cuda_steps_create(device, CUDA_MOVE, node->results[0].dtype, most, &steps));
    return cuda_steps_finish(device, add_steps(device, steps, node), steps, out_kernel);
}
