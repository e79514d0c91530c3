"""Random numbers from keys (Philox 4x32-10): the same key gives the same numbers everywhere.

A key is a tensor u32[2]. Use it once; `split` makes independent ones of it. Where the first
argument of a function is a shape, or no key is given, the key is the next of a sequence that `seed`
begins; its numbers are the same in every process that asks for the same ones in the same order.

Examples
--------
>>> import mica
>>> mica.random.normal((2, 3)).shape
(2, 3)
>>> mica.random.normal(mica.random.key(7), (2, 3)).shape
(2, 3)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from threading import Lock
from typing import Any

from . import _mica
from ._functions import arange, argsort, where
from ._index import take
from ._mica import DType, Tensor, Traced
from ._tracing import as_array, is_array

#: Counters: the last word says what a block is used for, so that uses never overlap.
_VALUES = (0, 0, 0, 0)
_KEYS = (0, 0, 0, 1)
_SEQUENCE = 2


def key(seed: int) -> Tensor:
    """A key from an integer of up to 64 bits."""
    seed &= (1 << 64) - 1
    return _mica.tensor([seed & 0xFFFFFFFF, seed >> 32], "u32")


# ---- the sequence of keys for those who give none ------------------------------------------------
class _Sequence:
    """The key of a seed, and how many keys were taken."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.seed = 0
        self.n_taken = 0


_sequence = _Sequence()


def seed(number: int) -> None:
    """Begin the sequence of keys again, from an integer; a process begins with that of 0."""
    with _sequence.lock:
        _sequence.seed, _sequence.n_taken = int(number), 0


def next_key() -> Tensor:
    """The next key of the sequence that `seed` begins.

    Inside a trace the key would be the same at each call of what is traced: there a key has to be
    an argument.
    """
    if _mica.is_tracing():
        raise ValueError("[random] inside a traced function random numbers need a key as argument")
    with _sequence.lock:
        number, _sequence.n_taken = _sequence.n_taken, _sequence.n_taken + 1
        first = key(_sequence.seed)
    words = (number & 0xFFFFFFFF, number >> 32, 0, _SEQUENCE)
    return _mica.rng_bits(first, _counter(words, first), shape=(2,), dtype="u32")


def _key_and_shape(what: str, key: Any, shape: Any) -> tuple[Any, Any]:
    """The arguments of a function that may be called with a shape alone."""
    if is_array(key):
        return key, shape
    if key is None:
        return next_key(), shape
    if shape != ():
        raise TypeError(f"[{what}] a key is an array u32[2], not {key!r}")
    return next_key(), key


def _counter(words: tuple, key: Any) -> Tensor:
    """A counter where the key is: on its device, or in its trace."""
    if isinstance(key, Traced):
        return _mica.constant(value=_mica.tensor(list(words), "u32", "ref"))
    return _mica.tensor(list(words), "u32", key.device)


def split(key: Any, n: int = 2) -> Tensor:
    """n new keys, u32[n, 2], independent of each other and of numbers drawn with the old key."""
    return _mica.rng_bits(key, _counter(_KEYS, key), shape=(n, 2), dtype="u32")


def bits(key: Any = None, shape: int | Sequence[int] = (), dtype: Any = "u32") -> Tensor:
    """Random bits as integers."""
    key, shape = _key_and_shape("bits", key, shape)
    return _mica.rng_bits(key, _counter(_VALUES, key), shape=shape, dtype=dtype)


def uniform(
    key: Any = None,
    shape: int | Sequence[int] = (),
    dtype: Any = "f32",
    low: float = 0.0,
    high: float = 1.0,
) -> Tensor:
    """Numbers spread evenly over [low, high).

    Parameters
    ----------
    key : u32[2], optional
    shape : int or sequence of int
    dtype : float dtype
    low, high : float
    """
    dtype = DType(dtype)
    if dtype.kind != "float":
        raise TypeError(f"[uniform] needs a float dtype, not {dtype}")
    key, shape = _key_and_shape("uniform", key, shape)
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


def normal(key: Any = None, shape: int | Sequence[int] = (), dtype: Any = "f32") -> Tensor:
    """Numbers of the normal distribution with mean 0 and deviation 1 (Box and Muller).

    Parameters
    ----------
    key : u32[2], optional
    shape : int or sequence of int
    dtype : float dtype
    """
    dtype = DType(dtype)
    wide = _mica.f64 if dtype == _mica.f64 else _mica.f32
    key, shape = _key_and_shape("normal", key, shape)
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    pair = uniform(key, (2, *dims), wide)
    radius = _mica.sqrt(_mica.log(1 - pair[0]) * -2)
    return (radius * _mica.cos(pair[1] * (2 * math.pi))).astype(dtype)


def bernoulli(key: Any = None, p: Any = 0.5, shape: int | Sequence[int] = ()) -> Tensor:
    """True with probability p."""
    return uniform(key, shape) < p


def permutation(key: Any, x: Any) -> Tensor:
    """The rows of an array in random order, or the numbers below an integer.

    Parameters
    ----------
    key : u32[2] or None
    x : int or array

    Examples
    --------
    >>> import mica
    >>> sorted(mica.random.permutation(mica.random.key(1), 4).tolist())
    [0, 1, 2, 3]
    """
    rows = arange(x) if isinstance(x, int) else as_array(x)
    if rows.ndim == 0:
        raise ValueError("[permutation] needs an array with at least one axis")
    # Equal words among 64-bit ones are too rare to count.
    return take(rows, argsort(bits(key, (rows.shape[0],), "u64")), 0)


def randint(
    key: Any, shape: int | Sequence[int], low: int, high: int, dtype: Any = "i32"
) -> Tensor:
    """Integers spread evenly over [low, high), up to a part of 2^-32 times the range.

    Parameters
    ----------
    key : u32[2] or None
    shape : int or sequence of int
    low, high : int
    dtype : integer dtype
    """
    if not low < high or high - low > 1 << 32:
        raise ValueError(f"[randint] [{low}, {high}) must hold 1 to 2^32 integers")
    words = bits(key, shape, "u64") // (1 << 32)  # the upper half, times the range, fits in 64 bits
    return (((words * (high - low)) // (1 << 32)).astype("i64") + low).astype(dtype)
