"""tf.linalg's functions of matrices that are made of others."""

from __future__ import annotations

import builtins
import math

from . import _dtypes
from ._array import shape, where, zeros_like
from ._control import while_loop
from ._core import convert_to_tensor, ops
from ._math import cast, reduce_sum
from ._reduce import reduce_max
from ._select import eye, pad
from .linalg import band_part, diag, eigh, eigvalsh, matmul, solve, triangular_solve

# Of the rational function of order 13 that comes nearest to e^x.
_PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
_LARGEST = 4.25  # a norm up to which that function is exact to the last digit of float64


def _sum(terms):
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def expm(input, name=None):
    """Return e to the power of matrices: scaled down, a rational function, squared again."""
    x = convert_to_tensor(input)
    if x.shape.rank is not None and x.shape.rank < 2:
        raise ValueError("[expm] matrices are needed")
    real = {_dtypes.complex64: _dtypes.float32, _dtypes.complex128: _dtypes.float64}
    real = real.get(x.dtype, x.dtype)
    absolute = ops["ComplexAbs"](x, Tout=real) if x.dtype.is_complex else ops["Abs"](x)
    norm = reduce_max(reduce_sum(absolute, -2), -1)
    halvings = ops["Ceil"](ops["Log"](ops["Maximum"](norm / _LARGEST, 1.0)) / math.log(2.0))
    x = x / cast(ops["Pow"](convert_to_tensor(2.0, real), halvings), x.dtype)[..., None, None]
    one = eye(shape(x)[-1], dtype=x.dtype) + zeros_like(x)
    two = matmul(x, x)
    four = matmul(two, two)
    six = matmul(four, two)
    even = [one, two, four, six]

    def line(first: int, count: int = 4):
        return _sum([_PADE[first + 2 * k] * even[k] for k in builtins.range(count)])

    high_odd = _PADE[13] * six + _PADE[11] * four + _PADE[9] * two
    odd = matmul(x, matmul(six, high_odd) + line(1))
    high_even = _PADE[12] * six + _PADE[10] * four + _PADE[8] * two
    rest = matmul(six, high_even) + line(0)
    result = solve(rest - odd, rest + odd)
    most = cast(reduce_max(halvings), _dtypes.int32)

    def square(k, y):
        again = (cast(k, real) < halvings)[..., None, None]
        return k + 1, where(again, matmul(y, y), y)

    return while_loop(lambda k, y: k < most, square, (convert_to_tensor(0), result))[1]


# ---- triangles and an order of rows ------------------------------------------------------------


def _triangles(lower_upper):
    x = convert_to_tensor(lower_upper)
    one = eye(shape(x)[-1], dtype=x.dtype)
    return band_part(x, -1, 0) - band_part(x, 0, 0) + one, band_part(x, 0, -1)


def lu_solve(lower_upper, perm, rhs, validate_args=False, name=None):
    """Return y with matrix y = rhs, of the triangles and order that tf.linalg.lu gives."""
    lower, upper = _triangles(lower_upper)
    perm = convert_to_tensor(perm)
    rhs = convert_to_tensor(rhs, lower.dtype)
    batch = perm.shape.rank - 1
    rows = ops["GatherV2"](rhs, perm, batch, batch_dims=batch)
    return triangular_solve(upper, triangular_solve(lower, rows), lower=False)


def lu_reconstruct(lower_upper, perm, validate_args=False, name=None):
    """Return the matrices of which these are the triangles and the order of rows."""
    lower, upper = _triangles(lower_upper)
    batch = convert_to_tensor(perm).shape.rank - 1
    return ops["GatherV2"](
        matmul(lower, upper), _inverse_order(perm), batch, batch_dims=batch, name=name
    )


def _inverse_order(perm):
    from ._reduce import argsort

    return argsort(convert_to_tensor(perm))


def lu_matrix_inverse(lower_upper, perm, validate_args=False, name=None):
    """Return the inverses of the matrices of which these are triangles and order."""
    x = convert_to_tensor(lower_upper)
    return lu_solve(x, perm, eye(shape(x)[-1], dtype=x.dtype) + zeros_like(x))


