/* Tangents of linear algebra. M' is the transpose of a matrix, M* its adjoint (the transpose of a
 * real one), dM its tangent. */
#include "transform/linalg.h"
#include "transform/rules.h"

/* The triangle of x that the node reads. */
static mica_value triangle_of(mica_graph *g, const mica_node *n, mica_value x) {
    bool lower = mica_node_int(n, "lower") != 0, strict = mica_node_int(n, "unit") != 0;
    return mica_matrix_part(g, x, lower ? (strict ? "gt" : "ge") : (strict ? "lt" : "le"));
}

/* a y = b: dy = a^-1 (db - da y); from the right, dy = (db - y da) a^-1 */
MICA_JVP_RULE(triangular_solve) {
    mica_graph *g = pass->g;
    mica_value y = mica_node_result(n, 0), rest = dx[1];
    bool left = mica_node_int(n, "left") != 0, transpose = mica_node_int(n, "transpose") != 0;
    if (!mica_is_zero(dx[0])) {
        mica_value da = triangle_of(g, n, dx[0]), change;
        if (left)
            change = transpose ? mica_matrix_product_tn(g, da, y) : mica_matrix_product(g, da, y);
        else
            change = transpose ? mica_matrix_product_nt(g, y, da) : mica_matrix_product(g, y, da);
        change = mica_neg(g, change);
        rest = mica_is_zero(rest) ? change : mica_add(g, rest, change);
    }
    mica_value operands[] = {n->operands[0], rest};
    dy[0] = mica_like(g, n, operands);
}

/* Linear in b: its cotangent solves the transposed system. */
MICA_TRANSPOSE_RULE(triangular_solve) {
    (void)t;
    if (!linear[1]) return;
    out[1] = mica_triangular_solve(g, n->operands[0], dy[0], mica_node_int(n, "left"),
                                   mica_node_int(n, "lower"), !mica_node_int(n, "transpose"),
                                   mica_node_int(n, "unit"));
}

/* a = y y*: dy = y low(y^-1 da y*^-1), where low keeps the lower triangle and half the diagonal */
MICA_JVP_RULE(cholesky) {
    mica_graph *g = pass->g;
    mica_value y = mica_node_result(n, 0), da = mica_matrix_mirror(g, dx[0]);
    mica_value inner = mica_triangular_solve(g, y, da, true, true, false, false);
    inner = mica_triangular_solve(g, mica_matrix_conj(g, y), inner, false, true, true, false);
    inner = mica_matrix_part(g, inner, "ge");
    mica_value half = mica_scalar(g, n->results[0].dtype, 0.5);
    inner = mica_sub(g, inner, mica_mul(g, half, mica_matrix_part(g, inner, "eq")));
    dy[0] = mica_matrix_product(g, y, inner);
}

/* ---- factorizations ---------------------------------------------------------------------------*/

static int64_t rows_of(mica_value x) {
    const mica_type *type = mica_value_type(x);
    return type ? type->dims[type->rank - 2] : 0;
}

static int64_t columns_of(mica_value x) {
    const mica_type *type = mica_value_type(x);
    return type ? type->dims[type->rank - 1] : 0;
}

/* Rows r0 .. r1 - 1 and columns c0 .. c1 - 1 of x. */
static mica_value block(mica_graph *g, mica_value x, int64_t r0, int64_t r1, int64_t c0,
                        int64_t c1) {
    const mica_type *type = mica_value_type(x);
    int64_t start[MICA_MAX_RANK] = {0}, limit[MICA_MAX_RANK], stride[MICA_MAX_RANK];
    if (!type) return MICA_NULL_VALUE;
    int32_t rank = type->rank;
    if (r0 == 0 && c0 == 0 && r1 == rows_of(x) && c1 == columns_of(x)) return x;
    for (int32_t i = 0; i < rank; i++) limit[i] = type->dims[i], stride[i] = 1;
    start[rank - 2] = r0, limit[rank - 2] = r1;
    start[rank - 1] = c0, limit[rank - 1] = c1;
    return mica_slice(g, x, (mica_ints){start, rank}, (mica_ints){limit, rank},
                      (mica_ints){stride, rank});
}

