#include "transform/linalg.h"

#include "transform/vmap.h"

mica_value mica_matrix_transpose(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    return mica_move_axis(g, x, type->rank - 1, type->rank - 2);
}

/* Contracts axis rank - from_a of a with axis rank - from_b of b. */
static mica_value product(mica_graph *g, mica_value a, mica_value b, int32_t from_a,
                          int32_t from_b) {
    const mica_type *x = mica_value_type(a), *y = mica_value_type(b);
    int64_t batch[MICA_MAX_RANK];
    if (!x || !y) return MICA_NULL_VALUE;
    for (int32_t i = 0; i < x->rank - 2; i++) batch[i] = i;
    mica_ints leading = {batch, x->rank - 2};
    return mica_dot(g, a, b, MICA_INTS(x->rank - from_a), MICA_INTS(y->rank - from_b), leading,
                    leading);
}

mica_value mica_matrix_product(mica_graph *g, mica_value a, mica_value b) {
    return product(g, a, b, 1, 2);
}

mica_value mica_matrix_product_tn(mica_graph *g, mica_value a, mica_value b) {
    return product(g, a, b, 2, 2);
}

mica_value mica_matrix_product_nt(mica_graph *g, mica_value a, mica_value b) {
    return product(g, a, b, 1, 1);
}

/* bool, (rows, columns) of x */
static mica_value where(mica_graph *g, mica_value x, const char *direction) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    mica_ints shape = {type->dims + type->rank - 2, 2};
    return mica_compare(g, mica_iota(g, shape, 0, MICA_DTYPE_i64),
                        mica_iota(g, shape, 1, MICA_DTYPE_i64), direction);
}

mica_value mica_matrix_part(mica_graph *g, mica_value x, const char *direction) {
    return mica_select(g, where(g, x, direction), x, mica_zeros_like(g, x));
}

mica_value mica_matrix_identity(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    return mica_convert(g, where(g, x, "eq"), type->dtype);
}

mica_value mica_matrix_mirror(mica_graph *g, mica_value x) {
    mica_value below = mica_matrix_transpose(g, mica_matrix_part(g, x, "gt"));
    return mica_add(g, mica_matrix_part(g, x, "ge"), below);
}
