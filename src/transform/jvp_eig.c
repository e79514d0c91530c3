/* Tangents of general eigenvalues. Complex matrices are kept as two real ones. */
#include "transform/linalg.h"
#include "transform/rules.h"

typedef struct parts {
    mica_value re, im;
} parts;

static parts parts_of(mica_graph *g, mica_value x) {
    return (parts){mica_real(g, x), mica_imag(g, x)};
}

static mica_value joined(mica_graph *g, parts x) {
    return mica_complex(g, x.re, x.im);
}

static parts minus(mica_graph *g, parts a, parts b) {
    return (parts){mica_sub(g, a.re, b.re), mica_sub(g, a.im, b.im)};
}

static parts times(mica_graph *g, parts a, parts b) {
    return (parts){mica_sub(g, mica_mul(g, a.re, b.re), mica_mul(g, a.im, b.im)),
                   mica_add(g, mica_mul(g, a.re, b.im), mica_mul(g, a.im, b.re))};
}

static parts product(mica_graph *g, parts a, parts b) {
    mica_value re =
        mica_sub(g, mica_matrix_product(g, a.re, b.re), mica_matrix_product(g, a.im, b.im));
    mica_value im =
        mica_add(g, mica_matrix_product(g, a.re, b.im), mica_matrix_product(g, a.im, b.re));
    return (parts){re, im};
}

/* [a b] along an axis counted from the last */
static mica_value side_by_side(mica_graph *g, mica_value a, mica_value b, int32_t from_last) {
    const mica_type *type = mica_value_type(a);
    if (!type) return MICA_NULL_VALUE;
    return mica_concat(g, (const mica_value[]){a, b}, 2, type->rank - from_last);
}

static mica_value rows(mica_graph *g, mica_value x, int64_t begin, int64_t end) {
    const mica_type *type = mica_value_type(x);
    int64_t start[MICA_MAX_RANK] = {0}, limit[MICA_MAX_RANK], stride[MICA_MAX_RANK];
    if (!type) return MICA_NULL_VALUE;
    int32_t rank = type->rank;
    for (int32_t i = 0; i < rank; i++) limit[i] = type->dims[i], stride[i] = 1;
    start[rank - 2] = begin;
    limit[rank - 2] = end;
    return mica_slice(g, x, (mica_ints){start, rank}, (mica_ints){limit, rank},
                      (mica_ints){stride, rank});
}

/* x with v x = b, as a real system: [re -im; im re] [x.re; x.im] = [b.re; b.im] */
static parts solve(mica_graph *g, parts v, parts b) {
    const mica_type *type = mica_value_type(v.re);
    if (!type) return b;
    int64_t n = type->dims[type->rank - 1];
    mica_value upper = side_by_side(g, v.re, mica_neg(g, v.im), 1);
    mica_value lower = side_by_side(g, v.im, v.re, 1);
    mica_value x =
        mica_matrix_solve(g, side_by_side(g, upper, lower, 2), side_by_side(g, b.re, b.im, 2));
    return (parts){rows(g, x, 0, n), rows(g, x, n, 2 * n)};
}

/* Element (i, j) is v[j] (along rows) or v[i]. */
static mica_value spread(mica_graph *g, mica_value v, bool along_rows) {
    const mica_type *type = mica_value_type(v);
    if (!type) return MICA_NULL_VALUE;
    int64_t n = type->dims[type->rank - 1];
    return mica_matrix_spread(g, v, n, n, !along_rows);
}

/* 1 / (values[j] - values[i]) off the diagonal, 0 on it */
static parts inverse_gaps(mica_graph *g, parts values) {
    parts to = {spread(g, values.re, true), spread(g, values.im, true)};
    parts gap = minus(g, to, (parts){spread(g, values.re, false), spread(g, values.im, false)});
    mica_value squares = mica_add(g, mica_mul(g, gap.re, gap.re), mica_mul(g, gap.im, gap.im));
    squares = mica_add(g, squares, mica_matrix_identity(g, squares));
    return (parts){mica_div(g, gap.re, squares), mica_neg(g, mica_div(g, gap.im, squares))};
}

/* Sums down the columns, spread over them again. */
static mica_value column_sums(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    return spread(g, mica_reduce(g, x, "sum", MICA_INTS(type->rank - 2)), true);
}

/* x v = v w, M = v^-1 dx v, F = 1 / (w[j] - w[i]): dw = diagonal of M, dv = u - v c with u = v (F o
 * M) and c = a + i b for every column: a, the part of u along v, keeps the length, b the phase. */
MICA_JVP_RULE(eig) {
    mica_graph *g = pass->g;
    const mica_type *type = mica_operand_type(n, 0);
    if (mica_type_elements(type) == 0) return; /* no columns, and nothing to be largest in them */
    parts w = parts_of(g, mica_node_result(n, 0)), v = parts_of(g, mica_node_result(n, 1));
    parts change;
    if (mica_dtype_kind_of(type->dtype) == MICA_KIND_COMPLEX)
        change = product(g, parts_of(g, dx[0]), v);
    else
        change = (parts){mica_matrix_product(g, dx[0], v.re), mica_matrix_product(g, dx[0], v.im)};
    parts inner = solve(g, v, change);
    dy[0] =
        joined(g, (parts){mica_matrix_diagonal(g, inner.re), mica_matrix_diagonal(g, inner.im)});
    parts u = product(g, v, times(g, inverse_gaps(g, w), inner));
    mica_value places = mica_matrix_leading(g, v.re, v.im);
    mica_value along =
        column_sums(g, mica_add(g, mica_mul(g, v.re, u.re), mica_mul(g, v.im, u.im)));
    mica_value across = mica_div(g, column_sums(g, mica_mul(g, places, u.im)),
                                 column_sums(g, mica_mul(g, places, v.re)));
    dy[1] = joined(g, minus(g, u, times(g, v, (parts){along, across})));
}
