/* Tangents of linear algebra. M' is the transpose of a matrix, dM its tangent. */
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

/* a = y y': dy = y low(y^-1 da y'^-1), where low keeps the lower triangle and half the diagonal */
MICA_JVP_RULE(cholesky) {
    mica_graph *g = pass->g;
    mica_value y = mica_node_result(n, 0), da = mica_matrix_mirror(g, dx[0]);
    mica_value inner = mica_triangular_solve(g, y, da, true, true, false, false);
    inner = mica_matrix_part(g, mica_triangular_solve(g, y, inner, false, true, true, false), "ge");
    mica_value half = mica_scalar(g, n->results[0].dtype, 0.5);
    inner = mica_sub(g, inner, mica_mul(g, half, mica_matrix_part(g, inner, "eq")));
    dy[0] = mica_matrix_product(g, y, inner);
}
