/* All rules of sort and top_k. Where the elements go depends on the keys in steps: tangents go
 * the same way as their values. */
#include "transform/rules.h"
#include "transform/vmap.h"

/* y[.., i, ..] = x[.., indices[.., i, ..], ..] along an axis. */
static mica_value take_along(mica_graph *g, mica_value x, mica_value indices, int32_t axis) {
    const mica_type *type = mica_value_type(x);
    int64_t others[MICA_MAX_RANK], sizes[MICA_MAX_RANK];
    int32_t n = 0;
    if (!type) return MICA_NULL_VALUE;
    if (type->dims[axis] == 0) return x; /* nothing to take, and nothing to take from */
    for (int32_t i = 0; i < type->rank; i++) {
        sizes[i] = 1;
        if (i != axis) others[n++] = i;
    }
    return mica_gather(g, x, indices, MICA_NO_INTS, MICA_INTS(axis), (mica_ints){others, n},
                       (mica_ints){others, n}, MICA_INTS(axis), type->rank,
                       (mica_ints){sizes, type->rank}, "clip");
}

/* A result of a sort that already is the permutation: of an operand that counts along the axis. */
static mica_value known_permutation(const mica_node *n, int64_t axis) {
    for (int32_t i = 0; i < n->n_operands; i++) {
        const mica_node *from = n->operands[i].node;
        mica_dtype dtype = n->results[i].dtype;
        bool fits = dtype == MICA_DTYPE_i64 ||
                    (dtype == MICA_DTYPE_i32 && n->results[i].dims[axis] <= INT32_MAX);
        if (from->op == MICA_OP_iota && fits && mica_node_int(from, "axis") == axis)
            return mica_node_result(n, i);
    }
    return MICA_NULL_VALUE;
}

/* Where each element of the results came from: the keys sorted once more, with their places. */
static mica_value permutation_of(mica_tangent_pass *pass, const mica_node *n) {
    mica_graph *g = pass->g;
    const mica_type *type = &n->results[0];
    int64_t axis = mica_node_int(n, "axis"), keys = mica_node_int(n, "keys");
    mica_value known = known_permutation(n, axis);
    if (!mica_value_is_null(known)) return known;
    mica_value *operands =
        mica_transform_alloc(pass->t, g, (size_t)(2 * keys + 2), sizeof *operands);
    if (!operands) return MICA_NULL_VALUE;
    for (int64_t i = 0; i < keys; i++) operands[i] = n->operands[i];
    mica_dtype dtype = type->dims[axis] <= INT32_MAX ? MICA_DTYPE_i32 : MICA_DTYPE_i64;
    operands[keys] = mica_iota(g, (mica_ints){type->dims, type->rank}, axis, dtype);
    mica_value *sorted = operands + keys + 1;
    mica_sort(g, operands, (int32_t)keys + 1, axis, keys, mica_node_int(n, "descending"), sorted);
    return sorted[keys];
}

MICA_JVP_RULE(sort) {
    mica_value permutation = permutation_of(pass, n);
    for (int32_t i = 0; i < n->n_operands; i++)
        if (!mica_is_zero(dx[i]))
            dy[i] = take_along(pass->g, dx[i], permutation, (int32_t)mica_node_int(n, "axis"));
}

MICA_VMAP_RULE(sort) {
    mica_graph *g = pass->g;
    mica_value *operands =
        mica_transform_alloc(pass->t, g, 2 * (size_t)n->n_operands, sizeof *operands);
    if (!operands) return;
    mica_value *sorted = operands + n->n_operands;
    for (int32_t i = 0; i < n->n_operands; i++) operands[i] = mica_mapped(pass, x[i]);
    mica_sort(g, operands, n->n_operands, mica_node_int(n, "axis") + 1, mica_node_int(n, "keys"),
              mica_node_int(n, "descending"), sorted);
    for (int32_t i = 0; i < n->n_operands; i++) y[i] = (mica_batched){sorted[i], true};
}

MICA_JVP_RULE(top_k) {
    dy[0] = take_along(pass->g, dx[0], mica_node_result(n, 1), n->results[0].rank - 1);
}
