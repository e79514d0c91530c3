"""Functions of elements, of ragged tensors: on the flat values, once the rows are the same."""

from __future__ import annotations

import functools

from .. import _math
from .._core import Tensor, convert_to_tensor
from ._shape import are_alike, stretched_together
from ._tensor import RaggedTensor, match_row_splits_dtypes


def unary(function, place: str):
    """A function of one ragged tensor, given first or by the name `place`, on its flat values."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if args:
            x, args = args[0], args[1:]
        else:
            x = kwargs.pop(place)
        return x.with_flat_values(function(x.flat_values, *args, **kwargs))

    return call


def together(x, y) -> tuple:
    """Two values with the same rows: their flat values, and one that has the rows."""
    if not isinstance(x, RaggedTensor):
        x = convert_to_tensor(x, dtype_hint=y.dtype) if not isinstance(x, Tensor) else x
    if not isinstance(y, RaggedTensor):
        y = convert_to_tensor(y, dtype_hint=x.dtype) if not isinstance(y, Tensor) else y
    x, y = match_row_splits_dtypes(x, y)
    both = isinstance(x, RaggedTensor) and isinstance(y, RaggedTensor)
    if both and are_alike(x, y):
        return x.flat_values, y.flat_values, x
    if not both:
        rows, other = (x, y) if isinstance(x, RaggedTensor) else (y, x)
        rank, own = other.shape.rank, rows.flat_values.shape.rank
        if None in (rank, own):
            raise ValueError("Unable to broadcast: unknown rank")
        if rank < own or rank == 0:
            flats = [t.flat_values if isinstance(t, RaggedTensor) else t for t in (x, y)]
            return (*flats, rows)
    x, y = stretched_together(x, y)
    return x.flat_values, y.flat_values, x


def binary(function, places: tuple):
    """A function of two values, of which at least one is ragged."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        args = list(args)
        x = args.pop(0) if args else kwargs.pop(places[0])
        y = args.pop(0) if args else kwargs.pop(places[1])
        a, b, rows = together(x, y)
        return rows.with_flat_values(function(a, b, *args, **kwargs))

    return call


def several(function):
    """A function of a list of values with the same rows."""

    @functools.wraps(function)
    def call(inputs, *args, **kwargs):
        inputs = list(inputs)
        rows = next(x for x in inputs if isinstance(x, RaggedTensor))
        flats = []
        for each in inputs:
            if isinstance(each, RaggedTensor) and not are_alike(rows, each):
                _, flat, _ = together(rows, each)
            elif isinstance(each, RaggedTensor):
                flat = each.flat_values
            else:
                _, flat, _ = together(rows, each)
            flats.append(flat)
        return rows.with_flat_values(function(flats, *args, **kwargs))

    return call


def _comparison(x, y, unequal: bool):
    if y is None or (isinstance(y, (str, bytes)) and not x.dtype.name == "string"):
        return unequal
    function = _math.not_equal if unequal else _math.equal
    try:
        return binary(function, ("x", "y"))(x, y)
    except (TypeError, ValueError):
        if isinstance(y, (RaggedTensor, Tensor)) and y.dtype == x.dtype:
            raise
        return unequal


def equals(x, y):
    """x == y element by element."""
    return _comparison(x, y, False)


def differs(x, y):
    """x != y element by element."""
    return _comparison(x, y, True)