/* x with zero rows and columns around it. */
static mica_value surround(mica_graph *g, mica_value x, int64_t above, int64_t below, int64_t left,
                           int64_t right) {
    const mica_type *type = mica_value_type(x);
    int64_t low[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK] = {0}, none[MICA_MAX_RANK] = {0};
    if (!type) return MICA_NULL_VALUE;
    if (!above && !below && !left && !right) return x;
    int32_t rank = type->rank;
    low[rank - 2] = above, high[rank - 2] = below;
    low[rank - 1] = left, high[rank - 1] = right;
    return mica_pad(g, x, mica_scalar(g, type->dtype, 0), (mica_ints){low, rank},
                    (mica_ints){high, rank}, (mica_ints){none, rank});
}

static mica_value identity(mica_graph *g, int64_t rows, int64_t columns, mica_dtype dtype) {
    mica_value i = mica_iota(g, MICA_INTS(rows, columns), 0, MICA_DTYPE_i64);
    mica_value j = mica_iota(g, MICA_INTS(rows, columns), 1, MICA_DTYPE_i64);
    return mica_convert(g, mica_compare(g, i, j, "eq"), dtype);
}

static mica_value beside(mica_graph *g, mica_value a, mica_value b) {
    const mica_type *type = mica_value_type(a);
    if (!type) return MICA_NULL_VALUE;
    return mica_concat(g, (const mica_value[]){a, b}, 2, type->rank - 1);
}

/* p a = l u with l and u made square by ones on the diagonal:
 * d(lu) = l low(F) + up(F) u, F = l^-1 p da u^-1 */
MICA_JVP_RULE(lu) {
    mica_graph *g = pass->g;
    mica_value packed = mica_node_result(n, 0);
    int64_t m = rows_of(packed), columns = columns_of(packed), k = m < columns ? m : columns;
    mica_dtype dtype = n->results[0].dtype;
    mica_value l = mica_matrix_part(g, block(g, packed, 0, m, 0, k), "gt");
    mica_value u = mica_matrix_part(g, block(g, packed, 0, k, 0, columns), "le");
    l = mica_add(g, surround(g, l, 0, 0, 0, m - k), identity(g, m, m, dtype));
    u = surround(g, u, 0, columns - k, 0, 0);
    if (columns > k)
        u = mica_add(g, u, surround(g, identity(g, columns - k, columns - k, dtype), k, 0, k, 0));
    mica_value inner = mica_matrix_permute(g, mica_node_result(n, 2), dx[0]);
    inner = mica_triangular_solve(g, l, inner, true, true, false, true);
    inner = mica_triangular_solve(g, u, inner, false, false, false, false);
    dy[0] = mica_add(g, mica_matrix_product(g, l, mica_matrix_part(g, inner, "gt")),
                     mica_matrix_product(g, mica_matrix_part(g, inner, "le"), u));
}

/* How reflections continue orthonormal columns q = [q1; q2], as long as they stay far from those of
 * the identity E = [1; 0]: the rest is [0; 1] + (E - q) X, X = (1 - q1)*^-1 q2*, and its tangent
 * (E - q) (1 - q1)*^-1 (dq1* X + dq2*) - dq X. One real column has no other freedom than to stay
 * at right angles: -q dq* rest, near the identity too. */
static mica_value rest_tangent(mica_graph *g, mica_value q, mica_value rest, mica_value dq) {
    const mica_type *type = mica_value_type(q);
    if (!type) return MICA_NULL_VALUE;
    int64_t m = rows_of(q), k = columns_of(q);
    if (m == k + 1 && !mica_matrix_is_complex(q))
        return mica_neg(g, mica_matrix_product(g, q, mica_matrix_product_an(g, dq, rest)));
    mica_value from_identity = mica_sub(g, identity(g, m, k, type->dtype), q), lu[3];
    mica_lu(g, mica_matrix_adjoint(g, block(g, from_identity, 0, k, 0, k)), lu);
    mica_value x = mica_matrix_solve_lu(g, lu, mica_matrix_adjoint(g, block(g, q, k, m, 0, k)));
    mica_value change = mica_matrix_product_an(g, block(g, dq, 0, k, 0, k), x);
    change = mica_add(g, change, mica_matrix_adjoint(g, block(g, dq, k, m, 0, k)));
    change = mica_matrix_product(g, from_identity, mica_matrix_solve_lu(g, lu, change));
    return mica_sub(g, change, mica_matrix_product(g, dq, x));
}

/* The imaginary parts of the diagonal, as imaginary numbers; x is complex. */
static mica_value imaginary_diagonal(mica_graph *g, mica_value x) {
    mica_value part = mica_imag(g, mica_matrix_part(g, x, "eq"));
    return mica_complex(g, mica_zeros_like(g, part), part);
}

