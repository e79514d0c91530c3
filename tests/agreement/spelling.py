"""Calls as plain data: how arrays and other arguments are spelled, and how they are read.

A call is a JSON object: `f` the function's dotted name, `a` its arguments as pairs [name or None,
spelling], `m` the mode and `o` the order of derivatives. An argument's spelling is JSON itself,
but for objects with one key:

    {"t": [how, dtype, shape, kind, seed]}   an array, its values made by `values`
    {"v": [how, dtype, [[1, 2], [3, 4]]]}    an array of these values
    {"sparse": [dtype, shape, kind, seed]}   a SparseTensor, its places drawn from the seed
    {"ragged": [dtype, lengths, inner, kind, seed]}  a RaggedTensor of rows of these lengths
    {"slices": [dtype, n, inner, seed]}      IndexedSlices of n rows
    {"d": "float32"}                         a dtype
    {"f": "nan"}                             a float that JSON has no word for
    {"fn": "signal.hann_window"}             a function
    {"b": "text"}                            bytes, as Latin-1
    {"u": [...]}                             a tuple
    {"s": [2, None]}                         a TensorShape
    {"c": 1.5, "i": 2.0}                     a complex number

`how` says what the program hands over: tensor, numpy, list (of Python numbers).
"""

from __future__ import annotations

import math

import numpy as np

MASK = (1 << 64) - 1


class Stream:
    """SplitMix64: the same numbers in every version of Python and on every machine."""

    def __init__(self, seed: int):
        self.state = seed & MASK

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        return self.next() % n

    def between(self, low: int, high: int) -> int:
        """An integer of [low, high]."""
        return low + self.below(high - low + 1)

    def chance(self, percent: float) -> bool:
        return self.below(1000) < percent * 10

    def pick(self, choices):
        return choices[self.below(len(choices))]


WORDS = (
    "", "a", "b", "ab", "hello", "World", "  spaced ", "x y z", "a,b,,c", "UPPER", "tést", "日本",
    "1.5", "-7", "abcabc", "a\tb", "\U0001f600!", "0",
)  # fmt: skip
NUMERALS = ("0", "1", "-7", "3.25", "1e3", "-0.5", " 12 ", "inf", "nan", "42", "1e-3", "9")
SPECIAL = (math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, -1.0, 1e-30, 1e30, 0.5, -2.5, 3.0)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def bounds(dtype: str) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _integers(stream: Stream, n: int, low: int, high: int) -> list[int]:
    return [stream.between(low, high) for _ in range(n)]


def _flat(kind: str, dtype: str, n: int, stream: Stream) -> list:
    """n numbers of a kind whose elements do not depend on each other."""
    word, *rest = kind.split()
    if word == "range":
        low, high = int(rest[0]), int(rest[1])
        return _integers(stream, n, low, max(low, high - 1))
    if word == "extreme":
        low, high = bounds(dtype) if dtype in INTEGERS else (-(2**31), 2**31 - 1)
        return [stream.pick((low, high, 0, 1, -1 if low else 1, 7, low + 1)) for _ in range(n)]
    if word == "special":
        return [
            stream.pick(SPECIAL) if stream.chance(40) else stream.between(-2000, 2000) / 1000
            for _ in range(n)
        ]
    if word == "wide":
        return [
            stream.pick((-1, 1)) * stream.between(100, 999) / 100 * 10.0 ** stream.between(-5, 5)
            for _ in range(n)
        ]
    low, high, scale = {
        "uniform": (-2000, 2000, 1000),
        "positive": (50, 3000, 1000),
        "interval": (10, 990, 1000),
        "whole": (-3, 3, 1),
        "pixel": (0, 1000, 1000),
        "counted": (0, 5, 1),
        "large": (-50000, 50000, 100),
    }[word]
    return [value / scale for value in _integers(stream, n, low, high)]


def _matrices(kind: str, array: np.ndarray) -> np.ndarray:
    n = array.shape[-1]
    if kind == "regular":
        return array + 2 * n * np.eye(array.shape[-2], n)
    if kind == "definite":
        return (array + np.swapaxes(array, -1, -2).conj()) / 2 + 3 * n * np.eye(n)
    if kind == "hermitian":
        return (array + np.swapaxes(array, -1, -2).conj()) / 2
    return np.tril(array) + 2 * np.eye(n)


def values(dtype: str, shape: list[int], kind: str, seed: int) -> np.ndarray:
    """The array that a spelling names."""
    stream = Stream(seed * 2654435761 + 97)
    n = math.prod(shape)
    if dtype == "string":
        table = NUMERALS if kind == "numeral" else WORDS
        found = np.empty(n, object)
        found[:] = [stream.pick(table).encode() for _ in range(n)]
        return found.reshape(shape)
    if dtype == "bool":
        return np.array([stream.below(2) for _ in range(n)], bool).reshape(shape)
    if kind == "segments":  # non-decreasing from 0
        steps = [0 if i == 0 else stream.pick((0, 1, 1, 2)) for i in range(n)]
        array = np.cumsum(np.array(steps, np.int64)).reshape(shape)
    elif kind == "permutation":
        order = list(range(n))
        for i in range(n - 1, 0, -1):
            j = stream.below(i + 1)
            order[i], order[j] = order[j], order[i]
        array = np.array(order, np.int64).reshape(shape)
    elif kind == "sorted":
        flat = _flat("whole" if dtype in INTEGERS else "uniform", dtype, n, stream)
        array = np.sort(np.array(flat, np.float64).reshape(shape), axis=-1)
    elif kind == "boxes":  # [y1, x1, y2, x2] with y1 < y2 and x1 < x2
        flat = np.array(_flat("pixel", dtype, n, stream), np.float64).reshape(shape)
        half = shape[-1] // 2
        array = np.concatenate(
            [flat[..., :half] / 2, flat[..., :half] / 2 + flat[..., half:] / 2 + 0.05], -1
        )
    elif kind == "probabilities":
        flat = np.array(_flat("positive", dtype, n, stream), np.float64).reshape(shape)
        array = flat / np.maximum(flat.sum(-1, keepdims=True), 1e-9)
    else:
        matrix = kind in ("regular", "definite", "lower", "hermitian")
        part = "uniform" if matrix else kind
        if (dtype in INTEGERS and part in ("extreme", "range")) or part.startswith("range"):
            array = np.array(_flat(part, dtype, n, stream), object).reshape(shape)
        else:
            array = np.array(_flat(part, dtype, n, stream), np.float64).reshape(shape)
            if dtype.startswith("complex"):
                array = array + 1j * np.array(_flat(part, dtype, n, stream)).reshape(shape)
        if matrix:
            array = _matrices(kind, array)
    if dtype in INTEGERS:
        low, high = bounds(dtype)
        if array.dtype != object:
            array = np.where(np.isfinite(array), np.trunc(array), 0).astype(object)
        flat = [min(max(int(value), low), high) for value in array.ravel()]
        found = np.array(flat, dtype) if n else np.zeros(0, dtype)
        return found.reshape(shape)
    with np.errstate(over="ignore"):
        return np.asarray(array).astype("float32" if dtype == "bfloat16" else dtype)


def places(shape: list[int], seed: int, full: bool) -> list[list[int]]:
    """Places of a sparse array in their order: about half of all, or one or more of every row."""
    stream = Stream(seed * 40503 + 11)
    every = [list(map(int, place)) for place in np.ndindex(*shape)]
    if full:
        return [place for place in every if len(place) < 2 or place[-1] == 0 or stream.chance(50)]
    return [place for place in every if stream.chance(50)]