# ---- bands -------------------------------------------------------------------------------------


def _three(diagonals, diagonals_format: str):
    """The diagonals above, on and below the main one, all as long as it."""
    if diagonals_format == "sequence":
        upper, middle, lower = (convert_to_tensor(part) for part in diagonals)
        size = middle.shape[-1]
        after = [[0, 0]] * (middle.shape.rank - 1)
        if upper.shape[-1] == size - 1:
            upper = pad(upper, [*after, [0, 1]])
        if lower.shape[-1] == size - 1:
            lower = pad(lower, [*after, [1, 0]])
        return upper, middle, lower
    diagonals = convert_to_tensor(diagonals)
    if diagonals_format == "compact":
        return diagonals[..., 0, :], diagonals[..., 1, :], diagonals[..., 2, :]
    if diagonals_format == "matrix":
        from .linalg import diag_part

        before = [[0, 0]] * (diagonals.shape.rank - 2)
        return (
            pad(diag_part(diagonals, k=1), [*before, [0, 1]]),
            diag_part(diagonals),
            pad(diag_part(diagonals, k=-1), [*before, [1, 0]]),
        )
    raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")


def _dense(upper, middle, lower):
    return diag(middle) + diag(upper[..., :-1], k=1) + diag(lower[..., 1:], k=-1)


def tridiagonal_solve(
    diagonals,
    rhs,
    diagonals_format="compact",
    transpose_rhs=False,
    conjugate_rhs=False,
    name=None,
    partial_pivoting=True,
    perturb_singular=False,
):
    """Return y with matrix y = rhs, where the matrix has three diagonals."""
    upper, middle, lower = _three(diagonals, diagonals_format)
    rhs = convert_to_tensor(rhs, middle.dtype)
    is_vector = rhs.shape.rank == middle.shape.rank
    if conjugate_rhs:
        rhs = ops["Conj"](rhs) if rhs.dtype.is_complex else rhs
    if is_vector:
        rhs = rhs[..., None]
    elif transpose_rhs:
        from .linalg import matrix_transpose

        rhs = matrix_transpose(rhs)
    result = solve(_dense(upper, middle, lower), rhs)
    return result[..., 0] if is_vector else result


def tridiagonal_matmul(diagonals, rhs, diagonals_format="compact", name=None):
    """Return the product of matrices with three diagonals and others."""
    upper, middle, lower = _three(diagonals, diagonals_format)
    rhs = convert_to_tensor(rhs, middle.dtype)
    return matmul(_dense(upper, middle, lower), rhs)


def banded_triangular_solve(bands, rhs, lower=True, adjoint=False, name=None):
    """Return y with matrix y = rhs, of a triangle that is given by its diagonals.

    The main one is first when the triangle is the lower one, else last.
    """
    bands = convert_to_tensor(bands)
    count = bands.shape[-2]
    if count is None or bands.shape[-1] is None:
        raise ValueError(
            f"[banded_triangular_solve] bands have shape {bands.shape}: the number "
            "of diagonals and their length have to be known; set them with tf.ensure_shape"
        )
    matrix = None
    for k in builtins.range(count):
        line = bands[..., k, :]
        if lower:
            part = diag(line[..., k:], k=-k)
        else:
            above = count - 1 - k
            part = diag(line[..., : line.shape[-1] - above], k=above)
        matrix = part if matrix is None else matrix + part
    return triangular_solve(matrix, convert_to_tensor(rhs, bands.dtype), lower, adjoint)


def eigh_tridiagonal(
    alpha,
    beta,
    eigvals_only=True,
    select="a",
    select_range=None,
    tol=None,
    name=None,
):
    """Return the eigenvalues, ascending, of symmetric matrices with three diagonals."""
    if select != "a":
        raise NotImplementedError("tf.linalg.eigh_tridiagonal gives all eigenvalues only.")
    alpha, beta = convert_to_tensor(alpha), convert_to_tensor(beta)
    matrix = diag(alpha) + diag(beta, k=1) + diag(beta, k=-1)
    return eigvalsh(matrix) if eigvals_only else eigh(matrix)
