"""`tfa.activations`: functions of each element, and sparsemax."""

from __future__ import annotations

from .. import math as _math
from .. import nn as _nn
from .._array import expand_dims as _expand_dims
from .._array import range as _range
from .._array import shape as _shape
from .._array import transpose as _transpose
from .._array import where as _where
from .._array import zeros_like as _zeros_like
from .._core import convert_to_tensor as _convert
from .._math import cast as _cast
from .._reduce import reduce_max as _reduce_max
from .._reduce import reduce_sum as _reduce_sum
from .._reduce import sort as _sort
from ..random import uniform as _uniform
from . import _missing

__all__ = [
    "gelu",
    "hardshrink",
    "lisht",
    "mish",
    "rrelu",
    "snake",
    "softshrink",
    "sparsemax",
    "tanhshrink",
]


def gelu(x, approximate: bool = True):
    """Return x times the normal distribution function of x, by tanh or by erf."""
    return _nn.gelu(_convert(x), approximate)


def hardshrink(x, lower=-0.5, upper=0.5):
    """Return x outside of [lower, upper], and 0 inside."""
    _check_order(lower, upper)
    x = _convert(x)
    inside = _math.logical_and(x >= _cast(lower, x.dtype), x <= _cast(upper, x.dtype))
    return _where(inside, _zeros_like(x), x)


def _check_order(lower, upper) -> None:
    if lower > upper:
        raise ValueError(f"lower must not be greater than upper: {lower}, {upper}")


def softshrink(x, lower=-0.5, upper=0.5):
    """Return x less the bound outside of [lower, upper], and 0 inside."""
    _check_order(lower, upper)
    x = _convert(x)
    low, high = _cast(lower, x.dtype), _cast(upper, x.dtype)
    return _where(x < low, x - low, _where(x > high, x - high, _zeros_like(x)))


def lisht(x):
    """Return x tanh x."""
    x = _convert(x)
    return x * _math.tanh(x)


def mish(x):
    """Return x tanh(softplus x)."""
    x = _convert(x)
    return x * _math.tanh(_math.softplus(x))


def snake(x, frequency=1):
    """Return x + (1 - cos(2 f x)) / (2 f)."""
    x = _convert(x)
    frequency = _cast(frequency, x.dtype)
    return x + (1 - _math.cos(2 * frequency * x)) / (2 * frequency)


def tanhshrink(x):
    """Return x - tanh x."""
    x = _convert(x)
    return x - _math.tanh(x)


def rrelu(x, lower=0.125, upper=0.3333333333333333, training=None, seed=None, rng=None):
    """Return x where it is positive, else x times a slope: drawn in training, else the middle."""
    x = _convert(x)
    low, high = _cast(lower, x.dtype), _cast(upper, x.dtype)
    if not training:
        slope = (low + high) / 2
    elif rng is not None:
        slope = rng.uniform(_shape(x), minval=low, maxval=high, dtype=x.dtype)
    else:
        slope = _uniform(_shape(x), low, high, x.dtype, seed)
    return _where(x >= 0, x, slope * x)


def sparsemax(logits, axis: int = -1):
    """Return the nearest point of the simplex: probabilities of which many are 0.

    A. Martins, R. Astudillo: From Softmax to Sparsemax, 2016.
    """
    x = _convert(logits)
    rank = x.shape.rank
    if rank is None or rank < 1:
        raise ValueError(f"sparsemax needs logits of a known rank above 0, not {x.shape}")
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    moved = _transpose(x, order)
    moved = moved - _reduce_max(moved, -1, True)
    ordered = _sort(moved, direction="DESCENDING")
    totals = _math.cumsum(ordered, -1)
    places = _cast(_range(1, _shape(x)[axis] + 1), x.dtype)
    supported = 1 + places * ordered > totals
    count = _reduce_sum(_cast(supported, x.dtype), -1)
    chosen = _reduce_sum(_where(supported, ordered, _zeros_like(ordered)), -1)
    threshold = _expand_dims((chosen - 1) / count, -1)
    return _transpose(_math.maximum(moved - threshold, _cast(0, x.dtype)), order)


def __getattr__(name: str):
    raise _missing(__name__, name)


def __dir__() -> list[str]:
    return __all__
