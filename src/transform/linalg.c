#include "transform/linalg.h"

#include "transform/vmap.h"

mica_value mica_matrix_transpose(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    return mica_move_axis(g, x, type->rank - 1, type->rank - 2);
}

bool mica_matrix_is_complex(mica_value x) {
    const mica_type *type = mica_value_type(x);
    return type && mica_dtype_kind_of(type->dtype) == MICA_KIND_COMPLEX;
}

mica_value mica_matrix_conj(mica_graph *g, mica_value x) {
    return mica_matrix_is_complex(x) ? mica_conj(g, x) : x;
}

mica_value mica_matrix_adjoint(mica_graph *g, mica_value x) {
    return mica_matrix_conj(g, mica_matrix_transpose(g, x));
}

mica_value mica_matrix_as(mica_graph *g, mica_value x, mica_dtype dtype) {
    const mica_type *type = mica_value_type(x);
    return !type || type->dtype == dtype ? x : mica_convert(g, x, dtype);
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

mica_value mica_matrix_product_an(mica_graph *g, mica_value a, mica_value b) {
    return mica_matrix_product_tn(g, mica_matrix_conj(g, a), b);
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
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    mica_dtype dtype = type->dtype;
    mica_value below = mica_matrix_part(g, x, "gt"), above = mica_matrix_adjoint(g, below);
    if (!mica_matrix_is_complex(x)) return mica_add(g, mica_matrix_part(g, x, "ge"), above);
    mica_value diagonal = mica_matrix_as(g, mica_real(g, mica_matrix_part(g, x, "eq")), dtype);
    return mica_add(g, mica_add(g, below, diagonal), above);
}

mica_value mica_matrix_spread(mica_graph *g, mica_value v, int64_t rows, int64_t columns,
                              bool by_row) {
    const mica_type *type = mica_value_type(v);
    int64_t shape[MICA_MAX_RANK + 1], axes[MICA_MAX_RANK];
    if (!type) return MICA_NULL_VALUE;
    int32_t rank = type->rank;
    for (int32_t i = 0; i < rank; i++) shape[i] = type->dims[i], axes[i] = i;
    shape[rank - 1] = rows;
    shape[rank] = columns;
    if (!by_row) axes[rank - 1] = rank;
    return mica_broadcast(g, v, (mica_ints){shape, rank + 1}, (mica_ints){axes, rank});
}

mica_value mica_matrix_diagonal(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    return mica_reduce(g, mica_matrix_part(g, x, "eq"), "sum", MICA_INTS(type->rank - 1));
}

/* A product with ones and zeros. */
mica_value mica_matrix_permute(mica_graph *g, mica_value permutation, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t m = type->dims[type->rank - 2];
    mica_dtype dtype = type->dtype;
    mica_value column = mica_iota(g, MICA_INTS(m, m), 1, MICA_DTYPE_i32);
    mica_value ones = mica_compare(g, mica_matrix_spread(g, permutation, m, m, true), column, "eq");
    return mica_matrix_product(g, mica_convert(g, ones, dtype), x);
}

mica_value mica_matrix_solve_lu(mica_graph *g, const mica_value *lu, mica_value b) {
    b = mica_matrix_permute(g, lu[2], b);
    b = mica_triangular_solve(g, lu[0], b, true, true, false, true);
    return mica_triangular_solve(g, lu[0], b, true, false, false, false);
}

mica_value mica_matrix_solve(mica_graph *g, mica_value a, mica_value b) {
    mica_value lu[3];
    mica_lu(g, a, lu);
    return mica_matrix_solve_lu(g, lu, b);
}

mica_value mica_matrix_leading(mica_graph *g, mica_value re, mica_value im) {
    mica_value squares = mica_add(g, mica_mul(g, re, re), mica_mul(g, im, im));
    const mica_type *type = mica_value_type(squares);
    if (!type) return MICA_NULL_VALUE;
    int32_t rank = type->rank;
    int64_t rows = type->dims[rank - 2], columns = type->dims[rank - 1];
    mica_dtype dtype = type->dtype;
    mica_value largest = mica_reduce(g, squares, "max", MICA_INTS(rank - 2));
    mica_value bound = mica_mul(g, largest, mica_scalar(g, dtype, 0.7 * 0.7));
    bound = mica_matrix_spread(g, bound, rows, columns, false);
    mica_value large = mica_convert(g, mica_compare(g, squares, bound, "ge"), MICA_DTYPE_i32);
    mica_value first = mica_argmax(g, large, rank - 2, MICA_DTYPE_i32);
    mica_value row = mica_iota(g, MICA_INTS(rows, columns), 0, MICA_DTYPE_i32);
    mica_value here =
        mica_compare(g, mica_matrix_spread(g, first, rows, columns, false), row, "eq");
    return mica_convert(g, here, dtype);
}
