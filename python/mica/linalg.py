"""Linear algebra, as `numpy.linalg` names it, composed of primitives.

Matrices are the last two axes; the axes before are a batch. dtypes are f32, f64, c64 and c128. Of
complex matrices the adjoint takes the transpose's place, but in `triangular_solve`. Everything has
derivatives of any order, but where a matrix is singular, or eigenvalues or singular values are
equal, those of the functions that stand on them are infinite or NaN.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _mica
from ._functions import Array, eye, ones_like, prod, sum, where
from ._index import take_along_axis
from ._mica import Tensor
from ._tracing import as_array


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its magnitude."""

    sign: Tensor
    logabsdet: Tensor


class QRResult(NamedTuple):
    """Orthonormal columns and an upper triangle."""

    Q: Tensor
    R: Tensor


class EighResult(NamedTuple):
    """Ascending eigenvalues and the vectors, as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EigResult(NamedTuple):
    """Complex eigenvalues and the vectors, as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SVDResult(NamedTuple):
    """Left vectors as columns, descending singular values, right vectors as rows."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class LstsqResult(NamedTuple):
    """The solution, the sum of squares left of each column, the rank and the singular values."""

    x: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def _matrices(x: Any, what: str) -> Any:
    x = as_array(x)
    if x.ndim < 2:
        raise ValueError(f"[{what}] needs matrices, not {x.dtype}{list(x.shape)}")
    return x


def _transpose(x: Any) -> Any:
    axes = list(range(x.ndim))
    return _mica.transpose(x, permutation=(*axes[:-2], axes[-1], axes[-2]))


def _is_complex(x: Any) -> builtins.bool:
    return str(x.dtype) in ("c64", "c128")


def _adjoint(x: Any) -> Any:
    return _mica.conj(_transpose(x)) if _is_complex(x) else _transpose(x)


def _as(x: Any, like: Any) -> Any:
    """Real numbers, made complex where others are."""
    return _mica.convert(x, dtype=like.dtype) if _is_complex(like) else x


def _batched(a: Any, b: Any, what: str) -> tuple[Any, Any]:
    """Both with the same leading axes, by numpy's rule."""
    shape: list[int] = []
    left, right = list(a.shape[:-2]), list(b.shape[:-2])
    rank = max(len(left), len(right))
    left, right = [1] * (rank - len(left)) + left, [1] * (rank - len(right)) + right
    for m, n in zip(left, right, strict=True):
        if m != n and 1 not in (m, n):
            raise ValueError(f"[{what}] shapes differ: {tuple(a.shape)} and {tuple(b.shape)}")
        shape.append(n if m == 1 else m)
    return a.broadcast_to([*shape, *a.shape[-2:]]), b.broadcast_to([*shape, *b.shape[-2:]])


def _diagonal(x: Any) -> Any:
    n = x.shape[-1]
    return sum(where(eye(n, "bool"), x, x * 0), axis=-1)


def lapack() -> str | None:
    """The path of the LAPACK that factorizations on the CPU use; None: the built-in versions serve.

    It is numpy's, or the system's, or the one that the environment variable ``MICA_LAPACK`` names;
    ``MICA_LAPACK=off`` uses none.
    """
    return _mica.lapack()


def triangular_solve(
    a: Array,
    b: Array,
    left: builtins.bool = True,
    lower: builtins.bool = False,
    transpose: builtins.bool = False,
    unit: builtins.bool = False,
) -> Tensor:
    """The solution x of ``a x = b``, or of ``x a = b``, with a triangular.

    Parameters
    ----------
    a : array, (..., n, n)
        Only one triangle is read.
    b : array, (..., n, m), or (..., m, n) from the right
    left : bool
        Whether a stands left of x.
    lower : bool
        Which triangle.
    transpose : bool
        Whether the transposed triangle is meant.
    unit : bool
        Whether the diagonal is taken as 1.
    """
    a, b = _matrices(a, "triangular_solve"), _matrices(b, "triangular_solve")
    a, b = _batched(a, b, "triangular_solve")
    flags = {"left": left, "lower": lower, "transpose": transpose, "unit": unit}
    return _mica.triangular_solve(a, b, **{name: int(flag) for name, flag in flags.items()})