/* a = q r, C = da r^-1, M = q* C, W = low(M) - low(M)*: dq = q W + (C - q M), dr = q* (da - dq r).
 * The diagonal of r stays real: W also has the imaginary parts of the diagonal of M. Of a wide a
 * the first columns say what q is. */
MICA_JVP_RULE(qr) {
    mica_graph *g = pass->g;
    mica_value q = mica_node_result(n, 0), r = mica_node_result(n, 1);
    int64_t m = rows_of(n->operands[0]), columns = columns_of(n->operands[0]);
    int64_t k = m < columns ? m : columns, inner = columns_of(q);
    mica_value q1 = block(g, q, 0, m, 0, k), r1 = block(g, r, 0, k, 0, columns);
    mica_value c = mica_triangular_solve(g, block(g, r, 0, k, 0, k), block(g, dx[0], 0, m, 0, k),
                                         false, false, false, false);
    mica_value along = mica_matrix_product_an(g, q1, c), low = mica_matrix_part(g, along, "gt");
    mica_value turn = mica_sub(g, low, mica_matrix_adjoint(g, low));
    if (mica_matrix_is_complex(q)) turn = mica_add(g, turn, imaginary_diagonal(g, along));
    mica_value dq = mica_matrix_product(g, q1, turn);
    if (m > k) dq = mica_add(g, dq, mica_sub(g, c, mica_matrix_product(g, q1, along)));
    mica_value dr = mica_sub(g, dx[0], mica_matrix_product(g, dq, r1));
    dr = mica_matrix_part(g, mica_matrix_product_an(g, q1, dr), "le");
    if (inner > k) dq = beside(g, dq, rest_tangent(g, q1, block(g, q, 0, m, k, inner), dq));
    dy[0] = dq;
    dy[1] = surround(g, dr, 0, inner - k, 0, 0);
}

/* 1 / (values[j] - values[i]) off the diagonal, 0 on it */
static mica_value inverse_gaps(mica_graph *g, mica_value values) {
    const mica_type *type = mica_value_type(values);
    if (!type) return MICA_NULL_VALUE;
    int64_t n = type->dims[type->rank - 1];
    mica_value one = identity(g, n, n, type->dtype);
    mica_value gaps = mica_sub(g, mica_matrix_spread(g, values, n, n, false),
                               mica_matrix_spread(g, values, n, n, true));
    mica_value off = mica_sub(g, mica_full_like(g, one, 1), one);
    return mica_div(g, off, mica_add(g, gaps, one));
}

/* u, the tangent of the columns v as far as their phases are free, less what would turn the
 * elements that make them positive: i times `turn`, one number per column. */
static mica_value turn_of(mica_graph *g, mica_value v, mica_value u) {
    const mica_type *type = mica_value_type(v);
    if (!type) return MICA_NULL_VALUE;
    mica_ints down = MICA_INTS(type->rank - 2);
    mica_value re = mica_real(g, v), places = mica_matrix_leading(g, re, mica_imag(g, v));
    mica_value across = mica_reduce(g, mica_mul(g, places, mica_imag(g, u)), "sum", down);
    return mica_div(g, across, mica_reduce(g, mica_mul(g, places, re), "sum", down));
}

static mica_value rotated_back(mica_graph *g, mica_value v, mica_value u, mica_value turn) {
    mica_value drift = mica_matrix_spread(g, mica_complex(g, mica_zeros_like(g, turn), turn),
                                          rows_of(v), columns_of(v), false);
    return mica_sub(g, u, mica_mul(g, v, drift));
}

static bool is_empty(const mica_node *n) {
    return mica_type_elements(mica_operand_type(n, 0)) == 0;
}

/* The diagonal, real. */
static mica_value real_diagonal(mica_graph *g, mica_value x) {
    mica_value diagonal = mica_matrix_diagonal(g, x);
    return mica_matrix_is_complex(x) ? mica_real(g, diagonal) : diagonal;
}

/* a = v w v*, M = v* da v: dw = diagonal of M, dv = v (F o M), F = 1 / (w[j] - w[i]); of complex
 * vectors less what would turn their leading elements. */
