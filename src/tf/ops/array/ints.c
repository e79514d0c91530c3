/* What is known of integers that are made, joined and cut while a graph is built. */
#include <string.h>

#include "tf/ints_rules.h"

MICA_TF_INTS(constant) {
    const mica_tf_operation *o = node->operation;
    (void)g, (void)depth;
    mica_tf_value value = mica_tf_attr_find(o->info, o->attrs, "value")->as.value;
    if (!mica_tf_is_core(value.dtype)) return false;
    mica_status status = mica_tf_tensor_ints(value.object, out, MICA_TF_MOST_KNOWN, n);
    bool read = status == NULL;
    mica_status_release(status);
    if (read) mica_tf_as_known(out, *n);
    return read;
}

MICA_TF_INTS(shape) {
    mica_tf_shape shape;
    (void)depth;
    mica_tf_graph_type(g, node->inputs[0], &shape);
    if (shape.rank < 0) return false;
    *n = shape.rank;
    for (int32_t i = 0; i < shape.rank; i++)
        out[i] = shape.dims[i] < 0 ? MICA_TF_UNKNOWN_INT : shape.dims[i];
    return true;
}

MICA_TF_INTS(size) {
    mica_tf_shape shape;
    (void)depth;
    mica_tf_graph_type(g, node->inputs[0], &shape);
    *n = 1;
    out[0] = mica_tf_shape_elements(&shape);
    if (out[0] < 0) out[0] = MICA_TF_UNKNOWN_INT;
    return true;
}

MICA_TF_INTS(rank) {
    mica_tf_shape shape;
    (void)depth;
    mica_tf_graph_type(g, node->inputs[0], &shape);
    *n = 1;
    out[0] = shape.rank < 0 ? MICA_TF_UNKNOWN_INT : shape.rank;
    return true;
}

MICA_TF_INTS(same) {
    return mica_tf_known_ints(g, node->inputs[0], out, n, depth);
}

/* Whether a node joins its parts along their first axis, so that their elements follow each other.
 */
static bool joins_first_axis(const mica_tf_graph *g, const mica_tf_node *node, int depth) {
    int64_t axis[MICA_TF_MOST_KNOWN];
    int32_t n;
    mica_tf_ref last = node->inputs[node->n_inputs - 1];
    if (!mica_tf_known_ints(g, last, axis, &n, depth) || n != 1) return false;
    return axis[0] == 0 || (axis[0] == -1 && node->shapes[0].rank == 1);
}

/* Several tensors one after the other. */
static bool joined_ints(const mica_tf_graph *g, const mica_tf_node *node, int32_t count,
                        int64_t *out, int32_t *n, int depth) {
    int64_t part[MICA_TF_MOST_KNOWN];
    *n = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t n_part;
        mica_tf_shape shape;
        mica_tf_graph_type(g, node->inputs[i], &shape);
        if (!mica_tf_known_ints(g, node->inputs[i], part, &n_part, depth)) {
            int64_t elements = mica_tf_shape_elements(&shape);
            if (elements < 0 || elements > MICA_TF_MOST_KNOWN) return false;
            n_part = (int32_t)elements;
            for (int32_t k = 0; k < n_part; k++) part[k] = MICA_TF_UNKNOWN_INT;
        }
        if (*n + n_part > MICA_TF_MOST_KNOWN) return false;
        memcpy(out + *n, part, sizeof *part * (size_t)n_part);
        *n += n_part;
    }
    return true;
}

MICA_TF_INTS(pack) {
    const mica_tf_operation *o = node->operation;
    if (mica_tf_attr_find(o->info, o->attrs, "axis")->as.integer != 0) return false;
    return joined_ints(g, node, node->n_inputs, out, n, depth);
}

MICA_TF_INTS(concat) {
    return joins_first_axis(g, node, depth) &&
           joined_ints(g, node, node->n_inputs - 1, out, n, depth);
}

/* Of a shape that is known. */
static bool filled_ints(const mica_tf_graph *g, const mica_tf_node *node, int64_t element,
                        int64_t *out, int32_t *n) {
    mica_tf_shape shape;
    mica_tf_graph_type(g, node->inputs[0], &shape);
    int64_t elements = mica_tf_shape_elements(&shape);
    if (elements < 0 || elements > MICA_TF_MOST_KNOWN) return false;
    *n = (int32_t)elements;
    for (int32_t i = 0; i < *n; i++) out[i] = element;
    return true;
}

MICA_TF_INTS(zeros) {
    (void)depth;
    return filled_ints(g, node, 0, out, n);
}

MICA_TF_INTS(ones) {
    (void)depth;
    return filled_ints(g, node, 1, out, n);
}

MICA_TF_INTS(range) {
    int64_t bounds[3][MICA_TF_MOST_KNOWN];
    int32_t n_bound;
    for (int32_t i = 0; i < 3; i++)
        if (!mica_tf_known_ints(g, node->inputs[i], bounds[i], &n_bound, depth) || n_bound != 1 ||
            bounds[i][0] == MICA_TF_UNKNOWN_INT)
            return false;
    int64_t delta = bounds[2][0];
    if (delta == 0) return false;
    int64_t count = mica_tf_range_length(bounds[0][0], bounds[1][0], delta);
    if (count > MICA_TF_MOST_KNOWN) return false;
    *n = (int32_t)count;
    for (int32_t i = 0; i < *n; i++) out[i] = bounds[0][0] + i * delta;
    return true;
}

MICA_TF_INTS(slice) {
    static const char *const names[] = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                        "shrink_axis_mask"};
    int64_t x[MICA_TF_MOST_KNOWN], bounds[3][MICA_TF_MOST_KNOWN], masks[5];
    int32_t n_x, n_bounds[3];
    mica_tf_shape vector;
    mica_tf_graph_type(g, node->inputs[0], &vector);
    if (vector.rank != 1 || !mica_tf_known_ints(g, node->inputs[0], x, &n_x, depth)) return false;
    for (int32_t i = 0; i < 3; i++)
        if (!mica_tf_known_ints(g, node->inputs[i + 1], bounds[i], &n_bounds[i], depth) ||
            n_bounds[i] != 1 || bounds[i][0] == MICA_TF_UNKNOWN_INT)
            return false;
    for (int32_t i = 0; i < 5; i++)
        masks[i] =
            mica_tf_attr_find(node->operation->info, node->operation->attrs, names[i])->as.integer;
    mica_tf_shape shape = {.rank = 1, .dims = {n_x}};
    mica_tf_slice slice;
    mica_status status =
        mica_tf_slice_make(&shape, bounds[0], bounds[1], bounds[2], 1, masks, &slice);
    bool made = status == NULL && slice.begin[0] >= 0 && !masks[3];
    mica_status_release(status);
    if (!made) return false;
    *n = (int32_t)slice.size[0];
    for (int32_t i = 0; i < *n; i++) out[i] = x[slice.begin[0] + i * slice.stride[0]];
    return true;
}
