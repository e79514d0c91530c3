"""What numpy's users reach for beside the primitives: ranges, repetitions, tests of numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from . import _mica
from ._functions import arange, broadcast_to, concatenate, expand_dims, where
from ._index import take
from ._mica import Tensor
from ._tracing import as_array
from ._transforms import grad, jacobian

Array = Any


# ---- making --------------------------------------------------------------------------------------
def linspace(start: float, stop: float, num: int = 50, endpoint: bool = True) -> Tensor:
    """`num` f32 numbers from start to stop, evenly spaced.

    Parameters
    ----------
    start, stop : float
    num : int
    endpoint : bool
        Whether the last one is stop.

    Examples
    --------
    >>> import mica
    >>> mica.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if num < 0:
        raise ValueError(f"[linspace] num must be at least 0, not {num}")
    step = (stop - start) / max(1, num - endpoint)
    numbers = arange(num).astype("f64") * step + float(start)
    if endpoint and num > 1:
        numbers = where(arange(num) == num - 1, float(stop), numbers)
    return numbers.astype("f32")


def tri(n: int, m: int | None = None, k: int = 0, dtype: Any = "f32") -> Tensor:
    """Ones at and below a diagonal, zeros above it."""
    shape = (n, n if m is None else m)
    rows = _mica.iota(shape=shape, axis=0, dtype="i32")
    return (_mica.iota(shape=shape, axis=1, dtype="i32") <= rows + k).astype(dtype)


def _triangle(x: Array, k: int, is_lower: bool, what: str) -> Tensor:
    x = as_array(x)
    if x.ndim < 2:
        raise ValueError(f"[{what}] needs at least two axes, not {tuple(x.shape)}")
    below = tri(x.shape[-2], x.shape[-1], k if is_lower else k - 1, "bool")
    kept = below if is_lower else below == False  # noqa: E712  (an array)
    zero = False if x.dtype.kind == "boolean" else 0
    return where(broadcast_to(kept, x.shape), x, zero)


def tril(x: Array, k: int = 0) -> Tensor:
    """The last two axes at and below a diagonal, zeros above it."""
    return _triangle(x, k, True, "tril")


def triu(x: Array, k: int = 0) -> Tensor:
    """The last two axes at and above a diagonal, zeros below it."""
    return _triangle(x, k, False, "triu")


# ---- repeating and taking apart ------------------------------------------------------------------
def _axis(axis: int, rank: int, what: str) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"[{what}] axis {axis} is out of range for {rank} axes")
    return axis % rank


def repeat(x: Array, repeats: int | Sequence[int], axis: int | None = None) -> Tensor:
    """Each element several times, one after the other.

    Parameters
    ----------
    x : array
    repeats : int or sequence of int
        How often, for all elements along the axis or for each.
    axis : int, optional
        By default x is flattened first.

    Examples
    --------
    >>> import mica
    >>> mica.repeat([1, 2], [1, 3]).tolist()
    [1, 2, 2, 2]
    """
    x = as_array(x)
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = _axis(axis, x.ndim, "repeat")
    n = x.shape[axis]
    counts = [repeats] * n if isinstance(repeats, int) else [int(r) for r in repeats]
    if len(counts) == 1:
        counts *= n
    if len(counts) != n or any(count < 0 for count in counts):
        raise ValueError(
            f"[repeat] axis {axis} takes one count or {n}, none below 0, not {repeats}"
        )
    if isinstance(repeats, int):
        shape = (*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :])
        wide = broadcast_to(expand_dims(x, axis + 1), shape)
        return wide.reshape(*x.shape[:axis], n * repeats, *x.shape[axis + 1 :])
    places = [i for i, count in enumerate(counts) for _ in range(count)]
    return take(x, places, axis)