MICA_JVP_RULE(eigh) {
    mica_graph *g = pass->g;
    mica_value values = mica_node_result(n, 0), v = mica_node_result(n, 1);
    mica_dtype dtype = n->results[1].dtype;
    mica_value inner = mica_matrix_product(g, mica_matrix_mirror(g, dx[0]), v);
    inner = mica_matrix_product_an(g, v, inner);
    mica_value gaps = mica_matrix_as(g, inverse_gaps(g, values), dtype);
    mica_value dv = mica_matrix_product(g, v, mica_mul(g, gaps, inner));
    if (mica_matrix_is_complex(v) && !is_empty(n)) dv = rotated_back(g, v, dv, turn_of(g, v, dv));
    dy[0] = real_diagonal(g, inner);
    dy[1] = dv;
}

/* All columns of a full factor: what `qr` makes of the first ones decides about the rest. */
static mica_value continued_tangent(mica_graph *g, mica_value first, mica_value dfirst) {
    mica_value out[2];
    int64_t m = rows_of(first), k = columns_of(first);
    mica_qr(g, first, true, out);
    mica_value signs = block(g, out[1], 0, k, 0, k), q = block(g, out[0], 0, m, 0, k);
    mica_value rest = block(g, out[0], 0, m, k, m), dq = mica_matrix_product(g, dfirst, signs);
    return beside(g, dfirst, rest_tangent(g, q, rest, dq));
}

/* u o (F o (P S + S P*)) + what leaves the space of u: (C - u u* C) S^-1 */
static mica_value singular_tangent(mica_graph *g, mica_value u, mica_value s, mica_value gaps,
                                   mica_value p, mica_value c) {
    int64_t k = columns_of(u);
    mica_value by_column = mica_mul(g, p, mica_matrix_spread(g, s, k, k, false));
    mica_value inner = mica_add(g, by_column, mica_matrix_adjoint(g, by_column));
    mica_value du = mica_matrix_product(g, u, mica_mul(g, gaps, inner));
    if (rows_of(u) == k) return du;
    c = mica_sub(g, c, mica_matrix_product(g, u, mica_matrix_product_an(g, u, c)));
    return mica_add(g, du, mica_div(g, c, mica_matrix_spread(g, s, rows_of(u), k, false)));
}

/* What complex vectors add: the phase between u and v follows i Im(diagonal of P) / s, and that of
 * u stays as its leading elements say. */
static void turn_both(mica_graph *g, mica_value u, mica_value v, mica_value s, mica_value p,
                      mica_value *du, mica_value *dv) {
    int64_t k = columns_of(u);
    mica_value between = imaginary_diagonal(g, p);
    between = mica_div(g, between, mica_matrix_spread(g, s, k, k, false));
    *du = mica_add(g, *du, mica_matrix_product(g, u, between));
    mica_value turn = turn_of(g, u, *du);
    *du = rotated_back(g, u, *du, turn);
    *dv = rotated_back(g, v, *dv, turn);
}

/* a = u s v*, P = u* da v, F = 1 / (s[j]^2 - s[i]^2): ds = diagonal of P, du and dv as above with P
 * and C = da v, or P* and C = da* u. */
MICA_JVP_RULE(svd) {
    mica_graph *g = pass->g;
    mica_dtype dtype = n->results[0].dtype;
    mica_value full_u = mica_node_result(n, 0), values = mica_node_result(n, 1);
    mica_value full_v = mica_matrix_adjoint(g, mica_node_result(n, 2));
    int64_t m = rows_of(n->operands[0]), columns = columns_of(n->operands[0]);
    int64_t k = m < columns ? m : columns;
    mica_value u = block(g, full_u, 0, m, 0, k), v = block(g, full_v, 0, columns, 0, k);
    mica_value da_v = mica_matrix_product(g, dx[0], v);
    mica_value p = mica_matrix_product_an(g, u, da_v), s = mica_matrix_as(g, values, dtype);
    mica_value gaps = mica_matrix_as(g, inverse_gaps(g, mica_mul(g, values, values)), dtype);
    mica_value du = singular_tangent(g, u, s, gaps, p, da_v);
    mica_value dv = singular_tangent(g, v, s, gaps, mica_matrix_adjoint(g, p),
                                     mica_matrix_product_an(g, dx[0], u));
    if (mica_matrix_is_complex(u) && !is_empty(n)) turn_both(g, u, v, s, p, &du, &dv);
    if (columns_of(full_u) > k) du = continued_tangent(g, u, du);
    if (columns_of(full_v) > k) dv = continued_tangent(g, v, dv);
    dy[0] = du;
    dy[1] = real_diagonal(g, p);
    dy[2] = mica_matrix_adjoint(g, dv);
}
