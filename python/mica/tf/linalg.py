"""tf.linalg."""

from __future__ import annotations

from ._core import convert_to_tensor, ops


def matmul(
    a,
    b,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    output_type=None,
    grad_a=False,
    grad_b=False,
    name=None,
):
    """Return the product of matrices, over broadcast leading axes."""
    a = convert_to_tensor(a)
    b = convert_to_tensor(b, dtype_hint=a.dtype)
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ValueError("Only one of `transpose` and `adjoint` can be True")
    ranks = a.shape.rank, b.shape.rank
    complex_adjoint = a.dtype.is_complex and (adjoint_a or adjoint_b)
    if ranks == (2, 2) and not complex_adjoint:
        return ops["MatMul"](
            a,
            b,
            transpose_a=bool(transpose_a or adjoint_a),
            transpose_b=bool(transpose_b or adjoint_b),
        )
    if a.dtype.is_complex and (transpose_a or transpose_b):
        if transpose_a:
            a, adjoint_a = ops["Conj"](a), True
        if transpose_b:
            b, adjoint_b = ops["Conj"](b), True
        transpose_a = transpose_b = False
    return ops["BatchMatMulV2"](
        a, b, adj_x=bool(transpose_a or adjoint_a), adj_y=bool(transpose_b or adjoint_b)
    )
