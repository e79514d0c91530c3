/* transform/linalg.h: matrices in the last two axes, composed of primitives. */
#ifndef MICA_TRANSFORM_LINALG_H
#define MICA_TRANSFORM_LINALG_H

#include "transform/transform.h"

/* x with its last two axes exchanged. */
mica_value mica_matrix_transpose(mica_graph *g, mica_value x);
/* The same of conjugates, where x is complex. */
mica_value mica_matrix_adjoint(mica_graph *g, mica_value x);
mica_value mica_matrix_conj(mica_graph *g, mica_value x); /* itself unless complex */
/* x, whose dtype is that of parts of complex numbers, as `dtype`, which may be complex. */
mica_value mica_matrix_as(mica_graph *g, mica_value x, mica_dtype dtype);
bool mica_matrix_is_complex(mica_value x);
/* a b, a^T b, a b^T or, of the adjoint, a* b; leading axes are equal. */
mica_value mica_matrix_product(mica_graph *g, mica_value a, mica_value b);
mica_value mica_matrix_product_tn(mica_graph *g, mica_value a, mica_value b);
mica_value mica_matrix_product_nt(mica_graph *g, mica_value a, mica_value b);
mica_value mica_matrix_product_an(mica_graph *g, mica_value a, mica_value b);
/* x where direction(row, column) holds, else 0: "ge" is the lower triangle, "gt" it without the
 * diagonal, "eq" the diagonal. */
mica_value mica_matrix_part(mica_graph *g, mica_value x, const char *direction);
/* The identity of the sizes of x's last two axes, as x's dtype; no leading axes. */
mica_value mica_matrix_identity(mica_graph *g, mica_value x);
/* The lower triangle and its mirror image, or its adjoint: what an op sees that reads this triangle
 * only, and of the diagonal real parts. */
mica_value mica_matrix_mirror(mica_graph *g, mica_value x);
/* A vector (..., n) spread over (..., rows, columns): element (i, j) is v[i] (by_row) or v[j]. */
mica_value mica_matrix_spread(mica_graph *g, mica_value v, int64_t rows, int64_t columns,
                              bool by_row);
mica_value mica_matrix_diagonal(mica_graph *g, mica_value x);
/* 1 at the first element of every column, re + i im, of at least 7/10 of its largest magnitude,
 * else 0. There are elements. */
mica_value mica_matrix_leading(mica_graph *g, mica_value re, mica_value im);
/* The rows of x in the order of a permutation. */
mica_value mica_matrix_permute(mica_graph *g, mica_value permutation, mica_value x);
/* x with a x = b, for any a that has an inverse; from the results of lu, or from a. */
mica_value mica_matrix_solve_lu(mica_graph *g, const mica_value *lu, mica_value b);
mica_value mica_matrix_solve(mica_graph *g, mica_value a, mica_value b);

#endif
