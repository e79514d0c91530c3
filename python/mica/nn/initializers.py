"""How parameters begin: functions of a key, a shape and a dtype.

The axes of a shape are those of the layers' weights: first the places of a convolution's window,
then what comes in, last what goes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import random
from .._functions import full
from .._mica import Tensor

Initializer = Callable[[Any, Sequence[int], Any], Tensor]


def constant(value: float) -> Initializer:
    """The same number everywhere."""
    return lambda key, shape, dtype: full(tuple(shape), float(value), dtype)


zeros = constant(0)
ones = constant(1)


def normal(deviation: float = 0.01) -> Initializer:
    """Normal with mean 0."""
    return lambda key, shape, dtype: random.normal(key, shape, dtype) * deviation


def uniform(scale: float = 0.01) -> Initializer:
    """Even over [-scale, scale)."""
    return lambda key, shape, dtype: random.uniform(key, shape, dtype, -scale, scale)


def _fans(shape: Sequence[int]) -> tuple[int, int]:
    """How many elements enter a sum, and how many sums an element enters."""
    if len(shape) < 2:
        raise ValueError(
            f"[initializers] a shape with incoming and outgoing axes is needed, not {tuple(shape)}"
        )
    places = math.prod(shape[:-2])
    return shape[-2] * places, shape[-1] * places


def glorot_uniform(key: Any, shape: Sequence[int], dtype: Any = "f32") -> Tensor:
    """Even over [-s, s) with s = sqrt(6 / (in + out)): Glorot and Bengio."""
    scale = math.sqrt(6 / max(1, sum(_fans(shape))))
    return random.uniform(key, shape, dtype, -scale, scale)


def glorot_normal(key: Any, shape: Sequence[int], dtype: Any = "f32") -> Tensor:
    """Normal with variance 2 / (in + out)."""
    return random.normal(key, shape, dtype) * math.sqrt(2 / max(1, sum(_fans(shape))))


def he_uniform(key: Any, shape: Sequence[int], dtype: Any = "f32") -> Tensor:
    """Even over [-s, s) with s = sqrt(6 / in), for layers before a relu: He and others."""
    scale = math.sqrt(6 / max(1, _fans(shape)[0]))
    return random.uniform(key, shape, dtype, -scale, scale)


def he_normal(key: Any, shape: Sequence[int], dtype: Any = "f32") -> Tensor:
    """Normal with variance 2 / in."""
    return random.normal(key, shape, dtype) * math.sqrt(2 / max(1, _fans(shape)[0]))


def lecun_normal(key: Any, shape: Sequence[int], dtype: Any = "f32") -> Tensor:
    """Normal with variance 1 / in."""
    return random.normal(key, shape, dtype) * math.sqrt(1 / max(1, _fans(shape)[0]))
