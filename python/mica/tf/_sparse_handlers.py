"""What stands in for functions of the package, where they are given sparse tensors."""

from __future__ import annotations

import functools

from . import _dtypes
from ._core import convert_to_tensor, ops
from ._math import cast
from ._sparse_tensor import SparseTensor
from .sparse import counted

# Functions of elements that keep zeros.
_OF_VALUES = frozenset(
    "abs asin asinh atan atanh bessel_i0e bessel_i1e erf identity negative sign sin sqrt square "
    "stop_gradient tan tanh".split()
)


def _of_values(function):
    """The function of the values, which are given first, or by a name."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if args:
            return args[0].with_values(function(args[0].values, *args[1:], **kwargs))
        place = next(key for key, value in kwargs.items() if isinstance(value, SparseTensor))
        given = kwargs[place]
        return given.with_values(function(**{**kwargs, place: given.values}))

    return call


def _shape(input, out_type=None, name=None):
    out_type = _dtypes.int32 if out_type is None else out_type
    return ops["Identity"](cast(input.dense_shape, out_type), name=name)


def _size(input, out_type=None, name=None):
    out_type = _dtypes.int32 if out_type is None else out_type
    return cast(ops["Prod"](input.dense_shape, [0], name=name), out_type)


def _rank(input, name=None):
    return ops["Size"](input.dense_shape, name=name)


def _divide(x, y, name=None):
    if not isinstance(x, SparseTensor):
        convert_to_tensor(y)  # which refuses it
    return x / y


_MAKERS = {"shape": _shape, "size": _size, "rank": _rank, "divide": _divide, "bincount": counted}


@functools.cache
def handler(key: str, function):
    """What stands in for a function of the package, for sparse tensors; None: nothing does."""
    return _of_values(function) if key in _OF_VALUES else _MAKERS.get(key)
