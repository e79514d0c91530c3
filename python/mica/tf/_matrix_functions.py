"""tf.linalg's functions of matrices that are made of others."""

from __future__ import annotations

import builtins
import math

from . import _dtypes
from ._array import boolean_mask, concat, expand_dims, reshape, shape, stack, where, zeros_like
from ._array import range as number
from ._control import while_loop
from ._core import Tensor, convert_to_tensor, ops
from ._math import cast, reduce_sum
from ._reduce import argsort, invert_permutation, reduce_max
from ._refusals import check_true
from ._select import eye, pad
from .linalg import (
    band_part,
    diag,
    diag_part,
    eigh,
    eigvalsh,
    matmul,
    matrix_transpose,
    solve,
    triangular_solve,
)

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


def _triangles(x):
    one = eye(shape(x)[-1], dtype=x.dtype)
    return band_part(x, -1, 0) - band_part(x, 0, 0) + one, band_part(x, 0, -1)


def _factors(lower_upper, perm):
    """Return both as tensors; TensorFlow reads arrays as float32."""
    x = convert_to_tensor(lower_upper, dtype_hint=_dtypes.float32)
    perm = convert_to_tensor(perm, dtype_hint=_dtypes.int32)
    ranks = x.shape.rank, perm.shape.rank
    if None not in ranks and ranks[0] != ranks[1] + 1:
        raise ValueError(
            f"`rank(lower_upper)` must equal `rank(perm) + 1`: {x.shape} and {perm.shape}"
        )
    return x, perm


def _ordered_rows(x, order):
    """Return x with the rows of each matrix in an order of their own."""
    if order.shape.rank is not None:
        batch = order.shape.rank - 1
        return ops["GatherV2"](x, order, batch, batch_dims=batch)
    sizes = shape(x)
    matrices = reshape(x, concat([[-1], sizes[-2:]], 0))
    flat = reshape(order, stack([-1, shape(order)[-1]]))
    return reshape(ops["GatherV2"](matrices, flat, 1, batch_dims=1), sizes)


def _check_square(x) -> None:
    _check_equal(x, -1, x, -2, "`lower_upper` must be square.")


def _check_equal(a, i: int, b, j: int, message: str) -> None:
    """Compare two sizes: now where they are known, else when it runs."""
    if a.shape.rank is None or b.shape.rank is None:
        known = (None, None)
    elif a.shape.rank < -i or b.shape.rank < -j:
        raise ValueError(f"{message} Received shapes {a.shape} and {b.shape}")
    else:
        known = a.shape[i], b.shape[j]
    if None not in known:
        if known[0] != known[1]:
            raise ValueError(f"{message} Received {known[0]} and {known[1]}")
        return
    check_true(shape(a)[i] == shape(b)[j], message)


def lu_solve(lower_upper, perm, rhs, validate_args=False, name=None):
    """Return y with matrix y = rhs, of the triangles and order that tf.linalg.lu gives."""
    x, perm = _factors(lower_upper, perm)
    rhs = convert_to_tensor(rhs, dtype_hint=x.dtype)
    if validate_args:
        _check_square(x)
        _check_equal(x, -1, rhs, -2, "`lower_upper.shape[-1]` must equal `rhs.shape[-2]`.")
    lower, upper = _triangles(x)
    return triangular_solve(upper, triangular_solve(lower, _ordered_rows(rhs, perm)), lower=False)


def lu_reconstruct(lower_upper, perm, validate_args=False, name=None):
    """Return the matrices of which these are the triangles and the order of rows."""
    x, perm = _factors(lower_upper, perm)
    if validate_args:
        _check_square(x)
    lower, upper = _triangles(x)
    back = _inverse_order(perm)
    return ops["EnsureShape"](_ordered_rows(matmul(lower, upper), back), shape=x.shape, name=name)


def _inverse_order(perm):
    return invert_permutation(perm) if perm.shape.rank == 1 else argsort(perm)


def lu_matrix_inverse(lower_upper, perm, validate_args=False, name=None):
    """Return the inverses of the matrices of which these are triangles and order."""
    x, perm = _factors(lower_upper, perm)
    if validate_args:
        _check_square(x)
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
        before = [[0, 0]] * (diagonals.shape.rank - 2)
        return (
            pad(diag_part(diagonals, k=1), [*before, [0, 1]]),
            diag_part(diagonals),
            pad(diag_part(diagonals, k=-1), [*before, [1, 0]]),
        )
    raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")


def _distances(n):
    """Return column - row of each place in a matrix of n rows and columns."""
    numbers = number(n)
    return numbers[None, :] - numbers[:, None]


def _dense(upper, middle, lower):
    """Return matrices: entry i of each diagonal is in row i."""
    distance = _distances(shape(middle)[-1])
    result = zeros_like(middle[..., None] + middle[..., None, :])
    for offset, line in ((1, upper), (0, middle), (-1, lower)):
        result = where(distance == offset, line[..., None], result)
    return result


