"""Functions whose arguments have changed their names since TensorFlow 1."""

from __future__ import annotations

import collections

from ... import _dtypes, _reduce, random
from ..._array import boolean_mask
from ..._array import range as _range
from ..._array import size as _size
from ..._core import convert_to_tensor
from ..._effects import numpy_function
from ..._elementwise import floordiv, realdiv
from ..._math import cast


def _reduction(name_: str):
    function = getattr(_reduce, name_)

    def reduce(
        input_tensor,
        axis=None,
        keepdims=None,
        name=None,
        reduction_indices=None,
        keep_dims=None,
    ):
        for old, new, text in (
            (reduction_indices, axis, "reduction_indices"),
            (keep_dims, keepdims, "keep_dims"),
        ):
            if old is not None and new is not None:
                raise ValueError(f"Cannot specify both '{text}' and its newer name")
        axis = reduction_indices if axis is None else axis
        keepdims = keep_dims if keepdims is None else keepdims
        return function(input_tensor, axis, bool(keepdims), name)

    reduce.__name__ = reduce.__qualname__ = name_
    reduce.__doc__ = f"As tf.{name_}, with TensorFlow 1's names of arguments too."
    return reduce


reduce_all, reduce_any = _reduction("reduce_all"), _reduction("reduce_any")
reduce_logsumexp = _reduction("reduce_logsumexp")
reduce_max, reduce_min = _reduction("reduce_max"), _reduction("reduce_min")
reduce_mean, reduce_sum = _reduction("reduce_mean"), _reduction("reduce_sum")
reduce_prod = _reduction("reduce_prod")

random_normal, random_uniform = random.normal, random.uniform
truncated_normal = random.truncated_normal


def div(x, y, name=None):
    """Divide as Python 2 does: integers by rounding down, others exactly."""
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, x.dtype)
    whole = not (x.dtype.is_floating or x.dtype.is_complex)
    return floordiv(x, y, name) if whole else realdiv(x, y, name)


def to_float(x, name="ToFloat"):
    """Cast to float32."""
    return cast(x, _dtypes.float32, name=name)


def to_double(x, name="ToDouble"):
    """Cast to float64."""
    return cast(x, _dtypes.float64, name=name)


def to_int32(x, name="ToInt32"):
    """Cast to int32."""
    return cast(x, _dtypes.int32, name=name)


def to_int64(x, name="ToInt64"):
    """Cast to int64."""
    return cast(x, _dtypes.int64, name=name)


def multinomial(logits, num_samples, seed=None, name=None, output_dtype=None):
    """Draw classes, as tf.random.categorical does."""
    return random.categorical(logits, num_samples, output_dtype or _dtypes.int64, seed, name)


def py_func(func, inp, Tout, stateful=True, name=None):
    """Call a function of numpy arrays; of several dtypes it gives a list of tensors."""
    return numpy_function(func, inp, Tout, stateful, name)


_ListDiff = collections.namedtuple("ListDiff", "out idx")


def setdiff1d(x, y, index_dtype=_dtypes.int32, name=None):
    """Return the elements of a vector that another one does not have, and their places."""
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, x.dtype)
    keeps = ~_reduce.reduce_any(x[:, None] == y[None, :], 1)
    return _ListDiff(boolean_mask(x, keeps), boolean_mask(_range(_size(x, index_dtype)), keeps))
