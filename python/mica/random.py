"""Random numbers from keys (Philox 4x32-10): the same key gives the same numbers everywhere.

A key is a tensor u32[2]. Use it once; `split` makes independent ones of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _mica
from ._functions import where
from ._mica import DType, Tensor, Traced

#: Counters: the last word says what a block is used for, so that uses never overlap.
_VALUES = (0, 0, 0, 0)
_KEYS = (0, 0, 0, 1)


def key(seed: int) -> Tensor:
    """A key from an integer of up to 64 bits."""
    seed &= (1 << 64) - 1
    return _mica.tensor([seed & 0xFFFFFFFF, seed >> 32], "u32")


def _counter(words: tuple, key: Any) -> Tensor:
    """A counter where the key is: on its device, or in its trace."""
    if isinstance(key, Traced):
        return _mica.constant(value=_mica.tensor(list(words), "u32", "ref"))
    return _mica.tensor(list(words), "u32", key.device)


def split(key: Any, n: int = 2) -> Tensor:
    """n new keys, u32[n, 2], independent of each other and of numbers drawn with the old key."""
    return _mica.rng_bits(key, _counter(_KEYS, key), shape=(n, 2), dtype="u32")


def bits(key: Any, shape: int | Sequence[int] = (), dtype: Any = "u32") -> Tensor:
    """Random bits as integers."""
    return _mica.rng_bits(key, _counter(_VALUES, key), shape=shape, dtype=dtype)


def uniform(
    key: Any,
    shape: int | Sequence[int] = (),
    dtype: Any = "f32",
    low: float = 0.0,
    high: float = 1.0,
) -> Tensor:
    """Numbers spread evenly over [low, high).

    Parameters
    ----------
    key : u32[2]
    shape : int or sequence of int
    dtype : float dtype
    low, high : float
    """
    dtype = DType(dtype)
    if dtype.kind != "float":
        raise TypeError(f"[uniform] needs a float dtype, not {dtype}")
    if dtype == _mica.f64:
        unit = (bits(key, shape, "u64") // (1 << 11)).astype("f64") * 2.0**-53
    else:
        unit = (bits(key, shape, "u32") // (1 << 8)).astype("f32") * 2.0**-24
        if dtype != _mica.f32:  # rounding must not reach 1
            unit = unit.astype(dtype)
            unit = where(unit < 1, unit, 0.0)
    if low == 0.0 and high == 1.0:
        return unit
    return unit * (high - low) + low


def normal(key: Any, shape: int | Sequence[int] = (), dtype: Any = "f32") -> Tensor:
    """Numbers of the normal distribution with mean 0 and deviation 1 (Box and Muller).

    Parameters
    ----------
    key : u32[2]
    shape : int or sequence of int
    dtype : float dtype
    """
    dtype = DType(dtype)
    wide = _mica.f64 if dtype == _mica.f64 else _mica.f32
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    pair = uniform(key, (2, *dims), wide)
    radius = _mica.sqrt(_mica.log(1 - pair[0]) * -2)
    return (radius * _mica.cos(pair[1] * (2 * math.pi))).astype(dtype)


def bernoulli(key: Any, p: Any = 0.5, shape: int | Sequence[int] = ()) -> Tensor:
    """True with probability p."""
    return uniform(key, shape) < p