def _check_sizes(diagonals, rhs, what: str) -> bool:
    """Whether rhs has vectors, not matrices, once it is clear that it fits the main diagonals."""
    if diagonals.shape.rank is None or rhs.shape.rank is None:
        return False
    rank = diagonals.shape.rank + 1
    if rhs.shape.rank not in (rank, rank - 1):
        raise ValueError(f"[{what}] rhs must have rank {rank - 1} or {rank}: {rhs.shape}")
    batches = diagonals.shape[:-1], rhs.shape[: rank - 2]
    if not batches[0].is_compatible_with(batches[1]):
        raise ValueError(f"[{what}] Batch shapes {batches[0]} and {batches[1]} are incompatible")
    return rhs.shape.rank == rank - 1


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
    if perturb_singular and not partial_pivoting:
        raise ValueError("partial_pivoting must be True if perturb_singular is.")
    if perturb_singular:
        raise NotImplementedError(
            "[tridiagonal_solve] perturb_singular=True: singular matrices are refused, not changed"
        )
    upper, middle, lower = _three(diagonals, diagonals_format)
    rhs = convert_to_tensor(rhs, dtype_hint=middle.dtype)
    is_vector = _check_sizes(middle, rhs, "tridiagonal_solve")
    if conjugate_rhs:
        rhs = ops["Conj"](rhs) if rhs.dtype.is_complex else rhs
    if is_vector:
        rhs = rhs[..., None]
    elif transpose_rhs:
        rhs = matrix_transpose(rhs)
    if not middle.shape[-1:].is_compatible_with(rhs.shape[-2:-1]):
        raise ValueError(
            "Expected number of left-hand sided and right-hand sides to be equal, got "
            f"{middle.shape[-1]} and {rhs.shape[-2]}"
        )
    result = solve(_dense(upper, middle, lower), rhs)
    return result[..., 0] if is_vector else result


def tridiagonal_matmul(diagonals, rhs, diagonals_format="compact", name=None):
    """Return the product of matrices with three diagonals and others."""
    upper, middle, lower = _three(diagonals, diagonals_format)
    rhs = convert_to_tensor(rhs, dtype_hint=middle.dtype)
    _check_sizes(middle, rhs, "tridiagonal_matmul")
    nothing = zeros_like(rhs[..., :1, :])
    next_row = concat([rhs[..., 1:, :], nothing], -2)
    row_before = concat([nothing, rhs[..., :-1, :]], -2)
    # What is beyond the ends of the diagonals does not count, not even as a factor of zero.
    places = number(shape(middle)[-1])
    upper = where(places == places[-1], zeros_like(upper), upper)
    lower = where(places == 0, zeros_like(lower), lower)
    product = upper[..., None] * next_row + middle[..., None] * rhs + lower[..., None] * row_before
    return ops["EnsureShape"](product, shape=rhs.shape, name=name)


def banded_triangular_solve(bands, rhs, lower=True, adjoint=False, name=None):
    """Return y with matrix y = rhs, of a triangle that is given by its diagonals.

    The main one is first when the triangle is the lower one, else last; entry i of each is in
    row i.
    """
    bands = convert_to_tensor(bands)
    lower, adjoint = _flag("lower", lower, True), _flag("adjoint", adjoint, False)
    rhs = rhs if isinstance(rhs, Tensor) else convert_to_tensor(rhs, bands.dtype)
    sizes = shape(bands)
    count, n = sizes[-2], sizes[-1]
    distance = _distances(n)
    line = -distance if lower else count - 1 - distance
    inside = ops["LogicalAnd"](line >= 0, line < count)
    inside = ops["LogicalAnd"](inside, distance <= 0 if lower else distance >= 0)
    flat = reshape(bands, concat([sizes[:-2], expand_dims(count * n, 0)], 0))
    places = where(inside, line, zeros_like(line)) * n + number(n)[:, None]
    entries = ops["GatherV2"](flat, places, -1)
    matrix = where(inside, entries, zeros_like(entries))
    return triangular_solve(matrix, rhs, lower, adjoint)


def _flag(name: str, value, default: bool) -> bool:
    if value is None:
        return default
    if not isinstance(value, bool):
        raise TypeError(f"Expected bool for argument '{name}' not {value!r}.")
    return value


def eigh_tridiagonal(
    alpha,
    beta,
    eigvals_only=True,
    select="a",
    select_range=None,
    tol=None,
    name=None,
):
    """Return the eigenvalues, ascending, of symmetric matrices with three diagonals.

    All of them ("a"), those at two places and between ("i"), or those above one number and up to
    another ("v"), as `select_range` says.
    """
    if select not in ("a", "i", "v"):
        raise ValueError(f"`select` must be 'a', 'i' or 'v', not {select!r}")
    if select != "a" and select_range is None:
        raise TypeError(f"select={select!r} needs a select_range of two numbers")
    alpha, beta = convert_to_tensor(alpha), convert_to_tensor(beta)
    matrix = diag(alpha) + diag(beta, k=1) + diag(beta, k=-1)
    found = [eigvalsh(matrix)] if eigvals_only else list(eigh(matrix))
    if select == "i":
        found = _between_places(found, *(convert_to_tensor(n, "int32") for n in select_range))
    elif select == "v":
        bounds = (convert_to_tensor(x, found[0].dtype) for x in select_range)
        found = _between_numbers(found, *bounds)
    return found[0] if eigvals_only else tuple(found)


def _between_places(found: list, first, last) -> list:
    check_true(first <= last, "Got empty index range in select_range.")
    inside = ops["LogicalAnd"](first >= 0, last < shape(found[0])[-1])
    check_true(inside, "select_range is not within the eigenvalues")
    return [part[..., first : last + 1] for part in found]


def _between_numbers(found: list, low, high) -> list:
    if found[0].shape.rank != 1:
        raise NotImplementedError(
            f"[eigh_tridiagonal] select='v' takes one matrix, not a batch {found[0].shape[:-1]}: "
            "each may have another number of eigenvalues in the interval"
        )
    check_true(low < high, "Got empty interval in select_range.")
    inside = ops["LogicalAnd"](found[0] > low, found[0] <= high)
    return [boolean_mask(part, inside, axis=part.shape.rank - 1) for part in found]