def cholesky(a: Array, symmetrize: builtins.bool = True) -> Tensor:
    """The lower triangle L with ``L @ L.T.conj() == a``; NaN where a is not positive definite.

    Parameters
    ----------
    a : array, (..., n, n)
    symmetrize : bool
        Takes the mean of a and its adjoint first, so that gradients are symmetric; else the lower
        triangle is read alone.
    """
    a = _matrices(a, "cholesky")
    return _mica.cholesky((a + _adjoint(a)) * 0.5 if symmetrize else a)


def _lu_solve(factors: tuple[Any, Any, Any], b: Any) -> Any:
    packed, _, permutation = factors
    packed, b = _batched(packed, b, "solve")
    missing = [1] * (b.ndim - 1 - permutation.ndim)
    permutation = permutation.reshape([*missing, *permutation.shape, 1])
    b = take_along_axis(b, permutation, axis=-2)
    b = triangular_solve(packed, b, lower=True, unit=True)
    return triangular_solve(packed, b)


def solve(a: Array, b: Array) -> Tensor:
    """The solution x of ``a @ x == b``.

    Parameters
    ----------
    a : array, (..., n, n)
    b : array, (n,) or (..., n, m)
    """
    a, b = _matrices(a, "solve"), as_array(b)
    if a.shape[-1] != a.shape[-2] or b.ndim == 0 or b.shape[-2 if b.ndim > 1 else 0] != a.shape[-1]:
        raise ValueError(f"[solve] shapes do not fit: {tuple(a.shape)} and {tuple(b.shape)}")
    if b.ndim == 1:
        x = _lu_solve(_mica.lu(a), b.reshape([-1, 1]))
        return x.reshape(list(x.shape[:-1]))
    return _lu_solve(_mica.lu(a), b)


def inv(a: Array) -> Tensor:
    """The inverse of square matrices."""
    a = _matrices(a, "inv")
    return solve(a, eye(a.shape[-1], a.dtype))


def _parity(pivots: Any, dtype: Any) -> Any:
    """-1 for an odd number of exchanges, else 1."""
    places = _mica.iota(shape=pivots.shape, axis=len(pivots.shape) - 1, dtype=_mica.i32)
    exchanged = _mica.convert(_mica.compare(pivots, places, direction="ne"), dtype=dtype)
    return prod(1 - 2 * exchanged, axis=-1)


def slogdet(a: Array) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its magnitude."""
    packed, pivots, _ = _mica.lu(_square(a, "slogdet"))
    diagonal = _diagonal(packed)
    sign = prod(_mica.sign(diagonal), axis=-1) * _parity(pivots, packed.dtype)
    return SlogdetResult(sign, sum(_mica.log(_mica.abs(diagonal)), axis=-1))


def det(a: Array) -> Tensor:
    """The determinant."""
    packed, pivots, _ = _mica.lu(_square(a, "det"))
    return prod(_diagonal(packed), axis=-1) * _parity(pivots, packed.dtype)


def _square(a: Any, what: str) -> Any:
    a = _matrices(a, what)
    if a.shape[-1] != a.shape[-2]:
        raise ValueError(f"[{what}] needs square matrices, not {a.dtype}{list(a.shape)}")
    return a


def qr(a: Array, mode: str = "reduced") -> QRResult:
    """``a == Q @ R``, Q with orthonormal columns and R an upper triangle.

    Parameters
    ----------
    a : array, (..., m, n)
    mode : {"reduced", "complete"}
        Whether Q is (m, min(m, n)) or square.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"[qr] mode {mode!r} is neither reduced nor complete")
    return QRResult(*_mica.qr(_matrices(a, "qr"), full=int(mode == "complete")))


