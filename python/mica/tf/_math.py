"""Arithmetic, comparisons, reductions: the numeric names of tf and tf.math.

A name that is an op with the same arguments is the op itself, one call of C.
"""

from __future__ import annotations

from . import _dtypes
from ._composite import CompositeTensor
from ._core import Tensor, _abs, _truediv, convert_to_tensor, ops
from ._slices import IndexedSlices

add = ops["AddV2"]
subtract = ops["Sub"]
multiply = ops["Mul"]
negative = ops["Neg"]
exp = ops["Exp"]
log = ops["Log"]
sqrt = ops["Sqrt"]
tanh = ops["Tanh"]
sigmoid = ops["Sigmoid"]
square = ops["Square"]
maximum = ops["Maximum"]
minimum = ops["Minimum"]
pow = ops["Pow"]
less = ops["Less"]
less_equal = ops["LessEqual"]
greater = ops["Greater"]
greater_equal = ops["GreaterEqual"]
logical_and = ops["LogicalAnd"]
logical_or = ops["LogicalOr"]
logical_not = ops["LogicalNot"]


def equal(x, y, name=None):
    """Return x == y, element by element."""
    return ops["Equal"](x, y, name=name)


def not_equal(x, y, name=None):
    """Return x != y, element by element."""
    return ops["NotEqual"](x, y, name=name)


def _pair(x, y):
    """Return both as tensors; a Python number takes the dtype of the other."""
    if isinstance(x, Tensor):
        return x, convert_to_tensor(y, dtype_hint=x.dtype)
    if isinstance(y, Tensor):
        return convert_to_tensor(x, dtype_hint=y.dtype), y
    x = convert_to_tensor(x)
    return x, convert_to_tensor(y, dtype_hint=x.dtype)


def truediv(x, y, name=None):
    """Return x / y; integers are divided as floats."""
    return _truediv(*_pair(x, y))


def divide(x, y, name=None):
    """Return x / y, as Python's operator does."""
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x, y = _pair(x, y)
    return x / y


def abs(x, name=None):
    """Return the magnitude of each element."""
    return _abs(convert_to_tensor(x))


def cast(x, dtype, name=None):
    """Return x as another dtype."""
    dtype = _dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, CompositeTensor):
        return _cast_parts(x, dtype)
    x = convert_to_tensor(x)
    return x if x.dtype == dtype else ops["Cast"](x, DstT=dtype)


def _cast_parts(x, dtype):
    """Slices and sparse tensors stay what they are: their values are of another dtype."""
    from .sparse import SparseTensor

    if isinstance(x, IndexedSlices):
        return IndexedSlices(cast(x.values, dtype), x.indices, x.dense_shape)
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, cast(x.values, dtype), x.dense_shape)
    return cast(convert_to_tensor(x), dtype)


def add_n(inputs, name=None):
    """Return the sum of tensors of one shape."""
    if not isinstance(inputs, list | tuple):
        inputs = [inputs]
    inputs = [convert_to_tensor(x) for x in inputs]
    if not inputs:
        raise ValueError(
            "Inputs must be an iterable of at least one Tensor/IndexedSlices with "
            "the same dtype and shape."
        )
    return inputs[0] if len(inputs) == 1 else ops["AddN"](inputs, name=name)


def all_axes(x, axis):
    """Return the axes of a reduction as an operand: all of them for None."""
    if axis is not None:
        axes = convert_to_tensor(axis)
        return axes if axes.dtype.is_integer else convert_to_tensor(axis, _dtypes.int32)
    if x.shape.rank is not None:
        return convert_to_tensor(list(range(x.shape.rank)), _dtypes.int32)
    return ops["Range"](0, ops["Rank"](x), 1)


def reduction(op: str):
    """Return the Python function of a reduction op."""

    def reduce(input_tensor, axis=None, keepdims=False, name=None):
        is_number = isinstance(input_tensor, int | float)
        is_logical = op in ("All", "Any")
        x = convert_to_tensor(input_tensor, _dtypes.bool if is_logical and is_number else None)
        result = ops[op](x, all_axes(x, axis), keep_dims=bool(keepdims), name=name)
        if axis is None and not keepdims and result.shape.rank is None:
            result.set_shape([])
        return result

    reduce.__name__ = f"reduce_{op.lower()}"
    reduce.__doc__ = ops[op].__doc__
    return reduce


reduce_sum = reduction("Sum")
reduce_mean = reduction("Mean")
