/* Integer values as far as they follow from constants and known sizes, while a graph is built.
 *
 * This is what lets shapes come out of shape arithmetic: tf.zeros(tf.shape(x) + 1). */
#include <string.h>

#include "tf/tf.h"

enum { MOST = 64, DEEPEST = 32 };

static bool ints_of(const mica_tf_graph *g, mica_tf_ref ref, int64_t *out, int32_t *n, int depth);

static bool constant_ints(const mica_tf_operation *o, int64_t *out, int32_t *n) {
    mica_tf_value value = mica_tf_attr_find(o->info, o->attrs, "value")->as.value;
    if (!mica_tf_is_core(value.dtype)) return false;
    mica_status status = mica_tf_tensor_ints(value.object, out, MOST, n);
    bool read = status == NULL;
    mica_status_release(status);
    if (read) mica_tf_as_known(out, *n);
    return read;
}

static void shape_ints(const mica_tf_shape *shape, int64_t *out, int32_t *n) {
    *n = shape->rank;
    for (int32_t i = 0; i < shape->rank; i++)
        out[i] = shape->dims[i] < 0 ? MICA_TF_UNKNOWN_INT : shape->dims[i];
}

static int64_t floor_div(int64_t x, int64_t y) {
    return x / y - (x % y < 0);
}

/* What does not fit into 64 bits is left to the op itself, which wraps as its dtype does. */
static int64_t combine(mica_tf_op op, int64_t x, int64_t y) {
    int64_t sum, difference, product;
    bool adds = !__builtin_add_overflow(x, y, &sum);
    bool subtracts = !__builtin_sub_overflow(x, y, &difference);
    bool multiplies = !__builtin_mul_overflow(x, y, &product);
    if (op == MICA_TF_Mul && (x == 0 || y == 0)) return 0;
    if (x == MICA_TF_UNKNOWN_INT || y == MICA_TF_UNKNOWN_INT) return MICA_TF_UNKNOWN_INT;
    switch (op) {
    case MICA_TF_AddV2:
    case MICA_TF_Add: return adds ? sum : MICA_TF_UNKNOWN_INT;
    case MICA_TF_Sub: return subtracts ? difference : MICA_TF_UNKNOWN_INT;
    case MICA_TF_Mul: return multiplies ? product : MICA_TF_UNKNOWN_INT;
    case MICA_TF_Maximum: return x > y ? x : y;
    case MICA_TF_Minimum: return x < y ? x : y;
    case MICA_TF_FloorDiv: return y > 0 ? floor_div(x, y) : MICA_TF_UNKNOWN_INT;
    case MICA_TF_FloorMod: return y > 0 ? x - floor_div(x, y) * y : MICA_TF_UNKNOWN_INT;
    default: return MICA_TF_UNKNOWN_INT;
    }
}

static bool binary_ints(const mica_tf_graph *g, const mica_tf_node *node, int64_t *out, int32_t *n,
                        int depth) {
    int64_t y[MOST];
    int32_t n_y;
    if (!ints_of(g, node->inputs[0], out, n, depth) || !ints_of(g, node->inputs[1], y, &n_y, depth))
        return false;
    if (*n == 1 && n_y > 1) {
        for (int32_t i = 1; i < n_y; i++) out[i] = out[0];
        *n = n_y;
    }
    if (n_y != 1 && n_y != *n) return false;
    for (int32_t i = 0; i < *n; i++)
        out[i] = combine(node->operation->op, out[i], y[n_y == 1 ? 0 : i]);
    return true;
}

/* Whether a node joins its parts along their first axis, so that their elements follow each other.
 */
static bool joins_first_axis(const mica_tf_graph *g, const mica_tf_node *node, int depth) {
    int64_t axis[MOST];
    int32_t n;
    if (node->operation->op == MICA_TF_Pack)
        return mica_tf_attr_find(node->operation->info, node->operation->attrs, "axis")
                   ->as.integer == 0;
    mica_tf_ref last = node->inputs[node->n_inputs - 1];
    if (!ints_of(g, last, axis, &n, depth) || n != 1) return false;
    return axis[0] == 0 || (axis[0] == -1 && node->shapes[0].rank == 1);
}

/* Several tensors one after the other. */
static bool joined_ints(const mica_tf_graph *g, const mica_tf_node *node, int32_t count,
                        int64_t *out, int32_t *n, int depth) {
    int64_t part[MOST];
    *n = 0;
    if (!joins_first_axis(g, node, depth)) return false;
    for (int32_t i = 0; i < count; i++) {
        int32_t n_part;
        mica_tf_shape shape;
        mica_tf_graph_type(g, node->inputs[i], &shape);
        if (!ints_of(g, node->inputs[i], part, &n_part, depth)) {
            int64_t elements = mica_tf_shape_elements(&shape);
            if (elements < 0 || elements > MOST) return false;
            n_part = (int32_t)elements;
            for (int32_t k = 0; k < n_part; k++) part[k] = MICA_TF_UNKNOWN_INT;
        }
        if (*n + n_part > MOST) return false;
        memcpy(out + *n, part, sizeof *part * (size_t)n_part);
        *n += n_part;
    }
    return true;
}