def tile(x: Array, reps: int | Sequence[int]) -> Tensor:
    """The whole array several times along each axis; more counts than axes add axes in front.

    Examples
    --------
    >>> import mica
    >>> mica.tile([1, 2], (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    x = as_array(x)
    counts = [reps] if isinstance(reps, int) else list(reps)
    if any(count < 0 for count in counts):
        raise ValueError(f"[tile] counts {counts} cannot be negative")
    rank = max(x.ndim, len(counts))
    counts = [1] * (rank - len(counts)) + counts
    shape = [1] * (rank - x.ndim) + list(x.shape)
    pairs = [n for pair in zip([1] * rank, shape, strict=True) for n in pair]
    wide = [n for pair in zip(counts, shape, strict=True) for n in pair]
    y = broadcast_to(x.reshape(tuple(pairs)), wide)
    return y.reshape(tuple(c * n for c, n in zip(counts, shape, strict=True)))


def split(x: Array, parts: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """An array as several, along an axis.

    Parameters
    ----------
    x : array
    parts : int or sequence of int
        Into how many equal ones, or where to cut.
    axis : int

    Examples
    --------
    >>> import mica
    >>> [part.tolist() for part in mica.split([1, 2, 3, 4], [1, 3])]
    [[1], [2, 3], [4]]
    """
    x = as_array(x)
    axis = _axis(axis, x.ndim, "split")
    n = x.shape[axis]
    if isinstance(parts, int):
        if parts < 1 or n % parts:
            raise ValueError(f"[split] an axis of {n} has no {parts} equal parts")
        cuts = [i * (n // parts) for i in range(1, parts)]
    else:
        cuts = [max(0, min(n, int(c) + n if c < 0 else int(c))) for c in parts]
    ends = [0, *cuts, n]
    before = (slice(None),) * axis
    return [x[(*before, slice(a, max(a, b)))] for a, b in itertools.pairwise(ends)]


def flip(x: Array, axis: int | Sequence[int] | None = None) -> Tensor:
    """Read backwards along axes, by default along all."""
    x = as_array(x)
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    return _mica.reverse(x, axes=[_axis(a, x.ndim, "flip") for a in axes])


def roll(x: Array, shift: int, axis: int | None = None) -> Tensor:
    """Elements moved along an axis; those that leave at one end come in at the other."""
    x = as_array(x)
    if axis is None:
        return roll(x.reshape(-1), shift, 0).reshape(x.shape)
    axis = _axis(axis, x.ndim, "roll")
    n = x.shape[axis]
    if n == 0 or shift % n == 0:
        return x
    first, second = split(x, [n - shift % n], axis)
    return concatenate([second, first], axis)


# ---- numbers -------------------------------------------------------------------------------------
def isnan(x: Array) -> Tensor:
    """Where an array is NaN."""
    x = as_array(x)
    return x != x


def isinf(x: Array) -> Tensor:
    """Where an array is infinite."""
    x = as_array(x)
    return abs(x) == math.inf if x.dtype.kind == "float" else x != x


def isfinite(x: Array) -> Tensor:
    """Where an array is neither infinite nor NaN."""
    x = as_array(x)
    return _mica.is_finite(x) if x.dtype.kind in ("float", "complex") else x == x


def isclose(x: Array, y: Array, rtol: float = 1e-5, atol: float = 1e-8) -> Tensor:
    """Where ``|x - y| <= atol + rtol |y|``, or both are the same infinity."""
    x, y = as_array(x), as_array(y)
    return (x == y) | (abs(x - y) <= abs(y) * rtol + atol) & isfinite(y)


def allclose(x: Array, y: Array, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """Whether `isclose` holds everywhere."""
    return bool(isclose(x, y, rtol, atol).all().item())


def outer(x: Array, y: Array) -> Tensor:
    """The product of each element of x with each of y."""
    x, y = as_array(x), as_array(y)
    return x.reshape(-1, 1) * y.reshape(1, -1)


def hessian(function: Callable, argnums: int = 0) -> Callable:
    """The second derivatives of a function that gives a scalar.

    Examples
    --------
    >>> import mica
    >>> mica.hessian(lambda x: (x * x * x).sum())(mica.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacobian(grad(function, argnums), argnums)
