"""tf.linalg."""
# ruff: noqa: F401

from __future__ import annotations

from builtins import max as builtins_max
from builtins import min as builtins_min
from builtins import range as builtins_range
from collections import namedtuple

import numpy as _numpy

from .. import _mica
from . import _dispatch, _dtypes
from ._array import (
    broadcast_to,
    concat,
    expand_dims,
    range,
    reshape,
    shape,
    size,
    squeeze,
    stack,
    transpose,
    where,
    zeros_like,
)
from ._context import executing_eagerly
from ._control import cond
from ._core import Tensor, convert_to_tensor, ops
from ._custom_gradient import custom_gradient
from ._elementwise import global_norm, imag, is_finite, real
from ._math import _pair, cast, reduce_sum
from ._missing import missing as _missing_name
from ._reduce import norm, reduce_max
from ._refusals import check_true, refusal
from ._select import einsum, eye, pad, pad_along, scatter_nd, tensordot
from ._shapes import TensorShape
from ._static import static_value
from .errors import InvalidArgumentError

cholesky = ops["Cholesky"]
det = ops["MatrixDeterminant"]


_BYTES = (_dtypes.int8, _dtypes.uint8)


def _widened(a, b, output_type):
    """Return factors as the product is summed, where TensorFlow has another dtype for it."""
    dtypes = {a.dtype, b.dtype}
    bytes_to_int = dtypes <= set(_BYTES) and output_type == _dtypes.int32
    mixed = _dtypes.bfloat16 in dtypes and len(dtypes - set(_BYTES)) == 1
    if not bytes_to_int and not (mixed and output_type == _dtypes.bfloat16):
        raise TypeError(
            f"[matmul] {a.dtype.name} times {b.dtype.name} cannot be {output_type.name}: of "
            "(u)int8 it is int32, of bfloat16 and (u)int8 bfloat16, else of the factors' dtype"
        )
    return cast(a, output_type), cast(b, output_type)


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
    if output_type is not None:
        output_type = _dtypes.as_dtype(output_type)
        if (a.dtype, b.dtype) != (output_type, output_type):
            a, b = _widened(a, b, output_type)
    ranks = a.shape.rank, b.shape.rank
    if a_is_sparse or b_is_sparse:
        for name, rank in zip("ab", ranks, strict=True):
            if rank not in (None, 2):
                raise refusal(f"{name} must have rank 2 where one is sparse, not rank {rank}")
    complex_adjoint = a.dtype.is_complex and (adjoint_a or adjoint_b)
    if ranks == (2, 2) and not complex_adjoint:
        return ops["MatMul"](
            a,
            b,
            transpose_a=bool(transpose_a or adjoint_a),
            transpose_b=bool(transpose_b or adjoint_b),
            name=name,
        )
    if a.dtype.is_complex and (transpose_a or transpose_b):
        if transpose_a:
            a, adjoint_a = ops["Conj"](a), True
        if transpose_b:
            b, adjoint_b = ops["Conj"](b), True
        transpose_a = transpose_b = False
    return ops["BatchMatMulV2"](
        a, b, adj_x=bool(transpose_a or adjoint_a), adj_y=bool(transpose_b or adjoint_b), name=name
    )


def matvec(
    a,
    b,
    transpose_a=False,
    adjoint_a=False,
    a_is_sparse=False,
    b_is_sparse=False,
    name=None,
):
    """Return the product of matrices with vectors."""
    b = expand_dims(convert_to_tensor(b), -1)
    product = matmul(
        a,
        b,
        transpose_a=transpose_a,
        adjoint_a=adjoint_a,
        a_is_sparse=a_is_sparse,
        b_is_sparse=b_is_sparse,
    )
    return squeeze(product, -1)


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """Return the tensor with its last two axes exchanged."""
    a = convert_to_tensor(a)
    rank = a.shape.rank
    if rank is None:
        places = range(ops["Rank"](a))
        order = concat([places[:-2], places[-1:], places[-2:-1]], 0)
    else:
        if rank < 2:
            raise ValueError(f"Argument `a` should be a (batch) matrix with rank >= 2: {a.shape}")
        order = [*builtins_range(rank - 2), rank - 1, rank - 2]
    return transpose(a, order, conjugate)


def adjoint(matrix, name=None):
    """Return the conjugate transpose."""
    return matrix_transpose(matrix, conjugate=True)


def cross(a, b, name=None):
    """Return the cross products of vectors of three along the last axis."""
    return ops["Cross"](*_pair(a, b), name=name)


# ---- systems -------------------------------------------------------------------------------------


def inv(input, adjoint=False, name=None):
    """Return the inverses of matrices."""
    x = convert_to_tensor(input)
    inverse = ops["MatrixInverse"](x, adjoint=adjoint)
    return _invertible([x], inverse, "Input is not invertible.")


def solve(matrix, rhs, adjoint=False, name=None):
    """Return y with matrix y = rhs."""
    matrix, rhs = _pair(matrix, rhs)
    result = ops["MatrixSolve"](matrix, rhs, adjoint=adjoint)
    return _invertible([matrix, rhs], result, "Input matrix is not invertible.")