/* Zeros or ones of a shape that is known. */
static bool filled_ints(const mica_tf_graph *g, const mica_tf_node *node, int64_t *out,
                        int32_t *n) {
    mica_tf_shape shape;
    mica_tf_graph_type(g, node->inputs[0], &shape);
    int64_t elements = mica_tf_shape_elements(&shape);
    if (elements < 0 || elements > MOST) return false;
    *n = (int32_t)elements;
    for (int32_t i = 0; i < *n; i++) out[i] = node->operation->op == MICA_TF_OnesLike;
    return true;
}

static bool range_ints(const mica_tf_graph *g, const mica_tf_node *node, int64_t *out, int32_t *n,
                       int depth) {
    int64_t bounds[3][MOST];
    int32_t n_bound;
    for (int32_t i = 0; i < 3; i++)
        if (!ints_of(g, node->inputs[i], bounds[i], &n_bound, depth) || n_bound != 1 ||
            bounds[i][0] == MICA_TF_UNKNOWN_INT)
            return false;
    int64_t delta = bounds[2][0];
    if (delta == 0) return false;
    int64_t count = mica_tf_range_length(bounds[0][0], bounds[1][0], delta);
    if (count > MOST) return false;
    *n = (int32_t)count;
    for (int32_t i = 0; i < *n; i++) out[i] = bounds[0][0] + i * delta;
    return true;
}

static bool sliced_ints(const mica_tf_graph *g, const mica_tf_node *node, int64_t *out, int32_t *n,
                        int depth) {
    static const char *const names[] = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                        "shrink_axis_mask"};
    int64_t x[MOST], bounds[3][MOST], masks[5];
    int32_t n_x, n_bounds[3];
    mica_tf_shape vector;
    mica_tf_graph_type(g, node->inputs[0], &vector);
    if (vector.rank != 1 || !ints_of(g, node->inputs[0], x, &n_x, depth)) return false;
    for (int32_t i = 0; i < 3; i++)
        if (!ints_of(g, node->inputs[i + 1], bounds[i], &n_bounds[i], depth) || n_bounds[i] != 1 ||
            bounds[i][0] == MICA_TF_UNKNOWN_INT)
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

static bool ints_of(const mica_tf_graph *g, mica_tf_ref ref, int64_t *out, int32_t *n, int depth) {
    const mica_tf_node *node = mica_tf_node_of(g, ref);
    mica_tf_shape shape;
    if (!node->operation || depth > DEEPEST) return false;
    switch (node->operation->op) {
    case MICA_TF_Const: return constant_ints(node->operation, out, n);
    case MICA_TF_Shape:
        mica_tf_graph_type(g, node->inputs[0], &shape);
        if (shape.rank < 0) return false;
        shape_ints(&shape, out, n);
        return true;
    case MICA_TF_Size:
        mica_tf_graph_type(g, node->inputs[0], &shape);
        *n = 1;
        out[0] = mica_tf_shape_elements(&shape);
        if (out[0] < 0) out[0] = MICA_TF_UNKNOWN_INT;
        return true;
    case MICA_TF_Rank:
        mica_tf_graph_type(g, node->inputs[0], &shape);
        *n = 1;
        out[0] = shape.rank < 0 ? MICA_TF_UNKNOWN_INT : shape.rank;
        return true;
    case MICA_TF_Cast:
        if (mica_dtype_kind_of(mica_tf_dtype_core(node->dtypes[0])) == MICA_KIND_FLOAT)
            return false;
        return ints_of(g, node->inputs[0], out, n, depth + 1);
    case MICA_TF_Identity:
    case MICA_TF_ExpandDims:
    case MICA_TF_Squeeze:
    case MICA_TF_Reshape: return ints_of(g, node->inputs[0], out, n, depth + 1);
    case MICA_TF_AddV2:
    case MICA_TF_Add:
    case MICA_TF_Sub:
    case MICA_TF_Mul:
    case MICA_TF_Maximum:
    case MICA_TF_Minimum:
    case MICA_TF_FloorDiv:
    case MICA_TF_FloorMod: return binary_ints(g, node, out, n, depth + 1);
    case MICA_TF_ZerosLike:
    case MICA_TF_OnesLike: return filled_ints(g, node, out, n);
    case MICA_TF_Range: return range_ints(g, node, out, n, depth + 1);
    case MICA_TF_Pack: return joined_ints(g, node, node->n_inputs, out, n, depth + 1);
    case MICA_TF_ConcatV2: return joined_ints(g, node, node->n_inputs - 1, out, n, depth + 1);
    case MICA_TF_StridedSlice: return sliced_ints(g, node, out, n, depth + 1);
    default: return false;
    }
}

bool mica_tf_graph_ints(const mica_tf_graph *g, mica_tf_ref ref, int64_t *out_ints,
                        int32_t *out_n) {
    if (!g) return false;
    mica_tf_dtype dtype = mica_tf_graph_type(g, ref, NULL);
    if (!mica_tf_is_core(dtype)) return false;
    mica_dtype_kind kind = mica_dtype_kind_of(mica_tf_dtype_core(dtype));
    if (kind != MICA_KIND_SIGNED && kind != MICA_KIND_UNSIGNED) return false;
    return ints_of(g, ref, out_ints, out_n, 0);
}