def eigh(a: Array, symmetrize: builtins.bool = True) -> EighResult:
    """Eigenvalues, ascending, and orthonormal eigenvectors of symmetric or Hermitian matrices.

    Of a vector, the first element of at least 7/10 of its largest magnitude is real and positive.

    Parameters
    ----------
    a : array, (..., n, n)
    symmetrize : bool
        Takes the mean of a and its adjoint first, so that gradients are symmetric; else the lower
        triangle is read alone.
    """
    a = _matrices(a, "eigh")
    return EighResult(*_mica.eigh((a + _adjoint(a)) * 0.5 if symmetrize else a))


def eigvalsh(a: Array) -> Tensor:
    """Eigenvalues of symmetric or Hermitian matrices, ascending."""
    return eigh(a).eigenvalues


def eig(a: Array) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices, both complex.

    Values are in ascending order of re + im / pi. Vectors have length 1, and of each the first
    element of at least 7/10 of its largest magnitude is real and positive. Where values are equal,
    their vectors have no derivatives.

    Parameters
    ----------
    a : array, (..., n, n)
    """
    return EigResult(*_mica.eig(_square(a, "eig")))


def eigvals(a: Array) -> Tensor:
    """Eigenvalues of square matrices, complex, in the order of `eig`."""
    return eig(a).eigenvalues


def svd(a: Array, full_matrices: builtins.bool = True) -> SVDResult:
    """``a == U @ diag(S) @ Vh``, with S descending and orthonormal columns U and rows Vh.

    Of a column of U, the first element of at least 7/10 of its largest magnitude is real and
    positive.

    Parameters
    ----------
    a : array, (..., m, n)
    full_matrices : bool
        Whether U and Vh are square.
    """
    return SVDResult(*_mica.svd(_matrices(a, "svd"), full=int(full_matrices)))


def svdvals(a: Array) -> Tensor:
    """Singular values, descending."""
    return svd(a, full_matrices=False).S


def _cut(s: Any, a: Any, tolerance: float | None) -> Any:
    """Which singular values count: those above the largest times the tolerance."""
    if tolerance is None:
        epsilon = 2.0**-52 if str(a.dtype) in ("f64", "c128") else 2.0**-23
        tolerance = max(a.shape[-2:]) * epsilon
    top = _mica.reduce(s, kind="max", axes=(s.ndim - 1,))
    top = top.reshape([*top.shape, 1]) * tolerance
    return _mica.compare(s, top.broadcast_to(s.shape), direction="gt")


def matrix_rank(a: Array, rtol: float | None = None) -> Tensor:
    """How many singular values lie above the largest times a tolerance.

    Parameters
    ----------
    a : array, (..., m, n)
    rtol : float, optional
        By default max(m, n) times the spacing of numbers at 1.
    """
    a = _matrices(a, "matrix_rank")
    s = svdvals(a)
    return sum(_mica.convert(_cut(s, a, rtol), dtype=_mica.i32), axis=-1)


def _inverse_values(s: Any, kept: Any) -> Any:
    return where(kept, 1 / where(kept, s, ones_like(s)), s * 0)


def pinv(a: Array, rtol: float | None = None) -> Tensor:
    """The pseudo-inverse, without the singular values that `matrix_rank` does not count."""
    a = _matrices(a, "pinv")
    u, s, vh = svd(a, full_matrices=False)
    inverse = _as(_inverse_values(s, _cut(s, a, rtol)), a)
    return _adjoint(vh) @ (inverse.reshape([*inverse.shape, 1]) * _adjoint(u))


def _squares(x: Any) -> Any:
    """Squared magnitudes, real."""
    if not _is_complex(x):
        return x * x
    re, im = _mica.real(x), _mica.imag(x)
    return re * re + im * im


def lstsq(a: Array, b: Array, rcond: float | None = None) -> LstsqResult:
    """The x of least length among those that bring ``a @ x`` nearest to b.

    Parameters
    ----------
    a : array, (m, n)
    b : array, (m,) or (m, k)
    rcond : float, optional
        Singular values below the largest times this count as 0; see `matrix_rank`.
    """
    a, b = _matrices(a, "lstsq"), as_array(b)
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ValueError(f"[lstsq] shapes do not fit: {tuple(a.shape)} and {tuple(b.shape)}")
    columns = b.reshape([b.shape[0], -1]) if b.ndim == 1 else b
    u, s, vh = svd(a, full_matrices=False)
    kept = _cut(s, a, rcond)
    inverse = _as(_inverse_values(s, kept), a).reshape([-1, 1])
    x = _adjoint(vh) @ (inverse * (_adjoint(u) @ columns))
    left = a @ x - columns
    squares = _squares(left)
    rank = sum(_mica.convert(kept, dtype=_mica.i32), axis=-1)
    if b.ndim == 1:
        x = x.reshape([-1])
    return LstsqResult(x, sum(squares, axis=0), rank, s)


def _vector_norm(x: Any, order: float, axes: Any, keepdims: builtins.bool) -> Any:
    magnitude = _mica.abs(x)
    if order in (float("inf"), float("-inf")):
        axes = tuple(range(x.ndim)) if axes is None else axes
        axes = (axes,) if isinstance(axes, int) else axes
        axes = tuple(axis % x.ndim for axis in axes)
        y = _mica.reduce(magnitude, kind="max" if order > 0 else "min", axes=axes)
        kept = [1 if i in axes else size for i, size in enumerate(x.shape)]
        return y.reshape(kept) if keepdims else y
    if order == 0:
        counted = _mica.convert(_mica.compare(x, x * 0, direction="ne"), dtype=magnitude.dtype)
        return sum(counted, axis=axes, keepdims=keepdims)
    if order == 1:
        return sum(magnitude, axis=axes, keepdims=keepdims)
    if order == 2:
        return _mica.sqrt(sum(_squares(x), axis=axes, keepdims=keepdims))
    return sum(magnitude**order, axis=axes, keepdims=keepdims) ** (1 / order)


def _matrix_norm(x: Any, order: Any, axes: tuple[int, int], keepdims: builtins.bool) -> Any:
    row, column = axes[0] % x.ndim, axes[1] % x.ndim
    others = [axis for axis in range(x.ndim) if axis not in (row, column)]
    x = _mica.transpose(x, permutation=(*others, row, column))
    if order in (1, -1, float("inf"), float("-inf")):
        sums = sum(_mica.abs(x), axis=-2 if abs(order) == 1 else -1)
        y = _vector_norm(sums, float("inf") if order > 0 else float("-inf"), -1, False)
    elif order in (2, -2, "nuc"):
        s = svdvals(x)
        y = sum(s, axis=-1) if order == "nuc" else s[..., 0 if order == 2 else -1]
    else:
        raise ValueError(
            f"[norm] a matrix norm is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, not {order!r}"
        )
    if keepdims:
        shape = list(y.shape)
        for axis in sorted((row, column)):
            shape.insert(axis, 1)
        y = y.reshape(shape)
    return y


def norm(
    x: Array,
    ord: Any = None,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
) -> Tensor:
    """The norm of vectors along one axis, of matrices along two, or of all elements.

    Parameters
    ----------
    x : array
    ord : optional
        Of vectors: a number (2 by default), inf or -inf. Of matrices: "fro" (the default), "nuc",
        1, -1, 2, -2, inf or -inf.
    axis : int or two ints, optional
        By default all axes when ord is not given; else those of a vector or matrix.
    keepdims : bool
        Whether the axes stay, with size 1.
    """
    x = as_array(x)
    if axis is None and ord is not None and x.ndim not in (1, 2):
        raise ValueError(f"[norm] ord of {x.dtype}{list(x.shape)} needs axis: one or two axes")
    axes = tuple(range(x.ndim)) if axis is None else axis
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    if ord is None or (ord == "fro" and len(axes) == 2):
        return _vector_norm(x, 2, axes, keepdims)
    if len(axes) == 1 and not isinstance(ord, str):
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(f"[norm] {ord!r} is no norm along the axes {axes}")
    return _matrix_norm(x, ord, axes, keepdims)


__all__ = [
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lapack",
    "lstsq",
    "matrix_rank",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "triangular_solve",
]