def _invertible(operands, result, message):
    """Raise eagerly where finite operands gave no finite result."""
    if _mica.tf_executing_eagerly() and operands[0].shape.num_elements():
        numbers = result.numpy()

        finite = all(_numpy.isfinite(x.numpy()).all() for x in operands)
        if finite and not _numpy.isfinite(numbers).all():
            raise InvalidArgumentError(None, None, message)
    return result


def triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None):
    """Return y with matrix y = rhs, of one triangle of the matrix."""
    matrix, rhs = _pair(matrix, rhs)
    return ops["MatrixTriangularSolve"](matrix, rhs, lower=lower, adjoint=adjoint, name=name)


def cholesky_solve(chol, rhs, name=None):
    """Return y with chol chol^T y = rhs."""
    half = triangular_solve(chol, rhs)
    return triangular_solve(chol, half, adjoint=True)


def slogdet(input, name=None):
    """Return the signs of determinants, and the logarithms of their magnitudes."""
    return LogMatrixDeterminant(*ops["LogMatrixDeterminant"](input))


LogMatrixDeterminant = namedtuple("LogMatrixDeterminant", ["sign", "log_abs_determinant"])


def logdet(matrix, name=None):
    """Return the logarithm of the determinant of positive definite matrices."""
    diagonal = diag_part(cholesky(matrix))
    logs = ops["Log"](real(diagonal))
    return reduce_sum(logs, -1) * convert_to_tensor(2.0, logs.dtype)


def lstsq(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """Return the y that makes |matrix y - rhs| smallest."""
    a = convert_to_tensor(matrix)
    y = convert_to_tensor(rhs, dtype_hint=a.dtype)
    if not fast:
        return _least_norm(a, y)
    known = (None, None) if a.shape.rank is None else (a.shape[-2], a.shape[-1])
    m, n = (shape(a)[i - 2] if known[i] is None else known[i] for i in (0, 1))
    more = convert_to_tensor(l2_regularizer, a.dtype)

    def tall():
        gram = matmul(a, a, adjoint_a=True) + more * eye(n, dtype=a.dtype)
        return cholesky_solve(cholesky(gram), matmul(a, y, adjoint_a=True))

    def wide():
        gram = matmul(a, a, adjoint_b=True) + more * eye(m, dtype=a.dtype)
        return matmul(a, cholesky_solve(cholesky(gram), y), adjoint_a=True)

    if None not in known:
        return tall() if m >= n else wide()

    return cond(m >= n, tall, wide)


def _least_norm(a, y):
    """Return of all y that make |a y - rhs| smallest the shortest; there is no gradient."""
    @custom_gradient
    def solve(matrix, rhs):
        def refuse(*_):
            raise ValueError("Gradient not defined for fast=False")

        return matmul(pinv(matrix), rhs), refuse

    return solve(a, y)


# ---- factorizations ------------------------------------------------------------------------------


def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """Return s, u, v with x = u diag(s) v^H; s alone when the vectors are not asked for."""
    s, u, v = ops["Svd"](tensor, compute_uv=compute_uv, full_matrices=full_matrices)
    s = real(s)
    return (s, u, v) if compute_uv else s


Qr = namedtuple("Qr", ["q", "r"])


def qr(input, full_matrices=False, name=None):
    """Return q, r with x = q r."""
    return Qr(*ops["Qr"](input, full_matrices=full_matrices))


def eigh(tensor, name=None):
    """Return eigenvalues, ascending, and eigenvectors of symmetric matrices."""
    values, vectors = ops["SelfAdjointEigV2"](_finite(tensor))
    return values, vectors


def eigvalsh(tensor, name=None):
    """Return the eigenvalues of symmetric matrices, ascending."""
    return ops["SelfAdjointEigV2"](_finite(tensor), compute_v=False)[0]


def _finite(tensor):
    """Refuse, eagerly, matrices whose lower triangle is not finite."""
    x = convert_to_tensor(tensor)
    if executing_eagerly() and x.shape.rank > 1 and x.shape[-1] > 1:
        lower = ops["MatrixBandPart"](x, -1, 0)
        parts = [real(lower), imag(lower)] if x.dtype.is_complex else [lower]
        for part in parts:
            check_true(is_finite(part), "Self-adjoint eigen decomposition was not successful.")
    return x


def _eig(tensor, vectors):
    x = convert_to_tensor(tensor)
    double = x.dtype in (_dtypes.float64, _dtypes.complex128)
    wide = _dtypes.complex128 if double else _dtypes.complex64
    return ops["Eig"](x, compute_v=vectors, Tout=wide)


def eig(tensor, name=None):
    """Return eigenvalues and eigenvectors, complex."""
    values, vectors = _eig(tensor, True)
    return values, vectors


def eigvals(tensor, name=None):
    """Return eigenvalues, complex."""
    return _eig(tensor, False)[0]


Lu = namedtuple("Lu", ["lu", "p"])


def lu(input, output_idx_type=_dtypes.int32, name=None):
    """Return both triangles in one matrix, and the order of the rows."""
    return Lu(*ops["Lu"](input, output_idx_type=output_idx_type))


def _floating(a):
    """Return a matrix of real numbers with a fraction."""
    a = convert_to_tensor(a)
    if not a.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    return a


def _check_matrix(a, at_run_time: bool) -> None:
    if a.shape.rank is not None and a.shape.rank < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {a.shape.rank}).")
    if at_run_time and a.shape.rank is None:
        two = convert_to_tensor(2, _dtypes.int32)
        holds = ops["GreaterEqual"](ops["Rank"](a), two)
        check_true(holds, "Input `a` must have at least 2 dimensions.")


