/* Tangents of shape ops, contractions, reductions and collectives. */
#include <string.h>

#include "transform/rules.h"

/* Missing tangents are zeros. */
MICA_JVP_RULE(concat) {
    mica_graph *g = pass->g;
    mica_value *tangents =
        mica_transform_alloc(pass->t, g, (size_t)n->n_operands, sizeof *tangents);
    if (!tangents) return;
    for (int32_t k = 0; k < n->n_operands; k++)
        tangents[k] = mica_or_zeros(g, dx[k], mica_operand_type(n, k));
    dy[0] = mica_like(g, n, tangents);
}

/* The start is fixed. */
MICA_JVP_RULE(dynamic_slice) {
    mica_value operands[] = {dx[0], n->operands[1]};
    dy[0] = mica_like(pass->g, n, operands);
}

MICA_JVP_RULE(dynamic_update_slice) {
    mica_value operands[] = {mica_or_zeros(pass->g, dx[0], mica_operand_type(n, 0)),
                             mica_or_zeros(pass->g, dx[1], mica_operand_type(n, 1)),
                             n->operands[2]};
    dy[0] = mica_like(pass->g, n, operands);
}

/* d(a . b) = da . b + a . db */
MICA_JVP_RULE(bilinear) {
    mica_graph *g = pass->g;
    mica_value by_a[] = {dx[0], n->operands[1]}, by_b[] = {n->operands[0], dx[1]};
    mica_value da = mica_is_zero(dx[0]) ? dx[0] : mica_like(g, n, by_a);
    mica_value db = mica_is_zero(dx[1]) ? dx[1] : mica_like(g, n, by_b);
    dy[0] = mica_sum_of(g, da, db);
}

/* y, the reduction of x over axes, stretched to x's shape again */
static mica_value stretch(mica_graph *g, mica_value y, mica_value x, mica_ints axes) {
    const mica_type *type = mica_value_type(x);
    int64_t kept[MICA_MAX_RANK];
    int32_t n_kept = 0;
    if (!type) return MICA_NULL_VALUE;
    for (int32_t i = 0; i < type->rank; i++) {
        bool reduced = false;
        for (int32_t k = 0; k < axes.n; k++) reduced |= axes.data[k] == i;
        if (!reduced) kept[n_kept++] = i;
    }
    return mica_broadcast(g, y, (mica_ints){type->dims, type->rank}, (mica_ints){kept, n_kept});
}

/* The tangent of an extremum is the mean of the tangents of all elements that attain it. */
static mica_value extremum_tangent(mica_graph *g, const mica_node *n, mica_value dx) {
    mica_value x = n->operands[0], y = mica_node_result(n, 0);
    mica_ints axes = mica_node_ints(n, "axes");
    mica_value attained = mica_compare(g, x, stretch(g, y, x, axes), "eq");
    mica_value weight = mica_as(g, attained, n->results[0].dtype);
    mica_value count = mica_reduce(g, weight, "sum", axes);
    weight = mica_div(g, weight, stretch(g, count, x, axes));
    return mica_reduce(g, mica_mul(g, weight, dx), "sum", axes);
}

/* One half of x along axis 0: elements begin to end. */
static mica_value part(mica_graph *g, mica_value x, int64_t begin, int64_t end) {
    const mica_type *type = mica_value_type(x);
    int64_t start[MICA_MAX_RANK] = {0}, limit[MICA_MAX_RANK], stride[MICA_MAX_RANK];
    if (!type) return MICA_NULL_VALUE;
    for (int32_t i = 0; i < type->rank; i++) limit[i] = type->dims[i], stride[i] = 1;
    start[0] = begin;
    limit[0] = end;
    return mica_slice(g, x, (mica_ints){start, type->rank}, (mica_ints){limit, type->rank},
                      (mica_ints){stride, type->rank});
}

/* x with the reduced axes made one, in front: (product of reduced sizes, other sizes) */
static mica_value reduced_first(mica_graph *g, mica_value x, mica_ints axes) {
    const mica_type *type = mica_value_type(x);
    int64_t permutation[MICA_MAX_RANK], shape[MICA_MAX_RANK + 1] = {1};
    int32_t n = 0, rank = 1;
    uint32_t reduced = 0;
    if (!type) return MICA_NULL_VALUE;
    for (int32_t k = 0; k < axes.n; k++) {
        permutation[n++] = axes.data[k];
        reduced |= 1u << axes.data[k];
        shape[0] *= type->dims[axes.data[k]];
    }
    for (int32_t i = 0; i < type->rank; i++) {
        if (reduced & 1u << i) continue;
        permutation[n++] = i;
        shape[rank++] = type->dims[i];
    }
    return mica_reshape(g, mica_transpose(g, x, (mica_ints){permutation, n}),
                        (mica_ints){shape, rank});
}

static mica_value one_more(mica_graph *g, mica_value x, double value) {
    const mica_type *type = mica_value_type(x);
    int64_t low[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK] = {1};
    if (!type) return MICA_NULL_VALUE;
    mica_ints none = {low, type->rank};
    return mica_pad(g, x, mica_scalar(g, type->dtype, value), none, (mica_ints){high, type->rank},
                    none);
}

/* A product as a tree of products of two, each with the product rule: right where elements are
 * zero, and of any order, since nothing is divided. */
static mica_value product_tangent(mica_graph *g, const mica_node *n, mica_value dx) {
    mica_ints axes = mica_node_ints(n, "axes");
    if (axes.n == 0) return dx;
    mica_value x = reduced_first(g, n->operands[0], axes);
    dx = reduced_first(g, dx, axes);
    int64_t size = mica_value_type(x) ? mica_value_type(x)->dims[0] : 0;
    if (size == 0) return MICA_NULL_VALUE;
    while (size > 1 && !g->error) {
        if (size % 2) x = one_more(g, x, 1), dx = one_more(g, dx, 0), size++;
        mica_value a = part(g, x, 0, size / 2), b = part(g, x, size / 2, size);
        mica_value da = part(g, dx, 0, size / 2), db = part(g, dx, size / 2, size);
        x = mica_mul(g, a, b);
        dx = mica_add(g, mica_mul(g, b, da), mica_mul(g, a, db));
        size /= 2;
    }
    return mica_reshape(g, dx, (mica_ints){n->results[0].dims, n->results[0].rank});
}

MICA_JVP_RULE(reduce) {
    const char *kind = mica_node_string(n, "kind");
    if (!strcmp(kind, "sum"))
        dy[0] = mica_like(pass->g, n, dx);
    else if (!strcmp(kind, "prod"))
        dy[0] = product_tangent(pass->g, n, dx[0]);
    else
        dy[0] = extremum_tangent(pass->g, n, dx[0]);
}