def pinv(a, rcond=None, validate_args=False, name=None):
    """Return the pseudo-inverse."""
    a = _floating(a)
    _check_matrix(a, validate_args)
    s, u, v = svd(a)
    if rcond is None:
        eps = 2.220446049250313e-16 if a.dtype == _dtypes.float64 else 1.1920928955078125e-07
        rcond = (
            10.0 * max(int(n) for n in a.shape[-2:].as_list()) * eps
            if (a.shape.is_fully_defined())
            else 10.0 * cast(reduce_max(shape(a)[-2:]), a.dtype) * eps
        )
    cutoff = rcond * reduce_max(s, -1, True)
    inverse = where(s > cutoff, 1.0 / where(s > cutoff, s, ops["OnesLike"](s)), zeros_like(s))
    return matmul(v * expand_dims(inverse, -2), u, adjoint_b=True)


def matrix_rank(a, tol=None, validate_args=False, name=None):
    """Return the number of singular values above a tolerance."""
    a = _floating(a)
    _check_matrix(a, validate_args)
    s = svd(a, compute_uv=False)
    if tol is None:
        eps = 2.220446049250313e-16 if a.dtype == _dtypes.float64 else 1.1920928955078125e-07
        largest = cast(reduce_max(shape(a)[-2:]), a.dtype)
        tol = eps * largest * reduce_max(s, -1, True)
    return reduce_sum(cast(s > tol, _dtypes.int32), -1)


# ---- diagonals -----------------------------------------------------------------------------------


def band_part(input, num_lower, num_upper, name=None):
    """Return matrices with zeros outside a band."""
    lower, upper = (
        cast(n, _dtypes.int64) if isinstance(n, Tensor) else convert_to_tensor(n, _dtypes.int64)
        for n in (num_lower, num_upper)
    )
    return ops["MatrixBandPart"](input, lower, upper, name=name)


_ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def diag_part(input, name="diag_part", k=0, padding_value=0, align="RIGHT_LEFT"):
    """Return the diagonal of matrices, or a band of diagonals, the highest first."""
    x = convert_to_tensor(input)
    return ops["MatrixDiagPartV3"](x, k, _like(padding_value, x), align=align, name=name)


def _like(value, x):
    """Return a value of the dtype of a tensor; a number stands for a bool."""
    value = bool(value) if x.dtype == _dtypes.bool and isinstance(value, int) else value
    return convert_to_tensor(value, x.dtype)


def diag(
    diagonal,
    name="diag",
    k=0,
    num_rows=-1,
    num_cols=-1,
    padding_value=0,
    align="RIGHT_LEFT",
):
    """Return matrices with these diagonals, and a value elsewhere."""
    x = convert_to_tensor(diagonal)
    padding = _like(padding_value, x)
    return ops["MatrixDiagV3"](x, k, num_rows, num_cols, padding, align=align, name=name)


def set_diag(input, diagonal, name="set_diag", k=0, align="RIGHT_LEFT"):
    """Return matrices with other diagonals."""
    x = convert_to_tensor(input)
    return ops["MatrixSetDiagV3"](x, diagonal, k, align=align, name=name)


def trace(x, name=None):
    """Return the sums of diagonals."""
    return reduce_sum(diag_part(x), -1)


def tensor_diag(diagonal, name=None):
    """Return a tensor of twice the rank with these values on its diagonal."""
    return ops["Diag"](diagonal, name=name)


def tensor_diag_part(input, name=None):
    """Return the diagonal of a tensor whose shape is a shape twice."""
    return ops["DiagPart"](input, name=name)


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """Return x divided by its norm along axes; `dim` is an older name of `axis`."""
    from .nn import l2_normalize as normalized

    return normalized(x, axis, epsilon, dim=dim)


def normalize(tensor, ord="euclidean", axis=None, name=None):
    """Return x divided by its norm, and the norm."""
    x = convert_to_tensor(tensor)
    length = norm(x, ord, axis, True)
    return x / cast(length, x.dtype), cast(length, x.dtype)


# Names of another file, found when they are first touched.
_ELSEWHERE = frozenset(
    {
        "banded_triangular_solve",
        "eigh_tridiagonal",
        "expm",
        "lu_matrix_inverse",
        "lu_reconstruct",
        "lu_solve",
        "tridiagonal_matmul",
        "tridiagonal_solve",
    }
)


_dispatch.offer(globals())


def __getattr__(name: str):
    if name not in _ELSEWHERE:
        raise _missing_name(__name__, name)
    from . import _matrix_functions

    value = getattr(_matrix_functions, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([n for n in globals() if not n.startswith("_")] + [*_ELSEWHERE])
